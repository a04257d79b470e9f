//! Types of `authentication`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::Principal;

/// How somebody showed who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// With a key that is the agent's own.
    Key,
    /// With a key that opens with a passphrase only that person knows.
    SealedKey,
}

/// `authentication_succeeded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succeeded {
    /// Who it is.
    pub entity: Principal,
    /// The key that showed it.
    pub key: PublicKey,
    /// How.
    pub method: Method,
    /// The session it counts for, if it is for one alone.
    pub session: Option<WorkspaceId>,
    /// The person, if it is one.
    pub user_id: Option<UserId>,
}

/// `runtime.authentic`: notes that a door was shown who somebody is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteAuthentic {
    /// Who it is.
    pub entity: Principal,
    /// The key that showed it.
    pub key: PublicKey,
}
