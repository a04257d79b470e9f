//! Messages that people inject into workspaces.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::{PayloadArg, Priority};
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::name::UserId;
use crate::values::token::TypeName;

/// `highway.inject`: sends a message to a workspace as a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// The envelope it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// The payload.
    pub payload: PayloadArg,
    /// The priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The receiving workspace.
    pub to: WorkspaceId,
    /// Its type: `directive`, `feedback`, `query`, or one the taxonomy adds.
    #[serde(rename = "type")]
    pub kind: TypeName,
}

/// The outcome of an injected envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionStatus {
    /// It is in the inbox, or waits until the workspace takes mail.
    Delivered,
    /// It was rejected.
    Rejected,
}

/// The reason why an injected envelope was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionReason {
    /// The workspace has ended.
    WorkspaceTerminal,
    /// The workspace is being integrated.
    WorkspaceSealed,
    /// It is malformed, or refers to something that does not exist.
    InvalidStructure,
    /// Its type is not registered.
    InvalidType,
}

/// `human_injection`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// The person who sent it.
    pub actor: UserId,
    /// The envelope; the id is used up whatever the outcome.
    pub envelope_id: EnvelopeId,
    /// The reason why it was rejected.
    pub reason: Option<InjectionReason>,
    /// The outcome.
    pub status: InjectionStatus,
    /// The receiving workspace.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
}
