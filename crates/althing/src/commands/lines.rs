//! `althing do --lines`: requests line by line, answers line by line, in the same order.
//!
//! Commands are handed to the writer as they come, so that many share one sync. A question is
//! asked once everything before it is answered, and nothing after it is begun before it is: what
//! it sees is what the lines before it did.

use althing_engine::api::{self, ARGS_BYTES_MAX, Request};
use althing_engine::queue::{Answer as Outcome, Ticket};
use althing_engine::{Client, Engine, EngineError};
use althing_kernel::{Door, Principal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{BufRead as _, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::do_by_name::read_request;
use crate::app::{App, Project};
use crate::error::Error;
use crate::screen::written;

/// How many commands may be under way at once.
const UNDER_WAY_MAX: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    // Written with escapes, a name cannot be borrowed.
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer {
    /// Which line it answers, from 1.
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// The next line to print.
enum Next {
    /// The outcome of a command, when it comes.
    Outcome { line: u64, ticket: Ticket, begun: Instant, outcome: Receiver<Outcome> },
    /// An answer that is known already.
    Known(Answer),
    /// A question, asked when its turn comes; whoever waits is told when it was answered.
    Question { line: u64, request: Box<Request>, asked: SyncSender<()> },
}

pub(super) fn run(app: &App, project: &Project) -> Result<(), Error> {
    let engine = project.engine()?;
    // A passphrase on standard input comes before the lines.
    let early = app.globals.passphrase_stdin;
    let mut client =
        if early { Some(project.client(app, &engine)?.through(Door::Do)) } else { None };
    let is_gone = Arc::new(AtomicBool::new(false));
    let (send, receive) = sync_channel(UNDER_WAY_MAX);
    let printer = Printer {
        engine: engine.clone(),
        viewer: project.asker()?,
        patience: project.options().patience,
    };
    let printing = std::thread::spawn(move || printer.print(&receive));
    let mut number = 0;
    let mut unreadable = None;
    loop {
        let line = match next_line(&mut number) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(failure) => {
                unreadable = Some(failure);
                break;
            }
        };
        if is_gone.swap(false, Ordering::Relaxed) {
            // Another store may not know this caller, or know it by another key.
            client = None;
        }
        let begun =
            |bytes: Vec<u8>| begin(app, project, &engine, (&mut client, &is_gone), &bytes, number);
        let next = line.and_then(begun);
        let (next, asked) = match next {
            Ok(begun) => begun,
            Err(failure) => (Next::Known(failed(number, &failure)), None),
        };
        // The printer hangs up only when standard output is gone.
        if send.send(next).is_err()
            || asked.is_some_and(|asked: Receiver<()>| asked.recv().is_err())
        {
            break;
        }
    }
    drop((client, engine, send));
    // Every command that ran gets its answer, however the input ended.
    let panicked = || Err(Error::unavailable("answers could not be printed"));
    printing.join().unwrap_or_else(|_| panicked())?;
    unreadable.map_or(Ok(()), Err)
}

/// The next line that says something; none at the end of the input.
fn next_line(number: &mut u64) -> Result<Option<Result<Vec<u8>, Error>>, Error> {
    let unreadable = |error| Error::usage(format!("cannot read standard input: {error}"));
    let limit = ARGS_BYTES_MAX as u64 + 1024;
    loop {
        *number += 1;
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock();
        let read = input.by_ref().take(limit).read_until(b'\n', &mut bytes).map_err(unreadable)?;
        if read == 0 {
            return Ok(None);
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 >= limit {
            input.skip_until(b'\n').map_err(unreadable)?;
            return Ok(Some(Err(Error::usage("the line is too long"))));
        }
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(Ok(bytes)));
        }
    }
}

/// Begins what a line asks for. A question also gives what to wait on.
fn begin(
    app: &App,
    project: &Project,
    engine: &Engine,
    (client, is_gone): (&mut Option<Client>, &Arc<AtomicBool>),
    bytes: &[u8],
    line: u64,
) -> Result<(Next, Option<Receiver<()>>), Error> {
    let read: Line<'_> = serde_json::from_slice(bytes)
        .map_err(|error| Error::usage(format!("not a request: {}", without_place(&error))))?;
    let request = read_request(project, &read.name, read.args.map_or("{}", RawValue::get))?;
    let Request::Command(command) = request else {
        let (asked, wait) = sync_channel(1);
        let request = Box::new(request);
        return Ok((Next::Question { line, request, asked }, Some(wait)));
    };
    let caller = match client {
        Some(known) => known,
        None => client.insert(project.client(app, engine)?.through(Door::Do)),
    };
    let (send, outcome) = sync_channel(1);
    let is_gone = is_gone.clone();
    let done = Box::new(move |answer: Outcome| {
        if answer.as_ref().is_err_and(EngineError::is_of_another_store) {
            is_gone.store(true, Ordering::Relaxed);
        }
        // The printer hangs up only when standard output is gone.
        let _ = send.send(answer);
    });
    let ticket = caller.submit(*command, done)?;
    Ok((Next::Outcome { line, ticket, begun: Instant::now(), outcome }, None))
}

/// The parser's message without line and column, since there is only one line.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

fn answered(line: u64, value: Result<Value, serde_json::Error>) -> Answer {
    match value {
        Ok(value) => Answer { line, ok: Some(value), error: None },
        Err(error) => failed(line, &Error::unavailable(error.to_string())),
    }
}

fn failed(line: u64, failure: &Error) -> Answer {
    Answer { line, ok: None, error: Some(failure.object()) }
}

struct Printer {
    engine: Engine,
    viewer: Option<Principal>,
    patience: Duration,
}

impl Printer {
    /// Prints answers in order, flushing whenever none waits.
    fn print(&self, receive: &Receiver<Next>) -> Result<(), Error> {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        while let Ok(first) = receive.recv() {
            let mut next = Some(first);
            while let Some(item) = next {
                let is_question = matches!(item, Next::Question { .. });
                if let Next::Outcome { .. } = item {
                    // It may take a while; what is known should not wait for it.
                    written(out.flush())?;
                }
                let (answer, asked) = self.answer(item);
                let text = serde_json::to_string(&answer)
                    .map_err(|error| Error::unavailable(error.to_string()))?;
                written(writeln!(out, "{text}"))?;
                if is_question {
                    written(out.flush())?;
                }
                // The answer is waited for only while its sender lives.
                let _ = asked.map(|asked| asked.send(()));
                next = receive.try_recv().ok();
            }
            written(out.flush())?;
            self.engine.follow();
        }
        Ok(())
    }

    fn answer(&self, next: Next) -> (Answer, Option<SyncSender<()>>) {
        match next {
            Next::Known(answer) => (answer, None),
            Next::Question { line, request, asked } => {
                let reply = api::perform(&self.engine, None, self.viewer.as_ref(), *request);
                let answer = match reply {
                    Ok(reply) => answered(line, serde_json::from_str(reply.get())),
                    Err(error) => failed(line, &error.into()),
                };
                (answer, Some(asked))
            }
            Next::Outcome { line, ticket, begun, outcome } => {
                let answer = match self.outcome(&ticket, begun, &outcome) {
                    Ok(reply) => answered(line, serde_json::to_value(&reply)),
                    Err(error) => failed(line, &error.into()),
                };
                (answer, None)
            }
        }
    }

    /// Waits for a command, but not for longer than the patience lasts.
    fn outcome(&self, ticket: &Ticket, begun: Instant, outcome: &Receiver<Outcome>) -> Outcome {
        let left = self.patience.saturating_sub(begun.elapsed());
        let lost = || EngineError::Defect("the writer ended without an answer".to_owned());
        match outcome.recv_timeout(left) {
            Ok(outcome) => outcome,
            Err(_) if ticket.withdraw() => Err(EngineError::TimedOut(self.patience.as_secs())),
            Err(_) => outcome.recv().unwrap_or_else(|_| Err(lost())),
        }
    }
}
