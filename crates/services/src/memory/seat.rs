//! Seats: how somebody reaches the project's memory, through a host or from the command line.

use althing_dialects::frugal::planning::called;
use althing_engine::{Client, Engine};
use althing_kernel::session::Open;
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Command, LeaseId, Principal, Reply, Rule, State, Timestamp, WorkspaceId, lease,
};
use serde_json::Value;
use std::path::Path;

use super::Verbs;
use super::recall::Recall;
use crate::desk::{Desk, Identity, perform};
use crate::fault::Fault;

/// What sessions of this dialect are called.
pub(super) const SESSION: &str = "memory";

/// What is done about text that looks like a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// It is not stored: what is on the trail stays there.
    #[default]
    Strict,
    /// It is stored, and said.
    Warn,
}

impl Secrets {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Secrets::Strict => "strict",
            Secrets::Warn => "warn",
        }
    }
}

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
    /// What is done about secrets.
    fn secrets(&self) -> Secrets;
    /// What is kept between their questions.
    fn recall(&self) -> &Recall;
}

/// A seat of a host's.
pub struct Chair<'a> {
    /// The project.
    pub desk: &'a Desk,
    /// The caller.
    pub who: &'a Identity,
    /// What is done about secrets.
    pub secrets: Secrets,
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

    fn secrets(&self) -> Secrets {
        self.secrets
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

    /// The same, opened if there is none. People have no session.
    pub(super) fn ensure_session(&self) -> Result<(Option<WorkspaceId>, bool), Fault> {
        let Present { state, now, .. } = self.present()?;
        if let Some(open) = self.session(&state, now)? {
            return Ok((Some(open), false));
        }
        if self.agent().is_none() {
            return Ok((None, false));
        }
        let open = Open { client: Some(Text::lossy(SESSION)), idle_s: None };
        match self.seat.client()?.execute(Command::SessionOpen(open))? {
            Reply::Session(session) => Ok((Some(session.workspace), true)),
            other => Err(Fault::defect(format!("an unexpected reply: {other:?}"))),
        }
    }

    /// Whoever is asking, in their session if one is open.
    pub(super) fn client(&self) -> Result<Client, Fault> {
        let client = self.seat.client()?;
        let Present { state, now, .. } = self.present()?;
        Ok(client.in_session(self.session(&state, now)?))
    }

    /// Issues a command by its name.
    pub(super) fn act(&self, name: &str, args: &Value) -> Result<Value, Fault> {
        let client = self.client()?;
        let done = perform(&self.seat.opened()?, &client, name, args)?;
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
            let _ = client.execute(Command::LeaseRenew(renew));
        }
    }
}
