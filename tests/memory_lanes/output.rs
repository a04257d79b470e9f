//! Output of `coordinate`, `dispatch`, `sweep` and `harvest` for people: labels, moves with their
//! reason, and the next command.

use super::*;
use std::time::Duration;

impl Team {
    /// The output for people.
    #[track_caller]
    fn told(&self, agent: &str, args: &[&str]) -> String {
        let ran = self.project.ok(&[&["memory"], args, &["--as", agent]].concat());
        format!("{}{}", ran.out, ran.err)
    }
}

/// Ids as they stand in JSON.
fn has_hex(text: &str) -> bool {
    let is_id = |word: &str| {
        let Some((prefix, rest)) = word.rsplit_once('_') else { return false };
        prefix.len() >= 3 && rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(is_id)
}

#[track_caller]
fn says(told: &str, words: &[&str]) {
    for word in words {
        assert!(told.contains(word), "{word:?} in {told}");
    }
    assert!(!has_hex(told), "{told}");
}

#[test]
fn lanes_and_loops_go_by_their_labels() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let told = team.told("alice", &["coordinate", "assign", "Do it.", "--to", "bob"]);
    says(&told, &["asgn#1", "msg#1", "althing memory transition asgn#1 accepted --as bob"]);
    let told = team.told("alice", &["coordinate", "summarize"]);
    says(&told, &["asgn#1", "assignments: 1 offered", "Do it."]);
    let review = ["coordinate", "review", "Look.", "--to", "bob", "--open-loop"];
    let told = team.told("alice", &review);
    says(&told, &["candidate: cnd#1", "loop: lop#1", "thread: thread-", "msg#2"]);
    let told = team.told("alice", &["coordinate", "ideate", "Think.", "--to", "carol"]);
    says(&told, &["loop: lop#2", "thread: thread-", "msg#3"]);
    let told = team.told("alice", &["loop", "turn", "lop#1", "--slot", "slot_1"]);
    let run = "althing memory transition asgn#2 accepted --as bob";
    says(&told, &["lop#1", "slot_1", "asgn#2", "create assignment asgn#2", run]);
    let again = team.told("alice", &["loop", "turn", "lop#1", "--slot", "slot_1"]);
    says(&again, &["reuse assignment asgn#2", run]);
    let add = ["loop", "add-artifact", "lop#1", "--artifact", "commit=abc123"];
    says(&team.told("alice", &add), &["Artifacts", "commit", "abc123"]);
    team.memory(
        "bob",
        &["loop", "complete-turn", "lop#1", "--slot", "slot_1", "--outcome", "Fine."],
    );
    let told = team.told("carol", &["loop", "get", "lop#1"]);
    says(&told, &["Look.", "asgn#2", "commit", "abc123", "Turns", "Fine."]);
    let whole = team.told("carol", &["get", "lop#1"]);
    for words in ["SLOT", "abc123", "Fine.", "asgn#2"] {
        assert!(whole.contains(words) && !whole.contains('{'), "{whole}");
    }
    says(&team.told("alice", &["loop", "list"]), &["lop#1", "lop#2"]);
    let slot = ["memory", "loop", "turn", "lop#1", "--slot", "slot_9", "--as", "alice"];
    let ran = team.project.run(&slot);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.err, &["lop#1 has no slot slot_9"]);
}

#[test]
fn a_sweep_says_what_it_moves_and_why() {
    let team = Team::new(&["alice", "bob"]);
    says(&team.told("alice", &["sweep"]), &["nothing is overdue"]);
    says(&team.told("alice", &["sweep", "--dry-run"]), &["nothing is overdue"]);
    let worktree = team.worktree("lane-a");
    let create = |rest: Value| {
        let mut fields = json!({ "agent": "bob", "acceptance_ttl_secs": 1, "plan_id": "pln#1" });
        if let Some(path) = rest.as_str() {
            fields["worktree_path"] = path.into();
        }
        let create = json!({ "kind": "assignment", "text": "Do it.", "fields": fields });
        team.act("alice", "memory.create", create);
    };
    team.plan("Rework");
    create(Value::Null);
    create(worktree.to_str().unwrap().into());
    std::thread::sleep(Duration::from_millis(1_100));
    std::fs::write(worktree.join("src/a/x.rs"), "fn x() { busy() }\n").unwrap();
    // The board marks what is overdue, and says who has a plan.
    let board = team.project.ok(&["board"]).out;
    assert!(board.contains("(2 overdue)") && board.contains("offered (overdue)"), "{board}");
    assert!(board.contains("bob (offered, overdue)"), "{board}");
    let dry = team.told("alice", &["sweep", "--dry-run"]);
    says(&dry, &["Would move", "FROM", "WHY"]);
    let told = team.told("alice", &["sweep"]);
    for told in [&dry, &told] {
        let row = |label: &str| {
            let row = told.lines().find(|line| line.starts_with(label)).unwrap();
            row.split_whitespace().collect::<Vec<&str>>().join(" ")
        };
        assert!(row("asgn#1").starts_with("asgn#1 offered expired not accepted;"), "{told}");
        assert!(row("asgn#2").starts_with("asgn#2 offered accepted worktree file 0s"), "{told}");
    }
    says(&told, &["Moved"]);
}

#[test]
fn a_claimed_plan_shows_by_whom() {
    let team = Team::new(&["alice", "bob"]);
    team.plan("Rework");
    team.memory("bob", &["work", "execute", "--scope", "src/a", "--plan", "pln#1"]);
    let board = team.project.ok(&["board"]).out;
    assert!(board.contains("bob (claimed)"), "{board}");
    assert!(board.contains("1 open plan, 1 claim, 0 assignments"), "{board}");
}

#[test]
fn a_harvest_says_what_it_moves_and_why() {
    let team = Team::new(&["alice", "bob"]);
    says(&team.told("alice", &["harvest"]), &["there is no new result (0 lanes looked at)"]);
    let worktree = team.worktree("lane-a");
    let place = worktree.to_str().unwrap();
    let id = text(&team.assigned(&["--scope", "src/a", "--worktree", place]), "assignment_id");
    std::fs::write(worktree.join("src/a/x.rs"), "fn x() { better() }\n").unwrap();
    std::fs::write(worktree.join("src/b/y.rs"), "fn y() { stray() }\n").unwrap();
    let result = json!({ "assignment_id": id, "status": "completed", "summary": "Reworked a." });
    std::fs::write(worktree.join("LANE-RESULT.json"), result.to_string()).unwrap();
    let told = team.told("alice", &["harvest"]);
    says(&told, &["Harvested", "asgn#1", "completed", "Reworked a.", "--integrate"]);
    let ran = team.project.run(&["memory", "harvest", "--integrate", "--as", "alice"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.out, &["Left out", "asgn#1", "1 file lies outside of its scope", "src/b/y.rs"]);
    team.git_in(&worktree, &["checkout", "--quiet", "src/b/y.rs"]);
    let told = team.told("alice", &["harvest", "--integrate"]);
    says(&told, &["Integrated", "FROM", "offered", "completed", "COMMIT", "Reworked a."]);
}

#[test]
fn a_dispatch_that_finds_nobody_says_so() {
    let team = Team::new(&["alice", "bob"]);
    let [first, second] = ["First", "Second"].map(|text| team.plan(text));
    let items = json!([
        { "plan": first, "rank": 1, "scope_hint": "src/a" },
        { "plan": second, "rank": 2, "scope_hint": "src/b" },
    ]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    team.act("alice", "memory.create", create);
    let told = team.told("alice", &["dispatch"]);
    says(
        &told,
        &["sequence: seq#1", "Given out", "pln#1", "asgn#1", "pln#2", "every agent is at capacity"],
    );
    let told = team.told("alice", &["dispatch"]);
    says(&told, &["nobody is free (bob)", "--agent", "--capacity", "pln#2"]);
    assert!(!told.contains("-  -"), "{told}");
    let ran = team.project.run(&["memory", "transition", "pln#2", "done", "--as", "alice"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = team.told("alice", &["dispatch"]);
    says(&told, &["no plan is ready", "Active"]);
    assert!(!told.contains("nobody is free"), "{told}");
    let alone = Team::new(&["alice"]);
    let plan = alone.plan("First");
    let items = json!([{ "plan": plan, "rank": 1 }]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    alone.act("alice", "memory.create", create);
    says(&alone.told("alice", &["dispatch"]), &["there is no other agent to give work to"]);
}
