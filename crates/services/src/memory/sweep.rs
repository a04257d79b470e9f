//! `sweep`: assignments of which nothing was heard, looked at where they are worked on before
//! anything is given up; and assignments of loops that are over.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::lane;
use althing_dialects::memory::words::{from_now, lasting};
use althing_kernel::memory::sweep::{Sign, judge};
use althing_kernel::memory::{Kind, Record, RecordId, Status};
use althing_kernel::{Principal, Span, State, Timestamp};
use althing_workshop::worktree::Worktree;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verbs;
use super::lanes::LOOP_SCOPES;
use super::seat::Present;
use crate::fault::Fault;

/// How many assignments are looked at in one sweep; more than one sweep moves, since some may be
/// overdue only by the time it is made.
const LOOKED_AT_MAX: usize = 300;
/// How long looking may take.
const AHEAD: Span = Span::from_secs(60);

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Sweep {
    /// Say what was seen and move nothing.
    #[serde(rename = "dryRun", alias = "dry_run", default)]
    pub(super) dry_run: bool,
}

/// What was seen of assignments that are silent.
#[derive(Default)]
struct Seen {
    signs: Vec<Value>,
    /// Those that could not be looked at, with why.
    unknown: Vec<(RecordId, String)>,
}

impl Verbs<'_> {
    pub(super) fn sweep(&self, args: &Sweep) -> Result<Value, Fault> {
        let Present { state, now, .. } = self.present()?;
        let soon = now.after(AHEAD);
        let silent = state.memory().newest(Kind::Assignment, Some(true));
        let silent: Vec<&Record> = silent
            .filter(|own| own.is_overdue(soon) && self.may_sweep(&state, own))
            .take(LOOKED_AT_MAX)
            .collect();
        let overdue = silent.iter().filter(|own| own.is_overdue(now)).count();
        let seen = self.look_at(&silent, now);
        let orphans: Vec<Orphan<'_>> = orphans(&state)
            .filter(|orphan| self.may_sweep(&state, orphan.own))
            .take(LOOKED_AT_MAX)
            .collect();
        let mut facade = Facade::new("sweep");
        facade.result("overdue", overdue).result("dry_run", args.dry_run);
        for (id, why) in &seen.unknown {
            let way = "open its worktree again, or move it by hand";
            facade.warn("not_looked_at", format!("{id}: {why}; it is left as it is: {way}"));
        }
        if args.dry_run {
            let unseen = |own: &&&Record| !seen.unknown.iter().any(|(id, _)| *id == own.id);
            let looked_at = silent.iter().filter(unseen);
            let due = looked_at.filter_map(|own| forecast(own, &seen.signs, now));
            let over = orphans.iter().map(Orphan::row);
            facade.result("would_move", due.chain(over).collect::<Vec<Value>>());
            facade.result("signs", seen.signs).result("orphans", orphans.len());
            return Ok(facade.answer());
        }
        let mut moved = Value::Array(Vec::new());
        // Somebody may be at work on what could not be looked at.
        let unknown = |own: &&&Record| seen.unknown.iter().any(|(id, _)| *id == own.id);
        if silent.iter().any(|own| unknown(&own)) {
            facade.partial();
        }
        let looked_at: Vec<RecordId> =
            silent.iter().filter(|own| !unknown(own)).map(|own| own.id).collect();
        if overdue > 0 && !looked_at.is_empty() {
            let sweep = json!({ "looked_at": looked_at, "signs": seen.signs });
            let mut swept = self.act("memory.sweep", &sweep)?;
            moved = swept["moved"].take();
            facade.result("more", swept["more"].clone());
            for own in moved.as_array_mut().into_iter().flatten() {
                explain(own, &silent, now);
                let id = own["id"].as_str().unwrap_or_default();
                let action = if own["from"] == own["to"] { "heartbeat" } else { "transition" };
                facade.effect(action, "assignment", id);
            }
        }
        let mut converged = Vec::new();
        for orphan in orphans {
            let id = orphan.own.id;
            match self.act("memory.converge", &json!({ "id": id, "to": orphan.to })) {
                Ok(done) if done["changed"] == true => {
                    converged.push(orphan.row());
                    facade.effect("converge", "assignment", &id.to_string());
                }
                Ok(_) => {}
                // What was swept before stays told.
                Err(fault) => {
                    facade.warn("not_converged", format!("{id}: {}", fault.message()));
                }
            }
        }
        facade.result("moved", moved).result("converged", converged.len());
        facade.result("converged_items", converged);
        Ok(facade.answer())
    }

    /// Whether a sweep of the caller's is about this assignment. The rest is for others to look at.
    fn may_sweep(&self, state: &State, own: &Record) -> bool {
        let me = self.principal();
        let Principal::Agent(name) = &me else { return true };
        let root = state.root().and_then(|root| state.workspace(root));
        let coordinates = root.is_some_and(|root| root.agent.as_ref() == Some(name));
        coordinates || own.is_for(&me) || own.is_dispatched_by(&me) || own.author == me
    }

    /// What shows in their worktrees that somebody is at work on assignments.
    fn look_at(&self, silent: &[&Record], now: Timestamp) -> Seen {
        let mut seen = Seen::default();
        for own in silent {
            let Some(path) = &own.fields.worktree_path else { continue };
            match Worktree::open(&self.context.setup().root, path.as_str(), &self.shown()) {
                Ok(worktree) => seen.signs.extend(signs(own, &worktree, now)),
                Err(why) => seen.unknown.push((own.id, format!("{path}: {why}"))),
            }
        }
        seen
    }
}

fn signs(own: &Record, worktree: &Worktree, now: Timestamp) -> Vec<Value> {
    let offered = own.fields.stamps.get(&Status::Offered).copied().unwrap_or(own.created_at);
    let names = [own.id.to_string(), own.id.label()];
    let names = [names[0].as_str(), names[1].as_str()];
    let signs = worktree.signs(&names, now.micros());
    lane::since(&signs, offered.micros())
        .into_iter()
        .map(|sign| json!({ "id": own.id, "at": sign.at, "evidence": sign.evidence }))
        .collect()
}

/// What would become of an assignment, by what was seen of it.
fn forecast(own: &Record, signs: &[Value], now: Timestamp) -> Option<Value> {
    let signs = signs.iter().filter_map(|sign| serde_json::from_value::<Sign>(sign.clone()).ok());
    let newest = signs.filter(|sign| sign.id == own.id).max_by_key(|sign| sign.at);
    let swept = judge(own, newest, now)?;
    let mut row = json!(swept);
    explain(&mut row, &[own], now);
    Some(row)
}

/// Says why something was moved, or only heard of.
fn explain(row: &mut Value, looked_at: &[&Record], now: Timestamp) {
    let seen = &row["sign"];
    let why = if let Some(at) = seen["at"].as_u64() {
        let evidence = seen["evidence"].as_str().unwrap_or_default().replace('_', " ");
        format!("{evidence} {}", from_now(Timestamp::from_micros(at), now))
    } else {
        let own = looked_at.iter().find(|own| row["id"] == own.id.to_string());
        let late = own.and_then(|own| own.silent_from()).unwrap_or(now);
        let late = lasting(now.since(late).secs());
        match row["from"].as_str() {
            Some("offered") => format!("nobody took it up; {late} overdue"),
            Some("accepted") => format!("it was not begun; {late} overdue"),
            _ => format!("nothing was heard of it; {late} overdue"),
        }
    };
    row["why"] = why.into();
}

/// An assignment that belongs to a loop which is over.
struct Orphan<'s> {
    own: &'s Record,
    /// How the loop ended.
    to: &'static str,
    of: RecordId,
}

impl Orphan<'_> {
    fn row(&self) -> Value {
        let why = format!("{} is {}", self.of.label(), self.to);
        json!({ "id": self.own.id, "from": self.own.status, "to": self.to, "why": why })
    }
}

fn orphans(state: &State) -> impl Iterator<Item = Orphan<'_>> {
    let live = state.memory().newest(Kind::Assignment, Some(true));
    live.filter_map(|own| {
        let scope = own.fields.scope.as_ref()?.as_str();
        let name = LOOP_SCOPES.iter().find_map(|prefix| scope.strip_prefix(prefix))?;
        let of: RecordId = name.trim().parse().ok()?;
        let to = match state.memory().record(of)?.status {
            Status::Completed => "completed",
            Status::Cancelled => "cancelled",
            _ => return None,
        };
        Some(Orphan { own, to, of })
    })
}
