//! Injection: what a person says to a workspace, from outside the tree.
//!
//! A person needs neither a role nor a right for it. Everything else is checked as usual: the
//! type is registered, the workspace is there and still takes mail. Nothing that was sent or
//! recorded before is changed by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capability::{self, Deed};
use crate::envelope::{self, Created, HELD_MAX, Origin, Payload, PayloadArg, Priority, deliver};
use crate::event::Event;
use crate::id::{EnvelopeId, IdKind, WorkspaceId};
use crate::name::UserId;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::{Record, Refusal};
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::token::TypeName;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::{self, Party};

/// `highway.inject`: sends a message to a workspace as a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// The envelope it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// What is in it.
    pub payload: PayloadArg,
    /// How soon it wants to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Whom it is for.
    pub to: WorkspaceId,
    /// Its type: `directive`, `feedback`, `query`, or one the taxonomy adds.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

/// What became of an injected envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionStatus {
    /// It is in the inbox, or waits until the workspace takes mail.
    Delivered,
    /// It was turned away.
    Rejected,
}

/// Why an injected envelope was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionReason {
    /// The workspace has ended.
    WorkspaceTerminal,
    /// The workspace is being integrated.
    WorkspaceSealed,
    /// It is not made as envelopes are, or names what is not there.
    InvalidStructure,
    /// Its type is not registered.
    InvalidType,
}

/// `human_injection`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// Who said it.
    pub actor: UserId,
    /// The envelope; the id is used up, whatever became of it.
    pub envelope_id: EnvelopeId,
    /// Why it was turned away.
    pub reason: Option<InjectionReason>,
    /// What became of it.
    pub status: InjectionStatus,
    /// Whom it was for.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

pub(crate) fn decide_inject(
    turn: &mut Turn<'_>,
    caller: &Caller,
    inject: &Inject,
) -> Result<Reply, Halt> {
    let user = person(turn.state(), caller, &inject.to)?;
    let id = send(turn, caller, &user, inject)?;
    turn.envelope_reply(&id)
}

/// The person who speaks, if it is one and may.
pub(super) fn person(state: &State, caller: &Caller, to: &WorkspaceId) -> Result<UserId, Refusal> {
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot speak from outside: people do", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message));
    };
    workspace::root(state)?;
    workspace::get(state, to)?;
    capability::may(state, user, Deed::Inject, Some(to))?;
    if !state.highway.injection {
        let message = "the highway of this run takes nothing from outside";
        return Err(Refusal::denied(Rule::InjectionOn, message));
    }
    Ok(user.clone())
}

/// Sends what a person says. Returns the envelope.
pub(super) fn send(
    turn: &mut Turn<'_>,
    caller: &Caller,
    user: &UserId,
    inject: &Inject,
) -> Result<EnvelopeId, Halt> {
    let envelope_id: EnvelopeId = turn.mint(IdKind::Envelope).into();
    let injection = |status, reason| Injection {
        actor: user.clone(),
        envelope_id: envelope_id.clone(),
        reason,
        status,
        to: inject.to.clone(),
        kind: inject.kind.clone(),
    };
    let payload = match check(turn.state(), inject) {
        Ok(payload) => payload,
        Err((reason, refusal)) => {
            let rejected = injection(InjectionStatus::Rejected, Some(reason));
            return Err(refusal.recorded(Record::Injection(Box::new(rejected))).into());
        }
    };
    let root = workspace::root(turn.state())?.clone();
    let event = Event::EnvelopeCreated(Created {
        bytes: turn.bytes_of_payload(&payload),
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
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    let done = Event::HumanInjection(injection(InjectionStatus::Delivered, None));
    turn.note(Some(&inject.to), Actor::Protocol, done)?;
    deliver::move_on(turn, &inject.to)?;
    Ok(envelope_id)
}

type Refused = (InjectionReason, Refusal);

/// Whether what a person says can be sent: everything but role and right.
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

/// The runtime says something to a workspace in the coordinator's name.
pub(super) fn say(
    turn: &mut Turn<'_>,
    to: &WorkspaceId,
    payload: Payload,
) -> Result<EnvelopeId, ApplyError> {
    let envelope_id: EnvelopeId = turn.mint(IdKind::Envelope).into();
    let root = turn.state().root.clone().ok_or(ApplyError::Unknown("the root"))?;
    let event = Event::EnvelopeCreated(envelope::Created {
        bytes: turn.bytes_of_payload(&payload),
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
    turn.note(Some(&root), Actor::Protocol, event)?;
    deliver::move_on(turn, to)?;
    Ok(envelope_id)
}
