//! Integration: merging finished work.
//!
//! Nothing merges by itself. Once a workspace is done, the coordinator (or the delegate above it)
//! accepts its newest final checkpoint, has the work revised, or rejects it. Accepted work is
//! merged into the parent: a map from path to content. `direct` copies, `layered` copies and
//! reports every file that earlier merges left with other content, `evaluated` takes the result the
//! coordinator made of both. No strategy overwrites what was merged after the work began: that is a
//! conflict. A conflict stops the merge until it is resolved; one found by the project's checks
//! stops a merge of any strategy. [`salvage`] is for failed work.

pub mod conflict;
pub mod salvage;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::file;
use crate::model::runs::file::{File, FilePath};
use crate::model::runs::integration::conflict::OpenConflict;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Initiator, MergedFile, Status, Trigger, edges};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::gate::{Stop, Way};
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::task::follow;
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{authority, branch};
use crate::rules::runs::{run, signal, workspace};
use crate::values::id::{CheckpointId, ConflictId, WorkspaceId};
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::integration::*;

/// The workspace that work is being merged into. Finished work follows its workspace's parent.
pub(crate) fn target_of(state: &State, source: &WorkspaceId) -> Option<WorkspaceId> {
    let open = state.integrations.get(source)?;
    let parent = || state.workspaces.get(source).and_then(|known| known.parent.clone());
    open.salvaged_into.clone().or_else(parent)
}

pub(crate) fn reply(tx: &Transaction<'_>, id: &WorkspaceId) -> Result<Reply, DecisionError> {
    let status = workspace::get(tx.state(), id)?.status;
    let conflicts = tx.state().integrations.get(id).map(|open| open.conflicts.clone());
    let conflicts = conflicts.unwrap_or_default();
    Ok(Reply::Integration(IntegrationReply { workspace: id.clone(), status, conflicts }))
}

/// Checks whether a caller decides about a workspace's work: the coordinator, or the delegate
/// above.
pub(crate) fn integrator(
    state: &State,
    caller: &Caller,
    source: &WorkspaceId,
) -> Result<Initiator, Refusal> {
    workspace::get(state, source)?;
    if workspace::commands(state, caller, source) {
        return Ok(workspace::initiator(&caller.principal));
    }
    let message =
        format!("{} may not decide about the work of workspace {source}", caller.principal);
    Err(Refusal::denied(Rule::Integrator, message))
}

pub(crate) fn decide_decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    decide: &Decide,
) -> Result<Reply, DecisionError> {
    let id = &decide.workspace;
    let initiator = integrator(tx.state(), caller, id)?;
    let workspace = workspace::get(tx.state(), id)?;
    let merging = tx.state().integrations.contains_key(id);
    if workspace.status != Status::Integrating || workspace.parent.is_none() || merging {
        let message = format!("workspace {id} is {}, not integrating", workspace.status);
        let allowed = edges::transitions_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(allowed).into());
    }
    let trigger = match decide.decision {
        Decision::Accept => return accept(tx, caller, decide, initiator),
        Decision::Revise => Trigger::RevisionRequired,
        Decision::Reject => Trigger::Rejected,
    };
    let (reason, actor) = (decide.reason.clone(), caller.principal.clone().into());
    let change = Change { to: Status::Failed, trigger, initiator, reason, actor };
    change::fail(tx, id, change)?;
    reply(tx, id)
}

fn accept(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    decide: &Decide,
    initiator: Initiator,
) -> Result<Reply, DecisionError> {
    let id = &decide.workspace;
    let workspace = workspace::get(tx.state(), id)?.clone();
    let Some(target) = workspace.parent.clone() else { return reply(tx, id) };
    let Some(checkpoint) = workspace.latest_final.clone() else {
        let message = format!("workspace {id} has no final checkpoint to merge");
        let allowed = ["revise".to_owned(), "reject".to_owned()];
        return Err(Refusal::denied(Rule::FinalNeeded, message).allowing(allowed).into());
    };
    if let Some(busy) = busy(tx.state(), &target) {
        return Err(busy.into());
    }
    tx.check_checkpoint(&checkpoint)?;
    let strategy = decide.strategy.unwrap_or_default();
    conflict::sound(&decide.conflicts, strategy)?;
    let merged = evaluated_result(decide, strategy)?;
    let files = to_merge(tx.state(), id, &checkpoint, merged.as_deref());
    if decide.conflicts.is_empty() || decide.merge.is_some() {
        branch::may_land(tx.state(), id, &target, decide.merge.as_ref())?;
    }
    authority::free(tx.state(), id, &files, Some(&caller.principal))?;
    let stop = Stop {
        kind: GateType::Integration,
        subject: id.into(),
        workspace: Some(id.clone()),
        task: workspace.charter.task.clone(),
        request: Some(Request::Integrate(Box::new(decide.clone()))),
    };
    let way = gate::pass(tx, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return tx.gate_reply(gate);
    }
    let event = Event::IntegrationStarted(Started {
        checkpoint_ref: checkpoint.clone(),
        confidence: None,
        merge: decide.merge.clone(),
        merged,
        mode: Mode::Normal,
        owner: workspace.owner.clone(),
        reason: None,
        source: id.clone(),
        strategy,
        target: target.clone(),
    });
    let actor = tx.actor(caller);
    tx.note(Some(&target), actor, event)?;
    way.note(tx)?;
    signal::signal_parent(tx, &target, SignalContent::plain(SignalType::Integrate, id.into()))?;
    let mut conflicts = match strategy {
        // Git has compared both sides.
        _ if decide.merge.is_some() => Vec::new(),
        Strategy::Layered => conflict::overlap(tx.state(), &target, &files)?,
        Strategy::Direct | Strategy::Evaluated => {
            conflict::overwritten(tx.state(), (id, &target), &checkpoint, &files)?
        }
    };
    conflicts.extend(decide.conflicts.iter().cloned());
    if conflicts.is_empty() {
        finish(tx, id, initiator, Outcome::Success)?;
    } else {
        conflict::detected(tx, id, conflicts, initiator)?;
    }
    reply(tx, id)
}

/// The files that merging a workspace writes: those merged into it from below, those of its
/// checkpoint, and those the coordinator gives, where a later one replaces an earlier one. Nothing is
/// dropped by omission.
pub(crate) fn to_merge(
    state: &State,
    source: &WorkspaceId,
    checkpoint: &CheckpointId,
    given: Option<&[File]>,
) -> Vec<File> {
    let below = state.workspaces.get(source).into_iter().flat_map(|known| known.merged.iter());
    let below = below.map(|(path, own)| File { content: own.content.clone(), path: path.clone() });
    let made = state.checkpoints.get(checkpoint);
    let made = made.into_iter().flat_map(|made| made.files.iter().cloned());
    let all = below.chain(made).chain(given.into_iter().flatten().cloned());
    let last: BTreeMap<FilePath, File> = all.map(|file| (file.path.clone(), file)).collect();
    last.into_values().collect()
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

/// Completes the merge, and closes the source workspace unless it has already ended.
pub(crate) fn finish(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    initiator: Initiator,
    result: Outcome,
) -> Result<(), DecisionError> {
    let target = target_of(tx.state(), id).ok_or(ApplyError::Unknown("the parent"))?;
    let open = tx.state().integrations.get(id).ok_or(ApplyError::Unknown("the integration"))?;
    let mode = open.mode();
    if open.merge.is_none() {
        branch::may_land(tx.state(), id, &target, None)?;
    }
    let event = Event::IntegrationCompleted(Completed {
        merge: open.merge.clone(),
        mode,
        result,
        source: id.clone(),
        strategy: open.strategy,
        target: target.clone(),
    });
    tx.note(Some(&target), Actor::Protocol, event)?;
    if mode == Mode::Salvage {
        // A failed workspace stays failed, and so does its task.
        return Ok(());
    }
    let trigger = match result {
        Outcome::Success => Trigger::Merged,
        Outcome::ConflictResolved => Trigger::ConflictsResolved,
    };
    let (reason, actor) = (None, Actor::Protocol);
    change::take(tx, id, Change { to: Status::Closed, trigger, initiator, reason, actor })?;
    follow::on_integrated(tx, id)?;
    Ok(())
}

/// Aborts the merge of a workspace that failed.
pub(crate) fn on_failed(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let Some(open) = tx.state().integrations.get(id).cloned() else { return Ok(()) };
    let known = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let target = known.parent.clone().ok_or(ApplyError::Unknown("the parent"))?;
    for left in open.conflicts {
        conflict::given_up(tx, id, left, trigger)?;
    }
    let event = Event::IntegrationAborted(Aborted {
        mode: Mode::Normal,
        reason: trigger,
        source: id.clone(),
        target: target.clone(),
    });
    tx.note(Some(&target), Actor::Protocol, event)
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
        merge: started.merge.clone(),
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
    /// Inserts a merge in progress with its index.
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

/// Whether an entry that starts a merge is about a finished workspace, its newest final checkpoint
/// and its parent.
fn finished(state: &State, started: &Started) -> bool {
    let source = state.workspaces.get(&started.source);
    source.is_some_and(|source| {
        source.status == Status::Integrating
            && source.latest_final.as_ref() == Some(&started.checkpoint_ref)
            && source.parent.as_ref() == Some(&started.target)
    })
}

/// Removes a merge in progress, or fails if it does not match the entry.
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

pub(crate) fn apply_completed(
    state: &mut State,
    entry: &Stamped,
    completed: &Completed,
) -> Result<(), ApplyError> {
    let open = close(state, completed.mode, &completed.source, &completed.target)?;
    let fits = open.strategy == completed.strategy && open.merge == completed.merge;
    if !open.conflicts.is_empty() || !fits {
        return Err(ApplyError::Mismatch("the integration"));
    }
    if !state.checkpoints.contains_key(&open.checkpoint) {
        return Err(ApplyError::Unknown("the checkpoint"));
    }
    // Of a salvage only the files given are merged.
    let files = match open.mode() {
        Mode::Normal => {
            to_merge(state, &completed.source, &open.checkpoint, open.merged.as_deref())
        }
        Mode::Salvage => open.merged.unwrap_or_default(),
    };
    if let Some(merge) = &completed.merge {
        branch::advance(state, &completed.target, merge)?;
    }
    let known = state.workspaces.get_mut(&completed.target);
    let target = Arc::make_mut(known.ok_or(ApplyError::Unknown("the parent"))?);
    for File { content, path } in files {
        let merged = MergedFile { content, from: completed.source.clone(), at: entry.at };
        target.merged.insert(path, merged);
    }
    Ok(())
}

/// Records that merged work was taken back. The revert is on the branch that the work was merged
/// into, or on one that the result of the run was put onto.
pub(crate) fn decide_undo(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    undo: &Undo,
) -> Result<Reply, DecisionError> {
    let id = &undo.workspace;
    let source = workspace::get(tx.state(), id)?;
    run::may_record(tx.state(), caller, &source.charter.root.clone())?;
    let merged = source.status == Status::Closed && source.branch.is_some();
    let Some(target) = source.parent.clone().filter(|_| merged) else {
        let message = format!("the work of workspace {id} was not merged in git");
        return Err(Refusal::denied(Rule::MergeInGit, message).into());
    };
    let branch = workspace::get(tx.state(), &target)?.branch.as_ref();
    let is_own = branch.is_some_and(|branch| branch.name == undo.merge.branch);
    if is_own && branch.is_some_and(|branch| branch.tip != undo.merge.onto) {
        let message = format!("{} is not at {}", undo.merge.branch, undo.merge.onto);
        return Err(Refusal::denied(Rule::MergeStale, message).into());
    }
    let event = Event::IntegrationUndone(Undone {
        merge: undo.merge.clone(),
        reason: undo.reason.clone(),
        source: id.clone(),
        target: target.clone(),
    });
    tx.note(Some(&target), caller.principal.clone().into(), event)?;
    tx.workspace_reply(id)
}

pub(crate) fn apply_undone(state: &mut State, undone: &Undone) -> Result<(), ApplyError> {
    let target = state.workspaces.get(&undone.target).ok_or(ApplyError::Unknown("the parent"))?;
    let is_own = target.branch.as_ref().is_some_and(|own| own.name == undone.merge.branch);
    if is_own { branch::advance(state, &undone.target, &undone.merge) } else { Ok(()) }
}

pub(crate) fn apply_aborted(state: &mut State, aborted: &Aborted) -> Result<(), ApplyError> {
    close(state, aborted.mode, &aborted.source, &aborted.target).map(|_| ())
}

/// An open conflict by its id.
pub(crate) fn open_conflict<'s>(
    state: &'s State,
    source: &WorkspaceId,
    id: &ConflictId,
) -> Option<&'s OpenConflict> {
    state.integrations.get(source)?.conflicts.iter().find(|open| open.id == *id)
}
