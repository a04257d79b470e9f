//! Commands: which rule decides each of them.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::command::{
    AgentCommand, ApprovalCommand, Command, CommandRoom, LeaseCommand, MessageCommand, PlanCommand,
    RefusalCommand, RightCommand, RuntimeCommand, SessionCommand, UserCommand, WorkCommand,
    WorkspaceCommand,
};
use crate::protocol::reply::Reply;
use crate::rules::admin::{archive, project, refusal, runtime};
use crate::rules::identity::user::standing;
use crate::rules::identity::{agent, authentication, user};
use crate::rules::knowledge::records::{next, work};
use crate::rules::knowledge::{attempt, blackboard, records as remembered};
use crate::rules::leasing::{lease, session};
use crate::rules::runs::approvals::{escalation, gate, inject, resolve};
use crate::rules::runs::integration::{conflict, salvage};
use crate::rules::runs::task::{graph, orders};
use crate::rules::runs::workspace::{
    branch, budget, create, grant, group, memory, meter, priority, process, reparent, suspend,
    terminate, transfer, using,
};
use crate::rules::runs::{
    access, approvals, checkpoint, envelope, integration, integrity, recovery, right, run,
};
use crate::values::principal::Caller;

type Decided = Result<Reply, DecisionError>;

/// Decides a command of a caller that has arrived.
pub(crate) fn carry_out(tx: &mut Transaction<'_>, caller: &Caller, command: &Command) -> Decided {
    match command.room() {
        CommandRoom::Session(own) => of_session(tx, caller, own),
        CommandRoom::Lease(own) => of_lease(tx, caller, own),
        CommandRoom::User(own) => of_user(tx, caller, own),
        CommandRoom::Agent(own) => of_agent(tx, caller, own),
        CommandRoom::Blackboard(own) => blackboard::carry_out(tx, caller, own),
        CommandRoom::Memory(own) => remembered::carry_out(tx, caller, command, own),
        CommandRoom::Work(WorkCommand::WorkBegin(args)) => work::decide_begin(tx, caller, args),
        CommandRoom::Work(WorkCommand::WorkNext(args)) => next::decide_next(tx, caller, args),
        CommandRoom::Work(WorkCommand::WorkFinish(args)) => work::decide_finish(tx, caller, args),
        CommandRoom::Workspace(own) => of_workspace(tx, caller, own),
        CommandRoom::Message(own) => of_message(tx, caller, own),
        CommandRoom::Plan(own) => of_plan(tx, caller, own),
        CommandRoom::Approval(own) => of_approval(tx, caller, own),
        CommandRoom::Right(own) => of_right(tx, caller, own),
        CommandRoom::Refusal(RefusalCommand::RefusalRecord(args)) => refusal::decide_record(args),
        CommandRoom::Runtime(own) => of_runtime(tx, caller, own),
    }
}

fn of_session(tx: &mut Transaction<'_>, caller: &Caller, command: SessionCommand<'_>) -> Decided {
    match command {
        SessionCommand::SessionOpen(args) => session::decide_open(tx, caller, args),
        SessionCommand::SessionClose(args) => session::decide_close(tx, caller, args),
    }
}

fn of_lease(tx: &mut Transaction<'_>, caller: &Caller, command: LeaseCommand<'_>) -> Decided {
    match command {
        LeaseCommand::LeaseOpen(args) => lease::decide_open(tx, caller, args),
        LeaseCommand::LeaseRenew(args) => lease::decide_renew(tx, caller, args),
        LeaseCommand::LeaseRelease(args) => lease::decide_release(tx, caller, args),
        LeaseCommand::LeaseUse(args) => using::decide_use(tx, caller, args),
        LeaseCommand::LeaseForce(args) => lease::decide_force(tx, caller, args),
    }
}

fn of_user(tx: &mut Transaction<'_>, caller: &Caller, command: UserCommand<'_>) -> Decided {
    match command {
        UserCommand::UserCreate(args) => {
            let is_first = tx.state().users.is_empty();
            let reply = user::decide_create(tx, caller, args)?;
            if is_first {
                approvals::on_first_person(tx)?;
            }
            Ok(reply)
        }
        UserCommand::UserSuspend(args) => standing::decide_suspend(tx, caller, args),
        UserCommand::UserResume(args) => standing::decide_resume(tx, caller, args),
        UserCommand::UserBlock(args) => standing::decide_block(tx, caller, args),
        UserCommand::UserUnblock(args) => standing::decide_unblock(tx, caller, args),
        UserCommand::UserDeactivate(args) => standing::decide_deactivate(tx, caller, args),
        UserCommand::UserReactivate(args) => standing::decide_reactivate(tx, caller, args),
        UserCommand::CapabilityGrant(args) => user::grant::decide_grant(tx, caller, args),
        UserCommand::CapabilityRevoke(args) => user::grant::decide_revoke(tx, caller, args),
    }
}

fn of_agent(tx: &mut Transaction<'_>, caller: &Caller, command: AgentCommand<'_>) -> Decided {
    match command {
        AgentCommand::AgentRegister(args) => agent::decide_register(tx, caller, args),
        AgentCommand::AgentHeartbeat(args) => agent::decide_heartbeat(tx, caller, args),
        AgentCommand::AgentRevoke(args) => agent::decide_revoke(tx, caller, args),
        AgentCommand::AgentReinstate(args) => agent::decide_reinstate(tx, caller, args),
    }
}

fn of_workspace(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    command: WorkspaceCommand<'_>,
) -> Decided {
    match command {
        WorkspaceCommand::RunStart(args) => run::decide_start(tx, caller, args),
        WorkspaceCommand::RunHandOver(args) => run::decide_hand_over(tx, caller, args),
        WorkspaceCommand::RunHold(args) => run::decide_hold(tx, caller, args),
        WorkspaceCommand::RunLand(args) => run::decide_land(tx, caller, args),
        WorkspaceCommand::RunEnd(args) => run::decide_end(tx, caller, args),
        WorkspaceCommand::WorkspaceCreate(args) => create::decide_create(tx, caller, args),
        WorkspaceCommand::WorkspaceAbort(args) => attempt::decide_abort(tx, caller, args),
        WorkspaceCommand::WorkspaceSuspend(args) => suspend::decide_suspend(tx, caller, args),
        WorkspaceCommand::WorkspaceResume(args) => suspend::decide_resume(tx, caller, args),
        WorkspaceCommand::WorkspaceMigrate(args) => attempt::decide_migrate(tx, caller, args),
        WorkspaceCommand::WorkspaceTerminate(args) => terminate::decide_terminate(tx, caller, args),
        WorkspaceCommand::WorkspaceGrantVisibility(args) => grant::decide_grant(tx, caller, args),
        WorkspaceCommand::WorkspaceReparent(args) => reparent::decide_reparent(tx, caller, args),
        WorkspaceCommand::WorkspaceTransfer(args) => transfer::decide_transfer(tx, caller, args),
        WorkspaceCommand::WorkspaceModifyBudget(args) => budget::decide_modify(tx, caller, args),
        WorkspaceCommand::WorkspaceSetPriority(args) => priority::decide_set(tx, caller, args),
        WorkspaceCommand::WorkspaceBatchAbort(args) => group::decide_abort(tx, caller, args),
        WorkspaceCommand::WorkspaceBatchPriority(args) => group::decide_priority(tx, caller, args),
        WorkspaceCommand::MeterReport(args) => meter::decide_report(tx, caller, args),
        WorkspaceCommand::WorkspaceWrite(args) => memory::decide_write(tx, caller, args),
        WorkspaceCommand::WorkspaceBranch(args) => branch::decide_set(tx, caller, args),
        WorkspaceCommand::WorkspaceProcess(args) => process::decide_report(tx, caller, args),
    }
}

fn of_message(tx: &mut Transaction<'_>, caller: &Caller, command: MessageCommand<'_>) -> Decided {
    match command {
        MessageCommand::EnvelopeSend(args) => envelope::decide_send(tx, caller, args),
        MessageCommand::InboxTake(args) => envelope::inbox::decide_take(tx, caller, args),
        MessageCommand::SignalEmit(args) => attempt::decide_emit(tx, caller, args),
    }
}

fn of_plan(tx: &mut Transaction<'_>, caller: &Caller, command: PlanCommand<'_>) -> Decided {
    match command {
        PlanCommand::CheckpointCreate(args) => checkpoint::decide_create(tx, caller, args),
        PlanCommand::TaskGraph(args) => graph::decide_graph(tx, caller, args),
        PlanCommand::TaskAdd(args) => graph::decide_add(tx, caller, args),
        PlanCommand::TaskApprove(args) => orders::decide_approve(tx, caller, args),
        PlanCommand::TaskAssign(args) => orders::decide_assign(tx, caller, args),
        PlanCommand::TaskRetry(args) => orders::decide_retry(tx, caller, args),
        PlanCommand::TaskCancel(args) => orders::decide_cancel(tx, caller, args),
        PlanCommand::IntegrationDecide(args) => integration::decide_decide(tx, caller, args),
        PlanCommand::IntegrationSalvage(args) => salvage::decide_salvage(tx, caller, args),
        PlanCommand::IntegrationUndo(args) => integration::decide_undo(tx, caller, args),
        PlanCommand::ConflictResolve(args) => conflict::decide_resolve(tx, caller, args),
    }
}

fn of_approval(tx: &mut Transaction<'_>, caller: &Caller, command: ApprovalCommand<'_>) -> Decided {
    match command {
        ApprovalCommand::HighwayConfigure(args) => approvals::decide_configure(tx, caller, args),
        ApprovalCommand::HighwayInject(args) => inject::decide_inject(tx, caller, args),
        ApprovalCommand::GateResolve(args) => resolve::decide_resolve(tx, caller, args),
        ApprovalCommand::GateAsk(args) => gate::decide_ask(tx, caller, args),
        ApprovalCommand::EscalationAnswer(args) => escalation::decide_answer(tx, caller, args),
    }
}

fn of_right(tx: &mut Transaction<'_>, caller: &Caller, command: RightCommand<'_>) -> Decided {
    match command {
        RightCommand::RightGrant(args) => right::decide_grant(tx, caller, args),
        RightCommand::RightRevoke(args) => right::decide_revoke(tx, caller, args),
    }
}

fn of_runtime(tx: &mut Transaction<'_>, caller: &Caller, command: RuntimeCommand<'_>) -> Decided {
    match command {
        RuntimeCommand::ProjectCreate(args) => project::decide_create(tx, caller, args),
        RuntimeCommand::RuntimeRekey(args) => runtime::decide_rekey(tx, caller, args),
        RuntimeCommand::RuntimeUnauthentic(args) => runtime::decide_unauthentic(tx, args),
        RuntimeCommand::RuntimeRestored(args) => runtime::decide_restored(tx, args),
        RuntimeCommand::RuntimeDegraded(args) => runtime::decide_degraded(tx, args),
        RuntimeCommand::RuntimeRecover(args) => recovery::decide_recover(tx, args),
        RuntimeCommand::RuntimeDisconnect(args) => session::decide_disconnect(tx, args),
        RuntimeCommand::TrailDenied(args) => access::decide_denied(tx, args),
        RuntimeCommand::TrailCompact(args) => archive::decide_compact(tx, args),
        RuntimeCommand::TrailPrune(args) => archive::decide_prune(tx, args),
        RuntimeCommand::TrailSnapshot(args) => archive::decide_snapshot(tx, args),
        RuntimeCommand::AccessRefused(args) => access::decide_refused(tx, args),
        RuntimeCommand::RuntimeAuthentic(args) => authentication::decide_authentic(tx, args),
        RuntimeCommand::RuntimeViolated(args) => integrity::decide_violated(tx, args),
    }
}
