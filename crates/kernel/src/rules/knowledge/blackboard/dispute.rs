//! Disputes: two parties want the same surfaces, and people have to settle it. Both sides are
//! recorded.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::decision::Appended;
use crate::model::knowledge::blackboard::view::{BlackboardReply, DisputeView};
use crate::model::knowledge::blackboard::{BlackboardState, Mark};
use crate::model::knowledge::records::create::Create;
use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::record::Tags;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::registry::rule::Rule;
use crate::rules::knowledge::blackboard::{not_blank, record, room};
use crate::rules::knowledge::records::create;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;

pub use crate::model::knowledge::blackboard::dispute::*;

/// Records a dispute, and a decision that reports it.
pub(crate) fn decide_raise(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Raise,
) -> Result<Reply, DecisionError> {
    check(&tx.state().blackboard, args)?;
    tx.state().memory.room()?;
    record(tx, caller, Event::DisputeRaised(args.clone()))?;
    let event = Event::DecisionAppended(Appended {
        body: args.decision_body(),
        by: caller.principal.clone(),
        dispute: Some(args.id.clone()),
        id: Some(tx.state().memory.next(Kind::Decision)),
        title: args.decision_title(),
        via: args.via.clone(),
    });
    tx.note(None, Actor::Protocol, event)?;
    if let Some(agent) = &args.displaced_agent {
        notify(tx, caller, args, agent)?;
    }
    let dispute = tx.state().blackboard.disputes.get(&args.id);
    let dispute = dispute.ok_or(ApplyError::Unknown("the dispute"))?;
    Ok(BlackboardReply::Dispute(Box::new(DisputeView::of(&args.id, dispute))).into())
}

/// Sends a message about a dispute to the agent whose work is displaced. If there is no room for
/// one, the dispute stands all the same.
fn notify(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Raise,
    agent: &AgentName,
) -> Result<(), DecisionError> {
    let message = Create {
        fields: Fields {
            requires_ack: Some(true),
            thread: Label::new(args.id.as_str()).ok(),
            to: create::name_of(&Principal::Agent(agent.clone())),
            ..Fields::default()
        },
        kind: Kind::Message,
        provenance: None,
        request_id: None,
        status: None,
        tags: Tags::default(),
        text: Text::lossy(&args.message_text()),
    };
    match tx.attempt(|tx| create::decide(tx, caller, &message, None)) {
        Ok(_) | Err(DecisionError::Refused(_)) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Checks that the dispute has a title, is new, and is within the limits.
pub(crate) fn check(blackboard: &BlackboardState, args: &Raise) -> Result<(), Refusal> {
    not_blank(args.title.is_blank(), "the title")?;
    for (number, max, what) in [
        (args.also_preserved.len(), ALSO_PRESERVED_MAX, "branches"),
        (args.not_preserved.len(), NOT_PRESERVED_MAX, "files not preserved"),
    ] {
        if number > max {
            let message = format!("{number} {what} are named, over {max}");
            return Err(Refusal::denied(Rule::Limits, message));
        }
    }
    let disputes = &blackboard.disputes;
    if disputes.contains_key(&args.id) {
        let message = format!("conflict record already exists: {}", args.id);
        return Err(Refusal::denied(Rule::DisputeOnce, message));
    }
    room(disputes.len(), DISPUTES_MAX, "disputes", "write it down with `decision.append`")
}

pub(crate) fn apply_raised(
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
    match state.blackboard.disputes.insert(body.id.clone(), Arc::new(dispute)) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a dispute")),
    }
}
