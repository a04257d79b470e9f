//! The command line of Althing.
//!
//! This crate is the only one that knows the terminal, the environment and the current folder.
//! It reads what people and scripts type, hands it to the engine, and prints what comes back. It
//! decides nothing.

mod amounts;
mod app;
mod cli;
mod command_context;
mod commands;
mod content;
mod drawing;
mod error;
mod event_summary;
mod frugal;
mod haid;
mod heimdall;
mod hints;
mod input;
mod logging;
mod moment;
mod naming;
mod output;
mod place;
mod plan_file;
mod planning;
mod progress;
mod refusals;
mod screen;
mod settings;
mod span;
mod surfaces;
mod table;
mod typed;

use althing_engine::screen::{leaks, without_secrets};
use std::io::IsTerminal as _;
use std::process::ExitCode;

use commands::Outcome;
use error::{Error, exit_code};

fn main() -> ExitCode {
    let mut given = std::env::args_os();
    if let Some(tool) = given.next().and_then(|program| heimdall::Tool::called(&program)) {
        return match logging::start(0) {
            Ok(()) => heimdall::main(tool, given.collect()),
            Err(failure) => output::Out::new(false).report(&failure),
        };
    }
    if is_server_of_old() && std::env::args_os().any(|arg| arg == "--help" || arg == "-h") {
        return help_of_server();
    }
    let json_wanted = std::env::args_os().any(|arg| arg == "--json");
    let arguments = arguments();
    let is_hook = cli::is_hook(&arguments);
    let parsed = if is_hook {
        cli::parse_hook(arguments).map(|cli| (cli, "hook".to_owned()))
    } else {
        cli::parse(arguments)
    };
    let (cli, typed) = match parsed {
        Ok(parsed) => parsed,
        // An agent would take the exit code of wrong usage for a refusal.
        Err(error) if is_hook && error.use_stderr() && !std::io::stdin().is_terminal() => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return misused(&error, json_wanted),
    };
    let app = app::App::new(cli.globals);
    if commands::is_list(&cli.command) && !app.out.json && !app.globals.no_pager {
        screen::page();
    }
    let done = logging::start(app.globals.verbose).and_then(|()| commands::run(&app, cli.command));
    app.warn();
    // First the data, then what is to be said about it.
    let shown = screen::written(screen::finish());
    match done.and_then(|outcome| shown.map(|()| outcome)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Partial(code)) => ExitCode::from(code),
        Err(failure) => app.out.report(&hints::fitting(failure, &typed)),
    }
}

/// Whether this was called by the name that hosts know the server by.
fn is_server_of_old() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&name).file_stem().is_some_and(|stem| stem == heimdall::MCP_NAME)
}

/// The help of `mcp`, for those who call it by that name.
fn help_of_server() -> ExitCode {
    let mut all = cli::command();
    all.build();
    let server = all.find_subcommand("mcp").cloned().unwrap_or(all);
    let usage = format!("{} [OPTIONS]", heimdall::MCP_NAME);
    // Nobody is left to tell if the terminal is gone.
    let _ = server.override_usage(usage).print_long_help();
    ExitCode::SUCCESS
}

/// The arguments, with what a name of its own stands for.
fn arguments() -> Vec<std::ffi::OsString> {
    let mut given = std::env::args_os();
    let name = given.next().unwrap_or_default();
    let stands_for: &[&str] =
        if is_server_of_old() { &["mcp", "--dialect=frugal", "--drop-in"] } else { &[] };
    [name].into_iter().chain(stands_for.iter().map(Into::into)).chain(given).collect()
}

/// Prints a parse error, or the help or version that was asked for.
fn misused(error: &clap::Error, json: bool) -> ExitCode {
    if json && error.use_stderr() {
        return output::Out::new(true).report(&Error::usage(error.to_string().trim()));
    }
    let text = error.to_string();
    if error.use_stderr() && leaks(&text) {
        output::Out::new(false).note(without_secrets(text).trim_end());
    } else {
        // Nobody is left to tell if the terminal is gone.
        let _ = error.print();
    }
    if error.use_stderr() {
        let rule = althing_kernel::Rule::Usage;
        output::Out::new(false).note(format!("[{rule}] Nothing was changed."));
        return ExitCode::from(exit_code(althing_services::ErrorKind::Usage));
    }
    ExitCode::SUCCESS
}
