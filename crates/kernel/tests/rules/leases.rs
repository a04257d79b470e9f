//! The guarantees of leases.

use crate::support::{World, agent, system, user};
use althing_kernel::refusal::Details;
use althing_kernel::{Actor, Event, Kind, RefusalKind, Rule};

#[test]
fn a_second_holder_is_refused_what_overlaps_and_told_why() {
    let mut world = World::new();
    let held = world.claim(&agent("alice"), &["src/parser", "Cargo.toml"], 60).unwrap();
    let refusal = world.claim(&agent("bob"), &["docs", "src/**/*.rs"], 60).unwrap_err();

    assert_eq!((refusal.kind, refusal.rule), (RefusalKind::Collision, Rule::NoOverlap));
    let Details::Collisions(collisions) = &refusal.details else { panic!("{refusal:?}") };
    assert_eq!(collisions.len(), 1);
    assert_eq!(collisions[0].lease, held.lease);
    assert_eq!(collisions[0].holder, agent("alice").principal);
    assert_eq!(collisions[0].surface.as_str(), "src/parser");
    assert_eq!(collisions[0].wanted.as_str(), "src/**/*.rs");
    assert_eq!(collisions[0].expires_at, held.expires_at);

    assert_eq!(world.leases().len(), 1, "nothing of the refused set is held");
    let Event::CommandRefused(refused) = world.last_event() else { panic!() };
    assert_eq!(refused.rule, Rule::NoOverlap, "the refusal is an entry");
    assert_eq!(world.last().draft.actor, Actor::from(agent("bob").principal));
}

#[test]
fn one_holder_may_overlap_itself() {
    let mut world = World::new();
    let first = world.claim(&agent("alice"), &["src"], 60).unwrap();
    let second = world.claim(&agent("alice"), &["src/a.rs"], 60).unwrap();
    assert_ne!(first.lease, second.lease);
    assert!(world.claim(&agent("bob"), &["src/a.rs"], 60).is_err());
    let release = format!(r#"{{"lease":"{}"}}"#, first.lease);
    world.run(&agent("alice"), "lease.release", &release).unwrap();
    assert!(world.claim(&agent("bob"), &["src/a.rs"], 60).is_err(), "the second still holds");
    assert!(world.claim(&agent("bob"), &["src/b.rs"], 60).is_ok());
}

#[test]
fn epochs_only_grow_and_fence_off_the_past() {
    let mut world = World::new();
    let first = world.claim(&agent("alice"), &["a"], 60).unwrap();
    let second = world.claim(&agent("bob"), &["b"], 60).unwrap();
    assert!(second.epoch > first.epoch);

    let stale = format!(r#"{{"lease":"{}","epoch":{}}}"#, second.lease, first.epoch);
    for command in ["lease.renew", "lease.release"] {
        let refusal = world.run(&agent("bob"), command, &stale).unwrap_err();
        assert_eq!(refusal.rule, Rule::Fenced, "{command}");
    }
    let right = format!(r#"{{"lease":"{}","epoch":{}}}"#, second.lease, second.epoch);
    world.run(&agent("bob"), "lease.renew", &right).unwrap();
    world.run(&agent("bob"), "lease.release", &right).unwrap();
    assert!(world.claim(&agent("carol"), &["b"], 60).unwrap().epoch > second.epoch);
}

/// Shows W-CLK-06.
#[test]
fn a_lease_is_gone_the_moment_it_runs_out() {
    let mut world = World::new();
    let lease = world.claim(&agent("alice"), &["a"], 60).unwrap();
    world.pass(59);
    assert!(!world.check(None, "a").free);
    assert!(world.claim(&agent("bob"), &["a"], 60).is_err());
    world.pass(1);
    assert!(world.check(None, "a").free, "reads leave it out before anything is recorded");
    assert!(world.leases().is_empty());

    world.claim(&agent("bob"), &["a"], 60).unwrap();
    let expired = world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::LeaseExpired(expired) => Some((entry, expired)),
        _ => None,
    });
    let (entry, expired) = expired.expect("the turn recorded the expiry first");
    assert_eq!(expired.lease, lease.lease);
    assert_eq!(entry.draft.actor, Actor::Protocol);
    assert!(entry.draft.causation.is_some());

    let renew = format!(r#"{{"lease":"{}"}}"#, lease.lease);
    let refusal = world.run(&agent("alice"), "lease.renew", &renew).unwrap_err();
    assert_eq!((refusal.rule, refusal.kind), (Rule::LeaseLive, RefusalKind::NotFound));
}

#[test]
fn renewing_moves_the_end_and_may_change_the_time_to_live() {
    let mut world = World::new();
    let lease = world.claim(&agent("alice"), &["a"], 60).unwrap();
    world.pass(50);
    let renew = format!(r#"{{"lease":"{}"}}"#, lease.lease);
    world.run(&agent("alice"), "lease.renew", &renew).unwrap();
    world.pass(50);
    assert!(!world.check(None, "a").free);
    let longer = format!(r#"{{"lease":"{}","ttl_s":600}}"#, lease.lease);
    world.run(&agent("alice"), "lease.renew", &longer).unwrap();
    world.pass(500);
    assert!(!world.check(None, "a").free);
    assert_eq!(world.leases()[0].epoch, lease.epoch, "a renewal keeps the epoch");
    world.pass(100);
    assert!(world.check(None, "a").free);
}

#[test]
fn only_the_holder_renews_and_releases() {
    let mut world = World::new();
    let lease = world.claim(&agent("alice"), &["a"], 60).unwrap();
    let args = format!(r#"{{"lease":"{}"}}"#, lease.lease);
    for command in ["lease.renew", "lease.release"] {
        for other in [agent("bob"), user("ada"), system()] {
            let refusal = world.run(&other, command, &args).unwrap_err();
            assert_eq!(refusal.rule, Rule::HolderOnly, "{command} by {}", other.principal);
        }
    }
    assert_eq!(world.leases().len(), 1);
}

#[test]
fn forcing_needs_a_person_or_the_coordinator_and_a_reason() {
    let mut world = World::new();
    let lease = world.claim(&agent("alice"), &["a"], 60).unwrap();
    let force = |reason: &str| format!(r#"{{"lease":"{}","reason":"{reason}"}}"#, lease.lease);

    let refusal = world.run(&agent("bob"), "lease.force", &force("mine now")).unwrap_err();
    assert_eq!(refusal.rule, Rule::ForceNeedsRight);
    let refusal = world.run(&agent("alice"), "lease.force", &force("even my own")).unwrap_err();
    assert_eq!(refusal.rule, Rule::ForceNeedsRight);
    let refusal = world.run(&user("ada"), "lease.force", &force("  ")).unwrap_err();
    assert_eq!(refusal.rule, Rule::ForceNeedsRight);

    world.run(&user("ada"), "lease.force", &force("alice is gone")).unwrap();
    let Event::LeaseForced(forced) = world.last_event() else { panic!() };
    assert_eq!(forced.reason.as_str(), "alice is gone");
    assert_eq!(world.last().draft.actor, Actor::from(user("ada").principal));
    assert!(world.claim(&agent("bob"), &["a"], 60).is_ok());

    let other = world.claim(&agent("alice"), &["b"], 60).unwrap();
    let args = format!(r#"{{"lease":"{}","reason":"policy"}}"#, other.lease);
    world.run(&system(), "lease.force", &args).unwrap();
    let again = world.run(&system(), "lease.force", &args).unwrap_err();
    assert_eq!(again.rule, Rule::LeaseLive);
}

#[test]
fn people_hold_leases_too() {
    let mut world = World::new();
    world.claim(&user("ada"), &["release-notes.md"], 60).unwrap();
    assert!(world.last().draft.workspace.is_none());
    assert!(world.claim(&agent("bob"), &["*.md"], 60).is_err());
}

#[test]
fn a_check_tells_holders_from_others() {
    let mut world = World::new();
    let lease = world.claim(&agent("alice"), &["src"], 60).unwrap();
    let report = world.check(Some(&agent("alice")), "src/a.rs");
    assert!(report.free && report.held && report.collisions.is_empty());
    let report = world.check(Some(&agent("bob")), "src/a.rs");
    assert!(!report.free && !report.held);
    assert_eq!(report.collisions[0].lease, lease.lease);
    let report = world.check(Some(&agent("bob")), "docs");
    assert!(report.free && !report.held);
}

#[test]
fn a_path_covers_what_is_below_it_however_else_the_lease_names_it() {
    for surfaces in [["src", "{src,lib}"], ["{src,lib}", "src"], ["{src,src/x}", "src"]] {
        let mut world = World::new();
        world.claim(&agent("alice"), &surfaces, 60).unwrap();
        assert!(world.claim(&agent("bob"), &["src/main.rs"], 60).is_err(), "{surfaces:?}");
        assert!(!world.check(None, "src/main.rs").free, "{surfaces:?}");
    }
}

#[test]
fn only_what_lies_within_a_lease_is_held() {
    let mut world = World::new();
    let old = world.claim(&agent("alice"), &["b"], 10).unwrap();
    let live = world.claim(&agent("alice"), &["a", "docs/*.md", "x.rs#A"], 60).unwrap();
    world.pass(20);
    let held = |surface: &str| world.check(Some(&agent("alice")), surface).held;
    for within in ["a", "a/b/c.rs", "a/**/*.rs", "{docs/x.md}", "x.rs#A::b", "{a/x,a/y}"] {
        assert!(held(within), "{within}");
    }
    for beyond in [".", "b", "docs", "docs/x.md", "docs/x.rs", "{a,b}", "x.rs", "x.rs#B", "**"] {
        assert!(!held(beyond), "{beyond}");
    }
    let check = |surfaces: &str, epoch: u64| {
        let args = format!(r#"{{"surfaces":{surfaces},"holder":"agent:alice","epoch":{epoch}}}"#);
        world.ask("lease.check", &args)["epoch_valid"].clone()
    };
    assert_eq!(check(r#"["a"]"#, live.epoch), true);
    assert_eq!(check(r#"["a","b"]"#, live.epoch), false, "b is not held any more");
    assert_eq!(check(r#"["b"]"#, old.epoch), false);
}

#[test]
fn a_session_holds_so_many_leases_and_no_more() {
    let mut world = World::new();
    for n in 0..althing_kernel::lease::PER_SESSION_MAX {
        world.claim(&agent("alice"), &[&format!("a{n}")], 60).unwrap();
    }
    let refusal = world.claim(&agent("alice"), &["one-more"], 60).unwrap_err();
    assert_eq!(refusal.rule, Rule::LeasesPerSession);
    world.claim(&agent("bob"), &["one-more"], 60).unwrap();
    world.run(&agent("alice"), "session.close", "{}").unwrap();
    world.claim(&agent("alice"), &["a1"], 60).unwrap();
}

#[test]
fn many_lapsed_leases_do_not_hide_a_live_one() {
    let mut world = World::new();
    for n in 0..100 {
        world.claim(&agent("alice"), &[&format!("a/{n:03}")], 10).unwrap();
    }
    world.claim(&agent("alice"), &["a/zzz"], 100).unwrap();
    world.pass(50);
    assert!(!world.check(None, "a").free);
    world.tick();
    assert!(!world.check(None, "a").free);
    assert_eq!(world.leases().len(), 1);
}

#[test]
fn commands_with_values_out_of_range_are_not_commands() {
    for (name, args) in [
        ("lease.open", r#"{"surfaces":["a"],"ttl_s":0}"#),
        (
            "lease.open",
            &format!(r#"{{"surfaces":[{}"z"]}}"#, format!("{:?},", "*?".repeat(120)).repeat(18)),
        ),
        ("lease.open", r#"{"surfaces":["a"],"ttl_s":-5}"#),
        ("lease.open", r#"{"surfaces":["a"],"ttl_s":99999999999999999999}"#),
        ("lease.open", r#"{"surfaces":["a"],"ttl_s":2592001}"#),
        ("lease.open", r#"{"surfaces":["a"],"ttl_s":1.5}"#),
        ("lease.open", r#"{"surfaces":[]}"#),
        ("lease.open", r#"{"surfaces":["../a"]}"#),
        ("lease.open", r#"{"surfaces":["a"],"holder":"agent:bob"}"#),
        ("lease.open", "{}"),
        ("lease.open", "[]"),
        ("lease.open", ""),
        ("lease.renew", r#"{"lease":"../../etc"}"#),
        ("lease.force", r#"{"lease":"x"}"#),
        ("session.open", r#"{"idle_s":1}"#),
        ("user.create", r#"{"user":"system","key":"ed25519:00"}"#),
    ] {
        let read = althing_kernel::Command::read(name, args).expect("a known command");
        assert!(read.is_err(), "{name} {args}");
    }
    for own in ["project.create", "runtime.rekey", "runtime.degraded", "nonsense", ""] {
        assert!(althing_kernel::Command::read(own, "{}").is_none(), "{own} has no door");
    }
}

#[test]
fn every_edge_of_the_lifecycle_is_taken_and_ended_leases_take_none() {
    let table = althing_kernel::lease::LIFECYCLE;
    let mut world = World::new();
    let open = |world: &mut World| world.claim(&agent("alice"), &["a"], 60).unwrap().lease;
    let args = |lease: &althing_kernel::LeaseId| format!(r#"{{"lease":"{lease}"}}"#);

    let ended: Vec<_> = {
        let released = open(&mut world);
        world.run(&agent("alice"), "lease.renew", &args(&released)).unwrap();
        world.run(&agent("alice"), "lease.release", &args(&released)).unwrap();
        let expired = open(&mut world);
        world.pass(60);
        world.tick();
        let forced = open(&mut world);
        let force = format!(r#"{{"lease":"{forced}","reason":"r"}}"#);
        world.run(&user("ada"), "lease.force", &force).unwrap();
        vec![released, expired, forced]
    };
    for edge in table.edges {
        assert!(world.kinds().contains(&edge.event), "{}", edge.event);
    }
    let count = |kind: Kind| world.kinds().iter().filter(|seen| **seen == kind).count();
    assert_eq!(count(Kind::LeaseOpened), 3);

    for lease in ended {
        for command in ["lease.renew", "lease.release"] {
            let refusal = world.run(&agent("alice"), command, &args(&lease)).unwrap_err();
            assert_eq!(refusal.rule, Rule::LeaseLive, "{command} {lease}");
        }
        let force = format!(r#"{{"lease":"{lease}","reason":"r"}}"#);
        let refusal = world.run(&user("ada"), "lease.force", &force).unwrap_err();
        assert_eq!(refusal.rule, Rule::LeaseLive, "lease.force {lease}");
    }
}
