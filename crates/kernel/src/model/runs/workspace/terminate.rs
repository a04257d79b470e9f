//! Graceful termination: asking a workspace to finish within a grace period.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::Payload;
use crate::model::runs::workspace::{Status, Timeout, Workspace};
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};
use crate::values::token::Format;

/// The intent field of the notice to the agent.
const INTENT: &str = "graceful_termination";

/// The request in words, for agents that do not interpret the fields.
const REQUEST: &str = "Make a final checkpoint and say `complete` before this time is over.";

/// `workspace.terminate`: asks a workspace to finish, and ends it after the grace period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terminate {
    /// The grace period, in seconds.
    pub grace_s: Timeout,
    /// The reason, shown to its agent and others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `graceful_termination_initiated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Initiated {
    /// The grace period, in microseconds.
    pub grace_period: Span,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `graceful_termination_expired`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// The grace period, in microseconds.
    pub grace_period: Span,
    /// Its newest checkpoint at that time.
    pub partial_checkpoint: Option<CheckpointId>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A request to terminate that is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// The grace period.
    pub grace: Span,
    /// The reason.
    pub reason: Option<Text<1000>>,
    /// The working time it had used when it was asked.
    pub worked: Span,
}

/// The notice to the agent: JSON, assembled by hand so that it is the same bytes everywhere.
fn notice(grace: Span, reason: Option<&Text<1000>>) -> String {
    let grace = grace.secs();
    let quoted = |text: &Text<1000>| serde_json::Value::from(text.as_str()).to_string();
    let reason = reason.map_or_else(String::new, |why| format!(r#""reason":{},"#, quoted(why)));
    format!(r#"{{"grace_period_s":{grace},"intent":"{INTENT}",{reason}"request":"{REQUEST}"}}"#)
}

impl Terminate {
    /// The notice to the agent, as sent in the envelope.
    pub(crate) fn notice(&self) -> String {
        notice(self.grace_s.span(), self.reason.as_ref())
    }
}

pub(crate) fn payload(notice: &str) -> Payload {
    let content = Blob::of(notice.as_bytes());
    Payload { attachments: Vec::new(), content, format: Format::json() }
}

impl Workspace {
    /// When its grace period ends, if it was asked to terminate and nothing changes before.
    pub fn grace_ends(&self) -> Option<Timestamp> {
        let asked = self.termination.as_ref()?;
        let until = asked.worked.micros().saturating_add(asked.grace.micros());
        let left = Span::from_micros(until.saturating_sub(self.spent.micros()));
        matches!(self.status, Status::Active | Status::Blocked).then(|| self.since.after(left))
    }
}
