//! The fields of records: one struct for all kinds, in which everything is left out by default.
//!
//! The table says which kind has which of them. They stand in the order of their names, which is
//! the order canonical JSON has them in.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::vocabulary::{
    CandidateType, Category, LoopKind, PlanType, Priority, Severity, Status, StepStatus, Verdict,
    Visibility,
};
use crate::model::leasing::lease::Ttl;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// A list of at most `MAX`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Few<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Few<T, MAX> {
    /// Takes a list, if it is not too long.
    pub fn new(list: Vec<T>) -> Result<Self, String> {
        match list.len() {
            count if count <= MAX => Ok(Few(list)),
            count => Err(format!("at most {MAX} are taken here, not {count}")),
        }
    }

    /// The list.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<T, const MAX: usize> std::ops::Deref for Few<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Few::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for Few<T, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Few{MAX}Of{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "array", "items": item, "maxItems": MAX })
    }
}

/// Something that may be left out.
pub(crate) trait Held {
    /// Whether it is.
    fn is_unset(&self) -> bool;
}

impl<T> Held for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

impl<T, const MAX: usize> Held for Few<T, MAX> {
    fn is_unset(&self) -> bool {
        self.0.is_empty()
    }
}

impl Held for BTreeMap<Status, Timestamp> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

/// A path, or something else that is said in a line.
pub type Line = Text<400>;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Who takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Label>,
    /// Which one, `stp_1` and on. The kernel counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<StepId>,
    /// How it stands; `todo` if left out.
    #[serde(default = "todo")]
    pub status: StepStatus,
    /// What is to be done.
    pub text: Text<2000>,
}

fn todo() -> StepStatus {
    StepStatus::Todo
}

/// The id of a step within its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(pub u32);

/// Text that is no id of a step.
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

impl Serialize for StepId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::de::from_str(deserializer, "the id of a step", str::parse)
    }
}

impl JsonSchema for StepId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StepId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^stp_[1-9][0-9]*$" })
    }
}

/// What is handed over with a handoff, to be relied on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Contract {
    /// The files that were touched.
    pub files_touched: Few<Line, 200>,
    /// The plans it belongs to.
    pub linked_plans: Few<Line, 64>,
    /// What holds after.
    pub post_conditions: Few<Line, 64>,
    /// What has to hold before.
    pub pre_conditions: Few<Line, 64>,
    /// The tests that show it.
    pub tests_to_verify: Few<Line, 64>,
}

/// What a review said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// What has to change before.
    #[serde(default)]
    pub blocking_issues: Few<Line, 64>,
    /// Who looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Label>,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text<4000>>,
    /// What it came to.
    pub verdict: Verdict,
}

/// Something that work left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text<2000>>,
    /// Where it is.
    #[serde(rename = "ref")]
    pub reference: Text<1000>,
    /// What sort of thing it is.
    #[serde(rename = "type")]
    pub kind: Label,
}

/// A plan in a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The plans that have to be done before.
    #[serde(default)]
    pub hard_after: Few<RecordId, 64>,
    /// The lane it goes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Label>,
    /// Which plan.
    pub plan: RecordId,
    /// Its place; no two have the same.
    pub rank: u32,
    /// What it is likely to touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_hint: Option<Line>,
    /// The plans that had better be done before.
    #[serde(default)]
    pub soft_after: Few<RecordId, 64>,
}

/// A place in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Who has it.
    pub agent: AgentName,
    /// The assignment that it is worked on under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<RecordId>,
    /// Whether its turn is over.
    #[serde(default)]
    pub done: bool,
    /// Which place.
    pub id: Label,
    /// What came of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Text<4000>>,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
}

/// What the lease of an assignment covers, to be opened again if it ran out before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cover {
    /// What it covers.
    pub surfaces: Surfaces,
    /// For how many seconds it is granted.
    pub ttl_s: Ttl,
}

/// A turn that was taken in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// Whose turn it was.
    pub agent: AgentName,
    /// When, in microseconds since 1970.
    pub at: Timestamp,
    /// The how manieth round it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// What came of it; the entry has it whole.
    pub outcome: Text<1000>,
    /// In which phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Label>,
    /// The entry of the trail that tells of it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub seq: u64,
    /// Which place.
    pub slot: Label,
}

/// The most turns of a loop that are at hand; the trail has them all.
pub const TURNS_MAX: usize = 64;

macro_rules! fields {
    ($( $(#[$meta:meta])* $name:ident $key:literal : $type:ty; )*) => {
        /// What a record says besides its text. The kind says which of these it has.
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

            /// The names of those that are given.
            pub fn given(&self) -> Vec<&'static str> {
                let all = [$( (self.$name.is_unset(), $key) ),*];
                all.into_iter().filter(|(unset, _)| !unset).map(|(_, name)| name).collect()
            }

            /// Takes over what another gives.
            pub(crate) fn take_over(&mut self, other: &Fields) {
                $( if !other.$name.is_unset() { self.$name = other.$name.clone(); } )*
            }

            /// Leaves out a field.
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
    /// How long an offer stands, in seconds (default 900).
    acceptance_ttl_secs "acceptance_ttl_secs": Option<u32>;
    /// How long it took, in minutes.
    actual_effort "actual_effort": Option<u32>;
    /// Who is to do it.
    agent "agent": Option<AgentName>;
    /// What came of it.
    artifacts "artifacts": Few<Artifact, 64>;
    /// Who has it.
    assignee "assignee": Option<Label>;
    /// The assignment it is about.
    assignment_id "assignment_id": Option<RecordId>;
    /// The how manieth attempt it is; written by the kernel.
    attempt "attempt": Option<u32>;
    /// What a candidate becomes.
    candidate_type "candidate_type": Option<CandidateType>;
    /// What a constraint is about.
    category "category": Option<Category>;
    /// The fencing epoch of the lease it is worked on under.
    claim "claim": Option<u64>;
    /// When it was done; written by the kernel.
    completed_at "completed_at": Option<Timestamp>;
    /// What can be relied on.
    contract "contract": Option<Arc<Contract>>;
    /// What the lease it is worked on under covers; written by the kernel.
    covers "covers": Option<Arc<Cover>>;
    /// The plans that have to be done before.
    depends_on "depends_on": Few<RecordId, 64>;
    /// The changes themselves.
    diff "diff": Option<Text<200_000>>;
    /// Who gave the work out; written by the kernel.
    #[schemars(with = "Option<String>")]
    dispatcher "dispatcher": Option<Principal>;
    /// What went wrong.
    error_message "error_message": Option<Text<4000>>;
    /// How long it should take, in minutes.
    estimated_effort "estimated_effort": Option<u32>;
    /// When it stops to hold, in microseconds since 1970.
    expires_at "expires_at": Option<Timestamp>;
    /// Whose it is: the author; whatever is given must be that.
    from "from": Option<Label>;
    /// How long whoever is at work may be silent, in seconds (default 1800).
    heartbeat_ttl_secs "heartbeat_ttl_secs": Option<u32>;
    /// The plans of a sequence.
    items "items": Few<Item, 256>;
    /// The how manieth round it is.
    iteration "iteration": Option<u32>;
    /// The lane it goes in.
    lane "lane": Option<Label>;
    /// When its agent was last heard of; written by the kernel.
    last_heartbeat_at "last_heartbeat_at": Option<Timestamp>;
    /// What a loop is for.
    loop_kind "loop_kind": Option<LoopKind>;
    /// How often it may be tried again (default 2).
    max_retries "max_retries": Option<u32>;
    /// What it was merged into; written by the kernel.
    merged_into "merged_into": Option<RecordId>;
    /// The message that told of it.
    message_id "message_id": Option<RecordId>;
    /// The whole story.
    narrative "narrative": Option<Text<64_000>>;
    /// What tells this attempt's results from others.
    nonce "nonce": Option<Label>;
    /// What a candidate was made of.
    origin "origin": Option<Label>;
    /// How far a loop is.
    phase "phase": Option<Label>;
    /// The plan it belongs to.
    plan_id "plan_id": Option<RecordId>;
    /// The platform it holds on.
    platform_scope "platform_scope": Option<Label>;
    /// How urgent it is (default medium).
    priority "priority": Option<Priority>;
    /// What became of a candidate; written by the kernel.
    promoted_to "promoted_to": Option<RecordId>;
    /// The paths it is about.
    related_paths "related_paths": Few<Line, 64>;
    /// Whether whoever gets it has to say so.
    requires_ack "requires_ack": Option<bool>;
    /// Why it ended; written by the kernel.
    resolved_reason "resolved_reason": Option<Text<1000>>;
    /// How often it was tried again; written by the kernel.
    retry_count "retry_count": Option<u32>;
    /// What a review said.
    review "review": Option<Arc<Review>>;
    /// Where it holds, or what it covers.
    scope "scope": Option<Line>;
    /// How bad it is (default medium).
    severity "severity": Option<Severity>;
    /// The places of a loop.
    slots "slots": Few<Slot, 32>;
    /// When each state was entered last; written by the kernel.
    stamps "stamps": BTreeMap<Status, Timestamp>;
    /// When it was begun; written by the kernel.
    started_at "started_at": Option<Timestamp>;
    /// How it stands, in words.
    status_reason "status_reason": Option<Text<1000>>;
    /// The steps of a plan.
    steps "steps": Few<Step, 128>;
    /// How many steps the plan ever had; written by the kernel.
    steps_made "steps_made": Option<u32>;
    /// When a loop is over.
    stop_conditions "stop_conditions": Option<Text<4000>>;
    /// What corrects it; written by the kernel.
    superseded_by "superseded_by": Option<RecordId>;
    /// What it corrects, or takes the place of.
    supersedes "supersedes": Option<RecordId>;
    /// The conversation it belongs to.
    thread "thread": Option<Label>;
    /// For whom it is.
    to "to": Option<Label>;
    /// The last turns that were taken in a loop; written by the kernel.
    turns "turns": Few<Taken, TURNS_MAX>;
    /// What sort of work a plan is.
    plan_type "type": Option<PlanType>;
    /// When it was last found to hold, in microseconds since 1970.
    verified_at "verified_at": Option<Timestamp>;
    /// What shows that it holds.
    verify_cmd "verify_cmd": Option<Text<1000>>;
    /// Who is meant to see it (default shared).
    visibility "visibility": Option<Visibility>;
    /// Where it is worked on.
    worktree_path "worktree_path": Option<Text<1000>>;
}

/// What the kernel alone writes.
pub const WRITTEN_BY_KERNEL: &[&str] = &[
    "attempt",
    "completed_at",
    "covers",
    "dispatcher",
    "last_heartbeat_at",
    "merged_into",
    "promoted_to",
    "resolved_reason",
    "retry_count",
    "stamps",
    "started_at",
    "steps_made",
    "superseded_by",
    "turns",
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
