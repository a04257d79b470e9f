//! Applying: from an event to the rule that changes the state.

use crate::machine::state::State;
use crate::protocol::event::{
    AdminEvent, AgentEvent, ApprovalEvent, Event, EventRoom, LeaseEvent, MessageEvent, PlanEvent,
    Stamped, UserEvent, WorkspaceEvent,
};
use crate::registry::apply_error::ApplyError;
use crate::rules::admin::{adoption, archive, project, runtime};
use crate::rules::identity::user::standing;
use crate::rules::identity::{agent, authentication, user};
use crate::rules::knowledge::{attempt, blackboard, records as remembered};
use crate::rules::leasing::{lease, session};
use crate::rules::runs::approvals::{escalation, gate, resolve};
use crate::rules::runs::envelope::{deliver, inbox};
use crate::rules::runs::integration::conflict;
use crate::rules::runs::task::{follow, graph};
use crate::rules::runs::workspace::{
    branch, budget, change, create, enforce, grant, liveness, memory, meter, migrate, priority,
    process, reparent, terminate, transfer,
};
use crate::rules::runs::{
    approvals, checkpoint, envelope, integration, news, recovery, right, run, signal,
};
use crate::values::principal::Actor;

impl State {
    /// Changes the state by one entry. This is the only way it changes, live and on replay.
    pub fn apply(&mut self, entry: &Stamped) -> Result<(), ApplyError> {
        if entry.at <= self.clock {
            return Err(ApplyError::ClockRegressed {
                at: entry.at.micros(),
                last: self.clock.micros(),
            });
        }
        if self.project.is_none() && !matches!(entry.draft.event, Event::ProjectCreated(_)) {
            return Err(ApplyError::NoProject);
        }
        self.seq += 1;
        apply(self, entry)?;
        agent::hear(self, entry);
        meter::count(self, entry);
        news::remember(self, entry);
        self.clock = entry.at;
        // Entries of the runtime do not count as activity.
        if let (Some(workspace), Actor::Principal(by)) =
            (&entry.draft.workspace, &entry.draft.actor)
        {
            session::touch(self, workspace, by, entry.at);
        }
        Ok(())
    }
}

/// Changes the state by what happened.
pub(crate) fn apply(state: &mut State, entry: &Stamped) -> Result<(), ApplyError> {
    match entry.draft.event.room() {
        EventRoom::Admin(event) => apply_admin(state, entry, event),
        EventRoom::Agent(event) => apply_agent(state, entry, event),
        EventRoom::User(event) => apply_user(state, entry, event),
        EventRoom::Lease(event) => apply_lease(state, entry, event),
        EventRoom::Blackboard(event) => blackboard::apply(state, entry, event),
        EventRoom::Memory(event) => remembered::apply(state, entry, event),
        EventRoom::Workspace(event) => apply_workspace(state, entry, event),
        EventRoom::Message(event) => apply_message(state, entry, event),
        EventRoom::Plan(event) => apply_plan(state, entry, event),
        EventRoom::Approval(event) => apply_approval(state, entry, event),
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
        AgentEvent::SessionConnected(body) => session::apply_connected(state, body),
        AgentEvent::SessionDisconnected(body) => session::apply_disconnected(state, body),
        AgentEvent::SessionKept(body) => session::apply_kept(state, body),
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
        LeaseEvent::LeaseOpened(body) => {
            lease::apply_opened(state, entry, body)?;
            attempt::follow_lease(state, entry, body)
        }
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
        WorkspaceEvent::RunHeld(body) => run::apply_held(state, body),
        WorkspaceEvent::WorkspaceWritten(body) => memory::apply_written(state, body),
        WorkspaceEvent::WorkspaceBranched(body) => branch::apply_branched(state, body),
        WorkspaceEvent::ProcessStarted(body) => process::apply_started(state, entry, body),
        WorkspaceEvent::ProcessEnded(body) => process::apply_ended(state, body),
        WorkspaceEvent::WorkspaceCreated(body) => {
            create::apply_created(state, entry, body)?;
            attempt::apply_created(state, entry, body)
        }
        WorkspaceEvent::WorkspaceStateChanged(body) => {
            change::apply_state_changed(state, entry, body)?;
            attempt::follow(state, entry, &body.workspace_id)
        }
        WorkspaceEvent::BudgetWarning(body) => enforce::apply_warning(state, entry.at, body),
        WorkspaceEvent::BudgetExceeded(body) => enforce::apply_exceeded(state, entry.at, body),
        WorkspaceEvent::BudgetModified(body) => budget::apply_modified(state, entry.at, body),
        WorkspaceEvent::LivenessWarning(body) => liveness::apply_warning(state, entry.at, body),
        WorkspaceEvent::PriorityChanged(body) => priority::apply_changed(state, body),
        WorkspaceEvent::VisibilityGranted(body) => grant::apply_granted(state, body),
        WorkspaceEvent::MigrationStarted(body) => {
            migrate::apply_started(state, body)?;
            attempt::follow_agent(state, entry, &body.workspace_id)
        }
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
        | WorkspaceEvent::RunLanded(_)
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
        MessageEvent::SignalEmitted(body) => {
            signal::apply_emitted(state, entry, body)?;
            attempt::follow_signal(state, entry, &body.from)
        }
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
        PlanEvent::TaskAssigned(body) => follow::apply_assigned(state, entry, body),
        PlanEvent::TaskStatusChanged(body) => follow::apply_status_changed(state, entry, body),
        PlanEvent::TaskCompleted(body) => follow::apply_completed(state, entry, body),
        PlanEvent::IntegrationStarted(body) => integration::apply_started(state, body),
        PlanEvent::IntegrationCompleted(body) => integration::apply_completed(state, entry, body),
        PlanEvent::IntegrationAborted(body) => integration::apply_aborted(state, body),
        PlanEvent::IntegrationUndone(body) => integration::apply_undone(state, body),
        PlanEvent::ConflictDetected(body) => conflict::apply_detected(state, body),
        PlanEvent::ConflictResolved(body) => conflict::apply_resolved(state, body),
        // The trail alone remembers these.
        PlanEvent::CheckpointRejected(_)
        | PlanEvent::TaskApproved(_)
        | PlanEvent::TaskFailed(_) => Ok(()),
    }
}

fn apply_approval(
    state: &mut State,
    entry: &Stamped,
    event: ApprovalEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        ApprovalEvent::HighwayConfigured(body) => approvals::apply_configured(state, entry, body),
        ApprovalEvent::GateTriggered(body) => gate::apply_triggered(state, entry, body),
        ApprovalEvent::GateResolved(body) => resolve::apply_resolved(state, entry, body),
        ApprovalEvent::GateReentryBlocked(body) => gate::apply_reentry(state, entry, body),
        ApprovalEvent::EscalationReceived(body) => escalation::apply_received(state, entry, body),
        ApprovalEvent::EscalationResolved(body) => escalation::apply_resolved(state, body),
        // The trail alone remembers these.
        ApprovalEvent::GateTimeout(_)
        | ApprovalEvent::HumanInjection(_)
        | ApprovalEvent::EscalationTimeout(_) => Ok(()),
    }
}
