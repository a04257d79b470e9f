//! Git for lanes: finds the repository of a worktree, lists uncommitted files, and commits work for a
//! worker that cannot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Git, Name, Taken, names, shown};
use crate::error::WorkshopError;
use crate::scratch::Scratch;

/// Where a folder belongs.
pub(crate) struct Place {
    /// The root of the work tree.
    pub(crate) top: PathBuf,
    /// The git folder of this work tree alone.
    own: PathBuf,
    /// The git folder shared by all work trees of the repository.
    common: PathBuf,
}

impl Place {
    /// Whether it is a work tree beside the main one that the repository itself lists. Whoever works
    /// there can write its `.git` file and point it anywhere; what the repository keeps for it is
    /// not theirs to write, and points back.
    pub(crate) fn is_linked(&self) -> bool {
        let listed = self.own.parent() == Some(self.common.join("worktrees").as_path());
        let back = std::fs::read_to_string(self.own.join("gitdir"));
        let back = back.ok().and_then(|path| self.own.join(path.trim_end()).canonicalize().ok());
        listed && back == Some(self.top.join(".git"))
    }

    /// An unfinished operation, such as a merge, that a commit now would end.
    pub(crate) fn under_way(&self) -> Option<&'static str> {
        let begun = [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ];
        let found = begun.iter().find(|(name, _)| self.own.join(name).exists());
        found.map(|(_, what)| *what)
    }

    /// Whether both are of one repository.
    pub(crate) fn is_of(&self, other: &Place) -> bool {
        self.common == other.common
    }
}

/// Work that was committed.
pub struct Kept {
    /// The commit, or none if there was nothing to commit.
    pub commit: Option<String>,
    /// How many files it changes.
    pub files: usize,
    /// The files taken over and those left behind.
    pub taken: Taken,
}

impl Git {
    /// Where its folder belongs, unless it belongs nowhere.
    pub(crate) fn place(&self) -> Option<Place> {
        let args = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
        ];
        let printed = self.line(&args, None, b"").ok()?;
        let mut lines = printed.lines().map(|line| Path::new(line).canonicalize());
        let mut next = || lines.next()?.ok();
        Some(Place { top: next()?, own: next()?, common: next()? })
    }

    /// When the commit was made that is checked out, in seconds.
    pub(crate) fn committed_at(&self) -> Option<u64> {
        self.line(&["log", "-1", "--format=%ct", "HEAD"], None, b"").ok()?.parse().ok()
    }

    /// The commit that a name stands for.
    pub fn resolved(&self, name: &str) -> Option<String> {
        if name.starts_with('-') {
            return None;
        }
        let name = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--quiet", "--verify", &name], None, b"").ok()
    }

    /// The files that differ from the last commit, as git has their names.
    pub fn uncommitted(&self) -> Result<BTreeSet<Name>, WorkshopError> {
        let args = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
        let mut found: BTreeSet<Name> =
            names(&self.run(&args, None, b"")?).map(<[u8]>::to_vec).collect();
        if self.head().is_some() {
            let args = ["diff-index", "--cached", "--name-only", "-z", "HEAD"];
            found.extend(names(&self.run(&args, None, b"")?).map(<[u8]>::to_vec));
        }
        Ok(found)
    }

    /// The files that commits of a linked work tree changed which the main one does not have.
    pub(crate) fn committed_here(&self) -> Result<BTreeSet<Name>, WorkshopError> {
        let Some(head) = self.head() else { return Ok(BTreeSet::new()) };
        let base = self.line(&["merge-base", "main-worktree/HEAD", &head], None, b"");
        let args = match &base {
            Ok(base) => vec!["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, &head],
            // It has nothing in common with the main one, so everything is its own.
            Err(_) => vec!["ls-tree", "-r", "-z", "--name-only", &head],
        };
        Ok(names(&self.run(&args, None, b"")?).map(<[u8]>::to_vec).collect())
    }

    /// Commits what is wanted of a work tree on what is checked out in it. The files stay as they
    /// are; what is not wanted stays uncommitted.
    pub fn keep(
        &self,
        scratch: &Path,
        message: &str,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Kept, WorkshopError> {
        let scratch = Scratch::take(scratch)?;
        let draft = self.draft(&scratch)?;
        let taken = draft.take(wanted)?;
        if !draft.differs()? {
            // A process killed after the commit left an index that would undo it.
            self.run(&["reset", "--quiet", "--mixed"], None, b"")?;
            return Ok(Kept { commit: None, files: 0, taken });
        }
        let commit = draft.commit(message, None)?;
        let old = draft.parent.clone().unwrap_or_else(|| "0".repeat(commit.len()));
        // This fails if somebody committed in between, so that their commit stays.
        self.run(&["update-ref", "-m", "lane harvested", "HEAD", &commit, &old], None, b"")?;
        self.run(&["reset", "--quiet", "--mixed"], None, b"")?;
        let listed = match &draft.parent {
            Some(parent) => vec!["diff-tree", "-r", "-z", "--name-only", "--no-renames", parent],
            None => vec!["ls-tree", "-r", "-z", "--name-only"],
        };
        let changed = self.run(&[&listed[..], &[commit.as_str()]].concat(), None, b"")?;
        Ok(Kept { files: names(&changed).count(), commit: Some(commit), taken })
    }
}

/// Names for people to read.
pub fn readable(names: &BTreeSet<Name>) -> Vec<String> {
    names.iter().map(|name| shown(name)).collect()
}
