//! The memory dialect: what a project remembers, in eight kinds of things and seven verbs.
//!
//! `entity` is what can be named, `filter` what can be asked for, `data` what can be said, `form` in
//! which form, `item` how it is shown, `words` how numbers, ids and names stand in sentences, `input`
//! what callers may write in more than one way, `moment` the times they write, `budget` how long an
//! answer may be, `facade` how the larger verbs answer, `relevance` what matters for a question, and
//! `lane` what the files of workers mean that cannot reach the protocol. Nothing here decides what may happen: that is the kernel's business.

pub mod budget;
pub mod data;
pub mod entity;
pub mod facade;
pub mod filter;
pub mod form;
pub mod input;
pub mod item;
pub mod lane;
pub mod moment;
pub mod relevance;
pub mod words;

/// The version of the protocol that is spoken.
pub const PROTOCOL: &str = "0.1";
