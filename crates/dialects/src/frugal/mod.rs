//! The frugal dialect: short references in place of restated text, and a count of the savings.
//!
//! `message` has the messages between agents, `haid` their identities, `brief` the briefs for
//! workers, `tokens` the token counter, and `wave` the cost of a whole wave of workers; `gate`,
//! `ledger` and `claim` have the texts of the commands of those names; `planning` has the files
//! under `.planning/`, and `plain` makes text safe to show.

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

/// Version written into every file of this dialect.
pub const VERSION: &str = "2.0.0";
