//! The arguments of `althing symbol`, `fact`, `capsule`, `brief`, `tokens`, `haid`, `validate` and
//! `shims`.

use althing_kernel::blackboard::ledger::By;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Arguments of `symbol`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing symbol set F12 src/matching/engine.ts
  althing symbol get F12
  althing symbol reverse src/matching/engine.ts
  althing symbol list --json")]
pub(crate) struct SymbolArgs {
    #[command(subcommand)]
    pub(crate) command: SymbolCommand,
}

/// Subcommands of `symbol`.
#[derive(Debug, Subcommand)]
pub(crate) enum SymbolCommand {
    /// Define a symbol.
    Set {
        /// The symbol.
        id: String,
        /// The value.
        value: String,
    },
    /// Print the value of a symbol.
    Get {
        /// The symbol.
        id: String,
    },
    /// Print the first symbol with this value.
    Reverse {
        /// The value.
        value: String,
    },
    /// List the symbols.
    List,
}

/// Arguments of `fact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing fact set dev_port 5173
  althing fact get dev_port
  althing fact delete dev_port")]
pub(crate) struct FactArgs {
    #[command(subcommand)]
    pub(crate) command: FactCommand,
}

/// Subcommands of `fact`.
#[derive(Debug, Subcommand)]
pub(crate) enum FactCommand {
    /// Set a fact; the last writer wins.
    Set {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// Print a fact.
    Get {
        /// The key.
        key: String,
    },
    /// Delete a fact.
    Delete {
        /// The key.
        key: String,
    },
    /// List the facts.
    List,
}

/// Arguments of `capsule`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing capsule write w1 --what 'added the engine' --where F12 --gotcha 'seed must be fixed'
  althing capsule write w2 --what 'added the diff' --depends w1
  althing capsule hydrate w2        w1, then w2, which builds on it")]
pub(crate) struct CapsuleArgs {
    #[command(subcommand)]
    pub(crate) command: CapsuleCommand,
}

/// Subcommands of `capsule`.
#[derive(Debug, Subcommand)]
pub(crate) enum CapsuleCommand {
    /// Write a capsule: what the next worker has to know, in ten lines.
    Write(CapsuleWrite),
    /// Show a capsule.
    Show {
        /// The capsule.
        id: String,
    },
    /// List the capsules.
    List,
    /// List the capsules that these build on, dependencies first.
    Deps {
        /// The capsules.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Print capsules and all they build on, dependencies first.
    Hydrate {
        /// The capsules.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// Arguments of `capsule write`.
#[derive(Debug, Args)]
pub(crate) struct CapsuleWrite {
    /// The id of the capsule.
    pub(crate) id: String,
    /// The change, in a sentence. A capsule has at most ten lines in all.
    #[arg(long, value_name = "TEXT")]
    pub(crate) what: String,
    /// Where it changed.
    #[arg(long = "where", value_name = "TEXT")]
    pub(crate) place: Option<String>,
    /// The decision that was made.
    #[arg(long, value_name = "TEXT")]
    pub(crate) decision: Option<String>,
    /// A trap to watch out for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) gotcha: Option<String>,
    /// The capsules it builds on.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) depends: Vec<String>,
}

/// Arguments of `brief`.
#[derive(Debug, Args)]
#[command(after_help = "\
A brief has the task, the symbols it names, the capsules it builds on and where the invariants are.
References that cannot be resolved are listed, and the exit code is 1. The tokens of the brief are counted and logged.

Example:
  althing brief --task 3.2 --spec 'implement book diff' --symbols F12,C3 --capsules w2 \\
      --invariants INVARIANTS.md#money --max-tokens 2000")]
pub(crate) struct BriefArgs {
    /// The id of the task.
    #[arg(long)]
    pub(crate) task: String,
    /// The task in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) spec: String,
    /// Symbols it names.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) symbols: Vec<String>,
    /// Capsules it builds on.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) capsules: Vec<String>,
    /// Where the invariants are: a file of the project, and optionally a heading.
    #[arg(long, value_name = "PATH[#ANCHOR]")]
    pub(crate) invariants: Option<String>,
    /// Leave out capsules, then symbols, until the brief fits; what was left out is listed.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Refuse a brief with unresolved references (the default).
    #[arg(long, conflicts_with = "lenient")]
    pub(crate) strict: bool,
    /// Accept unresolved references, and mark them.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The role the tokens are logged for.
    #[arg(long, value_name = "ROLE", default_value = "orchestration")]
    pub(crate) role: String,
}

/// By what tokens are summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokensBy {
    /// By role.
    #[default]
    Role,
    /// By agent.
    Agent,
    /// By task.
    Task,
    /// By tool.
    Tool,
    /// By kind of message.
    Kind,
}

impl TokensBy {
    pub(crate) fn by(self) -> By {
        match self {
            TokensBy::Role => By::Role,
            TokensBy::Agent => By::Agent,
            TokensBy::Task => By::Task,
            TokensBy::Tool => By::Tool,
            TokensBy::Kind => By::Kind,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            TokensBy::Role => "role",
            TokensBy::Agent => "agent",
            TokensBy::Task => "task",
            TokensBy::Tool => "tool",
            TokensBy::Kind => "kind",
        }
    }
}

/// Arguments of `tokens`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Briefs and the answers of MCP tools are counted automatically, with the tokenizer o200k_base.
Numbers that callers report are kept apart from counted ones.

Examples:
  althing tokens                          by role, with bars
  althing tokens --by task --csv > tokens.csv
  althing tokens count README.md
  althing tokens log --role coder --kind task_result --file result.json
  althing tokens baseline orchestration 41000
  althing tokens delta                    savings less the cost of tools"
)]
pub(crate) struct TokensArgs {
    /// Sum up by this.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: TokensBy,
    /// Print comma-separated values.
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(subcommand)]
    pub(crate) command: Option<TokensCommand>,
}

/// Subcommands of `tokens`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Count the tokens of a file, or of standard input with `-`.
    Count {
        /// The file.
        file: PathBuf,
    },
    /// Log tokens, counted or as reported.
    Log(TokensLog),
    /// Record what a role used before, to compare with.
    Baseline {
        /// The role.
        role: String,
        /// How many tokens.
        tokens: u64,
    },
    /// Compare what roles use with their baselines.
    Delta {
        /// Only this role.
        #[arg(long)]
        role: Option<String>,
    },
}

/// Arguments of `tokens log`.
#[derive(Debug, Args)]
pub(crate) struct TokensLog {
    /// The role that used them.
    #[arg(long)]
    pub(crate) role: String,
    /// The kind of message.
    #[arg(long)]
    pub(crate) kind: String,
    /// The number, as reported.
    #[arg(long, value_name = "N", required_unless_present_any = ["file", "text"])]
    #[arg(conflicts_with_all = ["file", "text"])]
    pub(crate) tokens: Option<u64>,
    /// Count this file.
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
    /// Count this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The message they belong to.
    #[arg(long, value_name = "ID")]
    pub(crate) msg_id: Option<String>,
    /// The agent they belong to.
    #[arg(long = "agent", value_name = "NAME")]
    pub(crate) of_agent: Option<String>,
    /// The task they belong to.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// The tool they belong to.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
}

/// Arguments of `haid`.
#[derive(Debug, Args)]
#[command(after_help = "\
A HAID names the person, the machine, the project and optionally a role: haid:rj.mbp-680e/cursor.
To Althing it is the agent haid:rj.mbp-680e+cursor.

Examples:
  althing haid
  althing haid --role cursor
  althing claim src --as $(althing haid --role cursor --agent)")]
pub(crate) struct HaidArgs {
    /// Add this role.
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Print it as the name of an agent.
    #[arg(long = "agent")]
    pub(crate) as_agent: bool,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing validate message.json
  echo '{\"type\":\"question\",\"from\":\"a\",\"msg_id\":\"q1\",\"question\":\"Port?\"}' | althing validate -
  althing validate --schema")]
pub(crate) struct ValidateArgs {
    /// A file with one message; `-` is standard input.
    #[arg(required_unless_present = "schema")]
    pub(crate) file: Option<PathBuf>,
    /// Print the JSON Schema of messages.
    #[arg(long, conflicts_with = "file")]
    pub(crate) schema: bool,
}

/// Arguments of `shims`.
#[derive(Debug, Args)]
#[command(after_help = "\
Creates heimdall-resolve, heimdall-brief and the others in a folder, as links to this program.
Other files of those names are left alone; then the exit code is 1.

Example:
  althing shims ~/.local/bin")]
pub(crate) struct ShimsArgs {
    /// The folder.
    pub(crate) dir: PathBuf,
}
