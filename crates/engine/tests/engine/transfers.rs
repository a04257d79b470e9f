//! Export, import, backup and restore.

use crate::support::{Project, agent, claim};
use althing_engine::{Engine, EngineError, Home, transfer, verify};

fn grown() -> Project {
    let project = Project::new();
    let engine = project.open();
    for n in 0..50 {
        agent(&engine, "alice").execute(claim(&format!("f{n}"))).unwrap();
    }
    project
}

fn exported(project: &Project) -> Vec<u8> {
    let mut out = Vec::new();
    let mut log = project.open().reader().unwrap();
    transfer::export(&mut *log, &mut out, &mut |_, _| {}).unwrap();
    out
}

#[test]
fn an_imported_trail_is_the_same_trail_and_can_go_on_after_a_takeover() {
    let project = grown();
    let text = exported(&project);
    let home = Home::new(&project.folder.path().join("elsewhere"));
    let checked = transfer::import(&home, text.as_slice(), &mut |_, _| {}).unwrap();
    assert_eq!(checked.entries, project.open().world().unwrap().seq());
    let engine = Engine::open(&home, project.options()).unwrap();
    let (ours, theirs) = (engine.world().unwrap(), project.open().world().unwrap());
    assert_eq!(ours.state.image(), theirs.state.image());
    assert_eq!(ours.chain.image(), theirs.chain.image());

    engine.rekey("imported").unwrap();
    agent(&engine, "bob").execute(claim("x")).unwrap();
    drop(engine);
    let engine = Engine::open(&home, project.options()).unwrap();
    let verdict = verify::verify(
        &home,
        &mut *engine.reader().unwrap(),
        althing_trail::verify::Options { every_signature: true, ..Default::default() },
        &mut |_, _| {},
    );
    assert!(matches!(verdict.unwrap(), verify::Verdict::Sound(_)));
}

#[test]
fn a_bad_import_leaves_nothing_behind() {
    let project = grown();
    let text = exported(&project);
    let home = Home::new(&project.folder.path().join("elsewhere"));
    let altered = String::from_utf8(text.clone()).unwrap().replacen("f7", "f8", 1);
    for bad in [altered.as_bytes(), &text[..text.len() - 40], b"", b"nonsense\n"] {
        assert!(transfer::import(&home, bad, &mut |_, _| {}).is_err());
        assert!(!home.store().exists());
        let left: Vec<_> = std::fs::read_dir(home.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name != "snapshots" && name != "keys")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    transfer::import(&home, text.as_slice(), &mut |_, _| {}).unwrap();
    let again = transfer::import(&home, text.as_slice(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(again, EngineError::Invalid(_)), "what is there is never overwritten");
}

#[test]
fn a_backup_restores_and_what_it_replaces_is_set_aside() {
    let project = grown();
    let backup = project.folder.path().join("backup");
    let made = transfer::backup(&project.home, &backup, true, &mut |_, _| {}).unwrap();
    assert!(made.entries > 50);
    assert!(transfer::backup(&project.home, &backup, true, &mut |_, _| {}).is_err());

    agent(&project.open(), "alice").execute(claim("after the backup")).unwrap();
    let later = project.open().world().unwrap().seq();
    let (checked, aside) = transfer::restore(&project.home, &backup).unwrap();
    assert_eq!(checked.entries, made.entries);
    let engine = project.open();
    assert_eq!(engine.world().unwrap().seq(), made.entries);
    agent(&engine, "alice").execute(claim("goes on")).unwrap();

    let aside = Home::new(&aside.unwrap());
    let before = Engine::open(&aside, project.options()).unwrap();
    assert_eq!(before.world().unwrap().seq(), later, "nothing was lost");

    let home = Home::new(&project.folder.path().join("new machine"));
    transfer::restore(&home, &backup).unwrap();
    let engine = Engine::open(&home, project.options()).unwrap();
    agent(&engine, "alice").execute(claim("with her own key")).unwrap();
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let project = grown();
    let backup = project.folder.path().join("backup");
    transfer::backup(&project.home, &backup, false, &mut |_, _| {}).unwrap();
    let conn = rusqlite::Connection::open(backup.join("trail.db")).unwrap();
    conn.execute("UPDATE commits SET entries = replace(entries, 'f7', 'f8')", []).unwrap();
    drop(conn);
    let before = project.open().world().unwrap().seq();
    assert!(transfer::restore(&project.home, &backup).is_err());
    assert_eq!(project.open().world().unwrap().seq(), before);
}
