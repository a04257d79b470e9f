//! The storage lifecycle of the trail: which entries may leave the store, and when.
//!
//! Entries of live workspaces and of the project itself are hot; those of ended workspaces are
//! warm; those moved to an archive are cold. Nothing here moves data: the runtime writes archives
//! and reports them with `trail.compact`, and the kernel checks that only warm entries are moved,
//! and once. Deleting an archive, after its retention period and on a principal's request, is
//! recorded too.

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

/// Whether an entry may be moved to an archive. The list is closed: other entries record outcomes
/// and stay in the store.
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
    /// All archives ever written, by number.
    pub fn archives(&self) -> impl Iterator<Item = (Number, &Archive)> {
        self.shelves.archives.iter().map(|(number, archive)| (*number, archive))
    }

    /// An archive by its number.
    pub fn archive(&self, number: Number) -> Option<&Archive> {
        self.shelves.archives.get(&number)
    }

    /// The replay base, if archives were deleted.
    pub fn replay_base(&self) -> Option<&ReplayBase> {
        self.shelves.replay_base.as_ref()
    }

    /// The ended workspaces that have not been compacted, each with the time it ended, oldest
    /// first.
    pub fn warm(&self) -> impl Iterator<Item = (Timestamp, &WorkspaceId)> {
        self.warm.iter().map(|(since, id)| (*since, id))
    }

    /// Whether a workspace has been compacted.
    pub fn is_compacted(&self, id: &WorkspaceId) -> bool {
        self.shelves.compacted.contains(id)
    }

    /// The storage tier of a workspace's entries that are still in the store. A session that is not
    /// open has ended.
    pub fn tier_of(&self, id: Option<&WorkspaceId>) -> Tier {
        let Some(id) = id else { return Tier::Hot };
        let open = match self.workspaces.get(id) {
            Some(known) => !known.status.is_terminal(),
            None => self.sessions.contains_key(id),
        };
        if open { Tier::Hot } else { Tier::Warm }
    }

    /// The number of the next archive.
    pub fn next_archive(&self) -> Number {
        self.shelves.archives.get_max().map_or(Number(1), |(number, _)| number.next())
    }

    /// Records that a workspace has ended, which makes its entries warm.
    pub(crate) fn note_warm(&mut self, id: &WorkspaceId, since: Timestamp) {
        if !self.is_compacted(id) {
            self.warm.insert((since, id.clone()));
        }
    }
}

/// Whether a workspace's entries can be moved: it has ended and has not been compacted.
pub(crate) fn is_warm(state: &State, id: &WorkspaceId) -> bool {
    let ended = state.workspaces.get(id).is_some_and(|known| known.status.is_terminal());
    ended && !state.is_compacted(id)
}

/// Whether an archive number and hash are valid: those of a new archive, or of the newest one, of
/// which further workspaces are recorded.
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
            let message = format!("workspace {workspace} has not ended, or was already compacted");
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

/// Whether the retention period of an archive is over.
fn is_past(archive: &Archive, retention: Span, now: Timestamp) -> bool {
    archive.since.after(retention) <= now
}

/// Whether a principal may delete archives: a person with the permission, or the coordinator if
/// there are no users.
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

/// Whether a principal may replace the trail by an older copy, which loses later entries: a person
/// with the permission to delete history, or anybody if there are no users.
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
    // The runtime issues the command; `asked_by` names the principal whose permission counts.
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
        // Replay has to start after everything that is deleted.
        let gone = archive.pruned.is_some() || archive.range.to > body.floor_seq;
        if gone || !is_past(archive, retention, entry.at) {
            return Err(ApplyError::Mismatch("the archive"));
        }
        archive.pruned = Some(entry.at);
    }
    let base = ReplayBase { seq: body.floor_seq, hash: body.floor_hash.clone() };
    if state.replay_base().is_some_and(|before| before.seq > base.seq) {
        return Err(ApplyError::Mismatch("the replay base"));
    }
    state.shelves.replay_base = Some(base);
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
