//! Lanes: work offered to an agent, with a claim on its scope.
//!
//! An offer is a lease of the dispatcher, an assignment and a message, which refer to each other. The
//! kernel says beforehand which lanes it would refuse; the others are offered with one command, so
//! either all of them exist or none. When the agent accepts, the kernel transfers the lease to it.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::entity;
use althing_engine::screen::repeated;
use althing_kernel::agent::Agent;
use althing_kernel::blackboard::Label;
use althing_kernel::content::Blob;
use althing_kernel::idempotency::digest;
use althing_kernel::lease::{Surfaces, Ttl};
use althing_kernel::records::field::Few;
use althing_kernel::records::offer::{self, Offer};
use althing_kernel::records::view::{LaneReply, MemoryReply, OfferedReply};
use althing_kernel::records::{Fields, Kind, Record, RecordId};
use althing_kernel::{AgentName, Command, Principal, Rule, State, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::Verbs;
use super::args::{label, text};
use super::claims;
use super::hints::unknown;
use super::obstacles::{Forecast, Obstacle};
use super::request::stated;
use super::session::Present;
use crate::error::Error;
use crate::frugal;
use crate::project::UNNAMED;

/// Duration of a lane's claim, in seconds: four hours.
pub(super) const CLAIM_SECS: u64 = 4 * 60 * 60;
/// Most attempts to offer lanes while others take parts of them in between.
const ATTEMPTS_MAX: usize = 4;
/// Prefixes of scopes that name a loop instead of paths.
pub(super) const LOOP_SCOPES: [&str; 3] = ["review-loop:", "ideate-loop:", "ideation-loop:"];

/// Work for an agent.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) agent: AgentName,
    pub(super) task: String,
    pub(super) scope: Option<String>,
    pub(super) surfaces: Option<Surfaces>,
    pub(super) plan: Option<RecordId>,
    pub(super) name: Option<String>,
    pub(super) worktree: Option<String>,
    pub(super) thread: Option<String>,
}

impl Lane {
    /// The lane in the kernel's arguments.
    pub(super) fn wanted(&self, key: &Key, now: Timestamp) -> Result<offer::Lane, Error> {
        let worktree = self.worktree.as_deref();
        let fields = Fields {
            agent: Some(self.agent.clone()),
            nonce: Some(label("nonce", &key.nonce(self, now))?),
            scope: self.scope.as_deref().map(|scope| text("scope", scope)).transpose()?,
            plan_id: self.plan,
            lane: self.name.as_deref().map(|name| label("lane", name)).transpose()?,
            worktree_path: worktree.map(|path| text("worktree", path)).transpose()?,
            ..Fields::default()
        };
        let ttl = Ttl::new(CLAIM_SECS.into()).map_err(|error| Error::defect(error.to_string()))?;
        Ok(offer::Lane {
            fields,
            surfaces: self.surfaces.clone(),
            text: text("task", &self.task)?,
            thread: self.thread.as_deref().map(|own| label("threadId", own)).transpose()?,
            ttl_s: Some(ttl),
        })
    }
}

/// The idempotency key of a request: its id, and its arguments.
pub(super) struct Key {
    id: Option<String>,
    body: String,
}

impl Key {
    pub(super) fn new(id: Option<&str>, args: &impl Serialize) -> Result<Self, Error> {
        // Some hosts send an empty string for no id.
        let id = id.map(str::trim).filter(|id| !id.is_empty());
        Ok(Key { id: id.map(str::to_owned), body: stated(args)?.to_string() })
    }

    /// The prefix of the ids of this request's commands.
    fn prefix(&self) -> Option<String> {
        self.id.as_ref().map(|id| format!("{}.", short(id)))
    }

    /// The id of this request's offer.
    fn of_offer(&self) -> Option<Label> {
        self.prefix().and_then(|prefix| Label::new(&format!("{prefix}offer")).ok())
    }

    /// The hash of the arguments.
    fn asked(&self) -> Blob {
        Blob::of(self.body.as_bytes())
    }

    /// The offers this request made before. Refused if its id was used for another request.
    fn offered(
        &self,
        state: &State,
        who: &Principal,
        now: Timestamp,
    ) -> Result<Option<OfferedReply>, Error> {
        let (Some(prefix), Some(id)) = (self.prefix(), self.of_offer()) else { return Ok(None) };
        if state.memory().requests_by(who, &prefix, now).any(|other| *other != id) {
            return Err(reused());
        }
        let asked = digest(OFFER, &self.asked());
        match state.memory().answered(who, &id, now) {
            None => Ok(None),
            Some((before, MemoryReply::Offered(reply))) if *before == asked => {
                Ok(Some(reply.clone()))
            }
            Some(_) => Err(reused()),
        }
    }

    /// The id of a command of this request, if it has one.
    pub(super) fn part(&self, name: &str) -> Option<String> {
        self.whole().map(|whole| format!("{whole}.{}", short(name)))
    }

    /// Whether a command of this request was answered before.
    pub(super) fn has_answer(
        &self,
        state: &State,
        who: &Principal,
        now: Timestamp,
        name: &str,
    ) -> bool {
        let id = self.part(name).and_then(|id| Label::new(&id).ok());
        id.is_some_and(|id| state.memory().answered(who, &id, now).is_some())
    }

    /// Refuses an id that was used for another request.
    pub(super) fn check_same(
        &self,
        state: &State,
        who: &Principal,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (Some(prefix), Some(whole)) = (self.prefix(), self.whole()) else { return Ok(()) };
        let mut before = state.memory().requests_by(who, &prefix, now);
        if before.any(|id| !id.as_str().starts_with(&whole)) { Err(reused()) } else { Ok(()) }
    }

    /// The id of the one command of this request, if it has one.
    pub(super) fn whole(&self) -> Option<String> {
        self.prefix().map(|prefix| format!("{prefix}{}", short(&self.body)))
    }

    /// The id of the one command of this request, as a label.
    pub(super) fn label(&self) -> Option<Label> {
        self.whole().and_then(|id| Label::new(&id).ok())
    }

    /// Whether this request was made before. Refused if its id was used for another request.
    pub(super) fn is_repeated(
        &self,
        state: &State,
        who: &Principal,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let (Some(prefix), Some(whole)) = (self.prefix(), self.whole()) else { return Ok(false) };
        let mut before = state.memory().requests_by(who, &prefix, now);
        match before.next() {
            None => Ok(false),
            Some(id) if id.as_str() == whole => Ok(true),
            Some(_) => Err(reused()),
        }
    }

    /// The nonce by which results of a lane are told from those of other offers.
    fn nonce(&self, lane: &Lane, now: Timestamp) -> String {
        let of = self.id.clone().unwrap_or_else(|| now.micros().to_string());
        short(&format!("{of}\n{}\n{:?}\n{}", lane.agent, lane.plan, self.body))
    }

    /// The id of the message thread, the same when the request is repeated.
    pub(super) fn thread(&self, now: Timestamp) -> String {
        let of = self.id.clone().unwrap_or_else(|| format!("{}\n{}", now.micros(), self.body));
        format!("thread-{}", short(&of))
    }
}

fn reused() -> Error {
    let message = "'client_request_id' was used for another request in the last 24 hours";
    let code = "idempotency_key_reused_with_different_body";
    Error::refused(Rule::RequestOnce, message).with_code(code)
}

fn short(text: &str) -> String {
    Blob::of(text.as_bytes()).hex()[..12].to_owned()
}

/// The paths of a scope, or none if it names a loop.
pub(super) fn surfaces(scope: &str) -> Result<Option<Surfaces>, Error> {
    if LOOP_SCOPES.iter().any(|prefix| scope.starts_with(prefix)) {
        return Ok(None);
    }
    claims::surfaces(scope).map(Some)
}

/// Parses the id of a record of this kind.
pub(super) fn id_of(kind: Kind, text: &str) -> Result<RecordId, Error> {
    entity::id(kind, text).map_err(Error::usage)
}

/// The record of this kind that a text names.
pub(super) fn record<'s>(state: &'s State, kind: Kind, text: &str) -> Result<&'s Record, Error> {
    let id = id_of(kind, text)?;
    state.memory().record(id).ok_or_else(|| unknown(id))
}

/// The agent of that name, if it is registered and not revoked.
pub(super) fn known_agent(state: &State, text: &str) -> Result<AgentName, Obstacle> {
    let no = |message: String| Obstacle {
        agent: repeated(text),
        code: "agent_validation_failed",
        message,
        data: json!({ "known": some_agents(state) }),
        held: None,
    };
    let name = frugal::named(text).map_err(|error| no(error.message().to_owned()))?;
    match state.agent(&name) {
        None => Err(no(format!("there is no agent {}", repeated(text)))),
        Some(agent) if agent.revoked_at.is_some() => Err(no(format!("{text} is revoked"))),
        Some(_) => Ok(name),
    }
}

/// The agent of that name, or an error.
pub(super) fn agent_named(state: &State, text: &str) -> Result<AgentName, Error> {
    known_agent(state, text).map_err(|obstacle| {
        let details = json!({ "data": obstacle.data });
        Error::not_found(obstacle.message).with(details).with_code(obstacle.code)
    })
}

/// Names of some agents, as suggestions.
fn some_agents(state: &State) -> Vec<String> {
    const SHOWN_MAX: usize = 20;
    let live = state.agents().filter(|(_, agent)| agent.revoked_at.is_none());
    live.take(SHOWN_MAX).map(|(name, _)| shown(name)).collect()
}

pub(super) fn shown(agent: &AgentName) -> String {
    called(&Principal::Agent(agent.clone()))
}

/// Agents to choose from if none is named: not revoked, not the caller, and not an unnamed host.
pub(super) fn others<'s>(
    state: &'s State,
    own: Option<&AgentName>,
) -> impl Iterator<Item = (&'s AgentName, &'s Agent)> {
    let agents = state.agents();
    agents.filter(move |(name, agent)| {
        agent.revoked_at.is_none() && Some(*name) != own && !is_nobody(name)
    })
}

/// Whether an agent is an unnamed host, which never looks for work.
fn is_nobody(name: &AgentName) -> bool {
    name.as_str().rsplit(['+', '/']).next() == Some(UNNAMED)
}

/// The command that offers.
const OFFER: &str = "memory.offer";

/// An offer as the caller is told of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Delivery {
    pub(super) agent: Option<String>,
    channel: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<RecordId>,
    pub(super) claim_id: Option<RecordId>,
    pub(super) assignment_id: RecordId,
    attempt: Option<u32>,
    nonce: Option<Label>,
    pub(super) plan_id: Option<RecordId>,
    execution_status: &'static str,
    execution_reason: &'static str,
    /// The shell command with which the agent accepts; listed apart from the rest.
    #[serde(skip)]
    pub(super) command: Option<String>,
}

/// The result of offering lanes.
pub(super) struct Sent {
    /// One for each lane that was offered.
    pub(super) delivered: Vec<Delivery>,
    /// One for each lane that was not.
    pub(super) obstacles: Vec<Obstacle>,
}

impl Verbs<'_> {
    /// The offers that the same request made before, if any.
    pub(super) fn offered_before(&self, key: &Key) -> Result<Option<OfferedReply>, Error> {
        let Present { state, now, .. } = self.present()?;
        key.offered(&state, &self.principal(), now)
    }

    /// Offers all lanes without obstacles with one command. Concurrent requests with the same key
    /// get the same offers.
    pub(super) fn offer(&self, lanes: &[Lane], key: &Key) -> Result<Sent, Error> {
        let mut left = ATTEMPTS_MAX;
        loop {
            left -= 1;
            let present = self.present()?;
            if let Some(before) = key.offered(&present.state, &self.principal(), present.now)? {
                return self.repeated(&before, lanes.iter().map(|lane| &lane.agent));
            }
            let (mut free, mut obstacles) = (Vec::new(), Vec::new());
            for lane in lanes {
                let wanted = lane.wanted(key, present.now)?;
                match self.forecast(&present, &free, &wanted)? {
                    Forecast::LeftOut(obstacle) => obstacles.push(obstacle),
                    // The kernel refuses such an offer as a whole and records why.
                    Forecast::Free | Forecast::Refused(_) => free.push(wanted),
                }
            }
            if free.is_empty() {
                return Ok(Sent { delivered: Vec::new(), obstacles });
            }
            let request_id = key.of_offer();
            let offer = Offer {
                asked: request_id.as_ref().map(|_| key.asked()),
                lanes: Few::new(free).map_err(Error::usage)?,
                request_id,
            };
            match self.execute(Command::MemoryOffer(Box::new(offer))) {
                Ok(MemoryReply::Offered(made)) => {
                    let delivered = self.deliveries(&made)?;
                    return Ok(Sent { delivered, obstacles });
                }
                Ok(other) => return Err(Error::unexpected(&other)),
                // Somebody took a part of the lanes in between: try again.
                Err(error)
                    if left > 0 && matches!(error.rule(), Rule::NoOverlap | Rule::PlanTaken) => {}
                Err(error) if error.rule() == Rule::RequestOnce => return Err(reused()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reports earlier offers of the same request again.
    pub(super) fn repeated<'n>(
        &self,
        before: &OfferedReply,
        named: impl Iterator<Item = &'n AgentName>,
    ) -> Result<Sent, Error> {
        let has = |agent: &AgentName| {
            before.offers.iter().any(|offer| offer.agent.as_ref() == Some(agent))
        };
        let obstacles = named.filter(|agent| !has(agent)).map(|agent| Obstacle {
            agent: shown(agent),
            code: "not_offered",
            message: format!("{} was left out when this request was first made", shown(agent)),
            data: Value::Null,
            held: None,
        });
        let obstacles = obstacles.collect();
        Ok(Sent { delivered: self.deliveries(before)?, obstacles })
    }

    /// Describes each offer that was made.
    fn deliveries(&self, made: &OfferedReply) -> Result<Vec<Delivery>, Error> {
        let Present { state, .. } = self.present()?;
        Ok(made.offers.iter().map(|offer| delivery(&state, offer)).collect())
    }

    /// The current version of a record that this request created.
    pub(super) fn fetched(&self, id: RecordId) -> Result<Record, Error> {
        let Present { state, .. } = self.present()?;
        let own = state.memory().record(id).cloned();
        let gone = || format!("{id}, which this request created, is archived");
        own.ok_or_else(|| Error::not_found(gone()))
    }
}

/// Describes an offer: its records, and the command with which the agent accepts it.
pub(super) fn delivery(state: &State, offer: &LaneReply) -> Delivery {
    let own = state.memory().record(offer.assignment);
    Delivery {
        agent: offer.agent.as_ref().map(shown),
        channel: "inbox",
        message_id: offer.message,
        claim_id: offer.claim,
        assignment_id: offer.assignment,
        attempt: own.and_then(|own| own.fields.attempt),
        nonce: own.and_then(|own| own.fields.nonce.clone()),
        plan_id: own.and_then(|own| own.fields.plan_id),
        execution_status: "command_ready_manual",
        execution_reason: "agents are started by hand: run the command where the agent works",
        command: own.and_then(command),
    }
}

/// The shell command with which the agent accepts an assignment.
pub(super) fn command(assignment: &Record) -> Option<String> {
    let agent = quoted(&shown(assignment.agent()?));
    let accept = format!("althing memory transition {} accepted --as {agent}", assignment.id);
    Some(match &assignment.fields.worktree_path {
        Some(path) => format!("cd {} && {accept}", quoted(path.as_str())),
        None => accept,
    })
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
