//! Closing of gates: by a person, by the fallback, or by the runtime when there is nothing left to
//! decide. The consequences are part of the same commit.

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::gate::{
    ClosedGate, Gate, GateAction, GateEnd, SUBJECT_INVALIDATED, words,
};
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::view::GateView;
use crate::model::runs::approvals::{GateFallback, GateType};
use crate::model::runs::envelope::carrier::Parcel;
use crate::model::runs::envelope::{Payload, RejectReason};
use crate::model::runs::signal::SignalType;
use crate::model::runs::task::orders::ApprovalSource;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::protocol::command::{Visit, in_files, in_payload};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::runs::approvals::{gate, request};
use crate::rules::runs::envelope::deliver;
use crate::rules::runs::integration::{conflict, salvage};
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::task::{follow, orders};
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::{envelope, signal, task, workspace};
use crate::values::content::Content;
use crate::values::id::{EnvelopeId, GateId, TaskId};
use crate::values::name::UserId;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;

pub use crate::model::runs::approvals::resolve::*;

impl Modifications {
    /// Visits every piece of content in it, so that it can be stored.
    pub(crate) fn each_content<E>(&mut self, visit: Visit<'_, E>) -> Result<(), E> {
        self.description.as_mut().map_or(Ok(()), &mut *visit)?;
        self.payload.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))?;
        self.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
    }
}

/// The fields that may be modified at a gate.
pub(crate) fn changeable(gate: &Gate) -> &'static [&'static str] {
    match (gate.kind, &gate.request) {
        (GateType::TaskApproval, _) => &["description", "estimate", "name", "priority"],
        (GateType::WorkspaceCreate, _) => &["budget", "visibility", "workspace_priority"],
        (GateType::EnvelopeDelivery, _) => &["payload"],
        (GateType::ConflictResolution, Some(Request::Resolve(asked)))
            if asked.strategy == conflict::Resolution::Escalate =>
        {
            &["merged"]
        }
        _ => &[],
    }
}

pub(crate) fn decide_resolve(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, DecisionError> {
    let Some(gate) = tx.state().gates.get(&resolve.gate).cloned() else {
        return after_the_end(tx, caller, resolve);
    };
    let user = a_person(tx.state(), caller, &gate)?;
    let changed = changes(&gate, resolve)?;
    let resolved = Resolved {
        action: match resolve.action {
            GateAction::Approve => GateEnd::Approve,
            GateAction::Reject => GateEnd::Reject,
            GateAction::Modify => GateEnd::Modify,
        },
        actor: Resolver::User(user),
        gate_id: resolve.gate.clone(),
        gate_type: gate.kind,
        integrity: None,
        modifications: changed.map(|changed| Box::new(changed.clone())),
        payload_bytes: new_payload(changed).map(|payload| tx.bytes_of_payload(&payload)),
        reason: resolve.reason.clone(),
    };
    close(tx, resolved, caller.principal.clone().into())?;
    match resolve.action {
        GateAction::Reject => turn_back(tx, &gate)?,
        GateAction::Approve | GateAction::Modify => {
            let_through(tx, &gate, changed, ApprovalSource::Human)?;
        }
    }
    reply(tx, &resolve.gate)
}

/// Lets the coordinator decide at a gate that its fallback left to it.
fn after_the_end(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, DecisionError> {
    let Some(closed) = tx.state().closed_gates.get(&resolve.gate).cloned() else {
        let message = format!("there is no gate {}", resolve.gate);
        return Err(Refusal::not_found(Rule::GateOpen, message).into());
    };
    if !closed.is_left() || !closed.gate.is_valid(tx.state()) {
        let message = format!("gate {} is closed ({})", resolve.gate, closed.by);
        return Err(Refusal::denied(Rule::GateOpen, message).into());
    }
    workspace::coordinator_only(
        tx.state(),
        caller,
        "decide what was escalated to the coordinator",
    )?;
    if resolve.action != GateAction::Approve {
        let message = "the coordinator can only approve it, or leave it as it is";
        return Err(Refusal::denied(Rule::GateFields, message).into());
    }
    let event = Event::GateReentryBlocked(gate::ReentryBlocked {
        converted_to: GateAction::Approve,
        gate_id: resolve.gate.clone(),
        gate_type: closed.gate.kind,
        subject_id: closed.gate.subject.clone(),
    });
    let home = closed.gate.home(tx.state());
    tx.note(home.as_ref(), caller.principal.clone().into(), event)?;
    let source = match caller.principal {
        Principal::User(_) => ApprovalSource::Human,
        _ => ApprovalSource::Coordinator,
    };
    let_through(tx, &closed.gate, None, source)?;
    reply(tx, &resolve.gate)
}

fn reply(tx: &Transaction<'_>, id: &GateId) -> Result<Reply, DecisionError> {
    tx.gate_reply(id)
}

/// The person who decides, or a refusal if the caller is not a person or lacks permission.
fn a_person(state: &State, caller: &Caller, gate: &Gate) -> Result<UserId, Refusal> {
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot decide at a gate: only people can", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message));
    };
    capability::may(state, user, gate::permission_at(gate.kind), gate.workspace.as_ref())?;
    Ok(user.clone())
}

fn changes<'r>(gate: &Gate, resolve: &'r Resolve) -> Result<Option<&'r Modifications>, Refusal> {
    let allowed = changeable(gate);
    let refuse = |message: String| {
        let names = allowed.iter().map(ToString::to_string);
        Err(Refusal::denied(Rule::GateFields, message).allowing(names))
    };
    let given = resolve.changed();
    let fields = given.map(Modifications::given).unwrap_or_default();
    match (resolve.action, fields.is_empty()) {
        (GateAction::Modify, true) => refuse("nothing is changed".to_owned()),
        (GateAction::Approve | GateAction::Reject, false) => {
            refuse("`modifications` need the action `modify`".to_owned())
        }
        _ => match fields.iter().find(|field| !allowed.contains(field)) {
            Some(field) => refuse(format!("{field} cannot be changed at this gate")),
            None => Ok(given),
        },
    }
}

/// Records the closing of a gate.
fn close(tx: &mut Transaction<'_>, resolved: Resolved, actor: Actor) -> Result<(), ApplyError> {
    let gate = tx.state().gates.get(&resolved.gate_id).cloned();
    let home = gate.and_then(|gate| gate.home(tx.state()));
    tx.note(home.as_ref(), actor, Event::GateResolved(resolved))
}

/// Closes a gate that has nothing left to decide.
pub(crate) fn invalidate(
    tx: &mut Transaction<'_>,
    id: &GateId,
    why: Option<String>,
) -> Result<(), ApplyError> {
    let Some(gate) = tx.state().gates.get(id).cloned() else { return Ok(()) };
    let reason =
        why.map_or(SUBJECT_INVALIDATED.to_owned(), |why| format!("{SUBJECT_INVALIDATED}: {why}"));
    let resolved = Resolved {
        action: GateEnd::Reject,
        actor: Resolver::Protocol,
        gate_id: id.clone(),
        gate_type: gate.kind,
        integrity: None,
        modifications: None,
        payload_bytes: None,
        reason: Some(words(&reason)),
    };
    close(tx, resolved, Actor::Protocol)
}

/// Applies the fallback of a gate.
pub(crate) fn fall_back(
    tx: &mut Transaction<'_>,
    id: &GateId,
    gate: &Gate,
) -> Result<(), ApplyError> {
    let action = match gate.fallback {
        GateFallback::Approve => GateEnd::Approve,
        GateFallback::Reject => GateEnd::Reject,
        GateFallback::EscalateToCoordinator => GateEnd::Escalate,
    };
    let resolved = Resolved {
        action,
        actor: Resolver::Fallback,
        gate_id: id.clone(),
        gate_type: gate.kind,
        integrity: None,
        modifications: None,
        payload_bytes: None,
        reason: None,
    };
    let done = tx.attempt(|tx| {
        close(tx, resolved, Actor::Protocol)?;
        match action {
            GateEnd::Approve | GateEnd::Modify => {
                let_through(tx, gate, None, ApprovalSource::Timeout)
            }
            // A message goes back to its sender. Everything else stays where it is, so that people can
            // be asked again.
            GateEnd::Reject if gate.kind == GateType::EnvelopeDelivery => {
                Ok(send_back(tx, gate, "gate_unanswered")?)
            }
            GateEnd::Reject | GateEnd::Escalate => Ok(()),
        }
    });
    match done {
        Ok(()) => Ok(()),
        Err(DecisionError::Fault(fault)) => Err(fault),
        // The waiting command can no longer be carried out.
        Err(DecisionError::Refused(why)) => invalidate(tx, id, Some(why.message)),
        Err(DecisionError::NotAuthentic { reason, .. }) => {
            invalidate(tx, id, Some(reason.to_owned()))
        }
    }
}

/// Lets the waiting action proceed.
fn let_through(
    tx: &mut Transaction<'_>,
    gate: &Gate,
    changed: Option<&Modifications>,
    source: ApprovalSource,
) -> Result<(), DecisionError> {
    match gate.kind {
        GateType::TaskApproval => match &gate.task {
            Some(task) => Ok(orders::approved(tx, task, source)?),
            None => Ok(()),
        },
        GateType::EnvelopeDelivery => match &gate.workspace {
            Some(to) => Ok(deliver::move_on(tx, to)?),
            None => Ok(()),
        },
        GateType::WorkspaceCreate
        | GateType::Integration
        | GateType::ConflictResolution
        | GateType::WorkspaceAbort => request::carry_out(tx, gate, changed),
    }
}

/// Rejects the waiting action for a person.
fn turn_back(tx: &mut Transaction<'_>, gate: &Gate) -> Result<(), DecisionError> {
    match (gate.kind, &gate.request) {
        (GateType::TaskApproval, _) => {
            if let Some(id) = &gate.task {
                follow::step(tx, id, task::Status::Cancelled, None, Actor::Protocol)?;
            }
        }
        (GateType::EnvelopeDelivery, _) => send_back(tx, gate, "gate_rejected_by_human")?,
        // The workspace has already failed and stays so.
        (GateType::Integration, Some(Request::Salvage(_))) => {}
        (GateType::Integration, _) => fail(tx, gate)?,
        (GateType::ConflictResolution, Some(Request::Resolve(asked)))
            if asked.strategy == conflict::Resolution::Escalate =>
        {
            fail(tx, gate)?;
        }
        _ => {}
    }
    Ok(())
}

fn fail(tx: &mut Transaction<'_>, gate: &Gate) -> Result<(), ApplyError> {
    let Some(id) = &gate.workspace else { return Ok(()) };
    let salvaged = tx.state().workspaces.get(id).is_some_and(|known| known.status.is_terminal());
    if salvaged {
        // The workspace has already failed; only the salvage is abandoned.
        return salvage::abandon(tx, id, Trigger::GateRejectedByHuman);
    }
    let (to, trigger, initiator) = (Status::Failed, Trigger::GateRejectedByHuman, Initiator::Human);
    change::fail(tx, id, Change { to, trigger, initiator, reason: None, actor: Actor::Protocol })
}

/// Returns an envelope that was rejected, and tells its sender why.
fn send_back(tx: &mut Transaction<'_>, gate: &Gate, why: &str) -> Result<(), ApplyError> {
    let id = EnvelopeId::new(gate.subject.as_str());
    let id = id.map_err(|_| ApplyError::Unknown("the envelope"))?;
    let sent = tx.state().envelopes.get(&id).cloned();
    let sent = sent.ok_or(ApplyError::Unknown("the envelope"))?;
    let reason = RejectReason::GateRejectedByHuman;
    let rejected = envelope::Rejected {
        envelope_id: id.clone(),
        from: sent.from.clone(),
        reason,
        to: sent.to.clone(),
        kind: sent.kind.clone(),
    };
    tx.note(Some(&sent.from), Actor::Protocol, Event::EnvelopeRejected(rejected))?;
    let reason = Some(words(why));
    let notice = SignalContent { signal: SignalType::Failed, reason, about: Some((&id).into()) };
    signal::signal_sender(tx, &sent.to, &sent.from, notice)?;
    // Mail held up behind it is delivered.
    deliver::move_on(tx, &sent.to)
}

/// Approves the open gate of a task for a person. Returns whether there was one.
pub(crate) fn approve_task(
    tx: &mut Transaction<'_>,
    user: &UserId,
    task: &TaskId,
    actor: Actor,
) -> Result<bool, DecisionError> {
    let open = tx.state().open_gate(GateType::TaskApproval, &task.into());
    let Some((id, _)) = open.map(|(id, gate)| (id.clone(), gate.clone())) else {
        return Ok(false);
    };
    let resolved = Resolved {
        action: GateEnd::Approve,
        actor: Resolver::User(user.clone()),
        gate_id: id,
        gate_type: GateType::TaskApproval,
        integrity: None,
        modifications: None,
        payload_bytes: None,
        reason: None,
    };
    close(tx, resolved, actor)?;
    Ok(true)
}

pub(crate) fn apply_resolved(
    state: &mut State,
    entry: &Stamped,
    resolved: &Resolved,
) -> Result<(), ApplyError> {
    let gate = state.gates.remove(&resolved.gate_id).ok_or(ApplyError::Unknown("the gate"))?;
    if gate.kind != resolved.gate_type {
        return Err(ApplyError::Mismatch("the gate"));
    }
    state.reschedule(gate.due(), None, &Deadline::Gate(resolved.gate_id.clone()));
    state.stopped.remove(&(gate.kind, gate.subject.clone()));
    if resolved.actor == Resolver::Fallback {
        let guard = (gate.kind, gate.subject.clone());
        state.guarded.insert(guard, resolved.gate_id.clone());
    }
    if let Some(changed) = &resolved.modifications {
        apply_changes(state, entry, &gate, changed, resolved)?;
    }
    let (end, by, at) = (resolved.action, resolved.actor.clone(), entry.at);
    let closed = ClosedGate { gate, end, by, at, released: false };
    state.insert_closed_gate(resolved.gate_id.clone(), Arc::new(closed));
    Ok(())
}

/// The new payload that a person gave an envelope.
fn new_payload(changed: Option<&Modifications>) -> Option<Payload> {
    changed?.payload.as_ref()?.stored().ok()
}

/// The envelope as a person modified it, if a gate's resolution did so.
pub(crate) fn changed_envelope(state: &State, resolved: &Resolved) -> Option<Parcel> {
    let gate = state.gates.get(&resolved.gate_id)?;
    let changed = resolved.modifications.as_ref()?.payload.as_ref()?;
    let id = EnvelopeId::new(gate.subject.as_str()).ok()?;
    let sent = state.envelopes.get(&id)?;
    let envelope = envelope::Envelope { payload: changed.stored().ok()?, ..sent.as_ref().clone() };
    Some(Parcel { id, envelope })
}

/// Applies a person's modifications of a waiting task or envelope.
fn apply_changes(
    state: &mut State,
    entry: &Stamped,
    gate: &Gate,
    changed: &Modifications,
    resolved: &Resolved,
) -> Result<(), ApplyError> {
    if let (GateType::TaskApproval, Some(id)) = (gate.kind, &gate.task) {
        let known = state.task_record(id).ok_or(ApplyError::Unknown("the task"))?.id;
        state.change_record(entry, known, |task| {
            if let Some(name) = &changed.name {
                task.text = Text::lossy(name.as_str());
            }
            if let Some(description) = changed.description.as_ref().and_then(Content::blob) {
                task.task_mut().description = Some(description.clone());
            }
            if let Some(priority) = changed.priority {
                task.fields.priority = Some(priority.stored());
            }
            if let Some(estimate) = &changed.estimate {
                task.task_mut().estimate = Some(estimate.clone());
            }
        })?;
    }
    if let (GateType::EnvelopeDelivery, Some(payload)) = (gate.kind, &changed.payload) {
        let id = EnvelopeId::new(gate.subject.as_str());
        let id = id.map_err(|_| ApplyError::Unknown("the envelope"))?;
        let known = state.envelopes.get_mut(&id).ok_or(ApplyError::Unknown("the envelope"))?;
        let payload: Payload = payload.stored().map_err(|_| ApplyError::Mismatch("the payload"))?;
        let envelope = Arc::make_mut(known);
        envelope.payload = payload;
        envelope.integrity = resolved.integrity;
        let before = envelope.bytes;
        envelope.bytes = resolved.payload_bytes.map_or(before, Amount::get);
        state.queued = state.queued.saturating_sub(before).saturating_add(envelope.bytes);
    }
    Ok(())
}

impl Transaction<'_> {
    /// A gate, open or closed, as the reply to a command.
    pub(crate) fn gate_reply(&self, id: &GateId) -> Result<Reply, DecisionError> {
        let view = GateView::find(self.state(), id).ok_or(ApplyError::Unknown("the gate"))?;
        Ok(Reply::Gate(Box::new(view)))
    }
}
