//! A merge as files on disk, before it is decided: what the project has, what was merged already,
//! and the work on top of it. It lies in a folder of its own that goes away with it.
//!
//! The base is the committed state: the tree of `HEAD`, checked out through an index of its own, so that
//! neither the repository nor anybody's working tree is touched.

use althing_engine::Blobs;
use althing_kernel::Content;
use althing_kernel::file::{File, FileArg, FilePath};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::{Command as Process, Stdio};

use crate::error::Error;
use crate::place::Place;

/// Files by their path; none for one that is deleted.
pub(super) type Files = BTreeMap<FilePath, Option<Content>>;

/// Puts files over others.
pub(super) fn overlay(files: &mut Files, over: &[File]) {
    for file in over {
        files.insert(file.path.clone(), file.content.clone().map(Content::Blob));
    }
}

/// The same for files that a command brings along.
pub(super) fn overlay_args(files: &mut Files, over: &[FileArg]) {
    for file in over {
        files.insert(file.path.clone(), file.content.clone());
    }
}

/// A folder that goes away with this value.
pub(super) struct MergedTree {
    folder: PathBuf,
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::unavailable(format!("{what} for the checks: {error}"))
}

impl MergedTree {
    /// Writes the merge out.
    pub(super) fn lay(place: &Place, blobs: &Blobs, files: &Files) -> Result<Self, Error> {
        let random: [u8; 8] = althing_engine::mint::random()
            .map_err(|error| failed("no name for a folder", &error))?;
        let name = format!("althing-merge-{:016x}", u64::from_be_bytes(random));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).map_err(|error| failed("no folder", &error))?;
        let tree = MergedTree { folder };
        std::fs::create_dir(tree.path()).map_err(|error| failed("no folder", &error))?;
        if place.root_origin == "git toplevel" {
            tree.check_out(place)?;
        }
        for (path, content) in files {
            tree.put(blobs, path, content.as_ref())?;
        }
        Ok(tree)
    }

    /// Where the files are.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Everything that is committed. Before the first commit that is nothing.
    fn check_out(&self, place: &Place) -> Result<(), Error> {
        let git = |args: &[&str]| {
            let mut git = Process::new("git");
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("GIT_") {
                    git.env_remove(name);
                }
            }
            git.current_dir(&place.root)
                .env("GIT_INDEX_FILE", self.folder.join("index"))
                .arg("--work-tree")
                .arg(self.path())
                .args(args)
                .stdin(Stdio::null());
            git.output().map_err(|error| failed("git cannot be run", &error))
        };
        if !git(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?.status.success() {
            return Ok(());
        }
        for args in [&["read-tree", "HEAD"][..], &["checkout-index", "--all", "--force"]] {
            let ran = git(args)?;
            if !ran.status.success() {
                let complaint = String::from_utf8_lossy(&ran.stderr);
                return Err(failed("the project cannot be checked out", &complaint.trim()));
            }
        }
        Ok(())
    }

    /// Puts one file where it belongs, or takes it away. What is in the way makes room: a link
    /// that was checked out must not lead out of the folder.
    fn put(&self, blobs: &Blobs, path: &FilePath, content: Option<&Content>) -> Result<(), Error> {
        let cannot =
            |error: &dyn std::fmt::Display| failed(&format!("{path} cannot be put"), error);
        let relative = Path::new(path.as_str());
        // A path of the kernel's is plain already; whatever is not stays out of the folder's way.
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(cannot(&"it is no plain path"));
        }
        let mut at = self.path();
        for part in relative.parent().iter().flat_map(|parent| parent.components()) {
            at.push(part);
            match std::fs::symlink_metadata(&at) {
                Ok(there) if there.is_dir() => {}
                // A missing file need not be removed.
                _ if content.is_none() => return Ok(()),
                Ok(_) => {
                    std::fs::remove_file(&at).map_err(|error| cannot(&error))?;
                    std::fs::create_dir(&at).map_err(|error| cannot(&error))?;
                }
                Err(_) => std::fs::create_dir(&at).map_err(|error| cannot(&error))?,
            }
        }
        let at = self.path().join(relative);
        let executable = is_executable(&at);
        match std::fs::symlink_metadata(&at) {
            Ok(there) if there.is_dir() => std::fs::remove_dir_all(&at),
            Ok(_) => std::fs::remove_file(&at),
            Err(_) => Ok(()),
        }
        .map_err(|error| cannot(&error))?;
        let Some(content) = content else { return Ok(()) };
        let bytes = match content {
            Content::Text(text) => text.as_bytes().to_vec(),
            Content::Blob(blob) => blobs.get(blob)?,
        };
        std::fs::write(&at, bytes).map_err(|error| cannot(&error))?;
        if executable { make_executable(&at).map_err(|error| cannot(&error)) } else { Ok(()) }
    }
}

impl Drop for MergedTree {
    fn drop(&mut self) {
        // If it cannot be removed, it is left to the system's own clean-up.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a file of the project that work replaces could be run: its content is recorded, its
/// mode is not.
#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let there = std::fs::symlink_metadata(path);
    there.is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
