//! Git, asked without touching anybody's files or index.
//!
//! Attempts: [`repository`] finds out whether they can work in a repository, [`attempt_tree`] gives
//! each a linked worktree, [`changes`] says what it changed, [`snapshot`] keeps its present state as
//! a commit, [`rescue`] keeps what would be lost with its tree, [`merge`] brings it into a branch,
//! [`scratch_tree`] is where the result is checked before, [`blame`] and [`history`] tell later
//! which attempt wrote what. [`checkout`] is what all of them work on, [`occupants`] finds the
//! processes that use a folder.
//!
//! Commits are made from a throw-away index, and branches appear with their first commit or not at
//! all. What the person has checked out, staged or not yet saved stays as it is.

pub mod attempt_tree;
pub mod author;
pub mod blame;
pub mod call;
pub mod changes;
pub mod checkout;
mod files;
pub mod history;
mod inner;
pub mod lane;
pub mod merge;
pub mod message;
pub mod object_id;
pub mod occupants;
mod passed_on;
pub mod ref_name;
pub mod refs;
pub mod repository;
pub mod rescue;
pub mod scratch_tree;
pub mod snapshot;
pub mod submodule;
pub mod tree_path;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::WorkshopError;
use crate::scratch::{Scratch, remove_leftover};
use author::{ADDRESS, Author};
use call::{Call, GitError};

/// How deep repositories lie in each other at most.
const NESTED_MAX: usize = 8;

/// The name of a file below the root, as git has it: bytes.
pub type Name = Vec<u8>;

/// The files taken over from a work tree.
#[derive(Default)]
pub struct Taken {
    /// How many files are as they were there, also those that are gone.
    pub files: usize,
    /// The files left behind, with the reason.
    pub left: Vec<Left>,
}

/// A file that was not taken over.
pub struct Left {
    /// Its name.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl Left {
    /// A file, and the first line of the reason.
    pub fn new(path: &str, why: &str) -> Self {
        let why = why.lines().next().unwrap_or_default().to_owned();
        Left { path: path.to_owned(), why }
    }

    /// One-line summary.
    pub fn line(&self) -> String {
        format!("{}: {}", self.path, self.why)
    }
}

impl Taken {
    fn leave(&mut self, name: &[u8], why: &str) {
        self.left.push(Left::new(&shown(name), why));
    }
}

/// A repository.
pub struct Git {
    root: PathBuf,
    /// The author of commits.
    author: String,
}

/// A commit in the making: an index that is nobody's.
pub struct Draft<'a> {
    git: &'a Git,
    index: PathBuf,
    parent: Option<String>,
}

/// A branch that is to be at a commit, and where it was.
pub struct Branch {
    /// Its name.
    pub name: String,
    /// The commit it is to be at.
    pub commit: String,
    /// The commit it was at, if it existed.
    pub before: Option<String>,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            // It may never have been written.
            remove_leftover(&path);
        }
    }
}

impl Git {
    /// The repository at a folder; commits made through it name this author.
    pub fn new(root: &Path, author: &str) -> Self {
        Git { root: root.to_owned(), author: author.to_owned() }
    }

    /// Runs git and returns what it printed.
    fn run(
        &self,
        args: &[&str],
        index: Option<&Path>,
        input: &[u8],
    ) -> Result<Vec<u8>, WorkshopError> {
        let author = Author::agent(&self.author);
        let mut call = Call::new(&self.root, args).author(&author).input(input);
        if let Some(index) = index {
            call = call.index(index);
        }
        call.bytes().map_err(|error| match error {
            GitError::Failed { command, said, .. } => {
                WorkshopError::new(format!("git {command}: {said}"))
            }
            other => WorkshopError::new(format!("git: {other}")),
        })
    }

    fn line(
        &self,
        args: &[&str],
        index: Option<&Path>,
        input: &[u8],
    ) -> Result<String, WorkshopError> {
        let printed = self.run(args, index, input)?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The commit that is checked out, if there is one yet.
    pub(crate) fn head(&self) -> Option<String> {
        self.line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], None, b"").ok()
    }

    fn tree_of(&self, commit: &str) -> Result<String, WorkshopError> {
        self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")], None, b"")
    }

    /// The branch that is checked out, if one is.
    pub fn branch(&self) -> Option<String> {
        let name = self.line(&["symbolic-ref", "--short", "--quiet", "HEAD"], None, b"").ok();
        name.filter(|name| !name.is_empty())
    }

    /// Whether a name can be that of a branch.
    pub fn is_branch_name(&self, name: &str) -> bool {
        self.run(&["check-ref-format", "--branch", name], None, b"").is_ok()
    }

    /// The commit of a branch, if there is such a branch.
    pub fn tip(&self, name: &str) -> Option<String> {
        let full = format!("refs/heads/{name}");
        self.line(&["rev-parse", "--quiet", "--verify", &full], None, b"").ok()
    }

    /// A branch that keeps another from being made: a branch is either a name or a folder of them.
    pub fn in_the_way_of(&self, name: &str) -> Option<String> {
        let above = name.match_indices('/').map(|(at, _)| &name[..at]);
        if let Some(above) = above.into_iter().find(|above| self.tip(above).is_some()) {
            return Some(above.to_owned());
        }
        let below = format!("refs/heads/{name}/");
        let args = ["for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", &below];
        self.line(&args, None, b"").ok().filter(|found| !found.is_empty())
    }

    /// The branches in a folder of them.
    pub fn branches_in(&self, folder: &str) -> Result<Vec<String>, WorkshopError> {
        let folder = format!("refs/heads/{folder}/");
        let args = ["for-each-ref", "--format=%(refname:lstrip=2)", &folder];
        let listed = self.line(&args, None, b"")?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// The work tree in which a branch is checked out, if it is in one.
    pub fn tree_on(&self, name: &str) -> Result<Option<String>, WorkshopError> {
        let wanted = format!("branch refs/heads/{name}");
        let listed = self.run(&["worktree", "list", "--porcelain", "-z"], None, b"")?;
        let mut current = None;
        for line in listed.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                current = Some(shown(path));
            } else if line == wanted.as_bytes() {
                return Ok(current);
            }
        }
        Ok(None)
    }

    /// Whether a commit was made here, with a message that begins so.
    pub fn is_own(&self, commit: &str, beginning: &str) -> bool {
        let Ok(raw) = self.run(&["cat-file", "commit", commit], None, b"") else { return false };
        let raw = String::from_utf8_lossy(&raw);
        let Some((head, message)) = raw.split_once("\n\n") else { return false };
        let by = head.lines().find(|line| line.starts_with("committer ")).unwrap_or_default();
        by.contains(&format!("<{ADDRESS}>")) && message.starts_with(beginning)
    }

    /// Whether there are files to work on here, and not just a repository.
    pub fn has_work_tree(&self) -> Result<bool, WorkshopError> {
        Ok(self.line(&["rev-parse", "--is-inside-work-tree"], None, b"")? == "true")
    }

    /// Where else files of this repository are checked out.
    pub fn other_trees(&self) -> Result<Vec<PathBuf>, WorkshopError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let listed = self.run(&["worktree", "list", "--porcelain", "-z"], None, b"")?;
        let (mut trees, mut current) = (Vec::new(), None);
        for line in listed.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                current = Some(PathBuf::from(os(path)));
            } else if line == b"bare" || line.starts_with(b"prunable") {
                // There are no files, or none any more.
                current = None;
            } else if line.is_empty() {
                trees.extend(current.take().filter(|path| real(path) != real(&self.root)));
            }
        }
        Ok(trees)
    }

    /// The same repository, seen from another of its work trees.
    #[must_use]
    pub fn at(&self, root: &Path) -> Git {
        Git { root: root.to_owned(), author: self.author.clone() }
    }

    /// The files that are tracked, with whether each is a commit of another repository.
    fn tracked(&self, index: Option<&Path>) -> Result<Vec<(Name, bool)>, WorkshopError> {
        let listed = self.run(&["ls-files", "-z", "--stage"], index, b"")?;
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some((line[tab + 1..].to_vec(), line.starts_with(b"160000 ")))
        };
        Ok(names(&listed).filter_map(entry).collect())
    }

    /// The tracked files that are not wanted in the work tree: that they are not there says nothing.
    fn sparse(&self) -> Result<BTreeSet<Name>, WorkshopError> {
        let listed = self.run(&["ls-files", "-z", "-t", "--cached"], None, b"")?;
        Ok(names(&listed).filter_map(|line| line.strip_prefix(b"S ")).map(<[u8]>::to_vec).collect())
    }

    /// The files that would be tracked if they were added. A repository inside this one is one
    /// name with a slash at its end.
    fn untracked(&self) -> Result<Vec<Name>, WorkshopError> {
        let args = ["ls-files", "-z", "--others", "--exclude-standard"];
        Ok(names(&self.run(&args, None, b"")?).map(<[u8]>::to_vec).collect())
    }

    /// The repository in a folder of this one.
    fn inside(&self, folder: &[u8]) -> Git {
        self.at(&self.root.join(os(folder)))
    }

    /// The files of this repository and of those inside it that nobody tracks, below a name.
    fn all_below(
        &self,
        prefix: &[u8],
        depth: usize,
        into: &mut Vec<Name>,
    ) -> Result<(), WorkshopError> {
        let mut found = self.untracked()?;
        found.extend(self.tracked(None)?.into_iter().map(|(name, _)| name));
        for name in found {
            let full = [prefix, name.as_slice()].concat();
            if name.ends_with(b"/") && depth > 0 {
                let inner = self.inside(&name).all_below(&full, depth - 1, into);
                if inner.is_ok() {
                    continue;
                }
            }
            into.push(full);
        }
        Ok(())
    }

    /// A commit in the making on top of what is checked out.
    pub fn draft(&self, scratch: &Scratch) -> Result<Draft<'_>, WorkshopError> {
        let draft = Draft { git: self, index: scratch.index(), parent: self.head() };
        let from = draft.parent.as_deref().unwrap_or("--empty");
        self.run(&["read-tree", from], Some(&draft.index), b"")?;
        Ok(draft)
    }

    /// Puts a branch where it is to be. One that somebody else made or moved stays as it is.
    pub fn put(&self, branch: &Branch) -> Result<(), WorkshopError> {
        let Branch { name, commit, before } = branch;
        let none = "0".repeat(commit.len());
        let before = before.as_deref().unwrap_or(&none);
        let full = format!("refs/heads/{name}");
        self.run(&["update-ref", &full, commit, before], None, b"").map(|_| ())
    }

    /// Puts a branch back where it was, unless somebody moved it since.
    pub fn take_back(&self, branch: &Branch) {
        let Branch { name, commit, before } = branch;
        let full = format!("refs/heads/{name}");
        // If it cannot be taken back it stays, which harms nobody.
        let back = match before {
            Some(before) => self.run(&["update-ref", &full, before, commit], None, b""),
            None => self.run(&["update-ref", "-d", &full, commit], None, b""),
        };
        if let Err(error) = back {
            tracing::warn!(%error, branch = %name, "a branch was not put back");
        }
    }
}

impl Draft<'_> {
    /// Takes over files as they are in the work tree, of those that are wanted: changed, new, or
    /// gone.
    pub fn take(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Taken, WorkshopError> {
        let mut taken = Taken::default();
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        let sparse = self.git.sparse()?;
        for (name, is_commit) in self.candidates(&wanted, &mut taken)? {
            match look(&self.git.root, &name) {
                _ if is_commit => taken.leave(&name, "a submodule: its commit is named, not kept"),
                Seen::File => put.push(name),
                Seen::Nothing if sparse.contains(&name) => {}
                Seen::Nothing => gone.push(name),
                Seen::Unusable(why) => taken.leave(&name, &why),
            }
        }
        self.remove(&gone)?;
        if self.add(&put).is_err() {
            // One of them cannot be added; the others can.
            for name in &put {
                if let Err(fault) = self.add(std::slice::from_ref(name)) {
                    taken.leave(name, fault.message());
                }
            }
        }
        let kept: BTreeSet<Name> =
            self.git.tracked(Some(&self.index))?.into_iter().map(|(name, _)| name).collect();
        let left: BTreeSet<String> = taken.left.iter().map(|left| left.path.clone()).collect();
        for name in &put {
            if kept.contains(name) {
                taken.files += 1;
            } else if !left.contains(&shown(name)) {
                taken.leave(name, "git does not take a file of that name");
            }
        }
        taken.files += gone.len();
        Ok(taken)
    }

    /// Every file that is wanted: of the last commit, of the person's index, and new ones.
    fn candidates(
        &self,
        wanted: &impl Fn(&[u8]) -> bool,
        taken: &mut Taken,
    ) -> Result<BTreeMap<Name, bool>, WorkshopError> {
        let mut found: BTreeMap<Name, bool> = BTreeMap::new();
        found.extend(self.git.tracked(Some(&self.index))?);
        found.extend(self.git.tracked(None)?);
        for name in self.git.untracked()? {
            if !name.ends_with(b"/") {
                found.insert(name, false);
            } else if wanted(&name[..name.len() - 1]) {
                let mut inner = Vec::new();
                let listed = self.git.inside(&name).all_below(&name, NESTED_MAX, &mut inner);
                if let Err(fault) = listed {
                    taken.leave(&name, fault.message());
                }
                found.extend(inner.into_iter().map(|name| (name, false)));
            }
        }
        found.retain(|name, _| wanted(name.strip_suffix(b"/").unwrap_or(name)));
        Ok(found)
    }

    fn add(&self, paths: &[Name]) -> Result<(), WorkshopError> {
        self.update(&["update-index", "-z", "--add", "--replace", "--stdin"], paths)
    }

    fn remove(&self, paths: &[Name]) -> Result<(), WorkshopError> {
        self.update(&["update-index", "-z", "--force-remove", "--stdin"], paths)
    }

    fn update(&self, args: &[&str], paths: &[Name]) -> Result<(), WorkshopError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut input = paths.join(&0);
        input.push(0);
        self.git.run(args, Some(&self.index), &input).map(|_| ())
    }

    /// Puts a file with this content.
    pub fn put(&self, path: &str, content: &str) -> Result<(), WorkshopError> {
        let blob = self.git.line(&["hash-object", "-w", "--stdin"], None, content.as_bytes())?;
        let entry = format!("100644 {blob} 0\t{path}\0");
        let args = ["update-index", "-z", "--add", "--index-info"];
        self.git.run(&args, Some(&self.index), entry.as_bytes()).map(|_| ())
    }

    /// Whether it has anything that what is checked out has not.
    pub fn differs(&self) -> Result<bool, WorkshopError> {
        let Some(parent) = &self.parent else { return Ok(true) };
        Ok(self.tree()? != self.git.tree_of(parent)?)
    }

    fn tree(&self) -> Result<String, WorkshopError> {
        self.git.line(&["write-tree"], Some(&self.index), b"")
    }

    /// Makes the commit. It belongs to no branch yet. What a branch had before stays below it; if
    /// that was the same, it is that.
    pub fn commit(&self, message: &str, before: Option<&str>) -> Result<String, WorkshopError> {
        let tree = self.tree()?;
        if let Some(before) = before {
            let parent = self.git.line(&["rev-parse", &format!("{before}^")], None, b"").ok();
            if parent == self.parent && self.git.tree_of(before)? == tree {
                return Ok(before.to_owned());
            }
        }
        let mut args = vec!["commit-tree", tree.as_str()];
        for parent in self.parent.as_deref().into_iter().chain(before) {
            args.extend(["-p", parent]);
        }
        self.git.line(&args, None, message.as_bytes())
    }
}

pub(crate) fn names(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

/// The kind of thing found at a path.
enum Seen {
    File,
    Nothing,
    Unusable(String),
}

fn look(root: &Path, name: &[u8]) -> Seen {
    let relative = PathBuf::from(os(name));
    // Files beyond a symbolic link are not in this tree; only the link is.
    let linked = |above: &Path| !above.as_os_str().is_empty() && root.join(above).is_symlink();
    if relative.ancestors().skip(1).any(linked) {
        return Seen::Nothing;
    }
    let path = root.join(&relative);
    let data = match path.symlink_metadata() {
        Ok(data) => data,
        Err(error) if is_absent(&error) => return Seen::Nothing,
        Err(error) => return Seen::Unusable(error.to_string()),
    };
    if data.is_symlink() {
        return Seen::File;
    }
    if data.is_dir() {
        // A file that gave way to a folder is gone; what is in the folder is named by itself.
        let own = name.ends_with(b"/");
        return if own {
            Seen::Unusable("a repository that cannot be read".into())
        } else {
            Seen::Nothing
        };
    }
    if !data.is_file() {
        return Seen::Unusable("neither a file nor a link".into());
    }
    match std::fs::File::open(path) {
        Ok(_) => Seen::File,
        Err(error) => Seen::Unusable(error.to_string()),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// A name for people to read.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(unix)]
pub(crate) fn os(name: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name.to_vec())
}

/// Elsewhere git's names are UTF-8.
#[cfg(not(unix))]
pub(crate) fn os(name: &[u8]) -> OsString {
    String::from_utf8_lossy(name).into_owned().into()
}
