//! Seats: how somebody reaches the project's memory, through a host or from the command line.

use althing_dialects::frugal::planning::called;
use althing_engine::{Client, Engine};
use althing_kernel::records::view::MemoryReply;
use althing_kernel::{AgentName, Command, Principal, Reply, Rule, State, Timestamp, WorkspaceId};
use serde_json::Value;
use std::path::Path;

use super::Verbs;
use super::recall::Recall;
use crate::desk::{Desk, Identity, perform};
use crate::fault::Fault;

/// What sessions of this dialect are called.
pub(super) const SESSION: &str = "memory";

/// Where somebody sits.
pub trait Seat {
    /// The project as it is there, for reading.
    fn opened(&self) -> Result<Engine, Fault>;
    /// Whoever sits there, ready to change something.
    fn client(&self) -> Result<Client, Fault>;
    /// Whoever sits there.
    fn principal(&self) -> Principal;
    /// The session they said they speak in.
    fn session(&self) -> Option<WorkspaceId>;
    /// The project's root.
    fn root(&self) -> &Path;
    /// Whether there is a git repository around it.
    fn is_git(&self) -> bool;
    /// What is kept between their questions.
    fn recall(&self) -> &Recall;
}

/// A seat of a host's.
pub struct Chair<'a> {
    /// The project.
    pub desk: &'a Desk,
    /// The caller.
    pub who: &'a Identity,
    /// What is kept between their questions.
    pub recall: &'a Recall,
}

impl Seat for Chair<'_> {
    fn opened(&self) -> Result<Engine, Fault> {
        Ok(self.desk.opened()?)
    }

    fn client(&self) -> Result<Client, Fault> {
        self.desk.client(self.who)
    }

    fn principal(&self) -> Principal {
        Principal::Agent(self.who.agent.clone())
    }

    fn session(&self) -> Option<WorkspaceId> {
        None
    }

    fn root(&self) -> &Path {
        &self.desk.setup.root
    }

    fn is_git(&self) -> bool {
        self.desk.setup.is_git
    }

    fn recall(&self) -> &Recall {
        self.recall
    }
}

/// What is true now, and when that is.
pub(super) struct Present {
    pub(super) engine: Engine,
    pub(super) state: State,
    pub(super) now: Timestamp,
}

impl Verbs<'_> {
    /// What is true now, without what others keep to themselves.
    pub(super) fn present(&self) -> Result<Present, Fault> {
        let engine = self.seat.opened()?;
        let (state, now) = engine.present()?;
        let state = state.as_seen_by(&self.principal());
        Ok(Present { engine, state, now })
    }

    /// Whoever is asking.
    pub(super) fn principal(&self) -> Principal {
        self.seat.principal()
    }

    /// The same, as this dialect shows them.
    pub(super) fn shown(&self) -> String {
        called(&self.principal())
    }

    /// The agent who is asking, unless it is a person.
    pub(super) fn agent(&self) -> Option<AgentName> {
        match self.principal() {
            Principal::Agent(name) => Some(name),
            Principal::User(_) | Principal::System => None,
        }
    }

    /// Puts a refusal of a command on record that rests on something the kernel cannot see.
    pub(super) fn on_record(&self, command: &str, fault: Fault) -> Fault {
        match self.seat.client() {
            Ok(client) => fault.recorded(&client, command),
            Err(other) => other,
        }
    }

    /// The session of whoever is asking, if one is open. One that they said they speak in has to be
    /// open, and theirs.
    pub(super) fn session(
        &self,
        state: &State,
        now: Timestamp,
    ) -> Result<Option<WorkspaceId>, Fault> {
        let Some(agent) = self.agent() else { return Ok(None) };
        let open = althing_kernel::query::sessions(state, now);
        let mut own = open.into_iter().filter(|session| session.agent == agent);
        let Some(said) = self.seat.session() else {
            let found = own.find(|session| session.client.as_deref() == Some(SESSION));
            return Ok(found.map(|session| session.workspace));
        };
        if own.any(|session| session.workspace == said) {
            return Ok(Some(said));
        }
        let message = format!("{} has no open session {said}", self.shown());
        let way_out = "Leave the session out: then the one of this dialect is gone on with.";
        Err(Fault::refused(Rule::SessionOwned, message.clone()).told(message, way_out))
    }

    /// Whoever is asking, in their session if one is open.
    pub(super) fn client(&self) -> Result<Client, Fault> {
        self.client_in(&self.present()?)
    }

    /// The same where it is known what is true now.
    pub(super) fn client_in(&self, present: &Present) -> Result<Client, Fault> {
        let session = self.session(&present.state, present.now)?;
        Ok(self.seat.client()?.in_session(session))
    }

    /// Issues a command about records.
    pub(super) fn remember(&self, command: Command) -> Result<MemoryReply, Fault> {
        match self.client()?.execute(command)? {
            Reply::Memory(reply) => Ok(*reply),
            other => Err(unexpected(&other)),
        }
    }

    /// Issues a command by its name.
    pub(super) fn act(&self, name: &str, args: &Value) -> Result<Value, Fault> {
        let client = self.client()?;
        perform(&self.seat.opened()?, &client, name, args)
    }
}

/// A reply that no such command has.
pub(super) fn unexpected(reply: &Reply) -> Fault {
    Fault::defect(format!("an unexpected reply: {reply:?}"))
}
