//! `althing claim`, `release`, `renew`, `claims`, `check`

use althing_engine::{Client, Engine};
use althing_kernel::lease::{Force, Open, Release as ReleaseArgs, Renew as RenewArgs};
use althing_kernel::query::{Answer, LeaseCheck, LeaseList, LeaseView, Query};
use althing_kernel::text::Text;
use althing_kernel::{Command, LeaseId, Principal, Reply, Rule, Surface, Timestamp};
use serde_json::json;

use crate::app::{App, Project};
use crate::cli::{Check, Claim, Claims, Release, Renew};
use crate::failure::Failure;
use crate::output::{Tone, clock_time, describe, from_now, one_line};
use crate::settings::read_ttl;
use crate::surfaces;

pub(crate) fn claim(app: &App, args: &Claim) -> Result<(), Failure> {
    let project = app.project()?;
    let surfaces = surfaces::read(&project.place, &args.surfaces, args.literal)?;
    let ttl = match &args.ttl {
        Some(text) => read_ttl(text).map_err(|error| Failure::misuse(Rule::Limits, error))?,
        None => project.settings.lease_ttl.value,
    };
    let command = Command::LeaseOpen(Open {
        purpose: text(args.purpose.as_deref())?,
        surfaces,
        task: text(args.task.as_deref())?,
        ttl_s: Some(ttl),
    });
    let engine = project.engine()?;
    let lease = lease_of(project.client(app, &engine)?.execute(command)?)?;
    show_lease(app, "holds", &lease, engine.now())
}

/// A text from the command line, within its limit.
fn text<const MAX: usize>(given: Option<&str>) -> Result<Option<Text<MAX>>, Failure> {
    given
        .map(|given| {
            Text::new(given).map_err(|error| Failure::misuse(Rule::Limits, error.to_string()))
        })
        .transpose()
}

fn lease_of(reply: Reply) -> Result<LeaseView, Failure> {
    match reply {
        Reply::Lease(lease) => Ok(lease),
        other => Err(Failure::unavailable(format!("an unexpected reply: {other:?}"))),
    }
}

fn show_lease(app: &App, verb: &str, lease: &LeaseView, now: Timestamp) -> Result<(), Failure> {
    if app.out.json {
        return app.out.value(lease);
    }
    app.out.line(format!(
        "{} {verb} {} until {} ({})",
        lease.holder,
        app.out.paint(Tone::Strong, &list(&lease.surfaces)),
        clock_time(lease.expires_at),
        from_now(lease.expires_at, now),
    ))?;
    app.out.line(format!("lease {}  epoch {}", lease.lease, lease.epoch))
}

/// Surfaces on one line.
pub(crate) fn list(surfaces: &[Surface]) -> String {
    one_line(&surfaces.iter().map(Surface::as_str).collect::<Vec<_>>().join(" "))
}

/// The live leases, of one holder or of everybody.
fn live(engine: &Engine, holder: Option<Principal>) -> Result<Vec<LeaseView>, Failure> {
    match engine.ask(&Query::LeaseList(LeaseList { holder, surfaces: None }))? {
        Answer::Leases(leases) => Ok(leases),
        _ => Err(Failure::unavailable("an unexpected answer")),
    }
}

/// The leases somebody names: by id, by a unique beginning of one, or by a surface they hold.
fn named(
    project: &Project,
    leases: &[LeaseView],
    names: &[String],
) -> Result<Vec<LeaseView>, Failure> {
    let mut found: Vec<LeaseView> = Vec::new();
    for name in names {
        let one = named_one(project, leases, name)?;
        if !found.iter().any(|lease| lease.lease == one.lease) {
            found.push(one);
        }
    }
    Ok(found)
}

fn named_one(project: &Project, leases: &[LeaseView], name: &str) -> Result<LeaseView, Failure> {
    if let Some(exact) = leases.iter().find(|lease| lease.lease.as_str() == name) {
        return Ok(exact.clone());
    }
    let by_id: Vec<_> = leases.iter().filter(|l| l.lease.as_str().starts_with(name)).collect();
    let by_surface: Vec<_> = match surfaces::read(&project.place, &[name.to_owned()], false) {
        Ok(wanted) => leases
            .iter()
            .filter(|lease| wanted.as_slice().iter().any(|w| lease.surfaces.contains(w)))
            .collect(),
        Err(_) => Vec::new(),
    };
    match (by_id.as_slice(), by_surface.as_slice()) {
        ([one], _) | ([], [one]) => Ok((*one).clone()),
        ([], []) => not_live(name),
        _ => Err(Failure::usage(format!("{name:?} fits several leases; give more of the id"))),
    }
}

/// A lease that is not live may still be a lease: the kernel says so in its own words.
fn not_live(name: &str) -> Result<LeaseView, Failure> {
    Err(Failure::not_found(format!(
        "no live lease of yours is {name:?} or holds it; it may have run out or been ended \
         (`althing trail --mentions {name}` tells)"
    )))
}

pub(crate) fn release(app: &App, args: &Release) -> Result<(), Failure> {
    let project = app.project()?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let whose = (!args.force).then(|| client.principal().clone());
    let known = live(&engine, whose)?;
    let chosen = if args.all { known } else { named(&project, &known, &args.leases)? };
    let reason = args.reason.as_deref().unwrap_or_default();
    let reason: Text<1000> = text(Some(reason))?.unwrap_or_else(|| Text::lossy(""));
    each(app, &client, &engine, &chosen, "released", |lease| {
        if args.force {
            Command::LeaseForce(Force { lease, reason: reason.clone() })
        } else {
            Command::LeaseRelease(ReleaseArgs { epoch: args.epoch, lease })
        }
    })
}

pub(crate) fn renew(app: &App, args: &Renew) -> Result<(), Failure> {
    let project = app.project()?;
    let ttl_s = args.ttl.as_deref().map(read_ttl).transpose();
    let ttl_s = ttl_s.map_err(|error| Failure::misuse(Rule::Limits, error))?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let known = live(&engine, Some(client.principal().clone()))?;
    let chosen = if args.all { known } else { named(&project, &known, &args.leases)? };
    each(app, &client, &engine, &chosen, "holds", |lease| {
        Command::LeaseRenew(RenewArgs { epoch: args.epoch, lease, ttl_s })
    })
}

/// Issues a command for each of several leases and shows what became of them.
fn each(
    app: &App,
    client: &Client,
    engine: &Engine,
    leases: &[LeaseView],
    verb: &str,
    command: impl Fn(LeaseId) -> Command,
) -> Result<(), Failure> {
    let mut done = Vec::new();
    for lease in leases {
        done.push(lease_of(client.execute(command(lease.lease.clone()))?)?);
    }
    if app.out.json {
        return app.out.value(&done);
    }
    if done.is_empty() {
        app.out.note("nothing to do: no live lease");
    }
    for lease in &done {
        if verb == "released" {
            app.out.line(format!("{} {verb} {}", lease.holder, list(&lease.surfaces)))?;
        } else {
            show_lease(app, verb, lease, engine.now())?;
        }
    }
    Ok(())
}

pub(crate) fn claims(app: &App, args: &Claims) -> Result<(), Failure> {
    let project = app.project()?;
    let holder =
        match (&args.holder, args.mine) {
            (Some(text), _) => {
                Some(text.parse().map_err(|error| Failure::usage(format!("--holder: {error}")))?)
            }
            (None, true) => Some(asker(&project).ok_or_else(|| {
                Failure::misuse(Rule::WhoAreYou, "whose? name an agent or a person")
            })?),
            (None, false) => None,
        };
    let surfaces = match args.surfaces.as_slice() {
        [] => None,
        given => Some(surfaces::read(&project.place, given, false)?),
    };
    let engine = project.engine()?;
    let query = Query::LeaseList(LeaseList { holder, surfaces });
    let Answer::Leases(mut leases) = engine.ask(&query)? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    leases.sort_by_key(|lease| lease.epoch);
    if app.out.json {
        return app.out.value(&leases);
    }
    table(app, &leases, engine.now())
}

/// Prints leases for people.
pub(crate) fn table(app: &App, leases: &[LeaseView], now: Timestamp) -> Result<(), Failure> {
    if leases.is_empty() {
        return app.out.line("nobody holds anything");
    }
    let row = |lease: &LeaseView| {
        vec![
            lease.holder.to_string(),
            list(&lease.surfaces),
            from_now(lease.expires_at, now),
            lease.epoch.to_string(),
            lease.lease.to_string(),
            lease.purpose.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = leases.iter().map(row).collect();
    app.out.table(&["HOLDER", "SURFACES", "ENDS", "EPOCH", "LEASE", "FOR"], &rows)
}

/// Whoever is asking, for questions that need no proof of it.
fn asker(project: &Project) -> Option<Principal> {
    let user = project.settings.user.value.clone().map(Principal::User);
    user.or_else(|| project.settings.agent.value.clone().map(Principal::Agent))
}

pub(crate) fn check(app: &App, args: &Check) -> Result<(), Failure> {
    let project = app.project()?;
    let surfaces = surfaces::read(&project.place, &args.surfaces, args.literal)?;
    let holder = asker(&project);
    if args.epoch.is_some() && holder.is_none() {
        return Err(Failure::misuse(Rule::WhoAreYou, "whose epoch? name an agent or a person"));
    }
    let engine = project.engine()?;
    let query = Query::LeaseCheck(LeaseCheck { holder, epoch: args.epoch, surfaces });
    let Answer::Check(report) = engine.ask(&query)? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    if let Some(first) = report.collisions.first() {
        let message = match report.collisions.len() {
            1 => describe(first),
            more => format!("{} (and {} more)", describe(first), more - 1),
        };
        return Err(Failure::held(message, json!({ "collisions": report.collisions })));
    }
    if report.epoch_valid == Some(false) {
        let message = "you do not hold it under that epoch";
        return Err(Failure { rule: Rule::Fenced, ..Failure::not_found(message) });
    }
    if app.out.json {
        return app.out.value(&report);
    }
    app.out.line(if report.held { "free for you; you hold it" } else { "free" })
}
