//! Auditing what happens in runs: who may cause which entry, and whether it is in order.
//!
//! A command leaves one entry in its caller's name; what follows from it is the runtime's. So an
//! entry of the runtime's is asked whether it can follow at all, and one of somebody's whether
//! that one may ask for it.

use crate::values::id::First as _;

use crate::audit;
use crate::audit::home::Home;
use crate::audit::{Breach, cause, highway, home};
use crate::machine::coordinator;
use crate::machine::state::State;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::envelope::{Origin, PayloadArg, Send};
use crate::model::runs::right::RightType;
use crate::model::runs::signal::SignalType;
use crate::model::runs::task::orders::ApprovalSource;
use crate::model::runs::workspace::budget::BudgetModified;
use crate::model::runs::workspace::change::StateChanged;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::grant::{GrantVisibility, VisibilityGranted};
use crate::model::runs::workspace::reparent::ReparentReason;
use crate::model::runs::workspace::{Initiator, Party, Trigger};
use crate::protocol::event::{Draft, MessageEvent, PlanEvent, Stamped, WorkspaceEvent};
use crate::rules::identity::user;
use crate::rules::runs::approvals::escalation;
use crate::rules::runs::workspace::create::{may_be_caused_by, originator_of};
use crate::rules::runs::workspace::{budget, draw, grant, meter, sight};
use crate::rules::runs::{checkpoint, envelope, right, run, signal, workspace};
use crate::values::content::Content;
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::key::PublicKey;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

pub(crate) type Audited = Result<(), Breach>;

/// Whether an entry stands in the local trail it belongs in, after what it follows from.
pub(crate) fn placed(state: &State, entry: &Stamped) -> Audited {
    if let Home::In(home) = home::home(state, &entry.draft.event) {
        told(home == entry.draft.workspace, "local trail")?;
    }
    cause::check(state, entry)
}

/// Whether something that happened to a workspace is in order.
pub(crate) fn audit_workspace(
    state: &State,
    entry: &Stamped,
    event: WorkspaceEvent<'_>,
) -> Audited {
    use WorkspaceEvent as E;
    placed(state, entry)?;
    match event {
        E::WorkspaceCreated(body) => created(state, entry, body),
        E::WorkspaceStateChanged(body) => changed(state, entry, body),
        E::RunHandedOver(_) | E::RunStopped(_) => by_coordinator(state, entry),
        E::OwnershipTransferred(body) => {
            told(body.transferred_by == entry.draft.actor, "owner")?;
            told(user::can_own(state, &body.to_user).is_ok(), "owner")?;
            by_coordinator(state, entry)
        }
        E::BudgetModified(body) => budgeted(state, entry, body),
        E::MeterReported(body) => metered(state, entry, body),
        E::PriorityChanged(_) if is_runtime(entry) => Ok(()),
        E::PriorityChanged(_) | E::BatchAbort(_) | E::BatchPriorityChanged(_) => {
            by_coordinator(state, entry)
        }
        E::WorkspaceWritten(body) => {
            by_agent_of(state, entry, &body.workspace_id)?;
            within(state, &body.workspace_id, &[body.path.surface().clone()])
        }
        E::GracefulTerminationInitiated(body) => by_commander(state, entry, &body.workspace_id),
        E::MigrationStarted(body) => by_commander(state, entry, &body.workspace_id),
        E::WorkspaceRejected(_) => Ok(()),
        E::GracefulTerminationExpired(body) => {
            by_runtime(entry)?;
            let known = state.workspaces.get(&body.workspace_id);
            on_time(known.and_then(|known| known.grace_ends()), entry)
        }
        E::VisibilityGranted(body) => shown(state, entry, body),
        // That a parent was lost is checked where it is applied.
        E::WorkspaceReparented(body)
            if matches!(body.reason, ReparentReason::ReassignedByCoordinator) =>
        {
            by_coordinator(state, entry)
        }
        E::WorkspaceReparented(_)
        | E::BudgetWarning(_)
        | E::BudgetExceeded(_)
        | E::LivenessWarning(_)
        | E::ResourceDiscrepancy(_)
        | E::MigrationCompleted(_)
        | E::MigrationFailed(_)
        | E::SuspensionStarted(_)
        | E::SuspensionResumed(_) => by_runtime(entry),
    }
}

/// Whether what was sent and received is in order.
pub(crate) fn audit_message(state: &State, entry: &Stamped, event: MessageEvent<'_>) -> Audited {
    use MessageEvent as E;
    placed(state, entry)?;
    match event {
        E::PortRightRevoked(body) => {
            told(body.revoked_by == entry.draft.actor, "right")?;
            by_coordinator(state, entry)
        }
        E::InboxTaken(body) => by_agent_of(state, entry, &body.workspace_id),
        E::SignalEmitted(body) => emitted(state, entry, body),
        E::EnvelopeCreated(body) => sent(state, entry, body),
        E::EnvelopeDelivered(body) => {
            by_runtime(entry)?;
            in_order(state, body)
        }
        E::PortRightCreated(body) => granted(state, entry, body),
        E::PortRightTransferred(body) => {
            by_runtime(entry)?;
            let via = state.envelopes.get(&body.via_envelope);
            told(via.is_some_and(|via| via.rights.contains(&body.right_id)), "right")
        }
        // What was on its way already is refused by the runtime alone.
        E::EnvelopeRejected(body) if state.envelopes.contains_key(&body.envelope_id) => {
            by_runtime(entry)
        }
        E::EnvelopeRejected(_) => Ok(()),
        E::SignalDelivered(_)
        | E::EnvelopeRedelivered(_)
        | E::EnvelopeUndeliverable(_)
        | E::EnvelopeAttempted(_)
        | E::PortRightConsumed(_) => by_runtime(entry),
    }
}

/// Whether what was planned, recorded and merged is in order.
pub(crate) fn audit_plan(state: &State, entry: &Stamped, event: PlanEvent<'_>) -> Audited {
    use PlanEvent as E;
    placed(state, entry)?;
    match event {
        E::GraphCreated(_) => by_coordinator(state, entry),
        E::TaskApproved(body) if !is_runtime(entry) => {
            let person = matches!(&entry.draft.actor, Actor::Principal(Principal::User(_)));
            told((body.approval_source == ApprovalSource::Human) == person, "approval")?;
            by_coordinator(state, entry)
        }
        E::TaskCreated(_) | E::TaskApproved(_) | E::TaskStatusChanged(_) if is_runtime(entry) => {
            Ok(())
        }
        E::TaskCreated(_) | E::TaskApproved(_) | E::TaskStatusChanged(_) => {
            by_coordinator(state, entry)
        }
        E::CheckpointCreated(body) => checkpointed(state, entry, body),
        // What a gate let through was asked of whoever ordered it when it was ordered.
        E::IntegrationStarted(_) | E::ConflictResolved(_) if is_runtime(entry) => Ok(()),
        E::IntegrationStarted(body) => by_commander(state, entry, &body.source),
        E::ConflictResolved(body) => by_commander(state, entry, &body.workspace_id),
        E::CheckpointRejected(_) => Ok(()),
        E::TaskAssigned(_)
        | E::TaskCompleted(_)
        | E::TaskFailed(_)
        | E::IntegrationCompleted(_)
        | E::IntegrationAborted(_)
        | E::ConflictDetected(_) => by_runtime(entry),
    }
}

pub(crate) fn is_runtime(entry: &Stamped) -> bool {
    entry.draft.actor == Actor::Protocol
}

pub(crate) fn by_runtime(entry: &Stamped) -> Audited {
    audit::by(entry, &Actor::Protocol)
}

pub(crate) fn told(holds: bool, noun: &'static str) -> Audited {
    if holds { Ok(()) } else { Err(Breach::Tale(noun)) }
}

/// Whoever caused an entry, as the caller it was. Whether it held its key is not asked here.
pub(crate) fn caller(entry: &Stamped) -> Option<Caller> {
    let Actor::Principal(principal) = &entry.draft.actor else { return None };
    let key = PublicKey::from_bytes([0; 32]);
    Some(Caller { principal: principal.clone(), key, session: None })
}

fn by_coordinator(state: &State, entry: &Stamped) -> Audited {
    match &entry.draft.actor {
        Actor::Principal(principal) if coordinator::is_coordinator(state, principal) => Ok(()),
        _ => audit::wrong_actor(entry),
    }
}

/// By the coordinator, or a delegate above a workspace.
fn by_commander(state: &State, entry: &Stamped, target: &WorkspaceId) -> Audited {
    match caller(entry) {
        Some(caller) if workspace::commands(state, &caller, target) => Ok(()),
        _ => audit::wrong_actor(entry),
    }
}

/// By the agent bound to a workspace; the root's may be anybody who speaks for the coordinator.
fn by_agent_of(state: &State, entry: &Stamped, id: &WorkspaceId) -> Audited {
    let Some(known) = state.workspaces.get(id) else { return Err(Breach::Tale("workspace")) };
    match &entry.draft.actor {
        Actor::Principal(Principal::Agent(name)) if known.agent.as_ref() == Some(name) => Ok(()),
        Actor::Principal(Principal::User(_) | Principal::System) if known.parent.is_none() => {
            Ok(())
        }
        _ => audit::wrong_actor(entry),
    }
}

fn within(state: &State, id: &WorkspaceId, paths: &[crate::surfaces::Surface]) -> Audited {
    let known = state.workspaces.get(id);
    told(known.is_some_and(|known| sight::within_authority(known, paths).is_none()), "workspace")
}

fn created(state: &State, entry: &Stamped, body: &Created) -> Audited {
    let Some(caller) = asker(state, entry, body) else { return audit::wrong_actor(entry) };
    let Some(parent_id) = &body.parent else {
        let free = body.budget.is_empty() && body.timeout_s.is_none();
        told(free && body.liveness_interval_s.is_none(), "run")?;
        let agent = run::may_start(state, &caller.principal, body.agent.as_ref());
        return match agent {
            Ok(agent) => {
                told(agent == body.agent && body.originator == Party::System, "run")?;
                let wanted = match &body.owner {
                    Party::User(owner) => Some(owner),
                    Party::System => None,
                };
                let owner = run::owner_for(state, &caller.principal, wanted);
                told(owner.as_ref() == Ok(&body.owner), "owner")
            }
            Err(_) => audit::wrong_actor(entry),
        };
    };
    let Some(parent) = state.workspaces.get(parent_id) else { return Err(Breach::Tale("parent")) };
    let agent = body.agent.as_ref().is_some_and(|agent| state.agents.contains_key(agent));
    told(agent && body.timeout_s.is_some() && body.directive.is_some(), "workspace")?;
    let owner = match &body.owner {
        Party::User(id) => body.owner == parent.owner || user::can_own(state, id).is_ok(),
        Party::System => parent.owner == Party::System,
    };
    told(owner, "owner")?;
    let free = body
        .task_ref
        .as_ref()
        .is_none_or(|task| crate::rules::runs::task::bindable(state, task).is_ok());
    told(free, "task")?;
    let own = matches!(&caller.principal, Principal::Agent(name)
        if parent.agent.as_ref() == Some(name) && parent.charter.delegate);
    if !own && !workspace::commands(state, &caller, parent_id) {
        return audit::wrong_actor(entry);
    }
    let granted = body.delegate || body.global_trail || body.owner != parent.owner;
    if granted && !coordinator::is_coordinator(state, &caller.principal) {
        return audit::wrong_actor(entry);
    }
    let base = state.run_of(parent).base_of(&body.role);
    told(base.is_some_and(|base| base != crate::model::runs::taxonomy::Base::Coordinator), "role")?;
    let seen = body.visibility_set.iter().all(|id| sight::sees(state, parent_id, id));
    told(seen && sight::within_authority(parent, &body.authority_set).is_none(), "parent")?;
    told(draw::may_have(parent, &body.budget, entry.at).is_ok(), "budget above")?;
    let sent = body.caused_by.as_ref();
    told(sent.is_none_or(|sent| may_be_caused_by(state, parent, sent)), "originator")?;
    let originator = originator_of(state, parent, &caller.principal, sent);
    told(body.originator == originator, "originator")
}

/// Whoever had a workspace created: the actor, or whoever gave the order that a gate let through.
fn asker(state: &State, entry: &Stamped, body: &Created) -> Option<Caller> {
    if !is_runtime(entry) {
        return caller(entry);
    }
    let closed = state.closed_gates.get(state.released.as_ref()?)?;
    let Some(Request::Create(asked)) = &closed.gate.request else { return None };
    let own = closed.gate.subject.as_str() == body.workspace_id.as_str();
    let fits = asked.role == body.role && Some(&asked.agent) == body.agent.as_ref();
    let draft = Draft { actor: closed.gate.asked_by.clone(), ..entry.draft.clone() };
    (own && fits).then(|| caller(&Stamped { draft, ..entry.clone() })).flatten()
}

fn budgeted(state: &State, entry: &Stamped, body: &BudgetModified) -> Audited {
    let known = state.workspaces.get(&body.workspace_id);
    let known = known.ok_or(Breach::Tale("workspace"))?;
    let (dimension, new) = (body.budget_dimension, body.new_limit);
    let old = budget::may_raise(known, dimension, new, entry.at);
    told(old.is_ok_and(|old| old == body.old_limit), "budget")?;
    let parent = known.parent.as_ref().and_then(|parent| state.workspaces.get(parent));
    let more = new.get().saturating_sub(body.old_limit.get());
    let given = parent.is_none_or(|above| draw::may_give(above, dimension, more, entry.at).is_ok());
    told(given, "budget above")?;
    if is_runtime(entry) { Ok(()) } else { by_commander(state, entry, &body.workspace_id) }
}

fn metered(state: &State, entry: &Stamped, body: &meter::Reported) -> Audited {
    match caller(entry) {
        Some(caller) if meter::may_report(state, &caller, &body.workspace_id) => {
            let known = state.workspaces.get(&body.workspace_id);
            told(known.is_some_and(|known| !known.status.is_terminal()), "workspace")
        }
        _ => audit::wrong_actor(entry),
    }
}

fn changed(state: &State, entry: &Stamped, body: &StateChanged) -> Audited {
    let Some(known) = state.workspaces.get(&body.workspace_id) else {
        return Err(Breach::Tale("workspace"));
    };
    match body.trigger {
        Trigger::Timeout | Trigger::ConflictTimeout | Trigger::MigrationError => {
            on_time(known.times_out(), entry)?;
        }
        Trigger::GracefulTerminationExpired => on_time(known.grace_ends(), entry)?,
        _ => {}
    }
    if body.trigger == Trigger::BudgetExceeded {
        told(known.exceeded.is_some(), "budget")?;
    }
    match (body.initiator, &entry.draft.actor) {
        (_, Actor::Protocol) => Ok(()),
        (Initiator::Coordinator | Initiator::Human, Actor::Principal(principal)) => {
            told(body.initiator == workspace::initiator(principal), "workspace")?;
            let delegated = matches!(body.trigger, Trigger::RevisionRequired | Trigger::Rejected);
            if delegated {
                by_commander(state, entry, &body.workspace_id)
            } else {
                by_coordinator(state, entry)
            }
        }
        _ => audit::wrong_actor(entry),
    }
}

/// What time brings about comes when it is due.
fn on_time(due: Option<Timestamp>, entry: &Stamped) -> Audited {
    if due.is_some_and(|due| due <= entry.at) { Ok(()) } else { Err(Breach::TooEarly) }
}

fn shown(state: &State, entry: &Stamped, body: &VisibilityGranted) -> Audited {
    let Some(caller) = caller(entry) else { return audit::wrong_actor(entry) };
    let (workspace, target) = (body.workspace_id.clone(), body.target.clone());
    let grant = GrantVisibility { reason: None, target, workspace };
    grant::may_show(state, &caller, &grant).or_else(|_| audit::wrong_actor(entry))
}

fn emitted(state: &State, entry: &Stamped, body: &signal::Emitted) -> Audited {
    let Some(known) = state.workspaces.get(&body.from) else {
        return Err(Breach::Tale("workspace"));
    };
    let upward = body.to == known.parent;
    // A receipt goes to the sender of what it is about.
    let receipt = matches!(body.signal, SignalType::Acknowledged | SignalType::Failed)
        && body.about.as_ref().is_some_and(|about| {
            let envelope = EnvelopeId::new(about.as_str()).ok();
            let envelope = envelope.and_then(|id| state.envelopes.get(&id));
            envelope
                .is_some_and(|sent| sent.to == body.from && Some(&sent.from) == body.to.as_ref())
        });
    let order = body.to.is_none() && known.parent.is_none();
    // After a recovery the coordinator is told, by nobody but the runtime.
    let woken = body.signal == SignalType::Started
        && known.parent.is_none()
        && body.to.as_ref() == Some(&body.from);
    if is_runtime(entry) {
        return told(upward || receipt || order || woken, "signal");
    }
    by_agent_of(state, entry, &body.from)?;
    told(upward && state.run_of(known).emits(&known.charter.role, body.signal), "signal")
}

fn sent(state: &State, entry: &Stamped, body: &envelope::Created) -> Audited {
    if body.origin == Origin::Human {
        return highway::injected(state, entry, body);
    }
    if is_runtime(entry) && body.payload.content == escalation::proceed() {
        let fed = body.kind == TypeName::feedback() && state.root.as_ref() == Some(&body.from);
        return told(fed, "feedback");
    }
    if is_runtime(entry) {
        let receiver = state.workspaces.get(&body.to);
        let own = receiver.is_some_and(|receiver| {
            let directive = receiver.charter.directive.as_ref() == Some(&body.envelope_id);
            let asked = receiver.termination.as_ref();
            let notice = body.kind == TypeName::feedback()
                && asked.is_some_and(|asked| asked.payload() == body.payload)
                && state.send_right(&body.from, &body.to).is_some();
            (directive || notice) && receiver.parent.as_ref() == Some(&body.from)
        });
        return told(own, "directive");
    }
    by_agent_of(state, entry, &body.from)?;
    let send = Send {
        in_reply_to: body.in_reply_to.clone(),
        payload: as_arg(&body.payload),
        priority: body.priority,
        rights: body.rights.clone(),
        to: body.to.clone(),
        kind: body.kind.clone(),
        workspace: None,
    };
    told(envelope::check(state, &body.from, &send).is_ok(), "right to send")
}

/// A payload as somebody would give it.
pub(crate) fn as_arg(payload: &envelope::Payload) -> PayloadArg {
    PayloadArg {
        attachments: payload.attachments.iter().cloned().map(Content::Blob).collect(),
        content: Content::Blob(payload.content.clone()),
        format: Some(payload.format.clone()),
    }
}

/// Of one sender to one receiver, the oldest comes first.
fn in_order(state: &State, body: &envelope::deliver::Delivered) -> Audited {
    let first = (body.to.clone(), Timestamp::default(), EnvelopeId::first());
    let held = state.held.range(first..).take_while(|(to, ..)| *to == body.to);
    let mut waiting =
        held.filter(|(.., id)| state.envelopes.get(id).is_some_and(|sent| sent.from == body.from));
    told(waiting.next().is_some_and(|(.., id)| *id == body.envelope_id), "order of the channel")
}

fn granted(state: &State, entry: &Stamped, body: &right::Created) -> Audited {
    told(body.created_by == entry.draft.actor, "right")?;
    let Some(caller) = caller(entry) else {
        let parent = |a: &WorkspaceId, b: &WorkspaceId| {
            state.workspaces.get(a).is_some_and(|known| known.parent.as_ref() == Some(b))
        };
        let related = parent(&body.holder, &body.target) || parent(&body.target, &body.holder);
        let own = body.right_type == RightType::Receive && body.holder == body.target;
        return told(own || (related && body.right_type == RightType::Send), "right");
    };
    let once = body.right_type == RightType::SendOnce;
    let grant = right::Grant { holder: body.holder.clone(), once, target: body.target.clone() };
    told(body.right_type != RightType::Receive, "right")?;
    right::may_grant(state, &caller, &grant).or_else(|_| audit::wrong_actor(entry))
}

fn checkpointed(state: &State, entry: &Stamped, body: &checkpoint::Created) -> Audited {
    by_agent_of(state, entry, &body.workspace)?;
    let paths: Vec<_> = body.files_changed.iter().map(|file| file.path.surface().clone()).collect();
    within(state, &body.workspace, &paths)?;
    let known = state.workspaces.get(&body.workspace);
    let permitted =
        known.is_some_and(|known| state.run_of(known).creates(&known.charter.role, &body.kind));
    told(permitted, "type of checkpoint")
}
