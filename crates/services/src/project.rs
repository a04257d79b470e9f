//! The project that requests are about: opened when first asked for, and created on the first write
//! where that is wanted.

use althing_engine::{Client, Engine, EngineError, ErrorKind, Home, Options, Signing, Warnings};
use althing_kernel::blackboard::Label;
use althing_kernel::session::{Connection, Grace, Open};
use althing_kernel::text::Text;
use althing_kernel::{AgentName, Command, PublicKey, Reply, agent};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::search_cache::SearchCache;

/// The name of a host that does not say who it is.
pub const UNNAMED: &str = "mcp-client";

/// The location of a project and the options to open it with.
#[derive(Clone)]
pub struct Setup {
    /// The state folder.
    pub home: Home,
    /// Options of the engine.
    pub options: Options,
    /// The project's root, which surfaces are relative to.
    pub root: PathBuf,
    /// Whether there is a git repository around it.
    pub is_git: bool,
    /// How long what a host held stays after the host has gone.
    pub grace: Grace,
    /// The name to create the project with if there is none yet; without one none is created.
    pub create: Option<String>,
}

/// The host that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The name it gives itself.
    pub name: Option<String>,
    /// The version it reports.
    pub version: Option<String>,
}

/// An agent that asks through a host, as the kernel knows it and as the dialect shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The agent.
    pub agent: AgentName,
    /// The name the dialect shows it by.
    pub shown: String,
    /// Its role: the last part of its HAID, or its name.
    pub role: String,
    /// The person it works for, if known.
    pub human: Option<String>,
    /// The host it is connected through.
    pub host: Host,
}

/// One project in this process, shared by all requests about it.
pub struct Project {
    setup: Setup,
    engine: Mutex<Option<Engine>>,
    /// The agents that asked before, each with the key of the project it asked about: another
    /// project may be put in its place.
    clients: Mutex<BTreeMap<AgentName, (PublicKey, Client)>>,
    /// The search index of its memory, kept between requests.
    search_cache: SearchCache,
    /// Warnings about commands of the request that is being carried out.
    warnings: Warnings,
}

impl Project {
    /// A project that is not opened yet.
    pub fn new(setup: Setup) -> Self {
        let (engine, clients, search_cache, warnings) = Default::default();
        Project { setup, engine, clients, search_cache, warnings }
    }

    /// The same project, whose warnings go to this list.
    #[must_use]
    pub fn warning(self, warnings: &Warnings) -> Self {
        Project { warnings: warnings.clone(), ..self }
    }

    /// The location and the options.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Warnings about commands that were carried out all the same.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    pub(crate) fn search_cache(&self) -> &SearchCache {
        &self.search_cache
    }

    /// The project for a request that changes it: created first if that is wanted, and opened.
    pub fn engine(&self) -> Result<Engine, EngineError> {
        match self.opened() {
            Err(error) if self.is_yet_to_be(&error) => {}
            opened => return opened,
        }
        let Setup { home, options, create, .. } = &self.setup;
        if let Some(name) = create {
            Engine::create(home, name, options)?;
        }
        self.opened()
    }

    /// The project as it is there, opened when first asked for. None is created.
    pub fn opened(&self) -> Result<Engine, EngineError> {
        let mut opened = lock(&self.engine);
        if let Some(engine) = &*opened {
            return Ok(engine.clone());
        }
        let Setup { home, options, .. } = &self.setup;
        let engine = Engine::open(home, options.clone())?;
        Ok(opened.insert(engine).clone())
    }

    /// The project, if a request has opened it.
    pub fn if_opened(&self) -> Option<Engine> {
        lock(&self.engine).clone()
    }

    /// The project for a request that only reads. None if there is none yet and the first request
    /// that changes something will create it: then there is nothing to read.
    pub fn readable(&self) -> Result<Option<Engine>, EngineError> {
        match self.opened() {
            Err(error) if self.is_yet_to_be(&error) => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn is_yet_to_be(&self, error: &EngineError) -> bool {
        self.setup.create.is_some() && error.kind() == ErrorKind::NotFound
    }

    /// The client of an agent that asks through a host, with a key made on first use and a name
    /// registered.
    pub fn client_of(&self, who: &Identity) -> Result<Client, Error> {
        let engine = self.engine()?;
        let world = engine.world()?;
        let key = world.state.project().map(|project| project.runtime_key);
        let key = key.ok_or_else(|| Error::defect("a project without a key"))?;
        match lock(&self.clients).get(&who.agent) {
            Some((of, client)) if *of == key => return Ok(client.clone()),
            _ => {}
        }
        let client = engine.client(engine.agent(&who.agent)?, Signing::Each);
        let client = client.warning(&self.warnings);
        client.execute(Command::AgentRegister(about(who)))?;
        lock(&self.clients).insert(who.agent.clone(), (key, client.clone()));
        Ok(client)
    }

    /// The client of an agent that is connected through its host, in the session of this connection.
    /// The first request opens that session, or goes on with the one the agent left.
    pub fn connected(&self, who: &Identity) -> Result<Client, Error> {
        let (client, engine) = (self.client_of(who)?, self.engine()?);
        // Others' ends that cannot be recorded now are found again.
        if let Err(error) = engine.record_lost() {
            tracing::debug!(%error, "ended connections are recorded later");
        }
        let (name, label) = (engine.connection()?, client_label(who));
        let world = engine.world()?;
        let now = engine.moment(&world.state);
        if let Some(session) = world.state.session_through(&who.agent, &label, &name, now) {
            return Ok(client.in_session(Some(session.clone())));
        }
        let connection = Some(Connection { grace_s: self.setup.grace, name });
        let open = Open { client: Some(label), connection, idle_s: None };
        match client.execute(Command::SessionOpen(open))? {
            Reply::Session(session) => Ok(client.in_session(Some(session.workspace))),
            other => Err(Error::unexpected(&other)),
        }
    }
}

/// The registration of an agent.
fn about(who: &Identity) -> agent::Register {
    let Host { name, version } = &who.host;
    let short = |text: &Option<String>| text.as_deref().and_then(label);
    agent::Register {
        human: short(&who.human),
        role: Label::new(&who.role).ok(),
        tool: short(name),
        tool_version: short(version),
    }
}

/// The name of an agent's client: that of its host.
pub(crate) fn client_label(who: &Identity) -> Text<128> {
    let name = who.host.name.as_deref().and_then(label);
    Text::lossy(name.as_ref().map_or(UNNAMED, Label::as_str))
}

/// Makes a label of a host's text: one short line.
pub(crate) fn label(text: &str) -> Option<Label> {
    let text: String = text.chars().filter(|c| !c.is_control()).take(32).collect();
    Label::new(text.trim()).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
