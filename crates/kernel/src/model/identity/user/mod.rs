//! Types of `user`: state, arguments of commands and bodies of events.

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
