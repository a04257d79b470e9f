//! Asking a workspace to finish: its agent is told how long it has, and the time runs.
//!
//! The agent is told in a `feedback` of the workspace above. What is in that envelope follows from
//! the order alone, so its hash is known here and whoever verifies a trail can check it. The time
//! counts as the timeout does: it stands still while the workspace is paused or being moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::change::{self, Change};
use super::{Status, Timeout, Trigger, Workspace, suspend};
use crate::content::{Blob, Content};
use crate::envelope::{self, Payload, PayloadArg, Send};
use crate::event::{Event, Stamped};
use crate::highway::{GateType, gate};
use crate::id::{CheckpointId, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::token::{Format, TypeName};
use crate::turn::{Halt, Reply, Turn};

/// What the envelope says it is about.
const INTENT: &str = "graceful_termination";
/// What the agent is to do, for one that reads words rather than fields.
const REQUEST: &str = "Make a final checkpoint and say `complete` before this time is over.";

/// `workspace.terminate`: asks a workspace to finish, and ends it if it has not by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terminate {
    /// How long it has to finish, in seconds.
    pub grace_s: Timeout,
    /// Why, for its agent and others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `graceful_termination_initiated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Initiated {
    /// How long it has to finish, in microseconds.
    pub grace_period: Span,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `graceful_termination_expired`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// How long it had, in microseconds.
    pub grace_period: Span,
    /// How far it had come: its newest checkpoint.
    pub partial_checkpoint: Option<CheckpointId>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A workspace that was asked to finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// How long it has.
    pub grace: Span,
    /// Why.
    pub reason: Option<Text<1000>>,
    /// How long it had worked when it was asked.
    pub worked: Span,
}

/// The message to the agent: JSON, written out here so that it is the same bytes everywhere.
fn notice(grace: Span, reason: Option<&Text<1000>>) -> String {
    let grace = grace.secs();
    let quoted = |text: &Text<1000>| serde_json::Value::from(text.as_str()).to_string();
    let reason = reason.map_or_else(String::new, |why| format!(r#""reason":{},"#, quoted(why)));
    format!(r#"{{"grace_period_s":{grace},"intent":"{INTENT}",{reason}"request":"{REQUEST}"}}"#)
}

impl Terminate {
    /// What the agent is told, as it stands in the envelope.
    pub(crate) fn notice(&self) -> String {
        notice(self.grace_s.span(), self.reason.as_ref())
    }
}

impl Termination {
    /// What was put in the envelope to the agent.
    pub(crate) fn payload(&self) -> Payload {
        payload(&notice(self.grace, self.reason.as_ref()))
    }
}

fn payload(notice: &str) -> Payload {
    let content = Blob::of(notice.as_bytes());
    Payload { attachments: Vec::new(), content, format: Format::json() }
}

impl Workspace {
    /// When its grace is over, if it was asked to finish and nothing changes before.
    pub fn grace_ends(&self) -> Option<Timestamp> {
        let asked = self.termination.as_ref()?;
        let until = asked.worked.micros().saturating_add(asked.grace.micros());
        let left = Span::from_micros(until.saturating_sub(self.spent.micros()));
        matches!(self.status, Status::Active | Status::Blocked).then(|| self.since.after(left))
    }
}

pub(crate) fn decide_terminate(
    turn: &mut Turn<'_>,
    caller: &Caller,
    terminate: &Terminate,
) -> Result<Reply, Halt> {
    let id = &terminate.workspace;
    super::root(turn.state())?;
    super::get(turn.state(), id)?;
    if !super::commands(turn.state(), caller, id) {
        let message = format!("{} may not ask workspace {id} to finish", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    gate::not_around(turn.state(), caller, GateType::WorkspaceAbort)?;
    suspend::at_work(turn, id, "asking it to finish")?;
    let workspace = super::get(turn.state(), id)?;
    if let Some(due) = workspace.grace_ends() {
        let left = due.since(turn.now()).secs();
        let message = format!("workspace {id} was asked to finish and has {left} seconds left");
        return Err(Refusal::denied(Rule::AskedOnce, message).into());
    }
    let from = workspace.parent.clone().ok_or(ApplyError::Unknown("the parent"))?;
    let payload = payload(&terminate.notice());
    let send = to_agent(id, &payload);
    let right = envelope::check(turn.state(), &from, &send).map_err(|(_, refusal)| refusal)?;
    let event = Event::GracefulTerminationInitiated(Initiated {
        grace_period: terminate.grace_s.span(),
        reason: terminate.reason.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), caller.principal.clone().into(), event)?;
    envelope::send_notice(turn, &from, &send, payload, &right)?;
    turn.workspace_reply(id)
}

/// The envelope to the agent, as it would be sent by hand.
fn to_agent(to: &WorkspaceId, payload: &Payload) -> Send {
    Send {
        in_reply_to: None,
        payload: PayloadArg {
            attachments: Vec::new(),
            content: Content::Blob(payload.content.clone()),
            format: Some(payload.format.clone()),
        },
        priority: envelope::Priority::Urgent,
        rights: Vec::new(),
        to: to.clone(),
        kind: TypeName::feedback(),
        workspace: None,
    }
}

/// The grace is over: what there is stays in the register, and the workspace fails.
pub(crate) fn on_expired(turn: &mut Turn<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let workspace = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let asked = workspace.termination.as_ref().ok_or(ApplyError::Unknown("the termination"))?;
    let event = Event::GracefulTerminationExpired(Expired {
        grace_period: asked.grace,
        partial_checkpoint: workspace.head.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)?;
    let over = Trigger::GracefulTerminationExpired;
    change::fail(turn, id, Change::of_runtime(Status::Failed, over))
}

pub(crate) fn apply_initiated(
    state: &mut State,
    entry: &Stamped,
    initiated: &Initiated,
) -> Result<(), ApplyError> {
    let id = &initiated.workspace_id;
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let at_work = matches!(known.status, Status::Active | Status::Blocked);
    if !at_work || known.parent.is_none() || known.termination.is_some() {
        return Err(ApplyError::Mismatch("the workspace's state"));
    }
    let workspace = Arc::make_mut(known);
    let before = workspace.deadline();
    workspace.termination = Some(Termination {
        grace: initiated.grace_period,
        reason: initiated.reason.clone(),
        worked: workspace.worked(entry.at),
    });
    let after = workspace.deadline();
    state.reschedule(before, after, &Deadline::Workspace(id.clone()));
    Ok(())
}

pub(crate) fn apply_expired(state: &State, expired: &Expired) -> Result<(), ApplyError> {
    let known = state.workspaces.get(&expired.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let grace = known.termination.as_ref().map(|asked| asked.grace);
    if grace != Some(expired.grace_period) || known.head != expired.partial_checkpoint {
        return Err(ApplyError::Mismatch("what it was asked"));
    }
    Ok(())
}
