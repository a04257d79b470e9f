//! Bad input: a clear error before anything starts, and nothing changed.

use super::Workshop;

#[test]
fn plans_that_cannot_be_run_are_refused_before_anything_starts() {
    let own = Workshop::new();
    let before = own.git(&["for-each-ref"]);
    let refused = |args: &[&str], code: i32, said: &str| {
        let ran = own.sandbox.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.err.contains(said), "{args:?}: {said}: {ran:?}");
        assert!(!own.sandbox.state().exists(), "{args:?} changed something");
        assert_eq!(own.git(&["for-each-ref"]), before, "{args:?}");
    };
    let agents = ["--agents", "scripted"];
    let of = |tasks: &[super::Task<'_>], code: i32, said: &str| {
        let plan = own.plan(tasks);
        refused(&[&["run", &plan], &agents[..]].concat(), code, said);
        refused(&["plan", "check", &plan], code, said);
    };
    of(&[("a", "depends_on = [\"b\"]"), ("b", "depends_on = [\"a\"]")], 2, "wait for each other");
    of(&[("a", ""), ("a", "")], 2, "used twice");
    of(&[("a", "depends_on = [\"z\"]")], 2, "which no task is");
    of(&[("a", "text_file = \"gone.md\"")], 2, "both `text` and `text_file`");
    of(&[("_a", "")], 2, "a key has");
    of(&[("a", "attempts = 900")], 2, "attempts");
    of(&[("a", "colour = 3")], 2, "colour");
    let many: Vec<String> = (0..501).map(|n| format!("t{n}")).collect();
    let many: Vec<super::Task<'_>> = many.iter().map(|key| (key.as_str(), "")).collect();
    of(&many, 2, "501 tasks");
    let plan = own.plan(&[("a", "agent = \"nobody\"")]);
    refused(&["run", &plan], 2, "there is no agent \"nobody\"");
    refused(&["run", &plan, "--agents", "scripted"], 2, "nobody in the team can do it");
    let plan = own.plan(&[("a", "skills = [\"sql\"]")]);
    refused(&["run", &plan, "--agents", "scripted"], 2, "role or skills");
    let plan = own.plan(&[("a", "")]);
    refused(&["run", &plan], 2, "nobody is there to do the work");
    refused(&["run", &plan, "--agents", "scripted:0"], 2, "AGENT:N");
    refused(&["run", &plan, "--agents", "scripted,scripted:2"], 2, "named twice");
    refused(
        &["run", &plan, "--agents", "scripted", "--base", "nothing"],
        1,
        "no commit \"nothing\"",
    );
    refused(&["run", &plan, "--agents", "scripted", "--into", "nothing"], 1, "no branch nothing");
    refused(&["run", "gone.toml", "--agents", "scripted"], 2, "gone.toml");
    refused(&["run", "-m", " ", "--agents", "scripted"], 2, "says nothing");
}

#[test]
fn an_agent_that_is_not_installed_is_named() {
    let own = Workshop::new();
    let plan = own.plan(&[("a", "")]);
    let mut command = own.sandbox.command();
    let git = std::process::Command::new("which").arg("git").output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(git.trim(), folder.path().join("git")).unwrap();
    command.env("PATH", folder.path()).args(["run", &plan, "--agents", "claude"]);
    let ran = crate::support::Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("Claude Code is not installed"), "{ran:?}");
    assert!(!own.sandbox.state().exists());
}

#[test]
fn settings_of_agents_are_checked() {
    let own = Workshop::new();
    let plan = own.plan(&[("a", "")]);
    for (text, said) in [
        ("[agents.x]\ncommand = []", "`command` is empty"),
        ("[agents.x]\nusage = \"json-lines\"", "belong to a `command`"),
        ("[agents.x]\ncommand = [\"true\"]\nusage = \"xml\"", "\"json-lines\""),
        ("[agents.\"a b\"]\ncommand = [\"true\"]", "agents.a b"),
        ("[workshop]\ntimeout = \"soon\"", "workshop.timeout"),
        ("[workshop]\nsilence = \"0s\"", "workshop.silence"),
        ("[workshop]\ncolour = 1", "colour"),
    ] {
        own.sandbox.write("althing.toml", text);
        let ran = own.sandbox.run(&["run", &plan, "--agents", "x"]);
        assert_eq!(ran.code, Some(2), "{text}: {ran:?}");
        assert!(ran.err.contains(said), "{text}: {ran:?}");
    }
}
