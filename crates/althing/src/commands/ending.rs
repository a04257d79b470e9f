//! `althing workspace terminate`, `grant` and `reparent`

use althing_kernel::workspace::grant::GrantVisibility;
use althing_kernel::workspace::reparent::Reparent;
use althing_kernel::workspace::terminate::Terminate;
use althing_kernel::{Command, Reply};

use super::workspaces::tell;
use crate::cli::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
use crate::desk::Desk;
use crate::error::Error;
use crate::output::from_now;

pub(super) fn terminate(desk: &Desk<'_>, args: WorkspaceTerminate) -> Result<(), Error> {
    let workspace = desk.workspace(&args.id)?;
    let terminate = Terminate { grace_s: args.grace, reason: args.reason, workspace };
    let reply = desk.order(Command::WorkspaceTerminate(terminate))?;
    if desk.out().json {
        return desk.out().value(&reply);
    }
    let Reply::Workspace(view) = &reply else { return Err(Error::unexpected(&reply)) };
    let by = view
        .grace_ends
        .map_or_else(String::new, |ends| format!("; its time ends {}", from_now(ends, desk.now())));
    desk.out().say(&format!("{} was asked to finish{by}", view.workspace))
}

pub(super) fn grant(desk: &Desk<'_>, args: WorkspaceGrant) -> Result<(), Error> {
    let (workspace, target) = (desk.workspace(&args.id)?, desk.workspace(&args.target)?);
    let words = format!("{workspace} may read {target} from now on");
    let grant = GrantVisibility { reason: args.reason, target, workspace };
    let reply = desk.order(Command::WorkspaceGrantVisibility(grant))?;
    if desk.out().json { desk.out().value(&reply) } else { desk.out().line(words) }
}

pub(super) fn reparent(desk: &Desk<'_>, args: &WorkspaceReparent) -> Result<(), Error> {
    let (workspace, parent) = (desk.workspace(&args.id)?, desk.workspace(&args.below)?);
    tell(desk, desk.order(Command::WorkspaceReparent(Reparent { parent, workspace }))?)
}
