//! The operation that the refusal of a command is recorded under.

use crate::cli::{
    AgentsCommand, CapsuleCommand, CheckpointCommand, Command, CoordinatorCommand,
    EscalationCommand, FactCommand, GateCommand, GroupCommand, HighwayCommand, IntegrateCommand,
    MemoryCommand, MeterCommand, PlanArgs, PlanCommand, RightCommand, SymbolCommand, TaskCommand,
    TokensCommand, TrailCommand, UsersCommand, WorkspaceCommand,
};
use crate::refusals::Operation;

/// The operation that a command stands for; `None` if it only reads, or concerns the machine and not
/// the project.
pub(super) fn operation(command: &Command) -> Option<Operation> {
    let (by_name, by_anybody) = (Operation::named, Operation::of_anybody);
    let name = match command {
        Command::Claim(_) => Some("lease.open"),
        Command::Release(args) if args.force => Some("lease.force"),
        Command::Release(_) => Some("lease.release"),
        Command::Renew(_) => Some("lease.renew"),
        Command::Coordinator(args) => of_coordinator(&args.command),
        Command::Workspace(args) => of_workspace(&args.command),
        Command::Task(args) => of_task(&args.command),
        Command::Send(_) => Some("envelope.send"),
        Command::Inbox(args) => args.take.map(|_| "inbox.take"),
        Command::Signal(_) => Some("signal.emit"),
        Command::Checkpoint(args) => match &args.command {
            None => return Some(by_anybody("checkpoint.create")),
            Some(CheckpointCommand::Create(_)) => Some("checkpoint.create"),
            Some(CheckpointCommand::List(_) | CheckpointCommand::Show(_)) => None,
        },
        Command::Integrate(args) => Some(of_integration(&args.command)),
        Command::Right(args) => of_right(&args.command),
        Command::Meter(args) => args.command.as_ref().map(|command| match command {
            MeterCommand::Report(_) => "meter.report",
        }),
        Command::Group(args) => match &args.command {
            GroupCommand::Abort(_) => Some("workspace.batch_abort"),
            GroupCommand::Priority(_) => Some("workspace.batch_priority"),
            GroupCommand::List | GroupCommand::Show(_) => None,
        },
        Command::Gate(args) => of_gate(&args.command),
        Command::Inject(_) => Some("highway.inject"),
        Command::Escalations(args) => args.command.as_ref().map(|command| match command {
            EscalationCommand::Answer(_)
            | EscalationCommand::Abort(_)
            | EscalationCommand::Delegate(_) => "escalation.answer",
        }),
        Command::Highway(args) => match &args.command {
            HighwayCommand::Set(_) => Some("highway.configure"),
            HighwayCommand::Show => None,
        },
        Command::Symbol(args) => return of_symbol(&args.command).map(by_anybody),
        Command::Fact(args) => return of_fact(&args.command).map(by_anybody),
        Command::Capsule(args) => return of_capsule(&args.command).map(by_anybody),
        Command::Tokens(args) => {
            return args.command.as_ref().and_then(of_tokens).map(by_anybody);
        }
        Command::Memory(args) => return of_memory(&args.command).map(by_anybody),
        Command::Remember(_) | Command::Plan(PlanArgs { command: None, .. }) => {
            return Some(by_anybody("memory.create"));
        }
        Command::Pause(args) => Some(of_steering(args.task.as_deref(), "workspace.suspend")),
        Command::Resume(args) => Some(of_steering(args.task.as_deref(), "workspace.resume")),
        Command::Stop(_) => Some("run.hold"),
        Command::Retry(_) => Some("task.retry"),
        Command::Undo(_) => Some("integration.undo"),
        Command::Next(_) => return Some(by_anybody("work.next")),
        Command::Done(_) | Command::Blocked(_) => return Some(by_anybody("work.finish")),
        Command::Trail(args) => args.command.as_ref().and_then(of_trail),
        Command::Agents(args) => args.command.as_ref().map(|command| match command {
            AgentsCommand::Register => "agent.register",
        }),
        Command::Users(args) => args.command.as_ref().and_then(of_users),
        Command::Backup(args) => args.restore.then_some("backup.restore"),
        Command::Plan(PlanArgs { command: Some(PlanCommand::Check(_)), .. })
        | Command::Init(_)
        | Command::Demo(_)
        | Command::DemoAgent(_)
        | Command::Supervise(_)
        // What it asks of the kernel is on record there; the rest is refused before it begins.
        | Command::Run(_)
        | Command::Ps(_)
        | Command::Logs(_)
        | Command::Attach(_)
        | Command::Rescue(_)
        | Command::Why(_)
        | Command::Tick(_)
        | Command::Status(_)
        | Command::Claims(_)
        | Command::Check(_)
        | Command::Brief(_)
        | Command::Haid(_)
        | Command::Validate(_)
        | Command::Shims(_)
        | Command::Ask(_)
        | Command::Board(_)
        // The kernel is asked by the name of the command.
        | Command::Do(_)
        // Each request of a host has its own refusal.
        | Command::Mcp(_)
        | Command::Hook(_)
        | Command::Uninit(_)
        | Command::View(_)
        | Command::Blob(_)
        | Command::Login(_)
        | Command::Config
        | Command::Rules(_)
        | Command::Conformance(_)
        | Command::Doctor(_)
        | Command::Recover(_)
        | Command::Rebuild(_)
        | Command::Completions(_)
        | Command::Man(_) => None,
    };
    name.map(by_name)
}

fn of_coordinator(command: &CoordinatorCommand) -> Option<&'static str> {
    match command {
        CoordinatorCommand::Start(_) => Some("run.start"),
        CoordinatorCommand::HandOver(_) => Some("run.hand_over"),
        CoordinatorCommand::Stop(_) => Some("run.end"),
        CoordinatorCommand::Show => None,
    }
}

fn of_workspace(command: &WorkspaceCommand) -> Option<&'static str> {
    match command {
        WorkspaceCommand::Create(_) => Some("workspace.create"),
        WorkspaceCommand::Abort(_) => Some("workspace.abort"),
        WorkspaceCommand::Suspend(_) => Some("workspace.suspend"),
        WorkspaceCommand::Resume(_) => Some("workspace.resume"),
        WorkspaceCommand::Migrate(_) => Some("workspace.migrate"),
        WorkspaceCommand::Terminate(_) => Some("workspace.terminate"),
        WorkspaceCommand::Grant(_) => Some("workspace.grant_visibility"),
        WorkspaceCommand::Reparent(_) => Some("workspace.reparent"),
        WorkspaceCommand::Transfer(_) => Some("workspace.transfer"),
        WorkspaceCommand::Budget(_) => Some("workspace.modify_budget"),
        WorkspaceCommand::Priority(_) => Some("workspace.set_priority"),
        WorkspaceCommand::Write(_) => Some("workspace.write"),
        WorkspaceCommand::List(_)
        | WorkspaceCommand::Show(_)
        | WorkspaceCommand::Tree(_)
        | WorkspaceCommand::Path(_)
        | WorkspaceCommand::Sees(_)
        | WorkspaceCommand::Files(_) => None,
    }
}

fn of_task(command: &TaskCommand) -> Option<&'static str> {
    match command {
        TaskCommand::Plan(_) => Some("task.graph"),
        TaskCommand::Add(_) => Some("task.add"),
        TaskCommand::Approve(_) => Some("task.approve"),
        TaskCommand::Assign(_) => Some("task.assign"),
        TaskCommand::Retry(_) => Some("task.retry"),
        TaskCommand::Cancel(_) => Some("task.cancel"),
        TaskCommand::List(_)
        | TaskCommand::Show(_)
        | TaskCommand::Ready(_)
        | TaskCommand::Deps(_)
        | TaskCommand::Graph(_)
        | TaskCommand::Graphs => None,
    }
}

fn of_integration(command: &IntegrateCommand) -> &'static str {
    match command {
        IntegrateCommand::Accept(_) | IntegrateCommand::Revise(_) | IntegrateCommand::Reject(_) => {
            "integration.decide"
        }
        IntegrateCommand::Salvage(_) => "integration.salvage",
        IntegrateCommand::Resolve(_) => "conflict.resolve",
    }
}

fn of_symbol(command: &SymbolCommand) -> Option<&'static str> {
    match command {
        SymbolCommand::Set { .. } => Some("symbol.set"),
        SymbolCommand::Get { .. } | SymbolCommand::Reverse { .. } | SymbolCommand::List => None,
    }
}

fn of_fact(command: &FactCommand) -> Option<&'static str> {
    match command {
        FactCommand::Set { .. } => Some("fact.set"),
        FactCommand::Delete { .. } => Some("fact.delete"),
        FactCommand::Get { .. } | FactCommand::List => None,
    }
}

fn of_capsule(command: &CapsuleCommand) -> Option<&'static str> {
    match command {
        CapsuleCommand::Write(_) => Some("capsule.write"),
        CapsuleCommand::Show { .. }
        | CapsuleCommand::List
        | CapsuleCommand::Deps { .. }
        | CapsuleCommand::Hydrate { .. } => None,
    }
}

fn of_tokens(command: &TokensCommand) -> Option<&'static str> {
    match command {
        TokensCommand::Log(_) => Some("ledger.log"),
        TokensCommand::Baseline { .. } => Some("ledger.baseline"),
        TokensCommand::Count { .. } | TokensCommand::Delta { .. } => None,
    }
}

/// Refusals of the verbs are recorded by the verbs; these are of what comes before them.
fn of_memory(command: &MemoryCommand) -> Option<&'static str> {
    match command {
        MemoryCommand::Work(_) => Some("work.begin"),
        MemoryCommand::Create(_) => Some("memory.create"),
        MemoryCommand::Update(_) => Some("memory.update"),
        MemoryCommand::Transition(_) | MemoryCommand::Harvest(_) => Some("memory.move"),
        MemoryCommand::CompleteStep { .. } => Some("memory.step"),
        MemoryCommand::Remove { .. } => Some("memory.archive"),
        MemoryCommand::Sweep(_) => Some("memory.sweep"),
        // Some intents of these only look.
        MemoryCommand::Coordinate(_)
        | MemoryCommand::Dispatch(_)
        | MemoryCommand::Loop(_)
        | MemoryCommand::Context(_)
        | MemoryCommand::Find(_)
        | MemoryCommand::Get(_) => None,
    }
}

fn of_trail(command: &TrailCommand) -> Option<&'static str> {
    match command {
        TrailCommand::Compact(_) => Some("trail.compact"),
        TrailCommand::Prune(_) => Some("trail.prune"),
        TrailCommand::Snapshot(_)
        | TrailCommand::Verify(_)
        | TrailCommand::Prove(_)
        | TrailCommand::Head(_)
        | TrailCommand::Show(_)
        | TrailCommand::At(_)
        | TrailCommand::Diff(_)
        | TrailCommand::Stats(_)
        | TrailCommand::Runs(_)
        | TrailCommand::Compare(_)
        | TrailCommand::Tiers
        | TrailCommand::Export
        | TrailCommand::Import => None,
    }
}

fn of_users(command: &UsersCommand) -> Option<&'static str> {
    match command {
        UsersCommand::Add(_) => Some("user.create"),
        UsersCommand::Suspend(_) => Some("user.suspend"),
        UsersCommand::Resume(_) => Some("user.resume"),
        UsersCommand::Block(_) => Some("user.block"),
        UsersCommand::Unblock(_) => Some("user.unblock"),
        UsersCommand::Deactivate(_) => Some("user.deactivate"),
        UsersCommand::Reactivate(_) => Some("user.reactivate"),
        UsersCommand::Grant(_) => Some("capability.grant"),
        UsersCommand::Revoke(_) => Some("capability.revoke"),
        UsersCommand::List | UsersCommand::Show(_) => None,
    }
}

fn of_gate(command: &GateCommand) -> Option<&'static str> {
    match command {
        GateCommand::Approve(_) | GateCommand::Reject(_) | GateCommand::Modify(_) => {
            Some("gate.resolve")
        }
        GateCommand::Ask(_) => Some("gate.ask"),
        GateCommand::List(_) | GateCommand::Show(_) => None,
    }
}

/// Orders about one task, or about the whole run.
fn of_steering(task: Option<&str>, of_task: &'static str) -> &'static str {
    if task.is_some() { of_task } else { "run.hold" }
}

fn of_right(command: &RightCommand) -> Option<&'static str> {
    match command {
        RightCommand::Grant(_) => Some("right.grant"),
        RightCommand::Revoke(_) => Some("right.revoke"),
        RightCommand::List(_) => None,
    }
}
