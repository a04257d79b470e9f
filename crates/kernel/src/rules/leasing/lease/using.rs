//! Leases in use: reuse of a lease on the same surfaces, and renewal by the holder's activity.

use std::sync::Arc;

use crate::values::id::First as _;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::lease::{Lease, Renewed, Ttl};
use crate::protocol::event::{Draft, Event};
use crate::registry::apply_error::ApplyError;
use crate::rules::identity::agent;
use crate::rules::leasing::lease::{about, held_by_caller};
use crate::surfaces::Surface;
use crate::values::id::{EntryId, LeaseId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::time::Timestamp;

/// The newest live lease of a holder that covers exactly these surfaces.
pub(crate) fn same<'s>(
    state: &'s State,
    now: Timestamp,
    holder: &Principal,
    wanted: &Surfaces,
) -> Option<&'s LeaseId> {
    let own = |id: &LeaseId, of: &Principal| of == holder && state.is_live(id, now);
    let met = state.surfaces.meeting(wanted.as_slice(), usize::MAX, &own);
    let known = met.iter().filter_map(|id| state.leases.get_key_value(id));
    let alike = known.filter(|(_, lease)| sorted(&lease.surfaces) == sorted(wanted));
    alike.max_by_key(|(_, lease)| lease.epoch).map(|(id, _)| id)
}

fn sorted(surfaces: &Surfaces) -> Vec<&str> {
    let mut list: Vec<&str> = surfaces.as_slice().iter().map(Surface::as_str).collect();
    list.sort_unstable();
    list
}

/// Renews a lease that the caller holds.
pub(crate) fn renew(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    id: &LeaseId,
    epoch: Option<u64>,
    ttl: Option<Ttl>,
) -> Result<(), DecisionError> {
    agent::not_revoked(tx.state(), &caller.principal)?;
    let lease = held_by_caller(tx, caller, id, epoch)?;
    let event = renewed(tx.now(), id, &lease, ttl.unwrap_or(lease.ttl));
    tx.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(())
}

pub(crate) fn renewed(now: Timestamp, id: &LeaseId, lease: &Lease, ttl: Ttl) -> Event {
    let (epoch, expires_at) = (lease.epoch, now.after(ttl.span()));
    Event::LeaseRenewed(Renewed { epoch, expires_at, lease: id.clone(), ttl_s: ttl })
}

/// Whether a lease has used up a quarter of its time to live.
pub(crate) fn is_used(lease: &Lease, now: Timestamp) -> bool {
    let ttl = lease.ttl.span().micros();
    lease.expires_at.since(now).micros() < ttl - ttl / 4
}

/// Renews the caller's leases that have used up a quarter of their time, because of the caller's
/// entry `cause`. Without one, the first renewal is the caller's own entry and causes the others.
pub(crate) fn renew_used(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    cause: Option<EntryId>,
) -> Result<Vec<LeaseId>, DecisionError> {
    let (now, holder) = (tx.now(), &caller.principal);
    if agent::not_revoked(tx.state(), holder).is_err() {
        return Ok(Vec::new());
    }
    let is_due = |lease: &Lease| lease.is_live(now) && is_used(lease, now);
    let due = tx.state().leases_of(holder).filter(|(_, lease)| is_due(lease));
    let due: Vec<_> = due.map(|(id, lease)| (id.clone(), lease.clone())).collect();
    Ok(renew_each(tx, caller, due, cause)?)
}

/// Renews leases of the caller because of the caller's entry `cause`. Without one, the first renewal
/// is the caller's own entry and causes the others.
pub(crate) fn renew_each(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    due: Vec<(LeaseId, Arc<Lease>)>,
    mut cause: Option<EntryId>,
) -> Result<Vec<LeaseId>, ApplyError> {
    let (now, holder) = (tx.now(), &caller.principal);
    for (id, lease) in &due {
        let event = renewed(now, id, lease, lease.ttl);
        let actor = if cause.is_some() { Actor::Protocol } else { holder.clone().into() };
        tx.emit(Draft { causation: cause.clone(), ..about(lease, actor, false, event) })?;
        if cause.is_none() {
            cause = tx.entries().last().map(|entry| entry.id.clone());
        }
    }
    Ok(due.into_iter().map(|(id, _)| id).collect())
}

impl State {
    /// The recorded leases of a holder.
    pub fn leases_of<'s>(
        &'s self,
        holder: &Principal,
    ) -> impl Iterator<Item = (&'s LeaseId, &'s std::sync::Arc<Lease>)> + use<'s> {
        let holder = holder.clone();
        let own = self.holders.range((holder.clone(), LeaseId::first())..);
        let own = own.take_while(move |(of, _)| *of == holder);
        own.filter_map(|(_, id)| self.leases.get_key_value(id))
    }
}
