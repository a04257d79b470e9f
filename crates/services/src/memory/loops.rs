//! `loop`: work in rounds. A loop has a phase, and slots for agents who take turns.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::moment::utc;
use althing_kernel::blackboard::Label;
use althing_kernel::records::create::Create;
use althing_kernel::records::field;
use althing_kernel::records::field::{Few, Slot, Taken};
use althing_kernel::records::loops;
use althing_kernel::records::loops::{Check, InLoop};
use althing_kernel::records::record::Body;
use althing_kernel::records::round::TakeTurn;
use althing_kernel::records::transition::Move;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::vocabulary::{Action, LoopKind};
use althing_kernel::records::{Effect, Fields, Kind, Record, Status};
use althing_kernel::{AgentName, Command, Rule, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Verbs;
use super::args::{label, text};
use super::coordinate::Coordinate;
use super::lanes::{Key, agent_named, command as command_of, id_of, record, shown};
use super::session::Present;
use crate::error::Error;

/// Most loops in a list.
const LISTED_MAX: usize = 50;
/// Most open questions of a loop that are shown.
const QUESTIONS_MAX: usize = 20;

/// The act that a `loop` call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Open a loop.
    Open,
    /// Show a loop.
    Get,
    /// List the loops.
    List,
    /// Give the turn to a slot.
    Turn,
    /// End a turn with its outcome.
    CompleteTurn,
    /// Move to the next phase.
    Advance,
    /// Add an artifact.
    AddArtifact,
    /// Pause the loop.
    Pause,
    /// Go on with a paused loop.
    Resume,
    /// Close the loop.
    Close,
    /// Bind an assignment to a slot.
    Bind,
    /// Go on with a paused loop, or start another round.
    Continue,
    /// Give a slot to another agent.
    Takeover,
    /// Record a verdict.
    Verify,
    /// Ask a question.
    RequestInput,
    /// Answer a question.
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

/// The state in which a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It reached its aim.
    Completed,
    /// It was given up.
    Cancelled,
    /// It cannot go on.
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

/// A slot of a loop to open.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its agent, by name.
    #[schemars(description = "")]
    pub agent: String,
    /// The agent's role.
    #[schemars(description = "")]
    pub role: Option<String>,
    /// The assignment it is worked on under.
    pub assignment: Option<String>,
}

/// An artifact of a loop.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The type.
    #[schemars(description = "")]
    #[serde(rename = "type")]
    pub sort: String,
    /// The path, URL or other reference.
    #[schemars(description = "")]
    #[serde(rename = "ref")]
    pub place: String,
    /// A description.
    #[schemars(description = "")]
    pub description: Option<String>,
}

/// Arguments of `loop`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// The act.
    #[schemars(description = "")]
    pub intent: Act,
    /// The loop.
    #[schemars(description = "")]
    #[serde(rename = "loopId", alias = "loop_id")]
    pub id: Option<String>,
    /// open: review, ideation, implementation, research or debug.
    #[serde(alias = "loop_kind")]
    #[schemars(with = "Option<String>")]
    pub kind: Option<LoopKind>,
    /// open: what it is about; turn: what to do; for input: the question or the answer.
    pub task: Option<String>,
    /// open: who takes turns.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Place>>")]
    pub slots: Vec<Place>,
    /// open: when it is over, in words.
    pub stop_conditions: Option<String>,
    /// open: the plan it belongs to.
    #[schemars(description = "")]
    #[serde(rename = "planId", alias = "plan_id")]
    pub plan: Option<String>,
    /// open: without a plan.
    #[serde(default)]
    pub allow_orphan: bool,
    /// For turns: which slot.
    #[serde(alias = "slot_id", alias = "slotId")]
    pub slot: Option<String>,
    /// Of a turn: what came of it.
    pub outcome: Option<String>,
    /// advance: to which phase, if not the next.
    pub phase: Option<String>,
    /// What is added.
    #[schemars(description = "")]
    pub artifact: Option<Artifact>,
    /// close, list: completed, cancelled or blocked.
    #[serde(default)]
    #[schemars(with = "End")]
    pub status: Option<End>,
    /// bind: what is worked on in the slot.
    #[serde(rename = "assignmentId", alias = "assignment_id")]
    pub assignment: Option<String>,
    /// takeover: who gets the slot.
    pub to_agent: Option<String>,
    /// verify: passed or failed.
    #[schemars(with = "Option<String>")]
    pub verdict: Option<Check>,
    /// For an answer: to which question, if not the oldest.
    #[serde(rename = "messageId", alias = "message_id")]
    pub message: Option<String>,
    /// The reason, in words.
    #[schemars(description = "")]
    pub reason: Option<String>,
    /// The version it still has to have.
    #[schemars(description = "")]
    pub expected_version: Option<u32>,
    /// Makes retries safe.
    pub client_request_id: Option<String>,
}

impl Verbs<'_> {
    pub(super) fn rounds(&self, args: &Loop) -> Result<Value, Error> {
        let key = Key::new(args.client_request_id.as_deref(), args)?;
        let Present { state, now, .. } = self.present()?;
        if args.intent == Act::List {
            return Ok(list(&state, args));
        }
        let is_repeated = key.is_repeated(&state, &self.principal(), now)?;
        if args.intent == Act::Open {
            return self.open(&state, args, &key);
        }
        let id = args.id.as_deref().ok_or_else(|| lacks(args.intent, "loopId"))?;
        let own = record(&state, Kind::Loop, id)?;
        if is_repeated {
            return Ok(with_questions(args.intent, &state, own, &[]));
        }
        match args.intent {
            Act::Open | Act::List | Act::Get => Ok(with_questions(args.intent, &state, own, &[])),
            Act::CompleteTurn => {
                let outcome = args.outcome.as_deref().unwrap_or("done");
                let command = Command::MemoryTurn(TakeTurn {
                    expected_version: args.expected_version,
                    of: own.id,
                    outcome: text("outcome", outcome)?,
                    request_id: key.label(),
                    slot: slot_named(args)?,
                });
                self.change(own, args, command)
            }
            Act::Pause => self.step(own, args, &key, Status::Paused),
            Act::Resume => self.step(own, args, &key, Status::Open),
            Act::Close => {
                self.step(own, args, &key, args.status.unwrap_or(End::Completed).status())
            }
            Act::Turn
            | Act::Advance
            | Act::AddArtifact
            | Act::Bind
            | Act::Continue
            | Act::Takeover
            | Act::Verify
            | Act::RequestInput
            | Act::ProvideInput => {
                let command = Command::MemoryLoop(Box::new(InLoop {
                    act: act(&state, args)?,
                    expected_version: args.expected_version,
                    id: own.id,
                    request_id: key.label(),
                }));
                self.change(own, args, command)
            }
        }
    }

    /// Changes a loop with one command, which checks its version and the request id.
    fn change(&self, own: &Record, args: &Loop, command: Command) -> Result<Value, Error> {
        let reply = self.execute(command).map_err(|error| match error.rule() {
            Rule::RecordOwner if args.intent == Act::CompleteTurn => {
                error.with(json!({})).with_code("unauthorized_slot_write")
            }
            Rule::RecordVersion => {
                let details = json!({ "actual": own.version });
                error.with(details).with_code("version_conflict")
            }
            // Any other rule has no code of its own in this dialect.
            _ => error,
        })?;
        let effects = match reply {
            MemoryReply::Looped(done) | MemoryReply::Turned(done) => done.side_effects,
            MemoryReply::Moved(done) => done.side_effects,
            other => return Err(Error::defect(format!("an unexpected reply: {other:?}"))),
        };
        let Present { state, .. } = self.present()?;
        let own = state.memory().record(own.id).unwrap_or(own);
        let mut answer = with_questions(args.intent, &state, own, &effects);
        if args.intent == Act::Turn {
            let given = effects.iter().find(|own| own.kind == Kind::Assignment);
            let work = given.and_then(|own| state.memory().record(own.id));
            if let Some(work) = work {
                let agent = work.agent().map(shown);
                answer["result"]["commands"] =
                    json!([{ "agent": agent, "command": command_of(work) }]);
            }
        }
        Ok(answer)
    }

    fn step(&self, own: &Record, args: &Loop, key: &Key, to: Status) -> Result<Value, Error> {
        let reason = args.reason.as_deref().map(|reason| text("reason", reason)).transpose()?;
        let step = Move {
            expected_version: args.expected_version,
            reason,
            request_id: key.label(),
            ..Move::plain(own.id, to)
        };
        self.change(own, args, Command::MemoryMove(Box::new(step)))
    }

    fn open(&self, state: &State, args: &Loop, key: &Key) -> Result<Value, Error> {
        let kind = args.kind.ok_or_else(|| lacks(args.intent, "kind"))?;
        let task = args.task.as_deref().ok_or_else(|| lacks(args.intent, "task"))?;
        if args.plan.is_none() && !args.allow_orphan {
            let message = "a loop belongs to a plan: name it in 'planId', or set 'allow_orphan'";
            return Err(Error::usage(message));
        }
        let mut slots = Vec::new();
        for (at, place) in args.slots.iter().enumerate() {
            let agent = agent_named(state, &place.agent)?;
            let role = place.role.as_deref().map(|role| label("role", role)).transpose()?;
            let work = place.assignment.as_deref().map(|id| id_of(Kind::Assignment, id));
            slots.push(Slot { role, assignment: work.transpose()?, ..slot(at, &agent)? });
        }
        let stop = args.stop_conditions.as_deref();
        let fields = Fields {
            plan_id: args.plan.as_deref().map(|plan| id_of(Kind::Plan, plan)).transpose()?,
            stop_conditions: stop.map(|stop| text("stop_conditions", stop)).transpose()?,
            ..Fields::default()
        };
        let made = self.opened(kind, task, slots, fields, key.label())?;
        Ok(answer(args.intent, &made, &[]))
    }

    /// Opens a loop. The kernel chooses its first phase.
    fn opened(
        &self,
        kind: LoopKind,
        task: &str,
        slots: Vec<Slot>,
        fields: Fields,
        request_id: Option<Label>,
    ) -> Result<Record, Error> {
        let slots = Few::new(slots).map_err(|why| Error::usage(format!("slots: {why}")))?;
        let fields = Fields { loop_kind: Some(kind), slots, ..fields };
        let create =
            Create { fields, request_id, ..Create::plain(Kind::Loop, text("task", task)?) };
        match self.execute(Command::MemoryCreate(Box::new(create)))? {
            MemoryReply::Record(own) => {
                let Present { state, .. } = self.present()?;
                let gone = || format!("{}, which this request created, is archived", own.id);
                let now = state.memory().record(own.id).cloned();
                now.ok_or_else(|| Error::not_found(gone()))
            }
            other => Err(Error::defect(format!("an unexpected reply: {other:?}"))),
        }
    }

    /// Opens a loop with a slot for each agent.
    pub(super) fn open_loop(
        &self,
        kind: LoopKind,
        args: &Coordinate,
        agents: &[AgentName],
        key: &Key,
    ) -> Result<String, Error> {
        let slots: Result<Vec<Slot>, Error> =
            agents.iter().enumerate().map(|(at, agent)| slot(at, agent)).collect();
        let plan_id = args.plan.as_deref().map(|plan| id_of(Kind::Plan, plan)).transpose()?;
        let request_id = key.part("loop").map(|id| label("client_request_id", &id)).transpose()?;
        let fields = Fields { plan_id, ..Fields::default() };
        let made = self.opened(kind, &args.task, slots?, fields, request_id)?;
        Ok(made.id.to_string())
    }
}

/// Translates an act to the kernel's type.
fn act(state: &State, args: &Loop) -> Result<loops::Act, Error> {
    let task = |required: bool| match args.task.as_deref() {
        Some(task) => text("task", task).map(Some),
        None if required => Err(lacks(args.intent, "task")),
        None => Ok(None),
    };
    let required_task = || Ok::<Body, Error>(task(true)?.unwrap_or_default());
    Ok(match args.intent {
        Act::Turn => loops::Act::Turn { slot: slot_named(args)?, text: task(false)? },
        Act::Advance => {
            let phase = args.phase.as_deref().map(|phase| label("phase", phase)).transpose()?;
            loops::Act::Advance { phase }
        }
        Act::AddArtifact => {
            let given = args.artifact.as_ref().ok_or_else(|| lacks(args.intent, "artifact"))?;
            let description = given.description.as_deref();
            let artifact = field::Artifact {
                description: description.map(|own| text("description", own)).transpose()?,
                reference: text("ref", &given.place)?,
                kind: label("type", &given.sort)?,
            };
            loops::Act::AddArtifact { artifact }
        }
        Act::Bind => {
            let slot = slot_named(args)?;
            let named = args.assignment.as_deref();
            let named = named.ok_or_else(|| lacks(args.intent, "assignmentId"))?;
            let assignment = record(state, Kind::Assignment, named)?.id;
            loops::Act::Bind { assignment, slot }
        }
        Act::Takeover => {
            let slot = slot_named(args)?;
            let named = args.to_agent.as_deref().ok_or_else(|| lacks(args.intent, "to_agent"))?;
            loops::Act::Takeover { agent: agent_named(state, named)?, slot }
        }
        Act::Verify => {
            let verdict = args.verdict.ok_or_else(|| lacks(args.intent, "verdict"))?;
            let reason = args.reason.as_deref().map(|reason| text("reason", reason)).transpose()?;
            loops::Act::Verify { reason, verdict }
        }
        Act::RequestInput => {
            let slot = args.slot.as_deref().map(|slot| label("slot", slot)).transpose()?;
            loops::Act::Ask { slot, text: required_task()? }
        }
        Act::ProvideInput => {
            let message = args.message.as_deref().map(|id| record(state, Kind::Message, id));
            let message = message.transpose()?.map(|own| own.id);
            loops::Act::Answer { message, text: required_task()? }
        }
        _ => loops::Act::Continue {},
    })
}

/// The slot that is named.
fn slot_named(args: &Loop) -> Result<Label, Error> {
    label("slot", args.slot.as_deref().ok_or_else(|| lacks(args.intent, "slot"))?)
}

/// The name this dialect gives to what happened to a record because of an act.
fn action(act: Act, own: &Effect) -> &'static str {
    let says = matches!(act, Act::Turn | Act::RequestInput | Act::ProvideInput);
    match (own.action, own.to) {
        (Action::Created, _) if says => "create",
        (Action::Unchanged, _) if says => "reuse",
        (Action::Moved, Some(to)) if says => to.as_str(),
        (other, _) => other.as_str(),
    }
}

/// A new slot.
fn slot(at: usize, agent: &AgentName) -> Result<Slot, Error> {
    Ok(Slot {
        agent: agent.clone(),
        assignment: None,
        done: false,
        id: label("slot", &format!("slot_{}", at + 1))?,
        outcome: None,
        role: None,
    })
}

fn lacks(act: Act, name: &str) -> Error {
    Error::usage(format!("bclaw_loop {} requires '{name}'", act.name()))
}

/// The answer about a loop, with its open questions.
fn with_questions(act: Act, state: &State, own: &Record, effects: &[Effect]) -> Value {
    let mut shown = answer(act, own, effects);
    let open = loops::questions(state, own).take(QUESTIONS_MAX).map(|asked| {
        json!({
            "id": asked.id, "short_label": asked.id.label(), "from": called(&asked.author),
            "to": asked.fields.to, "text": asked.text,
        })
    });
    shown["result"]["waiting_for_input"] = open.collect();
    shown
}

/// Lists loops, by kind and status if given.
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

/// The turns of a loop, newest first.
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

fn answer(act: Act, own: &Record, effects: &[Effect]) -> Value {
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
        facade.effect(action(act, effect), effect.kind.as_str(), &effect.id.to_string());
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
