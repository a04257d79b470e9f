//! The names: each is there, helps, and leaves other files alone.

use super::*;

const NAMES: &[&str] = &[
    "heimdall-protocol",
    "heimdall-validate",
    "heimdall-resolve",
    "heimdall-capsule",
    "heimdall-brief",
    "heimdall-blackboard",
    "heimdall-ledger",
    "heimdall-gate",
    "heimdall-claim",
    "heimdall-haid",
];

#[test]
fn every_name_helps_and_refuses_what_it_does_not_know() {
    let tools = Tools::without_project();
    for name in NAMES {
        let help = tools.ok(name, &["--help"]);
        assert!(help.starts_with(&format!("{name}: ")) && help.contains("Exit codes: "), "{help}");
        assert_eq!(tools.ok(name, &["-h"]), help);
        let ran = tools.run(name, &["--nonsense"]);
        assert_eq!(ran.code, Some(2), "{name}: {ran:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(&help), "{name}: {ran:?}");
        assert_eq!(ran.out, "");
    }
    assert!(!tools.project.state().exists(), "asking for help sets nothing up");
}

#[test]
fn the_umbrella_leads_to_the_tools() {
    let tools = Tools::new();
    let umbrella = |args: &[&str]| tools.run("heimdall-protocol", args);
    assert_eq!(umbrella(&["resolve", "set", "F1", "a.rs"]).out, "F1 = a.rs\n");
    assert_eq!(umbrella(&["resolve", "F1"]).out, tools.ok("heimdall-resolve", &["F1"]));
    assert_eq!(umbrella(&["resolve", "nope"]).code, Some(1));
    assert_eq!(umbrella(&["ledger", "--help"]).out, tools.ok("heimdall-ledger", &["--help"]));
    assert_eq!(umbrella(&[]).code, Some(2));
    assert_eq!(umbrella(&["nonsense"]).code, Some(2));
    let wrong = umbrella(&["brief", "nonsense"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("heimdall-brief build"), "{wrong:?}");
}

#[test]
fn init_says_where_things_are_and_can_be_done_again() {
    let tools = Tools::without_project();
    let output = tools.ok("heimdall-protocol", &["init"]);
    assert!(output.starts_with("initialized protocol layout under "), "{output}");
    for name in ["symbols:", "blackboard:", "capsules:", "ledger:", "schema:", "log:"] {
        assert!(output.lines().any(|line| line.starts_with(&format!("  {name}"))), "{output}");
    }
    assert_eq!(tools.ok("heimdall-protocol", &["init"]), output);
}

#[test]
fn names_are_made_once_and_take_nobodys_place() {
    let tools = Tools::new();
    let folder = tools.bin.path().to_str().unwrap();
    let again = tools.project.json(&["shims", folder]);
    // Beside the tools there is the name of the server for hosts.
    assert_eq!(again.as_array().unwrap().len(), NAMES.len() + 1);
    let server = again.as_array().unwrap().last().unwrap();
    assert!(server.to_string().contains("heimdall-ledger-mcp"), "{server}");
    assert!(again.as_array().unwrap().iter().all(|name| name["fate"] == "there"), "{again}");
    let own = tools.bin.path().join("heimdall-gate");
    std::fs::remove_file(&own).unwrap();
    std::fs::write(&own, "somebody's").unwrap();
    let ran = tools.project.run(&["shims", folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "somebody's");
    assert!(ran.err.contains(own.to_str().unwrap()), "it is named: {ran:?}");
    // A link that leads nowhere is somebody's too.
    std::fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &own).unwrap();
    assert_eq!(tools.project.run(&["shims", folder]).code, Some(1));
    assert_eq!(std::fs::read_link(&own).unwrap().to_str(), Some("/nowhere/at/all"));
}

#[test]
fn arguments_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let tools = Tools::new();
    let odd = std::ffi::OsStr::from_bytes(&[b'a', 0xff]);
    let mut command = tools.command("heimdall-resolve");
    let ran = tools.with(command.arg(odd), b"");
    assert_eq!((ran.code, ran.err.contains("UTF-8")), (Some(2), true), "{ran:?}");
}

#[test]
fn the_demo_builds_and_counts() {
    let tools = Tools::without_project();
    let output = tools.ok("heimdall-protocol", &["demo"]);
    let lines = output.lines().filter(|line| line.contains(" workers x "));
    let shares: Vec<(u64, u64)> = lines
        .map(|line| {
            let (_, numbers) = line.split_once(": ").unwrap();
            let words: Vec<&str> = numbers.split_whitespace().collect();
            (words[0].parse().unwrap(), words[2].parse().unwrap())
        })
        .collect();
    assert!(shares.len() >= 4, "{output}");
    let (before, after) = shares[0];
    assert!(after * 10 <= before, "one wave of three: {output}");
    assert!(shares.iter().any(|(before, after)| after * 20 <= *before), "{output}");
    assert!(output.contains(&format!("orchestration: {before} -> {after} tokens (v1 baseline")));
    assert!(!tools.project.state().exists());
    let larger = tools.ok("heimdall-protocol", &["demo", "--workers", "4", "--waves", "2"]);
    assert!(larger.starts_with("4 workers in each of 2 waves "), "{larger}");
    tools.fails(
        "heimdall-protocol",
        &["demo", "--waves", "11"],
        2,
        "error: --waves takes a number",
    );
    tools.fails("heimdall-protocol", &["demo", "--waves"], 1, "error: --waves needs a value");
    // The printed total is the sum of the parts.
    for way in ["v1, restated:", "v2, by refs:"] {
        let line = output.lines().find(|line| line.trim_start().starts_with(way)).unwrap();
        let (total, parts) = line.split_once(way).unwrap().1.split_once(" tokens (").unwrap();
        let words = parts.trim_end_matches(')').split([' ', ',']);
        let sum: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
        assert_eq!(total.trim().parse(), Ok(sum), "{output}");
    }
}

#[test]
fn files_kept_elsewhere_have_a_trail_of_their_own() {
    let tools = Tools::new();
    tools.ok("heimdall-resolve", &["set", "F1", "here"]);
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = |args: &[&str]| {
        let mut command = tools.command("heimdall-resolve");
        tools.with(command.args(args).env("HEIMDALL_PLANNING_DIR", folder.path()), b"")
    };
    assert_eq!(elsewhere(&["F1"]).code, Some(1), "it is alone there");
    assert_eq!(elsewhere(&["set", "F1", "there"]).code, Some(0));
    assert_eq!(elsewhere(&["F1"]).out, "there\n");
    assert_eq!(tools.ok("heimdall-resolve", &["F1"]), "here\n");
    let symbols = folder.path().join("protocol/symbols.json");
    assert!(std::fs::read_to_string(symbols).unwrap().contains("there"));
    let inside = tools.project.path().join(".planning");
    let mut command = tools.command("heimdall-resolve");
    let ran = tools.with(command.arg("F1").env("HEIMDALL_PLANNING_DIR", inside), b"");
    assert_eq!(ran.out, "here\n", "the project's own folder is the project's");
}

#[test]
fn arguments_that_would_be_ignored_are_refused() {
    let tools = Tools::new();
    tools.ok("heimdall-capsule", &["write", "w1", "--what", "x"]);
    let own = tools.own();
    for (tool, args) in [
        ("heimdall-protocol", &["init", "more"][..]),
        ("heimdall-protocol", &["log", "1", "more"]),
        ("heimdall-capsule", &["show", "w1", "more"]),
        ("heimdall-capsule", &["deps", "w1", "more"]),
        ("heimdall-capsule", &["list", "more"]),
        ("heimdall-haid", &["current", "more"]),
        ("heimdall-haid", &["spawn", "r", "more"]),
        ("heimdall-haid", &["check", &own, "more"]),
        ("heimdall-haid", &["get", &own, "more"]),
        ("heimdall-haid", &["list", "--json", "more"]),
        ("heimdall-haid", &["trailer", &own, "more"]),
    ] {
        tools.fails(tool, args, 2, "error: unknown argument: more\n");
    }
}

#[test]
fn errors_speak_of_what_was_typed() {
    let tools = Tools::new();
    let long = "x".repeat(5000);
    for (tool, args, output) in [
        ("heimdall-resolve", &["set", "", "v"][..], "error: \"\" is no name here: use 1 to 128 "),
        ("heimdall-resolve", &["set", "a", &long], "error: text of 5000 bytes is over the limit"),
        ("heimdall-blackboard", &["set", " k", "v"], "error: \" k\" is no name here"),
        ("heimdall-blackboard", &["del", ""], "error: \"\" is no name here"),
        ("heimdall-claim", &["claim", "../x", "--task", "T"], "[A-USE-02]"),
        ("heimdall-claim", &["check", "../x"], "[A-USE-02]"),
        ("heimdall-claim", &["claim", "x", "--task", &long], "error: text of 5000 bytes is over"),
        ("heimdall-ledger", &["baseline", "--role", "", "--tokens", "1"], "is no name here"),
        ("heimdall-ledger", &["report", "--by", "nonsense"], "expected one of"),
    ] {
        let ran = tools.fails(tool, args, 2, output);
        assert!(!ran.err.contains("column") && ran.err.contains("  [A-USE-0"), "{ran:?}");
    }
}

#[test]
fn control_characters_are_escaped() {
    let tools = Tools::new();
    let odd = "\u{1b}]0;owned\u{7}\u{9b}2J";
    let shown = "\\u{1b}]0;owned\\u{7}\\u{9b}2J";
    let is_plain = |text: &str| text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let built = tools.ok(
        "heimdall-brief",
        &["build", "--task", odd, "--spec", odd, "--symbols", odd, "--invariants", odd],
    );
    assert!(is_plain(&built) && built.contains(shown), "{built}");
    let strict = ["brief", "--task", odd, "--spec", odd, "--symbols", odd, "--as", "alice"];
    let ran = tools.project.run(&strict);
    assert!(is_plain(&ran.out) && is_plain(&ran.err) && ran.out.contains(shown), "{ran:?}");
    let ran = tools.run("heimdall-resolve", &[odd]);
    assert!(is_plain(&ran.err) && ran.err.contains(shown), "{ran:?}");
    let file = std::fs::read_to_string(tools.project.path().join(".planning/protocol.log"));
    assert!(is_plain(&file.unwrap()), "look-ups are logged as they can be read");
    // Somebody else may have written into the file.
    let log = tools.project.path().join(".planning/protocol.log");
    let line = format!("2026-01-01T00:00:00Z\tresolve\tlookup\t{odd}\n");
    std::fs::write(log, line).unwrap();
    let output = tools.ok("heimdall-protocol", &["log"]);
    assert!(is_plain(&output) && output.contains(shown), "{output}");
}

#[test]
fn a_refused_command_creates_no_files() {
    let tools = Tools::without_project();
    tools.fails("heimdall-resolve", &["set", "", "v"], 2, "is no name here");
    assert!(!tools.project.path().join(".planning").exists());
    tools.ok("heimdall-resolve", &["set", "F1", "v"]);
    assert!(tools.project.path().join(".planning/protocol/symbols.json").is_file());
}

#[test]
fn look_ups_are_logged() {
    let tools = Tools::new();
    tools.ok("heimdall-resolve", &["set", "F1", "a\tb"]);
    tools.ok("heimdall-resolve", &["F1"]);
    tools.ok("heimdall-resolve", &["--reverse", "a\tb"]);
    tools.run("heimdall-resolve", &["nope"]);
    tools.ok("heimdall-capsule", &["write", "w1", "--what", "x"]);
    tools.ok("heimdall-brief", &["build", "--task", "t", "--spec", "s", "--capsules", "w1"]);
    tools.piped("heimdall-validate", &[], b"{}");
    let log = tools.ok("heimdall-protocol", &["log", "100"]);
    let output: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
    for line in [
        "resolve\tset\tF1=a\\tb",
        "resolve\tlookup\tF1",
        "resolve\treverse\ta\\tb->F1",
        "capsule\thydrate\tw1",
        "brief\tbuild\ttask=t symbols= capsules=w1",
    ] {
        assert!(output.contains(&line), "{line}: {log}");
    }
    assert!(output.iter().any(|line| line.starts_with("validate\treject\t[")), "{log}");
    assert!(output.iter().any(|line| line.starts_with("ledger\tlog\torchestration/delta_brief=")));
    assert!(!log.contains("nope"));
    assert_eq!(tools.ok("heimdall-protocol", &["log", "1"]).lines().count(), 1);
}
