//! The memory dialect, for hosts and for the command line: one implementation of each verb.
//!
//! [`Verbs`] carries out the verbs for one caller. `work` opens a session and claims a scope;
//! `context`, `find` and `get` only read; `create`, `update`, `transition`, `complete_step` and
//! `remove` change records through the engine. A claim is a lease of the kernel, so it holds
//! against callers of every other door.

pub mod answers;
pub mod args;
mod board;
mod caller;
mod claims;
mod clean;
mod context;
mod coordinate;
mod dispatch;
mod find;
mod harvest;
mod hints;
mod ignored_arguments;
mod keyed;
mod lanes;
mod loops;
mod names;
mod obstacles;
mod progress;
mod ranking;
mod reading;
mod request;
mod session;
mod sweep;
mod trail;
mod unknown_agents;
mod work;
mod write;

use althing_dialects::memory::PROTOCOL;
use althing_dialects::memory::budget::{Budget, CHARS_DEFAULT};
use althing_dialects::memory::item::with_haids;
use althing_dialects::memory::words;
use althing_kernel::{Principal, Rule, TaskId};
use serde_json::{Map, Value};

pub use request::Request;

pub use hints::{Hint, allowed_steps, hint_for};
pub(crate) use ranking::relevant;

use answers::value;

use crate::arguments;
use crate::context::ProjectContext;
use crate::error::{Error, ErrorKind};

/// A verb of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Open a session; claim a scope.
    Work,
    /// Read a view of the shared state.
    Context,
    /// List records.
    Find,
    /// Fetch one record.
    Get,
    /// Create a record.
    Create,
    /// Change the fields of a record.
    Update,
    /// Move a record to another state.
    Transition,
    /// Finish a step of a plan.
    CompleteStep,
    /// Archive a record.
    Remove,
    /// Assign work to agents, or ask them.
    Coordinate,
    /// Offer the plans of a sequence in order.
    Dispatch,
    /// Work in rounds, with phases and turns.
    Loop,
    /// Move on overdue assignments.
    Sweep,
    /// Collect results left in worktrees.
    Harvest,
}

impl Verb {
    /// All verbs that hosts can call; the first seven are the protocol's.
    pub const ALL: [Verb; 12] = [
        Verb::Work,
        Verb::Context,
        Verb::Find,
        Verb::Get,
        Verb::Create,
        Verb::Update,
        Verb::Transition,
        Verb::CompleteStep,
        Verb::Remove,
        Verb::Coordinate,
        Verb::Dispatch,
        Verb::Loop,
    ];

    /// The name of its tool.
    pub fn tool(self) -> &'static str {
        match self {
            Verb::Work => "bclaw_work",
            Verb::Context => "bclaw_context",
            Verb::Find => "bclaw_find",
            Verb::Get => "bclaw_get",
            Verb::Create => "bclaw_create",
            Verb::Update => "bclaw_update",
            Verb::Transition => "bclaw_transition",
            Verb::CompleteStep => "bclaw_complete_step",
            Verb::Remove => "bclaw_remove",
            Verb::Coordinate => "bclaw_coordinate",
            Verb::Dispatch => "bclaw_dispatch",
            Verb::Loop => "bclaw_loop",
            Verb::Sweep => "bclaw_sweep",
            Verb::Harvest => "bclaw_harvest",
        }
    }

    /// The command that a refusal of the verb is recorded under.
    fn command(self) -> &'static str {
        match self {
            Verb::Work => "work.begin",
            Verb::Context | Verb::Find | Verb::Get => self.tool(),
            Verb::Create => "memory.create",
            Verb::Update => "memory.update",
            Verb::Transition | Verb::Harvest => "memory.move",
            Verb::CompleteStep => "memory.step",
            Verb::Remove => "memory.archive",
            Verb::Coordinate | Verb::Dispatch => "memory.offer",
            Verb::Loop => "memory.loop",
            Verb::Sweep => "memory.sweep",
        }
    }

    /// A description for a model to read.
    pub fn description(self) -> &'static str {
        match self {
            Verb::Work => {
                "Start here: opens your session and returns what to know. execute with a scope \
                 claims it; on a conflict nothing is claimed: do not edit there."
            }
            Verb::Context => {
                "Read shared state: ranked memory, your environment, the board, or what changed."
            }
            Verb::Find => "List things, newest first.",
            Verb::Get => "Fetch one thing whole.",
            Verb::Create => {
                "Remember something. A claim needs scope, an assignment agent, a candidate type, a \
                 message to."
            }
            Verb::Update => "Change fields. Status changes go through bclaw_transition.",
            Verb::Transition => "Move something along its lifecycle, with side effects.",
            Verb::CompleteStep => "Mark a step of a plan done; the last one finishes the plan.",
            Verb::Remove => "Put something finished away; the trail keeps it.",
            Verb::Coordinate => {
                "Assign work to agents (claim, assignment, message), consult, review, reroute, \
                 ideate or summarize. Lanes that would collide are named before anything starts."
            }
            Verb::Dispatch => "See which plans of the sequence are ready, and give them out.",
            Verb::Loop => "Work in rounds: phases, and slots that take turns.",
            Verb::Sweep => "Look at assignments that are silent; none is given up that shows life.",
            Verb::Harvest => "Report results left in worktrees once; integrate commits the work.",
        }
    }

    /// The schema of its arguments.
    pub fn schema(self) -> Map<String, Value> {
        match self {
            Verb::Work => arguments::schema::<args::Work>(),
            Verb::Context => arguments::schema::<args::Context>(),
            Verb::Find => arguments::schema::<args::Find>(),
            Verb::Get => arguments::schema::<args::Get>(),
            Verb::Create => arguments::schema::<args::Create>(),
            Verb::Update => arguments::schema::<args::Update>(),
            Verb::Transition => arguments::schema::<args::Transition>(),
            Verb::CompleteStep => arguments::schema::<args::CompleteStep>(),
            Verb::Remove => arguments::schema::<args::Remove>(),
            Verb::Coordinate => arguments::schema::<args::Coordinate>(),
            Verb::Dispatch => arguments::schema::<args::Dispatch>(),
            Verb::Loop => arguments::schema::<args::Loop>(),
            Verb::Sweep => arguments::schema::<args::Sweep>(),
            Verb::Harvest => arguments::schema::<args::Harvest>(),
        }
    }

    /// Whether it only reads.
    pub fn reads(self) -> bool {
        matches!(self, Verb::Context | Verb::Find | Verb::Get)
    }

    /// Whether it only reads with these arguments.
    pub fn looks(self, given: &Map<String, Value>) -> bool {
        let intent = given.get("intent").and_then(Value::as_str);
        let is_on = |name: &str| given.get(name).is_some_and(|on| on == true);
        match self {
            Verb::Coordinate => intent == Some("summarize"),
            Verb::Dispatch => intent == Some("analysis") || is_on("dryRun") || is_on("dry_run"),
            Verb::Loop => matches!(intent, Some("get" | "list")),
            _ => self.reads(),
        }
    }
}

/// The verbs for one caller.
pub struct Verbs<'a> {
    context: &'a ProjectContext,
    principal: Principal,
}

impl<'a> Verbs<'a> {
    /// The verbs for the caller, who must have a name.
    pub fn new(context: &'a ProjectContext) -> Result<Self, Error> {
        Ok(Verbs { context, principal: context.named()?.clone() })
    }

    /// Carries out a verb with the arguments that a host sent.
    pub fn call(&self, verb: Verb, given: &Value) -> Result<Value, Error> {
        let read = || {
            let has_key = matches!(verb, Verb::Coordinate | Verb::Dispatch | Verb::Loop);
            let named = if has_key { reading::with_request_id(given)? } else { given.clone() };
            let caller = reading::caller_arguments(verb, &named)?;
            let checked = self.check_caller(&caller);
            checked.map_err(|error| self.recorded(verb, &named, error))?;
            self.answer(Request::read(verb, &named)?, &named)
        };
        read().map_err(|error| self.with_hint(verb, error))
    }

    /// Carries out a request of a caller in this process.
    pub fn perform(&self, request: Request) -> Result<Value, Error> {
        let verb = request.verb();
        let given = request.given()?;
        self.answer(request, &given).map_err(|error| self.with_hint(verb, error))
    }

    /// The same error, on record unless the arguments only ask to read.
    fn recorded(&self, verb: Verb, given: &Value, error: Error) -> Error {
        let looks = given.as_object().is_some_and(|given| verb.looks(given));
        if looks { error } else { self.on_record(verb.command(), error) }
    }

    /// Replaces the ids that runs use for tasks by the ids of plans.
    fn name_plans(&self, request: &mut Request) -> Result<(), Error> {
        let mut is_named = false;
        request.visit_plans(&mut |text| is_named |= text.starts_with(TASK));
        if !is_named {
            return Ok(());
        }
        let present = self.present()?;
        request.visit_plans(&mut |text| {
            let task = TaskId::new(text).ok().filter(|_| text.starts_with(TASK));
            if let Some(record) = task.and_then(|task| present.state.task_record(&task).cloned()) {
                *text = record.id.to_string();
            }
        });
        Ok(())
    }

    fn answer(&self, mut request: Request, given: &Value) -> Result<Value, Error> {
        let verb = request.verb();
        self.name_plans(&mut request)?;
        let ignored = ignored_arguments::ignored(verb, given);
        let done = match &request {
            Request::Work(args) => self.work(args),
            Request::Context(args) => self.context(args, ignored.as_deref()),
            Request::Find(args) => self.find(args),
            Request::Get(args) => self.get(args),
            Request::Create(args) => self.create(args).and_then(|made| value(&made)),
            Request::Update(args) => self.update(args).and_then(|made| value(&made)),
            Request::Transition(args) => self.transition(args).and_then(|own| value(&own)),
            Request::CompleteStep(args) => self.complete_step(args).and_then(|own| value(&own)),
            Request::Remove(args) => self.remove(args).and_then(|own| value(&own)),
            Request::Coordinate(args) => {
                let key = lanes::Key::new(args.client_request_id.as_deref(), args)?;
                self.coordinate(args, &key)
            }
            Request::Dispatch(args) => self.dispatch(args),
            Request::Loop(args) => self.rounds(args),
            Request::Sweep(args) => self.sweep(args),
            Request::Harvest(args) => self.harvest(args),
        };
        let answer = done.map_err(|error| self.recorded(verb, given, error))?;
        // A view is shortened with its warnings.
        let ignored = ignored.filter(|_| verb != Verb::Context);
        finished(verb, answer, ignored)
    }
}

/// How the ids begin that runs give to tasks.
const TASK: &str = "task_";

/// An answer as callers get it: with a warning about arguments without an effect, names by which agents
/// are called here, and not too long.
fn finished(verb: Verb, mut answer: Value, ignored: Option<String>) -> Result<Value, Error> {
    let warnings: Vec<Value> = ignored.into_iter().map(Value::from).collect();
    match answer.get_mut("warnings").and_then(Value::as_array_mut) {
        Some(list) => list.extend(warnings),
        None if warnings.is_empty() => {}
        None => answer["warnings"] = warnings.into(),
    }
    with_haids(&mut answer);
    let warnings = answer.get_mut("warnings").and_then(Value::as_array_mut);
    for warning in warnings.into_iter().flatten() {
        if let Value::String(text) = warning {
            *text = words::with_haids(text);
        }
    }
    let is_large = matches!(
        verb,
        Verb::Coordinate | Verb::Dispatch | Verb::Loop | Verb::Sweep | Verb::Harvest
    );
    if is_large {
        let budget = Budget::new(CHARS_DEFAULT, None).map_err(Error::usage)?;
        answer = budget.shorten(answer);
    }
    answer["schema_version"] = PROTOCOL.into();
    Ok(answer)
}

/// The error object of this dialect.
pub fn failure(error: &Error) -> Value {
    let mut object = error.object();
    object["kind"] = kind(error).into();
    object
}

/// Error codes that this dialect shows as the kind of an error.
const CODES: [&str; 8] = [
    "agent_validation_failed",
    "dirty_working_tree",
    "idempotency_key_reused_with_different_body",
    "lanes_collide",
    "plan_already_assigned",
    "scope_already_claimed",
    "unauthorized_slot_write",
    "version_conflict",
];

/// The kind of an error in this dialect.
pub fn kind(error: &Error) -> &'static str {
    if let Some(known) = CODES.iter().find(|known| error.code() == Some(**known)) {
        return known;
    }
    match error.kind() {
        ErrorKind::Usage => "validation_error",
        ErrorKind::NotFound if error.rule() == Rule::NoProject => "session_error",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Collision => "claim_conflict",
        ErrorKind::NotAuthentic => "identity_error",
        ErrorKind::Refused
        | ErrorKind::Unavailable
        | ErrorKind::Unconfirmed
        | ErrorKind::Integrity
        | ErrorKind::Unmet
        | ErrorKind::Defect => kind_by_rule(error.rule()),
    }
}

fn kind_by_rule(rule: Rule) -> &'static str {
    match rule {
        Rule::WhoAreYou => "identity_error",
        Rule::HolderOnly | Rule::ForceNeedsRight | Rule::RecordOwner | Rule::TaskGoverned => {
            "ownership_error"
        }
        Rule::RecordField | Rule::RecordLinks | Rule::NoSecrets => "validation_error",
        Rule::RecordVersion => "version_conflict",
        Rule::RequestOnce => "idempotency_key_reused_with_different_body",
        Rule::AgentRevoked => "trust_error",
        // Any other rule has no name of its own in this dialect.
        _ => "operation_error",
    }
}
