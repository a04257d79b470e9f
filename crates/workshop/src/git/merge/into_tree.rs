//! Merging a tip into the tree of an attempt, so that whoever works there can resolve conflicts.
//!
//! A note beside git's files for the tree says what is merged. Should git itself be killed half-way,
//! its files must not be taken for work of the attempt: the next caller undoes them.

use std::path::PathBuf;

use super::{MergeError, markers};
use crate::file_lock::FileLock;
use crate::git::call::{Call, GitError};
use crate::git::changes::{Status, Unmerged};
use crate::git::checkout::{Checkout, Operation};
use crate::git::files;
use crate::git::message::Message;
use crate::git::object_id::ObjectId;
use crate::git::occupants::is_abandoned;
use crate::git::ref_name::TreeName;
use crate::git::rescue::RescueError;
use crate::git::snapshot::SnapshotError;
use crate::git::tree_path::TreePath;

const NOTE: &str = "althing-merging";

/// The outcome of merging into a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergedIn {
    /// The tree has all of it already.
    AlreadyIn,
    /// It was merged and committed.
    Clean {
        /// The commit.
        commit: ObjectId,
    },
    /// It waits for somebody to resolve conflicts. [`Checkout::commit_all`] then commits it.
    Conflicts {
        /// The files.
        unmerged: Vec<Unmerged>,
    },
}

/// The conflicts that are left in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// Whether a merge is not finished.
    pub is_merging: bool,
    /// Files with an unfinished merge that nobody resolved.
    pub unmerged: Vec<TreePath>,
    /// Files that are not committed and have conflict markers.
    pub markers: Vec<TreePath>,
}

impl Unresolved {
    /// Whether everything is resolved, so that it can be committed.
    pub fn is_empty(&self) -> bool {
        self.unmerged.is_empty() && self.markers.is_empty()
    }
}

impl Checkout {
    /// Merges a commit into what is checked out here. Nothing may be uncommitted. Repeating it while
    /// its conflicts are open returns them again.
    pub fn merge_in(&self, tip: &ObjectId, message: &Message) -> Result<MergedIn, MergeError> {
        let lock = self.lock()?;
        settle(self, &lock)?;
        let status = Status::of(self, "--untracked-files=all", None)?;
        if let Some(operation) = self.under_way() {
            if operation == Operation::Merge && self.merges(tip) {
                return Ok(MergedIn::Conflicts { unmerged: status.unmerged });
            }
            return Err(MergeError::UnderWay { operation, path: self.path().to_owned() });
        }
        let head = self.head()?;
        let Some(commit) = head.commit() else {
            let (tip, head) = (tip.clone(), tip.clone());
            return Err(MergeError::Unrelated { tip, head });
        };
        if self.repository().is_ancestor(tip, commit)? {
            return Ok(MergedIn::AlreadyIn);
        }
        if !status.is_clean() {
            let paths = status.paths().into_iter().collect();
            return Err(MergeError::Uncommitted { path: self.path().to_owned(), paths });
        }
        let note = self.git_dir().join(NOTE);
        let failed = |source| MergeError::File { path: note.clone(), source };
        files::write(&note, format!("{commit} {tip}\n").as_bytes()).map_err(failed)?;
        let text = message.text();
        let args = ["merge", "--no-ff", "--no-edit", "--quiet", "--no-stat", "-m", &text];
        let call = quiet(self, self.call(args))?.arg(tip.as_str()).under(&lock);
        let answer = call.answers(&[1, 2, 128]).run()?;
        let outcome = self.outcome(tip, commit, answer.code, &answer.said);
        files::remove(&note).map_err(failed)?;
        outcome
    }

    /// What git left behind, which says more than its exit code.
    fn outcome(
        &self,
        tip: &ObjectId,
        before: &ObjectId,
        code: i32,
        said: &str,
    ) -> Result<MergedIn, MergeError> {
        if self.merges(tip) {
            let status = Status::of(self, "--untracked-files=no", None)?;
            return Ok(MergedIn::Conflicts { unmerged: status.unmerged });
        }
        match self.head()?.commit() {
            Some(now) if now != before => Ok(MergedIn::Clean { commit: now.clone() }),
            _ if said.contains("unrelated histories") => {
                Err(MergeError::Unrelated { tip: before.clone(), head: tip.clone() })
            }
            _ => {
                let (command, folder) = ("merge".to_owned(), self.path().to_owned());
                let said = said.trim().to_owned();
                Err(GitError::Failed { command, folder, code: Some(code), said }.into())
            }
        }
    }

    /// Whether a merge of this commit is under way.
    fn merges(&self, tip: &ObjectId) -> bool {
        let heads = std::fs::read_to_string(self.git_dir().join("MERGE_HEAD"));
        heads.is_ok_and(|heads| heads.lines().any(|line| line == tip.as_str()))
    }

    /// The conflicts that are left here.
    pub fn unresolved(&self) -> Result<Unresolved, MergeError> {
        let status = Status::of(self, "--untracked-files=all", None)?;
        Ok(Unresolved {
            is_merging: self.under_way() == Some(Operation::Merge),
            unmerged: markers::unresolved(self, &status.unmerged),
            markers: markers::on_disk(self.path(), &status.paths()),
        })
    }

    /// Tells the index that conflicts in some files are resolved as the files are now, for an agent
    /// that cannot. A file that is not there is resolved as deleted.
    pub fn resolve(&self, paths: &[TreePath]) -> Result<(), MergeError> {
        let _lock = self.lock()?;
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
        Ok(self.call(args).input(&input).done()?)
    }
}

/// Switches off what a person's settings would add to a merge.
pub(super) fn quiet<'c>(checkout: &Checkout, call: Call<'c>) -> Result<Call<'c>, GitError> {
    let mut call = call;
    for setting in [
        "merge.autoStash=false",
        "merge.verifySignatures=false",
        "commit.gpgSign=false",
        "rerere.enabled=false",
        "submodule.recurse=false",
    ] {
        call = call.setting(setting);
    }
    if let Some(branch) = checkout.head()?.branch() {
        call = call.setting(format!("branch.{branch}.mergeOptions="));
    }
    Ok(call)
}

/// Undoes a merge into a tree that git itself was killed in. The tree had nothing uncommitted when
/// it began, so whatever differs now is git's; it is rescued all the same.
pub(crate) fn settle(checkout: &Checkout, lock: &FileLock) -> Result<(), SnapshotError> {
    let note: PathBuf = checkout.git_dir().join(NOTE);
    let failed = |source| SnapshotError::File { path: note.clone(), source };
    let text = match std::fs::read_to_string(&note) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(failed(source)),
    };
    let head = checkout.head()?;
    let began_at = text.split(' ').next().unwrap_or_default();
    let is_half = head.commit().is_some_and(|own| own.as_str() == began_at)
        && !checkout.git_dir().join("MERGE_HEAD").exists();
    if is_half {
        let index_lock = checkout.git_dir().join("index.lock");
        if index_lock.exists() {
            if !is_abandoned(&index_lock, checkout.path()) {
                let command = "merge".to_owned();
                return Err(GitError::Locked { command, lock: index_lock }.into());
            }
            files::remove(&index_lock).map_err(failed)?;
        }
        let status = Status::of(checkout, "--untracked-files=all", None)?;
        if !status.is_clean() {
            let kept = TreeName::new("interrupted-merge").map_err(RescueError::from);
            let kept = kept.and_then(|name| checkout.rescue_under(lock, &name, "reset", &[]));
            kept.map_err(|error| SnapshotError::Rescue(Box::new(error)))?;
            checkout.call(["reset", "--quiet", "--hard"]).under(lock).done()?;
            checkout.call(["clean", "-ffdq"]).under(lock).done()?;
        }
    }
    files::remove(&note).map_err(failed)
}
