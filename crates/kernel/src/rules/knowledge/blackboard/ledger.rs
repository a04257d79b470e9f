//! The token ledger: the cost of messages, by principal and purpose, compared with baselines.
//!
//! The trail has every line; the state has sums. A line either names the tokenizer that counted it,
//! or is an estimate of the caller, and the sums keep the two apart.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::BlackboardState;
use crate::model::knowledge::blackboard::view::{BaselineView, BlackboardReply, SumView};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::knowledge::blackboard::{record, room};
use crate::values::label::Label;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::time::JSON_INTEGER_MAX;

pub use crate::model::knowledge::blackboard::ledger::*;

fn count(sums: &mut Sums, name: Option<&Label>, line: Line) {
    let Some(name) = name else { return };
    if let Some(sum) = sums.get_mut(name) {
        return sum.add(line);
    }
    let other = || Label::new(OTHER).unwrap_or_else(|_| name.clone());
    let name = if sums.len() < NAMES_MAX { name.clone() } else { other() };
    let mut sum = sums.get(&name).copied().unwrap_or_default();
    sum.add(line);
    sums.insert(name, sum);
}

pub(crate) fn decide_log(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Log,
) -> Result<Reply, DecisionError> {
    let line = Line::of(args);
    if line.tokens > LINE_TOKENS_MAX || line.messages > LINE_MESSAGES_MAX.into() {
        let message = format!(
            "a line of the ledger has at most {LINE_TOKENS_MAX} tokens and {LINE_MESSAGES_MAX} \
             messages"
        );
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    // No other sum exceeds the total.
    if !tx.state().blackboard.ledger.all.takes(line) {
        let message = format!("with these the ledger's sum would be over {JSON_INTEGER_MAX}");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    record(tx, caller, Event::LedgerLogged(args.clone()))?;
    let sum = tx.state().blackboard.ledger.roles.get(&args.role).copied().unwrap_or_default();
    Ok(BlackboardReply::Sum(SumView::of(&args.role, sum)).into())
}

pub(crate) fn decide_baseline(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Baseline,
) -> Result<Reply, DecisionError> {
    if args.tokens.get() == 0 {
        let message = "a baseline must be above 0 tokens";
        return Err(Refusal::denied(Rule::SaySomething, message.to_owned()).into());
    }
    check(&tx.state().blackboard, args)?;
    record(tx, caller, Event::LedgerBaselined(args.clone()))?;
    let view = BaselineView { role: args.role.clone(), tokens: args.tokens.get() };
    Ok(BlackboardReply::Baseline(view).into())
}

/// Checks the limit on the number of baselines.
pub(crate) fn check(blackboard: &BlackboardState, args: &Baseline) -> Result<(), Refusal> {
    let known = &blackboard.ledger.baselines;
    if known.contains_key(&args.role) {
        return Ok(());
    }
    room(known.len(), BASELINES_MAX, "baselines", "give one of those roles a new one")
}

pub(crate) fn apply_logged(state: &mut State, entry: &Stamped, body: &Log) {
    let own = match &entry.draft.actor {
        Actor::Principal(Principal::Agent(name)) => Label::new(name.as_str()).ok(),
        Actor::Principal(other) => Label::new(&other.to_string()).ok(),
        Actor::Protocol => None,
    };
    let line = Line::of(body);
    // A count attributed to another agent is not trusted for that agent's sum.
    let is_own = body.agent.is_none() || body.agent == own;
    let of_agent = Line { counted: line.counted && is_own, ..line };
    let ledger = &mut state.blackboard.ledger;
    count(&mut ledger.roles, Some(&body.role), line);
    count(&mut ledger.kinds, Some(&body.kind), line);
    count(&mut ledger.agents, body.agent.as_ref().or(own.as_ref()), of_agent);
    count(&mut ledger.tasks, body.task.as_ref(), line);
    count(&mut ledger.tools, body.tool.as_ref(), line);
    ledger.all.add(line);
}

pub(crate) fn apply_baselined(state: &mut State, body: &Baseline) {
    state.blackboard.ledger.baselines.insert(body.role.clone(), body.tokens.get());
}
