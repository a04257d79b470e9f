//! Where an entry of the runtime's comes from, and in which local trail it belongs.
//!
//! A command leaves one entry in its caller's name, and what follows from it names that entry as
//! its cause. So an entry of the runtime's is either due by the clock, or follows from the story
//! that the entry before it belongs to, and then from one of a kind that can lead to it.

use serde::{Deserialize, Serialize};

use super::Breach;
use crate::event::{Event, Kind, Stamped};
use crate::id::{EntryId, WorkspaceId};
use crate::integration::conflict::End;
use crate::principal::{Actor, Principal};
use crate::signal::SignalType;
use crate::state::State;
use crate::task::orders::ApprovalSource;
use crate::workspace::{Initiator, Trigger, initiator, is_coordinator};

/// The entry that the ones after it follow from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// The entry.
    pub id: EntryId,
    /// Who caused it.
    pub actor: Actor,
    /// What it was.
    pub kind: Kind,
}

/// What `apply` remembers of an entry that follows from no other.
pub(crate) fn remember(state: &mut State, entry: &Stamped) {
    if entry.draft.causation.is_none() {
        let (id, actor) = (entry.id.clone(), entry.draft.actor.clone());
        state.story = Some(Story { id, actor, kind: entry.draft.event.kind() });
    }
}

fn tale(holds: bool, noun: &'static str) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach::Tale(noun)) }
}

/// Whether an entry of the runtime's can stand where it stands.
pub(super) fn check(state: &State, entry: &Stamped) -> Result<(), Breach> {
    let event = &entry.draft.event;
    if entry.draft.actor != Actor::Protocol {
        return tale(entry.draft.causation.is_none() || agents_second(event), "cause");
    }
    let Some(cause) = &entry.draft.causation else { return tale(by_itself(state, event), "cause") };
    let story = state.story.as_ref().filter(|story| story.id == *cause);
    let Some(story) = story else { return Err(Breach::Tale("cause")) };
    leads_to(state, story, event)
}

/// What a caller does in a command after something else it did: showing up comes first.
fn agents_second(event: &Event) -> bool {
    matches!(event, Event::InboxTaken(_) | Event::SignalEmitted(_))
}

/// What the runtime does because it is time, or on its own account.
fn by_itself(state: &State, event: &Event) -> bool {
    match event {
        Event::WorkspaceStateChanged(body) => match body.trigger {
            Trigger::Timeout | Trigger::ConflictTimeout | Trigger::MigrationError => true,
            trigger => is_owed(state, &body.workspace_id, trigger),
        },
        Event::EnvelopeDelivered(_)
        | Event::EnvelopeRedelivered(_)
        | Event::EnvelopeAttempted(_)
        | Event::EnvelopeUndeliverable(_)
        | Event::SignalDelivered(_)
        | Event::TrailAccessDenied(_) => true,
        _ => false,
    }
}

/// Whether a workspace's agent asked for a step which is not on record: recovery takes it then.
fn is_owed(state: &State, id: &WorkspaceId, trigger: Trigger) -> bool {
    let owed = state.workspaces.get(id).and_then(|known| known.owed.as_ref());
    let asked = owed.map(|owed| match owed.signal {
        SignalType::Blocked => Trigger::Blocked,
        SignalType::Complete => Trigger::Complete,
        _ => Trigger::Failed,
    });
    asked == Some(trigger)
}

fn leads_to(state: &State, story: &Story, event: &Event) -> Result<(), Breach> {
    use Kind as K;
    let by_person = matches!(&story.actor, Actor::Principal(Principal::User(_)));
    let from = |kinds: &[Kind]| tale(kinds.contains(&story.kind), "cause");
    match event {
        Event::WorkspaceStateChanged(body) => match body.initiator {
            Initiator::Agent => from(&[K::SignalEmitted]),
            Initiator::Human | Initiator::Coordinator => {
                from(&[
                    K::MigrationStarted,
                    K::IntegrationStarted,
                    K::ConflictResolved,
                    K::TaskStatusChanged,
                    K::RunStopped,
                ])?;
                let led = matches!(&story.actor, Actor::Principal(who)
                    if initiator(who) == body.initiator);
                tale(led, "cause")
            }
            Initiator::Runtime => Ok(()),
        },
        Event::TaskApproved(body) => {
            from(&[K::TaskApproved])?;
            tale((body.approval_source == ApprovalSource::Human) == by_person, "approval")
        }
        Event::TaskCreated(_) => from(&[K::GraphCreated]),
        Event::TaskAssigned(_) | Event::EnvelopeCreated(_) => from(&[K::WorkspaceCreated]),
        Event::PortRightCreated(_) => from(&[
            K::WorkspaceCreated,
            K::WorkspaceStateChanged,
            K::SignalEmitted,
            K::IntegrationStarted,
            K::ConflictResolved,
            K::TaskStatusChanged,
        ]),
        Event::ConflictDetected(_) => from(&[K::IntegrationStarted]),
        Event::ConflictResolved(body) => tale(body.outcome == End::Failed, "conflict"),
        Event::IntegrationCompleted(_) => from(&[K::IntegrationStarted, K::ConflictResolved]),
        Event::TaskCompleted(_) => from(&[K::SignalEmitted, K::WorkspaceStateChanged]),
        Event::TaskStatusChanged(_) => from(&[
            K::TaskApproved,
            K::WorkspaceCreated,
            K::SignalEmitted,
            K::WorkspaceStateChanged,
            K::IntegrationStarted,
            K::ConflictResolved,
            K::TaskStatusChanged,
            K::RunStopped,
        ]),
        Event::SuspensionStarted(_) => from(&[K::WorkspaceStateChanged]),
        _ => {
            let known = match &story.actor {
                Actor::Principal(who) => {
                    matches!(who, Principal::Agent(_)) || is_coordinator(state, who)
                }
                Actor::Protocol => true,
            };
            tale(known, "cause")
        }
    }
}

/// The local trail an entry belongs in.
#[derive(PartialEq, Eq)]
pub(super) enum Home {
    /// That of a workspace, or of none.
    In(Option<WorkspaceId>),
    /// Nothing is said about it.
    Anywhere,
}

/// Where an entry belongs.
pub(super) fn home(state: &State, event: &Event) -> Home {
    let of = |id: &WorkspaceId| Home::In(Some(id.clone()));
    let of_graph =
        |graph: &crate::GraphId| Home::In(state.graphs.get(graph).map(|graph| graph.root.clone()));
    let of_task = |task: &crate::TaskId| {
        state.tasks.get(task).map_or(Home::In(None), |task| of_graph(&task.graph))
    };
    match event {
        Event::WorkspaceCreated(body) => of(&body.workspace_id),
        Event::WorkspaceStateChanged(body) => of(&body.workspace_id),
        Event::WorkspaceReparented(body) => of(&body.workspace_id),
        Event::WorkspaceWritten(body) => of(&body.workspace_id),
        Event::MigrationStarted(body) => of(&body.workspace_id),
        Event::MigrationCompleted(body) => of(&body.workspace_id),
        Event::MigrationFailed(body) => of(&body.workspace_id),
        Event::SuspensionStarted(body) => of(&body.workspace_id),
        Event::SuspensionResumed(body) => of(&body.workspace_id),
        Event::ConflictDetected(body) => of(&body.workspace_id),
        Event::ConflictResolved(body) => of(&body.workspace_id),
        Event::InboxTaken(body) => of(&body.workspace_id),
        Event::RunHandedOver(body) => of(&body.workspace_id),
        Event::RunStopped(body) => of(&body.workspace_id),
        Event::GraphCreated(body) => of(&body.workspace_id),
        Event::SignalEmitted(body) => of(&body.from),
        Event::SignalDelivered(body) => of(&body.delivered_to),
        Event::EnvelopeCreated(body) => of(&body.from),
        Event::EnvelopeRejected(body) => of(&body.from),
        Event::EnvelopeUndeliverable(body) => of(&body.from),
        Event::EnvelopeDelivered(body) => of(&body.to),
        Event::EnvelopeRedelivered(body) => of(&body.to),
        Event::PortRightCreated(body) => of(&body.holder),
        Event::PortRightRevoked(body) => of(&body.holder),
        Event::PortRightConsumed(body) => of(&body.holder),
        Event::PortRightTransferred(body) => of(&body.to_holder),
        Event::CheckpointCreated(body) => of(&body.workspace),
        Event::CheckpointRejected(body) => of(&body.workspace),
        Event::IntegrationStarted(body) => of(&body.target),
        Event::IntegrationCompleted(body) => of(&body.target),
        Event::IntegrationAborted(body) => of(&body.target),
        Event::TaskCreated(body) => of_graph(&body.graph_id),
        Event::TaskApproved(body) => of_task(&body.task_id),
        Event::TaskAssigned(body) => of_task(&body.task_id),
        Event::TaskStatusChanged(body) => of_task(&body.task_id),
        Event::TaskCompleted(body) => of_task(&body.task_id),
        Event::TaskFailed(body) => of_task(&body.task_id),
        _ => Home::Anywhere,
    }
}
