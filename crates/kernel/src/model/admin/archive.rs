//! Archives of old entries: compaction, pruning, snapshots, and the record the state keeps of them.

use serde::Deserialize;
use serde::Serialize;

use crate::values::content::Blob;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The storage tier of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// In the store; the workspace is still active, or the entries belong to the project itself.
    Hot,
    /// In the store; the workspace has ended.
    Warm,
    /// In an archive; a stub is left in the store.
    Cold,
}

/// The number of an archive, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(#[serde(deserialize_with = "crate::values::time::exact_integer")] pub u64);

impl Number {
    pub(crate) fn next(self) -> Self {
        Number(self.0 + 1)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of entries, by sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first entry.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub from: u64,
    /// The last entry.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub to: u64,
}

/// Counts of the entries of one workspace that were archived and kept.
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

/// `trail.compact`: records that an archive was written and verified, so that the store may drop
/// the entries in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// The number of the archive; none if nothing had to be moved.
    pub archive: Option<Number>,
    /// The hash of its manifest, which names the hashes of everything in it.
    pub hash: Option<Blob>,
    /// Counts of the archived entries, by workspace.
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
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries_archived: u64,
    /// How many entries of this workspace stayed in the store.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries_preserved: u64,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `trail.prune`: records that archives are deleted, and the state that replay starts from instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The archives to delete.
    pub archives: Vec<Number>,
    /// The principal who asked for the deletion.
    pub asked_by: Principal,
    /// The hash of the replay base: the state after `floor_seq` entries, from which replay
    /// continues.
    pub floor_hash: Blob,
    /// The number of entries that led to the replay base.
    pub floor_seq: u64,
    /// The retention period of archives, in seconds.
    pub retention_s: u64,
}

/// `trail.pruned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruned {
    /// The archives that are deleted.
    pub archives: Vec<Number>,
    /// The principal who asked for the deletion.
    pub asked_by: Principal,
    /// The number of entries deleted with them.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries: u64,
    /// The hash of the replay base.
    pub floor_hash: Blob,
    /// The number of entries that led to the replay base.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub floor_seq: u64,
    /// The retention period of archives, in seconds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub retention_s: u64,
}

/// `trail.snapshot`: records that a copy of the trail was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteSnapshot {
    /// How many entries it holds.
    pub entry_count: u64,
    /// The hash of its last entry.
    pub head_hash: Text<80>,
    /// The hash of the file.
    pub snapshot_hash: Blob,
    /// The sequence number of the last entry it holds.
    pub up_to_entry: u64,
    /// The time of that entry.
    pub up_to_timestamp: Timestamp,
}

/// `trail_snapshot_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCreated {
    /// How many entries it holds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entry_count: u64,
    /// The hash of its last entry.
    pub head_hash: Text<80>,
    /// The hash of the file.
    pub snapshot_hash: Blob,
    /// The sequence number of the last entry it holds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub up_to_entry: u64,
    /// The time of that entry.
    pub up_to_timestamp: Timestamp,
}

/// The state's record of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The hash of its manifest.
    pub hash: Blob,
    /// The number of entries in it, as recorded.
    pub entries: u64,
    /// The number of workspaces they belong to.
    pub workspaces: u64,
    /// The first and the last of them.
    pub range: Range,
    /// When the archive was recorded.
    pub since: Timestamp,
    /// When the archive was deleted, if it was.
    pub pruned: Option<Timestamp>,
}

/// The replay base: the state that replay starts from once archives are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayBase {
    /// The number of entries that led to it.
    pub seq: u64,
    /// The hash of that state.
    pub hash: Blob,
}

/// The state's record of archives, compacted workspaces and the replay base.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shelves {
    /// All archives ever written, by number.
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) archives: imbl::OrdMap<Number, Archive>,
    /// The workspaces whose entries were compacted.
    #[serde(with = "crate::values::ordered::set")]
    pub(crate) compacted: imbl::OrdSet<WorkspaceId>,
    /// The replay base, if archives were deleted.
    #[serde(rename = "floor")]
    pub(crate) replay_base: Option<ReplayBase>,
}
