//! Reuse of a lease that covers exactly the requested surfaces.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// How `lease.open` reuses a lease of the caller that covers exactly the requested surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Keep the lease unchanged.
    AsIs,
    /// Renew the lease for the requested time to live.
    Renewed,
}
