//! Types of `escalation`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::approvals::EscalationFallback;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::envelope::PayloadArg;
use crate::values::id::{AnyId, SignalId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most escalations that wait for one person. One more drops the oldest, on record.
pub const ESCALATIONS_MAX: usize = 100;

/// What an agent is told when nobody answered and the fallback says to go on.
pub const PROCEED: &str = "Nobody answered in time. Go on as you see fit.";

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
