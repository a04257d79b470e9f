//! Symbols, facts and capsules.

use super::*;

#[test]
fn symbols_lead_both_ways() {
    let tools = Tools::new();
    let run = |args: &[&str]| tools.ok("heimdall-resolve", args);
    assert_eq!(run(&["set", "F12", "src/matching/engine.ts"]), "F12 = src/matching/engine.ts\n");
    run(&["set", "C3", "balances sum to zero"]);
    run(&["set", "A1", "src/matching/engine.ts"]);
    assert_eq!(run(&["F12"]), "src/matching/engine.ts\n");
    assert_eq!(run(&["C3"]), "balances sum to zero\n");
    assert_eq!(run(&["--reverse", "src/matching/engine.ts"]), "F12\n", "the first one");
    run(&["set", "C3", "changed"]);
    let list = "F12\tsrc/matching/engine.ts\nC3\tchanged\nA1\tsrc/matching/engine.ts\n";
    assert_eq!(run(&["list"]), list, "in the order they came");
    let fails = |args: &[&str], code, text| tools.fails("heimdall-resolve", args, code, text);
    fails(&["nope"], 1, "error: unknown symbol id: nope");
    fails(&["../../etc/passwd"], 1, "error: unknown symbol id: ../../etc/passwd");
    fails(&["two\nlines"], 1, "error: unknown symbol id: ");
    fails(&["--reverse", "nope"], 1, "error: no symbol resolves to value: nope");
    fails(&["--reverse"], 2, "error: ");
    fails(&["set", "F1"], 2, "error: set needs <id> <value>");
    fails(&[], 2, "error: ");
    fails(&["set", "two\nlines", "x"], 2, "error: ");
}

#[test]
fn facts_are_what_was_said_last() {
    let tools = Tools::new();
    let run = |args: &[&str]| tools.ok("heimdall-blackboard", args);
    assert_eq!(run(&["set", "dev_port", "5173"]), "dev_port = 5173\n");
    run(&["set", "node_version", "20.11.0"]);
    run(&["set", "dev_port", "5174"]);
    assert_eq!(run(&["get", "dev_port"]), "5174\n");
    assert_eq!(run(&["list"]), "dev_port\t5174\nnode_version\t20.11.0\n");
    assert_eq!(run(&["del", "dev_port"]), "deleted dev_port\n");
    assert_eq!(run(&["del", "dev_port"]), "deleted dev_port\n", "also what is not there");
    tools.fails("heimdall-blackboard", &["get", "dev_port"], 1, "error: no fact for key: dev_port");
    tools.fails("heimdall-blackboard", &["set", "k"], 2, "error: set needs <key> <value>");
    tools.fails("heimdall-blackboard", &["get"], 2, "error: ");
}

#[test]
fn capsules_are_short_and_come_in_order() {
    let tools = Tools::new();
    let run = |args: &[&str]| tools.ok("heimdall-capsule", args);
    let text =
        run(&["write", "w1", "--what", "added LOB engine", "--where", "F12", "--gotcha", "seed"]);
    assert!(text.starts_with("wrote ") && text.ends_with("/w1.md (8 lines)\n"), "{text}");
    run(&["write", "w2", "--what", "added book diff", "--depends", "w1"]);
    run(&["write", "w3", "--what", "unrelated docs"]);
    let shown = run(&["show", "w1"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[..3], ["---", "id: w1", "depends: "]);
    assert!(lines[3].starts_with("ts: 20") && lines[3].ends_with('Z'), "{shown}");
    assert_eq!(lines[4..], ["---", "WHAT: added LOB engine", "WHERE: F12", "GOTCHA: seed"]);
    assert_eq!(run(&["hydrate", "w2"]), format!("{shown}\n{}", run(&["show", "w2"])));
    assert_eq!(run(&["deps", "w2"]), "w1\nw2\n");
    assert_eq!(run(&["list"]), "w1\nw2\nw3\n");
    // In the original d2 came before d1, which it builds on.
    run(&["write", "d1", "--what", "x"]);
    run(&["write", "d2", "--what", "x", "--depends", "d1"]);
    run(&["write", "d3", "--what", "x", "--depends", "d1,d2"]);
    assert_eq!(run(&["deps", "d3"]), "d1\nd2\nd3\n");
}

#[test]
fn bad_capsules_change_nothing() {
    let tools = Tools::new();
    let fails = |args: &[&str], code, text| tools.fails("heimdall-capsule", args, code, text);
    tools.ok("heimdall-capsule", &["write", "w1", "--what", "first"]);
    tools.ok("heimdall-capsule", &["write", "w2", "--what", "x", "--depends", "w1"]);
    let before = tools.ok("heimdall-capsule", &["show", "w1"]);
    let five = "1\n2\n3\n4\n5";
    tools.ok("heimdall-capsule", &["write", "ten", "--what", five]);
    assert_eq!(tools.ok("heimdall-capsule", &["show", "ten"]).lines().count(), 10);
    let six = "1\n2\n3\n4\n5\n6";
    let long = "error: capsule w1 would be 11 lines (>10); compact harder";
    fails(&["write", "w1", "--what", six], 2, long);
    fails(&["write", "w1", "--what", "x", "--depends", "w2"], 1, "A-SHARE-03");
    fails(&["write", "w1", "--what", "x", "--depends", "w1"], 1, "A-SHARE-03");
    assert_eq!(tools.ok("heimdall-capsule", &["show", "w1"]), before, "the old one is left alone");
    for id in ["../x", "..", "a/b", "", ".hidden", "a b", &"x".repeat(65)] {
        fails(&["write", id, "--what", "x"], 2, "error: ");
    }
    fails(&["write", "w9"], 2, "error: --what is required (a capsule must say what changed)");
    fails(&["write", "w9", "--what"], 1, "error: --what needs a value");
    fails(&["write", "w9", "--why", "x"], 2, "error: unknown argument: --why");
    for verb in ["show", "deps", "hydrate"] {
        fails(&[verb, "nope"], 1, "error: no capsule: nope");
        fails(&[verb, "../../etc/passwd"], 1, "error: no capsule: ../../etc/passwd");
    }
    assert_eq!(tools.ok("heimdall-capsule", &["list"]), "ten\nw1\nw2\n");
}

#[test]
fn looking_things_up_leaves_the_store_alone() {
    let tools = Tools::new();
    tools.ok("heimdall-resolve", &["set", "F12", "x"]);
    tools.ok("heimdall-blackboard", &["set", "k", "v"]);
    tools.ok("heimdall-capsule", &["write", "w1", "--what", "x"]);
    let before = tools.project.bytes_of_state();
    tools.ok("heimdall-resolve", &["F12"]);
    tools.ok("heimdall-resolve", &["--reverse", "x"]);
    tools.ok("heimdall-resolve", &["list"]);
    tools.ok("heimdall-blackboard", &["get", "k"]);
    tools.ok("heimdall-capsule", &["hydrate", "w1"]);
    tools.ok("heimdall-ledger", &["report"]);
    tools.ok("heimdall-ledger", &["delta"]);
    tools.ok("heimdall-claim", &["list"]);
    tools.ok("heimdall-claim", &["check", "src"]);
    tools.ok("heimdall-haid", &["list"]);
    tools.run("heimdall-resolve", &["nope"]);
    assert!(tools.project.bytes_of_state() == before);
}

#[test]
fn looking_for_something_where_nothing_is_sets_nothing_up() {
    let tools = Tools::without_project();
    tools.fails("heimdall-resolve", &["F12"], 1, "unknown symbol id");
    tools.fails("heimdall-blackboard", &["get", "k"], 1, "no fact for key");
    tools.fails("heimdall-capsule", &["show", "w1"], 1, "no capsule");
    assert_eq!(tools.ok("heimdall-claim", &["list"]), "(no active claims)\n");
    assert_eq!(tools.ok("heimdall-haid", &["list"]), "(no agents registered)\n");
    assert!(!tools.project.state().exists());
    tools.ok("heimdall-resolve", &["set", "F12", "x"]);
    assert_eq!(tools.ok("heimdall-resolve", &["F12"]), "x\n", "writing sets it up");
}
