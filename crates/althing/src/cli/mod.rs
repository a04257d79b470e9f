//! The command line, as the parser sees it. Help texts are part of the interface.

mod approvals;
mod blobs;
mod choices;
mod demo;
mod ending;
mod frugal;
mod hooks;
mod lanes;
mod look_up;
mod mail;
mod man;
mod mcp;
mod memory;
mod native;
mod people;
mod read;
mod rebuild;
mod recover;
mod resources;
mod run;
mod sections;
mod storage;
mod trail;
mod views;
mod work;

pub(crate) use approvals::{
    EscalationArgs, EscalationCommand, GateAnswer, GateArgs, GateCommand, GateList, GateModify,
    HighwayArgs, HighwayCommand, HighwaySet, InjectArgs, switch,
};
pub(crate) use blobs::{Blob, BlobCommand, BlobGet};
pub(crate) use choices::REMEMBERED;
pub(crate) use demo::{Demo, DemoAgent, DemoTask};
pub(crate) use ending::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
pub(crate) use frugal::{
    BriefArgs, CapsuleArgs, CapsuleCommand, FactArgs, FactCommand, HaidArgs, ShimsArgs, SymbolArgs,
    SymbolCommand, TokensArgs, TokensBy, TokensCommand, TokensLog, ValidateArgs,
};
pub(crate) use hooks::{ALL, Hook, HookCommand, HookEdit, Init, Uninit};
pub(crate) use lanes::{
    Aim, DispatchIntent, LoopAct, MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop,
};
pub(crate) use look_up::{Conformance, Rules};
pub(crate) use mail::{
    CheckpointArgs, CheckpointCommand, CheckpointCreate, CheckpointNote, CheckpointShow, Findings,
    Inbox, Integrate, IntegrateAccept, IntegrateCommand, IntegrateResolve, IntegrateSalvage,
    Judgement, RightArgs, RightCommand, RightGrant, Send, SignalArgs,
};
pub(crate) use man::Man;
pub(crate) use mcp::{Mcp, McpDialect};
pub(crate) use memory::{
    Ask, BoardArgs, MemoryArgs, MemoryCommand, MemoryContext, MemoryCreate, MemoryFind, MemoryGet,
    MemoryIntent, MemorySight, MemoryTransition, MemoryUpdate, MemoryWork, Remember,
};
pub(crate) use native::{BlockedArgs, DoneArgs, NextArgs, PlanArgs, PlanCommand};
pub(crate) use people::{Users, UsersAdd, UsersCommand, WorkspaceTransfer};
pub(crate) use read::bare;
pub(crate) use rebuild::Rebuild;
pub(crate) use recover::Recover;
pub(crate) use resources::{
    By, Group, GroupCommand, Meter, MeterCommand, MeterReport, WorkspaceBudget,
};
pub(crate) use run::{
    Attach, Logs, Pause, PlanCheck, Ps, RescueArgs, RescueCommand, RescueName, RescueRestore,
    RescueShow, Resume, Retry, Run, Stop, Tick, Undo, Why,
};
pub(crate) use storage::{TrailCompact, TrailPrune, TrailSnapshot};
pub(crate) use trail::{
    Trail, TrailAt, TrailCommand, TrailCompare, TrailDiff, TrailFilter, TrailProve, TrailRuns,
    TrailStats, TrailVerify, TrailWhich,
};
pub(crate) use views::{ViewArgs, ViewCommand, ViewFlow, ViewRun, ViewWorkspace};
pub(crate) use work::{
    Coordinator, CoordinatorCommand, CoordinatorStart, Order, TaskAdd, TaskApprove, TaskArgs,
    TaskAssign, TaskCommand, TaskGraph, TaskList, WorkspaceArgs, WorkspaceCommand, WorkspaceCreate,
    WorkspaceList, WorkspaceMigrate, WorkspaceSees, WorkspaceTree, WorkspaceWrite,
};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Many agents, one trail: claims on files that hold, and a history nobody can quietly change.
#[derive(Debug, Parser)]
#[command(name = "althing", version, max_term_width = 100)]
#[command(after_help = "\
Examples:
  althing plan 'Write the parser @src/parser.rs'   a task, with the files it is about
  althing next --as alice                          take a task, with its files claimed
  althing done --as alice                          hand it in
  althing claim src/parser --as alice --ttl 30m    claim a folder for 30 minutes
  althing check src/parser/mod.rs --as bob         exit code 3: somebody has it
  althing send agent:bob 'The parser is ready.'    into bob's inbox
  althing claims                                   who holds what
  althing trail                                    what happened
  althing trail verify                             check the whole history

Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 somebody else holds it,
4 unavailable, 5 the trail or stored content is damaged.

`althing help COMMAND` explains one command. Guides: docs/README.md.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The whole command line, with the commands under headings in its help.
pub(crate) fn command() -> clap::Command {
    let all = with_flowing_text(Cli::command());
    let template = sections::template(&all);
    all.help_template(template)
}

/// Joins the lines of each paragraph below the options, so that they are broken where the terminal
/// ends and not where the source does. Examples stay as they are.
fn with_flowing_text(command: clap::Command) -> clap::Command {
    let text = command.get_after_help().map(|text| flowing(&text.to_string()));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    let names: Vec<String> =
        command.get_subcommands().map(|own| own.get_name().to_owned()).collect();
    names.into_iter().fold(command, |all, name| all.mut_subcommand(name, with_flowing_text))
}

fn flowing(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if is_prose(last) && !last.ends_with(':') && is_prose(line) => {
                last.push(' ');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Reads the command line. The second value is the command that was typed, such as `task show`.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<(Cli, String), clap::Error> {
    let mut all = command();
    let matches = all.try_get_matches_from_mut(arguments)?;
    let (mut names, mut inner) = (Vec::new(), &matches);
    while let Some((name, next)) = inner.subcommand() {
        names.push(name);
        inner = next;
    }
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut all))?;
    Ok((cli, names.join(" ")))
}

/// The command line with the hooks alone. An agent waits for each call of one, and building the whole
/// command line takes longer than the answer.
#[derive(Debug, Parser)]
#[command(name = "althing", version, max_term_width = 100)]
struct HookCli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: HookOnly,
}

#[derive(Debug, Subcommand)]
enum HookOnly {
    /// Answer the hooks of agents and git: refuse edits of what others hold.
    Hook(Hook),
}

/// Whether a command line calls a hook: then its errors must not look like a refusal.
pub(crate) fn is_hook(arguments: &[OsString]) -> bool {
    let asks_for_help = arguments.iter().any(|own| own == "--help" || own == "-h");
    arguments.get(1).is_some_and(|first| first == "hook") && !asks_for_help
}

/// Reads the command line of a hook.
pub(crate) fn parse_hook(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let HookCli { globals, command: HookOnly::Hook(args) } = HookCli::try_parse_from(arguments)?;
    Ok(Cli { globals, command: Command::Hook(args) })
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The project, if not the one around the current folder.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Where the trail is kept: `sqlite:PATH` [env: `ALTHING_STORE`].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Act as this agent; its key is created on first use [env: `ALTHING_AGENT`].
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Act as this person, with their passphrase [env: `ALTHING_USER`].
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "agent")]
    pub(crate) user: Option<String>,
    /// Act in this session instead of the agent's default one [env: `ALTHING_SESSION`].
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Act in this workspace, if you have several [env: `ALTHING_WORKSPACE`]; with `trail`, show
    /// only this workspace.
    #[arg(long, global = true, value_name = "WS")]
    pub(crate) workspace: Option<String>,
    /// Print one JSON document (or JSON lines) for scripts.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Never show long lists in a pager [env: `ALTHING_PAGER`, `PAGER`].
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Read the passphrase from standard input instead of asking for it.
    #[arg(long, global = true)]
    pub(crate) passphrase_stdin: bool,
    /// Log what fails on the way, on standard error; `-vv` each step with its time [env:
    /// `ALTHING_LOG`, `ALTHING_LOG_FORMAT`].
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up a project in this folder, and wire agents to it.
    Init(Init),
    /// Watch agents build a small program in a throw-away repository.
    Demo(Demo),
    /// Show what is going on and what keeps failing.
    Status(Status),
    /// Plan tasks.
    Plan(PlanArgs),
    /// Take the next task, with its files claimed, and show what it is about.
    Next(NextArgs),
    /// Hand in your task.
    Done(DoneArgs),
    /// Say that your task cannot go on, and why.
    Blocked(BlockedArgs),
    /// Claim files, folders, globs or symbols, so that nobody else gets them.
    Claim(Claim),
    /// Release claims.
    Release(Release),
    /// Extend claims.
    Renew(Renew),
    /// List who holds what.
    Claims(Claims),
    /// Check whether something is free, without claiming it.
    Check(Check),
    /// Start, hand over or stop a run of work.
    Coordinator(Coordinator),
    /// Create, inspect and steer the workspaces of a run.
    Workspace(WorkspaceArgs),
    /// Approve the tasks of a run, assign them to agents and follow them.
    Task(TaskArgs),
    /// Send a message to an agent, a person or a workspace.
    Send(Send),
    /// Read your inbox, or take messages out of it.
    Inbox(Inbox),
    /// Report the state of your workspace: started, blocked, complete, failed.
    Signal(SignalArgs),
    /// Record how far your task is.
    Checkpoint(CheckpointArgs),
    /// Accept, revise or reject finished work.
    Integrate(Integrate),
    /// Let one workspace send messages to another.
    Right(RightArgs),
    /// Show what the work used, and report tokens and cost.
    Meter(Meter),
    /// Stop or reprioritize a group of workspaces.
    Group(Group),
    /// List what waits for a person, and approve or reject it.
    Gate(GateArgs),
    /// Send a message to a workspace, as a person.
    Inject(InjectArgs),
    /// List the questions agents have for people, and answer them.
    Escalations(EscalationArgs),
    /// Set what people are asked about.
    Highway(HighwayArgs),
    /// Define short names for long things.
    Symbol(SymbolArgs),
    /// Keep facts that everybody can look up.
    Fact(FactArgs),
    /// Summarize finished work in at most ten lines.
    Capsule(CapsuleArgs),
    /// Build the brief for a worker: the task and references, not the plan.
    Brief(BriefArgs),
    /// Count tokens, and show what was used and saved.
    Tokens(TokensArgs),
    /// Print your name in the frugal protocol.
    Haid(HaidArgs),
    /// Check a message of the frugal protocol.
    Validate(ValidateArgs),
    /// Create the `heimdall-*` commands in a folder.
    Shims(ShimsArgs),
    /// Use the shared memory: plans, decisions, traps, handoffs and more.
    Memory(MemoryArgs),
    /// Remember something for everybody.
    Remember(Remember),
    /// Search the shared memory.
    Ask(Ask),
    /// Show who works on what.
    Board(BoardArgs),
    /// Run a plan: agents work in worktrees, and what passes its checks is merged.
    Run(Run),
    /// List the agents that work, with their processes.
    Ps(Ps),
    /// Show what an agent says.
    Logs(Logs),
    /// Watch an agent, and write to it.
    Attach(Attach),
    /// Stop an agent for now, or the whole run.
    Pause(Pause),
    /// Let a paused agent or run go on.
    Resume(Resume),
    /// Stop the run once the tasks in work are merged, or now.
    Stop(Stop),
    /// Try a failed task again.
    Retry(Retry),
    /// Get work back that would have been lost with its worktree.
    Rescue(RescueArgs),
    /// Take the merges of a run back.
    Undo(Undo),
    /// Explain a line: which task, agent, approval and cost are behind it.
    Why(Why),
    /// Let deadlines take effect now, or whenever they pass.
    Tick(Tick),
    /// Run any command or query by its name, with JSON arguments.
    Do(Do),
    /// Serve agents and editors over the Model Context Protocol.
    Mcp(Mcp),
    /// Answer the hooks of agents and git: refuse edits of what others hold.
    Hook(Hook),
    /// Take out what `init --agent` wrote.
    Uninit(Uninit),
    /// Show the history, verify it, and prove things with it.
    Trail(Trail),
    /// Draw a run, a workspace, its messages or its approvals.
    View(ViewArgs),
    /// Store large content beside the trail, named by its hash.
    Blob(Blob),
    /// List the agents, or register one.
    Agents(Agents),
    /// Manage people: who they are and what they may do.
    #[command(visible_alias = "user")]
    Users(Users),
    /// Sign up as a person, or check your key and passphrase.
    Login(Login),
    /// Show every setting and where it comes from.
    Config,
    /// Explain a rule that an error cites, or list all rules.
    Rules(Rules),
    /// Show which protocol requirements are met, and the tests that show it.
    Conformance(Conformance),
    /// Check the health of the project and its state folder.
    Doctor(Doctor),
    /// Clean up after killed processes and repair what can be repaired.
    Recover(Recover),
    /// Rewrite the files under `.planning/` from the trail.
    Rebuild(Rebuild),
    /// Back up the trail and its content, or restore a backup.
    Backup(Backup),
    /// Print a completion script for your shell.
    Completions(Completions),
    /// Write the manual pages to a folder.
    Man(Man),
    /// An agent of the demo.
    #[command(hide = true)]
    DemoAgent(DemoAgent),
    /// Watch over an agent process. Althing starts this by itself.
    #[command(hide = true)]
    Supervise(Supervise),
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Similar failures are shown as one: at least N of them within the window, never more than five
minutes apart, with reasons that differ only in names and numbers. Status only reports; pausing,
aborting or asking a person is up to the coordinator.

Examples:
  althing status
  althing status --window 1d --least 3
  althing status --watch                   live, until ctrl-C")]
pub(crate) struct Status {
    /// How far back to look for failures.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub(crate) window: String,
    /// How many similar failures it takes to be shown.
    #[arg(long, value_name = "N", default_value_t = althing_engine::reports::failures::LEAST_DEFAULT)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) least: u64,
    /// Stay and show every change as it comes; ctrl-C ends it.
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Arguments of the process that watches over an agent.
#[derive(Debug, Args)]
pub(crate) struct Supervise {
    /// The folder of the attempt, with `start.json` in it.
    pub(crate) folder: PathBuf,
}

/// Arguments of `claim`.
#[derive(Debug, Args)]
#[command(after_help = "\
A surface is a path, a glob (`*` `?` `**` `{a,b}` `[a-z]`) or `path#symbol`, relative to the current
folder; `:/path` is relative to the project root. A plain path covers the file, or everything below
the folder. You get all surfaces or none.

Examples:
  althing claim src/parser Cargo.toml --as alice --ttl 30m -m 'rewrite the parser'
  althing claim 'docs/**/*.md' --as bob
  althing claim 'src/lib.rs#Config::load' --as carol
  althing claim --literal 'app/[id]/page.tsx' --as dave
  althing claim src --as erin --wait 10m           as soon as it is free")]
pub(crate) struct Claim {
    /// Files, folders, globs or symbols to claim.
    #[arg(required = true, value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// How long the claim lasts: 90m, 1h30m, 45s, 2d (1s to 30d).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) ttl: Option<String>,
    /// Why you need it; others see this.
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) purpose: Option<String>,
    /// The task this claim belongs to.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Treat names as plain paths, even if they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// If somebody else holds it, wait this long for it.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
}

/// Arguments of `release`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing release 2t739p --as alice                by id, or a unique part of it
  althing release src/parser --as alice            by what was claimed
  althing release --all --as alice
  althing release 2t739p --force --reason 'crashed yesterday' --user ada")]
pub(crate) struct Release {
    /// Claims, by lease id or by a surface just as it was claimed.
    #[arg(value_name = "LEASE", required_unless_present = "all")]
    pub(crate) leases: Vec<String>,
    /// All your claims.
    #[arg(long, conflicts_with_all = ["leases", "force"])]
    pub(crate) all: bool,
    /// Treat names as plain paths, even if they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// End somebody else's claim (people only).
    #[arg(long, requires = "reason")]
    pub(crate) force: bool,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", requires = "force")]
    pub(crate) reason: Option<String>,
    /// Only if the claim was granted under this epoch.
    #[arg(long, value_name = "N", conflicts_with = "force")]
    pub(crate) epoch: Option<u64>,
}

/// Arguments of `renew`.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Claims, by lease id or by a surface just as it was claimed.
    #[arg(value_name = "LEASE", required_unless_present = "all")]
    pub(crate) leases: Vec<String>,
    /// All your claims.
    #[arg(long, conflicts_with = "leases")]
    pub(crate) all: bool,
    /// Treat names as plain paths, even if they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// How long from now [default: as long as before].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) ttl: Option<String>,
    /// Only if the claim was granted under this epoch.
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,
}

/// Arguments of `claims`.
#[derive(Debug, Args)]
pub(crate) struct Claims {
    /// Only claims that overlap one of these surfaces.
    #[arg(value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// Only yours.
    #[arg(long, conflicts_with = "holder")]
    pub(crate) mine: bool,
    /// Only those of this agent, or of `user:ID`.
    #[arg(long, value_name = "WHO")]
    pub(crate) holder: Option<String>,
    /// Treat names as plain paths, even if they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0: it is free for you. Exit code 3: somebody else holds something that overlaps.
Exit code 1, with --epoch: you do not hold it under that epoch.

Examples:
  althing check src/main.rs --as alice
  althing check src/main.rs --as alice --epoch 42     do I still hold it?")]
pub(crate) struct Check {
    /// Files, folders, globs or symbols to check.
    #[arg(required = true, value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// Also check that you hold it under this epoch.
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,
    /// Treat names as plain paths, even if they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
}

/// Arguments of `do`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing do --list
  althing do --schema lease.open
  althing do lease.open '{\"surfaces\":[\"src\"],\"ttl_s\":600}' --as alice
  echo '{\"surfaces\":[\"src\"]}' | althing do lease.check -
  printf '%s\\n' '{\"name\":\"lease.list\"}' | althing do --lines")]
pub(crate) struct Do {
    /// The name of the command or query.
    #[arg(required_unless_present_any = ["list", "schema", "lines"])]
    pub(crate) name: Option<String>,
    /// Its arguments as JSON; `-` reads them from standard input.
    #[arg(value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// List all names.
    #[arg(long, conflicts_with_all = ["name", "schema", "lines"])]
    pub(crate) list: bool,
    /// Print the JSON Schema of a name's arguments.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "lines"])]
    pub(crate) schema: Option<String>,
    /// Read `{"name":…,"args":{…}}` lines from standard input; answer each with a line, in order.
    #[arg(long, conflicts_with = "name")]
    pub(crate) lines: bool,
}

/// Arguments of `agents`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing agents
  althing agents register --as alice       so that others can assign work")]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
}

/// Subcommands of `agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Register the agent that `--as` names, so that others can assign work to it.
    Register,
}

/// Arguments of `login`.
#[derive(Debug, Args)]
#[command(after_help = "\
The first person to sign up gets every capability. Later ones are added by a person who manages
people (`althing users add`). Nothing stays unlocked: every command that acts as you asks for your
passphrase.

Example:
  althing login ada")]
pub(crate) struct Login {
    /// Your user id.
    pub(crate) name: String,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Take over a trail whose key is lost; this is recorded.
    #[arg(long, requires = "reason")]
    pub(crate) rekey: bool,
    /// The reason for taking over.
    #[arg(long, value_name = "TEXT", requires = "rekey")]
    pub(crate) reason: Option<String>,
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
A backup is a folder: the trail (`trail.db`), its newest head (`head`), archives, all stored content
(`blobs`), and with --keys the keys. Everything is verified when it is copied, and again when it is
restored. Damaged or missing content is listed and skipped. Work can go on during a backup.
Restoring never deletes content.

Examples:
  althing backup /mnt/usb/althing-monday
  althing backup /mnt/usb/althing-monday --keys       keep it private
  althing backup --restore /mnt/usb/althing-monday")]
pub(crate) struct Backup {
    /// The folder to create, or with --restore to read.
    pub(crate) folder: PathBuf,
    /// Include the keys.
    #[arg(long, conflicts_with = "restore")]
    pub(crate) keys: bool,
    /// Restore a backup.
    #[arg(long)]
    pub(crate) restore: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mkdir -p ~/.local/share/bash-completion/completions
  althing completions bash > ~/.local/share/bash-completion/completions/althing")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    /// An example that is broken over two lines cannot be copied. Paragraphs are made to be broken.
    #[test]
    fn examples_in_help_texts_are_not_wrapped() {
        let mut waiting = vec![super::command()];
        while let Some(command) = waiting.pop() {
            waiting.extend(command.get_subcommands().cloned());
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
        }
    }
}
