//! Where the project is: its root, its state folder, and how they were found.
//!
//! Git's own files are read instead of asking `git`, which would cost every call a process.

use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Where things are, and why.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The project root, which surfaces are relative to.
    pub(crate) root: PathBuf,
    /// How the root was found.
    pub(crate) root_origin: &'static str,
    /// Where Althing keeps its state.
    pub(crate) state: PathBuf,
    /// How the state folder was found.
    pub(crate) state_origin: &'static str,
}

impl Place {
    /// Finds the project that a folder belongs to. `home` overrides the state folder.
    pub(crate) fn find(start: &Path, home: Option<PathBuf>) -> Result<Self, Error> {
        let start = std::path::absolute(start)
            .map_err(|error| Error::usage(format!("{}: {error}", start.display())))?;
        if !start.is_dir() {
            let failure = Error::usage(format!("{} is not a folder", start.display()));
            return Err(failure.hint("Pass the folder of a project: `--project DIR`."));
        }
        let place = match git_folder(&start)? {
            // A project that was here before git came stays where it is.
            Some((root, git))
                if !git.join("althing").exists() && root.join(".althing").is_dir() =>
            {
                Place { root_origin: "git toplevel", ..Place::without_git(&root) }
            }
            Some((root, git)) => Place {
                root,
                root_origin: "git toplevel",
                state: git.join("althing"),
                state_origin: "git common dir",
            },
            None => Place::without_git(&start),
        };
        Ok(match home {
            Some(state) => Place { state, state_origin: "ALTHING_HOME", ..place },
            None => place,
        })
    }

    fn without_git(start: &Path) -> Self {
        let with_state = start.ancestors().find(|folder| folder.join(".althing").is_dir());
        let (root, root_origin) = match with_state {
            Some(folder) => (folder.to_owned(), "folder with .althing"),
            None => (start.to_owned(), "current folder"),
        };
        Place { state: root.join(".althing"), state_origin: "project folder", root, root_origin }
    }

    /// Where a folder lies inside the project.
    pub(crate) fn inside(&self, folder: &Path) -> Inside {
        let folder = real(folder);
        let Ok(relative) = folder.strip_prefix(real(&self.root)) else { return Inside::Elsewhere };
        let names: Option<Vec<&str>> = relative.iter().map(|name| name.to_str()).collect();
        names.map_or(Inside::NotText, |names| Inside::At(names.join("/")))
    }
}

/// The one name of a path, whether or not anything is there yet: links are followed as far as
/// there is something, and what `..` stands for is taken out of the rest. The name a folder has
/// before it is made is the one it has afterwards.
pub(crate) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = real.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir => real.push(part),
            Component::Normal(name) => {
                real.push(name);
                // A path that does not exist is used as it is written.
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}

/// Where a folder lies, seen from a project.
pub(crate) enum Inside {
    /// In it, at this path with `/` between its names.
    At(String),
    /// In it, but its name is not text.
    NotText,
    /// Not in it.
    Elsewhere,
}

/// The work tree and the git folder that all its worktrees share.
fn git_folder(start: &Path) -> Result<Option<(PathBuf, PathBuf)>, Error> {
    for folder in start.ancestors() {
        let dot_git = folder.join(".git");
        if dot_git.join("HEAD").is_file() {
            return Ok(Some((folder.to_owned(), dot_git)));
        }
        if dot_git.is_file() {
            let own = linked_git_folder(folder, &dot_git)?;
            return Ok(Some((folder.to_owned(), common_folder(own))));
        }
        // A repository without a work tree is its own git folder.
        let bare = ["HEAD", "config"].iter().all(|name| folder.join(name).is_file())
            && ["objects", "refs"].iter().all(|name| folder.join(name).is_dir());
        if bare {
            return Ok(Some((folder.to_owned(), folder.to_owned())));
        }
    }
    Ok(None)
}

/// A worktree's or submodule's `.git` is a file that says where its git folder is. One that
/// cannot be read must not lead to another project beside it.
fn linked_git_folder(folder: &Path, dot_git: &Path) -> Result<PathBuf, Error> {
    let unusable = |why: &str| Error::usage(format!("{}: {why}", dot_git.display()));
    let text = std::fs::read_to_string(dot_git).map_err(|error| unusable(&error.to_string()))?;
    let path = text.strip_prefix("gitdir:").ok_or_else(|| unusable("it names no git folder"))?;
    Ok(folder.join(path.trim()))
}

/// The git folder of a worktree names the one it shares with the others.
fn common_folder(own: PathBuf) -> PathBuf {
    match std::fs::read_to_string(own.join("commondir")) {
        Ok(text) => {
            let common = own.join(text.trim());
            common.canonicalize().unwrap_or(common)
        }
        Err(_) => own,
    }
}
