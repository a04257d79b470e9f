//! `althing mcp`, as the parser sees it.

use clap::{Args, ValueEnum};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Hosts start it themselves; this is what their settings say, with the whole path of the program:
  { \"mcpServers\": { \"althing\": { \"command\": \"/usr/local/bin/althing\", \"args\": [\"mcp\"] } } }

Examples:
  althing mcp                          serve the project around the current folder
  althing mcp --project ~/work/app     serve that one, wherever the host starts
  althing mcp --as reviewer            whoever asks acts as the agent `reviewer`
  althing mcp --dialect memory         with the tools around what the project remembers

It ends when standard input does. docs/mcp.md says how to wire Claude Code, Cursor, Copilot and
Codex.")]
pub(crate) struct Mcp {
    /// Which tools to offer.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: McpDialect,
    /// Answer in lines, and set the project up if there is none: what `heimdall-ledger-mcp` does.
    #[arg(long, hide = true)]
    pub(crate) drop_in: bool,
}

/// Sets of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpDialect {
    /// Claims, capsules, decisions, conflicts: six tools.
    #[default]
    Frugal,
    /// What the project remembers: work, context, find, get, create, update, transition.
    Memory,
    /// Both.
    All,
}
