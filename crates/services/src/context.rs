//! The context of a request, the same for every door: the project, the caller, and how the caller
//! authenticates.

use althing_engine::{Blobs, Client, Engine, EngineError, Signing};
use althing_kernel::query::{Answer, Query};
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Blob, Command, Door, Principal, Reply, Rule, State, Timestamp, WorkspaceId,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Error;
use crate::project::{Identity, Project, Setup, client_label};

/// Authenticates the caller when something is to be changed: with an agent's key or a person's
/// passphrase.
pub type Authenticate = Box<dyn Fn(&Engine) -> Result<Client, Error> + Send + Sync>;

/// The caller, as the settings of a command line or the host of an agent name them.
pub struct Caller {
    /// Their name. An anonymous caller may only read.
    principal: Option<Principal>,
    /// The session they named.
    session: Option<WorkspaceId>,
    /// The name of the client that they are connected with.
    connected: Option<Text<128>>,
    authenticate: Authenticate,
}

impl Caller {
    /// A caller with a name and a way to authenticate.
    pub fn new(principal: Option<Principal>, authenticate: Authenticate) -> Self {
        Caller { principal, session: None, connected: None, authenticate }
    }

    /// An agent. Its key is made on first use.
    pub fn agent(name: AgentName) -> Self {
        let principal = Principal::Agent(name.clone());
        let authenticate = move |engine: &Engine| -> Result<Client, Error> {
            Ok(engine.client(engine.agent(&name)?, Signing::Each))
        };
        Caller::new(Some(principal), Box::new(authenticate))
    }

    /// The same caller, in a session.
    #[must_use]
    pub fn in_session(self, session: Option<WorkspaceId>) -> Self {
        Caller { session, ..self }
    }
}

/// The current state as the caller may see it, and its time.
pub struct Present {
    /// The project.
    pub engine: Engine,
    /// The state, including deadlines that have passed since the last entry.
    pub state: State,
    /// The time of the state.
    pub now: Timestamp,
}

/// The context of a request.
pub struct ProjectContext {
    project: Arc<Project>,
    caller: Caller,
    /// The authenticated caller; kept so that a passphrase is asked for once.
    client: OnceLock<Client>,
    /// The way in they came through, if it is not the one of the whole process.
    door: Option<Door>,
    /// Content that the caller uploaded in this request, which they may cite.
    brought: Mutex<BTreeSet<Blob>>,
}

impl ProjectContext {
    /// A request of a caller about a project. Opens nothing and authenticates nobody yet.
    pub fn new(project: Arc<Project>, caller: Caller) -> Self {
        let (client, brought) = (OnceLock::new(), Mutex::default());
        ProjectContext { project, caller, client, door: None, brought }
    }

    /// The same request, through this way in.
    #[must_use]
    pub fn through(self, door: Door) -> Self {
        ProjectContext { door: Some(door), ..self }
    }

    /// A request of an agent through a host.
    pub fn of_host(project: &Arc<Project>, who: &Identity) -> Self {
        let (own, identity) = (project.clone(), who.clone());
        let authenticate = Box::new(move |_: &Engine| own.connected(&identity));
        let principal = Principal::Agent(who.agent.clone());
        let caller = Caller::new(Some(principal), authenticate);
        let connected = Some(client_label(who));
        ProjectContext::new(project.clone(), Caller { connected, ..caller })
    }

    /// The location and the options of the project.
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

    /// The existing project. None is created.
    pub fn opened(&self) -> Result<Engine, Error> {
        Ok(self.project.opened()?)
    }

    /// The project for a request that only reads; `None` if the first write has yet to create it.
    pub fn readable(&self) -> Result<Option<Engine>, Error> {
        Ok(self.project.readable()?)
    }

    /// The caller's name, if they have one.
    pub fn principal(&self) -> Option<&Principal> {
        self.caller.principal.as_ref()
    }

    /// The caller's name, for requests that need one.
    pub fn named(&self) -> Result<&Principal, Error> {
        let nobody = || {
            Error::misuse(
                Rule::WhoAreYou,
                "no agent or person was named, and this request needs one",
            )
        };
        self.principal().ok_or_else(nobody)
    }

    /// The session that the caller named.
    pub fn session(&self) -> Option<&WorkspaceId> {
        self.caller.session.as_ref()
    }

    /// The name of the client that the caller is connected with, if they keep a connection.
    pub(crate) fn connected(&self) -> Option<&Text<128>> {
        self.caller.connected.as_ref()
    }

    /// The authenticated caller, in the session they named or that of their connection.
    pub fn client(&self) -> Result<Client, Error> {
        let client = if let Some(client) = self.client.get() {
            client
        } else {
            let client = (self.caller.authenticate)(&self.engine()?)?;
            self.client.get_or_init(|| client)
        };
        let brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let client = client.clone().bringing(brought).warning(self.project.warnings());
        let client = match self.door {
            Some(door) => client.through(door),
            None => client,
        };
        Ok(match &self.caller.session {
            Some(session) => client.in_session(Some(session.clone())),
            None => client,
        })
    }

    /// Records a refusal that was decided before the kernel was asked, unless it is on record. If
    /// recording fails, returns that error instead. A person who has not authenticated is not asked
    /// for a passphrase only to record a refusal.
    pub fn on_record(&self, command: &str, error: Error) -> Error {
        let is_named = match self.principal() {
            Some(Principal::User(_)) => self.client.get().is_some(),
            Some(Principal::Agent(_) | Principal::System) => true,
            None => false,
        };
        // A project is not created only to record a refusal.
        let is_there = || matches!(self.readable(), Ok(Some(_)));
        if !is_named || !error.is_unrecorded_refusal() || !is_there() {
            return error;
        }
        match self.client() {
            Ok(client) => error.recorded(&client, command),
            Err(other) => other,
        }
    }

    /// Issues a command.
    pub fn execute(&self, command: Command) -> Result<Reply, Error> {
        Ok(self.client()?.execute(command)?)
    }

    /// Answers a query with what the caller may see.
    pub fn ask(&self, query: &Query) -> Result<Answer, Error> {
        Ok(self.opened()?.ask_as(query, self.principal())?)
    }

    /// Answers a query about public data. Returns `None` if the project does not exist yet, or the
    /// thing asked for does not.
    pub fn look_up(&self, query: &Query) -> Result<Option<Answer>, Error> {
        let Some(engine) = self.readable()? else { return Ok(None) };
        match engine.ask(query) {
            Ok(answer) => Ok(Some(answer)),
            Err(EngineError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The current state, without other agents' private records. Fails if the caller's name is bound
    /// to a key that is not on this machine.
    pub fn present(&self) -> Result<Present, Error> {
        let engine = self.opened()?;
        let (state, now) = engine.present_as(self.principal())?;
        Ok(Present { engine, state, now })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.setup().options.clock.now()
    }

    /// The stored content of the project.
    pub fn blobs(&self) -> Blobs {
        Blobs::of(&self.setup().home)
    }

    /// Notes that the caller uploaded this content.
    pub fn bring(&self, blob: Blob) {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).insert(blob);
    }
}
