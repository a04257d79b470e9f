//! `althing coordinator`

use althing_engine::trail_query::TrailQuery;
use althing_kernel::admission::{Capacity, Limits, Standing};
use althing_kernel::approvals::view::ApprovalsView;
use althing_kernel::deployment::Deployment;
use althing_kernel::query::RunView;
use althing_kernel::run::{End, HandOver, Start};
use althing_kernel::workspace::Party;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{AgentName, Command, Event, Kind, Reply, Rule, WorkspaceId};
use serde_json::json;

use super::approvals;
use crate::app::App;
use crate::cli::{CoordinatorCommand, CoordinatorStart};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::input::read_document;
use crate::naming::short;
use crate::output::{counted, show_bytes};

pub(crate) fn run(app: &App, command: CoordinatorCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        CoordinatorCommand::Start(args) => start(&context, *args),
        CoordinatorCommand::Show => show(&context),
        CoordinatorCommand::HandOver(args) => hand_over(&context, args.leader),
        CoordinatorCommand::Stop(args) => {
            let end = End { force: args.force, reason: args.reason };
            let root = root_of(context.order(Command::RunEnd(end))?)?;
            print_root(
                &context,
                &root,
                &format!("the run {} is over: {}", root.workspace, root.status),
            )
        }
    }
}

fn start(context: &CommandContext<'_>, args: CoordinatorStart) -> Result<(), Error> {
    let taxonomy = args.taxonomy.as_deref().map(read_document).transpose()?;
    let client = context.client()?;
    if let Some(leader) = &args.leader {
        context.introduce(&client, leader)?;
    }
    let deployment = args.deployment.unwrap_or(context.project.settings.deployment.value);
    let start = Command::RunStart(Start {
        agent: args.leader,
        deployment: Some(deployment),
        highway: args.highway,
        limits: args.room.limits(),
        owner: args.owner,
        pool: false,
        taxonomy,
    });
    let root = root_of(client.execute(start)?)?;
    let leads = leader(root.agent.as_ref());
    print_root(context, &root, &format!("a run begins; {leads}\nroot {}", root.workspace))
}

fn hand_over(context: &CommandContext<'_>, agent: Option<AgentName>) -> Result<(), Error> {
    let client = context.client()?;
    if let Some(leader) = &agent {
        context.introduce(&client, leader)?;
    }
    let root = root_of(client.execute(Command::RunHandOver(HandOver { agent }))?)?;
    print_root(context, &root, &leader(root.agent.as_ref()))
}

fn root_of(reply: Reply) -> Result<WorkspaceView, Error> {
    match reply {
        Reply::Workspace(view) => Ok(*view),
        other => Err(Error::unexpected(&other)),
    }
}

fn print_root(
    context: &CommandContext<'_>,
    root: &WorkspaceView,
    words: &str,
) -> Result<(), Error> {
    if context.out().json { context.out().value(root) } else { context.out().say(words) }
}

/// The coordinator, in words.
pub(super) fn leader(agent: Option<&AgentName>) -> String {
    match agent {
        Some(agent) => format!("agent:{agent} coordinates"),
        None => "the system and people coordinate".to_owned(),
    }
}

fn show(context: &CommandContext<'_>) -> Result<(), Error> {
    let Some(run) = context.run()? else {
        let failure = Error::not_found("there is no active run");
        return Err(failure.with_rule(Rule::RunNeeded));
    };
    let terms = Terms::of(context, &run.root)?;
    if context.out().json {
        let mut value =
            serde_json::to_value(&run).map_err(|error| Error::unavailable(error.to_string()))?;
        value["owner"] = json!(terms.owner);
        value["deployment"] = json!(terms.deployment);
        value["highway"] = json!(terms.highway);
        return context.out().value(&value);
    }
    let RunView { root, coordinator, live, limits, room, taxonomy, roles, envelope_types } = run;
    let out = context.out();
    out.line(format!("root        {}", short(&root)))?;
    out.line(format!("coordinator {}", leader(coordinator.as_ref())))?;
    out.line(format!("owner       {}", terms.owner))?;
    if let Some(deployment) = terms.deployment {
        out.line(format!("deployment  {deployment}"))?;
    }
    out.fact("highway", 12, &terms.approval_words())?;
    out.line(format!("live        {}", counted(live as u64, "workspace", "workspaces")))?;
    for line in room_lines(limits.as_ref(), &room) {
        out.fact("room", 12, &line)?;
    }
    if let Some(taxonomy) = taxonomy {
        out.line(format!("taxonomy    {} {}", taxonomy.id, taxonomy.version))?;
    }
    out.fact("roles", 12, &list(&roles))?;
    out.fact("messages", 12, &list(&envelope_types))
}

/// The terms a run goes on under.
struct Terms {
    owner: Party,
    deployment: Option<Deployment>,
    highway: ApprovalsView,
}

impl Terms {
    fn of(context: &CommandContext<'_>, root: &WorkspaceId) -> Result<Self, Error> {
        // Only the trail has what a run declared when it began.
        let began = TrailQuery {
            kinds: vec![Kind::WorkspaceCreated],
            workspace: Some(root.clone()),
            limit: Some(1),
            ..TrailQuery::default()
        };
        let found = began.find(&mut *context.engine()?.reader()?)?;
        let deployment = match found.first().map(|found| &found.entry.stamped.draft.event) {
            Some(Event::WorkspaceCreated(body)) => body.run.as_ref(),
            _ => None,
        };
        Ok(Terms {
            owner: context.workspace_view(root.clone())?.owner,
            deployment: deployment.map(|run| run.deployment_model),
            highway: approvals::settings(context)?,
        })
    }

    fn approval_words(&self) -> String {
        let gates: Vec<&str> = self.highway.effective.iter().map(|own| own.kind.as_str()).collect();
        let preset = self.highway.preset.map_or("custom settings", |preset| preset.as_str());
        match gates.as_slice() {
            [] => format!("{preset}; nothing waits for people"),
            gates => format!("{preset}; people are asked about {}", gates.join(", ")),
        }
    }
}

/// The capacity of a run, line by line.
pub(super) fn room_lines(limits: Option<&Limits>, room: &[Standing]) -> Vec<String> {
    let mut lines: Vec<String> = room
        .iter()
        .map(|own| {
            let (limit, measured) = (own.limit.get(), own.measured.get());
            let (limit, measured, what) = match own.capacity {
                Capacity::Compute => (limit.to_string(), measured.to_string(), "workspaces"),
                Capacity::Memory => (show_bytes(limit), show_bytes(measured), "of context"),
                Capacity::Network => (show_bytes(limit), show_bytes(measured), "of waiting mail"),
                Capacity::Storage => (show_bytes(limit), show_bytes(measured), "of free disk"),
            };
            format!("{measured} of {limit} {what}")
        })
        .collect();
    if let Some(least) = limits.and_then(|limits| limits.disk_free_bytes) {
        lines.push(format!(
            "at least {} of disk free before a workspace is created",
            show_bytes(least.get())
        ));
    }
    lines
}

fn list<T: ToString>(words: &[T]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
