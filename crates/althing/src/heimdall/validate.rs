//! `heimdall-validate`: whether something is a message.

use althing_dialects::frugal::message::{MESSAGE_BYTES_MAX, read, report};
use althing_dialects::frugal::plain::plain;
use althing_dialects::frugal::receipt::{Receipt, Step};
use althing_kernel::Command;
use althing_kernel::blackboard::message::{Note, Outcome};
use althing_kernel::text::Text;
use althing_services::mail::{self, Address, Outgoing};
use std::io::{BufRead, Read as _, Write as _};

use super::args::Args;
use super::{Stop, context, order};
use crate::error::Error;
use crate::typed::label;

pub(super) const HELP: &str = "\
heimdall-validate: whether standard input is a message of the protocol

  heimdall-validate                  all of standard input is one message
  heimdall-validate --to <agent>     the same, and it is put into that agent's inbox
  heimdall-validate --on-receipt     a message a line; one bad one may be sent again

Prints {\"valid\":bool,\"errors\":[...]} in a line, with --to also what was sent. With --on-receipt
it prints ACCEPTED, or nothing where no message was accepted; standard error then says why.
Exit codes: 0 valid, 1 not or not sent, 2 wrong usage.
";

/// How much of one error is kept, and how many of them.
const ERROR_CHARS_MAX: usize = 400;
const ERRORS_MAX: usize = 64;

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    match args.next().as_deref() {
        None => whole().map(|(line, _)| line),
        Some("--on-receipt") => on_receipt(),
        Some("--to") => {
            let to = args.value("--to")?;
            args.end()?;
            let (line, text) = whole()?;
            Ok(line + &sent(&to, &text)?)
        }
        Some(other) => Err(super::args::unexpected(other)),
    }
}

/// Puts a message that is valid into the inbox of an agent or a person.
fn sent(to: &str, text: &[u8]) -> Result<String, Stop> {
    let message = read(text).map_err(|faults| Stop::error(1, faults.join("; ")))?;
    let context = context()?;
    let to = Address::find(&context.request, to)?;
    let (words, thread) = (message.words(), message.thread());
    let letter = Outgoing { to: &to, text: &words, reply_to: Some(thread) };
    let sent = mail::send(&context.request, &letter)?;
    context.app.warn();
    Ok(format!("{} is in the inbox of {}\n", sent.label, sent.to))
}

/// Reads one message. Returns the line of its report, and its bytes.
fn whole() -> Result<(String, Vec<u8>), Stop> {
    let mut text = Vec::new();
    let most = MESSAGE_BYTES_MAX as u64 + 1;
    let mut input = std::io::stdin().lock();
    let read = (&mut input).take(most).read_to_end(&mut text);
    read.map_err(|error| Stop::error(1, format!("cannot read standard input: {error}")))?;
    // Reads to the end, so that the writer does not get a broken pipe.
    let _ = std::io::copy(&mut input, &mut std::io::sink());
    let (report, message) = report(&text);
    let line = format!("{}\n", report.line());
    let msg_id = message.as_ref().and_then(|message| message["msg_id"].as_str());
    if report.valid {
        note(accepted(Outcome::Accept, msg_id.unwrap_or("?"), None));
        return Ok((line, text));
    }
    note(Ok(faulty(Outcome::Reject, &report.errors, None)));
    Err(Stop { out: line, code: 1, ..Stop::default() })
}

fn on_receipt() -> Result<String, Stop> {
    let mut receipt = Receipt::default();
    let mut input = std::io::stdin().lock();
    let step = loop {
        let step = match next_line(&mut input)? {
            Some(line) => receipt.line(&line),
            None => receipt.end(),
        };
        for warning in step.warnings() {
            let _ = writeln!(std::io::stderr(), "{}", plain(&warning));
        }
        if step.is_last() {
            break step;
        }
    };
    match &step {
        Step::Accepted { attempt, msg_id } => {
            let outcome = if *attempt == 1 { Outcome::Accept } else { Outcome::Retry };
            note(accepted(outcome, msg_id, Some(*attempt)));
        }
        Step::Escalated { report } => {
            note(Ok(faulty(Outcome::Escalate, &report.errors, Some(2))));
        }
        Step::Ended { attempts } => {
            note(Ok(faulty(Outcome::Escalate, &["stream-end".to_owned()], Some(*attempts))));
        }
        Step::Blank | Step::Retry { .. } => {}
    }
    match step.output() {
        Some(text) => Ok(format!("{text}\n")),
        None => Err(Stop { code: 1, ..Stop::default() }),
    }
}

/// The next line, the last one also without its end. What is longer than any message is cut just
/// beyond that, and the rest of the line passed over.
fn next_line(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, Stop> {
    let failed =
        |error: std::io::Error| Stop::error(1, format!("cannot read standard input: {error}"));
    let mut line = Vec::new();
    let most = MESSAGE_BYTES_MAX as u64 + 1;
    let read = input.by_ref().take(most).read_until(b'\n', &mut line).map_err(failed)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && read as u64 == most {
        input.skip_until(b'\n').map_err(failed)?;
    }
    Ok(Some(line))
}

fn cut(errors: &[String]) -> Vec<Text<500>> {
    let shorter =
        |error: &String| Text::lossy(&error.chars().take(ERROR_CHARS_MAX).collect::<String>());
    errors.iter().take(ERRORS_MAX).map(shorter).collect()
}

/// A message that was accepted.
fn accepted(outcome: Outcome, msg_id: &str, attempts: Option<u32>) -> Result<Note, Error> {
    Ok(Note { attempts, errors: Vec::new(), msg_id: Some(label(msg_id)?), outcome })
}

/// A message that was not.
fn faulty(outcome: Outcome, errors: &[String], attempts: Option<u32>) -> Note {
    Note { attempts, errors: cut(errors), msg_id: None, outcome }
}

/// Puts the verdict on record where there is a project. It holds whether or not that worked.
fn note(verdict: Result<Note, Error>) {
    let noted = context().and_then(|context| match context.request.readable()? {
        Some(_) => order(&context, Command::MessageNote(verdict?)).map(drop),
        None => Ok(()),
    });
    if let Err(failure) = noted {
        let _ = writeln!(std::io::stderr(), "note: not on record: {}", failure.message());
    }
}
