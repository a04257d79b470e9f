//! One-line summaries of entries, for people to read.

use althing_kernel::admission::Standing;
use althing_kernel::blackboard::Label;
use althing_kernel::integration::Mode;
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::meter::Amount;
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
    match event {
        Event::ProjectCreated(body) => body.name.to_string(),
        Event::RuntimeRekeyed(body) => format!("now {}: {}", body.new_key.short(), body.reason),
        Event::RuntimeRestored(body) => format!(
            "put back from a copy in place of {} entries; epochs go on above {}",
            body.entries_before, body.epoch
        ),
        Event::RulesAdopted(body) => format!("rules {} after {}", body.version, body.from),
        Event::SystemDegraded(body) => {
            format!("storage was out, {} commands turned away: {}", body.turned_away, body.reason)
        }
        Event::RecoveryCompleted(body) => format!(
            "{} had ended; {} on, {} failed, {} set aside",
            counted(body.writers.len() as u64, "writer", "writers"),
            counted(body.workspaces_recovered, "workspace goes", "workspaces go"),
            body.workspaces_failed,
            counted(body.quarantined_entries, "thing", "things")
        ),
        Event::IntegrityViolation(body) => format!(
            "{} {}: {}, {}",
            word(&body.subject_type),
            body.subject_id,
            word(&body.violation),
            word(&body.action_taken)
        ),
        Event::AgentRegistered(body) => format!("{} with key {}", body.agent, body.key.short()),
        Event::AuthenticationFailed(body) => format!("not {}: {}", body.entity, body.reason),
        Event::UserCreated(body) => format!("{} by {}", body.user_id, body.created_by),
        Event::UserSuspended(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        Event::UserResumed(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        Event::UserBlocked(body) => format!("{}: {}", body.user_id, body.blocking_condition),
        Event::UserUnblocked(body) => format!("{}: {}", body.user_id, body.resolved_condition),
        Event::UserDeactivated(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        Event::UserReactivated(body) => format!("{}{}", body.user_id, why(body.reason.as_ref())),
        Event::CapabilityGranted(body) => {
            format!("{} to {} by {}", body.capability, body.user_id, body.granted_by)
        }
        Event::CapabilityRevoked(body) => {
            format!("{} of {}{}", body.capability, body.user_id, why(body.reason.as_ref()))
        }
        Event::CapabilityDenied(body) => {
            let needed = body.capability.map_or_else(String::new, |one| format!(" ({one})"));
            format!("{} {}{needed}", body.action, word(&body.reason))
        }
        Event::SessionOpened(body) => body.workspace.to_string(),
        Event::SessionConnected(body) => {
            format!("{} through {}", body.workspace, body.connection.name)
        }
        Event::SessionDisconnected(body) => {
            let gone = if body.until.is_some() { ", its host is gone" } else { "" };
            format!("{} from {}{gone}", body.workspace, body.connection)
        }
        Event::SessionKept(body) => format!("{} for the work bound to it", body.workspace),
        Event::SessionClosed(body) => format!("{} {:?}", body.workspace, body.cause).to_lowercase(),
        Event::LeaseOpened(body) => {
            let surfaces: Vec<&str> =
                body.surfaces.as_slice().iter().map(althing_kernel::Surface::as_str).collect();
            let purpose =
                body.purpose.as_ref().map_or_else(String::new, |text| format!("  ({text})"));
            format!("{}  epoch {}  {}{purpose}", surfaces.join(" "), body.epoch, body.lease)
        }
        Event::LeaseRenewed(body) => {
            format!("until {}  {}", clock_time(body.expires_at), body.lease)
        }
        Event::LeaseReleased(body) => body.lease.to_string(),
        Event::LeaseExpired(body) => format!("held by {}  {}", body.holder, body.lease),
        Event::LeaseForced(body) => {
            format!("held by {}: {}  {}", body.holder, body.reason, body.lease)
        }
        Event::CommandRefused(body) => format!("{} [{}] {}", body.command, body.rule, body.message),
        _ => of_runs(event),
    }
}

/// Events of runs: workspaces, mail and rights.
fn of_runs(event: &Event) -> String {
    match event {
        Event::RunHandedOver(body) => {
            body.agent.as_ref().map_or_else(|| "to the system".to_owned(), |to| format!("to {to}"))
        }
        Event::RunStopped(body) => {
            format!(
                "{}{}",
                if body.forced { "by force" } else { "done" },
                why(body.reason.as_ref())
            )
        }
        Event::WorkspaceCreated(body) => {
            let agent = body.agent.as_ref().map_or("the system", |agent| agent.as_str());
            format!("{} {} for {agent}", body.role, body.workspace_id)
        }
        Event::WorkspaceStateChanged(body) => format!(
            "{} -> {} ({}){}  {}",
            body.from_state,
            body.to_state,
            body.trigger.as_str(),
            why(body.reason.as_ref()),
            body.workspace_id
        ),
        Event::WorkspaceRejected(body) => {
            let short = |own: &Standing| {
                let (limit, measured) = (own.limit.get(), own.measured.get());
                format!(" {} {measured}, limit {limit}", own.capacity.as_str())
            };
            let short: String = body.short.iter().map(short).collect();
            format!("a workspace [{}] {}{short}", body.rule, word(&body.reason))
        }
        Event::WorkspaceReparented(body) => {
            format!("{} from {} to {}", body.workspace_id, body.old_parent, body.new_parent)
        }
        Event::VisibilityGranted(body) => {
            format!("{} to {}{}", body.target, body.workspace_id, why(body.reason.as_ref()))
        }
        Event::GracefulTerminationInitiated(body) => format!(
            "{} has {}{}",
            body.workspace_id,
            show_secs(body.grace_period.secs()),
            why(body.reason.as_ref())
        ),
        Event::GracefulTerminationExpired(body) => body.workspace_id.to_string(),
        Event::OwnershipTransferred(body) => {
            format!("{} from {} to {}", body.workspace_id, body.from_user, body.to_user)
        }
        Event::WorkspaceWritten(body) => body.path.to_string(),
        Event::MigrationStarted(body) => format!("{} -> {}", body.old_agent, body.new_agent),
        Event::MigrationCompleted(body) => format!("{} is there", body.new_agent),
        Event::MigrationFailed(body) => format!("{} did not come", body.new_agent),
        Event::SuspensionStarted(body) => format!("was {}", body.pre_suspension_state),
        Event::SuspensionResumed(body) => format!("is {}", body.resumed_to_state),
        Event::SignalEmitted(body) => {
            format!("{} from {}{}", body.signal, body.from, why(body.reason.as_ref()))
        }
        Event::SignalDelivered(body) => format!("{} to {}", body.signal_id, body.delivered_to),
        Event::EnvelopeCreated(body) => {
            format!("{} {} -> {}  {}", body.kind, body.from, body.to, body.envelope_id)
        }
        Event::EnvelopeDelivered(body) => format!("{} to {}", body.envelope_id, body.to),
        Event::EnvelopeRedelivered(body) => format!("{} came again", body.envelope_id),
        Event::EnvelopeRejected(body) => {
            format!("{} {} -> {}: {}", body.kind, body.from, body.to, word(&body.reason))
        }
        Event::EnvelopeUndeliverable(body) => {
            format!("{} to {}: {}", body.envelope_id, body.to, word(&body.reason))
        }
        Event::EnvelopeAttempted(body) => format!("{} attempt {}", body.envelope_id, body.attempt),
        Event::InboxTaken(body) => {
            let envelopes = counted(body.envelopes.len() as u64, "envelope", "envelopes");
            let signals = counted(body.signals.len() as u64, "signal", "signals");
            format!("{envelopes}, {signals}")
        }
        Event::PortRightCreated(body) => {
            format!("{} {} -> {}", word(&body.right_type), body.holder, body.target)
        }
        Event::PortRightTransferred(body) => {
            format!("{} to {}", body.right_id, body.to_holder)
        }
        Event::PortRightRevoked(body) => {
            format!("{}{}", body.right_id, why(body.reason.as_ref()))
        }
        Event::PortRightConsumed(body) => body.right_id.to_string(),
        _ => of_blackboard(event),
    }
}

/// Events of the blackboard, and of agents' descriptions.
fn of_blackboard(event: &Event) -> String {
    match event {
        Event::AgentDescribed(body) => {
            let said = [&body.role, &body.human, &body.tool, &body.tool_version];
            let said: Vec<&str> = said.into_iter().flatten().map(Label::as_str).collect();
            format!("{}: {}", body.agent, said.join(", "))
        }
        Event::AgentHeartbeat(body) => body.agent.to_string(),
        Event::AgentRevoked(body) | Event::AgentReinstated(body) => body.agent.to_string(),
        Event::SymbolSet(body) => format!("{} = {}", body.id, body.value),
        Event::FactSet(body) => format!("{} = {}", body.key, body.value),
        Event::FactDeleted(body) => body.key.to_string(),
        Event::CapsuleWritten(body) => format!("{}: {}", body.id, body.what),
        Event::DecisionAppended(body) => format!("{}: {}", body.title, body.body),
        Event::DisputeRaised(body) => format!("{}: {}", body.id, body.title),
        Event::LedgerLogged(body) => {
            let by = body.tokenizer.as_ref().map_or("reported", |own| own.as_str());
            format!("{}/{}={} ({by})", body.role, body.kind, body.tokens.get())
        }
        Event::LedgerBaselined(body) => format!("{}={}", body.role, body.tokens.get()),
        Event::MessageNoted(body) => {
            let which = body.msg_id.as_ref().map_or("?", |own| own.as_str());
            format!("{} {which}", body.outcome.as_str())
        }
        _ => of_memory(event),
    }
}

/// Events of the memory.
fn of_memory(event: &Event) -> String {
    match event {
        Event::MemoryCreated(body) => format!("{} {}: {}", body.id.label(), body.status, body.text),
        Event::MemoryUpdated(body) => {
            let text = body.text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
            let done = if body.completed { ", and the plan is done" } else { "" };
            format!("{} {}{text}{done}", body.id.label(), body.fields.given().join(" "))
        }
        Event::MemoryMoved(body) => {
            let why = why(body.reason.as_ref());
            format!("{} {} -> {}{why}", body.id.label(), body.from, body.to)
        }
        Event::MemoryStepped(body) => {
            let done = if body.completed { ", and the plan is done" } else { "" };
            format!("{} {} {}{done}", body.plan.label(), body.step, body.status)
        }
        Event::MemoryHeard(body) => {
            let text = body.text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
            format!("{}{text}", body.id.label())
        }
        Event::MemorySwept(body) => {
            let each = body.moved.iter();
            let each = each.map(|own| format!("{} {} -> {}", own.id.label(), own.from, own.to));
            each.collect::<Vec<String>>().join(", ")
        }
        Event::MemoryArchived(body) => format!("{}{}", body.id.label(), why(body.reason.as_ref())),
        Event::MemoryTurned(body) => {
            format!("{} {}: {}", body.id.label(), body.slot, body.outcome)
        }
        Event::MemoryLooped(body) => {
            let phase =
                body.phase.as_ref().map_or_else(String::new, |phase| format!(" -> {phase}"));
            format!("{} {}{phase}", body.id.label(), body.act.name())
        }
        Event::MemoryExpired(body) => body.id.label(),
        Event::MemoryOffered(body) => {
            let each = body.lanes.iter().map(|lane| {
                let agent = lane.fields.agent.as_ref().map_or("?", |name| name.as_str());
                format!("{} for {agent}: {}", lane.assignment.label(), lane.text)
            });
            each.collect::<Vec<String>>().join("; ")
        }
        _ => of_budgets(event),
    }
}

/// Events of budgets, liveness and priorities.
fn of_budgets(event: &Event) -> String {
    match event {
        Event::MeterReported(body) => {
            let (tokens, cost) = (body.tokens.get(), show_cost(body.cost.get()));
            format!("{tokens} tokens, cost {cost}  {}", body.workspace_id)
        }
        Event::BudgetWarning(body) => {
            said_of_limit(body.budget_dimension, body.consumed, body.limit, &body.workspace_id)
        }
        Event::BudgetExceeded(body) => {
            said_of_limit(body.budget_dimension, body.consumed, body.limit, &body.workspace_id)
        }
        Event::BudgetModified(body) => {
            let shown = |limit: Amount| show(body.budget_dimension, limit.get());
            let (from, to) = (shown(body.old_limit), shown(body.new_limit));
            format!("{}: {from} -> {to}  {}", name(body.budget_dimension), body.workspace_id)
        }
        Event::LivenessWarning(body) => {
            let last = clock_time(body.last_activity_timestamp);
            format!("nothing since {last}  {}", body.workspace_id)
        }
        Event::PriorityChanged(body) => {
            let (from, to) = (word(&body.old_priority), word(&body.new_priority));
            format!("{from} -> {to}  {}", body.workspace_id)
        }
        Event::BatchAbort(body) => {
            let why = why(body.reason.as_ref());
            format!("{}, {} workspaces{why}", body.group_id, body.affected_workspaces.len())
        }
        Event::BatchPriorityChanged(body) => {
            let count = body.affected_workspaces.len();
            format!("{}, {count} workspaces -> {}", body.group_id, word(&body.new_priority))
        }
        Event::ResourceDiscrepancy(body) => {
            let (agent, own) = (body.agent_value.get(), body.runtime_value.get());
            format!("{}: {agent} said, {own} counted", word(&body.field))
        }
        _ => of_tasks(event),
    }
}

fn said_of_limit(what: Dimension, used: Amount, limit: Amount, id: &WorkspaceId) -> String {
    format!("{}: {} of {}  {id}", name(what), show(what, used.get()), show(what, limit.get()))
}

/// Events of tasks, checkpoints and integration.
fn of_tasks(event: &Event) -> String {
    match event {
        Event::CheckpointCreated(body) => {
            format!("{} {}: {}", word(&body.status), body.checkpoint_id, body.intent)
        }
        Event::CheckpointRejected(body) => format!("{}: {}", body.kind, word(&body.reason)),
        Event::GraphCreated(body) => format!("{} of {} tasks", body.graph_id, body.task_count),
        Event::TaskCreated(body) => format!("{}  {}", body.name, body.task_id),
        Event::TaskApproved(body) => body.task_id.to_string(),
        Event::TaskAssigned(body) => {
            format!("{} attempt {} in {}", body.task_id, body.attempt_number, body.workspace_id)
        }
        Event::TaskStatusChanged(body) => {
            format!("{} -> {}  {}", body.from_status, body.to_status, body.task_id)
        }
        Event::TaskCompleted(body) => body.task_id.to_string(),
        Event::TaskFailed(body) => {
            format!("{} ({})", body.task_id, body.failure_reason.as_str())
        }
        Event::IntegrationStarted(body) => {
            let mode = if body.mode == Mode::Salvage { "salvage " } else { "" };
            format!("{mode}{} {} into {}", word(&body.strategy), body.source, body.target)
        }
        Event::IntegrationCompleted(body) => format!("{} into {}", body.source, body.target),
        Event::IntegrationAborted(body) => {
            format!("{} ({})", body.source, body.reason.as_str())
        }
        Event::ConflictDetected(body) => {
            format!("{}: {}", word(&body.conflict_type), body.description)
        }
        Event::ConflictResolved(body) => word(&body.resolution_strategy),
        Event::TrailAccessDenied(body) => format!("to {}", body.requester),
        Event::TrailCompacted(body) => match body.archive {
            Some(number) => {
                format!("{} of {} to archive {number}", body.entries_archived, body.workspace)
            }
            None => format!("nothing of {}", body.workspace),
        },
        Event::TrailPruned(body) => format!("{} for {}", body.entries, body.asked_by),
        Event::TrailSnapshotCreated(body) => format!("up to entry {}", body.up_to_entry),
        _ => said_on_the_highway(event),
    }
}

/// Events of gates, escalations and other words of people.
fn said_on_the_highway(event: &Event) -> String {
    match event {
        Event::HighwayConfigured(body) => match body.highway.name() {
            Some(preset) => preset.as_str().to_owned(),
            None => {
                body.highway.gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(" ")
            }
        },
        Event::GateTriggered(body) => {
            format!("{} before {}  {}", body.gate_type, body.subject, body.gate_id)
        }
        Event::GateResolved(body) => {
            let why = why(body.reason.as_ref());
            format!("{} {} by {}{why}", body.gate_type, word(&body.action), body.actor)
        }
        Event::GateTimeout(body) => {
            format!("{} after {}", word(&body.fallback_action), show_secs(body.elapsed.secs()))
        }
        Event::GateReentryBlocked(body) => format!("{} {}", body.gate_type, body.subject_id),
        Event::HumanInjection(body) => {
            let reason = body.reason.as_ref().map(word);
            let why = why(reason.as_ref());
            format!("{} to {} by {} is {}{why}", body.kind, body.to, body.actor, word(&body.status))
        }
        Event::EscalationReceived(body) => format!("{}: {}", body.workspace, body.reason),
        Event::EscalationResolved(body) => {
            format!("{} by {}", word(&body.response_type), body.actor)
        }
        Event::EscalationTimeout(body) => word(&body.fallback_action),
        // No command of this version leads to the rest.
        _ => String::new(),
    }
}

fn why<T: std::fmt::Display>(reason: Option<&T>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// A value of a closed set, as it stands in the trail.
pub(crate) fn word<T: serde::Serialize>(value: &T) -> String {
    let text = serde_json::to_value(value).ok();
    text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
}
