//! Quarantine for replaced or damaged files, and work folders for stores being built.

use althing_trail::log::sqlite::beside;
use data_encoding::HEXLOWER;
use std::path::{Path, PathBuf};

use crate::error::EngineError;
use crate::mint::random;
use crate::store::home::{Home, remove_leftover, sync_folder_of};

/// A temporary folder to build a store in. It is removed on drop.
pub(crate) struct WorkFolder {
    folder: PathBuf,
    store: PathBuf,
}

impl WorkFolder {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        clear_left_over(home.root());
        let folder = home.root().join(format!("work-{}", HEXLOWER.encode(&random::<8>()?)));
        std::fs::create_dir(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(WorkFolder { store: folder.join("trail.db"), folder })
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }
}

/// Removes work folders that killed processes left: copies, a day old and unused.
fn clear_left_over(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_bench = entry.file_name().to_string_lossy().starts_with("work-");
        let age = entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
        if is_bench && matches!(age, Ok(Ok(age)) if age > std::time::Duration::from_hours(24)) {
            // One that cannot be removed now is removed next time.
            remove_leftover(&entry.path());
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed now does no harm; it is removed another time.
        remove_leftover(&self.folder);
    }
}

/// A folder for replaced files. Only people delete it.
pub(crate) struct Quarantine(PathBuf);

impl Quarantine {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        Quarantine::of(home, "replaced")
    }

    /// A folder for files quarantined for a reason, which is part of its name.
    pub(crate) fn of(home: &Home, why: &str) -> Result<Self, EngineError> {
        let stamp = crate::clock::Clock::now(&crate::clock::SystemClock).micros();
        let folder = home.quarantine().join(format!("{why}-{stamp}"));
        std::fs::create_dir_all(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(Quarantine(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Moves a file here, if it exists. It may be on another disk.
    pub(crate) fn take(&self, path: &Path) -> Result<(), EngineError> {
        let to = self.0.join(path.file_name().unwrap_or_default());
        let moved = match std::fs::rename(path, &to) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                std::fs::copy(path, &to)
                    .and_then(|_| std::fs::File::options().write(true).open(&to)?.sync_all())
                    .and_then(|()| std::fs::remove_file(path))
            }
            other => other,
        };
        moved.map_err(EngineError::file("set aside", path))
    }

    /// Writes a copy here, and syncs it.
    pub(crate) fn put(&self, name: &str, content: &[u8]) -> Result<PathBuf, EngineError> {
        let path = self.0.join(name);
        crate::store::home::replace_synced(&path, content).map(|()| path)
    }

    /// Copies the files of a store that cannot be read to its end, as they are.
    pub(crate) fn copy_store(&self, store: &Path) -> Result<(), EngineError> {
        let folder = self.0.join("files");
        std::fs::create_dir_all(&folder).map_err(EngineError::file("create", &folder))?;
        for ending in ["", "-wal", "-journal"] {
            let from = beside(store, ending);
            let to = folder.join(from.file_name().unwrap_or_default());
            let copied = copy(&from, &to);
            match copied {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                other => other.map_err(EngineError::file("copy", &from))?,
            }
        }
        sync_folder_of(&folder.join("any"))
    }

    /// The folder, if anything is in it.
    pub(crate) fn kept(&self) -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(&self.0).ok()?;
        entries.next().map(|_| self.0.clone())
    }
}

/// Copies a file of a store, and syncs the copy.
///
/// The store may be open in this process as a database, and closing a file releases all locks that
/// the process has on it. So the source stays open until the process ends, which is about to
/// happen.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut source = std::fs::File::open(from)?;
    let mut target = std::fs::File::create(to)?;
    std::io::copy(&mut source, &mut target)?;
    std::mem::forget(source);
    target.sync_all()
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // Removes the folder only if it is empty.
        let _ = std::fs::remove_dir(&self.0);
    }
}
