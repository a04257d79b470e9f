//! The supervising process: it outlives whoever started it, and writes down how the agent ended.
//!
//! It is started by [`start`](super::start) as the hidden command `supervise`, with the lock as its
//! standard input: a lock of the system belongs to the open file, so it is held from before this
//! process exists until after it is gone, whatever ends it.

use std::fs::{File, TryLockError};
use std::io::{PipeReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::clock::now_ms;
use super::ending::{end_all, kill_all};
use super::files::{self, Files, failed};
use super::log::LogWriter;
use super::record::{Ended, MARKER, Outcome, Process, Spec, StopOrder, WORKSPACE};
use super::streams::{Stream, Streams};
use super::system;
use super::table::{Identity, Scope, cpu_of_children};
use crate::error::WorkshopError;

/// The line that tells the caller that everything is written down.
pub(super) const STARTED: &str = "started";
/// How long processes that an agent left behind may take to end by themselves.
const GRACE_OF_LEFT: Duration = Duration::from_secs(2);
/// How long to wait for output that somebody out of reach still holds open.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often memory is looked at.
const SAMPLE: Duration = Duration::from_secs(10);
/// How long to try to write how it ended.
const TRIES: u32 = 60;

/// Supervises the agent that the folder's `start.json` describes, until it has ended.
pub fn supervise(folder: &Path) -> Result<(), WorkshopError> {
    let files = Files::of(folder);
    is_locked_for_us(&files)?;
    system::new_session();
    system::adopt_orphans();
    let spec: Spec = files::read(&files.start())?
        .ok_or_else(|| WorkshopError::new("start.json is missing or damaged"))?;
    let shim = Identity::of(std::process::id())
        .ok_or_else(|| WorkshopError::new("the system does not tell when processes began"))?;
    files::reserve(&files.reserve())?;
    let log = LogWriter::open(folder, spec.log_bytes_max);
    let mut process = Process {
        turn: spec.turn,
        workspace: spec.workspace.clone(),
        program: spec.program.clone(),
        shim,
        agent: None,
        since_ms: now_ms(),
        log_start: log.end(),
    };
    // Once this is written the agent may run; without it, it certainly does not.
    files::write(&files.process(), &process)?;
    let begun = Instant::now();
    let ended = match Agent::spawn(&spec) {
        Ok(agent) => {
            process.agent = Some(agent.identity.clone());
            if let Err(error) = files::write(&files.process(), &process) {
                // It is found by its mark all the same.
                tracing::warn!(%error, "the agent's number is not written down");
            }
            report_started();
            Watch::new(&files, &spec, &process, agent, log).run()
        }
        Err(reason) => {
            let outcome = Outcome::CouldNotStart(reason);
            let ended = blank(&process, outcome, log.end(), begun);
            write_ended(&files, &ended)?;
            report_started();
            return Ok(());
        }
    };
    write_ended(&files, &ended)
}

/// Refuses to go on unless the caller holds the lock for this process.
fn is_locked_for_us(files: &Files) -> Result<(), WorkshopError> {
    let path = files.lock();
    let by_hand = || {
        WorkshopError::new("`supervise` is started by Althing itself, with the lock as its input")
    };
    let lock = File::open(&path).map_err(failed("open", &path))?;
    if !is_input(&lock) {
        return Err(by_hand());
    }
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(()),
        _ => Err(by_hand()),
    }
}

/// Whether a file is this process's standard input.
fn is_input(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let input = rustix::fs::fstat(std::io::stdin());
        let same = |data: std::fs::Metadata| {
            input.is_ok_and(|input| {
                // Systems differ in the types of these numbers.
                i128::from(input.st_ino) == i128::from(data.ino())
                    && i128::from(input.st_dev) == i128::from(data.dev())
            })
        };
        file.metadata().is_ok_and(same)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Tells the caller. Whoever was killed meanwhile need not know.
fn report_started() {
    let mut out = std::io::stdout();
    let said = writeln!(out, "{STARTED}").and_then(|()| out.flush());
    if let Err(error) = said {
        tracing::debug!(%error, "nobody waits for the start");
    }
}

fn write_ended(files: &Files, ended: &Ended) -> Result<(), WorkshopError> {
    let mut tries = 0;
    loop {
        match files::write_reserved(&files.reserve(), &files.ended(), ended) {
            Err(error) if tries < TRIES => {
                tracing::warn!(%error, "how the agent ended is not written down yet");
                tries += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            done => return done,
        }
    }
}

fn blank(process: &Process, outcome: Outcome, log_end: u64, begun: Instant) -> Ended {
    Ended {
        turn: process.turn,
        outcome,
        timed_out: false,
        stopped: false,
        since_ms: process.since_ms,
        wall_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        cpu_ms: None,
        memory_peak: None,
        left_behind: 0,
        stuck: Vec::new(),
        log_start: process.log_start,
        log_end,
    }
}

/// A started agent.
struct Agent {
    identity: Identity,
    messages: Receiver<Message>,
}

/// News of the agent.
enum Message {
    Output(Stream, Vec<u8>),
    End,
    Exited(Outcome),
}

impl Agent {
    /// Starts the program and the threads that listen to it.
    fn spawn(spec: &Spec) -> Result<Self, String> {
        let cannot = |what: &dyn std::fmt::Display, error: std::io::Error| {
            format!("cannot start {}: {what}: {error}", spec.program.display())
        };
        let pipe = || std::io::pipe().map_err(|error| cannot(&"a pipe", error));
        let ((out, out_end), (err, err_end)) = (pipe()?, pipe()?);
        let mut command = Command::new(&spec.program);
        command.args(&spec.args).current_dir(&spec.folder).stdout(out_end).stderr(err_end);
        command.stdin(match &spec.stdin {
            Some(path) => {
                Stdio::from(File::open(path).map_err(|error| cannot(&path.display(), error))?)
            }
            None => Stdio::null(),
        });
        for name in &spec.env_remove {
            command.env_remove(name);
        }
        command.envs(&spec.env).env(WORKSPACE, &spec.workspace).env(MARKER, &spec.workspace);
        system::lead_group(&mut command);
        let child = command.spawn().map_err(|error| cannot(&spec.folder.display(), error))?;
        // Our own ends of the pipes go with this; otherwise they would never be at their end.
        drop(command);
        // Until it is reaped, which is below, its number is its own.
        let identity = Identity::of(child.id())
            .unwrap_or_else(|| Identity { pid: child.id(), started: String::new() });
        let (say, messages) = sync_channel(16);
        listen(Stream::Out, out, say.clone());
        listen(Stream::Err, err, say.clone());
        let pid = identity.pid;
        std::thread::spawn(move || {
            // Reaps adopted orphans too. The receiver may be gone at the end.
            while let Some((ended, outcome)) = system::reap() {
                if ended == pid && say.send(Message::Exited(outcome)).is_err() {
                    return;
                }
            }
        });
        Ok(Agent { identity, messages })
    }
}

fn listen(stream: Stream, mut pipe: PipeReader, say: SyncSender<Message>) {
    std::thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    if say.send(Message::Output(stream, piece[..read].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // Nobody may be waiting any more.
        let _ = say.send(Message::End);
    });
}

/// How far the ending of an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It runs, until this time if there is a limit.
    Running(Option<Instant>),
    /// It was asked to end and has until this time.
    Asked(Instant),
    /// It was killed.
    Killed,
}

/// A running agent under watch.
struct Watch<'a> {
    files: &'a Files,
    spec: &'a Spec,
    process: &'a Process,
    messages: Receiver<Message>,
    streams: Streams,
    scope: Scope,
    phase: Phase,
    timed_out: bool,
    begun: Instant,
    sample_at: Instant,
    memory_peak: Option<u64>,
    ends: usize,
}

impl<'a> Watch<'a> {
    fn new(
        files: &'a Files,
        spec: &'a Spec,
        process: &'a Process,
        agent: Agent,
        log: LogWriter,
    ) -> Self {
        let begun = Instant::now();
        let limit = spec.timeout_ms.and_then(|ms| begun.checked_add(Duration::from_millis(ms)));
        let scope = Scope::new(&spec.workspace, Some(process.shim.clone()), Some(agent.identity));
        Watch {
            files,
            spec,
            process,
            messages: agent.messages,
            streams: Streams::new(log),
            scope,
            phase: Phase::Running(limit),
            timed_out: false,
            begun,
            sample_at: begun + Duration::from_secs(1),
            memory_peak: None,
            ends: 0,
        }
    }

    fn run(mut self) -> Ended {
        // An order that came before the agent had a number was left for us.
        if self.is_ordered_to_stop() {
            self.ask_to_end();
        }
        let outcome = self.until_it_exits();
        let wall = self.begun.elapsed();
        let left = end_all(&self.scope, self.spec.grace().min(GRACE_OF_LEFT));
        self.last_words();
        Ended {
            timed_out: self.timed_out,
            stopped: self.is_ordered_to_stop(),
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            cpu_ms: cpu_of_children(),
            memory_peak: self.memory_peak,
            left_behind: left.count,
            stuck: left.stuck,
            ..blank(self.process, outcome, self.streams.log().end(), self.begun)
        }
    }

    fn is_ordered_to_stop(&self) -> bool {
        let order: Option<StopOrder> = files::read(&self.files.stop()).unwrap_or_default();
        order.is_some_and(|order| order.turn == self.spec.turn)
    }

    fn ask_to_end(&mut self) {
        self.scope.ask_to_end();
        self.phase = Phase::Asked(Instant::now() + self.spec.grace());
    }

    /// Goes on reading while it waits: an agent that cannot write cannot end either.
    fn until_it_exits(&mut self) -> Outcome {
        loop {
            let now = Instant::now();
            let settle = self.streams.settle(now);
            let next = self.act(now);
            let next = settle.map_or(next, |settle| settle.min(next));
            match self.messages.recv_timeout(next.saturating_duration_since(now)) {
                Ok(Message::Output(stream, bytes)) => self.streams.take(stream, &bytes),
                Ok(Message::End) => self.ends += 1,
                Ok(Message::Exited(outcome)) => return outcome,
                Err(RecvTimeoutError::Timeout) => {}
                // The thread that reaps has nothing left to reap, and somebody else did it.
                Err(RecvTimeoutError::Disconnected) => return Outcome::Exited(-1),
            }
        }
    }

    /// Does what is due, and says when something will be.
    fn act(&mut self, now: Instant) -> Instant {
        if now >= self.sample_at {
            self.memory_peak = self.memory_peak.max(self.scope.memory());
            self.sample_at = now + SAMPLE;
        }
        match self.phase {
            Phase::Running(Some(limit)) if limit <= now => {
                self.timed_out = true;
                self.ask_to_end();
                now
            }
            Phase::Asked(limit) if limit <= now => {
                kill_all(&self.scope);
                self.phase = Phase::Killed;
                self.sample_at
            }
            Phase::Running(Some(limit)) | Phase::Asked(limit) => self.sample_at.min(limit),
            Phase::Running(None) | Phase::Killed => self.sample_at,
        }
    }

    /// Takes what was printed last.
    fn last_words(&mut self) {
        while self.ends < 2 {
            match self.messages.recv_timeout(LAST_WORDS) {
                Ok(Message::Output(stream, bytes)) => self.streams.take(stream, &bytes),
                Ok(Message::End) => self.ends += 1,
                Ok(Message::Exited(_)) => {}
                Err(_) => break,
            }
        }
        self.streams.finish();
    }
}
