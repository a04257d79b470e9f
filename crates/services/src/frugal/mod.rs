//! The frugal dialect: the six tools for claims, capsules, decisions and conflicts.

pub mod capsules;
pub mod claims;
pub mod conflicts;
pub mod decisions;
mod displaced;

use althing_dialects::frugal::haid::called as shown;
use althing_dialects::frugal::haid::{Haid, agent_named};
use althing_engine::ErrorKind;
use althing_engine::screen::{Screening, leaks, repeated};
use althing_kernel::agent::OfAgent;
use althing_kernel::lease::Ttl;
use althing_kernel::query::{Answer, Query};
use althing_kernel::{AgentName, Principal, Rule};
use althing_workshop::hosts::Hosts;
use serde_json::{Map, Value};
use std::path::PathBuf;

use crate::context::ProjectContext;
use crate::error::Error;
use crate::project::{Host, Identity, Project, UNNAMED, label};

/// The name of the server, as hosts' settings refer to it.
pub const SERVER: &str = "heimdall-ledger-mcp";

/// Settings of this dialect's tools.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The identity of the person on this machine, from which clients' identities are derived.
    pub root: Haid,
    /// The folder of the files for people.
    pub planning: PathBuf,
    /// The duration of a claim that names none.
    pub ttl: Ttl,
    /// The agent that acts, if it is fixed. Hosts cannot change it.
    pub agent: Option<AgentName>,
    /// The names that hooks gave to sessions, if this server is to go by them.
    pub hosts: Option<Hosts>,
}

/// The parts of a tool call that identify the caller.
pub struct Call<'a> {
    /// The project.
    pub project: &'a Project,
    /// The host that asks.
    pub host: &'a Host,
    /// The arguments.
    pub arguments: &'a Map<String, Value>,
}

/// Identifies the caller: the agent this server was started as, else the client that the call or
/// the host names.
pub fn identify(ledger: &Ledger, call: &Call<'_>) -> Result<Identity, Error> {
    let named = match call.arguments.get("client_identity") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if !name.trim().is_empty() => Some(name.as_str()),
        Some(_) => return Err(Error::usage("'client_identity' must be a non-empty string")),
    };
    if let Some(agent) = &ledger.agent {
        if named.is_some() {
            let shown = shown(&Principal::Agent(agent.clone()));
            let message =
                format!("this server acts as {shown}; 'client_identity' cannot change that");
            return Err(Error::refused(Rule::WhoAreYou, message));
        }
        return Ok(of_agent(agent.clone(), call));
    }
    // What a host does through its hooks and through this server is done by one agent.
    let hooked = ledger.hosts.as_ref().filter(|_| named.is_none()).and_then(Hosts::host_name);
    if let Some(agent) = hooked.and_then(|name| AgentName::new(&name).ok()) {
        return Ok(of_agent(agent, call));
    }
    let client = named.or(call.host.name.as_deref()).unwrap_or(UNNAMED);
    check_client(call.project.setup().options.screening, client)?;
    let mut haid = called(ledger, client)?;
    let mut agent = as_agent(&haid)?;
    let tool = tool_of(call, &agent)?;
    if let Some(apart) = apart(ledger, client, &haid, tool.as_deref()) {
        (agent, haid) = (as_agent(&apart)?, apart);
    } else if named.is_some() {
        not_of_another(ledger, call, &haid, tool.as_deref())?;
    }
    let role = haid.role().unwrap_or_default().to_owned();
    let (shown, human) = (haid.to_string(), Some(haid.human().to_owned()));
    let mut host = call.host.clone();
    host.name.get_or_insert_with(|| client.to_owned());
    Ok(Identity { agent, shown, role, human, host })
}

/// The identity of an agent by its name.
fn of_agent(agent: AgentName, call: &Call<'_>) -> Identity {
    let shown = shown(&Principal::Agent(agent.clone()));
    let haid = Haid::of_agent(agent.as_str());
    let role = haid.as_ref().and_then(|haid| haid.role().map(str::to_owned));
    let role = role.unwrap_or_else(|| agent.to_string());
    let human = haid.map(|haid| haid.human().to_owned());
    Identity { agent, shown, role, human, host: call.host.clone() }
}

/// Refuses a name that looks like a secret, before an identity is derived from it: what is left of
/// it could not be recognised any more.
pub fn check_client(screening: Screening, name: &str) -> Result<(), Error> {
    match screening {
        Screening::Strict if leaks(name) => {
            let message = format!("the name seems to hold a secret: {}", repeated(name));
            Err(Error::refused(Rule::NoSecrets, message))
        }
        Screening::Strict | Screening::Warn => Ok(()),
    }
}

fn as_agent(haid: &Haid) -> Result<AgentName, Error> {
    AgentName::new(&haid.agent_name())
        .map_err(|error| Error::usage(format!("{haid} cannot be an agent: {error}")))
}

/// The tool an agent registered with, if the agent is known.
fn tool_of(call: &Call<'_>, agent: &AgentName) -> Result<Option<String>, Error> {
    let Some(engine) = call.project.readable()? else { return Ok(None) };
    match engine.ask(&Query::AgentGet(OfAgent { agent: agent.clone() })) {
        Ok(Answer::Agent(known)) => {
            Ok(Some(known.tool.as_ref().map(ToString::to_string).unwrap_or_default()))
        }
        Ok(other) => Err(Error::unexpected(&other)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Derives a separate identity for a client whose name would lead to that of another client. The
/// first client keeps the plain one.
fn apart(ledger: &Ledger, client: &str, haid: &Haid, tool: Option<&str>) -> Option<Haid> {
    let other = tool.filter(|tool| !is_tool(client, tool))?;
    let is_same = !client.starts_with("haid:") && ledger.root.spawn(other).as_ref() == Some(haid);
    if is_same { ledger.root.spawn_apart(client) } else { None }
}

/// Whether a client has the name an agent registered with.
fn is_tool(client: &str, tool: &str) -> bool {
    label(client).is_some_and(|client| client.as_str().eq_ignore_ascii_case(tool))
}

/// Refuses a host that names itself and then claims the identity of another host. Names that are
/// free or that it registered itself are allowed.
fn not_of_another(
    ledger: &Ledger,
    call: &Call<'_>,
    haid: &Haid,
    tool: Option<&str>,
) -> Result<(), Error> {
    let host = call.host.name.as_deref().filter(|host| *host != UNNAMED);
    let Some(host) = host else { return Ok(()) };
    if called(ledger, host).is_ok_and(|own| own == *haid) {
        return Ok(());
    }
    let Some(by) = tool else { return Ok(()) };
    if is_tool(host, by) {
        return Ok(());
    }
    let message = format!("this host is {host} and cannot act as {haid}");
    let way_out = "Leave 'client_identity' out, or give a name that no other host has.";
    Err(Error::refused(Rule::WhoAreYou, message.clone()).with_wording(message, way_out))
}

/// The HAID of a client: derived from its name, or the one it gives if that belongs to this person
/// and project. A HAID of somebody else is refused.
fn called(ledger: &Ledger, client: &str) -> Result<Haid, Error> {
    if client.to_ascii_lowercase().starts_with("haid:") {
        let given = Haid::new(client).map_err(|error| Error::usage(error.to_string()))?;
        if given.root() == ledger.root.as_str() && given.role().is_some() {
            return Ok(given);
        }
        let message = format!("{given} is not a client of {}", ledger.root);
        let way_out = format!("Give a plain name, or {}/NAME.", ledger.root);
        return Err(Error::refused(Rule::WhoAreYou, message.clone()).with_wording(message, way_out));
    }
    ledger.root.spawn(client).ok_or_else(|| {
        Error::usage(format!("{client:?} has no letter or digit to make an identity of"))
    })
}

/// A refusal because of something that a person has to move first.
fn in_the_way(message: String, way_out: impl Into<String>) -> Error {
    Error::refused(Rule::Usage, message.clone()).with_wording(message, way_out)
}

/// The agent that somebody names in a field of a command, who has to be registered in this project.
fn registered(
    context: &ProjectContext,
    command: &str,
    field: &str,
    text: &str,
) -> Result<AgentName, Error> {
    let agent = named(text)?;
    match context.ask(&Query::AgentGet(OfAgent { agent: agent.clone() })) {
        Ok(_) => return Ok(agent),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let message = format!("{field}: no agent {text} is registered in this project");
    let way_out =
        format!("Name an agent that `althing do agent.list {{}}` shows, or leave {field} out.");
    let error = Error::not_found(&message).with_rule(Rule::ReferenceKnown);
    Err(context.on_record(command, error.with_wording(message, way_out)))
}

/// The agent that somebody names, by a HAID or by its plain name.
pub(crate) fn named(text: &str) -> Result<AgentName, Error> {
    let name = agent_named(text).map_err(|error| Error::usage(error.to_string()))?;
    AgentName::new(&name).map_err(|error| Error::usage(format!("{text}: {error}")))
}
