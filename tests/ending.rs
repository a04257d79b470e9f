//! Ending well, through the command line: time to finish, sight, what is saved of what failed,
//! workspaces that lost their parent, and the project's checks.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

impl Sandbox {
    /// A worker with one checkpoint of these files.
    #[track_caller]
    fn recorded(&self, agent: &str, files: &[(&str, &str)]) -> String {
        let id = self.worker(agent);
        let mut args = vec!["checkpoint", "create", "--intent", "i", "--final", "--as", agent];
        for (path, content) in files {
            self.write(path, content);
            args.extend(["--file", path]);
        }
        self.ok(&args);
        id
    }

    /// A worker that is done, with these files.
    #[track_caller]
    fn done(&self, agent: &str, files: &[(&str, &str)]) -> String {
        let id = self.recorded(agent, files);
        self.ok(&["signal", "complete", "--as", agent]);
        id
    }

    /// Commits what is in the folder.
    #[track_caller]
    fn commit(&self) {
        for args in [
            &["add", "."][..],
            &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"],
        ] {
            let git = Command::new("git").args(args).current_dir(self.path()).status();
            assert!(git.unwrap().success(), "{args:?}");
        }
    }

    #[track_caller]
    fn accept(&self, id: &str, more: &[&str]) -> Value {
        self.json(&[&["integrate", id, "accept", "--as", "alice"], more].concat())
    }

    /// Tries to merge what meets a conflict: that is said, and it is not done.
    #[track_caller]
    fn meets(&self, id: &str, more: &[&str]) -> Value {
        let args = ["integrate", id, "accept", "--as", "alice", "--json"];
        let met = self.run(&[&args, more].concat());
        assert_eq!(met.code, Some(1), "{met:?}");
        assert_eq!(met.json()["status"], "conflicted", "{met:?}");
        met.json()
    }
}

/// Shows W-GT-01, W-GT-02, W-INT-20, W-INT-22.
#[test]
fn a_workspace_past_its_deadline_fails_and_its_work_is_saved() {
    let (project, _) = Sandbox::with_run();
    let id = project.recorded("bob", &[("src/a.rs", "half\n"), ("junk.txt", "x")]);
    let asked = ["workspace", "terminate", "agent:bob", "--grace", "2s", "--reason", "tonight"];
    let (_, rule) = project.refused(&[&asked[..], &["--as", "bob"]].concat());
    assert_eq!(rule, "W-ROLE-04");
    let text = project.ok(&[&asked[..], &["--as", "alice"]].concat());
    assert!(text.out.contains("was asked to finish; its time ends in"), "{text:?}");
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    assert!(mail.contains("graceful_termination") && mail.contains("tonight"), "{mail}");
    assert!(project.ok(&["workspace", "show", &id]).out.contains("asked to; its time ends in"));
    std::thread::sleep(Duration::from_millis(2_100));
    let late = project.json(&["signal", "complete", "--workspace", &id, "--as", "bob"]);
    assert_eq!(late["effect"], false, "{late}");
    let view = project.json(&["workspace", "show", &id]);
    assert_eq!(view["ended"], "graceful_termination_expired");

    let save = ["integrate", &id, "salvage", "--as", "alice"];
    let unknown = project.run(&[&save[..], &["--only", "src/b.rs", "--json"]].concat());
    assert!(unknown.error()["message"].as_str().unwrap().contains("src/b.rs"));
    let saved = project.json(&[&save[..], &["--only", "src/a.rs", "--reason", "fine"]].concat());
    assert_eq!(saved["status"], "failed");
    let files = project.json(&["workspace", "files", "root"]);
    assert_eq!(files["merged"].as_array().unwrap().len(), 1);
    assert_eq!(files["merged"][0]["path"], "src/a.rs");
    let entries = project.entries();
    let of = |kind: &str| entries.iter().find(|entry| entry["kind"] == kind).unwrap();
    assert_eq!(of("integration_started")["body"]["mode"], "salvage");
    assert_eq!(of("graceful_termination_expired")["body"]["partial_checkpoint"], view["head"]);
    // Without a word about it, every file of the checkpoint.
    project.ok(&save);
    let files = project.json(&["workspace", "files", "root"]);
    assert_eq!(files["merged"].as_array().unwrap().len(), 2);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-VIS-01, W-VIS-03, W-TRAIL-31.
#[test]
fn one_worker_is_shown_another() {
    let (project, _) = Sandbox::with_run();
    let (bob, carol) = (project.worker("bob"), project.worker("carol"));
    let look = || project.ok(&["trail", "--workspace", &carol, "--as", "bob", "--json"]).out;
    assert_eq!(look(), "");
    let grant = ["workspace", "grant", &bob, &carol, "--reason", "review"];
    assert_eq!(project.refused(&[&grant[..], &["--as", "carol"]].concat()).1, "W-ROLE-04");
    let shown = project.json(&[&grant[..], &["--as", "alice"]].concat());
    assert_eq!(shown["visibility"], json!([carol]));
    assert!(look().contains("workspace_created"));
    let back = project.ok(&["trail", "--workspace", &bob, "--as", "carol", "--json"]);
    assert_eq!(back.out, "", "it goes one way");
    assert_eq!(project.refused(&[&grant[..], &["--as", "alice"]].concat()).1, "W-VIS-02");
    project.ok(&["trail", "verify"]);
}

/// Shows W-TREE-06, W-TREE-08.
#[test]
fn a_workspace_that_loses_its_parent_is_listed_and_given_another() {
    let (project, root) = Sandbox::with_run();
    project.login("ada");
    let top = project.worker("bob");
    let args = ["workspace", "create", "--agent", "carol", "--directive", "x", "--owner", "ada"];
    let child = project.json(&[&args[..], &["--parent", &top, "--as", "alice"]].concat());
    let child = child["workspace"].as_str().unwrap().to_owned();
    project.ok(&["inbox", "--take", "--as", "carol"]);
    assert_eq!(project.json(&["workspace", "list", "--orphans"]), json!([]));
    project.ok(&["workspace", "abort", &top, "--as", "alice"]);
    let lost = project.json(&["workspace", "list", "--orphans"]);
    assert_eq!((&lost[0]["workspace"], &lost[0]["owner"]), (&json!(child), &json!("ada")));
    assert_eq!(lost[0]["parent"], json!(root));
    let heard = project.ok(&["inbox", "--take", "--as", "alice"]).out;
    assert!(heard.contains("parent_aborted_cross_ownership"), "{heard}");
    let new = project.worker("dora");
    let move_it = ["workspace", "reparent", &child, "--below", "agent:dora"];
    assert_eq!(project.refused(&[&move_it[..], &["--as", "dora"]].concat()).1, "W-ROLE-04");
    let moved = project.json(&[&move_it[..], &["--as", "alice"]].concat());
    assert_eq!(moved["parent"], json!(new));
    assert_eq!(project.json(&["workspace", "list", "--orphans"]), json!([]));
    assert_eq!(project.refused(&[&move_it[..], &["--as", "alice"]].concat()).1, "W-TREE-08");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Folders that a merge was laid out in and that are still there.
fn left_over() -> Vec<PathBuf> {
    let all = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let own = all.map(|entry| entry.unwrap().path());
    own.filter(|path| path.to_string_lossy().contains("althing-merge-")).collect()
}

/// Shows W-INT-04, W-INT-07.
#[test]
fn a_check_that_fails_stops_a_merge_before_it_is_decided() {
    let (project, _) = Sandbox::with_run();
    project.write("base.txt", "committed\n");
    project.write("gone.txt", "committed\n");
    project.write("run.sh", "#!/bin/sh\ncat run.sh base.txt\n");
    project.write("althing.toml", "[integrate]\nchecks = ['test ! -e broken.txt']\n");
    let git = Command::new("chmod").arg("+x").arg(project.path().join("run.sh")).status();
    assert!(git.unwrap().success());
    project.commit();
    project.write("base.txt", "not committed\n");
    let first = project.done("bob", &[("src/first.rs", "one\n")]);
    // The folder has the committed files, earlier merges and this work, and nothing else.
    let looks = "test \"$(cat base.txt)\" = committed && test ! -e .git && ./run.sh > /dev/null";
    let met = project.accept(&first, &["--check", looks, "--check", "cat src/first.rs"]);
    assert_eq!((&met["status"], met["checks"].as_array().unwrap().len()), (&json!("closed"), 3));
    assert_eq!(met["checks"][2]["output"], "one\n");

    let second = project.worker("carol");
    project.write("broken.txt", "x");
    project.write("run.sh", "#!/bin/sh\necho changed\n");
    let make = ["checkpoint", "create", "--intent", "i", "--final", "--as", "carol"];
    let files = ["--file", "broken.txt", "--file", "run.sh", "--deleted", "gone.txt"];
    project.ok(&[&make[..], &files].concat());
    project.ok(&["signal", "complete", "--as", "carol"]);
    let looks = "cat src/first.rs; ./run.sh; test ! -e gone.txt; echo '\u{1b}[31mred'; exit 3";
    let met = project.meets(&second, &["--check", looks]);
    let conflicts = met["conflicts"].as_array().unwrap();
    assert_eq!(conflicts.len(), 2, "the project's and one's own: {met}");
    assert!(conflicts.iter().all(|found| found["kind"] == "constraint_breach"));
    assert_eq!(conflicts[0]["resources"], json!(["test ! -e broken.txt"]));
    let text = conflicts[1]["description"].as_str().unwrap();
    assert!(text.contains("exit status: 3") && text.ends_with("one\nchanged\nred"), "{text}");
    let files = project.json(&["workspace", "files", "root"]);
    assert_eq!(files["merged"].as_array().unwrap().len(), 1, "nothing of it was merged");
    for found in conflicts {
        let id = found["id"].as_str().unwrap();
        let settle = ["integrate", &second, "resolve", id, "--resolution", "so be it"];
        project.ok(&[&settle[..], &["--as", "alice"]].concat());
    }
    assert_eq!(project.json(&["workspace", "show", &second])["status"], "closed");
    project.ok(&["trail", "verify"]);
}

#[test]
fn checks_are_left_out_by_people_alone() {
    let (project, _) = Sandbox::with_run();
    project.login("ada");
    project.write("althing.toml", "[integrate]\nchecks = ['false']\ncheck_timeout = '5s'\n");
    let id = project.done("bob", &[("a", "x")]);
    let (ran, rule) =
        project.refused(&["integrate", &id, "accept", "--no-checks", "--as", "alice"]);
    assert_eq!((ran.code, rule.as_str()), (Some(1), "A-INT-01"));
    assert_eq!(project.json(&["workspace", "show", &id])["status"], "integrating");
    let config = project.ok(&["config"]).out;
    assert!(config.contains("integrate.checks") && config.contains("\"false\""), "{config}");
    let done = project.as_user("ada", &["integrate", &id, "accept", "--no-checks"]);
    assert_eq!((done.code, &done.json()["status"]), (Some(0), &json!("closed")), "{done:?}");
    // An agent is held to them, by way of a conflict that stays on record.
    let id = project.done("carol", &[("b", "x")]);
    let met = project.run(&["integrate", &id, "accept", "--as", "alice"]);
    assert_eq!(met.code, Some(1), "{met:?}");
    assert!(met.out.contains("conflicted") && met.out.contains("constraint_breach"), "{met:?}");
    assert!(met.err.contains("checking: false") && met.err.contains("failed"), "{met:?}");
    let setting = project.run(&["config", "--json"]);
    assert_eq!(setting.code, Some(0));
    project.write("althing.toml", "[integrate]\nchequers = ['false']\n");
    assert_eq!(project.run(&["config"]).code, Some(2), "a typo is noticed");
}

#[cfg(unix)]
#[test]
fn a_check_ends_in_time_with_everything_it_began_and_its_folder_goes_away() {
    let (project, _) = Sandbox::with_run();
    project.write("althing.toml", "[integrate]\ncheck_timeout = '1s'\n");
    let id = project.done("bob", &[("a", "x")]);
    let mark = project.path().join("still-there");
    // A process left in the background would write this file after a while.
    let slow = format!("(sleep 4; echo late > {}) & echo begun; sleep 30", mark.display());
    let started = Instant::now();
    let met = project.meets(&id, &["--check", &slow]);
    assert!(met["checks"][0]["ended"].as_str().unwrap().contains("not done after 1s"), "{met}");
    assert_eq!(met["checks"][0]["output"], "begun\n");
    assert!(started.elapsed() < Duration::from_secs(25), "nobody waits for the whole of it");
    std::thread::sleep(Duration::from_secs(5));
    assert!(!mark.exists(), "nothing of it runs on");
    // While that is open nothing else is merged, and nothing is checked in vain.
    let next = project.done("dora", &[("c", "x")]);
    let busy = ["integrate", &next, "accept", "--check", "sleep 60", "--as", "alice"];
    let started = Instant::now();
    assert_eq!(project.refused(&busy).1, "W-INT-05");
    assert!(started.elapsed() < Duration::from_secs(50));
    let again = ["integrate", &id, "resolve", "--rework", "--resolution", "r", "--as", "alice"];
    project.ok(&again);
    // A process that outlives its check does not delay it, either.
    let met = project.accept(&next, &["--check", "echo before; sleep 60 &"]);
    assert_eq!(
        (&met["status"], &met["checks"][0]["output"]),
        (&json!("closed"), &json!("before\n"))
    );
    assert!(met["checks"][0]["took_ms"].as_u64().unwrap() < 50_000, "{met}");
    // Much output is cut to its end, and does not stop the check.
    let id = project.done("carol", &[("b", "x")]);
    let loud = "for n in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero | tr '\\0' x; done; echo end";
    let met = project.accept(&id, &["--check", loud, "--check", "pwd > /dev/null"]);
    let printed = met["checks"][0]["output"].as_str().unwrap();
    assert!(printed.ends_with("xend\n") && printed.len() <= 64 << 10, "{}", printed.len());
    let own = |path: &PathBuf| path.join("tree/b").exists();
    assert!(!left_over().iter().any(own), "{:?}", left_over());
}

/// A link that is committed must not lead what is laid out somewhere else.
#[cfg(unix)]
#[test]
fn files_for_checks_stay_in_their_folder() {
    let (project, _) = Sandbox::with_run();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path().join("link")).unwrap();
    std::fs::write(outside.path().join("kept"), "kept").unwrap();
    project.write("folder/x", "x");
    project.commit();
    project.worker("bob");
    let content = project.path().join("new.txt");
    std::fs::write(&content, "new").unwrap();
    let make = ["checkpoint", "create", "--intent", "i", "--final", "--as", "bob"];
    let files = ["--file", "link/a=@new.txt", "--file", "folder=@new.txt", "--deleted", "kept/x"];
    project.ok(&[&make[..], &files].concat());
    project.ok(&["signal", "complete", "--as", "bob"]);
    let looks = "test \"$(cat link/a folder)\" = newnew";
    let met = project.accept("agent:bob", &["--check", looks]);
    assert_eq!(met["status"], "closed", "{met}");
    let left: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Shows W-INT-07, W-INT-08.
#[test]
fn every_type_of_conflict_is_reported_and_one_rework_fails_the_whole() {
    let (project, _) = Sandbox::with_run();
    let id = project.done("bob", &[("a", "x")]);
    project.write("merged.json", "[]");
    let types =
        ["content_overlap", "semantic_contradiction", "dependency_violation", "constraint_breach"];
    let text = types.map(|kind| format!("{kind}=because of {kind}"));
    let mut args = vec!["--strategy", "evaluated", "--merged", "merged.json"];
    for one in &text {
        args.extend(["--conflict", one]);
    }
    let met = project.meets(&id, &args);
    let found: Vec<&str> =
        met["conflicts"].as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    assert_eq!(found, types);
    let bad = ["integrate", &id, "accept", "--conflict", "riddle=x", "--as", "alice"];
    assert_eq!(project.run(&bad).code, Some(2));
    let one = met["conflicts"][2]["id"].as_str().unwrap();
    let rework = ["integrate", &id, "resolve", one, "--rework", "--resolution", "again"];
    let after = project.json(&[&rework[..], &["--as", "alice"]].concat());
    assert_eq!((&after["status"], &after["conflicts"]), (&json!("failed"), &json!([])));
    let kinds = project.kinds();
    let count = |kind: &str| kinds.iter().filter(|own| *own == kind).count();
    assert_eq!((count("conflict_detected"), count("conflict_resolved")), (4, 4));
}
