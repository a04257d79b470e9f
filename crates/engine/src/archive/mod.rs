//! Moving trails: compaction into archives, deletion of archives, backups, export and import.

pub mod backup;
pub mod compact;
pub mod inventory;
pub mod prune;
pub mod tiers;
pub mod transfer;
