//! Capabilities of people, and the one place that decides permissions.
//!
//! A person can act while active, with a capability they hold, and with one for their own scope
//! only on the workspaces they own. Ownership is a field of every workspace, set at creation and
//! changed by a transfer, so one owner's subtree ends where another's begins. Agents and the system
//! have no capabilities: their roles determine what they may do.

use crate::machine::state::State;
use crate::model::identity::user::User;
use crate::model::runs::workspace::Party;
use crate::protocol::refusal::{Record, Refusal};
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::identity::user::standing;
use crate::values::id::{AnyId, WorkspaceId};
use crate::values::name::UserId;
use crate::values::principal::Principal;

pub use crate::model::identity::capability::*;

/// Checks whether a person may do something to a workspace; `None` means the run as a whole, which
/// belongs to its root's owner. They must be active, then hold a capability, then, if it is one for
/// their own scope, own the target.
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
    /// Has the refusal recorded as `capability_denied`.
    pub(crate) fn recorded_as(self, denial: Denial) -> Self {
        self.recorded(Record::Capability(Box::new(denial)))
    }
}

/// Returns the user if active. The refusal names no capability.
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

/// Whether a capability for one's own scope covers a target.
fn is_own(
    state: &State,
    user: &UserId,
    permission: Permission,
    target: Option<&WorkspaceId>,
) -> bool {
    let Some(id) = target.or(state.root.as_ref()) else {
        // Without a run there is nothing that others own, except the trail so far.
        return permission != Permission::ViewTrail;
    };
    let whole_trail = permission == Permission::ViewTrail && target.is_none();
    match state.workspaces.get(id).map(|known| &known.owner) {
        Some(Party::User(owner)) => owner == user && !whole_trail,
        // A workspace owned by the system can be transferred to a person.
        Some(Party::System) => permission == Permission::Transfer,
        None => false,
    }
}

impl State {
    /// The workspaces a person owns, oldest run first.
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

/// Permissions, each with its target; `None` is the run as a whole.
pub(crate) type Permissions = Vec<(Permission, Option<WorkspaceId>)>;

pub(crate) fn overall(permission: Permission) -> Permissions {
    vec![(permission, None)]
}

/// Whether a person may move another principal's record.
pub(crate) fn may_end(state: &State, user: &UserId, id: RecordId) -> Result<(), Refusal> {
    active(state, user)?;
    on_record(state, user, id)
        .iter()
        .try_for_each(|(permission, _)| may(state, user, *permission, None))
}

/// The permissions for moving a record: ending work dispatched by others requires the permission to
/// end their leases.
pub(crate) fn on_record(state: &State, user: &UserId, id: RecordId) -> Permissions {
    let who = Principal::User(user.clone());
    let others = state.memory.record(id).is_some_and(|own| match id.kind {
        Kind::Assignment => !own.is_dispatched_by(&who),
        Kind::Loop => own.author != who,
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Plan
        | Kind::Claim
        | Kind::Handoff
        | Kind::Candidate
        | Kind::Message
        | Kind::Sequence
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => false,
    });
    if others { overall(Permission::ForceLease) } else { Vec::new() }
}
