//! Auditing what everybody shares, and how agents stand.

use crate::audit::work::{Audited, told};
use crate::audit::{Breach, by, cause, wrong_actor};
use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::model::identity::agent::Standing;
use crate::protocol::event::{CommonsEvent, Stamped};
use crate::rules::knowledge::blackboard::{capsule, dispute, fact, ledger, symbol};
use crate::values::name::AgentName;
use crate::values::principal::Actor;

/// Whoever is registered writes; a decision that tells of a dispute is the runtime's.
pub(crate) fn audit(state: &State, entry: &Stamped, event: CommonsEvent<'_>) -> Audited {
    told(entry.draft.workspace.is_none(), "local trail")?;
    cause::check(state, entry)?;
    let (actor, commons) = (&entry.draft.actor, &state.commons);
    match event {
        CommonsEvent::DecisionAppended(body) => match (&body.dispute, actor) {
            (None, Actor::Principal(_)) => by(entry, &body.by.clone().into()),
            (Some(id), Actor::Protocol) => {
                let story = state.story.as_ref().map(|story| &story.actor);
                let dispute = state.commons.dispute(id);
                let newest = dispute.is_some_and(|own| own.raised_by == body.by);
                told(newest && story == Some(&Actor::from(body.by.clone())), "dispute")
            }
            (None, Actor::Protocol) | (Some(_), Actor::Principal(_)) => wrong_actor(entry),
        },
        CommonsEvent::SymbolSet(body) => allowed(entry, symbol::check(commons, body).is_ok()),
        CommonsEvent::FactSet(body) => allowed(entry, fact::check(commons, body).is_ok()),
        CommonsEvent::CapsuleWritten(body) => allowed(entry, capsule::check(commons, body).is_ok()),
        CommonsEvent::DisputeRaised(body) => allowed(entry, dispute::check(commons, body).is_ok()),
        CommonsEvent::LedgerBaselined(body) => allowed(entry, ledger::check(commons, body).is_ok()),
        CommonsEvent::FactDeleted(_)
        | CommonsEvent::LedgerLogged(_)
        | CommonsEvent::MessageNoted(_) => allowed(entry, true),
    }
}

/// Whoever is registered may write it.
fn allowed(entry: &Stamped, holds: bool) -> Audited {
    told(holds, "commons")?;
    if entry.draft.actor == Actor::Protocol { wrong_actor(entry) } else { Ok(()) }
}

/// Whether somebody who may said how an agent stands, and it did not stand so before.
pub(crate) fn standing(
    state: &State,
    entry: &Stamped,
    name: &AgentName,
    before: Standing,
) -> Audited {
    told(entry.draft.workspace.is_none(), "local trail")?;
    let known = state.agents.get(name).ok_or(Breach::Tale("agent"))?;
    told(known.standing() == before, "agent")?;
    match &entry.draft.actor {
        Actor::Principal(who) if is_coordinator(state, who) => Ok(()),
        Actor::Principal(_) | Actor::Protocol => wrong_actor(entry),
    }
}
