//! What the coordinator does with a task: approve it, bind it, try it again, give it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{STEPS, Status, follow};
use crate::content::Content;
use crate::event::Event;
use crate::highway::gate::{self, Way, closed_by_fallback};
use crate::highway::{GateType, resolve};
use crate::id::{GraphId, TaskId, WorkspaceId};
use crate::name::{AgentName, UserId};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::surface::Surface;
use crate::text::Text;
use crate::token::RoleName;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::abort::aborted;
use crate::workspace::budget::{Budget, Percent};
use crate::workspace::create::{self, Create};
use crate::workspace::group::GroupName;
use crate::workspace::{self, Timeout, change};

/// `task.approve`: lets planned tasks be taken up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Every draft of this graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// These tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
}

/// `task.assign`: creates a workspace for a task that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// The agent that works on it.
    pub agent: AgentName,
    /// What it may change; what its parent may, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Vec<Surface>>,
    /// What it may use: limits of tokens, bytes, microseconds, millionths of a currency.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// What else it may read from the start, such as what others made before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Content>,
    /// The group its workspace belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Tell the coordinator each time nothing happened there for so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// Who answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The workspace above; the root, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkspaceId>,
    /// The role (default `worker`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// Which task.
    pub task: TaskId,
    /// How long it may take, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visibility: Vec<WorkspaceId>,
    /// Warn at this share of a limit, in hundredths (default 80).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
}

impl Assign {
    /// The creation it stands for.
    pub(crate) fn as_create(&self) -> Create {
        Create {
            agent: self.agent.clone(),
            authority: self.authority.clone(),
            budget: self.budget.clone(),
            caused_by: None,
            context: self.context.clone(),
            delegate: false,
            directive: None,
            global_trail: false,
            group: self.group.clone(),
            idle_timeout_s: None,
            liveness_interval_s: self.liveness_interval_s,
            mounts: Vec::new(),
            owner: self.owner.clone(),
            parent: self.parent.clone(),
            priority: None,
            role: self.role.clone().unwrap_or_else(RoleName::worker),
            task: Some(self.task.clone()),
            timeout_s: self.timeout_s,
            visibility: self.visibility.clone(),
            warn_at_percent: self.warn_at_percent,
        }
    }
}

/// `task.retry`: lets a failed task be taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Which task.
    pub task: TaskId,
}

/// `task.cancel`: gives a task up, and ends the workspace that works on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which task.
    pub task: TaskId,
}

/// Who let a task be taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSource {
    /// A person.
    Human,
    /// Nobody in time: the gate's fallback.
    Timeout,
    /// The coordinator, once nobody had answered in time.
    Coordinator,
    /// The coordinator, where plans wait for nobody.
    GateDisabled,
}

/// `task_approved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Who let it be taken up.
    pub approval_source: ApprovalSource,
    /// The task.
    pub task_id: TaskId,
}

pub(crate) fn decide_approve(
    turn: &mut Turn<'_>,
    caller: &Caller,
    approve: &Approve,
) -> Result<Reply, Halt> {
    workspace::coordinator_only(turn.state(), caller, "approve tasks")?;
    let tasks = drafts(turn, approve)?;
    let sources = sources(turn.state(), caller, &tasks)?;
    for (n, (id, source)) in tasks.iter().zip(sources).enumerate() {
        // One deed, one entry in the caller's name; the rest follows from it.
        let actor = if n == 0 { caller.principal.clone().into() } else { Actor::Protocol };
        let answered = match &caller.principal {
            Principal::User(user) => resolve::approve_task(turn, user, id, actor.clone())?,
            _ => false,
        };
        let actor = if answered { Actor::Protocol } else { actor };
        approved_by(turn, id, source, actor)?;
        if source == ApprovalSource::Coordinator
            && let Some(gate) = closed_by_fallback(turn.state(), GateType::TaskApproval, &id.into())
        {
            Way::Again(gate, GateType::TaskApproval, id.into()).note(turn)?;
        }
    }
    Ok(turn.tasks_reply(&tasks))
}

/// On whose word each task is taken up. Where plans wait for people, the coordinator's word counts
/// for those alone that nobody answered for in time.
fn sources(
    state: &State,
    caller: &Caller,
    tasks: &[TaskId],
) -> Result<Vec<ApprovalSource>, Refusal> {
    if matches!(caller.principal, Principal::User(_)) {
        return Ok(vec![ApprovalSource::Human; tasks.len()]);
    }
    let gated = state.highway.gate(GateType::TaskApproval).is_some();
    let source = |id: &TaskId| {
        let subject = id.into();
        if closed_by_fallback(state, GateType::TaskApproval, &subject).is_some() {
            return Ok(ApprovalSource::Coordinator);
        }
        if gated || state.open_gate(GateType::TaskApproval, &subject).is_some() {
            let message = format!("task {id} waits for a person's approval");
            return Err(Refusal::denied(Rule::TaskWaits, message));
        }
        Ok(ApprovalSource::GateDisabled)
    };
    tasks.iter().map(source).collect()
}

/// A task is taken up on somebody's word at its gate.
pub(crate) fn approved(
    turn: &mut Turn<'_>,
    id: &TaskId,
    source: ApprovalSource,
) -> Result<(), ApplyError> {
    approved_by(turn, id, source, Actor::Protocol)
}

fn approved_by(
    turn: &mut Turn<'_>,
    id: &TaskId,
    approval_source: ApprovalSource,
    actor: Actor,
) -> Result<(), ApplyError> {
    let task = turn.state().tasks.get(id).ok_or(ApplyError::Unknown("the task"))?;
    let home = follow::home_of(turn.state(), task);
    let event = Event::TaskApproved(Approved { approval_source, task_id: id.clone() });
    turn.note(home.as_ref(), actor, event)?;
    follow::step(turn, id, Status::Pending, None, Actor::Protocol)
}

fn drafts(turn: &Turn<'_>, approve: &Approve) -> Result<Vec<TaskId>, Refusal> {
    let state = turn.state();
    let mut tasks = Vec::new();
    for id in &approve.tasks {
        let task = super::get(state, id)?;
        super::of_this_run(state, id, task)?;
        if task.status != Status::Draft {
            let message = format!("task {id} is {}; only a draft is approved", task.status);
            let ways = super::ways_from(task.status);
            return Err(Refusal::denied(Rule::TaskStep, message).allowing(ways));
        }
        if !tasks.contains(id) {
            tasks.push(id.clone());
        }
    }
    if let Some(graph) = &approve.graph {
        if !state.graphs.contains_key(graph) {
            let message = format!("there is no graph {graph}");
            return Err(Refusal::not_found(Rule::ReferenceKnown, message));
        }
        let draft = |id: &&TaskId| state.tasks.get(*id).is_some_and(|t| t.status == Status::Draft);
        let more: Vec<TaskId> = state.tasks_in(graph).filter(draft).cloned().collect();
        tasks.extend(more.into_iter().filter(|id| !approve.tasks.contains(id)));
    }
    if tasks.is_empty() {
        let message = "there is no draft to approve";
        return Err(Refusal::not_found(Rule::TaskStep, message));
    }
    Ok(tasks)
}

pub(crate) fn decide_assign(
    turn: &mut Turn<'_>,
    caller: &Caller,
    assign: &Assign,
) -> Result<Reply, Halt> {
    create::made(turn, caller, &assign.as_create())
}

pub(crate) fn decide_retry(
    turn: &mut Turn<'_>,
    caller: &Caller,
    retry: &Retry,
) -> Result<Reply, Halt> {
    workspace::coordinator_only(turn.state(), caller, "retry a task")?;
    let task = super::get(turn.state(), &retry.task)?;
    super::of_this_run(turn.state(), &retry.task, task)?;
    if task.status != Status::Failed {
        let message = format!("task {} is {}, not failed", retry.task, task.status);
        let ways = super::ways_from(task.status);
        return Err(Refusal::denied(Rule::TaskStep, message).allowing(ways).into());
    }
    let actor = caller.principal.clone().into();
    follow::step(turn, &retry.task, Status::Pending, None, actor)?;
    turn.task_reply(&retry.task)
}

pub(crate) fn decide_cancel(
    turn: &mut Turn<'_>,
    caller: &Caller,
    cancel: &Cancel,
) -> Result<Reply, Halt> {
    let initiator = workspace::coordinator_only(turn.state(), caller, "cancel a task")?;
    let task = super::get(turn.state(), &cancel.task)?;
    super::of_this_run(turn.state(), &cancel.task, task)?;
    if !STEPS.contains(&(task.status, Status::Cancelled)) {
        let message = format!("task {} is {} and stays so", cancel.task, task.status);
        return Err(Refusal::denied(Rule::TaskStep, message).into());
    }
    let bound = task.workspace.clone();
    let goes_on = bound.as_ref().and_then(|id| turn.state().workspaces.get(id));
    if goes_on.is_some_and(|known| !known.status.is_terminal()) {
        gate::not_around(turn.state(), caller, GateType::WorkspaceAbort)?;
    }
    let actor = caller.principal.clone().into();
    follow::step(turn, &cancel.task, Status::Cancelled, None, actor)?;
    let live = bound.filter(|id| {
        turn.state().workspaces.get(id).is_some_and(|known| !known.status.is_terminal())
    });
    if let Some(id) = live {
        change::fail(turn, &id, aborted(initiator, cancel.reason.clone(), Actor::Protocol))?;
    }
    turn.task_reply(&cancel.task)
}
