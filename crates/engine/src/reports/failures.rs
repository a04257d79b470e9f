//! Bursts of failures: many similar failures in a short time, which probably have one cause.
//!
//! Two failures are similar if they are of the same sort and their reasons differ only in names and
//! numbers. A burst is a sequence of them without a long gap. It is reported from a minimum count
//! on, which is part of the answer. Nothing is decided here; the coordinator judges what a burst
//! means.

use althing_kernel::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::EngineError;
use crate::read::row::{Row, Scope, Source, text};
use crate::read::workspace_info::WorkspaceDirectory;

/// Default time to look back, in seconds.
pub const WINDOW_DEFAULT_S: u64 = 3_600;
/// Default minimum count of a burst.
pub const LEAST_DEFAULT: u64 = 5;
/// Longest gap within a burst, in seconds.
pub const GAP_S: u64 = 300;
/// Longest reason that is shown, in characters.
const REASON_CHARS_MAX: usize = 160;
/// Most names listed of each sort.
const NAMES_MAX: usize = 20;

/// `trail.failures`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfFailures {
    /// How far back to look, in seconds (default an hour).
    pub window_s: Option<u64>,
    /// Minimum count of a burst (default 5).
    pub least: Option<u64>,
}

/// Sort of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A workspace failed.
    Workspace,
    /// A command was refused.
    Refused,
    /// A message was not delivered.
    Mail,
    /// A caller failed to authenticate.
    Authentication,
}

/// Similar failures, close together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Sort of the failures.
    pub sort: Sort,
    /// Their reason, with `…` for names and numbers.
    pub reason: String,
    /// Number of failures.
    pub count: u64,
    /// Time of the first.
    pub first_at: Timestamp,
    /// Time of the last.
    pub last_at: Timestamp,
    /// Number of affected workspaces, or of callers whose commands were refused.
    pub places: usize,
    /// Whether more than one is affected.
    pub widespread: bool,
    /// The workspaces, at most 20.
    pub workspaces: BTreeSet<String>,
    /// Their owners.
    pub owners: BTreeSet<String>,
    /// Their roles.
    pub roles: BTreeSet<String>,
    /// Their groups.
    pub groups: BTreeSet<String>,
    /// Actors of the entries, or agents of the workspaces; at most 20.
    pub actors: BTreeSet<String>,
    /// The message of the last one.
    pub example: String,
    /// Its sequence number.
    pub example_seq: u64,
}

/// Bursts of failures, and the limits they were found with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// Time looked back, in seconds.
    pub window_s: u64,
    /// Minimum count of a burst.
    pub least: u64,
    /// Longest gap within a burst, in seconds.
    pub gap_s: u64,
    /// Number of failures in all.
    pub seen: u64,
    /// The bursts, the largest first.
    pub bursts: Vec<Burst>,
}

/// Triggers by which a workspace ends because somebody decided so, or because another one ended.
const DECIDED: [&str; 9] = [
    "aborted_by_coordinator",
    "aborted_by_human",
    "agent_rework",
    "batch_abort",
    "gate_rejected_by_human",
    "parent_failed",
    "rejected",
    "revision_required",
    "system_shutdown",
];

/// One failure.
struct Failure {
    sort: Sort,
    message: String,
    workspace: Option<String>,
    /// Workspace or caller that is affected.
    whose: String,
}

/// The failure that an entry records, if any.
fn failure(row: &Row<'_>) -> Option<Failure> {
    let word = |body: &Value, name: &str| text(body, name).unwrap_or_default().to_owned();
    let own = row.workspace.as_deref().map(str::to_owned);
    let (sort, message, workspace) = match &*row.kind {
        "workspace_state_changed" => {
            let body = row.body();
            if text(&body, "to_state") != Some("failed") {
                return None;
            }
            // A workspace that ended by decision, or because another did, has not failed.
            let trigger = word(&body, "trigger");
            if DECIDED.contains(&trigger.as_str()) {
                return None;
            }
            let reason = text(&body, "reason").map_or(String::new(), |why| format!(": {why}"));
            (Sort::Workspace, format!("{trigger}{reason}"), own)
        }
        "command.refused" => {
            let body = row.body();
            // A collision is the normal work of leases, not a failure.
            if text(&body, "kind") == Some("collision") {
                return None;
            }
            let (command, rule) = (word(&body, "command"), word(&body, "rule"));
            (Sort::Refused, format!("{command} [{rule}] {}", word(&body, "message")), own)
        }
        "workspace_rejected" | "checkpoint_rejected" | "envelope_rejected" => {
            let what = row.kind.replace('_', " ");
            (Sort::Refused, format!("{what}: {}", word(&row.body(), "reason")), own)
        }
        "capability_denied" => {
            let body = row.body();
            let (action, reason) = (word(&body, "action"), word(&body, "reason"));
            (Sort::Refused, format!("{action}: {reason}"), own)
        }
        "envelope_undeliverable" => {
            let body = row.body();
            (Sort::Mail, word(&body, "reason"), text(&body, "to").map(str::to_owned))
        }
        "authentication_failed" => {
            let body = row.body();
            let (context, reason) = (word(&body, "context"), word(&body, "reason"));
            let whose = word(&body, "entity");
            let message = format!("{context}: {reason}");
            return Some(Failure { sort: Sort::Authentication, message, workspace: None, whose });
        }
        _ => return None,
    };
    // A refused command counts for its caller, whatever the workspace.
    let own = workspace.clone().filter(|_| sort != Sort::Refused);
    let whose = own.unwrap_or_else(|| row.actor.to_string());
    Some(Failure { sort, message, workspace, whose })
}

impl Failures {
    /// Whether the failure in a line is part of a reported burst.
    pub fn covers(&self, line: &str) -> bool {
        let Ok(row) = Row::read(line) else { return false };
        let Some(failure) = failure(&row) else { return false };
        let reason = normalised(&failure.message);
        self.bursts.iter().any(|burst| {
            let same = burst.sort == failure.sort && burst.reason == reason;
            same && burst.first_at <= row.at && row.at <= burst.last_at
        })
    }
}

/// A reason without the parts that differ between similar failures: numbers, ids, quoted names.
pub fn normalised(reason: &str) -> String {
    let mut plain = String::with_capacity(reason.len());
    let mut quoted = None;
    for c in reason.chars() {
        match quoted {
            Some(end) if c == end => quoted = None,
            Some(_) => {}
            None if matches!(c, '"' | '`') => {
                quoted = Some(c);
                plain.push_str(" … ");
            }
            None => plain.push(c),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for word in plain.split_whitespace() {
        // Rule ids stay; numbers, ids and names are replaced.
        let rule = word.starts_with('[');
        let named = ["agent:", "user:"].iter().any(|prefix| word.starts_with(prefix))
            || words.last().is_some_and(|last| matches!(last.as_str(), "agent" | "user"));
        let varies = named || word.chars().any(|c| c.is_ascii_digit());
        let word = match (rule, varies) {
            (true, _) => word.to_owned(),
            (false, true) => "…".to_owned(),
            (false, false) => word.to_lowercase(),
        };
        if word != "…" || words.last().is_none_or(|last| last != "…") {
            words.push(word);
        }
    }
    words.join(" ").chars().take(REASON_CHARS_MAX).collect()
}

/// Bursts while entries are read.
struct Reading<'a> {
    source: &'a Source,
    /// Facts about workspaces; looked up at the first failure.
    places: Option<WorkspaceDirectory>,
    open: BTreeMap<(Sort, String), Burst>,
    done: Vec<Burst>,
    spread: BTreeMap<(Sort, String), BTreeSet<String>>,
    least: u64,
    seen: u64,
}

impl Reading<'_> {
    fn take(&mut self, row: &Row<'_>, failure: Failure) -> Result<(), EngineError> {
        self.seen += 1;
        let places = match self.places.take() {
            Some(places) => places,
            None => self.source.places(false)?,
        };
        let key = (failure.sort, normalised(&failure.message));
        let gap = althing_kernel::Span::from_secs(GAP_S);
        if self.open.get(&key).is_some_and(|burst| row.at.since(burst.last_at) > gap) {
            self.close(&key);
        }
        let burst = self.open.entry(key.clone()).or_insert_with(|| Burst {
            sort: failure.sort,
            reason: key.1.clone(),
            count: 0,
            first_at: row.at,
            last_at: row.at,
            places: 0,
            widespread: false,
            workspaces: BTreeSet::new(),
            owners: BTreeSet::new(),
            roles: BTreeSet::new(),
            groups: BTreeSet::new(),
            actors: BTreeSet::new(),
            example: String::new(),
            example_seq: 0,
        });
        burst.count += 1;
        burst.last_at = row.at;
        burst.example = failure.message;
        burst.example_seq = row.seq;
        let place = failure.workspace.as_deref().and_then(|id| places.get(id));
        if let Some(place) = place {
            burst.owners.insert(place.owner(row.seq).to_owned());
            burst.roles.insert(place.role.clone());
            burst.groups.extend(place.group.clone());
        }
        let spread = self.spread.entry(key).or_default();
        spread.insert(failure.whose);
        if let Some(id) = failure.workspace.filter(|_| burst.workspaces.len() < NAMES_MAX) {
            burst.workspaces.insert(id);
        }
        if burst.actors.len() < NAMES_MAX && row.actor != "protocol" {
            burst.actors.insert(row.actor.to_string());
        }
        self.places = Some(places);
        Ok(())
    }

    fn close(&mut self, key: &(Sort, String)) {
        let spread = self.spread.remove(key).unwrap_or_default().len();
        if let Some(burst) = self.open.remove(key).filter(|burst| burst.count >= self.least) {
            self.done.push(Burst { places: spread, widespread: spread > 1, ..burst });
        }
    }

    fn finish(mut self) -> (u64, Vec<Burst>) {
        let keys: Vec<(Sort, String)> = self.open.keys().cloned().collect();
        for key in &keys {
            self.close(key);
        }
        self.done.sort_by_key(|burst| (std::cmp::Reverse(burst.count), burst.first_at));
        (self.seen, self.done)
    }
}

/// Finds bursts of failures up to a moment, in what the viewer may read.
pub fn failures(
    source: &Source,
    scope: &Scope,
    now: Timestamp,
    asked: &OfFailures,
) -> Result<Failures, EngineError> {
    let window_s = asked.window_s.unwrap_or(WINDOW_DEFAULT_S);
    let least = asked.least.unwrap_or(LEAST_DEFAULT).max(1);
    let window = window_s.saturating_mul(1_000_000);
    let since = Timestamp::from_micros(now.micros().saturating_sub(window));
    let mut reading = Reading {
        source,
        places: None,
        open: BTreeMap::new(),
        done: Vec::new(),
        spread: BTreeMap::new(),
        least,
        seen: 0,
    };
    source.each_kept(source.before(since)?, &mut |row| match failure(row)
        .filter(|_| row.at >= since && scope.has(row))
    {
        Some(failure) => reading.take(row, failure),
        None => Ok(()),
    })?;
    let (seen, bursts) = reading.finish();
    Ok(Failures { window_s, least, gap_s: GAP_S, seen, bursts })
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn reasons_that_differ_in_names_and_numbers_are_the_same() {
        for (one, other) in [
            ("provider: HTTP 503 after 12s", "provider: http 529 after 7s"),
            ("there is no workspace ws_06c19z3r", "there is no workspace ws_99"),
            ("no file \"a b\" here", "no file \"c\" here"),
            ("agent:bob may not", "agent:carol may not"),
            ("agent bob may not", "agent carol may not"),
        ] {
            assert_eq!(normalised(one), normalised(other));
        }
        assert_ne!(normalised("disk full"), normalised("provider down"));
        assert_ne!(normalised("send [W-ENV-01] no"), normalised("send [W-ENV-02] no"));
        assert_eq!(normalised("HTTP 503  503"), "http …");
        assert!(normalised(&"long ".repeat(100)).chars().count() <= 160);
    }
}
