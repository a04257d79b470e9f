//! Lanes: each workspace of a run with the states it went through, and when.

use althing_kernel::{Span, Timestamp};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

use super::usage::Usages;
use crate::read::row::{Row, text};

/// A change of a workspace's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Time.
    pub at: Timestamp,
    /// The new state.
    pub state: String,
}

/// A workspace in the report of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The workspace.
    pub workspace: String,
    /// Its parent when it was created.
    pub parent: Option<String>,
    /// Its role.
    pub role: String,
    /// The agent that works in it, or did last.
    pub agent: Option<String>,
    /// Name of its task.
    pub task: Option<String>,
    /// Its states, in order.
    pub steps: Vec<Step>,
    /// Times of its checkpoints.
    pub checkpoints: Vec<Timestamp>,
    /// Tokens it used: as metered, else as its checkpoints claim.
    pub tokens: u64,
    /// Their cost, in millionths.
    pub cost: u64,
}

impl Lane {
    /// Time it spent in each state up to a moment.
    pub fn spent(&self, until: Timestamp) -> BTreeMap<&str, Span> {
        let mut spent: BTreeMap<&str, Span> = BTreeMap::new();
        for (n, step) in self.steps.iter().enumerate() {
            let end = self.steps.get(n + 1).map_or(until, |next| next.at);
            let total = spent.entry(step.state.as_str()).or_default();
            *total = Span::from_micros(total.micros() + end.since(step.at).micros());
        }
        spent
    }
}

/// Lanes while entries are read.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    places: BTreeMap<String, usize>,
}

impl Lanes {
    pub(super) fn created(&mut self, row: &Row<'_>, body: &Value) {
        let field = |name: &str| text(body, name).map(str::to_owned);
        let Some(id) = field("workspace_id") else { return };
        self.places.insert(id.clone(), self.lanes.len());
        self.lanes.push(Lane {
            workspace: id,
            parent: field("parent"),
            role: field("role").unwrap_or_default(),
            agent: field("agent"),
            task: None,
            steps: vec![Step { at: row.at, state: "idle".to_owned() }],
            checkpoints: Vec::new(),
            tokens: 0,
            cost: 0,
        });
    }

    fn lane(&mut self, id: &str) -> Option<&mut Lane> {
        self.places.get(id).and_then(|at| self.lanes.get_mut(*at))
    }

    pub(super) fn step(&mut self, row: &Row<'_>, id: &str, to: &str) {
        if let Some(lane) = self.lane(id) {
            lane.steps.push(Step { at: row.at, state: to.to_owned() });
        }
    }

    /// Notes the agent that a workspace was moved to.
    pub(super) fn migrated(&mut self, body: &Value) {
        let (Some(id), agent) = (text(body, "workspace_id"), text(body, "new_agent")) else {
            return;
        };
        if let Some(lane) = self.lane(id) {
            lane.agent = agent.map(str::to_owned);
        }
    }

    /// Renames a task, after a person did.
    pub(super) fn renamed(&mut self, from: &str, to: &str) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.task.as_deref() == Some(from)) {
            lane.task = Some(to.to_owned());
        }
    }

    pub(super) fn works_on(&mut self, id: &str, task: &str) {
        if let Some(lane) = self.lane(id) {
            lane.task = Some(task.to_owned());
        }
    }

    pub(super) fn checkpoint(&mut self, row: &Row<'_>, id: &str) {
        if let Some(lane) = self.lane(id) {
            lane.checkpoints.push(row.at);
        }
    }

    pub(super) fn finish(mut self, usages: &Usages) -> Vec<Lane> {
        for lane in &mut self.lanes {
            (lane.tokens, lane.cost) = usages.of(&lane.workspace);
        }
        self.lanes
    }
}
