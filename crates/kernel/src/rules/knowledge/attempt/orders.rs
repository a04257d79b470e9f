//! The verbs for records about attempts that a run governs: each is the signal or the order that
//! moves the workspace.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::transition::Move;
use crate::model::knowledge::records::view::{self, MemoryReply};
use crate::model::knowledge::records::vocabulary::{Action, Status as Word};
use crate::model::runs::approvals::GateType;
use crate::model::runs::signal::{Emit, SignalType};
use crate::model::runs::workspace::abort::Abort;
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::create::Create;
use crate::model::runs::workspace::migrate::Migrate;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{assign, transition};
use crate::rules::runs::approvals::gate;
use crate::rules::runs::signal;
use crate::rules::runs::workspace::create::Made;
use crate::rules::runs::workspace::{abort, create, migrate};
use crate::surfaces::Surface;
use crate::values::id::{TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::Caller;
use crate::values::text::Text;
use crate::values::token::RoleName;

/// What a state of an assignment means for the workspace.
enum Order {
    /// Its agent says so.
    Signal(SignalType),
    /// The coordinator aborts it.
    Abort,
    /// The coordinator moves it to another agent.
    Migrate(AgentName),
}

/// Moves the assignment of a workspace in a run, by the signal or order that means it.
pub(crate) fn carry_out(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    own: &Record,
    to: Word,
    asked: &Move,
) -> Result<MemoryReply, DecisionError> {
    assign::may_move(tx.state(), &caller.principal, own, to, asked.forced)?;
    let order = meant(own, to, asked)?;
    let comes_back = own.status == Word::Offered && to == Word::Accepted;
    if !comes_back && !own.table().has_step(own.status, to) {
        return Err(transition::no_way(own, to).into());
    }
    let Some(workspace) = own.fields.workspace.clone() else {
        return Err(unmoved(own, to).into());
    };
    let reply = give(tx, caller, workspace, order, asked.reason.clone())?;
    let record = tx.state().memory.get(own.id)?.clone();
    let now = record.status;
    let mut side_effects = Vec::new();
    if let Reply::Gate(gate) = &reply {
        let waits = format!("waits for a person, at gate {}", gate.gate);
        side_effects.push(Effect::new(Action::Unchanged, own.id).to(now).saying(&waits));
    }
    Ok(MemoryReply::Moved(view::Moved {
        record: Some(record),
        from: Some(own.status),
        to: Some(now),
        changed: now != own.status,
        side_effects,
    }))
}

fn meant(own: &Record, to: Word, asked: &Move) -> Result<Order, Refusal> {
    if asked.forced || asked.let_go {
        return Err(unmoved(own, to));
    }
    Ok(match (to, &asked.agent) {
        (Word::Accepted, _) => Order::Signal(SignalType::Ready),
        (Word::Started, _) => Order::Signal(SignalType::Started),
        (Word::Blocked, _) => Order::Signal(SignalType::Blocked),
        (Word::Completed, _) => Order::Signal(SignalType::Complete),
        (Word::Failed, _) => Order::Signal(SignalType::Failed),
        (Word::Cancelled, _) => Order::Abort,
        (Word::Rerouted, Some(agent)) => Order::Migrate(agent.clone()),
        _ => return Err(unmoved(own, to)),
    })
}

/// The refusal of a step that only the run itself makes.
pub(crate) fn unmoved(own: &Record, to: Word) -> Refusal {
    let at = own.fields.workspace.as_ref().map(ToString::to_string).unwrap_or_default();
    let message = format!("{} is workspace {at} of a run, which does not become {to} so", own.id);
    Refusal::denied(Rule::AttemptGoverned, message)
}

fn give(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    workspace: WorkspaceId,
    order: Order,
    reason: Option<Text<1000>>,
) -> Result<Reply, DecisionError> {
    match order {
        Order::Signal(signal) => {
            let unsaid = || signal.needs_reason().then(|| Text::lossy("no reason was given"));
            let reason = reason.or_else(unsaid);
            let (about, budget_warning, workspace) = (None, None, Some(workspace));
            let emit = Emit { budget_warning, reason, about, signal, workspace };
            signal::decide_emit(tx, caller, &emit)
        }
        Order::Abort => abort::decide_abort(tx, caller, &Abort { reason, workspace }),
        Order::Migrate(agent) => {
            migrate::decide_migrate(tx, caller, &Migrate { agent, reason, workspace })
        }
    }
}

/// Binds a workspace of the current run to a task, because the coordinator offers it to an agent
/// with the verbs for records.
pub(crate) fn offer(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    (agent, task): (AgentName, TaskId),
    authority: Option<Vec<Surface>>,
) -> Result<WorkspaceId, DecisionError> {
    // A person's approval would come later, and an offer is made now.
    gate::not_around(tx.state(), caller, GateType::WorkspaceCreate)?;
    let create = Create {
        agent,
        authority,
        budget: Budget::new(),
        caused_by: None,
        context: None,
        delegate: false,
        directive: None,
        global_trail: false,
        group: None,
        idle_timeout_s: None,
        liveness_interval_s: None,
        mounts: Vec::new(),
        owner: None,
        parent: None,
        priority: None,
        role: RoleName::worker(),
        task: Some(task),
        timeout_s: None,
        visibility: Vec::new(),
        warn_at_percent: None,
    };
    match create::make(tx, caller, &create, None)? {
        Made::Workspace(id) => Ok(id),
        Made::Waits(_) => {
            let message = "a person approves each workspace of this run";
            Err(Refusal::denied(Rule::GateWaits, message).into())
        }
    }
}
