//! `work.begin` and `work.finish`: somebody sits down to work, and gets up again. Each is one
//! command and one commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::create::is_default;
use super::effect::{self, Effect};
use super::kind::{Kind, RecordId};
use super::moving::{self, Move, PlanStatus};
use super::record;
use super::view::MemoryReply;
use super::word::{Action, Status};
use crate::agent::{self, Beat};
use crate::command::Command;
use crate::event::Event;
use crate::id::{LeaseId, WorkspaceId};
use crate::lease::using::{follows_open, follows_reuse, renew_used};
use crate::lease::{self, Grant, Lease, ReleaseCause, Reuse};
use crate::principal::Caller;
use crate::query::{Collision, LeaseView};
use crate::refusal::Details;
use crate::rule::Rule;
use crate::session;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// `work.begin`: begins to work. Opens the caller's session if none is open, claims surfaces if
/// that is asked for, and renews the caller's leases that have used up a quarter of their time.
///
/// A lease of the caller's that covers exactly the same surfaces is gone on with. If somebody else
/// holds a part of them, the session is opened all the same, the refusal of the claim is an entry
/// of the same commit, and the reply says who is in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// What to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<lease::Open>,
    /// What the agent calls its end of the session; its standing session if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// Note that the agent has seen what is remembered up to now.
    #[serde(default, skip_serializing_if = "is_default")]
    pub looked: bool,
}

/// `work.finish`: gives a claim back and says what becomes of the plan it was held for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
    /// What becomes of the plan. It is done only if nothing else is claimed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
}

/// How a claim stands that came with `work.begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// None was asked for.
    None,
    /// It was opened.
    Created,
    /// The caller had it.
    Existing,
    /// The same request was answered before, and what it opened is over.
    Over,
    /// Somebody else holds a part of it.
    Conflict,
}

/// What `work.begin` replies with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Begun {
    /// The caller's session; people have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// Whether it was opened just now.
    pub session_opened: bool,
    /// How the claim stands.
    pub claim_status: ClaimStatus,
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<LeaseView>,
    /// The leases in the way of it.
    pub collisions: Vec<Collision>,
    /// The leases that were renewed because their holder is at work.
    pub renewed: Vec<LeaseId>,
}

/// What `work.finish` replies with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// The lease, as it was.
    pub claim: LeaseView,
    /// What followed, the end of the lease too.
    pub side_effects: Vec<Effect>,
}

impl Begin {
    /// Whether an event is what was asked for.
    pub(crate) fn leads_to(&self, event: &Event) -> bool {
        match event {
            Event::SessionOpened(got) => self.client == got.client,
            Event::AgentHeartbeat(got) => self.looked && got.looked,
            Event::LeaseOpened(got) => {
                self.claim.as_ref().is_some_and(|open| follows_open(open, got))
            }
            // One that the caller's work renews, or the one it goes on with.
            Event::LeaseRenewed(got) => self
                .claim
                .as_ref()
                .is_none_or(|open| open.reuse != Some(Reuse::Renewed) || follows_reuse(open, got)),
            _ => false,
        }
    }
}

impl Finish {
    /// Whether an event is what was asked for.
    pub(crate) fn leads_to(&self, event: &Event) -> bool {
        match event {
            Event::LeaseReleased(got) => {
                self.lease == got.lease && self.epoch.is_none_or(|epoch| epoch == got.epoch)
            }
            Event::MemoryMoved(got) => {
                let status = self.plan_status.map(PlanStatus::status);
                got.id.kind == Kind::Plan && status == Some(got.to)
            }
            _ => false,
        }
    }
}

pub(crate) fn decide_begin(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Begin,
) -> Result<Reply, Halt> {
    turn.project()?;
    let first = turn.entries().len();
    let (session, session_opened) = session::ensure_called(turn, caller, args.client.as_ref())?;
    if args.looked {
        agent::decide_heartbeat(turn, caller, &Beat { looked: true })?;
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
        claim(turn, caller, args, open, &mut begun)?;
    }
    let made = turn.entries().get(first..).unwrap_or_default();
    // What replaces another lease is the runtime's; the caller's own entry came before.
    let own = made.iter().rev().find(|entry| entry.draft.causation.is_none());
    let cause = own.map(|entry| entry.id.clone());
    begun.renewed = renew_used(turn, caller, cause)?;
    if let Some(known) =
        begun.claim.as_ref().and_then(|own| turn.state().leases.get_key_value(&own.lease))
    {
        begun.claim = Some(LeaseView::of(known.0, known.1));
    }
    Ok(Reply::Begun(Box::new(begun)))
}

/// Claims what is asked for. A collision is put on record and told; any other refusal is the
/// command's.
fn claim(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Begin,
    open: &lease::Open,
    begun: &mut Begun,
) -> Result<(), Halt> {
    let open = lease::Open { reuse: open.reuse.or(Some(Reuse::AsIs)), ..open.clone() };
    let view =
        |state: &State, id: &LeaseId| state.leases.get(id).map(|lease| LeaseView::of(id, lease));
    (begun.claim_status, begun.claim) = match turn.attempt(|turn| lease::grant(turn, caller, &open))
    {
        Ok(Grant::Opened(id)) => (ClaimStatus::Created, view(turn.state(), &id)),
        Ok(Grant::Reused(id)) => (ClaimStatus::Existing, view(turn.state(), &id)),
        Ok(Grant::Before(before)) => match view(turn.state(), &before.lease) {
            Some(live) => (ClaimStatus::Existing, Some(live)),
            None => (ClaimStatus::Over, Some(*before)),
        },
        Err(Halt::Refused(refusal)) if refusal.rule == Rule::NoOverlap => {
            turn.put_on_record(caller, &Command::WorkBegin(args.clone()), &refusal)?;
            if let Details::Collisions(met) = refusal.details {
                begun.collisions = met;
            }
            (ClaimStatus::Conflict, None)
        }
        Err(halt) => return Err(halt),
    };
    Ok(())
}

/// The plan that a lease is held for.
fn plan_of(lease: &Lease) -> Option<RecordId> {
    let task: RecordId = lease.task.as_ref()?.as_str().parse().ok()?;
    (task.kind == Kind::Plan).then_some(task)
}

pub(crate) fn decide_finish(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Finish,
) -> Result<Reply, Halt> {
    turn.project()?;
    let lease = lease::held_by_caller(turn, caller, &args.lease, args.epoch)?;
    let claim = LeaseView::of(&args.lease, &lease);
    let mut side_effects = match (plan_of(&lease), args.plan_status) {
        (Some(plan), Some(status)) => pass_on(turn, caller, &lease, plan, status)?,
        _ => Vec::new(),
    };
    // A plan that moved has let go of it.
    if turn.state().leases.contains_key(&args.lease) {
        let event = lease::released(&args.lease, &lease, ReleaseCause::Released);
        turn.emit(lease::about(&lease, caller.principal.clone().into(), false, event))?;
        let own = Effect::new(Action::Released, RecordId::claim(lease.epoch));
        side_effects.push(own.to(Status::Released));
        let cause = turn.entries().last().map(|entry| entry.id.clone());
        renew_used(turn, caller, cause)?;
    }
    Ok(Reply::Finished(Box::new(Finished { claim, side_effects })))
}

/// Decides what becomes of the plan of a claim that is given back. The plan stays open while
/// something else is claimed for it, and stays as it is where it has no such step.
fn pass_on(
    turn: &mut Turn<'_>,
    caller: &Caller,
    lease: &Lease,
    plan: RecordId,
    status: PlanStatus,
) -> Result<Vec<Effect>, Halt> {
    let to = status.status();
    let others = effect::claimed_beside(turn.state(), plan, Some(lease.epoch));
    if to == Status::Done && others > 0 {
        let are = if others == 1 { "claim on it is" } else { "claims on it are" };
        let kept = Effect::new(Action::KeptOpen, plan);
        return Ok(vec![kept.saying(&format!("{others} other {are} open"))]);
    }
    let claim = (to == Status::Blocked).then(|| RecordId::claim(lease.epoch));
    let step = Move { claim, ..Move::plain(plan, to) };
    match moving::plan(turn.state(), &caller.principal, &step) {
        Ok(body) => {
            let moved = Effect::new(Action::Moved, plan).to(to);
            match record(turn, caller, Event::MemoryMoved(Box::new(body)))? {
                MemoryReply::Moved(told) => Ok([vec![moved], told.side_effects].concat()),
                _ => Err(ApplyError::Mismatch("the answer to a step").into()),
            }
        }
        Err(refusal) if matches!(refusal.rule, Rule::RecordStep | Rule::RecordKnown) => {
            Ok(vec![Effect::new(Action::Unchanged, plan).saying(&refusal.message)])
        }
        Err(refusal) => Err(refusal.into()),
    }
}
