//! Attempts: an agent's try at a piece of work. A workspace and an assignment are one attempt, in
//! the words of two protocols.
//!
//! Inside a run an attempt is *governed*: signals and the coordinator's orders move its workspace,
//! and the assignment follows ([`follow`]). Outside runs it is *open*: the verbs for records move
//! the assignment, and its workspace below the standing root follows ([`open`]). The verbs of the
//! other protocol are translated ([`orders`], [`open::signalled`]), so every step is decided by one
//! set of rules, whichever door asked for it.

pub(crate) mod open;
pub(crate) mod orders;

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::state::records::caused_by;
use crate::model::knowledge::records::field::{Cover, Fields};
use crate::model::knowledge::records::kind::{Kind, RecordId};
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::vocabulary::Status as Word;
use crate::model::leasing::lease::Ttl;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::{Status, Timeout, Workspace};
use crate::protocol::event::Stamped;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::records::create;
use crate::rules::runs::workspace::peer;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;

pub use crate::model::runs::attempt::*;

impl State {
    /// Whether a workspace is the project's standing root.
    pub(crate) fn is_standing(&self, id: &WorkspaceId) -> bool {
        self.project.as_ref().is_some_and(|project| project.id.as_str() == id.as_str())
    }

    /// Whether a workspace is an attempt outside runs.
    pub(crate) fn is_open_attempt(&self, known: &Workspace) -> bool {
        known.parent.is_some() && self.is_standing(&known.charter.root)
    }

    /// The workspace of an assignment.
    pub fn workspace_of(&self, assignment: &Record) -> Option<(&WorkspaceId, &Arc<Workspace>)> {
        self.workspaces.get_key_value(assignment.fields.workspace.as_ref()?)
    }

    /// The assignment that a workspace is, unless another attempt has taken its place.
    pub(crate) fn assignment_of(&self, id: &WorkspaceId) -> Option<&Arc<Record>> {
        let known = self.workspaces.get(id)?;
        let record = self.memory.records.get(&known.charter.assignment?)?;
        (record.fields.workspace.as_ref() == Some(id)).then_some(record)
    }

    /// Whether a run governs an assignment: signals and orders move it, not the verbs for records.
    pub(crate) fn is_governed_attempt(&self, assignment: &Record) -> bool {
        let known = self.workspace_of(assignment);
        known.is_some_and(|(_, known)| !self.is_open_attempt(known))
    }

    /// Whether somebody decides about an attempt outside runs: a person, the system, or whoever
    /// dispatched it.
    pub(crate) fn is_dispatched_by(&self, known: &Workspace, who: &Principal) -> bool {
        let own = known.charter.assignment.and_then(|id| self.memory.records.get(&id));
        match who {
            Principal::User(_) | Principal::System => true,
            Principal::Agent(_) => {
                own.is_some_and(|own| own.author == *who || own.is_dispatched_by(who))
            }
        }
    }
}

/// Makes the assignment of a new workspace follow it: creates its record, or names the workspace in
/// the record that was created with it.
pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let Some(id) = created.assignment else { return Ok(()) };
    if id.kind != Kind::Assignment {
        return Err(ApplyError::Mismatch("the assignment of a workspace"));
    }
    let workspace = Some(created.workspace_id.clone());
    if let Some(known) = state.memory.records.get(&id) {
        // The entry that offered it counts as the change; this names where it is worked on.
        let mut own = Record::clone(known);
        own.fields.workspace = workspace;
        state.put_record(Arc::new(own));
        return Ok(());
    }
    let by = caused_by(entry);
    let plan = created.task_ref.as_ref().and_then(|task| state.task_record(task));
    let text = plan.map_or_else(|| untitled(created), |plan| plan.text.clone());
    let plan_id = plan.map(|plan| plan.id);
    let mut made = create::new(state, entry, id, by.clone(), text);
    made.fields = Fields {
        acceptance_ttl_secs: Some(seconds(created.idle_timeout_s)),
        agent: created.agent.clone(),
        heartbeat_ttl_secs: created.timeout_s.map(seconds),
        max_retries: Some(0),
        plan_id,
        workspace,
        ..Fields::default()
    };
    create::begin(&mut made, &by, Word::Offered, entry);
    state.put_record(Arc::new(made));
    Ok(())
}

fn seconds(timeout: Timeout) -> u32 {
    u32::try_from(timeout.span().micros() / 1_000_000).unwrap_or(u32::MAX)
}

/// The text of an assignment without a task. Its directive is for its agent alone.
fn untitled(created: &Created) -> Body {
    Body::lossy(&format!("work in workspace {}", created.workspace_id))
}

/// Moves the assignment of a workspace to the state that follows from the workspace's, if it is not
/// in one that fits. The assignment of an open attempt leads, and follows only into failure.
pub(crate) fn follow(
    state: &mut State,
    entry: &Stamped,
    id: &WorkspaceId,
) -> Result<(), ApplyError> {
    let Some(record) = state.assignment_of(id) else { return Ok(()) };
    let known = state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if state.is_open_attempt(known) && known.status != Status::Failed {
        return Ok(());
    }
    let words = words(known);
    let fits = words.contains(&record.status) && !was_turned_down(known);
    let Some(word) = words.first().copied().filter(|_| !fits) else {
        return Ok(());
    };
    let (own, reason) = (record.id, known.reason.clone());
    state.change_record(entry, own, |own| {
        own.enter(word, entry.at);
        if reason.is_some() {
            own.fields.resolved_reason = reason;
        }
    })
}

/// Names the new agent of a workspace in its assignment.
pub(crate) fn follow_agent(
    state: &mut State,
    entry: &Stamped,
    id: &WorkspaceId,
) -> Result<(), ApplyError> {
    let Some(record) = state.assignment_of(id).map(|record| record.id) else { return Ok(()) };
    let agent = state.workspaces.get(id).and_then(|known| known.agent.clone());
    state.change_record(entry, record, |own| own.fields.agent = agent)
}

/// Names the lease that a workspace holds for its authority in its assignment.
pub(crate) fn follow_lease(
    state: &mut State,
    entry: &Stamped,
    id: &WorkspaceId,
    (epoch, surfaces, ttl_s): (u64, &Surfaces, Ttl),
) -> Result<(), ApplyError> {
    let Some(record) = state.assignment_of(id).map(|record| record.id) else { return Ok(()) };
    let covers = Arc::new(Cover { surfaces: surfaces.clone(), ttl_s });
    state.change_record(entry, record, |own| {
        (own.fields.claim, own.fields.covers) = (Some(epoch), Some(covers));
    })
}

/// The next assignment's id, for a workspace that is about to be created.
pub(crate) fn next(state: &State) -> RecordId {
    state.memory.next(Kind::Assignment)
}

/// The id of the standing root, or an error if there is no project.
pub(crate) fn standing_root(state: &State) -> Result<WorkspaceId, ApplyError> {
    peer::standing_root(state).ok_or(ApplyError::NoProject)
}
