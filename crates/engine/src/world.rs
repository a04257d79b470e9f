//! A world: the state and the chain it came from, after the same entries. Cheap to clone.

use althing_kernel::State;
use althing_trail::{Chain, Commit, Entry, LogReader};

use crate::error::EngineError;

/// How much of a log is read at a time.
pub(crate) const READ_BYTES: usize = 4 << 20;

/// Everything that is known after some entries.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What is true.
    pub state: State,
    /// Where the trail stands.
    pub chain: Chain,
}

impl World {
    /// How many entries led here.
    pub fn seq(&self) -> u64 {
        self.chain.seq()
    }

    /// Takes in the entries of a commit.
    pub fn replay(&mut self, commit: &Commit) -> Result<(), EngineError> {
        let damaged = |seq: u64, what: String| EngineError::Damaged { seq, what };
        for line in commit.entries() {
            let next = self.seq() + 1;
            let entry = Entry::read(line).map_err(|error| damaged(next, error.to_string()))?;
            self.chain.follow(&entry).map_err(|error| damaged(next, error.to_string()))?;
            self.state.apply(&entry.stamped).map_err(|error| damaged(next, error.to_string()))?;
        }
        if self.seq() != commit.last {
            let what = format!("its commit says it ends at entry {}", commit.last);
            return Err(damaged(self.seq(), what));
        }
        self.chain.close(&commit.head);
        Ok(())
    }

    /// Takes in everything a log has that is not known yet. Returns how many entries that was.
    pub fn catch_up<L: LogReader + ?Sized>(&mut self, log: &mut L) -> Result<u64, EngineError> {
        let before = self.seq();
        loop {
            let commits = log.tail(self.seq(), READ_BYTES)?;
            if commits.is_empty() {
                return Ok(self.seq() - before);
            }
            for commit in &commits {
                self.replay(commit)?;
            }
        }
    }
}
