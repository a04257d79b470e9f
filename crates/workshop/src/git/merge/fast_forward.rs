//! Bringing a result into a person's own branch. If it is checked out, the files follow; that is
//! the one place where a person's work tree is written.
//!
//! It happens only if nothing there is uncommitted, in the way or under way. One git process changes
//! files, index and branch, and goes on if its caller is killed. Should that git be killed too, a
//! note in the git folder says what it was doing, and the next call puts the files back that it had
//! written; a file that a person changed since is left alone and named.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::into_tree::quiet;
use super::{Advance, MergeError};
use crate::file_lock::FileLock;
use crate::git::call::{Call, GitError};
use crate::git::changes::{Change, ChangeKind, Status, differing};
use crate::git::checkout::{Checkout, Head, Operation};
use crate::git::files::{self, Found, look};
use crate::git::names;
use crate::git::object_id::ObjectId;
use crate::git::occupants::is_abandoned;
use crate::git::ref_name::BranchName;
use crate::git::repository::{Repository, real};
use crate::git::tree_path::{TreePath, some};

const NOTE: &str = "althing-fast-forward";
/// How long a git of the person's own may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The outcome of a fast-forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastForward {
    /// The branch, and the files if it is checked out, are where they were to be.
    Done,
    /// Nothing was changed.
    Refused(Refusal),
}

/// Why a branch was not fast-forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody moved or deleted it.
    Moved {
        /// Where it is now; none if it is gone.
        tip: Option<ObjectId>,
    },
    /// The new commit does not contain the old one.
    NotForward,
    /// Tracked files there have changes that are not committed.
    Uncommitted {
        /// The work tree.
        path: PathBuf,
        /// The files.
        paths: Vec<TreePath>,
    },
    /// Files that nobody tracks are where new ones would come.
    InTheWay {
        /// The work tree.
        path: PathBuf,
        /// The files.
        paths: Vec<TreePath>,
    },
    /// The person is in the middle of something.
    UnderWay {
        /// The work tree.
        path: PathBuf,
        /// The operation.
        operation: Operation,
    },
    /// Another git works there, or one that was killed left its lock.
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// An earlier fast-forward was cut off, and files were changed since.
    CutOff {
        /// The work tree.
        path: PathBuf,
        /// The files that are neither as they were nor as they were to be.
        paths: Vec<TreePath>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Moved { tip: Some(tip) } => write!(f, "the branch moved to {}", tip.short()),
            Refusal::Moved { tip: None } => f.write_str("the branch is gone"),
            Refusal::NotForward => f.write_str("the result does not contain the branch"),
            Refusal::Uncommitted { path, paths } => {
                write!(f, "{} has changes that are not committed: {}", path.display(), some(paths))
            }
            Refusal::InTheWay { path, paths } => {
                write!(f, "untracked files are in the way in {}: {}", path.display(), some(paths))
            }
            Refusal::UnderWay { path, operation } => {
                write!(f, "{operation} is under way in {}", path.display())
            }
            Refusal::Locked { lock } => write!(f, "another git holds {}", lock.display()),
            Refusal::CutOff { path, paths } => write!(
                f,
                "an earlier update of {} was cut off, and these files were changed since: {}",
                path.display(),
                some(paths)
            ),
        }
    }
}

impl Refusal {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Refusal::Moved { .. } => "merge the result again, into where the branch is now",
            Refusal::NotForward => "merge the branch into the result first",
            Refusal::Uncommitted { .. } => "commit or stash them, then repeat",
            Refusal::InTheWay { .. } => "move them away, then repeat",
            Refusal::UnderWay { .. } => "finish or abort it, then repeat",
            Refusal::Locked { .. } => {
                "wait for it; if no git runs there any more, remove the lock file"
            }
            Refusal::CutOff { .. } => {
                "keep what you need of these files, restore them with git checkout, then repeat"
            }
        }
    }
}

/// What is to be done, as the note says it.
struct Plan {
    branch: BranchName,
    from: ObjectId,
    to: ObjectId,
}

impl Repository {
    /// Moves a branch forward, with the files if it is checked out.
    pub fn fast_forward(
        &self,
        branch: &BranchName,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<FastForward, MergeError> {
        let refused = |refusal| Ok(FastForward::Refused(refusal));
        let tip = self.refs().read(&branch.full())?;
        if tip.as_ref() == Some(to) && from != to {
            // It may be a repetition: files that were cut off are put right all the same.
            if self.checked_out(branch)?.is_none() {
                return Ok(FastForward::Done);
            }
        } else if tip.as_ref() != Some(from) {
            return refused(Refusal::Moved { tip });
        }
        if !self.is_ancestor(from, to)? {
            return refused(Refusal::NotForward);
        }
        let plan = Plan { branch: branch.clone(), from: from.clone(), to: to.clone() };
        let Some(path) = self.checked_out(branch)? else {
            return match self.advance(branch, from, to)? {
                Advance::Done => Ok(FastForward::Done),
                Advance::Moved { tip } => refused(Refusal::Moved { tip }),
                Advance::CheckedOut { path } => self.forward_files(&path, &plan),
            };
        };
        self.forward_files(&path, &plan)
    }

    fn forward_files(&self, path: &Path, plan: &Plan) -> Result<FastForward, MergeError> {
        let checkout = self.checkout_at(path)?;
        let lock = checkout.lock()?;
        if let Some(refusal) = checkout.finish_cut_off(&lock)? {
            return Ok(FastForward::Refused(refusal));
        }
        let tip = match checkout.head()? {
            Head::Branch { name, commit } if name == plan.branch => Some(commit),
            _ => None,
        };
        if tip.as_ref() == Some(&plan.to) {
            return Ok(FastForward::Done);
        }
        if tip.as_ref() != Some(&plan.from) {
            return Ok(FastForward::Refused(Refusal::Moved { tip }));
        }
        if let Some(refusal) = checkout.obstacle(plan)? {
            return Ok(FastForward::Refused(refusal));
        }
        checkout.forward(plan, &lock)
    }

    /// The checkout of this repository at a path.
    fn checkout_at(&self, path: &Path) -> Result<Checkout, GitError> {
        let git_dir = Call::new(path, ["rev-parse", "--absolute-git-dir"]).path()?;
        let git_dir = real(&git_dir);
        if !git_dir.starts_with(self.common_dir()) {
            let what = format!("{} belongs to another repository", path.display());
            return Err(GitError::unreadable("worktree", what));
        }
        let lock = git_dir.join("althing-checkout.lock");
        Ok(Checkout::new(self, &real(path), &git_dir, &lock))
    }
}

impl Checkout {
    /// Puts right what an earlier fast-forward left that was cut off. It is called by the next one;
    /// a refusal names files that somebody has to look at.
    pub fn finish_fast_forward(&self) -> Result<Option<Refusal>, MergeError> {
        let lock = self.lock()?;
        self.finish_cut_off(&lock)
    }

    /// The reason why the files cannot follow, if there is one.
    fn obstacle(&self, plan: &Plan) -> Result<Option<Refusal>, MergeError> {
        let path = self.path().to_owned();
        if let Some(operation) = self.under_way() {
            return Ok(Some(Refusal::UnderWay { path, operation }));
        }
        let lock = self.git_dir().join("index.lock");
        let begun = Instant::now();
        while lock.exists() {
            if begun.elapsed() > PATIENCE {
                return Ok(Some(Refusal::Locked { lock }));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = Status::of(self, "--untracked-files=no", None)?;
        let changes = differing(self.repository(), &plan.from, &plan.to)?;
        let mut dirty = status.paths();
        dirty.extend(self.overlooked(&changes)?);
        if !dirty.is_empty() {
            let paths = dirty.into_iter().collect();
            return Ok(Some(Refusal::Uncommitted { path, paths }));
        }
        let mut paths = Vec::new();
        for change in changes.iter().filter(|change| change.kind == ChangeKind::Added) {
            let found = look(self.path(), &change.path);
            let found = found.map_err(|source| MergeError::File { path: path.clone(), source })?;
            let gives_way = |other: &Change| is_above(&other.path, &change.path);
            let is_free = match found {
                Found::Nothing => true,
                // A tracked file above it goes with the same step.
                Found::Blocked => changes.iter().any(gives_way),
                Found::Folder => is_left_empty(self.path(), &change.path, &changes),
                _ => false,
            };
            if !is_free {
                paths.push(change.path.clone());
            }
        }
        Ok((!paths.is_empty()).then_some(Refusal::InTheWay { path, paths }))
    }

    /// Files that would change and that somebody told git to overlook, where they are on disk: git
    /// would write over changes in them without a word.
    fn overlooked(&self, changes: &[Change]) -> Result<Vec<TreePath>, GitError> {
        let listed = self.call(["ls-files", "-v", "-z"]).bytes()?;
        let touched: BTreeSet<&TreePath> = changes.iter().map(|change| &change.path).collect();
        let mut found = Vec::new();
        for line in names(&listed) {
            let Some((tag, rest)) = line.split_first() else { continue };
            let path = TreePath::new(rest.strip_prefix(b" ").unwrap_or(rest));
            let is_marked = *tag == b'S' || tag.is_ascii_lowercase();
            if is_marked && touched.contains(&path) && path.below(self.path()).exists() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Lets git do it.
    fn forward(&self, plan: &Plan, lock: &FileLock) -> Result<FastForward, MergeError> {
        let note = self.git_dir().join(NOTE);
        let failed = |source| MergeError::File { path: note.clone(), source };
        let Plan { branch, from, to } = plan;
        files::write(&note, format!("{branch} {from} {to}\n").as_bytes()).map_err(failed)?;
        let args = ["merge", "--ff-only", "--quiet", "--no-stat", "--no-overwrite-ignore"];
        let call = quiet(self, self.call(args))?.arg(to.as_str()).under(lock).patience(PATIENCE);
        let result = call.done();
        // If git was killed, the files it wrote are put back at once.
        if let Some(refusal) = self.finish_cut_off(lock)? {
            return Ok(FastForward::Refused(refusal));
        }
        let tip = self.repository().refs().read(&branch.full())?;
        match result {
            _ if tip.as_ref() == Some(to) => Ok(FastForward::Done),
            Err(GitError::Locked { lock, .. }) => {
                Ok(FastForward::Refused(Refusal::Locked { lock }))
            }
            _ if tip.as_ref() != Some(from) => Ok(FastForward::Refused(Refusal::Moved { tip })),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(FastForward::Refused(Refusal::Moved { tip })),
        }
    }

    fn finish_cut_off(&self, lock: &FileLock) -> Result<Option<Refusal>, MergeError> {
        let note = self.git_dir().join(NOTE);
        let failed = |source| MergeError::File { path: note.clone(), source };
        let Ok(text) = std::fs::read_to_string(&note) else { return Ok(None) };
        let on_branch = |plan: &Plan| match self.head() {
            Ok(Head::Branch { name, commit }) => name == plan.branch && commit == plan.from,
            _ => false,
        };
        // If the branch moved, git came to its end, or the person went on without it.
        if let Some(plan) = parse(&text).filter(on_branch)
            && let Some(refusal) = self.put_back(&plan, lock)?
        {
            return Ok(Some(refusal));
        }
        files::remove(&note).map_err(failed)?;
        Ok(None)
    }

    /// Puts the files back that a git wrote before it was killed. Its index is still the old one.
    fn put_back(&self, plan: &Plan, lock: &FileLock) -> Result<Option<Refusal>, MergeError> {
        let index_lock = self.git_dir().join("index.lock");
        if index_lock.exists() {
            if !is_abandoned(&index_lock, self.path()) {
                return Ok(Some(Refusal::Locked { lock: index_lock }));
            }
            let failed = |source| MergeError::File { path: index_lock.clone(), source };
            files::remove(&index_lock).map_err(failed)?;
        }
        let status = Status::of(self, "--untracked-files=all", None)?;
        let dirty = status.paths();
        let changes = differing(self.repository(), &plan.from, &plan.to)?;
        let (mut restore, mut remove, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
        for change in &changes {
            let is_gone = matches!(look(self.path(), &change.path), Ok(Found::Nothing));
            let is_new = change.kind == ChangeKind::Added;
            if is_gone && is_new || !is_new && !dirty.contains(&change.path) {
                continue;
            }
            if !is_gone && !self.is_of_commit(&change.path, &plan.to)? {
                foreign.push(change.path.clone());
            } else if is_new {
                remove.push(change.path.clone());
            } else {
                restore.push(change.path.clone());
            }
        }
        if !foreign.is_empty() {
            let path = self.path().to_owned();
            return Ok(Some(Refusal::CutOff { path, paths: foreign }));
        }
        for path in remove {
            let path = path.below(self.path());
            files::remove(&path).map_err(|source| MergeError::File { path, source })?;
        }
        if !restore.is_empty() {
            let mut input = Vec::new();
            for path in &restore {
                input.extend_from_slice(path.as_bytes());
                input.push(0);
            }
            let args = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
            self.call(args).input(&input).done()?;
        }
        self.call(["update-index", "-q", "--refresh"]).under(lock).answers(&[1]).done()?;
        Ok(None)
    }

    /// Whether a file on disk is that of a commit, or as much of it as git had written.
    fn is_of_commit(&self, path: &TreePath, commit: &ObjectId) -> Result<bool, GitError> {
        let Ok(Found::File(_)) = look(self.path(), path) else {
            return self.is_link_of(path, commit);
        };
        let call = self.call(["cat-file", "--filters"]).arg(path.of_commit(commit));
        let whole = call.answers(&[128]).run()?;
        let there = std::fs::read(path.below(self.path())).unwrap_or_default();
        Ok(whole.code == 0 && whole.printed.starts_with(&there))
    }

    fn is_link_of(&self, path: &TreePath, commit: &ObjectId) -> Result<bool, GitError> {
        let call = self.call(["cat-file", "blob"]).arg(path.of_commit(commit)).answers(&[128]);
        let target = std::fs::read_link(path.below(self.path()));
        let whole = call.run()?;
        let is_same = |target: PathBuf| target.as_os_str().as_encoded_bytes() == whole.printed;
        Ok(whole.code == 0 && target.is_ok_and(is_same))
    }
}

fn parse(text: &str) -> Option<Plan> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let branch = BranchName::new(words.next()?).ok()?;
    let (from, to) = (ObjectId::new(words.next()?).ok()?, ObjectId::new(words.next()?).ok()?);
    Some(Plan { branch, from, to })
}

/// Whether a path lies below another.
fn is_above(above: &TreePath, path: &TreePath) -> bool {
    let rest = path.as_bytes().strip_prefix(above.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// Whether all that is in a folder goes with the same step, so that a file can take its place.
fn is_left_empty(root: &Path, folder: &TreePath, changes: &[Change]) -> bool {
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder.below(root)) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let name = entry.file_name();
            let path = [folder.as_bytes(), b"/", name.as_encoded_bytes()].concat();
            let path = TreePath::new(&path);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if !changes.iter().any(|c| c.path == path && c.kind == ChangeKind::Deleted) {
                return false;
            }
        }
    }
    true
}
