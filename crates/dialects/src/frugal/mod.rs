//! The frugal dialect: short references in place of restated text, and a count of what that saves.
//!
//! `message` is what agents tell each other, `haid` who they are, `brief` what a worker is handed,
//! `tokens` how much text that is, `wave` what it comes to for a whole wave of workers; `gate`,
//! `ledger` and `claim` are the texts of the commands of those names; `planning` is what the files
//! under `.planning/` say, `plain` what is safe to show.

pub mod brief;
pub mod capsule;
pub mod claim;
pub mod gate;
pub mod haid;
pub mod invariants;
pub mod ledger;
pub mod message;
pub mod plain;
pub mod planning;
pub mod receipt;
pub mod tokens;
pub mod wave;

/// The version stamped into every file of this dialect.
pub const VERSION: &str = "2.0.0";
