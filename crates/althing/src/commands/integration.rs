//! `althing integrate`

use althing_kernel::id::ConflictId;
use althing_kernel::integration::conflict::{OpenConflict, Resolution, Resolve};
use althing_kernel::integration::{Decide, Decision};
use althing_kernel::text::Text;
use althing_kernel::{Command, Reply, Rule, WorkspaceId};

use super::gates::said_to_wait;
use crate::app::App;
use crate::cli::{Integrate, IntegrateCommand, IntegrateResolve, Judgement};
use crate::content::merged;
use crate::desk::{Desk, unexpected};
use crate::failure::Failure;
use crate::naming::{Naming, ambiguous};
use crate::output::one_line;
use crate::said::word;

pub(crate) fn run(app: &App, args: Integrate) -> Result<(), Failure> {
    let desk = Desk::open(app)?;
    let workspace = desk.workspace(&args.id)?;
    let command = match args.command {
        IntegrateCommand::Accept(args) => Command::IntegrationDecide(Decide {
            conflicts: Vec::new(),
            decision: Decision::Accept,
            merged: args.merged.as_deref().map(merged).transpose()?,
            reason: args.reason,
            strategy: Some(args.strategy),
            workspace,
        }),
        IntegrateCommand::Revise(args) => judge(workspace, Decision::Revise, args),
        IntegrateCommand::Reject(args) => judge(workspace, Decision::Reject, args),
        IntegrateCommand::Resolve(args) => resolve(&desk, workspace, &args)?,
    };
    tell(&desk, desk.order(command)?)
}

fn judge(workspace: WorkspaceId, decision: Decision, args: Judgement) -> Command {
    Command::IntegrationDecide(Decide {
        conflicts: Vec::new(),
        decision,
        merged: None,
        reason: args.reason,
        strategy: None,
        workspace,
    })
}

fn resolve(
    desk: &Desk<'_>,
    workspace: WorkspaceId,
    args: &IntegrateResolve,
) -> Result<Command, Failure> {
    let open = desk.workspace_view(workspace.clone())?.conflicts;
    let strategy = match (args.rework, args.escalate) {
        (true, _) => Resolution::AgentRework,
        (_, true) => Resolution::Escalate,
        _ => Resolution::CoordinatorResolve,
    };
    let resolution: Text<1000> = args.resolution.clone();
    Ok(Command::ConflictResolve(Resolve {
        conflict: conflict(&open, args.conflict.as_deref(), &workspace)?,
        merged: args.merged.as_deref().map(merged).transpose()?,
        resolution,
        strategy,
        workspace,
    }))
}

/// The conflict that is meant: by its id or a part of it, or the only one.
fn conflict(
    open: &[OpenConflict],
    given: Option<&str>,
    workspace: &WorkspaceId,
) -> Result<ConflictId, Failure> {
    let ids: Vec<&str> = open.iter().map(|conflict| conflict.id.as_str()).collect();
    let Some(text) = given else {
        return match open {
            [one] => Ok(one.id.clone()),
            [] => {
                let message = format!("workspace {workspace} has no open conflict");
                Err(Failure { rule: Rule::ConflictOpen, ..Failure::not_found(message) })
            }
            _ => Err(ambiguous("no id", &ids)),
        };
    };
    let naming = Naming::of(&ids);
    let meant = naming.find(text)?.unwrap_or(text);
    ConflictId::new(meant).map_err(|error| Failure::usage(format!("{text:?}: {error}")))
}

/// A conflict, with what it is about.
pub(super) fn said_of_conflict(conflict: &OpenConflict) -> String {
    let resources: Vec<String> = conflict.resources.iter().map(ToString::to_string).collect();
    let about = format!("{}: {}", conflict.description, resources.join(", "));
    format!("{}  {}  {}", conflict.id, word(&conflict.kind), one_line(about.trim_end_matches(": ")))
}

fn tell(desk: &Desk<'_>, reply: Reply) -> Result<(), Failure> {
    if desk.out().json {
        return desk.out().value(&reply);
    }
    if said_to_wait(desk, &reply)? {
        return Ok(());
    }
    let Reply::Integration(stands) = reply else { return Err(unexpected(&reply)) };
    desk.out().line(format!("{} is {}", stands.workspace, stands.status))?;
    for conflict in &stands.conflicts {
        desk.out().line(said_of_conflict(conflict))?;
    }
    if !stands.conflicts.is_empty() {
        desk.out()
            .note("settle each with `althing integrate WS resolve CONFLICT --resolution TEXT`");
    }
    Ok(())
}
