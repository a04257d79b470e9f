//! Salvage: merging usable work of a failed workspace.
//!
//! The workspace stays failed. The coordinator picks one of its checkpoints and says which files to
//! merge, so the merge is always `evaluated`, and the confidence in the work counts as low whatever
//! its agent reported. Every entry about it has the mode `salvage`. The files go to the nearest
//! ancestor that still takes work.

use crate::values::id::First as _;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::checkpoint::Confidence;
use crate::model::runs::file;
use crate::model::runs::integration::{Aborted, Mode, Outcome, Started, Strategy};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Status, Trigger, Workspace};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::gate::{Stop, Way};
use crate::rules::runs::integration::{busy, conflict, finish, integrator, reply};
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::{authority, branch};
use crate::rules::runs::{signal, workspace};
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::integration::salvage::*;

/// The confidence in salvaged work.
pub(crate) const CONFIDENCE: Confidence = Confidence::Low;

pub(crate) fn decide_salvage(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    salvage: &Salvage,
) -> Result<Reply, DecisionError> {
    let id = &salvage.workspace;
    coordinator::root(tx.state())?;
    let initiator = integrator(tx.state(), caller, id)?;
    let source = workspace::get(tx.state(), id)?.clone();
    if source.status != Status::Failed {
        let message = format!("workspace {id} is {}, not failed", source.status);
        return Err(Refusal::denied(Rule::SalvageFailed, message).into());
    }
    if tx.state().integrations.contains_key(id) {
        let message = format!("conflicts of the last salvage of {id} are open");
        return Err(Refusal::denied(Rule::OneMerge, message).into());
    }
    let checkpoint = chosen(tx.state(), &source, salvage)?;
    let target = target_of(tx.state(), &source).ok_or(ApplyError::Unknown("the root"))?;
    if let Some(busy) = busy(tx.state(), &target) {
        return Err(busy.into());
    }
    tx.check_checkpoint(&checkpoint)?;
    conflict::sound(&salvage.conflicts, Strategy::Evaluated)?;
    let merged = file::stored(&salvage.merged);
    let merged = merged.map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?;
    if salvage.conflicts.is_empty() || salvage.merge.is_some() {
        branch::may_land(tx.state(), id, &target, salvage.merge.as_ref())?;
    }
    authority::free(tx.state(), id, &merged, Some(&caller.principal))?;
    let stop = Stop {
        kind: GateType::Integration,
        subject: id.into(),
        workspace: Some(id.clone()),
        task: source.charter.task.clone(),
        request: Some(Request::Salvage(Box::new(salvage.clone()))),
    };
    let way = gate::pass(tx, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return tx.gate_reply(gate);
    }
    let event = Event::IntegrationStarted(Started {
        checkpoint_ref: checkpoint.clone(),
        confidence: Some(CONFIDENCE),
        merge: salvage.merge.clone(),
        merged: Some(merged.clone()),
        mode: Mode::Salvage,
        owner: source.owner.clone(),
        reason: salvage.reason.clone(),
        source: id.clone(),
        strategy: Strategy::Evaluated,
        target: target.clone(),
    });
    let actor = tx.actor(caller);
    tx.note(Some(&target), actor, event)?;
    way.note(tx)?;
    signal::signal_parent(tx, &target, SignalContent::plain(SignalType::Integrate, id.into()))?;
    let mut conflicts = if salvage.merge.is_some() {
        Vec::new()
    } else {
        conflict::overwritten(tx.state(), (id, &target), &checkpoint, &merged)?
    };
    conflicts.extend(salvage.conflicts.iter().cloned());
    if conflicts.is_empty() {
        finish(tx, id, initiator, Outcome::Success)?;
    } else {
        conflict::detected(tx, id, conflicts, initiator)?;
    }
    reply(tx, id)
}

/// The checkpoint to salvage, which must be one of the workspace's own.
fn chosen(state: &State, source: &Workspace, salvage: &Salvage) -> Result<CheckpointId, Refusal> {
    let id = &salvage.workspace;
    let Some(newest) = source.latest_final.as_ref().or(source.head.as_ref()) else {
        let message = format!("workspace {id} has no checkpoint to salvage");
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

/// The workspace that salvaged work goes to: the nearest ancestor that still takes work. If there
/// is none, because its run ended, the root of the current run.
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
    /// The workspace that work salvaged from a workspace would go to.
    pub fn salvage_target(&self, source: &WorkspaceId) -> Option<WorkspaceId> {
        self.workspaces.get(source).and_then(|source| target_of(self, source))
    }
}

/// Abandons a salvage: its conflicts are closed, and nothing is merged.
pub(crate) fn abandon(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let open = tx.state().integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    let target = open.salvaged_into.clone().ok_or(ApplyError::Unknown("the salvage"))?;
    for left in open.conflicts.clone() {
        conflict::given_up(tx, id, left, trigger)?;
    }
    let event = Event::IntegrationAborted(Aborted {
        mode: Mode::Salvage,
        reason: trigger,
        source: id.clone(),
        target: target.clone(),
    });
    tx.note(Some(&target), Actor::Protocol, event)
}

/// Abandons the salvages into a workspace that ended.
pub(crate) fn on_target_ended(
    tx: &mut Transaction<'_>,
    target: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let from = tx.state().salvages.range((target.clone(), WorkspaceId::first())..);
    let into = from.take_while(|(into, _)| into == target);
    let open: Vec<WorkspaceId> = into.map(|(_, source)| source.clone()).collect();
    open.iter().try_for_each(|id| abandon(tx, id, trigger))
}

/// Whether an entry that starts a salvage is valid.
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
