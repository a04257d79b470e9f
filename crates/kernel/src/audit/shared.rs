//! Auditing what everybody shares, and how agents stand.

use super::work::{Audited, told};
use super::{Breach, by, cause, wrong_actor};
use crate::agent::Standing;
use crate::commons::{Commons, capsule, dispute, fact, ledger, symbol};
use crate::event::{Event, Stamped};
use crate::principal::Actor;
use crate::state::State;
use crate::workspace::is_coordinator;

/// Whoever is registered writes; a decision that tells of a dispute is the runtime's.
pub(super) fn audit(state: &State, entry: &Stamped) -> Audited {
    told(entry.draft.workspace.is_none(), "local trail")?;
    cause::check(state, entry)?;
    let actor = &entry.draft.actor;
    match &entry.draft.event {
        Event::DecisionAppended(body) => match (&body.dispute, actor) {
            (None, Actor::Principal(_)) => by(entry, &body.by.clone().into()),
            (Some(id), Actor::Protocol) => {
                let story = state.story.as_ref().map(|story| &story.actor);
                let dispute = state.commons.dispute(id);
                let newest = dispute.is_some_and(|own| own.raised_by == body.by);
                told(newest && story == Some(&Actor::from(body.by.clone())), "dispute")
            }
            _ => wrong_actor(entry),
        },
        event => {
            told(is_allowed(&state.commons, event), "commons")?;
            by_somebody(entry)
        }
    }
}

fn is_allowed(commons: &Commons, event: &Event) -> bool {
    match event {
        Event::SymbolSet(body) => symbol::check(commons, body).is_ok(),
        Event::FactSet(body) => fact::check(commons, body).is_ok(),
        Event::CapsuleWritten(body) => capsule::check(commons, body).is_ok(),
        Event::DisputeRaised(body) => dispute::check(commons, body).is_ok(),
        Event::LedgerBaselined(body) => ledger::check(commons, body).is_ok(),
        _ => true,
    }
}

fn by_somebody(entry: &Stamped) -> Audited {
    if entry.draft.actor == Actor::Protocol { wrong_actor(entry) } else { Ok(()) }
}

/// Whether somebody who may said how an agent stands, and it did not stand so before.
pub(super) fn standing(state: &State, entry: &Stamped) -> Audited {
    told(entry.draft.workspace.is_none(), "local trail")?;
    let (name, before) = match &entry.draft.event {
        Event::AgentRevoked(body) => (&body.agent, Standing::Active),
        Event::AgentReinstated(body) => (&body.agent, Standing::Revoked),
        other => return Err(Breach::NotProduced(other.kind())),
    };
    let known = state.agents.get(name).ok_or(Breach::Tale("agent"))?;
    told(known.standing() == before, "agent")?;
    match &entry.draft.actor {
        Actor::Principal(who) if is_coordinator(state, who) => Ok(()),
        _ => wrong_actor(entry),
    }
}
