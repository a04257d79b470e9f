//! The run as it is told: a line for each thing that happens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;

use crate::app::App;
use crate::error::Error;
use crate::output::{Tone, one_line};

/// How much of what an agent says is shown.
const SAID_CHARS_MAX: usize = 90;

/// An event of `althing run --json`, as far as it is told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    event: String,
    task: String,
    agent: String,
    line: String,
    evidence: String,
    commit: String,
    reason: String,
    gate: String,
    text: String,
    attempt: usize,
    files: usize,
}

/// Work that went back to its agent.
#[derive(Debug, Serialize)]
pub(super) struct Returned {
    task: String,
    agent: String,
    cause: Cause,
    evidence: String,
}

/// The cause for which work went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cause {
    Killed,
    Check,
    Conflict,
}

/// The run, as far as it was told.
pub(super) struct Story<'a> {
    app: &'a App,
    started: Instant,
    pub(super) returned: Vec<Returned>,
    /// The last event of the run.
    pub(super) finished: Option<Value>,
    /// A gate that waits for a person.
    pub(super) gate: Option<String>,
    said: Vec<(String, String)>,
}

impl<'a> Story<'a> {
    pub(super) fn new(app: &'a App, started: Instant) -> Self {
        let (returned, said) = (Vec::new(), Vec::new());
        Story { app, started, returned, finished: None, gate: None, said }
    }

    /// Takes a line of the run, and tells it.
    pub(super) fn take(&mut self, line: &str) -> Result<(), Error> {
        let unread = |error| Error::unavailable(format!("an event that cannot be read: {error}"));
        let told: Told = serde_json::from_str(line).map_err(unread)?;
        match told.event.as_str() {
            "task.started" if told.attempt > 1 => self.tell(&told, Tone::Faint, "begins anew"),
            "task.started" => self.tell(&told, Tone::Faint, "begins, in a worktree of its own"),
            "task.progress" => self.say(&told),
            "task.returned" => self.returned(told),
            "task.passed" => {
                let files = if told.files == 1 { "file" } else { "files" };
                self.tell(&told, Tone::Faint, &format!("is done: {} {files} changed", told.files));
            }
            "task.waiting" => self.tell(&told, Tone::Warn, &format!("waits: {}", told.reason)),
            "task.merged" => {
                let commit = told.commit.get(..10).unwrap_or(&told.commit);
                self.tell(&told, Tone::Good, &format!("is merged, as {commit}"));
            }
            "task.failed" => self.tell(&told, Tone::Bad, &format!("failed: {}", told.reason)),
            "gate.waiting" => {
                self.tell(&told, Tone::Warn, "waits until a person approves the merge");
                self.gate = Some(told.gate);
            }
            "note" => self.tell(&told, Tone::Faint, &told.text),
            "run.finished" => self.finished = Some(serde_json::from_str(line).map_err(unread)?),
            _ => {}
        }
        Ok(())
    }

    /// Shows what an agent said, unless that is what it said before.
    fn say(&mut self, told: &Told) {
        let said = (told.task.clone(), told.line.clone());
        if !told.line.is_empty() && !self.said.contains(&said) {
            self.tell(told, Tone::Faint, &format!("says: {}", told.line));
            self.said.push(said);
        }
    }

    fn returned(&mut self, told: Told) {
        let cause = if told.evidence.contains("signal 9") {
            self.tell(&told, Tone::Bad, "was killed, and is started again");
            Cause::Killed
        } else if told.evidence.starts_with("Others changed") {
            let files: Vec<&str> =
                told.evidence.lines().filter_map(|line| line.strip_prefix("- ")).collect();
            self.tell(&told, Tone::Bad, &format!("conflicts when merged: {}", files.join(", ")));
            Cause::Conflict
        } else {
            let output = told.evidence.split("```").nth(1).unwrap_or(&told.evidence).trim();
            self.tell(&told, Tone::Bad, &format!("is not done, says its check: {output}"));
            Cause::Check
        };
        let Told { task, agent, evidence, .. } = told;
        self.returned.push(Returned { task, agent, cause, evidence });
    }

    fn tell(&self, told: &Told, tone: Tone, what: &str) {
        self.line(&told.task, &told.agent, tone, what);
    }

    /// Shows a line.
    pub(super) fn line(&self, task: &str, who: &str, tone: Tone, what: &str) {
        let what: String = one_line(what).chars().take(SAID_CHARS_MAX).collect();
        let out = self.app.out;
        let seconds = self.started.elapsed().as_secs_f64();
        let task = out.paint(Tone::Strong, &format!("{task:<9}"));
        out.note(format!("{seconds:>5.1} s  {task} {who:<9} {}", out.paint(tone, &what)));
    }

    /// Whether something went back for this cause.
    pub(super) fn has_returned(&self, cause: Cause) -> bool {
        self.returned.iter().any(|own| own.cause == cause)
    }
}
