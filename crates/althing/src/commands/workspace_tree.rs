//! `althing workspace tree`: the drawing of a run.

use althing_kernel::query::{TaskList, WorkspaceList};
use althing_kernel::workspace::Status;
use althing_kernel::workspace::view::{PeerState, PeerView, WorkspaceView};
use althing_kernel::{TaskId, Timestamp, WorkspaceId};
use std::collections::BTreeMap;

use super::workspaces::state_of;
use crate::cli::WorkspaceTree;
use crate::command_context::CommandContext;
use crate::drawing::tree;
use crate::error::Error;
use crate::naming::Naming;
use crate::output::{Tone, counted, from_now, one_line};

pub(super) fn run(context: &CommandContext<'_>, args: &WorkspaceTree) -> Result<(), Error> {
    let top = args.id.as_deref().map(|text| context.workspace(text)).transpose()?;
    // A workspace that is not there, or not for whoever asks, is an error and not an empty tree.
    let head = top.as_ref().map(|id| context.workspace_view(id.clone())).transpose()?;
    let asked = WorkspaceList { below: top, live: args.live, ..WorkspaceList::default() };
    let mut found = context.workspaces(asked)?;
    if let Some(head) = head {
        found.insert(0, head);
    } else if !args.all {
        retain_one_run(context, &mut found)?;
    }
    if context.out().json {
        return context.out().value(&found);
    }
    if found.is_empty() {
        return context.out().line("no workspaces; `althing coordinator start` begins a run");
    }
    let names: BTreeMap<TaskId, String> = context
        .tasks(TaskList::default())?
        .into_iter()
        .map(|task| (task.task, task.name))
        .collect();
    let naming = context.workspace_naming()?;
    for line in tree::draw(&parents(&found)) {
        let words = describe(context, &found[line.node], &naming, &names);
        context.out().cut_line(format!("{}{words}", line.before))?;
    }
    Ok(())
}

/// Keeps the current run, or else the newest.
fn retain_one_run(
    context: &CommandContext<'_>,
    found: &mut Vec<WorkspaceView>,
) -> Result<(), Error> {
    let current = context.run()?.map(|run| run.root);
    let roots = found.iter().filter(|view| view.parent.is_none() && !view.is_standing_root());
    let newest = roots.max_by_key(|view| view.created_at).map(|view| view.workspace.clone());
    let Some(root) = current.or(newest) else { return Ok(()) };
    let above: BTreeMap<WorkspaceId, Option<WorkspaceId>> =
        found.iter().map(|view| (view.workspace.clone(), view.parent.clone())).collect();
    let top = |id: &WorkspaceId| {
        let mut at = id;
        while let Some(Some(parent)) = above.get(at) {
            at = parent;
        }
        at.clone()
    };
    // The visible workspaces need not include the root; they are shown without it.
    let reaches = found.iter().any(|view| view.workspace == root);
    // Peers are in no run; they are always shown.
    found.retain(|view| !reaches || !view.is_of_run() || top(&view.workspace) == root);
    Ok(())
}

fn parents(found: &[WorkspaceView]) -> Vec<Option<usize>> {
    let place: BTreeMap<&WorkspaceId, usize> =
        found.iter().enumerate().map(|(n, view)| (&view.workspace, n)).collect();
    found
        .iter()
        .map(|view| view.parent.as_ref().and_then(|parent| place.get(parent).copied()))
        .collect()
}

/// How a state looks to those who see colours.
pub(super) fn tone(status: Status) -> Tone {
    match status {
        Status::Active => Tone::Good,
        Status::Blocked | Status::Conflicted | Status::Failed => Tone::Bad,
        Status::Migrating | Status::Suspended => Tone::Warn,
        Status::Integrating => Tone::Busy,
        Status::Idle | Status::Closed => Tone::Faint,
    }
}

/// How long a peer has been there, or gone, and what it holds.
fn of_peer(view: &WorkspaceView, peer: &PeerView, now: Timestamp) -> String {
    let holds = counted(peer.leases as u64, "claim", "claims");
    match (peer.state, view.deadline) {
        (PeerState::Gone, Some(ends)) => {
            format!("since {}, ends {}, {holds}", from_now(view.since, now), from_now(ends, now))
        }
        _ => format!(
            "connected {}, active {}, {holds}",
            from_now(view.created_at, now),
            from_now(peer.last_activity, now)
        ),
    }
}

fn describe(
    context: &CommandContext<'_>,
    view: &WorkspaceView,
    naming: &Naming,
    tasks: &BTreeMap<TaskId, String>,
) -> String {
    let (now, out) = (context.now(), context.out());
    let agent = view.agent.as_ref().map_or("the system", |agent| agent.as_str());
    let mut words = vec![
        naming.short(&view.workspace),
        format!("{} {agent}", view.role),
        out.paint(tone(view.status), state_of(view)),
    ];
    let task = view.task.as_ref().and_then(|task| tasks.get(task));
    if let Some(peer) = &view.peer {
        words.extend(peer.client.as_ref().map(|client| one_line(client)));
        words.push(of_peer(view, peer, now));
        return words.join("  ");
    }
    let mut times = vec![format!("created {}", from_now(view.created_at, now))];
    // An idle workspace waits for its agent, a moved one for its new agent.
    let waits = matches!(view.status, Status::Idle | Status::Migrating);
    let what = if waits { "to show up" } else { "ends" };
    times.extend(view.deadline.map(|deadline| format!("{what} {}", from_now(deadline, now))));
    times.extend((view.inbox > 0).then(|| format!("{} unread", view.inbox)));
    words.push(times.join(", "));
    // The name comes last: it is what may be cut.
    words.extend(task.map(|name| format!("{:?}", one_line(name))));
    words.join("  ")
}
