//! The trail's storage lifecycle, as far as rules go: what may leave the store, and when.
//!
//! Entries of workspaces that go on, and of the project itself, are hot; those of workspaces that
//! ended are warm; those that were moved to an archive are cold. Nothing here moves a byte: the
//! runtime writes archives and says so with `trail.compact`, and the kernel sees to it that only
//! what is warm is moved, and once. Deleting an archive, after its retention and on somebody's
//! word, is on record too.

use serde::{Deserialize, Serialize};

use crate::capability::{self, Deed};
use crate::content::Blob;
use crate::event::{Event, Kind, Stamped};
use crate::id::WorkspaceId;
use crate::principal::{Actor, Principal};
use crate::refusal::{Record, Refusal};
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::{Span, Timestamp, exact_integer};
use crate::turn::{Halt, Reply, Turn};
use crate::workspace;

/// How near entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// In the store, of a workspace that goes on or of the project itself.
    Hot,
    /// In the store, of a workspace that has ended.
    Warm,
    /// In an archive; a stub is left in the store.
    Cold,
}

/// Whether an entry may be moved to an archive. This list is closed: what is not on it tells what
/// became of something, and stays in the store.
pub fn is_archivable(event: &Event) -> bool {
    match event {
        Event::WorkspaceStateChanged(body) => !body.to_state.is_terminal(),
        other => may_be_archivable(other.kind()),
    }
}

/// Whether entries of a kind may be moved to an archive at all.
pub fn may_be_archivable(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::WorkspaceStateChanged
            | Kind::EnvelopeDelivered
            | Kind::SignalDelivered
            | Kind::BudgetWarning
            | Kind::LivenessWarning
            | Kind::PriorityChanged
            | Kind::VisibilityGranted
    )
}

/// The number of an archive, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(#[serde(deserialize_with = "exact_integer")] pub u64);

impl Number {
    fn next(self) -> Self {
        Number(self.0 + 1)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// From which entry to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first entry.
    #[serde(deserialize_with = "exact_integer")]
    pub from: u64,
    /// The last entry.
    #[serde(deserialize_with = "exact_integer")]
    pub to: u64,
}

/// What was moved of one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// How many entries were moved.
    pub archived: u64,
    /// How many stay in the store.
    pub preserved: u64,
    /// The first and the last entry that was moved, if any was.
    pub range: Option<Range>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `trail.compact`: notes that an archive was written, read back and found whole, so that the
/// store may let go of what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// The number of the archive; none if nothing had to be moved.
    pub archive: Option<Number>,
    /// The hash of its manifest, which names the hashes of everything in it.
    pub hash: Option<Blob>,
    /// What was moved, by workspace.
    pub workspaces: Vec<Moved>,
}

/// `trail_compacted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// The number of the archive; none if nothing had to be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Number>,
    /// The hash of the archive's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_hash: Option<Blob>,
    /// The first and the last entry of this workspace in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_range: Option<Range>,
    /// How many entries of this workspace are in it.
    #[serde(deserialize_with = "exact_integer")]
    pub entries_archived: u64,
    /// How many entries of this workspace stayed in the store.
    #[serde(deserialize_with = "exact_integer")]
    pub entries_preserved: u64,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `trail.prune`: notes that archives are deleted, and what replay begins with from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The archives.
    pub archives: Vec<Number>,
    /// On whose word.
    pub asked_by: Principal,
    /// The hash of the floor: the state after `floor_seq` entries, from where replay goes on.
    pub floor_hash: Blob,
    /// How many entries led to the floor.
    pub floor_seq: u64,
    /// How long archives have to be kept here, in seconds.
    pub retention_s: u64,
}

/// `trail.pruned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruned {
    /// The archives that are deleted.
    pub archives: Vec<Number>,
    /// On whose word.
    pub asked_by: Principal,
    /// How many entries are gone with them.
    #[serde(deserialize_with = "exact_integer")]
    pub entries: u64,
    /// The hash of the floor.
    pub floor_hash: Blob,
    /// How many entries led to the floor.
    #[serde(deserialize_with = "exact_integer")]
    pub floor_seq: u64,
    /// How long archives had to be kept, in seconds.
    #[serde(deserialize_with = "exact_integer")]
    pub retention_s: u64,
}

/// `trail.snapshot`: notes that a copy of the trail was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteSnapshot {
    /// How many entries it holds.
    pub entry_count: u64,
    /// The hash of its last entry.
    pub head_hash: Text<80>,
    /// The hash of the file.
    pub snapshot_hash: Blob,
    /// The last entry it holds.
    pub up_to_entry: u64,
    /// When that one happened.
    pub up_to_timestamp: Timestamp,
}

/// `trail_snapshot_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreated {
    /// How many entries it holds.
    #[serde(deserialize_with = "exact_integer")]
    pub entry_count: u64,
    /// The hash of its last entry.
    pub head_hash: Text<80>,
    /// The hash of the file.
    pub snapshot_hash: Blob,
    /// The last entry it holds.
    #[serde(deserialize_with = "exact_integer")]
    pub up_to_entry: u64,
    /// When that one happened.
    pub up_to_timestamp: Timestamp,
}

/// What is known of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The hash of its manifest.
    pub hash: Blob,
    /// How many entries are in it, as far as is on record.
    pub entries: u64,
    /// How many workspaces they are of.
    pub workspaces: u64,
    /// The first and the last of them.
    pub range: Range,
    /// Since when it is on record.
    pub since: Timestamp,
    /// Since when it is deleted.
    pub pruned: Option<Timestamp>,
}

/// Where replay begins once archives are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// How many entries led there.
    pub seq: u64,
    /// The hash of what it holds.
    pub hash: Blob,
}

/// What the state remembers of the trail's storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shelves {
    /// The archives there ever were, by their numbers.
    #[serde(with = "crate::ordered::map")]
    pub(crate) archives: imbl::OrdMap<Number, Archive>,
    /// The workspaces whose entries were looked through.
    #[serde(with = "crate::ordered::set")]
    pub(crate) compacted: imbl::OrdSet<WorkspaceId>,
    /// Where replay begins.
    pub(crate) floor: Option<Floor>,
}

impl State {
    /// The archives there ever were, by their numbers.
    pub fn archives(&self) -> impl Iterator<Item = (Number, &Archive)> {
        self.shelves.archives.iter().map(|(number, archive)| (*number, archive))
    }

    /// An archive by its number.
    pub fn archive(&self, number: Number) -> Option<&Archive> {
        self.shelves.archives.get(&number)
    }

    /// Where replay begins, once archives are deleted.
    pub fn floor(&self) -> Option<&Floor> {
        self.shelves.floor.as_ref()
    }

    /// The workspaces that ended and were not looked through for archiving, and since when, the
    /// longest first.
    pub fn warm(&self) -> impl Iterator<Item = (Timestamp, &WorkspaceId)> {
        self.warm.iter().map(|(since, id)| (*since, id))
    }

    /// Whether a workspace's entries were looked through for archiving.
    pub fn is_compacted(&self, id: &WorkspaceId) -> bool {
        self.shelves.compacted.contains(id)
    }

    /// How near the entries of a workspace are that are still in the store. A session that is not
    /// open has ended.
    pub fn tier_of(&self, id: Option<&WorkspaceId>) -> Tier {
        let Some(id) = id else { return Tier::Hot };
        let open = match self.workspaces.get(id) {
            Some(known) => !known.status.is_terminal(),
            None => self.sessions.contains_key(id),
        };
        if open { Tier::Hot } else { Tier::Warm }
    }

    /// The number the next archive gets.
    pub fn next_archive(&self) -> Number {
        self.shelves.archives.get_max().map_or(Number(1), |(number, _)| number.next())
    }

    /// A workspace has ended: its entries are warm from now on.
    pub(crate) fn note_warm(&mut self, id: &WorkspaceId, since: Timestamp) {
        if !self.is_compacted(id) {
            self.warm.insert((since, id.clone()));
        }
    }
}

/// Whether a workspace's entries can be moved: it has ended, and they were not looked through yet.
pub(crate) fn is_warm(state: &State, id: &WorkspaceId) -> bool {
    let ended = state.workspaces.get(id).is_some_and(|known| known.status.is_terminal());
    ended && !state.is_compacted(id)
}

/// Whether an archive can be the one whose number and hash these are: a new one, or the newest,
/// of which more is told.
fn fits(state: &State, archive: Number, hash: &Blob) -> bool {
    let known = state.archive(archive);
    let same = known.is_some_and(|known| known.hash == *hash && known.pruned.is_none());
    let newest = archive.next() == state.next_archive();
    if known.is_some() { same && newest } else { archive == state.next_archive() }
}

pub(crate) fn decide_compact(turn: &mut Turn<'_>, compact: &Compact) -> Result<Reply, Halt> {
    for moved in &compact.workspaces {
        let Moved { archived, preserved, range, workspace } = moved;
        if !is_warm(turn.state(), workspace) {
            let message = format!("workspace {workspace} goes on, or was compacted already");
            return Err(Refusal::denied(Rule::WarmOnly, message).into());
        }
        let moves = *archived > 0;
        let event = Event::TrailCompacted(Compacted {
            archive: compact.archive.filter(|_| moves),
            archive_hash: compact.hash.clone().filter(|_| moves),
            archive_range: range.filter(|_| moves),
            entries_archived: *archived,
            entries_preserved: *preserved,
            workspace: workspace.clone(),
        });
        turn.note(None, Actor::Protocol, event)?;
    }
    Ok(Reply::Done)
}

pub(crate) fn apply_compacted(
    state: &mut State,
    entry: &Stamped,
    body: &Compacted,
) -> Result<(), ApplyError> {
    if !is_warm(state, &body.workspace) {
        return Err(ApplyError::Mismatch("the state of the workspace"));
    }
    match (body.archive, &body.archive_hash, body.archive_range) {
        (None, None, None) if body.entries_archived == 0 => {}
        (Some(number), Some(hash), Some(range)) if body.entries_archived > 0 => {
            if range.from > range.to || !fits(state, number, hash) {
                return Err(ApplyError::Mismatch("the archive"));
            }
            let fresh = || Archive {
                hash: hash.clone(),
                entries: 0,
                workspaces: 0,
                range,
                since: entry.at,
                pruned: None,
            };
            let known = state.shelves.archives.get(&number).cloned();
            let mut archive = known.unwrap_or_else(fresh);
            archive.entries += body.entries_archived;
            archive.workspaces += 1;
            archive.range.from = archive.range.from.min(range.from);
            archive.range.to = archive.range.to.max(range.to);
            state.shelves.archives.insert(number, archive);
        }
        _ => return Err(ApplyError::Mismatch("the archive")),
    }
    let ended = state.workspaces.get(&body.workspace).map(|known| known.since);
    if let Some(since) = ended {
        state.warm.remove(&(since, body.workspace.clone()));
    }
    state.shelves.compacted.insert(body.workspace.clone());
    Ok(())
}

/// Whether an archive was kept for as long as it had to be.
fn is_past(archive: &Archive, retention: Span, now: Timestamp) -> bool {
    archive.since.after(retention) <= now
}

/// Archives are deleted by a person who may say who takes part. Where nobody has signed up the
/// coordinator does it.
pub(crate) fn may_prune(state: &State, asked_by: &Principal) -> Result<(), Refusal> {
    let denied = |rule| {
        let message = format!("{asked_by} may not delete archives");
        Err(Refusal::denied(rule, message))
    };
    match asked_by {
        Principal::User(user) => capability::may(state, user, Deed::DeleteHistory, None),
        other if !workspace::is_coordinator(state, other) => denied(Rule::CoordinatorOnly),
        _ if state.users.is_empty() => Ok(()),
        _ => denied(Rule::PersonDecides),
    }
}

/// A trail is replaced by an older one on the word of the same people: what came after is not in
/// it any more.
pub fn may_restore(state: &State, asked_by: Option<&Principal>) -> Result<(), Refusal> {
    match asked_by {
        _ if state.users.is_empty() => Ok(()),
        Some(Principal::User(user)) => capability::may(state, user, Deed::DeleteHistory, None),
        _ => {
            let message = "people have signed up here: one of them has to say that the trail is \
                           replaced by an older one";
            Err(Refusal::denied(Rule::PersonDecides, message))
        }
    }
}

pub(crate) fn decide_prune(turn: &mut Turn<'_>, prune: &Prune) -> Result<Reply, Halt> {
    let state = turn.state();
    // The runtime asks; whose word it is, is in the message.
    may_prune(state, &prune.asked_by).map_err(|no| no.recorded(Record::Command))?;
    let retention = Span::from_secs(prune.retention_s);
    let mut entries = 0;
    for number in &prune.archives {
        let archive = state.archive(*number).filter(|archive| archive.pruned.is_none());
        let Some(archive) = archive else {
            let message = format!("there is no archive {number}");
            return Err(Refusal::not_found(Rule::ReferenceKnown, message).into());
        };
        if !is_past(archive, retention, turn.now()) {
            let message = format!("archive {number} has to be kept longer");
            return Err(Refusal::denied(Rule::Retention, message).into());
        }
        entries += archive.entries;
    }
    let event = Event::TrailPruned(Pruned {
        archives: prune.archives.clone(),
        asked_by: prune.asked_by.clone(),
        entries,
        floor_hash: prune.floor_hash.clone(),
        floor_seq: prune.floor_seq,
        retention_s: prune.retention_s,
    });
    turn.note(None, Actor::Protocol, event)?;
    Ok(Reply::Done)
}

pub(crate) fn apply_pruned(
    state: &mut State,
    entry: &Stamped,
    body: &Pruned,
) -> Result<(), ApplyError> {
    let retention = Span::from_secs(body.retention_s);
    for number in &body.archives {
        let known = state.shelves.archives.get_mut(number);
        let archive = known.ok_or(ApplyError::Unknown("the archive"))?;
        // Replay has to begin behind everything that is gone.
        let gone = archive.pruned.is_some() || archive.range.to > body.floor_seq;
        if gone || !is_past(archive, retention, entry.at) {
            return Err(ApplyError::Mismatch("the archive"));
        }
        archive.pruned = Some(entry.at);
    }
    let floor = Floor { seq: body.floor_seq, hash: body.floor_hash.clone() };
    if state.floor().is_some_and(|before| before.seq > floor.seq) {
        return Err(ApplyError::Mismatch("the floor"));
    }
    state.shelves.floor = Some(floor);
    Ok(())
}

pub(crate) fn decide_snapshot(turn: &mut Turn<'_>, note: &NoteSnapshot) -> Result<Reply, Halt> {
    let event = Event::TrailSnapshotCreated(SnapshotCreated {
        entry_count: note.entry_count,
        head_hash: note.head_hash.clone(),
        snapshot_hash: note.snapshot_hash.clone(),
        up_to_entry: note.up_to_entry,
        up_to_timestamp: note.up_to_timestamp,
    });
    turn.note(None, Actor::Protocol, event)?;
    Ok(Reply::Done)
}
