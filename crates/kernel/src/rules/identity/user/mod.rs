//! Users: people, who act with their own credential, while active, as their capabilities allow
//! ([`crate::capability`]).

pub mod grant;
pub mod standing;
pub mod view;

use std::collections::BTreeSet;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::{Caller, Principal};

pub use crate::model::identity::user::*;

/// Whether this is the sign-up of the first user, the only command an unknown person may issue.
pub(crate) fn is_first_sign_up(state: &State, caller: &Caller, create: &Create) -> bool {
    let own = caller.principal == Principal::User(create.user.clone()) && caller.key == create.key;
    own && state.users.is_empty()
}

pub(crate) fn admit(
    tx: &Transaction<'_>,
    id: &UserId,
    key: PublicKey,
) -> Result<(), DecisionError> {
    let reason = match tx.state().users.get(id) {
        Some(known) if known.key == key => return Ok(()),
        Some(_) => "the user id is bound to another key",
        None => "there is no such user",
    };
    Err(DecisionError::NotAuthentic { entity: Principal::User(id.clone()), reason })
}

/// A user by id, or a refusal if there is none.
pub(crate) fn get<'s>(state: &'s State, id: &UserId) -> Result<&'s User, Refusal> {
    state
        .users
        .get(id)
        .ok_or_else(|| Refusal::not_found(Rule::ReferenceKnown, format!("there is no user {id}")))
}

/// Checks that a person can be made an owner.
pub(crate) fn can_own(state: &State, id: &UserId) -> Result<(), Refusal> {
    match get(state, id)?.status {
        Status::Active => Ok(()),
        status => {
            let message = format!("user {id} is {status} and cannot own workspaces");
            Err(Refusal::denied(Rule::UserActive, message))
        }
    }
}

pub(crate) fn decide_create(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, DecisionError> {
    let Principal::User(creator) = &caller.principal else {
        let message = "only an existing user admits another person";
        return Err(Refusal::denied(Rule::UserAdmission, message).into());
    };
    if tx.state().users.contains_key(&create.user) {
        let message = format!("the user id {} is taken", create.user);
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    if let Some((known, _)) = tx.state().users.iter().find(|(_, user)| user.key == create.key) {
        let message = format!("that key already belongs to user {known}");
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    let capabilities = grant::to_begin_with(tx.state(), creator, create)?;
    let event = Event::UserCreated(Created {
        capabilities: capabilities.iter().copied().collect(),
        created_by: caller.principal.clone(),
        key: create.key,
        user_id: create.user.clone(),
    });
    tx.note(None, caller.principal.clone().into(), event)?;
    grant::keep_the_promise(tx, &create.user, &capabilities)?;
    tx.user_reply(&create.user)
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let user = User {
        key: created.key,
        created_by: created.created_by.clone(),
        created_at: entry.at,
        status: Status::Active,
        since: entry.at,
        reason: None,
        granted: BTreeSet::new(),
        promised: created.capabilities.iter().copied().collect(),
    };
    match state.users.insert(created.user_id.clone(), user) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a user's admission")),
    }
}

impl State {
    /// The users, sorted by id.
    pub fn users(&self) -> impl Iterator<Item = (&UserId, &User)> {
        self.users.iter()
    }

    /// The active user who was admitted first.
    pub(crate) fn first_active_user(&self) -> Option<&UserId> {
        let active = self.users.iter().filter(|(_, user)| user.status == Status::Active);
        active.min_by_key(|(_, user)| user.created_at).map(|(id, _)| id)
    }

    /// Whether anybody else than this person can manage people.
    pub(crate) fn kept_without(&self, id: &UserId) -> bool {
        self.users.iter().any(|(own, user)| own != id && user.keeps_people())
    }
}
