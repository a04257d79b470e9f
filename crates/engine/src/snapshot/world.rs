//! A world: the state and the chain after the same entries. Cheap to clone.

use althing_kernel::session::{Disconnect, Lost};
use althing_kernel::{
    Caller, Command, IdKind, Mint, Principal, Reply, State, Timestamp, Transaction,
};
use althing_trail::log::LogErrorKind;
use althing_trail::stub::Stub;
use althing_trail::{Chain, Commit, Entry, LogError, LogReader, SignedHead};

use std::sync::Arc;

use crate::error::EngineError;

/// Bytes of a log to read at a time.
pub(crate) const READ_BYTES: usize = 4 << 20;

/// State and chain after some entries.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The kernel's state.
    pub state: State,
    /// The end of the trail's chains.
    pub chain: Chain,
}

/// Mints ids for deadlines that are due but not recorded; nobody refers to them.
struct Unnamed(u64);

impl Mint for Unnamed {
    fn mint(&mut self, _: IdKind, at: Timestamp) -> Arc<str> {
        self.0 += 1;
        format!("due-{:020}-{}", at.micros(), self.0).into()
    }
}

/// The state at a moment: after its entries, and with what has fallen due since, which the next
/// command will record.
pub(crate) fn as_of(state: &State, now: Timestamp) -> Result<State, EngineError> {
    if !state.is_due(now) {
        return Ok(state.clone());
    }
    let mut mint = Unnamed(0);
    let mut tx = Transaction::begin(state.clone(), now, &mut mint);
    tx.tick(usize::MAX)?;
    Ok(tx.finish().0)
}

/// The state at a moment, without connections that have ended, which the next command will record.
pub(crate) fn as_of_without(
    state: &State,
    now: Timestamp,
    lost: Vec<Lost>,
) -> Result<State, EngineError> {
    let Some(project) = state.project().filter(|_| !lost.is_empty()) else {
        return as_of(state, now);
    };
    let (principal, key) = (Principal::System, project.runtime_key);
    let mut mint = Unnamed(0);
    let mut tx = Transaction::begin(state.clone(), now, &mut mint);
    let command = Command::RuntimeDisconnect(Disconnect { lost });
    tx.decide(&Caller { principal, key, session: None }, &command)?;
    tx.tick(usize::MAX)?;
    Ok(tx.finish().0)
}

/// The reply to a command that would record nothing at a moment; `None` if an entry would follow, from the
/// command or from what is due.
pub(crate) fn settled(
    state: &State,
    now: Timestamp,
    caller: &Caller,
    command: &Command,
) -> Result<Option<Reply>, EngineError> {
    if state.is_due(now) {
        return Ok(None);
    }
    let mut mint = Unnamed(0);
    let mut tx = Transaction::begin(state.clone(), now, &mut mint);
    let outcome = tx.decide(caller, command)?;
    Ok(outcome.result.ok().filter(|_| tx.entries().is_empty()))
}

impl World {
    /// Number of entries.
    pub fn seq(&self) -> u64 {
        self.chain.seq()
    }

    /// Applies the entries of a commit.
    pub fn replay(&mut self, commit: &Commit) -> Result<(), EngineError> {
        for line in commit.slots() {
            let entry = self.read(line)?;
            self.take(&entry)?;
        }
        if self.seq() != commit.last {
            let what = format!("its commit says it ends at entry {}", commit.last);
            return Err(EngineError::Damaged { seq: self.seq(), what });
        }
        self.chain.close(&commit.head);
        Ok(())
    }

    fn read(&self, line: &str) -> Result<Entry, EngineError> {
        if Stub::is_in(line) {
            return Err(EngineError::Pruned { seq: self.seq() + 1 });
        }
        Entry::read(line).map_err(|error| self.damaged_next(&error))
    }

    fn take(&mut self, entry: &Entry) -> Result<(), EngineError> {
        self.chain.follow(entry).map_err(|error| self.damaged_next(&error))?;
        self.state
            .apply(&entry.stamped)
            .map_err(|error| EngineError::Damaged { seq: self.seq(), what: error.to_string() })
    }

    fn damaged_next(&self, error: &dyn std::fmt::Display) -> EngineError {
        EngineError::Damaged { seq: self.seq() + 1, what: error.to_string() }
    }

    /// Applies the entries of a log up to a position and a time, which may be inside a commit.
    pub(crate) fn catch_up_to<L: LogReader + ?Sized>(
        &mut self,
        log: &mut L,
        seq: u64,
        time: Timestamp,
    ) -> Result<(), EngineError> {
        loop {
            let commits = log.tail(self.seq(), READ_BYTES)?;
            if commits.is_empty() {
                return Ok(());
            }
            for commit in &commits {
                for line in commit.slots() {
                    let entry = self.read(line)?;
                    if entry.seq > seq || entry.stamped.at > time {
                        return Ok(());
                    }
                    self.take(&entry)?;
                }
                self.chain.close(&commit.head);
            }
        }
    }

    /// Applies all new entries of a log. Returns how many there were. After an error the world is
    /// partly updated and useless.
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

    /// Whether this world came from the entries that are in this log.
    pub(crate) fn is_of<L: LogReader + ?Sized>(&self, log: &mut L) -> Result<bool, LogError> {
        if self.seq() == 0 {
            return Ok(true);
        }
        let Some((last, head)) = log.head_of(self.seq())? else { return Ok(false) };
        let same_head = self.chain.last_commit() == Some(&SignedHead::hash_of(&head));
        Ok(last == self.seq() && same_head)
    }

    pub(crate) fn check_base<L: LogReader + ?Sized>(&self, log: &mut L) -> Result<(), EngineError> {
        if self.is_of(log)? {
            return Ok(());
        }
        let message = "the trail was replaced by another meanwhile; repeat the command";
        Err(LogError::new(LogErrorKind::Replaced, message).into())
    }
}
