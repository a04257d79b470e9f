//! Types of `lease`: state, arguments of commands and bodies of events.

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
pub use crate::model::leasing::lease::surfaces::WILD_BYTES_MAX;
pub use crate::model::leasing::lease::using::Reuse;

/// The shortest time a lease is granted for, in seconds.
pub const TTL_SECS_MIN: u64 = 1;

/// The longest, in seconds: 30 days.
pub const TTL_SECS_MAX: u64 = 30 * 24 * 60 * 60;

/// The time where none is given, in seconds: 90 minutes.
pub const TTL_SECS_DEFAULT: u64 = 90 * 60;

/// The most leases of one session: they end with it, in one commit.
pub const PER_SESSION_MAX: usize = 1_000;

/// The most collisions a refusal lists.
pub const COLLISIONS_MAX: usize = 32;

/// How long a lease is granted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(u64);

/// A number of seconds that is not a time to live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease lives {TTL_SECS_MIN} to {TTL_SECS_MAX} seconds, not {0}")]
pub struct TtlError(i128);

impl Ttl {
    /// Checks and takes a number of seconds.
    pub fn new(secs: i128) -> Result<Self, TtlError> {
        match u64::try_from(secs) {
            Ok(fits) if (TTL_SECS_MIN..=TTL_SECS_MAX).contains(&fits) => Ok(Ttl(fits)),
            _ => Err(TtlError(secs)),
        }
    }

    /// As a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }

    /// In seconds.
    pub fn secs(self) -> u64 {
        self.0
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Ttl(TTL_SECS_DEFAULT)
    }
}

// Signed both ways, so that a negative number in JSON is told apart from nonsense and binary
// forms that distinguish the two read what they wrote.
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
    /// Who holds it.
    pub holder: Principal,
    /// The session it was opened in, and ends with.
    pub workspace: Option<WorkspaceId>,
    /// What it covers.
    pub surfaces: Surfaces,
    /// What it is for.
    pub purpose: Option<Text<1000>>,
    /// The task it belongs to.
    pub task: Option<Text<128>>,
    /// How long each grant or renewal lasts.
    pub ttl: Ttl,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// The entry that granted it.
    pub opened_by: EntryId,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// The stream its entries belong to.
    pub stream: Stream,
}

impl Lease {
    /// Whether it is still good at this moment.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The state of a lease that is held.
pub const LIVE: &str = "live";

/// The ways of a lease.
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

/// `lease.open`: asks for surfaces, all or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// What for, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// Give up what the caller holds in this session, all or nothing, instead of adding to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Go on with a lease of the caller's that covers exactly these surfaces, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// What to hold.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// For how many seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.renew`: keeps a lease for its time to live from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
    /// A new time to live in seconds; as before if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.release`: gives a lease back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
}

/// `lease.force`: ends somebody else's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// Which lease.
    pub lease: LeaseId,
    /// Why; the holder and everybody else can read it.
    pub reason: Text<1000>,
}

/// `lease.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The fencing epoch.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// Who holds it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// What it covers.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// Its time to live in seconds.
    pub ttl_s: Ttl,
}

/// `lease.renewed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewed {
    /// The fencing epoch, unchanged.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// When it runs out now.
    pub expires_at: Timestamp,
    /// The lease.
    pub lease: LeaseId,
    /// Its time to live in seconds.
    pub ttl_s: Ttl,
}

/// Why a lease was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// Its holder gave it back.
    Released,
    /// The session it was opened in ended.
    SessionEnded,
    /// Its holder opened another in its place.
    Replaced,
    /// The work it was held for is over.
    WorkOver,
    /// Whoever does the work now holds another in its place.
    HandedOver,
}

/// `lease.released`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Released {
    /// Why.
    pub cause: ReleaseCause,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
    /// Who held it.
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
    /// When it ran out.
    pub expires_at: Timestamp,
    /// Who held it.
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
    /// Who held it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// Why it was ended.
    pub reason: Text<1000>,
}
