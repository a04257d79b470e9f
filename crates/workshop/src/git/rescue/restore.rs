//! Putting rescued work back: as a branch, or as files beside what is there.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Rescue, RescueError, Rescues};
use crate::git::call::GitError;
use crate::git::changes::{Change, ChangeKind, differing};
use crate::git::checkout::Checkout;
use crate::git::files::{Found, look};
use crate::git::names;
use crate::git::ref_name::BranchName;
use crate::git::refs::Swap;
use crate::git::snapshot::IndexCopy;
use crate::git::tree_path::TreePath;

/// The part of rescued work that is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The files that differ from the commit that was checked out.
    Changed,
    /// All files of the tree.
    Whole,
}

/// Files that were put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were written.
    pub written: Vec<TreePath>,
    /// Files that were there already with the same content.
    pub same: Vec<TreePath>,
    /// Files that stay as they are, because something else is at that path.
    pub kept: Vec<TreePath>,
    /// Files that had been deleted in the rescued work. They stay where they are there.
    pub deleted: Vec<TreePath>,
}

impl Rescues<'_> {
    /// Makes a new branch at rescued work.
    pub fn restore_branch(&self, rescue: &Rescue, branch: &BranchName) -> Result<(), RescueError> {
        let swap = self.repository.refs().swap(
            &branch.full(),
            &rescue.commit,
            None,
            "althing: restore",
        )?;
        match swap {
            Swap::Done => Ok(()),
            Swap::Moved { now } => {
                let at = now.unwrap_or_else(|| rescue.commit.clone());
                Err(RescueError::BranchExists { branch: branch.to_string(), at })
            }
        }
    }

    /// Writes the files of rescued work into a folder: a checkout or any other. Nothing that is
    /// there is overwritten or deleted, and no link is followed.
    pub fn restore_into(
        &self,
        rescue: &Rescue,
        folder: &Path,
        what: What,
    ) -> Result<Restored, RescueError> {
        let unusable = |source| RescueError::Folder { folder: folder.to_owned(), source };
        let folder = folder.canonicalize().map_err(unusable)?;
        if !folder.is_dir() {
            return Err(unusable(std::io::ErrorKind::NotADirectory.into()));
        }
        let git_dir = self.repository.git_dir();
        let target = Checkout::new(
            self.repository,
            &folder,
            git_dir,
            &git_dir.join("althing-checkout.lock"),
        );
        let _lock = target.lock()?;
        let index = IndexCopy::with(&target, &rescue.commit)?;
        let mut restored = Restored::default();
        let mut missing = Vec::new();
        let state = disk_state(&target, &index)?;
        for path in self.paths(rescue, what, &mut restored)? {
            let is_free = || look(&folder, &path).map(|found| matches!(found, Found::Nothing));
            match state.get(&path) {
                None => restored.same.push(path),
                Some(b'D') if is_free().map_err(unusable)? => missing.push(path),
                Some(_) => restored.kept.push(path),
            }
        }
        write_out(&target, &index, &missing)?;
        restored.written = missing;
        Ok(restored)
    }

    /// The files to be put back; deleted ones go to a list of their own.
    fn paths(
        &self,
        rescue: &Rescue,
        what: What,
        restored: &mut Restored,
    ) -> Result<Vec<TreePath>, RescueError> {
        let changes = differing(self.repository, &self.before(rescue)?, &rescue.commit)?;
        let is_gone = |change: &Change| change.kind == ChangeKind::Deleted;
        let (gone, there): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(is_gone);
        restored.deleted = gone.into_iter().map(|change| change.path).collect();
        if what == What::Changed {
            return Ok(there.into_iter().map(|change| change.path).collect());
        }
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", rescue.commit.as_str()];
        Ok(names(&self.repository.call(args).bytes()?).map(TreePath::new).collect())
    }
}

/// How the files on disk differ from an index: a letter for each path that does.
fn disk_state(target: &Checkout, index: &IndexCopy) -> Result<BTreeMap<TreePath, u8>, GitError> {
    // It answers 1 if something differs, which is what is asked for next.
    let refresh = target.call(["update-index", "-q", "--refresh"]).index(index.path());
    refresh.answers(&[1]).done()?;
    let args = ["diff-files", "-z", "--name-status", "--ignore-submodules=all"];
    let printed = target.call(args).index(index.path()).bytes()?;
    let fields: Vec<&[u8]> = names(&printed).collect();
    let pair = |pair: &[&[u8]]| Some((TreePath::new(pair.get(1)?), *pair.first()?.first()?));
    Ok(fields.chunks_exact(2).filter_map(pair).collect())
}

fn write_out(target: &Checkout, index: &IndexCopy, paths: &[TreePath]) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    // Without --force git leaves a file alone that appeared in between.
    let args = ["checkout-index", "-z", "--stdin", "--quiet"];
    target.call(args).index(index.path()).input(&input).done()
}
