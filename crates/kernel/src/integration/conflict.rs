//! Conflicts: what does not go together, and how that is settled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mode, Outcome, Strategy, finish, integrator, open_conflict, reply, salvage};
use crate::event::Event;
use crate::file::{self, File, FileArg};
use crate::highway::GateType;
use crate::highway::gate::{self, Stop, Way};
use crate::highway::request::Request;
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
    /// A person settles it.
    Escalate,
    /// The work is done again.
    AgentRework,
}

/// How a conflict was settled, or that it never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The coordinator settled it.
    CoordinatorResolve,
    /// A person settled it.
    Escalate,
    /// The work is done again.
    AgentRework,
    /// Nobody settled it in time.
    Timeout,
    /// The workspace ended for another reason.
    Aborted,
}

/// What a conflict's end means for its workspace. A workspace whose work is salvaged has failed
/// already: there it says whether the files come out of it.
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

/// Whether conflicts may be reported with a merge of this strategy. Those who merge without a look
/// at both sides find nothing, but the project's own checks may.
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
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    conflicts: Vec<ConflictArg>,
    initiator: Initiator,
) -> Result<(), Halt> {
    let mode = mode_of(turn.state(), id)?;
    for conflict in conflicts {
        let event = Event::ConflictDetected(Detected {
            conflict_id: turn.mint(IdKind::Conflict).into(),
            conflict_type: conflict.kind,
            description: conflict.description,
            mode,
            resources: conflict.resources,
            workspace_id: id.clone(),
        });
        turn.note(Some(id), Actor::Protocol, event)?;
    }
    if mode == Mode::Salvage {
        return Ok(());
    }
    let (to, trigger) = (Status::Conflicted, Trigger::ConflictFound);
    let (reason, actor) = (None, Actor::Protocol);
    change::take(turn, id, Change { to, trigger, initiator, reason, actor })?;
    Ok(())
}

fn mode_of(state: &State, id: &WorkspaceId) -> Result<Mode, ApplyError> {
    let open = state.integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    Ok(open.mode())
}

pub(crate) fn decide_resolve(
    turn: &mut Turn<'_>,
    caller: &Caller,
    resolve: &Resolve,
) -> Result<Reply, Halt> {
    let id = &resolve.workspace;
    integrator(turn.state(), caller, id)?;
    open_one(turn.state(), resolve)?;
    if let Some(files) = &resolve.merged {
        file::stored(files)
            .map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?;
    }
    let stop = Stop {
        kind: GateType::ConflictResolution,
        subject: (&resolve.conflict).into(),
        workspace: Some(id.clone()),
        task: workspace::get(turn.state(), id)?.charter.task.clone(),
        request: Some(Request::Resolve(Box::new(resolve.clone()))),
    };
    if resolve.strategy == Resolution::Escalate {
        // This is to ask a person, whatever else is asked about.
        let actor = caller.principal.clone().into();
        let gate = gate::escalated(turn, stop, actor)?;
        return turn.gate_reply(&gate);
    }
    let way = gate::pass(turn, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return turn.gate_reply(gate);
    }
    settle(turn, caller, resolve)?;
    way.note(turn)?;
    reply(turn, id)
}

/// The conflict that is to be settled.
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

/// Settles a conflict, without asking anybody else.
pub(crate) fn settle(turn: &mut Turn<'_>, caller: &Caller, resolve: &Resolve) -> Result<(), Halt> {
    let id = &resolve.workspace;
    let initiator = integrator(turn.state(), caller, id)?;
    let open = open_one(turn.state(), resolve)?;
    let merged = match &resolve.merged {
        None => None,
        Some(files) => Some(
            file::stored(files)
                .map_err(|error| Refusal::denied(Rule::MergeSound, error.to_string()))?,
        ),
    };
    let rework = resolve.strategy == Resolution::AgentRework;
    let mode = mode_of(turn.state(), id)?;
    if !rework && let Some(merging) = turn.state().integrations.get(id) {
        let checkpoint = merging.checkpoint.clone();
        turn.check_checkpoint(&checkpoint)?;
    }
    let event = Event::ConflictResolved(Resolved {
        conflict_id: open.id,
        conflict_type: open.kind,
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
    let actor = turn.actor(caller);
    turn.note(Some(id), actor, event)?;
    let left = turn.state().integrations.get(id).map_or(0, |open| open.conflicts.len());
    if rework && mode == Mode::Salvage {
        salvage::abandon(turn, id, Trigger::AgentRework)?;
    } else if rework {
        let (to, trigger) = (Status::Failed, Trigger::AgentRework);
        let (reason, actor) = (Some(resolve.resolution.clone()), Actor::Protocol);
        change::fail(turn, id, Change { to, trigger, initiator, reason, actor })?;
    } else if left == 0 {
        finish(turn, id, initiator, Outcome::ConflictResolved)?;
    }
    Ok(())
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
        mode: mode_of(turn.state(), id)?,
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
    let noticed = match open.strategy {
        Strategy::Evaluated => true,
        Strategy::Layered => detected.conflict_type == ConflictType::ContentOverlap,
        Strategy::Direct => false,
    };
    let breach = detected.conflict_type == ConflictType::ConstraintBreach;
    if !(noticed || breach) || open.mode() != detected.mode {
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
    // Each resolution adds to what was said before.
    if let Some(said) = &resolved.merged {
        open.merged.get_or_insert_default().extend(said.iter().cloned());
    }
    Ok(())
}
