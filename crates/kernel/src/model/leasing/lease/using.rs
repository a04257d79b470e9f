//! Leases in use: reuse of a lease on the same surfaces, and files that are about to be changed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease::Ttl;
use crate::model::leasing::lease::surfaces::SURFACES_MAX;
use crate::surfaces::Surface;
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// How `lease.open` reuses a lease of the caller that covers exactly the requested surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Keep the lease unchanged.
    AsIs,
    /// Renew the lease for the requested time to live.
    Renewed,
}

/// What becomes of files that nobody holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unheld {
    /// They are claimed for the caller.
    #[default]
    Claim,
    /// They may be changed without a claim.
    Allow,
    /// They have to be claimed first.
    Refuse,
}

impl Unheld {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_claim(&self) -> bool {
        *self == Unheld::Claim
    }
}

/// Paths of files or folders: at least one, at most [`SURFACES_MAX`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Paths(#[schemars(length(min = 1, max = 256))] Vec<Surface>);

/// The error for a list that is not a valid set of paths.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// The list is empty or too long.
    #[error("1 to {SURFACES_MAX} paths can be used at once, not {0}")]
    Count(usize),
    /// A glob or a symbol stands where a path is needed.
    #[error("{0} is no plain path; escape its special characters")]
    Pattern(Surface),
}

impl Paths {
    /// Validates a list.
    pub fn new(list: Vec<Surface>) -> Result<Self, PathsError> {
        if list.is_empty() || list.len() > SURFACES_MAX {
            return Err(PathsError::Count(list.len()));
        }
        match list.iter().find(|surface| !surface.is_path()) {
            Some(pattern) => Err(PathsError::Pattern(pattern.clone())),
            None => Ok(Paths(list)),
        }
    }

    /// The paths, each as a surface.
    pub fn as_slice(&self) -> &[Surface] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Paths::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// `lease.use`: says that files are about to be changed. Refused as a whole if one of them must not
/// be; otherwise the caller's leases on them are renewed if they are due, and the rest is claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// Whether files outside the authority of the workspace may be changed too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// The paths of the files, from the project root. A folder stands for everything below it.
    pub paths: Paths,
    /// The purpose of what is claimed, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// The time to live of what is claimed, in seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
    /// What becomes of files that nobody holds.
    #[serde(default, skip_serializing_if = "Unheld::is_claim")]
    pub unheld: Unheld,
    /// The workspace of a run in which they are changed: its authority bounds them, and what is
    /// claimed ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}
