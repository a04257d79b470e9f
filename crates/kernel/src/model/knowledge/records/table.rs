//! The table of record kinds: for each its states, transitions, aliases and fields.
//!
//! Commands, the audit, the documents and the tests all read this table, so they cannot disagree.

use crate::model::knowledge::records::vocabulary::Status;
use crate::model::runs::task::State;
use crate::model::runs::task::lifecycle::task_steps;
use crate::registry::kind::Kind as Event;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::registry::record_id::Kind;

/// The description of one kind of record.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The kind.
    pub kind: Kind,
    /// The states, the usual initial one first.
    pub states: &'static [Status],
    /// The states it may be created in, the usual one first.
    pub initial: &'static [Status],
    /// The transitions it may make; no others are allowed.
    pub steps: &'static [(Status, Status)],
    /// The states in which it is no longer live.
    pub ended: &'static [Status],
    /// Accepted aliases of state names.
    pub aliases: &'static [(&'static str, Status)],
    /// The fields that may be set at creation.
    pub fields: &'static [&'static str],
    /// The fields that must be set at creation.
    pub required: &'static [&'static str],
    /// The fields that may be changed later.
    pub updatable: &'static [&'static str],
    /// The lifecycle, for the documents.
    pub lifecycle: Lifecycle,
}

macro_rules! table {
    (
        $kind:ident $noun:literal
        states: [$($state:ident)+] begins: [$($initial:ident)+] by $event:ident
        $( also: $more:ident by $cause:ident )?
        steps: { $( $from:ident => $($to:ident)|+, $step:ident, $by:literal; )* }
        ended: [$($ended:ident)*]
        aliases: [$($alias:literal $means:ident),*]
        fields: [$($field:literal)*]
        required: [$($required:literal)*]
        updatable: [$($updatable:literal)*]
    ) => {
        Table {
            kind: Kind::$kind,
            states: &[$(Status::$state),+],
            initial: &[$(Status::$initial),+],
            steps: &[$( $( (Status::$from, Status::$to), )+ )*],
            ended: &[$(Status::$ended),*],
            aliases: &[$(($alias, Status::$means)),*],
            fields: &[$($field),*],
            required: &[$($required),*],
            updatable: &[$($updatable),*],
            lifecycle: Lifecycle {
                noun: $noun,
                edges: &[
                    $(
                        Edge {
                            from: None,
                            to: Status::$initial.as_str(),
                            event: Event::$event,
                            by: "anybody",
                        },
                    )+
                    $(
                        Edge {
                            from: None,
                            to: Status::$more.as_str(),
                            event: Event::$cause,
                            by: "anybody",
                        },
                    )?
                    $( $(
                        Edge {
                            from: Some(Status::$from.as_str()),
                            to: Status::$to.as_str(),
                            event: Event::$step,
                            by: $by,
                        },
                    )+ )*
                ],
            },
        }
    };
}

const CONSTRAINT: Table = table! {
    Constraint "constraint"
    states: [Active Resolved Expired] begins: [Active] by MemoryCreated
    steps: {
        Active => Resolved | Expired, MemoryMoved, "anybody";
        Active => Expired, MemoryExpired, "the runtime";
    }
    ended: [Resolved Expired]
    aliases: ["open" Active]
    fields: ["category" "expires_at" "plan_id" "related_paths" "scope"]
    required: []
    updatable: ["category" "expires_at" "plan_id" "related_paths" "scope"]
};

const DECISION: Table = table! {
    Decision "decision"
    states: [Pending Approved Rejected Deferred] begins: [Pending] by MemoryCreated
    // What is appended to the decision log was decided before.
    also: Approved by DecisionAppended
    steps: {
        Pending => Approved | Rejected | Deferred, MemoryMoved, "anybody";
        Deferred => Approved | Rejected, MemoryMoved, "anybody";
    }
    // Decisions stay live once they are made.
    ended: [Rejected]
    aliases: ["proposed" Pending, "accepted" Approved]
    fields: ["plan_id" "related_paths" "scope" "verified_at" "verify_cmd"]
    required: []
    updatable: ["plan_id" "related_paths" "scope" "verified_at" "verify_cmd"]
};

const TRAP: Table = table! {
    Trap "trap"
    states: [Active Resolved Expired] begins: [Active] by MemoryCreated
    steps: {
        Active => Resolved | Expired, MemoryMoved, "anybody";
        Active => Expired, MemoryExpired, "the runtime";
    }
    ended: [Resolved Expired]
    aliases: ["open" Active]
    fields: [
        "expires_at" "plan_id" "platform_scope" "related_paths" "scope" "severity" "verified_at"
        "verify_cmd" "visibility"
    ]
    required: []
    updatable: [
        "expires_at" "plan_id" "platform_scope" "related_paths" "scope" "severity" "verified_at"
        "verify_cmd" "visibility"
    ]
};

macro_rules! plan_table {
    (
        governed { $($governed:tt)* }
        taken { $($taken:tt)* }
        open { $( $from:ident $to:ident $event:ident $by:literal; )* }
    ) => {
        /// Plans: the transitions of open tasks. Governed tasks are shown in the same words.
        const PLAN: Table = Table {
            kind: Kind::Plan,
            states: &[
                Status::Open,
                Status::InProgress,
                Status::Blocked,
                Status::Done,
                Status::Cancelled,
            ],
            initial: &[Status::Open],
            steps: &[$( (State::$from.stored(), State::$to.stored()), )*],
            ended: &[Status::Done, Status::Cancelled],
            aliases: &[("todo", Status::Open), ("dropped", Status::Cancelled)],
            fields: PLAN_FIELDS,
            required: &[],
            updatable: PLAN_FIELDS,
            lifecycle: Lifecycle {
                noun: "plan",
                edges: &[
                    Edge {
                        from: None,
                        to: State::Pending.stored().as_str(),
                        event: Event::MemoryCreated,
                        by: "anybody",
                    },
                    $(
                        Edge {
                            from: Some(State::$from.stored().as_str()),
                            to: State::$to.stored().as_str(),
                            event: Event::$event,
                            by: $by,
                        },
                    )*
                ],
            },
        };
    };
}

const PLAN_FIELDS: &[&str] = &[
    "actual_effort",
    "assignee",
    "depends_on",
    "estimated_effort",
    "priority",
    "related_paths",
    "scope",
    "steps",
    "type",
];

task_steps!(plan_table);

const CLAIM: Table = table! {
    Claim "claim"
    states: [Open Released Expired] begins: [Open] by LeaseOpened
    steps: {
        Open => Released, LeaseReleased, "its holder";
        Open => Expired, LeaseExpired, "the runtime";
    }
    ended: [Released Expired]
    aliases: ["active" Open, "stale" Expired]
    fields: []
    required: []
    updatable: []
};

const HANDOFF: Table = table! {
    Handoff "handoff"
    states: [Open Accepted Closed] begins: [Open] by MemoryCreated
    steps: {
        Open => Accepted | Closed, MemoryMoved, "anybody";
        Accepted => Closed, MemoryMoved, "anybody";
    }
    ended: [Closed]
    aliases: []
    fields: [
        "assignment_id" "contract" "diff" "from" "narrative" "plan_id" "related_paths" "review"
        "supersedes" "to"
    ]
    required: []
    updatable: ["contract" "narrative" "related_paths" "review"]
};

const CANDIDATE: Table = table! {
    Candidate "candidate"
    states: [Proposed Accepted Rejected Merged] begins: [Proposed] by MemoryCreated
    steps: { Proposed => Accepted | Rejected | Merged, MemoryMoved, "anybody"; }
    ended: [Accepted Rejected Merged]
    aliases: ["pending" Proposed]
    fields: [
        "candidate_type" "category" "contract" "expires_at" "from" "narrative" "origin" "plan_id"
        "platform_scope" "related_paths" "scope" "severity" "to" "verify_cmd" "visibility"
    ]
    required: ["candidate_type"]
    updatable: ["narrative" "plan_id" "related_paths" "severity"]
};

const ASSIGNMENT: Table = table! {
    Assignment "assignment"
    states: [
        Offered Created Accepted Started Blocked Completed Failed TimedOut Expired Retrying
        Rerouted Cancelled
    ]
    begins: [Offered Created] by MemoryCreated
    steps: {
        Created => Offered | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Offered => Accepted | Failed, MemoryMoved, "its agent";
        Offered => Expired | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Offered => Accepted | Expired, MemorySwept, "a sweep";
        Accepted => Started, MemoryMoved, "its agent";
        Accepted => TimedOut | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Accepted => Started | TimedOut, MemorySwept, "a sweep";
        Started => Completed | Failed | Blocked, MemoryMoved, "its agent";
        Started => TimedOut | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Started => TimedOut, MemorySwept, "a sweep";
        Blocked => Started | Failed, MemoryMoved, "its agent";
        Blocked => Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Failed => Retrying | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        TimedOut => Retrying | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Retrying => Offered | Rerouted | Cancelled, MemoryMoved, "its dispatcher";
        Expired => Completed, MemoryMoved, "its agent";
    }
    ended: [Completed Expired Rerouted Cancelled]
    aliases: ["in_progress" Started, "done" Completed]
    fields: [
        "acceptance_ttl_secs" "agent" "artifacts" "claim" "heartbeat_ttl_secs" "lane"
        "max_retries" "message_id" "nonce" "plan_id" "related_paths" "scope" "status_reason"
        "worktree_path"
    ]
    required: ["agent"]
    updatable: [
        "artifacts" "claim" "error_message" "lane" "message_id" "related_paths" "status_reason"
        "worktree_path"
    ]
};

const MESSAGE: Table = table! {
    Message "message"
    states: [Open Acknowledged Closed] begins: [Open] by MemoryCreated
    steps: {
        Open => Acknowledged, MemoryMoved, "its recipient";
        Open => Closed, MemoryMoved, "its author or its recipient";
        Acknowledged => Closed, MemoryMoved, "its author or its recipient";
    }
    ended: [Closed]
    aliases: ["pending" Open, "acked" Acknowledged]
    fields: ["assignment_id" "from" "plan_id" "related_paths" "requires_ack" "thread" "to"]
    required: ["to"]
    updatable: ["thread"]
};

const SEQUENCE: Table = table! {
    Sequence "sequence"
    states: [Active Paused Done Cancelled] begins: [Active] by MemoryCreated
    steps: {
        Active => Paused | Done | Cancelled, MemoryMoved, "anybody";
        Paused => Active | Cancelled, MemoryMoved, "anybody";
    }
    ended: [Done Cancelled]
    aliases: ["open" Active]
    fields: ["items" "plan_id" "related_paths"]
    required: ["items"]
    updatable: ["items" "related_paths"]
};

const LOOP: Table = table! {
    Loop "loop"
    states: [Open Paused Blocked Completed Cancelled] begins: [Open] by MemoryCreated
    steps: {
        Open => Paused | Blocked | Completed | Cancelled, MemoryMoved, "its author";
        Paused => Open | Blocked | Completed | Cancelled, MemoryMoved, "its author";
        Blocked => Open | Completed | Cancelled, MemoryMoved, "its author";
    }
    ended: [Completed Cancelled]
    aliases: ["active" Open, "running" Open]
    fields: [
        "artifacts" "iteration" "loop_kind" "phase" "plan_id" "related_paths" "scope" "slots"
        "stop_conditions" "thread"
    ]
    required: ["loop_kind"]
    updatable: ["artifacts" "scope" "stop_conditions"]
};

const FACT: Table = table! {
    Fact "fact"
    states: [Active] begins: [Active] by FactSet
    steps: {}
    ended: []
    aliases: ["open" Active]
    fields: ["key"]
    required: ["key"]
    updatable: []
};

const SYMBOL: Table = table! {
    Symbol "symbol"
    states: [Active] begins: [Active] by SymbolSet
    steps: {}
    ended: []
    aliases: ["open" Active]
    fields: ["key"]
    required: ["key"]
    updatable: []
};

const CAPSULE: Table = table! {
    Capsule "capsule"
    states: [Active] begins: [Active] by CapsuleWritten
    steps: {}
    ended: []
    aliases: ["open" Active]
    fields: ["decision" "depends" "gotcha" "key" "where"]
    required: ["key"]
    updatable: ["decision" "depends" "gotcha" "where"]
};

/// The tables of all kinds.
pub const TABLES: &[Table] = &[
    CONSTRAINT, DECISION, TRAP, PLAN, CLAIM, HANDOFF, CANDIDATE, ASSIGNMENT, MESSAGE, SEQUENCE,
    LOOP, FACT, SYMBOL, CAPSULE,
];

/// The lifecycles of the kinds that are stored.
pub(crate) const LIFECYCLES: [Lifecycle; 13] = [
    CONSTRAINT.lifecycle,
    DECISION.lifecycle,
    TRAP.lifecycle,
    PLAN.lifecycle,
    HANDOFF.lifecycle,
    CANDIDATE.lifecycle,
    ASSIGNMENT.lifecycle,
    MESSAGE.lifecycle,
    SEQUENCE.lifecycle,
    LOOP.lifecycle,
    FACT.lifecycle,
    SYMBOL.lifecycle,
    CAPSULE.lifecycle,
];

impl Kind {
    /// The table of this kind.
    pub const fn table(self) -> &'static Table {
        match self {
            Kind::Constraint => &CONSTRAINT,
            Kind::Decision => &DECISION,
            Kind::Trap => &TRAP,
            Kind::Plan => &PLAN,
            Kind::Claim => &CLAIM,
            Kind::Handoff => &HANDOFF,
            Kind::Candidate => &CANDIDATE,
            Kind::Assignment => &ASSIGNMENT,
            Kind::Message => &MESSAGE,
            Kind::Sequence => &SEQUENCE,
            Kind::Loop => &LOOP,
            Kind::Fact => &FACT,
            Kind::Symbol => &SYMBOL,
            Kind::Capsule => &CAPSULE,
        }
    }
}

impl Table {
    /// The state that a word denotes: its name or an alias.
    pub fn state(&self, word: &str) -> Option<Status> {
        let named = Status::named(word).filter(|status| self.states.contains(status));
        let alias = || self.aliases.iter().find(|(alias, _)| *alias == word);
        named.or_else(|| alias().map(|(_, status)| *status))
    }

    /// Whether there is a transition from one state to another.
    pub fn has_step(&self, from: Status, to: Status) -> bool {
        self.steps.contains(&(from, to))
    }

    /// The states that can follow a state, without duplicates.
    pub fn transitions_from(&self, from: Status) -> Vec<Status> {
        let mut targets: Vec<Status> = Vec::new();
        for (_, to) in self.steps.iter().filter(|(own, _)| *own == from) {
            if !targets.contains(to) {
                targets.push(*to);
            }
        }
        targets
    }

    /// Whether a record in this state is live.
    pub fn is_live(&self, status: Status) -> bool {
        !self.ended.contains(&status)
    }

    /// Whether no transition leads out of a state.
    pub fn is_terminal(&self, status: Status) -> bool {
        self.steps.iter().all(|(from, _)| *from != status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::knowledge::records::field::Fields;
    use crate::model::knowledge::records::field::WRITTEN_BY_KERNEL;

    #[test]
    fn the_table_is_sound() {
        for (table, kind) in TABLES.iter().zip(Kind::ALL) {
            assert_eq!(table.kind, *kind);
            assert_eq!(kind.table().kind, *kind);
            assert_eq!(table.lifecycle.noun, kind.as_str());
            assert!(table.initial.contains(&table.states[0]));
            for (from, to) in table.steps {
                assert!(table.states.contains(from) && table.states.contains(to), "{from} {to}");
                assert_ne!(from, to);
            }
            for (alias, status) in table.aliases {
                assert!(table.states.contains(status), "{alias}");
                let own = Status::named(alias).filter(|own| table.states.contains(own));
                assert_eq!(own, None, "{alias} is a state of its own");
            }
            for name in table.fields.iter().chain(table.updatable) {
                assert!(Fields::NAMES.contains(name), "{name}");
                assert!(!WRITTEN_BY_KERNEL.contains(name), "{name}");
            }
            assert!(table.required.iter().all(|name| table.fields.contains(name)));
        }
    }
}
