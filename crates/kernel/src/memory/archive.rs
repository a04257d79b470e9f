//! `memory.archive`: a record that is over leaves, and what time does to records. The trail keeps
//! what they said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assign;
use super::effect::{self, Effect};
use super::kind::{Kind, RecordId};
use super::request::Mark;
use super::view::MemoryReply;
use super::word::Status;
use super::{change, expect, moving, record, remove};
use crate::commons::Label;
use crate::event::{Event, Stamped};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Turn};

/// `memory.archive`: takes a record that is over out of what is at hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// The version it is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which record. An assignment that goes on is cancelled with it.
    pub id: RecordId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// `memory.archived`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archived {
    /// What followed.
    pub effects: Vec<Effect>,
    /// Which record.
    pub id: RecordId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
}

/// `memory.expired`: something stopped to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// Which record.
    pub id: RecordId,
}

pub(super) fn decide(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Archive,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    let body = plan(turn.state(), &caller.principal, args)?;
    record(turn, caller, Event::MemoryArchived(Box::new(Archived { request: mark, ..body })))
}

/// What archiving it comes to, if the rules allow it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Archive) -> Result<Archived, Refusal> {
    let own = state.memory.get_for(asked.id, who)?;
    expect(own, asked.expected_version)?;
    assign::may_write(state, who, own)?;
    let mut effects = Vec::new();
    if own.id.kind == Kind::Assignment && own.is_live() {
        assign::may_move(state, who, own, Status::Cancelled, false)?;
        effects.extend(effect::of_claim(state, own));
        effects.extend(moving::of_no_use(state, own));
    } else if own.is_live() && !own.is_terminal() {
        let message = format!("{} is {}; what goes on is not archived", own.id, own.status);
        let ways = own.table().ways_from(own.status).into_iter();
        let refusal = Refusal::denied(Rule::RecordOver, message);
        return Err(refusal.allowing(ways.map(|to| to.to_string())));
    }
    Ok(Archived { effects, id: own.id, reason: asked.reason.clone(), request: None })
}

pub(super) fn apply(state: &mut State, entry: &Stamped, body: &Archived) -> Result<(), ApplyError> {
    remove(state, body.id)?;
    moving::apply_others(state, entry, &body.effects)
}

/// What is due for a record whose time is over.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, id: RecordId) -> Result<(), ApplyError> {
    turn.note(None, Actor::Protocol, Event::MemoryExpired(Expired { id }))
}

pub(super) fn apply_expired(
    state: &mut State,
    entry: &Stamped,
    body: &Expired,
) -> Result<(), ApplyError> {
    change(state, entry, body.id, |own| own.enter(Status::Expired, entry.at))
}
