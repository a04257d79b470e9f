//! Access control for reading: visibility decides, never the knowledge of an id.
//!
//! An agent that works in a run reads its own workspaces, those it was granted and their
//! descendants. The coordinator reads everything; so does an observer created with access to the
//! whole trail, and an agent that never took part in a run. A person reads the workspaces they own,
//! or everything, depending on their capabilities. A query without a principal comes from somebody
//! with direct access to the state folder.

use std::collections::BTreeSet;

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::capability::Permission;
use crate::model::runs::approvals::resolve::Resolved;
use crate::model::runs::envelope::{Envelope, Payload};
use crate::model::runs::taxonomy::Base;
use crate::model::runs::workspace::Workspace;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{RefusalKind, Refused};
use crate::protocol::reply::Reply;
use crate::rules::identity::capability::may;
use crate::rules::runs::envelope;
use crate::rules::runs::workspace::sight;
use crate::values::id::{EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Principal};

pub use crate::model::runs::access::*;

/// Whether a viewer may read the whole trail.
pub fn reads_everything(state: &State, viewer: Viewer<'_>) -> bool {
    let agent = match viewer {
        None | Some(Principal::System) => return true,
        // Without users there is nobody whose trail it could be.
        Some(Principal::User(user)) => {
            return state.users.is_empty() || may(state, user, Permission::ViewTrail, None).is_ok();
        }
        Some(own @ Principal::Agent(_)) if is_coordinator(state, own) => return true,
        Some(Principal::Agent(agent)) => agent,
    };
    if !state.agents.get(agent).is_some_and(|known| known.had_a_part) {
        return true;
    }
    watches(state, agent)
}

/// Whether an agent is an observer with access to the whole trail.
fn watches(state: &State, agent: &AgentName) -> bool {
    let watches = |known: &Workspace| {
        let base = state.run_of(known).base_of(&known.charter.role);
        let observer = base == Some(Base::Observer);
        known.charter.global_trail && observer
    };
    // The workspaces it is bound to are all live.
    let mut own = state.bound_to(agent).filter_map(|id| state.workspaces.get(id));
    own.any(|known| watches(known))
}

/// Whether a viewer may read a workspace: its working memory, checkpoints and local trail.
pub fn reads(state: &State, viewer: Viewer<'_>, target: &WorkspaceId) -> bool {
    reads_some(state, viewer, target) || reads_everything(state, viewer)
}

/// Whether a viewer may read a workspace without access to everything.
pub(crate) fn reads_some(state: &State, viewer: Viewer<'_>, target: &WorkspaceId) -> bool {
    let agent = match viewer {
        None | Some(Principal::System) => return true,
        Some(Principal::User(user)) => {
            return may(state, user, Permission::ViewTrail, Some(target)).is_ok();
        }
        Some(Principal::Agent(agent)) => agent,
    };
    // An ended workspace stays readable to its agent.
    let was_own = state.workspaces.get(target).is_some_and(|w| w.agent.as_ref() == Some(agent));
    let session = || state.sessions.get(target).is_some_and(|own| own.agent == *agent);
    let dispatched = || {
        let known = state.workspaces.get(target).filter(|known| state.is_open_attempt(known));
        let who = Principal::Agent(agent.clone());
        known.is_some_and(|known| state.is_dispatched_by(known, &who))
    };
    was_own
        || session()
        || dispatched()
        || state.bound_to(agent).any(|id| sight::sees(state, id, target))
}

/// Whether a viewer may read the content of a workspace: its context, files and checkpoints. Each
/// such permission is recorded: a binding, an ancestor, a grant. An agent that never took part in a
/// run has none.
pub fn reads_content(state: &State, viewer: Viewer<'_>, target: &WorkspaceId) -> bool {
    let watching = match viewer {
        Some(Principal::Agent(agent)) => watches(state, agent),
        _ => false,
    };
    watching || reads_some(state, viewer, target) || reads_all_content(state, viewer)
}

/// Whether a viewer may read all content, including mail: the coordinator, and people who may read
/// everything.
pub fn reads_all_content(state: &State, viewer: Viewer<'_>) -> bool {
    match viewer {
        None | Some(Principal::System) => true,
        Some(Principal::User(_)) => reads_everything(state, viewer),
        Some(own @ Principal::Agent(_)) => is_coordinator(state, own),
    }
}

/// Whether a viewer may read an envelope: sender, receiver and coordinator may, others who can see
/// the workspaces may not. A receiving agent cannot read mail that is stopped at a gate or was
/// rejected there.
pub(crate) fn reads_mail(
    state: &State,
    viewer: Viewer<'_>,
    id: &EnvelopeId,
    envelope: &Envelope,
) -> bool {
    let on_its_way = envelope.status == envelope::Status::Validated && !state.is_stopped(id);
    let comes = envelope.delivered_at.is_some() || on_its_way;
    let to = Some(&envelope.to).filter(|_| comes || !matches!(viewer, Some(Principal::Agent(_))));
    reads_between(state, viewer, &envelope.from, to)
}

/// Whether a viewer may read a payload that an envelope was created with or changed to. The
/// receiver reads only the payload that arrived.
fn reads_payload(state: &State, viewer: Viewer<'_>, id: &EnvelopeId, brought: &Payload) -> bool {
    let Some(envelope) = state.envelopes.get(id) else { return false };
    match viewer {
        Some(Principal::Agent(_)) if envelope.payload != *brought => {
            reads_between(state, viewer, &envelope.from, None)
        }
        _ => reads_mail(state, viewer, id, envelope),
    }
}

fn reads_between(
    state: &State,
    viewer: Viewer<'_>,
    from: &WorkspaceId,
    to: Option<&WorkspaceId>,
) -> bool {
    let own = |id: &WorkspaceId| match viewer {
        None | Some(Principal::System) => true,
        // A person reads the mail of workspaces they own.
        Some(Principal::User(_)) => reads_some(state, viewer, id),
        Some(Principal::Agent(agent)) => {
            state.workspaces.get(id).is_some_and(|known| known.agent.as_ref() == Some(agent))
        }
    };
    reads_all_content(state, viewer) || own(from) || to.is_some_and(own)
}

/// Whether a viewer may read the content that an entry refers to.
pub fn reads_cited(state: &State, viewer: Viewer<'_>, entry: &Stamped) -> bool {
    let in_task = |id: &TaskId| {
        let part = state.task_record(id).and_then(|record| record.task());
        part.is_some_and(|part| part.history.iter().any(|id| reads_content(state, viewer, id)))
    };
    if reads_all_content(state, viewer) {
        return true;
    }
    match &entry.draft.event {
        Event::EnvelopeCreated(body) => {
            reads_payload(state, viewer, &body.envelope_id, &body.payload)
        }
        Event::GateResolved(body) => changed_mail(state, body)
            .is_some_and(|(id, payload)| reads_payload(state, viewer, &id, &payload)),
        Event::TaskCreated(body) => in_task(&body.task_id),
        // Any other entry's content belongs to the workspace that it is about.
        _ => entry.draft.workspace.as_ref().is_some_and(|id| reads_content(state, viewer, id)),
    }
}

/// The envelope a person modified at a gate, and its new payload.
fn changed_mail(state: &State, resolved: &Resolved) -> Option<(EnvelopeId, Payload)> {
    let payload = resolved.modifications.as_ref()?.payload.as_ref()?.stored().ok()?;
    let gate = &state.closed_gates.get(&resolved.gate_id)?.gate;
    Some((EnvelopeId::new(gate.subject.as_str()).ok()?, payload))
}

/// The workspaces and sessions a viewer may read.
pub fn readable(state: &State, viewer: Viewer<'_>) -> BTreeSet<WorkspaceId> {
    let everything = reads_everything(state, viewer);
    let all = state.workspaces.keys().chain(state.sessions.keys());
    all.filter(|id| everything || reads_some(state, viewer, id)).cloned().collect()
}

pub(crate) fn decide_refused(
    tx: &mut Transaction<'_>,
    note: &NoteRefused,
) -> Result<Reply, DecisionError> {
    let event = Event::CommandRefused(Refused {
        command: note.what.clone(),
        kind: RefusalKind::Denied,
        message: note.message.clone(),
        rule: note.rule,
    });
    // An unregistered agent has no recorded name yet, and a person's query was not signed: the
    // message names the requester instead.
    let actor = match &note.requester {
        own @ Principal::Agent(agent) if tx.state().agents.contains_key(agent) => {
            own.clone().into()
        }
        _ => Actor::Protocol,
    };
    tx.note(None, actor, event)?;
    Ok(Reply::Done)
}

pub(crate) fn decide_denied(
    tx: &mut Transaction<'_>,
    note: &NoteDenied,
) -> Result<Reply, DecisionError> {
    let requester_workspace = match &note.requester {
        Principal::Agent(agent) => tx.state().bound_to(agent).next().cloned(),
        Principal::User(_) | Principal::System => None,
    };
    let event = Event::TrailAccessDenied(AccessDenied {
        filter_digest: note.filter_digest.clone(),
        requested_scope: note.scope.clone(),
        requester: note.requester.clone(),
        requester_workspace: requester_workspace.clone(),
    });
    tx.note(requester_workspace.as_ref(), Actor::Protocol, event)?;
    Ok(Reply::Done)
}
