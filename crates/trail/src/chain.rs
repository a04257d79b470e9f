//! The chains: the hashes the next entry links to, and the only place where entries are made.

use althing_kernel::{Event, ProjectId, Stamped, Stream, WorkspaceId};
use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::commit::Commit;
use crate::entry::{Entry, Pieces};
use crate::hash::Hash;
use crate::head::{Head, SignedHead};
use crate::key::SecretKey;
use crate::request::Asked;
use crate::stub::Stub;
use crate::tree::Frontier;

/// The end of the trail: last hashes of its chains and the tree over it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    project: Option<ProjectId>,
    last: Option<Hash>,
    last_commit: Option<Hash>,
    frontier: Frontier,
    locals: OrdMap<WorkspaceId, Hash>,
    streams: OrdMap<Stream, u64>,
}

/// Reasons why an entry does not continue the chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// Not the next sequence number.
    #[error("its sequence number is {found}, where {expected} comes next")]
    Sequence {
        /// Sequence number that comes next.
        expected: u64,
        /// Sequence number the entry claims.
        found: u64,
    },
    /// Links to another entry than the one before it.
    #[error("its `prev` is not the hash of the entry before it")]
    Prev,
    /// Links to another entry of its workspace than the one before it.
    #[error("its `local_prev` is not the local hash of the entry before it in its workspace")]
    LocalPrev,
    /// Not the next sequence number of its stream.
    #[error("its place in its stream is {found}, where {expected} comes next")]
    StreamSequence {
        /// Sequence number that comes next.
        expected: u64,
        /// Sequence number the entry claims.
        found: u64,
    },
}

impl Chain {
    /// Number of entries.
    pub fn seq(&self) -> u64 {
        self.frontier.size()
    }

    /// The tree over the trail.
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// The hash of the last commit.
    pub fn last_commit(&self) -> Option<&Hash> {
        self.last_commit.as_ref()
    }

    /// The project, once its first entry is there.
    pub fn project(&self) -> Option<&ProjectId> {
        self.project.as_ref()
    }

    /// The head of a commit that ends here; `None` before there is a project.
    pub fn head(&self) -> Option<Head> {
        Some(Head {
            project: self.project.clone()?,
            size: self.seq(),
            root: self.frontier.root(),
            prev: self.last_commit,
        })
    }

    /// Checks that an entry claims the next place. Compares only; does not hash.
    pub fn expects(&self, entry: &Entry) -> Result<(), Misplaced> {
        let draft = &entry.stamped.draft;
        if entry.seq != self.seq() + 1 {
            return Err(Misplaced::Sequence { expected: self.seq() + 1, found: entry.seq });
        }
        if entry.prev != self.last {
            return Err(Misplaced::Prev);
        }
        let local_prev = draft.workspace.as_ref().and_then(|id| self.locals.get(id)).copied();
        if entry.local.is_some_and(|link| link.prev != local_prev) {
            return Err(Misplaced::LocalPrev);
        }
        let expected = self.next_in(&draft.stream);
        if entry.stream_seq != expected {
            return Err(Misplaced::StreamSequence { expected, found: entry.stream_seq });
        }
        Ok(())
    }

    /// Adds an entry as it was read, trusting its hashes. Used by replay.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), Misplaced> {
        self.expects(entry)?;
        let local = entry.local.map(|link| link.hash);
        self.advance(&entry.stamped, &entry.hash, local, entry.stream_seq);
        Ok(())
    }

    /// Adds the text of a commit's signed head.
    pub fn close(&mut self, head: &str) {
        self.last_commit = Some(SignedHead::hash_of(head));
    }

    fn next_in(&self, stream: &Stream) -> u64 {
        self.streams.get(stream).copied().unwrap_or_default() + 1
    }

    fn advance(&mut self, stamped: &Stamped, hash: &Hash, local: Option<Hash>, stream_seq: u64) {
        if let Event::ProjectCreated(created) = &stamped.draft.event {
            self.project = Some(created.project.clone());
        }
        if let (Some(workspace), Some(local)) = (&stamped.draft.workspace, local) {
            match self.locals.get_mut(workspace) {
                Some(known) => *known = local,
                None => drop(self.locals.insert(workspace.clone(), local)),
            }
        }
        match self.streams.get_mut(&stamped.draft.stream) {
            Some(known) => *known = stream_seq,
            None => drop(self.streams.insert(stamped.draft.stream.clone(), stream_seq)),
        }
        self.frontier.push(hash);
        self.last = Some(*hash);
    }

    /// Adds an entry of which only the stub is left.
    fn pass(&mut self, stub: &Stub) {
        let stream = Stream::workspace(&stub.workspace);
        let next = self.next_in(&stream);
        self.locals.insert(stub.workspace.clone(), stub.local_hash);
        self.streams.insert(stream, next);
        self.frontier.push(&stub.hash);
        self.last = Some(stub.hash);
    }

    /// Makes the next entry: hashes it into both chains and appends its line to `line`.
    fn seal(
        &mut self,
        pieces: &mut Pieces,
        stamped: &Stamped,
        asked: Option<&Asked>,
        line: &mut Vec<u8>,
    ) -> Result<Hash, serde_json::Error> {
        let workspace = stamped.draft.workspace.as_ref();
        let local_prev = workspace.and_then(|id| self.locals.get(id));
        let stream_seq = self.next_in(&stamped.draft.stream);
        pieces.write(stamped, stream_seq, local_prev, asked)?;
        let local = workspace.map(|_| pieces.local_hash());
        let hash = pieces.finish(self.seq() + 1, self.last.as_ref(), local.as_ref(), line);
        self.advance(stamped, &hash, local, stream_seq);
        Ok(hash)
    }
}

/// A chain as plain lists, for snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainImage {
    project: Option<ProjectId>,
    last: Option<Hash>,
    last_commit: Option<Hash>,
    frontier: Frontier,
    locals: Vec<(WorkspaceId, Hash)>,
    streams: Vec<(Stream, u64)>,
}

impl Chain {
    /// The chain as plain lists.
    pub fn image(&self) -> ChainImage {
        ChainImage {
            project: self.project.clone(),
            last: self.last,
            last_commit: self.last_commit,
            frontier: self.frontier.clone(),
            locals: self.locals.iter().map(|(id, hash)| (id.clone(), *hash)).collect(),
            streams: self.streams.iter().map(|(id, seq)| (id.clone(), *seq)).collect(),
        }
    }

    /// Restores a chain from an image; `None` if the image is inconsistent.
    pub fn from_image(image: ChainImage) -> Option<Self> {
        image.frontier.is_sound().then(|| Chain {
            project: image.project,
            last: image.last,
            last_commit: image.last_commit,
            frontier: image.frontier,
            locals: image.locals.into_iter().collect(),
            streams: image.streams.into_iter().collect(),
        })
    }
}

/// A commit being built, on its own copy of the chain.
pub struct Builder {
    chain: Chain,
    first: u64,
    pieces: Pieces,
    lines: Vec<u8>,
    hashes: Vec<Hash>,
}

/// Reasons why a commit could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An entry could not be written as JSON.
    #[error("an entry cannot be written")]
    Write(#[from] serde_json::Error),
    /// There is nothing to commit, or no project to commit it to.
    #[error("a commit needs at least one entry, and a project")]
    Empty,
    /// The written entries are not UTF-8.
    #[error("an entry is not text")]
    Text(#[from] std::string::FromUtf8Error),
}

impl Builder {
    /// Begins a commit after the chain's last entry.
    pub fn begin(chain: Chain) -> Self {
        let first = chain.seq() + 1;
        let (pieces, lines, hashes) = (Pieces::default(), Vec::new(), Vec::new());
        Builder { chain, first, pieces, lines, hashes }
    }

    /// Adds an entry.
    pub fn add(
        &mut self,
        stamped: &Stamped,
        asked: Option<&Asked>,
    ) -> Result<(), serde_json::Error> {
        if !self.lines.is_empty() {
            self.lines.push(b'\n');
        }
        let from = self.lines.len();
        let hash = self.chain.seal(&mut self.pieces, stamped, asked, &mut self.lines)?;
        // Every type that is accepted as input promises that its text can be read again; a trail
        // with an unreadable entry is lost. The simulation and every test check it here.
        debug_assert!(can_be_read(&self.lines[from..]), "{stamped:?} cannot be read again");
        self.hashes.push(hash);
        Ok(())
    }

    /// Moves past an entry of which only the stub is left. Only verification uses this; nothing can
    /// be committed afterwards.
    pub(crate) fn skip(&mut self, stub: &Stub) {
        self.chain.pass(stub);
        self.hashes.push(stub.hash);
    }

    /// The chain including the entries so far.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Size of the entries so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.len()
    }

    /// The chain and the hashes of the added entries, for a commit that is not to be stored.
    pub(crate) fn into_parts(self) -> (Chain, Vec<Hash>) {
        (self.chain, self.hashes)
    }

    /// The line of the entry that was added last.
    pub fn last_line(&self) -> &[u8] {
        self.lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// Signs the head and finishes the commit.
    pub fn finish(mut self, key: &SecretKey) -> Result<(Commit, Chain), BuildError> {
        if self.lines.is_empty() {
            return Err(BuildError::Empty);
        }
        let head = self.chain.head().ok_or(BuildError::Empty)?.sign(key);
        self.chain.close(head.text());
        let commit = Commit {
            first: self.first,
            last: self.chain.seq(),
            lines: String::from_utf8(self.lines)?,
            head: head.text().to_owned(),
            hashes: self.hashes,
        };
        Ok((commit, self.chain))
    }
}

fn can_be_read(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| Entry::read(line).is_ok())
}
