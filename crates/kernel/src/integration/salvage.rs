//! Salvage: what can be saved of a workspace that failed.
//!
//! The workspace stays failed; nothing brings it back. The coordinator looks at one of its
//! checkpoints and says which files come out of it, so such a merge is always `evaluated`, and
//! what it rests on counts as uncertain whatever its agent thought of it. Every entry about it
//! bears the mode `salvage`. The files go to the workspace that was above it, or to the nearest
//! one further up that still takes work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{self, ConflictArg};
use super::{Aborted, Mode, Outcome, Started, Strategy, busy, finish, integrator, reply};
use crate::checkpoint::Confidence;
use crate::event::Event;
use crate::file::{self, FileArg};
use crate::highway::GateType;
use crate::highway::gate::{self, Stop, Way};
use crate::highway::request::Request;
use crate::id::{CheckpointId, First as _, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::signal::{self, Saying, SignalType};
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::{self, Status, Trigger, Workspace};

/// `integration.salvage`: merges what can be saved of a workspace that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Salvage {
    /// Which of its checkpoints; the newest final one, else the newest, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// What does not go together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// The files that come out of it, as they should be; no others do.
    pub merged: Vec<FileArg>,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace that failed.
    pub workspace: WorkspaceId,
}

/// What salvaged work counts for.
pub(crate) const CONFIDENCE: Confidence = Confidence::Low;

pub(crate) fn decide_salvage(
    turn: &mut Turn<'_>,
    caller: &Caller,
    salvage: &Salvage,
) -> Result<Reply, Halt> {
    let id = &salvage.workspace;
    workspace::root(turn.state())?;
    let initiator = integrator(turn.state(), caller, id)?;
    let source = workspace::get(turn.state(), id)?.clone();
    if source.status != Status::Failed {
        let message = format!("workspace {id} is {}, not failed", source.status);
        return Err(Refusal::denied(Rule::SalvageFailed, message).into());
    }
    if turn.state().integrations.contains_key(id) {
        let message = format!("conflicts of the last salvage of {id} are open");
        return Err(Refusal::denied(Rule::OneMerge, message).into());
    }
    let checkpoint = chosen(turn.state(), &source, salvage)?;
    let target = target_of(turn.state(), &source).ok_or(ApplyError::Unknown("the root"))?;
    if let Some(busy) = busy(turn.state(), &target) {
        return Err(busy.into());
    }
    turn.check_checkpoint(&checkpoint)?;
    conflict::sound(&salvage.conflicts, Strategy::Evaluated)?;
    let merged = file::stored(&salvage.merged);
    let merged = merged.map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?;
    let stop = Stop {
        kind: GateType::Integration,
        subject: id.into(),
        workspace: Some(id.clone()),
        task: source.charter.task.clone(),
        request: Some(Request::Salvage(Box::new(salvage.clone()))),
    };
    let way = gate::pass(turn, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return turn.gate_reply(gate);
    }
    let event = Event::IntegrationStarted(Started {
        checkpoint_ref: checkpoint,
        confidence: Some(CONFIDENCE),
        merged: Some(merged),
        mode: Mode::Salvage,
        owner: source.owner.clone(),
        reason: salvage.reason.clone(),
        source: id.clone(),
        strategy: Strategy::Evaluated,
        target: target.clone(),
    });
    let actor = turn.actor(caller);
    turn.note(Some(&target), actor, event)?;
    way.note(turn)?;
    signal::tell_parent(turn, &target, Saying::plain(SignalType::Integrate, id.into()))?;
    if salvage.conflicts.is_empty() {
        finish(turn, id, initiator, Outcome::Success)?;
    } else {
        conflict::detected(turn, id, salvage.conflicts.clone(), initiator)?;
    }
    reply(turn, id)
}

/// The checkpoint that is meant, which has to be one of the workspace's own.
fn chosen(state: &State, source: &Workspace, salvage: &Salvage) -> Result<CheckpointId, Refusal> {
    let id = &salvage.workspace;
    let Some(newest) = source.latest_final.as_ref().or(source.head.as_ref()) else {
        let message = format!("workspace {id} has no checkpoint that anything could be saved of");
        return Err(Refusal::denied(Rule::SalvageFailed, message));
    };
    let Some(chosen) = &salvage.checkpoint else { return Ok(newest.clone()) };
    let own = state.checkpoints.get(chosen).is_some_and(|made| made.workspace == *id);
    if own {
        return Ok(chosen.clone());
    }
    let message = format!("workspace {id} has no checkpoint {chosen}");
    Err(Refusal::not_found(Rule::ReferenceKnown, message))
}

/// Where salvaged work goes: the nearest workspace above that still takes work. If none does,
/// because its run is over, the root of the run that goes on.
pub(crate) fn target_of(state: &State, source: &Workspace) -> Option<WorkspaceId> {
    let mut above = source.parent.as_ref();
    while let Some(id) = above {
        let known = state.workspaces.get(id)?;
        if !known.status.is_sealed() {
            return Some(id.clone());
        }
        above = known.parent.as_ref();
    }
    state.root.clone()
}

impl State {
    /// Where work that is salvaged from a workspace would go.
    pub fn salvage_target(&self, source: &WorkspaceId) -> Option<WorkspaceId> {
        self.workspaces.get(source).and_then(|source| target_of(self, source))
    }
}

/// Gives a salvage up: its conflicts are closed, and nothing is merged.
pub(crate) fn abandon(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let open = turn.state().integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    let target = open.salvaged_into.clone().ok_or(ApplyError::Unknown("the salvage"))?;
    for left in open.conflicts.clone() {
        conflict::given_up(turn, id, left, trigger)?;
    }
    let event = Event::IntegrationAborted(Aborted {
        mode: Mode::Salvage,
        reason: trigger,
        source: id.clone(),
        target: target.clone(),
    });
    turn.note(Some(&target), Actor::Protocol, event)
}

/// A workspace ended: what was to be salvaged into it is not.
pub(crate) fn on_target_ended(
    turn: &mut Turn<'_>,
    target: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let from = turn.state().salvages.range((target.clone(), WorkspaceId::first())..);
    let into = from.take_while(|(into, _)| into == target);
    let open: Vec<WorkspaceId> = into.map(|(_, source)| source.clone()).collect();
    open.iter().try_for_each(|id| abandon(turn, id, trigger))
}

/// Whether an entry that begins a salvage can be so.
pub(crate) fn is_sound(state: &State, started: &Started) -> bool {
    let Some(source) = state.workspaces.get(&started.source) else { return false };
    let own = state.checkpoints.get(&started.checkpoint_ref);
    source.status == Status::Failed
        && own.is_some_and(|made| made.workspace == started.source)
        && target_of(state, source).as_ref() == Some(&started.target)
        && started.strategy == Strategy::Evaluated
        && started.merged.is_some()
        && started.confidence == Some(CONFIDENCE)
}
