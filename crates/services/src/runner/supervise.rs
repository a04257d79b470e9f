//! The scheduler: a loop that brings the trail, git and the processes together.
//!
//! It has no state of its own. Each round looks at the trail (which workspaces there are, and how far
//! they are), at the processes and at the files of attempts, and does what follows: prepare, start,
//! judge, merge, stop, clear away. What takes long runs on a thread and reports back. A process that is
//! killed at any point is replaced by another one that finds the same things and goes on.

use althing_kernel::records::field::Few;
use althing_kernel::records::next::{Next, would_get};
use althing_kernel::records::{Kind, Record, RecordId};
use althing_kernel::run::Hold;
use althing_kernel::task::State as TaskState;
use althing_kernel::text::Text;
use althing_kernel::workspace::Status;
use althing_kernel::{Command, Principal, Reply, Rule, State, WorkspaceId};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, Place, key_of, write_whole};
use super::begin::Begun;
use super::conclude::Joined;
use super::event::{Finished, RunEvent};
use super::evidence::Judgement;
use super::overview::end_idle_processes;
use super::prepare::{run_name, target};
use super::queue::Landed;
use super::settings::Options;
use super::shared::Shared;
use super::team::Team;
use crate::context::ProjectContext;
use crate::error::{Error, ErrorKind};

/// How often it looks even if nothing happens.
const LOOK: Duration = Duration::from_millis(250);
/// How long the store may be out of reach before the run gives up.
const PATIENCE: Duration = Duration::from_mins(2);

/// Something that a thread reports.
pub(super) enum Report {
    /// Something may have happened: an entry of the trail, the end of a process.
    News,
    /// A worktree is there, or cannot be made.
    Prepared(WorkspaceId, Result<Box<Place>, Error>),
    /// The work of a turn was looked at.
    Judged(WorkspaceId, u32, Result<Judgement, Error>),
    /// The work of others was merged into a worktree.
    Joined(WorkspaceId, Result<Joined, Error>),
    /// The merge queue has done a round.
    Queue(Result<Vec<(WorkspaceId, Landed)>, Error>),
    /// A process was stopped.
    Stopped(WorkspaceId, Result<(), Error>),
    /// A worktree was cleared away. What it left is kept under this name.
    Cleared(WorkspaceId, Result<Option<String>, Error>),
}

/// The scheduler of a run.
pub struct Supervisor<'s> {
    pub(super) shared: Shared,
    pub(super) team: Team,
    pub(super) root: WorkspaceId,
    pub(super) run: String,
    pub(super) into: Option<String>,
    resumed: bool,
    pub(super) attempts: BTreeMap<WorkspaceId, Attempt>,
    /// Whether a thread merges.
    pub(super) merging: bool,
    pub(super) send: Sender<Report>,
    receive: Receiver<Report>,
    sink: &'s dyn Fn(RunEvent),
    is_stopped: &'s dyn Fn() -> bool,
    /// Why something could not be done, told once.
    told: Option<String>,
}

impl<'s> Supervisor<'s> {
    /// Takes the slots for a team.
    pub fn new(
        shared: &Shared,
        begun: &Begun,
        options: &Options,
        sink: &'s dyn Fn(RunEvent),
        is_stopped: &'s dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let team = Team::gather(options, &shared.settings, &shared.folder())?;
        let (send, receive) = mpsc::channel();
        let into = remembered_branch(shared, &begun.root, options.into.as_deref())?;
        Ok(Supervisor {
            shared: shared.clone(),
            team,
            root: begun.root.clone(),
            run: run_name(&begun.root),
            into,
            resumed: begun.resumed,
            attempts: BTreeMap::new(),
            merging: false,
            send,
            receive,
            sink,
            is_stopped,
            told: None,
        })
    }

    /// The event that the run begins or goes on.
    pub fn started(&self) -> Result<RunEvent, Error> {
        let state = self.shared.lead().present()?.state;
        let (_, branch) = target(&state)?;
        Ok(RunEvent::Started {
            run: self.run.clone(),
            branch: branch.name.to_string(),
            commit: branch.tip.to_string(),
            tasks: self.tasks(&state).len(),
            resumed: self.resumed,
        })
    }

    pub(super) fn tell(&self, event: RunEvent) {
        (self.sink)(event);
    }

    /// Tells something, unless it was the last thing told.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.told.as_ref() != Some(&text) {
            self.tell(RunEvent::Note { text: text.clone() });
            self.told = Some(text);
        }
    }

    /// Runs until everything is merged, nothing can go on, or it is stopped.
    pub fn run(&mut self) -> Result<Finished, Error> {
        self.listen()?;
        // Agents of workspaces that ended while no runner was there are ended before anything else.
        end_idle_processes(&self.shared.lead())?;
        let mut trouble: Option<Instant> = None;
        loop {
            match self.round() {
                Ok(Some(finished)) => return Ok(finished),
                Ok(None) => trouble = None,
                // A full disk or a store out of reach may come back.
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    let since = *trouble.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE || (self.is_stopped)() {
                        return Err(error);
                    }
                    self.note(format!("cannot go on for now: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
            self.wait();
        }
    }

    /// Wakes up whenever the trail grows.
    fn listen(&self) -> Result<(), Error> {
        let engine = self.shared.lead().engine()?;
        let mut news = engine.subscribe(engine.world()?.seq())?;
        let send = self.send.clone();
        std::thread::spawn(move || {
            loop {
                match news.next(Duration::from_secs(1)) {
                    Ok(commits) if commits.is_empty() => {}
                    Ok(_) => drop(send.send(Report::News)),
                    Err(error) => {
                        tracing::debug!(%error, "the trail cannot be followed for now");
                        std::thread::sleep(Duration::from_secs(1));
                    }
                }
                // Nobody listens any more once the run is over.
                if send.send(Report::News).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Waits for the next report and takes all that are there.
    fn wait(&mut self) {
        let first = self.receive.recv_timeout(LOOK).ok();
        let rest: Vec<Report> = self.receive.try_iter().collect();
        for report in first.into_iter().chain(rest) {
            self.take(report);
        }
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::News => {}
            Report::Prepared(id, result) => self.prepared(&id, result),
            Report::Judged(id, turn, result) => self.judged(&id, turn, result),
            Report::Joined(id, result) => self.joined(&id, result),
            Report::Queue(result) => self.merged(result),
            Report::Stopped(id, result) => self.stopped(&id, result),
            Report::Cleared(id, result) => self.cleared(&id, result),
        }
    }

    /// Does everything that can be done now. Returns how the run ended, if it has.
    fn round(&mut self) -> Result<Option<Finished>, Error> {
        let lead = self.shared.lead();
        let engine = lead.engine()?;
        engine.record_lost()?;
        engine.record_due()?;
        let state = lead.present()?.state;
        if state.root() != Some(&self.root) {
            // Another runner has brought it to its end.
            return self.finished_elsewhere(&state).map(Some);
        }
        let hold = if (self.is_stopped)() { Hold::Now } else { self.hold(&state) };
        self.adopt(&state)?;
        let ids: Vec<WorkspaceId> = self.attempts.keys().cloned().collect();
        for id in ids {
            match self.look(&id, &state, hold) {
                // Somebody ended or changed it meanwhile; the next round sees how.
                Err(error) if error.kind() == ErrorKind::Refused => {
                    self.note(format!("{}: {}", self.key(&id), error.message()));
                }
                looked => looked?,
            }
        }
        if hold != Hold::Now {
            self.merge(&state)?;
        }
        if hold == Hold::None {
            self.retry_failed(&lead, &state)?;
            self.fill()?;
        }
        self.over(&lead, hold)
    }

    /// Whether the run gives out work.
    fn hold(&self, state: &State) -> Hold {
        let root = state.workspaces().find(|(id, _)| **id == self.root);
        root.map_or(Hold::Now, |(_, known)| known.hold)
    }

    /// The tasks of the run.
    pub(super) fn tasks<'t>(&self, state: &'t State) -> Vec<&'t Record> {
        let all = state.memory().newest(Kind::Plan, None);
        let mut own: Vec<&Record> = all.filter(|plan| self.is_of_run(state, plan)).collect();
        own.sort_by_key(|plan| (plan.created_seq, plan.id));
        own
    }

    fn is_of_run(&self, state: &State, plan: &Record) -> bool {
        let graph = plan.task().and_then(|part| part.graph.as_ref());
        let planned = graph.and_then(|graph| state.graphs().find(|(id, _)| *id == graph));
        let planned = planned.map(|(_, graph)| &graph.root);
        let history = plan.task().map(|part| part.history.as_slice()).unwrap_or_default();
        let tried = |id: &WorkspaceId| {
            let known = state.workspaces().find(|(own, _)| *own == id);
            known.is_some_and(|(_, known)| known.charter.root == self.root)
        };
        planned == Some(&self.root) || history.last().is_some_and(tried)
    }

    /// Takes over the workspaces of the run whose agents are slots of this process.
    fn adopt(&mut self, state: &State) -> Result<(), Error> {
        for (id, known) in state.workspaces() {
            let is_live = known.charter.root == self.root && !known.status.is_terminal();
            if !is_live || known.parent.is_none() || self.attempts.contains_key(id) {
                continue;
            }
            let Some(agent) = &known.agent else { continue };
            let slot = match self.team.slots.iter().position(|slot| slot.name == *agent) {
                Some(slot) => Some(slot),
                None => self.team.take_over(agent, &self.shared.settings, &self.shared.folder())?,
            };
            let folder = self.shared.attempt_folder(id);
            let own = slot.and_then(|slot| Attempt::of(state, id, known, slot, folder));
            if let Some(own) = own {
                self.attempts.insert(id.clone(), own);
            }
        }
        Ok(())
    }

    /// Gives every free slot a task, if one is ready for it.
    fn fill(&mut self) -> Result<(), Error> {
        for slot in 0..self.team.slots.len() {
            let own = &self.team.slots[slot];
            let is_busy = self.attempts.values().any(|attempt| attempt.slot == slot);
            if own.is_extra || is_busy || !self.team.kinds[own.kind].is_usable(Instant::now()) {
                continue;
            }
            let context = self.shared.agent(&own.name);
            let kind = self.team.kinds[own.kind].name.clone();
            let present = context.present()?;
            let able = self.shared.settings.abilities(&kind);
            let ask = Next {
                except: self.tried_by(&present.state, &kind),
                program: Some(Text::lossy(&kind)),
                role: able.role,
                skills: Few::new(able.skills).unwrap_or_default(),
                ..Next::default()
            };
            let who = Principal::Agent(own.name.clone());
            // Only tasks of the run are taken here; asking in vain would leave an entry each time.
            let ready = would_get(&present.state, present.now, &who, &ask);
            let of_run = |task: &RecordId| {
                let plan = present.state.memory().record(*task);
                plan.is_some_and(|plan| self.is_of_run(&present.state, plan))
            };
            if ready.as_ref().is_none_or(|task| !of_run(task)) {
                continue;
            }
            match context.execute(Command::WorkNext(ask)) {
                Ok(Reply::Next(_)) => self.adopt(&context.present()?.state)?,
                Ok(Reply::Gate(gate)) => {
                    let plan = ready.and_then(|task| present.state.memory().record(task));
                    let task = plan.map(key_of).unwrap_or_default();
                    let gate = gate.gate.to_string();
                    self.tell(RunEvent::Gate { gate, task });
                }
                Ok(other) => return Err(Error::unexpected(&other)),
                // Another runner was faster.
                Err(error) if matches!(error.rule(), Rule::NextReady | Rule::RunHolds) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The tasks that agents of a kind have tried in vain.
    fn tried_by(&self, state: &State, kind: &str) -> Few<RecordId, 500> {
        let tried = |plan: &&Record| {
            let kinds = Self::kinds_that_tried(state, plan);
            kinds.iter().any(|own| own == kind) && self.others_can(plan, &kinds)
        };
        let ids: Vec<RecordId> =
            self.tasks(state).into_iter().filter(tried).map(|plan| plan.id).collect();
        Few::new(ids).unwrap_or_default()
    }

    /// The kinds of agents whose attempts at a task failed by themselves.
    pub(super) fn kinds_that_tried(state: &State, plan: &Record) -> Vec<String> {
        let history = plan.task().map(|part| part.history.as_slice()).unwrap_or_default();
        let agents = history.iter().filter_map(|id| {
            let (_, known) = state.workspaces().find(|(own, _)| *own == id)?;
            let revised = known.ended == Some(althing_kernel::workspace::Trigger::RevisionRequired);
            known.agent.as_ref().filter(|_| !revised).map(ToString::to_string)
        });
        agents.filter_map(|agent| Some(agent.rsplit_once('-')?.0.to_owned())).collect()
    }

    /// Whether agents of another kind in the team can do a task.
    pub(super) fn others_can(&self, plan: &Record, tried: &[String]) -> bool {
        let terms = plan.terms().cloned().unwrap_or_default();
        self.team.kinds.iter().any(|kind| {
            kind.unusable.is_none()
                && !tried.contains(&kind.name)
                && kind.can_do(&terms, &self.shared.settings)
        })
    }

    /// Whether the run is over or cannot go on, and how.
    fn over(&mut self, lead: &ProjectContext, hold: Hold) -> Result<Option<Finished>, Error> {
        let is_idle = self.attempts.values().all(|attempt| attempt.job.is_none()) && !self.merging;
        let works = self.attempts.values().any(|attempt| attempt.gate.is_none());
        let rests =
            |state: &State| self.tasks(state).into_iter().all(|plan| !self.can_go_on(state, plan));
        if hold != Hold::None {
            let is_quiet =
                is_idle && (hold == Hold::Drain && !works || hold == Hold::Now && !self.any_runs());
            return if is_quiet {
                let stopped = Some("it is on hold".to_owned());
                self.finish(lead, stopped).map(Some)
            } else {
                Ok(None)
            };
        }
        let state = lead.present()?.state;
        if let Some(paused) = self.only_paused(&state).filter(|_| is_idle) {
            return self.finish(lead, Some(paused)).map(Some);
        }
        if !self.attempts.is_empty() || !is_idle || !rests(&state) {
            return Ok(None);
        }
        let unusable = self.team.kinds.iter().all(|kind| kind.unusable.is_some());
        let why = self.team.kinds.iter().find_map(|kind| kind.unusable.clone());
        self.finish(lead, why.filter(|_| unusable)).map(Some)
    }

    /// The paused tasks, in words, if nothing but them is left to be done.
    fn only_paused(&self, state: &State) -> Option<String> {
        let is_paused = |id: &WorkspaceId| {
            let known = state.workspaces().find(|(own, _)| *own == id);
            known.is_some_and(|(_, known)| known.status == Status::Suspended)
        };
        if self.attempts.is_empty() || !self.attempts.keys().all(is_paused) {
            return None;
        }
        let is_ready = |plan: &&Record| {
            plan.task_state() == Some(TaskState::Pending)
                && plan.fields.depends_on.iter().all(|id| {
                    let before = state.memory().record(*id).and_then(Record::task_state);
                    before.is_none_or(|before| before.is_over() && before != TaskState::Cancelled)
                })
        };
        if self.tasks(state).iter().any(is_ready) {
            return None;
        }
        let keys: Vec<&str> = self.attempts.values().map(|own| own.key.as_str()).collect();
        let keys = keys.join(", ");
        Some(format!("only paused tasks are left: {keys}; `althing resume TASK` lets them go on"))
    }

    /// Whether somebody may still do something about a task: it waits for approval, for a worker of
    /// this run, or for a task of which that is true.
    fn can_go_on(&self, state: &State, plan: &Record) -> bool {
        let Some(now) = plan.task_state() else { return false };
        let waits = || {
            plan.fields.depends_on.iter().all(|id| {
                let before = state.memory().record(*id);
                before.is_none_or(|before| {
                    let is_over = before.task_state().is_some_and(TaskState::is_over);
                    let cancelled = before.task_state() == Some(TaskState::Cancelled);
                    (is_over && !cancelled) || self.can_go_on(state, before)
                })
            })
        };
        match now {
            TaskState::Draft => {
                state.gates().any(|(_, gate)| gate.task.as_ref() == Some(&plan.task_id()))
            }
            TaskState::Pending => self.others_can(plan, &[]) && waits(),
            TaskState::Assigned
            | TaskState::InProgress
            | TaskState::Completed
            | TaskState::Blocked => true,
            TaskState::Failed => self.is_to_be_retried(state, plan),
            TaskState::Integrated | TaskState::Done | TaskState::Cancelled => false,
        }
    }

    /// The name of a task's key, for messages.
    pub(super) fn key(&self, id: &WorkspaceId) -> String {
        self.attempts.get(id).map(|own| key_of(&own.task)).unwrap_or_default()
    }
}

/// The branch that gets the result: the one that is asked for now, or was when the run was begun.
fn remembered_branch(
    shared: &Shared,
    root: &WorkspaceId,
    asked: Option<&str>,
) -> Result<Option<String>, Error> {
    let path = shared.attempt_folder(root).join("into");
    if let Some(asked) = asked {
        write_whole(&path, asked.as_bytes())?;
        return Ok(Some(asked.to_owned()));
    }
    match std::fs::read_to_string(&path) {
        Ok(branch) => Ok(Some(branch)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable(format!("{}: {error}", path.display()))),
    }
}
