//! Work in rounds.

use super::*;

/// A loop of alice's with places for bob and carol.
#[track_caller]
fn opened(team: &Team) -> String {
    let args = [
        "loop",
        "open",
        "--kind",
        "implementation",
        "--task",
        "Build it",
        "--agent",
        "bob",
        "--agent",
        "carol",
        "--allow-orphan",
    ];
    let made = team.memory("alice", &args);
    text(&made["result"]["loop"], "id")
}

#[test]
fn a_loop_goes_through_its_phases_and_rounds() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let (_, error) = team.refused("alice", &["loop", "open", "--kind", "review", "--task", "x"]);
    let message = text(&error, "message");
    assert!(message.contains("--plan") && message.contains("--allow-orphan"), "{error}");
    let id = opened(&team);
    let advance = |rest: &[&str]| {
        let done = team.memory("alice", &[&["loop", "advance", &id], rest].concat());
        let own = &done["result"]["loop"];
        (text(own, "phase"), own["iteration"].as_u64().unwrap())
    };
    assert_eq!(advance(&[]), ("execute".to_owned(), 1));
    assert_eq!(advance(&[]), ("verify".to_owned(), 1));
    assert_eq!(advance(&["--phase", "execute"]), ("execute".to_owned(), 2));
    let (_, error) = team.refused("alice", &["loop", "advance", &id, "--phase", "bind"]);
    assert_eq!(error["details"]["allowed"], json!(["verify"]));
    let turn = ["loop", "complete-turn", &id, "--slot", "slot_1", "--outcome", "Built."];
    team.memory("bob", &turn);
    assert_eq!(advance(&[]), ("verify".to_owned(), 2));
    let own = team.memory("carol", &["loop", "get", &id])["result"]["loop"].clone();
    assert_eq!(own["slots"][0]["done"], false, "another turn: {own}");
    let taken = &own["turns"][0];
    assert_eq!((&taken["outcome"], &taken["agent"]), (&json!("Built."), &json!("bob")), "{own}");
    assert_eq!((&taken["phase"], &taken["iteration"]), (&json!("execute"), &json!(2)), "{own}");
    team.memory("alice", &["loop", "add-artifact", &id, "--artifact", "commit=abc"]);
    let own = team.memory("alice", &["loop", "get", &id])["result"]["loop"].clone();
    assert_eq!(own["artifacts"], json!([{ "ref": "abc", "type": "commit" }]));
    assert_eq!(team.memory("alice", &["loop", "pause", &id])["result"]["loop"]["status"], "paused");
    assert_eq!(team.memory("alice", &["loop", "resume", &id])["result"]["loop"]["status"], "open");
    assert_eq!(team.memory("bob", &["loop", "list"])["result"]["total"], 1);
}

#[test]
fn what_changed_meanwhile_is_not_changed_and_what_is_repeated_happens_once() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let advance = ["loop", "advance", &id, "--expect-version", "1", "--request-id", "k"];
    let first = team.memory("alice", &advance);
    let version = &first["result"]["loop"]["version"];
    assert_eq!(version, 2);
    let (_, error) = team.refused("alice", &["loop", "pause", &id, "--expect-version", "1"]);
    assert_eq!(error["kind"], "version_conflict");
    assert!(text(&error, "message").contains('2'), "{error}");
    let close = ["loop", "close", &id, "--request-id", "c"];
    team.memory("alice", &close);
    let entries = team.project.kinds().len();
    assert_eq!(team.memory("alice", &close)["result"]["loop"]["status"], "completed");
    let new = team.project.kinds()[entries..].to_vec();
    assert!(!new.iter().any(|kind| kind.starts_with("memory.")), "{new:?}");
    let other = ["loop", "close", &id, "--status", "cancelled", "--request-id", "c"];
    let (_, error) = team.refused("alice", &other);
    assert_eq!(error["kind"], "idempotency_key_reused_with_different_body");
}

/// Case 86.
#[test]
fn closing_a_loop_closes_what_its_places_work_on() {
    for (status, expected) in [("completed", "completed"), ("cancelled", "cancelled")] {
        let team = Team::new(&["alice", "bob", "carol"]);
        let id = opened(&team);
        let turn = |slot: &str| {
            let done = team.memory("alice", &["loop", "turn", &id, "--slot", slot]);
            text(&done["side_effects"][0], "id")
        };
        let (going, failed) = (turn("slot_1"), turn("slot_2"));
        for to in ["accepted", "started", "failed"] {
            team.moved("carol", &failed, to);
        }
        team.memory("alice", &["loop", "close", &id, "--status", status]);
        assert_eq!(team.get(&going)["status"], expected);
        assert_eq!(team.get(&failed)["status"], "failed", "what failed stays so");
    }
}

/// Case 90.
#[test]
fn a_turn_is_ended_by_whose_it_is_or_by_whoever_opened_the_loop() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let end = ["loop", "complete-turn", &id, "--slot", "slot_1", "--outcome", "Built."];
    let (_, error) = team.refused("carol", &end);
    assert_eq!(error["kind"], "unauthorized_slot_write", "{error}");
    let done = team.memory("bob", &end);
    let slot = &done["result"]["loop"]["slots"][0];
    assert_eq!((&slot["done"], &slot["outcome"]), (&json!(true), &json!("Built.")));
    assert_eq!(done["result"]["waiting_for"], json!(["slot_2"]));
    let other = ["loop", "complete-turn", &id, "--slot", "slot_2"];
    let done = team.memory("alice", &other);
    assert_eq!(done["result"]["waiting_for"], json!([]));
    assert_eq!(done["next_actions"][0]["args"]["intent"], "advance");
}

/// Case 91.
#[test]
fn a_loop_does_not_end_as_failed() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let ran =
        team.project.run(&["memory", "loop", "close", &id, "--status", "failed", "--as", "alice"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("completed"), "{ran:?}");
    assert_eq!(team.get(&id)["status"], "open");
}
