//! The record of what was written, so that exactly that is removed again.

use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::place;
use crate::error::WorkshopError;

/// A file that something was written into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// The path from the project's root, or absolute if it lies elsewhere.
    pub(super) path: PathBuf,
    /// The agents it was written for.
    pub(super) agents: BTreeSet<String>,
    /// The SHA-256 of the whole file as it was written; empty if it was there already.
    #[serde(default)]
    pub(super) hash: String,
    /// The parts of that file that were added.
    #[serde(default)]
    pub(super) added: Vec<Range<usize>>,
    /// Whether there was no such file before.
    #[serde(default)]
    pub(super) created: bool,
    /// The folders that were made for it, outermost first.
    #[serde(default)]
    pub(super) folders: Vec<PathBuf>,
    /// The members of a JSON file that were not there before, as paths with `/`.
    #[serde(default)]
    pub(super) members: Vec<String>,
    /// The file that was there before and was moved aside, to be called after ours.
    #[serde(default)]
    pub(super) moved: Option<PathBuf>,
}

/// Everything that was written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    files: Vec<Written>,
}

impl Record {
    /// Reads the record. One that cannot be read counts as empty: files are then changed by what is
    /// in them.
    pub(super) fn read(path: &Path) -> Self {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the record of wiring is unreadable");
                String::new()
            }
        };
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), WorkshopError> {
        if self.files.is_empty() {
            return place::remove(path);
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| WorkshopError::new(format!("{}: {error}", path.display())))?;
        place::replace(path, &text, false)
    }

    pub(super) fn files(&self) -> &[Written] {
        &self.files
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Written> {
        self.files.iter().find(|own| own.path == path)
    }

    /// Puts the record of one file in place of the one before.
    pub(super) fn put(&mut self, written: Written) {
        self.remove(&written.path.clone());
        self.files.push(written);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.files.retain(|own| own.path != path);
    }
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(super) fn hash(text: &str) -> String {
    hex(&sha2::Sha256::digest(text.as_bytes()))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
