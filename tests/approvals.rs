//! People at the gates, through the real program.

use crate::support::{Ran, Sandbox};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// A run that `lead` coordinates for `ada`, with the given highway.
fn begun(highway: &str) -> Sandbox {
    let project = Sandbox::new();
    project.login("ada");
    let args = ["coordinator", "start", "--agent", "lead", "--highway", highway];
    good(&project.as_user("ada", &args));
    project
}

#[track_caller]
fn good(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

fn plan(project: &Sandbox, name: &str) {
    let plan = format!("[[tasks]]\nkey = \"k\"\nname = \"{name}\"\ndescription = \"do it\"\n");
    project.write("plan.toml", &plan);
    project.ok(&["task", "plan", "plan.toml", "--as", "lead"]);
}

fn status(project: &Sandbox, task: &str) -> String {
    project.json(&["task", "show", task])["status"].as_str().unwrap().to_owned()
}

/// Shows W-HH-01, W-HH-09, W-HH-35, W-HH-37.
#[test]
fn a_plan_waits_for_a_person_and_no_agent_gets_past() {
    let project = begun("supervised");
    plan(&project, "parser");
    let narrow = project.command().args(["gate", "list"]).env("COLUMNS", "80").output().unwrap();
    for list in [project.ok(&["gate", "list"]).out, Ran::of(&narrow).out] {
        assert!(list.contains("task_approval") && list.contains("\"parser\""), "{list}");
    }
    let gates = project.json(&["gate", "list"]);
    let gate = gates[0]["gate"].as_str().unwrap();
    for args in [
        vec!["gate", "approve", gate, "--as", "lead", "--json"],
        vec!["task", "approve", "parser", "--as", "lead", "--json"],
        vec!["gate", "approve", gate, "--as", "ada", "--json"],
    ] {
        let ran = project.run(&args);
        assert_eq!(ran.code, Some(1), "{args:?} {ran:?}");
        let refused = project.entries().pop().unwrap();
        assert_eq!(refused["kind"], "command.refused", "the attempt is on record");
    }
    assert_eq!(status(&project, "parser"), "draft");
    let changed = ["gate", "modify", gate, "--name", "lexer", "--priority", "urgent"];
    good(&project.as_user("ada", &changed));
    assert_eq!(status(&project, "lexer"), "pending");
    let entries = project.entries();
    let answer = entries.iter().find(|entry| entry["kind"] == "gate_resolved").unwrap();
    assert_eq!((&answer["actor"], &answer["body"]["actor"]), (&"user:ada".into(), &"ada".into()));
    assert_eq!(answer["proof"]["request"]["name"], "gate.resolve");
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn orders_of_the_coordinator_wait_and_say_so() {
    let project = begun("gated");
    let made = project.json(&[
        "workspace",
        "create",
        "--agent",
        "bob",
        "--directive",
        "go",
        "--as",
        "lead",
    ]);
    assert_eq!(made["type"], "workspace_create");
    assert_eq!(project.json(&["workspace", "list"]).as_array().unwrap().len(), 1);
    let text = project.ok(&["gate", "show", made["gate"].as_str().unwrap()]).out;
    assert!(text.contains("a workspace for agent:bob") && text.contains("  go"), "{text}");
    good(&project.as_user("ada", &["gate", "approve"]));
    project.ok(&["signal", "started", "--as", "bob"]);
    let waits = project.ok(&["workspace", "abort", "agent:bob", "--as", "lead"]).out;
    assert!(waits.contains("waits for a person at gate"), "{waits}");
    let ran = project.as_user("ada", &["gate", "reject", gate(&project), "--reason", "not yet"]);
    good(&ran);
    let bob = project.json(&["workspace", "show", "agent:bob"]);
    assert_eq!(bob["workspace"]["status"].as_str().or(bob["status"].as_str()), Some("active"));
    let ended = project.json(&["gate", "list", "--all"]);
    assert_eq!(ended.as_array().unwrap().len(), 2);
    assert_eq!(ended[1]["ended"]["by"], "ada");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// The first gate that waits.
fn gate(project: &Sandbox) -> &'static str {
    let gates = project.json(&["gate", "list"]);
    String::leak(gates[0]["gate"].as_str().unwrap().to_owned())
}

/// Shows W-HH-05, W-HH-01.
#[test]
fn watching_gates_shows_every_change_at_once() {
    let project = begun("supervised");
    let mut command = project.command();
    command.args(["gate", "list", "--watch", "--json"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    plan(&project, "parser");
    let opened = next();
    assert_eq!(opened["task"]["name"], "parser");
    good(&project.as_user("ada", &["gate", "approve", "--all"]));
    let ended = next();
    assert_eq!((&ended["gate"], &ended["ended"]["by"]), (&opened["gate"], &"ada".into()));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Shows W-HH-20, W-HH-30, W-HH-33.
#[test]
fn a_person_is_asked_and_answers_in_words_that_arrive() {
    let project = begun("off");
    project.ok(&["workspace", "create", "--agent", "bob", "--directive", "go", "--as", "lead"]);
    project.ok(&["signal", "started", "--as", "bob"]);
    project.ok(&["signal", "blocked", "--reason", "which licence?", "--as", "bob"]);
    project.ok(&["signal", "escalation", "--reason", "which licence?", "--as", "bob"]);
    let list = project.ok(&["escalations"]).out;
    assert!(list.contains("which licence?") && list.contains("ada"), "{list}");
    let open = project.json(&["escalations"]);
    let id = open[0]["escalation"].as_str().unwrap();
    good(&project.as_user("ada", &["escalations", "answer", id, "MIT, as the rest."]));
    good(&project.as_user("ada", &["inject", "agent:bob", "And no rush."]));
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    assert!(mail.contains("MIT, as the rest.") && mail.contains("And no rush."), "{mail}");
    let ran = project.run(&["inject", "agent:bob", "psst", "--as", "lead", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("W-HH-35")));
    assert_eq!(project.json(&["escalations"]).as_array().unwrap().len(), 0);
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn watching_escalations_shows_them_come_and_go() {
    let project = begun("off");
    project.ok(&["workspace", "create", "--agent", "bob", "--directive", "go", "--as", "lead"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    let mut command = project.command();
    command.args(["escalations", "--watch", "--json"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    project.ok(&["signal", "escalation", "--reason", "may I?", "--as", "bob"]);
    let open = next();
    assert_eq!((&open["reason"], &open["open"]), (&"may I?".into(), &true.into()));
    let id = open["escalation"].as_str().unwrap();
    good(&project.as_user("ada", &["escalations", "answer", id, "You may."]));
    let over = next();
    assert_eq!((&over["escalation"], &over["open"]), (&open["escalation"], &false.into()));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Shows W-HH-06, W-HH-33.
#[test]
fn an_unanswered_gate_takes_its_fallback_in_time() {
    let project = begun("off");
    let set = [
        "highway",
        "set",
        "--gate",
        "task_approval=on",
        "--wait",
        "task_approval=1s",
        "--fallback",
        "task_approval=approve",
        "--escalation-wait",
        "1s",
        "--escalation-fallback",
        "approve",
    ];
    good(&project.as_user("ada", &set));
    project.ok(&["workspace", "create", "--agent", "bob", "--directive", "go", "--as", "lead"]);
    project.ok(&["signal", "started", "--as", "bob"]);
    project.ok(&["signal", "escalation", "--reason", "may I?", "--as", "bob"]);
    plan(&project, "parser");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert_eq!(status(&project, "parser"), "pending", "whoever looks sees what is due");
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    assert!(mail.contains("Go on as you see fit."), "{mail}");
    project.ok(&["trail", "verify", "--signatures"]);
    project.ok(&["doctor"]);
}

#[test]
fn the_highway_is_shown_and_set_by_people() {
    let project = begun("autonomous");
    let shown = project.ok(&["highway", "show"]).out;
    assert!(shown.contains("autonomous") && shown.contains("then approve"), "{shown}");
    let ran = project.run(&["highway", "set", "gated", "--as", "lead", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("W-HH-35")));
    let set = good(&project.as_user(
        "ada",
        &[
            "highway",
            "set",
            "supervised",
            "--gate",
            "workspace_abort=on",
            "--wait",
            "workspace_abort=forever",
        ],
    ));
    assert_eq!(set["gates"].as_array().unwrap().len(), 3);
    for args in [
        vec!["highway", "set", "loose"],
        vec!["highway", "set", "--gate", "coffee=on"],
        vec!["highway", "set", "--gate", "integration=maybe"],
        vec!["highway", "set", "--wait", "integration=0s"],
        vec!["gate", "approve", "nothing_here"],
    ] {
        let ran = project.as_user("ada", &args);
        assert!(matches!(ran.code, Some(1 | 2)), "{args:?} {ran:?}");
    }
}

/// A person agrees to what cannot be done any more: that is refused, and the trail stays sound.
///
/// Shows W-HH-04.
#[test]
fn an_answer_that_leads_to_a_refusal_leaves_the_trail_sound() {
    let project = Sandbox::new();
    project.login("ada");
    let start = ["coordinator", "start", "--agent", "lead", "--highway", "gated"];
    good(&project.as_user("ada", &[&start[..], &["--max-workspaces", "1"]].concat()));
    for agent in ["w1", "w2"] {
        project.claim(agent, agent);
        let order = ["workspace", "create", "--agent", agent, "--directive", "d", "--as", "lead"];
        project.ok(&order);
    }
    let gates = project.json(&["gate", "list"]);
    let gate = |at: usize| gates[at]["gate"].as_str().unwrap();
    good(&project.as_user("ada", &["gate", "approve", gate(0)]));
    let ran = project.as_user("ada", &["gate", "approve", gate(1)]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("W-ADM-01")), "{ran:?}");
    let nowhere = ["gate", "modify", gate(1), "--visibility", "ws_none"];
    assert_eq!(project.as_user("ada", &nowhere).code, Some(1));
    let nothing = format!(r#"{{"gate":"{}","action":"reject","modifications":{{}}}}"#, gate(1));
    good(&project.as_user("ada", &["do", "gate.resolve", &nothing]));
    project.ok(&["trail", "verify", "--signatures"]);
    project.ok(&["recover"]);
}

/// The time of a gate is over before anybody who comes later is answered.
///
/// Shows W-HH-06.
#[test]
fn an_order_that_comes_too_late_for_a_gate_finds_it_closed() {
    let project = Sandbox::new();
    project.login("ada");
    let start = ["coordinator", "start", "--agent", "lead", "--highway", "off"];
    good(&project.as_user("ada", &start));
    project.claim("w1", "w1");
    let order = ["workspace", "create", "--agent", "w1", "--directive", "d", "--as", "lead"];
    let made = project.json(&order);
    let id = made["workspace"].as_str().unwrap();
    let wish = r#"{"gates":["workspace_abort"],
        "gate_defaults":{"fallback":"escalate_to_coordinator","timeout_s":1}}"#;
    good(&project.as_user("ada", &["do", "highway.configure", wish]));
    let abort = ["workspace", "abort", "agent:w1", "--as", "lead"];
    assert_eq!(project.json(&abort)["type"], "workspace_abort");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    project.ok(&abort);
    assert_eq!(project.json(&["workspace", "show", id])["status"], "failed");
    project.ok(&["trail", "verify"]);
}
