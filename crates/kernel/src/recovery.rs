//! Recovery: what is made good after a writer ended without saying so.
//!
//! The trail says everything that happened, and the state that follows from it is rebuilt by
//! `apply` and nothing else. What is left to do is what the trail says was begun and not ended:
//! envelopes and signals on their way, a step that an agent asked for, deadlines that passed
//! meanwhile. [`plan`] only looks; the command does what the plan says, records what was found
//! damaged, and ends with one `recovery_completed`. Done a second time it finds nothing to do.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::envelope::{self, deliver};
use crate::event::Event;
use crate::id::{AnyId, EnvelopeId, SignalId, WorkspaceId};
use crate::principal::Actor;
use crate::signal::{self, Emit, Saying, SignalType};
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::{Span, Timestamp, exact_integer};
use crate::turn::{Halt, Reply, Turn};
use crate::violation::{ActionTaken, IntegrityViolation};
use crate::workspace::{Status, Workspace};

/// The name of a writer: whoever may write takes a fresh one.
pub type WriterName = Text<32>;
/// The most writers one recovery is about.
pub const WRITERS_MAX: usize = 1_000;
/// About the most overdue things one recovery records; what is due beyond that is recorded before
/// the next command.
const DUE_MAX: usize = 100_000;

/// `runtime.recover`: makes good what somebody left behind who ended without saying so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// How many entries were examined.
    pub examined: u64,
    /// What was found damaged or missing.
    pub findings: Vec<IntegrityViolation>,
    /// How many files of interrupted work are set aside.
    pub left_over: u64,
    /// Who is on the list of writers and not there any more.
    pub writers: Vec<WriterName>,
}

/// `recovery_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryCompleted {
    /// How long nothing had been recorded.
    pub downtime: Span,
    /// Envelopes that were on their way and are in an inbox now.
    #[serde(deserialize_with = "exact_integer")]
    pub envelopes_redelivered: u64,
    /// Those whom an earlier recovery was about and who were still on the list, because that
    /// recovery was cut short.
    pub known_writers: Vec<WriterName>,
    /// Things that were set aside.
    #[serde(deserialize_with = "exact_integer")]
    pub quarantined_entries: u64,
    /// Signals that were on their way and are again, or have arrived.
    #[serde(deserialize_with = "exact_integer")]
    pub signals_requeued: u64,
    /// Deadlines that run.
    #[serde(deserialize_with = "exact_integer")]
    pub timers_reconstructed: u64,
    /// Entries that were examined.
    #[serde(deserialize_with = "exact_integer")]
    pub trail_entries_examined: u64,
    /// Workspaces that failed in the course of it.
    #[serde(deserialize_with = "exact_integer")]
    pub workspaces_failed: u64,
    /// Workspaces that go on.
    #[serde(deserialize_with = "exact_integer")]
    pub workspaces_recovered: u64,
    /// The writers that ended without saying so.
    pub writers: Vec<WriterName>,
}

/// What an agent said that leads to a step, while the step is not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// What it said.
    pub signal: SignalType,
    /// Why.
    pub reason: Option<Text<1000>>,
}

/// A step that an agent asked for and that is not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwedStep {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// What its agent said.
    pub signal: SignalType,
}

/// What recovery would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Envelopes on their way that can be delivered, or go back because their receiver ended.
    pub envelopes: Vec<EnvelopeId>,
    /// Signals on their way, in the order of each receiver.
    pub signals: Vec<SignalId>,
    /// How many of them can arrive now; the others wait for their receiver.
    pub arriving: usize,
    /// Steps that agents asked for and that were not taken.
    pub steps: Vec<OwedStep>,
    /// Deadlines that run.
    pub timers: usize,
    /// How many of them have passed.
    pub due: usize,
    /// Workspaces that go on.
    pub workspaces: usize,
}

impl Plan {
    /// Whether nothing was left half done.
    pub fn is_empty(&self) -> bool {
        self.envelopes.is_empty() && self.steps.is_empty() && self.arriving == 0
    }
}

/// The step a signal leads to from a state, as far as recovery takes it.
pub(crate) fn leads_to_step(workspace: &Workspace, signal: SignalType) -> bool {
    let root = workspace.parent.is_none();
    match (signal, workspace.status) {
        (SignalType::Blocked | SignalType::Complete, Status::Active) => !root,
        (SignalType::Failed, Status::Idle | Status::Active | Status::Blocked) => true,
        _ => false,
    }
}

/// Looks at what was begun and not ended.
pub fn plan(state: &State, now: Timestamp) -> Plan {
    let on_their_way = state.held.iter().filter(|(to, _, id)| {
        let receiver = state.workspaces.get(to);
        let open = receiver.is_some_and(|known| known.takes_mail() || known.status.is_terminal());
        let later = state.envelopes.get(id).and_then(|envelope| envelope.retry_at);
        open && later.is_none_or(|at| at <= now)
    });
    let unanswered = unanswered(state).map(|(id, _)| id);
    let owed = state.workspaces().filter_map(|(id, known)| {
        let signal = known.owed.as_ref()?.signal;
        Some(OwedStep { workspace: id.clone(), signal })
    });
    let takes = |to: &WorkspaceId| {
        state.workspaces.get(to).is_some_and(|known| known.status.takes_signals())
    };
    Plan {
        arriving: state.pending_signals.keys().filter(|(to, _)| takes(to)).count(),
        envelopes: on_their_way.map(|(.., id)| id).chain(unanswered).cloned().collect(),
        signals: state.pending_signals.values().map(|notice| notice.id.clone()).collect(),
        steps: owed.collect(),
        timers: state.deadlines.len(),
        due: state.deadlines.iter().take_while(|(at, _)| *at <= now).count(),
        workspaces: state.live,
    }
}

/// Envelopes in an inbox whose sender was not told, and which nothing is going to tell.
fn unanswered(state: &State) -> impl Iterator<Item = (&EnvelopeId, &envelope::Envelope)> {
    state.envelopes().filter(|(_, known)| {
        let untold = known.status == envelope::Status::Delivered && known.retry_at.is_none();
        let receiver = state.workspaces.get(&known.to);
        let there = receiver.is_some_and(|receiver| receiver.takes_mail());
        untold && known.attempts == 0 && there
    })
}

/// What an entry refers to and is not there, where `apply` can do without.
pub fn orphans(state: &State, event: &Event) -> Vec<AnyId> {
    let missing = match event {
        Event::SignalEmitted(body) => body.about.clone().filter(|about| !state.knows(about)),
        Event::EnvelopeCreated(body) => {
            let missing = body.task_ref.as_ref().filter(|task| !state.tasks.contains_key(*task));
            missing.and_then(|task| AnyId::new(task.as_str()).ok())
        }
        _ => None,
    };
    missing.into_iter().collect()
}

pub(crate) fn decide_recover(turn: &mut Turn<'_>, recover: &Recover) -> Result<Reply, Halt> {
    let (first, last_stamp) = (turn.entries().len(), turn.state().clock());
    let known: BTreeSet<&WriterName> = turn.state().recovered.iter().collect();
    let (known_writers, mut writers): (Vec<WriterName>, Vec<WriterName>) =
        recover.writers.iter().cloned().partition(|name| known.contains(name));
    writers.truncate(WRITERS_MAX);
    let plan = plan(turn.state(), turn.now());
    let found_nothing = recover.findings.is_empty() && recover.left_over == 0;
    if writers.is_empty() && found_nothing && plan.is_empty() {
        return Ok(Reply::Done);
    }
    for finding in &recover.findings {
        turn.begin_story();
        turn.note(None, Actor::Protocol, Event::IntegrityViolation(finding.clone()))?;
    }
    let envelopes_redelivered = deliver_what_waits(turn, &plan)?;
    take_owed_steps(turn, &plan)?;
    turn.tick(DUE_MAX)?;
    let set_aside =
        |finding: &&IntegrityViolation| finding.action_taken == ActionTaken::Quarantined;
    let completed = RecoveryCompleted {
        downtime: turn.now().since(last_stamp),
        envelopes_redelivered,
        known_writers,
        quarantined_entries: recover.findings.iter().filter(set_aside).count() as u64
            + recover.left_over,
        signals_requeued: plan.signals.len() as u64,
        timers_reconstructed: turn.state().deadlines.len() as u64,
        trail_entries_examined: recover.examined,
        workspaces_failed: failed_since(turn, first),
        workspaces_recovered: turn.state().live as u64,
        writers,
    };
    let root = turn.state().root.clone();
    turn.begin_story();
    turn.note(root.as_ref(), Actor::Protocol, Event::RecoveryCompleted(completed.clone()))?;
    if let Some(root) = root {
        tell_coordinator(turn, &root, &completed)?;
    }
    Ok(Reply::Recovery(Box::new(completed)))
}

/// Puts what was on its way where it belongs, receiver by receiver, each channel in its order.
/// Returns how many envelopes arrived.
fn deliver_what_waits(turn: &mut Turn<'_>, plan: &Plan) -> Result<u64, ApplyError> {
    let first = turn.entries().len();
    for id in &plan.envelopes {
        let Some(envelope) = turn.state().envelopes.get(id).cloned() else { continue };
        turn.begin_story();
        match envelope.status {
            // One for whom mail waits gets all of it at once; then there is nothing left here.
            envelope::Status::Validated => deliver::re_evaluate(turn, &envelope.to)?,
            envelope::Status::Delivered => deliver::on_deadline(turn, id)?,
            _ => {}
        }
    }
    let arrived = |event: &Event| {
        matches!(event, Event::EnvelopeDelivered(_) | Event::EnvelopeRedelivered(_))
    };
    let made = turn.entries().iter().skip(first);
    let arrived = made.filter(|entry| arrived(&entry.draft.event)).count() as u64;
    let receivers = turn.state().pending_signals.keys().map(|(to, _)| to.clone());
    let receivers: BTreeSet<WorkspaceId> = receivers.collect();
    for to in receivers {
        turn.begin_story();
        signal::deliver_pending(turn, &to)?;
    }
    Ok(arrived)
}

/// What an agent said takes effect now, as it would have then.
fn take_owed_steps(turn: &mut Turn<'_>, plan: &Plan) -> Result<(), Halt> {
    for step in &plan.steps {
        let known = turn.state().workspaces.get(&step.workspace);
        let Some(owed) = known.and_then(|known| known.owed.clone()) else { continue };
        turn.begin_story();
        let workspace = Some(step.workspace.clone());
        let (about, budget_warning) = (None, None);
        let (reason, signal) = (owed.reason, owed.signal);
        let emit = Emit { budget_warning, reason, about, signal, workspace };
        signal::take_effect(turn, &step.workspace, &emit)?;
    }
    Ok(())
}

fn failed_since(turn: &Turn<'_>, first: usize) -> u64 {
    let failed = |event: &Event| matches!(event, Event::WorkspaceStateChanged(body) if body.to_state == Status::Failed);
    turn.entries().iter().skip(first).filter(|entry| failed(&entry.draft.event)).count() as u64
}

/// Whoever coordinates finds a notice in the root's inbox.
fn tell_coordinator(
    turn: &mut Turn<'_>,
    root: &WorkspaceId,
    completed: &RecoveryCompleted,
) -> Result<(), ApplyError> {
    let reason = format!(
        "recovered: {} workspaces go on, {} failed, {} envelopes and {} signals were on their way",
        completed.workspaces_recovered,
        completed.workspaces_failed,
        completed.envelopes_redelivered,
        completed.signals_requeued,
    );
    let reason = Some(Text::lossy(&reason));
    let saying = Saying { signal: SignalType::Started, reason, about: None };
    signal::emit_to(turn, root, Some(root.clone()), saying, Actor::Protocol).map(|_| ())
}

pub(crate) fn apply_completed(state: &mut State, completed: &RecoveryCompleted) {
    // Whoever is not on the list any more is never asked about again.
    state.recovered = [&completed.known_writers[..], &completed.writers].concat();
}

/// Whether a recovery says what is known: each death counts once, and what goes on is counted.
pub(crate) fn is_told_right(state: &State, completed: &RecoveryCompleted) -> bool {
    let known: BTreeSet<&WriterName> = state.recovered.iter().collect();
    let fresh: BTreeSet<&WriterName> = completed.writers.iter().collect();
    completed.known_writers.iter().all(|name| known.contains(name))
        && fresh.len() == completed.writers.len()
        && fresh.len() <= WRITERS_MAX
        && known.is_disjoint(&fresh)
        && completed.workspaces_recovered == state.live as u64
        && completed.timers_reconstructed == state.deadlines.len() as u64
}
