//! Creation of records.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::record::{Body, Provenance, Tags};
use crate::model::knowledge::records::vocabulary::Status;
use crate::registry::record_id::{Kind, RecordId};
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// The default time until an offer expires, in seconds.
pub(crate) const ACCEPTANCE_SECS: u32 = 15 * 60;

/// The default time a working agent may go without a heartbeat, in seconds.
pub(crate) const HEARTBEAT_SECS: u32 = 30 * 60;

/// The default number of retries.
pub const RETRIES: u32 = 2;

/// `memory.create`: creates a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Further fields; the kind determines which are allowed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: Fields,
    /// The kind.
    pub kind: Kind,
    /// The provenance besides the author; by default derived from the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The initial state, for kinds that have more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Label>,
    /// The tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// The text.
    pub text: Body,
}

impl Create {
    /// A record with only a text.
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
    /// Further fields.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: Fields,
    /// The id of the record.
    pub id: RecordId,
    /// The provenance.
    pub provenance: Provenance,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// The initial state.
    pub status: Status,
    /// The tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// The text.
    pub text: Body,
}
