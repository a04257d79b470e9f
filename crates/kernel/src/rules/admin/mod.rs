//! The project itself: runtime, archives.

pub mod adoption;
pub mod archive;
pub mod project;
pub(crate) mod refusal;
pub mod runtime;
