//! The table of transitions a workspace may make; no others are allowed.

use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};

/// A transition of the table.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its number in the protocol's table.
    pub number: u8,
    /// The state before.
    pub from: Status,
    /// The state after.
    pub to: Status,
    /// The triggers, each with the parties that may initiate it.
    pub causes: &'static [(Trigger, &'static [Initiator])],
}

const AGENT: &[Initiator] = &[Initiator::Agent];

const RUNTIME: &[Initiator] = &[Initiator::Runtime];

const ORDER: &[Initiator] = &[Initiator::Coordinator, Initiator::Human];

const ANSWER: &[Initiator] = &[Initiator::Human, Initiator::Runtime];

const COORDINATOR: &[Initiator] = &[Initiator::Coordinator];

const HUMAN: &[Initiator] = &[Initiator::Human];

/// Triggers that end a workspace in any state: the coordinator, a person, its parent's failure,
/// shutdown, the abort of its group, and an escalation that timed out.
const ENDS: [(Trigger, &[Initiator]); 6] = [
    (Trigger::AbortedByCoordinator, COORDINATOR),
    (Trigger::AbortedByHuman, HUMAN),
    (Trigger::ParentFailed, RUNTIME),
    (Trigger::SystemShutdown, RUNTIME),
    (Trigger::BatchAbort, ORDER),
    (Trigger::EscalationTimeout, RUNTIME),
];

/// The table: transitions 2 to 23. Transition 1 is the creation.
pub const STEPS: &[Step] = &[
    Step {
        number: 2,
        from: Status::Idle,
        to: Status::Active,
        causes: &[(Trigger::FirstEnvelope, RUNTIME), (Trigger::WorkflowLoaded, RUNTIME)],
    },
    Step {
        number: 3,
        from: Status::Idle,
        to: Status::Failed,
        causes: &[
            (Trigger::Timeout, RUNTIME),
            (Trigger::Failed, AGENT),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
    Step {
        number: 4,
        from: Status::Active,
        to: Status::Blocked,
        causes: &[(Trigger::Blocked, AGENT)],
    },
    Step {
        number: 5,
        from: Status::Active,
        to: Status::Migrating,
        causes: &[(Trigger::Migrate, ORDER)],
    },
    Step {
        number: 6,
        from: Status::Active,
        to: Status::Suspended,
        causes: &[(Trigger::Suspend, ORDER)],
    },
    Step {
        number: 7,
        from: Status::Active,
        to: Status::Integrating,
        causes: &[(Trigger::Complete, AGENT), (Trigger::RunComplete, ORDER)],
    },
    Step {
        number: 8,
        from: Status::Active,
        to: Status::Failed,
        causes: &[
            (Trigger::Failed, AGENT),
            (Trigger::Timeout, RUNTIME),
            (Trigger::GracefulTerminationExpired, RUNTIME),
            (Trigger::BudgetExceeded, RUNTIME),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
    Step {
        number: 9,
        from: Status::Blocked,
        to: Status::Active,
        causes: &[(Trigger::Started, AGENT)],
    },
    Step {
        number: 10,
        from: Status::Blocked,
        to: Status::Migrating,
        causes: &[(Trigger::Migrate, ORDER)],
    },
    Step {
        number: 11,
        from: Status::Blocked,
        to: Status::Suspended,
        causes: &[(Trigger::Suspend, ORDER)],
    },
    Step {
        number: 12,
        from: Status::Blocked,
        to: Status::Failed,
        causes: &[
            (Trigger::Failed, AGENT),
            (Trigger::Timeout, RUNTIME),
            (Trigger::GracefulTerminationExpired, RUNTIME),
            (Trigger::BudgetExceeded, RUNTIME),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
    Step {
        number: 13,
        from: Status::Migrating,
        to: Status::Active,
        causes: &[(Trigger::Migrated, RUNTIME)],
    },
    Step {
        number: 14,
        from: Status::Migrating,
        to: Status::Blocked,
        causes: &[(Trigger::Migrated, RUNTIME)],
    },
    Step {
        number: 15,
        from: Status::Migrating,
        to: Status::Failed,
        causes: &[
            (Trigger::MigrationError, RUNTIME),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
    Step {
        number: 16,
        from: Status::Suspended,
        to: Status::Active,
        causes: &[(Trigger::Resume, ORDER)],
    },
    Step {
        number: 17,
        from: Status::Suspended,
        to: Status::Blocked,
        causes: &[(Trigger::Resume, ORDER)],
    },
    Step { number: 18, from: Status::Suspended, to: Status::Failed, causes: &ENDS },
    Step {
        number: 19,
        from: Status::Integrating,
        to: Status::Closed,
        causes: &[(Trigger::Merged, ORDER), (Trigger::RunComplete, ORDER)],
    },
    Step {
        number: 20,
        from: Status::Integrating,
        to: Status::Conflicted,
        causes: &[(Trigger::ConflictFound, ORDER)],
    },
    Step {
        number: 21,
        from: Status::Integrating,
        to: Status::Failed,
        causes: &[
            (Trigger::RevisionRequired, ORDER),
            (Trigger::Rejected, ORDER),
            (Trigger::GateRejectedByHuman, ANSWER),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
    Step {
        number: 22,
        from: Status::Conflicted,
        to: Status::Closed,
        causes: &[(Trigger::ConflictsResolved, ORDER)],
    },
    Step {
        number: 23,
        from: Status::Conflicted,
        to: Status::Failed,
        causes: &[
            (Trigger::AgentRework, ORDER),
            (Trigger::ConflictTimeout, RUNTIME),
            (Trigger::GateRejectedByHuman, ANSWER),
            ENDS[0],
            ENDS[1],
            ENDS[2],
            ENDS[3],
            ENDS[4],
            ENDS[5],
        ],
    },
];

/// Whether the table has this transition, with this trigger and initiator.
pub fn is_step(from: Status, to: Status, trigger: Trigger, initiator: Initiator) -> bool {
    let between = STEPS.iter().filter(|step| step.from == from && step.to == to);
    let mut causes = between.flat_map(|step| step.causes);
    causes.any(|(own, initiators)| *own == trigger && initiators.contains(&initiator))
}

/// The transitions out of a state, for people to read.
pub fn transitions_from(from: Status) -> impl Iterator<Item = String> {
    let transitions = STEPS.iter().filter(move |step| step.from == from);
    transitions.map(|step| format!("{} -> {}", step.from, step.to))
}

macro_rules! edges {
    ($( $from:literal $to:literal $by:literal; )*) => {
        &[
            Edge { from: None, to: "idle", event: Kind::WorkspaceCreated, by: "the coordinator" },
            $( Edge {
                from: Some($from),
                to: $to,
                event: Kind::WorkspaceStateChanged,
                by: $by,
            }, )*
        ]
    };
}

/// The lifecycle of a workspace, for the documents; a test checks it against [`STEPS`].
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "workspace",
    edges: edges! {
        "idle" "active" "first envelope";
        "idle" "failed" "no agent in time, its own failure, abort, cascade, shutdown";
        "active" "blocked" "its agent";
        "active" "migrating" "the coordinator";
        "active" "suspended" "the coordinator";
        "active" "integrating" "its agent";
        "active" "failed" "its agent, timeout, budget, grace over, abort, cascade, shutdown";
        "blocked" "active" "its agent";
        "blocked" "migrating" "the coordinator";
        "blocked" "suspended" "the coordinator";
        "blocked" "failed" "its agent, timeout, budget, grace over, abort, cascade, shutdown";
        "migrating" "active" "the new agent is there";
        "migrating" "blocked" "the new agent is there";
        "migrating" "failed" "the new agent did not come, abort, cascade, shutdown";
        "suspended" "active" "the coordinator";
        "suspended" "blocked" "the coordinator";
        "suspended" "failed" "abort, cascade, shutdown";
        "integrating" "closed" "the coordinator";
        "integrating" "conflicted" "the coordinator";
        "integrating" "failed" "revise, reject, abort, cascade, shutdown";
        "conflicted" "closed" "the coordinator";
        "conflicted" "failed" "rework, timeout, abort, cascade, shutdown";
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_show_the_table_and_nothing_else() {
        let drawn = LIFECYCLE.edges.iter().filter_map(|edge| edge.from.map(|from| (from, edge.to)));
        let table = STEPS.iter().map(|step| (step.from.as_str(), step.to.as_str()));
        assert!(drawn.eq(table));
        assert!(STEPS.iter().map(|step| step.number).eq(2..=23));
    }

    #[test]
    fn nothing_goes_back_and_nothing_leaves_an_end() {
        for step in STEPS {
            assert!(!step.from.is_terminal());
            let resolving = matches!(step.from, Status::Integrating | Status::Conflicted);
            assert!(!resolving || step.to.is_sealed(), "{step:?}");
            assert!(step.to != Status::Idle);
        }
    }
}
