//! Copies of a trail: making one while work goes on, and putting one back.
//!
//! Putting a copy back is a change like any other: it waits for its turn, happens as a whole, and
//! is on the record. What was there before is set aside. Fencing epochs go on from the higher of
//! the two trails, so nobody who held something under the old one is taken for a holder now.

use althing_kernel::runtime::NoteRestored;
use althing_kernel::{Caller, Command, Principal};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{Reserved, SqliteLog, SqliteReader, beside};
use althing_trail::verify::{Checked, Options as VerifyOptions, Verifier};
use althing_trail::{LogError, LogReader as _, SecretKey};
use std::path::{Path, PathBuf};

use crate::aside::{Aside, Workbench};
use crate::core::{Core, Job, Verdict};
use crate::engine::Options;
use crate::error::EngineError;
use crate::home::{Home, owner_only, replace_synced, sync_folder_of};
use crate::keyring::{self, Keyring};
use crate::mint::RandomMint;
use crate::transfer::damaged;
use crate::world::{READ_BYTES, World};

/// What a backup holds.
#[derive(Debug)]
pub struct Backup {
    /// The folder it was written to.
    pub folder: PathBuf,
    /// How many entries it holds.
    pub entries: u64,
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
    /// Whether the trail says so. It cannot where its key is not at hand.
    pub recorded: bool,
}

const BACKUP_STORE: &str = "trail.db";
const BACKUP_HEAD: &str = "head";
const BACKUP_KEYS: &str = "keys";

/// Copies the trail to a new folder while writing goes on, and verifies the copy.
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
        let _ = std::fs::remove_dir_all(folder);
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
    source.copy_to(&store, progress)?;
    sync_file(&store)?;
    let mut copy = SqliteReader::open(&store)?;
    let checked = check_copy(&mut copy)?;
    let head = copy.commit_of(checked.entries)?.map(|commit| commit.head).unwrap_or_default();
    replace_synced(&folder.join(BACKUP_HEAD), head.as_bytes())?;
    if with_keys {
        let keys = folder.join(BACKUP_KEYS);
        std::fs::create_dir(&keys).map_err(EngineError::file("create", &keys))?;
        copy_keys(&home.keys(), &keys, None)?;
    }
    sync_folder_of(&store)?;
    sync_folder_of(folder)?;
    Ok(Backup { folder: folder.to_owned(), entries: checked.entries, keys: with_keys })
}

fn sync_file(path: &Path) -> Result<(), EngineError> {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.sync_all()).map_err(EngineError::file("sync", path))
}

fn check_copy(copy: &mut SqliteReader) -> Result<Checked, EngineError> {
    let mut verifier = Verifier::new(VerifyOptions::default());
    loop {
        let commits = copy.tail(verifier.chain().seq(), READ_BYTES)?;
        if commits.is_empty() {
            return verifier.finish().map_err(|finding| damaged(&finding));
        }
        for commit in &commits {
            verifier.check(commit).map_err(|finding| damaged(&finding))?;
        }
    }
}

/// A backup that was cut short since it was made is still a sound trail; its head tells.
fn check_head(folder: &Path, copy: &mut SqliteReader, entries: u64) -> Result<(), EngineError> {
    let path = folder.join(BACKUP_HEAD);
    let kept = std::fs::read_to_string(&path).map_err(EngineError::file("read", &path))?;
    let found = copy.commit_of(entries)?.map(|commit| commit.head);
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
pub fn restore(home: &Home, folder: &Path, options: &Options) -> Result<Restored, EngineError> {
    let store = folder.join(BACKUP_STORE);
    let mut copy = SqliteReader::open(&store).map_err(|error| match error.kind {
        LogErrorKind::Missing => {
            EngineError::NotFound(format!("{} is no backup: {error}", folder.display()))
        }
        _ => error.into(),
    })?;
    let checked = check_copy(&mut copy)?;
    check_head(folder, &mut copy, checked.entries)?;
    home.create()?;
    let bench = Workbench::new(home)?;
    copy.copy_to(bench.store(), &mut |_, _| {})?;
    let aside = Aside::new(home)?;
    let mut restoring = Restoring { home, options, folder, checked, bench, aside };
    match SqliteLog::create(home.store()) {
        Ok(log) => restoring.replace(log),
        Err(error) if error.kind == LogErrorKind::Corrupt => restoring.put_in_place(),
        Err(error) => Err(error.into()),
    }
    .map(|(entries_before, recorded)| Restored {
        entries_before,
        recorded,
        checked: restoring.checked,
        aside: restoring.aside.kept(),
    })
}

struct Restoring<'a> {
    home: &'a Home,
    options: &'a Options,
    folder: &'a Path,
    checked: Checked,
    bench: Workbench,
    aside: Aside,
}

impl Restoring<'_> {
    /// Replaces what a working store holds. Returns how many entries that was, and whether the
    /// restored trail says so.
    fn replace(&mut self, mut log: SqliteLog) -> Result<(u64, bool), EngineError> {
        log.reserve()?;
        let before = self.world_before(&mut log)?;
        if before.seq() > 0 {
            let copy = self.aside.folder().join(BACKUP_STORE);
            SqliteReader::open(self.home.store())?.copy_to(&copy, &mut |_, _| {})?;
            sync_file(&copy)?;
            sync_folder_of(&copy)?;
        }
        let key = self.key_of_backup()?;
        let recorded = key.is_some();
        if let Some(key) = key {
            self.record(key, &before)?;
        }
        log.replacing(self.bench.store())?.finish()?;
        self.finish()?;
        Ok((before.seq(), recorded))
    }

    /// What is true in the trail that is replaced. One that cannot be read to its end says
    /// nothing.
    fn world_before(&self, log: &mut SqliteLog) -> Result<World, EngineError> {
        let mut before = World::default();
        let _ = before.catch_up(log);
        let mut restored = World::default();
        restored.catch_up(&mut SqliteReader::open(self.bench.store())?)?;
        let (here, there) = (before.state.project(), restored.state.project());
        match (here, there) {
            (Some(here), Some(there)) if here.id != there.id => {
                let message = format!(
                    "this is a backup of project {}, and {} holds project {}",
                    there.id,
                    self.home.store().display(),
                    here.id
                );
                Err(LogError::new(LogErrorKind::Foreign, message).into())
            }
            _ => Ok(before),
        }
    }

    /// Puts the store in place of one that cannot be opened.
    fn put_in_place(&mut self) -> Result<(u64, bool), EngineError> {
        let _turn = Reserved::new(self.home.store())?;
        let key = self.key_of_backup()?;
        let recorded = key.is_some();
        if let Some(key) = key {
            self.record(key, &World::default())?;
        }
        let ready = beside(self.bench.store(), "-ready");
        SqliteReader::open(self.bench.store())?.copy_to(&ready, &mut |_, _| {})?;
        sync_file(&ready)?;
        self.aside.take_store(self.home.store())?;
        let placed = std::fs::rename(&ready, self.home.store());
        placed.map_err(EngineError::file("create", self.home.store()))?;
        sync_folder_of(self.home.store())?;
        self.finish()?;
        Ok((0, recorded))
    }

    /// The runtime's key the backup is signed with, if it is here or in the backup.
    fn key_of_backup(&self) -> Result<Option<SecretKey>, EngineError> {
        let expected = self.checked.keys.last();
        let there = Keyring::in_folder(&self.folder.join(BACKUP_KEYS)).runtime()?;
        let here = Keyring::of(self.home).runtime()?;
        Ok([there, here].into_iter().flatten().find(|key| Some(&key.public()) == expected))
    }

    /// Has the trail on the bench say that it was put back.
    fn record(&self, key: SecretKey, before: &World) -> Result<(), EngineError> {
        let caller = Caller { principal: Principal::System, key: key.public(), session: None };
        let command = Command::RuntimeRestored(NoteRestored {
            entries_before: before.seq(),
            epoch: before.state.epoch(),
        });
        let log = Box::new(SqliteLog::open(self.bench.store())?);
        let mut core = Core::new(log, key, Box::new(RandomMint::new()?), World::default());
        let job = Job { caller, command, proof: None };
        let settled = core.run_own(&*self.options.clock, job)?;
        match settled {
            Verdict::Done(_) => Ok(()),
            other => Err(EngineError::Defect(format!("{other:?}"))),
        }
    }

    /// What belongs to the old trail alone, and the keys of the new one.
    fn finish(&self) -> Result<(), EngineError> {
        self.aside.take(&self.home.witness())?;
        let keys = self.folder.join(BACKUP_KEYS);
        if keys.exists() {
            copy_keys(&keys, &self.home.keys(), Some(&self.aside))?;
        }
        Ok(())
    }
}
