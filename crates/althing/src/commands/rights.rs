//! `althing right`

use althing_kernel::query::RightList;
use althing_kernel::right::{Grant, Revoke, RightType, RightView};
use althing_kernel::{Command, Reply};

use crate::app::App;
use crate::cli::{RightCommand, RightGrant};
use crate::desk::Desk;
use crate::error::Error;

pub(crate) fn run(app: &App, command: RightCommand) -> Result<(), Error> {
    let desk = Desk::open(app)?;
    match command {
        RightCommand::Grant(args) => grant(&desk, &args),
        RightCommand::Revoke(args) => {
            let revoke = Revoke { reason: args.reason, right: desk.right(&args.id)? };
            tell(&desk, desk.order(Command::RightRevoke(revoke))?, "no longer sends")
        }
        RightCommand::List(args) => {
            let rights = desk.right_list(RightList {
                from: desk.workspace_if(args.from.as_deref())?,
                to: desk.workspace_if(args.to.as_deref())?,
                workspace: desk.workspace_if(args.id.as_deref())?,
            })?;
            if desk.out().json {
                return desk.out().value(&rights);
            }
            if rights.is_empty() {
                return desk.out().line("no rights");
            }
            table(&desk, &rights)
        }
    }
}

fn grant(desk: &Desk<'_>, args: &RightGrant) -> Result<(), Error> {
    let grant = Grant {
        holder: desk.workspace(&args.holder)?,
        once: args.once,
        target: desk.workspace(&args.target)?,
    };
    tell(desk, desk.order(Command::RightGrant(grant))?, "may send")
}

fn tell(desk: &Desk<'_>, reply: Reply, does: &str) -> Result<(), Error> {
    if desk.out().json {
        return desk.out().value(&reply);
    }
    let Reply::Right(right) = reply else { return Err(Error::unexpected(&reply)) };
    let names = desk.workspace_naming()?;
    let (holder, target) = (names.short(&right.holder), names.short(&right.target));
    desk.out().say(&format!("{holder} {does} to {target} ({})", right.right))
}

fn sort(kind: RightType) -> &'static str {
    match kind {
        RightType::Send => "send",
        RightType::SendOnce => "send once",
        RightType::Receive => "receive",
    }
}

/// Rights, one a line.
pub(super) fn table(desk: &Desk<'_>, rights: &[RightView]) -> Result<(), Error> {
    let (naming, names) = (desk.right_naming()?, desk.workspace_naming()?);
    let row = |right: &RightView| {
        vec![
            naming.short(&right.right),
            sort(right.kind).to_owned(),
            names.short(&right.holder),
            names.short(&right.target),
        ]
    };
    let titles = ["RIGHT", "ALLOWS", "HOLDER", "TARGET"];
    desk.out().table(&titles, &rights.iter().map(row).collect::<Vec<_>>())
}
