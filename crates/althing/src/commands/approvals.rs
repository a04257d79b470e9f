//! `althing inject`, `escalations`, `highway`

use althing_kernel::approvals::escalation::{Answer as Response, ResponseType};
use althing_kernel::approvals::inject::Inject;
use althing_kernel::approvals::view::{ApprovalsView, EscalationView};
use althing_kernel::approvals::{ApprovalSettings, GateFallback, GatePolicy, GateType, Wish};
use althing_kernel::id::SignalId;
use althing_kernel::query::{Answer, EscalationList, Everything, Query};
use althing_kernel::workspace::{Party, Timeout};
use althing_kernel::{Command, Reply, Rule, Span};
use std::io::Write as _;
use std::time::Duration;

use super::gates::{chosen, somebody};
use crate::app::App;
use crate::cli::{EscalationArgs, EscalationCommand, HighwayCommand, HighwaySet, InjectArgs};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::Error;
use crate::event_summary::word;
use crate::naming::{Naming, short};
use crate::output::{from_now, one_line};
use crate::screen::written;
use crate::span::{parse_secs, show_secs};
use crate::table::{free_text, whole};

/// How often deadlines are checked.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn inject(app: &App, args: InjectArgs) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    somebody(&context)?;
    let inject = Inject {
        in_reply_to: None,
        payload: content::payload(&context, &args.content)?,
        priority: args.priority,
        to: context.workspace(&args.to)?,
        kind: args.kind,
    };
    let reply = context.order(Command::HighwayInject(inject))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Envelope(sent) = reply else { return Err(Error::unexpected(&reply)) };
    let state = word(&sent.status);
    context.out().say(&format!("{} {} to {} is {state}", sent.kind, sent.envelope, sent.to))
}

pub(crate) fn escalations(app: &App, args: EscalationArgs) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let (id, response, payload, reason) = match args.command {
        None if args.watch => return watch(&context, &EscalationList { owner: args.owner }),
        None => return list(&context, EscalationList { owner: args.owner }),
        Some(EscalationCommand::Answer(args)) => {
            let payload = content::payload(&context, &args.content)?;
            (args.id, ResponseType::Envelope, Some(payload), None)
        }
        Some(EscalationCommand::Abort(args)) => (args.id, ResponseType::Abort, None, args.reason),
        Some(EscalationCommand::Delegate(args)) => (args.id, ResponseType::Delegation, None, None),
    };
    somebody(&context)?;
    let escalation = find(&context, &id)?;
    let answer = Response { escalation, payload, reason, response };
    let reply = context.order(Command::EscalationAnswer(answer))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Escalation(open) = reply else { return Err(Error::unexpected(&reply)) };
    let done = match response {
        ResponseType::Envelope => "is answered",
        ResponseType::Abort => "is over: the workspace was ended",
        ResponseType::Delegation => "is the coordinator's now",
    };
    context.out().line(format!("{} of {} {done}", short(&open.escalation), short(&open.workspace)))
}

/// Prints who is asked to answer an escalation, if anybody is.
pub(super) fn say_waiting(context: &CommandContext<'_>, id: &SignalId) -> Result<(), Error> {
    // A caller sees their own signal, even if they may not see everything that waits.
    let all = context.engine()?.ask_as(&Query::EscalationList(EscalationList::default()), None)?;
    let Answer::Escalations(open) = all else { return Ok(()) };
    let Some(own) = open.into_iter().find(|open| open.escalation == *id) else { return Ok(()) };
    let asked = match &own.owner {
        Party::User(owner) => format!("user:{owner}"),
        Party::System => "any person".to_owned(),
    };
    let words = format!("escalation {} waits for {asked}: {}", short(id), otherwise(context, &own));
    context.out().line(one_line(&words))
}

/// The fallback if nobody answers.
fn otherwise(context: &CommandContext<'_>, open: &EscalationView) -> String {
    match open.due {
        Some(due) => {
            let otherwise = format!("{} {}", word(&open.fallback), from_now(due, context.now()));
            format!("{otherwise}{}", chosen(open.chosen_by.as_ref()))
        }
        None => "waits".to_owned(),
    }
}

/// Shows each escalation as it comes, and when one is over.
fn watch(context: &CommandContext<'_>, asked: &EscalationList) -> Result<(), Error> {
    let mut subscription = context.engine()?.subscribe(context.engine()?.world()?.seq())?;
    let mut before: Vec<EscalationView> = Vec::new();
    let mut first = true;
    loop {
        let now = waiting(context, asked.clone())?;
        for open in now.iter().filter(|open| !before.contains(open)) {
            changed(context, open)?;
        }
        let over = |old: &&EscalationView| now.iter().all(|new| new.escalation != old.escalation);
        for old in before.iter().filter(over) {
            changed(context, &EscalationView { open: false, ..old.clone() })?;
        }
        if first && now.is_empty() {
            context.out().note("no agent needs a person yet");
        }
        (before, first) = (now, false);
        written(std::io::stdout().flush())?;
        subscription.next(LOOK)?;
    }
}

fn changed(context: &CommandContext<'_>, open: &EscalationView) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(open);
    }
    let stands = if open.open { otherwise(context, open) } else { "is over".to_owned() };
    let words =
        format!("{}  {} for {}: {stands}", short(&open.escalation), open.reason, open.owner);
    context.out().cut_line(one_line(&words))
}

pub(super) fn waiting(
    context: &CommandContext<'_>,
    list: EscalationList,
) -> Result<Vec<EscalationView>, Error> {
    if let Some(owner) = &list.owner {
        context.known_user(owner)?;
    }
    match context.ask(&Query::EscalationList(list))? {
        Answer::Escalations(open) => Ok(open),
        other => Err(Error::unexpected(&other)),
    }
}

/// An escalation by its id or a part of it.
fn find(context: &CommandContext<'_>, text: &str) -> Result<SignalId, Error> {
    let open = waiting(context, EscalationList::default())?;
    let naming = Naming::of(open.iter().map(|open| &open.escalation));
    let Some(id) = naming.find(text)? else {
        let failure = Error::not_found(format!("no escalation {text} waits"));
        return Err(failure.with_rule(Rule::EscalationOpen));
    };
    SignalId::new(id).map_err(|error| Error::usage(error.to_string()))
}

fn list(context: &CommandContext<'_>, asked: EscalationList) -> Result<(), Error> {
    let open = waiting(context, asked)?;
    if context.out().json {
        return context.out().value(&open);
    }
    if open.is_empty() {
        return context.out().line("no agent needs a person");
    }
    let naming = Naming::of(open.iter().map(|open| &open.escalation));
    let names = context.workspace_naming()?;
    let row = |open: &EscalationView| {
        vec![
            naming.short(&open.escalation),
            open.owner.to_string(),
            names.short(&open.workspace),
            open.reason.clone(),
            otherwise(context, open),
        ]
    };
    let titles =
        [whole("ID"), whole("OWNER"), whole("WORKSPACE"), free_text("WHY"), whole("OTHERWISE")];
    context.out().table(&titles, &open.iter().map(row).collect::<Vec<_>>())
}

pub(crate) fn highway(app: &App, command: HighwayCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let view = match command {
        HighwayCommand::Show => settings(&context)?,
        HighwayCommand::Set(args) => {
            let wish = wish(&settings(&context)?.highway, &args)?;
            match context.order(Command::HighwayConfigure(wish))? {
                Reply::Approvals(view) => *view,
                other => return Err(Error::unexpected(&other)),
            }
        }
    };
    if context.out().json { context.out().value(&view) } else { show(&context, &view) }
}

pub(super) fn settings(context: &CommandContext<'_>) -> Result<ApprovalsView, Error> {
    match context.ask(&Query::HighwayGet(Everything {}))? {
        Answer::Approvals(view) => Ok(*view),
        other => Err(Error::unexpected(&other)),
    }
}

/// The settings that differ from the current ones, or from the named preset.
fn wish(now: &ApprovalSettings, args: &HighwaySet) -> Result<Wish, Error> {
    let start = args.preset.map_or_else(|| now.clone(), ApprovalSettings::preset);
    let mut wanted = start.clone();
    for (gate, value) in &args.gates {
        let on = crate::cli::switch(value).map_err(Error::usage)?;
        if on {
            wanted.gates.insert(*gate)
        } else {
            wanted.gates.remove(gate)
        };
    }
    for (gate, value) in &args.waits {
        policy(&mut wanted, *gate).timeout_s = wait(value)?;
    }
    for (gate, value) in &args.fallbacks {
        policy(&mut wanted, *gate).fallback = *value;
    }
    let escalation = &mut wanted.escalation;
    escalation.enabled = args.escalations.unwrap_or(escalation.enabled);
    escalation.fallback = args.escalation_fallback.unwrap_or(escalation.fallback);
    if let Some(value) = &args.escalation_wait {
        escalation.timeout_s = wait(value)?;
    }
    wanted.injection = args.injection.unwrap_or(wanted.injection);
    Ok(Wish {
        escalation: (wanted.escalation != start.escalation).then_some(wanted.escalation),
        gate_defaults: None,
        gate_overrides: (wanted.gate_overrides != start.gate_overrides)
            .then_some(wanted.gate_overrides),
        gates: (wanted.gates != start.gates).then_some(wanted.gates),
        injection: (wanted.injection != start.injection).then_some(wanted.injection),
        preset: args.preset,
    })
}

fn policy(settings: &mut ApprovalSettings, gate: GateType) -> &mut GatePolicy {
    let defaults = settings.gate_defaults;
    settings.gate_overrides.entry(gate).or_insert(defaults)
}

fn wait(given: &str) -> Result<Option<Timeout>, Error> {
    if given == "forever" {
        return Ok(None);
    }
    let secs = parse_secs(given).map_err(Error::usage)?;
    Timeout::new(secs).map(Some).map_err(|error| Error::usage(error.to_string()))
}

/// One line for each timeout and fallback: the gates that have it, and what becomes of them if
/// nobody answers.
pub(super) fn unanswered(view: &ApprovalsView) -> Vec<String> {
    let mut lines: Vec<(Option<Span>, GateFallback, Vec<&str>)> = Vec::new();
    for own in &view.effective {
        let same = lines.iter_mut().find(|line| (line.0, line.1) == (own.timeout, own.fallback));
        match same {
            Some((.., gates)) => gates.push(own.kind.as_str()),
            None => lines.push((own.timeout, own.fallback, vec![own.kind.as_str()])),
        }
    }
    let words = |(timeout, fallback, gates): &(Option<Span>, GateFallback, Vec<&str>)| {
        let gates = gates.join(", ");
        let Some(timeout) = timeout else { return format!("{gates}; they wait for a person") };
        let by = chosen(view.chosen_by.as_ref().filter(|_| fallback.passes_people()));
        let then = match fallback {
            GateFallback::Approve => "approved",
            GateFallback::Reject => "rejected",
            GateFallback::EscalateToCoordinator => "the coordinator decides",
        };
        format!("{gates}; unanswered after {}: {then}{by}", show_secs(timeout.secs()))
    };
    lines.iter().map(words).collect()
}

fn show(context: &CommandContext<'_>, view: &ApprovalsView) -> Result<(), Error> {
    let out = context.out();
    let preset = view.preset.map_or("custom settings", |preset| preset.as_str());
    out.line(format!("highway     {preset}{}", chosen(view.chosen_by.as_ref())))?;
    let row = |gate: GateType| {
        let found = view.effective.iter().find(|own| own.kind == gate);
        let (wait, then) = match found {
            None => ("does not wait".to_owned(), String::new()),
            Some(own) => match own.timeout {
                None => ("waits for a person".to_owned(), String::new()),
                Some(time) => {
                    let wait = format!("waits {} for a person", show_secs(time.secs()));
                    (wait, format!(", then {}", word(&own.fallback)))
                }
            },
        };
        format!("{:<20} {wait}{then}", gate.as_str())
    };
    for gate in GateType::ALL {
        out.line(row(gate))?;
    }
    let escalation = view.highway.escalation;
    let words = match (escalation.enabled, escalation.timeout_s) {
        (false, _) => "go to the workspace above alone".to_owned(),
        (true, None) => "wait for a person".to_owned(),
        (true, Some(time)) => {
            let time = show_secs(time.span().secs());
            format!("wait {time} for a person, then {}", word(&escalation.fallback))
        }
    };
    out.line(one_line(&format!("{:<20} {words}", "escalations")))?;
    let injection = if view.highway.injection { "on" } else { "off" };
    out.line(format!("{:<20} {injection}", "injection"))
}
