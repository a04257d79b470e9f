//! Reuse of a lease that covers exactly the requested surfaces.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease;
use crate::model::leasing::lease::{Opened, Renewed};

/// How `lease.open` reuses a lease of the caller that covers exactly the requested surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Keep the lease unchanged.
    AsIs,
    /// Renew the lease for the requested time to live.
    Renewed,
}

/// Whether an opened lease matches the request.
pub(crate) fn follows_open(asked: &lease::Open, got: &Opened) -> bool {
    asked.surfaces == got.surfaces
        && asked.purpose == got.purpose
        && asked.task == got.task
        && asked.ttl_s.unwrap_or_default() == got.ttl_s
        && asked.request_id.as_ref() == got.request.as_ref().map(|mark| &mark.id)
}

/// Whether a renewal matches a request that reuses a lease.
pub(crate) fn follows_reuse(asked: &lease::Open, got: &Renewed) -> bool {
    asked.reuse == Some(Reuse::Renewed) && asked.ttl_s.is_none_or(|ttl| ttl == got.ttl_s)
}
