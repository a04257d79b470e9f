//! Gates and escalations, as shown to callers.

use serde::Serialize;

use crate::model::runs::approvals::gate::GateEnd;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::approvals::{
    ApprovalSettings, EscalationFallback, GateFallback, GateType, Preset,
};
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::Party;
use crate::values::id::{AnyId, GateId, SignalId, WorkspaceId};
use crate::values::principal::{Actor, Principal};
use crate::values::time::{Span, Timestamp};

/// A gate, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateView {
    /// The gate.
    pub gate: GateId,
    /// The type of action that waits.
    #[serde(rename = "type")]
    pub kind: GateType,
    /// The subject that waits.
    pub subject: AnyId,
    /// The workspace it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The task that waits, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<TaskView>>,
    /// The envelope that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Box<EnvelopeView>>,
    /// The command that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The actor who ordered it.
    pub asked_by: Actor,
    /// The owner of the queue it is in.
    pub owner: Party,
    /// Its current position in that queue, from one; none once it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The fields a person may change.
    pub changeable: &'static [&'static str],
    /// When it was triggered.
    pub since: Timestamp,
    /// When the fallback applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// The fallback after the timeout.
    pub fallback: GateFallback,
    /// The party that chose a fallback which passes people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<Principal>,
    /// The gate that nobody answered in time, if this one asks again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks_again: Option<GateId>,
    /// The outcome, once closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndView>,
    /// Whether people can be asked again with `gate.ask`, since nobody answered in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub can_ask_again: bool,
}

/// The outcome of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndView {
    /// The decision.
    pub action: GateEnd,
    /// The party that closed it.
    pub by: Resolver,
    /// When it was closed.
    pub at: Timestamp,
}

/// An escalation, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EscalationView {
    /// The id of its signal.
    pub escalation: SignalId,
    /// The workspace it comes from.
    pub workspace: WorkspaceId,
    /// The owner of the queue it is in.
    pub owner: Party,
    /// The reason why a person is needed.
    pub reason: String,
    /// When it was received.
    pub since: Timestamp,
    /// When the fallback applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// The fallback after the timeout.
    pub fallback: EscalationFallback,
    /// The party that chose a fallback which passes people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<Principal>,
    /// Whether the owner can answer now; a suspended or blocked person sees it later.
    pub presented: bool,
    /// Whether it is still open.
    pub open: bool,
}

/// The approval settings, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalsView {
    /// The preset these settings equal, if any.
    pub preset: Option<Preset>,
    /// The party that chose fallbacks which pass people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<Principal>,
    /// The settings.
    #[serde(flatten)]
    pub highway: ApprovalSettings,
    /// The effective policy of each gate type in use.
    pub effective: Vec<EffectiveGate>,
}

/// The effective policy of one gate type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectiveGate {
    /// The type of action it guards.
    #[serde(rename = "type")]
    pub kind: GateType,
    /// The timeout.
    pub timeout: Option<Span>,
    /// The fallback after the timeout.
    pub fallback: GateFallback,
}
