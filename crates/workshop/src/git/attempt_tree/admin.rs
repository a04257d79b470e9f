//! Git's own files for a linked worktree: `<common dir>/worktrees/<id>`.

use std::path::{Path, PathBuf};

use super::{TreeError, real_below};
use crate::git::files;
use crate::git::repository::{Repository, real};

/// A linked worktree, as git has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Admin {
    /// Git's folder for it.
    pub(crate) dir: PathBuf,
    /// The folder with its files, which may be gone.
    pub(crate) path: PathBuf,
}

impl Admin {
    /// Those whose files lie below a folder.
    pub(crate) fn all(repository: &Repository, root: &Path) -> Vec<Admin> {
        let folder = repository.common_dir().join("worktrees");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let dir = entry.path();
            if let Some(path) = path_of(&dir)
                && path.starts_with(root)
            {
                found.push(Admin { dir, path });
            }
        }
        found.sort_by(|one, other| one.dir.cmp(&other.dir));
        found
    }

    /// The one whose files lie in a folder.
    pub(crate) fn of(repository: &Repository, path: &Path) -> Option<Admin> {
        let found = Admin::all(repository, path);
        found.into_iter().find(|admin| admin.path == real_below(path))
    }

    /// Whether git wrote it to its end. A git that was killed leaves one that it does not finish.
    pub(crate) fn is_whole(&self) -> bool {
        ["HEAD", "commondir", "gitdir"].iter().all(|name| self.dir.join(name).is_file())
    }

    /// Makes the files and git's folder point at each other. Whoever works in a tree can write its
    /// `.git` file; what git keeps for the tree is not theirs.
    pub(crate) fn reconnect(&self) -> Result<(), TreeError> {
        self.link().map_err(|source| TreeError::File { path: self.path.clone(), source })
    }

    fn link(&self) -> std::io::Result<()> {
        let line = |before: &str, path: &Path| {
            let mut line = before.as_bytes().to_vec();
            line.extend_from_slice(path.as_os_str().as_encoded_bytes());
            line.push(b'\n');
            line
        };
        let dot = self.path.join(".git");
        let pairs =
            [(dot.clone(), line("gitdir: ", &self.dir)), (self.dir.join("gitdir"), line("", &dot))];
        for (file, content) in pairs {
            let is_plain = file.symlink_metadata().is_ok_and(|data| data.is_file());
            if is_plain && std::fs::read(&file)? == content {
                continue;
            }
            if file.is_dir() && !file.is_symlink() {
                let aside = file.with_file_name(format!(".git.found-{}", std::process::id()));
                std::fs::rename(&file, aside)?;
            }
            files::write(&file, &content)?;
        }
        Ok(())
    }
}

/// The folder that an entry of git's is about.
fn path_of(dir: &Path) -> Option<PathBuf> {
    let text = std::fs::read(dir.join("gitdir")).ok()?;
    let dot = PathBuf::from(crate::git::os(text.strip_suffix(b"\n").unwrap_or(&text)));
    // Newer versions may write it relative to their folder.
    let dot = if dot.is_absolute() { dot } else { real(dir).join(dot) };
    let path = dot.parent()?;
    Some(path.canonicalize().unwrap_or_else(|_| real_below(path)))
}
