//! Recovery: what the next writer does before it serves, if one before it did not end well.
//!
//! Looking comes first and changes nothing. Then one commit says what was found and makes good
//! what was left half done; then what is damaged is set aside; and only then is whoever ended
//! struck off the list. Whoever is killed in between leaves the rest to the next one. A death is in
//! the trail once: the trail names those it was about.

use althing_kernel::recovery::{Plan, Recover, RecoveryCompleted, plan};
use althing_kernel::violation::IntegrityViolation;
use althing_kernel::{Caller, Command, Principal, Reply, Timestamp};
use althing_trail::Store;
use serde::Serialize;
use std::path::PathBuf;

use crate::aside::Aside;
use crate::core::{Core, Job};
use crate::engine::Options;
use crate::error::EngineError;
use crate::examine::{Depth, Examination, Found, Remedy, examine};
use crate::home::Home;
use crate::mend::Mended;
use crate::presence::{self, Fallen, Recovering, Roll, Word};
use crate::shared::Outage;
use crate::snapshot;

/// What recovery found and did, or would do.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Those who ended without saying so.
    pub fallen: Vec<Fallen>,
    /// The last entry that had been examined before.
    pub after: u64,
    /// How many entries were examined.
    pub examined: u64,
    /// What was not as it should be.
    pub found: Vec<Found>,
    /// Entries that were put back from a copy.
    pub mended: Vec<Mended>,
    /// What was left half done.
    pub plan: Plan,
    /// What the trail says of it; nothing, if there was nothing to say.
    pub completed: Option<RecoveryCompleted>,
    /// Where what was set aside is now.
    pub aside: Option<PathBuf>,
}

impl Report {
    fn of(roll: &Roll, examined: &Examination, now: Timestamp) -> Self {
        let state = &examined.world.state;
        Report {
            fallen: roll.fallen.clone(),
            after: examined.after,
            examined: examined.entries,
            found: examined.found.clone(),
            mended: Vec::new(),
            plan: plan(state, now.max(state.clock())),
            completed: None,
            aside: None,
        }
    }

    /// Whether there is anything to recover from.
    pub fn is_needed(&self) -> bool {
        let nothing = self.fallen.is_empty() && self.found.is_empty() && self.mended.is_empty();
        !(nothing && self.plan.is_empty())
    }
}

/// Where recovery takes place.
pub(crate) struct Ground<'a> {
    pub(crate) home: &'a Home,
    pub(crate) options: &'a Options,
    pub(crate) store: &'a dyn Store,
}

impl Ground<'_> {
    /// Looks at everything and says what recovery would do.
    pub(crate) fn look(&self) -> Result<Report, EngineError> {
        let roll = presence::roll(self.home)?;
        let mut log = self.store.reader()?;
        let examined = examine(self.home, &mut *log, Depth::Everything, &roll)?;
        Ok(Report::of(&roll, &examined, self.options.clock.now()))
    }

    /// Recovers from everybody who ended without saying so. Whoever else would waits.
    pub(crate) fn after_deaths(&self, core: &mut Core) -> Result<(), EngineError> {
        let _turn = Recovering::begin(self.home, self.options.patience)?;
        loop {
            let roll = presence::roll(self.home)?;
            // Somebody else may have done it meanwhile.
            if roll.fallen.is_empty() {
                return Ok(());
            }
            self.recover(core, &roll, Depth::Unexamined, &[])?;
        }
    }

    /// Records what others could not: that the store had refused them. Word of it goes only once
    /// it is on record, and one process at a time sees to it.
    pub(crate) fn after_outages(&self, core: &mut Core, roll: &Roll) -> Result<(), EngineError> {
        let words = presence::words(roll);
        if words.is_empty() {
            return Ok(());
        }
        let _turn = Recovering::begin(self.home, self.options.patience)?;
        let told: Vec<(Outage, Word)> =
            words.into_iter().filter_map(|word| Some((word.read()?, word))).collect();
        let outages = told.iter().map(|(outage, _)| outage.clone());
        let Some(outage) = outages.reduce(Outage::and) else { return Ok(()) };
        let caller =
            Caller { principal: Principal::System, key: core.key().public(), session: None };
        core.run_own(&*self.options.clock, Job { caller, command: outage.note(), proof: None })?;
        told.into_iter().try_for_each(|(_, word)| word.forget())
    }

    /// Recovers because a person asked for it: everything is examined.
    pub(crate) fn on_request(
        &self,
        core: &mut Core,
        mended: &[Mended],
    ) -> Result<Report, EngineError> {
        let _turn = Recovering::begin(self.home, self.options.patience)?;
        let roll = presence::roll(self.home)?;
        self.recover(core, &roll, Depth::Everything, mended)
    }

    fn recover(
        &self,
        core: &mut Core,
        roll: &Roll,
        depth: Depth,
        mended: &[Mended],
    ) -> Result<Report, EngineError> {
        let mut log = self.store.reader()?;
        let examined = examine(self.home, &mut *log, depth, roll)?;
        drop(log);
        let mut report = Report::of(roll, &examined, self.options.clock.now());
        report.mended = mended.to_vec();
        if report.is_needed() {
            report.completed = self.record(core, &report)?;
            report.aside = self.set_aside(core, &report.found)?;
        }
        snapshot::save_examined(self.home, &examined.world)?;
        // One recovery is about so many and no more; the next takes the others.
        let is_over = |own: &&Fallen| {
            report.completed.as_ref().is_none_or(|completed| {
                completed.writers.contains(&own.name) || completed.known_writers.contains(&own.name)
            })
        };
        presence::strike(self.home, roll.fallen.iter().filter(is_over))?;
        Ok(report)
    }

    /// Says in the trail what was found, and makes good what was left half done.
    fn record(
        &self,
        core: &mut Core,
        report: &Report,
    ) -> Result<Option<RecoveryCompleted>, EngineError> {
        let mended = report.mended.iter().map(Mended::violation);
        let found = report.found.iter().filter_map(|found| found.violation.clone());
        let findings: Vec<IntegrityViolation> = mended.chain(found).collect();
        let left_over = report.found.iter().filter(|found| found.violation.is_none()).count();
        let recover = Recover {
            examined: report.examined,
            findings,
            left_over: left_over as u64,
            writers: report.fallen.iter().map(|own| own.name.clone()).collect(),
        };
        let caller =
            Caller { principal: Principal::System, key: core.key().public(), session: None };
        let job = Job { caller, command: Command::RuntimeRecover(recover), proof: None };
        core.hold_within(self.options.patience)?;
        match core.run_own(&*self.options.clock, job)? {
            Reply::Recovery(completed) => Ok(Some(*completed)),
            _ => Ok(None),
        }
    }

    /// Moves what is damaged or was never finished where nobody deletes it unseen.
    fn set_aside(&self, core: &mut Core, found: &[Found]) -> Result<Option<PathBuf>, EngineError> {
        let flagged = |found: &&Found| !matches!(found.remedy, Remedy::None);
        if found.iter().find(flagged).is_none() {
            return Ok(None);
        }
        let aside = Aside::of(self.home, "recovered")?;
        for own in found {
            match &own.remedy {
                Remedy::None => {}
                Remedy::SetAside(path) => aside.take(path)?,
                Remedy::Remake(misfit) => {
                    aside.put(&format!("tile-{}", misfit.number), &misfit.stored)?;
                    core.remake(misfit)?;
                }
            }
        }
        Ok(aside.kept())
    }
}
