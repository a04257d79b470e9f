//! Files of a project: found without leaving it, replaced as a whole, removed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::WorkshopError;

/// The largest file that is changed, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it really is, links followed.
    pub(super) path: PathBuf,
    /// Its text; none if there is no such file.
    pub(super) text: Option<String>,
}

/// Looks at a file. The error says why it is left alone.
pub(super) fn look(root: &Path, path: &Path) -> Result<Found, String> {
    let real = inside(root, &root.join(path))?;
    let data = match std::fs::metadata(&real) {
        Ok(data) => data,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Found { path: real, text: None });
        }
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    if !data.is_file() {
        return Err("it is not a file".to_owned());
    }
    if data.len() > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    if data.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    let bytes = std::fs::read(&real).map_err(|error| format!("it cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok(Found { path: real, text: Some(text) })
}

/// The real path of a file that may not exist yet. Links are followed within the project only.
fn inside(root: &Path, path: &Path) -> Result<PathBuf, String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) if is_link => return Err("it is a link to nothing".to_owned()),
        Err(_) => {
            let mut above = path.ancestors().skip(1);
            let there = above.find(|folder| folder.symlink_metadata().is_ok());
            let there = there.ok_or("there is no folder for it")?;
            let real = there.canonicalize().map_err(|error| error.to_string())?;
            if !real.is_dir() {
                return Err(format!("{} is not a folder", there.display()));
            }
            real.join(path.strip_prefix(there).map_err(|error| error.to_string())?)
        }
    };
    if real.starts_with(&root) { Ok(real) } else { Err("it leads out of the project".to_owned()) }
}

/// Replaces a file as a whole, or makes it. Its permissions and its owner stay.
pub(super) fn replace(path: &Path, text: &str, is_program: bool) -> Result<(), WorkshopError> {
    let failed = |error: std::io::Error| WorkshopError::new(format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.althing-{}", std::process::id()));
    let written =
        write_new(&new, path, text, is_program).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| {
        // It is useless without its name; a second failure changes nothing.
        let _ = std::fs::remove_file(&new);
        failed(error)
    })
}

fn write_new(new: &Path, old: &Path, text: &str, is_program: bool) -> std::io::Result<()> {
    let mut file = std::fs::File::create(new)?;
    file.write_all(text.as_bytes())?;
    let before = old.metadata();
    if let Ok(before) = &before {
        file.set_permissions(before.permissions())?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        match &before {
            // Only the superuser can give a file away; others own what they replace.
            Ok(before) => {
                drop(std::os::unix::fs::chown(new, Some(before.uid()), Some(before.gid())));
            }
            Err(_) if is_program => {
                let mode = file.metadata()?.permissions().mode();
                // Whoever may read it may run it.
                file.set_permissions(std::fs::Permissions::from_mode(
                    mode | ((mode & 0o444) >> 2),
                ))?;
            }
            Err(_) => {}
        }
    }
    #[cfg(not(unix))]
    let _ = is_program;
    file.sync_all()
}

/// Removes a file. One that is gone is removed.
pub(super) fn remove(path: &Path) -> Result<(), WorkshopError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkshopError::new(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// The folders that have to be made for a file, outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Removes folders that were made, as far as nothing is in them.
pub(super) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        if let Err(error) = std::fs::remove_dir(folder) {
            tracing::debug!(%error, folder = %folder.display(), "a folder stays");
        }
    }
}
