//! The status of users: four states and the transitions between them.
//!
//! A transition changes what the person may do from now on and nothing else: their running work,
//! what they own and what they did stay as they are. The coordinator is notified and decides about
//! the work.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Event, Stamped, UserEvent};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::user::get;
use crate::values::name::UserId;
use crate::values::principal::{Caller, Principal};

pub use crate::model::identity::user::standing::*;

pub(crate) fn decide_suspend(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Suspend,
) -> Result<Reply, DecisionError> {
    let event = Event::UserSuspended(Suspended {
        reason: args.reason.clone(),
        suspended_by: caller.principal.clone().into(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

pub(crate) fn decide_resume(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Resume,
) -> Result<Reply, DecisionError> {
    let event = Event::UserResumed(Resumed {
        reason: args.reason.clone(),
        resumed_by: caller.principal.clone().into(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

pub(crate) fn decide_block(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Block,
) -> Result<Reply, DecisionError> {
    let event = Event::UserBlocked(Blocked {
        blocked_by: caller.principal.clone().into(),
        blocking_condition: args.condition.clone(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

pub(crate) fn decide_unblock(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Unblock,
) -> Result<Reply, DecisionError> {
    let event = Event::UserUnblocked(Unblocked {
        resolved_condition: args.condition.clone(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

pub(crate) fn decide_deactivate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Deactivate,
) -> Result<Reply, DecisionError> {
    let event = Event::UserDeactivated(Deactivated {
        deactivated_by: caller.principal.clone().into(),
        prior_state: get(tx.state(), &args.user)?.status,
        reason: args.reason.clone(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

pub(crate) fn decide_reactivate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Reactivate,
) -> Result<Reply, DecisionError> {
    let event = Event::UserReactivated(Reactivated {
        reactivated_by: caller.principal.clone().into(),
        reason: args.reason.clone(),
        user_id: args.user.clone(),
    });
    step(tx, caller, &args.user, event)
}

/// Refuses agents: they may not manage people, whatever role they hold.
pub(crate) fn not_for_agents(caller: &Caller) -> Result<(), Refusal> {
    let Principal::Agent(agent) = &caller.principal else { return Ok(()) };
    let message = format!("agent {agent} may not manage people");
    Err(Refusal::denied(Rule::PeopleAmongThemselves, message))
}

fn step(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    user: &UserId,
    event: Event,
) -> Result<Reply, DecisionError> {
    not_for_agents(caller)?;
    let before = get(tx.state(), user)?;
    if !LIFECYCLE.has_step(Some(before.status.as_str()), event.kind()) {
        let message = format!("user {user} is {}", before.status);
        let own = LIFECYCLE.edges.iter().filter(|e| e.from == Some(before.status.as_str()));
        let allowed = own.map(|edge| format!("{} ({})", edge.to, edge.event));
        return Err(Refusal::denied(Rule::UserStep, message).allowing(allowed).into());
    }
    if before.keeps_people() {
        stays_kept(tx.state(), user)?;
    }
    tx.note(None, caller.principal.clone().into(), event)?;
    tx.user_reply(user)
}

/// Refuses to leave a project without anybody who can manage people.
pub(crate) fn stays_kept(state: &State, user: &UserId) -> Result<(), Refusal> {
    if state.kept_without(user) {
        return Ok(());
    }
    let message = format!("user {user} is the last active one who can manage people");
    Err(Refusal::denied(Rule::SomebodyKeepsPeople, message))
}

/// The person an event is about, and their status after it.
pub(crate) fn outcome(event: UserEvent<'_>) -> Option<(&UserId, Status)> {
    Some(match event {
        UserEvent::UserSuspended(body) => (&body.user_id, Status::Suspended),
        UserEvent::UserResumed(body) => (&body.user_id, Status::Active),
        UserEvent::UserBlocked(body) => (&body.user_id, Status::Blocked),
        UserEvent::UserUnblocked(body) => (&body.user_id, Status::Active),
        UserEvent::UserDeactivated(body) => (&body.user_id, Status::Deactivated),
        UserEvent::UserReactivated(body) => (&body.user_id, Status::Active),
        UserEvent::UserCreated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_)
        | UserEvent::CapabilityDenied(_) => return None,
    })
}

pub(crate) fn apply_step(
    state: &mut State,
    entry: &Stamped,
    event: UserEvent<'_>,
) -> Result<(), ApplyError> {
    let kind = entry.draft.event.kind();
    let (id, to) = outcome(event).ok_or(ApplyError::Mismatch("the step"))?;
    let user = state.users.get_mut(id).ok_or(ApplyError::Unknown("the user"))?;
    if !LIFECYCLE.has_step(Some(user.status.as_str()), kind) {
        return Err(ApplyError::Mismatch("how the user stood"));
    }
    user.reason = match event {
        UserEvent::UserSuspended(body) => body.reason.clone(),
        UserEvent::UserBlocked(body) => Some(body.blocking_condition.clone()),
        UserEvent::UserDeactivated(body) => {
            if body.prior_state != user.status {
                return Err(ApplyError::Mismatch("how the user stood"));
            }
            body.reason.clone()
        }
        UserEvent::UserResumed(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserReactivated(_)
        | UserEvent::UserCreated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_)
        | UserEvent::CapabilityDenied(_) => None,
    };
    user.status = to;
    user.since = entry.at;
    Ok(())
}
