//! Types of `work`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::admission::{Limits, Standing};
use crate::model::runs::envelope::inbox::NoticeView;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::news::News;
use crate::model::runs::task;
use crate::model::runs::workspace::liveness::Quiet;
use crate::values::id::{CheckpointId, EnvelopeId, GraphId, TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::token::{RoleName, TypeName};

/// A question about one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfWorkspace {
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `inbox.list`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxList {
    /// Also what was taken before, and what is still on its way.
    #[serde(default)]
    pub all: bool,
    /// Whose inbox.
    pub workspace: WorkspaceId,
}

/// `envelope.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfEnvelope {
    /// Which envelope.
    pub envelope: EnvelopeId,
}

/// `checkpoint.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfCheckpoint {
    /// Which checkpoint.
    pub checkpoint: CheckpointId,
}

/// `task.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskList {
    /// Also those of runs that are over; without, those of the newest run.
    pub all: bool,
    /// Only those of this graph.
    pub graph: Option<GraphId>,
    /// Only those in this state.
    pub status: Option<task::Status>,
}

/// `task.ready`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskReady {
    /// Only those of this graph.
    pub graph: Option<GraphId>,
}

/// `task.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfTask {
    /// Which task.
    pub task: TaskId,
}

/// What is in an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InboxView {
    /// Whose inbox.
    pub workspace: WorkspaceId,
    /// The envelopes, most pressing first.
    pub envelopes: Vec<EnvelopeView>,
    /// The signals, in the order they came.
    pub signals: Vec<NoticeView>,
    /// What else the coordinator is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// The workspaces in which nothing happens; for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<Quiet>,
}

/// The run that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunView {
    /// Its root.
    pub root: WorkspaceId,
    /// The agent that coordinates; none if the system and people do.
    pub coordinator: Option<AgentName>,
    /// How many workspaces go on, the root included.
    pub live: usize,
    /// What it has room for, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// How much of that is in use; how much disk is free is not known here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub room: Vec<Standing>,
    /// Its taxonomy, if it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<TaxonomyName>,
    /// Its roles.
    pub roles: Vec<RoleName>,
    /// Its types of envelopes.
    pub envelope_types: Vec<TypeName>,
}

/// Which taxonomy it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaxonomyName {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
}
