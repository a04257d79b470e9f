//! `heimdall-haid`: who agents are.

use althing_dialects::frugal::haid::Haid;
use althing_dialects::moment::utc;
use althing_kernel::agent::{Beat, OfAgent, Register, Standing};
use althing_kernel::blackboard::Label;
use althing_kernel::query::AgentView;
use althing_kernel::{Command, Principal};
use althing_services::frugal::check_client;
use althing_services::peers;
use std::collections::BTreeSet;

use super::args::{Args, unexpected, unknown};
use super::{Stop, claim, context, context_with, lines, order, order_as};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::haid::{agent_name, own_haid};
use crate::typed::label;

pub(super) const HELP: &str = "\
heimdall-haid: who agents are

  heimdall-haid current                         the HAID of this person, machine and project
  heimdall-haid spawn <role>                    that of somebody started from here
  heimdall-haid register [--role R] [--haid H]
  heimdall-haid heartbeat [H]
  heimdall-haid revoke|reinstate H [--passphrase-stdin]
  heimdall-haid check H                         exit code 3 if it is revoked or not known
  heimdall-haid list [--json]
  heimdall-haid get H
  heimdall-haid trailer [H]                     a line for commit messages

Revoking takes a person (ALTHING_USER) or the coordinator.
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 revoked or not known.
";

const NOT_ACTIVE: u8 = 3;

/// What a list says of an agent whose host went away and did not come back yet.
const STALE: &str = "stale";

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    match first.as_deref() {
        Some("current") => {
            args.end()?;
            Ok(format!("{}\n", own_haid(context()?.project.root())?))
        }
        Some("spawn") => {
            let role = args.next().ok_or_else(|| Stop::usage("spawn needs <role>"))?;
            args.end()?;
            let project = context()?.project;
            check_client(project.settings.memory_secrets.value, &role)?;
            let spawned = own_haid(project.root())?.spawn(&role);
            let spawned = spawned.ok_or_else(|| Stop::error(2, format!("no role in {role:?}")))?;
            Ok(format!("{spawned}\n"))
        }
        Some("register") => register(args),
        Some("heartbeat") => {
            let (context, given) = (context()?, args.next());
            args.end()?;
            let haid = given_or_set(&context, given)?;
            if entry(&context, &haid)?.is_none() {
                return Err(not_registered(&context, &haid)?);
            }
            let client = claim::client_of(&context, &haid)?;
            let beat = Command::AgentHeartbeat(Beat::default());
            order_as(&context, &client, beat).map_err(Error::from)?;
            Ok(format!("heartbeat bumped for {haid}\n"))
        }
        Some("revoke") => stand(args, Command::AgentRevoke, "revoked"),
        Some("reinstate") => stand(args, Command::AgentReinstate, "active"),
        Some("check") => check(args),
        Some("list") => list(args),
        Some("get") => {
            let haid = needed(args.next())?;
            args.end()?;
            let context = context()?;
            let found =
                entry(&context, &haid)?.map_or_else(|| "null".to_owned(), |own| pretty(&own));
            Ok(format!("{found}\n"))
        }
        Some("trailer") => {
            let given = args.next();
            args.end()?;
            let haid = given_or_own(&context()?, given)?;
            Ok(format!("Heimdall-Agent: {haid}\n"))
        }
        _ => Err(unknown(first)),
    }
}

/// The refusal of a heartbeat of a HAID that is not registered.
fn not_registered(context: &CommandContext<'_>, haid: &Haid) -> Result<Stop, Stop> {
    let message = format!("HAID not in registry: {haid}");
    let own = || Ok::<_, Error>(Principal::Agent(agent_name(&own_haid(context.project.root())?)?));
    let caller = context.project.asker()?.map_or_else(own, Ok)?;
    // A refusal on record in its own name would register it.
    if caller == Principal::Agent(agent_name(haid)?) {
        return Ok(Stop::error(2, message));
    }
    Ok(Stop::refused(2, Error::not_found(message)))
}

pub(super) fn parse(text: &str) -> Result<Haid, Stop> {
    Haid::new(text).map_err(|error| Stop::error(2, error))
}

fn needed(given: Option<String>) -> Result<Haid, Stop> {
    parse(&given.ok_or_else(|| Stop::usage("a HAID is needed"))?)
}

fn given_or_own(context: &CommandContext<'_>, given: Option<String>) -> Result<Haid, Stop> {
    match given {
        Some(text) => parse(&text),
        None => Ok(own_haid(context.project.root())?),
    }
}

/// The HAID of a caller who changes something: an agent set with `--as` or `ALTHING_AGENT` comes first.
fn given_or_set(context: &CommandContext<'_>, given: Option<String>) -> Result<Haid, Stop> {
    let set = match (&given, context.project.asker()?) {
        (None, Some(Principal::Agent(name))) => Haid::of_agent(name.as_str()),
        _ => None,
    };
    set.map_or_else(|| given_or_own(context, given), Ok)
}

fn register(mut args: Args) -> Result<String, Stop> {
    let (mut role, mut haid) = (None, None);
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--role" => role = Some(args.value(&flag)?),
            "--haid" => haid = Some(args.value(&flag)?),
            other => return Err(unexpected(other)),
        }
    }
    let context = context()?;
    let haid = given_or_set(&context, haid)?;
    let role = role.or_else(|| haid.role().map(str::to_owned));
    let role = role.unwrap_or_else(|| "orchestrator".to_owned());
    let about = Register {
        human: Some(label(haid.human())?),
        role: Some(label(&role)?),
        tool: Some(label(haid.role().unwrap_or("unknown"))?),
        tool_version: Some(label("unknown")?),
    };
    let client = claim::client_of(&context, &haid)?;
    order_as(&context, &client, Command::AgentRegister(about)).map_err(Error::from)?;
    Ok(format!("{haid}\n"))
}

fn stand(mut args: Args, command: fn(OfAgent) -> Command, word: &str) -> Result<String, Stop> {
    let haid = needed(args.next())?;
    let passphrase = match args.next().as_deref() {
        None => false,
        Some("--passphrase-stdin") => true,
        Some(other) => return Err(unexpected(other)),
    };
    args.end()?;
    let context = context_with(passphrase)?;
    order(&context, command(OfAgent { agent: agent_name(&haid)? }))?;
    Ok(format!("{haid} {word}\n"))
}

fn check(mut args: Args) -> Result<String, Stop> {
    let haid = needed(args.next())?;
    args.end()?;
    let context = context()?;
    // Revoking an agent also revokes the agents that it started.
    if let Some(root) = haid.role().and_then(|_| Haid::new(haid.root()).ok())
        && standing(&context, &root)?.is_some_and(|root| root != Standing::Active)
    {
        let message = format!("HAID is revoked: {root}, which {haid} is of");
        return Err(Stop::error(NOT_ACTIVE, message));
    }
    match standing(&context, &haid)? {
        Some(Standing::Active) => Ok(format!("{haid} active\n")),
        Some(_) => Err(Stop::error(NOT_ACTIVE, format!("HAID is revoked: {haid}"))),
        None => Err(Stop::error(NOT_ACTIVE, format!("HAID not in registry: {haid}"))),
    }
}

fn standing(context: &CommandContext<'_>, haid: &Haid) -> Result<Option<Standing>, Stop> {
    Ok(context.agent_view(agent_name(haid)?)?.map(|agent| agent.status))
}

fn entry(context: &CommandContext<'_>, haid: &Haid) -> Result<Option<Entry>, Stop> {
    let found = context.agent_view(agent_name(haid)?)?;
    Ok(found.map(|agent| shown(haid, &agent)))
}

/// The known facts about a HAID, with the fields in the order they are written.
#[derive(serde::Serialize)]
struct Entry {
    human: String,
    role: String,
    tool: String,
    tool_version: String,
    first_seen: String,
    last_heartbeat: String,
    status: &'static str,
}

fn shown(haid: &Haid, agent: &AgentView) -> Entry {
    let text =
        |label: &Option<Label>, or: &str| label.as_ref().map_or(or, Label::as_str).to_owned();
    Entry {
        human: text(&agent.human, haid.human()),
        role: text(&agent.role, haid.role().unwrap_or("orchestrator")),
        tool: text(&agent.tool, "unknown"),
        tool_version: text(&agent.tool_version, "unknown"),
        first_seen: utc(agent.first_seen),
        last_heartbeat: utc(agent.last_heartbeat),
        status: match agent.status {
            Standing::Active => "active",
            Standing::Revoked => "revoked",
        },
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn list(mut args: Args) -> Result<String, Stop> {
    let json = match args.next().as_deref() {
        None => false,
        Some("--json") => true,
        Some(other) => return Err(unexpected(other)),
    };
    args.end()?;
    let context = context()?;
    let agents = context.agents()?;
    // Where there is no project yet, nobody is known.
    let gone = if agents.is_empty() { BTreeSet::new() } else { peers::gone(&context.request)? };
    let known: Vec<(Haid, Entry)> = agents
        .iter()
        .filter_map(|agent| {
            let haid = Haid::of_agent(agent.agent.as_str())?;
            let mut entry = shown(&haid, agent);
            if gone.contains(&agent.agent) && agent.status == Standing::Active {
                entry.status = STALE;
            }
            Some((haid, entry))
        })
        .collect();
    if json {
        let all: std::collections::BTreeMap<String, Entry> =
            known.into_iter().map(|(haid, entry)| (haid.to_string(), entry)).collect();
        return Ok(format!("{}\n", pretty(&all)));
    }
    if known.is_empty() {
        return Ok("(no agents registered)\n".to_owned());
    }
    let line = |(haid, own): &(Haid, Entry)| {
        let Entry { human, role, last_heartbeat, status, .. } = own;
        format!("{haid}\t{status}\t{human}\t{role}\tlast:{last_heartbeat}")
    };
    Ok(lines(known.iter().map(line)))
}
