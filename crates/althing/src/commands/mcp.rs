//! `althing mcp`: this project for hosts that speak the Model Context Protocol.

use althing_server::{Replies, Unlogged, frugal, memory, serve};
use althing_services::Setup;
use althing_services::frugal::Ledger;
use std::path::Path;

use crate::app::{App, Project};
use crate::cli::{Mcp, McpDialect};
use crate::failure::Failure;
use crate::frugal::own_haid;

pub(crate) fn run(app: &App, args: &Mcp) -> Result<(), Failure> {
    let project = app.project()?;
    if project.settings.user.value.is_some() {
        return Err(Failure::usage("people do not act through hosts; leave --user out"));
    }
    // Whoever calls it by its old name finds files where they always were.
    let options = if args.drop_in { project.options_with_files() } else { project.options() };
    let setup = Setup {
        home: project.home.clone(),
        options,
        root: project.root().to_owned(),
        is_git: project.place.root_origin == "git toplevel",
        create: args.drop_in.then(|| name(project.root())),
        agent: project.settings.agent.value.clone(),
    };
    let secrets = project.settings.memory_secrets.value;
    let dialect = match args.dialect {
        McpDialect::Frugal => frugal::dialect(ledger(&project)?),
        McpDialect::Memory => memory::dialect(ledger(&project)?, secrets),
        McpDialect::All => memory::with_frugal(ledger(&project)?, secrets),
    };
    let replies = if args.drop_in { Replies::Lines } else { Replies::InKind };
    let input = std::io::BufReader::new(std::io::stdin());
    let output = Box::new(std::io::stdout());
    let unlogged = serve(dialect, setup, input, output, replies)
        .map_err(|error| Failure::unavailable(format!("the host cannot be served: {error}")))?;
    if unlogged.results > 0 {
        let Unlogged { results, why } = unlogged;
        app.out.note(format!("{results} results are not in the token ledger: {why}"));
    }
    Ok(())
}

/// What a project is called that nobody named.
fn name(root: &Path) -> String {
    root.file_name()
        .map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn ledger(project: &Project) -> Result<Ledger, Failure> {
    Ok(Ledger {
        root: own_haid(project)?,
        planning: project.planning().root().to_owned(),
        ttl: project.settings.lease_ttl.value,
    })
}
