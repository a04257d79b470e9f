//! The session of whoever asks, and the commands they issue in it.

use althing_dialects::frugal::planning::called;
use althing_engine::Client;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::{AgentName, Command, Principal, Reply, Rule, State, Timestamp, WorkspaceId};

use super::Verbs;
pub(super) use crate::context::Present;
use crate::error::Error;

/// What sessions of this dialect are called.
pub(super) const SESSION: &str = "memory";

impl Verbs<'_> {
    /// What is true now, without what others keep to themselves.
    pub(super) fn present(&self) -> Result<Present, Error> {
        self.context.present()
    }

    /// Whoever is asking.
    pub(super) fn principal(&self) -> Principal {
        self.principal.clone()
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
    pub(super) fn on_record(&self, command: &str, error: Error) -> Error {
        self.context.on_record(command, error)
    }

    /// The session of whoever is asking, if one is open. One that they named they speak in has to be
    /// open, and theirs.
    pub(super) fn session(
        &self,
        state: &State,
        now: Timestamp,
    ) -> Result<Option<WorkspaceId>, Error> {
        let Some(agent) = self.agent() else { return Ok(None) };
        let open = althing_kernel::query::sessions(state, now);
        let mut own = open.into_iter().filter(|session| session.agent == agent);
        let Some(named) = self.context.session() else {
            let found = own.find(|session| session.client.as_deref() == Some(SESSION));
            return Ok(found.map(|session| session.workspace));
        };
        if own.any(|session| session.workspace == *named) {
            return Ok(Some(named.clone()));
        }
        let message = format!("{} has no open session {named}", self.shown());
        let way_out = "Leave the session out: then the one of this dialect is gone on with.";
        Err(Error::refused(Rule::SessionOwned, message.clone()).with_wording(message, way_out))
    }

    /// Whoever is asking, in their session if one is open.
    pub(super) fn client(&self) -> Result<Client, Error> {
        self.client_in(&self.present()?)
    }

    /// The same where it is known what is true now.
    pub(super) fn client_in(&self, present: &Present) -> Result<Client, Error> {
        let session = self.session(&present.state, present.now)?;
        Ok(self.context.client()?.in_session(session))
    }

    /// Issues a command about records.
    pub(super) fn execute(&self, command: Command) -> Result<MemoryReply, Error> {
        match self.client()?.execute(command)? {
            Reply::Memory(reply) => Ok(*reply),
            other => Err(Error::unexpected(&other)),
        }
    }
}
