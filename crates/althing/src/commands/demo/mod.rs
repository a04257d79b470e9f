//! `althing demo`: a small program is planned and built by several agents, with the faults that happen
//! to agents, in a repository that is thrown away afterwards.
//!
//! It is a run like any other: real processes, worktrees, claims, checks, merges and a person who
//! approves. Only the agents are scripted.

pub(crate) mod agent;
mod stage;
mod story;
mod summary;

use althing_engine::{Engine, Options, api};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::app::App;
use crate::cli::Demo;
use crate::error::Error;
use crate::frugal::waves;
use crate::output::{Out, Tone};
use stage::{PERSON, Stage};
use story::{Cause, Story};
use summary::Summary;

/// The sign of the agent that is killed in the middle of its work.
const HALF_DONE: &str = "half-done";
/// The task of that agent.
const VICTIM: &str = "lexer";
/// The line that is explained in the end: its file, and a part of it.
const EXPLAINED: (&str, &str) = ("lib/parser.awk", "return 2");
const EXPRESSION: &str = "2 + 3 * 4";
/// How much of the explanation is shown.
const WHY_LINES: usize = 9;
/// When something is badly wrong, the demo says so instead of hanging.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(app: &App, args: &Demo) -> Result<(), Error> {
    let started = Instant::now();
    let out = app.out;
    let stage = Stage::set_up(args.keep)?;
    out.note(format!(
        "{} A calculator is built by {} agents of {} kinds in {}",
        out.paint(Tone::Strong, "A run."),
        Stage::agents(),
        Stage::kinds(),
        stage.repository().display()
    ));
    let mut story = Story::new(app, started);
    follow(&stage, &mut story)?;
    let outcome = Outcome::of(&stage, &story)?;
    if out.json {
        return outcome.json(&stage, &story, started);
    }
    outcome.print(app, &stage)?;
    print_tokens(out)?;
    out.line(format!("Done in {:.1} s.", started.elapsed().as_secs_f64()))?;
    if args.keep {
        out.line(format!("Look around: cd {}", stage.repository().display()))?;
        out.line("  ./calc '(1 + 2) / 4'; git log --graph --oneline; althing ps --all")?;
        out.line("  althing logs parser; althing why calc:4; althing trail")?;
    }
    Ok(())
}

/// Follows the run to its end.
fn follow(stage: &Stage, story: &mut Story<'_>) -> Result<(), Error> {
    let mut run = stage.start()?;
    let watched = watch(&mut run, stage, story);
    if watched.is_err() {
        // Its agents end with it. The reason why it is stopped is worth more than that it is not.
        let _ = stage.althing(&["stop", "--now"]);
    }
    let ended = run.wait().map_err(|error| Error::unavailable(error.to_string()))?;
    watched?;
    if ended.success() {
        return Ok(());
    }
    Err(Error::unavailable(format!("the run did not come to its end: {}", stage.run_log().trim())))
}

/// Tells what happens, kills an agent and answers for the person.
fn watch(run: &mut Child, stage: &Stage, story: &mut Story<'_>) -> Result<(), Error> {
    let lines = lines_of(run);
    let deadline = Instant::now() + PATIENCE;
    let mut has_killed = false;
    while Instant::now() < deadline {
        match lines.recv_timeout(LOOK) {
            Ok(line) => story.take(&line)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if !has_killed && stage.meet().join(HALF_DONE).exists() {
            has_killed = kill(stage, story)?;
        }
        if let Some(gate) = story.gate.take() {
            stage.as_person(&["gate", "approve", &gate])?;
            story.line("", PERSON, Tone::Good, "approves the merge");
        }
    }
    Err(Error::unavailable("the agents of the demo did not finish in time"))
}

/// The lines of the run, as they come.
fn lines_of(run: &mut Child) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    if let Some(output) = run.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receive
}

/// Kills the agent that has done half of its work. Returns whether it was there.
fn kill(stage: &Stage, story: &Story<'_>) -> Result<bool, Error> {
    let attempts = read(&stage.althing(&["ps", "--json"])?)?;
    let attempts = attempts.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(own) = attempts.iter().find(|own| own["task"] == VICTIM) else { return Ok(false) };
    let Some(pid) = own["pid"].as_u64() else { return Ok(false) };
    stage.sh(&["-c", &format!("kill -KILL {pid}")])?;
    let agent = own["agent"].as_str().unwrap_or_default();
    story.line(VICTIM, agent, Tone::Bad, &format!("gets SIGKILL, as process {pid}"));
    Ok(true)
}

/// What came of the run.
struct Outcome {
    summary: Summary,
    /// The program's answer.
    answer: String,
    /// The output of its tests.
    tests: Vec<String>,
    /// The line that is explained, as `FILE:LINE`.
    place: String,
    verified: althing_engine::verify::Report,
    head: Value,
}

impl Outcome {
    /// Executes the program and its tests, and verifies the trail.
    fn of(stage: &Stage, story: &Story<'_>) -> Result<Self, Error> {
        let answer = stage.sh(&["calc", EXPRESSION])?.trim().to_owned();
        let tests = stage.sh(&["test.sh"])?.lines().map(str::to_owned).collect();
        let home = stage.home();
        let engine = Engine::open(&home, Options::default())?;
        let options =
            althing_trail::verify::Options { every_signature: true, ..Default::default() };
        let mut log = engine.reader()?;
        let verified =
            althing_engine::verify::verify(&home, &mut *log, options, &mut |_, _| {})?.sound()?;
        let head = serde_json::to_value(api::head(&engine)?.note);
        let head = head.map_err(|error| Error::unavailable(error.to_string()))?;
        let summary = Summary::of(&engine)?;
        check(&summary, story)?;
        let place = place(stage)?;
        Ok(Outcome { summary, answer, tests, place, verified, head })
    }

    fn json(&self, stage: &Stage, story: &Story<'_>, started: Instant) -> Result<(), Error> {
        let why = read(&stage.althing(&["why", &self.place, "--json"])?)?;
        Out::new(true).value(&json!({
            "folder": stage.keep.then(|| stage.repository()),
            "seconds": started.elapsed().as_secs_f64(),
            "summary": self.summary,
            "run": story.finished,
            "returned": story.returned,
            "program": { "expression": EXPRESSION, "answer": self.answer, "tests": self.tests },
            "why": why,
            "verified": self.verified,
            "head": self.head,
            "tokens": waves::measure(waves::SIZES)?,
        }))
    }

    fn print(&self, app: &App, stage: &Stage) -> Result<(), Error> {
        let out = app.out;
        let strong = |text: &str| out.paint(Tone::Strong, text);
        out.line("")?;
        self.summary.print(app)?;
        out.line("")?;
        out.line(format!("{} {}", strong(&format!("./calc '{EXPRESSION}'")), self.answer))?;
        out.line(format!("{} {} pass", strong("sh test.sh"), self.tests.len()))?;
        out.line(strong(&format!("althing why {}", self.place)))?;
        for line in stage.althing(&["why", &self.place])?.lines().skip(1).take(WHY_LINES) {
            out.cut_line(format!("  {line}"))?;
        }
        let trail = &self.verified.trail;
        out.line(format!(
            "{} {} entries, {} heads and {} callers' signatures verified in one walk",
            out.paint(Tone::Good, "The trail is sound:"),
            trail.entries,
            trail.head_signatures,
            trail.caller_signatures
        ))
    }
}

/// Refuses to have shown what did not happen.
fn check(summary: &Summary, story: &Story<'_>) -> Result<(), Error> {
    let happened = [
        ("no agent was refused at an edit", summary.collisions > 0),
        ("no agent was killed", summary.killed > 0 && story.has_returned(Cause::Killed)),
        ("no check failed", story.has_returned(Cause::Check)),
        ("no merge conflicted", story.has_returned(Cause::Conflict)),
        ("nobody approved a merge", summary.approved_by.iter().any(|own| own == PERSON)),
    ];
    match happened.iter().find(|(_, happened)| !happened) {
        None => Ok(()),
        Some((lacking, _)) => Err(Error::unavailable(format!("the demo is not whole: {lacking}"))),
    }
}

/// The place of the line that is explained.
fn place(stage: &Stage) -> Result<String, Error> {
    let (file, part) = EXPLAINED;
    let text = std::fs::read_to_string(stage.repository().join(file))
        .map_err(|error| Error::unavailable(format!("{file}: {error}")))?;
    let line = text.lines().position(|line| line.contains(part)).unwrap_or(0) + 1;
    Ok(format!("{file}:{line}"))
}

fn print_tokens(out: Out) -> Result<(), Error> {
    out.line(format!(
        "{}, both ways, built and counted ({}):",
        out.paint(Tone::Strong, "Cost of instructions to waves of workers"),
        althing_dialects::frugal::tokens::TOKENIZER
    ))?;
    for measured in waves::measure(waves::SIZES)? {
        out.line(format!("  {}", waves::line(&measured)))?;
    }
    Ok(())
}

fn read(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::unavailable(format!("{text:?}: {error}")))
}
