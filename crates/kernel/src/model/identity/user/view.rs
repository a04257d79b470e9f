//! Types of `view`: state, arguments of commands and bodies of events.

use serde::Serialize;

use crate::model::identity::capability::Capability;
use crate::model::identity::user::User;
use crate::model::identity::user::standing::Status;
use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// A user, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserView {
    /// The user's id.
    pub user: UserId,
    /// How they stand.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Why, if somebody said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What they may do while they are active.
    pub capabilities: Vec<Capability>,
    /// The user's key.
    pub key: PublicKey,
    /// Who let them in.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
}

impl UserView {
    pub(crate) fn of(id: &UserId, user: &User) -> Self {
        let all = Capability::ALL.iter().copied();
        UserView {
            user: id.clone(),
            status: user.status,
            since: user.since,
            reason: user.reason.as_ref().map(ToString::to_string),
            capabilities: all.filter(|capability| user.holds(*capability)).collect(),
            key: user.key,
            created_by: user.created_by.clone(),
            created_at: user.created_at,
        }
    }
}

/// A user with the work that is theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserWork {
    /// The user.
    #[serde(flatten)]
    pub user: UserView,
    /// The workspaces that go on and that they answer for.
    pub owns: Vec<WorkspaceId>,
    /// How many they answered for in all.
    pub owned: usize,
    /// The workspaces that go on because of them.
    pub causes: Vec<WorkspaceId>,
    /// How many there were because of them in all.
    pub caused: usize,
}
