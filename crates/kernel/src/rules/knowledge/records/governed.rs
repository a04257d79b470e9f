//! Governed tasks: a run moves them, and the verbs for records leave their state alone.

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::model::knowledge::records::offer::PlanTaken;
use crate::model::knowledge::records::record::Record;
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::RecordId;
use crate::registry::rule::Rule;
use crate::values::name::AgentName;
use crate::values::principal::Principal;

/// The fields of a governed task that only the coordinator changes.
const PLANNED: [&str; 3] = ["depends_on", "priority", "steps"];

/// The parties that may move a governed task, in words; none if the task is open.
pub(crate) fn governors(state: &State, own: &Record) -> Option<String> {
    let root = state.run_over(own)?;
    let known = state.workspaces.get(root);
    let lead = known.and_then(|root| root.agent.as_ref()).map(AgentName::as_str);
    let lead = lead.unwrap_or("the system");
    let at_work = state.live_attempt(own).map(|(id, known)| {
        let agent = known.agent.as_ref().map(AgentName::as_str).unwrap_or_default();
        format!("{agent} in its workspace {id} and ")
    });
    Some(format!("{}{lead}, who coordinates the run", at_work.unwrap_or_default()))
}

/// Refuses to move a governed task by other means than its workspace's signals and the
/// coordinator's orders.
pub(crate) fn leaves_alone(state: &State, own: &Record) -> Result<(), Refusal> {
    let Some(who) = governors(state, own) else { return Ok(()) };
    let message = format!("a run has taken {}: it is moved by {who}", own.id);
    Err(Refusal::denied(Rule::TaskGoverned, message))
}

/// Refuses to change how a governed task is planned, unless the coordinator does it.
pub(crate) fn may_plan(
    state: &State,
    who: &Principal,
    own: &Record,
    changed: &[&str],
) -> Result<(), Refusal> {
    if is_coordinator(state, who) || !changed.iter().any(|name| PLANNED.contains(name)) {
        return Ok(());
    }
    leaves_alone(state, own)
}

/// The task that an assignment is about, if a run has taken it.
pub(crate) fn task_of(state: &State, plan: Option<RecordId>) -> Option<&Record> {
    let own = state.memory.record(plan?)?;
    state.is_governed(own).then_some(own)
}

/// Refuses to give out a task that a workspace is bound to, or that a run has taken: its coordinator
/// binds a workspace to it.
pub(crate) fn is_free(state: &State, own: &Record) -> Result<(), Refusal> {
    if let Some((id, known)) = state.bound_attempt(own) {
        let agent = known.agent.as_ref().map(AgentName::as_str).unwrap_or_default();
        let message = format!("{} is assigned to {agent} (workspace {id})", own.id);
        let assignment_id = state.assignment_of(id).map(|own| own.id);
        let agent = known.agent.clone();
        let taken = PlanTaken::Assigned { plan_id: own.id, agent, assignment_id };
        return Err(Refusal::taken(message, taken));
    }
    leaves_alone(state, own)
}
