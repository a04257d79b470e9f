//! `althing right`

use althing_kernel::query::RightList;
use althing_kernel::right::{Grant, Revoke, RightType, RightView};
use althing_kernel::{Command, Reply};

use crate::app::App;
use crate::cli::{RightCommand, RightGrant};
use crate::command_context::CommandContext;
use crate::error::Error;

pub(crate) fn run(app: &App, command: RightCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        RightCommand::Grant(args) => grant(&context, &args),
        RightCommand::Revoke(args) => {
            let revoke = Revoke { reason: args.reason, right: context.right(&args.id)? };
            print_reply(&context, context.order(Command::RightRevoke(revoke))?, "no longer sends")
        }
        RightCommand::List(args) => {
            let rights = context.right_list(RightList {
                from: context.workspace_if(args.from.as_deref())?,
                to: context.workspace_if(args.to.as_deref())?,
                workspace: context.workspace_if(args.id.as_deref())?,
            })?;
            if context.out().json {
                return context.out().value(&rights);
            }
            if rights.is_empty() {
                return context.out().line("no rights");
            }
            table(&context, &rights)
        }
    }
}

fn grant(context: &CommandContext<'_>, args: &RightGrant) -> Result<(), Error> {
    let grant = Grant {
        holder: context.workspace(&args.holder)?,
        once: args.once,
        target: context.workspace(&args.target)?,
    };
    print_reply(context, context.order(Command::RightGrant(grant))?, "may send")
}

fn print_reply(context: &CommandContext<'_>, reply: Reply, does: &str) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Right(right) = reply else { return Err(Error::unexpected(&reply)) };
    let names = context.workspace_naming()?;
    let (holder, target) = (names.short(&right.holder), names.short(&right.target));
    context.out().say(&format!("{holder} {does} to {target} ({})", right.right))
}

fn sort(kind: RightType) -> &'static str {
    match kind {
        RightType::Send => "send",
        RightType::SendOnce => "send once",
        RightType::Receive => "receive",
    }
}

/// Rights, one a line.
pub(super) fn table(context: &CommandContext<'_>, rights: &[RightView]) -> Result<(), Error> {
    let (naming, names) = (context.right_naming()?, context.workspace_naming()?);
    let row = |right: &RightView| {
        vec![
            naming.short(&right.right),
            sort(right.kind).to_owned(),
            names.short(&right.holder),
            names.short(&right.target),
        ]
    };
    let titles = ["RIGHT", "ALLOWS", "HOLDER", "TARGET"];
    context.out().table(&titles, &rights.iter().map(row).collect::<Vec<_>>())
}
