//! Gates, escalations and approval settings, as shown to callers.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::escalation::Escalation;
use crate::model::runs::approvals::gate::{ClosedGate, Gate};
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::{Party, Timeout};
use crate::rules::identity::user::standing;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::resolve::changeable;
use crate::values::id::{EnvelopeId, GateId, SignalId};

pub use crate::model::runs::approvals::view::*;

impl GateView {
    /// A gate, open or closed.
    pub(crate) fn find(state: &State, id: &GateId) -> Option<Self> {
        if let Some(gate) = state.gates.get(id) {
            let ahead =
                |other: &Gate| other.at <= gate.at && other.owner(state) == gate.owner(state);
            let position = state.gates.values().filter(|other| ahead(other)).count();
            return Some(GateView::of(state, id, gate, Some(position), None));
        }
        let closed = state.closed_gates.get(id)?;
        Some(GateView::of_closed(state, id, closed))
    }

    /// The open gates, each owner's in queue order.
    pub(crate) fn queue(state: &State) -> Vec<Self> {
        let mut open: Vec<(Party, &GateId, &Arc<Gate>)> =
            state.gates.iter().map(|(id, gate)| (gate.owner(state), id, gate)).collect();
        open.sort_by(|a, b| (&a.0, a.2.at).cmp(&(&b.0, b.2.at)));
        let mut views: Vec<GateView> = Vec::with_capacity(open.len());
        for (owner, id, gate) in open {
            let last = views.last().filter(|last| last.owner == owner);
            let position = last.and_then(|last| last.position).unwrap_or(0) + 1;
            views.push(GateView::of(state, id, gate, Some(position), None));
        }
        views
    }

    /// The closed gates of this run, oldest first.
    pub(crate) fn ended(state: &State) -> Vec<Self> {
        let closed = state.closed_gates.iter();
        let mut views: Vec<GateView> =
            closed.map(|(id, closed)| GateView::of_closed(state, id, closed)).collect();
        views.sort_by_key(|view| view.since);
        views
    }

    fn of_closed(state: &State, id: &GateId, closed: &ClosedGate) -> Self {
        let ended = EndView { action: closed.end, by: closed.by.clone(), at: closed.at };
        GateView::of(state, id, &closed.gate, None, Some(ended))
    }

    fn of(
        state: &State,
        id: &GateId,
        gate: &Gate,
        position: Option<usize>,
        ended: Option<EndView>,
    ) -> Self {
        let task = gate.task.as_ref().and_then(|id| state.task(id));
        let envelope = EnvelopeId::new(gate.subject.as_str()).ok();
        let envelope = envelope.filter(|_| gate.kind == GateType::EnvelopeDelivery);
        let envelope = envelope.and_then(|id| {
            state.envelopes.get(&id).map(|sent| Box::new(EnvelopeView::of(&id, sent)))
        });
        GateView {
            gate: id.clone(),
            kind: gate.kind,
            subject: gate.subject.clone(),
            workspace: gate.workspace.clone(),
            task: task.map(|task| Box::new(TaskView::of(state, &task))),
            envelope,
            request: gate.request.clone(),
            asked_by: gate.asked_by.clone(),
            owner: gate.owner(state),
            position,
            changeable: changeable(gate),
            since: gate.at,
            due: gate.due().filter(|_| ended.is_none()),
            fallback: gate.fallback,
            chosen_by: gate.chosen_by.clone(),
            asks_again: gate.asks_again.clone(),
            can_ask_again: gate::can_ask_again(state, id),
            ended,
        }
    }
}

impl EscalationView {
    pub(crate) fn of(state: &State, id: &SignalId, open: &Escalation) -> Self {
        let owner = match gate::owner_of(state, Some(&open.workspace)) {
            Party::User(owner) => state.users.get(&owner),
            Party::System => None,
        };
        EscalationView {
            escalation: id.clone(),
            workspace: open.workspace.clone(),
            owner: gate::owner_of(state, Some(&open.workspace)),
            reason: open.reason.to_string(),
            since: open.at,
            due: open.due(),
            fallback: open.fallback,
            chosen_by: open.chosen_by.clone(),
            presented: owner.is_none_or(|owner| owner.status == standing::Status::Active),
            open: state.escalations.contains_key(id),
        }
    }

    /// The open escalations, oldest first.
    pub(crate) fn all(state: &State) -> Vec<Self> {
        let open = state.escalations.iter();
        let mut views: Vec<EscalationView> =
            open.map(|(id, open)| EscalationView::of(state, id, open)).collect();
        views.sort_by_key(|view| view.since);
        views
    }
}

impl ApprovalsView {
    pub(crate) fn of(state: &State) -> Self {
        let settings = state.approvals_in_force();
        let chosen_by = state.approvals_by.clone().filter(|_| settings.passes_people());
        let effective = GateType::ALL.into_iter().filter_map(|kind| {
            let policy = settings.gate(kind)?;
            let timeout = policy.timeout_s.map(Timeout::span);
            Some(EffectiveGate { kind, timeout, fallback: policy.fallback })
        });
        let effective = effective.collect();
        ApprovalsView { preset: settings.name(), chosen_by, effective, highway: settings }
    }
}
