//! Transfer of leases from one holder to another with a record's step.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::machine::state::State;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::model::leasing::lease::Lease;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::view::Collision;
use crate::protocol::event::Stamped;
use crate::protocol::refusal::{Details, Refusal};
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::rules::knowledge::records::{change, effect};
use crate::rules::leasing::collisions::collisions_where;
use crate::rules::leasing::lease::collision_message;
use crate::values::id::LeaseId;
use crate::values::principal::Principal;

/// The leases that are transferred together: this one, and overlapping ones that its holder has
/// promised to the same agent, since leases of two holders never overlap.
pub(crate) fn with(
    state: &State,
    held: &LeaseId,
    lease: &Lease,
    to: &Principal,
) -> Result<Vec<(LeaseId, u64)>, Refusal> {
    let mut passed = vec![(held.clone(), lease.epoch)];
    let (mut at, mut promised) = (0, None);
    while let Some((id, _)) = passed.get(at) {
        at += 1;
        let Some(surfaces) = state.leases.get(id).map(|own| &own.surfaces) else { continue };
        let met = met_by(state, surfaces, &[to], &passed);
        if met.is_empty() {
            continue;
        }
        let promised = promised.get_or_insert_with(|| promised_to(state, to));
        let (theirs, others): (Vec<_>, Vec<_>) =
            met.into_iter().partition(|own| promised.contains(&own.epoch));
        if !others.is_empty() {
            return Err(in_the_way(others));
        }
        passed.extend(theirs.into_iter().map(|own| (own.lease, own.epoch)));
    }
    Ok(passed)
}

/// The epochs of leases that an agent will take over with its assignments.
fn promised_to(state: &State, to: &Principal) -> BTreeSet<u64> {
    let live = state.memory.newest(Kind::Assignment, Some(true));
    live.filter(|own| own.is_for(to)).filter_map(|own| own.fields.claim).collect()
}

/// Refuses surfaces that others hold, except through the leases being transferred.
pub(crate) fn free(
    state: &State,
    surfaces: &Surfaces,
    parties: &[&Principal],
    passed: &[(LeaseId, u64)],
) -> Result<(), Refusal> {
    let met = met_by(state, surfaces, parties, passed);
    if met.is_empty() { Ok(()) } else { Err(in_the_way(met)) }
}

fn met_by(
    state: &State,
    surfaces: &Surfaces,
    parties: &[&Principal],
    passed: &[(LeaseId, u64)],
) -> Vec<Collision> {
    let goes = |id: &LeaseId| passed.iter().any(|(own, _)| own == id);
    let counts = |id: &LeaseId, of: &Principal| !parties.contains(&of) && !goes(id);
    collisions_where(state, state.clock(), surfaces.as_slice(), &counts)
}

fn in_the_way(met: Vec<Collision>) -> Refusal {
    let message = met.first().map(|first| collision_message(first, met.len()));
    Refusal::collision(message.unwrap_or_default(), Details::Collisions(met))
}

/// The effects on the assignments that are worked on under these leases and follow them.
pub(crate) fn with_them(state: &State, passed: &[(LeaseId, u64)], to: &Principal) -> Vec<Effect> {
    if passed.is_empty() {
        return Vec::new();
    }
    let named = |own: &&Record| passed.iter().any(|(_, epoch)| own.fields.claim == Some(*epoch));
    let live = state.memory.newest(Kind::Assignment, Some(true));
    let theirs = live.filter(|own| own.is_for(to)).filter(named);
    theirs.map(|own| Effect::new(Action::Followed, own.id)).collect()
}

/// The effects of a transfer: first each lease ends, then each begins for the new holder, so that
/// no two holders ever overlap.
pub(crate) fn over(state: &State, passed: &[(LeaseId, u64)], to: &Principal) -> Vec<Effect> {
    let ended = passed.iter().map(|(_, epoch)| {
        let ended = Effect::new(Action::HandedOver, RecordId::claim(*epoch));
        ended.to(Status::Released).saying(&format!("to {to}"))
    });
    let begun = (state.epoch + 1..).take(passed.len()).map(|epoch| effect::begun(epoch, to));
    ended.chain(begun).collect()
}

/// Updates the assignments whose lease was transferred to name the new lease.
pub(crate) fn follow(
    state: &mut State,
    entry: &Stamped,
    effects: &[Effect],
) -> Result<(), ApplyError> {
    let epochs = |action: Action| {
        effects.iter().filter(move |own| own.action == action).map(|own| own.id.number)
    };
    let pairs = epochs(Action::HandedOver).zip(epochs(Action::Opened));
    let moved: BTreeMap<u64, u64> = pairs.collect();
    for effect in followers(effects, Kind::Assignment) {
        change(state, entry, effect.id, |own| {
            let next = own.fields.claim.and_then(|claim| moved.get(&claim).copied());
            own.fields.claim = next.or(own.fields.claim);
        })?;
    }
    Ok(())
}

/// The effects on records of a kind that follow a transfer.
pub(crate) fn followers(effects: &[Effect], kind: Kind) -> impl Iterator<Item = &Effect> {
    effects.iter().filter(move |own| own.action == Action::Followed && own.kind == kind)
}
