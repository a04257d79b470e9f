//! Capabilities granted to people, the permissions they imply, and records of denials.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::AnyId;
use crate::values::name::UserId;
use crate::values::text::Text;

macro_rules! capabilities {
    ($( $variant:ident $name:literal $help:literal; )*) => {
        /// A capability of a person. The set is closed.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Capability {
            $( #[doc = $help] $variant, )*
        }

        impl Capability {
            /// All capabilities.
            pub const ALL: &'static [Capability] = &[$(Capability::$variant),*];

            /// The name.
            pub fn as_str(self) -> &'static str {
                match self { $(Capability::$variant => $name),* }
            }

            /// The help text.
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
    /// The capabilities a new user gets by default: those over their own workspaces.
    pub const OWN_SCOPE: &'static [Capability] = &[
        Capability::CreateWorkspace,
        Capability::SuspendOwn,
        Capability::AbortOwn,
        Capability::InjectDirective,
        Capability::ApproveIntegration,
        Capability::ModifyBudget,
    ];

    /// Whether every active user has it implicitly and permanently.
    pub fn is_implicit(self) -> bool {
        self == Capability::ViewTrailOwn
    }
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A permission: a class of actions that the capabilities distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Planning and approving tasks, starting runs, creating workspaces.
    CreateWorkspace,
    /// Pausing, resuming or moving a workspace.
    Suspend,
    /// Ending a workspace, a task or a run.
    Abort,
    /// Transferring the ownership of a workspace.
    Transfer,
    /// Writing to a workspace, or acting in the root workspace for the coordinator.
    Inject,
    /// Approving finished work and resolving conflicts.
    ApproveIntegration,
    /// Changing budgets and priorities.
    ModifyBudget,
    /// Reading the trail, or giving somebody access to it.
    ViewTrail,
    /// Giving or taking rights, visibility, delegation, or the role of coordinator.
    GrantDelegation,
    /// Admitting people, changing their status and their capabilities.
    ManageUsers,
    /// Ending another principal's lease; leases belong to no workspace.
    ForceLease,
    /// Revoking and reinstating agents.
    RevokeAgent,
    /// Deleting archives after their retention period, or replacing the trail by an older copy.
    DeleteHistory,
}

impl Permission {
    /// All permissions.
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

    /// The capability that grants it on one's own workspaces, and the one that grants it
    /// everywhere.
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

/// The reason why a person was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialReason {
    /// The person does not hold the capability.
    MissingCapability,
    /// The person holds it for their own workspaces only, and does not own this one.
    WrongScope,
    /// The person is not active.
    UserNotActive,
    /// The person's escalation queue is full.
    EscalationQueueOverflow,
}

/// `capability_denied`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denied {
    /// The command that was denied.
    pub action: Text<64>,
    /// The capability that is required; none if the person only has to be active.
    pub capability: Option<Capability>,
    /// The reason.
    pub reason: DenialReason,
    /// The id of the object it was about.
    pub target: Option<AnyId>,
    /// The person who was denied.
    pub user_id: Option<UserId>,
}

/// A denial carried by a refusal until it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) capability: Option<Capability>,
    pub(crate) reason: DenialReason,
    pub(crate) target: Option<AnyId>,
    pub(crate) user: UserId,
}

impl Denial {
    /// The event that records the denial.
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
