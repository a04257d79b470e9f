//! Removing a tree. It is first moved to quarantine, in one step, so that nobody can come in any
//! more; it is deleted only when its work is rescued and no process uses it.

use std::path::{Path, PathBuf};

use super::make::{lay_out, unlock_index};
use super::{Admin, AttemptTrees, Marker, Stage, TreeError};
use crate::file_lock::FileLock;
use crate::git::checkout::{Checkout, Head};
use crate::git::files;
use crate::git::occupants::{Occupancy, Occupant};
use crate::git::ref_name::TreeName;
use crate::git::refs::Swap;
use crate::git::rescue::Rescue;
use crate::git::snapshot::LeftBehind;
use crate::git::tree_path::TreePath;
use crate::step::step;

/// The folder below the root for trees that wait to be deleted.
const QUARANTINE: &str = ".quarantine";

/// Why a tree waits in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyQuarantined {
    /// Processes use it.
    Used(Vec<Occupant>),
    /// It cannot be seen on this system whether processes use it.
    Unknown,
    /// Files in it could not be rescued.
    Left(Vec<LeftBehind>),
}

/// The outcome of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Removed {
        /// The work that was rescued.
        rescued: Vec<Rescue>,
    },
    /// It waits in quarantine.
    Quarantined {
        /// Where it is now.
        path: PathBuf,
        /// Why it waits.
        why: WhyQuarantined,
        /// The work that was rescued so far.
        rescued: Vec<Rescue>,
    },
}

/// A folder in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// The folder.
    pub path: PathBuf,
    /// The tree it was; none for files that were put aside and are of no worktree any more.
    pub name: Option<TreeName>,
    /// Whether processes use it.
    pub occupancy: Occupancy,
}

impl AttemptTrees {
    /// Removes the tree of an attempt. Its branch stays.
    pub fn remove(&self, name: &TreeName) -> Result<Removal, TreeError> {
        let _name_lock = self.lock_name(name)?;
        let own = |marker: &Marker| marker.name == *name && !marker.is_scratch;
        // One that is in quarantine already is gone on with.
        let found = match self.find(name)? {
            Some(found) => Some(found),
            None => self.marked()?.into_iter().find(|(_, marker)| own(marker)),
        };
        let (admin, marker) = found.ok_or(TreeError::Unknown { name: name.clone() })?;
        self.remove_marked(&admin, marker)
    }

    /// The folders in quarantine.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, TreeError> {
        let marked = self.marked()?;
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.root.join(QUARANTINE)).into_iter().flatten().flatten() {
            let path = entry.path();
            let own = marked.iter().find(|(admin, _)| admin.path == path);
            let name = own.map(|(_, marker)| marker.name.clone());
            found.push(Quarantined { occupancy: Occupancy::of(&path), path, name });
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Goes on with everything that was cut off or has to wait: deletes trees in quarantine that
    /// nobody uses any more, and trees that somebody was killed while making. Returns what came of
    /// each.
    pub fn sweep(&self) -> Result<Vec<(TreeName, Removal)>, TreeError> {
        let mut done = Vec::new();
        for (_, marker) in self.marked()? {
            if matches!(marker.stage, Stage::Ready | Stage::Free)
                || marker.is_scratch && marker.stage == Stage::Making
            {
                continue;
            }
            let name_lock = self.root.join(".locks/names").join(format!("{}.lock", marker.name));
            let Some(_name_lock) = FileLock::try_take(&name_lock)? else { continue };
            let folder = &marker.folder;
            let still =
                |(_, own): &(Admin, Marker)| own.folder == *folder && own.stage == marker.stage;
            if let Some((admin, marker)) = self.marked()?.into_iter().find(still) {
                let name = marker.name.clone();
                done.push((name, self.remove_marked(&admin, marker)?));
            }
        }
        Ok(done)
    }

    /// Deletes a folder in quarantine for good, whatever is in it. Only for a person who looked.
    pub fn purge(&self, quarantined: &Path) -> Result<(), TreeError> {
        let failed = |source| TreeError::File { path: quarantined.to_owned(), source };
        if quarantined.parent() != Some(self.root.join(QUARANTINE).as_path()) {
            return Err(failed(std::io::Error::other("it is not in quarantine")));
        }
        let admin = Admin::of(&self.repository, quarantined);
        let folder = match &admin {
            Some(admin) => Marker::read(&admin.dir)?.map(|marker| marker.folder),
            None => None,
        };
        let lock = FileLock::take(&self.tree_lock(folder.as_deref().unwrap_or(QUARANTINE)))?;
        files::remove_tree(quarantined).map_err(failed)?;
        admin.map_or(Ok(()), |admin| self.forget(&admin, &lock))
    }

    /// Removes a tree that has a marker, from wherever an earlier removal was cut off.
    pub(crate) fn remove_marked(
        &self,
        admin: &Admin,
        marker: Marker,
    ) -> Result<Removal, TreeError> {
        let lock = FileLock::take(&self.tree_lock(&marker.folder))?;
        self.remove_locked(admin, marker, &lock)
    }

    /// The same for a caller that holds the lock of the tree.
    pub(crate) fn remove_locked(
        &self,
        admin: &Admin,
        marker: Marker,
        lock: &FileLock,
    ) -> Result<Removal, TreeError> {
        let mut removing = Removing {
            trees: self,
            admin: admin.clone(),
            marker,
            lock,
            rescued: Vec::new(),
            left: Vec::new(),
        };
        removing.run()
    }

    /// Makes git forget a worktree whose files are gone.
    pub(crate) fn forget(&self, admin: &Admin, lock: &FileLock) -> Result<(), TreeError> {
        let args = ["worktree", "remove", "--force", "--force"];
        let call = self.repository.call(args).arg(&admin.path).under(lock);
        let Err(error) = call.done() else { return Ok(()) };
        if !admin.dir.exists() {
            return Ok(());
        }
        Err(error.into())
    }

    /// Moves a folder that is no worktree into quarantine, from where only a person deletes it.
    pub(crate) fn put_aside(&self, path: &Path) -> Result<PathBuf, TreeError> {
        let failed = |source| TreeError::File { path: path.to_owned(), source };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let slot = self.slot(&name).map_err(failed)?;
        let to = self.root.join(QUARANTINE).join(slot);
        step("before a folder is put aside");
        std::fs::rename(path, &to).map_err(failed)?;
        Ok(to)
    }

    /// A name in quarantine that nobody has. Names are made of those of folders, whose lock the
    /// caller holds, so nobody else chooses the same.
    fn slot(&self, name: &str) -> std::io::Result<String> {
        let folder = self.root.join(QUARANTINE);
        std::fs::create_dir_all(&folder)?;
        let mut number = 1_u32;
        loop {
            let slot = format!("{name}~{number}");
            match folder.join(&slot).symlink_metadata() {
                Ok(_) => number += 1,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(slot),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A removal under way.
struct Removing<'a> {
    trees: &'a AttemptTrees,
    admin: Admin,
    marker: Marker,
    lock: &'a FileLock,
    rescued: Vec<Rescue>,
    left: Vec<LeftBehind>,
}

impl Removing<'_> {
    fn failed(&self, source: std::io::Error) -> TreeError {
        TreeError::File { path: self.admin.path.clone(), source }
    }

    fn checkout(&self) -> Checkout {
        self.trees.checkout(&self.admin, &self.marker)
    }

    fn run(&mut self) -> Result<Removal, TreeError> {
        if self.marker.stage == Stage::Making {
            self.complete()?;
        }
        if matches!(self.marker.stage, Stage::Ready | Stage::Free | Stage::Making) {
            self.rescue()?;
            detach(&self.checkout())?;
            self.drop_unused_branch()?;
            let slot = self.trees.slot(&self.marker.folder).map_err(|error| self.failed(error))?;
            self.marker.slot = Some(slot);
            self.enter(Stage::Leaving)?;
        }
        if self.marker.stage == Stage::Leaving {
            self.move_away()?;
            if let Some(why) = self.reason_to_wait()? {
                let (path, rescued) = (self.admin.path.clone(), self.rescued.clone());
                return Ok(Removal::Quarantined { path, why, rescued });
            }
            self.enter(Stage::Removing)?;
        }
        step("before a tree is deleted");
        files::remove_tree(&self.admin.path).map_err(|error| self.failed(error))?;
        step("after a tree was deleted");
        self.trees.forget(&self.admin, self.lock)?;
        Ok(Removal::Removed { rescued: std::mem::take(&mut self.rescued) })
    }

    fn enter(&mut self, stage: Stage) -> Result<(), TreeError> {
        self.marker.stage = stage;
        self.marker.write(&self.admin.dir)
    }

    /// A tree that was never finished is finished first: half-written files are nobody's work.
    fn complete(&mut self) -> Result<(), TreeError> {
        if self.admin.path.is_dir() {
            let checkout = self.checkout();
            self.admin.reconnect()?;
            unlock_index(&checkout)?;
            lay_out(&checkout, None, super::Lfs::Skip, self.lock)?;
        }
        Ok(())
    }

    /// The branch of a tree that was never finished goes too, if it is where it was made.
    fn drop_unused_branch(&self) -> Result<(), TreeError> {
        if self.marker.stage != Stage::Making {
            return Ok(());
        }
        let refs = self.trees.repository.refs();
        match refs.delete(&self.marker.branch.full(), &self.marker.base)? {
            Swap::Done | Swap::Moved { .. } => Ok(()),
        }
    }

    /// Rescues what is not committed. Where the files are gone, the index may still hold work.
    fn rescue(&mut self) -> Result<(), TreeError> {
        if self.marker.is_scratch {
            return Ok(());
        }
        let checkout = self.checkout();
        if self.admin.path.is_dir() {
            self.admin.reconnect()?;
        } else if !self.admin.dir.join("index").exists() {
            return Ok(());
        } else {
            std::fs::create_dir_all(&self.admin.path).map_err(|error| self.failed(error))?;
            // Without files everything would look deleted: what is staged is written out first.
            let args = ["checkout-index", "--all", "--quiet"];
            if let Err(error) = checkout.call(args).under(self.lock).done() {
                tracing::warn!(%error, "the staged files of a vanished tree cannot be written out");
            }
            self.admin.reconnect()?;
        }
        let (name, copies) = (&self.marker.name, self.marker.copies());
        let rescued = checkout.rescue_under(self.lock, name, "removal", &copies)?;
        self.left = rescued.left;
        if let Some(rescue) = rescued.rescue
            && !self.rescued.contains(&rescue)
        {
            self.rescued.push(rescue);
        }
        Ok(())
    }

    /// Moves the files to their place in quarantine and tells git.
    fn move_away(&mut self) -> Result<(), TreeError> {
        let Some(slot) = self.marker.slot.clone() else { return Ok(()) };
        let to = self.trees.root.join(QUARANTINE).join(slot);
        let from = self.trees.root.join(&self.marker.folder);
        let has_files = |path: &Path| path.join(".git").symlink_metadata().is_ok();
        if self.admin.path == from && from.is_dir() && !has_files(&to) {
            step("before a tree is moved to quarantine");
            std::fs::rename(&from, &to).map_err(|error| self.failed(error))?;
            step("after a tree was moved to quarantine");
        }
        std::fs::create_dir_all(&to).map_err(|error| self.failed(error))?;
        self.admin.path = to;
        self.admin.reconnect()?;
        crate::git::submodule::follow(&self.checkout())?;
        Ok(())
    }

    /// Looks once more, now that nobody can come in: processes that still work there, files that
    /// were written since, and files that cannot be rescued keep the tree from being deleted.
    fn reason_to_wait(&mut self) -> Result<Option<WhyQuarantined>, TreeError> {
        match Occupancy::of(&self.admin.path) {
            Occupancy::Free => {}
            Occupancy::Used(occupants) => return Ok(Some(WhyQuarantined::Used(occupants))),
            Occupancy::Unknown => return Ok(Some(WhyQuarantined::Unknown)),
        }
        self.rescue()?;
        let left = std::mem::take(&mut self.left);
        if left.is_empty() {
            put_copies_aside(self.trees, &self.admin, &self.marker)?;
            return Ok(None);
        }
        Ok(Some(WhyQuarantined::Left(left)))
    }
}

/// Puts copies of untracked files that whoever worked in a tree changed into quarantine, and removes
/// the others. They are not rescued into commits: such files often hold secrets.
pub(super) fn put_copies_aside(
    trees: &AttemptTrees,
    admin: &Admin,
    marker: &Marker,
) -> Result<(), TreeError> {
    let mut aside: Option<PathBuf> = None;
    for copy in &marker.copied {
        let path = TreePath::new(&copy.path);
        let from = path.below(&admin.path);
        let failed = |source| TreeError::File { path: from.clone(), source };
        if from.symlink_metadata().is_err() {
            continue;
        }
        if copy.is_unchanged(&admin.path) {
            files::remove(&from).map_err(failed)?;
            continue;
        }
        let folder = if let Some(folder) = &aside {
            folder.clone()
        } else {
            let slot = trees.slot(&format!("{}.copies", marker.folder)).map_err(failed)?;
            aside.insert(trees.root.join(QUARANTINE).join(slot)).clone()
        };
        let to = path.below(&folder);
        std::fs::create_dir_all(to.parent().unwrap_or(&folder)).map_err(failed)?;
        step("before a changed copy is put aside");
        std::fs::rename(&from, &to).map_err(failed)?;
    }
    Ok(())
}

/// Lets go of the branch that is checked out, without touching files or index.
pub(super) fn detach(checkout: &Checkout) -> Result<(), TreeError> {
    if let Head::Branch { commit, .. } = checkout.head()? {
        let args = ["update-ref", "--no-deref", "-m", "althing: detach", "HEAD"];
        checkout.call(args).arg(commit.as_str()).done()?;
    }
    Ok(())
}
