//! `work.next`: choosing a task that is ready, and taking it together with its claim.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::transition::Move;
use crate::model::knowledge::records::update::Update;
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::leasing::lease::surfaces::{Surfaces, split_scope};
use crate::model::leasing::lease::{Lease, Open};
use crate::model::leasing::view::LeaseView;
use crate::model::runs::workspace;
use crate::protocol::refusal::{Details, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::attempt;
use crate::rules::knowledge::records::create::name_of;
use crate::rules::knowledge::records::pool::Taken;
use crate::rules::knowledge::records::{governed, pool, transition, update};
use crate::rules::leasing::collisions::collisions;
use crate::rules::leasing::lease::Grant;
use crate::rules::leasing::lease::using::renew_used;
use crate::rules::leasing::{lease, session};
use crate::surfaces::Surface;
use crate::values::id::WorkspaceId;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Caller, Principal};
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::knowledge::records::next::*;

/// The most tasks a refusal names with what they wait for.
const NAMED_MAX: usize = 5;

pub(crate) fn decide_next(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Next,
) -> Result<Reply, DecisionError> {
    tx.project()?;
    let first = tx.entries().len();
    let (session, _) = session::ensure_called(tx, caller, args.client.as_ref())?;
    let caller = &Caller { session: session.clone(), ..caller.clone() };
    if let Some(reply) = of_run(tx, caller, args, session.as_ref())? {
        return Ok(reply);
    }
    let (task, taken) = meant(tx.state(), tx.now(), &caller.principal, args.task)?;
    let given = assignment_for(tx.state(), caller, task);
    if let (true, Some(given)) = (taken, given) {
        accept(tx, caller, given)?;
    }
    let claim = claim(tx, caller, task, args)?;
    if taken && given.is_none() {
        take(tx, caller, task, claim.as_ref())?;
    }
    let made = tx.entries().get(first..).unwrap_or_default();
    let own = made.iter().rev().find(|entry| entry.draft.causation.is_none());
    let cause = own.map(|entry| entry.id.clone());
    let renewed = renew_used(tx, caller, cause)?;
    let attempt = tx.state().memory.record(task).and_then(|plan| tx.state().live_attempt(plan));
    let workspace = attempt.map(|(id, _)| id.clone());
    Ok(Reply::Next(Box::new(NextTask { session, task, taken, workspace, claim, renewed })))
}

/// The answer if the caller has a workspace of the run in hand, or gets one from its pool. None if it
/// is to be given an open task.
fn of_run(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Next,
    session: Option<&WorkspaceId>,
) -> Result<Option<Reply>, DecisionError> {
    let Principal::Agent(agent) = &caller.principal else { return Ok(None) };
    if !pool::is_open(tx.state()) {
        return Ok(None);
    }
    if let Some(id) = pool::in_hand(tx.state(), agent).cloned() {
        let plan = tx.state().workspaces.get(&id).and_then(|known| known.charter.task.clone());
        let plan = plan.and_then(|task| tx.state().task_record(&task)).map(|plan| plan.id);
        return Ok(plan.map(|plan| given(tx.state(), session, (plan, false), &id)));
    }
    let ready = |tx: &Transaction<'_>| {
        let now = tx.now();
        let has = current(tx.state(), now, &caller.principal).next().is_some();
        args.task.is_some() || has || !ready(tx.state(), now, &caller.principal).is_empty()
    };
    match pool::take(tx, caller, agent, args)? {
        Taken::Task(task, id) => Ok(Some(given(tx.state(), session, (task, true), &id))),
        Taken::Waits(gate) => tx.gate_reply(&gate).map(Some),
        Taken::Nothing(_) if ready(tx) => Ok(None),
        Taken::Nothing(reasons) if reasons.is_empty() => Ok(None),
        Taken::Nothing(reasons) => {
            let message = format!("no task is ready for {agent}: {}", reasons.join("; "));
            Err(Refusal::denied(Rule::NextReady, message).into())
        }
    }
}

fn given(
    state: &State,
    session: Option<&WorkspaceId>,
    (task, taken): (RecordId, bool),
    id: &WorkspaceId,
) -> Reply {
    let held = state.leases_in(id).into_iter().next();
    let held = held.and_then(|id| state.leases.get(&id).map(|lease| LeaseView::of(&id, lease)));
    let (session, workspace, renewed) = (session.cloned(), Some(id.clone()), Vec::new());
    Reply::Next(Box::new(NextTask { session, task, taken, workspace, claim: held, renewed }))
}

/// The task that is meant, and whether it is still to be taken; or a refusal.
fn meant(
    state: &State,
    now: Timestamp,
    who: &Principal,
    named: Option<RecordId>,
) -> Result<(RecordId, bool), Refusal> {
    let Some(task) = named else {
        return match current(state, now, who).next() {
            Some(own) => Ok((own.id, false)),
            None => choose(state, now, who).map(|task| (task, true)),
        };
    };
    let own = state.memory.get_for(task, who)?;
    if current(state, now, who).any(|current| current.id == task) {
        return Ok((task, false));
    }
    if let Some(taken) = collision(state, now, who, own) {
        return Err(taken);
    }
    match obstacle(state, now, who, own, true) {
        None => Ok((task, true)),
        Some(why) => Err(Refusal::denied(Rule::NextReady, format!("{} {why}", task.label()))),
    }
}

/// The tasks that somebody works on, newest first: in progress, and theirs by name or by a claim.
pub fn current<'s>(
    state: &'s State,
    now: Timestamp,
    who: &Principal,
) -> impl Iterator<Item = &'s Record> + use<'s> {
    let (name, who) = (name_of(who), who.clone());
    let live = state.memory.newest(Kind::Plan, Some(true));
    live.filter(move |plan| {
        let named = name.is_some() && plan.fields.assignee == name;
        let held = |lease: &Lease| lease.holder == who && lease.is_live(now);
        let worker = || state.live_attempt(plan).and_then(|(_, known)| known.agent.as_ref());
        let is_trying = || worker().is_some_and(|agent| who == Principal::Agent(agent.clone()));
        let is_taken = named || holders(state, plan).any(held) || is_trying();
        is_taken && state.status_of(plan) == Status::InProgress
    })
}

/// The tasks that somebody could take now, in the order in which they would get them.
pub fn ready<'s>(state: &'s State, now: Timestamp, who: &Principal) -> Vec<&'s Record> {
    let open = state.memory.newest(Kind::Plan, Some(true));
    let mut ready: Vec<&Record> =
        open.filter(|plan| waits_for(state, now, who, plan).is_none()).collect();
    let name = name_of(who);
    let is_own = |plan: &Record| name.is_some() && plan.fields.assignee == name;
    ready.sort_by_key(|plan| {
        (!is_own(plan), std::cmp::Reverse(plan.fields.priority), plan.created_seq)
    });
    ready
}

/// The task that somebody would get now from `work.next`: one they have, one of the run's pool, or an
/// open one. None if they would be refused.
pub fn would_get(state: &State, now: Timestamp, who: &Principal, asked: &Next) -> Option<RecordId> {
    if let Principal::Agent(agent) = who {
        let own = pool::in_hand(state, agent).and_then(|id| state.workspaces.get(id));
        let own = own.and_then(|known| state.task_record(known.charter.task.as_ref()?));
        let given = own.map(|plan| plan.id).or_else(|| pool::would_get(state, agent, asked));
        if given.is_some() {
            return given;
        }
    }
    meant(state, now, who, asked.task).map(|(task, _)| task).ok()
}

/// The reason why somebody cannot take a task now, as the end of a sentence about the task. None
/// if they can.
pub fn waits_for(state: &State, now: Timestamp, who: &Principal, plan: &Record) -> Option<String> {
    let held = || collision(state, now, who, plan).map(|refusal| refusal.message);
    obstacle(state, now, who, plan, false).or_else(held)
}

fn choose(state: &State, now: Timestamp, who: &Principal) -> Result<RecordId, Refusal> {
    if let Some(first) = ready(state, now, who).first() {
        return Ok(first.id);
    }
    let live = state.memory.newest(Kind::Plan, Some(true));
    let mut reasons: Vec<String> = live
        .filter_map(|plan| {
            let why = waits_for(state, now, who, plan)?;
            Some(format!("{} {why}", plan.id.label()))
        })
        .collect();
    let others = reasons.len().saturating_sub(NAMED_MAX);
    reasons.truncate(NAMED_MAX);
    if others > 0 {
        reasons.push(format!("and {others} more"));
    }
    let message = if reasons.is_empty() {
        "there is no open task".to_owned()
    } else {
        format!("no task is ready for {who}: {}", reasons.join("; "))
    };
    Err(Refusal::denied(Rule::NextReady, message))
}

/// The reason why somebody cannot take a task, apart from its files. A task that was `named` may
/// be blocked, or somebody's who has left it.
fn obstacle(
    state: &State,
    now: Timestamp,
    who: &Principal,
    plan: &Record,
    named: bool,
) -> Option<String> {
    let other = |lease: &&Lease| lease.holder != *who && lease.is_live(now);
    if let Some(lease) = holders(state, plan).find(other) {
        return Some(format!("is worked on by {}", lease.holder));
    }
    let status = state.status_of(plan);
    if status == Status::Blocked && !named {
        return Some(format!("is blocked{}", blocked_by(state, plan)));
    }
    if let Some(given) = given_to_another(state, who, plan) {
        return Some(given);
    }
    if !named && let Some(agent) = busy_with(state, plan) {
        return Some(format!("is worked on by {agent}"));
    }
    let assignee = plan.fields.assignee.as_ref();
    let is_left = || assignee.is_none_or(|name| is_gone(state, name));
    let is_others = assignee.is_some() && assignee.cloned() != name_of(who);
    let whose = assignee.map_or("somebody", Label::as_str);
    match status {
        Status::Open if is_others => return Some(format!("is for {whose}")),
        Status::InProgress if !is_left() || (assignee.is_none() && !named) => {
            return Some(format!("is worked on by {whose}"));
        }
        Status::Blocked if is_others && !is_left() => return Some(format!("is for {whose}")),
        Status::Open | Status::InProgress | Status::Blocked => {}
        over => return Some(format!("is {over}")),
    }
    let unmet = plan.fields.depends_on.iter().filter_map(|id| unmet(state, *id));
    let unmet: Vec<String> = unmet.collect();
    if !unmet.is_empty() {
        return Some(format!("waits for {}", unmet.join(", ")));
    }
    let step = Move::plain(plan.id, Status::InProgress);
    let refusal = if plan.word() == Status::InProgress {
        governed::leaves_alone(state, plan).err()
    } else {
        transition::plan(state, who, &step).err()
    };
    refusal.map(|refusal| format!("cannot be taken: {}", refusal.message))
}

/// The reason why a blocked task cannot go on, as the end of a sentence.
fn blocked_by(state: &State, plan: &Record) -> String {
    let attempt = state.memory.at_work_on(plan.id).find_map(|id| state.memory.record(id));
    let reason = attempt.and_then(|own| own.fields.resolved_reason.as_ref());
    let why = reason.or(plan.fields.resolved_reason.as_ref());
    why.map_or_else(String::new, |why| format!(": {}", why.as_str()))
}

/// A task that has to be done first and is not, with its state and who has it.
fn unmet(state: &State, id: RecordId) -> Option<String> {
    let plan = state.memory.record(id)?;
    if plan.status == Status::Done {
        return None;
    }
    let shown = state.shown(plan);
    let whose = shown.fields.assignee.as_ref();
    let whose = whose.map_or_else(String::new, |name| format!(", {}", name.as_str()));
    Some(format!("{} ({}{whose})", id.label(), shown.status))
}

/// Whether an assignee has no open session, so that nobody works on it any more.
fn is_gone(state: &State, name: &Label) -> bool {
    let is_person = name.as_str().contains(':');
    let is_here = state.sessions.values().any(|session| session.agent.as_str() == name.as_str());
    !is_person && !is_here
}

/// The agent whose attempt at a task goes on.
fn busy_with<'s>(state: &'s State, plan: &Record) -> Option<&'s AgentName> {
    let (_, attempt) = state.live_attempt(plan)?;
    attempt.agent.as_ref().filter(|_| attempt.status == workspace::Status::Active)
}

/// The open assignment of a task to somebody else, if there is one.
fn given_to_another(state: &State, who: &Principal, plan: &Record) -> Option<String> {
    let given = state.memory.at_work_on(plan.id).filter_map(|id| state.memory.record(id));
    let mut others = given.filter(|given| !given.is_for(who));
    let other = others.next()?;
    let agent = other.agent().map(ToString::to_string).unwrap_or_default();
    Some(format!("is assigned to {agent} ({})", other.id.label()))
}

/// The refusal because somebody else holds what a task is about.
fn collision(state: &State, now: Timestamp, who: &Principal, plan: &Record) -> Option<Refusal> {
    let wanted = surfaces_of(plan)?;
    let taken = collisions(state, now, wanted.as_slice(), Some(who));
    let first = taken.first()?;
    let message = format!("needs {}, which {} holds", first.wanted, first.holder);
    Some(Refusal::collision(message, Details::Collisions(taken)))
}

/// The surfaces a task is about: its scope if that names paths, else its related paths.
pub fn surfaces_of(plan: &Record) -> Option<Surfaces> {
    let read = |list: Vec<&str>| {
        let list: Result<Vec<Surface>, _> = list.into_iter().map(Surface::new).collect();
        list.ok().and_then(|list| Surfaces::new(list).ok())
    };
    let scope = plan.fields.scope.as_ref().and_then(|scope| read(split_scope(scope.as_str())));
    scope.or_else(|| read(plan.fields.related_paths.iter().map(Text::as_str).collect()))
}

fn holders<'s>(state: &'s State, plan: &Record) -> impl Iterator<Item = &'s Lease> + use<'s> {
    state.leases_for(&plan.id.to_string()).map(AsRef::as_ref)
}

/// The caller's own assignment for a task, which it takes up or goes on with.
fn assignment_for(state: &State, caller: &Caller, task: RecordId) -> Option<RecordId> {
    let mut given = state.memory.at_work_on(task);
    given.find(|id| {
        let record = state.memory.record(*id);
        record.is_some_and(|own| own.is_for(&caller.principal))
    })
}

/// Takes up an assignment that was offered, or that was blocked.
fn accept(tx: &mut Transaction<'_>, caller: &Caller, own: RecordId) -> Result<(), DecisionError> {
    let steps = [
        (Status::Offered, Status::Accepted),
        (Status::Accepted, Status::Started),
        (Status::Blocked, Status::Started),
    ];
    for (from, to) in steps {
        let given = tx.state().memory.get(own)?;
        if given.status == from {
            transition::decide(tx, caller, &Move::plain(own, to), None)?;
        }
    }
    let plan = tx.state().memory.get(own)?.fields.plan_id;
    let stuck = plan.and_then(|plan| tx.state().memory.record(plan));
    match stuck.filter(|plan| plan.status == Status::Blocked).map(|plan| plan.id) {
        Some(plan) => put_in_hand(tx, caller, plan),
        None => Ok(()),
    }
}

/// Makes a task the caller's. An agent begins an attempt at it, of which the claim is the authority;
/// a person becomes its assignee.
fn take(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    task: RecordId,
    claim: Option<&LeaseView>,
) -> Result<(), DecisionError> {
    let is_open = tx.state().memory.get(task)?.status == Status::Open;
    if let Principal::Agent(agent) = &caller.principal {
        attempt::open::take_up(tx, caller, (agent, task), claim.map(|claim| claim.epoch))?;
        if is_open {
            return Ok(());
        }
    }
    put_in_hand(tx, caller, task)
}

/// Makes the caller the assignee of a task, which is in progress.
fn put_in_hand(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    task: RecordId,
) -> Result<(), DecisionError> {
    let plan = tx.state().memory.get(task)?.clone();
    let name = name_of(&caller.principal);
    if plan.fields.assignee != name {
        let fields = Fields { assignee: name, ..Fields::default() };
        let (clear, expected_version) = (Few::default(), None);
        let (request_id, tags, text) = (None, None, None);
        let update = Update { clear, expected_version, fields, id: task, request_id, tags, text };
        update::decide(tx, caller, &update, None)?;
    }
    let moved = tx.state().memory.get(task)?.status;
    if moved != Status::InProgress {
        transition::decide(tx, caller, &Move::plain(task, Status::InProgress), None)?;
    }
    Ok(())
}

/// The caller's claim for a task: the one it holds, or a new one on what the task is about.
fn claim(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    task: RecordId,
    args: &Next,
) -> Result<Option<LeaseView>, DecisionError> {
    let (state, now) = (tx.state(), tx.now());
    let plan = state.memory.get(task)?.clone();
    let is_own = |lease: &&Lease| lease.holder == caller.principal && lease.is_live(now);
    let held = holders(state, &plan).filter(is_own).max_by_key(|lease| lease.epoch);
    if let Some((id, lease)) = held.and_then(|held| state.lease_of_epoch(held.epoch)) {
        return Ok(Some(LeaseView::of(id, lease)));
    }
    let Some(surfaces) = surfaces_of(&plan) else { return Ok(None) };
    let first_line = plan.text.as_str().lines().next().unwrap_or_default();
    let open = Open {
        purpose: Some(Text::lossy(first_line)),
        replace: false,
        request_id: None,
        reuse: None,
        surfaces,
        task: Some(Text::lossy(&task.to_string())),
        ttl_s: args.ttl_s,
    };
    let (Grant::Opened(id) | Grant::Reused(id)) = lease::grant(tx, caller, &open)? else {
        return Ok(None);
    };
    Ok(tx.state().leases.get(&id).map(|lease| LeaseView::of(&id, lease)))
}
