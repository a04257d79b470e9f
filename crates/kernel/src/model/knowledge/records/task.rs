//! Plans are tasks: the part of a plan that only runs know of, and the words for its state.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::{Priority, Status, StepStatus};
use crate::model::runs::task;
use crate::model::runs::task::terms::Terms;
use crate::model::runs::task::{Estimate, State};
use crate::registry::record_id::{Kind, RecordId};
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};

/// Numbers from here on are those of tasks whose entries name none: they are older than the
/// numbers. No record gets such a number otherwise.
pub(crate) const UNNUMBERED: u64 = 1 << 40;

/// The part of a task that only runs know of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskPart {
    /// The final checkpoint of the workspace that completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// The description, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Blob>,
    /// The estimated cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The graph it was planned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// Every workspace it was ever bound to, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<WorkspaceId>,
    /// The id it got when it was planned in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<TaskId>,
    /// The task above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RecordId>,
    /// Its terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Arc<Terms>>,
    /// The workspace it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

impl State {
    /// The word by which a record stores it.
    pub const fn stored(self) -> Status {
        match self {
            State::Draft => Status::Draft,
            State::Pending => Status::Open,
            State::Assigned => Status::Assigned,
            State::InProgress => Status::InProgress,
            State::Blocked => Status::Blocked,
            State::Completed => Status::Completed,
            State::Failed => Status::Failed,
            State::Integrated => Status::Integrated,
            State::Done => Status::Done,
            State::Cancelled => Status::Cancelled,
        }
    }

    /// The word that the memory protocol uses for it, unless its workspace is blocked.
    pub const fn in_memory(self) -> Status {
        match self {
            State::Draft | State::Pending | State::Failed => Status::Open,
            State::Assigned | State::InProgress | State::Completed => Status::InProgress,
            State::Blocked => Status::Blocked,
            State::Integrated | State::Done => Status::Done,
            State::Cancelled => Status::Cancelled,
        }
    }
}

impl Record {
    /// The state of a task; none for records of other kinds.
    pub fn task_state(&self) -> Option<State> {
        let own = State::ALL.iter().copied().find(|state| state.stored() == self.status);
        own.filter(|_| self.id.kind == Kind::Plan)
    }

    /// The state in the words of the memory protocol, as far as the record alone tells it: the task
    /// of a blocked workspace is blocked too.
    pub fn word(&self) -> Status {
        self.task_state().map_or(self.status, State::in_memory)
    }

    /// The part of a task that only runs know of.
    pub fn task(&self) -> Option<&TaskPart> {
        self.fields.task.as_deref()
    }

    /// The terms of a task; none were given for tasks outside runs.
    pub fn terms(&self) -> Option<&Terms> {
        self.task().and_then(|part| part.terms.as_deref())
    }

    /// The id that runs use for a task: the one it was planned with, or else the id of the record.
    pub fn task_id(&self) -> TaskId {
        let minted = self.task().and_then(|part| part.id.clone());
        minted.unwrap_or_else(|| TaskId::from(Arc::from(self.id.to_string())))
    }
}

impl task::Priority {
    /// The stored word for it.
    pub const fn stored(self) -> Priority {
        match self {
            task::Priority::Urgent => Priority::Urgent,
            task::Priority::Elevated => Priority::High,
            task::Priority::Normal => Priority::Medium,
            task::Priority::Low => Priority::Low,
        }
    }
}

impl Priority {
    /// The word that runs use for it.
    pub const fn in_runs(self) -> task::Priority {
        match self {
            Priority::Urgent => task::Priority::Urgent,
            Priority::High => task::Priority::Elevated,
            Priority::Medium => task::Priority::Normal,
            Priority::Low => task::Priority::Low,
        }
    }
}

impl StepStatus {
    /// The word that runs use for it.
    pub const fn in_runs(self) -> task::Status {
        match self {
            StepStatus::Todo => task::Status::Pending,
            StepStatus::InProgress | StepStatus::Testing | StepStatus::Blocked => {
                task::Status::InProgress
            }
            StepStatus::Done => task::Status::Completed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::knowledge::records::table::TABLES;
    use crate::model::runs::task::lifecycle::{Allowed, TABLE};

    #[test]
    fn every_state_has_its_own_stored_word_and_every_priority_one_in_both() {
        let stored: std::collections::BTreeSet<Status> =
            State::ALL.iter().map(|state| state.stored()).collect();
        assert_eq!(stored.len(), State::ALL.len());
        for priority in Priority::ALL {
            assert_eq!(priority.in_runs().stored(), *priority);
        }
    }

    #[test]
    fn the_memory_protocol_shows_the_transitions_of_open_tasks_and_no_others() {
        let plan = TABLES.iter().find(|table| table.kind == Kind::Plan).unwrap();
        let open = TABLE.iter().filter(|step| step.allowed == Allowed::Open);
        let words: Vec<(Status, Status)> =
            open.map(|step| (step.from.in_memory(), step.to.in_memory())).collect();
        assert_eq!(plan.steps, words);
        for step in TABLE.iter().filter(|step| step.allowed == Allowed::Open) {
            assert_eq!(step.from.stored(), step.from.in_memory());
            assert_eq!(step.to.stored(), step.to.in_memory());
        }
    }
}
