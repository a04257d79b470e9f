//! Content as people give it: text as it is, `-` for standard input, `@FILE` for a file.

use althing_engine::EngineError;
use althing_engine::blobs::{BLOB_BYTES_MAX, Blobs, Stored};
use althing_kernel::envelope::PayloadArg;
use althing_kernel::file::{FileArg, FilePath};
use althing_kernel::{Blob, Content};
use serde::Deserialize;
use std::path::Path;

use crate::command_context::CommandContext;
use crate::error::Error;
use crate::input;
use crate::output::{one_line, show_bytes};

/// Reads content. What comes from a file or from standard input may be anything, and large; it is
/// stored at once.
pub(crate) fn read(context: &CommandContext<'_>, given: &str) -> Result<Content, Error> {
    if given == "-" {
        let mut input = input::stdin(&context.app.globals, "the content")?;
        return Ok(context.bring(context.blobs().put_reader(&mut input)?.blob));
    }
    match given.strip_prefix('@') {
        // Text that begins so is written with two.
        Some(text) if text.starts_with('@') => Ok(Content::Text(text.into())),
        Some(path) => of_file(context, Path::new(path)),
        None => Ok(Content::Text(given.into())),
    }
}

/// The content of a file.
pub(crate) fn of_file(context: &CommandContext<'_>, path: &Path) -> Result<Content, Error> {
    Ok(context.bring(put_file(&context.blobs(), path)?.blob))
}

/// A message of one piece of content.
pub(crate) fn payload(context: &CommandContext<'_>, given: &str) -> Result<PayloadArg, Error> {
    let stored = read(context, given)?;
    Ok(PayloadArg { attachments: Vec::new(), content: stored, format: None })
}

/// Stores the content of a file that somebody named.
pub(crate) fn put_file(blobs: &Blobs, path: &Path) -> Result<Stored, Error> {
    let usage = |error: &dyn std::fmt::Display| {
        Error::usage(format!("cannot store {}: {error}", path.display()))
    };
    // A pipe without a writer would never end.
    let data = std::fs::metadata(path).map_err(|error| usage(&error))?;
    if !data.is_file() {
        return Err(usage(&"it is no regular file"));
    }
    let mut file = std::fs::File::open(path).map_err(|error| usage(&error))?;
    if file.metadata().is_ok_and(|data| data.len() > BLOB_BYTES_MAX) {
        return Err(EngineError::TooLarge(BLOB_BYTES_MAX).into());
    }
    blobs.put_reader(&mut file).map_err(|error| match error {
        EngineError::Invalid(message) => usage(&message),
        other => other.into(),
    })
}

/// Content as it stands in a file people write: text, or what a command by name takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Written {
    /// Text.
    Text(String),
    /// `{"text": …}` or `{"blob": …}`.
    Content(Content),
}

impl From<Written> for Content {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => Content::Text(text.into()),
            Written::Content(content) => content,
        }
    }
}

/// A file of a merge as people write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: FilePath,
    content: Option<Written>,
}

/// Reads the files of a merge from a JSON file.
pub(crate) fn merged(path: &Path) -> Result<Vec<FileArg>, Error> {
    let text = input::read_file(path)?;
    let files: Vec<WrittenFile> = serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} cannot be used: {error}", path.display());
        Error::usage(message).hint("See `althing integrate WS accept --help` for its form.")
    })?;
    let file =
        |file: WrittenFile| FileArg { content: file.content.map(Into::into), path: file.path };
    Ok(files.into_iter().map(file).collect())
}

/// Content for people to read, each line harmless: its text, or what it is instead.
pub(crate) fn shown(blobs: &Blobs, blob: &Blob) -> Vec<String> {
    match blobs.get(blob) {
        Err(error) => vec![format!("({blob}: {error})")],
        Ok(content) => match std::str::from_utf8(&content) {
            Ok(text) => text.lines().map(one_line).collect(),
            Err(_) => vec![format!("({blob}, {})", show_bytes(content.len() as u64))],
        },
    }
}
