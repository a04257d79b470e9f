//! The mark a request leaves in an entry.

use serde::Deserialize;
use serde::Serialize;

use crate::values::content::Blob;
use crate::values::label::Label;

/// What an entry says of the request that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The hash of what was asked for.
    pub digest: Blob,
    /// What the caller calls it.
    pub id: Label,
}
