//! Rescued work: before a tree is reset, removed or reused, everything in it that is not committed
//! becomes a commit under `refs/althing/rescue/<name>/<number>`.
//!
//! The first parent is the commit that was checked out. Further parents keep what else would go
//! with the tree: an index that differs from the files, the other side of an unfinished merge, a
//! stash that a rebase made. Work in repositories inside the tree lies in refs beside it. Nothing
//! here is ever overwritten, and only [`Rescues::drop`] deletes.

mod listing;
mod restore;
mod work;

use std::path::PathBuf;

use crate::file_lock::LockError;
use crate::git::call::GitError;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{NameError, RefName, TreeName};
use crate::git::snapshot::{LeftBehind, SnapshotError};
pub use listing::Rescues;
pub use restore::{Restored, What};

/// Where rescued work lies.
pub const RESCUE_REFS: &str = "refs/althing/rescue/";

/// Work that could not be rescued, shown or put back.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    /// The present state could not be read.
    #[error("the work in {} cannot be rescued: {source}", path.display())]
    Snapshot {
        /// The tree.
        path: PathBuf,
        /// The reason.
        source: SnapshotError,
    },
    /// Another process works on the same tree.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A name cannot be used for a ref.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such rescued work.
    #[error("nothing is rescued under {reference}")]
    Unknown {
        /// The ref that was looked for.
        reference: String,
    },
    /// It is not what the caller saw.
    #[error("{reference} was changed by somebody else")]
    Moved {
        /// The ref.
        reference: String,
    },
    /// The branch to restore to is there already.
    #[error("the branch {branch} exists already, at {}", at.short())]
    BranchExists {
        /// The branch.
        branch: String,
        /// Its commit.
        at: ObjectId,
    },
    /// The folder to restore into cannot be used.
    #[error("{} cannot be restored into: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl RescueError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            RescueError::Snapshot { source, .. } => source.hint(),
            RescueError::Lock(error) => error.hint(),
            RescueError::Git(error) => error.hint(),
            RescueError::Name(_) => "choose another name".to_owned(),
            RescueError::Unknown { .. } => "list what there is: althing rescue list".to_owned(),
            RescueError::Moved { .. } => "list it again and repeat".to_owned(),
            RescueError::BranchExists { .. } => "choose another branch".to_owned(),
            RescueError::Folder { .. } => "name a folder that exists and can be written".to_owned(),
        }
    }
}

/// Rescued work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// The tree it comes from.
    pub name: TreeName,
    /// Counts the rescues from that tree, from 1.
    pub number: u32,
    /// The ref that keeps it.
    pub reference: RefName,
    /// The commit.
    pub commit: ObjectId,
    /// When it was made, in seconds since 1970.
    pub at: i64,
    /// The branch that was checked out, if one was.
    pub branch: Option<String>,
    /// How many files differ from the commit that was checked out.
    pub files: usize,
    /// The first line of its message.
    pub subject: String,
    /// The reason, such as `removal`.
    pub reason: String,
    /// Work in repositories inside the tree.
    pub inner: Vec<InnerRescue>,
    /// The state it was made from, to recognize a repetition.
    pub(crate) fingerprint: String,
}

/// Rescued work of a repository inside a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerRescue {
    /// Where the repository was in the tree.
    pub path: String,
    /// The ref that keeps its files as they were; its branches lie beside it.
    pub reference: RefName,
}

/// The outcome of rescuing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescued {
    /// The commit, if there was anything to rescue.
    pub rescue: Option<Rescue>,
    /// Files that could not be taken over. A tree that has any must not be deleted.
    pub left: Vec<LeftBehind>,
}
