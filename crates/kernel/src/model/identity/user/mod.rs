//! Users: people with a key, a status and capabilities.

pub(crate) mod grant;
pub(crate) mod standing;
pub(crate) mod view;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::model::identity::capability::Capability;
use crate::values::key::PublicKey;
use crate::values::name::UserId;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::identity::user::standing::LIFECYCLE;
pub use crate::model::identity::user::standing::Status;

/// The state's record of a user. Users are never deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The public key; only that person can use its private key.
    pub key: PublicKey,
    /// The principal who admitted them.
    pub created_by: Principal,
    /// When they were admitted.
    pub created_at: Timestamp,
    /// Their status.
    pub status: Status,
    /// When that status began.
    pub since: Timestamp,
    /// The reason for that status, if given.
    pub reason: Option<Text<1000>>,
    /// The capabilities granted to them, without the implicit ones.
    pub granted: BTreeSet<Capability>,
    /// The capabilities announced by `user_created` that no `capability_granted` has granted yet.
    pub promised: BTreeSet<Capability>,
}

impl User {
    /// Whether they hold a capability. It can only be used while they are active.
    pub fn holds(&self, capability: Capability) -> bool {
        capability.is_implicit() || self.granted.contains(&capability)
    }

    /// Whether they are active and can manage people.
    pub(crate) fn keeps_people(&self) -> bool {
        self.status == Status::Active && self.holds(Capability::DeactivateUser)
    }
}

/// `user.create`: signs up the first user, or admits another person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The capabilities of that person; by default those over their own workspaces. The first user
    /// gets all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    /// The public key of that person.
    pub key: PublicKey,
    /// The id of that person.
    pub user: UserId,
}

impl Create {
    /// The requested capabilities without duplicates and without implicit ones.
    pub(crate) fn asked(&self) -> Option<BTreeSet<Capability>> {
        let asked = self.capabilities.as_ref()?.iter().copied();
        Some(asked.filter(|capability| !capability.is_implicit()).collect())
    }
}

/// `user_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The capabilities they are admitted with; a separate entry grants each of them.
    pub capabilities: Vec<Capability>,
    /// The principal who admitted them; the first user signs up without one.
    pub created_by: Principal,
    /// The public key; only that person can use its private key.
    pub key: PublicKey,
    /// The id of that person.
    pub user_id: UserId,
}
