//! Signals: the closed set of eleven notifications, and their delivery.
//!
//! A signal goes from a workspace to its parent and nowhere else. Two are receipts and go to the
//! sender of an envelope instead: `acknowledged`, and the `failed` that reports that delivery was
//! given up. Signals of one workspace arrive in order. They wait while the receiver is blocked,
//! migrating or suspended; if it has ended they are only recorded. A signal for which the state
//! table has no transition is recorded and changes nothing.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::escalation;
use crate::rules::runs::task::follow;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{budget, change};
use crate::rules::runs::{envelope, recovery, workspace};
use crate::values::id::{AnyId, CheckpointId, EnvelopeId, IdKind, SignalId, WorkspaceId};
use crate::values::principal::{Actor, Caller};
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::signal::*;

/// The content of a signal emitted by the runtime or an agent.
pub(crate) struct SignalContent {
    pub(crate) signal: SignalType,
    pub(crate) reason: Option<Text<1000>>,
    pub(crate) about: Option<AnyId>,
}

impl SignalContent {
    pub(crate) fn plain(signal: SignalType, about: AnyId) -> Self {
        SignalContent { signal, reason: None, about: Some(about) }
    }
}

pub(crate) fn decide_emit(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    emit: &Emit,
) -> Result<Reply, DecisionError> {
    let from = workspace::own(tx.state(), caller, emit.workspace.as_ref())?;
    may_emit(tx.state(), &from, emit)?;
    let status = workspace::get(tx.state(), &from)?.status;
    if status == Status::Idle && emit.signal == SignalType::Started {
        // Starting makes the agent ready, and waiting mail is delivered first.
        make_ready(tx, &from, caller)?;
    }
    let saying = SignalContent {
        signal: emit.signal,
        reason: emit.reason.clone(),
        about: emit.about.clone(),
    };
    let to = workspace::get(tx.state(), &from)?.parent.clone();
    let actor = caller.principal.clone().into();
    let id = emit_about(tx, &from, to, saying, emit.budget_warning.clone(), actor)?;
    if emit.signal == SignalType::Escalation {
        escalation::on_emitted(tx, &from, &id, emit.reason.as_ref())?;
    }
    let stepped = take_effect(tx, &from, emit)?;
    let effect = stepped || workspace::get(tx.state(), &from)?.status != status;
    let status = workspace::get(tx.state(), &from)?.status;
    Ok(Reply::Signal(SignalReply { signal_id: id, workspace: from, status, effect }))
}

/// Checks whether a signal may be emitted: role, reason, reference and state.
pub(crate) fn may_emit(state: &State, from: &WorkspaceId, emit: &Emit) -> Result<(), Refusal> {
    let workspace = workspace::get(state, from)?;
    let run = state.run_of(workspace);
    if !run.emits(&workspace.charter.role, emit.signal) {
        let base = run.base_of(&workspace.charter.role);
        let allowed = base.map_or(&[][..], |base| base.emits()).iter().map(ToString::to_string);
        let message = format!("the role {} does not emit {}", workspace.charter.role, emit.signal);
        return Err(Refusal::denied(Rule::MayEmit, message).allowing(allowed));
    }
    if emit.signal.needs_reason() && emit.reason.as_ref().is_none_or(Text::is_blank) {
        let message = format!("the signal {} needs a reason", emit.signal);
        return Err(Refusal::denied(Rule::SignalReason, message));
    }
    if emit.budget_warning.is_some() && emit.signal != SignalType::Blocked {
        let message = format!("the signal {} cannot carry a budget warning", emit.signal);
        return Err(Refusal::denied(Rule::SignalBudget, message));
    }
    if let Some(about) = &emit.about
        && !state.knows(about)
    {
        let message = format!("there is no envelope, checkpoint or workspace {about}");
        return Err(Refusal::not_found(Rule::ReferenceKnown, message));
    }
    if let Some(parent) = &workspace.parent
        && state.pending_of(parent).len() >= PENDING_MAX
    {
        let message = format!("{PENDING_MAX} signals wait for workspace {parent} already");
        return Err(Refusal::denied(Rule::Limits, message));
    }
    let arrives = workspace.status == Status::Migrating && emit.signal == SignalType::Ready;
    if matches!(workspace.status, Status::Migrating | Status::Suspended) && !arrives {
        let message = format!("workspace {from} is {} and emits no signals", workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message));
    }
    let leaves = emit.signal == SignalType::Complete && workspace.status == Status::Active;
    if leaves && let Some(child) = change::live_child_of_same_owner(state, from) {
        let message = format!("workspace {from} still has live work in {child}");
        return Err(Refusal::denied(Rule::ChildrenFirst, message));
    }
    Ok(())
}

/// Makes an agent ready in its workspace, or in one it was moved to, and delivers waiting mail.
pub(crate) fn make_ready(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    caller: &Caller,
) -> Result<(), DecisionError> {
    let workspace = workspace::get(tx.state(), id)?;
    let moved = workspace.status == Status::Migrating;
    if !moved && (workspace.status != Status::Idle || workspace.ready) {
        return Ok(());
    }
    let to = workspace.parent.clone();
    let saying = SignalContent { signal: SignalType::Ready, reason: None, about: None };
    emit_to(tx, id, to, saying, caller.principal.clone().into())?;
    if moved {
        return workspace::migrate::complete(tx, id);
    }
    envelope::deliver::move_on(tx, id)?;
    Ok(())
}

/// Makes the transition a signal leads to, if the state table has one. Returns whether it had.
pub(crate) fn take_effect(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    emit: &Emit,
) -> Result<bool, DecisionError> {
    let workspace = workspace::get(tx.state(), id)?;
    let root = workspace.parent.is_none();
    let step = |to: Status, trigger: Trigger| {
        let reason = emit.reason.clone();
        Change { to, trigger, initiator: Initiator::Agent, reason, actor: Actor::Protocol }
    };
    match (emit.signal, workspace.status) {
        (SignalType::Ready, Status::Idle) => {
            envelope::deliver::move_on(tx, id)?;
        }
        (SignalType::Ready, Status::Migrating) => workspace::migrate::complete(tx, id)?,
        (SignalType::Started, Status::Blocked) => {
            change::take(tx, id, step(Status::Active, Trigger::Started))?;
            follow::on_started(tx, id)?;
        }
        (SignalType::Started, Status::Active) => return Ok(follow::on_started(tx, id)?),
        (SignalType::Blocked, Status::Active) if !root => {
            change::take(tx, id, step(Status::Blocked, Trigger::Blocked))?;
        }
        (SignalType::Complete, Status::Active) if !root => {
            change::take(tx, id, step(Status::Integrating, Trigger::Complete))?;
            follow::on_complete(tx, id)?;
        }
        (SignalType::Failed, Status::Idle | Status::Active | Status::Blocked) => {
            change::fail(tx, id, step(Status::Failed, Trigger::Failed))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Emits a signal and delivers it if possible.
pub(crate) fn emit_to(
    tx: &mut Transaction<'_>,
    from: &WorkspaceId,
    to: Option<WorkspaceId>,
    saying: SignalContent,
    actor: Actor,
) -> Result<SignalId, ApplyError> {
    emit_about(tx, from, to, saying, None, actor)
}

/// Emits a signal with a budget warning.
fn emit_about(
    tx: &mut Transaction<'_>,
    from: &WorkspaceId,
    to: Option<WorkspaceId>,
    saying: SignalContent,
    budget_warning: Option<budget::Notice>,
    actor: Actor,
) -> Result<SignalId, ApplyError> {
    let signal_id: SignalId = tx.mint(IdKind::Signal).into();
    // The system leads the standing root and reads signals to it from the trail.
    let to = to.filter(|to| !tx.state().is_standing(to));
    let event = Event::SignalEmitted(Emitted {
        budget_warning,
        from: from.clone(),
        reason: saying.reason,
        about: saying.about,
        signal_id: signal_id.clone(),
        to: to.clone(),
        signal: saying.signal,
    });
    tx.note(Some(from), actor, event)?;
    if let Some(to) = to {
        deliver_pending(tx, &to)?;
    }
    Ok(signal_id)
}

/// Emits a signal of the runtime to a workspace's parent.
pub(crate) fn signal_parent(
    tx: &mut Transaction<'_>,
    from: &WorkspaceId,
    saying: SignalContent,
) -> Result<(), ApplyError> {
    let to = tx.state().workspaces.get(from).and_then(|known| known.parent.clone());
    emit_to(tx, from, to, saying, Actor::Protocol).map(|_| ())
}

/// Emits a signal of the runtime to the sender of an envelope.
pub(crate) fn signal_sender(
    tx: &mut Transaction<'_>,
    receiver: &WorkspaceId,
    sender: &WorkspaceId,
    saying: SignalContent,
) -> Result<(), ApplyError> {
    emit_to(tx, receiver, Some(sender.clone()), saying, Actor::Protocol).map(|_| ())
}

/// Delivers the signals waiting for a workspace, if it takes signals now.
pub(crate) fn deliver_pending(
    tx: &mut Transaction<'_>,
    to: &WorkspaceId,
) -> Result<(), ApplyError> {
    let open = tx.state().workspaces.get(to).is_some_and(|known| known.status.takes_signals());
    while open && let Some(notice) = tx.state().first_pending(to) {
        let event = Event::SignalDelivered(Delivered {
            delivered_to: to.clone(),
            from: notice.from.clone(),
            signal_id: notice.id.clone(),
        });
        tx.note(Some(to), Actor::Protocol, event)?;
    }
    Ok(())
}

pub(crate) fn apply_emitted(
    state: &mut State,
    entry: &Stamped,
    emitted: &Emitted,
) -> Result<(), ApplyError> {
    let workspace =
        state.workspaces.get_mut(&emitted.from).ok_or(ApplyError::Unknown("the workspace"))?;
    let shows_up = emitted.signal == SignalType::Ready && !workspace.status.is_terminal();
    if shows_up && !workspace.ready {
        std::sync::Arc::make_mut(workspace).ready = true;
    }
    // The runtime's own report about another workspace is no start of work.
    let reports = entry.draft.actor == Actor::Protocol && emitted.about.is_some();
    let starts =
        emitted.signal == SignalType::Started && workspace.status != Status::Idle && !reports;
    if starts && !workspace.started {
        std::sync::Arc::make_mut(workspace).started = true;
    }
    let asked = matches!(entry.draft.actor, Actor::Principal(_));
    if asked && recovery::leads_to_step(workspace, emitted.signal) {
        let (signal, reason) = (emitted.signal, emitted.reason.clone());
        std::sync::Arc::make_mut(workspace).owed = Some(recovery::Owed { signal, reason });
    }
    if emitted.signal == SignalType::Acknowledged
        && let Some(about) = &emitted.about
        && let Ok(envelope) = EnvelopeId::new(about.as_str())
    {
        envelope::deliver::note_acknowledged(state, &envelope, emitted);
    }
    let Some(to) = &emitted.to else { return Ok(()) };
    let receiver = state.workspaces.get(to).ok_or(ApplyError::Unknown("the receiver"))?;
    if !receiver.status.is_terminal() {
        let notice = Notice {
            id: emitted.signal_id.clone(),
            from: emitted.from.clone(),
            signal: emitted.signal,
            reason: emitted.reason.clone(),
            about: emitted.about.clone(),
            at: entry.at,
            budget_warning: emitted.budget_warning.clone(),
        };
        state.pending_signals.insert((to.clone(), entry.at), notice);
    }
    Ok(())
}

pub(crate) fn apply_delivered(
    state: &mut State,
    entry: &Stamped,
    delivered: &Delivered,
) -> Result<(), ApplyError> {
    let to = &delivered.delivered_to;
    if !state.workspaces.get(to).is_some_and(|known| known.status.takes_signals()) {
        return Err(ApplyError::Mismatch("the receiver's state"));
    }
    let notice = state.first_pending(to).ok_or(ApplyError::Unknown("the signal"))?.clone();
    if notice.id != delivered.signal_id || notice.from != delivered.from {
        return Err(ApplyError::Mismatch("the signal that is next"));
    }
    state.pending_signals.remove(&(to.clone(), notice.at));
    // A receipt is not shown in the inbox.
    if notice.signal != SignalType::Acknowledged {
        state.notices.insert((to.clone(), entry.at), notice);
    }
    Ok(())
}

impl State {
    /// Whether a workspace, envelope or checkpoint with this id exists, for a signal to refer to.
    pub(crate) fn knows(&self, id: &AnyId) -> bool {
        let text = id.as_str();
        let workspace = WorkspaceId::new(text).is_ok_and(|id| self.workspaces.contains_key(&id));
        let envelope = || EnvelopeId::new(text).is_ok_and(|id| self.envelopes.contains_key(&id));
        let checkpoint =
            || CheckpointId::new(text).is_ok_and(|id| self.checkpoints.contains_key(&id));
        workspace || envelope() || checkpoint()
    }

    /// The next signal waiting for a workspace.
    pub(crate) fn first_pending(&self, to: &WorkspaceId) -> Option<&Notice> {
        let mut from = self.pending_signals.range((to.clone(), Timestamp::default())..);
        from.next().filter(|((of, _), _)| of == to).map(|(_, notice)| notice)
    }

    /// The oldest signals a workspace received and has not taken.
    pub(crate) fn notices_of(&self, to: &WorkspaceId, max: usize) -> Vec<(Timestamp, Notice)> {
        let from = self.notices.range((to.clone(), Timestamp::default())..);
        let own = from.take_while(|((of, _), _)| of == to).take(max);
        own.map(|((_, at), notice)| (*at, notice.clone())).collect()
    }
}
