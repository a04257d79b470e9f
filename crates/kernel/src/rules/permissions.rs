//! Permissions that commands need, and that entries imply.

use crate::machine::state::State;
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::model::runs::approvals::resolve::Modifications;
use crate::model::runs::approvals::{GateType, Highway};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::change::StateChanged;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::{Party, Trigger};
use crate::protocol::command::Command;
use crate::protocol::event::{
    AgentEvent, Event, EventRoom, HighwayEvent, LeaseEvent, MemoryEvent, MessageEvent, PlanEvent,
    UserEvent, WorkspaceEvent,
};
use crate::protocol::refusal::Refusal;
use crate::rules::identity::capability::{Permissions, active, may, on_record, overall};
use crate::rules::knowledge::records::loops;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::task;
use crate::values::id::{GateId, RightId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};

/// Checks whether a person may issue a command.
pub(crate) fn check(state: &State, user: &UserId, command: &Command) -> Result<(), Refusal> {
    // A target that does not exist needs no permission; the command itself refuses it.
    let known = |target: &Option<WorkspaceId>| {
        target.as_ref().is_none_or(|id| state.workspaces.contains_key(id))
    };
    let permissions = of_command(state, user, command);
    for (permission, target) in permissions.iter().filter(|(_, target)| known(target)) {
        may(state, user, *permission, target.as_ref())?;
    }
    active(state, user).map(|_| ())
}

/// Whether a person's capabilities allow them to have caused an event.
pub(crate) fn may_have_caused(state: &State, user: &UserId, event: &Event) -> bool {
    let Some(permissions) = of_event(state, user, event) else { return false };
    active(state, user).is_ok()
        && permissions
            .iter()
            .all(|(permission, target)| may(state, user, *permission, target.as_ref()).is_ok())
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
        // Holding leases and writing shared knowledge only requires an active user; the other
        // commands are not for people at all.
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

/// The permissions that an entry in a person's name implies. `None` if no person causes such an
/// entry.
fn of_event(state: &State, user: &UserId, event: &Event) -> Option<Permissions> {
    match event.room() {
        EventRoom::Admin(_) => None,
        EventRoom::Agent(event) => of_agent(event),
        EventRoom::User(event) => of_user(event),
        EventRoom::Lease(event) => of_lease(event),
        EventRoom::Commons(_) => Some(Vec::new()),
        EventRoom::Memory(event) => Some(of_memory(state, user, event)),
        EventRoom::Workspace(event) => of_workspace(state, user, event),
        EventRoom::Message(event) => of_message(event),
        EventRoom::Plan(event) => of_plan(state, event),
        EventRoom::Highway(event) => of_highway(state, event),
    }
}

fn of_agent(event: AgentEvent<'_>) -> Option<Permissions> {
    Some(match event {
        AgentEvent::AgentRevoked(_) | AgentEvent::AgentReinstated(_) => {
            overall(Permission::RevokeAgent)
        }
        AgentEvent::AgentRegistered(_)
        | AgentEvent::AgentDescribed(_)
        | AgentEvent::AgentHeartbeat(_)
        | AgentEvent::SessionOpened(_)
        | AgentEvent::SessionClosed(_)
        | AgentEvent::AuthenticationSucceeded(_)
        | AgentEvent::AuthenticationFailed(_) => return None,
    })
}

fn of_user(event: UserEvent<'_>) -> Option<Permissions> {
    Some(match event {
        UserEvent::UserCreated(_)
        | UserEvent::UserSuspended(_)
        | UserEvent::UserResumed(_)
        | UserEvent::UserBlocked(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserDeactivated(_)
        | UserEvent::UserReactivated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_) => overall(Permission::ManageUsers),
        UserEvent::CapabilityDenied(_) => return None,
    })
}
/// The permissions for an act in a loop: those of the transition it causes, if any.
fn in_loop(state: &State, user: &UserId, args: &loops::InLoop) -> Permissions {
    let moved = loops::moves(state, args);
    moved.map_or_else(Vec::new, |id| on_record(state, user, id))
}

fn of_lease(event: LeaseEvent<'_>) -> Option<Permissions> {
    Some(match event {
        LeaseEvent::LeaseOpened(_) | LeaseEvent::LeaseRenewed(_) | LeaseEvent::LeaseReleased(_) => {
            Vec::new()
        }
        LeaseEvent::LeaseForced(_) => overall(Permission::ForceLease),
        LeaseEvent::LeaseExpired(_) => return None,
    })
}

fn of_memory(state: &State, user: &UserId, event: MemoryEvent<'_>) -> Permissions {
    match event {
        MemoryEvent::MemoryCreated(_)
        | MemoryEvent::MemoryUpdated(_)
        | MemoryEvent::MemoryStepped(_)
        | MemoryEvent::MemoryHeard(_)
        | MemoryEvent::MemorySwept(_)
        | MemoryEvent::MemoryTurned(_)
        | MemoryEvent::MemoryOffered(_)
        | MemoryEvent::MemoryLooped(_)
        | MemoryEvent::MemoryExpired(_) => Vec::new(),
        MemoryEvent::MemoryMoved(body) => on_record(state, user, body.id),
        MemoryEvent::MemoryArchived(body) => on_record(state, user, body.id),
    }
}

fn of_workspace(state: &State, user: &UserId, event: WorkspaceEvent<'_>) -> Option<Permissions> {
    Some(match event {
        WorkspaceEvent::RunHandedOver(_) => overall(Permission::GrantDelegation),
        WorkspaceEvent::RunStopped(_) => overall(Permission::Abort),
        WorkspaceEvent::WorkspaceWritten(_) => overall(Permission::Inject),
        WorkspaceEvent::MeterReported(body) => on(Permission::ModifyBudget, &body.workspace_id),
        WorkspaceEvent::BudgetModified(body) => on(Permission::ModifyBudget, &body.workspace_id),
        WorkspaceEvent::PriorityChanged(body) => on(Permission::ModifyBudget, &body.workspace_id),
        WorkspaceEvent::WorkspaceCreated(body) => match &body.parent {
            None => {
                let owner = match &body.owner {
                    Party::User(owner) => Some(owner),
                    Party::System => None,
                };
                beginning(user, body.agent.as_ref(), owner)
            }
            Some(_) => creation(state, &Asked::from(body)),
        },
        WorkspaceEvent::WorkspaceStateChanged(body) => stepped(body),
        WorkspaceEvent::VisibilityGranted(body) => shown(&body.workspace_id, &body.target),
        WorkspaceEvent::BatchAbort(body) => in_group(state, Permission::Abort, &body.group_id),
        WorkspaceEvent::BatchPriorityChanged(body) => {
            in_group(state, Permission::ModifyBudget, &body.group_id)
        }
        WorkspaceEvent::MigrationStarted(body) => on(Permission::Suspend, &body.workspace_id),
        WorkspaceEvent::GracefulTerminationInitiated(body) => {
            on(Permission::Abort, &body.workspace_id)
        }
        WorkspaceEvent::OwnershipTransferred(body) => on(Permission::Transfer, &body.workspace_id),
        WorkspaceEvent::WorkspaceReparented(body) => between(&body.workspace_id, &body.new_parent),
        WorkspaceEvent::WorkspaceRejected(_)
        | WorkspaceEvent::BudgetWarning(_)
        | WorkspaceEvent::BudgetExceeded(_)
        | WorkspaceEvent::LivenessWarning(_)
        | WorkspaceEvent::MigrationCompleted(_)
        | WorkspaceEvent::MigrationFailed(_)
        | WorkspaceEvent::SuspensionStarted(_)
        | WorkspaceEvent::SuspensionResumed(_)
        | WorkspaceEvent::GracefulTerminationExpired(_)
        | WorkspaceEvent::ResourceDiscrepancy(_) => return None,
    })
}

fn of_message(event: MessageEvent<'_>) -> Option<Permissions> {
    Some(match event {
        MessageEvent::InboxTaken(_) => overall(Permission::Inject),
        MessageEvent::SignalEmitted(body) => said(body.signal),
        MessageEvent::EnvelopeCreated(body) => sending(&body.to, &body.rights),
        MessageEvent::PortRightCreated(body) => between(&body.holder, &body.target),
        MessageEvent::PortRightRevoked(body) => between(&body.holder, &body.target),
        MessageEvent::EnvelopeAttempted(_)
        | MessageEvent::SignalDelivered(_)
        | MessageEvent::EnvelopeDelivered(_)
        | MessageEvent::EnvelopeRejected(_)
        | MessageEvent::EnvelopeUndeliverable(_)
        | MessageEvent::EnvelopeRedelivered(_)
        | MessageEvent::PortRightTransferred(_)
        | MessageEvent::PortRightConsumed(_) => return None,
    })
}

fn of_plan(state: &State, event: PlanEvent<'_>) -> Option<Permissions> {
    Some(match event {
        PlanEvent::CheckpointCreated(_) => overall(Permission::Inject),
        PlanEvent::GraphCreated(_) | PlanEvent::TaskCreated(_) | PlanEvent::TaskApproved(_) => {
            overall(Permission::CreateWorkspace)
        }
        PlanEvent::TaskStatusChanged(body) => {
            if body.to_status == task::Status::Cancelled {
                cancellation(state, &body.task_id)
            } else {
                overall(Permission::CreateWorkspace)
            }
        }
        PlanEvent::IntegrationStarted(body) => on(Permission::ApproveIntegration, &body.source),
        PlanEvent::ConflictResolved(body) => on(Permission::ApproveIntegration, &body.workspace_id),
        PlanEvent::CheckpointRejected(_)
        | PlanEvent::TaskAssigned(_)
        | PlanEvent::TaskCompleted(_)
        | PlanEvent::TaskFailed(_)
        | PlanEvent::IntegrationCompleted(_)
        | PlanEvent::IntegrationAborted(_)
        | PlanEvent::ConflictDetected(_) => return None,
    })
}

fn of_highway(state: &State, event: HighwayEvent<'_>) -> Option<Permissions> {
    Some(match event {
        HighwayEvent::HighwayConfigured(body) => setting(state, &body.highway),
        HighwayEvent::GateTriggered(body) => match &body.workspace {
            Some(id) => on(gate::deed_at(body.gate_type), id),
            None => overall(gate::deed_at(body.gate_type)),
        },
        HighwayEvent::GateResolved(body) => {
            at_gate(state, &body.gate_id, body.modifications.as_deref())
        }
        HighwayEvent::GateReentryBlocked(body) => at_gate(state, &body.gate_id, None),
        HighwayEvent::HumanInjection(body) => on(Permission::Inject, &body.to),
        HighwayEvent::EscalationResolved(body) => answer(body.response_type, &body.workspace),
        HighwayEvent::GateTimeout(_)
        | HighwayEvent::EscalationReceived(_)
        | HighwayEvent::EscalationTimeout(_) => return None,
    })
}

fn stepped(body: &StateChanged) -> Permissions {
    let permission = match body.trigger {
        Trigger::Suspend | Trigger::Resume => Permission::Suspend,
        Trigger::RevisionRequired | Trigger::Rejected => Permission::ApproveIntegration,
        _ => Permission::Abort,
    };
    on(permission, &body.workspace_id)
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

/// The permissions for changing the approval settings: removing a gate or changing its fallback
/// requires the permission to decide at it.
fn setting(state: &State, wanted: &Highway) -> Permissions {
    let mut permissions = overall(Permission::CreateWorkspace);
    let differs = |kind: &GateType| state.highway.gate(*kind) != wanted.gate(*kind);
    let changed = GateType::ALL.into_iter().filter(differs);
    permissions.extend(changed.map(|kind| (gate::deed_at(kind), None)));
    permissions.dedup();
    permissions
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

/// The permissions for sending: people send from the root, and rights sent along are the root's.
fn sending(to: &WorkspaceId, rights: &[RightId]) -> Permissions {
    let mut permissions = on(Permission::Inject, to);
    permissions.extend((!rights.is_empty()).then_some((Permission::GrantDelegation, None)));
    permissions
}

/// The permissions for emitting a signal: people emit for the root, and `failed` ends the run.
fn said(signal: SignalType) -> Permissions {
    overall(if signal == SignalType::Failed { Permission::Abort } else { Permission::Inject })
}
