//! The engine: a project opened by this process.

pub(crate) mod client;
pub mod connections;
mod deadlines;

use althing_kernel::access::Viewer;
use althing_kernel::authentication::NoteAuthentic;
use althing_kernel::project;
use althing_kernel::query::{Answer as View, Query, answer_to};
use althing_kernel::runtime::{NoteUnauthentic, Rekey};
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Caller, Command, Door, Mint, Principal, Reply, Span, State, Timestamp,
};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{SqliteLog, SqliteReader, SqliteStore};
use althing_trail::{LogError, LogReader, SecretKey, Store};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::commit::background::Background;
use crate::commit::core::{Core, Job};
use crate::commit::shared::Shared;
use crate::commit::witness;
use crate::commit::writer::WriterHandle;
use crate::commit::writer_registry::{self, Registration};
use crate::engine::client::{Client, Signing};
use crate::engine::connections::LastLook;
use crate::error::EngineError;
use crate::identity::deployment;
use crate::identity::keyring::{Credential, Keyring};
use crate::mint::{RandomMint, project_id};
use crate::recovery::repair::Repaired;
use crate::recovery::{Recovery, Report};
use crate::screen::{self, Screening};
use crate::snapshot;
use crate::snapshot::world::World;
use crate::store::disk::Disk;
use crate::store::home::Home;

/// Options of an engine.
#[derive(Clone)]
pub struct Options {
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Longest time a command waits for its turn.
    pub patience: Duration,
    /// Largest size of the store, in bytes, if limited.
    pub store_bytes_max: Option<u64>,
    /// Age after which ended workspaces are archived automatically; never, if not set.
    pub compact_after: Option<Span>,
    /// How text that looks like a secret is treated.
    pub screening: Screening,
    /// A projection of the trail that is kept up to date.
    pub projection: Option<Arc<dyn Projection>>,
    /// The way in of callers, unless one of them comes through another.
    pub door: Option<Door>,
    /// Whether a process still runs, by the name of a connection that is no writer's: that of a program
    /// which calls hooks. Without this, such a program counts as running.
    pub is_program_running: Option<fn(&str) -> bool>,
}

/// A projection of the trail, such as files of another tool, that is kept up to date.
pub trait Projection: Send + Sync {
    /// Catches up with the trail. Called when something may have been appended; its errors do not
    /// fail the command.
    fn catch_up(&self, engine: &Engine);
}

impl Default for Options {
    fn default() -> Self {
        Options {
            clock: Arc::new(SystemClock),
            patience: Duration::from_secs(30),
            store_bytes_max: None,
            compact_after: None,
            screening: Screening::default(),
            projection: None,
            door: None,
            is_program_running: None,
        }
    }
}

struct Inner {
    home: Home,
    options: Options,
    store: Arc<dyn Store>,
    shared: Arc<Shared>,
    reader: Mutex<Option<Box<dyn LogReader>>>,
    /// Started by the first command, and again if the log was replaced.
    writer: Mutex<Option<Arc<WriterHandle>>>,
    snapshot_seq: u64,
    background: Background,
    last_look: LastLook,
}

/// A project, open for reading and writing. Clones share it; the last one closes it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// A project that may have been closed meanwhile.
pub(crate) struct WeakEngine(Weak<Inner>);

impl WeakEngine {
    /// The project, if it is still open.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(Engine)
    }
}

impl Engine {
    /// Creates a project in a state folder, if there is none. Returns whether it is new.
    pub fn create(home: &Home, name: &str, options: &Options) -> Result<bool, EngineError> {
        let name = Text::new(name).map_err(|error| EngineError::Invalid(error.to_string()))?;
        screen::check(options.screening, "name", name.as_str())?;
        match SqliteReader::open(home.store()).and_then(|mut log| log.position()) {
            Ok(0) => {}
            Ok(_) => return Ok(false),
            Err(error)
                if matches!(
                    error.kind,
                    LogErrorKind::Corrupt | LogErrorKind::Newer | LogErrorKind::Foreign
                ) =>
            {
                return Err(error.into());
            }
            // The store is missing, or a killed process left it half created: opening it for
            // writing repairs that, or returns the error.
            Err(error) => tracing::debug!(%error, "no store yet"),
        }
        witness::refuse_if_any(home)?;
        home.create()?;
        if let Some(folder) = home.store().parent() {
            std::fs::create_dir_all(folder).map_err(EngineError::file("create", folder))?;
        }
        let log = SqliteLog::create(home.store())?;
        let key = Keyring::of(home).runtime_or_new()?;
        let caller = Caller { principal: Principal::System, key: key.public(), session: None };
        let command = Command::ProjectCreate(project::Create { name, project: project_id()? });
        let mint = Box::new(RandomMint::new()?);
        let mut core = Core::new(Box::new(log), key, mint, World::default());
        // Check again once nobody else can append: of several processes that create it at once, one
        // does.
        core.hold_within(options.patience)?;
        core.catch_up()?;
        if core.world().seq() > 0 {
            core.release();
            return Ok(false);
        }
        core.run_own(&*options.clock, Job { caller, command, asked: None, door: None })
            .map(|_| true)
    }

    /// Opens a project for reading. The first command opens the store for writing.
    pub fn open(home: &Home, options: Options) -> Result<Self, EngineError> {
        let (path, bytes_max) = (home.store().to_owned(), options.store_bytes_max);
        let opened = Engine::with_store(home, options, Arc::new(SqliteStore { path, bytes_max }));
        if let Err(EngineError::Store(error)) = &opened
            && error.kind == LogErrorKind::Missing
        {
            // If a head is remembered, the store was deleted; that is another error than none yet.
            witness::refuse_if_any(home)?;
        }
        opened
    }

    /// Opens a project whose trail is in any store.
    pub fn with_store(
        home: &Home,
        options: Options,
        store: Arc<dyn Store>,
    ) -> Result<Self, EngineError> {
        let mut reader = store.reader()?;
        let generation = reader.generation()?;
        let mut world = snapshot::load(home, &mut *reader, &|_| true)?;
        let mut snapshot_seq = world.seq();
        if let Err(error) = world.catch_up(&mut *reader) {
            if snapshot_seq == 0 {
                return Err(error);
            }
            // The trail does not continue the snapshot. The trail counts.
            snapshot_seq = 0;
            world = World::default();
            world.catch_up(&mut *reader)?;
        }
        if world.state.project().is_none() {
            let message = format!("{} has no project yet", home.root().display());
            return Err(LogError::new(LogErrorKind::Missing, message).into());
        }
        Ok(Engine(Arc::new(Inner {
            home: home.clone(),
            options,
            store,
            shared: Arc::new(Shared::new(world, generation)),
            reader: Mutex::new(Some(reader)),
            writer: Mutex::new(None),
            snapshot_seq,
            background: Background::default(),
            last_look: LastLook::default(),
        })))
    }

    /// The state folder.
    pub fn home(&self) -> &Home {
        &self.0.home
    }

    /// A reference that does not keep the project open.
    pub(crate) fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// Options of this engine.
    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    /// The current time of the engine's clock.
    pub fn now(&self) -> Timestamp {
        self.0.options.clock.now()
    }

    /// The state as of the last entry that any process appended. Waits for no writer.
    pub fn world(&self) -> Result<Arc<World>, EngineError> {
        let shared = &self.0.shared;
        let mut opened = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let in_place = opened.as_mut().map_or(Ok(()), |reader| reader.in_place());
        let moved = match in_place {
            Err(error) if error.kind == LogErrorKind::Replaced => true,
            other => other.map(|()| opened.is_none())?,
        };
        if moved {
            // Close the old files before opening the new ones.
            *opened = None;
            if let Ok(mut writer) = self.0.writer.try_lock() {
                *writer = None;
            }
        }
        let mut reader = match opened.take() {
            Some(reader) => reader,
            None => self.0.store.reader()?,
        };
        let generation = reader.generation()?;
        let replaced = moved || shared.generation() != generation;
        if replaced && !moved {
            // Replaced by another trail, perhaps in another file.
            drop(reader);
            reader = self.0.store.reader()?;
        }
        let reader = opened.insert(reader);
        let known = shared.view();
        let end = reader.position()?;
        let follows = !replaced && known.is_of(&mut **reader)?;
        if follows && end == known.seq() {
            return Ok(known);
        }
        if !follows {
            let mut world = snapshot::load(&self.0.home, &mut **reader, &|_| true)?;
            world.catch_up(&mut **reader)?;
            shared.replace(world, generation);
            return Ok(shared.view());
        }
        let mut world = World::clone(&known);
        world.catch_up(&mut **reader)?;
        shared.publish(world, generation);
        Ok(shared.view())
    }

    /// The current state, including what has fallen due since the last entry, and its time.
    pub fn present(&self) -> Result<(State, Timestamp), EngineError> {
        let world = self.world()?;
        let now = self.moment(&world.state);
        Ok((self.state_at(&world.state, now)?, now))
    }

    /// The current state as the viewer may see it, and its time. Fails if the viewer's name is bound
    /// to a key that is not on this machine.
    pub fn present_as(&self, viewer: Viewer<'_>) -> Result<(State, Timestamp), EngineError> {
        self.check_viewer(&self.world()?.state, viewer)?;
        let (state, now) = self.present()?;
        Ok(match viewer {
            Some(viewer) => (state.as_seen_by(viewer), now),
            None => (state, now),
        })
    }

    /// Answers a query of the current state.
    pub fn ask(&self, query: &Query) -> Result<View, EngineError> {
        self.ask_as(query, None)
    }

    /// Answers a query of the current state with what the viewer may see.
    pub fn ask_as(&self, query: &Query, viewer: Viewer<'_>) -> Result<View, EngineError> {
        let world = self.world()?;
        self.check_viewer(&world.state, viewer)?;
        let now = self.moment(&world.state);
        match answer_to(&self.state_at(&world.state, now)?, now, query, viewer) {
            View::Missing(what) => Err(EngineError::NotFound(what)),
            View::Checkpoint(made) => {
                self.check_shown(&world.state, &made.checkpoint)?;
                Ok(View::Checkpoint(made))
            }
            found => Ok(found),
        }
    }

    /// Executes a command of the runtime itself.
    pub(crate) fn execute_own(&self, command: Command) -> Result<Reply, EngineError> {
        self.execute(self.own_job(command)?)
    }

    /// A job of the runtime itself.
    fn own_job(&self, command: Command) -> Result<Job, EngineError> {
        let key = self.runtime_key()?.public();
        let caller = Caller { principal: Principal::System, key, session: None };
        Ok(Job { caller, command, asked: None, door: None })
    }

    /// The current time, or the trail's clock if that is ahead.
    pub fn moment(&self, state: &State) -> Timestamp {
        self.now().max(state.clock())
    }

    /// Opens another handle for reading the log.
    pub fn reader(&self) -> Result<Box<dyn LogReader>, EngineError> {
        Ok(self.0.store.reader()?)
    }

    /// The credential of an agent; its key is made on first use. Fails if the name is registered
    /// with a key that is not on this machine.
    pub fn agent(&self, name: &AgentName) -> Result<Credential, EngineError> {
        let keys = Keyring::of(&self.0.home);
        // A key is made before its name is registered, so an agent that is registered by now had
        // its key by the time it is looked for.
        let registered = self.world()?.state.agent(name).is_some();
        if let Some(known) = keys.agent(name)? {
            return Ok(known);
        }
        if registered {
            let reason = "its key is not on this machine";
            // If it cannot be recorded now, the answer is no all the same.
            let entity = Principal::Agent(name.clone());
            if let Err(error) = self.note_unauthentic(entity, reason, "client") {
                tracing::warn!(%error, "a failed authentication is not on record");
            }
            let message = format!("agent {name} is registered, but {reason}");
            return Err(EngineError::KeyMissing(message));
        }
        self.check_new_name(&Principal::Agent(name.clone()))?;
        self.0.home.create()?;
        keys.agent_or_new(name)
    }

    /// Refuses a new name that looks like a secret, before a key is made for it. There is nobody to
    /// record the refusal of.
    pub fn check_new_name(&self, who: &Principal) -> Result<(), EngineError> {
        let (field, name) = match who {
            Principal::Agent(name) => ("agent", name.as_str()),
            Principal::User(id) => ("user", id.as_str()),
            Principal::System => return Ok(()),
        };
        screen::refuse(self.0.options.screening, screen::name(field, name))
    }

    /// A client that issues commands with a credential.
    pub fn client(&self, credential: Credential, signing: Signing) -> Client {
        Client::new(self.clone(), credential, signing)
    }

    /// Takes over a trail that was signed with another key, on the record. Returns whether there
    /// was anything to take over.
    pub fn rekey(&self, reason: &str) -> Result<bool, EngineError> {
        let key = Keyring::of(&self.0.home).runtime_or_new()?;
        let reason = Text::new(reason).map_err(|error| EngineError::Invalid(error.to_string()))?;
        if reason.is_blank() {
            return Err(EngineError::Invalid("say why in the reason".to_owned()));
        }
        screen::check(self.0.options.screening, "reason", reason.as_str())?;
        let mut log = self.0.store.writer().map_err(EngineError::Unavailable)?;
        witness::check(&self.0.home, &mut *log)?;
        let caller = Caller { principal: Principal::System, key: key.public(), session: None };
        let job = Job {
            caller,
            command: Command::RuntimeRekey(Rekey { reason }),
            asked: None,
            door: None,
        };
        let world = World::clone(&*self.world()?);
        let own = Some(key.public());
        let mut core = Core::new(log, key, Box::new(RandomMint::new()?), world);
        core.hold_within(self.0.options.patience)?;
        core.catch_up()?;
        let needed = core.world().state.project().map(|project| project.runtime_key) != own;
        core.run_own(&*self.0.options.clock, job).map(|_| needed)
    }

    fn recovery(&self) -> Recovery<'_> {
        let Inner { home, options, store, .. } = &*self.0;
        let Options { clock, patience, .. } = options;
        Recovery { home, clock: &**clock, patience: *patience, store: &**store }
    }

    /// Examines the project and returns what recovery would do. Changes nothing.
    pub fn recovery_plan(&self) -> Result<Report, EngineError> {
        self.recovery().preview()
    }

    /// Examines the whole project, quarantines damaged files and completes what was left half done.
    /// `repaired` lists the entries that were repaired from a copy before.
    pub fn recover(&self, repaired: &[Repaired]) -> Result<Report, EngineError> {
        let inner = &*self.0;
        let world = World::clone(&*self.world()?);
        let key = self.runtime_key()?;
        let mut log = inner.store.writer().map_err(EngineError::Unavailable)?;
        witness::check(&inner.home, &mut *log)?;
        let _registration = Registration::enter(&inner.home)?;
        let writers = writer_registry::list(&inner.home)?;
        let lost = self.lost_among(&world.state, &writers, self.now());
        let mut core = Core::new(log, key, Box::new(RandomMint::new()?), world);
        let report = self.recovery().on_request(&mut core, repaired)?;
        self.recovery().after_lost_connections(&mut core, lost)?;
        Ok(report)
    }

    /// Records that a door could not tell somebody to be who they said, unless the name itself looks
    /// like a secret.
    pub fn note_unauthentic(
        &self,
        entity: Principal,
        reason: &str,
        door: &str,
    ) -> Result<(), EngineError> {
        if screen::is_leaking_name(&entity) {
            return Ok(());
        }
        let (reason, door) = (Text::lossy(reason), Text::lossy(door));
        let command = Command::RuntimeUnauthentic(NoteUnauthentic { entity, reason, door });
        self.execute_own(command).map(|_| ())
    }

    /// Records a successful authentication that no command followed.
    pub fn note_authentic(&self, credential: &Credential) -> Result<(), EngineError> {
        let (entity, key) = (credential.principal().clone(), credential.key().public());
        self.execute_own(Command::RuntimeAuthentic(NoteAuthentic { entity, key })).map(|_| ())
    }

    /// Has the writer carry a job out, and waits for the answer.
    pub(crate) fn execute(&self, job: Job) -> Result<Reply, EngineError> {
        let (send, receive) = mpsc::sync_channel(1);
        let done = Box::new(move |answer| {
            // Sending fails only if the caller's thread is gone.
            let _ = send.send(answer);
        });
        let writer = self.writer()?;
        let ticket = writer.submit_and_help(job, done);
        let patience = self.0.options.patience;
        let lost = || EngineError::Defect("the writer ended without an answer".to_owned());
        let answer = match receive.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) if ticket.withdraw() => {
                Err(EngineError::TimedOut(patience.as_secs()))
            }
            Err(_) => receive.recv().unwrap_or_else(|_| Err(lost())),
        };
        self.retire_if_replaced(&writer, &answer);
        self.compact_in_background();
        self.follow();
        answer
    }

    /// Lets the projection catch up. [`Client::execute`] calls this by itself; callers of
    /// [`Client::submit`] call it once their commands are answered.
    pub fn follow(&self) {
        if let Some(projection) = &self.0.options.projection {
            projection.catch_up(self);
        }
    }

    /// The state that was published last, without looking for newer entries.
    pub(crate) fn published(&self) -> Arc<World> {
        self.0.shared.view()
    }

    /// The last look at who is connected.
    pub(crate) fn last_look(&self) -> &LastLook {
        &self.0.last_look
    }

    /// The writer, if it was started.
    pub(crate) fn running_writer(&self) -> Option<Arc<WriterHandle>> {
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The background work of this engine.
    pub(crate) fn background(&self) -> &Background {
        &self.0.background
    }

    /// Drops a writer whose log was replaced; the next command starts another.
    pub(crate) fn retire_if_replaced(
        &self,
        writer: &Arc<WriterHandle>,
        answer: &Result<Reply, EngineError>,
    ) {
        let replaced = answer.as_ref().is_err_and(EngineError::is_of_another_store);
        if replaced || writer.has_ended() {
            let mut current = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, writer)) {
                *current = None;
            }
        }
    }

    /// The writer; the first command starts it.
    pub(crate) fn writer(&self) -> Result<Arc<WriterHandle>, EngineError> {
        let inner = &*self.0;
        let mut current = inner.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*current {
            return Ok(writer.clone());
        }
        let world = World::clone(&*self.world()?);
        let key = self.runtime_key()?;
        // Opening may fail now and work later; then the next command tries again.
        let mut log = inner.store.writer().map_err(EngineError::Unavailable)?;
        witness::check(&inner.home, &mut *log)?;
        let registration = Registration::enter(&inner.home)?;
        let mint: Box<dyn Mint + Send> = Box::new(RandomMint::new()?);
        let mechanisms = deployment::in_place(&inner.home);
        let core = Core::new(log, key, mint, world).with_mechanisms(mechanisms);
        let mut core = core.within(Box::new(Disk::of(&inner.home)));
        let writers = writer_registry::list(&inner.home)?;
        let before = core.world().seq();
        let lost = self.lost_among(&core.world().state, &writers, self.now());
        if !writers.crashed.is_empty() {
            self.recovery().after_crashes(&mut core)?;
        }
        match self.recovery().after_outages(&mut core, &writers) {
            // The outage is not over; the note of it stays.
            Ok(()) | Err(EngineError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
        match self.recovery().after_lost_connections(&mut core, lost) {
            // They are found again as soon as something can be written.
            Ok(()) | Err(EngineError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
        if core.world().seq() != before {
            inner.shared.publish(core.world().clone(), inner.shared.generation());
        }
        let (shared, home) = (inner.shared.clone(), inner.home.clone());
        let clock = inner.options.clock.clone();
        let writer =
            WriterHandle::start(shared, core, home, clock, inner.snapshot_seq, registration)
                .map_err(|error| {
                    EngineError::Defect(format!("no thread for the writer: {error}"))
                })?;
        Ok(current.insert(Arc::new(writer)).clone())
    }

    /// The runtime's key, if the trail is signed with it.
    fn runtime_key(&self) -> Result<SecretKey, EngineError> {
        let world = self.world()?;
        let expected = world.state.project().map(|project| project.runtime_key);
        match Keyring::of(&self.0.home).runtime()? {
            Some(key) if Some(key.public()) == expected => Ok(key),
            Some(_) => Err(EngineError::RuntimeKey(
                "the runtime key in the state folder is not the one this trail is signed with"
                    .to_owned(),
            )),
            None => Err(EngineError::RuntimeKey(
                "the state folder has no runtime key, so nothing can be added to the trail"
                    .to_owned(),
            )),
        }
    }
}
