//! Queries about gates and escalations.

use crate::model::query::{Answer, ApprovalQuery, Everything};
use crate::model::runs::approvals::view::{ApprovalsView, EscalationView, GateView};
use crate::model::runs::workspace::Party;
use crate::rules::query::work::{Asked, missing};
use crate::values::id::GateId;

pub(crate) use crate::model::query::approvals::*;

impl Asked<'_> {
    /// Answers a query about gates and escalations.
    pub(crate) fn of_approvals(self, query: ApprovalQuery<'_>) -> Answer {
        match query {
            ApprovalQuery::GateList(list) => Answer::Gates(self.gates(list)),
            ApprovalQuery::GateGet(of) => self.gate(&of.gate),
            ApprovalQuery::EscalationList(list) => Answer::Escalations(self.escalations(list)),
            ApprovalQuery::HighwayGet(all) => self.settings(all),
        }
    }

    /// Whether the viewer may see a gate: it can read the gate's workspace or, for tasks, the plans.
    fn sees_gate(self, gate: &GateView) -> bool {
        match &gate.workspace {
            Some(id) => self.reads(id),
            None => self.state.root.as_ref().is_some_and(|root| self.reads_plans(root)),
        }
    }

    pub(crate) fn gates(self, list: &GateList) -> Vec<GateView> {
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

    pub(crate) fn gate(self, id: &GateId) -> Answer {
        match GateView::find(self.state, id).filter(|gate| self.sees_gate(gate)) {
            Some(gate) => Answer::Gate(Box::new(gate)),
            None => missing("gate", id),
        }
    }

    pub(crate) fn escalations(self, list: &EscalationList) -> Vec<EscalationView> {
        let owner = list.owner.clone().map(Party::User);
        let mut open = EscalationView::all(self.state);
        open.retain(|open| {
            owner.as_ref().is_none_or(|owner| open.owner == *owner) && self.reads(&open.workspace)
        });
        open
    }

    pub(crate) fn settings(self, _: &Everything) -> Answer {
        Answer::Approvals(Box::new(ApprovalsView::of(self.state)))
    }
}
