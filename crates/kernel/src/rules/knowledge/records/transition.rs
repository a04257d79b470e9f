//! `memory.move`: a record moves to another state, along with the records it affects.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{Action, CandidateType, Status};
use crate::model::knowledge::records::{field, view};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::attempt;
use crate::rules::knowledge::records::{
    assign, bad_field, change, create, effect, expect, governed, keyed, lease_transfer, offer, put,
    record,
};
use crate::values::content::Blob;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::knowledge::records::transition::*;

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Move,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let own = tx.state().memory.get_for(args.id, &caller.principal)?.clone();
    expect(&own, args.expected_version)?;
    let to = state_named(&own, &args.to)?;
    // With another agent it is not a heartbeat.
    if to == own.status && own.id.kind == Kind::Assignment && args.agent.is_none() {
        return assign::beat(tx, caller, &own, mark);
    }
    if own.id.kind == Kind::Assignment && tx.state().is_governed_attempt(&own) {
        return attempt::orders::carry_out(tx, caller, &own, to, args);
    }
    let body = plan(tx.state(), &caller.principal, args)?;
    record(tx, caller, Event::MemoryMoved(Box::new(Moved { request: mark, ..body })))
}

/// The state that a word denotes for a record, or a refusal.
fn state_named(own: &Record, word: &Label) -> Result<Status, Refusal> {
    own.table().state(word.as_str()).ok_or_else(|| {
        let kind = own.id.kind;
        let message = format!("{} {kind} is never {word}", kind.article());
        let states = own.table().states.iter().map(ToString::to_string);
        Refusal::denied(Rule::RecordStep, message).allowing(states)
    })
}

/// Plans a transition, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Move) -> Result<Moved, Refusal> {
    let own = state.memory.get_for(asked.id, who)?;
    expect(own, asked.expected_version)?;
    keyed::has_no_command_of_its_own(own.id.kind)?;
    let to = state_named(own, &asked.to)?;
    assign::may_move(state, who, own, to, asked.forced)?;
    governed::leaves_alone(state, own)?;
    let stepped = own.table().has_step(own.word(), to);
    let forcible = asked.forced && assign::is_forcible(own, to);
    if !stepped && !forcible {
        return Err(no_way(own, to));
    }
    fits(own, to, asked)?;
    if to == Status::Retrying {
        may_retry(own)?;
    }
    let effects = effects(state, who, own, to, asked)?;
    let Move { agent, claim, let_go, merged_into, plan_status, reason, .. } = asked.clone();
    let forced = if asked.forced { Force::Forced } else { Force::Plain };
    let (id, from, request) = (own.id, own.word(), None);
    let approves = id.kind == Kind::Decision && to == Status::Approved;
    let decided = approves.then(|| own.text.clone());
    Ok(Moved {
        agent,
        claim,
        decided,
        effects,
        forced,
        from,
        id,
        let_go,
        merged_into,
        plan_status,
        reason,
        request,
        to,
    })
}

pub(crate) fn no_way(own: &Record, to: Status) -> Refusal {
    let allowed = own.table().transitions_from(own.word());
    let end = if allowed.is_empty() { ", where it ends" } else { "" };
    let message = format!("{} is {}{end}; it cannot become {to}", own.id, own.word());
    Refusal::denied(Rule::RecordStep, message).allowing(allowed.iter().map(ToString::to_string))
}

/// Checks that the arguments fit the transition.
fn fits(own: &Record, to: Status, asked: &Move) -> Result<(), Refusal> {
    let (kind, merged) = (own.id.kind, to == Status::Merged);
    if asked.forced && kind != Kind::Assignment {
        return Err(bad_field("only assignments can be forced"));
    }
    if merged != asked.merged_into.is_some() {
        let message = if merged { "say what with `merged_into`" } else { "nothing is merged" };
        return Err(bad_field(format!("{} becomes {to}; {message}", own.id)));
    }
    let plans = matches!(
        (kind, to),
        (Kind::Assignment, Status::Completed | Status::Blocked | Status::Failed)
    );
    if asked.plan_status.is_some() && !plans {
        let message = "`plan_status` goes with an assignment that is completed, blocked or failed";
        return Err(bad_field(message));
    }
    if asked.claim.is_some() && (kind, to) != (Kind::Plan, Status::Blocked) {
        return Err(bad_field("`claim` goes with a plan that is blocked"));
    }
    let waits = kind == Kind::Assignment && matches!(to, Status::Blocked | Status::Failed);
    if asked.let_go && !waits {
        return Err(bad_field("`let_go` goes with an assignment that is blocked or failed"));
    }
    if asked.agent.is_some() && to != Status::Rerouted {
        return Err(bad_field("`agent` goes with an assignment that is rerouted"));
    }
    Ok(())
}

fn may_retry(own: &Record) -> Result<(), Refusal> {
    let (tried, most) = (own.fields.retry_count, own.fields.max_retries);
    if tried < most {
        return Ok(());
    }
    let most = most.unwrap_or_default();
    let message = format!("{} was already retried {most} times, which is the maximum", own.id);
    let others =
        own.table().transitions_from(own.status).into_iter().filter(|to| *to != Status::Retrying);
    Err(Refusal::denied(Rule::RecordStep, message).allowing(others.map(|to| to.to_string())))
}

/// The effects of a transition.
fn effects(
    state: &State,
    who: &Principal,
    own: &Record,
    to: Status,
    asked: &Move,
) -> Result<Vec<Effect>, Refusal> {
    match own.id.kind {
        Kind::Plan if !own.table().is_live(to) => Ok(effect::of_ended_plan(state, who, own.id, to)),
        Kind::Plan => {
            asked.claim.map_or(Ok(Vec::new()), |claim| effect::given_back(state, who, own, claim))
        }
        Kind::Candidate if to == Status::Accepted => {
            state.memory.room()?;
            let kind = promoted(own);
            let made = Effect::new(Action::Promoted, state.memory.next(kind));
            Ok(vec![made.to(kind.table().states[0])])
        }
        Kind::Candidate => merge(state, who, own, asked),
        Kind::Assignment => of_assignment(state, who, own, to, asked),
        Kind::Loop if !own.table().is_live(to) => Ok(assign::of_slots(state, own, to)),
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Claim
        | Kind::Handoff
        | Kind::Message
        | Kind::Sequence
        | Kind::Loop
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => Ok(Vec::new()),
    }
}

/// Checks that the target of a merge exists and has a kind the candidate could become.
fn merge(
    state: &State,
    who: &Principal,
    own: &Record,
    asked: &Move,
) -> Result<Vec<Effect>, Refusal> {
    let Some(target) = asked.merged_into else { return Ok(Vec::new()) };
    let fits = [Kind::Candidate, promoted(own)].contains(&target.kind) && target != own.id;
    if !fits || state.memory.get_for(target, who).is_err() {
        let kind = promoted(own);
        let message = format!("{} is merged into a {kind} or another candidate", own.id);
        return Err(Refusal::denied(Rule::RecordLinks, format!("{message}, not {target}")));
    }
    Ok(Vec::new())
}

fn of_assignment(
    state: &State,
    who: &Principal,
    own: &Record,
    to: Status,
    asked: &Move,
) -> Result<Vec<Effect>, Refusal> {
    let mut effects = Vec::new();
    if matches!(to, Status::Accepted | Status::Started) && own.is_for(who) {
        effects.extend(effect::hand_over(state, own, who)?);
    } else if let (Status::Rerouted, Some(agent)) = (to, &asked.agent) {
        offer::may_get(state, agent, own.fields.plan_id, Some(own.id))?;
        state.memory.room_for(2)?;
        let made = Effect::new(Action::Created, state.memory.next(Kind::Assignment));
        effects.push(made.to(Status::Offered).saying(&format!("for {agent}")));
        let message = Effect::new(Action::Created, state.memory.next(Kind::Message));
        effects.push(message.to(Status::Open));
        effects.extend(effect::hand_back(state, own, who, agent)?);
        effects.extend(loops_of(state, own));
    } else if to == Status::Offered {
        effects.extend(offered_again(state, who, own)?);
    } else if !own.table().is_live(to) || to == Status::Failed || asked.let_go {
        // The agent that failed no longer works on it. A retry claims it again.
        effects.extend(effect::of_claim(state, own));
    }
    effects.extend(message_effect(state, who, own, to));
    if let Some(plan_status) = asked.plan_status {
        effects.extend(effect::on_plan(state, who, own, plan_status.status()));
    }
    Ok(effect::once(effects))
}

/// The effects of offering work again to the same agent: a new message, and a lease of the
/// dispatcher on its surfaces until the agent accepts.
fn offered_again(state: &State, who: &Principal, own: &Record) -> Result<Vec<Effect>, Refusal> {
    let Some(agent) = own.agent() else { return Ok(Vec::new()) };
    offer::may_get(state, agent, own.fields.plan_id, Some(own.id))?;
    state.memory.room_for(1)?;
    let message = Effect::new(Action::Created, state.memory.next(Kind::Message)).to(Status::Open);
    let mut effects = vec![message];
    let before = own.fields.message_id.and_then(|id| state.memory.record(id));
    let before = before.filter(|own| own.table().has_step(own.status, Status::Closed));
    effects.extend(before.map(|own| Effect::new(Action::Moved, own.id).to(Status::Closed)));
    if own.is_dispatched_by(who) {
        effects.extend(effect::hand_back(state, own, who, agent)?);
    }
    Ok(effects)
}

/// The effect on the message that offered the work: acknowledged when the work is accepted, closed
/// when it ends.
fn message_effect(state: &State, who: &Principal, own: &Record, to: Status) -> Option<Effect> {
    let message = state.memory.record(own.fields.message_id?)?;
    let next = match to {
        Status::Accepted | Status::Started if own.is_for(who) => Status::Acknowledged,
        to if !own.table().is_live(to) => return of_no_use(state, own),
        _ => return None,
    };
    let allowed = message.table().has_step(message.status, next);
    allowed.then(|| Effect::new(Action::Moved, message.id).to(next))
}

/// The effect of closing the message that offered work which has ended.
pub(crate) fn of_no_use(state: &State, own: &Record) -> Option<Effect> {
    let message = state.memory.record(own.fields.message_id?)?;
    let allowed = message.table().has_step(message.status, Status::Closed);
    allowed.then(|| Effect::new(Action::Moved, message.id).to(Status::Closed))
}

/// The kind of record a candidate is promoted to.
fn promoted(own: &Record) -> Kind {
    match own.fields.candidate_type {
        Some(CandidateType::Decision) => Kind::Decision,
        Some(CandidateType::Trap) => Kind::Trap,
        Some(CandidateType::Handoff) => Kind::Handoff,
        Some(CandidateType::Constraint) | None => Kind::Constraint,
    }
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Moved) -> Result<(), ApplyError> {
    let own = state.memory.records.get(&body.id).ok_or(ApplyError::Unknown("the record"))?.clone();
    if own.word() != body.from {
        return Err(ApplyError::Mismatch("the record's state"));
    }
    let made = |action: Action, kind: Option<Kind>| {
        let mut of = body.effects.iter().filter(|effect| effect.action == action);
        of.find(|effect| kind.is_none_or(|kind| kind == effect.kind)).map(|effect| effect.id)
    };
    let promoted = made(Action::Promoted, None);
    let rerouted = made(Action::Created, Some(Kind::Assignment));
    let message = made(Action::Created, Some(Kind::Message));
    change(state, entry, body.id, |own| {
        own.enter(body.to, entry.at);
        let fields = &mut own.fields;
        if body.reason.is_some() {
            fields.resolved_reason.clone_from(&body.reason);
        }
        fields.merged_into = body.merged_into.or(fields.merged_into);
        fields.promoted_to = promoted.or(fields.promoted_to);
        fields.superseded_by = rerouted.or(fields.superseded_by);
        if rerouted.is_none() {
            fields.claim = effect::opened(&body.effects).or(fields.claim);
            fields.message_id = message.or(fields.message_id);
        }
    })?;
    if let Some(id) = promoted {
        promote(state, entry, &own, id);
    }
    if let (Some(id), Some(agent)) = (rerouted, &body.agent) {
        reroute(state, entry, &own, (id, message), agent, effect::opened(&body.effects));
        follow_in_loops(state, entry, (own.id, id), agent, &body.effects)?;
    } else if let Some(message) = message {
        notify_again(state, entry, &own, message);
    }
    lease_transfer::follow(state, entry, &body.effects)?;
    apply_others(state, entry, &body.effects)
}

/// Applies the transitions of other records.
pub(crate) fn apply_others(
    state: &mut State,
    entry: &Stamped,
    effects: &[Effect],
) -> Result<(), ApplyError> {
    for effect in effects.iter().filter(|effect| effect.action == Action::Moved) {
        let to = effect.to.ok_or(ApplyError::Mismatch("the record's state"))?;
        change(state, entry, effect.id, |own| own.enter(to, entry.at))?;
    }
    Ok(())
}

/// Creates the record a candidate is promoted to, with the same author.
fn promote(state: &mut State, entry: &Stamped, own: &Record, id: RecordId) {
    let author = own.author.clone();
    let mut made = state.new_record(entry, id, author.clone(), own.text.clone());
    (made.tags, made.provenance) = (own.tags.clone(), own.provenance.clone());
    made.session.clone_from(&own.session);
    let mut fields = field::Fields::default();
    let taken = id.kind.table().fields;
    let mut given = own.fields.clone();
    for name in given.given().into_iter().filter(|name| !taken.contains(name)) {
        given.clear(name);
    }
    fields.take_over(&given);
    made.fields = fields;
    create::fill_in(id.kind, &mut made.fields);
    create::begin(&mut made, &author, id.kind.table().states[0], entry);
    put(state, Arc::new(made));
}

/// Creates the assignment of the same work for another agent.
fn reroute(
    state: &mut State,
    entry: &Stamped,
    own: &Record,
    (id, message): (RecordId, Option<RecordId>),
    agent: &AgentName,
    opened: Option<u64>,
) {
    let Actor::Principal(by) = &entry.draft.actor else { return };
    let mut made = state.new_record(entry, id, by.clone(), own.text.clone());
    (made.tags, made.provenance) = (own.tags.clone(), own.provenance.clone());
    let taken = id.kind.table().fields;
    made.fields = own.fields.clone();
    for name in own.fields.given().into_iter().filter(|name| !taken.contains(name)) {
        made.fields.clear(name);
    }
    for name in ["artifacts", "message_id", "nonce", "status_reason", "worktree_path"] {
        made.fields.clear(name);
    }
    made.fields.agent = Some(agent.clone());
    made.fields.supersedes = Some(own.id);
    made.fields.claim = opened.or(own.fields.claim);
    made.fields.covers.clone_from(&own.fields.covers);
    // Results of the previous agent must not count for this one.
    made.fields.nonce = nonce(entry, id);
    made.fields.message_id = message;
    create::begin(&mut made, by, Status::Offered, entry);
    if let Some(message) = message {
        let before = own.fields.message_id.and_then(|id| state.memory.record(id));
        let thread = before.and_then(|before| before.fields.thread.clone());
        offer::notify(state, entry, by, &made, message, thread);
    }
    put(state, Arc::new(made));
}

/// The effects on the loops in which the work is done: the slot follows the work.
fn loops_of(state: &State, own: &Record) -> Vec<Effect> {
    let has_place =
        |of: &&Record| of.fields.slots.iter().any(|slot| slot.assignment == Some(own.id));
    let live = state.memory.newest(Kind::Loop, Some(true)).filter(has_place);
    live.map(|of| Effect::new(Action::Followed, of.id)).collect()
}

fn follow_in_loops(
    state: &mut State,
    entry: &Stamped,
    (from, to): (RecordId, RecordId),
    agent: &AgentName,
    effects: &[Effect],
) -> Result<(), ApplyError> {
    for effect in lease_transfer::followers(effects, Kind::Loop) {
        change(state, entry, effect.id, |of| {
            let mut slots = of.fields.slots.to_vec();
            for slot in slots.iter_mut().filter(|slot| slot.assignment == Some(from)) {
                (slot.agent, slot.assignment) = (agent.clone(), Some(to));
                (slot.done, slot.outcome) = (false, None);
            }
            of.fields.slots = Few::new(slots).unwrap_or_default();
        })?;
    }
    Ok(())
}

/// Creates the message that tells an agent the assignment is offered again.
fn notify_again(state: &mut State, entry: &Stamped, own: &Record, message: RecordId) {
    let Actor::Principal(by) = &entry.draft.actor else { return };
    let before = own.fields.message_id.and_then(|id| state.memory.record(id));
    let thread = before.and_then(|before| before.fields.thread.clone());
    offer::notify(state, entry, by, own, message, thread);
}

/// A unique nonce, derived from the entry that offers the work.
fn nonce(entry: &Stamped, id: RecordId) -> Option<Label> {
    let hash = Blob::of(format!("{}\n{id}", entry.id).as_bytes());
    Label::new(hash.hex().get(..12)?).ok()
}

pub(crate) fn reply(record: Arc<Record>, body: &Moved) -> MemoryReply {
    MemoryReply::Moved(view::Moved {
        record: Some(record),
        from: Some(body.from),
        to: Some(body.to),
        changed: true,
        side_effects: body.effects.clone(),
    })
}
