//! Opening projects: snapshots, keys, damage.

use crate::support::{Project, agent, claim};
use althing_engine::{Engine, EngineError, Keyring, snapshot, verify};
use althing_kernel::{AgentName, Rule};
use althing_trail::verify::Options as VerifyOptions;

fn grow(project: &Project, commands: usize) {
    let engine = project.open();
    for n in 0..commands {
        let done = Box::new(|answer: althing_engine::queue::Answer| assert!(answer.is_ok()));
        // A session may hold a limited number of leases.
        let name = if n < 900 { "alice".to_owned() } else { format!("agent{}", n / 900) };
        agent(&engine, &name).submit(claim(&format!("f{n}")), done).unwrap();
    }
    agent(&engine, "alice").execute(claim("last")).unwrap();
}

#[test]
fn setting_up_twice_changes_nothing() {
    let project = Project::new();
    let before = project.open().world().unwrap().seq();
    assert!(!Engine::create(&project.home, "again", &project.options()).unwrap());
    let engine = project.open();
    assert_eq!(engine.world().unwrap().seq(), before);
    assert_eq!(engine.world().unwrap().state.project().unwrap().name.as_str(), "test");
}

#[test]
fn many_at_once_set_up_one_project() {
    let folder = tempfile::tempdir().unwrap();
    let home = althing_engine::Home::new(folder.path());
    let options = althing_engine::Options::default();
    let made: usize = std::thread::scope(|scope| {
        let make = || usize::from(Engine::create(&home, "p", &options).unwrap());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, 1);
    assert_eq!(Engine::open(&home, options).unwrap().world().unwrap().seq(), 1);
}

fn snapshots(project: &Project) -> Vec<std::path::PathBuf> {
    let id = project.open().world().unwrap().state.project().unwrap().id.clone();
    snapshot::list(&project.home, &id)
}

#[test]
fn a_snapshot_spares_reading_what_it_covers() {
    let project = Project::new();
    grow(&project, 600);
    let covered = snapshot::read(&snapshots(&project)[0]).unwrap().seq();
    let all = project.open().world().unwrap().seq();
    // Entries before a snapshot are not read: the project opens without the commits in the middle.
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    let gone = conn.execute("DELETE FROM commits WHERE first > 1 AND last < ?", [covered]).unwrap();
    assert!(gone > 0 && covered > 250, "{gone} commits before {covered}");
    assert_eq!(project.open().world().unwrap().seq(), all);
}

#[test]
fn of_many_processes_one_takes_a_snapshot_for_all() {
    let project = Project::new();
    let waiting = project.open();
    grow(&project, 600);
    let taken = snapshots(&project);
    assert_eq!(taken.len(), 1);
    // This engine has not written yet, so all of that is new to it. It has time for deferred work,
    // and relies on the snapshot that the other took.
    agent(&waiting, "bob").execute(claim("other")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(snapshots(&project), taken);
}

/// Shows W-REC-07.
#[test]
fn a_project_opened_from_a_snapshot_is_the_replayed_one() {
    let project = Project::new();
    grow(&project, 2_500);
    let snapshots = snapshots(&project);
    assert!(!snapshots.is_empty());
    let from_snapshot = project.open().world().unwrap();
    for path in &snapshots {
        std::fs::remove_file(path).unwrap();
    }
    let replayed = project.open().world().unwrap();
    assert_eq!(from_snapshot.state.image(), replayed.state.image());
    assert_eq!(from_snapshot.chain.image(), replayed.chain.image());
}

#[test]
fn damaged_and_foreign_snapshots_are_ignored() {
    let project = Project::new();
    grow(&project, 1_500);
    let expected = project.open().world().unwrap().state.image();
    let other = Project::new();
    grow(&other, 1_800);
    let foreign = snapshots(&other).remove(0);
    let own = snapshots(&project).remove(0);
    let good = std::fs::read(&own).unwrap();
    let mut variants: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"nonsense".to_vec(),
        good[..good.len() / 2].to_vec(),
        std::fs::read(foreign).unwrap(),
    ];
    for at in [0, 20, 60, good.len() / 2, good.len() - 1] {
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        variants.push(flipped);
    }
    for content in variants {
        std::fs::write(&own, content).unwrap();
        assert_eq!(project.open().world().unwrap().state.image(), expected);
    }
}

#[test]
fn verification_finds_a_snapshot_that_differs_from_the_trail() {
    let project = Project::new();
    grow(&project, 1_500);
    let path = snapshots(&project).remove(0);
    let world = snapshot::read(&path).unwrap();
    // A valid snapshot of a state without the leases, at the same position of the trail.
    let mut forged = world.clone();
    forged.state = {
        let mut state = althing_kernel::State::default();
        let commit = project.open().reader().unwrap().tail(0, 1).unwrap().remove(0);
        let entry = althing_trail::Entry::read(commit.entries().next().unwrap()).unwrap();
        state.apply(&entry.stamped).unwrap();
        state
    };
    snapshot::save(&project.home, &forged).unwrap();
    let mut log = project.open().reader().unwrap();
    let verdict =
        verify::verify(&project.home, &mut *log, VerifyOptions::default(), &mut |_, _| {}).unwrap();
    assert!(matches!(verdict, verify::Verdict::BadSnapshot(_)), "{verdict:?}");
}

#[test]
fn an_agent_whose_key_is_elsewhere_cannot_be_impersonated_here() {
    let project = Project::new();
    grow(&project, 1);
    for file in Keyring::of(&project.home).files().unwrap() {
        if file.file_name().unwrap().to_string_lossy().starts_with("agent-") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let engine = project.open();
    let error = engine.agent(&AgentName::new("alice").unwrap()).unwrap_err();
    assert_eq!(error.rule(), Rule::AgentKeyBound);
    assert!(Keyring::of(&project.home).agent(&AgentName::new("alice").unwrap()).unwrap().is_none());
}

#[test]
fn without_the_runtimes_key_a_trail_can_be_read_and_taken_over_on_the_record() {
    let project = Project::new();
    grow(&project, 3);
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    let engine = project.open();
    assert_eq!(engine.world().unwrap().state.leases().count(), 4);
    let error = agent(&engine, "bob").execute(claim("x")).unwrap_err();
    assert_eq!(error.rule(), Rule::RuntimeKeyKnown);

    assert!(engine.rekey("  ").is_err(), "a takeover has a reason");
    assert!(engine.rekey("the key was lost").unwrap());
    assert!(!engine.rekey("again").unwrap(), "there is nothing left to take over");
    agent(&engine, "bob").execute(claim("x")).unwrap();
    drop(engine);
    let mut log = project.open().reader().unwrap();
    let options = VerifyOptions { every_signature: true, ..VerifyOptions::default() };
    match verify::verify(&project.home, &mut *log, options, &mut |_, _| {}).unwrap() {
        verify::Verdict::Sound(report) => assert_eq!(report.trail.keys.len(), 2),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_runtime_whose_trail_was_taken_over_writes_no_more() {
    let project = Project::new();
    let old = project.open();
    agent(&old, "alice").execute(claim("a")).unwrap();
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    project.open().rekey("moved").unwrap();
    let error = agent(&old, "alice").execute(claim("b")).unwrap_err();
    assert!(matches!(error, EngineError::RuntimeKey(_)), "{error}");
}

#[test]
fn a_takeover_comes_before_everything_that_is_overdue() {
    let project = Project::new();
    let engine = project.open();
    for name in ["alice", "bob", "carol"] {
        for n in 0..900 {
            agent(&engine, name).execute(claim(&format!("{name}{n}"))).unwrap();
        }
    }
    drop(engine);
    project.clock.pass(althing_kernel::Span::from_secs(100_000));
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    assert!(project.open().rekey("lost").unwrap());
    agent(&project.open(), "alice").execute(claim("x")).unwrap();
    let mut log = project.open().reader().unwrap();
    let options = VerifyOptions { every_signature: true, ..VerifyOptions::default() };
    let verdict = verify::verify(&project.home, &mut *log, options, &mut |_, _| {}).unwrap();
    assert!(matches!(verdict, verify::Verdict::Sound(_)), "{verdict:?}");
}

#[test]
fn verification_with_the_key_finds_a_takeover() {
    let project = Project::new();
    grow(&project, 3);
    let own = std::fs::read(Keyring::of(&project.home).runtime_path()).unwrap();
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    project.open().rekey("I was never here").unwrap();
    std::fs::write(Keyring::of(&project.home).runtime_path(), own).unwrap();
    let mut log = project.open().reader().unwrap();
    let verdict =
        verify::verify(&project.home, &mut *log, VerifyOptions::default(), &mut |_, _| {}).unwrap();
    assert!(matches!(verdict, verify::Verdict::Bad(_)), "{verdict:?}");
}

#[test]
fn a_clock_beyond_the_year_2200_is_refused() {
    let project = Project::new();
    grow(&project, 1);
    let before = project.open().world().unwrap().seq();
    project.clock.pass(althing_kernel::Span::from_secs(8_000_000_000));
    let error = agent(&project.open(), "alice").execute(claim("x")).unwrap_err();
    assert!(matches!(error, EngineError::Clock(_)), "{error}");
    assert_eq!(project.open().world().unwrap().seq(), before);
}

#[test]
fn setting_up_again_changes_nothing_even_without_keys() {
    let project = Project::new();
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    assert!(!Engine::create(&project.home, "again", &project.options()).unwrap());
    assert!(Keyring::of(&project.home).runtime().unwrap().is_none(), "no other key took its place");
}

#[test]
fn a_trail_without_its_remembered_head_is_not_written() {
    let project = Project::new();
    grow(&project, 5);
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    conn.execute("DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)", []).unwrap();
    drop(conn);
    for file in snapshots(&project) {
        std::fs::remove_file(file).unwrap();
    }
    let kept = std::fs::read(project.home.witness()).unwrap();
    let error = agent(&project.open(), "alice").execute(claim("x")).unwrap_err();
    assert!(matches!(error, EngineError::CutOff { .. }), "{error}");
    assert_eq!(std::fs::read(project.home.witness()).unwrap(), kept, "the evidence stays");
    std::fs::remove_file(project.home.store()).unwrap();
    let error = Engine::create(&project.home, "anew", &project.options()).unwrap_err();
    assert!(matches!(error, EngineError::CutOff { .. }), "{error}");
}

#[test]
fn a_running_writer_stops_at_a_damaged_entry_and_does_not_step_over_it() {
    let project = Project::new();
    let engine = project.open();
    let alice = agent(&engine, "alice");
    alice.execute(claim("a")).unwrap();
    // Another process appends an impossible entry.
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    let copy = "INSERT INTO commits (last, first, entries, head) \
                SELECT last + 1, last + 1, entries, head FROM commits ORDER BY last DESC LIMIT 1";
    assert_eq!(conn.execute(copy, []).unwrap(), 1);
    for _ in 0..3 {
        let error = alice.execute(claim("b")).unwrap_err();
        assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
    }
    let rows: i64 = conn.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).unwrap();
    conn.execute("DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)", []).unwrap();
    assert_eq!(rows, 3, "nothing was appended after it");
    alice.execute(claim("b")).unwrap();
}

#[test]
fn a_damaged_trail_is_not_opened_as_if_nothing_were_wrong() {
    let project = Project::new();
    grow(&project, 5);
    let store = project.home.store();
    let conn = rusqlite::Connection::open(store).unwrap();
    let change = "UPDATE commits SET entries = replace(entries, 'f3', 'f4') WHERE last = \
                  (SELECT max(last) FROM commits WHERE entries LIKE '%f3%')";
    assert_eq!(conn.execute(change, []).unwrap(), 1);
    conn.execute("DELETE FROM commits WHERE last = 1", []).unwrap();
    let error = Engine::open(&project.home, project.options()).err().unwrap();
    assert!(matches!(error, EngineError::Damaged { .. }), "{error}");
    assert_eq!(error.rule(), Rule::Integrity);
}
