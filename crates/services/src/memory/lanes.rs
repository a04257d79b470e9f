//! Lanes: work that is offered to an agent, with what it will hold while it is at it.
//!
//! Before anything is offered it is forecast which lanes would collide, with each other or with
//! what is held already. An offer is a lease of whoever dispatches, an assignment, and a message,
//! each of which names the others; all lanes of a request are offered with one command, so there is
//! no half of one. When the agent accepts, the kernel hands the lease over to it.

use althing_dialects::frugal::planning::called;
use althing_dialects::memory::entity;
use althing_engine::screen::repeated;
use althing_kernel::agent::Agent;
use althing_kernel::blackboard::Label;
use althing_kernel::content::Blob;
use althing_kernel::idempotency::digest;
use althing_kernel::lease::{Lease, Surfaces, Ttl};
use althing_kernel::query::overlapping;
use althing_kernel::records::field::Few;
use althing_kernel::records::offer::{self, Offer};
use althing_kernel::records::view::{LaneReply, MemoryReply, OfferedReply};
use althing_kernel::records::{Fields, Kind, Record, RecordId};
use althing_kernel::surfaces::Surface;
use althing_kernel::{AgentName, Command, Principal, Rule, State, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

use super::Verbs;
use super::args::{label, text};
use super::claims;
use super::hints::unknown;
use super::session::Present;
use crate::error::{Error, Held};
use crate::frugal;
use crate::project::UNNAMED;

/// How long a claim for a lane lasts, in seconds: four hours.
pub(super) const CLAIM_SECS: u64 = 4 * 60 * 60;
/// How often lanes are looked at again that somebody took a part of in between.
const ATTEMPTS_MAX: usize = 4;
/// What scopes begin with that name a loop and no path.
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

/// Why a lane is not offered.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) agent: String,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) data: Value,
    /// The surface in the way, if somebody holds it.
    pub(super) held: Option<Held>,
}

impl Obstacle {
    pub(super) fn shown(&self) -> Value {
        let Obstacle { agent, code, message, data, held: _ } = self;
        json!({ "agent": agent, "code": code, "reason": message, "data": data })
    }

    /// The failure it is where nothing else was done.
    pub(super) fn error(&self, message: String) -> Error {
        match self.code {
            "scope_already_claimed" => Error::collision(message),
            "plan_already_assigned" | "plan_is_over" => Error::refused(Rule::PlanTaken, message),
            _ => Error::not_found(message),
        }
    }
}

/// A request that may be repeated: its id, and what it asked for.
pub(super) struct Key {
    id: Option<String>,
    body: String,
}

impl Key {
    pub(super) fn new(id: Option<&str>, given: &Value) -> Self {
        // Hosts that fill in every argument write nothing for none.
        let id = id.map(str::trim).filter(|id| !id.is_empty());
        Key { id: id.map(str::to_owned), body: given.to_string() }
    }

    /// What the ids of this request's commands begin with.
    fn prefix(&self) -> Option<String> {
        self.id.as_ref().map(|id| format!("{}.", short(id)))
    }

    /// What the offer of this request is called.
    fn of_offer(&self) -> Option<Label> {
        self.prefix().and_then(|prefix| Label::new(&format!("{prefix}offer")).ok())
    }

    /// The hash of what was asked for.
    fn asked(&self) -> Blob {
        Blob::of(self.body.as_bytes())
    }

    /// What this request offered before. Refused if its id was used for something else.
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

    /// Whether a part of this request was answered before.
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

    /// Refuses an id that was used for something else.
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

    /// The same as a label.
    pub(super) fn label(&self) -> Option<Label> {
        self.whole().and_then(|id| Label::new(&id).ok())
    }

    /// Whether this was asked for before. Refused if its id was used for something else.
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

    /// What tells the results of a lane from those of others.
    fn nonce(&self, lane: &Lane, now: Timestamp) -> String {
        let of = self.id.clone().unwrap_or_else(|| now.micros().to_string());
        short(&format!("{of}\n{}\n{:?}\n{}", lane.agent, lane.plan, self.body))
    }

    /// A name for what belongs together, the same when it is asked for again.
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

/// The record that a text names, which has to be of this kind.
pub(super) fn id_of(kind: Kind, text: &str) -> Result<RecordId, Error> {
    entity::id(kind, text).map_err(Error::usage)
}

/// The record that a text names, if it is there.
pub(super) fn record<'s>(state: &'s State, kind: Kind, text: &str) -> Result<&'s Record, Error> {
    let id = id_of(kind, text)?;
    state.memory().record(id).ok_or_else(|| unknown(id))
}

/// The agent of that name, if it may be given work.
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

/// The same where nothing is done without them.
pub(super) fn agent_named(state: &State, text: &str) -> Result<AgentName, Error> {
    known_agent(state, text).map_err(|obstacle| {
        let details = json!({ "data": obstacle.data });
        Error::not_found(obstacle.message).with(details).with_code(obstacle.code)
    })
}

/// A few names, for whoever misspelt one.
fn some_agents(state: &State) -> Vec<String> {
    const SHOWN_MAX: usize = 20;
    let live = state.agents().filter(|(_, agent)| agent.revoked_at.is_none());
    live.take(SHOWN_MAX).map(|(name, _)| shown(name)).collect()
}

pub(super) fn shown(agent: &AgentName) -> String {
    called(&Principal::Agent(agent.clone()))
}

/// Two lanes of one request whose scopes overlap.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LaneCollision {
    lanes: [String; 2],
    scopes: [Surface; 2],
    common_path: Option<String>,
}

impl fmt::Display for LaneCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([one, other], [a, b]) = (&self.lanes, &self.scopes);
        write!(f, "{a} of {one} meets {b} of {other}")
    }
}

/// Finds the lanes of one request whose scopes overlap.
pub(super) fn collide(lanes: &[Lane]) -> Vec<LaneCollision> {
    let mut found = Vec::new();
    for (at, one) in lanes.iter().enumerate() {
        for other in lanes[at + 1..].iter().filter(|other| other.agent != one.agent) {
            let (Some(a), Some(b)) = (&one.surfaces, &other.surfaces) else { continue };
            if let Some((own, theirs)) = meeting(a, b) {
                found.push(LaneCollision {
                    lanes: [shown(&one.agent), shown(&other.agent)],
                    scopes: [own.clone(), theirs.clone()],
                    common_path: own.common_path(theirs),
                });
            }
        }
    }
    found
}

/// The agents that may be given work where none is named: those who are not revoked and not the one
/// who asks, without hosts that never said what they are called.
pub(super) fn others<'s>(
    state: &'s State,
    own: Option<&AgentName>,
) -> impl Iterator<Item = (&'s AgentName, &'s Agent)> {
    let agents = state.agents();
    agents.filter(move |(name, agent)| {
        agent.revoked_at.is_none() && Some(*name) != own && !is_nobody(name)
    })
}

/// Whether an agent is a host that never said what it is called: nobody is behind it who would
/// look for work.
fn is_nobody(name: &AgentName) -> bool {
    name.as_str().rsplit(['+', '/']).next() == Some(UNNAMED)
}

fn meeting<'a>(one: &'a Surfaces, other: &'a Surfaces) -> Option<(&'a Surface, &'a Surface)> {
    let with = |own: &'a Surface| {
        other.as_slice().iter().find(|theirs| own.meets(theirs)).map(|theirs| (own, theirs))
    };
    one.as_slice().iter().find_map(with)
}

/// The agent who will hold a lease: the one whose offered assignment it is for.
fn promised(state: &State, lease: &Lease) -> Option<Principal> {
    let live = state.memory().newest(Kind::Assignment, Some(true));
    let mut of = live.filter(|own| own.fields.claim == Some(lease.epoch));
    let agent = of.next().and_then(Record::agent);
    agent.map(|agent| Principal::Agent(agent.clone()))
}

/// What somebody else holds, or is meant to, of what a lane needs, and what the caller holds there
/// that reaches beyond it.
pub(super) fn taken(
    state: &State,
    now: Timestamp,
    me: &Principal,
    lane: &Lane,
) -> Option<Obstacle> {
    let wanted = lane.surfaces.as_ref()?;
    let own = Principal::Agent(lane.agent.clone());
    // What the agent holds by itself stays its own, and it may go on with it.
    if own != *me && is_held_by_agent(state, now, lane, wanted) {
        return None;
    }
    overlapping(state, now, wanted.as_slice()).into_iter().find_map(|(_, lease)| {
        let (asked, held) = meeting(wanted, &lease.surfaces)?;
        let promised = promised(state, lease);
        let holder = called(&lease.holder);
        let whose = match &promised {
            _ if lease.holder == *me && (own == *me || promised.as_ref() == Some(&own)) => {
                return None;
            }
            // The lane takes the place of what the caller holds for nobody else.
            None if lease.holder == *me && lease.surfaces.is_within(wanted) => return None,
            None if lease.holder == *me => {
                "which you hold yourself and is more than the lane: give it back first".to_owned()
            }
            Some(agent) if *agent != lease.holder => {
                format!("which is offered to {} and held by {holder} until then", called(agent))
            }
            _ => format!("which {holder} has"),
        };
        let claim = RecordId::claim(lease.epoch);
        Some(Obstacle {
            agent: shown(&lane.agent),
            code: "scope_already_claimed",
            message: format!("{asked} meets {held}, {whose} ({claim})"),
            data: json!({
                "claim_id": claim, "holder": holder, "surface": held, "wanted": asked,
                "offered_to": promised.as_ref().map(called), "expires_at": lease.expires_at,
            }),
            held: Some(Held { holder, surface: held.clone(), until: lease.expires_at }),
        })
    })
}

/// What stands against work on its plan: it is over, or somebody works on it already.
pub(super) fn assigned(state: &State, lane: &Lane) -> Option<Obstacle> {
    let plan = lane.plan?;
    if let Some(over) = state.memory().record(plan).filter(|own| own.is_terminal()) {
        return Some(Obstacle {
            agent: shown(&lane.agent),
            code: "plan_is_over",
            message: format!("{plan} is {}: nobody works on it any more", over.status),
            data: json!({ "plan_id": plan, "status": over.status }),
            held: None,
        });
    }
    let mut live = state.memory().newest(Kind::Assignment, Some(true));
    let other = live.find(|own| own.fields.plan_id == Some(plan) && own.status_is_open())?;
    let agent = other.agent().map(shown).unwrap_or_default();
    Some(Obstacle {
        agent: shown(&lane.agent),
        code: "plan_already_assigned",
        message: format!("{plan} is assigned to {agent} ({})", other.id),
        data: json!({ "assignment_id": other.id, "agent": agent }),
        held: None,
    })
}

/// Whether an assignment is one that somebody may still work on.
trait Open {
    fn status_is_open(&self) -> bool;
}

impl Open for Record {
    fn status_is_open(&self) -> bool {
        use althing_kernel::records::Status::{
            Accepted, Blocked, Created, Offered, Retrying, Started,
        };
        [Created, Offered, Accepted, Started, Blocked, Retrying].contains(&self.status)
    }
}

/// The command that offers.
const OFFER: &str = "memory.offer";

/// An offer as the caller is told of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Delivery {
    pub(super) agent: Option<String>,
    channel: &'static str,
    pub(super) message_id: RecordId,
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

/// What became of lanes that were to be offered.
pub(super) struct Sent {
    /// One for each lane that was offered.
    pub(super) delivered: Vec<Delivery>,
    /// What stood against the others.
    pub(super) obstacles: Vec<Obstacle>,
}

impl Verbs<'_> {
    /// What the same request offered before, if it did.
    pub(super) fn offered_before(&self, key: &Key) -> Result<Option<OfferedReply>, Error> {
        let Present { state, now, .. } = self.present()?;
        key.offered(&state, &self.principal(), now)
    }

    /// Offers lanes, all that nothing stands against with one command. Whoever asks with the same
    /// key at the same time gets the same offers.
    pub(super) fn offer(&self, lanes: &[Lane], key: &Key) -> Result<Sent, Error> {
        let mut left = ATTEMPTS_MAX;
        loop {
            left -= 1;
            let Present { state, now, .. } = self.present()?;
            let me = self.principal();
            if let Some(before) = key.offered(&state, &me, now)? {
                return self.repeated(&before, lanes.iter().map(|lane| &lane.agent));
            }
            let (mut free, mut obstacles) = (Vec::new(), Vec::new());
            for lane in lanes {
                match taken(&state, now, &me, lane).or_else(|| assigned(&state, lane)) {
                    Some(obstacle) => obstacles.push(obstacle),
                    None => free.push(kernel_lane(lane, key, now)?),
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
                // Somebody took a part of it in between, so it is looked at again.
                Err(error)
                    if left > 0 && matches!(error.rule(), Rule::NoOverlap | Rule::PlanTaken) => {}
                Err(error) if error.rule() == Rule::RequestOnce => return Err(reused()),
                Err(error) => return Err(error),
            }
        }
    }

    /// What was offered before, told again.
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
            message: format!("{} was left out when this was asked for first", shown(agent)),
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
        let gone = || format!("{id} is archived: what this request made is no more");
        own.ok_or_else(|| Error::not_found(gone()))
    }
}

/// Translates a lane to the kernel's arguments.
fn kernel_lane(lane: &Lane, key: &Key, now: Timestamp) -> Result<offer::Lane, Error> {
    let fields = Fields {
        agent: Some(lane.agent.clone()),
        nonce: Some(label("nonce", &key.nonce(lane, now))?),
        scope: lane.scope.as_deref().map(|scope| text("scope", scope)).transpose()?,
        plan_id: lane.plan,
        lane: lane.name.as_deref().map(|name| label("lane", name)).transpose()?,
        worktree_path: lane.worktree.as_deref().map(|path| text("worktree", path)).transpose()?,
        ..Fields::default()
    };
    let ttl = Ttl::new(CLAIM_SECS.into()).map_err(|error| Error::defect(error.to_string()))?;
    Ok(offer::Lane {
        fields,
        surfaces: lane.surfaces.clone(),
        text: text("task", &lane.task)?,
        thread: lane.thread.as_deref().map(|thread| label("threadId", thread)).transpose()?,
        ttl_s: Some(ttl),
    })
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
        execution_reason: "agents are started by hand: run the command where it is to work",
        command: own.and_then(command),
    }
}

/// Whether a lease of the agent's own covers what its lane needs.
fn is_held_by_agent(state: &State, now: Timestamp, lane: &Lane, wanted: &Surfaces) -> bool {
    let own = Principal::Agent(lane.agent.clone());
    let mut live = state.leases_of(&own).filter(|(_, lease)| lease.is_live(now));
    live.any(|(_, lease)| wanted.is_within(&lease.surfaces))
}

/// What the agent runs to take the work up.
pub(super) fn command(assignment: &Record) -> Option<String> {
    let agent = quoted(&shown(assignment.agent()?));
    let accept = format!("althing memory transition {} accepted --as {agent}", assignment.id);
    Some(match &assignment.fields.worktree_path {
        Some(path) => format!("cd {} && {accept}", quoted(path.as_str())),
        None => accept,
    })
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
