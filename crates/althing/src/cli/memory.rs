//! The arguments of `althing memory`, `remember`, `ask` and `board`.

use clap::{Args, Subcommand, ValueEnum};

use super::choices::{KINDS, PLAN_ENDS, REMEMBERED_KINDS, STATES, STEPS};
use super::lanes::{MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop, MemorySweep};

/// Arguments of `memory`.
#[derive(Debug, Args)]
#[command(after_help = "\
The memory holds constraints, decisions, traps, plans, claims, handoffs, candidates, assignments,
messages, sequences and loops. A claim is a lease: `althing claim` and MCP tools respect it too.
`--json` prints what agents get over MCP. Guide: docs/how-to/share-memory.md.

Examples:
  althing memory work consult --as alice
  althing memory create plan 'New parser' --set priority=high --set steps='[\"read\",\"write\"]'
  althing memory work execute --scope src/parser --plan pln#1 --as alice
  althing memory find plan --status open
  althing memory transition pln#1 done --as alice")]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
}

/// Subcommands of `memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Start working: open a session, get what you need to know, claim a scope.
    Work(MemoryWork),
    /// Read the memory, your environment, the board, or what changed.
    Context(MemoryContext),
    /// List records of one kind, newest first.
    Find(MemoryFind),
    /// Show one record in full.
    Get(MemoryGet),
    /// Create a record.
    Create(MemoryCreate),
    /// Change fields of a record.
    Update(MemoryUpdate),
    /// Move a record to another state.
    Transition(MemoryTransition),
    /// Mark a step of a plan done; the last one finishes the plan.
    CompleteStep {
        /// The plan.
        plan: String,
        /// The step, such as `stp_1`.
        step: String,
    },
    /// Archive a record that has ended; the trail keeps it.
    Remove {
        /// The record.
        id: String,
        /// The reason.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Assign work to other agents, or ask them something.
    Coordinate(Box<MemoryCoordinate>),
    /// Assign the plans of a sequence that are ready.
    Dispatch(Box<MemoryDispatch>),
    /// Work in rounds, with phases and slots that take turns.
    Loop(Box<MemoryLoop>),
    /// Expire assignments that went silent; any sign of life keeps one.
    Sweep(MemorySweep),
    /// Collect results that workers left in their worktrees.
    Harvest(MemoryHarvest),
}

/// The intents of `memory work`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryIntent {
    /// Change something; a scope is claimed.
    Execute,
    /// Only look.
    Consult,
    /// Continue earlier work.
    Resume,
    /// Review somebody else's work.
    Review,
}

/// Arguments of `memory work`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory work consult --as alice
  althing memory work execute --scope 'src/parser, docs/grammar.md' --task 'unary minus' --as alice

If somebody else holds a part of the scope, nothing is claimed and the exit code is 3.")]
pub(crate) struct MemoryWork {
    /// Your intent.
    #[arg(value_enum)]
    pub(crate) intent: MemoryIntent,
    /// Paths or globs from the project root, separated by commas.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// The task, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// How long the claim lasts if you stay silent: 30m, 4h (the default), 2d.
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<String>,
    /// Continue without a claim if somebody else holds the scope.
    #[arg(long)]
    pub(crate) advisory: bool,
    /// Print whole lists, as far as the budget allows.
    #[arg(long)]
    pub(crate) full: bool,
    /// Limit the answer to this many tokens.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// The kinds of `memory context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemorySight {
    /// The records that matter most.
    Memory,
    /// Where you are and who you are.
    Execution,
    /// Who works on what.
    Board,
    /// The board in numbers.
    #[value(alias = "board_summary")]
    BoardSummary,
    /// Changes since a moment.
    Delta,
}

/// Arguments of `memory context`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory context memory --path src/parser/lex.rs --query 'unary minus'
  althing memory context delta --since 2h
  althing memory context delta --since 2026-06-11T12:00Z
  althing memory context delta --since 120         since entry 120")]
pub(crate) struct MemoryContext {
    /// The kind of context to read.
    #[arg(value_enum)]
    pub(crate) kind: MemorySight,
    /// With delta: an age (2h), a time in UTC, a session, or the number of a trail entry.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// With memory: the path you work on.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// With memory: your task, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// The most records to print, from 1 to 500.
    #[arg(long, value_name = "N")]
    pub(crate) max_items: Option<usize>,
    /// Include candidates that are only proposed.
    #[arg(long)]
    pub(crate) pending: bool,
    /// Limit the answer to this many tokens.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// Arguments of `memory find`.
#[derive(Debug, Args)]
#[command(after_help = "\
Lists everything that is not archived, in any state. Three things are left out and counted: ended
claims and decided candidates (ask with --status), imported records (--legacy), and observations of
programs with low confidence (--min-confidence).

Examples:
  althing memory find plan --status open
  althing memory find decision --tag storage --tag format      any of these tags
  althing memory find claim --scope src --json
  althing memory find assignment --agent me --as alice         yours")]
pub(crate) struct MemoryFind {
    /// The kind of record.
    #[arg(value_name = "KIND", value_parser = KINDS)]
    pub(crate) entity: String,
    /// Only records in this state.
    #[arg(long, value_name = "STATE", value_parser = STATES, hide_possible_values = true)]
    pub(crate) status: Option<String>,
    /// Only records with one of these tags.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only records by this author; `me` is you, also in the options below.
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Only records of this plan.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Only records from this source.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Only claims, assignments and messages of this agent.
    #[arg(long = "agent", value_name = "NAME")]
    pub(crate) of_agent: Option<String>,
    /// Only messages and handoffs to this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only plans assigned to this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) assignee: Option<String>,
    /// Only claims that overlap these paths.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// Include imported records.
    #[arg(long)]
    pub(crate) legacy: bool,
    /// The lowest confidence of observations by programs, from 0 to 1.
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_confidence: Option<f64>,
    /// How many records to list.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many records to skip.
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<usize>,
    /// Limit the answer to this many tokens.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// Arguments of `memory get`.
#[derive(Debug, Args)]
pub(crate) struct MemoryGet {
    /// The record: `pln#1` or `pln_00000001`.
    pub(crate) id: String,
    /// Limit the answer to this many tokens.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// Arguments of `memory create`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory create trap 'The fixture clock is UTC+2' --set severity=high --tag tests
  althing memory create plan 'Unary minus' --set estimated_effort=2h --set related_paths=src/parser
  althing memory create handoff 'Parser is yours' --set to=bob --set narrative='Lexer is done.'
  althing memory create candidate 'No floats in money' --set type=constraint
  althing memory create claim 'moving files' --set scope=src/lexer")]
pub(crate) struct MemoryCreate {
    /// The kind of record.
    #[arg(value_name = "KIND", value_parser = KINDS)]
    pub(crate) entity: String,
    /// The text.
    pub(crate) text: Option<String>,
    /// A tag; repeat for more.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Another field; the value may be JSON. Repeat for more.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// All fields, as one JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// An idempotency key: repeating the request has no second effect.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// Arguments of `memory update`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing memory update pln#1 --text 'Lexer first' --set priority=urgent --clear assignee")]
pub(crate) struct MemoryUpdate {
    /// The record.
    pub(crate) id: String,
    /// The new text.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// The new tags; repeat for more.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// A new value for a field; the value may be JSON. Repeat for more.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// A field to remove; repeat for more.
    #[arg(long = "clear", value_name = "FIELD")]
    pub(crate) clear: Vec<String>,
    /// Only if the record still has this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u32>,
}

/// Arguments of `memory transition`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory transition pln#1 in_progress --as alice
  althing memory transition asgn#1 progress --reason 'half of it' --artifact file=src/a.rs --as bob
  althing memory transition clm#4 released --plan-status done --as alice
  althing memory transition cnd#2 merged --merged-into cst#1
  althing memory transition clm#4 released --override --reason 'gone for a week' --user ada")]
pub(crate) struct MemoryTransition {
    /// The record.
    pub(crate) id: String,
    /// The new state; `progress` reports on a started assignment.
    #[arg(value_name = "STATE", value_parser = STEPS, hide_possible_values = true)]
    pub(crate) to: String,
    /// The reason, or a progress report.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// With a claim or an assignment: the new state of its plan.
    #[arg(long, value_name = "STATE", value_parser = PLAN_ENDS)]
    pub(crate) plan_status: Option<String>,
    /// The record a candidate was merged into.
    #[arg(long, value_name = "ID")]
    pub(crate) merged_into: Option<String>,
    /// With progress: a result so far; repeat for more.
    #[arg(long = "artifact", value_name = "TYPE=REF")]
    pub(crate) artifacts: Vec<String>,
    /// End somebody else's claim (people only).
    #[arg(long = "override")]
    pub(crate) overrides: bool,
    /// Only if the record still has this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u32>,
}

/// Arguments of `remember`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing remember 'Generated files are never edited by hand' --path gen
  althing remember --kind trap 'cargo test needs a C compiler' --tag build
  althing remember --kind decision 'One file per command'")]
pub(crate) struct Remember {
    /// The text; `-` reads it from standard input.
    pub(crate) text: String,
    /// The kind of record.
    #[arg(long, value_name = "KIND", default_value = "constraint")]
    #[arg(value_parser = REMEMBERED_KINDS)]
    pub(crate) kind: String,
    /// A tag; repeat for more.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// A path it is about; repeat for more.
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

/// Arguments of `ask`.
#[derive(Debug, Args)]
#[command(after_help = "\
Finds records by their words and paths. It only quotes; it never writes answers of its own.

Example:
  althing ask 'how are generated files treated?' --path gen/api.rs")]
pub(crate) struct Ask {
    /// The question, in any words.
    pub(crate) question: String,
    /// The path you work on.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// The most answers to print, from 1 to 500.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) limit: usize,
}

/// Arguments of `board`.
#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// Only numbers.
    #[arg(long)]
    pub(crate) summary: bool,
}
