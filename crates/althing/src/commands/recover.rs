//! `althing recover`

use althing_engine::recovery::Report;
use althing_engine::recovery::repair;

use crate::app::App;
use crate::cli::Recover;
use crate::error::Error;
use crate::output::counted;

pub(crate) fn run(app: &App, args: &Recover) -> Result<(), Error> {
    let project = app.project()?;
    // Before the project is opened: as it is, it may not replay.
    let repaired = match &args.from {
        // A wrong name is wrong even where nothing has to be put back.
        Some(copy) if !copy.exists() => {
            let message = format!("there is no {} to put entries back from", copy.display());
            return Err(Error::not_found(message).hint("Name a backup or an exported trail."));
        }
        Some(copy) => repair::repair(&project.home, copy, project.options().patience)?,
        None => Vec::new(),
    };
    let engine = project.engine()?;
    let report = if args.dry_run { engine.recovery_plan()? } else { engine.recover(&repaired)? };
    if app.out.json {
        return app.out.value(&report);
    }
    show(app, args, &report)
}

fn show(app: &App, args: &Recover, report: &Report) -> Result<(), Error> {
    let out = &app.out;
    let fallen = report.fallen.len() as u64;
    out.line(match fallen {
        0 => "everybody who wrote ended well".to_owned(),
        _ => format!("{} ended without saying so", counted(fallen, "writer", "writers")),
    })?;
    out.line(format!(
        "examined: {} after entry {}, sound",
        counted(report.examined, "entry", "entries"),
        report.after
    ))?;
    for repaired in &report.repaired {
        out.line(format!("put back: entry {} ({})", repaired.entry, repaired.fault))?;
    }
    for found in &report.found {
        out.line(format!("found: {}", found.what))?;
    }
    let plan = &report.plan;
    out.line(format!(
        "on their way: {}, {}; steps not taken: {}",
        counted(plan.envelopes.len() as u64, "envelope", "envelopes"),
        counted(plan.signals.len() as u64, "signal", "signals"),
        plan.steps.len()
    ))?;
    out.line(format!(
        "timers: {}, {} of them due; live workspaces: {}",
        plan.timers, plan.due, plan.workspaces
    ))?;
    match (&report.completed, args.dry_run) {
        (Some(done), _) => out.line(format!(
            "recovered, and on record: {} set aside, {} delivered, {} failed",
            done.quarantined_entries,
            counted(done.envelopes_redelivered, "envelope", "envelopes"),
            counted(done.workspaces_failed, "workspace", "workspaces"),
        ))?,
        (None, true) if report.is_needed() => {
            out.line(
                "nothing was changed; `althing recover` does it, and so does the next command",
            )?;
        }
        (None, _) => out.line("there is nothing to recover from")?,
    }
    match &report.aside {
        Some(folder) => out.line(format!("set aside in {}", folder.display())),
        None => Ok(()),
    }
}
