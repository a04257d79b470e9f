//! Output of `althing memory` for people: options by their names, hints, counts of cut lists, and news.

use super::{agent, create, refused};
use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};

/// Runs as an agent and expects a failure whose words have these, and no names of other doors.
#[track_caller]
fn refuses(project: &Sandbox, args: &[&str], code: i32, words: &[&str]) -> Ran {
    let ran = project.run(&[args, &["--as", "alice"]].concat());
    assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "{args:?}: {} has no {word}", ran.err);
    }
    for name in ["bclaw_", "targetAgents", "loopId", "planId", "handoffId", "Id'", "maxItems"] {
        assert!(!ran.err.contains(name), "{args:?}: {}", ran.err);
    }
    ran
}

#[test]
fn mistakes_at_the_command_line_name_what_was_typed() {
    let project = Sandbox::new();
    project.ok(&["memory", "create", "plan", "one", "--as", "alice"]);
    for (args, words) in [
        (&["coordinate", "assign"][..], &["`althing memory coordinate` requires TASK"][..]),
        (&["coordinate", "assign", "Do it."], &["assign requires --to"]),
        (&["coordinate", "reroute", "--to", "bob"], &["reroute requires --assignment"]),
        (&["dispatch", "review"], &["review requires --handoff"]),
        (&["loop", "get"], &["requires LOOP"]),
        (&["loop", "open", "--task", "x"], &["requires --kind"]),
        (&["loop", "open", "--kind", "review"], &["requires --task"]),
        (&["loop", "open", "--kind", "nope", "--task", "x"], &["--kind", "review, ideation"]),
        (&["update", "pln#1"], &["--set, --text, --tag or --clear"]),
        (&["create", "plan", "x", "--set", "priority=huge"], &["--set priority=… must be one of"]),
        (&["update", "pln#1", "--set", "status=done"], &["use `althing memory transition`"]),
        (&["create", "plan", "x", "--set", "nope=1"], &["a plan has no field 'nope'"]),
        (&["context", "delta"], &["delta requires --since"]),
        (&["find", "plan", "--limit", "0"], &["--limit must be a whole number from 1 to 500"]),
        (&["find", "plan", "--scope", "src"], &["does not filter by --scope", "--assignee"]),
        (&["find", "plan", "--plan", "trp#1"], &["pln#42"]),
        (&["find", "plan", "--status", "finished"], &["open, in_progress"]),
        (&["find", "assignment", "--status", "x"], &["an assignment is never"]),
        (&["create", "assignment", "Do it."], &["an assignment requires --set agent=…"]),
        (&["work", "consult", "--budget-tokens", "5"], &["--budget-tokens must be at least 300"]),
        (&["context", "memory", "--max-items", "0"], &["--max-items must be", "1 to 500"]),
        (&["dispatch", "--capacity", "0"], &["--capacity must be a whole number from 1"]),
        (&["dispatch", "--max", "0"], &["--max must be a whole number from 1"]),
    ] {
        let args = [&["memory"], args].concat();
        let way_out = format!("`althing memory {} --help`", args[1]);
        let words = [words, &[&way_out]].concat();
        refuses(&project, &args, 2, &words);
    }
    refuses(&project, &["ask", "what?", "--limit", "0"], 2, &["--limit must be", "`althing ask"]);
    refuses(&project, &["remember", "", "--kind", "trap"], 2, &["TEXT", "`althing remember"]);
    // Hosts are told what their tools take.
    let mut host = agent(&project, "alice");
    let args = json!({ "intent": "assign", "task": "x" });
    let error =
        refused(&mut host, "bclaw_coordinate", args, "validation_error", &["'targetAgents'"]);
    let way_out = error["way_out"].as_str().unwrap();
    assert!(way_out.starts_with("bclaw_coordinate takes intent (required), "), "{way_out}");
    assert!(way_out.contains("targetAgents") && !way_out.contains("--help"), "{way_out}");
}

#[test]
fn hints_can_be_typed() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "plan", json!({ "text": "one" }));
    for (args, words) in [
        (&["get", "trp#7"][..], &["there is no trap trp#7", "`althing memory find trap`"][..]),
        (&["update", "pln#7", "--text", "x"], &["pln#7", "`althing memory find plan`"]),
        (&["transition", "hnd#7", "closed"], &["`althing memory find handoff`"]),
        (&["remove", "dec#7"], &["`althing memory find decision`"]),
        (&["get", "clm#7"], &["`althing memory find claim`"]),
        (&["loop", "get", "lop#7"], &["`althing memory find loop`"]),
        (&["harvest", "asgn#7"], &["`althing memory find assignment`"]),
        (&["dispatch"], &["no active sequence", "`althing memory find sequence`"]),
        (&["coordinate", "consult", "x", "--to", "nobody"], &["`althing agents`"]),
        (&["update", "pln#1", "--text", "x", "--expected-version", "9"], &["memory get pln#1`"]),
    ] {
        let args = [&["memory"], args].concat();
        refuses(&project, &args, 1, words);
    }
    // A step that is not there says which are.
    project.ok(&["memory", "transition", "pln#1", "blocked", "--as", "alice"]);
    let args = ["memory", "transition", "pln#1", "done"];
    refuses(&project, &args, 1, &["A-MEM-03", "Possible next states: in_progress, cancelled."]);
    let args = json!({ "entity": "plan", "id": "pln#1", "to": "done" });
    let error = refused(&mut host, "bclaw_transition", args, "operation_error", &["blocked"]);
    assert_eq!(error["way_out"], "Possible next states: in_progress, cancelled.");
    project.ok(&["memory", "transition", "pln#1", "cancelled", "--as", "alice"]);
    refuses(&project, &args_of("pln#1", "done"), 1, &["no step is possible"]);
    let args = json!({ "entity": "trap", "id": "trp#7" });
    let error = refused(&mut host, "bclaw_get", args, "not_found", &["trp#7"]);
    assert_eq!(error["way_out"], "`bclaw_find {\"entity\":\"trap\"}` shows what there is.");
}

/// A private record is answered like one that does not exist.
#[test]
fn a_private_record_is_refused_like_a_missing_one() {
    let project = Sandbox::new();
    let private = ["memory", "create", "trap", "mine", "--set", "visibility=private"];
    project.ok(&[&private[..], &["--as", "bob"]].concat());
    for rest in [&["update", "--text", "x"][..], &["transition", "resolved"], &["remove"]] {
        let shown = ["trp#1", "trp#2"].map(|id| {
            let args = [&["memory", rest[0], id], &rest[1..]].concat();
            refuses(&project, &args, 1, &[id]).err.replace(id, "trp#?")
        });
        assert_eq!(shown[0], shown[1]);
    }
}

fn args_of<'a>(id: &'a str, to: &'a str) -> [&'a str; 4] {
    ["memory", "transition", id, to]
}

#[test]
fn a_conflict_says_who_holds_it_and_for_how_long() {
    let project = Sandbox::new();
    project.ok(&["memory", "work", "execute", "--scope", "src", "--as", "bob"]);
    let args = ["memory", "create", "claim", "mine", "--set", "scope=src/a"];
    refuses(&project, &args, 3, &["bob holds src, which ends in 4 h", "Wait until then"]);
    let work = project.run(&["memory", "work", "execute", "--scope", "src/a", "--as", "alice"]);
    assert_eq!(work.code, Some(3));
    assert!(work.out.contains("bob holds src, which ends in 4 h"), "{work:?}");
    project.ok(&["memory", "work", "consult", "--as", "carol"]);
    let lane = ["memory", "coordinate", "assign", "x", "--to", "carol", "--scope", "src/b"];
    refuses(&project, &[&lane[..], &["--allow-dirty"]].concat(), 3, &["bob", "ends in 4 h"]);
    let mut host = agent(&project, "alice");
    let data = json!({ "entity": "claim", "data": { "scope": "src/a" } });
    let error =
        refused(&mut host, "bclaw_create", data, "claim_conflict", &["bob holds src until"]);
    assert!(error["way_out"].as_str().unwrap().contains("bclaw_find"), "{error}");
    // Lanes that meet each other have nobody to wait for.
    let lanes = ["memory", "coordinate", "assign", "x", "--lane-scope", "bob=docs"];
    let both = [&lanes[..], &["--lane-scope", "carol=docs/a", "--allow-dirty"]].concat();
    refuses(&project, &both, 3, &["docs", "--lane-scope AGENT=PATHS"]);
}

#[test]
fn an_agent_with_a_haid_goes_by_it_in_refusals() {
    let project = Sandbox::new();
    let mut cursor = crate::mcp::Host::silent(&project, &["--dialect", "memory"]);
    cursor.introduce("Cursor", "2025-11-25");
    cursor.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    let args = ["memory", "create", "claim", "mine", "--set", "scope=src/a"];
    let ran = refuses(&project, &args, 3, &["/cursor holds src, which ends"]);
    assert!(!ran.err.contains("+cursor"), "{}", ran.err);
    let error = project.run(&["memory", "transition", "clm#1", "released", "--as", "alice"]);
    assert_eq!(error.code, Some(1), "{error:?}");
    assert!(error.err.contains("/cursor") && !error.err.contains("+cursor"), "{error:?}");
    assert!(error.err.contains("--override"), "{error:?}");
}

#[test]
fn lists_that_are_cut_say_how_much_there_is() {
    let project = Sandbox::new();
    let mut bob = agent(&project, "bob");
    agent(&project, "alice").done("bclaw_work", json!({ "intent": "consult" }));
    for n in 0..23 {
        create(&mut bob, "plan", json!({ "text": format!("plan {n}") }));
    }
    for n in 0..7 {
        create(&mut bob, "message", json!({ "text": format!("note {n}"), "to": "alice" }));
    }
    let shown = project.ok(&["memory", "work", "consult", "--as", "alice"]).out;
    assert!(shown.contains("\nPlans (5 of 23)\n"), "{shown}");
    assert!(shown.contains("\n`althing memory find plan` shows all\n"), "{shown}");
    assert!(shown.contains("\nMessages for you (5 of 7)\n"), "{shown}");
    assert!(shown.contains("\n`althing memory find message --to me` shows all\n"), "{shown}");
    assert!(shown.contains("FROM") && shown.contains("bob"), "{shown}");
    let shown = project.ok(&["memory", "work", "consult", "--full", "--as", "alice"]).out;
    assert!(shown.contains("\nPlans\n") && shown.contains("\nMessages for you\n"), "{shown}");
    for n in 0..23 {
        assert!(shown.contains(&format!("plan {n}\u{20}")), "plan {n} in {shown}");
    }
    let found = project.ok(&["memory", "find", "message", "--to", "me", "--as", "alice"]).out;
    assert!(found.lines().next().unwrap().contains("FROM") && found.contains("bob"), "{found}");
    let work = agent(&project, "alice").done("bclaw_work", json!({ "intent": "consult" }));
    assert_eq!(work["result"]["plan_total"], 23);
    assert_eq!(work["result"]["open_work"]["total"]["messages"], 7);
}

/// The labels of what is told as new.
fn news(project: &Sandbox, intent: &str) -> (Vec<String>, Value) {
    let work = project.json(&["memory", "work", intent, "--as", "alice"])["result"].clone();
    let labels = work["context_diff"].as_array().unwrap().iter();
    let labels = labels.map(|own| own["short_label"].as_str().unwrap().to_owned()).collect();
    (labels, work)
}

#[test]
fn news_is_told_once() {
    let project = Sandbox::new();
    let mut bob = agent(&project, "bob");
    create(&mut bob, "trap", json!({ "text": "old" }));
    let (shown, work) = news(&project, "consult");
    assert_eq!((shown.as_slice(), &work["first_visit"]), (&[][..], &json!(true)), "{work}");
    let first = project.ok(&["memory", "work", "consult", "--as", "carol"]).out;
    assert!(first.contains("first visit") && !first.contains("New since"), "{first}");
    let (shown, work) = news(&project, "consult");
    assert_eq!((shown.as_slice(), &work["first_visit"]), (&[][..], &json!(false)), "{work}");
    create(&mut bob, "trap", json!({ "text": "new" }));
    // Alice's own changes hide no news from her, and are no news to her.
    project.ok(&["memory", "create", "plan", "hers", "--as", "alice"]);
    let shown = project.ok(&["memory", "work", "consult", "--as", "alice"]).out;
    let section = shown.split("New since you last looked").nth(1).unwrap();
    assert!(section.contains("trp#2") && !section.contains("pln#1"), "{shown}");
    assert_eq!(news(&project, "consult").0, [""; 0], "told once");
    let shown = project.ok(&["memory", "work", "consult", "--as", "alice"]).out;
    assert!(!shown.contains("New since"), "{shown}");
    create(&mut bob, "trap", json!({ "text": "newer" }));
    let (shown, work) = news(&project, "consult");
    assert_eq!(shown, ["trp#3"]);
    let since = work["news_since"].to_string();
    let delta = project.json(&["memory", "context", "delta", "--since", &since]);
    assert_eq!(delta["changed_items"].as_array().unwrap().len(), 1, "{delta}");
    // Whoever takes work up again is told what came since they sat down.
    assert_eq!(news(&project, "resume").0, ["trp#3", "trp#2"]);
    assert_eq!(project.run(&["trail", "verify"]).code, Some(0));
}

#[test]
fn one_thing_is_shown_in_lines_and_tables() {
    let project = Sandbox::new();
    let steps = "steps=[\"read it\",\"write it\"]";
    project.ok(&["memory", "create", "plan", "one", "--set", steps, "--as", "alice"]);
    let done = project.ok(&["memory", "complete-step", "pln#1", "stp_1", "--as", "alice"]).out;
    assert_eq!(done, "1 of 2 steps of pln#1 done\n");
    let shown = project.ok(&["memory", "get", "pln#1"]).out;
    assert!(!shown.contains('{') && !shown.contains('['), "{shown}");
    assert!(shown.contains("STEP") && shown.contains("read it"), "{shown}");
    assert!(shown.contains("provenance.kind"), "{shown}");
    for (plan, step, words) in [
        ("pln#1", "stp_9", &["pln#1 has no step", "stp_2 (write it)", "memory get pln#1`"][..]),
        ("pln#2", "stp_1", &["pln#2 has no steps", "`althing memory update`", "--set steps="]),
    ] {
        project.run(&["memory", "create", "plan", "two", "--as", "alice"]);
        refuses(&project, &["memory", "complete-step", plan, step], 1, words);
    }
}

#[test]
fn lists_say_what_they_leave_out() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    assert_eq!(project.ok(&["memory", "find", "plan"]).out, "no plans\n");
    let empty = project.ok(&["memory", "find", "claim"]);
    assert_eq!((empty.out.as_str(), empty.err.as_str()), ("no claims\n", ""));
    for to in ["accepted", "rejected"] {
        let id = create(&mut host, "candidate", json!({ "text": to, "type": "trap" }));
        let args = json!({ "entity": "candidate", "id": id, "to": to });
        host.done("bclaw_transition", args);
    }
    let left = project.ok(&["memory", "find", "candidate"]).err;
    assert!(left.contains("2 candidates that were accepted, rejected or merged are left out"));
    assert!(left.contains("--status"), "{left}");
    let found = host.done("bclaw_find", json!({ "entity": "candidate" }));
    assert!(found["hint"].as_str().unwrap().contains("'status'"), "{found}");
    project.ok(&["memory", "work", "execute", "--scope", "src", "--as", "alice"]);
    project.ok(&["memory", "transition", "clm#1", "released", "--as", "alice"]);
    let left = project.ok(&["memory", "find", "claim"]);
    assert_eq!(left.out, "no claims\n");
    assert!(left.err.contains("claims that were released or ran out are left out"), "{left:?}");
    assert!(left.err.contains("--status released or expired"), "{left:?}");
    assert!(project.ok(&["memory", "find", "claim", "--status", "released"]).out.contains("clm#1"));
    // Plans that are over are found without a word.
    create(&mut host, "plan", json!({ "text": "done with" }));
    project.ok(&["memory", "transition", "pln#1", "done", "--as", "alice"]);
    let found = project.ok(&["memory", "find", "plans"]);
    assert!(found.out.contains("pln#1") && found.err.is_empty(), "{found:?}");
}

#[test]
fn piped_output_is_not_cut() {
    let project = Sandbox::new();
    let long = "word ".repeat(40);
    project.ok(&["memory", "create", "trap", &long, "--as", "alice"]);
    for args in [&["memory", "find", "trap"][..], &["ask", "word"]] {
        let shown = project.ok(args).out;
        assert!(shown.contains(long.trim()) && !shown.contains('…'), "{shown}");
    }
}

#[test]
fn shells_complete_kinds_states_and_intents() {
    let project = Sandbox::bare();
    let script = project.ok(&["completions", "bash"]).out;
    for words in [
        "constraint decision trap plan claim handoff candidate assignment message sequence loop fact \
         symbol capsule",
        "accepted acknowledged active",
        "in_progress",
        "timed_out",
        "progress",
        "execute consult resume review",
        "assign consult review reroute summarize ideate",
        "analysis execute review",
        "review ideation implementation research debug",
        "completed cancelled blocked",
    ] {
        assert!(script.contains(words), "{words}");
    }
}

#[test]
fn other_words_for_kinds_and_states_are_understood() {
    let project = Sandbox::new();
    project.ok(&["memory", "create", "Plans", "one", "--as", "alice"]);
    project.ok(&["memory", "transition", "pln#1", "In Progress", "--as", "alice"]);
    assert!(
        project.ok(&["memory", "find", "plans", "--status", "in-progress"]).out.contains("pln#1")
    );
    refuses(&project, &["memory", "find", "note"], 2, &["constraint, decision, trap, plan"]);
    refuses(&project, &["memory", "transition", "pln#1", "gone"], 2, &["open, in_progress"]);
}
