//! The project as the frugal dialect sees it: questions and commands by name, and who asks.

use althing_engine::{Client, Engine, EngineError, Options, Signing, api};
use althing_kernel::query::{Answer, LeaseList, LeaseView, Query};
use althing_kernel::text::Text;
use althing_kernel::{AgentName, Principal, Rule};
use althing_trail::log::LogErrorKind;
use serde_json::Value;
use std::cell::OnceCell;
use std::path::PathBuf;

use crate::app::{App, Project};
use crate::failure::Failure;
use crate::frugal::identity;
use althing_dialects::frugal::haid::Haid;
use althing_dialects::frugal::planning::utc;

/// The project, opened when it is needed.
pub(crate) struct Desk {
    pub(crate) app: App,
    pub(crate) project: Project,
    engine: OnceCell<Engine>,
    /// Whether the first thing done begins the files of this dialect.
    begins_files: bool,
}

impl Desk {
    /// Finds the project.
    pub(crate) fn new(app: App) -> Result<Self, Failure> {
        let project = app.project()?;
        Ok(Desk { app, project, engine: OnceCell::new(), begins_files: false })
    }

    /// The same for tools that always left files.
    pub(crate) fn with_files(self) -> Self {
        Desk { begins_files: true, ..self }
    }

    /// Where the files of this dialect are.
    pub(crate) fn planning(&self) -> PathBuf {
        self.project.planning().root().to_owned()
    }

    /// The project, if there is one yet.
    fn opened(&self) -> Result<Option<&Engine>, Failure> {
        if let Some(engine) = self.engine.get() {
            return Ok(Some(engine));
        }
        match Engine::open(&self.project.home, self.options()) {
            Ok(engine) => Ok(Some(self.engine.get_or_init(|| engine))),
            Err(EngineError::Store(error)) if error.kind == LogErrorKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn options(&self) -> Options {
        if self.begins_files { self.project.options_with_files() } else { self.project.options() }
    }

    /// Whether there is a project yet.
    pub(crate) fn is_set_up(&self) -> Result<bool, Failure> {
        Ok(self.opened()?.is_some())
    }

    /// The project, set up if there was none: the tools of this dialect need no setting up.
    pub(crate) fn engine(&self) -> Result<&Engine, Failure> {
        if self.opened()?.is_none() {
            let folder = self.project.root().file_name();
            let name = folder.map_or("project".into(), |name| name.to_string_lossy());
            let name = Text::<128>::lossy(&name).to_string();
            Engine::create(&self.project.home, &name, &self.options())?;
        }
        let missing = || Failure::unavailable("the project was set up and is not there");
        self.opened()?.ok_or_else(missing)
    }

    /// Asks by name. Nothing is found where there is no project yet.
    pub(crate) fn ask(&self, name: &str, args: &Value) -> Result<Option<Value>, Failure> {
        let request = api::read_made(name, args)?;
        let Some(engine) = self.opened()? else { return Ok(None) };
        match api::perform(engine, None, None, request) {
            Ok(answer) => read(answer.get()).map(Some),
            Err(EngineError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same for questions whose answer is a list.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Value>, Failure> {
        match self.ask(name, &serde_json::json!({}))? {
            Some(Value::Array(all)) => Ok(all),
            _ => Ok(Vec::new()),
        }
    }

    /// What is held, by anybody or by one, the oldest first.
    pub(crate) fn leases(&self, holder: Option<Principal>) -> Result<Vec<LeaseView>, Failure> {
        let Some(engine) = self.opened()? else { return Ok(Vec::new()) };
        match engine.ask(&Query::LeaseList(LeaseList { holder, surfaces: None }))? {
            Answer::Leases(mut leases) => {
                leases.sort_by_key(|lease| lease.epoch);
                Ok(leases)
            }
            _ => Err(Failure::unavailable("an unexpected answer to lease.list")),
        }
    }

    /// Does something by name, as whoever asks.
    pub(crate) fn act(&self, name: &str, args: &Value) -> Result<Value, Failure> {
        self.act_as(name, args, &self.client()?)
    }

    /// Does something by name, as a client.
    pub(crate) fn act_as(&self, name: &str, args: &Value, who: &Client) -> Result<Value, Failure> {
        let request = api::read_made(name, args)?;
        let done = api::perform(self.engine()?, Some(who), None, request);
        self.app.warn();
        read(done?.get())
    }

    /// Whoever asks: as set for everything else, or the HAID of this person in this project.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        if self.project.settings.asker()?.is_some() {
            return self.project.client(&self.app, self.engine()?);
        }
        self.client_of(&identity::own_haid(&self.project)?)
    }

    /// Somebody known by a HAID whose key is here.
    pub(crate) fn client_of(&self, haid: &Haid) -> Result<Client, Failure> {
        let engine = self.engine()?;
        let credential = engine.agent(&agent_name(haid)?)?;
        Ok(engine.client(credential, Signing::Each).warning(&self.app.warnings))
    }

    /// The time.
    pub(crate) fn now(&self) -> String {
        utc(self.project.options().clock.now())
    }
}

/// The name of a HAID as an agent.
pub(crate) fn agent_name(haid: &Haid) -> Result<AgentName, Failure> {
    AgentName::new(&haid.agent_name())
        .map_err(|error| Failure::misuse(Rule::Limits, error.to_string()))
}

fn read(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::unavailable(error.to_string()))
}
