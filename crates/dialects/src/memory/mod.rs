//! The memory dialect: the records of a project, in eight kinds and seven verbs.
//!
//! `entity` has the kinds and their names, `filter` the conditions of queries, `data` the fields of
//! new and changed records, `form` the descriptions of accepted values, `item` the shown form of
//! records, `words` numbers, ids and names inside sentences, `input` arguments with several
//! spellings, `moment` times, `budget` the limits of answers, `facade` the answer format of the
//! larger verbs. `relevance` ranks records for a question, and `lane` interprets the files of
//! workers that cannot reach the protocol. Nothing
//! here decides what is allowed: the kernel does.

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

/// Version of the protocol.
pub const PROTOCOL: &str = "0.1";
