//! Permissions: which a command needs, and which an entry stands for.

use crate::machine::state::State;
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::model::runs::approvals::resolve::Modifications;
use crate::model::runs::approvals::{GateType, Highway};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::Party;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::group::GroupName;
use crate::protocol::command::Command;
use crate::protocol::refusal::Refusal;
use crate::rules::identity::capability::{Permissions, active, may, on_record, overall};
use crate::rules::knowledge::records::loops;
use crate::rules::runs::approvals::gate;
use crate::values::id::{GateId, RightId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};

/// Whether a person may issue a command.
pub(crate) fn check(state: &State, user: &UserId, command: &Command) -> Result<(), Refusal> {
    // What does not exist is nobody's; the command itself says that it is not there.
    let known = |target: &Option<WorkspaceId>| {
        target.as_ref().is_none_or(|id| state.workspaces.contains_key(id))
    };
    let permissions = of_command(state, user, command);
    for (permission, target) in permissions.iter().filter(|(_, target)| known(target)) {
        may(state, user, *permission, target.as_ref())?;
    }
    active(state, user).map(|_| ())
}

fn on(permission: Permission, target: &WorkspaceId) -> Permissions {
    vec![(permission, Some(target.clone()))]
}

#[expect(clippy::too_many_lines, reason = "one arm for every command, so that none is forgotten")]
fn of_command(state: &State, user: &UserId, command: &Command) -> Permissions {
    match command {
        Command::RunStart(args) => beginning(user, args.agent.as_ref(), args.owner.as_ref()),
        Command::RunHandOver(_) => overall(Permission::GrantDelegation),
        Command::RunEnd(_) => overall(Permission::Abort),
        Command::WorkspaceCreate(args) => creation(state, &Asked::from(args)),
        Command::TaskAssign(args) => creation(state, &Asked::from(&args.as_create())),
        Command::WorkspaceAbort(args) => on(Permission::Abort, &args.workspace),
        Command::WorkspaceSuspend(args) => on(Permission::Suspend, &args.workspace),
        Command::WorkspaceResume(args) => on(Permission::Suspend, &args.workspace),
        Command::WorkspaceMigrate(args) => on(Permission::Suspend, &args.workspace),
        Command::WorkspaceTransfer(args) => on(Permission::Transfer, &args.workspace),
        Command::WorkspaceTerminate(args) => on(Permission::Abort, &args.workspace),
        Command::WorkspaceGrantVisibility(args) => shown(&args.workspace, &args.target),
        Command::WorkspaceReparent(args) => between(&args.workspace, &args.parent),
        Command::WorkspaceModifyBudget(args) => on(Permission::ModifyBudget, &args.workspace),
        Command::WorkspaceSetPriority(args) => on(Permission::ModifyBudget, &args.workspace),
        Command::WorkspaceBatchAbort(args) => in_group(state, Permission::Abort, &args.group),
        Command::WorkspaceBatchPriority(args) => {
            in_group(state, Permission::ModifyBudget, &args.group)
        }
        Command::MeterReport(args) => match &args.workspace {
            Some(id) => on(Permission::ModifyBudget, id),
            None => overall(Permission::ModifyBudget),
        },
        Command::HighwayInject(args) => on(Permission::Inject, &args.to),
        Command::GateResolve(args) => at_gate(state, &args.gate, args.modifications.as_deref()),
        Command::EscalationAnswer(args) => {
            let open = state.escalations.get(&args.escalation);
            open.map_or_else(Vec::new, |open| answer(args.response, &open.workspace))
        }
        Command::HighwayConfigure(wish) => {
            setting(state, &Highway::clone(&state.highway).with(wish))
        }
        Command::TaskGraph(_)
        | Command::TaskAdd(_)
        | Command::TaskApprove(_)
        | Command::TaskRetry(_) => overall(Permission::CreateWorkspace),
        Command::TaskCancel(args) => cancellation(state, &args.task),
        Command::IntegrationDecide(args) => on(Permission::ApproveIntegration, &args.workspace),
        Command::IntegrationSalvage(args) => on(Permission::ApproveIntegration, &args.workspace),
        Command::ConflictResolve(args) => on(Permission::ApproveIntegration, &args.workspace),
        Command::RightGrant(args) => between(&args.holder, &args.target),
        Command::RightRevoke(args) => revocation(state, &args.right),
        Command::EnvelopeSend(args) => sending(&args.to, &args.rights),
        Command::SignalEmit(args) => said(args.signal),
        Command::InboxTake(_) | Command::WorkspaceWrite(_) | Command::CheckpointCreate(_) => {
            overall(Permission::Inject)
        }
        Command::LeaseForce(_) => overall(Permission::ForceLease),
        Command::MemoryMove(args) => on_record(state, user, args.id),
        Command::MemoryConverge(args) => on_record(state, user, args.id),
        Command::MemoryArchive(args) => on_record(state, user, args.id),
        Command::MemoryLoop(args) => in_loop(state, user, args),
        Command::AgentRevoke(_) | Command::AgentReinstate(_) => overall(Permission::RevokeAgent),
        Command::UserCreate(_)
        | Command::UserSuspend(_)
        | Command::UserResume(_)
        | Command::UserBlock(_)
        | Command::UserUnblock(_)
        | Command::UserDeactivate(_)
        | Command::UserReactivate(_)
        | Command::CapabilityGrant(_)
        | Command::CapabilityRevoke(_) => overall(Permission::ManageUsers),
        // Holding leases and writing what everybody shares takes no more than being active; the
        // rest is not for people at all.
        Command::LeaseOpen(_)
        | Command::SymbolSet(_)
        | Command::FactSet(_)
        | Command::FactDelete(_)
        | Command::CapsuleWrite(_)
        | Command::DecisionAppend(_)
        | Command::DisputeRaise(_)
        | Command::LedgerLog(_)
        | Command::LedgerBaseline(_)
        | Command::MessageNote(_)
        | Command::RefusalRecord(_)
        | Command::MemoryCreate(_)
        | Command::MemoryUpdate(_)
        | Command::MemoryStep(_)
        | Command::MemoryProgress(_)
        | Command::MemorySweep(_)
        | Command::MemoryTurn(_)
        | Command::MemoryOffer(_)
        | Command::WorkBegin(_)
        | Command::WorkFinish(_)
        | Command::LeaseRenew(_)
        | Command::LeaseRelease(_)
        | Command::SessionOpen(_)
        | Command::SessionClose(_)
        | Command::AgentRegister(_)
        | Command::AgentHeartbeat(_)
        | Command::ProjectCreate(_)
        | Command::RuntimeRekey(_)
        | Command::RuntimeUnauthentic(_)
        | Command::RuntimeRestored(_)
        | Command::RuntimeDegraded(_)
        | Command::RuntimeRecover(_)
        | Command::RuntimeAuthentic(_)
        | Command::RuntimeViolated(_)
        | Command::AccessRefused(_)
        | Command::TrailCompact(_)
        | Command::TrailPrune(_)
        | Command::TrailSnapshot(_)
        | Command::TrailDenied(_) => Vec::new(),
    }
}

/// An act in a loop that has a record take a step needs the permission that the step needs.
fn in_loop(state: &State, user: &UserId, args: &loops::InLoop) -> Permissions {
    let moved = loops::moves(state, args);
    moved.map_or_else(Vec::new, |id| on_record(state, user, id))
}

/// What is done to a group is done to every workspace in it that goes on.
fn in_group(state: &State, permission: Permission, group: &GroupName) -> Permissions {
    let Some(root) = &state.root else { return Vec::new() };
    let live = |id: &&WorkspaceId| {
        state.workspaces.get(*id).is_some_and(|known| !known.status.is_terminal())
    };
    let members = state.members_of(root, group).filter(live);
    members.map(|id| (permission, Some(id.clone()))).collect()
}

/// Answering at a gate: what is decided there, and what is given away by changing it.
fn at_gate(state: &State, id: &GateId, changed: Option<&Modifications>) -> Permissions {
    let open = state.gates.get(id);
    let gate = open.or_else(|| state.closed_gates.get(id).map(|closed| &closed.gate));
    let Some(gate) = gate else { return Vec::new() };
    let mut permissions = vec![(gate::deed_at(gate.kind), gate.workspace.clone())];
    if let Some(changed) = changed {
        let shown = changed.visibility.iter().flatten();
        permissions.extend(shown.map(|id| (Permission::ViewTrail, Some(id.clone()))));
        if changed.budget.is_some() || changed.workspace_priority.is_some() {
            permissions.push((Permission::ModifyBudget, gate.workspace.clone()));
        }
    }
    permissions
}

/// Setting what people are asked about: whoever takes a gate away, or says how it answers by
/// itself, decides what is decided there.
fn setting(state: &State, wanted: &Highway) -> Permissions {
    let mut permissions = overall(Permission::CreateWorkspace);
    let differs = |kind: &GateType| state.highway.gate(*kind) != wanted.gate(*kind);
    let changed = GateType::ALL.into_iter().filter(differs);
    permissions.extend(changed.map(|kind| (gate::deed_at(kind), None)));
    permissions.dedup();
    permissions
}

/// Answering an escalation.
fn answer(response: ResponseType, workspace: &WorkspaceId) -> Permissions {
    let permission =
        if response == ResponseType::Abort { Permission::Abort } else { Permission::Inject };
    on(permission, workspace)
}

/// Showing one workspace another: one gives what one may see oneself.
fn shown(workspace: &WorkspaceId, target: &WorkspaceId) -> Permissions {
    let granted = (Permission::GrantDelegation, Some(workspace.clone()));
    vec![granted, (Permission::ViewTrail, Some(target.clone()))]
}

/// Beginning a run: whoever names a coordinator gives the post away, and whoever names another
/// owner gives the run away.
fn beginning(user: &UserId, agent: Option<&AgentName>, owner: Option<&UserId>) -> Permissions {
    let mut permissions = overall(Permission::CreateWorkspace);
    permissions.extend(agent.map(|_| (Permission::GrantDelegation, None)));
    permissions.extend(owner.filter(|owner| *owner != user).map(|_| (Permission::Transfer, None)));
    permissions
}

/// What matters about a workspace that somebody wants.
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

/// Creating a workspace: what it is given besides, its creator must have to give.
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

/// Giving a task up ends the workspace that works on it.
fn cancellation(state: &State, id: &TaskId) -> Permissions {
    let mut permissions = overall(Permission::Abort);
    let bound = state.tasks.get(id).and_then(|task| task.workspace.clone());
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

/// A person writes from the root; rights that go along are the root's to give.
fn sending(to: &WorkspaceId, rights: &[RightId]) -> Permissions {
    let mut permissions = on(Permission::Inject, to);
    permissions.extend((!rights.is_empty()).then_some((Permission::GrantDelegation, None)));
    permissions
}

/// A person's signals are the root's; the one that fails it ends the run.
fn said(signal: SignalType) -> Permissions {
    overall(if signal == SignalType::Failed { Permission::Abort } else { Permission::Inject })
}
