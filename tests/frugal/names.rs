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
    let said = tools.ok("heimdall-protocol", &["init"]);
    assert!(said.starts_with("initialized protocol layout under "), "{said}");
    for name in ["symbols:", "blackboard:", "capsules:", "ledger:", "schema:", "log:"] {
        assert!(said.lines().any(|line| line.starts_with(&format!("  {name}"))), "{said}");
    }
    assert_eq!(tools.ok("heimdall-protocol", &["init"]), said);
}

#[test]
fn names_are_made_once_and_take_nobodys_place() {
    let tools = Tools::new();
    let folder = tools.bin.path().to_str().unwrap();
    let again = tools.project.json(&["shims", folder]);
    assert_eq!(again.as_array().unwrap().len(), NAMES.len());
    assert!(again.as_array().unwrap().iter().all(|name| name["fate"] == "there"), "{again}");
    let own = tools.bin.path().join("heimdall-gate");
    std::fs::remove_file(&own).unwrap();
    std::fs::write(&own, "somebody's").unwrap();
    let ran = tools.project.run(&["shims", folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "somebody's");
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
    let said = tools.ok("heimdall-protocol", &["demo"]);
    let lines = said.lines().filter(|line| line.contains(" workers x "));
    let shares: Vec<(u64, u64)> = lines
        .map(|line| {
            let (_, numbers) = line.split_once(": ").unwrap();
            let words: Vec<&str> = numbers.split_whitespace().collect();
            (words[0].parse().unwrap(), words[2].parse().unwrap())
        })
        .collect();
    assert!(shares.len() >= 4, "{said}");
    let (before, after) = shares[0];
    assert!(after * 10 <= before, "one wave of three: {said}");
    assert!(shares.iter().any(|(before, after)| after * 20 <= *before), "{said}");
    assert!(said.contains(&format!("orchestration: {before} -> {after} tokens (v1 baseline")));
    assert!(!tools.project.state().exists());
    let binary = std::fs::read(BINARY).unwrap();
    let number = before.to_string();
    let found = binary.windows(number.len()).any(|own| own == number.as_bytes());
    assert!(!found, "the number is counted, not written down");
}
