//! Records of successful authentications.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::Principal;

/// An authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A key that belongs to the agent.
    Key,
    /// A key encrypted with a passphrase that only that person knows.
    SealedKey,
}

/// `authentication_succeeded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succeeded {
    /// The principal who authenticated.
    pub entity: Principal,
    /// The key that was proved.
    pub key: PublicKey,
    /// The method.
    pub method: Method,
    /// The session it is valid for, if it is limited to one.
    pub session: Option<WorkspaceId>,
    /// The user, if the principal is a person.
    pub user_id: Option<UserId>,
}

/// `runtime.authentic`: records a successful authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteAuthentic {
    /// The principal who authenticated.
    pub entity: Principal,
    /// The key that was proved.
    pub key: PublicKey,
}
