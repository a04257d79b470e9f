//! Files that are on their way somewhere: a store being made, and what is set aside for one.

use althing_trail::log::sqlite::beside;
use data_encoding::HEXLOWER;
use std::path::{Path, PathBuf};

use crate::error::EngineError;
use crate::home::{Home, sync_folder_of};
use crate::mint::random;

/// A folder of one's own to make a store in. It is gone when the work is done, or when it fails.
pub(crate) struct Workbench {
    folder: PathBuf,
    store: PathBuf,
}

impl Workbench {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        let folder = home.root().join(format!("work-{}", HEXLOWER.encode(&random::<8>()?)));
        std::fs::create_dir(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(Workbench { store: folder.join("trail.db"), folder })
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        // What cannot be cleared away now is of no use to anybody, and in nobody's way.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A folder for what is replaced. Nobody deletes it unseen.
pub(crate) struct Aside(PathBuf);

impl Aside {
    pub(crate) fn new(home: &Home) -> Result<Self, EngineError> {
        let stamp = crate::Clock::now(&crate::SystemClock).micros();
        let folder = home.quarantine().join(format!("replaced-{stamp}"));
        std::fs::create_dir_all(&folder).map_err(EngineError::file("create", &folder))?;
        Ok(Aside(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Moves a file here, if it is there.
    pub(crate) fn take(&self, path: &Path) -> Result<(), EngineError> {
        let moved = std::fs::rename(path, self.0.join(path.file_name().unwrap_or_default()));
        match moved {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(EngineError::file("set aside", path)),
        }
    }

    /// Moves a store that cannot be opened here, with everything that belongs to it. The journal
    /// goes first: alone it is nothing, but beside another file it would be taken for its own.
    pub(crate) fn take_store(&self, store: &Path) -> Result<(), EngineError> {
        for ending in ["-wal", "-shm", "-journal", ""] {
            self.take(&beside(store, ending))?;
        }
        sync_folder_of(store)
    }

    /// Removes the folder if nothing came to it.
    pub(crate) fn kept(self) -> Option<PathBuf> {
        let empty = std::fs::read_dir(&self.0).is_ok_and(|mut entries| entries.next().is_none());
        if empty && std::fs::remove_dir(&self.0).is_ok() { None } else { Some(self.0) }
    }
}
