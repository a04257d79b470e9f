//! The resource meter: the use of a workspace, as measured by the runtime.
//!
//! `apply` counts everything from entries, so a replay counts the same: bytes of content, mail and
//! the local trail, and time by state. Tokens and cost are spent outside and reported with
//! `meter.report`. An agent's figures in a checkpoint are compared with the meter and never change
//! it. The meter of an ended workspace does not change any more.

use serde::Serialize;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::{Status, Workspace};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::{abort, liveness};
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::meter::*;

/// Whether a caller may report the use of a workspace: its agent, or a caller who commands it.
pub(crate) fn may_report(state: &State, caller: &Caller, id: &WorkspaceId) -> bool {
    let own = match &caller.principal {
        Principal::Agent(name) => {
            state.workspaces.get(id).is_some_and(|known| known.agent.as_ref() == Some(name))
        }
        Principal::User(_) | Principal::System => false,
    };
    own || workspace::commands(state, caller, id)
}

pub(crate) fn decide_report(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    report: &Report,
) -> Result<Reply, DecisionError> {
    let state = tx.state();
    let id = match &report.workspace {
        None => workspace::own(state, caller, None)?,
        Some(id) => {
            workspace::get(state, id)?;
            if !may_report(state, caller, id) {
                let message =
                    format!("{} may not report the resource use of {id}", caller.principal);
                return Err(Refusal::denied(Rule::MeterReport, message).into());
            }
            id.clone()
        }
    };
    let status = workspace::get(state, &id)?.status;
    if status.is_terminal() {
        return Err(abort::ended(&id, status).into());
    }
    if status == Status::Suspended {
        let message = format!("workspace {id} is suspended, and nothing it uses counts");
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    }
    if report.tokens.is_zero() && report.cost.is_zero() {
        return Err(Refusal::denied(Rule::Usage, "neither tokens nor cost are reported").into());
    }
    let event = Event::MeterReported(Reported {
        cost: report.cost,
        tokens: report.tokens,
        workspace_id: id.clone(),
    });
    tx.note(Some(&id), caller.principal.clone().into(), event)?;
    tx.meter_reply(&id)
}

/// Records the discrepancies. They block nothing.
pub(crate) fn note_discrepancies(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    checkpoint: &CheckpointId,
    found: Vec<(UsageField, u64, u64)>,
) -> Result<(), ApplyError> {
    for (field, agent, runtime) in found {
        let event = Event::ResourceDiscrepancy(ResourceDiscrepancy {
            agent_value: Amount::new(agent),
            checkpoint_id: checkpoint.clone(),
            field,
            runtime_value: Amount::new(runtime),
            workspace: id.clone(),
        });
        tx.note(Some(id), Actor::Protocol, event)?;
    }
    Ok(())
}

/// Counts an applied entry for the meter of the workspace whose local trail it is in.
pub(crate) fn count(state: &mut State, entry: &Stamped) {
    let Some(id) = &entry.draft.workspace else { return };
    let delivered = match &entry.draft.event {
        Event::EnvelopeDelivered(body) => state.envelopes.get(&body.envelope_id),
        _ => None,
    };
    let delivered = delivered.map_or(0, |envelope| envelope.bytes);
    let Some(known) = state.workspaces.get_mut(id) else { return };
    if known.status.is_terminal() {
        return;
    }
    let workspace = Arc::make_mut(known);
    let context = workspace.meter.context;
    workspace.meter.trail = workspace.meter.trail.saturating_add(size_of(&entry.draft.event));
    workspace.meter.received = workspace.meter.received.saturating_add(delivered);
    count_event(workspace, &entry.draft.event, entry.at);
    let after = workspace.meter.context;
    state.context = state.context.saturating_sub(context).saturating_add(after);
    liveness::on_entry(state, id, entry);
}

fn count_event(workspace: &mut Workspace, event: &Event, at: Timestamp) {
    let mark = workspace.mark(at);
    let meter = &mut workspace.meter;
    match event {
        Event::EnvelopeCreated(body) => meter.sent = meter.sent.saturating_add(body.bytes.get()),
        Event::MeterReported(body) => {
            meter.tokens = Amount::new(meter.tokens.saturating_add(body.tokens.get())).get();
            meter.cost = Amount::new(meter.cost.saturating_add(body.cost.get())).get();
        }
        Event::CheckpointCreated(body) => {
            meter.checkpoints = meter.checkpoints.saturating_add(body.bytes.get());
            meter.marked = mark;
        }
        Event::WorkspaceWritten(body) => {
            let before = match &body.content {
                Some(_) => meter.files.insert(body.path.clone(), body.bytes.get()),
                None => meter.files.remove(&body.path),
            };
            let kept = meter.context.saturating_sub(before.unwrap_or_default());
            meter.context = kept.saturating_add(body.bytes.get());
        }
        // Any other entry brings no content along and reports no use.
        _ => {}
    }
}

/// The size of an entry in a local trail: its body, and a flat size for its frame.
fn size_of(event: &Event) -> u64 {
    struct Body<'a>(&'a Event);
    impl Serialize for Body<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize_body(serializer)
        }
    }
    // A body that cannot be serialized never reaches a trail.
    let body = serde_json::to_vec(&Body(event)).map_or(0, |body| body.len() as u64);
    FRAME_BYTES + body
}
