//! `althing hook`: what agents, editors and git ask and are told.
//!
//! An agent reads the exit code of a hook: 0 goes on, 2 refuses, and 1 looks like a broken hook, so it is
//! never used. If Althing itself is broken, the agent goes on by default, with a warning.

mod commit;
mod edit;
mod site;
mod talk;

use althing_services::hooks::Broken;
use althing_workshop::hook_shapes::{Agent, Answer, PAYLOAD_BYTES_MAX, Payload};
use std::io::{IsTerminal as _, Read as _, Write as _};

use super::Outcome;
use crate::app::App;
use crate::cli::{HookCommand, HookEdit};
use crate::error::Error;
use crate::screen::written;

pub(crate) fn run(app: &App, command: &HookCommand) -> Result<Outcome, Error> {
    match command {
        HookCommand::Edit(HookEdit { path, kind }) if !path.is_empty() => {
            edit::of_paths(app, path, kind.as_deref())
        }
        HookCommand::Edit(HookEdit { kind, .. }) => {
            let Some(agent) = kind.as_deref().and_then(Agent::named) else {
                return misused(app);
            };
            answered(app, agent, |app, read| Ok(edit::of_agent(app, read)), edit::of_unread)
        }
        HookCommand::Commit => commit::run(app),
        HookCommand::Prompt(args) => answered(app, known(&args.kind)?, talk::prompt, |_, _| None),
        HookCommand::Session(args) => answered(app, known(&args.kind)?, talk::session, |_, _| None),
        HookCommand::Stop(args) => answered(app, known(&args.kind)?, talk::stop, |_, _| None),
    }
}

fn known(name: &str) -> Result<Agent, Error> {
    Agent::named(name).ok_or_else(|| Error::usage(format!("there is no agent {name:?}")))
}

/// A call without anything to look at. A person is told; an agent goes on.
fn misused(app: &App) -> Result<Outcome, Error> {
    let error = Error::usage("say which agent calls, or which files are to be edited")
        .hint("Write `althing hook edit --agent NAME` or `althing hook edit --path FILE`.");
    if std::io::stdin().is_terminal() {
        return Err(error);
    }
    app.out.note(format!("althing: {error}"));
    Ok(Outcome::Done)
}

/// Reads the payload of an agent, and prints the answer in its form. `closed` gives the reason to refuse
/// what cannot be looked at, where the project asks for that.
fn answered(
    app: &App,
    agent: Agent,
    answer: impl Fn(&App, &Payload) -> Result<Answer, Error>,
    closed: impl Fn(&App, &Error) -> Option<String>,
) -> Result<Outcome, Error> {
    let read = read_payload(agent);
    let answer = match read.and_then(|payload| answer(app, &payload)) {
        Ok(answer) => answer,
        Err(error) => {
            if let (Some(reason), Ok(empty)) = (closed(app, &error), Payload::read(agent, b"")) {
                return give(&Answer::refusal(&empty, &reason, false));
            }
            warn(app, &error);
            Answer::go_on()
        }
    };
    give(&answer)
}

fn read_payload(agent: Agent) -> Result<Payload, Error> {
    let mut bytes = Vec::new();
    if !std::io::stdin().is_terminal() {
        let read = std::io::stdin().lock().take(PAYLOAD_BYTES_MAX).read_to_end(&mut bytes);
        read.map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
    }
    Payload::read(agent, &bytes).map_err(|error| Error::usage(error.to_string()))
}

/// Prints an answer.
fn give(answer: &Answer) -> Result<Outcome, Error> {
    if let Some(err) = &answer.err {
        // Nobody is left to tell if standard error is gone; the exit code still tells.
        let _ = writeln!(std::io::stderr().lock(), "{err}");
    }
    if let Some(out) = &answer.out {
        written(writeln!(std::io::stdout().lock(), "{out}"))?;
    }
    Ok(match answer.code {
        0 => Outcome::Done,
        code => Outcome::Partial(code),
    })
}

/// Says on standard error that something was not looked at.
fn warn(app: &App, error: &Error) {
    app.out.note(format!("althing: this went on unchecked: {error} [{}]", error.rule()));
}

/// What to do where Althing is broken, as the environment says it.
fn policy_of_environment() -> Broken {
    let set = std::env::var("ALTHING_HOOKS_BROKEN").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The reason to give where Althing is broken and the project asks to be refused then.
fn broken(policy: Broken, error: &Error) -> Option<String> {
    (policy == Broken::Closed).then(|| {
        format!(
            "Althing cannot say whether this is allowed: {error}. This project asks to be refused then; have a \
             person run `althing doctor`. [{}]",
            error.rule()
        )
    })
}
