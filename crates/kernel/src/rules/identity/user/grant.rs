//! Granting and revoking capabilities. Nobody can grant a capability they do not hold.

use std::collections::BTreeSet;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::{Capability, Denial, DenialReason};
use crate::model::identity::user::Create;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::user::get;
use crate::rules::identity::user::standing::{not_for_agents, stays_kept};
use crate::values::name::UserId;
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::identity::user::grant::*;

/// All capabilities that can be granted.
fn everything() -> BTreeSet<Capability> {
    Capability::ALL.iter().copied().filter(|capability| !capability.is_implicit()).collect()
}

/// The capabilities a new user is admitted with.
pub(crate) fn to_begin_with(
    state: &State,
    creator: &UserId,
    create: &Create,
) -> Result<BTreeSet<Capability>, Refusal> {
    let Some(granter) = state.users.get(creator) else {
        if create.capabilities.is_some() {
            let message = "the first user gets all capabilities; leave `capabilities` out";
            return Err(Refusal::denied(Rule::UserAdmission, message));
        }
        return Ok(everything());
    };
    let Some(asked) = create.asked() else {
        let own = Capability::OWN_SCOPE.iter().copied();
        return Ok(own.filter(|capability| granter.holds(*capability)).collect());
    };
    for capability in &asked {
        holds(state, &Principal::User(creator.clone()), *capability)?;
    }
    Ok(asked)
}

/// Records each capability a user is admitted with. The first user gets them from the system.
pub(crate) fn keep_the_promise(
    tx: &mut Transaction<'_>,
    user: &UserId,
    capabilities: &BTreeSet<Capability>,
) -> Result<(), ApplyError> {
    for capability in capabilities {
        let event = Event::CapabilityGranted(Granted {
            capability: *capability,
            granted_by: promiser(tx.state(), user).ok_or(ApplyError::Unknown("the user"))?,
            user_id: user.clone(),
        });
        tx.note(None, Actor::Protocol, event)?;
    }
    Ok(())
}

/// The actor who grants the capabilities a user was admitted with.
pub(crate) fn promiser(state: &State, user: &UserId) -> Option<Actor> {
    let creator = &state.users.get(user)?.created_by;
    let alone = *creator == Principal::User(user.clone());
    Some(if alone { Principal::System.into() } else { creator.clone().into() })
}

/// Refuses to grant a capability that the granter does not hold.
fn holds(state: &State, granter: &Principal, capability: Capability) -> Result<(), Refusal> {
    let Principal::User(id) = granter else { return Ok(()) };
    if get(state, id)?.holds(capability) {
        return Ok(());
    }
    let message = format!("user {id} does not hold {capability} and cannot grant it");
    let denial = Denial {
        capability: Some(capability),
        reason: DenialReason::MissingCapability,
        target: None,
        user: id.clone(),
    };
    Err(Refusal::denied(Rule::GrantHeld, message).recorded_as(denial))
}

/// Refuses to grant or revoke an implicit capability, to grant one that is held, or to revoke one
/// that is not.
fn changeable(
    state: &State,
    user: &UserId,
    capability: Capability,
    held: bool,
) -> Result<(), Refusal> {
    if capability.is_implicit() {
        let message = format!("every user has {capability}; it cannot be granted or revoked");
        return Err(Refusal::denied(Rule::GrantHeld, message));
    }
    if get(state, user)?.holds(capability) != held {
        let how = if held { "does not hold" } else { "already holds" };
        let message = format!("user {user} {how} {capability}");
        return Err(Refusal::denied(Rule::GrantHeld, message));
    }
    Ok(())
}

pub(crate) fn decide_grant(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    grant: &Grant,
) -> Result<Reply, DecisionError> {
    not_for_agents(caller)?;
    changeable(tx.state(), &grant.user, grant.capability, false)?;
    holds(tx.state(), &caller.principal, grant.capability)?;
    let granted_by: Actor = caller.principal.clone().into();
    let event = Event::CapabilityGranted(Granted {
        capability: grant.capability,
        granted_by: granted_by.clone(),
        user_id: grant.user.clone(),
    });
    tx.note(None, granted_by, event)?;
    tx.user_reply(&grant.user)
}

pub(crate) fn decide_revoke(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    revoke: &Revoke,
) -> Result<Reply, DecisionError> {
    not_for_agents(caller)?;
    changeable(tx.state(), &revoke.user, revoke.capability, true)?;
    let keeper = get(tx.state(), &revoke.user)?.keeps_people();
    if keeper && revoke.capability == Capability::DeactivateUser {
        stays_kept(tx.state(), &revoke.user)?;
    }
    let revoked_by: Actor = caller.principal.clone().into();
    let event = Event::CapabilityRevoked(Revoked {
        capability: revoke.capability,
        reason: revoke.reason.clone(),
        revoked_by: revoked_by.clone(),
        user_id: revoke.user.clone(),
    });
    tx.note(None, revoked_by, event)?;
    tx.user_reply(&revoke.user)
}

pub(crate) fn apply_granted(state: &mut State, granted: &Granted) -> Result<(), ApplyError> {
    let user = state.users.get_mut(&granted.user_id).ok_or(ApplyError::Unknown("the user"))?;
    user.promised.remove(&granted.capability);
    let fresh = !granted.capability.is_implicit() && user.granted.insert(granted.capability);
    if fresh { Ok(()) } else { Err(ApplyError::Twice("the grant of a capability")) }
}

pub(crate) fn apply_revoked(state: &mut State, revoked: &Revoked) -> Result<(), ApplyError> {
    let user = state.users.get_mut(&revoked.user_id).ok_or(ApplyError::Unknown("the user"))?;
    let held = user.granted.remove(&revoked.capability);
    if held { Ok(()) } else { Err(ApplyError::Mismatch("what the user holds")) }
}
