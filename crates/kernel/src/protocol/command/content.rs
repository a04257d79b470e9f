//! Content of commands that is stored beside the trail.

use crate::model::runs::approvals::escalation;
use crate::protocol::command::{Command, in_files, in_payload};
use crate::values::content::Content;

impl Command {
    /// Visits every piece of content that comes with the command, so that it can be stored.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for every command, so that none is forgotten"
    )]
    pub fn each_content<E>(
        &mut self,
        visit: &mut dyn FnMut(&mut Content) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Command::WorkspaceCreate(args) => {
                args.context.as_mut().map_or(Ok(()), &mut *visit)?;
                args.directive.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))
            }
            Command::WorkspaceWrite(args) => args.content.as_mut().map_or(Ok(()), visit),
            Command::EnvelopeSend(args) => in_payload(&mut args.payload, visit),
            Command::CheckpointCreate(args) => {
                args.content.as_mut().map_or(Ok(()), &mut *visit)?;
                args.artifacts.iter_mut().try_for_each(|artifact| visit(&mut artifact.content))?;
                in_files(&mut args.files_changed, visit)
            }
            Command::TaskGraph(args) => {
                args.tasks.iter_mut().try_for_each(|task| visit(&mut task.description))
            }
            Command::TaskAdd(args) => visit(&mut args.description),
            Command::TaskAssign(args) => {
                args.context.as_mut().map_or(Ok(()), &mut *visit)?;
                args.directive.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))
            }
            Command::IntegrationDecide(args) => {
                args.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
            }
            Command::IntegrationSalvage(args) => in_files(&mut args.merged, visit),
            // The notice to the agent is derived from the command, and stored too.
            Command::WorkspaceTerminate(args) => visit(&mut Content::Text(args.notice().into())),
            Command::ConflictResolve(args) => {
                args.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
            }
            Command::HighwayInject(args) => in_payload(&mut args.payload, visit),
            Command::EscalationAnswer(args) => {
                args.payload.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))
            }
            Command::GateResolve(args) => {
                args.modifications.as_mut().map_or(Ok(()), |changed| changed.each_content(visit))
            }
            // The remaining commands have no content to store.
            Command::SessionOpen(_)
            | Command::SessionClose(_)
            | Command::LeaseOpen(_)
            | Command::LeaseRenew(_)
            | Command::LeaseRelease(_)
            | Command::LeaseUse(_)
            | Command::LeaseForce(_)
            | Command::UserCreate(_)
            | Command::UserSuspend(_)
            | Command::UserResume(_)
            | Command::UserBlock(_)
            | Command::UserUnblock(_)
            | Command::UserDeactivate(_)
            | Command::UserReactivate(_)
            | Command::CapabilityGrant(_)
            | Command::CapabilityRevoke(_)
            | Command::GateAsk(_)
            | Command::AgentRegister(_)
            | Command::AgentHeartbeat(_)
            | Command::AgentRevoke(_)
            | Command::AgentReinstate(_)
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
            | Command::MemoryMove(_)
            | Command::MemoryStep(_)
            | Command::MemoryProgress(_)
            | Command::MemorySweep(_)
            | Command::MemoryConverge(_)
            | Command::MemoryArchive(_)
            | Command::MemoryTurn(_)
            | Command::MemoryOffer(_)
            | Command::MemoryLoop(_)
            | Command::WorkBegin(_)
            | Command::WorkNext(_)
            | Command::WorkFinish(_)
            | Command::RunStart(_)
            | Command::RunHandOver(_)
            | Command::RunHold(_)
            | Command::RunLand(_)
            | Command::RunEnd(_)
            | Command::WorkspaceBranch(_)
            | Command::WorkspaceProcess(_)
            | Command::IntegrationUndo(_)
            | Command::WorkspaceAbort(_)
            | Command::WorkspaceSuspend(_)
            | Command::WorkspaceResume(_)
            | Command::WorkspaceMigrate(_)
            | Command::WorkspaceGrantVisibility(_)
            | Command::WorkspaceReparent(_)
            | Command::WorkspaceTransfer(_)
            | Command::WorkspaceModifyBudget(_)
            | Command::WorkspaceSetPriority(_)
            | Command::WorkspaceBatchAbort(_)
            | Command::WorkspaceBatchPriority(_)
            | Command::MeterReport(_)
            | Command::InboxTake(_)
            | Command::SignalEmit(_)
            | Command::TaskApprove(_)
            | Command::TaskRetry(_)
            | Command::TaskCancel(_)
            | Command::HighwayConfigure(_)
            | Command::RightGrant(_)
            | Command::RightRevoke(_)
            | Command::ProjectCreate(_)
            | Command::RuntimeRekey(_)
            | Command::RuntimeUnauthentic(_)
            | Command::RuntimeRestored(_)
            | Command::RuntimeDegraded(_)
            | Command::RuntimeRecover(_)
            | Command::RuntimeDisconnect(_)
            | Command::TrailDenied(_)
            | Command::TrailCompact(_)
            | Command::TrailPrune(_)
            | Command::TrailSnapshot(_)
            | Command::AccessRefused(_)
            | Command::RuntimeAuthentic(_)
            | Command::RuntimeViolated(_) => Ok(()),
        }
    }

    /// Fixed texts that the command refers to and that must be stored before it is carried out.
    pub fn texts(&self) -> &'static [&'static str] {
        if matches!(self, Command::RunStart(_) | Command::HighwayConfigure(_)) {
            &[escalation::PROCEED]
        } else {
            &[]
        }
    }
}
