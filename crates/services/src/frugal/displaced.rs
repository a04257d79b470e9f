//! Work that has to give way, kept on branches: one for each work tree that has any of it.

use althing_dialects::frugal::haid::slug;
use althing_dialects::frugal::planning::one_line;
use althing_kernel::Surface;
use althing_kernel::blackboard::dispute::ALSO_PRESERVED_MAX;
use althing_kernel::lease::Surfaces;
use althing_workshop::git::{Branch, Git, Left};
use althing_workshop::scratch::Scratch;
use std::path::Path;

use crate::error::Error;

/// What is in dispute, and whose work gives way.
pub(super) struct Work<'a> {
    pub(super) git: &'a Git,
    pub(super) scratch: &'a Scratch,
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) surfaces: &'a Surfaces,
    /// Whose it is.
    pub(super) of: &'a str,
}

/// What is kept of it, and what is not.
pub(super) struct Kept {
    /// The first is of the work tree at hand, if that has any of it.
    pub(super) branches: Vec<Branch>,
    pub(super) left: Vec<Left>,
}

impl Work<'_> {
    /// What the branch is called that keeps the work of the work tree at hand.
    pub(super) fn branch(&self) -> String {
        format!("displaced/{}-{}", slug(self.of), self.id)
    }

    /// How the message of every commit begins that keeps work of this dispute.
    fn beginning(&self) -> String {
        format!("Work displaced by conflict {}: ", self.id)
    }

    /// Makes commits of all of it. No branch is moved yet.
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

    /// Names what an interrupted attempt kept under other names: somebody else held the surfaces
    /// then, or a work tree is gone. Those branches stay where they are.
    fn find_again(&self, kept: &mut Kept) {
        let ending = format!("-{}", self.id);
        for name in self.git.branches_in("displaced") {
            let known = kept.branches.iter().any(|branch| branch.name == name);
            if known || !name.contains(&ending) {
                continue;
            }
            let tip = self.git.tip(&name);
            let Some(tip) = tip.filter(|tip| self.git.is_own(tip, &self.beginning())) else {
                continue;
            };
            if kept.branches.len() > ALSO_PRESERVED_MAX {
                kept.left.push(Left::new(&name, "this branch of an earlier attempt is there too"));
            } else {
                kept.branches.push(Branch { name, before: Some(tip.clone()), commit: tip });
            }
        }
    }

    /// The same of another work tree. What is wrong there keeps nobody from raising a dispute here.
    fn keep_of(&self, tree: &Path, kept: &mut Kept) -> Result<(), Error> {
        let shown = tree.display().to_string();
        if !tree.is_dir() {
            kept.left.push(Left::new(&shown, "this work tree is not there now"));
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

    /// What the branch of another work tree is called.
    fn branch_of(&self, tree: &Path, taken: &[Branch]) -> String {
        let folder = tree.file_name().map(|name| slug(&name.to_string_lossy())).unwrap_or_default();
        let name = format!("{}-in-{folder}", self.branch());
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
        let is_new = |name: &String| taken.iter().all(|branch| branch.name != *name);
        names.find(is_new).unwrap_or(name)
    }

    /// That a branch can be had: there is none, or one that an interrupted attempt left.
    pub(super) fn free(&self, name: &str) -> Result<(), Error> {
        free(self.git, name, &self.beginning()).map(|_| ())
    }

    /// A commit of what is in a work tree under the surfaces, on top of what is checked out there.
    /// None if there is nothing to keep.
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
            // What an interrupted attempt kept is kept, also if it is not there any more.
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

/// Which files are reason enough for a branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Any.
    All,
    /// Those that are not as the last commit has them.
    Changed,
}

/// Where a branch is, if it is of an attempt that was interrupted. There is no dispute of that id,
/// so it was left behind by one that never was. Any other branch of that name is somebody's.
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
            // Moving it would change what somebody has before them.
            Some(tree) => {
                let message = format!("branch {name} is checked out in {tree}");
                let way_out = "Check out another branch there, or choose another id.";
                Err(super::in_the_way(message, way_out))
            }
        },
        Some(_) => {
            let message = format!("branch {name} is there already; choose another id");
            let way_out = format!("Choose another id, or rename it (`git branch -m {name} NAME`).");
            Err(super::in_the_way(message, way_out))
        }
    }
}

/// What was not preserved, for people to read.
fn listed(left: &[Left]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let lines = left.iter().map(|left| format!("- {}\n", left.line()));
    format!("\nNot preserved:\n\n{}", lines.collect::<String>())
}

/// Whether a file lies under the surfaces. A name that no surface can have is compared with
/// what it has in common with those that can: rather one file too many is kept than one lost.
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
