//! `althing init`

use althing_engine::{Engine, deployment};
use althing_kernel::text::Text;
use serde_json::{Value, json};

use super::wire;
use crate::app::{App, Project};
use crate::cli::Init;
use crate::error::Error;
use crate::output::Tone;
use crate::settings::Origin;

pub(crate) fn run(app: &App, args: &Init) -> Result<(), Error> {
    let project = app.project()?;
    let folder_name =
        project.root().file_name().map_or("project".into(), |name| name.to_string_lossy());
    // A folder may be called what a project may not.
    let name = args.name.clone().unwrap_or_else(|| Text::<128>::lossy(&folder_name).to_string());
    let set = &project.settings.deployment;
    let declared = (set.origin != Origin::Default).then_some(set.value);
    if let Some(model) = args.deployment.or(declared) {
        deployment::check(&project.home, model)?;
    }
    wire::check(&project, args)?;
    if args.dry_run {
        return dry(app, &project, args);
    }
    let created = Engine::create(&project.home, &name, &project.options())?;
    let world = project.engine()?.world()?;
    let known = world.state.project();
    if app.out.json {
        let files = wired(app, &project, args)?;
        return app.out.value(&json!({
            "created": created,
            "files": files,
            "project": known.map(|project| &project.id),
            "name": known.map(|project| &project.name),
            "root": project.root().to_string_lossy(),
            "state": project.home.root().to_string_lossy(),
            "store": project.home.store().to_string_lossy(),
        }));
    }
    let name = known.map_or_else(String::new, |project| project.name.to_string());
    let done = if created { "set up" } else { "already set up" };
    app.out.line(format!(
        "{} {done}; its state is in {}",
        app.out.paint(Tone::Strong, &name),
        project.home.root().display()
    ))?;
    if !created && args.name.as_ref().is_some_and(|given| *given != name) {
        app.out.note("It keeps the name it has.");
    }
    if args.agents.is_empty() {
        app.out.note("Next: althing init --agent all, or althing claim PATH --as NAME");
        return Ok(());
    }
    wired(app, &project, args).map(drop)
}

/// Wires the agents that were named, if any were.
fn wired(app: &App, project: &Project, args: &Init) -> Result<Vec<Value>, Error> {
    if args.agents.is_empty() { Ok(Vec::new()) } else { wire::wire(app, project, args) }
}

/// Shows what would be written, and writes nothing.
fn dry(app: &App, project: &Project, args: &Init) -> Result<(), Error> {
    let files = wire::wire(app, project, args)?;
    if app.out.json {
        return app.out.value(&json!({ "created": false, "files": files, "dry_run": true }));
    }
    Ok(())
}
