//! Users, as shown to callers.

use serde::Serialize;

use crate::model::identity::capability::Capability;
use crate::model::identity::user::User;
use crate::model::identity::user::standing::Status;
use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// A user, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserView {
    /// The user's id.
    pub user: UserId,
    /// Their status.
    pub status: Status,
    /// When that status began.
    pub since: Timestamp,
    /// The reason for that status, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The capabilities they hold, usable while they are active.
    pub capabilities: Vec<Capability>,
    /// The user's key.
    pub key: PublicKey,
    /// The principal who admitted them.
    pub created_by: Principal,
    /// When they were admitted.
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

/// A user with the workspaces they own or caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserWork {
    /// The user.
    #[serde(flatten)]
    pub user: UserView,
    /// The active workspaces they own.
    pub owns: Vec<WorkspaceId>,
    /// The number of workspaces they ever owned.
    pub owned: usize,
    /// The active workspaces they caused.
    pub causes: Vec<WorkspaceId>,
    /// The number of workspaces they ever caused.
    pub caused: usize,
}
