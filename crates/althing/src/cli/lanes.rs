//! The arguments of `althing memory coordinate`, `dispatch`, `loop`, `sweep` and `harvest`.

use clap::{Args, ValueEnum};

use super::choices::{LOOP_ENDS, LOOP_KINDS};

/// The intents of `memory coordinate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aim {
    /// Offer work: a claim, an assignment and a message for each agent.
    Assign,
    /// Ask a question, without assigning work.
    Consult,
    /// Ask for a review.
    Review,
    /// Move an assignment to another agent.
    Reroute,
    /// Show the progress of all assignments.
    Summarize,
    /// Collect ideas, in a loop.
    Ideate,
}

/// Arguments of `memory coordinate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Lanes that would collide are refused before anything is offered. Althing does not start agents: the
answer has the command with which each agent accepts. If some lanes could not be offered, they are
listed and the exit code is 1.

Examples:
  althing memory coordinate assign 'Rework the lexer' --to bob --scope src/lexer --as alice
  althing memory coordinate assign 'Split it' --lane-scope bob=a --lane-scope carol=b --as alice
  althing memory coordinate consult 'Which way?' --to bob --as alice
  althing memory coordinate reroute --assignment asgn#1 --to carol --as alice")]
pub(crate) struct MemoryCoordinate {
    /// The action to take.
    #[arg(value_enum)]
    pub(crate) intent: Aim,
    /// The task, in words.
    pub(crate) task: Option<String>,
    /// An agent; repeat for more.
    #[arg(long = "to", value_name = "AGENT")]
    pub(crate) targets: Vec<String>,
    /// Paths or globs, separated by commas.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// The scope of one agent; repeat for more.
    #[arg(long = "lane-scope", value_name = "AGENT=PATHS")]
    pub(crate) scopes: Vec<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// With reroute: the assignment.
    #[arg(long, value_name = "ID")]
    pub(crate) assignment: Option<String>,
    /// The linked git worktree to work in.
    #[arg(long, value_name = "DIR")]
    pub(crate) worktree: Option<String>,
    /// The name of the lane.
    #[arg(long, value_name = "NAME")]
    pub(crate) lane: Option<String>,
    /// The conversation it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// With review: also open a loop.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Offer it even if files of the scope have uncommitted changes.
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// Have the agent start from this commit.
    #[arg(long = "ref", value_name = "COMMIT")]
    pub(crate) reference: Option<String>,
    /// An idempotency key: repeating the request has no second effect.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// The intents of `memory dispatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DispatchIntent {
    /// Show which plans are ready, active, blocked and done.
    Analysis,
    /// Assign the plans that are ready.
    Execute,
    /// Ask for a review of a handoff.
    Review,
}

/// Arguments of `memory dispatch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory dispatch analysis
  althing memory dispatch --dry-run --as alice
  althing memory dispatch execute --agent bob --agent carol --max 2 --as alice
  althing memory dispatch review --handoff hnd#1 --reviewer bob --as alice")]
pub(crate) struct MemoryDispatch {
    /// The action to take.
    #[arg(value_enum, default_value = "execute")]
    pub(crate) intent: DispatchIntent,
    /// The sequence [default: the active one that changed last].
    #[arg(long, value_name = "ID")]
    pub(crate) sequence: Option<String>,
    /// An agent that may get work; repeat for more [default: all other agents].
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Only this lane; repeat for more.
    #[arg(long = "lane", value_name = "NAME")]
    pub(crate) lanes: Vec<String>,
    /// The most assignments to make, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<usize>,
    /// The most assignments an agent has at once [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<usize>,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Assign even if files of the scope have uncommitted changes.
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// With review: the handoff.
    #[arg(long, value_name = "ID")]
    pub(crate) handoff: Option<String>,
    /// With review: the reviewer.
    #[arg(long, value_name = "AGENT")]
    pub(crate) reviewer: Option<String>,
    /// With review: also open a loop.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// An idempotency key: repeating the request has no second effect.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// The intents of `memory loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoopAct {
    /// Open a loop.
    Open,
    /// Show a loop.
    Get,
    /// List the loops.
    List,
    /// Give the turn to a slot: its agent gets an assignment.
    Turn,
    /// End a turn with its outcome.
    #[value(alias = "complete_turn")]
    CompleteTurn,
    /// Move to the next phase.
    Advance,
    /// Add a result.
    #[value(alias = "add_artifact")]
    AddArtifact,
    /// Pause the loop.
    Pause,
    /// Resume a paused loop.
    Resume,
    /// Close the loop and end the assignments of its slots.
    Close,
    /// Bind an assignment to a slot.
    Bind,
    /// Resume a paused loop, or start another round.
    Continue,
    /// Give a slot and its assignment to another agent.
    Takeover,
    /// Record a verdict: passed moves on, failed starts another round.
    Verify,
    /// Ask the agent that opened the loop, or the agent of a slot.
    #[value(alias = "request_input")]
    RequestInput,
    /// Answer a question.
    #[value(alias = "provide_input")]
    ProvideInput,
}

/// Arguments of `memory loop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory loop open --kind review --task 'Look at a' --agent bob --allow-orphan --as alice
  althing memory loop turn lop#1 --slot slot_1 --as alice
  althing memory loop complete-turn lop#1 --slot slot_1 --outcome 'Two findings' --as bob
  althing memory loop request-input lop#1 --task 'Which parser?' --as bob
  althing memory loop provide-input lop#1 --task 'The old one' --as alice
  althing memory loop advance lop#1 --as alice
  althing memory loop takeover lop#1 --slot slot_1 --agent carol --as alice
  althing memory loop close lop#1 --status completed --as alice")]
pub(crate) struct MemoryLoop {
    /// The action to take.
    #[arg(value_enum)]
    pub(crate) intent: LoopAct,
    /// The loop.
    #[arg(value_name = "LOOP")]
    pub(crate) id: Option<String>,
    /// The kind of loop.
    #[arg(long, value_parser = LOOP_KINDS)]
    pub(crate) kind: Option<String>,
    /// The subject, the task of a turn, the question or the answer.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// An agent that takes turns (repeat for more), or that takes over a slot.
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// When the loop should end, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop_conditions: Option<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Open it without a plan.
    #[arg(long)]
    pub(crate) allow_orphan: bool,
    /// The slot.
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Option<String>,
    /// The outcome of the turn.
    #[arg(long, value_name = "TEXT")]
    pub(crate) outcome: Option<String>,
    /// The phase to move to [default: the next].
    #[arg(long)]
    pub(crate) phase: Option<String>,
    /// A result.
    #[arg(long, value_name = "TYPE=REF")]
    pub(crate) artifact: Option<String>,
    /// The state the loop ends in.
    #[arg(long, value_name = "STATE", value_parser = LOOP_ENDS)]
    pub(crate) status: Option<String>,
    /// With bind: the assignment.
    #[arg(long, value_name = "ID")]
    pub(crate) assignment: Option<String>,
    /// With verify: the verdict.
    #[arg(long, value_parser = ["passed", "failed"])]
    pub(crate) verdict: Option<String>,
    /// With provide-input: the question [default: the oldest].
    #[arg(long, value_name = "ID")]
    pub(crate) message: Option<String>,
    /// The reason.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Only if the loop still has this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u32>,
    /// An idempotency key: repeating the request has no second effect.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// Arguments of `memory sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Result files, commits, heartbeats and changed files in worktrees are signs of life. Assignments of
loops that have ended end with them.

Example:
  althing memory sweep --as alice")]
pub(crate) struct MemorySweep {
    /// Print what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `memory harvest`.
#[derive(Debug, Args)]
#[command(after_help = "\
A worker that cannot reach Althing leaves LANE-RESULT.json at the root of its worktree; --schema
prints its schema. A result is reported once. With --integrate the work is committed on the
worktree's branch, and the assignment, its claim and its plan are updated. Files outside the scope
stop that (exit code 1) until they are removed or --allow-outside is given.

Examples:
  althing memory harvest --as alice
  althing memory harvest asgn#1 --integrate --as alice
  althing memory harvest --schema
  althing memory harvest --schema=heartbeat")]
pub(crate) struct MemoryHarvest {
    /// Only this assignment.
    pub(crate) assignment: Option<String>,
    /// Commit the work, and update the assignment, its claim and its plan.
    #[arg(long)]
    pub(crate) integrate: bool,
    /// Also commit files outside the lane's scope (dispatcher, or a person with `abort_any`).
    #[arg(long)]
    pub(crate) allow_outside: bool,
    /// Print the schema of results, or of heartbeats.
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true,
          default_missing_value = "result", value_parser = ["result", "heartbeat"])]
    pub(crate) schema: Option<String>,
}
