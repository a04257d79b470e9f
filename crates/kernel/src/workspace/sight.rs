//! Who sees whom. A workspace sees itself, everything below it, and what it was shown.

use super::Workspace;
use crate::id::WorkspaceId;
use crate::state::State;
use crate::surface::Surface;

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

/// Whether everything in a list lies within what a workspace may change.
pub(crate) fn within_authority(workspace: &Workspace, wanted: &[Surface]) -> Option<Surface> {
    let own = &workspace.charter.authority;
    wanted.iter().find(|wanted| !own.iter().any(|own| own.covers(wanted))).cloned()
}
