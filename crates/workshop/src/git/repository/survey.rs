//! The survey of a repository: everything about it that attempts have to reckon with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Repository, RepositoryError, real};
use crate::git::call::{Call, GitError};
use crate::git::changes::Status;
use crate::git::checkout::{Head, Operation};
use crate::git::names;
use crate::git::object_id::ObjectId;

/// How something special about a repository is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Attempts cannot work here.
    Refused,
    /// Attempts work, and this is taken care of.
    Handled,
    /// Attempts work; a person may want to know.
    Notice,
}

/// Something special about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing was committed yet.
    NoCommit,
    /// There is no work tree of a person.
    Bare,
    /// No branch is checked out.
    DetachedHead,
    /// The person's work tree has changes that are not committed.
    Uncommitted {
        /// Tracked files that differ.
        changed: usize,
        /// Files nobody tracks, a folder of them counted once.
        untracked: usize,
    },
    /// The person is in the middle of something.
    UnderWay(Operation),
    /// Only a part of the files is checked out.
    Sparse,
    /// Other repositories are part of it.
    Submodules {
        /// How many.
        count: usize,
        /// How many of them the person has checked out.
        initialized: usize,
    },
    /// Files are kept by LFS.
    Lfs {
        /// Whether its filter is configured; without it they are pointers.
        is_configured: bool,
    },
    /// The history is cut off.
    Shallow,
    /// Objects come from a server when they are needed.
    Partial,
    /// It lies inside another repository.
    Inside {
        /// The root of the other one.
        outer: PathBuf,
        /// Whether that one has it as a submodule.
        is_submodule: bool,
    },
    /// The project's folder is a linked work tree.
    Linked,
    /// Upper and lower case are the same in names of files.
    IgnoresCase,
}

impl Finding {
    /// How it is dealt with.
    pub fn effect(&self) -> Effect {
        match self {
            Finding::NoCommit => Effect::Refused,
            Finding::Bare
            | Finding::Sparse
            | Finding::Submodules { .. }
            | Finding::Lfs { is_configured: true }
            | Finding::Linked
            | Finding::IgnoresCase
            | Finding::Inside { .. } => Effect::Handled,
            Finding::DetachedHead
            | Finding::Uncommitted { .. }
            | Finding::UnderWay(_)
            | Finding::Lfs { is_configured: false }
            | Finding::Shallow
            | Finding::Partial => Effect::Notice,
        }
    }

    /// What it means for attempts, in a sentence or two.
    pub fn text(&self) -> String {
        match self {
            Finding::NoCommit => "There is no commit yet, so attempts have nothing to start \
                                  from. Make a first one: git commit --allow-empty -m Begin"
                .to_owned(),
            Finding::Bare => "The repository is bare: attempts get trees of their own, and there \
                              are no untracked files to copy into them."
                .to_owned(),
            Finding::DetachedHead => "No branch is checked out. Attempts start from the commit; \
                                      name a branch that is to get the result."
                .to_owned(),
            Finding::Uncommitted { changed, untracked } => format!(
                "{changed} changed and {untracked} untracked files are not committed. Attempts \
                 start from the last commit; these files stay as they are."
            ),
            Finding::UnderWay(operation) => format!(
                "{operation} is under way. Attempts start from the commit that is checked out; \
                 finish or abort it before a result is to come into this work tree."
            ),
            Finding::Sparse => {
                "Only a part of the files is checked out. Attempts get the same part.".to_owned()
            }
            Finding::Submodules { count, initialized } => format!(
                "{initialized} of {count} submodules are checked out. Attempts get the same, from \
                 the objects that are here."
            ),
            Finding::Lfs { is_configured: true } => {
                "Files kept by LFS are fetched in each attempt as git is configured to.".to_owned()
            }
            Finding::Lfs { is_configured: false } => "LFS is not set up, so attempts see pointers \
                                                      in place of some files. Set it up: git lfs \
                                                      install"
                .to_owned(),
            Finding::Shallow => "The history is cut off. A merge that needs an older commit is \
                                 refused; git fetch --unshallow brings the rest."
                .to_owned(),
            Finding::Partial => "Objects are fetched when they are needed, so making an attempt's \
                                 tree may need the network."
                .to_owned(),
            Finding::Inside { outer, is_submodule } => {
                let how = if *is_submodule { "a submodule of" } else { "inside" };
                format!("It is {how} {}, which is left alone.", outer.display())
            }
            Finding::Linked => "The project is a linked work tree. Attempts are further ones of \
                                the same repository."
                .to_owned(),
            Finding::IgnoresCase => "Names of files that differ in case only are the same here. \
                                     A merge that brings such a pair is refused."
                .to_owned(),
        }
    }
}

/// A repository, looked at.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Where it stands.
    pub head: Head,
    /// What is special about it.
    pub findings: Vec<Finding>,
    folder: PathBuf,
}

impl Survey {
    /// The commit that attempts start from, or the refusal.
    pub fn base(&self) -> Result<ObjectId, RepositoryError> {
        let none = || RepositoryError::NoCommit { folder: self.folder.clone() };
        self.head.commit().cloned().ok_or_else(none)
    }

    /// Those that are dealt with in one way.
    pub fn with_effect(&self, effect: Effect) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.effect() == effect)
    }
}

type Config = BTreeMap<String, String>;

impl Repository {
    /// Looks at the repository. Nothing is changed.
    pub fn survey(&self) -> Result<Survey, RepositoryError> {
        let mut findings = Vec::new();
        let config = self.config()?;
        let is_set = |key: &str| config.get(key).is_some_and(|value| value == "true");
        let head = Head::read(&self.call(["--version"]))?;
        match &head {
            Head::Unborn { .. } => findings.push(Finding::NoCommit),
            Head::Detached { .. } => findings.push(Finding::DetachedHead),
            Head::Branch { .. } => {}
        }
        match self.checkout() {
            None => findings.push(Finding::Bare),
            Some(checkout) => {
                findings.extend(checkout.under_way().map(Finding::UnderWay));
                let status = Status::of(&checkout, "--untracked-files=normal", None)?;
                let (changed, untracked) = (status.tracked(), status.untracked.len());
                if changed + untracked > 0 {
                    findings.push(Finding::Uncommitted { changed, untracked });
                }
                findings.extend(inside(checkout.path())?);
            }
        }
        if self.git_dir != self.common_dir {
            findings.push(Finding::Linked);
        }
        if is_set("core.sparsecheckout") {
            findings.push(Finding::Sparse);
        }
        if is_set("core.ignorecase") {
            findings.push(Finding::IgnoresCase);
        }
        if self.call(["rev-parse", "--is-shallow-repository"]).line()? == "true" {
            findings.push(Finding::Shallow);
        }
        let promises = |key: &String| key.starts_with("remote.") && key.ends_with(".promisor");
        if config.contains_key("extensions.partialclone") || config.keys().any(promises) {
            findings.push(Finding::Partial);
        }
        if let Some(commit) = head.commit() {
            findings.extend(self.submodules(commit)?);
            findings.extend(self.lfs(commit, &config)?);
        }
        let folder = self.top.clone().unwrap_or_else(|| self.git_dir.clone());
        Ok(Survey { head, findings, folder })
    }

    /// All settings in force here. Names are in lower case, but for what stands between two dots.
    fn config(&self) -> Result<Config, GitError> {
        let printed = self.call(["config", "--list", "-z"]).bytes()?;
        let pair = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).into_owned();
            // A setting without a value stands for true.
            let (key, value) = line.split_once('\n').unwrap_or((&line, "true"));
            (key.to_owned(), value.to_owned())
        };
        Ok(names(&printed).map(pair).collect())
    }

    fn submodules(&self, commit: &ObjectId) -> Result<Option<Finding>, GitError> {
        let paths = crate::git::submodule::listed(self, commit)?;
        if paths.is_empty() {
            return Ok(None);
        }
        let is_there =
            |path: &Path| self.top.as_ref().is_some_and(|t| t.join(path).join(".git").exists());
        let initialized =
            paths.iter().filter(|own| is_there(&own.path.below(Path::new("")))).count();
        Ok(Some(Finding::Submodules { count: paths.len(), initialized }))
    }

    /// Looks into the files of attributes only, whatever the size of the rest.
    fn lfs(&self, commit: &ObjectId, config: &Config) -> Result<Option<Finding>, GitError> {
        let args = [
            "grep",
            "--quiet",
            "-e",
            "filter=lfs",
            commit.as_str(),
            "--",
            ":(glob)**/.gitattributes",
        ];
        if self.call(args).with_magic().found()?.is_none() {
            return Ok(None);
        }
        let keys = ["filter.lfs.process", "filter.lfs.smudge"];
        let is_configured = keys.iter().any(|key| config.get(*key).is_some_and(|v| !v.is_empty()));
        Ok(Some(Finding::Lfs { is_configured }))
    }
}

/// The repository around another one.
fn inside(top: &Path) -> Result<Option<Finding>, GitError> {
    let above = Call::new(top, ["rev-parse", "--show-superproject-working-tree"]).path()?;
    if !above.as_os_str().is_empty() {
        return Ok(Some(Finding::Inside { outer: real(&above), is_submodule: true }));
    }
    let Some(parent) = top.parent() else { return Ok(None) };
    let outer = Call::new(parent, ["rev-parse", "--show-toplevel"]).path().ok();
    Ok(outer.map(|outer| Finding::Inside { outer: real(&outer), is_submodule: false }))
}
