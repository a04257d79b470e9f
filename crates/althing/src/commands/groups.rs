//! `althing group`

use althing_kernel::query::WorkspaceList;
use althing_kernel::workspace::account::MeterGet;
use althing_kernel::workspace::group::{AbortGroup, GroupName, GroupPriority};
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, Reply, Rule};

use super::{meter, workspaces};
use crate::app::App;
use crate::cli::GroupCommand;
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::output::counted;

pub(crate) fn run(app: &App, command: GroupCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        GroupCommand::List => list(&context),
        GroupCommand::Show(args) => show(&context, &args.name),
        GroupCommand::Abort(args) => {
            let abort = AbortGroup { group: args.name.clone(), reason: args.reason };
            match context.order(Command::WorkspaceBatchAbort(abort)) {
                Ok(reply) => print_reply(&context, reply, "ended"),
                Err(failure) => Err(at_a_gate(&context, &args.name, failure)),
            }
        }
        GroupCommand::Priority(args) => {
            let order = GroupPriority { group: args.name, priority: args.priority };
            print_reply(&context, context.order(Command::WorkspaceBatchPriority(order))?, "changed")
        }
    }
}

fn list(context: &CommandContext<'_>) -> Result<(), Error> {
    let mut found = meter::ask(context, MeterGet::default())?.groups;
    found.retain(|sum| sum.group.is_some());
    if context.out().json {
        return context.out().value(&found);
    }
    if found.is_empty() {
        return context.out().line("there are no groups in this run");
    }
    meter::by_group(context, &found, None)
}

/// Where ends of workspaces wait at a gate, an agent orders them one by one.
fn at_a_gate(context: &CommandContext<'_>, name: &GroupName, failure: Error) -> Error {
    if failure.rule() != Rule::GateWaits {
        return failure;
    }
    match members(context, name) {
        Err(unknown) => unknown,
        Ok(_) => failure.hint(
            "Have a person do it with `--user NAME`, or order `althing workspace abort` for each: \
             they wait at gates of their own.",
        ),
    }
}

/// The workspaces of a group of this run; those that are not there are no group.
fn members(context: &CommandContext<'_>, name: &GroupName) -> Result<Vec<WorkspaceView>, Error> {
    let asked = WorkspaceList { group: Some(name.clone()), ..WorkspaceList::default() };
    let mut found = context.workspaces(asked)?;
    // The same name in an older run is another group.
    let world = context.engine()?.world()?;
    let root = world.state.newest_root().and_then(|root| world.state.workspace(root));
    found.retain(|view| root.is_none_or(|root| view.created_at >= root.charter.created_at));
    if found.is_empty() {
        let message = format!("there is no group {:?} in this run", name.as_str());
        return Err(Error::not_found(message).with_rule(Rule::ReferenceKnown));
    }
    Ok(found)
}

fn show(context: &CommandContext<'_>, name: &GroupName) -> Result<(), Error> {
    let found = members(context, name)?;
    if context.out().json {
        return context.out().value(&found);
    }
    workspaces::table(context, &found)
}

fn print_reply(context: &CommandContext<'_>, reply: Reply, done: &str) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Batch(batch) = reply else { return Err(Error::unexpected(&reply)) };
    let affected = counted(batch.affected.len() as u64, "workspace", "workspaces");
    context.out().line(format!("{affected} {done}, {} skipped", batch.skipped.len()))
}
