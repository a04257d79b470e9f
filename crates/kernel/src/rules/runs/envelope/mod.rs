//! Envelopes: the only messages between workspaces.
//!
//! An envelope is checked when it is sent, in this order: its structure (type, target, references),
//! the permission matrix, the sender's right. The first failure gives the rejection reason, one of
//! a closed set, and uses up the envelope's id. An accepted envelope is recorded before it is
//! delivered, and delivered in the order of its channel; it waits while the receiver cannot take
//! mail or has not read a `blocking` envelope. Its integrity proof is verified before it is put
//! into the inbox. Payloads are stored beside the trail; entries name them by their hash.

pub mod deliver;
pub mod inbox;

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::right::RightType;
use crate::model::runs::taxonomy::Base;
use crate::model::runs::workspace::{Party, Workspace};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{Record, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::{right, workspace};
use crate::values::id::{EnvelopeId, IdKind, RightId, TaskId, WorkspaceId};
use crate::values::principal::{Actor, Caller};
use crate::values::token::TypeName;

pub use crate::model::runs::envelope::*;

pub(crate) fn decide_send(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    send: &Send,
) -> Result<Reply, DecisionError> {
    let from = workspace::own(tx.state(), caller, send.workspace.as_ref())?;
    let envelope_id: EnvelopeId = tx.mint(IdKind::Envelope).into();
    let checked = check(tx.state(), &from, send);
    let right = match checked {
        Ok(right) => right,
        Err((reason, refusal)) => {
            let rejected = Rejected {
                envelope_id,
                from,
                reason,
                to: send.to.clone(),
                kind: send.kind.clone(),
            };
            return Err(refusal.recorded(Record::Envelope(Box::new(rejected))).into());
        }
    };
    let payload = send.payload.stored().map_err(|what| Refusal::denied(Rule::Usage, what))?;
    let sender = workspace::get(tx.state(), &from)?;
    let event = Event::EnvelopeCreated(Created {
        bytes: tx.bytes_of_payload(&payload),
        envelope_id: envelope_id.clone(),
        from: from.clone(),
        in_reply_to: send.in_reply_to.clone(),
        integrity: None,
        origin: Origin::Agent,
        originator: sender.charter.originator.clone(),
        payload,
        priority: send.priority,
        rights: send.rights.clone(),
        task_ref: sender.charter.task.clone(),
        to: send.to.clone(),
        kind: send.kind.clone(),
    });
    tx.note(Some(&from), caller.principal.clone().into(), event)?;
    right::consume(tx, &right, &envelope_id)?;
    gate::on_sent(tx, &envelope_id, &send.to)?;
    deliver::move_on(tx, &send.to)?;
    tx.envelope_reply(&envelope_id)
}

type Refused = (RejectReason, Refusal);

/// Checks whether an envelope may be sent. Returns the right it is sent with.
pub(crate) fn check(state: &State, from: &WorkspaceId, send: &Send) -> Result<RightId, Refused> {
    let sender = workspace::get(state, from).map_err(|no| (RejectReason::PermissionDenied, no))?;
    let receiver = check_structure(state, from, sender, send)?;
    check_matrix(state, (from, sender), &send.kind, (&send.to, receiver))?;
    let right = check_right(state, from, &send.to)?;
    let once = state.rights.get(&right).is_some_and(|held| held.kind == RightType::SendOnce);
    if once && send.rights.contains(&right) {
        let message =
            format!("right {right} is consumed by this envelope and cannot be transferred with it");
        let refusal = Refusal::denied(Rule::RightTransfer, message);
        return Err((RejectReason::InvalidStructure, refusal));
    }
    Ok(right)
}

fn check_structure<'s>(
    state: &'s State,
    from: &WorkspaceId,
    sender: &Workspace,
    send: &Send,
) -> Result<&'s Arc<Workspace>, Refused> {
    let taxonomy = state.run_of(sender);
    if !taxonomy.has_envelope_type(&send.kind) {
        let message = format!("there is no envelope type {:?}", send.kind.as_str());
        let types: Vec<String> = taxonomy.envelope_types().map(ToString::to_string).collect();
        let refusal = Refusal::denied(Rule::TypeRegistered, message).allowing(types);
        return Err((RejectReason::InvalidType, refusal));
    }
    let receiver =
        workspace::get(state, &send.to).map_err(|no| (RejectReason::TargetNotFound, no))?;
    if receiver.status.is_sealed() {
        let message = format!("workspace {} is {}; its inbox is sealed", send.to, receiver.status);
        let refusal = Refusal::denied(Rule::InboxSealed, message);
        return Err((RejectReason::TargetTerminal, refusal));
    }
    let unsound =
        |rule, message: String| (RejectReason::InvalidStructure, Refusal::denied(rule, message));
    if let Some(earlier) = &send.in_reply_to
        && !state.envelopes.contains_key(earlier)
    {
        return Err(unsound(Rule::ReferenceKnown, format!("there is no envelope {earlier}")));
    }
    if state.held_for(&send.to, HELD_MAX) >= HELD_MAX {
        let message = format!("{HELD_MAX} envelopes wait for workspace {} already", send.to);
        return Err(unsound(Rule::Limits, message));
    }
    if send.rights.len() > RIGHTS_MAX {
        let message = format!("{} rights are over the limit of {RIGHTS_MAX}", send.rights.len());
        return Err(unsound(Rule::Limits, message));
    }
    for right in &send.rights {
        let own = state.rights.get(right).filter(|right| right.holder == *from);
        if own.is_none_or(|right| right.kind == RightType::Receive) {
            let message = format!("{from} holds no right {right} that it can transfer");
            return Err(unsound(Rule::RightTransfer, message));
        }
    }
    send.payload.stored().map_err(|what| unsound(Rule::EnvelopeSound, what))?;
    Ok(receiver)
}

fn check_matrix(
    state: &State,
    (from, sender): (&WorkspaceId, &Workspace),
    kind: &TypeName,
    (to, receiver): (&WorkspaceId, &Workspace),
) -> Result<(), Refused> {
    let denied = |refusal| Err((RejectReason::PermissionDenied, refusal));
    if !sender.status.is_open() {
        let message = format!("workspace {from} is {} and cannot send", sender.status);
        return denied(Refusal::denied(Rule::StateAllows, message));
    }
    let taxonomy = state.run_of(sender);
    let (own, theirs) = (&sender.charter.role, &receiver.charter.role);
    let same_run = sender.charter.root == receiver.charter.root;
    // Observers neither send nor receive, whatever their parents or children are.
    let works = |role| taxonomy.base_of(role) == Some(Base::Worker);
    let local = (works(theirs) && delegates_downward(sender, from, kind, receiver))
        || (works(own) && asks_delegate(sender, kind, to, receiver));
    let permitted =
        taxonomy.permits(own, kind, theirs) || (local && taxonomy.leaves(own, kind, theirs));
    if permitted && same_run {
        return Ok(());
    }
    let message = format!("the role {own} does not send {kind} to the role {theirs}");
    let rows = taxonomy.sends(own).into_iter().map(|(kind, to)| format!("{kind} -> {to}"));
    let rows: Vec<String> = rows.collect();
    denied(Refusal::denied(Rule::Matrix, message).allowing(rows))
}

/// Whether a delegate directs one of its children.
fn delegates_downward(
    sender: &Workspace,
    from: &WorkspaceId,
    kind: &TypeName,
    receiver: &Workspace,
) -> bool {
    let directs = *kind == TypeName::directive() || *kind == TypeName::feedback();
    sender.charter.delegate && receiver.parent.as_ref() == Some(from) && directs
}

/// Whether a child queries its delegate.
fn asks_delegate(
    sender: &Workspace,
    kind: &TypeName,
    to: &WorkspaceId,
    receiver: &Workspace,
) -> bool {
    let asks = *kind == TypeName::query();
    receiver.charter.delegate && sender.parent.as_ref() == Some(to) && asks
}

fn check_right(state: &State, from: &WorkspaceId, to: &WorkspaceId) -> Result<RightId, Refused> {
    if let Some((_, right)) = state.send_right(from, to) {
        return Ok(right.clone());
    }
    let message = format!("workspace {from} holds no right to send to {to}");
    let own = state.rights_held_by(from);
    let own = own.iter().filter_map(|id| state.rights.get(id));
    let sends = own.filter(|right| right.kind != RightType::Receive);
    let targets: Vec<String> = sends.map(|right| right.target.to_string()).collect();
    let refusal = Refusal::denied(Rule::SendRight, message).allowing(targets);
    Err((RejectReason::NoSendRight, refusal))
}

/// Sends a notice in the name of a workspace, for the caller who commands it. It was checked
/// before.
pub(crate) fn send_notice(
    tx: &mut Transaction<'_>,
    from: &WorkspaceId,
    send: &Send,
    payload: Payload,
    right: &RightId,
) -> Result<(), ApplyError> {
    let sender = tx.state().workspaces.get(from).ok_or(ApplyError::Unknown("the sender"))?;
    let (originator, task_ref) = (sender.charter.originator.clone(), sender.charter.task.clone());
    let envelope_id: EnvelopeId = tx.mint(IdKind::Envelope).into();
    let event = Event::EnvelopeCreated(Created {
        bytes: tx.bytes_of_payload(&payload),
        envelope_id: envelope_id.clone(),
        from: from.clone(),
        in_reply_to: None,
        integrity: None,
        origin: Origin::Agent,
        originator,
        payload,
        priority: send.priority,
        rights: Vec::new(),
        task_ref,
        to: send.to.clone(),
        kind: send.kind.clone(),
    });
    tx.note(Some(from), Actor::Protocol, event)?;
    right::consume(tx, right, &envelope_id)?;
    deliver::move_on(tx, &send.to)
}

/// The envelope with a new workspace's directive.
pub(crate) struct Directive {
    pub(crate) id: EnvelopeId,
    pub(crate) from: WorkspaceId,
    pub(crate) to: WorkspaceId,
    pub(crate) payload: Payload,
    pub(crate) originator: Party,
    pub(crate) task: Option<TaskId>,
}

/// Sends the directive of a new workspace. The runtime does so for its creator, to any role; it
/// waits until the agent is ready.
pub(crate) fn send_directive(
    tx: &mut Transaction<'_>,
    directive: Directive,
) -> Result<(), ApplyError> {
    let (from, to) = (directive.from.clone(), directive.to.clone());
    let event = Event::EnvelopeCreated(Created {
        bytes: tx.bytes_of_payload(&directive.payload),
        envelope_id: directive.id,
        from: directive.from,
        in_reply_to: None,
        integrity: None,
        origin: Origin::Agent,
        originator: directive.originator,
        payload: directive.payload,
        priority: Priority::Normal,
        rights: Vec::new(),
        task_ref: directive.task,
        to: directive.to,
        kind: TypeName::directive(),
    });
    tx.note(Some(&from), Actor::Protocol, event)?;
    deliver::move_on(tx, &to)
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    if state.envelopes.contains_key(&created.envelope_id) {
        return Err(ApplyError::Twice("an envelope's creation"));
    }
    for id in [&created.from, &created.to] {
        let known = state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        if known.status.is_sealed() && *id == created.to {
            return Err(ApplyError::Mismatch("the receiver's state"));
        }
    }
    let envelope = created.envelope(entry.at);
    state.insert_envelope(created.envelope_id.clone(), envelope);
    Ok(())
}
