//! `althing trail compact`, `tiers`, `prune` and `snapshot`: how the trail is stored.

use althing_engine::api::Compact;
use althing_engine::tiers::{ArchiveView, TierView, Tiers};
use althing_engine::{compact, prune, tiers, transfer};
use althing_kernel::archive::{Number, Tier};
use althing_kernel::{Rule, Timestamp};
use althing_trail::archive::Stage;

use crate::app::App;
use crate::cli::{TrailCompact, TrailPrune, TrailSnapshot};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::moment;
use crate::output::{counted, from_now, show_bytes};
use crate::progress::Progress;
use crate::span::parse_secs;

pub(crate) fn compact(app: &App, args: &TrailCompact) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let (project, engine) = (&context.project, &context.engine()?);
    engine.check_reads_everything(project.asker()?.as_ref())?;
    let named = app.globals.workspace.as_deref();
    let asked = Compact {
        workspace: named.map(|text| context.workspace(text)).transpose()?,
        older_than_s: args.older_than.as_deref().map(older_than).transpose()?,
        dry_run: args.dry_run,
    };
    let bar = Progress::new(app.out, "looking through entries");
    let done = compact::run(engine, &asked.request(engine), &mut |done, of| bar.at(done, of))?;
    drop(bar);
    if app.out.json {
        return app.out.value(&done);
    }
    for number in &done.finished {
        app.out.line(format!("finished what was begun with archive {number}"))?;
    }
    let workspaces = counted(done.workspaces, "ended workspace", "ended workspaces");
    let looked = format!("looked through {workspaces}");
    let (moved, stay) = (counted(done.archived, "entry", "entries"), done.preserved);
    if done.dry_run {
        let bytes = show_bytes(done.bytes);
        return app.out.line(format!("{looked}: would move {moved} ({bytes}); {stay} stay"));
    }
    app.out.line(format!("{looked}: moved {moved}; {stay} stay in the store"))?;
    if done.archives.is_empty() {
        return Ok(());
    }
    let (bytes, file_bytes) = (show_bytes(done.bytes), show_bytes(done.file_bytes));
    let numbers = listed(&done.archives);
    app.out.line(format!("archive {numbers}: {bytes}, {file_bytes} compressed"))
}

fn older_than(text: &str) -> Result<u64, Error> {
    let secs = parse_secs(text).and_then(|secs| {
        u64::try_from(secs).map_err(|_| "a length of time is not negative".to_owned())
    });
    secs.map_err(|error| Error::usage(format!("--older-than: {error}")))
}

fn listed(numbers: &[Number]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(crate) fn tiers(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    let bar = Progress::new(app.out, "looking through entries");
    let found = tiers::tiers(&engine, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    if app.out.json {
        return app.out.value(&found);
    }
    print_tiers(app, &found, engine.now())
}

fn print_tiers(app: &App, found: &Tiers, now: Timestamp) -> Result<(), Error> {
    let row = |view: &TierView| {
        let tier = match view.tier {
            Tier::Hot => "hot",
            Tier::Warm => "warm",
            Tier::Cold => "cold",
        };
        let time = |at: Option<_>| at.map_or_else(|| "-".to_owned(), |at| from_now(at, now));
        let (oldest, newest) = (time(view.oldest), time(view.newest));
        vec![tier.to_owned(), view.entries.to_string(), show_bytes(view.bytes), oldest, newest]
    };
    let rows: Vec<Vec<String>> = found.tiers.iter().map(row).collect();
    app.out.table(&["TIER", "ENTRIES", "BYTES", "OLDEST", "NEWEST"], &rows)?;
    if found.archives.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let row = |view: &ArchiveView| {
        let stage = match (view.stage, view.file_bytes) {
            (Some(Stage::Pruned), _) => "deleted, on record",
            (None, _) => "all in the store",
            (Some(_), None) => "MISSING",
            (Some(Stage::Moving), _) => "being filled",
            (Some(Stage::Moved), _) => "whole",
        };
        vec![
            view.archive.to_string(),
            view.entries.to_string(),
            format!("{} to {}", view.from, view.to),
            view.workspaces.to_string(),
            view.file_bytes.map_or_else(|| "-".to_owned(), show_bytes),
            from_now(view.since, now),
            stage.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = found.archives.iter().map(row).collect();
    let titles = ["ARCHIVE", "ENTRIES", "RANGE", "WORKSPACES", "FILE", "SINCE", "STAGE"];
    app.out.table(&titles, &rows)
}

pub(crate) fn prune(app: &App, args: &TrailPrune) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let Some(retention) = project.settings.archive_retention.value else {
        let message = "archives are kept for ever here, so there is nothing to prune";
        return Err(Error::refused(Rule::Retention, message).recorded(&client, "trail.prune"));
    };
    let done = prune::run(&engine, &client, retention, args.dry_run)?;
    if app.out.json {
        return app.out.value(&done);
    }
    if done.archives.is_empty() {
        return app.out.line("no archive is past its retention");
    }
    let (names, entries) = (listed(&done.archives), counted(done.entries, "entry", "entries"));
    let bytes = show_bytes(done.file_bytes);
    let would = if done.dry_run { "would delete" } else { "deleted" };
    app.out.line(format!("{would} archive {names}: {entries}, {bytes}"))
}

pub(crate) fn snapshot(app: &App, args: &TrailSnapshot) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    let upto = moment::parse(&args.upto, engine.now()).map_err(Error::usage)?;
    if std::fs::symlink_metadata(&args.file).is_ok() {
        let message = format!("{} is there already", args.file.display());
        let failure = Error::refused(Rule::Usage, message);
        return Err(failure.hint("Name another file: a snapshot never takes the place of one."));
    }
    let bar = Progress::new(app.out, "copying entries");
    let taken = transfer::take(&engine, &args.file, upto, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    if app.out.json {
        return app.out.value(&taken);
    }
    let entries = counted(taken.up_to_entry, "entry", "entries");
    app.out.line(format!("{entries} in {}", taken.file.display()))?;
    app.out.line(format!("{}, on record", taken.snapshot_hash))
}
