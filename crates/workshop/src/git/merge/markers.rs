//! Conflict markers that somebody left in files.

use std::io::Read as _;
use std::path::Path;

use crate::git::call::GitError;
use crate::git::changes::{ChangeKind, Unmerged, differing};
use crate::git::checkout::Checkout;
use crate::git::files::{Found, look};
use crate::git::object_id::ObjectId;
use crate::git::repository::Repository;
use crate::git::tree_path::TreePath;

/// How much of a file is looked at.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Whether a text has a whole conflict in it: a beginning, a middle and an end, in that order.
fn has_conflict(text: &[u8]) -> bool {
    let mut wanted: &[&[u8]] = &[b"<<<<<<< ", b"=======", b">>>>>>> "];
    for line in text.split(|byte| *byte == b'\n') {
        let Some((next, rest)) = wanted.split_first() else { break };
        let is_middle = rest.len() == 1;
        let plain = line.strip_suffix(b"\r").unwrap_or(line);
        if (is_middle && plain == *next) || (!is_middle && line.starts_with(next)) {
            wanted = rest;
        }
    }
    wanted.is_empty()
}

fn is_binary(text: &[u8]) -> bool {
    text.iter().take(8_000).any(|byte| *byte == 0)
}

fn read(root: &Path, path: &TreePath) -> Option<Vec<u8>> {
    let Ok(Found::File(_)) = look(root, path) else { return None };
    let mut text = Vec::new();
    let file = std::fs::File::open(path.below(root)).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Those of some unmerged files that nobody resolved yet. A text counts as resolved once its markers
/// are gone, also if the index was not told: not every agent can write to it. What has no markers
/// (a file deleted on one side, one that is not text) counts once the index was told.
pub(crate) fn unresolved(checkout: &Checkout, unmerged: &[Unmerged]) -> Vec<TreePath> {
    let is_open = |own: &&Unmerged| match own.sides.as_str() {
        "UU" | "AA" => match read(checkout.path(), &own.path) {
            Some(text) => is_binary(&text) || has_conflict(&text),
            None => false,
        },
        _ => true,
    };
    unmerged.iter().filter(is_open).map(|own| own.path.clone()).collect()
}

/// Those of some files on disk that have conflict markers in them.
pub(super) fn on_disk<'p>(
    root: &Path,
    paths: impl IntoIterator<Item = &'p TreePath>,
) -> Vec<TreePath> {
    let has = |path: &&TreePath| read(root, path).is_some_and(|text| has_conflict(&text));
    paths.into_iter().filter(has).cloned().collect()
}

impl Repository {
    /// Files with conflict markers in a commit that an older one does not have: conflicts that
    /// somebody committed instead of resolving them.
    pub fn conflict_markers(
        &self,
        old: &ObjectId,
        new: &ObjectId,
    ) -> Result<Vec<TreePath>, GitError> {
        let changes = differing(self, old, new)?;
        let is_file = |mode: u32| mode & 0o170_000 == 0o100_000;
        let there = changes
            .iter()
            .filter(|change| change.kind != ChangeKind::Deleted && is_file(change.mode_after));
        let mut found = Vec::new();
        for change in there {
            let has = |commit: &ObjectId| -> Result<bool, GitError> {
                Ok(self.blob(commit, &change.path)?.is_some_and(|text| has_conflict(&text)))
            };
            if has(new)? && !has(old)? {
                found.push(change.path.clone());
            }
        }
        Ok(found)
    }

    /// The content of a file in a commit, if it is there and not too long.
    fn blob(&self, commit: &ObjectId, path: &TreePath) -> Result<Option<Vec<u8>>, GitError> {
        let name = path.of_commit(commit);
        let size = self.call(["cat-file", "-s"]).arg(&name).answers(&[128]).run()?;
        let size = String::from_utf8_lossy(&size.printed).trim().parse::<u64>();
        match size {
            Ok(size) if size <= BYTES_MAX => {
                self.call(["cat-file", "blob"]).arg(&name).bytes().map(Some)
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_conflict;

    #[test]
    fn only_a_whole_conflict_counts() {
        assert!(has_conflict(b"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\nd\n"));
        assert!(has_conflict(b"<<<<<<< ours\r\nb\r\n=======\r\nc\r\n>>>>>>> theirs\r\n"));
        assert!(!has_conflict(b"Title\n=======\n"));
        assert!(!has_conflict(b">>>>>>> quoted\n=======\n<<<<<<< \n"));
        assert!(!has_conflict(b"<<<<<<< ours\nb\n========\nc\n>>>>>>> theirs\n"));
        assert!(!has_conflict(b""));
    }
}
