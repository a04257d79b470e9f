//! Merging without a work tree: what a merge would lead to, the commit of it, and moving a branch
//! there on condition that nobody moved it before.
//!
//! [`Repository::merge`] asks `git merge-tree`, which touches neither files nor index. Conflicts are
//! resolved in the tree of the attempt ([`Checkout::merge_in`](crate::git::checkout::Checkout::merge_in)).
//! The person's own branch comes last, by [`Repository::fast_forward`].

mod conflict;
mod fast_forward;
mod into_tree;
pub(crate) mod markers;
mod revert;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::file_lock::LockError;
use crate::git::call::GitError;
use crate::git::changes::{Change, differing};
use crate::git::checkout::Operation;
use crate::git::message::Message;
use crate::git::names;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::BranchName;
use crate::git::refs::Swap;
use crate::git::repository::Repository;
use crate::git::snapshot::SnapshotError;
use crate::git::tree_path::{TreePath, some};
pub use conflict::{Conflict, ConflictKind};
pub use fast_forward::{FastForward, Refusal};
pub(crate) use into_tree::settle;
pub use into_tree::{MergedIn, Unresolved};
pub use revert::Reverted;

/// A merge that could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The two have no common commit here.
    #[error("{} and {} have no commit in common here", tip.short(), head.short())]
    Unrelated {
        /// The commit that is merged into.
        tip: ObjectId,
        /// The commit that is merged.
        head: ObjectId,
    },
    /// The tree of an attempt has changes that are not committed.
    #[error("{} has changes that are not committed: {}", path.display(), some(paths))]
    Uncommitted {
        /// The tree.
        path: PathBuf,
        /// The files.
        paths: Vec<TreePath>,
    },
    /// Somebody is in the middle of something else there.
    #[error("{operation} is under way in {}", path.display())]
    UnderWay {
        /// The operation.
        operation: Operation,
        /// The tree.
        path: PathBuf,
    },
    /// The commit to be reverted has no parent.
    #[error("{commit} is the first commit and cannot be reverted")]
    NoParent {
        /// The commit.
        commit: ObjectId,
    },
    /// A file of git's own cannot be used.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Something that was cut off before could not be put right.
    #[error(transparent)]
    Settle(#[from] SnapshotError),
    /// Another process works on the same tree.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl MergeError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            MergeError::Unrelated { .. } => {
                "if the history is cut off, bring the rest: git fetch --unshallow".to_owned()
            }
            MergeError::Uncommitted { .. } => "commit them first".to_owned(),
            MergeError::UnderWay { operation, .. } => format!("finish or abort {operation} first"),
            MergeError::NoParent { .. } => "revert a later commit".to_owned(),
            MergeError::File { .. } => "check that git's own folder can be written".to_owned(),
            MergeError::Settle(error) => error.hint(),
            MergeError::Lock(error) => error.hint(),
            MergeError::Git(error) => error.hint(),
        }
    }
}

/// Decides which paths a merge may change.
pub type Allowed<'a> = &'a dyn Fn(&TreePath) -> bool;

/// The outcome of a merge that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The tip has all of it already.
    AlreadyIn,
    /// It can be merged.
    Clean(CleanMerge),
    /// It could be merged, but changes paths that are not allowed.
    Outside {
        /// The paths.
        paths: Vec<TreePath>,
    },
    /// It cannot be merged by itself.
    Conflicts(Conflicts),
}

/// A merge without conflicts, not yet a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanMerge {
    /// The commit that is merged into.
    pub tip: ObjectId,
    /// The commit that is merged.
    pub head: ObjectId,
    /// The tree of the result.
    pub tree: ObjectId,
    /// The changes that it brings to the tip. Renamed files stand under both names.
    pub changes: Vec<Change>,
}

/// A merge with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// The tree of the result, with conflict markers in the files; none where the conflict is about
    /// names only.
    pub tree: Option<ObjectId>,
    /// The conflicts.
    pub conflicts: Vec<Conflict>,
}

/// The outcome of moving a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// It is where it was to be.
    Done,
    /// Somebody else moved it; it stays as it is.
    Moved {
        /// Where it is now; none if it is gone.
        tip: Option<ObjectId>,
    },
    /// It is checked out, and the files there would not follow.
    CheckedOut {
        /// Where.
        path: PathBuf,
    },
}

impl Repository {
    /// Tries to merge a commit into another. No file, index or branch is touched.
    pub fn merge(
        &self,
        tip: &ObjectId,
        head: &ObjectId,
        allowed: Option<Allowed<'_>>,
    ) -> Result<Merged, MergeError> {
        if self.is_ancestor(head, tip)? {
            return Ok(Merged::AlreadyIn);
        }
        let tree = match self.merge_trees(tip, head, None)? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Merged::Conflicts(conflicts)),
        };
        let changes = differing(self, tip, &tree)?;
        let clashes = self.case_clashes(&tree, &changes)?;
        if !clashes.is_empty() {
            return Ok(Merged::Conflicts(Conflicts { tree: None, conflicts: clashes }));
        }
        let is_outside = |path: &&TreePath| allowed.is_some_and(|allowed| !allowed(path));
        let paths: Vec<TreePath> =
            changes.iter().map(|change| &change.path).filter(is_outside).cloned().collect();
        if !paths.is_empty() {
            return Ok(Merged::Outside { paths });
        }
        Ok(Merged::Clean(CleanMerge { tip: tip.clone(), head: head.clone(), tree, changes }))
    }

    /// Makes the commit of a merge. It belongs to no branch yet.
    pub fn merge_commit(
        &self,
        merge: &CleanMerge,
        message: &Message,
    ) -> Result<ObjectId, MergeError> {
        Ok(self.commit(&merge.tree, &[&merge.tip, &merge.head], &message.text())?)
    }

    /// Moves a branch that is nowhere checked out, if it is still where the caller saw it.
    pub fn advance(
        &self,
        branch: &BranchName,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Advance, MergeError> {
        if let Some(path) = self.checked_out(branch)? {
            return Ok(Advance::CheckedOut { path });
        }
        match self.refs().swap(&branch.full(), to, Some(from), "althing: merge")? {
            Swap::Done => Ok(Advance::Done),
            Swap::Moved { now } => Ok(Advance::Moved { tip: now }),
        }
    }

    /// Where a branch is checked out, if it is.
    pub fn checked_out(&self, branch: &BranchName) -> Result<Option<PathBuf>, GitError> {
        let wanted = format!("branch {}", branch.full());
        let listed = self.call(["worktree", "list", "--porcelain", "-z"]).bytes()?;
        let mut current = None;
        for line in listed.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                current = Some(PathBuf::from(crate::git::os(path)));
            } else if line == wanted.as_bytes() {
                return Ok(current);
            }
        }
        Ok(None)
    }

    /// Merges two commits with a base of git's choice, or with a given one.
    fn merge_trees(
        &self,
        ours: &ObjectId,
        theirs: &ObjectId,
        base: Option<&ObjectId>,
    ) -> Result<Result<ObjectId, Conflicts>, MergeError> {
        let mut call = self.call(["merge-tree", "--write-tree", "-z", "--name-only", "--messages"]);
        if let Some(base) = base {
            call = call.arg(format!("--merge-base={base}"));
        }
        let answer = match call.arg(ours.as_str()).arg(theirs.as_str()).answers(&[1]).run() {
            Err(error) if error.said().contains("unrelated histories") => {
                let (tip, head) = (ours.clone(), theirs.clone());
                return Err(MergeError::Unrelated { tip, head });
            }
            other => other?,
        };
        let parsed = conflict::parse(&answer.printed);
        let (tree, conflicts) = parsed.ok_or_else(|| {
            GitError::unreadable("merge-tree", "the list of conflicts is cut off")
        })?;
        if answer.code == 0 {
            return Ok(Ok(tree));
        }
        Ok(Err(Conflicts { tree: Some(tree), conflicts }))
    }

    /// Files that a merge brings beside others of the same name but for case, where the file system
    /// does not tell them apart.
    fn case_clashes(&self, tree: &ObjectId, changes: &[Change]) -> Result<Vec<Conflict>, GitError> {
        if !self.ignores_case() {
            return Ok(Vec::new());
        }
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree.as_str()];
        let printed = self.call(args).bytes()?;
        let mut by_fold: BTreeMap<String, Vec<TreePath>> = BTreeMap::new();
        for name in names(&printed) {
            let fold = String::from_utf8_lossy(name).to_lowercase();
            by_fold.entry(fold).or_default().push(TreePath::new(name));
        }
        let is_new = |path: &TreePath| changes.iter().any(|change| change.path == *path);
        let clash = |paths: &Vec<TreePath>| paths.len() > 1 && paths.iter().any(is_new);
        let conflict = |paths: Vec<TreePath>| {
            let text = format!("{} differ in case only", some(&paths));
            let kind = ConflictKind::Case;
            paths.into_iter().next().map(|path| Conflict { path, kind, text })
        };
        Ok(by_fold.into_values().filter(clash).filter_map(conflict).collect())
    }
}
