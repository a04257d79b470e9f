//! `althing claim`, `claims`, `check`

use althing_engine::{Client, Engine, EngineError};
use althing_kernel::lease::{Open, Surfaces, TTL_SECS_MAX};
use althing_kernel::query::{Answer, CheckReport, LeaseCheck, LeaseList, LeaseView, Query};
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, RefusalKind, Reply, Rule, Surface, Timestamp};
use serde_json::json;
use std::time::{Duration, Instant};

use crate::app::{App, Project};
use crate::cli::{Check, Claim, Claims};
use crate::error::Error;
use crate::naming::{Naming, short};
use crate::output::{Tone, describe, from_now, one_line};
use crate::settings::ttl_option;
use crate::span::parse_secs;
use crate::surfaces;
use crate::table::{free_text, whole};

pub(crate) fn claim(app: &App, args: &Claim) -> Result<(), Error> {
    let project = app.project()?;
    let surfaces = surfaces::read(&project.place, &args.surfaces, args.literal)?;
    let ttl = match &args.ttl {
        Some(text) => ttl_option(text)?,
        None => project.settings.lease_ttl.value,
    };
    let command = Command::LeaseOpen(Open {
        replace: false,
        request_id: None,
        reuse: None,
        purpose: text(args.purpose.as_deref())?,
        surfaces,
        task: text(args.task.as_deref())?,
        ttl_s: Some(ttl),
    });
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let reply = match &args.wait {
        None => client.execute(command)?,
        Some(text) => claim_when_free(app, &engine, &client, &command, wait_time(text)?)?,
    };
    show_lease(app, "holds", &lease_of(reply)?, engine.now())
}

/// The value of `--wait`.
pub(super) fn wait_time(text: &str) -> Result<Duration, Error> {
    let secs = parse_secs(text).ok().and_then(|secs| u64::try_from(secs).ok());
    let secs = secs.filter(|secs| *secs <= TTL_SECS_MAX).ok_or_else(|| {
        let message = format!("--wait: {text:?} is not a time from 0s to 30d");
        Error::usage(message).hint("Write how long to wait, such as `--wait 10m`.")
    })?;
    Ok(Duration::from_secs(secs))
}

/// Claims, and if somebody is in the way, again whenever something ended, until the time is over.
fn claim_when_free(
    app: &App,
    engine: &Engine,
    client: &Client,
    command: &Command,
    time: Duration,
) -> Result<Reply, Error> {
    let deadline = Instant::now() + time;
    let mut subscription = engine.subscribe(engine.world()?.seq())?;
    loop {
        // The host of whoever is in the way may have gone while this waited.
        engine.record_lost()?;
        let refused = match client.execute(command.clone()) {
            Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::Collision => refusal,
            other => return Ok(other?),
        };
        let Command::LeaseOpen(open) = command else { return Err(Error::from(*refused)) };
        app.out.note(format!("waiting: {}", one_line(&refused.message)));
        // Asking costs nothing; claiming again leaves an entry each time.
        let holder = Some(client.principal().clone());
        let check = LeaseCheck { holder, epoch: None, surfaces: open.surfaces.clone() };
        let check = Query::LeaseCheck(check);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::from(*refused));
            }
            if matches!(engine.ask(&check)?, Answer::Check(report) if report.free) {
                break;
            }
            // Leases also end by time alone, which nothing announces.
            subscription.next(left.min(Duration::from_millis(200)))?;
        }
    }
}

/// A text from the command line, within its limit.
pub(super) fn text<const MAX: usize>(given: Option<&str>) -> Result<Option<Text<MAX>>, Error> {
    given
        .map(|given| {
            Text::new(given).map_err(|error| Error::misuse(Rule::Limits, error.to_string()))
        })
        .transpose()
}

pub(super) fn lease_of(reply: Reply) -> Result<LeaseView, Error> {
    match reply {
        Reply::Lease(lease) => Ok(lease),
        other => Err(Error::unavailable(format!("an unexpected reply: {other:?}"))),
    }
}

pub(super) fn show_lease(
    app: &App,
    verb: &str,
    lease: &LeaseView,
    now: Timestamp,
) -> Result<(), Error> {
    if app.out.json {
        return app.out.value(lease);
    }
    app.out.line(format!(
        "{} {verb} {}, which ends {}",
        lease.holder,
        app.out.paint(Tone::Strong, &list(&lease.surfaces)),
        from_now(lease.expires_at, now),
    ))?;
    app.out.line(format!("lease {}  epoch {}", short(&lease.lease), lease.epoch))
}

/// Surfaces on one line.
pub(crate) fn list(surfaces: &[Surface]) -> String {
    one_line(&surfaces.iter().map(Surface::as_str).collect::<Vec<_>>().join(" "))
}

pub(crate) fn claims(app: &App, args: &Claims) -> Result<(), Error> {
    let project = app.project()?;
    let holder = match (&args.holder, args.mine) {
        (Some(text), _) => {
            Some(principal(text).map_err(|error| Error::usage(format!("--holder: {error}")))?)
        }
        (None, true) => Some(project.asker()?.ok_or_else(|| {
            Error::misuse(Rule::WhoAreYou, "say whose leases: `--as NAME` or `--user NAME`")
        })?),
        (None, false) => None,
    };
    let surfaces = match args.surfaces.as_slice() {
        [] => None,
        given => Some(surfaces::read(&project.place, given, args.literal)?),
    };
    let engine = project.engine()?;
    let query = Query::LeaseList(LeaseList { holder, surfaces });
    let Answer::Leases(mut leases) = engine.ask(&query)? else {
        return Err(Error::unavailable("an unexpected answer"));
    };
    leases.sort_by_key(|lease| lease.epoch);
    if app.out.json {
        return app.out.value(&leases);
    }
    if leases.is_empty() && (query_is_narrow(args)) {
        return app.out.line("no live lease fits");
    }
    table(app, &leases, engine.now())
}

fn query_is_narrow(args: &Claims) -> bool {
    args.mine || args.holder.is_some() || !args.surfaces.is_empty()
}

/// A holder as listings show it, or an agent's bare name.
pub(crate) fn principal(text: &str) -> Result<Principal, String> {
    let parsed = text.parse::<Principal>();
    match althing_kernel::AgentName::new(text) {
        Ok(agent) if parsed.is_err() => Ok(Principal::Agent(agent)),
        _ => parsed.map_err(|error| error.to_string()),
    }
}

/// Prints leases for people.
pub(crate) fn table(app: &App, leases: &[LeaseView], now: Timestamp) -> Result<(), Error> {
    if leases.is_empty() {
        return app.out.line("nobody holds anything");
    }
    let naming = Naming::of(leases.iter().map(|lease| &lease.lease));
    let row = |lease: &LeaseView| {
        vec![
            lease.holder.to_string(),
            list(&lease.surfaces),
            lease.host_gone.map_or_else(
                || from_now(lease.expires_at, now),
                |gone| format!("{} (host gone)", from_now(gone.until, now)),
            ),
            lease.epoch.to_string(),
            naming.short(&lease.lease),
            lease.task.clone().unwrap_or_default(),
            lease.purpose.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = leases.iter().map(row).collect();
    let columns = [
        whole("HOLDER"),
        free_text("SURFACES"),
        whole("ENDS"),
        whole("EPOCH"),
        whole("LEASE"),
        free_text("TASK"),
        free_text("FOR"),
    ];
    app.out.table(&columns, &rows)
}

/// The same surfaces, with each path that is a file here meaning just that file: what would lie
/// below it if it were a folder need not be held. None if nothing is a file.
fn as_files(project: &Project, surfaces: &Surfaces) -> Option<Surfaces> {
    let mut any = false;
    let exact = |surface: &Surface| {
        let is_file = !surface.is_glob() && project.root().join(surface.as_str()).is_file();
        any |= is_file;
        if is_file { Surface::new(&format!("{{{surface}}}")).ok() } else { Some(surface.clone()) }
    };
    let list: Option<Vec<Surface>> = surfaces.as_slice().iter().map(exact).collect();
    list.filter(|_| any).and_then(|list| Surfaces::new(list).ok())
}

/// The report with what is held of files rather than of everything that may be below them.
fn held_as_files(
    engine: &Engine,
    query: &Query,
    files: Surfaces,
    report: CheckReport,
) -> Result<CheckReport, Error> {
    let Query::LeaseCheck(check) = query else { return Ok(report) };
    let check = Query::LeaseCheck(LeaseCheck { surfaces: files, ..check.clone() });
    match engine.ask(&check)? {
        Answer::Check(files) => {
            Ok(CheckReport { held: files.held, epoch_valid: files.epoch_valid, ..report })
        }
        _ => Ok(report),
    }
}

pub(crate) fn check(app: &App, args: &Check) -> Result<(), Error> {
    let project = app.project()?;
    let surfaces = surfaces::read(&project.place, &args.surfaces, args.literal)?;
    let holder = project.asker()?;
    if args.epoch.is_some() && holder.is_none() {
        return Err(Error::misuse(
            Rule::WhoAreYou,
            "say whose epoch: `--as NAME` or `--user NAME`",
        ));
    }
    let engine = project.engine()?;
    let query = LeaseCheck { holder, epoch: args.epoch, surfaces: surfaces.clone() };
    let query = Query::LeaseCheck(query);
    let Answer::Check(report) = engine.ask(&query)? else {
        return Err(Error::unavailable("an unexpected answer"));
    };
    if let Some(first) = report.collisions.first() {
        let message = match report.collisions.len() {
            1 => describe(first),
            more => format!("{} (and {} more)", describe(first), more - 1),
        };
        return Err(Error::collision(message).with(json!({ "collisions": report.collisions })));
    }
    let report = match as_files(&project, &surfaces) {
        Some(files) => held_as_files(&engine, &query, files, report)?,
        None => report,
    };
    if report.epoch_valid == Some(false) {
        let message = "you do not hold it under that epoch";
        return Err(Error::not_found(message).with_rule(Rule::Fenced));
    }
    if app.out.json {
        return app.out.value(&report);
    }
    app.out.line(if report.held { "free for you; you hold it" } else { "free" })
}
