//! The arguments of `althing coordinator`, `workspace` and `task`.

use althing_kernel::deployment::Deployment;
use althing_kernel::highway::{Preset, Wish};
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_kernel::workspace::{self, Party, Timeout};
use althing_kernel::{AgentName, EnvelopeId, UserId, task};
use clap::{Args, Subcommand};
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::ending::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
use super::read::{agent, envelope, party, text, timeout, user, word};
use super::resources::{Allowance, Room, WorkspaceBudget, WorkspacePriority};

/// How workspaces, tasks and the like are named on the command line.
const NAMING: &str = "\
A workspace, task, graph, checkpoint or right is named by its id, or by four or more characters
that begin or end only that id. `root` is the coordinator's workspace, `agent:NAME` the one that
agent works in, or worked in last. A task is also known by its name.";

/// Arguments of `coordinator`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is a tree of workspaces with the coordinator's at its root. One runs at a time. Where people
have signed up, one of them begins it; before that the first agent to ask coordinates.

Examples:
  althing coordinator start --as alice               alice coordinates
  althing coordinator start --agent alice --user ada
  althing coordinator show
  althing coordinator stop --as alice")]
pub(crate) struct Coordinator {
    #[command(subcommand)]
    pub(crate) command: CoordinatorCommand,
}

/// What to do about the run.
#[derive(Debug, Subcommand)]
pub(crate) enum CoordinatorCommand {
    /// Begin a run.
    Start(Box<CoordinatorStart>),
    /// Show the run that goes on.
    #[command(after_help = "\
Example:
  althing coordinator show")]
    Show,
    /// Give the post of coordinator to another agent.
    HandOver(CoordinatorHandOver),
    /// End the run.
    Stop(CoordinatorStop),
}

/// Arguments of `coordinator start`.
#[derive(Debug, Args)]
#[command(after_help = "\
A taxonomy adds roles and types of messages to the base ones; `althing do --schema run.start` shows
its form. It holds until the run ends. Where people have signed up, plans wait a quarter of an hour
for one of them unless --highway says otherwise; `althing highway set` changes that later.

Examples:
  althing coordinator start --as alice
  althing coordinator start --user ada                      ada and the system coordinate
  althing coordinator start --agent alice --taxonomy reviews.toml --user ada
  althing coordinator start --as alice --max-workspaces 50 --min-disk 1GiB")]
pub(crate) struct CoordinatorStart {
    /// The agent that coordinates; the caller itself, if it is an agent.
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) leader: Option<AgentName>,
    /// What stands between those who take part: single-runtime (the default),
    /// shared-infrastructure or zero-trust. What it needs has to be in place.
    #[arg(long, value_name = "MODEL")]
    pub(crate) deployment: Option<Deployment>,
    /// Who answers for the run; the person who begins it, if left out.
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// Roles and types beyond the base ones, from a .json or .toml file.
    #[arg(long, value_name = "FILE")]
    pub(crate) taxonomy: Option<PathBuf>,
    /// What people want to be asked about: autonomous, supervised, gated, or off.
    #[arg(long, value_name = "PRESET", value_parser = highway)]
    pub(crate) highway: Option<Wish>,
    #[command(flatten)]
    pub(crate) room: Room,
}

/// A preset, or no gate at all.
fn highway(given: &str) -> Result<Wish, String> {
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
  althing coordinator hand-over --user ada           back to the system and people")]
pub(crate) struct CoordinatorHandOver {
    /// The agent that coordinates from now on; nobody but the system and people, if left out.
    #[arg(value_name = "NAME", value_parser = agent)]
    pub(crate) leader: Option<AgentName>,
}

/// Arguments of `coordinator stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing coordinator stop --as alice                everything below the root must have ended
  althing coordinator stop --force --reason 'wrong plan' --user ada")]
pub(crate) struct CoordinatorStop {
    /// Fail whatever still goes on.
    #[arg(long)]
    pub(crate) force: bool,
    /// Why; everybody can read it.
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

/// What to do about workspaces.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace for an agent (coordinator, or a delegate below itself).
    Create(Box<WorkspaceCreate>),
    /// List the workspaces.
    List(WorkspaceList),
    /// Show one workspace with its checkpoints, files and rights.
    #[command(after_help = "\
Examples:
  althing workspace show agent:bob
  althing workspace show jfr587          a unique ending of its id")]
    Show(OneWorkspace),
    /// Draw the tree of workspaces.
    Tree(WorkspaceTree),
    /// List the way from the root down to a workspace.
    #[command(after_help = "\
Example:
  althing workspace path agent:erin")]
    Path(OneWorkspace),
    /// List what a workspace sees, or who sees it. Nobody is told.
    Sees(WorkspaceSees),
    /// End a workspace at once, and what is below it (coordinator).
    #[command(after_help = "\
Example:
  althing workspace abort agent:bob --reason 'wrong track' --as alice")]
    Abort(Order),
    /// Pause a workspace; its mail waits and its time stands still (coordinator).
    #[command(after_help = "\
Example:
  althing workspace suspend agent:bob --reason 'wait for review' --as alice")]
    Suspend(Order),
    /// Let a paused workspace go on (coordinator).
    #[command(after_help = "\
Example:
  althing workspace resume agent:bob --as alice")]
    Resume(OneWorkspace),
    /// Give a workspace another agent (coordinator, or a delegate below itself).
    Migrate(WorkspaceMigrate),
    /// Ask a workspace to finish within a time (coordinator, or a delegate below itself).
    Terminate(WorkspaceTerminate),
    /// Let a workspace read another one (coordinator, or a delegate below itself).
    Grant(WorkspaceGrant),
    /// Put a workspace that lost its parent below another one (coordinator).
    Reparent(WorkspaceReparent),
    /// Give a workspace to another person to answer for (coordinator, or its owner).
    Transfer(super::people::WorkspaceTransfer),
    /// Show what a workspace may use, or raise it (coordinator, or a delegate below itself).
    Budget(WorkspaceBudget),
    /// Make a workspace more or less urgent (coordinator).
    Priority(WorkspacePriority),
    /// Put a file into the working memory of your workspace, or remove it.
    Write(WorkspaceWrite),
    /// List the files of a workspace: its working memory, and what was merged into it.
    #[command(after_help = "\
Example:
  althing workspace files root            what was merged so far")]
    Files(OneWorkspace),
}

/// A command about one workspace.
#[derive(Debug, Args)]
pub(crate) struct OneWorkspace {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
}

/// An order to one workspace.
#[derive(Debug, Args)]
pub(crate) struct Order {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// What a workspace is bound to, however it comes about.
#[derive(Debug, Args)]
pub(crate) struct Binding {
    /// The agent that works in it; registered first, if it never ran.
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) worker: AgentName,
    /// Its role: worker, observer, or one the taxonomy adds.
    #[arg(long, value_name = "ROLE", default_value = "worker")]
    pub(crate) role: RoleName,
    /// What it may change, as for `claim`; repeat for more. What its parent may, if left out.
    #[arg(long, value_name = "SURFACE")]
    pub(crate) authority: Vec<String>,
    /// A workspace it may read; repeat for more.
    #[arg(long, value_name = "WS")]
    pub(crate) visibility: Vec<String>,
    /// The workspace above it; the root, or a delegate's own, if left out.
    #[arg(long, value_name = "WS")]
    pub(crate) parent: Option<String>,
    /// Who answers for it; whoever answers for its parent, if left out.
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// How long it may work: 90m, 2d (a day, if left out).
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) timeout: Option<Timeout>,
    #[command(flatten)]
    pub(crate) allowance: Allowance,
}

/// Arguments of `workspace create`.
#[derive(Debug, Args)]
#[command(after_help = "\
TEXT is taken as it is, `-` reads standard input, `@FILE` reads a file.

Examples:
  althing workspace create --agent bob --directive 'Write the parser.' --authority src --as alice
  althing workspace create --agent bob --task parser --timeout 90m --as alice
  althing workspace create --agent bob --task parser --budget tokens=200k,cost=2.50 --as alice
  althing workspace create --agent eve --role observer --global-trail --directive 'Watch.' --user ada")]
pub(crate) struct WorkspaceCreate {
    #[command(flatten)]
    pub(crate) binding: Binding,
    /// What to do; not needed with a task, which says so itself.
    #[arg(long, value_name = "TEXT", required_unless_present = "task")]
    pub(crate) directive: Option<String>,
    /// The task it works on.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// How urgent it is: critical, interactive, normal, background.
    #[arg(long, value_name = "P", value_parser = word::<workspace::Priority>)]
    pub(crate) priority: Option<workspace::Priority>,
    /// How long its agent may take to show up (a day, if left out).
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) idle_timeout: Option<Timeout>,
    /// Let it create workspaces below itself.
    #[arg(long)]
    pub(crate) delegate: bool,
    /// Let an observer read the whole trail.
    #[arg(long)]
    pub(crate) global_trail: bool,
    /// The envelope of a person's that it follows from: it is then on that person's account.
    #[arg(long, value_name = "ENV", value_parser = envelope)]
    pub(crate) caused_by: Option<EnvelopeId>,
    /// A tool it has; repeat for more.
    #[arg(long = "mount", value_name = "TOOL", value_parser = text::<200>)]
    pub(crate) mounts: Vec<Text<200>>,
    /// What else it may read from the start.
    #[arg(long, value_name = "TEXT")]
    pub(crate) context: Option<String>,
}

/// Arguments of `workspace list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing workspace list --live
  althing workspace list --status blocked
  althing workspace list --orphans        whose parent ended, and who answers for them
  althing workspace list --agent bob
  althing workspace list --originator ada         everything ada caused
  althing workspace list --owner ada --live       everything ada answers for
  althing workspace list --below agent:dora --leaves
  althing workspace list --beside agent:bob")]
pub(crate) struct WorkspaceList {
    /// Only those that have not ended.
    #[arg(long)]
    pub(crate) live: bool,
    /// Only those that lost their parent, go on below the root, and were given no other.
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
    /// Only those this user caused; `system` for those nobody did.
    #[arg(long, value_name = "USER", value_parser = party)]
    pub(crate) originator: Option<Party>,
    /// Only those this user answers for; `system` for those nobody does.
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
  althing workspace sees agent:bob --by          who sees bob's workspace")]
pub(crate) struct WorkspaceSees {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The other way round: who sees it.
    #[arg(long)]
    pub(crate) by: bool,
}

/// Arguments of `workspace tree`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing workspace tree                 the run that goes on, or else the last one
  althing workspace tree agent:bob       what is below one workspace
  althing workspace tree --all           every run there ever was")]
pub(crate) struct WorkspaceTree {
    /// Only what is below this one, and itself.
    #[arg(value_name = "WS")]
    pub(crate) id: Option<String>,
    /// Only what has not ended.
    #[arg(long)]
    pub(crate) live: bool,
    /// Older runs too.
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}

/// Arguments of `workspace migrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
The workspace waits until its new agent says `althing signal ready`, for an hour at most.

Example:
  althing workspace migrate agent:bob --to carol --reason 'bob crashed' --as alice")]
pub(crate) struct WorkspaceMigrate {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The agent that takes over; registered first, if it never ran.
    #[arg(long, value_name = "NAME", value_parser = agent)]
    pub(crate) to: AgentName,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace write`.
#[derive(Debug, Args)]
#[command(after_help = "\
PATH is read from the current folder, `:/PATH` from the project root. TEXT is taken as it is, `-`
reads standard input, `@FILE` reads a file.

Examples:
  althing workspace write notes.md 'Grammar first.' --as bob
  althing workspace write src/parser.rs @src/parser.rs --as bob
  althing workspace write notes.md --delete --as bob")]
pub(crate) struct WorkspaceWrite {
    /// Which file.
    pub(crate) path: String,
    /// What is in it.
    #[arg(value_name = "TEXT", required_unless_present = "delete", conflicts_with = "delete")]
    pub(crate) content: Option<String>,
    /// Remove it.
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

/// What to do about tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Plan a graph of tasks (coordinator).
    Plan(TaskPlan),
    /// Add a task to a graph (coordinator).
    Add(TaskAdd),
    /// Let planned tasks be taken up (coordinator).
    Approve(TaskApprove),
    /// Create a workspace for a task that is ready (coordinator).
    Assign(TaskAssign),
    /// Let a failed task be taken up again (coordinator).
    #[command(after_help = "\
Example:
  althing task retry parser --as alice")]
    Retry(OneTask),
    /// Give a task up, and end the workspace that works on it (coordinator).
    Cancel(TaskCancel),
    /// List the tasks, in the order they were planned.
    List(TaskList),
    /// Show one task.
    #[command(after_help = "\
Example:
  althing task show parser")]
    Show(OneTask),
    /// List the tasks that can be taken up, most urgent first.
    Ready(TaskReady),
    /// List what a task depends on, or what waits for it.
    Deps(TaskDeps),
    /// Draw a graph.
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
    /// Which task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
}

/// Arguments of `task plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a list of tasks that name each other by their keys. `name` is the key if left out, and
`description` the name. In TOML:

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
  althing task add graph_01k9x docs --description 'Document the grammar.' --depends-on parser --as alice")]
pub(crate) struct TaskAdd {
    /// The graph.
    pub(crate) graph: String,
    /// What people call it.
    #[arg(value_parser = text::<200>)]
    pub(crate) name: Text<200>,
    /// What is to be done: text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: String,
    /// A task that has to be done before; repeat for more.
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
    /// The task it is a part of.
    #[arg(long, value_name = "TASK")]
    pub(crate) part_of: Option<String>,
    /// How urgent it is: urgent, elevated, normal.
    #[arg(long, value_name = "P", value_parser = word::<task::Priority>, default_value = "normal")]
    pub(crate) priority: task::Priority,
}

/// Arguments of `task approve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task approve parser tests --as alice
  althing task approve --graph graph_01k9x --as alice     every draft of it")]
pub(crate) struct TaskApprove {
    /// These tasks.
    #[arg(value_name = "TASK", required_unless_present = "graph")]
    pub(crate) tasks: Vec<String>,
    /// Every draft of this graph.
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<String>,
}

/// Arguments of `task assign`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is handed on by itself. With --with-results the new workspace gets as its context, as JSON,
what the tasks it depends on came to: their checkpoints and the files in them, by hash, for
`althing blob get`.

Examples:
  althing task assign parser --agent bob --authority src/parser --timeout 4h --as alice
  althing task assign release --agent carol --with-results --as alice")]
pub(crate) struct TaskAssign {
    /// Which task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// Hand on what the tasks it depends on came to.
    #[arg(long, conflicts_with = "context")]
    pub(crate) with_results: bool,
    /// What else it may read from the start: text, `-` or `@FILE`.
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
    /// Which task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `task list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task list --status failed
  althing task list --graph graph_01k9x")]
pub(crate) struct TaskList {
    /// Also those of runs that are over.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only those of this graph.
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
    /// Only those of this graph.
    #[arg(long, value_name = "GRAPH")]
    pub(crate) graph: Option<String>,
}

/// Arguments of `task deps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing task deps release --all             everything that has to be done before
  althing task deps grammar --all --waiting   everything that waits for it")]
pub(crate) struct TaskDeps {
    /// Which task.
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// Also what those depend on, and so on.
    #[arg(long)]
    pub(crate) all: bool,
    /// The other way round: what waits for it.
    #[arg(long)]
    pub(crate) waiting: bool,
}

/// Arguments of `task graph`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each task stands below what it depends on. A line leaves a task downwards and turns off to those
that wait for it; a line that is drawn through without touching is another one's.

Examples:
  althing task graph                              the newest graph
  althing task graph graph_01k9x --dot | dot -Tsvg > plan.svg
  althing task graph --mermaid                    for a page that draws Mermaid")]
pub(crate) struct TaskGraph {
    /// Which graph; the newest, if left out.
    #[arg(value_name = "GRAPH")]
    pub(crate) id: Option<String>,
    /// Print it for Graphviz.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) dot: bool,
    /// Print it for Mermaid.
    #[arg(long)]
    pub(crate) mermaid: bool,
}
