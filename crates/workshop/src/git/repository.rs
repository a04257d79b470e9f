//! A repository: where its parts are, and whether attempts can work in it.
//!
//! [`Repository::open`] finds it or refuses with a way out; [`Repository::survey`] says what is
//! special about it and how that is handled.

mod survey;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::git::author::Author;
use crate::git::call::{Call, GitError};
use crate::git::checkout::Checkout;
use crate::git::object_id::ObjectId;
use crate::git::refs::Refs;
use crate::git::tree_path::TreePath;
use crate::git::{names, os};
pub use survey::{Effect, Finding, Survey};

/// The oldest git that can do everything: `merge-tree --merge-base` came with it.
const OLDEST: (u32, u32) = (2, 40);

/// A repository that attempts cannot work in.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is no git.
    #[error("git cannot be found")]
    NoGit,
    /// The git there is lacks what is needed.
    #[error("git {found} is too old")]
    OldGit {
        /// Its version.
        found: String,
    },
    /// The folder is in no repository.
    #[error("{} is in no git repository", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is part of git's own files.
    #[error("{} is inside git's own folder", folder.display())]
    InsideGitFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Git does not trust the folder, because it belongs to somebody else.
    #[error("git does not trust {}: it belongs to another user", folder.display())]
    ForeignOwner {
        /// The folder.
        folder: PathBuf,
    },
    /// Nothing was committed yet, so attempts have nothing to start from.
    #[error("{} has no commit yet", folder.display())]
    NoCommit {
        /// The folder.
        folder: PathBuf,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RepositoryError {
    /// The way out.
    pub fn hint(&self) -> String {
        let (major, minor) = OLDEST;
        match self {
            RepositoryError::NoGit => {
                format!("install git {major}.{minor} or newer, or add it to the PATH")
            }
            RepositoryError::OldGit { .. } => format!("install git {major}.{minor} or newer"),
            RepositoryError::NoRepository { folder } => {
                let folder = folder.display();
                format!("make one: git -C '{folder}' init, then make a first commit")
            }
            RepositoryError::InsideGitFolder { .. } => {
                "go to the folder with the project's files".to_owned()
            }
            RepositoryError::ForeignOwner { folder } => {
                let folder = folder.display();
                format!("if you trust it: git config --global --add safe.directory '{folder}'")
            }
            RepositoryError::NoCommit { folder } => {
                let folder = folder.display();
                format!("make a first commit: git -C '{folder}' commit --allow-empty -m 'Begin'")
            }
            RepositoryError::Git(error) => error.hint(),
        }
    }
}

/// A repository, seen from the folder of the project: its main work tree, a linked one, or none if
/// it is bare.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The root of the work tree; none in a bare repository.
    top: Option<PathBuf>,
    /// The git folder of that work tree alone.
    git_dir: PathBuf,
    /// The git folder shared by all work trees.
    common_dir: PathBuf,
    /// Whether names of files that differ in case only are the same.
    ignores_case: bool,
    author: Author,
}

impl Repository {
    /// Finds the repository around a folder. Commits made through it name this author.
    pub fn open(folder: &Path, author: &Author) -> Result<Self, RepositoryError> {
        check_version(folder)?;
        let ask = |args: &[&str]| Call::new(folder, args);
        let refused = |error: GitError| refusal(folder, error);
        let bare = ask(&["rev-parse", "--is-bare-repository"]).line().map_err(refused)?;
        let git_dir = ask(&["rev-parse", "--absolute-git-dir"]).path().map_err(refused)?;
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common_dir = ask(&common).path().map_err(refused)?;
        let top = if bare == "true" {
            None
        } else {
            let inside = ask(&["rev-parse", "--is-inside-work-tree"]).line().map_err(refused)?;
            if inside != "true" {
                return Err(RepositoryError::InsideGitFolder { folder: folder.to_owned() });
            }
            Some(real(&ask(&["rev-parse", "--show-toplevel"]).path().map_err(refused)?))
        };
        let case = ask(&["config", "--type=bool", "--get", "core.ignoreCase"]).found();
        let ignores_case = case.map_err(refused)?.as_deref() == Some("true");
        let (git_dir, common_dir) = (real(&git_dir), real(&common_dir));
        Ok(Repository { top, git_dir, common_dir, ignores_case, author: author.clone() })
    }

    /// A repository inside a checkout of this one.
    pub(crate) fn inner(&self, folder: &Path, git_dir: &Path) -> Repository {
        Repository {
            top: Some(folder.to_owned()),
            git_dir: git_dir.to_owned(),
            common_dir: git_dir.to_owned(),
            ..self.clone()
        }
    }

    /// The same repository, with another author of commits.
    #[must_use]
    pub fn with_author(&self, author: &Author) -> Repository {
        Repository { author: author.clone(), ..self.clone() }
    }

    /// The root of the project's work tree; none in a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.top.as_deref()
    }

    /// The git folder of the project's work tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all work trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The author of commits.
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// The project's own checkout: the person's files. None in a bare repository.
    pub fn checkout(&self) -> Option<Checkout> {
        let top = self.top.as_deref()?;
        let lock = self.git_dir.join("althing-checkout.lock");
        Some(Checkout::new(self, top, &self.git_dir, &lock))
    }

    /// The refs.
    pub fn refs(&self) -> Refs<'_> {
        Refs::of(self)
    }

    /// The commit that a name, an id or an expression such as `main~2` stands for.
    pub fn resolve(&self, revision: &str) -> Result<Option<ObjectId>, GitError> {
        if revision.starts_with('-') || revision.contains('\0') {
            return Ok(None);
        }
        let name = format!("{revision}^{{commit}}");
        match self.call(["rev-parse", "--quiet", "--verify", &name]).found_id() {
            // An id of the right form that is not there is a failure, not an answer.
            Err(GitError::Failed { code: Some(128), .. }) => Ok(None),
            other => other,
        }
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &ObjectId) -> Result<ObjectId, GitError> {
        self.call(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).id()
    }

    /// The content of a file in a commit, as it is stored; of a link, where it leads. None if there
    /// is no file of that name.
    pub fn content(&self, commit: &ObjectId, path: &TreePath) -> Result<Option<Vec<u8>>, GitError> {
        if !path.is_plain() {
            return Ok(None);
        }
        // Asked for by its name alone, a file that is not there looks like one that is damaged.
        let args = ["ls-tree", "-z", "--full-tree", commit.as_str(), "--"];
        let listed = self.call(args).arg(os(path.as_bytes())).bytes()?;
        // `mode type id␉path`; a path that ends with `/` lists what is below it.
        let mut ids = names(&listed).filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'\t')?;
            let mut words = entry[..at].split(|byte| *byte == b' ').skip(1);
            let is_file = words.next() == Some(b"blob") && entry[at + 1..] == *path.as_bytes();
            is_file.then(|| words.next().and_then(ObjectId::of_bytes))
        });
        let Some(id) = ids.next() else { return Ok(None) };
        let id = id.ok_or_else(|| GitError::unreadable("ls-tree", "it names no object"))?;
        self.call(["cat-file", "blob", id.as_str()]).bytes().map(Some)
    }

    /// Whether a commit is another, or lies in its past.
    pub fn is_ancestor(&self, old: &ObjectId, new: &ObjectId) -> Result<bool, GitError> {
        let args = ["merge-base", "--is-ancestor", old.as_str(), new.as_str()];
        Ok(self.call(args).found()?.is_some())
    }

    /// The newest commit in the past of both. None if they have nothing in common.
    pub fn merge_base(
        &self,
        one: &ObjectId,
        other: &ObjectId,
    ) -> Result<Option<ObjectId>, GitError> {
        self.call(["merge-base", one.as_str(), other.as_str()]).found_id()
    }

    /// Whether names that differ in upper and lower case only are the same file here.
    pub fn ignores_case(&self) -> bool {
        self.ignores_case
    }

    /// A call about refs and objects. It is pinned to this repository, wherever it runs.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call<'_> {
        Call::new(&self.git_dir, args).git_dir(&self.git_dir).author(&self.author)
    }

    /// Makes a commit that belongs to no branch yet.
    pub(crate) fn commit(
        &self,
        tree: &ObjectId,
        parents: &[&ObjectId],
        message: &str,
    ) -> Result<ObjectId, GitError> {
        let mut call = self.call(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.arg("-p").arg(parent.as_str());
        }
        call.input(message.as_bytes()).id()
    }
}

fn check_version(folder: &Path) -> Result<(), RepositoryError> {
    let text = Call::new(folder, ["version"]).line().map_err(|error| refusal(folder, error))?;
    let version = text.strip_prefix("git version ").unwrap_or(&text);
    let mut numbers = version.split(['.', ' ', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST {
        return Err(RepositoryError::OldGit { found: version.to_owned() });
    }
    Ok(())
}

/// Recognizes the refusals that have a way out of their own.
fn refusal(folder: &Path, error: GitError) -> RepositoryError {
    let folder = folder.to_owned();
    match &error {
        GitError::Missing => RepositoryError::NoGit,
        GitError::Failed { said, .. } if said.contains("dubious ownership") => {
            RepositoryError::ForeignOwner { folder }
        }
        GitError::Failed { said, .. } if said.contains("not a git repository") => {
            RepositoryError::NoRepository { folder }
        }
        _ => RepositoryError::Git(error),
    }
}

/// The path without links, if it is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
