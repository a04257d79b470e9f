//! Escalations: an agent's request for a person.
//!
//! The signal goes up the tree like any other, and also reaches the owner of the workspace. The
//! owner answers with an envelope, aborts the workspace, or delegates to the coordinator. While the
//! owner is suspended or blocked it waits; a deactivated owner is skipped. After the timeout the
//! fallback applies.

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::{DenialReason, Denied, Permission};
use crate::model::runs::approvals::EscalationFallback;
use crate::model::runs::approvals::inject::Inject;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::approvals::view::EscalationView;
use crate::model::runs::envelope::Payload;
use crate::model::runs::workspace::{Initiator, Party, Status, Timeout, Trigger};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::identity::user::standing;
use crate::rules::runs::approvals::{gate, inject};
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{abort, change};
use crate::values::content::Blob;
use crate::values::id::{AnyId, SignalId, WorkspaceId};
use crate::values::name::UserId;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;
use crate::values::token::{Format, TypeName};

pub use crate::model::runs::approvals::escalation::*;

/// The SHA-256 of [`PROCEED`]; checked by a test.
const PROCEED_DIGEST: [u8; 32] = [
    0x2f, 0x5e, 0x30, 0x91, 0xca, 0x2b, 0x4b, 0x0b, 0xfe, 0x07, 0x25, 0x4a, 0x0d, 0x6c, 0xb1, 0x0d,
    0x55, 0xbe, 0xe8, 0xb7, 0x3e, 0x68, 0x4f, 0x60, 0xa0, 0x10, 0xa4, 0x74, 0xf7, 0xa1, 0x28, 0xf2,
];

/// The content sent to an agent when the fallback is to proceed.
pub fn proceed() -> Blob {
    Blob::from_digest(PROCEED_DIGEST)
}

/// Opens an escalation for an emitted signal.
pub(crate) fn on_emitted(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    signal: &SignalId,
    reason: Option<&Text<1000>>,
) -> Result<(), ApplyError> {
    let policy = tx.state().approvals_in_force().escalation;
    if !policy.enabled {
        return Ok(());
    }
    let by = tx.state().approvals_by.clone();
    make_room(tx, workspace)?;
    let event = Event::EscalationReceived(Received {
        chosen_by: by.filter(|_| policy.fallback.passes_people()),
        fallback: policy.fallback,
        reason: reason.cloned().unwrap_or_else(|| Text::lossy("")),
        signal_id: signal.clone(),
        timeout: policy.timeout_s.map(Timeout::span),
        workspace: workspace.clone(),
    });
    tx.note(Some(workspace), Actor::Protocol, event)?;
    reroute(tx, signal)
}

/// Delegates an escalation to the coordinator if its owner is deactivated.
fn reroute(tx: &mut Transaction<'_>, signal: &SignalId) -> Result<(), ApplyError> {
    let Some(open) = tx.state().escalations.get(signal).cloned() else { return Ok(()) };
    match gate::owner_of(tx.state(), Some(&open.workspace)) {
        Party::User(owner) if is_gone(tx.state(), &owner) => {
            denied(tx, &open.workspace, owner, DenialReason::UserNotActive)?;
            let (by, how) = (Resolver::Protocol, ResponseType::Delegation);
            resolved(tx, signal, by, how, None, Actor::Protocol)
        }
        _ => Ok(()),
    }
}

fn is_gone(state: &State, user: &UserId) -> bool {
    state.users.get(user).is_none_or(|known| known.status == standing::Status::Deactivated)
}

/// Records that a person was not asked.
fn denied(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    user: UserId,
    reason: DenialReason,
) -> Result<(), ApplyError> {
    let event = Event::CapabilityDenied(Denied {
        action: Text::lossy("escalation"),
        capability: None,
        reason,
        target: Some(workspace.into()),
        user_id: Some(user),
    });
    tx.note(None, Actor::Protocol, event)
}

/// Delegates the oldest escalation to the coordinator if the owner's queue is full.
fn make_room(tx: &mut Transaction<'_>, workspace: &WorkspaceId) -> Result<(), ApplyError> {
    let state = tx.state();
    let owner = gate::owner_of(state, Some(workspace));
    let mut waiting = state.escalations_for(&owner);
    if waiting.len() < ESCALATIONS_MAX {
        return Ok(());
    }
    waiting.truncate(1);
    for (id, open) in waiting {
        if let Party::User(owner) = &owner {
            let reason = DenialReason::EscalationQueueOverflow;
            denied(tx, &open.workspace, owner.clone(), reason)?;
        }
        resolved(tx, &id, Resolver::Protocol, ResponseType::Delegation, None, Actor::Protocol)?;
    }
    Ok(())
}

pub(crate) fn decide_answer(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    answer: &Answer,
) -> Result<Reply, DecisionError> {
    let id = &answer.escalation;
    let Some(open) = tx.state().escalations.get(id).cloned() else {
        let message = format!("no escalation {id} waits for an answer");
        return Err(Refusal::not_found(Rule::EscalationOpen, message).into());
    };
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot answer for a person", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message).into());
    };
    let permission =
        if answer.response == ResponseType::Abort { Permission::Abort } else { Permission::Inject };
    capability::may(tx.state(), user, permission, Some(&open.workspace))?;
    let by = Resolver::User(user.clone());
    match (answer.response, &answer.payload) {
        (ResponseType::Envelope, Some(payload)) => {
            let (to, kind) = (open.workspace.clone(), TypeName::feedback());
            let inject =
                Inject { in_reply_to: None, payload: payload.clone(), priority: None, to, kind };
            inject::person(tx.state(), caller, &open.workspace)?;
            let sent = inject::send(tx, caller, user, &inject)?;
            let sent = Some((&sent).into());
            resolved(tx, id, by, ResponseType::Envelope, sent, Actor::Protocol)?;
        }
        (ResponseType::Envelope, None) => {
            let message = "an answer with a message needs a `payload`";
            return Err(Refusal::denied(Rule::EscalationAnswer, message).into());
        }
        (_, Some(_)) => {
            let message = "only an answer with a message has a `payload`";
            return Err(Refusal::denied(Rule::EscalationAnswer, message).into());
        }
        (ResponseType::Abort, None) => {
            let reason = answer.reason.clone();
            abort::abort_now(tx, &open.workspace, Initiator::Human, reason, caller)?;
            resolved(tx, id, by, ResponseType::Abort, None, Actor::Protocol)?;
        }
        (ResponseType::Delegation, None) => {
            let actor = caller.principal.clone().into();
            resolved(tx, id, by, ResponseType::Delegation, None, actor)?;
        }
    }
    let view = EscalationView::of(tx.state(), id, &open);
    Ok(Reply::Escalation(Box::new(view)))
}

fn resolved(
    tx: &mut Transaction<'_>,
    id: &SignalId,
    by: Resolver,
    response_type: ResponseType,
    response_ref: Option<AnyId>,
    actor: Actor,
) -> Result<(), ApplyError> {
    let Some(open) = tx.state().escalations.get(id).cloned() else { return Ok(()) };
    let event = Event::EscalationResolved(Resolved {
        actor: by,
        response_ref,
        response_type,
        signal_id: id.clone(),
        workspace: open.workspace.clone(),
    });
    tx.note(Some(&open.workspace), actor, event)
}

/// Applies the fallback of an escalation that timed out.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &SignalId) -> Result<(), ApplyError> {
    let Some(open) = tx.state().escalations.get(id).cloned() else { return Ok(()) };
    let event = Event::EscalationTimeout(TimedOut {
        elapsed: tx.now().since(open.at),
        fallback_action: open.fallback,
        signal_id: id.clone(),
        workspace: open.workspace.clone(),
    });
    tx.note(Some(&open.workspace), Actor::Protocol, event)?;
    let listens = |state: &State| {
        state.workspaces.get(&open.workspace).is_some_and(|known| !known.status.is_sealed())
    };
    let fallback = Resolver::Fallback;
    match open.fallback {
        EscalationFallback::Approve if listens(tx.state()) => {
            let (attachments, format) = (Vec::new(), Format::markdown());
            let payload = Payload { attachments, content: proceed(), format };
            let sent = inject::say(tx, &open.workspace, payload)?;
            let sent = Some((&sent).into());
            resolved(tx, id, fallback, ResponseType::Envelope, sent, Actor::Protocol)
        }
        EscalationFallback::Reject => {
            resolved(tx, id, fallback, ResponseType::Abort, None, Actor::Protocol)?;
            let failed = Change::of_runtime(Status::Failed, Trigger::EscalationTimeout);
            change::fail(tx, &open.workspace, failed)
        }
        EscalationFallback::Approve | EscalationFallback::DelegateToCoordinator => {
            resolved(tx, id, fallback, ResponseType::Delegation, None, Actor::Protocol)
        }
    }
}

/// Closes the escalations of workspaces that have ended, and delegates those whose owner has been
/// deactivated.
pub(crate) fn sweep(tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
    let state = tx.state();
    let ended = |open: &Escalation| {
        state.workspaces.get(&open.workspace).is_none_or(|known| known.status.is_terminal())
    };
    let gone = state.escalations.iter().filter(|(_, open)| ended(open));
    let gone: Vec<SignalId> = gone.map(|(id, _)| id.clone()).collect();
    for id in gone {
        resolved(tx, &id, Resolver::Protocol, ResponseType::Abort, None, Actor::Protocol)?;
    }
    let waiting: Vec<SignalId> = tx.state().escalations.keys().cloned().collect();
    waiting.iter().try_for_each(|id| reroute(tx, id))
}

pub(crate) fn apply_received(
    state: &mut State,
    entry: &Stamped,
    received: &Received,
) -> Result<(), ApplyError> {
    workspace::get(state, &received.workspace).map_err(|_| ApplyError::Unknown("the workspace"))?;
    let open = Escalation {
        workspace: received.workspace.clone(),
        reason: received.reason.clone(),
        at: entry.at,
        timeout: received.timeout,
        fallback: received.fallback,
        chosen_by: received.chosen_by.clone(),
    };
    state.insert_escalation(received.signal_id.clone(), Arc::new(open))
}

pub(crate) fn apply_resolved(state: &mut State, resolved: &Resolved) -> Result<(), ApplyError> {
    let id = &resolved.signal_id;
    let open = state.escalations.remove(id).ok_or(ApplyError::Unknown("the escalation"))?;
    if open.workspace != resolved.workspace {
        return Err(ApplyError::Mismatch("the escalation"));
    }
    state.reschedule(open.due(), None, &Deadline::Escalation(id.clone()));
    Ok(())
}

impl State {
    /// Inserts an escalation and its deadline.
    pub(crate) fn insert_escalation(
        &mut self,
        id: SignalId,
        open: Arc<Escalation>,
    ) -> Result<(), ApplyError> {
        self.reschedule(None, open.due(), &Deadline::Escalation(id.clone()));
        match self.escalations.insert(id, open) {
            None => Ok(()),
            Some(_) => Err(ApplyError::Twice("an escalation")),
        }
    }

    /// The escalations waiting for an owner, oldest first.
    pub(crate) fn escalations_for(&self, owner: &Party) -> Vec<(SignalId, Arc<Escalation>)> {
        let own = |open: &Escalation| gate::owner_of(self, Some(&open.workspace)) == *owner;
        let mut waiting: Vec<(SignalId, Arc<Escalation>)> = self
            .escalations
            .iter()
            .filter(|(_, open)| own(open))
            .map(|(id, open)| (id.clone(), open.clone()))
            .collect();
        waiting.sort_by_key(|(_, open)| open.at);
        waiting
    }
}
