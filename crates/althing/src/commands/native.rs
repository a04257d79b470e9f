//! `althing plan`, `next`, `done`, `blocked`: a task from planning it to handing it in.

use althing_engine::Engine;
use althing_kernel::Rule;
use althing_kernel::records::field::Few;
use althing_kernel::records::next::{self, Next};
use althing_kernel::records::vocabulary::Priority;
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_services::native::{self, Checkpoint, Planned, Worded, task_of};
use std::time::{Duration, Instant};

use super::leases::wait_time;
use super::tasks;
use crate::app::App;
use crate::cli::{BlockedArgs, CheckpointNote, DoneArgs, NextArgs, PlanArgs};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::output::{Tone, one_line};
use crate::surfaces;

/// Prints an answer: its words, or all of it as JSON.
fn print(context: &CommandContext<'_>, answer: &impl Worded) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(answer);
    }
    let text = answer.text();
    for (number, line) in text.lines().enumerate() {
        let line = one_line(line);
        let line = if number == 0 { context.out().paint(Tone::Strong, &line) } else { line };
        context.out().line(line)?;
    }
    Ok(())
}

pub(crate) fn plan(app: &App, args: &PlanArgs) -> Result<(), Error> {
    if let Some(file) = &args.file {
        return tasks::plan(&CommandContext::open(app)?, file);
    }
    set_up(app)?;
    let context = CommandContext::open_as_own(app)?;
    let place = &context.project.place;
    let after: Vec<_> = args.after.iter().map(|task| task_of(task)).collect::<Result<_, _>>()?;
    let priority = args.priority.as_deref().and_then(Priority::named);
    let mut planned = Vec::new();
    for text in &args.tasks {
        let mut task = Planned::read(text);
        task.scope.extend(args.scope.iter().cloned());
        for path in &mut task.scope {
            *path = surfaces::scope(place, path)?;
        }
        planned.push(Planned { after: after.clone(), priority, ..task });
    }
    print(&context, &native::plan(&context.request, &planned)?)
}

/// Makes the folder a project if it is none yet.
pub(super) fn set_up(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    match project.engine() {
        Err(error) if error.rule() == Rule::NoProject => {}
        opened => return opened.map(drop),
    }
    let setup = project.setup(true);
    let name = setup.create.unwrap_or_default();
    if Engine::create(&project.home, &name, &project.options())? {
        app.out
            .note(format!("{name} is set up; its state is in {}", project.home.root().display()));
    }
    Ok(())
}

pub(crate) fn next(app: &App, args: &NextArgs) -> Result<(), Error> {
    let context = CommandContext::open_as_own(app)?;
    let skills = args.skill.iter().map(|skill| Text::new(skill));
    let skills = skills.collect::<Result<Vec<_>, _>>();
    let skills = skills.map_err(|error| Error::misuse(Rule::Limits, error.to_string()))?;
    let ask = Next {
        task: args.task.as_deref().map(task_of).transpose()?,
        role: args.role.as_deref().map(RoleName::new).transpose().map_err(unfit)?,
        skills: Few::new(skills).map_err(|error| Error::misuse(Rule::Limits, error))?,
        ..Next::default()
    };
    if let Some(time) = &args.wait {
        wait_for_one(&context, &ask, wait_time(time)?)?;
    }
    print(&context, &native::next(&context.request, &ask)?)
}

fn unfit(error: impl std::fmt::Display) -> Error {
    Error::misuse(Rule::Limits, error.to_string())
}

/// Waits until a task is ready for the caller. Looking leaves no entry, asking in vain would.
fn wait_for_one(context: &CommandContext<'_>, ask: &Next, time: Duration) -> Result<(), Error> {
    let deadline = Instant::now() + time;
    let engine = context.engine()?;
    let mut news = engine.subscribe(engine.world()?.seq())?;
    let who = context.request.named()?.clone();
    let mut told = false;
    loop {
        engine.record_lost()?;
        let present = context.request.present()?;
        if next::would_get(&present.state, present.now, &who, ask).is_some() {
            return Ok(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if !std::mem::replace(&mut told, true) {
            context.out().note("waiting until a task is ready");
        }
        // Leases also end by time alone, which nothing announces.
        news.next(left.min(Duration::from_millis(200)))?;
    }
}

pub(crate) fn done(app: &App, args: &DoneArgs) -> Result<(), Error> {
    let context = CommandContext::open_as_own(app)?;
    print(&context, &native::done(&context.request, args.text.as_deref())?)
}

pub(crate) fn blocked(app: &App, args: &BlockedArgs) -> Result<(), Error> {
    let context = CommandContext::open_as_own(app)?;
    print(&context, &native::blocked(&context.request, &args.reason)?)
}

/// Records how far the task in hand is.
pub(crate) fn checkpoint(app: &App, note: CheckpointNote) -> Result<(), Error> {
    let context = CommandContext::open_as_own(app)?;
    let place = &context.project.place;
    let files = note.files.iter().map(|path| surfaces::file(place, path));
    let files = files.map(|path| path.map(|path| path.as_str().to_owned()));
    let made = Checkpoint {
        text: note.text.unwrap_or_default(),
        files: files.collect::<Result<_, _>>()?,
        is_final: note.is_final,
    };
    print(&context, &native::checkpoint(&context.request, &made)?)
}
