//! `althing checkpoint`

use althing_kernel::checkpoint::{ArtifactArg, CheckpointView, Create, Status};
use althing_kernel::file::{FileArg, FilePath};
use althing_kernel::query::{Answer, OfCheckpoint, Query};
use althing_kernel::text::Text;
use althing_kernel::{Blob, Command, Reply, Rule};
use std::collections::BTreeSet;
use std::path::Path;

use super::{blobs, workspaces};
use crate::app::App;
use crate::cli::{CheckpointCommand, CheckpointCreate, CheckpointShow};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::Error;
use crate::event_summary::word;
use crate::naming::{short, short_blob};
use crate::output::{from_now, one_line};
use crate::place::Place;
use crate::surfaces;
use crate::table::{free_text, whole};

pub(crate) fn run(app: &App, command: CheckpointCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        CheckpointCommand::Create(args) => create(&context, args),
        CheckpointCommand::List(args) => {
            let made = context.checkpoints(&context.workspace(&args.id)?)?;
            if context.out().json {
                return context.out().value(&made);
            }
            if made.is_empty() {
                return context.out().line("no checkpoints");
            }
            table(&context, &made)
        }
        CheckpointCommand::Show(args) => show(&context, &args),
    }
}

fn create(context: &CommandContext<'_>, args: CheckpointCreate) -> Result<(), Error> {
    let workspace = context.acting_in()?;
    // Where the caller's workspace is not clear, the kernel says so.
    let head =
        context.own().and_then(|own| context.workspace_view(own)).ok().and_then(|own| own.head);
    let mut files_changed: Vec<FileArg> =
        args.files.iter().map(|given| changed(context, given)).collect::<Result<_, _>>()?;
    for given in &args.deleted {
        let path = surfaces::file(&context.project.place, given)?;
        files_changed.push(FileArg { content: None, path });
    }
    let artifacts = args.artifacts.iter().map(|given| artifact(context, given));
    let create = Create {
        artifacts: artifacts.collect::<Result<_, _>>()?,
        commit: None,
        confidence: args.confidence,
        content: args.content.as_deref().map(|text| content::read(context, text)).transpose()?,
        files_changed,
        intent: args.intent,
        parent: head,
        resource_usage: None,
        status: if args.is_final { Status::Final } else { Status::Provisional },
        kind: args.kind,
        workspace,
    };
    let reply = context.order(Command::CheckpointCreate(create))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Checkpoint(made) = reply else { return Err(Error::unexpected(&reply)) };
    if made.status == Status::Final {
        note_left_out(context, &made)?;
    }
    let sort = sort(&made);
    context.out().say(&format!("{sort} checkpoint {} of {}", made.checkpoint, made.workspace))
}

/// Notes files of earlier checkpoints that the final one leaves out: only files that the final
/// checkpoint names are merged.
fn note_left_out(context: &CommandContext<'_>, made: &CheckpointView) -> Result<(), Error> {
    let earlier = context.checkpoints(&made.workspace)?;
    let named = |path: &FilePath| made.files_changed.iter().any(|file| file.path == *path);
    let files = earlier.iter().flat_map(|checkpoint| &checkpoint.files_changed);
    let left: BTreeSet<&str> =
        files.filter(|file| !named(&file.path)).map(|file| file.path.as_str()).collect();
    if !left.is_empty() {
        let left = left.into_iter().collect::<Vec<_>>().join(", ");
        context
            .out()
            .note(format!("named before and not in this one, so not merged: {}", one_line(&left)));
    }
    Ok(())
}

/// `PATH` or `PATH=@FILE`: a file as it is now, or as another file has it.
fn changed(context: &CommandContext<'_>, given: &str) -> Result<FileArg, Error> {
    let place = &context.project.place;
    if let Some((path, from)) = given.split_once("=@") {
        let stored = content::of_file(context, Path::new(from))?;
        return Ok(FileArg { content: Some(stored), path: surfaces::file(place, path)? });
    }
    let path = surfaces::file(place, given)?;
    let file = place.root.join(path.as_str());
    stays_inside(place, &file)?;
    Ok(FileArg { content: Some(content::of_file(context, &file)?), path })
}

/// Refuses what a link leads out of the project to, and what lies in the state folder: keys, for
/// one. Content is kept for ever and others can read it.
fn stays_inside(place: &Place, file: &Path) -> Result<(), Error> {
    let real = |path: &Path| path.canonicalize();
    let (Ok(root), Ok(found)) = (real(&place.root), real(file)) else { return Ok(()) };
    let kept = real(&place.state).is_ok_and(|state| found.starts_with(state));
    if found.starts_with(root) && !kept {
        return Ok(());
    }
    let message = format!("{} is not a file of this project", file.display());
    Err(Error::misuse(Rule::SurfaceGrammar, message)
        .hint("Name it with `--file PATH=@FILE` if it is really meant to be kept."))
}

/// `NAME=@FILE`, or `NAME=TEXT`.
fn artifact(context: &CommandContext<'_>, given: &str) -> Result<ArtifactArg, Error> {
    let Some((name, from)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(Error::usage(format!("--artifact: write NAME=@FILE, not {given:?}")));
    };
    let name = Text::new(name).map_err(|error| Error::misuse(Rule::Limits, error.to_string()))?;
    Ok(ArtifactArg { content: content::read(context, from)?, name })
}

fn sort(made: &CheckpointView) -> &'static str {
    match made.status {
        Status::Provisional => "provisional",
        Status::Final => "final",
    }
}

/// Checkpoints, one a line.
pub(super) fn table(context: &CommandContext<'_>, made: &[CheckpointView]) -> Result<(), Error> {
    let naming = context.checkpoint_naming()?;
    let row = |made: &CheckpointView| {
        vec![
            naming.short(&made.checkpoint),
            sort(made).to_owned(),
            made.kind.to_string(),
            from_now(made.at, context.now()),
            made.files_changed.len().to_string(),
            made.intent.clone(),
        ]
    };
    let titles = ["CHECKPOINT", "STATUS", "TYPE", "MADE", "FILES"].map(whole);
    let titles = [&titles[..], &[free_text("INTENT")]].concat();
    context.out().table(&titles, &made.iter().map(row).collect::<Vec<_>>())
}

fn show(context: &CommandContext<'_>, args: &CheckpointShow) -> Result<(), Error> {
    let checkpoint = context.checkpoint(&args.id)?;
    let made = match context.ask(&Query::CheckpointGet(OfCheckpoint { checkpoint }))? {
        Answer::Checkpoint(made) => *made,
        other => return Err(Error::unexpected(&other)),
    };
    if let Some(path) = &args.file {
        return blobs::print(&context.blobs().get(&file_in(context, &made, path)?)?);
    }
    if context.out().json {
        return context.out().value(&made);
    }
    print(context, &made)
}

/// The content of a file as a checkpoint has it.
fn file_in(
    context: &CommandContext<'_>,
    made: &CheckpointView,
    given: &str,
) -> Result<Blob, Error> {
    let path = surfaces::file(&context.project.place, given)?;
    let Some(file) = made.files_changed.iter().find(|file| file.path == path) else {
        let named: Vec<&str> = made.files_changed.iter().map(|file| file.path.as_str()).collect();
        let message = format!("{} changes no file {path}", made.checkpoint);
        return Err(match named.as_slice() {
            [] => Error::not_found(message),
            named => Error::not_found(format!("{message}; it changes {}", named.join(", "))),
        });
    };
    file.content.clone().ok_or_else(|| {
        Error::not_found(format!("{} deletes {path}, so there is no content", made.checkpoint))
    })
}

fn print(context: &CommandContext<'_>, made: &CheckpointView) -> Result<(), Error> {
    let confidence = word(&made.confidence);
    let mut facts = vec![
        ("checkpoint", short(&made.checkpoint)),
        ("workspace", short(&made.workspace)),
        ("status", format!("{} {}, confidence {confidence}", sort(made), made.kind)),
        ("made", from_now(made.at, context.now())),
        ("intent", made.intent.clone()),
    ];
    if let Some(parent) = &made.parent {
        facts.push(("after", short(parent)));
    }
    for artifact in &made.artifacts {
        facts.push(("artifact", format!("{} {}", artifact.name, short_blob(&artifact.content))));
    }
    for (key, value) in facts {
        context.out().fact(key, 12, &one_line(&value))?;
    }
    if !made.files_changed.is_empty() {
        context.out().line("")?;
        workspaces::file_table(context, &made.files_changed)?;
    }
    if let Some(content) = &made.content {
        context.out().line("")?;
        for line in content::shown(&context.blobs(), content) {
            context.out().line(format!("  {line}"))?;
        }
    }
    Ok(())
}
