//! The serialized form of a state: plain lists, for snapshots and for comparison in tests.

use imbl::OrdMap;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::model::admin::archive::Shelves;
use crate::model::admin::project::Project;
use crate::model::identity::agent::Agent;
use crate::model::identity::user::User;
use crate::model::knowledge::blackboard::{BlackboardImage, BlackboardState};
use crate::model::knowledge::records::MemoryImage;
use crate::model::leasing::lease::Lease;
use crate::model::leasing::session::Session;
use crate::model::runs::approvals::escalation::Escalation;
use crate::model::runs::approvals::gate::{ClosedGate, Gate};
use crate::model::runs::approvals::{ApprovalSettings, GateType};
use crate::model::runs::checkpoint::Checkpoint;
use crate::model::runs::envelope::Envelope;
use crate::model::runs::integration::Integration;
use crate::model::runs::news::News;
use crate::model::runs::recovery::WriterName;
use crate::model::runs::right::Right;
use crate::model::runs::signal::Notice;
use crate::model::runs::task::Graph;
use crate::model::runs::taxonomy::Taxonomy;
use crate::model::runs::taxonomy::document::Document;
use crate::model::runs::workspace::Workspace;
use crate::registry::apply_error::ApplyError;
use crate::values::id::{
    AnyId, CheckpointId, EnvelopeId, GateId, GraphId, LeaseId, RightId, SignalId, WorkspaceId,
};
use crate::values::key::PublicKey;
use crate::values::name::{AgentName, UserId};
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// The serialized form of a state: plain lists, for snapshots and for comparison in tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    project: Option<Project>,
    clock: Timestamp,
    epoch: u64,
    agents: Vec<(AgentName, Agent)>,
    users: Vec<(UserId, User)>,
    authenticated: Vec<((Principal, Option<WorkspaceId>), PublicKey)>,
    sessions: Vec<(WorkspaceId, Session)>,
    leases: Vec<(LeaseId, Lease)>,
    recovered: Vec<WriterName>,
    root: Option<WorkspaceId>,
    runs: Vec<(WorkspaceId, Option<Document>)>,
    workspaces: Vec<(WorkspaceId, Workspace)>,
    envelopes: Vec<(EnvelopeId, Envelope)>,
    rights: Vec<(RightId, Right)>,
    pending_signals: Vec<((WorkspaceId, Timestamp), Notice)>,
    notices: Vec<((WorkspaceId, Timestamp), Notice)>,
    news: Vec<((WorkspaceId, Timestamp), News)>,
    checkpoints: Vec<(CheckpointId, Checkpoint)>,
    graphs: Vec<(GraphId, Graph)>,
    integrations: Vec<(WorkspaceId, Integration)>,
    #[serde(rename = "highway")]
    approvals: ApprovalSettings,
    #[serde(rename = "highway_by")]
    approvals_by: Option<Principal>,
    gates: Vec<(GateId, Arc<Gate>)>,
    closed_gates: Vec<(GateId, Arc<ClosedGate>)>,
    guarded: Vec<((GateType, AnyId), GateId)>,
    escalations: Vec<(SignalId, Arc<Escalation>)>,
    shelves: Shelves,
    #[serde(rename = "commons")]
    blackboard: BlackboardImage,
    memory: MemoryImage,
    seq: u64,
}

impl State {
    /// Converts the state to plain lists.
    pub fn image(&self) -> Image {
        fn list<K: Clone + Ord, V: Clone>(map: &OrdMap<K, V>) -> Vec<(K, V)> {
            map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        fn shared<K: Clone + Ord, V: Clone>(map: &OrdMap<K, Arc<V>>) -> Vec<(K, V)> {
            map.iter().map(|(key, value)| (key.clone(), value.as_ref().clone())).collect()
        }
        let run =
            |(root, run): (&WorkspaceId, &Arc<Taxonomy>)| (root.clone(), run.document().cloned());
        Image {
            project: self.project.clone(),
            clock: self.clock,
            epoch: self.epoch,
            agents: list(&self.agents),
            users: list(&self.users),
            authenticated: list(&self.authenticated),
            sessions: list(&self.sessions),
            leases: shared(&self.leases),
            recovered: self.recovered.clone(),
            root: self.root.clone(),
            runs: self.runs.iter().map(run).collect(),
            workspaces: shared(&self.workspaces),
            envelopes: shared(&self.envelopes),
            rights: list(&self.rights),
            pending_signals: list(&self.pending_signals),
            notices: list(&self.notices),
            news: list(&self.news),
            checkpoints: shared(&self.checkpoints),
            graphs: list(&self.graphs),
            integrations: list(&self.integrations),
            approvals: ApprovalSettings::clone(&self.approvals),
            approvals_by: self.approvals_by.clone(),
            gates: list(&self.gates),
            closed_gates: list(&self.closed_gates),
            guarded: list(&self.guarded),
            escalations: list(&self.escalations),
            shelves: self.shelves.clone(),
            blackboard: self.blackboard.image(),
            memory: self.memory.image(),
            seq: self.seq,
        }
    }

    /// Rebuilds the state from its serialized form.
    pub fn from_image(image: Image) -> Result<Self, ApplyError> {
        let (blackboard, earlier) = BlackboardState::from_image(image.blackboard);
        let mut state = State {
            project: image.project,
            clock: image.clock,
            epoch: image.epoch,
            agents: image.agents.into_iter().collect(),
            users: image.users.into_iter().collect(),
            authenticated: image.authenticated.into_iter().collect(),
            recovered: image.recovered,
            root: image.root,
            pending_signals: image.pending_signals.into_iter().collect(),
            notices: image.notices.into_iter().collect(),
            news: image.news.into_iter().collect(),
            graphs: image.graphs.into_iter().collect(),
            approvals: Arc::new(image.approvals),
            approvals_by: image.approvals_by,
            guarded: image.guarded.into_iter().collect(),
            shelves: image.shelves,
            blackboard,
            seq: image.seq,
            ..State::default()
        };
        for (source, open) in image.integrations {
            state.insert_integration(source, open);
        }
        for (root, document) in image.runs {
            let taxonomy = document.map_or_else(|| Ok(Taxonomy::base()), Taxonomy::load);
            let taxonomy = taxonomy.map_err(|_| ApplyError::Mismatch("a run's taxonomy"))?;
            state.runs.insert(root, Arc::new(taxonomy));
        }
        for (id, workspace) in image.workspaces {
            if let Some(parent) = &workspace.parent {
                let created = workspace.charter.created_at;
                state.children.insert((parent.clone(), created, id.clone()));
            }
            if workspace.status.is_terminal() {
                state.note_warm(&id, workspace.since);
            }
            state.insert_live(&id, workspace);
        }
        for (id, envelope) in image.envelopes {
            state.insert_envelope(id, envelope);
        }
        for (id, right) in image.rights {
            state.insert_right(id, right);
        }
        for (id, checkpoint) in image.checkpoints {
            state.insert_checkpoint(id, checkpoint);
        }
        for (id, closed) in image.closed_gates {
            state.insert_closed_gate(id, closed);
        }
        for (id, gate) in image.gates {
            state.insert_gate(id, gate)?;
        }
        for (id, open) in image.escalations {
            state.insert_escalation(id, open)?;
        }
        for (id, session) in image.sessions {
            if session.standing {
                state.standing.insert(session.agent.clone(), id.clone());
            }
            state.deadlines.insert((session.lapses_at(), Deadline::Session(id.clone())));
            state.sessions.insert(id, Session { leases: 0, ..session });
        }
        for (id, lease) in image.leases {
            state.insert_lease(id, lease)?;
        }
        state.remember_all(image.memory);
        state.take_over_earlier(earlier);
        Ok(state)
    }
}
