//! Files, handled with care: written whole or not at all, and never through a link.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::git::tree_path::TreePath;
use crate::step::step;

/// Removes a file, a link or a folder with everything in it. What is not there is no failure.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    let gone = match path.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(())
        }
        other => other,
    }
}

/// Removes a folder with everything in it, also where its owner took the right to write away from
/// a folder inside, as some tools do with what they download.
pub(crate) fn remove_tree(path: &Path) -> std::io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_up(path);
            remove(path)
        }
        other => other,
    }
}

#[cfg(unix)]
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // Removing it fails again and says why, if this does.
        let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
}

#[cfg(not(unix))]
fn open_up(_: &Path) {}

/// Writes a file in one step: others see the old content or the new.
pub(crate) fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".new-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    drop(file);
    step("before a file is put in place");
    std::fs::rename(&beside, path)?;
    step("after a file was put in place");
    Ok(())
}

/// What is found at a path below a folder, when no link is followed.
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A plain file.
    File(Metadata),
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// Something above it is a link or no folder, so the path leads nowhere in this tree.
    Blocked,
    /// A device, a pipe or a socket.
    Other,
}

/// Looks at a path below a folder.
pub(crate) fn look(root: &Path, path: &TreePath) -> std::io::Result<Found> {
    let whole = path.below(Path::new(""));
    let mut here = root.to_owned();
    let mut parts = whole.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Ok(Found::Blocked) };
        here.push(name);
        let data = match here.symlink_metadata() {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(error),
        };
        if parts.peek().is_some() {
            if !data.is_dir() {
                return Ok(Found::Blocked);
            }
            continue;
        }
        return Ok(match data {
            data if data.is_file() => Found::File(data),
            data if data.is_symlink() => Found::Link,
            data if data.is_dir() => Found::Folder,
            _ => Found::Other,
        });
    }
    Ok(Found::Blocked)
}
