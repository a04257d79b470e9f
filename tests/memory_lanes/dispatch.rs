//! Plans in an order, and which of them can be given out.

use super::*;
use crate::mcp::Host;

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|own| text(own, "plan_id")).collect()
}

/// Case 92.
#[test]
fn plans_are_given_out_when_what_they_come_after_is_done() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let (first, second) = (team.plan("First"), team.plan("Second"));
    let item = |plan: &str, rank: u32, after: &[&String], scope: &str| {
        let (after, scope) = (json!(after), json!(scope));
        json!({ "plan": plan, "rank": rank, "hard_after": after, "scope_hint": scope })
    };
    let twice = json!([item(&first, 1, &[], "src/a"), item(&second, 1, &[], "src/b")]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": twice } });
    let ran =
        team.project.run(&["do", "memory.create", &create.to_string(), "--as", "alice", "--json"]);
    assert_eq!(ran.code, Some(1), "two of one rank: {ran:?}");
    assert!(text(&ran.error(), "message").contains("rank 1"), "{ran:?}");
    let items = json!([item(&first, 1, &[], "src/a"), item(&second, 2, &[&first], "src/b")]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    team.act("alice", "memory.create", create);

    let bytes = team.project.kinds().len();
    let dry = team.memory("alice", &["dispatch", "--dry-run"]);
    assert_eq!(ids(&dry["result"]["ready"]), std::slice::from_ref(&first));
    assert_eq!(ids(&dry["result"]["blocked"]), std::slice::from_ref(&second));
    assert_eq!(dry["result"]["blocked"][0]["waits_for"], json!([first]));
    assert_eq!(dry["result"]["planned"][0]["plan_id"], first.as_str());
    assert_eq!(team.project.kinds().len(), bytes, "nothing is written");

    let done = team.memory("alice", &["dispatch"]);
    assert_eq!(done["result"]["messages_sent"], 1);
    let lane = &done["result"]["delivery_plan"][0];
    let agent = text(lane, "agent");
    let analysis = team.memory("alice", &["dispatch", "analysis"]);
    assert_eq!(ids(&analysis["result"]["active"]), std::slice::from_ref(&first));
    let free = analysis["result"]["capacity"].as_array().unwrap().clone();
    let own = free.iter().find(|own| own["agent"] == agent.as_str()).unwrap();
    assert_eq!(own["free"], 0);
    assert_eq!(team.memory("alice", &["dispatch"])["result"]["messages_sent"], 0, "once");

    let id = text(lane, "assignment_id");
    for to in ["accepted", "started"] {
        team.moved(&agent, &id, to);
    }
    let end = json!({ "id": id, "to": "completed", "plan_status": "done" });
    team.act(&agent, "memory.move", end);
    let then = team.memory("alice", &["dispatch", "analysis"]);
    assert_eq!(ids(&then["result"]["done"]), [first]);
    assert_eq!(ids(&then["result"]["ready"]), [second]);
}

#[test]
fn lanes_that_would_collide_are_not_given_out_together() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let (first, second) = (team.plan("First"), team.plan("Second"));
    let items = json!([
        { "plan": first, "rank": 1, "scope_hint": "src/a" },
        { "plan": second, "rank": 2, "scope_hint": "src/a/x.rs" },
    ]);
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    team.act("alice", "memory.create", create);
    let done = team.memory("alice", &["dispatch"]);
    assert_eq!(done["result"]["messages_sent"], 1);
    let skipped = &done["result"]["skipped"][0];
    assert_eq!(
        (&skipped["plan_id"], &skipped["reason"]),
        (&json!(second), &json!("lanes_collide"))
    );
    assert_eq!(skipped["data"][0]["common_path"], "src/a/x.rs");
}

#[test]
fn a_handoff_is_looked_at_by_whoever_is_named() {
    let team = Team::new(&["alice", "bob"]);
    let made =
        team.act("alice", "memory.create", json!({ "kind": "handoff", "text": "Half done" }));
    let id = text(&made, "id");
    let done = team.memory("alice", &["dispatch", "review", "--handoff", &id, "--reviewer", "bob"]);
    assert_eq!(done["execution_status"], "inbox_only");
    let message = team.get(&text(&done["result"]["delivery_plan"][0], "message_id"));
    assert!(text(&message, "text").contains(&id), "{message}");
}

#[test]
fn the_answer_about_a_long_sequence_is_short() {
    let team = Team::new(&["alice", "bob"]);
    let mut host = Host::silent(&team.project, &["--dialect", "memory", "--as", "alice"]);
    host.introduce("tests", "2025-11-25");
    let mut items = Vec::new();
    for rank in 1..=200 {
        let text = format!("Plan {rank}: {}", "many words ".repeat(12));
        let data = json!({ "entity": "plan", "data": { "text": text } });
        items.push(json!({ "plan": host.done("bclaw_create", data)["id"], "rank": rank }));
    }
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    team.act("alice", "memory.create", create);
    let shown = host.done("bclaw_dispatch", json!({ "intent": "execute", "dryRun": true }));
    assert!(shown.to_string().len() <= 40_000, "{}", shown.to_string().len());
    assert_eq!(text(&shown["result"]["ready"][0], "why"), "ready to be offered");
}

#[test]
fn a_completed_plan_is_not_assigned_again() {
    let team = Team::new(&["alice", "bob"]);
    let plan = team.plan("one");
    let items = format!(r#"items=[{{"plan":"{plan}","rank":1}}]"#);
    team.memory("alice", &["create", "sequence", "s", "--set", &items]);
    let dispatch = ["dispatch", "execute", "--agent", "bob", "--allow-dirty"];
    assert_eq!(team.memory("alice", &dispatch)["result"]["messages_sent"], 1);
    for to in ["accepted", "started", "completed"] {
        team.memory("bob", &["transition", "asgn#1", to]);
    }
    let again = team.memory("alice", &dispatch)["result"].clone();
    assert_eq!((&again["messages_sent"], &again["ready"]), (&json!(0), &json!([])), "{again}");
    let why = again["active"][0]["why"].as_str().unwrap();
    assert!(why.contains("decide whether the plan is done"), "{again}");
}
