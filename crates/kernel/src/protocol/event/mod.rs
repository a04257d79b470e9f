//! Events: the closed set of things that can have happened.
//!
//! An event becomes an entry of the trail when it is stamped and chained. The fields of a body are
//! declared in alphabetical order, so that what serde writes is already canonical JSON; a test
//! checks every kind for that. The table groups the kinds by the part of the kernel that handles
//! them, and every dispatch over events matches the part and then its kinds, without a catch-all
//! arm.

pub(crate) mod blobs;

use serde::Serialize;

use crate::model::admin::{adoption, archive, project, runtime};
use crate::model::identity::user::standing;
use crate::model::identity::{agent, authentication, capability, user};
use crate::model::knowledge::blackboard::{
    capsule, decision, dispute, fact, ledger, message, symbol,
};
use crate::model::knowledge::records as remembered;
use crate::model::leasing::{lease, session};
use crate::model::runs::approvals::{escalation, gate, inject, resolve};
use crate::model::runs::envelope::{deliver, inbox};
use crate::model::runs::integration::conflict;
use crate::model::runs::task::{follow, graph, orders};
use crate::model::runs::workspace::{
    branch, budget, change, create, enforce, grant, group, liveness, memory, meter, migrate,
    priority, process, reparent, suspend, terminate, transfer,
};
use crate::model::runs::{
    access, approvals, checkpoint, envelope, integration, integrity, recovery, right, run, signal,
};
use crate::protocol::refusal;
use crate::registry::kind::Kind;
use crate::values::content::Blob;
use crate::values::door::Door;
use crate::values::id::{EntryId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::stream::Stream;
use crate::values::time::Timestamp;

macro_rules! events {
    ($(
        #[doc = $doc:literal]
        $room:ident $events:ident { $( $variant:ident => $body:ty; )* }
    )*) => {
        /// An event of the trail.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event {
            $($( #[doc = concat!("An entry of [`Kind::", stringify!($variant), "`].")] $variant($body), )*)*
        }

        /// An event, by the part of the kernel that handles it.
        #[derive(Clone, Copy, Debug)]
        pub enum EventRoom<'a> {
            $( #[doc = $doc] $room($events<'a>), )*
        }

        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug)]
            pub enum $events<'a> {
                $( #[doc = concat!("An entry of [`Kind::", stringify!($variant), "`].")] $variant(&'a $body), )*
            }
        )*

        impl Event {
            /// The kind.
            pub fn kind(&self) -> Kind {
                match self { $($(Event::$variant(_) => Kind::$variant,)*)* }
            }

            /// The event, by the part of the kernel that handles it.
            pub fn room(&self) -> EventRoom<'_> {
                match self {
                    $($( Event::$variant(body) => EventRoom::$room($events::$variant(body)), )*)*
                }
            }

            /// Parses the body of an event of a known kind.
            pub fn read(kind: Kind, body: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $($(Kind::$variant => Event::$variant(serde_json::from_str(body)?),)*)*
                })
            }

            /// Serializes the body.
            pub fn serialize_body<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $($(Event::$variant(body) => body.serialize(serializer),)*)* }
            }
        }
    };
}

// Each kind is listed under the part of the kernel that handles it, so a missing handler does not
// compile. Names with a dot are Althing's own extensions; the other 72 are the protocol's registry.
events! {
    #[doc = "The project, its runtime, and the trail itself."]
    Admin AdminEvent {
        ProjectCreated => project::Created;
        RuntimeRekeyed => runtime::Rekeyed;
        RuntimeRestored => runtime::Restored;
        RulesAdopted => adoption::Adopted;
        CommandRefused => refusal::Refused;
        TrailPruned => archive::Pruned;
        SystemDegraded => runtime::Degraded;
        RecoveryCompleted => recovery::RecoveryCompleted;
        IntegrityViolation => integrity::IntegrityViolation;
        TrailCompacted => archive::Compacted;
        TrailAccessDenied => access::AccessDenied;
        TrailSnapshotCreated => archive::SnapshotCreated;
    }
    #[doc = "Agents, their sessions, and whether somebody is who they say."]
    Agent AgentEvent {
        AgentRegistered => agent::Registered;
        AgentDescribed => agent::Described;
        AgentHeartbeat => agent::Beaten;
        AgentRevoked => agent::OfAgent;
        AgentReinstated => agent::OfAgent;
        SessionOpened => session::Opened;
        SessionConnected => session::Connected;
        SessionDisconnected => session::Disconnected;
        SessionKept => session::Kept;
        SessionClosed => session::Closed;
        AuthenticationSucceeded => authentication::Succeeded;
        AuthenticationFailed => refusal::AuthenticationFailed;
    }
    #[doc = "People and their capabilities."]
    User UserEvent {
        UserCreated => user::Created;
        UserSuspended => standing::Suspended;
        UserResumed => standing::Resumed;
        UserBlocked => standing::Blocked;
        UserUnblocked => standing::Unblocked;
        UserDeactivated => standing::Deactivated;
        UserReactivated => standing::Reactivated;
        CapabilityGranted => user::grant::Granted;
        CapabilityRevoked => user::grant::Revoked;
        CapabilityDenied => capability::Denied;
    }
    #[doc = "Leases on surfaces."]
    Lease LeaseEvent {
        LeaseOpened => lease::Opened;
        LeaseRenewed => lease::Renewed;
        LeaseReleased => lease::Released;
        LeaseExpired => lease::Expired;
        LeaseForced => lease::Forced;
    }
    #[doc = "The blackboard that everybody shares."]
    Blackboard BlackboardEvent {
        SymbolSet => symbol::Set;
        FactSet => fact::Set;
        FactDeleted => fact::Delete;
        CapsuleWritten => capsule::Write;
        DecisionAppended => decision::Appended;
        DisputeRaised => dispute::Raise;
        LedgerLogged => ledger::Log;
        LedgerBaselined => ledger::Baseline;
        MessageNoted => message::Note;
    }
    #[doc = "Records of the memory."]
    Memory MemoryEvent {
        MemoryCreated => Box<remembered::create::Created>;
        MemoryUpdated => Box<remembered::update::Updated>;
        MemoryMoved => Box<remembered::transition::Moved>;
        MemoryStepped => Box<remembered::step::Stepped>;
        MemoryHeard => Box<remembered::assign::Heard>;
        MemorySwept => Box<remembered::sweep::SweptAll>;
        MemoryArchived => Box<remembered::archive::Archived>;
        MemoryTurned => Box<remembered::round::Turned>;
        MemoryOffered => Box<remembered::offer::Offered>;
        MemoryLooped => Box<remembered::loops::Looped>;
        MemoryExpired => remembered::archive::Expired;
    }
    #[doc = "Runs and their workspaces."]
    Workspace WorkspaceEvent {
        RunHandedOver => run::HandedOver;
        RunStopped => run::Stopped;
        WorkspaceWritten => memory::Written;
        WorkspaceBranched => branch::Branched;
        ProcessStarted => process::Started;
        ProcessEnded => process::Ended;
        RunHeld => run::Held;
        RunLanded => run::Landed;
        MeterReported => meter::Reported;
        WorkspaceCreated => create::Created;
        WorkspaceStateChanged => change::StateChanged;
        WorkspaceRejected => create::Rejected;
        BudgetWarning => enforce::BudgetWarning;
        BudgetExceeded => enforce::BudgetExceeded;
        BudgetModified => budget::BudgetModified;
        LivenessWarning => liveness::LivenessWarning;
        PriorityChanged => priority::PriorityChanged;
        VisibilityGranted => grant::VisibilityGranted;
        BatchAbort => group::BatchAbort;
        BatchPriorityChanged => group::BatchPriorityChanged;
        MigrationStarted => migrate::MigrationStarted;
        MigrationCompleted => migrate::MigrationCompleted;
        MigrationFailed => migrate::MigrationFailed;
        SuspensionStarted => suspend::SuspensionStarted;
        SuspensionResumed => suspend::SuspensionResumed;
        GracefulTerminationInitiated => terminate::Initiated;
        GracefulTerminationExpired => terminate::Expired;
        OwnershipTransferred => transfer::Transferred;
        WorkspaceReparented => reparent::Reparented;
        ResourceDiscrepancy => meter::ResourceDiscrepancy;
    }
    #[doc = "Signals, envelopes, inboxes and port rights."]
    Message MessageEvent {
        EnvelopeAttempted => deliver::Attempted;
        InboxTaken => inbox::Taken;
        SignalEmitted => signal::Emitted;
        SignalDelivered => signal::Delivered;
        EnvelopeCreated => envelope::Created;
        EnvelopeDelivered => deliver::Delivered;
        EnvelopeRejected => envelope::Rejected;
        EnvelopeUndeliverable => deliver::Undeliverable;
        EnvelopeRedelivered => deliver::Redelivered;
        PortRightCreated => right::Created;
        PortRightTransferred => right::Transferred;
        PortRightRevoked => right::Revoked;
        PortRightConsumed => right::Consumed;
    }
    #[doc = "Checkpoints, tasks and their integration."]
    Plan PlanEvent {
        CheckpointCreated => checkpoint::Created;
        CheckpointRejected => checkpoint::Rejected;
        GraphCreated => graph::GraphCreated;
        TaskCreated => graph::Created;
        TaskApproved => orders::Approved;
        TaskAssigned => follow::Assigned;
        TaskStatusChanged => follow::StatusChanged;
        TaskCompleted => follow::Completed;
        TaskFailed => follow::Failed;
        IntegrationStarted => integration::Started;
        IntegrationCompleted => integration::Completed;
        IntegrationAborted => integration::Aborted;
        IntegrationUndone => integration::Undone;
        ConflictDetected => conflict::Detected;
        ConflictResolved => conflict::Resolved;
    }
    #[doc = "Gates, escalations and what people inject."]
    Approval ApprovalEvent {
        HighwayConfigured => approvals::Configured;
        GateTriggered => gate::Triggered;
        GateResolved => resolve::Resolved;
        GateTimeout => gate::TimedOut;
        GateReentryBlocked => gate::ReentryBlocked;
        HumanInjection => inject::Injection;
        EscalationReceived => escalation::Received;
        EscalationResolved => escalation::Resolved;
        EscalationTimeout => escalation::TimedOut;
    }
}

impl Event {
    /// The stored content it refers to, which must exist for the entry to be complete.
    pub fn blobs(&self) -> Vec<&Blob> {
        match self.room() {
            // Events of these parts refer to no stored content.
            EventRoom::Admin(_)
            | EventRoom::Agent(_)
            | EventRoom::User(_)
            | EventRoom::Lease(_)
            | EventRoom::Blackboard(_)
            | EventRoom::Memory(_) => Vec::new(),
            EventRoom::Workspace(event) => event.blobs(),
            EventRoom::Message(event) => event.blobs(),
            EventRoom::Plan(event) => event.blobs(),
            EventRoom::Approval(event) => event.blobs(),
        }
    }
}

/// An event with its actor, workspace, stream and causes, before it is stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The actor who caused it.
    pub actor: Actor,
    /// The workspace whose local trail it belongs to; none for events of the whole project.
    pub workspace: Option<WorkspaceId>,
    /// The stream it belongs to.
    pub stream: Stream,
    /// The first entry of the causal chain this one belongs to, if that is another entry.
    pub correlation: Option<EntryId>,
    /// The entry that directly caused this one, if an entry did.
    pub causation: Option<EntryId>,
    /// The event.
    pub event: Event,
}

/// An event with its id and time, as [`crate::machine::state::State::apply`] takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The id of the entry.
    pub id: EntryId,
    /// When it happened.
    pub at: Timestamp,
    /// The way in of the request that led to it; none for what fell due, and for what the runtime
    /// asked for.
    pub door: Option<Door>,
    /// The event and its surroundings.
    pub draft: Draft,
}
