//! Doors: the ways in for callers.

use crate::values::closed_set::closed_set;

closed_set! {
    /// The way in that a request came through. The channel says it, never the caller.
    Door {
        /// A command of the command line.
        CommandLine "command_line",
        /// A request by its name: `althing do`.
        Do "do",
        /// A program of the frugal dialect.
        Heimdall "heimdall",
        /// A tool of the frugal dialect, over MCP.
        McpFrugal "mcp_frugal",
        /// A host that uses the native tools.
        McpNative "mcp_native",
        /// A host that uses the tools of WACP.
        McpWacp "mcp_wacp",
        /// A tool of the memory dialect, over MCP.
        McpMemory "mcp_memory",
        /// A hook of an agent, an editor or git.
        Hook "hook",
    }
}
