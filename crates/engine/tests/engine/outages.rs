//! A store that fails: the errors of callers, and the state afterwards.

use crate::support::{Project, agent, claim};
use althing_engine::engine::Engine;
use althing_engine::{EngineError, Options};
use althing_kernel::{Kind, Rule};
use althing_trail::log::sqlite::SqliteStore;
use althing_trail::log::{LogErrorKind, Store};
use althing_trail::{AppendError, Commit, Entry, Hash, Log, LogError, LogReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

const WORKS: u8 = 0;
/// Nothing is written and the caller gets an error.
const REFUSES: u8 = 1;
/// Everything is written, but the answer is lost, and reading fails too.
const LOSES_ANSWERS: u8 = 2;
/// Everything is written, the answer is lost, but reading works.
const LOSES_ANSWERS_BUT_READS: u8 = 3;
/// The queue cannot even be entered.
const LOCKED: u8 = 4;

/// A store whose failures can be switched on.
#[derive(Clone)]
struct Switchable {
    inner: Arc<SqliteStore>,
    mode: Arc<AtomicU8>,
}

struct SwitchableLog {
    inner: Box<dyn Log>,
    mode: Arc<AtomicU8>,
}

fn broken(kind: LogErrorKind) -> LogError {
    LogError::new(kind, "the disk is on fire")
}

impl Store for Switchable {
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        self.inner.reader()
    }

    fn writer(&self) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(SwitchableLog { inner: self.inner.writer()?, mode: self.mode.clone() }))
    }
}

impl LogReader for SwitchableLog {
    fn position(&mut self) -> Result<u64, LogError> {
        self.inner.position()
    }

    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.inner.tail(after, bytes)
    }

    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError> {
        if self.mode.load(Ordering::SeqCst) == LOSES_ANSWERS {
            return Err(broken(LogErrorKind::Unreadable));
        }
        self.inner.commit_of(seq)
    }

    fn head_of(&mut self, seq: u64) -> Result<Option<(u64, String)>, LogError> {
        self.inner.head_of(seq)
    }

    fn in_place(&mut self) -> Result<(), LogError> {
        self.inner.in_place()
    }

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        self.inner.subtree(start, size)
    }

    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError> {
        self.inner.watch(after, timeout)
    }
}

impl Log for SwitchableLog {
    fn hold(&mut self) -> Result<(), LogError> {
        if self.mode.load(Ordering::SeqCst) == LOCKED {
            return Err(broken(LogErrorKind::Locked));
        }
        self.inner.hold()
    }

    fn try_hold(&mut self) -> Result<bool, LogError> {
        if self.mode.load(Ordering::SeqCst) == LOCKED {
            return Err(broken(LogErrorKind::Locked));
        }
        self.inner.try_hold()
    }

    fn release(&mut self) {
        self.inner.release();
    }

    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError> {
        match self.mode.load(Ordering::SeqCst) {
            REFUSES => {
                self.release();
                Err(AppendError::Refused(broken(LogErrorKind::Unwritable)))
            }
            LOSES_ANSWERS | LOSES_ANSWERS_BUT_READS => {
                self.inner.append(expected, commit)?;
                Err(AppendError::Unknown(broken(LogErrorKind::Unwritable)))
            }
            _ => self.inner.append(expected, commit),
        }
    }

    fn commit_bytes_max(&self) -> usize {
        self.inner.commit_bytes_max()
    }
}

fn with_switch(project: &Project) -> (Engine, Arc<AtomicU8>) {
    let mode = Arc::new(AtomicU8::new(WORKS));
    let inner = Arc::new(SqliteStore { path: project.home.store().to_owned(), bytes_max: None });
    let store = Arc::new(Switchable { inner, mode: mode.clone() });
    (Engine::with_store(&project.home, project.options(), store).unwrap(), mode)
}

fn kinds(engine: &Engine) -> Vec<Kind> {
    let commits = engine.reader().unwrap().tail(0, usize::MAX).unwrap();
    let lines = commits.iter().flat_map(Commit::entries);
    lines.map(|line| Entry::read(line).unwrap().stamped.draft.event.kind()).collect()
}

/// Shows W-REC-09, W-TRAIL-03.
#[test]
fn during_an_outage_nothing_happens_and_reads_go_on() {
    let project = Project::new();
    let (engine, mode) = with_switch(&project);
    let alice = agent(&engine, "alice");
    alice.execute(claim("before")).unwrap();
    for way in [REFUSES, LOCKED] {
        mode.store(way, Ordering::SeqCst);
        for n in 0..5 {
            let error = alice.execute(claim(&format!("during/{n}"))).unwrap_err();
            assert!(matches!(error, EngineError::Unavailable(_)), "{error}");
            assert_eq!(error.rule(), Rule::StoreUnavailable);
            assert_eq!(engine.world().unwrap().state.leases().count(), 1, "reads go on");
        }
    }
    mode.store(WORKS, Ordering::SeqCst);
    alice.execute(claim("after")).unwrap();
    alice.execute(claim("and after")).unwrap();
    assert_eq!(engine.world().unwrap().state.leases().count(), 3);
    let kinds = kinds(&engine);
    let last = [Kind::SystemDegraded, Kind::LeaseOpened, Kind::LeaseOpened];
    assert_eq!(&kinds[kinds.len() - 3..], last, "the outage is on record once");
    let commits = engine.reader().unwrap().tail(0, usize::MAX).unwrap();
    let note = commits.iter().flat_map(Commit::entries).find(|line| line.contains("degraded"));
    let note: serde_json::Value = serde_json::from_str(note.unwrap()).unwrap();
    assert_eq!(note["body"]["turned_away"], 10);
    assert_eq!(note["body"]["scope"], "trail_storage");
    assert!(note["body"]["reason"].as_str().unwrap().contains("on fire"));
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::SystemDegraded).count(), 1);
}

#[test]
fn a_lost_answer_is_looked_up() {
    let project = Project::new();
    let (engine, mode) = with_switch(&project);
    mode.store(LOSES_ANSWERS_BUT_READS, Ordering::SeqCst);
    agent(&engine, "alice").execute(claim("a")).expect("it is in the log, so it happened");
    mode.store(WORKS, Ordering::SeqCst);
    agent(&engine, "alice").execute(claim("b")).unwrap();
    assert!(!kinds(&engine).contains(&Kind::SystemDegraded), "that was no outage");
}

#[test]
fn an_answer_that_cannot_be_looked_up_is_called_unconfirmed() {
    let project = Project::new();
    let (engine, mode) = with_switch(&project);
    agent(&engine, "alice").execute(claim("before")).unwrap();
    mode.store(LOSES_ANSWERS, Ordering::SeqCst);
    let error = agent(&engine, "alice").execute(claim("a")).unwrap_err();
    assert!(matches!(error, EngineError::Unconfirmed(_)), "{error}");
    mode.store(WORKS, Ordering::SeqCst);
    let error = agent(&engine, "bob").execute(claim("a")).unwrap_err();
    assert!(matches!(error, EngineError::Refused(_)), "it did happen: {error}");
}

#[test]
fn a_store_at_its_size_limit_refuses_and_recovers() {
    let project = Project::new();
    let limited = Options { store_bytes_max: Some(200 << 10), ..project.options() };
    let engine = Engine::open(&project.home, limited).unwrap();
    let alice = agent(&engine, "alice");
    let mut granted = 0;
    let error = loop {
        match alice.execute(claim(&format!("f{granted}"))) {
            Ok(_) => granted += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, EngineError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(engine.world().unwrap().state.leases().count(), granted);
    drop(engine);
    let engine = project.open();
    assert_eq!(engine.world().unwrap().state.leases().count(), granted, "nothing was lost");
    agent(&engine, "alice").execute(claim("more")).unwrap();
}

/// Shows W-REC-09.
#[test]
fn an_outage_stops_delivery_steps_and_signals() {
    let project = Project::new();
    let (engine, mode) = with_switch(&project);
    let (lead, bob) = (agent(&engine, "lead"), agent(&engine, "bob"));
    let ask = |name: &str, args: serde_json::Value| {
        althing_kernel::Command::read(name, &args.to_string()).unwrap().unwrap()
    };
    let at = |reply| serde_json::to_value(reply).unwrap()["workspace"].clone();
    bob.execute(ask("agent.register", serde_json::json!({}))).unwrap();
    let root = at(lead.execute(ask("run.start", serde_json::json!({}))).unwrap());
    let text = serde_json::json!({ "content": { "text": "do it" } });
    let create = serde_json::json!({ "agent": "bob", "role": "worker", "directive": text });
    let id = at(lead.execute(ask("workspace.create", create)).unwrap());
    let before = engine.world().unwrap().state.image();
    mode.store(REFUSES, Ordering::SeqCst);
    let send = serde_json::json!({ "workspace": root, "to": id, "type": "feedback",
        "payload": text });
    let signal = serde_json::json!({ "workspace": id, "type": "ready" });
    let pause = serde_json::json!({ "workspace": id });
    let tried = [
        lead.execute(ask("envelope.send", send)),
        bob.execute(ask("signal.emit", signal.clone())),
        lead.execute(ask("workspace.abort", pause)),
    ];
    for answer in tried {
        assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    }
    assert_eq!(engine.world().unwrap().state.image(), before);
    mode.store(WORKS, Ordering::SeqCst);
    bob.execute(ask("signal.emit", signal)).unwrap();
    let kinds = kinds(&engine);
    let noted = kinds.iter().position(|kind| *kind == Kind::SystemDegraded).unwrap();
    assert_eq!(kinds[noted + 1], Kind::SignalEmitted, "first that there was an outage");
}
