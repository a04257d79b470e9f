//! `althing backup`

use althing_engine::transfer;
use serde_json::json;

use crate::app::App;
use crate::cli::Backup;
use crate::failure::Failure;
use crate::progress::Progress;

pub(crate) fn run(app: &App, args: &Backup) -> Result<(), Failure> {
    let project = app.project()?;
    if args.restore {
        let (checked, aside) = transfer::restore(&project.home, &args.folder)?;
        if app.out.json {
            return app.out.value(&json!({ "restored": checked.entries, "set_aside": aside }));
        }
        app.out.line(format!("restored {} entries, verified", checked.entries))?;
        if let Some(aside) = aside {
            app.out.line(format!("what was here before is in {}", aside.display()))?;
        }
        return Ok(());
    }
    let bar = Progress::new(app.out, "copying pages");
    let backup =
        transfer::backup(&project.home, &args.folder, args.keys, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    if app.out.json {
        return app.out.value(&backup);
    }
    let keys = if backup.keys { ", with the keys" } else { "" };
    app.out.line(format!(
        "copied {} entries to {}{keys}, verified",
        backup.entries,
        backup.folder.display()
    ))
}
