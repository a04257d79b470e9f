//! The authority of a workspace: the surfaces it may change.

use crate::model::runs::file::FilePath;
use crate::model::runs::workspace::Workspace;
use crate::surfaces::Surface;

/// The first surface in a list that a workspace may not change, if there is one.
pub(crate) fn within_authority(workspace: &Workspace, wanted: &[Surface]) -> Option<Surface> {
    let own = &workspace.charter.authority;
    wanted.iter().find(|wanted| !own.iter().any(|own| own.covers(wanted))).cloned()
}

/// Whether a workspace may change a file.
pub(crate) fn may_change(workspace: &Workspace, file: &FilePath) -> bool {
    workspace.charter.authority.iter().any(|own| own.covers_file(file.surface()))
}

/// The first file in a list of paths that a workspace may not change, if there is one. A glob of its
/// authority counts, whatever would lie below if the path were a folder.
pub(crate) fn beyond_authority(workspace: &Workspace, paths: &[Surface]) -> Option<Surface> {
    let own = &workspace.charter.authority;
    paths.iter().find(|path| !own.iter().any(|own| own.covers_file(path))).cloned()
}
