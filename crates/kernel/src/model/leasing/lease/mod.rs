//! Leases on surfaces: opening, renewal, release, expiry and forced end.

pub(crate) mod surfaces;
pub(crate) mod using;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::id::{EntryId, LeaseId, WorkspaceId};
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::principal::Principal;
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

pub use crate::model::leasing::lease::surfaces::SURFACES_MAX;
pub use crate::model::leasing::lease::surfaces::Surfaces;
pub use crate::model::leasing::lease::surfaces::SurfacesError;
pub use crate::model::leasing::lease::surfaces::split_scope;
pub use crate::model::leasing::lease::using::Paths;
pub use crate::model::leasing::lease::using::PathsError;
pub use crate::model::leasing::lease::using::Reuse;
pub use crate::model::leasing::lease::using::Unheld;
pub use crate::model::leasing::lease::using::Use;

/// The shortest time to live, in seconds.
pub(crate) const TTL_SECS_MIN: u64 = 1;

/// The longest time to live, in seconds: 30 days.
pub const TTL_SECS_MAX: u64 = 30 * 24 * 60 * 60;

/// The default time to live, in seconds: 90 minutes.
pub(crate) const TTL_SECS_DEFAULT: u64 = 90 * 60;

/// The most leases of one session: when it ends, they all end in one commit.
pub const PER_SESSION_MAX: usize = 1_000;

/// The most collisions a refusal lists.
pub(crate) const COLLISIONS_MAX: usize = 32;

/// The time to live of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(u64);

/// The error for a number of seconds that is not a valid time to live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease lives {TTL_SECS_MIN} to {TTL_SECS_MAX} seconds, not {0}")]
pub struct TtlError(i128);

impl Ttl {
    /// The longest time to live, for leases that something else ends.
    pub(crate) const LONGEST: Self = Ttl(TTL_SECS_MAX);

    /// Validates a number of seconds.
    pub fn new(secs: i128) -> Result<Self, TtlError> {
        match u64::try_from(secs) {
            Ok(fits) if (TTL_SECS_MIN..=TTL_SECS_MAX).contains(&fits) => Ok(Ttl(fits)),
            _ => Err(TtlError(secs)),
        }
    }

    /// Converts to a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }

    /// The number of seconds.
    pub fn secs(self) -> u64 {
        self.0
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Ttl(TTL_SECS_DEFAULT)
    }
}

// Signed both ways, so that a negative number in JSON gives an error about bounds rather than about
// its type, and binary formats that distinguish the two read what they wrote.
impl Serialize for Ttl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.cast_signed())
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secs = i64::deserialize(deserializer)?;
        Ttl::new(secs.into()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Ttl {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ttl".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer", "minimum": TTL_SECS_MIN, "maximum": TTL_SECS_MAX
        })
    }
}

/// A live lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The holder.
    pub holder: Principal,
    /// The session it was opened in; it ends when the session ends.
    pub workspace: Option<WorkspaceId>,
    /// The surfaces it covers.
    pub surfaces: Surfaces,
    /// The purpose.
    pub purpose: Option<Text<1000>>,
    /// The task it belongs to.
    pub task: Option<Text<128>>,
    /// How long each grant or renewal lasts.
    pub ttl: Ttl,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// The entry that granted it.
    pub opened_by: EntryId,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// The stream its entries belong to.
    pub stream: Stream,
}

impl Lease {
    /// Whether it has not expired yet.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The state of a lease that is held.
pub const LIVE: &str = "live";

/// The lifecycle of a lease.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "lease",
    edges: &[
        Edge { from: None, to: LIVE, event: Kind::LeaseOpened, by: "its holder" },
        Edge { from: Some(LIVE), to: LIVE, event: Kind::LeaseRenewed, by: "its holder" },
        Edge { from: Some(LIVE), to: "released", event: Kind::LeaseReleased, by: "its holder" },
        Edge { from: Some(LIVE), to: "expired", event: Kind::LeaseExpired, by: "the runtime" },
        Edge {
            from: Some(LIVE),
            to: "forced",
            event: Kind::LeaseForced,
            by: "a person or the coordinator",
        },
    ],
};

/// `lease.open`: claims surfaces, all or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The purpose, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// Replace the caller's leases in this session, all or nothing, instead of adding to them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Reuse a lease of the caller that covers exactly these surfaces, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// The surfaces to claim.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// The time to live in seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.renew`: extends a lease by its time to live, from now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The epoch under which the caller believes to hold the lease; refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The lease.
    pub lease: LeaseId,
    /// A new time to live in seconds; unchanged if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.release`: releases a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The epoch under which the caller believes to hold the lease; refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The lease.
    pub lease: LeaseId,
}

/// `lease.force`: ends another principal's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// The lease.
    pub lease: LeaseId,
    /// The reason, shown to the holder and everybody else.
    pub reason: Text<1000>,
}

/// `lease.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The fencing epoch.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The holder.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// The purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The surfaces it covers.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// The time to live in seconds.
    pub ttl_s: Ttl,
}

/// `lease.renewed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewed {
    /// The fencing epoch, unchanged.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// The new expiry time.
    pub expires_at: Timestamp,
    /// The lease.
    pub lease: LeaseId,
    /// The time to live in seconds.
    pub ttl_s: Ttl,
}

/// The reason why a lease was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// Its holder released it.
    Released,
    /// The session it was opened in ended.
    SessionEnded,
    /// The host of the session it was opened in went away, and its agent did not come back in time.
    HostGone,
    /// Its holder opened another lease in its place.
    Replaced,
    /// The work it was held for has ended.
    WorkOver,
    /// The agent that now does the work holds another lease in its place.
    HandedOver,
    /// The workspace whose authority it was is suspended.
    Suspended,
}

/// `lease.released`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Released {
    /// The reason.
    pub cause: ReleaseCause,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// The former holder.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
}

/// `lease.expired`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// When it expired.
    pub expires_at: Timestamp,
    /// The former holder.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
}

/// `lease.forced`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// The former holder.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// The reason why it was ended.
    pub reason: Text<1000>,
}
