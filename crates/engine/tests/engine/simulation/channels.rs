//! Invariants of rights, envelopes and signals, checked by reading the trail.
//!
//! Nothing here asks the kernel: the allowed events follow from the entries alone.

use althing_kernel::approvals::gate::GateEnd;
use althing_kernel::approvals::{GateType, escalation};
use althing_kernel::envelope::deliver::{Attempted, Undeliverable};
use althing_kernel::envelope::{
    self, Origin, RejectReason, Status as Stage, UndeliverableReason, deliver, inbox,
};
use althing_kernel::right::{self, RightType};
use althing_kernel::signal::{self, SignalType};
use althing_kernel::workspace::Status;
use althing_kernel::{
    Actor, EnvelopeId, Event, GateId, Principal, RightId, Stamped, State, Timestamp, WorkspaceId,
};
use std::collections::{BTreeMap, VecDeque};

use super::Counts;
use super::invariants::{Place, Tree};
use super::runs::BASE;

/// Microseconds by which the entries of one turn may lie after its time.
const TURN_SPREAD: u64 = 50_000;

/// An accepted envelope.
struct Letter {
    from: WorkspaceId,
    to: WorkspaceId,
    rights: Vec<RightId>,
    priority: envelope::Priority,
    stage: Stage,
    attempts: u8,
    retry_at: Option<Timestamp>,
    taken: bool,
}

/// The event that must follow the previous entry.
#[derive(Default, PartialEq)]
enum Next {
    #[default]
    Anything,
    /// The right of an accepted envelope must be used up at once.
    Used(EnvelopeId),
    /// Rights may move: this envelope was just delivered.
    Moved(EnvelopeId),
}

#[derive(Default)]
pub(super) struct Channels {
    rights: BTreeMap<RightId, (RightType, WorkspaceId, WorkspaceId)>,
    letters: BTreeMap<EnvelopeId, Letter>,
    /// Accepted envelopes that are not settled, by sender and receiver, oldest first.
    on_the_way: BTreeMap<(WorkspaceId, WorkspaceId), VecDeque<EnvelopeId>>,
    /// Signals that were emitted and not delivered, by receiver.
    pending: BTreeMap<WorkspaceId, VecDeque<(String, WorkspaceId)>>,
    /// The unread envelope that blocks an inbox.
    blocking: BTreeMap<WorkspaceId, EnvelopeId>,
    sent: Vec<EnvelopeId>,
    touched: Vec<EnvelopeId>,
    /// Envelopes that wait for a person, by their gates.
    stopped: BTreeMap<GateId, EnvelopeId>,
    next: Next,
}

impl Channels {
    /// An envelope that was accepted recently.
    pub(super) fn some_envelope(&self, number: u64) -> Option<&EnvelopeId> {
        let back = usize::try_from(number % 60).ok()?;
        self.sent.iter().rev().nth(back)
    }

    /// An envelope that is in an inbox while its sender does not know yet.
    pub(super) fn unanswered(&self) -> Option<&EnvelopeId> {
        let last = self.sent.iter().rev().take(200);
        last.into_iter().find(|id| self.letters[*id].stage == Stage::Delivered)
    }

    pub(super) fn note(&mut self, at: &Place<'_>, tree: &Tree, counts: &mut Counts) {
        let entry = at.entry;
        match (std::mem::take(&mut self.next), &entry.draft.event) {
            (Next::Used(id), Event::PortRightConsumed(body)) => {
                at.must(body.via_envelope == id, "the right that was used is used up");
            }
            (Next::Used(_), _) => at.must(false, "a right for one use is used up at once"),
            (Next::Moved(id), Event::PortRightTransferred(body)) => {
                at.must(body.via_envelope == id, "rights move with their envelope");
                self.next = Next::Moved(id);
            }
            (_, Event::PortRightTransferred(_) | Event::PortRightConsumed(_)) => {
                at.must(false, "rights move or are used up with an envelope alone");
            }
            _ => {}
        }
        let mut count = |what: String| *counts.entry(what).or_default() += 1;
        match &entry.draft.event {
            Event::PortRightCreated(body) => self.granted(at, tree, body),
            Event::PortRightTransferred(body) => self.moved(at, body),
            Event::PortRightRevoked(body) => {
                let known = self.rights.remove(&body.right_id);
                at.must(known.is_some_and(|known| known.1 == body.holder), "it was held");
            }
            Event::PortRightConsumed(body) => {
                let known = self.rights.remove(&body.right_id);
                let fits = |known: (RightType, WorkspaceId, WorkspaceId)| {
                    known == (RightType::SendOnce, body.holder.clone(), body.target.clone())
                };
                at.must(known.is_some_and(fits), "a right for one use is used once");
            }
            Event::EnvelopeCreated(body) => self.accepted(at, tree, body),
            Event::EnvelopeDelivered(body) => self.delivered(at, tree, body),
            Event::EnvelopeRedelivered(body) => {
                let letter = self.letter(at, &body.envelope_id);
                at.must(letter.stage == Stage::Delivered, "what came twice is in the inbox");
                at.must(letter.is_due(entry), "nothing is sent again before its time");
            }
            Event::EnvelopeAttempted(body) => self.attempted(at, tree, body),
            Event::EnvelopeUndeliverable(body) => {
                count(format!("undeliverable {:?}", body.reason));
                self.given_up(at, tree, body);
            }
            Event::InboxTaken(body) => self.taken(at, body),
            Event::SignalEmitted(body) => {
                count(format!("signal {}", body.signal));
                self.emitted(at, tree, body);
            }
            Event::SignalDelivered(body) => self.received(at, tree, body),
            Event::GateTriggered(body) if body.gate_type == GateType::EnvelopeDelivery => {
                let id = EnvelopeId::new(body.subject.as_str()).unwrap();
                at.must(self.letter(at, &id).attempts == 0, "it waits before it is sent");
                self.stopped.insert(body.gate_id.clone(), id);
            }
            // A gate left to the coordinator stays open.
            Event::GateResolved(body) if body.action != GateEnd::Escalate => {
                self.stopped.remove(&body.gate_id);
            }
            Event::GateReentryBlocked(body) => {
                self.stopped.remove(&body.gate_id);
            }
            Event::EnvelopeRejected(body) if body.reason == RejectReason::GateRejectedByHuman => {
                let letter = self.letter(at, &body.envelope_id);
                at.must(letter.stage == Stage::Validated, "what is sent back was on its way");
                letter.stage = Stage::Rejected;
                let channel = (body.from.clone(), body.to.clone());
                self.on_the_way
                    .entry(channel.clone())
                    .or_default()
                    .retain(|id| *id != body.envelope_id);
                self.on_the_way.retain(|_, queue| !queue.is_empty());
            }
            _ => {}
        }
    }

    fn letter(&mut self, at: &Place<'_>, id: &EnvelopeId) -> &mut Letter {
        self.touched.push(id.clone());
        let letter = self.letters.get_mut(id);
        at.must(letter.is_some(), "the envelope was accepted before");
        letter.unwrap()
    }

    fn granted(&mut self, at: &Place<'_>, tree: &Tree, body: &right::Created) {
        let live = |id| tree.get(id).is_some_and(|node| !node.status.is_terminal());
        at.must(live(&body.holder) && live(&body.target), "rights are of and to what goes on");
        let own = body.right_type == RightType::Receive;
        at.must(!own || body.holder == body.target, "one receives for oneself alone");
        let right = (body.right_type, body.holder.clone(), body.target.clone());
        at.must(self.rights.insert(body.right_id.clone(), right).is_none(), "it is a new right");
    }

    fn moved(&mut self, at: &Place<'_>, body: &right::Transferred) {
        let letter = self.letters.get(&body.via_envelope);
        let carried = letter.is_some_and(|letter| {
            letter.rights.contains(&body.right_id)
                && (&letter.from, &letter.to) == (&body.from_holder, &body.to_holder)
        });
        at.must(carried, "the envelope carried it");
        let known = self.rights.get_mut(&body.right_id);
        at.must(known.is_some(), "it is a live right");
        let known = known.unwrap();
        at.must(known.1 == body.from_holder && known.0 != RightType::Receive, "it was held");
        known.1 = body.to_holder.clone();
    }

    /// Checks that an envelope was accepted with a right, or with its receiver's creation.
    fn accepted(&mut self, at: &Place<'_>, tree: &Tree, body: &envelope::Created) {
        let receiver = &tree[&body.to];
        at.must(!receiver.status.is_sealed(), "a sealed inbox accepts nothing");
        if at.entry.draft.actor == Actor::Protocol {
            let own = receiver.body.directive.as_ref() == Some(&body.envelope_id);
            let asked = receiver.finish.is_some() && body.kind.as_str() == "feedback";
            let sent = own || asked || is_proceed(body);
            at.must(sent, "the runtime sends the first word and what it was to say");
        }
        let first = receiver.body.directive.as_ref() == Some(&body.envelope_id);
        let outside = body.origin == Origin::Human || is_proceed(body);
        if body.origin == Origin::Human {
            let person = matches!(at.entry.draft.actor, Actor::Principal(Principal::User(_)));
            at.must(person, "people speak from outside");
        }
        if !first && !outside {
            let holds = |kind| {
                let wanted = (kind, body.from.clone(), body.to.clone());
                self.rights.values().any(|right| *right == wanted)
            };
            let lasting = holds(RightType::Send);
            at.must(lasting || holds(RightType::SendOnce), "its sender held a right");
            if !lasting {
                self.next = Next::Used(body.envelope_id.clone());
            }
        }
        let letter = Letter {
            from: body.from.clone(),
            to: body.to.clone(),
            rights: body.rights.clone(),
            priority: body.priority,
            stage: Stage::Validated,
            attempts: 0,
            retry_at: None,
            taken: false,
        };
        let known = self.letters.insert(body.envelope_id.clone(), letter);
        at.must(known.is_none(), "it is a new envelope");
        let channel = (body.from.clone(), body.to.clone());
        self.on_the_way.entry(channel).or_default().push_back(body.envelope_id.clone());
        self.sent.push(body.envelope_id.clone());
        self.touched.push(body.envelope_id.clone());
    }

    /// Takes the oldest envelope out of its channel.
    fn leaves(&mut self, at: &Place<'_>, from: &WorkspaceId, to: &WorkspaceId, id: &EnvelopeId) {
        let channel = (from.clone(), to.clone());
        let queue = self.on_the_way.entry(channel.clone()).or_default();
        at.must(queue.pop_front().as_ref() == Some(id), "the oldest of a channel comes first");
        if queue.is_empty() {
            self.on_the_way.remove(&channel);
        }
    }

    fn delivered(&mut self, at: &Place<'_>, tree: &Tree, body: &deliver::Delivered) {
        let entry = at.entry;
        let letter = self.letter(at, &body.envelope_id);
        at.must(letter.stage == Stage::Validated, "it is delivered once");
        at.must(letter.is_due(entry), "nothing is sent again before its time");
        at.must((&letter.from, &letter.to) == (&body.from, &body.to), "it goes where it was sent");
        letter.stage = Stage::Delivered;
        letter.retry_at = None;
        let waits = self.stopped.values().any(|id| *id == body.envelope_id);
        at.must(!waits, "it does not wait for a person");
        let receiver = &tree[&body.to];
        at.must(receiver.takes_mail(), "its receiver takes mail");
        let free = !self.blocking.contains_key(&body.to);
        at.must(free, "nothing comes in before what blocks is read");
        if self.letters[&body.envelope_id].priority == envelope::Priority::Blocking {
            self.blocking.insert(body.to.clone(), body.envelope_id.clone());
        }
        self.leaves(at, &body.from, &body.to, &body.envelope_id);
        self.next = Next::Moved(body.envelope_id.clone());
    }

    fn attempted(&mut self, at: &Place<'_>, tree: &Tree, body: &Attempted) {
        let entry = at.entry;
        let takes_mail = tree[&body.to].takes_mail() && !self.blocking.contains_key(&body.to);
        let letter = self.letter(at, &body.envelope_id);
        at.must(letter.is_due(entry), "nothing is tried again before its time");
        let known = matches!(letter.stage, Stage::Validated | Stage::Delivered);
        at.must(known, "nothing is tried after it was settled");
        let next = body.attempt == letter.attempts + 1;
        let postponed = body.attempt == letter.attempts && !takes_mail;
        at.must(next || (body.retry_at.is_none() && postponed), "attempts are counted");
        at.must(body.attempt <= 4, "there are at most three further attempts");
        if let Some(retry_at) = body.retry_at {
            let wait = BASE.micros() * u64::from(body.attempt);
            let waits = (retry_at.micros()).wrapping_sub(entry.at.micros());
            at.must(body.attempt <= 3, "there are at most three further attempts");
            at.must(waits <= wait && waits + TURN_SPREAD >= wait, "each wait is longer by one");
        }
        letter.attempts = body.attempt;
        letter.retry_at = body.retry_at;
    }

    fn given_up(&mut self, at: &Place<'_>, tree: &Tree, body: &Undeliverable) {
        let entry = at.entry;
        let letter = self.letter(at, &body.envelope_id);
        at.must(letter.stage == Stage::Validated, "what is given up was on its way");
        match body.reason {
            UndeliverableReason::TargetTerminal => {
                at.must(tree[&body.to].status.is_terminal(), "its receiver has ended");
            }
            UndeliverableReason::DeliveryExhausted => {
                at.must(letter.attempts == 3, "it was tried four times");
                at.must(letter.is_due(entry), "nothing is tried again before its time");
            }
        }
        letter.stage = Stage::Rejected;
        letter.retry_at = None;
        self.leaves(at, &body.from, &body.to, &body.envelope_id);
    }

    fn taken(&mut self, at: &Place<'_>, body: &inbox::Taken) {
        let mut last = envelope::Priority::Blocking;
        for id in &body.envelopes {
            let letter = self.letter(at, id);
            let there = matches!(letter.stage, Stage::Delivered | Stage::Acknowledged);
            at.must(there && letter.to == body.workspace_id, "it is in that inbox");
            at.must(!letter.taken, "nothing is taken twice");
            at.must(letter.priority >= last, "what is pressing is taken first");
            letter.taken = true;
            last = letter.priority;
            if self.blocking.get(&body.workspace_id) == Some(id) {
                self.blocking.remove(&body.workspace_id);
            }
        }
    }

    fn emitted(&mut self, at: &Place<'_>, tree: &Tree, body: &signal::Emitted) {
        let by_runtime = at.entry.draft.actor == Actor::Protocol;
        let about = body.about.as_ref().and_then(|about| EnvelopeId::new(about.as_str()).ok());
        let receipt = matches!(body.signal, SignalType::Acknowledged | SignalType::Failed);
        self.touched.extend(about.clone().filter(|id| self.letters.contains_key(id)));
        let letter = about.filter(|_| receipt && by_runtime);
        if let Some(letter) = letter.and_then(|id| self.letters.get_mut(&id)) {
            let back = (&letter.to, Some(&letter.from)) == (&body.from, body.to.as_ref());
            at.must(back, "a receipt goes to whoever sent the envelope");
            if body.signal == SignalType::Acknowledged {
                at.must(letter.stage == Stage::Delivered, "there is one receipt");
                letter.stage = Stage::Acknowledged;
                letter.retry_at = None;
            }
        } else {
            at.must(body.signal != SignalType::Acknowledged || !by_runtime, "receipts are of mail");
            at.must(body.to == tree[&body.from].parent, "signals go to the parent");
        }
        let Some(to) = &body.to else { return };
        if !tree[to].status.is_terminal() {
            let signal = (body.signal_id.to_string(), body.from.clone());
            self.pending.entry(to.clone()).or_default().push_back(signal);
        }
    }

    fn received(&mut self, at: &Place<'_>, tree: &Tree, body: &signal::Delivered) {
        let status = tree[&body.delivered_to].status;
        let waits = matches!(status, Status::Blocked | Status::Migrating | Status::Suspended);
        at.must(!waits && !status.is_terminal(), "its receiver takes signals");
        let queue = self.pending.entry(body.delivered_to.clone()).or_default();
        let first = queue.iter().position(|(_, from)| *from == body.from);
        let first = first.and_then(|first| queue.remove(first));
        let next = first.is_some_and(|(id, _)| id == body.signal_id.as_str());
        at.must(next, "signals of one workspace arrive in their order, once");
    }

    /// Removes the rights and signals of an ended workspace, and the rights to it.
    pub(super) fn ended(&mut self, id: &WorkspaceId) {
        self.rights.retain(|_, (_, holder, target)| holder != id && target != id);
        self.pending.remove(id);
    }

    /// Checks the invariants between commits.
    pub(super) fn compare(&mut self, seed: u64, tree: &Tree, state: &State) {
        for ((_, to), queue) in &self.on_the_way {
            let receiver = &tree[to];
            let first = &self.letters[&queue[0]];
            assert!(!receiver.status.is_terminal(), "seed {seed}: {} goes back", queue[0]);
            let open = receiver.takes_mail() && !self.blocking.contains_key(to);
            let waits = self.stopped.values().any(|id| *id == queue[0]);
            let stuck = open && first.retry_at.is_none() && !waits;
            assert!(!stuck, "seed {seed}: {} waits for nothing", queue[0]);
        }
        for (to, queue) in &self.pending {
            let status = tree[to].status;
            let waits = matches!(status, Status::Blocked | Status::Migrating | Status::Suspended);
            assert!(queue.is_empty() || waits, "seed {seed}: {to} has signals to receive");
        }
        let mut count = 0;
        for (id, right) in state.rights() {
            let own = (right.kind, right.holder.clone(), right.target.clone());
            assert_eq!(self.rights.get(id), Some(&own), "seed {seed}: {id}");
            for end in [&right.holder, &right.target] {
                assert!(!tree[end].status.is_terminal(), "seed {seed}: {id} of the ended {end}");
            }
            count += 1;
        }
        assert_eq!(count, self.rights.len(), "seed {seed}: a right is missing");
        let inboxes = self.rights.values().filter(|(kind, ..)| *kind == RightType::Receive).count();
        let live = tree.values().filter(|node| !node.status.is_terminal()).count();
        assert_eq!(inboxes, live, "seed {seed}: each has its own inbox");
        for id in self.touched.drain(..) {
            let (own, known) = (&self.letters[&id], state.envelope(&id).unwrap());
            assert_eq!(known.status, own.stage, "seed {seed}: {id}");
            assert_eq!(known.retry_at, own.retry_at, "seed {seed}: {id}");
            assert_eq!(known.taken, own.taken, "seed {seed}: {id}");
        }
        assert_eq!(state.envelopes().count(), self.letters.len(), "seed {seed}");
    }

    /// An envelope that should have been retried before a moment.
    pub(super) fn overdue(&self, turn: Timestamp) -> Option<&EnvelopeId> {
        let waiting = self.on_the_way.values().filter_map(VecDeque::front);
        let late = |id: &&EnvelopeId| self.letters[*id].retry_at.is_some_and(|at| at < turn);
        waiting.into_iter().find(late)
    }
}

/// Whether this is the message to an agent whose escalation nobody answered.
fn is_proceed(body: &envelope::Created) -> bool {
    body.payload.content == escalation::proceed()
}

impl Letter {
    fn is_due(&self, entry: &Stamped) -> bool {
        self.retry_at.is_none_or(|retry_at| retry_at <= entry.at)
    }
}
