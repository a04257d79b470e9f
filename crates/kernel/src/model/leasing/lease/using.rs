//! Types of `using`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// How a request for surfaces goes on with a lease of the caller's that covers exactly these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// The lease stays as it is.
    AsIs,
    /// The lease is renewed for the time that is asked for.
    Renewed,
}
