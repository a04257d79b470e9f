//! What an entry says, in a few words, for people to read.

use althing_kernel::Event;

use crate::output::{clock_time, one_line};

/// What an entry says, in a few words.
pub(crate) fn summary(event: &Event) -> String {
    one_line(&said(event))
}

fn said(event: &Event) -> String {
    match event {
        Event::ProjectCreated(body) => format!("{} ({})", body.name, body.project),
        Event::RuntimeRekeyed(body) => format!("now {}: {}", body.new_key.short(), body.reason),
        Event::RuntimeRestored(body) => format!(
            "put back from a copy in place of {} entries; epochs go on above {}",
            body.entries_before, body.epoch
        ),
        Event::SystemDegraded(body) => {
            format!("storage was out, {} commands turned away: {}", body.turned_away, body.reason)
        }
        Event::RecoveryCompleted(body) => format!(
            "{} writers had ended; {} workspaces go on, {} failed, {} things set aside",
            body.writers.len(),
            body.workspaces_recovered,
            body.workspaces_failed,
            body.quarantined_entries
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
        Event::SessionOpened(body) => body.workspace.to_string(),
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
        _ => said_at_work(event),
    }
}

/// What happens in runs: workspaces, mail and rights.
fn said_at_work(event: &Event) -> String {
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
        Event::WorkspaceRejected(body) => format!("[{}] {}", body.rule, word(&body.reason)),
        Event::WorkspaceReparented(body) => {
            format!("{} from {} to {}", body.workspace_id, body.old_parent, body.new_parent)
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
            format!("{} envelopes, {} signals", body.envelopes.len(), body.signals.len())
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
        _ => said_of_plans(event),
    }
}

/// What is planned, recorded and merged.
fn said_of_plans(event: &Event) -> String {
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
            format!("{} {} into {}", word(&body.strategy), body.source, body.target)
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
