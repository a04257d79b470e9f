//! Drawings in the terminal: the tree of a run and the graph of its tasks.

use crate::support::{Ran, Sandbox};
use std::fmt::Write as _;

#[test]
fn the_tree_shows_who_works_where_and_how_it_stands() {
    let (project, _) = Sandbox::with_run();
    let plan = r#"{"tasks": [{"key": "a", "name": "the parser"}]}"#;
    project.run_with(&["task", "plan", "-", "--as", "alice"], plan.as_bytes());
    project.ok(&["task", "approve", "the parser", "--as", "alice"]);
    project.ok(&["task", "assign", "the parser", "--agent", "bob", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["send", "agent:bob", "hello", "--type", "feedback", "--as", "alice"]);
    let args = ["workspace", "create", "--agent", "dora", "--directive", "x", "--delegate"];
    project.ok(&[&args[..], &["--as", "alice"]].concat());
    project.ok(&["inbox", "--take", "--as", "dora"]);
    project.ok(&["workspace", "create", "--agent", "erin", "--directive", "x", "--as", "dora"]);
    let tree = project.ok(&["workspace", "tree"]).out;
    let lines: Vec<&str> = tree.lines().collect();
    assert_eq!(lines.len(), 4, "{tree}");
    for (line, words) in [
        (lines[0], &["coordinator alice", "active"][..]),
        (lines[1], &["├─ ", "worker bob", "active", "\"the parser\"", "ends in 24 h", "1 unread"]),
        (lines[2], &["└─ ", "worker dora"]),
        (lines[3], &["   └─ ", "worker erin", "idle"]),
    ] {
        for word in words {
            assert!(line.contains(word), "{word}: {tree}");
        }
    }
    assert!(!tree.contains('\u{1b}'), "colours are for terminals");
    // Where there is less room only the name of the task is cut.
    let narrow = project.command().args(["workspace", "tree"]).env("COLUMNS", "80").output();
    let narrow = Ran::of(&narrow.unwrap()).out;
    assert_eq!(narrow.lines().count(), 4, "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let bob = narrow.lines().nth(1).unwrap();
    assert!(bob.contains("ends in 24 h, 1 unread  \"the p") && bob.ends_with('…'), "{narrow}");
    let below = project.ok(&["workspace", "tree", "agent:dora"]).out;
    assert_eq!(below.lines().count(), 2, "{below}");
}

#[test]
fn older_runs_are_drawn_when_asked_for() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    project.ok(&["coordinator", "stop", "--force", "--as", "alice"]);
    let last = project.ok(&["workspace", "tree"]).out;
    assert!(last.contains("worker bob  failed"), "the last run, where none goes on: {last}");
    project.ok(&["coordinator", "start", "--as", "alice"]);
    assert_eq!(project.ok(&["workspace", "tree"]).out.lines().count(), 1);
    assert_eq!(project.ok(&["workspace", "tree", "--all"]).out.lines().count(), 3);
    assert_eq!(project.ok(&["workspace", "tree", "--all", "--live"]).out.lines().count(), 1);
}

#[test]
fn a_graph_of_thirty_tasks_is_drawn_with_every_state() {
    let (project, _) = Sandbox::with_run();
    let mut plan = String::new();
    for n in 0..30 {
        let on = if n < 3 { String::new() } else { format!("'t{}', 't{}'", n - 3, n / 2) };
        write!(plan, "[[tasks]]\nkey = 't{n}'\ndepends_on = [{on}]\n").unwrap();
    }
    project.write("plan.toml", &plan);
    project.ok(&["task", "plan", "plan.toml", "--as", "alice"]);
    project.ok(&["task", "approve", "t0", "--as", "alice"]);
    let drawn = project.ok(&["task", "graph"]).out;
    assert!(!drawn.contains('\u{1b}'), "colours are for terminals");
    assert!(drawn.contains("○") && drawn.contains("pending, ready"), "{drawn}");
    let (_, legend) = drawn.rsplit_once("\n\n").unwrap();
    let states = ["◌ draft", "○ pending", "◑ in_progress", "● integrated", "– cancelled"];
    for state in states {
        assert!(legend.contains(state), "{state}: {legend}");
    }
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    let tasks = project.json(&["task", "graph"]);
    for task in tasks.as_array().unwrap() {
        let name = task["name"].as_str().unwrap();
        let line = drawn.lines().find(|line| line.split_whitespace().any(|word| word == name));
        let line = line.unwrap_or_else(|| panic!("{name} in {drawn}"));
        let id = task["task"].as_str().unwrap();
        let short = line.split_whitespace().find(|word| word.len() == 6 && id.ends_with(word));
        let short = short.unwrap_or_else(|| panic!("{id} in {line}"));
        assert_eq!(project.json(&["task", "show", short])["name"], name);
    }
    for (flag, begins, edge) in [("--dot", "digraph", " -> "), ("--mermaid", "flowchart", " --> ")]
    {
        let text = project.ok(&["task", "graph", flag]).out;
        assert!(text.starts_with(begins), "{text}");
        assert_eq!(text.matches(edge).count(), 52, "each edge once: {text}");
    }
}

#[test]
fn there_is_nothing_to_draw_before_anything_is_planned() {
    let project = Sandbox::new();
    assert!(project.ok(&["workspace", "tree"]).out.contains("coordinator start"));
    let (ran, _) = project.refused(&["task", "graph"]);
    assert!(ran.error()["way_out"].as_str().unwrap().contains("plan --file"), "{ran:?}");
}
