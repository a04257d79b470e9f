//! Bodies are written in canonical form: what serde writes is what gets hashed.

use crate::support::{World, agent, system, user};
use althing_kernel::{Command, Event, Kind};
use serde_json::Value;

struct Body<'a>(&'a Event);

impl serde::Serialize for Body<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}

/// A world in which every kind of event has happened, with every optional field given.
fn everything() -> World {
    let mut world = World::new();
    let alice = agent("alice");
    let open = r#"{"surfaces":["a\"\u001f😀","b"],"purpose":"p\n","task":"t","ttl_s":60}"#;
    let open = open.replace(r"\u001f", "é");
    let lease = world.run(&alice, "lease.open", &open).map(crate::support::lease_of).unwrap();
    let args = format!(r#"{{"lease":"{}"}}"#, lease.lease);
    world.run(&alice, "lease.renew", &args).unwrap();
    world.run(&agent("bob"), "lease.release", &args).unwrap_err();
    world.run(&alice, "lease.release", &args).unwrap();
    world.run(&alice, "session.open", r#"{"client":"c","idle_s":60}"#).unwrap();
    world.claim(&alice, &["x"], 1).unwrap();
    world.pass(1);
    let lease = world.claim(&alice, &["y"], 1000).unwrap();
    let force = format!(r#"{{"lease":"{}","reason":"r"}}"#, lease.lease);
    world.run(&user("ada"), "lease.force", &force).unwrap();
    world
        .run(&althing_kernel::Caller { key: user("ada").key, ..alice }, "lease.open", &open)
        .unwrap_err();
    world.pass(24 * 60 * 60);
    let note = r#"{"turned_away":1,"reason":"x","since":1}"#;
    let degraded = Command::RuntimeDegraded(serde_json::from_str(note).unwrap());
    world.run_command(&system(), &degraded).unwrap();
    let restored = r#"{"entries_before":7,"epoch":9}"#;
    let restored = Command::RuntimeRestored(serde_json::from_str(restored).unwrap());
    world.run_command(&system(), &restored).unwrap();
    let rekey = Command::RuntimeRekey(serde_json::from_str(r#"{"reason":"x"}"#).unwrap());
    let new = althing_kernel::Caller { key: agent("zed").key, ..system() };
    world.run_command(&new, &rekey).unwrap();
    world
}

/// Shows W-TRAIL-01, W-TRAIL-22.
#[test]
fn every_kind_of_event_is_written_in_canonical_form_and_read_back() {
    let world = everything();
    for kind in Kind::ALL {
        let entry = world.entries.iter().find(|entry| entry.draft.event.kind() == *kind);
        let event = &entry.unwrap_or_else(|| panic!("{kind} never happened")).draft.event;
        let written = serde_json::to_string(&Body(event)).unwrap();
        let value: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written, serde_json_canonicalizer::to_string(&value).unwrap(), "{kind}");
        assert_eq!(&Event::read(*kind, &written).unwrap(), event, "{kind}");
        assert_eq!(kind.as_str().parse(), Ok(*kind));
    }
}

#[test]
fn commands_are_written_in_canonical_form() {
    for (name, args) in [
        ("session.open", r#"{"client":"c","idle_s":60}"#),
        ("session.close", r#"{"workspace":"w"}"#),
        ("lease.open", r#"{"purpose":"p","surfaces":["a"],"task":"t","ttl_s":5}"#),
        ("lease.renew", r#"{"epoch":1,"lease":"l","ttl_s":5}"#),
        ("lease.release", r#"{"epoch":1,"lease":"l"}"#),
        ("lease.force", r#"{"lease":"l","reason":"r"}"#),
        ("user.create", &format!(r#"{{"key":"{}","user":"u"}}"#, user("u").key)),
    ] {
        let command = Command::read(name, args).unwrap().unwrap();
        assert_eq!(command.name(), name);
        let written = serde_json::to_string(&althing_kernel::command::Args(&command)).unwrap();
        assert_eq!(written, args);
        assert!(Command::schema(name).is_some());
    }
    assert_eq!(Command::DOORS.len(), 7, "every command that has a door is in the list above");
}
