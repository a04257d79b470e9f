//! Recovery after a crash: the next writer completes what was left, once, and quarantines damage. A
//! crashed writer is a registration that nobody has locked, as a killed process leaves it.

use crate::support::{Project, TestClock, agent, claim};
use althing_engine::recovery::repair;
use althing_engine::{
    Blobs, Engine, EngineError, Options, backup, snapshot, transfer, writer_registry,
};
use althing_kernel::{Command, Event, Kind, Rule, Span};
use althing_trail::log::sqlite::SqliteReader;
use althing_trail::{Commit, Entry, LogReader as _};
use rusqlite::Connection;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

impl Project {
    /// Registers a writer that was killed.
    fn kill(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.home.writers()).unwrap();
        let path = self.home.writers().join(name);
        // No process has this id.
        std::fs::write(&path, "4294967295").unwrap();
        path
    }

    fn entries(&self) -> Vec<Entry> {
        let commits = SqliteReader::open(self.home.store()).unwrap().tail(0, usize::MAX).unwrap();
        let lines = commits.iter().flat_map(Commit::entries);
        lines.map(|line| Entry::read(line).unwrap()).collect()
    }

    fn count(&self, kind: Kind) -> usize {
        let entries = self.entries();
        entries.iter().filter(|entry| entry.stamped.draft.event.kind() == kind).count()
    }

    fn grow(&self, commands: usize) {
        let engine = self.open();
        for n in 0..commands {
            let done = Box::new(|answer: althing_engine::queue::Answer| assert!(answer.is_ok()));
            agent(&engine, "alice").submit(claim(&format!("f{n}")), done).unwrap();
        }
        agent(&engine, "alice").execute(claim("last")).unwrap();
    }

    fn change(&self, statement: &str) {
        let conn = Connection::open(self.home.store()).unwrap();
        assert_eq!(conn.execute(statement, []).unwrap(), 1);
    }
}

/// Longest time a repair waits for the lock on archives.
const PATIENCE: Duration = Duration::from_secs(5);
const FIRST: &str = "00000000000000aa";
const SECOND: &str = "00000000000000bb";

#[test]
fn a_normal_end_removes_the_registration_and_running_writers_are_not_recovered() {
    let project = Project::new();
    let (one, other) = (project.open(), project.open());
    agent(&one, "alice").execute(claim("a")).unwrap();
    agent(&other, "bob").execute(claim("b")).unwrap();
    assert_eq!(std::fs::read_dir(project.home.writers()).unwrap().count(), 2);
    assert_eq!(writer_registry::crashed_writers(&project.home).unwrap(), []);
    drop((one, other));
    assert_eq!(std::fs::read_dir(project.home.writers()).unwrap().count(), 0);
    assert_eq!(project.count(Kind::RecoveryCompleted), 0);
}

/// Shows W-REC-06, W-REC-07.
#[test]
fn a_crash_is_recorded_once_however_often_recovery_is_interrupted() {
    let project = Project::new();
    project.grow(3);
    project.kill(FIRST);
    project.open().world().unwrap();
    assert_eq!(project.count(Kind::RecoveryCompleted), 0, "reading recovers nothing");
    agent(&project.open(), "bob").execute(claim("b")).unwrap();
    assert_eq!(project.count(Kind::RecoveryCompleted), 1);
    assert_eq!(writer_registry::crashed_writers(&project.home).unwrap(), []);
    // The recovering process was killed before it could remove the crashed writer from the
    // registry.
    project.kill(FIRST);
    agent(&project.open(), "bob").execute(claim("c")).unwrap();
    assert_eq!(project.count(Kind::RecoveryCompleted), 1, "that death is known");
    assert_eq!(writer_registry::crashed_writers(&project.home).unwrap(), []);
    project.kill(FIRST);
    project.kill(SECOND);
    agent(&project.open(), "bob").execute(claim("d")).unwrap();
    assert_eq!(project.count(Kind::RecoveryCompleted), 2, "the one who recovered, and only that");
    let entries = project.entries();
    let last = entries.iter().rev().find_map(|entry| match &entry.stamped.draft.event {
        Event::RecoveryCompleted(body) => Some(body.clone()),
        _ => None,
    });
    let named = last.unwrap().writers;
    assert_eq!(named, [althing_kernel::text::Text::lossy(SECOND)]);
}

/// Shows W-REC-07.
#[test]
fn of_many_writers_one_recovers_and_the_others_wait() {
    let project = Project::new();
    project.grow(300);
    project.kill(FIRST);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let project = &project;
            scope.spawn(move || {
                let engine = project.open();
                agent(&engine, &format!("agent{n}")).execute(claim(&format!("g{n}"))).unwrap();
            });
        }
    });
    let kinds: Vec<Kind> =
        project.entries().iter().map(|entry| entry.stamped.draft.event.kind()).collect();
    let recovered = kinds.iter().position(|kind| *kind == Kind::RecoveryCompleted).unwrap();
    let registered = kinds.iter().rposition(|kind| *kind == Kind::AgentRegistered).unwrap();
    assert_eq!(project.count(Kind::RecoveryCompleted), 1);
    assert!(recovered < registered, "before anything was served");
}

/// Shows W-CLK-05, W-CLK-10.
#[test]
fn a_machine_whose_clock_went_back_goes_on_above_the_largest_stamp() {
    let project = Project::new();
    project.clock.pass(Span::from_secs(1_000));
    project.grow(3);
    let before = project.entries().last().unwrap().stamped.at;
    project.kill(FIRST);
    let late = Options { clock: TestClock::new(), ..project.options() };
    let engine = Engine::open(&project.home, late).unwrap();
    agent(&engine, "bob").execute(claim("b")).unwrap();
    let entries = project.entries();
    assert!(
        entries.iter().any(|entry| entry.stamped.draft.event.kind() == Kind::RecoveryCompleted)
    );
    let stamps: Vec<_> = entries.iter().map(|entry| entry.stamped.at).collect();
    assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(stamps.iter().filter(|at| **at > before).count() >= 2);
}

/// Entries that were examined once are not examined again.
#[test]
fn recovery_examines_only_new_entries() {
    let project = Project::new();
    project.grow(30);
    let examined = |name| {
        project.kill(name);
        agent(&project.open(), "bob").execute(claim(name)).unwrap();
        let entries = project.entries();
        let found = entries.iter().rev().find_map(|entry| match &entry.stamped.draft.event {
            Event::RecoveryCompleted(body) => Some(body.trail_entries_examined),
            _ => None,
        });
        found.unwrap()
    };
    let first = examined(FIRST);
    assert!(first > 30, "{first}");
    let second = examined(SECOND);
    assert!((1..10).contains(&second), "{second}");
}

/// Shows W-REC-02.
#[test]
fn a_damaged_trail_is_not_recovered() {
    let project = Project::new();
    project.grow(5);
    project.change(
        "UPDATE commits SET entries = replace(entries, '\"f3\"', '\"f4\"') WHERE last = \
         (SELECT max(last) FROM commits WHERE entries LIKE '%\"f3\"%')",
    );
    agent(&project.open(), "bob").execute(claim("b")).unwrap();
    let marker = project.kill(FIRST);
    let count = project.entries().len();
    for _ in 0..2 {
        let error = agent(&project.open(), "bob").execute(claim("c")).unwrap_err();
        assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
        assert_eq!(error.rule(), Rule::Integrity);
    }
    assert_eq!(project.entries().len(), count, "nothing was written");
    assert!(marker.exists(), "it is still to be recovered from");
    assert!(project.open().recovery_plan().is_err());
}

fn message(root: &str, to: &str, text: &str) -> Command {
    let args = json!({ "workspace": root, "to": to, "type": "feedback",
        "payload": { "content": { "text": text } } });
    Command::read("envelope.send", &args.to_string()).unwrap().unwrap()
}

fn workspace(reply: althing_kernel::Reply) -> String {
    serde_json::to_value(reply).unwrap()["workspace"].as_str().unwrap().to_owned()
}

/// Shows W-REC-02, W-ID-11.
#[test]
fn damaged_files_are_quarantined_and_missing_ones_reported() {
    let project = Project::new();
    project.grow(600);
    let engine = project.open();
    let (lead, worker) = (agent(&engine, "lead"), agent(&engine, "carol"));
    worker.execute(Command::read("agent.register", "{}").unwrap().unwrap()).unwrap();
    let start = Command::read("run.start", "{}").unwrap().unwrap();
    let root = workspace(lead.execute(start).unwrap());
    let create = json!({ "agent": "carol", "role": "worker",
        "directive": { "content": { "text": "do it" } } });
    let create = Command::read("workspace.create", &create.to_string()).unwrap().unwrap();
    let id = workspace(lead.execute(create).unwrap());
    lead.execute(message(&root, &id, "to be damaged")).unwrap();
    lead.execute(message(&root, &id, "to go missing")).unwrap();
    drop((lead, worker, engine));

    let blobs = Blobs::of(&project.home);
    let damaged = blobs.path(&blobs.put(b"to be damaged").unwrap());
    std::fs::write(&damaged, "something else").unwrap();
    std::fs::remove_file(blobs.path(&blobs.put(b"to go missing").unwrap())).unwrap();
    let id = project.open().world().unwrap().state.project().unwrap().id.clone();
    let snap = snapshot::list(&project.home, &id).remove(0);
    let mut bytes = std::fs::read(&snap).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&snap, bytes).unwrap();
    project.change("UPDATE tiles SET root = zeroblob(32) WHERE number = 0");
    let unfinished = project.home.root().join("trail.db-head-new-4294967295-0");
    std::fs::write(&unfinished, "half").unwrap();
    let kept = project.home.root().join("trail.db-head-new-1-0");
    std::fs::write(&kept, "of somebody else").unwrap();

    project.kill(FIRST);
    let planned = project.open().recovery_plan().unwrap();
    assert_eq!((planned.found.len(), planned.completed.is_none()), (5, true), "{planned:?}");
    assert!(damaged.exists() && unfinished.exists(), "looking changes nothing");
    agent(&project.open(), "bob").execute(claim("b")).unwrap();
    assert!(!damaged.exists() && !unfinished.exists() && kept.exists());
    assert_eq!(SqliteReader::open(project.home.store()).unwrap().damaged_tiles(0).unwrap(), []);
    let shown: Vec<_> = project
        .entries()
        .iter()
        .filter_map(|entry| match &entry.stamped.draft.event {
            Event::IntegrityViolation(body) => Some(serde_json::to_value(body).unwrap()),
            _ => None,
        })
        .collect();
    let words = |field: &str, value: &str| shown.iter().filter(|own| own[field] == value).count();
    assert_eq!((words("action_taken", "quarantined"), words("action_taken", "flagged")), (3, 1));
    assert_eq!((words("subject_type", "envelope"), words("subject_type", "trail_entry")), (2, 2));
    let completed = project.entries().iter().find_map(|entry| match &entry.stamped.draft.event {
        Event::RecoveryCompleted(body) => Some(body.clone()),
        _ => None,
    });
    assert_eq!(completed.unwrap().quarantined_entries, 4);
    let aside = project.home.quarantine();
    let aside = std::fs::read_dir(aside).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_dir(aside).unwrap().count(), 4, "nothing was thrown away");

    // A second full examination finds nothing that is not on record already.
    let count = project.entries().len();
    let again = project.open().recover(&[]).unwrap();
    assert!(!again.is_needed() && again.completed.is_none(), "{again:?}");
    assert_eq!(project.entries().len(), count);
}

/// Shows W-REC-02.
#[test]
fn a_damaged_entry_is_repaired_from_an_identical_copy() {
    let project = Project::new();
    project.grow(20);
    let folder = project.folder.path().join("copy");
    backup::backup(&project.home, &folder, false, &mut |_, _| {}).unwrap();
    let file = project.folder.path().join("trail.jsonl");
    let mut log = SqliteReader::open(project.home.store()).unwrap();
    let mut out = std::fs::File::create(&file).unwrap();
    transfer::export(&mut log, &mut out, &mut |_, _| {}).unwrap();
    agent(&project.open(), "bob").execute(claim("later than the copy")).unwrap();
    let (before, state) = (project.entries(), project.open().world().unwrap().state.image());
    for copy in [&folder, &file] {
        // Damaged once so that it can still be parsed, and once so that nothing can be replayed.
        for change in ["replace(entries, '\"f3\"', '\"f4\"')", "replace(entries, '{', '')"] {
            project.change(&format!(
                "UPDATE commits SET entries = {change} WHERE last = \
                 (SELECT max(last) FROM commits WHERE entries LIKE '%\"f3\"%')"
            ));
            let repaired = repair::repair(&project.home, copy, PATIENCE).unwrap();
            assert_eq!(repaired.len(), 1);
            assert!(repaired[0].aside.exists());
            let report = project.open().recover(&repaired).unwrap();
            assert_eq!(report.completed.unwrap().quarantined_entries, 1);
            assert!(
                repair::repair(&project.home, copy, PATIENCE).unwrap().is_empty(),
                "all is well"
            );
        }
    }
    let entries = project.entries();
    let same = |(a, b): (&Entry, &Entry)| a.hash == b.hash && a.stamped == b.stamped;
    assert!(entries.iter().zip(&before).all(same), "the very same entries");
    assert_eq!(project.count(Kind::IntegrityViolation), 4);
    let leases = |image: &althing_kernel::state::Image| {
        serde_json::to_value(image).unwrap()["leases"].clone()
    };
    assert_eq!(leases(&project.open().world().unwrap().state.image()), leases(&state));
}

#[test]
fn a_copy_with_other_entries_is_not_trusted() {
    let project = Project::new();
    project.grow(20);
    let folder = project.folder.path().join("copy");
    backup::backup(&project.home, &folder, false, &mut |_, _| {}).unwrap();
    let damage = "UPDATE commits SET entries = replace(entries, '\"f3\"', '\"f4\"') WHERE last = \
                  (SELECT max(last) FROM commits WHERE entries LIKE '%\"f3\"%')";
    project.change(damage);
    let bytes = std::fs::read(project.home.store()).unwrap();
    let copy = Connection::open(folder.join("trail.db")).unwrap();
    let other = damage.replace("'\"f4\"'", "'\"f5\"'");
    assert_eq!(copy.execute(&other, []).unwrap(), 1);
    let error = repair::repair(&project.home, &folder, PATIENCE).unwrap_err();
    assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
    assert_eq!(std::fs::read(project.home.store()).unwrap(), bytes, "nothing was changed");
    assert!(!project.home.quarantine().exists());
}
