//! Aborting: the coordinator or a person ends a workspace, whatever it is doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{self, Change};
use super::{Initiator, Status, Trigger};
use crate::highway::GateType;
use crate::highway::gate::{self, Stop, Way};
use crate::highway::request::Request;
use crate::id::WorkspaceId;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// `workspace.abort`: ends a workspace at once, and what is below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

pub(crate) fn decide_abort(
    turn: &mut Turn<'_>,
    caller: &Caller,
    abort: &Abort,
) -> Result<Reply, Halt> {
    let initiator = super::coordinator_only(turn.state(), caller, "abort a workspace")?;
    let workspace = super::get(turn.state(), &abort.workspace)?;
    if workspace.status.is_terminal() {
        return Err(ended(&abort.workspace, workspace.status).into());
    }
    if workspace.parent.is_none() {
        let message =
            "the root ends with its run: `althing coordinator stop`, or `run.end` by name";
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    }
    let stop = Stop {
        kind: GateType::WorkspaceAbort,
        subject: (&abort.workspace).into(),
        workspace: Some(abort.workspace.clone()),
        task: workspace.charter.task.clone(),
        request: Some(Request::Abort(Box::new(abort.clone()))),
    };
    let way = gate::pass(turn, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return turn.gate_reply(gate);
    }
    abort_now(turn, &abort.workspace, initiator, abort.reason.clone(), caller)?;
    way.note(turn)?;
    turn.workspace_reply(&abort.workspace)
}

/// A refusal to do anything more to what has ended.
pub(crate) fn ended(id: &WorkspaceId, status: Status) -> Refusal {
    let message = format!("workspace {id} has ended ({status}) and takes no further step");
    Refusal::denied(Rule::Ended, message)
}

pub(crate) fn abort_now(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    initiator: Initiator,
    reason: Option<Text<1000>>,
    caller: &Caller,
) -> Result<(), Halt> {
    let actor = turn.actor(caller);
    change::fail(turn, id, aborted(initiator, reason, actor)).map_err(Halt::from)
}

pub(crate) fn aborted(initiator: Initiator, reason: Option<Text<1000>>, actor: Actor) -> Change {
    let trigger = match initiator {
        Initiator::Human => Trigger::AbortedByHuman,
        _ => Trigger::AbortedByCoordinator,
    };
    Change { to: Status::Failed, trigger, initiator, reason, actor }
}
