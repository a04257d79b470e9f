//! Append-only files: `protocol.log`, the token ledger, and decisions.

use althing_kernel::blackboard::message::{Note, Outcome};
use althing_kernel::blackboard::{capsule, decision, ledger};
use althing_kernel::event::{AgentEvent, BlackboardEvent, EventRoom, LeaseEvent, MemoryEvent};
use althing_kernel::records::RecordId;
use althing_kernel::text::Text;
use althing_kernel::{Actor, Event, Principal, Stamped};

use std::fmt::Write as _;

use super::{conflict_path, no_headings, one_line};
use crate::frugal::haid::called;
use crate::frugal::plain::escaped;
use crate::moment::utc;

/// An append-only file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// `protocol.log`: every event, one line each.
    Protocol,
    /// `protocol/ledger.jsonl`: tokens, one record per line.
    Ledger,
    /// `ledger/decisions.md`: decisions, for people to read.
    Decisions,
}

impl Log {
    /// All of them.
    pub const ALL: [Log; 3] = [Log::Protocol, Log::Ledger, Log::Decisions];

    /// Path of the file.
    pub fn path(self) -> &'static str {
        match self {
            Log::Protocol => "protocol.log",
            Log::Ledger => "protocol/ledger.jsonl",
            Log::Decisions => "ledger/decisions.md",
        }
    }
}

/// The text that an entry adds to a log.
pub fn line(log: Log, entry: &Stamped) -> Option<String> {
    match log {
        Log::Protocol => protocol(entry),
        Log::Ledger => match &entry.draft.event {
            Event::LedgerLogged(body) => Some(tokens(entry, body)),
            _ => None,
        },
        Log::Decisions => match &entry.draft.event {
            Event::DecisionAppended(body) => Some(decided(entry, body)),
            Event::LeaseExpired(body) => Some(lapsed(entry, &body.holder, body.lease.as_str())),
            // Any other entry is in this log if the memory changed a decision with it.
            _ => remembered(entry).map(|own| own.text(entry)),
        },
    }
}

/// Actions that write log lines without changing anything: no entry of the trail stands behind
/// them.
const LOOK_UPS: [(&str, &str); 8] = [
    ("protocol", "init"),
    ("resolve", "lookup"),
    ("resolve", "reverse"),
    ("blackboard", "get"),
    ("capsule", "hydrate"),
    ("brief", "build"),
    ("brief", "refused"),
    ("gate", "to-message"),
];

/// Whether a line of `protocol.log` is about a look-up.
pub fn is_look_up(line: &str) -> bool {
    let mut fields = line.split('\t').skip(1);
    let (actor, action) = (fields.next(), fields.next());
    LOOK_UPS.iter().any(|(own, verb)| actor == Some(own) && action == Some(verb))
}

fn protocol(entry: &Stamped) -> Option<String> {
    let (actor, action, detail) = log_fields(entry)?;
    Some(format!("{}\t{actor}\t{action}\t{}\n", utc(entry.at), escaped(&detail)))
}

/// Component, action and details of a log line.
type Fields = (&'static str, &'static str, String);

fn log_fields(entry: &Stamped) -> Option<Fields> {
    match entry.draft.event.room() {
        EventRoom::Blackboard(event) => Some(of_blackboard(event)),
        EventRoom::Memory(_) => remembered(entry).map(|own| ("decision", own.action, own.title)),
        EventRoom::Lease(event) => of_leases(entry, event),
        EventRoom::Agent(event) => of_agents(event),
        EventRoom::Admin(_)
        | EventRoom::User(_)
        | EventRoom::Workspace(_)
        | EventRoom::Message(_)
        | EventRoom::Plan(_)
        | EventRoom::Approval(_) => None,
    }
}

fn of_blackboard(event: BlackboardEvent<'_>) -> Fields {
    match event {
        BlackboardEvent::SymbolSet(body) => {
            ("resolve", "set", format!("{}={}", body.id, body.value))
        }
        BlackboardEvent::FactSet(body) => {
            ("blackboard", "set", format!("{}={}", body.key, body.value))
        }
        BlackboardEvent::FactDeleted(body) => ("blackboard", "del", body.key.to_string()),
        BlackboardEvent::CapsuleWritten(body) => ("capsule", "write", written(body)),
        BlackboardEvent::LedgerLogged(body) => {
            ("ledger", "log", format!("{}/{}={}", body.role, body.kind, body.tokens.get()))
        }
        BlackboardEvent::LedgerBaselined(body) => {
            ("ledger", "baseline", format!("{}={}", body.role, body.tokens.get()))
        }
        BlackboardEvent::MessageNoted(body) => {
            let (action, detail) = noted(body);
            ("validate", action, detail)
        }
        BlackboardEvent::DecisionAppended(body) => ("decision", "append", body.title.to_string()),
        BlackboardEvent::DisputeRaised(body) => {
            ("conflict", "raise", format!("{} {}", body.id, body.title))
        }
    }
}

/// How a decision was changed through the memory.
struct Remembered {
    action: &'static str,
    done: &'static str,
    id: RecordId,
    title: String,
    body: String,
}

/// A decision that was approved, changed or withdrawn through the memory.
fn remembered(entry: &Stamped) -> Option<Remembered> {
    let of = |id: RecordId, text: &str, action: &'static str, done: &'static str| {
        let (title, body) = decision::parts(text);
        Remembered { action, done, id, title: one_line(title.as_str()), body }
    };
    let EventRoom::Memory(event) = entry.draft.event.room() else { return None };
    match event {
        MemoryEvent::MemoryMoved(own) => {
            own.decided.as_ref().map(|text| of(own.id, text.as_str(), "append", "approved"))
        }
        MemoryEvent::MemoryUpdated(own) => {
            own.decided.as_ref().map(|text| of(own.id, text.as_str(), "update", "changed"))
        }
        MemoryEvent::MemoryArchived(own) => own.withdrawn.as_ref().map(|title| {
            let reason = own.reason.as_ref().map_or("It no longer stands.", |text| text.as_str());
            let withdrawn = of(own.id, title.as_str(), "withdraw", "withdrawn");
            Remembered { body: reason.to_owned(), ..withdrawn }
        }),
        // These change no decision.
        MemoryEvent::MemoryCreated(_)
        | MemoryEvent::MemoryStepped(_)
        | MemoryEvent::MemoryHeard(_)
        | MemoryEvent::MemorySwept(_)
        | MemoryEvent::MemoryTurned(_)
        | MemoryEvent::MemoryOffered(_)
        | MemoryEvent::MemoryLooped(_)
        | MemoryEvent::MemoryExpired(_) => None,
    }
}

impl Remembered {
    fn text(&self, entry: &Stamped) -> String {
        let (ts, body, id) = (utc(entry.at), no_headings(&self.body), self.id.label());
        let (title, done) = (&self.title, self.done);
        let by = match &entry.draft.actor {
            Actor::Principal(who) => called(who),
            Actor::Protocol => entry.draft.actor.to_string(),
        };
        let mark = if done == "approved" { String::new() } else { format!(" ({done})") };
        format!("\n## {ts} — {title}{mark}\n\n{body}\n\n*— {id} {done} by `{by}`*\n")
    }
}

fn of_leases(entry: &Stamped, event: LeaseEvent<'_>) -> Option<Fields> {
    Some(match event {
        LeaseEvent::LeaseOpened(body) => {
            let surfaces: Vec<&str> =
                body.surfaces.as_slice().iter().map(althing_kernel::Surface::as_str).collect();
            let task = body.task.as_ref().map_or("", |task| task.as_str());
            let detail = format!("{} task={task} {}", called(&body.holder), surfaces.join(","));
            ("claim", "claim", detail)
        }
        LeaseEvent::LeaseReleased(body) => ("claim", "release", called(&body.holder)),
        LeaseEvent::LeaseExpired(body) => ("claim", "reap", called(&body.holder)),
        LeaseEvent::LeaseForced(body) => {
            ("claim", "override", format!("{} {}", called(&body.holder), body.reason))
        }
        LeaseEvent::LeaseRenewed(_) => {
            let Actor::Principal(holder) = &entry.draft.actor else { return None };
            ("claim", "heartbeat", called(holder))
        }
    })
}

fn of_agents(event: AgentEvent<'_>) -> Option<Fields> {
    let agent = |name: &althing_kernel::AgentName| called(&Principal::Agent(name.clone()));
    Some(match event {
        AgentEvent::AgentRegistered(body) => ("haid", "register", agent(&body.agent)),
        AgentEvent::AgentHeartbeat(body) => ("haid", "heartbeat", agent(&body.agent)),
        AgentEvent::AgentRevoked(body) => ("haid", "revoke", agent(&body.agent)),
        AgentEvent::AgentReinstated(body) => ("haid", "reinstate", agent(&body.agent)),
        AgentEvent::AgentDescribed(_)
        | AgentEvent::SessionOpened(_)
        | AgentEvent::SessionConnected(_)
        | AgentEvent::SessionDisconnected(_)
        | AgentEvent::SessionKept(_)
        | AgentEvent::SessionClosed(_)
        | AgentEvent::AuthenticationSucceeded(_)
        | AgentEvent::AuthenticationFailed(_) => return None,
    })
}

fn written(body: &capsule::Write) -> String {
    let depends: Vec<&str> =
        body.depends.iter().map(althing_kernel::blackboard::Handle::as_str).collect();
    format!("{} depends={} lines={}", body.id, depends.join(","), body.lines())
}

fn noted(body: &Note) -> (&'static str, String) {
    let errors = || {
        let texts: Vec<&str> = body.errors.iter().map(Text::as_str).collect();
        serde_json::Value::from(texts).to_string()
    };
    let which = || body.msg_id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    match (body.outcome, body.attempts) {
        (Outcome::Accept, None) => ("accept", which()),
        (Outcome::Accept, Some(1)) => ("accept", "attempt=1".to_owned()),
        (Outcome::Accept, Some(tries)) => ("accept-retry", format!("attempt={tries}")),
        (Outcome::Reject, _) => ("reject", errors()),
        (Outcome::Retry, tries) => ("accept-retry", format!("attempt={}", tries.unwrap_or(2))),
        // Two malformed messages escalate; with fewer it was the stream that ended.
        (Outcome::Escalate, Some(2..)) => ("escalate", "attempts=2".to_owned()),
        (Outcome::Escalate, tries) => {
            ("escalate", format!("stream-end attempts={}", tries.unwrap_or(0)))
        }
    }
}

/// A line of the ledger: the original fields in their order, then those of this implementation.
fn tokens(entry: &Stamped, body: &ledger::Log) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!(
        "{{\"ts\":{},\"role\":{},\"kind\":{},\"tokens\":{}",
        quoted(&utc(entry.at)),
        quoted(body.role.as_str()),
        quoted(body.kind.as_str()),
        body.tokens.get()
    );
    let rest = [
        ("msg_id", &body.msg_id),
        ("tokenizer", &body.tokenizer),
        ("agent", &body.agent),
        ("task", &body.task),
        ("tool", &body.tool),
    ];
    for (name, value) in rest {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(text, ",\"{name}\":{}", quoted(value.as_str()));
        }
    }
    if let Some(messages) = body.messages {
        let _ = write!(text, ",\"messages\":{messages}");
    }
    text + "}\n"
}

fn decided(entry: &Stamped, body: &decision::Appended) -> String {
    let (ts, title, by) = (utc(entry.at), one_line(body.title.as_str()), called(&body.by));
    let link = match &body.dispute {
        Some(id) => {
            let path = conflict_path(entry.at, id);
            let name = path.rsplit('/').next().unwrap_or_default();
            format!("\n\nSee [{path}](conflicts/{name}).")
        }
        None => String::new(),
    };
    let via = body.via.as_ref().map_or("althing", |via| via.as_str());
    let body = no_headings(body.body.as_str());
    format!("\n## {ts} — {title}\n\n{body}{link}\n\n*— recorded via {via} by `{by}`*\n")
}

fn lapsed(entry: &Stamped, holder: &Principal, lease: &str) -> String {
    let (ts, who) = (utc(entry.at), called(holder));
    format!(
        "\n## {ts} — auto-release (TTL/heartbeat expired)\n\n\
         The claim of `{who}` (lease {lease}) ran out without a heartbeat and was released.\n"
    )
}
