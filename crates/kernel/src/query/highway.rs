//! What one may ask about the highway.

use schemars::JsonSchema;
use serde::Deserialize;

use super::work::{Asked, missing};
use super::{Answer, Everything};
use crate::highway::view::{EscalationView, GateView, HighwayView};
use crate::id::GateId;
use crate::name::UserId;
use crate::workspace::Party;

/// `gate.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateList {
    /// Also those of this run that have ended.
    pub all: bool,
    /// Only those in this person's queue.
    pub owner: Option<UserId>,
}

/// `gate.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfGate {
    /// Which gate.
    pub gate: GateId,
}

/// `escalation.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EscalationList {
    /// Only those that wait for this person.
    pub owner: Option<UserId>,
}

impl Asked<'_> {
    /// Whoever reads a workspace sees what waits for its sake; plans are the coordinator's.
    fn sees_gate(self, gate: &GateView) -> bool {
        match &gate.workspace {
            Some(id) => self.reads(id),
            None => self.state.root.as_ref().is_some_and(|root| self.reads_plans(root)),
        }
    }

    pub(super) fn gates(self, list: &GateList) -> Vec<GateView> {
        let owner = list.owner.clone().map(Party::User);
        let mut gates = GateView::queue(self.state);
        if list.all {
            gates.extend(GateView::ended(self.state));
        }
        gates.retain(|gate| {
            owner.as_ref().is_none_or(|owner| gate.owner == *owner) && self.sees_gate(gate)
        });
        gates
    }

    pub(super) fn gate(self, id: &GateId) -> Answer {
        match GateView::find(self.state, id).filter(|gate| self.sees_gate(gate)) {
            Some(gate) => Answer::Gate(Box::new(gate)),
            None => missing("gate", id),
        }
    }

    pub(super) fn escalations(self, list: &EscalationList) -> Vec<EscalationView> {
        let owner = list.owner.clone().map(Party::User);
        let mut open = EscalationView::all(self.state);
        open.retain(|open| {
            owner.as_ref().is_none_or(|owner| open.owner == *owner) && self.reads(&open.workspace)
        });
        open
    }

    pub(super) fn highway(self, _: &Everything) -> Answer {
        Answer::Highway(Box::new(HighwayView::of(self.state)))
    }
}
