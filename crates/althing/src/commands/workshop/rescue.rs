//! `althing rescue`: work that would have been lost with its worktree.

use althing_workshop::git::ref_name::{BranchName, TreeName};
use althing_workshop::rescue::{Rescue, RescueError, What};
use serde::Serialize;
use std::path::Path;

use super::shared;
use crate::app::App;
use crate::cli::{RescueCommand, RescueName, RescueRestore, RescueShow};
use crate::error::Error;
use crate::output::counted;
use crate::table::{free_text, whole};

/// Rescued work, for scripts.
#[derive(Serialize)]
struct Kept<'r> {
    name: &'r str,
    number: u32,
    reference: &'r str,
    commit: &'r str,
    at: i64,
    branch: Option<&'r str>,
    files: usize,
    reason: &'r str,
}

impl<'r> Kept<'r> {
    fn of(rescue: &'r Rescue) -> Self {
        Kept {
            name: rescue.name.as_str(),
            number: rescue.number,
            reference: rescue.reference.as_str(),
            commit: rescue.commit.as_str(),
            at: rescue.at,
            branch: rescue.branch.as_deref(),
            files: rescue.files,
            reason: &rescue.reason,
        }
    }
}

fn failed(error: &RescueError) -> Error {
    Error::unavailable(error.to_string()).hint(error.hint())
}

pub(crate) fn run(app: &App, command: Option<RescueCommand>) -> Result<(), Error> {
    let project = app.project()?;
    let shared = shared(app, &project)?;
    let rescues = shared.repository().rescues();
    let find = |named: &RescueName| -> Result<Rescue, Error> {
        let unknown = || {
            Error::not_found(format!("nothing is kept under {:?}", named.name))
                .hint("`althing rescue` lists what is kept.")
        };
        let name = TreeName::new(&named.name).map_err(|_| unknown())?;
        if let Some(number) = named.number {
            rescues.get(&name, number).map_err(|error| failed(&error))
        } else {
            let all = rescues.of(&name).map_err(|error| failed(&error))?;
            all.into_iter().max_by_key(|own| own.number).ok_or_else(unknown)
        }
    };
    match command {
        None | Some(RescueCommand::List) => {
            list(app, &rescues.list().map_err(|error| failed(&error))?)
        }
        Some(RescueCommand::Show(RescueShow { rescue, patch })) => {
            let rescue = find(&rescue)?;
            if app.out.json {
                return app.out.value(&Kept::of(&rescue));
            }
            let text = if patch {
                String::from_utf8_lossy(&rescues.patch(&rescue).map_err(|error| failed(&error))?)
                    .into_owned()
            } else {
                rescues.stat(&rescue).map_err(|error| failed(&error))?
            };
            app.out.line(text.trim_end())
        }
        Some(RescueCommand::Restore(args)) => restore(app, &shared, &args, &find(&args.rescue)?),
        Some(RescueCommand::Drop(named)) => {
            let rescue = find(&named)?;
            rescues.drop(&rescue).map_err(|error| failed(&error))?;
            let commit = rescue.commit.as_str();
            tell(app, &rescue, &format!("{} is forgotten; it was {commit}", rescue.reference))
        }
    }
}

fn tell(app: &App, rescue: &Rescue, said: &str) -> Result<(), Error> {
    if app.out.json { app.out.value(&Kept::of(rescue)) } else { app.out.line(said) }
}

fn list(app: &App, all: &[Rescue]) -> Result<(), Error> {
    if app.out.json {
        let all: Vec<Kept<'_>> = all.iter().map(Kept::of).collect();
        return app.out.value(&all);
    }
    if all.is_empty() {
        app.out.note("nothing had to be rescued");
        return Ok(());
    }
    let row = |own: &Rescue| {
        vec![
            own.name.to_string(),
            own.number.to_string(),
            counted(own.files as u64, "file", "files"),
            own.commit.short().to_string(),
            own.branch.clone().unwrap_or_else(|| "-".to_owned()),
            own.reason.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let columns = [
        whole("NAME"),
        whole("NUMBER"),
        whole("FILES"),
        whole("COMMIT"),
        whole("BRANCH"),
        free_text("REASON"),
    ];
    app.out.table(&columns, &rows)
}

fn restore(
    app: &App,
    shared: &althing_services::runner::Shared,
    args: &RescueRestore,
    rescue: &Rescue,
) -> Result<(), Error> {
    let rescues = shared.repository().rescues();
    if let Some(branch) = &args.branch {
        let name = BranchName::new(branch).map_err(|error| Error::usage(error.to_string()))?;
        rescues.restore_branch(rescue, &name).map_err(|error| failed(&error))?;
        return tell(app, rescue, &format!("{branch} is at {}", rescue.commit.short()));
    }
    let folder = shared.repository().work_tree().unwrap_or(Path::new("."));
    let restored =
        rescues.restore_into(rescue, folder, What::Changed).map_err(|error| failed(&error))?;
    if !restored.kept.is_empty() {
        let kept: Vec<String> =
            restored.kept.iter().map(althing_workshop::git::tree_path::TreePath::shown).collect();
        app.out.note(format!("left as they are, because they differ: {}", kept.join(", ")));
    }
    if !restored.deleted.is_empty() {
        let gone: Vec<String> = restored
            .deleted
            .iter()
            .map(althing_workshop::git::tree_path::TreePath::shown)
            .collect();
        app.out.note(format!("deleted in the rescued work, and still here: {}", gone.join(", ")));
    }
    let files = counted(restored.written.len() as u64, "file", "files");
    tell(app, rescue, &format!("{files} written"))
}
