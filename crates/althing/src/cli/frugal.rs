//! The arguments of `althing symbol`, `fact`, `capsule`, `brief`, `tokens`, `haid`, `validate` and
//! `shims`.

use althing_kernel::commons::ledger::By;
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

/// What to do with symbols.
#[derive(Debug, Subcommand)]
pub(crate) enum SymbolCommand {
    /// Say what a symbol stands for.
    Set {
        /// The symbol.
        id: String,
        /// What it stands for.
        value: String,
    },
    /// Show what a symbol stands for.
    Get {
        /// The symbol.
        id: String,
    },
    /// Show the first symbol that stands for something.
    Reverse {
        /// What it stands for.
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

/// What to do with facts.
#[derive(Debug, Subcommand)]
pub(crate) enum FactCommand {
    /// Write a fact down; the last one to write has said it.
    Set {
        /// What it is called.
        key: String,
        /// What it is.
        value: String,
    },
    /// Show a fact.
    Get {
        /// What it is called.
        key: String,
    },
    /// Wipe a fact off.
    Delete {
        /// What it is called.
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
  althing capsule hydrate w2        w1, then w2: what w2 builds on, and nothing else")]
pub(crate) struct CapsuleArgs {
    #[command(subcommand)]
    pub(crate) command: CapsuleCommand,
}

/// What to do with capsules.
#[derive(Debug, Subcommand)]
pub(crate) enum CapsuleCommand {
    /// Write down in ten lines what whoever goes on from here has to know.
    Write(CapsuleWrite),
    /// Show a capsule.
    Show {
        /// Which one.
        id: String,
    },
    /// List the capsules.
    List,
    /// List what capsules build on, each after what it builds on itself.
    Deps {
        /// Which ones.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Show capsules and all they build on, in that order.
    Hydrate {
        /// Which ones.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// Arguments of `capsule write`.
#[derive(Debug, Args)]
pub(crate) struct CapsuleWrite {
    /// What it is called.
    pub(crate) id: String,
    /// What changed.
    #[arg(long, value_name = "TEXT")]
    pub(crate) what: String,
    /// Where.
    #[arg(long = "where", value_name = "TEXT")]
    pub(crate) place: Option<String>,
    /// What was decided.
    #[arg(long, value_name = "TEXT")]
    pub(crate) decision: Option<String>,
    /// What to watch out for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) gotcha: Option<String>,
    /// The capsules it builds on.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) depends: Vec<String>,
}

/// Arguments of `brief`.
#[derive(Debug, Args)]
#[command(after_help = "\
A brief has the task, the symbols it names, the capsules it builds on and where the invariants are;
never the plan. What leads nowhere is listed in it, and the exit code is 1 (3 if the project could
not be read). Its tokens are counted and put on the ledger.

Example:
  althing brief --task 3.2 --spec 'implement book diff' --symbols F12,C3 --capsules w2 \\
      --invariants INVARIANTS.md#money --max-tokens 2000")]
pub(crate) struct BriefArgs {
    /// The task.
    #[arg(long)]
    pub(crate) task: String,
    /// What to do.
    #[arg(long, value_name = "TEXT")]
    pub(crate) spec: String,
    /// Symbols it names.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) symbols: Vec<String>,
    /// Capsules it builds on.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) capsules: Vec<String>,
    /// Where the invariants are: a file of the project, perhaps a heading in it.
    #[arg(long, value_name = "PATH[#ANCHOR]")]
    pub(crate) invariants: Option<String>,
    /// Leave out capsules, then symbols, until it has at most so many tokens; they are named.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Refuse what leads nowhere (the default).
    #[arg(long, conflicts_with = "lenient")]
    pub(crate) strict: bool,
    /// Show unresolved symbols in their place instead of refusing.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The role whose tokens these are.
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
Briefs, and what tools hand to agents, are counted by themselves with o200k_base. What callers
report is kept apart from what was counted.

Examples:
  althing tokens                          by role, with bars
  althing tokens --by task --csv > tokens.csv
  althing tokens count README.md
  althing tokens log --role coder --kind task_result --file result.json
  althing tokens baseline orchestration 41000
  althing tokens delta                    what was saved, and what remains after the tools' own cost"
)]
pub(crate) struct TokensArgs {
    /// By what to sum up.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) by: TokensBy,
    /// Print comma-separated values.
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(subcommand)]
    pub(crate) command: Option<TokensCommand>,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Count the tokens of a file, or of standard input with `-`.
    Count {
        /// The file.
        file: PathBuf,
    },
    /// Put tokens on the ledger, counted or as reported.
    Log(TokensLog),
    /// Say what a role used before.
    Baseline {
        /// The role.
        role: String,
        /// How many tokens.
        tokens: u64,
    },
    /// Compare what roles used with what they used before.
    Delta {
        /// Only this role.
        #[arg(long)]
        role: Option<String>,
    },
}

/// Arguments of `tokens log`.
#[derive(Debug, Args)]
pub(crate) struct TokensLog {
    /// Whose they are.
    #[arg(long)]
    pub(crate) role: String,
    /// Of what.
    #[arg(long)]
    pub(crate) kind: String,
    /// How many, as reported.
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
A HAID names the person, the machine, the project and perhaps the role: haid:rj.mbp-680e/cursor.
To Althing it is the agent haid:rj.mbp-680e+cursor.

Examples:
  althing haid
  althing haid --role cursor
  althing claim src --as $(althing haid --role cursor --agent)")]
pub(crate) struct HaidArgs {
    /// The HAID of somebody started from here, with this role.
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Print the name of the agent that it is.
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
Makes heimdall-resolve, heimdall-brief and the other names in a folder, as links to this program.
Files of that name which are something else are left alone, and the exit code is 1.

Example:
  althing shims ~/.local/bin")]
pub(crate) struct ShimsArgs {
    /// The folder.
    pub(crate) dir: PathBuf,
}
