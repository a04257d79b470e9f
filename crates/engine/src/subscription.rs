//! Subscriptions: the trail as it grows, from any position, without loss.

use althing_trail::log::LogErrorKind;
use althing_trail::{Commit, LogError, LogReader};
use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::world::READ_BYTES;

/// A place in the trail that moves forward. Nothing is buffered for a slow reader and nothing is
/// skipped: whoever remembers [`Subscription::position`] can resume there in another process.
pub struct Subscription {
    reader: Box<dyn LogReader>,
    generation: Option<u64>,
    after: u64,
}

impl Subscription {
    pub(crate) fn new(reader: Box<dyn LogReader>, after: u64) -> Self {
        Subscription { reader, generation: None, after }
    }

    /// The last entry handed out.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// The next commits, waiting for them if need be. Empty when the time is over. The first
    /// commit may begin before the position asked for; its earlier entries are not news.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Commit>, EngineError> {
        let deadline = Instant::now() + timeout;
        let generation = self.reader.generation()?;
        if *self.generation.get_or_insert(generation) != generation {
            let message = "the trail was replaced by another; begin again";
            return Err(LogError::new(LogErrorKind::Replaced, message).into());
        }
        loop {
            let commits = self.reader.tail(self.after, READ_BYTES)?;
            if let Some(last) = commits.last() {
                self.after = last.last;
                return Ok(commits);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(commits);
            }
            self.reader.watch(self.after, left)?;
        }
    }
}
