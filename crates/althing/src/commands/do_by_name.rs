//! `althing do`

use althing_engine::api::{self, ARGS_BYTES_MAX, Request};
use althing_engine::{Client, Engine, EngineError};
use althing_kernel::query::Query;
use althing_kernel::{Command, Door, Rule};

use crate::app::{App, Project};
use crate::cli::Do;
use crate::error::Error;
use crate::input::stdin_text;
use crate::table::{free_text, whole};

pub(crate) fn run(app: &App, args: &Do) -> Result<(), Error> {
    if args.list {
        return list(app);
    }
    if let Some(name) = &args.schema {
        let schema = api::schema(name)
            .ok_or_else(|| Error::not_found(format!("there is nothing called {name:?}")))?;
        return app.out.value(&schema);
    }
    let project = app.project()?;
    if args.lines {
        return super::lines::run(app, &project);
    }
    let name = args.name.as_deref().unwrap_or_default();
    let text = match args.args.as_deref() {
        Some("-") => stdin_text(&app.globals, "the arguments", ARGS_BYTES_MAX as u64)?,
        Some(text) => text.to_owned(),
        None => "{}".to_owned(),
    };
    let request = read_request(&project, name, &text)?;
    let engine = project.engine()?;
    let client = client_for(app, &project, &engine, &request)?;
    let viewer = project.asker()?;
    let reply = api::perform(&engine, client.as_ref(), viewer.as_ref(), request)?;
    app.out.value(&reply)
}

fn list(app: &App) -> Result<(), Error> {
    let operations = api::list();
    if app.out.json {
        return app.out.value(&operations);
    }
    let sort = |operation: &api::Operation| match operation.sort {
        api::Sort::Command => "command",
        api::Sort::Question => "question",
    };
    let rows: Vec<Vec<String>> = operations
        .iter()
        .map(|operation| {
            vec![operation.name.to_owned(), sort(operation).to_owned(), operation.help.to_owned()]
        })
        .collect();
    app.out.table(&[whole("NAME"), whole("SORT"), free_text("DOES")], &rows)
}

/// Reads a request. `lease.check` without a holder asks for the caller; `run.start` without a
/// deployment model takes that of the project.
pub(super) fn read_request(project: &Project, name: &str, args: &str) -> Result<Request, Error> {
    let read = api::read(name, args);
    let mut request = read.map_err(|error| too_large(error, args.len()))?;
    if let Request::Query(Query::LeaseCheck(check)) = &mut request
        && check.holder.is_none()
    {
        check.holder = project.asker()?;
    }
    if let Request::Command(command) = &mut request
        && let Command::RunStart(start) = command.as_mut()
    {
        start.deployment.get_or_insert(project.settings.deployment.value);
    }
    Ok(request)
}

/// Only commands need to know who asks.
fn client_for(
    app: &App,
    project: &Project,
    engine: &Engine,
    request: &Request,
) -> Result<Option<Client>, Error> {
    match request {
        Request::Command(_) => Ok(Some(project.client(app, engine)?.through(Door::Do))),
        _ => Ok(None),
    }
}

/// Adds a hint for content that is too large for a line.
fn too_large(error: EngineError, bytes: usize) -> Error {
    let failure = Error::from(error);
    if bytes <= ARGS_BYTES_MAX {
        return failure;
    }
    let failure = failure.with_rule(Rule::Limits);
    failure.hint("Store large content with `althing blob put FILE` and give {\"blob\": its name}.")
}
