//! Rules of the project itself: its creation, rules version, runtime key, archives.

pub mod adoption;
pub mod archive;
pub mod project;
pub(crate) mod refusal;
pub mod runtime;
