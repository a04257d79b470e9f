//! Types of `archive`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::values::content::Blob;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

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

/// From which entry to which.
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
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries_archived: u64,
    /// How many entries of this workspace stayed in the store.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
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
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries: u64,
    /// The hash of the floor.
    pub floor_hash: Blob,
    /// How many entries led to the floor.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub floor_seq: u64,
    /// How long archives had to be kept, in seconds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
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
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entry_count: u64,
    /// The hash of its last entry.
    pub head_hash: Text<80>,
    /// The hash of the file.
    pub snapshot_hash: Blob,
    /// The last entry it holds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
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
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) archives: imbl::OrdMap<Number, Archive>,
    /// The workspaces whose entries were looked through.
    #[serde(with = "crate::values::ordered::set")]
    pub(crate) compacted: imbl::OrdSet<WorkspaceId>,
    /// Where replay begins.
    pub(crate) floor: Option<Floor>,
}
