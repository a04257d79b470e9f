//! Users: people, who act only with their own credential, while active, as their capabilities
//! allow ([`crate::capability`]).

pub mod grant;
pub mod standing;
pub mod view;

pub use standing::{LIFECYCLE, Status};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::capability::Capability;
use crate::event::{Event, Stamped};
use crate::key::PublicKey;
use crate::name::UserId;
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};

/// What the state remembers of a user. Nobody is ever forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The key only that person can use.
    pub key: PublicKey,
    /// Who let them in.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// How they stand.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Why, if somebody said so.
    pub reason: Option<Text<1000>>,
    /// What they were granted; what everybody has is not listed.
    pub granted: BTreeSet<Capability>,
    /// What they were let in with and is not granted yet.
    pub promised: BTreeSet<Capability>,
}

impl User {
    /// Whether they hold a capability. Whether they may use it now is another question.
    pub fn holds(&self, capability: Capability) -> bool {
        capability.is_implicit() || self.granted.contains(&capability)
    }

    /// Whether they can manage people now.
    pub(crate) fn keeps_people(&self) -> bool {
        self.status == Status::Active && self.holds(Capability::DeactivateUser)
    }
}

/// `user.create`: signs up the first user, or lets another person in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What that person may do; if left out, what concerns their own workspaces. The first user
    /// may do everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    /// The public key of that person.
    pub key: PublicKey,
    /// The id of that person.
    pub user: UserId,
}

impl Create {
    /// What was asked for, each once; what everybody has needs no asking.
    pub(crate) fn asked(&self) -> Option<BTreeSet<Capability>> {
        let asked = self.capabilities.as_ref()?.iter().copied();
        Some(asked.filter(|capability| !capability.is_implicit()).collect())
    }
}

/// `user_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// What they are let in with; each is granted by an entry of its own that follows.
    pub capabilities: Vec<Capability>,
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

/// A user by their id.
pub(crate) fn get<'s>(state: &'s State, id: &UserId) -> Result<&'s User, Refusal> {
    state
        .users
        .get(id)
        .ok_or_else(|| Refusal::not_found(Rule::ReferenceKnown, format!("there is no user {id}")))
}

/// A person who can be given something to answer for.
pub(crate) fn can_own(state: &State, id: &UserId) -> Result<(), Refusal> {
    match get(state, id)?.status {
        Status::Active => Ok(()),
        status => {
            let message = format!("user {id} is {status} and is given nothing to answer for");
            Err(Refusal::denied(Rule::UserActive, message))
        }
    }
}

pub(crate) fn decide_create(
    turn: &mut Turn<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, Halt> {
    let Principal::User(creator) = &caller.principal else {
        let message = "only a user who is already in lets another person in";
        return Err(Refusal::denied(Rule::UserAdmission, message).into());
    };
    if turn.state().users.contains_key(&create.user) {
        let message = format!("the user id {} is taken", create.user);
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    if let Some((known, _)) = turn.state().users.iter().find(|(_, user)| user.key == create.key) {
        let message = format!("that key is the key of user {known}");
        return Err(Refusal::denied(Rule::UserUnique, message).into());
    }
    let capabilities = grant::to_begin_with(turn.state(), creator, create)?;
    let event = Event::UserCreated(Created {
        capabilities: capabilities.iter().copied().collect(),
        created_by: caller.principal.clone(),
        key: create.key,
        user_id: create.user.clone(),
    });
    turn.note(None, caller.principal.clone().into(), event)?;
    grant::keep_the_promise(turn, &create.user, &capabilities)?;
    turn.user_reply(&create.user)
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
    /// The people who were let in, in the order of their ids.
    pub fn users(&self) -> impl Iterator<Item = (&UserId, &User)> {
        self.users.iter()
    }

    /// The active person who was let in first.
    pub(crate) fn first_active_user(&self) -> Option<&UserId> {
        let active = self.users.iter().filter(|(_, user)| user.status == Status::Active);
        active.min_by_key(|(_, user)| user.created_at).map(|(id, _)| id)
    }

    /// Whether somebody else than this person can manage people.
    pub(crate) fn kept_without(&self, id: &UserId) -> bool {
        self.users.iter().any(|(own, user)| own != id && user.keeps_people())
    }
}
