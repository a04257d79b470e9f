//! `althing workspace terminate`, `grant` and `reparent`

use althing_kernel::workspace::grant::GrantVisibility;
use althing_kernel::workspace::reparent::Reparent;
use althing_kernel::workspace::terminate::Terminate;
use althing_kernel::{Command, Reply};

use super::workspaces::print_reply;
use crate::cli::{WorkspaceGrant, WorkspaceReparent, WorkspaceTerminate};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::output::from_now;

pub(super) fn terminate(
    context: &CommandContext<'_>,
    args: WorkspaceTerminate,
) -> Result<(), Error> {
    let workspace = context.workspace(&args.id)?;
    let terminate = Terminate { grace_s: args.grace, reason: args.reason, workspace };
    let reply = context.order(Command::WorkspaceTerminate(terminate))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Workspace(view) = &reply else { return Err(Error::unexpected(&reply)) };
    let by = view.grace_ends.map_or_else(String::new, |ends| {
        format!("; its time ends {}", from_now(ends, context.now()))
    });
    context.out().say(&format!("{} was asked to finish{by}", view.workspace))
}

pub(super) fn grant(context: &CommandContext<'_>, args: WorkspaceGrant) -> Result<(), Error> {
    let (workspace, target) = (context.workspace(&args.id)?, context.workspace(&args.target)?);
    let words = format!("{workspace} may read {target} from now on");
    let grant = GrantVisibility { reason: args.reason, target, workspace };
    let reply = context.order(Command::WorkspaceGrantVisibility(grant))?;
    if context.out().json { context.out().value(&reply) } else { context.out().line(words) }
}

pub(super) fn reparent(
    context: &CommandContext<'_>,
    args: &WorkspaceReparent,
) -> Result<(), Error> {
    let (workspace, parent) = (context.workspace(&args.id)?, context.workspace(&args.below)?);
    print_reply(context, context.order(Command::WorkspaceReparent(Reparent { parent, workspace }))?)
}
