//! Types of the project itself: its creation, rules version, runtime key, archives.

pub(crate) mod adoption;
pub(crate) mod archive;
pub(crate) mod project;
pub(crate) mod runtime;
pub mod surroundings;
