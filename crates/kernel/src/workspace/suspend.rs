//! Pausing a workspace and letting it go on where it was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{self, Change};
use super::{Status, Trigger, edges};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::signal::{self, Saying, SignalType};
use crate::text::Text;
use crate::time::Span;
use crate::turn::{Halt, Reply, Turn};

/// `workspace.suspend`: pauses a workspace; its mail waits and its time stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `workspace.resume`: lets a paused workspace go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `suspension_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionStarted {
    /// The state it goes back to.
    pub pre_suspension_state: Status,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `suspension_resumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionResumed {
    /// How long it was paused, in microseconds.
    pub duration: Span,
    /// The state it went back to.
    pub resumed_to_state: Status,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// The state of a workspace that an order needs to be at work, or why the order makes no sense.
pub(crate) fn at_work(turn: &Turn<'_>, id: &WorkspaceId, order: &str) -> Result<Status, Refusal> {
    let workspace = super::get(turn.state(), id)?;
    match workspace.status {
        Status::Active | Status::Blocked if workspace.parent.is_some() => Ok(workspace.status),
        status if status.is_terminal() => Err(super::abort::ended(id, status)),
        status => {
            let message = format!("workspace {id} is {status}; {order} needs active or blocked");
            let refusal = Refusal::denied(Rule::StateAllows, message);
            Err(refusal.allowing(edges::ways_from(status)))
        }
    }
}

pub(crate) fn decide_suspend(
    turn: &mut Turn<'_>,
    caller: &Caller,
    suspend: &Suspend,
) -> Result<Reply, Halt> {
    let initiator = super::coordinator_only(turn.state(), caller, "suspend a workspace")?;
    let id = &suspend.workspace;
    let before = at_work(turn, id, "suspending")?;
    let change = Change {
        to: Status::Suspended,
        trigger: Trigger::Suspend,
        initiator,
        reason: suspend.reason.clone(),
        actor: caller.principal.clone().into(),
    };
    change::take(turn, id, change)?;
    let event = Event::SuspensionStarted(SuspensionStarted {
        pre_suspension_state: before,
        reason: suspend.reason.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)?;
    from_the_root(turn, SignalType::Suspend, id)?;
    turn.workspace_reply(id)
}

/// The signal that goes with an order: recorded at the root, about the workspace.
pub(crate) fn from_the_root(
    turn: &mut Turn<'_>,
    signal: SignalType,
    about: &WorkspaceId,
) -> Result<(), Halt> {
    let root = super::root(turn.state())?.clone();
    signal::emit_to(turn, &root, None, Saying::plain(signal, about.into()), Actor::Protocol)?;
    Ok(())
}

pub(crate) fn decide_resume(
    turn: &mut Turn<'_>,
    caller: &Caller,
    resume: &Resume,
) -> Result<Reply, Halt> {
    let initiator = super::coordinator_only(turn.state(), caller, "resume a workspace")?;
    let id = &resume.workspace;
    let workspace = super::get(turn.state(), id)?;
    let Some(back) = workspace.interrupted.filter(|_| workspace.status == Status::Suspended) else {
        let message = format!("workspace {id} is {}, not suspended", workspace.status);
        let ways = edges::ways_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(ways).into());
    };
    let duration = turn.now().since(workspace.since);
    let actor = caller.principal.clone().into();
    let change = Change { to: back, trigger: Trigger::Resume, initiator, reason: None, actor };
    change::take(turn, id, change)?;
    let event = Event::SuspensionResumed(SuspensionResumed {
        duration,
        resumed_to_state: back,
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)?;
    turn.workspace_reply(id)
}
