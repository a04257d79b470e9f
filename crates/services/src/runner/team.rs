//! The agents that work in a run: kinds, and slots in which one agent works at a time.
//!
//! A slot is an agent of its own, `claude-1`, `claude-2`, with a key and a lock file. Whoever holds
//! the lock works in the slot, so two runs on one project never use the same one; a process that is
//! killed lets go of it.

use althing_kernel::records::Kind;
use althing_kernel::task::graph::Planned;
use althing_kernel::task::terms::Terms;
use althing_kernel::{AgentName, Rule};
use althing_workshop::agents::{ADAPTERS, Agent, CustomAgent, Format, detect, find};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::settings::{Options, Workshop};
use crate::context::ProjectContext;
use crate::error::Error;

/// The most slots of one kind.
const SLOTS_MAX: usize = 64;

/// A kind of agent.
#[derive(Debug)]
pub(crate) struct AgentKind {
    /// Its name in plans.
    pub(crate) name: String,
    /// A program from the settings; otherwise it is one of the table.
    custom: Option<CustomAgent>,
    /// Where its program is.
    pub(crate) program: Option<PathBuf>,
    /// When it may be asked again, after its provider refused.
    pub(crate) rests_until: Option<Instant>,
    /// Why it cannot be used any more, if it cannot.
    pub(crate) unusable: Option<String>,
}

impl AgentKind {
    /// Finds a kind by its name. One of the table must be installed.
    pub(crate) fn find(name: &str, settings: &Workshop) -> Result<Self, Error> {
        if let Some(custom) = settings.agents.iter().find(|own| own.name == name) {
            let custom = Some(custom.clone());
            let name = name.to_owned();
            return Ok(AgentKind {
                name,
                custom,
                program: None,
                rests_until: None,
                unusable: None,
            });
        }
        let Some(adapter) = find(name) else {
            let known: Vec<&str> = ADAPTERS.iter().map(|own| own.name).collect();
            let message = format!("there is no agent {name:?}");
            let hint = format!(
                "Known are {}; any program is one with `[agents.{name}]` in althing.toml.",
                known.join(", ")
            );
            return Err(Error::misuse(Rule::AgentKnown, message).hint(hint));
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(found) = detect(adapter, &path) else {
            let message = format!(
                "{} is not installed: {} is not on PATH, or does not say its version",
                adapter.title,
                adapter.programs.join(" or ")
            );
            return Err(Error::misuse(Rule::AgentKnown, message)
                .hint("Install it, or choose other agents with `--agents`."));
        };
        Ok(AgentKind {
            name: adapter.name.to_owned(),
            custom: None,
            program: Some(found.program),
            rests_until: None,
            unusable: None,
        })
    }

    /// A kind that is not there any more.
    fn gone(name: &str, reason: &str) -> Self {
        AgentKind {
            name: name.to_owned(),
            custom: None,
            program: None,
            rests_until: None,
            unusable: Some(reason.to_owned()),
        }
    }

    /// The agent, to be started.
    pub(crate) fn agent(&self) -> Result<Agent<'_>, Error> {
        match &self.custom {
            Some(custom) => Ok(Agent::Custom(custom)),
            None => find(&self.name)
                .map(Agent::Known)
                .ok_or_else(|| Error::defect(format!("the agent {} is gone", self.name))),
        }
    }

    /// The form of its output.
    pub(crate) fn format(&self) -> Result<Format, Error> {
        Ok(self.agent()?.format())
    }

    /// Whether a task on these terms is for agents of this kind.
    pub(crate) fn can_do(&self, terms: &Terms, settings: &Workshop) -> bool {
        let is_meant = terms.agent.as_ref().is_none_or(|own| own.as_str() == self.name);
        is_meant && settings.abilities(&self.name).suffice(terms)
    }

    /// Whether it can be started now.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.unusable.is_none() && self.rests_until.is_none_or(|until| until <= now)
    }
}

/// Refuses a team that is not there or not installed, and a plan with a task that nobody in the team can
/// do. Nothing is begun before.
pub fn check_team(options: &Options, settings: &Workshop, tasks: &[Planned]) -> Result<(), Error> {
    if options.team.iter().all(|(_, count)| *count == 0) {
        let message = "nobody is there to do the work";
        let hint = "Say who works, as in `--agents claude:2,codex`, or set `agents` in `[workshop]` of \
                    althing.toml.";
        return Err(Error::misuse(Rule::AgentKnown, message).hint(hint));
    }
    let kinds = options.team.iter().map(|(name, _)| AgentKind::find(name, settings));
    let kinds: Vec<AgentKind> = kinds.collect::<Result<_, _>>()?;
    for task in tasks {
        let terms = task.terms.as_deref().cloned().unwrap_or_default();
        if !kinds.iter().any(|kind| kind.can_do(&terms, settings)) {
            let message = format!("task {:?}: nobody in the team can do it", task.key.as_str());
            let wanted = terms.agent.as_ref().map_or_else(
                || {
                    "Its role or skills are those of no agent; set them in `[agents.NAME]`."
                        .to_owned()
                },
                |agent| format!("It is for {agent}; add it with `--agents {agent}`."),
            );
            return Err(Error::misuse(Rule::AgentKnown, message).hint(wanted));
        }
    }
    Ok(())
}

/// The agents that a plan names, one of each.
pub fn team_of_plan(tasks: &[Planned]) -> Vec<(String, usize)> {
    let terms = tasks.iter().filter_map(|task| task.terms.as_deref());
    let names: BTreeSet<String> =
        terms.filter_map(|own| Some(own.agent.as_ref()?.to_string())).collect();
    names.into_iter().map(|name| (name, 1)).collect()
}

/// The agents that work, or are to work, in the run there is, as many of each as did.
pub fn team_of_run(context: &ProjectContext) -> Result<Vec<(String, usize)>, Error> {
    let state = context.present()?.state;
    let Some(root) = state.root() else { return Ok(Vec::new()) };
    let mut team: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for plan in state.memory().newest(Kind::Plan, None).filter(|plan| state.is_governed(plan)) {
        if let Some(agent) = plan.terms().and_then(|terms| terms.agent.as_ref()) {
            team.entry(agent.to_string()).or_default();
        }
    }
    for (_, known) in state.workspaces().filter(|(_, known)| known.charter.root == *root) {
        let name = known.agent.as_ref().filter(|_| known.parent.is_some());
        if let Some((kind, number)) = name.and_then(|name| name.as_str().rsplit_once('-')) {
            team.entry(kind.to_owned()).or_default().insert(number.to_owned());
        }
    }
    Ok(team.into_iter().map(|(kind, slots)| (kind, slots.len().max(1))).collect())
}

/// A place for one agent at a time.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Its kind, by its place in the team.
    pub(crate) kind: usize,
    /// Counts the slots of the machine, from 1.
    pub(crate) number: usize,
    /// The agent that works in it.
    pub(crate) name: AgentName,
    /// Whether it is only there for an attempt that another process began.
    pub(crate) is_extra: bool,
    _locks: [File; 2],
}

/// The agents of a run.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) kinds: Vec<AgentKind>,
    pub(crate) slots: Vec<Slot>,
}

impl Team {
    /// Finds the kinds and takes free slots for them.
    pub(crate) fn gather(
        options: &Options,
        settings: &Workshop,
        folder: &Path,
    ) -> Result<Self, Error> {
        let mut team = Team { kinds: Vec::new(), slots: Vec::new() };
        for (name, count) in &options.team {
            let kind = AgentKind::find(name, settings)?;
            team.kinds.push(kind);
            let kind = team.kinds.len() - 1;
            let free = options.parallel.unwrap_or(usize::MAX).saturating_sub(team.slots.len());
            for _ in 0..(*count).min(free) {
                team.add_slot(kind, folder)?;
            }
        }
        Ok(team)
    }

    fn add_slot(&mut self, kind: usize, folder: &Path) -> Result<(), Error> {
        let folder = folder.join("slots");
        let of = self.kinds[kind].name.clone();
        let (name, lock) = first_free(&folder, |number| format!("{of}-{number}"))?;
        let (number, own) = first_free(&folder, |number| format!(".number-{number}"))?;
        let number = number.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(1);
        let name = AgentName::new(&name).map_err(Error::unreadable)?;
        self.slots.push(Slot { kind, number, name, is_extra: false, _locks: [lock, own] });
        Ok(())
    }

    /// Takes the slot of an agent whose process is gone, so that its attempt is brought to an end.
    /// None if another process works in it.
    pub(crate) fn take_over(
        &mut self,
        name: &AgentName,
        settings: &Workshop,
        folder: &Path,
    ) -> Result<Option<usize>, Error> {
        let Some((of, _)) = name.as_str().rsplit_once('-') else { return Ok(None) };
        let folder = folder.join("slots");
        let Some(lock) = try_lock(&folder, name.as_str())? else { return Ok(None) };
        let kind = self.kinds.iter().position(|own| own.name == of).unwrap_or_else(|| {
            let found = AgentKind::find(of, settings);
            self.kinds.push(found.unwrap_or_else(|error| AgentKind::gone(of, error.message())));
            self.kinds.len() - 1
        });
        let (number, own) = first_free(&folder, |number| format!(".number-{number}"))?;
        let number = number.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(1);
        self.slots.push(Slot {
            kind,
            number,
            name: name.clone(),
            is_extra: true,
            _locks: [lock, own],
        });
        Ok(Some(self.slots.len() - 1))
    }
}

/// The lock of a name, unless another process has it.
fn try_lock(folder: &Path, name: &str) -> Result<Option<File>, Error> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        Error::unavailable(format!("{} cannot be used: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let path = folder.join(format!("{name}.lock"));
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(|error| cannot(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot(&path, &error)),
    }
}

/// The first name of a row whose lock is free, with the lock.
fn first_free(folder: &Path, name: impl Fn(usize) -> String) -> Result<(String, File), Error> {
    for number in 1..=SLOTS_MAX {
        let name = name(number);
        if let Some(lock) = try_lock(folder, &name)? {
            return Ok((name, lock));
        }
    }
    Err(Error::unavailable(format!("all {SLOTS_MAX} places of this kind are in use")))
}
