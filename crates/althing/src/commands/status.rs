//! `althing status`

use althing_engine::trail_query::TrailQuery;
use althing_engine::witness;
use althing_kernel::query::{Answer, Everything, LeaseList, Query};
use althing_kernel::{Event, Kind, Span};
use serde_json::json;

use super::leases;
use crate::app::App;
use crate::failure::Failure;
use crate::output::{Tone, clock_time, from_now, show_bytes};

/// How many recent refusals are shown.
const REFUSALS: usize = 5;

pub(crate) fn run(app: &App) -> Result<(), Failure> {
    let project = app.project()?;
    let engine = project.engine()?;
    let world = engine.world()?;
    let now = engine.now();
    let Answer::Leases(mut live) = engine.ask(&Query::LeaseList(LeaseList::default()))? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    live.sort_by_key(|lease| lease.epoch);
    let Answer::Sessions(sessions) = engine.ask(&Query::SessionList(Everything {}))? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    let query = TrailQuery {
        kinds: vec![Kind::CommandRefused, Kind::AuthenticationFailed],
        limit: Some(REFUSALS),
        last: true,
        after: Some(world.seq().saturating_sub(2_000)),
        ..TrailQuery::default()
    };
    let refusals = query.find(&mut *engine.reader()?)?;
    let store = std::fs::metadata(project.home.store()).map_or(0, |data| data.len());
    let ahead = world.state.clock().since(now);
    let name = world.state.project().map(|project| project.name.to_string()).unwrap_or_default();
    let id = world.state.project().map(|project| project.id.to_string()).unwrap_or_default();

    if app.out.json {
        let refusals: Vec<_> = refusals.iter().filter_map(|found| found.raw().ok()).collect();
        return app.out.value(&json!({
            "project": id,
            "name": name,
            "root": project.root(),
            "state": project.home.root(),
            "store_bytes": store,
            "entries": world.seq(),
            "last_entry_at": world.state.clock(),
            "clock_ahead_us": ahead.micros(),
            "agents": world.state.agents().count(),
            "users": world.state.user_count(),
            "sessions": sessions,
            "leases": live,
            "recent_refusals": refusals,
            "witness": witness::read(&project.home).map(|head| head.head().size),
        }));
    }
    app.out.line(format!(
        "{}  {}",
        app.out.paint(Tone::Strong, &name),
        project.root().display()
    ))?;
    app.out.line(format!(
        "{} entries, the last {}; {} on disk",
        world.seq(),
        from_now(world.state.clock(), now),
        show_bytes(store)
    ))?;
    app.out.line(format!(
        "{} agents, {} people, {} open sessions, {} live leases",
        world.state.agents().count(),
        world.state.user_count(),
        sessions.len(),
        live.len()
    ))?;
    if ahead > Span::from_secs(5) {
        app.out.line(app.out.paint(
            Tone::Bad,
            &format!(
                "the trail's clock is {} ahead of this machine's: nothing expires until then",
                crate::span::show_secs(ahead.secs())
            ),
        ))?;
    }
    app.out.line("")?;
    leases::table(app, &live, now)?;
    if !refusals.is_empty() {
        app.out.line("\nrecently refused:")?;
    }
    for found in &refusals {
        let stamped = &found.entry.stamped;
        let what = match &stamped.draft.event {
            Event::CommandRefused(no) => format!("{} [{}] {}", no.command, no.rule, no.message),
            Event::AuthenticationFailed(no) => format!("{}: {}", no.entity, no.reason),
            _ => String::new(),
        };
        app.out.line(format!("  {}  {}  {what}", clock_time(stamped.at), stamped.draft.actor))?;
    }
    Ok(())
}
