//! Displaced work, kept on branches: one for each work tree that has any of it.

use althing_dialects::frugal::haid::slug;
use althing_dialects::frugal::planning::one_line;
use althing_kernel::Surface;
use althing_kernel::blackboard::dispute::ALSO_PRESERVED_MAX;
use althing_kernel::lease::Surfaces;
use althing_workshop::git::{Branch, Git, Left};
use althing_workshop::scratch::Scratch;
use std::path::Path;

use crate::error::Error;

/// The disputed surfaces, and the agent whose work is displaced.
pub(super) struct Work<'a> {
    pub(super) git: &'a Git,
    pub(super) scratch: &'a Scratch,
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) surfaces: &'a Surfaces,
    /// The name of the displaced agent.
    pub(super) of: &'a str,
}

/// The branches that keep displaced work, and the files that are not kept.
pub(super) struct Kept {
    /// The first belongs to the current work tree, if that has displaced work.
    pub(super) branches: Vec<Branch>,
    pub(super) left: Vec<Left>,
}

impl Work<'_> {
    /// The branch for the work of the current work tree.
    pub(super) fn branch(&self) -> String {
        format!("displaced/{}-{}", slug(self.of), self.id)
    }

    /// The beginning of the commit messages of this dispute.
    fn beginning(&self) -> String {
        format!("Work displaced by conflict {}: ", self.id)
    }

    /// Commits the work of all work trees. No branch is moved yet.
    pub(super) fn keep(&self) -> Result<Kept, Error> {
        let mut kept = Kept { branches: Vec::new(), left: Vec::new() };
        let (own, left) = self.commit(self.git, self.branch(), Files::All)?;
        kept.branches.extend(own);
        kept.left.extend(left);
        match self.git.other_trees() {
            Ok(trees) => {
                for tree in trees {
                    self.keep_of(&tree, &mut kept)?;
                }
            }
            Err(error) => kept.left.push(Left::new("other work trees", error.message())),
        }
        self.find_again(&mut kept);
        Ok(kept)
    }

    /// Adds branches that an interrupted attempt made under other names, because somebody else held
    /// the surfaces then or a work tree is gone. These branches are not moved.
    fn find_again(&self, kept: &mut Kept) {
        let ending = format!("-{}", self.id);
        let names = match self.git.branches_in("displaced") {
            Ok(names) => names,
            Err(error) => {
                kept.left.push(Left::new("branches of earlier attempts", error.message()));
                return;
            }
        };
        for name in names {
            let known = kept.branches.iter().any(|branch| branch.name == name);
            if known || !name.contains(&ending) {
                continue;
            }
            let tip = self.git.tip(&name);
            let Some(tip) = tip.filter(|tip| self.git.is_own(tip, &self.beginning())) else {
                continue;
            };
            if kept.branches.len() > ALSO_PRESERVED_MAX {
                kept.left.push(Left::new(&name, "this branch of an earlier attempt exists too"));
            } else {
                kept.branches.push(Branch { name, before: Some(tip.clone()), commit: tip });
            }
        }
    }

    /// Commits the work of another work tree. Errors there do not stop the dispute; they are
    /// listed.
    fn keep_of(&self, tree: &Path, kept: &mut Kept) -> Result<(), Error> {
        let shown = tree.display().to_string();
        if !tree.is_dir() {
            kept.left.push(Left::new(&shown, "this work tree is missing"));
            return Ok(());
        }
        if kept.branches.len() > ALSO_PRESERVED_MAX {
            kept.left.push(Left::new(&shown, "there are too many work trees"));
            return Ok(());
        }
        let name = self.branch_of(tree, &kept.branches);
        self.free(&name)?;
        match self.commit(&self.git.at(tree), name, Files::Changed) {
            Ok((branch, left)) => {
                kept.branches.extend(branch);
                let located = |left: Left| Left::new(&format!("{shown}/{}", left.path), &left.why);
                kept.left.extend(left.into_iter().map(located));
            }
            Err(error) => kept.left.push(Left::new(&shown, error.message())),
        }
        Ok(())
    }

    /// The branch for another work tree.
    fn branch_of(&self, tree: &Path, taken: &[Branch]) -> String {
        let folder = tree.file_name().map(|name| slug(&name.to_string_lossy())).unwrap_or_default();
        let name = format!("{}-in-{folder}", self.branch());
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
        let is_new = |name: &String| taken.iter().all(|branch| branch.name != *name);
        names.find(is_new).unwrap_or(name)
    }

    /// Checks that a branch is free: it does not exist, or an interrupted attempt made it.
    pub(super) fn free(&self, name: &str) -> Result<(), Error> {
        free(self.git, name, &self.beginning()).map(|_| ())
    }

    /// Commits the files of a work tree under the surfaces, on top of its current commit. Returns
    /// no branch if there is nothing to keep.
    fn commit(
        &self,
        git: &Git,
        name: String,
        files: Files,
    ) -> Result<(Option<Branch>, Vec<Left>), Error> {
        let before = free(git, &name, &self.beginning())?;
        let draft = git.draft(self.scratch)?;
        let taken = draft.take(|name| is_under(self.surfaces, name))?;
        if taken.files == 0 || (files == Files::Changed && !draft.differs()?) {
            // The branch of an interrupted attempt stays, even if its files are gone from the work tree.
            let branch = before.map(|commit| Branch { name, before: Some(commit.clone()), commit });
            return Ok((branch, taken.left));
        }
        let surfaces: Vec<&str> = self.surfaces.as_slice().iter().map(Surface::as_str).collect();
        let message = format!(
            "{}{}\n\nThe work tree under {} as it was, on top of what was checked out.\n{}\n\
             Heimdall-Agent: {}\n",
            self.beginning(),
            one_line(self.title),
            surfaces.join(", "),
            listed(&taken.left),
            self.of,
        );
        let commit = draft.commit(&message, before.as_deref())?;
        Ok((Some(Branch { name, commit, before }), taken.left))
    }
}

/// The files for which a branch is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// All files under the surfaces.
    All,
    /// Only files that differ from the last commit.
    Changed,
}

/// The tip of a branch that an interrupted attempt left, or `None` if there is no such branch.
/// Fails if somebody else's branch has the name.
pub(super) fn free(git: &Git, name: &str, beginning: &str) -> Result<Option<String>, Error> {
    if !git.is_branch_name(name) {
        return Err(Error::usage(format!("raise_conflict_pr: no branch can be called {name}")));
    }
    if let Some(other) = git.in_the_way_of(name) {
        let message = format!("there is a branch {other}, so none can be called {name}");
        let way_out = format!("Rename it (`git branch -m {other} NAME`), or choose another id.");
        return Err(super::in_the_way(message, way_out));
    }
    match git.tip(name) {
        None => Ok(None),
        Some(tip) if git.is_own(&tip, beginning) => match git.tree_on(name)? {
            None => Ok(Some(tip)),
            // Moving it would change somebody's checked-out branch.
            Some(tree) => {
                let message = format!("branch {name} is checked out in {tree}");
                let way_out = "Check out another branch there, or choose another id.";
                Err(super::in_the_way(message, way_out))
            }
        },
        Some(_) => {
            let message = format!("branch {name} exists already; choose another id");
            let way_out = format!("Choose another id, or rename it (`git branch -m {name} NAME`).");
            Err(super::in_the_way(message, way_out))
        }
    }
}

/// A list of the files that were not preserved, for the commit message.
fn listed(left: &[Left]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let lines = left.iter().map(|left| format!("- {}\n", left.line()));
    format!("\nNot preserved:\n\n{}", lines.collect::<String>())
}

/// Whether a file lies under the surfaces. A name that is no valid surface is compared by its
/// longest valid parent folder: keeping one file too many is better than losing one.
fn is_under(surfaces: &Surfaces, name: &[u8]) -> bool {
    let name: String = String::from_utf8_lossy(name)
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    let mut part = name.as_str();
    loop {
        if let Ok(path) = Surface::new(&Surface::escape(part)) {
            return surfaces.as_slice().iter().any(|surface| surface.meets(&path));
        }
        match part.rsplit_once('/') {
            Some((above, _)) => part = above,
            None => return true,
        }
    }
}
