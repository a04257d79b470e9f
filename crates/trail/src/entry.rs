//! Entries: events with their place in the chains, each one line of canonical JSON.
//!
//! The canonical form is RFC 8785 with integers only: keys sorted, no spaces. It is written
//! straight from the typed entry, field by field in sorted order. The chain hashes cover parts of
//! the same bytes:
//!
//! - the local hash covers everything except `hash`, `local_hash`, `prev` and `seq`;
//! - the global hash covers everything except `hash`, so it also covers the local one.

use althing_kernel::event::Draft;
use althing_kernel::{Event, Kind, Stamped};
use serde::Serialize;

use crate::hash::{Domain, Hash};
use crate::line::Line;
use crate::request::Asked;

/// The longest line an entry may be read from, in bytes.
pub const ENTRY_BYTES_MAX: usize = 4 << 20;

/// An entry of the trail.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Place in the trail, from 1.
    pub seq: u64,
    /// The event and its time.
    pub stamped: Stamped,
    /// Place in its stream, from 1.
    pub stream_seq: u64,
    /// The request that led to it, on the caller's entry.
    pub asked: Option<Asked>,
    /// The hash of the entry before it.
    pub prev: Option<Hash>,
    /// Its own hash in the trail.
    pub hash: Hash,
    /// Place in the chain of its workspace, if it has one.
    pub local: Option<LocalLink>,
}

/// An entry's place in the chain of its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalLink {
    /// The local hash of the entry before it in the same workspace.
    pub prev: Option<Hash>,
    /// Its own local hash.
    pub hash: Hash,
}

/// Reasons why a line is not an entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// Not JSON of the right shape.
    #[error("it is not an entry: {0}")]
    Form(#[source] serde_json::Error),
    /// The body does not fit the kind.
    #[error("its body is not one of `{0}`: {1}")]
    Body(Kind, #[source] serde_json::Error),
    /// A local hash without a workspace, or a workspace without a local hash.
    #[error("it has a workspace or a local hash, but not both")]
    Local,
    /// Two requests on one entry.
    #[error("it has a signed request and one that is not")]
    Requests,
    /// A number larger than JSON represents exactly.
    #[error("its sequence number is beyond 2^53")]
    Sequence,
    /// Longer than [`ENTRY_BYTES_MAX`].
    #[error("it is {0} bytes long, over the limit of {ENTRY_BYTES_MAX}")]
    TooLong(usize),
}

impl Entry {
    /// Reads an entry from its line. Checks its form, not its hashes.
    pub fn read(line: &str) -> Result<Self, EntryError> {
        if line.len() > ENTRY_BYTES_MAX {
            return Err(EntryError::TooLong(line.len()));
        }
        let line = Line::read(line).map_err(EntryError::Form)?;
        let event = Event::read(line.kind, line.body)
            .map_err(|error| EntryError::Body(line.kind, error))?;
        let local = match (&line.workspace, line.local_hash) {
            (Some(_), Some(hash)) => Some(LocalLink { prev: line.local_prev, hash }),
            (None, None) if line.local_prev.is_none() => None,
            _ => return Err(EntryError::Local),
        };
        let exact = althing_kernel::time::JSON_INTEGER_MAX;
        if line.seq == 0 || line.seq > exact || line.stream_seq == 0 || line.stream_seq > exact {
            return Err(EntryError::Sequence);
        }
        let asked = match (line.proof, line.request) {
            (Some(signature), None) => Some(Asked::Signed(signature)),
            (None, Some(unsigned)) => Some(Asked::Unsigned(unsigned)),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(EntryError::Requests),
        };
        let draft = Draft {
            actor: line.actor,
            workspace: line.workspace,
            stream: line.stream,
            correlation: line.correlation,
            causation: line.causation,
            event,
        };
        Ok(Entry {
            seq: line.seq,
            stamped: Stamped { id: line.id, at: line.at, door: line.door, draft },
            stream_seq: line.stream_seq,
            asked,
            prev: line.prev,
            hash: line.hash,
            local,
        })
    }
}

impl Entry {
    /// Whether the entry's hashes match its content and the line is its canonical form.
    pub fn is_own_hash(&self, line: &str) -> bool {
        let mut pieces = Pieces::default();
        let local_prev = self.local.and_then(|link| link.prev);
        let written =
            pieces.write(&self.stamped, self.stream_seq, local_prev.as_ref(), self.asked.as_ref());
        let local = self.local.map(|_| pieces.local_hash());
        let mut made = Vec::with_capacity(line.len());
        pieces.finish(self.seq, self.prev.as_ref(), local.as_ref(), &mut made);
        written.is_ok() && made == line.as_bytes()
    }
}

/// Serializes an event's body.
struct Body<'a>(&'a Event);

impl Serialize for Body<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}

/// The parts of an entry's line that its hashes cover, in the order of the line.
#[derive(Default)]
pub(crate) struct Pieces {
    /// From `actor` to `correlation`.
    opening: Vec<u8>,
    /// `id` and `kind`.
    naming: Vec<u8>,
    /// `local_prev`
    local_prev: Vec<u8>,
    /// `proof` or `request`
    asked: Vec<u8>,
    /// From `stream` to `workspace`, and the closing brace.
    closing: Vec<u8>,
    /// Fields that only the global hash covers: `local_hash` and `prev` around `local_prev`.
    links: Vec<u8>,
    /// `seq`
    sequence: Vec<u8>,
}

impl Pieces {
    pub(crate) fn write(
        &mut self,
        stamped: &Stamped,
        stream_seq: u64,
        local_prev: Option<&Hash>,
        asked: Option<&Asked>,
    ) -> Result<(), serde_json::Error> {
        let draft = &stamped.draft;
        let Pieces { opening, naming, local_prev: local, asked: request, closing, .. } = self;
        for piece in [&mut *opening, naming, local, request, closing] {
            piece.clear();
        }
        opening.extend_from_slice(b"{\"actor\":");
        serde_json::to_writer(&mut *opening, &draft.actor)?;
        field(opening, "at", &stamped.at)?;
        field(opening, "body", &Body(&draft.event))?;
        optional_field(opening, "causation", draft.causation.as_ref())?;
        optional_field(opening, "correlation", draft.correlation.as_ref())?;
        optional_field(opening, "door", stamped.door.as_ref())?;
        field(naming, "id", &stamped.id)?;
        field(naming, "kind", draft.event.kind().as_str())?;
        if let Some(hash) = local_prev {
            hash_field(local, "local_prev", hash);
        }
        match asked {
            Some(Asked::Signed(signature)) => field(request, "proof", signature)?,
            Some(Asked::Unsigned(unsigned)) => field(request, "request", unsigned)?,
            None => {}
        }
        field(closing, "stream", &draft.stream)?;
        field(closing, "stream_seq", &stream_seq)?;
        optional_field(closing, "workspace", draft.workspace.as_ref())?;
        closing.push(b'}');
        Ok(())
    }

    /// The local hash.
    pub(crate) fn local_hash(&self) -> Hash {
        let Pieces { opening, naming, local_prev, asked, closing, .. } = self;
        Hash::of(Domain::Local, &[opening, naming, local_prev, asked, closing])
    }

    /// Finishes the line: computes the global hash and appends everything to `line`.
    pub(crate) fn finish(
        &mut self,
        seq: u64,
        prev: Option<&Hash>,
        local_hash: Option<&Hash>,
        line: &mut Vec<u8>,
    ) -> Hash {
        self.links.clear();
        if let Some(hash) = local_hash {
            hash_field(&mut self.links, "local_hash", hash);
        }
        self.links.extend_from_slice(&self.local_prev);
        if let Some(hash) = prev {
            hash_field(&mut self.links, "prev", hash);
        }
        self.sequence.clear();
        self.sequence.extend_from_slice(b",\"seq\":");
        // Writing a number to a buffer in memory cannot fail.
        let _ = serde_json::to_writer(&mut self.sequence, &seq);
        let Pieces { opening, naming, asked, closing, links, sequence, .. } = &*self;
        let covered: [&[u8]; 6] = [opening, naming, links, asked, sequence, closing];
        let hash = Hash::of(Domain::Global, &covered);
        line.extend_from_slice(opening);
        hash_field(line, "hash", &hash);
        for piece in &covered[1..] {
            line.extend_from_slice(piece);
        }
        hash
    }
}

fn field<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    name: &str,
    value: &T,
) -> Result<(), serde_json::Error> {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    serde_json::to_writer(out, value)
}

fn optional_field<T: Serialize>(
    out: &mut Vec<u8>,
    name: &str,
    value: Option<&T>,
) -> Result<(), serde_json::Error> {
    value.map_or(Ok(()), |value| field(out, name, value))
}

fn hash_field(out: &mut Vec<u8>, name: &str, hash: &Hash) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":\"");
    out.extend_from_slice(&hash.hex());
    out.push(b'"');
}
