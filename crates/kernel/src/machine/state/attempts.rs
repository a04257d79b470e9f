//! Attempts: which workspace an assignment is, and whether it belongs to a run.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::knowledge::records::record::Record;
use crate::model::runs::workspace::Workspace;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;

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
