//! Visibility between workspaces: a workspace sees itself, its descendants, and what it was
//! granted.

use crate::machine::state::State;
use crate::values::id::WorkspaceId;

pub(crate) use crate::model::runs::workspace::sight::*;

/// Whether one workspace sees another: its working memory, its checkpoints, its local trail.
pub(crate) fn sees(state: &State, viewer: &WorkspaceId, target: &WorkspaceId) -> bool {
    let Some(known) = state.workspaces.get(viewer) else { return false };
    viewer == target || known.visibility.contains(target) || is_above(state, viewer, target)
}

/// Whether one workspace is an ancestor of another.
pub(crate) fn is_above(state: &State, above: &WorkspaceId, below: &WorkspaceId) -> bool {
    let parent_of = |id: &WorkspaceId| state.workspaces.get(id).and_then(|w| w.parent.clone());
    let mut at = parent_of(below);
    while let Some(id) = at {
        if id == *above {
            return true;
        }
        at = parent_of(&id);
    }
    false
}
