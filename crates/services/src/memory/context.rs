//! `context`: read-only views of the shared state.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::PROTOCOL;
use althing_dialects::memory::budget::{Budget, CHARS_DEFAULT};
use althing_dialects::memory::input::ttl;
use althing_dialects::memory::item::brief;
use althing_dialects::memory::moment::{self, utc};
use althing_dialects::memory::words::counted;
use althing_engine::screen::repeated;
use althing_engine::trail_query::TrailQuery;
use althing_kernel::records::{Kind, Record};
use althing_kernel::{Actor, Event, Principal, Timestamp};
use althing_workshop::git::Git;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

use super::args::{Context, FORMS, Sight, within};
use super::claims::{self, Claim};
use super::ranking::{Wanted, density, path_of, stale};
use super::session::Present;
use super::trail::{entry_at, first_from, moment_of};
use super::{Verbs, board};
use crate::error::Error;

/// Default number of selected items.
const ITEMS_DEFAULT: usize = 20;
/// Most selected items.
const ITEMS_MAX: usize = 500;
/// Most changes in a list.
const CHANGES_MAX: usize = 200;
/// Prefixes of session ids, here and in other implementations.
const SESSIONS: [&str; 2] = ["ws_", "sess_"];
/// The format of selected items.
const SCHEMA: &str = "althing.memory/1";

impl Verbs<'_> {
    pub(super) fn context(&self, args: &Context, ignored: Option<&str>) -> Result<Value, Error> {
        let chars = args.chars_max.unwrap_or(CHARS_DEFAULT);
        let budget = Budget::new(chars, args.budget_tokens).map_err(Error::usage)?;
        let present = self.present()?;
        let mut answer = match args.kind {
            Sight::Memory => self.memory(&present, args)?,
            Sight::Execution => self.execution(&present)?,
            Sight::Board => board::board(self, &present)?,
            Sight::BoardSummary => board::summary(&present),
            Sight::Delta => delta(&present, args, &self.principal())?,
        };
        if let Some(warning) = ignored {
            match answer.get_mut("warnings").and_then(Value::as_array_mut) {
                Some(list) => list.push(warning.into()),
                None => answer["warnings"] = json!([warning]),
            }
        }
        Ok(budget.shorten(answer))
    }

    /// The caller's environment: project, branch, platform, session and claims.
    fn execution(&self, present: &Present) -> Result<Value, Error> {
        let own = self.principal();
        let own_claims = claims::held_by(&present.state, present.now, &own);
        let own_claims: Vec<Value> = own_claims.iter().map(Claim::conflict).collect();
        let git = self
            .context
            .setup()
            .is_git
            .then(|| Git::new(&self.context.setup().root, &self.shown()));
        let known = match &own {
            Principal::Agent(name) => present.state.agent(name).is_some(),
            Principal::User(id) => present.state.user(id).is_some(),
            Principal::System => true,
        };
        Ok(json!({
            "kind": "execution",
            "execution_context": {
                "protocol": PROTOCOL,
                "althing": env!("CARGO_PKG_VERSION"),
                "project": self.project_name()?,
                "project_id": present.state.project().map(|project| project.id.as_str().to_owned()),
                "root": &self.context.setup().root,
                "is_git": git.is_some(),
                "branch": git.as_ref().and_then(Git::branch),
                "platform": std::env::consts::OS,
                "architecture": std::env::consts::ARCH,
                "agent": self.shown(),
                "is_registered": known,
                "session_id": self.session(&present.state, present.now)?,
                "now": utc(present.now),
                "memory_version": present.state.seq(),
                "claims": own_claims,
            },
        }))
    }

    /// Records ranked for a path or a task, most relevant first.
    fn memory(&self, present: &Present, args: &Context) -> Result<Value, Error> {
        let path = args.path.as_deref().map(path_of).transpose()?;
        let limit = within("maxItems", args.items_max, ITEMS_MAX)?.unwrap_or(ITEMS_DEFAULT);
        let (selected, has_more) = self.select(
            present,
            &Wanted {
                path: path.as_deref(),
                text: args.query.as_deref().unwrap_or_default(),
                limit,
                pending: args.pending,
                fill: !args.matching,
            },
        );
        Ok(json!({
            "kind": "memory",
            "context_schema": SCHEMA,
            "memory_version": present.state.seq(),
            "memory_density": density(&present.state),
            "path": path,
            "selected": selected,
            "has_more": has_more,
            "stale_warnings": stale(&present.state, present.now, 5),
        }))
    }
}

/// The start of a delta: after an entry, or at a time.
struct Start {
    after: Option<u64>,
    from: Option<Timestamp>,
    source: &'static str,
    session: Option<String>,
    is_known: bool,
}

impl Start {
    /// Reads the start of a delta from `since`.
    fn find(present: &Present, since: &str) -> Result<Start, Error> {
        let plain = since.strip_prefix('#').unwrap_or(since);
        if !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit()) {
            let end = present.state.seq();
            let Some(seq) = plain.parse().ok().filter(|seq| *seq <= end) else {
                let message = format!("the trail ends at entry {end}, before {plain}");
                return Err(Error::usage(format!("'since': {message}; {FORMS}")));
            };
            return Ok(Start::at(Some(seq), None, "trail_number"));
        }
        if let Some(at) = moment::read(since) {
            return Ok(Start::at(None, Some(at), "time"));
        }
        if let Ok(secs) = ttl("since", &since.into()) {
            let back = secs.saturating_mul(1_000_000);
            let at = Timestamp::from_micros(present.now.micros().saturating_sub(back));
            return Ok(Start::at(None, Some(at), "duration"));
        }
        if !SESSIONS.iter().any(|prefix| since.starts_with(prefix)) {
            return Err(Error::usage(format!(
                "'since': {:?} is not a time; {FORMS}",
                repeated(since)
            )));
        }
        // Session ids begin with their time, so ended sessions are found as well.
        let session = Some(since.chars().take(64).collect::<String>());
        let kinds = [althing_kernel::Kind::SessionOpened];
        if let Some(at) = moment::of_id(since)
            && let Some(seq) = entry_at(&present.engine, at, &kinds, Some(since))?
        {
            return Ok(Start { session, ..Start::at(Some(seq), Some(at), "session") });
        }
        // An unknown session is answered with all changes and a warning.
        let start = Start::at(Some(0), None, "unknown_session");
        Ok(Start { session, is_known: false, ..start })
    }

    fn at(after: Option<u64>, from: Option<Timestamp>, source: &'static str) -> Self {
        Start { after, from, source, session: None, is_known: true }
    }

    /// The number of the entry after which it begins.
    fn entry(&self, present: &Present) -> Result<u64, Error> {
        let (None, Some(from)) = (self.after, self.from) else {
            return Ok(self.after.unwrap_or(0));
        };
        let end = present.state.seq();
        let next = Timestamp::from_micros(from.micros().saturating_add(1));
        let first = first_from(&present.engine, next)?.unwrap_or(1);
        // The search ends at the last entry, which may be from before.
        let is_last = first == end && moment_of(&present.engine, end)?.is_some_and(|at| at <= from);
        Ok(if is_last { end } else { first.saturating_sub(1) })
    }
}

/// The delta view: records, claims and archived records since a point.
fn delta(present: &Present, args: &Context, me: &Principal) -> Result<Value, Error> {
    let Some(since) = args.since.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return Err(Error::usage(format!("delta requires 'since': {FORMS}")));
    };
    let start = Start::find(present, since)?;
    let changed = changed_since(present, start.from, start.after);
    let mut counts: Map<String, Value> = Map::new();
    for record in &changed {
        let kind = record.id.kind.to_string();
        let count = counts.get(&kind).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(kind, (count + 1).into());
    }
    let items: Vec<Value> = changed
        .iter()
        .take(CHANGES_MAX)
        .map(|record| change(&present.state.shown(record), start.after, start.from))
        .collect();
    let first = start.entry(present)?;
    let (opened, ended) = claims::since(present, first)?;
    let archived = archived(present, me, first)?;
    if !(opened.is_empty() && ended.is_empty()) {
        let both: BTreeSet<_> = opened.iter().chain(&ended).map(|claim| claim.id).collect();
        counts.insert(Kind::Claim.to_string(), both.len().into());
    }
    let few = |claims: &[Claim]| -> Vec<Value> {
        claims.iter().take(CHANGES_MAX).map(Claim::change).collect()
    };
    let mut answer = json!({
        "kind": "delta",
        "since": since,
        "since_session": start.session,
        "source": start.source,
        "complete": start.is_known,
        "memory_version": present.state.seq(),
        "summary": format!(
            "{} changed, {} opened, {} ended",
            changed.len(), counted(opened.len(), "claim"), ended.len()
        ),
        "counts": counts,
        "changed_items": items,
        "archived_items": archived,
        "opened_claims": few(&opened),
        "ended_claims": few(&ended),
    });
    if !start.is_known {
        let session = start.session.unwrap_or_default();
        answer["session_known"] = false.into();
        answer["warnings"] =
            json!([format!("session {session} is unknown; all changes are listed")]);
    }
    Ok(answer)
}

/// Records archived since an entry, newest first. An archived trap may have been private, so other
/// agents do not see it.
fn archived(present: &Present, me: &Principal, first: u64) -> Result<Vec<Value>, Error> {
    let asked = TrailQuery {
        after: Some(first),
        kinds: vec![althing_kernel::Kind::MemoryArchived],
        limit: Some(CHANGES_MAX),
        last: true,
        ..TrailQuery::default()
    };
    let mut list = Vec::new();
    for found in asked.find(&mut *present.engine.reader()?)?.iter().rev() {
        let entry = &found.entry.stamped;
        let (Event::MemoryArchived(body), Actor::Principal(by)) =
            (&entry.draft.event, &entry.draft.actor)
        else {
            continue;
        };
        let is_agent = matches!(me, Principal::Agent(_));
        if body.id.kind == Kind::Trap && is_agent && by != me {
            continue;
        }
        list.push(json!({
            "id": body.id.to_string(), "short_label": body.id.label(), "by": called(by),
            "reason": body.reason, "at": utc(entry.at), "entry": found.entry.seq,
        }));
    }
    Ok(list)
}

/// Records changed since a time or an entry, newest first.
pub(super) fn changed_since(
    present: &Present,
    from: Option<Timestamp>,
    after: Option<u64>,
) -> Vec<&Record> {
    let memory = present.state.memory();
    let newer = |record: &&Record| after.is_some() || from.is_none_or(|at| record.updated_at > at);
    memory.changed_since(after.unwrap_or(0)).take_while(newer).collect()
}

/// A short description of a changed record.
pub(super) fn change(record: &Record, after: Option<u64>, from: Option<Timestamp>) -> Value {
    let is_new = match (after, from) {
        (Some(after), _) => record.created_seq > after,
        (None, Some(from)) => record.created_at > from,
        (None, None) => true,
    };
    json!({
        "id": record.id.to_string(),
        "short_label": record.id.label(),
        "kind": record.id.kind,
        "status": record.status,
        "change": if is_new { "created" } else { "changed" },
        "text": brief(record.text.as_str(), 120),
        "author": called(&record.author),
        "updated_by": called(&record.updated_by),
        "updated_at": utc(record.updated_at),
        "entry": record.updated_seq,
    })
}

/// The name of the count of a kind.
pub(super) fn label(kind: Kind) -> String {
    format!("open_{kind}s")
}
