//! The fields of records: one struct for all kinds, in which every field is optional.
//!
//! The table says which kind has which fields. They are sorted by name, the order of canonical
//! JSON.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::knowledge::records::task::TaskPart;
use crate::model::knowledge::records::vocabulary::{
    CandidateType, Category, LoopKind, PlanType, Priority, Severity, Status, StepStatus, Verdict,
    Visibility,
};
use crate::model::leasing::lease::Ttl;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::runs::task::graph::DEPENDENCIES_MAX;
use crate::registry::record_id::RecordId;
use crate::values::id::WorkspaceId;
use crate::values::label::{Handle, Label};
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::string_newtype::{inline_schema, serde_as_text};
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::values::few::Few;

/// A field that can be unset.
pub(crate) trait Held {
    /// Whether it is unset.
    fn is_unset(&self) -> bool;
}

impl<T> Held for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

impl<T, const MAX: usize> Held for Few<T, MAX> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Held for BTreeMap<Status, Timestamp> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

/// A path, or other text of one line.
pub type Line = Text<400>;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The assignee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Label>,
    /// The id, `stp_1` and on, assigned by the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<StepId>,
    /// The plan that the step is, if it is a plan below this one. Such a step is only shown here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RecordId>,
    /// The status; `todo` by default.
    #[serde(default = "todo")]
    pub status: StepStatus,
    /// The task.
    pub text: Text<2000>,
}

fn todo() -> StepStatus {
    StepStatus::Todo
}

/// The id of a step within its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(pub u32);

/// The error for text that is no id of a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id of a step: expected `stp_` and a number")]
pub struct StepIdError(String);

impl std::fmt::Display for StepId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stp_{}", self.0)
    }
}

impl std::str::FromStr for StepId {
    type Err = StepIdError;

    fn from_str(text: &str) -> Result<Self, StepIdError> {
        let digits = text.strip_prefix("stp_").unwrap_or_default();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse().ok().filter(|_| plain);
        number.map(StepId).ok_or_else(|| StepIdError(text.chars().take(40).collect()))
    }
}

serde_as_text!(StepId, "the id of a step", str::parse);
inline_schema!(StepId, { "type": "string", "pattern": "^stp_[1-9][0-9]*$" });

/// The guarantees that a handoff makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Contract {
    /// The files that were touched.
    pub files_touched: Few<Line, 200>,
    /// The plans it belongs to.
    pub linked_plans: Few<Line, 64>,
    /// Conditions that hold after the handoff.
    pub post_conditions: Few<Line, 64>,
    /// Conditions that must hold before it.
    pub pre_conditions: Few<Line, 64>,
    /// The tests that verify it.
    pub tests_to_verify: Few<Line, 64>,
}

/// The result of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Issues that block approval.
    #[serde(default)]
    pub blocking_issues: Few<Line, 64>,
    /// The reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Label>,
    /// The findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text<4000>>,
    /// The verdict.
    pub verdict: Verdict,
}

/// An artifact produced by work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<2000>>,
    /// The path, URL or other reference.
    #[serde(rename = "ref")]
    pub reference: Text<1000>,
    /// The type of artifact.
    #[serde(rename = "type")]
    pub kind: Label,
}

/// A plan in a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The plans that must be done before.
    #[serde(default)]
    pub hard_after: Few<RecordId, 64>,
    /// The lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Label>,
    /// The plan.
    pub plan: RecordId,
    /// Its rank; unique within the sequence.
    pub rank: u32,
    /// The paths it is likely to touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_hint: Option<Line>,
    /// The plans that should be done before.
    #[serde(default)]
    pub soft_after: Few<RecordId, 64>,
}

/// A slot in a loop: a role taken by an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// The agent that has the slot.
    pub agent: AgentName,
    /// The assignment it works under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<RecordId>,
    /// Whether its turn is over.
    #[serde(default)]
    pub done: bool,
    /// The id of the slot.
    pub id: Label,
    /// The outcome of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Text<4000>>,
    /// The role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
}

/// The terms of an assignment's lease, kept to reopen it if it expired early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cover {
    /// The surfaces it covers.
    pub surfaces: Surfaces,
    /// Its time to live, in seconds.
    pub ttl_s: Ttl,
}

/// A turn that was taken in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The agent that took the turn.
    pub agent: AgentName,
    /// When, in microseconds since 1970.
    pub at: Timestamp,
    /// The number of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The outcome, shortened; the entry has the full text.
    pub outcome: Text<1000>,
    /// The phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Label>,
    /// The sequence number of the entry that records it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub seq: u64,
    /// The id of the slot.
    pub slot: Label,
}

/// The most turns of a loop kept in the state; the trail has all of them.
pub(crate) const TURNS_MAX: usize = 64;

macro_rules! fields {
    ($( $(#[$meta:meta])* $name:ident $key:literal : $type:ty; )*) => {
        /// The fields of a record besides its text. The kind determines which are allowed.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Fields {
            $(
                $(#[$meta])*
                #[serde(default, rename = $key, skip_serializing_if = "Held::is_unset")]
                pub $name: $type,
            )*
        }

        impl Fields {
            /// The names of all fields.
            pub const NAMES: &'static [&'static str] = &[$($key),*];

            /// The names of the fields that are set.
            pub fn given(&self) -> Vec<&'static str> {
                let all = [$( (self.$name.is_unset(), $key) ),*];
                all.into_iter().filter(|(unset, _)| !unset).map(|(_, name)| name).collect()
            }

            /// Copies the fields that are set in another.
            pub(crate) fn take_over(&mut self, other: &Fields) {
                $( if !other.$name.is_unset() { self.$name = other.$name.clone(); } )*
            }

            /// Whether another has every field that is set here, with the same value.
            pub fn is_part_of(&self, other: &Fields) -> bool {
                $( (self.$name.is_unset() || self.$name == other.$name) && )* true
            }

            /// Unsets a field.
            pub(crate) fn clear(&mut self, name: &str) {
                match name {
                    $( $key => self.$name = Default::default(), )*
                    _ => {}
                }
            }
        }
    };
}

fields! {
    /// Time until an offer expires, in seconds (default 900).
    acceptance_ttl_secs "acceptance_ttl_secs": Option<u32>;
    /// Actual effort, in minutes.
    actual_effort "actual_effort": Option<u32>;
    /// The agent to do the work.
    agent "agent": Option<AgentName>;
    /// Artifacts produced.
    artifacts "artifacts": Few<Artifact, 64>;
    /// The assignee.
    assignee "assignee": Option<Label>;
    /// The assignment it is about.
    assignment_id "assignment_id": Option<RecordId>;
    /// The number of the attempt; written by the kernel.
    attempt "attempt": Option<u32>;
    /// The kind of record that the candidate is promoted to.
    candidate_type "candidate_type": Option<CandidateType>;
    /// The category of the constraint.
    category "category": Option<Category>;
    /// The fencing epoch of the lease it is worked on under.
    claim "claim": Option<u64>;
    /// When it was completed; written by the kernel.
    completed_at "completed_at": Option<Timestamp>;
    /// The guarantees of the handoff.
    contract "contract": Option<Arc<Contract>>;
    /// The terms of the lease it is worked on under; written by the kernel.
    covers "covers": Option<Arc<Cover>>;
    /// The decision that a capsule reports.
    decision "decision": Option<Text<1000>>;
    /// The capsules that a capsule depends on; they need not exist yet.
    depends "depends": Few<Handle, 32>;
    /// The plans that must be done before.
    depends_on "depends_on": Few<RecordId, DEPENDENCIES_MAX>;
    /// The changes as a diff.
    diff "diff": Option<Text<200_000>>;
    /// The principal who dispatched the work; written by the kernel.
    #[schemars(with = "Option<String>")]
    dispatcher "dispatcher": Option<Principal>;
    /// The dispute that the decision reports; written by the kernel.
    dispute "dispute": Option<Handle>;
    /// The error message.
    error_message "error_message": Option<Text<4000>>;
    /// Estimated effort, in minutes.
    estimated_effort "estimated_effort": Option<u32>;
    /// When it expires, in microseconds since 1970.
    expires_at "expires_at": Option<Timestamp>;
    /// The sender: always the author; any other value is refused.
    from "from": Option<Label>;
    /// The warning of a capsule to its readers.
    gotcha "gotcha": Option<Text<1000>>;
    /// How long a working agent may go without a heartbeat, in seconds (default 1800).
    heartbeat_ttl_secs "heartbeat_ttl_secs": Option<u32>;
    /// The plans of a sequence.
    items "items": Few<Item, 256>;
    /// The number of the round.
    iteration "iteration": Option<u32>;
    /// The key of a fact, or the id of a symbol or a capsule; unique among its kind.
    key "key": Option<Label>;
    /// The lane.
    lane "lane": Option<Label>;
    /// The time of the agent's last heartbeat; written by the kernel.
    last_heartbeat_at "last_heartbeat_at": Option<Timestamp>;
    /// The kind of loop.
    loop_kind "loop_kind": Option<LoopKind>;
    /// The maximum number of retries (default 2).
    max_retries "max_retries": Option<u32>;
    /// The record it was merged into; written by the kernel.
    merged_into "merged_into": Option<RecordId>;
    /// The message that announced it.
    message_id "message_id": Option<RecordId>;
    /// The full narrative.
    narrative "narrative": Option<Text<64_000>>;
    /// A nonce that distinguishes this attempt's results from others.
    nonce "nonce": Option<Label>;
    /// The origin of the candidate.
    origin "origin": Option<Label>;
    /// The phase of the loop.
    phase "phase": Option<Label>;
    /// The plan it belongs to.
    plan_id "plan_id": Option<RecordId>;
    /// The platform it applies to.
    platform_scope "platform_scope": Option<Label>;
    /// The priority (default medium).
    priority "priority": Option<Priority>;
    /// The record the candidate was promoted to; written by the kernel.
    promoted_to "promoted_to": Option<RecordId>;
    /// The paths it is about.
    related_paths "related_paths": Few<Line, 64>;
    /// Whether the recipient has to acknowledge it.
    requires_ack "requires_ack": Option<bool>;
    /// The reason why it ended; written by the kernel.
    resolved_reason "resolved_reason": Option<Text<1000>>;
    /// The number of retries; written by the kernel.
    retry_count "retry_count": Option<u32>;
    /// The result of the review.
    review "review": Option<Arc<Review>>;
    /// The scope it applies to or covers.
    scope "scope": Option<Line>;
    /// The severity (default medium).
    severity "severity": Option<Severity>;
    /// The slots of a loop.
    slots "slots": Few<Slot, 32>;
    /// When each state was entered last; written by the kernel.
    stamps "stamps": BTreeMap<Status, Timestamp>;
    /// When work started; written by the kernel.
    started_at "started_at": Option<Timestamp>;
    /// A comment on the status.
    status_reason "status_reason": Option<Text<1000>>;
    /// The steps of a plan.
    steps "steps": Few<Step, 128>;
    /// The number of steps the plan ever had; written by the kernel.
    steps_made "steps_made": Option<u32>;
    /// The conditions under which the loop ends.
    stop_conditions "stop_conditions": Option<Text<4000>>;
    /// The record that supersedes it; written by the kernel.
    superseded_by "superseded_by": Option<RecordId>;
    /// The record that it supersedes.
    supersedes "supersedes": Option<RecordId>;
    /// The part of a task that only runs know of; written by the kernel.
    task "task": Option<Arc<TaskPart>>;
    /// The message thread.
    thread "thread": Option<Label>;
    /// The recipient.
    to "to": Option<Label>;
    /// The latest turns taken in the loop; written by the kernel.
    turns "turns": Few<Taken, TURNS_MAX>;
    /// The type of plan.
    plan_type "type": Option<PlanType>;
    /// When it was last verified, in microseconds since 1970.
    verified_at "verified_at": Option<Timestamp>;
    /// The command that verifies it.
    verify_cmd "verify_cmd": Option<Text<1000>>;
    /// The visibility (default shared).
    visibility "visibility": Option<Visibility>;
    /// The place of the change that a capsule reports.
    place "where": Option<Text<1000>>;
    /// The workspace that the assignment is worked on in; written by the kernel.
    workspace "workspace": Option<WorkspaceId>;
    /// The path of the worktree.
    worktree_path "worktree_path": Option<Text<1000>>;
}

impl Fields {
    /// Returns these fields with some of them unset and others set.
    #[must_use]
    pub fn with(&self, clear: &[Label], set: &Fields) -> Fields {
        let mut fields = self.clone();
        for name in clear {
            fields.clear(name.as_str());
        }
        fields.take_over(set);
        fields
    }
}

/// The fields that only the kernel writes.
pub const WRITTEN_BY_KERNEL: &[&str] = &[
    "attempt",
    "completed_at",
    "covers",
    "dispatcher",
    "dispute",
    "last_heartbeat_at",
    "merged_into",
    "promoted_to",
    "resolved_reason",
    "retry_count",
    "stamps",
    "started_at",
    "steps_made",
    "superseded_by",
    "task",
    "turns",
    "workspace",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_the_order_of_their_names() {
        assert!(Fields::NAMES.is_sorted());
        assert!(WRITTEN_BY_KERNEL.iter().all(|name| Fields::NAMES.contains(name)));
    }
}
