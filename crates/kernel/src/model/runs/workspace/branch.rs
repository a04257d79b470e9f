//! Workspaces in git: the branch that the files of a workspace are on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::git::{BranchName, CommitId};
use crate::values::id::WorkspaceId;

/// The branch that the files of a workspace are on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its name.
    pub name: BranchName,
    /// The commit that the work began with.
    pub base: CommitId,
    /// The newest commit on record: the base, or the last merge into it.
    pub tip: CommitId,
}

/// `workspace.branch`: records the branch that the files of a workspace are on. Said again for the
/// same branch, it records that somebody else has moved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBranch {
    /// The commit that the work begins with.
    pub base: CommitId,
    /// The branch.
    pub branch: BranchName,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace.branched`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branched {
    /// The commit that the work begins with.
    pub base: CommitId,
    /// The branch.
    pub branch: BranchName,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A merge that git has prepared: a commit on top of the newest one of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The branch that it goes to.
    pub branch: BranchName,
    /// The commit that the branch is at afterwards.
    pub commit: CommitId,
    /// The fencing epoch of the lease under which the work was done, if it was done under one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The commit that the branch is at before.
    pub onto: CommitId,
}
