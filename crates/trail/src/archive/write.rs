//! Writing an archive: line by line, under another name until all of it is on the disk.

use althing_kernel::archive::{Moved, Number, Range};
use althing_kernel::{Blob, ProjectId};
use sha2::Digest as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Archives, Manifest, Segment, Stub, blob_of, sync_folder, unwritable};
use crate::log::{LogError, LogErrorKind};

/// How many bytes of lines go into one piece.
const SEGMENT_BYTES: usize = 1 << 20;
/// How hard to press: the level that costs little and gets most of it.
const LEVEL: i32 = 3;

/// An archive in the making. Dropping it leaves nothing behind.
pub struct ArchiveWriter {
    archives: Archives,
    manifest: Manifest,
    path: PathBuf,
    file: Option<File>,
    lines: Vec<u8>,
    piece: Range,
    piece_count: u64,
    content: sha2::Sha256,
    stubs: sha2::Sha256,
}

/// An archive that is on the disk.
#[derive(Clone, Debug)]
pub struct Written {
    /// What is in it.
    pub manifest: Manifest,
    /// The hash of its manifest.
    pub hash: Blob,
}

/// How the names of files begin that are being written.
pub const UNFINISHED: &str = "unfinished-";

impl ArchiveWriter {
    /// Begins an archive.
    pub fn begin(
        archives: &Archives,
        number: Number,
        project: ProjectId,
    ) -> Result<Self, LogError> {
        let folder = archives.folder();
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let path = folder.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let file = File::create(&path).map_err(|error| unwritable(&path, &error))?;
        let nothing = blob_of(b"");
        Ok(ArchiveWriter {
            archives: archives.clone(),
            manifest: Manifest::new(number, project, nothing.clone(), nothing),
            path,
            file: Some(file),
            lines: Vec::with_capacity(SEGMENT_BYTES * 2),
            piece: Range { from: 0, to: 0 },
            piece_count: 0,
            content: sha2::Sha256::new(),
            stubs: sha2::Sha256::new(),
        })
    }

    /// Adds an entry. Entries come in the order of the trail.
    pub fn add(&mut self, seq: u64, line: &str, stub: &Stub) -> Result<(), LogError> {
        if self.piece_count == 0 {
            self.piece.from = seq;
        }
        if self.manifest.count == 0 {
            self.manifest.range.from = seq;
        }
        self.lines.extend_from_slice(line.as_bytes());
        self.lines.push(b'\n');
        self.stubs.update(stub.to_string().as_bytes());
        self.stubs.update(b"\n");
        self.piece.to = seq;
        self.piece_count += 1;
        self.manifest.range.to = seq;
        self.manifest.count += 1;
        if self.lines.len() >= SEGMENT_BYTES { self.end_piece() } else { Ok(()) }
    }

    /// How many entries were added.
    pub fn count(&self) -> u64 {
        self.manifest.count
    }

    fn end_piece(&mut self) -> Result<(), LogError> {
        if self.piece_count == 0 {
            return Ok(());
        }
        self.content.update(&self.lines);
        let failed = |error: &std::io::Error| unwritable(&self.path, error);
        let pressed = zstd::bulk::compress(&self.lines, LEVEL).map_err(|error| failed(&error))?;
        if let Some(file) = &mut self.file {
            file.write_all(&pressed).map_err(|error| unwritable(&self.path, &error))?;
        }
        self.manifest.segments.push(Segment {
            bytes: self.lines.len() as u64,
            count: self.piece_count,
            hash: blob_of(&pressed),
            offset: self.manifest.file_bytes(),
            range: self.piece,
            size: pressed.len() as u64,
        });
        self.lines.clear();
        self.piece_count = 0;
        Ok(())
    }

    /// Finishes the archive: both files are on the disk under their names when this returns.
    pub fn finish(mut self, workspaces: Vec<Moved>) -> Result<Written, LogError> {
        self.end_piece()?;
        let mut manifest = self.manifest.clone();
        manifest.content = Blob::from_digest(std::mem::take(&mut self.content).finalize().into());
        manifest.stubs = Blob::from_digest(std::mem::take(&mut self.stubs).finalize().into());
        manifest.workspaces = workspaces;
        let text = manifest.text().map_err(|error| {
            LogError::new(
                LogErrorKind::Unwritable,
                format!("a manifest cannot be written: {error}"),
            )
        })?;
        let hash = blob_of(&text);
        let data = self.archives.data(manifest.number, &hash);
        let told = self.archives.manifest(manifest.number, &hash);
        if let Some(file) = self.file.take() {
            file.sync_all().map_err(|error| unwritable(&self.path, &error))?;
        }
        std::fs::rename(&self.path, &data).map_err(|error| unwritable(&data, &error))?;
        put_synced(&told, &text)?;
        sync_folder(self.archives.folder())?;
        // The folder's own name has to last as well.
        if let Some(parent) = self.archives.folder().parent() {
            sync_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        Ok(Written { manifest, hash })
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        // Once it is finished nothing has this name any more.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a file as a whole.
pub(super) fn put_synced(path: &Path, content: &[u8]) -> Result<(), LogError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!("{UNFINISHED}{}-{name}", std::process::id()));
    let put = || {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    put().map_err(|error| {
        // A part of a file is of no use to anybody.
        let _ = std::fs::remove_file(&new);
        unwritable(path, &error)
    })
}
