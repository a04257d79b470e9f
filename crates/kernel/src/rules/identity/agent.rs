//! Agents: registration of names with keys, self-descriptions, heartbeats and revocation.

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::values::key::PublicKey;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;
use crate::values::time::{Span, Timestamp};

pub use crate::model::identity::agent::*;

/// The minimum time between two recorded signs of activity.
const HEARD_STEP: Span = Span::from_secs(1);

/// Binds a name to a key on first use; later refuses other keys.
pub(crate) fn admit(
    tx: &mut Transaction<'_>,
    name: &AgentName,
    key: PublicKey,
) -> Result<(), DecisionError> {
    match tx.state().agents.get(name) {
        Some(known) if known.key == key => Ok(()),
        Some(_) => Err(DecisionError::NotAuthentic {
            entity: Principal::Agent(name.clone()),
            reason: "the name is bound to another key",
        }),
        None => {
            let registered = Registered { agent: name.clone(), key };
            tx.emit(draft(name, Actor::Protocol, Event::AgentRegistered(registered)))?;
            Ok(())
        }
    }
}

fn draft(name: &AgentName, actor: Actor, event: Event) -> Draft {
    let (correlation, causation) = (None, None);
    let stream = Stream::agent(name);
    Draft { actor, workspace: None, stream, correlation, causation, event }
}

fn own_name(caller: &Caller) -> Result<&AgentName, Refusal> {
    match &caller.principal {
        Principal::Agent(name) => Ok(name),
        Principal::User(_) | Principal::System => {
            let message = format!("{} is not an agent", caller.principal);
            Err(Refusal::denied(Rule::WhoAreYou, message))
        }
    }
}

/// Registers the caller. Registration itself happens on arrival; only a new description is recorded
/// here.
pub(crate) fn decide_register(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Register,
) -> Result<Reply, DecisionError> {
    let name = own_name(caller)?;
    let described = Described {
        agent: name.clone(),
        human: args.human.clone(),
        role: args.role.clone(),
        tool: args.tool.clone(),
        tool_version: args.tool_version.clone(),
    };
    let known = tx.state().agents.get(name);
    if known.is_some_and(|known| known.about.with(&described) != known.about) {
        let actor = caller.principal.clone().into();
        tx.emit(draft(name, actor, Event::AgentDescribed(described)))?;
    }
    agent_reply(tx, name)
}

pub(crate) fn decide_heartbeat(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Beat,
) -> Result<Reply, DecisionError> {
    let name = own_name(caller)?;
    let event = Event::AgentHeartbeat(Beaten { agent: name.clone(), looked: args.looked });
    tx.emit(draft(name, caller.principal.clone().into(), event))?;
    agent_reply(tx, name)
}

/// Revokes an agent; revoking one that is already revoked writes no entry.
pub(crate) fn decide_revoke(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &OfAgent,
) -> Result<Reply, DecisionError> {
    if may_say(tx.state(), caller, &args.agent)? == Standing::Active {
        let event = Event::AgentRevoked(args.clone());
        tx.emit(draft(&args.agent, caller.principal.clone().into(), event))?;
    }
    agent_reply(tx, &args.agent)
}

pub(crate) fn decide_reinstate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &OfAgent,
) -> Result<Reply, DecisionError> {
    if may_say(tx.state(), caller, &args.agent)? == Standing::Revoked {
        let event = Event::AgentReinstated(args.clone());
        tx.emit(draft(&args.agent, caller.principal.clone().into(), event))?;
    }
    agent_reply(tx, &args.agent)
}

/// The standing of an agent, if the caller may change it. Capabilities of people were checked
/// before.
fn may_say(state: &State, caller: &Caller, name: &AgentName) -> Result<Standing, Refusal> {
    if !is_coordinator(state, &caller.principal) {
        let message = format!("{} may not revoke or reinstate agent {name}", caller.principal);
        return Err(Refusal::denied(Rule::RevokeNeedsRight, message));
    }
    let known = state
        .agents
        .get(name)
        .ok_or_else(|| Refusal::not_found(Rule::NotFound, format!("there is no agent {name}")))?;
    Ok(known.standing())
}

fn agent_reply(tx: &Transaction<'_>, name: &AgentName) -> Result<Reply, DecisionError> {
    let view = AgentView::find(tx.state(), tx.now(), name);
    Ok(Reply::Agent(Box::new(view.ok_or(ApplyError::Unknown("the agent"))?)))
}

/// Refuses agents that are revoked, or were started by a revoked agent.
pub(crate) fn not_revoked(state: &State, caller: &Principal) -> Result<(), Refusal> {
    let Principal::Agent(name) = caller else { return Ok(()) };
    if is_revoked(state, name) {
        let message = format!("agent {name} is revoked and holds nothing new");
        return Err(Refusal::denied(Rule::AgentRevoked, message));
    }
    match above(name).find(|above| is_revoked(state, above)) {
        Some(above) => {
            let message = format!(
                "agent {name} was started by {above}, which is revoked, and holds nothing new"
            );
            Err(Refusal::denied(Rule::AgentRevoked, message))
        }
        None => Ok(()),
    }
}

fn is_revoked(state: &State, name: &AgentName) -> bool {
    matches!(state.agents.get(name).map(Agent::standing), Some(Standing::Revoked))
}

/// The agents that an agent was started by, taken from the parts of its name before each `+`. A
/// started agent may do no more than the one that started it.
fn above(name: &AgentName) -> impl Iterator<Item = AgentName> {
    let name = name.as_str();
    name.match_indices('+').filter_map(|(at, _)| AgentName::new(&name[..at]).ok())
}

pub(crate) fn apply_registered(
    state: &mut State,
    entry: &Stamped,
    registered: &Registered,
) -> Result<(), ApplyError> {
    let agent = Agent {
        key: registered.key,
        registered_at: entry.at,
        had_a_part: false,
        heard_at: entry.at,
        looked: None,
        revoked_at: None,
        about: About::default(),
    };
    match state.agents.insert(registered.agent.clone(), agent) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("an agent's registration")),
    }
}

pub(crate) fn apply_described(state: &mut State, body: &Described) -> Result<(), ApplyError> {
    let agent = state.agents.get_mut(&body.agent).ok_or(ApplyError::Unknown("the agent"))?;
    agent.about = agent.about.with(body);
    Ok(())
}

/// Applies a revocation at a moment, or a reinstatement.
pub(crate) fn apply_standing(
    state: &mut State,
    name: &AgentName,
    revoked_at: Option<Timestamp>,
) -> Result<(), ApplyError> {
    let agent = state.agents.get_mut(name).ok_or(ApplyError::Unknown("the agent"))?;
    if agent.revoked_at.is_some() == revoked_at.is_some() {
        return Err(ApplyError::Twice("how an agent stands"));
    }
    agent.revoked_at = revoked_at;
    Ok(())
}

/// Updates an agent's last activity from any entry it caused.
pub(crate) fn hear(state: &mut State, entry: &Stamped) {
    let Actor::Principal(Principal::Agent(name)) = &entry.draft.actor else { return };
    let late = |agent: &Agent| entry.at >= agent.heard_at.after(HEARD_STEP);
    if state.agents.get(name).is_some_and(late)
        && let Some(agent) = state.agents.get_mut(name)
    {
        agent.heard_at = entry.at;
    }
}

/// Applies a heartbeat, which may record that the agent has seen the shared records.
pub(crate) fn apply_heartbeat(state: &mut State, body: &Beaten) {
    let seq = state.seq;
    if let Some(agent) = state.agents.get_mut(&body.agent).filter(|_| body.looked) {
        agent.looked = Some(seq);
    }
}

impl State {
    /// Records that an agent was given work in a run.
    pub(crate) fn give_part(&mut self, name: &AgentName) {
        if let Some(agent) = self.agents.get_mut(name) {
            agent.had_a_part = true;
        }
    }
}
