//! `harvest`: results that workers left in their worktrees because they cannot reach the protocol.
//!
//! A result is reported once: the assignment notes the hash of the file. With `integrate` the work
//! is committed where it lies, and the assignment walks on to where the result says it is.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::lane::{self, LaneResult, Offer, Outcome};
use althing_dialects::memory::secrets;
use althing_kernel::Rule;
use althing_kernel::commons::Label;
use althing_kernel::content::Blob;
use althing_kernel::memory::{Kind, Record, RecordId, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lanes::{record, shown};
use super::seat::Present;
use super::worktree::{Report, Worktree};
use super::{Verbs, kind};
use crate::fault::Fault;

/// How many assignments are looked at in one harvest.
const LOOKED_AT_MAX: usize = 200;
/// What a noted result is called among the artifacts of an assignment.
const NOTED: &str = "lane_result";

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Harvest {
    /// Only this assignment.
    #[serde(rename = "assignmentId", alias = "assignment_id")]
    pub(super) assignment: Option<String>,
    /// Commit the work, and have the assignment, its claim and its plan follow.
    #[serde(default)]
    pub(super) integrate: bool,
}

/// Why there is nothing to harvest, or no more than this.
struct Skip {
    code: &'static str,
    why: String,
    /// Whether something went wrong, rather than there being nothing to do.
    is_failure: bool,
    /// What had been done by then.
    done: Option<Value>,
}

impl Skip {
    fn row(self, own: &Record) -> Value {
        let mut row = json!({ "assignment_id": own.id, "code": self.code, "reason": self.why });
        if let Some(done) = self.done {
            row["done"] = done;
        }
        row
    }
}

/// What fails for one assignment is told of that one, and the others go on.
impl From<Fault> for Skip {
    fn from(fault: Fault) -> Self {
        let code = match fault.rule() {
            Rule::RecordOwner => "not_yours",
            _ => kind(&fault),
        };
        Skip { is_failure: true, ..skip(code, fault.message()) }
    }
}

fn skip(code: &'static str, why: impl Into<String>) -> Skip {
    Skip { code, why: why.into(), is_failure: false, done: None }
}

/// What came of a harvest.
#[derive(Default)]
struct Basket {
    harvested: Vec<Value>,
    integrated: Vec<Value>,
}

/// A result that answers the offer it lies there for.
struct Found {
    worktree: Worktree,
    result: LaneResult,
    digest: String,
}

impl Verbs<'_> {
    pub(super) fn harvest(&self, args: &Harvest) -> Result<Value, Fault> {
        let Present { state, .. } = self.present()?;
        let lanes: Vec<Record> = if let Some(text) = &args.assignment {
            vec![record(&state, Kind::Assignment, text)?.clone()]
        } else {
            let all = state.memory().newest(Kind::Assignment, None);
            let placed = all.filter(|own| own.fields.worktree_path.is_some());
            let open = placed.filter(|own| own.is_live() || own.status == Status::Expired);
            open.take(LOOKED_AT_MAX).cloned().collect()
        };
        let mut facade = Facade::new("harvest");
        let (mut basket, mut skipped) = (Basket::default(), Vec::new());
        for own in &lanes {
            match self.take_in(own, args.integrate, &mut facade, &mut basket) {
                Ok(()) => {}
                // Most lanes have no result yet; that is said where one is asked for.
                Err(skip) if skip.code == "no_result" && args.assignment.is_none() => {}
                Err(skip) => {
                    if skip.is_failure {
                        facade.partial();
                    }
                    skipped.push(skip.row(own));
                }
            }
        }
        let Basket { harvested, integrated } = basket;
        if !harvested.is_empty() && !args.integrate {
            let way = "`althing memory harvest --integrate` commits the work and moves it on";
            facade.result("hint", way);
        }
        facade.result("looked_at", lanes.len()).result("harvested", harvested);
        facade.result("integrated", integrated).result("skipped", skipped);
        Ok(facade.answer())
    }

    /// Takes in the result of one assignment, if there is one and it is the caller's to take.
    fn take_in(
        &self,
        own: &Record,
        integrate: bool,
        facade: &mut Facade,
        basket: &mut Basket,
    ) -> Result<(), Skip> {
        let found = self.look(own)?;
        // Asked before anything is done: a commit in somebody's worktree passes no other check.
        let me = self.principal();
        if !(own.is_for(&me) || own.is_dispatched_by(&me) || own.author == me) {
            let why = format!("{} is its agent's, its dispatcher's and its author's", own.id);
            return Err(skip("not_yours", why));
        }
        let is_new = self.note(own, &found)?;
        if is_new {
            facade.effect("harvest", "assignment", &own.id.to_string());
            basket.harvested.push(told(own, &found));
        }
        if integrate {
            let done = self.integrate(own, &found, facade)?;
            basket.integrated.push(done);
        } else if !is_new {
            return Err(skip("already_harvested", "this result was reported before"));
        }
        Ok(())
    }

    /// The result of an assignment, if there is one that answers its offer.
    fn look(&self, own: &Record) -> Result<Found, Skip> {
        let path = own.fields.worktree_path.as_ref();
        let path = path.ok_or_else(|| skip("no_worktree", "the assignment names no worktree"))?;
        let worktree = Worktree::open(self.seat.root(), path.as_str(), &self.shown())
            .map_err(|why| skip("worktree_unusable", format!("{path}: {why}")))?;
        let bytes = match worktree.report() {
            Report::None => return Err(skip("no_result", format!("no {}", lane::RESULT_FILE))),
            Report::Unusable(why) => return Err(skip("lane_result_unreadable", why)),
            Report::File { bytes, .. } => bytes,
        };
        let result = lane::read(&bytes).map_err(|why| skip("lane_result_invalid", why))?;
        let names = [own.id.to_string(), own.id.label()];
        let offer = Offer {
            names: &[names[0].as_str(), names[1].as_str()],
            attempt: own.fields.attempt.unwrap_or(1),
            nonce: own.fields.nonce.as_ref().map(Label::as_str),
        };
        result.fits(&offer).map_err(|stale| {
            let why = json!(stale).as_str().unwrap_or_default().to_owned();
            skip("lane_result_stale", format!("it is for {}: {why}", result.assignment_id))
        })?;
        Ok(Found { worktree, result, digest: Blob::of(&bytes).to_string() })
    }

    /// Notes that a result was seen. Says whether it is news.
    fn note(&self, own: &Record, found: &Found) -> Result<bool, Fault> {
        let is_it = |kind: &str, place: &str| kind == NOTED && place == found.digest;
        let mut all: Vec<Value> = own.fields.artifacts.iter().map(|own| json!(own)).collect();
        let text = |own: &Value, name: &str| own[name].as_str().unwrap_or_default().to_owned();
        if all.iter().any(|own| is_it(&text(own, "type"), &text(own, "ref"))) {
            return Ok(false);
        }
        all.push(json!({
            "type": NOTED, "ref": found.digest, "description": clipped(&found.result.summary, 1_000),
        }));
        let update = json!({
            "id": own.id, "fields": { "artifacts": all }, "expected_version": own.version,
        });
        self.act("memory.update", &update)?;
        Ok(true)
    }

    /// Commits the work and has the assignment follow.
    fn integrate(&self, own: &Record, found: &Found, facade: &mut Facade) -> Result<Value, Skip> {
        let Some(steps) = steps(own.status, found.result.status) else {
            let why = format!("it is {}, from where it is not moved by a result", own.status);
            let code = if own.is_terminal() { "already_over" } else { "off_path" };
            return Err(skip(code, why));
        };
        let message = format!(
            "{}\n\nLane of {} for {}.\n",
            clipped(&found.result.summary, 500),
            own.agent().map(shown).unwrap_or_default(),
            own.id
        );
        let scratch = self.seat.opened()?.home().root().to_owned();
        let kept = found
            .worktree
            .keep(&scratch, &message)
            .map_err(|fault| Skip { is_failure: true, ..skip("commit_failed", fault.message()) })?;
        let left: Vec<Value> = kept
            .taken
            .left
            .iter()
            .map(|left| json!({ "path": left.path, "why": left.why }))
            .collect();
        let mut done = told(own, found);
        done["from"] = json!(own.status);
        done["to"] = json!(own.status);
        done["commit"] = json!(kept.commit);
        done["files"] = kept.taken.files.into();
        done["left_out"] = left.into();
        for to in &steps {
            match self.walk(own, found, to, *to == steps[steps.len() - 1]) {
                Ok(moved) => report(facade, &moved["side_effects"]),
                Err(fault) => return Err(Skip { done: Some(done), ..fault.into() }),
            }
            done["to"] = (*to).into();
        }
        facade.effect("transition", "assignment", &own.id.to_string());
        match self.let_go(own, found) {
            Ok(effects) => report(facade, &effects.into()),
            // It is where the result says; the claim runs out by itself.
            Err(fault) => _ = facade.warn("claim_kept", format!("{}: {}", own.id, fault.message())),
        }
        Ok(done)
    }

    /// One step on the way to where the result says the assignment is.
    fn walk(&self, own: &Record, found: &Found, to: &str, is_last: bool) -> Result<Value, Fault> {
        let mut step = json!({ "id": own.id, "to": to, "reason": "harvested" });
        if !own.is_for(&self.principal()) {
            step["forced"] = true.into();
        }
        if is_last {
            step["reason"] = clipped(&found.result.summary, 800).into();
            match found.result.status {
                Outcome::Completed if own.fields.plan_id.is_some() => {
                    step["plan_status"] = "done".into();
                }
                Outcome::Blocked if own.fields.plan_id.is_some() => {
                    step["plan_status"] = "blocked".into();
                }
                _ => {}
            }
        }
        self.act("memory.move", &step)
    }

    /// What is blocked holds nothing, if it is the caller's to give back.
    fn let_go(&self, own: &Record, found: &Found) -> Result<Vec<Value>, Fault> {
        if found.result.status != Outcome::Blocked {
            return Ok(Vec::new());
        }
        let Present { state, .. } = self.present()?;
        let now = state.memory().record(own.id).and_then(|own| own.fields.claim);
        let me = self.principal();
        let held = state.leases().find(|(_, lease)| Some(lease.epoch) == now && lease.holder == me);
        let Some((id, lease)) = held else { return Ok(Vec::new()) };
        self.act("lease.release", &json!({ "lease": id }))?;
        Ok(vec![
            json!({ "action": "released", "kind": "claim", "id": RecordId::claim(lease.epoch) }),
        ])
    }
}

/// The steps from a state to what a result says, if it is on the way there.
fn steps(from: Status, outcome: Outcome) -> Option<Vec<&'static str>> {
    let last = match outcome {
        Outcome::Completed => "completed",
        Outcome::Blocked => "blocked",
        Outcome::Failed => "failed",
    };
    let before: &[&str] = match (from, outcome) {
        (Status::Offered, _) => &["accepted", "started"],
        (Status::Accepted, _) | (Status::Blocked, Outcome::Completed | Outcome::Failed) => {
            &["started"]
        }
        (Status::Started, _) | (Status::Expired, Outcome::Completed) => &[],
        _ => return None,
    };
    Some(before.iter().copied().chain([last]).collect())
}

/// Says what followed from a step.
fn report(facade: &mut Facade, effects: &Value) {
    for effect in effects.as_array().into_iter().flatten() {
        let text = |name: &str| effect[name].as_str().unwrap_or_default();
        facade.effect(text("action"), text("kind"), text("id"));
    }
}

/// A text that may be kept for good: short, and without what looks like a secret.
fn clipped(text: &str, chars: usize) -> String {
    if secrets::scan(text).iter().any(secrets::Finding::is_leak) {
        return "(withheld: it looks like it contains a secret)".to_owned();
    }
    text.chars().take(chars).collect()
}

fn told(own: &Record, found: &Found) -> Value {
    let result = &found.result;
    let mut told = json!({
        "assignment_id": own.id, "agent": own.agent().map(shown), "status": result.status,
        "summary": clipped(&result.summary, 2_000), "result": found.digest,
    });
    if !result.files_changed.is_empty() {
        told["files_changed"] = json!(result.files_changed.iter().take(100).collect::<Vec<_>>());
    }
    if let Some(verdict) = result.review_verdict {
        told["review_verdict"] = json!(verdict);
    }
    let ignored = result.ignored();
    if !ignored.is_empty() {
        told["ignored_fields"] = json!(ignored);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lead_on_only_from_where_work_is() {
        let completed = |from| steps(from, Outcome::Completed);
        assert_eq!(completed(Status::Offered).unwrap(), ["accepted", "started", "completed"]);
        assert_eq!(completed(Status::Expired).unwrap(), ["completed"]);
        assert_eq!(completed(Status::Blocked).unwrap(), ["started", "completed"]);
        for off in [Status::Cancelled, Status::Completed, Status::Rerouted, Status::TimedOut] {
            assert_eq!(completed(off), None);
        }
        assert_eq!(steps(Status::Expired, Outcome::Failed), None);
        assert_eq!(steps(Status::Blocked, Outcome::Blocked), None);
    }
}
