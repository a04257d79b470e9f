//! The state folder: paths of its files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use althing_trail::archive::Archives;
use althing_trail::log::sqlite::beside;

use crate::error::EngineError;

/// A state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    store: PathBuf,
}

impl Home {
    /// The state folder at a path, with its own store.
    pub fn new(root: &Path) -> Self {
        Home { root: root.to_owned(), store: root.join("trail.db") }
    }

    /// Uses a store at another path.
    #[must_use]
    pub fn with_store(self, store: PathBuf) -> Self {
        Home { store, ..self }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The store of the trail.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Folder of snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Folder of content.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Folder of archives.
    pub fn archives(&self) -> Archives {
        Archives::beside(&self.store)
    }

    /// Folder of keys.
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// File with the newest head this machine has seen of this store.
    pub fn witness(&self) -> PathBuf {
        beside(&self.store, "-head")
    }

    /// Folder of registered writers.
    pub fn writers(&self) -> PathBuf {
        beside(&self.store, "-writers")
    }

    /// File that is locked during recovery.
    pub(crate) fn recovery_lock(&self) -> PathBuf {
        beside(&self.store, "-recovery")
    }

    /// Folder of quarantined files; only people delete them.
    pub fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// Creates missing folders. Only the owner can read keys.
    pub fn create(&self) -> Result<(), EngineError> {
        let folders = [self.root.clone(), self.snapshots(), self.keys()];
        for folder in folders.iter().filter(|folder| !folder.is_dir()) {
            std::fs::create_dir_all(folder).map_err(EngineError::file("create", folder))?;
            sync_folder_of(folder)?;
        }
        owner_only(&self.keys(), 0o700)?;
        self.hide_from_git()
    }

    /// Keeps a state folder inside a project out of git, because of its keys.
    fn hide_from_git(&self) -> Result<(), EngineError> {
        let ignore = self.root.join(".gitignore");
        if self.root.file_name().is_none_or(|name| name != ".althing") || ignore.exists() {
            return Ok(());
        }
        std::fs::write(&ignore, "*\n").map_err(EngineError::file("write", &ignore))
    }
}

/// Removes the access of others, where the system has file permissions.
pub(crate) fn owner_only(path: &Path, mode: u32) -> Result<(), EngineError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions)
            .map_err(EngineError::file("set the permissions of", path))?;
    }
    // Elsewhere the folder inherits the protection of the user's own files.
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Whether others than the owner can read a file, where the system has file permissions.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Syncs the folder of a file, so that its name survives a power cut, not only its content.
pub(crate) fn sync_folder_of(path: &Path) -> Result<(), EngineError> {
    // Only Unix can open and sync a folder like a file.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        // The parent of a bare name is the current folder.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(EngineError::file("sync", folder))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Removes a file or folder that nobody needs any more. One that stays is in nobody's way, so a
/// failure is only logged; one that is gone already is none.
pub(crate) fn remove_leftover(path: &Path) {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
    let removed =
        if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::debug!(%error, path = %path.display(), "a leftover stays");
        }
        _ => {}
    }
}

/// Replaces a file as a whole: readers see the old content or the new, never a part.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), EngineError> {
    replace_with(path, &|new| put(new, content))
}

fn replace_with(
    path: &Path,
    write: &dyn Fn(&Path) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let turn = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = beside(path, &format!("-new-{}-{turn}", std::process::id()));
    let replaced = write(&new)
        .and_then(|()| std::fs::rename(&new, path).map_err(EngineError::file("replace", path)));
    if replaced.is_err() {
        // A partly written copy is useless.
        remove_leftover(&new);
    }
    replaced
}

fn put(path: &Path, content: &[u8]) -> Result<(), EngineError> {
    std::fs::write(path, content).map_err(EngineError::file("write", path))
}

/// Replaces a file as a whole and syncs it, so that it survives a power cut.
pub(crate) fn replace_synced(path: &Path, content: &[u8]) -> Result<(), EngineError> {
    replace_with(path, &|new| {
        put(new, content)?;
        let file = std::fs::File::options().write(true).open(new);
        file.and_then(|file| file.sync_all()).map_err(EngineError::file("sync", new))
    })?;
    sync_folder_of(path)
}
