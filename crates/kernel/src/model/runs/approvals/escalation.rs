//! Escalations: agents' requests for a person's help, with timeout and fallback.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::approvals::EscalationFallback;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::envelope::PayloadArg;
use crate::values::id::{AnyId, SignalId, WorkspaceId};
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most escalations waiting for one person. One more drops the oldest, which is recorded.
pub const ESCALATIONS_MAX: usize = 100;

/// The message to an agent when nobody answered in time and the fallback is to proceed.
pub const PROCEED: &str = "Nobody answered in time. Go on as you see fit.";

/// An escalation waiting for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The workspace it comes from.
    pub workspace: WorkspaceId,
    /// The reason why a person is needed.
    pub reason: Text<1000>,
    /// When it was received.
    pub at: Timestamp,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// The fallback after the timeout.
    pub fallback: EscalationFallback,
    /// The party that chose a fallback which passes people.
    pub chosen_by: Option<Principal>,
}

impl Escalation {
    /// When the fallback applies.
    pub fn due(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.at.after(timeout))
    }
}

/// The kind of answer to an escalation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseType {
    /// A message to the agent.
    Envelope,
    /// The abort of the workspace.
    Abort,
    /// Delegation to the coordinator.
    Delegation,
}

/// `escalation.answer`: answers an escalation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The escalation, by the id of its signal.
    pub escalation: SignalId,
    /// With `envelope`: the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadArg>,
    /// With `abort`: the reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The kind of answer.
    pub response: ResponseType,
}

/// `escalation_received`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// The party that chose a fallback which passes people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<Principal>,
    /// The fallback after the timeout.
    pub fallback: EscalationFallback,
    /// The reason why a person is needed.
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
    /// The party that answered.
    pub actor: Resolver,
    /// The envelope it was answered with, if any.
    pub response_ref: Option<AnyId>,
    /// The kind of answer.
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
    /// The fallback that applies.
    pub fallback_action: EscalationFallback,
    /// The signal.
    pub signal_id: SignalId,
    /// The workspace it came from.
    pub workspace: WorkspaceId,
}
