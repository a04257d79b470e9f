//! `althing memory coordinate`, `dispatch`, `loop`, `sweep`, `harvest`: what they take and show.

use serde_json::{Map, Value, json};

use super::show::{list, section, text};
use super::word;
use crate::app::App;
use crate::cli::{MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop};
use crate::failure::Failure;

/// `NAME=VALUE`
pub(super) fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let wrong = || Failure::usage(format!("{option} {text:?}: two parts with = between"));
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim(), value.trim()))
}

pub(super) fn coordinate(own: &MemoryCoordinate) -> Result<Value, Failure> {
    let mut scopes = Map::new();
    for text in &own.scopes {
        let (agent, scope) = pair("--lane-scope", text)?;
        if scopes.insert(agent.to_owned(), scope.into()).is_some() {
            let message = format!("--lane-scope names {agent} twice; put commas between paths");
            return Err(Failure::usage(message));
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

pub(super) fn rounds(own: &MemoryLoop) -> Result<Value, Failure> {
    let artifact = match &own.artifact {
        Some(text) => {
            let (sort, place) = pair("--artifact", text)?;
            json!({ "type": sort, "ref": place })
        }
        None => Value::Null,
    };
    let slots: Vec<Value> = own.agents.iter().map(|agent| json!({ "agent": agent })).collect();
    Ok(json!({
        "intent": word(&own.intent), "loopId": own.id, "kind": own.kind, "task": own.task, "slots": slots,
        "stop_conditions": own.stop_conditions, "planId": own.plan,
        "allow_orphan": own.allow_orphan, "slot": own.slot, "outcome": own.outcome,
        "phase": own.phase, "artifact": artifact, "status": own.status, "reason": own.reason,
        "expected_version": own.expect_version, "client_request_id": own.request_id,
    }))
}

pub(super) fn harvest(own: &MemoryHarvest) -> Value {
    json!({
        "assignmentId": own.assignment, "integrate": own.integrate,
        "allowOutside": own.allow_outside,
    })
}

/// Shows what became of it, for people to read: what there is now, what was left out, and what
/// to run.
pub(super) fn show(app: &App, answer: &Value) -> Result<(), Failure> {
    let result = &answer["result"];
    app.out.line(format!("{}: {}", text(answer, "intent"), text(answer, "status")))?;
    for warning in list(answer, "warnings") {
        app.out.note(format!("warning: {}", warning.as_str().unwrap_or_default()));
    }
    let lane = [
        ("AGENT", "agent"),
        ("ASSIGNMENT", "assignment_id"),
        ("CLAIM", "claim_id"),
        ("MESSAGE", "message_id"),
        ("STATE", "execution_status"),
    ];
    section(app, "Sent", list(result, "delivery_plan"), &lane)?;
    let plan = [("PLAN", "plan_id"), ("RANK", "rank"), ("TEXT", "text"), ("WHY", "why")];
    for (title, name) in
        [("Ready", "ready"), ("Active", "active"), ("Blocked", "blocked"), ("Done", "done")]
    {
        section(app, title, list(result, name), &plan)?;
    }
    let planned = [("AGENT", "agent"), ("PLAN", "plan_id"), ("SCOPE", "scope")];
    section(app, "Planned", list(result, "planned"), &planned)?;
    let open = [("ID", "id"), ("AGENT", "agent"), ("STATUS", "status"), ("TEXT", "text")];
    section(app, "Open", list(result, "open"), &open)?;
    let of_loop = [("ID", "id"), ("STATUS", "status"), ("PHASE", "phase"), ("TEXT", "text")];
    section(app, "Loops", list(result, "loops"), &of_loop)?;
    if result["loop"].is_object() {
        section(app, "Loop", std::slice::from_ref(&result["loop"]), &of_loop)?;
        let slot = [("SLOT", "id"), ("AGENT", "agent"), ("DONE", "done"), ("OUTCOME", "outcome")];
        section(app, "Slots", list(&result["loop"], "slots"), &slot)?;
        let turn =
            [("PHASE", "phase"), ("SLOT", "slot"), ("AGENT", "agent"), ("OUTCOME", "outcome")];
        section(app, "Turns", list(&result["loop"], "turns"), &turn)?;
    }
    let moved = [("ASSIGNMENT", "id"), ("FROM", "from"), ("TO", "to")];
    section(app, "Moved", list(result, "moved"), &moved)?;
    let found = [("ASSIGNMENT", "assignment_id"), ("STATUS", "status"), ("SUMMARY", "summary")];
    section(app, "Harvested", list(result, "harvested"), &found)?;
    let kept = [found[0], found[1], ("COMMIT", "commit"), found[2]];
    section(app, "Integrated", list(result, "integrated"), &kept)?;
    let skipped =
        [("AGENT", "agent"), ("ABOUT", "assignment_id"), ("CODE", "code"), ("WHY", "reason")];
    section(app, "Left out", list(result, "skipped"), &skipped)?;
    for command in list(result, "commands") {
        app.out.line(format!("\nto be run by {}:", text(command, "agent")))?;
        app.out.line(format!("  {}", text(command, "command")))?;
    }
    Ok(())
}
