//! Stubs: the place in the store of an entry that is in an archive.
//!
//! ```text
//! #<archive> <at> <kind> <workspace> <hash> <local hash>
//! ```
//!
//! The hashes are in base64 without padding. The sequence number follows from the line's place in
//! its commit, and the hashes of the previous entries from the lines before it. No entry begins
//! with a `#`, and a line never holds a line break, so the first character identifies a stub.

use althing_kernel::archive::Number;
use althing_kernel::{Kind, Timestamp, WorkspaceId};
use data_encoding::BASE64_NOPAD;

use crate::entry::Entry;
use crate::hash::Hash;
use crate::line::Line;

const MARK: char = '#';

/// The remainder of an archived entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Archive that holds the entry.
    pub archive: Number,
    /// Time of the entry.
    pub at: Timestamp,
    /// Its kind.
    pub kind: Kind,
    /// The workspace whose local trail it is in.
    pub workspace: WorkspaceId,
    /// Its hash in the trail.
    pub hash: Hash,
    /// Its hash in its local trail.
    pub local_hash: Hash,
}

/// Error for a line that begins like a stub and is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is neither an entry nor what is left of an archived one")]
pub struct StubError;

impl Stub {
    /// The stub for an entry; `None` unless the entry belongs to a workspace and its own stream.
    pub fn of(archive: Number, entry: &Entry) -> Option<Self> {
        let draft = &entry.stamped.draft;
        let (workspace, local) = (draft.workspace.clone()?, entry.local?);
        let own_stream = draft.stream == althing_kernel::Stream::workspace(&workspace);
        own_stream.then(|| Stub {
            archive,
            at: entry.stamped.at,
            kind: draft.event.kind(),
            workspace,
            hash: entry.hash,
            local_hash: local.hash,
        })
    }

    /// The stub for the entry in a line, without looking at its body.
    pub fn of_line(archive: Number, line: &str) -> Result<Option<Self>, serde_json::Error> {
        let line = Line::read(line)?;
        let (Some(workspace), Some(local_hash)) = (line.workspace, line.local_hash) else {
            return Ok(None);
        };
        let own_stream = line.stream == althing_kernel::Stream::workspace(&workspace);
        let (at, kind, hash) = (line.at, line.kind, line.hash);
        Ok(own_stream.then_some(Stub { archive, at, kind, workspace, hash, local_hash }))
    }

    /// Whether a line begins like a stub.
    pub fn is_in(line: &str) -> bool {
        line.starts_with(MARK)
    }

    /// Reads a stub. Each stub has exactly one written form.
    pub fn read(line: &str) -> Result<Self, StubError> {
        let stub = Stub::parse(line).ok_or(StubError)?;
        if stub.to_string() == line { Ok(stub) } else { Err(StubError) }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix(MARK)?.split(' ');
        let hash = |text: &str| -> Option<Hash> {
            let bytes = BASE64_NOPAD.decode(text.as_bytes()).ok()?;
            bytes.try_into().ok().map(Hash::from_bytes)
        };
        let number: u64 = parts.next()?.parse().ok()?;
        let micros: u64 = parts.next()?.parse().ok()?;
        let stub = Stub {
            archive: Number(number),
            at: Timestamp::from_micros(micros.min(Timestamp::MAX.micros())),
            kind: parts.next()?.parse().ok()?,
            workspace: WorkspaceId::new(parts.next()?).ok()?,
            hash: hash(parts.next()?)?,
            local_hash: hash(parts.next()?)?,
        };
        parts.next().is_none().then_some(stub)
    }
}

impl std::fmt::Display for Stub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Stub { archive, at, kind, workspace, hash, local_hash } = self;
        let hash = BASE64_NOPAD.encode(hash.as_bytes());
        let local = BASE64_NOPAD.encode(local_hash.as_bytes());
        write!(f, "{MARK}{archive} {} {kind} {workspace} {hash} {local}", at.micros())
    }
}

/// A filter over stubs. Archived entries that cannot match are not fetched; the reader skips their
/// stubs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only entries after this one.
    pub after: u64,
    /// Only entries up to this one.
    pub upto: Option<u64>,
    /// Only entries at or after this time.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
    /// Only these kinds; any kind if empty.
    pub kinds: Vec<Kind>,
    /// Only entries of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only entries of these workspaces.
    pub within: Option<std::collections::BTreeSet<WorkspaceId>>,
}

impl Wanted {
    /// Whether an archived entry may match the filter.
    pub fn fits(&self, seq: u64, stub: &Stub) -> bool {
        seq > self.after
            && self.upto.is_none_or(|upto| seq <= upto)
            && self.since.is_none_or(|since| stub.at >= since)
            && self.until.is_none_or(|until| stub.at < until)
            && (self.kinds.is_empty() || self.kinds.contains(&stub.kind))
            && self.workspace.as_ref().is_none_or(|wanted| *wanted == stub.workspace)
            && self.within.as_ref().is_none_or(|within| within.contains(&stub.workspace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_has_one_form() {
        let hash = Hash::plain(&[b"x"]);
        let stub = Stub {
            archive: Number(7),
            at: Timestamp::from_micros(1_700_000_000_000_000),
            kind: Kind::EnvelopeDelivered,
            workspace: WorkspaceId::new("ws_1").unwrap(),
            hash,
            local_hash: Hash::plain(&[b"y"]),
        };
        let text = stub.to_string();
        assert_eq!(Stub::read(&text), Ok(stub));
        assert!(Stub::is_in(&text) && !Stub::is_in("{\"actor\":"));
        for at in 0..text.len() {
            for other in [b'0', b'A', b' ', b'='] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = other;
                let changed = String::from_utf8(bytes).unwrap();
                let same = Stub::read(&changed).map(|read| read.to_string());
                assert!(same.is_err() || same == Ok(changed), "{at}");
            }
        }
        for bad in [format!("{text} "), text.replace("#7", "#07"), format!("{text}A"), "#".into()] {
            assert_eq!(Stub::read(&bad), Err(StubError), "{bad}");
        }
    }
}
