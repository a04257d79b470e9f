//! The engine: the one path every change takes, and the files and threads around it.
//!
//! A caller authenticates ([`Keyring`]), gets a [`Client`] and submits commands. The [`Engine`]'s
//! single writer gathers the waiting commands, catches up with the log, lets the kernel decide,
//! appends one commit for all of them and answers once that is durable. Reads look at the last
//! published [`World`] and wait for nobody. Other processes do the same on the same log; the
//! log's compare-and-set rejects an append that did not see the newest commit.
//!
//! This crate knows files and threads. It knows no terminal, no environment variable and no
//! protocol.
//!
//! Each room uses only the rooms above it in this table:
//!
//! | Room | For |
//! |---|---|
//! | [`store`] | files of a state folder: layout, stored content, archive files, quarantine |
//! | [`identity`] | keys, keys at rest, message keys, protections that are in place |
//! | [`snapshot`] | replayed state, its snapshots, and the base that replay begins with |
//! | [`commit`] | the write path: queue, writer, registry of writers, witness |
//! | [`recovery`] | examination, repair and verification of a trail |
//! | [`engine`] | an open project and its clients; it ties the rooms above together |
//! | [`read`] | queries, rows, earlier states, content, subscriptions |
//! | [`archive`] | compaction, deletion of archives, backup, export and import |
//! | [`reports`] | runs, timelines, message flow, failures and statistics |
//! | [`api`] | operations by name, as every protocol offers them |

pub mod api;
pub mod archive;
pub mod clock;
pub mod commit;
pub mod engine;
pub mod error;
pub mod identity;
pub mod mint;
pub mod read;
pub mod recovery;
pub mod reports;
pub mod screen;
pub mod snapshot;
pub mod store;

pub use archive::inventory::Inventory;
pub use archive::{backup, compact, inventory, prune, tiers, transfer};
pub use clock::{Clock, SystemClock};
pub use commit::{core, queue, witness, writer_registry};
pub use engine::client::{Client, Signing, Warnings};
pub use engine::connections::BEAT;
pub use engine::{Engine, Options};
pub use error::{EngineError, ErrorKind};
pub use identity::keyring::{Credential, Keyring};
pub use identity::{deployment, keyring, message_keys};
pub use read::subscription::Subscription;
pub use read::{field, history, row, trail_query};
pub use recovery::verify;
pub use snapshot::world::World;
pub use store::blobs::Blobs;
pub use store::home::Home;
pub use store::{archive_files, blobs, home};
