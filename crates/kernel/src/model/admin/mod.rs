//! The project itself: runtime, archives.

pub(crate) mod adoption;
pub(crate) mod archive;
pub(crate) mod project;
pub(crate) mod runtime;
pub mod surroundings;
