//! What is typed and settles nothing, what cannot be typed, and how answers read: people are told in
//! words of the command line.

use super::{agent, create};
use crate::support::Sandbox;
use serde_json::{Value, json};

/// A project with a plan, a claim, a handoff, and two agents.
fn shared() -> Sandbox {
    let project = Sandbox::new();
    for name in ["alice", "bob"] {
        project.ok(&["memory", "work", "consult", "--as", name]);
    }
    project.ok(&["memory", "create", "plan", "one", "--as", "alice"]);
    project.ok(&["memory", "create", "handoff", "yours", "--as", "alice"]);
    project
}

#[test]
fn options_that_settle_nothing_are_named() {
    let project = shared();
    let sequence = r#"items=[{"rank":1,"plan":"pln#1"}]"#;
    project.ok(&["memory", "create", "sequence", "s", "--set", sequence, "--as", "alice"]);
    for (typed, words) in [
        ("context delta --since 2h --max-items 3", "--max-items means nothing with delta"),
        ("context board --max-items 1 --path src", "--path, --max-items mean nothing with board"),
        ("context board-summary --query x", "--query means nothing with board-summary"),
        ("context memory --since 2h", "--since means nothing with memory"),
        ("work consult --ttl 3h --advisory", "--ttl, --advisory mean nothing with consult"),
        ("coordinate summarize --to bob", "--to means nothing with summarize"),
        (
            "coordinate consult why --to bob --open-loop --assignment asgn#1",
            "--assignment, --open-loop mean nothing with consult",
        ),
        ("dispatch execute --handoff hnd#1 --dry-run", "--handoff means nothing with execute"),
        ("dispatch --reviewer bob --dry-run", "--reviewer means nothing with execute"),
        ("transition pln#1 in_progress --override", "--override means nothing with plan"),
        ("loop list --verdict passed", "--verdict means nothing with list"),
    ] {
        let args: Vec<&str> = ["memory"].into_iter().chain(typed.split(' ')).collect();
        let ran = project.run(&[&args[..], &["--as", "alice"]].concat());
        assert_eq!(ran.code, Some(0), "{typed}: {ran:?}");
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(&format!("ignored: {words}")), "{typed}: {told}");
    }
    // What means something is not named.
    for typed in ["context memory --path src --query x --max-items 2", "work execute --ttl 2h"] {
        let args: Vec<&str> = ["memory"].into_iter().chain(typed.split(' ')).collect();
        let ran = project.run(&[&args[..], &["--as", "alice"]].concat());
        assert!(!format!("{}{}", ran.out, ran.err).contains("ignored"), "{typed}: {ran:?}");
    }
}

#[test]
fn hosts_are_told_of_arguments_that_settle_nothing() {
    let project = shared();
    let mut host = agent(&project, "alice");
    for (tool, args, told) in [
        ("bclaw_context", json!({ "kind": "board", "maxItems": 1 }), "'maxItems' means"),
        ("bclaw_work", json!({ "intent": "resume", "ttl": "3h" }), "'ttl' means"),
        (
            "bclaw_coordinate",
            json!({ "intent": "summarize", "target_agents": ["bob"] }),
            "'targetAgents' means",
        ),
        (
            "bclaw_transition",
            json!({
                "entity": "plans", "id": "pln#1", "to": "in_progress", "coordinator_override": true,
            }),
            "'coordinator_override' means nothing with plan",
        ),
    ] {
        let answer = host.done(tool, args.clone());
        let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
        let told = |own: &Value| own.as_str().is_some_and(|own| own.contains(told));
        assert!(warnings.iter().any(told), "{tool} {args}: {answer}");
    }
    // A switch that is off asks for nothing.
    let args = json!({ "intent": "consult", "advisory": false });
    let answer = host.done("bclaw_work", args);
    assert!(!answer["warnings"].to_string().contains("advisory"), "{answer}");
    create(&mut host, "plan", json!({ "text": "two" }));
}
