//! Runs: a root workspace with its coordinator, begun and ended.
//!
//! A trail holds one run after another. A run begins with the creation of its root, which fixes
//! the taxonomy, and ends when the root does: well, once everything below has ended, or by
//! force. The post of coordinator is the system's; it may be given to one agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::admission::Limits;
use crate::deployment::Deployment;
use crate::event::Event;
use crate::highway::{GateType, Highway, Wish, gate};
use crate::id::{IdKind, WorkspaceId};
use crate::name::{AgentName, UserId};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::right;
use crate::rule::Rule;
use crate::runtime::{CoordinatorAction, Degraded, Scope};
use crate::signal::{self, Saying, SignalType};
use crate::state::{ApplyError, State};
use crate::surface::Surface;
use crate::taxonomy::{Document, ENTRIES_MAX, Taxonomy};
use crate::text::Text;
use crate::token::RoleName;
use crate::turn::{Halt, Reply, Turn};
use crate::user;
use crate::workspace::budget::Budget;
use crate::workspace::change::{self, Change};
use crate::workspace::create::Created;
use crate::workspace::meter::Amount;
use crate::workspace::{
    self, IDLE_TIMEOUT_DEFAULT, Initiator, Party, Priority, Status, Trigger, Workspace,
};

/// The hash that chains a run's trail.
const ALGORITHM: &str = "sha256";

/// How many of the workspaces that still go on are named.
const NAMED_MAX: usize = 20;

/// What a run begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// The hash that chains its trail.
    pub algorithm: Text<16>,
    /// How it is deployed.
    pub deployment_model: Deployment,
    /// What people want to be asked about.
    pub highway: Highway,
    /// What it has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Its roles and types; the base ones alone, if there is none.
    pub taxonomy: Option<Document>,
}

/// `run.start`: begins a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The agent that coordinates: the caller itself, if it is an agent; otherwise the system
    /// and people do, unless one is named here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What stands between those who take part (default `single-runtime`). What it needs has to
    /// be in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// What people want to be asked about; that plans wait a quarter of an hour for approval, if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highway: Option<Wish>,
    /// What the run has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Who answers for it: the person who begins it, if left out, or else the first user who is
    /// active, or the system where there are no people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Roles and types beyond the base ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<Document>,
}

/// `run.hand_over`: gives the post of coordinator to another agent, or back to the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    /// The agent that coordinates from now on; none for the system alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

/// `run.end`: ends the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Fail whatever still goes on, instead of refusing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `run.handed_over`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedOver {
    /// Who coordinates from now on.
    pub agent: Option<AgentName>,
    /// Who did.
    pub before: Option<AgentName>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// `run.stopped`: somebody ordered the end of the run; what ends because of it follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// Whether what still went on was failed.
    pub forced: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// Whether somebody may begin a run, and for whom: people decide that, and where there are none
/// yet, the first agent to ask is it.
pub(crate) fn may_start(
    state: &State,
    caller: &Principal,
    wanted: Option<&AgentName>,
) -> Result<Option<AgentName>, Refusal> {
    if let Some(root) = &state.root {
        let message = format!("a run goes on already, with the root {root}");
        return Err(Refusal::denied(Rule::OneCoordinator, message));
    }
    let Principal::Agent(own) = caller else { return Ok(wanted.cloned()) };
    if !state.users.is_empty() {
        let message = format!("agent {own} cannot take the post of coordinator by itself");
        return Err(Refusal::denied(Rule::PostGiven, message));
    }
    if wanted.is_some_and(|wanted| wanted != own) {
        let message = format!("agent {own} cannot give the post of coordinator to another");
        return Err(Refusal::denied(Rule::PostGiven, message));
    }
    Ok(Some(own.clone()))
}

pub(crate) fn decide_start(
    turn: &mut Turn<'_>,
    caller: &Caller,
    start: &Start,
) -> Result<Reply, Halt> {
    let agent = may_start(turn.state(), &caller.principal, start.agent.as_ref())?;
    known_agent(turn.state(), agent.as_ref())?;
    let owner = owner_for(turn.state(), &caller.principal, start.owner.as_ref())?;
    if let Some(document) = &start.taxonomy {
        loadable(document)?;
    }
    let deployment_model = start.deployment.unwrap_or_default();
    deployment_model.check(&|mechanism| turn.has_in_place(mechanism))?;
    let id: WorkspaceId = turn.mint(IdKind::Workspace).into();
    let everything = Surface::new(".").map(|all| vec![all]).unwrap_or_default();
    let created = Created {
        agent,
        authority_set: everything,
        budget: Budget::new(),
        caused_by: None,
        context: None,
        context_bytes: Amount::default(),
        delegate: false,
        directive: None,
        global_trail: true,
        group: None,
        idle_timeout_s: IDLE_TIMEOUT_DEFAULT,
        liveness_interval_s: None,
        mounts: Vec::new(),
        originator: Party::System,
        owner,
        parent: None,
        priority: Priority::Normal,
        role: RoleName::coordinator(),
        run: Some(Box::new(RunHead {
            algorithm: Text::lossy(ALGORITHM),
            deployment_model,
            highway: highway_for(turn.state(), start.highway.as_ref()),
            limits: start.limits.clone(),
            taxonomy: start.taxonomy.clone(),
        })),
        task_ref: None,
        timeout_s: None,
        visibility_set: Vec::new(),
        warn_at_percent: None,
        workspace_id: id.clone(),
    };
    turn.begin_in(&id, caller.principal.clone().into(), Event::WorkspaceCreated(created))?;
    right::grant_receive(turn, &id)?;
    let ready = Saying { signal: SignalType::Ready, reason: None, about: None };
    signal::emit_to(turn, &id, None, ready, Actor::Protocol)?;
    let loaded = Change::of_runtime(Status::Active, Trigger::WorkflowLoaded);
    change::take(turn, &id, loaded)?;
    turn.workspace_reply(&id)
}

/// What a run begins with. Where nobody has signed up there is nobody to wait for.
pub(crate) fn highway_for(state: &State, wish: Option<&Wish>) -> Highway {
    match wish {
        Some(wish) => Highway::default().with(wish),
        None if state.users.is_empty() => {
            Highway { gates: std::collections::BTreeSet::new(), ..Highway::default() }
        }
        None => Highway::default(),
    }
}

/// Who answers for a run that somebody begins.
pub(crate) fn owner_for(
    state: &State,
    caller: &Principal,
    wanted: Option<&UserId>,
) -> Result<Party, Refusal> {
    if let Some(owner) = wanted {
        user::can_own(state, owner)?;
        return Ok(Party::User(owner.clone()));
    }
    let owner = match caller {
        Principal::User(own) => Some(own),
        Principal::Agent(_) | Principal::System => state.first_active_user(),
    };
    Ok(owner.map_or(Party::System, |owner| Party::User(owner.clone())))
}

fn known_agent(state: &State, agent: Option<&AgentName>) -> Result<(), Refusal> {
    match agent.filter(|agent| !state.agents.contains_key(*agent)) {
        None => Ok(()),
        Some(agent) => {
            let message = format!("agent {agent} has never shown who it is");
            Err(Refusal::not_found(Rule::AgentKnown, message))
        }
    }
}

fn loadable(document: &Document) -> Result<(), Refusal> {
    let entries =
        document.roles.len() + document.envelope_types.len() + document.checkpoint_types.len();
    if entries > ENTRIES_MAX {
        let message = format!("the taxonomy has {entries} entries, over {ENTRIES_MAX}");
        return Err(Refusal::denied(Rule::Limits, message));
    }
    match Taxonomy::load(document.clone()) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let message = format!("the taxonomy is not loaded: {fault}");
            Err(Refusal::denied(Rule::TaxonomySound, message))
        }
    }
}

pub(crate) fn decide_hand_over(
    turn: &mut Turn<'_>,
    caller: &Caller,
    hand_over: &HandOver,
) -> Result<Reply, Halt> {
    workspace::coordinator_only(turn.state(), caller, "hand the post over")?;
    known_agent(turn.state(), hand_over.agent.as_ref())?;
    let root = workspace::root(turn.state())?.clone();
    let event = Event::RunHandedOver(HandedOver {
        agent: hand_over.agent.clone(),
        before: workspace::get(turn.state(), &root)?.agent.clone(),
        workspace_id: root.clone(),
    });
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    turn.workspace_reply(&root)
}

pub(crate) fn decide_end(turn: &mut Turn<'_>, caller: &Caller, end: &End) -> Result<Reply, Halt> {
    let initiator = workspace::coordinator_only(turn.state(), caller, "end the run")?;
    let root = workspace::root(turn.state())?.clone();
    let live = turn.state().live - 1;
    if live > 0 && !end.force {
        let going_on = turn
            .state()
            .workspaces
            .iter()
            .filter(|(id, known)| **id != root && !known.status.is_terminal());
        let named: Vec<String> = going_on.take(NAMED_MAX).map(|(id, _)| id.to_string()).collect();
        let message = format!("{live} workspaces still go on: {}", named.join(", "));
        return Err(Refusal::denied(Rule::RunOver, message).into());
    }
    if live > 0 {
        gate::not_around(turn.state(), caller, GateType::WorkspaceAbort)?;
    }
    let event = Event::RunStopped(Stopped {
        forced: end.force && live > 0,
        reason: end.reason.clone(),
        workspace_id: root.clone(),
    });
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    if live > 0 {
        by_force(turn, &root)?;
    } else {
        well(turn, &root, initiator)?;
    }
    turn.workspace_reply(&root)
}

fn well(turn: &mut Turn<'_>, root: &WorkspaceId, initiator: Initiator) -> Result<(), ApplyError> {
    for to in [Status::Integrating, Status::Closed] {
        let (trigger, actor) = (Trigger::RunComplete, Actor::Protocol);
        change::take(turn, root, Change { to, trigger, initiator, reason: None, actor })?;
    }
    Ok(())
}

fn by_force(turn: &mut Turn<'_>, root: &WorkspaceId) -> Result<(), ApplyError> {
    let live = turn.state().workspaces().filter(|(_, known)| !known.status.is_terminal());
    let affected_workspaces = live.map(|(id, _)| id.clone()).collect();
    let degraded = Event::SystemDegraded(Degraded {
        affected_workspaces,
        coordinator_action: CoordinatorAction::BatchAbort,
        reason: Text::lossy("forced_shutdown"),
        scope: Scope::Systemic,
        since: turn.now(),
        turned_away: 0,
    });
    turn.note(None, Actor::Protocol, degraded)?;
    change::shut_down(turn, root)
}

/// What the creation of a root does to the run.
pub(crate) fn apply_begun(
    state: &mut State,
    root: &WorkspaceId,
    run: &RunHead,
) -> Result<(), ApplyError> {
    if state.root.is_some() {
        return Err(ApplyError::Twice("a coordinator's workspace"));
    }
    let taxonomy = match &run.taxonomy {
        None => Taxonomy::base(),
        Some(document) => Taxonomy::load(document.clone())
            .map_err(|_| ApplyError::Mismatch("the taxonomy it is begun with"))?,
    };
    state.root = Some(root.clone());
    state.forget_gates();
    state.highway = Arc::new(run.highway.clone());
    state.runs.insert(root.clone(), Arc::new(taxonomy));
    Ok(())
}

pub(crate) fn apply_handed_over(state: &mut State, handed: &HandedOver) -> Result<(), ApplyError> {
    let id = &handed.workspace_id;
    if state.root.as_ref() != Some(id) {
        return Err(ApplyError::Mismatch("the root of the run"));
    }
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the root"))?;
    if known.agent != handed.before {
        return Err(ApplyError::Mismatch("who coordinated before"));
    }
    Arc::make_mut(known).agent.clone_from(&handed.agent);
    if let Some(before) = &handed.before {
        state.bound.remove(&(before.clone(), id.clone()));
    }
    if let Some(agent) = &handed.agent {
        state.bound.insert((agent.clone(), id.clone()));
        state.give_part(agent);
    }
    Ok(())
}

impl State {
    /// The roles and types of the run a workspace belongs to.
    pub(crate) fn run_of(&self, workspace: &Workspace) -> &Taxonomy {
        static BASE: std::sync::LazyLock<Taxonomy> = std::sync::LazyLock::new(Taxonomy::base);
        self.runs.get(&workspace.charter.root).map_or(&BASE, |run| run)
    }
}
