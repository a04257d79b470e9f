//! The caller's session, and the commands they issue in it.

use althing_dialects::frugal::haid::called;
use althing_engine::Client;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::text::Text;
use althing_kernel::{AgentName, Command, Principal, Reply, Rule, State, Timestamp, WorkspaceId};

use super::Verbs;
pub(super) use crate::context::Present;
use crate::error::Error;

/// The client name of this dialect's sessions without a connection.
const SESSION: &str = "memory";

impl Verbs<'_> {
    /// The current state, without other agents' private records.
    pub(super) fn present(&self) -> Result<Present, Error> {
        self.context.present()
    }

    /// The caller.
    pub(super) fn principal(&self) -> Principal {
        self.principal.clone()
    }

    /// The caller's name, as this dialect shows it.
    pub(super) fn shown(&self) -> String {
        called(&self.principal())
    }

    /// The caller, if it is an agent.
    pub(super) fn agent(&self) -> Option<AgentName> {
        match self.principal() {
            Principal::Agent(name) => Some(name),
            Principal::User(_) | Principal::System => None,
        }
    }

    /// Records a refusal that rests on something the kernel cannot see.
    pub(super) fn on_record(&self, command: &str, error: Error) -> Error {
        self.context.on_record(command, error)
    }

    /// The caller's open session, if there is one. A session they named must be open and theirs.
    pub(super) fn session(
        &self,
        state: &State,
        now: Timestamp,
    ) -> Result<Option<WorkspaceId>, Error> {
        let Some(agent) = self.agent() else { return Ok(None) };
        let open = althing_kernel::query::sessions(state, now);
        let own: Vec<_> = open.into_iter().filter(|session| session.agent == agent).collect();
        let Some(named) = self.context.session() else {
            let label = self.label();
            let labelled = own.iter().find(|own| own.client.as_deref() == Some(label.as_str()));
            // A call without a connection goes on in the session of the agent's host, if there is one.
            let hosted = || own.iter().find(|own| own.connections > 0);
            let calls = self.context.connected().is_none();
            let found = labelled.or_else(|| hosted().filter(|_| calls));
            return Ok(found.map(|session| session.workspace.clone()));
        };
        if own.iter().any(|session| session.workspace == *named) {
            return Ok(Some(named.clone()));
        }
        let message = format!("{} has no open session {named}", self.shown());
        let way_out = "Leave the session out to continue in your own.";
        Err(Error::refused(Rule::SessionOwned, message.clone()).with_wording(message, way_out))
    }

    /// The name of the caller's client: that of their connection, if they keep one.
    pub(super) fn label(&self) -> Text<128> {
        self.context.connected().cloned().unwrap_or_else(|| Text::lossy(SESSION))
    }

    /// The caller's client, in their session if one is open.
    pub(super) fn client(&self) -> Result<Client, Error> {
        self.client_in(&self.present()?)
    }

    /// The caller's client, given the current state.
    pub(super) fn client_in(&self, present: &Present) -> Result<Client, Error> {
        let session = self.session(&present.state, present.now)?;
        let client = self.context.client()?;
        // A connection has its session already.
        Ok(if session.is_some() { client.in_session(session) } else { client })
    }

    /// Issues a command about records.
    pub(super) fn execute(&self, command: Command) -> Result<MemoryReply, Error> {
        match self.client()?.execute(command)? {
            Reply::Memory(reply) => Ok(*reply),
            other => Err(Error::unexpected(&other)),
        }
    }
}
