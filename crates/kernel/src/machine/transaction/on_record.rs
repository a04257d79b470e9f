//! Deciding again what is on record.
//!
//! Verification decides every command and every deadline a second time, with the same code, and
//! compares the outcome with the entries on record. The first decision was told some things from
//! outside: fresh ids, the sizes of stored content, the fate of a delivery, proofs made with secret
//! keys. The second one reads them from the recorded entries.

use std::sync::Arc;

use crate::machine::transaction::Transaction;
use crate::model::runs::admission::NO_ROOM;
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::gate::{GateEnd, SUBJECT_INVALIDATED};
use crate::model::runs::envelope::RejectReason;
use crate::model::runs::envelope::carrier::Carried;
use crate::model::runs::envelope::deliver::Missing;
use crate::model::runs::integrity::IntegrityViolation;
use crate::model::runs::workspace::create;
use crate::protocol::event::{
    AgentEvent, ApprovalEvent, Draft, Event, EventRoom, LeaseEvent, MessageEvent, PlanEvent,
    Stamped, WorkspaceEvent,
};
use crate::protocol::refusal::{Record, Refusal, Refused};
use crate::registry::rule::Rule;
use crate::values::content::Blob;
use crate::values::id::{AnyId, CheckpointId, EnvelopeId, IdKind, Mint};
use crate::values::time::{Span, Timestamp};

/// The recorded entries that a transaction decides again, from its first one on.
#[derive(Clone)]
pub(crate) struct OnRecord<'m> {
    entries: &'m [Stamped],
    /// Ids that were handed out again, but whose entry is not made yet.
    handed_out: Vec<Arc<str>>,
}

/// Ids for entries that are not on record; they only show up in entries that differ.
#[derive(Default)]
pub(crate) struct Placeholders(u64);

impl Mint for Placeholders {
    fn mint(&mut self, _: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        format!("not-on-record-{:020}", self.0).into()
    }
}

impl<'m> Transaction<'m> {
    /// Makes this transaction decide again what led to these entries.
    pub(crate) fn against(self, entries: &'m [Stamped]) -> Self {
        let on_record = Some(OnRecord { entries, handed_out: Vec::new() });
        Transaction { on_record, ..self }
    }

    /// The recorded entries that are not made again yet; none if nothing is decided again.
    fn rest(&self) -> &'m [Stamped] {
        let entries = self.on_record.as_ref().map(|on_record| on_record.entries);
        entries.and_then(|entries| entries.get(self.made.len()..)).unwrap_or_default()
    }

    fn next_event(&self) -> Option<&'m Event> {
        self.rest().first().map(|entry| &entry.draft.event)
    }

    /// Whether the entries are decided again.
    pub(crate) fn is_again(&self) -> bool {
        self.on_record.is_some()
    }

    /// The recorded entry that equals a draft made now, if there is one at this place.
    pub(crate) fn recorded(&self, draft: &Draft, at: Timestamp) -> Option<Stamped> {
        let recorded = self.rest().first().filter(|recorded| recorded.at == at)?;
        let same = is_same(draft, &recorded.draft) && recorded.door == self.door;
        same.then(|| recorded.clone())
    }

    /// The id that was minted at this place the first time.
    pub(crate) fn recorded_id(&mut self, kind: IdKind) -> Option<Arc<str>> {
        let mut found = None;
        let rest = self.rest();
        let on_record = self.on_record.as_mut()?;
        for entry in rest {
            each_new_id(&entry.draft.event, &mut |of, id| {
                let is_next = found.is_none() && of == kind;
                if is_next && !on_record.handed_out.iter().any(|own| **own == *id) {
                    found = Some(Arc::from(id));
                }
            });
            if found.is_some() {
                break;
            }
        }
        on_record.handed_out.extend(found.clone());
        found
    }

    /// The fate of a delivery the first time, and the base of the timeout that followed.
    pub(crate) fn recorded_delivery(&self, id: &EnvelopeId) -> Option<(Carried, Span)> {
        if !self.is_again() {
            return None;
        }
        let mut arrived = false;
        for entry in self.rest() {
            match &entry.draft.event {
                Event::EnvelopeDelivered(body) if body.envelope_id == *id && !arrived => {
                    arrived = true;
                }
                Event::EnvelopeRedelivered(body) if body.envelope_id == *id && !arrived => {
                    arrived = true;
                }
                Event::EnvelopeAttempted(body) if body.envelope_id == *id => {
                    let lost_answer = arrived && body.missing == Missing::Answer;
                    let carried = if lost_answer { Carried::AnswerLost } else { Carried::Lost };
                    let wait = body.retry_at.map_or(0, |at| at.since(self.now).micros());
                    let base = wait / u64::from(body.attempt.max(1));
                    return Some((carried, Span::from_micros(base)));
                }
                Event::EnvelopeUndeliverable(body) if body.envelope_id == *id => {
                    return Some((Carried::Lost, Span::default()));
                }
                // Any other entry is not about this delivery.
                _ => {}
            }
        }
        Some((Carried::Acknowledged, Span::default()))
    }

    /// The violation that was found in an envelope the first time. The outer `None` says that
    /// nothing is decided again, the inner one that the envelope was sound.
    #[expect(clippy::option_option, reason = "not asked and sound are different answers")]
    pub(crate) fn recorded_parcel(&self, id: &EnvelopeId) -> Option<Option<&IntegrityViolation>> {
        if !self.is_again() {
            return None;
        }
        let found = |event: &'m Event| match event {
            Event::IntegrityViolation(body) if body.subject_id == AnyId::from(id) => Some(body),
            _ => None,
        };
        // It is asked a second time, right after the violation, whether the copy kept here is
        // sound. If it is, the sender is told next.
        let just_found = self.made.last().and_then(|entry| match &entry.draft.event {
            Event::IntegrityViolation(body) if body.subject_id == AnyId::from(id) => Some(body),
            _ => None,
        });
        if let Some(violation) = just_found {
            let is_signalled = matches!(self.next_event(), Some(Event::SignalEmitted(body))
                if body.about == Some(AnyId::from(id)));
            return Some((!is_signalled).then_some(violation));
        }
        let is_rejected = matches!(self.next_event(), Some(Event::EnvelopeRejected(body))
            if body.envelope_id == *id && body.reason == RejectReason::IntegrityViolation);
        let second = self.rest().get(1).map(|entry| &entry.draft.event);
        Some(second.filter(|_| is_rejected).and_then(found))
    }

    /// The violation that was found in a checkpoint the first time, in the same form.
    #[expect(clippy::option_option, reason = "not asked and sound are different answers")]
    pub(crate) fn recorded_checkpoint(
        &self,
        id: &CheckpointId,
    ) -> Option<Option<&IntegrityViolation>> {
        if !self.is_again() {
            return None;
        }
        let is_refused = matches!(self.next_event(), Some(Event::CommandRefused(Refused { rule, .. }))
            if *rule == Rule::CheckpointProven);
        let second = self.rest().get(1).map(|entry| &entry.draft.event);
        Some(second.filter(|_| is_refused).and_then(|event| match event {
            Event::IntegrityViolation(body) if body.subject_id == AnyId::from(id) => Some(body),
            _ => None,
        }))
    }

    /// How large the context of a new workspace was the first time.
    pub(crate) fn recorded_context_bytes(&self, blob: &Blob) -> u64 {
        let created = self.next_creation().filter(|body| body.context.as_ref() == Some(blob));
        created.map_or(0, |body| body.context_bytes.get())
    }

    /// How large the directive of a new workspace was the first time. Other payloads have no part in
    /// a decision.
    pub(crate) fn recorded_payload_bytes(&self) -> u64 {
        let directive = self.next_creation().and_then(|body| body.directive.as_ref());
        let sent = self.rest().iter().find_map(|entry| match &entry.draft.event {
            Event::EnvelopeCreated(body) if Some(&body.envelope_id) == directive => Some(body),
            _ => None,
        });
        sent.map_or(0, |body| body.bytes.get())
    }

    fn next_creation(&self) -> Option<&'m create::Created> {
        self.rest().iter().find_map(|entry| match &entry.draft.event {
            Event::WorkspaceCreated(body) => Some(body),
            _ => None,
        })
    }

    /// The refusal of a workspace for lack of room the first time. How much there was of what is not
    /// in the state, only the runtime knew.
    pub(crate) fn recorded_shortage(&self) -> Option<Refusal> {
        let entries = self.on_record.as_ref()?.entries;
        // Entries of this decision may be made that are taken back with the refusal.
        let near = entries.get(..=self.made.len()).unwrap_or(entries);
        near.iter().find_map(|entry| match &entry.draft.event {
            Event::WorkspaceRejected(create::Rejected { rule: Rule::Capacity, short, .. }) => {
                let refusal = Refusal::denied(Rule::Capacity, String::new());
                Some(refusal.recorded(Record::Capacity(short.clone())))
            }
            Event::CommandRefused(Refused { rule: Rule::Capacity, message, .. }) => {
                Some(Refusal::denied(Rule::Capacity, message.as_str().to_owned()))
            }
            Event::GateResolved(body) if body.action == GateEnd::Reject => {
                let reason = body.reason.as_ref()?.as_str();
                let message = reason.strip_prefix(SUBJECT_INVALIDATED)?.strip_prefix(": ")?;
                let is_short = message.starts_with(NO_ROOM);
                is_short.then(|| Refusal::denied(Rule::Capacity, message.to_owned()))
            }
            // Any other entry records no shortage.
            _ => None,
        })
    }

    /// Whether the mechanisms that a deployment needs were in place the first time.
    pub(crate) fn recorded_in_place(&self) -> bool {
        !matches!(self.next_event(), Some(Event::CommandRefused(Refused { rule, .. }))
            if *rule == Rule::DeploymentComplete)
    }

    /// The ids handed out so far, to go back to.
    pub(crate) fn handed_out(&self) -> usize {
        self.on_record.as_ref().map_or(0, |on_record| on_record.handed_out.len())
    }

    /// Takes back the ids handed out since.
    pub(crate) fn take_back_ids(&mut self, count: usize) {
        if let Some(on_record) = &mut self.on_record {
            on_record.handed_out.truncate(count);
        }
    }
}

/// Whether a draft made now says what the recorded one says. What comes from outside is taken from
/// the record: sizes of content, proofs under secret keys, and the wording of refusals, which may
/// differ between builds with the same rules.
fn is_same(made: &Draft, recorded: &Draft) -> bool {
    if made == recorded {
        return true;
    }
    if made.event.kind() != recorded.event.kind() {
        return false;
    }
    let mut made = made.clone();
    match (&mut made.event, &recorded.event) {
        (Event::EnvelopeCreated(made), Event::EnvelopeCreated(own)) => {
            (made.bytes, made.integrity) = (own.bytes, own.integrity);
        }
        (Event::CheckpointCreated(made), Event::CheckpointCreated(own)) => {
            (made.bytes, made.integrity) = (own.bytes, own.integrity);
        }
        (Event::GateResolved(made), Event::GateResolved(own)) => {
            made.integrity = own.integrity;
            if made.payload_bytes.is_some() && own.payload_bytes.is_some() {
                made.payload_bytes = own.payload_bytes;
            }
        }
        (Event::WorkspaceWritten(made), Event::WorkspaceWritten(own)) if own.content.is_some() => {
            made.bytes = own.bytes;
        }
        (Event::CommandRefused(made), Event::CommandRefused(own)) => {
            made.message.clone_from(&own.message);
        }
        (Event::AuthenticationFailed(made), Event::AuthenticationFailed(own)) => {
            made.reason.clone_from(&own.reason);
        }
        // Any other event takes nothing from outside, and so must be equal as it is.
        _ => return false,
    }
    made == *recorded
}

/// Names each id that an event introduces. An event that introduces one and is not listed here would
/// fail every audit, so each room's events are matched without a catch-all arm.
fn each_new_id(event: &Event, each: &mut dyn FnMut(IdKind, &str)) {
    match event.room() {
        EventRoom::Agent(event) => each_id_of_agent(event, each),
        EventRoom::Lease(event) => each_id_of_lease(event, each),
        EventRoom::Workspace(event) => each_id_of_workspace(event, each),
        EventRoom::Message(event) => each_id_of_message(event, each),
        EventRoom::Plan(event) => each_id_of_plan(event, each),
        EventRoom::Approval(event) => each_id_of_approval(event, each),
        // Records number themselves; everything else is about things that are there.
        EventRoom::Admin(_)
        | EventRoom::User(_)
        | EventRoom::Blackboard(_)
        | EventRoom::Memory(_) => {}
    }
}

fn each_id_of_agent(event: AgentEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use AgentEvent as E;
    match event {
        E::SessionOpened(body) => each(IdKind::Workspace, body.workspace.as_str()),
        E::AgentRegistered(_)
        | E::AgentDescribed(_)
        | E::AgentHeartbeat(_)
        | E::AgentRevoked(_)
        | E::AgentReinstated(_)
        | E::SessionConnected(_)
        | E::SessionDisconnected(_)
        | E::SessionKept(_)
        | E::SessionClosed(_)
        | E::AuthenticationSucceeded(_)
        | E::AuthenticationFailed(_) => {}
    }
}

fn each_id_of_lease(event: LeaseEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use LeaseEvent as E;
    match event {
        E::LeaseOpened(body) => each(IdKind::Lease, body.lease.as_str()),
        E::LeaseRenewed(_) | E::LeaseReleased(_) | E::LeaseExpired(_) | E::LeaseForced(_) => {}
    }
}

fn each_id_of_workspace(event: WorkspaceEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use WorkspaceEvent as E;
    match event {
        E::WorkspaceCreated(body) => each(IdKind::Workspace, body.workspace_id.as_str()),
        E::RunHandedOver(_)
        | E::RunHeld(_)
        | E::RunLanded(_)
        | E::WorkspaceBranched(_)
        | E::ProcessStarted(_)
        | E::ProcessEnded(_)
        | E::RunStopped(_)
        | E::WorkspaceWritten(_)
        | E::MeterReported(_)
        | E::WorkspaceStateChanged(_)
        | E::WorkspaceRejected(_)
        | E::BudgetWarning(_)
        | E::BudgetExceeded(_)
        | E::BudgetModified(_)
        | E::LivenessWarning(_)
        | E::PriorityChanged(_)
        | E::VisibilityGranted(_)
        | E::BatchAbort(_)
        | E::BatchPriorityChanged(_)
        | E::MigrationStarted(_)
        | E::MigrationCompleted(_)
        | E::MigrationFailed(_)
        | E::SuspensionStarted(_)
        | E::SuspensionResumed(_)
        | E::GracefulTerminationInitiated(_)
        | E::GracefulTerminationExpired(_)
        | E::OwnershipTransferred(_)
        | E::WorkspaceReparented(_)
        | E::ResourceDiscrepancy(_) => {}
    }
}

fn each_id_of_message(event: MessageEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use MessageEvent as E;
    match event {
        E::EnvelopeCreated(body) => each(IdKind::Envelope, body.envelope_id.as_str()),
        E::EnvelopeRejected(body) => each(IdKind::Envelope, body.envelope_id.as_str()),
        E::PortRightCreated(body) => each(IdKind::Right, body.right_id.as_str()),
        E::SignalEmitted(body) => each(IdKind::Signal, body.signal_id.as_str()),
        E::EnvelopeAttempted(_)
        | E::InboxTaken(_)
        | E::SignalDelivered(_)
        | E::EnvelopeDelivered(_)
        | E::EnvelopeUndeliverable(_)
        | E::EnvelopeRedelivered(_)
        | E::PortRightTransferred(_)
        | E::PortRightRevoked(_)
        | E::PortRightConsumed(_) => {}
    }
}

fn each_id_of_plan(event: PlanEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use PlanEvent as E;
    match event {
        E::GraphCreated(body) => each(IdKind::Graph, body.graph_id.as_str()),
        E::TaskCreated(body) => each(IdKind::Task, body.task_id.as_str()),
        E::ConflictDetected(body) => each(IdKind::Conflict, body.conflict_id.as_str()),
        E::CheckpointCreated(body) => {
            each(IdKind::Checkpoint, body.checkpoint_id.as_str());
            for artifact in &body.artifacts {
                each(IdKind::Artifact, artifact.artifact_id.as_str());
            }
        }
        E::CheckpointRejected(_)
        | E::TaskApproved(_)
        | E::TaskAssigned(_)
        | E::TaskStatusChanged(_)
        | E::TaskCompleted(_)
        | E::TaskFailed(_)
        | E::IntegrationStarted(_)
        | E::IntegrationCompleted(_)
        | E::IntegrationAborted(_)
        | E::IntegrationUndone(_)
        | E::ConflictResolved(_) => {}
    }
}

fn each_id_of_approval(event: ApprovalEvent<'_>, each: &mut dyn FnMut(IdKind, &str)) {
    use ApprovalEvent as E;
    match event {
        E::HumanInjection(body) => each(IdKind::Envelope, body.envelope_id.as_str()),
        // A workspace that waits at a gate has its id already.
        E::GateTriggered(body) => {
            each(IdKind::Gate, body.gate_id.as_str());
            if body.gate_type == GateType::WorkspaceCreate {
                each(IdKind::Workspace, body.subject.as_str());
            }
        }
        E::HighwayConfigured(_)
        | E::GateResolved(_)
        | E::GateReentryBlocked(_)
        | E::GateTimeout(_)
        | E::EscalationReceived(_)
        | E::EscalationResolved(_)
        | E::EscalationTimeout(_) => {}
    }
}
