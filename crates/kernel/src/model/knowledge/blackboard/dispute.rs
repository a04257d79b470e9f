//! Types of `dispute`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::decision::{Body, Title};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::values::label::{Handle, Label};
use crate::values::text::Text;

/// The most disputes of a project.
pub const DISPUTES_MAX: usize = 2_000;

/// The most branches that keep displaced work besides the first.
pub const ALSO_PRESERVED_MAX: usize = 32;

/// The most files that are named as not preserved.
pub const NOT_PRESERVED_MAX: usize = 64;

/// What somebody wants.
pub type Intent = Text<1000>;

/// The name of a branch.
pub type Branch = Text<250>;

/// A file that was not preserved, and why.
pub type NotPreserved = Text<500>;

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// What it is called.
    pub title: Title,
    /// What it is about.
    pub surfaces: Surfaces,
    /// Whose work has to give way.
    pub displaced: Option<Label>,
    /// What whoever raised it wants.
    pub overriding_intent: Option<Intent>,
    /// What the other wants.
    pub displaced_intent: Option<Intent>,
    /// The branch that keeps the displaced work.
    pub preserved_branch: Option<Branch>,
    /// Further branches that do: work lay in several places.
    pub also_preserved: Vec<Branch>,
    /// What of it is on none of them.
    pub not_preserved: Vec<NotPreserved>,
    /// The branch that has the record for review.
    pub conflict_branch: Option<Branch>,
    /// What it came through.
    pub via: Option<Label>,
    /// Who raised it, and when.
    pub raised: Mark,
}

/// `dispute.raise`, and `dispute.raised`: puts a dispute on record, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raise {
    /// Further branches that keep displaced work: it lay in several places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub also_preserved: Vec<Branch>,
    /// The branch that has the record for review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_branch: Option<Branch>,
    /// Whose work has to give way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Label>,
    /// What the other wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced_intent: Option<Intent>,
    /// The dispute.
    pub id: Handle,
    /// What of the displaced work is on no branch, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub not_preserved: Vec<NotPreserved>,
    /// What whoever raises it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overriding_intent: Option<Intent>,
    /// The branch that keeps the displaced work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved_branch: Option<Branch>,
    /// What it is about.
    pub surfaces: Surfaces,
    /// What it is called.
    pub title: Title,
    /// What it came through: the name of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

impl Raise {
    /// What the decision that tells of it is called.
    pub fn decision_title(&self) -> Title {
        Text::lossy(&format!("conflict {} raised", self.id))
    }

    /// What that decision says.
    pub fn decision_body(&self) -> Body {
        Text::lossy(self.title.as_str())
    }
}
