//! The context of a request: the project, who asks, and how they prove it. One for every door.

use althing_engine::{Blobs, Client, Engine, EngineError, Signing};
use althing_kernel::query::{Answer, Query};
use althing_kernel::{
    AgentName, Blob, Command, Principal, Reply, Rule, State, Timestamp, WorkspaceId,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Error;
use crate::project::{Identity, Project, Setup};

/// Proves who asks, once something is to be changed: with an agent's key or a person's passphrase.
pub type Authenticate = Box<dyn Fn(&Engine) -> Result<Client, Error> + Send + Sync>;

/// Who asks, as their channel says: the settings of a command line, or the host of an agent.
pub struct Caller {
    /// Their name. Nobody in particular may read, and change nothing.
    principal: Option<Principal>,
    /// The session they say they speak in.
    session: Option<WorkspaceId>,
    authenticate: Authenticate,
}

impl Caller {
    /// Somebody by their name, with a way to prove it.
    pub fn new(principal: Option<Principal>, authenticate: Authenticate) -> Self {
        Caller { principal, session: None, authenticate }
    }

    /// An agent whose key is on this machine, or is made now.
    pub fn agent(name: AgentName) -> Self {
        let principal = Principal::Agent(name.clone());
        let authenticate = move |engine: &Engine| -> Result<Client, Error> {
            Ok(engine.client(engine.agent(&name)?, Signing::Each))
        };
        Caller::new(Some(principal), Box::new(authenticate))
    }

    /// The same caller, speaking in a session.
    #[must_use]
    pub fn in_session(self, session: Option<WorkspaceId>) -> Self {
        Caller { session, ..self }
    }
}

/// What is true now, as the caller may see it, and when that is.
pub struct Present {
    /// The project.
    pub engine: Engine,
    /// The state, with what has fallen due since the last entry.
    pub state: State,
    /// The moment it holds for.
    pub now: Timestamp,
}

/// The context of a request.
pub struct ProjectContext {
    project: Arc<Project>,
    caller: Caller,
    /// The caller once they proved who they are: a passphrase is asked for once.
    client: OnceLock<Client>,
    /// Content that the caller gave as such: what they bring along is their own.
    brought: Mutex<BTreeSet<Blob>>,
}

impl ProjectContext {
    /// A request of somebody about a project. Nothing is opened yet, and nobody is asked to prove
    /// anything.
    pub fn new(project: Arc<Project>, caller: Caller) -> Self {
        ProjectContext { project, caller, client: OnceLock::new(), brought: Mutex::default() }
    }

    /// A request of an agent through a host.
    pub fn of_host(project: &Arc<Project>, who: &Identity) -> Self {
        let (own, identity) = (project.clone(), who.clone());
        let authenticate = Box::new(move |_: &Engine| own.client_of(&identity));
        let principal = Principal::Agent(who.agent.clone());
        ProjectContext::new(project.clone(), Caller::new(Some(principal), authenticate))
    }

    /// Where the project is and how it is worked on.
    pub fn setup(&self) -> &Setup {
        self.project.setup()
    }

    /// The project in this process.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The project for a request that changes it: created first if that is wanted, and opened.
    pub fn engine(&self) -> Result<Engine, Error> {
        Ok(self.project.engine()?)
    }

    /// The project as it is there. None is created.
    pub fn opened(&self) -> Result<Engine, Error> {
        Ok(self.project.opened()?)
    }

    /// The project for a request that only reads; `None` if the first write has yet to create it.
    pub fn readable(&self) -> Result<Option<Engine>, Error> {
        Ok(self.project.readable()?)
    }

    /// Who asks, if they have a name.
    pub fn principal(&self) -> Option<&Principal> {
        self.caller.principal.as_ref()
    }

    /// Who asks, for requests that somebody has to answer for.
    pub fn named(&self) -> Result<&Principal, Error> {
        let nobody = || Error::misuse(Rule::WhoAreYou, "who is asking? no agent was named");
        self.principal().ok_or_else(nobody)
    }

    /// The session that the caller says they speak in.
    pub fn session(&self) -> Option<&WorkspaceId> {
        self.caller.session.as_ref()
    }

    /// The caller, who proved who they are, in the session they named.
    pub fn client(&self) -> Result<Client, Error> {
        let client = if let Some(client) = self.client.get() {
            client
        } else {
            let client = (self.caller.authenticate)(&self.engine()?)?;
            self.client.get_or_init(|| client)
        };
        let brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let client = client.clone().bringing(brought).warning(self.project.warnings());
        Ok(match &self.caller.session {
            Some(session) => client.in_session(Some(session.clone())),
            None => client,
        })
    }

    /// Puts a refusal of a command on record that rests on something the kernel cannot see. If that
    /// fails, the error says why.
    pub fn on_record(&self, command: &str, error: Error) -> Error {
        match self.client() {
            Ok(client) => error.recorded(&client, command),
            Err(other) => other,
        }
    }

    /// Issues a command.
    pub fn execute(&self, command: Command) -> Result<Reply, Error> {
        Ok(self.client()?.execute(command)?)
    }

    /// Asks as the caller, who sees what they may see.
    pub fn ask(&self, query: &Query) -> Result<Answer, Error> {
        Ok(self.opened()?.ask_as(query, self.principal())?)
    }

    /// Asks about what everybody may read. Nothing is found where the project has yet to be created,
    /// or where there is no such thing.
    pub fn look_up(&self, query: &Query) -> Result<Option<Answer>, Error> {
        let Some(engine) = self.readable()? else { return Ok(None) };
        match engine.ask(query) {
            Ok(answer) => Ok(Some(answer)),
            Err(EngineError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What is true now, without what others keep to themselves.
    pub fn present(&self) -> Result<Present, Error> {
        let engine = self.opened()?;
        let (state, now) = engine.present()?;
        let state = match self.principal() {
            Some(viewer) => state.as_seen_by(viewer),
            None => state,
        };
        Ok(Present { engine, state, now })
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.setup().options.clock.now()
    }

    /// The stored content of the project.
    pub fn blobs(&self) -> Blobs {
        Blobs::of(&self.setup().home)
    }

    /// Remembers content that the caller brought along.
    pub fn bring(&self, blob: Blob) {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).insert(blob);
    }
}
