//! The stored content that events refer to.

use crate::model::runs::approvals::request::Request;
use crate::model::runs::file::File;
use crate::protocol::event::{ApprovalEvent, MessageEvent, PlanEvent, WorkspaceEvent};
use crate::values::content::Blob;

fn in_files(files: &[File]) -> impl Iterator<Item = &Blob> {
    files.iter().filter_map(|file| file.content.as_ref())
}

impl<'a> WorkspaceEvent<'a> {
    pub(crate) fn blobs(self) -> Vec<&'a Blob> {
        match self {
            WorkspaceEvent::WorkspaceCreated(body) => body.context.iter().collect(),
            WorkspaceEvent::WorkspaceWritten(body) => body.content.iter().collect(),
            WorkspaceEvent::RunHandedOver(_)
            | WorkspaceEvent::RunStopped(_)
            | WorkspaceEvent::RunHeld(_)
            | WorkspaceEvent::RunLanded(_)
            | WorkspaceEvent::WorkspaceBranched(_)
            | WorkspaceEvent::ProcessStarted(_)
            | WorkspaceEvent::ProcessEnded(_)
            | WorkspaceEvent::MeterReported(_)
            | WorkspaceEvent::WorkspaceStateChanged(_)
            | WorkspaceEvent::WorkspaceRejected(_)
            | WorkspaceEvent::BudgetWarning(_)
            | WorkspaceEvent::BudgetExceeded(_)
            | WorkspaceEvent::BudgetModified(_)
            | WorkspaceEvent::LivenessWarning(_)
            | WorkspaceEvent::PriorityChanged(_)
            | WorkspaceEvent::VisibilityGranted(_)
            | WorkspaceEvent::BatchAbort(_)
            | WorkspaceEvent::BatchPriorityChanged(_)
            | WorkspaceEvent::MigrationStarted(_)
            | WorkspaceEvent::MigrationCompleted(_)
            | WorkspaceEvent::MigrationFailed(_)
            | WorkspaceEvent::SuspensionStarted(_)
            | WorkspaceEvent::SuspensionResumed(_)
            | WorkspaceEvent::GracefulTerminationInitiated(_)
            | WorkspaceEvent::GracefulTerminationExpired(_)
            | WorkspaceEvent::OwnershipTransferred(_)
            | WorkspaceEvent::WorkspaceReparented(_)
            | WorkspaceEvent::ResourceDiscrepancy(_) => Vec::new(),
        }
    }
}

impl<'a> MessageEvent<'a> {
    pub(crate) fn blobs(self) -> Vec<&'a Blob> {
        match self {
            MessageEvent::EnvelopeCreated(body) => {
                body.payload.attachments.iter().chain([&body.payload.content]).collect()
            }
            MessageEvent::EnvelopeAttempted(_)
            | MessageEvent::InboxTaken(_)
            | MessageEvent::SignalEmitted(_)
            | MessageEvent::SignalDelivered(_)
            | MessageEvent::EnvelopeDelivered(_)
            | MessageEvent::EnvelopeRejected(_)
            | MessageEvent::EnvelopeUndeliverable(_)
            | MessageEvent::EnvelopeRedelivered(_)
            | MessageEvent::PortRightCreated(_)
            | MessageEvent::PortRightTransferred(_)
            | MessageEvent::PortRightRevoked(_)
            | MessageEvent::PortRightConsumed(_) => Vec::new(),
        }
    }
}

impl<'a> PlanEvent<'a> {
    pub(crate) fn blobs(self) -> Vec<&'a Blob> {
        match self {
            PlanEvent::CheckpointCreated(body) => {
                let artifacts = body.artifacts.iter().map(|artifact| &artifact.content);
                body.content.iter().chain(in_files(&body.files_changed)).chain(artifacts).collect()
            }
            PlanEvent::TaskCreated(body) => vec![&body.description],
            PlanEvent::IntegrationStarted(body) => {
                body.merged.iter().flat_map(|files| in_files(files)).collect()
            }
            PlanEvent::ConflictResolved(body) => {
                body.merged.iter().flat_map(|files| in_files(files)).collect()
            }
            PlanEvent::CheckpointRejected(_)
            | PlanEvent::GraphCreated(_)
            | PlanEvent::TaskApproved(_)
            | PlanEvent::TaskAssigned(_)
            | PlanEvent::TaskStatusChanged(_)
            | PlanEvent::TaskCompleted(_)
            | PlanEvent::TaskFailed(_)
            | PlanEvent::IntegrationCompleted(_)
            | PlanEvent::IntegrationAborted(_)
            | PlanEvent::IntegrationUndone(_)
            | PlanEvent::ConflictDetected(_) => Vec::new(),
        }
    }
}

impl<'a> ApprovalEvent<'a> {
    pub(crate) fn blobs(self) -> Vec<&'a Blob> {
        match self {
            ApprovalEvent::GateTriggered(body) => {
                body.request.iter().flat_map(Request::blobs).collect()
            }
            ApprovalEvent::GateResolved(body) => {
                body.modifications.iter().flat_map(|changed| changed.blobs()).collect()
            }
            ApprovalEvent::HighwayConfigured(_)
            | ApprovalEvent::GateTimeout(_)
            | ApprovalEvent::GateReentryBlocked(_)
            | ApprovalEvent::HumanInjection(_)
            | ApprovalEvent::EscalationReceived(_)
            | ApprovalEvent::EscalationResolved(_)
            | ApprovalEvent::EscalationTimeout(_) => Vec::new(),
        }
    }
}
