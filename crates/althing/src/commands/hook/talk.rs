//! `althing hook prompt`, `session` and `stop`: what an agent is told.

use althing_services::ProjectContext;
use althing_services::hooks::{self, KeepGoing};
use althing_workshop::hook_shapes::{Answer, Moment, Payload};
use althing_workshop::hosts::Hosts;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::site;
use crate::app::{App, Project};
use crate::error::Error;

/// Set for agents that a run started.
const RUN: &str = "ALTHING_RUN";

/// The project around an agent, and the agent's context in it. None if there is no project.
struct Around {
    project: Project,
    context: ProjectContext,
    here: PathBuf,
}

fn around(app: &App, payload: &Payload) -> Result<Option<Around>, Error> {
    let here = payload.folder().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let own = site::at(app, &here);
    if !own.place()?.state.is_dir() {
        return Ok(None);
    }
    let project = own.project()?;
    let name = site::caller(&project, Some(payload))?;
    let context = site::context(&project, name);
    Ok(Some(Around { project, context, here }))
}

pub(super) fn session(app: &App, payload: &Payload) -> Result<Answer, Error> {
    let Some(around) = around(app, payload)? else { return Ok(Answer::go_on()) };
    let Around { project, context, here } = &around;
    let workspace = site::attempt(app, project, here);
    if payload.is_end() {
        // A conversation that is only cleared goes on in the same window.
        if workspace.is_none() && payload.end_reason() != Some("clear") {
            hooks::ended(context)?;
        }
        return Ok(Answer::go_on());
    }
    Hosts::of(&project.place.state).clean();
    let (tool, cap) = (payload.agent().shape().title, project.settings.hooks_tokens.value);
    let told = hooks::session(context, tool, cap, workspace.as_ref())?;
    Ok(said(payload, Moment::Session, told.text()))
}

pub(super) fn prompt(app: &App, payload: &Payload) -> Result<Answer, Error> {
    let Some(around) = around(app, payload)? else { return Ok(Answer::go_on()) };
    let Around { project, context, here } = &around;
    let workspace = site::attempt(app, project, here);
    let told = hooks::prompt(context, project.settings.hooks_tokens.value, workspace.as_ref())?;
    Ok(said(payload, Moment::Prompt, told.text()))
}

fn said(payload: &Payload, moment: Moment, text: Option<String>) -> Answer {
    text.map_or_else(Answer::go_on, |text| Answer::context(payload, moment, &text))
}

pub(super) fn stop(app: &App, payload: &Payload) -> Result<Answer, Error> {
    if payload.was_kept_going() {
        return Ok(Answer::go_on());
    }
    let Some(around) = around(app, payload)? else { return Ok(Answer::go_on()) };
    let Around { project, context, here } = &around;
    let is_attempt = site::attempt(app, project, here).is_some() || std::env::var_os(RUN).is_some();
    let keeps = match project.settings.hooks_stop.value {
        KeepGoing::On => true,
        KeepGoing::Attempts => is_attempt,
        KeepGoing::Off => false,
    };
    if !keeps {
        return Ok(Answer::go_on());
    }
    let told = hooks::stop(context, project.settings.hooks_tokens.value)?;
    let Some(reason) = told.text() else { return Ok(Answer::go_on()) };
    // The same reason is given once, also to agents that do not say that they were kept going.
    let hosts = Hosts::of(&project.place.state);
    let name = format!("{} stop", context.named()?);
    let reasons: BTreeSet<String> = [reason.replace('\n', " ")].into();
    if hosts.told(&name) == reasons {
        return Ok(Answer::go_on());
    }
    hosts.tell(&name, &reasons)?;
    Ok(Answer::block(payload, &reason))
}
