//! Results of `coordinate`, `dispatch`, `loop`, `sweep` and `harvest`, for people to read.

use althing_dialects::memory::words::counted;
use althing_services::memory::Verb;
use serde_json::{Value, json};

use super::get::{ARTIFACT, TURN, columns};
use super::page::{Column, list, section, text};
use super::words::Sheet;
use crate::app::App;
use crate::error::Error;

const ASKED: [Column; 4] = [("ID", "id"), ("FROM", "from"), ("TO", "to"), ("TEXT", "text")];
const LOOP: [Column; 5] = [
    ("ID", "id"),
    ("STATUS", "status"),
    ("PHASE", "phase"),
    ("ROUND", "iteration"),
    ("TEXT", "text"),
];
const MOVED: [Column; 4] = [("ASSIGNMENT", "id"), ("FROM", "from"), ("TO", "to"), ("WHY", "why")];

/// Shows what there is now, what was left out, and what to run.
pub(super) fn show(app: &App, verb: Verb, typed: Sheet, answer: &Value) -> Result<(), Error> {
    let result = &answer["result"];
    // As it is typed.
    let intent = text(answer, "intent").replace('_', "-");
    app.out.line(format!("{intent}: {}", text(answer, "status")))?;
    for warning in list(answer, "warnings") {
        let words = typed.readable(warning.as_str().unwrap_or_default());
        app.out.note(format!("warning: {words}"));
    }
    match verb {
        Verb::Coordinate => coordinated(app, result)?,
        Verb::Dispatch => dispatched(app, result)?,
        Verb::Loop => round(app, answer)?,
        Verb::Sweep => swept(app, result)?,
        _ => harvested(app, result)?,
    }
    section(app, "Left out", &left_out(result), &LEFT_OUT)?;
    for command in list(result, "commands") {
        app.out.line(format!("\nto be run by {}:", text(command, "agent")))?;
        app.out.line(format!("  {}", text(command, "command")))?;
    }
    Ok(())
}

const LEFT_OUT: [Column; 4] =
    [("ABOUT", "about"), ("AGENT", "agent"), ("CODE", "code"), ("WHY", "why")];

/// Prints what was not done and why.
fn left_out(result: &Value) -> Vec<Value> {
    let row = |own: &Value| {
        let about = [&own["plan_id"], &own["assignment_id"]];
        let about = about.into_iter().find(|id| id.is_string()).cloned();
        // Some name a code for a reason, and the reason beside it.
        let why = own["data"]["reason"].as_str().or(own["reason"].as_str());
        json!({
            "about": about, "agent": own["agent"], "code": own["code"], "why": why,
        })
    };
    list(result, "skipped").iter().map(row).collect()
}

/// Ids of what belongs to an answer, a line each.
fn ids(app: &App, result: &Value, names: &[(&str, &str)]) -> Result<(), Error> {
    for (title, name) in names.iter().filter(|(_, name)| result[*name].is_string()) {
        app.out.line(format!("{title}: {}", text(result, name)))?;
    }
    Ok(())
}

fn coordinated(app: &App, result: &Value) -> Result<(), Error> {
    let names = [
        ("candidate", "candidate_id"),
        ("loop", "loop_id"),
        ("thread", "thread_id"),
        ("rerouted", "rerouted"),
    ];
    ids(app, result, &names)?;
    if let Some(counts) = result["assignments"].as_object() {
        let words: Vec<String> = counts.iter().map(|(state, n)| format!("{n} {state}")).collect();
        let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        app.out.line(format!("assignments: {words}"))?;
        let number = |name: &str| text(result, name);
        app.out.line(format!(
            "overdue: {}  messages not acknowledged: {}  open loops: {}",
            number("overdue"),
            number("unacknowledged_messages"),
            number("loops_open")
        ))?;
    }
    sent(app, result)?;
    let open = [("ID", "id"), ("AGENT", "agent"), ("STATUS", "status"), ("TEXT", "text")];
    section(app, "Open", list(result, "open"), &open)
}

fn sent(app: &App, result: &Value) -> Result<(), Error> {
    let lane = [
        ("AGENT", "agent"),
        ("ASSIGNMENT", "assignment_id"),
        ("PLAN", "plan_id"),
        ("CLAIM", "claim_id"),
        ("MESSAGE", "message_id"),
        ("STATE", "execution_status"),
    ];
    section(app, "Sent", list(result, "delivery_plan"), &lane)
}

fn dispatched(app: &App, result: &Value) -> Result<(), Error> {
    let names = [
        ("sequence", "sequence_id"),
        ("handoff", "handoff_id"),
        ("candidate", "candidate_id"),
        ("loop", "loop_id"),
        ("thread", "thread_id"),
    ];
    ids(app, result, &names)?;
    let plan = [
        ("PLAN", "plan_id"),
        ("RANK", "rank"),
        ("LANE", "lane"),
        ("TEXT", "text"),
        ("WHY", "why"),
        ("WAITS FOR", "waits_for"),
        ("BETTER AFTER", "better_after"),
    ];
    if result["ready"].is_array() && list(result, "ready").is_empty() {
        app.out.line("no plan is ready")?;
    }
    for (title, name) in
        [("Ready", "ready"), ("Active", "active"), ("Blocked", "blocked"), ("Done", "done")]
    {
        section(app, title, list(result, name), &plan)?;
    }
    let planned = [("AGENT", "agent"), ("PLAN", "plan_id"), ("SCOPE", "scope")];
    let title = if result["dry_run"] == true { "Would be given out" } else { "Given out" };
    section(app, title, list(result, "planned"), &planned)?;
    sent(app, result)
}

fn round(app: &App, answer: &Value) -> Result<(), Error> {
    let result = &answer["result"];
    if result["loops"].is_array() {
        let loops = list(result, "loops");
        if loops.is_empty() {
            app.out.line("there is no loop; `althing memory loop open` begins one")?;
        }
        return section(app, "Loops", loops, &LOOP);
    }
    let own = &result["loop"];
    section(app, "Loop", std::slice::from_ref(own), &LOOP)?;
    ids(app, own, &[("plan", "plan_id"), ("ends when", "stop_conditions")])?;
    section(app, "Slots", list(own, "slots"), columns("slots").unwrap_or_default())?;
    section(app, "Turns", list(own, "turns"), TURN)?;
    section(app, "Artifacts", list(own, "artifacts"), ARTIFACT)?;
    for effect in list(answer, "side_effects") {
        let [action, entity, id] = ["action", "entity", "id"].map(|name| text(effect, name));
        app.out.line(format!("  {action} {entity} {id}"))?;
    }
    section(app, "Waiting for an answer", list(result, "waiting_for_input"), &ASKED)?;
    let waiting = list(result, "waiting_for");
    if !waiting.is_empty() {
        app.out.line(format!("waiting for: {}", text(result, "waiting_for")))?;
    }
    Ok(())
}

fn swept(app: &App, result: &Value) -> Result<(), Error> {
    let both = |names: [&str; 2]| {
        names.into_iter().flat_map(|name| list(result, name)).cloned().collect::<Vec<Value>>()
    };
    let is_dry = result["dry_run"] == true;
    let rows =
        if is_dry { both(["would_move", "none"]) } else { both(["moved", "converged_items"]) };
    if rows.is_empty() {
        let overdue = result["overdue"].as_u64().unwrap_or(0);
        let line = if overdue == 0 { "nothing is overdue" } else { "nothing is moved" };
        return app.out.line(line);
    }
    section(app, if is_dry { "Would move" } else { "Moved" }, &rows, &MOVED)?;
    if result["more"] == true {
        app.out.note("there is more: run it again");
    }
    Ok(())
}

fn harvested(app: &App, result: &Value) -> Result<(), Error> {
    let [found, kept] = ["harvested", "integrated"].map(|name| list(result, name));
    if found.is_empty() && kept.is_empty() {
        let looked_at = result["looked_at"].as_u64().and_then(|n| usize::try_from(n).ok());
        let looked_at = counted(looked_at.unwrap_or(0), "lane");
        app.out.line(format!("there is no new result ({looked_at} looked at)"))?;
    }
    let report = [
        ("ASSIGNMENT", "assignment_id"),
        ("AGENT", "agent"),
        ("RESULT", "status"),
        ("SUMMARY", "summary"),
        ("VERDICT", "review_verdict"),
        ("FILES", "files_changed"),
    ];
    section(app, "Harvested", found, &report)?;
    let moved = [
        ("ASSIGNMENT", "assignment_id"),
        ("FROM", "from"),
        ("TO", "to"),
        ("COMMIT", "commit"),
        ("FILES", "files"),
        ("WHY", "summary"),
    ];
    section(app, "Integrated", kept, &moved)?;
    let left: Vec<Value> = kept.iter().flat_map(|own| list(own, "left_out")).cloned().collect();
    section(app, "Files that were not committed", &left, &[("PATH", "path"), ("WHY", "why")])?;
    if result["hint"].is_string() {
        app.out.note(text(result, "hint"));
    }
    Ok(())
}
