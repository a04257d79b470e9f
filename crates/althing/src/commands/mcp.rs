//! `althing mcp`: this project for hosts that speak the Model Context Protocol.

use althing_dialects::frugal::haid::Haid;
use althing_server::frugal::Ledger;
use althing_server::{Replies, Setup, Unlogged, frugal, serve};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use crate::app::{App, Project};
use crate::cli::{Mcp, McpDialect};
use crate::failure::Failure;

pub(crate) fn run(app: &App, args: &Mcp) -> Result<(), Failure> {
    let project = app.project()?;
    if project.settings.user.value.is_some() {
        return Err(Failure::usage("people do not act through hosts; leave --user out"));
    }
    let setup = Setup {
        home: project.home.clone(),
        options: project.options(),
        root: project.root().to_owned(),
        is_git: project.place.root_origin == "git toplevel",
        create: args.drop_in.then(|| name(project.root())),
        agent: project.settings.agent.value.clone(),
    };
    let dialect = match args.dialect {
        McpDialect::Frugal => frugal::dialect(ledger(&project)),
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

fn ledger(project: &Project) -> Ledger {
    Ledger {
        root: root_haid(project.root()),
        planning: planning(project.root()),
        ttl: project.settings.lease_ttl.value,
    }
}

fn planning(root: &Path) -> PathBuf {
    match std::env::var_os("HEIMDALL_PLANNING_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => root.join(".planning"),
    }
}

fn root_haid(root: &Path) -> Haid {
    let said = |program: &str, args: &[&str]| {
        let ran = Process::new(program)
            .args(args)
            .current_dir(root)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(ran.stdout).ok()?.trim().to_owned();
        (ran.status.success() && !text.is_empty()).then_some(text)
    };
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let human = said("git", &["config", "user.email"])
        .and_then(|email| email.split('@').next().map(str::to_owned))
        .filter(|human| !human.is_empty())
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .unwrap_or_else(|| "unknown".to_owned());
    let machine = said("hostname", &["-s"]).unwrap_or_else(|| "unknown".to_owned());
    Haid::derive(&human, &machine, &root.to_string_lossy())
}
