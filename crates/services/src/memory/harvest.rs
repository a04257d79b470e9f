//! `harvest`: results that workers left in their worktrees because they cannot reach the protocol.
//!
//! A result is reported once: the assignment notes the hash of the file. With `integrate` the work
//! within the lane's scope is committed in its worktree, and the assignment moves to the state that
//! the result names.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::lane::{self, LaneResult, Offer, Outcome};
use althing_dialects::memory::words::counted;
use althing_engine::screen;
use althing_kernel::blackboard::Label;
use althing_kernel::content::Blob;
use althing_kernel::lease::Surfaces;
use althing_kernel::records::assign::may_stand_in;
use althing_kernel::records::field::{Artifact, Few};
use althing_kernel::records::transition::{Move, PlanStatus};
use althing_kernel::records::update::Update;
use althing_kernel::records::view::{MemoryReply, Moved};
use althing_kernel::records::{Effect, Fields, Kind, Record, Status};
use althing_kernel::text::Text;
use althing_kernel::{Command, Rule, State};
use althing_workshop::worktree::{Report, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lanes::{record, shown, surfaces};
use super::session::Present;
use super::{Verbs, kind};
use crate::error::Error;

/// Most assignments examined in one harvest.
const LOOKED_AT_MAX: usize = 200;
/// Most files outside of a scope that are named.
const OUTSIDE_SHOWN_MAX: usize = 20;
/// The type of the artifact that marks a result as reported.
const NOTED: &str = "lane_result";
/// The type of the artifact that marks a result as integrated.
const INTEGRATED: &str = "lane_result_integrated";

/// Arguments of `harvest`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Harvest {
    /// Only this assignment.
    #[serde(rename = "assignmentId", alias = "assignment_id")]
    pub assignment: Option<String>,
    /// Commit the work, and have the assignment, its claim and its plan follow.
    #[serde(default)]
    pub integrate: bool,
    /// Commit files outside of the lane's scope as well (its dispatcher, or a person who may).
    #[serde(rename = "allowOutside", alias = "allow_outside", default)]
    pub allow_outside: bool,
}

/// The reason why an assignment is skipped.
struct Skip {
    code: &'static str,
    why: String,
    /// Whether this is an error, rather than nothing to do.
    is_failure: bool,
    /// The steps that were done before.
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

/// An error with one assignment skips it, and the others go on.
impl From<Error> for Skip {
    fn from(error: Error) -> Self {
        let code = match error.rule() {
            Rule::RecordOwner => "not_yours",
            Rule::LaneScope => "outside_scope",
            // Any other rule has no name of its own in this dialect.
            _ => kind(&error),
        };
        failure(code, error.message())
    }
}

fn skip(code: &'static str, why: impl Into<String>) -> Skip {
    Skip { code, why: why.into(), is_failure: false, done: None }
}

/// Skips an assignment because of an error.
fn failure(code: &'static str, why: impl Into<String>) -> Skip {
    Skip { is_failure: true, ..skip(code, why) }
}

/// The results of a harvest.
#[derive(Default)]
struct Basket {
    harvested: Vec<Value>,
    integrated: Vec<Value>,
}

/// A result file that belongs to the current offer of its assignment.
struct Found {
    worktree: Worktree,
    result: LaneResult,
    digest: String,
}

impl Verbs<'_> {
    pub(super) fn harvest(&self, args: &Harvest) -> Result<Value, Error> {
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
            match self.take_in(&state, own, args, &mut facade, &mut basket) {
                Ok(()) => {}
                // Most lanes have no result yet; this is reported only for a named assignment.
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
            let hint = "`althing memory harvest --integrate` commits the work and moves it on";
            facade.result("hint", hint);
        }
        facade.result("looked_at", lanes.len()).result("harvested", harvested);
        facade.result("integrated", integrated).result("skipped", skipped);
        Ok(facade.answer())
    }

    /// Harvests the result of one assignment, if there is one and the caller may.
    fn take_in(
        &self,
        state: &State,
        own: &Record,
        args: &Harvest,
        facade: &mut Facade,
        basket: &mut Basket,
    ) -> Result<(), Skip> {
        let found = self.look(own)?;
        // Checked first, because nothing else checks a commit in somebody's worktree.
        may_stand_in(state, &self.principal(), own)
            .map_err(|no| failure("not_yours", no.message))?;
        let is_new = self.note(own, &found)?;
        if is_new {
            warn_of_secrets(own, &found.result, facade);
            facade.effect("harvest", "assignment", &own.id.to_string());
            basket.harvested.push(result_row(own, &found));
        }
        if args.integrate {
            if has_artifact(own, INTEGRATED, &found.digest) {
                let why = "this result was integrated before; later work needs a new result file";
                return Err(skip("already_integrated", why));
            }
            let done = self.integrate(own, &found, args.allow_outside, facade)?;
            basket.integrated.push(done);
        } else if !is_new {
            return Err(skip("already_harvested", "this result was reported before"));
        }
        Ok(())
    }

    /// Reads the result file of an assignment, if it belongs to the current offer.
    fn look(&self, own: &Record) -> Result<Found, Skip> {
        let path = own.fields.worktree_path.as_ref();
        let path = path.ok_or_else(|| skip("no_worktree", "the assignment names no worktree"))?;
        let worktree = Worktree::open(&self.context.setup().root, path.as_str(), &self.shown())
            .map_err(|why| failure("worktree_unusable", format!("{path}: {why}")))?;
        let bytes = match worktree.report() {
            Report::None => return Err(skip("no_result", format!("no {}", lane::RESULT_FILE))),
            Report::Unusable(why) => return Err(failure("lane_result_unreadable", why)),
            Report::File { bytes, .. } => bytes,
        };
        let result =
            lane::read(&bytes).map_err(|why| failure("lane_result_invalid", clipped(&why, 400)))?;
        let names = [own.id.to_string(), own.id.label()];
        let offer = Offer {
            names: &[names[0].as_str(), names[1].as_str()],
            attempt: own.fields.attempt.unwrap_or(1),
            nonce: own.fields.nonce.as_ref().map(Label::as_str),
        };
        result.fits(&offer).map_err(|stale| {
            let id = screen::repeated(&result.assignment_id);
            skip("lane_result_stale", format!("the result is for {id}: {}", stale.as_str()))
        })?;
        Ok(Found { worktree, result, digest: Blob::of(&bytes).to_string() })
    }

    /// Marks a result as reported. Returns whether it is new.
    fn note(&self, own: &Record, found: &Found) -> Result<bool, Error> {
        if has_artifact(own, NOTED, &found.digest) {
            return Ok(false);
        }
        self.mark(own, NOTED, found)?;
        Ok(true)
    }

    /// Adds an artifact for a result to its assignment.
    fn mark(&self, own: &Record, sort: &str, found: &Found) -> Result<(), Error> {
        let defect = |error: &dyn std::fmt::Display| Error::defect(error.to_string());
        let mut all = own.fields.artifacts.to_vec();
        all.push(Artifact {
            description: Some(Text::lossy(&clipped(&found.result.summary, 1_000))),
            reference: Text::new(&found.digest).map_err(|error| defect(&error))?,
            kind: Label::new(sort).map_err(|error| defect(&error))?,
        });
        let artifacts = Few::new(all).map_err(Error::usage)?;
        let update = Update {
            clear: Few::default(),
            expected_version: Some(own.version),
            fields: Fields { artifacts, ..Fields::default() },
            id: own.id,
            request_id: None,
            tags: None,
            text: None,
        };
        self.execute(Command::MemoryUpdate(Box::new(update))).map(drop)
    }

    /// Commits the work and moves the assignment on.
    fn integrate(
        &self,
        own: &Record,
        found: &Found,
        allow_outside: bool,
        facade: &mut Facade,
    ) -> Result<Value, Skip> {
        let Some(steps) = steps(own.status, found.result.status) else {
            let why = format!("it is {}, which a result cannot change", own.status);
            let code = if own.is_terminal() { "already_over" } else { "off_path" };
            return Err(skip(code, why));
        };
        if let Some(why) = found.worktree.unsettled() {
            return Err(failure("worktree_unsettled", why));
        }
        let scope = self.kept_within(own, found, allow_outside)?;
        let message = format!(
            "{}\n\nLane of {} for {}.\n",
            clipped(&found.result.summary, 500),
            own.agent().map(shown).unwrap_or_default(),
            own.id
        );
        let scratch = self.context.opened()?.home().root().to_owned();
        let kept = found
            .worktree
            .keep(&scratch, &message, scope.as_ref())
            .map_err(|error| failure("commit_failed", error.message()))?;
        let left: Vec<Value> = kept
            .taken
            .left
            .iter()
            .map(|left| json!({ "path": left.path, "why": left.why }))
            .collect();
        let mut done = result_row(own, found);
        done["from"] = json!(own.status);
        done["to"] = json!(own.status);
        done["commit"] = json!(kept.commit);
        done["files"] = kept.files.into();
        done["left_out"] = left.into();
        for to in &steps {
            match self.walk(own, found, to, *to == steps[steps.len() - 1]) {
                Ok(moved) => report(facade, &moved.side_effects),
                Err(error) => return Err(Skip { done: Some(done), ..error.into() }),
            }
            done["to"] = (*to).into();
        }
        facade.effect("transition", "assignment", &own.id.to_string());
        let Present { state, .. } = self.present()?;
        // A final assignment takes no more results. An open one may be resumed, and the same file
        // must not count for it again.
        if let Some(now) = state.memory().record(own.id).filter(|now| !now.is_terminal())
            && let Err(error) = self.mark(now, INTEGRATED, found)
        {
            return Err(Skip { done: Some(done), ..error.into() });
        }
        Ok(done)
    }

    /// The scope to commit: the lane's, or everything (`None`) where that is allowed. Refuses if
    /// files lie outside of the scope, since work left behind is soon forgotten.
    fn kept_within(
        &self,
        own: &Record,
        found: &Found,
        allow_outside: bool,
    ) -> Result<Option<Surfaces>, Skip> {
        let Some(scope) = scope_of(own) else { return Ok(None) };
        let outside = found.worktree.outside(&scope).map_err(Error::from)?;
        if outside.is_empty() {
            return Ok(Some(scope));
        }
        let me = self.principal();
        let only_its_agent = own.is_for(&me) && !own.is_dispatched_by(&me);
        if allow_outside && !only_its_agent {
            return Ok(None);
        }
        let named: Vec<&String> = outside.iter().take(OUTSIDE_SHOWN_MAX).collect();
        let list: Vec<&str> = named.iter().map(|name| name.as_str()).collect();
        let whose = if allow_outside { " and not its agent" } else { "" };
        let lie = if outside.len() == 1 { "lies" } else { "lie" };
        let why = format!(
            "{} {lie} outside of its scope, so nothing was committed: {}. Remove them, or \
             have its dispatcher or a person{whose} pass --allow-outside",
            counted(outside.len(), "file"),
            list.join(", ")
        );
        let done = json!({ "outside": named, "total": outside.len() });
        let error = self.on_record("memory.move", Error::refused(Rule::LaneScope, why));
        Err(Skip { done: Some(done), ..error.into() })
    }

    /// Moves the assignment one step towards the state that the result names.
    fn walk(&self, own: &Record, found: &Found, to: &str, is_last: bool) -> Result<Moved, Error> {
        let plan_status = match found.result.status {
            Outcome::Completed => Some(PlanStatus::Done),
            Outcome::Blocked => Some(PlanStatus::Blocked),
            Outcome::Failed => None,
        };
        let reason =
            if is_last { clipped(&found.result.summary, 800) } else { "harvested".to_owned() };
        let step = Move {
            agent: None,
            claim: None,
            expected_version: None,
            forced: !own.is_for(&self.principal()),
            id: own.id,
            // A worker that left a result is gone, so its claim is released.
            let_go: is_last && found.result.status != Outcome::Completed,
            merged_into: None,
            plan_status: plan_status.filter(|_| is_last && own.fields.plan_id.is_some()),
            reason: Some(Text::lossy(&reason)),
            request_id: None,
            to: Label::new(to).map_err(|error| Error::defect(error.to_string()))?,
        };
        match self.execute(Command::MemoryMove(Box::new(step)))? {
            MemoryReply::Moved(moved) => Ok(moved),
            other => Err(Error::unexpected(&other)),
        }
    }
}

/// Whether an assignment has the artifact of this type for a result.
fn has_artifact(own: &Record, sort: &str, digest: &str) -> bool {
    let is_it = |artifact: &Artifact| {
        artifact.kind.as_str() == sort && artifact.reference.as_str() == digest
    };
    own.fields.artifacts.iter().any(is_it)
}

/// The scope a lane was offered with; `None` for everything.
fn scope_of(own: &Record) -> Option<Surfaces> {
    let covered = own.fields.covers.as_ref().map(|cover| cover.surfaces.clone());
    let named = own.fields.scope.as_ref();
    covered.or_else(|| named.and_then(|scope| surfaces(scope.as_str()).ok().flatten()))
}

/// The states between a state and the outcome of a result; `None` if the outcome cannot be reached.
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

/// Adds the side effects of a command to the answer.
pub(super) fn report(facade: &mut Facade, effects: &[Effect]) {
    for Effect { action, kind, id, .. } in effects {
        facade.effect(&action.to_string(), &kind.to_string(), &id.to_string());
    }
}

/// Shortens a text for storage, and withholds one that looks like a secret.
fn clipped(text: &str, chars: usize) -> String {
    if screen::leaks(text) {
        return "(withheld: it looks like it contains a secret)".to_owned();
    }
    text.chars().take(chars).collect()
}

/// Warns about secrets in a result, which are withheld and should be revoked.
fn warn_of_secrets(own: &Record, result: &LaneResult, facade: &mut Facade) {
    for finding in screen::scan(&result.summary).iter().filter(|finding| finding.is_leak()) {
        let message =
            format!("'summary' of {} seems to hold a secret: {}", own.id, finding.excerpt);
        facade.warn("secret_withheld", format!("{message}; it is withheld"));
    }
}

fn result_row(own: &Record, found: &Found) -> Value {
    let result = &found.result;
    let mut row = json!({
        "assignment_id": own.id, "agent": own.agent().map(shown), "status": result.status,
        "summary": clipped(&result.summary, 2_000), "result": found.digest,
    });
    if !result.files_changed.is_empty() {
        let files = result.files_changed.iter().take(100).map(|path| clipped(path, 400));
        row["files_changed"] = json!(files.collect::<Vec<_>>());
    }
    if let Some(verdict) = result.review_verdict {
        row["review_verdict"] = json!(verdict);
    }
    let ignored: Vec<String> = result.ignored().into_iter().map(screen::repeated).collect();
    if !ignored.is_empty() {
        row["ignored_fields"] = json!(ignored);
    }
    row
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
