//! Types of `view`: state, arguments of commands and bodies of events.

use serde::Serialize;

use crate::model::runs::approvals::gate::GateEnd;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::approvals::{EscalationFallback, GateFallback, GateType, Highway, Preset};
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::Party;
use crate::values::id::{AnyId, GateId, SignalId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::time::{Span, Timestamp};

/// A gate, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateView {
    /// The gate.
    pub gate: GateId,
    /// What it stands before.
    #[serde(rename = "type")]
    pub kind: GateType,
    /// What waits.
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
    /// The order that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// Who ordered it.
    pub asked_by: Actor,
    /// Whose queue it is in.
    pub owner: Party,
    /// Its place in that queue now, from one; none once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// What a person may change about it.
    pub changeable: &'static [&'static str],
    /// When it was triggered.
    pub since: Timestamp,
    /// When its fallback happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// What happens then.
    pub fallback: GateFallback,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndView>,
}

/// How a gate ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndView {
    /// With what.
    pub action: GateEnd,
    /// By whom.
    pub by: Resolver,
    /// When.
    pub at: Timestamp,
}

/// An escalation, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EscalationView {
    /// The signal that brought it.
    pub escalation: SignalId,
    /// The workspace it comes from.
    pub workspace: WorkspaceId,
    /// Who is asked.
    pub owner: Party,
    /// What a person is needed for.
    pub reason: String,
    /// When it came.
    pub since: Timestamp,
    /// When its fallback happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// What happens then.
    pub fallback: EscalationFallback,
    /// Whether its owner can answer now; somebody who is suspended or blocked finds it later.
    pub presented: bool,
    /// Whether it still waits.
    pub open: bool,
}

/// The highway's settings, as doors show them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HighwayView {
    /// The preset it is, if nothing was changed about one.
    pub preset: Option<Preset>,
    /// The settings.
    #[serde(flatten)]
    pub highway: Highway,
    /// How long each gate there is waits, in words of the settings.
    pub effective: Vec<EffectiveGate>,
}

/// How one gate works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectiveGate {
    /// What it stands before.
    #[serde(rename = "type")]
    pub kind: GateType,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// What happens then.
    pub fallback: GateFallback,
}
