//! Types of `using`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease;
use crate::model::leasing::lease::{Opened, Renewed};

/// How a request for surfaces goes on with a lease of the caller's that covers exactly these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// The lease stays as it is.
    AsIs,
    /// The lease is renewed for the time that is asked for.
    Renewed,
}

/// Whether an opened lease is what somebody asked for.
pub(crate) fn follows_open(asked: &lease::Open, got: &Opened) -> bool {
    asked.surfaces == got.surfaces
        && asked.purpose == got.purpose
        && asked.task == got.task
        && asked.ttl_s.unwrap_or_default() == got.ttl_s
        && asked.request_id.as_ref() == got.request.as_ref().map(|mark| &mark.id)
}

/// Whether a renewal is what somebody asked for who goes on with a lease of theirs.
pub(crate) fn follows_reuse(asked: &lease::Open, got: &Renewed) -> bool {
    asked.reuse == Some(Reuse::Renewed) && asked.ttl_s.is_none_or(|ttl| ttl == got.ttl_s)
}
