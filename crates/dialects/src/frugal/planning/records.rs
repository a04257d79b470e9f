//! Records of the memory in the words of this dialect: a constraint is an invariant, a trap a
//! gotcha, and an approved decision a decision.

use althing_kernel::State;
use althing_kernel::blackboard::decision;
use althing_kernel::event::MemoryEvent;
use althing_kernel::records::vocabulary::Visibility;
use althing_kernel::records::{Effect, Kind, Record, RecordId, Status};
use althing_kernel::text::Text;
use std::fmt::Write as _;

use super::{no_headings, one_line};
use crate::frugal::capsule::{self, CapsuleText};
use crate::frugal::haid::called;
use crate::moment::utc;

/// Most records of a kind that are listed, newest first.
const LISTED_MAX: usize = 200;

/// Records that hold for the work at hand: constraints and traps that are active, and decisions
/// that stand. What is private to somebody is left out.
pub fn in_force(state: &State, kind: Kind) -> impl Iterator<Item = &Record> {
    let holds = move |record: &&Record| match kind {
        Kind::Decision => record.status == Status::Approved,
        _ => record.fields.visibility != Some(Visibility::Private),
    };
    state.memory().newest(kind, Some(true)).filter(holds).take(LISTED_MAX)
}

/// Whether an entry may change the list of invariants and gotchas.
pub(super) fn may_change_invariants(event: MemoryEvent<'_>) -> bool {
    let is_listed = |id: RecordId| matches!(id.kind, Kind::Constraint | Kind::Trap);
    match event {
        MemoryEvent::MemoryCreated(body) => is_listed(body.id),
        MemoryEvent::MemoryUpdated(body) => is_listed(body.id),
        MemoryEvent::MemoryArchived(body) => is_listed(body.id),
        MemoryEvent::MemoryExpired(body) => is_listed(body.id),
        MemoryEvent::MemoryMoved(body) => {
            is_listed(body.id) || body.effects.iter().any(|own: &Effect| is_listed(own.id))
        }
        // These are about plans, assignments and loops.
        MemoryEvent::MemoryStepped(_)
        | MemoryEvent::MemoryHeard(_)
        | MemoryEvent::MemorySwept(_)
        | MemoryEvent::MemoryTurned(_)
        | MemoryEvent::MemoryOffered(_)
        | MemoryEvent::MemoryLooped(_) => false,
    }
}

/// The invariants and gotchas; none if there are none. Each has a heading that a brief can refer
/// to: its id.
pub(super) fn invariants(state: &State) -> Option<String> {
    let mut text = String::new();
    for (kind, title) in [(Kind::Constraint, "Invariants"), (Kind::Trap, "Gotchas")] {
        let mut listed: Vec<&Record> = in_force(state, kind).collect();
        listed.sort_by_key(|record| record.id);
        if listed.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}# {title}", if text.is_empty() { "" } else { "\n" });
        for record in listed {
            let (body, by) = (no_headings(record.text.as_str()), called(&record.author));
            let place = place(record).map(|place| format!(" for `{place}`")).unwrap_or_default();
            let _ = write!(
                text,
                "\n## {id}\n\n{body}\n\n*— {kind} of `{by}`{place}, {at}*\n",
                id = record.id,
                at = utc(record.updated_at),
            );
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The paths that a record is about, in one line.
fn place(record: &Record) -> Option<String> {
    let paths: Vec<&str> = record.fields.related_paths.iter().map(Text::as_str).collect();
    let scope = record.fields.scope.as_ref().map(|scope| one_line(scope.as_str()));
    scope.or_else(|| (!paths.is_empty()).then(|| paths.join(",")))
}

/// A record in the form of a capsule.
pub fn as_capsule(record: &Record) -> String {
    let (id, text, place) = (record.id.label(), record.text.as_str(), place(record));
    let (title, body) = decision::parts(text);
    let (what, decision, gotcha) = match record.id.kind {
        Kind::Decision => (title.as_str(), Some(body.as_str()), None),
        Kind::Trap => (title.as_str(), None, Some(text)),
        // Any other kind is shown by its text alone.
        _ => (text, None, None),
    };
    let ts = utc(record.updated_at);
    let place = place.as_deref();
    capsule::render(&CapsuleText { id: &id, depends: &[], ts: &ts, what, place, decision, gotcha })
}
