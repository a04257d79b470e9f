//! The contract of every log, tested on each implementation.

use crate::support::sample;
use althing_trail::log::memory::MemoryLog;
use althing_trail::log::sqlite::{SqliteLog, SqliteReader, SqliteStore};
use althing_trail::log::{LogErrorKind, LogLeaves};
use althing_trail::tree::Leaves as _;
use althing_trail::{AppendError, Commit, Log, LogReader as _, Store};
use std::path::Path;
use std::time::Duration;

fn each_log(check: impl Fn(&dyn Store, Box<dyn Log>)) {
    let memory = MemoryLog::default();
    check(&memory, memory.writer().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore { path: folder.path().join("trail.db"), bytes_max: None };
    drop(SqliteLog::create(&store.path).unwrap());
    check(&store, store.writer().unwrap());
}

fn fill(log: &mut dyn Log, commits: &[Commit]) {
    for commit in commits {
        log.append(commit.first - 1, commit).unwrap();
    }
}

#[test]
fn a_log_returns_what_was_appended() {
    let commits = sample(20).commits;
    each_log(|store, mut log| {
        assert_eq!(log.position().unwrap(), 0);
        assert!(log.tail(0, 1 << 20).unwrap().is_empty());
        fill(&mut *log, &commits);
        assert_eq!(log.position().unwrap(), commits.last().unwrap().last);
        assert_eq!(log.tail(0, usize::MAX).unwrap(), commits);
        assert_eq!(store.reader().unwrap().tail(0, usize::MAX).unwrap(), commits);
        for (n, commit) in commits.iter().enumerate() {
            assert_eq!(log.tail(commit.last, usize::MAX).unwrap(), commits[n + 1..]);
            for seq in commit.first..=commit.last {
                assert_eq!(log.commit_of(seq).unwrap().as_ref(), Some(commit));
            }
        }
        assert_eq!(log.commit_of(commits.last().unwrap().last + 1).unwrap(), None);
        assert_eq!(log.tail(0, 1).unwrap(), commits[..1], "at least one, however large");
    });
}

/// One command may end thousands of workspaces; that is one commit, whatever its size.
#[test]
fn a_commit_of_one_large_command_is_taken() {
    let mut grower = crate::support::Grower::new();
    let long = "x/".repeat(100);
    let claims: Vec<_> = (0..25_000)
        .map(|n| {
            let who = format!("agent{}", n / 900);
            (crate::support::agent(&who), crate::support::claim(&format!("{long}{n}")), false)
        })
        .collect();
    let large = grower.commit(&claims).clone();
    assert!(large.bytes() > 17 << 20, "{}", large.bytes());
    each_log(|_, mut log| {
        fill(&mut *log, &grower.commits);
        assert_eq!(log.commit_of(large.last).unwrap().as_ref(), Some(&large));
    });
}

/// Shows W-TRAIL-09.
#[test]
fn appending_is_a_compare_and_set() {
    let commits = sample(3).commits;
    each_log(|_, mut log| {
        fill(&mut *log, &commits[..2]);
        for wrong in [0, commits[0].last, commits[2].last] {
            assert_eq!(log.append(wrong, &commits[2]), Err(AppendError::Conflict));
        }
        assert_eq!(log.tail(0, usize::MAX).unwrap(), commits[..2], "nothing was written");
        log.append(commits[1].last, &commits[2]).unwrap();
    });
}

#[test]
fn holding_and_releasing_changes_nothing() {
    let commits = sample(2).commits;
    each_log(|_, mut log| {
        log.hold().unwrap();
        log.hold().unwrap();
        log.release();
        log.release();
        log.hold().unwrap();
        assert_eq!(log.position().unwrap(), 0, "whoever holds can read");
        log.append(0, &commits[0]).unwrap();
        log.append(commits[0].last, &commits[1]).unwrap();
        assert_eq!(log.tail(0, usize::MAX).unwrap(), commits[..2]);
    });
}

#[test]
fn subtrees_are_those_of_the_tree() {
    let grower = sample(700);
    let size = grower.chain.seq();
    assert!(size > 700, "{size}");
    let hashes: Vec<_> = grower
        .commits
        .iter()
        .flat_map(Commit::entries)
        .map(|line| althing_trail::Entry::read(line).unwrap().hash)
        .collect();
    each_log(|_, mut log| {
        fill(&mut *log, &grower.commits);
        let mut subtree = 1;
        while subtree <= size {
            for start in (0..=size - subtree).step_by(usize::try_from(subtree).unwrap().max(97)) {
                let start = start - start % subtree;
                let expected = hashes.as_slice().subtree(start, subtree).unwrap();
                let found = LogLeaves(&mut *log).subtree(start, subtree).unwrap();
                assert_eq!(found, expected, "{subtree} from {start}");
            }
            subtree *= 2;
        }
    });
}

#[test]
fn a_watcher_wakes_only_for_new_commits() {
    let commits = sample(1).commits;
    each_log(|store, mut log| {
        let mut reader = store.reader().unwrap();
        assert!(!reader.watch(0, Duration::from_millis(30)).unwrap());
        let waiting = std::thread::spawn(move || reader.watch(0, Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(30));
        log.append(0, &commits[0]).unwrap();
        assert!(waiting.join().unwrap().unwrap());
    });
}

#[test]
fn writers_of_one_file_queue_and_one_wins_each_position() {
    let commits = sample(40).commits;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trail.db");
    SqliteLog::create(&path).unwrap();
    let wins: usize = std::thread::scope(|scope| {
        let writer = || {
            let mut log = SqliteLog::open(&path).unwrap();
            let mut wins = 0;
            for commit in &commits {
                match log.append(commit.first - 1, commit) {
                    Ok(()) => wins += 1,
                    Err(AppendError::Conflict) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            wins
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(writer)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let stored = SqliteReader::open(&path).unwrap().tail(0, usize::MAX).unwrap();
    assert_eq!(wins, stored.len());
    assert_eq!(stored, commits[..stored.len()]);
}

fn open_error(path: &Path) -> LogErrorKind {
    let reading = SqliteReader::open(path).err().unwrap().kind;
    let writing = SqliteLog::open(path).err().unwrap().kind;
    assert_eq!(reading, writing);
    reading
}

#[test]
fn a_file_that_is_not_a_store_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert_eq!(open_error(&path("missing.db")), LogErrorKind::Missing);

    std::fs::write(
        path("garbage.db"),
        "not a database, but longer than a header would be ".repeat(9),
    )
    .unwrap();
    assert_eq!(open_error(&path("garbage.db")), LogErrorKind::Corrupt);

    std::fs::write(path("blank.db"), "").unwrap();
    assert_eq!(open_error(&path("blank.db")), LogErrorKind::Missing);

    let other = rusqlite::Connection::open(path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(open_error(&path("other.db")), LogErrorKind::Foreign);
    assert!(SqliteLog::create(&path("other.db")).is_err(), "nor is it made one");

    drop(SqliteLog::create(&path("newer.db")).unwrap());
    let newer = rusqlite::Connection::open(path("newer.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(open_error(&path("newer.db")), LogErrorKind::Newer);
    assert!(SqliteLog::create(&path("newer.db")).is_err());
}

#[test]
fn a_store_locked_by_another_program_is_unavailable_not_broken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trail.db");
    let commits = sample(1).commits;
    let mut log = SqliteLog::create(&path).unwrap();
    let intruder = rusqlite::Connection::open(&path).unwrap();
    intruder.execute_batch("BEGIN IMMEDIATE").unwrap();
    match log.append(0, &commits[0]) {
        Err(AppendError::Refused(error)) => assert_eq!(error.kind, LogErrorKind::Locked),
        other => panic!("{other:?}"),
    }
    intruder.execute_batch("ROLLBACK").unwrap();
    log.append(0, &commits[0]).unwrap();
}

#[test]
fn a_full_store_refuses_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trail.db");
    let grower = sample(200);
    let mut log = SqliteLog::create(&path).unwrap();
    log.set_bytes_max(160 << 10).unwrap();
    let mut stored = 0;
    let refusal = loop {
        match log.append(grower.commits[stored].first - 1, &grower.commits[stored]) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&refusal, AppendError::Refused(e) if e.kind == LogErrorKind::Unwritable));
    assert_eq!(log.tail(0, usize::MAX).unwrap(), grower.commits[..stored], "reads go on");
    log.set_bytes_max(1 << 30).unwrap();
    for commit in &grower.commits[stored..] {
        log.append(commit.first - 1, commit).unwrap();
    }
    assert_eq!(log.tail(0, usize::MAX).unwrap(), grower.commits);
}

#[test]
fn a_copy_is_the_same_log_while_writing_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let commits = sample(30).commits;
    let mut log = SqliteLog::create(&folder.path().join("trail.db")).unwrap();
    fill(&mut log, &commits[..20]);
    let reader = SqliteReader::open(&folder.path().join("trail.db")).unwrap();
    let copy = folder.path().join("copy.db");
    let mut calls = 0;
    reader.copy_to(&copy, &mut |_, _| calls += 1).unwrap();
    assert!(calls > 0);
    fill(&mut log, &commits[20..]);
    let copied = SqliteReader::open(&copy).unwrap().tail(0, usize::MAX).unwrap();
    assert_eq!(copied, commits[..20]);
    assert_eq!(SqliteReader::open(&copy).unwrap().integrity().unwrap(), None);
}
