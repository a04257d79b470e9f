//! Recovery after a writer crashed.
//!
//! The trail records everything that happened, and `apply` alone rebuilds the state from it.
//! Recovery completes what the trail shows as begun and not ended: envelopes and signals in
//! transit, a transition that an agent requested, deadlines that passed meanwhile. [`plan`] only
//! looks; the command carries the plan out, records the damage that was found, and ends with one
//! `recovery_completed`. It is idempotent: a second recovery finds nothing to do.

use std::collections::BTreeSet;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::integrity::{ActionTaken, IntegrityViolation};
use crate::model::runs::signal::{Emit, SignalType};
use crate::model::runs::workspace::Status;
use crate::protocol::event::Event;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::runs::envelope::deliver;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::{envelope, signal};
use crate::values::id::{AnyId, EnvelopeId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::recovery::*;

/// The approximate number of overdue deadlines one recovery records; the rest is recorded before
/// the next command.
const DUE_MAX: usize = 100_000;

/// Finds what was begun and not ended.
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

/// Delivered envelopes that were never acknowledged to their sender and have no retry planned.
fn unanswered(state: &State) -> impl Iterator<Item = (&EnvelopeId, &envelope::Envelope)> {
    state.envelopes().filter(|(_, known)| {
        let untold = known.status == envelope::Status::Delivered && known.retry_at.is_none();
        let receiver = state.workspaces.get(&known.to);
        let there = receiver.is_some_and(|receiver| receiver.takes_mail());
        untold && known.attempts == 0 && there
    })
}

/// The ids an entry refers to that do not exist, where `apply` tolerates that.
pub fn orphans(state: &State, event: &Event) -> Vec<AnyId> {
    let missing = match event {
        Event::SignalEmitted(body) => body.about.clone().filter(|about| !state.knows(about)),
        Event::EnvelopeCreated(body) => {
            let missing = body.task_ref.as_ref().filter(|task| state.task_record(task).is_none());
            missing.and_then(|task| AnyId::new(task.as_str()).ok())
        }
        // Any other entry that refers to something unknown fails to apply.
        _ => None,
    };
    missing.into_iter().collect()
}

pub(crate) fn decide_recover(
    tx: &mut Transaction<'_>,
    recover: &Recover,
) -> Result<Reply, DecisionError> {
    let (first, last_stamp) = (tx.entries().len(), tx.state().clock());
    let known: BTreeSet<&WriterName> = tx.state().recovered.iter().collect();
    let (known_writers, mut writers): (Vec<WriterName>, Vec<WriterName>) =
        recover.writers.iter().cloned().partition(|name| known.contains(name));
    writers.truncate(WRITERS_MAX);
    let plan = plan(tx.state(), tx.now());
    let found_nothing = recover.findings.is_empty() && recover.left_over == 0;
    if writers.is_empty() && found_nothing && plan.is_empty() {
        return Ok(Reply::Done);
    }
    for finding in &recover.findings {
        tx.clear_cause();
        tx.note(None, Actor::Protocol, Event::IntegrityViolation(finding.clone()))?;
    }
    let envelopes_redelivered = deliver_what_waits(tx, &plan)?;
    take_owed_steps(tx, &plan)?;
    tx.tick(DUE_MAX)?;
    let set_aside =
        |finding: &&IntegrityViolation| finding.action_taken == ActionTaken::Quarantined;
    let completed = RecoveryCompleted {
        downtime: tx.now().since(last_stamp),
        envelopes_redelivered,
        known_writers,
        quarantined_entries: recover.findings.iter().filter(set_aside).count() as u64
            + recover.left_over,
        signals_requeued: plan.signals.len() as u64,
        timers_reconstructed: tx.state().deadlines.len() as u64,
        trail_entries_examined: recover.examined,
        workspaces_failed: failed_since(tx, first),
        workspaces_recovered: tx.state().live as u64,
        writers,
    };
    let root = tx.state().root.clone();
    tx.clear_cause();
    tx.note(root.as_ref(), Actor::Protocol, Event::RecoveryCompleted(completed.clone()))?;
    if let Some(root) = root {
        signal_coordinator(tx, &root, &completed)?;
    }
    Ok(Reply::Recovery(Box::new(completed)))
}

/// Delivers mail and signals in transit, receiver by receiver, each channel in order. Returns how
/// many envelopes arrived.
fn deliver_what_waits(tx: &mut Transaction<'_>, plan: &Plan) -> Result<u64, ApplyError> {
    let first = tx.entries().len();
    for id in &plan.envelopes {
        let Some(envelope) = tx.state().envelopes.get(id).cloned() else { continue };
        tx.clear_cause();
        match envelope.status {
            // All waiting mail of a receiver is delivered at once; later ids of the same receiver
            // find nothing.
            envelope::Status::Validated => deliver::re_evaluate(tx, &envelope.to)?,
            envelope::Status::Delivered => deliver::on_deadline(tx, id)?,
            _ => {}
        }
    }
    let arrived = |event: &Event| {
        matches!(event, Event::EnvelopeDelivered(_) | Event::EnvelopeRedelivered(_))
    };
    let made = tx.entries().iter().skip(first);
    let arrived = made.filter(|entry| arrived(&entry.draft.event)).count() as u64;
    let receivers = tx.state().pending_signals.keys().map(|(to, _)| to.clone());
    let receivers: BTreeSet<WorkspaceId> = receivers.collect();
    for to in receivers {
        tx.clear_cause();
        signal::deliver_pending(tx, &to)?;
    }
    Ok(arrived)
}

/// Makes the transitions that agents' signals requested.
fn take_owed_steps(tx: &mut Transaction<'_>, plan: &Plan) -> Result<(), DecisionError> {
    for step in &plan.steps {
        let known = tx.state().workspaces.get(&step.workspace);
        let Some(owed) = known.and_then(|known| known.owed.clone()) else { continue };
        tx.clear_cause();
        let workspace = Some(step.workspace.clone());
        let (about, budget_warning) = (None, None);
        let (reason, signal) = (owed.reason, owed.signal);
        let emit = Emit { budget_warning, reason, about, signal, workspace };
        signal::take_effect(tx, &step.workspace, &emit)?;
    }
    Ok(())
}

fn failed_since(tx: &Transaction<'_>, first: usize) -> u64 {
    let failed = |event: &Event| matches!(event, Event::WorkspaceStateChanged(body) if body.to_state == Status::Failed);
    tx.entries().iter().skip(first).filter(|entry| failed(&entry.draft.event)).count() as u64
}

/// Notifies the coordinator with a signal in the root's inbox.
fn signal_coordinator(
    tx: &mut Transaction<'_>,
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
    let saying = SignalContent { signal: SignalType::Started, reason, about: None };
    signal::emit_to(tx, root, Some(root.clone()), saying, Actor::Protocol).map(|_| ())
}

pub(crate) fn apply_completed(state: &mut State, completed: &RecoveryCompleted) {
    // Writers that are no longer registered are dropped from the list.
    state.recovered = [&completed.known_writers[..], &completed.writers].concat();
}
