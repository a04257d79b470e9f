//! What is written down about a process: what to start, who runs, how it ended.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::table::Identity;

/// The variable that marks every process of an attempt. It is a name of its own because people set
/// `ALTHING_WORKSPACE` in their shells, and nothing of theirs may be ended here.
pub const MARKER: &str = "ALTHING_SUPERVISED";

/// The variable that names the workspace to an agent and its tools.
pub const WORKSPACE: &str = "ALTHING_WORKSPACE";

/// The largest size of a log unless told otherwise.
pub const LOG_BYTES_MAX: u64 = 256 << 20;

/// The time between SIGTERM and SIGKILL unless told otherwise.
pub const GRACE: Duration = Duration::from_secs(10);

/// An agent process to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The workspace of the attempt. All processes of the attempt carry it in their environment.
    pub workspace: String,
    /// The number of this start in its folder, from 1. Each number is started at most once, so two
    /// callers that both want to go on do it once.
    pub turn: u32,
    /// The program: a path, or a name to be found on `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to the caller's environment.
    pub env: BTreeMap<String, String>,
    /// Variables taken out of it.
    pub env_remove: Vec<String>,
    /// The working folder.
    pub folder: PathBuf,
    /// The file given as standard input; nothing if left out.
    pub stdin: Option<PathBuf>,
    /// The time after which it is ended, in milliseconds; never if left out.
    pub timeout_ms: Option<u64>,
    /// The time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
    /// The largest size of the log in bytes. Beyond it the beginning and the end are kept.
    pub log_bytes_max: u64,
}

impl Spec {
    /// A program in a folder, with nothing on standard input and no time-out.
    pub fn new(workspace: &str, turn: u32, program: PathBuf, folder: PathBuf) -> Self {
        Spec {
            workspace: workspace.to_owned(),
            turn,
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            env_remove: Vec::new(),
            folder,
            stdin: None,
            timeout_ms: None,
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
            log_bytes_max: LOG_BYTES_MAX,
        }
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// Who runs: `process.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) turn: u32,
    pub(super) workspace: String,
    pub(super) program: PathBuf,
    /// The supervising process.
    pub(super) shim: Identity,
    /// The agent; none until it was started.
    pub(super) agent: Option<Identity>,
    /// When it was started, in milliseconds since 1970.
    pub(super) since_ms: u64,
    /// The position in the log at which its output begins.
    pub(super) log_start: u64,
}

/// An order to stop: `stop.json`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct StopOrder {
    /// The start that is meant.
    pub(super) turn: u32,
}

/// How an agent process ended: `ended.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The number of the start.
    pub turn: u32,
    /// How the process itself ended.
    pub outcome: Outcome,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    /// Whether somebody ordered it to stop.
    pub stopped: bool,
    /// When it was started, in milliseconds since 1970.
    pub since_ms: u64,
    /// How long it ran, in milliseconds.
    pub wall_ms: u64,
    /// The processor time of the agent and of all its processes, in milliseconds, where known.
    pub cpu_ms: Option<u64>,
    /// The most memory that the agent and its processes were seen to use together, in bytes. It is
    /// looked at every few seconds; none for a process that ended sooner.
    pub memory_peak: Option<u64>,
    /// How many processes it left behind, which were then ended.
    pub left_behind: usize,
    /// Processes that could not be ended.
    pub stuck: Vec<u32>,
    /// The position in the log at which its output begins.
    pub log_start: u64,
    /// The position in the log at which its output ends.
    pub log_end: u64,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// It could not be started, for this reason.
    CouldNotStart(String),
}

impl Ended {
    /// Whether it exited with code 0 on its own.
    pub fn is_success(&self) -> bool {
        self.outcome == Outcome::Exited(0) && !self.timed_out && !self.stopped
    }
}
