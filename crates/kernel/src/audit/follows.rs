//! Whether an entry is what somebody asked for: a signed request is held against its entry.

use crate::audit::remembered;
use crate::model::identity::capability::Capability;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::model::runs::approvals::gate::{GateAction, GateEnd};
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::{GateType, Highway};
use crate::model::runs::envelope::Origin;
use crate::model::runs::file::{File, FileArg};
use crate::model::runs::integration::conflict::{Resolution, Settled};
use crate::model::runs::integration::{Decision, Mode};
use crate::model::runs::right::RightType;
use crate::model::runs::signal::SignalType;
use crate::model::runs::task::Status as TaskStatus;
use crate::model::runs::workspace::change::StateChanged;
use crate::model::runs::workspace::create::{Create, Created};
use crate::model::runs::workspace::{
    IDLE_TIMEOUT_DEFAULT, Party, Status, TIMEOUT_DEFAULT, Trigger,
};
use crate::protocol::command::Command;
use crate::protocol::event::Event;
use crate::protocol::refusal::RefusalKind;
use crate::rules::identity::user;
use crate::rules::knowledge::blackboard::capsule;
use crate::rules::leasing::lease::using;
use crate::rules::runs::task::graph::once_each;
use crate::rules::runs::{checkpoint, envelope};
use crate::values::content::{Blob, Content};
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;

/// Whether an event is what somebody asked for with a command.
pub fn follows(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::RefusalRecord(asked), Event::CommandRefused(got)) => {
            let own = got.command.as_str() == command.name();
            own || (asked.command == got.command
                && RefusalKind::from(asked.kind) == got.kind
                && asked.message == got.message
                && asked.rule == got.rule)
        }
        (_, Event::CommandRefused(refused)) => refused.command.as_str() == command.name(),
        (Command::LeaseOpen(asked), Event::LeaseOpened(got)) => using::follows_open(asked, got),
        (Command::LeaseOpen(asked), Event::LeaseRenewed(got)) => using::follows_reuse(asked, got),
        // Whoever goes on with what they hold may leave nothing but the session they arrived in.
        (Command::LeaseOpen(_), Event::SessionOpened(got)) => got.standing,
        (Command::LeaseRenew(asked), Event::LeaseRenewed(got)) => {
            asked.lease == got.lease
                && asked.epoch.is_none_or(|epoch| epoch == got.epoch)
                && asked.ttl_s.is_none_or(|ttl| ttl == got.ttl_s)
        }
        (Command::LeaseRelease(asked), Event::LeaseReleased(got)) => {
            asked.lease == got.lease && asked.epoch.is_none_or(|epoch| epoch == got.epoch)
        }
        (Command::LeaseForce(asked), Event::LeaseForced(got)) => {
            asked.lease == got.lease && asked.reason == got.reason
        }
        (Command::SessionOpen(asked), Event::SessionOpened(got)) => {
            asked.client == got.client && asked.idle_s.unwrap_or_default() == got.idle_s
        }
        (Command::SessionClose(asked), Event::SessionClosed(got)) => {
            asked.workspace.as_ref().is_none_or(|id| *id == got.workspace)
        }
        (Command::UserCreate(asked), Event::UserCreated(got)) => {
            asked.user == got.user_id && asked.key == got.key && is_let_in_with(asked, got)
        }
        (_, Event::CapabilityDenied(got)) => got.action.as_str() == command.name(),
        (Command::WorkBegin(asked), got) => asked.leads_to(got),
        (Command::WorkFinish(asked), got) => asked.leads_to(got),
        _ => {
            among_people(command, event)
                || in_common(command, event)
                || remembered::follows(command, event)
                || in_workspaces(command, event)
                || in_plans(command, event)
                || on_highway(command, event)
        }
    }
}

/// What a new person may do is what was said, or what goes without saying.
fn is_let_in_with(asked: &user::Create, got: &user::Created) -> bool {
    let first = got.created_by == Principal::User(got.user_id.clone());
    match asked.asked() {
        Some(asked) => asked.iter().eq(&got.capabilities),
        None => first || got.capabilities.iter().all(|one| Capability::OWN_SCOPE.contains(one)),
    }
}

/// What everybody shares, and agents.
fn in_common(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::SymbolSet(asked), Event::SymbolSet(got)) => asked == got,
        (Command::FactSet(asked), Event::FactSet(got)) => asked == got,
        (Command::FactDelete(asked), Event::FactDeleted(got)) => asked == got,
        (Command::CapsuleWrite(asked), Event::CapsuleWritten(got)) => {
            let depends = once_each(&asked.depends);
            capsule::Write { depends, ..asked.clone() } == *got
        }
        (Command::DecisionAppend(asked), Event::DecisionAppended(got)) => {
            asked.title == got.title && asked.body == got.body && asked.via == got.via
        }
        (Command::DisputeRaise(asked), Event::DisputeRaised(got)) => asked == got,
        (Command::LedgerLog(asked), Event::LedgerLogged(got)) => asked == got,
        (Command::LedgerBaseline(asked), Event::LedgerBaselined(got)) => asked == got,
        (Command::MessageNote(asked), Event::MessageNoted(got)) => asked == got,
        (Command::AgentRegister(asked), Event::AgentDescribed(got)) => {
            asked.human == got.human
                && asked.role == got.role
                && asked.tool == got.tool
                && asked.tool_version == got.tool_version
        }
        (Command::AgentHeartbeat(asked), Event::AgentHeartbeat(got)) => asked.looked == got.looked,
        (Command::AgentRevoke(asked), Event::AgentRevoked(got))
        | (Command::AgentReinstate(asked), Event::AgentReinstated(got)) => asked == got,
        _ => false,
    }
}

fn among_people(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::UserSuspend(asked), Event::UserSuspended(got)) => {
            asked.user == got.user_id && asked.reason == got.reason
        }
        (Command::UserResume(asked), Event::UserResumed(got)) => {
            asked.user == got.user_id && asked.reason == got.reason
        }
        (Command::UserBlock(asked), Event::UserBlocked(got)) => {
            asked.user == got.user_id && asked.condition == got.blocking_condition
        }
        (Command::UserUnblock(asked), Event::UserUnblocked(got)) => {
            asked.user == got.user_id && asked.condition == got.resolved_condition
        }
        (Command::UserDeactivate(asked), Event::UserDeactivated(got)) => {
            asked.user == got.user_id && asked.reason == got.reason
        }
        (Command::UserReactivate(asked), Event::UserReactivated(got)) => {
            asked.user == got.user_id && asked.reason == got.reason
        }
        (Command::CapabilityGrant(asked), Event::CapabilityGranted(got)) => {
            asked.user == got.user_id && asked.capability == got.capability
        }
        (Command::CapabilityRevoke(asked), Event::CapabilityRevoked(got)) => {
            asked.user == got.user_id
                && asked.reason == got.reason
                && asked.capability == got.capability
        }
        (Command::WorkspaceTransfer(asked), Event::OwnershipTransferred(got)) => {
            asked.workspace == got.workspace_id
                && asked.to == got.to_user
                && asked.reason == got.reason
        }
        _ => false,
    }
}

fn in_workspaces(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::RunStart(asked), Event::WorkspaceCreated(got)) => {
            let run = got.run.as_ref();
            run.is_some_and(|run| {
                let wish = asked.highway.as_ref();
                run.taxonomy == asked.taxonomy
                    && run.limits == asked.limits
                    && run.deployment_model == asked.deployment.unwrap_or_default()
                    && wish.is_none_or(|wish| Highway::default().with(wish) == run.highway)
            }) && asked.owner.as_ref().is_none_or(|owner| Party::User(owner.clone()) == got.owner)
                && asked.agent.as_ref().is_none_or(|agent| Some(agent) == got.agent.as_ref())
        }
        (Command::WorkspaceMigrate(asked), Event::MigrationStarted(got)) => {
            asked.agent == got.new_agent
                && asked.workspace == got.workspace_id
                && asked.reason == got.reason
        }
        (Command::WorkspaceTerminate(asked), Event::GracefulTerminationInitiated(got)) => {
            asked.workspace == got.workspace_id
                && asked.reason == got.reason
                && asked.grace_s.span() == got.grace_period
        }
        (Command::WorkspaceGrantVisibility(asked), Event::VisibilityGranted(got)) => {
            asked.workspace == got.workspace_id
                && asked.target == got.target
                && asked.reason == got.reason
        }
        (Command::WorkspaceReparent(asked), Event::WorkspaceReparented(got)) => {
            asked.workspace == got.workspace_id && asked.parent == got.new_parent
        }
        (Command::WorkspaceModifyBudget(asked), Event::BudgetModified(got)) => {
            asked.workspace == got.workspace_id
                && asked.limits.get(&got.budget_dimension) == Some(&got.new_limit)
        }
        (Command::WorkspaceSetPriority(asked), Event::PriorityChanged(got)) => {
            asked.workspace == got.workspace_id && asked.priority == got.new_priority
        }
        (Command::WorkspaceBatchAbort(asked), Event::BatchAbort(got)) => {
            asked.group == got.group_id && asked.reason == got.reason
        }
        (Command::WorkspaceBatchPriority(asked), Event::BatchPriorityChanged(got)) => {
            asked.group == got.group_id && asked.priority == got.new_priority
        }
        (Command::MeterReport(asked), Event::MeterReported(got)) => {
            asked.tokens == got.tokens
                && asked.cost == got.cost
                && is_in(asked.workspace.as_ref(), &got.workspace_id)
        }
        (Command::RunHandOver(asked), Event::RunHandedOver(got)) => asked.agent == got.agent,
        (Command::RunEnd(asked), Event::RunStopped(got)) => {
            asked.reason == got.reason && (asked.force || !got.forced)
        }
        (Command::WorkspaceCreate(asked), Event::WorkspaceCreated(got)) => is_created(asked, got),
        (Command::TaskAssign(asked), Event::WorkspaceCreated(got)) => {
            is_created(&asked.as_create(), got)
        }
        (Command::WorkspaceCreate(_) | Command::TaskAssign(_), Event::WorkspaceRejected(_)) => true,
        (Command::InboxTake(asked), Event::InboxTaken(got)) => {
            is_in(asked.workspace.as_ref(), &got.workspace_id)
        }
        (Command::WorkspaceWrite(asked), Event::WorkspaceWritten(got)) => {
            asked.path == got.path
                && is_in(asked.workspace.as_ref(), &got.workspace_id)
                && is_stored(asked.content.as_ref(), got.content.as_ref())
        }
        (_, Event::WorkspaceStateChanged(got)) => is_step_asked_for(command, got),
        (Command::EnvelopeSend(asked), Event::EnvelopeCreated(got)) => {
            asked.payload.stored().is_ok_and(|payload| payload == got.payload)
                && is_addressed(asked, got)
        }
        (Command::EnvelopeSend(asked), Event::EnvelopeRejected(got)) => {
            asked.to == got.to && asked.kind == got.kind
        }
        (Command::InboxTake(_), Event::SignalEmitted(got)) => got.signal == SignalType::Ready,
        (Command::SignalEmit(asked), Event::SignalEmitted(got)) => {
            asked.signal == got.signal
                && asked.reason == got.reason
                && asked.about == got.about
                && asked.budget_warning == got.budget_warning
                && is_in(asked.workspace.as_ref(), &got.from)
        }
        (Command::RightGrant(asked), Event::PortRightCreated(got)) => {
            asked.holder == got.holder
                && asked.target == got.target
                && asked.once == (got.right_type == RightType::SendOnce)
        }
        (Command::RightRevoke(asked), Event::PortRightRevoked(got)) => {
            asked.right == got.right_id && asked.reason == got.reason
        }
        _ => false,
    }
}

/// What people say, and orders that wait for them.
fn on_highway(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::HighwayConfigure(asked), Event::HighwayConfigured(got)) => {
            got.highway.clone().with(asked) == got.highway
        }
        (Command::HighwayInject(asked), Event::EnvelopeCreated(got)) => {
            got.origin == Origin::Human
                && asked.payload.stored().is_ok_and(|payload| payload == got.payload)
                && asked.to == got.to
                && asked.kind == got.kind
                && asked.in_reply_to == got.in_reply_to
                && asked.priority.unwrap_or_default() == got.priority
        }
        (Command::HighwayInject(asked), Event::HumanInjection(got)) => {
            asked.to == got.to && asked.kind == got.kind
        }
        (Command::EscalationAnswer(asked), Event::EnvelopeCreated(got)) => {
            let payload = asked.payload.as_ref().and_then(|payload| payload.stored().ok());
            got.origin == Origin::Human && payload.as_ref() == Some(&got.payload)
        }
        (Command::EscalationAnswer(asked), Event::HumanInjection(_)) => {
            asked.response == ResponseType::Envelope
        }
        (Command::EscalationAnswer(asked), Event::WorkspaceStateChanged(got)) => {
            asked.response == ResponseType::Abort
                && asked.reason == got.reason
                && got.trigger == Trigger::AbortedByHuman
        }
        (Command::EscalationAnswer(asked), Event::EscalationResolved(got)) => {
            asked.escalation == got.signal_id && asked.response == got.response_type
        }
        (Command::GateResolve(asked), Event::GateResolved(got)) => {
            let action = match asked.action {
                GateAction::Approve => GateEnd::Approve,
                GateAction::Reject => GateEnd::Reject,
                GateAction::Modify => GateEnd::Modify,
            };
            asked.gate == got.gate_id
                && action == got.action
                && asked.changed() == got.modifications.as_deref()
                && asked.reason == got.reason
        }
        (Command::GateResolve(asked), Event::GateReentryBlocked(got)) => {
            asked.gate == got.gate_id && asked.action == got.converted_to
        }
        (Command::TaskApprove(_), Event::GateResolved(got)) => {
            got.action == GateEnd::Approve && got.gate_type == GateType::TaskApproval
        }
        (_, Event::GateTriggered(got)) => match (command, &got.request) {
            (Command::WorkspaceCreate(asked), Some(Request::Create(kept))) => *asked == **kept,
            (Command::TaskAssign(asked), Some(Request::Create(kept))) => {
                asked.as_create() == **kept
            }
            (Command::WorkspaceAbort(asked), Some(Request::Abort(kept))) => *asked == **kept,
            (Command::IntegrationDecide(asked), Some(Request::Integrate(kept))) => *asked == **kept,
            (Command::ConflictResolve(asked), Some(Request::Resolve(kept))) => *asked == **kept,
            (Command::IntegrationSalvage(asked), Some(Request::Salvage(kept))) => *asked == **kept,
            _ => false,
        },
        _ => false,
    }
}

fn in_plans(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::CheckpointCreate(asked), Event::CheckpointCreated(got)) => {
            is_checkpoint(asked, got)
        }
        (Command::CheckpointCreate(asked), Event::CheckpointRejected(got)) => {
            asked.kind == got.kind
        }
        (Command::TaskGraph(asked), Event::GraphCreated(got)) => {
            u32::try_from(asked.tasks.len()) == Ok(got.task_count)
        }
        (Command::TaskAdd(asked), Event::TaskCreated(got)) => {
            asked.graph == got.graph_id
                && asked.name == got.name
                && asked.priority == got.priority
                && asked.parent_task == got.parent_task
                && asked.estimate == got.estimate
                && once_each(&asked.depends_on) == got.depends_on
                && is_stored(Some(&asked.description), Some(&got.description))
        }
        (Command::TaskApprove(asked), Event::TaskApproved(got)) => {
            asked.graph.is_some() || asked.tasks.contains(&got.task_id)
        }
        (Command::TaskRetry(asked), Event::TaskStatusChanged(got)) => {
            asked.task == got.task_id && got.to_status == TaskStatus::Pending
        }
        (Command::TaskCancel(asked), Event::TaskStatusChanged(got)) => {
            asked.task == got.task_id && got.to_status == TaskStatus::Cancelled
        }
        (Command::IntegrationDecide(asked), Event::IntegrationStarted(got)) => {
            asked.decision == Decision::Accept
                && got.mode == Mode::Normal
                && asked.workspace == got.source
                && asked.strategy.unwrap_or_default() == got.strategy
                && are_stored(asked.merged.as_deref(), got.merged.as_deref())
        }
        (Command::IntegrationSalvage(asked), Event::IntegrationStarted(got)) => {
            got.mode == Mode::Salvage
                && asked.workspace == got.source
                && asked.reason == got.reason
                && asked.checkpoint.as_ref().is_none_or(|chosen| *chosen == got.checkpoint_ref)
                && are_stored(Some(&asked.merged), got.merged.as_deref())
        }
        (Command::ConflictResolve(asked), Event::ConflictResolved(got)) => {
            let settled = match asked.strategy {
                Resolution::CoordinatorResolve => Settled::CoordinatorResolve,
                Resolution::Escalate => Settled::Escalate,
                Resolution::AgentRework => Settled::AgentRework,
            };
            asked.conflict == got.conflict_id
                && asked.workspace == got.workspace_id
                && settled == got.resolution_strategy
                && Some(&asked.resolution) == got.resolution.as_ref()
                && are_stored(asked.merged.as_deref(), got.merged.as_deref())
        }
        _ => false,
    }
}

/// What was said in words, and which step was asked for.
fn is_step_asked_for(command: &Command, got: &StateChanged) -> bool {
    let (workspace, reason, fits) = match command {
        Command::WorkspaceAbort(asked) => {
            (&asked.workspace, &asked.reason, got.to_state == Status::Failed)
        }
        Command::WorkspaceSuspend(asked) => {
            (&asked.workspace, &asked.reason, got.to_state == Status::Suspended)
        }
        Command::WorkspaceResume(asked) => {
            (&asked.workspace, &None, got.trigger == Trigger::Resume)
        }
        Command::IntegrationDecide(asked) => {
            let trigger = match asked.decision {
                Decision::Accept => None,
                Decision::Revise => Some(Trigger::RevisionRequired),
                Decision::Reject => Some(Trigger::Rejected),
            };
            (&asked.workspace, &asked.reason, trigger == Some(got.trigger))
        }
        _ => return false,
    };
    *workspace == got.workspace_id && *reason == got.reason && fits
}

/// Whether something happened in the workspace that was named, if one was.
fn is_in(asked: Option<&WorkspaceId>, got: &WorkspaceId) -> bool {
    asked.is_none_or(|asked| asked == got)
}

fn is_created(asked: &Create, got: &Created) -> bool {
    Some(&asked.agent) == got.agent.as_ref()
        && asked.role == got.role
        && asked.delegate == got.delegate
        && asked.global_trail == got.global_trail
        && asked.task == got.task_ref
        && asked.mounts == got.mounts
        && asked.budget == got.budget
        && asked.group == got.group
        && asked.liveness_interval_s == got.liveness_interval_s
        && asked.warn_at_percent == got.warn_at_percent
        && asked.visibility == got.visibility_set
        && asked.parent.as_ref().is_none_or(|parent| Some(parent) == got.parent.as_ref())
        && asked.authority.as_ref().is_none_or(|authority| *authority == got.authority_set)
        && asked.caused_by == got.caused_by
        && asked.owner.as_ref().is_none_or(|owner| Party::User(owner.clone()) == got.owner)
        && Some(asked.timeout_s.unwrap_or(TIMEOUT_DEFAULT)) == got.timeout_s
        && asked.idle_timeout_s.unwrap_or(IDLE_TIMEOUT_DEFAULT) == got.idle_timeout_s
        && (asked.task.is_some() || asked.priority.unwrap_or_default() == got.priority)
        && asked.priority.is_none_or(|priority| priority == got.priority)
        && is_stored(asked.context.as_ref(), got.context.as_ref())
}

fn is_addressed(asked: &envelope::Send, got: &envelope::Created) -> bool {
    asked.to == got.to
        && asked.kind == got.kind
        && asked.priority == got.priority
        && asked.rights == got.rights
        && asked.in_reply_to == got.in_reply_to
        && asked.workspace.as_ref().is_none_or(|from| *from == got.from)
}

fn is_checkpoint(asked: &checkpoint::Create, got: &checkpoint::Created) -> bool {
    let artifacts = asked.artifacts.len() == got.artifacts.len()
        && asked.artifacts.iter().zip(&got.artifacts).all(|(asked, got)| {
            asked.name == got.name && is_stored(Some(&asked.content), Some(&got.content))
        });
    artifacts
        && is_in(asked.workspace.as_ref(), &got.workspace)
        && asked.kind == got.kind
        && asked.status == got.status
        && asked.confidence == got.confidence
        && asked.intent == got.intent
        && asked.parent == got.parent
        && asked.resource_usage == got.resource_usage
        && is_stored(asked.content.as_ref(), got.content.as_ref())
        && are_stored(Some(&asked.files_changed), Some(&got.files_changed))
}

fn is_stored(asked: Option<&Content>, got: Option<&Blob>) -> bool {
    match (asked, got) {
        (None, None) => true,
        (Some(asked), Some(got)) => asked.blob() == Some(got),
        _ => false,
    }
}

fn are_stored(asked: Option<&[FileArg]>, got: Option<&[File]>) -> bool {
    match (asked, got) {
        (None, None) => true,
        (Some(asked), Some(got)) => {
            asked.len() == got.len()
                && asked.iter().zip(got).all(|(asked, got)| {
                    asked.path == got.path
                        && is_stored(asked.content.as_ref(), got.content.as_ref())
                })
        }
        _ => false,
    }
}
