//! The project that files belong to, and who asks about it.

use althing_kernel::lease::Ttl;
use althing_kernel::{AgentName, Door, Rule, WorkspaceId};
use althing_services::hooks::{Edit, Program};
use althing_services::{Caller, Project as Served, ProjectContext};
use althing_workshop::ancestry;
use althing_workshop::hook_shapes::Payload;
use althing_workshop::hosts::Hosts;
use althing_workshop::ignored::{Sources, ignored};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::app::{App, Project};
use crate::cli::bare;
use crate::error::Error;
use crate::haid::{agent_name, own_haid};
use crate::place::{self, Inside};
use crate::settings::{Asker, agent_called};

/// How long a hook waits for its turn to write: agents give up on slow hooks, and then go on.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long an edited file is held for a session whose end is not noticed, in seconds.
const UNNOTICED_SECS: i128 = 15 * 60;

/// The folder of a state folder that agents write their results into.
const WORKSHOP: &str = "workshop";

/// Files of one project.
pub(super) struct Site {
    /// The folder to find the project from.
    pub(super) folder: PathBuf,
    /// The files, from the project's root.
    pub(super) paths: Vec<String>,
}

/// Sorts files by the projects they belong to. What is in no project is left out.
pub(super) fn sites(app: &App, files: &[PathBuf]) -> Vec<Site> {
    let mut sites: Vec<(PathBuf, Site)> = Vec::new();
    for file in files {
        let Some((state, folder, path)) = locate(app, file) else { continue };
        match sites.iter_mut().find(|(known, _)| *known == state) {
            Some((_, site)) => site.paths.push(path),
            None => sites.push((state, Site { folder, paths: vec![path] })),
        }
    }
    sites.into_iter().map(|(_, site)| site).collect()
}

/// The state folder of a file's project, a folder of the project, and the path from its root.
fn locate(app: &App, file: &Path) -> Option<(PathBuf, PathBuf, String)> {
    let file = place::real(file);
    // What lies in a git folder belongs to the work tree around it.
    let git = file.ancestors().filter(|above| above.file_name().is_some_and(|name| name == ".git"));
    let folder = match git.last().and_then(Path::parent) {
        Some(root) => root.to_owned(),
        None => file.ancestors().skip(1).find(|above| above.is_dir())?.to_owned(),
    };
    let place = at(app, &folder).place().ok()?;
    // A folder that is no project has nothing to guard.
    if !place.state.is_dir() || file.starts_with(place::real(&place.state).join(WORKSHOP)) {
        return None;
    }
    match place.inside(&file) {
        Inside::At(path) if !path.is_empty() => Some((place.state, folder, path)),
        _ => None,
    }
}

/// The program at another folder, unless a project was named.
pub(super) fn at(app: &App, folder: &Path) -> App {
    let mut own = app.clone();
    own.door = Door::Hook;
    own.globals.project.get_or_insert_with(|| folder.to_owned());
    own
}

/// Refuses a name that is nobody's: under it, an edit would go on unchecked.
pub(super) fn check_name(app: &App) -> Result<(), Error> {
    let set = app.globals.agent.clone().or_else(|| std::env::var("ALTHING_AGENT").ok());
    let Some(name) = set.filter(|name| !name.is_empty()) else { return Ok(()) };
    match agent_called(bare(&name, "agent:")) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::misuse(Rule::WhoAreYou, format!("ALTHING_AGENT: {error}"))),
    }
}

/// The name of whoever calls: the agent that was set, the agent's session, or this person's own.
pub(super) fn caller(project: &Project, payload: Option<&Payload>) -> Result<AgentName, Error> {
    if let Some(Asker::Agent(name)) = project.settings.asker()? {
        return Ok(name);
    }
    let hosts = Hosts::of(&project.place.state);
    let name = match payload {
        Some(payload) => Some(hosts.name(payload.agent(), payload.session())?),
        None => hosts.names_above().into_iter().next(),
    };
    match name {
        Some(name) => AgentName::new(&name).map_err(Error::unreadable),
        None => agent_name(&own_haid(project.root())?),
    }
}

/// The context of a hook's request.
pub(super) fn context(project: &Project, name: AgentName) -> ProjectContext {
    let mut setup = project.setup(false);
    setup.options.patience = setup.options.patience.min(PATIENCE);
    let served = Arc::new(Served::new(setup));
    ProjectContext::new(served, Caller::agent(name)).through(Door::Hook)
}

/// The attempt that the caller works in. Projects other than the one around the caller have no part in it.
pub(super) fn attempt(app: &App, project: &Project, here: &Path) -> Option<WorkspaceId> {
    let named = project.settings.workspace.value.as_deref()?;
    let own = at(app, here).place().ok()?;
    let id = WorkspaceId::new(named).ok()?;
    (place::real(&own.state) == place::real(&project.place.state)).then_some(id)
}

/// An edit, as the settings have it.
pub(super) fn edit(
    project: &Project,
    workspace: Option<WorkspaceId>,
    payload: Option<&Payload>,
) -> Edit {
    let settings = &project.settings;
    let shape = payload.map(|payload| payload.agent().shape());
    let program = shape.filter(|shape| shape.is_one_process).and_then(|shape| {
        let process = ancestry::host()?.id();
        Some(Program { kind: shape.name, process })
    });
    // Where nobody notices the end of a session, what it edited must not be held for long.
    let ttl = settings.lease_ttl.value;
    let is_short = shape.is_some() && program.is_none();
    let ttl = match Ttl::new(UNNOTICED_SECS) {
        Ok(short) if is_short && short.secs() < ttl.secs() => short,
        _ => ttl,
    };
    Edit {
        on_edit: settings.claims_on_edit.value,
        outside: settings.claims_outside.value,
        workspace,
        ttl,
        program,
    }
}

/// The paths that git does not ignore.
pub(super) fn tracked(project: &Project, paths: &[String]) -> Vec<String> {
    if project.place.root_origin != "git toplevel" {
        return paths.to_vec();
    }
    let state = project.place.state.parent().map(|git| git.join("info/exclude"));
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")));
    let global = config.map(|config| config.join("git/ignore"));
    let others = state.into_iter().chain(global).collect();
    let found = ignored(&Sources { root: project.place.root.clone(), others }, paths);
    paths.iter().filter(|path| !found.contains(*path)).cloned().collect()
}
