//! `althing view`: pictures of a run, a workspace, messages and approvals.

use althing_engine::reports::OfRun;
use althing_engine::reports::approvals::{Approvals, approvals};
use althing_engine::reports::flow::{Flow, Message, OfFlow, Party, flow};
use althing_engine::reports::lanes::Lane;
use althing_engine::reports::runs::{self, RunDigest};
use althing_engine::reports::timeline::{OfTimeline, Timeline, timeline};
use althing_engine::row::{Scope, Source};
use althing_kernel::Timestamp;
use althing_trail::Entry;
use std::path::Path;

use super::compare::meant;
use super::entry_lines::{EntryLines, Line};
use crate::amounts::show_cost;
use crate::app::App;
use crate::cli::{ViewCommand, ViewFlow, ViewRun, ViewWorkspace};
use crate::command_context::CommandContext;
use crate::drawing::bars::bar;
use crate::drawing::messages::{self, Arrow};
use crate::drawing::{export, spans};
use crate::error::Error;
use crate::event_summary::summary;
use crate::naming::{Naming, short, short_ids};
use crate::output::{Tone, clock_time, counted, one_line, show_span};
use crate::table::{self, drawing, free_text, whole};

/// How wide a picture of time is.
const WIDTH_MAX: u64 = 60;
/// The least of it.
const WIDTH_MIN: usize = 20;
/// The longest name of a workspace beside it.
const NAME_CHARS_MAX: usize = 40;
/// With more parties than this, messages are listed instead of drawn.
const COLUMNS_MAX: usize = 7;
/// How wide the time and the mark before a message are.
const BESIDE_MESSAGES: usize = 22;

/// A trail to look at: the project's, or an exported one.
struct Looked<'a> {
    app: &'a App,
    context: Option<CommandContext<'a>>,
    source: Source,
    scope: Scope,
}

impl<'a> Looked<'a> {
    fn at(app: &'a App, file: Option<&Path>) -> Result<Self, Error> {
        if let Some(path) = file {
            let (source, scope) = (Source::File(path.to_owned()), Scope::default());
            return Ok(Looked { app, context: None, source, scope });
        }
        let context = CommandContext::open(app)?;
        let viewer = context.project.asker()?;
        let (source, scope) =
            (Source::Project(context.engine()?), context.engine()?.scope(viewer.as_ref())?);
        Ok(Looked { app, context: Some(context), source, scope })
    }
}

pub(crate) fn run(app: &App, command: ViewCommand) -> Result<(), Error> {
    match command {
        ViewCommand::Run(args) => of_run(app, &args),
        ViewCommand::Workspace(args) => of_workspace(app, &args),
        ViewCommand::Flow(args) => of_flow(app, &args),
        ViewCommand::Highway(args) => of_approvals(app, &args),
    }
}

fn of_run(app: &App, args: &ViewRun) -> Result<(), Error> {
    let looked = Looked::at(app, args.file.as_deref())?;
    let run = meant(looked.context.as_ref(), args.id.as_deref())?;
    let mut digest = runs::run(&looked.source, &looked.scope, run.as_ref())?;
    if let Some(context) = &looked.context {
        digest.runs_until(context.now());
    }
    if app.out.json {
        return app.out.value(&digest);
    }
    headline(app, &digest)?;
    let end = digest.last_at;
    let naming = Naming::of(digest.lanes.iter().map(|lane| &lane.workspace));
    let name = |lane: &Lane| {
        let agent = lane.agent.as_deref().unwrap_or("the system");
        let task = lane.task.as_ref().map_or(String::new(), |task| format!(" {task:?}"));
        one_line(&format!("{}  {} {agent}{task}", naming.short(&lane.workspace), lane.role))
    };
    let name = |lane: &Lane| table::cut(&name(lane), NAME_CHARS_MAX);
    let widest = digest.lanes.iter().map(|lane| name(lane).chars().count()).max().unwrap_or(0);
    let (from, to) = (clock_time(digest.started_at), clock_time(end));
    app.out.line(format!("\nfrom {from} to {to}:"))?;
    for lane in &digest.lanes {
        let drawn = drawn(app, widest + 2, lane, (digest.started_at, end));
        app.out.line(format!("{:<widest$}  {drawn}", name(lane)).trim_end())?;
    }
    legend(app)?;
    let note = "between two lines only messages tell what came first: `althing view flow`";
    app.out.line(app.out.paint(Tone::Faint, note))?;
    tasks(app, &digest)
}

/// The states of a workspace over time, in the room beside its name.
fn drawn(app: &App, beside: usize, lane: &Lane, (from, to): (Timestamp, Timestamp)) -> String {
    let room = app.out.width.saturating_sub(beside).max(WIDTH_MIN);
    let width = u64::try_from(room).map_or(WIDTH_MAX, |room| room.min(WIDTH_MAX));
    let spans = spans::Line {
        steps: lane.steps.iter().map(|step| (step.at.micros(), step.state.as_str())).collect(),
        marks: lane.checkpoints.iter().map(|at| at.micros()).collect(),
    };
    spans::draw(&spans, from.micros(), to.micros(), width)
}

fn legend(app: &App) -> Result<(), Error> {
    let signs = spans::SIGNS.iter().map(|(state, sign)| format!("{sign} {state}"));
    let signs: Vec<String> = signs.chain([format!("{} checkpoint", spans::MARK)]).collect();
    app.out.line("")?;
    app.out.wrapped(0, Tone::Faint, &signs.join("  "))
}

fn headline(app: &App, run: &RunDigest) -> Result<(), Error> {
    let leads = run.coordinator.as_ref().map_or("the system", String::as_str);
    let stands = match &run.ended {
        Some(ended) => format!("{ended} after {}", show_span(run.wall)),
        None => format!("running, {} so far", show_span(run.wall)),
    };
    let title = app.out.paint(Tone::Strong, &one_line(&short(&run.run)));
    app.out.line(format!("{title}  begun by {}, {stands}", one_line(leads)))?;
    let roles: Vec<String> = run.roles.iter().map(|(role, n)| format!("{n} {role}")).collect();
    let roles = if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(", ")) };
    let figures = [
        format!("{}{roles}", counted(run.workspaces, "workspace", "workspaces")),
        format!("{} at work at once", run.at_once),
        format!("{} failed", run.failures),
        counted(run.retries, "retry", "retries"),
        counted(run.checkpoints, "checkpoint", "checkpoints"),
    ];
    app.out.fact("", 0, &one_line(&figures.join(", ")))?;
    let figures = [
        counted(run.tokens, "token", "tokens"),
        format!("cost {}", show_cost(run.cost)),
        counted(run.messages.values().sum(), "message", "messages"),
        counted(run.conflicts, "conflict", "conflicts"),
        counted(run.refusals, "refusal", "refusals"),
        format!("{} done by people", run.interventions),
        counted(run.entries, "entry", "entries"),
    ];
    app.out.fact("", 0, &figures.join(", "))?;
    say_deleted(app, run.deleted_entries)
}

/// Prints a warning if entries were deleted.
pub(super) fn say_deleted(app: &App, entries: u64) -> Result<(), Error> {
    if entries == 0 {
        return Ok(());
    }
    let gone = counted(entries, "entry was", "entries were");
    let words = format!("{gone} deleted with archives; what is shown is of what is left");
    app.out.line(app.out.paint(Tone::Warn, &words))
}

fn tasks(app: &App, run: &RunDigest) -> Result<(), Error> {
    if run.tasks.is_empty() {
        return Ok(());
    }
    let max = run.tasks.iter().map(|task| task.took.micros()).max().unwrap_or(0);
    let row = |task: &runs::TaskDigest| {
        vec![
            task.name.clone(),
            task.status.clone(),
            task.attempts.to_string(),
            task.tokens.to_string(),
            show_cost(task.cost),
            show_span(task.took),
            bar(task.took.micros(), max, 20),
        ]
    };
    app.out.line("")?;
    let titles = ["STATE", "TRIED", "TOKENS", "COST", "TOOK"].map(whole);
    let titles = [&[free_text("TASK")], &titles[..], &[drawing()]].concat();
    app.out.table(&titles, &run.tasks.iter().map(row).collect::<Vec<_>>())
}

fn of_workspace(app: &App, args: &ViewWorkspace) -> Result<(), Error> {
    let looked = Looked::at(app, args.file.as_deref())?;
    let Some(workspace) = meant(looked.context.as_ref(), Some(&args.id))? else {
        return Err(Error::usage("name a workspace"));
    };
    let asked = OfTimeline { workspace, last: Some(args.last) };
    let viewer = match &looked.context {
        Some(context) => context.project.asker()?,
        None => None,
    };
    let seen = timeline(&looked.source, viewer.as_ref(), &asked)?;
    if seen.lane.is_none() && seen.count == 0 && seen.deleted_entries == 0 {
        let message = format!("there is no workspace {} that you may read", asked.workspace);
        return Err(Error::not_found(message));
    }
    if app.out.json {
        return app.out.value(&seen);
    }
    let Some(lane) = &seen.lane else {
        app.out.line(format!("nothing is left of how {} began", short(&asked.workspace)))?;
        say_deleted(app, seen.deleted_entries)?;
        return entries(app, &seen);
    };
    let agent = lane.agent.as_deref().unwrap_or("the system");
    let title = app.out.paint(Tone::Strong, &one_line(&short(&lane.workspace)));
    let state = lane.steps.last().map_or("", |step| step.state.as_str());
    app.out.line(format!("{title}  {} of {}, {state}", lane.role, one_line(agent)))?;
    if lane.tokens > 0 || lane.cost > 0 {
        let tokens = counted(lane.tokens, "token", "tokens");
        app.out.line(format!("{tokens}, cost {}", show_cost(lane.cost)))?;
    }
    say_deleted(app, seen.deleted_entries)?;
    let begun = lane.steps.first().map_or(seen.last_at, |step| step.at);
    let at = clock_time(begun);
    let drawn = drawn(app, at.len() + 2, lane, (begun, seen.last_at));
    app.out.line(format!("{at}  {drawn}"))?;
    let max = seen.spent.values().map(|span| span.micros()).max().unwrap_or(0);
    for (state, span) in seen.spent.iter().filter(|(_, span)| span.micros() > 0) {
        let drawn = bar(span.micros(), max, 30);
        app.out.line(format!("  {state:<12} {:>8}  {drawn}", show_span(*span)))?;
    }
    app.out.line("")?;
    entries(app, &seen)
}

/// The last entries, with the time since the one before where it is worth telling.
fn entries(app: &App, seen: &Timeline) -> Result<(), Error> {
    let shown = seen.entries.len() as u64;
    if shown < seen.count {
        app.out.line(format!("the last {shown} of {} entries:", seen.count))?;
    }
    let mut before: Option<Timestamp> = None;
    let mut lines = EntryLines::default();
    for raw in &seen.entries {
        let row = althing_engine::row::Row::read(raw.get())?;
        let gap = before.map_or(String::new(), |at| format!("+{}", show_span(row.at.since(at))));
        before = Some(row.at);
        // An entry of another version has a kind, if nothing else.
        let says = Entry::read(raw.get()).map(|entry| summary(&entry.stamped.draft.event));
        let line = Line {
            seq: row.seq,
            at: row.at,
            gap: Some(&gap),
            actor: &row.actor,
            kind: &row.kind,
            says: &says.unwrap_or_default(),
        };
        lines.print(app.out, &line)?;
    }
    Ok(())
}

fn of_flow(app: &App, args: &ViewFlow) -> Result<(), Error> {
    let looked = Looked::at(app, args.of.file.as_deref())?;
    let run = meant(looked.context.as_ref(), args.of.id.as_deref())?;
    let asked = OfFlow { run, last: Some(args.last), signals: args.signals };
    let seen = flow(&looked.source, &looked.scope, &asked)?;
    if app.out.json {
        return app.out.value(&seen);
    }
    if args.dot {
        return app.out.line(export::flow_dot(&flow_nodes(&seen), &flow_edges(&seen)));
    }
    if args.mermaid {
        let arrows: Vec<Arrow> = seen.messages.iter().filter_map(|m| arrow(&seen, m)).collect();
        return app.out.line(export::flow_mermaid(&flow_nodes(&seen), &arrows));
    }
    print_flow(looked.app, &seen)
}

fn party_name(naming: &Naming, party: &Party) -> String {
    let agent = party.agent.as_deref().unwrap_or("the system");
    one_line(&format!("{} {agent}", naming.short(&party.workspace)))
}

fn flow_naming(flow: &Flow) -> Naming {
    Naming::of(flow.parties.iter().map(|party| &party.workspace))
}

fn flow_nodes(flow: &Flow) -> Vec<String> {
    let naming = flow_naming(flow);
    flow.parties.iter().map(|party| party_name(&naming, party)).collect()
}

fn column(flow: &Flow, id: &str) -> Option<usize> {
    flow.parties.iter().position(|party| party.workspace == id)
}

fn flow_edges(flow: &Flow) -> Vec<(usize, usize, String)> {
    let edge = |edge: &althing_engine::reports::flow::Edge| {
        let (from, to) = (column(flow, &edge.from)?, column(flow, &edge.to)?);
        let by = edge.by.as_ref().map_or_else(String::new, |person| format!(" by {person}"));
        Some((from, to, format!("{}{by} x{}", edge.kind, edge.count)))
    };
    flow.edges.iter().filter_map(edge).collect()
}

fn arrow(flow: &Flow, message: &Message) -> Option<Arrow> {
    Some(Arrow {
        from: column(flow, &message.from)?,
        to: message.to.as_ref().and_then(|to| column(flow, to)),
        label: one_line(&match &message.by {
            Some(person) => format!("{} by {person}", message.kind),
            None => message.kind.clone(),
        }),
        lost: message.lost.is_some(),
    })
}

fn print_flow(app: &App, flow: &Flow) -> Result<(), Error> {
    let count = counted(flow.count, "message", "messages");
    let title = app.out.paint(Tone::Strong, &one_line(&short(&flow.run)));
    app.out.line(format!("{title}  {count}"))?;
    say_deleted(app, flow.deleted_entries)?;
    if flow.messages.is_empty() {
        return Ok(());
    }
    let naming = flow_naming(flow);
    let short = |id: &String| naming.short(id);
    let rows: Vec<Vec<String>> = flow
        .edges
        .iter()
        .map(|edge| {
            let lost = if edge.lost == 0 { String::new() } else { format!("{} lost", edge.lost) };
            let from = edge.by.clone().unwrap_or_else(|| short(&edge.from));
            let ends = vec![from, short(&edge.to), edge.kind.clone()];
            [ends, vec![edge.count.to_string(), lost]].concat()
        })
        .collect();
    app.out.line("")?;
    app.out.table(&["FROM", "TO", "TYPE", "SENT", ""], &rows)?;
    app.out.line("")?;
    let names = flow_nodes(flow);
    let room = app.out.width.saturating_sub(BESIDE_MESSAGES);
    let draws = names.len() <= COLUMNS_MAX && messages::width(names.len()) <= room;
    if draws {
        app.out.line(format!("{:BESIDE_MESSAGES$}{}", "", messages::heading(&names)))?;
    }
    for message in &flow.messages {
        // A message that could not have known of the one above it.
        let side = if message.concurrent == Some(true) { '‖' } else { ' ' };
        let at = clock_time(message.at);
        let text = if let Some(arrow) = arrow(flow, message).filter(|_| draws) {
            // There is little room on an arrow: whose words it carries stands beside it.
            let by = message.by.as_ref().map_or_else(String::new, |by| format!("  {by}"));
            let arrow = Arrow { label: one_line(&message.kind), ..arrow };
            format!("{}{}", messages::row(names.len(), &arrow), one_line(&by))
        } else {
            let to = message.to.as_ref().map_or_else(|| "nobody".to_owned(), short);
            let lost = message.lost.as_ref().map_or(String::new(), |why| format!(", {why}"));
            let from = message.by.clone().unwrap_or_else(|| short(&message.from));
            one_line(&format!("{from} -> {to}  {}{lost}", message.kind))
        };
        app.out
            .cut_line(format!("{} {side} {text}", app.out.paint(Tone::Faint, &at)).trim_end())?;
    }
    if flow.messages.iter().any(|message| message.concurrent == Some(true)) {
        let note = "‖ its sender could not have known of the one above: their order means nothing";
        app.out.line(app.out.paint(Tone::Faint, note))?;
    }
    Ok(())
}

fn of_approvals(app: &App, args: &ViewRun) -> Result<(), Error> {
    let looked = Looked::at(app, args.file.as_deref())?;
    let run = meant(looked.context.as_ref(), args.id.as_deref())?;
    let seen = approvals(&looked.source, &looked.scope, &OfRun { run })?;
    if app.out.json {
        return app.out.value(&seen);
    }
    print_approvals(app, &seen)
}

fn print_approvals(app: &App, seen: &Approvals) -> Result<(), Error> {
    let title = app.out.paint(Tone::Strong, &one_line(&short(&seen.run)));
    let figures = [
        counted(seen.gates.len() as u64, "gate", "gates"),
        counted(seen.injections.len() as u64, "message put in", "messages put in"),
        counted(seen.escalations.len() as u64, "escalation", "escalations"),
        format!("{} waiting", seen.waiting),
        format!("{} out of time", seen.timed_out),
        format!("waited {} in all", show_span(seen.waited)),
    ];
    app.out.fact("", 0, &format!("{title}  {}", figures.join(", ")))?;
    say_deleted(app, seen.deleted_entries)?;
    let people: Vec<String> =
        seen.people.iter().map(|(who, n)| one_line(&format!("{who} {n}"))).collect();
    if !people.is_empty() {
        app.out.line(format!("answered or put in: {}", people.join(", ")))?;
    }
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let waits: Vec<u64> = seen.gates.iter().map(|gate| gate.waited.micros()).collect();
    let waits = waits.iter().copied().chain(seen.escalations.iter().map(|e| e.waited.micros()));
    let max = waits.max().unwrap_or(0);
    let mut rows: Vec<(Timestamp, Vec<String>)> = Vec::new();
    for gate in &seen.gates {
        let how = text(gate.outcome.as_ref());
        let about = text(gate.subject.as_ref().or(gate.workspace.as_ref()));
        let stands = standing(gate.resolved_at, &how, gate.by.as_deref(), gate.timed_out);
        let wait = (show_span(gate.waited), bar(gate.waited.micros(), max, 12));
        let cells = vec![format!("gate {}", gate.kind), about, stands, wait.0, wait.1];
        rows.push((gate.at, cells));
    }
    for asked in &seen.escalations {
        let how = text(asked.outcome.as_ref());
        let about = format!("{} {}", text(asked.workspace.as_ref()), text(asked.reason.as_ref()));
        let stands = standing(asked.resolved_at, &how, asked.by.as_deref(), asked.timed_out);
        let wait = (show_span(asked.waited), bar(asked.waited.micros(), max, 12));
        rows.push((asked.at, vec!["escalation".to_owned(), about, stands, wait.0, wait.1]));
    }
    for put in &seen.injections {
        let stands = format!("{} by {}", put.status, put.by);
        let cells = vec![format!("put in {}", put.kind), put.to.clone(), stands];
        rows.push((put.at, [cells, vec![String::new(), String::new()]].concat()));
    }
    rows.sort_by_key(|(at, _)| *at);
    if rows.is_empty() {
        return Ok(());
    }
    let rows = rows.into_iter().map(|(at, cells)| {
        let cells = cells.iter().map(|cell| short_ids(cell));
        [clock_time(at)].into_iter().chain(cells).collect()
    });
    app.out.line("")?;
    let titles = [
        whole("AT"),
        whole("WHAT"),
        free_text("ABOUT"),
        whole("CAME OUT"),
        whole("WAITED"),
        drawing(),
    ];
    app.out.table(&titles, &rows.collect::<Vec<_>>())
}

fn standing(at: Option<Timestamp>, how: &str, by: Option<&str>, timed_out: bool) -> String {
    match (at, by, timed_out) {
        (None, ..) => "waits".to_owned(),
        (Some(_), _, true) => format!("{how}, nobody answered"),
        (Some(_), Some(by), false) => format!("{how} by {by}"),
        (Some(_), None, false) => how.to_owned(),
    }
}
