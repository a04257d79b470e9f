//! Repositories inside a checkout: submodules, and those that somebody made or cloned there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::call::GitError;
use crate::git::changes::Status;
use crate::git::checkout::Checkout;
use crate::git::names;
use crate::git::repository::real;
use crate::git::tree_path::TreePath;

/// A repository inside a checkout.
pub(crate) struct Inner {
    /// Where it is.
    pub(crate) path: TreePath,
    /// Its files.
    pub(crate) checkout: Checkout,
}

/// All of them, one level down: the submodules that are checked out, and untracked ones.
pub(crate) fn all(outer: &Checkout, status: &Status) -> Result<Vec<Inner>, GitError> {
    let listed = outer.call(["ls-files", "-z", "--stage"]).bytes()?;
    let link = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        line.starts_with(b"160000 ").then(|| TreePath::new(&line[tab + 1..]))
    };
    let links = names(&listed).filter_map(link);
    let nested = status.untracked.iter().filter(|path| path.is_folder()).cloned();
    let paths: BTreeSet<TreePath> = links.chain(nested).collect();
    let open = |path: TreePath| open(outer, &path).map(|checkout| Inner { path, checkout });
    Ok(paths.into_iter().filter_map(open).collect())
}

/// The repository at a path, if one is there whose git folder lies in the checkout or among git's
/// files for it. Whoever works there can point its `.git` anywhere; elsewhere is not followed.
fn open(outer: &Checkout, path: &TreePath) -> Option<Checkout> {
    let folder = path.below(outer.path());
    let git_dir = real(&git_dir_of(&folder)?);
    let is_own = [outer.path(), outer.git_dir()].iter().any(|own| git_dir.starts_with(real(own)));
    let is_whole = git_dir.join("HEAD").exists() && git_dir.join("objects").exists();
    if !is_own || !is_whole || folder.is_symlink() {
        return None;
    }
    outer.repository().inner(&folder, &git_dir).checkout()
}

/// The git folder of a work tree, from its `.git`.
pub(crate) fn git_dir_of(folder: &Path) -> Option<PathBuf> {
    let dot = folder.join(".git");
    if dot.symlink_metadata().ok()?.is_dir() {
        return Some(dot);
    }
    let text = std::fs::read(&dot).ok()?;
    let path = text.strip_prefix(b"gitdir: ")?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    Some(folder.join(crate::git::os(path)))
}

/// The files of a repository inside a checkout that its own rules do not ignore, as paths of the
/// checkout.
pub(crate) fn files_below(
    outer: &Checkout,
    folder: &TreePath,
    depth: usize,
    into: &mut BTreeSet<TreePath>,
) -> Result<(), GitError> {
    let unreadable = || {
        let what = format!("{folder} is a repository that cannot be read");
        GitError::unreadable("ls-files", what)
    };
    let inner = open(outer, folder).filter(|_| depth > 0).ok_or_else(unreadable)?;
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = inner.call(args).bytes()?;
    for name in names(&listed) {
        let own = TreePath::new(name);
        let full = TreePath::new(&[folder.as_bytes(), name].concat());
        let below = own.below(inner.path());
        if below.is_dir() && !below.is_symlink() {
            let mut folder = full.as_bytes().to_vec();
            if !full.is_folder() {
                folder.push(b'/');
            }
            files_below(outer, &TreePath::new(&folder), depth - 1, into)?;
        } else {
            into.insert(full);
        }
    }
    Ok(())
}
