//! How a person stands: four states, one table, and what is recorded of every step.
//!
//! A step changes what the person may do from now on and nothing else: their running work, what
//! they own and what they did stay as they are. The coordinator is told, and decides what becomes
//! of the work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get;
use crate::event::{Event, Kind, Stamped, UserEvent};
use crate::lifecycle::{Edge, Lifecycle};
use crate::name::UserId;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

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

pub(crate) fn decide_suspend(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Suspend,
) -> Result<Reply, Halt> {
    let event = Event::UserSuspended(Suspended {
        reason: args.reason.clone(),
        suspended_by: caller.principal.clone().into(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

pub(crate) fn decide_resume(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Resume,
) -> Result<Reply, Halt> {
    let event = Event::UserResumed(Resumed {
        reason: args.reason.clone(),
        resumed_by: caller.principal.clone().into(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

pub(crate) fn decide_block(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Block,
) -> Result<Reply, Halt> {
    let event = Event::UserBlocked(Blocked {
        blocked_by: caller.principal.clone().into(),
        blocking_condition: args.condition.clone(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

pub(crate) fn decide_unblock(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Unblock,
) -> Result<Reply, Halt> {
    let event = Event::UserUnblocked(Unblocked {
        resolved_condition: args.condition.clone(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

pub(crate) fn decide_deactivate(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Deactivate,
) -> Result<Reply, Halt> {
    let event = Event::UserDeactivated(Deactivated {
        deactivated_by: caller.principal.clone().into(),
        prior_state: get(turn.state(), &args.user)?.status,
        reason: args.reason.clone(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

pub(crate) fn decide_reactivate(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Reactivate,
) -> Result<Reply, Halt> {
    let event = Event::UserReactivated(Reactivated {
        reactivated_by: caller.principal.clone().into(),
        reason: args.reason.clone(),
        user_id: args.user.clone(),
    });
    step(turn, caller, &args.user, event)
}

/// Agents have no say about people, whatever post they hold.
pub(crate) fn not_for_agents(caller: &Caller) -> Result<(), Refusal> {
    let Principal::Agent(agent) = &caller.principal else { return Ok(()) };
    let message = format!("agent {agent} has no say about people");
    Err(Refusal::denied(Rule::PeopleAmongThemselves, message))
}

fn step(turn: &mut Turn<'_>, caller: &Caller, user: &UserId, event: Event) -> Result<Reply, Halt> {
    not_for_agents(caller)?;
    let before = get(turn.state(), user)?;
    if !LIFECYCLE.has_step(Some(before.status.as_str()), event.kind()) {
        let message = format!("user {user} is {}", before.status);
        let own = LIFECYCLE.edges.iter().filter(|e| e.from == Some(before.status.as_str()));
        let ways = own.map(|edge| format!("{} ({})", edge.to, edge.event));
        return Err(Refusal::denied(Rule::UserStep, message).allowing(ways).into());
    }
    if before.keeps_people() {
        stays_kept(turn.state(), user)?;
    }
    turn.note(None, caller.principal.clone().into(), event)?;
    turn.user_reply(user)
}

/// Refuses to leave a project without anybody who can manage people.
pub(super) fn stays_kept(state: &State, user: &UserId) -> Result<(), Refusal> {
    if state.kept_without(user) {
        return Ok(());
    }
    let message = format!("user {user} is the last active one who can manage people");
    Err(Refusal::denied(Rule::SomebodyKeepsPeople, message))
}

/// The person an event is about, and how they stand after it.
pub(crate) fn outcome(event: UserEvent<'_>) -> Option<(&UserId, Status)> {
    Some(match event {
        UserEvent::UserSuspended(body) => (&body.user_id, Status::Suspended),
        UserEvent::UserResumed(body) => (&body.user_id, Status::Active),
        UserEvent::UserBlocked(body) => (&body.user_id, Status::Blocked),
        UserEvent::UserUnblocked(body) => (&body.user_id, Status::Active),
        UserEvent::UserDeactivated(body) => (&body.user_id, Status::Deactivated),
        UserEvent::UserReactivated(body) => (&body.user_id, Status::Active),
        UserEvent::UserCreated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_)
        | UserEvent::CapabilityDenied(_) => return None,
    })
}

pub(crate) fn apply_step(
    state: &mut State,
    entry: &Stamped,
    event: UserEvent<'_>,
) -> Result<(), ApplyError> {
    let kind = entry.draft.event.kind();
    let (id, to) = outcome(event).ok_or(ApplyError::Mismatch("the step"))?;
    let user = state.users.get_mut(id).ok_or(ApplyError::Unknown("the user"))?;
    if !LIFECYCLE.has_step(Some(user.status.as_str()), kind) {
        return Err(ApplyError::Mismatch("how the user stood"));
    }
    user.reason = match event {
        UserEvent::UserSuspended(body) => body.reason.clone(),
        UserEvent::UserBlocked(body) => Some(body.blocking_condition.clone()),
        UserEvent::UserDeactivated(body) => {
            if body.prior_state != user.status {
                return Err(ApplyError::Mismatch("how the user stood"));
            }
            body.reason.clone()
        }
        UserEvent::UserResumed(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserReactivated(_)
        | UserEvent::UserCreated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_)
        | UserEvent::CapabilityDenied(_) => None,
    };
    user.status = to;
    user.since = entry.at;
    Ok(())
}
