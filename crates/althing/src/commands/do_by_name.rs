//! `althing do`

use althing_engine::door::{self, ARGS_BYTES_MAX, Request};
use althing_engine::{Client, Engine};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::{BufRead as _, Read as _, Write as _};
use std::sync::mpsc;

use crate::app::{App, Project};
use crate::cli::Do;
use crate::failure::Failure;
use crate::output::written;

pub(crate) fn run(app: &App, args: &Do) -> Result<(), Failure> {
    if args.list {
        return list(app);
    }
    if let Some(name) = &args.schema {
        let schema = door::schema(name)
            .ok_or_else(|| Failure::not_found(format!("there is nothing called {name:?}")))?;
        return app.out.value(&schema);
    }
    let project = app.project()?;
    if args.lines {
        return lines(app, &project);
    }
    let name = args.name.as_deref().unwrap_or_default();
    let text = match args.args.as_deref() {
        Some("-") => read_stdin()?,
        Some(text) => text.to_owned(),
        None => "{}".to_owned(),
    };
    let request = door::read(name, &text)?;
    let engine = project.engine()?;
    let client = client_for(app, &project, &engine, &request)?;
    let reply = door::perform(&engine, client.as_ref(), request)?;
    app.out.value(&reply)
}

fn list(app: &App) -> Result<(), Failure> {
    let doors = door::list();
    if app.out.json {
        return app.out.value(&doors);
    }
    let sort = |door: &door::Door| match door.sort {
        door::Sort::Command => "command",
        door::Sort::Question => "question",
    };
    let rows: Vec<Vec<String>> = doors
        .iter()
        .map(|door| vec![door.name.to_owned(), sort(door).to_owned(), door.help.to_owned()])
        .collect();
    app.out.table(&["NAME", "SORT", "DOES"], &rows)
}

/// Only commands need to know who asks.
fn client_for(
    app: &App,
    project: &Project,
    engine: &Engine,
    request: &Request,
) -> Result<Option<Client>, Failure> {
    match request {
        Request::Command(_) => project.client(app, engine).map(Some),
        _ => Ok(None),
    }
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = ARGS_BYTES_MAX as u64 + 1;
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    name: &'a str,
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

/// Answers line after line. Commands are handed to the writer as they come, so that many share
/// one sync; each answer is printed when it is durable.
fn lines(app: &App, project: &Project) -> Result<(), Failure> {
    let engine = project.engine()?;
    let mut client = None;
    let (send, receive) = mpsc::channel::<Answer>();
    let printer = std::thread::spawn(move || print_answers(&receive));
    let mut input = std::io::stdin().lock();
    let mut number = 0;
    loop {
        number += 1;
        let mut bytes = Vec::new();
        let limit = ARGS_BYTES_MAX as u64 + 1024;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(_) if bytes.last() != Some(&b'\n') && bytes.len() as u64 >= limit => {
                let failure = Failure::usage(format!("line {number} is too long"));
                let _ = send.send(failed(number, &failure));
                skip_line(&mut input)?;
                continue;
            }
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::usage(format!("cannot read standard input: {error}")));
            }
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Err(failure) = one_line(app, project, &engine, &mut client, &bytes, number, &send) {
            // The printer hangs up only when standard output is gone.
            let _ = send.send(failed(number, &failure));
        }
    }
    // The last handles wait for what is under way.
    drop((client, engine, send));
    printer.join().unwrap_or(Ok(()))
}

fn skip_line(input: &mut impl std::io::BufRead) -> Result<(), Failure> {
    let skipped = input.skip_until(b'\n');
    skipped
        .map(|_| ())
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))
}

fn one_line(
    app: &App,
    project: &Project,
    engine: &Engine,
    client: &mut Option<Client>,
    bytes: &[u8],
    number: u64,
    send: &mpsc::Sender<Answer>,
) -> Result<(), Failure> {
    let line: Line<'_> = serde_json::from_slice(bytes)
        .map_err(|error| Failure::usage(format!("line {number}: {error}")))?;
    let request = door::read(line.name, line.args.map_or("{}", RawValue::get))?;
    if let Request::Command(command) = request {
        let caller = match client {
            Some(known) => known,
            None => client.insert(project.client(app, engine)?),
        };
        let send = send.clone();
        caller.submit(
            command,
            Box::new(move |answer| {
                let answer = match answer {
                    Ok(reply) => done(number, serde_json::to_value(&reply)),
                    Err(error) => failed(number, &error.into()),
                };
                let _ = send.send(answer);
            }),
        )?;
        return Ok(());
    }
    let reply = door::perform(engine, None, request)?;
    let _ = send.send(done(number, serde_json::from_str(reply.get())));
    Ok(())
}

fn done(line: u64, value: Result<Value, serde_json::Error>) -> Answer {
    Answer { line, ok: value.ok(), error: None }
}

fn failed(line: u64, failure: &Failure) -> Answer {
    Answer { line, ok: None, error: Some(failure.json()["error"].clone()) }
}

/// Prints answers as they come, flushing whenever none waits.
fn print_answers(receive: &mpsc::Receiver<Answer>) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    while let Ok(first) = receive.recv() {
        let mut next = Some(first);
        while let Some(answer) = next {
            let text = serde_json::to_string(&answer)
                .map_err(|error| Failure::unavailable(error.to_string()))?;
            written(writeln!(out, "{text}"))?;
            next = receive.try_recv().ok();
        }
        written(out.flush())?;
    }
    Ok(())
}
