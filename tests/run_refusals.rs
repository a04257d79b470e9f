//! Mistakes in a run, and the errors that people and scripts get.

use crate::support::{Ran, Sandbox};
use serde_json::json;

/// A name that is only mistyped together with a task or workspace does not become an agent.
#[test]
fn a_refused_assignment_registers_nobody() {
    let (project, _) = Sandbox::with_run();
    for args in [
        ["task", "assign", "nosuch", "--agent", "mistyped"],
        ["workspace", "migrate", "nosuch", "--to", "mistyped"],
    ] {
        project.refused(&[&args[..], &["--as", "alice"]].concat());
        let known = project.json(&["agents"]);
        assert!(!known.to_string().contains("mistyped"), "{args:?}: {known}");
    }
}

/// Whoever cannot print an answer must not say that the command failed.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_told_apart_from_a_command_that_failed() {
    let project = Sandbox::new();
    for json in [None, Some("--json")] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = project.command();
        command.args(["claim", "x", "--as", "alice"]).args(json).stdout(full);
        let ran = Ran::of(&command.output().unwrap());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.err.contains("the answer cannot be printed"), "{ran:?}");
        assert!(ran.err.contains("The command itself was carried out"), "{ran:?}");
        assert!(project.ok(&["claims"]).out.contains('x'));
        project.ok(&["release", "--all", "--as", "alice"]);
    }
}

/// `-` is standard input here as elsewhere.
#[test]
fn a_text_to_remember_is_read_from_standard_input() {
    let project = Sandbox::new();
    let ran = project.run_with(&["remember", "-", "--as", "alice"], b"pin the toolchain\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = project.ok(&["ask", "toolchain"]);
    assert!(found.out.contains("pin the toolchain"), "{found:?}");
}

/// Shows W-WS-10.
#[test]
fn a_worker_creates_nothing_and_leaves_nobody_behind() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    let args = ["workspace", "create", "--agent", "mallory", "--directive", "x", "--as", "bob"];
    let (ran, rule) = project.refused(&args);
    assert_eq!(rule, "W-WS-10");
    assert_eq!(ran.error()["details"]["allowed"], json!([]), "bob is no delegate");
    assert!(project.kinds().contains(&"workspace_rejected".to_owned()));
    let known = project.json(&["agents"]);
    assert!(!known.to_string().contains("mallory"), "nobody was introduced in vain: {known}");
    for args in [
        &["task", "plan", "plan.json"][..],
        &["workspace", "abort", "root"],
        &["coordinator", "hand-over", "bob"],
        &["coordinator", "stop"],
    ] {
        project.write("plan.json", r#"{"tasks": [{"key": "a"}]}"#);
        let (_, rule) = project.refused(&[args, &["--as", "bob"]].concat());
        assert_eq!(rule, "W-ROLE-04", "{args:?}");
    }
}

/// Shows W-ID-07, W-ENV-23.
#[test]
fn unknown_ids_are_refused_by_their_rule() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    for args in [
        &["workspace", "abort", "ws_nothing", "--as", "alice"][..],
        &["send", "ws_nothing", "x", "--type", "feedback", "--as", "alice"],
        &["task", "cancel", "task_nothing", "--as", "alice"],
        &["task", "approve", "--graph", "graph_nothing", "--as", "alice"],
        &["task", "graph", "graph_nothing"],
        &["integrate", "ws_nothing", "accept", "--as", "alice"],
        &["workspace", "abort", "agent:nobody", "--as", "alice"],
        &["signal", "started", "--ref", "env_nothing", "--as", "bob"],
        &["send", "root", "x", "--type", "query", "--reply-to", "env_nothing", "--as", "bob"],
    ] {
        let (ran, rule) = project.refused(args);
        assert_eq!((rule.as_str(), ran.code), ("W-ID-07", Some(1)), "{args:?}: {ran:?}");
    }
    for args in [
        &["workspace", "show", "ws_nothing"][..],
        &["checkpoint", "show", "cp_nothing"],
        &["task", "show", "task_nothing"],
    ] {
        let (ran, rule) = project.refused(args);
        assert_eq!((rule.as_str(), ran.code), ("A-USE-05", Some(1)), "{args:?}");
    }
    let (ran, _) = project.refused(&["workspace", "show", "no id at all"]);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_short_id_that_fits_several_names_them_all() {
    let (project, root) = Sandbox::with_run();
    let ids = [project.worker("bob"), project.worker("carol")];
    let (ran, _) = project.refused(&["workspace", "abort", "ws_0", "--as", "alice"]);
    assert_eq!(ran.code, Some(2));
    let message = ran.error()["message"].as_str().unwrap().to_owned();
    for id in [&root, &ids[0], &ids[1]] {
        assert!(message.contains(id.as_str()), "{message}");
    }
    assert!(ran.error()["way_out"].as_str().unwrap().contains("more of the id"));
    // Ids from tables can be typed back.
    let list = project.ok(&["workspace", "list"]).out;
    let short: Vec<&str> =
        list.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(short.len(), 3);
    for (short, id) in short.iter().zip([&root, &ids[0], &ids[1]]) {
        assert!(short.len() < id.len());
        assert_eq!(project.json(&["workspace", "show", short])["workspace"], id.as_str());
    }
    project.json(&["workspace", "create", "--agent", "bob", "--directive", "x", "--as", "alice"]);
    let (ran, _) = project.refused(&["workspace", "show", "agent:bob"]);
    assert_eq!(ran.code, Some(2), "bob has two: {ran:?}");
}

/// Shows W-CP-08.
#[test]
fn a_wrong_step_names_the_allowed_ones() {
    let (project, _) = Sandbox::with_run();
    let id = project.worker("bob");
    let (ran, rule) = project.refused(&["integrate", &id, "accept", "--as", "alice"]);
    assert_eq!(rule, "W-WS-21");
    let allowed = &ran.error()["details"]["allowed"];
    assert!(allowed.as_array().unwrap().contains(&json!("active -> integrating")), "{allowed}");
    let shown = project.run(&["integrate", &id, "accept", "--as", "alice"]);
    assert!(shown.err.contains("allowed: active -> blocked"), "{shown:?}");
    project.ok(&["signal", "blocked", "--reason", "x", "--as", "bob"]);
    let args = ["checkpoint", "create", "--intent", "x", "--content", "y", "--as", "bob"];
    let (_, rule) = project.refused(&args);
    assert_eq!(rule, "W-CP-08");
    let (_, rule) = project.refused(&["workspace", "resume", &id, "--as", "alice"]);
    assert_eq!(rule, "W-WS-21");
    project.ok(&["signal", "started", "--as", "bob"]);
    project.ok(&["signal", "complete", "--as", "bob"]);
    assert_eq!(project.refused(&args).1, "W-CP-08", "it is being integrated");
    project.worker("carol");
    let create = ["workspace", "create", "--agent", "dora", "--directive", "x", "--as", "alice"];
    project.ok(&create);
    let args = ["checkpoint", "create", "--intent", "x", "--content", "y", "--as", "dora"];
    assert_eq!(project.refused(&args).1, "W-CP-08", "it has not begun");
    project.ok(&["signal", "blocked", "--reason", "x", "--as", "carol"]);
    let again = project.run(&["signal", "blocked", "--reason", "still", "--as", "carol"]);
    assert_eq!(again.code, Some(0));
    assert!(again.err.contains("changes nothing"), "{again:?}");
}

/// Shows W-SIG-02, W-SIG-03.
#[test]
fn signals_are_a_closed_set_and_some_need_a_reason() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    for signal in ["blocked", "failed", "escalation"] {
        let bare = ["signal", signal, "--as", "bob"];
        assert_eq!(project.refused(&bare).1, "W-SIG-02", "{signal}");
        let blank = ["signal", signal, "--reason", " ", "--as", "bob"];
        assert_eq!(project.refused(&blank).1, "W-SIG-02", "{signal}");
    }
    assert_eq!(project.refused(&["signal", "suspend", "--as", "bob"]).1, "W-SIG-03");
    let entries = project.entries();
    let last = entries.last().unwrap();
    assert_eq!(last["body"]["rule"], "W-SIG-03", "a denial is on record: {last}");
    let unknown = project.run(&["signal", "finished", "--as", "bob"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("complete"), "the eleven are named: {unknown:?}");
}

/// Shows W-TASK-03.
#[test]
fn a_plan_that_goes_in_circles_is_refused_as_a_whole() {
    let (project, _) = Sandbox::with_run();
    for (plan, word) in [
        (r#"{"tasks": [{"key": "a", "depends_on": ["a"]}]}"#, "each other: a"),
        (
            r#"{"tasks": [{"key": "a", "depends_on": ["b"]}, {"key": "b", "depends_on": ["a"]}, {"key": "c"}]}"#,
            "each other: a, b",
        ),
        (r#"{"tasks": [{"key": "a", "depends_on": ["z"]}]}"#, "\"z\""),
        (r#"{"tasks": [{"key": "a"}, {"key": "a"}]}"#, "twice"),
        (r#"{"tasks": []}"#, "1 to 500"),
    ] {
        let ran =
            project.run_with(&["task", "plan", "-", "--as", "alice", "--json"], plan.as_bytes());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.error()["rule"], "W-TASK-03", "{plan}");
        assert!(ran.error()["message"].as_str().unwrap().contains(word), "{ran:?}");
    }
    assert_eq!(project.json(&["task", "list"]), json!([]), "nothing of it was kept");
    for (name, text) in [("typo.toml", "[[tasks]]\nkei = 'a'\n"), ("not.json", "{")] {
        project.write(name, text);
        let (ran, _) = project.refused(&["task", "plan", name, "--as", "alice"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.error()["message"].as_str().unwrap().contains(name));
    }
}

/// Shows W-TASK-07.
#[test]
fn a_task_waits_for_what_it_depends_on() {
    let (project, _) = Sandbox::with_run();
    let plan = r#"{"tasks": [{"key": "a"}, {"key": "b", "depends_on": ["a"]}]}"#;
    let planned =
        project.run_with(&["task", "plan", "-", "--as", "alice", "--json"], plan.as_bytes());
    let assign =
        |task: &str| project.refused(&["task", "assign", task, "--agent", "bob", "--as", "alice"]);
    assert_eq!(assign("a").1, "W-TASK-05", "a draft is not taken up");
    project.ok(&["task", "approve", "a", "b", "--as", "alice"]);
    let (ran, rule) = assign("b");
    assert_eq!(rule, "W-TASK-07");
    let waits_for = planned.json()["tasks"]["a"].as_str().unwrap().to_owned();
    assert!(ran.error()["message"].as_str().unwrap().contains(&waits_for));
    let graph = planned.json()["graph"].as_str().unwrap().to_owned();
    let add = ["task", "add", &graph, "c", "--description", "more", "--depends-on", "b"];
    let added = project.json(&[&add[..], &["--as", "alice"]].concat());
    assert_eq!(added["depends_on"], json!([planned.json()["tasks"]["b"]]));
}

#[test]
fn content_that_is_too_large_for_a_line_is_stored_first() {
    let (project, root) = Sandbox::with_run();
    let text = "x".repeat(1 << 20);
    let args = json!({ "to": root, "type": "query", "payload": { "content": { "text": text } } });
    let send = ["do", "envelope.send", "-", "--as", "alice", "--json"];
    let ran = project.run_with(&send, args.to_string().as_bytes());
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(2), Some("A-USE-03")));
    assert!(ran.error()["way_out"].as_str().unwrap().contains("althing blob put"));
}

/// Shows W-ENV-11.
#[test]
fn nobody_speaks_for_another_workspace() {
    let (project, root) = Sandbox::with_run();
    let (bob, carol) = (project.worker("bob"), project.worker("carol"));
    for args in [
        &["send", "root", "x", "--type", "query"][..],
        &["signal", "complete"],
        &["inbox", "--take"],
        &["checkpoint", "create", "--intent", "x", "--content", "y"],
        &["workspace", "write", "a", "b"],
    ] {
        for other in [&carol, &root] {
            let (_, rule) =
                project.refused(&[args, &["--workspace", other, "--as", "bob"]].concat());
            assert_eq!(rule, "W-WS-02", "{args:?} in {other}");
        }
    }
    let (ran, rule) = project.refused(&["send", &carol, "x", "--type", "query", "--as", "bob"]);
    assert_eq!(rule, "W-ROLE-03");
    assert_eq!(ran.error()["details"]["allowed"], json!(["query -> coordinator"]));
    assert!(project.kinds().contains(&"envelope_rejected".to_owned()));
    let looked = project.run(&["inbox", "--workspace", &carol, "--as", "bob", "--json"]);
    assert_eq!(looked.code, Some(1), "an inbox is its owner's: {looked:?}");
    let own = project.json(&["inbox", "--as", "bob"]);
    assert_eq!(own["workspace"], bob.as_str());
}

/// Shows W-TRAIL-30, W-TRAIL-31, W-ID-10, W-TREE-09.
#[test]
fn an_agent_at_work_reads_its_own_trail_and_a_look_beyond_is_recorded() {
    let (project, root) = Sandbox::with_run();
    let (bob, carol) = (project.worker("bob"), project.worker("carol"));
    let trail = |args: &[&str]| {
        let out = project.ok(&[&["trail", "--all", "--json"], args].concat()).out;
        let entry = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        out.lines().map(entry).collect::<Vec<_>>()
    };
    let own = trail(&["--as", "bob"]);
    assert!(own.len() > 5);
    assert!(own.iter().all(|entry| entry["workspace"] == bob.as_str()), "{own:?}");
    assert_eq!(trail(&["--workspace", &carol, "--as", "bob"]), Vec::<serde_json::Value>::new());
    let denied = project.entries();
    let denied: Vec<_> = denied.iter().filter(|e| e["kind"] == "trail_access_denied").collect();
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0]["body"]["requested_scope"], carol.as_str(), "{denied:?}");
    assert_eq!(project.refused(&["trail", "export", "--as", "bob"]).1, "W-TRAIL-30");
    let eve = ["workspace", "create", "--agent", "eve", "--role", "observer", "--visibility", &bob];
    let eve = project.json(&[&eve[..], &["--directive", "Watch.", "--as", "alice"]].concat());
    let seen = trail(&["--as", "eve"]);
    for entry in &seen {
        assert!([&eve["workspace"], &json!(bob)].contains(&&entry["workspace"]), "{entry}");
    }
    assert!(seen.iter().any(|entry| entry["workspace"] == bob.as_str()), "what she was shown");
    let all = trail(&["--as", "alice"]);
    assert!(
        all.iter().any(|entry| entry["workspace"] == root.as_str()),
        "the coordinator reads all"
    );
    let (_, rule) = project.refused(&["workspace", "show", &carol, "--as", "bob"]);
    assert_eq!(rule, "A-USE-05", "knowing an id opens nothing");
    let seen = project.json(&["workspace", "list", "--as", "bob"]);
    assert_eq!(seen.as_array().unwrap().len(), 1);
}

#[test]
fn a_workspace_changes_only_what_it_was_given() {
    let (project, _) = Sandbox::with_run();
    let create = ["workspace", "create", "--agent", "bob", "--directive", "x", "--as", "alice"];
    project.ok(&[&create[..], &["--authority", "src"]].concat());
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.write("secret", "x");
    let args = ["checkpoint", "create", "--intent", "x", "--file", "secret", "--as", "bob"];
    let (ran, rule) = project.refused(&args);
    assert_eq!((rule.as_str(), &ran.error()["details"]["allowed"]), ("W-VIS-04", &json!(["src"])));
    assert_eq!(
        project.refused(&["workspace", "write", "secret", "y", "--as", "bob"]).1,
        "W-VIS-04"
    );
    let outside = ["checkpoint", "create", "--intent", "x", "--file", "../x", "--as", "bob"];
    assert_eq!(project.refused(&outside).1, "A-USE-02");
}

#[test]
fn standard_input_holds_content_or_a_passphrase() {
    let project = Sandbox::new();
    project.login("ada");
    assert_eq!(project.as_user("ada", &["coordinator", "start"]).code, Some(0));
    let args = ["workspace", "create", "--agent", "bob", "--directive", "-"];
    let ran = project.as_user("ada", &args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.error()["message"].as_str().unwrap().contains("both"));
}

#[test]
fn a_checkpoint_keeps_files_of_the_project_and_nothing_a_link_leads_to() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    project.ok(&["inbox", "--take", "--as", "bob"]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path().join("link")).unwrap();
    let key = project.state().join("keys").join("agent-alice.key");
    let key = key.strip_prefix(project.path()).unwrap().to_str().unwrap().to_owned();
    for file in ["link/secret", &key] {
        let args = ["checkpoint", "create", "--intent", "i", "--file", file, "--as", "bob"];
        let ran = project.run(&args);
        assert_eq!(ran.code, Some(2), "{file}: {ran:?}");
        assert!(ran.err.contains("not a file of this project"), "{}", ran.err);
    }
    // A pipe without a writer would keep the reader for ever.
    let pipe = project.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["checkpoint", "create", "--intent", "i", "--file", "pipe", "--as", "bob"];
    let ran = project.run(&args);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no regular file"), "{}", ran.err);
}

/// Shows W-TRAIL-30.
#[test]
fn a_proof_shows_an_agent_nothing_it_may_not_read() {
    let (project, _) = Sandbox::with_run();
    project.worker("bob");
    project.ok(&["trail", "prove", "1"]);
    let (_, rule) = project.refused(&["trail", "prove", "1", "--as", "bob"]);
    assert_eq!(rule, "W-TRAIL-30");
    let (_, rule) = project.refused(&["do", "trail.prove", r#"{"seq":1}"#, "--as", "bob"]);
    assert_eq!(rule, "W-TRAIL-30");
    // Whoever only gives the name of another is not taken for it.
    let key = project.state().join("keys").join("agent-bob.key");
    std::fs::rename(&key, key.with_extension("away")).unwrap();
    project.run(&["trail", "prove", "1", "--as", "bob"]);
    let last = project.entries().pop().unwrap();
    assert_eq!(last["kind"], "authentication_failed");
}

#[test]
fn a_workspace_where_nothing_began_gets_no_other_agent() {
    let (project, _) = Sandbox::with_run();
    let create = ["workspace", "create", "--agent", "bob", "--directive", "go", "--as", "alice"];
    project.ok(&create);
    let migrate = ["workspace", "migrate", "agent:bob", "--to", "carol", "--as", "alice"];
    let (_, rule) = project.refused(&migrate);
    assert_eq!(rule, "W-WS-21");
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&migrate);
}
