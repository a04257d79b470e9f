//! `althing gate`

use althing_engine::EngineError;
use althing_engine::trail_query::TrailQuery;
use althing_kernel::approvals::gate::{Ask, GateAction, GateEnd};
use althing_kernel::approvals::request::Request;
use althing_kernel::approvals::resolve::{Modifications, Resolve, Resolver};
use althing_kernel::approvals::view::GateView;
use althing_kernel::content::Content;
use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::news::News;
use althing_kernel::query::{Answer, GateList as Asked, Query, RunView, WorkspaceList};
use althing_kernel::task::{self, Estimate};
use althing_kernel::text::Text;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::workspace::{Party, Status};
use althing_kernel::{
    Command, Event, GateId, Kind, Principal, Refusal, Reply, Rule, Span, Timestamp, WorkspaceId,
    envelope,
};
use althing_services::ErrorKind;
use serde_json::{Value, json};
use std::io::Write as _;
use std::time::Duration;

use super::integration::describe_conflict;
use super::{Outcome, gate_sheet};
use crate::app::App;
use crate::cli::{GateAnswer, GateCommand, GateList, GateModify};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::{Error, exit_code};
use crate::event_summary::word;
use crate::naming::{Naming, short, short_ids};
use crate::output::{Tone, clock_time, counted, from_now, one_line};
use crate::screen;
use crate::screen::written;
use crate::table::{telling_text, whole};

/// How much of what waits is shown at least: whoever answers has to know what it is.
const WAITS_CHARS_MIN: usize = 40;
/// How often it is looked whether something fell due.
const LOOK: Duration = Duration::from_secs(1);
/// How often the time that is left is redrawn while nothing changes.
const REFRESH: Span = Span::from_secs(60);

pub(crate) fn run(app: &App, command: GateCommand) -> Result<Outcome, Error> {
    let context = CommandContext::open(app)?;
    let done = match command {
        GateCommand::List(args) if args.watch => watch(&context, &args),
        GateCommand::List(args) => print(&context, &gates(&context, &args)?)
            .and_then(|()| if args.all { Ok(()) } else { note_unanswered(&context) }),
        GateCommand::Show(args) => {
            let gate = find(&context, &args.id)?;
            if context.out().json {
                context.out().value(&gate_sheet::json(&context, &gate)?)
            } else {
                show(&context, &gate)
            }
        }
        GateCommand::Approve(args) => return answer(&context, &args, GateAction::Approve),
        GateCommand::Reject(args) => return answer(&context, &args, GateAction::Reject),
        GateCommand::Modify(args) => modify(&context, *args),
        GateCommand::Ask(args) => ask(&context, &args.id),
    };
    done.map(|()| Outcome::Done)
}

/// The gates that were asked for; the coordinator also sees what was left to it.
fn gates(context: &CommandContext<'_>, args: &GateList) -> Result<Vec<GateView>, Error> {
    if let Some(owner) = &args.owner {
        context.known_user(owner)?;
    }
    let asked = |all| -> Result<Vec<GateView>, Error> {
        let list = Asked { all, owner: args.owner.clone() };
        match context.ask(&Query::GateList(list))? {
            Answer::Gates(gates) => Ok(gates),
            other => Err(Error::unexpected(&other)),
        }
    };
    if args.all || !coordinates(context)? {
        return asked(args.all);
    }
    let mut found = Vec::new();
    for gate in asked(true)? {
        if gate.ended.is_none() || is_left(context, &gate)? {
            found.push(gate);
        }
    }
    Ok(found)
}

/// Whether whoever asks is the agent that coordinates.
fn coordinates(context: &CommandContext<'_>) -> Result<bool, Error> {
    let Some(Principal::Agent(own)) = context.project.asker()? else { return Ok(false) };
    let leads = |run: RunView| run.coordinator.as_ref() == Some(&own);
    Ok(context.run()?.is_some_and(leads))
}

/// Whether a gate was left to the coordinator, who has not decided yet.
fn is_left(context: &CommandContext<'_>, gate: &GateView) -> Result<bool, Error> {
    let Some(end) = gate.ended.as_ref().filter(|end| end.action == GateEnd::Escalate) else {
        return Ok(false);
    };
    let of = |id: &WorkspaceId| context.workspace_view(id.clone()).ok();
    Ok(match (&gate.request, &gate.task, &gate.envelope) {
        (Some(Request::Abort(abort)), ..) => {
            of(&abort.workspace).is_some_and(|view| !view.status.is_terminal())
        }
        (Some(Request::Integrate(decide)), ..) => {
            of(&decide.workspace).is_some_and(|view| view.status == Status::Integrating)
        }
        (Some(Request::Resolve(resolve)), ..) => {
            let open = |view: &WorkspaceView| {
                view.conflicts.iter().any(|open| open.id == resolve.conflict)
            };
            of(&resolve.workspace).as_ref().is_some_and(open)
        }
        (Some(Request::Create(create)), ..) => {
            let agent = Some(create.agent.clone());
            let made = context.workspaces(WorkspaceList { agent, ..WorkspaceList::default() })?;
            !made.iter().any(|view| view.is_of_run() && view.created_at >= end.at)
        }
        (None, Some(task), _) => task.status == task::Status::Draft,
        (None, _, Some(sent)) => sent.status == envelope::Status::Validated,
        // Work salvaged from a failed workspace cannot be told from work that was not.
        (Some(Request::Salvage(_)), ..) | (None, None, None) => false,
    })
}

/// The open gates.
pub(super) fn open(context: &CommandContext<'_>) -> Result<Vec<GateView>, Error> {
    match context.ask(&Query::GateList(Asked::default()))? {
        Answer::Gates(gates) => Ok(gates),
        other => Err(Error::unexpected(&other)),
    }
}

/// The gates that nobody answered in time, about which people can be asked again.
pub(super) fn unanswered(context: &CommandContext<'_>) -> Result<Vec<GateView>, Error> {
    let mut found = all(context)?;
    found.retain(|gate| gate.can_ask_again);
    Ok(found)
}

/// Says that gates were not answered in time, and how to ask again.
fn note_unanswered(context: &CommandContext<'_>) -> Result<(), Error> {
    let count = unanswered(context)?.len() as u64;
    if count > 0 && !context.out().json {
        let gates = counted(count, "gate was", "gates were");
        context.out().note(format!(
            "{gates} rejected since nobody answered: see `althing gate list --all`; \
             `althing gate ask GATE` asks again"
        ));
    }
    Ok(())
}

fn all(context: &CommandContext<'_>) -> Result<Vec<GateView>, Error> {
    gates(context, &GateList { all: true, owner: None, watch: false })
}

/// A gate by its id or a part of it.
fn find(context: &CommandContext<'_>, text: &str) -> Result<GateView, Error> {
    let all = all(context)?;
    let naming = Naming::of(all.iter().map(|gate| &gate.gate));
    let meant = naming.find(text)?.unwrap_or(text).to_owned();
    let found = all.into_iter().find(|gate| gate.gate.as_str() == meant);
    found.ok_or_else(|| {
        let failure = Error::not_found(format!("there is no gate {text} in this run"));
        failure.with_rule(Rule::GateOpen)
    })
}

/// One-line description of the command or message held at a gate.
pub(super) fn waits(gate: &GateView) -> String {
    match (&gate.task, &gate.envelope, &gate.request) {
        (_, _, Some(Request::Create(create))) => {
            format!("a workspace for agent:{} as {}", create.agent, create.role)
        }
        (_, _, Some(Request::Abort(abort))) => {
            let why = abort.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            format!("the end of {}{why}", abort.workspace)
        }
        (_, _, Some(Request::Integrate(decide))) => {
            let strategy = decide.strategy.unwrap_or_default();
            format!("the merge of {} ({})", decide.workspace, word(&strategy))
        }
        (_, _, Some(Request::Salvage(salvage))) => {
            format!("what is saved of {}", salvage.workspace)
        }
        (_, _, Some(Request::Resolve(resolve))) => {
            format!("{} for conflict {}", word(&resolve.strategy), resolve.conflict)
        }
        (_, Some(sent), _) => format!("{} to {}", sent.kind, sent.to),
        (Some(task), ..) => format!("the task {:?}", task.name),
        _ => gate.subject.to_string(),
    }
}

/// How it stands with a gate.
fn standing(context: &CommandContext<'_>, gate: &GateView) -> String {
    match (&gate.ended, gate.due) {
        (Some(end), _) if end.action == GateEnd::Escalate => past(end.action).to_owned(),
        (Some(end), _) if end.by == Resolver::Fallback => {
            format!("{}: nobody answered in time", past(end.action))
        }
        (Some(end), _) => format!("{} by {}", past(end.action), end.by),
        (None, Some(due)) => {
            let otherwise = format!("{} {}", word(&gate.fallback), from_now(due, context.now()));
            format!("{otherwise}{}", chosen(gate.chosen_by.as_ref()))
        }
        (None, None) => "waits for a person".to_owned(),
    }
}

/// Names the person who chose a fallback that passes people, as words to add to the fallback.
pub(super) fn chosen(by: Option<&Principal>) -> String {
    match by {
        Some(Principal::User(user)) => format!(", chosen by {user}"),
        Some(other) => format!(", chosen by {other}"),
        None => String::new(),
    }
}

/// The command that asks people again, if nobody answered and it can.
fn asking(gate: &GateView) -> Option<String> {
    gate.can_ask_again.then(|| format!("`althing gate ask {}`", short(&gate.gate)))
}

fn past(end: GateEnd) -> &'static str {
    match end {
        GateEnd::Approve => "approved",
        GateEnd::Reject => "rejected",
        GateEnd::Modify => "approved with changes",
        GateEnd::Escalate => "left to the coordinator",
    }
}

/// The gates on standard output, for people or for scripts.
fn print(context: &CommandContext<'_>, gates: &[GateView]) -> Result<(), Error> {
    if context.out().json {
        let gates = gates.iter().map(|gate| gate_sheet::json(context, gate));
        return context.out().value(&gates.collect::<Result<Vec<_>, _>>()?);
    }
    list(context, gates)
}

fn list(context: &CommandContext<'_>, gates: &[GateView]) -> Result<(), Error> {
    if gates.is_empty() {
        return context.out().line("nothing waits for a person");
    }
    let naming = Naming::of(all(context)?.iter().map(|gate| &gate.gate));
    let row = |gate: &GateView| {
        let position = gate.position.map_or_else(|| "-".to_owned(), |place| place.to_string());
        vec![
            position,
            naming.short(&gate.gate),
            gate.kind.to_string(),
            gate.owner.to_string(),
            short_ids(&waits(gate)),
            standing(context, gate),
        ]
    };
    let titles = [
        whole("#"),
        whole("GATE"),
        whole("TYPE"),
        whole("OWNER"),
        telling_text("WHAT WAITS", WAITS_CHARS_MIN),
        whole("OTHERWISE"),
    ];
    context.out().table(&titles, &gates.iter().map(row).collect::<Vec<_>>())
}

fn show(context: &CommandContext<'_>, gate: &GateView) -> Result<(), Error> {
    let out = context.out();
    let mut facts = vec![
        ("gate", short(&gate.gate)),
        ("type", gate.kind.to_string()),
        ("waits", short_ids(&waits(gate))),
        ("asked by", gate.asked_by.to_string()),
        ("owner", gate.owner.to_string()),
    ];
    if let Some(position) = gate.position {
        facts.push(("place", format!("{position} in {}'s queue", gate.owner)));
    }
    facts.push(("opened", from_now(gate.since, context.now())));
    facts.push(("otherwise", standing(context, gate)));
    if let Some(before) = &gate.asks_again {
        facts.push(("asks again", format!("nobody answered gate {}", short(before))));
    }
    if let Some(command) = asking(gate) {
        facts.push(("ask again", command));
    }
    if !gate.changeable.is_empty() && gate.ended.is_none() {
        facts.push(("change", gate.changeable.join(", ")));
    }
    for (key, value) in facts {
        out.fact(key, 12, &one_line(&value))?;
    }
    gate_sheet::print(context, gate)
}

/// Refuses if no caller is named: only people answer, and the coordinator what was left to it.
pub(super) fn somebody(context: &CommandContext<'_>) -> Result<(), Error> {
    match context.project.asker()? {
        Some(_) => Ok(()),
        None => Err(Error::misuse(Rule::WhoAreYou, "name the person who answers: `--user NAME`")
            .hint("Pass `--user NAME` (or set ALTHING_USER); `althing users` lists the people.")),
    }
}

fn answer(
    context: &CommandContext<'_>,
    args: &GateAnswer,
    action: GateAction,
) -> Result<Outcome, Error> {
    somebody(context)?;
    if !args.ids.is_empty() {
        let ids = args.ids.iter().map(|id| find(context, id).map(|gate| gate.gate));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        return answer_all(context, ids, action, args.reason.as_ref());
    }
    let own = own_queue(context)?;
    let count = if args.all { own.len() } else { 1 };
    let ids: Vec<GateId> = own.into_iter().take(count).map(|gate| gate.gate).collect();
    if ids.is_empty() {
        let failure = Error::not_found("nothing waits for you").with_rule(Rule::GateOpen);
        let open = GateList { all: false, owner: None, watch: false };
        let waiting = gates(context, &open)?.len() as u64;
        return Err(if waiting == 0 {
            failure
        } else {
            let count = counted(waiting, "gate waits", "gates wait");
            failure.hint(format!(
                "{count} for somebody else; `althing gate list` names them. \
                 To answer for another person, name the gate: `althing gate approve GATE --user NAME`."
            ))
        });
    }
    answer_all(context, ids, action, args.reason.as_ref())
}

/// The caller's queue; gates without an owner wait for everybody. For the
/// coordinator waits what was left to it.
fn own_queue(context: &CommandContext<'_>) -> Result<Vec<GateView>, Error> {
    let asker = context.project.asker()?;
    let own = |gate: &GateView| match (&asker, &gate.owner) {
        (Some(Principal::User(user)), Party::User(owner)) => user == owner,
        (Some(Principal::User(_)), Party::System) => true,
        _ => gate.ended.is_some(),
    };
    let mut open = gates(context, &GateList { all: false, owner: None, watch: false })?;
    open.retain(own);
    Ok(open)
}

/// Answers one gate after another. What is refused at one is no reason to leave the others.
fn answer_all(
    context: &CommandContext<'_>,
    ids: Vec<GateId>,
    action: GateAction,
    reason: Option<&Text<1000>>,
) -> Result<Outcome, Error> {
    // One person, one passphrase, whatever the number of gates.
    let client = context.client()?;
    let several = ids.len() > 1;
    let (mut outcomes, mut refused) = (Vec::new(), 0);
    for gate in ids {
        let (reason, modifications) = (reason.cloned(), None);
        let resolve = Resolve { action, gate: gate.clone(), modifications, reason };
        match client.execute(Command::GateResolve(resolve)) {
            Ok(reply) if context.out().json => outcomes.push(outcome(context, &reply)?),
            Ok(reply) => print_reply(context, &reply)?,
            Err(EngineError::Refused(refusal)) if several => {
                let failure = ended_how(context, &gate, Refusal::clone(&refusal).into());
                refused += 1;
                if context.out().json {
                    outcomes.push(json!({ "gate": gate, "error": failure.object() }));
                } else {
                    context.out().note(format!("gate {}:", short(&gate)));
                    let _ = context.out().report(&failure);
                }
            }
            Err(EngineError::Refused(refusal)) => {
                return Err(ended_how(context, &gate, Refusal::clone(&refusal).into()));
            }
            Err(other) => return Err(other.into()),
        }
    }
    if context.out().json {
        context.out().value(&outcomes)?;
    }
    Ok(if refused == 0 { Outcome::Done } else { Outcome::Partial(exit_code(ErrorKind::Refused)) })
}

/// Of a gate that has ended, how it did: that is what whoever comes late wants to know.
fn ended_how(context: &CommandContext<'_>, gate: &GateId, failure: Error) -> Error {
    let ended = find(context, gate.as_str()).ok().filter(|gate| gate.ended.is_some());
    match ended {
        Some(ended) if failure.rule() == Rule::GateOpen => {
            let message = format!("gate {gate} has ended: {}", standing(context, &ended));
            // The message is our own now, and not the one on record.
            let failure = failure.reworded(|_| message);
            match asking(&ended) {
                Some(command) => failure.hint(format!("{command} asks again, at a new gate.")),
                None => failure,
            }
        }
        _ => failure,
    }
}

/// The workspace an order was about, as it stands now.
fn stands(context: &CommandContext<'_>, gate: &GateView) -> Option<WorkspaceView> {
    let id = match gate.request.as_ref()? {
        Request::Create(_) => WorkspaceId::new(gate.subject.as_str()).ok()?,
        Request::Abort(abort) => abort.workspace.clone(),
        Request::Integrate(decide) => decide.workspace.clone(),
        Request::Resolve(resolve) => resolve.workspace.clone(),
        Request::Salvage(salvage) => salvage.workspace.clone(),
    };
    context.workspace_view(id).ok()
}

/// The outcome of an answer as JSON.
fn outcome(context: &CommandContext<'_>, reply: &Reply) -> Result<Value, Error> {
    let Reply::Gate(gate) = reply else { return Err(Error::unexpected(reply)) };
    let mut value = gate_sheet::json(context, gate)?;
    if let Some(view) = stands(context, gate) {
        value["workspace_status"] = json!(view.status);
    }
    Ok(value)
}

fn print_reply(context: &CommandContext<'_>, reply: &Reply) -> Result<(), Error> {
    let Reply::Gate(gate) = reply else { return Err(Error::unexpected(reply)) };
    let left = gate.ended.as_ref().is_some_and(|end| end.action == GateEnd::Escalate);
    let stood = if left {
        "was left to the coordinator, who lets it go on".to_owned()
    } else {
        standing(context, gate)
    };
    let view = stands(context, gate);
    let now = match (&view, &gate.task, &gate.envelope) {
        (Some(view), ..) => format!("; {} is {}", short(&view.workspace), view.status),
        (None, Some(task), _) => format!("; it is {}", task.status),
        (None, _, Some(sent)) => format!("; it is {}", word(&sent.status)),
        _ => String::new(),
    };
    context.out().say(&one_line(&format!("{}: {stood}{now}", waits(gate))))?;
    let conflicts = view.map(|view| view.conflicts).unwrap_or_default();
    for conflict in &conflicts {
        context.out().line(format!("  {}", describe_conflict(conflict)))?;
    }
    if !conflicts.is_empty() {
        context
            .out()
            .note("it is not merged: `althing integrate WS resolve` settles each conflict");
    }
    Ok(())
}

fn ask(context: &CommandContext<'_>, id: &str) -> Result<(), Error> {
    let gate = find(context, id)?.gate;
    let reply = context.order(Command::GateAsk(Ask { gate }))?;
    if note_waiting(context, &reply)? { Ok(()) } else { Err(Error::unexpected(&reply)) }
}

fn modify(context: &CommandContext<'_>, args: GateModify) -> Result<(), Error> {
    somebody(context)?;
    let gate = find(context, &args.id)?.gate;
    let read = |given: &Option<String>| -> Result<Option<Content>, Error> {
        given.as_deref().map(|given| content::read(context, given)).transpose()
    };
    let visibility = match args.visibility.as_slice() {
        [] => None,
        [none] if none == "none" => Some(Vec::new()),
        some => Some(context.workspace_list(some)?),
    };
    let modifications = Modifications {
        budget: args.budget,
        description: read(&args.description)?,
        estimate: args.estimate.as_deref().map(estimate).transpose()?,
        merged: args.merged.as_deref().map(content::merged).transpose()?,
        name: args.name,
        payload: match &args.content {
            None => None,
            Some(given) => Some(content::payload(context, given)?),
        },
        priority: args.priority,
        visibility,
        workspace_priority: args.urgency,
    };
    let modifications = Some(Box::new(modifications));
    let resolve = Resolve { action: GateAction::Modify, gate, modifications, reason: args.reason };
    let reply = context.order(Command::GateResolve(resolve))?;
    if context.out().json {
        context.out().value(&outcome(context, &reply)?)
    } else {
        print_reply(context, &reply)
    }
}

/// Tokens, seconds and cost.
fn estimate(given: &str) -> Result<Estimate, Error> {
    let numbers: Result<Vec<u64>, _> = given.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([tokens, wall_time_s, cost]) => {
            let value = serde_json::json!({
                "tokens": tokens, "wall_time_s": wall_time_s, "cost": cost
            });
            serde_json::from_value(value).map_err(|error| Error::usage(error.to_string()))
        }
        _ => Err(Error::usage("an estimate is three numbers: tokens,seconds,cost")),
    }
}

/// Prints that a command waits at a gate, if it does. Returns whether it does.
pub(super) fn note_waiting(context: &CommandContext<'_>, reply: &Reply) -> Result<bool, Error> {
    let Reply::Gate(gate) = reply else { return Ok(false) };
    if context.out().json {
        context.out().value(gate)?;
        return Ok(true);
    }
    let words = format!("{} waits for a person at gate {}", waits(gate), gate.gate);
    context.out().say(&one_line(&words))?;
    if let Some(due) = gate.due {
        let otherwise =
            format!("otherwise: {} {}", word(&gate.fallback), from_now(due, context.now()));
        context.out().note(format!("{otherwise}{}", chosen(gate.chosen_by.as_ref())));
    }
    Ok(true)
}

/// Prints at which gate a message waits, if it does.
pub(super) fn say_if_held(context: &CommandContext<'_>, sent: &EnvelopeView) -> Result<(), Error> {
    if sent.status != envelope::Status::Validated {
        return Ok(());
    }
    // Whoever sends it may know that it waits, whatever else they may read.
    let all = context.engine()?.ask_as(&Query::GateList(Asked::default()), None)?;
    let Answer::Gates(open) = all else { return Ok(()) };
    let held = |gate: &&GateView| gate.subject.as_str() == sent.envelope.as_str();
    match open.iter().find(held) {
        Some(gate) => {
            let whom = &gate.owner;
            context
                .out()
                .line(format!("it waits for a person ({whom}) at gate {}", short(&gate.gate)))
        }
        None => Ok(()),
    }
}

/// One-line summary of news for the coordinator: how a gate ended and what waited there, or
/// what was left to it.
pub(super) fn news_says(
    context: &CommandContext<'_>,
    news: &News,
) -> Result<Option<String>, Error> {
    let about = news.about.to_string();
    if let Some(id) = about.strip_prefix("gate:") {
        let gate = find(context, id).ok();
        let says = |gate: GateView| {
            let again = asking(&gate).map_or_else(String::new, |own| format!("; {own} asks again"));
            format!("{}: {}{again}", short_ids(&waits(&gate)), standing(context, &gate))
        };
        return Ok(gate.map(says));
    }
    let Some(id) = about.strip_prefix("escalation:") else { return Ok(None) };
    let asked = TrailQuery {
        kinds: vec![Kind::EscalationReceived],
        mentions: Some(id.to_owned()),
        limit: Some(1),
        last: true,
        ..TrailQuery::default()
    };
    let found = asked.find(&mut *context.engine()?.reader()?)?;
    let event = found.last().map(|found| &found.entry.stamped.draft.event);
    let Some(Event::EscalationReceived(body)) = event else { return Ok(None) };
    Ok(Some(format!("left to the coordinator: {}", body.reason)))
}

/// Shows every change as it comes: the list as a whole on a terminal, otherwise whatever is new.
fn watch(context: &CommandContext<'_>, args: &GateList) -> Result<(), Error> {
    let mut subscription = context.engine()?.subscribe(context.engine()?.world()?.seq())?;
    let mut before: Vec<GateView> = Vec::new();
    let mut first = true;
    let mut drawn = Timestamp::default();
    loop {
        let now = gates(context, args)?;
        let same = !first && now == before;
        if context.out().draws() {
            // Redraw only if something changed, or if the times are out of date.
            if !same || context.now().since(drawn) >= REFRESH {
                screen::redraw(first, || picture(context, &now))?;
                drawn = context.now();
            }
        } else {
            for gate in now.iter().filter(|gate| !before.contains(gate)) {
                changed(context, gate)?;
            }
            for gate in before.iter().filter(|old| now.iter().all(|new| new.gate != old.gate)) {
                changed(context, &find(context, gate.gate.as_str())?)?;
            }
            if first && now.is_empty() {
                context.out().note("nothing waits for a person yet");
            }
        }
        (before, first) = (now, false);
        written(std::io::stdout().flush())?;
        subscription.next(LOOK)?;
    }
}

fn changed(context: &CommandContext<'_>, gate: &GateView) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&gate_sheet::json(context, gate)?);
    }
    let line = format!("{}  {}: {}", short(&gate.gate), waits(gate), standing(context, gate));
    context.out().cut_line(one_line(&short_ids(&line)))
}

fn picture(context: &CommandContext<'_>, gates: &[GateView]) -> Result<(), Error> {
    let out = context.out();
    let title = counted(gates.len() as u64, "gate", "gates");
    out.line(out.paint(Tone::Strong, &format!("{title}  {}", clock_time(context.now()))))?;
    list(context, gates)
}
