//! `althing backup`

use althing_engine::{Inventory, backup};
use althing_kernel::Blob;
use althing_services::ErrorKind;
use althing_services::error::BLOB_HINT;
use serde_json::json;

use crate::app::{App, Project};
use crate::cli::Backup;
use crate::error::Error;
use crate::output::{counted, show_bytes};
use crate::progress::Progress;

pub(crate) fn run(app: &App, args: &Backup) -> Result<(), Error> {
    let project = app.project()?;
    if args.restore {
        return restore(app, args, &project);
    }
    if let Some(agent) = project.asker()? {
        project.engine()?.check_reads_all_content(Some(&agent))?;
    }
    let bar = Progress::new(app.out, "copying");
    let backup =
        backup::backup(&project.home, &args.folder, args.keys, &mut |done, of| bar.at(done, of));
    drop(bar);
    let backup = backup.map_err(|error| match Error::from(error) {
        failure if failure.message().starts_with("cannot create") => {
            failure.hint("Name a folder that can be created: the one above it has to exist.")
        }
        failure => failure,
    })?;
    let folder = backup.folder.to_string_lossy();
    if app.out.json {
        return app.out.value(&json!({
            "folder": folder,
            "entries": backup.entries,
            "blobs": backup.blobs,
            "keys": backup.keys,
        }));
    }
    let keys = if backup.keys { ", with the keys" } else { "" };
    let what = trail_and_content(backup.entries, &backup.blobs);
    app.out.line(format!("copied {what} to {folder}{keys}, verified"))?;
    name_lost(app, &backup.blobs);
    Ok(())
}

/// Prints what was copied.
fn trail_and_content(entries: u64, blobs: &Inventory) -> String {
    let entries = counted(entries, "entry", "entries");
    if blobs.whole == 0 {
        return entries;
    }
    let (number, bytes) = (counted(blobs.whole, "blob", "blobs"), show_bytes(blobs.bytes));
    format!("{entries} and {number} ({bytes})")
}

/// Prints what was not copied.
fn name_lost(app: &App, blobs: &Inventory) {
    let named = |what: &str, lost: &[Blob]| {
        for blob in lost {
            app.out.note(format!("{what}: {blob}"));
        }
    };
    named("damaged, so left out", &blobs.damaged);
    named("named in the trail, but not there", &blobs.missing);
    if !blobs.damaged.is_empty() || !blobs.missing.is_empty() {
        app.out.note(BLOB_HINT);
    }
}

fn restore(app: &App, args: &Backup, project: &Project) -> Result<(), Error> {
    let asked_by = project.credential(app)?;
    let options = project.options();
    let restored = backup::restore(&project.home, &args.folder, &options, asked_by.as_ref());
    let restored = restored.map_err(|error| match Error::from(error) {
        failure if failure.kind() == ErrorKind::NotFound => {
            failure.hint("Name a folder that `althing backup FOLDER` wrote.")
        }
        // The rule was asked for its opinion; no command was issued yet.
        failure if failure.kind() == ErrorKind::Refused => {
            Error::refused(failure.rule(), failure.message())
        }
        failure => failure,
    })?;
    let aside = restored.aside.as_ref().map(|path| path.to_string_lossy());
    let entries = restored.checked.entries;
    if app.out.json {
        return app.out.value(&json!({
            "restored": entries,
            "entries_before": restored.entries_before,
            "blobs": restored.blobs,
            "recorded": restored.recorded,
            "set_aside": aside,
        }));
    }
    app.out.line(format!("restored {}, verified", trail_and_content(entries, &restored.blobs)))?;
    name_lost(app, &restored.blobs);
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
