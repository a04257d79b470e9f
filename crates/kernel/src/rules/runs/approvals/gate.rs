//! Gates: actions that wait for a person's approval.
//!
//! A gate is triggered by a command and holds back its effect. It is closed once: by a person, by
//! its fallback after the timeout, or by the runtime when there is nothing left to decide. The
//! gates of one owner form a queue, oldest first. A gate that its fallback closed is not opened
//! again for the same subject, unless it was rejected and people are expressly asked again
//! ([`decide_ask`]).

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::task::terms::TaskGate;
use crate::model::runs::workspace::{Party, Status, Timeout};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::runs::approvals::resolve;
use crate::rules::runs::{envelope, integration, task, workspace};
use crate::values::id::{AnyId, ConflictId, EnvelopeId, GateId, IdKind, TaskId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::runs::approvals::gate::*;

/// An action that may have to wait for approval.
pub(crate) struct Stop {
    pub(crate) kind: GateType,
    pub(crate) subject: AnyId,
    pub(crate) workspace: Option<WorkspaceId>,
    pub(crate) task: Option<TaskId>,
    pub(crate) request: Option<Request>,
}

impl Stop {
    /// The action that waited at a gate, to ask about it again.
    fn at(gate: &Gate) -> Self {
        Stop {
            kind: gate.kind,
            subject: gate.subject.clone(),
            workspace: gate.workspace.clone(),
            task: gate.task.clone(),
            request: gate.request.clone(),
        }
    }
}

/// How an action proceeds at a gate.
pub(crate) enum Way {
    /// Immediately.
    Free,
    /// Immediately, because the fallback of an earlier gate already decided.
    Again(GateId, GateType, AnyId),
    /// After a person's approval, at this gate.
    Waits(GateId),
}

impl Way {
    /// Records that a gate was not opened again, after the action itself is recorded.
    pub(crate) fn note(self, tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
        let Way::Again(gate_id, gate_type, subject_id) = self else { return Ok(()) };
        let home = tx.state().root.clone();
        let converted_to = GateAction::Approve;
        let blocked = ReentryBlocked { converted_to, gate_id, gate_type, subject_id };
        tx.note(home.as_ref(), Actor::Protocol, Event::GateReentryBlocked(blocked))
    }
}

/// Decides whether an action proceeds or waits at a new gate. A person who may decide at the gate
/// needs no approval.
pub(crate) fn pass(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    stop: Stop,
) -> Result<Way, DecisionError> {
    let state = tx.state();
    if tx.is_released() || !(state.approvals.gate(stop.kind).is_some() || demanded(state, &stop)) {
        return Ok(Way::Free);
    }
    if let Principal::User(user) = &caller.principal
        && capability::may(state, user, permission_at(stop.kind), stop.workspace.as_ref()).is_ok()
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
        let message = format!("this already waits for a person, at gate {gate}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    let actor = caller.principal.clone().into();
    trigger(tx, stop, actor, None).map(Way::Waits)
}

/// Whether the task itself asks for a person at this point.
fn demanded(state: &State, stop: &Stop) -> bool {
    let record = stop.task.as_ref().and_then(|task| state.task_record(task));
    let asked = record.and_then(|record| record.terms()?.gate);
    asked == Some(TaskGate::Integration) && stop.kind == GateType::Integration
}

/// The gate for the same action that its fallback closed. A salvage is a different action than a
/// merge, and if a merge or a resolution was rejected, another one is a different action, too.
fn guard(state: &State, stop: &Stop) -> Option<(GateId, Arc<ClosedGate>)> {
    let id = closed_by_fallback(state, stop.kind, &stop.subject)?;
    let closed = state.closed_gates.get(&id)?.clone();
    let saves = |request: &Option<Request>| matches!(request, Some(Request::Salvage(_)));
    let is_same = match stop.kind {
        GateType::Integration | GateType::ConflictResolution if closed.end == GateEnd::Reject => {
            closed.gate.request == stop.request
        }
        _ => saves(&closed.gate.request) == saves(&stop.request),
    };
    is_same.then_some((id, closed))
}

/// Says how an action that was rejected because nobody answered in time can be asked about again.
pub(crate) fn unanswered(gate: &GateId) -> String {
    format!(
        "nobody answered at gate {gate} in time, so this was rejected; ask people again with \
         `althing gate ask {gate}`, or have a person order it"
    )
}

/// The refusal because nobody answered in time and the fallback is to reject.
fn turned_back(gate: &GateId) -> Refusal {
    Refusal::denied(Rule::GateWaits, unanswered(gate))
}

/// Whether people can be asked again about what waited at a gate: if nobody answered, nobody asked
/// again yet, and there is still something to decide.
pub(crate) fn can_ask_again(state: &State, id: &GateId) -> bool {
    state.closed_gates.get(id).is_some_and(|closed| {
        let Gate { kind, subject, .. } = closed.gate.as_ref();
        closed.is_unanswered()
            && closed_by_fallback(state, *kind, subject).as_ref() == Some(id)
            && closed.gate.is_valid(state)
            && state.open_gate(*kind, subject).is_none()
    })
}

/// Opens a gate again for what was rejected because nobody answered in time. The party that ordered
/// it can ask again, and so can the coordinator and people who may decide at it.
pub(crate) fn decide_ask(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    ask: &Ask,
) -> Result<Reply, DecisionError> {
    let (state, id) = (tx.state(), &ask.gate);
    if state.gates.contains_key(id) {
        let message = format!("gate {id} still waits for a person");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    let Some(closed) = state.closed_gates.get(id).cloned() else {
        let message = format!("there is no gate {id}");
        return Err(Refusal::not_found(Rule::GateOpen, message).into());
    };
    if closed.gate.asked_by != Actor::from(caller.principal.clone()) {
        workspace::coordinator_only(state, caller, "ask again")?;
    }
    if !closed.is_unanswered() {
        let message = format!("gate {id} is closed ({}) and cannot be asked again", closed.by);
        return Err(Refusal::denied(Rule::AskAgain, message).into());
    }
    if closed.gate.kind == GateType::EnvelopeDelivery {
        let message = "the message went back to its sender, who can send it again: `althing send`";
        return Err(Refusal::denied(Rule::AskAgain, message).into());
    }
    let stop = Stop::at(&closed.gate);
    if let Some((open, _)) = state.open_gate(stop.kind, &stop.subject) {
        let message = format!("this already waits for a person, at gate {open}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    if !can_ask_again(state, id) {
        let message = format!("there is nothing left to ask about what waited at gate {id}");
        return Err(Refusal::denied(Rule::AskAgain, message).into());
    }
    let gate = trigger(tx, stop, caller.principal.clone().into(), Some(id.clone()))?;
    tx.gate_reply(&gate)
}

/// Refuses commands that would bypass a gate by other means.
pub(crate) fn not_around(state: &State, caller: &Caller, kind: GateType) -> Result<(), Refusal> {
    let person = matches!(caller.principal, Principal::User(_));
    if person || state.approvals.gate(kind).is_none() {
        return Ok(());
    }
    let message = format!("each {kind} needs a person's approval; this would bypass it");
    Err(Refusal::denied(Rule::GateWaits, message))
}

/// Asks a person about a conflict, even if no gate guards conflicts.
pub(crate) fn escalated(
    tx: &mut Transaction<'_>,
    stop: Stop,
    actor: Actor,
) -> Result<GateId, DecisionError> {
    if let Some((gate, _)) = tx.state().open_gate(stop.kind, &stop.subject) {
        let message = format!("this already waits for a person, at gate {gate}");
        return Err(Refusal::denied(Rule::GateWaits, message).into());
    }
    if let Some((gate, closed)) = guard(tx.state(), &stop) {
        let left = "this was left to the coordinator, who resolves it in another way";
        let refusal = match closed.end {
            GateEnd::Reject => turned_back(&gate),
            _ => Refusal::denied(Rule::GateWaits, format!("at gate {gate} {left}")),
        };
        return Err(refusal.into());
    }
    trigger(tx, stop, actor, None)
}

/// Opens a gate.
pub(crate) fn trigger(
    tx: &mut Transaction<'_>,
    stop: Stop,
    actor: Actor,
    asks_again: Option<GateId>,
) -> Result<GateId, DecisionError> {
    let state = tx.state();
    let settings = state.approvals_in_force();
    let policy = settings.gate(stop.kind).unwrap_or(settings.gate_defaults);
    let chosen_by = state.approvals_by.clone().filter(|_| policy.fallback.passes_people());
    if state.gates.len() >= GATES_MAX {
        let message = format!("there are already {GATES_MAX} open gates");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let owner = owner_of(state, stop.workspace.as_ref());
    let before = state.gates.values().filter(|gate| gate.owner(state) == owner).count();
    let graph_ref = stop.task.as_ref().and_then(|id| state.task(id)).map(|t| t.graph);
    let home = state.root.clone();
    let gate_id: GateId = tx.mint(IdKind::Gate).into();
    let event = Event::GateTriggered(Triggered {
        asks_again,
        chosen_by,
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

/// Opens a gate for a new task, if plans need approval.
pub(crate) fn on_planned(tx: &mut Transaction<'_>, id: &TaskId) -> Result<(), DecisionError> {
    if tx.state().approvals.gate(GateType::TaskApproval).is_none() {
        return Ok(());
    }
    let (kind, task) = (GateType::TaskApproval, Some(id.clone()));
    let stop = Stop { kind, subject: id.into(), workspace: None, task, request: None };
    trigger(tx, stop, Actor::Protocol, None).map(|_| ())
}

/// Opens a gate for an accepted envelope, if deliveries need approval.
pub(crate) fn on_sent(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    to: &WorkspaceId,
) -> Result<(), DecisionError> {
    if tx.state().approvals.gate(GateType::EnvelopeDelivery).is_none() {
        return Ok(());
    }
    let (kind, workspace) = (GateType::EnvelopeDelivery, Some(to.clone()));
    let task = tx.state().envelopes.get(id).and_then(|sent| sent.task.clone());
    let stop = Stop { kind, subject: id.into(), workspace, task, request: None };
    trigger(tx, stop, Actor::Protocol, None).map(|_| ())
}

/// The permission that a person needs to decide at a gate.
pub(crate) fn permission_at(kind: GateType) -> Permission {
    match kind {
        GateType::TaskApproval | GateType::WorkspaceCreate => Permission::CreateWorkspace,
        GateType::EnvelopeDelivery => Permission::Inject,
        GateType::Integration | GateType::ConflictResolution => Permission::ApproveIntegration,
        GateType::WorkspaceAbort => Permission::Abort,
    }
}

/// The owner of a workspace; for plans the owner of the root.
pub(crate) fn owner_of(state: &State, workspace: Option<&WorkspaceId>) -> Party {
    let known = workspace.or(state.root.as_ref()).and_then(|id| state.workspaces.get(id));
    known.map_or(Party::System, |known| known.owner.clone())
}

impl Gate {
    /// The owner of the queue it is in. A transferred workspace takes its gates along.
    pub(crate) fn owner(&self, state: &State) -> Party {
        owner_of(state, self.workspace.as_ref())
    }

    /// The workspace whose local trail records it: the root of its run.
    pub(crate) fn home(&self, state: &State) -> Option<WorkspaceId> {
        let at = self.workspace.as_ref().and_then(|id| state.workspaces.get(id));
        let graph = || self.graph.as_ref().and_then(|id| state.graphs.get(id));
        at.map(|at| at.charter.root.clone()).or_else(|| graph().map(|graph| graph.root.clone()))
    }

    /// Whether there is still something to decide. All gates end with the run: a salvage may be of
    /// a workspace of an earlier run.
    pub(crate) fn is_valid(&self, state: &State) -> bool {
        if state.root.is_none() {
            return false;
        }
        let status = || Some(state.workspaces.get(self.workspace.as_ref()?)?.status);
        match self.kind {
            GateType::TaskApproval => {
                let task = self.task.as_ref().and_then(|id| state.task(id));
                task.is_some_and(|task| {
                    task.status == task::Status::Draft && task::is_of_this_run(state, &task)
                })
            }
            GateType::WorkspaceCreate => {
                let free = |id| state.task(id).is_some_and(|task| task.is_free());
                let wanted = self.task.as_ref().is_none_or(free);
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

/// The gate for this subject that its fallback closed, if any.
pub(crate) fn closed_by_fallback(state: &State, kind: GateType, subject: &AnyId) -> Option<GateId> {
    state.guarded.get(&(kind, subject.clone())).cloned()
}

/// Closes the gates that have nothing left to decide.
pub(crate) fn sweep(tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
    let state = tx.state();
    let gone = state.gates.iter().filter(|(_, gate)| !gate.is_valid(state));
    let gone: Vec<GateId> = gone.map(|(id, _)| id.clone()).collect();
    for id in gone {
        resolve::invalidate(tx, &id, None)?;
    }
    Ok(())
}

/// Applies the fallback of a gate that timed out.
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
    // An order that is asked about again is still that of whoever gave it first.
    let before = triggered.asks_again.as_ref().and_then(|gate| state.closed_gates.get(gate));
    let asked_by = before.map(|before| before.gate.asked_by.clone());
    let gate = Gate {
        kind: triggered.gate_type,
        subject: triggered.subject.clone(),
        workspace: triggered.workspace.clone(),
        task: triggered.task_ref.clone(),
        graph: triggered.graph_ref.clone(),
        asked_by: asked_by.unwrap_or_else(|| entry.draft.actor.clone()),
        request: triggered.request.clone(),
        at: entry.at,
        timeout: triggered.timeout,
        fallback: triggered.fallback,
        chosen_by: triggered.chosen_by.clone(),
        asks_again: triggered.asks_again.clone(),
        position: triggered.queue_position,
    };
    if !gate.is_valid(state) {
        return Err(ApplyError::Mismatch("what a gate is about"));
    }
    if let Some(before) = &triggered.asks_again {
        if !can_ask_again(state, before) {
            return Err(ApplyError::Mismatch("a gate that nobody answered"));
        }
        state.guarded.remove(&(gate.kind, gate.subject.clone()));
    }
    state.insert_gate(triggered.gate_id.clone(), Arc::new(gate))
}

/// Applies the reentry of a gate left to the coordinator: without a cause it releases the waiting
/// action; otherwise it only records why no gate was opened.
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
    /// Inserts an open gate with its deadline and index.
    pub(crate) fn insert_gate(&mut self, id: GateId, gate: Arc<Gate>) -> Result<(), ApplyError> {
        self.reschedule(None, gate.due(), &Deadline::Gate(id.clone()));
        self.stopped.insert((gate.kind, gate.subject.clone()), id.clone());
        match self.gates.insert(id, gate) {
            None => Ok(()),
            Some(_) => Err(ApplyError::Twice("a gate")),
        }
    }

    /// The open gate for a subject.
    pub(crate) fn open_gate(
        &self,
        kind: GateType,
        subject: &AnyId,
    ) -> Option<(&GateId, &Arc<Gate>)> {
        let id = self.stopped.get(&(kind, subject.clone()))?;
        self.gates.get(id).map(|gate| (id, gate))
    }

    /// Inserts a closed gate. An envelope left to the coordinator keeps waiting.
    pub(crate) fn insert_closed_gate(&mut self, id: GateId, closed: Arc<ClosedGate>) {
        if closed.is_left() && closed.gate.kind == GateType::EnvelopeDelivery {
            let subject = closed.gate.subject.clone();
            self.stopped.insert((GateType::EnvelopeDelivery, subject), id.clone());
        }
        self.closed_gates.insert(id, closed);
    }

    /// Whether an envelope waits for a person, or for the coordinator to whom it was escalated.
    pub(crate) fn is_stopped(&self, envelope: &EnvelopeId) -> bool {
        !self.stopped.is_empty()
            && self.stopped.contains_key(&(GateType::EnvelopeDelivery, envelope.into()))
    }

    /// Drops the gates of a run that has ended. None is open by then.
    pub(crate) fn forget_gates(&mut self) {
        self.closed_gates = imbl::OrdMap::new();
        self.guarded = imbl::OrdMap::new();
        self.stopped = imbl::OrdMap::new();
    }
}
