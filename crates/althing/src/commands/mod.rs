//! The commands, one file each or one per family.

mod agents;
mod approvals;
mod backup;
mod blobs;
mod checkpoints;
mod checks;
mod compare;
mod config;
mod conformance;
mod coordinator;
mod demo;
mod do_by_name;
mod doctor;
mod ending;
mod entry_lines;
mod frugal;
mod gate_sheet;
mod gates;
mod groups;
mod history;
mod holding;
mod hook;
mod init;
mod integration;
mod leases;
mod lines;
mod login;
mod mail;
mod man;
mod mcp;
mod memory;
mod merged_tree;
mod meter;
mod native;
mod people;
mod rebuild;
mod recover;
mod refusals;
mod rights;
mod rules;
mod run_summary;
mod stats;
mod status;
mod storage;
mod task_graph;
mod tasks;
mod topology;
mod trail;
mod views;
mod wire;
mod workshop;
mod workspace_tree;
mod workspaces;

use crate::app::App;
use crate::cli::{
    self, BlobCommand, CheckpointArgs, Command, GateCommand, MemoryCommand, PlanArgs, PlanCommand,
    TaskCommand, UsersCommand, WorkspaceCommand,
};
use crate::error::Error;

/// How a command ended that did not fail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was done.
    Done,
    /// Something was not, and everything there is to say about it was printed; this is the exit
    /// code.
    Partial(u8),
}

/// Whether a command lists things, which may take more room than a terminal has.
pub(crate) fn is_list(command: &Command) -> bool {
    match command {
        Command::Status(args) => !args.watch,
        Command::Trail(args) => trail::is_list(args),
        Command::Gate(args) => matches!(&args.command, GateCommand::List(list) if !list.watch),
        Command::Escalations(args) => args.command.is_none() && !args.watch,
        Command::Workspace(args) => matches!(
            args.command,
            WorkspaceCommand::List(_) | WorkspaceCommand::Tree(_) | WorkspaceCommand::Show(_)
        ),
        Command::Task(args) => matches!(
            args.command,
            TaskCommand::List(_) | TaskCommand::Graph(_) | TaskCommand::Show(_)
        ),
        Command::Memory(args) => {
            matches!(args.command, MemoryCommand::Find(_) | MemoryCommand::Context(_))
        }
        Command::Inbox(args) => args.take.is_none(),
        Command::Meter(args) => args.command.is_none(),
        Command::Tokens(args) => args.command.is_none() && !args.csv,
        Command::Users(args) => matches!(args.command, None | Some(UsersCommand::List)),
        Command::Agents(args) => args.command.is_none(),
        Command::Do(args) => args.list,
        Command::Blob(args) => matches!(args.command, BlobCommand::List),
        Command::Claims(_)
        | Command::View(_)
        | Command::Board(_)
        | Command::Ask(_)
        | Command::Rules(_)
        | Command::Conformance(_)
        | Command::Ps(_)
        | Command::Why(_)
        | Command::Config => true,
        Command::Init(_)
        | Command::Uninit(_)
        | Command::Hook(_)
        | Command::Supervise(_)
        | Command::Run(_)
        | Command::Logs(_)
        | Command::Attach(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Stop(_)
        | Command::Retry(_)
        | Command::Rescue(_)
        | Command::Undo(_)
        | Command::Tick(_)
        | Command::Demo(_)
        | Command::DemoAgent(_)
        | Command::Claim(_)
        | Command::Release(_)
        | Command::Renew(_)
        | Command::Check(_)
        | Command::Mcp(_)
        | Command::Coordinator(_)
        | Command::Send(_)
        | Command::Signal(_)
        | Command::Plan(_)
        | Command::Next(_)
        | Command::Done(_)
        | Command::Blocked(_)
        | Command::Checkpoint(_)
        | Command::Integrate(_)
        | Command::Group(_)
        | Command::Right(_)
        | Command::Inject(_)
        | Command::Highway(_)
        | Command::Symbol(_)
        | Command::Fact(_)
        | Command::Capsule(_)
        | Command::Brief(_)
        | Command::Haid(_)
        | Command::Validate(_)
        | Command::Shims(_)
        | Command::Remember(_)
        | Command::Login(_)
        | Command::Doctor(_)
        | Command::Recover(_)
        | Command::Rebuild(_)
        | Command::Backup(_)
        | Command::Man(_)
        | Command::Completions(_) => false,
    }
}

/// Carries a command out. Its refusal is on record.
pub(crate) fn run(app: &App, command: Command) -> Result<Outcome, Error> {
    let operation = refusals::operation(&command);
    perform(app, command).map_err(|error| match operation {
        Some(operation) if error.is_unrecorded_refusal() => operation.on_record(app, error),
        _ => error,
    })
}

fn perform(app: &App, command: Command) -> Result<Outcome, Error> {
    let done = match command {
        Command::Init(args) => init::run(app, &args),
        Command::Demo(args) => demo::run(app, &args),
        Command::DemoAgent(args) => demo::agent::run(app, &args),
        Command::Supervise(args) => {
            althing_workshop::process::supervise(&args.folder).map_err(Error::from)
        }
        Command::Status(args) => status::run(app, &args),
        Command::Claim(args) => leases::claim(app, &args),
        Command::Release(args) => holding::release(app, &args),
        Command::Renew(args) => holding::renew(app, &args),
        Command::Claims(args) => leases::claims(app, &args),
        Command::Check(args) => leases::check(app, &args),
        Command::Do(args) => do_by_name::run(app, &args),
        Command::Mcp(args) => mcp::run(app, &args),
        Command::Hook(args) => return hook::run(app, &args.command),
        Command::Uninit(args) => return wire::unwire(app, &args),
        Command::Trail(args) => trail::run(app, args),
        Command::View(args) => views::run(app, args.command),
        Command::Blob(args) => blobs::run(app, &args.command),
        Command::Coordinator(args) => coordinator::run(app, args.command),
        Command::Workspace(args) => workspaces::run(app, args.command),
        Command::Task(args) => tasks::run(app, args.command),
        Command::Send(args) => mail::send(app, &args),
        Command::Inbox(args) => mail::inbox(app, &args),
        Command::Signal(args) => mail::signal(app, args),
        Command::Plan(PlanArgs { command: Some(PlanCommand::Check(args)), .. }) => {
            workshop::check_plan(app, &args)
        }
        Command::Plan(args) => native::plan(app, &args),
        Command::Run(args) => return workshop::run(app, args),
        Command::Ps(args) => workshop::ps(app, &args),
        Command::Logs(args) => workshop::logs(app, &args),
        Command::Attach(args) => workshop::attach(app, &args),
        Command::Pause(args) => workshop::pause(app, &args),
        Command::Resume(args) => workshop::resume(app, &args),
        Command::Stop(args) => workshop::stop(app, &args),
        Command::Retry(args) => workshop::retry(app, &args),
        Command::Rescue(args) => workshop::rescue(app, args.command),
        Command::Undo(args) => workshop::undo(app, &args),
        Command::Why(args) => workshop::why(app, &args),
        Command::Tick(args) => workshop::tick(app, &args),
        Command::Next(args) => native::next(app, &args),
        Command::Done(args) => native::done(app, &args),
        Command::Blocked(args) => native::blocked(app, &args),
        Command::Checkpoint(CheckpointArgs { command: Some(command), .. }) => {
            checkpoints::run(app, command)
        }
        Command::Checkpoint(CheckpointArgs { command: None, note }) => {
            native::checkpoint(app, note)
        }
        Command::Integrate(args) => return integration::run(app, args),
        Command::Meter(args) => meter::run(app, args),
        Command::Group(args) => groups::run(app, args.command),
        Command::Right(args) => rights::run(app, args.command),
        Command::Gate(args) => return gates::run(app, args.command),
        Command::Inject(args) => approvals::inject(app, args),
        Command::Escalations(args) => approvals::escalations(app, args),
        Command::Highway(args) => approvals::highway(app, args.command),
        Command::Symbol(args) => frugal::symbol(app, &args.command),
        Command::Fact(args) => frugal::fact(app, &args.command),
        Command::Capsule(args) => frugal::capsule(app, &args.command),
        Command::Brief(args) => return frugal::brief(app, &args),
        Command::Tokens(args) => frugal::tokens::run(app, args),
        Command::Haid(args) => frugal::haid(app, &args),
        Command::Validate(args) => frugal::validate(app, &args),
        Command::Shims(args) => frugal::shims(app, &args),
        Command::Memory(args) => return memory::run(app, &args.command),
        Command::Remember(args) => memory::remember(app, &args),
        Command::Ask(args) => memory::ask(app, &args),
        Command::Board(args) => memory::board(app, &args),
        Command::Agents(args) => agents::run(app, args.command.as_ref()),
        Command::Users(args) => people::run(app, args.command),
        Command::Login(args) => login::run(app, &args),
        Command::Config => config::run(app),
        Command::Rules(args) => rules::run(app, &args),
        Command::Conformance(args) => conformance::run(app, &args),
        Command::Doctor(args) => doctor::run(app, &args),
        Command::Recover(args) => recover::run(app, &args),
        Command::Rebuild(args) => rebuild::run(app, &args),
        Command::Backup(args) => backup::run(app, &args),
        Command::Man(args) => man::run(app, &args),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut cli::command(), "althing", &mut script);
            app.out.line(String::from_utf8_lossy(&script).trim_end())
        }
    };
    done.map(|()| Outcome::Done)
}
