//! Validated values: ids, names, texts, times and keys. Each is checked when it is constructed.

pub(crate) mod closed_set;
pub mod content;
pub(crate) mod de;
pub mod door;
pub(crate) mod few;
pub mod git;
pub mod id;
pub(crate) mod idempotency;
pub mod key;
pub(crate) mod label;
pub mod name;
pub(crate) mod ordered;
pub(crate) mod packed;
pub mod principal;
pub mod seconds;
pub mod stream;
pub(crate) mod string_newtype;
pub mod text;
pub mod time;
pub mod token;
