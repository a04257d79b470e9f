//! Commands that are decided before deadlines that have come.

use crate::protocol::command::{
    Command, CommandRoom, PlanCommand, RuntimeCommand, WorkspaceCommand,
};

impl Command {
    /// Whether it is decided before deadlines that have come: an end ordered by the coordinator or a
    /// person takes precedence over timers, recovery handles due deadlines itself, and nothing can
    /// be signed before a takeover.
    pub fn precedes_deadlines(&self) -> bool {
        match self.room() {
            CommandRoom::Workspace(command) => in_workspace(command),
            CommandRoom::Plan(command) => in_plan(command),
            CommandRoom::Runtime(command) => of_runtime(command),
            CommandRoom::Session(_)
            | CommandRoom::Lease(_)
            | CommandRoom::User(_)
            | CommandRoom::Agent(_)
            | CommandRoom::Blackboard(_)
            | CommandRoom::Memory(_)
            | CommandRoom::Work(_)
            | CommandRoom::Message(_)
            | CommandRoom::Approval(_)
            | CommandRoom::Refusal(_)
            | CommandRoom::Right(_) => false,
        }
    }
}

fn in_workspace(command: WorkspaceCommand<'_>) -> bool {
    match command {
        WorkspaceCommand::WorkspaceAbort(_) | WorkspaceCommand::WorkspaceBatchAbort(_) => true,
        WorkspaceCommand::RunEnd(end) => end.force,
        WorkspaceCommand::RunStart(_)
        | WorkspaceCommand::RunHandOver(_)
        | WorkspaceCommand::RunHold(_)
        | WorkspaceCommand::RunLand(_)
        | WorkspaceCommand::WorkspaceBranch(_)
        | WorkspaceCommand::WorkspaceProcess(_)
        | WorkspaceCommand::WorkspaceCreate(_)
        | WorkspaceCommand::WorkspaceSuspend(_)
        | WorkspaceCommand::WorkspaceResume(_)
        | WorkspaceCommand::WorkspaceMigrate(_)
        | WorkspaceCommand::WorkspaceTerminate(_)
        | WorkspaceCommand::WorkspaceGrantVisibility(_)
        | WorkspaceCommand::WorkspaceReparent(_)
        | WorkspaceCommand::WorkspaceTransfer(_)
        | WorkspaceCommand::WorkspaceModifyBudget(_)
        | WorkspaceCommand::WorkspaceSetPriority(_)
        | WorkspaceCommand::WorkspaceBatchPriority(_)
        | WorkspaceCommand::MeterReport(_)
        | WorkspaceCommand::WorkspaceWrite(_) => false,
    }
}

fn in_plan(command: PlanCommand<'_>) -> bool {
    match command {
        PlanCommand::TaskCancel(_) => true,
        PlanCommand::CheckpointCreate(_)
        | PlanCommand::TaskGraph(_)
        | PlanCommand::TaskAdd(_)
        | PlanCommand::TaskApprove(_)
        | PlanCommand::TaskAssign(_)
        | PlanCommand::TaskRetry(_)
        | PlanCommand::IntegrationDecide(_)
        | PlanCommand::IntegrationSalvage(_)
        | PlanCommand::IntegrationUndo(_)
        | PlanCommand::ConflictResolve(_) => false,
    }
}

fn of_runtime(command: RuntimeCommand<'_>) -> bool {
    match command {
        RuntimeCommand::RuntimeRecover(_) | RuntimeCommand::RuntimeRekey(_) => true,
        RuntimeCommand::ProjectCreate(_)
        | RuntimeCommand::RuntimeUnauthentic(_)
        | RuntimeCommand::RuntimeRestored(_)
        | RuntimeCommand::RuntimeDegraded(_)
        | RuntimeCommand::RuntimeDisconnect(_)
        | RuntimeCommand::TrailDenied(_)
        | RuntimeCommand::TrailCompact(_)
        | RuntimeCommand::TrailPrune(_)
        | RuntimeCommand::TrailSnapshot(_)
        | RuntimeCommand::AccessRefused(_)
        | RuntimeCommand::RuntimeAuthentic(_)
        | RuntimeCommand::RuntimeViolated(_) => false,
    }
}
