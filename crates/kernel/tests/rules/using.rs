//! Files about to be changed: claimed on the spot, allowed or refused.

use crate::run::Run;
use crate::support::{World, agent, user};
use althing_kernel::query::LeaseView;
use althing_kernel::workspace::Status;
use althing_kernel::{Actor, Event, Kind, Refusal, RefusalKind, Reply, Rule};
use serde_json::{Value, json};

fn used(world: &mut World, who: &str, args: &Value) -> Result<Option<LeaseView>, Refusal> {
    match world.run(&agent(who), "lease.use", &args.to_string())? {
        Reply::Used(used) => Ok(used.claimed),
        other => panic!("{other:?}"),
    }
}

fn paths(paths: &[&str]) -> Value {
    json!({ "paths": paths })
}

#[test]
fn files_that_nobody_holds_are_claimed_together() {
    let mut world = World::new();
    let args = json!({ "paths": ["src/a.rs", "b.txt"], "purpose": "edited", "ttl_s": 60 });
    let lease = used(&mut world, "alice", &args).unwrap().unwrap();
    assert_eq!(lease.holder, agent("alice").principal);
    assert_eq!(
        lease.surfaces.iter().map(althing_kernel::Surface::as_str).collect::<Vec<_>>(),
        ["src/a.rs", "b.txt"]
    );
    assert_eq!((lease.purpose.as_deref(), lease.ttl_s), (Some("edited"), 60));
    // Half of it is hers: only the rest is claimed.
    let more = used(&mut world, "alice", &paths(&["b.txt", "c.txt"])).unwrap().unwrap();
    assert_eq!(more.surfaces.len(), 1);
    assert_eq!(more.surfaces[0].as_str(), "c.txt");
    world.is_sound();
}

#[test]
fn a_file_somebody_else_holds_refuses_all_of_them() {
    let mut world = World::new();
    world.claim(&agent("bob"), &["src"], 60).unwrap();
    let refusal = used(&mut world, "alice", &paths(&["free.txt", "src/deep/a.rs"])).unwrap_err();
    assert_eq!((refusal.kind, refusal.rule), (RefusalKind::Collision, Rule::NoOverlap));
    assert_eq!(world.leases().len(), 1, "nothing of it was claimed");
    let Event::CommandRefused(refused) = world.last_event() else { panic!() };
    assert_eq!(refused.rule, Rule::NoOverlap);
    assert_eq!(world.last().draft.actor, Actor::from(agent("alice").principal));
    world.is_sound();
}

#[test]
fn what_one_holds_is_used_without_an_entry_until_a_quarter_of_its_time_is_over() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["src/*.rs"], 100).unwrap();
    let before = world.entries.len();
    assert_eq!(used(&mut world, "alice", &paths(&["src/a.rs"])).unwrap(), None);
    assert_eq!(world.entries.len(), before, "nothing is recorded");
    world.pass(30);
    assert_eq!(used(&mut world, "alice", &paths(&["src/a.rs"])).unwrap(), None);
    assert_eq!(world.kinds()[before..], [Kind::LeaseRenewed]);
    world.pass(90);
    assert!(!world.check(None, "src/a.rs").free, "it was renewed by use");
    world.is_sound();
}

#[test]
fn unheld_files_are_left_alone_or_refused_if_asked_for() {
    let mut world = World::new();
    let allow = json!({ "paths": ["a"], "unheld": "allow" });
    assert_eq!(used(&mut world, "alice", &allow).unwrap(), None);
    assert!(world.leases().is_empty());
    let refuse = json!({ "paths": ["a"], "unheld": "refuse" });
    assert_eq!(used(&mut world, "alice", &refuse).unwrap_err().rule, Rule::ClaimFirst);
    world.claim(&agent("alice"), &["a"], 60).unwrap();
    assert_eq!(used(&mut world, "alice", &refuse).unwrap(), None);
    // Whatever becomes of free files, those of others are refused.
    for args in [&allow, &refuse] {
        assert_eq!(used(&mut world, "bob", args).unwrap_err().rule, Rule::NoOverlap);
    }
    world.is_sound();
}

#[test]
fn holders_of_different_parts_of_a_file_may_both_change_it() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["lib.rs#Config::load"], 60).unwrap();
    assert!(used(&mut world, "bob", &paths(&["lib.rs"])).is_err(), "he holds no part of it");
    world.claim(&agent("bob"), &["lib.rs#main"], 60).unwrap();
    for who in ["alice", "bob"] {
        assert_eq!(used(&mut world, who, &paths(&["lib.rs"])).unwrap(), None, "{who}");
    }
    assert!(used(&mut world, "carol", &paths(&["lib.rs"])).is_err());
    world.is_sound();
}

#[test]
fn git_keeps_its_folder_to_itself() {
    let mut world = World::new();
    for path in
        [".git/config", ".git", "sub/.git/HEAD", ".GIT/hooks/pre-commit", ".althing/trail.db"]
    {
        let refusal = used(&mut world, "alice", &paths(&["a", path])).unwrap_err();
        assert_eq!(refusal.rule, Rule::GitOwn, "{path}");
    }
    used(&mut world, "alice", &paths(&[".gitignore", ".github/x.yml"])).unwrap().unwrap();
    world.is_sound();
}

#[test]
fn only_plain_paths_are_used() {
    for list in [json!([]), json!(["src/*.rs"]), json!(["a#b"]), json!(["{a,b}"])] {
        let args = json!({ "paths": list }).to_string();
        assert!(althing_kernel::Command::read("lease.use", &args).unwrap().is_err(), "{args}");
    }
}

#[test]
fn people_use_files_too() {
    let mut world = World::new();
    let reply = world.run(&user("ada"), "lease.use", r#"{"paths":["a"]}"#).unwrap();
    let Reply::Used(reply) = reply else { panic!("{reply:?}") };
    assert_eq!(reply.claimed.unwrap().holder, user("ada").principal);
    assert!(used(&mut world, "alice", &paths(&["a"])).is_err());
    world.is_sound();
}

#[test]
fn a_workspace_is_bounded_by_its_authority() {
    let mut run = Run::new();
    let at = run
        .in_state(Status::Active, json!({ "agent": "w1", "authority": ["src/lexer/**", "*.md"] }));
    let w1 = agent("w1");
    let before = run.world.entries.len();
    for path in ["src/lexer/mod.rs", "src/lexer/deep/x.rs", "README.md"] {
        run.ok(&w1, "lease.use", json!({ "paths": [path], "workspace": at }));
    }
    assert_eq!(run.world.entries.len(), before, "its lease covers them");
    let refusal = run.refused(
        &w1,
        "lease.use",
        json!({ "paths": ["src/parser.rs"], "workspace": at }),
        "W-VIS-04",
    );
    assert!(refusal.message.contains("src/parser.rs"), "{refusal:?}");
    let outside = json!({ "paths": ["src/parser.rs"], "workspace": at, "outside": true });
    run.ok(&w1, "lease.use", outside);
    // A workspace of somebody else is none of one's own.
    let other = json!({ "paths": ["src/lexer/mod.rs"], "workspace": at });
    run.refused(&agent("w2"), "lease.use", other, "W-WS-02");
    run.world.is_sound();
}

#[test]
fn what_a_workspace_claims_as_it_goes_ends_with_it() {
    let mut run = Run::new();
    // With all of its parent's authority it holds nothing of its own.
    let (one, two) = (
        run.in_state(Status::Active, json!({ "agent": "w1" })),
        run.in_state(Status::Active, json!({ "agent": "w2" })),
    );
    let take = |at: &althing_kernel::WorkspaceId| json!({ "paths": ["src/a.rs"], "workspace": at });
    run.ok(&agent("w1"), "lease.use", take(&one));
    run.refused(&agent("w2"), "lease.use", take(&two), "A-LEASE-01");
    let lease = run.world.leases().into_iter().next().unwrap();
    assert_eq!(lease.workspace.as_ref(), Some(&one));
    let assignment = run.world.ask("workspace.get", &json!({ "workspace": one }).to_string());
    assert_eq!(assignment["status"], "active");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": one }));
    assert!(run.world.leases().is_empty());
    run.refused(&agent("w1"), "lease.use", take(&one), "W-WS-25");
    run.ok(&agent("w2"), "lease.use", take(&two));
    run.world.is_sound();
}

#[test]
fn the_lease_of_a_workspace_above_is_not_in_the_way() {
    let mut run = Run::new();
    let above = run
        .in_state(Status::Active, json!({ "agent": "w1", "authority": ["src"], "delegate": true }));
    let below =
        run.create(&agent("w1"), json!({ "agent": "w2", "parent": above, "authority": ["src"] }));
    run.signal("w2", &below, "ready");
    let held = run.world.leases().len();
    run.ok(&agent("w2"), "lease.use", json!({ "paths": ["src/a.rs"], "workspace": below }));
    assert_eq!(run.world.leases().len(), held, "no lease overlaps the one above");
    run.world.is_sound();
}
