//! Gates: what waits for a person before it happens.
//!
//! A gate is triggered by an order and stands before its effect. It ends once: by a person, by
//! its fallback when its time is over, or by the runtime when there is nothing left to decide
//! about. Gates of one owner form a queue, oldest first. A gate that its fallback closed does not
//! come up again for the same thing.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::request::Request;
use super::{GateFallback, GateType, resolve};
use crate::capability::{self, Deed};
use crate::event::{Event, Stamped};
use crate::id::{AnyId, ConflictId, EnvelopeId, GateId, GraphId, IdKind, TaskId, WorkspaceId};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::turn::{Halt, Turn};
use crate::workspace::{Party, Status, Timeout};
use crate::{envelope, integration, task};

/// The most gates that are open at the same time.
pub const GATES_MAX: usize = 2_000;

/// A gate that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What it stands before.
    pub kind: GateType,
    /// What waits: a task, an envelope, a conflict or a workspace.
    pub subject: AnyId,
    /// The workspace it is about; none for tasks.
    pub workspace: Option<WorkspaceId>,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The graph of that task.
    pub graph: Option<GraphId>,
    /// Who ordered what waits.
    pub asked_by: Actor,
    /// The order, where there is one to carry out later.
    pub request: Option<Request>,
    /// When it was triggered.
    pub at: Timestamp,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// What happens then.
    pub fallback: GateFallback,
    /// Its place in the queue of its owner, from one, when it was triggered.
    pub position: u32,
}

impl Gate {
    /// When its fallback happens.
    pub fn due(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.at.after(timeout))
    }
}

/// What was answered at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateAction {
    /// Go on as proposed.
    Approve,
    /// Do not.
    Reject,
    /// Go on, with something changed.
    Modify,
}

/// How a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEnd {
    /// It went on as proposed.
    Approve,
    /// It did not.
    Reject,
    /// It went on, with something changed.
    Modify,
    /// Nobody answered, and the coordinator decides.
    Escalate,
}

/// What is remembered of a gate that has ended, as long as its run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedGate {
    /// The gate as it was.
    pub gate: Arc<Gate>,
    /// How it ended.
    pub end: GateEnd,
    /// Who ended it.
    pub by: resolve::Resolver,
    /// When.
    pub at: Timestamp,
    /// Whether the coordinator, to whom it was left, has let it go on since.
    pub released: bool,
}

impl ClosedGate {
    /// Whether it waits for the coordinator, to whom people left it.
    pub fn is_left(&self) -> bool {
        self.end == GateEnd::Escalate && !self.released
    }
}

/// `gate_triggered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggered {
    /// What happens if nobody answers.
    pub fallback: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// What it stands before.
    pub gate_type: GateType,
    /// The graph of the task it is about.
    pub graph_ref: Option<GraphId>,
    /// Its place in the queue of its owner, from one.
    pub queue_position: u32,
    /// The order that waits, where there is one to carry out later.
    pub request: Option<Request>,
    /// What waits.
    pub subject: AnyId,
    /// The task it is about.
    pub task_ref: Option<TaskId>,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// The workspace it is about.
    pub workspace: Option<WorkspaceId>,
}

/// `gate_timeout`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedOut {
    /// How long it waited.
    pub elapsed: Span,
    /// What happens now.
    pub fallback_action: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
}

/// `gate_reentry_blocked`: a gate that its fallback had closed was not asked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReentryBlocked {
    /// What happened instead.
    pub converted_to: GateAction,
    /// The gate that had been closed.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
    /// What had waited.
    pub subject_id: AnyId,
}

/// Something that may have to wait for a person.
pub(crate) struct Stop {
    pub(crate) kind: GateType,
    pub(crate) subject: AnyId,
    pub(crate) workspace: Option<WorkspaceId>,
    pub(crate) task: Option<TaskId>,
    pub(crate) request: Option<Request>,
}

/// How it goes on with an order.
pub(crate) enum Way {
    /// At once.
    Free,
    /// At once, since a gate for it had its time.
    Again(GateId, GateType, AnyId),
    /// Once a person has answered.
    Waits(GateId),
}

impl Way {
    /// Notes that a gate was not asked again, after the order itself is on record.
    pub(crate) fn note(self, turn: &mut Turn<'_>) -> Result<(), ApplyError> {
        let Way::Again(gate_id, gate_type, subject_id) = self else { return Ok(()) };
        let home = turn.state().root.clone();
        let converted_to = GateAction::Approve;
        let blocked = ReentryBlocked { converted_to, gate_id, gate_type, subject_id };
        turn.note(home.as_ref(), Actor::Protocol, Event::GateReentryBlocked(blocked))
    }
}

/// Whether an order goes on, or waits at a gate from now on. A person who may answer at the gate
/// does not have to ask anybody.
pub(crate) fn pass(turn: &mut Turn<'_>, caller: &Caller, stop: Stop) -> Result<Way, Halt> {
    let state = turn.state();
    if turn.is_released() || state.highway.gate(stop.kind).is_none() {
        return Ok(Way::Free);
    }
    if let Principal::User(user) = &caller.principal
        && capability::may(state, user, deed_at(stop.kind), stop.workspace.as_ref()).is_ok()
    {
        return Ok(Way::Free);
    }
    if let Some((gate, closed)) = guard(state, &stop) {
        if closed.end == GateEnd::Reject {
            return Err(turned_back(&gate).into());
        }
        return Ok(Way::Again(gate, stop.kind, stop.subject));
    }
    if let Some((gate, _)) = state.open_gate(stop.kind, &stop.subject) {
        let message = format!("this waits for a person already, at gate {gate}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    let actor = caller.principal.clone().into();
    trigger(turn, stop, actor).map(Way::Waits)
}

/// The gate for the same order that its fallback closed. To save what is left of a workspace is
/// another order than to merge it.
fn guard(state: &State, stop: &Stop) -> Option<(GateId, Arc<ClosedGate>)> {
    let id = closed_by_fallback(state, stop.kind, &stop.subject)?;
    let closed = state.closed_gates.get(&id)?.clone();
    let saves = |request: &Option<Request>| matches!(request, Some(Request::Salvage(_)));
    (saves(&closed.gate.request) == saves(&stop.request)).then_some((id, closed))
}

/// Nobody answered in time, and that means no.
fn turned_back(gate: &GateId) -> Refusal {
    let message = format!(
        "nobody answered at gate {gate} in time, and its fallback turned this back; a person \
         who may answer there can still order it"
    );
    Refusal::denied(Rule::GateWaits, message)
}

/// There is no way around a gate: what would do the same without asking is refused.
pub(crate) fn not_around(state: &State, caller: &Caller, kind: GateType) -> Result<(), Refusal> {
    let person = matches!(caller.principal, Principal::User(_));
    if person || state.highway.gate(kind).is_none() {
        return Ok(());
    }
    let message = format!("people are asked about each {kind}; this would go around them");
    Err(Refusal::denied(Rule::GateWaits, message))
}

/// Asks a person about a conflict, whether or not conflicts are asked about.
pub(crate) fn escalated(turn: &mut Turn<'_>, stop: Stop, actor: Actor) -> Result<GateId, Halt> {
    if let Some((gate, _)) = turn.state().open_gate(stop.kind, &stop.subject) {
        let message = format!("this waits for a person already, at gate {gate}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    if let Some((gate, closed)) = guard(turn.state(), &stop) {
        let left = "people left this to the coordinator, who settles it in another way";
        let refusal = match closed.end {
            GateEnd::Reject => turned_back(&gate),
            _ => Refusal::denied(Rule::GateWaits, format!("at gate {gate} {left}")),
        };
        return Err(refusal.into());
    }
    trigger(turn, stop, actor)
}

/// Has something wait from now on.
pub(crate) fn trigger(turn: &mut Turn<'_>, stop: Stop, actor: Actor) -> Result<GateId, Halt> {
    let state = turn.state();
    let policy = state.highway.gate(stop.kind).unwrap_or(state.highway.gate_defaults);
    if state.gates.len() >= GATES_MAX {
        let message = format!("{GATES_MAX} gates wait for people already");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let owner = owner_of(state, stop.workspace.as_ref());
    let before = state.gates.values().filter(|gate| gate.owner(state) == owner).count();
    let graph_ref = stop.task.as_ref().and_then(|id| state.tasks.get(id)).map(|t| t.graph.clone());
    let home = state.root.clone();
    let gate_id: GateId = turn.mint(IdKind::Gate).into();
    let event = Event::GateTriggered(Triggered {
        fallback: policy.fallback,
        gate_id: gate_id.clone(),
        gate_type: stop.kind,
        graph_ref,
        queue_position: u32::try_from(before + 1).unwrap_or(u32::MAX),
        request: stop.request,
        subject: stop.subject,
        task_ref: stop.task,
        timeout: policy.timeout_s.map(Timeout::span),
        workspace: stop.workspace,
    });
    turn.note(home.as_ref(), actor, event)?;
    Ok(gate_id)
}

/// A new task waits for approval, if plans do.
pub(crate) fn on_planned(turn: &mut Turn<'_>, id: &TaskId) -> Result<(), Halt> {
    if turn.state().highway.gate(GateType::TaskApproval).is_none() {
        return Ok(());
    }
    let (kind, task) = (GateType::TaskApproval, Some(id.clone()));
    let stop = Stop { kind, subject: id.into(), workspace: None, task, request: None };
    trigger(turn, stop, Actor::Protocol).map(|_| ())
}

/// An accepted envelope waits before the inbox, if envelopes do.
pub(crate) fn on_sent(turn: &mut Turn<'_>, id: &EnvelopeId, to: &WorkspaceId) -> Result<(), Halt> {
    if turn.state().highway.gate(GateType::EnvelopeDelivery).is_none() {
        return Ok(());
    }
    let (kind, workspace) = (GateType::EnvelopeDelivery, Some(to.clone()));
    let task = turn.state().envelopes.get(id).and_then(|sent| sent.task.clone());
    let stop = Stop { kind, subject: id.into(), workspace, task, request: None };
    trigger(turn, stop, Actor::Protocol).map(|_| ())
}

/// What a person needs to be allowed, to answer at a gate.
pub(crate) fn deed_at(kind: GateType) -> Deed {
    match kind {
        GateType::TaskApproval | GateType::WorkspaceCreate => Deed::CreateWorkspace,
        GateType::EnvelopeDelivery => Deed::Inject,
        GateType::Integration | GateType::ConflictResolution => Deed::ApproveIntegration,
        GateType::WorkspaceAbort => Deed::Abort,
    }
}

/// Who answers for a workspace; for plans, whoever answers for the root.
pub(crate) fn owner_of(state: &State, workspace: Option<&WorkspaceId>) -> Party {
    let known = workspace.or(state.root.as_ref()).and_then(|id| state.workspaces.get(id));
    known.map_or(Party::System, |known| known.owner.clone())
}

impl Gate {
    /// In whose queue it is. Whoever a workspace is handed to gets its gates, too.
    pub(crate) fn owner(&self, state: &State) -> Party {
        owner_of(state, self.workspace.as_ref())
    }

    /// The local trail that tells of it: that of its run's root.
    pub(crate) fn home(&self, state: &State) -> Option<WorkspaceId> {
        let at = self.workspace.as_ref().and_then(|id| state.workspaces.get(id));
        let graph = || self.graph.as_ref().and_then(|id| state.graphs.get(id));
        at.map(|at| at.charter.root.clone()).or_else(|| graph().map(|graph| graph.root.clone()))
    }

    /// Whether there is still something to decide about. Gates end with their run, whatever they
    /// are about: what is to be saved of a workspace may be of an earlier one.
    pub(crate) fn is_valid(&self, state: &State) -> bool {
        if state.root.is_none() {
            return false;
        }
        let status = || Some(state.workspaces.get(self.workspace.as_ref()?)?.status);
        match self.kind {
            GateType::TaskApproval => {
                let task = self.task.as_ref().and_then(|id| state.tasks.get(id));
                task.is_some_and(|task| {
                    task.status == task::Status::Draft && task::is_of_this_run(state, task)
                })
            }
            GateType::WorkspaceCreate => {
                let task = self.task.as_ref().map(|id| state.tasks.get(id).map(|task| task.status));
                let wanted = task.is_none_or(|status| status == Some(task::Status::Pending));
                wanted && status().is_some_and(Status::is_open)
            }
            GateType::EnvelopeDelivery => {
                let sent = EnvelopeId::new(self.subject.as_str()).ok();
                let sent = sent.and_then(|id| state.envelopes.get(&id));
                sent.is_some_and(|sent| sent.status == envelope::Status::Validated)
                    && status().is_some_and(|status| !status.is_terminal())
            }
            GateType::Integration => {
                let merging = |id| state.integrations.contains_key(id);
                let ready = match &self.request {
                    Some(Request::Salvage(_)) => Status::Failed,
                    _ => Status::Integrating,
                };
                status() == Some(ready) && !self.workspace.as_ref().is_some_and(merging)
            }
            GateType::ConflictResolution => {
                let conflict = ConflictId::new(self.subject.as_str()).ok();
                let at = self.workspace.as_ref().zip(conflict.as_ref());
                at.is_some_and(|(id, conflict)| {
                    integration::open_conflict(state, id, conflict).is_some()
                })
            }
            GateType::WorkspaceAbort => status().is_some_and(|status| !status.is_terminal()),
        }
    }
}

/// Whether a gate for this had its time, and which it was.
pub(crate) fn closed_by_fallback(state: &State, kind: GateType, subject: &AnyId) -> Option<GateId> {
    state.guarded.get(&(kind, subject.clone())).cloned()
}

/// Closes the gates that have nothing left to decide about.
pub(super) fn sweep(turn: &mut Turn<'_>) -> Result<(), ApplyError> {
    let state = turn.state();
    let gone = state.gates.iter().filter(|(_, gate)| !gate.is_valid(state));
    let gone: Vec<GateId> = gone.map(|(id, _)| id.clone()).collect();
    for id in gone {
        resolve::invalidate(turn, &id, None)?;
    }
    Ok(())
}

/// A gate's time is over.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, id: &GateId) -> Result<(), ApplyError> {
    let Some(gate) = turn.state().gates.get(id).cloned() else { return Ok(()) };
    let event = Event::GateTimeout(TimedOut {
        elapsed: turn.now().since(gate.at),
        fallback_action: gate.fallback,
        gate_id: id.clone(),
        gate_type: gate.kind,
    });
    let home = gate.home(turn.state());
    turn.note(home.as_ref(), Actor::Protocol, event)?;
    resolve::fall_back(turn, id, &gate)
}

pub(crate) fn apply_triggered(
    state: &mut State,
    entry: &Stamped,
    triggered: &Triggered,
) -> Result<(), ApplyError> {
    let gate = Gate {
        kind: triggered.gate_type,
        subject: triggered.subject.clone(),
        workspace: triggered.workspace.clone(),
        task: triggered.task_ref.clone(),
        graph: triggered.graph_ref.clone(),
        asked_by: entry.draft.actor.clone(),
        request: triggered.request.clone(),
        at: entry.at,
        timeout: triggered.timeout,
        fallback: triggered.fallback,
        position: triggered.queue_position,
    };
    if !gate.is_valid(state) {
        return Err(ApplyError::Mismatch("what a gate is about"));
    }
    state.insert_gate(triggered.gate_id.clone(), Arc::new(gate))
}

/// A gate that people left to the coordinator: whoever answers at it now has its order carried
/// out. Otherwise it only says why nobody was asked.
pub(crate) fn apply_reentry(
    state: &mut State,
    entry: &Stamped,
    blocked: &ReentryBlocked,
) -> Result<(), ApplyError> {
    let closed = state.closed_gates.get(&blocked.gate_id).ok_or(ApplyError::Unknown("the gate"))?;
    if closed.by != resolve::Resolver::Fallback || closed.gate.kind != blocked.gate_type {
        return Err(ApplyError::Mismatch("a gate that its fallback closed"));
    }
    if entry.draft.causation.is_none() {
        state.stopped.remove(&(blocked.gate_type, blocked.subject_id.clone()));
        let closed = ClosedGate { released: true, ..closed.as_ref().clone() };
        state.closed_gates.insert(blocked.gate_id.clone(), Arc::new(closed));
        state.released = Some(blocked.gate_id.clone());
    }
    Ok(())
}

impl State {
    /// Takes in an open gate with everything that is derived from it.
    pub(crate) fn insert_gate(&mut self, id: GateId, gate: Arc<Gate>) -> Result<(), ApplyError> {
        self.reschedule(None, gate.due(), &Deadline::Gate(id.clone()));
        self.stopped.insert((gate.kind, gate.subject.clone()), id.clone());
        match self.gates.insert(id, gate) {
            None => Ok(()),
            Some(_) => Err(ApplyError::Twice("a gate")),
        }
    }

    /// The open gate that stands before something.
    pub(crate) fn open_gate(
        &self,
        kind: GateType,
        subject: &AnyId,
    ) -> Option<(&GateId, &Arc<Gate>)> {
        let id = self.stopped.get(&(kind, subject.clone()))?;
        self.gates.get(id).map(|gate| (id, gate))
    }

    /// Takes in a gate that has ended. An envelope that was left to the coordinator waits on.
    pub(crate) fn insert_closed_gate(&mut self, id: GateId, closed: Arc<ClosedGate>) {
        if closed.is_left() && closed.gate.kind == GateType::EnvelopeDelivery {
            let subject = closed.gate.subject.clone();
            self.stopped.insert((GateType::EnvelopeDelivery, subject), id.clone());
        }
        self.closed_gates.insert(id, closed);
    }

    /// Whether an envelope waits for a person, or for the coordinator to whom people left it.
    pub(crate) fn is_stopped(&self, envelope: &EnvelopeId) -> bool {
        !self.stopped.is_empty()
            && self.stopped.contains_key(&(GateType::EnvelopeDelivery, envelope.into()))
    }

    /// Forgets the gates of a run that is over. None is open by then.
    pub(crate) fn forget_gates(&mut self) {
        self.closed_gates = imbl::OrdMap::new();
        self.guarded = imbl::OrdMap::new();
        self.stopped = imbl::OrdMap::new();
        self.released = None;
    }
}

/// A reason in words that is part of what an entry says.
pub(super) const SUBJECT_INVALIDATED: &str = "subject_invalidated";

pub(super) fn words(text: &str) -> Text<1000> {
    Text::lossy(text)
}
