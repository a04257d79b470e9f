//! Output of `coordinate`, `dispatch`, `sweep` and `harvest` for people: labels, moves with their
//! reason, and the next command.

use super::*;
use std::time::Duration;

impl Team {
    /// The output for people.
    #[track_caller]
    fn printed(&self, agent: &str, args: &[&str]) -> String {
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
fn says(printed: &str, words: &[&str]) {
    for word in words {
        assert!(printed.contains(word), "{word:?} in {printed}");
    }
    assert!(!has_hex(printed), "{printed}");
}

#[test]
fn lanes_and_loops_go_by_their_labels() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let printed = team.printed("alice", &["coordinate", "assign", "Do it.", "--to", "bob"]);
    says(&printed, &["asgn#1", "msg#1", "althing memory transition asgn#1 accepted --as bob"]);
    let printed = team.printed("alice", &["coordinate", "summarize"]);
    says(&printed, &["asgn#1", "assignments: 1 offered", "Do it."]);
    let review = ["coordinate", "review", "Look.", "--to", "bob", "--open-loop"];
    let printed = team.printed("alice", &review);
    says(&printed, &["candidate: cnd#1", "loop: lop#1", "thread: thread-", "msg#2"]);
    let printed = team.printed("alice", &["coordinate", "ideate", "Think.", "--to", "carol"]);
    says(&printed, &["loop: lop#2", "thread: thread-", "msg#3"]);
    let printed = team.printed("alice", &["loop", "turn", "lop#1", "--slot", "slot_1"]);
    let run = "althing memory transition asgn#2 accepted --as bob";
    says(&printed, &["lop#1", "slot_1", "asgn#2", "create assignment asgn#2", run]);
    let again = team.printed("alice", &["loop", "turn", "lop#1", "--slot", "slot_1"]);
    says(&again, &["reuse assignment asgn#2", run]);
    let add = ["loop", "add-artifact", "lop#1", "--artifact", "commit=abc123"];
    says(&team.printed("alice", &add), &["Artifacts", "commit", "abc123"]);
    team.memory(
        "bob",
        &["loop", "complete-turn", "lop#1", "--slot", "slot_1", "--outcome", "Fine."],
    );
    let printed = team.printed("carol", &["loop", "get", "lop#1"]);
    says(&printed, &["Look.", "asgn#2", "commit", "abc123", "Turns", "Fine."]);
    let whole = team.printed("carol", &["get", "lop#1"]);
    for words in ["SLOT", "abc123", "Fine.", "asgn#2"] {
        assert!(whole.contains(words) && !whole.contains('{'), "{whole}");
    }
    says(&team.printed("alice", &["loop", "list"]), &["lop#1", "lop#2"]);
    let slot = ["memory", "loop", "turn", "lop#1", "--slot", "slot_9", "--as", "alice"];
    let ran = team.project.run(&slot);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.err, &["lop#1 has no slot slot_9"]);
}

#[test]
fn a_sweep_says_what_it_moves_and_why() {
    let team = Team::new(&["alice", "bob"]);
    says(&team.printed("alice", &["sweep"]), &["nothing is overdue"]);
    says(&team.printed("alice", &["sweep", "--dry-run"]), &["nothing is overdue"]);
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
    let dry = team.printed("alice", &["sweep", "--dry-run"]);
    says(&dry, &["Would move", "FROM", "WHY"]);
    let printed = team.printed("alice", &["sweep"]);
    for printed in [&dry, &printed] {
        let row = |label: &str| {
            let row = printed.lines().find(|line| line.starts_with(label)).unwrap();
            row.split_whitespace().collect::<Vec<&str>>().join(" ")
        };
        assert!(row("asgn#1").starts_with("asgn#1 offered expired not accepted;"), "{printed}");
        assert!(row("asgn#2").starts_with("asgn#2 offered accepted worktree file 0s"), "{printed}");
    }
    says(&printed, &["Moved"]);
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
    says(&team.printed("alice", &["harvest"]), &["there is no new result (0 lanes looked at)"]);
    let worktree = team.worktree("lane-a");
    let place = worktree.to_str().unwrap();
    let id = text(&team.assigned(&["--scope", "src/a", "--worktree", place]), "assignment_id");
    std::fs::write(worktree.join("src/a/x.rs"), "fn x() { better() }\n").unwrap();
    std::fs::write(worktree.join("src/b/y.rs"), "fn y() { stray() }\n").unwrap();
    let result = json!({ "assignment_id": id, "status": "completed", "summary": "Reworked a." });
    std::fs::write(worktree.join("LANE-RESULT.json"), result.to_string()).unwrap();
    let printed = team.printed("alice", &["harvest"]);
    says(&printed, &["Harvested", "asgn#1", "completed", "Reworked a.", "--integrate"]);
    let ran = team.project.run(&["memory", "harvest", "--integrate", "--as", "alice"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.out, &["Left out", "asgn#1", "1 file lies outside of its scope", "src/b/y.rs"]);
    team.git_in(&worktree, &["checkout", "--quiet", "src/b/y.rs"]);
    let printed = team.printed("alice", &["harvest", "--integrate"]);
    says(&printed, &["Integrated", "FROM", "offered", "completed", "COMMIT", "Reworked a."]);
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
    let printed = team.printed("alice", &["dispatch"]);
    says(
        &printed,
        &["sequence: seq#1", "Given out", "pln#1", "asgn#1", "pln#2", "every agent is at capacity"],
    );
    let printed = team.printed("alice", &["dispatch"]);
    says(&printed, &["nobody is free (bob)", "--agent", "--capacity", "pln#2"]);
    assert!(!printed.contains("-  -"), "{printed}");
    let ran = team.project.run(&["memory", "transition", "pln#2", "done", "--as", "alice"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let printed = team.printed("alice", &["dispatch"]);
    says(&printed, &["no plan is ready", "Active"]);
    assert!(!printed.contains("nobody is free"), "{printed}");
    let alone = Team::new(&["alice"]);
    let plan = alone.plan("First");
    let items = json!([{ "plan": plan, "rank": 1 }]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    alone.act("alice", "memory.create", create);
    says(&alone.printed("alice", &["dispatch"]), &["there is no other agent to give work to"]);
}
