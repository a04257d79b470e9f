//! Stores whose files are removed, emptied, replaced or put back while they are in use: nothing is
//! acknowledged that nobody will find, and nobody is granted what another one has.

use crate::mcp::Host;
use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// One of the files beside the store.
fn beside(project: &Sandbox, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", project.store().display()))
}

fn claim(surface: &str) -> Value {
    json!({ "surfaces": [surface], "task": "T" })
}

/// The claims that are left in a store, and the holders that got a positive answer.
struct Contest {
    by_host: Vec<String>,
    by_hand: Vec<String>,
    claims: Ran,
}

/// A server and commands claim the same surfaces, after something was done to the store.
fn contest(harm: impl Fn(&Sandbox)) -> Contest {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    for n in 0..4 {
        host.done("make_claim", claim(&format!("before/{n}")));
    }
    harm(&project);
    let (mut by_host, mut by_hand) = (Vec::new(), Vec::new());
    for n in 0..8 {
        let surface = format!("s{n}");
        let take = |by_hand: &mut Vec<String>| {
            if project.run(&["claim", &surface, "--as", "bob"]).code == Some(0) {
                by_hand.push(surface.clone());
            }
        };
        if n % 2 == 0 {
            take(&mut by_hand);
        }
        if host.call("make_claim", claim(&surface))["isError"] == false {
            by_host.push(surface.clone());
        }
        if n % 2 == 1 {
            take(&mut by_hand);
        }
    }
    host.end();
    let claims = project.run(&["claims", "--json"]);
    Contest { by_host, by_hand, claims }
}

#[track_caller]
fn holds(contest: &Contest, what: &str) {
    let Contest { by_host, by_hand, claims } = contest;
    for surface in by_host {
        assert!(!by_hand.contains(surface), "{what}: {surface} was given twice");
    }
    let all = by_host.iter().chain(by_hand);
    for surface in all {
        assert_eq!(claims.code, Some(0), "{what}: {surface} was given: {claims:?}");
        assert!(claims.out.contains(&format!("\"{surface}\"")), "{what}: {surface} is lost");
    }
}

#[test]
fn a_journal_that_is_removed_takes_no_promise_with_it() {
    for endings in [&["-wal"][..], &["-shm"], &["-wal", "-shm"]] {
        let contest = contest(|project| {
            for ending in endings {
                std::fs::remove_file(beside(project, ending)).unwrap();
            }
        });
        holds(&contest, &endings.join(" and "));
    }
}

#[test]
fn a_store_that_is_emptied_or_linked_elsewhere_is_noticed() {
    let emptied = contest(|project| drop(std::fs::File::create(project.store()).unwrap()));
    holds(&emptied, "emptied");
    let linked = contest(|project| {
        let moved = project.state().join("moved.db");
        std::fs::rename(project.store(), &moved).unwrap();
        std::os::unix::fs::symlink("moved.db", project.store()).unwrap();
    });
    holds(&linked, "linked");
}

/// Whoever has a store open keeps its lock on it, so that nobody else who looks into it takes
/// himself for the last one and folds its journal away.
#[test]
fn another_program_that_looks_into_the_store_takes_nothing_away() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    for n in 0..6 {
        host.done("make_claim", claim(&format!("s{n}")));
        let other = rusqlite::Connection::open(project.store()).unwrap();
        let rows: u64 =
            other.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).unwrap();
        assert!(rows > 0);
        other.close().unwrap();
        assert!(beside(&project, "-wal").exists(), "after write {n}");
    }
    let held = project.json(&["claims"]);
    assert_eq!(held.as_array().unwrap().len(), 6, "{held}");
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(copied.success());
}

/// A file is written over in its place, so that it is the same file with an older content.
#[test]
fn an_older_store_that_is_put_back_neither_stalls_nor_forks_the_server() {
    let project = Sandbox::new();
    let older = tempfile::tempdir().unwrap();
    let mut host = Host::named(&project, "cursor");
    host.done("make_claim", claim("one"));
    copy(&project.state(), older.path());
    host.done("make_claim", claim("two"));
    for file in std::fs::read_dir(older.path()).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), project.state().join(file.file_name())).unwrap();
        }
    }
    let begun = Instant::now();
    let answer = host.call("make_claim", claim("three"));
    assert!(begun.elapsed() < Duration::from_secs(20), "{answer}");
    if answer["isError"] == false {
        assert!(project.ok(&["claims"]).out.contains("three"), "{answer}");
    }
    assert!(host.end() < Duration::from_secs(20));
}

/// Whoever follows a trail is told when it is not there any more.
#[test]
fn following_ends_with_the_trail_that_is_followed() {
    let project = Sandbox::new();
    let mut following = project
        .command()
        .args(["trail", "--follow", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(following.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("project.created"), "it follows: {line}");
    std::fs::rename(project.state(), project.path().join("gone")).unwrap();
    project.ok(&["init"]);
    project.ok(&["claim", "new", "--as", "bob"]);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(matches!(following.wait().unwrap().code(), Some(1 | 4)), "{rest}");
    assert!(!rest.contains("\"new\""), "{rest}");
    // Whoever looks between the two finds a folder that is gone.
    let shown = ["replaced", "no store", "no project here", "cannot open the store"];
    assert!(shown.iter().any(|words| rest.contains(words)), "{rest}");
}

/// A name is bound to the key that lies in the store, not to one that was read from another.
#[test]
fn lines_for_another_store_are_signed_with_a_key_of_its_own() {
    let project = Sandbox::new();
    let mut lines = project
        .command()
        .args(["do", "--lines", "--as", "zoe"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = lines.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(lines.stdout.take().unwrap()).lines();
    let mut open = |surface: &str| -> Value {
        let line = json!({ "name": "lease.open", "args": { "surfaces": [surface] } });
        writeln!(input, "{line}").unwrap();
        serde_json::from_str(&output.next().unwrap().unwrap()).unwrap()
    };
    assert!(open("a")["ok"].is_object());
    std::fs::remove_dir_all(project.state()).unwrap();
    project.ok(&["init"]);
    let answers: Vec<Value> = ["b", "c", "d"].into_iter().map(&mut open).collect();
    assert!(answers[2]["ok"].is_object(), "{answers:?}");
    project.ok(&["claim", "mine", "--as", "zoe"]);
    project.ok(&["trail", "verify"]);
    drop(input);
    lines.wait().unwrap();
}
