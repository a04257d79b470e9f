//! How a refusal is recorded, and where.

use crate::machine::state::State;
use crate::model::runs::workspace::create;
use crate::protocol::event::Event;
use crate::protocol::refusal::{Record, Refusal, Refused};
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// The event that records a refusal.
pub(crate) fn recorded(refusal: &Refusal, command: Text<64>) -> Event {
    let command = match &refusal.record {
        Record::Named(named) => named.clone(),
        _ => command,
    };
    match &refusal.record {
        Record::Command | Record::Named(_) | Record::Violation(_) => {
            Event::CommandRefused(Refused {
                command,
                kind: refusal.kind,
                message: Text::lossy(&refusal.message),
                rule: refusal.rule,
            })
        }
        Record::Envelope(rejected) => Event::EnvelopeRejected(rejected.as_ref().clone()),
        Record::Checkpoint(rejected) => Event::CheckpointRejected(rejected.as_ref().clone()),
        Record::Injection(rejected) => Event::HumanInjection(rejected.as_ref().clone()),
        Record::Workspace(reason) => {
            let (reason, rule, short) = (*reason, refusal.rule, Vec::new());
            Event::WorkspaceRejected(create::Rejected { reason, rule, short })
        }
        Record::Capability(denial) => Event::CapabilityDenied(denial.event(command)),
        Record::Capacity(short) => Event::WorkspaceRejected(create::Rejected {
            reason: create::RejectReason::CapacityExhausted,
            rule: refusal.rule,
            short: short.clone(),
        }),
    }
}

/// The workspace whose local trail tells of a refusal, if the refusal says so itself.
pub(crate) fn home_of(state: &State, event: &Event) -> Option<WorkspaceId> {
    match event {
        Event::EnvelopeRejected(rejected) => Some(rejected.from.clone()),
        Event::CheckpointRejected(rejected) => Some(rejected.workspace.clone()),
        Event::HumanInjection(rejected) => Some(rejected.to.clone()),
        Event::WorkspaceRejected(_) => state.root.clone(),
        // Any other refusal does not say.
        _ => None,
    }
}
