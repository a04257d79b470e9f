//! Messages and signals of a run: senders, receivers, delivery, and causal order.
//!
//! Timestamps of different workspaces say little about causes. Messages do: everything its sender
//! had done or received before comes before everything its receiver does after. Vector clocks with
//! one counter per workspace track this, so each message says whether its sender could have known
//! of the message above it in the list.

use althing_kernel::{Timestamp, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

use super::runs::{beginning, chosen, deleted, no_run};
use crate::error::EngineError;
use crate::read::row::{Row, Scope, Source, text};
use crate::read::workspace_info::WorkspaceDirectory;

/// Default number of messages listed.
const MESSAGES_DEFAULT: usize = 100;
/// Most messages listed.
pub const MESSAGES_MAX: usize = 10_000;
/// Most workspaces for vector clocks; beyond this they grow too large.
const CLOCKS_MAX: usize = 256;

/// `view.flow`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfFlow {
    /// The root of the run; the newest, if left out.
    pub run: Option<WorkspaceId>,
    /// How many of the last messages are listed (default 100, at most 10,000).
    pub last: Option<usize>,
    /// Include signals, not only envelopes.
    pub signals: bool,
}

/// A message, or a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Id of the envelope or signal.
    pub id: String,
    /// Whether it is a signal.
    pub signal: bool,
    /// Its type, as in the trail.
    #[serde(rename = "type")]
    pub kind: String,
    /// Sender.
    pub from: String,
    /// The person who wrote it; the root is then its sender only in form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Receiver.
    pub to: Option<String>,
    /// The message it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// Time when it was sent.
    pub at: Timestamp,
    /// Time when it was delivered.
    pub delivered_at: Option<Timestamp>,
    /// Reason why it was not delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Whether its sender could not have known of the message above it in the list, so that the
    /// order of the two means nothing. `None` in very large runs.
    pub concurrent: Option<bool>,
}

/// All messages of one type from one workspace to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// Sender.
    pub from: String,
    /// The person who wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Receiver.
    pub to: String,
    /// Their type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether they are signals.
    pub signal: bool,
    /// Number of messages.
    pub count: u64,
    /// Number of them that were refused or not delivered.
    pub lost: u64,
}

/// A sender or receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Party {
    /// The workspace.
    pub workspace: String,
    /// Its role.
    pub role: String,
    /// The agent it was created for.
    pub agent: Option<String>,
}

/// The messages of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// The root of the run.
    pub run: String,
    /// All senders and receivers, in the order of their creation.
    pub parties: Vec<Party>,
    /// Number of messages.
    pub count: u64,
    /// Number of entries of the run that were deleted with archives and are not included.
    pub deleted_entries: u64,
    /// Senders and receivers with counts, most first.
    pub edges: Vec<Edge>,
    /// The last messages, in the order they were sent.
    pub messages: Vec<Message>,
}

/// The key by which messages are counted together: sender, receiver, whether signals, type, author.
type MessageKey = (String, String, bool, String, Option<String>);

/// A vector clock: the counter of each workspace.
type Clock = BTreeMap<usize, u64>;

fn catch_up(own: &mut Clock, other: &Clock) {
    for (who, far) in other {
        let known = own.entry(*who).or_default();
        *known = (*known).max(*far);
    }
}

struct Reading {
    run: String,
    signals: bool,
    wanted: usize,
    places: WorkspaceDirectory,
    parties: Vec<Party>,
    numbers: BTreeMap<String, usize>,
    clocks: Vec<Clock>,
    /// Messages in transit, with the sender's clock.
    open: BTreeMap<String, Clock>,
    /// The sender of the message listed last, and its counter.
    above: Option<(usize, u64)>,
    edges: BTreeMap<MessageKey, (u64, u64)>,
    count: u64,
    listed: VecDeque<Message>,
    used: std::collections::BTreeSet<String>,
}

impl Reading {
    fn take(&mut self, row: &Row<'_>) {
        self.places.learn(row);
        let body = || row.body();
        match &*row.kind {
            "workspace_created" => self.created(&body()),
            "envelope_created" => self.sent(row, &body(), "envelope_id", false),
            "signal_emitted" => self.sent(row, &body(), "signal_id", true),
            "envelope_delivered" => self.arrived(row, &body(), "envelope_id", "to"),
            "signal_delivered" => self.arrived(row, &body(), "signal_id", "delivered_to"),
            "envelope_rejected" => {
                let body = body();
                self.sent(row, &body, "envelope_id", false);
                self.lost(&body);
            }
            "envelope_undeliverable" => self.lost(&body()),
            "integration_started" => self.merged(&body()),
            _ => {}
        }
    }

    fn created(&mut self, body: &Value) {
        let Some(id) = text(body, "workspace_id") else { return };
        let within = self.places.get(id).is_some_and(|place| place.run == self.run);
        if !within || self.numbers.contains_key(id) {
            return;
        }
        // A new workspace begins with its parent's clock.
        let above = text(body, "parent").and_then(|parent| self.numbers.get(parent));
        let clock = above.and_then(|at| self.clocks.get(*at)).cloned().unwrap_or_default();
        self.numbers.insert(id.to_owned(), self.parties.len());
        self.parties.push(Party {
            workspace: id.to_owned(),
            role: text(body, "role").unwrap_or_default().to_owned(),
            agent: text(body, "agent").map(str::to_owned),
        });
        if self.parties.len() <= CLOCKS_MAX {
            self.clocks.push(clock);
        }
    }

    /// Advances the counter of a workspace; `None` in runs that are too large.
    fn advance(&mut self, who: &str) -> Option<(usize, u64)> {
        if self.parties.len() > CLOCKS_MAX {
            return None;
        }
        let number = *self.numbers.get(who)?;
        let hand = self.clocks.get_mut(number)?.entry(number).or_default();
        *hand += 1;
        Some((number, *hand))
    }

    fn sent(&mut self, row: &Row<'_>, body: &Value, id: &str, signal: bool) {
        let (Some(id), Some(from)) = (text(body, id), text(body, "from")) else { return };
        if self.places.get(from).is_none_or(|place| place.run != self.run) {
            return;
        }
        let moved = self.advance(from);
        let clock = moved.and_then(|(number, _)| self.clocks.get(number)).cloned();
        if let Some(clock) = &clock {
            self.open.insert(id.to_owned(), clock.clone());
        }
        if signal && !self.signals {
            return;
        }
        let (to, kind) = (text(body, "to"), text(body, "type").unwrap_or_default());
        let concurrent = clock.map(|clock| {
            let knew = |(who, far): (usize, u64)| clock.get(&who).is_some_and(|own| *own >= far);
            !self.above.is_none_or(knew)
        });
        self.above = moved;
        self.count += 1;
        let by = (text(body, "origin") == Some("human"))
            .then(|| text(body, "originator").map(|person| format!("user:{person}")))
            .flatten();
        if let Some(to) = to {
            let key = (from.to_owned(), to.to_owned(), signal, kind.to_owned(), by.clone());
            self.edges.entry(key).or_default().0 += 1;
        }
        self.used.extend([Some(from), to].into_iter().flatten().map(str::to_owned));
        if self.listed.len() == self.wanted {
            self.listed.pop_front();
        }
        if self.wanted > 0 {
            self.listed.push_back(Message {
                id: id.to_owned(),
                signal,
                kind: kind.to_owned(),
                from: from.to_owned(),
                by,
                to: to.map(str::to_owned),
                in_reply_to: text(body, "in_reply_to").map(str::to_owned),
                at: row.at,
                delivered_at: None,
                lost: None,
                concurrent,
            });
        }
    }

    fn listed(&mut self, id: &str) -> Option<&mut Message> {
        self.listed.iter_mut().rev().find(|message| message.id == id)
    }

    fn arrived(&mut self, row: &Row<'_>, body: &Value, id: &str, to: &str) {
        let (Some(id), Some(to)) = (text(body, id), text(body, to)) else { return };
        if let Some(sent) = self.open.remove(id)
            && let Some(clock) = self.numbers.get(to).and_then(|n| self.clocks.get_mut(*n))
        {
            catch_up(clock, &sent);
        }
        let at = row.at;
        if let Some(message) = self.listed(id) {
            message.delivered_at = Some(at);
        }
    }

    fn lost(&mut self, body: &Value) {
        let Some(id) = text(body, "envelope_id") else { return };
        self.open.remove(id);
        let reason = text(body, "reason").unwrap_or("lost").to_owned();
        if let Some(message) = self.listed(id) {
            message.lost = Some(reason);
        }
        let (Some(from), Some(to)) = (text(body, "from"), text(body, "to")) else { return };
        // An undelivered message is known by its ends alone; it counts with the first type that
        // matches.
        let kind = text(body, "type").map(str::to_owned);
        let fits = |(a, b, signal, own, _): &MessageKey| {
            a == from && b == to && !signal && kind.as_ref().is_none_or(|kind| kind == own)
        };
        if let Some((_, counts)) = self.edges.iter_mut().find(|(key, _)| fits(key)) {
            counts.1 += 1;
        }
    }

    /// Merges the clock of a merged workspace into that of its parent.
    fn merged(&mut self, body: &Value) {
        let number = |name: &str| self.numbers.get(text(body, name)?).copied();
        let (Some(source), Some(target)) = (number("source"), number("target")) else { return };
        let Some(known) = self.clocks.get(source).cloned() else { return };
        if let Some(clock) = self.clocks.get_mut(target) {
            catch_up(clock, &known);
        }
    }

    fn finish(mut self) -> Flow {
        let too_many = self.parties.len() > CLOCKS_MAX;
        for message in self.listed.iter_mut().filter(|_| too_many) {
            message.concurrent = None;
        }
        self.parties.retain(|party| self.used.contains(&party.workspace));
        let edge = |((from, to, signal, kind, by), (count, lost))| Edge {
            from,
            by,
            to,
            kind,
            signal,
            count,
            lost,
        };
        let mut edges: Vec<Edge> = self.edges.into_iter().map(edge).collect();
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.count));
        Flow {
            run: self.run,
            parties: self.parties,
            count: self.count,
            deleted_entries: 0,
            edges,
            messages: self.listed.into(),
        }
    }
}

/// The messages of a run that the viewer may read.
pub fn flow(source: &Source, scope: &Scope, asked: &OfFlow) -> Result<Flow, EngineError> {
    let run = chosen(source, asked.run.as_ref())?;
    let mut reading = Reading {
        signals: asked.signals,
        wanted: asked.last.unwrap_or(MESSAGES_DEFAULT).min(MESSAGES_MAX),
        places: WorkspaceDirectory::default(),
        parties: Vec::new(),
        numbers: BTreeMap::new(),
        clocks: Vec::new(),
        open: BTreeMap::new(),
        above: None,
        edges: BTreeMap::new(),
        count: 0,
        listed: VecDeque::new(),
        used: std::collections::BTreeSet::new(),
        run,
    };
    source.each(beginning(source, &reading.run)?, &mut |row| {
        if scope.has(row) {
            reading.take(row);
        } else if row.kind == "workspace_created" {
            // Needed to know which run its descendants belong to.
            reading.places.learn(row);
        }
        Ok(())
    })?;
    if reading.places.get(&reading.run).is_none() {
        return Err(no_run(source, scope, &reading.run));
    }
    let deleted = deleted(source, scope)?.remove(&reading.run).unwrap_or(0);
    Ok(Flow { deleted_entries: deleted, ..reading.finish() })
}
