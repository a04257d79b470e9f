//! The one lifecycle of a task: every state and every transition, with where it is allowed.
//!
//! A task is *open* until a coordinator takes it into a run or binds a workspace to it; then it is
//! *governed*. Each protocol has its own words for the states; they are views of these.

use crate::model::runs::task::Status;
use crate::registry::kind::Kind;
use crate::registry::lifecycle::Edge;
use crate::values::closed_set::closed_set;

closed_set! {
    /// The state of a task, as it is stored.
    State {
        /// Planned in a run, not yet approved.
        Draft "draft",
        /// Waiting for somebody to take it.
        Pending "pending",
        /// A workspace is bound to it.
        Assigned "assigned",
        /// Somebody works on it.
        InProgress "in_progress",
        /// An open task that cannot go on.
        Blocked "blocked",
        /// Completed by its workspace, not yet merged.
        Completed "completed",
        /// Its workspace failed.
        Failed "failed",
        /// Completed and merged.
        Integrated "integrated",
        /// An open task that somebody declared done.
        Done "done",
        /// Cancelled.
        Cancelled "cancelled",
    }
}

impl State {
    /// The word that runs use for it.
    pub const fn in_runs(self) -> Status {
        match self {
            State::Draft => Status::Draft,
            State::Pending => Status::Pending,
            State::Assigned => Status::Assigned,
            State::InProgress | State::Blocked => Status::InProgress,
            State::Completed | State::Done => Status::Completed,
            State::Failed => Status::Failed,
            State::Integrated => Status::Integrated,
            State::Cancelled => Status::Cancelled,
        }
    }

    /// Whether the state is final.
    pub const fn is_over(self) -> bool {
        matches!(self, State::Integrated | State::Done | State::Cancelled)
    }

    /// The state of a governed task for which runs use this word.
    pub const fn governed(word: Status) -> Self {
        match word {
            Status::Draft => State::Draft,
            Status::Pending => State::Pending,
            Status::Assigned => State::Assigned,
            Status::InProgress => State::InProgress,
            Status::Completed => State::Completed,
            Status::Failed => State::Failed,
            Status::Integrated => State::Integrated,
            Status::Cancelled => State::Cancelled,
        }
    }
}

/// The tasks that may make a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Open tasks.
    Open,
    /// Governed tasks.
    Governed,
    /// An open task that becomes governed with it.
    Taken,
}

impl Allowed {
    /// The word for it in the documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Allowed::Open => "open",
            Allowed::Governed => "governed",
            Allowed::Taken => "open, governed from then on",
        }
    }
}

/// A transition of a task.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The tasks that may make it.
    pub allowed: Allowed,
    /// The event that records it.
    pub event: Kind,
    /// The party that makes it, in words.
    pub by: &'static str,
}

/// Passes every transition of a task to a macro: those of governed tasks, those with which an open
/// task becomes governed, and those of open tasks.
macro_rules! task_steps {
    ($make:ident) => {
        $make! {
            governed {
                Draft Pending TaskStatusChanged "approval";
                Draft Cancelled TaskStatusChanged "the coordinator";
                Pending Assigned TaskStatusChanged "a workspace is bound";
                Pending Cancelled TaskStatusChanged "the coordinator";
                Assigned InProgress TaskStatusChanged "signal started";
                Assigned Failed TaskStatusChanged "its workspace failed";
                Assigned Cancelled TaskStatusChanged "the coordinator";
                InProgress Completed TaskStatusChanged "signal complete";
                InProgress Failed TaskStatusChanged "its workspace failed";
                InProgress Cancelled TaskStatusChanged "the coordinator";
                Completed Integrated TaskStatusChanged "its work is merged";
                Completed Failed TaskStatusChanged "revise, reject, or its workspace failed";
                Completed Cancelled TaskStatusChanged "the coordinator";
                Failed Pending TaskStatusChanged "retry";
                Failed Cancelled TaskStatusChanged "the coordinator";
            }
            taken {
                InProgress Assigned TaskStatusChanged "a workspace is bound to an open task";
            }
            open {
                Pending InProgress MemoryMoved "anybody";
                Pending Blocked MemoryMoved "anybody";
                Pending Done MemoryMoved "anybody";
                Pending Cancelled MemoryMoved "anybody";
                InProgress Blocked MemoryMoved "anybody";
                InProgress Done MemoryMoved "anybody";
                InProgress Cancelled MemoryMoved "anybody";
                Blocked InProgress MemoryMoved "anybody";
                Blocked Cancelled MemoryMoved "anybody";
                Pending Done MemoryStepped "its last step";
                InProgress Done MemoryStepped "its last step";
                Pending Done MemoryUpdated "its last step";
                InProgress Done MemoryUpdated "its last step";
            }
        }
    };
}

pub(crate) use task_steps;

macro_rules! tables {
    (
        governed { $( $gf:ident $gt:ident $ge:ident $gb:literal; )* }
        taken { $( $tf:ident $tt:ident $te:ident $tb:literal; )* }
        open { $( $of:ident $ot:ident $oe:ident $ob:literal; )* }
    ) => {
        /// Every transition of a task after its creation; no others are allowed.
        pub const TABLE: &[Step] = &[
            $( step(State::$gf, State::$gt, Allowed::Governed, Kind::$ge, $gb), )*
            $( step(State::$tf, State::$tt, Allowed::Taken, Kind::$te, $tb), )*
            $( step(State::$of, State::$ot, Allowed::Open, Kind::$oe, $ob), )*
        ];

        /// The transitions of governed tasks, in the words of runs.
        pub const STEPS: &[(Status, Status)] = &[
            $( (State::$gf.in_runs(), State::$gt.in_runs()), )*
        ];

        /// The transitions with which a run takes an open task that is not pending.
        pub const TAKEN: &[(Status, Status)] = &[
            $( (State::$tf.in_runs(), State::$tt.in_runs()), )*
        ];

        /// The transitions of all tasks, for the documents.
        pub(crate) const EDGES: &[Edge] = &[
            begins(State::Draft, Kind::TaskCreated, "the coordinator"),
            begins(State::Pending, Kind::MemoryCreated, "anybody"),
            $( edge(State::$gf, State::$gt, Kind::$ge, $gb), )*
            $( edge(State::$tf, State::$tt, Kind::$te, $tb), )*
            $( edge(State::$of, State::$ot, Kind::$oe, $ob), )*
        ];
    };
}

const fn step(from: State, to: State, allowed: Allowed, event: Kind, by: &'static str) -> Step {
    Step { from, to, allowed, event, by }
}

const fn begins(to: State, event: Kind, by: &'static str) -> Edge {
    Edge { from: None, to: to.as_str(), event, by }
}

const fn edge(from: State, to: State, event: Kind, by: &'static str) -> Edge {
    Edge { from: Some(from.as_str()), to: to.as_str(), event, by }
}

task_steps!(tables);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_governed_task_has_one_state_for_each_word_of_runs() {
        for word in Status::ALL {
            assert_eq!(State::governed(*word).in_runs(), *word);
        }
        for step in TABLE.iter().filter(|step| step.allowed == Allowed::Governed) {
            assert_eq!(State::governed(step.from.in_runs()), step.from);
            assert_eq!(State::governed(step.to.in_runs()), step.to);
        }
    }
}
