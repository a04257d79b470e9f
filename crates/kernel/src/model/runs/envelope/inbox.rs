//! Inboxes: taking delivered envelopes, signals and news.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::news::News;
use crate::model::runs::signal;
use crate::model::runs::signal::Notice;
use crate::model::runs::workspace::budget;
use crate::model::runs::workspace::liveness::Quiet;
use crate::values::id::{EntryId, EnvelopeId, SignalId, WorkspaceId};
use crate::values::time::Timestamp;

/// The most envelopes or signals taken at once.
pub(crate) const TAKE_MAX: usize = 256;

/// `inbox.take`: takes delivered mail out of the inbox, most urgent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// The most envelopes, and the most signals, to take (default 16, at most 256).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
    /// The workspace whose inbox it is; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `inbox.taken`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The envelopes that were taken, in order.
    pub envelopes: Vec<EnvelopeId>,
    /// The news that was taken, by the ids of their entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<EntryId>,
    /// The signals that were taken, in order.
    pub signals: Vec<SignalId>,
    /// The workspace whose inbox it is.
    pub workspace_id: WorkspaceId,
}

/// The reply to `inbox.take`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// The workspace whose inbox it is.
    pub workspace: WorkspaceId,
    /// The envelopes, most urgent first.
    pub envelopes: Vec<EnvelopeView>,
    /// The signals of child workspaces, in order of arrival.
    pub signals: Vec<NoticeView>,
    /// Other news for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// The number of envelopes left in the inbox.
    pub left: usize,
    /// Workspaces without activity; for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<Quiet>,
}

/// A signal, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeView {
    /// The id of the signal.
    pub signal: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The type of signal.
    #[serde(rename = "type")]
    pub kind: signal::SignalType,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject it refers to.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// When it was emitted.
    pub at: Timestamp,
    /// The budget warning it carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
}

impl NoticeView {
    pub(crate) fn of(notice: &Notice) -> Self {
        NoticeView {
            signal: notice.id.clone(),
            from: notice.from.clone(),
            kind: notice.signal,
            reason: notice.reason.as_ref().map(ToString::to_string),
            about: notice.about.as_ref().map(ToString::to_string),
            at: notice.at,
            budget_warning: notice.budget_warning.clone(),
        }
    }
}
