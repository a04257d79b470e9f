//! Events: the closed set of things that can have happened.
//!
//! An event becomes an entry of the trail when it is stamped and chained. Fields of a body are
//! declared in alphabetical order, because what serde writes is then already the canonical
//! form; a test holds every kind to that. The table sorts the kinds into rooms, and every dispatch
//! over events matches the rooms and then the kinds of one room, without a catch-all arm.

mod blobs;

use serde::{Deserialize, Serialize};

use crate::commons::{capsule, decision, dispute, fact, ledger, message, symbol};
use crate::content::Blob;
use crate::envelope::{self, deliver, inbox};
use crate::highway::{self, escalation, gate, inject, resolve};
use crate::id::{EntryId, Key, ProjectId, WorkspaceId};
use crate::integration::{self, conflict};
use crate::memory as remembered;
use crate::name::AgentName;
use crate::principal::Actor;
use crate::task::{follow, graph, orders};
use crate::time::Timestamp;
use crate::user::{self, standing};
use crate::workspace::{
    budget, change, create, enforce, grant, group, liveness, memory, meter, migrate, priority,
    reparent, suspend, terminate, transfer,
};
use crate::{
    access, adoption, agent, archive, authentication, capability, checkpoint, lease, project,
    recovery, refusal, right, run, runtime, session, signal, violation,
};

macro_rules! events {
    ($(
        #[doc = $doc:literal]
        $room:ident $events:ident { $( $variant:ident $kind:literal => $body:ty; )* }
    )*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event {
            $($( #[doc = concat!("`", $kind, "`")] $variant($body), )*)*
        }

        /// A room of the kernel, and the events it handles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Room {
            $( #[doc = $doc] $room, )*
        }

        /// An event, by the room of the kernel that handles it.
        #[derive(Clone, Copy, Debug)]
        pub enum EventRoom<'a> {
            $( #[doc = $doc] $room($events<'a>), )*
        }

        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug)]
            pub enum $events<'a> {
                $( #[doc = concat!("`", $kind, "`")] $variant(&'a $body), )*
            }
        )*

        /// The name of a kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Kind {
            $($( #[doc = concat!("`", $kind, "`")] #[serde(rename = $kind)] $variant, )*)*
        }

        impl Kind {
            /// All kinds, in the order of the registry.
            pub const ALL: &'static [Kind] = &[$($(Kind::$variant,)*)*];

            /// The name as it stands in the trail.
            pub fn as_str(self) -> &'static str {
                match self { $($(Kind::$variant => $kind,)*)* }
            }

            /// The room that handles events of this kind.
            pub fn room(self) -> Room {
                match self { $($(Kind::$variant => Room::$room,)*)* }
            }

            fn named(text: &str) -> Option<Self> {
                match text { $($($kind => Some(Kind::$variant),)*)* _ => None }
            }
        }

        impl Event {
            /// Which kind it is.
            pub fn kind(&self) -> Kind {
                match self { $($(Event::$variant(_) => Kind::$variant,)*)* }
            }

            /// The event as one of its room's.
            pub fn room(&self) -> EventRoom<'_> {
                match self {
                    $($( Event::$variant(body) => EventRoom::$room($events::$variant(body)), )*)*
                }
            }

            /// Reads the body of an event of a known kind.
            pub fn read(kind: Kind, body: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $($(Kind::$variant => Event::$variant(serde_json::from_str(body)?),)*)*
                })
            }

            /// Writes the body.
            pub fn serialize_body<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $($(Event::$variant(body) => body.serialize(serializer),)*)* }
            }
        }
    };
}

// Each kind stands in the room that handles it, so a kind that a room forgets does not compile.
// Names with a dot are Althing's own, for what the protocol does not have; the other 72 are the
// protocol's registry.
events! {
    #[doc = "The project, its runtime, and the trail itself."]
    Admin AdminEvent {
        ProjectCreated "project.created" => project::Created;
        RuntimeRekeyed "runtime.rekeyed" => runtime::Rekeyed;
        RuntimeRestored "runtime.restored" => runtime::Restored;
        RulesAdopted "rules.adopted" => adoption::Adopted;
        CommandRefused "command.refused" => refusal::Refused;
        TrailPruned "trail.pruned" => archive::Pruned;
        SystemDegraded "system_degraded" => runtime::Degraded;
        RecoveryCompleted "recovery_completed" => recovery::RecoveryCompleted;
        IntegrityViolation "integrity_violation" => violation::IntegrityViolation;
        TrailCompacted "trail_compacted" => archive::Compacted;
        TrailAccessDenied "trail_access_denied" => access::AccessDenied;
        TrailSnapshotCreated "trail_snapshot_created" => archive::SnapshotCreated;
    }
    #[doc = "Agents, their sessions, and whether somebody is who they say."]
    Agent AgentEvent {
        AgentRegistered "agent.registered" => agent::Registered;
        AgentDescribed "agent.described" => agent::Described;
        AgentHeartbeat "agent.heartbeat" => agent::Beaten;
        AgentRevoked "agent.revoked" => agent::OfAgent;
        AgentReinstated "agent.reinstated" => agent::OfAgent;
        SessionOpened "session.opened" => session::Opened;
        SessionClosed "session.closed" => session::Closed;
        AuthenticationSucceeded "authentication_succeeded" => authentication::Succeeded;
        AuthenticationFailed "authentication_failed" => refusal::AuthenticationFailed;
    }
    #[doc = "People and their capabilities."]
    User UserEvent {
        UserCreated "user_created" => user::Created;
        UserSuspended "user_suspended" => standing::Suspended;
        UserResumed "user_resumed" => standing::Resumed;
        UserBlocked "user_blocked" => standing::Blocked;
        UserUnblocked "user_unblocked" => standing::Unblocked;
        UserDeactivated "user_deactivated" => standing::Deactivated;
        UserReactivated "user_reactivated" => standing::Reactivated;
        CapabilityGranted "capability_granted" => user::grant::Granted;
        CapabilityRevoked "capability_revoked" => user::grant::Revoked;
        CapabilityDenied "capability_denied" => capability::Denied;
    }
    #[doc = "Leases on surfaces."]
    Lease LeaseEvent {
        LeaseOpened "lease.opened" => lease::Opened;
        LeaseRenewed "lease.renewed" => lease::Renewed;
        LeaseReleased "lease.released" => lease::Released;
        LeaseExpired "lease.expired" => lease::Expired;
        LeaseForced "lease.forced" => lease::Forced;
    }
    #[doc = "The blackboard that everybody shares."]
    Commons CommonsEvent {
        SymbolSet "symbol.set" => symbol::Set;
        FactSet "fact.set" => fact::Set;
        FactDeleted "fact.deleted" => fact::Delete;
        CapsuleWritten "capsule.written" => capsule::Write;
        DecisionAppended "decision.appended" => decision::Appended;
        DisputeRaised "dispute.raised" => dispute::Raise;
        LedgerLogged "ledger.logged" => ledger::Log;
        LedgerBaselined "ledger.baselined" => ledger::Baseline;
        MessageNoted "message.noted" => message::Note;
    }
    #[doc = "Records of the memory."]
    Memory MemoryEvent {
        MemoryCreated "memory.created" => Box<remembered::create::Created>;
        MemoryUpdated "memory.updated" => Box<remembered::update::Updated>;
        MemoryMoved "memory.moved" => Box<remembered::moving::Moved>;
        MemoryStepped "memory.stepped" => Box<remembered::step::Stepped>;
        MemoryHeard "memory.heard" => Box<remembered::assign::Heard>;
        MemorySwept "memory.swept" => Box<remembered::sweep::SweptAll>;
        MemoryArchived "memory.archived" => Box<remembered::archive::Archived>;
        MemoryTurned "memory.turned" => Box<remembered::round::Turned>;
        MemoryOffered "memory.offered" => Box<remembered::offer::Offered>;
        MemoryLooped "memory.looped" => Box<remembered::loops::Looped>;
        MemoryExpired "memory.expired" => remembered::archive::Expired;
    }
    #[doc = "Runs and their workspaces."]
    Workspace WorkspaceEvent {
        RunHandedOver "run.handed_over" => run::HandedOver;
        RunStopped "run.stopped" => run::Stopped;
        WorkspaceWritten "workspace.written" => memory::Written;
        MeterReported "meter.reported" => meter::Reported;
        WorkspaceCreated "workspace_created" => create::Created;
        WorkspaceStateChanged "workspace_state_changed" => change::StateChanged;
        WorkspaceRejected "workspace_rejected" => create::Rejected;
        BudgetWarning "budget_warning" => enforce::BudgetWarning;
        BudgetExceeded "budget_exceeded" => enforce::BudgetExceeded;
        BudgetModified "budget_modified" => budget::BudgetModified;
        LivenessWarning "liveness_warning" => liveness::LivenessWarning;
        PriorityChanged "priority_changed" => priority::PriorityChanged;
        VisibilityGranted "visibility_granted" => grant::VisibilityGranted;
        BatchAbort "batch_abort" => group::BatchAbort;
        BatchPriorityChanged "batch_priority_changed" => group::BatchPriorityChanged;
        MigrationStarted "migration_started" => migrate::MigrationStarted;
        MigrationCompleted "migration_completed" => migrate::MigrationCompleted;
        MigrationFailed "migration_failed" => migrate::MigrationFailed;
        SuspensionStarted "suspension_started" => suspend::SuspensionStarted;
        SuspensionResumed "suspension_resumed" => suspend::SuspensionResumed;
        GracefulTerminationInitiated "graceful_termination_initiated" => terminate::Initiated;
        GracefulTerminationExpired "graceful_termination_expired" => terminate::Expired;
        OwnershipTransferred "workspace_ownership_transferred" => transfer::Transferred;
        WorkspaceReparented "workspace_reparented" => reparent::Reparented;
        ResourceDiscrepancy "resource_discrepancy" => meter::ResourceDiscrepancy;
    }
    #[doc = "Signals, envelopes, inboxes and port rights."]
    Message MessageEvent {
        EnvelopeAttempted "envelope.attempted" => deliver::Attempted;
        InboxTaken "inbox.taken" => inbox::Taken;
        SignalEmitted "signal_emitted" => signal::Emitted;
        SignalDelivered "signal_delivered" => signal::Delivered;
        EnvelopeCreated "envelope_created" => envelope::Created;
        EnvelopeDelivered "envelope_delivered" => deliver::Delivered;
        EnvelopeRejected "envelope_rejected" => envelope::Rejected;
        EnvelopeUndeliverable "envelope_undeliverable" => deliver::Undeliverable;
        EnvelopeRedelivered "envelope_redelivered" => deliver::Redelivered;
        PortRightCreated "port_right_created" => right::Created;
        PortRightTransferred "port_right_transferred" => right::Transferred;
        PortRightRevoked "port_right_revoked" => right::Revoked;
        PortRightConsumed "port_right_consumed" => right::Consumed;
    }
    #[doc = "Checkpoints, tasks and their integration."]
    Plan PlanEvent {
        CheckpointCreated "checkpoint_created" => checkpoint::Created;
        CheckpointRejected "checkpoint_rejected" => checkpoint::Rejected;
        GraphCreated "graph_created" => graph::GraphCreated;
        TaskCreated "task_created" => graph::Created;
        TaskApproved "task_approved" => orders::Approved;
        TaskAssigned "task_assigned" => follow::Assigned;
        TaskStatusChanged "task_status_changed" => follow::StatusChanged;
        TaskCompleted "task_completed" => follow::Completed;
        TaskFailed "task_failed" => follow::Failed;
        IntegrationStarted "integration_started" => integration::Started;
        IntegrationCompleted "integration_completed" => integration::Completed;
        IntegrationAborted "integration_aborted" => integration::Aborted;
        ConflictDetected "conflict_detected" => conflict::Detected;
        ConflictResolved "conflict_resolved" => conflict::Resolved;
    }
    #[doc = "Gates, escalations and what people inject."]
    Highway HighwayEvent {
        HighwayConfigured "highway.configured" => highway::Configured;
        GateTriggered "gate_triggered" => gate::Triggered;
        GateResolved "gate_resolved" => resolve::Resolved;
        GateTimeout "gate_timeout" => gate::TimedOut;
        GateReentryBlocked "gate_reentry_blocked" => gate::ReentryBlocked;
        HumanInjection "human_injection" => inject::Injection;
        EscalationReceived "escalation_received" => escalation::Received;
        EscalationResolved "escalation_resolved" => escalation::Resolved;
        EscalationTimeout "escalation_timeout" => escalation::TimedOut;
    }
}

impl Event {
    /// The content it cites, which must be there for it to make sense.
    pub fn blobs(&self) -> Vec<&Blob> {
        match self.room() {
            // Nothing in these rooms is too large to stand in its entry.
            EventRoom::Admin(_)
            | EventRoom::Agent(_)
            | EventRoom::User(_)
            | EventRoom::Lease(_)
            | EventRoom::Commons(_)
            | EventRoom::Memory(_) => Vec::new(),
            EventRoom::Workspace(event) => event.blobs(),
            EventRoom::Message(event) => event.blobs(),
            EventRoom::Plan(event) => event.blobs(),
            EventRoom::Highway(event) => event.blobs(),
        }
    }
}

impl Kind {
    /// Whether it is one of the protocol's registry, and not of Althing's own.
    pub fn is_of_protocol(self) -> bool {
        !self.as_str().contains('.')
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind that is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of entry")]
pub struct UnknownKind(pub String);

impl std::str::FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Kind::named(text).ok_or_else(|| UnknownKind(text.chars().take(80).collect()))
    }
}

/// The stream an entry belongs to: the running thing it is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(Key);

impl Stream {
    fn named(name: &str) -> Self {
        Stream(Key::new(name.into()))
    }

    /// The stream of the project itself.
    pub fn project(project: &ProjectId) -> Self {
        Stream::named(&format!("project:{project}"))
    }

    /// The stream of an agent.
    pub fn agent(agent: &AgentName) -> Self {
        Stream::named(&format!("agent:{agent}"))
    }

    /// The stream of a workspace.
    pub fn workspace(workspace: &WorkspaceId) -> Self {
        Stream::named(&format!("workspace:{workspace}"))
    }

    /// The name of the stream.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({})", self.as_str())
    }
}

impl Serialize for Stream {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The longest name of a stream, in bytes.
const STREAM_BYTES_MAX: usize = 128;

/// Text that does not name a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream is named `kind:id` in at most {STREAM_BYTES_MAX} plain characters")]
pub struct StreamError;

impl std::str::FromStr for Stream {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let plain =
            text.len() <= STREAM_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        if plain && text.contains(':') { Ok(Stream::named(text)) } else { Err(StreamError) }
    }
}

impl<'de> Deserialize<'de> for Stream {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::de::from_str(deserializer, "a stream", str::parse)
    }
}

/// An event with everything the kernel knows about it, before it is stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Who caused it.
    pub actor: Actor,
    /// The workspace whose local trail it belongs to; none for what concerns the whole project.
    pub workspace: Option<WorkspaceId>,
    /// The stream it belongs to.
    pub stream: Stream,
    /// The entry that began the story this one belongs to, if another did.
    pub correlation: Option<EntryId>,
    /// The entry that directly led to this one, if an entry did.
    pub causation: Option<EntryId>,
    /// What happened.
    pub event: Event,
}

/// An event with its place in time: what [`crate::State::apply`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The id of the entry.
    pub id: EntryId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, and around what.
    pub draft: Draft,
}
