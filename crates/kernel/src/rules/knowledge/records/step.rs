//! Steps of plans, and `memory.step`.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Few, Fields, Step, StepId};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{STEP_EDGES, Status, StepStatus};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{
    bad_field, change, effect, expect, governed, record, transition,
};
use crate::values::idempotency::Mark;
use crate::values::principal::{Caller, Principal};

pub use crate::model::knowledge::records::step::*;

/// Numbers the steps: known ones keep their numbers, new ones get the next.
pub(crate) fn numbered(steps: &[Step], before: Option<&Fields>) -> Result<Few<Step, 128>, Refusal> {
    let mut next = before.and_then(|before| before.steps_made).unwrap_or_default();
    let mut made: Vec<Step> = Vec::with_capacity(steps.len());
    // Plans below the plan are shown as steps but are none of its own.
    for step in steps.iter().filter(|step| step.plan.is_none()) {
        let of = |id: StepId| before?.steps.iter().find(|own| own.id == Some(id));
        let known = step.id.filter(|_| before.is_some()).and_then(of);
        let id = if let Some(known) = known {
            let same = known.status == step.status;
            if !same && !STEP_EDGES.contains(&(known.status, step.status)) {
                return Err(no_way(step.id, known.status, step.status));
            }
            known.id
        } else {
            next += 1;
            Some(StepId(next))
        };
        if known.is_none() && before.is_some() && step.id.is_some() && step.id != id {
            let unknown = step.id.map(|id| id.to_string()).unwrap_or_default();
            return Err(bad_field(format!("the plan has no step {unknown}")));
        }
        if made.iter().any(|own| own.id == id) {
            return Err(bad_field("a step is listed twice"));
        }
        made.push(Step { id, ..step.clone() });
    }
    Few::new(made).map_err(bad_field)
}

fn no_way(step: Option<StepId>, from: StepStatus, to: StepStatus) -> Refusal {
    let step = step.map(|id| id.to_string()).unwrap_or_default();
    let message = format!("step {step} is {from} and cannot become {to} from there");
    let allowed = STEP_EDGES.iter().filter(move |(own, _)| *own == from);
    Refusal::denied(Rule::RecordStep, message).allowing(allowed.map(|(_, to)| to.to_string()))
}

/// Whether these steps complete a plan: the last of them is now done, and so are the plans below it.
/// A run completes its tasks itself.
pub(crate) fn completes(state: &State, plan: &Record, after: &[Step]) -> bool {
    let all_done = |steps: &[Step]| steps.iter().all(|step| step.status == StepStatus::Done);
    let before = &plan.fields.steps;
    !after.is_empty()
        && all_done(after)
        && (before.is_empty() || !all_done(before))
        && state.memory.plans_below(plan.id).all(|own| !own.is_live())
        && !state.is_governed(plan)
        && plan.table().has_step(plan.word(), Status::Done)
}

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &TakeStep,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let body = plan(tx.state(), &caller.principal, args)?;
    record(tx, caller, Event::MemoryStepped(Box::new(Stepped { request: mark, ..body })))
}

/// Plans a change of a step, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &TakeStep) -> Result<Stepped, Refusal> {
    if asked.plan.kind != Kind::Plan {
        return Err(bad_field(format!("only plans have steps, and {} is not a plan", asked.plan)));
    }
    let own = state.memory.get(asked.plan)?;
    expect(own, asked.expected_version)?;
    governed::leaves_alone(state, own)?;
    if own.is_terminal() {
        let message = format!("{} is {}, so its steps cannot change", own.id, own.word());
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    let Some(step) = own.fields.steps.iter().find(|step| step.id == Some(asked.step)) else {
        let message = format!("{} has no step {}", own.id, asked.step);
        let known = own.fields.steps.iter().filter_map(|step| step.id);
        let known: Vec<String> = known.map(|id| id.to_string()).collect();
        return Err(Refusal::not_found(Rule::RecordKnown, message).allowing(known));
    };
    if !STEP_EDGES.contains(&(step.status, asked.status)) {
        return Err(no_way(step.id, step.status, asked.status));
    }
    let mut after = own.fields.steps.to_vec();
    for after in after.iter_mut().filter(|after| after.id == step.id) {
        after.status = asked.status;
    }
    let completed = completes(state, own, &after);
    let effects = if completed {
        effect::of_ended_plan(state, who, own.id, Status::Done)
    } else {
        Vec::new()
    };
    let (plan, status, step) = (asked.plan, asked.status, asked.step);
    Ok(Stepped { completed, effects, plan, request: None, status, step })
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Stepped) -> Result<(), ApplyError> {
    change(state, entry, body.plan, |own| {
        let mut steps = own.fields.steps.to_vec();
        for step in steps.iter_mut().filter(|step| step.id == Some(body.step)) {
            step.status = body.status;
        }
        own.fields.steps = Few::new(steps).unwrap_or_default();
        if body.completed {
            own.enter(Status::Done, entry.at);
        }
    })?;
    transition::apply_others(state, entry, &body.effects)
}

pub(crate) fn reply(record: Arc<Record>, body: &Stepped) -> MemoryReply {
    let steps = &record.fields.steps;
    let done = steps.iter().filter(|step| step.status == StepStatus::Done).count();
    MemoryReply::Stepped(view::Stepped {
        total: steps.len(),
        done,
        auto_completed: body.completed,
        side_effects: body.effects.clone(),
        record,
    })
}
