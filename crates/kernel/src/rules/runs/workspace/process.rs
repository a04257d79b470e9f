//! Processes of agents in workspaces, as far as the trail knows them.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::{abort, meter};
use crate::values::principal::Caller;

pub use crate::model::runs::workspace::process::*;

pub(crate) fn decide_report(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    report: &Report,
) -> Result<Reply, DecisionError> {
    let id = &report.workspace;
    let known = workspace::get(tx.state(), id)?;
    if !meter::may_report(tx.state(), caller, id) {
        let message = format!("{} may not report processes of workspace {id}", caller.principal);
        return Err(Refusal::denied(Rule::ProcessReport, message).into());
    }
    let runs = known.process.as_ref().is_some_and(|process| process.ended.is_none());
    let event = match report.ended {
        // A process may outlive its workspace by the moment it takes to end it.
        Some(outcome) if runs => Event::ProcessEnded(Ended {
            exit_code: report.exit_code,
            outcome,
            program: report.program.clone(),
            reason: report.reason.clone(),
            session: report.session.clone(),
            until: report.until,
            wall_time: report.wall_time,
            workspace_id: id.clone(),
        }),
        None if known.status.is_terminal() => return Err(abort::ended(id, known.status).into()),
        None if !runs => Event::ProcessStarted(Started {
            program: report.program.clone(),
            session: report.session.clone(),
            workspace_id: id.clone(),
        }),
        Some(_) => return Err(unfit("no process runs in").into()),
        None => return Err(unfit("a process already runs in").into()),
    };
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    tx.workspace_reply(id)
}

fn unfit(what: &str) -> Refusal {
    Refusal::denied(Rule::ProcessReport, format!("{what} that workspace"))
}

pub(crate) fn apply_started(
    state: &mut State,
    entry: &Stamped,
    body: &Started,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&body.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let before = known.process.clone();
    if before.as_ref().is_some_and(|process| process.ended.is_none()) {
        return Err(ApplyError::Twice("a process's start"));
    }
    let started = before.as_ref().map_or(0, |before| before.started) + 1;
    let session = body.session.clone().or_else(|| before.and_then(|before| before.session));
    let program = body.program.clone();
    let process = Process { program, session, started, since: entry.at, ended: None };
    Arc::make_mut(known).process = Some(process);
    Ok(())
}

pub(crate) fn apply_ended(state: &mut State, body: &Ended) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&body.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let process = Arc::make_mut(known).process.as_mut();
    let process = process.filter(|process| process.ended.is_none());
    let process = process.ok_or(ApplyError::Unknown("the process"))?;
    process.ended = Some(body.outcome);
    if body.session.is_some() {
        process.session.clone_from(&body.session);
    }
    Ok(())
}
