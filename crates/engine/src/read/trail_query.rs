//! Queries of the trail: entries by place, time, kind, actor and more.

use althing_kernel::token::RoleName;
use althing_kernel::workspace::Party;
use althing_kernel::{Actor, Blob, Kind, Timestamp, WorkspaceId};
use althing_trail::stub::{Stub, Wanted};
use althing_trail::{Entry, LogReader};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

use crate::error::EngineError;
use crate::read::field::FieldTest;
use crate::read::row::{Row, Scope, before};
use crate::read::workspace_info::WorkspaceDirectory;
use crate::snapshot::world::READ_BYTES;

/// Most entries in one answer.
pub const ENTRIES_MAX: usize = 10_000;
const ENTRIES_DEFAULT: usize = 100;

/// Filter for entries. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrailQuery {
    /// Only entries after this sequence number.
    pub after: Option<u64>,
    /// Only entries up to this sequence number.
    pub upto: Option<u64>,
    /// Only entries at or after this time, in microseconds since 1970.
    #[schemars(with = "Option<u64>")]
    pub since: Option<Timestamp>,
    /// Only entries before this time, in microseconds since 1970.
    #[schemars(with = "Option<u64>")]
    pub until: Option<Timestamp>,
    /// Only entries of these kinds.
    #[schemars(with = "Vec<String>")]
    pub kinds: Vec<Kind>,
    /// Only entries of this actor (`agent:NAME`, `user:ID`, `system`, `protocol`).
    #[schemars(with = "Option<String>")]
    pub actor: Option<Actor>,
    /// Only entries of this workspace's local trail.
    pub workspace: Option<WorkspaceId>,
    /// Only entries of workspaces with this role.
    pub role: Option<RoleName>,
    /// Only entries of workspaces with this originator: a user, or `system`.
    #[schemars(with = "Option<String>")]
    pub originator: Option<Party>,
    /// Only entries of workspaces with this owner at the time: a user, or `system`.
    #[schemars(with = "Option<String>")]
    pub owner: Option<Party>,
    /// Only entries with these fields.
    pub fields: Vec<FieldTest>,
    /// Only entries whose text contains this, such as the id of a lease.
    pub mentions: Option<String>,
    /// At most this many (default 100, at most 10,000).
    pub limit: Option<usize>,
    /// The last ones instead of the first ones.
    pub last: bool,
    /// Only entries of these workspaces: those the viewer may read.
    #[serde(skip)]
    #[schemars(skip)]
    pub within: Scope,
    /// Facts about workspaces, if the query needs them.
    #[serde(skip)]
    #[schemars(skip)]
    pub places: Option<Arc<WorkspaceDirectory>>,
}

/// An entry that was found, with its line.
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// Its line in the trail.
    pub line: String,
}

impl TrailQuery {
    /// Number of entries wanted.
    pub fn wanted(&self) -> usize {
        self.limit.unwrap_or(ENTRIES_DEFAULT).min(ENTRIES_MAX)
    }

    /// Hash of the query: tells two queries apart without revealing their content.
    pub fn digest(&self) -> String {
        use sha2::Digest as _;
        Blob::from_digest(sha2::Sha256::digest(format!("{self:?}")).into()).to_string()
    }

    /// Whether the answer needs facts about workspaces.
    pub fn needs_workspace_info(&self) -> bool {
        self.role.is_some() || self.originator.is_some() || self.owner.is_some()
    }

    /// Whether an entry matches, apart from its position.
    pub fn fits(&self, row: &Row<'_>) -> bool {
        self.since.is_none_or(|since| row.at >= since)
            && self.until.is_none_or(|until| row.at < until)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == row.kind))
            && self.actor.as_ref().is_none_or(|actor| actor.to_string() == row.actor)
            && self
                .workspace
                .as_ref()
                .is_none_or(|id| row.workspace.as_deref() == Some(id.as_str()))
            && self.within.has(row)
            && self.mentions.as_ref().is_none_or(|text| row.line.contains(text.as_str()))
            && (!self.needs_workspace_info() || self.is_whose(row))
            && (self.fields.is_empty() || self.has_fields(row))
    }

    fn is_whose(&self, row: &Row<'_>) -> bool {
        let Some(places) = &self.places else { return false };
        let place = places.of(row);
        let is = |wanted: &Party, found: Option<&str>| found == Some(wanted.to_string().as_str());
        self.role.as_ref().is_none_or(|role| place.is_some_and(|p| p.role == role.as_str()))
            && self.owner.as_ref().is_none_or(|own| is(own, place.map(|p| p.owner(row.seq))))
            && self.originator.as_ref().is_none_or(|by| is(by, places.originator(row).as_deref()))
    }

    fn has_fields(&self, row: &Row<'_>) -> bool {
        let entry = row.entry();
        self.fields.iter().all(|test| test.holds(&entry))
    }

    /// Updates the facts with an entry that came after the query.
    pub fn keep_up(&mut self, row: &Row<'_>) {
        if let Some(places) = &mut self.places {
            Arc::make_mut(places).learn(row);
        }
    }

    /// Finds entries, in the order of the trail.
    pub fn find(&self, log: &mut dyn LogReader) -> Result<Vec<Found>, EngineError> {
        if self.needs_workspace_info() && self.places.is_none() {
            let what = "a question by role, owner or originator was not made ready";
            return Err(EngineError::Defect(what.to_owned()));
        }
        log.narrow(self.wanted_of_archives());
        let end = log.position()?.min(self.upto.unwrap_or(u64::MAX));
        let since = self.since.map_or(Ok(0), |since| before(log, since))?;
        let from = self.after.unwrap_or(0).max(since);
        if self.last { self.find_last(log, from, end) } else { self.find_first(log, from, end) }
    }

    /// The filter for archived entries.
    fn wanted_of_archives(&self) -> Wanted {
        Wanted {
            after: self.after.unwrap_or(0),
            upto: self.upto,
            since: self.since,
            until: self.until,
            kinds: self.kinds.clone(),
            workspace: self.workspace.clone(),
            within: self.within.0.clone(),
        }
    }

    /// Whether an entry of which only a stub is left may have matched.
    pub(crate) fn may_fit(&self, seq: u64, stub: &Stub) -> bool {
        self.wanted_of_archives().fits(seq, stub)
    }

    fn find_first(
        &self,
        log: &mut dyn LogReader,
        from: u64,
        end: u64,
    ) -> Result<Vec<Found>, EngineError> {
        let mut found = Vec::new();
        let mut after = from;
        while after < end && found.len() < self.wanted() {
            let commits = log.tail(after, READ_BYTES)?;
            let Some(last) = commits.last() else { break };
            after = last.last;
            for line in commits.iter().flat_map(althing_trail::Commit::entries) {
                let row = Row::read(line)?;
                let in_place = row.seq > from && row.seq <= end;
                if in_place && found.len() < self.wanted() && self.fits(&row) {
                    found.push(Found { entry: read(line)?, line: line.to_owned() });
                }
            }
        }
        Ok(found)
    }

    /// Walks backwards, commit by commit, until enough is found.
    fn find_last(
        &self,
        log: &mut dyn LogReader,
        from: u64,
        end: u64,
    ) -> Result<Vec<Found>, EngineError> {
        let mut found = Vec::new();
        let mut upto = end;
        while upto > from && found.len() < self.wanted() {
            let Some(commit) = log.commit_of(upto)? else { break };
            let lines: Vec<&str> = commit.entries().collect();
            for line in lines.into_iter().rev() {
                let row = Row::read(line)?;
                let in_place = row.seq > from && row.seq <= end;
                if in_place && found.len() < self.wanted() && self.fits(&row) {
                    found.push(Found { entry: read(line)?, line: line.to_owned() });
                }
            }
            upto = commit.first.saturating_sub(1);
        }
        found.reverse();
        Ok(found)
    }
}

fn read(line: &str) -> Result<Entry, EngineError> {
    Entry::read(line).map_err(|error| EngineError::Damaged { seq: 0, what: error.to_string() })
}

impl Found {
    /// The line as raw JSON.
    pub fn raw(&self) -> Result<Box<RawValue>, serde_json::Error> {
        RawValue::from_string(self.line.clone())
    }
}
