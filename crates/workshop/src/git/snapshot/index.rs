//! An index that is nobody's: a copy of the real one, so that git need not read files again that it
//! knows to be unchanged.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::SnapshotError;
use crate::git::call::GitError;
use crate::git::checkout::{Checkout, Head};
use crate::git::object_id::ObjectId;
use crate::git::tree_path::TreePath;
use crate::scratch::remove_leftover;
use crate::step::step;

/// How such files are called.
const BEGINNING: &str = "althing-index-";

/// The copy. It goes away with this value; a copy left by a killed process goes with the next one.
pub(crate) struct IndexCopy {
    path: PathBuf,
}

impl Drop for IndexCopy {
    fn drop(&mut self) {
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        for path in [self.path.clone(), PathBuf::from(lock)] {
            remove_leftover(&path);
        }
    }
}

impl IndexCopy {
    /// Copies the index of a checkout, whose lock the caller holds. An index that is missing or
    /// damaged is replaced by one of the commit that is checked out.
    pub(crate) fn of(checkout: &Checkout, head: &Head) -> Result<Self, SnapshotError> {
        let copy = IndexCopy::unused(checkout.git_dir());
        let real = checkout.git_dir().join("index");
        match copy_with_time(&real, &copy.path) {
            Ok(()) => {
                step("after the index was copied");
                match copy.reveal(checkout) {
                    Ok(()) => return Ok(copy),
                    Err(error) => tracing::warn!(%error, "the index cannot be read"),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(SnapshotError::File { path: real, source }),
        }
        remove_leftover(&copy.path);
        let from = head.commit().map_or("--empty", |commit| commit.as_str());
        checkout.call(["read-tree", from]).index(&copy.path).done()?;
        Ok(copy)
    }

    /// An index with the files of a commit or a tree, for a folder of its own.
    pub(crate) fn with(checkout: &Checkout, tree: &ObjectId) -> Result<Self, GitError> {
        let copy = IndexCopy::unused(checkout.git_dir());
        checkout.call(["read-tree", tree.as_str()]).index(&copy.path).done()?;
        Ok(copy)
    }

    /// A name nobody uses. Those of other processes are gone: the lock is this one's.
    fn unused(folder: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(BEGINNING) {
                remove_leftover(&entry.path());
            }
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        IndexCopy { path: folder.join(format!("{BEGINNING}{}-{count}", std::process::id())) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes git look again at files that somebody told it to overlook, where they are on disk.
    fn reveal(&self, checkout: &Checkout) -> Result<(), GitError> {
        let listed = checkout.call(["ls-files", "-v", "-z"]).index(&self.path).bytes()?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for line in crate::git::names(&listed) {
            let Some((tag, rest)) = line.split_first() else { continue };
            let Some(name) = rest.strip_prefix(b" ") else { continue };
            let list = match tag {
                b'S' | b's' => &mut skipped,
                tag if tag.is_ascii_lowercase() => &mut assumed,
                _ => continue,
            };
            if TreePath::new(name).below(checkout.path()).symlink_metadata().is_ok() {
                list.extend_from_slice(name);
                list.push(0);
            }
        }
        for (option, list) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)]
        {
            if !list.is_empty() {
                let args = ["update-index", option, "-z", "--stdin"];
                checkout.call(args).index(&self.path).input(&list).done()?;
            }
        }
        Ok(())
    }
}

/// Copies a file together with the time it was written. Git reads a file again that was changed in
/// the same instant in which the index was written; a copy that looks newer would keep it from that.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let written = from.metadata()?.modified()?;
    std::fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(written)
}
