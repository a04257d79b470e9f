//! Creation of the project: the first entry of its trail.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::admin::adoption::{RULES_VERSION, Rules};
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::values::principal::{Caller, Principal};
use crate::values::stream::Stream;
use crate::values::text::Text;

pub use crate::model::admin::project::*;

pub(crate) fn decide_create(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, DecisionError> {
    if tx.state().project.is_some() {
        return Err(Refusal::denied(Rule::ProjectOnce, "this trail already has its project").into());
    }
    tx.emit(Draft {
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
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    if state.project.is_some() {
        return Err(ApplyError::Twice("the project"));
    }
    if created.format > TRAIL_FORMAT {
        return Err(ApplyError::NewerFormat { found: created.format, known: TRAIL_FORMAT });
    }
    state.project = Some(Project {
        created_at: entry.at,
        id: created.project.clone(),
        name: created.name.clone(),
        runtime_key: created.runtime_key,
        rules: Rules::stated(created.rules)?,
    });
    Ok(())
}
