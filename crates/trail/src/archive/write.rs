//! Writing an archive: line by line, under a temporary name until all of it is on the disk. Every
//! segment is read back and compared with its lines.

use althing_kernel::archive::{Moved, Number, Range};
use althing_kernel::{Blob, ProjectId};
use sha2::Digest as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::{Archives, Manifest, Segment, blob_of, sync_folder, unwritable};
use crate::error::{LogError, LogErrorKind};
use crate::stub::Stub;

/// Bytes of lines per segment.
const SEGMENT_BYTES: usize = 1 << 20;
/// Compression level: cheap, with most of the gain.
const LEVEL: i32 = 3;

/// An archive being written. Dropping it removes its files.
pub struct ArchiveWriter {
    archives: Archives,
    manifest: Manifest,
    path: PathBuf,
    piece: Piece,
    stubs: sha2::Sha256,
    compressor: Option<Compressor>,
}

/// The compressing thread and the channel to it.
type Compressor = (SyncSender<Piece>, JoinHandle<Result<Compressed, LogError>>);

/// A finished archive on the disk.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its manifest.
    pub manifest: Manifest,
    /// The hash of its manifest.
    pub hash: Blob,
}

/// Prefix of files that are still being written.
pub const UNFINISHED: &str = "unfinished-";

/// Lines to compress together.
struct Piece {
    lines: Vec<u8>,
    range: Range,
    count: u64,
}

/// Segments and hashes that the compressing thread has written.
struct Compressed {
    file: File,
    segments: Vec<Segment>,
    content: Blob,
}

impl Piece {
    fn new() -> Self {
        let lines = Vec::with_capacity(SEGMENT_BYTES + SEGMENT_BYTES / 4);
        Piece { lines, range: Range { from: 0, to: 0 }, count: 0 }
    }
}

/// Compresses and writes segments as they arrive; each is read back and compared at once.
fn compress_segments(
    path: &Path,
    mut file: File,
    pieces: &Receiver<Piece>,
) -> Result<Compressed, LogError> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let (mut segments, mut content) = (Vec::<Segment>::new(), sha2::Sha256::new());
    let mut offset = 0;
    while let Ok(Piece { lines, range, count }) = pieces.recv() {
        content.update(&lines);
        let compressed = zstd::bulk::compress(&lines, LEVEL).map_err(failed)?;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.write_all(&compressed))
            .map_err(failed)?;
        let (bytes, size) = (lines.len() as u64, compressed.len() as u64);
        let hash = blob_of(&compressed);
        let mut back = compressed;
        back.fill(0);
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut back))
            .map_err(failed)?;
        let same = zstd::bulk::decompress(&back, lines.len()).is_ok_and(|again| again == lines);
        if !same || blob_of(&back) != hash {
            let wrong = std::io::Error::other("what was written reads otherwise");
            return Err(failed(wrong));
        }
        segments.push(Segment { bytes, count, hash, offset, range, size });
        offset += size;
    }
    let content = Blob::from_digest(content.finalize().into());
    Ok(Compressed { file, segments, content })
}

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
        let failed = |error: std::io::Error| unwritable(&path, &error);
        let opened = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = opened.map_err(failed)?;
        // The next segment is gathered while one is being compressed.
        let (send, receive) = sync_channel(1);
        let own = path.clone();
        let thread = std::thread::Builder::new().name("althing-press".to_owned());
        let thread =
            thread.spawn(move || compress_segments(&own, file, &receive)).map_err(failed)?;
        let nothing = blob_of(b"");
        Ok(ArchiveWriter {
            archives: archives.clone(),
            manifest: Manifest::new(number, project, nothing.clone(), nothing),
            piece: Piece::new(),
            stubs: sha2::Sha256::new(),
            compressor: Some((send, thread)),
            path,
        })
    }

    /// Adds an entry. Entries must come in the order of the trail.
    pub fn add(&mut self, seq: u64, line: &str, stub: &Stub) -> Result<(), LogError> {
        let Piece { lines, range, count } = &mut self.piece;
        if *count == 0 {
            range.from = seq;
        }
        lines.extend_from_slice(line.as_bytes());
        lines.push(b'\n');
        range.to = seq;
        *count += 1;
        self.stubs.update(stub.to_string().as_bytes());
        self.stubs.update(b"\n");
        if self.manifest.count == 0 {
            self.manifest.range.from = seq;
        }
        self.manifest.range.to = seq;
        self.manifest.count += 1;
        if self.piece.lines.len() >= SEGMENT_BYTES { self.end_piece() } else { Ok(()) }
    }

    /// Number of entries added.
    pub fn count(&self) -> u64 {
        self.manifest.count
    }

    fn end_piece(&mut self) -> Result<(), LogError> {
        let piece = std::mem::replace(&mut self.piece, Piece::new());
        let sent = match &self.compressor {
            Some((send, _)) if piece.count > 0 => send.send(piece).is_ok(),
            _ => true,
        };
        // The thread stops taking segments only if one could not be written; joining it returns the
        // error.
        if sent { Ok(()) } else { self.end_compressor().map(|_| ()) }
    }

    /// Waits until everything is written.
    fn end_compressor(&mut self) -> Result<Compressed, LogError> {
        let over = || unwritable(&self.path, &std::io::Error::other("its writer came to an end"));
        let (send, thread) = self.compressor.take().ok_or_else(over)?;
        drop(send);
        thread.join().map_err(|_| over())?
    }

    /// Finishes the archive: both files are on the disk under their names when this returns.
    pub fn finish(mut self, workspaces: Vec<Moved>) -> Result<Written, LogError> {
        self.end_piece()?;
        let Compressed { file, segments, content } = self.end_compressor()?;
        let mut manifest = self.manifest.clone();
        manifest.segments = segments;
        manifest.content = content;
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
        let path = self.archives.manifest(manifest.number, &hash);
        file.sync_all().map_err(|error| unwritable(&self.path, &error))?;
        std::fs::rename(&self.path, &data).map_err(|error| unwritable(&data, &error))?;
        put_synced(&path, &text)?;
        sync_folder(self.archives.folder())?;
        // The name of the folder itself has to survive a power cut as well.
        if let Some(parent) = self.archives.folder().parent() {
            sync_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        // Read the manifest back under its final name.
        self.archives.read_manifest(manifest.number, &hash)?;
        Ok(Written { manifest, hash })
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        if self.compressor.is_some() {
            // The archive is being abandoned, so an error while ending it does not matter.
            if let Err(error) = self.end_compressor() {
                tracing::debug!(%error, "an unwanted archive did not end well");
            }
        }
        // A finished archive has been renamed, so nothing has this name.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a file completely or not at all.
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
        // A partly written file is useless.
        let _ = std::fs::remove_file(&new);
        unwritable(path, &error)
    })
}
