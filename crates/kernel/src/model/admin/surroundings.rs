//! What the kernel is told about the world outside: how large stored content is, and how much
//! room is left.
//!
//! Entries name content by its hash and say how large it is, so that a replay, which knows no
//! surroundings, counts the same.

use crate::values::content::Blob;

/// What lies around the trail.
pub trait Surroundings {
    /// How large stored content is, in bytes; nothing, if it is not there.
    fn bytes_of(&self, blob: &Blob) -> u64;

    /// How many bytes are free where content is stored, as far as that can be told.
    fn disk_free(&self) -> Option<u64>;
}
