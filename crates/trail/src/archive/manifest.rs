//! Manifests: the content of an archive and its hashes.

use althing_kernel::archive::{Moved, Number, Range};
use althing_kernel::{Blob, ProjectId};
use serde::{Deserialize, Serialize};

/// Version of the archive format that this program writes.
const FORMAT: u32 = 1;
/// Largest uncompressed size of a segment, in bytes: more than any that is written.
const SEGMENT_BYTES_MAX: u64 = 16 << 20;

/// A segment of an archive: some lines, compressed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Size of its lines in bytes, line breaks included.
    pub bytes: u64,
    /// Number of lines.
    pub count: u64,
    /// The SHA-256 of the compressed bytes.
    pub hash: Blob,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// First and last entry.
    pub range: Range,
    /// Compressed size in the file, in bytes.
    pub size: u64,
}

/// The manifest of an archive. Fields stand in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The SHA-256 of all lines, each with a line break.
    pub content: Blob,
    /// Number of entries.
    pub count: u64,
    /// Version of the format.
    pub format: u32,
    /// The number of the archive.
    pub number: Number,
    /// Project whose trail the entries are from.
    pub project: ProjectId,
    /// The first and the last entry.
    pub range: Range,
    /// Segments, in the order of the file.
    pub segments: Vec<Segment>,
    /// The SHA-256 of all stubs, each with a line break.
    pub stubs: Blob,
    /// Workspaces whose entries are in the archive.
    pub workspaces: Vec<Moved>,
}

impl Manifest {
    pub(super) fn new(number: Number, project: ProjectId, content: Blob, stubs: Blob) -> Self {
        let range = Range { from: 0, to: 0 };
        let (segments, workspaces) = (Vec::new(), Vec::new());
        let (count, format) = (0, FORMAT);
        Manifest { content, count, format, number, project, range, segments, stubs, workspaces }
    }

    /// The text of the file.
    pub(super) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads the text of a file and checks that its parts agree with each other.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let manifest: Manifest = serde_json::from_slice(text)
            .map_err(|error| format!("its manifest cannot be read: {error}"))?;
        if manifest.format > FORMAT {
            let format = manifest.format;
            return Err(format!("its form {format} is newer than what this version knows"));
        }
        let written = manifest.text().map_err(|error| error.to_string())?;
        if written == text && manifest.is_sound() {
            Ok(manifest)
        } else {
            Err("its manifest does not fit together".to_owned())
        }
    }

    /// Whether the ranges, counts and sizes agree with each other.
    fn is_sound(&self) -> bool {
        let (mut offset, mut after, mut count) = (0, 0, 0);
        for segment in &self.segments {
            let Segment { bytes, range, size, .. } = segment;
            let in_order = segment.offset == offset && range.from > after && range.from <= range.to;
            if !in_order || *bytes > SEGMENT_BYTES_MAX || *size > SEGMENT_BYTES_MAX {
                return false;
            }
            (offset, after) = (offset + size, range.to);
            count = u64::saturating_add(count, segment.count);
        }
        let archived = self.workspaces.iter().map(|moved| moved.archived);
        let of_workspaces = archived.fold(0, u64::saturating_add);
        let ends = self.segments.first().map(|first| first.range.from);
        count == self.count
            && count == of_workspaces
            && ends == Some(self.range.from)
            && after == self.range.to
    }

    /// Size of the file with the lines, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// Size of the uncompressed lines, in bytes.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Index of the segment that would hold an entry.
    pub(super) fn segment_of(&self, seq: u64) -> Option<usize> {
        let at = self.segments.partition_point(|segment| segment.range.to < seq);
        self.segments.get(at).filter(|segment| segment.range.from <= seq).map(|_| at)
    }
}
