//! The decision log.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::record;
use crate::registry::record_id::RecordId;
use crate::values::label::{Handle, Label};
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The number of newest decisions that are listed; the records have all of them.
pub const DECISIONS_LISTED: usize = 1_000;

/// The longest title, in bytes.
const TITLE_BYTES_MAX: usize = 200;

/// The title of a decision or a dispute.
pub type Title = Text<TITLE_BYTES_MAX>;

/// The decision and its rationale.
pub type Body = Text<8000>;

/// `decision.append`: appends to the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The decision and its rationale.
    pub body: Body,
    /// The title.
    pub title: Title,
    /// The name of the server it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

/// `decision.appended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// The decision and its rationale.
    pub body: Body,
    /// The author.
    pub by: Principal,
    /// The dispute it reports, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// The record it became; entries of earlier builds do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The title.
    pub title: Title,
    /// The name of the server it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

/// The text of the record of a decision: its title on the first line, a blank line, and the rest.
pub(crate) fn text(title: &Title, body: &Body) -> record::Body {
    let title = title.as_str().split_whitespace().collect::<Vec<&str>>().join(" ");
    Text::lossy(&format!("{title}\n\n{body}"))
}

/// The title and the rest of the text of a decision, whichever way it was written. A text without
/// a title of its own is its own body.
pub fn parts(text: &str) -> (Title, String) {
    let first = text.trim_start().lines().next().unwrap_or_default().trim();
    let rest = text.split_once("\n\n").filter(|(title, _)| title.trim() == first);
    match rest {
        Some((_, rest)) if first.len() <= TITLE_BYTES_MAX && !rest.trim().is_empty() => {
            (Text::lossy(first), rest.to_owned())
        }
        _ => (Text::lossy(first), text.to_owned()),
    }
}
