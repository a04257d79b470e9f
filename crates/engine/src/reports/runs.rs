//! Digests of runs: duration, cost, failures, and interventions of people.

use althing_kernel::{Span, Timestamp, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::lanes::{Lane, Lanes};
use super::usage::Usages;
use crate::error::EngineError;
use crate::read::row::{Row, Scope, Source, number, text};

/// Digest of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskDigest {
    /// The task.
    pub task: String,
    /// Its name.
    pub name: String,
    /// Its state.
    pub status: String,
    /// Number of attempts.
    pub attempts: u64,
    /// Time of the first attempt.
    pub first_at: Option<Timestamp>,
    /// Time from then until its last change of state, or until now if it is being worked on.
    pub took: Span,
    /// Tokens its workspaces used.
    pub tokens: u64,
    /// Their cost, in millionths.
    pub cost: u64,
}

/// Digest of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunDigest {
    /// Its root.
    pub run: String,
    /// The first coordinating agent.
    pub coordinator: Option<String>,
    /// Time of its beginning.
    pub started_at: Timestamp,
    /// Time of its last entry.
    pub last_at: Timestamp,
    /// How it ended, if it has.
    pub ended: Option<String>,
    /// Time from its beginning to its last entry, or until now while it runs.
    pub wall: Span,
    /// Number of its entries.
    pub entries: u64,
    /// Number of entries that were deleted with archives and are not included.
    pub deleted_entries: u64,
    /// Number of workspaces besides the root, by role.
    pub roles: BTreeMap<String, u64>,
    /// Number of workspaces besides the root.
    pub workspaces: u64,
    /// Number of them that closed normally.
    pub closed: u64,
    /// Number of them that failed.
    pub failures: u64,
    /// Most of them that were active at the same time.
    pub at_once: u64,
    /// Number of retries of tasks.
    pub retries: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Tokens used: of each workspace as metered, else as its checkpoints claim.
    pub tokens: u64,
    /// Their cost, in millionths.
    pub cost: u64,
    /// Time that agents claimed with their checkpoints.
    pub reported: Span,
    /// Number of messages, by type.
    pub messages: BTreeMap<String, u64>,
    /// Number of messages that were not delivered.
    pub undeliverable: u64,
    /// Number of conflicts that stopped a merge.
    pub conflicts: u64,
    /// Number of refused commands.
    pub refusals: u64,
    /// Number of actions of people, besides beginning the run.
    pub interventions: u64,
    /// Number of actions by person.
    pub people: BTreeMap<String, u64>,
    /// Its tasks, in the order they were planned.
    pub tasks: Vec<TaskDigest>,
    /// Its workspaces, the root first; only in the report of one run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Lane>,
}

impl RunDigest {
    /// Counts the time of a run that goes on until now instead of its last entry.
    pub fn runs_until(&mut self, now: Timestamp) {
        if self.ended.is_none() {
            self.wall = now.since(self.started_at);
        }
    }
}

/// Whether a kind of event is a refusal. A person whose command was refused did nothing.
fn is_refusal(kind: &str) -> bool {
    matches!(
        kind,
        "command.refused"
            | "workspace_rejected"
            | "envelope_rejected"
            | "checkpoint_rejected"
            | "capability_denied"
    )
}

/// A run while its entries are read.
#[derive(Default)]
struct Reading {
    digest: RunDigest,
    at_work: u64,
    tasks: BTreeMap<String, usize>,
    /// The task of each workspace that works on one.
    works_on: BTreeMap<String, usize>,
    /// The task of each gate.
    gates: BTreeMap<String, usize>,
    usages: Usages,
    lanes: Option<Lanes>,
}

/// All runs while entries are read.
#[derive(Default)]
struct Reader {
    runs: Vec<Reading>,
    /// The run of each workspace.
    homes: BTreeMap<String, usize>,
    /// The current run.
    current: Option<usize>,
    /// The run whose workspaces are included.
    drawn: Option<String>,
}

impl Reader {
    fn take(&mut self, row: &Row<'_>) {
        if row.kind == "workspace_created" {
            self.created(&row.body());
        }
        let home = match row.workspace.as_deref() {
            Some(id) => self.homes.get(id).copied(),
            None => self.current,
        };
        let Some(home) = home else { return };
        let run = &mut self.runs[home];
        run.take(row);
        if run.digest.ended.is_some() && self.current == Some(home) {
            self.current = None;
        }
    }

    fn created(&mut self, body: &Value) {
        let Some(id) = text(body, "workspace_id") else { return };
        let above = text(body, "parent").and_then(|parent| self.homes.get(parent).copied());
        let home = match (above, text(body, "parent")) {
            (Some(home), _) => home,
            // Its parent was not read, because the viewer may not or reading began later.
            (None, Some(_)) => return,
            // The standing root is above what happens outside runs.
            (None, None) if body["run"].is_null() => return,
            (None, None) => {
                let digest = RunDigest {
                    run: id.to_owned(),
                    coordinator: text(body, "agent").map(str::to_owned),
                    ..RunDigest::default()
                };
                let lanes = (self.drawn.as_deref() == Some(id)).then(Lanes::default);
                self.runs.push(Reading { digest, lanes, ..Reading::default() });
                self.current = Some(self.runs.len() - 1);
                self.runs.len() - 1
            }
        };
        self.homes.insert(id.to_owned(), home);
    }
}

impl Reading {
    fn take(&mut self, row: &Row<'_>) {
        let digest = &mut self.digest;
        if digest.entries == 0 {
            digest.started_at = row.at;
        }
        digest.entries += 1;
        digest.last_at = row.at;
        digest.wall = row.at.since(digest.started_at);
        let refused = is_refusal(&row.kind);
        digest.refusals += u64::from(refused);
        let begins =
            row.kind == "workspace_created" && row.workspace.as_deref() == Some(&*digest.run);
        if let (Some(person), false) = (row.person(), refused || begins) {
            digest.interventions += 1;
            *digest.people.entry(person.to_owned()).or_default() += 1;
        }
        match &*row.kind {
            "workspace_created" => self.workspace(row),
            "workspace_state_changed" => self.step(row),
            "migration_completed" => {
                if let Some(lanes) = &mut self.lanes {
                    lanes.migrated(&row.body());
                }
            }
            "checkpoint_created" => self.checkpoint(row),
            "meter.reported" => self.usages.take(row, &row.body()),
            "gate_triggered" => self.gate(&row.body()),
            "gate_resolved" => self.answered(&row.body()),
            "task_created" => self.task(&row.body()),
            "task_assigned" => self.assigned(row),
            "task_status_changed" => self.task_step(row),
            "envelope_created" => {
                let kind = text(&row.body(), "type").unwrap_or_default().to_owned();
                *digest.messages.entry(kind).or_default() += 1;
            }
            "envelope_undeliverable" => digest.undeliverable += 1,
            "conflict_detected" => digest.conflicts += 1,
            _ => {}
        }
    }

    fn workspace(&mut self, row: &Row<'_>) {
        let body = row.body();
        if let Some(lanes) = &mut self.lanes {
            lanes.created(row, &body);
        }
        if text(&body, "parent").is_none() {
            return;
        }
        self.digest.workspaces += 1;
        let role = text(&body, "role").unwrap_or_default().to_owned();
        *self.digest.roles.entry(role).or_default() += 1;
    }

    fn step(&mut self, row: &Row<'_>) {
        let body = row.body();
        let (Some(id), Some(from), Some(to)) =
            (text(&body, "workspace_id"), text(&body, "from_state"), text(&body, "to_state"))
        else {
            return;
        };
        if let Some(lanes) = &mut self.lanes {
            lanes.step(row, id, to);
        }
        if id == self.digest.run {
            self.digest.ended = matches!(to, "closed" | "failed").then(|| to.to_owned());
            return;
        }
        match to {
            "closed" => self.digest.closed += 1,
            "failed" => self.digest.failures += 1,
            _ => {}
        }
        match (from == "active", to == "active") {
            (false, true) => self.at_work += 1,
            (true, false) => self.at_work = self.at_work.saturating_sub(1),
            _ => {}
        }
        self.digest.at_once = self.digest.at_once.max(self.at_work);
    }

    fn checkpoint(&mut self, row: &Row<'_>) {
        let body = row.body();
        self.usages.take(row, &body);
        let claimed = body.get("resource_usage").map_or(0, |usage| number(usage, "wall_time"));
        let digest = &mut self.digest;
        digest.checkpoints += 1;
        digest.reported = Span::from_micros(digest.reported.micros().saturating_add(claimed));
        if let (Some(lanes), Some(id)) = (&mut self.lanes, text(&body, "workspace")) {
            lanes.checkpoint(row, id);
        }
    }

    fn gate(&mut self, body: &Value) {
        let task = text(body, "subject").and_then(|id| self.tasks.get(id));
        if let (Some(task), Some(gate)) = (task, text(body, "gate_id")) {
            self.gates.insert(gate.to_owned(), *task);
        }
    }

    /// Applies a person's answer at a gate, which may rename a task.
    fn answered(&mut self, body: &Value) {
        let task = text(body, "gate_id").and_then(|id| self.gates.get(id));
        let name = body.pointer("/modifications/name").and_then(Value::as_str);
        let (Some(task), Some(name)) = (task, name) else { return };
        let task = &mut self.digest.tasks[*task];
        if let Some(lanes) = &mut self.lanes {
            lanes.renamed(&task.name, name);
        }
        name.clone_into(&mut task.name);
    }

    fn task(&mut self, body: &Value) {
        let Some(id) = text(body, "task_id") else { return };
        self.tasks.insert(id.to_owned(), self.digest.tasks.len());
        self.digest.tasks.push(TaskDigest {
            task: id.to_owned(),
            name: text(body, "name").unwrap_or_default().to_owned(),
            status: "draft".to_owned(),
            attempts: 0,
            first_at: None,
            took: Span::default(),
            tokens: 0,
            cost: 0,
        });
    }

    fn assigned(&mut self, row: &Row<'_>) {
        let body = row.body();
        let at = text(&body, "task_id").and_then(|id| self.tasks.get(id)).copied();
        let (Some(at), Some(workspace)) = (at, text(&body, "workspace_id")) else { return };
        let task = &mut self.digest.tasks[at];
        task.attempts += 1;
        task.first_at = task.first_at.or(Some(row.at));
        self.digest.retries += u64::from(task.attempts > 1);
        self.works_on.insert(workspace.to_owned(), at);
        if let Some(lanes) = &mut self.lanes {
            lanes.works_on(workspace, &self.digest.tasks[at].name);
        }
    }

    fn task_step(&mut self, row: &Row<'_>) {
        let body = row.body();
        let at = text(&body, "task_id").and_then(|id| self.tasks.get(id)).copied();
        let (Some(at), Some(to)) = (at, text(&body, "to_status")) else { return };
        let task = &mut self.digest.tasks[at];
        to.clone_into(&mut task.status);
        task.took = task.first_at.map_or(Span::default(), |first| row.at.since(first));
    }

    fn finish(mut self) -> RunDigest {
        let end = self.digest.last_at;
        for task in &mut self.digest.tasks {
            let open = matches!(task.status.as_str(), "assigned" | "in_progress");
            if let (true, Some(first)) = (open, task.first_at) {
                task.took = end.since(first);
            }
        }
        for (at, task) in self.digest.tasks.iter_mut().enumerate() {
            let own = self.works_on.iter().filter(|(_, task)| **task == at);
            (task.tokens, task.cost) = self.usages.sum(own.map(|(workspace, _)| workspace));
        }
        (self.digest.tokens, self.digest.cost) = self.usages.total();
        let lanes = self.lanes.map(|lanes| lanes.finish(&self.usages));
        self.digest.lanes = lanes.unwrap_or_default();
        self.digest
    }
}

/// Digests of all runs that the viewer may read, oldest first.
pub fn runs(source: &Source, scope: &Scope) -> Result<Vec<RunDigest>, EngineError> {
    read(source, scope, 0, None)
}

fn read(
    source: &Source,
    scope: &Scope,
    after: u64,
    drawn: Option<String>,
) -> Result<Vec<RunDigest>, EngineError> {
    let mut reader = Reader { drawn, ..Reader::default() };
    source.each(after, &mut |row| {
        // A viewer who may read a workspace's entries may know which run it belongs to.
        if scope.has(row) || row.kind == "workspace_created" {
            reader.take_within(row, scope);
        }
        Ok(())
    })?;
    let runs = reader.runs.into_iter().map(Reading::finish);
    let mut runs: Vec<RunDigest> = runs.filter(|run| run.entries > 0).collect();
    let deleted = deleted(source, scope)?;
    for run in &mut runs {
        run.deleted_entries = deleted.get(&run.run).copied().unwrap_or(0);
    }
    Ok(runs)
}

/// Number of entries of each run that were deleted with archives.
pub fn deleted(source: &Source, scope: &Scope) -> Result<BTreeMap<String, u64>, EngineError> {
    let mut deleted: BTreeMap<String, u64> = BTreeMap::new();
    let places = source.places(false)?;
    source.each_deleted(&mut |_, stub| {
        let may = scope.0.as_ref().is_none_or(|within| within.contains(&stub.workspace));
        if let Some(place) = places.get(stub.workspace.as_str()).filter(|_| may) {
            *deleted.entry(place.run.clone()).or_default() += 1;
        }
    })?;
    Ok(deleted)
}

impl Reader {
    fn take_within(&mut self, row: &Row<'_>, scope: &Scope) {
        if scope.has(row) {
            self.take(row);
        } else {
            self.created(&row.body());
        }
    }
}

/// The id of the selected run: the newest, if none is named.
pub(super) fn chosen(source: &Source, run: Option<&WorkspaceId>) -> Result<String, EngineError> {
    if let Some(run) = run {
        return Ok(run.to_string());
    }
    let newest = match source {
        Source::Project(engine) => engine.world()?.state.newest_root().map(ToString::to_string),
        Source::File(_) => runs(source, &Scope::default())?.pop().map(|digest| digest.run),
    };
    newest.ok_or_else(|| EngineError::NotFound("there was no run".to_owned()))
}

/// A position before a run began, as late as can be found cheaply.
pub(super) fn beginning(source: &Source, run: &str) -> Result<u64, EngineError> {
    let Source::Project(engine) = source else { return Ok(0) };
    let root = WorkspaceId::new(run).map_err(|error| EngineError::Invalid(error.to_string()))?;
    let world = engine.world()?;
    let began = world.state.workspace(&root).map(|known| known.charter.created_at);
    began.map_or(Ok(0), |began| source.before(began))
}

/// Digest of one run, with its workspaces.
pub fn run(
    source: &Source,
    scope: &Scope,
    run: Option<&WorkspaceId>,
) -> Result<RunDigest, EngineError> {
    let run = chosen(source, run)?;
    let after = beginning(source, &run)?;
    let found = read(source, scope, after, Some(run.clone()))?;
    match found.into_iter().find(|digest| digest.run == run) {
        Some(digest) => Ok(digest),
        None => Err(no_run(source, scope, &run)),
    }
}

/// The error for a run that does not exist, or not any more.
pub(super) fn no_run(source: &Source, scope: &Scope, run: &str) -> EngineError {
    match deleted(source, scope).map(|deleted| deleted.get(run).copied()) {
        Err(error) => error,
        Ok(None) => EngineError::NotFound(format!("there is no run {run}")),
        Ok(Some(gone)) => EngineError::NotFound(format!(
            "the beginning of run {run} was deleted with archives, {gone} entries in all"
        )),
    }
}

/// `trail.compare`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The root of the first run.
    pub a: WorkspaceId,
    /// The root of the second run.
    pub b: WorkspaceId,
}

/// One figure of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Of the first.
    pub a: u64,
    /// Of the second.
    pub b: u64,
}

/// A task of two runs, matched by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskPair {
    /// Its name.
    pub name: String,
    /// In the first run, if it had it.
    pub a: Option<TaskDigest>,
    /// In the second run, if it had it.
    pub b: Option<TaskDigest>,
}

/// A comparison of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The first.
    pub a: RunDigest,
    /// The second.
    pub b: RunDigest,
    /// The figures of both.
    pub figures: BTreeMap<&'static str, Pair>,
    /// The tasks of both, those of the first run first.
    pub tasks: Vec<TaskPair>,
}

/// Name of a figure, and its value for a run.
pub type Figure = (&'static str, fn(&RunDigest) -> u64);

/// The figures two runs are compared by.
pub const FIGURES: &[Figure] = &[
    ("wall", |run| run.wall.micros()),
    ("cost", |run| run.cost),
    ("tokens", |run| run.tokens),
    ("workspaces", |run| run.workspaces),
    ("failures", |run| run.failures),
    ("retries", |run| run.retries),
    ("checkpoints", |run| run.checkpoints),
    ("interventions", |run| run.interventions),
    ("conflicts", |run| run.conflicts),
    ("refusals", |run| run.refusals),
    ("messages", |run| run.messages.values().sum()),
    ("at_once", |run| run.at_once),
];

/// Compares two runs.
pub fn compare(a: RunDigest, b: RunDigest) -> Comparison {
    let figures = FIGURES.iter().map(|(name, of)| (*name, Pair { a: of(&a), b: of(&b) })).collect();
    // A plan may use a name twice; the first goes with the first.
    let mut left: Vec<&TaskDigest> = b.tasks.iter().collect();
    let mut tasks: Vec<TaskPair> = Vec::new();
    for task in &a.tasks {
        let at = left.iter().position(|other| other.name == task.name);
        let other = at.map(|at| left.remove(at).clone());
        tasks.push(TaskPair { name: task.name.clone(), a: Some(task.clone()), b: other });
    }
    let rest = left.into_iter().map(|task| TaskPair {
        name: task.name.clone(),
        a: None,
        b: Some(task.clone()),
    });
    tasks.extend(rest);
    Comparison { a, b, figures, tasks }
}
