//! Types of `inbox`: state, arguments of commands and bodies of events.

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
pub const TAKE_MAX: usize = 256;

/// `inbox.take`: takes what was delivered out of the inbox, most pressing first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// At most this many envelopes, and as many signals (default 16, at most 256).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
    /// Whose inbox; the caller's own if it has only one workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `inbox.taken`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The envelopes that were taken, in order.
    pub envelopes: Vec<EnvelopeId>,
    /// The news that was taken, by the entries that tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<EntryId>,
    /// The signals that were taken, in order.
    pub signals: Vec<SignalId>,
    /// Whose inbox.
    pub workspace_id: WorkspaceId,
}

/// What `inbox.take` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// Whose inbox.
    pub workspace: WorkspaceId,
    /// The envelopes, most pressing first.
    pub envelopes: Vec<EnvelopeView>,
    /// The signals of the workspaces below, in the order they came.
    pub signals: Vec<NoticeView>,
    /// What else the coordinator is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// How many envelopes are left in the inbox.
    pub left: usize,
    /// The workspaces in which nothing happens; for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<Quiet>,
}

/// A signal, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeView {
    /// The signal.
    pub signal: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// Which signal.
    #[serde(rename = "type")]
    pub kind: signal::SignalType,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is about.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// When it was emitted.
    pub at: Timestamp,
    /// What it says about a budget.
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
