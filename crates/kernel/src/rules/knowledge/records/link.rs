//! Checks of references between records: the target exists, has the right kind, and forms no cycle.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::machine::state::State;
use crate::model::knowledge::records::field::{Fields, Item};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::leasing::lease::Lease;
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::create::name_of;
use crate::values::principal::Principal;

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::denied(Rule::RecordLinks, message)
}

fn there(state: &State, id: RecordId, kind: Kind, field: &str) -> Result<(), Refusal> {
    if id.kind != kind {
        return Err(bad(format!("`{field}` names a {kind}, not {id}")));
    }
    if state.memory.record(id).is_none() {
        return Err(bad(format!("`{field}` names {id}, which does not exist")));
    }
    Ok(())
}

/// Checks the references in these fields, for a new or a changed record.
pub(crate) fn check(
    state: &State,
    who: &Principal,
    own: Option<&Record>,
    kind: Kind,
    fields: &Fields,
) -> Result<(), Refusal> {
    let single = [
        (fields.plan_id, Kind::Plan, "plan_id"),
        (fields.message_id, Kind::Message, "message_id"),
        (fields.assignment_id, Kind::Assignment, "assignment_id"),
        (fields.supersedes, kind, "supersedes"),
    ];
    for (id, kind, field) in single {
        id.map_or(Ok(()), |id| there(state, id, kind, field))?;
    }
    for id in fields.depends_on.iter() {
        there(state, *id, Kind::Plan, "depends_on")?;
    }
    let is_named = |id: &RecordId| {
        own.is_some_and(|own| own.fields.slots.iter().any(|slot| slot.assignment == Some(*id)))
    };
    // An assignment that a slot already named may be archived by now.
    for id in fields.slots.iter().filter_map(|slot| slot.assignment).filter(|id| !is_named(id)) {
        there(state, id, Kind::Assignment, "slots")?;
        given_out_by(state, who, id)?;
    }
    if own.is_none() && fields.from.is_some() && fields.from != name_of(who) {
        return Err(bad(format!("`from` must be the author: {who}")));
    }
    corrects(state, fields)?;
    sequence(state, fields)?;
    slots(state, fields)?;
    claim(state, who, own, fields)?;
    message(state, who, own, fields)?;
    match own {
        Some(own) if circle(state, own.id, &fields.depends_on) => {
            Err(bad(format!("{} would wait for itself", own.id)))
        }
        _ => Ok(()),
    }
}

/// Checks that the caller dispatched an assignment: assignments end with the loop they are bound
/// to.
fn given_out_by(state: &State, who: &Principal, id: RecordId) -> Result<(), Refusal> {
    let assignment = state.memory.get(id)?;
    if assignment.author == *who || assignment.is_dispatched_by(who) {
        return Ok(());
    }
    Err(bad(format!("{id} was not dispatched by {who} and cannot be bound to their loop")))
}

/// Refuses to supersede a record that is closed or already superseded.
fn corrects(state: &State, fields: &Fields) -> Result<(), Refusal> {
    let Some(before) = fields.supersedes.and_then(|id| state.memory.record(id)) else {
        return Ok(());
    };
    let id = before.id;
    if let Some(by) = before.fields.superseded_by {
        return Err(bad(format!("{id} was already superseded by {by}; supersede that one")));
    }
    if before.status == Status::Closed {
        return Err(bad(format!("{id} is closed and cannot be superseded")));
    }
    Ok(())
}

/// Checks a sequence: its plans exist, ranks are unique, and dependencies are within the sequence
/// and without cycles.
fn sequence(state: &State, fields: &Fields) -> Result<(), Refusal> {
    let (mut ranks, mut plans) = (BTreeSet::new(), BTreeSet::new());
    for item in fields.items.iter() {
        there(state, item.plan, Kind::Plan, "items")?;
        if !ranks.insert(item.rank) {
            return Err(bad(format!("two items have the rank {}", item.rank)));
        }
        if !plans.insert(item.plan) {
            return Err(bad(format!("{} is in the sequence twice", item.plan)));
        }
    }
    let after = |item: &Item| -> Vec<RecordId> {
        item.hard_after.iter().chain(item.soft_after.iter()).copied().collect()
    };
    let lost = fields.items.iter().flat_map(after).find(|id| !plans.contains(id));
    if let Some(id) = lost {
        return Err(bad(format!("{id} is a dependency that is not in the sequence")));
    }
    match waits_in_circle(&fields.items) {
        Some(circle) => {
            let circle: Vec<String> = circle.iter().map(ToString::to_string).collect();
            let message = format!("plans would wait for each other: {}", circle.join(" after "));
            Err(bad(message))
        }
        None => Ok(()),
    }
}

/// A cycle of plans that each must wait for the next, with the first one at both ends.
fn waits_in_circle(items: &[Item]) -> Option<Vec<RecordId>> {
    let after: BTreeMap<RecordId, &[RecordId]> =
        items.iter().map(|item| (item.plan, item.hard_after.as_slice())).collect();
    let mut done = BTreeSet::new();
    for first in after.keys() {
        // The current path, each plan with the number of its dependencies already followed.
        let mut way: Vec<(RecordId, usize)> = vec![(*first, 0)];
        while let Some((here, followed)) = way.last_mut() {
            let (here, at) = (*here, *followed);
            *followed += 1;
            let next = after.get(&here).and_then(|list| list.get(at)).copied();
            let Some(next) = next else {
                done.insert(here);
                way.pop();
                continue;
            };
            if let Some(start) = way.iter().position(|(id, _)| *id == next) {
                let mut circle: Vec<RecordId> = way[start..].iter().map(|(id, _)| *id).collect();
                circle.push(next);
                return Some(circle);
            }
            if !done.contains(&next) {
                way.push((next, 0));
            }
        }
    }
    None
}

/// Checks that slot ids are unique, and that the work bound to a slot belongs to its agent.
fn slots(state: &State, fields: &Fields) -> Result<(), Refusal> {
    for slot in fields.slots.iter() {
        let work = slot.assignment.and_then(|id| state.memory.record(id));
        if let Some(work) = work.filter(|work| work.agent() != Some(&slot.agent)) {
            let whose = work.agent().map(ToString::to_string).unwrap_or_default();
            let message = format!("{} is {whose}'s work, and {} is", work.id, slot.id);
            return Err(bad(format!("{message} {}'s place", slot.agent)));
        }
    }
    let mut seen = BTreeSet::new();
    let twice = fields.slots.iter().find(|slot| !seen.insert(&slot.id));
    twice.map_or(Ok(()), |slot| Err(bad(format!("two slots are called {}", slot.id))))
}

/// Checks the claim of an assignment: it must be a lease of the dispatcher or, once accepted, of
/// the agent. Another principal's lease cannot be named, because it would end with the work.
fn claim(
    state: &State,
    who: &Principal,
    own: Option<&Record>,
    fields: &Fields,
) -> Result<(), Refusal> {
    let Some(epoch) = fields.claim else { return Ok(()) };
    if own.is_some_and(|own| own.fields.claim == Some(epoch)) {
        return Ok(());
    }
    let id = RecordId::claim(epoch);
    let Some((_, lease)) = state.lease_of_epoch(epoch) else {
        return Err(bad(format!("`claim` names {id}, which ended or never existed")));
    };
    if let Some(own) = own.filter(|own| !own.is_dispatched_by(who)) {
        taken_up_under(own, who, id, lease)?;
    }
    if lease.holder == *who {
        return Ok(());
    }
    Err(bad(format!("{id} is held by {}; `claim` must name a lease of your own", lease.holder)))
}

/// Checks that the agent's own lease covers at least the surfaces offered.
fn taken_up_under(
    own: &Record,
    who: &Principal,
    id: RecordId,
    lease: &Lease,
) -> Result<(), Refusal> {
    if !own.is_for(who) {
        let message = format!("the claim of {} is its agent's", own.id);
        return Err(Refusal::denied(
            Rule::RecordOwner,
            format!("{message} or its dispatcher's to set"),
        ));
    }
    match &own.fields.covers {
        Some(cover) if !cover.surfaces.is_within(&lease.surfaces) => {
            Err(bad(format!("{id} does not cover the surfaces {} was offered with", own.id)))
        }
        _ => Ok(()),
    }
}

/// Checks that an assignment's message was written by the caller, since it is closed along with the
/// assignment.
fn message(
    state: &State,
    who: &Principal,
    own: Option<&Record>,
    fields: &Fields,
) -> Result<(), Refusal> {
    let named =
        fields.message_id.filter(|id| own.is_none_or(|own| own.fields.message_id != Some(*id)));
    match named.and_then(|id| state.memory.record(id)) {
        Some(other) if other.author != *who => {
            let message = format!(
                "{} was written by {}; `message_id` must name a message of your own",
                other.id, other.author
            );
            Err(bad(message))
        }
        _ => Ok(()),
    }
}

/// Whether a plan would depend on itself.
fn circle(state: &State, own: RecordId, depends: &[RecordId]) -> bool {
    let mut open: Vec<RecordId> = depends.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if id == own {
            return true;
        }
        if seen.insert(id)
            && let Some(plan) = state.memory.record(id)
        {
            open.extend(plan.fields.depends_on.iter());
        }
    }
    false
}
