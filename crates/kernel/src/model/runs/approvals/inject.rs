//! Types of `inject`: state, arguments of commands and bodies of events.

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
