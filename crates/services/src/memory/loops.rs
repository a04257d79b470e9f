//! `loop`: work in rounds. A loop has a phase, and places for agents who take turns.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::moment::utc;
use althing_engine::screen::repeated;
use althing_kernel::records::field::{Slot, Taken};
use althing_kernel::records::vocabulary::LoopKind;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{AgentName, Rule, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verbs;
use super::coordinate::Coordinate;
use super::lanes::{Key, agent_named, command, record, shown};
use super::loop_steps::Verdict;
use super::seat::Present;
use crate::fault::Fault;

/// How often work that was called off is made anew for one request.
const ATTEMPTS_MAX: usize = 8;
/// How many loops a list has.
const LISTED_MAX: usize = 50;

/// What to do with a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Act {
    Open,
    Get,
    List,
    Turn,
    CompleteTurn,
    Advance,
    AddArtifact,
    Pause,
    Resume,
    Close,
    Bind,
    Continue,
    Takeover,
    Verify,
    RequestInput,
    ProvideInput,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Act::Open => "open",
            Act::Get => "get",
            Act::List => "list",
            Act::Turn => "turn",
            Act::CompleteTurn => "complete_turn",
            Act::Advance => "advance",
            Act::AddArtifact => "add_artifact",
            Act::Pause => "pause",
            Act::Resume => "resume",
            Act::Close => "close",
            Act::Bind => "bind",
            Act::Continue => "continue",
            Act::Takeover => "takeover",
            Act::Verify => "verify",
            Act::RequestInput => "request_input",
            Act::ProvideInput => "provide_input",
        }
    }
}

/// How a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Completed,
    Cancelled,
    Blocked,
}

impl End {
    fn status(self) -> Status {
        match self {
            End::Completed => Status::Completed,
            End::Cancelled => Status::Cancelled,
            End::Blocked => Status::Blocked,
        }
    }
}

/// A place in a loop that is opened.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) agent: String,
    pub(super) role: Option<String>,
    /// The assignment it is worked on under.
    pub(super) assignment: Option<String>,
}

/// Something that came of a loop.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Artifact {
    #[serde(rename = "type")]
    sort: String,
    #[serde(rename = "ref")]
    place: String,
    description: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct Loop {
    pub(super) intent: Act,
    #[serde(rename = "loopId", alias = "loop_id")]
    pub(super) id: Option<String>,
    /// open: review, ideation, implementation, research or debug.
    #[serde(alias = "loop_kind")]
    #[schemars(with = "Option<String>")]
    pub(super) kind: Option<LoopKind>,
    /// open: what it is about; turn: what to do; for input: the question or the answer.
    pub(super) task: Option<String>,
    /// open: who takes turns.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Place>>")]
    pub(super) slots: Vec<Place>,
    /// open: when it is over, in words.
    pub(super) stop_conditions: Option<String>,
    #[serde(rename = "planId", alias = "plan_id")]
    pub(super) plan: Option<String>,
    /// open: without a plan.
    #[serde(default)]
    pub(super) allow_orphan: bool,
    /// For turns: which slot.
    #[serde(alias = "slot_id", alias = "slotId")]
    pub(super) slot: Option<String>,
    /// Of a turn: what came of it.
    pub(super) outcome: Option<String>,
    /// advance: to which phase, if not the next.
    pub(super) phase: Option<String>,
    pub(super) artifact: Option<Artifact>,
    /// close, list: completed, cancelled or blocked.
    pub(super) status: Option<End>,
    /// bind: what is worked on in the slot.
    #[serde(rename = "assignmentId", alias = "assignment_id")]
    pub(super) assignment: Option<String>,
    /// takeover: who gets the slot.
    pub(super) to_agent: Option<String>,
    /// verify: passed or failed.
    pub(super) verdict: Option<Verdict>,
    /// For an answer: to which question, if not the oldest.
    #[serde(rename = "messageId", alias = "message_id")]
    pub(super) message: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) expected_version: Option<u32>,
    /// Repeating it repeats nothing.
    pub(super) client_request_id: Option<String>,
}

/// The phases of a kind of loop, each with where it leads: on, and perhaps back.
pub(super) fn phases(kind: LoopKind) -> &'static [(&'static str, &'static [&'static str])] {
    match kind {
        LoopKind::Review => &[
            ("change_summary", &["findings"]),
            ("findings", &["author_response"]),
            ("author_response", &["followup_review"]),
            ("followup_review", &["verdict"]),
            ("verdict", &[]),
        ],
        LoopKind::Ideation => &[
            ("proposal", &["critique"]),
            ("critique", &["revision", "synthesis"]),
            ("revision", &["critique", "synthesis"]),
            ("synthesis", &[]),
        ],
        LoopKind::Implementation => &[
            ("bind", &["execute"]),
            ("execute", &["verify"]),
            ("verify", &["handoff_ready", "execute"]),
            ("handoff_ready", &[]),
        ],
        LoopKind::Research => {
            &[("question", &["gather"]), ("gather", &["synthesis"]), ("synthesis", &["gather"])]
        }
        LoopKind::Debug => &[
            ("reproduce", &["diagnose"]),
            ("diagnose", &["fix"]),
            ("fix", &["verify"]),
            ("verify", &["diagnose"]),
        ],
    }
}

/// The phase after one, and whether that begins another round.
pub(super) fn next_phase(
    kind: LoopKind,
    now: &str,
    asked: Option<&str>,
) -> Result<(&'static str, bool), Fault> {
    let all = phases(kind);
    let place = |name: &str| all.iter().position(|(own, _)| *own == name);
    let here = place(now).unwrap_or_default();
    let ways = all[here].1;
    let next = match asked {
        // On is never back: that is another round.
        None => ways.iter().copied().find(|way| place(way) > Some(here)),
        Some(asked) => ways.iter().copied().find(|own| *own == asked),
    };
    let Some(next) = next else {
        let message = match asked {
            Some(asked) => format!("{now} does not lead to {asked}"),
            None => format!("{now} is the last phase; close the loop"),
        };
        return Err(Fault::refused(Rule::RecordStep, message).with(json!({ "allowed": ways })));
    };
    Ok((next, place(next) < Some(here)))
}

impl Verbs<'_> {
    pub(super) fn rounds(&self, args: &Loop, given: &Value) -> Result<Value, Fault> {
        let key = Key::new(args.client_request_id.as_deref(), given);
        let Present { state, now, .. } = self.present()?;
        if args.intent == Act::List {
            return Ok(list(&state, args));
        }
        let is_repeated = key.is_repeated(&state, &self.principal(), now)?;
        if args.intent == Act::Open {
            let made = self.open(&state, args, &key)?;
            return Ok(answer(args.intent, &made, &[]));
        }
        let id = args.id.as_deref().ok_or_else(|| lacks(args.intent, "loopId"))?;
        let own = record(&state, Kind::Loop, id)?;
        match args.intent {
            _ if is_repeated => self.with_questions(args.intent, own, &[]),
            Act::Open | Act::List | Act::Get => self.with_questions(args.intent, own, &[]),
            Act::Bind | Act::Takeover | Act::Verify | Act::RequestInput if !own.is_live() => {
                let message = format!("{} is {}", own.id, own.status);
                Err(Fault::refused(Rule::RecordStep, message))
            }
            Act::Bind => self.bind(&state, own, args, &key),
            Act::Takeover => self.takeover(&state, own, args, &key),
            Act::Continue => self.go_round(own, args, &key),
            Act::Verify => self.verify(own, args, &key),
            Act::RequestInput => self.request_input(own, args, &key),
            Act::ProvideInput => self.provide_input(&state, own, args, &key),
            Act::Turn => self.turn(&state, own, args, &key),
            Act::CompleteTurn => {
                let slot = args.slot.as_deref().ok_or_else(|| lacks(args.intent, "slot"))?;
                let outcome = args.outcome.as_deref().unwrap_or("done");
                let turn = json!({ "loop": own.id, "slot": slot, "outcome": outcome });
                self.change(own, args, &key, "memory.turn", turn)
            }
            Act::Advance => {
                let kind = own.fields.loop_kind.unwrap_or(LoopKind::Implementation);
                let now = own.fields.phase.as_ref().map(ToString::to_string).unwrap_or_default();
                let (phase, again) = next_phase(kind, &now, args.phase.as_deref())?;
                let iteration = own.fields.iteration.unwrap_or(1) + u32::from(again);
                let fields = json!({ "phase": phase, "iteration": iteration });
                self.change(
                    own,
                    args,
                    &key,
                    "memory.update",
                    json!({ "id": own.id, "fields": fields }),
                )
            }
            Act::AddArtifact => self.add_artifact(own, args, &key),
            Act::Pause => self.step(own, args, &key, "paused"),
            Act::Resume => self.step(own, args, &key, "open"),
            Act::Close => {
                let to = args.status.unwrap_or(End::Completed).status();
                self.step(own, args, &key, to.as_str())
            }
        }
    }

    /// Changes a loop with one command, which sees to versions and repetition.
    pub(super) fn change(
        &self,
        own: &Record,
        args: &Loop,
        key: &Key,
        command: &str,
        mut step: Value,
    ) -> Result<Value, Fault> {
        if let Some(version) = args.expected_version {
            step["expected_version"] = version.into();
        }
        if let Some(id) = key.whole() {
            step["request_id"] = id.into();
        }
        let done = self.act(command, &step).map_err(|fault| match fault.rule() {
            Rule::RecordOwner if args.intent == Act::CompleteTurn => {
                fault.with(json!({ "code": "unauthorized_slot_write" }))
            }
            Rule::RecordVersion => {
                fault.with(json!({ "code": "version_conflict", "actual": own.version }))
            }
            _ => fault,
        })?;
        let effects = done["side_effects"].as_array().map_or(&[][..], Vec::as_slice);
        let Present { state, .. } = self.present()?;
        let now = state.memory().record(own.id).unwrap_or(own);
        Ok(answer(args.intent, now, effects))
    }

    pub(super) fn step(
        &self,
        own: &Record,
        args: &Loop,
        key: &Key,
        to: &str,
    ) -> Result<Value, Fault> {
        let mut step = json!({ "id": own.id, "to": to });
        if let Some(reason) = &args.reason {
            step["reason"] = reason.clone().into();
        }
        self.change(own, args, key, "memory.move", step)
    }

    /// What is there goes with what is new, so a change in between is not lost.
    fn add_artifact(&self, own: &Record, args: &Loop, key: &Key) -> Result<Value, Fault> {
        let artifact = args.artifact.as_ref().ok_or_else(|| lacks(args.intent, "artifact"))?;
        let mut all: Vec<Value> = own.fields.artifacts.iter().map(|own| json!(own)).collect();
        let mut new = json!({ "type": artifact.sort, "ref": artifact.place });
        if let Some(description) = &artifact.description {
            new["description"] = description.clone().into();
        }
        if all.contains(&new) {
            return Ok(answer(args.intent, own, &[]));
        }
        all.push(new);
        let version = args.expected_version.unwrap_or(own.version);
        let args = Loop { expected_version: Some(version), ..args.clone() };
        let update = json!({ "id": own.id, "fields": { "artifacts": all } });
        self.change(own, &args, key, "memory.update", update)
    }

    /// Gives the turn to a place: its agent gets an assignment, which the place names.
    fn turn(&self, state: &State, own: &Record, args: &Loop, key: &Key) -> Result<Value, Fault> {
        let place = place_of(own, args)?;
        let slot = place.id.as_str();
        if own.status != Status::Open {
            let message = format!("{} is {}, not open", own.id, own.status);
            return Err(Fault::refused(Rule::RecordStep, message));
        }
        check_version(own, args)?;
        self.check_leads(state, own)?;
        let before = place.assignment.and_then(|id| state.memory().record(id));
        if let Some(open) = before.filter(|own| !own.is_terminal()) {
            let is_other = |task: &String| *task != open.text.as_str();
            if args.task.as_ref().is_some_and(is_other) {
                let message = format!("{slot} is at {} still: complete its turn first", open.id);
                return Err(Fault::refused(Rule::RecordStep, message));
            }
            let effect = json!({ "action": "reuse", "kind": "assignment", "id": open.id });
            return Ok(taken_up(answer(args.intent, own, &[effect]), open));
        }
        let task = args.task.clone().unwrap_or_else(|| own.text.to_string());
        let create = json!({
            "kind": "assignment", "text": task,
            "fields": { "agent": place.agent, "scope": format!("review-loop:{}", own.id) },
        });
        let made = self.turn_work(create, key)?;
        let slots: Vec<Value> = own
            .fields
            .slots
            .iter()
            .map(|place| {
                let mut place = json!(place);
                if place["id"] == slot {
                    place["assignment"] = made.clone();
                    place["done"] = false.into();
                }
                place
            })
            .collect();
        let mut update = json!({
            "id": own.id, "fields": { "slots": slots }, "expected_version": own.version,
        });
        if let Some(id) = key.whole() {
            update["request_id"] = id.into();
        }
        self.act("memory.update", &update).inspect_err(|_| {
            // A turn that could not be given is no work for anybody.
            let cancel = self.act("memory.move", &json!({ "id": made, "to": "cancelled" }));
            if let Err(fault) = cancel {
                let why = fault.message();
                tracing::warn!(why, id = %made, "an assignment that nobody has was not cancelled");
            }
        })?;
        let Present { state, .. } = self.present()?;
        let now = state.memory().record(own.id).unwrap_or(own);
        let effect = json!({ "action": "create", "kind": "assignment", "id": made });
        let told = answer(args.intent, now, &[effect]);
        let made: Option<RecordId> = made.as_str().and_then(|id| id.parse().ok());
        let made = made.and_then(|id| state.memory().record(id));
        Ok(match made {
            Some(made) => taken_up(told, made),
            None => told,
        })
    }

    /// The work of a turn. What a request made before and was called off since is made anew.
    fn turn_work(&self, mut create: Value, key: &Key) -> Result<Value, Fault> {
        for attempt in 0..ATTEMPTS_MAX {
            if let Some(id) = key.whole() {
                create["request_id"] = format!("turn{attempt}.{id}").into();
            }
            let made = self.act("memory.create", &create)?["id"].clone();
            let id: Option<RecordId> = made.as_str().and_then(|id| id.parse().ok());
            let Present { state, .. } = self.present()?;
            let own = id.and_then(|id| state.memory().record(id));
            if own.is_some_and(|own| !own.is_terminal()) {
                return Ok(made);
            }
        }
        Err(Fault::refused(
            Rule::RequestOnce,
            "what this request asked for was called off; ask anew",
        ))
    }

    fn open(&self, state: &State, args: &Loop, key: &Key) -> Result<Record, Fault> {
        let kind = args.kind.ok_or_else(|| lacks(args.intent, "kind"))?;
        let task = args.task.as_deref().ok_or_else(|| lacks(args.intent, "task"))?;
        if args.plan.is_none() && !args.allow_orphan {
            let message = "a loop belongs to a plan: name it in 'planId', or say 'allow_orphan'";
            return Err(Fault::usage(message));
        }
        let mut slots = Vec::new();
        for (at, place) in args.slots.iter().enumerate() {
            let agent = agent_named(state, &place.agent)?;
            slots.push(slot(at, &agent, place.role.as_deref(), place.assignment.as_deref()));
        }
        let mut fields = json!({ "loop_kind": kind, "phase": phases(kind)[0].0, "slots": slots });
        for (name, value) in [("plan_id", &args.plan), ("stop_conditions", &args.stop_conditions)] {
            if let Some(value) = value {
                fields[name] = value.clone().into();
            }
        }
        let mut create = json!({ "kind": "loop", "text": task, "fields": fields });
        if let Some(id) = key.whole() {
            create["request_id"] = id.into();
        }
        self.fetched(&self.act("memory.create", &create)?)
    }

    /// A loop for agents who are asked together.
    pub(super) fn open_loop(
        &self,
        kind: &str,
        args: &Coordinate,
        agents: &[AgentName],
        key: &Key,
    ) -> Result<String, Fault> {
        let kind: LoopKind = serde_json::from_value(kind.into())
            .map_err(|error| Fault::defect(error.to_string()))?;
        let slots = agents.iter().enumerate().map(|(at, agent)| slot(at, agent, None, None));
        let slots: Vec<Value> = slots.collect();
        let mut fields = json!({ "loop_kind": kind, "phase": phases(kind)[0].0, "slots": slots });
        if let Some(plan) = &args.plan {
            fields["plan_id"] = plan.clone().into();
        }
        let mut create = json!({ "kind": "loop", "text": args.task, "fields": fields });
        if let Some(id) = key.part("loop") {
            create["request_id"] = id.into();
        }
        let made = self.act("memory.create", &create)?;
        Ok(made["id"].as_str().unwrap_or_default().to_owned())
    }
}

fn slot(at: usize, agent: &AgentName, role: Option<&str>, assignment: Option<&str>) -> Value {
    let mut slot = json!({ "id": format!("slot_{}", at + 1), "agent": agent });
    for (name, value) in [("role", role), ("assignment", assignment)] {
        if let Some(value) = value {
            slot[name] = value.into();
        }
    }
    slot
}

/// The place that is named.
pub(super) fn place_of<'l>(own: &'l Record, args: &Loop) -> Result<&'l Slot, Fault> {
    let slot = args.slot.as_deref().ok_or_else(|| lacks(args.intent, "slot"))?;
    let known = own.fields.slots.iter().find(|place| place.id.as_str() == slot);
    known.ok_or_else(|| {
        let slots: Vec<&str> = own.fields.slots.iter().map(|place| place.id.as_str()).collect();
        let message = format!("{} has no slot {}", own.id, repeated(slot));
        Fault::not_found(message).with(json!({ "allowed": slots }))
    })
}

pub(super) fn lacks(act: Act, name: &str) -> Fault {
    Fault::usage(format!("bclaw_loop {} requires '{name}'", act.name()))
}

/// Refuses a step of a loop that somebody changed meanwhile.
pub(super) fn check_version(own: &Record, args: &Loop) -> Result<(), Fault> {
    let Some(expected) = args.expected_version.filter(|version| *version != own.version) else {
        return Ok(());
    };
    let message = format!("{} is at version {}, not {expected}", own.id, own.version);
    let details = json!({ "code": "version_conflict", "actual": own.version });
    Err(Fault::refused(Rule::RecordVersion, message).with(details))
}

/// The loops of a kind and a standing, or all of them.
fn list(state: &State, args: &Loop) -> Value {
    let status = args.status.map(End::status);
    let wanted = |own: &&Record| {
        status.is_none_or(|status| own.status == status)
            && args.kind.is_none_or(|kind| own.fields.loop_kind == Some(kind))
    };
    let all: Vec<&Record> = state.memory().newest(Kind::Loop, None).filter(wanted).collect();
    let loops: Vec<Value> = all.iter().take(LISTED_MAX).map(|own| brief(own)).collect();
    let mut facade = Facade::new(Act::List.name());
    facade.result("total", all.len()).result("loops", loops);
    facade.answer()
}

fn brief(own: &Record) -> Value {
    json!({
        "id": own.id, "short_label": own.id.label(), "status": own.status,
        "kind": own.fields.loop_kind,
        "phase": own.fields.phase, "iteration": own.fields.iteration, "version": own.version,
        "text": own.text.as_str().chars().take(120).collect::<String>(),
    })
}

/// The same, with what the agent of a turn runs to take it up.
fn taken_up(mut told: Value, assignment: &Record) -> Value {
    let agent = assignment.agent().map(shown);
    told["result"]["commands"] = json!([{ "agent": agent, "command": command(assignment) }]);
    told
}

/// The turns that were taken, the last one first.
fn turns(own: &Record) -> Value {
    let turn = |taken: &Taken| {
        json!({
            "slot": taken.slot, "agent": shown(&taken.agent), "outcome": taken.outcome,
            "phase": taken.phase, "iteration": taken.iteration, "at": utc(taken.at),
            "entry": taken.seq,
        })
    };
    own.fields.turns.iter().rev().map(turn).collect()
}

pub(super) fn answer(act: Act, own: &Record, effects: &[Value]) -> Value {
    let mut facade = Facade::new(act.name());
    let mut shown_loop = brief(own);
    shown_loop["text"] = own.text.to_string().into();
    shown_loop["slots"] = own
        .fields
        .slots
        .iter()
        .map(|place| {
            let mut slot = json!(place);
            slot["agent"] = shown(&place.agent).into();
            slot
        })
        .collect::<Vec<_>>()
        .into();
    shown_loop["turns"] = turns(own);
    shown_loop["artifacts"] = json!(own.fields.artifacts);
    shown_loop["plan_id"] = json!(own.fields.plan_id);
    shown_loop["stop_conditions"] = json!(own.fields.stop_conditions);
    facade.result("loop", shown_loop).artifact("loop", &own.id.to_string());
    for effect in effects {
        let text = |name: &str| effect[name].as_str().unwrap_or_default();
        facade.effect(text("action"), text("kind"), text("id"));
    }
    let waiting: Vec<&str> = own
        .fields
        .slots
        .iter()
        .filter(|place| !place.done && own.is_live())
        .map(|place| place.id.as_str())
        .collect();
    if own.is_live() && waiting.is_empty() && !own.fields.slots.is_empty() {
        let args = json!({ "intent": "advance", "loopId": own.id });
        facade.next("bclaw_loop", args, "everybody had their turn");
    }
    facade.result("waiting_for", waiting);
    facade.answer()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_lead_on_and_back_and_end() {
        let kinds = [
            LoopKind::Review,
            LoopKind::Ideation,
            LoopKind::Implementation,
            LoopKind::Research,
            LoopKind::Debug,
        ];
        for kind in kinds {
            for (_, ways) in phases(kind) {
                assert!(ways.iter().all(|way| phases(kind).iter().any(|(own, _)| own == way)));
            }
        }
        let next = |now, asked| next_phase(LoopKind::Implementation, now, asked);
        assert_eq!(next("bind", None).unwrap(), ("execute", false));
        assert_eq!(next("verify", None).unwrap(), ("handoff_ready", false));
        assert_eq!(next("verify", Some("execute")).unwrap(), ("execute", true));
        assert!(next("bind", Some("verify")).is_err() && next("handoff_ready", None).is_err());
    }
}
