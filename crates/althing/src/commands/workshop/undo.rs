//! `althing undo`

use althing_services::runner;

use super::control::steering;
use super::shared;
use crate::app::App;
use crate::cli::Undo;
use crate::command_context::CommandContext;
use crate::error::Error;

pub(crate) fn run(app: &App, args: &Undo) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let shared = shared(app, &context.project)?;
    let by = steering(&context)?;
    // A person is asked for their passphrase before anything is prepared.
    by.client()?;
    let undone = runner::undo(&shared, &by, &args.run, args.task.as_deref(), args.on.as_deref())?;
    if context.out().json {
        return context.out().value(&undone);
    }
    let commit = undone.commit.get(..10).unwrap_or(&undone.commit);
    match undone.tasks.as_slice() {
        [] => context.out().line(format!("nothing is left of it on {}", undone.branch)),
        tasks => context.out().line(format!(
            "taken back on {}, which is at {commit}: {}",
            undone.branch,
            tasks.join(" ")
        )),
    }
}
