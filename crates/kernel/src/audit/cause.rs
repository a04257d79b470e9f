//! Where an entry of the runtime's comes from.
//!
//! A command leaves one entry in its caller's name, and what follows from it names that entry as
//! its cause. So an entry of the runtime's is either due by the clock, or follows from the story
//! that the entry before it belongs to, and then from one of a kind that can lead to it.

use crate::audit::Breach;
use crate::machine::cause::CausalRoot;
use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::resolve::Resolver;
use crate::model::runs::envelope::RejectReason;
use crate::model::runs::integration::conflict::End;
use crate::model::runs::signal::SignalType;
use crate::model::runs::task::Status as TaskStatus;
use crate::model::runs::task::follow::StatusChanged;
use crate::model::runs::task::orders::{ApprovalSource, Approved};
use crate::model::runs::workspace::change::StateChanged;
use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::protocol::event::{
    AdminEvent, CommonsEvent, Event, EventRoom, HighwayEvent, MemoryEvent, MessageEvent, PlanEvent,
    Stamped, UserEvent, WorkspaceEvent,
};
use crate::registry::kind::Kind;
use crate::rules::runs::right;
use crate::rules::runs::workspace::initiator;
use crate::values::id::WorkspaceId;
use crate::values::name::UserId;
use crate::values::principal::{Actor, Principal};

/// What `apply` remembers of an entry that follows from no other.
pub(crate) fn remember(state: &mut State, entry: &Stamped) {
    if entry.draft.causation.is_none() {
        let (id, actor) = (entry.id.clone(), entry.draft.actor.clone());
        if !matches!(entry.draft.event, Event::GateResolved(_) | Event::GateReentryBlocked(_)) {
            state.released = None;
        }
        state.story = Some(CausalRoot { id, actor, kind: entry.draft.event.kind() });
    }
}

fn tale(holds: bool, noun: &'static str) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach::Tale(noun)) }
}

/// Whether an entry of the runtime's can stand where it stands.
pub(crate) fn check(state: &State, entry: &Stamped) -> Result<(), Breach> {
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
    match event.room() {
        EventRoom::Agent(_)
        | EventRoom::User(_)
        | EventRoom::Lease(_)
        | EventRoom::Commons(_)
        | EventRoom::Plan(_) => false,
        EventRoom::Admin(event) => notes_itself(event),
        EventRoom::Memory(event) => matches!(event, MemoryEvent::MemoryExpired(_)),
        EventRoom::Workspace(event) => comes_by_itself(state, event),
        EventRoom::Message(event) => is_carried(event),
        EventRoom::Highway(event) => {
            matches!(event, HighwayEvent::GateTimeout(_) | HighwayEvent::EscalationTimeout(_))
        }
    }
}

fn notes_itself(event: AdminEvent<'_>) -> bool {
    match event {
        AdminEvent::IntegrityViolation(_)
        | AdminEvent::TrailAccessDenied(_)
        | AdminEvent::TrailCompacted(_)
        | AdminEvent::TrailPruned(_)
        | AdminEvent::TrailSnapshotCreated(_)
        | AdminEvent::SystemDegraded(_)
        | AdminEvent::RulesAdopted(_)
        | AdminEvent::RecoveryCompleted(_) => true,
        AdminEvent::ProjectCreated(_)
        | AdminEvent::RuntimeRekeyed(_)
        | AdminEvent::RuntimeRestored(_)
        | AdminEvent::CommandRefused(_) => false,
    }
}

fn comes_by_itself(state: &State, event: WorkspaceEvent<'_>) -> bool {
    use WorkspaceEvent as E;
    match event {
        E::WorkspaceStateChanged(body) => match body.trigger {
            Trigger::Timeout | Trigger::ConflictTimeout | Trigger::MigrationError => true,
            trigger => is_owed(state, &body.workspace_id, trigger),
        },
        E::GracefulTerminationExpired(_)
        | E::BudgetWarning(_)
        | E::BudgetExceeded(_)
        | E::LivenessWarning(_) => true,
        E::RunHandedOver(_)
        | E::RunStopped(_)
        | E::WorkspaceWritten(_)
        | E::MeterReported(_)
        | E::WorkspaceCreated(_)
        | E::WorkspaceRejected(_)
        | E::BudgetModified(_)
        | E::PriorityChanged(_)
        | E::VisibilityGranted(_)
        | E::BatchAbort(_)
        | E::BatchPriorityChanged(_)
        | E::MigrationStarted(_)
        | E::MigrationCompleted(_)
        | E::MigrationFailed(_)
        | E::SuspensionStarted(_)
        | E::SuspensionResumed(_)
        | E::GracefulTerminationInitiated(_)
        | E::OwnershipTransferred(_)
        | E::WorkspaceReparented(_)
        | E::ResourceDiscrepancy(_) => false,
    }
}

fn is_carried(event: MessageEvent<'_>) -> bool {
    use MessageEvent as E;
    match event {
        E::EnvelopeDelivered(_)
        | E::EnvelopeRedelivered(_)
        | E::EnvelopeAttempted(_)
        | E::EnvelopeUndeliverable(_)
        | E::SignalDelivered(_) => true,
        E::EnvelopeRejected(body) => body.reason == RejectReason::IntegrityViolation,
        E::InboxTaken(_)
        | E::SignalEmitted(_)
        | E::EnvelopeCreated(_)
        | E::PortRightCreated(_)
        | E::PortRightTransferred(_)
        | E::PortRightRevoked(_)
        | E::PortRightConsumed(_) => false,
    }
}

/// An order that waited at a gate and is being carried out: whoever gave it, and what it would
/// have left if it had not waited.
fn order(state: &State, story: &CausalRoot) -> Option<CausalRoot> {
    let closed = state.closed_gates.get(state.released.as_ref()?)?;
    let kind = match closed.gate.request.as_ref()? {
        Request::Abort(_) => Kind::WorkspaceStateChanged,
        Request::Create(_) => Kind::WorkspaceCreated,
        Request::Integrate(_) | Request::Salvage(_) => Kind::IntegrationStarted,
        Request::Resolve(_) => Kind::ConflictResolved,
    };
    Some(CausalRoot { id: story.id.clone(), actor: closed.gate.asked_by.clone(), kind })
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
    story: &'a CausalRoot,
    released: bool,
}

impl Cause<'_> {
    fn from(&self, kinds: &[Kind]) -> Result<(), Breach> {
        tale(kinds.contains(&self.story.kind), "cause")
    }

    /// Whether an agent or the coordinator began it, or the runtime itself.
    fn is_of_work(&self) -> Result<(), Breach> {
        let known = match &self.story.actor {
            Actor::Principal(Principal::Agent(_)) | Actor::Protocol => true,
            Actor::Principal(who) => is_coordinator(self.state, who),
        };
        tale(known, "cause")
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

fn leads_to(state: &State, story: &CausalRoot, event: &Event) -> Result<(), Breach> {
    let order = order(state, story);
    let same = order.as_ref().is_some_and(|order| order.kind == event.kind());
    let released = same && is_about(state, event);
    let cause = Cause { state, story: order.as_ref().unwrap_or(story), released };
    match event.room() {
        EventRoom::Admin(event) => to_notes(&cause, event),
        EventRoom::User(event) => to_users(&cause, event),
        EventRoom::Commons(event) => to_commons(&cause, event),
        EventRoom::Workspace(event) => to_work(&cause, event),
        EventRoom::Message(event) => to_messages(&cause, event),
        EventRoom::Plan(event) => to_plans(&cause, event),
        EventRoom::Highway(event) => to_people(&cause, event),
        // Their causes are asked for where they are audited.
        EventRoom::Agent(_) | EventRoom::Lease(_) | EventRoom::Memory(_) => cause.is_of_work(),
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

/// What becomes of tasks, checkpoints and merges.
fn to_plans(cause: &Cause<'_>, event: PlanEvent<'_>) -> Result<(), Breach> {
    use Kind as K;
    use PlanEvent as E;
    match event {
        E::TaskApproved(body) => to_approval(cause, body),
        E::TaskCreated(_) => cause.from(&[K::GraphCreated]),
        E::TaskAssigned(_) => cause.from(&[K::WorkspaceCreated]),
        E::TaskCompleted(_) => cause.from(&[K::SignalEmitted, K::WorkspaceStateChanged]),
        E::TaskStatusChanged(body) => to_status(cause, body),
        E::IntegrationStarted(_) => tale(cause.released, "cause"),
        E::ConflictDetected(_) => cause.from(&[K::IntegrationStarted]),
        E::ConflictResolved(body) => {
            tale(cause.released || body.outcome == End::Failed, "conflict")
        }
        E::IntegrationCompleted(_) => cause.from(&[K::IntegrationStarted, K::ConflictResolved]),
        E::CheckpointCreated(_)
        | E::CheckpointRejected(_)
        | E::GraphCreated(_)
        | E::TaskFailed(_)
        | E::IntegrationAborted(_) => cause.is_of_work(),
    }
}

fn to_approval(cause: &Cause<'_>, body: &Approved) -> Result<(), Breach> {
    use Kind as K;
    cause.from(&[K::TaskApproved, K::GateResolved, K::GateTimeout, K::GateReentryBlocked])?;
    let source = body.approval_source;
    let timely = (source == ApprovalSource::Timeout) == (cause.story.kind == K::GateTimeout);
    let person = (source == ApprovalSource::Human) == cause.is_by_person();
    tale(timely && person, "approval")
}

fn to_status(cause: &Cause<'_>, body: &StatusChanged) -> Result<(), Breach> {
    use Kind as K;
    // An attempt ends with its workspace, whatever ended that.
    if body.to_status == TaskStatus::Failed {
        let at = body.workspace_id.as_ref().and_then(|id| cause.state.workspaces.get(id));
        return tale(at.is_some_and(|at| at.status == Status::Failed), "task");
    }
    cause.from(&[
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
    ])
}

/// What people are asked and say.
fn to_people(cause: &Cause<'_>, event: HighwayEvent<'_>) -> Result<(), Breach> {
    use HighwayEvent as E;
    use Kind as K;
    match event {
        E::GateTriggered(_) => {
            cause.from(&[K::GraphCreated, K::TaskCreated, K::EnvelopeCreated, K::HighwayConfigured])
        }
        E::GateResolved(body) => match &body.actor {
            Resolver::Fallback => cause.from(&[K::GateTimeout]),
            Resolver::Protocol => Ok(()),
            // Who approves several plans in one go answers at several gates.
            Resolver::User(user) => {
                cause.from(&[K::GateResolved, K::TaskApproved])?;
                cause.is_by(user)
            }
        },
        E::EscalationResolved(body) => match &body.actor {
            Resolver::Fallback => cause.from(&[K::EscalationTimeout]),
            Resolver::Protocol => Ok(()),
            Resolver::User(user) => {
                cause.from(&[K::EnvelopeCreated, K::WorkspaceStateChanged])?;
                cause.is_by(user)
            }
        },
        E::HumanInjection(_) => cause.from(&[K::EnvelopeCreated]),
        E::EscalationReceived(_) => cause.from(&[K::SignalEmitted]),
        E::HighwayConfigured(_)
        | E::GateTimeout(_)
        | E::GateReentryBlocked(_)
        | E::EscalationTimeout(_) => cause.is_of_work(),
    }
}

fn to_users(cause: &Cause<'_>, event: UserEvent<'_>) -> Result<(), Breach> {
    use Kind as K;
    match event {
        UserEvent::CapabilityGranted(_) => cause.from(&[K::UserCreated]),
        // Somebody is not asked: because too much waits, or because they are gone or leave.
        UserEvent::CapabilityDenied(_) => cause.from(&[K::SignalEmitted, K::UserDeactivated]),
        UserEvent::UserCreated(_)
        | UserEvent::UserSuspended(_)
        | UserEvent::UserResumed(_)
        | UserEvent::UserBlocked(_)
        | UserEvent::UserUnblocked(_)
        | UserEvent::UserDeactivated(_)
        | UserEvent::UserReactivated(_)
        | UserEvent::CapabilityRevoked(_) => cause.is_of_work(),
    }
}

fn to_commons(cause: &Cause<'_>, event: CommonsEvent<'_>) -> Result<(), Breach> {
    match event {
        CommonsEvent::DecisionAppended(_) => cause.from(&[Kind::DisputeRaised]),
        CommonsEvent::SymbolSet(_)
        | CommonsEvent::FactSet(_)
        | CommonsEvent::FactDeleted(_)
        | CommonsEvent::CapsuleWritten(_)
        | CommonsEvent::DisputeRaised(_)
        | CommonsEvent::LedgerLogged(_)
        | CommonsEvent::LedgerBaselined(_)
        | CommonsEvent::MessageNoted(_) => tale(false, "cause"),
    }
}

fn to_notes(cause: &Cause<'_>, event: AdminEvent<'_>) -> Result<(), Breach> {
    match event {
        AdminEvent::TrailCompacted(_) => cause.from(&[Kind::TrailCompacted]),
        AdminEvent::TrailPruned(_)
        | AdminEvent::TrailSnapshotCreated(_)
        | AdminEvent::RulesAdopted(_) => tale(false, "cause"),
        AdminEvent::ProjectCreated(_)
        | AdminEvent::RuntimeRekeyed(_)
        | AdminEvent::RuntimeRestored(_)
        | AdminEvent::CommandRefused(_)
        | AdminEvent::SystemDegraded(_)
        | AdminEvent::RecoveryCompleted(_)
        | AdminEvent::IntegrityViolation(_)
        | AdminEvent::TrailAccessDenied(_) => cause.is_of_work(),
    }
}

fn to_work(cause: &Cause<'_>, event: WorkspaceEvent<'_>) -> Result<(), Breach> {
    use Kind as K;
    use WorkspaceEvent as E;
    match event {
        E::WorkspaceStateChanged(body) => to_step(cause, body),
        // It comes by the clock and follows from nothing.
        E::GracefulTerminationExpired(_) => tale(false, "cause"),
        E::WorkspaceCreated(_) => tale(cause.released, "cause"),
        E::SuspensionStarted(_) => cause.from(&[K::WorkspaceStateChanged]),
        E::BudgetModified(_) => cause.from(&[K::BudgetModified]),
        E::PriorityChanged(_) => cause.from(&[K::BatchPriorityChanged]),
        E::ResourceDiscrepancy(_) => cause.from(&[K::CheckpointCreated]),
        E::RunHandedOver(_)
        | E::RunStopped(_)
        | E::WorkspaceWritten(_)
        | E::MeterReported(_)
        | E::WorkspaceRejected(_)
        | E::BudgetWarning(_)
        | E::BudgetExceeded(_)
        | E::LivenessWarning(_)
        | E::VisibilityGranted(_)
        | E::BatchAbort(_)
        | E::BatchPriorityChanged(_)
        | E::MigrationStarted(_)
        | E::MigrationCompleted(_)
        | E::MigrationFailed(_)
        | E::SuspensionResumed(_)
        | E::GracefulTerminationInitiated(_)
        | E::OwnershipTransferred(_)
        | E::WorkspaceReparented(_) => cause.is_of_work(),
    }
}

fn to_messages(cause: &Cause<'_>, event: MessageEvent<'_>) -> Result<(), Breach> {
    use Kind as K;
    use MessageEvent as E;
    match event {
        E::EnvelopeRejected(body) if body.reason == RejectReason::GateRejectedByHuman => {
            cause.from(&[K::GateResolved, K::GateTimeout])
        }
        E::EnvelopeCreated(_) => cause.from(&[
            K::WorkspaceCreated,
            K::GracefulTerminationInitiated,
            K::EscalationTimeout,
        ]),
        E::PortRightCreated(body) => to_right(cause, body),
        E::EnvelopeRejected(_)
        | E::EnvelopeAttempted(_)
        | E::InboxTaken(_)
        | E::SignalEmitted(_)
        | E::SignalDelivered(_)
        | E::EnvelopeDelivered(_)
        | E::EnvelopeUndeliverable(_)
        | E::EnvelopeRedelivered(_)
        | E::PortRightTransferred(_)
        | E::PortRightRevoked(_)
        | E::PortRightConsumed(_) => cause.is_of_work(),
    }
}

fn to_right(cause: &Cause<'_>, body: &right::Created) -> Result<(), Breach> {
    use Kind as K;
    // Whoever loses the workspace above is given rights to the root, whatever led to that.
    if [Some(&body.holder), Some(&body.target)].contains(&cause.state.root.as_ref()) {
        return Ok(());
    }
    cause.from(&[
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
    ])
}
