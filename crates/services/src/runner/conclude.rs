//! The end of attempts and of runs: merging, trying again, clearing away, and the result.

use althing_kernel::git::BranchName as RecordedBranch;
use althing_kernel::integration::{Decide, Decision};
use althing_kernel::records::Record;
use althing_kernel::run::{End, Land};
use althing_kernel::task::State as TaskState;
use althing_kernel::task::orders::Retry;
use althing_kernel::text::Text;
use althing_kernel::workspace::branch::Merge;
use althing_kernel::workspace::{Status, Trigger, Workspace};
use althing_kernel::{Command, Rule, State, WorkspaceId};
use althing_workshop::attempt_tree::{AttemptTree, TreeError, TreeState};
use althing_workshop::git::message::Message;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, TreeName};
use althing_workshop::merge::{FastForward, MergedIn};
use althing_workshop::process::Status as Process;
use std::time::{Duration, Instant};

use super::attempt::{Attempt, Job, Turns, key_of, title_of};
use super::event::{Finished, RunEvent};
use super::prepare::{commit_id, git, left_by, note_left, object, target, workshop};
use super::queue::{self, Candidate, Landed};
use super::shared::Shared;
use super::supervise::{Report, Supervisor};
use super::turn;
use crate::context::ProjectContext;
use crate::error::Error;

/// How long work waits for a file that somebody else holds before it is tried again.
const HELD_WAIT: Duration = Duration::from_secs(2);
/// How long work waits that could not be merged in this round of the queue.
const LATER_WAIT: Duration = Duration::from_millis(100);
/// How often the work of others is merged into an attempt before it is sent back for good.
const JOINED_MAX: u32 = 10;
/// How often a task is begun anew because its work was to be revised: as often as an agent may try, but
/// once at least, since the work of others may be the reason.
fn revisions_max(plan: &Record) -> usize {
    plan.terms().map_or(2, |terms| usize::from(terms.attempts()).max(2))
}

impl Supervisor<'_> {
    /// Merges what passed, on a thread. One process at a time does so.
    pub(super) fn merge(&mut self, state: &State) -> Result<(), Error> {
        if self.merging {
            return Ok(());
        }
        self.see_gates(state);
        let now = Instant::now();
        let waits = self.attempts.values().any(|attempt| attempt.gate.is_some());
        let mut candidates: Vec<Candidate> = self
            .attempts
            .values()
            .filter(|attempt| attempt.job.is_none() && !attempt.waits(now))
            .filter_map(|attempt| self.candidate(state, attempt))
            .collect();
        // A merge that waits for a person is made on the present tip; others wait behind it.
        if candidates.is_empty() || waits {
            return Ok(());
        }
        let Some(lock) = queue::lock(&self.shared)? else { return Ok(()) };
        candidates.sort_by_key(|own| (own.terms.key.clone(), own.id.clone()));
        for candidate in &candidates {
            if let Some(attempt) = self.attempts.get_mut(&candidate.id) {
                attempt.job = Some(Job::Merging);
            }
        }
        self.merging = true;
        let (shared, send) = (self.shared.clone(), self.send.clone());
        std::thread::spawn(move || {
            let landed = queue::work(&shared, candidates);
            drop(lock);
            // The run may be over.
            drop(send.send(Report::Queue(landed)));
        });
        Ok(())
    }

    /// The work of an attempt, if it can be merged.
    fn candidate(&self, state: &State, attempt: &Attempt) -> Option<Candidate> {
        let (_, known) = state.workspaces().find(|(id, _)| **id == attempt.id)?;
        if !matches!(known.status, Status::Active | Status::Integrating) {
            return None;
        }
        let passed = Turns::read(&attempt.folder).passed?;
        Some(Candidate {
            id: attempt.id.clone(),
            agent: attempt.agent.clone(),
            key: attempt.key.clone(),
            title: title_of(&attempt.task).to_owned(),
            run: self.run.clone(),
            terms: attempt.terms(),
            passed,
        })
    }

    /// Finds out about which merges a person is asked. A runner that was started anew learns it here.
    fn see_gates(&mut self, state: &State) {
        for attempt in self.attempts.values_mut() {
            let open = state.gates().find(|(_, gate)| gate.workspace.as_ref() == Some(&attempt.id));
            attempt.gate = open.map(|(id, _)| id.to_string());
        }
    }

    pub(super) fn merged(&mut self, result: Result<Vec<(WorkspaceId, Landed)>, Error>) {
        self.merging = false;
        for attempt in self.attempts.values_mut() {
            if attempt.job == Some(Job::Merging) {
                attempt.job = None;
            }
        }
        match result {
            Ok(landed) => {
                for (id, landed) in landed {
                    self.landed(&id, landed);
                }
            }
            Err(error) => {
                self.note(format!("merging failed: {}", error.message()));
                let later = Some(Instant::now() + Duration::from_secs(1));
                for attempt in self.attempts.values_mut() {
                    attempt.waits_until = attempt.waits_until.max(later);
                }
            }
        }
    }

    fn landed(&mut self, id: &WorkspaceId, landed: Landed) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        let task = attempt.key.clone();
        match landed {
            // The next round sees that its workspace is closed, and tells it.
            Landed::Merged(commit) => {
                let agent = attempt.agent.to_string();
                self.tell(RunEvent::Merged { task, agent, commit });
            }
            Landed::Gate(gate) => {
                attempt.gate = Some(gate.clone());
                self.tell(RunEvent::Gate { gate, task });
            }
            Landed::Held(reason) => {
                // Each time it is asked for in vain leaves an entry, so it is asked for less and less.
                let wait = HELD_WAIT * 2_u32.saturating_pow(attempt.held_up.min(5));
                attempt.held_up += 1;
                attempt.waits_until = Some(Instant::now() + wait);
                self.tell(RunEvent::Waiting { task, reason });
            }
            Landed::Later => attempt.waits_until = Some(Instant::now() + LATER_WAIT),
            Landed::Returned { evidence, conflicts } => {
                if let Err(error) = self.returned(id, &evidence, conflicts) {
                    self.note(format!("{task} could not be sent back: {}", error.message()));
                }
            }
        }
    }

    /// Sends work back to its agent. Work that was handed in already is revised in another attempt.
    fn returned(&mut self, id: &WorkspaceId, evidence: &str, conflicts: bool) -> Result<(), Error> {
        let state = self.shared.lead().present()?.state;
        let known = state.workspaces().find(|(own, _)| *own == id);
        if known.is_some_and(|(_, known)| known.status == Status::Integrating) {
            return self.revise(id, evidence);
        }
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(()) };
        let before = Turns::read(&attempt.folder);
        let joined = before.joined + u32::from(conflicts);
        // A conflict with others is not a failure of the agent, unless it happens again and again.
        let tries = before.tries + u32::from(!conflicts || joined > JOINED_MAX);
        let evidence = Some(evidence.to_owned());
        let turns = Turns { joined, tries, passed: None, evidence, ..before };
        turns.write(&attempt.folder)?;
        if conflicts {
            attempt.job = Some(Job::Joining);
            self.join(id);
        }
        Ok(())
    }

    /// Has work that was handed in done again.
    pub(super) fn revise(&self, id: &WorkspaceId, evidence: &str) -> Result<(), Error> {
        let decide = Decide {
            conflicts: Vec::new(),
            decision: Decision::Revise,
            merge: None,
            merged: None,
            reason: Some(Text::lossy(evidence)),
            strategy: None,
            workspace: id.clone(),
        };
        self.shared.lead().execute(Command::IntegrationDecide(decide)).map(drop)
    }

    /// Merges the work of others into the worktree of an attempt, on a thread, so that its agent can
    /// resolve the conflicts there.
    fn join(&self, id: &WorkspaceId) {
        let Some(attempt) = self.attempts.get(id) else { return };
        let (shared, send, id) = (self.shared.clone(), self.send.clone(), id.clone());
        let (place, key) = (attempt.place.clone(), attempt.key.clone());
        std::thread::spawn(move || {
            let joined = match place {
                Some(place) => join(&shared, &place.tree, &key),
                None => Ok(Joined::Conflicts),
            };
            // The run may be over.
            drop(send.send(Report::Joined(id, joined)));
        });
    }

    pub(super) fn joined(&mut self, id: &WorkspaceId, result: Result<Joined, Error>) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        attempt.job = None;
        let judged = match result {
            Ok(Joined::Conflicts) => Ok(()),
            // What it conflicted with did not get onto the branch: nothing is left for the agent to do.
            Ok(Joined::Clean) => {
                let turn = Turns::read(&attempt.folder).judged;
                self.judge(id, turn, String::new())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = judged {
            self.note(format!("{}: {}", self.key(id), error.message()));
        }
    }

    /// Ends an attempt whose workspace is over: its process, then its worktree.
    pub(super) fn end(&mut self, id: &WorkspaceId, known: &Workspace) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(()) };
        if let Process::Running(_) = turn::status(&attempt.folder)? {
            self.stop(id);
            return Ok(());
        }
        attempt.job = Some(Job::Clearing);
        let was_asked = attempt.gate.take().is_some();
        let (task, agent) = (attempt.key.clone(), attempt.agent.to_string());
        if was_asked && known.status == Status::Closed {
            // It was merged when a person approved it. Nothing else is merged while one is asked.
            let (_, branch) = target(&self.shared.lead().present()?.state)?;
            self.tell(RunEvent::Merged { task, agent, commit: branch.tip.to_string() });
        }
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let (shared, send, id) = (self.shared.clone(), self.send.clone(), id.clone());
        let (name, is_merged) = (attempt.tree_name(), known.status == Status::Closed);
        let branch = known.branch.as_ref().map(|own| own.name.to_string());
        std::thread::spawn(move || {
            let cleared = clear(&shared, &id, &name, branch.filter(|_| is_merged).as_deref());
            // The run may be over.
            drop(send.send(Report::Cleared(id, cleared)));
        });
        Ok(())
    }

    pub(super) fn cleared(&mut self, id: &WorkspaceId, result: Result<Option<String>, Error>) {
        let Some(attempt) = self.attempts.remove(id) else { return };
        let rescue = match result {
            Ok(rescue) => rescue,
            Err(error) => {
                self.note(format!("the worktree of {} stays: {}", attempt.key, error.message()));
                None
            }
        };
        let Ok(present) = self.shared.lead().present() else { return };
        let known = present.state.workspaces().find(|(own, _)| *own == id);
        let Some((_, known)) = known.filter(|(_, known)| known.status == Status::Failed) else {
            return;
        };
        let ended = known.ended.map(|own| own.as_str().to_owned()).unwrap_or_default();
        let reason = known.reason.as_ref().map_or(ended, ToString::to_string);
        let (task, agent) = (attempt.key, attempt.agent.to_string());
        self.tell(RunEvent::Failed { task, agent, reason, rescue });
    }

    /// Lets tasks be tried again that others can do, or that were to be revised.
    pub(super) fn retry_failed(
        &mut self,
        lead: &ProjectContext,
        state: &State,
    ) -> Result<(), Error> {
        let failed: Vec<(String, Retry)> = self
            .tasks(state)
            .into_iter()
            .filter(|plan| plan.task_state() == Some(TaskState::Failed))
            .filter(|plan| self.is_to_be_retried(state, plan))
            .map(|plan| (key_of(plan), Retry { task: plan.task_id() }))
            .collect();
        for (task, retry) in failed {
            match lead.execute(Command::TaskRetry(retry)) {
                Ok(_) => self.tell(RunEvent::Retried { task }),
                // Another runner was faster.
                Err(error) if error.rule() == Rule::TaskStep => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether a failed task is tried again by itself.
    pub(super) fn is_to_be_retried(&self, state: &State, plan: &Record) -> bool {
        let history = plan.task().map(|part| part.history.as_slice()).unwrap_or_default();
        let last = history.last().and_then(|id| state.workspaces().find(|(own, _)| *own == id));
        let ended = last.and_then(|(_, known)| known.ended);
        match ended {
            Some(Trigger::RevisionRequired) => history.len() < revisions_max(plan),
            // Somebody ordered it to end.
            Some(
                Trigger::AbortedByCoordinator
                | Trigger::AbortedByHuman
                | Trigger::BatchAbort
                | Trigger::Rejected
                | Trigger::GateRejectedByHuman
                | Trigger::SystemShutdown,
            )
            | None => false,
            Some(_) => self.others_can(plan, &Self::kinds_that_tried(state, plan)),
        }
    }

    /// Ends the run if everything is merged, and says how it went.
    pub(super) fn finish(
        &mut self,
        lead: &ProjectContext,
        stopped: Option<String>,
    ) -> Result<Finished, Error> {
        let _lock = queue::wait_lock(&self.shared)?;
        let state = lead.present()?.state;
        if state.root() != Some(&self.root) {
            return self.finished_elsewhere(&state);
        }
        let mut finished = self.result(&state, stopped);
        let branch = queue::settle(&self.shared)?;
        (finished.branch, finished.commit) = (branch.name.to_string(), branch.tip.to_string());
        if let Err(error) = sweep(&self.shared, &state) {
            self.note(format!("a worktree stays: {}", error.message()));
        }
        if finished.is_complete() {
            self.land(lead, &mut finished)?;
            lead.execute(Command::RunEnd(End { force: false, reason: None }))?;
        }
        Ok(finished)
    }

    /// The tasks by what became of them, and what they cost.
    fn result(&self, state: &State, stopped: Option<String>) -> Finished {
        let mut finished = Finished { run: self.run.clone(), stopped, ..Finished::default() };
        for plan in self.tasks(state) {
            let list = match plan.task_state() {
                Some(TaskState::Integrated | TaskState::Done) => &mut finished.merged,
                Some(TaskState::Failed) => &mut finished.failed,
                Some(TaskState::Cancelled) => &mut finished.cancelled,
                // Any other task was not done.
                _ => &mut finished.left,
            };
            list.push(key_of(plan));
        }
        let own = state.workspaces().filter(|(_, known)| known.charter.root == self.root);
        for (_, known) in own {
            finished.tokens = finished.tokens.saturating_add(known.meter.tokens);
            finished.cost = finished.cost.saturating_add(known.meter.cost);
        }
        finished
    }

    /// Says how a run went that another runner has ended.
    pub(super) fn finished_elsewhere(&self, state: &State) -> Result<Finished, Error> {
        let mut finished = self.result(state, None);
        let known = state.workspaces().find(|(id, _)| **id == self.root);
        let branch = known.and_then(|(_, known)| known.branch.clone());
        let branch = branch.ok_or_else(|| Error::defect("the run was on no branch"))?;
        (finished.branch, finished.commit) = (branch.name.to_string(), branch.tip.to_string());
        Ok(finished)
    }

    /// Puts the result onto the branch that was asked for.
    fn land(&self, lead: &ProjectContext, finished: &mut Finished) -> Result<(), Error> {
        let Some(into) = self.into.clone() else { return Ok(()) };
        let repository = self.shared.repository();
        let branch = BranchName::new(&into).map_err(git)?;
        let to = ObjectId::new(&finished.commit).map_err(git)?;
        let Some(from) = repository.refs().read(&branch.full()).map_err(git)? else {
            finished.not_landed = Some(format!("there is no branch {into}"));
            return Ok(());
        };
        match repository.fast_forward(&branch, &from, &to).map_err(git)? {
            FastForward::Refused(refusal) => {
                let text = format!(
                    "{into} was not moved: {refusal}; {}; the result is on {}",
                    refusal.hint(),
                    finished.branch
                );
                finished.not_landed = Some(text);
                Ok(())
            }
            FastForward::Done => {
                let merge = Merge {
                    branch: RecordedBranch::new(&into).map_err(Error::unreadable)?,
                    commit: commit_id(&to)?,
                    epoch: None,
                    onto: commit_id(&from)?,
                };
                let land = Land { merge, workspace: self.root.clone() };
                lead.execute(Command::RunLand(land))?;
                finished.landed = Some(into);
                Ok(())
            }
        }
    }
}

/// The outcome of merging the work of others into a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// Nothing is to be resolved.
    Clean,
    /// There are conflicts for the agent to resolve.
    Conflicts,
}

/// Merges the tip of the run into a worktree.
fn join(shared: &Shared, tree: &AttemptTree, key: &str) -> Result<Joined, Error> {
    let state = shared.lead().present()?.state;
    let (_, branch) = target(&state)?;
    let message = Message::new(&format!("{key}: work so far"));
    tree.checkout().commit_all(&message, None).map_err(git)?;
    let message = Message::new(&format!("Merge {} into {key}", branch.name));
    match tree.checkout().merge_in(&object(&branch.tip)?, &message).map_err(git)? {
        MergedIn::AlreadyIn | MergedIn::Clean { .. } => Ok(Joined::Clean),
        MergedIn::Conflicts { .. } => Ok(Joined::Conflicts),
    }
}

/// Clears the worktree of an attempt away. What is not committed is kept under a ref, whose name is
/// returned; the branch of merged work goes, since the merge has it.
fn clear(
    shared: &Shared,
    id: &WorkspaceId,
    name: &str,
    merged: Option<&str>,
) -> Result<Option<String>, Error> {
    let name = TreeName::new(name).map_err(git)?;
    if let Some(tree) = shared.trees.open(&name).map_err(|error| workshop(&error))? {
        if merged.is_some() {
            adopt_merged(shared, id, &tree);
        }
        match shared.trees.retire(&name) {
            Ok(rescued) => {
                if let Some(rescue) = rescued.rescue {
                    note_left(&shared.attempt_folder(id), rescue.reference.as_str())?;
                }
                if !shared.settings.reuse {
                    shared.trees.remove(&name).map_err(|error| workshop(&error))?;
                }
            }
            // Another runner was faster.
            Err(TreeError::Unknown { .. }) => {}
            Err(error) => return Err(workshop(&error)),
        }
    }
    if let Some(branch) = merged {
        let branch = BranchName::new(branch).map_err(git)?;
        let refs = shared.repository().refs();
        if let Some(at) = refs.read(&branch.full()).map_err(git)? {
            refs.delete(&branch.full(), &at).map_err(git)?;
        }
    }
    Ok(left_by(shared, id))
}

/// Puts a worktree on the commit that was merged if its files are just that, so that nothing of them has
/// to be rescued.
fn adopt_merged(shared: &Shared, id: &WorkspaceId, tree: &AttemptTree) {
    let passed = Turns::read(&shared.attempt_folder(id)).passed;
    let Some(commit) = passed.and_then(|passed| ObjectId::new(&passed.commit).ok()) else {
        return;
    };
    if let Err(error) = tree.checkout().adopt(&commit) {
        // Its files are rescued instead, although they are merged.
        tracing::warn!(%error, "a merged worktree cannot be put on its commit");
    }
}

/// Clears away worktrees of attempts that ended while nobody looked.
pub(crate) fn sweep(shared: &Shared, state: &State) -> Result<(), Error> {
    for entry in shared.trees.list().map_err(|error| workshop(&error))? {
        if entry.state != TreeState::Ready {
            continue;
        }
        let own = state.workspaces().find(|(_, known)| {
            known.branch.as_ref().is_some_and(|own| own.name.as_str() == entry.branch.as_str())
        });
        if let Some((id, known)) = own.filter(|(_, known)| known.status.is_terminal()) {
            let merged = (known.status == Status::Closed).then_some(entry.branch.as_str());
            clear(shared, id, entry.name.as_str(), merged)?;
        }
    }
    shared.trees.sweep().map_err(|error| workshop(&error))?;
    Ok(())
}
