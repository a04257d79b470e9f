//! Steering a run from another terminal.

use super::{Finished, Workshop, until};

/// Whether a process is there.
fn lives(own: &Workshop, key: &str) -> bool {
    let pid = std::fs::read_to_string(own.scratch().join(format!("{key}.pid"))).unwrap_or_default();
    !pid.trim().is_empty()
        && std::path::Path::new("/proc").join(pid.trim()).join("cmdline").exists()
}

/// A run with an agent that hangs.
fn hanging(own: &Workshop) -> std::process::Child {
    let plan = own.plan(&[("hang-a", "touches = [\"out/**\"]")]);
    let runner = own.start(&[&plan, "--agents", "scripted"]);
    until("it hangs", || lives(own, "hang-a"));
    runner
}

#[test]
#[cfg(target_os = "linux")]
fn a_paused_agent_is_stopped_and_its_tokens_do_not_count() {
    let own = Workshop::new();
    let runner = hanging(&own);
    until("its tokens are counted", || own.sandbox.json(&["ps"])[0]["tokens"] == 55);
    own.sandbox.ok(&["pause", "hang-a", "-m", "wait"]);
    until("its process has ended", || !lives(&own, "hang-a"));
    assert_eq!(Finished::of_child(runner).code, Some(4), "nothing else is left to be done");
    let seen = own.sandbox.json(&["ps"]);
    assert_eq!((&seen[0]["status"], &seen[0]["tokens"]), (&"suspended".into(), &55.into()));
    let workspace = seen[0]["workspace"].as_str().unwrap().to_owned();
    let meter = format!("{{\"workspace\":\"{workspace}\",\"tokens\":7}}");
    let counted = own.sandbox.run(&["do", "meter.report", &meter, "--as", "scripted-1"]);
    assert_eq!(counted.code, Some(1), "{counted:?}");
    own.sandbox.ok(&["resume", "hang-a"]);
    let runner = own.start(&[]);
    until("it was started again", || lives(&own, "hang-a"));
    own.sandbox.ok(&["stop", "--now"]);
    let finished = Finished::of_child(runner);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(!lives(&own, "hang-a"));
    own.is_sound();
}

#[test]
#[cfg(target_os = "linux")]
fn an_aborted_workspace_loses_its_process_and_its_lease() {
    let own = Workshop::new();
    let mut runner = hanging(&own);
    let held = own.sandbox.run(&["check", "out/x", "--as", "bob"]);
    assert_eq!(held.code, Some(3), "{held:?}");
    runner.kill().unwrap();
    runner.wait().unwrap();
    // Nobody watches the agent any more, and it is ended all the same.
    let workspace = own.sandbox.json(&["ps"])[0]["workspace"].as_str().unwrap().to_owned();
    own.sandbox.ok(&["workspace", "abort", &workspace, "--reason", "enough", "--as", "runner"]);
    assert!(!lives(&own, "hang-a"));
    own.sandbox.ok(&["check", "out/x", "--as", "bob"]);
    let finished = own.go_on();
    assert_eq!(
        (finished.code, finished.list("failed")),
        (Some(1), vec!["hang-a".to_owned()]),
        "{finished:?}"
    );
    own.is_sound();
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_stopped_goes_on_later() {
    let own = Workshop::new();
    let plan = own.plan(&[("slow-a", ""), ("work-b", "depends_on = [\"slow-a\"]")]);
    let runner = own.start(&[&plan, "--agents", "scripted"]);
    until("it works", || own.scratch().join("slow-a.tries").exists());
    own.sandbox.ok(&["stop"]);
    std::fs::write(own.scratch().join("go"), "").unwrap();
    let finished = Finished::of_child(runner);
    assert_eq!(
        (finished.code, finished.merged()),
        (Some(4), vec!["slow-a".to_owned()]),
        "{finished:?}"
    );
    assert_eq!(finished.list("left"), ["work-b"]);
    let finished = own.go_on();
    assert_eq!((finished.code, finished.merged().len()), (Some(0), 2), "{finished:?}");
    own.is_sound();
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_ends_the_agents_and_the_run_goes_on_later() {
    let own = Workshop::new();
    let runner = hanging(&own);
    let pid = runner.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let finished = Finished::of_child(runner);
    assert_eq!(
        (finished.code, finished.list("left")),
        (Some(4), vec!["hang-a".to_owned()]),
        "{finished:?}"
    );
    assert!(!lives(&own, "hang-a"));
}

#[test]
fn the_time_of_an_agent_is_limited() {
    let own = Workshop::with("timeout = \"1s\"");
    let finished = own.run(
        &[("hang-a", "attempts = 1"), ("hang-b", "attempts = 1\ntimeout = \"2s\"")],
        "scripted:2",
        &[],
    );
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(finished.list("failed"), ["hang-a", "hang-b"]);
    own.is_sound();
}

#[test]
fn a_budget_ends_the_agent_that_exceeds_it() {
    let own = Workshop::new();
    let finished =
        own.run(&[("hang-a", "attempts = 1\nbudget = { tokens = 40 }")], "scripted", &[]);
    assert_eq!(
        (finished.code, finished.list("failed")),
        (Some(1), vec!["hang-a".to_owned()]),
        "{finished:?}"
    );
    own.is_sound();
}

#[test]
fn logs_are_told_and_raw() {
    let own = Workshop::new();
    let finished = own.run(&[("work-a", "")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let told = own.sandbox.ok(&["logs", "work-a", "--follow"]).out;
    assert!(told.contains("begins work-a") && !told.contains("input_tokens"), "{told}");
    assert!(own.sandbox.ok(&["logs", "work-a", "--raw"]).out.contains("input_tokens"));
    assert_eq!(own.sandbox.run(&["logs", "nothing"]).code, Some(1));
}

#[test]
fn deadlines_pass_when_somebody_looks_at_the_clock() {
    let own = Workshop::new();
    own.sandbox.ok(&["init"]);
    own.sandbox.ok(&["claim", "src", "--as", "bob", "--ttl", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert!(own.sandbox.json(&["tick"])["recorded"].is_u64());
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_ends_when_only_paused_tasks_are_left() {
    let own = Workshop::new();
    let runner = hanging(&own);
    own.sandbox.ok(&["pause", "hang-a"]);
    let finished = Finished::of_child(runner);
    assert_eq!((finished.code, finished.list("left")), (Some(4), vec!["hang-a".to_owned()]));
    assert!(
        finished.last()["stopped"].as_str().unwrap().contains("althing resume"),
        "{finished:?}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_whose_time_is_over_is_ended_without_a_runner() {
    let own = Workshop::with("timeout = \"1s\"");
    let plan = own.plan(&[("hang-a", "attempts = 1")]);
    let mut runner = own.start(&[&plan, "--agents", "scripted"]);
    until("it hangs", || lives(&own, "hang-a"));
    runner.kill().unwrap();
    runner.wait().unwrap();
    until("its time is over", || !lives(&own, "hang-a"));
    let finished = own.go_on();
    assert_eq!((finished.code, finished.list("failed")), (Some(1), vec!["hang-a".to_owned()]));
}
