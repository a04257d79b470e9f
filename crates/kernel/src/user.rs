//! Users: people, who act only with their own credential.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Stamped};
use crate::key::PublicKey;
use crate::name::UserId;
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};

/// What the state remembers of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The key only that person can use.
    pub key: PublicKey,
    /// Who let them in.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
}

/// `user.create`: signs up the first user, or lets another person in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The public key of that person.
    pub key: PublicKey,
    /// The id of that person.
    pub user: UserId,
}

/// `user_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// Who let them in; the first user did so alone.
    pub created_by: Principal,
    /// The key only that person can use.
    pub key: PublicKey,
    /// The id of that person.
    pub user_id: UserId,
}

/// Whether somebody who is not known yet may issue this command: only to sign up first.
pub(crate) fn is_first_sign_up(state: &State, caller: &Caller, create: &Create) -> bool {
    let own = caller.principal == Principal::User(create.user.clone()) && caller.key == create.key;
    own && state.users.is_empty()
}

pub(crate) fn admit(turn: &Turn<'_>, id: &UserId, key: PublicKey) -> Result<(), Halt> {
    let reason = match turn.state().users.get(id) {
        Some(known) if known.key == key => return Ok(()),
        Some(_) => "the user id is bound to another key",
        None => "no such user has been let in",
    };
    Err(Halt::NotAuthentic { entity: Principal::User(id.clone()), reason })
}

pub(crate) fn decide_create(
    turn: &mut Turn<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, Halt> {
    if !matches!(caller.principal, Principal::User(_)) {
        let message = "only a user who is already in lets another person in";
        return Err(Refusal::denied(Rule::UserAdmission, message).into());
    }
    if turn.state().users.contains_key(&create.user) {
        let message = format!("the user id {} is taken", create.user);
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    if let Some((known, _)) = turn.state().users.iter().find(|(_, user)| user.key == create.key) {
        let message = format!("that key is the key of user {known}");
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    let event = Event::UserCreated(Created {
        created_by: caller.principal.clone(),
        key: create.key,
        user_id: create.user.clone(),
    });
    let draft = turn.project_draft(caller.principal.clone().into(), event)?;
    turn.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let user =
        User { key: created.key, created_by: created.created_by.clone(), created_at: entry.at };
    match state.users.insert(created.user_id.clone(), user) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a user's admission")),
    }
}
