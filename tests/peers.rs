//! Connected agents as workspaces, and hosts that go away, as real processes see them.

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// More than it takes to notice a death and wait for a grace time of a second.
const SOON: Duration = Duration::from_mins(2);

/// A project in which what a host held stays for so long.
fn project(grace: &str) -> Sandbox {
    let project = Sandbox::new();
    project.write("althing.toml", &format!("[sessions]\ngrace = \"{grace}\"\n"));
    project
}

/// A host that acts as an agent.
fn host(project: &Sandbox, agent: &str) -> Host {
    let mut host = Host::silent(project, &["--as", agent]);
    host.introduce("editor", "2025-11-25");
    host
}

fn claim(host: &mut Host, surface: &str) {
    host.done("make_claim", json!({ "surfaces": [surface], "task": "t" }));
}

fn peers(project: &Sandbox) -> Vec<Value> {
    let listed = project.json(&["workspace", "list", "--role", "peer"]);
    listed.as_array().unwrap().clone()
}

#[track_caller]
fn until(project: &Sandbox, kind: &str) {
    let begun = Instant::now();
    while !project.kinds().iter().any(|own| own == kind) {
        assert!(begun.elapsed() < SOON, "no {kind}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_a_killed_host_held_is_free_after_the_grace_time() {
    let project = project("1s");
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/a");
    cursor.kill();
    project.ok(&["claim", "src/a", "--as", "bob", "--wait", "2m"]);
    let kinds = project.kinds();
    for kind in ["session.disconnected", "lease.released", "session.closed"] {
        assert!(kinds.iter().any(|own| own == kind), "{kind}: {kinds:?}");
    }
    let ended = project.entries().into_iter().find(|own| own["kind"] == "lease.released").unwrap();
    assert_eq!(ended["body"]["cause"], "host_gone");
    assert!(peers(&project).iter().all(|peer| peer["agent"] == "bob"));
    project.ok(&["trail", "verify"]);
}

#[test]
fn it_is_not_free_before_and_says_that_the_host_is_gone() {
    let project = project("1h");
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/a");
    let ran = project.run(&["claim", "src/a", "--as", "bob"]);
    assert_eq!(ran.code, Some(3));
    assert!(!ran.err.contains("host is gone"), "{ran:?}");
    cursor.kill();
    // Reading records nothing, and shows it all the same.
    let entries = project.kinds().len();
    let ran = project.run(&["check", "src/a", "--as", "bob"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("its host is gone; free in "), "{ran:?}");
    assert!(project.ok(&["claims"]).out.contains("(host gone)"));
    assert_eq!(peers(&project)[0]["peer"]["state"], "gone");
    assert_eq!(project.kinds().len(), entries);
    let ran = project.run(&["claim", "src/a", "--as", "bob"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("its host is gone"), "{ran:?}");
    assert!(project.kinds().iter().any(|kind| kind == "session.disconnected"));
    assert!(project.ok(&["workspace", "tree"]).out.contains("gone"));
    project.ok(&["trail", "verify"]);
}

#[test]
fn an_agent_that_comes_back_in_time_keeps_what_it_held() {
    let project = project("1h");
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/a");
    let before = peers(&project);
    cursor.kill();
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/b");
    let after = peers(&project);
    assert_eq!(after[0]["workspace"], before[0]["workspace"], "the same session goes on");
    let about = &after[0]["peer"];
    assert_eq!((&about["state"], &about["leases"]), (&json!("active"), &json!(2)));
    let ran = project.run(&["check", "src/a", "--as", "bob"]);
    assert!(ran.code == Some(3) && !ran.err.contains("gone"), "{ran:?}");
    // A host that closes the stream comes back the same way: editors restart their servers.
    cursor.end();
    assert_eq!(peers(&project)[0]["peer"]["state"], "gone");
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/c");
    assert_eq!(peers(&project)[0]["workspace"], before[0]["workspace"]);
    assert_eq!(peers(&project)[0]["peer"]["leases"], 3);
    cursor.end();
    project.ok(&["trail", "verify"]);
}

#[test]
fn what_work_is_bound_to_stays() {
    let (project, _) = Sandbox::with_run();
    project.write("althing.toml", "[sessions]\ngrace = \"1s\"\n");
    project.worker("bob");
    let mut bob = host(&project, "bob");
    claim(&mut bob, "src/a");
    bob.kill();
    let begun = Instant::now();
    while !project.kinds().iter().any(|kind| kind == "session.kept") {
        assert!(begun.elapsed() < SOON);
        project.ok(&["claim", "other", "--as", "carol"]);
        project.ok(&["release", "--all", "--as", "carol"]);
    }
    assert_eq!(project.run(&["claim", "src/a", "--as", "carol"]).code, Some(3));
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_running_server_notices_the_end_of_another_by_itself() {
    let project = project("1h");
    let (mut left, mut right) = (host(&project, "left"), host(&project, "right"));
    claim(&mut left, "src/a");
    claim(&mut right, "src/b");
    left.kill();
    until(&project, "session.disconnected");
    let states: Vec<Value> =
        peers(&project).iter().map(|peer| peer["peer"]["state"].clone()).collect();
    assert_eq!(states, ["gone", "active"]);
    right.end();
}

#[test]
fn two_windows_of_one_agent_are_one_peer_until_the_last_is_gone() {
    let project = project("1s");
    let (mut left, mut right) = (host(&project, "cursor"), host(&project, "cursor"));
    claim(&mut left, "src/a");
    claim(&mut right, "src/b");
    assert_eq!(peers(&project).len(), 1);
    assert_eq!(peers(&project)[0]["peer"]["connections"], 2);
    left.kill();
    until(&project, "session.disconnected");
    assert_eq!(project.run(&["claim", "src/a", "--as", "bob"]).code, Some(3));
    assert_eq!(peers(&project)[0]["peer"]["state"], "active");
    right.end();
    project.ok(&["claim", "src/a", "--as", "bob", "--wait", "2m"]);
}

#[test]
fn peers_are_listed_and_a_person_ends_one() {
    let project = project("1h");
    project.login("ada");
    let none = project.ok(&["workspace", "list"]).out;
    assert!(none.contains("no workspaces"), "{none}");
    project.claim("alice", "docs");
    let mut cursor = host(&project, "cursor");
    claim(&mut cursor, "src/a");
    let listed = project.json(&["workspace", "list"]);
    let (root, all) = (&listed[0], listed.as_array().unwrap());
    assert_eq!((all.len(), &root["place"]), (3, &json!("standing_root")));
    assert!(all[1..].iter().all(|peer| peer["parent"] == root["workspace"]));
    let tree = project.ok(&["workspace", "tree"]).out;
    assert!(tree.contains("peer alice") && tree.contains("peer cursor"), "{tree}");
    let shown = project.ok(&["workspace", "show", "agent:cursor"]).out;
    for word in ["peer", "cursor", "editor", "1 claim"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    // Short processes of the command line have no connection that could end.
    assert_eq!(all[1]["peer"]["standing"], true);
    assert_eq!(all[1]["peer"]["state"], "active");
    let ran = project.as_user("ada", &["workspace", "suspend", "agent:cursor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, rule) = project.refused(&["workspace", "abort", "agent:cursor", "--as", "alice"]);
    assert_eq!(rule, "A-SESS-04");
    let ran = project.as_user("ada", &["workspace", "abort", "agent:cursor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(peers(&project).len(), 1);
    project.ok(&["claim", "src/a", "--as", "bob"]);
    // The agent is not shut out: its next call opens another session.
    claim(&mut cursor, "src/z");
    assert_eq!(peers(&project).len(), 3);
    cursor.end();
    project.ok(&["trail", "verify"]);
}
