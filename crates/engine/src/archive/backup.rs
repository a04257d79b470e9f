//! Backup and restore: copying a trail while work goes on, and putting a copy back.
//!
//! A restore is a change like any other: it waits for its turn, happens as a whole, and is
//! recorded. The previous store is quarantined. Fencing epochs continue from the higher of the two
//! trails, so no holder of a lease under the old one counts as a holder now. Content is copied
//! along. An entry is appended only after the content it names is stored, so content is copied
//! after the trail in a backup, and before it in a restore.

use althing_kernel::archive;
use althing_kernel::runtime::NoteRestored;
use althing_kernel::{Blob, Caller, Command, Principal, ProjectId, State};
use althing_trail::archive::Archives;
use althing_trail::archive_check::inspect;
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{Reserved, SqliteLog, SqliteReader, beside};
use althing_trail::verify::{Checked, Options as VerifyOptions, Verifier};
use althing_trail::{LogError, LogReader as _, SecretKey};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::archive::inventory::{Inventory, note_named};
use crate::commit::core::{Core, Job};
use crate::commit::witness;
use crate::engine::Options;
use crate::error::{EngineError, damaged};
use crate::identity::keyring::{self, Credential, Keyring};
use crate::mint::RandomMint;
use crate::recovery::verify::check_record;
use crate::snapshot::world::{READ_BYTES, World};
use crate::snapshot::{self, replay_base};
use crate::store::archive_files::{self, ArchiveLock};
use crate::store::blobs::Blobs;
use crate::store::home::{Home, owner_only, remove_leftover, replace_synced, sync_folder_of};
use crate::store::quarantine::{Quarantine, WorkFolder};

/// A finished backup.
#[derive(Debug)]
pub struct Backup {
    /// The folder it was written to.
    pub folder: PathBuf,
    /// Number of entries in it.
    pub entries: u64,
    /// Content in it, and content that could not be copied.
    pub blobs: Inventory,
    /// Whether it includes the keys.
    pub keys: bool,
}

/// Result of a restore.
#[derive(Debug)]
pub struct Restored {
    /// Summary of the verification.
    pub checked: Checked,
    /// Number of entries there were before.
    pub entries_before: u64,
    /// Folder of the quarantined store.
    pub aside: Option<PathBuf>,
    /// Content that was restored, and content that was not.
    pub blobs: Inventory,
    /// Whether the trail records the restore. It cannot if its key is missing.
    pub recorded: bool,
}

const BACKUP_STORE: &str = "trail.db";
const BACKUP_HEAD: &str = "head";
const BACKUP_KEYS: &str = "keys";
const BACKUP_BLOBS: &str = "blobs";

/// Longest time a backup waits for the lock on archives.
const PATIENCE: Duration = Duration::from_secs(30);
/// Epochs to skip if it is unknown how many were given out: more than any trail gives out between
/// two remembered heads.
const EPOCHS_UNKNOWN: u64 = 1_000_000;
/// More entries than any trail has.
const ENTRIES_PLAUSIBLE: u64 = 1 << 40;

/// Copies the trail and all content to a new folder while writing goes on, and verifies the copy.
/// The result lists damaged and missing content; it does not keep the rest from being copied.
/// `progress` gets the progress of the trail, then of the content.
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
        // Nobody must take a partial copy for a complete one. The folder was created here.
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
    // Keeps archives from being deleted between the copy of the store and that of its archives.
    let _lock = ArchiveLock::take(home, PATIENCE)?;
    source.copy_to(&store, progress)?;
    sync_file(&store)?;
    let mut copy = SqliteReader::open(&store)?;
    archive_files::copy_archives(&home.archives(), &Archives::beside(&store), &mut copy)?;
    let (checked, named) = check_copy(&mut copy, &store)?;
    let blobs = Blobs::in_folder(folder.join(BACKUP_BLOBS));
    let blobs = blobs.copy_from(&Blobs::of(home), &named, progress)?;
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

/// Verifies a copy, and collects the content its entries name.
fn check_copy(
    copy: &mut SqliteReader,
    store: &Path,
) -> Result<(Checked, BTreeSet<Blob>), EngineError> {
    let archives = Archives::beside(store);
    let found = inspect(copy, &archives)?;
    let base = replay_base::base(&archives, copy)?;
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

/// Compares the copy with its recorded head: a backup that was cut short since it was made is still
/// a valid trail.
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

/// Copies key files. An existing file with the same name and another content is quarantined.
fn copy_keys(from: &Path, to: &Path, aside: Option<&Quarantine>) -> Result<(), EngineError> {
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

/// Restores a backup.
///
/// If users are registered, an authorized one must ask for it: their decisions since the backup are
/// lost from the trail. A store that cannot be read names no users.
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
    let bench = WorkFolder::new(home)?;
    source.copy_to(bench.store(), &mut |_, _| {})?;
    let mut copy = SqliteReader::open(bench.store())?;
    let bench_archives = Archives::beside(bench.store());
    archive_files::copy_archives(&Archives::beside(&store), &bench_archives, &mut copy)?;
    let (checked, named) = check_copy(&mut copy, bench.store())?;
    check_head(folder, &mut copy, checked.entries)?;
    let mut world = replay_base::load(&bench_archives, &mut copy)?.unwrap_or_default();
    world.catch_up(&mut copy)?;
    // Archives of two trails never have the same name, so these do not collide.
    let _lock = ArchiveLock::take(home, options.patience)?;
    archive_files::copy_archives(&bench_archives, &home.archives(), &mut copy)?;
    let aside = Quarantine::new(home)?;
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

/// Facts about the trail that is replaced.
struct Before {
    entries: u64,
    /// Highest epoch that may have been given out.
    epoch: u64,
    project: Option<ProjectId>,
    /// Whether all of it could be read, up to the head this machine remembers.
    certain: bool,
    /// Its state, as far as it could be read.
    world: World,
}

struct Restoring<'a> {
    home: &'a Home,
    options: &'a Options,
    folder: &'a Path,
    asked_by: Option<&'a Credential>,
    checked: Checked,
    /// The state of the backup.
    world: World,
    bench: WorkFolder,
    aside: Quarantine,
}

impl Restoring<'_> {
    /// Replaces the content of a working store. Returns the number of entries replaced, and whether
    /// the restored trail records it.
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
            archive_files::copy_archives(
                &self.home.archives(),
                &Archives::beside(&copy),
                &mut old,
            )?;
        }
        let recorded = self.record(&before)?;
        let replacing = log.replacing(self.bench.store(), self.options.patience)?;
        self.remove_old_files()?;
        replacing.finish()?;
        self.copy_keys()?;
        Ok((before.entries, recorded))
    }

    /// Number of entries of the head this machine remembers.
    fn remembered(&self) -> u64 {
        witness::read(self.home).head().map_or(0, |head| head.head().size)
    }

    /// Reads the current trail as far as possible. Each unreadable entry may have given out an
    /// epoch, and their number may be unknown.
    fn before(&self, log: &mut SqliteLog) -> Result<Before, EngineError> {
        let position = log.position()?;
        let base = replay_base::load(&self.home.archives(), log)
            .inspect_err(|error| tracing::warn!(%error, "the replay base cannot be read"))
            .ok()
            .flatten();
        let mut world = base.unwrap_or_default();
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
        // A damaged row may hold any number.
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

    /// Copies the content of the backup here, before the trail that names it and while others still
    /// work on the old one.
    fn bring_blobs(&self, named: &BTreeSet<Blob>) -> Result<Inventory, EngineError> {
        // Refuse content of another project. If that cannot be told yet, it will be when the trail
        // is replaced.
        if let Ok(mut here) = SqliteReader::open(self.home.store())
            && let Ok(project) = snapshot::project_of(&mut here)
        {
            self.check_project(project.as_ref())?;
        }
        let there = Blobs::in_folder(self.folder.join(BACKUP_BLOBS));
        Blobs::of(self.home).copy_from(&there, named, &mut |_, _| {})
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

    /// Fails unless the requester is authorized to replace the trail and holds their key.
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

    /// Puts the store in place of one that cannot be read. The old files are quarantined as they
    /// are.
    fn put_in_place(&self) -> Result<(u64, bool), EngineError> {
        let _lock = Reserved::new(self.home.store(), self.options.patience)?;
        // Only the remembered head is known of the old trail: every epoch given out after the
        // backup took an entry.
        let entries = self.remembered();
        let epoch = self.world.state.epoch() + entries + EPOCHS_UNKNOWN;
        let world = World::default();
        let before = Before { entries, epoch, project: None, certain: false, world };
        let recorded = self.record(&before)?;
        // On the same disk as the store, so that a rename can replace it.
        let ready = beside(self.home.store(), "-restoring");
        remove(&ready)?;
        SqliteReader::open(self.bench.store())?.copy_to(&ready, &mut |_, _| {})?;
        sync_file(&ready)?;
        self.aside.copy_store(self.home.store())?;
        // The old journal must not be taken for that of the new store. From here on a kill leaves
        // the old file or the new one, and the restore can be repeated.
        for ending in ["-wal", "-shm", "-journal"] {
            remove(&beside(self.home.store(), ending))?;
        }
        self.remove_old_files()?;
        let placed = std::fs::rename(&ready, self.home.store());
        placed.map_err(EngineError::file("create", self.home.store()))?;
        sync_folder_of(self.home.store())?;
        self.copy_keys()?;
        Ok((entries, recorded))
    }

    /// Records the restore in the new trail, so that epochs continue. Returns whether it does: a
    /// trail whose key is missing cannot, and may then replace nothing.
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
        let job = Job { caller, command, asked: None, door: None };
        core.run_own(&*self.options.clock, job).map(|_| true)
    }

    /// The runtime's key the backup is signed with, if it is on this machine or in the backup.
    fn key_of_backup(&self) -> Result<Option<SecretKey>, EngineError> {
        let expected = self.checked.keys.last();
        let there = Keyring::in_folder(&self.folder.join(BACKUP_KEYS)).runtime()?;
        let here = Keyring::of(self.home).runtime()?;
        Ok([there, here].into_iter().flatten().find(|key| Some(&key.public()) == expected))
    }

    /// Removes files that belong to the old trail alone: its remembered head, and its snapshots,
    /// which can be made again.
    fn remove_old_files(&self) -> Result<(), EngineError> {
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
