//! Reading archives: single lines on demand, or a whole archive to check it.

use althing_kernel::Blob;
use althing_kernel::archive::Number;
use sha2::Digest as _;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use super::{ArchiveRecord, Archives, Manifest, Segment, Stage, blob_of, damaged, unreadable};
use crate::commit::Commit;
use crate::error::{LogError, LogErrorKind};
use crate::stub::{Stub, Wanted};

/// Uncompressed segments to keep in memory: archives of neighbouring times may overlap.
const PIECES_KEPT: usize = 16;

/// Archives to keep open.
const ARCHIVES_OPEN: usize = 64;

/// An uncompressed segment of an archive.
pub(super) struct Uncompressed {
    text: String,
    /// Byte range of each line, by sequence number.
    lines: Vec<(u64, std::ops::Range<usize>)>,
}

impl Uncompressed {
    fn line(&self, seq: u64) -> Option<&str> {
        let at = self.lines.binary_search_by_key(&seq, |(own, _)| *own).ok()?;
        self.text.get(self.lines[at].1.clone())
    }
}

/// The sequence number a line claims. Text inside a line cannot look like this field, because its
/// quotes are escaped, and no later field has the same name.
fn seq_of(line: &str) -> Option<u64> {
    const NAME: &[u8] = b",\"seq\":";
    let at = memchr::memmem::rfind(line.as_bytes(), NAME)? + NAME.len();
    let rest = line.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}

/// Reads one segment and checks its hash.
fn uncompress(
    file: &mut File,
    number: Number,
    segment: &Segment,
) -> Result<Uncompressed, LogError> {
    let wrong = |what: &str| {
        let (from, to) = (segment.range.from, segment.range.to);
        damaged(number, format!("entries {from} to {to}: {what}"))
    };
    let mut pressed = vec![0; usize::try_from(segment.size).unwrap_or_default()];
    let read =
        file.seek(SeekFrom::Start(segment.offset)).and_then(|_| file.read_exact(&mut pressed));
    read.map_err(|error| wrong(&format!("they cannot be read: {error}")))?;
    if blob_of(&pressed) != segment.hash {
        return Err(wrong("their bytes were changed"));
    }
    let bytes = usize::try_from(segment.bytes).unwrap_or_default();
    let plain = zstd::bulk::decompress(&pressed, bytes)
        .map_err(|error| wrong(&format!("they cannot be unfolded: {error}")))?;
    let text = String::from_utf8(plain).map_err(|_| wrong("they are no text"))?;
    let mut lines = Vec::with_capacity(usize::try_from(segment.count).unwrap_or_default());
    let mut start = 0;
    for line in text.split_terminator('\n') {
        let seq = seq_of(line).ok_or_else(|| wrong("a line is no entry"))?;
        lines.push((seq, start..start + line.len()));
        start += line.len() + 1;
    }
    let range = (lines.first().map(|first| first.0), lines.last().map(|last| last.0));
    let fits = text.len() == bytes
        && lines.len() as u64 == segment.count
        && range == (Some(segment.range.from), Some(segment.range.to))
        && lines.is_sorted_by(|a, b| a.0 < b.0);
    if fits {
        Ok(Uncompressed { text, lines })
    } else {
        Err(wrong("their size, number or range is not that of the manifest"))
    }
}

/// An open archive.
struct Opened {
    manifest: Manifest,
    file: File,
}

/// Fetches lines from the archives of a store.
pub(crate) struct ArchiveFetcher {
    archives: Archives,
    opened: BTreeMap<Number, Opened>,
    pieces: VecDeque<(Number, usize, Arc<Uncompressed>)>,
    wanted: Wanted,
}

impl ArchiveFetcher {
    pub(crate) fn new(archives: Archives) -> Self {
        let (opened, pieces) = (BTreeMap::new(), VecDeque::new());
        ArchiveFetcher { archives, opened, pieces, wanted: Wanted::default() }
    }

    /// Fetches only entries that may match this filter from now on.
    pub(crate) fn narrow(&mut self, wanted: Wanted) {
        self.wanted = wanted;
    }

    /// Replaces stubs in a commit by their archived lines, except those that the filter excludes or
    /// whose archive was deleted. `known` looks up what the store has recorded about an archive.
    pub(crate) fn resolve(
        &mut self,
        commit: Commit,
        known: &dyn Fn(Number) -> Result<Option<ArchiveRecord>, LogError>,
    ) -> Result<Commit, LogError> {
        if !commit.has_stubs() {
            return Ok(commit);
        }
        let mut lines = String::with_capacity(commit.lines.len() * 4);
        for (seq, line) in (commit.first..).zip(commit.slots()) {
            if !lines.is_empty() {
                lines.push('\n');
            }
            if !Stub::is_in(line) {
                lines.push_str(line);
                continue;
            }
            let stub = Stub::read(line).map_err(|error| at(seq, &error))?;
            let piece = if self.wanted.fits(seq, &stub) {
                self.piece(seq, stub.archive, known)?
            } else {
                None
            };
            let text = match &piece {
                Some(piece) => piece.line(seq).ok_or_else(|| not_in(seq, stub.archive))?,
                None => line,
            };
            lines.push_str(text);
        }
        Ok(Commit { lines, ..commit })
    }

    /// The segment that holds an entry; `None` if the archive was deleted on record.
    fn piece(
        &mut self,
        seq: u64,
        number: Number,
        known: &dyn Fn(Number) -> Result<Option<ArchiveRecord>, LogError>,
    ) -> Result<Option<Arc<Uncompressed>>, LogError> {
        if !self.opened.contains_key(&number) {
            let place = known(number)?.ok_or_else(|| unknown(seq, number))?;
            if place.stage == Stage::Pruned {
                return Ok(None);
            }
            let manifest = self.archives.read_manifest(number, &place.hash)?;
            let path = self.archives.data(number, &place.hash);
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) => {
                    // The archive may have been deleted since the store was asked.
                    let again = known(number)?;
                    if again.is_some_and(|archive_record| archive_record.stage == Stage::Pruned) {
                        return Ok(None);
                    }
                    return Err(unreadable(number, &path, &error));
                }
            };
            if self.opened.len() >= ARCHIVES_OPEN {
                self.opened.clear();
            }
            self.opened.insert(number, Opened { manifest, file });
        }
        let Some(open) = self.opened.get_mut(&number) else { return Ok(None) };
        let place = open.manifest.segment_of(seq).ok_or_else(|| not_in(seq, number))?;
        let kept = self.pieces.iter().position(|(of, at, _)| (*of, *at) == (number, place));
        if let Some(kept) = kept {
            return Ok(Some(self.pieces[kept].2.clone()));
        }
        let unfolded =
            Arc::new(uncompress(&mut open.file, number, &open.manifest.segments[place])?);
        if self.pieces.len() >= PIECES_KEPT {
            self.pieces.pop_front();
        }
        self.pieces.push_back((number, place, unfolded.clone()));
        Ok(Some(unfolded))
    }
}

fn at(seq: u64, what: &dyn std::fmt::Display) -> LogError {
    LogError::new(LogErrorKind::Corrupt, format!("entry {seq}: {what}"))
}

fn unknown(seq: u64, number: Number) -> LogError {
    at(seq, &format!("it is said to be in archive {number}, which the store does not know"))
}

fn not_in(seq: u64, number: Number) -> LogError {
    at(seq, &format!("it is said to be in archive {number}, which does not have it"))
}

/// Result of checking an archive on the disk.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The store's record of it.
    pub archive_record: ArchiveRecord,
    /// Its manifest.
    pub manifest: Manifest,
}

/// The lines of an archive, one after another.
pub struct Lines {
    manifest: Manifest,
    file: File,
    piece: Option<Uncompressed>,
    /// Index of the next segment, and of the next line in the open one.
    next: (usize, usize),
}

impl Lines {
    /// Opens an archive.
    pub fn open(archives: &Archives, number: Number, hash: &Blob) -> Result<Self, LogError> {
        let manifest = archives.read_manifest(number, hash)?;
        let path = archives.data(number, hash);
        let failed = |error: std::io::Error| unreadable(number, &path, &error);
        let file = File::open(&path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size != manifest.file_bytes() {
            return Err(damaged(number, format!("{} has another length", path.display())));
        }
        Ok(Lines { manifest, file, piece: None, next: (0, 0) })
    }

    /// The manifest of the archive.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The next line and its sequence number, without moving past it.
    pub fn peek(&mut self) -> Result<Option<(u64, &str)>, LogError> {
        let open = self.piece.as_ref().map_or(0, |piece| piece.lines.len());
        if self.next.1 >= open {
            let Some(segment) = self.manifest.segments.get(self.next.0) else { return Ok(None) };
            self.piece = Some(uncompress(&mut self.file, self.manifest.number, segment)?);
            self.next = (self.next.0 + 1, 0);
        }
        let Some(piece) = &self.piece else { return Ok(None) };
        let Some((seq, range)) = piece.lines.get(self.next.1) else { return Ok(None) };
        Ok(Some((*seq, piece.text.get(range.clone()).unwrap_or_default())))
    }

    /// Moves past the next line.
    pub fn pass(&mut self) {
        self.next.1 += 1;
    }
}

/// Reads a whole archive and compares it with its hashes. For a deleted archive only the manifest
/// is checked.
pub fn check_files(
    archives: &Archives,
    archive_record: &ArchiveRecord,
) -> Result<Checked, LogError> {
    let ArchiveRecord { number, hash, stage } = archive_record;
    if *stage == Stage::Pruned {
        let manifest = archives.read_manifest(*number, hash)?;
        return Ok(Checked { archive_record: archive_record.clone(), manifest });
    }
    let mut lines = Lines::open(archives, *number, hash)?;
    let mut content = sha2::Sha256::new();
    while let Some((_, line)) = lines.peek()? {
        content.update(line.as_bytes());
        content.update(b"\n");
        lines.pass();
    }
    if Blob::from_digest(content.finalize().into()) == lines.manifest.content {
        Ok(Checked { archive_record: archive_record.clone(), manifest: lines.manifest })
    } else {
        Err(damaged(*number, "its lines are not those of its manifest"))
    }
}
