//! Search for live leases that overlap given surfaces.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::leasing::lease::{COLLISIONS_MAX, Lease};
use crate::model::leasing::view::{Collision, LeaseView};
use crate::model::query::LeaseList;
use crate::rules::leasing::session;
use crate::surfaces::Surface;
use crate::values::id::LeaseId;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// The live leases that match a query, sorted by id.
pub fn leases(state: &State, now: Timestamp, list: &LeaseList) -> Vec<LeaseView> {
    let overlapping = list
        .surfaces
        .as_ref()
        .map(|surfaces| state.surfaces.meeting(surfaces.as_slice(), usize::MAX, &|_, _| true));
    let wanted = |id: &LeaseId, lease: &Lease| {
        lease.is_live(now)
            && list.holder.as_ref().is_none_or(|holder| *holder == lease.holder)
            && overlapping.as_ref().is_none_or(|found| found.contains(id))
    };
    let live = state.leases.iter().filter(|(id, lease)| wanted(id, lease));
    let view = |(id, lease): (&LeaseId, &Arc<Lease>)| LeaseView {
        host_gone: session::absence(state, lease),
        ..LeaseView::of(id, lease)
    };
    live.map(view).collect()
}

/// The live leases that overlap the surfaces and are not held by `except`.
pub(crate) fn collisions(
    state: &State,
    now: Timestamp,
    surfaces: &[Surface],
    except: Option<&Principal>,
) -> Vec<Collision> {
    collisions_where(state, now, surfaces, &|_, of| except != Some(of))
}

/// The live leases that overlap the surfaces, among those that `counts` accepts.
pub(crate) fn collisions_where(
    state: &State,
    now: Timestamp,
    surfaces: &[Surface],
    counts: &dyn Fn(&LeaseId, &Principal) -> bool,
) -> Vec<Collision> {
    let in_the_way = |id: &LeaseId, of: &Principal| counts(id, of) && state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, COLLISIONS_MAX, &in_the_way);
    let leases = found.iter().filter_map(|id| state.leases.get(id).map(|lease| (id, lease)));
    let collision = |(id, lease): (&LeaseId, &Arc<Lease>)| {
        let collision = Collision::between(surfaces, id, lease)?;
        Some(Collision { host_gone: session::absence(state, lease), ..collision })
    };
    leases.filter_map(collision).collect()
}

/// The live leases that overlap surfaces, oldest first.
pub fn overlapping<'s>(
    state: &'s State,
    now: Timestamp,
    surfaces: &[Surface],
) -> Vec<(&'s LeaseId, &'s Lease)> {
    let live = |id: &LeaseId, _: &Principal| state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, usize::MAX, &live);
    let known = found.iter().filter_map(|id| state.leases.get_key_value(id));
    let mut known: Vec<_> = known.map(|(id, lease)| (id, lease.as_ref())).collect();
    known.sort_by_key(|(_, lease)| lease.epoch);
    known
}
