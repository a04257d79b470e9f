//! What the verbs answer, for people to read.

use althing_server::memory::Verb;
use serde_json::Value;

use crate::app::App;
use crate::failure::Failure;
use crate::output::Tone;

/// The longest text in a table.
const CELL_CHARS: usize = 80;

/// Shows an answer: as JSON, or in words.
pub(crate) fn answer(app: &App, verb: Verb, answer: &Value) -> Result<(), Failure> {
    if app.out.json {
        return app.out.value(answer);
    }
    match verb {
        Verb::Work => work(app, answer),
        Verb::Context => context(app, answer),
        Verb::Find => found(app, answer),
        Verb::Get => whole(app, &answer["item"]),
        Verb::Create | Verb::Update => written(app, verb, answer),
        Verb::Transition => moved(app, answer),
        Verb::CompleteStep => {
            let (done, total) = (&answer["done"], &answer["total"]);
            app.out.line(format!("{done} of {total} steps of {} done", text(answer, "planId")))?;
            if answer["planAutoCompleted"] == true {
                app.out.line("that was the last one: the plan is done")?;
            }
            effects(app, answer)
        }
        Verb::Coordinate | Verb::Dispatch | Verb::Loop | Verb::Sweep | Verb::Harvest => {
            super::lanes::show(app, answer)
        }
        Verb::Remove => {
            app.out.line(format!("{} is archived; the trail keeps it", text(answer, "id")))?;
            effects(app, answer)
        }
    }
}

/// A field as text; a dash where there is none.
pub(super) fn text(value: &Value, name: &str) -> String {
    match &value[name] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// One line of at most so many characters.
fn cell(value: &Value, name: &str) -> String {
    let line = text(value, name).split_whitespace().collect::<Vec<&str>>().join(" ");
    if line.chars().count() <= CELL_CHARS {
        return line;
    }
    let short: String = line.chars().take(CELL_CHARS - 1).collect();
    format!("{short}…")
}

pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// A table of some fields.
fn table(app: &App, items: &[Value], columns: &[(&str, &str)]) -> Result<(), Failure> {
    let row = |item: &Value| columns.iter().map(|(_, name)| cell(item, name)).collect();
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    app.out.table(&titles, &rows)
}

/// A table under a heading, if there is anything in it.
pub(super) fn section(
    app: &App,
    title: &str,
    items: &[Value],
    columns: &[(&str, &str)],
) -> Result<(), Failure> {
    if items.is_empty() {
        return Ok(());
    }
    app.out.line(format!("\n{}", app.out.paint(Tone::Strong, title)))?;
    table(app, items, columns)
}

const ROW: [(&str, &str); 4] =
    [("ID", "short_label"), ("STATUS", "status"), ("TEXT", "text"), ("CHANGED", "updated_at")];
const CLAIM: [(&str, &str); 4] =
    [("ID", "short_label"), ("HOLDER", "holder"), ("SCOPE", "scope"), ("UNTIL", "expires_at")];

fn work(app: &App, answer: &Value) -> Result<(), Failure> {
    let result = &answer["result"];
    let session = text(answer, "session_id");
    app.out.line(format!("session {session}  claim {}", text(answer, "claim_status")))?;
    if result["claim"].is_object() {
        let claim = &result["claim"];
        let (id, scope, until) =
            (text(claim, "id"), text(claim, "scope"), text(claim, "expires_at"));
        app.out.line(format!("{id} holds {scope} until {until}"))?;
    }
    for warning in list(answer, "warnings") {
        let words = warning.as_str().unwrap_or_default();
        app.out.line(app.out.paint(Tone::Warn, &format!("! {words}")))?;
    }
    section(app, "In the way", list(result, "claim_conflicts"), &CLAIM)?;
    section(app, "To know", list(result, "selected"), &ROW)?;
    section(app, "Plans", list(result, "plan_summary"), &ROW)?;
    let mine = &result["open_work"];
    section(app, "You hold", list(mine, "claims"), &CLAIM)?;
    for (title, name) in [
        ("Given to you", "assignments"),
        ("Handed to you", "handoffs"),
        ("Messages for you", "messages"),
    ] {
        section(app, title, list(mine, name), &ROW)?;
    }
    section(app, "New since you were here", list(result, "context_diff"), &ROW)
}

fn context(app: &App, answer: &Value) -> Result<(), Failure> {
    match answer["kind"].as_str().unwrap_or_default() {
        "memory" => {
            let selected = list(answer, "selected");
            if selected.is_empty() {
                app.out.line("nothing that is remembered fits")?;
            } else {
                let why = [ROW[0], ROW[1], ROW[2], ("FOUND BY", "why")];
                table(app, selected, &why)?;
            }
            for warning in list(answer, "stale_warnings") {
                app.out.note(warning.as_str().unwrap_or_default());
            }
            Ok(())
        }
        "execution" => pairs(app, &answer["execution_context"]),
        "board" => board(app, answer),
        "board_summary" => pairs(app, &answer["counts"]),
        _ => {
            app.out.line(format!("{} since {}", text(answer, "summary"), text(answer, "since")))?;
            if answer["complete"] == false {
                app.out.note("that session is not known; this is everything there is");
            }
            section(app, "Changed", list(answer, "changed_items"), &ROW)?;
            section(app, "Claims", list(answer, "opened_claims"), &CLAIM)
        }
    }
}

fn board(app: &App, answer: &Value) -> Result<(), Failure> {
    let open = |name: &str| answer["counts"][name].as_u64().unwrap_or(0);
    app.out.line(format!(
        "{}: {} open plans, {} claims, {} assignments",
        text(answer, "project"),
        open("open_plans"),
        open("open_claims"),
        open("open_assignments")
    ))?;
    let plans: [(&str, &str); 5] =
        [ROW[0], ROW[1], ("STEPS", "steps"), ROW[2], ("ASSIGNEE", "assignee")];
    section(app, "Plans", list(answer, "active_plans"), &plans)?;
    let claims: [(&str, &str); 5] = [
        ("ID", "short_label"),
        ("HOLDER", "agent"),
        ("SCOPE", "scope"),
        ("UNTIL", "expires_at"),
        ("HEARD", "liveness"),
    ];
    section(app, "Claims", list(answer, "active_claims"), &claims)?;
    let given: [(&str, &str); 4] = [ROW[0], ROW[1], ("AGENT", "agent"), ROW[2]];
    section(app, "Assignments", list(answer, "active_assignments"), &given)?;
    let to: [(&str, &str); 4] = [ROW[0], ROW[1], ("TO", "to"), ROW[2]];
    section(app, "Handoffs", list(answer, "open_handoffs"), &to)?;
    section(app, "Messages", list(answer, "open_messages"), &to)?;
    section(app, "Proposed", list(answer, "proposed_candidates"), &ROW)?;
    section(app, "To be decided", list(answer, "pending_decisions"), &ROW)?;
    section(app, "Loops", list(answer, "active_loops"), &ROW)?;
    section(app, "Sequences", list(answer, "active_sequences"), &ROW)?;
    let heard = [("AGENT", "agent"), ("LAST HEARD", "last_heard_at")];
    section(app, "Others", list(answer, "other_agents"), &heard)
}

fn found(app: &App, answer: &Value) -> Result<(), Failure> {
    let items = list(answer, "items");
    if items.is_empty() {
        app.out.line(format!("no {}", text(answer, "entity")))?;
    } else {
        table(app, items, &ROW)?;
    }
    for (name, words) in [
        ("excluded_legacy", "from an older house are left out (--legacy)"),
        ("excluded_low_confidence_auto_reflect", "unsure ones are left out (--min-confidence 0)"),
        ("excluded_resolved", "resolved ones are left out (--status)"),
    ] {
        if let Some(count) = answer[name].as_u64().filter(|count| *count > 0) {
            app.out.note(format!("{count} {words}"));
        }
    }
    if let Some(next) = answer["next_offset"].as_u64() {
        app.out.note(format!(
            "{} of {}; go on with --offset {next}",
            items.len(),
            text(answer, "total")
        ));
    }
    Ok(())
}

/// Everything about one thing, a line each; longer texts last.
fn whole(app: &App, item: &Value) -> Result<(), Failure> {
    let title = format!("{} {}", text(item, "short_label"), text(item, "status"));
    app.out.line(app.out.paint(Tone::Strong, &title))?;
    app.out.line(text(item, "text"))?;
    let own = item.as_object().cloned().unwrap_or_default();
    let shown = ["short_label", "status", "text"];
    let rest: serde_json::Map<String, Value> =
        own.into_iter().filter(|(name, _)| !shown.contains(&name.as_str())).collect();
    pairs(app, &Value::Object(rest))
}

/// Names and values, aligned.
fn pairs(app: &App, value: &Value) -> Result<(), Failure> {
    let own = value.as_object().cloned().unwrap_or_default();
    let width = own.keys().map(String::len).max().unwrap_or(0);
    for (name, value) in &own {
        let said = match value {
            Value::String(text) => text.replace('\n', &format!("\n{}", " ".repeat(width + 2))),
            Value::Null => continue,
            Value::Array(list) if list.iter().all(Value::is_string) => {
                list.iter().filter_map(Value::as_str).collect::<Vec<&str>>().join(", ")
            }
            other => other.to_string(),
        };
        app.out.line(format!("{name:width$}  {said}"))?;
    }
    Ok(())
}

fn written(app: &App, verb: Verb, answer: &Value) -> Result<(), Failure> {
    let (label, status) = (text(answer, "short_label"), text(answer, "status"));
    let line = match verb {
        Verb::Create if answer["claim_status"] == "existing" => format!("{label} is yours already"),
        Verb::Create => format!("{label} {} is {status}", text(answer, "entity")),
        _ => format!("{label} is changed (version {})", text(answer, "version")),
    };
    app.out.line(line)?;
    for near in list(answer, "nearby_items") {
        let (label, text) = (text(near, "short_label"), cell(near, "text"));
        app.out.note(format!("alike: {label} {text}"));
    }
    for warning in list(answer, "warnings") {
        app.out.note(format!("warning: {}", warning.as_str().unwrap_or_default()));
    }
    Ok(())
}

fn moved(app: &App, answer: &Value) -> Result<(), Failure> {
    let label = text(answer, "short_label");
    let (from, to) = (text(answer, "from"), text(answer, "to"));
    if answer["changed"] == false {
        app.out.line(format!("{label} is {to} already"))?;
    } else {
        app.out.line(format!("{label}: {from} → {to}"))?;
    }
    effects(app, answer)
}

fn effects(app: &App, answer: &Value) -> Result<(), Failure> {
    for effect in list(answer, "side_effects") {
        let (action, entity) = (text(effect, "action"), text(effect, "entity"));
        let detail = match &effect["detail"] {
            Value::String(detail) => format!(" ({detail})"),
            _ => String::new(),
        };
        app.out.line(format!("  {action} {entity} {}{detail}", text(effect, "id")))?;
    }
    Ok(())
}
