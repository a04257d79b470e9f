//! `althing mcp`, as the parser sees it.

use clap::{Args, ValueEnum};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Hosts start this command themselves. Their settings name it, with the full path of the program:
  { \"mcpServers\": { \"althing\": { \"command\": \"/usr/local/bin/althing\", \"args\": [\"mcp\"] } } }

Examples:
  althing mcp                          serve the project of this folder
  althing mcp --project ~/work/app     serve that project
  althing mcp --as reviewer            act as the agent `reviewer`
  althing mcp --dialect memory         for hosts that speak that protocol by name

The server ends when standard input ends. docs/how-to/connect-mcp-hosts.md shows the settings of
Claude Code, Cursor, Copilot and Codex.")]
pub(crate) struct Mcp {
    /// Which tools to offer.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: McpDialect,
    /// Answer in lines, and create a missing project: the behaviour of `heimdall-ledger-mcp`.
    #[arg(long, hide = true)]
    pub(crate) drop_in: bool,
}

/// Sets of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpDialect {
    /// One small vocabulary, from taking a task to handing it in: eleven tools.
    #[default]
    Native,
    /// Claims, capsules, decisions, conflicts, as `heimdall-ledger-mcp` has them: six tools.
    Frugal,
    /// The shared memory: work, context, find, get, create, update, transition and more.
    Memory,
    /// The nouns of WACP: tasks, inboxes, signals, checkpoints, integration.
    Wacp,
    /// All of them.
    All,
}
