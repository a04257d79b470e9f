//! Types of `terminate`: state, arguments of commands and bodies of events.

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

/// What the envelope says it is about.
const INTENT: &str = "graceful_termination";

/// What the agent is to do, for one that reads words rather than fields.
const REQUEST: &str = "Make a final checkpoint and say `complete` before this time is over.";

/// `workspace.terminate`: asks a workspace to finish, and ends it if it has not by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terminate {
    /// How long it has to finish, in seconds.
    pub grace_s: Timeout,
    /// Why, for its agent and others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `graceful_termination_initiated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Initiated {
    /// How long it has to finish, in microseconds.
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
    /// How long it had, in microseconds.
    pub grace_period: Span,
    /// How far it had come: its newest checkpoint.
    pub partial_checkpoint: Option<CheckpointId>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A workspace that was asked to finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// How long it has.
    pub grace: Span,
    /// The reason.
    pub reason: Option<Text<1000>>,
    /// How long it had worked when it was asked.
    pub worked: Span,
}

/// The message to the agent: JSON, written out here so that it is the same bytes everywhere.
fn notice(grace: Span, reason: Option<&Text<1000>>) -> String {
    let grace = grace.secs();
    let quoted = |text: &Text<1000>| serde_json::Value::from(text.as_str()).to_string();
    let reason = reason.map_or_else(String::new, |why| format!(r#""reason":{},"#, quoted(why)));
    format!(r#"{{"grace_period_s":{grace},"intent":"{INTENT}",{reason}"request":"{REQUEST}"}}"#)
}

impl Terminate {
    /// What the agent is told, as it stands in the envelope.
    pub(crate) fn notice(&self) -> String {
        notice(self.grace_s.span(), self.reason.as_ref())
    }
}

impl Termination {
    /// What was put in the envelope to the agent.
    pub(crate) fn payload(&self) -> Payload {
        payload(&notice(self.grace, self.reason.as_ref()))
    }
}

pub(crate) fn payload(notice: &str) -> Payload {
    let content = Blob::of(notice.as_bytes());
    Payload { attachments: Vec::new(), content, format: Format::json() }
}

impl Workspace {
    /// When its grace is over, if it was asked to finish and nothing changes before.
    pub fn grace_ends(&self) -> Option<Timestamp> {
        let asked = self.termination.as_ref()?;
        let until = asked.worked.micros().saturating_add(asked.grace.micros());
        let left = Span::from_micros(until.saturating_sub(self.spent.micros()));
        matches!(self.status, Status::Active | Status::Blocked).then(|| self.since.after(left))
    }
}
