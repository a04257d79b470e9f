//! Which deeds a command stands for, and which an entry: one table each.
//!
//! The first is asked before a person's command is decided, the second when an entry in a person's
//! name is audited. A command or a kind of entry that is not
//! listed does not compile.

use super::{Deed, active, may};
use crate::command::Command;
use crate::event::{
    AgentEvent, Event, EventRoom, HighwayEvent, LeaseEvent, MemoryEvent, MessageEvent, PlanEvent,
    UserEvent, WorkspaceEvent,
};
use crate::highway::escalation::ResponseType;
use crate::highway::resolve::Modifications;
use crate::highway::{GateType, Highway, gate};
use crate::id::{GateId, RightId, TaskId, WorkspaceId};
use crate::memory::{self, RecordId};
use crate::name::{AgentName, UserId};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::signal::SignalType;
use crate::state::State;
use crate::task;
use crate::workspace::change::StateChanged;
use crate::workspace::create::Created;
use crate::workspace::group::GroupName;
use crate::workspace::{Party, Trigger};

/// Deeds, each with what it is done to; none is the run as a whole.
type Deeds = Vec<(Deed, Option<WorkspaceId>)>;

/// Whether a person may issue a command.
pub(crate) fn check(state: &State, user: &UserId, command: &Command) -> Result<(), Refusal> {
    // What does not exist is nobody's; the command itself says that it is not there.
    let known = |target: &Option<WorkspaceId>| {
        target.as_ref().is_none_or(|id| state.workspaces.contains_key(id))
    };
    let deeds = of_command(state, user, command);
    for (deed, target) in deeds.iter().filter(|(_, target)| known(target)) {
        may(state, user, *deed, target.as_ref())?;
    }
    active(state, user).map(|_| ())
}

/// Whether the rules let a person cause an event, as far as capabilities go.
pub(crate) fn may_have_caused(state: &State, user: &UserId, event: &Event) -> bool {
    let Some(deeds) = of_event(state, user, event) else { return false };
    active(state, user).is_ok()
        && deeds.iter().all(|(deed, target)| may(state, user, *deed, target.as_ref()).is_ok())
}

fn on(deed: Deed, target: &WorkspaceId) -> Deeds {
    vec![(deed, Some(target.clone()))]
}

fn overall(deed: Deed) -> Deeds {
    vec![(deed, None)]
}

fn of_command(state: &State, user: &UserId, command: &Command) -> Deeds {
    match command {
        Command::RunStart(args) => beginning(user, args.agent.as_ref(), args.owner.as_ref()),
        Command::RunHandOver(_) => overall(Deed::GrantDelegation),
        Command::RunEnd(_) => overall(Deed::Abort),
        Command::WorkspaceCreate(args) => creation(state, &Asked::from(args)),
        Command::TaskAssign(args) => creation(state, &Asked::from(&args.as_create())),
        Command::WorkspaceAbort(args) => on(Deed::Abort, &args.workspace),
        Command::WorkspaceSuspend(args) => on(Deed::Suspend, &args.workspace),
        Command::WorkspaceResume(args) => on(Deed::Suspend, &args.workspace),
        Command::WorkspaceMigrate(args) => on(Deed::Suspend, &args.workspace),
        Command::WorkspaceTransfer(args) => on(Deed::Transfer, &args.workspace),
        Command::WorkspaceTerminate(args) => on(Deed::Abort, &args.workspace),
        Command::WorkspaceGrantVisibility(args) => shown(&args.workspace, &args.target),
        Command::WorkspaceReparent(args) => between(&args.workspace, &args.parent),
        Command::WorkspaceModifyBudget(args) => on(Deed::ModifyBudget, &args.workspace),
        Command::WorkspaceSetPriority(args) => on(Deed::ModifyBudget, &args.workspace),
        Command::WorkspaceBatchAbort(args) => in_group(state, Deed::Abort, &args.group),
        Command::WorkspaceBatchPriority(args) => in_group(state, Deed::ModifyBudget, &args.group),
        Command::MeterReport(args) => match &args.workspace {
            Some(id) => on(Deed::ModifyBudget, id),
            None => overall(Deed::ModifyBudget),
        },
        Command::HighwayInject(args) => on(Deed::Inject, &args.to),
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
        | Command::TaskRetry(_) => overall(Deed::CreateWorkspace),
        Command::TaskCancel(args) => cancellation(state, &args.task),
        Command::IntegrationDecide(args) => on(Deed::ApproveIntegration, &args.workspace),
        Command::IntegrationSalvage(args) => on(Deed::ApproveIntegration, &args.workspace),
        Command::ConflictResolve(args) => on(Deed::ApproveIntegration, &args.workspace),
        Command::RightGrant(args) => between(&args.holder, &args.target),
        Command::RightRevoke(args) => revocation(state, &args.right),
        Command::EnvelopeSend(args) => sending(&args.to, &args.rights),
        Command::SignalEmit(args) => said(args.signal),
        Command::InboxTake(_) | Command::WorkspaceWrite(_) | Command::CheckpointCreate(_) => {
            overall(Deed::Inject)
        }
        Command::LeaseForce(_) => overall(Deed::ForceLease),
        Command::MemoryMove(args) => on_record(state, user, args.id),
        Command::MemoryConverge(args) => on_record(state, user, args.id),
        Command::MemoryArchive(args) => on_record(state, user, args.id),
        Command::MemoryLoop(args) => match memory::loops::moves(state, args) {
            Some(id) => on_record(state, user, id),
            None => Vec::new(),
        },
        Command::AgentRevoke(_) | Command::AgentReinstate(_) => overall(Deed::RevokeAgent),
        Command::UserCreate(_)
        | Command::UserSuspend(_)
        | Command::UserResume(_)
        | Command::UserBlock(_)
        | Command::UserUnblock(_)
        | Command::UserDeactivate(_)
        | Command::UserReactivate(_)
        | Command::CapabilityGrant(_)
        | Command::CapabilityRevoke(_) => overall(Deed::ManageUsers),
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

/// The deeds that an entry in a person's name stands for. `None` if no person causes such an entry.
fn of_event(state: &State, user: &UserId, event: &Event) -> Option<Deeds> {
    match event.room() {
        EventRoom::Admin(_) => None,
        EventRoom::Agent(event) => of_agent(event),
        EventRoom::User(event) => of_user(event),
        EventRoom::Lease(event) => of_lease(event),
        EventRoom::Commons(_) => Some(Vec::new()),
        EventRoom::Memory(event) => of_memory(state, user, event),
        EventRoom::Workspace(event) => of_workspace(state, user, event),
        EventRoom::Message(event) => of_message(event),
        EventRoom::Plan(event) => of_plan(state, event),
        EventRoom::Highway(event) => of_highway(state, event),
    }
}

fn of_agent(event: AgentEvent<'_>) -> Option<Deeds> {
    Some(match event {
        AgentEvent::AgentRevoked(_) | AgentEvent::AgentReinstated(_) => overall(Deed::RevokeAgent),
        AgentEvent::AgentRegistered(_)
        | AgentEvent::AgentDescribed(_)
        | AgentEvent::AgentHeartbeat(_)
        | AgentEvent::SessionOpened(_)
        | AgentEvent::SessionClosed(_)
        | AgentEvent::AuthenticationSucceeded(_)
        | AgentEvent::AuthenticationFailed(_) => return None,
    })
}

fn of_user(event: UserEvent<'_>) -> Option<Deeds> {
    Some(match event {
        UserEvent::UserCreated(_)
        | UserEvent::UserSuspended(_)
        | UserEvent::UserResumed(_)
        | UserEvent::UserBlocked(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserDeactivated(_)
        | UserEvent::UserReactivated(_)
        | UserEvent::CapabilityGranted(_)
        | UserEvent::CapabilityRevoked(_) => overall(Deed::ManageUsers),
        UserEvent::CapabilityDenied(_) => return None,
    })
}

fn of_lease(event: LeaseEvent<'_>) -> Option<Deeds> {
    Some(match event {
        LeaseEvent::LeaseOpened(_) | LeaseEvent::LeaseRenewed(_) | LeaseEvent::LeaseReleased(_) => {
            Vec::new()
        }
        LeaseEvent::LeaseForced(_) => overall(Deed::ForceLease),
        LeaseEvent::LeaseExpired(_) => return None,
    })
}

fn of_memory(state: &State, user: &UserId, event: MemoryEvent<'_>) -> Option<Deeds> {
    Some(match event {
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
    })
}

fn of_workspace(state: &State, user: &UserId, event: WorkspaceEvent<'_>) -> Option<Deeds> {
    Some(match event {
        WorkspaceEvent::RunHandedOver(_) => overall(Deed::GrantDelegation),
        WorkspaceEvent::RunStopped(_) => overall(Deed::Abort),
        WorkspaceEvent::WorkspaceWritten(_) => overall(Deed::Inject),
        WorkspaceEvent::MeterReported(body) => on(Deed::ModifyBudget, &body.workspace_id),
        WorkspaceEvent::BudgetModified(body) => on(Deed::ModifyBudget, &body.workspace_id),
        WorkspaceEvent::PriorityChanged(body) => on(Deed::ModifyBudget, &body.workspace_id),
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
        WorkspaceEvent::BatchAbort(body) => in_group(state, Deed::Abort, &body.group_id),
        WorkspaceEvent::BatchPriorityChanged(body) => {
            in_group(state, Deed::ModifyBudget, &body.group_id)
        }
        WorkspaceEvent::MigrationStarted(body) => on(Deed::Suspend, &body.workspace_id),
        WorkspaceEvent::GracefulTerminationInitiated(body) => on(Deed::Abort, &body.workspace_id),
        WorkspaceEvent::OwnershipTransferred(body) => on(Deed::Transfer, &body.workspace_id),
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

fn of_message(event: MessageEvent<'_>) -> Option<Deeds> {
    Some(match event {
        MessageEvent::InboxTaken(_) => overall(Deed::Inject),
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

fn of_plan(state: &State, event: PlanEvent<'_>) -> Option<Deeds> {
    Some(match event {
        PlanEvent::CheckpointCreated(_) => overall(Deed::Inject),
        PlanEvent::GraphCreated(_) | PlanEvent::TaskCreated(_) | PlanEvent::TaskApproved(_) => {
            overall(Deed::CreateWorkspace)
        }
        PlanEvent::TaskStatusChanged(body) => {
            if body.to_status == task::Status::Cancelled {
                cancellation(state, &body.task_id)
            } else {
                overall(Deed::CreateWorkspace)
            }
        }
        PlanEvent::IntegrationStarted(body) => on(Deed::ApproveIntegration, &body.source),
        PlanEvent::ConflictResolved(body) => on(Deed::ApproveIntegration, &body.workspace_id),
        PlanEvent::CheckpointRejected(_)
        | PlanEvent::TaskAssigned(_)
        | PlanEvent::TaskCompleted(_)
        | PlanEvent::TaskFailed(_)
        | PlanEvent::IntegrationCompleted(_)
        | PlanEvent::IntegrationAborted(_)
        | PlanEvent::ConflictDetected(_) => return None,
    })
}

fn of_highway(state: &State, event: HighwayEvent<'_>) -> Option<Deeds> {
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
        HighwayEvent::HumanInjection(body) => on(Deed::Inject, &body.to),
        HighwayEvent::EscalationResolved(body) => answer(body.response_type, &body.workspace),
        HighwayEvent::GateTimeout(_)
        | HighwayEvent::EscalationReceived(_)
        | HighwayEvent::EscalationTimeout(_) => return None,
    })
}

fn stepped(body: &StateChanged) -> Deeds {
    let deed = match body.trigger {
        Trigger::Suspend | Trigger::Resume => Deed::Suspend,
        Trigger::RevisionRequired | Trigger::Rejected => Deed::ApproveIntegration,
        _ => Deed::Abort,
    };
    on(deed, &body.workspace_id)
}

/// Whether a person may have somebody else's record take its steps.
pub(crate) fn may_end(state: &State, user: &UserId, id: RecordId) -> Result<(), Refusal> {
    super::active(state, user)?;
    on_record(state, user, id).iter().try_for_each(|(deed, _)| super::may(state, user, *deed, None))
}

/// Ending work that somebody else gave out takes what ending their lease takes.
fn on_record(state: &State, user: &UserId, id: RecordId) -> Deeds {
    let who = Principal::User(user.clone());
    let others = state.memory.record(id).is_some_and(|own| match id.kind {
        memory::Kind::Assignment => !own.is_dispatched_by(&who),
        memory::Kind::Loop => own.author != who,
        _ => false,
    });
    if others { overall(Deed::ForceLease) } else { Vec::new() }
}

/// What is done to a group is done to every workspace in it that goes on.
fn in_group(state: &State, deed: Deed, group: &GroupName) -> Deeds {
    let Some(root) = &state.root else { return Vec::new() };
    let live = |id: &&WorkspaceId| {
        state.workspaces.get(*id).is_some_and(|known| !known.status.is_terminal())
    };
    let members = state.members_of(root, group).filter(live);
    members.map(|id| (deed, Some(id.clone()))).collect()
}

/// Answering at a gate: what is decided there, and what is given away by changing it.
fn at_gate(state: &State, id: &GateId, changed: Option<&Modifications>) -> Deeds {
    let open = state.gates.get(id);
    let gate = open.or_else(|| state.closed_gates.get(id).map(|closed| &closed.gate));
    let Some(gate) = gate else { return Vec::new() };
    let mut deeds = vec![(gate::deed_at(gate.kind), gate.workspace.clone())];
    if let Some(changed) = changed {
        let shown = changed.visibility.iter().flatten();
        deeds.extend(shown.map(|id| (Deed::ViewTrail, Some(id.clone()))));
        if changed.budget.is_some() || changed.workspace_priority.is_some() {
            deeds.push((Deed::ModifyBudget, gate.workspace.clone()));
        }
    }
    deeds
}

/// Setting what people are asked about: whoever takes a gate away, or says how it answers by
/// itself, decides what is decided there.
fn setting(state: &State, wanted: &Highway) -> Deeds {
    let mut deeds = overall(Deed::CreateWorkspace);
    let differs = |kind: &GateType| state.highway.gate(*kind) != wanted.gate(*kind);
    let changed = GateType::ALL.into_iter().filter(differs);
    deeds.extend(changed.map(|kind| (gate::deed_at(kind), None)));
    deeds.dedup();
    deeds
}

/// Answering an escalation.
fn answer(response: ResponseType, workspace: &WorkspaceId) -> Deeds {
    let deed = if response == ResponseType::Abort { Deed::Abort } else { Deed::Inject };
    on(deed, workspace)
}

/// Showing one workspace another: one gives what one may see oneself.
fn shown(workspace: &WorkspaceId, target: &WorkspaceId) -> Deeds {
    let granted = (Deed::GrantDelegation, Some(workspace.clone()));
    vec![granted, (Deed::ViewTrail, Some(target.clone()))]
}

/// Beginning a run: whoever names a coordinator gives the post away, and whoever names another
/// owner gives the run away.
fn beginning(user: &UserId, agent: Option<&AgentName>, owner: Option<&UserId>) -> Deeds {
    let mut deeds = overall(Deed::CreateWorkspace);
    deeds.extend(agent.map(|_| (Deed::GrantDelegation, None)));
    deeds.extend(owner.filter(|owner| *owner != user).map(|_| (Deed::Transfer, None)));
    deeds
}

/// What matters about a workspace that somebody wants.
struct Asked<'a> {
    parent: Option<&'a WorkspaceId>,
    owner: Option<&'a UserId>,
    delegate: bool,
    global_trail: bool,
    visibility: &'a [WorkspaceId],
}

impl<'a> From<&'a crate::workspace::create::Create> for Asked<'a> {
    fn from(create: &'a crate::workspace::create::Create) -> Self {
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
fn creation(state: &State, asked: &Asked<'_>) -> Deeds {
    let parent = asked.parent.or(state.root.as_ref());
    let mut deeds = vec![(Deed::CreateWorkspace, parent.cloned())];
    if asked.delegate {
        deeds.push((Deed::GrantDelegation, parent.cloned()));
    }
    if asked.global_trail {
        deeds.push((Deed::ViewTrail, None));
    }
    let above = parent.and_then(|id| state.workspaces.get(id)).map(|known| &known.owner);
    let other = asked.owner.is_some_and(|owner| above != Some(&Party::User(owner.clone())));
    if other {
        deeds.push((Deed::Transfer, parent.cloned()));
    }
    deeds.extend(asked.visibility.iter().map(|id| (Deed::ViewTrail, Some(id.clone()))));
    deeds
}

/// Giving a task up ends the workspace that works on it.
fn cancellation(state: &State, id: &TaskId) -> Deeds {
    let mut deeds = overall(Deed::Abort);
    let bound = state.tasks.get(id).and_then(|task| task.workspace.clone());
    deeds.extend(bound.map(|bound| (Deed::Abort, Some(bound))));
    deeds
}

fn between(holder: &WorkspaceId, target: &WorkspaceId) -> Deeds {
    let both = [holder, target];
    both.map(|id| (Deed::GrantDelegation, Some(id.clone()))).into()
}

fn revocation(state: &State, id: &RightId) -> Deeds {
    let right = state.rights.get(id);
    right.map_or_else(Vec::new, |right| between(&right.holder, &right.target))
}

/// A person writes from the root; rights that go along are the root's to give.
fn sending(to: &WorkspaceId, rights: &[RightId]) -> Deeds {
    let mut deeds = on(Deed::Inject, to);
    deeds.extend((!rights.is_empty()).then_some((Deed::GrantDelegation, None)));
    deeds
}

/// A person's signals are the root's; the one that fails it ends the run.
fn said(signal: SignalType) -> Deeds {
    overall(if signal == SignalType::Failed { Deed::Abort } else { Deed::Inject })
}
