//! `memory.offer`: offering work to agents. One entry creates the claim, assignment and message of
//! every lane, or none of them.

use std::sync::Arc;

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::create::Create;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Cover, Fields};
use crate::model::knowledge::records::record::{Body, Provenance, Record};
use crate::model::knowledge::records::view::{LaneReply, MemoryReply, OfferedReply};
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{Details, Refusal};
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::identity::agent;
use crate::rules::knowledge::attempt::orders;
use crate::rules::knowledge::records::{bad_field, create, effect, governed, put, record};
use crate::rules::leasing::collisions::collisions;
use crate::rules::leasing::handover;
use crate::values::id::LeaseId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;

pub use crate::model::knowledge::records::offer::*;

impl Terms {
    /// The terms of the lease of an assignment.
    pub(crate) fn of_assignment(own: &Record) -> Option<Self> {
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

/// The surfaces and time to live of a lease, for the assignment that names it.
pub(crate) fn cover(state: &State, epoch: Option<u64>) -> Option<Arc<Cover>> {
    let (_, lease) = state.lease_of_epoch(epoch?)?;
    Some(Arc::new(Cover { surfaces: lease.surfaces.clone(), ttl_s: lease.ttl }))
}

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Offer,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let is_governed = |lane: &Lane| governed::task_of(tx.state(), lane.fields.plan_id).is_some();
    if is_coordinator(tx.state(), &caller.principal) && args.lanes.iter().any(is_governed) {
        return in_run(tx, caller, args);
    }
    let session = create::session_of(tx, caller)?;
    let body = plan(tx.state(), &caller.principal, args)?;
    record(tx, caller, Event::MemoryOffered(Box::new(Offered { request: mark, session, ..body })))
}

/// Offers tasks of the current run: a workspace is bound to each.
fn in_run(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Offer,
) -> Result<MemoryReply, DecisionError> {
    let mut offers = Vec::new();
    for lane in args.lanes.iter() {
        let surfaces = lane.surfaces.as_ref();
        let own = bind(tx, caller, &lane.fields, surfaces)?;
        let (agent, claim) = (own.fields.agent.clone(), own.fields.claim.map(RecordId::claim));
        offers.push(LaneReply { agent, assignment: own.id, claim, message: None });
    }
    Ok(MemoryReply::Offered(OfferedReply { offers }))
}

/// Binds a workspace of the current run to the task of an assignment that its coordinator makes, and
/// returns the assignment. One that is offered to the agent already is returned as it is.
pub(crate) fn bind(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    fields: &Fields,
    surfaces: Option<&Surfaces>,
) -> Result<Arc<Record>, DecisionError> {
    let Some(agent) = fields.agent.clone() else {
        return Err(bad_field("an offer needs the field `agent`").into());
    };
    let Some(plan) = governed::task_of(tx.state(), fields.plan_id) else {
        let message = "tasks of a run and others are offered one after the other";
        return Err(bad_field(message).into());
    };
    let task = plan.task_id();
    let offered = offered_to(tx.state(), plan, &agent);
    if let Some(own) = offered {
        return Ok(own);
    }
    let authority = surfaces.map(|surfaces| surfaces.as_slice().to_vec());
    let id = orders::offer(tx, caller, (agent, task), authority)?;
    let own = tx.state().assignment_of(&id).cloned();
    Ok(own.ok_or(ApplyError::Unknown("the assignment"))?)
}

/// The live assignment of a task to an agent.
fn offered_to(state: &State, plan: &Record, agent: &AgentName) -> Option<Arc<Record>> {
    let mut live = state.memory.at_work_on(plan.id).filter_map(|id| state.memory.records.get(&id));
    live.find(|own| own.agent() == Some(agent)).cloned()
}

/// Plans an offer, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Offer) -> Result<Offered, Refusal> {
    if asked.lanes.is_empty() {
        return Err(Refusal::denied(Rule::SaySomething, "the offer has no lanes"));
    }
    agent::not_revoked(state, who)?;
    state.memory.room_for(2 * asked.lanes.len())?;
    let (assignment, message) =
        (state.memory.next(Kind::Assignment), state.memory.next(Kind::Message));
    let (mut lanes, mut effects, mut epoch) = (Vec::new(), Vec::new(), state.epoch);
    for (at, lane) in asked.lanes.iter().enumerate() {
        let number = |first: RecordId| RecordId { number: first.number + at as u64, ..first };
        let fields = fields(state, who, lane)?;
        let agent =
            fields.agent.as_ref().ok_or_else(|| bad_field("an offer needs the field `agent`"))?;
        may_get(state, agent, fields.plan_id, None)?;
        if let Some(plan) = fields.plan_id {
            handover::not_held(state, plan, &[who, &Principal::Agent(agent.clone())])?;
        }
        apart(&asked.lanes[..at], lane)?;
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

/// The fields of the assignment, with defaults filled in.
fn fields(state: &State, who: &Principal, lane: &Lane) -> Result<Fields, Refusal> {
    for name in ["claim", "message_id"] {
        if lane.fields.given().contains(&name) {
            return Err(bad_field(format!("`{name}` is set by the offer and cannot be given")));
        }
    }
    let create = Create {
        fields: lane.fields.clone(),
        ..Create::plain(Kind::Assignment, lane.text.clone())
    };
    create::plan(state, who, &create).map(|made| made.fields)
}

/// Checks that work can be offered to an agent: it is registered and not revoked, and the plan has
/// no other active assignment. `own` is the assignment being reoffered, if any.
pub(crate) fn may_get(
    state: &State,
    name: &AgentName,
    plan: Option<RecordId>,
    own: Option<RecordId>,
) -> Result<(), Refusal> {
    if state.agent(name).is_none() {
        let message = format!("there is no agent {name}");
        return Err(Refusal::not_found(Rule::RecordLinks, message));
    }
    agent::not_revoked(state, &Principal::Agent(name.clone()))?;
    let Some(plan) = plan else { return Ok(()) };
    if let Some(over) = state.memory.record(plan).filter(|own| own.is_terminal()) {
        let status = over.word();
        let message = format!("{plan} is {status}: nobody works on it any more");
        return Err(Refusal::taken(message, PlanTaken::Over { plan_id: plan, status }));
    }
    state.memory.record(plan).map_or(Ok(()), |own| governed::is_free(state, own))?;
    let mut others = state.memory.at_work_on(plan).filter(|id| Some(*id) != own);
    let other = others.next().and_then(|id| state.memory.record(id));
    other.map_or(Ok(()), |other| Err(handover::assigned(plan, other)))
}

/// Refuses a lane that overlaps an earlier one of another agent.
fn apart(before: &[Lane], lane: &Lane) -> Result<(), Refusal> {
    let met: Vec<LaneCollision> = before.iter().filter_map(|other| between(other, lane)).collect();
    let Some(first) = met.first() else { return Ok(()) };
    let message = format!("{} is offered to two agents at once", first.scopes[1]);
    Err(Refusal::collision(message, Details::Lanes(met)))
}

/// The lanes of one offer that overlap although they are for different agents.
pub fn colliding(lanes: &[Lane]) -> Vec<LaneCollision> {
    let pairs = lanes.iter().enumerate().flat_map(|(at, one)| {
        lanes.iter().skip(at + 1).filter_map(move |other| between(one, other))
    });
    pairs.collect()
}

/// The overlap of two lanes, if they are for different agents.
fn between(one: &Lane, other: &Lane) -> Option<LaneCollision> {
    let lanes = [one.fields.agent.clone()?, other.fields.agent.clone()?];
    let (theirs, wanted) = (one.surfaces.as_ref()?, other.surfaces.as_ref()?);
    let mut pairs = wanted.as_slice().iter().flat_map(|own| {
        theirs.as_slice().iter().filter(|their| own.meets(their)).map(move |their| (their, own))
    });
    let (their, own) = pairs.next().filter(|_| lanes[0] != lanes[1])?;
    let common_path = their.common_path(own);
    Some(LaneCollision { lanes, scopes: [their.clone(), own.clone()], common_path })
}

/// The leases that begin and end with a lane.
struct Claimed {
    /// Whether a lease is opened: not if the agent already holds all surfaces.
    begins: bool,
    /// Leases of the caller that the lane replaces.
    ends: Vec<u64>,
}

/// Plans the claim of a lane. Refused if another principal holds or was offered a part of it, or if
/// a lease of the caller overlaps it and extends beyond: the agent could not take the lane over.
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
    Ok(Claimed { begins: true, ends: handover::gives_way(state, who, agent, wanted, None)? })
}

/// Refuses surfaces that another principal holds, naming the holder.
pub(crate) fn free_for(state: &State, who: &Principal, wanted: &Surfaces) -> Result<(), Refusal> {
    let taken = collisions(state, state.clock(), wanted.as_slice(), Some(who));
    handover::held_by_others(state, taken)
}

/// The reason why a lane is refused that says most: the holder of its surfaces, else whoever has its
/// plan. None if neither is in the way.
pub(crate) fn telling_reason(state: &State, who: &Principal, lane: &Lane) -> Option<Refusal> {
    let agent = lane.fields.agent.as_ref()?;
    let held = claimed(state, who, agent, lane).err();
    let taken = || may_get(state, agent, lane.fields.plan_id, None).err();
    held.or_else(taken).filter(|refusal| refusal.details != Details::None {})
}

/// Whether a single lease of a principal covers all the surfaces.
pub(crate) fn is_held(state: &State, who: &Principal, wanted: &Surfaces) -> bool {
    let own = |_: &LeaseId, of: &Principal| of == who;
    let met = state.surfaces.meeting(wanted.as_slice(), usize::MAX, &own);
    met.iter().filter_map(|id| state.leases.get(id)).any(|own| wanted.is_within(&own.surfaces))
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Offered) -> Result<(), ApplyError> {
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
        let mut made = state.new_record(entry, id, author.clone(), lane.text.clone());
        made.fields = lane.fields.clone();
        made.session.clone_from(&body.session);
        (made.fields.claim, made.fields.message_id) = (lane.claim, Some(lane.message));
        if let Some(surfaces) = &lane.surfaces {
            let cover = Cover { surfaces: surfaces.clone(), ttl_s: lane.ttl_s };
            made.fields.covers = Some(Arc::new(cover));
        }
        create::begin(&mut made, author, Status::Offered, entry);
        notify(state, entry, author, &made, lane.message, lane.thread.clone());
        put(state, Arc::new(made));
    }
    Ok(())
}

/// Creates the message that tells an agent of its assignment.
pub(crate) fn notify(
    state: &mut State,
    entry: &Stamped,
    author: &Principal,
    assignment: &Record,
    id: RecordId,
    thread: Option<Label>,
) {
    let mut made = state.new_record(entry, id, author.clone(), assignment.text.clone());
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
