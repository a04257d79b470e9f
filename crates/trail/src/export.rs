//! A trail as JSON lines: the entries of each commit as they are, followed by its head.
//!
//! ```text
//! {"actor":"system","at":…}
//! {"head":"althing/…\n…"}
//! ```
//!
//! The entries are byte for byte those of the log, so an exported trail can be verified by itself,
//! and importing it restores the identical trail.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::commit::{Claimed, Commit};
use crate::entry::ENTRY_BYTES_MAX;

/// Limit for one commit, in bytes: that of every log.
const COMMIT_BYTES_MAX: usize = crate::log::COMMIT_BYTES_LIMIT;

/// The line that closes a commit.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadLine {
    head: String,
}

/// Reasons why lines are not an exported trail.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Reading failed.
    #[error("reading failed at line {line}")]
    Read {
        /// Line number, from 1.
        line: u64,
        /// Cause.
        source: std::io::Error,
    },
    /// Neither an entry nor a head.
    #[error("line {line} is neither an entry nor a head: {source}")]
    Form {
        /// Line number, from 1.
        line: u64,
        /// Cause.
        source: serde_json::Error,
    },
    /// A head line in another form than the canonical one.
    #[error("line {0} is a head, but not written the way heads are")]
    HeadForm(u64),
    /// More entries without a head than a commit may have.
    #[error("by line {0} there is no head after more entries than a commit can hold")]
    NoHead(u64),
    /// Longer than an entry may be.
    #[error("line {0} is longer than any entry may be")]
    TooLong(u64),
    /// A head without entries before it.
    #[error("line {0} is a head without entries before it")]
    BareHead(u64),
    /// Entries without a head after them.
    #[error("the last {0} entries have no head after them: the file is cut off")]
    CutOff(u64),
}

/// Writes a commit.
pub fn write(out: &mut dyn Write, commit: &Commit) -> std::io::Result<()> {
    out.write_all(commit.lines.as_bytes())?;
    out.write_all(b"\n")?;
    serde_json::to_writer(&mut *out, &HeadLine { head: commit.head.clone() })?;
    out.write_all(b"\n")
}

/// Reads commits one after another. Checks their shape only; the [`crate::verify::Verifier`] checks
/// whether they form a trail.
pub struct Commits<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> Commits<R> {
    /// Starts reading.
    pub fn new(input: R) -> Self {
        Commits { input, line: 0 }
    }

    fn next_line(&mut self) -> Result<Option<String>, ImportError> {
        self.line += 1;
        let mut bytes = Vec::new();
        let limit = ENTRY_BYTES_MAX as u64 + 2;
        let read = std::io::Read::take(&mut self.input, limit).read_until(b'\n', &mut bytes);
        read.map_err(|source| ImportError::Read { line: self.line, source })?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > ENTRY_BYTES_MAX {
            return Err(ImportError::TooLong(self.line));
        } else if bytes.is_empty() {
            return Ok(None);
        }
        String::from_utf8(bytes).map(Some).map_err(|error| ImportError::Read {
            line: self.line,
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        })
    }

    fn next_commit(&mut self) -> Result<Option<Commit>, ImportError> {
        let mut lines = String::new();
        let (mut first, mut last) = (0, 0);
        while let Some(line) = self.next_line()? {
            let form = |source| ImportError::Form { line: self.line, source };
            if line.starts_with("{\"head\":") {
                let read: HeadLine = serde_json::from_str(&line).map_err(form)?;
                if serde_json::to_string(&read).map_err(form)? != line {
                    return Err(ImportError::HeadForm(self.line));
                }
                let HeadLine { head } = read;
                if lines.is_empty() {
                    return Err(ImportError::BareHead(self.line));
                }
                return Ok(Some(Commit { first, last, lines, head, hashes: Vec::new() }));
            }
            if lines.len() + line.len() > COMMIT_BYTES_MAX {
                return Err(ImportError::NoHead(self.line));
            }
            last = Claimed::of(&line).map_err(form)?.seq;
            if lines.is_empty() {
                first = last;
            } else {
                lines.push('\n');
            }
            lines.push_str(&line);
        }
        if lines.is_empty() {
            Ok(None)
        } else {
            Err(ImportError::CutOff(lines.lines().count() as u64))
        }
    }
}

impl<R: BufRead> Iterator for Commits<R> {
    type Item = Result<Commit, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_commit().transpose()
    }
}
