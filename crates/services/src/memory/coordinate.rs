//! `coordinate`: work and questions for other agents.

use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::words::counted;
use althing_kernel::blackboard::Label;
use althing_kernel::records::create::Create;
use althing_kernel::records::offer::colliding;
use althing_kernel::records::record::Tags;
use althing_kernel::records::transition::Move;
use althing_kernel::records::view::{LaneReply, MemoryReply};
use althing_kernel::records::vocabulary::{Action, CandidateType, LoopKind};
use althing_kernel::records::{Effect, Fields, Kind, Record, RecordId, Status};
use althing_kernel::text::Text;
use althing_kernel::{AgentName, Command, State, Timestamp};
use althing_workshop::worktree::Worktree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::Verbs;
use super::harvest::report;
use super::lanes::{
    Delivery, Key, Lane, delivery, id_of, known_agent, others, record, shown, surfaces,
};
use super::obstacles::{Obstacle, lane_collision, named};
use super::session::Present;
use crate::error::Error;

/// Number of agents that are asked if none are named.
const IMPLICIT_MAX: usize = 3;
/// Most agents that one request may name.
const TARGETS_MAX: usize = 32;

/// The purpose of a `coordinate` call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// To offer work.
    Assign,
    /// To ask a question.
    Consult,
    /// To ask for a review.
    Review,
    /// To move an assignment to another agent.
    Reroute,
    /// To see how far all assignments are.
    Summarize,
    /// To collect ideas in a loop.
    Ideate,
}

impl Aim {
    fn name(self) -> &'static str {
        match self {
            Aim::Assign => "assign",
            Aim::Consult => "consult",
            Aim::Review => "review",
            Aim::Reroute => "reroute",
            Aim::Summarize => "summarize",
            Aim::Ideate => "ideate",
        }
    }
}

/// Arguments of `coordinate`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Coordinate {
    /// The purpose.
    #[schemars(description = "")]
    pub intent: Aim,
    /// The task.
    #[serde(default)]
    pub task: String,
    /// The agents, by name.
    #[serde(rename = "targetAgents", alias = "target_agents", default)]
    #[schemars(with = "Option<Vec<String>>", description = "")]
    pub targets: Vec<String>,
    /// Paths or globs with commas between.
    pub scope: Option<String>,
    /// assign: a scope per agent, instead of scope for all.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub scopes: BTreeMap<String, String>,
    /// The plan it belongs to.
    #[schemars(description = "")]
    #[serde(rename = "planId", alias = "plan_id")]
    pub plan: Option<String>,
    /// reroute: which assignment.
    #[serde(rename = "assignmentId", alias = "assignment_id")]
    pub assignment: Option<String>,
    /// The linked git worktree to work in.
    pub worktree: Option<String>,
    /// The name of the lane.
    #[schemars(description = "")]
    pub lane: Option<String>,
    /// The message thread.
    #[schemars(description = "")]
    #[serde(rename = "threadId", alias = "thread_id")]
    pub thread: Option<String>,
    /// review: also open a loop.
    #[serde(default)]
    pub open_loop: bool,
    /// Offer it although files of the scope are not committed.
    #[serde(default, deserialize_with = "switch")]
    #[schemars(with = "Option<bool>")]
    pub allow_dirty: bool,
    /// Work from this commit, whatever is not committed.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Makes retries safe.
    pub client_request_id: Option<String>,
}

impl Coordinate {
    /// A request with defaults for everything else.
    pub(super) fn plain(intent: Aim, allow_dirty: bool) -> Self {
        Coordinate {
            intent,
            task: String::new(),
            targets: Vec::new(),
            scope: None,
            scopes: BTreeMap::new(),
            plan: None,
            assignment: None,
            worktree: None,
            lane: None,
            thread: None,
            open_loop: false,
            allow_dirty,
            reference: None,
            client_request_id: None,
        }
    }
}

/// Reads a boolean; some hosts send it as a string.
fn switch<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<bool, D::Error> {
    match Value::deserialize(reader)? {
        Value::Bool(on) => Ok(on),
        Value::String(word) if word == "true" => Ok(true),
        Value::String(word) if word == "false" => Ok(false),
        other => Err(serde::de::Error::custom(format!("{other} is neither true nor false"))),
    }
}

/// The target agents, and the names that are no agents.
struct Targets {
    agents: Vec<AgentName>,
    obstacles: Vec<Obstacle>,
}

impl Verbs<'_> {
    pub(super) fn coordinate(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        if args.task.trim().is_empty() && !matches!(args.intent, Aim::Reroute | Aim::Summarize) {
            return Err(Error::usage("bclaw_coordinate requires 'task'"));
        }
        if !matches!(args.intent, Aim::Assign | Aim::Summarize) {
            let Present { state, now, .. } = self.present()?;
            key.check_same(&state, &self.principal(), now)?;
        }
        match args.intent {
            Aim::Assign => self.assign(args, key),
            Aim::Consult => self.consult(args, key),
            Aim::Review => self.review(args, key),
            Aim::Reroute => self.reroute(args, key),
            Aim::Summarize => self.summarize(args),
            Aim::Ideate => self.ideate(args, key),
        }
    }

    /// The target agents: the named ones, else a few of the others, most recently active first.
    fn targets(&self, present: &Present, args: &Coordinate, key: &Key) -> Result<Targets, Error> {
        let state = &present.state;
        let mut found = Targets { agents: Vec::new(), obstacles: Vec::new() };
        if args.targets.len() > TARGETS_MAX {
            return Err(Error::usage(format!("at most {TARGETS_MAX} agents are named at once")));
        }
        let named = args.targets.iter().chain(args.scopes.keys());
        for text in named {
            match known_agent(state, text) {
                Ok(agent) if !found.agents.contains(&agent) => found.agents.push(agent),
                Ok(_) => {}
                Err(obstacle) => found.obstacles.push(obstacle),
            }
        }
        if args.targets.is_empty() && args.scopes.is_empty() {
            let (own, me) = (self.agent(), self.principal());
            let mut live: Vec<_> = others(state, own.as_ref()).collect();
            // A repeated request goes to the same agents as before.
            let meant = |name: &AgentName| key.has_answer(state, &me, present.now, name.as_str());
            if live.iter().any(|(name, _)| meant(name)) {
                live.retain(|(name, _)| meant(name));
            }
            live.sort_by_key(|(name, agent)| (std::cmp::Reverse(agent.heard_at), (*name).clone()));
            let agents = live.into_iter().take(IMPLICIT_MAX).map(|(name, _)| name.clone());
            found.agents.extend(agents);
        }
        if found.agents.is_empty() && found.obstacles.is_empty() {
            return Err(Error::usage("there is no other agent; name one in 'targetAgents'"));
        }
        Ok(found)
    }

    fn assign(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        let present = self.present()?;
        let state = &present.state;
        if args.targets.is_empty() && args.scopes.is_empty() {
            return Err(Error::usage("assign requires 'targetAgents'"));
        }
        let targets = self.targets(&present, args, key)?;
        let sent = if let Some(before) = self.offered_before(key)? {
            self.repeated(&before, targets.agents.iter())?
        } else {
            let lanes = self.lanes(state, args, &targets.agents)?;
            self.check_apart(&lanes, key, present.now)?;
            self.check_clean(args, &lanes)?;
            self.offer(&lanes, key)?
        };
        let mut obstacles = targets.obstacles;
        obstacles.extend(sent.obstacles);
        let mut facade = Facade::new(Aim::Assign.name());
        conclude(&mut facade, &obstacles, sent.delivered.len())?;
        facade.result("selected_targets", targets.agents.iter().map(shown).collect::<Vec<_>>());
        report_deliveries(&mut facade, &sent.delivered);
        facade.next(
            "bclaw_coordinate",
            json!({ "intent": "summarize" }),
            "to see how far they are",
        );
        Ok(facade.answer())
    }

    /// Refuses lanes that overlap each other. Nothing of such a request is offered.
    fn check_apart(&self, lanes: &[Lane], key: &Key, now: Timestamp) -> Result<(), Error> {
        let wanted: Result<Vec<_>, Error> =
            lanes.iter().map(|lane| lane.wanted(key, now)).collect();
        let met = colliding(&wanted?);
        if met.is_empty() {
            return Ok(());
        }
        let message = format!("these lanes would collide: {}; nothing was offered", named(&met));
        let details = json!({ "collisions": met.iter().map(lane_collision).collect::<Value>() });
        let error = Error::collision(message).with(details).with_code("lanes_collide");
        Err(self.on_record("memory.offer", error))
    }

    fn lanes(
        &self,
        state: &State,
        args: &Coordinate,
        agents: &[AgentName],
    ) -> Result<Vec<Lane>, Error> {
        let plan = args.plan.as_deref().map(|text| record(state, Kind::Plan, text)).transpose()?;
        let worktree = match &args.worktree {
            Some(path) => Some(self.checked_worktree(path)?),
            None => None,
        };
        let task = self.task_from(args, &args.task)?;
        let lane = |agent: &AgentName| {
            let named = args
                .scopes
                .iter()
                .find(|(name, _)| crate::frugal::named(name).is_ok_and(|name| name == *agent));
            let scope = named.map(|(_, scope)| scope).or(args.scope.as_ref());
            Ok(Lane {
                agent: agent.clone(),
                task: task.clone(),
                surfaces: scope.map(|scope| surfaces(scope)).transpose()?.flatten(),
                scope: scope.cloned(),
                plan: plan.map(|plan| plan.id),
                name: args.lane.clone(),
                worktree: worktree.clone(),
                thread: args.thread.clone(),
            })
        };
        agents.iter().map(lane).collect()
    }

    /// Checks that a worktree can be harvested later.
    fn checked_worktree(&self, path: &str) -> Result<String, Error> {
        let absolute = self.context.setup().root.join(path);
        let text = absolute.to_string_lossy().into_owned();
        match Worktree::open(&self.context.setup().root, &text, &self.shown()) {
            Ok(_) => Ok(text),
            Err(why) => Err(Error::usage(format!("worktree {path}: {why}"))),
        }
    }

    fn consult(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        let present = self.present()?;
        let targets = self.targets(&present, args, key)?;
        let thread = args.thread.clone().unwrap_or_else(|| key.thread(present.now));
        let mut facade = Facade::new(Aim::Consult.name());
        let mut plan = Vec::new();
        for agent in &targets.agents {
            plan.push(self.write_to(&mut facade, args, agent, &thread, key)?);
        }
        conclude(&mut facade, &targets.obstacles, plan.len())?;
        facade.result("messages_sent", plan.len()).result("delivery_plan", plan);
        facade.result("thread_id", thread).field("execution_status", "inbox_only");
        Ok(facade.answer())
    }

    /// Creates a record with the task as its text.
    fn created(
        &self,
        kind: Kind,
        args: &Coordinate,
        fields: Fields,
        request_id: Option<&str>,
    ) -> Result<RecordId, Error> {
        let create = Create {
            fields,
            kind,
            provenance: None,
            request_id: request_id.map(label).transpose()?,
            status: None,
            tags: Tags::default(),
            text: Text::new(&args.task).map_err(Error::unreadable)?,
        };
        match self.execute(Command::MemoryCreate(Box::new(create)))? {
            MemoryReply::Record(made) => Ok(made.id),
            other => Err(Error::unexpected(&other)),
        }
    }

    /// Sends the task to an agent as a message that needs no acknowledgement.
    fn write_to(
        &self,
        facade: &mut Facade,
        args: &Coordinate,
        agent: &AgentName,
        thread: &str,
        key: &Key,
    ) -> Result<Value, Error> {
        let plan = args.plan.as_ref().map(|plan| id_of(Kind::Plan, plan)).transpose()?;
        let fields = Fields {
            to: Some(label(agent.as_str())?),
            thread: Some(label(thread)?),
            requires_ack: Some(false),
            plan_id: plan,
            ..Fields::default()
        };
        let part = key.part(agent.as_str());
        let id = self.created(Kind::Message, args, fields, part.as_deref())?.to_string();
        facade.artifact("message", &id).effect("create", "message", &id);
        Ok(json!({
            "agent": shown(agent), "message_id": id, "channel": "inbox",
            "execution_status": "inbox_only",
            "execution_reason": "the agent reads the question when it next looks",
        }))
    }

    /// Asks agents for a review: creates a candidate, a message to each, and a loop if requested.
    fn review(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        let present = self.present()?;
        let targets = self.targets(&present, args, key)?;
        // Files and commits may have changed since the first request.
        let task = if let Some(task) = self.reviewed_before(&present, key) {
            task
        } else {
            let lanes = self.lanes(&present.state, args, &targets.agents)?;
            self.check_clean(args, &lanes)?;
            self.task_from(args, &args.task)?
        };
        let args = &Coordinate { task, ..args.clone() };
        let thread = args.thread.clone().unwrap_or_else(|| key.thread(present.now));
        let mut facade = Facade::new(Aim::Review.name());
        if targets.agents.is_empty() {
            conclude(&mut facade, &targets.obstacles, 0)?;
        }
        let scope = args.scope.as_deref().map(Text::new).transpose();
        let fields = Fields {
            candidate_type: Some(CandidateType::Handoff),
            origin: Some(label("review")?),
            scope: scope.map_err(Error::unreadable)?,
            ..Fields::default()
        };
        let part = key.part("candidate");
        let candidate = self.created(Kind::Candidate, args, fields, part.as_deref())?;
        let candidate = candidate.to_string();
        facade.artifact("candidate", &candidate).effect("create", "candidate", &candidate);
        let mut plan = Vec::new();
        for agent in &targets.agents {
            plan.push(self.write_to(&mut facade, args, agent, &thread, key)?);
        }
        conclude(&mut facade, &targets.obstacles, plan.len())?;
        if args.open_loop {
            let made = self.open_loop(LoopKind::Review, args, &targets.agents, key)?;
            facade.artifact("loop", &made).effect("create", "loop", &made);
            facade.result("loop_id", made);
        }
        facade.result("candidate_id", candidate).result("thread_id", thread);
        facade.result("messages_sent", plan.len()).result("delivery_plan", plan);
        facade.field("execution_status", "inbox_only");
        Ok(facade.answer())
    }

    /// The task of the review that the same request started before, if any.
    fn reviewed_before(&self, present: &Present, key: &Key) -> Option<String> {
        let id = Label::new(&key.part("candidate")?).ok()?;
        match present.state.memory().answered(&self.principal(), &id, present.now)? {
            (_, MemoryReply::Record(own)) => Some(own.text.to_string()),
            _ => None,
        }
    }

    /// Opens an ideation loop and sends a message to each agent.
    fn ideate(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        let present = self.present()?;
        let targets = self.targets(&present, args, key)?;
        let thread = args.thread.clone().unwrap_or_else(|| key.thread(present.now));
        let mut facade = Facade::new(Aim::Ideate.name());
        let mut plan = Vec::new();
        for agent in &targets.agents {
            plan.push(self.write_to(&mut facade, args, agent, &thread, key)?);
        }
        conclude(&mut facade, &targets.obstacles, plan.len())?;
        let made = self.open_loop(LoopKind::Ideation, args, &targets.agents, key)?;
        facade.artifact("loop", &made).effect("create", "loop", &made);
        facade.result("loop_id", made).result("thread_id", thread);
        facade.result("messages_sent", plan.len()).result("delivery_plan", plan);
        facade.field("execution_status", "inbox_only");
        Ok(facade.answer())
    }

    /// Takes an assignment from one agent and offers it to another, with one command. The claim
    /// returns to the dispatcher until the next agent accepts.
    fn reroute(&self, args: &Coordinate, key: &Key) -> Result<Value, Error> {
        let present = self.present()?;
        let state = &present.state;
        let Some(text) = &args.assignment else {
            return Err(Error::usage("reroute requires 'assignmentId'"));
        };
        let old = record(state, Kind::Assignment, text)?;
        let targets = self.targets(&present, args, key)?;
        let [agent] = targets.agents.as_slice() else {
            let details: Vec<Value> = targets.obstacles.iter().map(Obstacle::shown).collect();
            let message = "reroute requires one known agent in 'targetAgents'";
            let error = match targets.obstacles.first() {
                Some(unknown) => unknown.error(format!("{message}: {}", unknown.message)),
                None => Error::usage(message),
            };
            let error = error.with(json!({ "skipped": details }));
            return Err(error.with_code("agent_validation_failed"));
        };
        let kept = [
            ("scope", &args.scope),
            ("lane", &args.lane),
            ("threadId", &args.thread),
            ("ref", &args.reference),
        ];
        if let Some((name, _)) = kept.iter().find(|(_, given)| given.is_some()) {
            let message = "reroute keeps the scope, lane, thread and commit of the work";
            return Err(Error::usage(format!("{message}; leave out '{name}'")));
        }
        if args.worktree.is_some() {
            let message = "reroute takes no 'worktree': the next agent has none until you set its \
                           worktree_path with bclaw_update";
            return Err(Error::usage(message));
        }
        if !key.has_answer(state, &self.principal(), present.now, "reroute") {
            self.check_clean(args, std::slice::from_ref(&rerouted(old, agent.clone())?))?;
        }
        let reason = format!("rerouted to {}", shown(agent));
        let step = Move {
            agent: Some(agent.clone()),
            claim: None,
            expected_version: None,
            forced: false,
            id: old.id,
            let_go: false,
            merged_into: None,
            plan_status: None,
            reason: Some(Text::lossy(&reason)),
            request_id: key.part("reroute").as_deref().map(label).transpose()?,
            to: label(Status::Rerouted.as_str())?,
        };
        let effects = match self.execute(Command::MemoryMove(Box::new(step)))? {
            MemoryReply::Moved(moved) => moved.side_effects,
            other => return Err(Error::unexpected(&other)),
        };
        let mut facade = Facade::new(Aim::Reroute.name());
        facade.effect("transition", "assignment", &old.id.to_string());
        report(&mut facade, &effects);
        let is_made = |kind: Kind| {
            let made = |own: &&Effect| own.action == Action::Created && own.kind == kind;
            effects.iter().find(made).map(|effect| effect.id)
        };
        // A workspace of a run goes to the other agent as it is.
        let (made, message) = (is_made(Kind::Assignment).unwrap_or(old.id), is_made(Kind::Message));
        let own = self.fetched(made)?;
        facade.artifact("assignment", &made.to_string());
        if let Some(message) = message {
            facade.artifact("message", &message.to_string());
        }
        let offer = LaneReply {
            agent: Some(agent.clone()),
            assignment: own.id,
            claim: own.fields.claim.map(RecordId::claim),
            message,
        };
        facade.result("rerouted", old.id.to_string());
        report_deliveries(&mut facade, &[delivery(&self.present()?.state, &offer)]);
        Ok(facade.answer())
    }

    /// Summarizes assignments, messages and loops. Only reads.
    fn summarize(&self, args: &Coordinate) -> Result<Value, Error> {
        const SHOWN_MAX: usize = 20;
        let Present { state, now, .. } = self.present()?;
        let plan = args.plan.as_deref().map(|text| id_of(Kind::Plan, text)).transpose()?;
        let mut counts = BTreeMap::<&str, usize>::new();
        let (mut open, mut overdue) = (Vec::new(), 0);
        let all = state.memory().newest(Kind::Assignment, None);
        for own in all.filter(|own| plan.is_none() || own.fields.plan_id == plan) {
            *counts.entry(own.status.as_str()).or_default() += 1;
            overdue += usize::from(own.is_overdue(now));
            if own.is_live() && open.len() < SHOWN_MAX {
                open.push(summary(own, own.is_overdue(now)));
            }
        }
        let waiting = state.memory().newest(Kind::Message, Some(true));
        let waiting = waiting
            .filter(|own| own.fields.requires_ack == Some(true) && own.status.as_str() == "open");
        let mut facade = Facade::new(Aim::Summarize.name());
        facade.result("assignments", json!(counts)).result("open", open);
        facade.result("overdue", overdue).result("unacknowledged_messages", waiting.count());
        facade.result("loops_open", state.memory().count(Kind::Loop, Some(true)));
        if overdue > 0 {
            let silent = counted(overdue, "assignment");
            facade.warn("overdue", format!("{silent} overdue: no sign of life for too long"));
        }
        Ok(facade.answer())
    }
}

/// Adds offers to the answer, with the command that each agent runs.
pub(super) fn report_deliveries(facade: &mut Facade, delivered: &[Delivery]) {
    let mut commands = Vec::new();
    for own in delivered {
        for (kind, id) in [
            ("assignment", Some(own.assignment_id)),
            ("claim", own.claim_id),
            ("message", own.message_id),
        ] {
            if let Some(id) = id.map(|id| id.to_string()) {
                facade.artifact(kind, &id).effect("create", kind, &id);
            }
        }
        commands.push(json!({ "agent": own.agent, "command": own.command }));
    }
    facade.result("messages_sent", delivered.len()).result("delivery_plan", json!(delivered));
    facade.result("commands", commands).field("execution_status", "command_ready_manual");
}

fn rerouted(old: &Record, agent: AgentName) -> Result<Lane, Error> {
    let scope = old.fields.scope.as_ref().map(ToString::to_string);
    Ok(Lane {
        agent,
        task: old.text.to_string(),
        surfaces: scope.as_deref().map(surfaces).transpose()?.flatten(),
        scope,
        plan: old.fields.plan_id,
        name: old.fields.lane.as_ref().map(ToString::to_string),
        worktree: None,
        thread: None,
    })
}

fn summary(own: &Record, overdue: bool) -> Value {
    json!({
        "id": own.id, "short_label": own.id.label(), "agent": own.agent().map(shown),
        "status": own.status, "overdue": overdue,
        "plan_id": own.fields.plan_id, "scope": own.fields.scope,
        "text": own.text.as_str().chars().take(120).collect::<String>(),
    })
}

/// Reports obstacles. Fails if nothing was done.
fn conclude(facade: &mut Facade, obstacles: &[Obstacle], done: usize) -> Result<(), Error> {
    let skipped: Vec<Value> = obstacles.iter().map(Obstacle::shown).collect();
    if let Some(first) = obstacles.first() {
        if done == 0 {
            let message = format!("nothing was sent: {}", first.message);
            let error = first.error(message).with(json!({ "skipped": skipped }));
            let held = obstacles.iter().filter_map(|own| own.held.as_deref().cloned());
            return Err(error.with_code(first.code).holding(held.collect()));
        }
        facade.partial();
    }
    for own in obstacles {
        facade.warn(own.code, format!("{}: {}", own.agent, own.message));
    }
    facade.result("skipped", skipped);
    Ok(())
}

fn label(text: &str) -> Result<Label, Error> {
    Label::new(text).map_err(Error::unreadable)
}
