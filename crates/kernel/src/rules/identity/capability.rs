//! What a person may do: the closed set of capabilities, and the one place that decides.
//!
//! A person acts while active, with a capability they hold, and with one for their own scope only
//! on the workspaces they own. Ownership is a field of every workspace, set when it is created and
//! changed by a transfer, so a tree of one's own ends where somebody else's begins by itself.
//! Agents and the system have no capabilities: roles and posts say what they may do.

use crate::machine::state::State;
use crate::model::identity::user::User;
use crate::model::knowledge::records::kind;
use crate::model::knowledge::records::kind::RecordId;
use crate::model::runs::workspace::Party;
use crate::protocol::refusal::{Record, Refusal};
use crate::registry::rule::Rule;
use crate::rules::identity::user::standing;
use crate::values::id::{AnyId, WorkspaceId};
use crate::values::name::UserId;
use crate::values::principal::Principal;

pub use crate::model::identity::capability::*;

/// Whether a person may do something to a workspace; none means the run as a whole, which is its
/// root's owner's. First they must be active, then hold a capability, then, if it is one for their
/// own scope, own the target.
pub(crate) fn may(
    state: &State,
    user: &UserId,
    permission: Permission,
    target: Option<&WorkspaceId>,
) -> Result<(), Refusal> {
    let (own, any) = permission.needs();
    let denial = |reason, capability| Denial {
        capability,
        reason,
        target: target.map(AnyId::from),
        user: user.clone(),
    };
    let person = active(state, user)
        .map_err(|no| no.recorded_as(denial(DenialReason::UserNotActive, own.or(any))))?;
    if any.is_some_and(|any| person.holds(any)) {
        return Ok(());
    }
    let held = own.filter(|own| person.holds(*own));
    if held.is_some() && is_own(state, user, permission, target) {
        return Ok(());
    }
    let needed: Vec<String> = [own, any].iter().flatten().map(ToString::to_string).collect();
    let (message, reason) = if let Some(held) = held {
        let what = target.map_or_else(|| "the run".to_owned(), |id| format!("workspace {id}"));
        let message = format!("user {user} holds {held}, but does not own {what}");
        (message, DenialReason::WrongScope)
    } else {
        let message = format!("user {user} holds none of: {}", needed.join(", "));
        (message, DenialReason::MissingCapability)
    };
    let refusal = Refusal::denied(Rule::Capability, message).allowing(needed);
    Err(refusal.recorded_as(denial(reason, held.or(own).or(any))))
}

impl Refusal {
    /// The same, recorded as a capability that was denied.
    pub(crate) fn recorded_as(self, denial: Denial) -> Self {
        self.recorded(Record::Capability(Box::new(denial)))
    }
}

/// The person, if they are active. Without a capability in question the refusal names none.
pub(crate) fn active<'s>(state: &'s State, user: &UserId) -> Result<&'s User, Refusal> {
    let denied = |message: String| {
        let denial = Denial {
            capability: None,
            reason: DenialReason::UserNotActive,
            target: None,
            user: user.clone(),
        };
        Refusal::denied(Rule::UserActive, message).recorded_as(denial)
    };
    match state.users.get(user) {
        Some(known) if known.status == standing::Status::Active => Ok(known),
        Some(known) => Err(denied(format!("user {user} is {}, not active", known.status))),
        None => Err(denied(format!("there is no user {user}"))),
    }
}

/// Whether a capability for one's own scope reaches a target.
fn is_own(
    state: &State,
    user: &UserId,
    permission: Permission,
    target: Option<&WorkspaceId>,
) -> bool {
    let Some(id) = target.or(state.root.as_ref()) else {
        // Where no run goes on there is nothing of anybody else's, but for the trail so far.
        return permission != Permission::ViewTrail;
    };
    let whole_trail = permission == Permission::ViewTrail && target.is_none();
    match state.workspaces.get(id).map(|known| &known.owner) {
        Some(Party::User(owner)) => owner == user && !whole_trail,
        // What belongs to nobody can be given to somebody.
        Some(Party::System) => permission == Permission::Transfer,
        None => false,
    }
}

impl State {
    /// The workspaces a person answers for, oldest run first.
    pub fn owned_by<'s>(&'s self, user: &'s UserId) -> impl Iterator<Item = &'s WorkspaceId> {
        let own = move |party: &Party| matches!(party, Party::User(id) if id == user);
        self.workspaces.iter().filter(move |(_, known)| own(&known.owner)).map(|(id, _)| id)
    }

    /// The workspaces a person, or the system, caused.
    pub fn originated_by<'s>(&'s self, by: &'s Party) -> impl Iterator<Item = &'s WorkspaceId> {
        let all = self.workspaces.iter();
        all.filter(move |(_, known)| known.charter.originator == *by).map(|(id, _)| id)
    }
}

/// Deeds, each with what it is done to; none is the run as a whole.
pub(crate) type Permissions = Vec<(Permission, Option<WorkspaceId>)>;

pub(crate) fn overall(permission: Permission) -> Permissions {
    vec![(permission, None)]
}

/// Whether a person may have somebody else's record take its steps.
pub(crate) fn may_end(state: &State, user: &UserId, id: RecordId) -> Result<(), Refusal> {
    active(state, user)?;
    on_record(state, user, id)
        .iter()
        .try_for_each(|(permission, _)| may(state, user, *permission, None))
}

/// Ending work that somebody else gave out takes what ending their lease takes.
pub(crate) fn on_record(state: &State, user: &UserId, id: RecordId) -> Permissions {
    let who = Principal::User(user.clone());
    let others = state.memory.record(id).is_some_and(|own| match id.kind {
        kind::Kind::Assignment => !own.is_dispatched_by(&who),
        kind::Kind::Loop => own.author != who,
        _ => false,
    });
    if others { overall(Permission::ForceLease) } else { Vec::new() }
}
