//! Invariants of runs, checked by reading the trail entry by entry and comparing it with the state
//! after each commit.
//!
//! The tree and the tasks are here, rights and mail in [`Channels`].

mod tasks;

use althing_kernel::integration::{self, Mode};
use althing_kernel::records::{self, RecordId};
use althing_kernel::task;
use althing_kernel::workspace::change::StateChanged;
use althing_kernel::workspace::create::Created;
use althing_kernel::workspace::edges::STEPS;
use althing_kernel::workspace::grant::VisibilityGranted;
use althing_kernel::workspace::reparent::{ReparentReason, Reparented};
use althing_kernel::workspace::terminate::Initiated;
use althing_kernel::workspace::{MIGRATION_TIMEOUT, Party, Status, Trigger, Workspace};
use althing_kernel::{
    Actor, AgentName, CheckpointId, EnvelopeId, Event, Principal, Span, Stamped, State, TaskId,
    Timestamp, UserId, WorkspaceId, access, checkpoint, signal,
};
use std::collections::{BTreeMap, BTreeSet};

use self::tasks::Work;
use super::channels::Channels;
use super::gates::Gates;
use super::{Counts, conduct};

/// About the most deadlines recorded in one commit; beyond that some may be left over.
const DUE_MAX: u64 = 1_000;

/// Events that must occur besides the steps, states and signals.
pub(super) const EXPECTED: &[&str] = &[
    "batch_abort",
    "batch_priority_changed",
    "budget_exceeded",
    "budget_modified",
    "budget_warning",
    "capability_denied",
    "capability_granted",
    "capability_revoked",
    "cascade",
    "conflict_detected",
    "conflict_resolved",
    "envelope_redelivered",
    "escalation Abort",
    "escalation Delegation",
    "escalation Envelope",
    "escalation_timeout",
    "gate asked again",
    "gate conflict_resolution Approve by a person",
    "gate conflict_resolution Reject by the runtime",
    "gate envelope_delivery Approve by a person",
    "gate envelope_delivery Approve by its fallback",
    "gate envelope_delivery Escalate by its fallback",
    "gate envelope_delivery Modify by a person",
    "gate envelope_delivery Reject by a person",
    "gate envelope_delivery Reject by its fallback",
    "gate envelope_delivery Reject by the runtime",
    "gate integration Approve by a person",
    "gate integration Reject by a person",
    "gate task_approval Approve by its fallback",
    "gate task_approval Escalate by its fallback",
    "gate task_approval Modify by a person",
    "gate task_approval Reject by its fallback",
    "gate workspace_abort Approve by a person",
    "gate workspace_create Approve by a person",
    "gate workspace_create Approve by its fallback",
    "gate workspace_create Escalate by its fallback",
    "gate workspace_create Modify by a person",
    "gate workspace_create Reject by its fallback",
    "gate_reentry_blocked",
    "highway.configured",
    "injection Delivered",
    "injection Rejected",
    "forced shutdown",
    "grace over",
    "graceful_termination_initiated",
    "impostor",
    "integration_aborted",
    "integration_completed",
    "liveness_warning",
    "long pause",
    "meter.reported",
    "migration_completed",
    "migration_failed",
    "port_right_consumed",
    "port_right_revoked",
    "port_right_transferred",
    "priority_changed",
    "rejected checkpoint InvalidParent",
    "rejected checkpoint InvalidStructure",
    "rejected checkpoint InvalidType",
    "rejected checkpoint PermissionDenied",
    "rejected checkpoint WorkspaceNotActive",
    "rejected envelope InvalidStructure",
    "rejected envelope InvalidType",
    "rejected envelope NoSendRight",
    "rejected envelope PermissionDenied",
    "rejected envelope TargetNotFound",
    "rejected envelope TargetTerminal",
    "rejected workspace Containment",
    "rejected workspace InvalidBinding",
    "rejected workspace InvalidParent",
    "rejected workspace InvalidRole",
    "rejected workspace PermissionDenied",
    "refused TaskGraph",
    "refused TaskReady",
    "reassigned",
    "refused AskedOnce",
    "refused OrphansOnly",
    "refused SalvageFailed",
    "refused ShowsWhatItSees",
    "reparented",
    "root failed",
    "run over",
    "salvage",
    "salvage given up",
    "an open task is moved",
    "an open task is taken",
    "refused TaskGoverned",
    "second attempt",
    "start from a snapshot",
    "task_completed",
    "task_failed",
    "timeout",
    "undeliverable DeliveryExhausted",
    "undeliverable TargetTerminal",
    "user_resumed",
    "user_suspended",
    "visibility_granted",
    "workspace_ownership_transferred",
];

/// The place in the trail of a violation.
pub(super) struct Place<'a> {
    seed: u64,
    pub(super) entry: &'a Stamped,
}

impl Place<'_> {
    pub(super) fn must(&self, holds: bool, what: &str) {
        assert!(holds, "seed {}: {what}: {:#?}", self.seed, self.entry);
    }
}

/// A workspace, as recorded in the trail.
pub(super) struct Node {
    pub(super) body: Created,
    pub(super) parent: Option<WorkspaceId>,
    pub(super) status: Status,
    /// Time since which it is in its state.
    since: Timestamp,
    /// Working time used before.
    spent: Span,
    pub(super) agent: Option<AgentName>,
    ready: bool,
    interrupted: Option<Status>,
    head: Option<CheckpointId>,
    /// Working time allowed in all, if it was asked to finish.
    pub(super) finish: Option<Span>,
    /// Whether it lost its parent and was given no other.
    orphan: bool,
}

impl Node {
    pub(super) fn takes_mail(&self) -> bool {
        match self.status {
            Status::Idle => self.ready,
            status => matches!(status, Status::Active | Status::Blocked),
        }
    }

    /// Whether its working time is running.
    fn is_clocked(&self) -> bool {
        matches!(self.status, Status::Active | Status::Blocked | Status::Conflicted)
    }

    /// When its time is over: for waiting, for a move, or for working in all.
    fn due(&self) -> Option<Timestamp> {
        let timeout = self.body.timeout_s?.span();
        match self.status {
            Status::Idle => Some(self.since.after(self.body.idle_timeout_s.span())),
            Status::Migrating => Some(self.since.after(MIGRATION_TIMEOUT.span())),
            _ if self.is_clocked() => {
                let left = timeout.micros().saturating_sub(self.spent.micros());
                Some(self.since.after(Span::from_micros(left)))
            }
            _ => None,
        }
    }

    /// When its grace period is over, if it was asked to finish.
    fn grace_over(&self) -> Option<Timestamp> {
        let left = self.finish?.micros().saturating_sub(self.spent.micros());
        let works = matches!(self.status, Status::Active | Status::Blocked);
        works.then(|| self.since.after(Span::from_micros(left)))
    }

    /// Changes its state; the time worked until then counts.
    fn go(&mut self, to: Status, at: Timestamp) {
        if self.is_clocked() {
            let worked = self.spent.micros() + at.since(self.since).micros();
            self.spent = Span::from_micros(worked);
        }
        self.interrupted =
            matches!(to, Status::Migrating | Status::Suspended).then_some(self.status);
        (self.status, self.since) = (to, at);
        if to.is_sealed() {
            self.finish = None;
        }
    }
}

pub(super) type Tree = BTreeMap<WorkspaceId, Node>;

pub(super) struct Ledger {
    seed: u64,
    tree: Tree,
    root: Option<WorkspaceId>,
    channels: Channels,
    gates: Gates,
    tasks: BTreeMap<TaskId, Work>,
    /// The tasks by the plans that they are.
    plans: BTreeMap<RecordId, TaskId>,
    /// Workspaces that were ever bound to a task.
    bound: BTreeSet<WorkspaceId>,
    /// Open merges: source and target.
    merges: BTreeMap<WorkspaceId, WorkspaceId>,
    /// Agents that ever had a part in a run.
    parts: BTreeSet<AgentName>,
    /// Suspended people.
    away: BTreeSet<UserId>,
    /// The standing root and the attempts outside runs.
    outside: BTreeSet<WorkspaceId>,
    /// Number of entries read since the last comparison.
    news: u64,
    pub(super) counts: Counts,
}

impl Ledger {
    pub(super) fn new(seed: u64) -> Self {
        Ledger {
            seed,
            tree: Tree::new(),
            root: None,
            channels: Channels::default(),
            gates: Gates::default(),
            tasks: BTreeMap::new(),
            plans: BTreeMap::new(),
            bound: BTreeSet::new(),
            merges: BTreeMap::new(),
            parts: BTreeSet::new(),
            away: BTreeSet::new(),
            outside: BTreeSet::new(),
            news: 0,
            counts: Counts::new(),
        }
    }

    pub(super) fn some_envelope(&self, number: u64) -> Option<&EnvelopeId> {
        self.channels.some_envelope(number)
    }

    pub(super) fn unanswered(&self) -> Option<&EnvelopeId> {
        self.channels.unanswered()
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// The size of the run.
    pub(super) fn summary(&self) -> Counts {
        let workspaces = u64::try_from(self.tree.len()).unwrap();
        let tasks = u64::try_from(self.tasks.len()).unwrap();
        [("workspaces".to_owned(), workspaces), ("tasks".to_owned(), tasks)].into()
    }

    /// Checks an entry against everything before it.
    pub(super) fn note(&mut self, entry: &Stamped) {
        self.news += 1;
        let at = Place { seed: self.seed, entry };
        self.count(entry.draft.event.kind().as_str());
        if self.is_outside_runs(entry) {
            self.count("outside runs");
            return;
        }
        conduct::check(&at, &self.tree, self.root.as_ref());
        conduct::check_person(&at, &self.away);
        self.channels.note(&at, &self.tree, &mut self.counts);
        self.gates.note(&at, &mut self.counts);
        match &entry.draft.event {
            Event::WorkspaceCreated(body) => self.created(&at, body),
            Event::WorkspaceStateChanged(body) => self.changed(&at, body),
            Event::WorkspaceReparented(body) => self.reparented(&at, body),
            Event::VisibilityGranted(body) => self.shown(&at, body),
            Event::GracefulTerminationInitiated(body) => self.asked(&at, body),
            Event::SignalEmitted(body) if body.signal == signal::SignalType::Ready => {
                self.node(&at, &body.from).ready = true;
            }
            Event::OwnershipTransferred(body) => {
                let node = self.node(&at, &body.workspace_id);
                at.must(node.body.owner == body.from_user, "it was theirs to give");
                node.body.owner = Party::User(body.to_user.clone());
            }
            Event::UserSuspended(body) => {
                at.must(self.away.insert(body.user_id.clone()), "they were there");
            }
            Event::UserResumed(body) => {
                at.must(self.away.remove(&body.user_id), "they were away");
            }
            Event::RunHandedOver(body) => {
                self.node(&at, &body.workspace_id).agent.clone_from(&body.agent);
                self.parts.extend(body.agent.clone());
            }
            Event::RunStopped(body) => {
                self.count(if body.forced { "forced shutdown" } else { "run over" });
            }
            Event::MigrationStarted(body) => {
                let node = self.node(&at, &body.workspace_id);
                at.must(node.agent.as_ref() == Some(&body.old_agent), "one agent is bound");
                node.agent = Some(body.new_agent.clone());
                self.parts.insert(body.new_agent.clone());
            }
            Event::CheckpointCreated(body) => self.checkpointed(&at, body),
            Event::EnvelopeRejected(body) => {
                self.count(format!("rejected envelope {:?}", body.reason));
            }
            Event::CheckpointRejected(body) => {
                self.count(format!("rejected checkpoint {:?}", body.reason));
            }
            Event::WorkspaceRejected(body) => {
                self.count(format!("rejected workspace {:?}", body.reason));
            }
            _ => self.planned(&at),
        }
    }

    /// Whether an entry is about an attempt outside runs, or the standing root above it. Those follow
    /// the rules of records, which another simulation checks.
    fn is_outside_runs(&mut self, entry: &Stamped) -> bool {
        if let Event::WorkspaceCreated(body) = &entry.draft.event {
            let above = body.parent.as_ref();
            if body.run.is_none() && above.is_none_or(|above| self.outside.contains(above)) {
                self.outside.insert(body.workspace_id.clone());
            }
        }
        entry.draft.workspace.as_ref().is_some_and(|id| self.outside.contains(id))
    }

    fn planned(&mut self, at: &Place<'_>) {
        match &at.entry.draft.event {
            Event::TaskCreated(body) => self.task_created(at, body),
            Event::MemoryCreated(body) => self.plan_created(at, body),
            Event::MemoryMoved(body) => self.moved(at, body.id, body.to),
            Event::MemoryStepped(body) if body.completed => {
                self.moved(at, body.plan, records::Status::Done);
            }
            Event::TaskAssigned(body) => self.assigned(at, body),
            Event::TaskStatusChanged(body) => {
                let work = self.tasks.get_mut(&body.task_id).unwrap();
                at.must(work.status == body.from_status, "a task goes on from where it is");
                let step = (body.from_status, body.to_status);
                let taken = work.moved.is_some() && task::TAKEN.contains(&step);
                at.must(taken || task::STEPS.contains(&step), "the step is in the table");
                (work.status, work.moved) = (body.to_status, None);
                *self.counts.entry("an open task is taken".to_owned()).or_default() +=
                    u64::from(taken);
                if body.to_status == task::Status::Pending {
                    work.workspace = None;
                }
            }
            Event::IntegrationStarted(body) => {
                self.merge_begins(at, body);
                let busy = self.merges.values().any(|target| *target == body.target);
                at.must(!busy, "one merge at a time");
                self.merges.insert(body.source.clone(), body.target.clone());
            }
            Event::IntegrationCompleted(body) => {
                let target = self.merges.remove(&body.source);
                at.must(target.as_ref() == Some(&body.target), "it goes where it was to go");
            }
            Event::IntegrationAborted(body) => {
                if body.mode == Mode::Salvage {
                    self.count("salvage given up");
                }
                let target = self.merges.remove(&body.source);
                at.must(target.as_ref() == Some(&body.target), "it was to go there");
            }
            _ => {}
        }
    }

    /// Checks that finished work goes to the parent, and failed work to the nearest workspace above
    /// that accepts work.
    fn merge_begins(&mut self, at: &Place<'_>, body: &integration::Started) {
        let node = self.node(at, &body.source);
        if body.mode == Mode::Normal {
            at.must(node.status == Status::Integrating, "what is merged is finished");
            at.must(node.parent.as_ref() == Some(&body.target), "it goes to the parent");
            return;
        }
        at.must(node.status == Status::Failed, "what is saved failed");
        let mut above = node.parent.clone();
        while let Some(id) = &above
            && self.tree[id].status.is_sealed()
        {
            above.clone_from(&self.tree[id].parent);
        }
        let target = above.as_ref().or(self.root.as_ref());
        at.must(target == Some(&body.target), "it goes to the nearest that takes work");
        self.count("salvage");
    }

    fn shown(&mut self, at: &Place<'_>, body: &VisibilityGranted) {
        let node = &self.tree[&body.workspace_id];
        at.must(matches!(node.status, Status::Active | Status::Blocked), "it is at work");
        let seen = node.parent.as_ref();
        let seen = seen.is_some_and(|parent| conduct::sees(&self.tree, parent, &body.target));
        at.must(seen, "it sees what its parent sees");
        let known = &mut self.node(at, &body.workspace_id).body.visibility_set;
        at.must(!known.contains(&body.target), "it was not shown before");
        known.push(body.target.clone());
    }

    fn asked(&mut self, at: &Place<'_>, body: &Initiated) {
        let node = self.node(at, &body.workspace_id);
        at.must(matches!(node.status, Status::Active | Status::Blocked), "it is at work");
        at.must(node.finish.is_none(), "it is asked once");
        let worked = node.spent.micros() + at.entry.at.since(node.since).micros();
        node.finish = Some(Span::from_micros(worked + body.grace_period.micros()));
    }

    fn node(&mut self, at: &Place<'_>, id: &WorkspaceId) -> &mut Node {
        let node = self.tree.get_mut(id);
        at.must(node.is_some(), "the workspace was created before");
        node.unwrap()
    }

    fn created(&mut self, at: &Place<'_>, body: &Created) {
        let id = &body.workspace_id;
        at.must(body.run.is_some() == body.parent.is_none(), "a run begins with its root");
        let coordinator = body.role.as_str() == "coordinator";
        at.must(coordinator == body.parent.is_none(), "the root alone is the coordinator's");
        match &body.parent {
            None => {
                at.must(self.root.is_none(), "one run at a time");
                at.must(body.originator == Party::System, "a run is the system's");
                self.root = Some(id.clone());
            }
            Some(parent) => self.contained(at, body, parent),
        }
        let node = Node {
            body: body.clone(),
            parent: body.parent.clone(),
            status: Status::Idle,
            since: at.entry.at,
            spent: Span::default(),
            agent: body.agent.clone(),
            ready: false,
            interrupted: None,
            head: None,
            finish: None,
            orphan: false,
        };
        at.must(self.tree.insert(id.clone(), node).is_none(), "it is a new workspace");
        self.parts.extend(body.agent.clone());
        self.count("state idle");
    }

    /// Checks that a workspace is given no more than its parent has.
    fn contained(&self, at: &Place<'_>, body: &Created, parent_id: &WorkspaceId) {
        let parent = self.tree.get(parent_id);
        at.must(parent.is_some(), "the parent is there");
        let parent = parent.unwrap();
        let open = matches!(parent.status, Status::Idle | Status::Active | Status::Blocked);
        at.must(open, "the parent takes children");
        let seen = body.visibility_set.iter().all(|id| conduct::sees(&self.tree, parent_id, id));
        at.must(seen, "it sees what its parent sees");
        let above = &parent.body.authority_set;
        let within = |own| above.iter().any(|above| above.covers(own));
        at.must(body.authority_set.iter().all(within), "it changes what its parent may");
        let originator = match (&parent.body.originator, &at.entry.draft.actor) {
            (Party::System, Actor::Principal(Principal::User(id))) => Party::User(id.clone()),
            (above, _) => above.clone(),
        };
        at.must(body.originator == originator, "who caused the parent caused it");
    }

    fn changed(&mut self, at: &Place<'_>, body: &StateChanged) {
        let id = &body.workspace_id;
        let (from, to) = (body.from_state, body.to_state);
        let step = STEPS.iter().find(|step| (step.from, step.to) == (from, to));
        at.must(step.is_some(), "the step is in the table");
        let node = self.node(at, id);
        at.must(node.status == from, "a workspace goes on from where it is");
        if matches!(from, Status::Migrating | Status::Suspended) && to != Status::Failed {
            at.must(node.interrupted == Some(to), "it goes back to where it was");
        }
        let past = |due: Option<Timestamp>| due.is_some_and(|due| due <= at.entry.at);
        let (late, grace_over) = (past(node.due()), past(node.grace_over()));
        node.go(to, at.entry.at);
        let (parent, owner) = (node.parent.clone(), node.body.owner.clone());
        self.count(format!("step {:02}", step.map_or(0, |step| step.number)));
        self.count(format!("state {to}"));
        match body.trigger {
            Trigger::ParentFailed => {
                self.count("cascade");
                let parent = &self.tree[&parent.unwrap()];
                at.must(parent.status == Status::Failed, "the workspace above it failed");
                let reached = parent.body.owner == owner || self.root.is_none();
                at.must(reached, "a failure stays with its owner, unless it is the root's");
            }
            Trigger::Timeout | Trigger::ConflictTimeout | Trigger::MigrationError => {
                self.count("timeout");
                at.must(late, "its time was over");
            }
            Trigger::GracefulTerminationExpired => {
                self.count("grace over");
                at.must(grace_over, "its grace was over");
            }
            _ => {}
        }
        if to.is_terminal() {
            self.channels.ended(id);
            if self.root.as_ref() == Some(id) {
                self.root = None;
                self.gates.run_over();
                let badly = to == Status::Failed && body.trigger != Trigger::SystemShutdown;
                self.count(if badly { "root failed" } else { "root ended" });
            }
        }
    }

    fn reparented(&mut self, at: &Place<'_>, body: &Reparented) {
        let (id, new) = (&body.workspace_id, &body.new_parent);
        let (child, old) = (&self.tree[id], &self.tree[&body.old_parent]);
        at.must(child.parent.as_ref() == Some(&body.old_parent), "it was below that one");
        at.must(!child.status.is_terminal(), "it goes on");
        let reassigned = body.reason == ReparentReason::ReassignedByCoordinator;
        if reassigned {
            at.must(child.orphan, "it had lost its parent");
            at.must(!conduct::is_above(&self.tree, id, new), "nobody is above itself");
            let open =
                matches!(self.tree[new].status, Status::Idle | Status::Active | Status::Blocked);
            at.must(open, "its new parent takes children");
            self.count("reassigned");
        } else {
            at.must(old.status.is_terminal(), "its parent has ended");
            at.must(child.body.owner != old.body.owner, "somebody else answers for it");
            at.must(self.root.as_ref() == Some(new), "it goes to the root");
            self.count("reparented");
        }
        let node = self.node(at, id);
        node.parent = Some(new.clone());
        node.orphan = !reassigned;
        // An open merge into the old parent continues into the new one.
        if let Some(target) = self.merges.get_mut(id) {
            target.clone_from(new);
        }
    }

    fn checkpointed(&mut self, at: &Place<'_>, body: &checkpoint::Created) {
        let node = self.node(at, &body.workspace);
        at.must(node.status == Status::Active, "checkpoints are made at work");
        at.must(node.head == body.parent, "each builds on the one before");
        let grows = |head: &CheckpointId| head.as_str() < body.checkpoint_id.as_str();
        at.must(node.head.as_ref().is_none_or(grows), "their ids grow");
        node.head = Some(body.checkpoint_id.clone());
    }

    /// Compares the state after a commit with the trail.
    pub(super) fn compare(&mut self, state: &State, turn: Option<Timestamp>) {
        let seed = self.seed;
        assert_eq!(state.root(), self.root.as_ref(), "seed {seed}: one root");
        let known = self.tree.len() + self.outside.len();
        assert_eq!(state.workspaces().count(), known, "seed {seed}: nothing is removed");
        for (id, known) in state.workspaces().filter(|(id, _)| !self.outside.contains(*id)) {
            self.compare_workspace(id, known);
        }
        self.channels.compare(seed, &self.tree, state);
        self.gates.compare(seed, state);
        self.compare_tasks(state);
        self.compare_sight(state);
        let all_done = std::mem::take(&mut self.news) < DUE_MAX;
        if let Some(turn) = turn.filter(|_| all_done) {
            let past = |due: Option<Timestamp>| due.is_some_and(|at| at < turn);
            let late =
                self.tree.iter().find(|(_, node)| past(node.due()) || past(node.grace_over()));
            let late = late.map(|(id, _)| id);
            assert_eq!(late, None, "seed {seed}: overdue at {turn:?}");
            assert_eq!(self.channels.overdue(turn), None, "seed {seed}: overdue at {turn:?}");
            assert_eq!(self.gates.overdue(turn), None, "seed {seed}: overdue at {turn:?}");
        }
    }

    fn compare_workspace(&self, id: &WorkspaceId, known: &Workspace) {
        let (seed, node) = (self.seed, &self.tree[id]);
        let charter = &known.charter;
        assert_eq!((known.status, &known.parent), (node.status, &node.parent), "seed {seed}: {id}");
        assert_eq!((&known.agent, &known.head), (&node.agent, &node.head), "seed {seed}: {id}");
        assert_eq!(charter.role, node.body.role, "seed {seed}: {id}");
        assert_eq!(charter.originator, node.body.originator, "seed {seed}: {id}");
        assert_eq!(known.owner, node.body.owner, "seed {seed}: {id}");
        if known.status.is_terminal() {
            return;
        }
        assert_eq!(known.visibility, node.body.visibility_set, "seed {seed}: {id}");
        assert_eq!(known.grace_ends(), node.grace_over(), "seed {seed}: {id}");
        assert_eq!(charter.authority, node.body.authority_set, "seed {seed}: {id}");
        match &node.parent {
            None => assert_eq!(self.root.as_ref(), Some(id), "seed {seed}: one live root"),
            Some(parent_id) => {
                let parent = &self.tree[parent_id];
                let up = conduct::is_above(&self.tree, id, parent_id);
                assert!(!up, "seed {seed}: {id} is above itself");
                let live = !parent.status.is_terminal();
                assert!(live, "seed {seed}: {id} goes on below the ended {parent_id}");
            }
        }
    }

    /// Checks that agents can read exactly the workspaces they may.
    fn compare_sight(&self, state: &State) {
        let pick = usize::try_from(state.clock().micros()).unwrap();
        let (Some((agent, _)), Some(target)) = (
            state.agents().nth(pick % state.agents().count().max(1)),
            self.tree.keys().nth(pick % self.tree.len().max(1)),
        ) else {
            return;
        };
        let viewer = (agent, self.parts.contains(agent));
        let expected = conduct::reads(&self.tree, viewer, self.root.as_ref(), target);
        let viewer = Principal::Agent(agent.clone());
        let reads = access::reads(state, Some(&viewer), target);
        assert_eq!(reads, expected, "seed {}: {agent} reads {target}", self.seed);
    }
}
