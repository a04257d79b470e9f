//! Workspaces, as shown to callers.

use crate::machine::state::State;
use crate::model::runs::workspace::Workspace;
use crate::values::id::WorkspaceId;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::view::*;

impl WorkspaceView {
    pub(crate) fn of(state: &State, now: Timestamp, id: &WorkspaceId, known: &Workspace) -> Self {
        let charter = &known.charter;
        WorkspaceView {
            workspace: id.clone(),
            parent: known.parent.clone(),
            role: charter.role.clone(),
            agent: known.agent.clone(),
            status: known.status,
            since: known.since,
            ready: known.ready,
            ended: known.ended,
            reason: known.reason.as_ref().map(ToString::to_string),
            owner: known.owner.clone(),
            originator: charter.originator.clone(),
            visibility: known.visibility.clone(),
            authority: charter.authority.clone(),
            delegate: charter.delegate,
            priority: known.priority,
            group: charter.group.as_ref().map(ToString::to_string),
            budget: known.budget.clone(),
            liveness_interval_s: charter.liveness,
            mounts: charter.mounts.iter().map(ToString::to_string).collect(),
            directive: charter.directive.clone(),
            context: charter.context.clone(),
            task: charter.task.clone(),
            assignment: charter.assignment,
            created_at: charter.created_at,
            deadline: known.deadline(),
            grace_ends: known.grace_ends(),
            orphan_of: known.orphan_of.clone(),
            worked: known.worked(now),
            head: known.head.clone(),
            latest_final: known.latest_final.clone(),
            branch: known.branch.clone(),
            process: known.process.clone(),
            pool: charter.pool.then_some(Pool { hold: known.hold }),
            inbox: state.inbox_of(id).count(),
            memory: known.memory.len(),
            merged: known.merged.len(),
            conflicts: state
                .integrations
                .get(id)
                .map_or_else(Vec::new, |open| open.conflicts.clone()),
            peer: None,
            place: place(state, id, known),
        }
    }
}

fn place(state: &State, id: &WorkspaceId, known: &Workspace) -> Place {
    if state.is_open_attempt(known) {
        Place::OpenAttempt
    } else if state.is_standing(id) {
        Place::StandingRoot
    } else {
        Place::Run
    }
}
