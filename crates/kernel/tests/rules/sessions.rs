//! Sessions: whose they are, when they end, and what ends with them.

use crate::support::{World, agent, in_session, session_of, system, user};
use althing_kernel::lease::ReleaseCause;
use althing_kernel::session::EndCause;
use althing_kernel::{Actor, Event, Kind, Rule};

#[test]
fn an_agent_without_a_session_gets_one_standing_session() {
    let mut world = World::new();
    let first = world.claim(&agent("alice"), &["a"], 60).unwrap();
    let second = world.claim(&agent("alice"), &["b"], 60).unwrap();
    assert!(first.workspace.is_some());
    assert_eq!(first.workspace, second.workspace);
    let opened = world.kinds().iter().filter(|kind| **kind == Kind::SessionOpened).count();
    assert_eq!(opened, 1);
    assert_ne!(world.claim(&agent("bob"), &["c"], 60).unwrap().workspace, first.workspace);
}

/// Shows W-TRAIL-02.
#[test]
fn closing_a_session_ends_its_leases_and_no_others() {
    let mut world = World::new();
    let alice = agent("alice");
    let standing = world.claim(&alice, &["kept"], 60).unwrap();
    let session = session_of(world.run(&alice, "session.open", r#"{"client":"mcp"}"#).unwrap());
    world.claim(&in_session(&alice, &session), &["a"], 60).unwrap();
    world.claim(&in_session(&alice, &session), &["b"], 60).unwrap();

    world.run(&in_session(&alice, &session), "session.close", "{}").unwrap();
    let left: Vec<_> = world.leases().into_iter().map(|lease| lease.lease).collect();
    assert_eq!(left, [standing.lease]);
    let causes = world.entries.iter().filter_map(|entry| match &entry.draft.event {
        Event::LeaseReleased(released) => Some(released.cause),
        _ => None,
    });
    assert_eq!(causes.collect::<Vec<_>>(), [ReleaseCause::SessionEnded; 2]);
    assert!(matches!(world.last_event(), Event::SessionClosed(c) if c.cause == EndCause::Closed));

    let refusal = world.claim(&in_session(&alice, &session), &["c"], 60).unwrap_err();
    assert_eq!(refusal.rule, Rule::SessionOwned);
}

/// Shows W-SEC-04.
#[test]
fn nobody_speaks_in_the_session_of_another() {
    let mut world = World::new();
    let session = session_of(world.run(&agent("alice"), "session.open", "{}").unwrap());
    let thief = in_session(&agent("bob"), &session);
    assert_eq!(world.claim(&thief, &["a"], 60).unwrap_err().rule, Rule::SessionOwned);
    assert!(world.last().draft.workspace.is_none(), "not recorded in alice's local trail");
    let close = format!(r#"{{"workspace":"{session}"}}"#);
    let refusal = world.run(&agent("bob"), "session.close", &close).unwrap_err();
    assert_eq!(refusal.rule, Rule::SessionOwned);
    for other in [user("ada"), system()] {
        let refusal = world.claim(&in_session(&other, &session), &["a"], 60).unwrap_err();
        assert_eq!(refusal.rule, Rule::AgentsHaveSessions);
        let refusal = world.run(&other, "session.open", "{}").unwrap_err();
        assert_eq!(refusal.rule, Rule::AgentsHaveSessions);
        let refusal = world.run(&other, "session.close", "{}").unwrap_err();
        assert_eq!(refusal.rule, Rule::AgentsHaveSessions);
    }
}

#[test]
fn a_silent_session_lapses_but_not_while_it_holds_something() {
    let mut world = World::new();
    let alice = agent("alice");
    let session = session_of(world.run(&alice, "session.open", r#"{"idle_s":60}"#).unwrap());
    world.claim(&in_session(&alice, &session), &["a"], 500).unwrap();
    world.pass(300);
    world.tick();
    assert!(world.claim(&in_session(&alice, &session), &["b"], 1).is_ok(), "it holds a lease");
    world.pass(300);
    world.tick();
    let kinds = world.kinds();
    assert_eq!(&kinds[kinds.len() - 2..], [Kind::LeaseExpired, Kind::SessionClosed]);
    assert_eq!(world.last().draft.actor, Actor::Protocol);
    assert!(matches!(world.last_event(), Event::SessionClosed(c) if c.cause == EndCause::Lapsed));
}

#[test]
fn activity_keeps_a_session_open() {
    let mut world = World::new();
    let alice = agent("alice");
    let session = session_of(world.run(&alice, "session.open", r#"{"idle_s":100}"#).unwrap());
    for _ in 0..20 {
        world.pass(90);
        world.claim(&in_session(&alice, &session), &["a"], 1).unwrap();
    }
    world.pass(100);
    let refusal = world.claim(&in_session(&alice, &session), &["a"], 1).unwrap_err();
    assert_eq!(refusal.rule, Rule::SessionOwned);
}

#[test]
fn a_lapsed_standing_session_is_replaced_by_a_fresh_one() {
    let mut world = World::new();
    let before = world.claim(&agent("alice"), &["a"], 60).unwrap().workspace;
    world.pass(13 * 60 * 60);
    let after = world.claim(&agent("alice"), &["a"], 60).unwrap().workspace;
    assert_ne!(before, after);
}
