//! Where names and places meet their edges: folders that are not there yet, links, other hosts.

use super::*;
use crate::mcp::Host;
use serde_json::json;

#[test]
fn a_folder_is_the_same_before_and_after_it_is_made() {
    let tools = Tools::new();
    let outside = tempfile::tempdir().unwrap();
    let around = outside.path().join("a");
    std::fs::create_dir(&around).unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&around).status();
    assert!(git.unwrap().success());
    let claim = |agent: &str, folder: &str| {
        let mut command = tools.command("heimdall-claim");
        command.args(["claim", "src", "--task", "t"]).current_dir(&around);
        command.env("ALTHING_AGENT", agent).env("HEIMDALL_PLANNING_DIR", folder);
        tools.with(&mut command, b"")
    };
    let first = claim("alice", "../ea");
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(claim("bob", "../ea").code, Some(3), "there is one store");
    assert_eq!(claim("bob", "../x/../ea").code, Some(3), "whatever it is called");
    assert!(outside.path().join("ea/.althing/trail.db").is_file());
    assert!(!around.join(".git/althing").exists());
    for inside in [".git/p", "src/../.git"] {
        let ran = claim("bob", inside);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("lies in .git"), "{ran:?}");
    }
    assert!(!around.join(".git/p").exists());
}

#[test]
fn a_host_that_has_a_name_takes_no_other_hosts() {
    let project = Sandbox::new();
    let mut windsurf = Host::named(&project, "windsurf");
    let made = windsurf.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    let other = made["haid"].as_str().unwrap();
    let mut cursor = Host::named(&project, "cursor");
    for given in [other, "windsurf", "Windsurf"] {
        let (shown, error) = cursor.failed("release_claim", json!({ "client_identity": given }));
        assert_eq!(error["rule"], "A-USE-04", "{shown}");
    }
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    // An identity that the host names itself stays its own, also in the next call.
    let own = json!({ "surfaces": ["b"], "task": "T", "client_identity": "cursor-tests" });
    cursor.done("make_claim", own);
    let freed = cursor.done("release_claim", json!({ "client_identity": "cursor-tests" }));
    assert!(freed["haid"].as_str().unwrap().ends_with("/cursor-tests"), "{freed}");
    // A client without a name says who it is, and so does one that says what it is called anyway.
    let mut nameless = Host::silent(&project, &[]);
    nameless.done("read_claims", json!({ "client_identity": "windsurf" }));
    windsurf.done("release_claim", json!({ "client_identity": "windsurf" }));
    assert_eq!(project.json(&["claims"]), json!([]));
}

#[test]
fn revoking_an_agent_revokes_those_it_started() {
    let tools = Tools::new();
    tools.project.login("ada");
    tools.ok("heimdall-haid", &["register"]);
    let own = tools.own();
    let kid = format!("{own}/kid");
    let claim = ["claim", "src", "--task", "t", "--haid", &kid];
    tools.ok("heimdall-claim", &claim);
    tools.ok("heimdall-claim", &["release", "--haid", &kid]);
    assert_eq!(tools.as_user("ada", "heimdall-haid", &["revoke", &own]).code, Some(0));
    let words = format!("error: HAID is revoked: {own}, which {kid} is of");
    tools.fails("heimdall-claim", &claim, 1, &words);
    tools.fails("heimdall-haid", &["check", &kid], 3, &words);
    let agent = kid.replacen('/', "+", 1);
    let (ran, rule) = tools.project.refused(&["claim", "src", "--as", &agent]);
    assert_eq!(rule, "A-AGENT-01", "{ran:?}");
    assert_eq!(tools.as_user("ada", "heimdall-haid", &["reinstate", &own]).code, Some(0));
    tools.ok("heimdall-claim", &claim);
    tools.project.ok(&["trail", "verify"]);
}

#[test]
fn a_server_with_a_fixed_agent_registers_no_other() {
    let tools = Tools::new();
    let other = format!("{}/windsurf", tools.own());
    tools.ok("heimdall-haid", &["register", "--haid", &other]);
    let as_bob = |args: &[&str]| {
        let mut command = tools.command("heimdall-haid");
        tools.with(command.args(args).env("ALTHING_AGENT", "bob"), b"")
    };
    for args in [&["register", "--haid", &other][..], &["heartbeat", &other], &["register"]] {
        let ran = as_bob(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("you are bob, and not haid:"), "{ran:?}");
    }
    let agent = other.replacen('/', "+", 1);
    let mut command = tools.command("heimdall-haid");
    let ran = tools.with(command.arg("heartbeat").env("ALTHING_AGENT", agent), b"");
    assert_eq!(ran.out, format!("heartbeat bumped for {other}\n"), "{ran:?}");
}

#[test]
fn no_link_is_written_through_and_that_is_said() {
    for link in ["", "protocol", "protocol/capsules", "ledger", "ledger/claims"] {
        let tools = Tools::new();
        tools.ok("heimdall-resolve", &["set", "F1", "x"]);
        let outside = tempfile::tempdir().unwrap();
        let planning = tools.project.path().join(".planning");
        let at = if link.is_empty() { planning.clone() } else { planning.join(link) };
        let target = outside.path().join("target");
        std::fs::rename(&at, &target).unwrap();
        std::os::unix::fs::symlink(&target, &at).unwrap();
        let before = listed(&target);
        tools.ok("heimdall-resolve", &["F1"]);
        let ran = tools.run("heimdall-capsule", &["write", "w1", "--what", "x"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "recorded w1 (6 lines)\n"), "{link}");
        assert!(ran.err.contains("no files were written: "), "{link}: {ran:?}");
        assert!(ran.err.contains(" is a link, and is not written through"), "{link}: {ran:?}");
        tools.fails("heimdall-protocol", &["init"], 4, "is a link");
        assert_eq!(listed(&target), before, "{link}");
        // Long lines are wrapped for people to read.
        let doctor = tools.project.run(&["doctor"]).out;
        let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(doctor.contains("is a link, and is not written through"), "{link}: {doctor}");
    }
}

/// Every file below a folder, with what it says.
fn listed(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listed(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn a_look_up_makes_no_log() {
    let tools = Tools::new();
    tools.ok("heimdall-resolve", &["set", "F1", "x"]);
    let log = tools.project.path().join(".planning/protocol.log");
    std::fs::remove_file(&log).unwrap();
    tools.ok("heimdall-resolve", &["F1"]);
    assert!(!log.exists());
}

#[test]
fn good_entries_are_taken_over_and_the_others_named() {
    let tools = Tools::new();
    let planning = tools.project.path().join(".planning");
    let symbols = planning.join("protocol/symbols.json");
    tools.ok("heimdall-blackboard", &["set", "kept", "v"]);
    let text = r#"{"version":"2.0.0","symbols":{"G":"good","N":5,"Z":"last"}}"#;
    std::fs::write(&symbols, text).unwrap();
    std::fs::write(planning.join("blackboard.json"), "garbage").unwrap();
    let done = tools.project.json(&["rebuild", "--adopt", "--as", "bob"]);
    let refused = done["not_adopted"].as_array().unwrap();
    let named = |start: &str| refused.iter().any(|line| line.as_str().unwrap().starts_with(start));
    assert!(named("protocol/symbols.json: \"N\": its value is no text"), "{done}");
    assert!(named("blackboard.json: it is no JSON object: "), "{done}");
    assert_eq!(refused.len(), 2, "{done}");
    assert_eq!(done["set_aside"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(tools.ok("heimdall-resolve", &["list"]), "G\tgood\nZ\tlast\n");
    assert_eq!(tools.ok("heimdall-blackboard", &["list"]), "kept\tv\n");
    std::fs::write(
        planning.join("blackboard.json"),
        r#"{"version":"2.0.0","facts":{"kept":[1],"new":"n"}}"#,
    )
    .unwrap();
    tools.project.ok(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(tools.ok("heimdall-blackboard", &["list"]), "kept\tv\nnew\tn\n");
}

/// A folder of planning files has one trail, whoever names it and from wherever.
#[test]
fn a_planning_folder_has_one_trail_from_everywhere() {
    let outer = Sandbox::bare();
    let app = outer.path().join("app");
    let plan = outer.path().join("plan");
    std::fs::create_dir(&app).unwrap();
    std::fs::create_dir(&plan).unwrap();
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&app).status();
    assert!(git.unwrap().success());
    let claim = |folder: &std::path::Path, who: &str| {
        let mut command = outer.command();
        command.current_dir(folder).env("HEIMDALL_PLANNING_DIR", &plan);
        let ran = command.args(["claim", "src", "--as", who]).output().unwrap();
        crate::support::Ran::of(&ran)
    };
    let init =
        outer.command().current_dir(&app).env("HEIMDALL_PLANNING_DIR", &plan).arg("init").status();
    assert!(init.unwrap().success());
    assert_eq!(claim(&app, "ann").code, Some(0));
    let second = claim(outer.path(), "bob");
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(!outer.path().join(".althing").exists());
}

/// The store under a server may be deleted, and another made in its place.
#[test]
fn nothing_is_acknowledged_into_a_store_that_is_gone() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let claim = |surface: &str| json!({ "surfaces": [surface], "task": "T" });
    host.done("make_claim", claim("old"));
    std::fs::remove_dir_all(project.state()).unwrap();
    let (shown, error) = host.failed("make_claim", claim("a"));
    assert!(shown["error"].as_str().unwrap().contains("there is no store"), "{error}");
    host.failed("read_claims", json!({}));
    assert!(!project.state().exists(), "nothing was written there");
    project.ok(&["init"]);
    // Refused once at most: the server finds the new store by itself.
    let answer = host.call("make_claim", claim("new"));
    if answer["isError"] == true {
        let text = answer.to_string();
        assert!(text.contains("replaced by another"), "{text}");
        host.done("make_claim", claim("new"));
    }
    let held = project.json(&["claims"]);
    assert_eq!(held[0]["surfaces"], json!(["new"]), "{held}");
    assert_eq!(held.as_array().unwrap().len(), 1);
    project.ok(&["claim", "mine", "--as", "bob"]);
    host.end();
    project.ok(&["claim", "more", "--as", "bob"]);
    project.ok(&["trail", "verify"]);
}

/// The same without a call in between: what the server still has to write is not written there.
#[test]
fn the_head_of_a_store_that_is_gone_is_not_left_beside_another() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    for n in 0..8 {
        let surface = format!("old/{n}");
        host.done("make_claim", json!({ "surfaces": [surface], "task": "T" }));
    }
    std::fs::remove_dir_all(project.state()).unwrap();
    project.ok(&["init"]);
    host.end();
    project.ok(&["claim", "mine", "--as", "bob"]);
    project.ok(&["trail", "verify"]);
}

/// No line closes the ledger to everybody, and nobody counts for another.
#[test]
fn a_line_has_a_limit_and_only_ones_own_tokens_are_counted() {
    let tools = Tools::new();
    let log = |tokens: u64, more: &str| {
        let line = format!(r#"{{"role":"r","kind":"k","tokens":{tokens}{more}}}"#);
        tools.project.run(&["do", "ledger.log", &line, "--as", "mal"])
    };
    for (tokens, more) in
        [(9_007_199_254_740_991, ""), (1_000_000_001, ""), (1, r#","messages":1000001"#)]
    {
        let ran = log(tokens, more);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("A-USE-03") || ran.out.contains("A-USE-03"), "{ran:?}");
    }
    assert_eq!(log(1_000_000_000, "").code, Some(0));
    assert_eq!(log(5, r#","tokenizer":"o200k_base","agent":"victim""#).code, Some(0));
    assert_eq!(log(7, r#","tokenizer":"my own""#).code, Some(0));
    assert_eq!(log(11, r#","tokenizer":"o200k_base","agent":"mal""#).code, Some(0));
    assert_eq!(log(13, r#","tokenizer":"o200k_base""#).code, Some(0));
    let sums = tools.project.json(&["do", "ledger.report", r#"{"by":"agent"}"#]);
    let of = |name: &str| {
        let rows = sums.as_array().or(sums["rows"].as_array()).unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{sums}")).clone()
    };
    assert_eq!((&of("victim")["tokens"], &of("victim")["counted"]), (&json!(5), &json!(0)));
    assert_eq!(of("mal")["counted"], 24, "{sums}");
    tools.project.ok(&["trail", "verify"]);
}

#[test]
fn sums_stay_exact_and_a_baseline_of_nothing_is_none() {
    let tools = Tools::new();
    let log =
        |tokens: &str| ["log", "--role", "r", "--kind", "k", "--tokens", tokens].map(String::from);
    let run = |tokens: &str| {
        let args = log(tokens);
        tools.run("heimdall-ledger", &args.each_ref().map(String::as_str))
    };
    assert_eq!(run("999999999").code, Some(0));
    let ran = run("1000000001");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("at most 1000000000 tokens"), "{ran:?}");
    assert!(ran.err.contains("[A-USE-03]"), "{ran:?}");
    assert_eq!(run("1").code, Some(0));
    let words = tools.ok("heimdall-ledger", &["report"]);
    assert!(words.contains("r: 1000000000 tokens (2 msgs)"), "{words}");
    let none = ["baseline", "--role", "r", "--tokens", "0"];
    tools.fails("heimdall-ledger", &none, 2, "must be a positive integer");
    let (ran, _) = tools.project.refused(&[
        "do",
        "ledger.baseline",
        r#"{"role":"r","tokens":0}"#,
        "--as",
        "bob",
    ]);
    assert!(
        ran.err.contains("a baseline must be above 0 tokens")
            || ran.out.contains("a baseline must be above 0 tokens")
    );
    tools.project.ok(&["trail", "verify"]);
}

#[test]
fn answers_that_cannot_be_written_end_the_server() {
    let project = Sandbox::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut server = project
        .command()
        .args(["mcp", "--dialect", "frugal"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let ran = Ran::of(&server.wait_with_output().unwrap());
    drop(input);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("the host cannot be served: "), "{ran:?}");
}

#[test]
fn names_that_a_slug_cannot_show_are_two_agents() {
    let project = Sandbox::new();
    for (one, other) in [("Агент-1", "Робот-1"), ("cur+sor", "cur-sor"), ("агент", "робот")]
    {
        let claim = json!({ "surfaces": [one], "task": "T" });
        let mut first = Host::named(&project, one);
        first.done("make_claim", claim.clone());
        let (shown, error) = Host::named(&project, other).failed("make_claim", claim.clone());
        assert_eq!(error["kind"], "collision", "{shown}");
        Host::named(&project, one).done("make_claim", claim);
    }
}

#[test]
fn small_things_are_said_as_they_are() {
    let tools = Tools::new();
    tools.fails("heimdall-claim", &["claim", "z", "--task"], 2, "error: --task needs a value");
    for id in ["list", "set", "--reverse", "-h"] {
        tools.fails("heimdall-resolve", &["set", id, "x"], 2, "choose another id");
    }
    tools.ok("heimdall-ledger", &["log", "--role", "r", "--kind", "k", "--tokens", "1"]);
    let words = tools.ok("heimdall-ledger", &["report", "--by", "kind"]);
    assert!(words.starts_with("token ledger — per-kind totals (this run)\n  k: 1 "), "{words}");
    let help = tools.ok("heimdall-ledger-mcp", &["--help"]);
    assert!(help.contains("Usage: heimdall-ledger-mcp [OPTIONS]\n"), "{help}");
    assert!(help.contains("--project"), "{help}");
    let ran = tools.piped("heimdall-validate", &["--on-receipt"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("no valid message received"), "{ran:?}");
    let mut host = Host::named(&tools.project, "cursor");
    let (shown, _) = host.failed(&"x".repeat(1_000_000), json!({}));
    assert!(shown["error"].as_str().unwrap().len() < 100, "{}", shown.to_string().len());
    // Paths are from the root, wherever one stands.
    std::fs::create_dir(tools.project.path().join("sub")).unwrap();
    let mut command = tools.command("heimdall-claim");
    let below = tools.project.path().join("sub");
    let ran = tools.with(command.args(["claim", "src", "--task", "t"]).current_dir(below), b"");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(tools.project.json(&["claims"])[0]["surfaces"], json!(["src"]));
}
