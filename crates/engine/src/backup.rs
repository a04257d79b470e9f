//! Copies of a trail: making one while work goes on, and putting one back.
//!
//! Putting a copy back is a change like any other: it waits for its turn, happens as a whole, and
//! is on the record. What was there before is set aside. Fencing epochs go on from the higher of
//! the two trails, so nobody who held something under the old one is taken for a holder now.
//! Content travels along. An entry is appended only after what it names is stored, so content is
//! copied after the trail when a copy is made, and before it when one is put back.

use althing_kernel::archive;
use althing_kernel::runtime::NoteRestored;
use althing_kernel::{Blob, Caller, Command, Principal, ProjectId, State};
use althing_trail::archive::{Archives, inspect};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{Reserved, SqliteLog, SqliteReader, beside};
use althing_trail::verify::{Checked, Options as VerifyOptions, Verifier};
use althing_trail::{LogError, LogReader as _, SecretKey};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::archives::{self, Turn};
use crate::aside::{Aside, Workbench};
use crate::blobs::Blobs;
use crate::core::{Core, Job};
use crate::engine::Options;
use crate::error::EngineError;
use crate::home::{Home, owner_only, remove_leftover, replace_synced, sync_folder_of};
use crate::inventory::{Inventory, note_named};
use crate::keyring::{self, Credential, Keyring};
use crate::mint::RandomMint;
use crate::transfer::damaged;
use crate::verify::check_record;
use crate::world::{READ_BYTES, World};
use crate::{floor, snapshot, witness};

/// What a backup holds.
#[derive(Debug)]
pub struct Backup {
    /// The folder it was written to.
    pub folder: PathBuf,
    /// How many entries it holds.
    pub entries: u64,
    /// What it holds of content, and what it could not take in.
    pub blobs: Inventory,
    /// Whether the keys are part of it.
    pub keys: bool,
}

/// What putting a backup back came to.
#[derive(Debug)]
pub struct Restored {
    /// What was verified.
    pub checked: Checked,
    /// How many entries there were before.
    pub entries_before: u64,
    /// Where what was there before is now.
    pub aside: Option<PathBuf>,
    /// What came back of content, and what did not.
    pub blobs: Inventory,
    /// Whether the trail says so. It cannot where its key is not at hand.
    pub recorded: bool,
}

const BACKUP_STORE: &str = "trail.db";
const BACKUP_HEAD: &str = "head";
const BACKUP_KEYS: &str = "keys";
const BACKUP_BLOBS: &str = "blobs";

/// How long a backup waits for whoever is at work on the archives.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many epochs are left out where it is not known how many were given out: more than any
/// trail gives out between two heads that are remembered.
const EPOCHS_UNKNOWN: u64 = 1_000_000;
/// More entries than any trail has.
const ENTRIES_PLAUSIBLE: u64 = 1 << 40;

/// Copies the trail and all content to a new folder while writing goes on, and verifies the copy.
/// Content that is damaged or missing is told in the result; it does not keep the rest from being
/// copied. `progress` hears how far it is with the trail, then with the content.
pub fn backup(
    home: &Home,
    folder: &Path,
    with_keys: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Backup, EngineError> {
    let source = SqliteReader::open(home.store())?;
    if folder.exists() {
        let message = format!("{} is there already; name a new folder", folder.display());
        return Err(EngineError::Invalid(message));
    }
    std::fs::create_dir(folder).map_err(EngineError::file("create", folder))?;
    let copied = copy_into(home, &source, folder, with_keys, progress);
    if copied.is_err() {
        // A half copy would only be taken for a whole one. This folder is ours: it was new.
        remove_leftover(folder);
    }
    copied
}

fn copy_into(
    home: &Home,
    source: &SqliteReader,
    folder: &Path,
    with_keys: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Backup, EngineError> {
    let store = folder.join(BACKUP_STORE);
    // Nobody deletes archives between the copy of the store and that of its archives.
    let _turn = Turn::take(home, PATIENCE)?;
    source.copy_to(&store, progress)?;
    sync_file(&store)?;
    let mut copy = SqliteReader::open(&store)?;
    archives::carry(&home.archives(), &Archives::beside(&store), &mut copy)?;
    let (checked, named) = check_copy(&mut copy, &store)?;
    let blobs = Blobs::in_folder(folder.join(BACKUP_BLOBS));
    let blobs = blobs.carry_from(&Blobs::of(home), &named, progress)?;
    let head = copy.head_of(checked.entries)?.map(|(_, head)| head).unwrap_or_default();
    replace_synced(&folder.join(BACKUP_HEAD), head.as_bytes())?;
    if with_keys {
        let keys = folder.join(BACKUP_KEYS);
        std::fs::create_dir(&keys).map_err(EngineError::file("create", &keys))?;
        copy_keys(&home.keys(), &keys, None)?;
    }
    sync_folder_of(&store)?;
    sync_folder_of(folder)?;
    Ok(Backup { folder: folder.to_owned(), entries: checked.entries, blobs, keys: with_keys })
}

fn sync_file(path: &Path) -> Result<(), EngineError> {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.sync_all()).map_err(EngineError::file("sync", path))
}

/// Verifies a copy, and gathers what content its entries name.
fn check_copy(
    copy: &mut SqliteReader,
    store: &Path,
) -> Result<(Checked, BTreeSet<Blob>), EngineError> {
    let archives = Archives::beside(store);
    let found = inspect(copy, &archives)?;
    let base = floor::base(&archives, copy)?;
    let mut verifier = Verifier::with_base(VerifyOptions::default(), base);
    let mut named = BTreeSet::new();
    loop {
        let commits = copy.tail(verifier.chain().seq(), READ_BYTES)?;
        if commits.is_empty() {
            check_record(verifier.state(), &found)?;
            let checked = verifier.finish().map_err(|finding| damaged(&finding))?;
            return Ok((checked, named));
        }
        for commit in &commits {
            verifier.check(commit).map_err(|finding| damaged(&finding))?;
            note_named(commit, &mut named);
        }
    }
}

/// A backup that was cut short since it was made is still a sound trail; its head tells.
fn check_head(folder: &Path, copy: &mut SqliteReader, entries: u64) -> Result<(), EngineError> {
    let path = folder.join(BACKUP_HEAD);
    let kept = std::fs::read_to_string(&path).map_err(EngineError::file("read", &path))?;
    let found = copy.head_of(entries)?.map(|(_, head)| head);
    if found.as_deref() == Some(kept.as_str()) {
        return Ok(());
    }
    let what = format!("it is not what {} was made of", path.display());
    Err(EngineError::Damaged { seq: entries, what })
}

/// Copies key files. What is there under the same name and differs is set aside.
fn copy_keys(from: &Path, to: &Path, aside: Option<&Aside>) -> Result<(), EngineError> {
    owner_only(to, 0o700)?;
    let entries = std::fs::read_dir(from).map_err(EngineError::file("list", from))?;
    for entry in entries {
        let source = entry.map_err(EngineError::file("list", from))?.path();
        if source.extension().is_none_or(|ending| ending != "key") {
            continue;
        }
        let target = to.join(source.file_name().unwrap_or_default());
        let text = keyring::read_file(&source)?;
        if target.exists() && keyring::read_file(&target).is_ok_and(|own| own == text) {
            continue;
        }
        if let Some(aside) = aside {
            aside.take(&target)?;
        }
        keyring::create_once(&target, &text)?;
    }
    sync_folder_of(&to.join("any"))
}

/// Puts a backup in place.
///
/// Where people have signed up, one who may has to ask for it: what they decided since the backup
/// was made is gone from the trail. A store that cannot be read any more says nothing of people.
pub fn restore(
    home: &Home,
    folder: &Path,
    options: &Options,
    asked_by: Option<&Credential>,
) -> Result<Restored, EngineError> {
    let store = folder.join(BACKUP_STORE);
    let source = SqliteReader::open(&store).map_err(|error| match error.kind {
        LogErrorKind::Missing => {
            EngineError::NotFound(format!("{} is no backup: {error}", folder.display()))
        }
        _ => error.into(),
    })?;
    home.create()?;
    let bench = Workbench::new(home)?;
    source.copy_to(bench.store(), &mut |_, _| {})?;
    let mut copy = SqliteReader::open(bench.store())?;
    let bench_archives = Archives::beside(bench.store());
    archives::carry(&Archives::beside(&store), &bench_archives, &mut copy)?;
    let (checked, named) = check_copy(&mut copy, bench.store())?;
    check_head(folder, &mut copy, checked.entries)?;
    let mut world = floor::load(&bench_archives, &mut copy)?.unwrap_or_default();
    world.catch_up(&mut copy)?;
    // Archives of two trails never have the same name, so these are in nobody's way.
    let _turn = Turn::take(home, options.patience)?;
    archives::carry(&bench_archives, &home.archives(), &mut copy)?;
    let aside = Aside::new(home)?;
    let restoring = Restoring { home, options, folder, asked_by, checked, world, bench, aside };
    let blobs = restoring.bring_blobs(&named)?;
    let before = match SqliteLog::create(home.store()) {
        Ok(log) => restoring.replace(log),
        Err(error) => Err(error.into()),
    };
    let (entries_before, recorded) = match before {
        Err(EngineError::Store(LogError { kind: LogErrorKind::Corrupt, .. })) => {
            restoring.put_in_place()?
        }
        other => other?,
    };
    let aside = restoring.aside.kept();
    Ok(Restored { entries_before, recorded, aside, blobs, checked: restoring.checked })
}

/// What is known of the trail that is replaced.
struct Before {
    entries: u64,
    /// No epoch above this one was given out, as far as can be told.
    epoch: u64,
    project: Option<ProjectId>,
    /// Whether all of it could be read, up to the head this machine remembers.
    certain: bool,
    /// What is true in it, as far as it could be read.
    world: World,
}

struct Restoring<'a> {
    home: &'a Home,
    options: &'a Options,
    folder: &'a Path,
    asked_by: Option<&'a Credential>,
    checked: Checked,
    /// What is true in the backup.
    world: World,
    bench: Workbench,
    aside: Aside,
}

impl Restoring<'_> {
    /// Replaces what a working store holds. Returns how many entries that was, and whether the
    /// restored trail says so.
    fn replace(&self, mut log: SqliteLog) -> Result<(u64, bool), EngineError> {
        log.reserve(self.options.patience)?;
        let before = self.before(&mut log)?;
        self.check_project(before.project.as_ref())?;
        self.check_asker(&before.world.state)?;
        if !before.certain {
            self.aside.copy_store(self.home.store())?;
        }
        if before.entries > 0 {
            let copy = self.aside.folder().join(BACKUP_STORE);
            SqliteReader::open(self.home.store())?.copy_to(&copy, &mut |_, _| {})?;
            sync_file(&copy)?;
            sync_folder_of(&copy)?;
            let mut old = SqliteReader::open(&copy)?;
            archives::carry(&self.home.archives(), &Archives::beside(&copy), &mut old)?;
        }
        let recorded = self.record(&before)?;
        let replacing = log.replacing(self.bench.store(), self.options.patience)?;
        self.forget_what_was()?;
        replacing.finish()?;
        self.copy_keys()?;
        Ok((before.entries, recorded))
    }

    /// How many entries this machine remembers.
    fn remembered(&self) -> u64 {
        witness::read(self.home).head().map_or(0, |head| head.head().size)
    }

    /// What the trail that is there says, as far as it can be read. Beyond that each entry may
    /// have given out an epoch, and nobody knows how many entries there were.
    fn before(&self, log: &mut SqliteLog) -> Result<Before, EngineError> {
        let position = log.position()?;
        let floor = floor::load(&self.home.archives(), log)
            .inspect_err(|error| tracing::warn!(%error, "the replay base cannot be read"))
            .ok()
            .flatten();
        let mut world = floor.unwrap_or_default();
        'reading: while world.seq() < position {
            let commits = match log.tail(world.seq(), READ_BYTES) {
                Err(error) if error.kind == LogErrorKind::ArchiveMissing => break,
                other => other?,
            };
            for commit in &commits {
                let mut next = world.clone();
                if next.replay(commit).is_err() {
                    break 'reading;
                }
                world = next;
            }
            if commits.is_empty() {
                break;
            }
        }
        let certain =
            position > 0 && world.seq() == position && witness::check(self.home, log).is_ok();
        // A damaged row may say anything.
        let position = if position < ENTRIES_PLAUSIBLE { position } else { world.seq() };
        let entries = if certain { position } else { position.max(self.remembered()) };
        let unknown = if certain { 0 } else { entries - world.seq() + EPOCHS_UNKNOWN };
        let project = match world.state.project() {
            Some(project) => Some(project.id.clone()),
            None => snapshot::project_of(log)?,
        };
        let epoch = world.state.epoch() + unknown;
        Ok(Before { entries, epoch, project, certain, world })
    }

    /// Brings the content of the backup here, before the trail that names it and while others
    /// still work on the old one.
    fn bring_blobs(&self, named: &BTreeSet<Blob>) -> Result<Inventory, EngineError> {
        // The content of another project has no business here. Where this cannot be told yet, it
        // will be when the trail is replaced.
        if let Ok(mut here) = SqliteReader::open(self.home.store())
            && let Ok(project) = snapshot::project_of(&mut here)
        {
            self.check_project(project.as_ref())?;
        }
        let there = Blobs::in_folder(self.folder.join(BACKUP_BLOBS));
        Blobs::of(self.home).carry_from(&there, named, &mut |_, _| {})
    }

    fn check_project(&self, here: Option<&ProjectId>) -> Result<(), EngineError> {
        let there = self.world.state.project().map(|project| &project.id);
        match (here, there) {
            (Some(here), Some(there)) if here != there => {
                let store = self.home.store().display();
                let message = format!(
                    "this is a backup of project {there}, and {store} holds project {here}"
                );
                Err(LogError::new(LogErrorKind::Foreign, message).into())
            }
            _ => Ok(()),
        }
    }

    /// Whether whoever asks may have the trail replaced, and is who they say.
    fn check_asker(&self, state: &State) -> Result<(), EngineError> {
        let asked_by = self.asked_by.map(Credential::principal);
        if let (Some(own), Some(Principal::User(user))) = (self.asked_by, asked_by)
            && state.user(user).is_some_and(|known| known.key != own.key().public())
        {
            let message = format!("the key of user {user} here is not the one on record");
            return Err(EngineError::Credential(message));
        }
        Ok(archive::may_restore(state, asked_by)?)
    }

    /// Puts the store in place of one that cannot be read. Its files are set aside as they are.
    fn put_in_place(&self) -> Result<(u64, bool), EngineError> {
        let _turn = Reserved::new(self.home.store(), self.options.patience)?;
        // All that is known of it is the head this machine remembers: every epoch it gave out
        // after the backup took an entry.
        let entries = self.remembered();
        let epoch = self.world.state.epoch() + entries + EPOCHS_UNKNOWN;
        let world = World::default();
        let before = Before { entries, epoch, project: None, certain: false, world };
        let recorded = self.record(&before)?;
        // On the same disk as the store, so that it can take its place in one step.
        let ready = beside(self.home.store(), "-restoring");
        remove(&ready)?;
        SqliteReader::open(self.bench.store())?.copy_to(&ready, &mut |_, _| {})?;
        sync_file(&ready)?;
        self.aside.copy_store(self.home.store())?;
        // Its journal must not be taken for that of the new store. From here on a kill leaves the
        // old file or the new one, and this can be done again.
        for ending in ["-wal", "-shm", "-journal"] {
            remove(&beside(self.home.store(), ending))?;
        }
        self.forget_what_was()?;
        let placed = std::fs::rename(&ready, self.home.store());
        placed.map_err(EngineError::file("create", self.home.store()))?;
        sync_folder_of(self.home.store())?;
        self.copy_keys()?;
        Ok((entries, recorded))
    }

    /// Has the trail on the bench say that it was put back, so that epochs go on. Returns whether
    /// it does: a trail whose key is not here cannot, and only replaces nothing.
    fn record(&self, before: &Before) -> Result<bool, EngineError> {
        let Some(key) = self.key_of_backup()? else {
            if before.entries == 0 {
                return Ok(false);
            }
            let message = "the key that backup is signed with is neither in it nor here, so its \
                           epochs could not go on above those given out since";
            return Err(EngineError::RuntimeKey(message.to_owned()));
        };
        let caller = Caller { principal: Principal::System, key: key.public(), session: None };
        let command = Command::RuntimeRestored(NoteRestored {
            asked_by: self.asked_by.map(|own| own.principal().clone()),
            entries_before: before.entries,
            epoch: before.epoch,
        });
        let log = Box::new(SqliteLog::open(self.bench.store())?);
        let mut core = Core::new(log, key, Box::new(RandomMint::new()?), self.world.clone());
        let job = Job { caller, command, proof: None };
        core.run_own(&*self.options.clock, job).map(|_| true)
    }

    /// The runtime's key the backup is signed with, if it is here or in the backup.
    fn key_of_backup(&self) -> Result<Option<SecretKey>, EngineError> {
        let expected = self.checked.keys.last();
        let there = Keyring::in_folder(&self.folder.join(BACKUP_KEYS)).runtime()?;
        let here = Keyring::of(self.home).runtime()?;
        Ok([there, here].into_iter().flatten().find(|key| Some(&key.public()) == expected))
    }

    /// What belongs to the old trail alone: the head remembered of it, and its snapshots, which
    /// can be made again.
    fn forget_what_was(&self) -> Result<(), EngineError> {
        self.aside.take(&self.home.witness())?;
        let Some(project) = self.world.state.project() else { return Ok(()) };
        for path in snapshot::list(self.home, &project.id) {
            std::fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
        }
        Ok(())
    }

    fn copy_keys(&self) -> Result<(), EngineError> {
        let keys = self.folder.join(BACKUP_KEYS);
        if keys.exists() { copy_keys(&keys, &self.home.keys(), Some(&self.aside)) } else { Ok(()) }
    }
}

fn remove(path: &Path) -> Result<(), EngineError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(EngineError::file("remove", path)),
    }
}
