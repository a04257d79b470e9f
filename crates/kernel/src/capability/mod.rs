//! What a person may do: the closed set of capabilities, and the one place that decides.
//!
//! A person acts while active, with a capability they hold, and with one for their own scope only
//! on the workspaces they own. Ownership is a field of every workspace, set when it is created and
//! changed by a transfer, so a tree of one's own ends where somebody else's begins by itself.
//! Agents and the system have no capabilities: roles and posts say what they may do.

mod deeds;

pub(crate) use deeds::{check, may_end, may_have_caused};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AnyId, WorkspaceId};
use crate::name::UserId;
use crate::refusal::{Record, Refusal};
use crate::rule::Rule;
use crate::state::State;
use crate::text::Text;
use crate::user::{self, User};
use crate::workspace::Party;

macro_rules! capabilities {
    ($( $variant:ident $name:literal $help:literal; )*) => {
        /// What a person may be allowed to do. There are no others.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Capability {
            $( #[doc = $help] $variant, )*
        }

        impl Capability {
            /// All of them.
            pub const ALL: &'static [Capability] = &[$(Capability::$variant),*];

            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self { $(Capability::$variant => $name),* }
            }

            /// What it is for.
            pub fn help(self) -> &'static str {
                match self { $(Capability::$variant => $help),* }
            }
        }
    };
}

capabilities! {
    CreateWorkspace "create_workspace" "Plan work and create workspaces below one's own.";
    CreateWorkspaceAny "create_workspace_any" "Plan work and create workspaces anywhere.";
    SuspendOwn "suspend_own" "Pause, resume and move one's own workspaces.";
    SuspendAny "suspend_any" "Pause, resume and move any workspace; revoke and reinstate agents.";
    AbortOwn "abort_own" "End one's own workspaces and runs.";
    AbortAny "abort_any" "End any workspace, run or lease.";
    TransferOwnership "transfer_ownership" "Say who answers for one's own workspaces.";
    InjectDirective "inject_directive" "Write to one's own workspaces.";
    InjectDirectiveAny "inject_directive_any" "Write to any workspace.";
    ApproveIntegration "approve_integration" "Decide about the work of one's own workspaces.";
    ApproveIntegrationAny "approve_integration_any" "Decide about the work of any workspace.";
    ModifyBudget "modify_budget" "Change budgets and priorities of one's own workspaces.";
    ModifyBudgetAny "modify_budget_any" "Change budgets and priorities of any workspace.";
    ViewTrailOwn "view_trail_own" "Read the trail of one's own workspaces; everybody's.";
    ViewTrailAny "view_trail_any" "Read all of the trail.";
    GrantDelegation "grant_delegation" "Give rights and delegation in one's own workspaces.";
    DeactivateUser "deactivate_user"
        "Let people in, say how they stand and what they may do; delete and restore history.";
}

impl Capability {
    /// What a person who is let in gets if nothing else is said.
    pub const OWN_SCOPE: &'static [Capability] = &[
        Capability::CreateWorkspace,
        Capability::SuspendOwn,
        Capability::AbortOwn,
        Capability::InjectDirective,
        Capability::ApproveIntegration,
        Capability::ModifyBudget,
    ];

    /// Whether everybody who is active has it, unasked and for good.
    pub fn is_implicit(self) -> bool {
        self == Capability::ViewTrailOwn
    }
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a person does, as far as capabilities tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    /// Plans and approves tasks, begins runs, creates workspaces.
    CreateWorkspace,
    /// Pauses, resumes or moves a workspace.
    Suspend,
    /// Ends a workspace, a task or a run.
    Abort,
    /// Says who answers for a workspace.
    Transfer,
    /// Writes to a workspace, or acts in the root for the coordinator.
    Inject,
    /// Decides about finished work and conflicts.
    ApproveIntegration,
    /// Changes budgets and priorities.
    ModifyBudget,
    /// Reads the trail, or has somebody read it.
    ViewTrail,
    /// Gives or takes rights, sight, delegation, or the post of coordinator.
    GrantDelegation,
    /// Lets people in, changes how they stand and what they may do.
    ManageUsers,
    /// Ends somebody else's lease, which belongs to no workspace.
    ForceLease,
    /// Says whether an agent may hold leases.
    RevokeAgent,
    /// Deletes archives whose time is over, or replaces the trail by an older one.
    DeleteHistory,
}

impl Deed {
    /// All of them.
    pub const ALL: &'static [Deed] = &[
        Deed::CreateWorkspace,
        Deed::Suspend,
        Deed::Abort,
        Deed::Transfer,
        Deed::Inject,
        Deed::ApproveIntegration,
        Deed::ModifyBudget,
        Deed::ViewTrail,
        Deed::GrantDelegation,
        Deed::ManageUsers,
        Deed::ForceLease,
        Deed::RevokeAgent,
        Deed::DeleteHistory,
    ];

    /// The capability that allows it on what one owns, and the one that allows it everywhere.
    pub fn needs(self) -> (Option<Capability>, Option<Capability>) {
        use Capability as C;
        match self {
            Deed::CreateWorkspace => (Some(C::CreateWorkspace), Some(C::CreateWorkspaceAny)),
            Deed::Suspend => (Some(C::SuspendOwn), Some(C::SuspendAny)),
            Deed::Abort => (Some(C::AbortOwn), Some(C::AbortAny)),
            Deed::Transfer => (Some(C::TransferOwnership), None),
            Deed::Inject => (Some(C::InjectDirective), Some(C::InjectDirectiveAny)),
            Deed::ApproveIntegration => {
                (Some(C::ApproveIntegration), Some(C::ApproveIntegrationAny))
            }
            Deed::ModifyBudget => (Some(C::ModifyBudget), Some(C::ModifyBudgetAny)),
            Deed::ViewTrail => (Some(C::ViewTrailOwn), Some(C::ViewTrailAny)),
            Deed::GrantDelegation => (Some(C::GrantDelegation), None),
            Deed::ManageUsers | Deed::DeleteHistory => (None, Some(C::DeactivateUser)),
            Deed::ForceLease => (None, Some(C::AbortAny)),
            Deed::RevokeAgent => (None, Some(C::SuspendAny)),
        }
    }
}

/// Why a person was not allowed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialReason {
    /// They do not hold the capability.
    MissingCapability,
    /// They hold it for what they own, and this is not theirs.
    WrongScope,
    /// They are not active.
    UserNotActive,
    /// Too much waits for them already.
    EscalationQueueOverflow,
}

/// `capability_denied`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denied {
    /// What was asked for: the command.
    pub action: Text<64>,
    /// The capability it takes; none if it takes nothing but being active.
    pub capability: Option<Capability>,
    /// What was the matter.
    pub reason: DenialReason,
    /// What it was about.
    pub target: Option<AnyId>,
    /// Who asked.
    pub user_id: Option<UserId>,
}

/// What a refusal remembers of a denial until it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) capability: Option<Capability>,
    pub(crate) reason: DenialReason,
    pub(crate) target: Option<AnyId>,
    pub(crate) user: UserId,
}

impl Denial {
    /// The entry that records it.
    pub(crate) fn event(&self, action: Text<64>) -> Denied {
        Denied {
            action,
            capability: self.capability,
            reason: self.reason,
            target: self.target.clone(),
            user_id: Some(self.user.clone()),
        }
    }
}

/// Whether a person may do something to a workspace; none means the run as a whole, which is its
/// root's owner's. First they must be active, then hold a capability, then, if it is one for their
/// own scope, own the target.
pub(crate) fn may(
    state: &State,
    user: &UserId,
    deed: Deed,
    target: Option<&WorkspaceId>,
) -> Result<(), Refusal> {
    let (own, any) = deed.needs();
    let denial = |reason, capability| Denial {
        capability,
        reason,
        target: target.map(AnyId::from),
        user: user.clone(),
    };
    let person = active(state, user)
        .map_err(|no| no.recorded_as(denial(DenialReason::UserNotActive, own.or(any))))?;
    if any.is_some_and(|any| person.holds(any)) {
        return Ok(());
    }
    let held = own.filter(|own| person.holds(*own));
    if held.is_some() && is_own(state, user, deed, target) {
        return Ok(());
    }
    let needed: Vec<String> = [own, any].iter().flatten().map(ToString::to_string).collect();
    let (message, reason) = if let Some(held) = held {
        let what = target.map_or_else(|| "the run".to_owned(), |id| format!("workspace {id}"));
        let message = format!("user {user} holds {held}, but does not own {what}");
        (message, DenialReason::WrongScope)
    } else {
        let message = format!("user {user} holds none of: {}", needed.join(", "));
        (message, DenialReason::MissingCapability)
    };
    let refusal = Refusal::denied(Rule::Capability, message).allowing(needed);
    Err(refusal.recorded_as(denial(reason, held.or(own).or(any))))
}

impl Refusal {
    /// The same, recorded as a capability that was denied.
    pub(crate) fn recorded_as(self, denial: Denial) -> Self {
        self.recorded(Record::Capability(Box::new(denial)))
    }
}

/// The person, if they are active. Without a capability in question the refusal names none.
pub(crate) fn active<'s>(state: &'s State, user: &UserId) -> Result<&'s User, Refusal> {
    let denied = |message: String| {
        let denial = Denial {
            capability: None,
            reason: DenialReason::UserNotActive,
            target: None,
            user: user.clone(),
        };
        Refusal::denied(Rule::UserActive, message).recorded_as(denial)
    };
    match state.users.get(user) {
        Some(known) if known.status == user::Status::Active => Ok(known),
        Some(known) => Err(denied(format!("user {user} is {}, not active", known.status))),
        None => Err(denied(format!("there is no user {user}"))),
    }
}

/// Whether a capability for one's own scope reaches a target.
fn is_own(state: &State, user: &UserId, deed: Deed, target: Option<&WorkspaceId>) -> bool {
    let Some(id) = target.or(state.root.as_ref()) else {
        // Where no run goes on there is nothing of anybody else's, but for the trail so far.
        return deed != Deed::ViewTrail;
    };
    let whole_trail = deed == Deed::ViewTrail && target.is_none();
    match state.workspaces.get(id).map(|known| &known.owner) {
        Some(Party::User(owner)) => owner == user && !whole_trail,
        // What belongs to nobody can be given to somebody.
        Some(Party::System) => deed == Deed::Transfer,
        None => false,
    }
}

impl State {
    /// The workspaces a person answers for, oldest run first.
    pub fn owned_by<'s>(&'s self, user: &'s UserId) -> impl Iterator<Item = &'s WorkspaceId> {
        let own = move |party: &Party| matches!(party, Party::User(id) if id == user);
        self.workspaces.iter().filter(move |(_, known)| own(&known.owner)).map(|(id, _)| id)
    }

    /// The workspaces a person, or the system, caused.
    pub fn originated_by<'s>(&'s self, by: &'s Party) -> impl Iterator<Item = &'s WorkspaceId> {
        let all = self.workspaces.iter();
        all.filter(move |(_, known)| known.charter.originator == *by).map(|(id, _)| id)
    }
}
