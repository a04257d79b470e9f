//! Envelopes: the only way anything travels between workspaces.
//!
//! An envelope is checked when it is sent, in this order: its structure (type, target, what it
//! refers to), the permission matrix, the sender's right. The first failure gives the reason,
//! which is one of a closed set, and uses the envelope's id up. An accepted one is recorded before
//! it is delivered, and delivered in the order of its channel; while the receiver cannot take
//! mail, or has not read a `blocking` one yet, it waits. What waits has a proof of its sender's and
//! is checked against it before it is put into the inbox. Payloads lie beside the trail; entries name
//! them by their hash.

pub mod carrier;
pub mod deliver;
pub mod inbox;
pub mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::content::{Blob, Content};
use crate::event::{Event, Stamped};
use crate::highway::gate;
use crate::id::{EnvelopeId, IdKind, RightId, TaskId, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::{Record, Refusal};
use crate::right::{self, RightType};
use crate::rule::Rule;
use crate::seal::Integrity;
use crate::state::{ApplyError, State};
use crate::taxonomy::Base;
use crate::time::Timestamp;
use crate::token::{Format, TypeName};
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::meter::Amount;
use crate::workspace::{self, Party, Workspace};

/// The most attachments of one envelope.
pub const ATTACHMENTS_MAX: usize = 64;
/// The most envelopes that wait for one workspace. They are delivered, or go back, in one piece.
pub const HELD_MAX: usize = 1_000;
/// The most rights one envelope carries.
pub const RIGHTS_MAX: usize = 16;

/// How soon an envelope wants to be read. What blocks comes first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Nothing goes on before it is read.
    Blocking,
    /// Soon.
    Urgent,
    /// As usual.
    #[default]
    Normal,
}

/// Where an envelope comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An agent or the coordinator.
    Agent,
    /// A person, from outside the tree.
    Human,
}

/// How far an envelope has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Made, and not checked yet. Nobody sees it in this state.
    Created,
    /// Accepted, and on its way.
    Validated,
    /// In the receiver's inbox.
    Delivered,
    /// In the inbox, and the sender knows.
    Acknowledged,
    /// Refused, or given up.
    Rejected,
}

/// Why an envelope was refused. There are no other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The matrix has no such row, or the sender's state sends nothing.
    PermissionDenied,
    /// The sender holds no right to the receiver.
    NoSendRight,
    /// Its type is not registered.
    InvalidType,
    /// It is not made as envelopes are.
    InvalidStructure,
    /// There is no such receiver.
    TargetNotFound,
    /// The receiver's inbox is sealed.
    TargetTerminal,
    /// It is not what its sender made.
    IntegrityViolation,
    /// A person stopped it.
    GateRejectedByHuman,
}

/// Why an accepted envelope never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndeliverableReason {
    /// The receiver ended first.
    TargetTerminal,
    /// Every attempt was lost.
    DeliveryExhausted,
}

impl UndeliverableReason {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            UndeliverableReason::TargetTerminal => "target_terminal",
            UndeliverableReason::DeliveryExhausted => "delivery_exhausted",
        }
    }
}

/// What is in an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// What comes with it.
    pub attachments: Vec<Blob>,
    /// The message.
    pub content: Blob,
    /// How the message is written; nobody but its reader looks inside.
    pub format: Format,
}

/// What is to be put in an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayloadArg {
    /// What comes with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Content>,
    /// The message.
    pub content: Content,
    /// How the message is written (default `markdown`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

impl PayloadArg {
    /// The payload, once everything in it is stored.
    pub(crate) fn stored(&self) -> Result<Payload, String> {
        if self.attachments.len() > ATTACHMENTS_MAX {
            let count = self.attachments.len();
            return Err(format!("{count} attachments are over the limit of {ATTACHMENTS_MAX}"));
        }
        let blob = |content: &Content| {
            content.blob().cloned().ok_or_else(|| "content was not stored first".to_owned())
        };
        Ok(Payload {
            attachments: self.attachments.iter().map(blob).collect::<Result<_, _>>()?,
            content: blob(&self.content)?,
            format: self.format.clone().unwrap_or_else(Format::markdown),
        })
    }
}

/// An envelope that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// How large it is.
    pub bytes: u64,
    /// Who sent it.
    pub from: WorkspaceId,
    /// Whom it is for.
    pub to: WorkspaceId,
    /// Its type.
    pub kind: TypeName,
    /// What is in it.
    pub payload: Payload,
    /// What it answers.
    pub in_reply_to: Option<EnvelopeId>,
    /// The proof that its sender made it.
    pub integrity: Option<Integrity>,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// How soon it wants to be read.
    pub priority: Priority,
    /// Where it comes from.
    pub origin: Origin,
    /// Who caused the work it belongs to.
    pub originator: Party,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// How far it has come.
    pub status: Status,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// How often it was sent so far without an answer.
    pub attempts: u8,
    /// When it is sent again.
    pub retry_at: Option<Timestamp>,
    /// When it was put into the inbox.
    pub delivered_at: Option<Timestamp>,
    /// Whether its receiver has taken it out of the inbox.
    pub taken: bool,
}

/// `envelope.send`: sends a message to one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The envelope it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// What is in it.
    pub payload: PayloadArg,
    /// How soon it wants to be read.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Rights of the sender's that go over to the receiver with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rights: Vec<RightId>,
    /// Whom it is for.
    pub to: WorkspaceId,
    /// Its type: `directive`, `feedback`, `query`, or one the taxonomy adds.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The workspace it is sent from; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::Normal
}

/// `envelope_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// How large what is in it is.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// Who sent it.
    pub from: WorkspaceId,
    /// What it answers.
    pub in_reply_to: Option<EnvelopeId>,
    /// The proof that its sender made it. It is made when this is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// Where it comes from.
    pub origin: Origin,
    /// Who caused the work it belongs to.
    pub originator: Party,
    /// What is in it, by hash.
    pub payload: Payload,
    /// How soon it wants to be read.
    pub priority: Priority,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// The task it is about.
    pub task_ref: Option<TaskId>,
    /// Whom it is for.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

/// `envelope_rejected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The envelope; the id is used up.
    pub envelope_id: EnvelopeId,
    /// Who sent it.
    pub from: WorkspaceId,
    /// Why.
    pub reason: RejectReason,
    /// Whom it was for.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

impl Created {
    /// The envelope it makes.
    pub(crate) fn envelope(&self, at: Timestamp) -> Envelope {
        Envelope {
            bytes: self.bytes.get(),
            from: self.from.clone(),
            to: self.to.clone(),
            kind: self.kind.clone(),
            payload: self.payload.clone(),
            in_reply_to: self.in_reply_to.clone(),
            integrity: self.integrity,
            rights: self.rights.clone(),
            priority: self.priority,
            origin: self.origin,
            originator: self.originator.clone(),
            task: self.task_ref.clone(),
            status: Status::Validated,
            created_at: at,
            attempts: 0,
            retry_at: None,
            delivered_at: None,
            taken: false,
        }
    }
}

pub(crate) fn decide_send(
    turn: &mut Turn<'_>,
    caller: &Caller,
    send: &Send,
) -> Result<Reply, Halt> {
    let from = workspace::own(turn.state(), caller, send.workspace.as_ref())?;
    let envelope_id: EnvelopeId = turn.mint(IdKind::Envelope).into();
    let checked = check(turn.state(), &from, send);
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
    let sender = workspace::get(turn.state(), &from)?;
    let event = Event::EnvelopeCreated(Created {
        bytes: turn.bytes_of_payload(&payload),
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
    turn.note(Some(&from), caller.principal.clone().into(), event)?;
    right::consume(turn, &right, &envelope_id)?;
    gate::on_sent(turn, &envelope_id, &send.to)?;
    deliver::move_on(turn, &send.to)?;
    turn.envelope_reply(&envelope_id)
}

type Refused = (RejectReason, Refusal);

/// Whether an envelope may be sent. Returns the right it is sent with.
pub(crate) fn check(state: &State, from: &WorkspaceId, send: &Send) -> Result<RightId, Refused> {
    let sender = workspace::get(state, from).map_err(|no| (RejectReason::PermissionDenied, no))?;
    let receiver = check_structure(state, from, sender, send)?;
    check_matrix(state, (from, sender), &send.kind, (&send.to, receiver))?;
    let right = check_right(state, from, &send.to)?;
    let once = state.rights.get(&right).is_some_and(|held| held.kind == RightType::SendOnce);
    if once && send.rights.contains(&right) {
        let message = format!("right {right} is used up by this envelope and cannot go with it");
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
            let message = format!("{from} holds no right {right} that it could pass on");
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
        let message = format!("workspace {from} is {} and sends nothing", sender.status);
        return denied(Refusal::denied(Rule::StateAllows, message));
    }
    let taxonomy = state.run_of(sender);
    let (own, theirs) = (&sender.charter.role, &receiver.charter.role);
    let same_run = sender.charter.root == receiver.charter.root;
    // Observers neither send nor receive, whoever is above or below them.
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

/// A delegate directs the workspaces directly below it.
fn delegates_downward(
    sender: &Workspace,
    from: &WorkspaceId,
    kind: &TypeName,
    receiver: &Workspace,
) -> bool {
    let directs = *kind == TypeName::directive() || *kind == TypeName::feedback();
    sender.charter.delegate && receiver.parent.as_ref() == Some(from) && directs
}

/// The workspaces directly below a delegate ask it.
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

/// Sends something in the name of a workspace, for whoever commands. It was checked before.
pub(crate) fn send_notice(
    turn: &mut Turn<'_>,
    from: &WorkspaceId,
    send: &Send,
    payload: Payload,
    right: &RightId,
) -> Result<(), ApplyError> {
    let sender = turn.state().workspaces.get(from).ok_or(ApplyError::Unknown("the sender"))?;
    let (originator, task_ref) = (sender.charter.originator.clone(), sender.charter.task.clone());
    let envelope_id: EnvelopeId = turn.mint(IdKind::Envelope).into();
    let event = Event::EnvelopeCreated(Created {
        bytes: turn.bytes_of_payload(&payload),
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
    turn.note(Some(from), Actor::Protocol, event)?;
    right::consume(turn, right, &envelope_id)?;
    deliver::move_on(turn, &send.to)
}

/// The envelope a workspace is created with.
pub(crate) struct Directive {
    pub(crate) id: EnvelopeId,
    pub(crate) from: WorkspaceId,
    pub(crate) to: WorkspaceId,
    pub(crate) payload: Payload,
    pub(crate) originator: Party,
    pub(crate) task: Option<TaskId>,
}

/// Sends what a workspace is created for. The runtime does so for whoever created it, to any
/// role; it waits until the agent is ready.
pub(crate) fn send_directive(turn: &mut Turn<'_>, directive: Directive) -> Result<(), ApplyError> {
    let (from, to) = (directive.from.clone(), directive.to.clone());
    let event = Event::EnvelopeCreated(Created {
        bytes: turn.bytes_of_payload(&directive.payload),
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
    turn.note(Some(&from), Actor::Protocol, event)?;
    deliver::move_on(turn, &to)
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
