//! Scratch trees: throw-away checkouts of a commit, to run checks on the result of a merge before
//! any branch moves there.
//!
//! A tree is kept for the next check, with ignored files such as build output still in it. One
//! process at a time has it. Its content is worth nothing, so nothing is rescued from it.

use std::path::Path;

use crate::file_lock::FileLock;
use crate::git::attempt_tree::{
    Admin, AttemptTrees, Marker, Notices, Provisions, Removal, Stage, TreeError, lay_out,
};
use crate::git::checkout::Checkout;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{BranchName, TreeName};

/// How many there are at most, which is how many checks run at the same time.
const COUNT_MAX: usize = 64;

/// A checkout of a commit for a check. It is free for the next one when this value goes.
#[derive(Debug)]
pub struct ScratchTree {
    checkout: Checkout,
    notices: Notices,
    _lock: FileLock,
}

impl ScratchTree {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.checkout.path()
    }

    /// The files.
    pub fn checkout(&self) -> &Checkout {
        &self.checkout
    }

    /// What is not in it as it is in the project.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }
}

impl AttemptTrees {
    /// Checks a commit out for a check, in a tree that nobody uses.
    pub fn scratch(
        &self,
        commit: &ObjectId,
        provisions: &Provisions,
    ) -> Result<ScratchTree, TreeError> {
        if self.repository().resolve(commit.as_str())?.is_none() {
            return Err(TreeError::NoBase { base: commit.clone() });
        }
        for number in 1..=COUNT_MAX {
            let folder = format!(".scratch-{number}");
            let Some(lock) = FileLock::try_take(&self.tree_lock(&folder))? else { continue };
            let Some(admin) = self.scratch_admin(&folder, commit, &lock)? else { continue };
            let marker = marker(&folder, commit)?;
            marker.write(&admin.dir)?;
            let checkout = self.checkout(&admin, &marker);
            let notices = self.set_up(&checkout, &admin, commit, provisions, &lock)?;
            return Ok(ScratchTree { checkout, notices, _lock: lock });
        }
        let source = std::io::Error::other("too many checks run at the same time");
        Err(TreeError::File { path: self.root().to_owned(), source })
    }

    /// The worktree in a folder; it is made if it is not there. None if the folder is in use by a
    /// process that an earlier check left behind.
    fn scratch_admin(
        &self,
        folder: &str,
        commit: &ObjectId,
        lock: &FileLock,
    ) -> Result<Option<Admin>, TreeError> {
        let path = self.root().join(folder);
        if let Some(admin) = Admin::of(self.repository(), &path) {
            if path.is_dir() && admin.is_whole() {
                return Ok(Some(admin));
            }
            self.take_away(&admin, lock)?;
        }
        if path.symlink_metadata().is_ok() {
            self.put_aside(&path)?;
        }
        let args = ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--detach"];
        let call = self.repository().call(args).arg("--reason").arg("a scratch tree of checks");
        self.add_worktree(&path, &call.arg(&path).arg(commit.as_str()).under(lock), lock).map(Some)
    }

    /// Resets a scratch tree to a commit. Ignored files stay.
    fn set_up(
        &self,
        checkout: &Checkout,
        admin: &Admin,
        commit: &ObjectId,
        provisions: &Provisions,
        lock: &FileLock,
    ) -> Result<Notices, TreeError> {
        let failed = |source| TreeError::File { path: admin.dir.clone(), source };
        admin.reconnect()?;
        crate::git::files::remove(&admin.dir.join("index.lock")).map_err(failed)?;
        checkout.forget_operations().map_err(failed)?;
        lay_out(checkout, Some(commit.as_str()), provisions.lfs, lock)?;
        checkout.call(["clean", "-ffdq"]).under(lock).done()?;
        let (notices, _) = self.provide(checkout, provisions, lock)?;
        Ok(notices)
    }

    /// Removes the scratch trees that no check uses. One in which a process is left goes to
    /// quarantine.
    pub fn clear_scratch(&self) -> Result<Vec<Removal>, TreeError> {
        let mut done = Vec::new();
        for (admin, marker) in self.marked()?.into_iter().filter(|(_, own)| own.is_scratch) {
            // Somebody who has the lock uses it.
            let Some(lock) = FileLock::try_take(&self.tree_lock(&marker.folder))? else { continue };
            done.push(self.remove_locked(&admin, marker, &lock)?);
        }
        Ok(done)
    }
}

/// The marker of a scratch tree. It is on no branch; the name only fills the field.
fn marker(folder: &str, commit: &ObjectId) -> Result<Marker, TreeError> {
    Ok(Marker {
        stage: Stage::Free,
        name: TreeName::new("scratch")?,
        branch: BranchName::new("scratch")?,
        base: commit.clone(),
        folder: folder.to_owned(),
        slot: None,
        is_scratch: true,
        copied: Vec::new(),
    })
}
