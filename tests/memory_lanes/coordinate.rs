//! Work and questions for other agents.

use super::*;
use crate::mcp::Host;

/// Case 69.
#[test]
fn an_offer_is_a_claim_an_assignment_and_a_message_that_name_each_other() {
    let team = Team::new(&["alice", "bob"]);
    let plan = team.plan("Rework a");
    let done = team.memory(
        "alice",
        &["coordinate", "assign", "Do it.", "--to", "bob", "--scope", "src/a", "--plan", &plan],
    );
    assert_eq!((&done["status"], &done["intent"]), (&json!("ok"), &json!("assign")));
    assert_eq!(done["execution_status"], "command_ready_manual");
    let lane = &done["result"]["delivery_plan"][0];
    let assignment = team.get(&text(lane, "assignment_id"));
    let message = team.get(&text(lane, "message_id"));
    assert_eq!(assignment["status"], "offered");
    let fields = &assignment["fields"];
    assert_eq!((&fields["agent"], &fields["plan_id"]), (&json!("bob"), &json!(plan)));
    assert_eq!(fields["dispatcher"], "agent:alice");
    assert_eq!((&fields["attempt"], &fields["nonce"]), (&json!(1), &lane["nonce"]));
    assert_eq!(fields["message_id"], message["id"]);
    assert_eq!(message["fields"]["assignment_id"], assignment["id"]);
    assert_eq!(
        (&message["fields"]["to"], &message["fields"]["requires_ack"]),
        (&json!("bob"), &json!(true))
    );
    // The claim is the dispatcher's until the agent accepts, and then the agent's.
    let epoch = fields["claim"].as_u64().unwrap();
    assert_eq!(text(lane, "claim_id"), format!("clm_{epoch:08x}"));
    assert_eq!(team.claims(), [("agent:alice".to_owned(), epoch)]);
    let command = text(&done["result"]["commands"][0], "command");
    let words: Vec<&str> = command.strip_prefix("althing ").unwrap().split(' ').collect();
    team.project.ok(&words);
    let held = team.claims();
    assert_eq!((held.len(), held[0].0.as_str()), (1, "agent:bob"));
    assert_eq!(team.get(&text(lane, "assignment_id"))["status"], "accepted");
}

/// Case 70.
#[test]
fn a_question_is_a_message_and_nothing_else() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let before = team.project.kinds();
    let done = team.memory("alice", &["coordinate", "consult", "Which way?", "--to", "bob"]);
    assert_eq!(done["execution_status"], "inbox_only");
    assert_eq!(done["result"]["messages_sent"], 1);
    let message = team.get(&text(&done["result"]["delivery_plan"][0], "message_id"));
    assert_eq!(message["fields"]["thread"], done["result"]["thread_id"]);
    let new: Vec<String> = team.project.kinds()[before.len()..].to_vec();
    assert_eq!(new.iter().filter(|kind| kind.starts_with("memory.")).count(), 1, "{new:?}");
    assert!(!new.iter().any(|kind| kind.starts_with("lease.")), "{new:?}");
    let all = team.memory("alice", &["coordinate", "consult", "Which way?"]);
    assert_eq!(all["result"]["messages_sent"], 2, "everybody else if nobody is named");
}

/// Case 71.
#[test]
fn an_agent_who_is_not_known_is_named_and_the_others_get_their_work() {
    let team = Team::new(&["alice", "bob"]);
    let args = ["coordinate", "assign", "Do it.", "--to", "nobody", "--to", "bob"];
    let done = team.in_part("alice", &args);
    assert_eq!(done["warning_details"][0]["code"], "agent_validation_failed");
    let skipped = &done["result"]["skipped"][0];
    assert_eq!(
        (&skipped["agent"], &skipped["code"]),
        (&json!("nobody"), &json!("agent_validation_failed"))
    );
    assert_eq!(skipped["data"]["known"], json!(["alice", "bob"]));
    assert_eq!(done["result"]["messages_sent"], 1);
    let (_, error) = team.refused("alice", &["coordinate", "assign", "Do it.", "--to", "nobody"]);
    assert_eq!(error["details"]["code"], "agent_validation_failed");
}

#[test]
fn lanes_that_would_collide_are_named_before_anything_starts() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let before = team.project.kinds().len();
    let lanes = ["--lane-scope", "bob=src/a", "--lane-scope", "carol=src/a/x.rs"];
    let args = [&["coordinate", "assign", "Do it."][..], &lanes].concat();
    let (_, error) = team.refused("alice", &args);
    assert_eq!(error["kind"], "lanes_collide");
    let clash = &error["details"]["collisions"][0];
    assert_eq!(clash["lanes"], json!(["bob", "carol"]));
    assert_eq!(clash["common_path"], "src/a/x.rs");
    let new = team.project.kinds()[before..].to_vec();
    assert!(
        !new.iter().any(|kind| kind.starts_with("memory.") || kind == "lease.opened"),
        "{new:?}"
    );
    let apart = ["--lane-scope", "bob=src/a", "--lane-scope", "carol=src/b"];
    let done = team.memory("alice", &[&["coordinate", "assign", "Do it."][..], &apart].concat());
    assert_eq!(done["result"]["messages_sent"], 2);
    // A scope offered to bob counts as his, though alice still holds the claim.
    let more = ["coordinate", "assign", "More.", "--to", "carol", "--scope", "src/a/x.rs"];
    let (_, error) = team.refused("alice", &more);
    assert_eq!(error["details"]["skipped"][0]["code"], "scope_already_claimed");
    let (reason, data) =
        (&error["details"]["skipped"][0]["reason"], &error["details"]["skipped"][0]["data"]);
    assert_eq!((&data["holder"], &data["offered_to"]), (&json!("alice"), &json!("bob")));
    let shown = reason.as_str().unwrap();
    assert!(shown.contains("offered to bob and held by alice until it is accepted"), "{shown}");
}

#[test]
fn files_that_nobody_committed_are_not_handed_out() {
    let team = Team::new(&["alice", "bob"]);
    team.project.write("src/a/new.rs", "// not committed\n");
    team.project.write(".claude/settings.json", "{}\n");
    let args = ["coordinate", "assign", "Do it.", "--to", "bob", "--scope"];
    let (_, error) = team.refused("alice", &[&args[..], &["src/a"]].concat());
    assert_eq!(error["kind"], "dirty_working_tree");
    assert_eq!(error["details"]["files"], json!(["src/a/new.rs"]));
    assert!(team.claims().is_empty());
    team.memory("alice", &[&args[..], &["src/b"]].concat());
    team.memory("alice", &[&args[..], &["src/a", "--ref", "HEAD"]].concat());
    let done = team.memory("alice", &[&args[..], &["src/a", "--allow-dirty"]].concat());
    assert_eq!(done["status"], "ok");
    // A folder whose name only begins like that of a tool is work.
    team.project.write(".github/workflows/ci.yml", "on: push\n");
    let (_, error) = team.refused("alice", &[&args[..], &[".github"]].concat());
    assert_eq!(error["details"]["files"], json!([".github/workflows/ci.yml"]));
    team.memory("alice", &[&args[..], &[".claude"]].concat());
}

/// Commas in braces belong to their glob.
#[test]
fn a_scope_with_braces_is_one_glob() {
    let team = Team::new(&["alice", "bob"]);
    team.assigned(&["--scope", "src/{a,b}/**"]);
    let (_, error) =
        team.refused("alice", &["coordinate", "assign", "It.", "--to", "bob", "--scope", "src/{a"]);
    assert_eq!(error["kind"], "validation_error");
    let held = team.project.json(&["claims"]).to_string();
    assert!(held.contains("src/{a,b}/**"), "{held}");
}

/// Who asks is settled by the channel; the id of a request has two names; what settles nothing is
/// said.
#[test]
fn arguments_are_checked_or_said_to_be_ignored() {
    let team = Team::new(&["alice", "bob"]);
    let mut host = Host::silent(&team.project, &["--dialect", "memory", "--as", "alice"]);
    host.introduce("tests", "2025-11-25");
    for (tool, intent) in
        [("bclaw_coordinate", "summarize"), ("bclaw_dispatch", "analysis"), ("bclaw_loop", "list")]
    {
        let (_, error) = host.failed(tool, json!({ "intent": intent, "agent": "bob" }));
        assert_eq!(error["kind"], "identity_error", "{tool}: {error}");
        let (_, error) = host.failed(tool, json!({ "intent": intent, "project": "another" }));
        assert_eq!(error["kind"], "validation_error", "{tool}: {error}");
    }
    let ask = |name: &str, task: &str| {
        json!({ "intent": "assign", "task": task, "targetAgents": ["bob"], "scope": "src/a",
                name: "r1", "autoExecute": true, "agent": "alice" })
    };
    let first = host.done("bclaw_coordinate", ask("request_id", "Do it."));
    assert_eq!(first["warnings"], json!(["ignored: autoExecute"]), "{first}");
    let again = host.done("bclaw_coordinate", ask("client_request_id", "Do it."));
    let lane = |answer: &Value| answer["result"]["delivery_plan"][0]["assignment_id"].clone();
    assert_eq!(lane(&first), lane(&again), "{again}");
    let (_, error) = host.failed("bclaw_coordinate", ask("request_id", "Another."));
    assert_eq!(error["kind"], "idempotency_key_reused_with_different_body");
    let read = json!({ "kind": "board", "format": "markdown", "explain": true });
    let read = host.done("bclaw_context", read);
    assert_eq!(read["warnings"], json!(["ignored: format, explain"]), "{read}");
}

#[test]
fn a_request_that_is_repeated_has_one_effect() {
    let team = Team::new(&["alice", "bob"]);
    let args =
        ["coordinate", "assign", "Do it.", "--to", "bob", "--scope", "src/a", "--request-id", "r1"];
    let first = team.memory("alice", &args);
    let entries = team.project.kinds();
    let again = team.memory("alice", &args);
    assert_eq!(first["result"]["delivery_plan"], again["result"]["delivery_plan"]);
    let new = team.project.kinds()[entries.len()..].to_vec();
    assert!(
        !new.iter().any(|kind| kind.starts_with("memory.") || kind == "lease.opened"),
        "{new:?}"
    );
    let other =
        ["coordinate", "assign", "Else.", "--to", "bob", "--scope", "src/b", "--request-id", "r1"];
    let (_, error) = team.refused("alice", &other);
    assert_eq!(error["kind"], "idempotency_key_reused_with_different_body");
}

/// Case 73.
#[test]
fn rerouted_work_leaves_one_agent_and_is_offered_to_another() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let old = text(&team.assigned(&["--scope", "src/a"]), "assignment_id");
    team.moved("bob", &old, "accepted");
    let held = team.claims();
    assert_eq!(held[0].0, "agent:bob");
    let args = ["coordinate", "reroute", "--assignment", &old, "--to", "carol"];
    let done = team.memory("alice", &args);
    let new = &done["result"]["delivery_plan"][0];
    assert_eq!(team.get(&old)["status"], "rerouted");
    let assignment = team.get(&text(new, "assignment_id"));
    assert_eq!(
        (&assignment["status"], &assignment["fields"]["agent"]),
        (&json!("offered"), &json!("carol"))
    );
    assert_eq!(assignment["fields"]["message_id"], new["message_id"]);
    assert!(!team.claims().contains(&held[0]), "bob's claim is over");
    team.moved("carol", &text(new, "assignment_id"), "accepted");
    assert_eq!(team.claims()[0].0, "agent:carol");
}

/// Case 74.
#[test]
fn an_assignment_goes_its_way_and_every_state_has_its_time() {
    let team = Team::new(&["alice", "bob"]);
    let id = text(&team.assigned(&[]), "assignment_id");
    team.moved("bob", &id, "accepted");
    team.moved("bob", &id, "started");
    let mut heard = Vec::new();
    for step in 1..=3 {
        team.act("bob", "memory.progress", json!({ "id": id, "text": format!("part {step}") }));
        heard.push(team.get(&id)["fields"]["last_heartbeat_at"].as_u64().unwrap());
    }
    assert!(heard.windows(2).all(|two| two[0] < two[1]), "{heard:?}");
    team.moved("bob", &id, "completed");
    let stamps = team.get(&id)["fields"]["stamps"].clone();
    let order = ["offered", "accepted", "started", "completed"];
    let times: Vec<u64> = order.iter().map(|name| stamps[*name].as_u64().unwrap()).collect();
    assert!(times.windows(2).all(|two| two[0] <= two[1]), "{stamps}");
    let again = team.project.run(&[
        "do",
        "memory.move",
        &json!({ "id": id, "to": "started" }).to_string(),
        "--as",
        "bob",
    ]);
    assert_eq!(again.code, Some(1), "what is completed stays so: {again:?}");
}

/// Case 77.
#[test]
fn only_its_agent_reports_on_an_assignment() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = text(&team.assigned(&[]), "assignment_id");
    for (who, to) in [("carol", "accepted"), ("alice", "started"), ("carol", "cancelled")] {
        let step = json!({ "id": id, "to": to }).to_string();
        let ran = team.project.run(&["do", "memory.move", &step, "--as", who, "--json"]);
        assert_eq!(ran.code, Some(1), "{who} {to}: {ran:?}");
        assert_eq!(team.get(&id)["status"], "offered");
    }
}

/// Case 78.
#[test]
fn blocked_work_goes_on_and_ends() {
    let team = Team::new(&["alice", "bob"]);
    let id = text(&team.assigned(&[]), "assignment_id");
    for to in ["accepted", "started", "blocked", "started", "completed"] {
        assert_eq!(team.moved("bob", &id, to)["record"]["status"], to);
    }
}

#[test]
fn a_review_is_a_candidate_with_messages_and_a_loop_if_wanted() {
    let team = Team::new(&["alice", "bob"]);
    let done =
        team.memory("alice", &["coordinate", "review", "Look at a.", "--to", "bob", "--open-loop"]);
    let candidate = team.get(&text(&done["result"], "candidate_id"));
    assert_eq!(
        (&candidate["status"], &candidate["kind"]),
        (&json!("proposed"), &json!("candidate"))
    );
    let made = team.get(&text(&done["result"], "loop_id"));
    assert_eq!(made["fields"]["slots"][0]["agent"], "bob");
    let thoughts = team.memory("alice", &["coordinate", "ideate", "What next?", "--to", "bob"]);
    let made = team.get(&text(&thoughts["result"], "loop_id"));
    assert_eq!(
        (&made["fields"]["loop_kind"], &made["fields"]["phase"]),
        (&json!("ideation"), &json!("proposal"))
    );
    let summary = team.memory("alice", &["coordinate", "summarize"]);
    assert_eq!(summary["result"]["loops_open"], 2);
}

/// The same verbs over the protocol, with what they say can be done next.
#[test]
fn hosts_give_out_work_too() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let mut host = Host::silent(&team.project, &["--dialect", "memory", "--as", "alice"]);
    host.introduce("tests", "2025-11-25");
    let plan = team.plan("Rework");
    let scopes = json!({ "bob": "src/a", "carol": "src/b" });
    let assign = json!({ "intent": "assign", "task": "Do it.", "scopes": scopes, "plan_id": plan });
    let done = host.done("bclaw_coordinate", assign);
    assert_eq!(done["result"]["messages_sent"], 2, "two lanes of one plan: {done}");
    let next = &done["next_actions"][0];
    host.done(&text(next, "tool"), next["args"].clone());
    let again =
        json!({ "intent": "assign", "task": "Do it.", "targetAgents": ["bob"], "planId": plan });
    let (_, error) = host.failed("bclaw_coordinate", again);
    assert_eq!(error["kind"], "plan_already_assigned");
    let (_, error) = host.failed("bclaw_coordinate", json!({ "intent": "nope", "task": "x" }));
    assert_eq!(error["kind"], "validation_error");
    assert!(text(&error, "message").contains("summarize"), "{error}");
    let leak =
        json!({ "intent": "consult", "task": "Use AKIAIOSFODNN7EXAMPLE", "targetAgents": ["bob"] });
    let (_, error) = host.failed("bclaw_coordinate", leak);
    assert!(!error.to_string().contains("AKIAIOSFODNN7EXAMPLE"), "{error}");
    let open =
        json!({ "intent": "open", "kind": "debug", "task": "Find it", "allow_orphan": true });
    let made = host.done("bclaw_loop", open);
    let id = text(&made["result"]["loop"], "id");
    let (_, error) =
        host.failed("bclaw_loop", json!({ "intent": "close", "loopId": id, "status": "failed" }));
    assert_eq!(error["kind"], "validation_error");
    let (_, error) = host.failed("bclaw_dispatch", json!({ "intent": "analysis" }));
    assert_eq!(error["kind"], "not_found");
}

/// Work that names no path may need any file; whoever starts from a commit is told which.
#[test]
fn work_without_a_path_waits_for_a_clean_tree() {
    let team = Team::new(&["alice", "bob"]);
    team.project.write("src/a/new.rs", "// not committed\n");
    for rest in [
        &["assign", "Do it.", "--to", "bob"][..],
        &["assign", "Do it.", "--to", "bob", "--scope", "review-loop:lop_1"],
        &["review", "Look at it.", "--to", "bob"],
    ] {
        let (_, error) = team.refused("alice", &[&["coordinate"], rest].concat());
        assert_eq!(error["kind"], "dirty_working_tree", "{rest:?}: {error}");
        assert_eq!(error["details"]["files"], json!(["src/a/new.rs"]));
    }
    let from =
        |name: &'static str| ["coordinate", "assign", "Do it.", "--to", "bob", "--ref", name];
    let (_, error) = team.refused("alice", &from("nowhere"));
    assert_eq!(error["kind"], "validation_error", "{error}");
    assert!(error["message"].as_str().unwrap().contains("nowhere"), "{error}");
    let done = team.memory("alice", &from("HEAD"));
    let commit = team.git(&["rev-parse", "HEAD"]);
    let lane = &done["result"]["delivery_plan"][0];
    for id in ["assignment_id", "message_id"] {
        let shown = team.get(lane[id].as_str().unwrap())["text"].as_str().unwrap().to_owned();
        assert!(shown.starts_with("Do it.") && shown.contains(&commit), "{shown}");
    }
    let shown = |done: &Value, id: &str| {
        let id = done["result"]["delivery_plan"][0][id].as_str().unwrap().to_owned();
        team.get(&id)["text"].as_str().unwrap().contains(&commit)
    };
    let review = ["coordinate", "review", "Look at it.", "--to", "bob", "--ref", "HEAD"];
    assert!(shown(&team.memory("alice", &review), "message_id"));
    team.act("carol", "agent.register", json!({}));
    // The work stays what it is, with what it starts from.
    let reroute = |more: &[&'static str]| {
        [&["coordinate", "reroute", "--assignment", "asgn#1", "--to", "carol"], more].concat()
    };
    let (_, error) = team.refused("alice", &reroute(&["--ref", "HEAD"]));
    assert!(error["message"].as_str().unwrap().contains("leave out --ref"), "{error}");
    assert!(shown(&team.memory("alice", &reroute(&["--allow-dirty"])), "message_id"));
    team.git(&["add", "."]);
    team.git(&["commit", "--quiet", "-m", "Second"]);
    team.memory("alice", &["coordinate", "assign", "And that.", "--to", "bob"]);
}

/// A request that is repeated means what it meant, whatever changed around it.
#[test]
fn a_repeated_request_keeps_its_first_choice() {
    let team = Team::new(&["alice", "bob"]);
    let ask = ["coordinate", "consult", "What now?", "--request-id", "c1"];
    assert_eq!(team.memory("alice", &ask)["result"]["messages_sent"], 1);
    team.project.ok(&["do", "agent.register", "{}", "--as", "carol"]);
    assert_eq!(team.memory("alice", &ask)["result"]["messages_sent"], 1, "carol came later");
    assert_eq!(team.memory("alice", &["find", "message"])["total"], 1);
    let assign = ["coordinate", "assign", "Do it.", "--to", "bob", "--scope", "src/a"];
    team.memory("alice", &[&assign[..], &["--allow-dirty"]].concat());
    let route = ["coordinate", "reroute", "--assignment", "asgn#1", "--to", "carol"];
    let keyed = [&route[..], &["--request-id", "r1"]].concat();
    team.memory("alice", &[&keyed[..], &["--allow-dirty"]].concat());
}

#[test]
fn nobody_is_given_work_on_a_plan_that_is_over() {
    let team = Team::new(&["alice", "bob"]);
    let plan = team.plan("over");
    team.memory("alice", &["transition", &plan, "done"]);
    let assign = ["coordinate", "assign", "Do it.", "--to", "bob", "--scope", "src/a"];
    let args = [&assign[..], &["--plan", &plan, "--allow-dirty"]].concat();
    let (_, error) = team.refused("alice", &args);
    assert_eq!(error["details"]["code"], "plan_is_over", "{error}");
    let shown = team.memory("alice", &["work", "execute", "--scope", "src/a", "--plan", &plan]);
    assert_eq!(shown["warning_details"][0]["code"], "plan_is_over", "{shown}");
}
