//! Envelopes: messages between workspaces, their types, states and rejection reasons.

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
use crate::values::closed_set::closed_set;
use crate::values::content::{Blob, Content};
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Timestamp;
use crate::values::token::{Format, TypeName};

/// The most attachments of one envelope.
pub(crate) const ATTACHMENTS_MAX: usize = 64;

/// The most envelopes waiting for one workspace. They are delivered or returned in one commit.
pub const HELD_MAX: usize = 1_000;

/// The most rights one envelope carries.
pub(crate) const RIGHTS_MAX: usize = 16;

/// The priority of an envelope. Blocking ones come first.
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
    /// The receiver must read it before anything else.
    Blocking,
    /// To be read soon.
    Urgent,
    /// The default.
    #[default]
    Normal,
}

/// The origin of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An agent or the coordinator.
    Agent,
    /// A person, from outside the tree.
    Human,
}

/// The delivery state of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Created and not yet validated. Nobody observes this state.
    Created,
    /// Accepted and in transit.
    Validated,
    /// In the receiver's inbox.
    Delivered,
    /// In the inbox, and acknowledged to the sender.
    Acknowledged,
    /// Refused, or undeliverable.
    Rejected,
}

/// The reason why an envelope was rejected. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The permission matrix does not allow it, or the sender's state does not allow sending.
    PermissionDenied,
    /// The sender holds no send right to the receiver.
    NoSendRight,
    /// Its type is not registered.
    InvalidType,
    /// It is malformed.
    InvalidStructure,
    /// The receiver does not exist.
    TargetNotFound,
    /// The receiver's inbox is sealed.
    TargetTerminal,
    /// Its integrity proof does not match.
    IntegrityViolation,
    /// A person rejected it at a gate.
    GateRejectedByHuman,
}

closed_set! {
    /// The reason why an accepted envelope was not delivered.
    UndeliverableReason {
        /// The receiver ended first.
        TargetTerminal "target_terminal",
        /// All delivery attempts failed.
        DeliveryExhausted "delivery_exhausted",
    }
}

/// The payload of an envelope, by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// The attachments.
    pub attachments: Vec<Blob>,
    /// The message.
    pub content: Blob,
    /// The format of the message; only the reader interprets it.
    pub format: Format,
}

/// The payload of an envelope, as a command brings it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayloadArg {
    /// The attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Content>,
    /// The message.
    pub content: Content,
    /// The format of the message (default `markdown`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

impl PayloadArg {
    /// The payload by hash, once all content is stored.
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
    /// The size of its payload, in bytes.
    pub bytes: u64,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The receiving workspace.
    pub to: WorkspaceId,
    /// Its type.
    pub kind: TypeName,
    /// The payload.
    pub payload: Payload,
    /// The envelope it replies to.
    pub in_reply_to: Option<EnvelopeId>,
    /// The integrity proof by its sender.
    pub integrity: Option<Integrity>,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// The priority.
    pub priority: Priority,
    /// The origin.
    pub origin: Origin,
    /// The party that caused the work it belongs to.
    pub originator: Party,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The delivery state.
    pub status: Status,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The number of attempts so far without acknowledgement.
    pub attempts: u8,
    /// When delivery is retried.
    pub retry_at: Option<Timestamp>,
    /// When it was delivered to the inbox.
    pub delivered_at: Option<Timestamp>,
    /// Whether its receiver has taken it out of the inbox.
    pub taken: bool,
}

/// `envelope.send`: sends a message to one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The envelope it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// The payload.
    pub payload: PayloadArg,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Rights of the sender that are transferred to the receiver with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rights: Vec<RightId>,
    /// The receiving workspace.
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
    /// The size of its payload, in bytes.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The envelope it replies to.
    pub in_reply_to: Option<EnvelopeId>,
    /// The integrity proof by its sender, added when the entry is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// The origin.
    pub origin: Origin,
    /// The party that caused the work it belongs to.
    pub originator: Party,
    /// The payload, by hash.
    pub payload: Payload,
    /// The priority.
    pub priority: Priority,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// The task it is about.
    pub task_ref: Option<TaskId>,
    /// The receiving workspace.
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
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The reason.
    pub reason: RejectReason,
    /// The receiving workspace.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

impl Created {
    /// Builds the envelope that the event records.
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
