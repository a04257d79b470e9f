//! The pool of a run: tasks that agents take by themselves.
//!
//! A run that is a pool gives out its ready tasks to whoever asks with `work.next` and fits their
//! terms. The task, its workspace, the lease for what it may change and the start of the work are one
//! commit, so two workers never get the same task, nor files that overlap.

use std::collections::BTreeMap;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::next::Next;
use crate::model::knowledge::records::record::Record;
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::envelope::inbox::Take;
use crate::model::runs::run::Hold;
use crate::model::runs::signal::{Emit, SignalType};
use crate::model::runs::task;
use crate::model::runs::task::terms::Terms;
use crate::model::runs::taxonomy::Base;
use crate::model::runs::workspace::create::Create;
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::next::surfaces_of;
use crate::rules::runs::envelope::inbox;
use crate::rules::runs::workspace::authority::{self, Wanted};
use crate::rules::runs::workspace::create::{self, Made};
use crate::rules::runs::{signal, workspace};
use crate::surfaces::Surface;
use crate::values::id::{GateId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Caller, Principal};
use crate::values::token::RoleName;

/// What came of asking the pool.
pub(crate) enum Taken {
    /// A task, with the workspace of the attempt.
    Task(RecordId, WorkspaceId),
    /// A person has to approve the workspace first.
    Waits(GateId),
    /// Nothing, for these reasons.
    Nothing(Vec<String>),
}

/// Whether the current run gives out its tasks to whoever asks.
pub fn is_open(state: &State) -> bool {
    root_of_pool(state).is_some()
}

fn root_of_pool(state: &State) -> Option<&workspace::Workspace> {
    let root = state.workspaces.get(state.root.as_ref()?)?;
    root.charter.pool.then_some(root)
}

/// The workspace of the current run that an agent has in hand.
pub(crate) fn in_hand<'s>(state: &'s State, agent: &AgentName) -> Option<&'s WorkspaceId> {
    let of_pool = |id: &WorkspaceId| {
        let known = state.workspaces.get(id);
        let works = |known: &workspace::Workspace| {
            known.parent.is_some() && known.charter.task.is_some() && known.status.is_open()
        };
        known.is_some_and(|known| works(known) && !state.is_open_attempt(known))
    };
    root_of_pool(state)?;
    state.bound_to(agent).find(|id| of_pool(id))
}

/// Takes the most urgent task of the run that fits the caller, or the one that is named.
pub(crate) fn take(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    agent: &AgentName,
    asked: &Next,
) -> Result<Taken, DecisionError> {
    let Some(root) = root_of_pool(tx.state()) else { return Ok(Taken::Nothing(Vec::new())) };
    if root.hold != Hold::None {
        let message = "the run is on hold and gives out no work";
        return Err(Refusal::denied(Rule::RunHolds, message).into());
    }
    if let Some(gate) = waiting(tx.state(), agent) {
        return Ok(Taken::Waits(gate));
    }
    let mut reasons = Vec::new();
    for task in candidates(tx.state(), asked) {
        match bind(tx, caller, agent, task) {
            Ok(taken) => return Ok(taken),
            // Its files are somebody else's for now; the next one may be free.
            Err(DecisionError::Refused(refusal)) => {
                reasons.push(format!("{} {}", task.label(), refusal.message));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Taken::Nothing(reasons))
}

/// The task that an agent would get now, if it asked. Asking in vain leaves an entry, looking does
/// not.
pub(crate) fn would_get(state: &State, agent: &AgentName, asked: &Next) -> Option<RecordId> {
    let (root, parent) = (root_of_pool(state)?, state.root.as_ref()?);
    if root.hold != Hold::None || waiting(state, agent).is_some() {
        return None;
    }
    let is_free = |task: &RecordId| {
        let Ok(create) = workspace_for(state, agent, *task) else { return false };
        let authority = create.authority.as_deref().unwrap_or(&root.charter.authority);
        let wanted = Wanted { id: None, parent, agent, authority };
        authority::check(state, &Principal::System, &wanted).is_ok()
    };
    candidates(state, asked).into_iter().find(is_free)
}

/// The gate at which a workspace for an agent waits for a person.
fn waiting(state: &State, agent: &AgentName) -> Option<GateId> {
    let asks = |request: &Option<Request>| matches!(request, Some(Request::Create(create)) if create.agent == *agent);
    let mut open = state.gates.iter().filter(|(_, gate)| gate.kind == GateType::WorkspaceCreate);
    open.find(|(_, gate)| asks(&gate.request)).map(|(id, _)| id.clone())
}

/// The ready tasks of the run that fit what is asked for: the most urgent first, then those that
/// most others wait for, then the oldest.
fn candidates(state: &State, asked: &Next) -> Vec<RecordId> {
    let live = state.memory.newest(Kind::Plan, Some(true));
    let own: Vec<&Record> = live.filter(|plan| state.is_governed(plan)).collect();
    let lengths = path_lengths(&own);
    let is_named = |plan: &Record| asked.task.is_none_or(|task| task == plan.id);
    let mut ready: Vec<&Record> = own
        .into_iter()
        .filter(|plan| is_named(plan) && is_ready(state, plan))
        .filter(|plan| asked.task.is_some() || fits(plan.terms(), asked))
        .filter(|plan| !asked.except.contains(&plan.id))
        .collect();
    ready.sort_by_key(|plan| {
        let length = lengths.get(&plan.id).copied().unwrap_or_default();
        let urgent = std::cmp::Reverse((plan.fields.priority, length));
        (urgent, plan.created_seq, plan.id)
    });
    ready.into_iter().map(|plan| plan.id).collect()
}

/// Whether nobody works on a task and all that it depends on is merged.
fn is_ready(state: &State, plan: &Record) -> bool {
    let is_over = |id: &RecordId| {
        let before = state.memory.record(*id).and_then(Record::task_state);
        before.is_none_or(|before| before.is_over() && before != task::State::Cancelled)
    };
    plan.task_state() == Some(task::State::Pending)
        && plan.fields.depends_on.iter().all(is_over)
        && state.live_attempt(plan).is_none()
}

fn fits(terms: Option<&Terms>, asked: &Next) -> bool {
    let Some(terms) = terms else { return true };
    terms.agent.as_ref().is_none_or(|agent| asked.program.as_ref() == Some(agent))
        && terms.role.as_ref().is_none_or(|role| asked.role.as_ref() == Some(role))
        && terms.skills.iter().all(|skill| asked.skills.contains(skill))
}

/// For each task, how many tasks in a row wait for it.
fn path_lengths(tasks: &[&Record]) -> BTreeMap<RecordId, usize> {
    let mut lengths: BTreeMap<RecordId, usize> = tasks.iter().map(|task| (task.id, 0)).collect();
    // Dependencies are older than what depends on them, so going from the newest to the oldest each
    // task is complete when its turn comes.
    let mut newest: Vec<&&Record> = tasks.iter().collect();
    newest.sort_by_key(|task| std::cmp::Reverse((task.created_seq, task.id)));
    for task in newest {
        let behind = lengths.get(&task.id).copied().unwrap_or_default() + 1;
        for before in task.fields.depends_on.iter() {
            if let Some(length) = lengths.get_mut(before) {
                *length = (*length).max(behind);
            }
        }
    }
    lengths
}

/// Binds a workspace to a task for an agent that asked for work, and starts it.
fn bind(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    agent: &AgentName,
    task: RecordId,
) -> Result<Taken, DecisionError> {
    let create = workspace_for(tx.state(), agent, task)?;
    // The pool is a standing order of the coordinator, which the runtime carries out.
    let key = tx.project()?.runtime_key;
    let system = Caller { principal: Principal::System, key, session: None };
    let made = tx.attempt(|tx| create::make(tx, &system, &create, None))?;
    let id = match made {
        Made::Waits(gate) => return Ok(Taken::Waits(gate)),
        Made::Workspace(id) => id,
    };
    inbox::decide_take(tx, caller, &Take { max: None, workspace: Some(id.clone()) })?;
    let emit = Emit {
        budget_warning: None,
        reason: None,
        about: None,
        signal: SignalType::Started,
        workspace: Some(id.clone()),
    };
    signal::decide_emit(tx, caller, &emit)?;
    Ok(Taken::Task(task, id))
}

/// The role of the workspace: the one that the task asks for, if the run knows it. Others only say who
/// takes the task.
fn role_of(state: &State, asked: Option<RoleName>) -> RoleName {
    let root = root_of_pool(state);
    let is_known = |role: &RoleName| {
        let base = root.and_then(|root| state.run_of(root).base_of(role));
        base.is_some_and(|base| base != Base::Coordinator)
    };
    asked.filter(is_known).unwrap_or_else(RoleName::worker)
}

fn workspace_for(state: &State, agent: &AgentName, task: RecordId) -> Result<Create, Refusal> {
    let plan = state.memory.get(task)?;
    let terms = plan.terms().cloned().unwrap_or_default();
    let touches: Vec<Surface> = match terms.touches.as_slice() {
        [] => surfaces_of(plan).map(|own| own.as_slice().to_vec()).unwrap_or_default(),
        named => named.to_vec(),
    };
    Ok(Create {
        agent: agent.clone(),
        authority: (!touches.is_empty()).then_some(touches),
        budget: terms.budget,
        caused_by: None,
        context: None,
        delegate: false,
        directive: None,
        global_trail: false,
        group: None,
        idle_timeout_s: None,
        liveness_interval_s: None,
        mounts: Vec::new(),
        owner: None,
        parent: None,
        priority: None,
        role: role_of(state, terms.role),
        task: Some(plan.task_id()),
        timeout_s: terms.timeout_s,
        visibility: Vec::new(),
        warn_at_percent: None,
    })
}
