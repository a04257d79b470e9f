//! Files by their path in the project, as checkpoints change and integrations merge them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::surfaces::Surface;
use crate::surfaces::parse::{SURFACE_BYTES_MAX, SurfaceError};
use crate::values::content::{Blob, Content};
use crate::values::string_newtype::{inline_schema, serde_as_text};

/// The most files one checkpoint or merge may name.
pub const FILES_MAX: usize = 1_000;

/// The path of one file, from the project root, in its normal form.
#[derive(Clone)]
pub struct FilePath {
    text: Arc<str>,
    surface: Surface,
}

/// The error for text that is not the path of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilePathError {
    /// Not a path inside the project.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// Not in its normal form, or not a file.
    #[error("{0:?} is not the plain path of a file; write it from the project root, without `.`")]
    Form(String),
}

impl FilePath {
    /// Validates a path.
    pub fn new(text: &str) -> Result<Self, FilePathError> {
        let escaped = Surface::escape(text);
        let surface = Surface::new(&escaped)?;
        if surface.as_str() != escaped || text == "." {
            return Err(FilePathError::Form(text.chars().take(200).collect()));
        }
        Ok(FilePath { text: text.into(), surface })
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path as a surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }
}

impl PartialEq for FilePath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for FilePath {}

impl PartialOrd for FilePath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FilePath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl std::fmt::Debug for FilePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FilePath({:?})", self.text)
    }
}

impl std::fmt::Display for FilePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

impl std::str::FromStr for FilePath {
    type Err = FilePathError;

    fn from_str(text: &str) -> Result<Self, FilePathError> {
        FilePath::new(text)
    }
}

serde_as_text!(FilePath, "a path", FilePath::new);
inline_schema!(
    FilePath,
    { "type": "string", "minLength": 1, "maxLength": SURFACE_BYTES_MAX }
);

/// A file as it is after a change: its content, or none if it was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The content; none if the file is deleted.
    pub content: Option<Blob>,
    /// The path.
    pub path: FilePath,
}

/// A file as a command brings it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileArg {
    /// The content; left out if the file is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The path.
    pub path: FilePath,
}

/// The reason why a list of files is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// Too many files.
    #[error("{0} files are over the limit of {FILES_MAX}")]
    TooMany(usize),
    /// A path that occurs twice.
    #[error("{0} is named twice")]
    Twice(FilePath),
    /// Content that has not been stored.
    #[error("the content of {0} was not stored first")]
    NotStored(FilePath),
}

/// The files of a command, once their content is stored.
pub(crate) fn stored(files: &[FileArg]) -> Result<Vec<File>, FilesError> {
    if files.len() > FILES_MAX {
        return Err(FilesError::TooMany(files.len()));
    }
    let mut seen = BTreeSet::new();
    let one = |file: &FileArg| {
        if !seen.insert(file.path.clone()) {
            return Err(FilesError::Twice(file.path.clone()));
        }
        let content = match &file.content {
            None => None,
            Some(content) => {
                let blob = content.blob().cloned();
                Some(blob.ok_or_else(|| FilesError::NotStored(file.path.clone()))?)
            }
        };
        Ok(File { content, path: file.path.clone() })
    };
    files.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_plain_one_inside_the_project() {
        for good in ["a", "src/main.rs", "app/[id]/page.tsx", "a b", "docs/*.md"] {
            let path = FilePath::new(good).unwrap();
            assert_eq!(path.as_str(), good);
            assert!(!path.surface().is_glob(), "{good}");
        }
        for bad in ["", ".", "/etc/passwd", "../x", "a/../b", "./a", "a//b", "a/"] {
            assert!(FilePath::new(bad).is_err(), "{bad}");
        }
    }
}
