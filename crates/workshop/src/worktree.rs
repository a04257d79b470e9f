//! The worktree of a lane, read with care: whoever works there writes what they like, so no link
//! is followed, nothing long is read, and nothing outside it is looked at.

use althing_dialects::memory::lane::{self, Evidence, RESULT_BYTES_MAX, RESULT_FILE, Sign};
use althing_kernel::lease::Surfaces;
use althing_kernel::surfaces::Surface;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::WorkshopError;
use crate::git::Git;
use crate::git::lane::{Kept, readable};

/// How many files of a worktree are looked at for the time they were changed.
const FILES_MAX: usize = 5_000;

/// A worktree beside the project's own, of the same repository.
pub struct Worktree {
    root: PathBuf,
    git: Git,
}

/// The content found at the path of a result file.
pub enum Report {
    /// No file.
    None,
    /// Something that is not read, and why.
    Unusable(String),
    /// A file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// When it was written, in microseconds.
        at: u64,
    },
}

impl Worktree {
    /// Opens the worktree at a path, or returns why it cannot be read.
    pub fn open(project: &Path, path: &str, author: &str) -> Result<Self, String> {
        let path = Path::new(path);
        if !path.is_absolute() {
            return Err("a worktree is named by its whole path".to_owned());
        }
        let data = path.symlink_metadata().map_err(|error| error.to_string())?;
        if data.is_symlink() || !data.is_dir() {
            return Err("it is not a folder".to_owned());
        }
        let root = path.canonicalize().map_err(|error| error.to_string())?;
        let git = Git::new(&root, author);
        let own = git.place().ok_or("it is not in a git repository")?;
        let main = Git::new(project, author).place().ok_or("the project is no git repository")?;
        if own.top != root {
            return Err("it is a folder inside a worktree, not its root".to_owned());
        }
        if !own.is_of(&main) {
            return Err("it belongs to another repository".to_owned());
        }
        if !own.is_linked() {
            return Err("it is not a linked worktree that the repository lists".to_owned());
        }
        Ok(Worktree { root, git })
    }

    /// The result file.
    pub fn report(&self) -> Report {
        match self.plain(RESULT_FILE) {
            Ok(None) => Report::None,
            Ok(Some(data)) if data.len() > RESULT_BYTES_MAX => {
                Report::Unusable(format!("it is longer than {RESULT_BYTES_MAX} bytes"))
            }
            Ok(Some(data)) => match read(&self.root.join(RESULT_FILE), &data) {
                Ok(bytes) => Report::File { bytes, at: changed(&data) },
                Err(why) => Report::Unusable(why),
            },
            Err(why) => Report::Unusable(why),
        }
    }

    /// The signs that somebody works here, each as far as it can be believed.
    pub fn signs(&self, names: &[&str], now: u64) -> Vec<Sign> {
        let mut signs = Vec::new();
        let mut note = |evidence, at: Option<u64>| {
            let at = at.and_then(|at| lane::believed(at, now));
            signs.extend(at.map(|at| Sign { evidence, at }));
        };
        if let Report::File { at, .. } = self.report() {
            note(Evidence::ResultFile, Some(at));
        }
        note(Evidence::Commit, self.git.committed_at().map(|secs| secs.saturating_mul(1_000_000)));
        for name in names {
            for path in lane::heartbeat_files(name) {
                note(Evidence::HeartbeatFile, self.time_of(&path));
            }
            note(Evidence::AckFile, self.time_of(&lane::ack_file(name)));
        }
        note(Evidence::WorktreeFile, self.last_change(now));
        signs
    }

    /// When a file of the work itself was last changed.
    fn last_change(&self, now: u64) -> Option<u64> {
        let files = self.git.uncommitted().ok()?;
        let files = files.iter().filter(|name| !lane::is_own(name)).take(FILES_MAX);
        let times = files.filter_map(|name| self.time_of(std::str::from_utf8(name).ok()?));
        times.filter(|at| lane::believed(*at, now).is_some()).max()
    }

    fn time_of(&self, path: &str) -> Option<u64> {
        self.plain(path).ok()?.as_ref().map(changed)
    }

    /// A plain file below the root that is reached without following a link.
    fn plain(&self, path: &str) -> Result<Option<Metadata>, String> {
        let mut here = self.root.clone();
        let mut parts = Path::new(path).components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err("it leads out of the worktree".to_owned());
            };
            here.push(name);
            let data = match here.symlink_metadata() {
                Ok(data) => data,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error.to_string()),
            };
            if data.is_symlink() {
                return Err("it is a link, which is not followed".to_owned());
            }
            match parts.peek() {
                Some(_) if data.is_dir() => {}
                None if data.is_file() => return Ok(Some(data)),
                _ => return Err("it is not a plain file".to_owned()),
            }
        }
        Err("it names no file".to_owned())
    }

    /// Why nothing can be committed here, if nothing can.
    pub fn unsettled(&self) -> Option<String> {
        if let Some(what) = self.git.place().and_then(|place| place.under_way()) {
            return Some(format!("{what} is under way there; finish or abort it first"));
        }
        let none = "no branch is checked out there, so a commit would be on none; check one out";
        self.git.branch().is_none().then(|| none.to_owned())
    }

    /// The files of the work that lie outside of this, committed there or not.
    pub fn outside(&self, scope: &Surfaces) -> Result<Vec<String>, WorkshopError> {
        let mut found = self.git.uncommitted()?;
        found.extend(self.git.committed_here()?);
        found.retain(|name| !lane::is_own(name) && !is_within(scope, name));
        Ok(readable(&found))
    }

    /// Commits the work of the lane, without the protocol's own files and what lies outside.
    pub fn keep(
        &self,
        scratch: &Path,
        message: &str,
        scope: Option<&Surfaces>,
    ) -> Result<Kept, WorkshopError> {
        let within = |name: &[u8]| scope.is_none_or(|scope| is_within(scope, name));
        self.git.keep(scratch, message, |name| !lane::is_own(name) && within(name))
    }
}

/// Whether a file lies in a scope, or a part of it does.
fn is_within(scope: &Surfaces, name: &[u8]) -> bool {
    let path = std::str::from_utf8(name).ok();
    let own = path.and_then(|path| Surface::new(&Surface::escape(path)).ok());
    own.is_some_and(|own| scope.as_slice().iter().any(|surface| surface.meets(&own)))
}

/// Reads a file that was looked at before, if it is still the same.
fn read(path: &Path, seen: &Metadata) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let data = file.metadata().map_err(|error| error.to_string())?;
    if !data.is_file() || !is_same(&data, seen) {
        return Err("it was replaced while it was read".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(RESULT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len()
}

fn changed(data: &Metadata) -> u64 {
    let since = data.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_micros()).ok()).unwrap_or_default()
}
