//! Applying entries: which function changes the state for each kind of event.
//!
//! One match over the rooms and one over the kinds of each room, all without a catch-all arm: a
//! kind that nothing applies does not compile.

use super::{ApplyError, State};
use crate::envelope::{self, deliver, inbox};
use crate::event::{
    AdminEvent, AgentEvent, EventRoom, HighwayEvent, LeaseEvent, MessageEvent, PlanEvent, Stamped,
    UserEvent, WorkspaceEvent,
};
use crate::highway::{self, escalation, gate, resolve};
use crate::integration::{self, conflict};
use crate::memory as remembered;
use crate::task::{follow, graph};
use crate::user::{self, standing};
use crate::workspace::{
    budget, change, create, enforce, grant, liveness, memory, migrate, priority, reparent,
    terminate, transfer,
};
use crate::{
    adoption, agent, archive, authentication, checkpoint, commons, lease, project, recovery, right,
    run, runtime, session, signal,
};

/// Changes the state by what happened.
pub(super) fn apply(state: &mut State, entry: &Stamped) -> Result<(), ApplyError> {
    match entry.draft.event.room() {
        EventRoom::Admin(event) => apply_admin(state, entry, event),
        EventRoom::Agent(event) => apply_agent(state, entry, event),
        EventRoom::User(event) => apply_user(state, entry, event),
        EventRoom::Lease(event) => apply_lease(state, entry, event),
        EventRoom::Commons(event) => commons::apply(state, entry, event),
        EventRoom::Memory(event) => remembered::apply(state, entry, event),
        EventRoom::Workspace(event) => apply_workspace(state, entry, event),
        EventRoom::Message(event) => apply_message(state, entry, event),
        EventRoom::Plan(event) => apply_plan(state, entry, event),
        EventRoom::Highway(event) => apply_highway(state, entry, event),
    }
}

fn apply_admin(
    state: &mut State,
    entry: &Stamped,
    event: AdminEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        AdminEvent::ProjectCreated(body) => project::apply_created(state, entry, body),
        AdminEvent::RuntimeRekeyed(body) => runtime::apply_rekeyed(state, entry, body),
        AdminEvent::RulesAdopted(body) => adoption::apply_adopted(state, entry, body),
        AdminEvent::RuntimeRestored(body) => {
            runtime::apply_restored(state, body);
            Ok(())
        }
        AdminEvent::TrailPruned(body) => archive::apply_pruned(state, entry, body),
        AdminEvent::RecoveryCompleted(body) => {
            recovery::apply_completed(state, body);
            Ok(())
        }
        AdminEvent::TrailCompacted(body) => archive::apply_compacted(state, entry, body),
        // The trail alone remembers these.
        AdminEvent::CommandRefused(_)
        | AdminEvent::SystemDegraded(_)
        | AdminEvent::IntegrityViolation(_)
        | AdminEvent::TrailAccessDenied(_)
        | AdminEvent::TrailSnapshotCreated(_) => Ok(()),
    }
}

fn apply_agent(
    state: &mut State,
    entry: &Stamped,
    event: AgentEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        AgentEvent::AgentRegistered(body) => agent::apply_registered(state, entry, body),
        AgentEvent::AgentDescribed(body) => agent::apply_described(state, body),
        AgentEvent::AgentHeartbeat(body) => {
            agent::apply_heartbeat(state, body);
            Ok(())
        }
        AgentEvent::AgentRevoked(body) => agent::apply_standing(state, &body.agent, Some(entry.at)),
        AgentEvent::AgentReinstated(body) => agent::apply_standing(state, &body.agent, None),
        AgentEvent::SessionOpened(body) => session::apply_opened(state, entry, body),
        AgentEvent::SessionClosed(body) => session::apply_closed(state, entry, body),
        AgentEvent::AuthenticationSucceeded(body) => authentication::apply_succeeded(state, body),
        AgentEvent::AuthenticationFailed(body) => {
            authentication::apply_failed(state, body);
            Ok(())
        }
    }
}

fn apply_user(state: &mut State, entry: &Stamped, event: UserEvent<'_>) -> Result<(), ApplyError> {
    match event {
        UserEvent::UserCreated(body) => user::apply_created(state, entry, body),
        UserEvent::UserSuspended(_)
        | UserEvent::UserResumed(_)
        | UserEvent::UserBlocked(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserDeactivated(_)
        | UserEvent::UserReactivated(_) => standing::apply_step(state, entry, event),
        UserEvent::CapabilityGranted(body) => user::grant::apply_granted(state, body),
        UserEvent::CapabilityRevoked(body) => user::grant::apply_revoked(state, body),
        // The trail alone remembers these.
        UserEvent::CapabilityDenied(_) => Ok(()),
    }
}

fn apply_lease(
    state: &mut State,
    entry: &Stamped,
    event: LeaseEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        LeaseEvent::LeaseOpened(body) => lease::apply_opened(state, entry, body),
        LeaseEvent::LeaseRenewed(body) => lease::apply_renewed(state, entry, body),
        LeaseEvent::LeaseReleased(body) => lease::apply_ended(state, &body.lease, body.epoch),
        LeaseEvent::LeaseExpired(body) => lease::apply_ended(state, &body.lease, body.epoch),
        LeaseEvent::LeaseForced(body) => lease::apply_ended(state, &body.lease, body.epoch),
    }
}

fn apply_workspace(
    state: &mut State,
    entry: &Stamped,
    event: WorkspaceEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        WorkspaceEvent::RunHandedOver(body) => run::apply_handed_over(state, body),
        WorkspaceEvent::WorkspaceWritten(body) => memory::apply_written(state, body),
        WorkspaceEvent::WorkspaceCreated(body) => create::apply_created(state, entry, body),
        WorkspaceEvent::WorkspaceStateChanged(body) => {
            change::apply_state_changed(state, entry, body)
        }
        WorkspaceEvent::BudgetWarning(body) => enforce::apply_warning(state, entry.at, body),
        WorkspaceEvent::BudgetExceeded(body) => enforce::apply_exceeded(state, entry.at, body),
        WorkspaceEvent::BudgetModified(body) => budget::apply_modified(state, entry.at, body),
        WorkspaceEvent::LivenessWarning(body) => liveness::apply_warning(state, entry.at, body),
        WorkspaceEvent::PriorityChanged(body) => priority::apply_changed(state, body),
        WorkspaceEvent::VisibilityGranted(body) => grant::apply_granted(state, body),
        WorkspaceEvent::MigrationStarted(body) => migrate::apply_started(state, body),
        WorkspaceEvent::MigrationCompleted(body) => {
            migrate::apply_over(state, &body.workspace_id, &body.old_agent, &body.new_agent)
        }
        WorkspaceEvent::MigrationFailed(body) => {
            migrate::apply_over(state, &body.workspace_id, &body.old_agent, &body.new_agent)
        }
        WorkspaceEvent::GracefulTerminationInitiated(body) => {
            terminate::apply_initiated(state, entry, body)
        }
        WorkspaceEvent::GracefulTerminationExpired(body) => terminate::apply_expired(state, body),
        WorkspaceEvent::OwnershipTransferred(body) => transfer::apply_transferred(state, body),
        WorkspaceEvent::WorkspaceReparented(body) => {
            reparent::apply_reparented(state, entry.at, body)
        }
        // The trail alone remembers these.
        WorkspaceEvent::RunStopped(_)
        | WorkspaceEvent::MeterReported(_)
        | WorkspaceEvent::WorkspaceRejected(_)
        | WorkspaceEvent::BatchAbort(_)
        | WorkspaceEvent::BatchPriorityChanged(_)
        | WorkspaceEvent::SuspensionStarted(_)
        | WorkspaceEvent::SuspensionResumed(_)
        | WorkspaceEvent::ResourceDiscrepancy(_) => Ok(()),
    }
}

fn apply_message(
    state: &mut State,
    entry: &Stamped,
    event: MessageEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        MessageEvent::EnvelopeAttempted(body) => deliver::apply_attempted(state, body),
        MessageEvent::InboxTaken(body) => inbox::apply_taken(state, body),
        MessageEvent::SignalEmitted(body) => signal::apply_emitted(state, entry, body),
        MessageEvent::SignalDelivered(body) => signal::apply_delivered(state, entry, body),
        MessageEvent::EnvelopeCreated(body) => envelope::apply_created(state, entry, body),
        MessageEvent::EnvelopeDelivered(body) => deliver::apply_delivered(state, entry, body),
        MessageEvent::EnvelopeRejected(body) => deliver::apply_rejected(state, body),
        MessageEvent::EnvelopeUndeliverable(body) => deliver::apply_undeliverable(state, body),
        MessageEvent::EnvelopeRedelivered(body) => deliver::apply_redelivered(state, body),
        MessageEvent::PortRightCreated(body) => right::apply_created(state, body),
        MessageEvent::PortRightTransferred(body) => right::apply_transferred(state, body),
        MessageEvent::PortRightRevoked(body) => {
            right::apply_gone(state, &body.right_id, &body.holder)
        }
        MessageEvent::PortRightConsumed(body) => right::apply_consumed(state, body),
    }
}

fn apply_plan(state: &mut State, entry: &Stamped, event: PlanEvent<'_>) -> Result<(), ApplyError> {
    match event {
        PlanEvent::CheckpointCreated(body) => checkpoint::apply_created(state, entry, body),
        PlanEvent::GraphCreated(body) => graph::apply_graph_created(state, entry, body),
        PlanEvent::TaskCreated(body) => graph::apply_created(state, entry, body),
        PlanEvent::TaskAssigned(body) => follow::apply_assigned(state, body),
        PlanEvent::TaskStatusChanged(body) => follow::apply_status_changed(state, body),
        PlanEvent::TaskCompleted(body) => follow::apply_completed(state, body),
        PlanEvent::IntegrationStarted(body) => integration::apply_started(state, body),
        PlanEvent::IntegrationCompleted(body) => integration::apply_completed(state, body),
        PlanEvent::IntegrationAborted(body) => integration::apply_aborted(state, body),
        PlanEvent::ConflictDetected(body) => conflict::apply_detected(state, body),
        PlanEvent::ConflictResolved(body) => conflict::apply_resolved(state, body),
        // The trail alone remembers these.
        PlanEvent::CheckpointRejected(_)
        | PlanEvent::TaskApproved(_)
        | PlanEvent::TaskFailed(_) => Ok(()),
    }
}

fn apply_highway(
    state: &mut State,
    entry: &Stamped,
    event: HighwayEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        HighwayEvent::HighwayConfigured(body) => highway::apply_configured(state, body),
        HighwayEvent::GateTriggered(body) => gate::apply_triggered(state, entry, body),
        HighwayEvent::GateResolved(body) => resolve::apply_resolved(state, entry, body),
        HighwayEvent::GateReentryBlocked(body) => gate::apply_reentry(state, entry, body),
        HighwayEvent::EscalationReceived(body) => escalation::apply_received(state, entry, body),
        HighwayEvent::EscalationResolved(body) => escalation::apply_resolved(state, body),
        // The trail alone remembers these.
        HighwayEvent::GateTimeout(_)
        | HighwayEvent::HumanInjection(_)
        | HighwayEvent::EscalationTimeout(_) => Ok(()),
    }
}
