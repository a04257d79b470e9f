//! Peers: connected agents as workspaces, and what becomes of a host that goes away.

use crate::memory::ok;
use crate::run::Run;
use crate::support::{World, agent, in_session, session_of, system, user};
use althing_kernel::lease::ReleaseCause;
use althing_kernel::session::{Disconnect, EndCause, Lost};
use althing_kernel::text::Text;
use althing_kernel::{Caller, Command, Event, Kind, Refusal, Reply, Rule, Timestamp, WorkspaceId};
use serde_json::{Value, json};

/// Opens, or goes on with, a session through a connection.
fn connect(world: &mut World, who: &Caller, client: &str, name: &str) -> WorkspaceId {
    let connection = json!({ "name": name, "grace_s": 300 });
    let args = json!({ "client": client, "connection": connection });
    session_of(world.run(who, "session.open", &args.to_string()).unwrap())
}

fn lose(world: &mut World, name: &str, since: Timestamp) {
    let lost = vec![Lost { name: Text::lossy(name), since }];
    let command = Command::RuntimeDisconnect(Disconnect { lost });
    assert!(matches!(world.run_command(&system(), &command).unwrap(), Reply::Done));
}

/// Ends a connection now.
fn cut(world: &mut World, name: &str) {
    lose(world, name, world.now);
}

fn held(world: &World) -> usize {
    world.state.leases().count()
}

fn peers(world: &World) -> Vec<Value> {
    let listed = world.ask("workspace.list", r#"{"role":"peer"}"#);
    listed.as_array().unwrap().clone()
}

fn sound(world: &World) {
    world.is_sound();
}

#[test]
fn what_a_host_held_is_free_after_the_grace_time_and_not_before() {
    let mut world = World::new();
    let (alice, bob) = (agent("alice"), agent("bob"));
    let session = connect(&mut world, &alice, "editor", "c1");
    world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
    cut(&mut world, "c1");
    assert!(matches!(world.last_event(), Event::SessionDisconnected(_)));
    world.pass(299);
    let refusal = world.claim(&bob, &["src/a"], 60).unwrap_err();
    assert_eq!(refusal.rule, Rule::NoOverlap);
    assert!(refusal.message.ends_with("its host is gone; free in 1 s"), "{}", refusal.message);
    world.pass(1);
    world.claim(&bob, &["src/a"], 60).unwrap();
    let released = world.entries.iter().find_map(|entry| match &entry.draft.event {
        Event::LeaseReleased(body) => Some(body.cause),
        _ => None,
    });
    assert_eq!(released, Some(ReleaseCause::HostGone));
    let closed = world.entries.iter().find_map(|entry| match &entry.draft.event {
        Event::SessionClosed(body) => Some(body.cause),
        _ => None,
    });
    assert_eq!(closed, Some(EndCause::Gone));
    sound(&world);
}

#[test]
fn an_agent_that_comes_back_in_time_keeps_what_it_held() {
    let mut world = World::new();
    let alice = agent("alice");
    let session = connect(&mut world, &alice, "editor", "c1");
    let lease = world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
    cut(&mut world, "c1");
    world.pass(200);
    assert_eq!(connect(&mut world, &alice, "editor", "c2"), session, "the same session goes on");
    assert_eq!(world.last().draft.event.kind(), Kind::SessionConnected);
    world.pass(600);
    world.tick();
    assert_eq!(held(&world), 1);
    // A call that names the session is a return too.
    cut(&mut world, "c2");
    world.pass(200);
    let renew = json!({ "lease": lease.lease }).to_string();
    world.run(&in_session(&alice, &session), "lease.renew", &renew).unwrap();
    world.pass(3_600);
    world.tick();
    assert_eq!(held(&world), 1);
    // Another client of the same agent is another peer.
    assert_ne!(connect(&mut world, &alice, "terminal", "c3"), session);
    sound(&world);
}

#[test]
fn a_session_is_gone_when_its_last_connection_ended() {
    let mut world = World::new();
    let alice = agent("alice");
    let session = connect(&mut world, &alice, "editor", "left");
    assert_eq!(connect(&mut world, &alice, "editor", "right"), session);
    world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
    cut(&mut world, "left");
    world.pass(1_000);
    world.tick();
    assert_eq!(peers(&world)[0]["peer"]["state"], "active");
    assert_eq!(held(&world), 1, "the other window is still there");
    cut(&mut world, "right");
    assert_eq!(peers(&world)[0]["peer"]["state"], "gone");
    // A connection that ended is reported once.
    let entries = world.entries.len();
    cut(&mut world, "right");
    cut(&mut world, "nobody");
    assert_eq!(world.entries.len(), entries);
    world.pass(300);
    world.tick();
    assert_eq!((held(&world), peers(&world).len()), (0, 0));
    sound(&world);
}

#[test]
fn the_grace_time_runs_from_the_end_of_the_connection() {
    let mut world = World::new();
    let alice = agent("alice");
    let session = connect(&mut world, &alice, "editor", "c1");
    world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
    let died = world.now;
    world.pass(1_000);
    lose(&mut world, "c1", died);
    // It was noticed late, and is free at once.
    world.claim(&agent("bob"), &["src"], 60).unwrap();
    // The end of a connection lies neither in the future nor before the session.
    let session = connect(&mut world, &alice, "editor", "c2");
    world.claim(&in_session(&alice, &session), &["docs"], 5_400).unwrap();
    let later = world.now.after(althing_kernel::Span::from_secs(9_999));
    lose(&mut world, "c2", later);
    let Event::SessionDisconnected(body) = world.last_event() else { panic!() };
    assert!(body.since <= world.now);
    sound(&world);
}

#[test]
fn calls_without_a_connection_are_not_affected() {
    let mut world = World::new();
    world.claim(&agent("alice"), &["src"], 5_400).unwrap();
    cut(&mut world, "c1");
    world.pass(3_600);
    world.tick();
    assert_eq!(held(&world), 1);
    assert_eq!(peers(&world)[0]["peer"]["standing"], true);
    sound(&world);
}

#[test]
fn a_claim_that_an_assignment_has_stays_until_it_expires() {
    let mut world = World::new();
    let (alice, bob) = (agent("alice"), agent("bob"));
    world.run(&bob, "agent.register", "{}").unwrap();
    let session = connect(&mut world, &bob, "editor", "c1");
    let bob = in_session(&bob, &session);
    let lane = json!({ "fields": { "agent": "bob", "scope": "src" }, "surfaces": ["src"],
        "text": "t", "ttl_s": 3_600 });
    let offers = ok(&mut world, &alice, "memory.offer", &json!({ "lanes": [lane] }));
    let work = offers["offers"][0]["assignment"].clone();
    ok(&mut world, &bob, "memory.move", &json!({ "id": work, "to": "accepted" }));
    world.claim(&bob, &["notes"], 5_400).unwrap();
    assert_eq!(held(&world), 2);
    cut(&mut world, "c1");
    world.pass(300);
    world.tick();
    assert_eq!(world.last().draft.event.kind(), Kind::SessionKept);
    let left = world.leases();
    assert_eq!(left.len(), 1, "what no work is bound to is free");
    assert_eq!(left[0].surfaces[0].to_string(), "src");
    let gone = left[0].host_gone.unwrap();
    assert_eq!(gone.until, left[0].expires_at);
    world.pass(3_600);
    world.tick();
    assert_eq!(held(&world), 0);
    assert!(peers(&world).iter().all(|peer| peer["agent"] != "bob"));
    sound(&world);
}

#[test]
fn what_an_agent_of_a_run_holds_stays_until_it_expires() {
    let mut run = Run::new();
    let _ = run.create(&Run::lead(), json!({ "agent": "w1" }));
    let worker = agent("w1");
    let session = connect(&mut run.world, &worker, "editor", "c1");
    run.world.claim(&in_session(&worker, &session), &["src"], 3_600).unwrap();
    cut(&mut run.world, "c1");
    run.world.pass(3_000);
    run.world.tick();
    assert_eq!(held(&run.world), 1);
    run.world.pass(600);
    run.world.tick();
    assert_eq!(held(&run.world), 0);
    sound(&run.world);
}

#[test]
fn peers_are_workspaces_below_the_standing_root() {
    let mut world = World::new();
    assert_eq!(world.ask("workspace.list", "{}"), json!([]));
    let alice = agent("alice");
    let session = connect(&mut world, &alice, "editor", "c1");
    world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
    world.claim(&agent("bob"), &["docs"], 5_400).unwrap();
    let listed = world.ask("workspace.list", "{}");
    let [root, peer, other] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&root["workspace"], &root["place"]), (&json!("p1"), &json!("standing_root")));
    assert_eq!((&root["role"], &root["agent"]), (&json!("coordinator"), &Value::Null));
    assert_eq!((&peer["parent"], &other["parent"]), (&json!("p1"), &json!("p1")));
    assert_eq!((&peer["role"], &peer["agent"]), (&json!("peer"), &json!("alice")));
    assert_eq!(peer["status"], "active");
    assert_eq!(peer["authority"], json!(["src"]));
    let about = &peer["peer"];
    assert_eq!((&about["client"], &about["leases"]), (&json!("editor"), &json!(1)));
    assert_eq!((&about["state"], &about["connections"]), (&json!("active"), &json!(1)));
    let one = format!(r#"{{"workspace":"{session}"}}"#);
    assert_eq!(world.ask("workspace.get", &one), *peer);
    assert_eq!(world.ask("workspace.get", r#"{"workspace":"p1"}"#), *root);
    let count = |args: &str| world.ask("workspace.list", args).as_array().unwrap().len();
    assert_eq!(count(r#"{"below":"p1"}"#), 2);
    assert_eq!(count(&format!(r#"{{"beside":"{session}"}}"#)), 1);
    assert_eq!(count(&format!(r#"{{"above":"{session}"}}"#)), 1);
    assert_eq!(count(r#"{"agent":"alice","live":true}"#), 1);
    assert_eq!(count(r#"{"role":"worker"}"#), 0);
    assert_eq!(count(r#"{"status":"blocked"}"#), 0);
    assert_eq!(count(r#"{"orphans":true}"#), 0);
    assert_eq!(count(r#"{"leaves":true}"#), 2);
}

#[test]
fn a_run_does_not_count_peers() {
    let mut run = Run::new();
    let before = run.world.ask("run.get", "{}");
    connect(&mut run.world, &agent("alice"), "editor", "c1");
    assert_eq!(run.world.ask("run.get", "{}"), before);
    run.ok(&Run::lead(), "run.end", json!({}));
    assert_eq!(peers(&run.world).len(), 1, "a peer outlives runs");
    sound(&run.world);
}

fn refused(answer: Result<Reply, Refusal>) -> Rule {
    answer.unwrap_err().rule
}

#[test]
fn commands_for_workspaces_of_runs_are_refused_on_a_peer() {
    let mut run = Run::new();
    let worker = run.create(&Run::lead(), json!({ "agent": "w1" }));
    let id = connect(&mut run.world, &agent("alice"), "editor", "c1");
    let on = |more: Value| {
        let mut args = json!({ "workspace": id });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args.to_string()
    };
    let orders = [
        ("workspace.suspend", on(json!({}))),
        ("workspace.resume", on(json!({}))),
        ("workspace.migrate", on(json!({ "agent": "w1" }))),
        ("workspace.transfer", on(json!({ "to": "ada" }))),
        ("workspace.reparent", on(json!({ "parent": worker }))),
        ("workspace.grant_visibility", on(json!({ "target": worker }))),
        ("workspace.set_priority", on(json!({ "priority": "critical" }))),
        ("integration.decide", on(json!({ "decision": "accept" }))),
    ];
    for (name, args) in orders {
        assert_eq!(refused(run.world.run(&user("ada"), name, &args)), Rule::PeerOnly, "{name}");
    }
    assert_eq!(peers(&run.world).len(), 1);
    sound(&run.world);
}

#[test]
fn a_person_with_the_right_ends_a_peer_and_its_leases() {
    let mut world = World::new();
    let alice = agent("alice");
    for order in ["workspace.abort", "workspace.terminate"] {
        let session = connect(&mut world, &alice, "editor", "c1");
        world.claim(&in_session(&alice, &session), &["src"], 5_400).unwrap();
        let mut args = json!({ "workspace": session, "reason": "left for the day" });
        if order == "workspace.terminate" {
            args["grace_s"] = json!(60);
        }
        let args = args.to_string();
        for other in [agent("bob"), alice.clone(), system()] {
            assert_eq!(refused(world.run(&other, order, &args)), Rule::PeerEnds, "{other:?}");
        }
        let eve = user("eve");
        let sign_up = format!(r#"{{"user":"eve","key":"{}"}}"#, eve.key);
        let _ = world.run(&user("ada"), "user.create", &sign_up);
        assert_eq!(refused(world.run(&eve, order, &args)), Rule::Capability);
        assert_eq!(held(&world), 1);
        let Reply::Workspace(view) = world.run(&user("ada"), order, &args).unwrap() else {
            panic!()
        };
        assert_eq!((view.workspace.clone(), view.peer.is_some()), (session.clone(), true));
        let Event::SessionClosed(body) = world.last_event() else { panic!() };
        assert_eq!((body.cause, body.reason.is_some()), (EndCause::Ended, true));
        assert_eq!((held(&world), peers(&world).len()), (0, 0));
        let again = world.claim(&in_session(&alice, &session), &["src"], 60).unwrap_err();
        assert_eq!(again.rule, Rule::SessionOwned);
    }
    sound(&world);
}

#[test]
fn the_coordinator_ends_a_peer_where_there_are_no_people() {
    let mut world = World::without_project();
    let create = serde_json::from_value(json!({ "name": "p", "project": "p1" })).unwrap();
    world.run_command(&system(), &Command::ProjectCreate(create)).unwrap();
    let session = connect(&mut world, &agent("alice"), "editor", "c1");
    let args = json!({ "workspace": session }).to_string();
    assert_eq!(refused(world.run(&agent("bob"), "workspace.abort", &args)), Rule::PeerEnds);
    world.run(&system(), "workspace.abort", &args).unwrap();
    assert!(peers(&world).is_empty());
    sound(&world);
}

#[test]
fn only_the_runtime_says_that_a_connection_ended() {
    let mut world = World::new();
    connect(&mut world, &agent("alice"), "editor", "c1");
    let lost = vec![Lost { name: Text::lossy("c1"), since: world.now }];
    let command = Command::RuntimeDisconnect(Disconnect { lost });
    for other in [agent("bob"), user("ada")] {
        let refusal = world.run_command(&other, &command).unwrap_err();
        assert_eq!(refusal.rule, Rule::SystemOnly);
    }
}

#[test]
fn hosts_that_ended_together_are_recorded_together() {
    let mut world = World::new();
    for (name, connection) in [("alice", "c1"), ("bob", "c2"), ("carol", "c3")] {
        let who = agent(name);
        let session = connect(&mut world, &who, "editor", connection);
        world.claim(&in_session(&who, &session), &[name], 5_400).unwrap();
    }
    let since = world.now;
    let lost = ["c1", "c2", "c3"].map(|name| Lost { name: Text::lossy(name), since }).to_vec();
    world.run_command(&system(), &Command::RuntimeDisconnect(Disconnect { lost })).unwrap();
    world.pass(300);
    world.tick();
    assert_eq!((held(&world), peers(&world).len()), (0, 0));
    sound(&world);
}
