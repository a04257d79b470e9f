//! Conflicts: what does not go together, and how that is settled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mode, Outcome, finish, integrator, open_conflict, reply};
use crate::event::Event;
use crate::file::{self, File, FileArg};
use crate::id::{CheckpointId, ConflictId, IdKind, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::change::{self, Change};
use crate::workspace::{self, Initiator, Status, Trigger};

/// The most conflicts of one merge.
pub const CONFLICTS_MAX: usize = 64;
/// The most resources one conflict names.
const RESOURCES_MAX: usize = 256;

/// The four kinds of conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// Two workspaces changed the same thing.
    ContentOverlap,
    /// Two workspaces came to opposite conclusions.
    SemanticContradiction,
    /// The work breaks what an earlier merge rests on.
    DependencyViolation,
    /// The result would break a rule of the project.
    ConstraintBreach,
}

/// A conflict the coordinator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConflictArg {
    /// What does not go together, in words.
    pub description: Text<1000>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Text<1000>>,
    /// Which kind it is.
    #[serde(rename = "type")]
    pub kind: ConflictType,
}

/// A conflict that is not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenConflict {
    /// Its id.
    pub id: ConflictId,
    /// Which kind it is.
    pub kind: ConflictType,
    /// What does not go together.
    pub description: Text<1000>,
    /// What it is about.
    pub resources: Vec<Text<1000>>,
}

/// How a conflict is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The coordinator settles it.
    CoordinatorResolve,
    /// The work is done again.
    AgentRework,
}

/// How a conflict was settled, or that it never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The coordinator settled it.
    CoordinatorResolve,
    /// The work is done again.
    AgentRework,
    /// Nobody settled it in time.
    Timeout,
    /// The workspace ended for another reason.
    Aborted,
}

/// What a conflict's end means for its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It can close.
    Closed,
    /// It fails.
    Failed,
}

/// `conflict.resolve`: settles a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// Which conflict.
    pub conflict: ConflictId,
    /// Files as they should be; of what is left out, what came in wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// What was decided, in words.
    pub resolution: Text<1000>,
    /// How it is settled.
    pub strategy: Resolution,
    /// The workspace whose work it is.
    pub workspace: WorkspaceId,
}

/// `conflict_detected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detected {
    /// The conflict.
    pub conflict_id: ConflictId,
    /// Which kind it is.
    pub conflict_type: ConflictType,
    /// What does not go together.
    pub description: Text<1000>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// What it is about.
    pub resources: Vec<Text<1000>>,
    /// The workspace whose work is merged.
    pub workspace_id: WorkspaceId,
}

/// `conflict_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The conflict.
    pub conflict_id: ConflictId,
    /// Which kind it is.
    pub conflict_type: ConflictType,
    /// The files as they should be, if somebody said so.
    pub merged: Option<Vec<File>>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// What it means for the workspace.
    pub outcome: End,
    /// What was decided.
    pub resolution: Option<Text<1000>>,
    /// How it was settled.
    pub resolution_strategy: Settled,
    /// The workspace whose work is merged.
    pub workspace_id: WorkspaceId,
}

/// Files that an earlier merge into the same workspace left with other content.
pub(crate) fn overlap(
    state: &State,
    target: &WorkspaceId,
    checkpoint: &CheckpointId,
) -> Result<Vec<ConflictArg>, Refusal> {
    let known = workspace::get(state, target)?;
    let Some(checkpoint) = state.checkpoints.get(checkpoint) else { return Ok(Vec::new()) };
    let other = |file: &&File| {
        known.merged.get(&file.path).is_some_and(|merged| merged.content != file.content)
    };
    let paths = checkpoint.files.iter().filter(other).map(|file| Text::lossy(file.path.as_str()));
    let resources: Vec<_> = paths.take(RESOURCES_MAX).collect();
    if resources.is_empty() {
        return Ok(Vec::new());
    }
    let kind = ConflictType::ContentOverlap;
    let description = Text::lossy("an earlier merge left these files with other content");
    Ok(vec![ConflictArg { description, resources, kind }])
}

/// Records conflicts and stops the merge.
pub(crate) fn detected(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    conflicts: Vec<ConflictArg>,
    initiator: Initiator,
) -> Result<(), Halt> {
    for conflict in conflicts {
        let event = Event::ConflictDetected(Detected {
            conflict_id: turn.mint(IdKind::Conflict).into(),
            conflict_type: conflict.kind,
            description: conflict.description,
            mode: Mode::Normal,
            resources: conflict.resources,
            workspace_id: id.clone(),
        });
        turn.note(Some(id), Actor::Protocol, event)?;
    }
    let (to, trigger) = (Status::Conflicted, Trigger::ConflictFound);
    let (reason, actor) = (None, Actor::Protocol);
    change::take(turn, id, Change { to, trigger, initiator, reason, actor })?;
    Ok(())
}

pub(crate) fn decide_resolve(
    turn: &mut Turn<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, Halt> {
    let id = &resolve.workspace;
    let initiator = integrator(turn.state(), caller, id)?;
    let Some(open) = open_conflict(turn.state(), id, &resolve.conflict).cloned() else {
        let message = format!("workspace {id} has no open conflict {}", resolve.conflict);
        let open = turn.state().integrations.get(id);
        let open = open.iter().flat_map(|open| &open.conflicts).map(|open| open.id.to_string());
        let open: Vec<String> = open.collect();
        return Err(Refusal::not_found(Rule::ConflictOpen, message).allowing(open).into());
    };
    let merged = match &resolve.merged {
        None => None,
        Some(files) => Some(
            file::stored(files)
                .map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?,
        ),
    };
    let rework = resolve.strategy == Resolution::AgentRework;
    if !rework && let Some(merging) = turn.state().integrations.get(id) {
        let checkpoint = merging.checkpoint.clone();
        turn.check_checkpoint(&checkpoint)?;
    }
    let event = Event::ConflictResolved(Resolved {
        conflict_id: open.id,
        conflict_type: open.kind,
        merged,
        mode: Mode::Normal,
        outcome: if rework { End::Failed } else { End::Closed },
        resolution: Some(resolve.resolution.clone()),
        resolution_strategy: if rework {
            Settled::AgentRework
        } else {
            Settled::CoordinatorResolve
        },
        workspace_id: id.clone(),
    });
    turn.note(Some(id), caller.principal.clone().into(), event)?;
    let left = turn.state().integrations.get(id).map_or(0, |open| open.conflicts.len());
    if rework {
        let (to, trigger) = (Status::Failed, Trigger::AgentRework);
        let (reason, actor) = (Some(resolve.resolution.clone()), Actor::Protocol);
        change::fail(turn, id, Change { to, trigger, initiator, reason, actor })?;
    } else if left == 0 {
        finish(turn, id, initiator, Outcome::ConflictResolved)?;
    }
    reply(turn, id)
}

/// A conflict that nobody settles any more.
pub(crate) fn given_up(
    turn: &mut Turn<'_>,
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
        merged: None,
        mode: Mode::Normal,
        outcome: End::Failed,
        resolution: None,
        resolution_strategy: settled,
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)
}

pub(crate) fn apply_detected(state: &mut State, detected: &Detected) -> Result<(), ApplyError> {
    let open = state.integrations.get_mut(&detected.workspace_id);
    let open = open.ok_or(ApplyError::Unknown("the integration"))?;
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
    let place = open.conflicts.iter().position(|open| open.id == resolved.conflict_id);
    open.conflicts.remove(place.ok_or(ApplyError::Unknown("the conflict"))?);
    // Each resolution adds to what was said before.
    if let Some(said) = &resolved.merged {
        open.merged.get_or_insert_default().extend(said.iter().cloned());
    }
    Ok(())
}
