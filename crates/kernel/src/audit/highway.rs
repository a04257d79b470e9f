//! Auditing what people are asked and say: that gates end as they may, by whom they may.

use crate::audit;
use crate::audit::work::{Audited, by_runtime, caller, is_runtime, told};
use crate::audit::{Breach, work};
use crate::machine::coordinator;
use crate::machine::state::State;
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::model::runs::approvals::gate::{Gate, GateEnd};
use crate::model::runs::approvals::inject::Inject;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::approvals::{GateFallback, GateType};
use crate::model::runs::workspace::{Party, Timeout};
use crate::protocol::event::{HighwayEvent, Stamped};
use crate::rules::identity::capability;
use crate::rules::runs::approvals::{gate, inject, may_configure, resolve};
use crate::rules::runs::{envelope, workspace};
use crate::values::name::UserId;
use crate::values::principal::{Actor, Principal};

pub(crate) fn audit(state: &State, entry: &Stamped, event: HighwayEvent<'_>) -> Audited {
    work::placed(state, entry)?;
    match event {
        HighwayEvent::HighwayConfigured(_) => {
            let may = caller(entry).is_some_and(|caller| may_configure(state, &caller).is_ok());
            if may { Ok(()) } else { audit::wrong_actor(entry) }
        }
        HighwayEvent::GateTriggered(body) => triggered(state, entry, body),
        HighwayEvent::GateResolved(body) => resolved(state, entry, body),
        HighwayEvent::GateTimeout(body) => {
            by_runtime(entry)?;
            let gate = state.gates.get(&body.gate_id);
            let gate = gate.ok_or(Breach::Tale("gate"))?;
            told(gate.kind == body.gate_type && gate.fallback == body.fallback_action, "gate")?;
            if gate.due().is_some_and(|due| due <= entry.at) {
                Ok(())
            } else {
                Err(Breach::TooEarly)
            }
        }
        HighwayEvent::GateReentryBlocked(body) => {
            let closed = gate::closed_by_fallback(state, body.gate_type, &body.subject_id);
            told(closed.as_ref() == Some(&body.gate_id), "gate")?;
            match &entry.draft.actor {
                Actor::Protocol => Ok(()),
                Actor::Principal(who) if coordinator::is_coordinator(state, who) => Ok(()),
                Actor::Principal(_) => audit::wrong_actor(entry),
            }
        }
        // One that was turned away is its sender's own entry.
        HighwayEvent::HumanInjection(body) if !is_runtime(entry) => {
            audit::by(entry, &Principal::User(body.actor.clone()).into())
        }
        HighwayEvent::HumanInjection(body) => {
            let sent = state.envelopes.get(&body.envelope_id);
            let own = Party::User(body.actor.clone());
            told(sent.is_some_and(|sent| sent.originator == own && sent.to == body.to), "injection")
        }
        HighwayEvent::EscalationResolved(body) => answered(state, entry, body),
        HighwayEvent::EscalationTimeout(body) => {
            by_runtime(entry)?;
            let open = state.escalations.get(&body.signal_id);
            let due = open.and_then(|open| open.due());
            if due.is_some_and(|due| due <= entry.at) { Ok(()) } else { Err(Breach::TooEarly) }
        }
        HighwayEvent::EscalationReceived(_) => by_runtime(entry),
    }
}

fn triggered(state: &State, entry: &Stamped, body: &gate::Triggered) -> Audited {
    let policy = state.highway.gate(body.gate_type);
    let handed_on = matches!(&body.request, Some(Request::Resolve(asked))
        if asked.strategy == crate::rules::runs::integration::conflict::Resolution::Escalate);
    let policy = policy.or(handed_on.then_some(state.highway.gate_defaults));
    let set = policy.is_some_and(|policy| {
        policy.fallback == body.fallback && policy.timeout_s.map(Timeout::span) == body.timeout
    });
    told(set, "highway")?;
    let kind = match &body.request {
        None if is_runtime(entry) => {
            let plain = [GateType::TaskApproval, GateType::EnvelopeDelivery];
            return told(plain.contains(&body.gate_type), "gate");
        }
        None => return audit::wrong_actor(entry),
        Some(Request::Abort(_)) => GateType::WorkspaceAbort,
        Some(Request::Create(_)) => GateType::WorkspaceCreate,
        Some(Request::Integrate(_) | Request::Salvage(_)) => GateType::Integration,
        Some(Request::Resolve(_)) => GateType::ConflictResolution,
    };
    told(kind == body.gate_type, "gate")?;
    let (Some(caller), Some(about)) = (caller(entry), &body.workspace) else {
        return audit::wrong_actor(entry);
    };
    // Below itself, a delegate orders what the coordinator orders everywhere.
    let own = state.workspaces.get(about).is_some_and(|known| {
        let agent = matches!(&caller.principal, Principal::Agent(name)
            if known.agent.as_ref() == Some(name));
        agent && known.charter.delegate && kind == GateType::WorkspaceCreate
    });
    if own || workspace::commands(state, &caller, about) {
        Ok(())
    } else {
        audit::wrong_actor(entry)
    }
}

fn may_answer(state: &State, user: &UserId, gate: &Gate) -> bool {
    capability::may(state, user, gate::deed_at(gate.kind), gate.workspace.as_ref()).is_ok()
}

fn resolved(state: &State, entry: &Stamped, body: &resolve::Resolved) -> Audited {
    let gate = state.gates.get(&body.gate_id).ok_or(Breach::Tale("gate"))?;
    match &body.actor {
        Resolver::User(user) => {
            if !is_runtime(entry) {
                audit::by(entry, &Principal::User(user.clone()).into())?;
            }
            told(may_answer(state, user, gate), "answer")?;
            told(body.action != GateEnd::Escalate, "answer")?;
            told((body.action == GateEnd::Modify) == body.modifications.is_some(), "answer")
        }
        Resolver::Fallback => {
            by_runtime(entry)?;
            let fits = matches!(
                (gate.fallback, body.action),
                (GateFallback::Approve, GateEnd::Approve)
                    | (GateFallback::Reject, GateEnd::Reject)
                    | (GateFallback::EscalateToCoordinator, GateEnd::Escalate)
            );
            told(fits && body.modifications.is_none(), "fallback")
        }
        Resolver::Protocol => {
            by_runtime(entry)?;
            told(body.action == GateEnd::Reject && body.modifications.is_none(), "gate")
        }
    }
}

fn answered(
    state: &State,
    entry: &Stamped,
    body: &crate::rules::runs::approvals::escalation::Resolved,
) -> Audited {
    let open = state.escalations.get(&body.signal_id).ok_or(Breach::Tale("escalation"))?;
    told(open.workspace == body.workspace, "escalation")?;
    let Resolver::User(user) = &body.actor else { return by_runtime(entry) };
    if !is_runtime(entry) {
        audit::by(entry, &Principal::User(user.clone()).into())?;
    }
    let permission = if body.response_type == ResponseType::Abort {
        Permission::Abort
    } else {
        Permission::Inject
    };
    told(capability::may(state, user, permission, Some(&body.workspace)).is_ok(), "answer")
}

/// What a person said from outside.
pub(crate) fn injected(state: &State, entry: &Stamped, body: &envelope::Created) -> Audited {
    let Some(caller) = caller(entry) else { return audit::wrong_actor(entry) };
    let Principal::User(user) = &caller.principal else { return audit::wrong_actor(entry) };
    told(state.root.as_ref() == Some(&body.from), "injection")?;
    told(body.originator == Party::User(user.clone()) && body.rights.is_empty(), "injection")?;
    told(state.highway.injection, "highway")?;
    told(capability::may(state, user, Permission::Inject, Some(&body.to)).is_ok(), "injection")?;
    let inject = Inject {
        in_reply_to: body.in_reply_to.clone(),
        payload: work::as_arg(&body.payload),
        priority: Some(body.priority),
        to: body.to.clone(),
        kind: body.kind.clone(),
    };
    told(inject::check(state, &inject).is_ok(), "injection")
}
