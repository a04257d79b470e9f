//! Helpers of the engine's tests.

use althing_engine::clock::Clock;
use althing_engine::{Client, Engine, Home, Options, Signing};
use althing_kernel::query::LeaseView;
use althing_kernel::{AgentName, Command, Reply, Span, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that tests move.
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(TestClock(AtomicU64::new(1_700_000_000_000_000)))
    }

    pub(crate) fn pass(&self, span: Span) {
        self.0.fetch_add(span.micros(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// A project in a folder of its own.
pub(crate) struct Project {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) home: Home,
    pub(crate) clock: Arc<TestClock>,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(&folder.path().join("state"));
        let project = Project { folder, home, clock: TestClock::new() };
        assert!(Engine::create(&project.home, "test", &project.options()).unwrap());
        project
    }

    pub(crate) fn options(&self) -> Options {
        Options { clock: self.clock.clone(), ..Options::default() }
    }

    pub(crate) fn open(&self) -> Engine {
        Engine::open(&self.home, self.options()).unwrap()
    }
}

pub(crate) fn agent(engine: &Engine, name: &str) -> Client {
    let credential = engine.agent(&AgentName::new(name).unwrap()).unwrap();
    engine.client(credential, Signing::Each)
}

pub(crate) fn claim(surface: &str) -> Command {
    let args = serde_json::json!({ "surfaces": [surface], "ttl_s": 600 });
    Command::read("lease.open", &args.to_string()).unwrap().unwrap()
}

pub(crate) fn release(lease: &LeaseView) -> Command {
    let args = serde_json::json!({ "lease": lease.lease });
    Command::read("lease.release", &args.to_string()).unwrap().unwrap()
}

pub(crate) fn lease_of(reply: Reply) -> LeaseView {
    match reply {
        Reply::Lease(lease) => lease,
        other => panic!("not a lease: {other:?}"),
    }
}
