//! The present state of a checkout as a tree.

use std::collections::BTreeSet;

use super::index::IndexCopy;
use super::{LeftBehind, Snapshot, SnapshotError, Wanted};
use crate::git::call::GitError;
use crate::git::changes::{Status, differing};
use crate::git::checkout::{Checkout, Head};
use crate::git::files::{Found, look};
use crate::git::inner;
use crate::git::names;
use crate::git::object_id::ObjectId;
use crate::git::tree_path::TreePath;

/// How deep repositories may lie in each other.
const NESTED_MAX: usize = 8;

/// Files, index and head of a checkout, as they were at one instant.
pub(crate) struct State {
    /// The tree of the files.
    pub(crate) tree: ObjectId,
    /// The tree of the index; none if it has conflicts.
    pub(crate) index_tree: Option<ObjectId>,
    /// The tree of the commit that is checked out.
    pub(crate) head_tree: Option<ObjectId>,
    /// Where the checkout stands.
    pub(crate) head: Head,
    /// How many files differ from that commit.
    pub(crate) files: usize,
    /// Git's view of it.
    pub(crate) status: Status,
    /// The files that could not be taken over.
    pub(crate) left: Vec<LeftBehind>,
}

impl State {
    /// Reads the state of a checkout, whose lock the caller holds.
    pub(crate) fn read(
        checkout: &Checkout,
        wanted: Option<Wanted<'_>>,
    ) -> Result<State, SnapshotError> {
        let head = checkout.head()?;
        let repository = checkout.repository();
        let head_tree = head.commit().map(|commit| repository.tree_of(commit)).transpose()?;
        let index = IndexCopy::of(checkout, &head)?;
        let status = Status::of(checkout, "--untracked-files=all", Some(index.path()))?;
        let mut left: Vec<LeftBehind> = Vec::new();
        let unreadable = status.unreadable.iter();
        left.extend(unreadable.map(|line| left_behind(line, "the folder cannot be read")));
        let write = checkout.call(["write-tree"]).index(index.path());
        let index_tree = match &head_tree {
            _ if !status.unmerged.is_empty() => None,
            Some(tree) if status.staged.is_empty() => Some(tree.clone()),
            _ => Some(write.id()?),
        };
        let tree = match &head_tree {
            Some(tree) if status.is_clean() => tree.clone(),
            _ => {
                let paths = candidates(checkout, &status, wanted, &mut left);
                if let Some(wanted) = wanted {
                    put_back(checkout, &index, &status, wanted, head.commit())?;
                }
                add(checkout, &index, &paths, &mut left);
                write.id()?
            }
        };
        let files = match &head_tree {
            Some(head) if *head == tree => 0,
            Some(head) => differing(repository, head, &tree)?.len(),
            None => {
                let args = ["ls-tree", "-r", "-z", "--name-only", tree.as_str()];
                names(&checkout.call(args).bytes()?).count()
            }
        };
        Ok(State { tree, index_tree, head_tree, head, files, status, left })
    }

    /// Whether the files are those of the commit that is checked out.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.head_tree.as_ref() == Some(&self.tree)
    }

    /// Whether the index holds something else than the commit that is checked out.
    pub(crate) fn has_index_changes(&self) -> bool {
        self.index_tree != self.head_tree
    }

    pub(crate) fn snapshot(self, commit: ObjectId) -> Snapshot {
        let parent = self.head.commit().cloned();
        Snapshot { commit, tree: self.tree, parent, files: self.files, left: self.left }
    }
}

fn left_behind(path: &str, why: &str) -> LeftBehind {
    LeftBehind { path: path.to_owned(), why: why.lines().next().unwrap_or_default().to_owned() }
}

/// The paths to be taken over as they are on disk.
fn candidates(
    checkout: &Checkout,
    status: &Status,
    wanted: Option<Wanted<'_>>,
    left: &mut Vec<LeftBehind>,
) -> BTreeSet<TreePath> {
    let mut found = BTreeSet::new();
    for path in status.paths() {
        if !path.is_folder() {
            found.insert(path);
        } else if let Err(error) = inner::files_below(checkout, &path, NESTED_MAX, &mut found) {
            left.push(left_behind(&path.shown(), &error.to_string()));
        }
    }
    found.retain(|path| wanted.is_none_or(|wanted| wanted(path)));
    found
}

/// Puts paths that are staged but not wanted back to the commit that is checked out.
fn put_back(
    checkout: &Checkout,
    index: &IndexCopy,
    status: &Status,
    wanted: Wanted<'_>,
    head: Option<&ObjectId>,
) -> Result<(), GitError> {
    let staged = status.staged.iter().flat_map(|change| change.paths().cloned());
    let staged = staged.chain(status.unmerged.iter().map(|own| own.path.clone()));
    let unwanted: Vec<TreePath> = staged.filter(|path| !wanted(path)).collect();
    let zeroes = head.map_or_else(|| "0".repeat(40), ObjectId::zeroes);
    for some in unwanted.chunks(500) {
        let mut input = Vec::new();
        for path in some {
            // Mode 0 removes all that the index has under the path.
            input.extend_from_slice(format!("0 {zeroes}\t").as_bytes());
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        if let Some(head) = head {
            let args = ["ls-tree", "-r", "-z", "--full-tree", head.as_str(), "--"];
            let paths = some.iter().map(|path| crate::git::os(path.as_bytes()));
            let call = paths.fold(checkout.call(args), crate::git::call::Call::arg);
            input.extend_from_slice(&call.bytes()?);
        }
        let args = ["update-index", "-z", "--index-info"];
        checkout.call(args).index(index.path()).input(&input).done()?;
    }
    Ok(())
}

/// Brings an index up to date with the files. A file that git refuses is tried by itself, then
/// without its filter; what cannot be read at all is left behind, by name.
fn add(
    checkout: &Checkout,
    index: &IndexCopy,
    paths: &BTreeSet<TreePath>,
    left: &mut Vec<LeftBehind>,
) {
    if paths.is_empty() || update(checkout, index, paths.iter()).is_ok() {
        return;
    }
    for path in paths {
        let Err(refused) = update(checkout, index, std::iter::once(path)) else { continue };
        if let Err(error) = add_raw(checkout, index, path) {
            tracing::debug!(%error, %path, "a file cannot be stored as it is either");
            left.push(left_behind(&path.shown(), &refused.to_string()));
        }
    }
}

fn update<'p>(
    checkout: &Checkout,
    index: &IndexCopy,
    paths: impl Iterator<Item = &'p TreePath>,
) -> Result<(), GitError> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
    let call = checkout.call(args).index(index.path());
    // A file with mixed line ends is stored like any other.
    call.setting("core.safecrlf=false").input(&input).done()
}

/// Stores a file as it is, for filters that fail, such as one whose program is not installed.
fn add_raw(checkout: &Checkout, index: &IndexCopy, path: &TreePath) -> Result<(), GitError> {
    let unreadable = |what: String| GitError::unreadable("hash-object", what);
    let found = look(checkout.path(), path).map_err(|error| unreadable(error.to_string()))?;
    let Found::File(data) = found else { return Err(unreadable("no plain file".to_owned())) };
    let args = ["hash-object", "-w", "--no-filters", "--"];
    let id = checkout.call(args).arg(crate::git::os(path.as_bytes())).id()?;
    let mode = if is_executable(&data) { "100755" } else { "100644" };
    let mut input = format!("{mode} {id}\t").into_bytes();
    input.extend_from_slice(path.as_bytes());
    input.push(0);
    checkout.call(["update-index", "-z", "--index-info"]).index(index.path()).input(&input).done()
}

#[cfg(unix)]
fn is_executable(data: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    data.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}
