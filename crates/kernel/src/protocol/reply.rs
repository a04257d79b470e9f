//! Replies: what a command that was carried out returns.

use serde::Serialize;

use crate::model::identity::agent::AgentView;
use crate::model::identity::user::view::UserView;
use crate::model::knowledge::blackboard::view::CommonsReply;
use crate::model::knowledge::records as remembered;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::leasing::view::{LeaseView, SessionView};
use crate::model::runs::approvals::view::{EscalationView, GateView, HighwayView};
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

/// What a command that was carried out returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// The lease it was about (as it was, if it ended).
    Lease(LeaseView),
    /// The session it opened.
    Session(SessionView),
    /// The person it was about.
    User(Box<UserView>),
    /// The workspace it was about.
    Workspace(Box<WorkspaceView>),
    /// The envelope it sent.
    Envelope(Box<EnvelopeView>),
    /// What was in the inbox.
    Mail(Mail),
    /// What became of a signal.
    Signal(SignalReply),
    /// The checkpoint it created.
    Checkpoint(Box<CheckpointView>),
    /// The graph it planned.
    Graph(GraphReply),
    /// The task it was about.
    Task(Box<TaskView>),
    /// The tasks it was about.
    Tasks(Vec<TaskView>),
    /// The right it was about (as it was, if it is gone).
    Right(RightView),
    /// How a merge stands.
    Integration(IntegrationReply),
    /// What waits for a person now, or how a gate ended.
    Gate(Box<GateView>),
    /// The escalation it answered.
    Escalation(Box<EscalationView>),
    /// The highway's settings.
    Highway(Box<HighwayView>),
    /// What the workspace it was about has used.
    Meter(Box<MeterView>),
    /// What became of the workspaces of a group.
    Batch(BatchReply),
    /// The agent it was about.
    Agent(Box<AgentView>),
    /// What it was about of what everybody shares.
    Commons(CommonsReply),
    /// What it was about of what is remembered.
    #[serde(serialize_with = "crate::model::knowledge::records::view::reply")]
    Memory(Box<MemoryReply>),
    /// How somebody sits down to work.
    Begun(Box<remembered::work::Begun>),
    /// What became of a claim that was given back.
    Finished(Box<remembered::work::Finished>),
    /// What recovery did.
    Recovery(Box<recovery::RecoveryCompleted>),
    /// Nothing in particular.
    #[serde(serialize_with = "serialize_done")]
    Done,
}

fn serialize_done<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("done", &true)?;
    map.end()
}
