//! Who reads what: visibility decides, never the knowledge of an id.
//!
//! An agent reads its own workspaces, what they were shown and what is below them. The
//! coordinator and people read everything; so does an observer that was created to. A question
//! without a name is a person's at the machine that holds the state folder.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::id::WorkspaceId;
use crate::name::AgentName;
use crate::principal::{Actor, Principal};
use crate::state::State;
use crate::taxonomy::Base;
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::{is_coordinator, sight};

/// Whoever asks; nobody in particular is a person at the machine.
pub type Viewer<'a> = Option<&'a AgentName>;

/// Whether a viewer may read all of the trail.
pub fn reads_everything(state: &State, viewer: Viewer<'_>) -> bool {
    let Some(agent) = viewer else { return true };
    is_coordinator(state, &Principal::Agent(agent.clone()))
        || own(state, agent).any(|id| {
            let known = state.workspaces.get(id);
            known.is_some_and(|known| {
                let base = state.run_of(known).base_of(&known.charter.role);
                known.charter.global_trail && base == Some(Base::Observer)
            })
        })
}

fn own<'s>(state: &'s State, agent: &AgentName) -> impl Iterator<Item = &'s WorkspaceId> {
    let sessions = state.sessions.iter();
    let agent_name = agent.clone();
    let sessions = sessions.filter(move |(_, session)| session.agent == agent_name);
    state.bound_to(agent).chain(sessions.map(|(id, _)| id))
}

/// Whether a viewer may read a workspace: its working memory, checkpoints and local trail.
pub fn reads(state: &State, viewer: Viewer<'_>, target: &WorkspaceId) -> bool {
    let Some(agent) = viewer else { return true };
    if is_coordinator(state, &Principal::Agent(agent.clone())) {
        return true;
    }
    // What ended stays readable to whoever worked there.
    let was_own = state.workspaces.get(target).is_some_and(|w| w.agent.as_ref() == Some(agent));
    was_own || own(state, agent).any(|id| id == target || sight::sees(state, id, target))
}

/// `trail.denied`: notes that somebody asked for what it may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteDenied {
    /// Who asked.
    pub agent: AgentName,
    /// What was asked, as a hash.
    pub filter_digest: Text<80>,
    /// What it was about; none for the whole trail.
    pub scope: Option<WorkspaceId>,
}

/// `trail_access_denied`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessDenied {
    /// What was asked, as a hash.
    pub filter_digest: Text<80>,
    /// What it was about; none for the whole trail.
    pub requested_scope: Option<WorkspaceId>,
    /// Who asked.
    pub requester: Principal,
    /// The workspace it works in, if it has one.
    pub requester_workspace: Option<WorkspaceId>,
}

pub(crate) fn decide_denied(turn: &mut Turn<'_>, note: &NoteDenied) -> Result<Reply, Halt> {
    let requester_workspace = turn.state().bound_to(&note.agent).next().cloned();
    let event = Event::TrailAccessDenied(AccessDenied {
        filter_digest: note.filter_digest.clone(),
        requested_scope: note.scope.clone(),
        requester: Principal::Agent(note.agent.clone()),
        requester_workspace: requester_workspace.clone(),
    });
    turn.note(requester_workspace.as_ref(), Actor::Protocol, event)?;
    Ok(Reply::Done)
}
