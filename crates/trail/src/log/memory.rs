//! A log in memory, shared by its handles: for tests and simulations.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{AppendError, Log, LogError, LogErrorKind, LogReader, Store};
use crate::commit::{Claimed, Commit};
use crate::hash::Hash;
use crate::tree::Frontier;

/// A handle to a log in memory. Clones share the log.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    commits: Mutex<Vec<Commit>>,
    grown: Condvar,
}

impl MemoryLog {
    fn commits(&self) -> MutexGuard<'_, Vec<Commit>> {
        // A panic while holding the lock cannot leave the list of commits half changed.
        self.0.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A log that holds these commits, unchecked.
    pub fn holding(commits: Vec<Commit>) -> Self {
        MemoryLog(Arc::new(Shared { commits: Mutex::new(commits), grown: Condvar::new() }))
    }

    /// All commits in the log.
    pub fn all(&self) -> Vec<Commit> {
        self.commits().clone()
    }
}

fn end_of(commits: &[Commit]) -> u64 {
    commits.last().map_or(0, |commit| commit.last)
}

impl LogReader for MemoryLog {
    fn position(&mut self) -> Result<u64, LogError> {
        Ok(end_of(&self.commits()))
    }

    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        let commits = self.commits();
        let from = commits.partition_point(|commit| commit.last <= after);
        let mut taken = 0;
        let fits = |commit: &&Commit| {
            let first = taken == 0;
            taken += commit.bytes();
            first || taken <= bytes
        };
        Ok(commits[from..].iter().take_while(fits).cloned().collect())
    }

    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError> {
        let commits = self.commits();
        let at = commits.partition_point(|commit| commit.last < seq);
        Ok(commits.get(at).filter(|commit| commit.first <= seq).cloned())
    }

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        let mut frontier = Frontier::default();
        for line in self.commits().iter().flat_map(Commit::entries) {
            let claimed = Claimed::of(line)
                .map_err(|error| LogError::new(LogErrorKind::Corrupt, error.to_string()))?;
            if claimed.seq > start && claimed.seq <= start + size {
                frontier.push(&claimed.hash);
            }
        }
        Ok(frontier.root())
    }

    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError> {
        let deadline = Instant::now() + timeout;
        let mut commits = self.commits();
        while end_of(&commits) <= after {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let waited = self.0.grown.wait_timeout(commits, left);
            commits = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(true)
    }
}

impl Log for MemoryLog {
    fn hold(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    fn try_hold(&mut self) -> Result<bool, LogError> {
        Ok(true)
    }

    fn release(&mut self) {}

    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError> {
        let mut commits = self.commits();
        if end_of(&commits) != expected {
            return Err(AppendError::Conflict);
        }
        commits.push(commit.clone());
        self.0.grown.notify_all();
        Ok(())
    }

    fn commit_bytes_max(&self) -> usize {
        1 << 20
    }
}

impl Store for MemoryLog {
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        Ok(Box::new(self.clone()))
    }

    fn writer(&self) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(self.clone()))
    }
}
