//! `althing task graph`: the drawing of a graph of tasks.

use althing_kernel::query::TaskList;
use althing_kernel::task::Status;
use althing_kernel::task::view::TaskView;
use althing_kernel::{GraphId, Rule};
use std::collections::BTreeMap;

use super::tasks::{naming, standing};
use crate::cli::TaskGraph;
use crate::command_context::CommandContext;
use crate::drawing::export::{self, Node};
use crate::drawing::lanes;
use crate::error::Error;
use crate::naming::{Naming, short};
use crate::output::{Tone, one_line};

pub(super) fn run(context: &CommandContext<'_>, args: &TaskGraph) -> Result<(), Error> {
    let graph = chosen(context, args.id.as_deref())?;
    let tasks = context.tasks(TaskList { all: true, graph: Some(graph.clone()), status: None })?;
    if context.out().json {
        return context.out().value(&tasks);
    }
    if args.dot {
        return context.out().line(export::dot(&nodes(&tasks)));
    }
    if args.mermaid {
        return context.out().line(export::mermaid(&nodes(&tasks)));
    }
    context.out().line(short(&graph))?;
    print(context, &tasks, &naming(context)?)
}

/// The graph that is meant: the newest, if none was named.
fn chosen(context: &CommandContext<'_>, given: Option<&str>) -> Result<GraphId, Error> {
    if let Some(text) = given {
        let id = context.graph(text)?;
        if context.graphs()?.iter().any(|view| view.graph == id) {
            return Ok(id);
        }
        let message = format!("there is no graph {id}");
        return Err(Error::not_found(message).with_rule(Rule::ReferenceKnown));
    }
    let newest = context.graphs()?.pop().map(|view| view.graph);
    newest.ok_or_else(|| {
        let failure = Error::not_found("nothing is planned yet");
        failure.hint("Plan a graph with `althing plan --file FILE`.")
    })
}

/// The mark of a task in the drawing: the fuller, the further it has come.
fn mark(status: Status) -> char {
    match status {
        Status::Draft => '◌',
        Status::Pending => '○',
        Status::Assigned => '◔',
        Status::InProgress => '◑',
        Status::Completed => '◕',
        Status::Integrated => '●',
        Status::Failed => '✗',
        Status::Cancelled => '–',
    }
}

/// How a state looks to those who see colours.
fn tone(status: Status) -> Tone {
    match status {
        Status::Draft | Status::Cancelled => Tone::Faint,
        Status::Pending => Tone::Strong,
        Status::Assigned | Status::InProgress => Tone::Busy,
        Status::Completed => Tone::Warn,
        Status::Failed => Tone::Bad,
        Status::Integrated => Tone::Good,
    }
}

/// The same for programs that draw.
fn colour(status: Status) -> &'static str {
    match status {
        Status::Draft => "#eeeeee",
        Status::Pending => "#ffffff",
        Status::Assigned => "#cfe8fc",
        Status::InProgress => "#9fd0f7",
        Status::Completed => "#fdeeb5",
        Status::Failed => "#f7b5b5",
        Status::Integrated => "#bfe8bf",
        Status::Cancelled => "#cccccc",
    }
}

fn print(context: &CommandContext<'_>, tasks: &[TaskView], naming: &Naming) -> Result<(), Error> {
    let place: BTreeMap<_, usize> = tasks.iter().enumerate().map(|(n, t)| (&t.task, n)).collect();
    let before = |task: &TaskView| -> Vec<usize> {
        task.depends_on.iter().filter_map(|id| place.get(id).copied()).collect()
    };
    let graph: Vec<Vec<usize>> = tasks.iter().map(before).collect();
    let lines = lanes::draw(&graph, |node| mark(tasks[node].status));
    let width = lines.iter().map(|line| line.lanes.chars().count()).max().unwrap_or(0);
    let widest = tasks.iter().map(|task| standing(task).chars().count()).max().unwrap_or(0);
    for line in &lines {
        let Some(task) = line.node.map(|node| &tasks[node]) else {
            context.out().cut_line(&line.lanes)?;
            continue;
        };
        let gap = " ".repeat(width - line.lanes.chars().count() + 2);
        let state = format!("{:<widest$}", standing(task));
        let state = context.out().paint(tone(task.status), &state);
        let (id, name) = (naming.short(&task.task), one_line(&task.name));
        let after = named(naming, &task.waits_for);
        context
            .out()
            .cut_line(format!("{}{gap}{id}  {state}  {name}{after}", line.lanes).trim_end())?;
    }
    context.out().line("")?;
    // A mark stays with its name where the line is broken.
    for half in Status::ALL.chunks(Status::ALL.len().div_ceil(2)) {
        let legend = half.iter().map(|own| format!("{} {own}", mark(*own)));
        let legend = legend.collect::<Vec<_>>().join("  ");
        context.out().wrapped(0, Tone::Faint, &legend)?;
    }
    Ok(())
}

fn named(naming: &Naming, waits_for: &[althing_kernel::TaskId]) -> String {
    match waits_for {
        [] => String::new(),
        ids => {
            let ids: Vec<String> = ids.iter().map(|id| naming.short(id)).collect();
            format!("  <- {}", ids.join(" "))
        }
    }
}

fn nodes(tasks: &[TaskView]) -> Vec<Node> {
    let node = |task: &TaskView| Node {
        id: task.task.to_string(),
        label: vec![one_line(&task.name), standing(task)],
        colour: colour(task.status),
        depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
    };
    tasks.iter().map(node).collect()
}
