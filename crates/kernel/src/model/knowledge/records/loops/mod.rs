//! Loops: phases, slots and turns of agents working together, and the acts that drive them.

pub(crate) mod phases;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Artifact, Fields};
use crate::model::knowledge::records::loops::phases::Stand;
use crate::model::knowledge::records::record::{Body, Record};
use crate::registry::record_id::RecordId;
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::text::Text;

/// The result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The loop goes on to its next phase.
    Passed,
    /// The loop goes back for another round.
    Failed,
}

/// An act in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Add an artifact (the author, or an agent with a slot).
    AddArtifact {
        /// The artifact.
        artifact: Artifact,
    },
    /// Advance to the next phase (the author).
    Advance {
        /// The target phase, if there are several; an earlier phase starts another round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Label>,
    },
    /// Answer a question (the one who was asked, or a person).
    Answer {
        /// The question; by default the oldest for the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<RecordId>,
        /// The answer.
        text: Body,
    },
    /// Ask the agent of a slot, or the author.
    Ask {
        /// The slot to ask; the loop's author by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Label>,
        /// The question.
        text: Body,
    },
    /// Bind an assignment to a slot (the author).
    Bind {
        /// The assignment.
        assignment: RecordId,
        /// The slot.
        slot: Label,
    },
    /// Continue a loop that is on hold, or start another round (the author).
    Continue {},
    /// Give a slot to another agent, along with the work in progress (the author).
    Takeover {
        /// The new agent.
        agent: AgentName,
        /// The slot.
        slot: Label,
    },
    /// Start the turn of a slot: its agent gets an assignment and a message (the author).
    Turn {
        /// The slot.
        slot: Label,
        /// The task; by default the text of the loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Body>,
    },
    /// Record the result of verifying the work (the author).
    Verify {
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text<2000>>,
        /// The result.
        verdict: Check,
    },
}

impl Act {
    /// The name.
    pub fn name(&self) -> &'static str {
        match self {
            Act::AddArtifact { .. } => "add_artifact",
            Act::Advance { .. } => "advance",
            Act::Answer { .. } => "answer",
            Act::Ask { .. } => "ask",
            Act::Bind { .. } => "bind",
            Act::Continue {} => "continue",
            Act::Takeover { .. } => "takeover",
            Act::Turn { .. } => "turn",
            Act::Verify { .. } => "verify",
        }
    }

    /// The artifact that this act adds to the loop, if any.
    pub(crate) fn artifact(&self) -> Option<Artifact> {
        match self {
            Act::AddArtifact { artifact } => Some(artifact.clone()),
            Act::Verify { reason, verdict } => Some(Artifact {
                description: reason.clone(),
                reference: Text::lossy(match verdict {
                    Check::Passed => "passed",
                    Check::Failed => "failed",
                }),
                kind: Label::constant("verification"),
            }),
            _ => None,
        }
    }
}

/// `memory.loop`: an act in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InLoop {
    /// The act.
    pub act: Act,
    /// The expected version of the loop; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The loop.
    pub id: RecordId,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// `memory.looped`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looped {
    /// The act.
    pub act: Act,
    /// The side effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The loop.
    pub id: RecordId,
    /// The new round, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The new phase, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Label>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was done in.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub session: Option<WorkspaceId>,
}

/// Whether a change of a loop's phase and round in an old entry is one that its table allows:
/// before `memory.loop` existed, `memory.update` made such changes.
pub(crate) fn is_step(own: &Record, fields: &Fields) -> bool {
    let (stand, round) = (Stand::of(own), own.fields.iteration.unwrap_or(1));
    let leads = |phase: &Label| {
        !stand.is_known()
            || stand.phase == phase.as_str()
            || stand.next(Some(phase.as_str())).is_ok()
    };
    fields.phase.as_ref().is_none_or(leads)
        && fields.iteration.is_none_or(|next| next == round || next == round + 1)
}
