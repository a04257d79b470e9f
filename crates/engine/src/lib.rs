//! How it runs: the one path every change takes, and everything around it.
//!
//! A door authenticates a caller ([`keyring`]), gets a [`Client`] and submits commands. The
//! [`Engine`]'s single writer gathers what waits, catches up with the log, lets the kernel
//! decide, appends one commit for all of it, and answers once that is durable ([`core`],
//! [`writer`]). Reads look at the last published [`World`] and wait for nobody. Other processes
//! do the same on the same log; the log's compare-and-set keeps them honest.
//!
//! This crate knows files and threads. It knows no terminal, no environment variable and no
//! protocol.

pub mod archives;
mod aside;
pub mod backup;
pub mod blobs;
mod client;
pub mod clock;
pub mod compact;
pub mod core;
pub mod deployment;
mod disk;
pub mod door;
pub mod engine;
pub mod error;
pub mod examine;
pub mod failures;
pub mod field;
mod floor;
pub mod history;
pub mod home;
pub mod inventory;
pub mod keyring;
pub mod mend;
pub mod mint;
pub mod places;
pub mod presence;
pub mod prune;
pub mod queue;
mod reading;
pub mod recovery;
pub mod row;
pub mod screen;
mod sealed;
pub mod secrets;
pub mod shared;
pub mod snapshot;
pub mod stats;
pub mod subscription;
pub mod tiers;
pub mod trail_query;
pub mod transfer;
pub mod verify;
pub mod views;
pub mod witness;
pub mod world;
mod writer;

pub use blobs::Blobs;
pub use client::{Client, Signing, Warnings};
pub use clock::{Clock, SystemClock};
pub use engine::{Engine, Options};
pub use error::{EngineError, ErrorKind};
pub use home::Home;
pub use inventory::Inventory;
pub use keyring::{Credential, Keyring};
pub use subscription::Subscription;
pub use world::World;
