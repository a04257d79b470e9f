//! `althing hook commit`, called by git before a commit and before the commit of a merge.

use althing_kernel::{AgentName, Rule};
use althing_services::hooks::{Committer, Outside, Refused, commit};
use althing_workshop::hosts::Hosts;
use serde_json::json;
use std::process::{Command, Stdio};

use super::site;
use crate::app::{App, Project};
use crate::commands::Outcome;
use crate::error::{Error, exit_code};
use crate::haid::{agent_name, own_haid};
use crate::settings::Asker;

/// The way out for people.
const PERSON: &str = "If you are a person and know better: git commit --no-verify";

pub(super) fn run(app: &App) -> Result<Outcome, Error> {
    let here = std::env::current_dir().unwrap_or_default();
    let own = site::at(app, &here);
    let project = match own.project() {
        Ok(project) => project,
        Err(error) => {
            super::warn(app, &error);
            return Ok(Outcome::Done);
        }
    };
    if !project.place.state.is_dir() {
        return Ok(Outcome::Done);
    }
    match judged(app, &project) {
        Ok(None) => {
            if app.out.json {
                app.out.value(&json!({ "allowed": true }))?;
            }
            Ok(Outcome::Done)
        }
        Ok(Some(refused)) => {
            if app.out.json {
                app.out.value(&json!({ "allowed": false, "error": refused.error.object() }))?;
            } else {
                app.out.note(format!("althing: {}\n{PERSON}", refused.reason));
            }
            Ok(Outcome::Partial(exit_code(refused.error.kind())))
        }
        Err(error) => {
            if let Some(reason) = super::broken(project.settings.hooks_broken.value, &error) {
                return Err(Error::unavailable(reason));
            }
            super::warn(app, &error);
            Ok(Outcome::Done)
        }
    }
}

fn judged(app: &App, project: &Project) -> Result<Option<Refused>, Error> {
    let paths = staged(project)?;
    if paths.is_empty() {
        return Ok(None);
    }
    let agents = committers(project)?;
    let name = match agents.first() {
        Some(name) => name.clone(),
        // Nothing is done under this name: whoever is not known only reads.
        None => agent_name(&own_haid(project.root())?)?,
    };
    let by = Committer {
        workspace: site::attempt(app, project, &project.place.root).filter(|_| !agents.is_empty()),
        outside: project.settings.claims_outside.value != Outside::Refuse,
        agents,
    };
    commit(&site::context(project, name), &by, &paths)
}

/// The agents that commit: the one that was set, or those of the program around this shell.
fn committers(project: &Project) -> Result<Vec<AgentName>, Error> {
    match project.settings.asker()? {
        Some(Asker::Agent(name)) => return Ok(vec![name]),
        Some(Asker::User(_)) => return Ok(Vec::new()),
        None => {}
    }
    let names = Hosts::of(&project.place.state).names_above();
    Ok(names.iter().filter_map(|name| AgentName::new(name).ok()).collect())
}

/// The files that are staged, from the project's root. Git's own variables say which index it is.
fn staged(project: &Project) -> Result<Vec<String>, Error> {
    let failed = |what: &str| {
        Error::unavailable(format!("git cannot say what is staged: {what}"))
            .with_rule(Rule::StoreUnavailable)
    };
    let output = Command::new("git")
        .args(["diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z"])
        .current_dir(project.root())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
