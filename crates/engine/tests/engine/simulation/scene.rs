//! The state as a simulated client sees it when it chooses a command.

use althing_kernel::approvals::GateType;
use althing_kernel::id::SignalId;
use althing_kernel::records::{Kind, Record, RecordId};
use althing_kernel::workspace::Status;
use althing_kernel::{
    AgentName, Caller, CheckpointId, GateId, GraphId, Principal, PublicKey, RightId, State, TaskId,
    WorkspaceId, task,
};

use super::{Harness, person, system};

/// Number of agents.
pub(super) const AGENTS: u64 = 40;
/// The people.
pub(super) const PEOPLE: [&str; 3] = ["ada", "bob", "eve"];

/// An agent, identified by its key.
pub(super) fn agent(number: u64) -> Caller {
    let mut key = [2; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes(key),
        session: None,
    }
}

/// One of the people.
pub(super) fn somebody(harness: &mut Harness) -> Caller {
    let name: &&str = harness.random.pick(&PEOPLE);
    person(name)
}

/// The agent of a name.
pub(super) fn named(name: &AgentName) -> Caller {
    let number = name.as_str().trim_start_matches("agent").parse().unwrap();
    agent(number)
}

/// A workspace, as a client sees it.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) id: WorkspaceId,
    pub(super) agent: Option<AgentName>,
    pub(super) parent: Option<WorkspaceId>,
    pub(super) role: String,
    pub(super) status: Status,
    pub(super) delegate: bool,
    pub(super) head: Option<CheckpointId>,
    pub(super) finished: bool,
    pub(super) wide: bool,
}

impl Seen {
    /// The agent of the workspace; for a root without an agent, a person.
    pub(super) fn worker(&self) -> Caller {
        self.agent.as_ref().map_or_else(|| person("ada"), named)
    }
}

/// Everything from which a batch of jobs is chosen.
pub(super) struct Scene {
    pub(super) root: Option<Seen>,
    /// Open workspaces below the root.
    pub(super) live: Vec<Seen>,
    pub(super) ended: Vec<WorkspaceId>,
    pub(super) rights: Vec<(RightId, WorkspaceId, WorkspaceId)>,
    /// Assignments that are not over, newest first.
    pub(super) given: Vec<Record>,
    /// The plans that they are, whatever run they belong to.
    pub(super) plans: Vec<RecordId>,
    pub(super) tasks: Vec<(TaskId, task::Status, GraphId)>,
    pub(super) graphs: Vec<GraphId>,
    /// Open conflicts, with the workspace whose work is merged.
    pub(super) conflicts: Vec<(WorkspaceId, String)>,
    /// Failed workspaces that left a checkpoint.
    pub(super) wrecks: Vec<WorkspaceId>,
    /// Open workspaces that lost their parent.
    pub(super) orphans: Vec<WorkspaceId>,
    /// Gates that wait for a person, oldest first.
    pub(super) gates: Vec<(GateId, GateType)>,
    /// Gates that people left to the coordinator.
    pub(super) left: Vec<GateId>,
    /// Gates that were rejected because nobody answered.
    pub(super) unanswered: Vec<GateId>,
    /// Escalations that wait for a person.
    pub(super) escalations: Vec<SignalId>,
}

impl Scene {
    pub(super) fn of(state: &State) -> Self {
        let mut scene = Scene {
            root: None,
            live: Vec::new(),
            ended: Vec::new(),
            rights: Vec::new(),
            given: Vec::new(),
            plans: Vec::new(),
            tasks: Vec::new(),
            graphs: Vec::new(),
            conflicts: Vec::new(),
            wrecks: Vec::new(),
            orphans: Vec::new(),
            gates: state.gates().map(|(id, gate)| (id.clone(), gate.kind)).collect(),
            left: Vec::new(),
            unanswered: Vec::new(),
            escalations: state.escalations().map(|(id, _)| id.clone()).collect(),
        };
        let left = state.closed_gates().filter(|(_, closed)| closed.is_left());
        scene.left = left.map(|(id, _)| id.clone()).collect();
        let unanswered = state.closed_gates().filter(|(_, closed)| closed.is_unanswered());
        scene.unanswered = unanswered.map(|(id, _)| id.clone()).collect();
        let standing = state.project().map(|project| project.id.to_string());
        for (id, known) in state.workspaces() {
            if standing.as_deref() == Some(known.charter.root.as_str()) {
                continue;
            }
            if known.status.is_terminal() {
                if known.status == Status::Failed && known.head.is_some() {
                    scene.wrecks.push(id.clone());
                }
                scene.ended.push(id.clone());
                continue;
            }
            if known.orphan_of.is_some() {
                scene.orphans.push(id.clone());
            }
            let seen = Seen {
                id: id.clone(),
                agent: known.agent.clone(),
                parent: known.parent.clone(),
                role: known.charter.role.to_string(),
                status: known.status,
                delegate: known.charter.delegate,
                head: known.head.clone(),
                finished: known.latest_final.is_some(),
                wide: known.charter.authority.iter().any(|own| own.as_str() == "."),
            };
            match seen.parent {
                None => scene.root = Some(seen),
                Some(_) => scene.live.push(seen),
            }
        }
        let lasting = |kind| kind != althing_kernel::right::RightType::Receive;
        for (id, right) in state.rights().filter(|(_, right)| lasting(right.kind)) {
            scene.rights.push((id.clone(), right.holder.clone(), right.target.clone()));
        }
        let here = |root: &WorkspaceId| state.root() == Some(root);
        let graphs = state.graphs().filter(|(_, graph)| here(&graph.root));
        scene.graphs = graphs.map(|(id, _)| id.clone()).collect();
        let standing = althing_kernel::task::Graph::standing();
        let here = |graph: &GraphId| scene.graphs.contains(graph) || *graph == standing;
        let tasks: Vec<_> = state.tasks().filter(|task| here(&task.graph)).collect();
        let given = state.memory().newest(Kind::Assignment, Some(true)).take(40);
        scene.given = given.cloned().collect();
        scene.plans = state.memory().newest(Kind::Plan, None).map(|plan| plan.id).collect();
        for task in tasks {
            scene.tasks.push((task.id, task.status, task.graph));
        }
        for (source, open) in state.integrations() {
            let of = |conflict: &althing_kernel::integration::conflict::OpenConflict| {
                (source.clone(), conflict.id.to_string())
            };
            scene.conflicts.extend(open.conflicts.iter().map(of));
        }
        scene
    }

    /// A caller for the coordinator: mostly its agent.
    pub(super) fn coordinator(&self, harness: &mut Harness) -> Caller {
        let post = self.root.as_ref().and_then(|root| root.agent.as_ref());
        match (harness.random.below(10), post) {
            (0..=5, Some(agent)) => named(agent),
            (0..=7, _) => somebody(harness),
            _ => system(),
        }
    }

    /// A person; now and then somebody who pretends to be one.
    pub(super) fn person_or_not(&self, harness: &mut Harness) -> Caller {
        match harness.random.below(12) {
            0 => agent(harness.random.below(AGENTS)),
            1 => self.coordinator(harness),
            _ => somebody(harness),
        }
    }

    /// A workspace below the root in one of these states; if there is none, any.
    pub(super) fn one(&self, harness: &mut Harness, states: &[Status]) -> Option<Seen> {
        let fit: Vec<&Seen> =
            self.live.iter().filter(|seen| states.contains(&seen.status)).collect();
        if fit.is_empty() {
            return self.any(harness);
        }
        Some((*harness.random.pick(&fit)).clone())
    }

    pub(super) fn any(&self, harness: &mut Harness) -> Option<Seen> {
        (!self.live.is_empty()).then(|| harness.random.pick(&self.live).clone())
    }

    /// An open workspace by its id.
    pub(super) fn get(&self, id: &WorkspaceId) -> Option<&Seen> {
        self.live.iter().chain(&self.root).find(|seen| seen.id == *id)
    }

    /// The id of any workspace there is or was, or of one that never was.
    pub(super) fn some_id(&self, harness: &mut Harness) -> String {
        match harness.random.below(8) {
            0 => "Workspace-that-never-was".to_owned(),
            1 | 2 if !self.ended.is_empty() => harness.random.pick(&self.ended).to_string(),
            3 => self.root.as_ref().map_or_else(String::new, |root| root.id.to_string()),
            _ => match self.any(harness) {
                Some(seen) => seen.id.to_string(),
                None => "Workspace-that-never-was".to_owned(),
            },
        }
    }
}
