//! Resolving gates: approve, reject or modify.

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
use crate::values::string_newtype::serde_as_text;
use crate::values::text::Text;

/// The party that closed a gate or an escalation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolver {
    /// A person.
    User(UserId),
    /// The fallback, because nobody answered in time.
    Fallback,
    /// The runtime, because there was nothing left to decide.
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

// `fallback` and `protocol` are reserved words, so no user can have them as id.
serde_as_text!(Resolver, "a user, `fallback` or `protocol`", |text| match text {
    "fallback" => Ok(Resolver::Fallback),
    "protocol" => Ok(Resolver::Protocol),
    id => UserId::new(id).map(Resolver::User),
});

/// Changes that a person makes to the action that waits. Each type of gate allows its own fields;
/// ids, times, graphs and dependencies cannot be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifications {
    /// For a new workspace: its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// For a task: its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
    /// For a task: its estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// For a conflict that was escalated to a person: the merged files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// For a task: its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<200>>,
    /// For an envelope: its payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadArg>,
    /// For a task: its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<task::Priority>,
    /// For a new workspace: the workspaces it may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<WorkspaceId>>,
    /// For a new workspace: its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_priority: Option<workspace::Priority>,
}

impl Modifications {
    /// The content it refers to.
    pub(crate) fn blobs(&self) -> Vec<&Blob> {
        let payload = self.payload.iter();
        let payload =
            payload.flat_map(|payload| payload.attachments.iter().chain([&payload.content]));
        let files = self.merged.iter().flatten().filter_map(|file| file.content.as_ref());
        self.description.iter().chain(payload).chain(files).filter_map(Content::blob).collect()
    }

    /// The names of the fields that are set.
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

/// `gate.resolve`: decides at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The decision.
    pub action: GateAction,
    /// The gate.
    pub gate: GateId,
    /// With `modify`: the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifications: Option<Box<Modifications>>,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

impl Resolve {
    /// The changes, if there are any.
    pub(crate) fn changed(&self) -> Option<&Modifications> {
        self.modifications.as_deref().filter(|changed| !changed.given().is_empty())
    }
}

/// `gate_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The outcome.
    pub action: GateEnd,
    /// The party that closed it.
    pub actor: Resolver,
    /// The gate.
    pub gate_id: GateId,
    /// The type of action that waited.
    pub gate_type: GateType,
    /// The new integrity proof of an envelope that a person modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// The changes a person made.
    pub modifications: Option<Box<Modifications>>,
    /// The new payload size of an envelope that a person modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<Amount>,
    /// The reason.
    pub reason: Option<Text<1000>>,
}
