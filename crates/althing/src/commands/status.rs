//! `althing status`

use althing_engine::trail_query::{Found, TrailQuery};
use althing_engine::{World, witness};
use althing_kernel::query::{self, LeaseList, LeaseView, SessionView};
use althing_kernel::{Kind, Span, Timestamp};
use althing_trail::log::sqlite::beside;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

use super::leases;
use super::run_summary::Summary;
use crate::app::{App, Project};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::output::{Tone, clock_time, counted, from_now, one_line, show_bytes};
use crate::said::summary;

/// How many recent refusals are shown, and among how many last entries they are looked for.
const REFUSALS: usize = 5;
const REFUSALS_AMONG: u64 = 2_000;

/// What is shown.
struct Overview {
    world: Arc<World>,
    now: Timestamp,
    leases: Vec<LeaseView>,
    sessions: Vec<SessionView>,
    refusals: Vec<Found>,
    store_bytes: u64,
    run: Option<Summary>,
}

pub(crate) fn run(app: &App) -> Result<(), Failure> {
    let desk = Desk::open(app)?;
    let overview = Overview::of(&desk)?;
    if app.out.json {
        return overview.print_json(app, &desk.project);
    }
    overview.print(&desk)
}

impl Overview {
    fn of(desk: &Desk<'_>) -> Result<Self, Failure> {
        let Desk { project, engine, .. } = desk;
        let world = engine.world()?;
        let moment = engine.moment(&world.state);
        let mut leases = query::leases(&world.state, moment, &LeaseList::default());
        leases.sort_by_key(|lease| lease.epoch);
        let refused = TrailQuery {
            kinds: vec![Kind::CommandRefused, Kind::AuthenticationFailed],
            limit: Some(REFUSALS),
            last: true,
            after: Some(world.seq().saturating_sub(REFUSALS_AMONG)),
            ..TrailQuery::default()
        };
        Ok(Overview {
            now: engine.now(),
            leases,
            sessions: query::sessions(&world.state, moment),
            refusals: match engine.narrowed(refused, project.viewer()?.as_ref())? {
                Some(refused) => refused.find(&mut *engine.reader()?)?,
                None => Vec::new(),
            },
            store_bytes: store_bytes(project.home.store()),
            run: Summary::of(desk)?,
            world,
        })
    }

    /// How far the trail's clock is ahead of this machine's.
    fn ahead(&self) -> Span {
        self.world.state.clock().since(self.now)
    }

    fn print_json(&self, app: &App, project: &Project) -> Result<(), Failure> {
        let state = &self.world.state;
        let refusals: Vec<_> = self.refusals.iter().filter_map(|found| found.raw().ok()).collect();
        app.out.value(&json!({
            "project": state.project().map(|project| &project.id),
            "name": state.project().map(|project| project.name.to_string()),
            "root": project.root().to_string_lossy(),
            "state": project.home.root().to_string_lossy(),
            "store_bytes": self.store_bytes,
            "entries": self.world.seq(),
            "last_entry_at": state.clock(),
            "clock_ahead_us": self.ahead().micros(),
            "agents": state.agents().count(),
            "users": state.user_count(),
            "sessions": self.sessions,
            "leases": self.leases,
            "run": self.run,
            "recent_refusals": refusals,
            "witness": witness::read(&project.home).head().map(|head| head.head().size),
        }))
    }

    fn print(&self, desk: &Desk<'_>) -> Result<(), Failure> {
        let Desk { app, project, .. } = desk;
        let state = &self.world.state;
        let name = state.project().map(|project| project.name.to_string()).unwrap_or_default();
        let title = app.out.paint(Tone::Strong, &one_line(&name));
        app.out.line(format!("{title}  {}", project.root().display()))?;
        app.out.line(format!(
            "{}, the last {}; {} on disk",
            counted(self.world.seq(), "entry", "entries"),
            from_now(state.clock(), self.now),
            show_bytes(self.store_bytes)
        ))?;
        app.out.line(format!(
            "{}, {}, {}, {}",
            counted(state.agents().count() as u64, "agent", "agents"),
            counted(state.user_count() as u64, "person", "people"),
            counted(self.sessions.len() as u64, "open session", "open sessions"),
            counted(self.leases.len() as u64, "live lease", "live leases")
        ))?;
        if self.ahead() > Span::from_secs(5) {
            let ahead = crate::span::show_secs(self.ahead().secs());
            app.out.line(app.out.paint(
                Tone::Bad,
                &format!("the trail's clock is {ahead} ahead of this machine's: nothing expires until then"),
            ))?;
        }
        app.out.line("")?;
        leases::table(app, &self.leases, self.now)?;
        if let Some(run) = &self.run {
            run.print(desk)?;
        }
        if !self.refusals.is_empty() {
            app.out.line("\nrecently refused:")?;
        }
        for Found { entry, .. } in &self.refusals {
            let (at, draft) = (clock_time(entry.stamped.at), &entry.stamped.draft);
            app.out.line(format!("  {at}  {}  {}", draft.actor, summary(&draft.event)))?;
        }
        Ok(())
    }
}

/// The store and its journal.
fn store_bytes(store: &Path) -> u64 {
    file_bytes(store) + file_bytes(&beside(store, "-wal"))
}

/// How large a file is; one that is not there is none.
pub(super) fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}
