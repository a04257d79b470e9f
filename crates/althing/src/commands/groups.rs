//! `althing group`

use althing_kernel::query::WorkspaceList;
use althing_kernel::workspace::account::MeterGet;
use althing_kernel::workspace::group::{AbortGroup, GroupName, GroupPriority};
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, Reply, Rule};

use super::{meter, workspaces};
use crate::app::App;
use crate::cli::GroupCommand;
use crate::desk::Desk;
use crate::error::Error;
use crate::output::counted;

pub(crate) fn run(app: &App, command: GroupCommand) -> Result<(), Error> {
    let desk = Desk::open(app)?;
    match command {
        GroupCommand::List => list(&desk),
        GroupCommand::Show(args) => show(&desk, &args.name),
        GroupCommand::Abort(args) => {
            let abort = AbortGroup { group: args.name.clone(), reason: args.reason };
            match desk.order(Command::WorkspaceBatchAbort(abort)) {
                Ok(reply) => tell(&desk, reply, "ended"),
                Err(failure) => Err(at_a_gate(&desk, &args.name, failure)),
            }
        }
        GroupCommand::Priority(args) => {
            let order = GroupPriority { group: args.name, priority: args.priority };
            tell(&desk, desk.order(Command::WorkspaceBatchPriority(order))?, "changed")
        }
    }
}

fn list(desk: &Desk<'_>) -> Result<(), Error> {
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

/// Where ends of workspaces wait at a gate, an agent orders them one by one.
fn at_a_gate(desk: &Desk<'_>, name: &GroupName, failure: Error) -> Error {
    if failure.rule() != Rule::GateWaits {
        return failure;
    }
    match members(desk, name) {
        Err(unknown) => unknown,
        Ok(_) => failure.hint(
            "Have a person do it with `--user NAME`, or order `althing workspace abort` for each: \
             they wait at gates of their own.",
        ),
    }
}

/// The workspaces of a group of this run; those that are not there are no group.
fn members(desk: &Desk<'_>, name: &GroupName) -> Result<Vec<WorkspaceView>, Error> {
    let asked = WorkspaceList { group: Some(name.clone()), ..WorkspaceList::default() };
    let mut found = desk.workspaces(asked)?;
    // The same name in an older run is another group.
    let world = desk.engine()?.world()?;
    let root = world.state.newest_root().and_then(|root| world.state.workspace(root));
    found.retain(|view| root.is_none_or(|root| view.created_at >= root.charter.created_at));
    if found.is_empty() {
        let message = format!("there is no group {:?} in this run", name.as_str());
        return Err(Error::not_found(message).with_rule(Rule::ReferenceKnown));
    }
    Ok(found)
}

fn show(desk: &Desk<'_>, name: &GroupName) -> Result<(), Error> {
    let found = members(desk, name)?;
    if desk.out().json {
        return desk.out().value(&found);
    }
    workspaces::table(desk, &found)
}

fn tell(desk: &Desk<'_>, reply: Reply, done: &str) -> Result<(), Error> {
    if desk.out().json {
        return desk.out().value(&reply);
    }
    let Reply::Batch(batch) = reply else { return Err(Error::unexpected(&reply)) };
    let affected = counted(batch.affected.len() as u64, "workspace", "workspaces");
    desk.out().line(format!("{affected} {done}, {} skipped", batch.skipped.len()))
}
