//! `sweep`: moves assignments on that are overdue and show no sign of life in their worktrees, and
//! ends assignments of loops that are over.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::lane;
use althing_dialects::memory::words::{from_now, lasting};
use althing_kernel::blackboard::Label;
use althing_kernel::records::assign::Converge;
use althing_kernel::records::field::Few;
use althing_kernel::records::sweep as kernel;
use althing_kernel::records::sweep::{Sign, Swept, judge};
use althing_kernel::records::view::{MemoryReply, SweptReply};
use althing_kernel::records::vocabulary::Evidence;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{Command, Principal, Span, State, Timestamp};
use althing_workshop::worktree::Worktree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Verbs;
use super::lanes::LOOP_SCOPES;
use super::session::Present;
use crate::error::Error;

/// Most assignments examined in one sweep: more than the kernel moves at once, since some become
/// overdue only while the sweep runs.
const LOOKED_AT_MAX: usize = 300;
/// Time allowed for examining worktrees.
const AHEAD: Span = Span::from_secs(60);

/// Arguments of `sweep`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// Say what was seen and move nothing.
    #[serde(rename = "dryRun", alias = "dry_run", default)]
    pub dry_run: bool,
}

/// Findings about overdue assignments.
#[derive(Default)]
struct Seen {
    signs: Vec<Sign>,
    /// Assignments whose worktree could not be opened, with the reason.
    unknown: Vec<(RecordId, String)>,
}

impl Verbs<'_> {
    pub(super) fn sweep(&self, args: &Sweep) -> Result<Value, Error> {
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
            let hint = "make its worktree accessible, or move the assignment by hand";
            facade.warn("not_looked_at", format!("{id} was not moved: {why}; {hint}"));
        }
        if args.dry_run {
            let unseen = |own: &&&Record| !seen.unknown.iter().any(|(id, _)| *id == own.id);
            let looked_at = silent.iter().filter(unseen);
            let due = looked_at.filter_map(|own| forecast(own, &seen.signs, now));
            let over = orphans.iter().map(Orphan::row);
            facade.result("would_move", due.chain(over).collect::<Vec<Value>>());
            facade.result("signs", json!(seen.signs)).result("orphans", orphans.len());
            return Ok(facade.answer());
        }
        let mut moved = Vec::new();
        // An assignment whose worktree cannot be opened is left alone: somebody may be working there.
        let unknown = |own: &&&Record| seen.unknown.iter().any(|(id, _)| *id == own.id);
        if silent.iter().any(|own| unknown(&own)) {
            facade.partial();
        }
        let looked_at: Vec<RecordId> =
            silent.iter().filter(|own| !unknown(own)).map(|own| own.id).collect();
        if overdue > 0 && !looked_at.is_empty() {
            let swept = self.swept(looked_at, seen.signs)?;
            facade.result("more", swept.more);
            for own in &swept.moved {
                moved.push(explained(own, &silent, now));
                let action = if own.from == own.to { "heartbeat" } else { "transition" };
                facade.effect(action, "assignment", &own.id.to_string());
            }
        }
        let mut converged = Vec::new();
        for orphan in orphans {
            let id = orphan.own.id;
            match self.converged(&orphan) {
                Ok(true) => {
                    converged.push(orphan.row());
                    facade.effect("converge", "assignment", &id.to_string());
                }
                Ok(false) => {}
                // The answer still reports what was swept before.
                Err(error) => {
                    facade.warn("not_converged", format!("{id}: {}", error.message()));
                }
            }
        }
        facade.result("moved", moved).result("converged", converged.len());
        facade.result("converged_items", converged);
        Ok(facade.answer())
    }

    /// Moves on the assignments that were examined.
    fn swept(&self, looked_at: Vec<RecordId>, signs: Vec<Sign>) -> Result<SweptReply, Error> {
        let sweep = Command::MemorySweep(kernel::Sweep {
            looked_at: Some(Few::new(looked_at).map_err(Error::usage)?),
            request_id: None,
            signs: Few::new(signs).map_err(Error::usage)?,
        });
        match self.execute(sweep)? {
            MemoryReply::Swept(swept) => Ok(swept),
            other => Err(Error::unexpected(&other)),
        }
    }

    /// Moves an orphan to the state its loop ended in. Returns whether anything changed.
    fn converged(&self, orphan: &Orphan<'_>) -> Result<bool, Error> {
        let to = Label::new(orphan.to).map_err(|error| Error::defect(error.to_string()))?;
        let converge = Converge { id: orphan.own.id, request_id: None, to };
        match self.execute(Command::MemoryConverge(converge))? {
            MemoryReply::Moved(moved) => Ok(moved.changed),
            other => Err(Error::unexpected(&other)),
        }
    }

    /// Whether the caller may sweep this assignment: its agent, dispatcher or author, the
    /// coordinator, or any person.
    fn may_sweep(&self, state: &State, own: &Record) -> bool {
        let me = self.principal();
        let Principal::Agent(name) = &me else { return true };
        let root = state.root().and_then(|root| state.workspace(root));
        let coordinates = root.is_some_and(|root| root.agent.as_ref() == Some(name));
        coordinates || own.is_for(&me) || own.is_dispatched_by(&me) || own.author == me
    }

    /// Looks for signs of life in the worktrees of assignments.
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

fn signs(own: &Record, worktree: &Worktree, now: Timestamp) -> Vec<Sign> {
    let offered = own.fields.stamps.get(&Status::Offered).copied().unwrap_or(own.created_at);
    let names = [own.id.to_string(), own.id.label()];
    let names = [names[0].as_str(), names[1].as_str()];
    let signs = worktree.signs(&names, now.micros());
    lane::since(&signs, offered.micros())
        .into_iter()
        .map(|sign| Sign {
            at: Timestamp::from_micros(sign.at),
            evidence: kernel_evidence(sign.evidence),
            id: own.id,
        })
        .collect()
}

/// Translates evidence to the kernel's type.
fn kernel_evidence(evidence: lane::Evidence) -> Evidence {
    match evidence {
        lane::Evidence::ResultFile => Evidence::ResultFile,
        lane::Evidence::Commit => Evidence::Commit,
        lane::Evidence::HeartbeatFile => Evidence::HeartbeatFile,
        lane::Evidence::WorktreeFile => Evidence::WorktreeFile,
        lane::Evidence::AckFile => Evidence::AckFile,
    }
}

/// The move that a sweep would make, for a dry run.
fn forecast(own: &Record, signs: &[Sign], now: Timestamp) -> Option<Value> {
    let newest = signs.iter().filter(|sign| sign.id == own.id).max_by_key(|sign| sign.at);
    let swept = judge(own, newest.copied(), now)?;
    Some(explained(&swept, &[own], now))
}

/// Describes a swept assignment, with the reason.
fn explained(swept: &Swept, looked_at: &[&Record], now: Timestamp) -> Value {
    let why = if let Some(sign) = &swept.sign {
        let evidence = sign.evidence.to_string().replace('_', " ");
        format!("{evidence} {}", from_now(sign.at, now))
    } else {
        let own = looked_at.iter().find(|own| swept.id == own.id);
        let late = own.and_then(|own| own.silent_from()).unwrap_or(now);
        let late = lasting(now.since(late).secs());
        match swept.from {
            Status::Offered => format!("not accepted; {late} overdue"),
            Status::Accepted => format!("not started; {late} overdue"),
            _ => format!("no sign of life; {late} overdue"),
        }
    };
    let mut row = json!(swept);
    row["why"] = why.into();
    row
}

/// An assignment that belongs to a loop which is over.
struct Orphan<'s> {
    own: &'s Record,
    /// The state the loop ended in.
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
