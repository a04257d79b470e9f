//! Requests with an id: asked again, they are answered as before and nothing happens twice.

use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::view::MemoryReply;
use crate::values::content::Blob;
use crate::values::time::{Span, Timestamp};

/// How long the answer to a request is kept.
pub(crate) const KEPT: Span = Span::from_secs(24 * 60 * 60);

/// The most answers that are kept; beyond, the oldest goes.
pub(crate) const REQUESTS_MAX: usize = 20_000;

/// A request that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) at: Timestamp,
    pub(crate) digest: Blob,
    pub(crate) reply: MemoryReply,
}
