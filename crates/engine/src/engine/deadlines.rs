//! Deadlines that are recorded when they pass, by a process that waits for them.

use althing_kernel::session::Disconnect;
use althing_kernel::{Command, Timestamp};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Records what has fallen due: leases that ran out, time-outs, gates that nobody answered.
    /// Returns when the next deadline passes.
    pub fn record_due(&self) -> Result<Option<Timestamp>, EngineError> {
        let due = |at: Timestamp| at <= self.now();
        if self.world()?.state.next_deadline().is_some_and(due) {
            // A command that changes nothing: what is due is recorded before it is decided.
            self.execute_own(Command::RuntimeDisconnect(Disconnect { lost: Vec::new() }))?;
        }
        Ok(self.world()?.state.next_deadline())
    }
}
