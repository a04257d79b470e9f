//! Revocation and description of agents, and leases that replace others.

use crate::run::{Run, person_with};
use crate::support::{World, agent, system, user};
use althing_kernel::audit::Breach;
use althing_kernel::capability::Capability;
use althing_kernel::lease::ReleaseCause;
use althing_kernel::{Actor, Caller, Event, Kind, RefusalKind, Rule};
use serde_json::{Value, json};

fn revoke(world: &mut World, who: &Caller, name: &str) -> Result<(), Rule> {
    let args = json!({ "agent": name }).to_string();
    world.run(who, "agent.revoke", &args).map(|_| ()).map_err(|no| no.rule)
}

#[test]
fn a_revoked_agent_opens_and_renews_nothing_until_it_is_reinstated() {
    let mut world = World::new();
    let held = world.claim(&agent("alice"), &["a"], 60).unwrap();
    revoke(&mut world, &user("ada"), "alice").unwrap();
    assert_eq!(world.ask("agent.get", r#"{"agent":"alice"}"#)["status"], "revoked");
    assert_eq!(world.claim(&agent("alice"), &["b"], 60).unwrap_err().rule, Rule::AgentRevoked);
    let lease = format!(r#"{{"lease":"{}"}}"#, held.lease);
    let refusal = world.run(&agent("alice"), "lease.renew", &lease).unwrap_err();
    assert_eq!(refusal.rule, Rule::AgentRevoked);
    world.claim(&agent("bob"), &["b"], 60).unwrap();
    world.run(&agent("alice"), "lease.release", &lease).unwrap();
    let count = world.entries.len();
    revoke(&mut world, &user("ada"), "alice").unwrap();
    assert_eq!(world.entries.len(), count, "what is so already is no entry");
    world.run(&system(), "agent.reinstate", r#"{"agent":"alice"}"#).unwrap();
    world.claim(&agent("alice"), &["a"], 60).unwrap();
    world.is_sound();
}

#[test]
fn people_who_may_and_the_coordinator_say_how_agents_stand() {
    let mut run = Run::new();
    let bob = person_with(&mut run.world, "bob", Capability::OWN_SCOPE);
    let eve = person_with(&mut run.world, "eve", &[Capability::SuspendAny]);
    for (who, text) in
        [(agent("w1"), Err(Rule::RevokeNeedsRight)), (bob, Err(Rule::Capability)), (eve, Ok(()))]
    {
        assert_eq!(revoke(&mut run.world, &who, "w2"), text, "{}", who.principal);
    }
    let args = r#"{"agent":"w2"}"#;
    run.world.run(&Run::lead(), "agent.reinstate", args).unwrap();
    assert_eq!(revoke(&mut run.world, &Run::lead(), "w2"), Ok(()));
    let refusal = run.world.run(&system(), "agent.revoke", r#"{"agent":"nobody"}"#).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotFound);
    run.world.is_sound();
}

#[test]
fn what_nobody_said_about_an_agent_does_not_pass_the_audit() {
    let mut world = World::new();
    world.run(&agent("bob"), "agent.register", "{}").unwrap();
    world.run(&agent("alice"), "agent.register", r#"{"role":"r"}"#).unwrap();
    revoke(&mut world, &user("ada"), "alice").unwrap();
    for (place, entry) in world.entries.iter().enumerate() {
        let kind = entry.draft.event.kind();
        if [Kind::AgentRevoked, Kind::AgentDescribed].contains(&kind) {
            let mut forged = entry.clone();
            forged.draft.actor = agent("bob").principal.into();
            assert!(world.with(place, forged).is_err(), "{kind}");
        }
    }
    let mut again = world.last().clone();
    again.at = world.now.after(althing_kernel::Span::from_secs(1));
    let asked = world.requests.values().last().cloned();
    assert_eq!(world.with_next(&again, asked), Err(Breach::Unasked), "it is revoked already");
    assert!(world.state.clone().apply(&again).is_err());
}

#[test]
fn agents_say_what_they_are_and_are_heard() {
    let mut world = World::new();
    let alice = agent("alice");
    let text = r#"{"role":"coder","human":"rj","tool":"cursor","tool_version":"1.2"}"#;
    world.run(&alice, "agent.register", text).unwrap();
    let kinds = world.kinds();
    assert!(kinds.contains(&Kind::AgentRegistered) && kinds.ends_with(&[Kind::AgentDescribed]));
    let count = world.entries.len();
    world.run(&alice, "agent.register", r#"{"role":"coder"}"#).unwrap();
    assert_eq!(world.entries.len(), count, "nothing new was said");
    let first: Value = world.ask("agent.get", r#"{"agent":"alice"}"#);
    assert_eq!((&first["role"], &first["tool_version"]), (&json!("coder"), &json!("1.2")));
    assert_eq!(first["status"], "active");
    world.pass(100);
    world.run(&alice, "agent.heartbeat", "{}").unwrap();
    let later: Value = world.ask("agent.list", "{}")[0].clone();
    assert_eq!(later["first_seen"], first["first_seen"]);
    let beats = |view: &Value| view["last_heartbeat"].as_u64().unwrap();
    assert!(beats(&later) >= beats(&first) + 100_000_000, "{later}");
    world.pass(100);
    world.run(&alice, "fact.set", r#"{"key":"k","value":"v"}"#).unwrap();
    assert!(beats(&world.ask("agent.list", "{}")[0]) > beats(&later), "any deed is a sign");
    let refusal = world.run(&user("ada"), "agent.heartbeat", "{}").unwrap_err();
    assert_eq!(refusal.rule, Rule::WhoAreYou);
    world.is_sound();
}

fn replace(world: &mut World, who: &Caller, surfaces: &[&str]) -> Result<Value, RefusalKind> {
    let args = json!({ "surfaces": surfaces, "replace": true }).to_string();
    let reply = world.run(who, "lease.open", &args).map_err(|no| no.kind)?;
    Ok(serde_json::to_value(reply).unwrap())
}

#[test]
fn a_lease_takes_the_place_of_others_or_nothing_happens() {
    for who in [agent("alice"), user("ada"), system()] {
        let mut world = World::new();
        world.claim(&who, &["a"], 60).unwrap();
        world.claim(&who, &["b/**"], 60).unwrap();
        world.claim(&agent("bob"), &["c"], 60).unwrap();
        assert_eq!(replace(&mut world, &who, &["b", "c"]), Err(RefusalKind::Collision));
        assert_eq!(world.leases().len(), 3, "a collision changes nothing");
        let opened = replace(&mut world, &who, &["b/x", "d"]).unwrap();
        let own: Vec<_> =
            world.leases().into_iter().filter(|own| own.holder == who.principal).collect();
        assert_eq!(own.len(), 1);
        assert_eq!(json!(own[0].lease), opened["lease"]);
        let released: Vec<_> = world
            .entries
            .iter()
            .filter_map(|entry| match &entry.draft.event {
                Event::LeaseReleased(body) => Some((entry, body)),
                _ => None,
            })
            .collect();
        assert_eq!(released.len(), 2);
        for (entry, body) in released {
            assert_eq!(
                (body.cause, &entry.draft.actor),
                (ReleaseCause::Replaced, &Actor::Protocol)
            );
        }
        assert!(world.claim(&agent("bob"), &["a"], 60).is_ok());
        world.is_sound();
    }
}

#[test]
fn one_session_does_not_replace_what_another_holds() {
    let mut world = World::new();
    let alice = agent("alice");
    world.claim(&alice, &["a"], 60).unwrap();
    let reply = world.run(&alice, "session.open", "{}").unwrap();
    let other = crate::support::in_session(&alice, &crate::support::session_of(reply));
    replace(&mut world, &other, &["b"]).unwrap();
    replace(&mut world, &other, &["c"]).unwrap();
    let held: Vec<_> = world.leases().into_iter().map(|own| own.surfaces[0].to_string()).collect();
    assert_eq!(held, ["a", "c"]);
    world.is_sound();
}

#[test]
fn a_lease_that_nobody_replaced_is_not_released_by_the_runtime() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["a"], 60).unwrap();
    replace(&mut world, &agent("alice"), &["b"]).unwrap();
    for (place, entry) in world.entries.iter().enumerate() {
        if entry.draft.event.kind() == Kind::LeaseReleased {
            let mut forged = entry.clone();
            forged.draft.causation = None;
            assert!(world.with(place, forged).is_err());
            forged = entry.clone();
            forged.draft.actor = agent("alice").principal.into();
            assert!(world.with(place, forged).is_err());
        }
    }
}
