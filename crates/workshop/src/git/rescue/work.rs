//! Rescuing: finding everything that would go with a tree, and one commit that keeps it.

use super::{RESCUE_REFS, Rescue, RescueError, Rescued, Rescues};
use crate::file_lock::FileLock;
use crate::git::call::{Call, GitError};
use crate::git::checkout::{Checkout, Head};
use crate::git::inner::{self, Inner};
use crate::git::message::Message;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{RefName, TreeName};
use crate::git::refs::Swap;
use crate::git::snapshot::{LeftBehind, SnapshotError, State, Wanted};
use crate::git::tree_path::TreePath;
use crate::step::step;

/// Files in a git folder that name commits nobody else may know of.
const LOOSE_ENDS: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "rebase-merge/autostash",
    "rebase-merge/orig-head",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
];

/// A repository inside a tree that has work of its own.
struct InnerWork {
    inner: Inner,
    state: State,
}

impl Checkout {
    /// Keeps everything that is not committed here under a name. Repeating it without a change
    /// makes nothing new.
    pub fn rescue(&self, name: &TreeName, reason: &str) -> Result<Rescued, RescueError> {
        let lock = self.lock()?;
        self.rescue_under(&lock, name, reason, &[])
    }

    /// The same for a caller that holds the lock of the checkout, but for some files.
    pub(crate) fn rescue_under(
        &self,
        _lock: &FileLock,
        name: &TreeName,
        reason: &str,
        except: &[TreePath],
    ) -> Result<Rescued, RescueError> {
        let unreadable = |source| RescueError::Snapshot { path: self.path().to_owned(), source };
        let wanted = |path: &TreePath| !except.contains(path);
        let wanted: Option<Wanted<'_>> = if except.is_empty() { None } else { Some(&wanted) };
        let state = State::read(self, wanted).map_err(unreadable)?;
        let mut left = state.left.clone();
        let ends = self.loose_ends(&state.head)?;
        let work = self.inner_work(&state, &mut left).map_err(unreadable)?;
        if state.is_unchanged() && !state.has_index_changes() && ends.is_empty() && work.is_empty()
        {
            return Ok(Rescued { rescue: None, left });
        }
        let fingerprint = fingerprint(&state, &ends, &work);
        let rescues = self.repository().rescues();
        let before = rescues.of(name)?;
        if let Some(same) = before.iter().find(|own| own.fingerprint == fingerprint) {
            return Ok(Rescued { rescue: Some(same.clone()), left });
        }
        let parents = self.parents(&state, ends)?;
        let mut number = before.iter().map(|own| own.number).max().unwrap_or(0) + 1;
        loop {
            let inner = self.keep_inner(name, number, &work, &mut left);
            let message = message(name, reason, &state, &fingerprint, &inner);
            let parents: Vec<&ObjectId> = parents.iter().collect();
            let commit = self.repository().commit(&state.tree, &parents, &message.text())?;
            let reference = reference(name, number)?;
            step("before the rescue ref is written");
            let swap = self.repository().refs().swap(&reference, &commit, None, "rescue")?;
            match swap {
                Swap::Done => return Ok(Rescued { rescue: rescues.find(name, number)?, left }),
                // Somebody else rescued under that name at the same time.
                Swap::Moved { .. } => number += 1,
            }
        }
    }

    /// Commits that would be forgotten with this checkout.
    fn loose_ends(&self, head: &Head) -> Result<Vec<ObjectId>, GitError> {
        let mut ends = Vec::new();
        for file in LOOSE_ENDS {
            let Ok(text) = std::fs::read_to_string(self.git_dir().join(file)) else { continue };
            for line in text.lines() {
                if ObjectId::new(line).is_ok() && !self.is_kept(line)? {
                    ends.extend(self.repository().resolve(line)?);
                }
            }
        }
        if let Head::Detached { commit } = head
            && !self.is_kept(commit.as_str())?
            && !ends.contains(commit)
        {
            ends.push(commit.clone());
        }
        Ok(ends)
    }

    /// Whether a ref that all work trees share contains a commit.
    fn is_kept(&self, commit: &str) -> Result<bool, GitError> {
        let args = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit];
        let kept = ["refs/heads", "refs/tags", "refs/remotes", "refs/althing", "refs/stash"];
        let call = kept.iter().fold(self.repository().call(args), crate::git::call::Call::arg);
        match call.line() {
            Ok(found) => Ok(!found.is_empty()),
            // It is not an object of this repository, so there is nothing to keep.
            Err(GitError::Failed { said, .. }) if said.contains("no such commit") => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The parents of the commit: what was checked out, what was staged, and loose ends.
    fn parents(&self, state: &State, ends: Vec<ObjectId>) -> Result<Vec<ObjectId>, RescueError> {
        let mut parents: Vec<ObjectId> = state.head.commit().cloned().into_iter().collect();
        if let Some(staged) = &state.index_tree
            && Some(staged) != state.head_tree.as_ref()
            && *staged != state.tree
        {
            let above: Vec<&ObjectId> = parents.iter().collect();
            let commit = self.repository().commit(staged, &above, "Index of rescued work\n")?;
            parents.push(commit);
        }
        parents.extend(ends);
        let mut seen = Vec::new();
        parents.retain(|own| {
            !seen.contains(own) && {
                seen.push(own.clone());
                true
            }
        });
        Ok(parents)
    }

    /// The repositories inside that have something nobody else has.
    fn inner_work(
        &self,
        state: &State,
        left: &mut Vec<LeftBehind>,
    ) -> Result<Vec<InnerWork>, SnapshotError> {
        let mut found = Vec::new();
        for inner in inner::all(self, &state.status)? {
            let own = State::read(&inner.checkout, None)?;
            left.extend(own.left.iter().cloned());
            if !own.is_unchanged() || has_own_commits(&inner.checkout)? {
                found.push(InnerWork { inner, state: own });
            }
        }
        Ok(found)
    }

    /// Fetches the work of repositories inside into this one, each under refs of its own. Returns
    /// where they are in the tree.
    fn keep_inner(
        &self,
        name: &TreeName,
        number: u32,
        work: &[InnerWork],
        left: &mut Vec<LeftBehind>,
    ) -> Vec<String> {
        let mut kept = Vec::new();
        for own in work {
            let to = format!("{RESCUE_REFS}{name}/{number}.inner/{}", kept.len() + 1);
            let path = own.inner.path.shown();
            match own.fetch_into(self, &to) {
                Ok(()) => kept.push(path),
                Err(error) => left.push(LeftBehind { path, why: error.to_string() }),
            }
        }
        kept
    }
}

impl InnerWork {
    /// Fetches the files as they are, and all branches.
    fn fetch_into(&self, outer: &Checkout, to: &str) -> Result<(), GitError> {
        let repository = self.inner.checkout.repository();
        let parents: Vec<&ObjectId> = self.state.head.commit().into_iter().collect();
        let message = format!("Rescued work in {}\n", self.inner.path);
        let commit = repository.commit(&self.state.tree, &parents, &message)?;
        let keep = format!("{commit}:{to}/files");
        let heads = format!("+refs/heads/*:{to}/heads/*");
        let stash = format!("+refs/stash*:{to}/stash*");
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--force"];
        let call = outer.repository().call(args).arg("--no-recurse-submodules");
        let call = call.arg(self.inner.checkout.git_dir()).arg(keep).arg(heads).arg(stash);
        // With this version of the protocol a commit that no ref has can be asked for by its id.
        call.setting("protocol.version=2").variable("GIT_ALLOW_PROTOCOL", "file").done()
    }
}

/// Whether a repository inside has commits that would go with it. What lies with a remote, or in the
/// project's own copy of a submodule, is not lost with the tree.
fn has_own_commits(inner: &Checkout) -> Result<bool, GitError> {
    if inner.head()?.commit().is_none() {
        return Ok(false);
    }
    if let Some(source) = crate::git::submodule::source_of(inner.git_dir()) {
        let tips = inner.call(["rev-parse", "HEAD", "--branches"]).bytes()?;
        let check = Call::new(&source, ["cat-file", "--batch-check"]).git_dir(&source);
        let found = check.input(&tips).line()?;
        return Ok(found.lines().any(|line| line.ends_with(" missing")));
    }
    let args = ["rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes"];
    Ok(!inner.call(args).line()?.is_empty())
}

pub(super) fn reference(name: &TreeName, number: u32) -> Result<RefName, RescueError> {
    Ok(RefName::new(&format!("{RESCUE_REFS}{name}/{number}"))?)
}

fn fingerprint(state: &State, ends: &[ObjectId], work: &[InnerWork]) -> String {
    let id = |id: Option<&ObjectId>| id.map_or("-", ObjectId::as_str).to_owned();
    let mut parts = vec![id(state.head.commit()), state.tree.to_string()];
    parts.push(id(state.index_tree.as_ref()));
    parts.extend(ends.iter().map(ToString::to_string));
    for own in work {
        parts.push(id(own.state.head.commit()));
        parts.push(own.state.tree.to_string());
    }
    parts.join(",")
}

fn message(
    name: &TreeName,
    reason: &str,
    state: &State,
    fingerprint: &str,
    inner: &[String],
) -> Message {
    let branch = match &state.head {
        Head::Branch { name, .. } => name.to_string(),
        Head::Detached { commit } => format!("detached at {}", commit.short()),
        Head::Unborn { branch } => branch.clone(),
    };
    let files = state.files.to_string();
    let noun = if state.files == 1 { "file" } else { "files" };
    let mut message = Message::new(&format!("Rescue {files} {noun} of {name} before {reason}"))
        .trailer("Althing-Workspace", name.as_str())
        .trailer("Althing-Branch", &branch)
        .trailer("Althing-Files", &files)
        .trailer("Althing-Reason", reason);
    for path in inner {
        message = message.trailer("Althing-Inner", path);
    }
    message.trailer("Althing-State", fingerprint)
}

impl Rescues<'_> {
    /// One of them, if it is there.
    fn find(&self, name: &TreeName, number: u32) -> Result<Option<Rescue>, RescueError> {
        Ok(self.of(name)?.into_iter().find(|own| own.number == number))
    }
}
