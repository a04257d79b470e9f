//! The parts every command needs: the project, the settings, the engine and the caller.

use althing_engine::{
    Client, Credential, Engine, EngineError, Home, Keyring, Options, Signing, Warnings, deployment,
};
use althing_kernel::text::Text;
use althing_kernel::{Door, Principal, Rule, UserId, WorkspaceId, query};
use althing_services::Setup;
use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cli::Globals;
use crate::error::Error;
use crate::naming::Naming;
use crate::output::Out;
use crate::place::{self, Inside, Place};
use crate::planning::{self, Planning};
use crate::settings::{Asker, Origin, Settings};

/// More than any passphrase has.
const PASSPHRASE_BYTES_MAX: u64 = 4096;

/// The command line as a whole.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) globals: Globals,
    pub(crate) out: Out,
    /// Warnings of commands, which are shown once there is an answer.
    pub(crate) warnings: Warnings,
    /// The way in that requests of this program come through.
    pub(crate) door: Door,
    /// The credential of the caller, once they authenticated.
    pub(crate) authenticated: Arc<OnceLock<Credential>>,
}

/// A project that was found, with its settings.
pub(crate) struct Project {
    pub(crate) place: Place,
    pub(crate) settings: Settings,
    pub(crate) home: Home,
    /// The way in of whoever calls this program.
    door: Door,
}

impl App {
    pub(crate) fn new(globals: Globals) -> Self {
        let out = Out::new(globals.json);
        let (warnings, authenticated) = (Warnings::default(), Arc::default());
        App { globals, out, warnings, door: Door::CommandLine, authenticated }
    }

    /// Shows the warnings there are.
    pub(crate) fn warn(&self) {
        for warning in self.warnings.take() {
            self.out.note(warning);
        }
    }

    /// Finds where the project is, or would be.
    pub(crate) fn place(&self) -> Result<Place, Error> {
        let start = self.globals.project.clone().unwrap_or_else(|| PathBuf::from("."));
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = set("ALTHING_HOME").map(PathBuf::from);
        let own = home.is_none();
        let place = Place::find(&start, home)?;
        // Files of the frugal dialect that are kept elsewhere bring their trail along, so that
        // whoever names a folder of their own is alone in it.
        let planning = set(planning::VARIABLE).map(|folder| place::real(Path::new(&folder)));
        if let Some(folder) = planning.as_ref().filter(|folder| is_in_git(folder)) {
            let message = format!("{}: {} lies in .git", planning::VARIABLE, folder.display());
            return Err(Error::usage(message).hint("Give a folder outside of .git."));
        }
        match planning.filter(|_| own) {
            // A folder that has a trail has that one, wherever it is looked at from.
            Some(folder)
                if matches!(place.inside(&folder), Inside::Elsewhere)
                    || Home::new(&folder.join(".althing")).store().is_file() =>
            {
                Ok(Place {
                    state: folder.join(".althing"),
                    state_origin: planning::VARIABLE,
                    ..place
                })
            }
            _ => Ok(place),
        }
    }

    /// Finds the project.
    pub(crate) fn project(&self) -> Result<Project, Error> {
        let place = self.place()?;
        let settings = Settings::gather(&self.globals, &place)?;
        let home = Home::new(&place.state);
        let home = match &settings.store.value {
            Some(path) => home.with_store(path.clone()),
            None => home,
        };
        Ok(Project { place, settings, home, door: self.door })
    }

    /// A person's passphrase: asked for on the terminal, or read from standard input if told so.
    pub(crate) fn passphrase(&self, prompt: &str) -> Result<String, Error> {
        if self.globals.passphrase_stdin {
            let mut line = String::new();
            let read = std::io::stdin().lock().take(PASSPHRASE_BYTES_MAX).read_line(&mut line);
            read.map_err(|error| Error::usage(format!("cannot read the passphrase: {error}")))?;
            if line.len() as u64 == PASSPHRASE_BYTES_MAX {
                let message = format!("a passphrase has fewer than {PASSPHRASE_BYTES_MAX} bytes");
                return Err(Error::misuse(Rule::Limits, message));
            }
            return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
        }
        if !std::io::stdin().is_terminal() {
            return Err(Error::misuse(
                Rule::PersonNeedsCredential,
                "there is no terminal to ask for the passphrase on",
            )
            .hint("Run it in a terminal, or pipe the passphrase in with `--passphrase-stdin`."));
        }
        rpassword::prompt_password(prompt).map_err(|error| {
            let failure = Error::usage(format!("no passphrase was given: {error}"));
            failure.hint("Nothing was changed. Repeat the command and type the passphrase.")
        })
    }
}

/// Whether a folder is git's own, where no files for people belong.
fn is_in_git(folder: &Path) -> bool {
    folder.iter().any(|name| name.eq_ignore_ascii_case(".git"))
}

impl Project {
    /// How the engine is to run.
    pub(crate) fn options(&self) -> Options {
        Options {
            patience: Duration::from_secs(self.settings.patience_secs.value),
            store_bytes_max: self.settings.store_bytes_max.value,
            compact_after: self.settings.compact_after.value,
            screening: self.settings.memory_secrets.value,
            projection: Some(Arc::new(self.planning())),
            door: Some(self.door),
            is_program_running: Some(althing_workshop::ancestry::is_running),
            ..Options::default()
        }
    }

    /// The same for tools that always left files.
    fn options_with_files(&self) -> Options {
        Options { projection: Some(Arc::new(self.planning().beginning())), ..self.options() }
    }

    /// The files that show what is in the trail.
    pub(crate) fn planning(&self) -> Planning {
        Planning::of(&self.place, &self.home)
    }

    /// The project for services. With `begins`, the first write creates it, and it begins the files
    /// of the frugal dialect, as its tools always did.
    pub(crate) fn setup(&self, begins: bool) -> Setup {
        let name = || {
            let folder = self.root().file_name();
            let name = folder.map_or("project".into(), |name| name.to_string_lossy());
            Text::<128>::lossy(&name).to_string()
        };
        Setup {
            home: self.home.clone(),
            options: if begins { self.options_with_files() } else { self.options() },
            root: self.root().to_owned(),
            is_git: self.place.root_origin == "git toplevel",
            grace: self.settings.session_grace.value,
            create: begins.then(name),
        }
    }

    /// Opens the project.
    pub(crate) fn engine(&self) -> Result<Engine, Error> {
        Ok(Engine::open(&self.home, self.options())?)
    }

    /// The authenticated caller.
    pub(crate) fn client(&self, app: &App, engine: &Engine) -> Result<Client, Error> {
        // Nothing is done under a protection that somebody declared and that is not there.
        let deployment = &self.settings.deployment;
        if deployment.origin != Origin::Default {
            deployment::check(&self.home, deployment.value)?;
        }
        match self.settings.asker()? {
            Some(Asker::User(user)) => self.person(app, engine, &user),
            Some(Asker::Agent(name)) => {
                let credential = engine.agent(&name)?;
                app.authenticated.get_or_init(|| credential.clone());
                let client = engine.client(credential, Signing::Each);
                let client = client.in_session(self.session(engine)?);
                Ok(client.warning(&app.warnings))
            }
            None => {
                Err(Error::misuse(Rule::WhoAreYou, "say who you are: `--as NAME` or `--user NAME`"))
            }
        }
    }

    /// The session to act in, if one is named: by its id, or by a unique part of it.
    pub(crate) fn session(&self, engine: &Engine) -> Result<Option<WorkspaceId>, Error> {
        let Some(text) = self.settings.session.value.as_deref() else { return Ok(None) };
        let world = engine.world()?;
        let open = query::sessions(&world.state, engine.moment(&world.state));
        let naming = Naming::of(open.iter().map(|session| &session.workspace));
        let meant = naming.find(text)?.unwrap_or(text);
        let id = WorkspaceId::new(meant);
        id.map(Some).map_err(|error| Error::usage(format!("--session {text:?}: {error}")))
    }

    /// The caller as named by the settings, for questions that need no authentication.
    pub(crate) fn asker(&self) -> Result<Option<Principal>, Error> {
        Ok(self.settings.asker()?.map(|asker| match asker {
            Asker::User(user) => Principal::User(user),
            Asker::Agent(name) => Principal::Agent(name),
        }))
    }

    fn person(&self, app: &App, engine: &Engine, user: &UserId) -> Result<Client, Error> {
        match self.opened(app, user)? {
            Ok(credential) => {
                app.authenticated.get_or_init(|| credential.clone());
                Ok(engine.client(credential, Signing::Each).warning(&app.warnings))
            }
            Err(error) => Err(self.not_who_they_said(engine, user, error)),
        }
    }

    /// A person's key, opened with their passphrase.
    fn opened(&self, app: &App, user: &UserId) -> Result<Result<Credential, EngineError>, Error> {
        let keys = Keyring::of(&self.home);
        if !keys.has_user(user) {
            let message = format!("there is no key of user {user} on this machine");
            return Ok(Err(EngineError::Credential(message)));
        }
        Ok(keys.user(user, &app.passphrase(&format!("Passphrase of {user}: "))?))
    }

    /// The credential of the caller from a local key file, for work on a store that may be
    /// unreadable. Nobody in particular, if nobody was named.
    pub(crate) fn credential(&self, app: &App) -> Result<Option<Credential>, Error> {
        let found = match self.settings.asker()? {
            Some(Asker::User(user)) => Some(self.opened(app, &user)??),
            Some(Asker::Agent(name)) => Keyring::of(&self.home).agent(&name)?,
            None => None,
        };
        if let Some(credential) = &found {
            app.authenticated.get_or_init(|| credential.clone());
        }
        Ok(found)
    }

    /// A person who could not show to be that person. That is on record where it can be.
    pub(crate) fn not_who_they_said(
        &self,
        engine: &Engine,
        user: &UserId,
        error: EngineError,
    ) -> Error {
        if let EngineError::Credential(reason) = &error {
            // If nothing can be recorded now, the answer is no all the same.
            let entity = Principal::User(user.clone());
            if let Err(error) = engine.note_unauthentic(entity, reason, "command line") {
                tracing::warn!(%error, "a failed authentication is not on record");
            }
            let known = Keyring::of(&self.home).has_user(user);
            return if known {
                Error::from(error).hint("Try again with the right passphrase.")
            } else {
                error.into()
            };
        }
        error.into()
    }

    /// The project's root, for people to read.
    pub(crate) fn root(&self) -> &Path {
        &self.place.root
    }
}
