//! The changes of an attempt against the commit it started from: committed, staged, not staged and
//! not tracked, each path as bytes.
//!
//! Two calls of git, whatever the size of the tree: `status` for what is not committed and
//! `diff-tree` for what is. Git leaves out files that somebody told it to overlook
//! (`update-index --assume-unchanged`); a [snapshot](crate::git::snapshot) does not.

use std::collections::BTreeSet;
use std::path::Path;

use crate::git::call::GitError;
use crate::git::checkout::Checkout;
use crate::git::object_id::ObjectId;
use crate::git::repository::Repository;
use crate::git::tree_path::TreePath;

/// How a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content changed, and perhaps its mode.
    Modified,
    /// Only its mode changed, such as the right to run it.
    Mode,
    /// It became something else: a file a link, a link a submodule.
    Type,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed {
        /// The name before.
        from: TreePath,
    },
    /// It was copied.
    Copied {
        /// The file it was copied from.
        from: TreePath,
    },
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path; that after a renaming.
    pub path: TreePath,
    /// How it changed.
    pub kind: ChangeKind,
    /// Its mode before, such as 0o100644; 0 if it was not there.
    pub mode_before: u32,
    /// Its mode now; 0 if it is gone.
    pub mode_after: u32,
}

/// A file that git could not merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmerged {
    /// Its path.
    pub path: TreePath,
    /// What both sides did, in git's two letters: `UU` both changed it, `DU` we deleted it, and so
    /// on.
    pub sides: String,
}

/// The state of an index and of the files, against the commit that is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Changes that are in the index.
    pub staged: Vec<Change>,
    /// Changes of tracked files that are not in the index.
    pub unstaged: Vec<Change>,
    /// Files with an unfinished merge.
    pub unmerged: Vec<Unmerged>,
    /// Files that are neither tracked nor ignored. A repository inside this one is a single path
    /// that ends with `/`.
    pub untracked: Vec<TreePath>,
    /// Folders that could not be read, in git's words. What is in them is not listed.
    pub unreadable: Vec<String>,
}

/// The changes of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Changes of its commits.
    pub committed: Vec<Change>,
    /// Changes that are not committed.
    pub status: Status,
}

impl Change {
    /// The right to run it, its type, or another part of its mode changed.
    pub fn mode_changed(&self) -> bool {
        self.mode_before != 0 && self.mode_after != 0 && self.mode_before != self.mode_after
    }

    /// The paths it touches: two if it was renamed.
    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        let from = match &self.kind {
            ChangeKind::Renamed { from } => Some(from),
            _ => None,
        };
        from.into_iter().chain(std::iter::once(&self.path))
    }

    /// One line for people: a letter and the path.
    pub fn line(&self) -> String {
        let path = self.path.shown();
        match &self.kind {
            ChangeKind::Added => format!("A {path}"),
            ChangeKind::Modified => format!("M {path}"),
            ChangeKind::Mode => {
                format!("M {path} ({:o} → {:o})", self.mode_before, self.mode_after)
            }
            ChangeKind::Type => format!("T {path}"),
            ChangeKind::Deleted => format!("D {path}"),
            ChangeKind::Renamed { from } => format!("R {from} → {path}"),
            ChangeKind::Copied { from } => format!("C {from} → {path}"),
        }
    }
}

impl Changes {
    /// Compares a checkout with a commit.
    pub fn since(checkout: &Checkout, base: &ObjectId) -> Result<Changes, GitError> {
        let status = Status::of(checkout, "--untracked-files=all", None)?;
        let head = checkout.head()?;
        let committed = match head.commit() {
            Some(head) if head != base => between(checkout.repository(), base, head)?,
            _ => Vec::new(),
        };
        Ok(Changes { committed, status })
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.status.is_clean()
    }

    /// Every path that is touched, each once; both names of a renamed file.
    pub fn paths(&self) -> BTreeSet<TreePath> {
        let status = &self.status;
        let changes = self.committed.iter().chain(&status.staged).chain(&status.unstaged);
        let mut paths: BTreeSet<TreePath> = changes.flat_map(Change::paths).cloned().collect();
        paths.extend(status.unmerged.iter().map(|own| own.path.clone()));
        paths.extend(status.untracked.iter().cloned());
        paths
    }
}

impl Status {
    /// Asks for the state of a checkout, with another index if one is given.
    pub(crate) fn of(
        checkout: &Checkout,
        untracked: &str,
        index: Option<&Path>,
    ) -> Result<Status, GitError> {
        let args = ["status", "--porcelain=v2", "-z", untracked, "--find-renames"];
        let mut call = checkout.call(args).arg("--ignore-submodules=none").arg("--no-ahead-behind");
        if let Some(index) = index {
            call = call.index(index);
        }
        let answer = call.run()?;
        let mut status = parse_status(&answer.printed)
            .ok_or_else(|| GitError::unreadable("status", "an entry is cut off"))?;
        let unreadable = answer.said.lines().filter(|line| line.contains("could not open"));
        status.unreadable = unreadable.map(str::to_owned).collect();
        Ok(status)
    }

    /// Whether everything is as it was committed and nothing is new.
    pub fn is_clean(&self) -> bool {
        self.tracked() == 0 && self.untracked.is_empty()
    }

    /// How many tracked files differ.
    pub fn tracked(&self) -> usize {
        let mut paths: BTreeSet<&TreePath> = BTreeSet::new();
        paths.extend(self.staged.iter().chain(&self.unstaged).map(|change| &change.path));
        paths.extend(self.unmerged.iter().map(|own| &own.path));
        paths.len()
    }

    /// Every path that is not as it was committed, both names of a renamed file.
    pub fn paths(&self) -> BTreeSet<TreePath> {
        Changes { committed: Vec::new(), status: self.clone() }.paths()
    }
}

/// The changes from one commit or tree to another.
pub fn between(
    repository: &Repository,
    old: &ObjectId,
    new: &ObjectId,
) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--find-renames", old.as_str(), new.as_str()];
    let printed = repository.call(args).bytes()?;
    parse_raw(&printed).ok_or_else(|| GitError::unreadable("diff-tree", "an entry is cut off"))
}

/// The paths that differ between two commits or trees, renamed files under both names.
pub(crate) fn differing(
    repository: &Repository,
    old: &ObjectId,
    new: &ObjectId,
) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old.as_str(), new.as_str()];
    let printed = repository.call(args).bytes()?;
    parse_raw(&printed).ok_or_else(|| GitError::unreadable("diff-tree", "an entry is cut off"))
}

fn mode(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(text).ok()?, 8).ok()
}

/// Makes a change of a letter of git's.
fn change(
    letter: u8,
    path: &[u8],
    from: Option<&[u8]>,
    modes: (u32, u32),
    same_content: bool,
) -> Change {
    let kind = match (letter, from) {
        (b'A', _) => ChangeKind::Added,
        (b'D', _) => ChangeKind::Deleted,
        (b'T', _) => ChangeKind::Type,
        (b'R', Some(from)) => ChangeKind::Renamed { from: TreePath::new(from) },
        (b'C', Some(from)) => ChangeKind::Copied { from: TreePath::new(from) },
        _ if same_content && modes.0 != modes.1 => ChangeKind::Mode,
        _ => ChangeKind::Modified,
    };
    let (mode_before, mode_after) = modes;
    Change { path: TreePath::new(path), kind, mode_before, mode_after }
}

/// Reads `:100644 100644 OLD NEW M␀path␀`, with two paths after R and C.
fn parse_raw(printed: &[u8]) -> Option<Vec<Change>> {
    let mut parts = printed.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(head) = parts.next() {
        if head.is_empty() {
            continue;
        }
        let fields: Vec<&[u8]> = head.strip_prefix(b":")?.split(|byte| *byte == b' ').collect();
        let [old_mode, new_mode, old, new, letter] = fields.as_slice() else { return None };
        let letter = *letter.first()?;
        let first = parts.next()?;
        let second = if matches!(letter, b'R' | b'C') { Some(parts.next()?) } else { None };
        let (path, from) = second.map_or((first, None), |path| (path, Some(first)));
        let modes = (mode(old_mode)?, mode(new_mode)?);
        found.push(change(letter, path, from, modes, old == new));
    }
    Some(found)
}

fn parse_status(printed: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut parts = printed.split(|byte| *byte == 0);
    while let Some(entry) = parts.next() {
        let Some((kind, rest)) = entry.split_first() else { continue };
        match kind {
            b'1' => ordinary(&mut status, rest.get(1..)?, None, 8)?,
            b'2' => {
                let from = parts.next()?;
                ordinary(&mut status, rest.get(1..)?, Some(from), 9)?;
            }
            b'u' => {
                let fields: Vec<&[u8]> = rest.get(1..)?.splitn(10, |byte| *byte == b' ').collect();
                let path = TreePath::new(fields.get(9)?);
                let sides = String::from_utf8_lossy(fields.first()?).into_owned();
                status.unmerged.push(Unmerged { path, sides });
            }
            b'?' => status.untracked.push(TreePath::new(rest.get(1..)?)),
            // Headers, which settings can ask for, and ignored files.
            _ => {}
        }
    }
    Some(status)
}

/// Reads `XY sub mH mI mW hH hI [score] path`.
fn ordinary(status: &mut Status, rest: &[u8], from: Option<&[u8]>, count: usize) -> Option<()> {
    let fields: Vec<&[u8]> = rest.splitn(count, |byte| *byte == b' ').collect();
    let path = *fields.get(count - 1)?;
    let [x, y] = fields.first()? else { return None };
    let [head, index, tree] = [2, 3, 4].map(|at| fields.get(at).and_then(|text| mode(text)));
    let (head, index, tree) = (head?, index?, tree?);
    let same = fields.get(5)? == fields.get(6)?;
    if *x != b'.' {
        status.staged.push(change(*x, path, from, (head, index), same));
    }
    if *y != b'.' {
        status.unstaged.push(change(*y, path, from, (index, tree), false));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Status {
        parse_status(text.replace('|', "\0").as_bytes()).unwrap()
    }

    const IDS: &str = "1111111111111111111111111111111111111111 \
                       2222222222222222222222222222222222222222";

    #[test]
    fn names_with_spaces_and_line_breaks_are_whole() {
        let found = status(&format!("1 .M N... 100644 100644 100755 {IDS} a b\nc|? new\n file|"));
        assert_eq!(found.unstaged[0].path.as_bytes(), b"a b\nc");
        assert!(found.unstaged[0].mode_changed());
        assert_eq!(found.untracked, [TreePath::new(b"new\n file")]);
    }

    #[test]
    fn a_renamed_file_has_both_names() {
        let found = status(&format!("2 R. N... 100644 100644 100644 {IDS} R100 new|old|"));
        assert_eq!(found.staged[0].kind, ChangeKind::Renamed { from: TreePath::new(b"old") });
        let paths: Vec<&TreePath> = found.staged[0].paths().collect();
        assert_eq!(paths, [&TreePath::new(b"old"), &TreePath::new(b"new")]);
    }

    #[test]
    fn what_is_cut_off_is_not_half_read() {
        for text in ["1 .M N...", "2 R. N... 100644 100644 100644 a b R100 new", "u UU N... 1"] {
            assert_eq!(parse_status(text.as_bytes()), None, "{text}");
        }
        for text in [":100644 100644 a b M", ":100644", "x"] {
            assert_eq!(parse_raw(text.as_bytes()), None, "{text}");
        }
    }
}
