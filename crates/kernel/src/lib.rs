//! What is true: the rules of Althing.
//!
//! This crate decides and nothing else. It performs no I/O, reads no clock, draws no random
//! number, starts no thread and knows no async runtime: the time, fresh ids and the
//! authenticated caller all come in as arguments. That is what makes every rule here
//! replayable, fuzzable and fit for a deterministic simulation.
//!
//! - [`Turn`] takes commands and returns the entries they lead to (`decide`).
//! - [`State::apply`] is the only code that changes state, live and on replay alike.
//! - One module per noun: [`agent`], [`user`], [`session`], [`lease`], [`project`]; what
//!   everybody shares is in [`commons`], what is remembered in [`memory`].
//! - Every refusal cites a [`Rule`]; the whole list is in one file.

pub mod access;
pub mod admission;
pub mod adoption;
pub mod agent;
pub mod archive;
pub mod audit;
pub mod authentication;
pub mod capability;
pub mod checkpoint;
pub mod command;
pub mod commons;
pub mod content;
mod de;
pub mod deployment;
pub mod envelope;
pub mod event;
pub mod file;
pub mod highway;
pub mod id;
pub mod integration;
pub mod key;
pub mod lease;
pub mod lifecycle;
pub mod memory;
pub mod name;
pub mod news;
mod ordered;
pub mod principal;
pub mod project;
pub mod query;
pub mod recovery;
pub mod refusal;
pub mod right;
pub mod rule;
pub mod run;
pub mod runtime;
pub mod seal;
pub mod secs;
pub mod session;
pub mod signal;
pub mod state;
pub mod surface;
pub mod surroundings;
pub mod task;
pub mod taxonomy;
pub mod text;
pub mod time;
pub mod token;
pub mod turn;
pub mod user;
pub mod violation;
pub mod workspace;

pub use command::Command;
pub use content::{Blob, Content};
pub use event::{Draft, Event, Kind, Stamped, Stream};
pub use id::{
    CheckpointId, EntryId, EnvelopeId, GateId, GraphId, IdKind, LeaseId, Mint, ProjectId, RightId,
    TaskId, WorkspaceId,
};
pub use key::PublicKey;
pub use name::{AgentName, UserId};
pub use principal::{Actor, Caller, Principal};
pub use refusal::{Refusal, RefusalKind};
pub use rule::Rule;
pub use state::{ApplyError, State};
pub use surface::Surface;
pub use time::{Span, Timestamp};
pub use turn::{Reply, Turn};
