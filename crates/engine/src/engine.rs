//! The engine: a project opened by this process.

use althing_kernel::access::Viewer;
use althing_kernel::authentication::NoteAuthentic;
use althing_kernel::project;
use althing_kernel::query::{Answer as View, Query, answer_to};
use althing_kernel::runtime::{NoteUnauthentic, Rekey};
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Blob, Caller, Command, Content, Mint, Principal, PublicKey, Reply, Span, State,
    Timestamp, WorkspaceId,
};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{SqliteLog, SqliteReader, SqliteStore};
use althing_trail::{LogError, LogReader, SecretKey, Signature, Store};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::commit::background::Background;
use crate::commit::core::{Core, Job};
use crate::commit::queue::{Done, Ticket};
use crate::commit::shared::Shared;
use crate::commit::witness;
use crate::commit::writer::WriterHandle;
use crate::commit::writer_registry::{self, Registration};
use crate::error::EngineError;
use crate::identity::deployment;
use crate::identity::keyring::{Credential, Keyring};
use crate::mint::{RandomMint, project_id, random};
use crate::recovery::repair::Repaired;
use crate::recovery::{Recovery, Report};
use crate::snapshot;
use crate::snapshot::world::{World, as_of};
use crate::store::blobs::Blobs;
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
    /// Keeps derived files in step with the trail.
    pub follower: Option<Arc<dyn Follower>>,
}

/// Keeps something derived, such as files of another tool, in step with the trail.
pub trait Follower: Send + Sync {
    /// Called when something may have been appended. Its errors do not fail the command.
    fn follow(&self, engine: &Engine);
}

impl Default for Options {
    fn default() -> Self {
        Options {
            clock: Arc::new(SystemClock),
            patience: Duration::from_secs(30),
            store_bytes_max: None,
            compact_after: None,
            follower: None,
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
}

/// A project, open for reading and writing. Clones share it; the last one closes it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

impl Engine {
    /// Creates a project in a state folder, if there is none. Returns whether it is new.
    pub fn create(home: &Home, name: &str, options: &Options) -> Result<bool, EngineError> {
        let name = Text::new(name).map_err(|error| EngineError::Invalid(error.to_string()))?;
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
        core.run_own(&*options.clock, Job { caller, command, proof: None }).map(|_| true)
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
        })))
    }

    /// The state folder.
    pub fn home(&self) -> &Home {
        &self.0.home
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
        Ok((as_of(&world.state, now)?, now))
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
        match answer_to(&as_of(&world.state, now)?, now, query, viewer) {
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
        Ok(Job { caller, command, proof: None })
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
            let message = format!("agent {name} is registered, but its key is not on this machine");
            return Err(EngineError::KeyMissing(message));
        }
        self.0.home.create()?;
        keys.agent_or_new(name)
    }

    /// A client that issues commands with a credential.
    pub fn client(&self, credential: Credential, signing: Signing) -> Client {
        let key = credential.key().public();
        let brought = BTreeSet::new();
        Client { engine: self.clone(), credential, key, session: None, signing, brought }
    }

    /// Takes over a trail that was signed with another key, on the record. Returns whether there
    /// was anything to take over.
    pub fn rekey(&self, reason: &str) -> Result<bool, EngineError> {
        let key = Keyring::of(&self.0.home).runtime_or_new()?;
        let reason = Text::new(reason).map_err(|error| EngineError::Invalid(error.to_string()))?;
        if reason.is_blank() {
            return Err(EngineError::Invalid("say why in the reason".to_owned()));
        }
        let mut log = self.0.store.writer().map_err(EngineError::Unavailable)?;
        witness::check(&self.0.home, &mut *log)?;
        let caller = Caller { principal: Principal::System, key: key.public(), session: None };
        let job = Job { caller, command: Command::RuntimeRekey(Rekey { reason }), proof: None };
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
    /// `mended` lists the entries that were repaired from a copy before.
    pub fn recover(&self, mended: &[Repaired]) -> Result<Report, EngineError> {
        let inner = &*self.0;
        let world = World::clone(&*self.world()?);
        let key = self.runtime_key()?;
        let mut log = inner.store.writer().map_err(EngineError::Unavailable)?;
        witness::check(&inner.home, &mut *log)?;
        let _registration = Registration::enter(&inner.home)?;
        let mut core = Core::new(log, key, Box::new(RandomMint::new()?), world);
        self.recovery().on_request(&mut core, mended)
    }

    /// Records that a caller failed to authenticate.
    pub fn note_unauthentic(
        &self,
        entity: Principal,
        reason: &str,
        door: &str,
    ) -> Result<(), EngineError> {
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
    fn execute(&self, job: Job) -> Result<Reply, EngineError> {
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

    /// Lets the follower catch up. [`Client::execute`] calls this by itself; callers of
    /// [`Client::submit`] call it once their commands are answered.
    pub fn follow(&self) {
        if let Some(follower) = &self.0.options.follower {
            follower.follow(self);
        }
    }

    /// The state that was published last, without looking for newer entries.
    pub(crate) fn published(&self) -> Arc<World> {
        self.0.shared.view()
    }

    /// The background work of this engine.
    pub(crate) fn background(&self) -> &Background {
        &self.0.background
    }

    /// Drops a writer whose log was replaced; the next command starts another.
    fn retire_if_replaced(&self, writer: &Arc<WriterHandle>, answer: &Result<Reply, EngineError>) {
        let replaced = answer.as_ref().is_err_and(EngineError::is_of_another_store);
        if replaced || writer.has_ended() {
            let mut current = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, writer)) {
                *current = None;
            }
        }
    }

    /// The writer; the first command starts it.
    fn writer(&self) -> Result<Arc<WriterHandle>, EngineError> {
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
        if !writers.crashed.is_empty() {
            self.recovery().after_crashes(&mut core)?;
        }
        match self.recovery().after_outages(&mut core, &writers) {
            // The outage is not over; the note of it stays.
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

/// Whether a client signs its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// Each command carries the caller's signature into the trail.
    Each,
    /// The caller is authenticated once, by this channel, and commands are not signed.
    Channel,
}

/// An authenticated caller who can issue commands.
#[derive(Clone)]
pub struct Client {
    engine: Engine,
    credential: Credential,
    key: PublicKey,
    session: Option<WorkspaceId>,
    signing: Signing,
    /// Content that the caller supplied as such, and not by its name.
    brought: BTreeSet<Blob>,
}

impl Client {
    /// Sets the session of the commands.
    #[must_use]
    pub fn in_session(self, session: Option<WorkspaceId>) -> Self {
        Client { session, ..self }
    }

    /// Adds content that the caller supplied and that is already stored.
    #[must_use]
    pub fn bringing(self, brought: BTreeSet<Blob>) -> Self {
        Client { brought, ..self }
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        self.credential.principal()
    }

    /// Fails unless the caller holds the key that the trail knows it by. The kernel checks this for
    /// commands; this is for actions that the runtime takes on a caller's request.
    pub(crate) fn check_key(&self) -> Result<(), EngineError> {
        let world = self.engine.world()?;
        let known = match self.principal() {
            Principal::Agent(name) => world.state.agent(name).map(|agent| agent.key),
            Principal::User(id) => world.state.user(id).map(|user| user.key),
            Principal::System => world.state.project().map(|project| project.runtime_key),
        };
        if known == Some(self.key) {
            return Ok(());
        }
        let (who, reason) = (self.principal().clone(), "it does not hold the key that is known");
        self.engine.note_unauthentic(who, reason, "prune")?;
        Err(EngineError::Credential(format!("{}: {reason}", self.principal())))
    }

    /// Issues a command and passes the answer to `done` once it is durable. `done` runs on the
    /// writer's thread and should only pass the answer on.
    pub fn submit(&self, command: Command, done: Done) -> Result<Ticket, EngineError> {
        let job = self.job(command)?;
        let writer = self.engine.writer()?;
        let (engine, own) = (Arc::downgrade(&self.engine.0), Arc::downgrade(&writer));
        let done: Done = Box::new(move |answer| {
            if let (Some(engine), Some(writer)) = (engine.upgrade(), own.upgrade()) {
                let engine = Engine(engine);
                engine.retire_if_replaced(&writer, &answer);
                engine.compact_in_background();
            }
            done(answer);
        });
        Ok(writer.submit(job, done))
    }

    fn job(&self, mut command: Command) -> Result<Job, EngineError> {
        self.engine.check_merged(&command)?;
        self.store_content(&mut command)?;
        let caller = Caller {
            principal: self.credential.principal().clone(),
            key: self.key,
            session: self.session.clone(),
        };
        let proof = match self.signing {
            Signing::Channel => None,
            Signing::Each => Some(self.sign(&caller, &command)?),
        };
        Ok(Job { caller, command, proof })
    }

    /// Stores the content of a command before an entry can refer to it. Content it refers to by
    /// name must exist.
    fn store_content(&self, command: &mut Command) -> Result<(), EngineError> {
        let blobs = Blobs::of(self.engine.home());
        for text in command.texts() {
            blobs.put(text.as_bytes())?;
        }
        command.each_content(&mut |content| {
            match content {
                Content::Text(text) => *content = Content::Blob(blobs.put(text.as_bytes())?),
                Content::Blob(blob) if blobs.has(blob)? => self.check_cites(blob)?,
                Content::Blob(blob) => {
                    return Err(EngineError::NotFound(format!("there is no content {blob} here")));
                }
            }
            Ok(())
        })
    }

    /// Fails if an agent names content that it may not read.
    fn check_cites(&self, blob: &Blob) -> Result<(), EngineError> {
        match self.principal() {
            Principal::Agent(name) if !self.brought.contains(blob) => {
                self.engine.check_cites(name, blob)
            }
            _ => Ok(()),
        }
    }

    fn sign(&self, caller: &Caller, command: &Command) -> Result<Signature, EngineError> {
        let view = self.engine.0.shared.view();
        let Some(project) = view.state.project() else {
            return Err(EngineError::Defect("a trail without a project".to_owned()));
        };
        Signature::make(self.credential.key(), &project.id, caller, command, random()?)
            .map_err(|error| EngineError::Defect(error.to_string()))
    }

    /// Issues a command and waits for its answer.
    pub fn execute(&self, command: Command) -> Result<Reply, EngineError> {
        self.engine.execute(self.job(command)?)
    }
}
