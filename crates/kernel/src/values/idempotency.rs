//! The idempotency mark that a request leaves in its entry.

use serde::Deserialize;
use serde::Serialize;

use crate::values::content::Blob;
use crate::values::label::Label;

/// The idempotency key of the request that led to an entry, with the hash of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The hash of the request's arguments.
    pub digest: Blob,
    /// The idempotency key the caller chose (`request_id`).
    pub id: Label,
}
