//! The state: the result of all entries so far, with its indexes and deadlines.
//!
//! Its maps are immutable trees that share their nodes, so cloning the state is cheap. The writer
//! decides on a clone and drops the clone if the log refuses the commit; readers keep the clone that
//! they opened.

mod attempts;
pub(crate) mod image;
pub(crate) mod records;

use crate::values::id::First as _;
use imbl::OrdMap;
use imbl::OrdSet;
use std::sync::Arc;

use crate::model::admin::archive::Shelves;
use crate::model::admin::project::Project;
use crate::model::identity::agent::Agent;
use crate::model::identity::user::User;
use crate::model::knowledge::blackboard::BlackboardState;
use crate::model::knowledge::records::Memory;
use crate::model::leasing::lease::Lease;
use crate::model::leasing::session::{ConnectionName, Session};
use crate::model::runs::approvals::escalation::Escalation;
use crate::model::runs::approvals::gate::{ClosedGate, Gate};
use crate::model::runs::approvals::{ApprovalSettings, GateType};
use crate::model::runs::checkpoint::Checkpoint;
use crate::model::runs::envelope;
use crate::model::runs::envelope::Envelope;
use crate::model::runs::integration::Integration;
use crate::model::runs::news::News;
use crate::model::runs::recovery::WriterName;
use crate::model::runs::right::{Right, RightType};
use crate::model::runs::signal::Notice;
use crate::model::runs::task::Graph;
use crate::model::runs::taxonomy::Taxonomy;
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::group::GroupName;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::RecordId;
use crate::surfaces::index::SurfaceIndex;
use crate::values::id::{
    AnyId, CheckpointId, EnvelopeId, GateId, GraphId, LeaseId, RightId, SignalId, TaskId,
    WorkspaceId,
};
use crate::values::key::PublicKey;
use crate::values::name::{AgentName, UserId};
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::machine::state::image::Image;

/// An object with a deadline. Of two with the same deadline the earlier variant comes first: a
/// lease ends before the session that holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    Lease(LeaseId),
    Session(WorkspaceId),
    Workspace(WorkspaceId),
    Compute(WorkspaceId),
    Liveness(WorkspaceId),
    Envelope(EnvelopeId),
    Gate(GateId),
    Escalation(SignalId),
    Memory(RecordId),
}

/// The result of all entries so far.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(crate) project: Option<Project>,
    pub(crate) clock: Timestamp,
    pub(crate) epoch: u64,
    pub(crate) agents: OrdMap<AgentName, Agent>,
    pub(crate) users: OrdMap<UserId, User>,
    /// The keys of recorded authentications, by principal and, if limited to one, session.
    pub(crate) authenticated: OrdMap<(Principal, Option<WorkspaceId>), PublicKey>,
    pub(crate) sessions: OrdMap<WorkspaceId, Session>,
    pub(crate) leases: OrdMap<LeaseId, Arc<Lease>>,
    /// The writers that were recovered from and may still be registered.
    pub(crate) recovered: Vec<WriterName>,
    /// The root of the current run.
    pub(crate) root: Option<WorkspaceId>,
    /// The taxonomy of each run, by its root.
    pub(crate) runs: OrdMap<WorkspaceId, Arc<Taxonomy>>,
    pub(crate) workspaces: OrdMap<WorkspaceId, Arc<Workspace>>,
    pub(crate) envelopes: OrdMap<EnvelopeId, Arc<Envelope>>,
    pub(crate) rights: OrdMap<RightId, Right>,
    /// Signals in transit, by receiver and time of emission.
    pub(crate) pending_signals: OrdMap<(WorkspaceId, Timestamp), Notice>,
    /// Signals that were delivered and not taken, by receiver and time of delivery.
    pub(crate) notices: OrdMap<(WorkspaceId, Timestamp), Notice>,
    /// News for the coordinator not yet taken, by root and time.
    pub(crate) news: OrdMap<(WorkspaceId, Timestamp), News>,
    pub(crate) checkpoints: OrdMap<CheckpointId, Arc<Checkpoint>>,
    pub(crate) graphs: OrdMap<GraphId, Graph>,
    /// Merges in progress, by the workspace whose work is merged.
    pub(crate) integrations: OrdMap<WorkspaceId, Integration>,
    /// The approval settings of the current run.
    pub(crate) approvals: Arc<ApprovalSettings>,
    /// The party that chose the timeouts and fallbacks of the approval settings.
    pub(crate) approvals_by: Option<Principal>,
    pub(crate) gates: OrdMap<GateId, Arc<Gate>>,
    /// The closed gates of this run.
    pub(crate) closed_gates: OrdMap<GateId, Arc<ClosedGate>>,
    /// Subjects for which a gate is not opened again, and the gate that its fallback closed.
    pub(crate) guarded: OrdMap<(GateType, AnyId), GateId>,
    pub(crate) escalations: OrdMap<SignalId, Arc<Escalation>>,
    /// The archives.
    pub(crate) shelves: Shelves,
    /// The blackboard.
    pub(crate) blackboard: BlackboardState,
    /// The records.
    pub(crate) memory: Memory,
    /// The number of entries applied.
    pub(crate) seq: u64,
    // The fields below are indexes derived from those above and updated along with them.
    /// The number of live workspaces of runs.
    pub(crate) live: usize,
    /// The number of live workspaces outside runs.
    pub(crate) live_outside: usize,
    /// The number of live workspaces that have a budget.
    pub(crate) limited: usize,
    /// Bytes of context of live workspaces, and of mail not yet taken.
    pub(crate) context: u64,
    pub(crate) queued: u64,
    pub(crate) groups: OrdSet<(WorkspaceId, GroupName, Timestamp, WorkspaceId)>,
    /// The workspaces without activity.
    pub(crate) quiet: OrdSet<WorkspaceId>,
    /// The next check of each workspace's active time, and of its liveness.
    pub(crate) timers: OrdMap<WorkspaceId, (Option<Timestamp>, Option<Timestamp>)>,
    pub(crate) children: OrdSet<(WorkspaceId, Timestamp, WorkspaceId)>,
    pub(crate) bound: OrdSet<(AgentName, WorkspaceId)>,
    pub(crate) held: OrdSet<(WorkspaceId, Timestamp, EnvelopeId)>,
    pub(crate) inbox: OrdSet<(WorkspaceId, envelope::Priority, Timestamp, EnvelopeId)>,
    pub(crate) rights_held: OrdSet<(WorkspaceId, WorkspaceId, RightType, RightId)>,
    pub(crate) rights_to: OrdSet<(WorkspaceId, RightId)>,
    pub(crate) registers: OrdSet<(WorkspaceId, Timestamp, CheckpointId)>,
    /// The records of tasks, by the ids that runs use, and the tasks by their graph.
    pub(crate) tasks: OrdMap<TaskId, RecordId>,
    pub(crate) graph_tasks: OrdSet<(GraphId, Timestamp, TaskId)>,
    /// Open salvages, by target and source.
    pub(crate) salvages: OrdSet<(WorkspaceId, WorkspaceId)>,
    pub(crate) standing: OrdMap<AgentName, WorkspaceId>,
    pub(crate) held_in: OrdSet<(WorkspaceId, LeaseId)>,
    /// The leases by holder.
    pub(crate) holders: OrdSet<(Principal, LeaseId)>,
    /// The open gates by type and subject.
    pub(crate) stopped: OrdMap<(GateType, AnyId), GateId>,
    pub(crate) surfaces: SurfaceIndex,
    /// The leases by epoch, and by the task they belong to.
    pub(crate) epochs: OrdMap<u64, LeaseId>,
    pub(crate) tasks_held: OrdSet<(Text<128>, u64)>,
    pub(crate) deadlines: OrdSet<(Timestamp, Deadline)>,
    /// Ended workspaces that have not been compacted.
    pub(crate) warm: OrdSet<(Timestamp, WorkspaceId)>,
}

impl State {
    /// Moves a deadline.
    pub(crate) fn reschedule(
        &mut self,
        before: Option<Timestamp>,
        after: Option<Timestamp>,
        of: &Deadline,
    ) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.deadlines.remove(&(at, of.clone()));
        }
        if let Some(at) = after {
            self.deadlines.insert((at, of.clone()));
        }
    }

    /// The emission times of the signals waiting for a workspace.
    pub(crate) fn pending_of(&self, to: &WorkspaceId) -> Vec<Timestamp> {
        let from = self.pending_signals.range((to.clone(), Timestamp::default())..);
        from.take_while(|((of, _), _)| of == to).map(|((_, at), _)| *at).collect()
    }

    /// All workspaces ever created.
    pub fn workspaces(&self) -> impl Iterator<Item = (&WorkspaceId, &Workspace)> {
        self.workspaces.iter().map(|(id, workspace)| (id, workspace.as_ref()))
    }

    /// A workspace by its id.
    pub fn workspace(&self, id: &WorkspaceId) -> Option<&Workspace> {
        self.workspaces.get(id).map(AsRef::as_ref)
    }

    /// All envelopes ever accepted.
    pub fn envelopes(&self) -> impl Iterator<Item = (&EnvelopeId, &Envelope)> {
        self.envelopes.iter().map(|(id, envelope)| (id, envelope.as_ref()))
    }

    /// The live rights.
    pub fn rights(&self) -> impl Iterator<Item = (&RightId, &Right)> {
        self.rights.iter()
    }

    /// A checkpoint by its id.
    pub fn checkpoint(&self, id: &CheckpointId) -> Option<&Checkpoint> {
        self.checkpoints.get(id).map(AsRef::as_ref)
    }

    /// All task graphs ever planned.
    pub fn graphs(&self) -> impl Iterator<Item = (&GraphId, &Graph)> {
        self.graphs.iter()
    }

    /// The merges in progress, by the workspace whose work is merged.
    pub fn integrations(&self) -> impl Iterator<Item = (&WorkspaceId, &Integration)> {
        self.integrations.iter()
    }

    /// An envelope by its id.
    pub fn envelope(&self, id: &EnvelopeId) -> Option<&Envelope> {
        self.envelopes.get(id).map(AsRef::as_ref)
    }

    /// The open gates.
    pub fn gates(&self) -> impl Iterator<Item = (&GateId, &Gate)> {
        self.gates.iter().map(|(id, gate)| (id, gate.as_ref()))
    }

    /// The closed gates of this run.
    pub fn closed_gates(&self) -> impl Iterator<Item = (&GateId, &ClosedGate)> {
        self.closed_gates.iter().map(|(id, closed)| (id, closed.as_ref()))
    }

    /// The open escalations.
    pub fn escalations(&self) -> impl Iterator<Item = (&SignalId, &Escalation)> {
        self.escalations.iter().map(|(id, open)| (id, open.as_ref()))
    }

    /// The root of the current run, or of the last one.
    pub fn newest_root(&self) -> Option<&WorkspaceId> {
        let created =
            |root: &&WorkspaceId| self.workspaces.get(*root).map(|known| known.charter.created_at);
        self.runs.keys().max_by_key(created)
    }

    /// The root of the current run.
    pub fn root(&self) -> Option<&WorkspaceId> {
        self.root.as_ref()
    }

    /// When something falls due by itself next, or has fallen due and is not recorded yet.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.get_min().map(|(at, _)| *at)
    }

    /// Whether any gate has timed out.
    pub(crate) fn is_gate_due(&self, now: Timestamp) -> bool {
        self.gates.values().any(|gate| gate.due().is_some_and(|due| due <= now))
    }

    /// Whether a deadline has passed that is not recorded yet.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadlines.get_min().is_some_and(|(at, _)| *at <= now)
    }

    /// The project, once it is created.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The stamp of the last entry.
    pub fn clock(&self) -> Timestamp {
        self.clock
    }

    /// The last fencing epoch given out.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The agents that ever registered.
    pub fn agents(&self) -> impl Iterator<Item = (&AgentName, &Agent)> {
        self.agents.iter()
    }

    /// An agent by its name.
    pub fn agent(&self, name: &AgentName) -> Option<&Agent> {
        self.agents.get(name)
    }

    /// A user by their id.
    pub fn user(&self, id: &UserId) -> Option<&User> {
        self.users.get(id)
    }

    /// The number of users.
    pub fn user_count(&self) -> usize {
        self.users.len()
    }

    /// The recorded leases; some may have expired since the last entry.
    pub fn leases(&self) -> impl Iterator<Item = (&LeaseId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (id, lease.as_ref()))
    }

    /// The open session that an agent's client uses through a connection.
    pub fn session_through(
        &self,
        agent: &AgentName,
        client: &Text<128>,
        connection: &ConnectionName,
        now: Timestamp,
    ) -> Option<&WorkspaceId> {
        let is_meant = |session: &Session| {
            session.agent == *agent
                && session.client.as_ref() == Some(client)
                && session.connections.contains(connection)
                && now < session.lapses_at()
        };
        self.sessions.iter().find(|(_, session)| is_meant(session)).map(|(id, _)| id)
    }

    /// The connections of all sessions; one that several sessions use comes several times.
    pub fn connections(&self) -> impl Iterator<Item = &ConnectionName> {
        self.sessions.values().flat_map(|session| &session.connections)
    }

    /// The number of objects in the state, as a measure of its size.
    pub fn size(&self) -> usize {
        let held = self.agents.len() + self.users.len() + self.sessions.len() + self.leases.len();
        let mail = self.envelopes.len() + self.notices.len() + self.pending_signals.len();
        let work = self.workspaces.len() + self.checkpoints.len();
        let asked = self.gates.len() + self.closed_gates.len() + self.escalations.len();
        let written = self.blackboard.size() + self.memory.len();
        held + mail + work + asked + self.rights.len() + written
    }

    /// Whether a recorded lease has not expired.
    pub(crate) fn is_live(&self, id: &LeaseId, now: Timestamp) -> bool {
        self.leases.get(id).is_some_and(|lease| lease.is_live(now))
    }

    /// The leases opened in a session.
    pub(crate) fn leases_in(&self, workspace: &WorkspaceId) -> Vec<LeaseId> {
        let first = (workspace.clone(), LeaseId::first());
        let own = self.held_in.range(first..).take_while(|(of, _)| of == workspace);
        own.map(|(_, lease)| lease.clone()).collect()
    }

    /// A lease by its fencing epoch.
    pub fn lease_of_epoch(&self, epoch: u64) -> Option<(&LeaseId, &Arc<Lease>)> {
        let id = self.epochs.get(&epoch)?;
        self.leases.get(id).map(|lease| (id, lease))
    }

    /// The leases that belong to a task, oldest first.
    pub fn leases_for<'s>(&'s self, task: &str) -> impl Iterator<Item = &'s Arc<Lease>> + use<'s> {
        let task: Text<128> = Text::lossy(task);
        let own = self.tasks_held.range((task.clone(), 0)..);
        let own = own.take_while(move |(of, _)| *of == task);
        own.filter_map(|(_, epoch)| self.lease_of_epoch(*epoch).map(|(_, lease)| lease))
    }

    pub(crate) fn insert_lease(&mut self, id: LeaseId, lease: Lease) -> Result<(), ApplyError> {
        if let Some(workspace) = &lease.workspace {
            match self.sessions.get_mut(workspace) {
                Some(session) => session.leases += 1,
                None if self.workspaces.contains_key(workspace) => {}
                None => return Err(ApplyError::Unknown("the session")),
            }
            self.held_in.insert((workspace.clone(), id.clone()));
        }
        self.surfaces.insert(&id, &lease.holder, lease.surfaces.as_slice());
        self.holders.insert((lease.holder.clone(), id.clone()));
        self.deadlines.insert((lease.expires_at, Deadline::Lease(id.clone())));
        self.epochs.insert(lease.epoch, id.clone());
        if let Some(task) = &lease.task {
            self.tasks_held.insert((task.clone(), lease.epoch));
        }
        self.leases.insert(id, Arc::new(lease));
        Ok(())
    }

    pub(crate) fn remove_lease(&mut self, id: &LeaseId) -> Result<(), ApplyError> {
        let lease = self.leases.remove(id).ok_or(ApplyError::Unknown("the lease"))?;
        if let Some(workspace) = &lease.workspace {
            self.held_in.remove(&(workspace.clone(), id.clone()));
            if let Some(session) = self.sessions.get_mut(workspace) {
                session.leases -= 1;
            }
        }
        self.surfaces.remove(id, lease.surfaces.as_slice());
        self.holders.remove(&(lease.holder.clone(), id.clone()));
        self.deadlines.remove(&(lease.expires_at, Deadline::Lease(id.clone())));
        self.epochs.remove(&lease.epoch);
        if let Some(task) = &lease.task {
            self.tasks_held.remove(&(task.clone(), lease.epoch));
        }
        Ok(())
    }
}
