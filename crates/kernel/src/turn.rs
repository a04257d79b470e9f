//! A turn: the kernel deciding commands one after another on a state of its own.
//!
//! `decide` takes what the state says, the time, fresh ids and an authenticated caller, and
//! returns the entries that follow: those of the command, or the one that records its refusal.
//! Each entry is applied as it is made, so the second command of a turn sees what the first did.
//! Nothing outside changes: whoever runs the turn makes the entries durable and only then lets
//! the new state be seen, or drops both.

mod dispatch;
mod refused;
mod replies;

use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

use crate::checkpoint::CheckpointView;
use crate::command::Command;
use crate::commons::view::CommonsReply;
use crate::deployment::Mechanism;
use crate::envelope::carrier::{Carried, Carrier, Parcel};
use crate::envelope::inbox::Mail;
use crate::envelope::view::EnvelopeView;
use crate::event::{Draft, Event, Stamped, Stream};
use crate::highway::view::{EscalationView, GateView, HighwayView};
use crate::highway::{self, escalation, gate};
use crate::id::{EntryId, EnvelopeId, IdKind, Mint, WorkspaceId};
use crate::integration::IntegrationReply;
use crate::memory::{self as remembered, view::MemoryReply};
use crate::principal::{Actor, Caller, Principal};
use crate::project::Project;
use crate::query::{AgentView, LeaseView, SessionView};
use crate::refusal::{AuthenticationFailed, Record, Refusal, RefusalKind};
use crate::right::RightView;
use crate::rule::Rule;
use crate::seal::Seal;
use crate::signal::SignalReply;
use crate::state::{ApplyError, Deadline, State};
use crate::surroundings::Surroundings;
use crate::task::graph::GraphReply;
use crate::task::view::TaskView;
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::user::view::UserView;
use crate::workspace::account::MeterView;
use crate::workspace::group::BatchReply;
use crate::workspace::view::WorkspaceView;
use crate::workspace::{change, enforce, liveness};
use crate::{
    adoption, agent, authentication, capability, envelope, lease, recovery, session, user,
};

/// What a command that was carried out returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// The lease it was about (as it was, if it ended).
    Lease(LeaseView),
    /// The session it opened.
    Session(SessionView),
    /// The person it was about.
    User(Box<UserView>),
    /// The workspace it was about.
    Workspace(Box<WorkspaceView>),
    /// The envelope it sent.
    Envelope(Box<EnvelopeView>),
    /// What was in the inbox.
    Mail(Mail),
    /// What became of a signal.
    Signal(SignalReply),
    /// The checkpoint it created.
    Checkpoint(Box<CheckpointView>),
    /// The graph it planned.
    Graph(GraphReply),
    /// The task it was about.
    Task(Box<TaskView>),
    /// The tasks it was about.
    Tasks(Vec<TaskView>),
    /// The right it was about (as it was, if it is gone).
    Right(RightView),
    /// How a merge stands.
    Integration(IntegrationReply),
    /// What waits for a person now, or how a gate ended.
    Gate(Box<GateView>),
    /// The escalation it answered.
    Escalation(Box<EscalationView>),
    /// The highway's settings.
    Highway(Box<HighwayView>),
    /// What the workspace it was about has used.
    Meter(Box<MeterView>),
    /// What became of the workspaces of a group.
    Batch(BatchReply),
    /// The agent it was about.
    Agent(Box<AgentView>),
    /// What it was about of what everybody shares.
    Commons(CommonsReply),
    /// What it was about of what is remembered.
    #[serde(serialize_with = "remembered::view::reply")]
    Memory(Box<MemoryReply>),
    /// How somebody sits down to work.
    Begun(Box<remembered::work::Begun>),
    /// What became of a claim that was given back.
    Finished(Box<remembered::work::Finished>),
    /// What recovery did.
    Recovery(Box<recovery::RecoveryCompleted>),
    /// Nothing in particular.
    #[serde(serialize_with = "serialize_done")]
    Done,
}

fn serialize_done<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("done", &true)?;
    map.end()
}

/// How a command came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its reply, or why it was refused.
    pub result: Result<Reply, Refusal>,
    /// Which of the turn's entries are its own.
    pub entries: Range<usize>,
}

/// Why a decision stopped.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A rule says no.
    Refused(Refusal),
    /// The caller is not who it claims to be.
    NotAuthentic { entity: Principal, reason: &'static str },
    /// The kernel made an entry that its own state does not accept: a defect, never an answer.
    Fault(ApplyError),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Halt::Refused(refusal)
    }
}

impl From<ApplyError> for Halt {
    fn from(error: ApplyError) -> Self {
        Halt::Fault(error)
    }
}

/// Commands being decided, one after another.
pub struct Turn<'m> {
    /// The state the turn began with, to go back to.
    base: State,
    state: State,
    now: Timestamp,
    mint: &'m mut dyn Mint,
    /// What puts envelopes into inboxes; nothing is lost where there is none.
    carrier: Option<&'m mut dyn Carrier>,
    /// What is told about the world outside; nothing where there is none.
    surroundings: Option<&'m dyn Surroundings>,
    /// What proves and checks messages. Without one nothing is proved and nothing checked, which
    /// is for looking ahead only.
    pub(crate) seal: Option<&'m dyn Seal>,
    /// What protects those who take part, besides the rules themselves.
    mechanisms: &'m [Mechanism],
    made: Vec<Stamped>,
    /// The entry that what is made now follows from.
    cause: Option<EntryId>,
    /// Whether an order is carried out that waited at a gate: whoever gave it gave it before, and
    /// is not asked again.
    released: bool,
}

impl<'m> Turn<'m> {
    /// Begins a turn. The turn's time is `now`, or the trail's clock if that is ahead.
    pub fn begin(state: State, now: Timestamp, mint: &'m mut dyn Mint) -> Self {
        let now = now.max(state.clock());
        let (base, made) = (state.clone(), Vec::new());
        let (carrier, surroundings, seal, cause) = (None, None, None, None);
        let mechanisms = &[Mechanism::AccessControl];
        let released = false;
        Turn {
            base,
            state,
            now,
            mint,
            carrier,
            surroundings,
            seal,
            mechanisms,
            made,
            cause,
            released,
        }
    }

    /// The same, with messages proved and checked.
    #[must_use]
    pub fn sealed_by(self, seal: &'m dyn Seal) -> Self {
        Turn { seal: Some(seal), ..self }
    }

    /// The same, where these mechanisms are in place and no others.
    #[must_use]
    pub fn protected_by(self, mechanisms: &'m [Mechanism]) -> Self {
        Turn { mechanisms, ..self }
    }

    /// The same, with envelopes put into inboxes by a carrier.
    #[must_use]
    pub fn carried_by(self, carrier: &'m mut dyn Carrier) -> Self {
        Turn { carrier: Some(carrier), ..self }
    }

    /// The same, knowing what lies around the trail.
    #[must_use]
    pub fn within(self, surroundings: &'m dyn Surroundings) -> Self {
        Turn { surroundings: Some(surroundings), ..self }
    }

    /// Records what has fallen due, at most about `limit` things. Returns whether more is due.
    pub fn tick(&mut self, limit: usize) -> Result<bool, ApplyError> {
        let stop_at = self.made.len().saturating_add(limit);
        loop {
            let next = self.state.deadlines.get_min();
            let Some((_, deadline)) = next.filter(|(at, _)| *at <= self.now) else {
                return Ok(false);
            };
            if self.made.len() >= stop_at {
                return Ok(true);
            }
            self.cause = None;
            let deadline = deadline.clone();
            let (first, before) = (self.made.len(), self.before());
            match deadline {
                Deadline::Lease(id) => lease::on_deadline(self, &id)?,
                Deadline::Session(id) => session::on_deadline(self, &id)?,
                Deadline::Workspace(id) => change::on_deadline(self, &id)?,
                Deadline::Compute(id) => enforce::on_deadline(self, &id)?,
                Deadline::Liveness(id) => liveness::on_deadline(self, &id)?,
                Deadline::Envelope(id) => envelope::deliver::on_deadline(self, &id)?,
                Deadline::Gate(id) => gate::on_deadline(self, &id)?,
                Deadline::Escalation(id) => escalation::on_deadline(self, &id)?,
                Deadline::Memory(id) => remembered::archive::on_deadline(self, id)?,
            }
            self.settle(before.as_ref(), first)?;
            highway::sweep(self)?;
        }
    }

    /// Decides a command of an authenticated caller.
    ///
    /// A refusal is an outcome like any other and leaves an entry. An error is a defect of the
    /// kernel and leaves nothing.
    pub fn decide(&mut self, caller: &Caller, command: &Command) -> Result<Outcome, ApplyError> {
        let (first, state) = (self.made.len(), self.before());
        self.cause = None;
        let arrived = self.arrive(caller, command);
        // Whoever arrived has arrived, whatever becomes of the command.
        let before = self.made.len();
        let result = match arrived.and_then(|()| dispatch::carry_out(self, caller, command)) {
            Ok(reply) => Ok(reply),
            Err(halt) => {
                self.released = false;
                self.go_back_to(before)?;
                self.cause = None;
                Err(self.record_refusal(caller, command, halt)?)
            }
        };
        let settled = self.settle(state.as_ref(), first)?;
        // Last, since what ran out of its budget may have left something to ask nobody about.
        highway::sweep(self)?;
        let result = if settled { result.map(|reply| self.renewed(reply)) } else { result };
        Ok(Outcome { result, entries: first..self.made.len() })
    }

    /// The state as it is, if some workspace has a budget and it will be asked what changed.
    fn before(&self) -> Option<State> {
        (self.state.limited > 0).then(|| self.state.clone())
    }

    /// Warns and ends workspaces that the entries from `first` on had use up their budget. What is
    /// created with a budget was not there before, so it is asked about too.
    fn settle(&mut self, before: Option<&State>, first: usize) -> Result<bool, ApplyError> {
        match before {
            None if self.state.limited == 0 => Ok(false),
            None => enforce::settle(self, &State::default(), first),
            Some(before) => enforce::settle(self, before, first),
        }
    }

    /// A reply as it is after budgets were looked at.
    fn renewed(&self, reply: Reply) -> Reply {
        let again = match &reply {
            Reply::Workspace(view) => self.workspace_reply(&view.workspace),
            Reply::Meter(view) => self.meter_reply(&view.workspace),
            Reply::Signal(said) => {
                let known = self.state.workspaces.get(&said.workspace);
                let status = known.map_or(said.status, |known| known.status);
                Ok(Reply::Signal(SignalReply { status, ..said.clone() }))
            }
            _ => return reply,
        };
        again.unwrap_or(reply)
    }

    /// What a command did before it stopped did not happen. Commands check before they act, so
    /// there is hardly ever anything to take back; if there is, the turn is replayed without it.
    fn go_back_to(&mut self, count: usize) -> Result<(), ApplyError> {
        if self.made.len() > count {
            self.made.truncate(count);
            self.state = self.base.clone();
            for entry in &self.made {
                self.state.apply(entry)?;
            }
        }
        Ok(())
    }

    /// Establishes who the caller is and, for an agent, the session it speaks in.
    fn arrive(&mut self, caller: &Caller, command: &Command) -> Result<(), Halt> {
        self.admit(caller, command)?;
        match command {
            Command::LeaseOpen(_)
            | Command::LeaseRenew(_)
            | Command::LeaseRelease(_)
            | Command::LeaseForce(_) => session::ensure(self, caller).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Tries something. If a rule says no, nothing of it happened.
    pub(crate) fn attempt<T>(
        &mut self,
        deed: impl FnOnce(&mut Self) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let (state, made, cause) = (self.state.clone(), self.made.len(), self.cause.clone());
        let done = deed(self);
        if done.is_err() {
            self.made.truncate(made);
            (self.state, self.cause) = (state, cause);
        }
        done
    }

    /// Carries out an order that waited at a gate. What it leads to is the runtime's doing.
    pub(crate) fn on_behalf<T>(
        &mut self,
        order: impl FnOnce(&mut Self) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        self.released = true;
        let done = order(self);
        self.released = false;
        done
    }

    /// Whether the order that is carried out has waited at a gate.
    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    /// In whose name the entry of an order is made.
    pub(crate) fn actor(&self, caller: &Caller) -> Actor {
        if self.released { Actor::Protocol } else { caller.principal.clone().into() }
    }

    /// The entries made so far.
    pub fn entries(&self) -> &[Stamped] {
        &self.made
    }

    /// The state after the turn, and the entries that lead to it.
    pub fn finish(self) -> (State, Vec<Stamped>) {
        (self.state, self.made)
    }

    /// Whether the caller is who it claims to be, as far as the trail knows.
    fn admit(&mut self, caller: &Caller, command: &Command) -> Result<(), Halt> {
        match (&caller.principal, command) {
            (Principal::System, Command::ProjectCreate(_) | Command::RuntimeRekey(_)) => Ok(()),
            (Principal::System, _) if self.project()?.runtime_key == caller.key => Ok(()),
            (Principal::System, _) => Err(Halt::NotAuthentic {
                entity: Principal::System,
                reason: "it does not hold the runtime's key",
            }),
            (_, command) if command.is_runtimes_own() => {
                Err(Refusal::denied(Rule::SystemOnly, "the runtime alone issues this").into())
            }
            (Principal::User(_), Command::UserCreate(create))
                if user::is_first_sign_up(&self.state, caller, create) =>
            {
                Ok(())
            }
            (Principal::User(id), _) => {
                user::admit(self, id, caller.key)?;
                authentication::record(self, caller)?;
                Ok(capability::check(&self.state, id, command)?)
            }
            (Principal::Agent(name), _) => {
                self.project()?;
                agent::admit(self, name, caller.key)?;
                authentication::record(self, caller)
            }
        }
    }

    /// Puts a refusal on record that does not end its command.
    pub(crate) fn put_on_record(
        &mut self,
        caller: &Caller,
        command: &Command,
        refusal: &Refusal,
    ) -> Result<(), ApplyError> {
        self.record_refusal(caller, command, Halt::Refused(refusal.clone())).map(drop)
    }

    fn record_refusal(
        &mut self,
        caller: &Caller,
        command: &Command,
        halt: Halt,
    ) -> Result<Refusal, ApplyError> {
        let context = Text::lossy(command.name());
        let (refusal, actor, event) = match halt {
            Halt::Fault(error) => return Err(error),
            Halt::NotAuthentic { entity, reason } => {
                let refusal = Refusal::not_authentic(&entity, reason);
                let event = Event::AuthenticationFailed(AuthenticationFailed {
                    context,
                    entity,
                    reason: Text::lossy(reason),
                    source: Text::lossy(&caller.key.to_string()),
                });
                // Whoever it was, it was not whom it claimed to be.
                (refusal, Actor::Protocol, event)
            }
            Halt::Refused(refusal) => {
                let event = refused::recorded(&refusal, context);
                (refusal, caller.principal.clone().into(), event)
            }
        };
        // Before the project exists there is no trail to record anything in.
        let Some(project) = &self.state.project else {
            return Ok(refusal);
        };
        if let Some(home) = refused::home_of(&self.state, &event) {
            self.note(Some(&home), actor, event)?;
            return Ok(refusal);
        }
        let (workspace, stream) = match self.session_of(caller, refusal.kind) {
            Some((workspace, stream)) => (Some(workspace), stream),
            None => (None, Stream::project(&project.id)),
        };
        let draft = Draft { actor, workspace, stream, correlation: None, causation: None, event };
        self.emit(draft)?;
        if let Record::Violation(violation) = &refusal.record {
            self.cause = self.made.last().map(|entry| entry.id.clone());
            let event = Event::IntegrityViolation(violation.as_ref().clone());
            self.note(None, Actor::Protocol, event)?;
        }
        Ok(refusal)
    }

    /// The session a refusal belongs to, if the caller is authentic and has one.
    fn session_of(&self, caller: &Caller, kind: RefusalKind) -> Option<(WorkspaceId, Stream)> {
        let Principal::Agent(agent) = &caller.principal else {
            return None;
        };
        if kind == RefusalKind::NotAuthentic {
            return None;
        }
        let workspace = caller.session.as_ref().or_else(|| self.state.standing.get(agent))?;
        let session = self.state.sessions.get(workspace)?;
        (session.agent == *agent).then(|| (workspace.clone(), session.stream.clone()))
    }

    /// Whether somebody's time to answer at a gate is over. What follows from that comes before
    /// any order that the gate stands in the way of.
    pub fn is_gate_due(&self) -> bool {
        self.state.is_gate_due(self.now)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The time of the turn.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// When the next entry will be stamped.
    pub(crate) fn stamp(&self) -> Timestamp {
        Timestamp::next_stamp(self.now, self.state.clock)
    }

    pub(crate) fn mint(&mut self, kind: IdKind) -> Arc<str> {
        self.mint.mint(kind, self.now)
    }

    pub(crate) fn project(&self) -> Result<&Project, Refusal> {
        self.state.project.as_ref().ok_or_else(|| {
            Refusal::not_found(Rule::ProjectExists, "there is no project in this trail yet")
        })
    }

    /// A draft about the project as a whole.
    pub(crate) fn project_draft(&self, actor: Actor, event: Event) -> Result<Draft, Refusal> {
        let stream = Stream::project(&self.project()?.id);
        Ok(Draft { actor, workspace: None, stream, correlation: None, causation: None, event })
    }

    /// Tries to put an envelope into an inbox. Returns what became of it, and how long to wait
    /// for an answer.
    pub(crate) fn carry(&mut self, envelope: &EnvelopeId, attempt: u8) -> (Carried, Span) {
        match &mut self.carrier {
            Some(carrier) => (carrier.carry(envelope, attempt), carrier.base_timeout()),
            None => (Carried::Acknowledged, Span::default()),
        }
    }

    /// What comes out of the carrier for what was put in.
    pub(crate) fn hand_over(&mut self, sent: Parcel) -> Parcel {
        match &mut self.carrier {
            Some(carrier) => carrier.hand_over(sent),
            None => sent,
        }
    }

    /// Whether a mechanism is in place.
    pub(crate) fn has_in_place(&self, mechanism: Mechanism) -> bool {
        self.mechanisms.contains(&mechanism)
    }

    /// What is made from here on follows from nothing that was made before.
    pub(crate) fn begin_story(&mut self) {
        self.cause = None;
    }

    /// Records something in the local trail of a workspace, or of none. The first entry of a
    /// command is what the others follow from.
    pub(crate) fn note(
        &mut self,
        workspace: Option<&WorkspaceId>,
        actor: Actor,
        event: Event,
    ) -> Result<(), ApplyError> {
        let stream = match workspace.and_then(|id| self.state.workspaces.get(id)) {
            Some(known) => known.charter.stream.clone(),
            None => Stream::project(&self.state.project.as_ref().ok_or(ApplyError::NoProject)?.id),
        };
        self.put(workspace.cloned(), stream, actor, event)
    }

    /// Records the creation of a workspace, which begins a local trail.
    pub(crate) fn begin_in(
        &mut self,
        workspace: &WorkspaceId,
        actor: Actor,
        event: Event,
    ) -> Result<(), ApplyError> {
        let stream = Stream::workspace(workspace);
        self.put(Some(workspace.clone()), stream, actor, event)
    }

    fn put(
        &mut self,
        workspace: Option<WorkspaceId>,
        stream: Stream,
        actor: Actor,
        event: Event,
    ) -> Result<(), ApplyError> {
        let (correlation, causation) = (self.cause.clone(), self.cause.clone());
        self.emit(Draft { actor, workspace, stream, correlation, causation, event })?;
        if self.cause.is_none() {
            self.cause = self.made.last().map(|entry| entry.id.clone());
        }
        Ok(())
    }

    /// Stamps a draft, applies it and keeps it. On a trail of earlier rules an entry that adopts
    /// today's comes first.
    pub(crate) fn emit(&mut self, draft: Draft) -> Result<(), ApplyError> {
        if let Some(adopted) = adoption::due(&self.state) {
            let event = Event::RulesAdopted(adopted);
            let stream =
                Stream::project(&self.state.project.as_ref().ok_or(ApplyError::NoProject)?.id);
            let (actor, correlation, causation) = (Actor::Protocol, None, None);
            self.push(Draft { actor, workspace: None, stream, correlation, causation, event })?;
        }
        self.push(draft)
    }

    fn push(&mut self, draft: Draft) -> Result<(), ApplyError> {
        let draft = self.proven(draft)?;
        let at = self.stamp();
        let id: EntryId = self.mint.mint(IdKind::Entry, at).into();
        let entry = Stamped { id: id.clone(), at, draft };
        self.state.apply(&entry)?;
        self.made.push(entry);
        Ok(())
    }
}
