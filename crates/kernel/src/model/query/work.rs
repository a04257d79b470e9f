//! Queries about runs, inboxes, envelopes, checkpoints and tasks.

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

/// A query about one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfWorkspace {
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `inbox.list`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxList {
    /// Include mail that was already taken, and mail still in transit.
    #[serde(default)]
    pub all: bool,
    /// The workspace whose inbox it is.
    pub workspace: WorkspaceId,
}

/// `envelope.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfEnvelope {
    /// The envelope.
    pub envelope: EnvelopeId,
}

/// `checkpoint.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfCheckpoint {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// `task.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskList {
    /// Include tasks of ended runs; by default only those of the newest run.
    pub all: bool,
    /// Only tasks of this graph.
    pub graph: Option<GraphId>,
    /// Only tasks in this state.
    pub status: Option<task::Status>,
}

/// `task.ready`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskReady {
    /// Only tasks of this graph.
    pub graph: Option<GraphId>,
}

/// `task.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfTask {
    /// The task.
    pub task: TaskId,
}

/// The content of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InboxView {
    /// The workspace whose inbox it is.
    pub workspace: WorkspaceId,
    /// The envelopes, most urgent first.
    pub envelopes: Vec<EnvelopeView>,
    /// The signals, in order of arrival.
    pub signals: Vec<NoticeView>,
    /// Other news for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// Workspaces without activity; for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<Quiet>,
}

/// The current run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunView {
    /// Its root workspace.
    pub root: WorkspaceId,
    /// The coordinating agent; none if the system and people coordinate.
    pub coordinator: Option<AgentName>,
    /// The number of live workspaces, including the root.
    pub live: usize,
    /// Its resource limits, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The use of those limits; free disk space is not known here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub room: Vec<Standing>,
    /// Its taxonomy, if it has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<TaxonomyName>,
    /// Its roles.
    pub roles: Vec<RoleName>,
    /// Its types of envelopes.
    pub envelope_types: Vec<TypeName>,
}

/// The id and version of a taxonomy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaxonomyName {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
}
