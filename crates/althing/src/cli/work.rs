//! The arguments of `althing coordinator`, `workspace` and `task`.

use althing_kernel::approvals::{Preset, Wish};
use althing_kernel::deployment::Deployment;
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_kernel::workspace::{self, Party, Timeout};
use althing_kernel::{AgentName, UserId, task};
use clap::{Args, Subcommand};
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::ending::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
use super::read::{agent, party, text, timeout, user, word};
use super::resources::{Allowance, Room, WorkspaceBudget, WorkspacePriority};

/// How workspaces, tasks and the like are named on the command line.
const NAMING: &str = "\
Name a workspace, task, graph, checkpoint or right by its id, or by four or more characters that
only this id begins or ends with. `root` is the coordinator's workspace, `agent:NAME` the one that
agent works in or worked in last. A task also goes by its name.";

/// Arguments of `coordinator`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is a tree of workspaces with the coordinator's at its root. There is one run at a time. If
people have signed up, one of them starts it; otherwise the first agent that asks coordinates.

Examples:
  althing coordinator start --as alice               alice coordinates
  althing coordinator start --agent alice --user ada
  althing coordinator show
  althing coordinator stop --as alice")]
pub(crate) struct Coordinator {
    #[command(subcommand)]
    pub(crate) command: CoordinatorCommand,
}

/// Subcommands of `coordinator`.
#[derive(Debug, Subcommand)]
pub(crate) enum CoordinatorCommand {
    /// Start a run.
    Start(Box<CoordinatorStart>),
    /// Show the current run.
    #[command(after_help = "\
Example:
  althing coordinator show")]
    Show,
    /// Make another agent the coordinator.
    HandOver(CoordinatorHandOver),
    /// Stop the run.
    Stop(CoordinatorStop),
}

/// Arguments of `coordinator start`.
#[derive(Debug, Args)]
#[command(after_help = "\
A taxonomy adds roles and message types for this run; `althing do --schema run.start` shows its
form. If people have signed up, plans wait 15 minutes for approval and are rejected if nobody answers.
A person can choose otherwise with --highway, or later with `althing highway set`; agents cannot.
Without people nothing waits; once somebody signs up, plans do.

Examples:
  althing coordinator start --as alice
  althing coordinator start --user ada                      people coordinate
  althing coordinator start --agent alice --taxonomy reviews.toml --user ada
  althing coordinator start --as alice --max-workspaces 50 --min-disk 1GiB")]
pub(crate) struct CoordinatorStart {
    /// The agent that coordinates [default: the caller, if it is an agent].
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) leader: Option<AgentName>,
    /// The deployment model: single-runtime (the default), shared-infrastructure or zero-trust.
    /// Refused unless everything it needs is in place.
    #[arg(long, value_name = "MODEL")]
    pub(crate) deployment: Option<Deployment>,
    /// The owner of the run [default: the person who starts it].
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// Additional roles and message types, from a .json or .toml file.
    #[arg(long, value_name = "FILE")]
    pub(crate) taxonomy: Option<PathBuf>,
    /// The decisions that people are asked about: autonomous, supervised, gated, or off. All but
    /// gated need a person who chooses it (--user).
    #[arg(long, value_name = "PRESET", value_parser = highway)]
    pub(crate) highway: Option<Wish>,
    #[command(flatten)]
    pub(crate) room: Room,
}

/// A preset, or no gate at all.
pub(super) fn highway(given: &str) -> Result<Wish, String> {
    if given == "off" {
        return Ok(Wish { gates: Some(BTreeSet::new()), ..Wish::default() });
    }
    if let Ok(preset) = word::<Preset>(given) {
        return Ok(Wish { preset: Some(preset), ..Wish::default() });
    }
    let known: Vec<&str> = Preset::ALL.iter().map(|preset| preset.as_str()).collect();
    Err(format!("{given:?} is none of {}, off", known.join(", ")))
}

/// Arguments of `coordinator hand-over`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing coordinator hand-over bob --as alice
  althing coordinator hand-over --user ada           people coordinate")]
pub(crate) struct CoordinatorHandOver {
    /// The new coordinator [default: no agent; people coordinate].
    #[arg(value_name = "NAME", value_parser = agent)]
    pub(crate) leader: Option<AgentName>,
}

/// Arguments of `coordinator stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing coordinator stop --as alice                once all others ended
  althing coordinator stop --force --reason 'wrong plan' --user ada")]
pub(crate) struct CoordinatorStop {
    /// Fail all open workspaces.
    #[arg(long)]
    pub(crate) force: bool,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace`.
#[derive(Debug, Args)]
#[command(after_help = NAMING)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    pub(crate) command: WorkspaceCommand,
}

/// Subcommands of `workspace`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Create a workspace for an agent (coordinator, or a delegate below itself).
    Create(Box<WorkspaceCreate>),
    /// List the workspaces.
    List(WorkspaceList),
    /// Show one workspace with its checkpoints, files and rights.
    #[command(after_help = "\
Examples:
  althing workspace show agent:bob
  althing workspace show jfr587          the end of its id")]
    Show(OneWorkspace),
    /// Draw the tree of workspaces.
    Tree(WorkspaceTree),
    /// List the path from the root to a workspace.
    #[command(after_help = "\
Example:
  althing workspace path agent:erin")]
    Path(OneWorkspace),
    /// List what a workspace may read, or who may read it.
    Sees(WorkspaceSees),
    /// Abort a workspace and everything below it (coordinator).
    #[command(after_help = "\
Example:
  althing workspace abort agent:bob --reason 'wrong track' --as alice")]
    Abort(Order),
    /// Suspend a workspace; its mail waits and its clock stops (coordinator).
    #[command(after_help = "\
Example:
  althing workspace suspend agent:bob --reason 'wait for review' --as alice")]
    Suspend(Order),
    /// Resume a suspended workspace (coordinator).
    #[command(after_help = "\
Example:
  althing workspace resume agent:bob --as alice")]
    Resume(OneWorkspace),
    /// Move a workspace to another agent (coordinator, or a delegate below itself).
    Migrate(WorkspaceMigrate),
    /// Ask a workspace to finish within a time (coordinator, or a delegate below itself).
    Terminate(WorkspaceTerminate),
    /// Let a workspace read another one (coordinator, or a delegate below itself).
    Grant(WorkspaceGrant),
    /// Give a workspace without a parent a new one (coordinator).
    Reparent(WorkspaceReparent),
    /// Change the owner of a workspace (coordinator, or its owner).
    Transfer(super::people::WorkspaceTransfer),
    /// Show or raise the budget of a workspace (coordinator, or a delegate below itself).
    Budget(WorkspaceBudget),
    /// Change the priority of a workspace (coordinator).
    Priority(WorkspacePriority),
    /// Write a file into the working memory of your workspace, or remove it.
    Write(WorkspaceWrite),
    /// List the files of a workspace: working memory and merged files.
    #[command(after_help = "\
Example:
  althing workspace files root            what was merged so far")]
    Files(OneWorkspace),
}

/// A command about one workspace.
#[derive(Debug, Args)]
pub(crate) struct OneWorkspace {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
}

/// An order to one workspace.
#[derive(Debug, Args)]
pub(crate) struct Order {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Options shared by `workspace create` and `task assign`.
#[derive(Debug, Args)]
pub(crate) struct Binding {
    /// The agent that works in it; registered if it is unknown.
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) worker: AgentName,
    /// Its role: worker, observer, or one the taxonomy adds.
    #[arg(long, value_name = "ROLE", default_value = "worker")]
    pub(crate) role: RoleName,
    /// Files it may change, written as for `claim`; repeat for more [default: as its parent].
    #[arg(long, value_name = "SURFACE")]
    pub(crate) authority: Vec<String>,
    /// A workspace it may read; repeat for more.
    #[arg(long, value_name = "WS")]
    pub(crate) visibility: Vec<String>,
    /// The workspace above it [default: the root, or the delegate's own].
    #[arg(long, value_name = "WS")]
    pub(crate) parent: Option<String>,
    /// Its owner [default: the owner of its parent].
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// How long it may work: 90m, 2d [default: 1d].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Timeout>,
    #[command(flatten)]
    pub(crate) allowance: Allowance,
}

/// Arguments of `workspace create`.
#[derive(Debug, Args)]
#[command(after_help = "\
TEXT is the text itself, `-` reads standard input, `@FILE` reads a file.

Examples:
  althing workspace create --agent bob --directive 'Write the parser.' --authority src --as alice
  althing workspace create --agent bob --task parser --timeout 90m --as alice
  althing workspace create --agent bob --task parser --budget tokens=200k,cost=2.50 --as alice
  althing workspace create --agent eve --role observer --global-trail \\
      --directive 'Watch the run.' --user ada")]
pub(crate) struct WorkspaceCreate {
    #[command(flatten)]
    pub(crate) binding: Binding,
    /// The instructions; a task brings its own description.
    #[arg(long, value_name = "TEXT", required_unless_present = "task")]
    pub(crate) directive: Option<String>,
    /// The task it works on.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Its priority: critical, interactive, normal, background.
    #[arg(long, value_name = "P", value_parser = word::<workspace::Priority>)]
    pub(crate) priority: Option<workspace::Priority>,
    /// How long its agent may take to accept the work [default: 1d].
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) idle_timeout: Option<Timeout>,
    /// Let it create workspaces below itself.
    #[arg(long)]
    pub(crate) delegate: bool,
    /// Let an observer read the whole trail.
    #[arg(long)]
    pub(crate) global_trail: bool,
    /// The message of a person that caused it; the work is then on that person's account.
    #[arg(long, value_name = "ENV")]
    pub(crate) caused_by: Option<String>,
    /// A tool it has; repeat for more.
    #[arg(long = "mount", value_name = "TOOL", value_parser = text::<200>)]
    pub(crate) mounts: Vec<Text<200>>,
    /// More context to read.
    #[arg(long, value_name = "TEXT")]
    pub(crate) context: Option<String>,
}

/// Arguments of `workspace list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing workspace list --live
  althing workspace list --status blocked
  althing workspace list --orphans        whose parent ended
  althing workspace list --agent bob
  althing workspace list --originator ada         everything ada caused
  althing workspace list --owner ada --live       everything ada owns
  althing workspace list --below agent:dora --leaves
  althing workspace list --beside agent:bob")]
pub(crate) struct WorkspaceList {
    /// Only open ones.
    #[arg(long)]
    pub(crate) live: bool,
    /// Only those whose parent ended and that have no new one.
    #[arg(long)]
    pub(crate) orphans: bool,
    /// Only those in this state: idle, active, blocked, migrating, suspended, integrating,
    /// conflicted, closed, failed.
    #[arg(long, value_name = "STATE", value_parser = word::<workspace::Status>)]
    pub(crate) status: Option<workspace::Status>,
    /// Only those of this agent.
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) worker: Option<AgentName>,
    /// Only those of this role.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<RoleName>,
    /// Only those this user caused, or `system`.
    #[arg(long, value_name = "USER", value_parser = party)]
    pub(crate) originator: Option<Party>,
    /// Only those this user owns, or `system`.
    #[arg(long, value_name = "USER", value_parser = party)]
    pub(crate) owner: Option<Party>,
    /// Only those above this one, up to the root.
    #[arg(long, value_name = "WS")]
    pub(crate) above: Option<String>,
    /// Only those below this one.
    #[arg(long, value_name = "WS")]
    pub(crate) below: Option<String>,
    /// Only those with the same workspace above them as this one.
    #[arg(long, value_name = "WS")]
    pub(crate) beside: Option<String>,
    /// Only those with nothing below them.
    #[arg(long)]
    pub(crate) leaves: bool,
}

/// Arguments of `workspace sees`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing workspace sees agent:eve
  althing workspace sees agent:bob --by          who may read bob's workspace")]
pub(crate) struct WorkspaceSees {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// List who may read it instead.
    #[arg(long)]
    pub(crate) by: bool,
}

/// Arguments of `workspace tree`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing workspace tree                 the current run, or the last one
  althing workspace tree agent:bob       one workspace and what is below it
  althing workspace tree --all           all runs")]
pub(crate) struct WorkspaceTree {
    /// Only this workspace and what is below it.
    #[arg(value_name = "WS")]
    pub(crate) id: Option<String>,
    /// Only open workspaces.
    #[arg(long)]
    pub(crate) live: bool,
    /// Include older runs.
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}

/// Arguments of `workspace migrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
The workspace waits up to an hour for the new agent to run `althing signal ready`.

Example:
  althing workspace migrate agent:bob --to carol --reason 'bob crashed' --as alice")]
pub(crate) struct WorkspaceMigrate {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The agent that takes over; registered if it is unknown.
    #[arg(long, value_name = "NAME", value_parser = agent)]
    pub(crate) to: AgentName,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace write`.
#[derive(Debug, Args)]
#[command(after_help = "\
PATH is relative to the current folder, `:/PATH` to the project root. TEXT is the text itself, `-`
reads standard input, `@FILE` reads a file.

Examples:
  althing workspace write notes.md 'Grammar first.' --as bob
  althing workspace write src/parser.rs @src/parser.rs --as bob
  althing workspace write notes.md --delete --as bob")]
pub(crate) struct WorkspaceWrite {
    /// The file.
    pub(crate) path: String,
    /// Its content.
    #[arg(value_name = "TEXT", required_unless_present = "delete", conflicts_with = "delete")]
    pub(crate) content: Option<String>,
    /// Remove the file.
    #[arg(long)]
    pub(crate) delete: bool,
}

/// Arguments of `task`.
#[derive(Debug, Args)]
#[command(after_help = NAMING)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

/// Subcommands of `task`.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Plan a graph of tasks (coordinator); the same as `althing plan --file`.
    #[command(hide = true)]
    Plan(TaskPlan),
    /// Add a task to a graph (coordinator).
    Add(TaskAdd),
    /// Approve planned tasks, so that they can be assigned (coordinator).
    Approve(TaskApprove),
    /// Assign a ready task to an agent, in a new workspace (coordinator).
    Assign(TaskAssign),
    /// Let a failed task be assigned again (coordinator).
    #[command(after_help = "\
Example:
  althing task retry parser --as alice")]
    Retry(OneTask),
    /// Cancel a task and abort its workspace (coordinator).
    Cancel(TaskCancel),
    /// List the tasks, in the order they were planned.
    List(TaskList),
    /// Show one task.
    #[command(after_help = "\
Example:
  althing task show parser")]
    Show(OneTask),
    /// List the tasks that can be assigned, most urgent first.
    Ready(TaskReady),
    /// List what a task depends on, or what waits for it.
    Deps(TaskDeps),
    /// Draw the task graph.
    Graph(TaskGraph),
    /// List the graphs.
    #[command(after_help = "\
Example:
  althing task graphs")]
    Graphs,
}

/// A command about one task.
#[derive(Debug, Args)]
pub(crate) struct OneTask {
    /// The task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
}

/// Arguments of `task plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a list of tasks that refer to each other by key. `name` defaults to the key, `description`
to the name. In TOML:

  [[tasks]]
  key = 'parser'
  description = 'Write a parser for the grammar in docs/grammar.md.'

  [[tasks]]
  key = 'tests'
  name = 'Parser tests'
  description = 'Test the parser.'
  depends_on = ['parser']
  priority = 'urgent'              # or elevated, normal

In JSON the same: {\"tasks\": [{\"key\": \"parser\", …}]}.

Examples:
  althing task plan plan.toml --as alice
  generate-plan | althing task plan - --as alice")]
pub(crate) struct TaskPlan {
    /// A .json or .toml file; `-` reads either from standard input.
    pub(crate) file: PathBuf,
}

/// Arguments of `task add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing task add 40e83p docs --description 'Document it.' --depends-on parser --as alice")]
pub(crate) struct TaskAdd {
    /// The graph.
    pub(crate) graph: String,
    /// The name of the task.
    #[arg(value_parser = text::<200>)]
    pub(crate) name: Text<200>,
    /// The description: text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: String,
    /// A task that has to be done first; repeat for more.
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
    /// The parent task.
    #[arg(long, value_name = "TASK")]
    pub(crate) part_of: Option<String>,
    /// Its priority: urgent, elevated, normal.
    #[arg(long, value_name = "P", value_parser = word::<task::Priority>, default_value = "normal")]
    pub(crate) priority: task::Priority,
}

/// Arguments of `task approve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task approve parser tests --as alice
  althing task approve --graph 40e83p --as alice     all its drafts")]
pub(crate) struct TaskApprove {
    /// The tasks.
    #[arg(value_name = "TASK", required_unless_present = "graph")]
    pub(crate) tasks: Vec<String>,
    /// All drafts of this graph.
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<String>,
}

/// Arguments of `task assign`.
#[derive(Debug, Args)]
#[command(after_help = "\
Results of earlier tasks are not passed on automatically. With --with-results the new workspace gets
the checkpoints of the tasks it depends on as context: JSON, with the hashes of their files for
`althing blob get`.

Examples:
  althing task assign parser --agent bob --authority src/parser --timeout 4h --as alice
  althing task assign release --agent carol --with-results --as alice")]
pub(crate) struct TaskAssign {
    /// The task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// Pass on the results of the tasks it depends on.
    #[arg(long, conflicts_with = "context")]
    pub(crate) with_results: bool,
    /// More context to read: text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) binding: Binding,
}

/// Arguments of `task cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing task cancel parser --reason 'not needed' --as alice")]
pub(crate) struct TaskCancel {
    /// The task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `task list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task list --status failed
  althing task list --graph 40e83p")]
pub(crate) struct TaskList {
    /// Include older runs.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only this graph.
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<String>,
    /// Only those in this state: draft, pending, assigned, `in_progress`, completed, failed,
    /// integrated, cancelled.
    #[arg(long, value_name = "STATE", value_parser = word::<task::Status>)]
    pub(crate) status: Option<task::Status>,
}

/// Arguments of `task ready`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing task ready")]
pub(crate) struct TaskReady {
    /// Only this graph.
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<String>,
}

/// Arguments of `task deps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task deps release --all             all that comes first
  althing task deps grammar --all --waiting   everything that waits for it")]
pub(crate) struct TaskDeps {
    /// The task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// Include indirect dependencies.
    #[arg(long)]
    pub(crate) all: bool,
    /// List what waits for it instead.
    #[arg(long)]
    pub(crate) waiting: bool,
}

/// Arguments of `task graph`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each task is drawn below the tasks it depends on. Lines lead down from a task to those that wait for
it.

Examples:
  althing task graph                              the newest graph
  althing task graph 40e83p --dot | dot -Tsvg > plan.svg
  althing task graph --mermaid                    for a Mermaid page")]
pub(crate) struct TaskGraph {
    /// The graph [default: the newest].
    #[arg(value_name = "GRAPH")]
    pub(crate) id: Option<String>,
    /// Print it for Graphviz.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) dot: bool,
    /// Print it for Mermaid.
    #[arg(long)]
    pub(crate) mermaid: bool,
}
