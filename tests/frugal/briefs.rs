//! Briefs: what is in them, what is not, and what they say of what they lack.

use super::*;

fn furnished() -> Tools {
    let tools = Tools::new();
    tools.ok("heimdall-resolve", &["set", "F12", "src/matching/engine.ts"]);
    tools.ok("heimdall-resolve", &["set", "C3", "balances sum to zero"]);
    tools.ok("heimdall-capsule", &["write", "w1", "--what", "added LOB engine", "--where", "F12"]);
    tools.ok("heimdall-capsule", &["write", "w2", "--what", "added book diff", "--depends", "w1"]);
    tools.ok("heimdall-capsule", &["write", "w3", "--what", "unrelated docs"]);
    tools.project.write("PLAN-1.md", "SECRET PLAN BODY");
    tools.project.write("INVARIANTS.md", "# All\n\n## Money is conserved\n");
    tools
}

const BUILD: &[&str] = &["build", "--task", "3.2", "--spec", "implement book diff"];
const REFS: &[&str] = &[
    "--symbols",
    "F12, C3",
    "--capsules",
    "w2",
    "--invariants",
    "INVARIANTS.md#money-is-conserved",
];

#[test]
fn a_brief_has_what_is_referred_to_and_nothing_else() {
    let tools = furnished();
    let brief = tools.ok("heimdall-brief", &[BUILD, REFS].concat());
    let hydrated = tools.ok("heimdall-capsule", &["hydrate", "w2"]);
    let capsules: Vec<String> = hydrated.lines().map(|line| format!("  {line}\n")).collect();
    let capsules = capsules.concat();
    let expected = format!(
        "=== DELTA BRIEF — task 3.2 ===\n\
         # Refs only. Not the plan, not prior conversation, not restated criteria.\n\n\
         TASK SPEC:\n  implement book diff\n\n\
         SYMBOLS (referenced only):\n  F12 = src/matching/engine.ts\n  C3 = balances sum to zero\n\n\
         CONTEXT CAPSULES (dependency closure of referenced ids ONLY):\n{capsules}\n\
         INVARIANTS REF: INVARIANTS.md#money-is-conserved\n\n"
    );
    assert_eq!(brief, expected);
    assert_eq!(tools.ok("heimdall-brief", &[BUILD, REFS].concat()), brief, "the same bytes");
    assert!(!brief.contains("unrelated") && !brief.contains("SECRET"));
    let strict = tools.ok("heimdall-brief", &[BUILD, REFS, &["--strict"]].concat());
    assert!(strict.contains("#money-is-conserved (verified: file + anchor)\n"), "{strict}");
}

#[test]
fn missing_references_of_a_brief_are_listed_or_refused() {
    let tools = furnished();
    let loose = tools.ok("heimdall-brief", &[BUILD, &["--symbols", "NOPE,F12"]].concat());
    assert!(loose.contains("  NOPE = <UNRESOLVED>\n"), "{loose}");
    let unknown = [BUILD, &["--capsules", "zz"]].concat();
    let ran = tools.fails("heimdall-brief", &unknown, 1, "error: no capsule: zz");
    assert!(ran.out.contains("TASK SPEC:") && ran.out.ends_with("ONLY):\n"), "{ran:?}");
    let refs = [
        "--symbols",
        "NOPE",
        "--capsules",
        "zz,../x",
        "--invariants",
        "INVARIANTS.md#gone",
        "--strict",
    ];
    let ran = tools.run("heimdall-brief", &[BUILD, &refs].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("!! THIS BRIEF IS INCOMPLETE — 4 ref(s) UNRESOLVED. DO NOT SPAWN ON IT.")
    );
    for reference in ["NOPE", "zz", "../x", "INVARIANTS.md#gone"] {
        assert!(ran.out.contains(&format!("  !! {reference} — ")), "{ran:?}");
    }
    for outside in ["/etc/passwd", "../../../etc/passwd", "gone.md", "#x"] {
        let args = [BUILD, &["--invariants", outside, "--strict"]].concat();
        assert_eq!(tools.run("heimdall-brief", &args).code, Some(1), "{outside}");
    }
    let fails = |args: &[&str], code, words| tools.fails("heimdall-brief", args, code, words);
    fails(&["build", "--task", "1"], 2, "error: ");
    fails(&["build", "--spec", "x"], 2, "error: ");
    fails(&["build", "--task", "1", "--spec"], 1, "error: --spec needs a value");
    fails(&[], 2, "error: ");
}

#[test]
fn could_not_look_is_not_the_same_as_not_there() {
    let tools = furnished();
    for ending in ["db-wal", "db-shm"] {
        let _ = std::fs::remove_file(tools.project.store().with_extension(ending));
    }
    std::fs::write(tools.project.store(), "not a store at all").unwrap();
    let args = [BUILD, REFS, &["--strict"]].concat();
    tools.fails("heimdall-brief", &args, 3, "NON_VERIFIED: ");
    let house = ["brief", "--task", "1", "--spec", "x", "--symbols", "F12"];
    assert_eq!(tools.project.run(&house).code, Some(3));
}

#[test]
fn the_limit_holds_and_what_was_left_out_is_named() {
    let tools = furnished();
    let count = |text: &str| {
        let ran = tools.project.run_with(&["tokens", "count", "-"], text.as_bytes());
        ran.out.trim().parse::<u64>().unwrap()
    };
    let with = |most: u64| {
        let most = most.to_string();
        tools.run("heimdall-brief", &[BUILD, REFS, &["--max-tokens", &most]].concat())
    };
    let whole = count(&tools.ok("heimdall-brief", &[BUILD, REFS].concat()));
    let mut cut = 0;
    for most in [whole, whole - 1, whole * 3 / 4, whole / 2] {
        let ran = with(most);
        if ran.code == Some(0) {
            assert!(count(&ran.out) <= most, "{most}: {ran:?}");
            cut += u64::from(ran.out.contains("LEFT OUT (") && ran.out.contains("  capsule w1\n"));
        }
    }
    assert!(cut >= 2, "{cut}");
    let ran = with(5);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let wrong = [BUILD, &["--max-tokens", "many"]].concat();
    tools.fails("heimdall-brief", &wrong, 2, "error: ");
}

#[test]
fn every_brief_is_counted() {
    let tools = furnished();
    let brief = tools.ok("heimdall-brief", &[BUILD, REFS].concat());
    let count = tools.project.run_with(&["tokens", "count", "-"], brief.as_bytes()).out;
    let logged: Vec<_> = tools
        .project
        .entries()
        .into_iter()
        .filter(|entry| entry["kind"] == "ledger.logged")
        .collect();
    assert_eq!(logged.len(), 1);
    let body = &logged[0]["body"];
    assert_eq!(body["tokens"].to_string(), count.trim());
    assert_eq!(body["tokenizer"], "o200k_base");
    assert_eq!((&body["kind"], &body["task"]), (&"delta_brief".into(), &"3.2".into()));
}
