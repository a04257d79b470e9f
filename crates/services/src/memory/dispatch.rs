//! `dispatch`: offers the ready plans of the active sequence to agents.

use althing_dialects::memory::facade::Facade;
use althing_kernel::records::field::Item;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{AgentName, State, task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::Verbs;
use super::args::within;
use super::coordinate::{Aim, Coordinate, report_deliveries};
use super::lanes::{Delivery, Key, Lane, known_agent, others, record, shown, surfaces};
use super::obstacles::{Forecast, Obstacle};
use super::session::Present;
use crate::error::Error;

/// Default number of assignments an agent has at once.
const CAPACITY: usize = 1;

/// The most assignments that can be asked for at once.
const OFFERED_MAX: usize = 1_000;

/// The purpose of a `dispatch` call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DispatchIntent {
    /// To see which plans are ready.
    Analysis,
    /// To offer them.
    #[default]
    Execute,
    /// To ask for a review of a handoff.
    Review,
}

/// Arguments of `dispatch`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Dispatch {
    /// Default: execute.
    #[serde(default)]
    #[schemars(with = "DispatchIntent")]
    pub intent: DispatchIntent,
    /// Default: the active sequence that changed last.
    #[serde(rename = "sequenceId", alias = "sequence_id")]
    pub sequence: Option<String>,
    /// Who may get work. Default: all other agents.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    /// Only these lanes.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub lanes: Vec<String>,
    /// The most assignments to make.
    #[schemars(description = "")]
    #[serde(rename = "maxAssignments")]
    pub assignments_max: Option<usize>,
    /// How many assignments an agent has at once (default 1).
    pub capacity: Option<usize>,
    /// Say what would be done and do nothing.
    #[serde(rename = "dryRun", alias = "dry_run", default)]
    pub dry_run: bool,
    /// Offer it although files of the scope are not committed.
    #[schemars(description = "")]
    #[serde(default)]
    pub allow_dirty: bool,
    /// review: the handoff, and the reviewer.
    #[serde(rename = "handoffId", alias = "handoff_id")]
    pub handoff: Option<String>,
    /// review: the reviewer.
    #[schemars(description = "")]
    pub reviewer: Option<String>,
    /// review: also open a loop.
    #[schemars(description = "")]
    #[serde(rename = "openLoop", alias = "open_loop", default)]
    pub open_loop: bool,
    /// The idempotency key.
    #[schemars(description = "")]
    pub client_request_id: Option<String>,
}

/// The standing of a plan in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Ready,
    Active,
    Blocked,
    Done,
}

struct Judged<'s> {
    item: &'s Item,
    plan: &'s Record,
    status: Status,
    standing: Standing,
    /// Plans that must be done before it and are not.
    waits_for: Vec<RecordId>,
    /// Plans that should be done before it and are not.
    soft: Vec<RecordId>,
    why: &'static str,
}

impl Judged<'_> {
    fn shown(&self) -> Value {
        let mut shown = json!({
            "plan_id": self.plan.id, "rank": self.item.rank, "status": self.status,
            "text": self.plan.text.as_str().chars().take(120).collect::<String>(), "why": self.why,
        });
        if let Some(lane) = &self.item.lane {
            shown["lane"] = json!(lane);
        }
        for (name, list) in [("waits_for", &self.waits_for), ("better_after", &self.soft)] {
            if !list.is_empty() {
                shown[name] = json!(list);
            }
        }
        shown
    }
}

/// The plans of a sequence by rank, each with its standing.
fn judged<'s>(state: &'s State, sequence: &'s Record) -> Vec<Judged<'s>> {
    let unmet = |list: &[RecordId]| -> Vec<RecordId> {
        list.iter().filter(|id| !state.is_met(**id)).copied().collect()
    };
    let is_at_work = |plan: RecordId| state.memory().at_work_on(plan).next().is_some();
    let finished = finished(state, sequence);
    let mut items: Vec<&Item> = sequence.fields.items.iter().collect();
    items.sort_by_key(|item| item.rank);
    let judge = |item: &'s Item| {
        let plan = state.memory().record(item.plan)?;
        let mut waits_for = unmet(&item.hard_after);
        waits_for.extend(unmet(&plan.fields.depends_on));
        waits_for.sort();
        waits_for.dedup();
        let status = state.status_of(plan);
        let soft = unmet(&item.soft_after);
        let (standing, why) = match status {
            Status::Done => (Standing::Done, "done"),
            Status::Cancelled => (Standing::Done, "cancelled"),
            _ if is_at_work(plan.id) => (Standing::Active, "somebody is at work on it"),
            Status::InProgress => (Standing::Active, "in progress"),
            Status::Blocked => (Standing::Blocked, "the plan is blocked"),
            _ if finished.contains(&plan.id) => {
                (Standing::Active, "its assignment is completed: decide whether the plan is done")
            }
            _ if plan.task_state() == Some(task::State::Draft) && state.is_governed(plan) => {
                (Standing::Blocked, "the run has not approved it")
            }
            _ if !waits_for.is_empty() => {
                (Standing::Blocked, "it waits for plans that are not done")
            }
            _ => (Standing::Ready, "ready to be offered"),
        };
        Some(Judged { item, plan, status, standing, waits_for, soft, why })
    };
    items.into_iter().filter_map(judge).collect()
}

/// The plans of a sequence whose last assignment was completed.
fn finished(state: &State, sequence: &Record) -> BTreeSet<RecordId> {
    let mut open: BTreeSet<RecordId> = sequence.fields.items.iter().map(|item| item.plan).collect();
    let mut finished = BTreeSet::new();
    for own in state.memory().newest(Kind::Assignment, None) {
        let Some(plan) = own.fields.plan_id.filter(|plan| open.remove(plan)) else { continue };
        if own.status == Status::Completed {
            finished.insert(plan);
        }
        if open.is_empty() {
            break;
        }
    }
    finished
}

impl Verbs<'_> {
    pub(super) fn dispatch(&self, args: &Dispatch) -> Result<Value, Error> {
        within("maxAssignments", args.assignments_max, OFFERED_MAX)?;
        within("capacity", args.capacity, OFFERED_MAX)?;
        let key = Key::new(args.client_request_id.as_deref(), args)?;
        if args.intent == DispatchIntent::Review {
            return self.dispatch_review(args, &key);
        }
        let present = self.present()?;
        let state = &present.state;
        let sequence = sequence(state, args)?;
        let judged = judged(state, sequence);
        let wanted = |own: &&Judged<'_>| {
            let lane = own.item.lane.as_ref().map(ToString::to_string);
            args.lanes.is_empty() || lane.is_some_and(|lane| args.lanes.contains(&lane))
        };
        let mut facade = Facade::new(match args.intent {
            DispatchIntent::Analysis => "analysis",
            DispatchIntent::Execute | DispatchIntent::Review => "execute",
        });
        facade.result("sequence_id", sequence.id.to_string());
        for (name, standing) in [
            ("ready", Standing::Ready),
            ("active", Standing::Active),
            ("blocked", Standing::Blocked),
            ("done", Standing::Done),
        ] {
            let of = judged.iter().filter(wanted).filter(|own| own.standing == standing);
            facade.result(name, of.map(Judged::shown).collect::<Vec<_>>());
        }
        let mut free = self.free(state, args, &mut facade)?;
        facade.result(
            "capacity",
            free.iter()
                .map(|(name, left)| json!({ "agent": shown(name), "free": left }))
                .collect::<Vec<_>>(),
        );
        if args.intent == DispatchIntent::Analysis {
            return Ok(facade.answer());
        }
        if let Some(before) = self.offered_before(&key)? {
            let sent = self.repeated(&before, std::iter::empty())?;
            facade.result("planned", planned_before(&sent.delivered)).result("dry_run", false);
            facade.result("skipped", json!([]));
            report_deliveries(&mut facade, &sent.delivered);
            return Ok(facade.answer());
        }
        let mut ready: Vec<&Judged<'_>> =
            judged.iter().filter(wanted).filter(|own| own.standing == Standing::Ready).collect();
        ready.sort_by_key(|own| (!own.soft.is_empty(), own.item.rank));
        let (lanes, skipped) = self.chosen(&present, args, &ready, &mut free, &key)?;
        let is_any_ready = !(lanes.is_empty() && skipped.is_empty());
        if is_any_ready && lanes.is_empty() && !free.values().any(|left| *left > 0) {
            facade.warn("nobody_free", nobody_free(&free));
        }
        self.give_out(args, facade, &lanes, skipped, &key)
    }

    /// The lanes to offer for ready plans, and the plans that get none, each with the reason.
    fn chosen(
        &self,
        present: &Present,
        args: &Dispatch,
        ready: &[&Judged<'_>],
        free: &mut BTreeMap<AgentName, usize>,
        key: &Key,
    ) -> Result<(Vec<Lane>, Vec<Value>), Error> {
        let (mut lanes, mut wanted, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for own in ready {
            let skip = |why: &str, data: Value| json!({ "plan_id": own.plan.id, "reason": why, "data": data });
            if args.assignments_max.is_some_and(|max| lanes.len() >= max) {
                skipped.push(skip("'maxAssignments' is reached", Value::Null));
                continue;
            }
            let Some(agent) = choose(own.plan, free) else {
                skipped.push(skip(&no_room(own.plan), Value::Null));
                continue;
            };
            let lane = lane_of(own, agent.clone())?;
            let asked = lane.wanted(key, present.now)?;
            match self.forecast(present, &wanted, &asked)? {
                Forecast::LeftOut(obstacle) => {
                    // The agent is free for another plan again.
                    *free.entry(agent).or_default() += 1;
                    let among_lanes = obstacle.code == "lanes_collide";
                    let data = if among_lanes { obstacle.data } else { obstacle.shown() };
                    skipped.push(skip(obstacle.code, data));
                    continue;
                }
                Forecast::Refused(refusal) if args.dry_run => return Err(refusal.into()),
                Forecast::Free | Forecast::Refused(_) => {}
            }
            lanes.push(lane);
            wanted.push(asked);
        }
        Ok((lanes, skipped))
    }

    /// The number of assignments each agent can still take.
    fn free(
        &self,
        state: &State,
        args: &Dispatch,
        facade: &mut Facade,
    ) -> Result<BTreeMap<AgentName, usize>, Error> {
        let own = self.agent();
        let mut agents: Vec<AgentName> = Vec::new();
        for text in &args.agents {
            match known_agent(state, text) {
                Ok(name) => agents.push(name),
                Err(Obstacle { code, message, .. }) => drop(facade.warn(code, message).partial()),
            }
        }
        if args.agents.is_empty() {
            agents.extend(others(state, own.as_ref()).map(|(name, _)| name.clone()));
        } else if agents.is_empty() {
            let error = Error::not_found("none of these agents is known");
            return Err(error.with_code("agent_validation_failed"));
        }
        let capacity = args.capacity.unwrap_or(CAPACITY);
        let mut free: BTreeMap<AgentName, usize> =
            agents.into_iter().map(|name| (name, capacity)).collect();
        let live = state.memory().newest(Kind::Assignment, Some(true));
        for own in live.filter(|own| own.is_open_work()) {
            if let Some(left) = own.agent().and_then(|name| free.get_mut(name)) {
                *left = left.saturating_sub(1);
            }
        }
        Ok(free)
    }

    fn give_out(
        &self,
        args: &Dispatch,
        mut facade: Facade,
        lanes: &[Lane],
        skipped: Vec<Value>,
        key: &Key,
    ) -> Result<Value, Error> {
        let planned: Vec<Value> = lanes
            .iter()
            .map(|lane| json!({ "agent": shown(&lane.agent), "plan_id": lane.plan, "scope": lane.scope }))
            .collect();
        facade.result("planned", planned).result("dry_run", args.dry_run);
        if args.dry_run {
            facade.result("messages_sent", 0).result("skipped", skipped);
            return Ok(facade.answer());
        }
        let cleanliness = Coordinate::plain(Aim::Assign, args.allow_dirty);
        if !lanes.is_empty() {
            self.check_clean(&cleanliness, lanes)?;
        }
        let (mut skipped, mut delivered) = (skipped, Vec::new());
        if !lanes.is_empty() {
            let sent = self.offer(lanes, key)?;
            delivered = sent.delivered;
            if !sent.obstacles.is_empty() {
                facade.partial();
            }
            skipped.extend(sent.obstacles.iter().map(Obstacle::shown));
        }
        facade.result("skipped", skipped);
        report_deliveries(&mut facade, &delivered);
        Ok(facade.answer())
    }

    /// Asks an agent to review a handoff.
    fn dispatch_review(&self, args: &Dispatch, key: &Key) -> Result<Value, Error> {
        let Present { state, .. } = self.present()?;
        let handoff = args.handoff.as_deref();
        let handoff = handoff.ok_or_else(|| Error::usage("review requires 'handoffId'"))?;
        let handoff = record(&state, Kind::Handoff, handoff)?;
        let reviewer = args.reviewer.clone();
        let reviewer = reviewer.ok_or_else(|| Error::usage("review requires 'reviewer'"))?;
        if args.dry_run {
            let mut facade = Facade::new("review");
            facade.result("dry_run", true).result("handoff_id", handoff.id.to_string());
            facade.result("planned", json!([{ "agent": reviewer }])).result("messages_sent", 0);
            return Ok(facade.answer());
        }
        let review = Coordinate {
            task: format!("Review {}: {}", handoff.id, handoff.text),
            targets: vec![reviewer],
            open_loop: args.open_loop,
            client_request_id: args.client_request_id.clone(),
            ..Coordinate::plain(Aim::Review, true)
        };
        self.coordinate(&review, key)
    }
}

/// The reason why no agent gets a plan.
fn no_room(plan: &Record) -> String {
    match &plan.fields.assignee {
        Some(named) => format!("its assignee {named} is at capacity"),
        None => "every agent is at capacity".to_owned(),
    }
}

/// A warning that no agent is free, with ways to change that.
fn nobody_free(agents: &BTreeMap<AgentName, usize>) -> String {
    if agents.is_empty() {
        return "there is no other agent to give work to: an agent is known once it has worked here".to_owned();
    }
    let names: Vec<String> = agents.keys().take(5).map(shown).collect();
    let more = if agents.len() > names.len() { ", …" } else { "" };
    let names = names.join(", ");
    format!(
        "nobody is free ({names}{more}): wait for an assignment to end, name more agents in \
         'agents', or raise 'capacity'"
    )
}

/// Lists earlier offers as planned assignments.
fn planned_before(delivered: &[Delivery]) -> Vec<Value> {
    let one = |own: &Delivery| json!({ "agent": own.agent, "plan_id": own.plan_id });
    delivered.iter().map(one).collect()
}

/// The sequence that is named, or the active one.
fn sequence<'s>(state: &'s State, args: &Dispatch) -> Result<&'s Record, Error> {
    if let Some(text) = &args.sequence {
        return record(state, Kind::Sequence, text);
    }
    let active = state.memory().newest(Kind::Sequence, Some(true));
    let mut active = active.filter(|own| own.status == Status::Active);
    active.next().ok_or_else(|| {
        let message = "there is no active sequence; create one with the plans in their order";
        Error::not_found(message).about(Kind::Sequence)
    })
}

/// Chooses an agent for a plan: its assignee, else the agent with the most free capacity.
fn choose(plan: &Record, free: &mut BTreeMap<AgentName, usize>) -> Option<AgentName> {
    let named = plan.fields.assignee.as_ref().map(ToString::to_string);
    let mut fits: Vec<(&AgentName, &mut usize)> = free
        .iter_mut()
        .filter(|(name, left)| {
            **left > 0 && named.as_deref().is_none_or(|own| own == name.as_str())
        })
        .collect();
    fits.sort_by_key(|(_, left)| std::cmp::Reverse(**left));
    let (name, left) = fits.into_iter().next()?;
    *left -= 1;
    Some(name.clone())
}

fn lane_of(own: &Judged<'_>, agent: AgentName) -> Result<Lane, Error> {
    let hint = own.item.scope_hint.as_ref().map(ToString::to_string);
    let scope = hint.or_else(|| {
        let paths = own.plan.fields.related_paths.iter().map(ToString::to_string);
        let paths: Vec<String> = paths.collect();
        (!paths.is_empty()).then(|| paths.join(", "))
    });
    Ok(Lane {
        agent,
        task: own.plan.text.to_string(),
        surfaces: scope.as_deref().map(surfaces).transpose()?.flatten(),
        scope,
        plan: Some(own.plan.id),
        name: own.item.lane.as_ref().map(ToString::to_string),
        worktree: None,
        thread: None,
    })
}
