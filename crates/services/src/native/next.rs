//! `next`: taking a task, with its claim and what to know about it.

use althing_kernel::blackboard::Handle;
use althing_kernel::blackboard::view::{BlackboardAnswer, OfHandle};
use althing_kernel::query::{Answer, OfEnvelope, OfWorkspace, Query};
use althing_kernel::records::next::{Next, NextTask};
use althing_kernel::records::{Record, RecordId};
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, Reply, Rule, WorkspaceId};
use serde::Serialize;

use super::{Worded, Work, first_line, in_hand, title, until};
use crate::context::ProjectContext;
use crate::error::Error;
use crate::mail::{self, text_of};
use crate::memory::relevant;

/// The most records a brief quotes.
const KNOWN_MAX: usize = 3;

/// A record that is worth knowing for a task.
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// Its id as people write it.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
}

/// A task that somebody has in hand: what to do, what they hold, what to know.
#[derive(Clone, Debug, Serialize)]
pub struct Brief {
    /// The task as people write it.
    pub task: String,
    /// What is to be done.
    pub what: String,
    /// Whether it was taken just now; otherwise the caller had it already.
    pub taken: bool,
    /// The files it may change: those of its claim, or of its workspace.
    pub files: Vec<String>,
    /// When the claim runs out, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The workspace a coordinator gave it, inside a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The tasks that were done before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The last checkpoint of whoever worked on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Records that are worth knowing for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub know: Vec<Known>,
}

impl Worded for Brief {
    fn text(&self) -> String {
        let head = if self.taken { "you have it now" } else { "you have it already" };
        let mut lines = vec![format!("{} – {head}", self.task)];
        lines.extend(self.what.lines().map(|line| format!("  {line}")));
        lines.push(if self.files.is_empty() {
            "files: none claimed; claim what you are about to change".to_owned()
        } else {
            let until = self.until.as_deref().map_or_else(String::new, |at| format!(" ({at})"));
            format!("files: {}{until}", self.files.join(", "))
        });
        lines.extend(self.after.iter().map(|task| format!("done before: {task}")));
        if let Some(checkpoint) = &self.checkpoint {
            lines.push(format!("last checkpoint: {checkpoint}"));
        }
        lines.extend(self.know.iter().map(|own| format!("know {}: {}", own.id, own.text)));
        lines.join("\n")
    }
}

/// Takes a task: the named one, the one the caller has in hand, or the most urgent that is ready.
/// A workspace that a coordinator gave the caller comes first; its mail is taken with it.
pub fn next(context: &ProjectContext, ask: &Next) -> Result<Brief, Error> {
    let task = ask.task;
    if task.is_none()
        && let Some(Work::Workspace(own)) = in_hand(context)?
    {
        return given(context, &own);
    }
    let ask = Next { task, ..ask.clone() };
    match context.execute(Command::WorkNext(ask))? {
        Reply::Next(taken) => match of_run(context, &taken)? {
            Some(own) => Ok(Brief { taken: taken.taken, ..given(context, &own)? }),
            None => brief(context, &taken),
        },
        Reply::Gate(gate) => {
            let message = format!("the workspace for it waits for a person, at gate {}", gate.gate);
            let way = "A person answers with `althing gate approve`; then ask again.";
            Err(Error::refused(Rule::GateWaits, message).hint(way))
        }
        other => Err(Error::unexpected(&other)),
    }
}

/// The workspace of a run that was given out from its pool.
fn of_run(context: &ProjectContext, taken: &NextTask) -> Result<Option<WorkspaceView>, Error> {
    let Some(workspace) = taken.workspace.clone() else { return Ok(None) };
    match context.ask(&Query::WorkspaceGet(OfWorkspace { workspace }))? {
        Answer::Workspace(view) => Ok(view.is_of_run().then_some(*view)),
        other => Err(Error::unexpected(&other)),
    }
}

fn brief(context: &ProjectContext, taken: &NextTask) -> Result<Brief, Error> {
    let present = context.present()?;
    let record = present.state.memory().record(taken.task);
    let record = record.ok_or_else(|| Error::defect("a task that was taken is missing"))?;
    let files: Vec<String> = match &taken.claim {
        Some(claim) => claim.surfaces.iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    let done = |id: &RecordId| format!("{} {}", id.label(), title(&present.state, *id));
    Ok(Brief {
        task: record.id.label(),
        what: record.text.to_string(),
        taken: taken.taken,
        until: taken.claim.as_ref().map(|claim| until(claim.expires_at, present.now)),
        workspace: None,
        after: record.fields.depends_on.iter().map(done).collect(),
        checkpoint: last_checkpoint(context, record.id)?,
        know: known(context, record, files.first().map(String::as_str))?,
        files,
    })
}

fn known(context: &ProjectContext, task: &Record, path: Option<&str>) -> Result<Vec<Known>, Error> {
    let found = relevant(context, path, task.text.as_str(), KNOWN_MAX)?;
    Ok(found.into_iter().map(|(id, text)| Known { id, text }).collect())
}

/// The capsule that a checkpoint outside a run is kept in.
pub(super) fn capsule_of(task: RecordId) -> Result<Handle, Error> {
    Handle::new(&task.to_string()).map_err(Error::unreadable)
}

fn last_checkpoint(context: &ProjectContext, task: RecordId) -> Result<Option<String>, Error> {
    let asked = Query::CapsuleGet(OfHandle { id: capsule_of(task)? });
    match context.look_up(&asked)? {
        None => Ok(None),
        Some(Answer::Blackboard(BlackboardAnswer::Capsule(found))) => Ok(Some(found.what.clone())),
        Some(other) => Err(Error::unexpected(&other)),
    }
}

/// The work of a workspace: its directive, taken out of the inbox on the first call.
fn given(context: &ProjectContext, own: &WorkspaceView) -> Result<Brief, Error> {
    let taken = mail::take(context, 16, Some(&own.workspace))?;
    let news: Vec<String> = taken.letters.iter().filter_map(|letter| letter.text.clone()).collect();
    let directive = own.directive.clone().map(|envelope| OfEnvelope { envelope });
    let directive = match directive.map(|of| context.ask(&Query::EnvelopeGet(of))).transpose()? {
        Some(Answer::Envelope(sent)) => text_of(&context.blobs(), &sent.payload.content),
        _ => None,
    };
    let is_new = own
        .directive
        .as_ref()
        .is_some_and(|id| taken.letters.iter().any(|letter| letter.id == id.as_str()));
    let directive = directive.unwrap_or_default();
    let others = news.into_iter().filter(|text| *text != directive);
    let what: Vec<String> = [directive.clone()].into_iter().chain(others).collect();
    let task = own.task.as_ref().map_or_else(|| own.workspace.to_string(), ToString::to_string);
    let path = own.authority.first().map(ToString::to_string);
    let found = relevant(context, path.as_deref(), first_line(&directive), KNOWN_MAX)?;
    Ok(Brief {
        task,
        what: what.join("\n\n"),
        taken: is_new,
        files: own.authority.iter().map(ToString::to_string).collect(),
        until: None,
        workspace: Some(own.workspace.clone()),
        after: Vec::new(),
        checkpoint: None,
        know: found.into_iter().map(|(id, text)| Known { id, text }).collect(),
    })
}
