//! `althing send`, `inbox`, `signal`

use althing_kernel::envelope::inbox::NoticeView;
use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::envelope::{Origin, PayloadArg, Priority, Send as Letter};
use althing_kernel::id::AnyId;
use althing_kernel::news::News;
use althing_kernel::query::{InboxView, WorkspaceList};
use althing_kernel::signal::{Emit, SignalType};
use althing_kernel::token::TypeName;
use althing_kernel::workspace::liveness::Quiet;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::workspace::{Party, Status};
use althing_kernel::{Command, EnvelopeId, Principal, Reply, WorkspaceId};
use althing_services::mail::{self, Address, Outgoing, TakenMail};
use serde_json::json;
use std::path::Path;

use super::{approvals, gates, meter};
use crate::amounts;
use crate::app::App;
use crate::cli::{Inbox, Send, SignalArgs};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::Error;
use crate::event_summary::word;
use crate::input::{read_file, stdin_text};
use crate::naming::{Naming, short, short_blob, short_ids};
use crate::output::{Tone, counted, from_now, one_line};

/// Most text of a message that is read from standard input. The kernel says how much one has.
const TEXT_BYTES_MAX: u64 = 1 << 16;

pub(crate) fn send(app: &App, args: &Send) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let is_name = ["agent:", "user:"].iter().any(|begin| args.to.starts_with(begin));
    match args.kind.clone() {
        Some(kind) => post(&context, args, kind),
        None if is_name => write(&context, args),
        None => {
            let who = context.request.named()?.clone();
            let own =
                context.workspaces(WorkspaceList { live: true, ..WorkspaceList::default() })?;
            let leads = own.iter().any(|own| own.parent.is_none() && is_of(own, &who));
            let kind = if leads { TypeName::feedback() } else { TypeName::query() };
            post(&context, args, kind)
        }
    }
}

/// Whether a workspace is an agent's.
fn is_of(own: &WorkspaceView, who: &Principal) -> bool {
    matches!(who, Principal::Agent(name) if own.agent.as_ref() == Some(name))
}

/// Sends a message to an agent or a person.
fn write(context: &CommandContext<'_>, args: &Send) -> Result<(), Error> {
    if !args.attachments.is_empty() || !args.rights.is_empty() {
        let message = "attachments and rights go with an envelope, which has a type";
        return Err(Error::usage(message).hint("Give its type, such as `--type query`."));
    }
    let text = match args.content.as_str() {
        "-" => stdin_text(&context.app.globals, "the message", TEXT_BYTES_MAX)?,
        given => match given.strip_prefix('@') {
            Some(file) => read_file(Path::new(file))?,
            None => given.to_owned(),
        },
    };
    let to = Address::find(&context.request, &args.to)?;
    let reply_to = args.reply_to.as_deref();
    let sent =
        mail::send(&context.request, &Outgoing { to: &to, text: text.trim_end(), reply_to })?;
    if context.out().json {
        return context.out().value(&sent);
    }
    context.out().say(&format!("{} is in the inbox of {}", sent.label, sent.to))
}

/// Sends an envelope to a workspace.
fn post(context: &CommandContext<'_>, args: &Send, kind: TypeName) -> Result<(), Error> {
    let attachments = args.attachments.iter().map(|given| content::read(context, given));
    let letter = Letter {
        in_reply_to: args.reply_to.as_deref().map(|text| envelope(context, text)).transpose()?,
        payload: PayloadArg {
            attachments: attachments.collect::<Result<_, _>>()?,
            content: content::read(context, &args.content)?,
            format: None,
        },
        priority: args.priority,
        rights: args.rights.iter().map(|text| context.right(text)).collect::<Result<_, _>>()?,
        to: context.workspace(&args.to)?,
        kind,
        workspace: context.acting_in()?,
    };
    let reply = context.order(Command::EnvelopeSend(letter))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Envelope(sent) = reply else { return Err(Error::unexpected(&reply)) };
    let state = word(&sent.status);
    context.out().say(&format!("{} {} to {} is {state}", sent.kind, sent.envelope, sent.to))?;
    gates::say_if_held(context, &sent)
}

/// An envelope by its id, or by a part of it if it came to where one acts.
pub(super) fn envelope(context: &CommandContext<'_>, text: &str) -> Result<EnvelopeId, Error> {
    let ids = match context.own() {
        Ok(own) => {
            let mail = mail::inbox(&context.request, own, true)?;
            mail.envelopes.into_iter().map(|sent| sent.envelope).collect()
        }
        Err(_) => Vec::new(),
    };
    let naming = Naming::of(ids);
    let meant = naming.find(text)?.unwrap_or(text);
    EnvelopeId::new(meant).map_err(|error| Error::usage(format!("{text:?}: {error}")))
}

pub(crate) fn inbox(app: &App, args: &Inbox) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match args.take {
        Some(max) => take(&context, max),
        None => look(&context, args.all),
    }
}

/// The inboxes of the workspaces the caller acts in: the one that is named, all of an agent's, or
/// the root for people. An agent without a workspace has none; its letters come all the same.
fn inboxes(context: &CommandContext<'_>, all: bool) -> Result<Vec<InboxView>, Error> {
    let agent = match context.request.principal() {
        Some(Principal::Agent(agent)) if context.acting_in()?.is_none() => Some(agent.clone()),
        _ => None,
    };
    let is_person = matches!(context.request.principal(), Some(Principal::User(_)));
    let own = if let Some(agent) = agent {
        let list = WorkspaceList { agent: Some(agent), ..WorkspaceList::default() };
        let mut ever: Vec<WorkspaceView> = context.workspaces(list)?;
        ever.retain(WorkspaceView::is_of_run);
        let live = ever.iter().filter(|own| !own.status.is_terminal());
        let live: Vec<WorkspaceId> = live.map(|own| own.workspace.clone()).collect();
        let newest = ever.last().map(|own| own.workspace.clone());
        if live.is_empty() { newest.into_iter().collect() } else { live }
    } else {
        match context.own() {
            Ok(own) => vec![own],
            // People have mail without a run.
            Err(_) if is_person => Vec::new(),
            Err(error) => return Err(error),
        }
    };
    own.into_iter().map(|own| mail::inbox(&context.request, own, all)).collect()
}

/// Lists everything that waits for the caller, without taking anything.
fn look(context: &CommandContext<'_>, all: bool) -> Result<(), Error> {
    let views = inboxes(context, all)?;
    let letters = letters(context, all)?;
    if context.out().json {
        let mut value = with_texts(context, &merged(&views)?, all)?;
        value["letters"] = match context.request.principal() {
            Some(_) if !all => json!(mail::waiting(&context.request)?.letters),
            _ => json!(letters),
        };
        return context.out().value(&value);
    }
    let names = context.workspace_naming()?;
    for view in &views {
        print_quiet(context, &names, &view.quiet)?;
        for notice in &view.signals {
            print_signal(context, &names, notice)?;
        }
        print_news(context, &view.news)?;
    }
    let is_empty = |view: &InboxView| view.signals.is_empty() && view.news.is_empty();
    let mut envelopes: Vec<&EnvelopeView> = views.iter().flat_map(|view| &view.envelopes).collect();
    if views.len() > 1 && !all {
        envelopes.sort_by_key(|sent| (sent.priority, std::cmp::Reverse(sent.created_at)));
    }
    if envelopes.is_empty() && letters.is_empty() && views.iter().all(is_empty) {
        for view in &views {
            let own = context.workspace_view(view.workspace.clone())?;
            if own.status == Status::Idle && !own.ready {
                context
                    .out()
                    .note("what to do comes with `althing inbox --take`, which also shows up");
            }
        }
        return context.out().line("the inbox is empty");
    }
    let pressing = |sent: &&&EnvelopeView| sent.priority != Priority::Normal && !all;
    for sent in envelopes.iter().filter(pressing) {
        print_listed(context, &names, sent)?;
    }
    for letter in &letters {
        print_letter(context, letter, false)?;
    }
    for sent in envelopes.iter().filter(|sent| !pressing(sent)) {
        print_listed(context, &names, sent)?;
    }
    if envelopes.iter().any(|sent| !sent.taken) || letters.iter().any(|letter| letter.open) {
        context.out().note("`althing inbox --take` takes messages and shows their text");
    }
    Ok(())
}

fn print_listed(
    context: &CommandContext<'_>,
    names: &Naming,
    sent: &EnvelopeView,
) -> Result<(), Error> {
    print_head(context, names, sent, sent.taken)?;
    if sent.taken { print_text(context, sent) } else { Ok(()) }
}

/// The messages and handoffs to the caller, newest first; with `all`, also those taken before.
fn letters(context: &CommandContext<'_>, all: bool) -> Result<Vec<mail::Letter>, Error> {
    if context.request.principal().is_none() {
        return Ok(Vec::new());
    }
    mail::records_to(&context.request, all)
}

/// Several inboxes as one answer, in the form of a single one.
fn merged(views: &[InboxView]) -> Result<serde_json::Value, Error> {
    let value = |view: &InboxView| {
        serde_json::to_value(view).map_err(|error| Error::unavailable(error.to_string()))
    };
    let mut views = views.iter();
    let Some(first) = views.next() else {
        return Ok(json!({ "envelopes": [], "signals": [] }));
    };
    let mut merged = value(first)?;
    for view in views {
        let more = value(view)?;
        for name in ["envelopes", "signals", "news", "quiet"] {
            let mut list = merged[name].as_array().cloned().unwrap_or_default();
            list.extend(more[name].as_array().cloned().unwrap_or_default());
            if !list.is_empty() || merged.get(name).is_some() {
                merged[name] = list.into();
            }
        }
    }
    Ok(merged)
}

/// Takes letters out of the inbox and prints them.
fn take(context: &CommandContext<'_>, max: u16) -> Result<(), Error> {
    let only = match (context.acting_in()?, context.request.principal()) {
        (None, Some(Principal::User(_))) => context.own().ok(),
        (named, _) => named,
    };
    let taken = mail::take(&context.request, max, only.as_ref())?;
    let records: Vec<&mail::Letter> =
        taken.letters.iter().filter(|letter| letter.workspace.is_none()).collect();
    if context.out().json {
        let mut value = match taken.mails.first() {
            Some(mail) => with_texts(context, mail, true)?,
            None => json!({ "envelopes": [], "signals": [], "left": taken.left }),
        };
        for more in taken.mails.iter().skip(1) {
            let more = with_texts(context, more, true)?;
            for name in ["envelopes", "signals", "news"] {
                let mut list = value[name].as_array().cloned().unwrap_or_default();
                list.extend(more[name].as_array().cloned().unwrap_or_default());
                value[name] = list.into();
            }
        }
        value["letters"] = json!(taken.letters);
        return context.out().value(&value);
    }
    let names = context.workspace_naming()?;
    let is_empty = |mail: &TakenMail| {
        mail.envelopes.is_empty() && mail.signals.is_empty() && mail.news.is_empty()
    };
    for mail in &taken.mails {
        print_quiet(context, &names, &mail.quiet)?;
    }
    if records.is_empty() && taken.mails.iter().all(is_empty) {
        return context.out().line("the inbox is empty");
    }
    for mail in &taken.mails {
        for notice in &mail.signals {
            print_signal(context, &names, notice)?;
        }
        print_news(context, &mail.news)?;
    }
    for letter in &taken.letters {
        let envelopes = taken.mails.iter().flat_map(|mail| &mail.envelopes);
        match envelopes.into_iter().find(|sent| sent.envelope.as_str() == letter.id) {
            Some(sent) => print_message(context, &names, sent)?,
            None => print_letter(context, letter, true)?,
        }
    }
    if taken.left > 0 {
        context
            .out()
            .note(format!("{} left", counted(taken.left as u64, "message is", "messages are")));
    }
    Ok(())
}

/// Prints a message or a handoff, with its whole text if it was taken.
fn print_letter(
    context: &CommandContext<'_>,
    letter: &mail::Letter,
    whole: bool,
) -> Result<(), Error> {
    let kind = format!("{:<10}", letter.kind.as_str());
    let taken = if letter.open || whole { "" } else { "  taken" };
    let answers =
        letter.thread.as_ref().map_or_else(String::new, |id| format!("  in {}", one_line(id)));
    context.out().line(format!(
        "{}  {} from {}  {}{answers}{taken}",
        from_now(letter.at, context.now()),
        context.out().paint(Tone::Strong, &kind),
        letter.from,
        letter.label,
    ))?;
    let text = letter.text.as_deref().unwrap_or_default();
    for line in text.lines().take(if whole || !letter.open { usize::MAX } else { 1 }) {
        context.out().line(format!("  {}", one_line(line)))?;
    }
    Ok(())
}

/// The workspaces in which nothing happens, for the coordinator.
fn print_quiet(context: &CommandContext<'_>, names: &Naming, quiet: &[Quiet]) -> Result<(), Error> {
    for own in quiet {
        let agent = own.agent.as_ref().map_or("the system", |agent| agent.as_str());
        let (last, from) =
            (from_now(own.last_activity, context.now()), names.short(&own.workspace));
        let silent = counted(own.silent_intervals, "interval", "intervals");
        let line =
            format!("{last}  quiet      {from}  nothing of {agent} since then, {silent} by now");
        context.out().hanging(&context.out().paint(Tone::Warn, &line))?;
    }
    Ok(())
}

fn print_signal(
    context: &CommandContext<'_>,
    names: &Naming,
    notice: &NoticeView,
) -> Result<(), Error> {
    let reason = notice.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let about = notice.about.as_ref().map_or_else(String::new, |id| format!(" ({})", short(id)));
    let near = notice.budget_warning.as_ref().map_or_else(String::new, |near| {
        let (consumed, limit) = (near.consumed.get(), near.limit.get());
        let what = amounts::name(near.dimension);
        let shown = |amount| amounts::show(near.dimension, amount);
        format!(" [{what}: {} of {}]", shown(consumed), shown(limit))
    });
    let (at, from) = (from_now(notice.at, context.now()), names.short(&notice.from));
    if let Some(envelope) = sent_back(notice) {
        // It comes in the name of its receiver, who has nothing to do with it.
        let why = match notice.reason.as_deref() {
            Some("gate_rejected_by_human") => "a person turned it down at its gate",
            Some("gate_unanswered") => {
                "nobody answered at its gate in time; `althing send` asks again"
            }
            Some(other) => other,
            None => "it could not be delivered",
        };
        let words = format!("{} to {from} did not arrive: {why}", short(&envelope));
        return context.out().hanging(&format!("{at}  returned   {}", one_line(&words)));
    }
    let emitted = format!("{}{reason}{near}{about}", notice.kind);
    context.out().hanging(&format!("{at}  signal     from {from}  {}", one_line(&emitted)))
}

/// The message that a signal tells the end of: `failed` about an envelope comes from the runtime.
fn sent_back(notice: &NoticeView) -> Option<&str> {
    let envelope = notice.about.as_deref().filter(|id| EnvelopeId::new(id).is_ok())?;
    (notice.kind == SignalType::Failed && envelope.starts_with("env_")).then_some(envelope)
}

/// Prints other news for the coordinator.
fn print_news(context: &CommandContext<'_>, news: &[News]) -> Result<(), Error> {
    for one in news {
        let (at, says) = (from_now(one.at, context.now()), gates::news_says(context, one)?);
        let says = says.map_or_else(String::new, |says| format!("  {says}"));
        let line = format!("{at}  news       about {}  {}{says}", one.about, one.kind);
        context.out().hanging(&one_line(&short_ids(&line)))?;
    }
    Ok(())
}

/// The sender: messages of people are sent from the root, but are theirs.
fn sender(names: &Naming, sent: &EnvelopeView) -> String {
    match (sent.origin, &sent.originator) {
        (Origin::Human, Party::User(person)) => format!("user:{person}"),
        _ => names.short(&sent.from),
    }
}

fn print_head(
    context: &CommandContext<'_>,
    names: &Naming,
    sent: &EnvelopeView,
    taken: bool,
) -> Result<(), Error> {
    let pressing = match sent.priority {
        Priority::Normal => String::new(),
        pressing => format!("  {}", word(&pressing)),
    };
    let answers =
        sent.in_reply_to.as_ref().map_or_else(String::new, |id| format!("  answers {}", short(id)));
    let taken = if taken { "  taken" } else { "" };
    let kind = format!("{:<10}", sent.kind.as_str());
    context.out().line(format!(
        "{}  {} from {}  {}{pressing}{answers}{taken}",
        from_now(sent.created_at, context.now()),
        context.out().paint(Tone::Strong, &kind),
        sender(names, sent),
        short(&sent.envelope),
    ))
}

fn print_message(
    context: &CommandContext<'_>,
    names: &Naming,
    sent: &EnvelopeView,
) -> Result<(), Error> {
    print_head(context, names, sent, false)?;
    print_text(context, sent)
}

/// The answer as it is, and beside the hash of a message that was taken its text, if it is one.
fn with_texts<T: serde::Serialize>(
    context: &CommandContext<'_>,
    answer: &T,
    texts: bool,
) -> Result<serde_json::Value, Error> {
    let mut value =
        serde_json::to_value(answer).map_err(|error| Error::unavailable(error.to_string()))?;
    let blobs = context.blobs();
    let envelopes = value["envelopes"].as_array_mut().into_iter().flatten();
    for envelope in envelopes.filter(|envelope| texts && envelope["taken"] == true) {
        let name = envelope["payload"]["content"].as_str().unwrap_or_default();
        let stored = name.parse().ok().and_then(|blob| blobs.get(&blob).ok());
        if let Some(text) = stored.and_then(|bytes| String::from_utf8(bytes).ok()) {
            envelope["text"] = text.into();
        }
    }
    Ok(value)
}

fn print_text(context: &CommandContext<'_>, sent: &EnvelopeView) -> Result<(), Error> {
    let blobs = context.blobs();
    for line in content::shown(&blobs, &sent.payload.content) {
        context.out().line(format!("  {line}"))?;
    }
    for blob in &sent.payload.attachments {
        context.out().line(format!("  attached: {}", short_blob(blob)))?;
    }
    Ok(())
}

pub(crate) fn signal(app: &App, args: SignalArgs) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let about = match args.about.as_deref() {
        None => None,
        Some(text) => Some(thing(&context, text)?),
    };
    let workspace = context.acting_in()?;
    let near = args.near.limit.map(|limit| meter::notice(&context, limit)).transpose()?;
    let (signal, reason) = (args.signal, args.reason);
    let emit = Emit { budget_warning: near, reason, about, signal, workspace };
    let reply = context.order(Command::SignalEmit(emit))?;
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Signal(emitted) = reply else { return Err(Error::unexpected(&reply)) };
    if !emitted.effect && args.signal != SignalType::Escalation {
        context.out().note("the signal is on record; it changes nothing in this state");
    }
    if emitted.status == Status::Integrating && emitted.effect {
        let own = context.workspace_view(emitted.workspace.clone())?;
        if own.latest_final.is_none() {
            context
                .out()
                .note("it has no final checkpoint, so its work can only be revised or rejected");
        }
    }
    context.out().line(format!(
        "{} said {}; it is {}",
        short(&emitted.workspace),
        args.signal,
        emitted.status
    ))?;
    match args.signal {
        SignalType::Escalation => approvals::say_waiting(&context, &emitted.signal_id),
        _ => Ok(()),
    }
}

/// Anything a signal can be about, by its id or a part of it.
fn thing(context: &CommandContext<'_>, text: &str) -> Result<AnyId, Error> {
    let wrong = |error: althing_kernel::id::IdError| Error::usage(format!("{text:?}: {error}"));
    for naming in [context.workspace_naming()?, context.checkpoint_naming()?] {
        if let Some(found) = naming.find(text)? {
            return AnyId::new(found).map_err(wrong);
        }
    }
    AnyId::new(envelope(context, text)?.as_str()).map_err(wrong)
}
