//! Integration: what becomes of finished work.
//!
//! Nothing merges by itself. Once a workspace is done, the coordinator (or the delegate above it)
//! accepts its newest final checkpoint, has the work revised, or rejects it. What is accepted is
//! merged into the parent: a map from path to content. `direct` copies, `layered` copies and
//! notices files that earlier merges left with other content, `evaluated` takes the result the
//! coordinator made of both. A conflict stops the merge until it is resolved; one that whoever runs
//! the project's checks found stops a merge of any strategy. [`salvage`] is for work that failed.

pub mod conflict;
pub mod salvage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::checkpoint::Confidence;
use crate::event::Event;
use crate::file::{self, File, FileArg};
use crate::highway::GateType;
use crate::highway::gate::{self, Stop, Way};
use crate::highway::request::Request;
use crate::id::{CheckpointId, ConflictId, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::signal::{self, Saying, SignalType};
use crate::state::{ApplyError, State};
use crate::task;
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::change::{self, Change};
use crate::workspace::{self, Initiator, MergedFile, Party, Status, Trigger, edges};
use conflict::{ConflictArg, OpenConflict};

/// What the coordinator thinks of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is good: merge it.
    Accept,
    /// It could be good: somebody does it again.
    Revise,
    /// It is of no use.
    Reject,
}

/// How work is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Copied as it is.
    #[default]
    Direct,
    /// Copied over what is there; files that others changed are noticed.
    Layered,
    /// The coordinator made one result of both.
    Evaluated,
}

/// What sort of merge it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Finished work of a workspace that completed.
    Normal,
    /// What can be saved of a workspace that failed.
    Salvage,
}

/// `integration.decide`: accepts, revises or rejects what a workspace finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// What does not go together; with other strategies than `evaluated` what breaks a rule of the
    /// project (`constraint_breach`) alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// What to do with it.
    pub decision: Decision,
    /// With `evaluated`: files as they should be; the others stay as the work has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// How it is merged (default `direct`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `integration_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// What is merged.
    pub checkpoint_ref: CheckpointId,
    /// What salvaged work counts for; for finished work the checkpoint itself says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// With `evaluated`: the files as they should be.
    pub merged: Option<Vec<File>>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// Who answers for the work.
    pub owner: Party,
    /// Why, of a salvage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace whose work is merged.
    pub source: WorkspaceId,
    /// How.
    pub strategy: Strategy,
    /// The workspace it is merged into.
    pub target: WorkspaceId,
}

/// How a merge went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Without a conflict.
    Success,
    /// With conflicts that were resolved.
    ConflictResolved,
}

/// `integration_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// What sort of merge it was.
    pub mode: Mode,
    /// How it went.
    pub result: Outcome,
    /// The workspace whose work was merged.
    pub source: WorkspaceId,
    /// How.
    pub strategy: Strategy,
    /// The workspace it was merged into.
    pub target: WorkspaceId,
}

/// `integration_aborted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aborted {
    /// What sort of merge it was.
    pub mode: Mode,
    /// Why it was given up.
    pub reason: Trigger,
    /// The workspace whose work was to be merged.
    pub source: WorkspaceId,
    /// The workspace it was to be merged into.
    pub target: WorkspaceId,
}

/// A merge that was begun and is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integration {
    /// What is merged.
    pub checkpoint: CheckpointId,
    /// How.
    pub strategy: Strategy,
    /// The files as they should be, if somebody said so.
    pub merged: Option<Vec<File>>,
    /// What does not go together and is not resolved.
    pub conflicts: Vec<OpenConflict>,
    /// Where salvaged work goes; none for finished work, which goes to the workspace above.
    pub salvaged_into: Option<WorkspaceId>,
}

impl Integration {
    /// What sort of merge it is.
    pub fn mode(&self) -> Mode {
        if self.salvaged_into.is_some() { Mode::Salvage } else { Mode::Normal }
    }
}

/// The workspace that open work is merged into. Finished work follows its workspace's parent.
pub(crate) fn target_of(state: &State, source: &WorkspaceId) -> Option<WorkspaceId> {
    let open = state.integrations.get(source)?;
    let parent = || state.workspaces.get(source).and_then(|known| known.parent.clone());
    open.salvaged_into.clone().or_else(parent)
}

/// What `integration.decide`, `integration.salvage` and `conflict.resolve` return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IntegrationReply {
    /// The workspace it was about.
    pub workspace: WorkspaceId,
    /// The state it is in now.
    pub status: Status,
    /// The conflicts that are open.
    pub conflicts: Vec<OpenConflict>,
}

pub(crate) fn reply(turn: &Turn<'_>, id: &WorkspaceId) -> Result<Reply, Halt> {
    let status = workspace::get(turn.state(), id)?.status;
    let conflicts = turn.state().integrations.get(id).map(|open| open.conflicts.clone());
    let conflicts = conflicts.unwrap_or_default();
    Ok(Reply::Integration(IntegrationReply { workspace: id.clone(), status, conflicts }))
}

/// Whether a caller decides about a workspace's work: the coordinator, or the delegate above.
pub(crate) fn integrator(
    state: &State,
    caller: &Caller,
    source: &WorkspaceId,
) -> Result<Initiator, Refusal> {
    workspace::get(state, source)?;
    if workspace::commands(state, caller, source) {
        return Ok(workspace::initiator(&caller.principal));
    }
    let message = format!("{} does not decide about workspace {source}", caller.principal);
    Err(Refusal::denied(Rule::Integrator, message))
}

pub(crate) fn decide_decide(
    turn: &mut Turn<'_>,
    caller: &Caller,
    decide: &Decide,
) -> Result<Reply, Halt> {
    let id = &decide.workspace;
    let initiator = integrator(turn.state(), caller, id)?;
    let workspace = workspace::get(turn.state(), id)?;
    let merging = turn.state().integrations.contains_key(id);
    if workspace.status != Status::Integrating || workspace.parent.is_none() || merging {
        let message = format!("workspace {id} is {}, not integrating", workspace.status);
        let ways = edges::ways_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(ways).into());
    }
    let trigger = match decide.decision {
        Decision::Accept => return accept(turn, caller, decide, initiator),
        Decision::Revise => Trigger::RevisionRequired,
        Decision::Reject => Trigger::Rejected,
    };
    let (reason, actor) = (decide.reason.clone(), caller.principal.clone().into());
    let change = Change { to: Status::Failed, trigger, initiator, reason, actor };
    change::fail(turn, id, change)?;
    reply(turn, id)
}

fn accept(
    turn: &mut Turn<'_>,
    caller: &Caller,
    decide: &Decide,
    initiator: Initiator,
) -> Result<Reply, Halt> {
    let id = &decide.workspace;
    let workspace = workspace::get(turn.state(), id)?.clone();
    let Some(target) = workspace.parent.clone() else { return reply(turn, id) };
    let Some(checkpoint) = workspace.latest_final.clone() else {
        let message = format!("workspace {id} has no final checkpoint to merge");
        let allowed = ["revise".to_owned(), "reject".to_owned()];
        return Err(Refusal::denied(Rule::FinalNeeded, message).allowing(allowed).into());
    };
    if let Some(busy) = busy(turn.state(), &target) {
        return Err(busy.into());
    }
    turn.check_checkpoint(&checkpoint)?;
    let strategy = decide.strategy.unwrap_or_default();
    conflict::sound(&decide.conflicts, strategy)?;
    let merged = evaluated_result(decide, strategy)?;
    let stop = Stop {
        kind: GateType::Integration,
        subject: id.into(),
        workspace: Some(id.clone()),
        task: workspace.charter.task.clone(),
        request: Some(Request::Integrate(Box::new(decide.clone()))),
    };
    let way = gate::pass(turn, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return turn.gate_reply(gate);
    }
    let event = Event::IntegrationStarted(Started {
        checkpoint_ref: checkpoint.clone(),
        confidence: None,
        merged,
        mode: Mode::Normal,
        owner: workspace.owner.clone(),
        reason: None,
        source: id.clone(),
        strategy,
        target: target.clone(),
    });
    let actor = turn.actor(caller);
    turn.note(Some(&target), actor, event)?;
    way.note(turn)?;
    signal::tell_parent(turn, &target, Saying::plain(SignalType::Integrate, id.into()))?;
    let mut conflicts = match strategy {
        Strategy::Layered => conflict::overlap(turn.state(), &target, &checkpoint)?,
        Strategy::Direct | Strategy::Evaluated => Vec::new(),
    };
    conflicts.extend(decide.conflicts.iter().cloned());
    if conflicts.is_empty() {
        finish(turn, id, initiator, Outcome::Success)?;
    } else {
        conflict::detected(turn, id, conflicts, initiator)?;
    }
    reply(turn, id)
}

fn evaluated_result(decide: &Decide, strategy: Strategy) -> Result<Option<Vec<File>>, Refusal> {
    let unsound = |message: String| Refusal::denied(Rule::MergeSound, message);
    match (strategy, &decide.merged) {
        (Strategy::Evaluated, Some(files)) => {
            file::stored(files).map(Some).map_err(|error| unsound(error.to_string()))
        }
        (Strategy::Evaluated, None) => {
            Err(unsound("an evaluated merge needs its result in `merged`".to_owned()))
        }
        (_, Some(_)) => Err(unsound("`merged` is for evaluated merges".to_owned())),
        (_, None) => Ok(None),
    }
}

impl State {
    /// The workspace whose work is being merged into another, if one is.
    pub fn merging_into(&self, target: &WorkspaceId) -> Option<&WorkspaceId> {
        let mut open = self.integrations.keys();
        open.find(|source| target_of(self, source).as_ref() == Some(target))
    }
}

/// A refusal to merge into a workspace while other work is being merged into it.
pub(crate) fn busy(state: &State, target: &WorkspaceId) -> Option<Refusal> {
    let other = state.merging_into(target)?;
    let message = format!("the work of {other} is still being merged into {target}");
    Some(Refusal::denied(Rule::OneMerge, message))
}

/// The merge itself, and the end of the workspace it came from, if that has not ended.
pub(crate) fn finish(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    initiator: Initiator,
    result: Outcome,
) -> Result<(), Halt> {
    let target = target_of(turn.state(), id).ok_or(ApplyError::Unknown("the parent"))?;
    let open = turn.state().integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    let mode = open.mode();
    let event = Event::IntegrationCompleted(Completed {
        mode,
        result,
        source: id.clone(),
        strategy: open.strategy,
        target: target.clone(),
    });
    turn.note(Some(&target), Actor::Protocol, event)?;
    if mode == Mode::Salvage {
        // What failed stays so, and its task with it.
        return Ok(());
    }
    let trigger = match result {
        Outcome::Success => Trigger::Merged,
        Outcome::ConflictResolved => Trigger::ConflictsResolved,
    };
    let (reason, actor) = (None, Actor::Protocol);
    change::take(turn, id, Change { to: Status::Closed, trigger, initiator, reason, actor })?;
    task::on_integrated(turn, id)?;
    Ok(())
}

/// A workspace failed in the middle of a merge.
pub(crate) fn on_failed(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let Some(open) = turn.state().integrations.get(id).cloned() else { return Ok(()) };
    let known = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let target = known.parent.clone().ok_or(ApplyError::Unknown("the parent"))?;
    for left in open.conflicts {
        conflict::given_up(turn, id, left, trigger)?;
    }
    let event = Event::IntegrationAborted(Aborted {
        mode: Mode::Normal,
        reason: trigger,
        source: id.clone(),
        target: target.clone(),
    });
    turn.note(Some(&target), Actor::Protocol, event)
}

pub(crate) fn apply_started(state: &mut State, started: &Started) -> Result<(), ApplyError> {
    let sound = match started.mode {
        Mode::Normal => finished(state, started),
        Mode::Salvage => salvage::is_sound(state, started),
    };
    if !sound {
        return Err(ApplyError::Mismatch("the work that is merged"));
    }
    let open = Integration {
        checkpoint: started.checkpoint_ref.clone(),
        strategy: started.strategy,
        merged: started.merged.clone(),
        conflicts: Vec::new(),
        salvaged_into: (started.mode == Mode::Salvage).then(|| started.target.clone()),
    };
    match state.insert_integration(started.source.clone(), open) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("an integration's start")),
    }
}

impl State {
    /// Takes in an open merge with everything that is derived from it.
    pub(crate) fn insert_integration(
        &mut self,
        source: WorkspaceId,
        open: Integration,
    ) -> Option<Integration> {
        if let Some(target) = &open.salvaged_into {
            self.salvages.insert((target.clone(), source.clone()));
        }
        self.integrations.insert(source, open)
    }
}

/// Whether an entry that begins a merge is about finished work, and the right one.
fn finished(state: &State, started: &Started) -> bool {
    let source = state.workspaces.get(&started.source);
    source.is_some_and(|source| {
        source.status == Status::Integrating
            && source.latest_final.as_ref() == Some(&started.checkpoint_ref)
            && source.parent.as_ref() == Some(&started.target)
    })
}

/// Takes an open merge out, if it is the one that an entry tells of.
fn close(
    state: &mut State,
    mode: Mode,
    source: &WorkspaceId,
    target: &WorkspaceId,
) -> Result<Integration, ApplyError> {
    let into = target_of(state, source).ok_or(ApplyError::Unknown("the integration"))?;
    let open = state.integrations.remove(source).ok_or(ApplyError::Unknown("the integration"))?;
    state.salvages.remove(&(into.clone(), source.clone()));
    if into == *target && open.mode() == mode {
        Ok(open)
    } else {
        Err(ApplyError::Mismatch("the workspace it is merged into"))
    }
}

pub(crate) fn apply_completed(state: &mut State, completed: &Completed) -> Result<(), ApplyError> {
    let open = close(state, completed.mode, &completed.source, &completed.target)?;
    if !open.conflicts.is_empty() || open.strategy != completed.strategy {
        return Err(ApplyError::Mismatch("the integration"));
    }
    let checkpoint = state.checkpoints.get(&open.checkpoint);
    let checkpoint = checkpoint.ok_or(ApplyError::Unknown("the checkpoint"))?.clone();
    // What somebody said about a file goes before what the checkpoint says; files nobody spoke
    // about come from the checkpoint, so that none is dropped by not being named. What failed is
    // not trusted that far: of it only the files come that somebody named.
    let whole = open.mode() == Mode::Normal;
    let made: &[File] = if whole { &checkpoint.files } else { &[] };
    let files = made.iter().chain(open.merged.iter().flatten());
    let known = state.workspaces.get_mut(&completed.target);
    let target = Arc::make_mut(known.ok_or(ApplyError::Unknown("the parent"))?);
    for file in files {
        let merged = MergedFile { content: file.content.clone(), from: completed.source.clone() };
        target.merged.insert(file.path.clone(), merged);
    }
    Ok(())
}

pub(crate) fn apply_aborted(state: &mut State, aborted: &Aborted) -> Result<(), ApplyError> {
    close(state, aborted.mode, &aborted.source, &aborted.target).map(|_| ())
}

/// A conflict's id and what it is about; for [`conflict`].
pub(crate) fn open_conflict<'s>(
    state: &'s State,
    source: &WorkspaceId,
    id: &ConflictId,
) -> Option<&'s OpenConflict> {
    state.integrations.get(source)?.conflicts.iter().find(|open| open.id == *id)
}
