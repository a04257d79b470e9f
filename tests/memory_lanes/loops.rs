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
fn a_loop_checks_versions_and_repeats_nothing() {
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

#[test]
fn a_check_leads_on_or_back_and_a_loop_goes_on() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let stand = |who: &str, args: &[&str]| {
        let own = team.memory(who, args)["result"]["loop"].clone();
        (text(&own, "phase"), own["iteration"].as_u64().unwrap())
    };
    let verify = |verdict: &'static str| ["loop", "verify", &id, "--verdict", verdict];
    let (_, error) = team.refused("alice", &verify("passed"));
    assert!(text(&error, "message").contains("is in bind"), "{error}");
    stand("alice", &["loop", "advance", &id]);
    stand("alice", &["loop", "advance", &id]);
    let why = [&verify("failed")[..], &["--reason", "two tests fail"]].concat();
    assert_eq!(stand("alice", &why), ("execute".to_owned(), 2));
    stand("alice", &["loop", "advance", &id]);
    assert_eq!(stand("alice", &["loop", "continue", &id]), ("execute".to_owned(), 3));
    let (_, error) = team.refused("alice", &["loop", "continue", &id]);
    assert!(text(&error, "message").contains("advance"), "{error}");
    stand("alice", &["loop", "advance", &id]);
    assert_eq!(stand("alice", &verify("passed")), ("handoff_ready".to_owned(), 3));
    let own = team.memory("alice", &["loop", "get", &id])["result"]["loop"].clone();
    let found = own["artifacts"].as_array().unwrap();
    assert_eq!(found[0]["description"], "two tests fail", "{own}");
    assert_eq!((&found[0]["ref"], &found[1]["ref"]), (&json!("failed"), &json!("passed")));
    team.memory("alice", &["loop", "pause", &id]);
    let own = team.memory("alice", &["loop", "continue", &id]);
    assert_eq!(own["result"]["loop"]["status"], "open");
}

#[test]
fn a_place_is_bound_to_work_and_goes_over_with_it() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let assign = ["coordinate", "assign", "Build it", "--to", "bob", "--scope", "src/a"];
    team.memory("alice", &[&assign[..], &["--allow-dirty"]].concat());
    let bind = |slot: &'static str| ["loop", "bind", &id, "--slot", slot, "--assignment", "asgn#1"];
    let (_, error) = team.refused("alice", &bind("slot_2"));
    assert!(text(&error, "message").contains("bob's work"), "{error}");
    team.refused("bob", &bind("slot_1"));
    let own = team.memory("alice", &bind("slot_1"))["result"]["loop"].clone();
    assert_eq!(own["slots"][0]["assignment"], "asgn_00000001");
    team.memory("bob", &["transition", "asgn#1", "accepted"]);
    let over = ["loop", "takeover", &id, "--slot", "slot_1", "--agent", "carol"];
    let own = team.memory("alice", &over)["result"]["loop"].clone();
    let slot = &own["slots"][0];
    assert_eq!((&slot["agent"], &slot["assignment"]), (&json!("carol"), &json!("asgn_00000002")));
    assert_eq!(team.get("asgn#1")["status"], "rerouted");
    team.memory("carol", &["transition", "asgn#2", "accepted"]);
    assert_eq!(team.project.json(&["claims"])[0]["holder"], "agent:carol");
    let own = team.memory("alice", &over)["result"]["loop"].clone();
    assert_eq!(own["slots"][0]["assignment"], "asgn_00000002", "it is hers already: {own}");
    let (_, error) =
        team.refused("alice", &["loop", "takeover", &id, "--slot", "slot_1", "--agent", "nobody"]);
    assert!(text(&error, "message").contains("no agent nobody"), "{error}");
}

#[test]
fn a_question_in_a_loop_waits_for_its_answer() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let ask = |who: &str, rest: &[&str]| {
        let args = [&["loop", "request-input", &id, "--task", "Which parser?"], rest].concat();
        team.memory(who, &args)["result"]["waiting_for_input"].clone()
    };
    let open = ask("bob", &["--request-id", "q1"]);
    assert_eq!((&open[0]["from"], &open[0]["to"]), (&json!("bob"), &json!("alice")), "{open}");
    assert_eq!(ask("bob", &["--request-id", "q1"]).as_array().unwrap().len(), 1, "asked once");
    assert_eq!(ask("alice", &["--slot", "slot_2"]).as_array().unwrap().len(), 2);
    let answer = ["loop", "provide-input", &id, "--task", "The old one"];
    let (_, error) = team.refused("bob", &answer);
    assert!(text(&error, "message").contains("waits for an answer of bob"), "{error}");
    let (_, error) = team.refused("bob", &[&answer[..], &["--message", "msg#2"]].concat());
    assert!(text(&error, "message").contains("waits for an answer of bob"), "{error}");
    let left = team.memory("alice", &answer)["result"]["waiting_for_input"].clone();
    assert_eq!(left.as_array().unwrap().len(), 1, "carol's is open: {left}");
    assert_eq!(team.get("msg#1")["status"], "closed");
    let shown = team.get("msg#3");
    assert_eq!((&shown["fields"]["to"], &shown["text"]), (&json!("bob"), &json!("The old one")));
    team.memory("carol", &[&answer[..], &["--message", "msg#2"]].concat());
    let own = team.memory("alice", &["loop", "get", &id])["result"]["waiting_for_input"].clone();
    assert_eq!(own, json!([]));
}

/// A refused step changes nothing.
#[test]
fn a_refused_step_of_a_loop_does_nothing() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let turn = ["loop", "turn", &id, "--slot", "slot_1"];
    let (_, error) = team.refused("carol", &turn);
    assert_eq!(error["rule"], "A-MEM-06", "{error}");
    assert_eq!(team.memory("alice", &["find", "assignment"])["total"], 0);
    assert_eq!(team.project.kinds().last().unwrap(), "command.refused", "and is on record");
    team.memory("alice", &turn);
    let over = ["loop", "takeover", &id, "--slot", "slot_1", "--agent", "carol"];
    let (_, error) = team.refused("alice", &[&over[..], &["--expect-version", "99"]].concat());
    assert_eq!(error["kind"], "version_conflict", "{error}");
    assert_eq!(team.get("asgn#1")["status"], "offered");
    team.refused("bob", &over);
    assert_eq!(team.get("asgn#1")["status"], "offered");
    team.memory("alice", &["loop", "close", &id]);
    for step in ["takeover", "request-input", "bind", "advance", "add-artifact"] {
        let args = [
            &["loop", step, &id, "--slot", "slot_1", "--agent", "carol", "--task", "t"][..],
            &["--assignment", "asgn#1", "--artifact", "a=b"],
        ];
        let (_, error) = team.refused("alice", &args.concat());
        assert_eq!(error["rule"], "A-MEM-03", "{step}: {error}");
    }
    let own = team.memory("alice", &["loop", "get", &id]);
    assert_eq!(own["result"]["waiting_for"], json!([]));
}

/// A turn that is over ends its work, and the next has its own.
#[test]
fn every_turn_has_work_of_its_own() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let id = opened(&team);
    let turn = |task: &'static str| ["loop", "turn", &id, "--slot", "slot_1", "--task", task];
    team.memory("alice", &turn("one"));
    let (_, error) = team.refused("alice", &turn("two"));
    assert!(text(&error, "message").contains("complete its turn first"), "{error}");
    team.memory("bob", &["loop", "complete-turn", &id, "--slot", "slot_1", "--outcome", "o"]);
    assert_eq!(team.get("asgn#1")["status"], "completed");
    team.memory("alice", &turn("two"));
    assert_eq!(team.get("asgn#2")["text"], "two");
}

/// Turns that are given at once get in each other's way; asked for again, each place has its work.
#[test]
fn turns_given_at_once_are_asked_for_again() {
    let team = Team::new(&["alice", "bob", "carol", "dora", "eve"]);
    let mut open = vec!["loop", "open", "--kind", "review", "--task", "t", "--allow-orphan"];
    for name in ["bob", "carol", "dora", "eve"] {
        open.extend(["--agent", name]);
    }
    team.memory("alice", &open);
    let args = |n: usize| {
        let (slot, key) = (format!("slot_{n}"), format!("turn{n}"));
        let args = ["memory", "loop", "turn", "lop#1", "--slot", &slot, "--request-id", &key];
        let args = args.into_iter().chain(["--as", "alice", "--json"]);
        args.map(str::to_owned).collect::<Vec<String>>()
    };
    let start = |n: usize| {
        let mut command = team.project.command();
        command.args(args(n)).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (1..=4).map(start).collect();
    for mut own in all {
        own.wait().unwrap();
    }
    for n in 1..=4 {
        let again: Vec<String> = args(n);
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        team.project.ok(&again);
    }
    let own = team.memory("alice", &["loop", "get", "lop#1"])["result"]["loop"].clone();
    for slot in own["slots"].as_array().unwrap() {
        let work = team.get(slot["assignment"].as_str().unwrap());
        assert_eq!(work["status"], "offered", "{own}");
    }
}

#[test]
fn phases_go_on_until_the_last_and_loops_are_listed_by_kind() {
    let team = Team::new(&["alice", "bob"]);
    for (kind, phases) in [
        ("ideation", &["critique", "revision", "synthesis"][..]),
        ("research", &["gather", "synthesis"]),
        ("debug", &["diagnose", "fix", "verify"]),
    ] {
        let open = ["loop", "open", "--kind", kind, "--task", "t", "--agent", "bob"];
        let made = team.memory("alice", &[&open[..], &["--allow-orphan"]].concat());
        let id = text(&made["result"]["loop"], "id");
        for phase in phases {
            let own = team.memory("alice", &["loop", "advance", &id])["result"]["loop"].clone();
            assert_eq!((&own["phase"], &own["iteration"]), (&json!(phase), &json!(1)), "{own}");
        }
        let (_, error) = team.refused("alice", &["loop", "advance", &id]);
        assert!(text(&error, "message").contains("the last phase"), "{error}");
    }
    team.memory("alice", &["loop", "close", "lop#1", "--status", "cancelled"]);
    let total = |rest: &[&str]| {
        team.memory("bob", &[&["loop", "list"], rest].concat())["result"]["total"].clone()
    };
    assert_eq!(total(&[]), 3);
    assert_eq!(total(&["--kind", "debug"]), 1);
    assert_eq!(total(&["--status", "cancelled"]), 1);
    assert_eq!(total(&["--status", "blocked"]), 0);
}
