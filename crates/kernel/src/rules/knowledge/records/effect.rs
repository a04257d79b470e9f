//! Side effects of a record's step: other records that move, and leases that end or begin.

use crate::machine::state::State;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::model::leasing::lease::Lease;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{governed, lease_transfer, offer};
use crate::rules::leasing::handover;
use crate::values::id::LeaseId;
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::text::Text;

pub use crate::model::knowledge::records::effect::*;

fn released(lease: &Lease) -> Effect {
    Effect::new(Action::Released, RecordId::claim(lease.epoch)).to(Status::Released)
}

/// The effect of ending a lease.
pub(crate) fn ended(state: &State, epoch: u64) -> Option<Effect> {
    state.lease_of_epoch(epoch).map(|(_, lease)| released(lease))
}

fn denied(lease: &Lease) -> Effect {
    let effect = Effect::new(Action::OwnershipDenied, RecordId::claim(lease.epoch));
    effect.saying(&format!("held by {}", lease.holder))
}

/// The effects of releasing the caller's claim for a plan along with a step of the plan, or a
/// refusal.
pub(crate) fn given_back(
    state: &State,
    who: &Principal,
    plan: &Record,
    claim: RecordId,
) -> Result<Vec<Effect>, Refusal> {
    let known = state.lease_of_epoch(claim.number).filter(|_| claim.kind == Kind::Claim);
    let of_plan = plan.id.to_string();
    let known = known.filter(|(_, lease)| lease.task.as_ref().map(Text::as_str) == Some(&of_plan));
    let Some((_, lease)) = known else {
        let message = format!("{claim} is no open claim for {}", plan.id);
        return Err(Refusal::not_found(Rule::LeaseLive, message));
    };
    if lease.holder != *who {
        let message = format!("{claim} is held by {}, not by {who}", lease.holder);
        return Err(Refusal::denied(Rule::HolderOnly, message));
    }
    Ok(vec![released(lease)])
}

/// The effects on the leases for a plan that ended: the caller's are released, those of others
/// stay.
pub(crate) fn of_plan(
    state: &State,
    who: &Principal,
    plan: RecordId,
    except: Option<u64>,
) -> Vec<Effect> {
    let held = state.leases_for(&plan.to_string()).filter(|lease| Some(lease.epoch) != except);
    held.map(|lease| if lease.holder == *who { released(lease) } else { denied(lease) }).collect()
}

/// The effects of a plan that ends: on the leases for it, and on the attempt that the caller made at
/// it by itself, which ends with it.
pub(crate) fn of_ended_plan(
    state: &State,
    who: &Principal,
    plan: RecordId,
    to: Status,
) -> Vec<Effect> {
    let end = if to == Status::Done { Status::Completed } else { Status::Cancelled };
    let tried = state.memory.at_work_on(plan).filter_map(|id| state.memory.record(id));
    let own = tried.filter(|own| own.is_own_work() && own.is_for(who));
    let ended = own.map(|own| Effect::new(Action::Moved, own.id).to(end));
    of_plan(state, who, plan, None).into_iter().chain(ended).collect()
}

/// The effect on the lease of an assignment that ended. It is released whether the agent or the
/// dispatcher holds it.
pub(crate) fn of_claim(state: &State, assignment: &Record) -> Option<Effect> {
    let epoch = assignment.fields.claim?;
    let Some((_, lease)) = state.lease_of_epoch(epoch) else {
        return Some(Effect::new(Action::AlreadyOver, RecordId::claim(epoch)));
    };
    let own = assignment.is_for(&lease.holder) || assignment.is_dispatched_by(&lease.holder);
    Some(if own { released(lease) } else { denied(lease) })
}

/// The effects of transferring an assignment's lease to the agent who accepts it, along with
/// overlapping leases promised to the same agent. Refused if a lease of anybody else overlaps.
pub(crate) fn hand_over(
    state: &State,
    assignment: &Record,
    to: &Principal,
) -> Result<Vec<Effect>, Refusal> {
    let fields = &assignment.fields;
    let live = fields.claim.and_then(|epoch| state.lease_of_epoch(epoch));
    if live.is_some_and(|(_, lease)| lease.holder == *to) {
        return Ok(Vec::new());
    }
    let cover = fields.covers.as_ref().map(|cover| &cover.surfaces);
    if fields.claim.is_none() && cover.is_none_or(|cover| offer::is_held(state, to, cover)) {
        return Ok(Vec::new());
    }
    crate::rules::identity::agent::not_revoked(state, to)?;
    match live {
        Some((held, lease)) => {
            let surfaces = cover.unwrap_or(&lease.surfaces);
            let own =
                assignment.is_for(&lease.holder) || assignment.is_dispatched_by(&lease.holder);
            let passed =
                if own { lease_transfer::with(state, held, lease, to)? } else { Vec::new() };
            lease_transfer::free(state, surfaces, &[to], &passed)?;
            let mut effects = passed_on(state, &passed, lease, surfaces, to);
            // The first is the lease of this assignment.
            let others = passed.get(1..).unwrap_or_default();
            effects.extend(lease_transfer::with_them(state, others, to));
            Ok(effects)
        }
        None => open_again(state, assignment, to),
    }
}

/// The effects of passing leases on. A lease with other surfaces than those offered ends, and one
/// with the offered surfaces begins.
fn passed_on(
    state: &State,
    passed: &[(LeaseId, u64)],
    lease: &Lease,
    surfaces: &Surfaces,
    to: &Principal,
) -> Vec<Effect> {
    if *surfaces == lease.surfaces {
        return lease_transfer::over(state, passed, to);
    }
    let ended = passed.iter().filter_map(|(_, epoch)| ended(state, *epoch));
    ended.chain([begun(state.epoch + 1, to)]).collect()
}

/// The effect of opening a lease.
pub(crate) fn begun(epoch: u64, holder: &Principal) -> Effect {
    let opened = Effect::new(Action::Opened, RecordId::claim(epoch)).to(Status::Open);
    opened.saying(&format!("held by {holder}"))
}

/// The effects of accepting an assignment without a live lease (it expired, was released, or the
/// agent already held the surfaces): opens one for the offered surfaces, if they are free.
fn open_again(state: &State, assignment: &Record, to: &Principal) -> Result<Vec<Effect>, Refusal> {
    let over = assignment.fields.claim.map(over);
    let Some(cover) = &assignment.fields.covers else {
        let untold =
            over.map(|own| own.saying("its surfaces are not recorded: claim what you work on"));
        return Ok(untold.into_iter().collect());
    };
    offer::free_for(state, to, &cover.surfaces)?;
    Ok(over.into_iter().chain([begun(state.epoch + 1, to)]).collect())
}

fn over(epoch: u64) -> Effect {
    Effect::new(Action::AlreadyOver, RecordId::claim(epoch))
}

/// The effects of transferring an assignment's surfaces back to its dispatcher, for `next` to take
/// over. Leases that `next` already holds there do not collide, and then no lease is opened.
pub(crate) fn hand_back(
    state: &State,
    assignment: &Record,
    to: &Principal,
    next: &AgentName,
) -> Result<Vec<Effect>, Refusal> {
    let fields = &assignment.fields;
    let live = fields.claim.and_then(|epoch| state.lease_of_epoch(epoch));
    // A lease that neither of them holds cannot be transferred.
    let live = live.filter(|(_, lease)| {
        let holder = &lease.holder;
        holder == to || assignment.is_for(holder) || assignment.is_dispatched_by(holder)
    });
    let over = fields.claim.filter(|_| live.is_none()).map(over);
    let known = fields.covers.as_ref().map(|cover| &cover.surfaces);
    let Some(surfaces) = known.or(live.map(|(_, lease)| &lease.surfaces)) else {
        return Ok(over.into_iter().collect());
    };
    crate::rules::identity::agent::not_revoked(state, to)?;
    let passed: Vec<(LeaseId, u64)> =
        live.map(|(id, lease)| (id.clone(), lease.epoch)).into_iter().collect();
    let agent = Principal::Agent(next.clone());
    lease_transfer::free(state, surfaces, &[to, &agent], &passed)?;
    let held = agent != *to && lease_transfer::free(state, surfaces, &[to], &passed).is_err();
    let own = fields.claim.filter(|_| live.is_some());
    let mut effects: Vec<Effect> = over.into_iter().collect();
    let ends = handover::gives_way(state, to, next, surfaces, own)?;
    effects.extend(ends.into_iter().filter_map(|epoch| ended(state, epoch)));
    match live {
        Some((_, lease)) if lease.holder == *to && *surfaces == lease.surfaces && !held => {}
        Some((_, lease)) if held => effects.push(released(lease)),
        Some((_, lease)) => effects.extend(passed_on(state, &passed, lease, surfaces, to)),
        None if held => {}
        None => effects.push(begun(state.epoch + 1, to)),
    }
    Ok(effects)
}

/// Makes sure each lease ends only once, even if several records were worked on under it.
pub(crate) fn once(mut effects: Vec<Effect>) -> Vec<Effect> {
    let mut ended = std::collections::BTreeSet::new();
    for effect in &mut effects {
        let ends = matches!(effect.action, Action::Released | Action::HandedOver);
        if ends && !ended.insert(effect.id) {
            *effect = Effect::new(Action::AlreadyOver, effect.id);
        }
    }
    effects
}

/// The epoch of the lease opened by these effects.
pub(crate) fn opened(effects: &[Effect]) -> Option<u64> {
    effects.iter().find(|effect| effect.action == Action::Opened).map(|effect| effect.id.number)
}

/// The number of leases held for a plan, not counting one of them.
pub(crate) fn claimed_beside(state: &State, plan: RecordId, except: Option<u64>) -> usize {
    let held = state.leases_for(&plan.to_string());
    held.filter(|lease| Some(lease.epoch) != except).count()
}

/// The effects on a plan of one of its assignments ending.
pub(crate) fn on_plan(
    state: &State,
    who: &Principal,
    assignment: &Record,
    to: Status,
) -> Vec<Effect> {
    let plan = assignment.fields.plan_id.and_then(|id| state.memory.record(id));
    let Some(plan) = plan else { return Vec::new() };
    let kept = |why: &str| vec![Effect::new(Action::KeptOpen, plan.id).to(plan.word()).saying(why)];
    let now = state.status_of(plan);
    let same = Effect::new(Action::Unchanged, plan.id).to(now);
    if let Some(who) = governed::governors(state, plan) {
        return vec![same.saying(&format!("a run has taken it: it is moved by {who}"))];
    }
    if !plan.table().has_step(now, to) {
        let why = format!("it is {now} and cannot become {to} from there");
        return vec![if now == to { same } else { same.saying(&why) }];
    }
    let mut effects = vec![Effect::new(Action::Moved, plan.id).to(to)];
    if to == Status::Done {
        let claim = assignment.fields.claim;
        let held = state.leases_for(&plan.id.to_string());
        let claims =
            held.filter(|lease| lease.holder != *who && Some(lease.epoch) != claim).count();
        let others = state.memory.at_work_on(plan.id).filter(|id| *id != assignment.id).count();
        if claims + others > 0 {
            let counted =
                |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
            let (others, claims) = (counted(others, "assignment"), counted(claims, "claim"));
            return kept(&format!("also open for it: {others} and {claims}"));
        }
        effects.extend(of_plan(state, who, plan.id, claim));
    }
    effects
}
