//! Kinds of entries: the closed set of event names in the trail, grouped by the part of the kernel
//! that handles them.

use serde::Deserialize;
use serde::Serialize;

macro_rules! kinds {
    ($(
        #[doc = $doc:literal]
        $room:ident { $( $variant:ident $kind:literal; )* }
    )*) => {
        /// The name of a kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Kind {
            $($( #[doc = concat!("`", $kind, "`")] #[serde(rename = $kind)] $variant, )*)*
        }

        /// A part of the kernel, by the events it handles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Room {
            $( #[doc = $doc] $room, )*
        }

        impl Kind {
            /// All kinds, in registry order.
            pub const ALL: &'static [Kind] = &[$($(Kind::$variant,)*)*];

            /// The name as written in the trail.
            pub fn as_str(self) -> &'static str {
                match self { $($(Kind::$variant => $kind,)*)* }
            }

            /// The part of the kernel that handles events of this kind.
            pub fn room(self) -> Room {
                match self { $($(Kind::$variant => Room::$room,)*)* }
            }

            fn named(text: &str) -> Option<Self> {
                match text { $($($kind => Some(Kind::$variant),)*)* _ => None }
            }
        }
    };
}

// Names with a dot are Althing's own, for what the protocol does not have; the other 72 are the
// protocol's registry. `event.rs` has the body of each kind, and does not compile if one is missing.
kinds! {
    #[doc = "The project, its runtime, and the trail itself."]
    Admin {
        ProjectCreated "project.created";
        RuntimeRekeyed "runtime.rekeyed";
        RuntimeRestored "runtime.restored";
        RulesAdopted "rules.adopted";
        CommandRefused "command.refused";
        TrailPruned "trail.pruned";
        SystemDegraded "system_degraded";
        RecoveryCompleted "recovery_completed";
        IntegrityViolation "integrity_violation";
        TrailCompacted "trail_compacted";
        TrailAccessDenied "trail_access_denied";
        TrailSnapshotCreated "trail_snapshot_created";
    }
    #[doc = "Agents, their sessions, and whether somebody is who they say."]
    Agent {
        AgentRegistered "agent.registered";
        AgentDescribed "agent.described";
        AgentHeartbeat "agent.heartbeat";
        AgentRevoked "agent.revoked";
        AgentReinstated "agent.reinstated";
        SessionOpened "session.opened";
        SessionConnected "session.connected";
        SessionDisconnected "session.disconnected";
        SessionKept "session.kept";
        SessionClosed "session.closed";
        AuthenticationSucceeded "authentication_succeeded";
        AuthenticationFailed "authentication_failed";
    }
    #[doc = "People and their capabilities."]
    User {
        UserCreated "user_created";
        UserSuspended "user_suspended";
        UserResumed "user_resumed";
        UserBlocked "user_blocked";
        UserUnblocked "user_unblocked";
        UserDeactivated "user_deactivated";
        UserReactivated "user_reactivated";
        CapabilityGranted "capability_granted";
        CapabilityRevoked "capability_revoked";
        CapabilityDenied "capability_denied";
    }
    #[doc = "Leases on surfaces."]
    Lease {
        LeaseOpened "lease.opened";
        LeaseRenewed "lease.renewed";
        LeaseReleased "lease.released";
        LeaseExpired "lease.expired";
        LeaseForced "lease.forced";
    }
    #[doc = "The blackboard that everybody shares."]
    Blackboard {
        SymbolSet "symbol.set";
        FactSet "fact.set";
        FactDeleted "fact.deleted";
        CapsuleWritten "capsule.written";
        DecisionAppended "decision.appended";
        DisputeRaised "dispute.raised";
        LedgerLogged "ledger.logged";
        LedgerBaselined "ledger.baselined";
        MessageNoted "message.noted";
    }
    #[doc = "Records of the memory."]
    Memory {
        MemoryCreated "memory.created";
        MemoryUpdated "memory.updated";
        MemoryMoved "memory.moved";
        MemoryStepped "memory.stepped";
        MemoryHeard "memory.heard";
        MemorySwept "memory.swept";
        MemoryArchived "memory.archived";
        MemoryTurned "memory.turned";
        MemoryOffered "memory.offered";
        MemoryLooped "memory.looped";
        MemoryExpired "memory.expired";
    }
    #[doc = "Runs and their workspaces."]
    Workspace {
        RunHandedOver "run.handed_over";
        RunStopped "run.stopped";
        WorkspaceWritten "workspace.written";
        WorkspaceBranched "workspace.branched";
        ProcessStarted "process.started";
        ProcessEnded "process.ended";
        RunHeld "run.held";
        RunLanded "run.landed";
        MeterReported "meter.reported";
        WorkspaceCreated "workspace_created";
        WorkspaceStateChanged "workspace_state_changed";
        WorkspaceRejected "workspace_rejected";
        BudgetWarning "budget_warning";
        BudgetExceeded "budget_exceeded";
        BudgetModified "budget_modified";
        LivenessWarning "liveness_warning";
        PriorityChanged "priority_changed";
        VisibilityGranted "visibility_granted";
        BatchAbort "batch_abort";
        BatchPriorityChanged "batch_priority_changed";
        MigrationStarted "migration_started";
        MigrationCompleted "migration_completed";
        MigrationFailed "migration_failed";
        SuspensionStarted "suspension_started";
        SuspensionResumed "suspension_resumed";
        GracefulTerminationInitiated "graceful_termination_initiated";
        GracefulTerminationExpired "graceful_termination_expired";
        OwnershipTransferred "workspace_ownership_transferred";
        WorkspaceReparented "workspace_reparented";
        ResourceDiscrepancy "resource_discrepancy";
    }
    #[doc = "Signals, envelopes, inboxes and port rights."]
    Message {
        EnvelopeAttempted "envelope.attempted";
        InboxTaken "inbox.taken";
        SignalEmitted "signal_emitted";
        SignalDelivered "signal_delivered";
        EnvelopeCreated "envelope_created";
        EnvelopeDelivered "envelope_delivered";
        EnvelopeRejected "envelope_rejected";
        EnvelopeUndeliverable "envelope_undeliverable";
        EnvelopeRedelivered "envelope_redelivered";
        PortRightCreated "port_right_created";
        PortRightTransferred "port_right_transferred";
        PortRightRevoked "port_right_revoked";
        PortRightConsumed "port_right_consumed";
    }
    #[doc = "Checkpoints, tasks and their integration."]
    Plan {
        CheckpointCreated "checkpoint_created";
        CheckpointRejected "checkpoint_rejected";
        GraphCreated "graph_created";
        TaskCreated "task_created";
        TaskApproved "task_approved";
        TaskAssigned "task_assigned";
        TaskStatusChanged "task_status_changed";
        TaskCompleted "task_completed";
        TaskFailed "task_failed";
        IntegrationStarted "integration_started";
        IntegrationCompleted "integration_completed";
        IntegrationAborted "integration_aborted";
        IntegrationUndone "integration.undone";
        ConflictDetected "conflict_detected";
        ConflictResolved "conflict_resolved";
    }
    #[doc = "Gates, escalations and what people inject."]
    Approval {
        HighwayConfigured "highway.configured";
        GateTriggered "gate_triggered";
        GateResolved "gate_resolved";
        GateTimeout "gate_timeout";
        GateReentryBlocked "gate_reentry_blocked";
        HumanInjection "human_injection";
        EscalationReceived "escalation_received";
        EscalationResolved "escalation_resolved";
        EscalationTimeout "escalation_timeout";
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a kind that is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of entry")]
pub struct UnknownKind(pub String);

impl std::str::FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Kind::named(text).ok_or_else(|| UnknownKind(text.chars().take(80).collect()))
    }
}
