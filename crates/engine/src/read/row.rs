//! Rows: the fields that every entry has, and its body only on demand.
//!
//! Reading an entry in full checks its body against this version's types. Statistics and reports do
//! not need that, must not fail on a name this version does not know, and read millions of entries.
//! So they read each line into a [`Row`], one at a time.

use althing_kernel::{Timestamp, WorkspaceId};
use althing_trail::export::Commits;
use althing_trail::stub::{Stub, Wanted};
use althing_trail::{Commit, LogReader};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::read::workspace_info::WorkspaceDirectory;
use crate::snapshot::world::READ_BYTES;

/// The fields that all entries have.
#[derive(Debug, Deserialize)]
pub struct Row<'a> {
    /// Place in the trail.
    pub seq: u64,
    /// Time of the entry.
    pub at: Timestamp,
    /// The actor.
    #[serde(borrow)]
    pub actor: Cow<'a, str>,
    /// Kind of event; unknown names are allowed.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// The workspace whose local trail it belongs to.
    pub workspace: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "body")]
    body: &'a RawValue,
    /// The line it was read from.
    #[serde(skip)]
    pub line: &'a str,
}

impl<'a> Row<'a> {
    /// Reads the line of an entry.
    pub fn read(line: &'a str) -> Result<Self, EngineError> {
        let row = serde_json::from_str::<Row<'a>>(line);
        let row = row.map_err(|error| EngineError::Damaged { seq: 0, what: error.to_string() })?;
        Ok(Row { line, ..row })
    }

    /// The body of the event.
    pub fn body(&self) -> Value {
        // The line has just been read as JSON.
        serde_json::from_str(self.body.get()).unwrap_or_default()
    }

    /// The whole entry.
    pub fn entry(&self) -> Value {
        serde_json::from_str(self.line).unwrap_or_default()
    }

    /// The user who is the actor, if it is one.
    pub fn person(&self) -> Option<&str> {
        self.actor.strip_prefix("user:")
    }
}

/// The text of a field; `None` if it is missing or no text.
pub(crate) fn text<'v>(body: &'v Value, name: &str) -> Option<&'v str> {
    body.get(name)?.as_str()
}

/// The number of a field; 0 if it is missing or no number.
pub(crate) fn number(body: &Value, name: &str) -> u64 {
    body.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// Commits one after another.
pub(crate) type EachCommit = Box<dyn Iterator<Item = Result<Commit, EngineError>>>;

/// A trail that can be read from its beginning any number of times.
pub enum Source {
    /// The trail of a project.
    Project(Engine),
    /// An exported trail. It is read as it is, without verification.
    File(PathBuf),
}

impl Source {
    /// Its commits, beginning with the one that holds the entry after `after`.
    pub(crate) fn commits(&self, after: u64) -> Result<EachCommit, EngineError> {
        Ok(match self {
            Source::Project(engine) => {
                let log = engine.reader()?;
                Box::new(LogCommits { log, after, ready: Vec::new().into_iter() })
            }
            Source::File(path) => {
                let commits = Commits::new(BufReader::new(open(path)?));
                let name = path.display().to_string();
                let misread = move |error: althing_trail::export::ImportError| {
                    EngineError::Invalid(format!("{name}: {error}"))
                };
                Box::new(commits.map(move |commit| commit.map_err(&misread)))
            }
        })
    }

    /// Visits every entry after a position, in the order of the trail.
    pub fn each(
        &self,
        after: u64,
        see: &mut dyn FnMut(&Row<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        each_of(self.commits(after)?, after, see)
    }

    /// Visits every entry after a position that is not archived. Entries of failures never are.
    pub fn each_kept(
        &self,
        after: u64,
        see: &mut dyn FnMut(&Row<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let Source::Project(engine) = self else { return self.each(after, see) };
        let mut log = engine.reader()?;
        log.narrow(NOTHING_ARCHIVED);
        each_of(Box::new(LogCommits { log, after, ready: Vec::new().into_iter() }), after, see)
    }

    /// Visits the stub of every entry that was deleted with an archive, with its position, in the
    /// order of the trail. Exported trails have none: an export needs all entries.
    pub fn each_deleted(&self, see: &mut dyn FnMut(u64, &Stub)) -> Result<(), EngineError> {
        let Source::Project(engine) = self else { return Ok(()) };
        let world = engine.world()?;
        let gone = world.state.archives().filter(|(_, archive)| archive.pruned.is_some());
        let gone: BTreeMap<_, _> = gone.map(|(number, archive)| (number, archive.range)).collect();
        let first = gone.values().map(|range| range.from).min();
        let last = gone.values().map(|range| range.to).max();
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let mut log = engine.reader()?;
        let mut after = first.saturating_sub(1);
        while after < last {
            let commits = log.raw_tail(after, READ_BYTES)?;
            let Some(end) = commits.last() else { break };
            after = end.last;
            for commit in commits.iter().filter(|commit| commit.has_stubs()) {
                for (seq, line) in (commit.first..).zip(commit.slots()) {
                    let stub = Stub::is_in(line).then(|| Stub::read(line).ok()).flatten();
                    if let Some(stub) = stub.filter(|stub| gone.contains_key(&stub.archive)) {
                        see(seq, &stub);
                    }
                }
            }
        }
        Ok(())
    }

    /// Facts about all workspaces. Earlier owners and groups need a walk through the trail.
    pub fn places(&self, with_history: bool) -> Result<WorkspaceDirectory, EngineError> {
        let mut places = match self {
            Source::Project(engine) => WorkspaceDirectory::of_state(&engine.world()?.state),
            Source::File(_) => WorkspaceDirectory::default(),
        };
        if with_history || matches!(self, Source::File(_)) {
            self.each(0, &mut |row| {
                places.learn(row);
                Ok(())
            })?;
        }
        Ok(places)
    }

    /// A position before the first entry at or after a time, as late as can be found cheaply.
    pub(crate) fn before(&self, time: Timestamp) -> Result<u64, EngineError> {
        match self {
            Source::Project(engine) => {
                let mut log = engine.reader()?;
                // The positions of commits are known without their archived entries.
                log.narrow(NOTHING_ARCHIVED);
                before(&mut *log, time)
            }
            Source::File(_) => Ok(0),
        }
    }
}

/// Filter for readers that need nothing from archives.
const NOTHING_ARCHIVED: Wanted = Wanted {
    after: 0,
    upto: Some(0),
    since: None,
    until: None,
    kinds: Vec::new(),
    workspace: None,
    within: None,
};

fn open(path: &Path) -> Result<File, EngineError> {
    File::open(path).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        EngineError::Invalid(message)
    })
}

/// The commits of a log, read in chunks.
struct LogCommits {
    log: Box<dyn LogReader>,
    after: u64,
    ready: std::vec::IntoIter<Commit>,
}

impl Iterator for LogCommits {
    type Item = Result<Commit, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.as_slice().is_empty() {
            match self.log.tail(self.after, READ_BYTES) {
                Ok(commits) => self.ready = commits.into_iter(),
                Err(error) => return Some(Err(error.into())),
            }
        }
        let commit = self.ready.next()?;
        self.after = commit.last;
        Some(Ok(commit))
    }
}

/// A position before the first entry at or after a time, in the same commit or right before it.
/// Times only grow, so this is a binary search.
pub(crate) fn before(log: &mut dyn LogReader, time: Timestamp) -> Result<u64, EngineError> {
    let (mut low, mut high) = (0, log.position()?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let Some(commit) = log.commit_of(middle)? else { break };
        let Some(last) = commit.entries().last() else { break };
        if Row::read(last)?.at < time {
            low = commit.last.max(middle);
        } else if commit.first > low + 1 {
            high = commit.first - 1;
        } else {
            // The entry is in this commit, or the position right before it.
            break;
        }
    }
    Ok(low)
}

/// The part of a trail that a viewer may read: all of it, or the entries of some workspaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope(pub Option<BTreeSet<WorkspaceId>>);

impl Scope {
    /// Whether an entry is in the scope.
    pub fn has(&self, row: &Row<'_>) -> bool {
        let Some(within) = &self.0 else { return true };
        let own = row.workspace.as_deref().and_then(|id| WorkspaceId::new(id).ok());
        own.is_some_and(|own| within.contains(&own))
    }
}

fn each_of(
    commits: EachCommit,
    after: u64,
    see: &mut dyn FnMut(&Row<'_>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    for commit in commits {
        let commit = commit?;
        for line in commit.entries() {
            let row = Row::read(line)?;
            if row.seq > after {
                see(&row)?;
            }
        }
    }
    Ok(())
}
