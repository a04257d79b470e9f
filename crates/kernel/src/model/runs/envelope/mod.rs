//! Types of `envelope`: state, arguments of commands and bodies of events.

pub mod carrier;
pub(crate) mod deliver;
pub(crate) mod inbox;
pub mod view;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::seal::Integrity;
use crate::model::runs::workspace::Party;
use crate::model::runs::workspace::meter::Amount;
use crate::values::content::{Blob, Content};
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Timestamp;
use crate::values::token::{Format, TypeName};

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
