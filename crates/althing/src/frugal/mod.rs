//! What both command lines of the frugal dialect share: `althing symbol …` and `heimdall-resolve …`.

mod briefs;
mod desk;
mod identity;
pub(crate) mod shims;
pub(crate) mod waves;

pub(crate) use briefs::{Order, build, capsule_text, counted, is_handle, strings};
pub(crate) use desk::{Desk, agent_name};
pub(crate) use identity::own_haid;
pub(crate) use shims::MCP_NAME;
