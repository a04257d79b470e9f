//! Recovery: the work of the next writer after a writer crashed.
//!
//! The examination comes first and changes nothing. Then one commit records the findings and
//! completes what was left half done; then damaged files are quarantined; and only then are the
//! crashed writers removed from the registry. A recovery that is killed in between leaves the rest
//! to the next one. A crash is recorded once: the trail names the writers.

pub mod examine;
pub mod repair;
pub mod verify;

use althing_kernel::integrity::IntegrityViolation;
use althing_kernel::recovery::{Plan, Recover, RecoveryCompleted, plan};
use althing_kernel::session::{Disconnect, Lost};
use althing_kernel::{Caller, Command, Principal, Reply, Timestamp};
use althing_trail::Store;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Clock;
use crate::commit::core::{Core, Job};
use crate::commit::shared::Outage;
use crate::commit::writer_registry::{self, CrashedWriter, OutageNote, RecoveryLock, WriterList};
use crate::error::EngineError;
use crate::recovery::examine::{Depth, Examination, Found, Remedy, examine};
use crate::recovery::repair::Repaired;
use crate::snapshot;
use crate::store::home::Home;
use crate::store::quarantine::Quarantine;

/// Result of a recovery, or its plan.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Writers that crashed.
    pub fallen: Vec<CrashedWriter>,
    /// Last entry that had been examined before.
    pub after: u64,
    /// Number of entries examined.
    pub examined: u64,
    /// Problems found.
    pub found: Vec<Found>,
    /// Entries that were repaired from a copy.
    #[serde(rename = "mended")]
    pub repaired: Vec<Repaired>,
    /// Work that was left half done.
    pub plan: Plan,
    /// The recorded event; `None` if there was nothing to record.
    pub completed: Option<RecoveryCompleted>,
    /// Folder of the quarantined files.
    pub aside: Option<PathBuf>,
}

impl Report {
    fn of(writers: &WriterList, examined: &Examination, now: Timestamp) -> Self {
        let state = &examined.world.state;
        Report {
            fallen: writers.crashed.clone(),
            after: examined.after,
            examined: examined.entries,
            found: examined.found.clone(),
            repaired: Vec::new(),
            plan: plan(state, now.max(state.clock())),
            completed: None,
            aside: None,
        }
    }

    /// Whether there is anything to recover from.
    pub fn is_needed(&self) -> bool {
        let nothing = self.fallen.is_empty() && self.found.is_empty() && self.repaired.is_empty();
        !(nothing && self.plan.is_empty())
    }
}

/// The project to recover, with its clock and store.
pub(crate) struct Recovery<'a> {
    pub(crate) home: &'a Home,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) patience: Duration,
    pub(crate) store: &'a dyn Store,
}

impl Recovery<'_> {
    /// Examines everything and returns what recovery would do.
    pub(crate) fn preview(&self) -> Result<Report, EngineError> {
        let writers = writer_registry::list(self.home)?;
        let mut log = self.store.reader()?;
        let examined = examine(self.home, &mut *log, Depth::Everything, &writers)?;
        Ok(Report::of(&writers, &examined, self.clock.now()))
    }

    /// Recovers from all crashed writers. Other processes that want to recover wait.
    pub(crate) fn after_crashes(&self, core: &mut Core) -> Result<(), EngineError> {
        let _turn = RecoveryLock::begin(self.home, self.patience)?;
        loop {
            let writers = writer_registry::list(self.home)?;
            // Another process may have recovered meanwhile.
            if writers.crashed.is_empty() {
                return Ok(());
            }
            self.recover(core, &writers, Depth::Unexamined, &[])?;
        }
    }

    /// Records outages that other processes could not record, then removes their notes. One process
    /// does so at a time.
    pub(crate) fn after_outages(
        &self,
        core: &mut Core,
        writers: &WriterList,
    ) -> Result<(), EngineError> {
        let outage_notes = writer_registry::outage_notes(writers);
        if outage_notes.is_empty() {
            return Ok(());
        }
        let _turn = RecoveryLock::begin(self.home, self.patience)?;
        let noted: Vec<(Outage, OutageNote)> =
            outage_notes.into_iter().filter_map(|note| Some((note.read()?, note))).collect();
        let outages = noted.iter().map(|(outage, _)| outage.clone());
        let Some(outage) = outages.reduce(Outage::and) else { return Ok(()) };
        let caller =
            Caller { principal: Principal::System, key: core.key().public(), session: None };
        core.run_own(self.clock, Job { caller, command: outage.note(), asked: None, door: None })?;
        noted.into_iter().try_for_each(|(_, note)| note.remove())
    }

    /// Records connections that have ended.
    pub(crate) fn after_lost_connections(
        &self,
        core: &mut Core,
        lost: Vec<Lost>,
    ) -> Result<(), EngineError> {
        if lost.is_empty() {
            return Ok(());
        }
        let command = Command::RuntimeDisconnect(Disconnect { lost });
        let caller =
            Caller { principal: Principal::System, key: core.key().public(), session: None };
        core.hold_within(self.patience)?;
        core.run_own(self.clock, Job { caller, command, asked: None, door: None }).map(|_| ())
    }

    /// Recovers at a person's request: everything is examined.
    pub(crate) fn on_request(
        &self,
        core: &mut Core,
        repaired: &[Repaired],
    ) -> Result<Report, EngineError> {
        let _turn = RecoveryLock::begin(self.home, self.patience)?;
        let writers = writer_registry::list(self.home)?;
        self.recover(core, &writers, Depth::Everything, repaired)
    }

    fn recover(
        &self,
        core: &mut Core,
        writers: &WriterList,
        depth: Depth,
        repaired: &[Repaired],
    ) -> Result<Report, EngineError> {
        let mut log = self.store.reader()?;
        let examined = examine(self.home, &mut *log, depth, writers)?;
        drop(log);
        let mut report = Report::of(writers, &examined, self.clock.now());
        report.repaired = repaired.to_vec();
        if report.is_needed() {
            report.completed = self.record(core, &report)?;
            report.aside = self.set_aside(core, &report.found)?;
        }
        snapshot::save_examined(self.home, &examined.world)?;
        // One recovery names a limited number of writers; the next one names the others.
        let is_over = |own: &&CrashedWriter| {
            report.completed.as_ref().is_none_or(|completed| {
                completed.writers.contains(&own.name) || completed.known_writers.contains(&own.name)
            })
        };
        writer_registry::remove_registrations(self.home, writers.crashed.iter().filter(is_over))?;
        Ok(report)
    }

    /// Records the findings in the trail, and completes what was left half done.
    fn record(
        &self,
        core: &mut Core,
        report: &Report,
    ) -> Result<Option<RecoveryCompleted>, EngineError> {
        let repaired = report.repaired.iter().map(Repaired::violation);
        let found = report.found.iter().filter_map(|found| found.violation.clone());
        let findings: Vec<IntegrityViolation> = repaired.chain(found).collect();
        let left_over = report.found.iter().filter(|found| found.violation.is_none()).count();
        let recover = Recover {
            examined: report.examined,
            findings,
            left_over: left_over as u64,
            writers: report.fallen.iter().map(|own| own.name.clone()).collect(),
        };
        let caller =
            Caller { principal: Principal::System, key: core.key().public(), session: None };
        let job =
            Job { caller, command: Command::RuntimeRecover(recover), asked: None, door: None };
        core.hold_within(self.patience)?;
        match core.run_own(self.clock, job)? {
            Reply::Recovery(completed) => Ok(Some(*completed)),
            _ => Ok(None),
        }
    }

    /// Moves damaged and unfinished files to the quarantine.
    fn set_aside(&self, core: &mut Core, found: &[Found]) -> Result<Option<PathBuf>, EngineError> {
        let flagged = |found: &&Found| !matches!(found.remedy, Remedy::None);
        if found.iter().find(flagged).is_none() {
            return Ok(None);
        }
        let aside = Quarantine::of(self.home, "recovered")?;
        for own in found {
            match &own.remedy {
                Remedy::None => {}
                Remedy::Quarantine(path) => aside.take(path)?,
                Remedy::Rebuild(damaged_tile) => {
                    aside.put(&format!("tile-{}", damaged_tile.number), &damaged_tile.stored)?;
                    core.rebuild_tile(damaged_tile)?;
                }
            }
        }
        Ok(aside.kept())
    }
}
