//! Tampering with the files of a project: whatever is changed, somebody notices.

use crate::support::Sandbox;
use rusqlite::Connection;
use std::path::Path;

fn grown() -> Sandbox {
    let project = Sandbox::new();
    for n in 0..6 {
        project.claim(["alice", "bob"][n % 2], &format!("src/{n}.rs"));
    }
    project
}

/// Folds the journal into the store, so that the store alone is the trail.
fn fold(store: &Path) {
    let conn = Connection::open(store).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[track_caller]
fn assert_noticed(project: &Sandbox, what: &str) -> String {
    let ran = project.run(&["trail", "verify", "--json"]);
    assert_eq!(ran.code, Some(5), "{what}: {ran:?}");
    let error = ran.error();
    assert_eq!(error["kind"], "integrity", "{what}");
    error["message"].as_str().unwrap().to_owned()
}

/// Shows W-TRAIL-24.
#[test]
fn changes_to_rows_are_noticed_and_named() {
    let cases = [
        ("UPDATE commits SET entries = replace(entries, 'src/3', 'src/4')", "local hash"),
        ("UPDATE commits SET entries = replace(entries, 'agent:bob', 'agent:eve')", "entry"),
        ("UPDATE commits SET first = first + 1 WHERE last = 5", "begins at entry"),
        (
            "UPDATE commits SET last = last + 100 WHERE last = (SELECT max(last) FROM commits)",
            "ends",
        ),
        ("DELETE FROM commits WHERE last = 5", "begins at entry"),
        ("DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)", "cut off"),
        ("DELETE FROM commits WHERE last > 1", "cut off"),
        ("DELETE FROM commits", "no entries"),
        ("UPDATE commits SET head = replace(head, 'althing/', 'althinG/') WHERE last = 5", "head"),
        (
            "UPDATE commits SET head = (SELECT head FROM commits WHERE last = 1) WHERE last = 5",
            "for 1 entries, not 5",
        ),
        (
            "UPDATE commits SET entries = (SELECT entries FROM commits WHERE last = 10) \
             WHERE last = 9",
            "sequence number",
        ),
        ("UPDATE commits SET entries = x'ff00' WHERE last = 5", "store"),
        ("UPDATE commits SET entries = '' WHERE last = 5", "not an entry"),
        ("CREATE TRIGGER t AFTER INSERT ON commits BEGIN DELETE FROM commits; END", "trigger t"),
        ("CREATE TABLE mine (x)", "table mine"),
        (
            "INSERT INTO commits SELECT -5, -5, entries, head FROM commits LIMIT 1",
            "where no commit can be",
        ),
        ("DROP TABLE commits", "was changed"),
    ];
    for (change, words) in cases {
        let project = grown();
        project.ok(&["trail", "verify"]);
        let conn = Connection::open(project.store()).unwrap();
        conn.execute_batch(change).unwrap();
        drop(conn);
        let message = assert_noticed(&project, change);
        assert!(message.contains(words), "{change}: {message}");
    }
}

#[test]
fn a_tail_cut_together_with_the_witness_is_noticed_by_a_kept_head() {
    let project = grown();
    let kept = project.path().join("kept-head");
    std::fs::write(&kept, project.ok(&["trail", "head"]).out).unwrap();
    let conn = Connection::open(project.store()).unwrap();
    conn.execute_batch("DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)").unwrap();
    drop(conn);
    std::fs::remove_file(project.state().join("trail.db-head")).unwrap();
    project.ok(&["trail", "verify"]);
    let ran = project.run(&["trail", "verify", "--head", kept.to_str().unwrap(), "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("A-TRAIL-02")));
}

#[test]
fn a_witness_that_cannot_be_read_is_no_witness_for_the_trail() {
    let project = grown();
    let witness = project.state().join("trail.db-head");
    let good = std::fs::read(&witness).unwrap();
    let mut flipped = good.clone();
    flipped[0] ^= 1;
    for content in [Vec::new(), b"nonsense".to_vec(), flipped] {
        std::fs::write(&witness, &content).unwrap();
        let ran = project.run(&["trail", "verify", "--json"]);
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("A-TRAIL-02")));
        assert_eq!(project.run(&["doctor"]).code, Some(4));
        project.ok(&["claim", "goes/on", "--as", "dave"]);
        assert_eq!(std::fs::read(&witness).unwrap(), content, "evidence is not written over");
    }
    std::fs::write(&witness, good).unwrap();
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_trail_that_was_cut_is_not_written_on() {
    let project = grown();
    let conn = Connection::open(project.store()).unwrap();
    conn.execute_batch("DELETE FROM commits WHERE last = (SELECT max(last) FROM commits)").unwrap();
    drop(conn);
    let ran = project.run(&["claim", "x", "--as", "erin", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("A-TRAIL-02")));
    project.ok(&["claims"]);
}

#[test]
fn a_trail_rewritten_with_another_key_is_noticed_by_whoever_knows_the_key() {
    let project = grown();
    let key = project.entries()[0]["body"]["runtime_key"].as_str().unwrap().to_owned();
    let forged = Sandbox::new();
    forged.claim("alice", "another story");
    for file in ["trail.db", "trail.db-wal", "trail.db-head"] {
        std::fs::copy(forged.state().join(file), project.state().join(file)).unwrap();
    }
    for args in [&["trail", "verify"][..], &["trail", "verify", "--key", &key]] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(5), "{ran:?}");
    }
    // Where the key is not, only whoever knows it can tell.
    std::fs::remove_file(project.state().join("keys/runtime.key")).unwrap();
    project.ok(&["trail", "verify"]);
    assert_eq!(project.run(&["trail", "verify", "--key", &key]).code, Some(5));
    let ran = project.run(&["claim", "x", "--as", "carol", "--json"]);
    assert_eq!(ran.error()["rule"], "A-PROJ-03", "nor does this runtime go on with it");
}

/// Any single byte of the file: either the trail does not verify any more, or the byte was not
/// part of the trail at all, and everything reads as before.
#[test]
fn every_changed_byte_of_the_store_is_noticed_or_without_effect() {
    let project = grown();
    fold(&project.store());
    let export = project.ok(&["trail", "export"]).out;
    let good = std::fs::read(project.store()).unwrap();
    let (mut noticed, mut without_effect) = (0, 0);
    let mut random: u64 = 88_172_645_463_325_252;
    for _ in 0..150 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = usize::try_from(random).unwrap() % good.len();
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (random >> 61);
        std::fs::write(project.store(), bytes).unwrap();
        let ran = project.run(&["trail", "verify"]);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        if ran.code == Some(0) {
            assert_eq!(project.ok(&["trail", "export"]).out, export, "byte {at}");
            without_effect += 1;
        } else {
            assert!(matches!(ran.code, Some(1 | 4 | 5)), "byte {at}: {ran:?}");
            noticed += 1;
        }
        for ending in ["trail.db-wal", "trail.db-shm"] {
            let _ = std::fs::remove_file(project.state().join(ending));
        }
    }
    assert!(noticed > 20 && noticed + without_effect == 150, "{noticed} {without_effect}");
}

/// The same for the bytes that are the trail: all of them are noticed.
#[test]
fn every_changed_byte_of_an_entry_or_head_is_noticed() {
    let project = grown();
    let conn = Connection::open(project.store()).unwrap();
    let rows: Vec<(i64, String, String)> = conn
        .prepare("SELECT last, entries, head FROM commits")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    for _ in 0..80 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = usize::try_from(random).unwrap();
        let (last, entries, head) = &rows[number % rows.len()];
        let (column, text) = if random >> 62 == 0 { ("head", head) } else { ("entries", entries) };
        let mut bytes = text.clone().into_bytes();
        let at = number / 1000 % bytes.len();
        bytes[at] ^= 1 << (random >> 40 & 7);
        let change = format!("UPDATE commits SET {column} = CAST(? AS TEXT) WHERE last = ?");
        conn.execute(&change, rusqlite::params![bytes, last]).unwrap();
        assert_noticed(&project, &format!("{column} of {last}, byte {at}"));
        conn.execute(&change, rusqlite::params![text.as_bytes(), last]).unwrap();
    }
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_damaged_tile_does_not_make_a_false_proof() {
    let project = Sandbox::new();
    let line = |n| format!(r#"{{"name":"lease.open","args":{{"surfaces":["f{n}"]}}}}"#);
    let lines = (0..300).map(line).collect::<Vec<_>>().join("\n");
    project.run_with(&["do", "--lines", "--as", "alice"], lines.as_bytes());
    project.ok(&["trail", "prove", "290"]);
    let conn = Connection::open(project.store()).unwrap();
    assert_eq!(conn.execute("UPDATE tiles SET root = zeroblob(32)", []).unwrap(), 1);
    drop(conn);
    let ran = project.run(&["trail", "prove", "290", "--json"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
}
