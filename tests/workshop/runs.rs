//! Plans that are run to their end.

use super::{Workshop, until};

#[test]
fn a_plan_becomes_merged_commits() {
    let own = Workshop::new();
    let tasks = [
        ("work-a", "touches = [\"out/work-a.txt\"]\nproduces = [\"out/work-a.txt\"]"),
        ("work-b", "depends_on = [\"work-a\"]\ncheck = \"test -e out/work-a.txt\""),
        ("commit-c", "touches = [\"out/**\"]"),
    ];
    let finished = own.run(&tasks, "scripted:2", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.merged(), ["commit-c", "work-a", "work-b"]);
    assert_eq!(finished.events[0]["event"], "run.started");
    for key in ["work-a", "work-b", "commit-c"] {
        let text = own.file(finished.branch(), &format!("out/{key}.txt")).unwrap();
        assert!(text.starts_with(&format!("{key} by scripted-")), "{text}");
        // Each is merged once, and the merge says whose work it is.
        let grep = format!("--grep=^Althing-Task: {key}$");
        let merges = own.git(&[
            "log",
            "--first-parent",
            "--format=%an%n%(trailers)",
            &grep,
            finished.branch(),
        ]);
        assert_eq!(merges.matches("Althing-Task").count(), 1, "{merges}");
        for trailer in
            ["Althing-Agent: scripted-", "Althing-Workspace: ", "Althing-Run: ", "Althing-Entry: "]
        {
            assert!(merges.contains(trailer), "{merges}");
        }
        assert!(merges.starts_with("scripted-"), "{merges}");
    }
    // What the agents reported is on the meter: two of them, 120 tokens and a cent each.
    assert_eq!(
        (&finished.last()["tokens"], &finished.last()["cost"]),
        (&240.into(), &20_000.into())
    );
    // Nothing had to be rescued, and main is where it was.
    assert_eq!(own.sandbox.json(&["rescue"]).as_array().unwrap().len(), 0);
    assert_eq!(own.git(&["rev-list", "--count", "main"]), "1");
    own.is_sound();
}

#[test]
fn a_task_is_done_when_its_check_says_so() {
    let own = Workshop::new();
    let tasks = [
        ("lie-a", "produces = [\"out/lie-a.txt\"]\nattempts = 2"),
        ("outside-b", "touches = [\"out/**\"]\nattempts = 2"),
    ];
    let finished = own.run(&tasks, "scripted:2", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for (task, said) in [("lie-a", "out/lie-a.txt"), ("outside-b", "elsewhere.txt")] {
        let returned = finished.about("task.returned", task);
        assert_eq!(returned.len(), 1, "{finished:?}");
        assert!(returned[0]["evidence"].as_str().unwrap().contains(said), "{returned:?}");
    }
    assert_eq!(own.file(finished.branch(), "elsewhere.txt"), None);
    own.is_sound();
}

#[test]
fn work_that_an_agent_hands_in_by_itself_is_judged() {
    let own = Workshop::new();
    let tasks = [("hand-a", ""), ("hand-b", "produces = [\"out/hand-b.txt\"]")];
    let finished = own.run(&tasks, "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.merged(), ["hand-a", "hand-b"]);
    // What did not pass was done again.
    assert_eq!(finished.about("task.started", "hand-a").len(), 1, "{finished:?}");
    assert_eq!(finished.about("task.started", "hand-b").len(), 2, "{finished:?}");
    assert!(own.file(finished.branch(), "out/hand-b.txt").is_some());
    own.is_sound();
}

#[test]
fn an_agent_of_a_run_has_nothing_to_hand_in() {
    let own = Workshop::new();
    let finished = own.run(&[("done-a", "")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let file = |name: &str| own.file(finished.branch(), name).unwrap();
    let told = file("out/done-a.done");
    assert!(told.contains("judged and merged") && !told.contains("checkpoint"), "{told}");
    assert_eq!(file("out/done-a.stop"), "", "it may end");
    own.is_sound();
}

#[test]
fn a_task_that_fails_keeps_its_work_and_can_be_tried_again() {
    let own = Workshop::new();
    let tasks = [
        ("never-a", "produces = [\"out/never-a.txt\"]\nattempts = 2"),
        ("work-b", "depends_on = [\"never-a\"]"),
        ("work-c", ""),
    ];
    let finished = own.run(&tasks, "scripted", &[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(
        (finished.merged(), finished.list("failed")),
        (vec!["work-c".into()], vec!["never-a".into()])
    );
    assert_eq!(finished.list("left"), ["work-b"]);
    let failed = finished.about("task.failed", "never-a");
    assert!(
        failed[0]["rescue"].as_str().unwrap().starts_with("refs/althing/rescue/never-a"),
        "{failed:?}"
    );
    // The work is kept, can be looked at and brought back.
    let kept = own.sandbox.json(&["rescue"]);
    assert_eq!((&kept[0]["name"], &kept[0]["files"]), (&"never-a".into(), &1.into()));
    assert!(
        own.sandbox.ok(&["rescue", "show", "never-a", "--patch"]).out.contains("half of never-a")
    );
    own.sandbox.ok(&["rescue", "restore", "never-a", "--branch", "saved"]);
    assert_eq!(own.file("saved", "out/never-a.half").as_deref(), Some("half of never-a\n"));
    own.is_sound();
    // Somebody helps, and the task is tried again.
    std::fs::write(own.scratch().join("go"), "").unwrap();
    own.sandbox.ok(&["retry", "never-a"]);
    let again = own.go_on();
    assert_eq!(
        (again.code, again.list("failed")),
        (Some(1), vec!["never-a".to_owned()]),
        "{again:?}"
    );
    assert_eq!(again.about("task.started", "never-a")[0]["attempt"], 2);
    own.sandbox.ok(&["rescue", "restore", "never-a", "--here"]);
    assert!(own.sandbox.path().join("out/never-a.half").is_file());
}

#[test]
fn agents_get_their_brief_and_know_where_they_are() {
    let own = Workshop::new();
    let finished = own.run(&[("env-a", "touches = [\"out/**\"]")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = own.file(finished.branch(), "out/env-a.txt").unwrap();
    for name in [
        "AGENT=scripted-1",
        "TASK=env-a",
        "WORKSPACE=",
        "RUN=",
        "SLOT=1",
        "PORT_BASE=20000",
        "BRIEF=",
    ] {
        assert!(text.contains(&format!("ALTHING_{name}")), "{text}");
    }
    let brief = own.file(finished.branch(), "out/env-a.brief").unwrap();
    assert!(brief.contains("Do env-a") && brief.contains("out/**"), "{brief}");
}

#[test]
fn worktrees_are_set_up_and_get_the_files_they_need() {
    let own = Workshop::with(
        "setup = \"cat secret.env > made.txt\"\ncopy = [\"secret.env\"]\nchecks = [\"test -e made.txt\"]",
    );
    own.sandbox.write(".gitignore", "secret.env\nmade.txt\n");
    own.git(&["add", "--all"]);
    own.git(&["commit", "--quiet", "-m", "Ignore"]);
    own.sandbox.write("secret.env", "KEY=1\n");
    let finished = own.run(&[("work-a", "check = \"grep -q KEY=1 made.txt\"")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(own.file(finished.branch(), "secret.env"), None);
}

#[test]
fn the_result_can_be_put_onto_a_branch() {
    let own = Workshop::new();
    let finished = own.run(&[("work-a", "")], "scripted", &["--into", "main"]);
    assert_eq!(
        (finished.code, &finished.last()["landed"]),
        (Some(0), &"main".into()),
        "{finished:?}"
    );
    assert_eq!(own.git(&["rev-parse", "main"]), finished.last()["commit"]);
    // The files that are checked out follow.
    assert!(own.sandbox.path().join("out/work-a.txt").is_file());
    own.is_sound();
    // A change that is not committed and in the way is not overwritten.
    own.sandbox.write("out/work-b.txt", "mine\n");
    let finished = own.run(&[("work-b", "")], "scripted", &["--into", "main"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(
        finished.last()["not_landed"].as_str().unwrap().contains("main was not moved"),
        "{finished:?}"
    );
    let mine = std::fs::read_to_string(own.sandbox.path().join("out/work-b.txt")).unwrap();
    assert_eq!(mine, "mine\n");
    assert!(own.file(finished.branch(), "out/work-b.txt").unwrap().starts_with("work-b by"));
}

#[test]
fn two_runners_share_the_work() {
    let own = Workshop::new();
    let keys: Vec<String> = (0..8).map(|n| format!("work-{n}")).collect();
    let tasks: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "")).collect();
    let plan = own.plan(&tasks);
    let runners: Vec<_> = (0..2).map(|_| own.start(&[&plan, "--agents", "scripted:2"])).collect();
    let ended: Vec<_> = runners.into_iter().map(super::Finished::of_child).collect();
    let tip = ended.iter().map(|own| own.branch().to_owned()).next().unwrap();
    for key in &keys {
        let grep = format!("--grep=^Althing-Task: {key}$");
        let count = own.git(&["rev-list", "--count", "--first-parent", &grep, &tip]);
        assert_eq!(count, "1", "{key}: {ended:?}");
    }
    own.is_sound();
}

#[test]
fn a_runner_that_is_killed_is_replaced() {
    let own = Workshop::new();
    let tasks =
        [("slow-a", ""), ("slow-b", ""), ("work-c", ""), ("work-d", "depends_on = [\"slow-a\"]")];
    let plan = own.plan(&tasks);
    let mut runner = own.start(&[&plan, "--agents", "scripted:3"]);
    until("both wait", || {
        ["slow-a", "slow-b"].iter().all(|key| own.scratch().join(format!("{key}.tries")).exists())
    });
    runner.kill().unwrap();
    runner.wait().unwrap();
    // The agents live, and the next runner goes on with them.
    std::fs::write(own.scratch().join("go"), "").unwrap();
    let finished = own.go_on();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.merged(), ["slow-a", "slow-b", "work-c", "work-d"]);
    for key in ["slow-a", "slow-b"] {
        let tries = std::fs::read_to_string(own.scratch().join(format!("{key}.tries"))).unwrap();
        assert_eq!(tries, "x\n", "{key} was started again");
    }
    own.is_sound();
}

#[test]
fn an_agent_that_crashes_is_started_again() {
    let own = Workshop::new();
    let finished =
        own.run(&[("crash-a", "attempts = 2"), ("fail-b", "attempts = 1")], "scripted:2", &[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(
        (finished.merged(), finished.list("failed")),
        (vec!["crash-a".into()], vec!["fail-b".into()])
    );
    assert!(own.sandbox.ok(&["logs", "fail-b"]).out.contains("it cannot be done"));
    own.is_sound();
}

#[test]
fn tasks_go_to_agents_with_the_role_and_the_skills() {
    let own = Workshop::new();
    let settings = std::fs::read_to_string(own.sandbox.path().join("althing.toml")).unwrap();
    let skilled = settings.replace(
        "[agents.scripted]",
        "[agents.scripted]\nrole = \"tester\"\nskills = [\"sql\", \"shell\"]",
    );
    own.sandbox.write("althing.toml", &skilled);
    own.git(&["commit", "--quiet", "-am", "Skills"]);
    let tasks = [("work-a", "role = \"tester\""), ("work-b", "skills = [\"sql\"]"), ("work-c", "")];
    let finished = own.run(&tasks, "scripted", &[]);
    assert_eq!((finished.code, finished.merged().len()), (Some(0), 3), "{finished:?}");
}

#[test]
fn a_cancelled_task_does_not_keep_a_run_from_its_end() {
    let own = Workshop::new();
    let plan = own.plan(&[("slow-a", ""), ("work-b", "depends_on = [\"slow-a\"]")]);
    let runner = own.start(&[&plan, "--agents", "scripted", "--into", "main"]);
    until("it works", || own.scratch().join("slow-a.tries").exists());
    let tasks = own.sandbox.json(&["task", "list"]);
    let last = tasks.as_array().unwrap().iter().find(|own| own["name"] == "Do work-b").unwrap();
    own.sandbox.ok(&["task", "cancel", last["task"].as_str().unwrap(), "--as", "runner"]);
    std::fs::write(own.scratch().join("go"), "").unwrap();
    let finished = super::Finished::of_child(runner);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.list("cancelled"), ["work-b"]);
    assert_eq!(finished.last()["landed"], "main");
}

#[test]
fn conflict_markers_that_were_committed_are_sent_back() {
    let own = Workshop::new();
    let finished = own.run(&[("marks-a", "attempts = 2")], "scripted", &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let returned = finished.about("task.returned", "marks-a");
    assert!(returned[0]["evidence"].as_str().unwrap().contains("marks.txt"), "{returned:?}");
    assert_eq!(own.file(finished.branch(), "marks.txt").as_deref(), Some("resolved\n"));
}

#[test]
fn work_that_nobody_looked_at_does_not_get_onto_the_branch() {
    let own = Workshop::new();
    let tasks = [("move-a", "attempts = 1"), ("work-b", "")];
    let finished = own.run(&tasks, "scripted", &[]);
    assert_eq!((finished.code, finished.list("failed")), (Some(1), vec!["move-a".to_owned()]));
    assert_eq!(own.file(finished.branch(), "out/move-a.txt"), None);
    assert!(own.file(finished.branch(), "out/work-b.txt").is_some());
    let kept = own.git(&["for-each-ref", "--format=%(refname)", "refs/althing/moved"]);
    assert_eq!(kept.lines().count(), 1, "{kept}");
    own.is_sound();
}

#[test]
fn the_branch_for_the_result_is_remembered() {
    let own = Workshop::new();
    let plan = own.plan(&[("slow-a", "")]);
    let mut runner = own.start(&[&plan, "--agents", "scripted", "--into", "main"]);
    until("it works", || own.scratch().join("slow-a.tries").exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    std::fs::write(own.scratch().join("go"), "").unwrap();
    let finished = own.go_on();
    assert_eq!((finished.code, &finished.last()["landed"]), (Some(0), &"main".into()));
}

#[test]
fn eight_agents_do_forty_tasks_once_each() {
    let own = Workshop::new();
    let keys: Vec<String> = (0..40).map(|n| format!("work-{n}")).collect();
    let before = |n: usize| {
        if n < 10 { String::new() } else { format!("depends_on = [\"work-{}\"]", n / 4) }
    };
    let more: Vec<String> = (0..40).map(before).collect();
    let tasks: Vec<(&str, &str)> =
        keys.iter().zip(&more).map(|(key, more)| (key.as_str(), more.as_str())).collect();
    let finished = own.run(&tasks, "scripted:8", &[]);
    assert_eq!((finished.code, finished.merged().len()), (Some(0), 40), "{finished:?}");
    for key in &keys {
        let tries = std::fs::read_to_string(own.scratch().join(format!("{key}.tries"))).unwrap();
        assert_eq!(tries, "x\n", "{key}");
    }
    let merges = own.git(&["rev-list", "--count", "--first-parent", finished.branch(), "^main"]);
    assert_eq!(merges, "40");
    own.is_sound();
}
