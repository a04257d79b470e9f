//! Injection: a person's message to a workspace, from outside the tree.
//!
//! A person needs neither a role nor a send right for it. Everything else is checked as usual: the
//! type is registered, the workspace exists and still takes mail.

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::Permission;
use crate::model::runs::envelope::{Created, HELD_MAX, Origin, Payload, Priority};
use crate::model::runs::workspace::Party;
use crate::protocol::event::Event;
use crate::protocol::refusal::{Record, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::runs::envelope::deliver;
use crate::rules::runs::{envelope, workspace};
use crate::values::id::{EnvelopeId, IdKind, WorkspaceId};
use crate::values::name::UserId;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::token::TypeName;

pub use crate::model::runs::approvals::inject::*;

pub(crate) fn decide_inject(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    inject: &Inject,
) -> Result<Reply, DecisionError> {
    let user = person(tx.state(), caller, &inject.to)?;
    let id = send(tx, caller, &user, inject)?;
    tx.envelope_reply(&id)
}

/// The person who sends, or a refusal if the caller is not a person or lacks permission.
pub(crate) fn person(state: &State, caller: &Caller, to: &WorkspaceId) -> Result<UserId, Refusal> {
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot inject messages: only people can", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message));
    };
    coordinator::root(state)?;
    workspace::get(state, to)?;
    capability::may(state, user, Permission::Inject, Some(to))?;
    if !state.approvals.injection {
        let message = "the highway of this run does not allow injected messages";
        return Err(Refusal::denied(Rule::InjectionOn, message));
    }
    Ok(user.clone())
}

/// Sends a person's message. Returns the envelope.
pub(crate) fn send(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    user: &UserId,
    inject: &Inject,
) -> Result<EnvelopeId, DecisionError> {
    let envelope_id: EnvelopeId = tx.mint(IdKind::Envelope).into();
    let injection = |status, reason| Injection {
        actor: user.clone(),
        envelope_id: envelope_id.clone(),
        reason,
        status,
        to: inject.to.clone(),
        kind: inject.kind.clone(),
    };
    let payload = match check(tx.state(), inject) {
        Ok(payload) => payload,
        Err((reason, refusal)) => {
            let rejected = injection(InjectionStatus::Rejected, Some(reason));
            return Err(refusal.recorded(Record::Injection(Box::new(rejected))).into());
        }
    };
    let root = coordinator::root(tx.state())?.clone();
    let event = Event::EnvelopeCreated(Created {
        bytes: tx.bytes_of_payload(&payload),
        envelope_id: envelope_id.clone(),
        from: root.clone(),
        in_reply_to: inject.in_reply_to.clone(),
        integrity: None,
        origin: Origin::Human,
        originator: Party::User(user.clone()),
        payload,
        priority: inject.priority.unwrap_or_default(),
        rights: Vec::new(),
        task_ref: None,
        to: inject.to.clone(),
        kind: inject.kind.clone(),
    });
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    let done = Event::HumanInjection(injection(InjectionStatus::Delivered, None));
    tx.note(Some(&inject.to), Actor::Protocol, done)?;
    deliver::move_on(tx, &inject.to)?;
    Ok(envelope_id)
}

type Refused = (InjectionReason, Refusal);

/// Checks whether a person's message can be sent: everything but role and right.
pub(crate) fn check(state: &State, inject: &Inject) -> Result<Payload, Refused> {
    let unsound =
        |rule, message: String| (InjectionReason::InvalidStructure, Refusal::denied(rule, message));
    let receiver = workspace::get(state, &inject.to)
        .map_err(|unknown| (InjectionReason::InvalidStructure, unknown))?;
    if receiver.status.is_sealed() {
        let reason = if receiver.status.is_terminal() {
            InjectionReason::WorkspaceTerminal
        } else {
            InjectionReason::WorkspaceSealed
        };
        let message =
            format!("workspace {} is {}; its inbox is sealed", inject.to, receiver.status);
        return Err((reason, Refusal::denied(Rule::InboxSealed, message)));
    }
    let taxonomy = state.run_of(receiver);
    if !taxonomy.has_envelope_type(&inject.kind) {
        let message = format!("there is no envelope type {:?}", inject.kind.as_str());
        let types: Vec<String> = taxonomy.envelope_types().map(ToString::to_string).collect();
        let refusal = Refusal::denied(Rule::TypeRegistered, message).allowing(types);
        return Err((InjectionReason::InvalidType, refusal));
    }
    if let Some(earlier) =
        inject.in_reply_to.as_ref().filter(|id| !state.envelopes.contains_key(*id))
    {
        return Err(unsound(Rule::ReferenceKnown, format!("there is no envelope {earlier}")));
    }
    if state.held_for(&inject.to, HELD_MAX) >= HELD_MAX {
        let message = format!("{HELD_MAX} envelopes wait for workspace {} already", inject.to);
        return Err(unsound(Rule::Limits, message));
    }
    inject.payload.stored().map_err(|what| unsound(Rule::EnvelopeSound, what))
}

/// Sends a message of the runtime to a workspace in the coordinator's name.
pub(crate) fn say(
    tx: &mut Transaction<'_>,
    to: &WorkspaceId,
    payload: Payload,
) -> Result<EnvelopeId, ApplyError> {
    let envelope_id: EnvelopeId = tx.mint(IdKind::Envelope).into();
    let root = tx.state().root.clone().ok_or(ApplyError::Unknown("the root"))?;
    let event = Event::EnvelopeCreated(envelope::Created {
        bytes: tx.bytes_of_payload(&payload),
        envelope_id: envelope_id.clone(),
        from: root.clone(),
        in_reply_to: None,
        integrity: None,
        origin: Origin::Agent,
        originator: Party::System,
        payload,
        priority: Priority::Normal,
        rights: Vec::new(),
        task_ref: None,
        to: to.clone(),
        kind: TypeName::feedback(),
    });
    tx.note(Some(&root), Actor::Protocol, event)?;
    deliver::move_on(tx, to)?;
    Ok(envelope_id)
}
