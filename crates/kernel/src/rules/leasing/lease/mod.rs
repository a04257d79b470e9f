//! Leases: exclusive claims on surfaces for a time.
//!
//! A lease is granted for a set of surfaces as a whole, to one holder, for a time. While it is live
//! no other holder is granted anything that overlaps it. Every grant carries a fencing epoch from
//! one counter that only grows, so checking an epoch tells the holder from somebody whose lease
//! ended long ago. A lease is gone the moment it expires: every transaction first records what is
//! due, and reads leave expired leases out.

pub(crate) mod using;

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::leasing::view::{Collision, LeaseView};
use crate::protocol::command::Command;
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::{Details, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::idempotency::{Asked, keep, look_up};
use crate::rules::identity::agent;
use crate::rules::leasing::collisions::collisions;
use crate::rules::leasing::session;
use crate::values::id::{IdKind, LeaseId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;

pub use crate::model::leasing::lease::*;

/// The outcome of a request for surfaces.
pub(crate) enum Grant {
    /// A lease was opened.
    Opened(LeaseId),
    /// The caller reuses a lease it already had.
    Reused(LeaseId),
    /// The request was answered before, with this lease as it was then.
    Before(Box<LeaseView>),
}

pub(crate) fn decide_open(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    open: &Open,
) -> Result<Reply, DecisionError> {
    match grant(tx, caller, open)? {
        Grant::Opened(lease) | Grant::Reused(lease) => tx.lease_reply(&lease),
        Grant::Before(lease) => Ok(Reply::Lease(*lease)),
    }
}

/// Grants surfaces: opens a lease, or reuses one of the caller if requested.
pub(crate) fn grant(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    open: &Open,
) -> Result<Grant, DecisionError> {
    let request = match asked_before(tx, caller, open)? {
        Asked::New(mark) => mark,
        Asked::Before(MemoryReply::Lease(lease)) => return Ok(Grant::Before(lease)),
        Asked::Before(_) => return Err(ApplyError::Mismatch("the answer to a request").into()),
    };
    if let Some(reuse) = open.reuse
        && let Some(id) =
            using::same(tx.state(), tx.now(), &caller.principal, &open.surfaces).cloned()
    {
        if reuse == Reuse::Renewed {
            using::renew(tx, caller, &id, None, open.ttl_s)?;
        }
        return Ok(Grant::Reused(id));
    }
    agent::not_revoked(tx.state(), &caller.principal)?;
    known_plan(tx.state(), open)?;
    let workspace = session::ensure(tx, caller)?;
    let session = workspace.as_ref().and_then(|id| tx.state().sessions.get(id));
    if !open.replace && session.is_some_and(|session| session.leases >= PER_SESSION_MAX) {
        let message = format!("the session of {} holds {PER_SESSION_MAX} leases", caller.principal);
        return Err(Refusal::denied(Rule::LeasesPerSession, message).into());
    }
    let holder = &caller.principal;
    let taken = collisions(tx.state(), tx.now(), open.surfaces.as_slice(), Some(holder));
    if let Some(first) = taken.first() {
        let gone = first.host_gone.map(|gone| format!("; {}", gone.words(tx.now())));
        let message = collision_message(first, taken.len()) + &gone.unwrap_or_default();
        return Err(Refusal::collision(message, Details::Collisions(taken)).into());
    }
    let ttl = open.ttl_s.unwrap_or_default();
    let lease: LeaseId = tx.mint(IdKind::Lease).into();
    let event = Event::LeaseOpened(Opened {
        epoch: tx.state().epoch + 1,
        expires_at: tx.now().after(ttl.span()),
        holder: holder.clone(),
        lease: lease.clone(),
        purpose: open.purpose.clone(),
        request,
        surfaces: open.surfaces.clone(),
        task: open.task.clone(),
        ttl_s: ttl,
    });
    let stream = stream_of(tx, holder, workspace.as_ref())?;
    let others =
        if open.replace { held_beside(tx.state(), caller, workspace.as_ref()) } else { vec![] };
    tx.emit(Draft {
        actor: holder.clone().into(),
        workspace,
        stream,
        correlation: None,
        causation: None,
        event,
    })?;
    give_way(tx, &lease, &others)?;
    Ok(Grant::Opened(lease))
}

/// Refuses a lease for a plan that does not exist. Any other task is the caller's own word.
fn known_plan(state: &State, open: &Open) -> Result<(), Refusal> {
    let named = open.task.as_ref().and_then(|task| task.as_str().parse::<RecordId>().ok());
    match named.filter(|id| id.kind == Kind::Plan) {
        Some(plan) if state.memory.record(plan).is_none() => {
            let message = format!("there is no record {plan} ({})", plan.label());
            Err(Refusal::not_found(Rule::RecordKnown, message))
        }
        _ => Ok(()),
    }
}

/// Whether a request was made before.
fn asked_before(
    tx: &Transaction<'_>,
    caller: &Caller,
    open: &Open,
) -> Result<Asked, DecisionError> {
    let Some(id) = &open.request_id else { return Ok(Asked::New(None)) };
    // `reuse` is not part of the idempotency digest.
    let command = Command::LeaseOpen(Open { reuse: None, ..open.clone() });
    look_up(tx.state(), tx.stamp(), caller, &command, Some(id))
}

/// The leases the caller holds in a session, or without one.
fn held_beside(state: &State, caller: &Caller, session: Option<&WorkspaceId>) -> Vec<LeaseId> {
    if let Some(session) = session {
        return state.leases_in(session);
    }
    let own = |lease: &Lease| lease.holder == caller.principal && lease.workspace.is_none();
    state.leases.iter().filter(|(_, lease)| own(lease)).map(|(id, _)| id.clone()).collect()
}

/// Releases the leases that were replaced by the one just opened.
fn give_way(
    tx: &mut Transaction<'_>,
    opened: &LeaseId,
    others: &[LeaseId],
) -> Result<(), ApplyError> {
    let cause = tx.state().leases.get(opened).map(|lease| lease.opened_by.clone());
    for id in others {
        let Some(lease) = tx.state().leases.get(id).cloned() else { continue };
        let event = released(id, &lease, ReleaseCause::Replaced);
        tx.emit(Draft {
            causation: cause.clone(),
            ..about(&lease, Actor::Protocol, false, event)
        })?;
    }
    Ok(())
}

pub(crate) fn collision_message(first: &Collision, count: usize) -> String {
    let others = match count {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    format!(
        "{} overlaps {}, held by {} under lease {}{others}",
        first.wanted, first.surface, first.holder, first.lease
    )
}

pub(crate) fn stream_of(
    tx: &Transaction<'_>,
    holder: &Principal,
    workspace: Option<&WorkspaceId>,
) -> Result<Stream, DecisionError> {
    if let Some(session) = workspace.and_then(|id| tx.state().sessions.get(id)) {
        return Ok(session.stream.clone());
    }
    match holder {
        Principal::Agent(name) => Ok(Stream::agent(name)),
        Principal::User(_) | Principal::System => Ok(Stream::project(&tx.project()?.id)),
    }
}

fn live<'s>(state: &'s State, id: &LeaseId) -> Result<&'s Arc<Lease>, Refusal> {
    state.leases.get(id).ok_or_else(|| {
        let message = format!("there is no live lease {id}; it ended or never existed");
        Refusal::not_found(Rule::LeaseLive, message)
    })
}

/// Returns the lease if the caller holds it, under the given epoch; refuses otherwise.
pub(crate) fn held_by_caller(
    tx: &Transaction<'_>,
    caller: &Caller,
    id: &LeaseId,
    epoch: Option<u64>,
) -> Result<Arc<Lease>, Refusal> {
    let lease = live(tx.state(), id)?;
    if lease.holder != caller.principal {
        let message =
            format!("lease {id} is held by {}, not by {}", lease.holder, caller.principal);
        return Err(Refusal::denied(Rule::HolderOnly, message));
    }
    match epoch {
        Some(believed) if believed != lease.epoch => {
            let message =
                format!("lease {id} was granted under epoch {}, not {believed}", lease.epoch);
            Err(Refusal::denied(Rule::Fenced, message))
        }
        _ => Ok(lease.clone()),
    }
}

/// A draft of an event about an existing lease, in its own workspace and stream.
pub(crate) fn about(lease: &Lease, actor: Actor, caused: bool, event: Event) -> Draft {
    Draft {
        actor,
        workspace: lease.workspace.clone(),
        stream: lease.stream.clone(),
        correlation: Some(lease.opened_by.clone()),
        causation: caused.then(|| lease.opened_by.clone()),
        event,
    }
}

pub(crate) fn decide_renew(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    renew: &Renew,
) -> Result<Reply, DecisionError> {
    using::renew(tx, caller, &renew.lease, renew.epoch, renew.ttl_s)?;
    tx.lease_reply(&renew.lease)
}

pub(crate) fn decide_release(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    release: &Release,
) -> Result<Reply, DecisionError> {
    let lease = held_by_caller(tx, caller, &release.lease, release.epoch)?;
    can_be_released(tx.state(), &release.lease, &lease)?;
    let reply = tx.lease_reply(&release.lease)?;
    let event = released(&release.lease, &lease, ReleaseCause::Released);
    tx.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(reply)
}

pub(crate) fn released(id: &LeaseId, lease: &Lease, cause: ReleaseCause) -> Event {
    Event::LeaseReleased(Released {
        cause,
        epoch: lease.epoch,
        holder: lease.holder.clone(),
        lease: id.clone(),
    })
}

/// Whether a lease is the authority of a workspace that has not ended.
fn is_authority(state: &State, lease: &Lease) -> bool {
    let known = lease.workspace.as_ref().and_then(|id| state.workspaces.get(id));
    known.is_some_and(|known| !known.status.is_terminal())
}

/// Refuses to release the authority of a workspace, which ends with the workspace.
pub(crate) fn can_be_released(state: &State, id: &LeaseId, lease: &Lease) -> Result<(), Refusal> {
    match &lease.workspace {
        Some(workspace) if is_authority(state, lease) => {
            let message = format!("lease {id} is the authority of workspace {workspace}");
            Err(Refusal::denied(Rule::AuthorityLease, message))
        }
        _ => Ok(()),
    }
}

pub(crate) fn decide_force(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    force: &Force,
) -> Result<Reply, DecisionError> {
    if let Principal::Agent(agent) = &caller.principal {
        let message = format!("agent {agent} may not end the lease of another holder");
        return Err(Refusal::denied(Rule::ForceNeedsRight, message).into());
    }
    if force.reason.is_blank() {
        return Err(Refusal::denied(Rule::ForceNeedsRight, "the reason is empty").into());
    }
    let lease = live(tx.state(), &force.lease)?.clone();
    let reply = tx.lease_reply(&force.lease)?;
    let event = Event::LeaseForced(Forced {
        epoch: lease.epoch,
        holder: lease.holder.clone(),
        lease: force.lease.clone(),
        reason: force.reason.clone(),
    });
    tx.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(reply)
}

/// Releases every lease of a session that ends.
pub(crate) fn release_all_of(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    actor: &Actor,
) -> Result<(), ApplyError> {
    for id in tx.state().leases_in(workspace) {
        let Some(lease) = tx.state().leases.get(&id).cloned() else {
            continue;
        };
        let event = released(&id, &lease, ReleaseCause::SessionEnded);
        tx.emit(about(&lease, actor.clone(), false, event))?;
    }
    Ok(())
}

/// Expires a lease whose deadline has passed.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &LeaseId) -> Result<(), ApplyError> {
    let Some(lease) = tx.state().leases.get(id).cloned() else {
        return Ok(());
    };
    if is_authority(tx.state(), &lease) {
        let event = using::renewed(tx.now(), id, &lease, lease.ttl);
        return tx.emit(about(&lease, Actor::Protocol, true, event));
    }
    let event = Event::LeaseExpired(Expired {
        epoch: lease.epoch,
        expires_at: lease.expires_at,
        holder: lease.holder.clone(),
        lease: id.clone(),
    });
    tx.emit(about(&lease, Actor::Protocol, true, event))
}

pub(crate) fn apply_opened(
    state: &mut State,
    entry: &Stamped,
    opened: &Opened,
) -> Result<(), ApplyError> {
    if state.leases.contains_key(&opened.lease) {
        return Err(ApplyError::Twice("a lease's opening"));
    }
    if opened.epoch <= state.epoch {
        return Err(ApplyError::EpochRegressed { epoch: opened.epoch, last: state.epoch });
    }
    let workspace = entry.draft.workspace.clone();
    let lease = Lease {
        holder: opened.holder.clone(),
        workspace: workspace.clone(),
        surfaces: opened.surfaces.clone(),
        purpose: opened.purpose.clone(),
        task: opened.task.clone(),
        ttl: opened.ttl_s,
        opened_at: entry.at,
        opened_by: entry.id.clone(),
        expires_at: opened.expires_at,
        epoch: opened.epoch,
        stream: entry.draft.stream.clone(),
    };
    state.epoch = opened.epoch;
    state.insert_lease(opened.lease.clone(), lease)?;
    if let Some(workspace) = &workspace {
        session::hold_until(state, workspace, opened.expires_at);
    }
    if let (Some(mark), Some(lease)) = (&opened.request, state.leases.get(&opened.lease)) {
        let reply = MemoryReply::Lease(Box::new(LeaseView::of(&opened.lease, lease)));
        keep(state, entry, mark, reply);
    }
    Ok(())
}

pub(crate) fn apply_renewed(
    state: &mut State,
    _entry: &Stamped,
    renewed: &Renewed,
) -> Result<(), ApplyError> {
    let lease = state.leases.get_mut(&renewed.lease).ok_or(ApplyError::Unknown("the lease"))?;
    if lease.epoch != renewed.epoch {
        return Err(ApplyError::Mismatch("the lease's epoch"));
    }
    let before = lease.expires_at;
    let changed = Arc::make_mut(lease);
    changed.expires_at = renewed.expires_at;
    changed.ttl = renewed.ttl_s;
    let workspace = changed.workspace.clone();
    state.deadlines.remove(&(before, Deadline::Lease(renewed.lease.clone())));
    state.deadlines.insert((renewed.expires_at, Deadline::Lease(renewed.lease.clone())));
    if let Some(workspace) = &workspace {
        session::hold_until(state, workspace, renewed.expires_at);
    }
    Ok(())
}

pub(crate) fn apply_ended(state: &mut State, id: &LeaseId, epoch: u64) -> Result<(), ApplyError> {
    let lease = state.leases.get(id).ok_or(ApplyError::Unknown("the lease"))?;
    if lease.epoch != epoch {
        return Err(ApplyError::Mismatch("the lease's epoch"));
    }
    state.remove_lease(id)
}
