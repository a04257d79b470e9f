//! One attempt of a run: an agent's try at a task, with its worktree and its process.

use althing_kernel::records::Record;
use althing_kernel::task::terms::Terms;
use althing_kernel::workspace::Workspace;
use althing_kernel::{AgentName, State, WorkspaceId};
use althing_workshop::agents::{Follower, Usage, Verdict};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::git::object_id::ObjectId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::Error;

/// The file with what is known of the turns so far.
const TURNS: &str = "turns.json";

/// An attempt that goes on. What is here is only remembered: all of it is found again from the trail,
/// from git and from the files of the attempt.
pub(crate) struct Attempt {
    /// Its workspace.
    pub(crate) id: WorkspaceId,
    /// The task, as it was when the attempt was taken up.
    pub(crate) task: Record,
    /// The name of the task, for people and for branches.
    pub(crate) key: String,
    /// Counts the attempts at the task, from 1.
    pub(crate) number: usize,
    /// The agent.
    pub(crate) agent: AgentName,
    /// Its slot, by its place in the team.
    pub(crate) slot: usize,
    /// Its folder beside the trail.
    pub(crate) folder: PathBuf,
    /// What a thread does for it.
    pub(crate) job: Option<Job>,
    /// Its worktree, once it is there.
    pub(crate) place: Option<Place>,
    /// The turn that is listened to.
    pub(crate) listening: Option<Listening>,
    /// The last turn that ended, and how.
    pub(crate) over: Option<(u32, Verdict)>,
    /// It does nothing before.
    pub(crate) waits_until: Option<Instant>,
    /// How often its merge was held up by a lease of somebody else.
    pub(crate) held_up: u32,
    /// Whether a person has to approve its merge.
    pub(crate) gate: Option<String>,
}

/// Something that a thread does for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Makes its worktree.
    Preparing,
    /// Looks at its work.
    Judging,
    /// Merges its work.
    Merging,
    /// Merges the work of others into its worktree.
    Joining,
    /// Ends its process.
    Stopping,
    /// Clears its worktree away.
    Clearing,
}

/// The worktree of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The worktree.
    pub(crate) tree: AttemptTree,
    /// The commit that the attempt began with.
    pub(crate) base: ObjectId,
}

/// A turn of an agent that is listened to.
pub(crate) struct Listening {
    /// Counts the turns, from 1.
    pub(crate) turn: u32,
    /// Reads what the agent says.
    pub(crate) follower: Follower,
    /// When it last said something.
    pub(crate) heard: Instant,
    /// The last line that was passed on.
    pub(crate) line: String,
}

/// Work that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// The commit with all of it.
    pub(crate) commit: String,
    /// The number of files that it changes.
    pub(crate) files: usize,
    /// The agent's last words.
    pub(crate) text: String,
}

/// What is known of the turns of an attempt, kept beside the trail so that nothing is judged twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turns {
    /// The last turn that was judged.
    pub(crate) judged: u32,
    /// How many tries did not pass.
    pub(crate) tries: u32,
    /// How often its process was lost sight of.
    pub(crate) lost: u32,
    /// How often the work of others had to be merged into it.
    pub(crate) joined: u32,
    /// The work, if the last turn passed.
    pub(crate) passed: Option<Passed>,
    /// What was found, if it did not.
    pub(crate) evidence: Option<String>,
    /// The tokens of all turns before the one that goes on.
    pub(crate) tokens: u64,
    /// The cost of all turns before the one that goes on.
    pub(crate) cost: u64,
    /// The turn up to which tokens and cost are counted here.
    pub(crate) counted: u32,
    /// What the conversation used before the turn that goes on.
    pub(crate) session: Spent,
}

/// Tokens and cost of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent {
    input: u64,
    cached: u64,
    output: u64,
    cost: Option<u64>,
}

impl From<Usage> for Spent {
    fn from(used: Usage) -> Self {
        let Usage { input, cached, output, cost_microdollars: cost } = used;
        Spent { input, cached, output, cost }
    }
}

impl From<Spent> for Usage {
    fn from(spent: Spent) -> Self {
        let Spent { input, cached, output, cost: cost_microdollars } = spent;
        Usage { input, cached, output, cost_microdollars }
    }
}

impl Turns {
    /// Reads what is known. A file that cannot be read is as none: the last turn is judged again.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = std::fs::read(folder.join(TURNS)).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self)
            .map_err(|error| Error::defect(format!("turns cannot be written: {error}")))?;
        write_whole(&folder.join(TURNS), &text)
    }

    /// Takes what a turn that ended used into account, once.
    pub(crate) fn count(&mut self, turn: u32, used: Usage) {
        if self.counted >= turn {
            return;
        }
        self.counted = turn;
        self.tokens = self.tokens.saturating_add(used.input.saturating_add(used.output));
        self.cost = self.cost.saturating_add(used.cost_microdollars.unwrap_or(0));
        self.session = Usage::from(self.session).plus(used).into();
    }
}

/// Writes a file beside and gives it its name, so that it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let cannot = |error: std::io::Error| {
        Error::unavailable(format!("{} cannot be written: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    let beside = path.with_extension("new");
    std::fs::write(&beside, bytes).map_err(cannot)?;
    std::fs::rename(&beside, path).map_err(cannot)
}

/// The name of a task, for people, branches and folders: the key of its plan, else its label.
pub(crate) fn key_of(task: &Record) -> String {
    let key = task.terms().and_then(|terms| terms.key.as_ref());
    key.map_or_else(|| task.id.label().replace('#', "-"), ToString::to_string)
}

/// The first line of a task.
pub(crate) fn title_of(task: &Record) -> &str {
    task.text.as_str().lines().next().unwrap_or_default()
}

impl Attempt {
    /// An attempt at a task in a workspace of the run, if it is one.
    pub(crate) fn of(
        state: &State,
        id: &WorkspaceId,
        known: &Workspace,
        slot: usize,
        folder: PathBuf,
    ) -> Option<Self> {
        let task = state.task_record(known.charter.task.as_ref()?)?;
        let history = &task.task()?.history;
        let number = history.iter().position(|own| own == id).unwrap_or(0) + 1;
        Some(Attempt {
            id: id.clone(),
            task: Record::clone(task),
            key: key_of(task),
            number,
            agent: known.agent.clone()?,
            slot,
            folder,
            job: None,
            place: None,
            listening: None,
            over: None,
            waits_until: None,
            held_up: 0,
            gate: None,
        })
    }

    /// The terms of its task.
    pub(crate) fn terms(&self) -> Terms {
        self.task.terms().cloned().unwrap_or_default()
    }

    /// The name of its worktree, and the last part of its branch's.
    pub(crate) fn tree_name(&self) -> String {
        if self.number > 1 { format!("{}.{}", self.key, self.number) } else { self.key.clone() }
    }

    /// Whether it waits for a time.
    pub(crate) fn waits(&self, now: Instant) -> bool {
        self.waits_until.is_some_and(|until| until > now)
    }
}
