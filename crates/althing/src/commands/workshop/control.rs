//! `althing pause`, `resume`, `stop`, `retry`: a run is steered from another terminal.

use althing_kernel::run::{Hold, SetHold};
use althing_kernel::task::orders;
use althing_kernel::text::Text;
use althing_kernel::workspace::suspend;
use althing_kernel::{AgentName, Command, Principal, Reply};
use althing_services::runner::{self, LEAD};
use althing_services::{Caller, Project as Served, ProjectContext};
use serde_json::json;
use std::sync::Arc;

use crate::app::App;
use crate::cli::{Pause, Resume, Retry, Stop};
use crate::command_context::CommandContext;
use crate::error::Error;

/// The context of whoever steers: the caller, if one is named, otherwise the agent that leads runs here.
pub(super) fn steering(context: &CommandContext<'_>) -> Result<ProjectContext, Error> {
    let caller = match context.project.asker()? {
        Some(Principal::User(_)) => return Ok(context_of(context)),
        Some(Principal::Agent(name)) => Caller::agent(name),
        _ => Caller::agent(AgentName::new(LEAD).map_err(Error::unreadable)?),
    };
    let served = Served::new(context.project.setup(false)).warning(&context.app.warnings);
    Ok(ProjectContext::new(Arc::new(served), caller))
}

/// The caller's own context, with their passphrase asked for if they are a person.
fn context_of(context: &CommandContext<'_>) -> ProjectContext {
    let (own, app) = (context.project.clone(), context.app.clone().into_owned());
    let served = Served::new(context.project.setup(false)).warning(&app.warnings);
    let principal = context.request.principal().cloned();
    let caller = Caller::new(principal, Box::new(move |engine| own.client(&app, engine)));
    ProjectContext::new(Arc::new(served), caller)
}

fn reason_of(text: Option<&str>) -> Result<Option<Text<1000>>, Error> {
    text.map(Text::new).transpose().map_err(|error| Error::usage(format!("-m: {error}")))
}

fn tell(
    context: &CommandContext<'_>,
    task: Option<&str>,
    state: &str,
    said: &str,
) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&json!({ "task": task, "state": state }));
    }
    context.out().line(said)
}

fn hold(context: &CommandContext<'_>, hold: Hold, reason: Option<&str>) -> Result<(), Error> {
    let order = SetHold { hold, reason: reason_of(reason)? };
    steering(context)?.execute(Command::RunHold(order)).map(drop)
}

pub(crate) fn pause(app: &App, args: &Pause) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let Some(task) = &args.task else {
        hold(&context, Hold::Now, args.reason.as_deref())?;
        let said = "the run is paused: its agents are stopped, their work is kept";
        return tell(&context, None, "paused", said);
    };
    let attempt = runner::attempt_at(&context.request, task)?;
    let order = suspend::Suspend {
        reason: reason_of(args.reason.as_deref())?,
        workspace: attempt.workspace.clone(),
    };
    steering(&context)?.execute(Command::WorkspaceSuspend(order))?;
    runner::end_process(&attempt.folder)?;
    tell(&context, Some(task), "paused", &format!("{task} is paused"))
}

pub(crate) fn resume(app: &App, args: &Resume) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let Some(task) = &args.task else {
        hold(&context, Hold::None, None)?;
        return tell(&context, None, "resumed", "the run goes on; `althing run` does the work");
    };
    let attempt = runner::attempt_at(&context.request, task)?;
    let order = suspend::Resume { workspace: attempt.workspace };
    steering(&context)?.execute(Command::WorkspaceResume(order))?;
    tell(&context, Some(task), "resumed", &format!("{task} goes on; `althing run` does the work"))
}

pub(crate) fn stop(app: &App, args: &Stop) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let (how, said) = if args.now {
        (Hold::Now, "the run stops: its agents are ended, their work is kept")
    } else {
        (Hold::Drain, "the run stops once the tasks in work are merged")
    };
    hold(&context, how, args.reason.as_deref())?;
    if args.now {
        for attempt in runner::attempts(&context.request, false)? {
            runner::end_process(&attempt.folder)?;
        }
    }
    tell(&context, None, "stopping", &format!("{said}; `althing run` goes on later"))
}

pub(crate) fn retry(app: &App, args: &Retry) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let task = runner::failed_task(&context.request, &args.task)?;
    let reply = steering(&context)?.execute(Command::TaskRetry(orders::Retry { task }))?;
    if let Reply::Gate(gate) = reply {
        let said = format!("a person has to approve it: `althing gate show {}`", gate.gate);
        tell(&context, Some(&args.task), "waiting", &said)
    } else {
        let said = format!("{} is tried again; `althing run` does the work", args.task);
        tell(&context, Some(&args.task), "retried", &said)
    }
}
