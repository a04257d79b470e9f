//! The rules of Althing: pure decisions and state.
//!
//! This crate performs no I/O, reads no clock, draws no random number, starts no thread and knows
//! no async runtime: the time, fresh ids and the authenticated caller all come in as arguments.
//! Every rule is therefore replayable, fuzzable and fit for deterministic simulation.
//!
//! The modules, each importing only from those before it:
//!
//! - `values`: ids, names, texts, times, keys; `surfaces`: paths and globs, and whether they overlap;
//!   `registry`: rules, kinds of entries, lifecycles.
//! - `model`: types only: state, arguments of commands, bodies of events.
//! - `protocol`: [`Command`], [`Event`], [`Reply`] and [`Refusal`], one closed set each.
//! - `machine`: [`State`], and the [`Transaction`] that commands are decided in.
//! - `rules`: decisions about commands, and how events change the state.
//! - `dispatch`: routes commands to their rules and events to the changes they make.
//! - `audit`: decides recorded requests again and compares the entries with the record.
//!
//! Other crates see one module per subject: `lease` is both its types and its rules.

pub mod audit;
mod dispatch;
mod machine;
mod model;
mod protocol;
mod registry;
mod rules;
pub mod surfaces;
mod values;

pub use dispatch::forecast;
pub use machine::state;
pub use machine::transaction;
pub use model::admin::surroundings;
pub use model::runs::file;
pub use model::runs::taxonomy;
pub use protocol::command;
pub use protocol::event;
pub use protocol::lifecycles;
pub use protocol::refusal;
pub use registry::kind;
pub use registry::lifecycle;
pub use registry::rule;
pub use rules::admin::adoption;
pub use rules::admin::archive;
pub use rules::admin::project;
pub use rules::admin::runtime;
pub use rules::idempotency;
pub use rules::identity::agent;
pub use rules::identity::authentication;
pub use rules::identity::capability;
pub use rules::identity::user;
pub use rules::knowledge::attempt;
pub use rules::knowledge::blackboard;
pub use rules::knowledge::records;
pub use rules::leasing::lease;
pub use rules::leasing::session;
pub use rules::query;
pub use rules::runs::access;
pub use rules::runs::admission;
pub use rules::runs::approvals;
pub use rules::runs::checkpoint;
pub use rules::runs::deployment;
pub use rules::runs::envelope;
pub use rules::runs::integration;
pub use rules::runs::integrity;
pub use rules::runs::news;
pub use rules::runs::recovery;
pub use rules::runs::right;
pub use rules::runs::run;
pub use rules::runs::seal;
pub use rules::runs::signal;
pub use rules::runs::task;
pub use rules::runs::workspace;
pub use values::content;
pub use values::door;
pub use values::git;
pub use values::id;
pub use values::key;
pub use values::name;
pub use values::principal;
pub use values::seconds;
pub use values::stream;
pub use values::text;
pub use values::time;
pub use values::token;

pub use machine::state::State;
pub use machine::transaction::Transaction;
pub use protocol::command::Command;
pub use protocol::event::Draft;
pub use protocol::event::Event;
pub use protocol::event::Stamped;
pub use protocol::refusal::Refusal;
pub use protocol::refusal::RefusalKind;
pub use protocol::reply::Reply;
pub use registry::apply_error::ApplyError;
pub use registry::kind::Kind;
pub use registry::rule::Rule;
pub use surfaces::Surface;
pub use values::content::Blob;
pub use values::content::Content;
pub use values::door::Door;
pub use values::id::CheckpointId;
pub use values::id::EntryId;
pub use values::id::EnvelopeId;
pub use values::id::GateId;
pub use values::id::GraphId;
pub use values::id::IdKind;
pub use values::id::LeaseId;
pub use values::id::Mint;
pub use values::id::ProjectId;
pub use values::id::RightId;
pub use values::id::TaskId;
pub use values::id::WorkspaceId;
pub use values::key::PublicKey;
pub use values::name::AgentName;
pub use values::name::UserId;
pub use values::principal::Actor;
pub use values::principal::Caller;
pub use values::principal::Principal;
pub use values::stream::Stream;
pub use values::time::Span;
pub use values::time::Timestamp;
