//! Files of a state folder: where they are, stored content, archive files and quarantine.
//!
//! Knows nothing of the trail's meaning; every other room may use it.

pub mod archive_files;
pub mod blobs;
pub(crate) mod disk;
pub mod home;
pub(crate) mod quarantine;
