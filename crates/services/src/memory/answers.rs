//! Answers of the verbs that write one record. Hosts get them as JSON; callers in this process read
//! that as these types.

use althing_dialects::memory::moment::utc;
use althing_kernel::records::{Effect, Kind, Record, RecordId, Status};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// A side effect of a verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideEffect {
    /// The action, in a word.
    pub action: String,
    /// The kind of record.
    pub entity: Kind,
    /// The record.
    pub id: RecordId,
    /// Its new state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Status>,
    /// More about it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl SideEffect {
    pub(super) fn new(action: &str, entity: Kind, id: RecordId) -> Self {
        SideEffect { action: action.to_owned(), entity, id, to: None, detail: None }
    }

    /// A side effect of a command of the kernel.
    pub(super) fn of(effect: &Effect) -> Self {
        let detail = effect.detail.as_ref().map(ToString::to_string);
        let own = SideEffect::new(effect.action.as_str(), effect.kind, effect.id);
        SideEffect { to: effect.to, detail, ..own }
    }
}

/// A record with a text like that of a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearby {
    /// The record.
    pub id: RecordId,
    /// Its label.
    pub short_label: String,
    /// The beginning of its text.
    pub text: String,
}

/// The answer of `create` and `update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The kind of record.
    pub entity: Kind,
    /// The record.
    pub id: RecordId,
    /// Its label.
    pub short_label: String,
    /// The kind of record, again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Whether a claim was created, existed already, or is over: `created`, `existing`, `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_status: Option<String>,
    /// The scope of a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its version; claims have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// When it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// When a claim ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The entry of the trail that last changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The name of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_project: Option<String>,
    /// Records like it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nearby_items: Vec<Nearby>,
    /// Tools to call next, with their arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<Value>,
    /// Whether the last step was done, and the plan with it.
    #[serde(
        rename = "planAutoCompleted",
        default,
        skip_serializing_if = "<&bool as std::ops::Not>::not"
    )]
    pub plan_completed: bool,
    /// The side effects, where there can be any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<Vec<SideEffect>>,
    /// Warnings, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Stored {
    /// The bare answer about a record or a claim.
    pub(super) fn new(id: RecordId) -> Self {
        Stored {
            entity: id.kind,
            id,
            short_label: id.label(),
            kind: None,
            status: None,
            claim_status: None,
            scope: None,
            version: None,
            created_at: None,
            updated_at: None,
            expires_at: None,
            entry: None,
            resolved_project: None,
            nearby_items: Vec::new(),
            next_actions: Vec::new(),
            plan_completed: false,
            side_effects: None,
            warnings: Vec::new(),
        }
    }

    /// The answer about a record that was created or changed.
    pub(super) fn of(record: &Record) -> Self {
        Stored {
            kind: Some(record.id.kind),
            status: Some(record.status),
            version: Some(record.version),
            created_at: Some(utc(record.created_at)),
            updated_at: Some(utc(record.updated_at)),
            entry: Some(record.updated_seq),
            ..Stored::new(record.id)
        }
    }
}

/// The answer of `transition`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The kind of record.
    pub entity: Kind,
    /// The record.
    pub id: RecordId,
    /// Its label.
    pub short_label: String,
    /// Its state before. A claim that nobody remembers is `over`.
    pub from: Option<String>,
    /// Its state now.
    pub to: Option<String>,
    /// Whether anything changed.
    pub changed: bool,
    /// Its version; claims have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// With the progress of an assignment: how many artifacts it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<usize>,
    /// The side effects.
    pub side_effects: Vec<SideEffect>,
    /// Warnings, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Moved {
    pub(super) fn new(id: RecordId, from: Option<&str>, to: Option<&str>, changed: bool) -> Self {
        Moved {
            entity: id.kind,
            id,
            short_label: id.label(),
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            changed,
            version: None,
            artifacts: None,
            side_effects: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The answer of `complete_step`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    /// The plan.
    #[serde(rename = "planId")]
    pub plan: RecordId,
    /// The step.
    #[serde(rename = "stepId")]
    pub step: String,
    /// How many steps the plan has.
    pub total: usize,
    /// How many of them are done.
    pub done: usize,
    /// Whether it was the last one, and the plan is done.
    #[serde(rename = "planAutoCompleted")]
    pub plan_completed: bool,
    /// The side effects.
    pub side_effects: Vec<SideEffect>,
}

/// The answer of `remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The kind of record.
    pub entity: Kind,
    /// The record.
    pub id: RecordId,
    /// Whether it is archived. An open assignment is cancelled instead.
    pub archived: bool,
    /// The state of a cancelled assignment before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Status>,
    /// Its state now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Status>,
    /// The side effects.
    pub side_effects: Vec<SideEffect>,
}

impl Removed {
    pub(super) fn archived(id: RecordId, side_effects: Vec<SideEffect>) -> Self {
        let (entity, from, to) = (id.kind, None, None);
        Removed { entity, id, archived: true, from, to, side_effects }
    }
}

/// Reads an answer.
pub fn read<A: DeserializeOwned>(answer: &Value) -> Result<A, Error> {
    A::deserialize(answer).map_err(|error| Error::defect(format!("an unreadable answer: {error}")))
}

/// An answer as hosts get it.
pub(super) fn value(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(|error| Error::defect(error.to_string()))
}
