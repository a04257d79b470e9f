//! The results of the demo, counted from the trail.

use althing_engine::Engine;
use althing_kernel::approvals::gate::GateEnd;
use althing_kernel::text::Text;
use althing_kernel::{Actor, Event, Principal, RefusalKind};
use althing_trail::{Commit, Entry};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::app::App;
use crate::error::Error;

/// Counts from the trail.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    agents: BTreeMap<String, Counts>,
    /// How often somebody wanted what somebody else held.
    pub(super) collisions: u64,
    /// How many processes a signal ended.
    pub(super) killed: u64,
    /// How many pieces of work were merged.
    pub(super) merges: u64,
    /// The people who approved something.
    pub(super) approved_by: Vec<String>,
}

/// The results of one agent.
#[derive(Debug, Default, Serialize)]
struct Counts {
    /// How often its process was started.
    started: u64,
    granted: u64,
    refused: u64,
}

impl Summary {
    /// Reads the whole trail.
    pub(super) fn of(engine: &Engine) -> Result<Self, Error> {
        let mut summary = Summary::default();
        let mut all = engine.subscribe(0)?;
        loop {
            let commits = all.next(Duration::ZERO)?;
            if commits.is_empty() {
                return Ok(summary);
            }
            for line in commits.iter().flat_map(Commit::entries) {
                let entry = Entry::read(line)
                    .map_err(|error| Error::unavailable(format!("an unreadable entry: {error}")))?;
                summary.take(&entry);
            }
        }
    }

    fn take(&mut self, entry: &Entry) {
        let draft = &entry.stamped.draft;
        let agent = match &draft.actor {
            Actor::Principal(Principal::Agent(name)) => Some(name.to_string()),
            _ => None,
        };
        let mut own = Counts::default();
        if let Event::LeaseOpened(_) = &draft.event {
            own.granted = 1;
        } else if let Event::ProcessStarted(_) = &draft.event {
            own.started = 1;
        } else if let Event::CommandRefused(refused) = &draft.event {
            own.refused = 1;
            self.collisions += u64::from(refused.kind == RefusalKind::Collision);
        } else if let Event::ProcessEnded(ended) = &draft.event {
            let is_killed = |reason: &Text<1000>| reason.as_str().contains("signal 9");
            self.killed += u64::from(ended.reason.as_ref().is_some_and(is_killed));
        } else if let Event::IntegrationCompleted(_) = &draft.event {
            self.merges += 1;
        } else if let Event::GateResolved(gate) = &draft.event
            && gate.action == GateEnd::Approve
        {
            self.approved_by.push(gate.actor.to_string());
        }
        let is_counted = own.granted + own.started + own.refused > 0;
        let Some(agent) = agent.filter(|_| is_counted) else { return };
        let counts = self.agents.entry(agent).or_default();
        counts.started += own.started;
        counts.granted += own.granted;
        counts.refused += own.refused;
    }

    pub(super) fn print(&self, app: &App) -> Result<(), Error> {
        let row = |(agent, counts): (&String, &Counts)| {
            let Counts { started, granted, refused } = counts;
            vec![agent.clone(), started.to_string(), granted.to_string(), refused.to_string()]
        };
        // The runner starts processes and is none.
        let agents = self.agents.iter().filter(|(_, counts)| counts.started > 0);
        app.out.table(
            &["AGENT", "STARTED", "CLAIMED", "REFUSED"],
            &agents.map(row).collect::<Vec<_>>(),
        )
    }
}
