//! Where an entry of the runtime's comes from, and in which local trail it belongs.
//!
//! A command leaves one entry in its caller's name, and what follows from it names that entry as
//! its cause. So an entry of the runtime's is either due by the clock, or follows from the story
//! that the entry before it belongs to, and then from one of a kind that can lead to it.

use serde::{Deserialize, Serialize};

use super::Breach;
use crate::envelope::RejectReason;
use crate::event::{Event, Kind, Stamped};
use crate::highway::request::Request;
use crate::highway::resolve::Resolver;
use crate::id::{EntryId, GateId, WorkspaceId};
use crate::integration::conflict::End;
use crate::name::UserId;
use crate::principal::{Actor, Principal};
use crate::signal::SignalType;
use crate::state::State;
use crate::task::Status as TaskStatus;
use crate::task::orders::ApprovalSource;
use crate::workspace::change::StateChanged;
use crate::workspace::{Initiator, Status, Trigger, initiator, is_coordinator};

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
        if !matches!(entry.draft.event, Event::GateResolved(_) | Event::GateReentryBlocked(_)) {
            state.released = None;
        }
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
        Event::MemoryExpired(_)
        | Event::GateTimeout(_)
        | Event::EscalationTimeout(_)
        | Event::GracefulTerminationExpired(_)
        | Event::BudgetWarning(_)
        | Event::BudgetExceeded(_)
        | Event::LivenessWarning(_)
        | Event::EnvelopeDelivered(_)
        | Event::EnvelopeRedelivered(_)
        | Event::EnvelopeAttempted(_)
        | Event::EnvelopeUndeliverable(_)
        | Event::SignalDelivered(_)
        | Event::IntegrityViolation(_)
        | Event::TrailAccessDenied(_)
        | Event::TrailCompacted(_)
        | Event::TrailPruned(_)
        | Event::TrailSnapshotCreated(_) => true,
        Event::EnvelopeRejected(body) => body.reason == RejectReason::IntegrityViolation,
        _ => false,
    }
}

/// An order that waited at a gate and is being carried out: whoever gave it, and what it would
/// have left if it had not waited.
fn order(state: &State, story: &Story) -> Option<Story> {
    let closed = state.closed_gates.get(state.released.as_ref()?)?;
    let kind = match closed.gate.request.as_ref()? {
        Request::Abort(_) => Kind::WorkspaceStateChanged,
        Request::Create(_) => Kind::WorkspaceCreated,
        Request::Integrate(_) | Request::Salvage(_) => Kind::IntegrationStarted,
        Request::Resolve(_) => Kind::ConflictResolved,
    };
    Some(Story { id: story.id.clone(), actor: closed.gate.asked_by.clone(), kind })
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

/// What an entry of the runtime's follows from, and whether it is the order itself that a gate let
/// through.
struct Cause<'a> {
    state: &'a State,
    story: &'a Story,
    released: bool,
}

impl Cause<'_> {
    fn from(&self, kinds: &[Kind]) -> Result<(), Breach> {
        tale(kinds.contains(&self.story.kind), "cause")
    }

    fn is_by_person(&self) -> bool {
        matches!(&self.story.actor, Actor::Principal(Principal::User(_)))
    }

    fn is_by(&self, user: &UserId) -> Result<(), Breach> {
        let own = Actor::Principal(Principal::User(user.clone()));
        tale(self.story.actor == own, "answer")
    }
}

/// Whether an entry is about what a gate let through.
fn is_about(state: &State, event: &Event) -> bool {
    let closed = state.released.as_ref().and_then(|id| state.closed_gates.get(id));
    let Some(closed) = closed else { return false };
    let about = match event {
        Event::WorkspaceStateChanged(body) => &body.workspace_id,
        Event::IntegrationStarted(body) => &body.source,
        Event::ConflictResolved(body) => &body.workspace_id,
        Event::WorkspaceCreated(body) => {
            return closed.gate.subject.as_str() == body.workspace_id.as_str();
        }
        _ => return false,
    };
    closed.gate.workspace.as_ref() == Some(about)
}

fn leads_to(state: &State, story: &Story, event: &Event) -> Result<(), Breach> {
    let order = order(state, story);
    let same = order.as_ref().is_some_and(|order| order.kind == event.kind());
    let released = same && is_about(state, event);
    let cause = Cause { state, story: order.as_ref().unwrap_or(story), released };
    match event {
        Event::WorkspaceStateChanged(body) => to_step(&cause, body),
        Event::TaskApproved(_)
        | Event::TaskCreated(_)
        | Event::TaskAssigned(_)
        | Event::TaskCompleted(_)
        | Event::TaskStatusChanged(_) => to_plans(&cause, event),
        Event::GateTriggered(_)
        | Event::GateResolved(_)
        | Event::EscalationReceived(_)
        | Event::CapabilityDenied(_)
        | Event::EscalationResolved(_)
        | Event::HumanInjection(_) => to_people(&cause, event),
        _ => to_the_rest(&cause, event),
    }
}

/// A step of a workspace.
fn to_step(cause: &Cause<'_>, body: &StateChanged) -> Result<(), Breach> {
    use Kind as K;
    let led = || {
        let led = matches!(&cause.story.actor, Actor::Principal(who)
            if initiator(who) == body.initiator);
        tale(led, "cause")
    };
    match body.initiator {
        Initiator::Human if body.trigger == Trigger::GateRejectedByHuman => {
            cause.from(&[K::GateResolved])?;
            tale(cause.is_by_person(), "cause")
        }
        Initiator::Human | Initiator::Coordinator if cause.released => led(),
        Initiator::Agent => cause.from(&[K::SignalEmitted]),
        Initiator::Human | Initiator::Coordinator => {
            cause.from(&[
                K::MigrationStarted,
                K::IntegrationStarted,
                K::ConflictResolved,
                K::TaskStatusChanged,
                K::RunStopped,
                K::BatchAbort,
            ])?;
            led()
        }
        Initiator::Runtime if body.trigger == Trigger::GracefulTerminationExpired => {
            cause.from(&[K::GracefulTerminationExpired])
        }
        Initiator::Runtime => Ok(()),
    }
}

/// What becomes of tasks.
fn to_plans(cause: &Cause<'_>, event: &Event) -> Result<(), Breach> {
    use Kind as K;
    match event {
        Event::TaskApproved(body) => {
            cause.from(&[
                K::TaskApproved,
                K::GateResolved,
                K::GateTimeout,
                K::GateReentryBlocked,
            ])?;
            let source = body.approval_source;
            let timely =
                (source == ApprovalSource::Timeout) == (cause.story.kind == K::GateTimeout);
            let person = (source == ApprovalSource::Human) == cause.is_by_person();
            tale(timely && person, "approval")
        }
        Event::TaskCreated(_) => cause.from(&[K::GraphCreated]),
        Event::TaskAssigned(_) => cause.from(&[K::WorkspaceCreated]),
        Event::TaskCompleted(_) => cause.from(&[K::SignalEmitted, K::WorkspaceStateChanged]),
        // An attempt ends with its workspace, whatever ended that.
        Event::TaskStatusChanged(body) if body.to_status == TaskStatus::Failed => {
            let at = body.workspace_id.as_ref().and_then(|id| cause.state.workspaces.get(id));
            tale(at.is_some_and(|at| at.status == Status::Failed), "task")
        }
        _ => cause.from(&[
            K::TaskApproved,
            K::WorkspaceCreated,
            K::SignalEmitted,
            K::WorkspaceStateChanged,
            K::GracefulTerminationExpired,
            K::IntegrationStarted,
            K::ConflictResolved,
            K::TaskStatusChanged,
            K::RunStopped,
            K::GateResolved,
            K::GateTimeout,
            K::GateReentryBlocked,
            K::EscalationTimeout,
        ]),
    }
}

/// What people are asked and say.
fn to_people(cause: &Cause<'_>, event: &Event) -> Result<(), Breach> {
    use Kind as K;
    match event {
        Event::GateTriggered(_) => {
            cause.from(&[K::GraphCreated, K::TaskCreated, K::EnvelopeCreated, K::HighwayConfigured])
        }
        Event::GateResolved(body) => match &body.actor {
            Resolver::Fallback => cause.from(&[K::GateTimeout]),
            Resolver::Protocol => Ok(()),
            // Who approves several plans in one go answers at several gates.
            Resolver::User(user) => {
                cause.from(&[K::GateResolved, K::TaskApproved])?;
                cause.is_by(user)
            }
        },
        Event::EscalationResolved(body) => match &body.actor {
            Resolver::Fallback => cause.from(&[K::EscalationTimeout]),
            Resolver::Protocol => Ok(()),
            Resolver::User(user) => {
                cause.from(&[K::EnvelopeCreated, K::WorkspaceStateChanged])?;
                cause.is_by(user)
            }
        },
        Event::HumanInjection(_) => cause.from(&[K::EnvelopeCreated]),
        // Somebody is not asked: because too much waits, or because they are gone or leave.
        Event::CapabilityDenied(_) => cause.from(&[K::SignalEmitted, K::UserDeactivated]),
        _ => cause.from(&[K::SignalEmitted]),
    }
}

fn to_the_rest(cause: &Cause<'_>, event: &Event) -> Result<(), Breach> {
    use Kind as K;
    match event {
        // It comes by the clock and follows from nothing.
        Event::GracefulTerminationExpired(_) => cause.from(&[]),
        Event::EnvelopeRejected(body) if body.reason == RejectReason::GateRejectedByHuman => {
            cause.from(&[K::GateResolved, K::GateTimeout])
        }
        Event::WorkspaceCreated(_) | Event::IntegrationStarted(_) => tale(cause.released, "cause"),
        // Whoever loses the workspace above is given rights to the root, whatever led to that.
        Event::PortRightCreated(body)
            if [Some(&body.holder), Some(&body.target)].contains(&cause.state.root.as_ref()) =>
        {
            Ok(())
        }
        Event::EnvelopeCreated(_) => cause.from(&[
            K::WorkspaceCreated,
            K::GracefulTerminationInitiated,
            K::EscalationTimeout,
        ]),
        Event::PortRightCreated(_) => cause.from(&[
            K::WorkspaceCreated,
            K::WorkspaceStateChanged,
            K::WorkspaceReparented,
            K::GracefulTerminationExpired,
            K::SignalEmitted,
            K::IntegrationStarted,
            K::ConflictResolved,
            K::TaskStatusChanged,
            K::GateResolved,
            K::GateTimeout,
            K::EscalationTimeout,
            K::RunStopped,
        ]),
        Event::ConflictDetected(_) => cause.from(&[K::IntegrationStarted]),
        Event::ConflictResolved(body) => {
            tale(cause.released || body.outcome == End::Failed, "conflict")
        }
        Event::IntegrationCompleted(_) => cause.from(&[K::IntegrationStarted, K::ConflictResolved]),
        Event::SuspensionStarted(_) => cause.from(&[K::WorkspaceStateChanged]),
        Event::TrailCompacted(_) => cause.from(&[K::TrailCompacted]),
        Event::TrailPruned(_) | Event::TrailSnapshotCreated(_) => tale(false, "cause"),
        Event::CapabilityGranted(_) => cause.from(&[K::UserCreated]),
        Event::DecisionAppended(_) => cause.from(&[K::DisputeRaised]),
        Event::BudgetModified(_) => cause.from(&[K::BudgetModified]),
        Event::PriorityChanged(_) => cause.from(&[K::BatchPriorityChanged]),
        Event::ResourceDiscrepancy(_) => cause.from(&[K::CheckpointCreated]),
        _ => {
            let known = match &cause.story.actor {
                Actor::Principal(who) => {
                    matches!(who, Principal::Agent(_)) || is_coordinator(cause.state, who)
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
        Event::VisibilityGranted(body) => of(&body.workspace_id),
        Event::GracefulTerminationInitiated(body) => of(&body.workspace_id),
        Event::GracefulTerminationExpired(body) => of(&body.workspace_id),
        Event::WorkspaceWritten(body) => of(&body.workspace_id),
        Event::OwnershipTransferred(body) => of(&body.workspace_id),
        Event::MeterReported(body) => of(&body.workspace_id),
        Event::BudgetWarning(body) => of(&body.workspace_id),
        Event::BudgetExceeded(body) => of(&body.workspace_id),
        Event::BudgetModified(body) => of(&body.workspace_id),
        Event::LivenessWarning(body) => of(&body.workspace_id),
        Event::PriorityChanged(body) => of(&body.workspace_id),
        Event::ResourceDiscrepancy(body) => of(&body.workspace),
        Event::BatchAbort(_) | Event::BatchPriorityChanged(_) | Event::GateTriggered(_) => {
            Home::In(state.root.clone())
        }
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
        Event::IntegrityViolation(_) => Home::In(None),
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
        Event::HighwayConfigured(body) => of(&body.workspace_id),
        Event::HumanInjection(body) => of(&body.to),
        Event::EscalationReceived(body) => of(&body.workspace),
        Event::EscalationResolved(body) => of(&body.workspace),
        Event::EscalationTimeout(body) => of(&body.workspace),
        Event::GateResolved(body) => of_gate(state, &body.gate_id),
        Event::GateTimeout(body) => of_gate(state, &body.gate_id),
        Event::TrailCompacted(_) | Event::TrailPruned(_) | Event::TrailSnapshotCreated(_) => {
            Home::In(None)
        }
        _ => Home::Anywhere,
    }
}

fn of_gate(state: &State, id: &GateId) -> Home {
    Home::In(state.gates.get(id).and_then(|gate| gate.home(state)))
}
