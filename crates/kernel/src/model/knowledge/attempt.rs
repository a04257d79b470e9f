//! The one table of attempts: the states of a workspace, and the words that fit its assignment.

use crate::model::knowledge::records::vocabulary::Status as Word;
use crate::model::runs::workspace::{Status, Trigger, Workspace};

/// A state of a workspace, in which circumstances, and the words that fit its assignment then.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The state of the workspace.
    pub status: Status,
    /// The circumstances, in words; empty if there is only one row for the state.
    pub when: &'static str,
    /// Whether the circumstances are those of a workspace.
    pub fits: fn(&Workspace) -> bool,
    /// The words. The assignment gets the first if none of them holds.
    pub words: &'static [Word],
}

const fn row(
    status: Status,
    when: &'static str,
    fits: fn(&Workspace) -> bool,
    words: &'static [Word],
) -> Row {
    Row { status, when, fits, words }
}

fn always(_: &Workspace) -> bool {
    true
}

fn was_blocked(known: &Workspace) -> bool {
    known.interrupted == Some(Status::Blocked)
}

fn was_aborted(known: &Workspace) -> bool {
    matches!(
        known.ended,
        Some(
            Trigger::AbortedByCoordinator
                | Trigger::AbortedByHuman
                | Trigger::BatchAbort
                | Trigger::ParentFailed
                | Trigger::SystemShutdown
        )
    )
}

fn was_never_taken(known: &Workspace) -> bool {
    known.ended == Some(Trigger::Timeout) && !known.ready
}

fn ran_out_of_time(known: &Workspace) -> bool {
    matches!(
        known.ended,
        Some(
            Trigger::Timeout
                | Trigger::ConflictTimeout
                | Trigger::EscalationTimeout
                | Trigger::GracefulTerminationExpired
                | Trigger::MigrationError
        )
    )
}

/// Whether the work of a workspace was completed and turned down.
pub(crate) fn was_turned_down(known: &Workspace) -> bool {
    matches!(
        known.ended,
        Some(
            Trigger::RevisionRequired
                | Trigger::Rejected
                | Trigger::GateRejectedByHuman
                | Trigger::AgentRework
        )
    )
}

/// The table. The first row that fits a workspace counts; every workspace has one.
pub const TABLE: &[Row] = &[
    row(Status::Idle, "", always, &[Word::Offered]),
    row(Status::Active, "after `started`", |known| known.started, &[Word::Started]),
    row(Status::Active, "before", always, &[Word::Accepted]),
    row(Status::Blocked, "", always, &[Word::Blocked]),
    row(Status::Migrating, "until the new agent comes", always, &[Word::Offered]),
    row(Status::Suspended, "while blocked", was_blocked, &[Word::Blocked]),
    row(Status::Suspended, "after `started`", |known| known.started, &[Word::Started]),
    row(Status::Suspended, "before", always, &[Word::Accepted]),
    row(Status::Integrating, "", always, &[Word::Completed]),
    row(Status::Conflicted, "", always, &[Word::Completed]),
    row(Status::Closed, "", always, &[Word::Completed]),
    row(
        Status::Failed,
        "aborted, or with what was above it",
        was_aborted,
        &[Word::Cancelled, Word::Rerouted],
    ),
    // Work that shows up late still counts as completed.
    row(
        Status::Failed,
        "nobody took it in time",
        was_never_taken,
        &[Word::Expired, Word::Completed, Word::Rerouted, Word::Cancelled],
    ),
    row(
        Status::Failed,
        "out of time",
        ran_out_of_time,
        &[Word::TimedOut, Word::Completed, Word::Retrying, Word::Rerouted, Word::Cancelled],
    ),
    row(
        Status::Failed,
        "its agent's word, its budget, revise or reject",
        always,
        &[Word::Failed, Word::Completed, Word::Retrying, Word::Rerouted, Word::Cancelled],
    ),
];

/// The words of the memory protocol that fit a workspace as it is.
pub fn words(known: &Workspace) -> &'static [Word] {
    let mut rows = TABLE.iter().filter(|row| row.status == known.status);
    rows.find(|row| (row.fits)(known)).map_or(&[], |row| row.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_row_that_always_fits() {
        for status in Status::ALL {
            let last = TABLE.iter().rfind(|row| row.status == *status).unwrap();
            assert!(std::ptr::fn_addr_eq(last.fits, always as fn(&Workspace) -> bool), "{status}");
            assert!(TABLE.iter().all(|row| !row.words.is_empty()));
        }
    }
}
