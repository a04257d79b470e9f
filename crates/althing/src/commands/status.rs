//! `althing status`

use althing_engine::reports::failures::{Failures, OfFailures, Sort, failures};
use althing_engine::row::Source;
use althing_engine::trail_query::{Found, TrailQuery};
use althing_engine::{World, witness};
use althing_kernel::query::{self, LeaseList, LeaseView, SessionView};
use althing_kernel::{Kind, Span, Timestamp};
use althing_services::native;
use althing_trail::log::sqlite::beside;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::leases;
use super::run_summary::Summary;
use crate::app::{App, Project};
use crate::cli::Status;
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::event_summary::summary;
use crate::naming::short_ids;
use crate::output::{Tone, counted, from_now, one_line, show_bytes, show_span};
use crate::screen;
use crate::screen::written;
use crate::span::{parse_secs, show_secs};

/// How many recent refusals are shown, and among how many last entries they are looked for.
const REFUSALS: usize = 5;
const REFUSALS_AMONG: u64 = 2_000;

/// How often the picture is redrawn while there is no news.
const REFRESH: Duration = Duration::from_secs(10);
/// How long news is gathered before it is shown.
const SETTLE: Duration = Duration::from_millis(100);

/// The state of the project, as it is shown.
struct Overview {
    world: Arc<World>,
    now: Timestamp,
    leases: Vec<LeaseView>,
    sessions: Vec<SessionView>,
    refusals: Vec<Found>,
    store_bytes: u64,
    run: Option<Summary>,
    failures: Failures,
    /// The caller's own task and mail, if somebody is named.
    own: Option<native::Overview>,
}

pub(crate) fn run(app: &App, args: &Status) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let window = parse_secs(&args.window).ok().and_then(|secs| u64::try_from(secs).ok());
    let Some(window) = window.filter(|window| *window > 0) else {
        let message = format!("--window: {:?} is no length of time; write 90m or 2d", args.window);
        return Err(Error::usage(message));
    };
    let asked = OfFailures { window_s: Some(window), least: Some(args.least) };
    if args.watch {
        return watch(&context, &asked);
    }
    Overview::of(&context, &asked)?.show(&context)
}

/// Shows the overview again whenever the trail has news, until the process is ended: as a picture
/// that is redrawn on a terminal, otherwise one after another.
fn watch(context: &CommandContext<'_>, asked: &OfFailures) -> Result<(), Error> {
    let out = context.out();
    let engine = context.engine()?;
    let mut subscription = engine.subscribe(engine.world()?.seq())?;
    let mut first = true;
    loop {
        let overview = Overview::of(context, asked)?;
        if out.draws() {
            screen::redraw(first, || overview.print(context))?;
        } else {
            if !first && !out.json {
                out.line("")?;
            }
            overview.show(context)?;
            written(std::io::stdout().flush())?;
        }
        first = false;
        // Times and leases go on without news, which only matters to those who look at it.
        let patience = if out.draws() { REFRESH } else { Duration::from_hours(1) };
        while subscription.next(patience)?.is_empty() && !out.draws() {}
        // Gather news that comes together, and redraw once.
        std::thread::sleep(SETTLE);
        while !subscription.next(Duration::ZERO)?.is_empty() {}
    }
}

impl Overview {
    fn of(context: &CommandContext<'_>, asked: &OfFailures) -> Result<Self, Error> {
        let (project, engine) = (&context.project, context.engine()?);
        let world = engine.world()?;
        let moment = engine.moment(&world.state);
        let mut leases = query::leases(&world.state, moment, &LeaseList::default());
        leases.sort_by_key(|lease| lease.epoch);
        let refused = TrailQuery {
            kinds: vec![
                Kind::CommandRefused,
                Kind::AuthenticationFailed,
                Kind::WorkspaceRejected,
                Kind::EnvelopeRejected,
                Kind::CheckpointRejected,
                Kind::CapabilityDenied,
            ],
            limit: Some(REFUSALS),
            last: true,
            after: Some(world.seq().saturating_sub(REFUSALS_AMONG)),
            ..TrailQuery::default()
        };
        let scope = engine.scope(project.asker()?.as_ref())?;
        let source = Source::Project(engine.clone());
        Ok(Overview {
            now: engine.now(),
            failures: failures(&source, &scope, moment, asked)?,
            leases,
            sessions: query::sessions(&world.state, moment),
            refusals: match engine.narrowed(refused, project.asker()?.as_ref())? {
                Some(refused) => refused.find(&mut *engine.reader()?)?,
                None => Vec::new(),
            },
            store_bytes: store_bytes(project.home.store()),
            run: Summary::of(context)?,
            own: match context.request.principal() {
                Some(_) => Some(native::overview(&context.request)?),
                None => None,
            },
            world,
        })
    }

    /// How far the trail's clock is ahead of this machine's.
    fn ahead(&self) -> Span {
        self.world.state.clock().since(self.now)
    }

    fn show(&self, context: &CommandContext<'_>) -> Result<(), Error> {
        if context.out().json {
            self.print_json(&context.app, &context.project)
        } else {
            self.print(context)
        }
    }

    fn print_json(&self, app: &App, project: &Project) -> Result<(), Error> {
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
            "own": self.own,
            "recent_refusals": refusals,
            "failures": self.failures,
            "witness": witness::read(&project.home).head().map(|head| head.head().size),
        }))
    }

    fn print(&self, context: &CommandContext<'_>) -> Result<(), Error> {
        let CommandContext { app, project, .. } = context;
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
            let ahead = show_secs(self.ahead().secs());
            let words = format!(
                "the trail's clock is {ahead} ahead of this machine's: nothing expires until then"
            );
            app.out.wrapped(0, Tone::Bad, &words)?;
        }
        self.print_own(app)?;
        app.out.line("")?;
        leases::table(app, &self.leases, self.now)?;
        if let Some(run) = &self.run {
            run.print(context)?;
        }
        self.print_failures(app)?;
        // Leave out refusals that are listed as repeated failures already.
        let single: Vec<&Found> =
            self.refusals.iter().filter(|found| !self.failures.covers(&found.line)).collect();
        if !single.is_empty() {
            app.out.line("\nrecently refused:")?;
        }
        for Found { entry, .. } in single {
            let (at, draft) = (from_now(entry.stamped.at, self.now), &entry.stamped.draft);
            app.out.cut_line(format!("  {at}  {}  {}", draft.actor, summary(&draft.event)))?;
        }
        Ok(())
    }
}

impl Overview {
    /// Prints the caller's own task and mail; nothing if there are none.
    fn print_own(&self, app: &App) -> Result<(), Error> {
        let Some(own) = &self.own else { return Ok(()) };
        if let Some(task) = &own.task {
            app.out.cut_line(format!("your task: {}", one_line(&short_ids(task))))?;
        }
        if own.letters > 0 {
            let count = counted(own.letters as u64, "message waits", "messages wait");
            app.out.line(format!("{count} for you; `althing inbox` lists them"))?;
        }
        Ok(())
    }

    /// Prints repeated failures, a few lines each; nothing if there are none.
    fn print_failures(&self, app: &App) -> Result<(), Error> {
        let Failures { bursts, window_s, least, gap_s, .. } = &self.failures;
        if bursts.is_empty() {
            return Ok(());
        }
        app.out.line("\nkeeps going wrong:")?;
        for burst in bursts {
            let sort = match burst.sort {
                Sort::Workspace => "workspaces failed",
                Sort::Refused => "commands were refused",
                Sort::Mail => "messages never arrived",
                Sort::Authentication => "times somebody was not who they said",
            };
            let span = show_span(burst.last_at.since(burst.first_at));
            let places = burst.places as u64;
            let across = match burst.sort {
                Sort::Workspace | Sort::Mail => counted(places, "workspace", "workspaces"),
                Sort::Refused | Sort::Authentication => counted(places, "caller", "callers"),
            };
            let words = format!("{} {sort} within {span}, {across}: {}", burst.count, burst.reason);
            let tone = if burst.widespread { Tone::Bad } else { Tone::Warn };
            app.out.wrapped(2, tone, &one_line(&short_ids(&words)))?;
            let mut facts = vec![
                format!("first {}", from_now(burst.first_at, self.now)),
                format!("last {}", from_now(burst.last_at, self.now)),
            ];
            for (what, names) in
                [("owner", &burst.owners), ("role", &burst.roles), ("group", &burst.groups)]
            {
                if !names.is_empty() {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    facts.push(format!("{what} {}", names.join(" ")));
                }
            }
            facts.push(format!("such as entry {}: {}", burst.example_seq, burst.example));
            let facts = one_line(&short_ids(&facts.join(", ")));
            app.out.wrapped(4, Tone::Faint, &facts)?;
        }
        let explained = format!(
            "(shown: {least} or more alike in the last {}, never more than {} apart)",
            show_secs(*window_s),
            show_secs(*gap_s)
        );
        app.out.wrapped(2, Tone::Faint, &explained)
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
