//! The native vocabulary: one word for each thing somebody does with a task, from taking it to
//! handing it in. The command line and the default MCP server call the same functions.
//!
//! `plan` makes tasks, `next` takes one with its claim, `checkpoint` says how far it is, `done` and
//! `blocked` hand it in. Inside a run the same words move the workspace that a coordinator bound to
//! the task. Each is one command of the kernel; the answer is a value with a text for people and
//! models.

mod hand_in;
mod holding;
mod next;
mod overview;
mod planning;

use althing_kernel::records::{Record, RecordId, Status as RecordStatus, next as ready};
use althing_kernel::workspace::Status;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Rule, State, Timestamp};
use serde::Serialize;
use serde_json::Value;

pub use hand_in::{Checkpoint, Checkpointed, Handed, blocked, checkpoint, done};
pub use holding::{Claimed, Released, claim, release};
pub use next::{Brief, Known, next};
pub use overview::{Overview, overview};
pub use planning::{Made, Planned, Plans, plan, task_of};

use crate::context::ProjectContext;
use crate::error::Error;
use crate::mail::workspaces;

/// An answer with a text for people and models.
pub trait Worded: Serialize {
    /// The answer in words.
    fn text(&self) -> String;

    /// The answer as a value, with its words under `text`.
    fn value(&self) -> Result<Value, Error> {
        let mut value = serde_json::to_value(self)
            .map_err(|error| Error::defect(format!("an answer cannot be written: {error}")))?;
        value["text"] = self.text().into();
        Ok(value)
    }
}

/// The work that the caller has in hand.
pub(crate) enum Work {
    /// A workspace that a coordinator gave it.
    Workspace(Box<WorkspaceView>),
    /// A task it took.
    Task {
        /// The task.
        task: Box<Record>,
        /// The assignment it works under, if the task was offered to it.
        assignment: Option<RecordId>,
    },
}

/// The work that the caller has in hand: a workspace bound to it, else the task it took last.
pub(crate) fn in_hand(context: &ProjectContext) -> Result<Option<Work>, Error> {
    let who = context.named()?.clone();
    if let Some(own) = workspaces(context, &who)?.into_iter().find(is_given) {
        return Ok(Some(Work::Workspace(Box::new(own))));
    }
    let present = context.present()?;
    let Some(task) = ready::current(&present.state, present.now, &who).next() else {
        return Ok(None);
    };
    let given =
        present.state.memory().newest(althing_kernel::records::Kind::Assignment, Some(true));
    let own = given.filter(|own| own.is_for(&who) && own.fields.plan_id == Some(task.id));
    let started = own.filter(|own| own.status == RecordStatus::Started).map(|own| own.id).next();
    Ok(Some(Work::Task { task: Box::new(task.clone()), assignment: started }))
}

/// Whether a workspace is work that was given to its agent and is still to be done.
fn is_given(own: &WorkspaceView) -> bool {
    let is_work = own.parent.is_some() && (own.task.is_some() || own.directive.is_some());
    is_work && matches!(own.status, Status::Idle | Status::Active | Status::Blocked)
}

/// The work in hand, or a refusal that says how to get some.
pub(crate) fn needed(context: &ProjectContext) -> Result<Work, Error> {
    in_hand(context)?.ok_or_else(|| {
        let who = context.principal().map(ToString::to_string).unwrap_or_default();
        let message = format!("{who} has no task in hand");
        let way = "Take one first: `althing next` on the command line, `next` over MCP.";
        Error::refused(Rule::NextReady, message).hint(way)
    })
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// How long until a time, in words.
pub(crate) fn until(at: Timestamp, now: Timestamp) -> String {
    althing_dialects::memory::words::from_now(at, now)
}

/// The text of a task by its id, shortened to its first line.
pub(crate) fn title(state: &State, id: RecordId) -> String {
    state
        .memory()
        .record(id)
        .map_or_else(String::new, |own| first_line(own.text.as_str()).to_owned())
}
