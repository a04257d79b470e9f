//! The command line, as the parser sees it. Help texts are part of the interface.

mod choices;
mod ending;
mod frugal;
mod highway;
mod lanes;
mod mail;
mod mcp;
mod memory;
mod people;
mod read;
mod rebuild;
mod recover;
mod resources;
mod storage;
mod trail;
mod views;
mod work;

pub(crate) use choices::REMEMBERED;
pub(crate) use ending::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
pub(crate) use frugal::{
    BriefArgs, CapsuleArgs, CapsuleCommand, FactArgs, FactCommand, HaidArgs, ShimsArgs, SymbolArgs,
    SymbolCommand, TokensArgs, TokensBy, TokensCommand, TokensLog, ValidateArgs,
};
pub(crate) use highway::{
    EscalationArgs, EscalationCommand, GateAnswer, GateArgs, GateCommand, GateList, GateModify,
    HighwayArgs, HighwayCommand, HighwaySet, InjectArgs, switch,
};
pub(crate) use lanes::{LoopAct, MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop};
pub(crate) use mail::{
    CheckpointArgs, CheckpointCommand, CheckpointCreate, CheckpointShow, Findings, Inbox,
    Integrate, IntegrateAccept, IntegrateCommand, IntegrateResolve, IntegrateSalvage, Judgement,
    RightArgs, RightCommand, RightGrant, Send, SignalArgs,
};
pub(crate) use mcp::{Mcp, McpDialect};
pub(crate) use memory::{
    Ask, BoardArgs, MemoryArgs, MemoryCommand, MemoryContext, MemoryCreate, MemoryFind,
    MemoryTransition, MemoryUpdate, MemoryWork, Remember,
};
pub(crate) use people::{Users, UsersAdd, UsersCommand, WorkspaceTransfer};
pub(crate) use rebuild::Rebuild;
pub(crate) use recover::Recover;
pub(crate) use resources::{
    By, Group, GroupCommand, Meter, MeterCommand, MeterReport, WorkspaceBudget,
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

use althing_kernel::deployment::Deployment;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Many agents, one trail: leases on files that really hold, and a record nobody can quietly
/// change.
#[derive(Debug, Parser)]
#[command(name = "althing", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Examples:
  althing init                                     set the project up
  althing claim src/parser --as alice --ttl 30m    hold a folder
  althing check src/parser/mod.rs --as bob         ask first: exit code 3 if somebody holds it
  althing claims                                   who holds what
  althing trail                                    what happened
  althing trail verify                             check that nobody changed it

Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 somebody else holds it,
4 unavailable, 5 the trail or stored content does not hold.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The project to work on, if not the one around the current folder.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Where the trail is kept: `sqlite:PATH` [env: `ALTHING_STORE`].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The agent that acts; its key is made on first use [env: `ALTHING_AGENT`].
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The person who acts, with their passphrase [env: `ALTHING_USER`].
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "agent")]
    pub(crate) user: Option<String>,
    /// The session to act in, instead of the agent's standing one [env: `ALTHING_SESSION`].
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The workspace to act in, if you have several [env: `ALTHING_WORKSPACE`]; as an option of
    /// `trail` the one to show.
    #[arg(long, global = true, value_name = "WS")]
    pub(crate) workspace: Option<String>,
    /// Print one JSON document (or JSON lines) for scripts.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Read the passphrase from standard input instead of asking for it.
    #[arg(long, global = true)]
    pub(crate) passphrase_stdin: bool,
    /// Log what fails on the way, on standard error; `-vv` each step with its time [env:
    /// `ALTHING_LOG`, `ALTHING_LOG_FORMAT`].
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set a project up here. Doing it again changes nothing.
    Init(Init),
    /// Show the whole thing in one go, on a throw-away repository.
    Demo(Demo),
    /// Show what is going on, and what keeps going wrong.
    Status(Status),
    /// Hold files, folders, globs or symbols.
    Claim(Claim),
    /// Give a lease back.
    Release(Release),
    /// Keep a lease for longer.
    Renew(Renew),
    /// List the live leases.
    Claims(Claims),
    /// Ask whether surfaces are free, without claiming them.
    Check(Check),
    /// Begin a run of work, hand it over, end it.
    Coordinator(Coordinator),
    /// Hand out workspaces, look at them, steer them.
    Workspace(WorkspaceArgs),
    /// Plan work as a graph of tasks, and follow it.
    Task(TaskArgs),
    /// Send a message to a workspace.
    Send(Send),
    /// Look into your inbox, or take what is in it.
    Inbox(Inbox),
    /// Say how your workspace stands: started, blocked, complete, failed.
    Signal(SignalArgs),
    /// Record how far the work in your workspace has come.
    Checkpoint(CheckpointArgs),
    /// Accept, revise or reject what a workspace finished.
    Integrate(Integrate),
    /// Let one workspace send to another, or no longer.
    Right(RightArgs),
    /// Show what was used, and report what was used outside.
    Meter(Meter),
    /// End or hurry a group of workspaces.
    Group(Group),
    /// See what waits for a person, and answer.
    Gate(GateArgs),
    /// Say something to a workspace, as a person.
    Inject(InjectArgs),
    /// See what agents need people for, and answer.
    Escalations(EscalationArgs),
    /// Say what people want to be asked about.
    Highway(HighwayArgs),
    /// Short names for things that are named again and again.
    Symbol(SymbolArgs),
    /// Facts that were found out once.
    Fact(FactArgs),
    /// What was done, in at most ten lines.
    Capsule(CapsuleArgs),
    /// Build what a worker is handed: the task and references, never the plan.
    Brief(BriefArgs),
    /// Count tokens, and show what was used and saved.
    Tokens(TokensArgs),
    /// Show who you are in the words of the frugal dialect.
    Haid(HaidArgs),
    /// Check a message of the frugal dialect.
    Validate(ValidateArgs),
    /// Make the `heimdall-*` names of this program.
    Shims(ShimsArgs),
    /// What the project remembers: plans, decisions, traps, claims and more.
    Memory(MemoryArgs),
    /// Remember something for everybody.
    Remember(Remember),
    /// Find what is remembered about something.
    Ask(Ask),
    /// Show who works on what.
    Board(BoardArgs),
    /// Issue any command or question by its name.
    Do(Do),
    /// Serve agents and editors that speak the Model Context Protocol, on stdin and stdout.
    Mcp(Mcp),
    /// Look at the trail, verify it, prove things with it.
    Trail(Trail),
    /// Draw a run, a workspace, the messages, or what people were asked.
    View(ViewArgs),
    /// Keep large content beside the trail, named by its hash.
    Blob(Blob),
    /// List the agents, or show up as one.
    Agents(Agents),
    /// List the people, let one in, say how they stand and what they may do.
    #[command(visible_alias = "user")]
    Users(Users),
    /// Sign up as a person, or check that your key and passphrase work.
    Login(Login),
    /// Show every setting and where it comes from.
    Config,
    /// Explain a rule that an error cited, or list all of them.
    Rules(Rules),
    /// Show what the protocol asks for, which tests show it, and where Althing differs.
    Conformance(Conformance),
    /// Check the health of the project and its state folder.
    Doctor(Doctor),
    /// Look for what killed processes left behind, and make it good.
    Recover(Recover),
    Rebuild(Rebuild),
    /// Copy the trail and its content to a new folder while work goes on, or put such a copy back.
    Backup(Backup),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// An agent of the demo.
    #[command(hide = true)]
    DemoAgent(DemoAgent),
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// What people call the project; the folder's name if left out.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Refuse if what this deployment model needs is not in place: single-runtime (the default),
    /// shared-infrastructure or zero-trust.
    #[arg(long, value_name = "MODEL")]
    pub(crate) deployment: Option<Deployment>,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Failures that are alike are shown as one: at least N within the time looked at, never more than five
minutes apart, whose reasons differ only in names and numbers. When all is well nothing is shown.
Nothing is decided here: pausing, aborting or asking a person is up to whoever coordinates.

Examples:
  althing status
  althing status --window 1d --least 3")]
pub(crate) struct Status {
    /// How far back failures count.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub(crate) window: String,
    /// How many alike it takes to be shown.
    #[arg(long, value_name = "N", default_value_t = althing_engine::failures::LEAST_DEFAULT)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) least: u64,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing demo --keep      leave the repository behind to look around in")]
pub(crate) struct Demo {
    /// Leave the repository behind.
    #[arg(long)]
    pub(crate) keep: bool,
    /// How many agents work at the same time.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=50))]
    pub(crate) agents: u8,
}

/// Arguments of an agent of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    /// How many pieces of work to finish.
    #[arg(long)]
    pub(crate) rounds: u32,
    /// Claim this and then hang: the one that gets killed.
    #[arg(long)]
    pub(crate) hang_on: Option<String>,
    /// Work on this one, however long it takes to get it.
    #[arg(long)]
    pub(crate) wait_for: Option<String>,
}

/// Arguments of `claim`.
#[derive(Debug, Args)]
#[command(after_help = "\
A surface is a path, a glob (`*` `?` `**` `{a,b}` `[a-z]`) or `path#symbol`, read from the current
folder; `:/path` is from the project root. A plain path covers the file, or everything below the
folder. All surfaces are granted together or none is.

Examples:
  althing claim src/parser Cargo.toml --as alice --ttl 30m -m 'rewrite the parser'
  althing claim 'docs/**/*.md' --as bob
  althing claim 'src/lib.rs#Config::load' --as carol
  althing claim --literal 'app/[id]/page.tsx' --as dave
  althing claim src --as erin --wait 10m           take it as soon as it is free")]
pub(crate) struct Claim {
    /// What to hold.
    #[arg(required = true, value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// For how long: 90m, 1h30m, 45s, 2d (1s to 30d).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) ttl: Option<String>,
    /// What for, for others to read.
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) purpose: Option<String>,
    /// The task it belongs to.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Take names as they are, even where they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// If somebody holds it, wait this long for it.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
}

/// Arguments of `release`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing release lease_01k9x --as alice           by id; a unique beginning will do
  althing release src/parser --as alice            by what it holds
  althing release --all --as alice
  althing release lease_01k9x --force --reason 'crashed yesterday' --user ada")]
pub(crate) struct Release {
    /// Leases by id, or by a surface they hold.
    #[arg(value_name = "LEASE", required_unless_present = "all")]
    pub(crate) leases: Vec<String>,
    /// Everything you hold.
    #[arg(long, conflicts_with_all = ["leases", "force"])]
    pub(crate) all: bool,
    /// Take names as they are, even where they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// End somebody else's lease (people only).
    #[arg(long, requires = "reason")]
    pub(crate) force: bool,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", requires = "force")]
    pub(crate) reason: Option<String>,
    /// Only if the lease was granted under this epoch.
    #[arg(long, value_name = "N", conflicts_with = "force")]
    pub(crate) epoch: Option<u64>,
}

/// Arguments of `renew`.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Leases by id, or by a surface they hold.
    #[arg(value_name = "LEASE", required_unless_present = "all")]
    pub(crate) leases: Vec<String>,
    /// Everything you hold.
    #[arg(long, conflicts_with = "leases")]
    pub(crate) all: bool,
    /// Take names as they are, even where they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
    /// For how long from now; as before if left out.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) ttl: Option<String>,
    /// Only if the lease was granted under this epoch.
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,
}

/// Arguments of `claims`.
#[derive(Debug, Args)]
pub(crate) struct Claims {
    /// Only leases that overlap one of these surfaces.
    #[arg(value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// Only your own.
    #[arg(long, conflicts_with = "holder")]
    pub(crate) mine: bool,
    /// Only those of an agent, or of `user:ID`.
    #[arg(long, value_name = "WHO")]
    pub(crate) holder: Option<String>,
    /// Take names as they are, even where they look like globs.
    #[arg(long)]
    pub(crate) literal: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0: free for you. Exit code 3: somebody else holds something that overlaps.
With --epoch also exit code 1 if you do not hold it under that epoch.

Examples:
  althing check src/main.rs --as alice
  althing check src/main.rs --as alice --epoch 42     am I still the holder I was?")]
pub(crate) struct Check {
    /// What to ask about.
    #[arg(required = true, value_name = "SURFACE")]
    pub(crate) surfaces: Vec<String>,
    /// Whether you hold it under this epoch.
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,
    /// Take names as they are, even where they look like globs.
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
    /// The name of the command or question.
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

/// Arguments of `blob`.
#[derive(Debug, Args)]
#[command(after_help = "\
Content is kept in the state folder under the SHA-256 of its bytes: the same content is kept once,
and whoever reads it gets just what was stored, or an error. It is never changed or deleted.

Examples:
  althing blob put report.pdf          prints its name, sha256:…
  git diff | althing blob put          from standard input
  althing blob get sha256:… -o report.pdf
  althing blob list")]
pub(crate) struct Blob {
    #[command(subcommand)]
    pub(crate) command: BlobCommand,
}

/// What to do with content.
#[derive(Debug, Subcommand)]
pub(crate) enum BlobCommand {
    /// Store content and print its name.
    Put(BlobPut),
    /// Write stored content to standard output or a file.
    Get(BlobGet),
    /// List all stored content.
    List,
}

/// Arguments of `blob put`.
#[derive(Debug, Args)]
#[command(after_help = "\
Content of up to 256 MiB. Once the name is printed, the content survives a power cut.

Examples:
  althing blob put report.pdf
  git diff | althing blob put -")]
pub(crate) struct BlobPut {
    /// The file to store; `-` or nothing reads standard input.
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `blob get`.
#[derive(Debug, Args)]
#[command(after_help = "\
The content is compared with its name before the first byte is written. Exit code 1: it is not
here. Exit code 5: it is damaged; the file stays as it is, and storing the same content again mends
it. With --json only errors, and what was written to a file, are told as JSON.

Examples:
  althing blob get sha256:… > report.pdf
  althing blob get sha256:… -o report.pdf")]
pub(crate) struct BlobGet {
    /// Its name, as `blob put` printed it.
    pub(crate) name: String,
    /// The file to write it to, in place of what is there.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `agents`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing agents
  althing agents register --as alice       once, so that others can give alice work")]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
}

/// What to do about agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Show up once as the agent that `--as` names, so that others can give it work.
    Register,
}

/// Arguments of `login`.
#[derive(Debug, Args)]
#[command(after_help = "\
The first person to sign up in a project is let in at once and may do everything; later ones are
let in by somebody who manages people (`althing users add`). Nothing stays unlocked: a command that
acts as you asks again.

Example:
  althing login ada")]
pub(crate) struct Login {
    /// Your user id.
    pub(crate) name: String,
}

/// Arguments of `rules`.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// A rule's id, such as A-LEASE-01.
    pub(crate) id: Option<String>,
}

/// Arguments of `conformance`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each requirement of WACP stands with the tests that show it, or with the reason why there is none.
In the project's own folder `cargo xtask conformance` adds how each test came out.

Examples:
  althing conformance                              everything, level by level at the end
  althing conformance --level 1 --summary          how many are shown, and every deviation")]
pub(crate) struct Conformance {
    /// Only requirements up to this level of the protocol: 1, 2 or 3.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) level: u8,
    /// Only the numbers and the deviations.
    #[arg(long)]
    pub(crate) summary: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Let this runtime take over a trail whose key is lost, on the record.
    #[arg(long, requires = "reason")]
    pub(crate) rekey: bool,
    /// Why it takes over.
    #[arg(long, value_name = "TEXT", requires = "rekey")]
    pub(crate) reason: Option<String>,
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
A backup is a folder: the trail (`trail.db`), its newest head (`head`), all content that is kept
beside it (`blobs`), and with --keys the keys. All of it is verified on the way, there and back.
Content that is damaged or missing is named and does not hold up the rest. Restoring never takes
content away.

Examples:
  althing backup /mnt/usb/althing-monday
  althing backup /mnt/usb/althing-monday --keys       with the keys: keep it to yourself
  althing backup --restore /mnt/usb/althing-monday    what is there now is set aside, not deleted")]
pub(crate) struct Backup {
    /// The folder to create, or with --restore to read.
    pub(crate) folder: PathBuf,
    /// Copy the keys as well.
    #[arg(long, conflicts_with = "restore")]
    pub(crate) keys: bool,
    /// Put a backup in place.
    #[arg(long)]
    pub(crate) restore: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing completions bash > ~/.local/share/bash-completion/completions/althing")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
