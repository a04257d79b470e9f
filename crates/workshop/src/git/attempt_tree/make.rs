//! Making a tree, and completing one that somebody was killed while making.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::copy::{self, Copied};
use super::{
    Admin, AttemptTree, AttemptTrees, IfBranchExists, Lfs, Marker, NewTree, Notices, Origin,
    Provisions, Stage, TreeError,
};
use crate::file_lock::FileLock;
use crate::git::call::{Call, GitError};
use crate::git::checkout::Checkout;
use crate::git::files;
use crate::git::names;
use crate::git::object_id::ObjectId;
use crate::git::occupants::Occupancy;
use crate::git::ref_name::BranchName;
use crate::git::refs::Swap;
use crate::git::submodule;
use crate::git::tree_path::TreePath;
use crate::step::step;

/// How many numbers are tried for a free name.
const NUMBERS_MAX: usize = 1_000;
/// How often adding a worktree is tried while other processes add theirs.
const TRIES: u32 = 12;

/// What the holder of a name's lock is about to make, as the lock file says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intent {
    pub(super) branch: BranchName,
    pub(super) base: ObjectId,
    pub(super) folder: String,
}

impl Intent {
    fn read(lock: &FileLock) -> Result<Option<Intent>, TreeError> {
        let failed = |source| TreeError::File { path: lock.path().to_owned(), source };
        let Some(line) = lock.line().map_err(failed)? else { return Ok(None) };
        let mut words = line.split(' ');
        let branch = words.next().and_then(|word| BranchName::new(word).ok());
        let base = words.next().and_then(|word| ObjectId::new(word).ok());
        let folder = words.next().map(str::to_owned);
        let parts = branch.zip(base).zip(folder);
        Ok(parts.map(|((branch, base), folder)| Intent { branch, base, folder }))
    }

    pub(super) fn write(&self, lock: &FileLock) -> Result<(), TreeError> {
        let Intent { branch, base, folder } = self;
        set_line(lock, &format!("{branch} {base} {folder}"))
    }
}

pub(super) fn set_line(lock: &FileLock, line: &str) -> Result<(), TreeError> {
    step("before an intent is written");
    let written = lock.set_line(line);
    step("after an intent was written");
    written.map_err(|source| TreeError::File { path: lock.path().to_owned(), source })
}

impl AttemptTrees {
    /// Makes the tree of an attempt. Repeating a call that was cut off completes it; a tree of that
    /// name and base that is finished is returned as it is.
    pub fn add(&self, new: &NewTree) -> Result<AttemptTree, TreeError> {
        let name_lock = self.lock_name(&new.name)?;
        if self.repository.resolve(new.base.as_str())?.is_none() {
            return Err(TreeError::NoBase { base: new.base.clone() });
        }
        if let Some((admin, marker)) = self.find(&new.name)?
            && let Some(tree) = self.continue_with(new, &admin, marker)?
        {
            set_line(&name_lock, "")?;
            return Ok(tree);
        }
        let intent = self.leftover(&name_lock)?;
        let branch = self.free_branch(new, intent.as_ref())?;
        let mut tree = None;
        if new.reuse {
            tree = self.reuse(new, &branch, &name_lock)?;
        }
        let tree = match tree {
            Some(tree) => tree,
            None => self.make(new, &branch, &name_lock)?,
        };
        set_line(&name_lock, "")?;
        Ok(tree)
    }

    /// Goes on with the tree that has the name: returns it if it is finished, completes it if it is
    /// not, and removes it if its files are gone or it was to be another one.
    fn continue_with(
        &self,
        new: &NewTree,
        admin: &Admin,
        marker: Marker,
    ) -> Result<Option<AttemptTree>, TreeError> {
        let is_there = admin.path.is_dir();
        match marker.stage {
            Stage::Ready if is_there && marker.base == new.base => {
                admin.reconnect()?;
                Ok(Some(self.tree(admin, &marker, Origin::Found, Notices::default())))
            }
            Stage::Ready if is_there => {
                let (name, path) = (new.name.clone(), admin.path.clone());
                Err(TreeError::Exists { name, path })
            }
            Stage::Making if is_there && marker.base == new.base => {
                let lock = FileLock::take(&self.tree_lock(&marker.folder))?;
                self.finish(admin, marker, &new.provisions, &lock, Origin::Made).map(Some)
            }
            _ => {
                self.remove_marked(admin, marker)?;
                Ok(None)
            }
        }
    }

    /// The intent of a caller that was killed. The worktree it may have left without a marker is
    /// taken away: nobody was told of it.
    fn leftover(&self, name_lock: &FileLock) -> Result<Option<Intent>, TreeError> {
        let Some(intent) = Intent::read(name_lock)? else { return Ok(None) };
        let lock = FileLock::take(&self.tree_lock(&intent.folder))?;
        let path = self.root.join(&intent.folder);
        if let Some(admin) = Admin::of(&self.repository, &path)
            && Marker::read(&admin.dir)?.is_none()
        {
            self.take_away(&admin, &lock)?;
        }
        Ok(Some(intent))
    }

    /// Takes a worktree away that was never finished. Files in it that git did not put there go to
    /// quarantine.
    pub(crate) fn take_away(&self, admin: &Admin, lock: &FileLock) -> Result<(), TreeError> {
        let failed = |path: &PathBuf, source| TreeError::File { path: path.clone(), source };
        let is_empty = std::fs::read_dir(&admin.path).map_or(true, |mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".git"))
        });
        if is_empty {
            files::remove(&admin.path).map_err(|source| failed(&admin.path, source))?;
        } else {
            self.put_aside(&admin.path)?;
        }
        step("before an unfinished worktree is forgotten");
        if admin.is_whole() {
            return self.forget(admin, lock);
        }
        files::remove(&admin.dir).map_err(|source| failed(&admin.dir, source))
    }

    /// The branch for a new tree, by what is to happen if it is there already.
    fn free_branch(&self, new: &NewTree, intent: Option<&Intent>) -> Result<BranchName, TreeError> {
        let refs = self.repository.refs();
        let mut branch = new.branch.clone();
        for number in 2..NUMBERS_MAX {
            let Some(tip) = refs.read(&branch.full())? else { return Ok(branch) };
            let is_own = intent.is_some_and(|own| own.branch == branch && own.base == new.base);
            if is_own && tip == new.base {
                return Ok(branch);
            }
            match new.if_branch_exists {
                IfBranchExists::Refuse => return Err(TreeError::BranchExists { branch, tip }),
                IfBranchExists::Continue => return Ok(branch),
                IfBranchExists::NextFree => branch = new.branch.numbered(number)?,
            }
        }
        let tip = new.base.clone();
        Err(TreeError::BranchExists { branch, tip })
    }

    /// Makes the branch, unless it is there and may be used as it is.
    pub(super) fn make_branch(&self, new: &NewTree, branch: &BranchName) -> Result<(), TreeError> {
        let full = branch.full();
        let made = self.repository.refs().swap(&full, &new.base, None, "althing: attempt");
        match made {
            Ok(Swap::Done) => Ok(()),
            Ok(Swap::Moved { .. }) if new.if_branch_exists == IfBranchExists::Continue => Ok(()),
            Ok(Swap::Moved { now }) => {
                let tip = now.unwrap_or_else(|| new.base.clone());
                Err(TreeError::BranchExists { branch: branch.clone(), tip })
            }
            Err(error) => Err(blocked(branch, error)),
        }
    }

    fn make(
        &self,
        new: &NewTree,
        branch: &BranchName,
        name_lock: &FileLock,
    ) -> Result<AttemptTree, TreeError> {
        let (folder, lock) = self.free_folder(new.name.as_str())?;
        let intent =
            Intent { branch: branch.clone(), base: new.base.clone(), folder: folder.clone() };
        intent.write(name_lock)?;
        self.make_branch(new, branch)?;
        let path = self.root.join(&folder);
        let args = ["worktree", "add", "--quiet", "--no-checkout", "--lock"];
        let call = self.repository.call(args).arg("--reason").arg("belongs to an attempt");
        let call = call.arg(&path).arg(branch.as_str()).under(&lock);
        let admin = self.add_worktree(&path, &call, &lock).map_err(in_use(branch))?;
        let marker = Marker {
            stage: Stage::Making,
            name: new.name.clone(),
            branch: branch.clone(),
            base: new.base.clone(),
            folder,
            slot: None,
            is_scratch: false,
            copied: Vec::new(),
        };
        marker.write(&admin.dir)?;
        self.finish(&admin, marker, &new.provisions, &lock, Origin::Made)
    }

    /// A folder that nobody uses, and its lock.
    pub(super) fn free_folder(&self, name: &str) -> Result<(String, FileLock), TreeError> {
        for number in 1..NUMBERS_MAX {
            let folder = if number == 1 { name.to_owned() } else { format!("{name}~{number}") };
            let Some(lock) = FileLock::try_take(&self.tree_lock(&folder))? else { continue };
            let path = self.root.join(&folder);
            let is_taken =
                path.symlink_metadata().is_ok() || Admin::of(&self.repository, &path).is_some();
            if !is_taken {
                return Ok((folder, lock));
            }
        }
        let source = std::io::ErrorKind::AlreadyExists.into();
        Err(TreeError::File { path: self.root.join(name), source })
    }

    /// Lets git add a worktree without files. Other processes that add theirs at the same time can
    /// get in its way, so it is tried again a few times.
    pub(crate) fn add_worktree(
        &self,
        path: &Path,
        call: &Call<'_>,
        lock: &FileLock,
    ) -> Result<Admin, TreeError> {
        let mut tries = 0;
        loop {
            let failed = match call.done() {
                Ok(()) => match Admin::of(&self.repository, path) {
                    Some(admin) => return Ok(admin),
                    None => GitError::unreadable("worktree", "the new worktree is not listed"),
                },
                Err(error) => error,
            };
            tries += 1;
            if tries >= TRIES || is_in_use(failed.said()) {
                return Err(failed.into());
            }
            tracing::debug!(error = %failed, "a worktree could not be added; trying again");
            if let Some(admin) = Admin::of(&self.repository, path) {
                self.take_away(&admin, lock)?;
            }
            std::thread::sleep(Duration::from_millis(u64::from(10 * tries)));
        }
    }

    /// Brings a tree that is being made to its end: files, submodules, copies, marker. It can be
    /// repeated. Files that belong to nobody's commit are rescued before they are taken away.
    pub(super) fn finish(
        &self,
        admin: &Admin,
        mut marker: Marker,
        provisions: &Provisions,
        lock: &FileLock,
        origin: Origin,
    ) -> Result<AttemptTree, TreeError> {
        admin.reconnect()?;
        let checkout = self.checkout(admin, &marker);
        unlock_index(&checkout)?;
        let failed = |source| TreeError::File { path: admin.dir.clone(), source };
        checkout.forget_operations().map_err(failed)?;
        let laid = lay_out(&checkout, Some(marker.branch.as_str()), provisions.lfs, lock);
        laid.map_err(in_use(&marker.branch))?;
        let args = ["ls-files", "-z", "--others", "--exclude-standard"];
        if !checkout.call(args).bytes()?.is_empty() {
            checkout.rescue_under(lock, &marker.name, "reset", &[])?;
            checkout.call(["clean", "-ffdq"]).under(lock).done()?;
        }
        let (notices, copied) = self.provide(&checkout, provisions, lock)?;
        marker.copied = copied.marks;
        marker.stage = Stage::Ready;
        marker.write(&admin.dir)?;
        Ok(self.tree(admin, &marker, origin, notices))
    }

    /// Brings what is not in the commit: submodules and copies.
    pub(crate) fn provide(
        &self,
        checkout: &Checkout,
        provisions: &Provisions,
        lock: &FileLock,
    ) -> Result<(Notices, Copied), TreeError> {
        let Some(project) = self.repository.work_tree() else {
            return Ok((Notices::default(), Copied::default()));
        };
        let submodules = submodule::populate(project, checkout, lock)?;
        let beside = lock.path().with_extension("copy");
        let copied = copy::bring(project, checkout.path(), &beside, &provisions.copy);
        let not_ignored = not_ignored(checkout, &copied.copied)?;
        let not_copied = copied.not_copied.clone();
        Ok((Notices { submodules, not_copied, not_ignored }, copied))
    }
}

fn is_in_use(said: &str) -> bool {
    said.contains("already checked out") || said.contains("already used by worktree")
}

/// Recognizes that a branch is checked out elsewhere.
fn in_use(branch: &BranchName) -> impl Fn(TreeError) -> TreeError {
    move |error| match &error {
        TreeError::Git(failed) if is_in_use(failed.said()) => {
            TreeError::BranchInUse { branch: branch.clone(), said: failed.said().to_owned() }
        }
        _ => error,
    }
}

/// Those of some files that git would show as untracked.
fn not_ignored(checkout: &Checkout, paths: &[TreePath]) -> Result<Vec<TreePath>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = Vec::new();
    for path in paths {
        // It does not take paths literally; this keeps a colon from being special.
        input.extend_from_slice(b"./");
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let call = checkout.call(["check-ignore", "-z", "--stdin"]).input(&input).with_magic();
    let ignored = call.answers(&[1]).run()?.printed;
    let plain = |name: &[u8]| TreePath::new(name.strip_prefix(b"./").unwrap_or(name));
    let ignored: BTreeSet<TreePath> = names(&ignored).map(plain).collect();
    Ok(paths.iter().filter(|path| !ignored.contains(path)).cloned().collect())
}

/// Names the branch that keeps another from being made, if that is the reason.
fn blocked(branch: &BranchName, error: GitError) -> TreeError {
    let quoted = error.said().split('\'').nth(1).unwrap_or_default();
    let other = error.said().split('\'').find_map(|part| {
        let other = BranchName::of_full(part)?;
        (other != *branch && part != quoted).then(|| other.to_string())
    });
    match other {
        Some(other) if error.said().contains("exists; cannot create") => {
            TreeError::BranchBlocked { branch: branch.clone(), other }
        }
        _ => TreeError::Git(error),
    }
}

/// Writes the files of a branch or a commit, or of what is checked out.
pub(crate) fn lay_out(
    checkout: &Checkout,
    what: Option<&str>,
    lfs: Lfs,
    lock: &FileLock,
) -> Result<(), TreeError> {
    let args = ["checkout", "--quiet", "--force", "--no-recurse-submodules", "--no-guess"];
    let mut call = checkout.call(args).under(lock);
    call = what.map_or(call.clone(), |what| call.arg(what));
    if lfs == Lfs::Skip {
        call = call.variable("GIT_LFS_SKIP_SMUDGE", "1");
    }
    call.arg("--").done().map_err(|error| {
        let said = error.said();
        if said.contains("filter") && said.contains("failed") {
            return TreeError::Filter { said: said.to_owned() };
        }
        TreeError::Git(error)
    })
}

/// Removes the lock of a git that was killed, if nobody works in the tree.
pub(super) fn unlock_index(checkout: &Checkout) -> Result<(), TreeError> {
    let lock = checkout.git_dir().join("index.lock");
    if !lock.exists() {
        return Ok(());
    }
    let path = checkout.path().to_owned();
    let is_free = |path: &std::path::Path| Occupancy::of(path) == Occupancy::Free;
    if !is_free(&path) || !is_free(checkout.git_dir()) {
        return Err(TreeError::Locked { path, lock });
    }
    files::remove(&lock).map_err(|source| TreeError::File { path: lock, source })
}
