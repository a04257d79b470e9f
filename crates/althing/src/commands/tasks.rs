//! `althing task`

use althing_kernel::query::{Answer, OfTask, Query, TaskDeps, TaskList as List, TaskReady};
use althing_kernel::records::RecordId;
use althing_kernel::task::graph::{Add, Plan, Planned};
use althing_kernel::task::orders::{Approve, Assign, Cancel, Retry};
use althing_kernel::task::view::{GraphView, TaskView};
use althing_kernel::task::{Estimate, Priority};
use althing_kernel::text::Text;
use althing_kernel::{Command, Reply};
use serde::Deserialize;
use std::path::Path;

use super::{task_graph, topology, workspaces};
use crate::app::App;
use crate::cli::{TaskAdd, TaskApprove, TaskAssign, TaskCommand, TaskList};
use crate::command_context::CommandContext;
use crate::content::{self, Written};
use crate::error::Error;
use crate::event_summary::word;
use crate::input::{parse_document, read_document, stdin_text};
use crate::naming::{Naming, short};
use crate::output::{counted, from_now, one_line};
use crate::table::{free_text, whole};

/// The longest plan on standard input.
const PLAN_BYTES_MAX: u64 = 16 << 20;

pub(crate) fn run(app: &App, command: TaskCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        TaskCommand::Plan(args) => plan(&context, &args.file),
        TaskCommand::Add(args) => add(&context, args),
        TaskCommand::Approve(args) => approve(&context, &args),
        TaskCommand::Assign(args) => assign(&context, args),
        TaskCommand::Retry(args) => {
            let task = context.task(&args.id)?;
            print_reply(&context, context.order(Command::TaskRetry(Retry { task }))?)
        }
        TaskCommand::Cancel(args) => {
            let (task, reason) = (context.task(&args.id)?, args.reason);
            print_reply(&context, context.order(Command::TaskCancel(Cancel { reason, task }))?)
        }
        TaskCommand::List(args) => list(&context, &args),
        TaskCommand::Show(args) => show(&context, &args.id),
        TaskCommand::Ready(args) => {
            let graph = args.graph.as_deref().map(|text| context.graph(text)).transpose()?;
            match context.ask(&Query::TaskReadyList(TaskReady { graph }))? {
                Answer::Tasks(tasks) => table(&context, &tasks, "no task can be taken up now"),
                other => Err(Error::unexpected(&other)),
            }
        }
        TaskCommand::Deps(args) => {
            let (task, dependents) = (context.task(&args.id)?, args.waiting);
            let found = context.task_deps(TaskDeps { all: args.all, dependents, task })?;
            table(
                &context,
                &found,
                if dependents { "nothing waits for it" } else { "it needs nothing" },
            )
        }
        TaskCommand::Graph(args) => task_graph::run(&context, &args),
        TaskCommand::Graphs => graphs(&context),
    }
}

/// A plan, as people write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    tasks: Vec<PlanTask>,
}

/// A task of such a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanTask {
    key: Text<64>,
    name: Option<Text<200>>,
    description: Option<Written>,
    #[serde(default)]
    depends_on: Vec<Text<64>>,
    parent: Option<Text<64>>,
    #[serde(default)]
    priority: Priority,
    estimate: Option<Estimate>,
}

impl From<PlanTask> for Planned {
    fn from(task: PlanTask) -> Self {
        let name = task.name.unwrap_or_else(|| Text::lossy(task.key.as_str()));
        let described = task.description.unwrap_or_else(|| Written::Text(name.to_string()));
        Planned {
            depends_on: task.depends_on,
            description: described.into(),
            estimate: task.estimate,
            key: task.key,
            name,
            parent: task.parent,
            priority: task.priority,
            terms: None,
        }
    }
}

pub(super) fn plan(context: &CommandContext<'_>, file: &Path) -> Result<(), Error> {
    let read: PlanFile = if file.as_os_str() == "-" {
        let text = stdin_text(&context.app.globals, "the plan", PLAN_BYTES_MAX)?;
        parse_document(&text, !text.trim_start().starts_with('{'), "standard input")?
    } else {
        read_document(file)?
    };
    let plan = Plan { tasks: read.tasks.into_iter().map(Into::into).collect() };
    let order: Vec<(String, String)> =
        plan.tasks.iter().map(|task| (task.key.to_string(), task.name.to_string())).collect();
    let reply = context.order(Command::TaskGraph(plan))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Graph(planned) = reply else { return Err(Error::unexpected(&reply)) };
    let count = counted(planned.tasks.len() as u64, "task", "tasks");
    context
        .out()
        .line(format!("planned graph {} with {count}, to be approved", short(&planned.graph)))?;
    let row = |(key, name): &(String, String)| {
        planned.tasks.get(key).map(|id| vec![key.clone(), short(id), name.clone()])
    };
    context.out().table(
        &[whole("KEY"), whole("TASK"), free_text("NAME")],
        &order.iter().filter_map(row).collect::<Vec<_>>(),
    )
}

fn add(context: &CommandContext<'_>, args: TaskAdd) -> Result<(), Error> {
    let add = Add {
        depends_on: context.task_list(&args.depends_on)?,
        description: content::read(context, &args.description)?,
        estimate: None,
        graph: context.graph(&args.graph)?,
        name: args.name,
        parent_task: args.part_of.as_deref().map(|text| context.task(text)).transpose()?,
        priority: args.priority,
        terms: None,
    };
    print_reply(context, context.order(Command::TaskAdd(add))?)
}

fn approve(context: &CommandContext<'_>, args: &TaskApprove) -> Result<(), Error> {
    let approve = Approve {
        graph: args.graph.as_deref().map(|text| context.graph(text)).transpose()?,
        tasks: context.task_list(&args.tasks)?,
    };
    print_reply(context, context.order(Command::TaskApprove(approve))?)
}

fn assign(context: &CommandContext<'_>, args: TaskAssign) -> Result<(), Error> {
    let (binding, task) = (args.binding, context.task(&args.id)?);
    let allowance = binding.allowance;
    let assign = Assign {
        agent: binding.worker,
        authority: workspaces::authority(context, &binding.authority)?,
        budget: allowance.budget.unwrap_or_default(),
        context: match args.context.as_deref() {
            Some(text) => Some(content::read(context, text)?),
            None if args.with_results => Some(topology::results(context, &task)?),
            None => None,
        },
        directive: None,
        group: allowance.group,
        liveness_interval_s: allowance.liveness,
        owner: binding.owner,
        parent: binding.parent.as_deref().map(|text| context.workspace(text)).transpose()?,
        role: Some(binding.role),
        task,
        timeout_s: binding.timeout,
        visibility: context.workspace_list(&binding.visibility)?,
        warn_at_percent: allowance.warn_at,
    };
    let client = context.client()?;
    // A name in a command that is refused anyway stays unknown.
    if context.engine()?.world()?.state.task(&assign.task).is_some() {
        context.introduce(&client, &assign.agent)?;
    }
    workspaces::print_reply(context, client.execute(Command::TaskAssign(assign))?)
}

/// Tells what a command made of tasks.
fn print_reply(context: &CommandContext<'_>, reply: Reply) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&reply);
    }
    let tasks = match reply {
        Reply::Task(task) => vec![*task],
        Reply::Tasks(tasks) => tasks,
        other => return Err(Error::unexpected(&other)),
    };
    for task in tasks {
        let name = one_line(&task.name);
        context.out().line(format!("{name} ({}) is {}", short(&task.task), standing(&task)))?;
    }
    Ok(())
}

/// The state of a task, and whether it can be taken up.
pub(super) fn standing(task: &TaskView) -> String {
    match (task.ready, task.waits_for.len()) {
        (true, _) => format!("{}, ready", task.status),
        (false, waits) if waits > 0 && !task.status.is_terminal() => {
            format!("{}, waits for {waits}", task.status)
        }
        _ => task.status.to_string(),
    }
}

fn list(context: &CommandContext<'_>, args: &TaskList) -> Result<(), Error> {
    let graph = args.graph.as_deref().map(|text| context.graph(text)).transpose()?;
    let tasks = context.tasks(List { all: args.all, graph, status: args.status })?;
    table(context, &tasks, "no tasks")
}

/// The short label of the plan that a task is, such as `pln#3`.
fn plan_label(task: &TaskView) -> String {
    task.plan.parse::<RecordId>().map_or_else(|_| task.plan.clone(), |id| id.label())
}

/// The ids of all tasks, to be shown short.
pub(super) fn naming(context: &CommandContext<'_>) -> Result<Naming, Error> {
    let all = context.tasks(List { all: true, ..List::default() })?;
    Ok(Naming::of(all.iter().map(|task| &task.task)))
}

fn table(context: &CommandContext<'_>, tasks: &[TaskView], none: &str) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&tasks);
    }
    if tasks.is_empty() {
        return context.out().line(none);
    }
    let (naming, workspaces) = (naming(context)?, context.workspace_naming()?);
    let row = |task: &TaskView| {
        let bound =
            task.workspace.as_ref().map_or_else(|| "-".to_owned(), |id| workspaces.short(id));
        vec![
            naming.short(&task.task),
            standing(task),
            word(&task.priority),
            bound,
            task.name.clone(),
        ]
    };
    let titles = ["TASK", "STATE", "PRIORITY", "WORKSPACE"].map(whole);
    let titles = [&titles[..], &[free_text("NAME")]].concat();
    context.out().table(&titles, &tasks.iter().map(row).collect::<Vec<_>>())
}

fn show(context: &CommandContext<'_>, text: &str) -> Result<(), Error> {
    let task = context.task(text)?;
    let task = match context.ask(&Query::TaskGet(OfTask { task }))? {
        Answer::Task(task) => task,
        other => return Err(Error::unexpected(&other)),
    };
    if context.out().json {
        return context.out().value(&task);
    }
    let naming = naming(context)?;
    let list = |ids: &[althing_kernel::TaskId]| {
        ids.iter().map(|id| naming.short(id)).collect::<Vec<_>>().join(" ")
    };
    let mut facts = vec![
        ("task", short(&task.task)),
        ("plan", plan_label(&task)),
        ("name", task.name.clone()),
        ("state", standing(&task)),
        ("priority", word(&task.priority)),
        ("graph", short(&task.graph)),
        ("planned", from_now(task.created_at, context.now())),
    ];
    for (key, ids) in [("depends on", &task.depends_on), ("waits for", &task.waits_for)] {
        if !ids.is_empty() {
            facts.push((key, list(ids)));
        }
    }
    if let Some(parent) = &task.parent_task {
        facts.push(("part of", naming.short(parent)));
    }
    for id in &task.history {
        facts.push(("tried in", short(id)));
    }
    if let Some(checkpoint) = &task.checkpoint {
        facts.push(("checkpoint", short(checkpoint)));
    }
    for (key, value) in facts {
        context.out().fact(key, 12, &one_line(&value))?;
    }
    context.out().line("")?;
    if let Some(text) = &task.text {
        for line in text.lines() {
            context.out().line(format!("  {}", one_line(line)))?;
        }
        return Ok(());
    }
    for line in content::shown(&context.blobs(), &task.description) {
        context.out().line(format!("  {line}"))?;
    }
    Ok(())
}

fn graphs(context: &CommandContext<'_>) -> Result<(), Error> {
    let graphs = context.graphs()?;
    if context.out().json {
        return context.out().value(&graphs);
    }
    if graphs.is_empty() {
        return context.out().line("nothing is planned; `althing plan --file FILE` plans a graph");
    }
    let naming = Naming::of(graphs.iter().map(|graph| &graph.graph));
    let workspaces = context.workspace_naming()?;
    let row = |graph: &GraphView| {
        vec![
            naming.short(&graph.graph),
            graph.tasks.len().to_string(),
            from_now(graph.created_at, context.now()),
            graph.run.as_ref().map_or_else(|| "-".to_owned(), |run| workspaces.short(run)),
        ]
    };
    let titles = ["GRAPH", "TASKS", "PLANNED", "RUN"];
    context.out().table(&titles, &graphs.iter().map(row).collect::<Vec<_>>())
}
