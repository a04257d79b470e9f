//! `sweep`: assignments of which nothing was heard, looked at where they are worked on before
//! anything is given up; and assignments of loops that are over.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::lane;
use althing_kernel::memory::{Kind, Record, RecordId, Status};
use althing_kernel::{State, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verbs;
use super::lanes::LOOP_SCOPES;
use super::seat::Present;
use super::worktree::Worktree;
use crate::fault::Fault;

/// How many assignments are looked at in one sweep.
const LOOKED_AT_MAX: usize = 200;

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Sweep {
    /// Say what was seen and move nothing.
    #[serde(rename = "dryRun", alias = "dry_run", default)]
    pub(super) dry_run: bool,
}

impl Verbs<'_> {
    pub(super) fn sweep(&self, args: &Sweep) -> Result<Value, Fault> {
        let Present { state, now, .. } = self.present()?;
        let silent = state.memory().newest(Kind::Assignment, Some(true));
        let silent: Vec<&Record> =
            silent.filter(|own| own.is_overdue(now)).take(LOOKED_AT_MAX).collect();
        let signs: Vec<Value> = silent.iter().flat_map(|own| self.signs(own, now)).collect();
        let orphans = orphans(&state);
        let mut facade = Facade::new("sweep");
        facade.result("overdue", silent.len()).result("dry_run", args.dry_run);
        if args.dry_run {
            facade.result("signs", signs).result("orphans", orphans.len());
            return Ok(facade.answer());
        }
        let mut moved = Value::Array(Vec::new());
        if !silent.is_empty() {
            let mut swept = self.act("memory.sweep", &json!({ "signs": signs }))?;
            moved = swept["moved"].take();
            facade.result("more", swept["more"].clone());
            for own in moved.as_array().into_iter().flatten() {
                let id = own["id"].as_str().unwrap_or_default();
                let action = if own["from"] == own["to"] { "heartbeat" } else { "transition" };
                facade.effect(action, "assignment", id);
            }
        }
        let mut converged = 0;
        for (id, to) in orphans {
            let done = self.act("memory.converge", &json!({ "id": id, "to": to }))?;
            if done["changed"] == true {
                converged += 1;
                facade.effect("converge", "assignment", &id.to_string());
            }
        }
        facade.result("moved", moved).result("converged", converged);
        Ok(facade.answer())
    }

    /// What shows in its worktree that somebody is at work on an assignment.
    fn signs(&self, own: &Record, now: Timestamp) -> Vec<Value> {
        let Some(path) = &own.fields.worktree_path else { return Vec::new() };
        let Ok(worktree) = Worktree::open(self.seat.root(), path.as_str(), &self.shown()) else {
            return Vec::new();
        };
        let offered = own.fields.stamps.get(&Status::Offered).copied().unwrap_or(own.created_at);
        let names = [own.id.to_string(), own.id.label()];
        let names = [names[0].as_str(), names[1].as_str()];
        let signs = worktree.signs(&names, now.micros());
        lane::since(&signs, offered.micros())
            .into_iter()
            .map(|sign| json!({ "id": own.id, "at": sign.at, "evidence": sign.evidence }))
            .collect()
    }
}

/// Assignments that belong to loops which are over, with how those ended.
fn orphans(state: &State) -> Vec<(RecordId, &'static str)> {
    let live = state.memory().newest(Kind::Assignment, Some(true));
    let of_loop = |own: &Record| {
        let scope = own.fields.scope.as_ref()?.as_str();
        let name = LOOP_SCOPES.iter().find_map(|prefix| scope.strip_prefix(prefix))?;
        let id: RecordId = name.trim().parse().ok()?;
        let to = match state.memory().record(id)?.status {
            Status::Completed => "completed",
            Status::Cancelled => "cancelled",
            _ => return None,
        };
        Some((own.id, to))
    };
    live.filter_map(of_loop).take(LOOKED_AT_MAX).collect()
}
