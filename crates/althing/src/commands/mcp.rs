//! `althing mcp`: this project for hosts that speak the Model Context Protocol.

use althing_server::{Replies, Unlogged, frugal, memory, native, serve, wacp};
use althing_services::Project as Served;
use althing_services::frugal::Ledger;
use althing_workshop::hosts::Hosts;

use crate::app::{App, Project};
use crate::cli::{Mcp, McpDialect};
use crate::error::Error;
use crate::haid::own_haid;

pub(crate) fn run(app: &App, args: &Mcp) -> Result<(), Error> {
    let project = app.project()?;
    if project.settings.user.value.is_some() {
        return Err(Error::usage("people do not act through hosts; leave --user out"));
    }
    if project.settings.session.value.is_some() {
        let message = "agents that ask through a host have sessions of their own";
        return Err(Error::usage(message)
            .hint("Leave --session out, and unset ALTHING_SESSION for this command."));
    }
    // Called by its old name, it keeps the files where they always were.
    let mut setup = project.setup(args.drop_in);
    let dialect = match args.dialect {
        McpDialect::Native => native::dialect(ledger(&project, args)?),
        McpDialect::Wacp => wacp::dialect(ledger(&project, args)?),
        McpDialect::Frugal => frugal::dialect(ledger(&project, args)?),
        McpDialect::Memory => memory::dialect(ledger(&project, args)?),
        McpDialect::All => memory::with_others(ledger(&project, args)?),
    };
    setup.options.door = Some(dialect.speech.door);
    let replies = if args.drop_in { Replies::Lines } else { Replies::InKind };
    let input = std::io::BufReader::new(std::io::stdin());
    let output = Box::new(std::io::stdout());
    let unlogged = serve(dialect, Served::new(setup), input, output, replies)
        .map_err(|error| Error::unavailable(format!("the host cannot be served: {error}")))?;
    if unlogged.results > 0 {
        let Unlogged { results, why } = unlogged;
        app.out.note(format!("{results} results are not in the token ledger: {why}"));
    }
    Ok(())
}

fn ledger(project: &Project, args: &Mcp) -> Result<Ledger, Error> {
    Ok(Ledger {
        root: own_haid(project.root())?,
        planning: project.planning().root().to_owned(),
        ttl: project.settings.lease_ttl.value,
        agent: project.settings.agent.value.clone(),
        hosts: (!args.drop_in).then(|| Hosts::of(&project.place.state)),
    })
}
