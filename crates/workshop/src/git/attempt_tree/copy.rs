//! Untracked files of the project that an attempt needs, such as `.env`, copied into its tree.
//!
//! Nothing is overwritten, no link is followed, and nothing outside the project is read.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::marker::CopiedFile;
use crate::git::files::{Found, look};
use crate::git::tree_path::TreePath;
use crate::step::step;

/// How many files are copied at most, so that a folder of packages named by mistake is noticed.
const FILES_MAX: usize = 20_000;

/// Why a file was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNotCopied {
    /// The project does not have it.
    Missing,
    /// The tree has something at that path already.
    Exists,
    /// It is a link, or is reached through one.
    Link,
    /// The path is not one below the project.
    Outside,
    /// It is neither a file nor a folder.
    NotAFile,
    /// Too many files were named.
    TooMany,
    /// Reading or writing failed.
    Failed(String),
}

/// A file that was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCopied {
    /// The path as it was named or found.
    pub path: String,
    /// The reason.
    pub why: WhyNotCopied,
}

/// The outcome of copying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files that were copied.
    pub copied: Vec<TreePath>,
    /// Files that were not.
    pub not_copied: Vec<NotCopied>,
    pub(super) marks: Vec<CopiedFile>,
}

impl Copied {
    fn leave(&mut self, path: &TreePath, why: WhyNotCopied) {
        self.not_copied.push(NotCopied { path: path.shown(), why });
    }
}

/// Copies files and folders of one folder into another. Each is first written to a place `beside`
/// the tree: a process killed half-way leaves nothing in it.
pub(super) fn bring(from: &Path, to: &Path, beside: &Path, wanted: &[PathBuf]) -> Copied {
    let mut copied = Copied::default();
    let mut waiting = VecDeque::new();
    for path in wanted {
        if let Some(path) = TreePath::of_path(path) {
            waiting.push_back(path);
        } else {
            let path = path.display().to_string();
            copied.not_copied.push(NotCopied { path, why: WhyNotCopied::Outside });
        }
    }
    while let Some(path) = waiting.pop_front() {
        if copied.copied.len() >= FILES_MAX {
            copied.leave(&path, WhyNotCopied::TooMany);
            break;
        }
        match look(from, &path) {
            Ok(Found::File(data)) => match bring_one(from, to, beside, &path, &data) {
                Ok(mark) => {
                    copied.marks.push(mark);
                    copied.copied.push(path);
                }
                Err(why) => copied.leave(&path, why),
            },
            Ok(Found::Folder) => match below(from, &path) {
                Ok(inside) => waiting.extend(inside),
                Err(error) => copied.leave(&path, WhyNotCopied::Failed(error.to_string())),
            },
            Ok(Found::Nothing) => copied.leave(&path, WhyNotCopied::Missing),
            Ok(Found::Link | Found::Blocked) => copied.leave(&path, WhyNotCopied::Link),
            Ok(Found::Other) => copied.leave(&path, WhyNotCopied::NotAFile),
            Err(error) => copied.leave(&path, WhyNotCopied::Failed(error.to_string())),
        }
    }
    copied
}

/// The names in a folder, in order.
fn below(from: &Path, path: &TreePath) -> std::io::Result<Vec<TreePath>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path.below(from))? {
        let name = entry?.file_name();
        let whole = [path.as_bytes(), b"/", name.as_encoded_bytes()].concat();
        found.push(TreePath::new(&whole));
    }
    found.sort();
    Ok(found)
}

/// Copies one file. It gets its name by a link, which fails if the name is taken.
fn bring_one(
    from: &Path,
    to: &Path,
    beside: &Path,
    path: &TreePath,
    data: &Metadata,
) -> Result<CopiedFile, WhyNotCopied> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => WhyNotCopied::Exists,
        _ => WhyNotCopied::Failed(error.to_string()),
    };
    match look(to, path).map_err(failed)? {
        Found::Nothing => {}
        Found::Blocked => return Err(WhyNotCopied::Link),
        _ => return Err(WhyNotCopied::Exists),
    }
    let target = path.below(to);
    let above = target.parent().unwrap_or(to);
    std::fs::create_dir_all(above).map_err(failed)?;
    crate::git::files::remove(beside).map_err(failed)?;
    std::fs::copy(path.below(from), beside).map_err(failed)?;
    step("before a copy is put in place");
    let linked = std::fs::hard_link(beside, &target);
    crate::git::files::remove(beside).map_err(failed)?;
    linked.map_err(failed)?;
    let written = target.symlink_metadata().map_err(failed)?;
    Ok(CopiedFile {
        path: path.as_bytes().to_vec(),
        size: data.len(),
        written: nanoseconds(&written),
    })
}

fn nanoseconds(data: &Metadata) -> u128 {
    let since = data.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos())
}

impl CopiedFile {
    /// Whether the copy in a tree is as it was made.
    pub(super) fn is_unchanged(&self, tree: &Path) -> bool {
        match look(tree, &TreePath::new(&self.path)) {
            Ok(Found::File(data)) => data.len() == self.size && nanoseconds(&data) == self.written,
            _ => false,
        }
    }
}
