//! The board: plans, claims, assignments, messages and agents at a glance.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::item::{brief, edited_by};
use althing_dialects::memory::moment::utc;
use althing_kernel::records::{Kind, Record, RecordId};
use althing_kernel::{Principal, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::Verbs;
use super::claims::{self, Claim};
use super::context::label;
use super::ranking::open_plans;
use super::session::Present;
use crate::error::Error;
use crate::peers;

/// Longest list of each kind.
const LISTED_MAX: usize = 100;

/// Builds the board: open plans with their claims, live claims, assignments, handoffs and messages.
pub(super) fn board(verbs: &Verbs<'_>, present: &Present) -> Result<Value, Error> {
    let live = claims::live(&present.state, present.now);
    let claims: Vec<Value> =
        live.iter().take(LISTED_MAX).map(|claim| claim.listed(present)).collect();
    let mut of_plans: BTreeMap<RecordId, Vec<&Claim>> = BTreeMap::new();
    for (plan, claim) in live.iter().filter_map(|claim| Some((claim.plan()?, claim))) {
        of_plans.entry(plan).or_default().push(claim);
    }
    let mut given: BTreeMap<RecordId, Vec<&Record>> = BTreeMap::new();
    for record in present.state.memory().newest(Kind::Assignment, Some(true)) {
        if let Some(plan) = record.fields.plan_id {
            given.entry(plan).or_default().push(record);
        }
    }
    let plan = |record: &&Record| {
        let mut shown = row(&present.state.shown(record));
        let claims = of_plans.get(&record.id).map_or(&[][..], Vec::as_slice);
        let given = given.get(&record.id).map_or(&[][..], Vec::as_slice);
        let by = at_it(claims, given, present.now);
        if !by.is_empty() {
            shown["by"] = by.join(", ").into();
        }
        shown["claims"] = claims.iter().map(|claim| claim.conflict()).collect();
        shown
    };
    let plans = open_plans(&present.state);
    Ok(json!({
        "kind": "board",
        "project": verbs.project_name()?,
        "agent": verbs.shown(),
        "memory_version": present.state.seq(),
        "active_plans": plans.iter().take(LISTED_MAX).map(plan).collect::<Vec<Value>>(),
        "active_claims": claims,
        "active_assignments": rows(present, Kind::Assignment),
        "active_sequences": rows(present, Kind::Sequence),
        "active_loops": rows(present, Kind::Loop),
        "open_handoffs": rows(present, Kind::Handoff),
        "open_messages": rows(present, Kind::Message),
        "proposed_candidates": rows(present, Kind::Candidate),
        "pending_decisions": pending(present),
        "other_agents": others(verbs, present)?,
        "counts": counts(present),
    }))
}

/// The agents who work on a plan: its assignees, and the holders of claims for it.
fn at_it(claims: &[&Claim], given: &[&Record], now: Timestamp) -> Vec<String> {
    let mut by: Vec<String> = Vec::new();
    for record in given {
        let Some(agent) = record.agent() else { continue };
        let agent = called(&Principal::Agent(agent.clone()));
        let late = if record.is_overdue(now) { ", overdue" } else { "" };
        by.push(format!("{agent} ({}{late})", record.status));
    }
    // Claims of assignments are shown with the assignment.
    let is_given =
        |claim: &Claim| given.iter().any(|record| record.fields.claim == Some(claim.id.number));
    for claim in claims.iter().filter(|claim| !is_given(claim)) {
        by.push(format!("{} (claimed)", called(&claim.holder)));
    }
    by.dedup();
    by
}

/// The board as counts.
pub(super) fn summary(present: &Present) -> Value {
    json!({
        "kind": "board_summary",
        "memory_version": present.state.seq(),
        "counts": counts(present),
    })
}

fn counts(present: &Present) -> Value {
    let memory = present.state.memory();
    let mut counts: Map<String, Value> = Map::new();
    for kind in Kind::ALL.iter().filter(|kind| kind.is_stored()) {
        counts.insert(label(*kind), memory.count(*kind, Some(true)).into());
    }
    let claims = claims::live_count(&present.state, present.now);
    counts.insert(label(Kind::Claim), claims.into());
    let overdue = memory.newest(Kind::Assignment, Some(true));
    let overdue = overdue.filter(|record| record.is_overdue(present.now)).count();
    counts.insert("overdue_assignments".to_owned(), overdue.into());
    Value::Object(counts)
}

fn rows(present: &Present, kind: Kind) -> Vec<Value> {
    let live = present.state.memory().newest(kind, Some(true));
    live.take(LISTED_MAX).map(|record| marked(&present.state.shown(record), present.now)).collect()
}

/// One line of the board, marked if it is overdue.
pub(super) fn marked(record: &Record, now: Timestamp) -> Value {
    let mut shown = row(record);
    if record.is_overdue(now) {
        shown["overdue"] = true.into();
    }
    shown
}

fn pending(present: &Present) -> Vec<Value> {
    use althing_kernel::records::Status::{Deferred, Pending};
    let live = present.state.memory().newest(Kind::Decision, Some(true));
    let open = live.filter(|record| matches!(record.status, Pending | Deferred));
    open.take(LISTED_MAX).map(row).collect()
}

/// One line of the board.
pub(super) fn row(record: &Record) -> Value {
    let fields = &record.fields;
    let mut shown = json!({
        "id": record.id.to_string(),
        "short_label": record.id.label(),
        "status": record.status,
        "text": brief(record.text.as_str(), 160),
        "author": called(&record.author),
        "updated_at": utc(record.updated_at),
    });
    for (name, value) in [
        ("priority", json!(fields.priority)),
        ("assignee", json!(fields.assignee)),
        ("agent", json!(fields.agent)),
        ("to", json!(fields.to)),
        ("plan_id", json!(fields.plan_id)),
        ("scope", json!(fields.scope)),
        ("phase", json!(fields.phase)),
        ("superseded_by", json!(fields.superseded_by)),
        ("updated_by", json!(edited_by(record))),
    ] {
        if !value.is_null() {
            shown[name] = value;
        }
    }
    let done = |step: &&althing_kernel::records::field::Step| step.status.as_str() == "done";
    if !fields.steps.is_empty() {
        let count = fields.steps.iter().filter(done).count();
        shown["steps"] = format!("{count}/{}", fields.steps.len()).into();
    }
    shown
}

/// Other agents that were active within a day, and whether their hosts are still there.
fn others(verbs: &Verbs<'_>, present: &Present) -> Result<Vec<Value>, Error> {
    let own = verbs.agent();
    let gone = peers::gone(verbs.context)?;
    let mut heard: Vec<_> = present
        .state
        .agents()
        .filter(|(name, agent)| {
            Some(*name) != own.as_ref() && present.now.since(agent.heard_at).secs() < 24 * 60 * 60
        })
        .collect();
    heard.sort_by_key(|(_, agent)| std::cmp::Reverse(agent.heard_at));
    let show = |(name, agent): &(&althing_kernel::AgentName, &althing_kernel::agent::Agent)| {
        let mut shown = json!({
            "agent": called(&althing_kernel::Principal::Agent((*name).clone())),
            "last_heard_at": utc(agent.heard_at),
        });
        if gone.contains(*name) {
            shown["host"] = "gone".into();
        }
        shown
    };
    Ok(heard.iter().take(LISTED_MAX).map(show).collect())
}
