//! Taking the next task: which one is chosen, its claim and its state in one command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease::Ttl;
use crate::model::leasing::view::LeaseView;
use crate::registry::record_id::RecordId;
use crate::values::few::Few;
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::text::Text;
use crate::values::token::RoleName;

/// `work.next`: takes a task. Without `task`, the task the caller already works on, else the most
/// urgent one that is ready: everything it depends on is done, nobody else has it, and nobody else
/// holds what it is about. An attempt at it begins, and its surfaces are claimed, all at once. Of a run
/// that is a pool, its tasks are given out too, each with a workspace. Refused if nothing is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// The agent's label for its client; without one the standing session is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// Tasks of the run that the caller does not take.
    #[serde(default, skip_serializing_if = "Few::has_none")]
    pub except: Few<RecordId, 500>,
    /// The kind of agent program that will do it, such as `claude`: tasks for another kind are left
    /// to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Text<64>>,
    /// The role that the caller takes tasks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The skills that the caller has.
    #[serde(default, skip_serializing_if = "Few::has_none")]
    pub skills: Few<Text<64>, 16>,
    /// The task to take, instead of the most urgent one. One that is blocked can be taken up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<RecordId>,
    /// The time to live of the claim in seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// The reply to `work.next`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextTask {
    /// The caller's session; people have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// The task.
    pub task: RecordId,
    /// Whether it was taken just now; otherwise the caller had it already.
    pub taken: bool,
    /// The workspace of the attempt at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The claim on what the task is about; none if it names no files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<LeaseView>,
    /// The leases that were renewed because their holder is working.
    pub renewed: Vec<LeaseId>,
}
