//! Invariants of gates and escalations, checked by reading the trail: each ends once, by somebody
//! who may end it, and never before or after its time without a reason.

use althing_kernel::approvals::escalation;
use althing_kernel::approvals::escalation::ResponseType;
use althing_kernel::approvals::gate;
use althing_kernel::approvals::gate::GateEnd;
use althing_kernel::approvals::request::Request;
use althing_kernel::approvals::resolve;
use althing_kernel::approvals::resolve::Resolver;
use althing_kernel::approvals::{EscalationFallback, GateFallback, GateType};
use althing_kernel::id::{AnyId, SignalId};
use althing_kernel::{Actor, Event, GateId, Principal, State, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

use super::Counts;
use super::invariants::Place;

/// An open gate or escalation.
struct Open<F> {
    due: Option<Timestamp>,
    fallback: F,
    /// Whether it has expired; the fallback must follow.
    over: bool,
}

impl<F: Copy + PartialEq + std::fmt::Debug> Open<F> {
    fn new(at: &Place<'_>, timeout: Option<althing_kernel::Span>, fallback: F) -> Self {
        Open { due: timeout.map(|span| at.entry.at.after(span)), fallback, over: false }
    }

    fn time_out(&mut self, at: &Place<'_>, fallback: F) {
        at.must(self.due.is_some_and(|due| due <= at.entry.at), "its time was over");
        at.must(self.fallback == fallback, "what was agreed on happens");
        at.must(!self.over, "its time is over once");
        self.over = true;
    }
}

/// Checks that a person chose a fallback that passes people.
fn chosen(at: &Place<'_>, passes: bool, by: Option<&Principal>) {
    at.must(passes == matches!(by, Some(Principal::User(_))), "a person chose to be passed");
}

/// The subject of a gate; salvaging a workspace is another subject than merging it.
type Subject = (GateType, AnyId, bool);

#[derive(Default)]
pub(super) struct Gates {
    open: BTreeMap<GateId, (Open<GateFallback>, Subject)>,
    closed: BTreeMap<GateId, GateEnd>,
    /// Gates that were rejected because nobody answered, and what waited there.
    unanswered: BTreeMap<GateId, (Subject, Option<Request>)>,
    /// The commands that wait at gates.
    requests: BTreeMap<GateId, Option<Request>>,
    /// Subjects for which a fallback closed a gate: they come up again only if people are expressly
    /// asked again, or asked about another merge or resolution.
    guarded: BTreeMap<Subject, GateId>,
    escalations: BTreeMap<SignalId, Open<EscalationFallback>>,
    answered: BTreeSet<SignalId>,
}

impl Gates {
    pub(super) fn note(&mut self, at: &Place<'_>, counts: &mut Counts) {
        match &at.entry.draft.event {
            Event::GateTriggered(body) => {
                self.triggered(at, body);
                if body.asks_again.is_some() {
                    *counts.entry("gate asked again".to_owned()).or_default() += 1;
                }
            }
            Event::GateTimeout(body) => {
                let open = self.open.get_mut(&body.gate_id);
                at.must(open.is_some(), "it was open");
                open.unwrap().0.time_out(at, body.fallback_action);
            }
            Event::GateResolved(body) => {
                self.resolved(at, body);
                let by = match body.actor {
                    Resolver::User(_) => "a person",
                    Resolver::Fallback => "its fallback",
                    Resolver::Protocol => "the runtime",
                };
                let what = format!("gate {} {:?} by {by}", body.gate_type, body.action);
                *counts.entry(what).or_default() += 1;
            }
            Event::GateReentryBlocked(body) => {
                let known = self.guarded.values().any(|gate| *gate == body.gate_id);
                at.must(known, "a fallback closed a gate for it");
                let no = self.closed[&body.gate_id] == GateEnd::Reject;
                at.must(!no, "what was turned back stays so");
            }
            Event::EscalationReceived(body) => {
                chosen(at, body.fallback.passes_people(), body.chosen_by.as_ref());
                let open = Open::new(at, body.timeout, body.fallback);
                let new = !self.answered.contains(&body.signal_id);
                let before = self.escalations.insert(body.signal_id.clone(), open);
                at.must(new && before.is_none(), "it is asked once");
            }
            Event::EscalationTimeout(body) => {
                let open = self.escalations.get_mut(&body.signal_id);
                at.must(open.is_some(), "it was open");
                open.unwrap().time_out(at, body.fallback_action);
            }
            Event::EscalationResolved(body) => {
                self.answered(at, body);
                let what = format!("escalation {:?}", body.response_type);
                *counts.entry(what).or_default() += 1;
            }
            Event::HumanInjection(body) => {
                let follows = at.entry.draft.causation.is_some();
                let by = match &at.entry.draft.actor {
                    Actor::Principal(Principal::User(id)) => *id == body.actor,
                    actor => *actor == Actor::Protocol && follows,
                };
                at.must(by, "a person said it");
                *counts.entry(format!("injection {:?}", body.status)).or_default() += 1;
            }
            Event::HighwayConfigured(body) => {
                let follows = at.entry.draft.causation.is_some();
                let by = match &at.entry.draft.actor {
                    Actor::Principal(principal) => matches!(principal, Principal::User(_)),
                    // The first one who signs up is asked from then on.
                    Actor::Protocol => follows && !body.highway.passes_people(),
                };
                at.must(by, "people set their own gates");
            }
            _ => {}
        }
    }

    fn triggered(&mut self, at: &Place<'_>, body: &gate::Triggered) {
        let saves = matches!(body.request, Some(Request::Salvage(_)));
        let about = (body.gate_type, body.subject.clone(), saves);
        let another = |gate: &GateId| {
            let choice =
                matches!(body.gate_type, GateType::Integration | GateType::ConflictResolution);
            let before = self.unanswered.get(gate);
            choice && before.is_some_and(|(_, request)| *request != body.request)
        };
        if let Some(before) = &body.asks_again {
            let known = self.unanswered.get(before);
            let same = known.is_some_and(|known| *known == (about.clone(), body.request.clone()));
            at.must(same, "nobody answered the same thing before");
            let last = self.guarded.remove(&about);
            at.must(last.as_ref() == Some(before), "it is asked again once");
        } else {
            let free = self.guarded.get(&about).is_none_or(another);
            at.must(free, "it does not come up again by itself");
        }
        chosen(at, body.fallback.passes_people(), body.chosen_by.as_ref());
        self.requests.insert(body.gate_id.clone(), body.request.clone());
        let same = |other: &Subject| (other.0, &other.1) == (about.0, &about.1);
        let twice = self.open.values().any(|(_, other)| same(other));
        at.must(!twice, "one gate for one thing");
        let open = Open::new(at, body.timeout, body.fallback);
        let new = !self.closed.contains_key(&body.gate_id);
        let before = self.open.insert(body.gate_id.clone(), (open, about));
        at.must(new && before.is_none(), "it is a new gate");
    }

    fn resolved(&mut self, at: &Place<'_>, body: &resolve::Resolved) {
        let open = self.open.remove(&body.gate_id);
        at.must(open.is_some(), "a gate ends once");
        let (open, about) = open.unwrap();
        match &body.actor {
            Resolver::User(user) => {
                // Approving several tasks is one action; the rest follows from it.
                let follows = at.entry.draft.causation.is_some();
                let by = match &at.entry.draft.actor {
                    Actor::Principal(Principal::User(id)) => id == user,
                    actor => *actor == Actor::Protocol && follows,
                };
                at.must(by && !open.over, "the person answered in time");
            }
            Resolver::Fallback => {
                let agreed = match open.fallback {
                    GateFallback::Approve => GateEnd::Approve,
                    GateFallback::Reject => GateEnd::Reject,
                    GateFallback::EscalateToCoordinator => GateEnd::Escalate,
                };
                at.must(open.over && body.action == agreed, "its time was over");
                if body.action == GateEnd::Reject {
                    let request = self.requests.get(&body.gate_id).cloned().flatten();
                    self.unanswered.insert(body.gate_id.clone(), (about.clone(), request));
                }
                self.guarded.insert(about, body.gate_id.clone());
            }
            Resolver::Protocol => at.must(body.action == GateEnd::Reject, "nothing is let through"),
        }
        self.closed.insert(body.gate_id.clone(), body.action);
    }

    fn answered(&mut self, at: &Place<'_>, body: &escalation::Resolved) {
        let open = self.escalations.remove(&body.signal_id);
        at.must(open.is_some(), "an escalation is answered once");
        let open = open.unwrap();
        match &body.actor {
            Resolver::User(_) => at.must(!open.over, "the person answered in time"),
            Resolver::Fallback => {
                let agreed = match open.fallback {
                    EscalationFallback::Approve => ResponseType::Envelope,
                    EscalationFallback::Reject => ResponseType::Abort,
                    EscalationFallback::DelegateToCoordinator => ResponseType::Delegation,
                };
                // An agent that does not listen any more is left to the coordinator.
                let left = open.fallback == EscalationFallback::Approve
                    && body.response_type == ResponseType::Delegation;
                at.must(open.over && (body.response_type == agreed || left), "its time was over");
            }
            Resolver::Protocol => {}
        }
        self.answered.insert(body.signal_id.clone());
    }

    /// Removes the gates of a run that is over.
    pub(super) fn run_over(&mut self) {
        self.guarded.clear();
        self.unanswered.clear();
    }

    /// Compares the open gates of the state with those of the trail, to the microsecond.
    pub(super) fn compare(&self, seed: u64, state: &State) {
        let known: Vec<_> = state.gates().map(|(id, gate)| (id, gate.due())).collect();
        let listed: Vec<_> = self.open.iter().map(|(id, (open, _))| (id, open.due)).collect();
        assert_eq!(known, listed, "seed {seed}: gates");
        let known: Vec<_> = state.escalations().map(|(id, open)| (id, open.due())).collect();
        let listed: Vec<_> = self.escalations.iter().map(|(id, open)| (id, open.due)).collect();
        assert_eq!(known, listed, "seed {seed}: escalations");
    }

    /// A gate or escalation that expired before, if there is one.
    pub(super) fn overdue(&self, turn: Timestamp) -> Option<String> {
        let past = |due: Option<Timestamp>| due.is_some_and(|due| due < turn);
        let gate = self.open.iter().find(|(_, (open, _))| past(open.due));
        let gate = gate.map(|(id, _)| id.to_string());
        let escalation = || self.escalations.iter().find(|(_, open)| past(open.due));
        gate.or_else(|| escalation().map(|(id, _)| id.to_string()))
    }
}
