//! `althing gate`

use althing_kernel::content::Content;
use althing_kernel::highway::gate::{GateAction, GateEnd};
use althing_kernel::highway::request::Request;
use althing_kernel::highway::resolve::{Modifications, Resolve};
use althing_kernel::highway::view::GateView;
use althing_kernel::query::{Answer, GateList as Asked, Query};
use althing_kernel::task::Estimate;
use althing_kernel::text::Text;
use althing_kernel::workspace::Party;
use althing_kernel::{Command, GateId, Principal, Reply, Rule};
use std::io::Write as _;
use std::time::Duration;

use crate::app::App;
use crate::cli::{GateApprove, GateCommand, GateList, GateModify};
use crate::content;
use crate::desk::{Desk, unexpected};
use crate::failure::Failure;
use crate::naming::Naming;
use crate::output::{Tone, clock_time, counted, from_now, one_line, written};
use crate::said::word;

/// How often the time that is left is redrawn.
const REDRAW: Duration = Duration::from_secs(1);

pub(crate) fn run(app: &App, command: GateCommand) -> Result<(), Failure> {
    let desk = Desk::open(app)?;
    match command {
        GateCommand::List(args) if args.watch => watch(&desk, &args),
        GateCommand::List(args) => {
            let gates = gates(&desk, &args)?;
            if desk.out().json {
                return desk.out().value(&gates);
            }
            list(&desk, &gates)
        }
        GateCommand::Show(args) => {
            let gate = find(&desk, &args.id)?;
            if desk.out().json { desk.out().value(&gate) } else { show(&desk, &gate) }
        }
        GateCommand::Approve(args) => approve(&desk, &args),
        GateCommand::Reject(args) => {
            let ids = args.ids.iter().map(|id| find(&desk, id).map(|gate| gate.gate));
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            answer_all(&desk, ids, GateAction::Reject, args.reason.as_ref())
        }
        GateCommand::Modify(args) => modify(&desk, *args),
    }
}

fn gates(desk: &Desk<'_>, args: &GateList) -> Result<Vec<GateView>, Failure> {
    let list = Asked { all: args.all, owner: args.owner.clone() };
    match desk.ask(&Query::GateList(list))? {
        Answer::Gates(gates) => Ok(gates),
        other => Err(unexpected(&other)),
    }
}

fn all(desk: &Desk<'_>) -> Result<Vec<GateView>, Failure> {
    gates(desk, &GateList { all: true, owner: None, watch: false })
}

/// A gate by its id or a part of it.
fn find(desk: &Desk<'_>, text: &str) -> Result<GateView, Failure> {
    let all = all(desk)?;
    let naming = Naming::of(all.iter().map(|gate| &gate.gate));
    let meant = naming.find(text)?.unwrap_or(text).to_owned();
    let found = all.into_iter().find(|gate| gate.gate.as_str() == meant);
    found.ok_or_else(|| {
        let failure = Failure::not_found(format!("there is no gate {text} in this run"));
        Failure { rule: Rule::GateOpen, ..failure }
    })
}

/// What waits at a gate, in a few words.
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
fn standing(desk: &Desk<'_>, gate: &GateView) -> String {
    match (&gate.ended, gate.due) {
        (Some(end), _) => format!("{} by {}", past(end.action), end.by),
        (None, Some(due)) => {
            format!("{} {}", word(&gate.fallback), from_now(due, desk.now()))
        }
        (None, None) => "waits for a person".to_owned(),
    }
}

fn past(end: GateEnd) -> &'static str {
    match end {
        GateEnd::Approve => "approved",
        GateEnd::Reject => "rejected",
        GateEnd::Modify => "approved with changes",
        GateEnd::Escalate => "left to the coordinator",
    }
}

fn list(desk: &Desk<'_>, gates: &[GateView]) -> Result<(), Failure> {
    if gates.is_empty() {
        return desk.out().line("nothing waits for a person");
    }
    let naming = Naming::of(all(desk)?.iter().map(|gate| &gate.gate));
    let row = |gate: &GateView| {
        let position = gate.position.map_or_else(|| "-".to_owned(), |place| place.to_string());
        vec![
            position,
            naming.short(&gate.gate),
            gate.kind.to_string(),
            gate.owner.to_string(),
            waits(gate),
            standing(desk, gate),
        ]
    };
    let titles = ["#", "GATE", "TYPE", "OWNER", "WHAT WAITS", "OTHERWISE"];
    desk.out().table(&titles, &gates.iter().map(row).collect::<Vec<_>>())
}

fn show(desk: &Desk<'_>, gate: &GateView) -> Result<(), Failure> {
    let out = desk.out();
    out.line(format!("gate      {}", gate.gate))?;
    out.line(format!("type      {}", gate.kind))?;
    out.line(one_line(&format!("waits     {}", waits(gate))))?;
    out.line(format!("asked by  {}", gate.asked_by))?;
    out.line(format!("owner     {}", gate.owner))?;
    if let Some(position) = gate.position {
        out.line(format!("place     {position} in {}'s queue", gate.owner))?;
    }
    out.line(format!("since     {}", clock_time(gate.since)))?;
    out.line(format!("otherwise {}", standing(desk, gate)))?;
    if !gate.changeable.is_empty() && gate.ended.is_none() {
        out.line(format!("change    {}", gate.changeable.join(", ")))?;
    }
    let blobs = desk.blobs();
    if let Some(task) = &gate.task {
        out.line(format!("task      {}  {}", task.task, word(&task.priority)))?;
        for id in &task.depends_on {
            out.line(format!("after     {id}"))?;
        }
        for line in content::shown(&blobs, &task.description) {
            out.line(format!("  {line}"))?;
        }
    }
    let text = match (&gate.envelope, &gate.request) {
        (Some(sent), _) => Some(sent.payload.content.clone()),
        (_, Some(Request::Create(create))) => {
            create.directive.as_ref().and_then(|directive| directive.content.blob().cloned())
        }
        _ => None,
    };
    for line in text.iter().flat_map(|blob| content::shown(&blobs, blob)) {
        out.line(format!("  {line}"))?;
    }
    Ok(())
}

fn approve(desk: &Desk<'_>, args: &GateApprove) -> Result<(), Failure> {
    if !args.ids.is_empty() {
        let ids = args.ids.iter().map(|id| find(desk, id).map(|gate| gate.gate));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        return answer_all(desk, ids, GateAction::Approve, args.reason.as_ref());
    }
    let own = own_queue(desk)?;
    let count = if args.all { own.len() } else { 1 };
    let ids: Vec<GateId> = own.into_iter().take(count).map(|gate| gate.gate).collect();
    if ids.is_empty() {
        let failure = Failure::not_found("nothing waits for you");
        return Err(Failure { rule: Rule::GateOpen, ..failure });
    }
    answer_all(desk, ids, GateAction::Approve, args.reason.as_ref())
}

/// What waits for whoever asks; what belongs to nobody in particular waits for everybody.
fn own_queue(desk: &Desk<'_>) -> Result<Vec<GateView>, Failure> {
    let asker = desk.project.asker()?;
    let own = |gate: &GateView| match (&asker, &gate.owner) {
        (Some(Principal::User(user)), Party::User(owner)) => user == owner,
        (Some(Principal::User(_)), Party::System) => true,
        _ => false,
    };
    let mut open = gates(desk, &GateList { all: false, owner: None, watch: false })?;
    open.retain(own);
    Ok(open)
}

fn answer_all(
    desk: &Desk<'_>,
    ids: Vec<GateId>,
    action: GateAction,
    reason: Option<&Text<1000>>,
) -> Result<(), Failure> {
    // One person, one passphrase, whatever the number of gates.
    let client = desk.client()?;
    let mut replies = Vec::new();
    for gate in ids {
        let (reason, modifications) = (reason.cloned(), None);
        let resolve = Resolve { action, gate, modifications, reason };
        let reply = client.execute(Command::GateResolve(resolve))?;
        if !desk.out().json {
            tell(desk, &reply)?;
        }
        replies.push(reply);
    }
    if desk.out().json { desk.out().value(&replies) } else { Ok(()) }
}

fn tell(desk: &Desk<'_>, reply: &Reply) -> Result<(), Failure> {
    let Reply::Gate(gate) = reply else { return Err(unexpected(reply)) };
    desk.out().line(one_line(&format!("{}: {}", waits(gate), standing(desk, gate))))
}

fn modify(desk: &Desk<'_>, args: GateModify) -> Result<(), Failure> {
    let gate = find(desk, &args.id)?.gate;
    let read = |given: &Option<String>| -> Result<Option<Content>, Failure> {
        given.as_deref().map(|given| content::read(desk, given)).transpose()
    };
    let visibility = match args.visibility.as_slice() {
        [] => None,
        [none] if none == "none" => Some(Vec::new()),
        some => Some(desk.workspace_list(some)?),
    };
    let modifications = Modifications {
        budget: args.budget,
        description: read(&args.description)?,
        estimate: args.estimate.as_deref().map(estimate).transpose()?,
        merged: args.merged.as_deref().map(content::merged).transpose()?,
        name: args.name,
        payload: match &args.content {
            None => None,
            Some(given) => Some(content::payload(desk, given)?),
        },
        priority: args.priority,
        visibility,
        workspace_priority: args.urgency,
    };
    let modifications = Some(Box::new(modifications));
    let resolve = Resolve { action: GateAction::Modify, gate, modifications, reason: args.reason };
    let reply = desk.order(Command::GateResolve(resolve))?;
    if desk.out().json { desk.out().value(&reply) } else { tell(desk, &reply) }
}

/// Tokens, seconds and cost.
fn estimate(given: &str) -> Result<Estimate, Failure> {
    let numbers: Result<Vec<u64>, _> = given.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([tokens, wall_time_s, cost]) => {
            let value = serde_json::json!({
                "tokens": tokens, "wall_time_s": wall_time_s, "cost": cost
            });
            serde_json::from_value(value).map_err(|error| Failure::usage(error.to_string()))
        }
        _ => Err(Failure::usage("an estimate is three numbers: tokens,seconds,cost")),
    }
}

/// Says that an order waits, if it does. Returns whether it did.
pub(super) fn said_to_wait(desk: &Desk<'_>, reply: &Reply) -> Result<bool, Failure> {
    let Reply::Gate(gate) = reply else { return Ok(false) };
    if desk.out().json {
        desk.out().value(gate)?;
        return Ok(true);
    }
    let words = format!("{} waits for a person at gate {}", waits(gate), gate.gate);
    desk.out().line(one_line(&words))?;
    if let Some(due) = gate.due {
        let otherwise =
            format!("otherwise: {} {}", word(&gate.fallback), from_now(due, desk.now()));
        desk.out().note(otherwise);
    }
    Ok(true)
}

/// Shows every change as it comes: the list as a whole on a terminal, otherwise whatever is new.
fn watch(desk: &Desk<'_>, args: &GateList) -> Result<(), Failure> {
    let mut subscription = desk.engine.subscribe(desk.engine.world()?.seq())?;
    let mut before: Vec<GateView> = Vec::new();
    let mut first = true;
    loop {
        let now = gates(desk, args)?;
        if desk.out().is_watched() && !desk.out().json {
            redraw(desk, &now)?;
        } else {
            for gate in now.iter().filter(|gate| !before.contains(gate)) {
                changed(desk, gate)?;
            }
            for gate in before.iter().filter(|old| now.iter().all(|new| new.gate != old.gate)) {
                changed(desk, &find(desk, gate.gate.as_str())?)?;
            }
            if first && now.is_empty() {
                desk.out().note("nothing waits for a person yet");
            }
        }
        (before, first) = (now, false);
        written(std::io::stdout().flush())?;
        subscription.next(REDRAW)?;
    }
}

fn changed(desk: &Desk<'_>, gate: &GateView) -> Result<(), Failure> {
    if desk.out().json {
        return desk.out().value(gate);
    }
    let line = format!("{}  {}: {}", gate.gate, waits(gate), standing(desk, gate));
    desk.out().line(one_line(&line))
}

fn redraw(desk: &Desk<'_>, gates: &[GateView]) -> Result<(), Failure> {
    // Home, and clear what is below: no flicker, and the scroll-back stays.
    let out = desk.out();
    out.line("\x1b[2J\x1b[H")?;
    let title = counted(gates.len() as u64, "gate", "gates");
    out.line(out.paint(Tone::Strong, &format!("{title}  {}", clock_time(desk.now()))))?;
    list(desk, gates)
}
