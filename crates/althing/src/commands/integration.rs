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
use althing_services::ErrorKind;
use serde::Serialize;
use std::time::Duration;

use super::Outcome;
use super::checks::{self, Checked};
use super::gates::note_waiting;
use super::merged_tree::{Files, MergedTree, overlay, overlay_args};
use crate::app::App;
use crate::cli::{
    Findings, Integrate, IntegrateAccept, IntegrateCommand, IntegrateResolve, IntegrateSalvage,
    Judgement,
};
use crate::command_context::CommandContext;
use crate::content::merged;
use crate::error::{Error, exit_code};
use crate::event_summary::word;
use crate::naming::short;
use crate::naming::{Naming, ambiguous};
use crate::output::one_line;
use crate::settings::Asker;

/// How often checks run again because something else was merged meanwhile.
const ROUNDS_MAX: usize = 3;

pub(crate) fn run(app: &App, args: Integrate) -> Result<Outcome, Error> {
    let context = CommandContext::open(app)?;
    let workspace = context.workspace(&args.id)?;
    let command = match args.command {
        IntegrateCommand::Accept(args) => return accept(&context, workspace, args),
        IntegrateCommand::Salvage(args) => return salvage(&context, workspace, args),
        IntegrateCommand::Revise(args) => judge(workspace, Decision::Revise, args),
        IntegrateCommand::Reject(args) => judge(workspace, Decision::Reject, args),
        IntegrateCommand::Resolve(args) => resolve(&context, workspace, &args)?,
    };
    print_reply(&context, &context.order(command)?, &[], None).map(|_| Outcome::Done)
}

fn accept(
    context: &CommandContext<'_>,
    workspace: WorkspaceId,
    args: IntegrateAccept,
) -> Result<Outcome, Error> {
    let commands = commands(context, &args.findings, "integration.decide")?;
    // The caller authenticates first, because checks may take long.
    let client = context.client()?;
    let merged = args.merged.as_deref().map(merged).transpose()?;
    let checked = match commands.as_slice() {
        [] => Some(Vec::new()),
        commands => check_finished(context, &workspace, merged.as_deref(), commands)?,
    };
    let decide = Decide {
        conflicts: found(args.findings.conflicts, checked.as_deref()),
        decision: Decision::Accept,
        merge: None,
        merged,
        reason: args.reason,
        strategy: Some(args.strategy),
        workspace,
    };
    let reply = client.execute(Command::IntegrationDecide(decide))?;
    print_reply(context, &reply, checked.as_deref().unwrap_or_default(), None)
}

/// Checks what accepting finished work would lead to. What would be refused is not checked first:
/// then there is no result, and whoever decides must not take that for a good one.
fn check_finished(
    context: &CommandContext<'_>,
    workspace: &WorkspaceId,
    merged: Option<&[FileArg]>,
    commands: &[String],
) -> Result<Option<Vec<Checked>>, Error> {
    let view = context.workspace_view(workspace.clone())?;
    let mut made = context.checkpoints(workspace)?.into_iter();
    let made = made.find(|made| Some(&made.checkpoint) == view.latest_final.as_ref());
    let ready = view.status == Status::Integrating;
    let (true, Some(target), Some(made)) = (ready, &view.parent, made) else {
        return Ok(None);
    };
    let mut work = Files::new();
    overlay(&mut work, &made.files_changed);
    overlay_args(&mut work, merged.unwrap_or_default());
    check(context, target, &work, commands)
}

fn salvage(
    context: &CommandContext<'_>,
    workspace: WorkspaceId,
    args: IntegrateSalvage,
) -> Result<Outcome, Error> {
    let commands = commands(context, &args.findings, "integration.salvage")?;
    let client = context.client()?;
    let view = context.workspace_view(workspace.clone())?;
    let checkpoint = args.checkpoint.as_deref().map(|text| context.checkpoint(text)).transpose()?;
    let made = context.checkpoints(&workspace)?;
    let chosen = checkpoint.as_ref().or(view.latest_final.as_ref()).or(view.head.as_ref());
    let made = made.into_iter().find(|made| Some(&made.checkpoint) == chosen);
    let merged = match (&args.merged, &made) {
        (Some(path), _) => merged(path)?,
        (None, Some(made)) => taken(made, &args)?,
        (None, None) => Vec::new(),
    };
    let target = context.engine()?.world()?.state.salvage_target(&workspace);
    let checked = match (view.status, &target, &made) {
        (Status::Failed, Some(target), Some(_)) => {
            let mut work = Files::new();
            overlay_args(&mut work, &merged);
            check(context, target, &work, &commands)?
        }
        _ => commands.is_empty().then(Vec::new),
    };
    let conflicts = found(args.findings.conflicts, checked.as_deref());
    let into = target.as_ref().map_or_else(String::new, |target| format!(" into {target}"));
    let words = format!("files saved{into}: {}; {workspace} stays failed", merged.len());
    let salvage =
        Salvage { checkpoint, conflicts, merge: None, merged, reason: args.reason, workspace };
    let reply = client.execute(Command::IntegrationSalvage(salvage))?;
    print_reply(context, &reply, checked.as_deref().unwrap_or_default(), Some(words))
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
fn commands(
    context: &CommandContext<'_>,
    findings: &Findings,
    order: &str,
) -> Result<Vec<String>, Error> {
    let settings = &context.project.settings;
    if findings.no_checks {
        if let Some(Asker::User(_)) = settings.asker()? {
            return Ok(Vec::new());
        }
        let message = "only a person may leave checks out, with `--user NAME`";
        return Err(Error::refused(Rule::ChecksStay, message).recorded(&context.client()?, order));
    }
    Ok(settings.checks.value.iter().chain(&findings.checks).cloned().collect())
}

/// Runs checks on what a merge would lead to, and again if something else was merged meanwhile.
fn check(
    context: &CommandContext<'_>,
    target: &WorkspaceId,
    work: &Files,
    commands: &[String],
) -> Result<Option<Vec<Checked>>, Error> {
    if commands.is_empty() {
        return Ok(Some(Vec::new()));
    }
    if context.engine()?.world()?.state.merging_into(target).is_some() {
        return Ok(None);
    }
    let limit = Duration::from_secs(context.project.settings.check_timeout_secs.value);
    for _ in 0..ROUNDS_MAX {
        let before = merged_into(context, target)?;
        let mut files = Files::new();
        overlay(&mut files, &before);
        files.extend(work.clone());
        let tree = MergedTree::lay(&context.project.place, &context.blobs(), &files)?;
        let checked = checks::run(context.out(), &tree.path(), commands, limit)?;
        if merged_into(context, target)? == before {
            return Ok(Some(checked));
        }
        context.out().note("something else was merged meanwhile; checking again");
    }
    let message = format!("other work is merged into {target} again and again while checks run");
    Err(Error::unavailable(message))
}

fn merged_into(context: &CommandContext<'_>, target: &WorkspaceId) -> Result<Vec<File>, Error> {
    match context.ask(&Query::WorkspaceFiles(OfWorkspace { workspace: target.clone() }))? {
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
        merge: None,
        merged: None,
        reason: args.reason,
        strategy: None,
        workspace,
    })
}

fn resolve(
    context: &CommandContext<'_>,
    workspace: WorkspaceId,
    args: &IntegrateResolve,
) -> Result<Command, Error> {
    let open = context.workspace_view(workspace.clone())?.conflicts;
    let strategy = match (args.rework, args.escalate) {
        (true, _) => Resolution::AgentRework,
        (_, true) => Resolution::Escalate,
        _ => Resolution::CoordinatorResolve,
    };
    let resolution: Text<1000> = args.resolution.clone();
    Ok(Command::ConflictResolve(Resolve {
        conflict: conflict(&open, args.conflict.as_deref(), &workspace)?,
        merge: None,
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
pub(super) fn describe_conflict(conflict: &OpenConflict) -> String {
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
struct ReplyWithChecks<'t> {
    #[serde(flatten)]
    stands: &'t IntegrationReply,
    #[serde(skip_serializing_if = "<[Checked]>::is_empty")]
    checks: &'t [Checked],
}

/// Prints where an integration stands. A merge that stopped at a conflict is not done.
fn print_reply(
    context: &CommandContext<'_>,
    reply: &Reply,
    checks: &[Checked],
    done: Option<String>,
) -> Result<Outcome, Error> {
    if note_waiting(context, reply)? {
        return Ok(Outcome::Done);
    }
    let Reply::Integration(stands) = reply else { return Err(Error::unexpected(reply)) };
    let open = !stands.conflicts.is_empty();
    let outcome =
        if open { Outcome::Partial(exit_code(ErrorKind::Refused)) } else { Outcome::Done };
    if context.out().json {
        context.out().value(&ReplyWithChecks { stands, checks })?;
        return Ok(outcome);
    }
    let stands_so = || format!("{} is {}", stands.workspace, stands.status);
    context.out().say(&done.filter(|_| !open).unwrap_or_else(stands_so))?;
    for conflict in &stands.conflicts {
        context.out().line(describe_conflict(conflict))?;
    }
    if open {
        context.out().note(
            "settle each with `althing integrate WS resolve CONFLICT --resolution TEXT`; \
             `--rework` sends the work back",
        );
    }
    Ok(outcome)
}
