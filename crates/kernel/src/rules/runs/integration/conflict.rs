//! Conflicts found while merging, and their resolution.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::file;
use crate::model::runs::file::File;
use crate::model::runs::integration::{Mode, Outcome, Strategy};
use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::gate::{Stop, Way};
use crate::rules::runs::integration::{
    finish, integrator, open_conflict, reply, salvage, target_of, to_merge,
};
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{branch, change};
use crate::values::id::{CheckpointId, IdKind, WorkspaceId};
use crate::values::principal::{Actor, Caller};
use crate::values::text::Text;

pub use crate::model::runs::integration::conflict::*;

/// The most resources one conflict names.
const RESOURCES_MAX: usize = 256;

/// The conflict over files that an earlier merge into the same workspace left with other content,
/// if any.
pub(crate) fn overlap(
    state: &State,
    target: &WorkspaceId,
    files: &[File],
) -> Result<Vec<ConflictArg>, Refusal> {
    let known = workspace::get(state, target)?;
    let other = |file: &&File| {
        known.merged.get(&file.path).is_some_and(|merged| merged.content != file.content)
    };
    let met = files.iter().filter(other);
    Ok(over(met, "an earlier merge left these files with other content"))
}

/// The conflict over files that others merged after the work began, and that this merge would
/// replace with what the workspace made of their older content, if any. A result that is neither is
/// one that somebody made of both.
pub(crate) fn overwritten(
    state: &State,
    (source, target): (&WorkspaceId, &WorkspaceId),
    checkpoint: &CheckpointId,
    files: &[File],
) -> Result<Vec<ConflictArg>, Refusal> {
    let began = workspace::get(state, source)?.charter.created_at;
    let known = workspace::get(state, target)?;
    let made = to_merge(state, source, checkpoint, None);
    let lost = |file: &&File| {
        let is_newer = known.merged.get(&file.path).is_some_and(|merged| {
            merged.at > began && merged.from != *source && merged.content != file.content
        });
        let mut as_made = made.iter().filter(|own| own.path == file.path);
        is_newer && as_made.any(|own| own.content == file.content)
    };
    let met = files.iter().filter(lost);
    Ok(over(met, "these files were merged by others after this work began"))
}

fn over<'f>(files: impl Iterator<Item = &'f File>, why: &str) -> Vec<ConflictArg> {
    let paths = files.map(|file| Text::lossy(file.path.as_str()));
    let resources: Vec<_> = paths.take(RESOURCES_MAX).collect();
    if resources.is_empty() {
        return Vec::new();
    }
    let (kind, description) = (ConflictType::ContentOverlap, Text::lossy(why));
    vec![ConflictArg { description, resources, kind }]
}

/// Checks whether conflicts may be reported with this merge strategy. Only an evaluated merge can
/// find conflicts other than breaches of the project's rules.
pub(crate) fn sound(conflicts: &[ConflictArg], strategy: Strategy) -> Result<(), Refusal> {
    let unsound = |message: String| Err(Refusal::denied(Rule::MergeSound, message));
    if conflicts.len() > CONFLICTS_MAX {
        let count = conflicts.len();
        return unsound(format!("{count} conflicts are over the limit of {CONFLICTS_MAX}"));
    }
    for conflict in conflicts {
        if conflict.resources.len() > RESOURCES_MAX {
            let count = conflict.resources.len();
            return unsound(format!("{count} resources are over the limit of {RESOURCES_MAX}"));
        }
        if strategy != Strategy::Evaluated && conflict.kind != ConflictType::ConstraintBreach {
            let message = "conflicts other than `constraint_breach` are found by evaluated merges";
            return unsound(message.to_owned());
        }
    }
    Ok(())
}

/// Records conflicts and stops the merge.
pub(crate) fn detected(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    conflicts: Vec<ConflictArg>,
    initiator: Initiator,
) -> Result<(), DecisionError> {
    let mode = mode_of(tx.state(), id)?;
    for conflict in conflicts {
        let event = Event::ConflictDetected(Detected {
            conflict_id: tx.mint(IdKind::Conflict).into(),
            conflict_type: conflict.kind,
            description: conflict.description,
            mode,
            resources: conflict.resources,
            workspace_id: id.clone(),
        });
        tx.note(Some(id), Actor::Protocol, event)?;
    }
    if mode == Mode::Salvage {
        return Ok(());
    }
    let (to, trigger) = (Status::Conflicted, Trigger::ConflictFound);
    let (reason, actor) = (None, Actor::Protocol);
    change::take(tx, id, Change { to, trigger, initiator, reason, actor })?;
    Ok(())
}

fn mode_of(state: &State, id: &WorkspaceId) -> Result<Mode, ApplyError> {
    let open = state.integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    Ok(open.mode())
}

pub(crate) fn decide_resolve(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, DecisionError> {
    let id = &resolve.workspace;
    integrator(tx.state(), caller, id)?;
    open_one(tx.state(), resolve)?;
    if let (Some(merge), Some(target)) = (&resolve.merge, target_of(tx.state(), id)) {
        branch::may_land(tx.state(), id, &target, Some(merge))?;
    }
    if let Some(files) = &resolve.merged {
        file::stored(files)
            .map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?;
    }
    let stop = Stop {
        kind: GateType::ConflictResolution,
        subject: (&resolve.conflict).into(),
        workspace: Some(id.clone()),
        task: workspace::get(tx.state(), id)?.charter.task.clone(),
        request: Some(Request::Resolve(Box::new(resolve.clone()))),
    };
    if resolve.strategy == Resolution::Escalate {
        // This asks a person, whether or not a gate guards conflicts.
        let actor = caller.principal.clone().into();
        let gate = gate::escalated(tx, stop, actor)?;
        return tx.gate_reply(&gate);
    }
    let way = gate::pass(tx, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return tx.gate_reply(gate);
    }
    settle(tx, caller, resolve)?;
    way.note(tx)?;
    reply(tx, id)
}

/// The open conflict to resolve, or a refusal.
fn open_one(state: &State, resolve: &Resolve) -> Result<OpenConflict, Refusal> {
    let id = &resolve.workspace;
    if let Some(open) = open_conflict(state, id, &resolve.conflict) {
        return Ok(open.clone());
    }
    let message = format!("workspace {id} has no open conflict {}", resolve.conflict);
    let open = state.integrations.get(id);
    let open = open.iter().flat_map(|open| &open.conflicts).map(|open| open.id.to_string());
    let open: Vec<String> = open.collect();
    Err(Refusal::not_found(Rule::ConflictOpen, message).allowing(open))
}

/// Resolves a conflict without further approval.
pub(crate) fn settle(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<(), DecisionError> {
    let id = &resolve.workspace;
    let initiator = integrator(tx.state(), caller, id)?;
    let open = open_one(tx.state(), resolve)?;
    let merged = match &resolve.merged {
        None => None,
        Some(files) => Some(
            file::stored(files)
                .map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?,
        ),
    };
    let rework = resolve.strategy == Resolution::AgentRework;
    let mode = mode_of(tx.state(), id)?;
    if !rework && let Some(merging) = tx.state().integrations.get(id) {
        let checkpoint = merging.checkpoint.clone();
        tx.check_checkpoint(&checkpoint)?;
    }
    let event = Event::ConflictResolved(Resolved {
        conflict_id: open.id,
        conflict_type: open.kind,
        merge: resolve.merge.clone(),
        merged,
        mode,
        outcome: if rework { End::Failed } else { End::Closed },
        resolution: Some(resolve.resolution.clone()),
        resolution_strategy: match resolve.strategy {
            Resolution::CoordinatorResolve => Settled::CoordinatorResolve,
            Resolution::Escalate => Settled::Escalate,
            Resolution::AgentRework => Settled::AgentRework,
        },
        workspace_id: id.clone(),
    });
    let actor = tx.actor(caller);
    tx.note(Some(id), actor, event)?;
    let left = tx.state().integrations.get(id).map_or(0, |open| open.conflicts.len());
    if rework && mode == Mode::Salvage {
        salvage::abandon(tx, id, Trigger::AgentRework)?;
    } else if rework {
        let (to, trigger) = (Status::Failed, Trigger::AgentRework);
        let (reason, actor) = (Some(resolve.resolution.clone()), Actor::Protocol);
        change::fail(tx, id, Change { to, trigger, initiator, reason, actor })?;
    } else if left == 0 {
        finish(tx, id, initiator, Outcome::ConflictResolved)?;
    }
    Ok(())
}

/// Closes a conflict that can no longer be resolved.
pub(crate) fn given_up(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    open: OpenConflict,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let settled = match trigger {
        Trigger::ConflictTimeout => Settled::Timeout,
        Trigger::AgentRework => Settled::AgentRework,
        _ => Settled::Aborted,
    };
    let event = Event::ConflictResolved(Resolved {
        conflict_id: open.id,
        conflict_type: open.kind,
        merge: None,
        merged: None,
        mode: mode_of(tx.state(), id)?,
        outcome: End::Failed,
        resolution: None,
        resolution_strategy: settled,
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)
}

pub(crate) fn apply_detected(state: &mut State, detected: &Detected) -> Result<(), ApplyError> {
    let open = state.integrations.get_mut(&detected.workspace_id);
    let open = open.ok_or(ApplyError::Unknown("the integration"))?;
    let found = matches!(
        detected.conflict_type,
        ConflictType::ContentOverlap | ConflictType::ConstraintBreach
    );
    let noticed = open.strategy == Strategy::Evaluated || found;
    if !noticed || open.mode() != detected.mode {
        return Err(ApplyError::Mismatch("the merge it stops"));
    }
    open.conflicts.push(OpenConflict {
        id: detected.conflict_id.clone(),
        kind: detected.conflict_type,
        description: detected.description.clone(),
        resources: detected.resources.clone(),
    });
    Ok(())
}

pub(crate) fn apply_resolved(state: &mut State, resolved: &Resolved) -> Result<(), ApplyError> {
    let open = state.integrations.get_mut(&resolved.workspace_id);
    let open = open.ok_or(ApplyError::Unknown("the integration"))?;
    if open.mode() != resolved.mode {
        return Err(ApplyError::Mismatch("the merge it is about"));
    }
    let place = open.conflicts.iter().position(|open| open.id == resolved.conflict_id);
    open.conflicts.remove(place.ok_or(ApplyError::Unknown("the conflict"))?);
    if resolved.merge.is_some() {
        open.merge.clone_from(&resolved.merge);
    }
    // Each resolution adds to the files given before.
    if let Some(merged) = &resolved.merged {
        open.merged.get_or_insert_default().extend(merged.iter().cloned());
    }
    Ok(())
}
