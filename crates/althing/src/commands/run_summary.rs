//! The part of `althing status` about the current run.

use althing_engine::trail_query::TrailQuery;
use althing_kernel::approvals::view::ApprovalsView;
use althing_kernel::query::{EscalationList, RunView, TaskList, WorkspaceList};
use althing_kernel::workspace::Status;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{AgentName, Event, Kind, Timestamp, WorkspaceId, task};
use serde::Serialize;
use std::collections::BTreeMap;

use super::coordinator::{leader, room_lines};
use super::{approvals, gates};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::naming::short;
use crate::output::{Tone, counted, from_now, one_line};

/// Among how many last entries the reason of a workspace that cannot go on is looked for.
const REASONS_AMONG: u64 = 2_000;

/// A run in short.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    run: RunView,
    /// Number of live workspaces, by state.
    workspaces: BTreeMap<&'static str, usize>,
    /// How many tasks of this run there are, by state.
    tasks: BTreeMap<&'static str, usize>,
    blocked: Vec<Blocked>,
    /// The approval settings, and who chose them.
    highway: ApprovalsView,
    /// Open gates.
    gates: Waiting,
    /// How many gates were rejected because nobody answered, and can be asked again.
    unanswered: u64,
    /// Open escalations.
    escalations: Waiting,
}

/// The number, owners and age of things that wait for people.
#[derive(Default, Serialize)]
struct Waiting {
    count: u64,
    /// How many wait for whom.
    owners: BTreeMap<String, u64>,
    oldest: Option<Timestamp>,
}

impl Waiting {
    fn of(all: impl Iterator<Item = (String, Timestamp)>) -> Self {
        let mut waiting = Waiting::default();
        for (owner, since) in all {
            waiting.count += 1;
            *waiting.owners.entry(owner).or_default() += 1;
            waiting.oldest = Some(waiting.oldest.map_or(since, |oldest| oldest.min(since)));
        }
        waiting
    }

    fn print(
        &self,
        context: &CommandContext<'_>,
        (one, more): (&str, &str),
        command: &str,
    ) -> Result<(), Error> {
        let Some(oldest) = self.oldest else { return Ok(()) };
        let owners: Vec<String> =
            self.owners.iter().map(|(owner, count)| format!("{count} for {owner}")).collect();
        let words = format!(
            "{}: {}, the oldest came {}; see `{command}`",
            counted(self.count, one, more),
            owners.join(", "),
            from_now(oldest, context.now())
        );
        context.out().wrapped(0, Tone::Warn, &one_line(&words))
    }
}

/// A workspace that cannot go on.
#[derive(Serialize)]
struct Blocked {
    workspace: WorkspaceId,
    agent: Option<AgentName>,
    reason: Option<String>,
}

impl Summary {
    /// The current run, if there is one.
    pub(super) fn of(context: &CommandContext<'_>) -> Result<Option<Self>, Error> {
        let Some(run) = context.run()? else { return Ok(None) };
        let mut live =
            context.workspaces(WorkspaceList { live: true, ..WorkspaceList::default() })?;
        live.retain(WorkspaceView::is_of_run);
        let mut workspaces = BTreeMap::new();
        for view in &live {
            *workspaces.entry(view.status.as_str()).or_default() += 1;
        }
        let blocked = live.into_iter().filter(|view| view.status == Status::Blocked);
        let tasks = tasks(context, &run.root)?;
        let blocked = blocked.map(|view| Blocked::of(context, view)).collect::<Result<_, _>>()?;
        let open = gates::open(context)?;
        let waiting = Waiting::of(open.iter().map(|gate| (gate.owner.to_string(), gate.since)));
        let asked = approvals::waiting(context, EscalationList::default())?;
        let asked = asked.iter().map(|open| (open.owner.to_string(), open.since));
        let escalations = Waiting::of(asked);
        let unanswered = gates::unanswered(context)?.len() as u64;
        let highway = approvals::settings(context)?;
        Ok(Some(Summary {
            run,
            workspaces,
            tasks,
            blocked,
            highway,
            gates: waiting,
            unanswered,
            escalations,
        }))
    }

    pub(super) fn print(&self, context: &CommandContext<'_>) -> Result<(), Error> {
        let out = context.out();
        let leads = leader(self.run.coordinator.as_ref());
        out.line(format!("\ncurrent run: {}; {leads}", short(&self.run.root)))?;
        out.fact("workspaces: ", 12, &list(&self.workspaces))?;
        if !self.tasks.is_empty() {
            out.fact("tasks: ", 7, &list(&self.tasks))?;
        }
        for line in room_lines(self.run.limits.as_ref(), &self.run.room) {
            out.fact("room: ", 6, &line)?;
        }
        match approvals::unanswered(&self.highway).as_slice() {
            [] => out.line("gates: none; nothing waits for people")?,
            lines => lines.iter().try_for_each(|line| out.fact("gates: ", 7, line))?,
        }
        let gates = ("gate waits for a person", "gates wait for people");
        self.gates.print(context, gates, "althing gate list")?;
        if self.unanswered > 0 {
            let gates = counted(self.unanswered, "gate was", "gates were");
            let words = format!(
                "{gates} rejected since nobody answered; see `althing gate list --all`, and ask again \
                 with `althing gate ask GATE`"
            );
            out.wrapped(0, Tone::Warn, &words)?;
        }
        let asked = ("agent needs a person", "agents need people");
        self.escalations.print(context, asked, "althing escalations")?;
        let naming = context.workspace_naming()?;
        for Blocked { workspace, agent, reason } in &self.blocked {
            let agent = agent.as_ref().map_or("the system", |agent| agent.as_str());
            let reason = reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let words =
                one_line(&format!("{} {agent} is blocked{reason}", naming.short(workspace)));
            out.cut_line(format!("  {}", out.paint(Tone::Bad, &words)))?;
        }
        Ok(())
    }
}

/// The tasks of a run, by state.
fn tasks(
    context: &CommandContext<'_>,
    root: &WorkspaceId,
) -> Result<BTreeMap<&'static str, usize>, Error> {
    let graphs = context.graphs()?;
    let own: Vec<_> = graphs.iter().filter(|graph| graph.run.as_ref() == Some(root)).collect();
    let mut counts = BTreeMap::new();
    for task in context.tasks(TaskList::default())? {
        if own.iter().any(|graph| graph.graph == task.graph) {
            let status: task::Status = task.status;
            *counts.entry(status.as_str()).or_default() += 1;
        }
    }
    Ok(counts)
}

impl Blocked {
    fn of(context: &CommandContext<'_>, view: WorkspaceView) -> Result<Self, Error> {
        let end = context.engine()?.world()?.seq();
        let steps = TrailQuery {
            kinds: vec![Kind::WorkspaceStateChanged],
            workspace: Some(view.workspace.clone()),
            after: Some(end.saturating_sub(REASONS_AMONG)),
            limit: Some(1),
            last: true,
            ..TrailQuery::default()
        };
        let found = steps.find(&mut *context.engine()?.reader()?)?;
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
