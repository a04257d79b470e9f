//! The desk: what tools work with. The project, whoever is asking, and their key.

use althing_engine::{Client, Engine, EngineError, Home, Options, Signing, door};
use althing_kernel::{AgentName, Principal, PublicKey};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fault::Fault;

/// The name of a host that does not say who it is.
pub const UNNAMED: &str = "mcp-client";

/// What a server needs to know of the place it works in.
#[derive(Clone)]
pub struct Setup {
    /// The state folder.
    pub home: Home,
    /// How the engine runs.
    pub options: Options,
    /// The project's root, which surfaces are relative to.
    pub root: PathBuf,
    /// Whether there is a git repository around it.
    pub is_git: bool,
    /// What to call the project if there is none yet and one is to be set up.
    pub create: Option<String>,
    /// Whoever acts, if that is settled and no matter of what hosts say.
    pub agent: Option<AgentName>,
}

/// The host that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// What it calls itself.
    pub name: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
}

/// Whoever is asking, as the kernel knows them and as the dialect shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The agent.
    pub agent: AgentName,
    /// What the dialect calls it.
    pub shown: String,
    /// What sort of agent it is.
    pub role: String,
    /// For whom it works, if that is known.
    pub human: Option<String>,
    /// The host it speaks through.
    pub host: Host,
}

/// One call of a tool.
pub struct Call<'a> {
    /// Where it is done.
    pub desk: &'a Desk,
    /// The host that asks.
    pub host: &'a Host,
    /// What it gave.
    pub arguments: &'a Map<String, Value>,
}

/// What tools work with.
pub struct Desk {
    /// The place.
    pub setup: Setup,
    engine: Mutex<Option<Engine>>,
    /// Whoever asked before, and of which project: another may be put in its place.
    clients: Mutex<BTreeMap<AgentName, (PublicKey, Client)>>,
}

impl Desk {
    /// A desk. Nothing is opened before somebody asks for something.
    pub fn new(setup: Setup) -> Self {
        Desk { setup, engine: Mutex::default(), clients: Mutex::default() }
    }

    /// The project for a call that changes it: set up first if that is wanted, and opened.
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

    /// The project as it is there, opened when first asked for. Nothing is set up for it.
    pub fn opened(&self) -> Result<Engine, EngineError> {
        let mut opened = lock(&self.engine);
        if let Some(engine) = &*opened {
            return Ok(engine.clone());
        }
        let Setup { home, options, .. } = &self.setup;
        let engine = Engine::open(home, options.clone())?;
        Ok(opened.insert(engine).clone())
    }

    /// The project for a call that only reads. None if there is none yet and the first call that
    /// changes something will set it up: then there is nothing to be read.
    pub fn readable(&self) -> Result<Option<Engine>, EngineError> {
        match self.opened() {
            Err(error) if self.is_yet_to_be(&error) => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn is_yet_to_be(&self, error: &EngineError) -> bool {
        self.setup.create.is_some() && error.kind() == "not_found"
    }

    /// Somebody who can issue commands, with a key made on first use and a name registered.
    pub fn client(&self, who: &Identity) -> Result<Client, Fault> {
        let engine = self.engine()?;
        let world = engine.world()?;
        let project = world.state.project().map(|project| project.runtime_key);
        let project = project.ok_or_else(|| Fault::defect("a project without a key"))?;
        match lock(&self.clients).get(&who.agent) {
            Some((of, client)) if *of == project => return Ok(client.clone()),
            _ => {}
        }
        let client = engine.client(engine.agent(&who.agent)?, Signing::Each);
        perform(&engine, &client, "agent.register", &about(who))?;
        lock(&self.clients).insert(who.agent.clone(), (project, client.clone()));
        Ok(client)
    }

    /// Issues a command by its name for somebody.
    pub fn execute(&self, who: &Identity, name: &str, args: &Value) -> Result<Value, Fault> {
        perform(&self.engine()?, &self.client(who)?, name, args)
    }

    /// Asks a question by its name.
    pub fn ask(&self, who: &Identity, name: &str, args: &Value) -> Result<Value, Fault> {
        let viewer = Principal::Agent(who.agent.clone());
        let request = door::read_made(name, args)?;
        value(&door::perform(&self.opened()?, None, Some(&viewer), request)?)
    }
}

/// What an agent says of itself when it shows up.
fn about(who: &Identity) -> Value {
    let mut about = json!({ "role": who.role });
    let Host { name, version } = &who.host;
    for (field, said) in [("human", &who.human), ("tool", name), ("tool_version", version)] {
        if let Some(said) = said.as_deref().and_then(label) {
            about[field] = said.into();
        }
    }
    about
}

/// Hosts call themselves all sorts of things; a label is one short line.
pub(crate) fn label(said: &str) -> Option<String> {
    let said: String = said.chars().filter(|c| !c.is_control()).take(32).collect();
    Some(said.trim().to_owned()).filter(|said| !said.is_empty())
}

pub(crate) fn perform(
    engine: &Engine,
    client: &Client,
    name: &str,
    args: &Value,
) -> Result<Value, Fault> {
    let request = door::read_made(name, args)?;
    value(&door::perform(engine, Some(client), Some(client.principal()), request)?)
}

fn value(raw: &RawValue) -> Result<Value, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| Fault::defect(error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
