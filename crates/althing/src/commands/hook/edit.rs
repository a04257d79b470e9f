//! `althing hook edit`

use althing_kernel::Rule;
use althing_kernel::query::LeaseView;
use althing_services::ErrorKind;
use althing_services::hooks::{Refused, Verdict, edit};
use althing_workshop::hook_shapes::{Agent, Answer, Payload};
use serde_json::json;
use std::path::{Path, PathBuf};

use super::site::{self, Site};
use crate::app::App;
use crate::commands::Outcome;
use crate::error::{Error, exit_code};

/// Whether files of all projects may be edited.
enum Judged {
    Allowed(Vec<LeaseView>),
    Refused(Box<Refused>),
    Ask(Box<Refused>),
    /// Althing is broken, and the project asks to be refused then.
    Closed(String),
}

/// Answers an agent.
pub(super) fn of_agent(app: &App, payload: &Payload) -> Answer {
    let here = std::env::current_dir().unwrap_or_default();
    if payload.hides_its_files() {
        let error = Error::usage("the hook's input names no file that can be read");
        if let Some(reason) = of_unread(app, &error) {
            return Answer::refusal(payload, &reason, false);
        }
        super::warn(app, &error);
    }
    let files = payload.writes(&here);
    let here = payload.folder().unwrap_or(here);
    match judge(app, &files, &here, Some(payload)) {
        Judged::Allowed(_) => Answer::go_on(),
        Judged::Refused(refused) => Answer::refusal(payload, &refused.reason, false),
        Judged::Ask(refused) => Answer::refusal(payload, &refused.reason, true),
        Judged::Closed(reason) => Answer::refusal(payload, &reason, false),
    }
}

/// The reason to refuse an edit that cannot be read, if the project around this process asks for that.
pub(super) fn of_unread(app: &App, error: &Error) -> Option<String> {
    let here = std::env::current_dir().unwrap_or_default();
    let (policy, is_there) = match site::at(app, &here).project() {
        Ok(project) => (project.settings.hooks_broken.value, project.place.state.is_dir()),
        Err(_) => (super::policy_of_environment(), true),
    };
    super::broken(policy, error).filter(|_| is_there)
}

/// Answers with an exit code.
pub(super) fn of_paths(
    app: &App,
    paths: &[PathBuf],
    agent: Option<&str>,
) -> Result<Outcome, Error> {
    let here = std::env::current_dir().unwrap_or_default();
    let files: Vec<PathBuf> = paths.iter().map(|path| here.join(path)).collect();
    let payload = agent.and_then(Agent::named).and_then(|agent| Payload::read(agent, b"").ok());
    match judge(app, &files, &here, payload.as_ref()) {
        Judged::Allowed(claimed) => {
            if app.out.json {
                app.out.value(&json!({ "allowed": true, "claimed": claimed }))?;
            }
            Ok(Outcome::Done)
        }
        Judged::Refused(refused) | Judged::Ask(refused) => {
            let code = exit_code(refused.error.kind());
            if app.out.json {
                app.out.value(&json!({ "allowed": false, "error": refused.error.object() }))?;
            } else {
                app.out.note(&refused.reason);
            }
            Ok(Outcome::Partial(code))
        }
        Judged::Closed(reason) => Err(Error::unavailable(reason)),
    }
}

fn judge(app: &App, files: &[PathBuf], here: &Path, payload: Option<&Payload>) -> Judged {
    let mut claimed = Vec::new();
    for site in site::sites(app, files) {
        match judge_site(app, &site, here, payload) {
            Judged::Allowed(more) => claimed.extend(more),
            refused => return refused,
        }
    }
    Judged::Allowed(claimed)
}

fn judge_site(app: &App, site: &Site, here: &Path, payload: Option<&Payload>) -> Judged {
    let own = site::at(app, &site.folder);
    // Where the settings cannot be read, the environment alone says it.
    let mut policy = super::policy_of_environment();
    let asked = || -> Result<Verdict, Error> {
        site::check_name(app)?;
        let project = own.project()?;
        policy = project.settings.hooks_broken.value;
        let name = site::caller(&project, payload)?;
        let as_set = site::edit(&project, site::attempt(app, &project, here), payload);
        let context = site::context(&project, name);
        edit(&context, &as_set, &site.paths, |paths| site::tracked(&project, paths))
    };
    match with_policy(asked) {
        Ok(Verdict::Allowed(claimed)) => Judged::Allowed(claimed),
        Ok(Verdict::Refused(refused)) => Judged::Refused(refused),
        Ok(Verdict::Ask(refused)) => Judged::Ask(refused),
        Err(error) => {
            if let Some(reason) = super::broken(policy, &error) {
                return Judged::Closed(reason);
            }
            super::warn(app, &error);
            Judged::Allowed(Vec::new())
        }
    }
}

/// Asks, and reads a refusal for who the caller is as one: a name whose key is elsewhere is somebody else's.
fn with_policy(mut asked: impl FnMut() -> Result<Verdict, Error>) -> Result<Verdict, Error> {
    match asked() {
        Err(error) if is_refusal(&error) => {
            let reason = format!("{error}. {} [{}]", error.way_out(), error.rule());
            Ok(Verdict::Refused(Box::new(Refused { reason, error })))
        }
        other => other,
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Refused | ErrorKind::Collision)
        || matches!(error.rule(), Rule::AgentKeyBound | Rule::AgentRevoked | Rule::WhoAreYou)
}
