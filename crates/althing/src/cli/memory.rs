//! The arguments of `althing memory`, `remember`, `ask` and `board`.

use clap::{Args, Subcommand, ValueEnum};

use super::choices::{KINDS, PLAN_ENDS, REMEMBERED_KINDS, STATES, STEPS};
use super::lanes::{MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop, MemorySweep};

/// Arguments of `memory`.
#[derive(Debug, Args)]
#[command(after_help = "\
Eight kinds of things are remembered: constraint, decision, trap, plan, claim, handoff, candidate and
assignment; message, sequence and loop belong to them. A claim is a lease, so what is claimed here is
held against every other door. `--json` prints what agents get over MCP. docs/memory.md is a guide.

Examples:
  althing memory work consult --as alice
  althing memory create plan 'Rewrite the parser' --set priority=high --set steps='[\"read\",\"write\"]'
  althing memory work execute --scope src/parser --plan pln#1 --as alice
  althing memory find plan --status open
  althing memory transition pln#1 done --as alice")]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
}

/// What to do with the memory of a project.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Sit down: open a session, see what to know, claim what you will work on.
    Work(MemoryWork),
    /// Read what is shared: memory, environment, board, or what changed.
    Context(MemoryContext),
    /// List things, newest first.
    Find(MemoryFind),
    /// Show one thing whole.
    Get(MemoryGet),
    /// Remember something.
    Create(MemoryCreate),
    /// Change what something says.
    Update(MemoryUpdate),
    /// Move something along its lifecycle.
    Transition(MemoryTransition),
    /// Mark a step of a plan done; the last one finishes the plan.
    CompleteStep {
        /// The plan.
        plan: String,
        /// The step, such as `stp_1`.
        step: String,
    },
    /// Put something away that is over; the trail keeps it.
    Remove {
        /// Which.
        id: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Give work to other agents, or ask them.
    Coordinate(Box<MemoryCoordinate>),
    /// See which plans of the sequence are ready, and give them out.
    Dispatch(Box<MemoryDispatch>),
    /// Work in rounds: phases, and slots that take turns.
    Loop(Box<MemoryLoop>),
    /// Look for assignments that are silent; none is given up that shows life.
    Sweep(MemorySweep),
    /// Take in results that workers left in their worktrees.
    Harvest(MemoryHarvest),
}

/// What one sits down for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryIntent {
    /// To change something; with a scope, that is claimed.
    Execute,
    /// To look.
    Consult,
    /// To take up what was left.
    Resume,
    /// To look over somebody else's work.
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
    /// What for.
    #[arg(value_enum)]
    pub(crate) intent: MemoryIntent,
    /// Paths or globs below the project's root, with commas between.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// The plan it belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// What you are about to do.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// How long the claim lasts without a sign of you: 30m, 4h (the default), 2d.
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<String>,
    /// Go on despite a conflict, without a claim.
    #[arg(long)]
    pub(crate) advisory: bool,
    /// All of each list, as far as the budget goes.
    #[arg(long)]
    pub(crate) full: bool,
    /// The most tokens of the answer.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// What to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemorySight {
    /// What is remembered, ranked.
    Memory,
    /// Where you are and who you are.
    Execution,
    /// Who works on what.
    Board,
    /// The same in numbers.
    #[value(alias = "board_summary")]
    BoardSummary,
    /// What changed.
    Delta,
}

/// Arguments of `memory context`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing memory context memory --path src/parser/lex.rs --query 'unary minus'
  althing memory context delta --since 2h
  althing memory context delta --since 2026-06-11T12:00Z
  althing memory context delta --since 120         since entry 120 of the trail")]
pub(crate) struct MemoryContext {
    /// What to read.
    #[arg(value_enum)]
    pub(crate) kind: MemorySight,
    /// For delta: how long ago, a time in UTC, a session, or the number of an entry of the trail.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// For memory: the path at hand.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// For memory: the task at hand, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// How many items at most, from 1 to 500.
    #[arg(long, value_name = "N")]
    pub(crate) max_items: Option<usize>,
    /// With what is only proposed.
    #[arg(long)]
    pub(crate) pending: bool,
    /// The most tokens of the answer.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// Arguments of `memory find`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is not archived is listed, however it stands. Left out unless --status asks for them: claims
that were released or ran out, and candidates that were accepted, rejected or merged. What came
from an older house is left out unless --legacy is said, and what a program noticed without being
sure unless --min-confidence lets it pass. What is left out is said.

Examples:
  althing memory find plan --status open
  althing memory find decision --tag storage --tag format      any of these tags
  althing memory find claim --scope src --json
  althing memory find assignment --agent me --as alice         yours")]
pub(crate) struct MemoryFind {
    /// Which kind of things.
    #[arg(value_name = "KIND", value_parser = KINDS)]
    pub(crate) entity: String,
    /// Only what stands so; a state that the kind does not have is answered with those it has.
    #[arg(long, value_name = "STATE", value_parser = STATES, hide_possible_values = true)]
    pub(crate) status: Option<String>,
    /// Only what has any of these tags.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only what this one wrote; `me` is you, here and below.
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Only what belongs to this plan.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Only what came from there.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Only claims, assignments and messages of this agent.
    #[arg(long = "agent", value_name = "NAME")]
    pub(crate) of_agent: Option<String>,
    /// Only messages and handoffs to this one.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only plans of this one.
    #[arg(long, value_name = "NAME")]
    pub(crate) assignee: Option<String>,
    /// Only claims that overlap this.
    #[arg(long, value_name = "PATHS")]
    pub(crate) scope: Option<String>,
    /// With what came from an older house.
    #[arg(long)]
    pub(crate) legacy: bool,
    /// How sure what programs noticed has to be, from 0 to 1.
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_confidence: Option<f64>,
    /// How many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many to pass over.
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<usize>,
    /// The most tokens of the answer.
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
}

/// Arguments of `memory get`.
#[derive(Debug, Args)]
pub(crate) struct MemoryGet {
    /// Which: `pln#1`, `pln_00000001`.
    pub(crate) id: String,
    /// The most tokens of the answer.
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
    /// Which kind of thing.
    #[arg(value_name = "KIND", value_parser = KINDS)]
    pub(crate) entity: String,
    /// What it says.
    pub(crate) text: Option<String>,
    /// What it is filed under.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// What else it says. JSON is taken as such.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// All of it, as a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// Your name for this request: repeating it repeats nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

/// Arguments of `memory update`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing memory update pln#1 --text 'Rewrite the lexer first' --set priority=urgent --clear assignee")]
pub(crate) struct MemoryUpdate {
    /// Which.
    pub(crate) id: String,
    /// What it says now.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// What it is filed under now.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// What else it says now. JSON is taken as such.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// What it no longer says.
    #[arg(long = "clear", value_name = "FIELD")]
    pub(crate) clear: Vec<String>,
    /// Only if it is still this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u64>,
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
    /// Which.
    pub(crate) id: String,
    /// The state to enter; `progress` tells how a started assignment goes (its agent).
    #[arg(value_name = "STATE", value_parser = STEPS, hide_possible_values = true)]
    pub(crate) to: String,
    /// Why, or how it goes.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// With a claim or an assignment: what becomes of its plan, done or blocked.
    #[arg(long, value_name = "STATE", value_parser = PLAN_ENDS)]
    pub(crate) plan_status: Option<String>,
    /// What a candidate was merged into.
    #[arg(long, value_name = "ID")]
    pub(crate) merged_into: Option<String>,
    /// With progress: what came of it so far (repeatable).
    #[arg(long = "artifact", value_name = "TYPE=REF")]
    pub(crate) artifacts: Vec<String>,
    /// End somebody else's claim (people only).
    #[arg(long = "override")]
    pub(crate) overrides: bool,
    /// Only if it is still this version.
    #[arg(long, alias = "expect-version", value_name = "N")]
    pub(crate) expected_version: Option<u64>,
}

/// Arguments of `remember`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing remember 'Generated files are never edited by hand' --path gen
  althing remember --kind trap 'cargo test needs a C compiler' --tag build
  althing remember --kind decision 'One file per command'")]
pub(crate) struct Remember {
    /// What.
    pub(crate) text: String,
    /// As which kind of thing.
    #[arg(long, value_name = "KIND", default_value = "constraint")]
    #[arg(value_parser = REMEMBERED_KINDS)]
    pub(crate) kind: String,
    /// What it is filed under.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The paths it is about.
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

/// Arguments of `ask`.
#[derive(Debug, Args)]
#[command(after_help = "\
Finds what is remembered by its words and paths; nothing is made up.

Example:
  althing ask 'how are generated files treated?' --path gen/api.rs")]
pub(crate) struct Ask {
    /// The question, in any words.
    pub(crate) question: String,
    /// The path at hand.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// How many answers at most, from 1 to 500.
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
