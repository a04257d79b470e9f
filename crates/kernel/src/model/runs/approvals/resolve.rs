//! Types of `resolve`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::gate::{GateAction, GateEnd};
use crate::model::runs::envelope::PayloadArg;
use crate::model::runs::file::FileArg;
use crate::model::runs::seal::Integrity;
use crate::model::runs::task::Estimate;
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::{task, workspace};
use crate::values::content::{Blob, Content};
use crate::values::id::{GateId, WorkspaceId};
use crate::values::name::UserId;
use crate::values::text::Text;

/// Who ended a gate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolver {
    /// A person.
    User(UserId),
    /// The fallback, since nobody answered.
    Fallback,
    /// The runtime, since there was nothing left to decide about.
    Protocol,
}

impl std::fmt::Display for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Resolver::User(id) => f.pad(id.as_str()),
            Resolver::Fallback => f.pad("fallback"),
            Resolver::Protocol => f.pad("protocol"),
        }
    }
}

impl Serialize for Resolver {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Resolver {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // No user can be called so: these are reserved words.
        crate::values::de::from_str(deserializer, "a user, `fallback` or `protocol`", |text| {
            match text {
                "fallback" => Ok(Resolver::Fallback),
                "protocol" => Ok(Resolver::Protocol),
                id => UserId::new(id).map(Resolver::User),
            }
        })
    }
}

/// What a person may change about what waits. Each type of gate has its own fields; ids, times,
/// graphs and dependencies are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifications {
    /// Of a new workspace: what it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Of a task: what is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
    /// Of a task: what it is thought to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Of a conflict that was handed to a person: files as they should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// Of a task: what people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<200>>,
    /// Of an envelope: what is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadArg>,
    /// Of a task: how urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<task::Priority>,
    /// Of a new workspace: what it may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<WorkspaceId>>,
    /// Of a new workspace: how urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_priority: Option<workspace::Priority>,
}

impl Modifications {
    /// The content it cites.
    pub(crate) fn blobs(&self) -> Vec<&Blob> {
        let payload = self.payload.iter();
        let payload =
            payload.flat_map(|payload| payload.attachments.iter().chain([&payload.content]));
        let files = self.merged.iter().flatten().filter_map(|file| file.content.as_ref());
        self.description.iter().chain(payload).chain(files).filter_map(Content::blob).collect()
    }

    /// The fields that were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let fields = [
            ("budget", self.budget.is_some()),
            ("description", self.description.is_some()),
            ("estimate", self.estimate.is_some()),
            ("merged", self.merged.is_some()),
            ("name", self.name.is_some()),
            ("payload", self.payload.is_some()),
            ("priority", self.priority.is_some()),
            ("visibility", self.visibility.is_some()),
            ("workspace_priority", self.workspace_priority.is_some()),
        ];
        fields.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

/// `gate.resolve`: answers at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// What to do.
    pub action: GateAction,
    /// Which gate.
    pub gate: GateId,
    /// With `modify`: what is different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifications: Option<Box<Modifications>>,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

impl Resolve {
    /// What is different, if anything is.
    pub(crate) fn changed(&self) -> Option<&Modifications> {
        self.modifications.as_deref().filter(|changed| !changed.given().is_empty())
    }
}

/// `gate_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// How it ended.
    pub action: GateEnd,
    /// Who ended it.
    pub actor: Resolver,
    /// The gate.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
    /// The proof of an envelope that a person changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// What a person changed.
    pub modifications: Option<Box<Modifications>>,
    /// How much is in an envelope that a person changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<Amount>,
    /// Why.
    pub reason: Option<Text<1000>>,
}
