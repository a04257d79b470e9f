//! Questions along the structures of a run from the command line, results handed on, and mail of
//! the past.

use crate::support::Sandbox;
use serde_json::{Value, json};

fn column<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

/// Shows W-TREE-11, W-TOPO-02, W-PORT-10, W-VIS-05.
#[test]
fn every_structure_has_its_question() {
    let (project, root) = Sandbox::with_run();
    let made = |args: &[&str]| {
        let made = project.json(&[&["workspace", "create", "--directive", "x"], args].concat());
        made["workspace"].as_str().unwrap().to_owned()
    };
    let dora = made(&["--agent", "dora", "--delegate", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "dora"]);
    let erin = made(&["--agent", "erin", "--as", "dora"]);
    let fred = made(&["--agent", "fred", "--as", "dora"]);
    let eve =
        made(&["--agent", "eve", "--role", "observer", "--visibility", &erin, "--as", "alice"]);
    let ask = |args: &[&str]| project.json(args);
    let path = ask(&["workspace", "path", "agent:erin"]);
    assert_eq!(column(&path, "workspace"), [&root, &dora, &erin]);
    let list = |args: &[&str]| {
        let found = ask(&[&["workspace", "list"], args].concat());
        column(&found, "workspace").join(" ")
    };
    assert_eq!(list(&["--beside", "agent:erin"]), fred);
    assert_eq!(list(&["--below", "agent:dora", "--leaves"]), format!("{erin} {fred}"));
    assert_eq!(list(&["--owner", "system", "--role", "observer"]), eve);
    assert!(list(&["--originator", "ada"]).is_empty());
    let seen_by = ask(&["workspace", "sees", "agent:erin", "--by"]);
    assert_eq!(column(&seen_by, "workspace"), [&root, &dora, &erin, &eve]);
    let sees = ask(&["workspace", "sees", "agent:eve"]);
    assert_eq!(column(&sees, "because"), ["shown", "itself"]);
    let out = ask(&["right", "list", "--from", "agent:erin"]);
    let mut out = column(&out, "target");
    out.sort_unstable();
    assert!(
        out.contains(&dora.as_str()) && out.len() == 2,
        "its parent and its own inbox: {out:?}"
    );
    let into = ask(&["right", "list", "--to", "root"]);
    let holders = column(&into, "holder");
    assert!(holders.contains(&dora.as_str()) && !holders.contains(&erin.as_str()));
    assert!(project.ok(&["workspace", "path", "agent:erin"]).out.contains("dora"));
    assert!(project.ok(&["workspace", "sees", "agent:erin", "--by"]).out.contains("above it"));
}

/// Shows W-TASK-18, W-TOPO-02.
#[test]
fn dependencies_of_a_task_are_listed_and_their_results_passed_on() {
    let (project, _) = Sandbox::with_run();
    let plan = json!({ "tasks": [{ "key": "grammar" }, { "key": "parser", "depends_on": ["grammar"] },
        { "key": "release", "depends_on": ["parser"] }] });
    let ran =
        project.run_with(&["task", "plan", "-", "--as", "alice"], plan.to_string().as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    project.ok(&["task", "approve", "grammar", "parser", "release", "--as", "alice"]);
    let names = |args: &[&str]| {
        let found = project.json(&[&["task", "deps"], args].concat());
        column(&found, "name").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&["release"]), ["parser"]);
    assert_eq!(names(&["release", "--all"]), ["grammar", "parser"]);
    assert_eq!(names(&["grammar", "--all", "--waiting"]), ["parser", "release"]);
    project.ok(&["task", "assign", "grammar", "--agent", "bob", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.write("g.md", "the grammar\n");
    let args = ["checkpoint", "create", "--intent", "the grammar", "--final", "--file", "g.md"];
    let made = project.json(&[&args[..], &["--as", "bob"]].concat());
    project.ok(&["signal", "complete", "--as", "bob"]);
    project.ok(&["integrate", "agent:bob", "accept", "--as", "alice"]);

    let assign =
        ["task", "assign", "parser", "--agent", "carol", "--with-results", "--as", "alice"];
    let given = project.json(&assign)["context"].as_str().unwrap().to_owned();
    let given: Value = serde_json::from_str(&project.ok(&["blob", "get", &given]).out).unwrap();
    let result = &given["results"][0];
    assert_eq!(
        (&result["name"], &result["checkpoint"]["checkpoint"]),
        (&json!("grammar"), &made["checkpoint"])
    );
    let file = result["checkpoint"]["files_changed"][0]["content"].as_str().unwrap();
    assert_eq!(project.ok(&["blob", "get", file]).out, "the grammar\n");
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn the_past_has_its_mail_and_its_owners() {
    let (project, root) = Sandbox::with_run();
    let bob = project.worker("bob");
    project.ok(&["send", "agent:bob", "hello", "--type", "feedback", "--as", "alice"]);
    let then = project.entries().len().to_string();
    project.ok(&["inbox", "--take", "--as", "bob"]);
    let past = project.json(&["trail", "at", &then]);
    assert_eq!(past["mail"].as_array().unwrap().len(), 1, "{past}");
    assert_eq!((&past["mail"][0]["to"], &past["mail"][0]["taken"]), (&json!(bob), &json!(false)));
    assert_eq!(past["workspaces"][0]["workspace"], root.as_str());
    assert_eq!(past["workspaces"][1]["owner"], "system");
    assert_eq!(project.json(&["trail", "at", "now"])["mail"], json!([]));
    let changed = project.json(&["trail", "diff", &then]);
    assert_eq!(changed["mail"]["gone"], past["mail"], "it was taken");
    assert!(project.ok(&["trail", "at", &then]).out.contains("unread  feedback"));
}
