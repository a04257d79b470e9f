//! The status of users: suspending, blocking, deactivating, and the way back.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::closed_set::closed_set;
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

closed_set! {
    /// The status of a user.
    Status {
        /// Can act.
        Active "active",
        /// Kept from acting by another person.
        Suspended "suspended",
        /// Kept from acting until a condition is resolved.
        Blocked "blocked",
        /// Has left; their record stays.
        Deactivated "deactivated",
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

/// The lifecycle of a user.
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

macro_rules! orders_about_a_user {
    ($( $(#[$doc:meta])* $name:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                /// The reason, shown to others.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub reason: Option<Text<1000>>,
                /// The person.
                pub user: UserId,
            }
        )*
    };
}

orders_about_a_user! {
    /// `user.suspend`: keeps a person from acting until they are resumed.
    Suspend;
    /// `user.resume`: lets a suspended person act again.
    Resume;
    /// `user.deactivate`: records that a person has left. Everything they did and own stays.
    Deactivate;
    /// `user.reactivate`: records that a person who left is back.
    Reactivate;
}

/// `user.block`: keeps a person from acting until a condition is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The condition that has to be resolved first.
    pub condition: Text<1000>,
    /// The person.
    pub user: UserId,
}

/// `user.unblock`: records that the blocking condition is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unblock {
    /// The condition that was resolved.
    pub condition: Text<1000>,
    /// The person.
    pub user: UserId,
}

/// `user_suspended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspended {
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The actor who suspended them.
    pub suspended_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `user_resumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The actor who resumed them.
    pub resumed_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `user_blocked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The actor who blocked them.
    pub blocked_by: Actor,
    /// The condition that has to be resolved first.
    pub blocking_condition: Text<1000>,
    /// The person.
    pub user_id: UserId,
}

/// `user_unblocked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unblocked {
    /// The condition that was resolved.
    pub resolved_condition: Text<1000>,
    /// The person.
    pub user_id: UserId,
}

/// `user_deactivated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deactivated {
    /// The actor who deactivated them.
    pub deactivated_by: Actor,
    /// The person's status before.
    pub prior_state: Status,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The person.
    pub user_id: UserId,
}

/// `user_reactivated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reactivated {
    /// The actor who reactivated them.
    pub reactivated_by: Actor,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Reason,
    /// The person.
    pub user_id: UserId,
}
