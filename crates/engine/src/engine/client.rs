//! Clients: authenticated callers who issue commands. Every command of a door passes here, so this
//! is where its text is looked through for secrets and its content is stored.

use althing_kernel::envelope::PayloadArg;
use althing_kernel::refusal::{Details, OutsideKind, RecordRefusal, SecretFound};
use althing_kernel::text::Text;
use althing_kernel::{
    Blob, Caller, Command, Content, Door, Principal, PublicKey, Refusal, Reply, Rule, WorkspaceId,
};
use althing_trail::{Asked, Request, Signature};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::commit::core::Job;
use crate::commit::queue::{Done, Ticket};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::identity::keyring::Credential;
use crate::mint::random;
use crate::screen::{self, Screening};
use crate::snapshot::world;
use crate::store::blobs::Blobs;

/// Most bytes of arguments of one command. An entry carries them and may repeat them, and has to stay
/// below the longest line that is read.
const REQUEST_BYTES_MAX: usize = 3 << 19;

/// Whether a client signs its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// Each command carries the caller's signature into the trail.
    Each,
    /// The caller is authenticated once, by this channel, and commands are not signed.
    Channel,
}

/// Somebody at a door: an authenticated caller who can issue commands.
#[derive(Clone)]
pub struct Client {
    engine: Engine,
    credential: Credential,
    key: PublicKey,
    session: Option<WorkspaceId>,
    signing: Signing,
    door: Option<Door>,
    /// Content the caller gave as such, and not by its name.
    brought: BTreeSet<Blob>,
    warnings: Warnings,
}

/// Warnings about commands that were carried out all the same. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Takes the warnings there are, oldest first.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, warning: String) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.contains(&warning) && list.len() < WARNINGS_MAX {
            list.push(warning);
        }
    }
}

/// The most warnings that are kept until somebody takes them.
const WARNINGS_MAX: usize = 64;

impl Client {
    pub(crate) fn new(engine: Engine, credential: Credential, signing: Signing) -> Self {
        let key = credential.key().public();
        let (brought, warnings, door) =
            (BTreeSet::new(), Warnings::default(), engine.options().door);
        Client { engine, credential, key, session: None, signing, door, brought, warnings }
    }

    /// Returns this client with the door that its requests come through.
    #[must_use]
    pub fn through(self, door: Door) -> Self {
        Client { door: Some(door), ..self }
    }

    /// The same caller, whose warnings go to this list.
    #[must_use]
    pub fn warning(self, warnings: &Warnings) -> Self {
        Client { warnings: warnings.clone(), ..self }
    }

    /// The same caller, speaking in a session.
    #[must_use]
    pub fn in_session(self, session: Option<WorkspaceId>) -> Self {
        Client { session, ..self }
    }

    /// The same caller, who brought this content along: it was stored by its own door.
    #[must_use]
    pub fn bringing(self, brought: BTreeSet<Blob>) -> Self {
        Client { brought, ..self }
    }

    /// The caller's name.
    pub fn principal(&self) -> &Principal {
        self.credential.principal()
    }

    /// Whether it holds the key that the trail knows it by. Commands are asked this anyway; this is
    /// for what the runtime does on somebody's word.
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

    /// Issues a command and hands the answer to `done` once it is durable. `done` runs on the
    /// writer's thread and should only pass the answer on.
    pub fn submit(&self, command: Command, done: Done) -> Result<Ticket, EngineError> {
        let (command, request, found) = self.screened(command)?;
        let job = self.job(command, request)?;
        let writer = self.engine.writer()?;
        let (engine, own) = (self.engine.downgrade(), Arc::downgrade(&writer));
        let done: Done = Box::new(move |answer| {
            if let (Some(engine), Some(writer)) = (engine.upgrade(), own.upgrade()) {
                engine.retire_if_replaced(&writer, &answer);
                engine.compact_in_background();
            }
            done(answer.map_err(|error| with_findings(error, found)));
        });
        Ok(writer.submit(job, done))
    }

    /// Looks through a command for secrets. One that must not be stored is replaced by the record
    /// of its refusal, which is answered with that refusal.
    fn screened(
        &self,
        mut command: Command,
    ) -> Result<(Command, Request, Vec<SecretFound>), EngineError> {
        self.check_session(&command)?;
        self.check_named(&mut command)?;
        let request = request(&command)?;
        let unknown = match self.principal() {
            Principal::Agent(name) if self.engine.published().state.agent(name).is_none() => {
                Some(name)
            }
            _ => None,
        };
        let named = unknown.map(|name| screen::name("agent", name.as_str())).unwrap_or_default();
        let blobs = Blobs::of(self.engine.home());
        let mut found = screen::command(&command, request.args.get(), &blobs)?;
        found.extend(named.iter().cloned());
        let Some(first) = found.first() else { return Ok((command, request, found)) };
        let message = screen::describe(first);
        match self.engine.options().screening {
            Screening::Warn => {
                self.warnings.add(message);
                Ok((command, request, Vec::new()))
            }
            // An entry would be made in that name.
            Screening::Strict if !named.is_empty() => {
                let mut refusal = Refusal::denied(Rule::NoSecrets, message);
                refusal.details = Details::Findings(found);
                Err(refusal.into())
            }
            Screening::Strict => {
                let (name, kind, rule) = match &command {
                    Command::RefusalRecord(own) if !screen::leaks(own.command.as_str()) => {
                        (own.command.clone(), own.kind, own.rule)
                    }
                    other => (Text::lossy(other.name()), OutsideKind::Denied, Rule::NoSecrets),
                };
                let message = Text::lossy(&message);
                let record = RecordRefusal { command: name, kind, message, rule };
                let record = Command::RefusalRecord(record);
                let request = self::request(&record)?;
                Ok((record, request, found))
            }
        }
    }

    /// Refuses a command in a session whose name looks like a secret. The entry names no session.
    fn check_session(&self, command: &Command) -> Result<(), EngineError> {
        let Some(session) = &self.session else { return Ok(()) };
        let found = screen::name("session", session.as_str());
        let Some(first) = found.first() else { return Ok(()) };
        let message = screen::describe(first);
        match self.engine.options().screening {
            Screening::Warn => {
                self.warnings.add(message);
                Ok(())
            }
            Screening::Strict => {
                let name = match command {
                    Command::RefusalRecord(own) => own.command.as_str(),
                    other => other.name(),
                };
                let own = self.clone().in_session(None);
                let error = own.refuse(name, OutsideKind::Denied, Rule::NoSecrets, &message);
                Err(with_findings(error, found))
            }
        }
    }

    fn job(&self, mut command: Command, mut request: Request) -> Result<Job, EngineError> {
        self.engine.check_merged(&command)?;
        self.give_directive(&mut command)?;
        if self.store_content(&mut command)? {
            request = self::request(&command)?;
        }
        let caller = self.caller();
        let bytes = request.args.get().len();
        if bytes <= REQUEST_BYTES_MAX {
            let asked = self.asked(&caller, request)?;
            let door = self.door;
            return Ok(Job { caller, command, asked: Some(asked), door });
        }
        let message = format!(
            "a command may have {REQUEST_BYTES_MAX} bytes of arguments, this one has {bytes}"
        );
        let refusal = Command::RefusalRecord(RecordRefusal {
            command: Text::lossy(command.name()),
            kind: OutsideKind::Denied,
            message: Text::lossy(&message),
            rule: Rule::Limits,
        });
        let asked = self.asked(&caller, self::request(&refusal)?)?;
        Ok(Job { caller, command: refusal, asked: Some(asked), door: self.door })
    }

    /// The request as its entry carries it.
    fn asked(&self, caller: &Caller, request: Request) -> Result<Asked, EngineError> {
        match self.signing {
            Signing::Channel => Ok(Asked::unsigned(caller, request)),
            Signing::Each => self.sign(caller, request).map(Asked::Signed),
        }
    }

    /// Adds the text of a task that was planned outside a run to the command that binds a workspace
    /// to it. The description of other tasks is stored already.
    fn give_directive(&self, command: &mut Command) -> Result<(), EngineError> {
        let (task, directive) = match command {
            Command::TaskAssign(args) => (Some(&args.task), &mut args.directive),
            Command::WorkspaceCreate(args) => (args.task.as_ref(), &mut args.directive),
            // Any other command binds no workspace to a task.
            _ => return Ok(()),
        };
        let Some(task) = task.filter(|_| directive.is_none()) else { return Ok(()) };
        let world = self.engine.world()?;
        let plain = world
            .state
            .task_record(task)
            .filter(|record| record.task().is_none_or(|part| part.description.is_none()));
        *directive = plain.map(|record| PayloadArg {
            attachments: Vec::new(),
            content: Content::Text(record.text.as_str().into()),
            format: None,
        });
        Ok(())
    }

    /// Stores the text a command brings along, before anything can cite it, and puts the name of the
    /// stored content in its place. Returns whether there was any.
    fn store_content(&self, command: &mut Command) -> Result<bool, EngineError> {
        let blobs = Blobs::of(self.engine.home());
        for text in command.texts() {
            blobs.put(text.as_bytes())?;
        }
        let mut is_changed = false;
        command.each_content(&mut |content| {
            if let Content::Text(text) = content {
                *content = Content::Blob(blobs.put(text.as_bytes())?);
                is_changed = true;
            }
            Ok::<(), EngineError>(())
        })?;
        Ok(is_changed)
    }

    /// Refuses a command that names content which is not here, or which is somebody else's.
    fn check_named(&self, command: &mut Command) -> Result<(), EngineError> {
        let (name, blobs) = (command.name(), Blobs::of(self.engine.home()));
        command.each_content(&mut |content| match content {
            Content::Text(_) => Ok(()),
            Content::Blob(blob) if blobs.has(blob)? => self.check_cites(blob),
            Content::Blob(blob) => {
                let message = format!("there is no content {blob} here");
                Err(self.refuse(name, OutsideKind::NotFound, Rule::NotFound, &message))
            }
        })
    }

    /// Content one only knows the name of is one's own if one may read it.
    fn check_cites(&self, blob: &Blob) -> Result<(), EngineError> {
        match self.principal() {
            Principal::Agent(name) if !self.brought.contains(blob) => {
                self.engine.check_cites(name, blob)
            }
            _ => Ok(()),
        }
    }

    fn sign(&self, caller: &Caller, request: Request) -> Result<Signature, EngineError> {
        let view = self.engine.published();
        let Some(project) = view.state.project() else {
            return Err(EngineError::Defect("a trail without a project".to_owned()));
        };
        Signature::make(self.credential.key(), &project.id, caller, request, random()?)
            .map_err(|error| EngineError::Defect(error.to_string()))
    }

    /// The reply to a command that would record nothing as things stand; `None` if it has to be
    /// decided by the writer. Neither signs nor waits, so it suits requests that mostly change nothing.
    pub fn settled(&self, command: &Command) -> Result<Option<Reply>, EngineError> {
        let world = self.engine.world()?;
        let now = self.engine.moment(&world.state);
        let caller = self.caller();
        world::settled(&world.state, now, &caller, command)
    }

    /// The caller, as the kernel knows it.
    fn caller(&self) -> Caller {
        Caller {
            principal: self.credential.principal().clone(),
            key: self.key,
            session: self.session.clone(),
        }
    }

    /// Issues a command and waits for its answer.
    pub fn execute(&self, command: Command) -> Result<Reply, EngineError> {
        let (command, request, found) = self.screened(command)?;
        let answer = self.engine.execute(self.job(command, request)?);
        answer.map_err(|error| with_findings(error, found))
    }

    /// Refuses a command that holds a secret, on record, before anything else is done for it. Nothing
    /// else of the command is decided.
    pub fn check_text(&self, command: Command) -> Result<(), EngineError> {
        let (record, request, found) = self.screened(command)?;
        if found.is_empty() {
            return Ok(());
        }
        let answer = self.engine.execute(self.job(record, request)?);
        answer.map(|_| ()).map_err(|error| with_findings(error, found))
    }

    /// Refuses a text of a command that holds a secret, on record, although the command does not
    /// store the text.
    pub fn screen_text(&self, command: &str, field: &str, text: &str) -> Result<(), EngineError> {
        let found = screen::text(field, text, &Blobs::of(self.engine.home()));
        let Some(first) = found.first() else { return Ok(()) };
        let message = screen::describe(first);
        match self.engine.options().screening {
            Screening::Warn => {
                self.warnings.add(message);
                Ok(())
            }
            Screening::Strict => {
                let error = self.refuse(command, OutsideKind::Denied, Rule::NoSecrets, &message);
                Err(with_findings(error, found))
            }
        }
    }

    /// Records that a command of this caller is refused for a reason that the kernel cannot see,
    /// and returns the refusal. If it cannot be recorded, returns why.
    pub fn refuse(
        &self,
        command: &str,
        kind: OutsideKind,
        rule: Rule,
        message: &str,
    ) -> EngineError {
        let (command, message) = (Text::lossy(command), Text::lossy(message));
        match self.execute(Command::RefusalRecord(RecordRefusal { command, kind, message, rule })) {
            Err(error) => error,
            Ok(_) => EngineError::Defect("a refusal was recorded and not answered".to_owned()),
        }
    }
}

/// The request for a command, as its entry carries it.
fn request(command: &Command) -> Result<Request, EngineError> {
    Request::of(command).map_err(|error| EngineError::Defect(error.to_string()))
}

/// Adds the places that look like secrets to the refusal that rests on them.
fn with_findings(error: EngineError, found: Vec<SecretFound>) -> EngineError {
    match error {
        EngineError::Refused(mut refusal) if !found.is_empty() => {
            refusal.details = Details::Findings(found);
            EngineError::Refused(refusal)
        }
        other => other,
    }
}
