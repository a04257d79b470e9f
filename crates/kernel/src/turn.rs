//! A turn: the kernel deciding commands one after another on a state of its own.
//!
//! `decide` takes what the state says, the time, fresh ids and an authenticated caller, and
//! returns the entries that follow: those of the command, or the one that records its refusal.
//! Each entry is applied as it is made, so the second command of a turn sees what the first did.
//! Nothing outside changes: whoever runs the turn makes the entries durable and only then lets
//! the new state be seen, or drops both.

use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

use crate::command::Command;
use crate::event::{Draft, Event, Stamped, Stream};
use crate::id::{EntryId, IdKind, LeaseId, Mint, WorkspaceId};
use crate::principal::{Actor, Caller, Principal};
use crate::project::{self, Project};
use crate::query::{LeaseView, SessionView};
use crate::refusal::{AuthenticationFailed, Refusal, RefusalKind, Refused};
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::Timestamp;
use crate::{agent, lease, runtime, session, user};

/// What a command that was carried out returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// The lease it was about (as it was, if it ended).
    Lease(LeaseView),
    /// The session it opened.
    Session(SessionView),
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
    made: Vec<Stamped>,
}

impl<'m> Turn<'m> {
    /// Begins a turn. The turn's time is `now`, or the trail's clock if that is ahead.
    pub fn begin(state: State, now: Timestamp, mint: &'m mut dyn Mint) -> Self {
        let now = now.max(state.clock());
        Turn { base: state.clone(), state, now, mint, made: Vec::new() }
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
            match deadline.clone() {
                Deadline::Lease(id) => lease::on_deadline(self, &id)?,
                Deadline::Session(id) => session::on_deadline(self, &id)?,
            }
        }
    }

    /// Decides a command of an authenticated caller.
    ///
    /// A refusal is an outcome like any other and leaves an entry. An error is a defect of the
    /// kernel and leaves nothing.
    pub fn decide(&mut self, caller: &Caller, command: &Command) -> Result<Outcome, ApplyError> {
        let first = self.made.len();
        let arrived = self.arrive(caller, command);
        // Whoever arrived has arrived, whatever becomes of the command.
        let before = self.made.len();
        let result = match arrived.and_then(|()| self.carry_out(caller, command)) {
            Ok(reply) => Ok(reply),
            Err(halt) => {
                self.go_back_to(before)?;
                Err(self.record_refusal(caller, command, halt)?)
            }
        };
        Ok(Outcome { result, entries: first..self.made.len() })
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

    /// The entries made so far.
    pub fn entries(&self) -> &[Stamped] {
        &self.made
    }

    /// The state after the turn, and the entries that lead to it.
    pub fn finish(self) -> (State, Vec<Stamped>) {
        (self.state, self.made)
    }

    fn carry_out(&mut self, caller: &Caller, command: &Command) -> Result<Reply, Halt> {
        match command {
            Command::ProjectCreate(args) => project::decide_create(self, caller, args),
            Command::RuntimeRekey(args) => runtime::decide_rekey(self, caller, args),
            Command::RuntimeUnauthentic(args) => runtime::decide_unauthentic(self, args),
            Command::RuntimeRestored(args) => runtime::decide_restored(self, args),
            Command::RuntimeDegraded(args) => runtime::decide_degraded(self, args),
            Command::UserCreate(args) => user::decide_create(self, caller, args),
            Command::SessionOpen(args) => session::decide_open(self, caller, args),
            Command::SessionClose(args) => session::decide_close(self, caller, args),
            Command::LeaseOpen(args) => lease::decide_open(self, caller, args),
            Command::LeaseRenew(args) => lease::decide_renew(self, caller, args),
            Command::LeaseRelease(args) => lease::decide_release(self, caller, args),
            Command::LeaseForce(args) => lease::decide_force(self, caller, args),
        }
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
            (Principal::User(id), _) => user::admit(self, id, caller.key),
            (Principal::Agent(name), _) => {
                self.project()?;
                agent::admit(self, name, caller.key)
            }
        }
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
                let event = Event::CommandRefused(Refused {
                    command: context,
                    kind: refusal.kind,
                    message: Text::lossy(&refusal.message),
                    rule: refusal.rule,
                });
                (refusal, caller.principal.clone().into(), event)
            }
        };
        // Before the project exists there is no trail to record anything in.
        let Some(project) = &self.state.project else {
            return Ok(refusal);
        };
        let (workspace, stream) = match self.session_of(caller, refusal.kind) {
            Some((workspace, stream)) => (Some(workspace), stream),
            None => (None, Stream::project(&project.id)),
        };
        let draft = Draft { actor, workspace, stream, correlation: None, causation: None, event };
        self.emit(draft)?;
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

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The time of the turn.
    pub fn now(&self) -> Timestamp {
        self.now
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

    pub(crate) fn lease_reply(&self, id: &LeaseId) -> Result<Reply, Halt> {
        let lease = self.state.leases.get(id).ok_or(ApplyError::Unknown("the lease"))?;
        Ok(Reply::Lease(LeaseView::of(id, lease)))
    }

    pub(crate) fn session_reply(&self, id: &WorkspaceId) -> Result<Reply, Halt> {
        let session = self.state.sessions.get(id).ok_or(ApplyError::Unknown("the session"))?;
        Ok(Reply::Session(SessionView::of(id, session)))
    }

    /// Stamps a draft, applies it and keeps it.
    pub(crate) fn emit(&mut self, draft: Draft) -> Result<(), ApplyError> {
        let at = Timestamp::next_stamp(self.now, self.state.clock);
        let id: EntryId = self.mint.mint(IdKind::Entry, at).into();
        let entry = Stamped { id: id.clone(), at, draft };
        self.state.apply(&entry)?;
        self.made.push(entry);
        Ok(())
    }
}
