//! What is true: the rules of Althing.
//!
//! This crate decides and nothing else. It performs no I/O, reads no clock, draws no random
//! number, starts no thread and knows no async runtime: the time, fresh ids and the
//! authenticated caller all come in as arguments. That is what makes every rule here
//! replayable, fuzzable and fit for a deterministic simulation.
//!
//! - [`Turn`] takes commands and returns the entries they lead to (`decide`).
//! - [`State::apply`] is the only code that changes state, live and on replay alike.
//! - One module per noun: [`agent`], [`user`], [`session`], [`lease`], [`project`].
//! - Every refusal cites a [`Rule`]; the whole list is in one file.

pub mod agent;
pub mod audit;
pub mod command;
pub mod content;
mod de;
pub mod event;
pub mod id;
pub mod key;
pub mod lease;
pub mod lifecycle;
pub mod name;
pub mod principal;
pub mod project;
pub mod query;
pub mod refusal;
pub mod rule;
pub mod runtime;
pub mod session;
pub mod state;
pub mod surface;
pub mod text;
pub mod time;
pub mod turn;
pub mod user;

pub use command::Command;
pub use content::{Blob, Content};
pub use event::{Draft, Event, Kind, Stamped, Stream};
pub use id::{EntryId, IdKind, LeaseId, Mint, ProjectId, WorkspaceId};
pub use key::PublicKey;
pub use name::{AgentName, UserId};
pub use principal::{Actor, Caller, Principal};
pub use refusal::{Refusal, RefusalKind};
pub use rule::Rule;
pub use state::{ApplyError, State};
pub use surface::Surface;
pub use time::{Span, Timestamp};
pub use turn::{Reply, Turn};
