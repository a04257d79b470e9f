//! Escalations: what an agent needs a person for.
//!
//! The signal goes up the tree like any other and comes to the owner of the workspace besides.
//! The owner answers with an envelope, ends the workspace, or leaves it to the coordinator. While
//! the owner is suspended or blocked it waits; to somebody who was deactivated it does not go at
//! all. When its time is over the fallback answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::inject::{self, Inject};
use super::view::EscalationView;
use super::{EscalationFallback, gate};
use crate::capability::{self, Deed, DenialReason, Denied};
use crate::content::Blob;
use crate::envelope::{Payload, PayloadArg};
use crate::event::{Event, Stamped};
use crate::id::{AnyId, SignalId, WorkspaceId};
use crate::name::UserId;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::token::{Format, TypeName};
use crate::turn::{Halt, Reply, Turn};
use crate::user;
use crate::workspace::change::{self, Change};
use crate::workspace::{self, Initiator, Party, Status, Timeout, Trigger, abort};

use super::resolve::Resolver;

/// The most escalations that wait for one person. One more drops the oldest, on record.
pub const ESCALATIONS_MAX: usize = 100;

/// What an agent is told when nobody answered and the fallback says to go on.
pub const PROCEED: &str = "Nobody answered in time. Go on as you see fit.";
/// The SHA-256 of [`PROCEED`]; a test holds one to the other.
const PROCEED_DIGEST: [u8; 32] = [
    0x2f, 0x5e, 0x30, 0x91, 0xca, 0x2b, 0x4b, 0x0b, 0xfe, 0x07, 0x25, 0x4a, 0x0d, 0x6c, 0xb1, 0x0d,
    0x55, 0xbe, 0xe8, 0xb7, 0x3e, 0x68, 0x4f, 0x60, 0xa0, 0x10, 0xa4, 0x74, 0xf7, 0xa1, 0x28, 0xf2,
];

/// The content an agent is sent when the fallback says to go on.
pub fn proceed() -> Blob {
    Blob::from_digest(PROCEED_DIGEST)
}

/// An escalation that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The workspace it comes from.
    pub workspace: WorkspaceId,
    /// What a person is needed for.
    pub reason: Text<1000>,
    /// When it came.
    pub at: Timestamp,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// What happens then.
    pub fallback: EscalationFallback,
}

impl Escalation {
    /// When its fallback happens.
    pub fn due(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.at.after(timeout))
    }
}

/// How an escalation is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseType {
    /// With a message to the agent.
    Envelope,
    /// By ending the workspace.
    Abort,
    /// By leaving it to the coordinator.
    Delegation,
}

/// `escalation.answer`: answers what an agent needs a person for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Which escalation: the signal that brought it.
    pub escalation: SignalId,
    /// With `envelope`: what is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadArg>,
    /// With `abort`: why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// How it is answered.
    pub response: ResponseType,
}

/// `escalation_received`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// What happens if nobody answers.
    pub fallback: EscalationFallback,
    /// What a person is needed for.
    pub reason: Text<1000>,
    /// The signal.
    pub signal_id: SignalId,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// The workspace it comes from.
    pub workspace: WorkspaceId,
}

/// `escalation_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// Who answered.
    pub actor: Resolver,
    /// The envelope it was answered with, if it was.
    pub response_ref: Option<AnyId>,
    /// How it was answered.
    pub response_type: ResponseType,
    /// The signal.
    pub signal_id: SignalId,
    /// The workspace it came from.
    pub workspace: WorkspaceId,
}

/// `escalation_timeout`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedOut {
    /// How long it waited.
    pub elapsed: Span,
    /// What happens now.
    pub fallback_action: EscalationFallback,
    /// The signal.
    pub signal_id: SignalId,
    /// The workspace it came from.
    pub workspace: WorkspaceId,
}

/// An agent asked for a person.
pub(crate) fn on_emitted(
    turn: &mut Turn<'_>,
    workspace: &WorkspaceId,
    signal: &SignalId,
    reason: Option<&Text<1000>>,
) -> Result<(), ApplyError> {
    let policy = turn.state().highway.escalation;
    if !policy.enabled {
        return Ok(());
    }
    make_room(turn, workspace)?;
    let event = Event::EscalationReceived(Received {
        fallback: policy.fallback,
        reason: reason.cloned().unwrap_or_else(|| Text::lossy("")),
        signal_id: signal.clone(),
        timeout: policy.timeout_s.map(Timeout::span),
        workspace: workspace.clone(),
    });
    turn.note(Some(workspace), Actor::Protocol, event)?;
    reroute(turn, signal)
}

/// Where nobody is there whom it could go to, the coordinator finds somebody else.
fn reroute(turn: &mut Turn<'_>, signal: &SignalId) -> Result<(), ApplyError> {
    let Some(open) = turn.state().escalations.get(signal).cloned() else { return Ok(()) };
    match gate::owner_of(turn.state(), Some(&open.workspace)) {
        Party::User(owner) if is_gone(turn.state(), &owner) => {
            denied(turn, &open.workspace, owner, DenialReason::UserNotActive)?;
            let (by, how) = (Resolver::Protocol, ResponseType::Delegation);
            resolved(turn, signal, by, how, None, Actor::Protocol)
        }
        _ => Ok(()),
    }
}

fn is_gone(state: &State, user: &UserId) -> bool {
    state.users.get(user).is_none_or(|known| known.status == user::Status::Deactivated)
}

/// Notes that somebody was not asked.
fn denied(
    turn: &mut Turn<'_>,
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
    turn.note(None, Actor::Protocol, event)
}

/// Of too many that wait for one person the oldest is left to the coordinator.
fn make_room(turn: &mut Turn<'_>, workspace: &WorkspaceId) -> Result<(), ApplyError> {
    let state = turn.state();
    let owner = gate::owner_of(state, Some(workspace));
    let mut waiting = state.escalations_for(&owner);
    if waiting.len() < ESCALATIONS_MAX {
        return Ok(());
    }
    waiting.truncate(1);
    for (id, open) in waiting {
        if let Party::User(owner) = &owner {
            let reason = DenialReason::EscalationQueueOverflow;
            denied(turn, &open.workspace, owner.clone(), reason)?;
        }
        resolved(turn, &id, Resolver::Protocol, ResponseType::Delegation, None, Actor::Protocol)?;
    }
    Ok(())
}

pub(crate) fn decide_answer(
    turn: &mut Turn<'_>,
    caller: &Caller,
    answer: &Answer,
) -> Result<Reply, Halt> {
    let id = &answer.escalation;
    let Some(open) = turn.state().escalations.get(id).cloned() else {
        let message = format!("no escalation {id} waits for an answer");
        return Err(Refusal::not_found(Rule::EscalationOpen, message).into());
    };
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot answer for a person", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message).into());
    };
    let deed = if answer.response == ResponseType::Abort { Deed::Abort } else { Deed::Inject };
    capability::may(turn.state(), user, deed, Some(&open.workspace))?;
    let by = Resolver::User(user.clone());
    match (answer.response, &answer.payload) {
        (ResponseType::Envelope, Some(payload)) => {
            let (to, kind) = (open.workspace.clone(), TypeName::feedback());
            let inject =
                Inject { in_reply_to: None, payload: payload.clone(), priority: None, to, kind };
            inject::person(turn.state(), caller, &open.workspace)?;
            let sent = inject::send(turn, caller, user, &inject)?;
            let sent = Some((&sent).into());
            resolved(turn, id, by, ResponseType::Envelope, sent, Actor::Protocol)?;
        }
        (ResponseType::Envelope, None) => {
            let message = "an answer in words needs its `payload`";
            return Err(Refusal::denied(Rule::EscalationAnswer, message).into());
        }
        (_, Some(_)) => {
            let message = "only an answer in words has a `payload`";
            return Err(Refusal::denied(Rule::EscalationAnswer, message).into());
        }
        (ResponseType::Abort, None) => {
            let reason = answer.reason.clone();
            abort::abort_now(turn, &open.workspace, Initiator::Human, reason, caller)?;
            resolved(turn, id, by, ResponseType::Abort, None, Actor::Protocol)?;
        }
        (ResponseType::Delegation, None) => {
            let actor = caller.principal.clone().into();
            resolved(turn, id, by, ResponseType::Delegation, None, actor)?;
        }
    }
    let view = EscalationView::of(turn.state(), id, &open);
    Ok(Reply::Escalation(Box::new(view)))
}

fn resolved(
    turn: &mut Turn<'_>,
    id: &SignalId,
    by: Resolver,
    response_type: ResponseType,
    response_ref: Option<AnyId>,
    actor: Actor,
) -> Result<(), ApplyError> {
    let Some(open) = turn.state().escalations.get(id).cloned() else { return Ok(()) };
    let event = Event::EscalationResolved(Resolved {
        actor: by,
        response_ref,
        response_type,
        signal_id: id.clone(),
        workspace: open.workspace.clone(),
    });
    turn.note(Some(&open.workspace), actor, event)
}

/// An escalation's time is over.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, id: &SignalId) -> Result<(), ApplyError> {
    let Some(open) = turn.state().escalations.get(id).cloned() else { return Ok(()) };
    let event = Event::EscalationTimeout(TimedOut {
        elapsed: turn.now().since(open.at),
        fallback_action: open.fallback,
        signal_id: id.clone(),
        workspace: open.workspace.clone(),
    });
    turn.note(Some(&open.workspace), Actor::Protocol, event)?;
    let listens = |state: &State| {
        state.workspaces.get(&open.workspace).is_some_and(|known| !known.status.is_sealed())
    };
    let fallback = Resolver::Fallback;
    match open.fallback {
        EscalationFallback::Approve if listens(turn.state()) => {
            let (attachments, format) = (Vec::new(), Format::markdown());
            let payload = Payload { attachments, content: proceed(), format };
            let sent = inject::say(turn, &open.workspace, payload)?;
            let sent = Some((&sent).into());
            resolved(turn, id, fallback, ResponseType::Envelope, sent, Actor::Protocol)
        }
        EscalationFallback::Reject => {
            resolved(turn, id, fallback, ResponseType::Abort, None, Actor::Protocol)?;
            let failed = Change::of_runtime(Status::Failed, Trigger::EscalationTimeout);
            change::fail(turn, &open.workspace, failed)
        }
        EscalationFallback::Approve | EscalationFallback::DelegateToCoordinator => {
            resolved(turn, id, fallback, ResponseType::Delegation, None, Actor::Protocol)
        }
    }
}

/// Closes the escalations of workspaces that have ended, and hands on those whose owner has left
/// for good since.
pub(super) fn sweep(turn: &mut Turn<'_>) -> Result<(), ApplyError> {
    let state = turn.state();
    let ended = |open: &Escalation| {
        state.workspaces.get(&open.workspace).is_none_or(|known| known.status.is_terminal())
    };
    let gone = state.escalations.iter().filter(|(_, open)| ended(open));
    let gone: Vec<SignalId> = gone.map(|(id, _)| id.clone()).collect();
    for id in gone {
        resolved(turn, &id, Resolver::Protocol, ResponseType::Abort, None, Actor::Protocol)?;
    }
    let waiting: Vec<SignalId> = turn.state().escalations.keys().cloned().collect();
    waiting.iter().try_for_each(|id| reroute(turn, id))
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
    /// Takes in an escalation with everything that is derived from it.
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

    /// What waits for a person, oldest first.
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
