//! The same under `althing`, in the house's own manner.

use super::*;
use serde_json::{Value, json};

#[test]
fn both_command_lines_see_the_same() {
    let tools = Tools::new();
    let project = &tools.project;
    project.ok(&["symbol", "set", "F1", "a.rs", "--as", "alice"]);
    assert_eq!(tools.ok("heimdall-resolve", &["F1"]), "a.rs\n");
    assert_eq!(project.ok(&["symbol", "get", "F1"]).out, "a.rs\n");
    assert_eq!(project.json(&["symbol", "reverse", "a.rs"])["id"], "F1");
    assert_eq!(project.json(&["symbol", "list"])[0]["set_by"], "agent:alice");
    tools.ok("heimdall-blackboard", &["set", "k", "v"]);
    assert_eq!(project.ok(&["fact", "get", "k"]).out, "v\n");
    project.ok(&["fact", "delete", "k"]);
    assert_eq!(project.run(&["fact", "get", "k"]).code, Some(1));
    project.ok(&["capsule", "write", "w1", "--what", "x"]);
    project.ok(&["capsule", "write", "w2", "--what", "y", "--depends", "w1"]);
    let shown = project.ok(&["capsule", "hydrate", "w2"]).out;
    assert_eq!(shown, tools.ok("heimdall-capsule", &["hydrate", "w2"]));
    assert_eq!(project.json(&["capsule", "deps", "w2"])["ids"], json!(["w1", "w2"]));
    let cycle =
        project.run(&["capsule", "write", "w1", "--what", "x", "--depends", "w2", "--json"]);
    assert_eq!((cycle.code, &cycle.error()["rule"]), (Some(1), &json!("A-SHARE-03")));
    let own = project.json(&["haid", "--role", "Cursor"]);
    assert_eq!(own["haid"], format!("{}/cursor", tools.own()));
    assert_eq!(own["agent"], format!("{}+cursor", tools.own()));
}

#[test]
fn briefs_are_strict_unless_told_otherwise() {
    let tools = Tools::new();
    let project = &tools.project;
    project.ok(&["symbol", "set", "F1", "a.rs"]);
    let brief = ["brief", "--task", "1", "--spec", "do it", "--symbols"];
    let made = project.json(&[&brief[..], &["F1"]].concat());
    assert_eq!(made["tokenizer"], "o200k_base");
    assert!(made["tokens"].as_u64() > Some(10), "{made}");
    let ran = project.run(&[&brief[..], &["F1,NOPE", "--json"]].concat());
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.error()["details"]["unresolved"][0]["reference"], "NOPE");
    let loose = project.json(&[&brief[..], &["F1,NOPE", "--lenient"]].concat());
    assert!(loose["text"].as_str().unwrap().contains("NOPE = <UNRESOLVED>"));
}

#[test]
fn tokens_are_shown_exported_and_compared() {
    let tools = Tools::new();
    let project = &tools.project;
    assert_eq!(project.ok(&["tokens"]).out, "no tokens on the ledger yet\n");
    project.ok(&[
        "tokens",
        "log",
        "--role",
        "orchestration",
        "--kind",
        "delta_brief",
        "--text",
        "hello world",
    ]);
    project.ok(&[
        "tokens",
        "log",
        "--role",
        "a,\"b\"",
        "--kind",
        "tool_list",
        "--tokens",
        "30",
        "--tool",
        "x",
    ]);
    project.ok(&["tokens", "baseline", "orchestration", "100"]);
    let shown = project.ok(&["tokens"]).out;
    assert!(shown.contains('█'), "{shown}");
    let csv = project.ok(&["tokens", "--csv"]).out;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "role,tokens,counted,reported,messages");
    assert!(lines.contains(&"orchestration,2,2,0,1"), "{csv}");
    assert!(lines.contains(&"\"a,\"\"b\"\"\",30,0,30,1"), "{csv}");
    let delta = project.json(&["tokens", "delta"]);
    assert_eq!(delta["net_saving"], 68, "what tools cost is not saved: {delta}");
    // Tokens for tools of a role with a baseline are counted once.
    project.ok(&["tokens", "baseline", "cursor", "50"]);
    let line = ["tokens", "log", "--role", "cursor", "--kind", "tool_result", "--tokens", "10"];
    project.ok(&line);
    let delta = project.json(&["tokens", "delta"]);
    assert_eq!((&delta["net_saving"], &delta["tools"]), (&json!(68 + 40), &json!(40)), "{delta}");
    let one = project.json(&["tokens", "delta", "--role", "cursor"]);
    assert_eq!(one["net_saving"], 40, "a role is asked about by itself: {one}");
    let line = ["tokens", "log", "--role", "x", "--kind", "note", "--tokens", "0"];
    project.ok(&line);
    for by in ["role", "agent", "task", "tool", "kind"] {
        assert_eq!(project.json(&["tokens", "--by", by])["total"]["tokens"], 42);
    }
}

#[test]
fn messages_and_their_schema() {
    let tools = Tools::new();
    let schema = tools.project.json(&["validate", "--schema"]);
    assert_eq!(schema["$id"], "https://heimdall/protocol/message-schema-2.0.0.json");
    let good = r#"{"type":"question","from":"a","msg_id":"m","question":"q"}"#;
    let ran = tools.project.run_with(&["validate", "-"], good.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "valid\n"));
    let ran = tools.project.run_with(&["validate", "-", "--json"], b"{}");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.error()["details"]["errors"].as_array().unwrap().len(), 3);
}

#[test]
fn without_a_project_the_house_says_so() {
    let bare = Sandbox::without_project();
    for args in
        [&["symbol", "list"][..], &["symbol", "set", "a", "b"], &["tokens"], &["capsule", "list"]]
    {
        let ran = bare.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert_eq!(ran.error()["kind"], "not_found");
    }
}

#[test]
fn budgets_of_tokens_come_from_the_meters_of_workspaces() {
    let (project, _) = Sandbox::with_run();
    let args = ["workspace", "create", "--agent", "w1", "--directive", "d", "--as", "alice"];
    project.claim("w1", "w1");
    project.ok(&[&args[..], &["--budget", "tokens=1000"]].concat());
    project.ok(&["meter", "report", "--tokens", "250", "--as", "w1"]);
    project.ok(&["tokens", "log", "--role", "w1", "--kind", "k", "--tokens", "5", "--as", "w1"]);
    let budgets = project.json(&["tokens"])["budgets"].clone();
    let own = &budgets[0];
    assert_eq!(
        (&own["agent"], &own["used"], &own["limit"]),
        (&json!("w1"), &json!(250), &json!(1000))
    );
    let shown = project.ok(&["tokens"]).out;
    assert!(shown.contains("BUDGET OF") && shown.contains("750"), "{shown}");
}

/// Two at once: every one is on record, the last one stands, and the file says so.
#[test]
fn writers_of_one_key_lose_nothing() {
    let tools = Tools::new();
    let project = &tools.project;
    project.ok(&["init"]);
    project.ok(&["rebuild"]);
    std::thread::scope(|scope| {
        for agent in ["a", "b", "c"] {
            scope.spawn(move || {
                for n in 0..10 {
                    project.ok(&["fact", "set", "port", &format!("{agent}{n}"), "--as", agent]);
                }
            });
        }
    });
    let all = project.entries();
    let set: Vec<&Value> = all.iter().filter(|entry| entry["kind"] == "fact.set").collect();
    assert_eq!(set.len(), 30, "none is lost");
    let last = set.last().unwrap()["body"]["value"].as_str().unwrap();
    assert_eq!(project.ok(&["fact", "get", "port"]).out.trim_end(), last);
    let file = std::fs::read_to_string(project.path().join(".planning/blackboard.json")).unwrap();
    assert!(file.contains(last), "{file}");
}
