//! Identity: no caller can act as another.

use crate::support::{World, agent, key, system, user};
use althing_kernel::{Actor, Caller, Command, Event, Kind, RefusalKind, Rule};

/// Shows W-SEC-03, W-SEC-04, W-SEC-12.
#[test]
fn a_name_belongs_to_the_key_that_first_used_it() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["a"], 60).unwrap();
    let impostor = Caller { key: key(77), ..agent("alice") };
    let refusal = world.claim(&impostor, &["b"], 60).unwrap_err();
    assert_eq!((refusal.kind, refusal.rule), (RefusalKind::NotAuthentic, Rule::AgentKeyBound));

    let Event::AuthenticationFailed(failed) = world.last_event() else { panic!() };
    assert_eq!(failed.entity, agent("alice").principal);
    assert_eq!(failed.source.as_str(), key(77).to_string());
    assert_eq!(world.last().draft.actor, Actor::Protocol, "it was not alice");
    assert!(world.last().draft.workspace.is_none());
}

#[test]
fn an_agent_registers_once() {
    let mut world = World::new();
    for n in 0..3 {
        world.claim(&agent("alice"), &[&format!("f{n}")], 60).unwrap();
    }
    let registered = world.kinds().iter().filter(|k| **k == Kind::AgentRegistered).count();
    assert_eq!(registered, 1);
}

/// Shows W-ID-12.
#[test]
fn the_first_user_signs_up_and_later_ones_are_let_in() {
    let mut world = World::new();
    let eve = user("eve");
    let sign_up = |caller: &Caller| {
        let name = caller.principal.to_string().replace("user:", "");
        format!(r#"{{"user":"{name}","key":"{}"}}"#, caller.key)
    };
    let refusal = world.run(&eve, "user.create", &sign_up(&eve)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotAuthentic, "ada was first");
    let refusal = world.run(&agent("alice"), "user.create", &sign_up(&eve)).unwrap_err();
    assert_eq!(refusal.rule, Rule::UserAdmission, "an agent lets nobody in");

    world.run(&user("ada"), "user.create", &sign_up(&eve)).unwrap();
    world.claim(&eve, &["a"], 60).unwrap();
    let refusal = world.run(&user("ada"), "user.create", &sign_up(&eve)).unwrap_err();
    assert_eq!(refusal.rule, Rule::UserUnique);
}

/// Shows W-ID-12, W-SEC-03, W-SEC-12.
#[test]
fn a_user_id_with_another_key_is_not_that_user() {
    let mut world = World::new();
    let impostor = Caller { key: agent("alice").key, ..user("ada") };
    let lease = world.claim(&agent("bob"), &["a"], 60).unwrap();
    let force = format!(r#"{{"lease":"{}","reason":"r"}}"#, lease.lease);
    let refusal = world.run(&impostor, "lease.force", &force).unwrap_err();
    assert_eq!(refusal.rule, Rule::PersonNeedsCredential);
    assert_eq!(world.kinds().last(), Some(&Kind::AuthenticationFailed));
    assert_eq!(world.leases().len(), 1);
}

/// Shows W-SEC-01, W-SEC-03.
#[test]
fn nobody_poses_as_the_system() {
    let mut world = World::new();
    let impostor = Caller { key: key(9), ..system() };
    let lease = world.claim(&agent("bob"), &["a"], 60).unwrap();
    let force = format!(r#"{{"lease":"{}","reason":"r"}}"#, lease.lease);
    let refusal = world.run(&impostor, "lease.force", &force).unwrap_err();
    assert_eq!(refusal.rule, Rule::RuntimeKeyKnown);
}

/// Shows W-SEC-01.
#[test]
fn the_runtimes_own_commands_are_refused_to_everybody_else() {
    let mut world = World::new();
    let create: Command =
        Command::ProjectCreate(serde_json::from_str(r#"{"name":"x","project":"x"}"#).unwrap());
    let rekey = Command::RuntimeRekey(serde_json::from_str(r#"{"reason":"x"}"#).unwrap());
    let note = r#"{"turned_away":1,"reason":"x","since":1}"#;
    let degraded = Command::RuntimeDegraded(serde_json::from_str(note).unwrap());
    let restored = r#"{"entries_before":7,"epoch":9}"#;
    let restored = Command::RuntimeRestored(serde_json::from_str(restored).unwrap());
    let failed = r#"{"entity":"user:ada","reason":"x","door":"y"}"#;
    let failed = Command::RuntimeUnauthentic(serde_json::from_str(failed).unwrap());
    for caller in [agent("alice"), user("ada")] {
        for command in [&create, &rekey, &degraded, &restored, &failed] {
            let refusal = world.run_command(&caller, command).unwrap_err();
            assert_eq!(refusal.rule, Rule::SystemOnly, "{}", command.name());
        }
    }
    let refusal = world.run_command(&system(), &create).unwrap_err();
    assert_eq!(refusal.rule, Rule::ProjectOnce);
}

#[test]
fn a_runtime_with_another_key_takes_over_only_on_the_record() {
    let mut world = World::new();
    let new = Caller { key: key(42), ..system() };
    let rekey = Command::RuntimeRekey(serde_json::from_str(r#"{"reason":"restored"}"#).unwrap());
    world.run_command(&new, &rekey).unwrap();
    let Event::RuntimeRekeyed(rekeyed) = world.last_event() else { panic!() };
    assert_eq!((rekeyed.old_key, rekeyed.new_key), (key(0), key(42)));
    assert_eq!(world.state.project().unwrap().runtime_key, key(42));
    let entries = world.entries.len();
    world.run_command(&new, &rekey).unwrap();
    assert_eq!(world.entries.len(), entries, "taking over from oneself is nothing");
}

#[test]
fn one_key_is_one_person() {
    let mut world = World::new();
    let args = serde_json::json!({ "user": "bea", "key": user("ada").key });
    let refusal = world.run(&user("ada"), "user.create", &args.to_string()).unwrap_err();
    assert_eq!(refusal.rule, Rule::UserUnique);
}

#[test]
fn epochs_go_on_above_those_of_a_trail_that_was_replaced() {
    let mut world = World::new();
    let before = world.claim(&agent("alice"), &["a"], 60).unwrap().epoch;
    for (given, least) in [(before + 40, before + 41), (1, before + 42)] {
        let note = format!(r#"{{"entries_before":7,"epoch":{given}}}"#);
        let note = Command::RuntimeRestored(serde_json::from_str(&note).unwrap());
        world.run_command(&system(), &note).unwrap();
        let next = world.claim(&agent("bob"), &[&format!("b{given}")], 60).unwrap().epoch;
        assert_eq!(next, least);
    }
}

/// Shows W-CLK-01, W-ID-01.
#[test]
fn no_command_takes_an_id_or_a_time_of_its_callers_making() {
    let mut fields = vec![("lease.open", "lease"), ("session.open", "workspace")];
    for (name, _) in Command::DOORS {
        fields.extend(["at", "id", "timestamp"].map(|field| (*name, field)));
    }
    // What everybody shares is called what its author calls it.
    let named = ["symbol.set", "capsule.write", "dispute.raise"];
    fields.retain(|(name, field)| !(*field == "id" && named.contains(name)));
    // A record that is there is called by its id; a new one gets its own from the kernel.
    let new = |name: &str| !name.starts_with("memory.") || name == "memory.create";
    fields.retain(|(name, field)| *field != "id" || new(name));
    for (name, field) in fields {
        let read = Command::read(name, &format!(r#"{{"{field}":"1"}}"#)).expect("a known command");
        let why = read.unwrap_err().to_string();
        assert!(why.contains("unknown field"), "{name} {field}: {why}");
    }
}

#[test]
fn before_the_project_nothing_happens_and_nothing_is_recorded() {
    let mut world = World::without_project();
    let refusal = world.claim(&agent("alice"), &["a"], 60).unwrap_err();
    assert_eq!(refusal.rule, Rule::ProjectExists);
    assert!(world.entries.is_empty());
}
