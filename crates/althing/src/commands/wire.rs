//! `althing init --agent` and `althing uninit`: Althing in the files of agents.

use althing_services::ErrorKind;
use althing_services::hooks::Broken;
use althing_workshop::hook_shapes::{Agent, SHAPES};
use althing_workshop::wiring::{Choice, Done, GIT, Report, Wiring, note, unified};
use serde_json::{Value, json};
use std::path::Path;

use super::Outcome;
use crate::app::{App, Project};
use crate::cli::{ALL, Init, Uninit};
use crate::error::{Error, exit_code};
use crate::output::Tone;

/// The file in the state folder that remembers what was written.
const RECORD: &str = "wiring.json";

fn wiring(project: &Project, is_dry: bool) -> Wiring {
    let (root, record) = (project.root().to_owned(), project.place.state.join(RECORD));
    Wiring { root, record, is_dry }
}

/// Refuses if a file of an agent that was named cannot be wired: an agent is wired as a whole, and before
/// anything else is changed.
pub(crate) fn check(project: &Project, args: &Init) -> Result<(), Error> {
    let reports = wiring(project, true).wire(&named(&args.agents), false, choice(project))?;
    let told = reports.iter().filter_map(|report| match &report.done {
        Done::Left(why) => Some(format!("{}: {why}", report.path.display())),
        _ => None,
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Ok(());
    }
    let message = format!("nothing was changed, since this cannot be wired: {}", told.join("; "));
    Err(Error::unmet(message).hint("Mend the file, move it away, or name other agents."))
}

fn choice(project: &Project) -> Choice {
    Choice { closed: project.settings.hooks_broken.value == Broken::Closed }
}

/// Wires the agents that were named.
pub(crate) fn wire(app: &App, project: &Project, args: &Init) -> Result<Vec<Value>, Error> {
    let agents = named(&args.agents);
    if agents.is_empty() && args.agents.iter().any(|name| name == ALL) {
        app.out.note("No agent is installed that can be wired; name one with --agent.");
    }
    let git = project.place.root_origin == "git toplevel" && !args.no_git_hooks;
    let git = git || args.agents.iter().any(|name| name == GIT);
    let reports = wiring(project, args.dry_run).wire(&agents, git, choice(project))?;
    let shown = show(app, &reports, args.dry_run)?;
    if !app.out.json {
        for agent in agents {
            if let Some(text) = note(agent) {
                app.out.note(text);
            }
        }
    }
    Ok(shown)
}

/// The agents of some names; with `all`, those that are installed.
fn named(names: &[String]) -> Vec<Agent> {
    let is_all = names.iter().any(|name| name == ALL);
    let wanted = SHAPES.iter().filter(|shape| {
        names.iter().any(|name| name == shape.name)
            || (is_all && shape.programs.iter().any(|program| is_installed(program)))
    });
    wanted.map(|shape| shape.agent).collect()
}

/// Whether a program is on the search path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    std::env::split_paths(&path).any(|folder| {
        endings.iter().any(|ending| is_program(&folder.join(format!("{program}{ending}"))))
    })
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Takes Althing out of the files of agents. Whatever can be restored is, also beside a file that cannot.
pub(crate) fn unwire(app: &App, args: &Uninit) -> Result<Outcome, Error> {
    let project = app.project()?;
    let is_all = args.agents.is_empty() || args.agents.iter().any(|name| name == ALL);
    let names = Some(args.agents.as_slice()).filter(|_| !is_all);
    let mut reports = wiring(&project, args.dry_run).unwire(names)?;
    // Most files were never ours.
    reports.retain(|report| report.done != Done::Unchanged);
    let shown = show(app, &reports, args.dry_run)?;
    if app.out.json {
        app.out.value(&json!({ "files": shown, "dry_run": args.dry_run }))?;
    } else if reports.is_empty() {
        app.out.line("nothing of Althing is in the files of agents")?;
    }
    let is_left = reports.iter().any(|report| matches!(report.done, Done::Left(_)));
    Ok(if is_left { Outcome::Partial(exit_code(ErrorKind::Unmet)) } else { Outcome::Done })
}

/// Prints what became of files, or what would.
fn show(app: &App, reports: &[Report], is_dry: bool) -> Result<Vec<Value>, Error> {
    let mut shown = Vec::new();
    for report in reports {
        let path = report.path.display().to_string();
        let (word, why) = match &report.done {
            Done::Created => ("created", None),
            Done::Changed => ("changed", None),
            Done::Unchanged => ("unchanged", None),
            Done::Restored => ("restored", None),
            Done::Removed => ("removed", None),
            Done::Left(why) => ("left", Some(why)),
        };
        shown.push(json!({ "path": path, "done": word, "why": why }));
        if app.out.json {
            continue;
        }
        if is_dry && report.before != report.after {
            let diff = unified(&path, report.before.as_deref(), report.after.as_deref());
            app.out.line(diff.trim_end())?;
            continue;
        }
        match why {
            Some(why) => {
                app.out
                    .line(format!("{} {path}: {why}", app.out.paint(Tone::Warn, "left alone")))?;
            }
            None => app.out.line(format!("{word} {path}"))?,
        }
    }
    Ok(shown)
}
