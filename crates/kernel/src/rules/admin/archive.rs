//! The trail's storage lifecycle, as far as rules go: what may leave the store, and when.
//!
//! Entries of workspaces that go on, and of the project itself, are hot; those of workspaces that
//! ended are warm; those that were moved to an archive are cold. Nothing here moves a byte: the
//! runtime writes archives and says so with `trail.compact`, and the kernel sees to it that only
//! what is warm is moved, and once. Deleting an archive, after its retention and on somebody's
//! word, is on record too.

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::Permission;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{Record, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::kind::Kind;
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::values::content::Blob;
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Principal};
use crate::values::time::{Span, Timestamp};

pub use crate::model::admin::archive::*;

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

pub(crate) fn decide_compact(
    tx: &mut Transaction<'_>,
    compact: &Compact,
) -> Result<Reply, DecisionError> {
    for moved in &compact.workspaces {
        let Moved { archived, preserved, range, workspace } = moved;
        if !is_warm(tx.state(), workspace) {
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
        tx.note(None, Actor::Protocol, event)?;
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
        Principal::User(user) => capability::may(state, user, Permission::DeleteHistory, None),
        other if !coordinator::is_coordinator(state, other) => denied(Rule::CoordinatorOnly),
        _ if state.users.is_empty() => Ok(()),
        _ => denied(Rule::PersonDecides),
    }
}

/// A trail is replaced by an older one on the word of the same people: what came after is not in
/// it any more.
pub fn may_restore(state: &State, asked_by: Option<&Principal>) -> Result<(), Refusal> {
    match asked_by {
        _ if state.users.is_empty() => Ok(()),
        Some(Principal::User(user)) => {
            capability::may(state, user, Permission::DeleteHistory, None)
        }
        _ => {
            let message = "people have signed up here: one of them has to say that the trail is \
                           replaced by an older one";
            Err(Refusal::denied(Rule::PersonDecides, message))
        }
    }
}

pub(crate) fn decide_prune(
    tx: &mut Transaction<'_>,
    prune: &Prune,
) -> Result<Reply, DecisionError> {
    let state = tx.state();
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
        if !is_past(archive, retention, tx.now()) {
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
    tx.note(None, Actor::Protocol, event)?;
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

pub(crate) fn decide_snapshot(
    tx: &mut Transaction<'_>,
    note: &NoteSnapshot,
) -> Result<Reply, DecisionError> {
    let event = Event::TrailSnapshotCreated(SnapshotCreated {
        entry_count: note.entry_count,
        head_hash: note.head_hash.clone(),
        snapshot_hash: note.snapshot_hash.clone(),
        up_to_entry: note.up_to_entry,
        up_to_timestamp: note.up_to_timestamp,
    });
    tx.note(None, Actor::Protocol, event)?;
    Ok(Reply::Done)
}
