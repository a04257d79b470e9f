//! The native vocabulary as tools, the default: eleven of them, from taking a task to handing it
//! in. What they do is in `services`, and the command line has the same words.

use althing_dialects::memory::data::Written;
use althing_kernel::Door;
use althing_kernel::lease::Ttl;
use althing_kernel::records::Kind;
use althing_kernel::records::next::Next as NextTask;
use althing_services::frugal::{Ledger, identify};
use althing_services::mail::{self, Address, Letter, Outgoing};
use althing_services::memory::answers::{self, Stored};
use althing_services::memory::args::{Context, Create, Sight};
use althing_services::memory::{Request, Verbs};
use althing_services::native::{self, Checkpoint, Planned, Worded, task_of};
use althing_services::{Error, Identity, ProjectContext};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialect::{Dialect, Speech, Tool};

/// The name the server gives to hosts.
const SERVER: &str = "althing";

/// The most letters that one call takes.
const LETTERS_MAX: u16 = 16;

/// How this dialect answers: in words for the model, with the whole answer beside them.
pub(crate) const SPEECH: Speech = Speech {
    attribution: "agent",
    failure: |fault| {
        let way_out = fault.way_out();
        let text = format!("{} [{}]\n{way_out}", fault.message(), fault.rule().id());
        (json!({ "text": text }), json!({ "error": fault.object() }))
    },
    text: in_words,
    door: Door::McpNative,
};

/// The words of an answer, and lines about mail that waits.
fn in_words(answer: &Value) -> String {
    let words = match answer.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => answer.to_string(),
    };
    let mail = answer.get("mail").and_then(Value::as_array);
    let lines: Vec<&str> = mail.into_iter().flatten().filter_map(Value::as_str).collect();
    if lines.is_empty() { words } else { format!("{words}\n\nMail waits:\n{}", lines.join("\n")) }
}

/// The dialect.
pub fn dialect(ledger: Ledger) -> Dialect {
    Dialect {
        server: SERVER,
        version: env!("CARGO_PKG_VERSION"),
        instructions: "Several agents share this repository. Take a task with next, which claims its \
            files; claim any other file before you edit it; on a collision do not edit there. Hand in \
            with done, or blocked. Read inbox when told of mail.",
        tools: tools(),
        identify: Box::new(move |call| identify(&ledger, call)),
        speech: &SPEECH,
        protocol: None,
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Next {
    task: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Claim {
    paths: Vec<String>,
    why: Option<String>,
    minutes: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Release {
    paths: Option<Vec<String>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inbox {
    peek: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    to: String,
    text: String,
    reply_to: Option<String>,
}

/// A kind of record that a text and paths make.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Remembered {
    Constraint,
    Decision,
    Trap,
    Plan,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remember {
    text: String,
    kind: Option<Remembered>,
    paths: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    question: String,
    path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckpointArgs {
    text: String,
    files: Option<Vec<String>>,
    #[serde(rename = "final")]
    is_final: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Done {
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Blocked {
    reason: String,
}

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            "status",
            "Your task, claims and mail; what is ready; who holds what.",
            &SPEECH,
            status,
        )
        .reading(),
        Tool::new(
            "next",
            "Take the most urgent ready task, or the one named, with its claim. Returns the brief.",
            &SPEECH,
            next,
        ),
        Tool::new("claim", "Claim paths or globs before editing: all or none.", &SPEECH, claim),
        Tool::new("release", "Release your claims on paths, or all.", &SPEECH, release),
        Tool::new("inbox", "Take your mail out and read it; peek only lists it.", &SPEECH, inbox)
            .showing_mail(),
        Tool::new("send", "Send mail to agent:NAME, user:NAME or the coordinator.", &SPEECH, send),
        Tool::new(
            "remember",
            "Keep something for everybody; kind plan makes a task about paths.",
            &SPEECH,
            remember,
        ),
        Tool::new("ask", "Search what is remembered.", &SPEECH, ask).reading(),
        Tool::new(
            "checkpoint",
            "Record how far your task is. In a run name the changed files; final ones are merged.",
            &SPEECH,
            checkpoint,
        ),
        Tool::new("done", "Hand in your task; its claim is released.", &SPEECH, done),
        Tool::new("blocked", "Your task cannot go on, and why.", &SPEECH, blocked),
    ]
}

fn status(context: &ProjectContext, _: &Identity, _: Nothing) -> Result<Value, Error> {
    native::overview(context)?.value()
}

fn next(context: &ProjectContext, _: &Identity, args: Next) -> Result<Value, Error> {
    let Next { task } = args;
    let task = task.as_deref().map(task_of).transpose()?;
    native::next(context, &NextTask { task, ..NextTask::default() })?.value()
}

fn claim(context: &ProjectContext, _: &Identity, args: Claim) -> Result<Value, Error> {
    let Claim { paths, why, minutes } = args;
    let ttl = minutes.map(|minutes| Ttl::new(i128::from(minutes) * 60)).transpose();
    let ttl = ttl.map_err(|error| Error::usage(format!("minutes: {error}")))?;
    native::claim(context, &paths, why.as_deref(), ttl)?.value()
}

fn release(context: &ProjectContext, _: &Identity, args: Release) -> Result<Value, Error> {
    native::release(context, &args.paths.unwrap_or_default())?.value()
}

fn inbox(context: &ProjectContext, _: &Identity, args: Inbox) -> Result<Value, Error> {
    let Inbox { peek } = args;
    let (letters, left) = if peek.unwrap_or_default() {
        (mail::waiting(context)?.letters, 0)
    } else {
        let taken = mail::take(context, LETTERS_MAX, None)?;
        (taken.letters, taken.left)
    };
    let mut text: Vec<String> = letters.iter().map(|letter| letter_text(letter, peek)).collect();
    if text.is_empty() {
        text.push("the inbox is empty".to_owned());
    }
    if left > 0 {
        text.push(format!("{left} more are waiting"));
    }
    Ok(json!({ "letters": letters, "left": left, "text": text.join("\n\n") }))
}

/// A letter in words: in one line, or with its whole text.
fn letter_text(letter: &Letter, peek: Option<bool>) -> String {
    match &letter.text {
        Some(text) if peek != Some(true) => {
            let head = Letter { text: None, ..letter.clone() };
            format!("{}\n{text}", head.line())
        }
        _ => letter.line(),
    }
}

fn send(context: &ProjectContext, _: &Identity, args: Send) -> Result<Value, Error> {
    let Send { to, text, reply_to } = args;
    let to = Address::find(context, &to)?;
    let reply_to = reply_to.as_deref();
    let sent = mail::send(context, &Outgoing { to: &to, text: &text, reply_to })?;
    let text = format!("{} is in the inbox of {}", sent.label, sent.to);
    Ok(json!({ "id": sent.id, "to": sent.to, "text": text }))
}

fn remember(context: &ProjectContext, _: &Identity, args: Remember) -> Result<Value, Error> {
    let paths = args.paths.unwrap_or_default();
    let kind = match args.kind.unwrap_or(Remembered::Constraint) {
        Remembered::Plan => {
            let task = Planned { text: args.text, scope: paths, ..Planned::default() };
            return native::plan(context, &[task])?.value();
        }
        Remembered::Constraint => Kind::Constraint,
        Remembered::Decision => Kind::Decision,
        Remembered::Trap => Kind::Trap,
    };
    let written = Written { text: Some(args.text), tags: Vec::new(), related_paths: paths };
    let create = Create { entity: kind, data: written.into(), request_id: None };
    let made = Verbs::new(context)?.perform(Request::Create(create))?;
    let Stored { id, short_label, .. } = answers::read(&made)?;
    Ok(json!({ "id": id, "text": format!("{short_label} is remembered") }))
}

fn ask(context: &ProjectContext, _: &Identity, args: Ask) -> Result<Value, Error> {
    let asked = Context {
        query: Some(args.question),
        path: args.path,
        items_max: Some(5),
        matching: true,
        ..Context::of(Sight::Memory)
    };
    let found = Verbs::new(context)?.perform(Request::Context(asked))?;
    let items = found["selected"].as_array().cloned().unwrap_or_default();
    let line = |item: &Value| {
        let part = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("short_label"), part("text"))
    };
    let text = match items.as_slice() {
        [] => "nothing is remembered about that".to_owned(),
        items => items.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    Ok(json!({ "found": items, "text": text }))
}

fn checkpoint(
    context: &ProjectContext,
    _: &Identity,
    args: CheckpointArgs,
) -> Result<Value, Error> {
    let made = Checkpoint {
        text: args.text,
        files: args.files.unwrap_or_default(),
        is_final: args.is_final.unwrap_or_default(),
    };
    native::checkpoint(context, &made)?.value()
}

fn done(context: &ProjectContext, _: &Identity, args: Done) -> Result<Value, Error> {
    let Done { text } = args;
    native::done(context, text.as_deref())?.value()
}

fn blocked(context: &ProjectContext, _: &Identity, args: Blocked) -> Result<Value, Error> {
    let Blocked { reason } = args;
    native::blocked(context, &reason)?.value()
}
