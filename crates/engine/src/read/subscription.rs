//! Subscriptions: the trail as it grows, from any position, without loss.

use althing_trail::log::LogErrorKind;
use althing_trail::{Commit, LogError, LogReader};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::world::READ_BYTES;

/// Interval at which a waiting subscriber checks that the trail is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A position in the trail that moves forward. Nothing is buffered for a slow reader and nothing is
/// skipped: a reader that stores [`Subscription::position`] can resume there in another process.
pub struct Subscription {
    reader: Box<dyn LogReader>,
    generation: Option<u64>,
    after: u64,
}

impl Subscription {
    pub(crate) fn new(mut reader: Box<dyn LogReader>, after: u64) -> Self {
        let generation = reader.generation().ok();
        Subscription { reader, generation, after }
    }

    /// The last entry that was returned.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// The next commits, waiting for them if necessary. Empty after the timeout. The first commit
    /// may begin before the requested position; skip its earlier entries.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Commit>, EngineError> {
        let deadline = Instant::now() + timeout;
        loop {
            let commits = self.reader.tail(self.after, READ_BYTES)?;
            // Check after reading: the commits were read from the trail that is still in place.
            self.check_place()?;
            if let Some(last) = commits.last() {
                self.after = last.last;
                return Ok(commits);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(commits);
            }
            self.reader.watch(self.after, left.min(LOOK_EVERY))?;
        }
    }

    /// Fails once another trail has replaced the one that is followed.
    fn check_place(&mut self) -> Result<(), EngineError> {
        let generation = self.reader.generation()?;
        if *self.generation.get_or_insert(generation) != generation {
            let message = "the trail was replaced by another; begin again";
            return Err(LogError::new(LogErrorKind::Replaced, message).into());
        }
        Ok(self.reader.in_place()?)
    }
}

impl Engine {
    /// Subscribes to the entries after a position.
    pub fn subscribe(&self, after: u64) -> Result<Subscription, EngineError> {
        Ok(Subscription::new(self.reader()?, after))
    }
}
