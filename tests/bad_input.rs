//! Bad input: a clear error with the right exit code, and nothing lost or half-written.

use crate::support::Sandbox;
use serde_json::json;
use std::ffi::OsString;

/// Arguments, the exit code, and words the message must have.
type Case<'a> = (&'a [&'a str], i32, &'a str);

/// An entry carries its request: one that is too long to be read again is never written.
#[test]
fn a_command_with_too_many_arguments_is_refused_and_on_record() {
    let (project, root) = Sandbox::with_run();
    let attachments = vec![json!({ "text": "" }); 70_000];
    let args = json!({ "workspace": root, "to": root, "type": "query",
        "payload": { "content": { "text": "x" }, "attachments": attachments } });
    let ran = project.run_with(
        &["do", "envelope.send", "-", "--as", "alice", "--json"],
        args.to_string().as_bytes(),
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("bytes of arguments"), "{}", ran.out);
    let last = project.entries().pop().unwrap();
    assert_eq!(
        (&last["kind"], &last["body"]["command"]),
        (&json!("command.refused"), &json!("envelope.send"))
    );
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn bad_arguments_are_refused_by_name_and_change_nothing() {
    let project = Sandbox::new();
    project.claim("alice", "held");
    let long_surface = "x/".repeat(600);
    let long_text = "x".repeat(1001);
    let many: Vec<String> = (0..257).map(|n| format!("f{n}")).collect();
    let mut too_many = vec!["claim", "--as", "bob"];
    too_many.extend(many.iter().map(String::as_str));
    let before = project.bytes_of_state();
    let cases: &[Case<'_>] = &[
        (&["claim", "a"], 2, "say who you are"),
        (&["claim", "--as", "bob"], 2, "SURFACE"),
        (&["claim", "", "--as", "bob"], 2, "empty"),
        (&["claim", "/etc/passwd", "--as", "bob"], 2, "absolute"),
        (&["claim", r"C:\x", "--as", "bob"], 2, "absolute"),
        (&["claim", "../x", "--as", "bob"], 2, "`..`"),
        (&["claim", "a/../b", "--as", "bob"], 2, "`..`"),
        (&["claim", "a[", "--as", "bob"], 2, "never closed"),
        (&["claim", "{a", "--as", "bob"], 2, "pair up"),
        (&["claim", "a**b", "--as", "bob"], 2, "stand alone"),
        (&["claim", "a#", "--as", "bob"], 2, "symbol"),
        (&["claim", &long_surface, "--as", "bob"], 2, "1024"),
        (&too_many, 2, "256"),
        (&["claim", "a", "--as", "bob", "-m", &long_text], 2, "1000"),
        (&["claim", "a", "--as", "bob", "--ttl", "0"], 2, "1s to 30d"),
        (&["claim", "a", "--as", "bob", "--ttl", "-5s"], 2, "1s to 30d"),
        (&["claim", "a", "--as", "bob", "--ttl", "31d"], 2, "1s to 30d"),
        (&["claim", "a", "--as", "bob", "--ttl", "99999999999999999999999999d"], 2, ""),
        (&["claim", "a", "--as", "bob", "--ttl", "soon"], 2, "length of time"),
        (&["claim", "a", "--as", "../bob"], 2, "not a name"),
        (&["claim", "a", "--as", ""], 2, "not a name"),
        (&["claim", "a", "--as", "system"], 2, "reserved"),
        (&["claim", "a", "--as", "bob", "--session", "no/such"], 2, "id"),
        (&["release", "nothing", "--as", "bob"], 1, "nobody holds"),
        (&["renew", "nothing", "--as", "bob"], 1, "nobody holds"),
        (&["check", "a", "--epoch", "5"], 2, "whose epoch"),
        (&["claims", "--holder", "no body"], 2, "names nobody"),
        (&["claims", "--mine"], 2, "whose"),
        (&["do", "no.such.thing"], 2, "nothing called|no command"),
        (&["do", "project.create", "{}"], 2, "no command"),
        (&["do", "lease.open", "{", "--as", "bob"], 2, "lease.open"),
        (&["do", "lease.open", "{}", "--as", "bob"], 2, "surfaces"),
        (&["do", "lease.open", r#"{"surfaces":["a"],"x":1}"#, "--as", "bob"], 2, "unknown field"),
        (&["do", "lease.open", r#"{"surfaces":["a"],"ttl_s":0}"#, "--as", "bob"], 2, "lives"),
        (&["do", "lease.open", r#"{"surfaces":["a"],"ttl_s":1e9}"#, "--as", "bob"], 2, "ttl|float"),
        (
            &["do", "lease.open", r#"{"surfaces":["a"],"holder":"agent:x"}"#, "--as", "bob"],
            2,
            "holder",
        ),
        (&["do", "lease.release", r#"{"lease":"../../x"}"#, "--as", "bob"], 2, "id"),
        (&["do", "--schema", "no.such"], 1, "nothing called"),
        (&["trail", "--kind", "no.such"], 2, "not a kind"),
        (&["trail", "--actor", "some body"], 2, "names nobody"),
        (&["trail", "--since", "yesterday"], 2, "is no time"),
        (&["trail", "show", "999"], 1, "no entry 999"),
        (&["trail", "show", "0"], 1, "no entry 0"),
        (&["trail", "prove", "999"], 1, "no entry 999"),
        (&["trail", "verify", "--head", "no-such-file"], 2, "no-such-file"),
        (&["trail", "verify", "--key", "nonsense"], 2, "public key"),
        (&["rules", "X-1"], 1, "no rule"),
        (&["users", "add", "bob", "key"], 2, "public key"),
        (&["login", "system"], 2, "reserved"),
        (&["nonsense"], 2, "unrecognized subcommand"),
        (&["status", "--project", "no-such-folder"], 2, "not a folder"),
        (&["status", "--store", "postgres://x"], 2, "sqlite:PATH"),
        (&["status", "--store", "sqlite:no-such.db"], 1, "no-such.db does not exist"),
        (&["release", "held", "--force", "--as", "bob"], 2, "reason"),
        (&["release", "held", "--force", "--reason", "r", "--as", "bob"], 1, "may not end"),
    ];
    for (args, code, words) in cases {
        let ran = project.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?}: {ran:?}");
        let text = words.split('|').any(|words| ran.err.contains(words));
        assert!(text, "{args:?} should say {words:?}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);

        let ran = project.run(&[args, &["--json"][..]].concat());
        assert_eq!(ran.code, Some(*code), "{args:?}: {ran:?}");
        ran.error();
    }
    // Commands that were understood and refused are on record; nothing else is.
    let after = project.bytes_of_state();
    let changed: Vec<_> = after
        .iter()
        .filter(|file| !before.contains(file))
        .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let own = ["agent-bob.key", "trail.db", "trail.db-wal", "trail.db-head"];
    assert!(changed.iter().all(|name| own.contains(&name.as_str())), "{changed:?}");
    for (path, content) in before.iter().filter(|(path, _)| path.extension().is_some()) {
        let name = path.file_name().unwrap().to_string_lossy();
        let same = after.iter().any(|(now, new)| now == path && new == content);
        assert!(same || own.contains(&&*name), "{name} was changed");
    }
    let refused = project.kinds().iter().filter(|kind| *kind == "command.refused").count();
    assert_eq!(refused, 6, "two leases that nobody holds and the forced release, each twice");
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let project = Sandbox::new();
    let not_text = OsString::from_vec(vec![b'a', 0xff, b'b']);
    let args = [OsString::from("claim"), not_text, OsString::from("--as"), OsString::from("bob")];
    let ran = project.run(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = project.run_with(&["do", "lease.check", "-"], &[0xff, 0xfe]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn standard_input_has_a_limit() {
    let project = Sandbox::new();
    let huge = format!(r#"{{"surfaces":["{}"]}}"#, "x".repeat(2 << 20));
    let ran = project.run_with(&["do", "lease.check", "-", "--json"], huge.as_bytes());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.error()["message"].as_str().unwrap().contains("1048576"));
    let line = format!("{}\n{{\"name\":\"lease.list\"}}\n", "y".repeat(3 << 20));
    let ran = project.run_with(&["do", "--lines"], line.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 2, "a line too long is answered, and the next is read");
    assert!(ran.out.contains("too long"));
}

#[test]
fn without_a_project_the_way_out_is_named() {
    let project = Sandbox::without_project();
    for args in [&["status"][..], &["claims"], &["claim", "a", "--as", "x"], &["trail", "verify"]] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let error = ran.error();
        assert_eq!(error["rule"], "A-STORE-01");
        assert!(error["way_out"].as_str().unwrap().contains("althing init"));
    }
    assert!(!project.state().exists(), "asking creates nothing");
}

#[test]
fn settings_that_cannot_be_used_are_refused_with_their_place() {
    let project = Sandbox::new();
    let file = project.path().join("althing.toml");
    for (content, words) in [
        ("nonsense", "althing.toml"),
        ("no_such_key = 1", "no_such_key"),
        ("lease_ttl = \"never\"", "lease_ttl in althing.toml"),
        ("lease_ttl = \"0s\"", "lease_ttl in althing.toml"),
        ("patience = \"2h\"", "patience in althing.toml"),
        ("store = \"mysql:x\"", "store in althing.toml"),
        ("store_bytes_max = -1", "store_bytes_max"),
    ] {
        std::fs::write(&file, content).unwrap();
        let ran = project.run(&["status"]);
        assert_eq!(ran.code, Some(2), "{content}: {ran:?}");
        assert!(ran.err.contains(words), "{content}: {}", ran.err);
    }
    std::fs::write(&file, "lease_ttl = \"5m\"\n").unwrap();
    assert_eq!(project.claim("alice", "a")["ttl_s"], 300);
    let mut command = project.command();
    let ran =
        command.env("ALTHING_LEASE_TTL", "7m").args(["claim", "b", "--as", "alice", "--json"]);
    let lease: serde_json::Value = serde_json::from_slice(&ran.output().unwrap().stdout).unwrap();
    assert_eq!(lease["ttl_s"], 420, "the environment wins over the file");
    let lease = project.json(&["claim", "c", "--as", "alice", "--ttl", "9m"]);
    assert_eq!(lease["ttl_s"], 540, "a flag wins over both");
}

/// Each mistake gets a hint that leads out of it, and not a list of commands for other mistakes.
#[test]
fn hints_fit_the_mistake() {
    let project = Sandbox::new();
    let cases: &[(&[&str], &str)] = &[
        (&["claim", "src"], "Pass `--as NAME`"),
        (&["claim", "src", "--as", "worker"], "Give another name"),
        (&["claim", "src", "--ttl", "0s", "--as", "bob"], "A lease lasts from 1s to 30d"),
        (&["claim", "src", "--ttl", "5x", "--as", "bob"], "`althing claim --help`"),
        (&["release", "src", "--as", "bob"], "`althing claims`"),
        (&["task", "show", "nosuch"], "`althing task list`"),
        (&["workspace", "show", "nosuch"], "`althing workspace list`"),
        (&["users", "show", "nobody"], "`althing users`"),
        (&["task", "plan", "nosuch.json", "--as", "bob"], "Check the path."),
        (&["trail", "show", "9999"], "`althing trail --last 1`"),
        (&["trail", "--kind", "lease.nosuch"], "`althing trail stats --group-by kind`"),
        (&["rules", "NOPE"], "`althing rules` lists all rules."),
        (&["do", "nosuch"], "`althing do --list`"),
        (&["do", "lease.open", "{}", "--as", "bob"], "`althing do --schema NAME`"),
        (&["memory", "create", "nosuch", "x"], "`althing memory create --help`"),
        (&["backup", "/nonexistent/a/b"], "the one above it has to exist"),
        (&["backup", "--restore", "/nonexistent"], "`althing backup FOLDER`"),
        (&["--project", "/nonexistent", "status"], "`--project DIR`"),
    ];
    for (args, hint) in cases {
        let ran = project.run(args);
        assert_ne!(ran.code, Some(0), "{args:?}: {ran:?}");
        let last = ran.err.lines().last().unwrap_or_default();
        assert!(last.contains(hint), "{args:?}: {}", ran.err);
        let shown = project.run(&[*args, &["--json"]].concat());
        assert_eq!(shown.error()["way_out"], last.trim(), "{args:?}");
    }
    let ran = Sandbox::without_project().run(&["claims"]);
    assert!(ran.err.contains("there is no project here"), "{ran:?}");
    assert!(ran.err.contains("`althing init`"), "{ran:?}");
}
