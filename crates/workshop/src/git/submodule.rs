//! Submodules of an attempt's tree: those that the project has checked out, made from the
//! repositories that are there already. Nothing is fetched from elsewhere.
//!
//! Each gets a git folder of its own among git's files for the tree, which borrows the objects of
//! the project's copy. It goes with the tree; commits made in it are rescued before.

use std::path::{Path, PathBuf};

use crate::file_lock::FileLock;
use crate::git::call::{Call, GitError};
use crate::git::checkout::Checkout;
use crate::git::files;
use crate::git::inner::git_dir_of;
use crate::git::names;
use crate::git::object_id::ObjectId;
use crate::git::repository::{Repository, real};
use crate::git::tree_path::TreePath;
use crate::step::step;

/// The file in a submodule's git folder that names the repository it borrows from.
const SOURCE: &str = "althing-source";
/// How deep submodules may lie in each other.
const NESTED_MAX: usize = 8;

/// A submodule that a commit names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submodule {
    pub(crate) name: String,
    pub(crate) path: TreePath,
}

/// A submodule that could not be checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSubmodule {
    /// Where it belongs.
    pub path: TreePath,
    /// The reason.
    pub why: String,
}

/// The submodules that a commit lists in `.gitmodules`.
pub(crate) fn listed(
    repository: &Repository,
    commit: &ObjectId,
) -> Result<Vec<Submodule>, GitError> {
    let blob = format!("{commit}:.gitmodules");
    if repository.call(["rev-parse", "--quiet", "--verify", &blob]).found()?.is_none() {
        return Ok(Vec::new());
    }
    let pattern = r"^submodule\..*\.path$";
    let call = repository.call(["config", "--blob", &blob, "-z", "--get-regexp", pattern]);
    let answer = call.answers(&[1]).run()?;
    let read = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'\n')?;
        let (key, path) = (String::from_utf8_lossy(&line[..at]), TreePath::new(&line[at + 1..]));
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        let is_safe = name.split('/').all(|part| !part.is_empty() && part != ".." && part != ".");
        (is_safe && path.is_plain()).then(|| Submodule { name: name.to_owned(), path })
    };
    Ok(names(&answer.printed).filter_map(read).collect())
}

/// The repository that a submodule's git folder borrows from.
pub(crate) fn source_of(git_dir: &Path) -> Option<PathBuf> {
    let path = std::fs::read(git_dir.join(SOURCE)).ok()?;
    Some(PathBuf::from(crate::git::os(&path)))
}

/// Checks out the submodules of a tree that the project has checked out too.
pub(crate) fn populate(
    project: &Path,
    tree: &Checkout,
    lock: &FileLock,
) -> Result<Vec<MissingSubmodule>, GitError> {
    let mut missing = Vec::new();
    populate_below(project, tree, lock, NESTED_MAX, &mut missing)?;
    Ok(missing)
}

fn populate_below(
    project: &Path,
    tree: &Checkout,
    lock: &FileLock,
    depth: usize,
    missing: &mut Vec<MissingSubmodule>,
) -> Result<(), GitError> {
    let head = tree.head()?;
    let Some(commit) = head.commit().filter(|_| depth > 0) else { return Ok(()) };
    for module in listed(tree.repository(), commit)? {
        let theirs = module.path.below(project);
        let Some(source) = git_dir_of(&theirs).map(|dir| real(&dir)) else { continue };
        let Some(wanted) = link(tree, commit, &module.path)? else { continue };
        match place(tree, &module, &source, &wanted, lock) {
            Ok(inner) => populate_below(&theirs, &inner, lock, depth - 1, missing)?,
            Err(error) => {
                let why = error.to_string();
                missing.push(MissingSubmodule { path: module.path, why });
            }
        }
    }
    Ok(())
}

/// The commit of a submodule that a tree names.
fn link(tree: &Checkout, commit: &ObjectId, path: &TreePath) -> Result<Option<ObjectId>, GitError> {
    let args = ["ls-tree", "-z", "--full-tree", commit.as_str(), "--"];
    let printed = tree.call(args).arg(crate::git::os(path.as_bytes())).bytes()?;
    let id =
        printed.strip_prefix(b"160000 commit ").and_then(|rest| rest.split(|b| *b == b'\t').next());
    Ok(id.and_then(ObjectId::of_bytes))
}

/// Checks out one submodule.
fn place(
    tree: &Checkout,
    module: &Submodule,
    source: &Path,
    wanted: &ObjectId,
    lock: &FileLock,
) -> Result<Checkout, GitError> {
    let unwritable = |source: std::io::Error| GitError::Start {
        command: "submodule".to_owned(),
        folder: tree.path().to_owned(),
        source,
    };
    let git_dir = tree.git_dir().join("modules").join(&module.name);
    let folder = module.path.below(tree.path());
    if !git_dir.join(SOURCE).exists() {
        borrow(&git_dir, source, &folder, lock)?;
    }
    connect(&git_dir, &folder).map_err(unwritable)?;
    let repository = tree.repository().inner(&folder, &git_dir);
    let inner = Checkout::new(&repository, &folder, &git_dir, lock.path());
    if repository.resolve(wanted.as_str())?.is_none() {
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let call = repository.call(args).arg(source).arg(wanted.as_str());
        call.setting("protocol.version=2").variable("GIT_ALLOW_PROTOCOL", "file").done()?;
    }
    files::remove(&git_dir.join("index.lock")).map_err(unwritable)?;
    let args = ["checkout", "--quiet", "--force", "--detach", "--no-recurse-submodules"];
    inner.call(args).arg(wanted.as_str()).under(lock).done()?;
    inner.call(["clean", "-ffdq"]).under(lock).done()?;
    Ok(inner)
}

/// Makes a git folder that borrows the objects of another. It is made beside and renamed, so that
/// it is there whole or not at all.
fn borrow(git_dir: &Path, source: &Path, folder: &Path, lock: &FileLock) -> Result<(), GitError> {
    let unwritable = |source: std::io::Error| GitError::Start {
        command: "init".to_owned(),
        folder: git_dir.to_owned(),
        source,
    };
    let common = Call::new(source, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let common = common.git_dir(source).path()?;
    let beside = git_dir.with_file_name(format!(
        "{}.new",
        git_dir.file_name().unwrap_or_default().to_string_lossy()
    ));
    files::remove(&beside).map_err(unwritable)?;
    std::fs::create_dir_all(&beside).map_err(unwritable)?;
    let format = Call::new(source, ["rev-parse", "--show-object-format"]).git_dir(source).line()?;
    let init = ["init", "--quiet", "--bare", "--template=", &format!("--object-format={format}")];
    Call::new(&beside, init).arg(&beside).under(lock).done()?;
    let mut alternates = common.join("objects").into_os_string();
    alternates.push("\n");
    let info = beside.join("objects/info");
    std::fs::create_dir_all(&info).map_err(unwritable)?;
    files::write(&info.join("alternates"), alternates.as_encoded_bytes()).map_err(unwritable)?;
    let config = |key: &str, value: &std::ffi::OsStr| {
        Call::new(&beside, ["config", key]).git_dir(&beside).arg(value).done()
    };
    config("core.bare", "false".as_ref())?;
    config("core.worktree", folder.as_os_str())?;
    let url =
        Call::new(source, ["config", "--get", "remote.origin.url"]).git_dir(source).found()?;
    if let Some(url) = url {
        config("remote.origin.url", url.as_ref())?;
        config("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*".as_ref())?;
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let call = Call::new(&beside, args).git_dir(&beside).arg(source);
        let call = call.arg("+refs/remotes/origin/*:refs/remotes/origin/*");
        call.variable("GIT_ALLOW_PROTOCOL", "file").under(lock).done()?;
    }
    files::write(&beside.join(SOURCE), source.as_os_str().as_encoded_bytes())
        .map_err(unwritable)?;
    files::remove(git_dir).map_err(unwritable)?;
    step("before a submodule is put in place");
    std::fs::rename(&beside, git_dir).map_err(unwritable)
}

/// Connects a git folder and the files of a submodule, wherever both are now.
pub(crate) fn connect(git_dir: &Path, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut dot = b"gitdir: ".to_vec();
    dot.extend_from_slice(git_dir.as_os_str().as_encoded_bytes());
    dot.push(b'\n');
    let path = folder.join(".git");
    if path.is_dir() {
        return Err(std::io::Error::other("a repository of somebody else is in its place"));
    }
    if std::fs::read(&path).is_ok_and(|own| own == dot) {
        return Ok(());
    }
    files::write(&path, &dot)
}

/// After a tree was moved: tells the submodules in it where their files are now.
pub(crate) fn follow(tree: &Checkout) -> Result<(), GitError> {
    let modules = tree.git_dir().join("modules");
    let head = tree.head()?;
    let Some(commit) = head.commit().filter(|_| modules.exists()) else { return Ok(()) };
    for module in listed(tree.repository(), commit)? {
        let git_dir = modules.join(&module.name);
        if !git_dir.join(SOURCE).exists() {
            continue;
        }
        let folder = module.path.below(tree.path());
        // Asked through the tree: the submodule's own folder names files that are not there.
        let call = tree.call(["config", "--file"]).arg(git_dir.join("config"));
        call.arg("core.worktree").arg(&folder).done()?;
        let repository = tree.repository().inner(&folder, &git_dir);
        if let Some(inner) = repository.checkout() {
            follow(&inner)?;
        }
    }
    Ok(())
}
