//! Permissions: an agent acts in the workspace it is bound to, as far as its state allows, and
//! gives orders only as the coordinator or as an active delegate above the workspace.

use althing_kernel::signal::SignalType;
use althing_kernel::workspace::Status;
use althing_kernel::{Actor, AgentName, Event, Principal, UserId, WorkspaceId};
use std::collections::BTreeSet;

use super::invariants::{Place, Tree};

/// An action of an agent in its own name.
enum Act<'a> {
    /// An action in its own workspace.
    Own(&'a WorkspaceId, fn(Status) -> bool),
    /// An order to a workspace below its own.
    Order(&'a WorkspaceId),
    /// An action in or below its own workspace.
    Plan(&'a WorkspaceId),
}

fn act(event: &Event) -> Option<Act<'_>> {
    let open = |status| matches!(status, Status::Idle | Status::Active | Status::Blocked);
    Some(match event {
        Event::EnvelopeCreated(body) => Act::Own(&body.from, open),
        Event::InboxTaken(body) => Act::Own(&body.workspace_id, open),
        Event::WorkspaceWritten(body) => Act::Own(&body.workspace_id, |is| is == Status::Active),
        Event::CheckpointCreated(body) => Act::Own(&body.workspace, |is| is == Status::Active),
        Event::SignalEmitted(body) if body.signal == SignalType::Ready => {
            Act::Own(&body.from, |is| is != Status::Suspended)
        }
        Event::SignalEmitted(body) => {
            Act::Own(&body.from, |is| !matches!(is, Status::Suspended | Status::Migrating))
        }
        Event::WorkspaceCreated(body) => Act::Plan(body.parent.as_ref()?),
        Event::PortRightCreated(body) => Act::Plan(&body.target),
        Event::WorkspaceStateChanged(body) => Act::Order(&body.workspace_id),
        Event::IntegrationStarted(body) => Act::Order(&body.source),
        Event::GracefulTerminationInitiated(body) => Act::Order(&body.workspace_id),
        Event::VisibilityGranted(body) => Act::Order(&body.workspace_id),
        Event::ConflictResolved(body) => Act::Order(&body.workspace_id),
        _ => return None,
    })
}

/// Checks an agent's action against its permissions.
pub(super) fn check(at: &Place<'_>, tree: &Tree, root: Option<&WorkspaceId>) {
    let Actor::Principal(Principal::Agent(agent)) = &at.entry.draft.actor else { return };
    let Some(act) = act(&at.entry.draft.event) else { return };
    let coordinates = root.is_some_and(|root| tree[root].agent.as_ref() == Some(agent));
    match act {
        Act::Own(id, allowed) => {
            let node = tree.get(id);
            let own = node.is_some_and(|node| node.agent.as_ref() == Some(agent));
            at.must(own, "an agent acts in its own workspace");
            at.must(node.is_some_and(|node| allowed(node.status)), "its state lets it");
        }
        Act::Order(id) => {
            let above = tree.get(id).and_then(|node| node.parent.as_ref());
            let allowed = coordinates || above.is_some_and(|above| leads(tree, agent, above));
            at.must(allowed, "it leads those whom it orders about");
        }
        Act::Plan(id) => {
            at.must(coordinates || leads(tree, agent, id), "it leads those for whom it plans");
        }
    }
}

/// Checks that a suspended person's commands are only refused.
pub(super) fn check_person(at: &Place<'_>, away: &BTreeSet<UserId>) {
    let Actor::Principal(Principal::User(user)) = &at.entry.draft.actor else { return };
    let denied = matches!(&at.entry.draft.event, Event::CapabilityDenied(_));
    at.must(denied || !away.contains(user), "only an active person acts");
}

/// Whether an agent is an active delegate in a workspace or above it.
fn leads(tree: &Tree, agent: &AgentName, id: &WorkspaceId) -> bool {
    let mut at = Some(id);
    while let Some(node) = at.and_then(|id| tree.get(id)) {
        let at_work = matches!(node.status, Status::Idle | Status::Active | Status::Blocked);
        if node.body.delegate && at_work && node.agent.as_ref() == Some(agent) {
            return true;
        }
        at = node.parent.as_ref();
    }
    false
}

/// Whether an agent reads a workspace: its own, those below, and those it was shown. The
/// coordinator, an observer created for it, and agents that never had a part read all of them.
pub(super) fn reads(
    tree: &Tree,
    (agent, had_a_part): (&AgentName, bool),
    root: Option<&WorkspaceId>,
    target: &WorkspaceId,
) -> bool {
    let coordinates = root.is_some_and(|root| tree[root].agent.as_ref() == Some(agent));
    if coordinates || !had_a_part {
        return true;
    }
    let own = tree.iter().filter(|(_, node)| node.agent.as_ref() == Some(agent));
    let mut own = own.filter(|(id, node)| *id == target || !node.status.is_terminal());
    own.any(|(id, node)| {
        let observer = matches!(node.body.role.as_str(), "observer" | "auditor");
        let watches = observer && node.body.global_trail;
        watches || sees(tree, id, target)
    })
}

/// Whether one workspace is another or is above it.
pub(super) fn is_above(tree: &Tree, upper: &WorkspaceId, lower: &WorkspaceId) -> bool {
    let mut above = Some(lower);
    // No workspace is deeper than their number; without this limit a circle would never end.
    for _ in 0..=tree.len() {
        let Some(id) = above else { return false };
        if id == upper {
            return true;
        }
        above = tree.get(id).and_then(|node| node.parent.as_ref());
    }
    true
}

/// Whether one workspace is another, is above it, or was shown it.
pub(super) fn sees(tree: &Tree, viewer: &WorkspaceId, target: &WorkspaceId) -> bool {
    if is_above(tree, viewer, target) {
        return true;
    }
    tree.get(viewer).is_some_and(|node| node.body.visibility_set.contains(target))
}
