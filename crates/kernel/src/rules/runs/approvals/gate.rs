//! Gates: what waits for a person before it happens.
//!
//! A gate is triggered by an order and stands before its effect. It ends once: by a person, by
//! its fallback when its time is over, or by the runtime when there is nothing left to decide
//! about. Gates of one owner form a queue, oldest first. A gate that its fallback closed does not
//! come up again for the same thing.

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::workspace::{Party, Status, Timeout};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::runs::approvals::resolve;
use crate::rules::runs::{envelope, integration, task};
use crate::values::id::{AnyId, ConflictId, EnvelopeId, GateId, IdKind, TaskId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::runs::approvals::gate::*;

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
    pub(crate) fn note(self, tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
        let Way::Again(gate_id, gate_type, subject_id) = self else { return Ok(()) };
        let home = tx.state().root.clone();
        let converted_to = GateAction::Approve;
        let blocked = ReentryBlocked { converted_to, gate_id, gate_type, subject_id };
        tx.note(home.as_ref(), Actor::Protocol, Event::GateReentryBlocked(blocked))
    }
}

/// Whether an order goes on, or waits at a gate from now on. A person who may answer at the gate
/// does not have to ask anybody.
pub(crate) fn pass(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    stop: Stop,
) -> Result<Way, DecisionError> {
    let state = tx.state();
    if tx.is_released() || state.highway.gate(stop.kind).is_none() {
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
    trigger(tx, stop, actor).map(Way::Waits)
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
pub(crate) fn escalated(
    tx: &mut Transaction<'_>,
    stop: Stop,
    actor: Actor,
) -> Result<GateId, DecisionError> {
    if let Some((gate, _)) = tx.state().open_gate(stop.kind, &stop.subject) {
        let message = format!("this waits for a person already, at gate {gate}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    if let Some((gate, closed)) = guard(tx.state(), &stop) {
        let left = "people left this to the coordinator, who settles it in another way";
        let refusal = match closed.end {
            GateEnd::Reject => turned_back(&gate),
            _ => Refusal::denied(Rule::GateWaits, format!("at gate {gate} {left}")),
        };
        return Err(refusal.into());
    }
    trigger(tx, stop, actor)
}

/// Has something wait from now on.
pub(crate) fn trigger(
    tx: &mut Transaction<'_>,
    stop: Stop,
    actor: Actor,
) -> Result<GateId, DecisionError> {
    let state = tx.state();
    let policy = state.highway.gate(stop.kind).unwrap_or(state.highway.gate_defaults);
    if state.gates.len() >= GATES_MAX {
        let message = format!("{GATES_MAX} gates wait for people already");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let owner = owner_of(state, stop.workspace.as_ref());
    let before = state.gates.values().filter(|gate| gate.owner(state) == owner).count();
    let graph_ref = stop.task.as_ref().and_then(|id| state.tasks.get(id)).map(|t| t.graph.clone());
    let home = state.root.clone();
    let gate_id: GateId = tx.mint(IdKind::Gate).into();
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
    tx.note(home.as_ref(), actor, event)?;
    Ok(gate_id)
}

/// A new task waits for approval, if plans do.
pub(crate) fn on_planned(tx: &mut Transaction<'_>, id: &TaskId) -> Result<(), DecisionError> {
    if tx.state().highway.gate(GateType::TaskApproval).is_none() {
        return Ok(());
    }
    let (kind, task) = (GateType::TaskApproval, Some(id.clone()));
    let stop = Stop { kind, subject: id.into(), workspace: None, task, request: None };
    trigger(tx, stop, Actor::Protocol).map(|_| ())
}

/// An accepted envelope waits before the inbox, if envelopes do.
pub(crate) fn on_sent(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    to: &WorkspaceId,
) -> Result<(), DecisionError> {
    if tx.state().highway.gate(GateType::EnvelopeDelivery).is_none() {
        return Ok(());
    }
    let (kind, workspace) = (GateType::EnvelopeDelivery, Some(to.clone()));
    let task = tx.state().envelopes.get(id).and_then(|sent| sent.task.clone());
    let stop = Stop { kind, subject: id.into(), workspace, task, request: None };
    trigger(tx, stop, Actor::Protocol).map(|_| ())
}

/// What a person needs to be allowed, to answer at a gate.
pub(crate) fn deed_at(kind: GateType) -> Permission {
    match kind {
        GateType::TaskApproval | GateType::WorkspaceCreate => Permission::CreateWorkspace,
        GateType::EnvelopeDelivery => Permission::Inject,
        GateType::Integration | GateType::ConflictResolution => Permission::ApproveIntegration,
        GateType::WorkspaceAbort => Permission::Abort,
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
pub(crate) fn sweep(tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
    let state = tx.state();
    let gone = state.gates.iter().filter(|(_, gate)| !gate.is_valid(state));
    let gone: Vec<GateId> = gone.map(|(id, _)| id.clone()).collect();
    for id in gone {
        resolve::invalidate(tx, &id, None)?;
    }
    Ok(())
}

/// A gate's time is over.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &GateId) -> Result<(), ApplyError> {
    let Some(gate) = tx.state().gates.get(id).cloned() else { return Ok(()) };
    let event = Event::GateTimeout(TimedOut {
        elapsed: tx.now().since(gate.at),
        fallback_action: gate.fallback,
        gate_id: id.clone(),
        gate_type: gate.kind,
    });
    let home = gate.home(tx.state());
    tx.note(home.as_ref(), Actor::Protocol, event)?;
    resolve::fall_back(tx, id, &gate)
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
    }
}
