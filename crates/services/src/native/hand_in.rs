//! `checkpoint`, `done` and `blocked`: how far a task is, and handing it in.

use althing_kernel::blackboard::capsule;
use althing_kernel::checkpoint::{self, Confidence};
use althing_kernel::file::{FileArg, FilePath};
use althing_kernel::records::transition::{Move, PlanStatus};
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::vocabulary::Action;
use althing_kernel::records::{Record, RecordId, Status};
use althing_kernel::signal::{Emit, SignalType};
use althing_kernel::text::Text;
use althing_kernel::token::TypeName;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, Content, Reply, Rule};
use serde::Serialize;
use std::path::Path;

use super::next::capsule_of;
use super::{Worded, Work, needed};
use crate::context::ProjectContext;
use crate::error::Error;

/// How far a task is.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// How far it is, in words.
    pub text: String,
    /// The files that changed, from the project's root. Needed inside a run, where they are merged.
    pub files: Vec<String>,
    /// Whether it is ready to be merged.
    pub is_final: bool,
}

/// A checkpoint that was made.
#[derive(Clone, Debug, Serialize)]
pub struct Checkpointed {
    /// The task or the workspace it is about.
    pub task: String,
    /// The checkpoint, inside a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

impl Worded for Checkpointed {
    fn text(&self) -> String {
        match &self.checkpoint {
            Some(checkpoint) => format!("{checkpoint} of {} is recorded", self.task),
            None => format!("the checkpoint of {} is recorded", self.task),
        }
    }
}

/// A task that was handed in.
#[derive(Clone, Debug, Serialize)]
pub struct Handed {
    /// The task or the workspace.
    pub task: String,
    /// Its state now.
    pub status: String,
    /// How many claims were released with it.
    pub released: usize,
}

impl Worded for Handed {
    fn text(&self) -> String {
        let claims = match self.released {
            0 => String::new(),
            1 => ", and its claim is released".to_owned(),
            many => format!(", and its {many} claims are released"),
        };
        format!("{} is {}{claims}", self.task, self.status)
    }
}

/// Records how far the task in hand is: as a checkpoint of the workspace inside a run, else as the
/// capsule of the task, for whoever goes on with it.
pub fn checkpoint(context: &ProjectContext, made: &Checkpoint) -> Result<Checkpointed, Error> {
    match needed(context)? {
        Work::Workspace(own) => in_workspace(context, &own, made),
        Work::Task { task, .. } => {
            let write = capsule::Write {
                decision: None,
                depends: Vec::new(),
                gotcha: None,
                id: capsule_of(task.id)?,
                what: Text::new(&made.text).map_err(Error::unreadable)?,
                place: match made.files.as_slice() {
                    [] => None,
                    files => Some(Text::lossy(&files.join(", "))),
                },
            };
            context.execute(Command::CapsuleWrite(write))?;
            Ok(Checkpointed { task: task.id.label(), checkpoint: None })
        }
    }
}

fn in_workspace(
    context: &ProjectContext,
    own: &WorkspaceView,
    made: &Checkpoint,
) -> Result<Checkpointed, Error> {
    let files = made.files.iter().map(|path| changed(context, path));
    let create = checkpoint::Create {
        artifacts: Vec::new(),
        commit: None,
        confidence: Confidence::default(),
        content: None,
        files_changed: files.collect::<Result<_, _>>()?,
        intent: Text::new(&made.text).map_err(Error::unreadable)?,
        parent: own.head.clone(),
        resource_usage: None,
        status: if made.is_final {
            checkpoint::Status::Final
        } else {
            checkpoint::Status::Provisional
        },
        kind: TypeName::artifact(),
        workspace: Some(own.workspace.clone()),
    };
    match context.execute(Command::CheckpointCreate(create))? {
        Reply::Checkpoint(made) => Ok(Checkpointed {
            task: own.workspace.to_string(),
            checkpoint: Some(made.checkpoint.to_string()),
        }),
        other => Err(Error::unexpected(&other)),
    }
}

/// A file as it is now. One that is gone counts as deleted.
fn changed(context: &ProjectContext, path: &str) -> Result<FileArg, Error> {
    let path = FilePath::new(path).map_err(Error::unreadable)?;
    let root = &context.setup().root;
    let file = root.join(path.as_str());
    if !file.exists() {
        return Ok(FileArg { content: None, path });
    }
    stays_inside(context, root, &file)?;
    let bytes = std::fs::read(&file)
        .map_err(|error| Error::unavailable(format!("{}: {error}", file.display())))?;
    let blob = context.blobs().put(&bytes)?;
    context.bring(blob.clone());
    Ok(FileArg { content: Some(Content::Blob(blob)), path })
}

/// Refuses a file that a link leads out of the project to, or that lies in the state folder.
fn stays_inside(context: &ProjectContext, root: &Path, file: &Path) -> Result<(), Error> {
    let real = |path: &Path| path.canonicalize();
    let (Ok(root), Ok(found)) = (real(root), real(file)) else { return Ok(()) };
    let kept = real(context.setup().home.root()).is_ok_and(|state| found.starts_with(state));
    if found.starts_with(root) && !kept {
        return Ok(());
    }
    let message = format!("{} is not a file of this project", file.display());
    Err(Error::misuse(Rule::SurfaceGrammar, message))
}

/// Hands in the task in hand: it is done, and what was claimed for it is released. Inside a run the
/// workspace says `complete`, and the coordinator merges its final checkpoint. A workspace on a branch
/// has nothing to hand in: whoever started its agent merges the branch once the agent has ended.
pub fn done(context: &ProjectContext, text: Option<&str>) -> Result<Handed, Error> {
    match needed(context)? {
        Work::Workspace(own) => {
            if own.branch.is_some() {
                let message = format!("there is nothing to hand in for {}", own.workspace);
                let way = "Just end: what you changed is judged and merged then.";
                return Err(Error::refused(Rule::StateAllows, message).hint(way));
            }
            if own.latest_final.is_none() {
                let message = format!("{} has no final checkpoint to hand in", own.workspace);
                let way = "Make one first: `althing checkpoint TEXT --file PATH --final`.";
                return Err(Error::refused(Rule::StateAllows, message).hint(way));
            }
            signal(context, &own, SignalType::Complete, text)
        }
        Work::Task { task, assignment } => {
            let step = match assignment {
                Some(own) => Move {
                    plan_status: Some(PlanStatus::Done),
                    ..Move::plain(own, Status::Completed)
                },
                None => Move::plain(task.id, Status::Done),
            };
            moved(context, &task, Move { reason: reason(text)?, ..step })
        }
    }
}

/// Hands the task in hand back: it cannot go on. Its claim is released, so that others can work
/// there; `next` with its id takes it up again. Inside a run the workspace says `blocked` and keeps
/// what it has.
pub fn blocked(context: &ProjectContext, why: &str) -> Result<Handed, Error> {
    match needed(context)? {
        Work::Workspace(own) => signal(context, &own, SignalType::Blocked, Some(why)),
        Work::Task { task, assignment } => {
            let step = match assignment {
                Some(own) => Move {
                    let_go: true,
                    plan_status: Some(PlanStatus::Blocked),
                    ..Move::plain(own, Status::Blocked)
                },
                None => Move {
                    claim: claim_for(context, task.id)?,
                    ..Move::plain(task.id, Status::Blocked)
                },
            };
            moved(context, &task, Move { reason: reason(Some(why))?, ..step })
        }
    }
}

fn reason(text: Option<&str>) -> Result<Option<Text<1000>>, Error> {
    text.map(Text::new).transpose().map_err(Error::unreadable)
}

/// The caller's newest claim for a task.
fn claim_for(context: &ProjectContext, task: RecordId) -> Result<Option<RecordId>, Error> {
    let (who, present) = (context.named()?, context.present()?);
    let held = present.state.leases_for(&task.to_string());
    let own = held.filter(|lease| lease.holder == *who && lease.is_live(present.now));
    Ok(own.map(|lease| lease.epoch).max().map(RecordId::claim))
}

fn moved(context: &ProjectContext, task: &Record, step: Move) -> Result<Handed, Error> {
    let moved = match context.execute(Command::MemoryMove(Box::new(step)))? {
        Reply::Memory(reply) => match *reply {
            MemoryReply::Moved(moved) => moved,
            other => return Err(Error::unexpected(&other)),
        },
        other => return Err(Error::unexpected(&other)),
    };
    let released = moved.side_effects.iter().filter(|own| own.action == Action::Released).count();
    let present = context.present()?;
    let now = present.state.memory().record(task.id);
    let now = now.map_or(task.status, |own| present.state.status_of(own));
    Ok(Handed { task: task.id.label(), status: now.to_string(), released })
}

fn signal(
    context: &ProjectContext,
    own: &WorkspaceView,
    signal: SignalType,
    why: Option<&str>,
) -> Result<Handed, Error> {
    let emit = Emit {
        about: None,
        budget_warning: None,
        reason: reason(why)?,
        signal,
        workspace: Some(own.workspace.clone()),
    };
    match context.execute(Command::SignalEmit(emit))? {
        Reply::Signal(emitted) => Ok(Handed {
            task: own.workspace.to_string(),
            status: emitted.status.to_string(),
            released: 0,
        }),
        other => Err(Error::unexpected(&other)),
    }
}
