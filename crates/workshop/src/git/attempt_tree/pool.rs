//! The pool: trees whose attempts are over and whose ignored files are worth keeping.

use super::make::{Intent, set_line, unlock_index};
use super::removal::{detach, put_copies_aside};
use super::{Admin, AttemptTree, AttemptTrees, Marker, NewTree, Origin, Stage, TreeError};
use crate::file_lock::FileLock;
use crate::git::occupants::Occupancy;
use crate::git::ref_name::{BranchName, TreeName};
use crate::git::rescue::Rescued;
use crate::step::step;

impl AttemptTrees {
    /// Gives the tree of an attempt to the pool. What is not committed is rescued first. The branch
    /// stays and is no longer checked out; the files stay until somebody reuses the tree.
    pub fn retire(&self, name: &TreeName) -> Result<Rescued, TreeError> {
        let _name_lock = self.lock_name(name)?;
        let found = self.find(name)?.filter(|(admin, _)| admin.path.is_dir());
        let (admin, mut marker) = found.ok_or(TreeError::Unknown { name: name.clone() })?;
        let lock = FileLock::take(&self.tree_lock(&marker.folder))?;
        let checkout = self.checkout(&admin, &marker);
        let rescued = checkout.rescue_under(&lock, name, "retirement", &marker.copies())?;
        detach(&checkout)?;
        marker.stage = Stage::Free;
        marker.write(&admin.dir)?;
        Ok(rescued)
    }

    /// Resets a free tree of the pool to the base of a new attempt, if there is one that nobody
    /// uses. A tree that cannot be reset stays in the pool.
    pub(super) fn reuse(
        &self,
        new: &NewTree,
        branch: &BranchName,
        name_lock: &FileLock,
    ) -> Result<Option<AttemptTree>, TreeError> {
        for (admin, marker) in self.marked()? {
            if marker.stage != Stage::Free || marker.is_scratch || !admin.path.is_dir() {
                continue;
            }
            let Some(lock) = FileLock::try_take(&self.tree_lock(&marker.folder))? else { continue };
            let is_still_free = Marker::read(&admin.dir)?.is_some_and(|own| own == marker);
            if !is_still_free || Occupancy::of(&admin.path) != Occupancy::Free {
                continue;
            }
            let intent = Intent {
                branch: branch.clone(),
                base: new.base.clone(),
                folder: marker.folder.clone(),
            };
            intent.write(name_lock)?;
            self.make_branch(new, branch)?;
            match self.reset(new, branch, &admin, &marker, &lock) {
                Ok(tree) => return Ok(Some(tree)),
                Err(error) => {
                    tracing::warn!(%error, tree = %marker.folder, "a tree cannot be reused");
                    self.give_back(&admin, marker)?;
                    set_line(name_lock, "")?;
                }
            }
        }
        Ok(None)
    }

    /// Rescues what is in a tree and resets it.
    fn reset(
        &self,
        new: &NewTree,
        branch: &BranchName,
        admin: &Admin,
        marker: &Marker,
        lock: &FileLock,
    ) -> Result<AttemptTree, TreeError> {
        admin.reconnect()?;
        let checkout = self.checkout(admin, marker);
        unlock_index(&checkout)?;
        let rescued = checkout.rescue_under(lock, &marker.name, "reuse", &marker.copies())?;
        if let Some(left) = rescued.left.first() {
            let source = std::io::Error::other(left.why.clone());
            return Err(TreeError::File { path: admin.path.join(&left.path), source });
        }
        put_copies_aside(self, admin, marker)?;
        checkout.call(["clean", "-ffdq"]).under(lock).done()?;
        let marker = Marker {
            stage: Stage::Making,
            name: new.name.clone(),
            branch: branch.clone(),
            base: new.base.clone(),
            copied: Vec::new(),
            ..marker.clone()
        };
        marker.write(&admin.dir)?;
        step("before a tree of the pool is reset");
        self.finish(admin, marker, &new.provisions, lock, Origin::Reused)
    }

    /// Puts a tree back into the pool, without the branch it was to be on.
    fn give_back(&self, admin: &Admin, mut marker: Marker) -> Result<(), TreeError> {
        detach(&self.checkout(admin, &marker))?;
        marker.stage = Stage::Free;
        marker.write(&admin.dir)
    }
}
