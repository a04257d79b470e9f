//! The project: the first entry of its trail, and what holds for all of it.

use serde::{Deserialize, Serialize};

use crate::adoption::{RULES_VERSION, Rules};
use crate::event::{Draft, Event, Stamped, Stream};
use crate::id::ProjectId;
use crate::key::PublicKey;
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// The version of the trail's form that this kernel writes.
pub const TRAIL_FORMAT: u32 = 1;

/// What the state remembers of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id, and that of its trail.
    pub id: ProjectId,
    /// What people call it.
    pub name: Text<128>,
    /// The key that signs heads now.
    pub runtime_key: PublicKey,
    /// The rules that hold.
    #[serde(default)]
    pub rules: Rules,
}

/// `project.create`: issued once, by the runtime that sets the project up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What people call it.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
}

/// `project.created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The hash that chains the trail.
    pub algorithm: Text<16>,
    /// The version of the trail's form.
    pub format: u32,
    /// What people call the project.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
    /// The version of the rules that holds; trails from before this was said have the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u32>,
    /// The key that signs heads.
    pub runtime_key: PublicKey,
}

pub(crate) fn decide_create(
    turn: &mut Turn<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, Halt> {
    if turn.state().project.is_some() {
        return Err(Refusal::denied(Rule::ProjectOnce, "this trail already has its project").into());
    }
    turn.emit(Draft {
        actor: Principal::System.into(),
        workspace: None,
        stream: Stream::project(&create.project),
        correlation: None,
        causation: None,
        event: Event::ProjectCreated(Created {
            algorithm: Text::lossy("sha256"),
            format: TRAIL_FORMAT,
            name: create.name.clone(),
            project: create.project.clone(),
            rules: Some(RULES_VERSION),
            runtime_key: caller.key,
        }),
    })?;
    Ok(Reply::Done)
}

pub(crate) fn apply_created(
    state: &mut State,
    _entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    if state.project.is_some() {
        return Err(ApplyError::Twice("the project"));
    }
    if created.format > TRAIL_FORMAT {
        return Err(ApplyError::NewerFormat { found: created.format, known: TRAIL_FORMAT });
    }
    state.project = Some(Project {
        id: created.project.clone(),
        name: created.name.clone(),
        runtime_key: created.runtime_key,
        rules: Rules::stated(created.rules)?,
    });
    Ok(())
}
