//! Permissions that commands need, and that entries imply.

use crate::machine::state::State;
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::model::runs::approvals::resolve::Modifications;
use crate::model::runs::approvals::{ApprovalSettings, GateType, Wish};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::Party;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::group::GroupName;
use crate::protocol::command::{
    AgentCommand, ApprovalCommand, Command, CommandRoom, LeaseCommand, MemoryCommand,
    MessageCommand, PlanCommand, RightCommand, WorkspaceCommand,
};
use crate::protocol::refusal::Refusal;
use crate::rules::identity::capability::{Permissions, active, may, on_record, overall};
use crate::rules::knowledge::records::loops;
use crate::rules::runs::approvals::gate;
use crate::values::id::{GateId, RightId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};

/// Checks whether a person may issue a command.
pub(crate) fn check(state: &State, user: &UserId, command: &Command) -> Result<(), Refusal> {
    // A target that does not exist needs no permission; the command itself refuses it.
    let known = |permission: Permission, target: &Option<WorkspaceId>| {
        let peer =
            |id: &WorkspaceId| permission == Permission::Abort && state.sessions.contains_key(id);
        target.as_ref().is_none_or(|id| state.workspaces.contains_key(id) || peer(id))
    };
    let permissions = of_command(state, user, command);
    for (permission, target) in permissions.iter().filter(|(own, target)| known(*own, target)) {
        may(state, user, *permission, target.as_ref())?;
    }
    active(state, user).map(|_| ())
}

fn on(permission: Permission, target: &WorkspaceId) -> Permissions {
    vec![(permission, Some(target.clone()))]
}

/// The permissions that a command needs. An empty list only requires an active user.
fn of_command(state: &State, user: &UserId, command: &Command) -> Permissions {
    match command.room() {
        CommandRoom::Lease(command) => for_lease(command),
        CommandRoom::User(_) => overall(Permission::ManageUsers),
        CommandRoom::Agent(command) => for_agent(command),
        CommandRoom::Memory(command) => for_memory(state, user, command),
        CommandRoom::Workspace(command) => for_workspace(state, user, command),
        CommandRoom::Message(command) => for_message(command),
        CommandRoom::Plan(command) => for_plan(state, command),
        CommandRoom::Approval(command) => for_approval(state, command),
        CommandRoom::Right(RightCommand::RightGrant(args)) => between(&args.holder, &args.target),
        CommandRoom::Right(RightCommand::RightRevoke(args)) => revocation(state, &args.right),
        // Writing shared knowledge only requires an active user; sessions and the runtime's own
        // commands are not for people at all.
        CommandRoom::Blackboard(_)
        | CommandRoom::Work(_)
        | CommandRoom::Refusal(_)
        | CommandRoom::Session(_)
        | CommandRoom::Runtime(_) => Vec::new(),
    }
}

fn for_lease(command: LeaseCommand<'_>) -> Permissions {
    match command {
        LeaseCommand::LeaseForce(_) => overall(Permission::ForceLease),
        LeaseCommand::LeaseOpen(_)
        | LeaseCommand::LeaseRenew(_)
        | LeaseCommand::LeaseRelease(_)
        | LeaseCommand::LeaseUse(_) => Vec::new(),
    }
}

fn for_agent(command: AgentCommand<'_>) -> Permissions {
    match command {
        AgentCommand::AgentRevoke(_) | AgentCommand::AgentReinstate(_) => {
            overall(Permission::RevokeAgent)
        }
        AgentCommand::AgentRegister(_) | AgentCommand::AgentHeartbeat(_) => Vec::new(),
    }
}

fn for_memory(state: &State, user: &UserId, command: MemoryCommand<'_>) -> Permissions {
    match command {
        MemoryCommand::MemoryMove(args) => on_record(state, user, args.id),
        MemoryCommand::MemoryConverge(args) => on_record(state, user, args.id),
        MemoryCommand::MemoryArchive(args) => on_record(state, user, args.id),
        MemoryCommand::MemoryLoop(args) => in_loop(state, user, args),
        MemoryCommand::MemoryCreate(_)
        | MemoryCommand::MemoryUpdate(_)
        | MemoryCommand::MemoryStep(_)
        | MemoryCommand::MemoryProgress(_)
        | MemoryCommand::MemorySweep(_)
        | MemoryCommand::MemoryTurn(_)
        | MemoryCommand::MemoryOffer(_) => Vec::new(),
    }
}

fn for_workspace(state: &State, user: &UserId, command: WorkspaceCommand<'_>) -> Permissions {
    use WorkspaceCommand as C;
    match command {
        C::RunStart(args) => {
            let mut permissions = beginning(user, args.agent.as_ref(), args.owner.as_ref());
            permissions.extend(args.highway.as_ref().map_or_else(Vec::new, loosening));
            permissions
        }
        C::RunHandOver(_) => overall(Permission::GrantDelegation),
        C::RunHold(_) => overall(Permission::Suspend),
        C::RunLand(args) => on(Permission::ApproveIntegration, &args.workspace),
        C::RunEnd(_) => overall(Permission::Abort),
        C::WorkspaceCreate(args) => creation(state, &Asked::from(args)),
        C::WorkspaceAbort(args) => on(Permission::Abort, &args.workspace),
        C::WorkspaceSuspend(args) => on(Permission::Suspend, &args.workspace),
        C::WorkspaceResume(args) => on(Permission::Suspend, &args.workspace),
        C::WorkspaceMigrate(args) => on(Permission::Suspend, &args.workspace),
        C::WorkspaceTransfer(args) => on(Permission::Transfer, &args.workspace),
        C::WorkspaceTerminate(args) => on(Permission::Abort, &args.workspace),
        C::WorkspaceGrantVisibility(args) => shown(&args.workspace, &args.target),
        C::WorkspaceReparent(args) => between(&args.workspace, &args.parent),
        C::WorkspaceModifyBudget(args) => on(Permission::ModifyBudget, &args.workspace),
        C::WorkspaceSetPriority(args) => on(Permission::ModifyBudget, &args.workspace),
        C::WorkspaceBatchAbort(args) => in_group(state, Permission::Abort, &args.group),
        C::WorkspaceBatchPriority(args) => in_group(state, Permission::ModifyBudget, &args.group),
        C::MeterReport(args) => match &args.workspace {
            Some(id) => on(Permission::ModifyBudget, id),
            None => overall(Permission::ModifyBudget),
        },
        C::WorkspaceWrite(_) => overall(Permission::Inject),
        C::WorkspaceBranch(args) => on(Permission::CreateWorkspace, &args.workspace),
        C::WorkspaceProcess(args) => on(Permission::ModifyBudget, &args.workspace),
    }
}

fn for_message(command: MessageCommand<'_>) -> Permissions {
    match command {
        MessageCommand::EnvelopeSend(args) => sending(&args.to, &args.rights),
        MessageCommand::SignalEmit(args) => emitting(args.signal),
        MessageCommand::InboxTake(_) => overall(Permission::Inject),
    }
}

fn for_plan(state: &State, command: PlanCommand<'_>) -> Permissions {
    use PlanCommand as C;
    match command {
        C::CheckpointCreate(_) => overall(Permission::Inject),
        C::TaskGraph(_) | C::TaskAdd(_) | C::TaskApprove(_) | C::TaskRetry(_) => {
            overall(Permission::CreateWorkspace)
        }
        C::TaskAssign(args) => creation(state, &Asked::from(&args.as_create())),
        C::TaskCancel(args) => cancellation(state, &args.task),
        C::IntegrationDecide(args) => on(Permission::ApproveIntegration, &args.workspace),
        C::IntegrationSalvage(args) => on(Permission::ApproveIntegration, &args.workspace),
        C::IntegrationUndo(args) => on(Permission::ApproveIntegration, &args.workspace),
        C::ConflictResolve(args) => on(Permission::ApproveIntegration, &args.workspace),
    }
}

fn for_approval(state: &State, command: ApprovalCommand<'_>) -> Permissions {
    match command {
        ApprovalCommand::HighwayInject(args) => on(Permission::Inject, &args.to),
        ApprovalCommand::GateResolve(args) => {
            at_gate(state, &args.gate, args.modifications.as_deref())
        }
        ApprovalCommand::GateAsk(args) => at_gate(state, &args.gate, None),
        ApprovalCommand::EscalationAnswer(args) => {
            let open = state.escalations.get(&args.escalation);
            open.map_or_else(Vec::new, |open| answer(args.response, &open.workspace))
        }
        ApprovalCommand::HighwayConfigure(wish) => {
            setting(state, &state.approvals_in_force().with(wish))
        }
    }
}

/// The permissions for an act in a loop: those of the transition it causes, if any.
fn in_loop(state: &State, user: &UserId, args: &loops::InLoop) -> Permissions {
    let moved = loops::moves(state, args);
    moved.map_or_else(Vec::new, |id| on_record(state, user, id))
}

/// The permissions for an action on a group: one for every live workspace in it.
fn in_group(state: &State, permission: Permission, group: &GroupName) -> Permissions {
    let Some(root) = &state.root else { return Vec::new() };
    let live = |id: &&WorkspaceId| {
        state.workspaces.get(*id).is_some_and(|known| !known.status.is_terminal())
    };
    let members = state.members_of(root, group).filter(live);
    members.map(|id| (permission, Some(id.clone()))).collect()
}

/// The permissions for resolving a gate: that of the action, and those for what the modifications
/// grant.
fn at_gate(state: &State, id: &GateId, changed: Option<&Modifications>) -> Permissions {
    let open = state.gates.get(id);
    let gate = open.or_else(|| state.closed_gates.get(id).map(|closed| &closed.gate));
    let Some(gate) = gate else { return Vec::new() };
    let mut permissions = vec![(gate::permission_at(gate.kind), gate.workspace.clone())];
    if let Some(changed) = changed {
        let shown = changed.visibility.iter().flatten();
        permissions.extend(shown.map(|id| (Permission::ViewTrail, Some(id.clone()))));
        if changed.budget.is_some() || changed.workspace_priority.is_some() {
            permissions.push((Permission::ModifyBudget, gate.workspace.clone()));
        }
    }
    permissions
}

/// The permissions for changing the approval settings: removing a gate or changing its fallback
/// requires the permission to decide at it.
fn setting(state: &State, wanted: &ApprovalSettings) -> Permissions {
    let mut permissions = overall(Permission::CreateWorkspace);
    let before = state.approvals_in_force();
    let differs = |kind: &GateType| before.gate(*kind) != wanted.gate(*kind);
    let changed = GateType::ALL.into_iter().filter(differs);
    permissions.extend(changed.map(|kind| (gate::permission_at(kind), None)));
    permissions.dedup();
    permissions
}

/// The permissions for starting a run with approval settings: letting an action proceed without a
/// person's answer requires the permission to decide at its gate.
fn loosening(wish: &Wish) -> Permissions {
    let (before, wanted) = (ApprovalSettings::default(), ApprovalSettings::default().with(wish));
    let loosened = |kind: &GateType| match wanted.gate(*kind) {
        Some(policy) => policy.fallback.passes_people(),
        None => before.gate(*kind).is_some(),
    };
    let loosened = GateType::ALL.into_iter().filter(loosened);
    loosened.map(|kind| (gate::permission_at(kind), None)).collect()
}

/// The permissions for answering an escalation.
fn answer(response: ResponseType, workspace: &WorkspaceId) -> Permissions {
    let permission =
        if response == ResponseType::Abort { Permission::Abort } else { Permission::Inject };
    on(permission, workspace)
}

/// The permissions for granting visibility: the caller must be able to see the target.
fn shown(workspace: &WorkspaceId, target: &WorkspaceId) -> Permissions {
    let granted = (Permission::GrantDelegation, Some(workspace.clone()));
    vec![granted, (Permission::ViewTrail, Some(target.clone()))]
}

/// The permissions for starting a run: naming a coordinator delegates the role, and naming another
/// owner transfers the run.
fn beginning(user: &UserId, agent: Option<&AgentName>, owner: Option<&UserId>) -> Permissions {
    let mut permissions = overall(Permission::CreateWorkspace);
    permissions.extend(agent.map(|_| (Permission::GrantDelegation, None)));
    permissions.extend(owner.filter(|owner| *owner != user).map(|_| (Permission::Transfer, None)));
    permissions
}

/// The parts of a workspace creation that determine the permissions it needs.
struct Asked<'a> {
    parent: Option<&'a WorkspaceId>,
    owner: Option<&'a UserId>,
    delegate: bool,
    global_trail: bool,
    visibility: &'a [WorkspaceId],
}

impl<'a> From<&'a crate::rules::runs::workspace::create::Create> for Asked<'a> {
    fn from(create: &'a crate::rules::runs::workspace::create::Create) -> Self {
        Asked {
            parent: create.parent.as_ref(),
            owner: create.owner.as_ref(),
            delegate: create.delegate,
            global_trail: create.global_trail,
            visibility: &create.visibility,
        }
    }
}

impl<'a> From<&'a Created> for Asked<'a> {
    fn from(created: &'a Created) -> Self {
        Asked {
            parent: created.parent.as_ref(),
            owner: match &created.owner {
                Party::User(owner) => Some(owner),
                Party::System => None,
            },
            delegate: created.delegate,
            global_trail: created.global_trail,
            visibility: &created.visibility_set,
        }
    }
}

/// The permissions for creating a workspace: its creator must hold everything it grants to it.
fn creation(state: &State, asked: &Asked<'_>) -> Permissions {
    let parent = asked.parent.or(state.root.as_ref());
    let mut permissions = vec![(Permission::CreateWorkspace, parent.cloned())];
    if asked.delegate {
        permissions.push((Permission::GrantDelegation, parent.cloned()));
    }
    if asked.global_trail {
        permissions.push((Permission::ViewTrail, None));
    }
    let above = parent.and_then(|id| state.workspaces.get(id)).map(|known| &known.owner);
    let other = asked.owner.is_some_and(|owner| above != Some(&Party::User(owner.clone())));
    if other {
        permissions.push((Permission::Transfer, parent.cloned()));
    }
    permissions.extend(asked.visibility.iter().map(|id| (Permission::ViewTrail, Some(id.clone()))));
    permissions
}

/// The permissions for cancelling a task, which also ends the workspace that works on it.
fn cancellation(state: &State, id: &TaskId) -> Permissions {
    let mut permissions = overall(Permission::Abort);
    let bound = state.task(id).and_then(|task| task.workspace);
    permissions.extend(bound.map(|bound| (Permission::Abort, Some(bound))));
    permissions
}

fn between(holder: &WorkspaceId, target: &WorkspaceId) -> Permissions {
    let both = [holder, target];
    both.map(|id| (Permission::GrantDelegation, Some(id.clone()))).into()
}

fn revocation(state: &State, id: &RightId) -> Permissions {
    let right = state.rights.get(id);
    right.map_or_else(Vec::new, |right| between(&right.holder, &right.target))
}

/// The permissions for sending: people send from the root, and rights sent along are the root's.
fn sending(to: &WorkspaceId, rights: &[RightId]) -> Permissions {
    let mut permissions = on(Permission::Inject, to);
    permissions.extend((!rights.is_empty()).then_some((Permission::GrantDelegation, None)));
    permissions
}

/// The permissions for emitting a signal: people emit for the root, and `failed` ends the run.
fn emitting(signal: SignalType) -> Permissions {
    overall(if signal == SignalType::Failed { Permission::Abort } else { Permission::Inject })
}
