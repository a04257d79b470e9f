//! The merge queue: conflicts, checks, leases, approvals, taking back.

use super::{Finished, Workshop, until};

#[test]
fn a_conflict_goes_back_to_the_agent_and_both_changes_stay() {
    let own = Workshop::new();
    let tasks = [("line-a", ""), ("line-b", ""), ("line-c", "")];
    let finished = own.run(&tasks, "scripted:3", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = own.file(finished.branch(), "shared.txt").unwrap();
    for line in ["the first line", "line-a", "line-b", "line-c"] {
        assert_eq!(text.lines().filter(|own| *own == line).count(), 1, "{text}");
    }
    own.is_sound();
}

#[test]
fn the_work_of_others_that_was_merged_in_is_not_the_work_of_the_agent() {
    let own = Workshop::new();
    let plan = own.plan(&[("late-a", ""), ("line-b", ""), ("work-c", "")]);
    let runner = own.start(&[&plan, "--agents", "scripted:3"]);
    until("the others are merged", || {
        let state = own.sandbox.run(&["ps", "--json"]);
        let seen: serde_json::Value = serde_json::from_str(&state.out).unwrap_or_default();
        let tasks = seen.as_array().cloned().unwrap_or_default();
        tasks.len() == 1
            && tasks[0]["task"] == "late-a"
            && own.scratch().join("line-b.tries").exists()
    });
    // Somebody takes a file that one of the others has changed.
    own.sandbox.claim("bob", "out/work-c.txt");
    std::fs::write(own.scratch().join("go"), "").unwrap();
    let finished = Finished::of_child(runner);
    assert_eq!(finished.merged(), ["late-a", "line-b", "work-c"], "{finished:?}");
    assert_eq!(finished.about("task.returned", "late-a").len(), 1, "{finished:?}");
    assert!(finished.about("task.waiting", "late-a").is_empty(), "{finished:?}");
    let passed = finished.about("task.passed", "late-a");
    assert!(passed.iter().all(|own| own["files"] == 1), "{passed:?}");
    own.is_sound();
}

#[test]
fn work_that_passes_alone_and_fails_together_is_found() {
    let own = Workshop::with("checks = [\"test $(ls out | grep -c '^either-') -le 1\"]");
    let tasks = [("either-a", "attempts = 3"), ("either-b", "attempts = 3"), ("work-c", "")];
    let finished = own.run(&tasks, "scripted:3", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.merged(), ["either-a", "either-b", "work-c"]);
    // The branch passes at every merge.
    let merges = own.git(&["rev-list", "--first-parent", finished.branch(), "^main"]);
    for commit in merges.lines() {
        let files = own.git(&["ls-tree", "--name-only", commit, "out/"]);
        assert!(files.lines().filter(|own| own.starts_with("out/either-")).count() <= 1, "{files}");
    }
    own.is_sound();
}

#[test]
fn a_lease_of_somebody_else_holds_a_merge_up() {
    let own = Workshop::new();
    own.sandbox.ok(&["init"]);
    let lease = own.sandbox.claim("bob", "out/work-a.txt");
    let plan = own.plan(&[("work-a", "")]);
    let runner = own.start(&[&plan, "--agents", "scripted"]);
    let waits = || {
        let seen = own.sandbox.json(&["ps"]);
        seen[0]["process"] == "ended" && seen[0]["status"] != "closed"
    };
    until("its work is done", waits);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(waits(), "it was merged over somebody's lease");
    own.sandbox.ok(&["release", lease["lease"].as_str().unwrap_or("--all"), "--as", "bob"]);
    let finished = Finished::of_child(runner);
    assert_eq!(
        (finished.code, finished.merged()),
        (Some(0), vec!["work-a".to_owned()]),
        "{finished:?}"
    );
    assert!(!finished.about("task.waiting", "work-a").is_empty(), "{finished:?}");
    own.is_sound();
}

#[test]
fn a_person_approves_a_merge() {
    let own = Workshop::new();
    own.sandbox.ok(&["init"]);
    own.sandbox.login("ada");
    let plan = own.plan(&[("work-a", "gate = \"integration\"")]);
    let args = ["run", &plan, "--agents", "scripted", "--preset", "off"];
    let begun = std::thread::scope(|scope| {
        let runner = scope.spawn(|| own.sandbox.as_user("ada", &args));
        let gate = || {
            let open = own.sandbox.json(&["gate", "list"]);
            let open = open.as_array().cloned().unwrap_or_default();
            open.first().map(|own| own["gate"].as_str().unwrap_or_default().to_owned())
        };
        until("the person is asked", || gate().is_some());
        std::thread::sleep(std::time::Duration::from_millis(300));
        let branches =
            own.git(&["branch", "--list", "althing/*/_merged", "--format=%(refname:short)"]);
        assert_eq!(own.file(&branches, "out/work-a.txt"), None, "it was merged unasked");
        let approved = own.sandbox.as_user("ada", &["gate", "approve", &gate().unwrap()]);
        assert_eq!(approved.code, Some(0), "{approved:?}");
        runner.join().unwrap()
    });
    let finished = Finished::of(begun);
    assert_eq!(
        (finished.code, finished.merged()),
        (Some(0), vec!["work-a".to_owned()]),
        "{finished:?}"
    );
    assert!(own.file(finished.branch(), "out/work-a.txt").is_some());
    let [merged] = finished.about("task.merged", "work-a")[..] else { panic!("{finished:?}") };
    assert_eq!(merged["commit"], finished.last()["commit"], "{finished:?}");
    // Who approved it can be asked for later.
    let place = "out/work-a.txt:1";
    let why = own.sandbox.ok(&["why", place, "--at", finished.branch()]).out;
    assert!(why.contains("work-a") && why.contains("user:ada"), "{why}");
    own.is_sound();
}

#[test]
fn merges_are_taken_back_by_commits() {
    let own = Workshop::new();
    let finished = own.run(&[("work-a", ""), ("work-b", "")], "scripted", &["--into", "main"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let run = finished.run().to_owned();
    let undone = own.sandbox.json(&["undo", &run, "--task", "work-a", "--on", "main"]);
    assert_eq!(undone["tasks"], serde_json::json!(["work-a"]));
    assert_eq!(own.file("main", "out/work-a.txt"), None);
    assert!(own.file("main", "out/work-b.txt").is_some());
    assert!(!own.sandbox.path().join("out/work-a.txt").exists(), "the files follow the branch");
    own.sandbox.ok(&["undo", &run]);
    assert_eq!(own.file(finished.branch(), "out/work-b.txt"), None);
    // Nothing is left to take back, and nothing was rewritten.
    assert_eq!(own.sandbox.run(&["undo", &run]).code, Some(1));
    assert!(own.sandbox.kinds().iter().filter(|kind| *kind == "integration.undone").count() == 3);
    own.is_sound();
}

#[test]
fn a_line_can_be_explained() {
    let own = Workshop::new();
    let finished =
        own.run(&[("work-a", "title = \"Write the file\"")], "scripted", &["--into", "main"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let because = own.sandbox.json(&["why", "out/work-a.txt:1"]);
    assert_eq!(because["author"], "scripted-1", "{because}");
    let work = &because["work"];
    assert_eq!(
        (&work["task"], &work["title"], &work["agent"], &work["tokens"], &work["text"]),
        (
            &"work-a".into(),
            &"Write the file".into(),
            &"scripted-1".into(),
            &120.into(),
            &"Do work-a".into()
        ),
    );
    assert!(
        own.sandbox.ok(&["why", "README.md:1"]).out.contains("no task of this project wrote it")
    );
    assert_eq!(own.sandbox.run(&["why", "README.md:99"]).code, Some(1));
    assert_eq!(own.sandbox.run(&["why", "README.md:x"]).code, Some(2));
    assert_eq!(own.sandbox.run(&["why", "nowhere.txt:1"]).code, Some(1));
}

#[test]
fn a_runner_that_is_started_while_a_person_is_asked_waits_quietly() {
    let own = Workshop::new();
    own.sandbox.ok(&["init"]);
    own.sandbox.login("ada");
    let plan = own.plan(&[("work-a", "gate = \"integration\"")]);
    let begin = ["run", &plan, "--agents", "scripted", "--preset", "off"];
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| own.sandbox.as_user("ada", &begin));
        let asked = || !own.sandbox.json(&["gate", "list"]).as_array().unwrap().is_empty();
        until("the person is asked", asked);
        own.sandbox.ok(&["stop", "--now"]);
        assert_eq!(runner.join().unwrap().code, Some(4));
    });
    let runner = own.start(&[]);
    std::thread::sleep(std::time::Duration::from_millis(600));
    let before = own.sandbox.entries().len();
    std::thread::sleep(std::time::Duration::from_millis(900));
    assert_eq!(own.sandbox.entries().len(), before, "asking again and again fills the trail");
    let pid = runner.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(Finished::of_child(runner).code, Some(4));
    own.is_sound();
}

#[test]
fn a_plan_that_asks_a_person_needs_one() {
    let own = Workshop::new();
    let plan = own.plan(&[("work-a", "gate = \"integration\"")]);
    let ran = own.sandbox.run(&["run", &plan, "--agents", "scripted"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("nobody has signed up yet"), "{ran:?}");
    assert_eq!(own.sandbox.run(&["run"]).code, Some(1), "no run was begun");
}
