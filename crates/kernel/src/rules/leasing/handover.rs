//! Leases that stand between a dispatcher and the agent that is to work: which of them give way, and
//! which are in the way.

use std::collections::BTreeMap;

use crate::machine::state::State;
use crate::model::knowledge::records::offer::PlanTaken;
use crate::model::knowledge::records::record::Record;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::view::Collision;
use crate::protocol::refusal::{Details, Refusal};
use crate::registry::record_id::{Kind, RecordId};
use crate::rules::leasing::collisions::collisions_where;
use crate::rules::leasing::lease::collision_message;
use crate::values::id::LeaseId;
use crate::values::name::AgentName;
use crate::values::principal::Principal;

/// Refuses a task that somebody else has claimed files for: they work on it.
pub(crate) fn not_held(
    state: &State,
    plan: RecordId,
    except: &[&Principal],
) -> Result<(), Refusal> {
    let mut held = state.leases_for(&plan.to_string());
    let Some(lease) = held.find(|lease| !except.contains(&&lease.holder)) else { return Ok(()) };
    let message = format!("{plan} is worked on by {}", lease.holder);
    let (holder, claim_id) = (lease.holder.clone(), RecordId::claim(lease.epoch));
    Err(Refusal::taken(message, PlanTaken::Claimed { plan_id: plan, holder, claim_id }))
}

/// The refusal of a plan that somebody has an open assignment for.
pub(crate) fn assigned(plan: RecordId, work: &Record) -> Refusal {
    let agent = work.agent().cloned();
    let whose = agent.as_ref().map(ToString::to_string).unwrap_or_default();
    let message = format!("{plan} is assigned to {whose} ({})", work.id);
    let assignment_id = Some(work.id);
    Refusal::taken(message, PlanTaken::Assigned { plan_id: plan, agent, assignment_id })
}

/// The caller's leases that overlap a lane, apart from its own, and give way to it because they lie
/// within it and are not promised to anybody else. Refused if one is promised to another agent or
/// extends beyond the lane: the agent could not take the lane over.
pub(crate) fn gives_way(
    state: &State,
    who: &Principal,
    agent: &AgentName,
    wanted: &Surfaces,
    own: Option<u64>,
) -> Result<Vec<u64>, Refusal> {
    let to = Principal::Agent(agent.clone());
    let mine = |_: &LeaseId, of: &Principal| of == who;
    let held = state.surfaces.meeting(wanted.as_slice(), usize::MAX, &mine);
    let held: BTreeMap<u64, &LeaseId> = held
        .iter()
        .filter_map(|id| Some((state.leases.get(id)?.epoch, id)))
        .filter(|(epoch, _)| Some(*epoch) != own)
        .collect();
    if to == *who || held.is_empty() {
        return Ok(Vec::new());
    }
    let promised = promises(state, &|epoch| held.contains_key(&epoch));
    let mut ends = Vec::new();
    for (epoch, id) in held {
        match promised.get(&epoch) {
            Some(other) if other.is_for(&to) => {}
            Some(other) => return Err(promised_away(state, wanted, id, other)),
            None => match state.leases.get(id) {
                Some(lease) if !lease.surfaces.is_within(wanted) => {
                    return Err(held_back(state, wanted, id));
                }
                _ => ends.push(epoch),
            },
        }
    }
    Ok(ends)
}

/// The assignments to be worked on under leases with these epochs.
fn promises<'s>(state: &'s State, is_meant: &dyn Fn(u64) -> bool) -> BTreeMap<u64, &'s Record> {
    let live = state.memory.newest(Kind::Assignment, Some(true));
    live.filter_map(|own| Some((own.fields.claim?, own)))
        .filter(|(epoch, _)| is_meant(*epoch))
        .collect()
}

/// The refusal because others hold a part of a lane, with whom those leases are offered to.
pub(crate) fn held_by_others(state: &State, met: Vec<Collision>) -> Result<(), Refusal> {
    let Some(first) = met.first() else { return Ok(()) };
    let message = collision_message(first, met.len());
    Err(Refusal::collision(message, Details::Collisions(with_promises(state, met))))
}

/// Collisions, with the agents that the leases are offered to.
fn with_promises(state: &State, met: Vec<Collision>) -> Vec<Collision> {
    let promised = promises(state, &|epoch| met.iter().any(|own| own.epoch == epoch));
    let to = |epoch: u64| promised.get(&epoch).and_then(|own| own.agent().cloned());
    met.into_iter().map(|own| Collision { offered_to: to(own.epoch), ..own }).collect()
}

/// The part of a lane that a lease of the caller overlaps.
fn met_by(state: &State, wanted: &Surfaces, held: &LeaseId) -> Vec<Collision> {
    let met = collisions_where(state, state.clock(), wanted.as_slice(), &|id, _| id == held);
    with_promises(state, met)
}

fn promised_away(state: &State, wanted: &Surfaces, held: &LeaseId, other: &Record) -> Refusal {
    let whose = other.agent().map(ToString::to_string).unwrap_or_default();
    let claim = other.fields.claim.map(RecordId::claim);
    let claim = claim.map(|claim| claim.to_string()).unwrap_or_default();
    let message = format!("a part of it is offered to {whose} ({}, {claim})", other.id);
    Refusal::collision(message, Details::Collisions(met_by(state, wanted, held)))
}

/// The refusal because a lease of the caller extends beyond the lane.
fn held_back(state: &State, wanted: &Surfaces, held: &LeaseId) -> Refusal {
    let met = met_by(state, wanted, held);
    let message = met.first().map(|own| {
        let claim = RecordId::claim(own.epoch);
        let (own, wanted) = (&own.surface, &own.wanted);
        format!("you hold {own} yourself ({claim}), which is more than the lane's {wanted}")
    });
    Refusal::collision(message.unwrap_or_default(), Details::Collisions(met))
}
