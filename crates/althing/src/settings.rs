//! Settings: a flag wins over the environment, that over `althing.toml`, that over the default.

use althing_dialects::frugal::haid::agent_named;
use althing_engine::screen::Screening;
use althing_kernel::deployment::Deployment;
use althing_kernel::lease::Ttl;
use althing_kernel::name::NameError;
use althing_kernel::session::{GRACE_DEFAULT, Grace};
use althing_kernel::{AgentName, Rule, Span, UserId, WorkspaceId};
use althing_services::hooks::{Broken, KeepGoing, OnEdit, Outside};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::{Globals, bare};
use crate::error::Error;
use crate::place::Place;
use crate::span::parse_secs;

mod workshop;

pub(crate) use workshop::WorkshopSettings;
use workshop::{AgentTable, WorkshopTable};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    Flag,
    Environment,
    File,
    Default,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// The settings file, which people commit with their project. Unknown keys are refused, so that typos
/// are noticed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<String>,
    lease_ttl: Option<String>,
    patience: Option<String>,
    store_bytes_max: Option<u64>,
    integrate: Option<Integrate>,
    security: Option<Security>,
    trail: Option<TrailTable>,
    memory: Option<MemoryTable>,
    sessions: Option<SessionsTable>,
    workshop: Option<WorkshopTable>,
    agents: Option<BTreeMap<String, AgentTable>>,
    claims: Option<ClaimsTable>,
    hooks: Option<HooksTable>,
}

/// `[claims]` in that file: what becomes of edits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsTable {
    on_edit: Option<String>,
    outside: Option<String>,
}

/// `[hooks]` in that file: the hooks of agents.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct HooksTable {
    broken: Option<String>,
    tokens: Option<u64>,
    stop: Option<String>,
}

/// `[sessions]` in that file: settings of connected agents.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionsTable {
    grace: Option<String>,
}

/// `[memory]` in that file: settings of the shared memory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryTable {
    secrets: Option<String>,
}

/// The table `[integrate]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Integrate {
    checks: Option<Vec<String>>,
    check_timeout: Option<String>,
}

/// `[security]` in that file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Security {
    deployment: Option<String>,
}

/// How the trail is stored.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrailTable {
    compact_after: Option<String>,
    archive_retention: Option<String>,
}

/// The name of the file in the project root.
pub(crate) const FILE_NAME: &str = "althing.toml";

/// Everything that can be set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) agent: Setting<Option<AgentName>>,
    pub(crate) user: Setting<Option<UserId>>,
    /// As it was given: an id or a part of one, which is looked up later.
    pub(crate) session: Setting<Option<String>>,
    /// As it was given: a part of an id, or another name for a workspace, is looked up later.
    pub(crate) workspace: Setting<Option<String>>,
    pub(crate) store: Setting<Option<PathBuf>>,
    pub(crate) lease_ttl: Setting<Ttl>,
    pub(crate) patience_secs: Setting<u64>,
    pub(crate) store_bytes_max: Setting<Option<u64>>,
    /// Commands that have to succeed on the result of a merge.
    pub(crate) checks: Setting<Vec<String>>,
    pub(crate) check_timeout_secs: Setting<u64>,
    /// Never, if there is none.
    pub(crate) compact_after: Setting<Option<Span>>,
    /// For ever, if there is none.
    pub(crate) archive_retention: Setting<Option<Span>>,
    pub(crate) deployment: Setting<Deployment>,
    /// How text that looks like a secret is treated when it is to be remembered.
    pub(crate) memory_secrets: Setting<Screening>,
    /// How long what a host held stays after the host has gone.
    pub(crate) session_grace: Setting<Grace>,
    /// How plans are run.
    pub(crate) workshop: WorkshopSettings,
    /// What becomes of files that nobody holds when they are edited.
    pub(crate) claims_on_edit: Setting<OnEdit>,
    /// What becomes of edits outside the authority of an attempt.
    pub(crate) claims_outside: Setting<Outside>,
    /// What agents are told when Althing itself is broken.
    pub(crate) hooks_broken: Setting<Broken>,
    /// The most tokens that a hook tells an agent.
    pub(crate) hooks_tokens: Setting<u64>,
    /// When an agent is kept from ending.
    pub(crate) hooks_stop: Setting<KeepGoing>,
}

/// The folder for worktrees.
const WORKTREES_VARIABLE: &str = "ALTHING_WORKTREES";

const PATIENCE_SECS_DEFAULT: u64 = 30;
const HOOK_TOKENS_DEFAULT: u64 = 400;
/// More would take the place of what the agent works on.
const HOOK_TOKENS_MAX: u64 = 10_000;
const CHECK_TIMEOUT_SECS_DEFAULT: u64 = 600;
/// The longest age that can be set: a hundred years.
const AGE_SECS_MAX: u64 = 36_500 * 24 * 60 * 60;
/// How long ended workspaces stay as they are: thirty days.
const COMPACT_AFTER_DEFAULT: Span = Span::from_secs(30 * 24 * 60 * 60);

impl Settings {
    /// Gathers the settings of a project.
    pub(crate) fn gather(globals: &Globals, place: &Place) -> Result<Self, Error> {
        let file = read_file(&place.root.join(FILE_NAME))?;
        let layers = |flag: Option<&String>, variable: &str, file: Option<String>| {
            layered(flag.cloned(), variable, file)
        };
        let agent = layers(globals.agent.as_ref(), "ALTHING_AGENT", None)?;
        let user = layers(globals.user.as_ref(), "ALTHING_USER", None)?;
        let session = layers(globals.session.as_ref(), "ALTHING_SESSION", None)?;
        let workspace = layers(globals.workspace.as_ref(), "ALTHING_WORKSPACE", None)?;
        let store = layers(globals.store.as_ref(), "ALTHING_STORE", file.store)?;
        let lease_ttl = layers(None, "ALTHING_LEASE_TTL", file.lease_ttl)?;
        let patience = layers(None, "ALTHING_PATIENCE", file.patience)?;
        let bytes = file.store_bytes_max.map(|bytes| bytes.to_string());
        let store_bytes_max = layers(None, "ALTHING_STORE_BYTES_MAX", bytes)?;
        let integrate = file.integrate.unwrap_or_default();
        let check_timeout = layers(None, "ALTHING_CHECK_TIMEOUT", integrate.check_timeout)?;
        // Only what people commit with the project adds checks that hold for everybody.
        let checks = match integrate.checks {
            Some(value) => Setting { value, origin: Origin::File },
            None => Setting { value: Vec::new(), origin: Origin::Default },
        };
        let trail = file.trail.unwrap_or_default();
        let compact_after = layers(None, "ALTHING_COMPACT_AFTER", trail.compact_after)?;
        let retention = layers(None, "ALTHING_ARCHIVE_RETENTION", trail.archive_retention)?;
        let security = file.security.unwrap_or_default();
        let deployment = layers(None, "ALTHING_DEPLOYMENT", security.deployment)?;
        let memory = file.memory.unwrap_or_default();
        let secrets = layers(None, "ALTHING_MEMORY_SECRETS", memory.secrets)?;
        let sessions = file.sessions.unwrap_or_default();
        let grace = layers(None, "ALTHING_SESSIONS_GRACE", sessions.grace)?;
        let claims = file.claims.unwrap_or_default();
        let on_edit = layers(None, "ALTHING_CLAIMS_ON_EDIT", claims.on_edit)?;
        let outside = layers(None, "ALTHING_CLAIMS_OUTSIDE", claims.outside)?;
        let hooks = file.hooks.unwrap_or_default();
        let broken = layers(None, "ALTHING_HOOKS_BROKEN", hooks.broken)?;
        let tokens = hooks.tokens.map(|tokens| tokens.to_string());
        let tokens = layers(None, "ALTHING_HOOKS_TOKENS", tokens)?;
        let stop = layers(None, "ALTHING_HOOKS_STOP", hooks.stop)?;
        Ok(Settings {
            agent: agent.read_or(None, |text| agent_called(bare(text, "agent:")).map(Some))?,
            user: user.read_or(None, |text| UserId::new(bare(text, "user:")).map(Some))?,
            session: session
                .read_or(None, |text| WorkspaceId::new(text).map(|_| Some(text.to_owned())))?,
            workspace: workspace
                .read_or(None, |text| Ok::<_, std::convert::Infallible>(Some(text.to_owned())))?,
            store: store.read_with(None, |url, origin| store_path(url, origin, place).map(Some))?,
            lease_ttl: lease_ttl.read_or(Ttl::default(), read_ttl)?,
            patience_secs: patience.read_or(PATIENCE_SECS_DEFAULT, read_patience)?,
            store_bytes_max: store_bytes_max.read_or(None, |text| {
                text.parse().map(Some).map_err(|_| "not a number of bytes")
            })?,
            checks,
            check_timeout_secs: check_timeout
                .read_or(CHECK_TIMEOUT_SECS_DEFAULT, read_check_timeout)?,
            compact_after: compact_after
                .read_or(Some(COMPACT_AFTER_DEFAULT), |text| read_age(text, "never"))?,
            archive_retention: retention.read_or(None, |text| read_age(text, "forever"))?,
            deployment: deployment.read_or(Deployment::default(), str::parse)?,
            memory_secrets: secrets.read_or(Screening::default(), read_secrets)?,
            session_grace: grace.read_or(GRACE_DEFAULT, read_grace)?,
            workshop: WorkshopSettings::gather(
                file.workshop.unwrap_or_default(),
                file.agents.unwrap_or_default(),
                place,
            )?,
            claims_on_edit: on_edit.read_or(OnEdit::default(), str::parse)?,
            claims_outside: outside.read_or(Outside::default(), str::parse)?,
            hooks_broken: broken.read_or(Broken::default(), str::parse)?,
            hooks_tokens: tokens.read_or(HOOK_TOKENS_DEFAULT, read_hook_tokens)?,
            hooks_stop: stop.read_or(KeepGoing::default(), str::parse)?,
        })
    }
}

/// The caller that the settings name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// An agent.
    Agent(AgentName),
    /// A person.
    User(UserId),
}

impl Settings {
    /// The caller: a flag overrides the environment, and only one of agent and person may be set.
    pub(crate) fn asker(&self) -> Result<Option<Asker>, Error> {
        let agent = self.agent.value.clone().map(Asker::Agent);
        let user = self.user.value.clone().map(Asker::User);
        match (&agent, &user) {
            (Some(_), Some(_)) if self.agent.origin == self.user.origin => {
                let both = match self.agent.origin {
                    Origin::Flag => "--as and --user",
                    _ => "ALTHING_AGENT and ALTHING_USER",
                };
                let message = format!("both {both} are set, and only one can act");
                let failure = Error::misuse(Rule::WhoAreYou, message);
                Err(failure.hint("Choose for this command: `--as NAME` or `--user NAME`."))
            }
            (Some(_), Some(_)) if self.agent.origin == Origin::Flag => Ok(agent),
            _ => Ok(user.or(agent)),
        }
    }
}

fn read_secrets(text: &str) -> Result<Screening, String> {
    match text {
        "strict" => Ok(Screening::Strict),
        "warn" => Ok(Screening::Warn),
        other => Err(format!("{other:?} is neither \"strict\" nor \"warn\"")),
    }
}

/// Reads `--ttl`, which says how long a lease lasts.
pub(crate) fn ttl_option(text: &str) -> Result<Ttl, Error> {
    let secs = parse_secs(text).map_err(|error| Error::usage(format!("--ttl: {error}")))?;
    Ttl::new(secs).map_err(|_| {
        let failure = Error::misuse(Rule::Limits, format!("--ttl: {text} is out of range"));
        failure.hint("A lease lasts from 1s to 30d; write `--ttl 90m`.")
    })
}

/// Reads a lease's time to live.
pub(crate) fn read_ttl(text: &str) -> Result<Ttl, String> {
    Ttl::new(parse_secs(text)?).map_err(|error| error.to_string())
}

/// Reads how long what a host held stays after the host has gone.
fn read_grace(text: &str) -> Result<Grace, String> {
    Grace::new(parse_secs(text)?).map_err(|error| error.to_string())
}

/// Reads how many tokens a hook may tell an agent.
fn read_hook_tokens(text: &str) -> Result<u64, String> {
    let tokens = text.parse().ok().filter(|tokens| *tokens <= HOOK_TOKENS_MAX);
    tokens.ok_or_else(|| format!("a number of tokens is 0 to {HOOK_TOKENS_MAX}, not {text:?}"))
}

/// Reads an age, or the word for one that is never reached.
fn read_age(text: &str, never: &str) -> Result<Option<Span>, String> {
    if text == never {
        return Ok(None);
    }
    let secs = parse_secs(text).map_err(|error| format!("{error}, or \"{never}\""))?;
    let secs = u64::try_from(secs).ok().filter(|secs| *secs <= AGE_SECS_MAX);
    let fits = secs.ok_or_else(|| format!("an age is 0s to 36500d, or \"{never}\""))?;
    Ok(Some(Span::from_secs(fits)))
}

fn read_patience(text: &str) -> Result<u64, String> {
    let secs = parse_secs(text)?;
    let fits = u64::try_from(secs).ok().filter(|secs| (1..=3_600).contains(secs));
    fits.ok_or_else(|| format!("patience is 1 to 3600 seconds, not {secs}"))
}

/// A check may take from a second to a day.
fn read_check_timeout(text: &str) -> Result<u64, String> {
    let secs = parse_secs(text)?;
    let fits = u64::try_from(secs).ok().filter(|secs| (1..=86_400).contains(secs));
    fits.ok_or_else(|| format!("a check may take 1 to 86400 seconds, not {secs}"))
}

fn read_file(path: &Path) -> Result<File, Error> {
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(File::default());
    }
    let text = crate::input::read_file(path)?;
    toml::from_str(&text).map_err(|error| {
        let message = format!("{} cannot be used: {}", path.display(), error.to_string().trim());
        Error::usage(message)
            .hint(format!("Correct {FILE_NAME}; `docs/reference/settings.md` lists its keys."))
    })
}

/// An agent by its name, or by its HAID as servers tell it.
pub(crate) fn agent_called(text: &str) -> Result<AgentName, NameError> {
    AgentName::new(&agent_named(text).unwrap_or_else(|_| text.to_owned()))
}

/// Reads the path of the store. In the settings file it is relative to the state folder, which all
/// worktrees share. On the command line and in the environment it is relative to the current folder.
fn store_path(url: &str, origin: Origin, place: &Place) -> Result<PathBuf, String> {
    let Some(("sqlite", path)) = url.split_once(':').filter(|(_, path)| !path.is_empty()) else {
        return Err(format!("{url:?} is no store; write `sqlite:PATH`"));
    };
    if origin == Origin::File {
        return Ok(place.state.join(path));
    }
    std::path::absolute(path).map_err(|error| error.to_string())
}

/// A text from the first layer that has one.
struct Layered {
    name: String,
    text: Option<(String, Origin)>,
}

fn layered(flag: Option<String>, variable: &str, file: Option<String>) -> Result<Layered, Error> {
    let environment = match std::env::var(variable) {
        Ok(text) if text.is_empty() => None,
        Ok(text) => Some(text),
        Err(std::env::VarError::NotPresent) => None,
        Err(error) => return Err(Error::usage(format!("{variable}: {error}"))),
    };
    let text = flag
        .map(|text| (text, Origin::Flag))
        .or(environment.map(|text| (text, Origin::Environment)))
        .or(file.map(|text| (text, Origin::File)));
    Ok(Layered { name: variable.to_owned(), text })
}

impl Layered {
    fn read_or<T, E: std::fmt::Display>(
        self,
        default: T,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Setting<T>, Error> {
        self.read_with(default, |text, _| read(text))
    }

    fn read_with<T, E: std::fmt::Display>(
        self,
        default: T,
        read: impl FnOnce(&str, Origin) -> Result<T, E>,
    ) -> Result<Setting<T>, Error> {
        let Some((text, origin)) = self.text else {
            return Ok(Setting { value: default, origin: Origin::Default });
        };
        let key = self.name.trim_start_matches("ALTHING_").to_lowercase();
        let place = match origin {
            Origin::Flag => format!("--{}", if key == "agent" { "as" } else { &key }),
            Origin::Environment => self.name,
            Origin::File | Origin::Default => format!("{key} in {FILE_NAME}"),
        };
        let value =
            read(&text, origin).map_err(|error| Error::usage(format!("{place}: {error}")))?;
        Ok(Setting { value, origin })
    }
}
