//! Types of `standing`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

/// The four states.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// May act.
    Active,
    /// Told to wait by somebody.
    Suspended,
    /// Kept from acting by something that has to be resolved first.
    Blocked,
    /// Gone, but not forgotten.
    Deactivated,
}

impl Status {
    /// All four.
    pub const ALL: &'static [Status] =
        &[Status::Active, Status::Suspended, Status::Blocked, Status::Deactivated];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Blocked => "blocked",
            Status::Deactivated => "deactivated",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! edges {
    ($( $from:literal $to:literal $event:ident; )*) => {
        &[
            Edge { from: None, to: "active", event: Kind::UserCreated, by: "a person" },
            $( Edge { from: Some($from), to: $to, event: Kind::$event, by: "a person" }, )*
        ]
    };
}

/// The ways of a person.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "user",
    edges: edges! {
        "active" "suspended" UserSuspended;
        "active" "blocked" UserBlocked;
        "active" "deactivated" UserDeactivated;
        "suspended" "active" UserResumed;
        "suspended" "blocked" UserBlocked;
        "suspended" "deactivated" UserDeactivated;
        "blocked" "active" UserUnblocked;
        "blocked" "suspended" UserSuspended;
        "blocked" "deactivated" UserDeactivated;
        "deactivated" "active" UserReactivated;
    },
};

type Reason = Option<Text<1000>>;

macro_rules! said_of_a_user {
    ($( $(#[$doc:meta])* $name:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                /// Why, for others to read.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub reason: Option<Text<1000>>,
                /// Which person.
                pub user: UserId,
            }
        )*
    };
}

said_of_a_user! {
    /// `user.suspend`: keeps a person from acting until they are resumed.
    Suspend;
    /// `user.resume`: lets a suspended person act again.
    Resume;
    /// `user.deactivate`: a person leaves. Everything they did and own stays.
    Deactivate;
    /// `user.reactivate`: a person who left is back.
    Reactivate;
}

/// `user.block`: keeps a person from acting until something is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// What has to be resolved first.
    pub condition: Text<1000>,
    /// Which person.
    pub user: UserId,
}

/// `user.unblock`: what kept a person from acting is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unblock {
    /// What was resolved.
    pub condition: Text<1000>,
    /// Which person.
    pub user: UserId,
}

/// `user_suspended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspended {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// Who did it.
    pub suspended_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `user_resumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// Who did it.
    pub resumed_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `user_blocked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// Who did it.
    pub blocked_by: Actor,
    /// What has to be resolved first.
    pub blocking_condition: Text<1000>,
    /// The person.
    pub user_id: UserId,
}

/// `user_unblocked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unblocked {
    /// What was resolved.
    pub resolved_condition: Text<1000>,
    /// The person.
    pub user_id: UserId,
}

/// `user_deactivated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deactivated {
    /// Who did it.
    pub deactivated_by: Actor,
    /// How the person stood before.
    pub prior_state: Status,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The person.
    pub user_id: UserId,
}

/// `user_reactivated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reactivated {
    /// Who did it.
    pub reactivated_by: Actor,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The person.
    pub user_id: UserId,
}
