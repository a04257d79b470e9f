//! Refusals that were decided outside the kernel, and are recorded like those that were decided here.

use crate::support::{World, agent, user};
use althing_kernel::{Actor, Event, RefusalKind, Rule};

const ASKED: &str =
    r#"{"command":"memory.offer","kind":"denied","message":"not committed","rule":"A-MEM-11"}"#;

#[test]
fn a_refusal_from_outside_is_recorded_in_the_callers_name() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["src"], 60).unwrap();
    let refusal = world.run(&agent("alice"), "refusal.record", ASKED).unwrap_err();
    assert_eq!((refusal.kind, refusal.rule), (RefusalKind::Denied, Rule::LaneCommitted));
    assert_eq!(refusal.message, "not committed");
    let Event::CommandRefused(refused) = world.last_event() else { panic!() };
    assert_eq!(refused.command.as_str(), "memory.offer");
    assert_eq!(refused.message.as_str(), "not committed");
    assert_eq!((refused.kind, refused.rule), (refusal.kind, refusal.rule));
    assert_eq!(world.last().draft.actor, Actor::from(agent("alice").principal));
    assert!(world.last().draft.workspace.is_some(), "it stands where the caller's others do");
}

#[test]
fn the_entry_is_the_same_as_one_of_the_kernels_own() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["src"], 60).unwrap();
    let own = world.claim(&agent("bob"), &["src"], 60).unwrap_err();
    let Event::CommandRefused(kernels) = world.last_event().clone() else { panic!() };
    let asked = serde_json::json!({
        "command": "lease.open", "kind": "collision", "message": own.message, "rule": "A-LEASE-01",
    });
    world.run(&agent("bob"), "refusal.record", &asked.to_string()).unwrap_err();
    let Event::CommandRefused(recorded) = world.last_event() else { panic!() };
    assert_eq!(*recorded, kernels);
}

#[test]
fn a_record_names_a_command_a_known_rule_and_a_reason() {
    let mut world = World::new();
    for (field, wrong) in [("command", "rm -rf"), ("command", ""), ("command", "a..b")] {
        let asked = ASKED.replace("memory.offer", wrong);
        let refusal = world.run(&agent("alice"), "refusal.record", &asked).unwrap_err();
        assert_eq!(refusal.rule, Rule::Usage, "{field} {wrong}");
        let Event::CommandRefused(refused) = world.last_event() else { panic!() };
        assert_eq!(refused.command.as_str(), "refusal.record");
    }
    let blank = ASKED.replace("not committed", " ");
    let refusal = world.run(&agent("alice"), "refusal.record", &blank).unwrap_err();
    assert_eq!(refusal.rule, Rule::SaySomething);
    for wrong in [ASKED.replace("A-MEM-11", "A-NONE-1"), ASKED.replace("denied", "not_authentic")] {
        assert!(althing_kernel::Command::read("refusal.record", &wrong).unwrap().is_err());
    }
    // A person's needs nothing but that they are who they say.
    let stranger = world.run(&user("ann"), "refusal.record", ASKED).unwrap_err();
    assert_eq!(stranger.kind, RefusalKind::NotAuthentic);
}
