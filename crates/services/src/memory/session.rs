//! The session of whoever asks, and the commands they issue in it.

use althing_dialects::frugal::planning::called;
use althing_engine::{Client, Engine, api};
use althing_kernel::records::view::MemoryReply;
use althing_kernel::session::Open;
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Command, LeaseId, Principal, Reply, Rule, State, Timestamp, WorkspaceId, lease,
};
use serde_json::Value;

use super::Verbs;
pub(super) use crate::context::Present;
use crate::fault::Fault;

/// What sessions of this dialect are called.
pub(super) const SESSION: &str = "memory";

impl Verbs<'_> {
    /// What is true now, without what others keep to themselves.
    pub(super) fn present(&self) -> Result<Present, Fault> {
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
    pub(super) fn on_record(&self, command: &str, fault: Fault) -> Fault {
        self.context.on_record(command, fault)
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
        let Some(said) = self.context.session() else {
            let found = own.find(|session| session.client.as_deref() == Some(SESSION));
            return Ok(found.map(|session| session.workspace));
        };
        if own.any(|session| session.workspace == *said) {
            return Ok(Some(said.clone()));
        }
        let message = format!("{} has no open session {said}", self.shown());
        let way_out = "Leave the session out: then the one of this dialect is gone on with.";
        Err(Fault::refused(Rule::SessionOwned, message.clone()).told(message, way_out))
    }

    /// The same, opened if there is none. People have no session.
    pub(super) fn ensure_session(&self) -> Result<(Option<WorkspaceId>, bool), Fault> {
        let Present { state, now, .. } = self.present()?;
        let open = self.session(&state, now);
        if let Some(open) = open.map_err(|fault| self.on_record("session.open", fault))? {
            return Ok((Some(open), false));
        }
        if self.agent().is_none() {
            return Ok((None, false));
        }
        let open = Open { client: Some(Text::lossy(SESSION)), idle_s: None };
        match self.context.client()?.execute(Command::SessionOpen(open))? {
            Reply::Session(session) => Ok((Some(session.workspace), true)),
            other => Err(Fault::unexpected(&other)),
        }
    }

    /// Whoever is asking, in their session if one is open.
    pub(super) fn client(&self) -> Result<Client, Fault> {
        let client = self.context.client()?;
        let Present { state, now, .. } = self.present()?;
        Ok(client.in_session(self.session(&state, now)?))
    }

    /// Issues a command about records.
    pub(super) fn execute(&self, command: Command) -> Result<MemoryReply, Fault> {
        let client = self.client()?;
        let done = client.execute(command)?;
        self.keep_alive(&client);
        match done {
            Reply::Memory(reply) => Ok(*reply),
            other => Err(Fault::unexpected(&other)),
        }
    }

    /// Issues a command by its name.
    pub(super) fn act(&self, name: &str, args: &Value) -> Result<Value, Fault> {
        let client = self.client()?;
        let done = perform(&self.context.opened()?, &client, name, args)?;
        self.keep_alive(&client);
        Ok(done)
    }

    /// Renews the caller's leases that have used up a quarter of their time.
    ///
    /// This comes after something was committed, so a renewal that fails is no failure of the call:
    /// whoever was told of one would do it all again. The lease may have been given back, ended or
    /// run out in between; the next call tries again, and claims say themselves when they end.
    pub(super) fn keep_alive(&self, client: &Client) {
        let Ok(Present { state, now, .. }) = self.present() else { return };
        let own = self.principal();
        let due = |lease: &lease::Lease| {
            let ttl = lease.ttl.span().micros();
            let left = lease.expires_at.since(now).micros();
            lease.holder == own && lease.is_live(now) && left < ttl - ttl / 4
        };
        let tired: Vec<LeaseId> =
            state.leases().filter(|(_, lease)| due(lease)).map(|(id, _)| id.clone()).collect();
        for lease in &tired {
            let renew = lease::Renew { epoch: None, lease: lease.clone(), ttl_s: None };
            if let Err(error) = client.execute(Command::LeaseRenew(renew)) {
                tracing::warn!(%error, %lease, "a lease was not renewed");
            }
        }
    }
}

/// Carries a request out by its name.
pub(super) fn perform(
    engine: &Engine,
    client: &Client,
    name: &str,
    args: &Value,
) -> Result<Value, Fault> {
    let request = api::read_made(name, args)?;
    let done = api::perform(engine, Some(client), Some(client.principal()), request)?;
    serde_json::from_str(done.get()).map_err(|error| Fault::defect(error.to_string()))
}
