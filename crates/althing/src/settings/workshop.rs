//! `[workshop]` and `[agents.NAME]` in the settings file: how plans are run, and by whom.

use althing_kernel::Blob;
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_services::runner::{Abilities, Workshop};
use althing_workshop::agents::{CustomAgent, UsageReport};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Origin, Setting, layered};
use crate::error::Error;
use crate::place::Place;
use crate::span::parse_secs;

/// `[workshop]` in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkshopTable {
    agents: Option<Vec<String>>,
    worktrees: Option<String>,
    setup: Option<String>,
    copy: Option<Vec<PathBuf>>,
    checks: Option<Vec<String>>,
    into: Option<String>,
    timeout: Option<String>,
    silence: Option<String>,
    port_base: Option<u16>,
    ports: Option<u16>,
    brief_tokens: Option<u64>,
    reuse: Option<bool>,
    model: Option<String>,
    offline: Option<bool>,
}

/// `[agents.NAME]` in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTable {
    command: Option<Vec<String>>,
    usage: Option<String>,
    env: Option<BTreeMap<String, String>>,
    role: Option<String>,
    skills: Option<Vec<String>>,
}

/// How plans are run.
#[derive(Clone, Debug)]
pub(crate) struct WorkshopSettings {
    /// The agents that work if nobody says which: `claude:2`.
    pub(crate) agents: Setting<Vec<String>>,
    /// The folder for worktrees.
    pub(crate) worktrees: Setting<PathBuf>,
    /// The command that sets a worktree up.
    pub(crate) setup: Setting<Option<String>>,
    /// Untracked files that worktrees get a copy of.
    pub(crate) copy: Setting<Vec<PathBuf>>,
    /// Checks of the merge queue, after those of `[integrate]`.
    pub(crate) checks: Setting<Vec<String>>,
    /// The branch that gets the result.
    pub(crate) into: Setting<Option<String>>,
    /// How long an attempt may take, in seconds.
    pub(crate) timeout_secs: Setting<u64>,
    /// How long an agent may be silent, in seconds.
    pub(crate) silence_secs: Setting<u64>,
    /// The first port of the first slot.
    pub(crate) port_base: Setting<u16>,
    /// How many ports each slot has.
    pub(crate) ports: Setting<u16>,
    /// The most tokens of a brief.
    pub(crate) brief_tokens: Setting<u64>,
    /// Whether finished worktrees are used again.
    pub(crate) reuse: Setting<bool>,
    /// The model that agents use.
    pub(crate) model: Setting<Option<String>>,
    /// Whether agents are told that there is no network but their model.
    pub(crate) offline: Setting<bool>,
    /// Programs that are agents.
    pub(crate) programs: Vec<CustomAgent>,
    /// The roles and skills of agents.
    pub(crate) abilities: BTreeMap<String, Abilities>,
}

const TIMEOUT_SECS_DEFAULT: u64 = 60 * 60;
const SILENCE_SECS_DEFAULT: u64 = 15 * 60;
const PORT_BASE_DEFAULT: u16 = 20_000;
const PORTS_DEFAULT: u16 = 20;
const BRIEF_TOKENS_DEFAULT: u64 = 4_000;
/// How long an agent gets to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// A value of the file, or the default.
fn of_file<T>(value: Option<T>, default: T) -> Setting<T> {
    match value {
        Some(value) => Setting { value, origin: Origin::File },
        None => Setting { value: default, origin: Origin::Default },
    }
}

fn secs(text: Option<String>, key: &str, default: u64) -> Result<Setting<u64>, Error> {
    let read = |text: String| {
        let secs = parse_secs(&text)?;
        let fits = u64::try_from(secs).ok().filter(|secs| (1..=7 * 86_400).contains(secs));
        fits.ok_or_else(|| format!("1s to 7d, not {text}"))
    };
    let value = text.map(read).transpose();
    let value = value.map_err(|error| Error::usage(format!("workshop.{key}: {error}")))?;
    Ok(of_file(value, default))
}

impl WorkshopSettings {
    pub(super) fn gather(
        table: WorkshopTable,
        agents: BTreeMap<String, AgentTable>,
        place: &Place,
    ) -> Result<Self, Error> {
        let worktrees = layered(None, super::WORKTREES_VARIABLE, table.worktrees)?;
        let default = worktrees_default(place);
        let (mut programs, mut abilities) = (Vec::new(), BTreeMap::new());
        for (name, own) in agents {
            let able = own.abilities(&name)?;
            programs.extend(own.program(&name)?);
            abilities.insert(name, able);
        }
        Ok(WorkshopSettings {
            agents: of_file(table.agents, Vec::new()),
            worktrees: worktrees.read_with(default, |text, origin| {
                let base = if origin == Origin::File { place.root.clone() } else { PathBuf::new() };
                std::path::absolute(base.join(text)).map_err(|error| error.to_string())
            })?,
            setup: of_file(table.setup.map(Some), None),
            copy: of_file(table.copy, Vec::new()),
            checks: of_file(table.checks, Vec::new()),
            into: of_file(table.into.map(Some), None),
            timeout_secs: secs(table.timeout, "timeout", TIMEOUT_SECS_DEFAULT)?,
            silence_secs: secs(table.silence, "silence", SILENCE_SECS_DEFAULT)?,
            port_base: of_file(table.port_base, PORT_BASE_DEFAULT),
            ports: of_file(table.ports, PORTS_DEFAULT),
            brief_tokens: of_file(table.brief_tokens, BRIEF_TOKENS_DEFAULT),
            reuse: of_file(table.reuse, true),
            model: of_file(table.model.map(Some), None),
            offline: of_file(table.offline, false),
            programs,
            abilities,
        })
    }

    /// The settings for the scheduler.
    pub(crate) fn workshop(
        &self,
        althing: PathBuf,
        checks: &[String],
        check_secs: u64,
    ) -> Workshop {
        Workshop {
            althing,
            worktrees: self.worktrees.value.clone(),
            setup: self.setup.value.clone(),
            copy: self.copy.value.clone(),
            checks: checks.iter().chain(&self.checks.value).cloned().collect(),
            check_timeout: Duration::from_secs(check_secs),
            timeout: Duration::from_secs(self.timeout_secs.value),
            silence: Duration::from_secs(self.silence_secs.value),
            grace: GRACE,
            port_base: self.port_base.value,
            ports: self.ports.value,
            brief_tokens: self.brief_tokens.value,
            reuse: self.reuse.value,
            agents: self.programs.clone(),
            abilities: self.abilities.clone(),
            model: self.model.value.clone(),
            offline: self.offline.value,
        }
    }
}

impl AgentTable {
    fn program(&self, name: &str) -> Result<Option<CustomAgent>, Error> {
        let wrong = |what: &str| Error::usage(format!("agents.{name}: {what}"));
        let usage = match self.usage.as_deref() {
            None | Some("none") => UsageReport::None,
            Some("json-lines") => UsageReport::JsonLines,
            Some(_) => return Err(wrong("`usage` is \"none\" or \"json-lines\"")),
        };
        let env = self.env.clone().unwrap_or_default();
        match &self.command {
            Some(command) if command.first().is_some_and(|first| !first.is_empty()) => {
                Ok(Some(CustomAgent {
                    name: name.to_owned(),
                    command: command.clone(),
                    usage,
                    env,
                }))
            }
            Some(_) => Err(wrong("`command` is empty")),
            None if self.usage.is_some() || self.env.is_some() => {
                Err(wrong("`usage` and `env` belong to a `command`"))
            }
            None => Ok(None),
        }
    }

    fn abilities(&self, name: &str) -> Result<Abilities, Error> {
        let wrong = |key: &str, error: &dyn std::fmt::Display| {
            Error::usage(format!("agents.{name}: {key}: {error}"))
        };
        // The name becomes that of agents and of files.
        althing_kernel::AgentName::new(&format!("{name}-1"))
            .map_err(|error| wrong("name", &error))?;
        let role = self.role.as_deref().map(RoleName::new).transpose();
        let skills = self.skills.iter().flatten().map(|skill| Text::new(skill));
        Ok(Abilities {
            role: role.map_err(|error| wrong("role", &error))?,
            skills: skills.collect::<Result<_, _>>().map_err(|error| wrong("skills", &error))?,
        })
    }
}

/// A folder of the user's that belongs to the project: outside of the repository, so that tools which
/// look through the project do not find its files twice.
fn worktrees_default(place: &Place) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = set("HOME").map(PathBuf::from);
    let data = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else {
        let own = home.map(|home| home.join(".local/share"));
        set("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or(own)
    };
    let root = crate::place::real(&place.root);
    let hash = Blob::of(root.as_os_str().as_encoded_bytes()).to_string();
    let hash = hash.rsplit(':').next().unwrap_or_default().chars().take(8).collect::<String>();
    let name = root.file_name().map_or("project".into(), |name| name.to_string_lossy());
    let folder = format!("{name}-{hash}");
    match data {
        Some(data) => data.join("althing").join("worktrees").join(folder),
        None => place.state.join("worktrees"),
    }
}
