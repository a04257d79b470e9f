//! Side effects of a step on other records and leases.

use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::registry::record_id::{Kind, RecordId};
use crate::values::text::Text;

/// A side effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The change.
    pub action: Action,
    /// Details, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text<400>>,
    /// The record or claim that changed.
    pub id: RecordId,
    /// Its kind.
    pub kind: Kind,
    /// Its new state, if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Status>,
}

impl Effect {
    pub(crate) fn new(action: Action, id: RecordId) -> Self {
        Effect { action, detail: None, id, kind: id.kind, to: None }
    }

    pub(crate) fn to(self, to: Status) -> Self {
        Effect { to: Some(to), ..self }
    }

    pub(crate) fn saying(self, detail: &str) -> Self {
        Effect { detail: Some(Text::lossy(detail)), ..self }
    }
}
