//! Ending everything that belongs to an attempt.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::system::Sign;
use super::table::{Identity, Scope};

/// How long processes may take to go after SIGKILL. One that waits for a disk may take longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(20);

/// What was ended.
pub(super) struct Ending {
    /// How many processes there were.
    pub(super) count: usize,
    /// Those that did not go.
    pub(super) stuck: Vec<u32>,
}

/// Asks every process to end, and ends those that did not within the grace time. New ones may
/// appear while it looks, so it looks until there are none.
pub(super) fn end_all(scope: &Scope, grace: Duration) -> Ending {
    let mut seen = BTreeSet::new();
    let asked = Instant::now();
    let mut left = scope.signal(Sign::Term);
    while !left.is_empty() && asked.elapsed() < grace {
        seen.extend(left);
        std::thread::sleep(LOOK);
        left = scope.members();
    }
    seen.extend(left);
    let ending = kill_all(scope);
    Ending { count: seen.len().max(ending.count), ..ending }
}

/// Ends every process at once.
pub(super) fn kill_all(scope: &Scope) -> Ending {
    let mut seen: BTreeSet<Identity> = BTreeSet::new();
    let begun = Instant::now();
    loop {
        let left = scope.signal(Sign::Kill);
        if left.is_empty() || begun.elapsed() >= PATIENCE {
            let stuck = left.iter().map(|process| process.pid).collect();
            return Ending { count: seen.len(), stuck };
        }
        seen.extend(left);
        std::thread::sleep(LOOK);
    }
}
