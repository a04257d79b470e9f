//! Views of the trail: one pass over the entries, and a picture of what they come to.
//!
//! | View | Answers |
//! |---|---|
//! | [`runs`] | what a run came to, and one beside another |
//! | [`timeline`] | what happened in one workspace, and how long it stood how |
//! | [`flow`] | who wrote to whom, and what did not depend on what |
//! | [`highway`] | what people were asked and said |
//!
//! Bodies are read as they stand, so that roles and types of another run's taxonomy, and kinds
//! of another version, are shown by their names.

pub mod flow;
pub mod highway;
pub mod lanes;
pub mod runs;
pub mod timeline;
mod usage;

use schemars::JsonSchema;
use serde::Deserialize;

use althing_kernel::WorkspaceId;

/// Which run is asked about: the one that goes on or else the last one, if none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfRun {
    /// The root of the run.
    pub run: Option<WorkspaceId>,
}
