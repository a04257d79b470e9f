//! `work.begin` and `work.finish`: starting and finishing work. Each is one command and one commit.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::identity::agent::Beat;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::transition::{Move, PlanStatus};
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::model::leasing::lease::using::Reuse;
use crate::model::leasing::lease::{Lease, ReleaseCause};
use crate::model::leasing::view::LeaseView;
use crate::protocol::command::Command;
use crate::protocol::event::Event;
use crate::protocol::refusal::Details;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::identity::agent;
use crate::rules::knowledge::records::{effect, record, transition};
use crate::rules::leasing::lease::Grant;
use crate::rules::leasing::lease::using::renew_used;
use crate::rules::leasing::{lease, session};
use crate::values::id::LeaseId;
use crate::values::principal::Caller;

pub use crate::model::knowledge::records::work::*;

pub(crate) fn decide_begin(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Begin,
) -> Result<Reply, DecisionError> {
    tx.project()?;
    let first = tx.entries().len();
    let (session, session_opened) = session::ensure_called(tx, caller, args.client.as_ref())?;
    if args.looked {
        agent::decide_heartbeat(tx, caller, &Beat { looked: true })?;
    }
    let caller = &Caller { session: session.clone(), ..caller.clone() };
    let mut begun = Begun {
        session,
        session_opened,
        claim_status: ClaimStatus::None,
        claim: None,
        collisions: Vec::new(),
        renewed: Vec::new(),
    };
    if let Some(open) = &args.claim {
        claim(tx, caller, args, open, &mut begun)?;
    }
    let made = tx.entries().get(first..).unwrap_or_default();
    // The release of a replaced lease is the runtime's entry; the caller's own entry came before
    // it.
    let own = made.iter().rev().find(|entry| entry.draft.causation.is_none());
    let cause = own.map(|entry| entry.id.clone());
    begun.renewed = renew_used(tx, caller, cause)?;
    if let Some(known) =
        begun.claim.as_ref().and_then(|own| tx.state().leases.get_key_value(&own.lease))
    {
        begun.claim = Some(LeaseView::of(known.0, known.1));
    }
    Ok(Reply::Begun(Box::new(begun)))
}

/// Claims the requested surfaces. A collision is recorded and reported; any other refusal fails the
/// command.
fn claim(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Begin,
    open: &lease::Open,
    begun: &mut Begun,
) -> Result<(), DecisionError> {
    let open = lease::Open { reuse: open.reuse.or(Some(Reuse::AsIs)), ..open.clone() };
    let view =
        |state: &State, id: &LeaseId| state.leases.get(id).map(|lease| LeaseView::of(id, lease));
    (begun.claim_status, begun.claim) = match tx.attempt(|tx| lease::grant(tx, caller, &open)) {
        Ok(Grant::Opened(id)) => (ClaimStatus::Created, view(tx.state(), &id)),
        Ok(Grant::Reused(id)) => (ClaimStatus::Existing, view(tx.state(), &id)),
        Ok(Grant::Before(before)) => match view(tx.state(), &before.lease) {
            Some(live) => (ClaimStatus::Existing, Some(live)),
            None => (ClaimStatus::Over, Some(*before)),
        },
        Err(DecisionError::Refused(refusal)) if refusal.rule == Rule::NoOverlap => {
            tx.put_on_record(caller, &Command::WorkBegin(args.clone()), &refusal)?;
            if let Details::Collisions(met) = refusal.details {
                begun.collisions = met;
            }
            (ClaimStatus::Conflict, None)
        }
        Err(error) => return Err(error),
    };
    Ok(())
}

/// The plan that a lease is held for.
fn plan_of(lease: &Lease) -> Option<RecordId> {
    let task: RecordId = lease.task.as_ref()?.as_str().parse().ok()?;
    (task.kind == Kind::Plan).then_some(task)
}

pub(crate) fn decide_finish(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Finish,
) -> Result<Reply, DecisionError> {
    tx.project()?;
    let lease = lease::held_by_caller(tx, caller, &args.lease, args.epoch)?;
    lease::can_be_released(tx.state(), &args.lease, &lease)?;
    let claim = LeaseView::of(&args.lease, &lease);
    let mut side_effects = match (plan_of(&lease), args.plan_status) {
        (Some(plan), Some(status)) => pass_on(tx, caller, &lease, plan, status)?,
        _ => Vec::new(),
    };
    // If the plan moved, the lease has already been released.
    if tx.state().leases.contains_key(&args.lease) {
        let event = lease::released(&args.lease, &lease, ReleaseCause::Released);
        tx.emit(lease::about(&lease, caller.principal.clone().into(), false, event))?;
        let own = Effect::new(Action::Released, RecordId::claim(lease.epoch));
        side_effects.push(own.to(Status::Released));
        let cause = tx.entries().last().map(|entry| entry.id.clone());
        renew_used(tx, caller, cause)?;
    }
    Ok(Reply::Finished(Box::new(Finished { claim, side_effects })))
}

/// Whether a plan that was refused to move for this reason is left as it is.
fn is_left(rule: Rule) -> bool {
    matches!(rule, Rule::RecordStep | Rule::RecordKnown | Rule::TaskGoverned)
}

/// Moves the plan of a released claim. The plan stays open while anything else is claimed for it,
/// and stays as it is if it has no such transition.
fn pass_on(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    lease: &Lease,
    plan: RecordId,
    status: PlanStatus,
) -> Result<Vec<Effect>, DecisionError> {
    let to = status.status();
    let others = effect::claimed_beside(tx.state(), plan, Some(lease.epoch));
    if to == Status::Done && others > 0 {
        let are = if others == 1 { "claim on it is" } else { "claims on it are" };
        let kept = Effect::new(Action::KeptOpen, plan);
        return Ok(vec![kept.saying(&format!("{others} other {are} open"))]);
    }
    let claim = (to == Status::Blocked).then(|| RecordId::claim(lease.epoch));
    let step = Move { claim, ..Move::plain(plan, to) };
    match transition::plan(tx.state(), &caller.principal, &step) {
        Ok(body) => {
            let moved = Effect::new(Action::Moved, plan).to(to);
            match record(tx, caller, Event::MemoryMoved(Box::new(body)))? {
                MemoryReply::Moved(done) => Ok([vec![moved], done.side_effects].concat()),
                _ => Err(ApplyError::Mismatch("the answer to a step").into()),
            }
        }
        Err(refusal) if is_left(refusal.rule) => {
            Ok(vec![Effect::new(Action::Unchanged, plan).saying(&refusal.message)])
        }
        Err(refusal) => Err(refusal.into()),
    }
}
