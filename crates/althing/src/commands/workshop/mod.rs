//! `althing run` and the commands that look after a run.

mod attempts;
mod check_plan;
mod control;
mod live;
mod logs;
mod rescue;
mod run;
mod tick;
mod undo;
mod why;

pub(crate) use attempts::ps;
pub(crate) use check_plan::check as check_plan;
pub(crate) use control::{pause, resume, retry, stop};
pub(crate) use logs::{attach, logs};
pub(crate) use rescue::run as rescue;
pub(crate) use run::run;
pub(crate) use tick::run as tick;
pub(crate) use undo::run as undo;
pub(crate) use why::run as why;

use althing_services::Project as Served;
use althing_services::runner::{Shared, Workshop};
use std::sync::Arc;

use crate::app::{App, Project};
use crate::error::Error;

/// The settings of runs.
fn settings_of(project: &Project) -> Result<Workshop, Error> {
    let settings = &project.settings;
    let althing = std::env::current_exe()
        .map_err(|error| Error::unavailable(format!("this program cannot be found: {error}")))?;
    let check_secs = settings.check_timeout_secs.value;
    Ok(settings.workshop.workshop(althing, &settings.checks.value, check_secs))
}

/// The repository and its worktrees.
fn shared(app: &App, project: &Project) -> Result<Shared, Error> {
    let served = Served::new(project.setup(false)).warning(&app.warnings);
    Shared::open(&Arc::new(served), settings_of(project)?)
}
