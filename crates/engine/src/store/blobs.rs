//! Content beside the log: files named by the hash of their content.
//!
//! `blobs/ab/…` holds the content whose SHA-256 begins with `ab`. Unfinished content is in
//! `blobs/new/` and gets its name in one step once it is complete and synced, so a name never
//! stands for a part. Storing the same content twice at once has the same outcome as storing it
//! once, so there are no locks. Nothing here deletes or changes content; only a file that does not
//! match its name is replaced by one that does.

use althing_kernel::Blob;
use althing_trail::LogError;
use althing_trail::log::LogErrorKind;
use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::Digest as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::EngineError;
use crate::mint::random;
use crate::store::home::{Home, remove_leftover, sync_folder_of};

/// Largest content, in bytes.
pub const BLOB_BYTES_MAX: u64 = 256 << 20;

/// Buffer size for copying content, in bytes.
const PIECE_BYTES: usize = 64 << 10;
/// Folder of unfinished content. No hash begins like this.
const UNFINISHED: &str = "new";
/// Hexadecimal digits in the name of an unfinished file: twice as many as its random bytes.
const UNFINISHED_DIGITS: usize = 16;
/// Age at which an unfinished file is abandoned.
const LEFT_OVER: Duration = Duration::from_hours(24);

/// The content of a state folder.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
    bytes_max: u64,
}

/// Stored content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Stored {
    /// Its name.
    pub blob: Blob,
    /// Size in bytes.
    pub bytes: u64,
}

impl Blobs {
    /// The content of a state folder.
    pub fn of(home: &Home) -> Self {
        Blobs::in_folder(home.blobs())
    }

    /// The content in a folder.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Blobs { folder, bytes_max: BLOB_BYTES_MAX }
    }

    /// Sets a smaller limit for the size of content.
    #[must_use]
    pub fn with_limit(self, bytes_max: u64) -> Self {
        Blobs { bytes_max: bytes_max.min(BLOB_BYTES_MAX), ..self }
    }

    /// Path of some content, whether or not it exists.
    pub fn path(&self, blob: &Blob) -> PathBuf {
        let hex = blob.hex();
        self.folder.join(&hex[..2]).join(hex)
    }

    /// Stores content durably.
    pub fn put(&self, content: &[u8]) -> Result<Blob, EngineError> {
        if content.len() as u64 > self.bytes_max {
            return Err(EngineError::TooLarge(self.bytes_max));
        }
        let blob = Blob::from_digest(sha2::Sha256::digest(content).into());
        if self.is_sound(&blob) {
            return self.settle(&blob).map(|()| blob);
        }
        let mut new = self.unfinished()?;
        new.file.write_all(content).map_err(|error| new.refused(error))?;
        self.place(&blob, &new).map(|()| blob)
    }

    /// Stores content of any length up to the limit, without holding it in memory.
    pub fn put_reader(&self, input: &mut dyn Read) -> Result<Stored, EngineError> {
        let mut new = self.unfinished()?;
        let stored = match pass(input, &mut new.file, self.bytes_max) {
            Ok(stored) => stored,
            Err(Stopped::TooLarge) => return Err(EngineError::TooLarge(self.bytes_max)),
            Err(Stopped::Unwritable(error)) => return Err(new.refused(error)),
            Err(Stopped::Unreadable(error)) => {
                let message = format!("cannot read what is to be stored: {error}");
                return Err(EngineError::Invalid(message));
            }
        };
        if self.is_sound(&stored.blob) {
            self.settle(&stored.blob)?;
        } else {
            self.place(&stored.blob, &new)?;
        }
        Ok(stored)
    }

    /// Copies content from another folder, unless it is here. Returns whether it is here now;
    /// damaged content is not copied.
    pub(crate) fn put_from(&self, from: &Blobs, blob: &Blob) -> Result<bool, EngineError> {
        if self.is_sound(blob) {
            return self.settle(blob).map(|()| true);
        }
        let Ok(mut input) = from.open(blob) else { return Ok(false) };
        let mut new = self.unfinished()?;
        match pass(&mut input, &mut new.file, BLOB_BYTES_MAX) {
            Ok(stored) if stored.blob == *blob => self.place(blob, &new).map(|()| true),
            Err(Stopped::Unwritable(error)) => Err(new.refused(error)),
            _ => Ok(false),
        }
    }

    /// Reads content by name. Fails if the file does not match the name; a damaged file stays where
    /// it is.
    pub fn get(&self, blob: &Blob) -> Result<Vec<u8>, EngineError> {
        let mut content = Vec::new();
        self.read(blob, &mut content).map(|_| content)
    }

    /// Whether there is a file for this content. Only reading it tells whether it is intact.
    pub fn has(&self, blob: &Blob) -> Result<bool, EngineError> {
        let path = self.path(blob);
        path.try_exists().map_err(EngineError::file("look for", &path))
    }

    /// Whether this content is here and intact.
    pub fn is_sound(&self, blob: &Blob) -> bool {
        self.read(blob, &mut std::io::sink()).is_ok()
    }

    /// All content that has a file, by name.
    pub fn list(&self) -> Result<Vec<Stored>, EngineError> {
        let mut found = Vec::new();
        for folder in entries(&self.folder)? {
            if folder.is_dir() && folder.file_name().is_none_or(|name| name != UNFINISHED) {
                found.extend(entries(&folder)?.iter().filter_map(|path| self.stored_at(path)));
            }
        }
        found.sort();
        Ok(found)
    }

    fn stored_at(&self, path: &Path) -> Option<Stored> {
        let blob: Blob = format!("sha256:{}", path.file_name()?.to_str()?).parse().ok()?;
        let data = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        (self.path(&blob) == path).then_some(Stored { blob, bytes: data.len() })
    }

    /// Reads content to its end, checks that it matches its name, and returns its size.
    pub(crate) fn read(&self, blob: &Blob, output: &mut dyn Write) -> Result<u64, EngineError> {
        let mut file = self.open(blob)?;
        match pass(&mut file, output, BLOB_BYTES_MAX) {
            Ok(stored) if stored.blob == *blob => Ok(stored.bytes),
            Ok(_) | Err(Stopped::TooLarge) => Err(self.damaged(blob)),
            Err(Stopped::Unreadable(error) | Stopped::Unwritable(error)) => {
                Err(EngineError::file("read", &self.path(blob))(error))
            }
        }
    }

    /// The hash of the actual content of a file, if it can be read.
    pub(crate) fn held_in(&self, blob: &Blob) -> Option<Blob> {
        let mut file = self.open(blob).ok()?;
        let held = pass(&mut file, &mut std::io::sink(), BLOB_BYTES_MAX).ok()?;
        Some(held.blob)
    }

    fn open(&self, blob: &Blob) -> Result<File, EngineError> {
        let path = self.path(blob);
        // Reading a pipe with this name would block forever.
        match path.metadata() {
            Ok(data) if !data.is_file() || data.len() > BLOB_BYTES_MAX => Err(self.damaged(blob)),
            Ok(_) => File::open(&path).map_err(EngineError::file("read", &path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(EngineError::NotFound(format!("there is no content {blob} here")))
            }
            Err(error) => Err(EngineError::file("read", &path)(error)),
        }
    }

    fn damaged(&self, blob: &Blob) -> EngineError {
        EngineError::BlobDamaged { blob: blob.clone(), path: self.path(blob) }
    }

    /// Begins a file under a temporary name.
    fn unfinished(&self) -> Result<Unfinished, EngineError> {
        let folder = self.folder.join(UNFINISHED);
        make_folder(&folder)?;
        clear_left_over(&folder);
        let name = HEXLOWER.encode(&random::<{ UNFINISHED_DIGITS / 2 }>()?);
        let path = folder.join(name);
        let file = File::options().write(true).create_new(true).open(&path);
        let file = file.map_err(EngineError::file("create", &path)).map_err(unavailable)?;
        Ok(Unfinished { path, file })
    }

    /// Gives a finished file the name of its content.
    fn place(&self, blob: &Blob, new: &Unfinished) -> Result<(), EngineError> {
        let path = self.path(blob);
        let folder = path.parent().unwrap_or(&self.folder);
        new.file.sync_all().map_err(EngineError::file("sync", &new.path)).map_err(unavailable)?;
        make_folder(folder)?;
        let renamed = std::fs::rename(&new.path, &path);
        renamed.map_err(EngineError::file("create", &path)).map_err(unavailable)?;
        self.settle(blob)
    }

    /// Syncs the two folders of a name. The process that made them may not have done so yet, or was
    /// killed before.
    fn settle(&self, blob: &Blob) -> Result<(), EngineError> {
        let path = self.path(blob);
        path.ancestors().take(3).try_for_each(sync_folder_of).map_err(unavailable)
    }
}

/// Content being written. Its file is removed on drop unless it got its name.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn refused(&self, error: std::io::Error) -> EngineError {
        unavailable(EngineError::file("write", &self.path)(error))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished file has been renamed, so mostly nothing is there.
        remove_leftover(&self.path);
    }
}

/// Reasons why copying content stopped.
enum Stopped {
    Unreadable(std::io::Error),
    Unwritable(std::io::Error),
    TooLarge,
}

/// Copies content and hashes it on the way.
fn pass(input: &mut dyn Read, output: &mut dyn Write, bytes_max: u64) -> Result<Stored, Stopped> {
    let mut digest = sha2::Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let length = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stopped::Unreadable(error)),
        };
        bytes += length as u64;
        if bytes > bytes_max {
            return Err(Stopped::TooLarge);
        }
        digest.update(&piece[..length]);
        output.write_all(&piece[..length]).map_err(Stopped::Unwritable)?;
    }
    Ok(Stored { blob: Blob::from_digest(digest.finalize().into()), bytes })
}

/// Turns a failed write into an unavailable store: nothing was acknowledged, and it may work later.
fn unavailable(error: EngineError) -> EngineError {
    match error {
        EngineError::File { .. } => {
            EngineError::Unavailable(LogError::new(LogErrorKind::Unwritable, error.to_string()))
        }
        other => other,
    }
}

fn make_folder(folder: &Path) -> Result<(), EngineError> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(EngineError::file("create", folder)).map_err(unavailable)
}

/// Entries of a folder; none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let paths = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    paths.map_err(EngineError::file("list", folder))
}

/// Removes files that killed processes left unfinished. One that cannot be removed now is removed
/// next time.
fn clear_left_over(folder: &Path) {
    for path in entries(folder).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_ours = name.len() == UNFINISHED_DIGITS && HEXLOWER.decode(name).is_ok();
        let data = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
        let age = data.and_then(|data| data.modified().ok()?.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > LEFT_OVER) {
            remove_leftover(&path);
        }
    }
}
