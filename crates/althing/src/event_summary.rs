//! One-line summaries of entries, for people to read.

use althing_kernel::admission::Standing;
use althing_kernel::blackboard::Label;
use althing_kernel::event::{
    AdminEvent, AgentEvent, ApprovalEvent, BlackboardEvent, EventRoom, LeaseEvent, MemoryEvent,
    MessageEvent, PlanEvent, UserEvent, WorkspaceEvent,
};
use althing_kernel::git::{BranchName, CommitId};
use althing_kernel::integration::Mode;
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::meter::Amount;
use althing_kernel::workspace::process;
use althing_kernel::{Event, WorkspaceId};

use crate::amounts::{name, show, show_cost};
use crate::naming::short_ids;
use crate::output::{clock_time, counted, one_line};
use crate::span::show_secs;

/// One-line summary of an entry, with its ids shortened.
pub(crate) fn summary(event: &Event) -> String {
    one_line(&short_ids(&summarize(event)))
}

fn summarize(event: &Event) -> String {
    match event.room() {
        EventRoom::Admin(event) => of_admin(event),
        EventRoom::Agent(event) => of_agents(event),
        EventRoom::User(event) => of_people(event),
        EventRoom::Lease(event) => of_leases(event),
        EventRoom::Blackboard(event) => of_blackboard(event),
        EventRoom::Memory(event) => of_memory(event),
        EventRoom::Workspace(event) => of_workspaces(event),
        EventRoom::Message(event) => of_messages(event),
        EventRoom::Plan(event) => of_plans(event),
        EventRoom::Approval(event) => of_approvals(event),
    }
}

/// The project, its runtime, and the trail itself.
fn of_admin(event: AdminEvent<'_>) -> String {
    match event {
        AdminEvent::ProjectCreated(body) => body.name.to_string(),
        AdminEvent::RuntimeRekeyed(body) => {
            format!("now {}: {}", body.new_key.short(), body.reason)
        }
        AdminEvent::RuntimeRestored(body) => format!(
            "put back from a copy in place of {} entries; epochs go on above {}",
            body.entries_before, body.epoch
        ),
        AdminEvent::RulesAdopted(body) => format!("rules {} after {}", body.version, body.from),
        AdminEvent::CommandRefused(body) => {
            format!("{} [{}] {}", body.command, body.rule, body.message)
        }
        AdminEvent::TrailPruned(body) => format!("{} for {}", body.entries, body.asked_by),
        AdminEvent::SystemDegraded(body) => {
            format!("storage was out, {} commands turned away: {}", body.turned_away, body.reason)
        }
        AdminEvent::RecoveryCompleted(body) => format!(
            "{} had ended; {} on, {} failed, {} set aside",
            counted(body.writers.len() as u64, "writer", "writers"),
            counted(body.workspaces_recovered, "workspace goes", "workspaces go"),
            body.workspaces_failed,
            counted(body.quarantined_entries, "thing", "things")
        ),
        AdminEvent::IntegrityViolation(body) => format!(
            "{} {}: {}, {}",
            word(&body.subject_type),
            body.subject_id,
            word(&body.violation),
            word(&body.action_taken)
        ),
        AdminEvent::TrailCompacted(body) => match body.archive {
            Some(number) => {
                format!("{} of {} to archive {number}", body.entries_archived, body.workspace)
            }
            None => format!("nothing of {}", body.workspace),
        },
        AdminEvent::TrailAccessDenied(body) => format!("to {}", body.requester),
        AdminEvent::TrailSnapshotCreated(body) => format!("up to entry {}", body.up_to_entry),
    }
}

/// Agents, their sessions, and whether somebody is who they say.
fn of_agents(event: AgentEvent<'_>) -> String {
    match event {
        AgentEvent::AgentRegistered(body) => {
            format!("{} with key {}", body.agent, body.key.short())
        }
        AgentEvent::AgentDescribed(body) => {
            let about = [&body.role, &body.human, &body.tool, &body.tool_version];
            let about: Vec<&str> = about.into_iter().flatten().map(Label::as_str).collect();
            format!("{}: {}", body.agent, about.join(", "))
        }
        AgentEvent::AgentHeartbeat(body) => body.agent.to_string(),
        AgentEvent::AgentRevoked(body) | AgentEvent::AgentReinstated(body) => {
            body.agent.to_string()
        }
        AgentEvent::SessionOpened(body) => body.workspace.to_string(),
        AgentEvent::SessionConnected(body) => {
            format!("{} through {}", body.workspace, body.connection.name)
        }
        AgentEvent::SessionDisconnected(body) => {
            let gone = if body.until.is_some() { ", its host is gone" } else { "" };
            format!("{} from {}{gone}", body.workspace, body.connection)
        }
        AgentEvent::SessionKept(body) => format!("{} for the work bound to it", body.workspace),
        AgentEvent::SessionClosed(body) => {
            format!("{} {:?}", body.workspace, body.cause).to_lowercase()
        }
        AgentEvent::AuthenticationFailed(body) => format!("not {}: {}", body.entity, body.reason),
        AgentEvent::AuthenticationSucceeded(_) => String::new(),
    }
}

/// People and their capabilities.
fn of_people(event: UserEvent<'_>) -> String {
    match event {
        UserEvent::UserCreated(body) => format!("{} by {}", body.user_id, body.created_by),
        UserEvent::UserSuspended(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        UserEvent::UserResumed(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        UserEvent::UserBlocked(body) => format!("{}: {}", body.user_id, body.blocking_condition),
        UserEvent::UserUnblocked(body) => format!("{}: {}", body.user_id, body.resolved_condition),
        UserEvent::UserDeactivated(body) => {
            format!("{}{}", body.user_id, why(body.reason.as_ref()))
        }
        UserEvent::UserReactivated(body) => {
            format!("{}{}", body.user_id, why(body.reason.as_ref()))
        }
        UserEvent::CapabilityGranted(body) => {
            format!("{} to {} by {}", body.capability, body.user_id, body.granted_by)
        }
        UserEvent::CapabilityRevoked(body) => {
            format!("{} of {}{}", body.capability, body.user_id, why(body.reason.as_ref()))
        }
        UserEvent::CapabilityDenied(body) => {
            let needed = body.capability.map_or_else(String::new, |one| format!(" ({one})"));
            format!("{} {}{needed}", body.action, word(&body.reason))
        }
    }
}

/// Leases on surfaces.
fn of_leases(event: LeaseEvent<'_>) -> String {
    match event {
        LeaseEvent::LeaseOpened(body) => {
            let surfaces: Vec<&str> =
                body.surfaces.as_slice().iter().map(althing_kernel::Surface::as_str).collect();
            let purpose =
                body.purpose.as_ref().map_or_else(String::new, |text| format!("  ({text})"));
            format!("{}  epoch {}  {}{purpose}", surfaces.join(" "), body.epoch, body.lease)
        }
        LeaseEvent::LeaseRenewed(body) => {
            format!("until {}  {}", clock_time(body.expires_at), body.lease)
        }
        LeaseEvent::LeaseReleased(body) => body.lease.to_string(),
        LeaseEvent::LeaseExpired(body) => format!("held by {}  {}", body.holder, body.lease),
        LeaseEvent::LeaseForced(body) => {
            format!("held by {}: {}  {}", body.holder, body.reason, body.lease)
        }
    }
}

/// The blackboard that everybody shares.
fn of_blackboard(event: BlackboardEvent<'_>) -> String {
    match event {
        BlackboardEvent::SymbolSet(body) => format!("{} = {}", body.id, body.value),
        BlackboardEvent::FactSet(body) => format!("{} = {}", body.key, body.value),
        BlackboardEvent::FactDeleted(body) => body.key.to_string(),
        BlackboardEvent::CapsuleWritten(body) => format!("{}: {}", body.id, body.what),
        BlackboardEvent::DecisionAppended(body) => format!("{}: {}", body.title, body.body),
        BlackboardEvent::DisputeRaised(body) => format!("{}: {}", body.id, body.title),
        BlackboardEvent::LedgerLogged(body) => {
            let by = body.tokenizer.as_ref().map_or("reported", |own| own.as_str());
            format!("{}/{}={} ({by})", body.role, body.kind, body.tokens.get())
        }
        BlackboardEvent::LedgerBaselined(body) => format!("{}={}", body.role, body.tokens.get()),
        BlackboardEvent::MessageNoted(body) => {
            let which = body.msg_id.as_ref().map_or("?", |own| own.as_str());
            format!("{} {which}", body.outcome.as_str())
        }
    }
}

/// Records of the memory.
fn of_memory(event: MemoryEvent<'_>) -> String {
    match event {
        MemoryEvent::MemoryCreated(body) => {
            format!("{} {}: {}", body.id.label(), body.status, body.text)
        }
        MemoryEvent::MemoryUpdated(body) => {
            let text = body.text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
            let done = if body.completed { ", and the plan is done" } else { "" };
            format!("{} {}{text}{done}", body.id.label(), body.fields.given().join(" "))
        }
        MemoryEvent::MemoryMoved(body) => {
            let why = why(body.reason.as_ref());
            format!("{} {} -> {}{why}", body.id.label(), body.from, body.to)
        }
        MemoryEvent::MemoryStepped(body) => {
            let done = if body.completed { ", and the plan is done" } else { "" };
            format!("{} {} {}{done}", body.plan.label(), body.step, body.status)
        }
        MemoryEvent::MemoryHeard(body) => {
            let text = body.text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
            format!("{}{text}", body.id.label())
        }
        MemoryEvent::MemorySwept(body) => {
            let each = body.moved.iter();
            let each = each.map(|own| format!("{} {} -> {}", own.id.label(), own.from, own.to));
            each.collect::<Vec<String>>().join(", ")
        }
        MemoryEvent::MemoryArchived(body) => {
            format!("{}{}", body.id.label(), why(body.reason.as_ref()))
        }
        MemoryEvent::MemoryTurned(body) => {
            format!("{} {}: {}", body.id.label(), body.slot, body.outcome)
        }
        MemoryEvent::MemoryOffered(body) => {
            let each = body.lanes.iter().map(|lane| {
                let agent = lane.fields.agent.as_ref().map_or("?", |name| name.as_str());
                format!("{} for {agent}: {}", lane.assignment.label(), lane.text)
            });
            each.collect::<Vec<String>>().join("; ")
        }
        MemoryEvent::MemoryLooped(body) => {
            let phase =
                body.phase.as_ref().map_or_else(String::new, |phase| format!(" -> {phase}"));
            format!("{} {}{phase}", body.id.label(), body.act.name())
        }
        MemoryEvent::MemoryExpired(body) => body.id.label(),
    }
}

/// Runs and their workspaces.
fn of_workspaces(event: WorkspaceEvent<'_>) -> String {
    match event {
        WorkspaceEvent::RunHandedOver(body) => {
            body.agent.as_ref().map_or_else(|| "to the system".to_owned(), |to| format!("to {to}"))
        }
        WorkspaceEvent::RunStopped(body) => {
            format!(
                "{}{}",
                if body.forced { "by force" } else { "done" },
                why(body.reason.as_ref())
            )
        }
        WorkspaceEvent::RunHeld(body) => {
            format!("{}{}", word(&body.hold), why(body.reason.as_ref()))
        }
        WorkspaceEvent::RunLanded(body) => of_branch(&body.merge.branch, &body.merge.commit),
        WorkspaceEvent::WorkspaceBranched(body) => {
            format!("{}  {}", of_branch(&body.branch, &body.base), body.workspace_id)
        }
        WorkspaceEvent::ProcessStarted(body) => format!("{}  {}", body.program, body.workspace_id),
        WorkspaceEvent::ProcessEnded(body) => of_process(body),
        WorkspaceEvent::WorkspaceWritten(body) => body.path.to_string(),
        WorkspaceEvent::MeterReported(body) => {
            let (tokens, cost) = (body.tokens.get(), show_cost(body.cost.get()));
            format!("{tokens} tokens, cost {cost}  {}", body.workspace_id)
        }
        WorkspaceEvent::WorkspaceCreated(body) => {
            let agent = body.agent.as_ref().map_or("the system", |agent| agent.as_str());
            format!("{} {} for {agent}", body.role, body.workspace_id)
        }
        WorkspaceEvent::WorkspaceStateChanged(body) => format!(
            "{} -> {} ({}){}  {}",
            body.from_state,
            body.to_state,
            body.trigger.as_str(),
            why(body.reason.as_ref()),
            body.workspace_id
        ),
        WorkspaceEvent::WorkspaceRejected(body) => {
            let short = |own: &Standing| {
                let (limit, measured) = (own.limit.get(), own.measured.get());
                format!(" {} {measured}, limit {limit}", own.capacity.as_str())
            };
            let short: String = body.short.iter().map(short).collect();
            format!("a workspace [{}] {}{short}", body.rule, word(&body.reason))
        }
        WorkspaceEvent::BudgetWarning(body) => {
            of_limit(body.budget_dimension, body.consumed, body.limit, &body.workspace_id)
        }
        WorkspaceEvent::BudgetExceeded(body) => {
            of_limit(body.budget_dimension, body.consumed, body.limit, &body.workspace_id)
        }
        WorkspaceEvent::BudgetModified(body) => {
            let shown = |limit: Amount| show(body.budget_dimension, limit.get());
            let (from, to) = (shown(body.old_limit), shown(body.new_limit));
            format!("{}: {from} -> {to}  {}", name(body.budget_dimension), body.workspace_id)
        }
        WorkspaceEvent::LivenessWarning(body) => {
            let last = clock_time(body.last_activity_timestamp);
            format!("nothing since {last}  {}", body.workspace_id)
        }
        WorkspaceEvent::PriorityChanged(body) => {
            let (from, to) = (word(&body.old_priority), word(&body.new_priority));
            format!("{from} -> {to}  {}", body.workspace_id)
        }
        WorkspaceEvent::VisibilityGranted(body) => {
            format!("{} to {}{}", body.target, body.workspace_id, why(body.reason.as_ref()))
        }
        WorkspaceEvent::BatchAbort(body) => {
            let why = why(body.reason.as_ref());
            format!("{}, {} workspaces{why}", body.group_id, body.affected_workspaces.len())
        }
        WorkspaceEvent::BatchPriorityChanged(body) => {
            let count = body.affected_workspaces.len();
            format!("{}, {count} workspaces -> {}", body.group_id, word(&body.new_priority))
        }
        WorkspaceEvent::MigrationStarted(body) => {
            format!("{} -> {}", body.old_agent, body.new_agent)
        }
        WorkspaceEvent::MigrationCompleted(body) => format!("{} is there", body.new_agent),
        WorkspaceEvent::MigrationFailed(body) => format!("{} did not come", body.new_agent),
        WorkspaceEvent::SuspensionStarted(body) => format!("was {}", body.pre_suspension_state),
        WorkspaceEvent::SuspensionResumed(body) => format!("is {}", body.resumed_to_state),
        WorkspaceEvent::GracefulTerminationInitiated(body) => format!(
            "{} has {}{}",
            body.workspace_id,
            show_secs(body.grace_period.secs()),
            why(body.reason.as_ref())
        ),
        WorkspaceEvent::GracefulTerminationExpired(body) => body.workspace_id.to_string(),
        WorkspaceEvent::OwnershipTransferred(body) => {
            format!("{} from {} to {}", body.workspace_id, body.from_user, body.to_user)
        }
        WorkspaceEvent::WorkspaceReparented(body) => {
            format!("{} from {} to {}", body.workspace_id, body.old_parent, body.new_parent)
        }
        WorkspaceEvent::ResourceDiscrepancy(body) => {
            let (agent, own) = (body.agent_value.get(), body.runtime_value.get());
            format!("{}: {agent} said, {own} counted", word(&body.field))
        }
    }
}

/// Signals, envelopes, inboxes and port rights.
fn of_messages(event: MessageEvent<'_>) -> String {
    match event {
        MessageEvent::EnvelopeAttempted(body) => {
            format!("{} attempt {}", body.envelope_id, body.attempt)
        }
        MessageEvent::InboxTaken(body) => {
            let envelopes = counted(body.envelopes.len() as u64, "envelope", "envelopes");
            let signals = counted(body.signals.len() as u64, "signal", "signals");
            format!("{envelopes}, {signals}")
        }
        MessageEvent::SignalEmitted(body) => {
            format!("{} from {}{}", body.signal, body.from, why(body.reason.as_ref()))
        }
        MessageEvent::SignalDelivered(body) => {
            format!("{} to {}", body.signal_id, body.delivered_to)
        }
        MessageEvent::EnvelopeCreated(body) => {
            format!("{} {} -> {}  {}", body.kind, body.from, body.to, body.envelope_id)
        }
        MessageEvent::EnvelopeDelivered(body) => format!("{} to {}", body.envelope_id, body.to),
        MessageEvent::EnvelopeRejected(body) => {
            format!("{} {} -> {}: {}", body.kind, body.from, body.to, word(&body.reason))
        }
        MessageEvent::EnvelopeUndeliverable(body) => {
            format!("{} to {}: {}", body.envelope_id, body.to, word(&body.reason))
        }
        MessageEvent::EnvelopeRedelivered(body) => format!("{} came again", body.envelope_id),
        MessageEvent::PortRightCreated(body) => {
            format!("{} {} -> {}", word(&body.right_type), body.holder, body.target)
        }
        MessageEvent::PortRightTransferred(body) => {
            format!("{} to {}", body.right_id, body.to_holder)
        }
        MessageEvent::PortRightRevoked(body) => {
            format!("{}{}", body.right_id, why(body.reason.as_ref()))
        }
        MessageEvent::PortRightConsumed(body) => body.right_id.to_string(),
    }
}

fn of_branch(branch: &BranchName, commit: &CommitId) -> String {
    format!("{branch} at {commit}")
}

fn of_process(body: &process::Ended) -> String {
    let (outcome, why) = (word(&body.outcome), why(body.reason.as_ref()));
    format!("{} {outcome}{why}  {}", body.program, body.workspace_id)
}

/// Checkpoints, tasks and their integration.
fn of_plans(event: PlanEvent<'_>) -> String {
    match event {
        PlanEvent::CheckpointCreated(body) => {
            format!("{} {}: {}", word(&body.status), body.checkpoint_id, body.intent)
        }
        PlanEvent::CheckpointRejected(body) => format!("{}: {}", body.kind, word(&body.reason)),
        PlanEvent::GraphCreated(body) => format!("{} of {} tasks", body.graph_id, body.task_count),
        PlanEvent::TaskCreated(body) => format!("{}  {}", body.name, body.task_id),
        PlanEvent::TaskApproved(body) => body.task_id.to_string(),
        PlanEvent::TaskAssigned(body) => {
            format!("{} attempt {} in {}", body.task_id, body.attempt_number, body.workspace_id)
        }
        PlanEvent::TaskStatusChanged(body) => {
            format!("{} -> {}  {}", body.from_status, body.to_status, body.task_id)
        }
        PlanEvent::TaskCompleted(body) => body.task_id.to_string(),
        PlanEvent::TaskFailed(body) => {
            format!("{} ({})", body.task_id, body.failure_reason.as_str())
        }
        PlanEvent::IntegrationStarted(body) => {
            let mode = if body.mode == Mode::Salvage { "salvage " } else { "" };
            format!("{mode}{} {} into {}", word(&body.strategy), body.source, body.target)
        }
        PlanEvent::IntegrationCompleted(body) => format!("{} into {}", body.source, body.target),
        PlanEvent::IntegrationAborted(body) => {
            format!("{} ({})", body.source, body.reason.as_str())
        }
        PlanEvent::IntegrationUndone(body) => {
            format!("{} from {}{}", body.source, body.merge.branch, why(body.reason.as_ref()))
        }
        PlanEvent::ConflictDetected(body) => {
            format!("{}: {}", word(&body.conflict_type), body.description)
        }
        PlanEvent::ConflictResolved(body) => word(&body.resolution_strategy),
    }
}

/// Gates, escalations and what people inject.
fn of_approvals(event: ApprovalEvent<'_>) -> String {
    match event {
        ApprovalEvent::HighwayConfigured(body) => match body.highway.name() {
            Some(preset) => preset.as_str().to_owned(),
            None => {
                body.highway.gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(" ")
            }
        },
        ApprovalEvent::GateTriggered(body) => {
            format!("{} before {}  {}", body.gate_type, body.subject, body.gate_id)
        }
        ApprovalEvent::GateResolved(body) => {
            let why = why(body.reason.as_ref());
            format!("{} {} by {}{why}", body.gate_type, word(&body.action), body.actor)
        }
        ApprovalEvent::GateTimeout(body) => {
            format!("{} after {}", word(&body.fallback_action), show_secs(body.elapsed.secs()))
        }
        ApprovalEvent::GateReentryBlocked(body) => {
            format!("{} {}", body.gate_type, body.subject_id)
        }
        ApprovalEvent::HumanInjection(body) => {
            let reason = body.reason.as_ref().map(word);
            let why = why(reason.as_ref());
            format!("{} to {} by {} is {}{why}", body.kind, body.to, body.actor, word(&body.status))
        }
        ApprovalEvent::EscalationReceived(body) => format!("{}: {}", body.workspace, body.reason),
        ApprovalEvent::EscalationResolved(body) => {
            format!("{} by {}", word(&body.response_type), body.actor)
        }
        ApprovalEvent::EscalationTimeout(body) => word(&body.fallback_action),
    }
}

fn of_limit(what: Dimension, used: Amount, limit: Amount, id: &WorkspaceId) -> String {
    format!("{}: {} of {}  {id}", name(what), show(what, used.get()), show(what, limit.get()))
}

fn why<T: std::fmt::Display>(reason: Option<&T>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// A value of a closed set, as it stands in the trail.
pub(crate) fn word<T: serde::Serialize>(value: &T) -> String {
    let text = serde_json::to_value(value).ok();
    text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
}
