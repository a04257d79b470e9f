//! Meters, budgets, groups and room through the command line.

use crate::support::Sandbox;
use serde_json::{Value, json};

/// A worker at work, with options of `workspace create`.
#[track_caller]
fn worker(project: &Sandbox, name: &str, options: &[&str]) -> String {
    let args = ["workspace", "create", "--agent", name, "--directive", "Work.", "--as", "alice"];
    let made = project.json(&[&args[..], options].concat());
    project.ok(&["inbox", "--take", "--as", name]);
    made["workspace"].as_str().unwrap().to_owned()
}

#[track_caller]
fn used(project: &Sandbox, workspace: &str) -> Value {
    project.json(&["meter", workspace])["used"].clone()
}

/// Shows W-RES-02, W-RES-04, W-RES-05, W-RES-07.
#[test]
fn a_budget_is_given_watched_raised_and_used_up() {
    let (project, _) = Sandbox::with_run();
    let budget = "tokens=100k,cost=2.50,time=1h,context=1MiB,trail=1MiB";
    let bob = worker(&project, "bob", &["--budget", budget, "--warn-at", "50"]);
    let shown = project.ok(&["workspace", "show", &bob]).out;
    assert!(shown.contains("tokens=100k") && shown.contains("cost=2.50"), "{shown}");
    let report = ["meter", "report", "--tokens", "60k", "--cost", "0.25", "--as", "bob"];
    let output = project.ok(&report).out;
    assert!(output.contains("60%") && output.contains("warned of"), "{output}");
    let all = project.ok(&["meter"]).out;
    assert!(all.contains("60k/100k") && all.contains("█") && all.contains("total"), "{all}");
    assert!(!all.contains('\u{1b}'), "colours are for terminals");

    let (_, rule) =
        project.refused(&["workspace", "budget", &bob, "--tokens", "50k", "--as", "alice"]);
    assert_eq!(rule, "W-RES-07");
    let (_, rule) =
        project.refused(&["workspace", "budget", &bob, "--tokens", "1M", "--as", "bob"]);
    assert_eq!(rule, "W-ROLE-04");
    let raised = project.json(&["workspace", "budget", &bob, "--tokens", "200k", "--as", "alice"]);
    let tokens = raised["limits"].as_array().unwrap();
    let tokens = tokens.iter().find(|own| own["dimension"] == "token_limit").unwrap();
    assert_eq!((&tokens["limit"], &tokens["left"]), (&json!(200_000), &json!(140_000)));

    let near =
        ["signal", "blocked", "--reason", "Nearly out.", "--budget", "tokens", "--as", "bob"];
    project.ok(&near);
    let heard = project.ok(&["inbox", "--take", "--as", "alice"]).out;
    assert!(heard.contains("blocked: Nearly out. [tokens: 60k of 200k]"), "{heard}");
    let over = project.json(&["meter", "report", &bob, "--tokens", "150k", "--as", "alice"]);
    assert_eq!((&over["status"], &over["exceeded"]), (&json!("failed"), &json!("token_limit")));
    let ended = project.json(&["workspace", "show", &bob]);
    assert_eq!(
        (&ended["ended"], &ended["reason"]),
        (&json!("budget_exceeded"), &json!("token_limit"))
    );
    let (_, rule) = project.refused(&["meter", "report", &bob, "--tokens", "1", "--as", "alice"]);
    assert_eq!(rule, "W-WS-25");
    for bad in [&["--budget", "gold=5"][..], &["--budget", "tokens=1.5"], &["--liveness", "0s"]] {
        let create = ["workspace", "create", "--agent", "c", "--directive", "x", "--as", "alice"];
        assert_eq!(project.run(&[&create[..], bad].concat()).code, Some(2), "{bad:?}");
    }
    project.ok(&["trail", "verify", "--signatures"]);
}

/// The runtime counts what passes through it by itself.
/// Shows W-RES-03, W-CP-11.
#[test]
fn content_is_counted_by_its_size() {
    let (project, root) = Sandbox::with_run();
    let bob = worker(&project, "bob", &["--context", &"c".repeat(300)]);
    let before = used(&project, &bob);
    assert_eq!((&before["context_bytes"], &before["received_bytes"]), (&json!(300), &json!(5)));
    project.ok(&["workspace", "write", "notes.md", &"n".repeat(1000), "--as", "bob"]);
    assert_eq!(used(&project, &bob)["context_bytes"], 1300);
    project.ok(&["workspace", "write", "notes.md", "short", "--as", "bob"]);
    assert_eq!(used(&project, &bob)["context_bytes"], 305, "what is there now");
    project.ok(&["send", &root, &"q".repeat(400), "--type", "query", "--as", "bob"]);
    project.write("src/lib.rs", &"x".repeat(2000));
    let checkpoint = json!({ "type": "artifact", "status": "final", "intent": "done",
        "files_changed": [{ "path": "src/lib.rs", "content": { "text": "x".repeat(2000) } }],
        "resource_usage": { "cost": 0, "tokens_consumed": 77, "wall_time": 0 } });
    project.ok(&["do", "checkpoint.create", &checkpoint.to_string(), "--as", "bob"]);
    let after = used(&project, &bob);
    assert_eq!((&after["sent_bytes"], &after["checkpoint_bytes"]), (&json!(400), &json!(2000)));
    assert_eq!(after["tokens"], 0, "an agent's word is not the meter");
    assert!(after["trail_bytes"].as_u64().unwrap() > 4000, "{after}");
    let entries = project.entries();
    let differs = entries.iter().find(|entry| entry["kind"] == "resource_discrepancy").unwrap();
    assert_eq!(differs["body"]["field"], "tokens_consumed");
    assert_eq!(differs["body"]["agent_value"], 77);
    // A meter is the same for whoever reads the trail anew.
    std::fs::remove_dir_all(project.state().join("snapshots")).ok();
    let again = used(&project, &bob);
    for field in
        ["context_bytes", "sent_bytes", "received_bytes", "checkpoint_bytes", "trail_bytes"]
    {
        assert_eq!(again[field], after[field], "{field}");
    }
    project.ok(&["trail", "verify"]);
}

/// Shows W-GRP-02, W-GRP-03, W-GRP-04, W-WS-15.
#[test]
fn groups_are_listed_hurried_and_given_up() {
    let (project, _) = Sandbox::with_run();
    let bob = worker(&project, "bob", &["--group", "parsers"]);
    let carol = worker(&project, "carol", &["--group", "parsers", "--priority", "critical"]);
    let dave = worker(&project, "dave", &[]);
    project.ok(&["meter", "report", "--tokens", "500", "--as", "bob"]);
    project.ok(&["meter", "report", "--tokens", "700", "--as", "carol"]);
    let listed = project.json(&["group", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed[0]["group"], &listed[0]["used"]["tokens"]),
        (&json!("parsers"), &json!(1200))
    );
    let sums = project.ok(&["meter", "--by", "group"]).out;
    assert!(sums.contains("parsers") && sums.contains("1200") && sums.contains("total"), "{sums}");
    assert_eq!(project.json(&["group", "show", "parsers"]).as_array().unwrap().len(), 2);
    assert_eq!(project.run(&["group", "show", "nobody"]).code, Some(1));

    let priority = |id: &str| project.json(&["workspace", "show", id])["priority"].clone();
    project.ok(&["workspace", "priority", &dave, "background", "--as", "alice"]);
    let hurried = project.json(&["group", "priority", "parsers", "interactive", "--as", "alice"]);
    assert_eq!(hurried["affected"], json!([bob, carol]));
    assert_eq!((priority(&bob), priority(&carol)), (json!("interactive"), json!("interactive")));
    assert_eq!(priority(&dave), "background");

    let (_, rule) = project.refused(&["group", "abort", "parsers", "--as", "bob"]);
    assert_eq!(rule, "W-ROLE-04");
    project.ok(&["signal", "failed", "--reason", "no", "--as", "carol"]);
    let args = ["group", "abort", "parsers", "--reason", "wrong grammar", "--as", "alice"];
    let output = project.ok(&args).out;
    assert!(output.contains("1 workspace ended, 1 skipped"), "{output}");
    assert_eq!(project.json(&["workspace", "show", &bob])["ended"], "batch_abort");
    assert_eq!(project.json(&["workspace", "show", &dave])["status"], "active");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-ADM-01, W-ADM-02.
#[test]
fn a_run_has_as_much_room_as_it_was_begun_with() {
    let project = Sandbox::new();
    let start =
        ["coordinator", "start", "--max-workspaces", "1", "--min-disk", "1", "--as", "alice"];
    project.ok(&start);
    worker(&project, "bob", &[]);
    let shown = project.ok(&["coordinator", "show"]).out;
    assert!(shown.contains("1 of 1 workspaces") && shown.contains("1 B of disk"), "{shown}");
    assert!(project.ok(&["status"]).out.contains("room: 1 of 1 workspaces"));
    let create = ["workspace", "create", "--agent", "carol", "--directive", "x", "--as", "alice"];
    let (ran, rule) = project.refused(&create);
    assert_eq!(rule, "W-ADM-01");
    assert!(ran.error()["message"].as_str().unwrap().contains("compute"), "{ran:?}");
    let rejected =
        project.entries().into_iter().rfind(|entry| entry["kind"] == "workspace_rejected");
    let body = rejected.unwrap()["body"].clone();
    assert_eq!(body["reason"], "capacity_exhausted");
    assert_eq!(body["short"], json!([{ "capacity": "compute", "limit": 1, "measured": 2 }]));
    let status = project.ok(&["status"]).out;
    assert!(status.contains("[W-ADM-01] capacity_exhausted compute 2, limit 1"), "{status}");
    project.ok(&[&create[..], &["--priority", "critical"]].concat());
    project.ok(&["coordinator", "stop", "--force", "--as", "alice"]);

    // No disk has as much room as this.
    project.ok(&["coordinator", "start", "--min-disk", "8000000GiB", "--as", "alice"]);
    let (ran, rule) = project.refused(&create);
    assert_eq!(rule, "W-ADM-01");
    assert!(ran.error()["message"].as_str().unwrap().contains("storage"), "{ran:?}");
    project.ok(&["trail", "verify"]);
}

/// Shows W-RES-09.
#[test]
fn the_coordinator_hears_of_an_agent_that_went_quiet() {
    let (project, _) = Sandbox::with_run();
    let bob = worker(&project, "bob", &["--liveness", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    let looked = project.ok(&["inbox", "--as", "alice"]).out;
    assert!(looked.contains("quiet") && looked.contains("nothing of bob since then, 1 interval"));
    let taken = project.json(&["inbox", "--take", "--as", "alice"]);
    assert_eq!(taken["quiet"][0]["workspace"], json!(bob));
    assert!(project.kinds().contains(&"liveness_warning".to_owned()));
    assert_eq!(project.json(&["workspace", "show", &bob])["status"], "active");
    project.ok(&["trail", "verify"]);
}

/// Shows W-RES-08, W-DEL-03.
#[test]
fn a_delegate_hands_out_its_own_budget() {
    let (project, _) = Sandbox::with_run();
    let bob = worker(&project, "bob", &["--delegate", "--budget", "tokens=100k"]);
    let create = ["workspace", "create", "--agent", "carol", "--directive", "x", "--as", "bob"];
    let (ran, rule) = project.refused(&create);
    assert_eq!(rule, "W-RES-08");
    assert_eq!(ran.error()["details"]["allowed"], json!(["token_limit up to 100000"]));
    project.ok(&[&create[..], &["--budget", "tokens=60k"]].concat());
    let (_, rule) = project.refused(&[&create[..], &["--budget", "tokens=41k"]].concat());
    assert_eq!(rule, "W-RES-08");
    let meter = project.json(&["meter", &bob]);
    assert_eq!(
        (&meter["limits"][0]["given"], &meter["limits"][0]["left"]),
        (&json!(60_000), &json!(40_000))
    );
    project.ok(&["trail", "verify", "--signatures"]);
}
