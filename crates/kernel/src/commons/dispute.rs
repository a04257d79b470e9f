//! Disputes: two want the same surfaces, and people have to settle it. Both sides are on record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::decision::{Appended, Body, Title};
use super::view::{CommonsReply, DisputeView};
use super::{Commons, Handle, Label, Mark, record, room, said};
use crate::event::{Event, Stamped};
use crate::lease::Surfaces;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

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

/// A dispute is raised, and a decision tells of it.
pub(super) fn decide_raise(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Raise,
) -> Result<Reply, Halt> {
    check(&turn.state().commons, args)?;
    record(turn, caller, Event::DisputeRaised(args.clone()))?;
    let told = Event::DecisionAppended(Appended {
        body: args.decision_body(),
        by: caller.principal.clone(),
        dispute: Some(args.id.clone()),
        title: args.decision_title(),
        via: args.via.clone(),
    });
    turn.note(None, Actor::Protocol, told)?;
    let dispute = turn.state().commons.disputes.get(&args.id);
    let dispute = dispute.ok_or(ApplyError::Unknown("the dispute"))?;
    Ok(CommonsReply::Dispute(Box::new(DisputeView::of(&args.id, dispute))).into())
}

/// Whether it says something, is new, and there is room for it.
pub(crate) fn check(commons: &Commons, args: &Raise) -> Result<(), Refusal> {
    said(args.title.is_blank(), "the title")?;
    for (number, max, what) in [
        (args.also_preserved.len(), ALSO_PRESERVED_MAX, "branches"),
        (args.not_preserved.len(), NOT_PRESERVED_MAX, "files not preserved"),
    ] {
        if number > max {
            let message = format!("{number} {what} are named, over {max}");
            return Err(Refusal::denied(Rule::Limits, message));
        }
    }
    let disputes = &commons.disputes;
    if disputes.contains_key(&args.id) {
        let message = format!("conflict record already exists: {}", args.id);
        return Err(Refusal::denied(Rule::DisputeOnce, message));
    }
    room(disputes.len(), DISPUTES_MAX, "disputes", "write it down with `decision.append`")
}

pub(super) fn apply_raised(
    state: &mut State,
    entry: &Stamped,
    body: &Raise,
) -> Result<(), ApplyError> {
    let dispute = Dispute {
        title: body.title.clone(),
        surfaces: body.surfaces.clone(),
        displaced: body.displaced.clone(),
        overriding_intent: body.overriding_intent.clone(),
        displaced_intent: body.displaced_intent.clone(),
        preserved_branch: body.preserved_branch.clone(),
        also_preserved: body.also_preserved.clone(),
        not_preserved: body.not_preserved.clone(),
        conflict_branch: body.conflict_branch.clone(),
        via: body.via.clone(),
        raised: Mark::of(entry)?,
    };
    match state.commons.disputes.insert(body.id.clone(), Arc::new(dispute)) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a dispute")),
    }
}
