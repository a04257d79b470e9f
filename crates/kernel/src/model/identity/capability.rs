//! Types of `capability`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::AnyId;
use crate::values::name::UserId;
use crate::values::text::Text;

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
pub enum Permission {
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

impl Permission {
    /// All of them.
    pub const ALL: &'static [Permission] = &[
        Permission::CreateWorkspace,
        Permission::Suspend,
        Permission::Abort,
        Permission::Transfer,
        Permission::Inject,
        Permission::ApproveIntegration,
        Permission::ModifyBudget,
        Permission::ViewTrail,
        Permission::GrantDelegation,
        Permission::ManageUsers,
        Permission::ForceLease,
        Permission::RevokeAgent,
        Permission::DeleteHistory,
    ];

    /// The capability that allows it on what one owns, and the one that allows it everywhere.
    pub fn needs(self) -> (Option<Capability>, Option<Capability>) {
        use Capability as C;
        match self {
            Permission::CreateWorkspace => (Some(C::CreateWorkspace), Some(C::CreateWorkspaceAny)),
            Permission::Suspend => (Some(C::SuspendOwn), Some(C::SuspendAny)),
            Permission::Abort => (Some(C::AbortOwn), Some(C::AbortAny)),
            Permission::Transfer => (Some(C::TransferOwnership), None),
            Permission::Inject => (Some(C::InjectDirective), Some(C::InjectDirectiveAny)),
            Permission::ApproveIntegration => {
                (Some(C::ApproveIntegration), Some(C::ApproveIntegrationAny))
            }
            Permission::ModifyBudget => (Some(C::ModifyBudget), Some(C::ModifyBudgetAny)),
            Permission::ViewTrail => (Some(C::ViewTrailOwn), Some(C::ViewTrailAny)),
            Permission::GrantDelegation => (Some(C::GrantDelegation), None),
            Permission::ManageUsers | Permission::DeleteHistory => (None, Some(C::DeactivateUser)),
            Permission::ForceLease => (None, Some(C::AbortAny)),
            Permission::RevokeAgent => (None, Some(C::SuspendAny)),
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
