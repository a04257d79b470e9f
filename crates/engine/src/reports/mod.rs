//! Reports from the trail, each made in one pass over the entries.
//!
//! | Report | Contents |
//! |---|---|
//! | [`runs`] | results and cost of a run, and a comparison of two |
//! | [`timeline`] | the entries of one workspace, and its time in each state |
//! | [`flow`] | messages between workspaces, and which were concurrent |
//! | [`approvals`] | requests to people, and their answers |
//! | [`failures`] | bursts of similar failures |
//! | [`stats`] | counts and sums over entries, grouped |
//!
//! Bodies are read without checking their types, so that roles and types of another run's taxonomy,
//! and kinds of another version, are shown by their names.

pub mod approvals;
pub mod failures;
pub mod flow;
pub mod lanes;
pub mod runs;
pub mod stats;
pub mod timeline;
mod usage;

use schemars::JsonSchema;
use serde::Deserialize;

use althing_kernel::WorkspaceId;

/// Selects a run: the current one or else the last one, if none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfRun {
    /// The root of the run.
    pub run: Option<WorkspaceId>,
}
