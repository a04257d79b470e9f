//! Claims and HAIDs over leases and agents.

use super::*;

const BOB: &str = "haid:bob.mbp-bbbb";

/// Runs as somebody else whose key is here.
fn bob(tools: &Tools, args: &[&str]) -> Ran {
    let mut command = tools.command("heimdall-claim");
    tools.with(command.args(args).env("ALTHING_AGENT", BOB), b"")
}

#[test]
fn a_claim_is_held_shown_and_given_back() {
    let tools = Tools::new();
    let own = tools.own();
    let run = |args: &[&str]| tools.ok("heimdall-claim", args);
    assert_eq!(run(&["list"]), "(no active claims)\n");
    assert_eq!(run(&["list", "--json"]), "[]\n");
    assert_eq!(
        run(&["claim", "src/a/**", "docs", "--task", "T-9"]),
        format!("claimed 2 surface(s) for {own} (task T-9, ttl 90m)\n  src/a/**\n  docs\n")
    );
    let list = run(&["list"]);
    assert!(
        list.starts_with(&format!("ACTIVE CLAIMS (1)\n  {own}\tT-9\tttl:90m\thb:20")),
        "{list}"
    );
    assert!(list.ends_with("\n    surfaces: src/a/**, docs\n"), "{list}");
    let json: serde_json::Value = serde_json::from_str(&run(&["list", "--json"])).unwrap();
    assert_eq!(json[0]["haid"], own.as_str());
    assert_eq!((&json[0]["human"], &json[0]["ttl_minutes"]), (&"rj".into(), &90.into()));
    run(&["claim", "tests", "--task", "T-10", "--ttl", "5"]);
    assert!(run(&["list"]).starts_with("ACTIVE CLAIMS (2)\n"), "claiming again adds");
    // Everybody's table says what for, and one setting says for how long.
    assert!(tools.project.ok(&["claims"]).out.contains("T-10"));
    let mut command = tools.command("heimdall-claim");
    command.args(["claim", "benches", "--task", "T-11"]).env("ALTHING_LEASE_TTL", "30m");
    let text = tools.with(&mut command, b"").out;
    assert!(text.ends_with("(task T-11, ttl 30m)\n  benches\n"), "{text}");
    run(&["claim", "src/b", "--task", "T-11", "--replace"]);
    let left = run(&["list"]);
    assert!(left.starts_with("ACTIVE CLAIMS (1)\n") && left.contains("src/b"), "{left}");
    assert_eq!(run(&["heartbeat"]), format!("heartbeat bumped for {own}\n"));
    assert_eq!(run(&["reap"]), "reaped 0 expired claim(s); 1 active claim(s) remain\n");
    assert!(run(&["show"]).contains("T-11"));
    assert_eq!(run(&["release"]), format!("released claim for {own}\n"));
    assert_eq!(run(&["release"]), format!("no active claim for {own}\n"));
    tools.fails("heimdall-claim", &["heartbeat"], 2, "error: no active claim for ");
}

#[test]
fn collisions_are_told_in_the_documented_words() {
    let tools = Tools::new();
    let held = bob(&tools, &["claim", "src/a/**", "--task", "T-9"]);
    assert_eq!(held.code, Some(0), "{held:?}");
    let ran = tools.run("heimdall-claim", &["claim", "docs", "src/a/x.ts", "--task", "T-1"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""));
    assert_eq!(
        ran.err,
        format!(
            "COLLISION: cannot claim — surfaces overlap active claims:\n  \
             'src/a/x.ts' overlaps 'src/a/**' held by {BOB} (task T-9)\n\
             resolve via the governance override flow or sequence the work; do NOT force.\n"
        )
    );
    let ran = tools.run("heimdall-claim", &["check", "src/a/x.ts"]);
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err
            .starts_with("COLLISION: requested surfaces overlap ACTIVE claims by other agents:\n")
    );
    assert!(ran.err.ends_with("(human bob, task T-9)\n"), "{ran:?}");
    assert!(
        tools.ok("heimdall-claim", &["check", "docs"]).starts_with("clear: no requested surface")
    );
    // A replacement that collides gives nothing up.
    tools.ok("heimdall-claim", &["claim", "docs", "--task", "T-1"]);
    let ran = tools.run("heimdall-claim", &["claim", "src", "--task", "T-2", "--replace"]);
    assert_eq!(ran.code, Some(3));
    assert!(tools.ok("heimdall-claim", &["show"]).contains("surfaces: docs"));
}

#[test]
fn surfaces_overlap_as_paths_globs_and_symbols_do() {
    let tools = Tools::new();
    let table = [
        ("src/a/**", "src/a/x.ts", true),
        ("src/a/**", "src/a", true),
        ("src/a/**", "src/ab.ts", false),
        ("src", "src/a.ts", true),
        ("src/", "src/a.ts", true),
        ("src/a.ts#f", "src/a.ts#g", false),
        ("src/a.ts#f", "src/a.ts", true),
        ("src/a.ts#f", "src/**", true),
        ("src/*.ts", "src/sub/x.py", false),
        ("*.md", "README.md", true),
        ("**/*.ts", "src/a.ts", true),
        ("src/**/x.ts", "src/a/x.ts", true),
        ("./src/a.ts", "src/a.ts", true),
        ("src/a?.ts", "src/ab.ts", true),
        ("src/{a,b}.ts", "src/b.ts", true),
        ("Src/a.ts", "src/a.ts", false),
    ];
    for (held, asked, overlap) in table {
        let made = bob(&tools, &["claim", held, "--task", "T", "--replace"]);
        assert_eq!(made.code, Some(0), "{held}: {made:?}");
        let ran = tools.run("heimdall-claim", &["check", asked]);
        assert_eq!(ran.code, Some(if overlap { 3 } else { 0 }), "{held} and {asked}: {ran:?}");
    }
}

#[test]
fn only_its_holder_or_an_override_ends_a_claim() {
    let tools = Tools::new();
    tools.project.login("ada");
    bob(&tools, &["claim", "src", "--task", "T-9"]);
    let release = ["release", "--haid", BOB];
    let ran = tools.fails("heimdall-claim", &release, 1, "only its holder releases a claim");
    assert_eq!(ran.out, "");
    let forced = [&release[..], &["--override", "--reason", "gone home"]].concat();
    assert_eq!(tools.run("heimdall-claim", &forced).code, Some(1), "an agent may not");
    let silent = [&release[..], &["--override"]].concat();
    assert_eq!(
        tools.as_user("ada", "heimdall-claim", &silent).code,
        Some(2),
        "nor without a reason"
    );
    let ran = tools.as_user("ada", "heimdall-claim", &forced);
    assert_eq!(
        (ran.code, ran.out),
        (Some(0), format!("released claim for {BOB}\n")),
        "{}",
        ran.err
    );
    let entries = tools.project.entries();
    let last = entries.iter().find(|entry| entry["kind"] == "lease.forced").unwrap();
    assert_eq!(last["body"]["reason"], "gone home");
    // Whom one started is one's own to speak for.
    let cursor = tools.ok("heimdall-haid", &["spawn", "Cursor"]).trim().to_owned();
    tools.ok("heimdall-claim", &["claim", "src", "--task", "T", "--haid", &cursor]);
    tools.ok("heimdall-claim", &["release", "--haid", &cursor]);
}

#[test]
fn a_revoked_haid_claims_nothing() {
    let tools = Tools::new();
    tools.project.login("ada");
    let own = tools.own();
    tools.ok("heimdall-haid", &["register"]);
    assert_eq!(tools.ok("heimdall-haid", &["check", &own]), format!("{own} active\n"));
    assert_eq!(tools.run("heimdall-haid", &["revoke", &own]).code, Some(1), "no agent may");
    let ran = tools.as_user("ada", "heimdall-haid", &["revoke", &own]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("{own} revoked\n")), "{}", ran.err);
    tools.fails("heimdall-haid", &["check", &own], 3, &format!("error: HAID is revoked: {own}"));
    let claim = ["claim", "src", "--task", "T"];
    tools.fails("heimdall-claim", &claim, 1, &format!("error: HAID is revoked: {own}"));
    tools.ok("heimdall-haid", &["register"]);
    assert!(tools.ok("heimdall-haid", &["list"]).contains(&format!("{own}\trevoked\trj\t")));
    let ran = tools.as_user("ada", "heimdall-haid", &["reinstate", &own]);
    assert_eq!(ran.out, format!("{own} active\n"));
    tools.ok("heimdall-claim", &claim);
}

#[test]
fn haids_are_derived_registered_and_listed() {
    let tools = Tools::new();
    let own = tools.own();
    assert!(own.starts_with("haid:rj."), "{own}");
    assert_eq!(tools.ok("heimdall-haid", &["spawn", "Git Hub"]), format!("{own}/git-hub\n"));
    let marked = tools.ok("heimdall-haid", &["spawn", "Git Hub!"]);
    assert!(marked.starts_with(&format!("{own}/git-hub-")), "a mark makes it another: {marked}");
    assert_eq!(tools.ok("heimdall-haid", &["trailer"]), format!("Heimdall-Agent: {own}\n"));
    assert_eq!(tools.ok("heimdall-haid", &["get", &own]), "null\n");
    assert_eq!(tools.ok("heimdall-haid", &["register", "--role", "lead"]), format!("{own}\n"));
    let cursor = format!("{own}/cursor");
    assert_eq!(tools.ok("heimdall-haid", &["register", "--haid", &cursor]), format!("{cursor}\n"));
    let entry: serde_json::Value =
        serde_json::from_str(&tools.ok("heimdall-haid", &["get", &cursor])).unwrap();
    assert_eq!((&entry["role"], &entry["status"]), (&"cursor".into(), &"active".into()));
    let list = tools.ok("heimdall-haid", &["list"]);
    assert!(list.contains(&format!("{own}\tactive\trj\tlead\tlast:20")), "{list}");
    tools.ok("heimdall-haid", &["heartbeat"]);
    let fails = |args: &[&str], code, text| tools.fails("heimdall-haid", args, code, text);
    fails(&["heartbeat", BOB], 2, "HAID not in registry");
    fails(&["check", BOB], 3, "error: HAID not in registry: haid:bob.mbp-bbbb");
    fails(&["spawn", "!!"], 2, "error: ");
    for bad in ["nonsense", "haid:a.b-zzzz", "haid:a.b-0000/x/y", "haid:../x.b-0000"] {
        fails(&["check", bad], 2, "error: malformed HAID");
        fails(&["get", bad], 2, "error: malformed HAID");
    }
}

#[test]
fn wrong_claims_are_refused() {
    let tools = Tools::new();
    let fails = |args: &[&str], code, text| tools.fails("heimdall-claim", args, code, text);
    fails(&["claim", "src"], 2, "error: claim needs --task <ref>");
    fails(&["claim", "--task", "T"], 2, "error: ");
    fails(&["claim", "src", "--task"], 2, "error: --task needs a value");
    for ttl in ["0", "-1", "soon"] {
        fails(&["claim", "src", "--task", "T", "--ttl", ttl], 2, "error: --ttl");
    }
    fails(&["claim", "src", "--task", "T", "--ttl", "99999999999"], 2, "error: ");
    fails(&["claim", "../outside", "--task", "T"], 2, "error: ");
    fails(&["check"], 2, "error: ");
    fails(&["release", "src"], 2, "error: ");
    assert_eq!(tools.ok("heimdall-claim", &["list"]), "(no active claims)\n");
    let odd = ["claim", "--task", "T", "--", "--odd"];
    assert!(tools.ok("heimdall-claim", &odd).contains("  --odd\n"));
}

/// Whoever is set to be somebody ends, renews and replaces nothing of anybody else's.
#[test]
fn nobody_acts_for_a_sibling() {
    let tools = Tools::new();
    let own = tools.own();
    tools.ok("heimdall-claim", &["claim", "src", "--task", "T"]);
    for agent in [BOB.to_owned(), format!("{own}+two"), "alice".to_owned()] {
        for args in [
            &["release", "--haid", &own][..],
            &["heartbeat", "--haid", &own],
            &["claim", "x", "--task", "Z", "--replace", "--haid", &own],
        ] {
            let mut command = tools.command("heimdall-claim");
            let ran = tools.with(command.args(args).env("ALTHING_AGENT", &agent), b"");
            assert_eq!(ran.code, Some(1), "{agent} {args:?} {ran:?}");
            assert!(ran.err.contains("and not"), "{ran:?}");
        }
    }
    assert!(tools.ok("heimdall-claim", &["list"]).contains("src"), "it is held as before");
}

/// An expired claim is reported, and leaves the files.
#[test]
fn a_claim_that_ran_out_is_reaped() {
    let tools = Tools::new();
    let open = r#"{"surfaces":["src"],"ttl_s":1}"#;
    tools.project.ok(&["do", "lease.open", open, "--as", "gone"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let text = tools.ok("heimdall-claim", &["reap"]);
    assert_eq!(text, "reaped 1 expired claim(s); 0 active claim(s) remain\n");
    let decisions = tools.project.path().join(".planning/ledger/decisions.md");
    let decisions = std::fs::read_to_string(decisions).unwrap();
    assert!(decisions.contains("auto-release"), "{decisions}");
    let claims = tools.project.path().join(".planning/ledger/claims");
    assert_eq!(std::fs::read_dir(claims).unwrap().count(), 0);
}

/// A glob is held as a whole, whatever symbol is named in it.
#[test]
fn two_symbols_of_one_glob_collide() {
    let tools = Tools::new();
    assert_eq!(bob(&tools, &["claim", "src/**#g", "--task", "t"]).code, Some(0));
    let ran = tools.run("heimdall-claim", &["claim", "src/**#f", "--task", "t"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    tools.ok("heimdall-claim", &["claim", "lib/a.ts#f", "--task", "t"]);
    assert_eq!(bob(&tools, &["claim", "lib/a.ts#g", "--task", "t"]).code, Some(0));
}
