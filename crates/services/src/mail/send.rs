//! Sending: a message to an agent or a person, or an envelope to a workspace of the run.

use althing_dialects::frugal::haid::called;
use althing_kernel::blackboard::Label;
use althing_kernel::envelope::{PayloadArg, Priority, Send};
use althing_kernel::query::{Answer, OfWorkspace, Query};
use althing_kernel::records::create::Create;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::{Fields, Kind, RecordId};
use althing_kernel::text::Text;
use althing_kernel::token::TypeName;
use althing_kernel::{
    AgentName, Command, Content, EnvelopeId, Principal, Reply, Rule, State, UserId, WorkspaceId,
};
use serde::Serialize;

use super::workspaces;
use crate::context::ProjectContext;
use crate::error::Error;
use crate::frugal::named;

/// The coordinator of the run, as people name it.
const COORDINATOR: [&str; 2] = ["root", "coordinator"];

/// The receiver of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An agent or a person; a message goes to their inbox.
    Principal(Principal),
    /// A workspace of the run; an envelope goes to its inbox.
    Workspace(WorkspaceId),
}

/// A letter to be sent.
pub struct Outgoing<'a> {
    /// The receiver.
    pub to: &'a Address,
    /// The text.
    pub text: &'a str,
    /// The letter it answers, by its id.
    pub reply_to: Option<&'a str>,
}

/// A letter that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// The id as people write it.
    pub label: String,
    /// The receiver.
    pub to: String,
}

impl Address {
    /// Finds the receiver that a name means: `agent:NAME`, `user:NAME`, an agent's name alone, or
    /// `root` for the coordinator of the run.
    pub fn find(context: &ProjectContext, text: &str) -> Result<Self, Error> {
        let present = context.present()?;
        if let Some(user) = text.strip_prefix("user:") {
            return person(&present.state, user);
        }
        if COORDINATOR.contains(&text) {
            let root = present.state.root().cloned().ok_or_else(|| {
                Error::not_found("there is no active run, so nobody coordinates")
                    .with_rule(Rule::RunNeeded)
            })?;
            return Ok(Address::Workspace(root));
        }
        if text.starts_with("ws_")
            && let Ok(id) = WorkspaceId::new(text)
        {
            return Address::of_workspace(context, id);
        }
        let name = text.strip_prefix("agent:").unwrap_or(text);
        agent(&present.state, name).map(|agent| Address::Principal(Principal::Agent(agent)))
    }

    /// The receiver behind a workspace. That of a connected agent has no inbox of its own: what is
    /// sent there goes to the inbox of the agent.
    pub fn of_workspace(context: &ProjectContext, id: WorkspaceId) -> Result<Self, Error> {
        let known = context.look_up(&Query::WorkspaceGet(OfWorkspace { workspace: id.clone() }))?;
        let agent = match known {
            Some(Answer::Workspace(view)) if !view.is_of_run() => view.agent,
            _ => None,
        };
        Ok(agent
            .map_or(Address::Workspace(id), |agent| Address::Principal(Principal::Agent(agent))))
    }
}

fn person(state: &State, name: &str) -> Result<Address, Error> {
    let id = UserId::new(name).map_err(|error| Error::usage(format!("user:{name}: {error}")))?;
    if state.user(&id).is_none() {
        let failure = Error::not_found(format!("there is no person {name}"));
        return Err(
            failure.hint("`althing users` lists who there is; `althing login NAME` signs up.")
        );
    }
    Ok(Address::Principal(Principal::User(id)))
}

/// The agent that a name means: its own name, a HAID, or the role or the tool that only one agent
/// registered with.
fn agent(state: &State, text: &str) -> Result<AgentName, Error> {
    if let Ok(agent) = named(text)
        && state.agent(&agent).is_some()
    {
        return Ok(agent);
    }
    let is_meant = |label: &Option<Label>| {
        label.as_ref().is_some_and(|label| label.as_str().eq_ignore_ascii_case(text))
    };
    let known = state
        .agents()
        .filter(|(_, agent)| is_meant(&agent.about.role) || is_meant(&agent.about.tool));
    let mut found: Vec<AgentName> = known.map(|(name, _)| name.clone()).collect();
    if found.len() == 1
        && let Some(one) = found.pop()
    {
        return Ok(one);
    }
    if found.is_empty() {
        let failure = Error::not_found(format!("there is no agent {text}"));
        let way = "`althing agents` lists who there is; an agent is known once it did something.";
        return Err(failure.hint(way));
    }
    let names: Vec<String> =
        found.into_iter().map(|name| Principal::Agent(name).to_string()).collect();
    Err(Error::usage(format!("{text} may be any of {}", names.join(", "))))
}

/// Sends a letter.
pub fn send(context: &ProjectContext, letter: &Outgoing<'_>) -> Result<Sent, Error> {
    match letter.to {
        Address::Principal(to) => message(context, to, letter),
        Address::Workspace(to) => envelope(context, to, letter),
    }
}

fn message(context: &ProjectContext, to: &Principal, letter: &Outgoing<'_>) -> Result<Sent, Error> {
    let name = match to {
        Principal::Agent(name) => name.to_string(),
        Principal::User(_) | Principal::System => to.to_string(),
    };
    let text = Text::new(letter.text).map_err(Error::unreadable)?;
    let mut create = Create::plain(Kind::Message, text);
    create.fields = Fields {
        thread: letter.reply_to.map(|id| thread(context, id)).transpose()?.flatten(),
        to: Some(Label::new(&name).map_err(Error::unreadable)?),
        ..Fields::default()
    };
    match context.execute(Command::MemoryCreate(Box::new(create)))? {
        Reply::Memory(reply) => match *reply {
            MemoryReply::Record(made) => {
                let (id, label) = (made.id.to_string(), made.id.label());
                Ok(Sent { id, label, to: called(to) })
            }
            other => Err(Error::unexpected(&other)),
        },
        other => Err(Error::unexpected(&other)),
    }
}

/// The thread of the letter that is answered: its own, or one that begins with it.
fn thread(context: &ProjectContext, id: &str) -> Result<Option<Label>, Error> {
    let label = |text: &str| Label::new(text).ok();
    let Ok(record) = id.parse::<RecordId>() else { return Ok(label(id)) };
    let present = context.present()?;
    let known = present.state.memory().record(record);
    let known = known.ok_or_else(|| Error::not_found(format!("there is no letter {id}")))?;
    Ok(known.fields.thread.clone().or_else(|| label(&record.to_string())))
}

/// Sends an envelope: a question of a worker, feedback of the coordinator.
fn envelope(
    context: &ProjectContext,
    to: &WorkspaceId,
    letter: &Outgoing<'_>,
) -> Result<Sent, Error> {
    let who = context.named()?.clone();
    let own = workspaces(context, &who)?;
    let coordinates = own.iter().any(|own| own.parent.is_none());
    let kind = if coordinates { "feedback" } else { "query" };
    let send = Send {
        in_reply_to: letter.reply_to.and_then(|id| EnvelopeId::new(id).ok()),
        payload: PayloadArg {
            attachments: Vec::new(),
            content: Content::Text(letter.text.into()),
            format: None,
        },
        priority: Priority::Normal,
        rights: Vec::new(),
        to: to.clone(),
        kind: TypeName::new(kind).map_err(Error::unreadable)?,
        workspace: None,
    };
    match context.execute(Command::EnvelopeSend(send))? {
        Reply::Envelope(view) => Ok(Sent {
            id: view.envelope.to_string(),
            label: view.envelope.to_string(),
            to: view.to.to_string(),
        }),
        other => Err(Error::unexpected(&other)),
    }
}
