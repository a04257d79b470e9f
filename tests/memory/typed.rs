//! Messages of `althing memory` name options as they are typed: options without effect, wrong values,
//! and answers.

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
        let prints = format!("{}{}", ran.out, ran.err);
        assert!(prints.contains(&format!("ignored: {words}")), "{typed}: {prints}");
    }
    // Options that have an effect are not warned about.
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
    for (tool, args, prints) in [
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
        let prints = |own: &Value| own.as_str().is_some_and(|own| own.contains(prints));
        assert!(warnings.iter().any(prints), "{tool} {args}: {answer}");
    }
    // A switch that is off asks for nothing.
    let args = json!({ "intent": "consult", "advisory": false });
    let answer = host.done("bclaw_work", args);
    assert!(!answer["warnings"].to_string().contains("advisory"), "{answer}");
    create(&mut host, "plan", json!({ "text": "two" }));
}

/// Runs and expects a failure whose words have these and lack those.
#[track_caller]
fn prints(project: &Sandbox, args: &[&str], words: &[&str], lacks: &[&str]) {
    let ran = project.run(&[args, &["--as", "alice"]].concat());
    assert!(matches!(ran.code, Some(1 | 2)), "{args:?}: {ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "{args:?}: {} has no {word}", ran.err);
    }
    for word in lacks {
        assert!(!ran.err.contains(word), "{args:?}: {} has {word}", ran.err);
    }
}

#[test]
fn ids_and_options_in_messages_can_be_typed() {
    let project = shared();
    let twice = &["pln#42 or", "lop#42 or", "pln_0000002a"][..];
    for (args, words) in [
        (
            &["work", "execute", "--scope", "src", "--plan", "foo"][..],
            "no id of a plan; write pln#42",
        ),
        (&["complete-step", "trp#1", "stp_1"], "no id of a plan; write pln#42"),
        (&["find", "claim", "--plan", "foo"], "no id of a plan; write pln#42"),
        (&["loop", "get", "foo"], "no id of a loop; write lop#42"),
        (&["get", "foo"], "not the id of a record; write one such as pln#42"),
    ] {
        prints(&project, &[&["memory"], args].concat(), &[words], twice);
    }
    let serde =
        &["unknown variant", "invalid type", "expected", "auto_generated", "--tag, --tag"][..];
    for (args, words) in [
        (&["find", "plan", "--agent", "x"][..], "only by --status, --tag, --author"),
        (
            &["transition", "pln#1", "done", "--plan-status", "nope"],
            "--plan-status is done or blocked",
        ),
        (&["create", "plan", "--data", "[1]"], "--data is no JSON object: it is a list"),
        (&["create", "plan", "--data", "{\"a"], "--data is no JSON object: it cannot be read"),
        (&["work", "consult", "--session", "ws_nope"], "Leave out --session"),
        (&["create", "plan", "x", "--set", "nope=1"], "only text, tags"),
    ] {
        prints(&project, &[&["memory"], args].concat(), &[words], serde);
    }
    for kind in ["claim", "candidate", "assignment", "message", "sequence", "loop"] {
        let way = format!("`althing memory create {kind}` makes one");
        let offered = "--kind is one of constraint, decision, trap, plan, handoff;";
        prints(&project, &["remember", "x", "--kind", kind], &[offered, &way], &["entity"]);
    }
    let words = ["--kind is one of", "not \"pln\"", "`althing remember --help`"];
    prints(&project, &["remember", "x", "--kind", "pln"], &words, &["entity", "memory create"]);
    for kind in ["constraint", "decision", "trap", "plan", "handoff"] {
        project.ok(&["remember", "x", "--kind", kind, "--as", "alice"]);
    }
}

#[test]
fn work_of_another_says_whose_it_is_and_how_to_ask() {
    let project = shared();
    project.ok(&["memory", "coordinate", "assign", "Do it.", "--to", "bob", "--as", "alice"]);
    let args = ["memory", "transition", "asgn#1", "completed"];
    let words = ["A-MEM-06", "its agent is bob", "`althing memory get asgn#1`", "--to bob`"];
    prints(&project, &args, &words, &["forced", "abort_any"]);
    let ask = ["memory", "coordinate", "consult", "TEXT", "--to", "bob", "--as", "alice"];
    project.ok(&ask);
    let mut host = agent(&project, "alice");
    let step = json!({ "entity": "assignment", "id": "asgn#1", "to": "completed" });
    let (_, error) = host.failed("bclaw_transition", step);
    assert_eq!(error["details"]["owner"], "bob", "{error}");
    let way_out = error["way_out"].as_str().unwrap();
    assert!(way_out.contains("bclaw_coordinate") && way_out.contains("\"bob\""), "{way_out}");
}

#[test]
fn one_spelling_is_shown_and_both_are_taken() {
    let project = shared();
    for (spelling, text) in [("--expect-version", "two"), ("--expected-version", "three")] {
        let version = if text == "two" { "1" } else { "2" };
        let args = ["memory", "update", "pln#1", "--text", text, spelling, version];
        project.ok(&[&args[..], &["--as", "alice"]].concat());
    }
    let args = ["memory", "transition", "pln#1", "in_progress", "--expect-version", "3"];
    project.ok(&[&args[..], &["--as", "alice"]].concat());
    let open = ["memory", "loop", "open", "--kind", "review", "--task", "t", "--allow-orphan"];
    project.ok(&[&open[..], &["--agent", "alice", "--as", "alice"]].concat());
    let turn = ["memory", "loop", "complete-turn", "lop#1"];
    prints(&project, &turn, &["`althing memory loop` complete-turn requires --slot"], &["turn_"]);
    let turn =
        [&turn[..], &["--slot", "slot_1", "--expected-version", "1", "--as", "alice"]].concat();
    let prints = project.ok(&turn);
    assert!(prints.out.starts_with("complete-turn: ok"), "{}", prints.out);
    for command in ["update", "transition", "loop"] {
        let help = project.ok(&["memory", command, "--help"]).out;
        assert!(
            help.contains("--expected-version") && !help.contains("--expect-version"),
            "{help}"
        );
    }
}

#[test]
fn answers_are_in_words() {
    let project = shared();
    let summary = project.ok(&["board", "--summary"]).out;
    assert!(summary.contains("1 open plan\n") && summary.contains("no open"), "{summary}");
    assert!(!summary.contains('_'), "{summary}");
    project.ok(&[
        "memory",
        "create",
        "plan",
        "two",
        "--set",
        "estimated_effort=2h",
        "--as",
        "alice",
    ]);
    let plan = project.ok(&["memory", "get", "pln#2", "--as", "alice"]).out;
    assert!(plan.contains("120 minutes"), "{plan}");
    let claim = ["memory", "work", "execute", "--scope", "src", "--as", "alice"];
    project.ok(&claim);
    let here = project.ok(&["memory", "context", "execution", "--as", "alice"]).out;
    assert!(here.contains("You hold") && !here.contains("claims."), "{here}");
    let assign = ["memory", "coordinate", "assign", "Do it.", "--to", "bob", "--as", "alice"];
    project.ok(&[&assign[..], &["--plan", "pln#2"]].concat());
    let step = |rest: &[&str]| {
        project.ok(&[&["memory", "transition", "asgn#1"], rest, &["--as", "bob"]].concat()).out
    };
    let accepted = step(&["accepted"]);
    assert!(accepted.contains("moved message msg#1 to acknowledged"), "{accepted}");
    step(&["started"]);
    let noted = step(&["progress", "--reason", "half"]);
    assert!(noted.contains("asgn#1 is started; how it goes is noted"), "{noted}");
    assert!(!noted.contains('→'), "{noted}");
}

#[test]
fn errors_repeat_no_secret() {
    let project = shared();
    let key = "AKIAIOSFODNN7EXAMPLE";
    let cut = format!("{{\"kind\":\"{key}\"");
    for args in [
        &["memory", "get", key][..],
        &["memory", "transition", key, "done"],
        &["memory", "update", key, "--text", "x"],
        &["memory", "remove", key],
        &["memory", "loop", "get", key],
        &["remember", "x", "--kind", key],
        &["do", "memory.create", &cut],
    ] {
        prints(&project, args, &["AWS access key"], &[key]);
    }
}
