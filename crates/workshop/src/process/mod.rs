//! One agent process, supervised so that whoever started it may die.
//!
//! The agent runs under a small process of its own, [`supervise`], which is no child of anything
//! that may go away: it has a session of its own, holds the lock of the attempt's folder as long as
//! it lives, bounds the log, ends the agent when its time is over, and writes down how it ended.
//! Everything else is read from that folder, so a caller that was killed goes on where it was:
//!
//! | File | Written by | Says |
//! |---|---|---|
//! | `lock` | the system | held: something runs here |
//! | `start.json` | [`start`], with the lock | what to start |
//! | `process.json` | the supervising process | who runs, since when |
//! | `log`, `log.first`, `log.previous` | the supervising process | what the agent printed |
//! | `stop.json` | [`stop`] | that it was ordered to stop |
//! | `ended.json` | the supervising process | how it ended |
//!
//! No lock and no `ended.json` means that the supervising process was killed or the power failed:
//! [`Status::Lost`]. Numbers of processes are only trusted together with the time they began.

mod clock;
mod ending;
mod files;
mod log;
mod record;
mod shim;
mod start;
mod status;
mod stop;
mod streams;
mod system;
mod table;

pub use log::{LogReader, NOTE, Piece, log_end};
pub use record::{Ended, GRACE, LOG_BYTES_MAX, MARKER, Outcome, Spec, WORKSPACE};
pub use shim::supervise;
pub use start::{Start, start};
pub use status::{Lost, Running, Status, status, wait};
pub use stop::stop;
