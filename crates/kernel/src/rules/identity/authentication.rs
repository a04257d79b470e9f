//! Recording of successful authentications.
//!
//! Failures are recorded every time. Success is recorded once: when a key is first used for a name,
//! again for every session opened separately, again after a failure, and whenever authentication
//! was all that was asked for (`althing login`). It is not recorded with every command: each
//! already names its caller, mostly with a signature.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Draft, Event};
use crate::protocol::refusal::AuthenticationFailed;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;

pub use crate::model::identity::authentication::*;

fn succeeded(entity: &Principal, key: PublicKey, session: Option<WorkspaceId>) -> Event {
    let (method, user_id) = match entity {
        Principal::User(id) => (Method::SealedKey, Some(id.clone())),
        Principal::Agent(_) | Principal::System => (Method::Key, None),
    };
    Event::AuthenticationSucceeded(Succeeded {
        entity: entity.clone(),
        key,
        method,
        session,
        user_id,
    })
}

/// Records that a caller authenticated, unless that is already recorded.
pub(crate) fn record(tx: &mut Transaction<'_>, caller: &Caller) -> Result<(), DecisionError> {
    let state = tx.state();
    let own = |id: &&WorkspaceId| {
        state.sessions.get(*id).is_some_and(|session| {
            !session.standing && Principal::Agent(session.agent.clone()) == caller.principal
        })
    };
    let session = caller.session.as_ref().filter(own).cloned();
    let known = state.authenticated.get(&(caller.principal.clone(), session.clone()));
    if known == Some(&caller.key) {
        return Ok(());
    }
    put(tx, succeeded(&caller.principal, caller.key, session), &caller.principal)
}

pub(crate) fn decide_authentic(
    tx: &mut Transaction<'_>,
    note: &NoteAuthentic,
) -> Result<Reply, DecisionError> {
    let known = match &note.entity {
        Principal::Agent(name) => tx.state().agents.get(name).map(|agent| agent.key),
        Principal::User(id) => tx.state().users.get(id).map(|user| user.key),
        Principal::System => None,
    };
    if known != Some(note.key) {
        let (entity, reason) = (note.entity.clone(), "the name is bound to another key");
        return Err(DecisionError::NotAuthentic { entity, reason });
    }
    put(tx, succeeded(&note.entity, note.key, None), &note.entity)?;
    Ok(Reply::Done)
}

fn put(tx: &mut Transaction<'_>, event: Event, entity: &Principal) -> Result<(), DecisionError> {
    let stream = match entity {
        Principal::Agent(name) => Stream::agent(name),
        Principal::User(_) | Principal::System => Stream::project(&tx.project()?.id),
    };
    let (actor, workspace, correlation, causation) = (Actor::Protocol, None, None, None);
    tx.emit(Draft { actor, workspace, stream, correlation, causation, event })?;
    Ok(())
}

pub(crate) fn apply_succeeded(state: &mut State, body: &Succeeded) -> Result<(), ApplyError> {
    if !is_bound(state, &body.entity, &body.key) {
        return Err(ApplyError::Mismatch("the key of whoever was authenticated"));
    }
    state.authenticated.insert((body.entity.clone(), body.session.clone()), body.key);
    Ok(())
}

/// Whether a name is bound to a key.
fn is_bound(state: &State, entity: &Principal, key: &PublicKey) -> bool {
    match entity {
        Principal::Agent(name) => state.agents.get(name).is_some_and(|known| known.key == *key),
        Principal::User(id) => state.users.get(id).is_some_and(|known| known.key == *key),
        Principal::System => false,
    }
}

/// Forgets an entity's successes after a failure, so that the next one is recorded again.
pub(crate) fn apply_failed(state: &mut State, failed: &AuthenticationFailed) {
    let from = state.authenticated.range((failed.entity.clone(), None)..);
    let own = from.take_while(|((entity, _), _)| *entity == failed.entity);
    let own: Vec<_> = own.map(|(key, _)| key.clone()).collect();
    for key in own {
        state.authenticated.remove(&key);
    }
}
