//! What `althing status` tells about the run that goes on.

use althing_engine::trail_query::TrailQuery;
use althing_kernel::query::{RunView, TaskList, WorkspaceList};
use althing_kernel::workspace::Status;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{AgentName, Event, Kind, WorkspaceId, task};
use serde::Serialize;
use std::collections::BTreeMap;

use super::coordinator::{leader, room_lines};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::output::{Tone, counted, one_line};

/// Among how many last entries the reason of a workspace that cannot go on is looked for.
const REASONS_AMONG: u64 = 2_000;

/// A run in short.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    run: RunView,
    /// How many workspaces go on, by state.
    workspaces: BTreeMap<&'static str, usize>,
    /// How many tasks of this run there are, by state.
    tasks: BTreeMap<&'static str, usize>,
    blocked: Vec<Blocked>,
}

/// A workspace that cannot go on.
#[derive(Serialize)]
struct Blocked {
    workspace: WorkspaceId,
    agent: Option<AgentName>,
    reason: Option<String>,
}

impl Summary {
    /// The run that goes on, if one does.
    pub(super) fn of(desk: &Desk<'_>) -> Result<Option<Self>, Failure> {
        let Some(run) = desk.run()? else { return Ok(None) };
        let live = desk.workspaces(WorkspaceList { live: true, ..WorkspaceList::default() })?;
        let mut workspaces = BTreeMap::new();
        for view in &live {
            *workspaces.entry(view.status.as_str()).or_default() += 1;
        }
        let blocked = live.into_iter().filter(|view| view.status == Status::Blocked);
        let tasks = tasks(desk, &run.root)?;
        let blocked = blocked.map(|view| Blocked::of(desk, view)).collect::<Result<_, _>>()?;
        Ok(Some(Summary { run, workspaces, tasks, blocked }))
    }

    pub(super) fn print(&self, desk: &Desk<'_>) -> Result<(), Failure> {
        let out = desk.out();
        let leads = leader(self.run.coordinator.as_ref());
        out.line(format!("\na run goes on below {}; {leads}", self.run.root))?;
        out.line(format!("workspaces: {}", list(&self.workspaces)))?;
        if !self.tasks.is_empty() {
            out.line(format!("tasks: {}", list(&self.tasks)))?;
        }
        for line in room_lines(self.run.limits.as_ref(), &self.run.room) {
            out.line(format!("room: {line}"))?;
        }
        let naming = desk.workspace_naming()?;
        for Blocked { workspace, agent, reason } in &self.blocked {
            let agent = agent.as_ref().map_or("the system", |agent| agent.as_str());
            let reason = reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let words =
                one_line(&format!("{} {agent} is blocked{reason}", naming.short(workspace)));
            out.line(format!("  {}", out.paint(Tone::Bad, &words)))?;
        }
        Ok(())
    }
}

/// The tasks of a run, by state.
fn tasks(desk: &Desk<'_>, root: &WorkspaceId) -> Result<BTreeMap<&'static str, usize>, Failure> {
    let graphs = desk.graphs()?;
    let own: Vec<_> = graphs.iter().filter(|graph| graph.run == *root).collect();
    let mut counts = BTreeMap::new();
    for task in desk.tasks(TaskList::default())? {
        if own.iter().any(|graph| graph.graph == task.graph) {
            let status: task::Status = task.status;
            *counts.entry(status.as_str()).or_default() += 1;
        }
    }
    Ok(counts)
}

impl Blocked {
    fn of(desk: &Desk<'_>, view: WorkspaceView) -> Result<Self, Failure> {
        let end = desk.engine.world()?.seq();
        let steps = TrailQuery {
            kinds: vec![Kind::WorkspaceStateChanged],
            workspace: Some(view.workspace.clone()),
            after: Some(end.saturating_sub(REASONS_AMONG)),
            limit: Some(1),
            last: true,
            ..TrailQuery::default()
        };
        let found = steps.find(&mut *desk.engine.reader()?)?;
        let last = found.last().map(|found| &found.entry.stamped.draft.event);
        let reason = match last {
            Some(Event::WorkspaceStateChanged(body)) => body.reason.as_ref(),
            _ => None,
        };
        let reason = reason.map(ToString::to_string);
        Ok(Blocked { workspace: view.workspace, agent: view.agent, reason })
    }
}

fn list(counts: &BTreeMap<&'static str, usize>) -> String {
    let words: Vec<String> =
        counts.iter().map(|(state, count)| counted(*count as u64, state, state)).collect();
    words.join(", ")
}
