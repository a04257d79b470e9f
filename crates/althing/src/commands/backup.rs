//! `althing backup`

use althing_engine::backup;
use serde_json::json;

use crate::app::{App, Project};
use crate::cli::Backup;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::Progress;

pub(crate) fn run(app: &App, args: &Backup) -> Result<(), Failure> {
    let project = app.project()?;
    if args.restore {
        return restore(app, args, &project);
    }
    let bar = Progress::new(app.out, "copying pages");
    let backup =
        backup::backup(&project.home, &args.folder, args.keys, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    let folder = backup.folder.to_string_lossy();
    if app.out.json {
        return app.out.value(&json!({
            "folder": folder,
            "entries": backup.entries,
            "keys": backup.keys,
        }));
    }
    let keys = if backup.keys { ", with the keys" } else { "" };
    let entries = counted(backup.entries, "entry", "entries");
    app.out.line(format!("copied {entries} to {folder}{keys}, verified"))
}

fn restore(app: &App, args: &Backup, project: &Project) -> Result<(), Failure> {
    let restored = backup::restore(&project.home, &args.folder, &project.options())?;
    let aside = restored.aside.as_ref().map(|path| path.to_string_lossy());
    let entries = restored.checked.entries;
    if app.out.json {
        return app.out.value(&json!({
            "restored": entries,
            "entries_before": restored.entries_before,
            "recorded": restored.recorded,
            "set_aside": aside,
        }));
    }
    app.out.line(format!("restored {}, verified", counted(entries, "entry", "entries")))?;
    if restored.entries_before > entries {
        let newer = counted(restored.entries_before - entries, "newer entry", "newer entries");
        app.out.line(format!("not in effect any more: {newer}; epochs go on above theirs"))?;
    }
    if let Some(aside) = aside {
        app.out.line(format!("what was here before is in {aside}"))?;
    }
    if !restored.recorded {
        app.out.note(
            "The key of that trail is not here, so nothing can be added to it: put \
             keys/runtime.key in place, or take over with `althing doctor --rekey --reason …`.",
        );
    }
    Ok(())
}
