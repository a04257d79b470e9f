//! Replies: the results of commands that were carried out.

use serde::Serialize;

use crate::model::identity::agent::AgentView;
use crate::model::identity::user::view::UserView;
use crate::model::knowledge::blackboard::view::BlackboardReply;
use crate::model::knowledge::records as remembered;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::leasing::view::{LeaseView, SessionView, Used};
use crate::model::runs::approvals::view::{ApprovalsView, EscalationView, GateView};
use crate::model::runs::checkpoint::CheckpointView;
use crate::model::runs::envelope::inbox::Mail;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::integration::IntegrationReply;
use crate::model::runs::recovery;
use crate::model::runs::right::RightView;
use crate::model::runs::signal::SignalReply;
use crate::model::runs::task::graph::GraphReply;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::account::MeterView;
use crate::model::runs::workspace::group::BatchReply;
use crate::model::runs::workspace::view::WorkspaceView;

/// The result of a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// The lease (in its last state, if it ended).
    Lease(LeaseView),
    /// The leases of files that may be changed.
    Used(Box<Used>),
    /// The session it opened.
    Session(SessionView),
    /// The person.
    User(Box<UserView>),
    /// The workspace.
    Workspace(Box<WorkspaceView>),
    /// The envelope it sent.
    Envelope(Box<EnvelopeView>),
    /// The mail taken from the inbox.
    Mail(Mail),
    /// The outcome of a signal.
    Signal(SignalReply),
    /// The checkpoint it created.
    Checkpoint(Box<CheckpointView>),
    /// The graph it planned.
    Graph(GraphReply),
    /// The task.
    Task(Box<TaskView>),
    /// The tasks.
    Tasks(Vec<TaskView>),
    /// The right (in its last state, if it is gone).
    Right(RightView),
    /// The progress of a merge.
    Integration(IntegrationReply),
    /// The gate that now waits for a person, or was resolved.
    Gate(Box<GateView>),
    /// The escalation it answered.
    Escalation(Box<EscalationView>),
    /// The approval settings.
    Approvals(Box<ApprovalsView>),
    /// The resources the workspace has used.
    Meter(Box<MeterView>),
    /// The outcome for the workspaces of a group.
    Batch(BatchReply),
    /// The agent.
    Agent(Box<AgentView>),
    /// The result of a blackboard command.
    Blackboard(BlackboardReply),
    /// The result of a command about records.
    #[serde(serialize_with = "crate::model::knowledge::records::view::reply")]
    Memory(Box<MemoryReply>),
    /// The result of `work.begin`.
    Begun(Box<remembered::work::Begun>),
    /// The result of `work.next`.
    Next(Box<remembered::next::NextTask>),
    /// The result of `work.finish`.
    Finished(Box<remembered::work::Finished>),
    /// The summary of a recovery.
    Recovery(Box<recovery::RecoveryCompleted>),
    /// No result but success.
    #[serde(serialize_with = "serialize_done")]
    Done,
}

fn serialize_done<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("done", &true)?;
    map.end()
}
