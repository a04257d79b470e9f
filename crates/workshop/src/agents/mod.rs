//! Agents: how each kind is found, started, given its hooks and tools, and understood.
//!
//! [`ADAPTERS`] has one row per kind; any other program is a [`CustomAgent`]. [`Agent::launch`]
//! makes a process to start from a brief, [`Parser`] makes [`Event`]s from what it prints,
//! [`Follower`] does so with the log of a turn, and [`verdict`] judges a turn that ended.

mod custom;
mod detect;
mod event;
mod handover;
mod json;
mod launch;
mod lines;
mod parser;
mod plugin;
mod private_home;
mod progress;
mod recorded_usage;
mod table;
mod trouble;

pub use custom::{CustomAgent, UsageReport};
pub use detect::{Found, detect, detect_all};
pub use event::{Event, Retry, Usage};
pub use handover::Moment;
pub use launch::{Agent, Launch, Request, Session, Wiring, session_id};
pub use lines::readable;
pub use parser::{Format, Parser};
pub use progress::{Finished, Follower, Progress, Trouble, Verdict, verdict};
pub use recorded_usage::{Place, recorded_usage};
pub use table::{ADAPTERS, Adapter, HookWay, McpWay, Prompt, Recorded, SystemSettings, find};
