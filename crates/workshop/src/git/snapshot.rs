//! A snapshot: a commit of the files of a checkout as they are now, made from an index of its own.
//! The index, the branch and the files of whoever works there are not touched.
//!
//! Everything that git would show is in it: changed, staged and untracked files; ignored ones are
//! not. Files that somebody told git to overlook are looked at, and the files of a repository inside
//! this one are taken one by one.

mod index;
mod state;

use std::path::PathBuf;

use crate::file_lock::LockError;
use crate::git::call::GitError;
use crate::git::checkout::{Checkout, Operation};
use crate::git::merge::markers;
use crate::git::message::Message;
use crate::git::object_id::ObjectId;
use crate::git::occupants::is_abandoned;
use crate::git::ref_name::RefName;
use crate::git::refs::Swap;
use crate::git::rescue::RescueError;
use crate::git::tree_path::{TreePath, some};
pub(crate) use index::IndexCopy;
pub(crate) use state::State;

/// A snapshot that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another process works on the same checkout.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file of git's own could not be copied or read.
    #[error("{} cannot be used for a snapshot: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The ref is not where the caller saw it.
    #[error("{name} was moved by somebody else")]
    Moved {
        /// The ref.
        name: String,
        /// Where it is now.
        now: Option<ObjectId>,
    },
    /// Conflicts of a merge are not resolved.
    #[error("{} files still have conflicts: {}", paths.len(), some(paths))]
    Unresolved {
        /// The files.
        paths: Vec<TreePath>,
    },
    /// Somebody is in the middle of something that a commit would end.
    #[error("{operation} is under way in {}", path.display())]
    UnderWay {
        /// The operation.
        operation: Operation,
        /// The checkout.
        path: PathBuf,
    },
    /// A merge that was cut off before could not be undone.
    #[error("a merge that was cut off cannot be undone: {0}")]
    Rescue(Box<RescueError>),
}

impl SnapshotError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            SnapshotError::Lock(error) => error.hint(),
            SnapshotError::Git(error) => error.hint(),
            SnapshotError::File { .. } => "check that git's own folder can be read".to_owned(),
            SnapshotError::Moved { .. } => "look at it again and repeat".to_owned(),
            SnapshotError::Unresolved { .. } => {
                "edit these files, remove the lines with <<<<<<<, ======= and >>>>>>>, and repeat"
                    .to_owned()
            }
            SnapshotError::UnderWay { operation, .. } => {
                format!("finish or abort {operation} there first")
            }
            SnapshotError::Rescue(error) => error.hint(),
        }
    }
}

/// A file that could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// Its path, or the folder that could not be read.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// A commit of a checkout's present state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit.
    pub commit: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
    /// The commit that was checked out; none before the first.
    pub parent: Option<ObjectId>,
    /// How many files differ from that.
    pub files: usize,
    /// The files that could not be taken over.
    pub left: Vec<LeftBehind>,
}

/// The outcome of taking a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing differs from the commit that is checked out.
    Nothing {
        /// That commit.
        head: Option<ObjectId>,
        /// The files that could not be looked at.
        left: Vec<LeftBehind>,
    },
    /// There was one of the same state already.
    Same(Snapshot),
    /// A new one was made.
    New(Snapshot),
}

impl Taken {
    /// The snapshot, if something differs.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Taken::Nothing { .. } => None,
            Taken::Same(snapshot) | Taken::New(snapshot) => Some(snapshot),
        }
    }
}

/// Decides which paths are taken over.
pub type Wanted<'a> = &'a dyn Fn(&TreePath) -> bool;

impl Checkout {
    /// Takes a snapshot and puts a ref on it, which must be where the caller saw it (none: it does
    /// not exist yet). If the ref already has a snapshot of the same state, that one stays.
    pub fn snapshot(
        &self,
        to: &RefName,
        seen: Option<&ObjectId>,
        message: &Message,
    ) -> Result<Taken, SnapshotError> {
        let _lock = self.lock()?;
        let state = State::read(self, None)?;
        let head = state.head.commit();
        if state.is_unchanged() {
            return Ok(Taken::Nothing { head: head.cloned(), left: state.left });
        }
        let refs = self.repository().refs();
        if let Some(old) = refs.read(to)?
            && self.is_of(&old, &state)?
        {
            return Ok(Taken::Same(state.snapshot(old)));
        }
        let parents: Vec<&ObjectId> = head.into_iter().collect();
        let commit = self.repository().commit(&state.tree, &parents, &message.text())?;
        match refs.swap(to, &commit, seen, "althing: snapshot")? {
            Swap::Done => Ok(Taken::New(state.snapshot(commit))),
            Swap::Moved { now } => Err(SnapshotError::Moved { name: to.to_string(), now }),
        }
    }

    /// Moves what is checked out to a commit if the files here are just those of the commit. Files
    /// stay as they are; returns whether it was so.
    pub fn adopt(&self, commit: &ObjectId) -> Result<bool, SnapshotError> {
        let lock = self.lock()?;
        self.remove_abandoned_lock()?;
        let state = State::read(self, None)?;
        if !state.left.is_empty() || self.repository().tree_of(commit)? != state.tree {
            return Ok(false);
        }
        self.call(["reset", "--quiet", "--mixed", commit.as_str()]).under(&lock).done()?;
        Ok(true)
    }

    /// Removes the lock on the index that a git left which was killed here.
    fn remove_abandoned_lock(&self) -> Result<(), SnapshotError> {
        let path = self.git_dir().join("index.lock");
        if path.exists() && is_abandoned(&path, self.path()) {
            let failed = |source| SnapshotError::File { path: path.clone(), source };
            crate::git::files::remove(&path).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether a commit is a snapshot of this state.
    fn is_of(&self, commit: &ObjectId, state: &State) -> Result<bool, GitError> {
        let parent = self.repository().resolve(&format!("{commit}^"))?;
        let same_parent = parent.as_ref() == state.head.commit();
        Ok(same_parent && self.repository().tree_of(commit)? == state.tree)
    }

    /// Commits the present state onto what is checked out here, for an agent that did not or could
    /// not. Paths that are not wanted stay uncommitted. An unfinished merge is finished with it, if
    /// no conflict is left. None if there is nothing to commit.
    pub fn commit_all(
        &self,
        message: &Message,
        wanted: Option<Wanted<'_>>,
    ) -> Result<Option<Snapshot>, SnapshotError> {
        let lock = self.lock()?;
        crate::git::merge::settle(self, &lock)?;
        self.remove_abandoned_lock()?;
        let operation = self.under_way();
        if let Some(operation) =
            operation.filter(|own| !matches!(own, Operation::Merge | Operation::Bisect))
        {
            return Err(SnapshotError::UnderWay { operation, path: self.path().to_owned() });
        }
        let state = State::read(self, wanted)?;
        let paths = markers::unresolved(self, &state.status.unmerged);
        if !paths.is_empty() {
            return Err(SnapshotError::Unresolved { paths });
        }
        let merged = self.merge_heads()?;
        let head = state.head.commit();
        let is_done = merged.iter().all(|own| Some(own) == head);
        if state.is_unchanged() && is_done {
            // A process killed after the commit left an index that would undo it.
            if state.has_index_changes() || operation == Some(Operation::Merge) {
                self.call(["reset", "--quiet", "--mixed"]).under(&lock).done()?;
            }
            return Ok(None);
        }
        let parents: Vec<&ObjectId> = head.into_iter().chain(&merged).collect();
        let commit = self.repository().commit(&state.tree, &parents, &message.text())?;
        self.advance_head(&commit, head)?;
        self.call(["reset", "--quiet", "--mixed"]).under(&lock).done()?;
        Ok(Some(state.snapshot(commit)))
    }

    /// The commits that an unfinished merge brings.
    fn merge_heads(&self) -> Result<Vec<ObjectId>, SnapshotError> {
        let path = self.git_dir().join("MERGE_HEAD");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().filter_map(|line| ObjectId::new(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(SnapshotError::File { path, source }),
        }
    }

    /// Moves what is checked out to its next commit, unless somebody committed in between.
    fn advance_head(&self, to: &ObjectId, from: Option<&ObjectId>) -> Result<(), SnapshotError> {
        let old = from.map_or_else(|| to.zeroes(), ToString::to_string);
        let args = ["update-ref", "-m", "althing: commit", "HEAD", to.as_str(), old.as_str()];
        let Err(error) = self.call(args).done() else { return Ok(()) };
        let now = self.head()?.commit().cloned();
        if now.as_ref() == from {
            return Err(error.into());
        }
        Err(SnapshotError::Moved { name: "HEAD".to_owned(), now })
    }
}
