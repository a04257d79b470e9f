//! Export, import, backup and restore.

use crate::support::{Project, agent, claim, lease_of};
use althing_engine::backup::{self, Restored};
use althing_engine::{Engine, EngineError, Home, Keyring, Options, snapshot, transfer, verify};

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

fn back_up(project: &Project, with_keys: bool) -> std::path::PathBuf {
    let folder = project.folder.path().join("backup");
    backup::backup(&project.home, &folder, with_keys, &mut |_, _| {}).unwrap();
    folder
}

fn restore(project: &Project, folder: &std::path::Path) -> Result<Restored, EngineError> {
    backup::restore(&project.home, folder, &project.options(), None)
}

fn assert_sound(home: &Home, options: Options) {
    let engine = Engine::open(home, options).unwrap();
    let every = althing_trail::verify::Options { every_signature: true, ..Default::default() };
    let verdict =
        verify::verify(home, &mut *engine.reader().unwrap(), every, &mut |_, _| {}).unwrap();
    assert!(matches!(verdict, verify::Verdict::Sound(_)), "{verdict:?}");
}

/// Shows W-TRAIL-41.
#[test]
fn a_backup_restores_and_quarantines_what_it_replaces() {
    let project = grown();
    let folder = back_up(&project, true);
    let entries = project.open().world().unwrap().seq();
    let again = backup::backup(&project.home, &folder, true, &mut |_, _| {});
    assert!(matches!(again, Err(EngineError::Invalid(_))), "{again:?}");

    let lost = lease_of(agent(&project.open(), "alice").execute(claim("after it")).unwrap());
    let later = project.open().world().unwrap().seq();
    let restored = restore(&project, &folder).unwrap();
    assert_eq!(restored.checked.entries, entries);
    assert_eq!((restored.entries_before, restored.recorded), (later, true));
    let engine = project.open();
    assert_eq!(engine.world().unwrap().seq(), entries + 1, "and the entry that says so");
    let next = lease_of(agent(&engine, "bob").execute(claim("after it")).unwrap());
    assert!(next.epoch > lost.epoch, "epochs only grow, whatever is put back");
    assert_sound(&project.home, project.options());

    let aside = Home::new(&restored.aside.unwrap());
    let before = Engine::open(&aside, project.options()).unwrap();
    assert_eq!(before.world().unwrap().seq(), later, "nothing was lost");

    let home = Home::new(&project.folder.path().join("new machine"));
    backup::restore(&home, &folder, &project.options(), None).unwrap();
    let engine = Engine::open(&home, project.options()).unwrap();
    agent(&engine, "alice").execute(claim("with her own key")).unwrap();
    assert_sound(&home, project.options());
}

#[test]
fn restoring_works_wherever_the_store_is() {
    let mut project = grown();
    let folder = back_up(&project, true);
    let elsewhere = project.folder.path().join("my.trail.sqlite");
    let home = Home::new(&project.folder.path().join("other")).with_store(elsewhere.clone());
    project.home = home;
    assert!(Engine::create(&project.home, "another project", &project.options()).unwrap());
    let foreign = restore(&project, &folder).unwrap_err();
    assert!(foreign.to_string().contains("backup of project"), "{foreign}");
    for file in [elsewhere.clone(), project.home.witness()] {
        let _ = std::fs::remove_file(file);
    }
    restore(&project, &folder).unwrap();
    agent(&project.open(), "carol").execute(claim("more")).unwrap();
    let restored = restore(&project, &folder).unwrap();
    assert!(restored.aside.unwrap().join("trail.db").exists());
    assert_sound(&project.home, project.options());
}

#[test]
fn a_store_that_cannot_be_opened_is_replaced_with_its_journal() {
    let project = grown();
    let folder = back_up(&project, true);
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    std::fs::write(project.home.store(), vec![7; 40_000]).unwrap();
    std::fs::write(project.home.root().join("trail.db-wal"), "left over").unwrap();
    let restored = restore(&project, &folder).unwrap();
    assert!(restored.aside.unwrap().join("files/trail.db-wal").exists(), "the journal came along");
    agent(&project.open(), "alice").execute(claim("goes on")).unwrap();
    assert_sound(&project.home, project.options());
}

#[test]
fn engines_opened_before_a_restore_get_an_error() {
    let project = grown();
    let folder = back_up(&project, true);
    let (running, reading) = (project.open(), project.open());
    let alice = agent(&running, "alice");
    alice.execute(claim("before")).unwrap();
    reading.world().unwrap();
    restore(&project, &folder).unwrap();
    let error = alice.execute(claim("secret")).unwrap_err();
    assert_eq!(error.rule(), althing_kernel::Rule::StoreUnavailable, "{error}");
    assert!(error.to_string().contains("replaced"), "{error}");
    let held = |engine: &Engine, surface: &str| {
        let world = engine.world().unwrap();
        world.state.leases().any(|(_, lease)| lease.surfaces.as_slice()[0].as_str() == surface)
    };
    assert!(!held(&reading, "before"), "who only reads sees the new one");
    agent(&project.open(), "bob").execute(claim("secret")).unwrap();
    assert!(held(&reading, "secret"));
    alice.execute(claim("secret")).expect_err("who repeats the command sees the new one too");
    alice.execute(claim("another")).unwrap();
    drop((alice, running));
    assert_sound(&project.home, project.options());
}

#[test]
fn a_damaged_trail_is_quarantined_whole_and_its_epochs_stay_used() {
    let project = grown();
    let folder = back_up(&project, true);
    let engine = project.open();
    let mut epoch = 0;
    for n in 0..30 {
        let lease = lease_of(agent(&engine, "bob").execute(claim(&format!("b{n}"))).unwrap());
        epoch = lease.epoch;
    }
    let entries = engine.world().unwrap().seq();
    drop(engine);
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    let rot = "UPDATE commits SET entries = replace(entries, 'f7', 'f8') WHERE entries LIKE '%f7%'";
    assert!(conn.execute(rot, []).unwrap() > 0);
    drop(conn);
    let restored = restore(&project, &folder).unwrap();
    assert_eq!(restored.entries_before, entries);
    let aside = rusqlite::Connection::open(restored.aside.unwrap().join("trail.db")).unwrap();
    let kept: u64 = aside.query_row("SELECT max(last) FROM commits", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, entries, "also what could not be read");
    let next = lease_of(agent(&project.open(), "carol").execute(claim("c")).unwrap());
    assert!(next.epoch > epoch, "{} after {epoch}", next.epoch);
    assert_sound(&project.home, project.options());
}

#[test]
fn a_store_with_broken_pages_is_replaced_as_a_file() {
    let project = grown();
    let folder = back_up(&project, true);
    let epoch = lease_of(agent(&project.open(), "bob").execute(claim("later")).unwrap()).epoch;
    let conn = rusqlite::Connection::open(project.home.store()).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let root: u64 = conn
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'commits'", [], |row| {
            row.get(0)
        })
        .unwrap();
    drop(conn);
    let mut bytes = std::fs::read(project.home.store()).unwrap();
    let at = usize::try_from(root - 1).unwrap() * 4096;
    bytes[at..at + 4096].fill(0x5a);
    std::fs::write(project.home.store(), &bytes).unwrap();
    let restored = restore(&project, &folder).unwrap();
    let kept = std::fs::read(restored.aside.unwrap().join("files/trail.db")).unwrap();
    assert_eq!(kept, bytes, "evidence is kept as it was");
    let next = lease_of(agent(&project.open(), "carol").execute(claim("c")).unwrap());
    assert!(next.epoch > epoch, "{} after {epoch}", next.epoch);
    assert_sound(&project.home, project.options());
}

type Damage = fn(&Home);

#[test]
fn epochs_are_never_reused_after_a_restore() {
    let damages: [(&str, Damage); 5] = [
        ("the last rows are gone", |home| sql(home, "DELETE FROM commits WHERE last > 40")),
        ("all rows are gone", |home| sql(home, "DELETE FROM commits")),
        ("a row lies", |home| {
            let newest = "(SELECT max(last) FROM commits)";
            sql(home, &format!("UPDATE commits SET last = 1 << 62 WHERE last = {newest}"));
        }),
        ("the store is empty", |home| std::fs::write(home.store(), "").unwrap()),
        ("the store is gone", |home| std::fs::remove_file(home.store()).unwrap()),
    ];
    for (what, damage) in damages {
        let project = grown();
        let folder = back_up(&project, true);
        let engine = project.open();
        let mut epoch = 0;
        for n in 0..40 {
            let reply = agent(&engine, "bob").execute(claim(&format!("b{n}"))).unwrap();
            epoch = lease_of(reply).epoch;
        }
        drop(engine);
        sql(&project.home, "PRAGMA wal_checkpoint(TRUNCATE)");
        damage(&project.home);
        restore(&project, &folder).unwrap_or_else(|error| panic!("{what}: {error}"));
        let next = lease_of(agent(&project.open(), "carol").execute(claim("c")).unwrap());
        assert!(next.epoch > epoch, "{what}: {} after {epoch}", next.epoch);
        assert_sound(&project.home, project.options());
    }
}

fn sql(home: &Home, statement: &str) {
    rusqlite::Connection::open(home.store()).unwrap().execute_batch(statement).unwrap();
}

#[test]
fn snapshots_of_the_old_trail_are_not_used_for_the_restored_one() {
    let project = grown();
    let folder = back_up(&project, true);
    let grow = |name: &str, count: usize| {
        let engine = project.open();
        for n in 0..count {
            agent(&engine, name).execute(claim(&format!("{name}{n}"))).unwrap();
        }
    };
    grow("bob", 600);
    let id = project.open().world().unwrap().state.project().unwrap().id.clone();
    let stale = snapshot::list(&project.home, &id);
    let copies: Vec<_> = stale.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!stale.is_empty());
    restore(&project, &folder).unwrap();
    assert!(snapshot::list(&project.home, &id).is_empty());
    // Also if somebody puts the old snapshots back.
    for (path, copy) in stale.iter().zip(copies) {
        std::fs::write(path, copy).unwrap();
    }
    grow("carol", 700);
    assert_sound(&project.home, project.options());
    let newest = snapshot::read(&snapshot::list(&project.home, &id)[0]).unwrap();
    assert!(newest.state.agent(&althing_kernel::AgentName::new("bob").unwrap()).is_none());
}

#[test]
fn a_backup_without_its_key_cannot_replace_a_trail_that_gave_out_epochs() {
    let project = grown();
    let folder = back_up(&project, false);
    std::fs::remove_file(Keyring::of(&project.home).runtime_path()).unwrap();
    project.open().rekey("lost").unwrap();
    let error = restore(&project, &folder).unwrap_err();
    assert!(matches!(error, EngineError::RuntimeKey(_)), "{error}");
    agent(&project.open(), "alice").execute(claim("goes on")).unwrap();
    assert_sound(&project.home, project.options());
    let home = Home::new(&project.folder.path().join("new machine"));
    let restored = backup::restore(&home, &folder, &project.options(), None).unwrap();
    assert!(!restored.recorded);
}

#[test]
fn an_engine_on_an_unreadable_store_continues_on_the_restored_one() {
    let project = grown();
    let folder = back_up(&project, true);
    let running = project.open();
    let alice = agent(&running, "alice");
    alice.execute(claim("before")).unwrap();
    sql(&project.home, "PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::write(project.home.store(), vec![0; 40_960]).unwrap();
    restore(&project, &folder).unwrap();
    let shown = alice.execute(claim("again"));
    assert!(shown.is_err(), "it decided on what is gone");
    alice.execute(claim("again")).unwrap();
    assert!(running.world().unwrap().state.leases().count() > 0);
    drop((alice, running));
    assert_sound(&project.home, project.options());
}

#[test]
fn keys_that_differ_from_the_backup_are_quarantined() {
    let project = grown();
    let folder = back_up(&project, true);
    std::fs::remove_dir_all(project.home.root()).unwrap();
    project.home.create().unwrap();
    Keyring::of(&project.home).runtime_or_new().unwrap();
    let restored = restore(&project, &folder).unwrap();
    assert!(restored.aside.unwrap().join("runtime.key").exists());
    agent(&project.open(), "alice").execute(claim("goes on")).unwrap();
}

/// Input that is slow: a project is created while it is read.
struct Slow<'a>(&'a [u8], &'a Home, Options, bool);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.3, true) {
            assert!(Engine::create(self.1, "meanwhile", &self.2).unwrap());
        }
        self.0.read(buffer)
    }
}

#[test]
fn an_import_never_replaces_a_project_created_meanwhile() {
    let project = grown();
    let text = exported(&project);
    let home = Home::new(&project.folder.path().join("elsewhere"));
    let slow = Slow(&text, &home, project.options(), false);
    let error = transfer::import(&home, std::io::BufReader::new(slow), &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, EngineError::Invalid(_)), "{error}");
    let engine = Engine::open(&home, project.options()).unwrap();
    assert_eq!(engine.world().unwrap().state.project().unwrap().name.as_str(), "meanwhile");
}

#[test]
fn a_damaged_or_shortened_backup_is_not_restored() {
    let changes = [
        "UPDATE commits SET entries = replace(entries, 'f7', 'f8')",
        "DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)",
        "CREATE TRIGGER t AFTER INSERT ON commits BEGIN DELETE FROM commits; END",
    ];
    for change in changes {
        let project = grown();
        let folder = back_up(&project, false);
        let conn = rusqlite::Connection::open(folder.join("trail.db")).unwrap();
        conn.execute(change, []).unwrap();
        drop(conn);
        let before = project.open().world().unwrap().seq();
        let error = restore(&project, &folder).unwrap_err();
        assert_eq!(error.rule(), althing_kernel::Rule::Integrity, "{change}: {error}");
        assert_eq!(project.open().world().unwrap().seq(), before);
        agent(&project.open(), "alice").execute(claim("goes on")).unwrap();
    }
}

#[test]
fn a_backup_is_finished_while_others_write() {
    let project = grown();
    let folder = project.folder.path().join("backup");
    let mut written = 0;
    let engine = project.open();
    let alice = agent(&engine, "alice");
    let made = backup::backup(&project.home, &folder, false, &mut |_, _| {
        // Between any two steps of the copy somebody commits.
        written += 1;
        alice.execute(claim(&format!("w{written}"))).unwrap();
    });
    assert!(made.unwrap().entries >= 50 && written > 0);
}
