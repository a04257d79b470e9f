//! Leases that end or begin because of a record's step.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::offer::Terms;
use crate::model::knowledge::records::vocabulary::Action;
use crate::model::leasing::lease::{Lease, PER_SESSION_MAX, ReleaseCause};
use crate::protocol::event::{Draft, Event};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::leasing::{lease, session};
use crate::values::id::{EntryId, IdKind, LeaseId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};

/// The session in which leases are opened, if any effect opens one.
pub(crate) fn session(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    effects: &[Effect],
) -> Result<Option<WorkspaceId>, DecisionError> {
    let begun = effects.iter().filter(|effect| effect.action == Action::Opened).count();
    if begun == 0 {
        return Ok(None);
    }
    let id = session::ensure(tx, caller)?;
    let known = id.as_ref().and_then(|id| tx.state().sessions.get(id));
    if known.is_some_and(|session| session.leases + begun > PER_SESSION_MAX) {
        let message = format!("the session of {} holds {PER_SESSION_MAX} leases", caller.principal);
        return Err(Refusal::denied(Rule::LeasesPerSession, message).into());
    }
    Ok(id)
}

/// Ends and opens the leases that the last entry lists.
pub(crate) fn carry_out(
    tx: &mut Transaction<'_>,
    who: &Principal,
    session: Option<&WorkspaceId>,
    effects: &[Effect],
) -> Result<(), DecisionError> {
    let Some(entry) = tx.entries().last() else { return Ok(()) };
    let (cause, about) = (entry.id.clone(), entry.draft.event.clone());
    let mut passed = VecDeque::new();
    for effect in effects {
        match effect.action {
            Action::Released => drop(end(tx, &cause, effect, ReleaseCause::WorkOver)?),
            Action::HandedOver => {
                let before = end(tx, &cause, effect, ReleaseCause::HandedOver)?;
                passed.push_back(Terms::of(&before));
            }
            Action::Opened => {
                let terms = passed.pop_front().or_else(|| terms(tx.state(), &about, effect));
                let terms = terms.ok_or(ApplyError::Unknown("the lease"))?;
                open(tx, &cause, who, session.cloned(), terms)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The terms of a lease that replaces no other, taken from its assignment.
fn terms(state: &State, about: &Event, opened: &Effect) -> Option<Terms> {
    let id = match about {
        Event::MemoryOffered(body) => {
            let mut lanes = body.lanes.iter();
            lanes.find(|lane| lane.claim == Some(opened.id.number))?.assignment
        }
        Event::MemoryMoved(body) => body.id,
        // Any other entry opens no lease for an assignment.
        _ => return None,
    };
    Terms::of_assignment(state.memory.record(id)?)
}

fn end(
    tx: &mut Transaction<'_>,
    cause: &EntryId,
    effect: &Effect,
    why: ReleaseCause,
) -> Result<Arc<Lease>, ApplyError> {
    let known = tx.state().lease_of_epoch(effect.id.number);
    let (id, lease) = known.ok_or(ApplyError::Unknown("the lease"))?;
    let (id, lease) = (id.clone(), lease.clone());
    let event = lease::released(&id, &lease, why);
    let draft = lease::about(&lease, Actor::Protocol, false, event);
    tx.emit(Draft { causation: Some(cause.clone()), ..draft })?;
    Ok(lease)
}

fn open(
    tx: &mut Transaction<'_>,
    cause: &EntryId,
    holder: &Principal,
    workspace: Option<WorkspaceId>,
    terms: Terms,
) -> Result<(), DecisionError> {
    let stream = lease::stream_of(tx, holder, workspace.as_ref())?;
    let id: LeaseId = tx.mint(IdKind::Lease).into();
    let event = Event::LeaseOpened(lease::Opened {
        epoch: tx.state().epoch + 1,
        expires_at: tx.now().after(terms.ttl.span()),
        holder: holder.clone(),
        lease: id,
        purpose: terms.purpose,
        request: None,
        surfaces: terms.surfaces,
        task: terms.task,
        ttl_s: terms.ttl,
    });
    let (correlation, causation) = (Some(cause.clone()), Some(cause.clone()));
    let actor = Actor::Protocol;
    tx.emit(Draft { actor, workspace, stream, correlation, causation, event })?;
    Ok(())
}
