//! Attempts outside runs: the verbs for records move the assignment, and its workspace follows in
//! the same commit.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::create::{Create, Created as CreatedRecord};
use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::record::{Record, Tags};
use crate::model::knowledge::records::transition::{Move, PlanStatus};
use crate::model::knowledge::records::vocabulary::Status as Word;
use crate::model::runs::signal::{Emit, SignalReply, SignalType};
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{
    IDLE_TIMEOUT_DEFAULT, Initiator, LIVE_MAX, Party, Priority, Status, Trigger, Workspace,
};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::attempt::{standing_root, words};
use crate::rules::knowledge::records::{create, record, transition};
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::abort;
use crate::rules::runs::workspace::change::{self, Change};
use crate::rules::runs::{signal, workspace};
use crate::surfaces::Surface;
use crate::values::id::{IdKind, SignalId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;
use crate::values::token::RoleName;

/// Brings the workspaces of the assignments that changed since the entry `since` to where the
/// assignments are.
pub(crate) fn bring_all(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    since: u64,
) -> Result<(), DecisionError> {
    let changed = tx.state().memory.changed_since(since).map(|record| record.id);
    let changed: Vec<RecordId> = changed.filter(|id| id.kind == Kind::Assignment).collect();
    changed.into_iter().rev().try_for_each(|id| bring(tx, caller, id))
}

fn bring(tx: &mut Transaction<'_>, caller: &Caller, id: RecordId) -> Result<(), DecisionError> {
    let Some(record) = tx.state().memory.records.get(&id).cloned() else { return Ok(()) };
    let known = tx.state().workspace_of(&record).map(|(at, known)| (at.clone(), known.clone()));
    let live = known.filter(|(_, known)| !known.status.is_terminal());
    let Some((at, known)) = live else { return begin_again(tx, caller, &record) };
    if !tx.state().is_open_attempt(&known) || words(&known).contains(&record.status) {
        return Ok(());
    }
    follow(tx, caller, &record, &at, &known)
}

/// Creates a workspace for an assignment that is offered, or that is taken up again after its last
/// attempt ended.
fn begin_again(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    record: &Record,
) -> Result<(), DecisionError> {
    let goes_on = matches!(record.status, Word::Accepted | Word::Started | Word::Blocked);
    let tried = record.fields.workspace.is_some();
    // What somebody took up by itself begins as started.
    let is_new = record.version == 1;
    if record.status != Word::Offered && !(goes_on && (tried || is_new)) {
        return Ok(());
    }
    begin(tx, caller, record)?;
    bring(tx, caller, record.id)
}

/// Begins an attempt of the caller at an open task that nobody gave it.
pub(crate) fn take_up(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    (agent, task): (&AgentName, RecordId),
    claim: Option<u64>,
) -> Result<(), DecisionError> {
    let text = tx.state().memory.get(task)?.text.clone();
    let fields = Fields {
        agent: Some(agent.clone()),
        claim,
        max_retries: Some(0),
        plan_id: Some(task),
        ..Fields::default()
    };
    let create = Create {
        fields,
        kind: Kind::Assignment,
        provenance: None,
        request_id: None,
        status: None,
        tags: Tags::default(),
        text,
    };
    let made = create::plan(tx.state(), &caller.principal, &create)?;
    let session = create::session_of(tx, caller)?;
    let made = CreatedRecord { session, status: Word::Started, ..made };
    record(tx, caller, Event::MemoryCreated(Box::new(made))).map(drop)
}

/// Moves a workspace to where its assignment is.
fn follow(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    record: &Record,
    at: &WorkspaceId,
    known: &Workspace,
) -> Result<(), DecisionError> {
    let by = By { caller, record, at };
    let is_idle = known.status == Status::Idle;
    match record.status {
        Word::Accepted | Word::Started | Word::Blocked | Word::Completed if is_idle => {
            by.accept(tx)?;
        }
        Word::Started | Word::Completed if known.status == Status::Blocked => by.go_on(tx)?,
        _ => {}
    }
    match record.status {
        Word::Started => by.start(tx),
        Word::Blocked => {
            by.start(tx)?;
            by.change(tx, SignalType::Blocked, (Status::Blocked, Trigger::Blocked))
        }
        Word::Completed => by.complete(tx),
        Word::Failed => {
            by.say(tx, SignalType::Failed)?;
            Ok(change::fail(tx, at, by.step(Status::Failed, Trigger::Failed))?)
        }
        Word::Expired | Word::TimedOut => {
            Ok(change::fail(tx, at, Change::of_runtime(Status::Failed, Trigger::Timeout))?)
        }
        Word::Cancelled | Word::Rerouted => {
            let initiator = workspace::initiator(&caller.principal);
            let reason = record.fields.resolved_reason.clone();
            Ok(change::fail(tx, at, abort::aborted(initiator, reason, Actor::Protocol))?)
        }
        _ => Ok(()),
    }
}

/// Who moves which attempt.
struct By<'a> {
    caller: &'a Caller,
    record: &'a Record,
    at: &'a WorkspaceId,
}

impl By<'_> {
    /// The actor of a signal: its agent, or the runtime if somebody acts in the agent's place.
    fn actor(&self) -> Actor {
        let is_own = self.record.is_for(&self.caller.principal);
        if is_own { self.caller.principal.clone().into() } else { Actor::Protocol }
    }

    fn reason(&self) -> Option<Text<1000>> {
        self.record.fields.resolved_reason.clone()
    }

    fn step(&self, to: Status, trigger: Trigger) -> Change {
        let (initiator, actor) = (Initiator::Agent, Actor::Protocol);
        Change { to, trigger, initiator, reason: self.reason(), actor }
    }

    fn say(&self, tx: &mut Transaction<'_>, signal: SignalType) -> Result<(), DecisionError> {
        let reason = self.reason().filter(|_| signal.needs_reason());
        let saying = SignalContent { signal, reason, about: None };
        signal::emit_to(tx, self.at, None, saying, self.actor())?;
        Ok(())
    }

    fn change(
        &self,
        tx: &mut Transaction<'_>,
        signal: SignalType,
        (to, trigger): (Status, Trigger),
    ) -> Result<(), DecisionError> {
        self.say(tx, signal)?;
        Ok(change::take(tx, self.at, self.step(to, trigger))?)
    }

    /// The offer is its mail: taking it makes the workspace active.
    fn accept(&self, tx: &mut Transaction<'_>) -> Result<(), DecisionError> {
        self.say(tx, SignalType::Ready)?;
        let step = Change::of_runtime(Status::Active, Trigger::FirstEnvelope);
        Ok(change::take(tx, self.at, step)?)
    }

    fn go_on(&self, tx: &mut Transaction<'_>) -> Result<(), DecisionError> {
        self.change(tx, SignalType::Started, (Status::Active, Trigger::Started))
    }

    fn start(&self, tx: &mut Transaction<'_>) -> Result<(), DecisionError> {
        let started = tx.state().workspaces.get(self.at).is_some_and(|known| known.started);
        if started { Ok(()) } else { self.say(tx, SignalType::Started) }
    }

    /// Completes the attempt. The system merges at once what has nothing to merge; a final checkpoint
    /// waits for whoever dispatched the work.
    fn complete(&self, tx: &mut Transaction<'_>) -> Result<(), DecisionError> {
        self.start(tx)?;
        self.change(tx, SignalType::Complete, (Status::Integrating, Trigger::Complete))?;
        let known = workspace::get(tx.state(), self.at)?;
        if known.latest_final.is_some() {
            return Ok(());
        }
        let (to, trigger) = (Status::Closed, Trigger::Merged);
        let (initiator, actor) = (Initiator::Coordinator, Actor::Protocol);
        let reason = Some(Text::lossy("there is nothing to merge"));
        Ok(change::take(tx, self.at, Change { to, trigger, initiator, reason, actor })?)
    }
}

/// Ends what agents took up by themselves in sessions that the entries from `first` on closed. Work
/// that somebody else gave them waits for them, up to its own time-outs.
pub(crate) fn abandon(tx: &mut Transaction<'_>, first: usize) -> Result<(), ApplyError> {
    let made = tx.entries().get(first..).unwrap_or_default();
    let closed: Vec<(AgentName, WorkspaceId)> = made
        .iter()
        .filter_map(|entry| match &entry.draft.event {
            Event::SessionClosed(over) => Some((over.agent.clone(), over.workspace.clone())),
            _ => None,
        })
        .collect();
    for (agent, session) in closed {
        let bound: Vec<WorkspaceId> = tx.state().bound_to(&agent).cloned().collect();
        for at in bound {
            let own = tx.state().assignment_of(&at);
            // What was completed waits to be merged.
            let goes_on = |own: &Record| own.is_own_work() && own.worked_on().is_some();
            let left =
                own.is_some_and(|own| goes_on(own) && own.session.as_ref() == Some(&session));
            if left {
                let reason = Some(Text::lossy("the session of its agent ended"));
                let step = Change::of_runtime(Status::Failed, Trigger::Timeout);
                change::fail(tx, &at, Change { reason, ..step })?;
            }
        }
    }
    Ok(())
}

/// Creates the workspace of an assignment that is offered.
fn begin(tx: &mut Transaction<'_>, caller: &Caller, record: &Record) -> Result<(), DecisionError> {
    if tx.state().live_outside >= LIVE_MAX {
        let message = format!("there are already {LIVE_MAX} live attempts outside runs");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let root = stand(tx)?;
    let authority = record.fields.covers.as_ref().map(|cover| cover.surfaces.as_slice().to_vec());
    let plan = record.fields.plan_id.and_then(|id| tx.state().memory.record(id));
    let task = plan.map(Record::task_id);
    let id: WorkspaceId = tx.mint(IdKind::Workspace).into();
    let party = match &caller.principal {
        Principal::User(user) => Party::User(user.clone()),
        Principal::Agent(_) | Principal::System => Party::System,
    };
    let created = Created {
        agent: record.fields.agent.clone(),
        assignment: Some(record.id),
        authority_set: authority.unwrap_or_else(everything),
        originator: party.clone(),
        owner: party,
        parent: Some(root),
        role: RoleName::worker(),
        task_ref: task,
        ..outside_runs(&id)
    };
    Ok(tx.begin_in(&id, Actor::Protocol, Event::WorkspaceCreated(created))?)
}

/// The standing root, which is recorded with the first attempt below it.
fn stand(tx: &mut Transaction<'_>) -> Result<WorkspaceId, ApplyError> {
    let root = standing_root(tx.state())?;
    if !tx.state().workspaces.contains_key(&root) {
        let created = outside_runs(&root);
        tx.begin_in(&root, Actor::Protocol, Event::WorkspaceCreated(created))?;
    }
    Ok(root)
}

fn everything() -> Vec<Surface> {
    Surface::new(".").map(|all| vec![all]).unwrap_or_default()
}

/// The terms of a workspace outside runs: no limits of its own. Time-outs are those of the
/// assignment, which a sweep enforces.
fn outside_runs(id: &WorkspaceId) -> Created {
    Created {
        agent: None,
        assignment: None,
        authority_set: everything(),
        budget: Budget::new(),
        caused_by: None,
        context: None,
        context_bytes: Amount::default(),
        delegate: false,
        directive: None,
        global_trail: false,
        group: None,
        idle_timeout_s: IDLE_TIMEOUT_DEFAULT,
        liveness_interval_s: None,
        mounts: Vec::new(),
        originator: Party::System,
        owner: Party::System,
        parent: None,
        priority: Priority::Normal,
        role: RoleName::coordinator(),
        run: None,
        task_ref: None,
        timeout_s: None,
        visibility_set: Vec::new(),
        warn_at_percent: None,
        workspace_id: id.clone(),
    }
}

/// The steps of an assignment that a signal of its agent means, and what becomes of its plan.
fn meaning(signal: SignalType, now: Word) -> (&'static [Word], Option<PlanStatus>) {
    let at_work = matches!(now, Word::Accepted | Word::Started);
    match signal {
        SignalType::Ready => (&[Word::Accepted], None),
        SignalType::Started => (&[Word::Accepted, Word::Started], None),
        SignalType::Blocked if at_work => {
            (&[Word::Started, Word::Blocked], Some(PlanStatus::Blocked))
        }
        SignalType::Complete if at_work => {
            (&[Word::Started, Word::Completed], Some(PlanStatus::Done))
        }
        SignalType::Failed if now == Word::Accepted => (&[Word::Started, Word::Failed], None),
        SignalType::Failed => (&[Word::Failed], None),
        _ => (&[], None),
    }
}

/// Carries out a signal from an attempt outside runs: the assignment makes the steps it means. A
/// signal that means none is recorded and changes nothing.
pub(crate) fn signalled(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    from: &WorkspaceId,
    emit: &Emit,
) -> Result<Reply, DecisionError> {
    signal::may_emit(tx.state(), from, emit)?;
    let before = tx.entries().len();
    if let Some(own) = tx.state().assignment_of(from).cloned() {
        let (steps, plan_status) = meaning(emit.signal, own.status);
        for to in steps {
            let is_last = Some(to) == steps.last();
            let plan_status = plan_status.filter(|_| is_last);
            step(tx, caller, own.id, *to, (plan_status, emit.reason.as_ref()))?;
        }
    }
    let emitted = |tx: &Transaction<'_>| -> Option<SignalId> {
        let made = tx.entries().get(before..).unwrap_or_default();
        made.iter().rev().find_map(|entry| match &entry.draft.event {
            Event::SignalEmitted(emitted) if emitted.signal == emit.signal => {
                Some(emitted.signal_id.clone())
            }
            _ => None,
        })
    };
    let effect = emitted(tx).is_some();
    let signal_id = if let Some(id) = emitted(tx) {
        id
    } else {
        let (signal, about) = (emit.signal, emit.about.clone());
        let saying = SignalContent { signal, reason: emit.reason.clone(), about };
        signal::emit_to(tx, from, None, saying, caller.principal.clone().into())?
    };
    let status = workspace::get(tx.state(), from)?.status;
    Ok(Reply::Signal(SignalReply { signal_id, workspace: from.clone(), status, effect }))
}

/// Makes a step of an assignment, if its table has it.
fn step(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    id: RecordId,
    to: Word,
    (plan_status, reason): (Option<PlanStatus>, Option<&Text<1000>>),
) -> Result<(), DecisionError> {
    let own = tx.state().memory.get(id)?;
    if !own.table().has_step(own.status, to) {
        return Ok(());
    }
    let plan_status = plan_status.filter(|_| own.fields.plan_id.is_some());
    let step = Move { plan_status, reason: reason.cloned(), ..Move::plain(id, to) };
    transition::decide(tx, caller, &step, None).map(drop)
}

/// Cancels an attempt outside runs, or gives it to another agent. Returns the id of the workspace
/// that holds the work now.
pub(crate) fn moved(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    at: &WorkspaceId,
    step: impl FnOnce(RecordId) -> Move,
) -> Result<WorkspaceId, DecisionError> {
    let Some(id) = tx.state().assignment_of(at).map(|own| own.id) else {
        let status = workspace::get(tx.state(), at)?.status;
        return Err(abort::ended(at, status).into());
    };
    transition::decide(tx, caller, &step(id), None)?;
    let own = tx.state().memory.get(id)?;
    let next = own.fields.superseded_by.and_then(|id| tx.state().memory.record(id));
    let next = next.and_then(|next| next.fields.workspace.clone());
    Ok(next.unwrap_or_else(|| at.clone()))
}
