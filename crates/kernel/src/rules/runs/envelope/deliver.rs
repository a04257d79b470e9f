//! Delivery of accepted envelopes: in order, with retries, at most once.

use crate::values::id::First as _;
use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::Transaction;
use crate::model::runs::envelope::carrier::{Carried, Parcel, REDELIVERIES};
use crate::model::runs::envelope::{Envelope, RejectReason, Rejected, Status, UndeliverableReason};
use crate::model::runs::integrity::SubjectType;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::Trigger;
use crate::protocol::event::{Event, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::{envelope, right, signal, workspace};
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

pub use crate::model::runs::envelope::deliver::*;

/// Delivers the mail waiting for a workspace, as far as it takes mail now. An unread blocking
/// envelope holds up everything after it, whoever the sender. An envelope that waits for a retry
/// holds up only its own channel.
pub(crate) fn move_on(tx: &mut Transaction<'_>, to: &WorkspaceId) -> Result<(), ApplyError> {
    let mut held_up: Vec<WorkspaceId> = Vec::new();
    let mut after = Timestamp::default();
    while tx.state().takes_mail(to) {
        let Some((at, id)) = tx.state().next_held(to, after) else { return Ok(()) };
        after = Timestamp::from_micros(at.micros() + 1);
        let Some(envelope) = tx.state().envelopes.get(&id).cloned() else { continue };
        let waits = envelope.retry_at.is_some_and(|retry_at| retry_at > tx.now())
            || tx.state().is_stopped(&id);
        if waits || held_up.contains(&envelope.from) || !attempt(tx, &id, &envelope)? {
            held_up.push(envelope.from.clone());
        }
    }
    Ok(())
}

/// Attempts one delivery. Returns whether the channel continues: an envelope to be retried holds it
/// up, one that is delivered or given up does not.
fn attempt(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
) -> Result<bool, ApplyError> {
    let (carried, base) = tx.carry(id, envelope.attempts);
    let comes = envelope.status == Status::Validated && carried != Carried::Lost;
    if comes && !is_as_sent(tx, id, envelope)? {
        return Ok(true);
    }
    match carried {
        Carried::Acknowledged => {
            arrive(tx, id, envelope)?;
            acknowledge(tx, id, envelope)?;
            Ok(true)
        }
        Carried::AnswerLost => {
            arrive(tx, id, envelope)?;
            unanswered(tx, id, envelope, Missing::Answer, base)?;
            Ok(true)
        }
        Carried::Lost if envelope.status == Status::Delivered => {
            unanswered(tx, id, envelope, Missing::Answer, base)?;
            Ok(true)
        }
        Carried::Lost => {
            unanswered(tx, id, envelope, Missing::Envelope, base)?;
            Ok(envelope.attempts >= REDELIVERIES)
        }
    }
}

/// Whether the envelope that arrives is the one that was sent. If not, it is rejected.
fn is_as_sent(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
) -> Result<bool, ApplyError> {
    let sent = Parcel { id: id.clone(), envelope: envelope.clone() };
    let came = tx.hand_over(sent.clone());
    // Check the content against this envelope's id: another valid envelope is not this one.
    let came = Parcel { id: id.clone(), envelope: came.envelope };
    let Err(broken) = tx.check_parcel(&came)? else { return Ok(true) };
    let rejected = Event::EnvelopeRejected(Rejected {
        envelope_id: id.clone(),
        from: envelope.from.clone(),
        reason: RejectReason::IntegrityViolation,
        to: envelope.to.clone(),
        kind: envelope.kind.clone(),
    });
    tx.note(Some(&envelope.from), Actor::Protocol, rejected)?;
    let violation = Event::IntegrityViolation(broken.entry(SubjectType::Envelope, id.into()));
    tx.note(None, Actor::Protocol, violation)?;
    // If the copy held here was altered, its sender field cannot be trusted either.
    if tx.check_parcel(&sent)?.is_ok() {
        notify_sender(tx, id, envelope, "integrity_violation")?;
    }
    Ok(false)
}

/// Puts the envelope into the inbox, or records a duplicate.
fn arrive(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
) -> Result<(), ApplyError> {
    let (envelope_id, from, to) = (id.clone(), envelope.from.clone(), envelope.to.clone());
    if envelope.status == Status::Delivered {
        let again = Event::EnvelopeRedelivered(Redelivered { envelope_id, from, to });
        return tx.note(Some(&envelope.to), Actor::Protocol, again);
    }
    let delivered = Event::EnvelopeDelivered(Delivered { envelope_id, from, to });
    tx.note(Some(&envelope.to), Actor::Protocol, delivered)?;
    for carried in &envelope.rights {
        right::transfer(tx, carried, &envelope.from, &envelope.to, id)?;
    }
    let idle = |known: &Arc<workspace::Workspace>| known.status == workspace::Status::Idle;
    if tx.state().workspaces.get(&envelope.to).is_some_and(idle) {
        let step = Change::of_runtime(workspace::Status::Active, Trigger::FirstEnvelope);
        change::begin_work(tx, &envelope.to, step)?;
    }
    Ok(())
}

fn acknowledge(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
) -> Result<(), ApplyError> {
    let receipt = SignalContent::plain(SignalType::Acknowledged, id.into());
    signal::signal_sender(tx, &envelope.to, &envelope.from, receipt)
}

/// Records an attempt without acknowledgement, and gives up after the last.
fn unanswered(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
    missing: Missing,
    base: Span,
) -> Result<(), ApplyError> {
    let attempts = envelope.attempts + 1;
    let last = attempts > REDELIVERIES;
    if last && missing == Missing::Envelope {
        return give_up(tx, id, envelope, UndeliverableReason::DeliveryExhausted);
    }
    let wait = Span::from_micros(base.micros() * u64::from(attempts));
    let event = Event::EnvelopeAttempted(Attempted {
        attempt: attempts,
        envelope_id: id.clone(),
        missing,
        retry_at: (!last).then(|| tx.now().after(wait)),
        to: envelope.to.clone(),
    });
    tx.note(Some(&envelope.from), Actor::Protocol, event)?;
    if last {
        notify_sender(tx, id, envelope, UndeliverableReason::DeliveryExhausted.as_str())
    } else {
        Ok(())
    }
}

fn give_up(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
    reason: UndeliverableReason,
) -> Result<(), ApplyError> {
    let event = Event::EnvelopeUndeliverable(Undeliverable {
        envelope_id: id.clone(),
        from: envelope.from.clone(),
        reason,
        to: envelope.to.clone(),
    });
    tx.note(Some(&envelope.from), Actor::Protocol, event)?;
    notify_sender(tx, id, envelope, reason.as_str())
}

/// Tells the sender why delivery was given up. The signal fails no workspace.
fn notify_sender(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
    reason: &str,
) -> Result<(), ApplyError> {
    let reason = Some(Text::lossy(reason));
    let notice = SignalContent { signal: SignalType::Failed, reason, about: Some(id.into()) };
    signal::signal_sender(tx, &envelope.to, &envelope.from, notice)
}

/// Retries an envelope whose retry time has come.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &EnvelopeId) -> Result<(), ApplyError> {
    let Some(envelope) = tx.state().envelopes.get(id).cloned() else { return Ok(()) };
    let Some(receiver) = tx.state().workspaces.get(&envelope.to) else { return Ok(()) };
    let takes_mail = tx.state().takes_mail(&envelope.to);
    if envelope.status == Status::Delivered && receiver.status.is_terminal() {
        // It was in the inbox when the receiver ended, so there is nothing left to retry.
        postpone(tx, id, &envelope, Missing::Answer)?;
        return notify_sender(tx, id, &envelope, UndeliverableReason::TargetTerminal.as_str());
    }
    if envelope.status == Status::Delivered {
        return attempt(tx, id, &envelope).map(|_| ());
    }
    if takes_mail {
        return move_on(tx, &envelope.to.clone());
    }
    // The receiver does not take mail now; the attempt is made once it does.
    postpone(tx, id, &envelope, Missing::Envelope)
}

/// Cancels the planned retry.
fn postpone(
    tx: &mut Transaction<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
    missing: Missing,
) -> Result<(), ApplyError> {
    let event = Event::EnvelopeAttempted(Attempted {
        attempt: envelope.attempts,
        envelope_id: id.clone(),
        missing,
        retry_at: None,
        to: envelope.to.clone(),
    });
    tx.note(Some(&envelope.from), Actor::Protocol, event)
}

/// Delivers or returns the mail in transit to a workspace, depending on its current state.
pub(crate) fn re_evaluate(tx: &mut Transaction<'_>, to: &WorkspaceId) -> Result<(), ApplyError> {
    match tx.state().workspaces.get(to).map(|known| known.status.is_terminal()) {
        Some(true) => give_back(tx, to),
        _ => move_on(tx, to),
    }
}

/// Returns the mail in transit to a workspace that ended, and tells the senders.
pub(crate) fn give_back(tx: &mut Transaction<'_>, to: &WorkspaceId) -> Result<(), ApplyError> {
    while let Some((_, id)) = tx.state().next_held(to, Timestamp::default()) {
        let Some(envelope) = tx.state().envelopes.get(&id).cloned() else {
            return Err(ApplyError::Unknown("the envelope"));
        };
        give_up(tx, &id, &envelope, UndeliverableReason::TargetTerminal)?;
    }
    Ok(())
}

pub(crate) fn apply_delivered(
    state: &mut State,
    entry: &Stamped,
    delivered: &Delivered,
) -> Result<(), ApplyError> {
    let id = &delivered.envelope_id;
    let takes_mail = state.takes_mail(&delivered.to);
    let known = state.envelopes.get_mut(id).ok_or(ApplyError::Unknown("the envelope"))?;
    if known.status != Status::Validated || known.to != delivered.to {
        return Err(ApplyError::Mismatch("the envelope's way"));
    }
    if !takes_mail {
        return Err(ApplyError::Mismatch("the receiver's state"));
    }
    let envelope = Arc::make_mut(known);
    envelope.status = Status::Delivered;
    envelope.delivered_at = Some(entry.at);
    let (before, created) = (envelope.retry_at.take(), envelope.created_at);
    let place = (delivered.to.clone(), envelope.priority, entry.at, id.clone());
    state.reschedule(before, None, &Deadline::Envelope(id.clone()));
    state.held.remove(&(delivered.to.clone(), created, id.clone()));
    state.inbox.insert(place);
    Ok(())
}

pub(crate) fn apply_redelivered(
    state: &mut State,
    redelivered: &Redelivered,
) -> Result<(), ApplyError> {
    let known = state.envelopes.get(&redelivered.envelope_id);
    match known.map(|known| known.status) {
        Some(Status::Delivered) => Ok(()),
        Some(_) => Err(ApplyError::Mismatch("an envelope that came twice")),
        None => Err(ApplyError::Unknown("the envelope")),
    }
}

pub(crate) fn apply_undeliverable(
    state: &mut State,
    failed: &Undeliverable,
) -> Result<(), ApplyError> {
    let id = &failed.envelope_id;
    let known = state.envelopes.get_mut(id).ok_or(ApplyError::Unknown("the envelope"))?;
    let ended = state.workspaces.get(&known.to).is_some_and(|to| to.status.is_terminal());
    let reason = match failed.reason {
        UndeliverableReason::TargetTerminal => ended,
        UndeliverableReason::DeliveryExhausted => known.attempts == REDELIVERIES,
    };
    if known.status != Status::Validated || !reason {
        return Err(ApplyError::Mismatch("the envelope's way"));
    }
    let envelope = Arc::make_mut(known);
    envelope.status = Status::Rejected;
    let (before, created, to) =
        (envelope.retry_at.take(), envelope.created_at, envelope.to.clone());
    state.reschedule(before, None, &Deadline::Envelope(id.clone()));
    state.held.remove(&(to, created, id.clone()));
    state.unqueue(id);
    Ok(())
}

/// Applies a rejection: an envelope rejected when sent was never stored; one rejected later leaves
/// transit.
pub(crate) fn apply_rejected(state: &mut State, rejected: &Rejected) -> Result<(), ApplyError> {
    let id = &rejected.envelope_id;
    let Some(known) = state.envelopes.get_mut(id) else { return Ok(()) };
    let later = matches!(
        rejected.reason,
        RejectReason::IntegrityViolation | RejectReason::GateRejectedByHuman
    );
    if known.status != Status::Validated || !later {
        return Err(ApplyError::Mismatch("the envelope's way"));
    }
    let envelope = Arc::make_mut(known);
    envelope.status = Status::Rejected;
    let before = envelope.retry_at.take();
    let place = (envelope.to.clone(), envelope.created_at, id.clone());
    state.reschedule(before, None, &Deadline::Envelope(id.clone()));
    state.held.remove(&place);
    state.unqueue(id);
    Ok(())
}

pub(crate) fn apply_attempted(state: &mut State, attempted: &Attempted) -> Result<(), ApplyError> {
    let id = &attempted.envelope_id;
    let known = state.envelopes.get_mut(id).ok_or(ApplyError::Unknown("the envelope"))?;
    let on_its_way = matches!(known.status, Status::Validated | Status::Delivered);
    let counts = (known.attempts..=known.attempts + 1).contains(&attempted.attempt);
    if !on_its_way || !counts || attempted.attempt > REDELIVERIES + 1 {
        return Err(ApplyError::Mismatch("the attempts so far"));
    }
    let envelope = Arc::make_mut(known);
    envelope.attempts = attempted.attempt;
    let before = std::mem::replace(&mut envelope.retry_at, attempted.retry_at);
    state.reschedule(before, attempted.retry_at, &Deadline::Envelope(id.clone()));
    Ok(())
}

/// Marks an envelope as acknowledged, if this signal is the receipt from its receiver to its
/// sender. Other signals about the envelope do not count.
pub(crate) fn note_acknowledged(state: &mut State, id: &EnvelopeId, emitted: &signal::Emitted) {
    let Some(known) = state.envelopes.get_mut(id) else { return };
    let receipt = (&emitted.from, emitted.to.as_ref()) == (&known.to, Some(&known.from));
    if receipt && known.status == Status::Delivered {
        let envelope = Arc::make_mut(known);
        envelope.status = Status::Acknowledged;
        let before = envelope.retry_at.take();
        state.reschedule(before, None, &Deadline::Envelope(id.clone()));
    }
}

impl State {
    pub(crate) fn insert_envelope(&mut self, id: EnvelopeId, envelope: envelope::Envelope) {
        if envelope.status == Status::Validated {
            self.held.insert((envelope.to.clone(), envelope.created_at, id.clone()));
        }
        if let Some(at) = envelope.delivered_at.filter(|_| !envelope.taken) {
            self.inbox.insert((envelope.to.clone(), envelope.priority, at, id.clone()));
        }
        let live = self.workspaces.get(&envelope.to).is_some_and(|to| !to.status.is_terminal());
        let unread = envelope.delivered_at.is_some() && !envelope.taken && live;
        if envelope.status == Status::Validated || unread {
            self.queued = self.queued.saturating_add(envelope.bytes);
        }
        self.reschedule(None, envelope.retry_at, &Deadline::Envelope(id.clone()));
        self.envelopes.insert(id, Arc::new(envelope));
    }

    /// Whether mail is delivered to a workspace now: it is open, and no unread envelope blocks.
    pub(crate) fn takes_mail(&self, to: &WorkspaceId) -> bool {
        let open = self.workspaces.get(to).is_some_and(|known| known.takes_mail());
        open && !self.is_blocked(to)
    }

    /// Whether a blocking envelope is unread. Such an envelope is first in its inbox.
    fn is_blocked(&self, to: &WorkspaceId) -> bool {
        let first = self.inbox_of(to).next().and_then(|id| self.envelopes.get(id));
        first.is_some_and(|first| first.priority == envelope::Priority::Blocking)
    }

    /// Subtracts an envelope from the bytes of mail not yet taken.
    pub(crate) fn unqueue(&mut self, id: &EnvelopeId) {
        let bytes = self.envelopes.get(id).map_or(0, |envelope| envelope.bytes);
        self.queued = self.queued.saturating_sub(bytes);
    }

    /// The number of envelopes in transit to a workspace, counted up to a limit.
    pub(crate) fn held_for(&self, to: &WorkspaceId, limit: usize) -> usize {
        let first = (to.clone(), Timestamp::default(), EnvelopeId::first());
        self.held.range(first..).take_while(|(of, ..)| of == to).take(limit).count()
    }

    /// The next envelope in transit to a workspace that was accepted at or after a time.
    fn next_held(&self, to: &WorkspaceId, from: Timestamp) -> Option<(Timestamp, EnvelopeId)> {
        let first = (to.clone(), from, EnvelopeId::first());
        let (of, at, id) = self.held.range(first..).next()?;
        (of == to).then(|| (*at, id.clone()))
    }
}
