//! Evidence: whether the work of an attempt is done. Done is what the checks say, not what the agent
//! says.

use althing_kernel::file::FilePath;
use althing_kernel::task::terms::Terms;
use althing_kernel::{AgentName, Surface};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::changes::Changes;
use althing_workshop::checkout::{Checkout, Operation};
use althing_workshop::command::{self, Limits};
use althing_workshop::git::author::Author;
use althing_workshop::git::message::Message;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::RefName;
use althing_workshop::git::tree_path::TreePath;
use std::fmt::Write as _;

use super::attempt::Passed;
use super::prepare::{git, object, target};
use super::shared::Shared;
use crate::error::Error;

/// The most paths that are named.
const NAMED_MAX: usize = 20;

/// The outcome of looking at an attempt's work.
pub(crate) enum Judgement {
    /// It can be merged.
    Passed(Passed),
    /// It is not done yet, for these reasons.
    NotYet(String),
}

/// The attempt that is looked at.
pub(crate) struct Judged<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) tree: &'a AttemptTree,
    pub(crate) base: &'a ObjectId,
    pub(crate) terms: &'a Terms,
    /// The ref for a commit of its state.
    pub(crate) reference: RefName,
    /// The message of that commit.
    pub(crate) message: Message,
    /// The agent's last words.
    pub(crate) said: String,
    /// The agent.
    pub(crate) agent: AgentName,
}

/// Whether a path is one that an attempt may change.
pub(crate) fn is_allowed(terms: &Terms, path: &TreePath) -> bool {
    if terms.touches.is_empty() {
        return true;
    }
    let Some(file) = file_path(path) else { return false };
    terms.touches.iter().any(|own: &Surface| own.covers_file(file.surface()))
}

/// A path of git's as the kernel has it; none if it is no UTF-8 or no plain path.
pub(crate) fn file_path(path: &TreePath) -> Option<FilePath> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    FilePath::new(text.trim_end_matches('/')).ok()
}

fn listed<'p>(paths: impl Iterator<Item = &'p TreePath>) -> String {
    let all: Vec<String> = paths.map(TreePath::shown).collect();
    let more = all.len().saturating_sub(NAMED_MAX);
    let mut text = all.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

impl Judged<'_> {
    /// Looks at the work, and keeps its state as a commit if it passes.
    pub(crate) fn judge(&self) -> Result<Judgement, Error> {
        let checkout = self.tree.checkout();
        let unresolved = checkout.unresolved().map_err(git)?;
        if !unresolved.is_empty() {
            let paths = unresolved.unmerged.iter().chain(&unresolved.markers);
            let found = format!("Conflicts of a merge are not resolved in: {}", listed(paths));
            return Ok(Judgement::NotYet(found));
        }
        self.conclude_merge()?;
        let head = checkout.head().map_err(git)?;
        if let Some(head) = head.commit() {
            let markers = self.shared.repository().conflict_markers(&self.since()?, head);
            let markers = markers.map_err(git)?;
            if !markers.is_empty() {
                let found =
                    format!("Conflict markers were committed in: {}", listed(markers.iter()));
                return Ok(Judgement::NotYet(found));
            }
        }
        let mut found = Vec::new();
        let changes = Changes::since(checkout, &self.since()?).map_err(git)?;
        let paths = changes.paths();
        let outside: Vec<&TreePath> =
            paths.iter().filter(|path| !is_allowed(self.terms, path)).collect();
        if !outside.is_empty() {
            let allowed: Vec<String> = self.terms.touches.iter().map(ToString::to_string).collect();
            found.push(format!(
                "Files outside of {} were changed, which this task may not change; take these \
                 changes back: {}",
                allowed.join(", "),
                listed(outside.into_iter())
            ));
        }
        let missing: Vec<String> = self
            .terms
            .produces
            .iter()
            .filter(|file| !self.tree.path().join(file.as_str()).is_file())
            .map(ToString::to_string)
            .collect();
        if !missing.is_empty() {
            found.push(format!("These files are missing: {}", missing.join(", ")));
        }
        if found.is_empty() && paths.is_empty() && self.terms.check.is_none() {
            found.push("No file was changed.".to_owned());
        }
        if found.is_empty() {
            found.extend(self.check()?);
        }
        if !found.is_empty() {
            return Ok(Judgement::NotYet(found.join("\n\n")));
        }
        let commit = self.keep()?;
        let text = self.said.clone();
        Ok(Judgement::Passed(Passed { commit: commit.to_string(), files: paths.len(), text }))
    }

    /// Runs the check of the task in the worktree.
    fn check(&self) -> Result<Option<String>, Error> {
        let Some(check) = &self.terms.check else { return Ok(None) };
        let limits = Limits { time: self.shared.settings.check_timeout, ..Limits::default() };
        let ran = command::run(self.tree.path(), check.as_str(), &limits).map_err(git)?;
        if ran.passed {
            return Ok(None);
        }
        let output = ran.output.trim();
        Ok(Some(format!("`{check}` failed ({}):\n\n```\n{output}\n```", ran.ended)))
    }

    fn author(&self) -> Checkout {
        self.tree.checkout().with_author(&Author::agent(self.agent.as_str()))
    }

    /// Commits a merge of the work of others whose conflicts are resolved. It has to show that their
    /// work is in it, or it conflicts with it again.
    fn conclude_merge(&self) -> Result<(), Error> {
        let checkout = self.author();
        if checkout.under_way() == Some(Operation::Merge) {
            checkout.commit_all(&self.message, None).map_err(git)?;
        }
        Ok(())
    }

    /// The commit that the work builds on. The work of others that was merged into it is not its own.
    fn since(&self) -> Result<ObjectId, Error> {
        let (_, branch) = target(&self.shared.lead().present()?.state)?;
        let head = self.tree.checkout().head().map_err(git)?;
        let Some(head) = head.commit() else { return Ok(self.base.clone()) };
        let newest = self.shared.repository().merge_base(head, &object(&branch.tip)?);
        Ok(newest.map_err(git)?.unwrap_or_else(|| self.base.clone()))
    }

    /// Keeps the state of the worktree as a commit.
    fn keep(&self) -> Result<ObjectId, Error> {
        let checkout = self.author();
        let refs = self.shared.repository().refs();
        let seen = refs.read(&self.reference).map_err(git)?;
        let taken =
            checkout.snapshot(&self.reference, seen.as_ref(), &self.message).map_err(git)?;
        if let Some(snapshot) = taken.snapshot() {
            return Ok(snapshot.commit.clone());
        }
        let head = checkout.head().map_err(git)?;
        head.commit().cloned().ok_or_else(|| Error::defect("an attempt has no commit"))
    }
}
