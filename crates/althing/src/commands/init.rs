//! `althing init`

use althing_engine::Engine;
use serde_json::json;

use crate::app::App;
use crate::cli::Init;
use crate::failure::Failure;
use crate::output::Tone;

pub(crate) fn run(app: &App, args: &Init) -> Result<(), Failure> {
    let project = app.project()?;
    let folder_name = project.root().file_name().map(|name| name.to_string_lossy().into_owned());
    let name = args.name.clone().or(folder_name).unwrap_or_else(|| "project".to_owned());
    let created = Engine::create(&project.home, &name, &project.options())?;
    let world = project.engine()?.world()?;
    let known = world.state.project();
    if app.out.json {
        return app.out.value(&json!({
            "created": created,
            "project": known.map(|project| &project.id),
            "name": known.map(|project| &project.name),
            "root": project.root(),
            "state": project.home.root(),
            "store": project.home.store(),
        }));
    }
    let name = known.map_or_else(String::new, |project| project.name.to_string());
    let done = if created { "set up" } else { "already set up" };
    app.out.line(format!(
        "{} {done}; its state is in {}",
        app.out.paint(Tone::Strong, &name),
        project.home.root().display()
    ))?;
    app.out.note("Next: althing claim PATH --as NAME");
    Ok(())
}
