//! What happens in a run, for whoever watches it.

use serde::Serialize;

/// Something that happened in a run. `--json` prints each as one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event")]
pub enum RunEvent {
    /// The run began, or goes on.
    #[serde(rename = "run.started")]
    Started {
        /// The run.
        run: String,
        /// The branch that work is merged into.
        branch: String,
        /// The commit it was at.
        commit: String,
        /// The number of tasks.
        tasks: usize,
        /// Whether it began before.
        resumed: bool,
    },
    /// An agent got a task.
    #[serde(rename = "task.started")]
    TaskStarted {
        /// The task.
        task: String,
        /// Counts the attempts at it, from 1.
        attempt: usize,
        /// The agent.
        agent: String,
        /// The workspace of the attempt.
        workspace: String,
        /// Its folder.
        folder: String,
    },
    /// An agent said something.
    #[serde(rename = "task.progress")]
    Progress {
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// Its last line.
        line: String,
        /// The tokens it used so far.
        tokens: u64,
    },
    /// A try did not pass, and the same agent goes on with what was found.
    #[serde(rename = "task.returned")]
    Returned {
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// What was found.
        evidence: String,
    },
    /// The work of a task passed and waits to be merged.
    #[serde(rename = "task.passed")]
    Passed {
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// The number of files it changed.
        files: usize,
    },
    /// A task waits for something.
    #[serde(rename = "task.waiting")]
    Waiting {
        /// The task.
        task: String,
        /// What it waits for.
        reason: String,
    },
    /// The work of a task is merged.
    #[serde(rename = "task.merged")]
    Merged {
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// The merge commit.
        commit: String,
    },
    /// An attempt failed.
    #[serde(rename = "task.failed")]
    Failed {
        /// The task.
        task: String,
        /// The agent.
        agent: String,
        /// The reason.
        reason: String,
        /// Where what it left is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        rescue: Option<String>,
    },
    /// A task that failed is tried again.
    #[serde(rename = "task.retried")]
    Retried {
        /// The task.
        task: String,
    },
    /// Agents of a kind rest, because their provider refuses more requests for now.
    #[serde(rename = "agent.paused")]
    Paused {
        /// The kind of agent.
        agent: String,
        /// How long, in seconds.
        seconds: u64,
    },
    /// A person has to answer.
    #[serde(rename = "gate.waiting")]
    Gate {
        /// The gate.
        gate: String,
        /// The task it is about.
        task: String,
    },
    /// Something worth knowing.
    #[serde(rename = "note")]
    Note {
        /// The text.
        text: String,
    },
    /// The run is over, or cannot go on.
    #[serde(rename = "run.finished")]
    Finished(Finished),
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// The run.
    pub run: String,
    /// The tasks that are merged.
    pub merged: Vec<String>,
    /// The tasks that failed.
    pub failed: Vec<String>,
    /// The tasks that were not done, because others failed or the run was stopped.
    pub left: Vec<String>,
    /// The tasks that somebody cancelled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cancelled: Vec<String>,
    /// The branch with the result.
    pub branch: String,
    /// The commit it is at.
    pub commit: String,
    /// The branch that the result was put onto.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed: Option<String>,
    /// Why the result was not put onto the branch that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_landed: Option<String>,
    /// Why the run could not go on, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The tokens that all agents used.
    pub tokens: u64,
    /// The cost in millionths of a currency, as far as agents reported it.
    pub cost: u64,
}

impl Finished {
    /// Whether everything is merged.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.left.is_empty() && self.stopped.is_none()
    }
}
