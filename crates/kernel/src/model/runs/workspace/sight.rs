//! Types of `sight`: state, arguments of commands and bodies of events.

use crate::model::runs::workspace::Workspace;
use crate::surfaces::Surface;

/// Whether everything in a list lies within what a workspace may change.
pub(crate) fn within_authority(workspace: &Workspace, wanted: &[Surface]) -> Option<Surface> {
    let own = &workspace.charter.authority;
    wanted.iter().find(|wanted| !own.iter().any(|own| own.covers(wanted))).cloned()
}
