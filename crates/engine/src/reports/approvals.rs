//! Requests to people and their answers: gates, injected messages, escalations.

use althing_kernel::{Span, Timestamp};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

use super::OfRun;
use super::runs::{beginning, chosen, deleted, no_run};
use crate::error::EngineError;
use crate::read::row::{Row, Scope, Source, text};
use crate::read::workspace_info::WorkspaceDirectory;

/// A gate that waits for an answer, or was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// Id of the gate.
    pub gate: String,
    /// Kind of the gate.
    #[serde(rename = "type")]
    pub kind: String,
    /// The thing that waits.
    pub subject: Option<String>,
    /// The workspace it is about.
    pub workspace: Option<String>,
    /// Time when it closed.
    pub at: Timestamp,
    /// Time when it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// Outcome: `approve`, `reject`, `modify`, or the rule for a timeout.
    pub outcome: Option<String>,
    /// The person who answered; `None` after a timeout.
    pub by: Option<String>,
    /// Whether nobody answered in time.
    pub timed_out: bool,
    /// Reason given.
    pub reason: Option<String>,
    /// Time it was closed, up to the last entry if it still is.
    pub waited: Span,
}

/// A message that a person injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Injection {
    /// Time.
    pub at: Timestamp,
    /// The person.
    pub by: String,
    /// Receiver.
    pub to: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status.
    pub status: String,
    /// Reason given.
    pub reason: Option<String>,
}

/// A request of an agent for a person's help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// Id of the signal.
    pub signal: String,
    /// The workspace.
    pub workspace: Option<String>,
    /// Reason given.
    pub reason: Option<String>,
    /// Time.
    pub at: Timestamp,
    /// Time when it was answered or expired.
    pub resolved_at: Option<Timestamp>,
    /// Outcome.
    pub outcome: Option<String>,
    /// The person who answered.
    pub by: Option<String>,
    /// Whether nobody answered in time.
    pub timed_out: bool,
    /// Time it waited, up to the last entry if it still does.
    pub waited: Span,
}

/// All requests to people of a run, and their answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Approvals {
    /// The root of the run.
    pub run: String,
    /// Number of entries of the run that were deleted with archives and are not included.
    pub deleted_entries: u64,
    /// The gates, in the order they closed.
    pub gates: Vec<Gate>,
    /// Messages that people injected.
    pub injections: Vec<Injection>,
    /// Requests for a person's help.
    pub escalations: Vec<Escalation>,
    /// How often a gate was about to close a second time for the same thing.
    pub reentries: u64,
    /// Number of requests that wait for a person now.
    pub waiting: u64,
    /// How often nobody answered in time.
    pub timed_out: u64,
    /// Total time that requests waited for people.
    pub waited: Span,
    /// Number of answers and injections of each person.
    pub people: BTreeMap<String, u64>,
}

struct Reading {
    approvals: Approvals,
    places: WorkspaceDirectory,
    gates: BTreeMap<String, usize>,
    escalations: BTreeMap<String, usize>,
    current: Option<String>,
    last_at: Timestamp,
}

fn owned_text(body: &Value, name: &str) -> Option<String> {
    text(body, name).map(str::to_owned)
}

impl Reading {
    /// Whether an entry belongs to the run: by its workspace, or else by its time.
    fn is_of_run(&self, row: &Row<'_>) -> bool {
        match row.workspace.as_deref() {
            Some(id) => self.places.get(id).is_some_and(|place| place.run == self.approvals.run),
            None => self.current.as_ref() == Some(&self.approvals.run),
        }
    }

    /// Tracks the current run, for entries without a workspace.
    fn follow(&mut self, row: &Row<'_>) {
        self.places.learn(row);
        let id = row.workspace.as_deref();
        let root = id.filter(|id| self.places.get(id).is_some_and(|place| place.run == **id));
        let Some(root) = root else { return };
        match &*row.kind {
            // The standing root begins no run.
            "workspace_created" if row.body()["run"].is_null() => {}
            "workspace_created" => self.current = Some(root.to_owned()),
            "workspace_state_changed"
                if matches!(text(&row.body(), "to_state"), Some("closed" | "failed")) =>
            {
                self.current = None;
            }
            _ => {}
        }
    }

    fn take(&mut self, row: &Row<'_>) {
        self.last_at = row.at;
        match &*row.kind {
            "gate_triggered" => self.closed(row, &row.body()),
            "gate_resolved" => self.opened(row, &row.body(), false),
            "gate_timeout" => self.opened(row, &row.body(), true),
            "gate_reentry_blocked" => self.approvals.reentries += 1,
            "human_injection" => self.injected(row, &row.body()),
            "escalation_received" => self.asked(row, &row.body()),
            "escalation_resolved" => self.answered(row, &row.body(), false),
            "escalation_timeout" => self.answered(row, &row.body(), true),
            _ => {}
        }
    }

    /// Counts an answer or injection, if a person made it.
    fn by(&mut self, row: &Row<'_>, body: &Value) -> Option<String> {
        // The body names the person who answered; if it does not, the actor did.
        let by = owned_text(body, "actor").or_else(|| row.person().map(str::to_owned))?;
        if !matches!(by.as_str(), "fallback" | "system" | "protocol" | "coordinator") {
            *self.approvals.people.entry(by.clone()).or_default() += 1;
        }
        Some(by)
    }

    fn closed(&mut self, row: &Row<'_>, body: &Value) {
        let Some(gate) = owned_text(body, "gate_id") else { return };
        self.gates.insert(gate.clone(), self.approvals.gates.len());
        self.approvals.gates.push(Gate {
            gate,
            kind: owned_text(body, "gate_type").unwrap_or_default(),
            subject: owned_text(body, "subject"),
            workspace: owned_text(body, "workspace")
                .or_else(|| row.workspace.as_deref().map(Into::into)),
            at: row.at,
            ..Gate::default()
        });
    }

    fn opened(&mut self, row: &Row<'_>, body: &Value, timed_out: bool) {
        let at = text(body, "gate_id").and_then(|id| self.gates.get(id)).copied();
        let Some(at) = at else { return };
        let by = if timed_out { None } else { self.by(row, body) };
        let gate = &mut self.approvals.gates[at];
        // A gate that timed out is resolved by rule right after.
        if gate.resolved_at.is_some() && !timed_out {
            return;
        }
        gate.resolved_at = Some(row.at);
        gate.timed_out |= timed_out;
        gate.outcome = owned_text(body, if timed_out { "fallback_action" } else { "action" });
        gate.by = by;
        gate.reason = owned_text(body, "reason");
    }

    fn injected(&mut self, row: &Row<'_>, body: &Value) {
        let by = self.by(row, body).unwrap_or_default();
        self.approvals.injections.push(Injection {
            at: row.at,
            by,
            to: owned_text(body, "to").unwrap_or_default(),
            kind: owned_text(body, "type").unwrap_or_default(),
            status: owned_text(body, "status").unwrap_or_default(),
            reason: owned_text(body, "reason"),
        });
    }

    fn asked(&mut self, row: &Row<'_>, body: &Value) {
        let Some(signal) = owned_text(body, "signal_id") else { return };
        self.escalations.insert(signal.clone(), self.approvals.escalations.len());
        self.approvals.escalations.push(Escalation {
            signal,
            workspace: owned_text(body, "workspace"),
            reason: owned_text(body, "reason"),
            at: row.at,
            ..Escalation::default()
        });
    }

    fn answered(&mut self, row: &Row<'_>, body: &Value, timed_out: bool) {
        let at = text(body, "signal_id").and_then(|id| self.escalations.get(id)).copied();
        let Some(at) = at else { return };
        let by = if timed_out { None } else { self.by(row, body) };
        let asked = &mut self.approvals.escalations[at];
        if asked.resolved_at.is_some() && !timed_out {
            return;
        }
        asked.resolved_at = Some(row.at);
        asked.timed_out |= timed_out;
        asked.outcome =
            owned_text(body, if timed_out { "fallback_action" } else { "response_type" });
        asked.by = by;
    }

    fn finish(mut self) -> Approvals {
        let end = self.last_at;
        let approvals = &mut self.approvals;
        let mut total = 0;
        for gate in &mut approvals.gates {
            gate.waited = gate.resolved_at.unwrap_or(end).since(gate.at);
            total += gate.waited.micros();
            approvals.waiting += u64::from(gate.resolved_at.is_none());
            approvals.timed_out += u64::from(gate.timed_out);
        }
        for asked in &mut approvals.escalations {
            asked.waited = asked.resolved_at.unwrap_or(end).since(asked.at);
            total += asked.waited.micros();
            approvals.waiting += u64::from(asked.resolved_at.is_none());
            approvals.timed_out += u64::from(asked.timed_out);
        }
        approvals.waited = Span::from_micros(total);
        self.approvals
    }
}

/// All requests to people of a run that the viewer may read.
pub fn approvals(source: &Source, scope: &Scope, asked: &OfRun) -> Result<Approvals, EngineError> {
    let run = chosen(source, asked.run.as_ref())?;
    let after = beginning(source, &run)?;
    let mut reading = Reading {
        approvals: Approvals { run, ..Approvals::default() },
        places: WorkspaceDirectory::default(),
        gates: BTreeMap::new(),
        escalations: BTreeMap::new(),
        current: None,
        last_at: Timestamp::default(),
    };
    source.each(after, &mut |row| {
        reading.follow(row);
        if scope.has(row) && reading.is_of_run(row) {
            reading.take(row);
        }
        Ok(())
    })?;
    if reading.places.get(&reading.approvals.run).is_none() {
        return Err(no_run(source, scope, &reading.approvals.run));
    }
    let deleted = deleted(source, scope)?.remove(&reading.approvals.run).unwrap_or(0);
    Ok(Approvals { deleted_entries: deleted, ..reading.finish() })
}
