//! A checkout: files of a commit on disk, with an index and a head of their own. The person's work
//! tree is one, each attempt has one, and so has each check of a merge.
//!
//! Every call names the repository and the files. Git never looks for a repository by itself here:
//! in a folder whose `.git` an agent removed it would find one further up, and work on that.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::file_lock::{FileLock, LockError};
use crate::git::author::Author;
use crate::git::call::{Call, GitError};
use crate::git::object_id::ObjectId;
use crate::git::ref_name::BranchName;
use crate::git::repository::Repository;

/// A checkout of a repository.
#[derive(Clone, Debug)]
pub struct Checkout {
    repository: Repository,
    path: PathBuf,
    git_dir: PathBuf,
    lock: PathBuf,
}

/// Where a checkout stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// On a branch.
    Branch {
        /// Its name.
        name: BranchName,
        /// Its commit.
        commit: ObjectId,
    },
    /// On a commit, on no branch.
    Detached {
        /// The commit.
        commit: ObjectId,
    },
    /// On a branch that has no commit yet.
    Unborn {
        /// The full name of its ref.
        branch: String,
    },
}

/// Something that somebody began in a checkout and has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A rebase.
    Rebase,
    /// Patches that are applied from mails.
    Patches,
    /// A search for the commit that broke something.
    Bisect,
}

impl Head {
    /// The commit that is checked out, if there is one.
    pub fn commit(&self) -> Option<&ObjectId> {
        match self {
            Head::Branch { commit, .. } | Head::Detached { commit } => Some(commit),
            Head::Unborn { .. } => None,
        }
    }

    /// The branch that is checked out, if one is and has a commit.
    pub fn branch(&self) -> Option<&BranchName> {
        if let Head::Branch { name, .. } = self { Some(name) } else { None }
    }

    /// Asks for it with calls made like this one.
    pub(crate) fn read(like: &Call<'_>) -> Result<Head, GitError> {
        let symbolic = like.clone().args(["symbolic-ref", "--quiet", "HEAD"]).found()?;
        let commit = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let commit = like.clone().args(commit).found_id()?;
        match (symbolic, commit) {
            (Some(full), Some(commit)) => match BranchName::of_full(&full) {
                Some(name) => Ok(Head::Branch { name, commit }),
                None => Ok(Head::Detached { commit }),
            },
            (None, Some(commit)) => Ok(Head::Detached { commit }),
            (full, None) => Ok(Head::Unborn { branch: full.unwrap_or_default() }),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Merge => "a merge",
            Operation::CherryPick => "a cherry-pick",
            Operation::Revert => "a revert",
            Operation::Rebase => "a rebase",
            Operation::Patches => "applying of patches",
            Operation::Bisect => "a bisection",
        })
    }
}

/// The files in a git folder that show an operation.
const MARKS: &[(&str, Operation)] = &[
    ("rebase-merge", Operation::Rebase),
    ("rebase-apply/applying", Operation::Patches),
    ("rebase-apply", Operation::Rebase),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    ("MERGE_HEAD", Operation::Merge),
    ("BISECT_LOG", Operation::Bisect),
];

impl Checkout {
    pub(crate) fn new(repository: &Repository, path: &Path, git_dir: &Path, lock: &Path) -> Self {
        Checkout {
            repository: repository.clone(),
            path: path.to_owned(),
            git_dir: git_dir.to_owned(),
            lock: lock.to_owned(),
        }
    }

    /// The same checkout, with another author of commits.
    #[must_use]
    pub fn with_author(&self, author: &Author) -> Checkout {
        Checkout { repository: self.repository.with_author(author), ..self.clone() }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The folder with the files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its own git folder, with its index.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Where it stands.
    pub fn head(&self) -> Result<Head, GitError> {
        Head::read(&self.call(["--version"]))
    }

    /// Something that is not finished here.
    pub fn under_way(&self) -> Option<Operation> {
        let found = MARKS.iter().find(|(name, _)| self.git_dir.join(name).exists());
        found.map(|(_, operation)| *operation)
    }

    /// Forgets what is not finished, without touching files or commits.
    pub(crate) fn forget_operations(&self) -> std::io::Result<()> {
        let more = ["sequencer", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG"];
        let more = more.into_iter().chain(["BISECT_START", "BISECT_NAMES", "BISECT_TERMS"]);
        let marks = MARKS.iter().map(|(name, _)| *name).chain(more);
        for name in marks {
            crate::git::files::remove(&self.git_dir.join(name))?;
        }
        Ok(())
    }

    /// The lock that all who change something here hold. An agent that works here does not.
    pub(crate) fn lock(&self) -> Result<FileLock, LockError> {
        FileLock::take(&self.lock)
    }

    /// A call about these files and this index.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call<'_> {
        Call::new(&self.path, args)
            .git_dir(&self.git_dir)
            .work_tree(&self.path)
            .author(self.repository.author())
    }
}
