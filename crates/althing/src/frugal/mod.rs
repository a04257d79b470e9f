//! Code shared by both command lines of the frugal dialect: `althing symbol …` and
//! `heimdall-resolve …`.

mod briefs;
mod identity;
mod shared;
pub(crate) mod shims;
pub(crate) mod waves;

pub(crate) use briefs::{Order, build, counted, log_line};
pub(crate) use identity::own_haid;
pub(crate) use shared::{agent_name, handle, label, text};
pub(crate) use shims::MCP_NAME;
