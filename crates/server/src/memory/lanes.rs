//! Lanes: work that is offered to an agent, with what it will hold while it is at it.
//!
//! Before anything is offered it is forecast which lanes would collide, with each other or with
//! what is held already. An offer is a lease of whoever dispatches, an assignment, and a message,
//! each of which names the others. When the agent accepts, the kernel hands the lease over to it.

use althing_kernel::content::Blob;
use althing_kernel::lease::{Lease, Surfaces};
use althing_kernel::memory::{Kind, Record, RecordId};
use althing_kernel::surface::Surface;
use althing_kernel::{AgentName, Principal, State, Timestamp};
use serde_json::{Value, json};

use super::Verbs;
use super::claims;
use super::seat::Present;
use crate::fault::Fault;
use crate::frugal;

/// How long a claim for a lane lasts, in seconds: four hours.
pub(super) const CLAIM_SECS: u64 = 4 * 60 * 60;
/// How long an answer is remembered by the id of its request, in microseconds.
const REMEMBERED_US: u64 = 24 * 60 * 60 * 1_000_000;
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
}

impl Obstacle {
    pub(super) fn shown(&self) -> Value {
        let Obstacle { agent, code, message, data } = self;
        json!({ "agent": agent, "code": code, "reason": message, "data": data })
    }
}

/// A request that may be repeated: its id, and what it asked for.
pub(super) struct Key {
    id: Option<String>,
    body: String,
}

impl Key {
    pub(super) fn new(id: Option<&str>, given: &Value) -> Self {
        Key { id: id.map(str::to_owned), body: given.to_string() }
    }

    /// The same for one plan of several that are given out at once.
    pub(super) fn of_plan(&self, plan: Option<RecordId>) -> Self {
        let id = self.id.as_ref().zip(plan).map(|(id, plan)| format!("{id}\n{plan}"));
        Key { id, body: self.body.clone() }
    }

    /// What the nonces of this request's offers begin with.
    fn prefix(&self) -> Option<String> {
        self.id.as_ref().map(|id| format!("{}.", short(id)))
    }

    /// The id of a command of this request, if it has one.
    pub(super) fn part(&self, name: &str) -> Option<String> {
        self.id.as_ref().map(|id| format!("{}.{}", short(id), short(name)))
    }

    /// The id of the one command of this request, if it has one.
    pub(super) fn whole(&self) -> Option<String> {
        self.prefix().map(|prefix| format!("{prefix}{}", short(&self.body)))
    }

    /// Whether this was asked for before. Refused if its id was used for something else.
    pub(super) fn is_repeated(
        &self,
        state: &State,
        who: &Principal,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        let (Some(prefix), Some(whole)) = (self.prefix(), self.whole()) else { return Ok(false) };
        let mut before = state.memory().requests_by(who, &prefix, now);
        match before.next() {
            None => Ok(false),
            Some(id) if id.as_str() == whole => Ok(true),
            Some(_) => Err(reused()),
        }
    }

    fn nonce(&self, agent: &AgentName, now: Timestamp) -> String {
        match self.prefix() {
            Some(prefix) => format!("{prefix}{}", short(&self.body)),
            None => short(&format!("{agent}\n{}\n{}", now.micros(), self.body)),
        }
    }

    /// A name for what belongs together, the same when it is asked for again.
    pub(super) fn thread(&self, now: Timestamp) -> String {
        let of = self.id.clone().unwrap_or_else(|| format!("{}\n{}", now.micros(), self.body));
        format!("thread-{}", short(&of))
    }
}

fn reused() -> Fault {
    let message = "client_request_id was used for another request in the last 24 hours";
    let code = "idempotency_key_reused_with_different_body";
    Fault::usage(message).with(json!({ "code": code }))
}

fn short(text: &str) -> String {
    Blob::of(text.as_bytes()).hex()[..12].to_owned()
}

/// The paths of a scope, or none if it names a loop.
pub(super) fn surfaces(scope: &str) -> Result<Option<Surfaces>, Fault> {
    if LOOP_SCOPES.iter().any(|prefix| scope.starts_with(prefix)) {
        return Ok(None);
    }
    claims::surfaces(scope).map(Some)
}

/// The record that a text names, which has to be of this kind.
pub(super) fn id_of(kind: Kind, text: &str) -> Result<RecordId, Fault> {
    let id: RecordId = text.parse().map_err(|error| Fault::usage(format!("{error}")))?;
    if id.kind != kind {
        return Err(Fault::usage(format!("{id} is no {kind}")));
    }
    Ok(id)
}

/// The record that a text names, if it is there.
pub(super) fn record<'s>(state: &'s State, kind: Kind, text: &str) -> Result<&'s Record, Fault> {
    let id = id_of(kind, text)?;
    let missing = || Fault::not_found(format!("there is no {kind} {id} ({})", id.label()));
    state.memory().record(id).ok_or_else(missing)
}

/// The agent of that name, if it may be given work.
pub(super) fn known_agent(state: &State, text: &str) -> Result<AgentName, Obstacle> {
    let no = |message: String| Obstacle {
        agent: text.to_owned(),
        code: "agent_validation_failed",
        message,
        data: json!({ "known": some_agents(state) }),
    };
    let name = frugal::named(text).map_err(|fault| no(fault.message().to_owned()))?;
    match state.agent(&name) {
        None => Err(no(format!("there is no agent {text}"))),
        Some(agent) if agent.revoked_at.is_some() => Err(no(format!("{text} is revoked"))),
        Some(_) => Ok(name),
    }
}

/// A few names, for whoever misspelt one.
fn some_agents(state: &State) -> Vec<String> {
    const SHOWN_MAX: usize = 20;
    let live = state.agents().filter(|(_, agent)| agent.revoked_at.is_none());
    live.take(SHOWN_MAX).map(|(name, _)| shown(name)).collect()
}

pub(super) fn shown(agent: &AgentName) -> String {
    althing_dialects::frugal::planning::called(&Principal::Agent(agent.clone()))
}

/// Two lanes of one request that would work on the same.
pub(super) fn collide(lanes: &[Lane]) -> Vec<Value> {
    let mut found = Vec::new();
    for (at, one) in lanes.iter().enumerate() {
        for other in lanes[at + 1..].iter().filter(|other| other.agent != one.agent) {
            let (Some(a), Some(b)) = (&one.surfaces, &other.surfaces) else { continue };
            if let Some((own, theirs)) = meeting(a, b) {
                found.push(json!({
                    "lanes": [shown(&one.agent), shown(&other.agent)],
                    "scopes": [own.as_str(), theirs.as_str()],
                    "common_path": own.common_path(theirs),
                }));
            }
        }
    }
    found
}

fn meeting<'a>(one: &'a Surfaces, other: &'a Surfaces) -> Option<(&'a Surface, &'a Surface)> {
    let with = |own: &'a Surface| {
        other.as_slice().iter().find(|theirs| own.meets(theirs)).map(|theirs| (own, theirs))
    };
    one.as_slice().iter().find_map(with)
}

/// The agent who will hold a lease: the one whose offered assignment it is for, else its holder.
fn meant_for(state: &State, lease: &Lease) -> Principal {
    let live = state.memory().newest(Kind::Assignment, Some(true));
    let mut of = live.filter(|own| own.fields.claim == Some(lease.epoch));
    let agent = of.next().and_then(Record::agent);
    agent.map_or_else(|| lease.holder.clone(), |agent| Principal::Agent(agent.clone()))
}

/// What somebody else holds, or is meant to, of what a lane needs.
pub(super) fn taken(
    state: &State,
    now: Timestamp,
    me: &Principal,
    lane: &Lane,
) -> Option<Obstacle> {
    let wanted = lane.surfaces.as_ref()?;
    let own = Principal::Agent(lane.agent.clone());
    state.leases().filter(|(_, lease)| lease.is_live(now)).find_map(|(_, lease)| {
        let (asked, held) = meeting(wanted, &lease.surfaces)?;
        let whose = meant_for(state, lease);
        // What the agent holds it may go on with; what the caller holds for nobody else is theirs
        // to give.
        if whose == own || (whose == *me && lease.holder == *me) {
            return None;
        }
        let claim = RecordId::claim(lease.epoch);
        let holder = althing_dialects::frugal::planning::called(&whose);
        Some(Obstacle {
            agent: shown(&lane.agent),
            code: "scope_already_claimed",
            message: format!("{asked} meets {held}, which {holder} has ({claim})"),
            data: json!({
                "claim_id": claim, "holder": holder, "surface": held, "wanted": asked,
                "expires_at": lease.expires_at,
            }),
        })
    })
}

/// Somebody who works on the plan already.
pub(super) fn assigned(state: &State, lane: &Lane) -> Option<Obstacle> {
    let plan = lane.plan?;
    let mut live = state.memory().newest(Kind::Assignment, Some(true));
    let other = live.find(|own| own.fields.plan_id == Some(plan) && own.status_is_open())?;
    let agent = other.agent().map(shown).unwrap_or_default();
    Some(Obstacle {
        agent: shown(&lane.agent),
        code: "plan_already_assigned",
        message: format!("{plan} is assigned to {agent} ({})", other.id),
        data: json!({ "assignment_id": other.id, "agent": agent }),
    })
}

/// Whether an assignment is one that somebody may still work on.
trait Open {
    fn status_is_open(&self) -> bool;
}

impl Open for Record {
    fn status_is_open(&self) -> bool {
        use althing_kernel::memory::Status::{
            Accepted, Blocked, Created, Offered, Retrying, Started,
        };
        [Created, Offered, Accepted, Started, Blocked, Retrying].contains(&self.status)
    }
}

impl Verbs<'_> {
    /// The offer that the same request made to this agent before, if it did.
    fn offered_before(&self, key: &Key, agent: &AgentName) -> Result<Option<Record>, Fault> {
        let Some(prefix) = key.prefix() else { return Ok(None) };
        let Present { state, now, .. } = self.present()?;
        let me = self.principal();
        let recent = |own: &&Record| {
            own.created_at.micros().saturating_add(REMEMBERED_US) > now.micros()
                && own.is_dispatched_by(&me)
        };
        let all = state.memory().newest(Kind::Assignment, None).filter(recent);
        let nonce = |own: &Record| own.fields.nonce.as_ref().map(ToString::to_string);
        let same = |own: &&Record| nonce(own).is_some_and(|nonce| nonce.starts_with(&prefix));
        let expected = key.nonce(agent, now);
        for own in all.filter(same) {
            if nonce(own).as_ref() != Some(&expected) {
                return Err(reused());
            }
            if own.agent() == Some(agent) {
                return Ok(Some(own.clone()));
            }
        }
        Ok(None)
    }

    /// Offers a lane to its agent. What was offered before for the same request is not offered
    /// again, but finished if it was interrupted.
    pub(super) fn offer(
        &self,
        lane: &Lane,
        before: &State,
        key: &Key,
    ) -> Result<Result<Value, Obstacle>, Fault> {
        let assignment = match self.offered_before(key, &lane.agent)? {
            Some(before) => before,
            None => match self.assign_anew(lane, before, key)? {
                Ok(made) => made,
                Err(obstacle) => return Ok(Err(obstacle)),
            },
        };
        self.deliver(lane, &assignment).map(Ok)
    }

    /// Tells an agent of its assignment, unless that was done, and says how it is taken up.
    pub(super) fn deliver(&self, lane: &Lane, assignment: &Record) -> Result<Value, Fault> {
        let message = match assignment.fields.message_id {
            Some(message) => message.to_string(),
            None => self.tell(lane, assignment.id)?,
        };
        let claim = assignment.fields.claim.map(RecordId::claim);
        Ok(json!({
            "agent": shown(&lane.agent), "channel": "inbox", "message_id": message,
            "claim_id": claim, "assignment_id": assignment.id,
            "attempt": assignment.fields.attempt, "nonce": assignment.fields.nonce,
            "execution_status": "command_ready_manual",
            "execution_reason": "agents are started by hand: run the command where it is to work",
            "command": command(assignment, lane),
        }))
    }

    /// The same for an offer that was not made before. Whose the plan was is asked of the state
    /// before the request, so that several lanes of it may be for one plan.
    fn assign_anew(
        &self,
        lane: &Lane,
        before: &State,
        key: &Key,
    ) -> Result<Result<Record, Obstacle>, Fault> {
        let Present { state, now, .. } = self.present()?;
        let me = self.principal();
        let obstacle = taken(&state, now, &me, lane).or_else(|| assigned(before, lane));
        if let Some(obstacle) = obstacle {
            return Ok(Err(obstacle));
        }
        // What the agent holds by itself stays its own: it does not end with the offer.
        let claim = match &lane.surfaces {
            Some(wanted) if !is_held_by_agent(&state, now, lane, wanted) => {
                Some(self.claim_for(lane, wanted)?)
            }
            _ => None,
        };
        let mut fields = json!({
            "agent": lane.agent, "nonce": key.nonce(&lane.agent, now),
        });
        let given = [
            ("scope", lane.scope.clone()),
            ("plan_id", lane.plan.map(|plan| plan.to_string())),
            ("lane", lane.name.clone()),
            ("worktree_path", lane.worktree.clone()),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                fields[name] = value.into();
            }
        }
        if let Some((epoch, _)) = &claim {
            fields["claim"] = (*epoch).into();
        }
        let create = json!({ "kind": "assignment", "text": lane.task, "fields": fields });
        let made = self.act("memory.create", &create).inspect_err(|_| {
            // What was claimed for nothing is given back; if that fails too it runs out by itself.
            if let Some((_, Some(lease))) = &claim {
                let _ = self.act("lease.release", &json!({ "lease": lease }));
            }
        })?;
        self.fetched(&made).map(Ok)
    }

    /// Claims what a lane needs in the caller's name. The lease and its epoch.
    fn claim_for(&self, lane: &Lane, wanted: &Surfaces) -> Result<(u64, Option<String>), Fault> {
        let mut open = json!({
            "surfaces": wanted, "ttl_s": CLAIM_SECS,
            "purpose": format!("lane of {}: {}", shown(&lane.agent), first_line(&lane.task)),
        });
        if let Some(plan) = lane.plan {
            open["task"] = plan.to_string().into();
        }
        let lease = self.act("lease.open", &open)?;
        let epoch = lease["epoch"].as_u64().unwrap_or_default();
        Ok((epoch, lease["lease"].as_str().map(str::to_owned)))
    }

    /// The record that a command answered with, as it is now.
    pub(super) fn fetched(&self, made: &Value) -> Result<Record, Fault> {
        let id = made["id"].as_str().unwrap_or_default();
        let id: RecordId = id.parse().map_err(|_| Fault::defect("a record without an id"))?;
        let Present { state, .. } = self.present()?;
        let own = state.memory().record(id).cloned();
        own.ok_or_else(|| Fault::defect("a record that is gone already"))
    }

    /// Tells an agent of its assignment, and has each name the other.
    fn tell(&self, lane: &Lane, assignment: RecordId) -> Result<String, Fault> {
        let mut fields =
            json!({ "to": lane.agent, "requires_ack": true, "assignment_id": assignment });
        if let Some(plan) = lane.plan {
            fields["plan_id"] = plan.to_string().into();
        }
        if let Some(thread) = &lane.thread {
            fields["thread"] = thread.clone().into();
        }
        let create = json!({
            "kind": "message", "text": lane.task, "fields": fields,
            "request_id": format!("tell.{assignment}"),
        });
        let message = self.act("memory.create", &create)?["id"].clone();
        let link = json!({ "id": assignment, "fields": { "message_id": message } });
        self.act("memory.update", &link)?;
        Ok(message.as_str().unwrap_or_default().to_owned())
    }
}

/// Whether a lease of the agent's own covers what its lane needs.
fn is_held_by_agent(state: &State, now: Timestamp, lane: &Lane, wanted: &Surfaces) -> bool {
    let own = Principal::Agent(lane.agent.clone());
    let covers = |lease: &Lease| {
        let by = |asked: &Surface| lease.surfaces.as_slice().iter().any(|held| held.covers(asked));
        wanted.as_slice().iter().all(by)
    };
    let mut live = state.leases().filter(|(_, lease)| lease.is_live(now) && lease.holder == own);
    live.any(|(_, lease)| covers(lease))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// What the agent runs to take the work up.
fn command(assignment: &Record, lane: &Lane) -> String {
    let accept = format!(
        "althing memory transition {} accepted --as {}",
        assignment.id,
        quoted(lane.agent.as_str())
    );
    match &lane.worktree {
        Some(path) => format!("cd {} && {accept}", quoted(path)),
        None => accept,
    }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
