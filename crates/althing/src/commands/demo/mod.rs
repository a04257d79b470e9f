//! `althing demo`: several real processes, real collisions, a real crash, on a real repository
//! that is thrown away afterwards.
//!
//! Everything shown comes from the trail; nothing is staged beyond who does what.

pub(crate) mod agent;
mod summary;

use althing_engine::{Engine, Home, Options, Subscription, api};
use althing_kernel::{Event, Principal};
use althing_trail::Entry;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use crate::app::App;
use crate::cli::Demo;
use crate::error::Error;
use crate::frugal::waves;
use crate::output::Tone;
use summary::Summary;

/// The files the agents compete for.
pub(crate) const FILES: &[&str] =
    &["src/parser.rs", "src/lexer.rs", "src/main.rs", "docs/guide.md", "Cargo.toml"];
/// The file the agent holds that gets killed.
const CRASH_SITE: &str = "src/lexer.rs";
const VICTIM: &str = "crasher";
const HEIR: &str = "heir";
/// How many pieces of work each agent finishes.
const ROUNDS: u32 = 6;
/// When something is badly wrong, the demo says so instead of hanging.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn run(app: &App, args: &Demo) -> Result<(), Error> {
    let started = Instant::now();
    let folder = Folder::new(args.keep)?;
    let note = |text: &str| app.out.note(app.out.paint(Tone::Strong, text));
    note(&format!("A throw-away repository in {}", folder.path.display()));
    let home = set_up(&folder.path)?;
    let engine = Engine::open(&home, Options::default())?;

    let mut watch = Watch { app, subscription: engine.subscribe(0)?, summary: Summary::default() };
    note("One agent claims a file and will be killed while it holds it:");
    let mut victim = spawn(&folder.path, VICTIM, &["--rounds", "0", "--hang-on", CRASH_SITE])?;
    watch.until(|summary| summary.has_granted(VICTIM))?;
    kill(&mut victim)?;
    note(&format!(
        "{VICTIM} is dead (killed, no clean-up). Its lease still protects {CRASH_SITE}."
    ));

    note(&format!(
        "{} agents, each a process of its own, race for {} files:",
        args.agents,
        FILES.len()
    ));
    let rounds = ROUNDS.to_string();
    let mut agents = Vec::new();
    for n in 1..args.agents {
        agents.push(spawn(&folder.path, &format!("agent{n}"), &["--rounds", &rounds])?);
    }
    let heir = ["--rounds", "0", "--wait-for", CRASH_SITE];
    agents.push(spawn(&folder.path, HEIR, &heir)?);
    watch.until_all_done(&mut agents)?;

    let Watch { summary, .. } = watch;
    drop(engine);
    finish(app, &folder, &home, &summary, started)
}

fn finish(
    app: &App,
    folder: &Folder,
    home: &Home,
    summary: &Summary,
    started: Instant,
) -> Result<(), Error> {
    let engine = Engine::open(home, Options::default())?;
    let options = althing_trail::verify::Options { every_signature: true, ..Default::default() };
    let mut log = engine.reader()?;
    let report =
        althing_engine::verify::verify(home, &mut *log, options, &mut |_, _| {})?.sound()?;
    let files = summary::check_files(&folder.path)?;
    let head = api::head(&engine)?;
    if app.out.json {
        return app.out.value(&json!({
            "folder": folder.keep.then_some(&folder.path),
            "seconds": started.elapsed().as_secs_f64(),
            "summary": summary,
            "files": files,
            "verified": report,
            "head": head.note,
            "tokens": waves::measure(waves::SIZES)?,
        }));
    }
    summary.print(app, &files)?;
    app.out.line(format!(
        "{} {} entries, {} heads and {} callers' signatures verified in one walk",
        app.out.paint(Tone::Good, "The trail is sound:"),
        report.trail.entries,
        report.trail.head_signatures,
        report.trail.caller_signatures
    ))?;
    app.out.line(format!(
        "{}, both ways, built and counted ({}):",
        app.out.paint(Tone::Strong, "Cost of instructions to waves of workers"),
        althing_dialects::frugal::tokens::TOKENIZER
    ))?;
    for measured in waves::measure(waves::SIZES)? {
        app.out.line(format!("  {}", waves::line(&measured)))?;
    }
    app.out.line(format!("Done in {:.1} s.", started.elapsed().as_secs_f64()))?;
    if folder.keep {
        app.out.line(format!("Look around: cd {} && althing trail", folder.path.display()))?;
    }
    Ok(())
}

/// Watches the trail grow and keeps count.
struct Watch<'a> {
    app: &'a App,
    subscription: Subscription,
    summary: Summary,
}

impl Watch<'_> {
    fn look(&mut self, wait: Duration) -> Result<(), Error> {
        for commit in self.subscription.next(wait)? {
            for line in commit.entries() {
                let entry = Entry::read(line)
                    .map_err(|error| Error::unavailable(format!("an unreadable entry: {error}")))?;
                self.summary.take(&entry);
                self.show(&entry);
            }
        }
        Ok(())
    }

    /// Shows what is worth a line; a collision is, once per pair, or it would drown the rest.
    fn show(&mut self, entry: &Entry) {
        let draft = &entry.stamped.draft;
        let shown = match &draft.event {
            Event::LeaseOpened(_) | Event::LeaseExpired(_) | Event::LeaseForced(_) => true,
            Event::CommandRefused(_) => self.summary.is_news(entry),
            // Any other entry is no news to whoever watches the demo.
            _ => false,
        };
        if shown {
            let what = crate::event_summary::summary(&draft.event);
            let actor = draft.actor.to_string();
            self.app.out.note(format!("  {actor:<14} {:<16} {what}", draft.event.kind().as_str()));
        }
    }

    fn until(&mut self, done: impl Fn(&Summary) -> bool) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        while !done(&self.summary) {
            if Instant::now() > deadline {
                return Err(Error::unavailable("the demo's agents made no progress"));
            }
            self.look(Duration::from_millis(100))?;
        }
        Ok(())
    }

    fn until_all_done(&mut self, agents: &mut [Child]) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.look(Duration::from_millis(50))?;
            let mut running = 0;
            for agent in agents.iter_mut() {
                match agent.try_wait() {
                    Ok(None) => running += 1,
                    Ok(Some(status)) if status.success() => {}
                    Ok(Some(status)) => {
                        return Err(Error::unavailable(format!("an agent failed: {status}")));
                    }
                    Err(error) => return Err(Error::unavailable(error.to_string())),
                }
            }
            if running == 0 {
                return self.look(Duration::ZERO);
            }
            if Instant::now() > deadline {
                for agent in agents.iter_mut() {
                    // One that ended meanwhile cannot be killed, and need not be.
                    let _ = agent.kill();
                }
                return Err(Error::unavailable("the demo's agents did not finish"));
            }
        }
    }
}

fn set_up(path: &Path) -> Result<Home, Error> {
    for file in FILES {
        let file = path.join(file);
        let parent = file.parent().unwrap_or(path);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&file, b""))
            .map_err(|error| Error::unavailable(format!("{}: {error}", file.display())))?;
    }
    // Without git the demo works in a plain folder just as well.
    let git = Process::new("git").args(["init", "--quiet"]).current_dir(path).status();
    let state = match git {
        Ok(status) if status.success() => path.join(".git").join("althing"),
        _ => path.join(".althing"),
    };
    let home = Home::new(&state);
    Engine::create(&home, "demo", &Options::default())?;
    Ok(home)
}

fn spawn(folder: &Path, name: &str, args: &[&str]) -> Result<Child, Error> {
    let program = std::env::current_exe().map_err(|error| {
        Error::unavailable(format!("cannot find the path of this program: {error}"))
    })?;
    Process::new(program)
        .arg("demo-agent")
        .args(args)
        .args(["--as", name])
        .current_dir(folder)
        .env_remove("ALTHING_HOME")
        .env_remove("ALTHING_STORE")
        .env_remove("ALTHING_SESSION")
        .env_remove("ALTHING_USER")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| Error::unavailable(format!("cannot start an agent: {error}")))
}

fn kill(child: &mut Child) -> Result<(), Error> {
    child
        .kill()
        .and_then(|()| child.wait().map(|_| ()))
        .map_err(|error| Error::unavailable(format!("cannot kill an agent: {error}")))
}

/// The folder of the demo; gone afterwards unless it is to be kept.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn new(keep: bool) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::unavailable(format!("no folder for the demo: {error}"))
        };
        let random: [u8; 4] = althing_engine::mint::random().map_err(|error| failed(&error))?;
        let name = format!("althing-demo-{:08x}", u32::from_be_bytes(random));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|error| failed(&error))?;
        Ok(Folder { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // If it cannot be removed, it is left to the system's own clean-up.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The name of the agent who did something, if one did.
fn agent_of(holder: &Principal) -> Option<&str> {
    match holder {
        Principal::Agent(name) => Some(name.as_str()),
        _ => None,
    }
}
