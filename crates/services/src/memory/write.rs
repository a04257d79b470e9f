//! `create`, `update`, `transition`, `complete_step`, `remove`

use althing_dialects::memory::data;
use althing_dialects::memory::entity;
use althing_dialects::memory::input::{either, ttl};
use althing_dialects::memory::item::{is_called, kernel_name};
use althing_dialects::memory::moment::utc;
use althing_engine::screen::repeated;
use althing_kernel::blackboard::Label;
use althing_kernel::lease::{Force, Open, Renew, Ttl};
use althing_kernel::records::archive::Archive;
use althing_kernel::records::field::StepId;
use althing_kernel::records::step::TakeStep;
use althing_kernel::records::transition::Move;
use althing_kernel::records::view::{MemoryReply, Moved as MovedRecord};
use althing_kernel::records::vocabulary::{Action, StepStatus};
use althing_kernel::records::work::Finish;
use althing_kernel::records::{Effect, Kind, Record, RecordId, Status};
use althing_kernel::text::Text;
use althing_kernel::{AgentName, Command, Reply, Rule};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::answers::{Moved, Removed, SideEffect, Stepped, Stored};
use super::args::{CompleteStep, Create, Remove, Transition, Update, label, text};
use super::claims::{self, Claim, Found};
use super::find::record;
use super::hints::unknown;
use super::session::Present;
use super::{Verb, Verbs, progress};
use crate::error::Error;

impl Verbs<'_> {
    pub(super) fn create(&self, args: &Create) -> Result<Stored, Error> {
        let made = match args.entity {
            Kind::Claim => self.create_claim(args)?,
            Kind::Fact | Kind::Symbol | Kind::Capsule => self.create_keyed(args)?,
            Kind::Constraint
            | Kind::Decision
            | Kind::Trap
            | Kind::Plan
            | Kind::Handoff
            | Kind::Candidate
            | Kind::Assignment
            | Kind::Message
            | Kind::Sequence
            | Kind::Loop => self.create_record(args)?,
        };
        Ok(Stored { resolved_project: Some(self.project_name()?), ..made })
    }

    fn create_record(&self, args: &Create) -> Result<Stored, Error> {
        let made = data::creation(args.entity, &args.data).map_err(Error::usage)?;
        self.check_author(made.author.as_deref())?;
        let mut near = self.nearby(args.entity, made.command.text.as_str())?;
        let mut command = made.command;
        command.request_id = args.request_id.as_deref().map(request_label).transpose()?;
        let warnings = self.unknown_agents(&command.fields)?;
        let mut record = match self.execute(Command::MemoryCreate(Box::new(command)))? {
            MemoryReply::Record(record) => record,
            other => return Err(Error::unexpected(&other)),
        };
        let id = record.id;
        if let Some(to) = made.then.filter(|to| record.status != *to) {
            record = self.brought(&record, to)?;
        }
        let scope = scope_of(&record).filter(|_| args.entity == Kind::Plan);
        let (tool, next, when) = if let Some(scope) = scope {
            let work = json!({ "intent": "execute", "planId": id, "scope": scope });
            (Verb::Work, work, "to begin with it")
        } else {
            (Verb::Get, json!({ "entity": args.entity, "id": id }), "to see all of it")
        };
        let next_actions = vec![json!({ "tool": tool.tool(), "args": next, "when": when })];
        // A repeated request would find the record it created the first time.
        near.retain(|other| other.id != id);
        Ok(Stored { next_actions, nearby_items: near, warnings, ..Stored::of(&record) })
    }

    /// Moves a new record to the state it was asked for in. A request that is repeated is answered
    /// with the record as it was at first, so one that has moved on since is left where it is.
    fn brought(&self, made: &Record, to: Status) -> Result<Arc<Record>, Error> {
        let present = self.present()?;
        let now = record(&present, made.id)?;
        if present.state.status_of(now) != made.status {
            return Ok(Arc::new(present.state.shown(now).into_owned()));
        }
        let moved = self.moved(Move::plain(made.id, to))?;
        moved.record.ok_or_else(|| Error::defect("a moved record is missing"))
    }

    /// Moves a record from one state to another.
    fn moved(&self, step: Move) -> Result<MovedRecord, Error> {
        match self.execute(Command::MemoryMove(Box::new(step)))? {
            MemoryReply::Moved(moved) => Ok(moved),
            other => Err(Error::unexpected(&other)),
        }
    }

    fn create_claim(&self, args: &Create) -> Result<Stored, Error> {
        let claims::Creation { mut open, author } = claims::read(&args.data)?;
        open.request_id = args.request_id.as_deref().map(request_label).transpose()?;
        self.check_author(author.as_deref())?;
        let present = self.present()?;
        if let Some(plan) =
            open.task.as_ref().and_then(|task| task.as_str().parse::<RecordId>().ok())
        {
            record(&present, plan)?;
        }
        let known = self.is_asked_before(&present, &open);
        let newest = present.state.epoch();
        let claim = self.open_claim(&present, open.clone())?;
        let present = self.present()?;
        // An older lease has a smaller epoch.
        let is_old = claim.id.number <= newest;
        let status = match claim.status {
            Status::Open if known || is_old => "existing",
            Status::Open => "created",
            _ => "none",
        };
        let mut answer = with_status(&claim, claim.opened_in(&present)?, status);
        if claim.status != Status::Open {
            let message = format!("{} of this request is {}", claim.id, claim.status);
            answer.warnings.push(format!("{message}; claim again with another request id"));
            answer.next_actions.clear();
        } else if let Some(left) = claims::unchanged(&claim, &open).filter(|_| is_old && !known) {
            answer.warnings.push(left);
        }
        Ok(answer)
    }

    /// Whether a claim was requested before under the same request id.
    fn is_asked_before(&self, present: &Present, open: &Open) -> bool {
        let memory = present.state.memory();
        let id = open.request_id.as_ref();
        id.is_some_and(|id| memory.answered(&self.principal(), id, present.now).is_some())
    }

    /// Opens a lease or reuses one of the caller's, and returns it as a claim.
    fn open_claim(&self, present: &Present, open: Open) -> Result<Claim, Error> {
        let client = self.client_in(present)?;
        match client.execute(Command::LeaseOpen(open))? {
            Reply::Lease(lease) => {
                // The claim of a repeated request may have ended.
                let id = RecordId::claim(lease.epoch);
                match claims::find(&self.present()?, id)? {
                    Found::Known(claim) => Ok(*claim),
                    Found::Over => Err(Error::not_found(format!("claim {id} is over already"))),
                }
            }
            other => Err(Error::unexpected(&other)),
        }
    }

    pub(super) fn check_author(&self, named: Option<&str>) -> Result<(), Error> {
        match named {
            Some(name) if !is_called(&self.principal(), name) => {
                let message = format!("the author is always the caller, {}", self.shown());
                Err(Error::refused(Rule::WhoAreYou, message))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn project_name(&self) -> Result<String, Error> {
        let present = self.present()?;
        let known = present.state.project().map(|project| project.name.to_string());
        Ok(known.unwrap_or_default())
    }

    pub(super) fn update(&self, args: &Update) -> Result<Stored, Error> {
        let id = entity::id(args.entity, &args.id).map_err(Error::usage)?;
        if args.entity == Kind::Claim {
            return self.renew_claim(id, &args.patch);
        }
        if id.kind.written_with().is_some() {
            return self.update_keyed(id, args);
        }
        let mut command = data::change(id, &args.patch).map_err(Error::usage)?;
        command.expected_version = args.expected_version;
        command.request_id = args.request_id.as_deref().map(request_label).transpose()?;
        let warnings = self.unknown_agents(&command.fields)?;
        let made = match self.execute(Command::MemoryUpdate(Box::new(command)))? {
            MemoryReply::Record(record) => Stored::of(&record),
            MemoryReply::Completed(done) => Stored {
                plan_completed: true,
                side_effects: Some(effects(&done.side_effects)),
                ..Stored::of(&done.record)
            },
            other => return Err(Error::unexpected(&other)),
        };
        Ok(Stored { warnings, ..made })
    }

    /// Renews a claim; its duration is all that can be changed.
    fn renew_claim(&self, id: RecordId, patch: &Map<String, Value>) -> Result<Stored, Error> {
        if let Some(name) = patch.keys().find(|name| *name != "ttl") {
            let message = format!("'{name}' of a claim cannot be changed, only 'ttl'");
            let hint = if name == "status" { "; use bclaw_transition to release it" } else { "" };
            return Err(Error::usage(format!("{message}{hint}")));
        }
        let asked = patch
            .get("ttl")
            .ok_or_else(|| Error::usage("nothing to change: give 'ttl' in 'patch'"))?;
        let secs = ttl("ttl", asked).map_err(Error::usage)?;
        let ttl = Ttl::new(secs.into()).map_err(|error| Error::usage(error.to_string()))?;
        let present = self.present()?;
        let claim = match claims::find(&present, id)? {
            Found::Known(claim) if claim.status == Status::Open => claim,
            _ => return Err(Error::refused(Rule::LeaseLive, format!("claim {id} is over"))),
        };
        let lease = claim.lease.clone();
        let renew = Renew { epoch: None, lease, ttl_s: Some(ttl) };
        self.client()?.execute(Command::LeaseRenew(renew))?;
        let present = self.present()?;
        let renewed = claims::by_epoch(&present, id.number).ok_or_else(|| unknown(id))?;
        Ok(Stored { expires_at: Some(utc(renewed.expires_at)), ..Stored::new(id) })
    }

    pub(super) fn transition(&self, args: &Transition) -> Result<Moved, Error> {
        let named = [args.to.as_deref(), args.status.as_deref()];
        if args.entity == Kind::Assignment && named.contains(&Some(progress::PROGRESS)) {
            either(("to", named[0]), ("status", named[1])).map_err(Error::usage)?;
            return self.progress(args);
        }
        if !args.artifacts.is_empty() {
            return Err(Error::usage("'artifacts' only goes with the progress of an assignment"));
        }
        // Both arguments may be given if they name the same state.
        let read = |word: Option<&str>| {
            let read = word.map(|word| entity::status(args.entity, word)).transpose();
            read.map_err(Error::usage)
        };
        let [to, other] = [read(named[0])?, read(named[1])?];
        let words = [to, other].map(|state| state.map(Status::as_str));
        either(("to", words[0]), ("status", words[1])).map_err(Error::usage)?;
        let Some(to) = to.or(other) else {
            let states = args.entity.table().states.iter().map(|state| state.as_str());
            let states: Vec<&str> = states.collect();
            let message = format!("bclaw_transition requires 'to', one of {}", states.join(", "));
            return Err(Error::usage(message));
        };
        let id = entity::id(args.entity, &args.id).map_err(Error::usage)?;
        if args.entity == Kind::Claim {
            return self.end_claim(args, id, to);
        }
        let reason = args.reason.as_deref().map(|reason| text("reason", reason)).transpose()?;
        let moved = self.moved(Move {
            agent: args.to_agent.as_deref().map(agent_name).transpose()?,
            expected_version: args.expected_version,
            forced: args.forced,
            merged_into: args.merged_into.as_deref().map(merged_into).transpose()?,
            plan_status: args.plan_status,
            reason,
            request_id: args.request_id.as_deref().map(request_label).transpose()?,
            ..Move::plain(id, to)
        })?;
        let [from, to] = [moved.from, moved.to].map(|state| state.map(Status::as_str));
        Ok(Moved {
            version: moved.record.as_ref().map(|record| record.version),
            side_effects: effects(&moved.side_effects),
            ..Moved::new(id, from, to, moved.changed)
        })
    }

    /// Ends a claim: its holder releases it, or a person forces it.
    fn end_claim(&self, args: &Transition, id: RecordId, to: Status) -> Result<Moved, Error> {
        let present = self.present()?;
        let unchanged = |state: &str| Ok(Moved::new(id, Some(state), Some(state), false));
        let claim = match claims::find(&present, id)? {
            Found::Known(claim) => claim,
            Found::Over if to == Status::Released => return unchanged("over"),
            Found::Over => return Err(no_way("over", to, &[])),
        };
        let from = claim.status.as_str();
        match (claim.status, to) {
            (Status::Open, Status::Released) => {}
            (own, to) if own == to => return unchanged(from),
            // Releasing an ended claim is not an error.
            (_, Status::Released) => return unchanged(from),
            (Status::Open, _) => return Err(no_way(from, to, &["released"])),
            _ => return Err(no_way(from, to, &[])),
        }
        let side_effects = self.give_back(args, &claim)?;
        Ok(Moved { side_effects, ..Moved::new(id, Some(from), Some("released"), true) })
    }

    fn give_back(&self, args: &Transition, claim: &Claim) -> Result<Vec<SideEffect>, Error> {
        let client = self.client()?;
        let lease = claim.lease.clone();
        if claim.holder != self.principal() && args.coordinator_override {
            // Agents are refused by the kernel, which says why.
            let needs_reason = args.reason.is_none() && self.agent().is_none();
            if needs_reason {
                return Err(Error::usage("ending somebody else's claim requires a 'reason'"));
            }
            let reason = args.reason.as_deref().unwrap_or("coordinator override");
            let force = Force { lease, reason: Text::lossy(reason) };
            client.execute(Command::LeaseForce(force))?;
            return Ok(vec![SideEffect::new("forced", Kind::Claim, claim.id)]);
        }
        // The reason for releasing one's own claim is not stored, but a secret in it is refused all
        // the same.
        if let Some(reason) = &args.reason {
            client.screen_text("work.finish", "reason", reason)?;
        }
        let plan_status = args.plan_status.filter(|_| claim.plan().is_some());
        let finish = Finish { epoch: None, lease, plan_status };
        let reply = client.execute(Command::WorkFinish(finish)).map_err(|error| {
            let error = Error::from(error);
            if error.rule() != Rule::HolderOnly {
                return error;
            }
            let message = error.message().to_owned();
            let hint = "a person may end it with 'coordinator_override' and a 'reason'";
            Error::refused(Rule::HolderOnly, format!("{message}; {hint}"))
        })?;
        match reply {
            Reply::Finished(done) => Ok(done.side_effects.iter().map(finished).collect()),
            other => Err(Error::unexpected(&other)),
        }
    }

    pub(super) fn complete_step(&self, args: &CompleteStep) -> Result<Stepped, Error> {
        let plan = entity::id(Kind::Plan, &args.plan).map_err(Error::usage)?;
        let present = self.present()?;
        let record = record(&present, plan)?;
        let steps = record.fields.steps.iter();
        let known: Vec<(StepId, &str)> =
            steps.filter_map(|step| Some((step.id?, step.text.as_str()))).collect();
        let Some((step, _)) = known.iter().find(|(id, _)| id.to_string() == args.step) else {
            return Err(no_step(plan, &args.step, &known));
        };
        let command = TakeStep {
            expected_version: None,
            plan,
            request_id: args.request_id.as_deref().map(request_label).transpose()?,
            status: StepStatus::Done,
            step: *step,
        };
        let done = match self.execute(Command::MemoryStep(command))? {
            MemoryReply::Stepped(done) => done,
            other => return Err(Error::unexpected(&other)),
        };
        Ok(Stepped {
            plan,
            step: args.step.clone(),
            total: done.total,
            done: done.done,
            plan_completed: done.auto_completed,
            side_effects: effects(&done.side_effects),
        })
    }

    pub(super) fn remove(&self, args: &Remove) -> Result<Removed, Error> {
        if args.purge == Some(true) {
            let message = "nothing can be purged: the trail keeps every entry";
            return Err(Error::usage(format!("{message}; leave 'purge' out to archive")));
        }
        if args.entity == Kind::Claim {
            return Err(Error::usage("a claim is released with bclaw_transition, not removed"));
        }
        let id = entity::id(args.entity, &args.id).map_err(Error::usage)?;
        if id.kind.written_with().is_some() {
            return self.remove_keyed(id);
        }
        let reason = args.reason.as_deref().map(|reason| text("reason", reason)).transpose()?;
        let request_id = args.request_id.as_deref().map(request_label).transpose()?;
        let present = self.present()?;
        // An open assignment is cancelled instead of archived, so that everybody sees it.
        if args.entity == Kind::Assignment && record(&present, id)?.is_live() {
            let cancel = Move { reason, request_id, ..Move::plain(id, Status::Cancelled) };
            let moved = self.moved(cancel)?;
            let (from, to) = (moved.from, moved.to);
            let side_effects = effects(&moved.side_effects);
            return Ok(Removed {
                archived: false,
                from,
                to,
                ..Removed::archived(id, side_effects)
            });
        }
        let archive = Archive { expected_version: None, id, reason, request_id };
        let gone = match self.execute(Command::MemoryArchive(archive))? {
            MemoryReply::Archived(gone) => gone,
            other => return Err(Error::unexpected(&other)),
        };
        Ok(Removed::archived(id, effects(&gone.side_effects)))
    }
}

pub(super) fn request_label(id: &str) -> Result<Label, Error> {
    label("client_request_id", id)
}

/// Reads the agent who gets an assignment that is rerouted.
fn agent_name(given: &str) -> Result<AgentName, Error> {
    let name = AgentName::new(&kernel_name(given));
    name.map_err(|error| Error::unreadable(format!("'to_agent': {error}")))
}

/// Reads the record that a candidate is merged into.
fn merged_into(given: &str) -> Result<RecordId, Error> {
    given.parse().map_err(|error| Error::unreadable(format!("'merged_into': {error}")))
}

/// An error for an unknown step, with the steps of the plan.
fn no_step(plan: RecordId, step: &str, known: &[(StepId, &str)]) -> Error {
    let ids: Vec<String> = known.iter().map(|(id, _)| id.to_string()).collect();
    if known.is_empty() {
        let message = format!("{plan} has no steps; add some with bclaw_update and its 'steps'");
        return Error::not_found(message).about(Kind::Plan).allowing(ids);
    }
    let list: Vec<String> = known.iter().map(|(id, text)| format!("{id} ({text})")).collect();
    let message =
        format!("{plan} has no step {:?}; name one by its id: {}", repeated(step), list.join(", "));
    Error::not_found(message).about(Kind::Plan).allowing(ids)
}

fn no_way(from: &str, to: Status, allowed: &[&str]) -> Error {
    let message = format!("a claim cannot go from {from} to {to}");
    let allowed = allowed.iter().map(|state| (*state).to_owned());
    Error::refused(Rule::LeaseLive, message).allowing(allowed.collect())
}

/// Describes a side effect of releasing a claim. A plan that moved is described by its new state.
fn finished(own: &Effect) -> SideEffect {
    match (own.kind, own.action, own.to) {
        (Kind::Plan, Action::Moved, Some(to)) => SideEffect::new(to.as_str(), own.kind, own.id),
        _ => SideEffect { to: None, ..SideEffect::of(own) },
    }
}

/// Lists the side effects of a command in the words of this dialect.
fn effects(given: &[Effect]) -> Vec<SideEffect> {
    given.iter().map(SideEffect::of).collect()
}

/// Describes a claim that was asked for, with the entry that opened it.
fn with_status(claim: &Claim, entry: Option<u64>, status: &str) -> Stored {
    let release = json!({ "entity": "claim", "id": claim.id, "to": "released" });
    let tool = Verb::Transition.tool();
    let next = json!({ "tool": tool, "args": release, "when": "when you are done there" });
    Stored {
        kind: Some(Kind::Claim),
        status: Some(claim.status),
        claim_status: Some(status.to_owned()),
        scope: Some(claim.scope()),
        created_at: Some(utc(claim.opened_at)),
        updated_at: Some(utc(claim.updated_at)),
        expires_at: Some(utc(claim.expires_at)),
        entry,
        next_actions: vec![next],
        ..Stored::new(claim.id)
    }
}

/// The scope of the work on a plan, if the plan names one.
fn scope_of(plan: &Record) -> Option<String> {
    let fields = &plan.fields;
    if let Some(scope) = &fields.scope {
        return Some(scope.to_string());
    }
    let paths: Vec<&str> = fields.related_paths.iter().map(Text::as_str).collect();
    (!paths.is_empty()).then(|| paths.join(","))
}
