//! Leases in use: a caller goes on with a lease of its own on the same surfaces, and leases are
//! renewed by what their holder does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lease, Opened, Renewed, Surfaces, Ttl, about, held_by_caller};
use crate::agent;
use crate::event::{Draft, Event, Kind, Room, Stamped};
use crate::id::{EntryId, First as _, LeaseId};
use crate::principal::{Actor, Caller, Principal};
use crate::state::State;
use crate::surface::Surface;
use crate::time::Timestamp;
use crate::turn::{Halt, Turn};

/// How a request for surfaces goes on with a lease of the caller's that covers exactly these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// The lease stays as it is.
    AsIs,
    /// The lease is renewed for the time that is asked for.
    Renewed,
}

/// The newest live lease of a holder that covers exactly these surfaces.
pub(super) fn same<'s>(
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
pub(super) fn renew(
    turn: &mut Turn<'_>,
    caller: &Caller,
    id: &LeaseId,
    epoch: Option<u64>,
    ttl: Option<Ttl>,
) -> Result<(), Halt> {
    agent::not_revoked(turn.state(), &caller.principal)?;
    let lease = held_by_caller(turn, caller, id, epoch)?;
    let event = renewed(turn.now(), id, &lease, ttl.unwrap_or(lease.ttl));
    turn.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(())
}

fn renewed(now: Timestamp, id: &LeaseId, lease: &Lease, ttl: Ttl) -> Event {
    let (epoch, expires_at) = (lease.epoch, now.after(ttl.span()));
    Event::LeaseRenewed(Renewed { epoch, expires_at, lease: id.clone(), ttl_s: ttl })
}

/// Whether a lease has used up a quarter of its time.
fn is_used(lease: &Lease, now: Timestamp) -> bool {
    let ttl = lease.ttl.span().micros();
    lease.expires_at.since(now).micros() < ttl - ttl / 4
}

/// Renews the caller's leases that have used up a quarter of their time, because of what the caller
/// just did: the entry `cause`. Without one, the first renewal is the caller's own entry and the
/// others follow from it.
pub(crate) fn renew_used(
    turn: &mut Turn<'_>,
    caller: &Caller,
    cause: Option<EntryId>,
) -> Result<Vec<LeaseId>, Halt> {
    let (now, holder) = (turn.now(), &caller.principal);
    if agent::not_revoked(turn.state(), holder).is_err() {
        return Ok(Vec::new());
    }
    let is_due = |lease: &Lease| lease.is_live(now) && is_used(lease, now);
    let due = turn.state().leases_of(holder).filter(|(_, lease)| is_due(lease));
    let due: Vec<_> = due.map(|(id, lease)| (id.clone(), lease.clone())).collect();
    let mut cause = cause;
    for (id, lease) in &due {
        let event = renewed(now, id, lease, lease.ttl);
        let actor = if cause.is_some() { Actor::Protocol } else { holder.clone().into() };
        turn.emit(Draft { causation: cause.clone(), ..about(lease, actor, false, event) })?;
        if cause.is_none() {
            cause = turn.entries().last().map(|entry| entry.id.clone());
        }
    }
    Ok(due.into_iter().map(|(id, _)| id).collect())
}

/// Whether the runtime renewed a lease because its holder did something that renews it.
pub(crate) fn is_renewed_by_use(
    state: &State,
    entry: &Stamped,
    lease: &Lease,
    body: &Renewed,
) -> bool {
    let cause = entry.draft.causation.as_ref();
    let story = state.story.as_ref().filter(|story| Some(&story.id) == cause);
    let used = story.is_some_and(|story| {
        let renews = matches!(
            story.kind,
            Kind::SessionOpened
                | Kind::LeaseOpened
                | Kind::LeaseRenewed
                | Kind::LeaseReleased
                | Kind::AgentHeartbeat
                | Kind::CommandRefused
        );
        story.actor == Actor::from(lease.holder.clone())
            && (renews || story.kind.room() == Room::Memory)
    });
    used && body.ttl_s == lease.ttl && is_used(lease, entry.at)
}

/// Whether an opened lease is what somebody asked for.
pub(crate) fn follows_open(asked: &super::Open, got: &Opened) -> bool {
    asked.surfaces == got.surfaces
        && asked.purpose == got.purpose
        && asked.task == got.task
        && asked.ttl_s.unwrap_or_default() == got.ttl_s
        && asked.request_id.as_ref() == got.request.as_ref().map(|mark| &mark.id)
}

/// Whether a renewal is what somebody asked for who goes on with a lease of theirs.
pub(crate) fn follows_reuse(asked: &super::Open, got: &Renewed) -> bool {
    asked.reuse == Some(Reuse::Renewed) && asked.ttl_s.is_none_or(|ttl| ttl == got.ttl_s)
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
