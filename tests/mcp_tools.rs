//! The six tools of the frugal dialect, through hosts.

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

fn ends(value: &Value, ending: &str) -> bool {
    value.as_str().unwrap().ends_with(ending)
}

#[test]
fn a_claim_belongs_to_the_client_and_others_collide_with_it() {
    let project = Sandbox::new();
    let (mut cursor, mut copilot) =
        (Host::named(&project, "cursor"), Host::named(&project, "copilot"));
    let made = cursor.done("make_claim", json!({ "surfaces": ["src/a/**"], "task": "T-9" }));
    let own = made["haid"].as_str().unwrap().to_owned();
    assert!(own.starts_with("haid:") && own.ends_with("/cursor"), "{made}");
    assert_eq!(made["client_haid"], own);
    assert_eq!(made["surfaces"], json!(["src/a/**"]));
    assert_eq!(made["task"], "T-9");
    assert_eq!(made["task_ref"], format!("T-9 (via heimdall-ledger-mcp:{own})"));
    let text = format!("claimed 1 surface(s) for {own} (task T-9, ttl 90m)\n  src/a/**");
    assert_eq!(made["result"], text);

    let wanted = json!({ "surfaces": ["src/a/x.ts", "docs"], "task": "T-10" });
    let (shown, error) = copilot.failed("make_claim", wanted.clone());
    assert_eq!(shown["error"], "heimdall-claim claim … exited 3");
    assert_eq!(
        shown["detail"],
        format!(
            "COLLISION: cannot claim — surfaces overlap active claims:\n  \
             'src/a/x.ts' overlaps 'src/a/**' held by {own} (task T-9)\n\
             resolve via the governance override flow or sequence the work; do NOT force."
        )
    );
    assert!(ends(&shown["haid"], "/copilot"), "{shown}");
    assert_eq!((&error["kind"], &error["rule"]), (&json!("collision"), &json!("A-LEASE-01")));
    assert_eq!(error["details"]["collisions"][0]["wanted"], "src/a/x.ts");

    let read = copilot.done("read_claims", json!({}));
    assert!(ends(&read["haid"], "/copilot"), "{read}");
    assert_eq!(read["count"], 1);
    let claim = &read["active_claims"][0];
    assert_eq!(claim["haid"], own);
    assert_eq!(claim["claimed_surfaces"], json!(["src/a/**"]));
    assert_eq!(claim["ttl_minutes"], 90);
    assert_eq!(claim["task_ref"], made["task_ref"]);
    assert_eq!(claim["heartbeat"], claim["claimed_at"]);
    let human = own.strip_prefix("haid:").unwrap().split('.').next().unwrap();
    assert_eq!(claim["human"], human);

    // Only the holder gives a claim back.
    let (_, error) = copilot.failed("release_claim", json!({ "haid": own }));
    assert_eq!(error["kind"], "refused");
    assert_eq!(copilot.done("read_claims", json!({}))["count"], 1);
    let freed = cursor.done("release_claim", json!({}));
    assert_eq!(freed["result"], format!("released claim for {own}"));
    assert_eq!(freed["haid"], own);
    let freed = cursor.done("release_claim", json!({}));
    assert_eq!(freed["result"], format!("no active claim for {own}"));
    copilot.done("make_claim", wanted);
    cursor.end();
    copilot.end();
}

#[test]
fn the_same_client_again_is_the_same_agent() {
    let project = Sandbox::new();
    Host::named(&project, "cursor").done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    let mut later = Host::named(&project, "Cursor");
    later.done("make_claim", json!({ "surfaces": ["a", "b"], "task": "T", "ttl_minutes": 5 }));
    let held = project.json(&["claims"]);
    assert_eq!(held.as_array().unwrap().len(), 2, "{held}");
    assert_eq!(held[1]["ttl_s"], 300);
    later.done("release_claim", json!({}));
    assert_eq!(project.json(&["claims"]), json!([]));
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn long_names_that_begin_alike_are_two_agents() {
    let project = Sandbox::new();
    let named = |end: &str| format!("An editor whose name goes on and on, {end}");
    let mut host = Host::named(&project, &named("first"));
    let own = host.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    let other = json!({ "surfaces": ["a"], "task": "T", "client_identity": named("second") });
    let (shown, error) = host.failed("make_claim", other);
    assert_eq!(error["kind"], "collision", "{shown}");
    assert_ne!(shown["haid"], own["haid"]);
}

#[test]
fn a_haid_is_nobodys_name_but_its_own() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let own = host.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }))["haid"].clone();
    let own = own.as_str().unwrap();
    let read = host.done("read_claims", json!({ "client_identity": own }));
    assert_eq!(read["haid"], own, "it is meant as it is said");
    let root = own.strip_suffix("/cursor").unwrap();
    let before = project.json(&["do", "agent.list", "{}"]);
    for (given, rule) in [
        ("haid:eve.mbp-0000/cursor", "A-USE-04"),
        (root, "A-USE-04"),
        ("haid:nonsense", "A-USE-01"),
        ("HAID:eve.mbp-0000", "A-USE-01"),
    ] {
        let args = json!({ "surfaces": ["b"], "task": "T", "client_identity": given });
        let (shown, error) = host.failed("make_claim", args);
        assert_eq!(error["rule"], rule, "{given}: {shown}");
    }
    for given in ["haid:nonsense", "haid:a.b-0000/c/d", "two words", "nobody"] {
        let (shown, error) = host.failed("release_claim", json!({ "haid": given }));
        let kind = if given == "nobody" { "not_found" } else { "usage" };
        assert_eq!(error["kind"], kind, "{given}: {shown}");
    }
    assert_eq!(project.json(&["do", "agent.list", "{}"]), before, "nobody became somebody");
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
}

#[test]
fn claims_of_every_door_meet() {
    let project = Sandbox::new();
    project.ok(&["claim", "src", "--as", "alice", "--task", "T-1"]);
    let mut host = Host::named(&project, "cursor");
    let (shown, _) = host.failed("make_claim", json!({ "surfaces": ["./src/x.rs"], "task": "T" }));
    let line = "  'src/x.rs' overlaps 'src' held by alice (task T-1)\n";
    assert!(shown["detail"].as_str().unwrap().contains(line), "{shown}");
    host.done("make_claim", json!({ "surfaces": ["docs/a.md"], "task": "T" }));
    assert_eq!(project.run(&["claim", "docs", "--as", "alice"]).code, Some(3));
}

#[test]
fn a_server_can_be_told_who_acts() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--as", "reviewer"]);
    let made = host.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    assert_eq!(made["haid"], "reviewer");
    let (_, error) = host.failed("read_claims", json!({ "client_identity": "cursor" }));
    assert_eq!(error["rule"], "A-USE-04", "{error}");
    assert_eq!(project.json(&["claims"])[0]["holder"], "agent:reviewer");
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    for (tool, arguments, expected) in [
        ("make_claim", json!({}), "make_claim requires a non-empty 'surfaces' string array"),
        (
            "make_claim",
            json!({ "surfaces": [], "task": "T" }),
            "make_claim requires a non-empty 'surfaces' string array",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a", 1], "task": "T" }),
            "make_claim requires a non-empty 'surfaces' string array",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a"] }),
            "make_claim requires a non-empty 'task' string",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a"], "task": " " }),
            "make_claim requires a non-empty 'task' string",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a"], "task": "T", "ttl_minutes": 0 }),
            "'ttl_minutes' must be a positive integer",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a"], "task": "T", "ttl_minutes": "5" }),
            "'ttl_minutes' must be a positive integer",
        ),
        (
            "make_claim",
            json!({ "surfaces": ["a"], "task": "T", "force": true }),
            "make_claim takes no argument 'force', only client_identity, replace, surfaces, task, ttl_minutes",
        ),
        (
            "append_decision",
            json!({ "title": "x" }),
            "append_decision requires a non-empty 'body' string",
        ),
        (
            "raise_conflict_pr",
            json!({ "id": "c", "title": "t" }),
            "raise_conflict_pr requires a non-empty 'surfaces' string array",
        ),
        ("read_capsules", json!({ "id": 5 }), "'id' must be a non-empty string"),
        ("nothing", json!({}), "unknown tool: nothing"),
    ] {
        let (shown, error) = host.failed(tool, arguments);
        assert_eq!(shown["error"], expected);
        assert_eq!(error["kind"], "usage");
        assert!(ends(&shown["haid"], "/cursor"), "{shown}");
    }
    for arguments in [
        json!({ "surfaces": ["../x"], "task": "T" }),
        json!({ "surfaces": ["/etc"], "task": "T" }),
        json!({ "surfaces": ["a"], "task": "T".repeat(500) }),
        json!({ "surfaces": ["a"], "task": "T", "ttl_minutes": 10_000_000 }),
    ] {
        let (_, error) = host.failed("make_claim", arguments.clone());
        assert_eq!(error["kind"], "usage", "{arguments}");
    }
    assert_eq!(project.json(&["claims"]), json!([]));
}

#[test]
fn decisions_and_capsules_are_shared_with_every_door() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let decided = json!({ "title": "Use SQLite", "body": "One file,\nmany processes." });
    let made = host.done("append_decision", decided);
    assert_eq!((&made["appended"], &made["title"]), (&json!(true), &json!("Use SQLite")));
    assert!(ends(&made["timestamp"], "Z") && ends(&made["haid"], "/cursor"), "{made}");
    let listed = project.json(&["do", "decision.list", "{}"]);
    assert_eq!(listed[0]["title"], "Use SQLite");
    project.ok(&["do", "decision.append", r#"{"title":"t","body":"b"}"#, "--as", "alice"]);
    project.ok(&["rebuild"]);
    let file = project.path().join(".planning/ledger/decisions.md");
    let file = std::fs::read_to_string(file).unwrap();
    let own = made["haid"].as_str().unwrap();
    assert!(file.contains(&format!("*— recorded via heimdall-ledger-mcp by `{own}`*\n")), "{file}");
    assert!(file.contains("*— recorded via althing by `alice`*\n"), "{file}");
    let too_long = json!({ "title": "x".repeat(300), "body": "b" });
    let (shown, _) = host.failed("append_decision", too_long);
    assert_eq!(shown["error"], "text of 300 bytes is over the limit of 200");
    assert!(ends(&listed[0]["by"], "+cursor"), "{listed}");

    let empty = host.done("read_capsules", json!({}));
    assert_eq!((&empty["count"], &empty["capsules"]), (&json!(0), &json!([])));
    let write = |args: &str| project.ok(&["do", "capsule.write", args, "--as", "alice"]);
    write(r#"{"id":"w1","what":"added the engine","where":"F12","depends":[]}"#);
    write(r#"{"id":"w2","what":"added the diff","gotcha":"fixed seed","depends":["w1"]}"#);
    project.write(".planning/ledger/completed/2026-06-12-t1.md", "# Hand-off\n");
    project.write(".planning/ledger/completed/README.md", "not a record\n");
    let read = host.done("read_capsules", json!({}));
    let of = |n: usize, field: &str| read["capsules"][n][field].as_str().unwrap().to_owned();
    assert_eq!(read["count"], 3);
    assert_eq!((of(0, "id"), of(0, "source")), ("2026-06-12-t1".into(), "completed".into()));
    assert_eq!(of(0, "body"), "# Hand-off\n");
    assert_eq!((of(1, "id"), of(1, "source")), ("w1".into(), "protocol".into()));
    assert!(of(2, "path").ends_with(".planning/protocol/capsules/w2.md"));
    let body = of(2, "body");
    assert!(body.starts_with("---\nid: w2\ndepends: w1\nts: 20"), "{body}");
    assert!(body.ends_with("Z\n---\nWHAT: added the diff\nGOTCHA: fixed seed\n"), "{body}");
    let one = host.done("read_capsules", json!({ "id": "w1" }));
    assert_eq!((&one["count"], &one["capsules"][0]["id"]), (&json!(1), &json!("w1")));
    assert!(ends(&one["haid"], "/cursor"), "{one}");
}

#[test]
fn a_revoked_client_claims_nothing() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let own = host.done("read_claims", json!({}))["haid"].as_str().unwrap().to_owned();
    host.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    project.login("ada");
    let agent = json!({ "agent": own.replace('/', "+") }).to_string();
    let ran = project.as_user("ada", &["do", "agent.revoke", &agent]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, error) = host.failed("make_claim", json!({ "surfaces": ["b"], "task": "T" }));
    assert_eq!(error["kind"], "refused", "{error}");
    let ran = project.as_user("ada", &["do", "agent.reinstate", &agent]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    host.done("make_claim", json!({ "surfaces": ["b"], "task": "T" }));
}

fn git(project: &Sandbox, args: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@x.org"])
        .args(args)
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_conflict_becomes_a_branch_and_displaced_work_is_kept() {
    let project = Sandbox::new();
    project.write("src/a/x.ts", "old\n");
    project.write("src/a/gone.ts", "gone\n");
    project.write("other.ts", "other\n");
    project.write(".gitignore", "*.secret\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    // Work that nobody committed: changed, staged, new, deleted, ignored, and elsewhere.
    project.write("src/a/x.ts", "new\n");
    project.write("src/a/staged.ts", "staged\n");
    git(&project, &["add", "src/a/staged.ts"]);
    project.write("src/a/fresh.ts", "fresh\n");
    project.write("src/a/own.secret", "secret\n");
    project.write("other.ts", "changed\n");
    std::fs::remove_file(project.path().join("src/a/gone.ts")).unwrap();
    let before = (git(&project, &["status", "--porcelain"]), git(&project, &["rev-parse", "HEAD"]));

    let mut bob = Host::named(&project, "bob");
    let displaced = bob.done("make_claim", json!({ "surfaces": ["src/a/**"], "task": "T" }));
    let displaced = displaced["haid"].as_str().unwrap().to_owned();
    let mut cursor = Host::named(&project, "cursor");
    let args = json!({
        "id": "conf-1", "title": "two agents", "surfaces": ["src/a/**"],
        "overriding_intent": "rename", "displaced_intent": "speed up",
    });
    let raised = cursor.done("raise_conflict_pr", args.clone());
    let relative = raised["relative_path"].as_str().unwrap();
    assert!(relative.starts_with("ledger/conflicts/20") && relative.ends_with("-conf-1.md"));
    assert_eq!(raised["conflict_file"], Value::Null, "nothing is written out here");
    assert_eq!(raised["branch_file"], format!("conflict/conf-1:.planning/{relative}"));
    assert_eq!(raised["not_preserved"], json!([]));
    let kept = raised["preserved_branch"].as_str().unwrap();
    assert!(kept.starts_with("displaced/haid-") && kept.ends_with("-conf-1"), "{kept}");
    assert!(raised["pr_path"].as_str().unwrap().contains("conflict/conf-1"), "{raised}");
    assert!(ends(&raised["haid"], "/cursor"), "{raised}");

    let file = git(&project, &["show", &format!("conflict/conf-1:.planning/{relative}")]);
    assert!(file.starts_with("# Conflict conf-1 — two agents\n\n- **Date:** 20"), "{file}");
    for line in [
        format!(
            "- **Overriding HAID:** {}  (via heimdall-ledger-mcp)",
            raised["haid"].as_str().unwrap()
        ),
        format!("- **Displaced HAID:** {displaced}"),
        "- **Surfaces:**\n  - src/a/**\n\n## Both intents\n".to_owned(),
        "- **Overriding agent wanted:** rename\n- **Displaced agent wanted:** speed up\n"
            .to_owned(),
        format!("- **Preserved on branch:** `{kept}`  (never deleted)"),
    ] {
        assert!(file.contains(&line), "{line} in {file}");
    }
    let changed = git(&project, &["diff", "--name-status", "HEAD", "conflict/conf-1"]);
    assert_eq!(changed, format!("A\t.planning/{relative}\n"));
    let mut saved: Vec<String> = git(&project, &["diff", "--name-status", "HEAD", kept])
        .lines()
        .map(str::to_owned)
        .collect();
    saved.sort();
    let expected = ["A\tsrc/a/fresh.ts", "A\tsrc/a/staged.ts", "D\tsrc/a/gone.ts", "M\tsrc/a/x.ts"];
    assert_eq!(saved, expected);
    assert_eq!(git(&project, &["show", &format!("{kept}:src/a/x.ts")]), "new\n");
    let after = (git(&project, &["status", "--porcelain"]), git(&project, &["rev-parse", "HEAD"]));
    assert_eq!(before, after, "what the person has at hand is as it was");
    let left: Vec<_> = std::fs::read_dir(project.state())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("index"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    let dispute = project.json(&["do", "dispute.get", r#"{"id":"conf-1"}"#]);
    assert_eq!(dispute["conflict_branch"], "conflict/conf-1");
    assert_eq!(dispute["preserved_branch"], kept);
    assert_eq!(dispute["displaced"], displaced);
    let decision = project.json(&["do", "decision.list", "{}"])[0].clone();
    assert_eq!(decision["title"], "conflict conf-1 raised");
    let refs = git(&project, &["for-each-ref"]);
    let (shown, _) = cursor.failed("raise_conflict_pr", args);
    assert!(shown["error"].as_str().unwrap().starts_with("conflict record already exists: "));
    assert_eq!(git(&project, &["for-each-ref"]), refs, "nothing is overwritten");
}

#[test]
fn existing_branches_stay_and_odd_ids_are_refused() {
    let project = Sandbox::new();
    project.write("a", "a\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    git(&project, &["branch", "conflict/taken"]);
    let refs = git(&project, &["for-each-ref"]);
    let mut host = Host::named(&project, "cursor");
    for id in ["taken", "../x", "a..b", "x.lock", "a b", "-x"] {
        let args = json!({ "id": id, "title": "t", "surfaces": ["a"] });
        host.failed("raise_conflict_pr", args);
        assert_eq!(git(&project, &["for-each-ref"]), refs, "{id}");
    }
    assert_eq!(project.json(&["do", "dispute.list", "{}"]), json!([]));
}

#[test]
fn conflicts_need_no_commit_and_no_repository() {
    let project = Sandbox::new();
    project.write("a", "a\n");
    let mut host = Host::named(&project, "cursor");
    let args =
        json!({ "id": "c1", "title": "t", "surfaces": ["a"], "displaced_haid": "haid:b.m-0000" });
    let (shown, _) = host.failed("raise_conflict_pr", args);
    assert!(shown["error"].as_str().unwrap().contains("no agent haid:b.m-0000"), "{shown}");
    assert!(shown["detail"].as_str().unwrap().contains("agent.list"), "{shown}");
    project.claim("bob", "b");
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["a"], "displaced_haid": "bob" });
    let raised = host.done("raise_conflict_pr", args);
    assert_eq!(raised["preserved_branch"], "displaced/bob-c1");
    assert_eq!(git(&project, &["show", "displaced/bob-c1:a"]), "a\n");
    // Where nothing is, nothing is said to be kept.
    let raised = host
        .done("raise_conflict_pr", json!({ "id": "c2", "title": "t", "surfaces": ["none/**"] }));
    assert_eq!(raised["preserved_branch"], Value::Null);
    assert!(raised["pr_path"].as_str().unwrap().contains("no file lies under"), "{raised}");
    assert!(!git(&project, &["branch", "--list"]).contains("-c2"));
    // With files for people there is one of this conflict.
    std::fs::create_dir_all(project.path().join(".planning/protocol")).unwrap();
    let raised =
        host.done("raise_conflict_pr", json!({ "id": "c3", "title": "t", "surfaces": ["a"] }));
    let file = std::path::PathBuf::from(raised["conflict_file"].as_str().unwrap());
    assert!(file.is_file(), "{raised}");

    let plain = Sandbox::bare();
    plain.ok(&["init"]);
    let mut host = Host::named(&plain, "cursor");
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["a"] });
    let raised = host.done("raise_conflict_pr", args);
    assert_eq!(raised["preserved_branch"], Value::Null);
    assert_eq!(plain.json(&["do", "dispute.list", "{}"])[0]["id"], "c1");
}

/// Names that are no text, names that no surface can have, repositories in the repository, and
/// what cannot be kept at all.
#[cfg(unix)]
#[test]
fn displaced_work_of_any_name_is_kept_and_the_rest_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = Sandbox::new();
    project.write("s/old.rs", "old\n");
    project.write("s/link/under.rs", "under\n");
    project.write("s/staged-away.rs", "away\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    git(&project, &["rm", "--quiet", "s/staged-away.rs"]);
    std::fs::remove_dir_all(project.path().join("s/link")).unwrap();
    std::os::unix::fs::symlink("/tmp", project.path().join("s/link")).unwrap();
    let raw = project.path().join(std::ffi::OsStr::from_bytes(b"s/raw-\xff.rs"));
    std::fs::write(raw, "raw\n").unwrap();
    project.write("s/line\nbreak.rs", "line\n");
    project.write("s/nested/inner.rs", "inner\n");
    git(&project, &["init", "--quiet", "s/nested"]);
    // A file that gave way to something that cannot be read.
    std::fs::remove_file(project.path().join("s/old.rs")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(project.path().join("s/old.rs")).unwrap();

    let mut host = Host::named(&project, "cursor");
    let raised =
        host.done("raise_conflict_pr", json!({ "id": "c1", "title": "t", "surfaces": ["s/**"] }));
    let kept = raised["preserved_branch"].as_str().unwrap();
    let listed = Command::new("git")
        .args(["ls-tree", "-r", "-z", "--name-only", kept])
        .current_dir(project.path())
        .output()
        .unwrap();
    let mut names: Vec<&[u8]> = listed.stdout.split(|byte| *byte == 0).collect();
    names.retain(|name| name.starts_with(b"s/"));
    let expected: [&[u8]; 5] =
        [b"s/line\nbreak.rs", b"s/link", b"s/nested/inner.rs", b"s/old.rs", b"s/raw-\xff.rs"];
    assert_eq!(names, expected, "{}", String::from_utf8_lossy(&listed.stdout));
    let left = json!([{ "path": "s/old.rs", "why": "neither a file nor a link" }]);
    assert_eq!(raised["not_preserved"], left);
    let file = git(&project, &["show", raised["branch_file"].as_str().unwrap()]);
    assert!(
        file.ends_with("## Not preserved\n\n- s/old.rs: neither a file nor a link\n"),
        "{file}"
    );
}

#[cfg(unix)]
#[test]
fn capsules_lead_nowhere_else_and_are_not_endless() {
    let project = Sandbox::new();
    let long = "x".repeat(100_000);
    project.write(".planning/ledger/completed/long.md", &long);
    project.write("elsewhere", "secret\n");
    let link = project.path().join(".planning/ledger/completed/link.md");
    std::os::unix::fs::symlink(project.path().join("elsewhere"), link).unwrap();
    let mut host = Host::named(&project, "cursor");
    let read = host.done("read_capsules", json!({}));
    assert_eq!(read["count"], 1, "{}", read["capsules"][1]);
    let body = read["capsules"][0]["body"].as_str().unwrap();
    assert!(body.len() < 66_000 && ends(&read["capsules"][0]["body"], "the file)\n"));
}

#[test]
fn the_list_of_tools_is_short() {
    use althing_dialects::frugal::tokens::count;
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let listed = host.ask("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "read_claims",
        "make_claim",
        "release_claim",
        "read_capsules",
        "append_decision",
        "raise_conflict_pr",
    ];
    assert_eq!(names, expected);
    for tool in listed.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["properties"]["client_identity"]["type"], "string");
    }
    let tokens = count(&listed.to_string());
    assert!(tokens <= 1200, "{tokens}");
}

#[test]
fn every_answer_to_an_agent_is_counted() {
    use althing_dialects::frugal::tokens::count;
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let listed = host.ask("tools/list", json!({}))["result"]["tools"].clone();
    let mut results = 0;
    let mut asked: Vec<(&str, Value)> = (0..70)
        .map(|n| ("make_claim", json!({ "surfaces": [format!("f{n}")], "task": "T" })))
        .collect();
    asked.extend([("make_claim", json!({})), ("read_claims", json!({}))]);
    for (tool, arguments) in asked {
        let result = host.call(tool, arguments);
        results += count(result["content"][0]["text"].as_str().unwrap());
    }
    // Whoever cannot be told apart is not counted, and says so.
    host.failed("make_claim", json!({ "client_identity": "!!" }));
    host.end();
    let report = project.json(&["do", "ledger.report", r#"{"by":"kind"}"#]);
    let row = |name: &str| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(row("tool_result")["messages"], 72, "{report}");
    assert_eq!(row("tool_result")["tokens"], results, "{report}");
    assert_eq!(row("tool_result")["reported"], 0, "all of it was counted");
    // The list is counted as it went out, and reading it changed the order of its fields only.
    assert!(row("tool_list")["tokens"].as_u64().unwrap().abs_diff(count(&listed.to_string())) < 20);
    let logged: Vec<Value> = project
        .entries()
        .into_iter()
        .filter(|entry| entry["kind"] == "ledger.logged")
        .map(|entry| entry["body"].clone())
        .collect();
    assert!(logged.iter().all(|line| line["tokenizer"] == "o200k_base"), "{logged:?}");
    // A line is what one agent was handed of one tool in an interval, and says of how many.
    let lines = logged.iter().filter(|line| line["kind"] == "tool_result");
    let of: Vec<u64> = lines.map(|line| line["messages"].as_u64().unwrap_or(1)).collect();
    assert_eq!(of.iter().sum::<u64>(), 72, "{logged:?}");
    assert!(of.len() < 36, "they are summed: {logged:?}");
    let by_tool = project.json(&["do", "ledger.report", r#"{"by":"tool"}"#]);
    assert_eq!(by_tool["rows"][0]["name"], "make_claim");
    assert_eq!(by_tool["rows"][0]["messages"], 71, "{by_tool}");
}

#[test]
fn of_many_hosts_at_once_none_loses_or_doubles_a_claim() {
    const HOSTS: usize = 8;
    const ROUNDS: usize = 12;
    let project = Sandbox::new();
    // Everybody wants the same files, in another order each; each file goes to exactly one.
    let won: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let project = &project;
        let host = |n: usize| {
            let mut host = Host::named(project, &format!("host-{n}"));
            let mut won = Vec::new();
            for round in 0..ROUNDS {
                let file = (round + n * 5) % ROUNDS;
                let args = json!({ "surfaces": [format!("f{file}")], "task": "T" });
                if host.call("make_claim", args)["isError"] == false {
                    won.push((file, n));
                }
            }
            host.end();
            won
        };
        let threads: Vec<_> = (0..HOSTS).map(|n| scope.spawn(move || host(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let files: BTreeSet<usize> = won.iter().map(|(file, _)| *file).collect();
    assert_eq!((files.len(), won.len()), (ROUNDS, ROUNDS), "{won:?}");
    let held = project.json(&["claims"]);
    assert_eq!(held.as_array().unwrap().len(), ROUNDS);
    for lease in held.as_array().unwrap() {
        let file = lease["surfaces"][0].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let n = won.iter().find(|(own, _)| *own == file).unwrap().1;
        assert!(ends(&lease["holder"], &format!("+host-{n}")), "{lease}");
    }
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Counting what was handed out is no part of reading: it happens together, at the end at the latest.
#[test]
fn reading_writes_nothing_while_a_host_is_connected() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    let before = project.entries().len();
    let mut host = Host::named(&project, "cursor");
    host.ask("tools/list", json!({}));
    for _ in 0..5 {
        host.done("read_claims", json!({}));
        host.done("read_capsules", json!({}));
    }
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(project.entries().len(), before);
    host.end();
    let logged: Vec<Value> = project.entries().split_off(before);
    let logged: Vec<&Value> =
        logged.iter().filter(|entry| entry["kind"] == "ledger.logged").collect();
    assert_eq!(logged.len(), 3, "a line for the list and for each tool: {logged:?}");
}
