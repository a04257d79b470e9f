//! Sweeps: a silent lane is examined before its assignment expires.

use super::*;
use std::time::Duration;

/// Work of bob's that may be silent for a moment only.
fn short_lived(team: &Team, rest: &Value) -> String {
    let mut fields = json!({ "agent": "bob", "acceptance_ttl_secs": 1, "heartbeat_ttl_secs": 1 });
    for (name, value) in rest.as_object().unwrap() {
        fields[name] = value.clone();
    }
    let create = json!({ "kind": "assignment", "text": "Do it.", "fields": fields });
    text(&team.act("alice", "memory.create", create), "id")
}

fn wait() {
    std::thread::sleep(Duration::from_millis(1_100));
}

/// Case 80.
#[test]
fn an_agent_that_changes_files_keeps_its_assignment() {
    let team = Team::new(&["alice", "bob"]);
    let worktree = team.worktree("lane-a");
    let place = json!({ "worktree_path": worktree.to_str().unwrap(), "heartbeat_ttl_secs": 5 });
    let (busy, silent) =
        (short_lived(&team, &place), short_lived(&team, &json!({ "heartbeat_ttl_secs": 5 })));
    for id in [&busy, &silent] {
        team.moved("bob", id, "accepted");
        team.moved("bob", id, "started");
    }
    std::thread::sleep(Duration::from_millis(5_100));
    std::fs::write(worktree.join("src/a/x.rs"), "fn x() { busy() }\n").unwrap();
    let swept = team.memory("alice", &["sweep"]);
    let status = |id: &str| text(&team.get(id), "status");
    assert_eq!(
        (status(&busy).as_str(), status(&silent).as_str()),
        ("started", "timed_out"),
        "{swept}"
    );
    let moved = swept["result"]["moved"].as_array().unwrap();
    let own = moved.iter().find(|own| own["id"] == busy.as_str()).unwrap();
    assert_eq!(own["sign"]["evidence"], "worktree_file");
}

#[test]
fn an_offer_is_taken_up_by_any_sign_of_life_and_expires_without() {
    let team = Team::new(&["alice", "bob"]);
    let place = |name: &str| {
        let path = team.worktree(name);
        (short_lived(&team, &json!({ "worktree_path": path.to_str().unwrap() })), path)
    };
    let (beating, first) = place("lane-a");
    let (silent, _) = place("lane-b");
    let (committed, second) = place("lane-c");
    std::fs::write(first.join(format!(".brainclaw-heartbeat-{beating}")), "").unwrap();
    wait();
    std::fs::write(second.join("new.txt"), "x").unwrap();
    team.git_in(&second, &["add", "."]);
    team.git_in(&second, &["commit", "--quiet", "-m", "Work"]);
    let seen = team.memory("alice", &["sweep", "--dry-run"]);
    assert_eq!(seen["result"]["overdue"], 3, "{seen}");
    let status = |id: &str| text(&team.get(id), "status");
    assert_eq!(status(&silent), "offered", "looking moves nothing");
    team.memory("alice", &["sweep"]);
    assert_eq!(
        (status(&beating).as_str(), status(&silent).as_str(), status(&committed).as_str()),
        ("accepted", "expired", "accepted")
    );
}

/// Where nobody could look, somebody may be at work.
#[test]
fn nothing_is_given_up_that_could_not_be_looked_at() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let gone = team.lanes.path().join("gone");
    let hidden = short_lived(&team, &json!({ "worktree_path": gone.to_str().unwrap() }));
    let fields = json!({ "agent": "bob", "acceptance_ttl_secs": 1 });
    let create = json!({ "kind": "assignment", "text": "Look.", "fields": fields });
    let plain = text(&team.act("carol", "memory.create", create), "id");
    wait();
    let status = |id: &str| text(&team.get(id), "status");
    let swept = team.in_part("alice", &["sweep"]);
    assert_eq!(swept["result"]["moved"], json!([]));
    assert!(swept["warnings"][0].as_str().unwrap().contains(&hidden), "{swept}");
    assert_eq!((status(&hidden).as_str(), status(&plain).as_str()), ("offered", "offered"));
    // Assignments of others do not keep carol from sweeping her own.
    team.memory("carol", &["sweep"]);
    assert_eq!((status(&hidden).as_str(), status(&plain).as_str()), ("offered", "expired"));
}

/// Case 87.
#[test]
fn assignments_of_a_loop_that_is_over_end_with_it() {
    let team = Team::new(&["alice", "bob"]);
    let open = |task: &str| {
        let made = team.memory(
            "alice",
            &["loop", "open", "--kind", "review", "--task", task, "--allow-orphan"],
        );
        text(&made["result"]["loop"], "id")
    };
    let (over, going) = (open("One"), open("Two"));
    let scoped = |scope: &str| {
        let fields = json!({ "agent": "bob", "scope": scope });
        let create = json!({ "kind": "assignment", "text": "Look.", "fields": fields });
        text(&team.act("alice", "memory.create", create), "id")
    };
    let orphan = scoped(&format!("review-loop:{over}"));
    let busy = scoped(&format!("review-loop:{going}"));
    let plain = scoped("src/a");
    assert_eq!(team.memory("alice", &["sweep"])["result"]["converged"], 0);
    team.memory("alice", &["loop", "close", &over]);
    assert_eq!(team.memory("alice", &["sweep"])["result"]["converged"], 1);
    let status = |id: &str| text(&team.get(id), "status");
    assert_eq!(
        (status(&orphan).as_str(), status(&busy).as_str(), status(&plain).as_str()),
        ("completed", "offered", "offered")
    );
    assert_eq!(team.memory("alice", &["sweep"])["result"]["converged"], 0);
}
