//! The local trail that an entry belongs in.

use crate::machine::state::State;
use crate::protocol::event::{
    AdminEvent, Event, EventRoom, HighwayEvent, MessageEvent, PlanEvent, WorkspaceEvent,
};
use crate::values::id::{GateId, GraphId, TaskId, WorkspaceId};

/// The local trail an entry belongs in.
#[derive(PartialEq, Eq)]
pub(crate) enum Home {
    /// That of a workspace, or of none.
    In(Option<WorkspaceId>),
    /// Nothing is said about it.
    Anywhere,
}

/// Where an entry belongs.
pub(crate) fn home(state: &State, event: &Event) -> Home {
    match event.room() {
        EventRoom::User(_) | EventRoom::Commons(_) | EventRoom::Memory(_) => Home::In(None),
        // Where these belong depends on the session they happen in.
        EventRoom::Agent(_) | EventRoom::Lease(_) => Home::Anywhere,
        EventRoom::Admin(event) => of_admin(event),
        EventRoom::Workspace(event) => of_workspace(state, event),
        EventRoom::Message(event) => of_message(event),
        EventRoom::Plan(event) => of_plan(state, event),
        EventRoom::Highway(event) => of_highway(state, event),
    }
}

fn of(id: &WorkspaceId) -> Home {
    Home::In(Some(id.clone()))
}

fn of_graph(state: &State, graph: &GraphId) -> Home {
    Home::In(state.graphs.get(graph).map(|graph| graph.root.clone()))
}

fn of_task(state: &State, task: &TaskId) -> Home {
    state.tasks.get(task).map_or(Home::In(None), |task| of_graph(state, &task.graph))
}

fn of_gate(state: &State, id: &GateId) -> Home {
    Home::In(state.gates.get(id).and_then(|gate| gate.home(state)))
}

fn of_admin(event: AdminEvent<'_>) -> Home {
    match event {
        AdminEvent::ProjectCreated(_)
        | AdminEvent::RuntimeRekeyed(_)
        | AdminEvent::RuntimeRestored(_)
        | AdminEvent::RulesAdopted(_)
        | AdminEvent::CommandRefused(_)
        | AdminEvent::SystemDegraded(_)
        | AdminEvent::RecoveryCompleted(_)
        | AdminEvent::TrailAccessDenied(_) => Home::Anywhere,
        AdminEvent::TrailPruned(_)
        | AdminEvent::IntegrityViolation(_)
        | AdminEvent::TrailCompacted(_)
        | AdminEvent::TrailSnapshotCreated(_) => Home::In(None),
    }
}

fn of_workspace(state: &State, event: WorkspaceEvent<'_>) -> Home {
    match event {
        WorkspaceEvent::RunHandedOver(body) => of(&body.workspace_id),
        WorkspaceEvent::RunStopped(body) => of(&body.workspace_id),
        WorkspaceEvent::WorkspaceWritten(body) => of(&body.workspace_id),
        WorkspaceEvent::MeterReported(body) => of(&body.workspace_id),
        WorkspaceEvent::WorkspaceCreated(body) => of(&body.workspace_id),
        WorkspaceEvent::WorkspaceStateChanged(body) => of(&body.workspace_id),
        WorkspaceEvent::BudgetWarning(body) => of(&body.workspace_id),
        WorkspaceEvent::BudgetExceeded(body) => of(&body.workspace_id),
        WorkspaceEvent::BudgetModified(body) => of(&body.workspace_id),
        WorkspaceEvent::LivenessWarning(body) => of(&body.workspace_id),
        WorkspaceEvent::PriorityChanged(body) => of(&body.workspace_id),
        WorkspaceEvent::VisibilityGranted(body) => of(&body.workspace_id),
        WorkspaceEvent::MigrationStarted(body) => of(&body.workspace_id),
        WorkspaceEvent::MigrationCompleted(body) => of(&body.workspace_id),
        WorkspaceEvent::MigrationFailed(body) => of(&body.workspace_id),
        WorkspaceEvent::SuspensionStarted(body) => of(&body.workspace_id),
        WorkspaceEvent::SuspensionResumed(body) => of(&body.workspace_id),
        WorkspaceEvent::GracefulTerminationInitiated(body) => of(&body.workspace_id),
        WorkspaceEvent::GracefulTerminationExpired(body) => of(&body.workspace_id),
        WorkspaceEvent::OwnershipTransferred(body) => of(&body.workspace_id),
        WorkspaceEvent::WorkspaceReparented(body) => of(&body.workspace_id),
        WorkspaceEvent::WorkspaceRejected(_) => Home::Anywhere,
        WorkspaceEvent::BatchAbort(_) | WorkspaceEvent::BatchPriorityChanged(_) => {
            Home::In(state.root.clone())
        }
        WorkspaceEvent::ResourceDiscrepancy(body) => of(&body.workspace),
    }
}

fn of_message(event: MessageEvent<'_>) -> Home {
    match event {
        MessageEvent::EnvelopeAttempted(_) => Home::Anywhere,
        MessageEvent::InboxTaken(body) => of(&body.workspace_id),
        MessageEvent::SignalEmitted(body) => of(&body.from),
        MessageEvent::EnvelopeCreated(body) => of(&body.from),
        MessageEvent::EnvelopeRejected(body) => of(&body.from),
        MessageEvent::EnvelopeUndeliverable(body) => of(&body.from),
        MessageEvent::SignalDelivered(body) => of(&body.delivered_to),
        MessageEvent::EnvelopeDelivered(body) => of(&body.to),
        MessageEvent::EnvelopeRedelivered(body) => of(&body.to),
        MessageEvent::PortRightCreated(body) => of(&body.holder),
        MessageEvent::PortRightRevoked(body) => of(&body.holder),
        MessageEvent::PortRightConsumed(body) => of(&body.holder),
        MessageEvent::PortRightTransferred(body) => of(&body.to_holder),
    }
}

fn of_plan(state: &State, event: PlanEvent<'_>) -> Home {
    match event {
        PlanEvent::CheckpointCreated(body) => of(&body.workspace),
        PlanEvent::CheckpointRejected(body) => of(&body.workspace),
        PlanEvent::GraphCreated(body) => of(&body.workspace_id),
        PlanEvent::ConflictDetected(body) => of(&body.workspace_id),
        PlanEvent::ConflictResolved(body) => of(&body.workspace_id),
        PlanEvent::TaskCreated(body) => of_graph(state, &body.graph_id),
        PlanEvent::TaskApproved(body) => of_task(state, &body.task_id),
        PlanEvent::TaskAssigned(body) => of_task(state, &body.task_id),
        PlanEvent::TaskStatusChanged(body) => of_task(state, &body.task_id),
        PlanEvent::TaskCompleted(body) => of_task(state, &body.task_id),
        PlanEvent::TaskFailed(body) => of_task(state, &body.task_id),
        PlanEvent::IntegrationStarted(body) => of(&body.target),
        PlanEvent::IntegrationCompleted(body) => of(&body.target),
        PlanEvent::IntegrationAborted(body) => of(&body.target),
    }
}

fn of_highway(state: &State, event: HighwayEvent<'_>) -> Home {
    match event {
        HighwayEvent::HighwayConfigured(body) => of(&body.workspace_id),
        HighwayEvent::GateTriggered(_) => Home::In(state.root.clone()),
        HighwayEvent::GateResolved(body) => of_gate(state, &body.gate_id),
        HighwayEvent::GateTimeout(body) => of_gate(state, &body.gate_id),
        HighwayEvent::GateReentryBlocked(_) => Home::Anywhere,
        HighwayEvent::HumanInjection(body) => of(&body.to),
        HighwayEvent::EscalationReceived(body) => of(&body.workspace),
        HighwayEvent::EscalationResolved(body) => of(&body.workspace),
        HighwayEvent::EscalationTimeout(body) => of(&body.workspace),
    }
}
