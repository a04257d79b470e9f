//! `althing logs` and `althing attach`: what agents say.

use althing_services::mail::{self, Address, Outgoing};
use althing_services::runner::{self, AttemptView, format_of};
use althing_workshop::agents::{Event, Follower, Usage};
use althing_workshop::process::LogReader;
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use super::control::steering;
use crate::app::App;
use crate::cli::{Attach, Logs};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::output::{Tone, one_line};
use crate::screen::written;

/// How often somebody who follows is told more.
const LOOK: Duration = Duration::from_millis(200);
/// How much of a log is read at once.
const PIECE: usize = 64 << 10;

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::unavailable(format!("the log cannot be read: {error}"))
}

pub(crate) fn logs(app: &App, args: &Logs) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let attempt = runner::attempt_at(&context.request, &args.task)?;
    if args.raw { raw(&attempt, args.follow) } else { told(&context, &attempt, args.follow) }
}

/// Prints the log just as it is.
fn raw(attempt: &AttemptView, follow: bool) -> Result<(), Error> {
    let mut reader = LogReader::new(&attempt.folder, 0);
    let mut out = std::io::stdout().lock();
    loop {
        // Looked at before the log is, so that its last lines are not missed.
        let goes_on = follow && runner::is_running(&attempt.folder)?;
        loop {
            let piece = reader.read(PIECE).map_err(unreadable)?;
            if piece.bytes.is_empty() {
                break;
            }
            written(out.write_all(&piece.bytes))?;
        }
        written(out.flush())?;
        if !goes_on {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

/// Prints what the agent said in words.
fn told(context: &CommandContext<'_>, attempt: &AttemptView, follow: bool) -> Result<(), Error> {
    let programs = &context.project.settings.workshop.programs;
    let format = format_of(attempt.program.as_deref(), programs);
    let mut follower = Follower::new(&attempt.folder, 0, format, Usage::default());
    loop {
        let goes_on = follow && runner::is_running(&attempt.folder)?;
        let events = if goes_on { follower.catch_up() } else { follower.finish() };
        for event in events.map_err(unreadable)? {
            if context.out().json {
                context.out().line(json_line(&event).to_string())?;
            } else if let Some(line) = line(context, &event) {
                context.out().line(line)?;
            }
        }
        if !goes_on {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

fn line(context: &CommandContext<'_>, event: &Event) -> Option<String> {
    let out = context.out();
    Some(match event {
        Event::Started { session } => out.paint(Tone::Faint, &format!("session {session}")),
        Event::Text(text) => plain(text),
        Event::Tool { summary, .. } => out.paint(Tone::Busy, &format!("> {}", one_line(summary))),
        Event::FileChanged { path } => {
            out.paint(Tone::Busy, &format!("> changed {}", one_line(path)))
        }
        Event::Usage(_) => return None,
        Event::RateLimited { .. } => out.paint(Tone::Warn, "the provider refuses requests for now"),
        Event::AuthFailed { reason } | Event::Failed { reason } => {
            out.paint(Tone::Bad, &one_line(reason))
        }
        Event::Note(text) => out.paint(Tone::Faint, &one_line(text)),
        Event::Finished { text, ok } => {
            let said = text.as_deref().unwrap_or(if *ok { "done" } else { "failed" });
            out.paint(if *ok { Tone::Good } else { Tone::Bad }, &plain(said))
        }
    })
}

/// What the agent said, for scripts.
fn json_line(event: &Event) -> Value {
    match event {
        Event::Started { session } => json!({ "said": "started", "session": session }),
        Event::Text(text) => json!({ "said": "text", "text": text }),
        Event::Tool { name, path, summary } => {
            json!({ "said": "tool", "tool": name, "path": path, "text": summary })
        }
        Event::FileChanged { path } => json!({ "said": "file_changed", "path": path }),
        Event::Usage(used) => json!({
            "said": "usage",
            "input": used.input,
            "cached": used.cached,
            "output": used.output,
            "cost": used.cost_microdollars,
        }),
        Event::RateLimited { .. } => json!({ "said": "rate_limited" }),
        Event::AuthFailed { reason } => json!({ "said": "auth_failed", "text": reason }),
        Event::Failed { reason } => json!({ "said": "failed", "text": reason }),
        Event::Note(text) => json!({ "said": "note", "text": text }),
        Event::Finished { text, ok } => json!({ "said": "finished", "text": text, "ok": ok }),
    }
}

/// The lines of a text without what would steer a terminal.
fn plain(text: &str) -> String {
    text.trim_end().lines().map(one_line).collect::<Vec<_>>().join("\n")
}

pub(crate) fn attach(app: &App, args: &Attach) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let attempt = runner::attempt_at(&context.request, &args.task)?;
    let writer = steering(&context)?;
    // A person is asked for their passphrase before standard input is read for messages.
    writer.client()?;
    let out = context.out();
    let to = Address::find(&writer, &format!("agent:{}", attempt.agent))?;
    out.note(format!("what you type goes to {}; ctrl-C leaves", attempt.agent));
    std::thread::spawn(move || {
        for text in std::io::stdin().lock().lines() {
            let Ok(text) = text else { return };
            if text.trim().is_empty() {
                continue;
            }
            let letter = Outgoing { to: &to, text: text.trim_end(), reply_to: None };
            if let Err(error) = mail::send(&writer, &letter) {
                out.note(format!("not sent: {}", error.message()));
            }
        }
    });
    told(&context, &attempt, true)
}
