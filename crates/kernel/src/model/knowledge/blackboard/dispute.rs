//! Disputes: one principal's work displaces another's; the displaced work is preserved on branches.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::decision::{Body, Title};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::surfaces::Surface;
use crate::values::label::{Handle, Label};
use crate::values::name::AgentName;
use crate::values::text::Text;

/// The most disputes in a project.
pub(crate) const DISPUTES_MAX: usize = 2_000;

/// The most branches besides the first that preserve displaced work.
pub const ALSO_PRESERVED_MAX: usize = 32;

/// The most files listed as not preserved.
pub const NOT_PRESERVED_MAX: usize = 64;

/// The intent of a party to the dispute.
pub type Intent = Text<1000>;

/// The name of a branch.
pub type Branch = Text<250>;

/// A file that was not preserved, and why.
pub type NotPreserved = Text<500>;

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// The title.
    pub title: Title,
    /// The surfaces in dispute.
    pub surfaces: Surfaces,
    /// The party whose work is displaced.
    pub displaced: Option<Label>,
    /// The intent of the party who raised it.
    pub overriding_intent: Option<Intent>,
    /// The intent of the displaced party.
    pub displaced_intent: Option<Intent>,
    /// The branch that preserves the displaced work.
    pub preserved_branch: Option<Branch>,
    /// Further such branches, if the work was in several places.
    pub also_preserved: Vec<Branch>,
    /// Displaced work that is on none of them.
    pub not_preserved: Vec<NotPreserved>,
    /// The branch with the record for review.
    pub conflict_branch: Option<Branch>,
    /// The name of the server it came through.
    pub via: Option<Label>,
    /// Who raised it, and when.
    pub raised: Mark,
}

/// `dispute.raise` and `dispute.raised`: records a dispute, once per id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raise {
    /// Further branches that preserve displaced work, if it was in several places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub also_preserved: Vec<Branch>,
    /// The branch with the record for review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_branch: Option<Branch>,
    /// The party whose work is displaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Label>,
    /// The agent whose work is displaced; a message about the dispute goes to its inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced_agent: Option<AgentName>,
    /// The intent of the displaced party.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced_intent: Option<Intent>,
    /// The id of the dispute.
    pub id: Handle,
    /// Displaced work that is on no branch, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub not_preserved: Vec<NotPreserved>,
    /// The intent of the party who raises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overriding_intent: Option<Intent>,
    /// The branch that preserves the displaced work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved_branch: Option<Branch>,
    /// The surfaces in dispute.
    pub surfaces: Surfaces,
    /// The title.
    pub title: Title,
    /// The name of the server it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

impl Raise {
    /// The title of the decision that reports it.
    pub(crate) fn decision_title(&self) -> Title {
        Text::lossy(&format!("conflict {} raised", self.id))
    }

    /// The text of the message to the agent whose work is displaced.
    pub(crate) fn message_text(&self) -> String {
        let surfaces: Vec<&str> = self.surfaces.as_slice().iter().map(Surface::as_str).collect();
        let head =
            format!("Conflict {} over {}: {}", self.id, surfaces.join(", "), self.title.as_str());
        let intent = self.overriding_intent.as_ref();
        let intent = intent.map(|intent| format!("They want: {}", intent.as_str()));
        let branch = self.preserved_branch.as_ref();
        let branch = branch.map(|name| format!("Your work is kept on branch {}.", name.as_str()));
        [Some(head), intent, branch].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// The body of that decision.
    pub(crate) fn decision_body(&self) -> Body {
        Text::lossy(self.title.as_str())
    }
}
