//! Answers of the verbs, for people to read.

use althing_dialects::memory::words::counted;
use althing_kernel::records::Status;
use althing_services::memory::Verb;
use althing_services::memory::answers::{Moved, Removed, SideEffect, Stepped, Stored, read};
use serde_json::{Value, json};

use super::get::{flatten, whole};
use super::outcome;
use super::page::{CLAIM, Column, ROW, list, pairs, part, section, shown, table, text};
use super::words::Sheet;
use crate::app::App;
use crate::error::Error;
use crate::naming;
use crate::output::{Tone, readable};

/// The kinds among which is chosen what to know.
const WORTH_KNOWING: [&str; 5] = ["constraint", "decision", "trap", "plan", "handoff"];

/// Shows an answer: as JSON, or in words.
pub(crate) fn answer(app: &App, verb: Verb, typed: Sheet, answer: &Value) -> Result<(), Error> {
    if app.out.json {
        return app.out.value(answer);
    }
    match verb {
        Verb::Work => work(app, typed, answer),
        Verb::Context => context(app, typed, answer),
        Verb::Find => found(app, answer),
        Verb::Get => whole(app, &answer["item"]),
        Verb::Create | Verb::Update => written(app, verb, typed, &read(answer)?),
        Verb::Transition => moved(app, typed, &read(answer)?),
        Verb::CompleteStep => stepped(app, &read(answer)?),
        Verb::Coordinate | Verb::Dispatch | Verb::Loop | Verb::Sweep | Verb::Harvest => {
            outcome::show(app, verb, typed, answer)
        }
        Verb::Remove => {
            let Removed { id, archived, side_effects, .. } = read(answer)?;
            let how = if archived {
                "is archived; the trail keeps it"
            } else {
                "went on and is cancelled; once it is over it can be archived"
            };
            app.out.line(format!("{} {how}", id.label()))?;
            effects(app, &side_effects)
        }
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn work(app: &App, typed: Sheet, answer: &Value) -> Result<(), Error> {
    let result = &answer["result"];
    let session = text(answer, "session_id");
    app.out.line(format!("session {session}  claim {}", text(answer, "claim_status")))?;
    if result["claim"].is_object() {
        let claim = &result["claim"];
        let (id, scope, until) =
            (text(claim, "id"), text(claim, "scope"), text(claim, "expires_at"));
        app.out.line(format!("{id} holds {scope}, which ends {until}"))?;
    }
    for warning in list(answer, "warnings") {
        let words = typed.readable(warning.as_str().unwrap_or_default());
        app.out.wrapped(0, Tone::Warn, &format!("! {words}"))?;
    }
    section(app, "In the way", list(result, "claim_conflicts"), &CLAIM)?;
    let known = result["memory_density"].as_object().into_iter().flatten();
    let known = known.filter(|(kind, _)| WORTH_KNOWING.contains(&kind.as_str()));
    let known: usize = known.map(|(_, count)| number(count)).sum();
    let all = "althing memory context memory --max-items 500";
    part(app, "To know", list(result, "selected"), &known.into(), &ROW, all)?;
    let plans = list(result, "plan_summary");
    part(app, "Plans", plans, &result["plan_total"], &ROW, "althing memory find plan")?;
    let mine = &result["open_work"];
    let total = &mine["total"];
    let all = "althing memory find claim --agent me";
    part(app, "You hold", list(mine, "claims"), &total["claims"], &CLAIM, all)?;
    let from: [Column; 5] = [ROW[0], ROW[1], ("FROM", "author"), ROW[2], ROW[3]];
    for (title, name, all) in [
        ("Given to you", "assignments", "althing memory find assignment --agent me"),
        ("Handed to you", "handoffs", "althing memory find handoff --to me"),
        ("Messages for you", "messages", "althing memory find message --to me"),
    ] {
        part(app, title, list(mine, name), &total[name], &from, all)?;
    }
    if result["first_visit"] == true {
        app.out.line("\nThis is your first visit: nothing is marked as new.")?;
    }
    let news: [Column; 5] = [ROW[0], ROW[1], ("BY", "updated_by"), ROW[2], ROW[3]];
    let since = if answer["intent"] == "resume" {
        "New since your session began"
    } else {
        "New since you last looked"
    };
    // A session by its short id, because a time that is typed has to be exact.
    let from =
        if answer["intent"] == "resume" { &answer["session_id"] } else { &result["news_since"] };
    let from = from.as_str().map_or_else(|| from.to_string(), |id| naming::short(&id));
    let all = format!("althing memory context delta --since {from}");
    part(app, since, list(result, "context_diff"), &result["changed_total"], &news, &all)
}

fn context(app: &App, typed: Sheet, answer: &Value) -> Result<(), Error> {
    warnings(app, typed, answer);
    match answer["kind"].as_str().unwrap_or_default() {
        "memory" => {
            let selected = list(answer, "selected");
            if selected.is_empty() {
                app.out.line("nothing that is remembered fits")?;
            } else {
                let why = [ROW[0], ROW[1], ROW[2], ("FOUND BY", "why")];
                table(app, selected, &why)?;
            }
            if answer["has_more"] == true {
                let most = typed.option("maxItems").unwrap_or_default();
                app.out.note(format!("these are the first {}; {most} shows more", selected.len()));
            }
            for warning in list(answer, "stale_warnings") {
                app.out.note(warning.as_str().unwrap_or_default());
            }
            Ok(())
        }
        "execution" => {
            let mut facts = answer["execution_context"].clone();
            let claims = facts["claims"].take();
            lines(app, &facts)?;
            section(app, "You hold", list(&json!({ "claims": claims }), "claims"), &CLAIM)
        }
        "board" => board(app, answer),
        "board_summary" => counts(app, &answer["counts"]),
        _ => {
            let (summary, since) = (text(answer, "summary"), text(answer, "since"));
            app.out.line(match answer["source"].as_str().unwrap_or_default() {
                "duration" => format!("{summary} in the last {since}"),
                "trail_number" => {
                    format!("{summary} since entry {}", since.trim_start_matches('#'))
                }
                "session" => format!("{summary} since session {since} began"),
                "unknown_session" => {
                    let typed = answer["since"].as_str().unwrap_or_default();
                    format!("{summary} in all; session {typed} is not known")
                }
                _ => format!("{summary} since {since}"),
            })?;
            let changed: [Column; 5] = [ROW[0], ROW[1], ("BY", "updated_by"), ROW[2], ROW[3]];
            section(app, "Changed", list(answer, "changed_items"), &changed)?;
            let gone = [ROW[0], ("BY", "by"), ("REASON", "reason")];
            section(app, "Archived", list(answer, "archived_items"), &gone)?;
            section(app, "Claims", list(answer, "opened_claims"), &CLAIM)?;
            let over: [Column; 4] = [CLAIM[0], CLAIM[1], CLAIM[2], ("STATUS", "status")];
            section(app, "Claims that ended", list(answer, "ended_claims"), &over)
        }
    }
}

/// Names and values, a line each.
fn lines(app: &App, value: &Value) -> Result<(), Error> {
    let mut rows = Vec::new();
    for (name, part) in value.as_object().into_iter().flatten() {
        flatten(name, part, value, &mut rows);
    }
    pairs(app, &rows)
}

/// How many there are of each kind, in words; those of which there is none together.
fn counts(app: &App, counts: &Value) -> Result<(), Error> {
    let mut none = Vec::new();
    for (name, count) in counts.as_object().into_iter().flatten() {
        let name = name.trim_end_matches('s').replace('_', " ");
        match number(count) {
            0 => none.push(format!("{name}s")),
            some => app.out.line(counted(some, &name))?,
        }
    }
    if none.is_empty() { Ok(()) } else { app.out.line(format!("no {}", none.join(", "))) }
}

fn board(app: &App, answer: &Value) -> Result<(), Error> {
    let open = |name: &str, one: &str| counted(number(&answer["counts"][name]), one);
    let overdue = number(&answer["counts"]["overdue_assignments"]);
    let late = if overdue > 0 { format!(" ({overdue} overdue)") } else { String::new() };
    app.out.line(format!(
        "{}: {}, {}, {}{late}",
        text(answer, "project"),
        open("open_plans", "open plan"),
        open("open_claims", "claim"),
        open("open_assignments", "assignment")
    ))?;
    let plans: [Column; 6] =
        [ROW[0], ROW[1], ("STEPS", "steps"), ("BY", "by"), ("ASSIGNEE", "assignee"), ROW[2]];
    let total = &answer["counts"]["open_plans"];
    let all = "althing memory find plan";
    part(app, "Plans", list(answer, "active_plans"), total, &plans, all)?;
    let claims: [Column; 5] = [
        ("ID", "short_label"),
        ("HOLDER", "agent"),
        ("SCOPE", "scope"),
        ("ENDS", "expires_at"),
        ("HEARD", "liveness"),
    ];
    section(app, "Claims", list(answer, "active_claims"), &claims)?;
    let given: [Column; 5] = [ROW[0], ROW[1], ("AGENT", "agent"), ("PLAN", "plan_id"), ROW[2]];
    section(app, "Assignments", list(answer, "active_assignments"), &given)?;
    let to: [Column; 5] = [ROW[0], ROW[1], ("FROM", "author"), ("TO", "to"), ROW[2]];
    section(app, "Handoffs", list(answer, "open_handoffs"), &to)?;
    section(app, "Messages", list(answer, "open_messages"), &to)?;
    section(app, "Proposed", list(answer, "proposed_candidates"), &ROW)?;
    section(app, "To be decided", list(answer, "pending_decisions"), &ROW)?;
    section(app, "Loops", list(answer, "active_loops"), &ROW)?;
    section(app, "Sequences", list(answer, "active_sequences"), &ROW)?;
    let heard = [("AGENT", "agent"), ("LAST HEARD", "last_heard_at")];
    section(app, "Others", list(answer, "other_agents"), &heard)
}

fn found(app: &App, answer: &Value) -> Result<(), Error> {
    let items = list(answer, "items");
    let kind = text(answer, "entity");
    if items.is_empty() {
        app.out.line(format!("no {kind}s"))?;
    } else {
        table(app, items, columns(&kind))?;
    }
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    for (name, words) in [
        ("excluded_legacy", "from an older house"),
        ("excluded_low_confidence_auto_reflect", "noticed by a program that is not sure"),
        ("excluded_resolved", "that was accepted, rejected or merged"),
    ] {
        let count = number(&answer[name]);
        if count > 0 {
            let way = match name {
                "excluded_legacy" => "--legacy",
                "excluded_resolved" => "--status accepted, rejected or merged",
                _ => "--min-confidence 0",
            };
            let words =
                if count == 1 { words.to_owned() } else { words.replace(" was ", " were ") };
            let (some, are) = (counted(count, &kind), are(count));
            app.out.note(format!("{some} {words} {are} left out ({way})"));
        }
    }
    if answer["excluded_over"] == true {
        app.out.note(
            "claims that were released or ran out are left out (--status released or expired)",
        );
    }
    if let Some(next) = answer["next_offset"].as_u64() {
        let total = text(answer, "total");
        app.out.note(format!("{} of {total}; go on with --offset {next}", items.len()));
    }
    Ok(())
}

/// The columns of a list, by kind.
fn columns(kind: &str) -> &'static [Column] {
    const FROM: Column = ("FROM", "author");
    match kind {
        "message" | "handoff" => &[ROW[0], ROW[1], FROM, ("TO", "to"), ROW[2], ROW[3]],
        "assignment" => &[ROW[0], ROW[1], FROM, ("AGENT", "agent"), ROW[2], ROW[3]],
        "claim" => &[ROW[0], ROW[1], ("HOLDER", "agent"), CLAIM[2], CLAIM[3], ROW[2]],
        "plan" => &[ROW[0], ROW[1], ("ASSIGNEE", "assignee"), ROW[2], ROW[3]],
        _ => &ROW,
    }
}

fn stepped(app: &App, own: &Stepped) -> Result<(), Error> {
    let (steps, plan) = (counted(own.total, "step"), own.plan.label());
    app.out.line(format!("{} of {steps} of {plan} done", own.done))?;
    if own.plan_completed {
        app.out.line("that was the last one: the plan is done")?;
    }
    effects(app, &own.side_effects)
}

fn written(app: &App, verb: Verb, typed: Sheet, own: &Stored) -> Result<(), Error> {
    let label = &own.short_label;
    let line = match (verb, own.version) {
        (Verb::Create, _) if own.claim_status.as_deref() == Some("existing") => {
            format!("{label} is yours already")
        }
        (Verb::Create, _) => {
            let status = own.status.map_or("-", Status::as_str);
            format!("{label} {} is {status}", own.entity)
        }
        (_, None) => {
            let ends = own.expires_at.as_deref().map_or_else(|| "-".to_owned(), shown);
            format!("{label} is changed; it ends {ends}")
        }
        (_, Some(version)) => format!("{label} is changed (version {version})"),
    };
    app.out.line(line)?;
    for near in &own.nearby_items {
        let words = near.text.split_whitespace().collect::<Vec<&str>>().join(" ");
        app.out.note(format!("alike: {} {words}", near.short_label));
    }
    warn(app, typed, own.warnings.iter().map(String::as_str));
    effects(app, own.side_effects.as_deref().unwrap_or_default())
}

fn moved(app: &App, typed: Sheet, own: &Moved) -> Result<(), Error> {
    let label = &own.short_label;
    let [from, to] = [&own.from, &own.to].map(|state| state.as_deref().unwrap_or("-"));
    let is_progress = own.artifacts.is_some();
    app.out.line(match own.changed {
        false if is_progress => format!("{label} is {to}; it was heard of"),
        false => format!("{label} is {to} already"),
        true if is_progress => format!("{label} is {to}; how it goes is noted"),
        true => format!("{label}: {from} → {to}"),
    })?;
    warn(app, typed, own.warnings.iter().map(String::as_str));
    effects(app, &own.side_effects)
}

fn warnings(app: &App, typed: Sheet, answer: &Value) {
    warn(app, typed, list(answer, "warnings").iter().filter_map(Value::as_str));
}

fn warn<'a>(app: &App, typed: Sheet, warnings: impl Iterator<Item = &'a str>) {
    warnings.for_each(|warning| app.out.note(format!("warning: {}", typed.readable(warning))));
}

fn effects(app: &App, all: &[SideEffect]) -> Result<(), Error> {
    for SideEffect { action, entity, id, to, detail } in all {
        let detail = match (detail, to) {
            (Some(detail), _) => format!(" ({})", readable(detail)),
            (None, Some(to)) if action == "moved" => format!(" to {to}"),
            _ => String::new(),
        };
        app.out.line(format!("  {action} {entity} {}{detail}", id.label()))?;
    }
    Ok(())
}
