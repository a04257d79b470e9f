//! Types of `create`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::kind::{Kind, RecordId};
use crate::model::knowledge::records::record::{Body, Provenance, Tags};
use crate::model::knowledge::records::vocabulary::Status;
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// How long an offer stands, in seconds.
pub const ACCEPTANCE_SECS: u32 = 15 * 60;

/// How long whoever is at work may be silent, in seconds.
pub const HEARTBEAT_SECS: u32 = 30 * 60;

/// How often work may be tried again.
pub const RETRIES: u32 = 2;

/// `memory.create`: remembers something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What else it says; the kind says which fields it has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: Fields,
    /// Of which kind.
    pub kind: Kind,
    /// Where it comes from, besides its author; by default the author alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The state it begins in, where the kind has more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Label>,
    /// What it is filed under.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What it says.
    pub text: Body,
}

impl Create {
    /// A record that says nothing but its text.
    pub fn plain(kind: Kind, text: Body) -> Self {
        Create {
            fields: Fields::default(),
            kind,
            provenance: None,
            request_id: None,
            status: None,
            tags: Tags::default(),
            text,
        }
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `memory.created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// What else it says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: Fields,
    /// Which record.
    pub id: RecordId,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// The state it begins in.
    pub status: Status,
    /// What it is filed under.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What it says.
    pub text: Body,
}
