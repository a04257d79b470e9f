//! Granting and revoking capabilities. Nobody grants what they do not hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::standing::{not_for_agents, stays_kept};
use super::{Create, get};
use crate::capability::{Capability, Denial, DenialReason};
use crate::event::Event;
use crate::name::UserId;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// `capability.grant`: lets a person do more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What they may do from now on.
    pub capability: Capability,
    /// Which person.
    pub user: UserId,
}

/// `capability.revoke`: lets a person do less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// What they may not do any more.
    pub capability: Capability,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which person.
    pub user: UserId,
}

/// `capability_granted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// What was granted.
    pub capability: Capability,
    /// Who granted it; the system to the first user.
    pub granted_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `capability_revoked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// What was taken away.
    pub capability: Capability,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who took it away.
    pub revoked_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// Everything that can be granted at all.
fn everything() -> BTreeSet<Capability> {
    Capability::ALL.iter().copied().filter(|capability| !capability.is_implicit()).collect()
}

/// What a person is let in with.
pub(super) fn to_begin_with(
    state: &State,
    creator: &UserId,
    create: &Create,
) -> Result<BTreeSet<Capability>, Refusal> {
    let Some(granter) = state.users.get(creator) else {
        if create.capabilities.is_some() {
            let message = "the first user may do everything; nothing is chosen for them";
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

/// Records what a person was let in with, one by one. The first has it from the system.
pub(super) fn keep_the_promise(
    turn: &mut Turn<'_>,
    user: &UserId,
    capabilities: &BTreeSet<Capability>,
) -> Result<(), ApplyError> {
    for capability in capabilities {
        let event = Event::CapabilityGranted(Granted {
            capability: *capability,
            granted_by: promiser(turn.state(), user).ok_or(ApplyError::Unknown("the user"))?,
            user_id: user.clone(),
        });
        turn.note(None, Actor::Protocol, event)?;
    }
    Ok(())
}

/// Who grants what a person was let in with.
pub(crate) fn promiser(state: &State, user: &UserId) -> Option<Actor> {
    let creator = &state.users.get(user)?.created_by;
    let alone = *creator == Principal::User(user.clone());
    Some(if alone { Principal::System.into() } else { creator.clone().into() })
}

/// Refuses whoever does not hold what they would grant.
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

/// Whether a capability can change hands: the person is there and has it, or has it not.
fn changeable(
    state: &State,
    user: &UserId,
    capability: Capability,
    held: bool,
) -> Result<(), Refusal> {
    if capability.is_implicit() {
        let message = format!("{capability} is everybody's: nobody grants it or takes it away");
        return Err(Refusal::denied(Rule::GrantHeld, message));
    }
    if get(state, user)?.holds(capability) != held {
        let how = if held { "does not hold" } else { "holds" };
        let message = format!("user {user} {how} {capability} as it is");
        return Err(Refusal::denied(Rule::GrantHeld, message));
    }
    Ok(())
}

pub(crate) fn decide_grant(
    turn: &mut Turn<'_>,
    caller: &Caller,
    grant: &Grant,
) -> Result<Reply, Halt> {
    not_for_agents(caller)?;
    changeable(turn.state(), &grant.user, grant.capability, false)?;
    holds(turn.state(), &caller.principal, grant.capability)?;
    let granted_by: Actor = caller.principal.clone().into();
    let event = Event::CapabilityGranted(Granted {
        capability: grant.capability,
        granted_by: granted_by.clone(),
        user_id: grant.user.clone(),
    });
    turn.note(None, granted_by, event)?;
    turn.user_reply(&grant.user)
}

pub(crate) fn decide_revoke(
    turn: &mut Turn<'_>,
    caller: &Caller,
    revoke: &Revoke,
) -> Result<Reply, Halt> {
    not_for_agents(caller)?;
    changeable(turn.state(), &revoke.user, revoke.capability, true)?;
    let keeper = get(turn.state(), &revoke.user)?.keeps_people();
    if keeper && revoke.capability == Capability::DeactivateUser {
        stays_kept(turn.state(), &revoke.user)?;
    }
    let revoked_by: Actor = caller.principal.clone().into();
    let event = Event::CapabilityRevoked(Revoked {
        capability: revoke.capability,
        reason: revoke.reason.clone(),
        revoked_by: revoked_by.clone(),
        user_id: revoke.user.clone(),
    });
    turn.note(None, revoked_by, event)?;
    turn.user_reply(&revoke.user)
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
