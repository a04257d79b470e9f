//! Opening projects: snapshots, keys, damage.

use crate::support::{Project, agent, claim};
use althing_engine::{Engine, EngineError, Keyring, snapshot, verify};
use althing_kernel::{AgentName, Rule};
use althing_trail::verify::Options as VerifyOptions;

fn grow(project: &Project, commands: usize) {
    let engine = project.open();
    for n in 0..commands {
        let done = Box::new(|answer: althing_engine::queue::Answer| assert!(answer.is_ok()));
        agent(&engine, "alice").submit(claim(&format!("f{n}")), done).unwrap();
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

#[test]
fn a_project_opened_from_a_snapshot_is_the_replayed_one() {
    let project = Project::new();
    grow(&project, 2_500);
    let snapshots = snapshot::list(&project.home);
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
    let foreign = snapshot::list(&other.home).remove(0);
    let own = snapshot::list(&project.home).remove(0);
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
fn a_snapshot_that_tells_another_story_is_found_by_verification() {
    let project = Project::new();
    grow(&project, 1_500);
    let path = snapshot::list(&project.home).remove(0);
    let world = snapshot::read(&path).unwrap();
    // A sound snapshot of a state without the leases, at the same place in the trail.
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

    engine.rekey("the key was lost").unwrap();
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
fn a_runtime_that_was_taken_over_from_writes_no_more() {
    let project = Project::new();
    let old = project.open();
    agent(&old, "alice").execute(claim("a")).unwrap();
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    project.open().rekey("moved").unwrap();
    let error = agent(&old, "alice").execute(claim("b")).unwrap_err();
    assert!(matches!(error, EngineError::RuntimeKey(_)), "{error}");
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
