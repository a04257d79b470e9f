//! Subscriptions: the trail as it grows, from any position, without loss.

use althing_trail::log::LogErrorKind;
use althing_trail::{Commit, LogError, LogReader};
use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::world::READ_BYTES;

/// How often somebody who waits makes sure that the trail is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A place in the trail that moves forward. Nothing is buffered for a slow reader and nothing is
/// skipped: whoever remembers [`Subscription::position`] can resume there in another process.
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

    /// The last entry handed out.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// The next commits, waiting for them if need be. Empty when the time is over. The first
    /// commit may begin before the position asked for; its earlier entries are not news.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Commit>, EngineError> {
        let deadline = Instant::now() + timeout;
        loop {
            let commits = self.reader.tail(self.after, READ_BYTES)?;
            // After reading: what was read before it is still that of the trail at this place.
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

    /// Refuses once another trail is in the place of the one that is followed.
    fn check_place(&mut self) -> Result<(), EngineError> {
        let generation = self.reader.generation()?;
        if *self.generation.get_or_insert(generation) != generation {
            let message = "the trail was replaced by another; begin again";
            return Err(LogError::new(LogErrorKind::Replaced, message).into());
        }
        Ok(self.reader.in_place()?)
    }
}
