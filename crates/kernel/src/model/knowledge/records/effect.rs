//! Types of `effect`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::kind::{Kind, RecordId};
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::values::text::Text;

/// Something that followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What.
    pub action: Action,
    /// More about it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text<400>>,
    /// To which record or claim.
    pub id: RecordId,
    /// Of which kind.
    pub kind: Kind,
    /// The state it is in now.
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
