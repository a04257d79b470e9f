//! Runs: a root workspace with its coordinator, started and ended.
//!
//! A trail holds one run after another. A run starts with the creation of its root, which fixes the
//! taxonomy, and ends when the root does: regularly, once everything below has ended, or by force.
//! The system is the coordinator unless the role is given to an agent.

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::admin::runtime::{CoordinatorAction, Degraded, Scope};
use crate::model::runs::approvals::{ApprovalSettings, GateType, Wish};
use crate::model::runs::signal::SignalType;
use crate::model::runs::taxonomy::document::Document;
use crate::model::runs::taxonomy::{ENTRIES_MAX, Taxonomy};
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{
    IDLE_TIMEOUT_DEFAULT, Initiator, Party, Priority, Status, Trigger, Workspace,
};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::user;
use crate::rules::runs::approvals;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::{right, signal, workspace};
use crate::surfaces::Surface;
use crate::values::id::{IdKind, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;
use crate::values::token::RoleName;

pub use crate::model::runs::run::*;

/// The hash algorithm that chains a run's trail.
const ALGORITHM: &str = "sha256";

/// The most live workspaces that a refusal names.
const NAMED_MAX: usize = 20;

/// Checks whether somebody may start a run, and returns the coordinating agent: people decide that;
/// without users, the first agent to ask becomes coordinator.
pub(crate) fn may_start(
    state: &State,
    caller: &Principal,
    wanted: Option<&AgentName>,
) -> Result<Option<AgentName>, Refusal> {
    if let Some(root) = &state.root {
        let message = format!("there is already a run, with the root {root}");
        return Err(Refusal::denied(Rule::OneCoordinator, message));
    }
    let Principal::Agent(own) = caller else { return Ok(wanted.cloned()) };
    if !state.users.is_empty() {
        let message = format!("agent {own} cannot make itself the coordinator");
        return Err(Refusal::denied(Rule::PostGiven, message));
    }
    if wanted.is_some_and(|wanted| wanted != own) {
        let message = format!("agent {own} cannot make another agent the coordinator");
        return Err(Refusal::denied(Rule::PostGiven, message));
    }
    Ok(Some(own.clone()))
}

pub(crate) fn decide_start(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    start: &Start,
) -> Result<Reply, DecisionError> {
    let settings = settings_for(tx.state(), start.highway.as_ref());
    approvals::may_choose(tx.state(), &caller.principal, &settings)?;
    let agent = may_start(tx.state(), &caller.principal, start.agent.as_ref())?;
    known_agent(tx.state(), agent.as_ref())?;
    let owner = owner_for(tx.state(), &caller.principal, start.owner.as_ref())?;
    if let Some(document) = &start.taxonomy {
        loadable(document)?;
    }
    let deployment_model = start.deployment.unwrap_or_default();
    deployment_model.check(&|mechanism| tx.has_in_place(mechanism))?;
    let id: WorkspaceId = tx.mint(IdKind::Workspace).into();
    let everything = Surface::new(".").map(|all| vec![all]).unwrap_or_default();
    let created = Created {
        agent,
        assignment: None,
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
            highway: settings,
            highway_by: start.highway.as_ref().map(|_| caller.principal.clone()),
            limits: start.limits.clone(),
            pool: start.pool,
            taxonomy: start.taxonomy.clone(),
        })),
        task_ref: None,
        timeout_s: None,
        visibility_set: Vec::new(),
        warn_at_percent: None,
        workspace_id: id.clone(),
    };
    tx.begin_in(&id, caller.principal.clone().into(), Event::WorkspaceCreated(created))?;
    right::grant_receive(tx, &id)?;
    let ready = SignalContent { signal: SignalType::Ready, reason: None, about: None };
    signal::emit_to(tx, &id, None, ready, Actor::Protocol)?;
    let loaded = Change::of_runtime(Status::Active, Trigger::WorkflowLoaded);
    change::take(tx, &id, loaded)?;
    tx.workspace_reply(&id)
}

/// The approval settings of a new run. Without users nothing waits by default: there is nobody to
/// ask.
pub(crate) fn settings_for(state: &State, wish: Option<&Wish>) -> ApprovalSettings {
    match wish {
        Some(wish) => ApprovalSettings::default().with(wish),
        None if state.users.is_empty() => ApprovalSettings::without_people(),
        None => ApprovalSettings::default(),
    }
}

/// The owner of a new run.
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
            let message = format!("agent {agent} has never registered");
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
    tx: &mut Transaction<'_>,
    caller: &Caller,
    hand_over: &HandOver,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "hand the post over")?;
    known_agent(tx.state(), hand_over.agent.as_ref())?;
    let root = coordinator::root(tx.state())?.clone();
    let event = Event::RunHandedOver(HandedOver {
        agent: hand_over.agent.clone(),
        before: workspace::get(tx.state(), &root)?.agent.clone(),
        workspace_id: root.clone(),
    });
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    tx.workspace_reply(&root)
}

pub(crate) fn decide_hold(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    set: &SetHold,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "hold the run")?;
    let root = coordinator::root(tx.state())?.clone();
    if workspace::get(tx.state(), &root)?.hold != set.hold {
        let event = Event::RunHeld(Held {
            hold: set.hold,
            reason: set.reason.clone(),
            workspace_id: root.clone(),
        });
        tx.note(Some(&root), caller.principal.clone().into(), event)?;
    }
    tx.workspace_reply(&root)
}

pub(crate) fn apply_held(state: &mut State, held: &Held) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&held.workspace_id);
    let known = known.filter(|known| known.parent.is_none() && !known.status.is_terminal());
    Arc::make_mut(known.ok_or(ApplyError::Unknown("the root"))?).hold = held.hold;
    Ok(())
}

/// Whether somebody may record what became of a run's branch: people, the system, and the agent that
/// coordinates or coordinated it.
pub(crate) fn may_record(
    state: &State,
    caller: &Caller,
    root: &WorkspaceId,
) -> Result<(), Refusal> {
    let known = workspace::get(state, root)?;
    let leads = known.agent.as_ref().is_some_and(|agent| caller.principal.is_agent(agent));
    let others = matches!(caller.principal, Principal::User(_) | Principal::System);
    if known.parent.is_none() && (leads || others) {
        return Ok(());
    }
    let message = format!("{} does not lead the run of {root}", caller.principal);
    Err(Refusal::denied(Rule::CoordinatorOnly, message))
}

pub(crate) fn decide_land(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    land: &Land,
) -> Result<Reply, DecisionError> {
    let root = &land.workspace;
    may_record(tx.state(), caller, root)?;
    let branch = workspace::get(tx.state(), root)?.branch.as_ref();
    if branch.is_none_or(|branch| branch.tip != land.merge.commit) {
        let message = format!("{} is not what the run of {root} made", land.merge.commit);
        return Err(Refusal::denied(Rule::MergeStale, message).into());
    }
    let (merge, workspace_id) = (land.merge.clone(), root.clone());
    let event = Event::RunLanded(Landed { merge, workspace_id });
    tx.note(Some(root), caller.principal.clone().into(), event)?;
    tx.workspace_reply(root)
}

pub(crate) fn decide_end(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    end: &End,
) -> Result<Reply, DecisionError> {
    let initiator = workspace::coordinator_only(tx.state(), caller, "end the run")?;
    let root = coordinator::root(tx.state())?.clone();
    let live = tx.state().live - 1;
    if live > 0 && !end.force {
        let going_on = tx
            .state()
            .workspaces
            .iter()
            .filter(|(id, known)| **id != root && known.charter.root == root)
            .filter(|(_, known)| !known.status.is_terminal());
        let named: Vec<String> = going_on.take(NAMED_MAX).map(|(id, _)| id.to_string()).collect();
        let message = format!("{live} workspaces are still live: {}", named.join(", "));
        return Err(Refusal::denied(Rule::RunOver, message).into());
    }
    if live > 0 {
        gate::not_around(tx.state(), caller, GateType::WorkspaceAbort)?;
    }
    let event = Event::RunStopped(Stopped {
        forced: end.force && live > 0,
        reason: end.reason.clone(),
        workspace_id: root.clone(),
    });
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    if live > 0 {
        by_force(tx, &root)?;
    } else {
        well(tx, &root, initiator)?;
    }
    tx.workspace_reply(&root)
}

fn well(
    tx: &mut Transaction<'_>,
    root: &WorkspaceId,
    initiator: Initiator,
) -> Result<(), ApplyError> {
    for to in [Status::Integrating, Status::Closed] {
        let (trigger, actor) = (Trigger::RunComplete, Actor::Protocol);
        change::take(tx, root, Change { to, trigger, initiator, reason: None, actor })?;
    }
    Ok(())
}

fn by_force(tx: &mut Transaction<'_>, root: &WorkspaceId) -> Result<(), ApplyError> {
    let of_run = tx.state().workspaces().filter(|(_, known)| known.charter.root == *root);
    let live = of_run.filter(|(_, known)| !known.status.is_terminal());
    let affected_workspaces = live.map(|(id, _)| id.clone()).collect();
    let degraded = Event::SystemDegraded(Degraded {
        affected_workspaces,
        coordinator_action: CoordinatorAction::BatchAbort,
        reason: Text::lossy("forced_shutdown"),
        scope: Scope::Systemic,
        since: tx.now(),
        turned_away: 0,
    });
    tx.note(None, Actor::Protocol, degraded)?;
    change::shut_down(tx, root)
}

/// Applies the start of a run, with the creation of its root.
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
    state.approvals = Arc::new(run.highway.clone());
    state.approvals_by.clone_from(&run.highway_by);
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
    /// The taxonomy of the run a workspace belongs to.
    pub(crate) fn run_of(&self, workspace: &Workspace) -> &Taxonomy {
        static BASE: std::sync::LazyLock<Taxonomy> = std::sync::LazyLock::new(Taxonomy::base);
        self.runs.get(&workspace.charter.root).map_or(&BASE, |run| run)
    }
}
