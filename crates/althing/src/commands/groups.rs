//! `althing group`

use althing_kernel::query::WorkspaceList;
use althing_kernel::workspace::account::MeterGet;
use althing_kernel::workspace::group::{AbortGroup, GroupName, GroupPriority};
use althing_kernel::{Command, Reply, Rule};

use super::{meter, workspaces};
use crate::app::App;
use crate::cli::GroupCommand;
use crate::desk::{Desk, unexpected};
use crate::failure::Failure;
use crate::output::counted;

pub(crate) fn run(app: &App, command: GroupCommand) -> Result<(), Failure> {
    let desk = Desk::open(app)?;
    match command {
        GroupCommand::List => list(&desk),
        GroupCommand::Show(args) => show(&desk, &args.name),
        GroupCommand::Abort(args) => {
            let abort = AbortGroup { group: args.name, reason: args.reason };
            tell(&desk, desk.order(Command::WorkspaceBatchAbort(abort))?, "ended")
        }
        GroupCommand::Priority(args) => {
            let order = GroupPriority { group: args.name, priority: args.priority };
            tell(&desk, desk.order(Command::WorkspaceBatchPriority(order))?, "changed")
        }
    }
}

fn list(desk: &Desk<'_>) -> Result<(), Failure> {
    let mut found = meter::ask(desk, MeterGet::default())?.groups;
    found.retain(|sum| sum.group.is_some());
    if desk.out().json {
        return desk.out().value(&found);
    }
    if found.is_empty() {
        return desk.out().line("there are no groups in this run");
    }
    meter::by_group(desk, &found, None)
}

fn show(desk: &Desk<'_>, name: &GroupName) -> Result<(), Failure> {
    let asked = WorkspaceList { group: Some(name.clone()), ..WorkspaceList::default() };
    let mut found = desk.workspaces(asked)?;
    // The same name in an older run is another group.
    let world = desk.engine.world()?;
    let root = world.state.newest_root().and_then(|root| world.state.workspace(root));
    found.retain(|view| root.is_none_or(|root| view.created_at >= root.charter.created_at));
    if found.is_empty() {
        let message = format!("there is no group {:?} in this run", name.as_str());
        return Err(Failure { rule: Rule::ReferenceKnown, ..Failure::not_found(message) });
    }
    if desk.out().json {
        return desk.out().value(&found);
    }
    workspaces::table(desk, &found)
}

fn tell(desk: &Desk<'_>, reply: Reply, done: &str) -> Result<(), Failure> {
    if desk.out().json {
        return desk.out().value(&reply);
    }
    let Reply::Batch(batch) = reply else { return Err(unexpected(&reply)) };
    let affected = counted(batch.affected.len() as u64, "workspace", "workspaces");
    desk.out().line(format!("{affected} {done}, {} skipped", batch.skipped.len()))
}
