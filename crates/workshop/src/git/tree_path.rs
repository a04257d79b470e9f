//! The path of a file in a tree, as git has it: bytes.

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::object_id::ObjectId;
use super::{os, shown};

/// A path below the root of a tree: bytes, with `/` between its parts. It may hold newlines and need
/// not be UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Box<[u8]>);

impl TreePath {
    /// A path as git printed it.
    pub fn new(bytes: &[u8]) -> Self {
        TreePath(bytes.into())
    }

    /// A relative path of the file system; none for one that is absolute or contains `..`.
    pub fn of_path(path: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => {
                    if !bytes.is_empty() {
                        bytes.push(b'/');
                    }
                    bytes.extend_from_slice(name.as_encoded_bytes());
                }
                Component::CurDir => {}
                _ => return None,
            }
        }
        (!bytes.is_empty()).then(|| TreePath(bytes.into()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path below a folder.
    pub fn below(&self, root: &Path) -> PathBuf {
        root.join(os(&self.0))
    }

    /// The same as text, for people: what is not printable is replaced.
    pub fn shown(&self) -> String {
        shown(&self.0)
    }

    /// The name by which git finds it in a commit.
    pub(crate) fn of_commit(&self, commit: &ObjectId) -> OsString {
        os(&[commit.as_str().as_bytes(), b":", &self.0].concat())
    }

    /// Whether it stands for a folder: git ends the name of a repository inside another with `/`.
    pub(crate) fn is_folder(&self) -> bool {
        self.0.ends_with(b"/")
    }

    /// Whether every part is a plain name, so that it cannot lead out of a tree.
    pub(crate) fn is_plain(&self) -> bool {
        let path = PathBuf::from(os(&self.0));
        !self.0.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Joins a few paths for a message: the first five, and how many more there are.
pub(crate) fn some(paths: &[TreePath]) -> String {
    let text = paths.iter().take(5).map(TreePath::shown).collect::<Vec<_>>().join(", ");
    if paths.len() > 5 { format!("{text} and {} more", paths.len() - 5) } else { text }
}
