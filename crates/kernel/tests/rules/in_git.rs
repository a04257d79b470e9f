//! Workspaces whose files are in git: merges that git prepared, processes, and what is taken back.

use crate::run::{Run, blob};
use crate::support::{agent, user};
use althing_kernel::WorkspaceId;
use althing_kernel::workspace::Status;
use serde_json::{Value, json};

fn commit(number: u8) -> String {
    format!("{number:02x}").repeat(20)
}

fn branched(run: &mut Run, who: &str, id: &WorkspaceId, branch: &str, base: u8) {
    let args = json!({ "workspace": id, "branch": branch, "base": commit(base) });
    run.ok(&agent(who), "workspace.branch", args);
}

/// A run on the branch `merged`, at commit 1.
fn run() -> Run {
    let mut run = Run::new();
    let root = run.root.clone();
    branched(&mut run, "lead", &root, "merged", 1);
    run
}

/// A workspace with finished work on a branch of its own.
fn finished(run: &mut Run, who: &str, authority: &str) -> WorkspaceId {
    let args = json!({ "agent": who, "authority": [authority] });
    let id = run.in_state(Status::Active, args);
    branched(run, who, &id, &format!("work/{who}"), 1);
    let made = json!({ "workspace": id, "type": "artifact", "status": "final", "intent": "i",
        "commit": { "commit": commit(9), "tree": commit(8) },
        "files_changed": [{ "path": format!("{authority}/a"), "content": blob(7) }] });
    run.ok(&agent(who), "checkpoint.create", made);
    run.signal(who, &id, "complete");
    id
}

fn accept(id: &WorkspaceId, onto: u8, to: u8) -> Value {
    let merge = json!({ "branch": "merged", "onto": commit(onto), "commit": commit(to) });
    json!({ "workspace": id, "decision": "accept", "merge": merge })
}

fn tip(run: &Run) -> String {
    run.view(&run.root).branch.unwrap().tip.to_string()
}

/// Entries of every kind that is about git and processes, with every field set.
pub(crate) fn everything() -> Vec<althing_kernel::Stamped> {
    let mut run = run();
    let (lead, root) = (Run::lead(), run.root.clone());
    let id = finished(&mut run, "w1", "src");
    run.ok(&lead, "integration.decide", accept(&id, 1, 2));
    let merge = |onto: u8, to: u8| {
        let (onto, to) = (commit(onto), commit(to));
        json!({ "branch": "merged", "onto": onto, "commit": to, "epoch": 1 })
    };
    let undo = json!({ "workspace": id, "reason": "r", "merge": merge(2, 3) });
    run.ok(&lead, "integration.undo", undo);
    run.ok(&lead, "run.land", json!({ "workspace": root, "merge": merge(1, 3) }));
    run.ok(&lead, "run.hold", json!({ "hold": "drain", "reason": "r" }));
    let id = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let began = json!({ "workspace": id, "program": "p", "session": "s" });
    run.ok(&lead, "workspace.process", began);
    let ended = json!({ "workspace": id, "program": "p", "session": "s", "ended": "rate_limited",
        "exit_code": -1, "reason": "r", "until": 5, "wall_time": 6 });
    run.ok(&lead, "workspace.process", ended);
    run.world.entries
}

#[test]
fn a_merge_builds_on_the_newest_commit_on_record() {
    let mut run = run();
    let lead = Run::lead();
    let (one, two) = (finished(&mut run, "w1", "src"), finished(&mut run, "w2", "docs"));
    let plain = json!({ "workspace": one, "decision": "accept" });
    run.refused(&lead, "integration.decide", plain, "A-GIT-02");
    run.refused(&lead, "integration.decide", accept(&one, 5, 2), "A-GIT-03");
    run.ok(&lead, "integration.decide", accept(&one, 1, 2));
    assert_eq!((run.status(&one), tip(&run)), (Status::Closed, commit(2)));
    run.refused(&lead, "integration.decide", accept(&two, 1, 3), "A-GIT-03");
    run.ok(&lead, "integration.decide", accept(&two, 2, 3));
    assert_eq!(tip(&run), commit(3));
    run.sound();
}

#[test]
fn a_merge_names_the_lease_it_was_made_under() {
    let mut run = run();
    let lead = Run::lead();
    let id = finished(&mut run, "w1", "src");
    let epoch = run.world.leases()[0].epoch;
    let mut stale = accept(&id, 1, 2);
    stale["merge"]["epoch"] = json!(epoch + 1);
    run.refused(&lead, "integration.decide", stale.clone(), "A-LEASE-04");
    stale["merge"]["epoch"] = json!(epoch);
    run.ok(&lead, "integration.decide", stale);
    run.sound();
}

#[test]
fn a_lease_of_somebody_else_stops_the_merge() {
    let mut run = run();
    let args = json!({ "agent": "w1" });
    let id = run.in_state(Status::Active, args);
    branched(&mut run, "w1", &id, "work/w1", 1);
    let made = json!({ "workspace": id, "type": "artifact", "status": "final", "intent": "i",
        "files_changed": [{ "path": "src/a", "content": blob(7) }] });
    run.ok(&agent("w1"), "checkpoint.create", made);
    run.signal("w1", &id, "complete");
    run.ok(&agent("w2"), "lease.open", json!({ "surfaces": ["src"] }));
    run.refused(&Run::lead(), "integration.decide", accept(&id, 1, 2), "A-LEASE-01");
    assert_eq!(tip(&run), commit(1));
    run.sound();
}

#[test]
fn a_conflict_is_resolved_with_the_merge_that_git_made_of_both() {
    let mut run = run();
    let lead = Run::lead();
    let id = finished(&mut run, "w1", "src");
    let conflict = json!([{ "type": "constraint_breach", "description": "checks fail" }]);
    let found = json!({ "workspace": id, "decision": "accept", "conflicts": conflict });
    run.ok(&lead, "integration.decide", found);
    let open = run.view(&id).conflicts[0].id.clone();
    let mut resolve = json!({ "workspace": id, "conflict": open, "resolution": "done",
        "strategy": "coordinator_resolve" });
    run.refused(&lead, "conflict.resolve", resolve.clone(), "A-GIT-02");
    resolve["merge"] = accept(&id, 1, 2)["merge"].clone();
    run.ok(&lead, "conflict.resolve", resolve);
    assert_eq!((run.status(&id), tip(&run)), (Status::Closed, commit(2)));
    run.sound();
}

#[test]
fn a_workspace_is_on_one_branch_and_only_its_own_put_it_there() {
    let mut run = run();
    let id = run.active();
    let args = json!({ "workspace": id, "branch": "x", "base": commit(1) });
    run.refused(&agent("w2"), "workspace.branch", args.clone(), "W-ROLE-04");
    run.ok(&agent("w1"), "workspace.branch", args.clone());
    let other = json!({ "workspace": id, "branch": "y", "base": commit(1) });
    run.refused(&agent("w1"), "workspace.branch", other, "A-GIT-01");
    // Somebody else moved the branch of the run: the next merge builds on that.
    let (lead, root) = (Run::lead(), run.root.clone());
    let moved = json!({ "workspace": root, "branch": "merged", "base": commit(4) });
    run.ok(&lead, "workspace.branch", moved);
    let done = finished(&mut run, "w2", "docs");
    run.refused(&lead, "integration.decide", accept(&done, 1, 2), "A-GIT-03");
    run.ok(&lead, "integration.decide", accept(&done, 4, 5));
    let branch = run.view(&root).branch.unwrap();
    assert_eq!((branch.base.to_string(), branch.tip.to_string()), (commit(1), commit(5)));
    run.sound();
}

#[test]
fn merged_work_is_taken_back_on_record_also_after_the_run() {
    let mut run = run();
    let lead = Run::lead();
    let id = finished(&mut run, "w1", "src");
    let back = |onto: u8, to: u8| {
        json!({ "workspace": id, "reason": "broken",
            "merge": { "branch": "merged", "onto": commit(onto), "commit": commit(to) } })
    };
    run.refused(&lead, "integration.undo", back(1, 3), "A-GIT-02");
    run.ok(&lead, "integration.decide", accept(&id, 1, 2));
    run.refused(&agent("w1"), "integration.undo", back(2, 3), "W-ROLE-04");
    run.refused(&lead, "integration.undo", back(1, 3), "A-GIT-03");
    run.ok(&lead, "integration.undo", back(2, 3));
    assert_eq!(tip(&run), commit(3));
    let root = run.root.clone();
    let land = json!({ "workspace": root,
        "merge": { "branch": "main", "onto": commit(1), "commit": commit(3) } });
    run.ok(&lead, "run.land", land.clone());
    run.ok(&lead, "run.end", json!({}));
    run.ok(&lead, "run.land", land);
    run.ok(&user("ada"), "integration.undo", back(3, 4));
    run.sound();
}

#[test]
fn processes_are_on_record_one_at_a_time() {
    let mut run = run();
    let id = run.active();
    let began = json!({ "workspace": id, "program": "claude" });
    let ended = |how: &str| {
        json!({ "workspace": id, "program": "claude", "ended": how, "session": "s1",
            "exit_code": 0, "wall_time": 5 })
    };
    run.refused(&agent("w2"), "workspace.process", began.clone(), "A-PROC-01");
    run.refused(&agent("w1"), "workspace.process", ended("finished"), "A-PROC-01");
    run.ok(&agent("w1"), "workspace.process", began.clone());
    run.refused(&agent("w1"), "workspace.process", began.clone(), "A-PROC-01");
    run.ok(&agent("w1"), "workspace.process", ended("rate_limited"));
    run.ok(&Run::lead(), "workspace.process", began.clone());
    let process = run.view(&id).process.unwrap();
    assert_eq!((process.started, process.ended), (2, None));
    assert_eq!(process.session.unwrap().as_str(), "s1", "it goes on with the conversation");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
    run.ok(&Run::lead(), "workspace.process", ended("stopped"));
    run.refused(&Run::lead(), "workspace.process", began, "W-WS-25");
    run.sound();
}

#[test]
fn what_a_suspended_workspace_uses_does_not_count() {
    let mut run = run();
    let id = run.active();
    let report = json!({ "workspace": id, "tokens": 10 });
    run.ok(&agent("w1"), "meter.report", report.clone());
    run.ok(&Run::lead(), "workspace.suspend", json!({ "workspace": id }));
    run.refused(&agent("w1"), "meter.report", report, "W-WS-21");
    run.world.pass(3600);
    run.ok(&Run::lead(), "workspace.resume", json!({ "workspace": id }));
    let meter = run.world.ask("meter.get", &json!({ "workspace": id }).to_string());
    assert_eq!(meter["total"]["tokens"], 10, "{meter}");
    let worked = meter["total"]["active_time"].as_u64().unwrap();
    assert!(worked < 3_600_000_000, "{meter}");
    run.sound();
}
