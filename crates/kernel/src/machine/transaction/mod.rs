//! A transaction: the kernel deciding commands one after another on a state of its own.
//!
//! `decide` takes the state, the time, fresh ids and an authenticated caller, and returns the
//! entries that follow: those of the command, or the one that records its refusal. Each entry is
//! applied as it is made, so the second command of a transaction sees what the first did. Nothing
//! outside changes: the caller makes the entries durable and only then publishes the new state, or
//! drops both.

pub(crate) mod on_record;
pub(crate) mod refused;
pub(crate) mod replies;

use std::ops::Range;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::on_record::OnRecord;
use crate::model::admin::project::Project;
use crate::model::admin::surroundings::Surroundings;
use crate::model::runs::deployment::Mechanism;
use crate::model::runs::envelope::carrier::{Carried, Carrier, Parcel};
use crate::model::runs::seal::Seal;
use crate::model::runs::signal::SignalReply;
use crate::protocol::command::Command;
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::{AuthenticationFailed, Record, Refusal, RefusalKind};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::values::door::Door;
use crate::values::id::{EntryId, EnvelopeId, IdKind, Mint, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// How a command came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its reply, or why it was refused.
    pub result: Result<Reply, Refusal>,
    /// Which of the transaction's entries are its own.
    pub entries: Range<usize>,
    /// The caller's entry, which carries the request: the first one made in the caller's name once
    /// it arrived, or else the last one. None if the command made no entry.
    pub own: Option<usize>,
}

/// Why a decision stopped.
#[derive(Debug)]
pub(crate) enum DecisionError {
    /// A rule says no.
    Refused(Refusal),
    /// The caller is not who it claims to be.
    NotAuthentic { entity: Principal, reason: &'static str },
    /// The kernel made an entry that its own state does not accept: a defect, never an answer.
    Fault(ApplyError),
}

impl From<Refusal> for DecisionError {
    fn from(refusal: Refusal) -> Self {
        DecisionError::Refused(refusal)
    }
}

impl From<ApplyError> for DecisionError {
    fn from(error: ApplyError) -> Self {
        DecisionError::Fault(error)
    }
}

/// An earlier state and the entries since. Applying them gives the current state again, to undo a
/// decision that has changed it.
///
/// Copying the state before each decision would be simpler. But maps share their nodes with their
/// copies, so each change after a copy has to copy the nodes that it touches.
#[derive(Debug, Default)]
pub(crate) struct Base {
    state: State,
    since: Vec<Stamped>,
}

impl Base {
    pub(crate) fn new(state: State) -> Self {
        Base { state, since: Vec::new() }
    }

    /// Adds entries that the state has taken since.
    pub(crate) fn add(&mut self, entries: impl IntoIterator<Item = Stamped>) {
        self.since.extend(entries);
    }

    /// How many entries have to be applied to get the state again.
    pub(crate) fn entries(&self) -> usize {
        self.since.len()
    }

    /// The state after all entries. It becomes the new base, so no entry is applied here twice.
    pub(crate) fn restored(&mut self) -> Result<State, ApplyError> {
        let mut state = self.state.clone();
        self.since.iter().try_for_each(|entry| state.apply(entry))?;
        self.since.clear();
        self.state = state.clone();
        Ok(state)
    }
}

/// Commands being decided, one after another.
pub struct Transaction<'m> {
    /// Leads back to the state the transaction began with.
    base: Base,
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    mint: &'m mut dyn Mint,
    /// Delivers envelopes; without one every delivery succeeds.
    carrier: Option<&'m mut dyn Carrier>,
    /// Facts about storage; without it sizes are 0.
    surroundings: Option<&'m dyn Surroundings>,
    /// Makes and checks proofs. Without one nothing is proved, which is for forecasts only.
    pub(crate) seal: Option<&'m dyn Seal>,
    /// Protections in place besides the rules.
    mechanisms: &'m [Mechanism],
    pub(crate) made: Vec<Stamped>,
    /// The entry that new entries follow from.
    pub(crate) cause: Option<EntryId>,
    /// Whether a command that waited at a gate is carried out; its caller was checked before.
    pub(crate) released: bool,
    /// The way in of the request that is decided.
    pub(crate) door: Option<Door>,
    /// The recorded entries that are decided again, in an audit.
    on_record: Option<OnRecord<'m>>,
}

impl<'m> Transaction<'m> {
    /// Begins a transaction. Its time is `now`, or the trail's clock if that is ahead.
    pub fn begin(state: State, now: Timestamp, mint: &'m mut dyn Mint) -> Self {
        Transaction::begin_with(Base::new(state.clone()), state, now, mint)
    }

    /// Begins a transaction on a state that a base leads to.
    pub(crate) fn begin_with(
        base: Base,
        state: State,
        now: Timestamp,
        mint: &'m mut dyn Mint,
    ) -> Self {
        let now = now.max(state.clock());
        let made = Vec::new();
        let (carrier, surroundings, seal, cause) = (None, None, None, None);
        let mechanisms = &[Mechanism::AccessControl];
        let (released, door, on_record) = (false, None, None);
        Transaction {
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
            door,
            on_record,
        }
    }

    /// The same, with messages proved and checked.
    #[must_use]
    pub fn sealed_by(self, seal: &'m dyn Seal) -> Self {
        Transaction { seal: Some(seal), ..self }
    }

    /// The same, where these mechanisms are in place and no others.
    #[must_use]
    pub fn protected_by(self, mechanisms: &'m [Mechanism]) -> Self {
        Transaction { mechanisms, ..self }
    }

    /// The same, with envelopes put into inboxes by a carrier.
    #[must_use]
    pub fn carried_by(self, carrier: &'m mut dyn Carrier) -> Self {
        Transaction { carrier: Some(carrier), ..self }
    }

    /// The same, knowing what lies around the trail.
    #[must_use]
    pub fn within(self, surroundings: &'m dyn Surroundings) -> Self {
        Transaction { surroundings: Some(surroundings), ..self }
    }

    /// Says which way in the next command came through.
    pub fn come_through(&mut self, door: Option<Door>) {
        self.door = door;
    }

    /// The state as it is, if some workspace has a budget and it will be asked what changed.
    pub(crate) fn before(&self) -> Option<State> {
        (self.state.limited > 0).then(|| self.state.clone())
    }

    /// A reply as it is after budgets were looked at.
    pub(crate) fn renewed(&self, reply: Reply) -> Reply {
        let again = match &reply {
            Reply::Workspace(view) => self.workspace_reply(&view.workspace),
            Reply::Meter(view) => self.meter_reply(&view.workspace),
            Reply::Signal(emitted) => {
                let known = self.state.workspaces.get(&emitted.workspace);
                let status = known.map_or(emitted.status, |known| known.status);
                Ok(Reply::Signal(SignalReply { status, ..emitted.clone() }))
            }
            _ => return reply,
        };
        again.unwrap_or(reply)
    }

    /// Undoes the entries after `count`; replays the transaction without them.
    pub(crate) fn go_back_to(&mut self, count: usize) -> Result<(), ApplyError> {
        self.take_back_ids(0);
        if self.made.len() > count {
            self.made.truncate(count);
            self.state = self.base.restored()?;
            for entry in &self.made {
                self.state.apply(entry)?;
            }
        }
        Ok(())
    }

    /// Tries an action. If it fails, its entries are undone.
    pub(crate) fn attempt<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, DecisionError>,
    ) -> Result<T, DecisionError> {
        let (state, made, cause) = (self.state.clone(), self.made.len(), self.cause.clone());
        let ids = self.handed_out();
        let done = action(self);
        if done.is_err() {
            self.take_back_ids(ids);
            self.made.truncate(made);
            (self.state, self.cause) = (state, cause);
        }
        done
    }

    /// Carries out a command that waited at a gate. Its entries are the runtime's.
    pub(crate) fn on_behalf<T>(
        &mut self,
        order: impl FnOnce(&mut Self) -> Result<T, DecisionError>,
    ) -> Result<T, DecisionError> {
        self.released = true;
        let done = order(self);
        self.released = false;
        done
    }

    /// Whether the command that is carried out has waited at a gate.
    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    /// The actor of a command's entries.
    pub(crate) fn actor(&self, caller: &Caller) -> Actor {
        if self.released { Actor::Protocol } else { caller.principal.clone().into() }
    }

    /// The entries made so far.
    pub fn entries(&self) -> &[Stamped] {
        &self.made
    }

    /// The state after the transaction, and the entries that lead to it.
    pub fn finish(self) -> (State, Vec<Stamped>) {
        (self.state, self.made)
    }

    /// The state after the transaction, its entries, and the base that leads to the state before it.
    pub(crate) fn into_parts(self) -> (State, Vec<Stamped>, Base) {
        (self.state, self.made, self.base)
    }

    /// Puts a refusal on record that does not end its command.
    pub(crate) fn put_on_record(
        &mut self,
        caller: &Caller,
        command: &Command,
        refusal: &Refusal,
    ) -> Result<(), ApplyError> {
        self.record_refusal(caller, command, DecisionError::Refused(refusal.clone())).map(drop)
    }

    pub(crate) fn record_refusal(
        &mut self,
        caller: &Caller,
        command: &Command,
        error: DecisionError,
    ) -> Result<Refusal, ApplyError> {
        let context = Text::lossy(command.name());
        let (refusal, actor, event) = match error {
            DecisionError::Fault(error) => return Err(error),
            DecisionError::NotAuthentic { entity, reason } => {
                let refusal = Refusal::not_authentic(&entity, reason);
                let event = Event::AuthenticationFailed(AuthenticationFailed {
                    context,
                    entity,
                    reason: Text::lossy(reason),
                    source: Text::lossy(&caller.key.to_string()),
                });
                // The claimed name is not the actor.
                (refusal, Actor::Protocol, event)
            }
            DecisionError::Refused(refusal) => {
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

    /// Whether a gate has timed out. Its timeout is handled before any command that waits for it.
    pub fn is_gate_due(&self) -> bool {
        self.state.is_gate_due(self.now)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The time of the transaction.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// When the next entry will be stamped.
    pub(crate) fn stamp(&self) -> Timestamp {
        Timestamp::next_stamp(self.now, self.state.clock)
    }

    /// Moves the time to the stamp of the next entry. So the time that a command or a deadline was
    /// decided at is the stamp of its first entry, and an audit can tell it.
    pub(crate) fn set_time(&mut self) {
        self.now = self.stamp();
    }

    pub(crate) fn mint(&mut self, kind: IdKind) -> Arc<str> {
        match self.recorded_id(kind) {
            Some(recorded) => recorded,
            None => self.mint.mint(kind, self.now),
        }
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
        if let Some(recorded) = self.recorded_delivery(envelope) {
            return recorded;
        }
        match &mut self.carrier {
            Some(carrier) => (carrier.carry(envelope, attempt), carrier.base_timeout()),
            None => (Carried::Acknowledged, Span::default()),
        }
    }

    /// Passes a parcel through the carrier.
    pub(crate) fn hand_over(&mut self, sent: Parcel) -> Parcel {
        match &mut self.carrier {
            Some(carrier) => carrier.hand_over(sent),
            None => sent,
        }
    }

    /// Whether a mechanism is in place.
    pub(crate) fn has_in_place(&self, mechanism: Mechanism) -> bool {
        if self.is_again() {
            self.recorded_in_place()
        } else {
            self.mechanisms.contains(&mechanism)
        }
    }

    /// Starts a new chain of causes.
    pub(crate) fn clear_cause(&mut self) {
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

    pub(crate) fn push(&mut self, draft: Draft) -> Result<(), ApplyError> {
        let draft = self.proven(draft)?;
        let at = self.stamp();
        let entry = if let Some(recorded) = self.recorded(&draft, at) {
            recorded
        } else {
            let (id, door) = (self.mint.mint(IdKind::Entry, at).into(), self.door);
            Stamped { id, at, door, draft }
        };
        self.state.apply(&entry)?;
        self.made.push(entry);
        Ok(())
    }
}
