//! Results of workers who cannot reach the protocol.

use super::*;

/// A lane of bob's in a worktree of its own, for a plan.
struct Lane {
    team: Team,
    worktree: PathBuf,
    id: String,
    plan: String,
}

impl Lane {
    fn new() -> Self {
        let team = Team::new(&["alice", "bob"]);
        let worktree = team.worktree("lane-a");
        let plan = team.plan("Rework a");
        let place = worktree.to_str().unwrap().to_owned();
        let rest = ["--scope", "src/a", "--plan", &plan, "--worktree", &place];
        let id = text(&team.assigned(&rest), "assignment_id");
        Lane { team, worktree, id, plan }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.worktree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    fn result(&self, status: &str, rest: Value) {
        let mut result =
            json!({ "assignment_id": self.id, "status": status, "summary": "Reworked a." });
        for (name, value) in rest.as_object().unwrap() {
            result[name] = value.clone();
        }
        self.write("LANE-RESULT.json", &result.to_string());
    }

    #[track_caller]
    fn harvest(&self, rest: &[&str]) -> Value {
        self.team.memory("alice", &[&["harvest"], rest].concat())["result"].clone()
    }

    /// The same, where something is not as it should be.
    #[track_caller]
    fn held_up(&self, rest: &[&str]) -> Value {
        self.team.in_part("alice", &[&["harvest"], rest].concat())["result"].clone()
    }

    fn status(&self) -> String {
        text(&self.team.get(&self.id), "status")
    }
}

/// Case 82.
#[test]
fn a_result_is_reported_once_and_integrated_once() {
    let lane = Lane::new();
    assert_eq!(lane.harvest(&[])["harvested"], json!([]), "there is none yet");
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    lane.write("src/a/z.rs", "fn z() {}\n");
    lane.write(&format!(".brainclaw-heartbeat-{}", lane.id), "");
    lane.write(".brainclaw/notes.md", "mine\n");
    lane.result("completed", json!({ "files_changed": ["src/a/x.rs"], "turn_id": "t" }));

    let first = lane.harvest(&[]);
    assert_eq!(first["harvested"][0]["assignment_id"], lane.id.as_str());
    assert_eq!(first["harvested"][0]["summary"], "Reworked a.");
    assert_eq!(lane.status(), "offered", "a report changes no state");
    let second = lane.harvest(&[]);
    assert_eq!(second["harvested"], json!([]));
    assert_eq!(second["skipped"][0]["code"], "already_harvested");

    let before = lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]);
    // The result was noted, and it is still not everybody's to integrate.
    for rest in [&["harvest", "--integrate", &lane.id][..], &["harvest", &lane.id]] {
        let other = lane.team.in_part("carol", rest);
        assert_eq!(other["result"]["integrated"], json!([]), "{other}");
        assert_eq!(other["result"]["skipped"][0]["code"], "not_yours", "{other}");
    }
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]), before, "no commit");
    assert_eq!(lane.status(), "offered");
    let done = lane.harvest(&["--integrate"]);
    let own = &done["integrated"][0];
    assert_eq!((&own["from"], &own["to"]), (&json!("offered"), &json!("completed")));
    assert_eq!(own["files"], 2, "{own}");
    assert_eq!(lane.status(), "completed");
    assert!(lane.team.claims().is_empty(), "the claim is released");
    assert_eq!(lane.team.get(&lane.plan)["status"], "done");
    let commit = text(own, "commit");
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]), commit);
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD^"]), before);
    let changed = lane.team.git_in(&lane.worktree, &["diff", "--name-only", "HEAD^", "HEAD"]);
    assert_eq!(changed, "src/a/x.rs\nsrc/a/z.rs", "the protocol's own files are no work");
    let left = lane.team.git_in(&lane.worktree, &["status", "--porcelain"]);
    assert!(left.lines().all(|line| line.starts_with("?? ")), "nothing is left half-way: {left}");
    let stamps = lane.team.get(&lane.id)["fields"]["stamps"].clone();
    assert!(stamps["accepted"].is_u64() && stamps["started"].is_u64(), "{stamps}");

    let again = lane.harvest(&["--integrate", &lane.id]);
    assert_eq!(again["skipped"][0]["code"], "already_over");
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]), commit);
}

/// An error in one lane is reported for that lane, and the others are harvested.
#[test]
fn a_lane_that_cannot_be_taken_in_holds_up_no_other() {
    let lane = Lane::new();
    lane.result("completed", json!({}));
    let worktree = lane.team.worktree("lane-b");
    let place = worktree.to_str().unwrap().to_owned();
    let rest = ["--scope", "src/b", "--worktree", &place];
    let full = text(&lane.team.assigned(&rest), "assignment_id");
    let result = json!({ "assignment_id": full, "status": "completed", "summary": "Full." });
    std::fs::write(worktree.join("LANE-RESULT.json"), result.to_string()).unwrap();
    let many: Vec<Value> =
        (0..64).map(|n| json!({ "type": "file", "ref": format!("f{n}") })).collect();
    let update = json!({ "id": full, "fields": { "artifacts": many } });
    lane.team.act("alice", "memory.update", update);

    let before = lane.team.git_in(&worktree, &["rev-parse", "HEAD"]);
    let shown = lane.team.in_part("alice", &["harvest", "--integrate"]);
    let done = &shown["result"];
    assert_eq!(done["skipped"][0]["assignment_id"], full.as_str(), "{shown}");
    assert_eq!(done["skipped"][0]["code"], "validation_error", "{shown}");
    assert!(done["skipped"][0]["reason"].is_string(), "{shown}");
    assert_eq!(done["skipped"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(done["harvested"][0]["assignment_id"], lane.id.as_str(), "{shown}");
    assert_eq!(done["integrated"][0]["assignment_id"], lane.id.as_str(), "{shown}");
    assert_eq!(lane.status(), "completed");
    assert_eq!(text(&lane.team.get(&full), "status"), "offered");
    assert_eq!(lane.team.git_in(&worktree, &["rev-parse", "HEAD"]), before, "nothing was done");
}

/// Case 84.
#[test]
fn a_lane_that_is_blocked_blocks_its_plan() {
    let lane = Lane::new();
    lane.result("blocked", json!({}));
    let done = lane.harvest(&["--integrate"]);
    assert_eq!(done["integrated"][0]["to"], "blocked");
    assert_eq!(done["integrated"][0]["commit"], Value::Null, "there was nothing to commit");
    assert_eq!(lane.status(), "blocked");
    assert_eq!(lane.team.get(&lane.plan)["status"], "blocked");
    assert!(lane.team.claims().is_empty());
}

#[test]
fn a_lane_that_failed_says_so_and_its_plan_stays_open() {
    let lane = Lane::new();
    lane.result("failed", json!({}));
    lane.harvest(&["--integrate"]);
    assert_eq!(lane.status(), "failed");
    assert_eq!(lane.team.get(&lane.plan)["status"], "open");
    assert!(lane.team.claims().is_empty(), "whoever gave up holds nothing");
}

/// Harvesting bob's result ends his claim and the plan in one commit, whoever harvests it.
#[test]
fn harvesting_a_result_ends_the_claims_of_its_agent() {
    for status in ["blocked", "failed", "completed"] {
        let lane = Lane::new();
        lane.team.moved("bob", &lane.id, "accepted");
        lane.team.moved("bob", &lane.id, "started");
        assert_eq!(lane.team.claims()[0].0, "agent:bob");
        lane.result(status, json!({}));
        let before = lane.team.project.kinds().len();
        lane.harvest(&["--integrate"]);
        assert_eq!(lane.status(), status);
        assert!(lane.team.claims().is_empty(), "{status}");
        let new = lane.team.project.kinds()[before..].to_vec();
        let moves = new.iter().filter(|kind| *kind == "memory.moved").count();
        assert_eq!(moves, 1, "{new:?}");
    }
}

#[test]
fn files_outside_of_a_lanes_scope_hold_it_up_until_somebody_answers_for_them() {
    let lane = Lane::new();
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    lane.write("src/b/y.rs", "fn y() { not_mine() }\n");
    lane.write("notes.md", "mine\n");
    lane.result("completed", json!({}));
    let before = lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]);
    let shown = lane.team.in_part("alice", &["harvest", "--integrate"]);
    let skipped = &shown["result"]["skipped"][0];
    assert_eq!(skipped["code"], "outside_scope", "{shown}");
    assert_eq!(skipped["done"]["outside"], json!(["notes.md", "src/b/y.rs"]), "{shown}");
    assert!(text(skipped, "reason").contains("--allow-outside"), "{shown}");
    assert_eq!(shown["result"]["integrated"], json!([]));
    let all = ["harvest", "--integrate", "--allow-outside"];
    let own = lane.team.in_part("bob", &all);
    assert_eq!(own["result"]["skipped"][0]["code"], "outside_scope", "{own}");
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]), before);
    assert_eq!(lane.status(), "offered");
    let done = lane.team.memory("alice", &all)["result"]["integrated"][0].clone();
    assert_eq!((&done["files"], &done["to"]), (&json!(3), &json!("completed")), "{done}");
    let changed = lane.team.git_in(&lane.worktree, &["diff", "--name-only", &before, "HEAD"]);
    assert_eq!(changed, "notes.md\nsrc/a/x.rs\nsrc/b/y.rs");
}

/// A person who may end what others hold may take in what others left; one who may not, not.
#[test]
fn people_take_results_in_if_they_may_end_the_work_of_others() {
    let lane = Lane::new();
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    lane.result("completed", json!({}));
    lane.team.project.login("ada");
    let key = text(&lane.team.project.login("eve"), "key");
    let ran = lane.team.project.as_user("ada", &["users", "add", "eve", &key]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let before = lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]);
    let harvest = ["memory", "harvest", "--integrate"];
    let ran = lane.team.project.as_user("eve", &harvest);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["result"]["skipped"][0]["code"], "not_yours", "{ran:?}");
    assert_eq!(lane.team.git_in(&lane.worktree, &["rev-parse", "HEAD"]), before);
    let ran = lane.team.project.as_user("ada", &harvest);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["result"]["integrated"][0]["files"], 1, "{ran:?}");
    assert_eq!(lane.status(), "completed");
    assert!(lane.team.claims().is_empty());
}

#[test]
fn results_of_other_attempts_and_assignments_are_no_news() {
    let lane = Lane::new();
    let cases = [
        json!({ "assignment_id": "asgn_000000ff" }),
        json!({ "attempt": 2 }),
        json!({ "nonce": "another" }),
    ];
    for case in cases {
        lane.result("completed", case);
        let done = lane.harvest(&["--integrate"]);
        assert_eq!(done["skipped"][0]["code"], "lane_result_stale", "{done}");
        assert_eq!((&done["harvested"], lane.status().as_str()), (&json!([]), "offered"));
    }
    lane.write("LANE-RESULT.json", "{\"status\":\"completed\"}");
    assert_eq!(lane.held_up(&[])["skipped"][0]["code"], "lane_result_invalid");
    lane.write("LANE-RESULT.json", &" ".repeat(300_000));
    assert_eq!(lane.held_up(&[])["skipped"][0]["code"], "lane_result_unreadable");
    let nonce = lane.team.get(&lane.id)["fields"]["nonce"].clone();
    lane.result("completed", json!({ "attempt": 1, "nonce": nonce }));
    assert_eq!(lane.harvest(&[])["harvested"][0]["status"], "completed");
}

#[cfg(unix)]
#[test]
fn nothing_outside_a_linked_worktree_is_read_or_committed() {
    use std::os::unix::fs::symlink;
    let lane = Lane::new();
    let outside = lane.team.lanes.path().join("outside.json");
    let result = json!({ "assignment_id": lane.id, "status": "completed", "summary": "x" });
    std::fs::write(&outside, result.to_string()).unwrap();
    symlink(&outside, lane.worktree.join("LANE-RESULT.json")).unwrap();
    let done = lane.held_up(&[]);
    assert_eq!(done["skipped"][0]["code"], "lane_result_unreadable", "{done}");

    let main = lane.team.project.path().canonicalize().unwrap();
    let other = lane.team.lanes.path().join("link");
    symlink(&lane.worktree, &other).unwrap();
    for (place, why) in [
        (main, "not a linked worktree"),
        (lane.worktree.join("src"), "not its root"),
        (other, "not a folder"),
        (lane.team.lanes.path().to_owned(), "not in a git repository"),
    ] {
        let place = place.to_str().unwrap();
        let args = ["coordinate", "assign", "Do it.", "--to", "bob", "--worktree", place];
        let (_, error) = lane.team.refused("alice", &args);
        assert!(text(&error, "message").contains(why), "{place}: {error}");
        // Whoever writes it into the record by another door gets no further.
        let update = json!({ "id": lane.id, "fields": { "worktree_path": place } });
        lane.team.act("alice", "memory.update", update);
        let done = lane.held_up(&["--integrate", &lane.id]);
        assert_eq!(done["skipped"][0]["code"], "worktree_unusable", "{place}: {done}");
        assert_eq!(lane.status(), "offered");
    }
}

/// Whoever works in a worktree can write its `.git` file.
#[test]
fn a_worktree_that_points_at_anothers_branch_is_not_committed_from() {
    let lane = Lane::new();
    let main = lane.team.project.path().canonicalize().unwrap();
    let head = || std::fs::read_to_string(main.join(".git/HEAD")).unwrap();
    let before = head();
    let link = std::fs::read_to_string(lane.worktree.join(".git")).unwrap();
    let own = std::path::PathBuf::from(link.trim().strip_prefix("gitdir: ").unwrap());
    let forged = lane.worktree.join(".brainclawgit");
    std::fs::create_dir(&forged).unwrap();
    for name in ["index", "gitdir", "HEAD"] {
        let _ = std::fs::copy(own.join(name), forged.join(name));
    }
    std::fs::write(forged.join("commondir"), main.join(".git").to_str().unwrap()).unwrap();
    std::fs::write(forged.join("HEAD"), &before).unwrap();
    std::fs::write(lane.worktree.join(".git"), format!("gitdir: {}\n", forged.display())).unwrap();
    let result = json!({ "assignment_id": lane.id, "status": "completed", "summary": "x" });
    std::fs::write(lane.worktree.join("LANE-RESULT.json"), result.to_string()).unwrap();
    let done = lane.held_up(&["--integrate", &lane.id]);
    assert_eq!(done["skipped"][0]["code"], "worktree_unusable", "{done}");
    assert_eq!(lane.status(), "offered");
    assert_eq!(head(), before);
}

#[test]
fn the_schema_of_results_is_printed_and_published() {
    let project = Sandbox::bare();
    let printed = project.json(&["memory", "harvest", "--schema"]);
    assert_eq!(printed["required"], json!(["assignment_id", "status", "summary"]));
    let made = serde_json::to_string_pretty(&printed).unwrap() + "\n";
    crate::docs::assert_current("schemas/lane-result.schema.json", &made);
    let printed = project.json(&["memory", "harvest", "--schema=heartbeat"]);
    assert_eq!(printed["$id"], "urn:althing:heartbeat:1.0");
    let made = serde_json::to_string_pretty(&printed).unwrap() + "\n";
    crate::docs::assert_current("schemas/heartbeat.schema.json", &made);
}

/// Whoever goes on with what was blocked is not stopped by the result it had then.
#[test]
fn a_result_that_was_taken_in_says_nothing_about_what_came_after() {
    let lane = Lane::new();
    lane.result("blocked", json!({}));
    assert_eq!(lane.harvest(&["--integrate"])["integrated"][0]["to"], "blocked");
    lane.team.moved("bob", &lane.id, "started");
    let claims = lane.team.claims();
    let again = lane.harvest(&["--integrate"]);
    assert_eq!(again["integrated"], json!([]), "{again}");
    assert_eq!(again["skipped"][0]["code"], "already_integrated", "{again}");
    assert_eq!((lane.status().as_str(), lane.team.claims()), ("started", claims));
    lane.result("completed", json!({}));
    assert_eq!(lane.harvest(&["--integrate"])["integrated"][0]["to"], "completed");
}

/// The offer fixes the scope of a lane: its agent cannot claim more and have it committed.
#[test]
fn an_agent_does_not_widen_its_own_lane() {
    let lane = Lane::new();
    lane.team.moved("bob", &lane.id, "accepted");
    let other = lane.team.project.json(&["claim", "docs", "--as", "bob"]);
    let update = |claim: &Value| json!({ "id": lane.id, "fields": { "claim": claim["epoch"] } });
    let asked = update(&other).to_string();
    let (ran, _) = lane.team.project.refused(&["do", "memory.update", &asked, "--as", "bob"]);
    assert_eq!(ran.code, Some(1), "it does not cover the lane");
    let more = lane.team.project.json(&["claim", "src/a", "docs", "--as", "bob"]);
    lane.team.act("bob", "memory.update", update(&more));
    lane.write("docs/b.md", "outside\n");
    lane.result("completed", json!({}));
    let shown = lane.team.in_part("bob", &["harvest", "--integrate", &lane.id]);
    assert_eq!(shown["result"]["skipped"][0]["code"], "outside_scope", "{shown}");
    assert_eq!(lane.status(), "accepted");
}

/// Results that cannot be read are no success.
#[test]
fn a_broken_result_is_told_and_leaves_a_part_undone() {
    let lane = Lane::new();
    lane.write("LANE-RESULT.json", "{ not json");
    let shown = lane.team.in_part("alice", &["harvest"]);
    assert_eq!(shown["result"]["skipped"][0]["code"], "lane_result_invalid", "{shown}");
    assert!(shown["result"].to_string().contains("LANE-RESULT.json, line 1"), "{shown}");
    lane.write("LANE-RESULT.json", "[1]");
    let shown = lane.team.in_part("alice", &["harvest"])["result"].to_string();
    assert!(shown.contains("LANE-RESULT.json, line 1") && !shown.contains("struct"), "{shown}");
}

/// Commits made by the worker are checked too. Nothing is committed on a detached head.
#[test]
fn commits_of_a_worker_stay_in_its_scope() {
    let lane = Lane::new();
    let git = |args: &[&str]| lane.team.git_in(&lane.worktree, args);
    lane.write("src/b/y.rs", "fn y() { mine() }\n");
    git(&["commit", "--quiet", "-a", "-m", "Outside"]);
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    lane.result("completed", json!({}));
    let shown = lane.held_up(&["--integrate"]);
    assert_eq!(shown["skipped"][0]["code"], "outside_scope", "{shown}");
    assert!(shown.to_string().contains("src/b/y.rs"), "{shown}");
    assert_eq!(lane.status(), "offered");
    git(&["reset", "--quiet", "--hard", "HEAD^"]);
    git(&["checkout", "--quiet", "--detach"]);
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    let shown = lane.held_up(&["--integrate"]);
    assert_eq!(shown["skipped"][0]["code"], "worktree_unsettled", "{shown}");
    git(&["checkout", "--quiet", "lane-a"]);
    git(&["commit", "--quiet", "-a", "-m", "Inside"]);
    assert_eq!(lane.harvest(&["--integrate"])["integrated"][0]["to"], "completed");
}

/// A secret in a result is kept out of the trail, the commit and the answer; the answer warns about
/// it.
#[test]
fn secrets_of_a_result_are_withheld() {
    let lane = Lane::new();
    let key = "AKIAIOSFODNN7EXAMPLE";
    lane.write("src/a/x.rs", "fn x() { done() }\n");
    let files = json!([format!("src/a/{key}.rs"), "src/a/x.rs"]);
    let summary = format!("Done; the bucket's key is {key}, the password is Tr0ub4dor&3.");
    lane.result("completed", json!({ "summary": summary, "files_changed": files, key: "x" }));
    for rest in [&["harvest"][..], &["harvest", "--integrate"]] {
        let shown = lane.team.memory("alice", rest);
        assert!(!shown.to_string().contains(key), "{shown}");
        assert!(!shown.to_string().contains("Tr0ub"), "{shown}");
        let own = &shown["result"]["harvested"][0];
        if rest.len() == 1 {
            assert!(text(own, "summary").contains("withheld"), "{shown}");
            assert_eq!(shown["warning_details"][0]["code"], "secret_withheld", "{shown}");
            assert!(shown["warnings"].to_string().contains("[AWS access key, 20 characters]"));
            assert_eq!(own["files_changed"][1], "src/a/x.rs");
        }
    }
    assert_eq!(lane.status(), "completed");
    let message = lane.team.git_in(&lane.worktree, &["log", "-1", "--format=%B"]);
    assert!(message.contains("withheld") && !message.contains("AKIA"), "{message}");
    let trail = lane.team.project.entries();
    assert!(trail.iter().all(|entry| !entry.to_string().contains("AKIA")));
    assert!(trail.iter().all(|entry| !entry.to_string().contains("Tr0ub")));
    let other = json!({ "assignment_id": key, "status": "completed", "summary": "x" });
    let lane = Lane::new();
    lane.write("LANE-RESULT.json", &other.to_string());
    let shown = lane.harvest(&[&lane.id]);
    assert_eq!(shown["skipped"][0]["code"], "lane_result_stale", "{shown}");
    assert!(!shown.to_string().contains("AKIA"), "{shown}");
    lane.result(key, json!({}));
    let shown = lane.held_up(&[]);
    assert_eq!(shown["skipped"][0]["code"], "lane_result_invalid", "{shown}");
    assert!(!shown.to_string().contains("AKIA"), "{shown}");
}
