//! An agent that coordinates tries to get past the people it has to ask, through the real program.

use crate::support::{Ran, Sandbox};
use serde_json::Value;

#[track_caller]
fn good(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    &ran.out
}

/// A project with `ada`, and a run that `lead` coordinates under the default settings.
fn begun() -> Sandbox {
    let project = Sandbox::new();
    project.login("ada");
    good(&project.run_as("ada", &["coordinator", "start", "--agent", "lead"]));
    project
}

/// An attempt that is refused for a rule, and is on record.
#[track_caller]
fn stopped(project: &Sandbox, who: &str, args: &[&str], rule: &str) {
    let before = project.entries().len();
    let ran = project.run(&[args, &["--as", who, "--json"]].concat());
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some(rule)), "{args:?} {ran:?}");
    let entries = project.entries();
    let added = &entries[before..];
    let on_record = |entry: &Value| {
        entry["actor"] == format!("agent:{who}").as_str() && entry["body"]["rule"] == rule
    };
    assert!(added.iter().any(on_record), "{args:?} leaves an entry: {added:?}");
}

fn plan(project: &Sandbox, key: &str) -> String {
    project
        .write("plan.json", &format!(r#"{{"tasks":[{{"key":"{key}","description":"Do it."}}]}}"#));
    project.ok(&["task", "plan", "plan.json", "--as", "lead"]);
    let gates = project.json(&["gate", "list"]);
    gates.as_array().unwrap().last().unwrap()["gate"].as_str().unwrap().to_owned()
}

fn status(project: &Sandbox, task: &str) -> String {
    project.json(&["task", "show", task])["status"].as_str().unwrap().to_owned()
}

/// Lets a second to answer in pass.
fn nobody_answers() {
    std::thread::sleep(std::time::Duration::from_millis(1_200));
}

/// The ways to ask people less, of which each names a fallback.
const LOOSER: [&str; 4] = [
    r#"{"gate_defaults":{"fallback":"approve","timeout_s":1}}"#,
    r#"{"gate_defaults":{"fallback":"escalate_to_coordinator","timeout_s":1}}"#,
    r#"{"preset":"gated","gate_overrides":{"task_approval":{"fallback":"approve","timeout_s":1}}}"#,
    r#"{"escalation":{"enabled":true,"fallback":"approve","timeout_s":1}}"#,
];

/// Shows W-HH-35.
#[test]
fn no_agent_chooses_settings_that_pass_people() {
    let project = Sandbox::new();
    project.login("ada");
    for preset in ["autonomous", "supervised", "off"] {
        let args = ["coordinator", "start", "--highway", preset];
        stopped(&project, "lead", &args, "A-HH-01");
    }
    for wish in LOOSER {
        let args = format!(r#"{{"highway":{wish}}}"#);
        stopped(&project, "lead", &["do", "run.start", &args], "A-HH-01");
    }
    stopped(&project, "lead", &["coordinator", "start"], "A-RUN-01");
    good(&project.run_as("ada", &["coordinator", "start", "--agent", "lead"]));
    for args in [
        &["highway", "set", "autonomous"][..],
        &["highway", "set", "supervised"],
        &["highway", "set", "--fallback", "task_approval=approve"],
        &["highway", "set", "--fallback", "task_approval=escalate_to_coordinator"],
        &["highway", "set", "--escalation-fallback", "approve"],
        &["highway", "set", "--escalations", "off"],
    ] {
        stopped(&project, "lead", args, "A-HH-01");
    }
    for wish in LOOSER {
        stopped(&project, "lead", &["do", "highway.configure", wish], "A-HH-01");
    }
    stopped(&project, "lead", &["highway", "set", "--gate", "task_approval=off"], "W-HH-35");
    let gate = plan(&project, "parser");
    let gate = project.json(&["gate", "show", &gate]);
    assert_eq!((&gate["fallback"], &gate["chosen_by"]), (&"reject".into(), &Value::Null));
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-HH-09, W-HH-35, W-HH-06.
#[test]
fn no_agent_gets_past_people_who_do_not_answer() {
    let project = begun();
    let tries = |who: &str, task: &str, gate: &str, answered: &str| {
        stopped(&project, who, &["gate", "approve", gate], answered);
        stopped(&project, who, &["task", "approve", task], "W-HH-09");
        let assign = ["task", "assign", task, "--agent", "w", "--authority", "src"];
        stopped(&project, who, &assign, "W-TASK-05");
        stopped(&project, who, &["task", "retry", task], "W-TASK-05");
        assert_eq!(status(&project, task), "draft");
    };
    let waiting = plan(&project, "lexer");
    tries("lead", "lexer", &waiting, "W-HH-35");
    good(&project.run_as("ada", &["highway", "set", "--wait", "task_approval=1s"]));
    let gate = plan(&project, "parser");
    nobody_answers();
    tries("lead", "parser", &gate, "W-HH-06");
    // Another agent in the post gets no further.
    project.ok(&["coordinator", "hand-over", "deputy", "--as", "lead"]);
    tries("deputy", "parser", &gate, "W-HH-06");
    tries("deputy", "lexer", &waiting, "W-HH-35");
    let ask = format!(r#"{{"gate":"{gate}"}}"#);
    stopped(&project, "lead", &["do", "gate.ask", &ask], "W-ROLE-04");
    let text = project.ok(&["status"]).out;
    assert!(text.contains("1 gate was rejected since nobody answered"), "{text}");
    assert_eq!(project.json(&["status"])["run"]["unanswered"], 1);
    assert!(project.ok(&["gate", "list"]).err.contains("`althing gate ask GATE`"));
    // To ask again is to ask a person again, at a new gate.
    good(&project.run_as("ada", &["highway", "set", "--wait", "task_approval=15m"]));
    let again = project.json(&["gate", "ask", &gate, "--as", "deputy"]);
    assert_eq!(again["asks_again"], gate.as_str());
    assert_eq!(again["fallback"], "reject");
    tries("deputy", "parser", again["gate"].as_str().unwrap(), "W-HH-35");
    tries("deputy", "parser", &gate, "W-HH-06");
    // To plan it anew is to ask anew.
    project.ok(&["coordinator", "hand-over", "lead", "--as", "deputy"]);
    project.ok(&["task", "cancel", "parser", "--as", "lead"]);
    let anew = plan(&project, "parser2");
    tries("lead", "parser2", &anew, "W-HH-35");
    // Nobody makes people of agents, and no run begins without people.
    let key = project.json(&["users"])[0]["key"].clone();
    let create = format!(r#"{{"user":"mallory","key":{key}}}"#);
    stopped(&project, "lead", &["do", "user.create", &create], "A-ID-03");
    project.ok(&["coordinator", "stop", "--force", "--as", "lead"]);
    stopped(&project, "lead", &["coordinator", "start"], "A-RUN-01");
    stopped(&project, "lead", &["coordinator", "start", "--highway", "autonomous"], "A-HH-01");
    let kinds = project.kinds();
    assert!(!kinds.iter().any(|kind| kind == "task_approved"), "nothing was approved");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-HH-02, W-HH-08.
#[test]
fn no_agent_merges_or_ends_what_people_did_not_answer() {
    let project = Sandbox::new();
    project.login("ada");
    let start = ["coordinator", "start", "--agent", "lead", "--highway", "off"];
    good(&project.run_as("ada", &start));
    let create = ["workspace", "create", "--agent", "w", "--directive", "go", "--group", "g"];
    project.ok(&[&create[..], &["--as", "lead"]].concat());
    project.ok(&["inbox", "--take", "--as", "w"]);
    let set =
        ["highway", "set", "gated", "--wait", "integration=1s", "--wait", "workspace_abort=1s"];
    good(&project.run_as("ada", &set));
    let merge = ["integrate", "agent:w", "accept"];
    project.write("src/a.txt", "hello\n");
    let args = ["checkpoint", "create", "--intent", "i", "--final", "--file", "src/a.txt"];
    project.ok(&[&args[..], &["--as", "w"]].concat());
    let around = || {
        stopped(&project, "lead", &["group", "abort", "g"], "W-HH-02");
        stopped(&project, "lead", &["coordinator", "stop", "--force"], "W-HH-02");
        let finish = ["workspace", "terminate", "agent:w", "--grace", "1s"];
        stopped(&project, "lead", &finish, "W-HH-02");
    };
    let abort = ["workspace", "abort", "agent:w"];
    assert_eq!(project.json(&[&abort[..], &["--as", "lead"]].concat())["type"], "workspace_abort");
    around();
    nobody_answers();
    stopped(&project, "lead", &abort, "W-HH-02");
    around();
    project.ok(&["signal", "complete", "--as", "w"]);
    let gate = project.json(&[&merge[..], &["--as", "lead"]].concat());
    assert_eq!(gate["type"], "integration");
    nobody_answers();
    stopped(&project, "lead", &merge, "W-HH-02");
    stopped(&project, "lead", &["integrate", "agent:w", "salvage"], "W-INT-20");
    // The work is all there, the coordinator is told how to ask again, and a person decides.
    let gate = gate["gate"].as_str().unwrap();
    let news = project.ok(&["inbox", "--take", "--as", "lead"]).out;
    let news = news.split_whitespace().collect::<Vec<_>>().join(" ");
    let ask = format!("`althing gate ask {}` asks again", &gate[gate.len() - 6..]);
    assert!(news.contains("rejected: nobody answered in time") && news.contains(&ask), "{news}");
    let shown = project.ok(&["gate", "show", gate]).out;
    assert!(shown.contains("nobody answered in time") && shown.contains("gate ask"), "{shown}");
    let again = project.ok(&["gate", "ask", gate, "--as", "lead"]).out;
    assert!(again.contains("waits for a person at gate"), "{again}");
    good(&project.run_as("ada", &["gate", "approve"]));
    assert!(project.kinds().iter().any(|kind| kind == "integration_completed"));
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn who_chose_what_happens_to_unanswered_gates_is_shown() {
    let project = begun();
    let shown = |args: &[&str]| {
        let out = project.ok(args).out;
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let says = shown(&["status"]);
    assert!(says.contains("gates: task_approval; unanswered after 15m: rejected"), "{says}");
    assert!(!says.contains("chosen by"), "{says}");
    assert!(project.json(&["status"])["run"]["highway"]["chosen_by"].is_null());
    good(&project.run_as("ada", &["highway", "set", "supervised"]));
    let says = shown(&["status"]);
    let line = "gates: integration, task_approval; unanswered after 15m: the coordinator decides, \
        chosen by ada";
    assert!(says.contains(line), "{says}");
    assert_eq!(project.json(&["status"])["run"]["highway"]["chosen_by"], "user:ada");
    assert!(shown(&["highway", "show"]).contains("supervised, chosen by ada"));
    let gate = plan(&project, "parser");
    assert!(shown(&["gate", "show", &gate]).contains(", chosen by ada"));
    assert!(shown(&["gate", "list"]).contains("chosen by ada"));
    assert_eq!(project.json(&["gate", "list"])[0]["chosen_by"], "user:ada");
    good(&project.run_as("ada", &["highway", "set", "gated"]));
    let says = shown(&["status"]);
    assert!(says.contains("task_approval, workspace_abort, workspace_create; they wait"), "{says}");
}

/// Where nobody signed up there is nobody to ask; from the first sign-up on there is.
#[test]
fn plans_wait_from_the_first_sign_up_on() {
    let project = Sandbox::new();
    project.ok(&["coordinator", "start", "--highway", "autonomous", "--as", "lead"]);
    assert!(project.ok(&["status"]).out.contains("chosen by agent:lead"));
    project.ok(&["coordinator", "stop", "--as", "lead"]);
    project.ok(&["coordinator", "start", "--as", "lead"]);
    assert!(project.ok(&["status"]).out.contains("gates: none"));
    project.login("ada");
    let gate = plan(&project, "parser");
    stopped(&project, "lead", &["gate", "approve", &gate], "W-HH-35");
    stopped(&project, "lead", &["task", "approve", "parser"], "W-HH-09");
    stopped(&project, "lead", &["highway", "set", "autonomous"], "A-HH-01");
    good(&project.run_as("ada", &["gate", "approve"]));
    assert_eq!(status(&project, "parser"), "pending");
    project.ok(&["trail", "verify", "--signatures"]);
}
