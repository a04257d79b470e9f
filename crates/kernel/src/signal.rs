//! Signals: the closed set of eleven notifications, and how they travel.
//!
//! A signal goes from a workspace to its parent and nowhere else. Two are receipts and go to the
//! sender of an envelope instead: `acknowledged`, and the `failed` that says delivery was given
//! up. Signals of one workspace arrive in the order they were emitted. While the receiver is
//! blocked, migrating or suspended they wait; if it has ended they are recorded only. A signal
//! that the state table has no step for is recorded and changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Stamped};
use crate::highway::escalation;
use crate::id::{AnyId, CheckpointId, EnvelopeId, IdKind, SignalId, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::change::{self, Change};
use crate::workspace::{self, Initiator, Status, Trigger, budget};
use crate::{envelope, recovery, task};

/// The most signals that wait for one workspace before agents have to wait, too. They are delivered
/// in one piece.
pub const PENDING_MAX: usize = 1_000;

/// The eleven signals. There are no others, and no taxonomy adds any.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SignalType {
    /// I exist and wait for input.
    Ready,
    /// I have begun, or go on.
    Started,
    /// I cannot continue.
    Blocked,
    /// I made a checkpoint.
    Checkpoint,
    /// My work is finished.
    Complete,
    /// I met an error I cannot recover from.
    Failed,
    /// The work of this workspace is being merged.
    Integrate,
    /// Your message is in my inbox.
    Acknowledged,
    /// I need a person.
    Escalation,
    /// This workspace is being paused.
    Suspend,
    /// This workspace is getting another agent.
    Migrate,
}

impl SignalType {
    /// All eleven.
    pub const ALL: &'static [SignalType] = &[
        SignalType::Ready,
        SignalType::Started,
        SignalType::Blocked,
        SignalType::Checkpoint,
        SignalType::Complete,
        SignalType::Failed,
        SignalType::Integrate,
        SignalType::Acknowledged,
        SignalType::Escalation,
        SignalType::Suspend,
        SignalType::Migrate,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            SignalType::Ready => "ready",
            SignalType::Started => "started",
            SignalType::Blocked => "blocked",
            SignalType::Checkpoint => "checkpoint",
            SignalType::Complete => "complete",
            SignalType::Failed => "failed",
            SignalType::Integrate => "integrate",
            SignalType::Acknowledged => "acknowledged",
            SignalType::Escalation => "escalation",
            SignalType::Suspend => "suspend",
            SignalType::Migrate => "migrate",
        }
    }

    /// Whether it must say why.
    pub fn needs_reason(self) -> bool {
        matches!(self, SignalType::Blocked | SignalType::Failed | SignalType::Escalation)
    }
}

impl std::fmt::Display for SignalType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// `signal.emit`: says how the caller's workspace stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// Which limit is near, if that is why; with `blocked` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// Why; needed for `blocked`, `failed` and `escalation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What it is about: an envelope, a checkpoint or a workspace.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// Which signal.
    #[serde(rename = "type")]
    pub signal: SignalType,
    /// The workspace it is emitted in; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `signal_emitted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emitted {
    /// What it says about a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What it is about.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// The signal.
    pub signal_id: SignalId,
    /// Whom it is for; nobody, if the root emitted it.
    pub to: Option<WorkspaceId>,
    /// Which signal.
    #[serde(rename = "type")]
    pub signal: SignalType,
}

/// `signal_delivered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// Who received it.
    pub delivered_to: WorkspaceId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The signal.
    pub signal_id: SignalId,
}

/// A signal on its way, or one its receiver has not looked at yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The signal.
    pub id: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// Which signal.
    pub signal: SignalType,
    /// Why.
    pub reason: Option<Text<1000>>,
    /// What it is about.
    pub about: Option<AnyId>,
    /// When it was emitted.
    pub at: Timestamp,
    /// What it says about a budget.
    pub budget_warning: Option<budget::Notice>,
}

/// What a signal that the runtime or an agent emits says.
pub(crate) struct Saying {
    pub(crate) signal: SignalType,
    pub(crate) reason: Option<Text<1000>>,
    pub(crate) about: Option<AnyId>,
}

impl Saying {
    pub(crate) fn plain(signal: SignalType, about: AnyId) -> Self {
        Saying { signal, reason: None, about: Some(about) }
    }
}

pub(crate) fn decide_emit(
    turn: &mut Turn<'_>,
    caller: &Caller,
    emit: &Emit,
) -> Result<Reply, Halt> {
    let from = workspace::own(turn.state(), caller, emit.workspace.as_ref())?;
    may_emit(turn.state(), &from, emit)?;
    let status = workspace::get(turn.state(), &from)?.status;
    if status == Status::Idle && emit.signal == SignalType::Started {
        // Whoever starts is there: what waits for it to be ready comes first.
        make_ready(turn, &from, caller)?;
    }
    let saying =
        Saying { signal: emit.signal, reason: emit.reason.clone(), about: emit.about.clone() };
    let to = workspace::get(turn.state(), &from)?.parent.clone();
    let actor = caller.principal.clone().into();
    let id = emit_about(turn, &from, to, saying, emit.budget_warning.clone(), actor)?;
    if emit.signal == SignalType::Escalation {
        escalation::on_emitted(turn, &from, &id, emit.reason.as_ref())?;
    }
    let stepped = take_effect(turn, &from, emit)?;
    let effect = stepped || workspace::get(turn.state(), &from)?.status != status;
    let status = workspace::get(turn.state(), &from)?.status;
    Ok(Reply::Signal(SignalReply { signal_id: id, workspace: from, status, effect }))
}

/// What became of a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignalReply {
    /// The signal.
    pub signal_id: SignalId,
    /// The workspace that emitted it.
    pub workspace: WorkspaceId,
    /// The state the workspace is in now.
    pub status: Status,
    /// Whether the signal changed anything; one that does not fit the state is only recorded.
    pub effect: bool,
}

/// Whether a signal may be emitted at all: role, reason, reference and state.
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
        let message = format!("the signal {} says nothing about why", emit.signal);
        return Err(Refusal::denied(Rule::SignalReason, message));
    }
    if emit.budget_warning.is_some() && emit.signal != SignalType::Blocked {
        let message = format!("the signal {} says nothing about a budget", emit.signal);
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
        let message = format!("workspace {from} has work going on in {child}");
        return Err(Refusal::denied(Rule::ChildrenFirst, message));
    }
    Ok(())
}

/// An agent shows up in its workspace, or in one it was moved to: mail that waited for it is
/// delivered.
pub(crate) fn make_ready(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    caller: &Caller,
) -> Result<(), Halt> {
    let workspace = workspace::get(turn.state(), id)?;
    let moved = workspace.status == Status::Migrating;
    if !moved && (workspace.status != Status::Idle || workspace.ready) {
        return Ok(());
    }
    let to = workspace.parent.clone();
    let saying = Saying { signal: SignalType::Ready, reason: None, about: None };
    emit_to(turn, id, to, saying, caller.principal.clone().into())?;
    if moved {
        return workspace::migrate::complete(turn, id);
    }
    envelope::deliver::move_on(turn, id)?;
    Ok(())
}

/// The step of the state table a signal leads to, if there is one. Returns whether there was.
pub(crate) fn take_effect(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    emit: &Emit,
) -> Result<bool, Halt> {
    let workspace = workspace::get(turn.state(), id)?;
    let root = workspace.parent.is_none();
    let step = |to: Status, trigger: Trigger| {
        let reason = emit.reason.clone();
        Change { to, trigger, initiator: Initiator::Agent, reason, actor: Actor::Protocol }
    };
    match (emit.signal, workspace.status) {
        (SignalType::Ready, Status::Idle) => {
            envelope::deliver::move_on(turn, id)?;
        }
        (SignalType::Ready, Status::Migrating) => workspace::migrate::complete(turn, id)?,
        (SignalType::Started, Status::Blocked) => {
            change::take(turn, id, step(Status::Active, Trigger::Started))?;
            task::on_started(turn, id)?;
        }
        (SignalType::Started, Status::Active) => return Ok(task::on_started(turn, id)?),
        (SignalType::Blocked, Status::Active) if !root => {
            change::take(turn, id, step(Status::Blocked, Trigger::Blocked))?;
        }
        (SignalType::Complete, Status::Active) if !root => {
            change::take(turn, id, step(Status::Integrating, Trigger::Complete))?;
            task::on_complete(turn, id)?;
        }
        (SignalType::Failed, Status::Idle | Status::Active | Status::Blocked) => {
            change::fail(turn, id, step(Status::Failed, Trigger::Failed))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Emits a signal and lets it travel.
pub(crate) fn emit_to(
    turn: &mut Turn<'_>,
    from: &WorkspaceId,
    to: Option<WorkspaceId>,
    saying: Saying,
    actor: Actor,
) -> Result<SignalId, ApplyError> {
    emit_about(turn, from, to, saying, None, actor)
}

/// The same, with a word about a budget.
fn emit_about(
    turn: &mut Turn<'_>,
    from: &WorkspaceId,
    to: Option<WorkspaceId>,
    saying: Saying,
    budget_warning: Option<budget::Notice>,
    actor: Actor,
) -> Result<SignalId, ApplyError> {
    let signal_id: SignalId = turn.mint(IdKind::Signal).into();
    let event = Event::SignalEmitted(Emitted {
        budget_warning,
        from: from.clone(),
        reason: saying.reason,
        about: saying.about,
        signal_id: signal_id.clone(),
        to: to.clone(),
        signal: saying.signal,
    });
    turn.note(Some(from), actor, event)?;
    if let Some(to) = to {
        deliver_pending(turn, &to)?;
    }
    Ok(signal_id)
}

/// The runtime tells a workspace's parent something.
pub(crate) fn tell_parent(
    turn: &mut Turn<'_>,
    from: &WorkspaceId,
    saying: Saying,
) -> Result<(), ApplyError> {
    let to = turn.state().workspaces.get(from).and_then(|known| known.parent.clone());
    emit_to(turn, from, to, saying, Actor::Protocol).map(|_| ())
}

/// The runtime tells the sender of an envelope what became of it.
pub(crate) fn tell_sender(
    turn: &mut Turn<'_>,
    receiver: &WorkspaceId,
    sender: &WorkspaceId,
    saying: Saying,
) -> Result<(), ApplyError> {
    emit_to(turn, receiver, Some(sender.clone()), saying, Actor::Protocol).map(|_| ())
}

/// Delivers the signals that wait for a workspace, if it takes them now.
pub(crate) fn deliver_pending(turn: &mut Turn<'_>, to: &WorkspaceId) -> Result<(), ApplyError> {
    let open = turn.state().workspaces.get(to).is_some_and(|known| known.status.takes_signals());
    while open && let Some(notice) = turn.state().first_pending(to) {
        let event = Event::SignalDelivered(Delivered {
            delivered_to: to.clone(),
            from: notice.from.clone(),
            signal_id: notice.id.clone(),
        });
        turn.note(Some(to), Actor::Protocol, event)?;
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
    // A receipt is nothing to look at; the sender asked for it by sending.
    if notice.signal != SignalType::Acknowledged {
        state.notices.insert((to.clone(), entry.at), notice);
    }
    Ok(())
}

impl State {
    /// Whether something of this id exists that a signal may be about.
    pub(crate) fn knows(&self, id: &AnyId) -> bool {
        let text = id.as_str();
        let workspace = WorkspaceId::new(text).is_ok_and(|id| self.workspaces.contains_key(&id));
        let envelope = || EnvelopeId::new(text).is_ok_and(|id| self.envelopes.contains_key(&id));
        let checkpoint =
            || CheckpointId::new(text).is_ok_and(|id| self.checkpoints.contains_key(&id));
        workspace || envelope() || checkpoint()
    }

    /// The signal a workspace receives next.
    pub(crate) fn first_pending(&self, to: &WorkspaceId) -> Option<&Notice> {
        let mut from = self.pending_signals.range((to.clone(), Timestamp::default())..);
        from.next().filter(|((of, _), _)| of == to).map(|(_, notice)| notice)
    }

    /// The oldest signals a workspace received and did not take yet.
    pub(crate) fn notices_of(&self, to: &WorkspaceId, max: usize) -> Vec<(Timestamp, Notice)> {
        let from = self.notices.range((to.clone(), Timestamp::default())..);
        let own = from.take_while(|((of, _), _)| of == to).take(max);
        own.map(|((_, at), notice)| (*at, notice.clone())).collect()
    }
}
