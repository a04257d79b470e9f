//! The tally: how many tokens agents were handed, put on record.
//!
//! Counting and recording happen in a thread of their own, after the answer went out, so reading
//! never waits for a write. Counts gather for an interval and are then recorded together, one line of
//! the ledger for each agent, kind and tool; the rest is recorded when the connection ends. Counts
//! that could not be recorded are tried again after the next interval, and at the end it is said how
//! many never were.

use althing_dialects::frugal::tokens::{TOKENIZER, count};
use althing_engine::EngineError;
use althing_kernel::Command;
use althing_kernel::blackboard::{Label, ledger};
use althing_kernel::workspace::meter::Amount;
use althing_services::{Error, Identity, Project};
use std::num::NonZeroU32;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long counts gather before they are recorded together. With many hosts on one project each
/// record takes a turn at the log away from somebody's claim, so there are few of them; a server that
/// is killed loses the counts of so long, and nothing else.
const INTERVAL: Duration = Duration::from_mins(1);
/// How many lines are kept for another attempt.
const KEPT_MAX: usize = 10_000;

/// Something that was handed to an agent.
pub(crate) struct Handed {
    pub(crate) who: Identity,
    pub(crate) kind: &'static str,
    pub(crate) tool: Option<String>,
    pub(crate) text: String,
}

/// A line of the token ledger that is not on record yet: what one agent was handed of one kind.
struct Line {
    who: Identity,
    kind: &'static str,
    tool: Option<String>,
    tokens: u64,
    messages: u32,
}

impl Line {
    fn of(handed: Handed) -> Self {
        let Handed { who, kind, tool, text } = handed;
        Line { who, kind, tool, tokens: count(&text), messages: 1 }
    }

    /// Takes in what another line says, if it is about the same.
    fn absorb(&mut self, other: &Line) -> bool {
        let same = self.who == other.who && self.kind == other.kind && self.tool == other.tool;
        if same {
            self.tokens += other.tokens;
            self.messages += other.messages;
        }
        same
    }

    fn entry(&self) -> Result<ledger::Log, Error> {
        let label = |text: &str| Label::new(text).map_err(Error::unreadable);
        Ok(ledger::Log {
            agent: None,
            kind: label(self.kind)?,
            messages: NonZeroU32::new(self.messages).filter(|count| count.get() > 1),
            msg_id: None,
            role: label(&self.who.role)?,
            task: None,
            tokenizer: Some(label(TOKENIZER)?),
            tokens: Amount::new(self.tokens),
            tool: self.tool.as_deref().map(label).transpose()?,
        })
    }
}

/// Results that were handed out without a line in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unlogged {
    /// How many results.
    pub results: usize,
    /// Why the last of them was not recorded.
    pub why: String,
}

/// The tally and its thread.
pub(crate) struct Tally {
    sender: Mutex<Option<Sender<Handed>>>,
    thread: Mutex<Option<JoinHandle<Unlogged>>>,
}

impl Tally {
    pub(crate) fn begin(project: Arc<Project>) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new().name("mcp-tally".to_owned());
        let thread = thread.spawn(move || Recorder::new(project).run(&receiver))?;
        Ok(Tally { sender: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Takes note of something that was handed out.
    pub(crate) fn note(&self, handed: Handed) {
        if let Some(sender) = &*self.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            // The thread ends only after the last sender is gone.
            if sender.send(handed).is_err() {
                tracing::warn!("what was handed out is not counted: the tally has ended");
            }
        }
    }

    /// Records what is left and says what could not be.
    pub(crate) fn end(&self) -> Unlogged {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gone = || Unlogged { results: 1, why: "the tally ended early".to_owned() };
        thread.map_or_else(Unlogged::default, |thread| thread.join().unwrap_or_else(|_| gone()))
    }
}

struct Recorder {
    project: Arc<Project>,
    waiting: Vec<Line>,
    unlogged: Unlogged,
}

impl Recorder {
    fn new(project: Arc<Project>) -> Self {
        Recorder { project, waiting: Vec::new(), unlogged: Unlogged::default() }
    }

    fn run(mut self, receiver: &Receiver<Handed>) -> Unlogged {
        let mut due: Option<Instant> = None;
        loop {
            let next = match due {
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => receiver.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(handed) => {
                    self.add(handed);
                    due.get_or_insert_with(|| Instant::now() + INTERVAL);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.record();
                    due = (!self.waiting.is_empty()).then(|| Instant::now() + INTERVAL);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if !self.waiting.is_empty() {
            self.record();
        }
        self.unlogged.results += messages(&self.waiting);
        self.unlogged
    }

    fn add(&mut self, handed: Handed) {
        let line = Line::of(handed);
        if !self.waiting.iter_mut().any(|known| known.absorb(&line)) {
            self.waiting.push(line);
        }
    }

    /// Records what waits. What cannot be recorded now stays, up to a number.
    fn record(&mut self) {
        let lines = std::mem::take(&mut self.waiting);
        let (send, receive) = channel();
        for line in lines {
            let (done, results) = (send.clone(), line.messages as usize);
            let done = Box::new(move |answer| _ = done.send((results, answer)));
            if let Err(fault) = self.submit(&line, done) {
                tracing::debug!(why = fault.message(), "the token ledger is written later");
                fault.message().clone_into(&mut self.unlogged.why);
                self.waiting.push(line);
            }
        }
        drop(send);
        for (results, answer) in receive {
            if let Err(error) = answer {
                tracing::warn!(%error, results, "what was handed out is not in the token ledger");
                self.unlogged.results += results;
                self.unlogged.why = error.to_string();
            }
        }
        if let Ok(engine) = self.project.opened() {
            engine.follow();
        }
        let over = self.waiting.len().saturating_sub(KEPT_MAX);
        let gone: Vec<Line> = self.waiting.drain(..over).collect();
        self.unlogged.results += messages(&gone);
    }

    fn submit(&self, line: &Line, done: Done) -> Result<(), Error> {
        // Counting is no reason to set a project up.
        self.project.opened()?;
        let client = self.project.client_of(&line.who)?;
        client.submit(Command::LedgerLog(line.entry()?), done)?;
        Ok(())
    }
}

fn messages(lines: &[Line]) -> usize {
    lines.iter().map(|line| line.messages as usize).sum()
}

type Done = Box<dyn FnOnce(Result<althing_kernel::Reply, EngineError>) + Send>;
