//! Forecasts of plans, and repositories that are not as usual.

use super::{Workshop, git};
use crate::support::Sandbox;

#[test]
fn a_forecast_names_tasks_that_get_in_each_others_way() {
    let own = Workshop::new();
    let plan = own.plan(&[
        ("a", "touches = [\"src/**\"]"),
        ("b", "touches = [\"src/lexer.rs\"]"),
        ("c", "touches = [\"src/lexer.rs\"]\ndepends_on = [\"b\"]"),
        ("d", ""),
    ]);
    let told = own.sandbox.json(&["plan", "check", &plan]);
    let pairs: Vec<String> =
        told["overlaps"].as_array().unwrap().iter().map(|own| own["tasks"].to_string()).collect();
    assert_eq!(pairs, ["[\"a\",\"b\"]", "[\"a\",\"c\"]"]);
    assert_eq!(told["open"], serde_json::json!(["d"]));
    assert_eq!(told["rounds"], serde_json::json!([["a", "b", "d"], ["c"]]));
    let text = own.sandbox.ok(&["plan", "check", &plan]).out;
    assert!(text.contains("a and b may touch the same files, such as src/lexer.rs"), "{text}");
    assert!(!own.sandbox.state().exists(), "a check changes nothing");
}

#[test]
fn tasks_that_may_touch_the_same_files_are_worked_on_one_after_the_other() {
    let own = Workshop::new();
    let tasks = [("work-a", "touches = [\"out/**\"]"), ("work-b", "touches = [\"out/**\"]")];
    let finished = own.run(&tasks, "scripted:2", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let order: Vec<&str> = finished
        .events
        .iter()
        .filter(|own| own["event"] == "task.started" || own["event"] == "task.merged")
        .map(|own| own["event"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["task.started", "task.merged", "task.started", "task.merged"]);
}

#[test]
fn unusual_repositories_are_handled_or_refused_with_a_way_out() {
    // No commit yet.
    let empty = Sandbox::without_project();
    let ran = empty.run(&["run", "-m", "x", "--agents", "scripted"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    empty.write("althing.toml", "[agents.scripted]\ncommand = [\"true\"]\n");
    let ran = empty.run(&["run", "-m", "x", "--agents", "scripted"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.err.contains("no commit yet") && ran.err.contains("commit --allow-empty"),
        "{ran:?}"
    );
    assert!(!empty.state().exists());
    // No repository.
    let bare = Sandbox::bare();
    bare.write("althing.toml", "[agents.scripted]\ncommand = [\"true\"]\n");
    let ran = bare.run(&["run", "-m", "x", "--agents", "scripted"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("git") && ran.err.contains("init"), "{ran:?}");
    // A rebase is under way.
    let own = Workshop::new();
    std::fs::create_dir(own.sandbox.path().join(".git/rebase-merge")).unwrap();
    let plan = own.plan(&[("work-a", "")]);
    let ran = own.sandbox.run(&["run", &plan, "--agents", "scripted"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("a rebase is under way"), "{ran:?}");
    assert!(!own.sandbox.state().exists());
    std::fs::remove_dir(own.sandbox.path().join(".git/rebase-merge")).unwrap();
    // A detached head with changes that are not committed: both stay as they are.
    own.git(&["checkout", "--quiet", "--detach"]);
    own.sandbox.write("README.md", "changed\n");
    let finished = own.run(&[("work-a", "")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(own.git(&["status", "--porcelain"]), "M README.md");
    assert_eq!(own.file(finished.branch(), "README.md").as_deref(), Some("a project\n"));
}

#[test]
fn a_linked_worktree_of_the_person_can_run_plans() {
    let own = Workshop::new();
    let linked = tempfile::tempdir().unwrap();
    let folder = linked.path().join("linked");
    own.git(&["worktree", "add", "--quiet", folder.to_str().unwrap(), "-b", "side"]);
    let plan = own.plan(&[("work-a", "")]);
    let project = folder.to_str().unwrap();
    let ran = own.sandbox.run(&[
        "run",
        &plan,
        "--agents",
        "scripted",
        "--project",
        project,
        "--into",
        "side",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(folder.join("out/work-a.txt").is_file());
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
}
