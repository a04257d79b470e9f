//! What the scheduler does for one attempt: from its worktree to work that can be merged.

use althing_kernel::run::Hold;
use althing_kernel::signal::{Emit, SignalType};
use althing_kernel::text::Text;
use althing_kernel::workspace::process::Outcome;
use althing_kernel::workspace::{Status, Workspace};
use althing_kernel::{Command, Rule, State, WorkspaceId};
use althing_workshop::agents::{Follower, Usage, Verdict, verdict};
use althing_workshop::git::message::Message;
use althing_workshop::git::ref_name::RefName;
use althing_workshop::process::{self, Ended, Lost, Running, Status as Process};
use std::time::{Duration, Instant};

use super::attempt::{Job, Listening, Place, Turns, title_of};
use super::event::RunEvent;
use super::evidence::{Judged, Judgement};
use super::prepare::{self, git};
use super::supervise::{Report, Supervisor};
use super::turn::{self, Over, Turn};
use crate::error::Error;

/// How often a process may be lost sight of before its attempt fails.
const LOST_MAX: u32 = 5;

impl Supervisor<'_> {
    /// Does the next thing for an attempt.
    pub(super) fn look(
        &mut self,
        id: &WorkspaceId,
        state: &State,
        hold: Hold,
    ) -> Result<(), Error> {
        let known = state.workspaces().find(|(own, _)| *own == id).map(|(_, known)| known.clone());
        let (Some(known), Some(attempt)) = (known, self.attempts.get(id)) else { return Ok(()) };
        if attempt.job.is_some() {
            return Ok(());
        }
        if known.status.is_terminal() {
            return self.end(id, &known);
        }
        let is_moved = known.agent.as_ref() != Some(&attempt.agent);
        match known.status {
            _ if is_moved => self.let_go(id, &known),
            Status::Suspended | Status::Migrating => self.pause(id, &known),
            Status::Active | Status::Blocked => self.go_on(id, &known, hold),
            Status::Integrating => self.handed_in(id, &known, hold),
            // The merge queue goes on with these, and an idle one has not taken its mail.
            Status::Conflicted | Status::Closed | Status::Failed => Ok(()),
            Status::Idle => self.take_mail(id),
        }
    }

    /// Judges work that its agent handed in by itself, once the agent has ended. What does not pass
    /// is done again in another attempt. Work that passed is the merge queue's.
    fn handed_in(&mut self, id: &WorkspaceId, known: &Workspace, hold: Hold) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let turns = Turns::read(&attempt.folder);
        if turns.passed.is_some() || attempt.waits(Instant::now()) {
            return Ok(());
        }
        let ended = match turn::status(&attempt.folder)? {
            Process::Running(_) if hold == Hold::Now => {
                self.stop(id);
                return Ok(());
            }
            Process::Running(running) => return self.hear(id, known, &running),
            Process::Ended(ended) => ended,
            Process::Lost(lost) if !lost.left.is_empty() => {
                self.stop(id);
                return Ok(());
            }
            Process::NotStarted | Process::Lost(_) => {
                return self.revise(id, "Its process was lost sight of.");
            }
        };
        let verdict = self.record_end(id, known, &ended)?;
        match (turns.evidence, verdict) {
            (Some(evidence), _) if turns.judged == ended.turn => self.revise(id, &evidence),
            (_, Verdict::Done { text }) => self.judge(id, ended.turn, text.unwrap_or_default()),
            _ => self.revise(id, "It was handed in, and its agent did not come to an end."),
        }
    }

    /// Takes the mail of a workspace that somebody assigned by hand, which starts it.
    fn take_mail(&mut self, id: &WorkspaceId) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let take = althing_kernel::envelope::inbox::Take { max: None, workspace: Some(id.clone()) };
        self.shared.agent(&attempt.agent).execute(Command::InboxTake(take)).map(drop)
    }

    /// Stops the process of a workspace that another agent has now.
    fn let_go(&mut self, id: &WorkspaceId, known: &Workspace) -> Result<(), Error> {
        self.pause(id, known)?;
        let is_over = self.attempts.get(id).is_some_and(|own| own.job.is_none());
        if is_over {
            self.attempts.remove(id);
        }
        Ok(())
    }

    /// Stops the process of a workspace that is not to go on for now.
    fn pause(&mut self, id: &WorkspaceId, known: &Workspace) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        match turn::status(&attempt.folder)? {
            Process::Running(_) => self.stop(id),
            Process::Ended(ended) => drop(self.record_end(id, known, &ended)?),
            Process::NotStarted | Process::Lost(_) => {}
        }
        Ok(())
    }

    /// Goes on with an attempt whose agent is to work.
    fn go_on(&mut self, id: &WorkspaceId, known: &Workspace, hold: Hold) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let now = Instant::now();
        let kind = self.team.slots[attempt.slot].kind;
        match turn::status(&attempt.folder)? {
            Process::Running(_) if hold == Hold::Now => {
                self.stop(id);
                Ok(())
            }
            Process::Running(running) => self.hear(id, known, &running),
            Process::Ended(ended) => self.after(id, known, &ended, hold),
            Process::Lost(lost) => self.lost(id, known, &lost),
            Process::NotStarted if hold == Hold::Now || attempt.waits(now) => Ok(()),
            Process::NotStarted if self.team.kinds[kind].unusable.is_some() => {
                let reason = self.team.kinds[kind].unusable.clone().unwrap_or_default();
                self.give_up(id, &reason);
                Ok(())
            }
            Process::NotStarted if !self.team.kinds[kind].is_usable(now) => Ok(()),
            Process::NotStarted => self.begin_turn(id, 1, None),
        }
    }

    /// Starts a turn of the agent, or makes its worktree first.
    fn begin_turn(
        &mut self,
        id: &WorkspaceId,
        number: u32,
        evidence: Option<&str>,
    ) -> Result<(), Error> {
        let place = self.attempts.get(id).and_then(|own| own.place.clone());
        let Some(place) = place else {
            self.prepare(id);
            return Ok(());
        };
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let slot = &self.team.slots[attempt.slot];
        let kind = &self.team.kinds[slot.kind];
        let state = self.shared.lead().present()?.state;
        let known = state.workspaces().find(|(own, _)| *own == id);
        let before = known.and_then(|(_, known)| known.process.clone());
        let same = before.filter(|before| before.program.as_str() == kind.name);
        let session = same.and_then(|before| before.session).map(|own| own.to_string());
        let turn = Turn {
            shared: &self.shared,
            attempt,
            kind,
            slot,
            run: &self.run,
            tree: &place.tree,
            session: session.clone(),
            evidence,
            number,
        };
        turn.start()?;
        turn::began(&self.shared.agent(&attempt.agent), id, &kind.name, session.as_deref())?;
        if number == 1 {
            self.tell(RunEvent::TaskStarted {
                task: attempt.key.clone(),
                attempt: attempt.number,
                agent: attempt.agent.to_string(),
                workspace: id.to_string(),
                folder: place.tree.path().display().to_string(),
            });
        }
        self.await_end(id);
        Ok(())
    }

    /// Makes the worktree of an attempt and writes its brief, on a thread.
    fn prepare(&mut self, id: &WorkspaceId) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        attempt.job = Some(Job::Preparing);
        let (shared, send, id) = (self.shared.clone(), self.send.clone(), id.clone());
        let (name, task) = (attempt.tree_name(), attempt.task.clone());
        std::thread::spawn(move || {
            let made = prepare::prepare(&shared, &id, &name).and_then(|place| {
                prepare::brief(&shared, &id, &task)?;
                Ok(Box::new(place))
            });
            // The run may be over.
            drop(send.send(Report::Prepared(id, made)));
        });
    }

    pub(super) fn prepared(&mut self, id: &WorkspaceId, result: Result<Box<Place>, Error>) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        attempt.job = None;
        match result {
            Ok(place) => attempt.place = Some(*place),
            Err(error) => {
                let reason = format!("its worktree cannot be made: {}", error.message());
                self.give_up(id, &reason);
            }
        }
    }

    /// Wakes up when a process is over.
    fn await_end(&self, id: &WorkspaceId) {
        let Some(attempt) = self.attempts.get(id) else { return };
        let (folder, send) = (attempt.folder.clone(), self.send.clone());
        std::thread::spawn(move || {
            if let Err(error) = process::wait(&folder) {
                tracing::warn!(%error, "a process cannot be waited for");
            }
            // The run may be over.
            drop(send.send(Report::News));
        });
    }

    /// Hears what a running agent says.
    fn hear(
        &mut self,
        id: &WorkspaceId,
        known: &Workspace,
        running: &Running,
    ) -> Result<(), Error> {
        let turn = running.turn;
        if !is_on_record(known, turn) {
            // The process that started it was killed before it could say so.
            let attempt = self.attempts.get(id);
            let kind = attempt.map(|own| self.team.slots[own.slot].kind);
            if let (Some(attempt), Some(kind)) = (attempt, kind) {
                let program = self.team.kinds[kind].name.clone();
                turn::began_once(&self.shared.agent(&attempt.agent), id, &program)?;
            }
        }
        if self.listen_to(id, turn, running.log_start.unwrap_or(0))? {
            self.await_end(id);
        }
        let silence = self.shared.settings.silence;
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(()) };
        let Some(listening) = attempt.listening.as_mut() else { return Ok(()) };
        let events = listening.follower.catch_up().map_err(git)?;
        if !events.is_empty() {
            listening.heard = Instant::now();
        }
        let progress = listening.follower.progress().clone();
        let line = progress.last_line.clone().unwrap_or_default();
        let said = (line != listening.line).then(|| line.clone());
        listening.line = line;
        let is_silent = listening.heard.elapsed() > silence;
        let (task, agent) = (attempt.key.clone(), attempt.agent.to_string());
        let tokens = progress.usage.input.saturating_add(progress.usage.output);
        self.put_on_meter(id, known, progress.usage)?;
        if let Some(line) = said.filter(|line| !line.is_empty()) {
            self.tell(RunEvent::Progress { task, agent, line, tokens });
        }
        if is_silent {
            let evidence =
                format!("You said nothing for {} s and were stopped.", silence.as_secs());
            self.note_failure(id, turn, &evidence)?;
            self.stop(id);
        }
        Ok(())
    }

    /// Listens to a turn from its beginning. Returns whether it was not listened to before.
    fn listen_to(&mut self, id: &WorkspaceId, turn: u32, log_start: u64) -> Result<bool, Error> {
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(false) };
        if attempt.listening.as_ref().is_some_and(|own| own.turn == turn) {
            return Ok(false);
        }
        let kind = &self.team.kinds[self.team.slots[attempt.slot].kind];
        let before: Usage = Turns::read(&attempt.folder).session.into();
        let follower = Follower::new(&attempt.folder, log_start, kind.format()?, before);
        let heard = Instant::now();
        attempt.listening = Some(Listening { turn, follower, heard, line: String::new() });
        Ok(true)
    }

    /// Puts what an attempt used on the meter, as far as it is not there yet.
    fn put_on_meter(
        &mut self,
        id: &WorkspaceId,
        known: &Workspace,
        used: Usage,
    ) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let turns = Turns::read(&attempt.folder);
        let tokens = turns.tokens.saturating_add(used.input).saturating_add(used.output);
        let cost = turns.cost.saturating_add(used.cost_microdollars.unwrap_or(0));
        let new =
            (tokens.saturating_sub(known.meter.tokens), cost.saturating_sub(known.meter.cost));
        match turn::meter(&self.shared.agent(&attempt.agent), id, new) {
            // The workspace ended meanwhile, by its budget or by order.
            Err(error) if matches!(error.rule(), Rule::Ended | Rule::StateAllows) => Ok(()),
            other => other,
        }
    }

    /// Goes on after a turn that ended.
    fn after(
        &mut self,
        id: &WorkspaceId,
        known: &Workspace,
        ended: &Ended,
        hold: Hold,
    ) -> Result<(), Error> {
        let verdict = self.record_end(id, known, ended)?;
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        if attempt.waits(Instant::now()) {
            return Ok(());
        }
        let turns = Turns::read(&attempt.folder);
        if turns.judged == ended.turn {
            return self.after_judgement(id, &turns, ended.turn, hold);
        }
        match verdict {
            Verdict::Done { text } => self.judge(id, ended.turn, text.unwrap_or_default()),
            Verdict::RateLimited { retry } => {
                let rest = turn::rest(retry, self.shared.lead().now());
                self.rest(id, rest);
                let Some(attempt) = self.attempts.get_mut(id) else { return Ok(()) };
                // The turn after it comes when the rest is over.
                let next = Turns { judged: ended.turn, evidence: None, ..turns };
                next.write(&attempt.folder)
            }
            Verdict::Stopped => {
                let next = Turns { judged: ended.turn, evidence: None, passed: None, ..turns };
                let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
                next.write(&attempt.folder)
            }
            Verdict::TimedOut => self.note_failure(id, ended.turn, "Your time was over."),
            Verdict::Failed { reason } => {
                self.note_failure(id, ended.turn, &format!("You ended with a failure: {reason}"))
            }
            Verdict::AuthFailed { reason } | Verdict::CouldNotStart { reason } => {
                self.cannot_be_used(id, &reason);
                Ok(())
            }
        }
    }

    /// Goes on after a turn whose work was looked at.
    fn after_judgement(
        &mut self,
        id: &WorkspaceId,
        turns: &Turns,
        turn: u32,
        hold: Hold,
    ) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let kind = self.team.slots[attempt.slot].kind;
        if turns.passed.is_some() {
            // The merge queue goes on with it, which needs its worktree.
            if attempt.place.is_none() {
                return self.begin_turn(id, turn + 1, None);
            }
            return Ok(());
        }
        let tries_max = u32::from(attempt.terms().attempts());
        match &turns.evidence {
            Some(evidence) if turns.tries >= tries_max => {
                self.give_up(id, evidence);
                Ok(())
            }
            _ if hold == Hold::Now => Ok(()),
            _ if self.team.kinds[kind].unusable.is_some() => {
                let reason = self.team.kinds[kind].unusable.clone().unwrap_or_default();
                self.give_up(id, &reason);
                Ok(())
            }
            _ if !self.team.kinds[kind].is_usable(Instant::now()) => Ok(()),
            Some(evidence) => {
                let (task, agent) = (attempt.key.clone(), attempt.agent.to_string());
                let evidence = evidence.clone();
                if attempt.place.is_some() {
                    let event = RunEvent::Returned { task, agent, evidence: evidence.clone() };
                    self.tell(event);
                }
                self.begin_turn(id, turn + 1, Some(&evidence))
            }
            None => self.begin_turn(id, turn + 1, None),
        }
    }

    /// Records how a turn ended, once, and returns it.
    fn record_end(
        &mut self,
        id: &WorkspaceId,
        known: &Workspace,
        ended: &Ended,
    ) -> Result<Verdict, Error> {
        if let Some((turn, verdict)) = self.attempts.get(id).and_then(|own| own.over.clone())
            && turn == ended.turn
        {
            return Ok(verdict);
        }
        self.listen_to(id, ended.turn, ended.log_start)?;
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(Verdict::Stopped) };
        let kind = &self.team.kinds[self.team.slots[attempt.slot].kind];
        let (format, program) = (kind.format()?, kind.name.clone());
        let Some(listening) = attempt.listening.as_mut() else { return Ok(Verdict::Stopped) };
        listening.follower.finish().map_err(git)?;
        let mut progress = listening.follower.progress().clone();
        let verdict = verdict(format, &progress, ended);
        if let Some(place) = &attempt.place {
            let before = Turns::read(&attempt.folder).session.into();
            turn::add_recorded(kind, place.tree.path(), ended, before, &mut progress);
        }
        self.put_on_meter(id, known, progress.usage)?;
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(verdict) };
        let mut turns = Turns::read(&attempt.folder);
        turns.count(ended.turn, progress.usage);
        turns.write(&attempt.folder)?;
        let (outcome, reason) = turn::outcome_of(&verdict);
        let rests = match &verdict {
            Verdict::RateLimited { retry } => Some(turn::rest(*retry, self.shared.lead().now())),
            _ => None,
        };
        let context = self.shared.agent(&attempt.agent);
        if !is_on_record(known, ended.turn) {
            turn::began_once(&context, id, &program)?;
        }
        let over = Over {
            outcome,
            exit_code: exit_code(ended),
            program: &program,
            reason,
            session: progress.session,
            rests,
            took: Some(Duration::from_millis(ended.wall_ms)),
        };
        over.record_once(&context, id)?;
        attempt.over = Some((ended.turn, verdict.clone()));
        Ok(verdict)
    }

    /// Goes on after a process that nobody saw end.
    fn lost(&mut self, id: &WorkspaceId, known: &Workspace, lost: &Lost) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        if !lost.left.is_empty() {
            self.stop(id);
            return Ok(());
        }
        let context = self.shared.agent(&attempt.agent);
        let program = self.team.kinds[self.team.slots[attempt.slot].kind].name.clone();
        if !is_on_record(known, lost.turn) {
            turn::began_once(&context, id, &program)?;
        }
        {
            let over = Over {
                outcome: Outcome::Lost,
                exit_code: None,
                program: &program,
                reason: None,
                session: None,
                rests: None,
                took: None,
            };
            over.record_once(&context, id)?;
        }
        let mut turns = Turns::read(&attempt.folder);
        turns.lost += 1;
        turns.write(&attempt.folder)?;
        if turns.lost > LOST_MAX {
            self.give_up(id, "its process was lost sight of again and again");
            return Ok(());
        }
        self.begin_turn(id, lost.turn + 1, None)
    }

    /// Looks at the work of a turn, on a thread.
    pub(super) fn judge(&mut self, id: &WorkspaceId, turn: u32, said: String) -> Result<(), Error> {
        let place = self.attempts.get(id).and_then(|own| own.place.clone());
        let Some(place) = place else {
            self.prepare(id);
            return Ok(());
        };
        let Some(attempt) = self.attempts.get_mut(id) else { return Ok(()) };
        attempt.job = Some(Job::Judging);
        let terms = attempt.terms();
        let reference = format!("refs/althing/checkpoints/{id}");
        let reference = RefName::new(&reference).map_err(git)?;
        let message = Message::new(&format!("{}: {}", attempt.key, title_of(&attempt.task)))
            .trailer("Althing-Task", &attempt.key)
            .trailer("Althing-Agent", attempt.agent.as_str())
            .trailer("Althing-Workspace", id.as_str())
            .trailer("Althing-Run", &self.run);
        let agent = attempt.agent.clone();
        let (shared, send, id) = (self.shared.clone(), self.send.clone(), id.clone());
        std::thread::spawn(move || {
            let judged = Judged {
                shared: &shared,
                tree: &place.tree,
                base: &place.base,
                terms: &terms,
                reference,
                message,
                said,
                agent,
            };
            // The run may be over.
            drop(send.send(Report::Judged(id, turn, judged.judge())));
        });
        Ok(())
    }

    pub(super) fn judged(&mut self, id: &WorkspaceId, turn: u32, result: Result<Judgement, Error>) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        attempt.job = None;
        let noted = match result {
            Ok(Judgement::Passed(passed)) => {
                let turns = Turns {
                    judged: turn,
                    passed: Some(passed.clone()),
                    evidence: None,
                    ..Turns::read(&attempt.folder)
                };
                let event = RunEvent::Passed {
                    task: attempt.key.clone(),
                    agent: attempt.agent.to_string(),
                    files: passed.files,
                };
                let written = turns.write(&attempt.folder);
                self.tell(event);
                written
            }
            Ok(Judgement::NotYet(evidence)) => self.note_failure(id, turn, &evidence),
            Err(error) => {
                attempt.waits_until = Some(Instant::now() + Duration::from_secs(1));
                Err(error)
            }
        };
        if let Err(error) = noted {
            self.note(format!("{} could not be judged: {}", self.key(id), error.message()));
        }
    }

    /// Notes that a turn did not pass.
    pub(super) fn note_failure(
        &mut self,
        id: &WorkspaceId,
        turn: u32,
        evidence: &str,
    ) -> Result<(), Error> {
        let Some(attempt) = self.attempts.get(id) else { return Ok(()) };
        let before = Turns::read(&attempt.folder);
        let turns = Turns {
            judged: turn,
            tries: before.tries + 1,
            passed: None,
            evidence: Some(evidence.to_owned()),
            ..before
        };
        turns.write(&attempt.folder)
    }

    /// Lets agents of a kind rest, because their provider refuses.
    fn rest(&mut self, id: &WorkspaceId, rest: Duration) {
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        let until = Instant::now() + rest;
        attempt.waits_until = Some(until);
        let kind = &mut self.team.kinds[self.team.slots[attempt.slot].kind];
        kind.rests_until = kind.rests_until.max(Some(until));
        let agent = kind.name.clone();
        self.tell(RunEvent::Paused { agent, seconds: rest.as_secs() });
    }

    /// Fails an attempt because agents of its kind cannot work at all.
    fn cannot_be_used(&mut self, id: &WorkspaceId, reason: &str) {
        let Some(attempt) = self.attempts.get(id) else { return };
        let kind = &mut self.team.kinds[self.team.slots[attempt.slot].kind];
        let text = format!("{} cannot be used: {reason}", kind.name);
        kind.unusable = Some(text.clone());
        self.note(text.clone());
        self.give_up(id, &text);
    }

    /// Fails an attempt in its agent's name.
    pub(super) fn give_up(&mut self, id: &WorkspaceId, reason: &str) {
        let Some(attempt) = self.attempts.get(id) else { return };
        let emit = Emit {
            budget_warning: None,
            reason: Some(Text::lossy(reason)),
            about: None,
            signal: SignalType::Failed,
            workspace: Some(id.clone()),
        };
        let agent = self.shared.agent(&attempt.agent);
        if let Err(error) = agent.execute(Command::SignalEmit(emit)) {
            self.note(format!("{} could not be failed: {}", self.key(id), error.message()));
        }
    }

    /// Ends the process of an attempt, on a thread.
    pub(super) fn stop(&mut self, id: &WorkspaceId) {
        let grace = self.shared.settings.grace;
        let Some(attempt) = self.attempts.get_mut(id) else { return };
        attempt.job = Some(Job::Stopping);
        let (folder, send, id) = (attempt.folder.clone(), self.send.clone(), id.clone());
        std::thread::spawn(move || {
            let stopped = process::stop(&folder, grace).map(drop).map_err(git);
            // The run may be over.
            drop(send.send(Report::Stopped(id, stopped)));
        });
    }

    pub(super) fn stopped(&mut self, id: &WorkspaceId, result: Result<(), Error>) {
        if let Some(attempt) = self.attempts.get_mut(id) {
            attempt.job = None;
        }
        if let Err(error) = result {
            self.note(format!("the process of {} does not end: {}", self.key(id), error.message()));
        }
    }

    /// Whether a process of an attempt runs.
    pub(super) fn any_runs(&self) -> bool {
        self.attempts.values().any(|attempt| {
            matches!(turn::status(&attempt.folder), Ok(Process::Running(_)) | Err(_))
        })
    }
}

/// Whether the start of a turn is on record.
fn is_on_record(known: &Workspace, turn: u32) -> bool {
    known.process.as_ref().is_some_and(|process| process.started >= turn)
}

fn exit_code(ended: &Ended) -> Option<i32> {
    match ended.outcome {
        process::Outcome::Exited(code) => Some(code),
        process::Outcome::Killed(_) | process::Outcome::CouldNotStart(_) => None,
    }
}
