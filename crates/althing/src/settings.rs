//! Settings: a flag wins over the environment, that over `althing.toml`, that over the default.

use althing_kernel::lease::Ttl;
use althing_kernel::{AgentName, UserId, WorkspaceId};
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::span::parse_secs;

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

/// What people commit with their project. Unknown keys are refused, so a typo is noticed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<String>,
    lease_ttl: Option<String>,
    patience: Option<String>,
    store_bytes_max: Option<u64>,
}

/// The name of the file in the project root.
pub(crate) const FILE_NAME: &str = "althing.toml";

/// Everything that can be set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) agent: Setting<Option<AgentName>>,
    pub(crate) user: Setting<Option<UserId>>,
    pub(crate) session: Setting<Option<WorkspaceId>>,
    pub(crate) store: Setting<Option<PathBuf>>,
    pub(crate) lease_ttl: Setting<Ttl>,
    pub(crate) patience_secs: Setting<u64>,
    pub(crate) store_bytes_max: Setting<Option<u64>>,
}

const PATIENCE_SECS_DEFAULT: u64 = 30;

impl Settings {
    /// Gathers the settings of a project.
    pub(crate) fn gather(globals: &Globals, root: &Path) -> Result<Self, Failure> {
        let file = read_file(&root.join(FILE_NAME))?;
        let layers = |flag: Option<&String>, variable: &str, file: Option<String>| {
            layered(flag.cloned(), variable, file)
        };
        let agent = layers(globals.agent.as_ref(), "ALTHING_AGENT", None)?;
        let user = layers(globals.user.as_ref(), "ALTHING_USER", None)?;
        let session = layers(globals.session.as_ref(), "ALTHING_SESSION", None)?;
        let store = layers(globals.store.as_ref(), "ALTHING_STORE", file.store)?;
        let lease_ttl = layers(None, "ALTHING_LEASE_TTL", file.lease_ttl)?;
        let patience = layers(None, "ALTHING_PATIENCE", file.patience)?;
        let bytes = file.store_bytes_max.map(|bytes| bytes.to_string());
        let store_bytes_max = layers(None, "ALTHING_STORE_BYTES_MAX", bytes)?;
        Ok(Settings {
            agent: agent.read_or(None, |text| AgentName::new(text).map(Some))?,
            user: user.read_or(None, |text| UserId::new(text).map(Some))?,
            session: session.read_or(None, |text| WorkspaceId::new(text).map(Some))?,
            store: store.read_or(None, |url| store_path(url, root).map(Some))?,
            lease_ttl: lease_ttl.read_or(Ttl::default(), read_ttl)?,
            patience_secs: patience.read_or(PATIENCE_SECS_DEFAULT, read_patience)?,
            store_bytes_max: store_bytes_max.read_or(None, |text| {
                text.parse().map(Some).map_err(|_| "not a number of bytes")
            })?,
        })
    }
}

/// Reads a lease's time to live.
pub(crate) fn read_ttl(text: &str) -> Result<Ttl, String> {
    Ttl::new(parse_secs(text)?).map_err(|error| error.to_string())
}

fn read_patience(text: &str) -> Result<u64, String> {
    let secs = parse_secs(text)?;
    let fits = u64::try_from(secs).ok().filter(|secs| (1..=3_600).contains(secs));
    fits.ok_or_else(|| format!("patience is 1 to 3600 seconds, not {secs}"))
}

fn read_file(path: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => {
            return Err(Failure::usage(format!("cannot read {}: {error}", path.display())));
        }
    };
    toml::from_str(&text).map_err(|error| {
        Failure::usage(format!("{} cannot be used: {}", path.display(), error.to_string().trim()))
    })
}

fn store_path(url: &str, root: &Path) -> Result<PathBuf, String> {
    match url.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => Ok(root.join(path)),
        _ => Err("this version keeps trails in `sqlite:PATH` only".to_owned()),
    }
}

/// A text from the first layer that has one.
struct Layered {
    name: String,
    text: Option<(String, Origin)>,
}

fn layered(flag: Option<String>, variable: &str, file: Option<String>) -> Result<Layered, Failure> {
    let environment = match std::env::var(variable) {
        Ok(text) if text.is_empty() => None,
        Ok(text) => Some(text),
        Err(std::env::VarError::NotPresent) => None,
        Err(error) => return Err(Failure::usage(format!("{variable}: {error}"))),
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
    ) -> Result<Setting<T>, Failure> {
        let Some((text, origin)) = self.text else {
            return Ok(Setting { value: default, origin: Origin::Default });
        };
        let key = self.name.trim_start_matches("ALTHING_").to_lowercase();
        let place = match origin {
            Origin::Flag => format!("--{}", if key == "agent" { "as" } else { &key }),
            Origin::Environment => self.name,
            Origin::File | Origin::Default => format!("{key} in {FILE_NAME}"),
        };
        let value = read(&text).map_err(|error| Failure::usage(format!("{place}: {error}")))?;
        Ok(Setting { value, origin })
    }
}
