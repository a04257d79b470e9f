//! Decisions: what was settled, for whoever comes later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::view::{CommonsReply, DecisionView};
use super::{Handle, Label, Mark, record, said};
use crate::event::{Event, Stamped};
use crate::principal::{Caller, Principal};
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// How many decisions are at hand; the trail has all of them.
pub const DECISIONS_KEPT: usize = 1_000;

/// What a decision is called.
pub type Title = Text<200>;
/// What was decided, and why.
pub type Body = Text<8000>;

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What it is called.
    pub title: Title,
    /// What was decided, and why.
    pub body: Body,
    /// The dispute it tells of, if it does.
    pub dispute: Option<Handle>,
    /// Who wrote it, and when.
    pub written: Mark,
}

/// `decision.append`: writes a decision down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// What was decided, and why.
    pub body: Body,
    /// What it is called.
    pub title: Title,
    /// What it came through: the name of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

/// `decision.appended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// What was decided, and why.
    pub body: Body,
    /// Whose words they are.
    pub by: Principal,
    /// The dispute it tells of, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// What it is called.
    pub title: Title,
    /// What it came through: the name of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

pub(super) fn decide_append(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Append,
) -> Result<Reply, Halt> {
    said(args.title.is_blank(), "the title")?;
    said(args.body.is_blank(), "the decision")?;
    let event = Event::DecisionAppended(Appended {
        body: args.body.clone(),
        by: caller.principal.clone(),
        dispute: None,
        title: args.title.clone(),
        via: args.via.clone(),
    });
    record(turn, caller, event)?;
    let last = turn.state().commons.decisions.get_max();
    let (number, decision) = last.ok_or(ApplyError::Unknown("the decision"))?;
    Ok(CommonsReply::Decision(Box::new(DecisionView::of(*number, decision))).into())
}

pub(super) fn apply_appended(state: &mut State, entry: &Stamped, body: &Appended) {
    let commons = &mut state.commons;
    commons.decided += 1;
    let decision = Decision {
        title: body.title.clone(),
        body: body.body.clone(),
        dispute: body.dispute.clone(),
        written: Mark { at: entry.at, by: body.by.clone() },
    };
    commons.decisions.insert(commons.decided, Arc::new(decision));
    if commons.decisions.len() > DECISIONS_KEPT {
        commons.decisions = commons.decisions.without(&(commons.decided - DECISIONS_KEPT as u64));
    }
}
