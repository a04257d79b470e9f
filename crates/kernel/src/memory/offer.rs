//! `memory.offer`: work is offered to agents. The claim, the assignment and the message of each lane
//! come with one entry, or none of them does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::create::{self, Create, is_default};
use super::effect::{self, Effect};
use super::field::{Cover, Few, Fields};
use super::kind::{Kind, RecordId};
use super::record::{Body, Provenance, Record};
use super::request::Mark;
use super::view::{self, MemoryReply};
use super::word::{Action, Status};
use super::{bad_field, put, record};
use crate::agent;
use crate::commons::Label;
use crate::content::Blob;
use crate::event::{Event, Stamped};
use crate::id::{LeaseId, WorkspaceId};
use crate::lease::{Lease, Surfaces, Ttl};
use crate::name::AgentName;
use crate::principal::{Actor, Caller, Principal};
use crate::query::{collisions, collisions_where};
use crate::refusal::{Details, Refusal};
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::surface::Surface;
use crate::text::Text;
use crate::turn::{Halt, Turn};

/// The most agents that one request offers work to.
pub const LANES_MAX: usize = 32;

/// Work for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// What the assignment says besides its text; its `agent` is needed, its claim and its message
    /// come with the offer.
    pub fields: Fields,
    /// What is claimed for it until it is accepted, in the caller's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// What is to be done.
    pub text: Body,
    /// The conversation that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// For how many seconds it is claimed (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `memory.offer`: offers work to agents, each with a claim, an assignment and a message. All of it
/// is done or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The hash of what the request was at its door. With it, the same `request_id` is the same
    /// request although the lanes would be others by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Blob>,
    /// The work, for each agent.
    pub lanes: Few<Lane, LANES_MAX>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// A lane that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedLane {
    /// The assignment.
    pub assignment: RecordId,
    /// The fencing epoch of what was claimed, unless the agent has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u64>,
    /// What the assignment says besides its text.
    pub fields: Fields,
    /// The message.
    pub message: RecordId,
    /// What it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// What is to be done.
    pub text: Body,
    /// The conversation that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// For how many seconds it is claimed.
    pub ttl_s: Ttl,
}

/// `memory.offered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// What followed.
    pub effects: Vec<Effect>,
    /// The lanes.
    pub lanes: Vec<OfferedLane>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session: Option<WorkspaceId>,
}

impl Offered {
    /// What was asked for, as far as the entry says.
    pub(crate) fn asked(&self) -> Offer {
        let lane = |own: &OfferedLane| Lane {
            fields: own.fields.clone(),
            surfaces: own.surfaces.clone(),
            text: own.text.clone(),
            thread: own.thread.clone(),
            ttl_s: Some(own.ttl_s),
        };
        let lanes = Few::new(self.lanes.iter().map(lane).collect()).unwrap_or_default();
        Offer { asked: None, lanes, request_id: None }
    }

    /// Whether it is what was asked for.
    pub(crate) fn follows(&self, asked: &Offer) -> bool {
        let same = |(asked, got): (&Lane, &OfferedLane)| {
            let mut fields = got.fields.clone();
            fields.take_over(&asked.fields);
            fields == got.fields
                && asked.text == got.text
                && asked.surfaces == got.surfaces
                && asked.thread == got.thread
                && asked.ttl_s.unwrap_or_default() == got.ttl_s
        };
        asked.lanes.len() == self.lanes.len()
            && asked.lanes.iter().zip(&self.lanes).all(same)
            && asked.request_id.as_ref() == self.request.as_ref().map(|mark| &mark.id)
    }
}

/// What a lease is opened with because of a step of a record.
pub(super) struct Terms {
    pub(super) purpose: Option<Text<1000>>,
    pub(super) surfaces: Surfaces,
    pub(super) task: Option<Text<128>>,
    pub(super) ttl: Ttl,
}

impl Terms {
    pub(super) fn of(lease: &Lease) -> Self {
        Terms {
            purpose: lease.purpose.clone(),
            surfaces: lease.surfaces.clone(),
            task: lease.task.clone(),
            ttl: lease.ttl,
        }
    }

    /// Those of an assignment that is worked on under a lease.
    pub(super) fn of_assignment(own: &Record) -> Option<Self> {
        let cover = own.fields.covers.as_ref()?;
        Some(Terms {
            purpose: Some(purpose(&own.text)),
            surfaces: cover.surfaces.clone(),
            task: own.fields.plan_id.map(|plan| Text::lossy(&plan.to_string())),
            ttl: cover.ttl_s,
        })
    }
}

fn purpose(text: &Body) -> Text<1000> {
    let line: String = text.as_str().lines().next().unwrap_or_default().chars().take(200).collect();
    Text::lossy(&format!("lane: {line}"))
}

/// What a lease covers, for the assignment that names it.
pub(super) fn cover(state: &State, epoch: Option<u64>) -> Option<Arc<Cover>> {
    let (_, lease) = state.lease_of_epoch(epoch?)?;
    Some(Arc::new(Cover { surfaces: lease.surfaces.clone(), ttl_s: lease.ttl }))
}

pub(super) fn decide(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Offer,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    let session = create::session_of(turn, caller)?;
    let body = plan(turn.state(), &caller.principal, args)?;
    record(turn, caller, Event::MemoryOffered(Box::new(Offered { request: mark, session, ..body })))
}

/// What an offer comes to, if the rules allow it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Offer) -> Result<Offered, Refusal> {
    if asked.lanes.is_empty() {
        return Err(Refusal::denied(Rule::SaySomething, "nothing is offered to anybody"));
    }
    agent::not_revoked(state, who)?;
    state.memory.room_for(2 * asked.lanes.len())?;
    let (assignment, message) =
        (state.memory.next(Kind::Assignment), state.memory.next(Kind::Message));
    let (mut lanes, mut effects, mut epoch) = (Vec::new(), Vec::new(), state.epoch);
    for (at, lane) in asked.lanes.iter().enumerate() {
        let number = |first: RecordId| RecordId { number: first.number + at as u64, ..first };
        let fields = fields(state, who, lane)?;
        let agent = fields.agent.as_ref().ok_or_else(|| bad_field("an offer names its `agent`"))?;
        may_get(state, agent, fields.plan_id, None)?;
        apart(&asked.lanes[..at], agent, lane)?;
        let claimed = claimed(state, who, agent, lane)?;
        let claim = claimed.begins.then(|| {
            epoch += 1;
            epoch
        });
        effects.extend(claimed.ends.into_iter().filter_map(|epoch| effect::ended(state, epoch)));
        let (assignment, message) = (number(assignment), number(message));
        let made = Effect::new(Action::Created, assignment).to(Status::Offered);
        effects.push(made.saying(&format!("for {agent}")));
        effects.push(Effect::new(Action::Created, message).to(Status::Open));
        effects.extend(claim.map(|epoch| effect::begun(epoch, who)));
        let Lane { surfaces, text, thread, ttl_s, .. } = lane.clone();
        let ttl_s = ttl_s.unwrap_or_default();
        let own = OfferedLane { assignment, claim, fields, message, surfaces, text, thread, ttl_s };
        lanes.push(own);
    }
    let effects = effect::once(effects);
    Ok(Offered { effects, lanes, request: None, session: None })
}

/// The fields of the assignment, with what goes without saying.
fn fields(state: &State, who: &Principal, lane: &Lane) -> Result<Fields, Refusal> {
    for name in ["claim", "message_id"] {
        if lane.fields.given().contains(&name) {
            return Err(bad_field(format!("`{name}` comes with the offer and is not given")));
        }
    }
    let create = Create {
        fields: lane.fields.clone(),
        ..Create::plain(Kind::Assignment, lane.text.clone())
    };
    create::plan(state, who, &create).map(|made| made.fields)
}

/// Work is offered to agents who are known and may hold something, and a plan is given out once:
/// `own` is what gives it out, if it is given out again.
pub(super) fn may_get(
    state: &State,
    name: &AgentName,
    plan: Option<RecordId>,
    own: Option<RecordId>,
) -> Result<(), Refusal> {
    if state.agent(name).is_none() {
        let message = format!("there is no agent {name}");
        return Err(Refusal::not_found(Rule::RecordLinks, message));
    }
    agent::itself_not_revoked(state, &Principal::Agent(name.clone()))?;
    let Some(plan) = plan else { return Ok(()) };
    if let Some(over) = state.memory.record(plan).filter(|own| own.is_terminal()) {
        let message = format!("{plan} is {}: nobody works on it any more", over.status);
        return Err(Refusal::denied(Rule::PlanTaken, message));
    }
    let mut others = state.memory.at_work_on(plan).filter(|id| Some(*id) != own);
    let other = others.next().and_then(|id| state.memory.record(id));
    let Some(other) = other else { return Ok(()) };
    let whose = other.agent().map(ToString::to_string).unwrap_or_default();
    let message = format!("{plan} is assigned to {whose} ({})", other.id);
    Err(Refusal::denied(Rule::PlanTaken, message))
}

/// Lanes of different agents do not meet.
fn apart(before: &[Lane], agent: &AgentName, lane: &Lane) -> Result<(), Refusal> {
    let Some(wanted) = &lane.surfaces else { return Ok(()) };
    for other in before.iter().filter(|other| other.fields.agent.as_ref() != Some(agent)) {
        let Some(theirs) = &other.surfaces else { continue };
        let met = |own: &&Surface| theirs.as_slice().iter().any(|their| own.meets(their));
        if let Some(own) = wanted.as_slice().iter().find(met) {
            let message = format!("{own} is offered to two agents at once");
            return Err(Refusal::collision(message, Details::None {}));
        }
    }
    Ok(())
}

/// What is claimed with a lane.
struct Claimed {
    /// Whether it is: not if its agent holds all of it already.
    begins: bool,
    /// What the caller held there for nobody else, which the lane takes the place of.
    ends: Vec<u64>,
}

/// What is claimed with a lane. Refused if somebody else holds a part or was offered it, or if the
/// caller holds a part and more than that: the agent could not take it up.
fn claimed(
    state: &State,
    who: &Principal,
    agent: &AgentName,
    lane: &Lane,
) -> Result<Claimed, Refusal> {
    let none = Claimed { begins: false, ends: Vec::new() };
    let Some(wanted) = &lane.surfaces else { return Ok(none) };
    let own = Principal::Agent(agent.clone());
    if own != *who && is_held(state, &own, wanted) {
        return Ok(none);
    }
    free_for(state, who, wanted)?;
    Ok(Claimed { begins: true, ends: gives_way(state, who, agent, wanted, None)? })
}

/// What somebody holds that meets a lane they give out, apart from the lane's own lease. What is for
/// nobody else and lies within gives way to it. Refused if a part is promised to somebody else, or
/// reaches further: the agent could not take the lane up.
pub(super) fn gives_way(
    state: &State,
    who: &Principal,
    agent: &AgentName,
    wanted: &Surfaces,
    own: Option<u64>,
) -> Result<Vec<u64>, Refusal> {
    let to = Principal::Agent(agent.clone());
    let mine = |_: &LeaseId, of: &Principal| of == who;
    let held = state.surfaces.meeting(wanted.as_slice(), usize::MAX, &mine);
    let held: BTreeMap<u64, &LeaseId> = held
        .iter()
        .filter_map(|id| Some((state.leases.get(id)?.epoch, id)))
        .filter(|(epoch, _)| Some(*epoch) != own)
        .collect();
    if to == *who || held.is_empty() {
        return Ok(Vec::new());
    }
    let (promised, mut ends) = (promises(state, &held), Vec::new());
    for (epoch, id) in held {
        match promised.get(&epoch) {
            Some(other) if other.is_for(&to) => {}
            Some(other) => return Err(promised_away(other)),
            None => match state.leases.get(id) {
                Some(lease) if !lease.surfaces.is_within(wanted) => {
                    return Err(held_back(state, wanted, id));
                }
                _ => ends.push(epoch),
            },
        }
    }
    Ok(ends)
}

/// The assignments that are to be worked on under these leases.
fn promises<'s>(state: &'s State, held: &BTreeMap<u64, &LeaseId>) -> BTreeMap<u64, &'s Record> {
    let live = state.memory.newest(Kind::Assignment, Some(true));
    live.filter_map(|own| Some((own.fields.claim?, own)))
        .filter(|(epoch, _)| held.contains_key(epoch))
        .collect()
}

fn promised_away(other: &Record) -> Refusal {
    let whose = other.agent().map(ToString::to_string).unwrap_or_default();
    let claim = other.fields.claim.map(RecordId::claim);
    let claim = claim.map(|claim| claim.to_string()).unwrap_or_default();
    let message = format!("a part of it is offered to {whose} ({}, {claim})", other.id);
    Refusal::collision(message, Details::None {})
}

/// What the caller holds reaches beyond the lane.
fn held_back(state: &State, wanted: &Surfaces, held: &LeaseId) -> Refusal {
    let met = collisions_where(state, state.clock(), wanted.as_slice(), &|id, _| id == held);
    let message = met.first().map(|own| {
        let claim = RecordId::claim(own.epoch);
        let (own, wanted) = (&own.surface, &own.wanted);
        format!("you hold {own} yourself ({claim}), which is more than the lane's {wanted}")
    });
    Refusal::collision(message.unwrap_or_default(), Details::Collisions(met))
}

/// Refuses surfaces that somebody else holds, and says who.
pub(super) fn free_for(state: &State, who: &Principal, wanted: &Surfaces) -> Result<(), Refusal> {
    let taken = collisions(state, state.clock(), wanted.as_slice(), Some(who));
    match taken.first() {
        None => Ok(()),
        Some(first) => {
            let message = crate::lease::collision_message(first, taken.len());
            Err(Refusal::collision(message, Details::Collisions(taken)))
        }
    }
}

/// Whether somebody's leases cover surfaces, one of them all.
pub(super) fn is_held(state: &State, who: &Principal, wanted: &Surfaces) -> bool {
    let own = |_: &LeaseId, of: &Principal| of == who;
    let met = state.surfaces.meeting(wanted.as_slice(), usize::MAX, &own);
    met.iter().filter_map(|id| state.leases.get(id)).any(|own| wanted.is_within(&own.surfaces))
}

pub(super) fn apply(state: &mut State, entry: &Stamped, body: &Offered) -> Result<(), ApplyError> {
    let Actor::Principal(author) = &entry.draft.actor else {
        return Err(ApplyError::Mismatch("its author"));
    };
    for lane in &body.lanes {
        for id in [lane.assignment, lane.message] {
            if state.memory.records.contains_key(&id) {
                return Err(ApplyError::Twice("a record"));
            }
        }
        let id = lane.assignment;
        let mut made = create::new(state, entry, id, author.clone(), lane.text.clone());
        made.fields = lane.fields.clone();
        made.session.clone_from(&body.session);
        (made.fields.claim, made.fields.message_id) = (lane.claim, Some(lane.message));
        if let Some(surfaces) = &lane.surfaces {
            let cover = Cover { surfaces: surfaces.clone(), ttl_s: lane.ttl_s };
            made.fields.covers = Some(Arc::new(cover));
        }
        create::begin(&mut made, author, Status::Offered, entry);
        tell(state, entry, author, &made, lane.message, lane.thread.clone());
        put(state, Arc::new(made));
    }
    Ok(())
}

/// Tells an agent of its assignment.
pub(super) fn tell(
    state: &mut State,
    entry: &Stamped,
    author: &Principal,
    assignment: &Record,
    id: RecordId,
    thread: Option<Label>,
) {
    let mut made = create::new(state, entry, id, author.clone(), assignment.text.clone());
    made.session.clone_from(&assignment.session);
    made.provenance = Provenance::of(author);
    let agent = assignment.agent().and_then(|name| Label::new(name.as_str()).ok());
    made.fields.to = agent;
    made.fields.requires_ack = Some(true);
    made.fields.assignment_id = Some(assignment.id);
    made.fields.plan_id = assignment.fields.plan_id;
    made.fields.thread = thread;
    create::begin(&mut made, author, Status::Open, entry);
    put(state, Arc::new(made));
}

pub(super) fn reply(body: &Offered) -> MemoryReply {
    let offer = |lane: &OfferedLane| view::LaneReply {
        agent: lane.fields.agent.clone(),
        assignment: lane.assignment,
        claim: lane.claim.map(RecordId::claim),
        message: lane.message,
    };
    MemoryReply::Offered(view::OfferedReply { offers: body.lanes.iter().map(offer).collect() })
}
