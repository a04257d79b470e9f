//! Processes of agents: which program works in a workspace, and how it ended.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::meter::Amount;
use crate::values::id::WorkspaceId;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The program that works, or last worked, in a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The kind of agent program, such as `claude`.
    pub program: Text<64>,
    /// The name by which the program continues its conversation, once it is known.
    pub session: Option<Text<200>>,
    /// How many processes were started in the workspace.
    pub started: u32,
    /// When the last one was started.
    pub since: Timestamp,
    /// How the last one ended; none while it runs.
    pub ended: Option<Outcome>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended by itself and reported success.
    Finished,
    /// It ended by itself with a failure.
    Failed,
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended by order: a suspension, an abort, a stop.
    Stopped,
    /// Its provider refused more requests for now. The same work goes on later.
    RateLimited,
    /// Nobody saw how it ended, because its machine or its supervisor died.
    Lost,
}

/// `workspace.process`: records that an agent's process began or ended in a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How it ended; left out if it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Outcome>,
    /// The exit code, if it ended with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The kind of agent program, such as `claude`.
    pub program: Text<64>,
    /// The reason, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The name by which the program continues its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<200>>,
    /// When work can go on after a rate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How long it ran, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Amount>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `process.started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The kind of agent program.
    pub program: Text<64>,
    /// The conversation that it continues, if it continues one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<200>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `process.ended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The exit code, if it ended with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended.
    pub outcome: Outcome,
    /// The kind of agent program.
    pub program: Text<64>,
    /// The reason, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The name by which the program continues its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<200>>,
    /// When work can go on after a rate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How long it ran, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Amount>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
