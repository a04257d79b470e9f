//! Forecasts: what a command would come to now. It is decided on a copy of the state, which is
//! dropped, so a forecast cannot differ from the decision.

use crate::machine::state::State;
use crate::machine::transaction::Transaction;
use crate::machine::transaction::on_record::Placeholders;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::offer::{Lane, Offer};
use crate::protocol::command::Command;
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::offer;
use crate::values::key::PublicKey;
use crate::values::principal::{Caller, Principal};
use crate::values::time::Timestamp;

/// The reason why a lane cannot be offered now together with `others`, which can; `None` if it can.
///
/// Of several reasons it is the one that says most: a collision, then an assignment of the plan.
pub fn obstacle(
    state: &State,
    now: Timestamp,
    who: &Principal,
    others: &[Lane],
    lane: &Lane,
) -> Result<Option<Refusal>, ApplyError> {
    let lanes = others.iter().chain([lane]).cloned().collect();
    let lanes = match Few::new(lanes) {
        Ok(lanes) => lanes,
        Err(too_many) => return Ok(Some(Refusal::denied(Rule::Limits, too_many))),
    };
    let offer = Command::MemoryOffer(Box::new(Offer { asked: None, lanes, request_id: None }));
    let mut ids = Placeholders::default();
    let mut tx = Transaction::begin(state.clone(), now, &mut ids);
    tx.tick(usize::MAX)?;
    let before = tx.state().clone();
    let principal = who.clone();
    let caller = Caller { principal, key: key_of(&before, who), session: None };
    let refused = tx.decide(&caller, &offer)?.result.err();
    Ok(refused.map(|refusal| offer::telling_reason(&before, who, lane).unwrap_or(refusal)))
}

/// The key that a principal's name is bound to. A new agent binds its name when it first asks.
fn key_of(state: &State, who: &Principal) -> PublicKey {
    let known = match who {
        Principal::Agent(name) => state.agents.get(name).map(|known| known.key),
        Principal::User(id) => state.users.get(id).map(|known| known.key),
        Principal::System => state.project.as_ref().map(|project| project.runtime_key),
    };
    known.unwrap_or(PublicKey::from_bytes([0; 32]))
}
