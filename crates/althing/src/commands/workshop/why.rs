//! `althing why`

use althing_services::runner::{self, Because, WhyAsk, Work};
use std::path::{Path, PathBuf};

use super::shared;
use crate::amounts::show_cost;
use crate::app::App;
use crate::cli::Why;
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::event_summary::summary;
use crate::naming::{short, short_ids};
use crate::output::{Tone, clock_time, counted, one_line};

/// How many lines of a task's text are shown.
const TEXT_LINES: usize = 12;

pub(crate) fn run(app: &App, args: &Why) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let shared = shared(app, &context.project)?;
    let (file, line) = place(&args.place)?;
    let file = if file.is_absolute() {
        file
    } else {
        std::path::absolute(&file).map_err(|error| Error::usage(error.to_string()))?
    };
    let ask = WhyAsk { file: &file, line, at: args.at.as_deref() };
    let because = runner::why(&shared, &context.request, &ask)?;
    if context.out().json {
        return context.out().value(&because);
    }
    tell(&context, &because)
}

/// Reads `PATH:LINE`. A file whose name has a colon is found as it is.
fn place(text: &str) -> Result<(PathBuf, Option<u32>), Error> {
    let Some((path, line)) = text.rsplit_once(':').filter(|_| !Path::new(text).exists()) else {
        return Ok((PathBuf::from(text), None));
    };
    match line.parse() {
        Ok(line) if line > 0 => Ok((PathBuf::from(path), Some(line))),
        _ => Err(Error::usage(format!("{text:?}: {line:?} is not the number of a line"))),
    }
}

fn tell(context: &CommandContext<'_>, because: &Because) -> Result<(), Error> {
    let out = context.out();
    let place = match because.line {
        Some(line) => format!("{}:{line}", because.path),
        None => because.path.clone(),
    };
    let commit = because.commit.get(..10).unwrap_or(&because.commit);
    out.line(out.paint(Tone::Strong, &place))?;
    let written =
        format!("{commit} {} ({})", one_line(&because.subject), one_line(&because.author));
    out.fact("commit", 10, &written)?;
    if let Some(merge) = &because.merge {
        out.fact("merge", 10, merge.get(..10).unwrap_or(merge))?;
    }
    match &because.work {
        Some(work) => of_work(context, work),
        None => out.line("no task of this project wrote it"),
    }
}

fn of_work(context: &CommandContext<'_>, work: &Work) -> Result<(), Error> {
    let out = context.out();
    out.fact("task", 10, &format!("{}: {}", work.task, one_line(&work.title)))?;
    let program = work.program.as_ref().map(|own| format!(" ({own})")).unwrap_or_default();
    let tries = counted(work.attempts as u64, "attempt", "attempts");
    out.fact("agent", 10, &format!("{}{program}, {tries}", work.agent))?;
    let cost = show_cost(work.cost);
    out.fact("cost", 10, &format!("{} tokens, cost {cost}", work.tokens))?;
    out.fact("workspace", 10, &short(&work.workspace).clone())?;
    for (at, text) in work.text.lines().take(TEXT_LINES).enumerate() {
        out.fact(if at == 0 { "asked for" } else { "" }, 10, &one_line(text))?;
    }
    for entry in &work.entries {
        let said = short_ids(&summary(&entry.event));
        out.line(format!("{} {} {}", clock_time(entry.at), entry.actor, one_line(&said)))?;
    }
    Ok(())
}
