//! Manifests: what is in an archive, and with which hashes.

use althing_kernel::archive::{Moved, Number, Range};
use althing_kernel::{Blob, ProjectId};
use serde::{Deserialize, Serialize};

/// The version of an archive's form that this program writes.
const FORMAT: u32 = 1;
/// The most a piece may unfold to, in bytes: more than any that is written.
const SEGMENT_BYTES_MAX: u64 = 16 << 20;

/// A piece of an archive: some lines, compressed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// How many bytes its lines take, line breaks included.
    pub bytes: u64,
    /// How many lines it has.
    pub count: u64,
    /// The SHA-256 of the compressed bytes.
    pub hash: Blob,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its first and its last entry.
    pub range: Range,
    /// How many bytes it takes in the file.
    pub size: u64,
}

/// What is in an archive. Fields stand in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The SHA-256 of all lines, each with a line break.
    pub content: Blob,
    /// How many entries there are.
    pub count: u64,
    /// The version of the form.
    pub format: u32,
    /// The number of the archive.
    pub number: Number,
    /// Whose trail the entries are from.
    pub project: ProjectId,
    /// The first and the last entry.
    pub range: Range,
    /// The pieces, in the order of the file.
    pub segments: Vec<Segment>,
    /// The SHA-256 of all stubs, each with a line break.
    pub stubs: Blob,
    /// Whose entries they are.
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

    /// Reads the text of a file. What it says has to fit together.
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

    /// Whether its parts fit together.
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

    /// How many bytes the file with the lines has.
    pub fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// How many bytes the lines take.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The piece that would hold an entry, by its place in the list.
    pub(super) fn segment_of(&self, seq: u64) -> Option<usize> {
        let at = self.segments.partition_point(|segment| segment.range.to < seq);
        self.segments.get(at).filter(|segment| segment.range.from <= seq).map(|_| at)
    }
}
