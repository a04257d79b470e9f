//! Agents: a name bound to the key that first used it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Draft, Event, Stamped, Stream};
use crate::key::PublicKey;
use crate::name::AgentName;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};

/// What the state remembers of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The key its name is bound to.
    pub key: PublicKey,
    /// When it was first seen.
    pub registered_at: Timestamp,
    /// Whether it ever had a part in a run, even one that it lost to another agent.
    pub had_a_part: bool,
}

/// `agent.register`: shows up once, so that others can give this agent work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {}

/// `agent.registered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// The agent.
    pub agent: AgentName,
    /// The key its name is bound to from now on.
    pub key: PublicKey,
}

/// Binds a name to a key on first use; later a different key is not that agent.
pub(crate) fn admit(turn: &mut Turn<'_>, name: &AgentName, key: PublicKey) -> Result<(), Halt> {
    match turn.state().agents.get(name) {
        Some(known) if known.key == key => Ok(()),
        Some(_) => Err(Halt::NotAuthentic {
            entity: Principal::Agent(name.clone()),
            reason: "the name is bound to another key",
        }),
        None => {
            turn.emit(Draft {
                actor: Actor::Protocol,
                workspace: None,
                stream: Stream::agent(name),
                correlation: None,
                causation: None,
                event: Event::AgentRegistered(Registered { agent: name.clone(), key }),
            })?;
            Ok(())
        }
    }
}

/// Arriving is all there is to it.
pub(crate) fn decide_register(caller: &Caller) -> Result<Reply, Halt> {
    match &caller.principal {
        Principal::Agent(_) => Ok(Reply::Done),
        Principal::User(_) | Principal::System => {
            let message = format!("{} is no agent", caller.principal);
            Err(Refusal::denied(Rule::WhoAreYou, message).into())
        }
    }
}

pub(crate) fn apply_registered(
    state: &mut State,
    entry: &Stamped,
    registered: &Registered,
) -> Result<(), ApplyError> {
    let agent = Agent { key: registered.key, registered_at: entry.at, had_a_part: false };
    match state.agents.insert(registered.agent.clone(), agent) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("an agent's registration")),
    }
}

impl State {
    /// An agent gets work in a run.
    pub(crate) fn give_part(&mut self, name: &AgentName) {
        if let Some(agent) = self.agents.get_mut(name) {
            agent.had_a_part = true;
        }
    }
}
