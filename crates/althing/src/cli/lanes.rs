//! The arguments of `althing memory coordinate`, `dispatch`, `loop`, `sweep` and `harvest`.

use clap::{Args, ValueEnum};

use super::choices::{LOOP_ENDS, LOOP_KINDS};

/// What to bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aim {
    /// Offer work: a claim, an assignment and a message for each agent.
    Assign,
    /// Ask, and bind nobody.
    Consult,
    /// Have something looked at.
    Review,
    /// Take work from one agent and offer it to another.
    Reroute,
    /// See how far everything is.
    Summarize,
    /// Think together, in a loop.
    Ideate,
}

/// Arguments of `memory coordinate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is offered before it is settled that the lanes do not collide. Agents are not started: the
answer has the command each of them takes the work up with. If only a part of it was sent, what was
left out is told and the exit code is 1.

Examples:
  althing memory coordinate assign 'Rework the lexer' --to bob --scope src/lexer --as alice
  althing memory coordinate assign 'Split it' --lane-scope bob=src/a --lane-scope carol=src/b --as alice
  althing memory coordinate consult 'Which way?' --to bob --as alice
  althing memory coordinate reroute --assignment asgn#1 --to carol --as alice")]
pub(crate) struct MemoryCoordinate {
    /// What to bring about.
    #[arg(value_enum)]
    pub(crate) intent: Aim,
    /// What is wanted.
    pub(crate) task: Option<String>,
    /// Who (repeatable).
    #[arg(long = "to", value_name = "AGENT")]
    pub(crate) targets: Vec<String>,
    /// Paths or globs with commas between.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// A scope for one agent (repeatable).
    #[arg(long = "lane-scope", value_name = "AGENT=PATHS")]
    pub(crate) scopes: Vec<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// For reroute: which assignment.
    #[arg(long, value_name = "ID")]
    pub(crate) assignment: Option<String>,
    /// The linked git worktree to work in.
    #[arg(long, value_name = "DIR")]
    pub(crate) worktree: Option<String>,
    /// What the lane is called.
    #[arg(long, value_name = "NAME")]
    pub(crate) lane: Option<String>,
    /// The conversation it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// For review: also open a loop.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Offer it although files of the scope are not committed.
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// Work from this commit, whatever is not committed.
    #[arg(long = "ref", value_name = "COMMIT")]
    pub(crate) reference: Option<String>,
    /// Your name for this request: repeating it repeats nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// What to do with a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DispatchIntent {
    /// See which plans are ready, active, blocked and done.
    Analysis,
    /// Give out what is ready.
    Execute,
    /// Have a handoff looked at.
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
    /// What to do.
    #[arg(value_enum, default_value = "execute")]
    pub(crate) intent: DispatchIntent,
    /// Which sequence, if not the active one that changed last.
    #[arg(long, value_name = "ID")]
    pub(crate) sequence: Option<String>,
    /// Who may get work (repeatable; default: all other agents).
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Only these lanes (repeatable).
    #[arg(long = "lane", value_name = "NAME")]
    pub(crate) lanes: Vec<String>,
    /// How many assignments at most, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<usize>,
    /// How many assignments an agent has at once, from 1 (the default).
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<usize>,
    /// Say what would be done and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Give it out although files of the scope are not committed.
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// For review: which handoff.
    #[arg(long, value_name = "ID")]
    pub(crate) handoff: Option<String>,
    /// For review: who looks.
    #[arg(long, value_name = "AGENT")]
    pub(crate) reviewer: Option<String>,
    /// For review: also open a loop.
    #[arg(long)]
    pub(crate) open_loop: bool,
    /// Your name for this request: repeating it repeats nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// What to do with a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoopAct {
    /// Begin one.
    Open,
    /// Show one.
    Get,
    /// List them.
    List,
    /// Give the turn to a slot: its agent gets an assignment.
    Turn,
    /// Say what came of a turn.
    #[value(alias = "complete_turn")]
    CompleteTurn,
    /// Go on to the next phase.
    Advance,
    /// Add something that came of it.
    #[value(alias = "add_artifact")]
    AddArtifact,
    /// Hold it.
    Pause,
    /// Go on with it.
    Resume,
    /// End it, and with it what its slots work on.
    Close,
    /// Say which assignment is worked on in a slot.
    Bind,
    /// Go on with what was held, or with another round.
    Continue,
    /// Give a slot, and the work under way in it, to another agent.
    Takeover,
    /// Say how the check came out: on to the next phase, or back for another round.
    Verify,
    /// Ask whoever opened it, or whoever has a slot.
    #[value(alias = "request_input")]
    RequestInput,
    /// Answer what was asked.
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
    /// What to do.
    #[arg(value_enum)]
    pub(crate) intent: LoopAct,
    /// Which loop.
    #[arg(value_name = "LOOP")]
    pub(crate) id: Option<String>,
    /// What sort of loop.
    #[arg(long, value_parser = LOOP_KINDS)]
    pub(crate) kind: Option<String>,
    /// What it is about, what to do in a turn, or what is asked or answered.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Who takes turns (repeatable), or who takes a slot over.
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// When it is over, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop_conditions: Option<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Open it without a plan.
    #[arg(long)]
    pub(crate) allow_orphan: bool,
    /// Which slot.
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Option<String>,
    /// What came of the turn.
    #[arg(long, value_name = "TEXT")]
    pub(crate) outcome: Option<String>,
    /// To which phase, if not the next.
    #[arg(long)]
    pub(crate) phase: Option<String>,
    /// What came of it.
    #[arg(long, value_name = "TYPE=REF")]
    pub(crate) artifact: Option<String>,
    /// How it ends.
    #[arg(long, value_name = "STATE", value_parser = LOOP_ENDS)]
    pub(crate) status: Option<String>,
    /// For bind: what is worked on in the slot.
    #[arg(long, value_name = "ID")]
    pub(crate) assignment: Option<String>,
    /// For verify: how it came out.
    #[arg(long, value_parser = ["passed", "failed"])]
    pub(crate) verdict: Option<String>,
    /// For provide-input: what is answered, if not the oldest.
    #[arg(long, value_name = "ID")]
    pub(crate) message: Option<String>,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Only if it is still this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u32>,
    /// Your name for this request: repeating it repeats nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// Arguments of `memory sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Result files, commits, heartbeats and changed files in worktrees are signs of life. Assignments of
loops that are over end as those did.

Example:
  althing memory sweep --as alice")]
pub(crate) struct MemorySweep {
    /// Say what was seen and move nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `memory harvest`.
#[derive(Debug, Args)]
#[command(after_help = "\
A worker that cannot reach Althing leaves LANE-RESULT.json at the root of its worktree; --schema
prints what it says. A result is reported once. With --integrate its work is committed on the
worktree's branch, and the assignment, its claim and its plan follow. Files outside of its scope
hold it up until they are moved out or --allow-outside is said; then the exit code is 1.

Examples:
  althing memory harvest --as alice
  althing memory harvest asgn#1 --integrate --as alice
  althing memory harvest --schema
  althing memory harvest --schema=heartbeat")]
pub(crate) struct MemoryHarvest {
    /// Only this assignment.
    pub(crate) assignment: Option<String>,
    /// Commit the work, and have the assignment, its claim and its plan follow.
    #[arg(long)]
    pub(crate) integrate: bool,
    /// Commit files outside of the lane's scope as well (its dispatcher, or a person who may).
    #[arg(long)]
    pub(crate) allow_outside: bool,
    /// Print the schema of results, or of heartbeats.
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true,
          default_missing_value = "result", value_parser = ["result", "heartbeat"])]
    pub(crate) schema: Option<String>,
}
