//! Facts about the outside world that the kernel is given: the size of stored content, and the free
//! disk space.
//!
//! Entries name content by its hash and record its size, so that replay, which has no access to the
//! outside, counts the same.

use crate::values::content::Blob;

/// Access to facts about storage.
pub trait Surroundings {
    /// The size of stored content in bytes, or 0 if it is missing.
    fn bytes_of(&self, blob: &Blob) -> u64;

    /// The free bytes where content is stored, if known.
    fn disk_free(&self) -> Option<u64>;
}
