//! `althing memory coordinate`, `dispatch`, `loop`, `sweep`, `harvest`: what they take.

use althing_dialects::memory::entity;
use althing_dialects::memory::words::labelled;
use althing_kernel::records::Kind;
use serde_json::{Map, Value, json};

use super::word;
use crate::cli::{LoopAct, MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop};
use crate::error::Error;

/// The hint for a missing loop.
const HELP: &str = "`althing memory find loop` shows what there is; `althing memory loop --help` \
                    shows its arguments.";

/// `NAME=VALUE`
pub(super) fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Error> {
    let wrong = || Error::usage(format!("{option} {text:?}: write NAME=VALUE"));
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim(), value.trim()))
}

pub(super) fn coordinate(own: &MemoryCoordinate) -> Result<Value, Error> {
    let mut scopes = Map::new();
    for text in &own.scopes {
        let (agent, scope) = pair("--lane-scope", text)?;
        if scopes.insert(agent.to_owned(), scope.into()).is_some() {
            let message = format!("--lane-scope names {agent} twice; put commas between paths");
            return Err(Error::usage(message));
        }
    }
    let scopes = if scopes.is_empty() { Value::Null } else { Value::Object(scopes) };
    Ok(json!({
        "intent": word(&own.intent), "task": own.task, "targetAgents": own.targets, "scope": own.scope,
        "scopes": scopes, "planId": own.plan, "assignmentId": own.assignment,
        "worktree": own.worktree, "lane": own.lane, "threadId": own.thread,
        "open_loop": own.open_loop, "allow_dirty": own.allow_dirty, "ref": own.reference,
        "client_request_id": own.request_id,
    }))
}

pub(super) fn dispatch(own: &MemoryDispatch) -> Value {
    json!({
        "intent": word(&own.intent), "sequenceId": own.sequence, "agents": own.agents, "lanes": own.lanes,
        "maxAssignments": own.max, "capacity": own.capacity, "dryRun": own.dry_run,
        "allow_dirty": own.allow_dirty, "handoffId": own.handoff, "reviewer": own.reviewer,
        "openLoop": own.open_loop, "client_request_id": own.request_id,
    })
}

pub(super) fn rounds(own: &MemoryLoop) -> Result<Value, Error> {
    let artifact = match &own.artifact {
        Some(text) => {
            let (sort, place) = pair("--artifact", text)?;
            json!({ "type": sort, "ref": place })
        }
        None => Value::Null,
    };
    if let Some(id) = &own.id {
        let known = entity::id(Kind::Loop, id);
        known.map_err(|error| Error::usage(labelled(&error)).hint(HELP.to_owned()))?;
    }
    let takeover = own.intent == LoopAct::Takeover;
    let (slots, to_agent): (Vec<Value>, Option<&String>) = match own.agents.as_slice() {
        [agent] if takeover => (Vec::new(), Some(agent)),
        agents => (agents.iter().map(|agent| json!({ "agent": agent })).collect(), None),
    };
    Ok(json!({
        "to_agent": to_agent, "assignmentId": own.assignment, "verdict": own.verdict,
        "messageId": own.message,
        "intent": word(&own.intent), "loopId": own.id, "kind": own.kind, "task": own.task, "slots": slots,
        "stop_conditions": own.stop_conditions, "planId": own.plan,
        "allow_orphan": own.allow_orphan, "slot": own.slot, "outcome": own.outcome,
        "phase": own.phase, "artifact": artifact, "status": own.status, "reason": own.reason,
        "expected_version": own.expected_version, "client_request_id": own.request_id,
    }))
}

pub(super) fn harvest(own: &MemoryHarvest) -> Value {
    json!({
        "assignmentId": own.assignment, "integrate": own.integrate,
        "allowOutside": own.allow_outside,
    })
}
