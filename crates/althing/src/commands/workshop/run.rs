//! `althing run`

use althing_kernel::task::graph::Plan;
use althing_services::ErrorKind;
use althing_services::runner::{self, Finished, Options, RunEvent, Supervisor, check_team};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::live::Display;
use super::{settings_of, shared};
use crate::app::{App, Project};
use crate::cli::Run;
use crate::command_context::CommandContext;
use crate::commands::Outcome;
use crate::commands::native::set_up;
use crate::error::{Error, exit_code};
use crate::plan_file;

/// The most agents of one kind.
const COUNT_MAX: usize = 64;

pub(crate) fn run(app: &App, args: Run) -> Result<Outcome, Error> {
    // Everything that can be wrong with what was asked is found before anything is begun.
    let plan = plan(app, &args)?;
    let project = app.project()?;
    let settings = settings_of(&project)?;
    let options = options(app, &project, &args, plan.as_ref())?;
    let tasks = plan.as_ref().map(|plan| plan.tasks.as_slice()).unwrap_or_default();
    check_team(&options, &settings, tasks)?;
    let shared = shared(app, &project)?;
    shared.check_repository(&options)?;
    let is_stopped = stop_signal()?;
    set_up(app)?;

    let context = CommandContext::open(app)?;
    let begun = runner::begin(&shared, &context.request, plan.as_ref(), args.highway, &options)?;
    let display = Display::new(app.out);
    for note in &begun.notes {
        display.show(&RunEvent::Note { text: note.clone() });
    }
    let sink = |event: RunEvent| display.show(&event);
    let stopped = || is_stopped.load(Ordering::Relaxed);
    let mut supervisor = Supervisor::new(&shared, &begun, &options, &sink, &stopped)?;
    sink(supervisor.started()?);
    let finished = supervisor.run();
    // The lines of agents that work go away before anything else is printed.
    drop(supervisor);
    display.end();
    let finished = finished?;
    display.finished(&finished)?;
    Ok(outcome(&finished))
}

/// The plan that is meant, if one is.
fn plan(app: &App, args: &Run) -> Result<Option<Plan>, Error> {
    match (&args.plan, &args.message) {
        (Some(path), _) => plan_file::open(app, path).map(Some),
        (None, Some(text)) => plan_file::single(text).map(Some),
        (None, None) => Ok(None),
    }
}

fn options(
    app: &App,
    project: &Project,
    args: &Run,
    plan: Option<&Plan>,
) -> Result<Options, Error> {
    let workshop = &project.settings.workshop;
    let team = if !args.agents.is_empty() {
        team(&args.agents, "--agents")?
    } else if !workshop.agents.value.is_empty() {
        team(&workshop.agents.value, "workshop.agents")?
    } else if let Some(plan) = plan {
        runner::team_of_plan(&plan.tasks)
    } else {
        runner::team_of_run(&CommandContext::open(app)?.request)?
    };
    Ok(Options {
        team,
        parallel: args.parallel.map(usize::from),
        base: args.base.clone(),
        into: args.into.clone().or_else(|| workshop.into.value.clone()),
    })
}

/// Reads `claude:2`.
fn team(given: &[String], place: &str) -> Result<Vec<(String, usize)>, Error> {
    let mut team: Vec<(String, usize)> = Vec::new();
    let mut seen = BTreeSet::new();
    for text in given {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let count: Option<usize> = count.parse().ok();
        let Some(count) = count.filter(|count| (1..=COUNT_MAX).contains(count)) else {
            let message = format!("{place}: {text:?} is not AGENT:N with N from 1 to {COUNT_MAX}");
            return Err(Error::usage(message));
        };
        if !seen.insert(name) {
            return Err(Error::usage(format!("{place}: {name:?} is named twice")));
        }
        team.push((name.to_owned(), count));
    }
    Ok(team)
}

/// Becomes true with ctrl-C or when the program is asked to end. The second time ends it at once; the
/// agents go on, and the next run finds them.
fn stop_signal() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = 128 + signal;
        let handled = signal_hook::flag::register_conditional_shutdown(signal, code, asked.clone())
            .and_then(|_| signal_hook::flag::register(signal, asked.clone()));
        handled.map_err(|error| Error::unavailable(format!("signals: {error}")))?;
    }
    Ok(asked)
}

fn outcome(finished: &Finished) -> Outcome {
    match finished {
        _ if finished.stopped.is_some() => Outcome::Partial(exit_code(ErrorKind::Unavailable)),
        _ if finished.is_complete() && finished.not_landed.is_none() => Outcome::Done,
        _ => Outcome::Partial(exit_code(ErrorKind::Refused)),
    }
}
