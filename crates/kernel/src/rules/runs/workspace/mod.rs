//! Workspaces: where an agent works, bounded and alone.
//!
//! A workspace has one agent, one role and at most one task, lives in one tree, and takes only
//! the steps of one table ([`edges`]). It is never reopened and never removed: once it has ended
//! it stays as a record. Its nine components are kept where they belong:
//!
//! | # | component | where | who changes it |
//! |---|---|---|---|
//! | 1 | directive | [`Charter::directive`], an envelope's id | nobody |
//! | 2 | inbox | [`crate::envelope`] | the runtime adds, the agent takes |
//! | 3 | context | [`Charter::context`] | nobody |
//! | 4 | working memory | [`Workspace::memory`], path to content | the agent |
//! | 5 | checkpoint register | [`crate::checkpoint`] | the agent adds |
//! | 6 | resource meter | [`Workspace::meter`] | the runtime |
//! | 7 | local trail | the chain of the trail that bears its id | everything adds |
//! | 8 | visibility | [`Workspace::visibility`] | the coordinator adds |
//! | 9 | authority | [`Charter::authority`] | nobody |

pub mod abort;
pub mod account;
pub(crate) mod authority;
pub mod branch;
pub mod budget;
pub mod change;
pub mod create;
pub mod draw;
pub mod enforce;
pub mod grant;
pub mod group;
pub mod liveness;
pub mod memory;
pub mod meter;
pub mod migrate;
pub(crate) mod peer;
pub mod priority;
pub mod process;
pub mod reparent;
pub mod sight;
pub mod suspend;
pub mod terminate;
pub mod transfer;
pub mod using;
pub mod view;

use crate::values::id::First as _;
use std::sync::Arc;

use crate::machine::coordinator::{is_coordinator, root};
use crate::machine::state::State;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::principal::{Caller, Principal};
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::*;

/// A workspace by id, or a refusal if there is none.
pub(crate) fn get<'s>(state: &'s State, id: &WorkspaceId) -> Result<&'s Arc<Workspace>, Refusal> {
    state.workspaces.get(id).ok_or_else(|| match state.sessions.get(id) {
        Some(session) => peer::not_in_run(id, session),
        None => Refusal::not_found(Rule::ReferenceKnown, format!("there is no workspace {id}")),
    })
}

/// Refuses callers who are not the coordinator.
pub(crate) fn coordinator_only(
    state: &State,
    caller: &Caller,
    permission: &str,
) -> Result<Initiator, Refusal> {
    root(state)?;
    if !is_coordinator(state, &caller.principal) {
        let message =
            format!("{} may not {permission}: that is for the coordinator", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message));
    }
    Ok(initiator(&caller.principal))
}

pub(crate) fn initiator(principal: &Principal) -> Initiator {
    match principal {
        Principal::User(_) => Initiator::Human,
        Principal::System | Principal::Agent(_) => Initiator::Coordinator,
    }
}

/// Whether a caller commands a workspace: the coordinator commands all, a delegate its descendants
/// while its own workspace is neither suspended, migrating nor done. Attempts outside runs are
/// commanded by whoever dispatched them.
pub(crate) fn commands(state: &State, caller: &Caller, target: &WorkspaceId) -> bool {
    match state.workspaces.get(target).filter(|known| state.is_open_attempt(known)) {
        Some(open) => state.is_dispatched_by(open, &caller.principal),
        None => {
            is_coordinator(state, &caller.principal)
                || delegate_above(state, caller, target).is_some()
        }
    }
}

/// The workspace from which a caller commands another one: the root, or a delegate's own.
pub(crate) fn commanding(
    state: &State,
    caller: &Caller,
    target: &WorkspaceId,
) -> Option<WorkspaceId> {
    if is_coordinator(state, &caller.principal) {
        return state.root.clone();
    }
    delegate_above(state, caller, target).cloned()
}

fn delegate_above<'s>(
    state: &'s State,
    caller: &Caller,
    target: &WorkspaceId,
) -> Option<&'s WorkspaceId> {
    let Principal::Agent(name) = &caller.principal else { return None };
    let mut above = state.workspaces.get(target).and_then(|known| known.parent.as_ref());
    while let Some(id) = above {
        let workspace = state.workspaces.get(id)?;
        let leads = workspace.charter.delegate && workspace.status.is_open();
        if leads && workspace.agent.as_ref() == Some(name) {
            return Some(id);
        }
        above = workspace.parent.as_ref();
    }
    None
}

/// The workspace a caller acts in: the one it names, or its only one. People and the system act in
/// the root.
pub(crate) fn own(
    state: &State,
    caller: &Caller,
    named: Option<&WorkspaceId>,
) -> Result<WorkspaceId, Refusal> {
    // A session holds leases; only some sessions are also workspaces of a run.
    let session = caller.session.as_ref().filter(|id| state.workspaces.contains_key(*id));
    let named = named.or(session);
    let Principal::Agent(agent) = &caller.principal else {
        let root = root(state)?;
        if named.is_none_or(|named| named == root) {
            return Ok(root.clone());
        }
        let message = format!("{} can only act in the root workspace", caller.principal);
        return Err(Refusal::denied(Rule::OwnWorkspace, message));
    };
    if let Some(named) = named {
        let known = get(state, named)?;
        if known.agent.as_ref() == Some(agent) {
            return Ok(named.clone());
        }
        let message = format!("workspace {named} is not bound to agent {agent}");
        return Err(Refusal::denied(Rule::OwnWorkspace, message));
    }
    let mut bound = at_work_in(state, agent).into_iter();
    match (bound.next(), bound.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => {
            let message = format!("agent {agent} has no live workspace");
            Err(Refusal::not_found(Rule::OwnWorkspace, message))
        }
        (Some(_), Some(_)) => {
            let message = format!("agent {agent} is bound to several workspaces: name one");
            let all = state.bound_to(agent).take(LIST_MAX).map(ToString::to_string);
            Err(Refusal::denied(Rule::OwnWorkspace, message).allowing(all))
        }
    }
}

/// The workspaces that an agent may mean when it names none: those of the run, else the attempts
/// outside runs that it works on, else those it is offered or cannot go on with.
fn at_work_in<'s>(state: &'s State, agent: &AgentName) -> Vec<&'s WorkspaceId> {
    let all: Vec<_> =
        state.bound_to(agent).filter_map(|id| state.workspaces.get_key_value(id)).collect();
    let of = |fits: &dyn Fn(&Workspace) -> bool| -> Vec<&'s WorkspaceId> {
        all.iter().filter(|(_, known)| fits(known)).map(|(id, _)| *id).collect()
    };
    let in_run = of(&|known| !state.is_open_attempt(known));
    if !in_run.is_empty() {
        return in_run;
    }
    let active = of(&|known| known.status == Status::Active);
    if active.is_empty() { of(&|_| true) } else { active }
}

impl State {
    /// The live workspaces an agent is bound to.
    pub(crate) fn bound_to(&self, agent: &AgentName) -> impl Iterator<Item = &WorkspaceId> {
        let own = agent.clone();
        let from = self.bound.range((agent.clone(), WorkspaceId::first())..);
        from.take_while(move |(of, _)| *of == own).map(|(_, id)| id)
    }

    /// The children of a workspace, oldest first.
    pub(crate) fn children_of(&self, id: &WorkspaceId) -> impl Iterator<Item = &WorkspaceId> {
        let own = id.clone();
        let first = (id.clone(), Timestamp::default(), WorkspaceId::first());
        self.children.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
}

/// The refusal of an order that attempts outside runs do not know.
pub(crate) fn needs_run(known: &Workspace, id: &WorkspaceId, order: &str) -> Refusal {
    let agent = known.agent.as_ref().map(ToString::to_string).unwrap_or_default();
    let message =
        format!("workspace {id} is an attempt of {agent} outside runs; {order} needs a run");
    Refusal::denied(Rule::OpenAttempt, message)
}
