//! Types of `loops`: state, arguments of commands and bodies of events.

pub(crate) mod phases;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Artifact, Fields};
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::loops::phases::Stand;
use crate::model::knowledge::records::record::{Body, Record};
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::text::Text;

/// How a check came out.
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
    /// Add to what came of it (the author, or whoever has a place).
    AddArtifact {
        /// What came of it.
        artifact: Artifact,
    },
    /// Go on to the next phase (the author).
    Advance {
        /// To which, if the phase leads to several; back begins another round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Label>,
    },
    /// Answer what was asked (whom it was asked of, or a person).
    Answer {
        /// Which question; the oldest for the caller if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<RecordId>,
        /// The answer.
        text: Body,
    },
    /// Ask whoever has a place, or the author.
    Ask {
        /// Whose place; the loop's author is asked if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Label>,
        /// The question.
        text: Body,
    },
    /// Have an assignment be what is worked on in a place (the author).
    Bind {
        /// Which assignment.
        assignment: RecordId,
        /// Which place.
        slot: Label,
    },
    /// Go on with a loop that was held, or begin another round (the author).
    Continue {},
    /// Give a place to another agent, with the work that is under way in it (the author).
    Takeover {
        /// Who gets it.
        agent: AgentName,
        /// Which place.
        slot: Label,
    },
    /// Give the turn to a place: its agent gets an assignment and a message (the author).
    Turn {
        /// Which place.
        slot: Label,
        /// What to do; what the loop is about if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Body>,
    },
    /// Say how the check of what was built came out (the author).
    Verify {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Text<2000>>,
        /// How it came out.
        verdict: Check,
    },
}

impl Act {
    /// Its name.
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

    /// What it adds to what came of the loop.
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
    /// What to do.
    pub act: Act,
    /// The version the loop is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which loop.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// `memory.looped`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looped {
    /// What was done.
    pub act: Act,
    /// What followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Which loop.
    pub id: RecordId,
    /// The round it is in now, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The phase it is in now, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Label>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was done in.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub session: Option<WorkspaceId>,
}

/// Whether a change of a loop's phase and round that an old entry tells of is one that its table
/// has: before there was `memory.loop`, `memory.update` took such steps.
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
