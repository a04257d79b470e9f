//! Files that are on their way somewhere: a store being made, and what is set aside for one.

use althing_trail::log::sqlite::beside;
use data_encoding::HEXLOWER;
use std::path::{Path, PathBuf};

use crate::error::EngineError;
use crate::home::{Home, remove_leftover, sync_folder_of};
use crate::mint::random;

/// A folder of one's own to make a store in. It is gone when the work is done, or when it fails.
pub(crate) struct Workbench {
    folder: PathBuf,
    store: PathBuf,
}

impl Workbench {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        clear_left_over(home.root());
        let folder = home.root().join(format!("work-{}", HEXLOWER.encode(&random::<8>()?)));
        std::fs::create_dir(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(Workbench { store: folder.join("trail.db"), folder })
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }
}

/// Clears away what killed processes left on their benches: copies, a day old and in nobody's use.
fn clear_left_over(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_bench = entry.file_name().to_string_lossy().starts_with("work-");
        let age = entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
        if is_bench && matches!(age, Ok(Ok(age)) if age > std::time::Duration::from_hours(24)) {
            // If it cannot be cleared away now, then next time.
            remove_leftover(&entry.path());
        }
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        // What cannot be cleared away now is of no use to anybody, and in nobody's way.
        remove_leftover(&self.folder);
    }
}

/// A folder for what is replaced. Nobody deletes it unseen.
pub(crate) struct Aside(PathBuf);

impl Aside {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        Aside::of(home, "replaced")
    }

    /// A folder for what is set aside for a reason.
    pub(crate) fn of(home: &Home, why: &str) -> Result<Self, EngineError> {
        let stamp = crate::Clock::now(&crate::SystemClock).micros();
        let folder = home.quarantine().join(format!("{why}-{stamp}"));
        std::fs::create_dir_all(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(Aside(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Moves a file here, if it is there. It may be on another disk.
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

    /// Keeps a copy of something here, and makes sure of it.
    pub(crate) fn put(&self, name: &str, content: &[u8]) -> Result<PathBuf, EngineError> {
        let path = self.0.join(name);
        crate::home::replace_synced(&path, content).map(|()| path)
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

    /// Where things were put, if anything was.
    pub(crate) fn kept(&self) -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(&self.0).ok()?;
        entries.next().map(|_| self.0.clone())
    }
}

/// Copies a file of a store, and makes sure of it.
///
/// The store may be open in this process as a database, and whoever closes a file gives up all locks
/// that the process has on it. So it stays open until the process ends, which it is about to do.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut source = std::fs::File::open(from)?;
    let mut target = std::fs::File::create(to)?;
    std::io::copy(&mut source, &mut target)?;
    std::mem::forget(source);
    target.sync_all()
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Only an empty folder can be removed like this, and that is what is meant.
        let _ = std::fs::remove_dir(&self.0);
    }
}
