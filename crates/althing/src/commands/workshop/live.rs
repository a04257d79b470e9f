//! What a run shows while it goes on: lines for files and pipes, JSON for scripts, and for people at a
//! terminal a line for each agent that works, below what is done.

use althing_services::runner::{Finished, RunEvent};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::amounts::show_cost;
use crate::error::Error;
use crate::output::{Out, Tone, counted, one_line};

/// Where events of a run are shown.
pub(super) struct Display {
    out: Out,
    lines: MultiProgress,
    working: RefCell<BTreeMap<String, ProgressBar>>,
    whole: RefCell<Option<ProgressBar>>,
}

impl Display {
    pub(super) fn new(out: Out) -> Self {
        let lines = MultiProgress::new();
        if out.json || !out.is_watched() {
            lines.set_draw_target(ProgressDrawTarget::hidden());
        }
        Display { out, lines, working: RefCell::default(), whole: RefCell::default() }
    }

    /// Shows an event.
    pub(super) fn show(&self, event: &RunEvent) {
        if self.out.json {
            // A reader that is gone does not stop the run.
            drop(self.json_line(event));
            return;
        }
        let said = self.words(event);
        self.draw(event);
        if let Some(said) = said {
            self.lines.suspend(|| self.out.note(said));
        }
    }

    /// Prints an event as one line of JSON.
    fn json_line(&self, event: &RunEvent) -> Result<(), Error> {
        let text = serde_json::to_string(event);
        self.out.line(text.map_err(|error| Error::unavailable(error.to_string()))?)
    }

    /// Takes the lines of agents away.
    pub(super) fn end(&self) {
        self.working.borrow_mut().clear();
        *self.whole.borrow_mut() = None;
        // Nobody is left to tell if the terminal is gone.
        drop(self.lines.clear());
    }

    fn words(&self, event: &RunEvent) -> Option<String> {
        let paint = |tone, text: &str| self.out.paint(tone, text);
        let who =
            |task: &str, agent: &str| format!("{} {agent}", self.out.paint(Tone::Strong, task));
        Some(match event {
            RunEvent::Started { run, branch, tasks, resumed, .. } => {
                let begins = if *resumed { "goes on" } else { "begins" };
                let tasks = counted(*tasks as u64, "task", "tasks");
                format!("the run {} {begins}: {tasks}, on {branch}", paint(Tone::Strong, run))
            }
            RunEvent::TaskStarted { task, attempt, agent, .. } => {
                let again =
                    if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                format!("{} works{again}", who(task, agent))
            }
            RunEvent::Returned { task, agent, evidence } => {
                let first = evidence.lines().find(|line| !line.trim().is_empty());
                format!("{} is not done: {}", who(task, agent), one_line(first.unwrap_or_default()))
            }
            RunEvent::Passed { task, agent, files } => {
                let files = counted(*files as u64, "file", "files");
                format!("{} passed, {files} changed", who(task, agent))
            }
            RunEvent::Waiting { task, reason } => {
                format!("{} waits: {}", paint(Tone::Strong, task), one_line(reason))
            }
            RunEvent::Merged { task, agent, commit } => {
                let commit = commit.get(..10).unwrap_or(commit);
                format!("{} {} {commit}", who(task, agent), paint(Tone::Good, "merged"))
            }
            RunEvent::Failed { task, agent, reason, rescue } => {
                let kept = rescue.as_ref().map(|own| format!("; its work is kept in {own}"));
                let reason = one_line(reason.lines().next().unwrap_or_default());
                let failed = paint(Tone::Bad, "failed");
                format!("{} {failed}: {reason}{}", who(task, agent), kept.unwrap_or_default())
            }
            RunEvent::Retried { task } => {
                format!("{} is tried again", paint(Tone::Strong, task))
            }
            RunEvent::Paused { agent, seconds } => {
                format!("{agent} rests for {seconds} s, because its provider refuses requests")
            }
            RunEvent::Gate { gate, task } => format!(
                "{} {task}: `althing gate show {gate}`",
                paint(Tone::Warn, "a person has to decide about")
            ),
            RunEvent::Note { text } => one_line(text),
            // The line of the agent shows how it goes on, and the end is told apart.
            RunEvent::Progress { .. } | RunEvent::Finished(_) => return None,
        })
    }

    /// Keeps the lines of agents that work.
    fn draw(&self, event: &RunEvent) {
        let mut working = self.working.borrow_mut();
        match event {
            RunEvent::Started { tasks, .. } => {
                let bar = self.lines.add(ProgressBar::new(*tasks as u64));
                bar.set_style(style("{bar:30} {pos} of {len} merged, {elapsed}"));
                bar.enable_steady_tick(Duration::from_secs(1));
                *self.whole.borrow_mut() = Some(bar);
            }
            RunEvent::TaskStarted { task, agent, .. } => {
                let bar = self.lines.insert(0, ProgressBar::no_length());
                bar.set_style(style("{elapsed:>4} {prefix} {wide_msg}"));
                bar.set_prefix(format!("{task} {agent}"));
                bar.enable_steady_tick(Duration::from_secs(1));
                working.insert(task.clone(), bar);
            }
            RunEvent::Progress { task, line, tokens, .. } => {
                if let Some(bar) = working.get(task) {
                    bar.set_message(format!("{tokens} tokens  {}", one_line(line)));
                }
            }
            RunEvent::Merged { task, .. } | RunEvent::Failed { task, .. } => {
                if let Some(bar) = working.remove(task) {
                    bar.finish_and_clear();
                }
                if let (RunEvent::Merged { .. }, Some(whole)) = (event, &*self.whole.borrow()) {
                    whole.inc(1);
                }
            }
            RunEvent::Returned { .. }
            | RunEvent::Passed { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Retried { .. }
            | RunEvent::Paused { .. }
            | RunEvent::Gate { .. }
            | RunEvent::Note { .. }
            | RunEvent::Finished(_) => {}
        }
    }

    /// Tells how the run ended.
    pub(super) fn finished(&self, finished: &Finished) -> Result<(), Error> {
        let out = self.out;
        if out.json {
            return self.json_line(&RunEvent::Finished(finished.clone()));
        }
        let list = |tone, name: &str, tasks: &[String]| match tasks {
            [] => Ok(()),
            tasks => out.fact(&out.paint(tone, name), 8, &tasks.join(" ")),
        };
        list(Tone::Good, "merged", &finished.merged)?;
        list(Tone::Bad, "failed", &finished.failed)?;
        list(Tone::Warn, "left", &finished.left)?;
        if let Some(why) = &finished.stopped {
            out.fact("stopped", 8, why)?;
        }
        let commit = finished.commit.get(..10).unwrap_or(&finished.commit);
        out.fact("branch", 8, &format!("{} at {commit}", finished.branch))?;
        match (&finished.landed, &finished.not_landed) {
            (Some(branch), _) => out.fact("onto", 8, branch)?,
            (None, Some(why)) => out.fact("onto", 8, why)?,
            (None, None) => {}
        }
        if finished.tokens > 0 {
            let cost = show_cost(finished.cost);
            out.fact("used", 8, &format!("{} tokens, cost {cost}", finished.tokens))?;
        }
        let run = &finished.run;
        if finished.stopped.is_some() || !finished.left.is_empty() {
            out.note("go on: `althing run`");
        }
        if !finished.failed.is_empty() {
            out.note("look at what failed: `althing logs TASK`; try again: `althing retry TASK`");
        }
        if !finished.merged.is_empty() {
            out.note(format!(
                "look closer: `git log --first-parent {}`; take it back: `althing undo {run}`",
                finished.branch
            ));
        }
        Ok(())
    }
}

fn style(form: &str) -> ProgressStyle {
    ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar())
}
