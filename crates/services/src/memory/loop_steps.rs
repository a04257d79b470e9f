//! Steps of a loop beside its turns: what is worked on in a place, who has it, how a phase ended, and
//! what somebody needs to know before they go on.

use althing_dialects::frugal::planning::called;
use althing_kernel::records::assign::may_lead;
use althing_kernel::records::vocabulary::LoopKind;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{Principal, Rule, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verbs;
use super::lanes::{Key, agent_named, record};
use super::loops::{Act, Loop, answer, check_version, lacks, next_phase, phases, place_of};
use super::seat::Present;
use crate::fault::Fault;

/// How many open questions a loop shows.
const QUESTIONS_MAX: usize = 20;
/// The phase in which work is checked.
const VERIFY: &str = "verify";

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Passed,
    Failed,
}

impl Verbs<'_> {
    /// An assignment is what is worked on in a place.
    pub(super) fn bind(
        &self,
        state: &State,
        own: &Record,
        args: &Loop,
        key: &Key,
    ) -> Result<Value, Fault> {
        let place = place_of(own, args)?;
        let named = args.assignment.as_deref().ok_or_else(|| lacks(args.intent, "assignmentId"))?;
        let work = record(state, Kind::Assignment, named)?;
        let mut slot = json!(place);
        slot["assignment"] = json!(work.id);
        self.put_slot(own, args, key, &slot)
    }

    /// A place goes to another agent, with the work that is under way in it.
    pub(super) fn takeover(
        &self,
        state: &State,
        own: &Record,
        args: &Loop,
        key: &Key,
    ) -> Result<Value, Fault> {
        let place = place_of(own, args)?;
        let named = args.to_agent.as_deref().ok_or_else(|| lacks(args.intent, "to_agent"))?;
        let agent = agent_named(state, named)?;
        let work = place.assignment.and_then(|id| state.memory().record(id));
        let work = work.filter(|work| !work.is_terminal());
        let Some(work) = work.filter(|work| work.agent() != Some(&agent)) else {
            let mut slot = json!({ "id": place.id, "agent": agent, "done": false });
            if let Some(role) = &place.role {
                slot["role"] = json!(role);
            }
            // What is theirs already stays so.
            if let Some(work) = work {
                slot["assignment"] = json!(work.id);
            }
            return self.put_slot(own, args, key, &slot);
        };
        self.check_leads(state, own)?;
        check_version(own, args)?;
        // The place goes over with the work, in one step.
        let mut step = json!({
            "id": work.id, "to": "rerouted", "agent": agent, "expected_version": work.version,
        });
        if let Some(id) = key.whole() {
            step["request_id"] = id.into();
        }
        let moved = self.act("memory.move", &step)?;
        let effects = moved["side_effects"].as_array().map_or(&[][..], Vec::as_slice);
        self.with_questions(args.intent, own, effects)
    }

    /// Refuses whoever may not say who does what in a loop, before anything is done. The kernel is
    /// asked for what it will refuse, so that it is on record.
    pub(super) fn check_leads(&self, state: &State, own: &Record) -> Result<(), Fault> {
        if may_lead(state, &self.principal(), own).is_ok() {
            return Ok(());
        }
        let same = json!({ "id": own.id, "fields": { "slots": own.fields.slots } });
        self.act("memory.update", &same).map(|_| ())
    }

    fn put_slot(&self, own: &Record, args: &Loop, key: &Key, slot: &Value) -> Result<Value, Fault> {
        let slots = own.fields.slots.iter().map(|place| {
            let place = json!(place);
            if place["id"] == slot["id"] { slot.clone() } else { place }
        });
        let fields = json!({ "slots": slots.collect::<Vec<Value>>() });
        self.unchanged_since(own, args, key, &fields)
    }

    /// Sets fields of a loop that nobody changed meanwhile.
    fn unchanged_since(
        &self,
        own: &Record,
        args: &Loop,
        key: &Key,
        fields: &Value,
    ) -> Result<Value, Fault> {
        let version = args.expected_version.unwrap_or(own.version);
        let args = Loop { expected_version: Some(version), ..args.clone() };
        let update = json!({ "id": own.id, "fields": fields });
        self.change(own, &args, key, "memory.update", update)
    }

    /// Goes on: with what was held, or with another round.
    pub(super) fn go_round(&self, own: &Record, args: &Loop, key: &Key) -> Result<Value, Fault> {
        if own.status != Status::Open {
            return self.step(own, args, key, "open");
        }
        let (kind, now) = stand(own);
        let Some(back) = back_from(kind, &now) else {
            let message = format!("{now} leads to no other round; advance, or close the loop");
            return Err(Fault::refused(Rule::RecordStep, message));
        };
        let fields = json!({ "phase": back, "iteration": round_after(own) });
        self.unchanged_since(own, args, key, &fields)
    }

    /// What was built is checked: it goes on, or back for another round.
    pub(super) fn verify(&self, own: &Record, args: &Loop, key: &Key) -> Result<Value, Fault> {
        let verdict = args.verdict.ok_or_else(|| lacks(args.intent, "verdict"))?;
        let (kind, now) = stand(own);
        if now != VERIFY {
            let message = format!("{} is in {now}; only what is in {VERIFY} is verified", own.id);
            return Err(Fault::refused(Rule::RecordStep, message));
        }
        let word = if verdict == Verdict::Passed { "passed" } else { "failed" };
        let mut found = json!({ "type": "verification", "ref": word });
        if let Some(reason) = &args.reason {
            found["description"] = reason.clone().into();
        }
        let mut artifacts: Vec<Value> = own.fields.artifacts.iter().map(|own| json!(own)).collect();
        artifacts.push(found);
        let mut fields = json!({ "artifacts": artifacts });
        match (verdict, back_from(kind, &now)) {
            (Verdict::Failed, Some(back)) => {
                fields["phase"] = back.into();
                fields["iteration"] = round_after(own).into();
            }
            (Verdict::Passed, back) => match next_phase(kind, &now, None) {
                Ok((next, _)) if Some(next) != back => fields["phase"] = next.into(),
                // It was the last of its phases.
                _ => {}
            },
            (Verdict::Failed, None) => {}
        }
        self.unchanged_since(own, args, key, &fields)
    }

    /// Asks whoever opened the loop, or whoever has a place in it.
    pub(super) fn request_input(
        &self,
        own: &Record,
        args: &Loop,
        key: &Key,
    ) -> Result<Value, Fault> {
        let task = args.task.as_deref().ok_or_else(|| lacks(args.intent, "task"))?;
        let me = self.principal();
        let to = match &args.slot {
            Some(_) => place_of(own, args)?.agent.to_string(),
            None if own.author == me => return Err(lacks(args.intent, "slot")),
            None => addressed(&own.author),
        };
        let fields = json!({ "to": to, "thread": own.id, "requires_ack": true });
        let mut create = json!({ "kind": "message", "text": task, "fields": fields });
        if let Some(id) = key.whole() {
            create["request_id"] = id.into();
        }
        let made = self.act("memory.create", &create)?;
        let effect = json!({ "action": "create", "kind": "message", "id": made["id"] });
        self.with_questions(args.intent, own, &[effect])
    }

    /// Answers what was asked.
    pub(super) fn provide_input(
        &self,
        state: &State,
        own: &Record,
        args: &Loop,
        key: &Key,
    ) -> Result<Value, Fault> {
        let task = args.task.as_deref().ok_or_else(|| lacks(args.intent, "task"))?;
        let me = addressed(&self.principal());
        // People may answer for others.
        let mine = |asked: &&Record| {
            let to = asked.fields.to.as_ref();
            self.agent().is_none() || to.is_some_and(|to| to.as_str() == me)
        };
        let asked = match &args.message {
            Some(id) => {
                Some(record(state, Kind::Message, id)?).filter(|asked| is_asked(asked, own.id))
            }
            None => questions(state, own).filter(mine).last(),
        };
        let asked = asked.filter(mine);
        let Some(asked) = asked else {
            let message = format!("nothing in {} waits for an answer of {}", own.id, self.shown());
            return Err(Fault::not_found(message));
        };
        let to = addressed(&asked.author);
        let fields = json!({ "to": to, "thread": own.id, "requires_ack": false });
        let mut create = json!({ "kind": "message", "text": task, "fields": fields });
        let mut close = json!({ "id": asked.id, "to": "closed" });
        for (step, id) in [(&mut create, key.part("answer")), (&mut close, key.whole())] {
            if let Some(id) = id {
                step["request_id"] = id.into();
            }
        }
        let made = self.act("memory.create", &create)?;
        self.act("memory.move", &close)?;
        let effects = [
            json!({ "action": "create", "kind": "message", "id": made["id"] }),
            json!({ "action": "closed", "kind": "message", "id": asked.id }),
        ];
        self.with_questions(args.intent, own, &effects)
    }

    /// A loop, with what waits for an answer in it.
    pub(super) fn with_questions(
        &self,
        act: Act,
        own: &Record,
        effects: &[Value],
    ) -> Result<Value, Fault> {
        let Present { state, .. } = self.present()?;
        let own = state.memory().record(own.id).unwrap_or(own);
        let mut told = answer(act, own, effects);
        let open = questions(&state, own).take(QUESTIONS_MAX).map(|asked| {
            json!({
                "id": asked.id, "short_label": asked.id.label(), "from": called(&asked.author),
                "to": asked.fields.to, "text": asked.text,
            })
        });
        told["result"]["waiting_for_input"] = open.collect();
        Ok(told)
    }
}

/// What somebody is called in a message to them.
fn addressed(who: &Principal) -> String {
    match who {
        Principal::Agent(name) => name.to_string(),
        other => other.to_string(),
    }
}

/// The kind of a loop, and its phase.
fn stand(own: &Record) -> (LoopKind, String) {
    let kind = own.fields.loop_kind.unwrap_or(LoopKind::Implementation);
    (kind, own.fields.phase.as_ref().map(ToString::to_string).unwrap_or_default())
}

fn round_after(own: &Record) -> u32 {
    own.fields.iteration.unwrap_or(1) + 1
}

/// The phase that another round begins with, if one leads back.
fn back_from(kind: LoopKind, now: &str) -> Option<&'static str> {
    let ways = phases(kind).iter().find(|(own, _)| *own == now).map(|(_, ways)| *ways)?;
    ways.iter().copied().find(|way| next_phase(kind, now, Some(way)).is_ok_and(|(_, again)| again))
}

/// Whether a message asks for something in a loop and has no answer yet.
fn is_asked(message: &Record, of: RecordId) -> bool {
    let thread = message.fields.thread.as_ref().map(|thread| thread.as_str().to_owned());
    thread == Some(of.to_string()) && message.fields.requires_ack == Some(true) && message.is_live()
}

/// What waits for an answer in a loop, the newest first.
fn questions<'s>(state: &'s State, of: &Record) -> impl Iterator<Item = &'s Record> {
    let of = Some(of.id).filter(|_| of.is_live());
    let live = state.memory().newest(Kind::Message, Some(true));
    live.filter(move |own| of.is_some_and(|of| is_asked(own, of)))
}
