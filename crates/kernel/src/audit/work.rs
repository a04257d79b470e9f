//! Auditing what happens in runs: who may cause which entry, and whether it is in order.
//!
//! A command leaves one entry in its caller's name; what follows from it is the runtime's. So an
//! entry of the runtime's is asked whether it can follow at all, and one of somebody's whether
//! that one may ask for it.

use super::Breach;
use super::cause::{self, Home};
use crate::checkpoint;
use crate::content::Content;
use crate::envelope::{self, PayloadArg, Send};
use crate::event::{Event, Stamped};
use crate::id::{EnvelopeId, First as _, WorkspaceId};
use crate::key::PublicKey;
use crate::principal::{Actor, Caller, Principal};
use crate::right::{self, RightType};
use crate::run;
use crate::signal::{self, SignalType};
use crate::state::State;
use crate::task::orders::ApprovalSource;
use crate::time::Timestamp;
use crate::workspace::change::StateChanged;
use crate::workspace::create::Created;
use crate::workspace::{self, Initiator, Party, Trigger, sight};

type Audited = Result<(), Breach>;

pub(super) fn audit(state: &State, entry: &Stamped) -> Audited {
    if let Home::In(home) = cause::home(state, &entry.draft.event) {
        told(home == entry.draft.workspace, "local trail")?;
    }
    cause::check(state, entry)?;
    match &entry.draft.event {
        Event::WorkspaceCreated(body) => created(state, entry, body),
        Event::WorkspaceStateChanged(body) => changed(state, entry, body),
        Event::RunHandedOver(_) | Event::RunStopped(_) | Event::GraphCreated(_) => {
            by_coordinator(state, entry)
        }
        Event::PortRightRevoked(body) => {
            told(body.revoked_by == entry.draft.actor, "right")?;
            by_coordinator(state, entry)
        }
        Event::TaskApproved(body) if !is_runtime(entry) => {
            let person = matches!(&entry.draft.actor, Actor::Principal(Principal::User(_)));
            told((body.approval_source == ApprovalSource::Human) == person, "approval")?;
            by_coordinator(state, entry)
        }
        Event::TaskCreated(_) | Event::TaskApproved(_) | Event::TaskStatusChanged(_) => {
            if is_runtime(entry) {
                Ok(())
            } else {
                by_coordinator(state, entry)
            }
        }
        Event::WorkspaceWritten(body) => {
            by_agent_of(state, entry, &body.workspace_id)?;
            within(state, &body.workspace_id, &[body.path.surface().clone()])
        }
        Event::InboxTaken(body) => by_agent_of(state, entry, &body.workspace_id),
        Event::SignalEmitted(body) => emitted(state, entry, body),
        Event::EnvelopeCreated(body) => sent(state, entry, body),
        Event::EnvelopeDelivered(body) => {
            by_runtime(entry)?;
            in_order(state, body)
        }
        Event::PortRightCreated(body) => granted(state, entry, body),
        Event::PortRightTransferred(body) => {
            by_runtime(entry)?;
            let via = state.envelopes.get(&body.via_envelope);
            told(via.is_some_and(|via| via.rights.contains(&body.right_id)), "right")
        }
        Event::CheckpointCreated(body) => checkpointed(state, entry, body),
        Event::IntegrationStarted(body) => by_commander(state, entry, &body.source),
        Event::MigrationStarted(body) => by_commander(state, entry, &body.workspace_id),
        Event::ConflictResolved(body) if !is_runtime(entry) => {
            by_commander(state, entry, &body.workspace_id)
        }
        Event::EnvelopeRejected(_) | Event::CheckpointRejected(_) | Event::WorkspaceRejected(_) => {
            Ok(())
        }
        Event::WorkspaceReparented(_)
        | Event::MigrationCompleted(_)
        | Event::MigrationFailed(_)
        | Event::SuspensionStarted(_)
        | Event::SuspensionResumed(_)
        | Event::SignalDelivered(_)
        | Event::EnvelopeRedelivered(_)
        | Event::EnvelopeUndeliverable(_)
        | Event::EnvelopeAttempted(_)
        | Event::PortRightConsumed(_)
        | Event::TaskAssigned(_)
        | Event::TaskCompleted(_)
        | Event::TaskFailed(_)
        | Event::IntegrationCompleted(_)
        | Event::IntegrationAborted(_)
        | Event::ConflictDetected(_)
        | Event::ConflictResolved(_)
        | Event::TrailAccessDenied(_) => by_runtime(entry),
        other => Err(Breach::NotProduced(other.kind())),
    }
}

fn is_runtime(entry: &Stamped) -> bool {
    entry.draft.actor == Actor::Protocol
}

fn by_runtime(entry: &Stamped) -> Audited {
    super::by(entry, &Actor::Protocol)
}

fn told(holds: bool, noun: &'static str) -> Audited {
    if holds { Ok(()) } else { Err(Breach::Tale(noun)) }
}

/// Whoever caused an entry, as the caller it was. Whether it held its key is not asked here.
fn caller(entry: &Stamped) -> Option<Caller> {
    let Actor::Principal(principal) = &entry.draft.actor else { return None };
    let key = PublicKey::from_bytes([0; 32]);
    Some(Caller { principal: principal.clone(), key, session: None })
}

fn by_coordinator(state: &State, entry: &Stamped) -> Audited {
    match &entry.draft.actor {
        Actor::Principal(principal) if workspace::is_coordinator(state, principal) => Ok(()),
        _ => super::wrong_actor(entry),
    }
}

/// By the coordinator, or a delegate above a workspace.
fn by_commander(state: &State, entry: &Stamped, target: &WorkspaceId) -> Audited {
    match caller(entry) {
        Some(caller) if workspace::commands(state, &caller, target) => Ok(()),
        _ => super::wrong_actor(entry),
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
        _ => super::wrong_actor(entry),
    }
}

fn within(state: &State, id: &WorkspaceId, paths: &[crate::Surface]) -> Audited {
    let known = state.workspaces.get(id);
    told(known.is_some_and(|known| sight::within_authority(known, paths).is_none()), "workspace")
}

fn created(state: &State, entry: &Stamped, body: &Created) -> Audited {
    let Some(caller) = caller(entry) else { return super::wrong_actor(entry) };
    let Some(parent_id) = &body.parent else {
        let agent = run::may_start(state, &caller.principal, body.agent.as_ref());
        return match agent {
            Ok(agent) => told(agent == body.agent && body.originator == Party::System, "run"),
            Err(_) => super::wrong_actor(entry),
        };
    };
    let Some(parent) = state.workspaces.get(parent_id) else { return Err(Breach::Tale("parent")) };
    let agent = body.agent.as_ref().is_some_and(|agent| state.agents.contains_key(agent));
    told(agent && body.timeout_s.is_some() && body.directive.is_some(), "workspace")?;
    let owner = match &body.owner {
        Party::User(user) => state.users.contains_key(user),
        Party::System => parent.charter.owner == Party::System,
    };
    told(owner, "owner")?;
    let free = body.task_ref.as_ref().is_none_or(|task| crate::task::bindable(state, task).is_ok());
    told(free, "task")?;
    let own = matches!(&caller.principal, Principal::Agent(name)
        if parent.agent.as_ref() == Some(name) && parent.charter.delegate);
    if !own && !workspace::commands(state, &caller, parent_id) {
        return super::wrong_actor(entry);
    }
    let granted = body.delegate || body.global_trail || body.owner != parent.charter.owner;
    if granted && !workspace::is_coordinator(state, &caller.principal) {
        return super::wrong_actor(entry);
    }
    let base = state.run_of(parent).base_of(&body.role);
    told(base.is_some_and(|base| base != crate::taxonomy::Base::Coordinator), "role")?;
    let seen = body.visibility_set.iter().all(|id| sight::sees(state, parent_id, id));
    told(seen && sight::within_authority(parent, &body.authority_set).is_none(), "parent")?;
    let inherited = match (&parent.charter.originator, &caller.principal) {
        (Party::System, Principal::User(user)) => body.originator == Party::User(user.clone()),
        (above, _) => body.originator == *above,
    };
    told(inherited, "originator")
}

fn changed(state: &State, entry: &Stamped, body: &StateChanged) -> Audited {
    let Some(known) = state.workspaces.get(&body.workspace_id) else {
        return Err(Breach::Tale("workspace"));
    };
    let timed = matches!(
        body.trigger,
        Trigger::Timeout | Trigger::ConflictTimeout | Trigger::MigrationError
    );
    if timed && known.deadline().is_none_or(|due| due > entry.at) {
        return Err(Breach::TooEarly);
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
        _ => super::wrong_actor(entry),
    }
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
    if is_runtime(entry) {
        let receiver = state.workspaces.get(&body.to);
        let own = receiver.is_some_and(|receiver| {
            receiver.charter.directive.as_ref() == Some(&body.envelope_id)
                && receiver.parent.as_ref() == Some(&body.from)
        });
        return told(own, "directive");
    }
    by_agent_of(state, entry, &body.from)?;
    let send = Send {
        in_reply_to: body.in_reply_to.clone(),
        payload: PayloadArg {
            attachments: body.payload.attachments.iter().cloned().map(Content::Blob).collect(),
            content: Content::Blob(body.payload.content.clone()),
            format: Some(body.payload.format.clone()),
        },
        priority: body.priority,
        rights: body.rights.clone(),
        to: body.to.clone(),
        kind: body.kind.clone(),
        workspace: None,
    };
    told(envelope::check(state, &body.from, &send).is_ok(), "right to send")
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
    right::may_grant(state, &caller, &grant).or_else(|_| super::wrong_actor(entry))
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
