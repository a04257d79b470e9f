//! The trees of attempts: linked worktrees outside the repository, each on a branch of its own.
//!
//! Making one is a sequence of steps that can be cut off anywhere. Before the first step the name's
//! lock file says what is to be made, and a marker among git's files for the worktree says how far
//! it is, so that the next caller completes it, or undoes it without losing anything. Locks belong
//! to the operating system: they are free as soon as their holder, and any git it started, is gone.
//!
//! A finished tree can stay as a member of the pool. The next attempt that asks for it gets it reset
//! to its own base, with ignored files, such as build output, still there.

mod admin;
mod copy;
mod make;
mod marker;
mod pool;
mod removal;

use std::path::{Path, PathBuf};

use crate::file_lock::{FileLock, LockError};
use crate::git::call::GitError;
use crate::git::checkout::Checkout;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{BranchName, NameError, TreeName};
use crate::git::repository::{Repository, real};
use crate::git::rescue::RescueError;
use crate::git::submodule::MissingSubmodule;
use crate::git::tree_path::TreePath;
pub(crate) use admin::Admin;
pub use copy::{Copied, NotCopied, WhyNotCopied};
pub(crate) use make::lay_out;
pub(crate) use marker::{Marker, Stage};
pub use removal::{Quarantined, Removal, WhyQuarantined};

/// A tree that could not be made, opened, reused or removed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The folder for trees cannot be used.
    #[error("{} cannot hold trees: {source}", root.display())]
    Root {
        /// The folder.
        root: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The folder for trees lies in the project, where git would show them as new files.
    #[error("{} lies inside the project and is not ignored", root.display())]
    RootInProject {
        /// The folder.
        root: PathBuf,
    },
    /// There is a tree of that name with another base.
    #[error("there is a tree named {name} already, at {}", path.display())]
    Exists {
        /// The name.
        name: TreeName,
        /// Its folder.
        path: PathBuf,
    },
    /// There is no tree of that name.
    #[error("there is no tree named {name}")]
    Unknown {
        /// The name.
        name: TreeName,
    },
    /// The branch is there already.
    #[error("the branch {branch} exists already, at {}", tip.short())]
    BranchExists {
        /// The branch.
        branch: BranchName,
        /// Its commit.
        tip: ObjectId,
    },
    /// The branch is checked out somewhere else.
    #[error("the branch {branch} is checked out elsewhere: {said}")]
    BranchInUse {
        /// The branch.
        branch: BranchName,
        /// Git's words, which name the place.
        said: String,
    },
    /// Another branch keeps this one from being made: a branch is a name or a folder of names.
    #[error("the branch {branch} cannot be made beside the branch {other}")]
    BranchBlocked {
        /// The branch.
        branch: BranchName,
        /// The other one.
        other: String,
    },
    /// The base is no commit of the repository.
    #[error("{base} is no commit of this repository")]
    NoBase {
        /// The id.
        base: ObjectId,
    },
    /// A filter of the repository, such as that of LFS, failed.
    #[error("a filter failed while files were checked out: {said}")]
    Filter {
        /// Git's words.
        said: String,
    },
    /// Files or folders could not be changed.
    #[error("{} cannot be changed: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A git that was killed left a lock, and somebody may still work there.
    #[error("{} is locked by {}", path.display(), lock.display())]
    Locked {
        /// The tree.
        path: PathBuf,
        /// The lock file.
        lock: PathBuf,
    },
    /// Work could not be rescued, so nothing was touched.
    #[error(transparent)]
    Rescue(#[from] RescueError),
    /// Another process works on the same tree.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A name cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl TreeError {
    /// The way out.
    pub fn hint(&self) -> String {
        let text = match self {
            TreeError::Root { .. } | TreeError::File { .. } => "check its owner and its rights",
            TreeError::RootInProject { .. } => {
                "choose a folder outside, or add it to .gitignore or .git/info/exclude"
            }
            TreeError::Exists { .. } => "open that one, remove it, or choose another name",
            TreeError::Unknown { .. } => "list the trees there are",
            TreeError::BranchExists { .. } => {
                "continue it, take the next free name, or delete the branch"
            }
            TreeError::BranchInUse { .. } => "check out something else there",
            TreeError::BranchBlocked { .. } => "rename or delete the other branch",
            TreeError::NoBase { .. } => "name a commit that git log shows",
            TreeError::Filter { .. } => {
                "install the filter's program (git lfs install), or have LFS skipped"
            }
            TreeError::Locked { .. } => {
                "if no git runs there any more, remove the lock file, then repeat"
            }
            TreeError::Rescue(error) => return error.hint(),
            TreeError::Lock(error) => return error.hint(),
            TreeError::Name(_) => "choose another name",
            TreeError::Git(error) => return error.hint(),
        };
        text.to_owned()
    }
}

/// What happens if the branch of a new tree is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfBranchExists {
    /// The tree is refused.
    Refuse,
    /// The next free name is taken: `lexer.2`, `lexer.3`, and so on.
    NextFree,
    /// The tree is made on the branch as it is; its commits stay.
    Continue,
}

/// Whether files that LFS keeps are brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lfs {
    /// As git is configured.
    #[default]
    AsConfigured,
    /// They stay pointers.
    Skip,
}

/// Further content of a tree, besides the files of its commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provisions {
    /// Untracked files and folders of the project to be copied, such as `.env`.
    pub copy: Vec<PathBuf>,
    /// Files that LFS keeps.
    pub lfs: Lfs,
}

/// A tree to be made.
#[derive(Clone, Debug)]
pub struct NewTree {
    /// Its name, which is also that of its folder.
    pub name: TreeName,
    /// Its branch.
    pub branch: BranchName,
    /// The commit it starts from.
    pub base: ObjectId,
    /// What happens if the branch is there already.
    pub if_branch_exists: IfBranchExists,
    /// Whether a finished tree of the pool may be used.
    pub reuse: bool,
    /// Further content.
    pub provisions: Provisions,
}

/// The tree of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptTree {
    name: TreeName,
    branch: BranchName,
    base: ObjectId,
    checkout: Checkout,
    origin: Origin,
    notices: Notices,
}

/// How a tree came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was made now.
    Made,
    /// It was taken from the pool and reset.
    Reused,
    /// It was there, finished, from an earlier call.
    Found,
}

/// What is not in a tree as it is in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Submodules that could not be checked out.
    pub submodules: Vec<MissingSubmodule>,
    /// Files that were not copied.
    pub not_copied: Vec<NotCopied>,
    /// Files that were copied and are not ignored: git shows them as work of the attempt.
    pub not_ignored: Vec<TreePath>,
}

/// The state of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeState {
    /// Somebody makes it, or was killed while doing so.
    Making,
    /// It belongs to an attempt.
    Ready,
    /// It is in the pool.
    Free,
    /// It is being removed, or waits in quarantine.
    Leaving,
}

/// A tree in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name; in the pool that of its last attempt.
    pub name: TreeName,
    /// Its state.
    pub state: TreeState,
    /// Its folder.
    pub path: PathBuf,
    /// Its branch.
    pub branch: BranchName,
    /// The commit it started from.
    pub base: ObjectId,
    /// Whether the folder is there.
    pub is_there: bool,
}

/// The trees of a repository's attempts, below one folder.
#[derive(Clone, Debug)]
pub struct AttemptTrees {
    repository: Repository,
    root: PathBuf,
}

impl AttemptTree {
    /// Its name.
    pub fn name(&self) -> &TreeName {
        &self.name
    }

    /// The branch it was made on. Whoever works there may have left it.
    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// The commit it started from.
    pub fn base(&self) -> &ObjectId {
        &self.base
    }

    /// Its files.
    pub fn checkout(&self) -> &Checkout {
        &self.checkout
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.checkout.path()
    }

    /// How it came to be.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// What is not in it as it is in the project.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }
}

impl AttemptTrees {
    /// The trees below a folder, which is made if it is not there.
    pub fn new(repository: &Repository, root: &Path) -> Result<Self, TreeError> {
        let unusable = |source| TreeError::Root { root: root.to_owned(), source };
        std::fs::create_dir_all(root).map_err(unusable)?;
        let root = root.canonicalize().map_err(unusable)?;
        let trees = AttemptTrees { repository: repository.clone(), root };
        trees.check_root()?;
        Ok(trees)
    }

    /// A folder inside the project must be ignored, or every tree would show up as untracked there.
    fn check_root(&self) -> Result<(), TreeError> {
        let Some(top) = self.repository.work_tree() else { return Ok(()) };
        if !self.root.starts_with(top) || self.root.starts_with(self.repository.common_dir()) {
            return Ok(());
        }
        let refused = || TreeError::RootInProject { root: self.root.clone() };
        let checkout = self.repository.checkout().ok_or_else(refused)?;
        let call = checkout.call(["check-ignore", "--quiet", "--"]).arg(&self.root).with_magic();
        // The project itself cannot be asked about.
        let is_ignored = self.root != top && call.found()?.is_some();
        if is_ignored { Ok(()) } else { Err(refused()) }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The finished tree of a name, if there is one.
    pub fn open(&self, name: &TreeName) -> Result<Option<AttemptTree>, TreeError> {
        let found = self.find(name)?;
        let Some((admin, marker)) = found.filter(|(_, own)| own.stage == Stage::Ready) else {
            return Ok(None);
        };
        if !admin.path.is_dir() {
            return Ok(None);
        }
        admin.reconnect()?;
        Ok(Some(self.tree(&admin, &marker, Origin::Found, Notices::default())))
    }

    /// All trees.
    pub fn list(&self) -> Result<Vec<TreeEntry>, TreeError> {
        let entry = |(admin, marker): (Admin, Marker)| TreeEntry {
            state: match marker.stage {
                Stage::Making => TreeState::Making,
                Stage::Ready => TreeState::Ready,
                Stage::Free => TreeState::Free,
                Stage::Leaving | Stage::Removing => TreeState::Leaving,
            },
            name: marker.name,
            is_there: admin.path.is_dir(),
            path: admin.path,
            branch: marker.branch,
            base: marker.base,
        };
        let marked = self.marked()?.into_iter().filter(|(_, marker)| !marker.is_scratch);
        let mut found: Vec<TreeEntry> = marked.map(entry).collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// The worktrees below the root that have a marker.
    pub(crate) fn marked(&self) -> Result<Vec<(Admin, Marker)>, TreeError> {
        let mut found = Vec::new();
        for admin in Admin::all(&self.repository, &self.root) {
            if let Some(marker) = Marker::read(&admin.dir)? {
                found.push((admin, marker));
            }
        }
        Ok(found)
    }

    /// The worktree that belongs to a name. One in the pool belongs to none, and one in quarantine
    /// does not any more.
    fn find(&self, name: &TreeName) -> Result<Option<(Admin, Marker)>, TreeError> {
        let belongs = |own: &Marker| {
            let is_live = matches!(own.stage, Stage::Making | Stage::Ready);
            is_live && own.name == *name && !own.is_scratch
        };
        Ok(self.marked()?.into_iter().find(|(_, own)| belongs(own)))
    }

    fn tree(
        &self,
        admin: &Admin,
        marker: &Marker,
        origin: Origin,
        notices: Notices,
    ) -> AttemptTree {
        AttemptTree {
            name: marker.name.clone(),
            branch: marker.branch.clone(),
            base: marker.base.clone(),
            checkout: self.checkout(admin, marker),
            origin,
            notices,
        }
    }

    pub(crate) fn checkout(&self, admin: &Admin, marker: &Marker) -> Checkout {
        let lock = self.tree_lock(&marker.folder);
        Checkout::new(&self.repository, &admin.path, &admin.dir, &lock)
    }

    /// The lock of a folder for a tree, whoever it belongs to.
    pub(crate) fn tree_lock(&self, folder: &str) -> PathBuf {
        self.root.join(".locks/trees").join(format!("{folder}.lock"))
    }

    /// Waits until nobody else makes, reuses or removes the tree of a name.
    fn lock_name(&self, name: &TreeName) -> Result<FileLock, LockError> {
        FileLock::take(&self.root.join(".locks/names").join(format!("{name}.lock")))
    }
}

/// A folder's real path, also if only the folders above it are there.
fn real_below(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => path.to_owned(),
    }
}
