//! Answers at gates: a person's, the fallback's, or the runtime's when there is nothing left to
//! decide about. What follows from an answer is part of the same commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::gate::{self, ClosedGate, Gate, GateAction, GateEnd, SUBJECT_INVALIDATED, words};
use super::request::{self, Request};
use super::view::GateView;
use super::{GateFallback, GateType};
use crate::capability;
use crate::command::{Visit, in_files, in_payload};
use crate::content::{Blob, Content};
use crate::envelope::carrier::Parcel;
use crate::envelope::{self, Payload, PayloadArg, RejectReason, deliver};
use crate::event::{Event, Stamped};
use crate::file::FileArg;
use crate::id::{EnvelopeId, GateId, TaskId, WorkspaceId};
use crate::integration::{conflict, salvage};
use crate::name::UserId;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::seal::Integrity;
use crate::signal::{self, Saying, SignalType};
use crate::state::{ApplyError, Deadline, State};
use crate::task::orders::{self, ApprovalSource};
use crate::task::{self, Estimate, follow};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::budget::Budget;
use crate::workspace::change::{self, Change};
use crate::workspace::meter::Amount;
use crate::workspace::{self, Initiator, Status, Trigger};

/// Who ended a gate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolver {
    /// A person.
    User(UserId),
    /// The fallback, since nobody answered.
    Fallback,
    /// The runtime, since there was nothing left to decide about.
    Protocol,
}

impl std::fmt::Display for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Resolver::User(id) => f.pad(id.as_str()),
            Resolver::Fallback => f.pad("fallback"),
            Resolver::Protocol => f.pad("protocol"),
        }
    }
}

impl Serialize for Resolver {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Resolver {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // No user can be called so: these are reserved words.
        crate::de::from_str(deserializer, "a user, `fallback` or `protocol`", |text| match text {
            "fallback" => Ok(Resolver::Fallback),
            "protocol" => Ok(Resolver::Protocol),
            id => UserId::new(id).map(Resolver::User),
        })
    }
}

/// What a person may change about what waits. Each type of gate has its own fields; ids, times,
/// graphs and dependencies are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifications {
    /// Of a new workspace: what it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Of a task: what is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
    /// Of a task: what it is thought to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Of a conflict that was handed to a person: files as they should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// Of a task: what people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<200>>,
    /// Of an envelope: what is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadArg>,
    /// Of a task: how urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<task::Priority>,
    /// Of a new workspace: what it may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<WorkspaceId>>,
    /// Of a new workspace: how urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_priority: Option<workspace::Priority>,
}

impl Modifications {
    /// The content it cites.
    pub(crate) fn blobs(&self) -> Vec<&Blob> {
        let payload = self.payload.iter();
        let payload =
            payload.flat_map(|payload| payload.attachments.iter().chain([&payload.content]));
        let files = self.merged.iter().flatten().filter_map(|file| file.content.as_ref());
        self.description.iter().chain(payload).chain(files).filter_map(Content::blob).collect()
    }

    /// Shows every piece of content in it, so that it can be stored.
    pub(crate) fn each_content<E>(&mut self, visit: Visit<'_, E>) -> Result<(), E> {
        self.description.as_mut().map_or(Ok(()), &mut *visit)?;
        self.payload.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))?;
        self.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
    }

    /// The fields that were given.
    fn given(&self) -> Vec<&'static str> {
        let fields = [
            ("budget", self.budget.is_some()),
            ("description", self.description.is_some()),
            ("estimate", self.estimate.is_some()),
            ("merged", self.merged.is_some()),
            ("name", self.name.is_some()),
            ("payload", self.payload.is_some()),
            ("priority", self.priority.is_some()),
            ("visibility", self.visibility.is_some()),
            ("workspace_priority", self.workspace_priority.is_some()),
        ];
        fields.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

/// What may be changed at a gate.
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

/// `gate.resolve`: answers at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// What to do.
    pub action: GateAction,
    /// Which gate.
    pub gate: GateId,
    /// With `modify`: what is different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifications: Option<Box<Modifications>>,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

impl Resolve {
    /// What is different, if anything is.
    pub(crate) fn changed(&self) -> Option<&Modifications> {
        self.modifications.as_deref().filter(|changed| !changed.given().is_empty())
    }
}

/// `gate_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// How it ended.
    pub action: GateEnd,
    /// Who ended it.
    pub actor: Resolver,
    /// The gate.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
    /// The proof of an envelope that a person changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// What a person changed.
    pub modifications: Option<Box<Modifications>>,
    /// How much is in an envelope that a person changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<Amount>,
    /// Why.
    pub reason: Option<Text<1000>>,
}

pub(crate) fn decide_resolve(
    turn: &mut Turn<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, Halt> {
    let Some(gate) = turn.state().gates.get(&resolve.gate).cloned() else {
        return after_the_end(turn, caller, resolve);
    };
    let user = a_person(turn.state(), caller, &gate)?;
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
        payload_bytes: new_payload(changed).map(|payload| turn.bytes_of_payload(&payload)),
        reason: resolve.reason.clone(),
    };
    close(turn, resolved, caller.principal.clone().into())?;
    match resolve.action {
        GateAction::Reject => turn_back(turn, &gate, ApprovalSource::Human)?,
        GateAction::Approve | GateAction::Modify => {
            let_through(turn, &gate, changed, ApprovalSource::Human)?;
        }
    }
    reply(turn, &resolve.gate)
}

/// A gate that its fallback left to the coordinator is answered by the coordinator.
fn after_the_end(turn: &mut Turn<'_>, caller: &Caller, resolve: &Resolve) -> Result<Reply, Halt> {
    let Some(closed) = turn.state().closed_gates.get(&resolve.gate).cloned() else {
        let message = format!("there is no gate {}", resolve.gate);
        return Err(Refusal::not_found(Rule::GateOpen, message).into());
    };
    if !closed.is_left() || !closed.gate.is_valid(turn.state()) {
        let message = format!("gate {} has ended ({})", resolve.gate, closed.by);
        return Err(Refusal::denied(Rule::GateOpen, message).into());
    }
    workspace::coordinator_only(turn.state(), caller, "decide what people left to it")?;
    if resolve.action != GateAction::Approve {
        let message = "the coordinator lets it go on, or leaves it as it is";
        return Err(Refusal::denied(Rule::GateFields, message).into());
    }
    let event = Event::GateReentryBlocked(gate::ReentryBlocked {
        converted_to: GateAction::Approve,
        gate_id: resolve.gate.clone(),
        gate_type: closed.gate.kind,
        subject_id: closed.gate.subject.clone(),
    });
    let home = closed.gate.home(turn.state());
    turn.note(home.as_ref(), caller.principal.clone().into(), event)?;
    let source = match caller.principal {
        Principal::User(_) => ApprovalSource::Human,
        _ => ApprovalSource::Coordinator,
    };
    let_through(turn, &closed.gate, None, source)?;
    reply(turn, &resolve.gate)
}

fn reply(turn: &Turn<'_>, id: &GateId) -> Result<Reply, Halt> {
    turn.gate_reply(id)
}

/// The person who answers, if a person does and may.
fn a_person(state: &State, caller: &Caller, gate: &Gate) -> Result<UserId, Refusal> {
    let Principal::User(user) = &caller.principal else {
        let message = format!("{} cannot answer at a gate: people do", caller.principal);
        return Err(Refusal::denied(Rule::PersonDecides, message));
    };
    capability::may(state, user, gate::deed_at(gate.kind), gate.workspace.as_ref())?;
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
            refuse("changes come with `modify`".to_owned())
        }
        _ => match fields.iter().find(|field| !allowed.contains(field)) {
            Some(field) => refuse(format!("{field} cannot be changed at this gate")),
            None => Ok(given),
        },
    }
}

/// Records the end of a gate.
fn close(turn: &mut Turn<'_>, resolved: Resolved, actor: Actor) -> Result<(), ApplyError> {
    let gate = turn.state().gates.get(&resolved.gate_id).cloned();
    let home = gate.and_then(|gate| gate.home(turn.state()));
    turn.note(home.as_ref(), actor, Event::GateResolved(resolved))
}

/// There is nothing left to decide about.
pub(super) fn invalidate(
    turn: &mut Turn<'_>,
    id: &GateId,
    why: Option<String>,
) -> Result<(), ApplyError> {
    let Some(gate) = turn.state().gates.get(id).cloned() else { return Ok(()) };
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
    close(turn, resolved, Actor::Protocol)
}

/// What happens because nobody answered.
pub(super) fn fall_back(turn: &mut Turn<'_>, id: &GateId, gate: &Gate) -> Result<(), ApplyError> {
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
    let done = turn.attempt(|turn| {
        close(turn, resolved, Actor::Protocol)?;
        match action {
            GateEnd::Approve | GateEnd::Modify => {
                let_through(turn, gate, None, ApprovalSource::Timeout)
            }
            GateEnd::Reject => turn_back(turn, gate, ApprovalSource::Timeout),
            GateEnd::Escalate => Ok(()),
        }
    });
    match done {
        Ok(()) => Ok(()),
        Err(Halt::Fault(fault)) => Err(fault),
        // What was ordered once cannot be done any more.
        Err(Halt::Refused(why)) => invalidate(turn, id, Some(why.message)),
        Err(Halt::NotAuthentic { reason, .. }) => invalidate(turn, id, Some(reason.to_owned())),
    }
}

/// What waited goes on.
fn let_through(
    turn: &mut Turn<'_>,
    gate: &Gate,
    changed: Option<&Modifications>,
    source: ApprovalSource,
) -> Result<(), Halt> {
    match gate.kind {
        GateType::TaskApproval => match &gate.task {
            Some(task) => Ok(orders::approved(turn, task, source)?),
            None => Ok(()),
        },
        GateType::EnvelopeDelivery => match &gate.workspace {
            Some(to) => Ok(deliver::move_on(turn, to)?),
            None => Ok(()),
        },
        GateType::WorkspaceCreate
        | GateType::Integration
        | GateType::ConflictResolution
        | GateType::WorkspaceAbort => request::carry_out(turn, gate, changed),
    }
}

/// What waited does not go on.
fn turn_back(turn: &mut Turn<'_>, gate: &Gate, source: ApprovalSource) -> Result<(), Halt> {
    let initiator = match source {
        ApprovalSource::Human => Initiator::Human,
        _ => Initiator::Runtime,
    };
    match (gate.kind, &gate.request) {
        (GateType::TaskApproval, _) => {
            if let Some(id) = &gate.task {
                follow::step(turn, id, task::Status::Cancelled, None, Actor::Protocol)?;
            }
        }
        (GateType::EnvelopeDelivery, _) => send_back(turn, gate)?,
        // What failed before stays as it is.
        (GateType::Integration, Some(Request::Salvage(_))) => {}
        (GateType::Integration, _) => fail(turn, gate, initiator)?,
        (GateType::ConflictResolution, Some(Request::Resolve(asked)))
            if asked.strategy == conflict::Resolution::Escalate =>
        {
            fail(turn, gate, initiator)?;
        }
        _ => {}
    }
    Ok(())
}

fn fail(turn: &mut Turn<'_>, gate: &Gate, initiator: Initiator) -> Result<(), ApplyError> {
    let Some(id) = &gate.workspace else { return Ok(()) };
    let salvaged = turn.state().workspaces.get(id).is_some_and(|known| known.status.is_terminal());
    if salvaged {
        // It has failed before; what is given up is the attempt to save something of it.
        return salvage::abandon(turn, id, Trigger::GateRejectedByHuman);
    }
    let (to, trigger) = (Status::Failed, Trigger::GateRejectedByHuman);
    change::fail(turn, id, Change { to, trigger, initiator, reason: None, actor: Actor::Protocol })
}

/// An envelope that a person stopped goes back, and its sender is told.
fn send_back(turn: &mut Turn<'_>, gate: &Gate) -> Result<(), ApplyError> {
    let id = EnvelopeId::new(gate.subject.as_str());
    let id = id.map_err(|_| ApplyError::Unknown("the envelope"))?;
    let sent = turn.state().envelopes.get(&id).cloned();
    let sent = sent.ok_or(ApplyError::Unknown("the envelope"))?;
    let reason = RejectReason::GateRejectedByHuman;
    let rejected = envelope::Rejected {
        envelope_id: id.clone(),
        from: sent.from.clone(),
        reason,
        to: sent.to.clone(),
        kind: sent.kind.clone(),
    };
    turn.note(Some(&sent.from), Actor::Protocol, Event::EnvelopeRejected(rejected))?;
    let reason = Some(words("gate_rejected_by_human"));
    let notice = Saying { signal: SignalType::Failed, reason, about: Some((&id).into()) };
    signal::tell_sender(turn, &sent.to, &sent.from, notice)?;
    // What was held up behind it goes on.
    deliver::move_on(turn, &sent.to)
}

/// Answers for a person the gates that stand before tasks. Returns whether there was one.
pub(crate) fn approve_task(
    turn: &mut Turn<'_>,
    user: &UserId,
    task: &TaskId,
    actor: Actor,
) -> Result<bool, Halt> {
    let open = turn.state().open_gate(GateType::TaskApproval, &task.into());
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
    close(turn, resolved, actor)?;
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
        apply_changes(state, &gate, changed, resolved)?;
    }
    let goes_on = matches!(resolved.action, GateEnd::Approve | GateEnd::Modify);
    state.released = goes_on.then(|| resolved.gate_id.clone());
    let (end, by, at) = (resolved.action, resolved.actor.clone(), entry.at);
    let closed = ClosedGate { gate, end, by, at, released: false };
    state.insert_closed_gate(resolved.gate_id.clone(), Arc::new(closed));
    Ok(())
}

/// What a person put into an envelope.
fn new_payload(changed: Option<&Modifications>) -> Option<Payload> {
    changed?.payload.as_ref()?.stored().ok()
}

/// The envelope as a person changed it, if that is what happened at a gate.
pub(crate) fn changed_envelope(state: &State, resolved: &Resolved) -> Option<Parcel> {
    let gate = state.gates.get(&resolved.gate_id)?;
    let changed = resolved.modifications.as_ref()?.payload.as_ref()?;
    let id = EnvelopeId::new(gate.subject.as_str()).ok()?;
    let sent = state.envelopes.get(&id)?;
    let envelope = envelope::Envelope { payload: changed.stored().ok()?, ..sent.as_ref().clone() };
    Some(Parcel { id, envelope })
}

/// What a person changed about a task or an envelope that waits.
fn apply_changes(
    state: &mut State,
    gate: &Gate,
    changed: &Modifications,
    resolved: &Resolved,
) -> Result<(), ApplyError> {
    if let (GateType::TaskApproval, Some(id)) = (gate.kind, &gate.task) {
        let known = state.tasks.get_mut(id).ok_or(ApplyError::Unknown("the task"))?;
        let task = Arc::make_mut(known);
        if let Some(name) = &changed.name {
            task.name.clone_from(name);
        }
        if let Some(description) = changed.description.as_ref().and_then(Content::blob) {
            task.description = description.clone();
        }
        task.priority = changed.priority.unwrap_or(task.priority);
        task.estimate = changed.estimate.clone().or_else(|| task.estimate.clone());
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

impl Turn<'_> {
    /// A gate, open or ended, as the reply to a command.
    pub(crate) fn gate_reply(&self, id: &GateId) -> Result<Reply, Halt> {
        let view = GateView::find(self.state(), id).ok_or(ApplyError::Unknown("the gate"))?;
        Ok(Reply::Gate(Box::new(view)))
    }
}
