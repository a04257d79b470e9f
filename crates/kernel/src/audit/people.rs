//! Auditing what happens to people, and what people do: with which capability, and how they stood.

use crate::audit::{Breach, by, cause, step, wrong_actor};
use crate::machine::state::State;
use crate::model::identity::capability::{Capability, DenialReason};
use crate::model::identity::user::User;
use crate::model::identity::user::standing::Status;
use crate::protocol::event::{Event, Stamped, UserEvent};
use crate::rules::identity::user;
use crate::rules::identity::user::{grant, standing};
use crate::rules::permissions;
use crate::values::name::UserId;
use crate::values::principal::{Actor, Principal};

type Audited = Result<(), Breach>;

fn told(holds: bool) -> Audited {
    if holds { Ok(()) } else { Err(Breach::Tale("user")) }
}

/// Whether an entry in a person's name is one their capabilities allowed. Refusals need none.
pub(crate) fn may_cause(state: &State, entry: &Stamped) -> Audited {
    let Actor::Principal(Principal::User(id)) = &entry.draft.actor else { return Ok(()) };
    let event = &entry.draft.event;
    let refusal = matches!(
        event,
        Event::CommandRefused(_)
            | Event::CapabilityDenied(_)
            | Event::EnvelopeRejected(_)
            | Event::CheckpointRejected(_)
            | Event::WorkspaceRejected(_)
    );
    let first = state.users.is_empty() && matches!(event, Event::UserCreated(_));
    let may = refusal || first || permissions::may_have_caused(state, id, event);
    if may { Ok(()) } else { wrong_actor(entry) }
}

/// Whether something that happened to a person is in order.
pub(crate) fn audit(state: &State, entry: &Stamped, event: UserEvent<'_>) -> Audited {
    if entry.draft.workspace.is_some() {
        return Err(Breach::Tale("local trail"));
    }
    cause::check(state, entry)?;
    match event {
        UserEvent::UserCreated(body) => created(state, entry, body),
        UserEvent::CapabilityGranted(body) => granted(state, entry, body),
        UserEvent::CapabilityRevoked(body) => {
            by_person(entry, &body.revoked_by)?;
            by(entry, &body.revoked_by)?;
            let user = get(state, &body.user_id)?;
            let last = body.capability == Capability::DeactivateUser && user.keeps_people();
            stays_kept(state, &body.user_id, last)
        }
        UserEvent::CapabilityDenied(body) => {
            let Some(id) = &body.user_id else { return Err(Breach::Tale("user")) };
            if entry.draft.actor == Actor::Protocol {
                // Somebody who could not be asked, when an agent needed a person.
                return told(body.action.as_str() == "escalation" && state.users.contains_key(id));
            }
            by(entry, &Principal::User(id.clone()).into())?;
            let idle = body.reason == DenialReason::UserNotActive;
            told(idle == (get(state, id)?.status != Status::Active))
        }
        UserEvent::UserSuspended(body) => stepped(state, entry, event, Some(&body.suspended_by)),
        UserEvent::UserResumed(body) => stepped(state, entry, event, Some(&body.resumed_by)),
        UserEvent::UserBlocked(body) => stepped(state, entry, event, Some(&body.blocked_by)),
        UserEvent::UserUnblocked(_) => stepped(state, entry, event, None),
        UserEvent::UserDeactivated(body) => {
            stepped(state, entry, event, Some(&body.deactivated_by))
        }
        UserEvent::UserReactivated(body) => {
            stepped(state, entry, event, Some(&body.reactivated_by))
        }
    }
}

fn get<'s>(state: &'s State, id: &UserId) -> Result<&'s User, Breach> {
    state.users.get(id).ok_or(Breach::Tale("user"))
}

fn stays_kept(state: &State, id: &UserId, leaves: bool) -> Audited {
    if !leaves || state.kept_without(id) { Ok(()) } else { Err(Breach::Step { noun: "user" }) }
}

/// Agents have no say about people.
fn by_person(entry: &Stamped, actor: &Actor) -> Audited {
    match actor {
        Actor::Principal(Principal::User(_) | Principal::System) => Ok(()),
        _ => wrong_actor(entry),
    }
}

fn created(state: &State, entry: &Stamped, body: &user::Created) -> Audited {
    by(entry, &body.created_by.clone().into())?;
    let Principal::User(creator) = &body.created_by else { return wrong_actor(entry) };
    let key_is_new = state.users.values().all(|known| known.key != body.key);
    told(key_is_new && body.capabilities.iter().all(|c| !c.is_implicit()))?;
    if state.users.is_empty() {
        let all = body.capabilities.len() + 1 == Capability::ALL.len();
        return if *creator == body.user_id { told(all) } else { wrong_actor(entry) };
    }
    let Some(granter) = state.users.get(creator) else { return wrong_actor(entry) };
    told(body.capabilities.iter().all(|capability| granter.holds(*capability)))
}

/// What a person is let in with was promised; what else they get is granted in somebody's name.
fn granted(state: &State, entry: &Stamped, body: &grant::Granted) -> Audited {
    if entry.draft.actor == Actor::Protocol {
        let promised = get(state, &body.user_id)?.promised.contains(&body.capability);
        let by = grant::promiser(state, &body.user_id);
        return told(promised && by.as_ref() == Some(&body.granted_by));
    }
    by_person(entry, &body.granted_by)?;
    by(entry, &body.granted_by)?;
    match &body.granted_by {
        Actor::Principal(Principal::User(granter)) => {
            told(get(state, granter)?.holds(body.capability))
        }
        _ => Ok(()),
    }
}

fn stepped(state: &State, entry: &Stamped, event: UserEvent<'_>, named: Option<&Actor>) -> Audited {
    let Some((id, _)) = standing::outcome(event) else { return Err(Breach::Tale("user")) };
    by_person(entry, &entry.draft.actor)?;
    let known = get(state, id)?;
    step(&standing::LIFECYCLE, Some(known.status.as_str()), entry)?;
    stays_kept(state, id, known.keeps_people())?;
    named.map_or(Ok(()), |named| by(entry, named))
}
