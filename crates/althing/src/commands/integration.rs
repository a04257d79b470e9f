//! `althing integrate`

use althing_kernel::checkpoint::CheckpointView;
use althing_kernel::file::{File, FileArg};
use althing_kernel::id::ConflictId;
use althing_kernel::integration::conflict::{ConflictArg, OpenConflict, Resolution, Resolve};
use althing_kernel::integration::salvage::Salvage;
use althing_kernel::integration::{Decide, Decision, IntegrationReply};
use althing_kernel::query::{Answer, OfWorkspace, Query};
use althing_kernel::text::Text;
use althing_kernel::workspace::Status;
use althing_kernel::{Command, Content, Reply, Rule, WorkspaceId};
use serde::Serialize;
use std::time::Duration;

use super::checks::{self, Checked};
use super::gates::said_to_wait;
use super::merged_tree::{Files, MergedTree, overlay, overlay_args};
use crate::app::App;
use crate::cli::{
    Findings, Integrate, IntegrateAccept, IntegrateCommand, IntegrateResolve, IntegrateSalvage,
    Judgement,
};
use crate::content::merged;
use crate::desk::Desk;
use crate::error::Error;
use crate::event_summary::word;
use crate::naming::short;
use crate::naming::{Naming, ambiguous};
use crate::output::one_line;
use crate::settings::Asker;

/// How often checks run again because something else was merged meanwhile.
const ROUNDS_MAX: usize = 3;

pub(crate) fn run(app: &App, args: Integrate) -> Result<(), Error> {
    let desk = Desk::open(app)?;
    let workspace = desk.workspace(&args.id)?;
    let command = match args.command {
        IntegrateCommand::Accept(args) => return accept(&desk, workspace, args),
        IntegrateCommand::Salvage(args) => return salvage(&desk, workspace, args),
        IntegrateCommand::Revise(args) => judge(workspace, Decision::Revise, args),
        IntegrateCommand::Reject(args) => judge(workspace, Decision::Reject, args),
        IntegrateCommand::Resolve(args) => resolve(&desk, workspace, &args)?,
    };
    tell(&desk, &desk.order(command)?, &[], None)
}

fn accept(desk: &Desk<'_>, workspace: WorkspaceId, args: IntegrateAccept) -> Result<(), Error> {
    let commands = commands(desk, &args.findings, "integration.decide")?;
    // Whoever it is shows that first; checks may take long.
    let client = desk.client()?;
    let merged = args.merged.as_deref().map(merged).transpose()?;
    let checked = match commands.as_slice() {
        [] => Some(Vec::new()),
        commands => check_finished(desk, &workspace, merged.as_deref(), commands)?,
    };
    let decide = Decide {
        conflicts: found(args.findings.conflicts, checked.as_deref()),
        decision: Decision::Accept,
        merged,
        reason: args.reason,
        strategy: Some(args.strategy),
        workspace,
    };
    let reply = client.execute(Command::IntegrationDecide(decide))?;
    tell(desk, &reply, checked.as_deref().unwrap_or_default(), None)
}

/// Checks what accepting finished work would lead to. What would be refused is not checked first:
/// then there is no result, and whoever decides must not take that for a good one.
fn check_finished(
    desk: &Desk<'_>,
    workspace: &WorkspaceId,
    merged: Option<&[FileArg]>,
    commands: &[String],
) -> Result<Option<Vec<Checked>>, Error> {
    let view = desk.workspace_view(workspace.clone())?;
    let mut made = desk.checkpoints(workspace)?.into_iter();
    let made = made.find(|made| Some(&made.checkpoint) == view.latest_final.as_ref());
    let ready = view.status == Status::Integrating;
    let (true, Some(target), Some(made)) = (ready, &view.parent, made) else {
        return Ok(None);
    };
    let mut work = Files::new();
    overlay(&mut work, &made.files_changed);
    overlay_args(&mut work, merged.unwrap_or_default());
    check(desk, target, &work, commands)
}

fn salvage(desk: &Desk<'_>, workspace: WorkspaceId, args: IntegrateSalvage) -> Result<(), Error> {
    let commands = commands(desk, &args.findings, "integration.salvage")?;
    let client = desk.client()?;
    let view = desk.workspace_view(workspace.clone())?;
    let checkpoint = args.checkpoint.as_deref().map(|text| desk.checkpoint(text)).transpose()?;
    let made = desk.checkpoints(&workspace)?;
    let chosen = checkpoint.as_ref().or(view.latest_final.as_ref()).or(view.head.as_ref());
    let made = made.into_iter().find(|made| Some(&made.checkpoint) == chosen);
    let merged = match (&args.merged, &made) {
        (Some(path), _) => merged(path)?,
        (None, Some(made)) => taken(made, &args)?,
        (None, None) => Vec::new(),
    };
    let target = desk.engine()?.world()?.state.salvage_target(&workspace);
    let checked = match (view.status, &target, &made) {
        (Status::Failed, Some(target), Some(_)) => {
            let mut work = Files::new();
            overlay_args(&mut work, &merged);
            check(desk, target, &work, &commands)?
        }
        _ => commands.is_empty().then(Vec::new),
    };
    let conflicts = found(args.findings.conflicts, checked.as_deref());
    let into = target.as_ref().map_or_else(String::new, |target| format!(" into {target}"));
    let words = format!("files saved{into}: {}; {workspace} stays failed", merged.len());
    let salvage = Salvage { checkpoint, conflicts, merged, reason: args.reason, workspace };
    let reply = client.execute(Command::IntegrationSalvage(salvage))?;
    tell(desk, &reply, checked.as_deref().unwrap_or_default(), Some(words))
}

/// The files that are taken out of a checkpoint: all of them, or those that were named.
fn taken(made: &CheckpointView, args: &IntegrateSalvage) -> Result<Vec<FileArg>, Error> {
    let all = &made.files_changed;
    if let Some(missing) = args.only.iter().find(|path| !all.iter().any(|own| own.path == **path)) {
        let message = format!("checkpoint {} has no file {missing}", made.checkpoint);
        return Err(Error::not_found(message));
    }
    let wanted = |file: &&File| args.only.is_empty() || args.only.contains(&file.path);
    let file = |file: &File| FileArg {
        content: file.content.clone().map(Content::Blob),
        path: file.path.clone(),
    };
    Ok(all.iter().filter(wanted).map(file).collect())
}

/// The checks that are to run before an order: the project's, and those one asks for.
fn commands(desk: &Desk<'_>, findings: &Findings, order: &str) -> Result<Vec<String>, Error> {
    let settings = &desk.project.settings;
    if findings.no_checks {
        if let Some(Asker::User(_)) = settings.asker()? {
            return Ok(Vec::new());
        }
        let message = "no person says that checks are left out";
        return Err(Error::refused(Rule::ChecksStay, message).recorded(&desk.client()?, order));
    }
    Ok(settings.checks.value.iter().chain(&findings.checks).cloned().collect())
}

/// Runs checks on what a merge would lead to, and again if something else was merged meanwhile.
fn check(
    desk: &Desk<'_>,
    target: &WorkspaceId,
    work: &Files,
    commands: &[String],
) -> Result<Option<Vec<Checked>>, Error> {
    if commands.is_empty() {
        return Ok(Some(Vec::new()));
    }
    if desk.engine()?.world()?.state.merging_into(target).is_some() {
        return Ok(None);
    }
    let limit = Duration::from_secs(desk.project.settings.check_timeout_secs.value);
    for _ in 0..ROUNDS_MAX {
        let before = merged_into(desk, target)?;
        let mut files = Files::new();
        overlay(&mut files, &before);
        files.extend(work.clone());
        let tree = MergedTree::lay(&desk.project.place, &desk.blobs(), &files)?;
        let checked = checks::run(desk.out(), &tree.path(), commands, limit)?;
        if merged_into(desk, target)? == before {
            return Ok(Some(checked));
        }
        desk.out().note("something else was merged meanwhile; checking again");
    }
    let message = format!("other work is merged into {target} again and again while checks run");
    Err(Error::unavailable(message))
}

fn merged_into(desk: &Desk<'_>, target: &WorkspaceId) -> Result<Vec<File>, Error> {
    match desk.ask(&Query::WorkspaceFiles(OfWorkspace { workspace: target.clone() }))? {
        Answer::Files(view) => Ok(view.merged),
        other => Err(Error::unexpected(&other)),
    }
}

/// The conflicts of a merge: those that are known, and what checks found. A merge that was not
/// checked because it would be refused is not accepted if that has changed meanwhile.
fn found(mut conflicts: Vec<ConflictArg>, checked: Option<&[Checked]>) -> Vec<ConflictArg> {
    match checked {
        Some(checked) => conflicts.extend(checks::breaches(checked)),
        None => conflicts.push(checks::not_run()),
    }
    conflicts
}

fn judge(workspace: WorkspaceId, decision: Decision, args: Judgement) -> Command {
    Command::IntegrationDecide(Decide {
        conflicts: Vec::new(),
        decision,
        merged: None,
        reason: args.reason,
        strategy: None,
        workspace,
    })
}

fn resolve(
    desk: &Desk<'_>,
    workspace: WorkspaceId,
    args: &IntegrateResolve,
) -> Result<Command, Error> {
    let open = desk.workspace_view(workspace.clone())?.conflicts;
    let strategy = match (args.rework, args.escalate) {
        (true, _) => Resolution::AgentRework,
        (_, true) => Resolution::Escalate,
        _ => Resolution::CoordinatorResolve,
    };
    let resolution: Text<1000> = args.resolution.clone();
    Ok(Command::ConflictResolve(Resolve {
        conflict: conflict(&open, args.conflict.as_deref(), &workspace)?,
        merged: args.merged.as_deref().map(merged).transpose()?,
        resolution,
        strategy,
        workspace,
    }))
}

/// The conflict that is meant: by its id or a part of it, or the only one.
fn conflict(
    open: &[OpenConflict],
    given: Option<&str>,
    workspace: &WorkspaceId,
) -> Result<ConflictId, Error> {
    let ids: Vec<&str> = open.iter().map(|conflict| conflict.id.as_str()).collect();
    let Some(text) = given else {
        return match open {
            [one] => Ok(one.id.clone()),
            [] => {
                let message = format!("workspace {workspace} has no open conflict");
                Err(Error::not_found(message).with_rule(Rule::ConflictOpen))
            }
            _ => Err(ambiguous("no id", &ids)),
        };
    };
    let naming = Naming::of(&ids);
    let meant = naming.find(text)?.unwrap_or(text);
    ConflictId::new(meant).map_err(|error| Error::usage(format!("{text:?}: {error}")))
}

/// A conflict, with what it is about.
pub(super) fn said_of_conflict(conflict: &OpenConflict) -> String {
    let resources: Vec<String> = conflict.resources.iter().map(ToString::to_string).collect();
    let about = format!("{}: {}", conflict.description, resources.join(", "));
    format!(
        "{}  {}  {}",
        short(&conflict.id),
        word(&conflict.kind),
        one_line(about.trim_end_matches(": "))
    )
}

/// The reply to a decision, and the results of the checks before it.
#[derive(Serialize)]
struct Told<'t> {
    #[serde(flatten)]
    stands: &'t IntegrationReply,
    #[serde(skip_serializing_if = "<[Checked]>::is_empty")]
    checks: &'t [Checked],
}

fn tell(
    desk: &Desk<'_>,
    reply: &Reply,
    checks: &[Checked],
    done: Option<String>,
) -> Result<(), Error> {
    if said_to_wait(desk, reply)? {
        return Ok(());
    }
    let Reply::Integration(stands) = reply else { return Err(Error::unexpected(reply)) };
    if desk.out().json {
        return desk.out().value(&Told { stands, checks });
    }
    let open = !stands.conflicts.is_empty();
    let stands_so = || format!("{} is {}", stands.workspace, stands.status);
    desk.out().say(&done.filter(|_| !open).unwrap_or_else(stands_so))?;
    for conflict in &stands.conflicts {
        desk.out().line(said_of_conflict(conflict))?;
    }
    if open {
        desk.out()
            .note("settle each with `althing integrate WS resolve CONFLICT --resolution TEXT`");
    }
    Ok(())
}
