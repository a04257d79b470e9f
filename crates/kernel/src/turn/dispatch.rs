//! Carrying out commands: which function decides each of them.
//!
//! One match over the rooms and one over the commands of each room, all without a catch-all arm: a
//! command that nobody decides does not compile.

use super::{Halt, Reply, Turn};
use crate::command::{
    AgentCommand, Command, CommandRoom, HighwayCommand, LeaseCommand, MessageCommand, PlanCommand,
    RefusalCommand, RightCommand, RuntimeCommand, SessionCommand, UserCommand, WorkCommand,
    WorkspaceCommand,
};
use crate::highway::{self, escalation, inject, resolve};
use crate::integration::{self, conflict, salvage};
use crate::memory::{self as remembered, work};
use crate::principal::Caller;
use crate::task::{graph, orders};
use crate::user::{self, standing};
use crate::workspace::{
    abort, budget, create, grant, group, memory, meter, migrate, priority, reparent, suspend,
    terminate, transfer,
};
use crate::{
    access, agent, archive, authentication, checkpoint, commons, envelope, lease, project,
    recovery, refusal, right, run, runtime, session, signal, violation,
};

type Decided = Result<Reply, Halt>;

/// Decides a command of a caller that has arrived.
pub(super) fn carry_out(turn: &mut Turn<'_>, caller: &Caller, command: &Command) -> Decided {
    match command.room() {
        CommandRoom::Session(own) => of_session(turn, caller, own),
        CommandRoom::Lease(own) => of_lease(turn, caller, own),
        CommandRoom::User(own) => of_user(turn, caller, own),
        CommandRoom::Agent(own) => of_agent(turn, caller, own),
        CommandRoom::Commons(own) => commons::carry_out(turn, caller, own),
        CommandRoom::Memory(own) => remembered::carry_out(turn, caller, command, own),
        CommandRoom::Work(WorkCommand::WorkBegin(args)) => work::decide_begin(turn, caller, args),
        CommandRoom::Work(WorkCommand::WorkFinish(args)) => work::decide_finish(turn, caller, args),
        CommandRoom::Workspace(own) => of_workspace(turn, caller, own),
        CommandRoom::Message(own) => of_message(turn, caller, own),
        CommandRoom::Plan(own) => of_plan(turn, caller, own),
        CommandRoom::Highway(own) => of_highway(turn, caller, own),
        CommandRoom::Right(own) => of_right(turn, caller, own),
        CommandRoom::Refusal(RefusalCommand::RefusalRecord(args)) => refusal::decide_record(args),
        CommandRoom::Runtime(own) => of_runtime(turn, caller, own),
    }
}

fn of_session(turn: &mut Turn<'_>, caller: &Caller, command: SessionCommand<'_>) -> Decided {
    match command {
        SessionCommand::SessionOpen(args) => session::decide_open(turn, caller, args),
        SessionCommand::SessionClose(args) => session::decide_close(turn, caller, args),
    }
}

fn of_lease(turn: &mut Turn<'_>, caller: &Caller, command: LeaseCommand<'_>) -> Decided {
    match command {
        LeaseCommand::LeaseOpen(args) => lease::decide_open(turn, caller, args),
        LeaseCommand::LeaseRenew(args) => lease::decide_renew(turn, caller, args),
        LeaseCommand::LeaseRelease(args) => lease::decide_release(turn, caller, args),
        LeaseCommand::LeaseForce(args) => lease::decide_force(turn, caller, args),
    }
}

fn of_user(turn: &mut Turn<'_>, caller: &Caller, command: UserCommand<'_>) -> Decided {
    match command {
        UserCommand::UserCreate(args) => user::decide_create(turn, caller, args),
        UserCommand::UserSuspend(args) => standing::decide_suspend(turn, caller, args),
        UserCommand::UserResume(args) => standing::decide_resume(turn, caller, args),
        UserCommand::UserBlock(args) => standing::decide_block(turn, caller, args),
        UserCommand::UserUnblock(args) => standing::decide_unblock(turn, caller, args),
        UserCommand::UserDeactivate(args) => standing::decide_deactivate(turn, caller, args),
        UserCommand::UserReactivate(args) => standing::decide_reactivate(turn, caller, args),
        UserCommand::CapabilityGrant(args) => user::grant::decide_grant(turn, caller, args),
        UserCommand::CapabilityRevoke(args) => user::grant::decide_revoke(turn, caller, args),
    }
}

fn of_agent(turn: &mut Turn<'_>, caller: &Caller, command: AgentCommand<'_>) -> Decided {
    match command {
        AgentCommand::AgentRegister(args) => agent::decide_register(turn, caller, args),
        AgentCommand::AgentHeartbeat(args) => agent::decide_heartbeat(turn, caller, args),
        AgentCommand::AgentRevoke(args) => agent::decide_revoke(turn, caller, args),
        AgentCommand::AgentReinstate(args) => agent::decide_reinstate(turn, caller, args),
    }
}

fn of_workspace(turn: &mut Turn<'_>, caller: &Caller, command: WorkspaceCommand<'_>) -> Decided {
    match command {
        WorkspaceCommand::RunStart(args) => run::decide_start(turn, caller, args),
        WorkspaceCommand::RunHandOver(args) => run::decide_hand_over(turn, caller, args),
        WorkspaceCommand::RunEnd(args) => run::decide_end(turn, caller, args),
        WorkspaceCommand::WorkspaceCreate(args) => create::decide_create(turn, caller, args),
        WorkspaceCommand::WorkspaceAbort(args) => abort::decide_abort(turn, caller, args),
        WorkspaceCommand::WorkspaceSuspend(args) => suspend::decide_suspend(turn, caller, args),
        WorkspaceCommand::WorkspaceResume(args) => suspend::decide_resume(turn, caller, args),
        WorkspaceCommand::WorkspaceMigrate(args) => migrate::decide_migrate(turn, caller, args),
        WorkspaceCommand::WorkspaceTerminate(args) => {
            terminate::decide_terminate(turn, caller, args)
        }
        WorkspaceCommand::WorkspaceGrantVisibility(args) => grant::decide_grant(turn, caller, args),
        WorkspaceCommand::WorkspaceReparent(args) => reparent::decide_reparent(turn, caller, args),
        WorkspaceCommand::WorkspaceTransfer(args) => transfer::decide_transfer(turn, caller, args),
        WorkspaceCommand::WorkspaceModifyBudget(args) => budget::decide_modify(turn, caller, args),
        WorkspaceCommand::WorkspaceSetPriority(args) => priority::decide_set(turn, caller, args),
        WorkspaceCommand::WorkspaceBatchAbort(args) => group::decide_abort(turn, caller, args),
        WorkspaceCommand::WorkspaceBatchPriority(args) => {
            group::decide_priority(turn, caller, args)
        }
        WorkspaceCommand::MeterReport(args) => meter::decide_report(turn, caller, args),
        WorkspaceCommand::WorkspaceWrite(args) => memory::decide_write(turn, caller, args),
    }
}

fn of_message(turn: &mut Turn<'_>, caller: &Caller, command: MessageCommand<'_>) -> Decided {
    match command {
        MessageCommand::EnvelopeSend(args) => envelope::decide_send(turn, caller, args),
        MessageCommand::InboxTake(args) => envelope::inbox::decide_take(turn, caller, args),
        MessageCommand::SignalEmit(args) => signal::decide_emit(turn, caller, args),
    }
}

fn of_plan(turn: &mut Turn<'_>, caller: &Caller, command: PlanCommand<'_>) -> Decided {
    match command {
        PlanCommand::CheckpointCreate(args) => checkpoint::decide_create(turn, caller, args),
        PlanCommand::TaskGraph(args) => graph::decide_graph(turn, caller, args),
        PlanCommand::TaskAdd(args) => graph::decide_add(turn, caller, args),
        PlanCommand::TaskApprove(args) => orders::decide_approve(turn, caller, args),
        PlanCommand::TaskAssign(args) => orders::decide_assign(turn, caller, args),
        PlanCommand::TaskRetry(args) => orders::decide_retry(turn, caller, args),
        PlanCommand::TaskCancel(args) => orders::decide_cancel(turn, caller, args),
        PlanCommand::IntegrationDecide(args) => integration::decide_decide(turn, caller, args),
        PlanCommand::IntegrationSalvage(args) => salvage::decide_salvage(turn, caller, args),
        PlanCommand::ConflictResolve(args) => conflict::decide_resolve(turn, caller, args),
    }
}

fn of_highway(turn: &mut Turn<'_>, caller: &Caller, command: HighwayCommand<'_>) -> Decided {
    match command {
        HighwayCommand::HighwayConfigure(args) => highway::decide_configure(turn, caller, args),
        HighwayCommand::HighwayInject(args) => inject::decide_inject(turn, caller, args),
        HighwayCommand::GateResolve(args) => resolve::decide_resolve(turn, caller, args),
        HighwayCommand::EscalationAnswer(args) => escalation::decide_answer(turn, caller, args),
    }
}

fn of_right(turn: &mut Turn<'_>, caller: &Caller, command: RightCommand<'_>) -> Decided {
    match command {
        RightCommand::RightGrant(args) => right::decide_grant(turn, caller, args),
        RightCommand::RightRevoke(args) => right::decide_revoke(turn, caller, args),
    }
}

fn of_runtime(turn: &mut Turn<'_>, caller: &Caller, command: RuntimeCommand<'_>) -> Decided {
    match command {
        RuntimeCommand::ProjectCreate(args) => project::decide_create(turn, caller, args),
        RuntimeCommand::RuntimeRekey(args) => runtime::decide_rekey(turn, caller, args),
        RuntimeCommand::RuntimeUnauthentic(args) => runtime::decide_unauthentic(turn, args),
        RuntimeCommand::RuntimeRestored(args) => runtime::decide_restored(turn, args),
        RuntimeCommand::RuntimeDegraded(args) => runtime::decide_degraded(turn, args),
        RuntimeCommand::RuntimeRecover(args) => recovery::decide_recover(turn, args),
        RuntimeCommand::TrailDenied(args) => access::decide_denied(turn, args),
        RuntimeCommand::TrailCompact(args) => archive::decide_compact(turn, args),
        RuntimeCommand::TrailPrune(args) => archive::decide_prune(turn, args),
        RuntimeCommand::TrailSnapshot(args) => archive::decide_snapshot(turn, args),
        RuntimeCommand::AccessRefused(args) => access::decide_refused(turn, args),
        RuntimeCommand::RuntimeAuthentic(args) => authentication::decide_authentic(turn, args),
        RuntimeCommand::RuntimeViolated(args) => violation::decide_violated(turn, args),
    }
}
