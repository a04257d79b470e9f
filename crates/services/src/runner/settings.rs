//! The settings of a run: where worktrees lie, how they are set up, what is checked, which agents
//! there are.

use althing_kernel::task::terms::Terms;
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_workshop::agents::CustomAgent;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// The program `althing`, for hooks and for watching over agents.
    pub althing: PathBuf,
    /// The folder for worktrees.
    pub worktrees: PathBuf,
    /// The command that sets a worktree up, once.
    pub setup: Option<String>,
    /// Untracked files of the project that worktrees get a copy of.
    pub copy: Vec<PathBuf>,
    /// The commands that must succeed on the result of every merge.
    pub checks: Vec<String>,
    /// How long a check may take.
    pub check_timeout: Duration,
    /// How long an attempt may take if its task does not say.
    pub timeout: Duration,
    /// How long an agent may be silent.
    pub silence: Duration,
    /// How long an agent gets to end after it was asked to.
    pub grace: Duration,
    /// The first port of the first slot.
    pub port_base: u16,
    /// How many ports each slot has.
    pub ports: u16,
    /// The most tokens of a brief.
    pub brief_tokens: u64,
    /// Whether finished worktrees are reset and used again, with what their builds left.
    pub reuse: bool,
    /// Programs that are agents besides the known ones.
    pub agents: Vec<CustomAgent>,
    /// The roles and skills of agents, by their names in plans.
    pub abilities: BTreeMap<String, Abilities>,
    /// The model that agents use, if it is set.
    pub model: Option<String>,
    /// Whether agents are told that there is no network but their model.
    pub offline: bool,
}

/// The role and the skills of an agent, for tasks that ask for some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Its role.
    pub role: Option<RoleName>,
    /// Its skills.
    pub skills: Vec<Text<64>>,
}

impl Workshop {
    /// The role and the skills of agents of a kind.
    pub fn abilities(&self, kind: &str) -> Abilities {
        self.abilities.get(kind).cloned().unwrap_or_default()
    }
}

impl Abilities {
    /// Whether an agent with these can do a task on these terms.
    pub(crate) fn suffice(&self, terms: &Terms) -> bool {
        let has_role = terms.role.as_ref().is_none_or(|role| Some(role) == self.role.as_ref());
        has_role && terms.skills.iter().all(|skill| self.skills.contains(skill))
    }
}

/// How a run goes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The agents that work, with how many of each at the same time.
    pub team: Vec<(String, usize)>,
    /// The most agents at the same time, whichever they are.
    pub parallel: Option<usize>,
    /// The commit to begin with; what is checked out by default.
    pub base: Option<String>,
    /// The branch to put the result onto at the end.
    pub into: Option<String>,
}
