//! Idempotent requests: a repeated request id gets the stored answer and changes nothing.

use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::view::MemoryReply;
use crate::values::content::Blob;
use crate::values::time::{Span, Timestamp};

/// How long the answer to a request is kept.
pub(crate) const KEPT: Span = Span::from_secs(24 * 60 * 60);

/// The most answers kept; beyond that the oldest is dropped.
pub(crate) const REQUESTS_MAX: usize = 20_000;

/// A request that was carried out, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) at: Timestamp,
    pub(crate) digest: Blob,
    pub(crate) reply: MemoryReply,
}
