//! Writing an archive: line by line, under another name until all of it is on the disk. Every piece
//! is read back and compared with what it was made of.

use althing_kernel::archive::{Moved, Number, Range};
use althing_kernel::{Blob, ProjectId};
use sha2::Digest as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

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
    piece: Piece,
    stubs: sha2::Sha256,
    press: Option<Press>,
}

/// The thread that presses pieces, and the way to it.
type Press = (SyncSender<Piece>, JoinHandle<Result<Pressed, LogError>>);

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

/// Lines that are compressed together.
struct Piece {
    lines: Vec<u8>,
    range: Range,
    count: u64,
}

/// What was written of all pieces.
struct Pressed {
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

/// Compresses pieces as they come and writes them, each read back and compared at once.
fn press(path: &Path, mut file: File, pieces: &Receiver<Piece>) -> Result<Pressed, LogError> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let (mut segments, mut content) = (Vec::<Segment>::new(), sha2::Sha256::new());
    let mut offset = 0;
    while let Ok(Piece { lines, range, count }) = pieces.recv() {
        content.update(&lines);
        let pressed = zstd::bulk::compress(&lines, LEVEL).map_err(failed)?;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.write_all(&pressed))
            .map_err(failed)?;
        let (bytes, size) = (lines.len() as u64, pressed.len() as u64);
        let hash = blob_of(&pressed);
        let mut back = pressed;
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
    Ok(Pressed { file, segments, content })
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
        // While one piece is compressed the next is gathered.
        let (send, receive) = sync_channel(1);
        let own = path.clone();
        let thread = std::thread::Builder::new().name("althing-press".to_owned());
        let thread = thread.spawn(move || press(&own, file, &receive)).map_err(failed)?;
        let nothing = blob_of(b"");
        Ok(ArchiveWriter {
            archives: archives.clone(),
            manifest: Manifest::new(number, project, nothing.clone(), nothing),
            piece: Piece::new(),
            stubs: sha2::Sha256::new(),
            press: Some((send, thread)),
            path,
        })
    }

    /// Adds an entry. Entries come in the order of the trail.
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

    /// How many entries were added.
    pub fn count(&self) -> u64 {
        self.manifest.count
    }

    fn end_piece(&mut self) -> Result<(), LogError> {
        let piece = std::mem::replace(&mut self.piece, Piece::new());
        let sent = match &self.press {
            Some((send, _)) if piece.count > 0 => send.send(piece).is_ok(),
            _ => true,
        };
        // It stops taking pieces only if one could not be written; then it says why.
        if sent { Ok(()) } else { self.end_press().map(|_| ()) }
    }

    /// Waits until everything is written.
    fn end_press(&mut self) -> Result<Pressed, LogError> {
        let over = || unwritable(&self.path, &std::io::Error::other("its writer came to an end"));
        let (send, thread) = self.press.take().ok_or_else(over)?;
        drop(send);
        thread.join().map_err(|_| over())?
    }

    /// Finishes the archive: both files are on the disk under their names when this returns.
    pub fn finish(mut self, workspaces: Vec<Moved>) -> Result<Written, LogError> {
        self.end_piece()?;
        let Pressed { file, segments, content } = self.end_press()?;
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
        let told = self.archives.manifest(manifest.number, &hash);
        file.sync_all().map_err(|error| unwritable(&self.path, &error))?;
        std::fs::rename(&self.path, &data).map_err(|error| unwritable(&data, &error))?;
        put_synced(&told, &text)?;
        sync_folder(self.archives.folder())?;
        // The folder's own name has to last as well.
        if let Some(parent) = self.archives.folder().parent() {
            sync_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        // What was put on the disk is what the names stand for.
        self.archives.read_manifest(manifest.number, &hash)?;
        Ok(Written { manifest, hash })
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        if self.press.is_some() {
            // Whoever drops it does not want it; how that went does not matter.
            if let Err(error) = self.end_press() {
                tracing::debug!(%error, "an unwanted archive did not end well");
            }
        }
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
