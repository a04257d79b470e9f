//! Failures that the simulation found, each in its smallest form.

use crate::support::{Script, World, agent, user};
use althing_kernel::envelope::Status as Stage;
use althing_kernel::envelope::carrier::Carried;
use althing_kernel::signal::SignalType;
use althing_kernel::{EnvelopeId, Event, Reply, Rule, Stamped, WorkspaceId, access};
use serde_json::json;

const BLOB: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// A run that `ada` began, and one worker at work in it.
fn at_work() -> (World, WorkspaceId, WorkspaceId) {
    let mut world = World::new();
    let root = workspace(world.run(&user("ada"), "run.start", "{}").unwrap());
    world.run(&agent("wim"), "agent.register", "{}").unwrap();
    let worker = create(&mut world, json!({ "role": "worker" }));
    world.run(&agent("wim"), "signal.emit", r#"{"type":"ready"}"#).unwrap();
    (world, root, worker)
}

fn create(world: &mut World, mut args: serde_json::Value) -> WorkspaceId {
    args["agent"] = "wim".into();
    args["directive"] = json!({ "content": { "blob": BLOB } });
    workspace(world.run(&user("ada"), "workspace.create", &args.to_string()).unwrap())
}

fn workspace(reply: Reply) -> WorkspaceId {
    match reply {
        Reply::Workspace(view) => view.workspace,
        other => panic!("not a workspace: {other:?}"),
    }
}

fn send(world: &mut World, to: &WorkspaceId) -> EnvelopeId {
    let payload = json!({ "content": { "blob": BLOB } });
    let args = json!({ "to": to, "type": "feedback", "payload": payload }).to_string();
    match world.run(&user("ada"), "envelope.send", &args).unwrap() {
        Reply::Envelope(view) => view.envelope,
        other => panic!("not an envelope: {other:?}"),
    }
}

fn stage(world: &World, id: &EnvelopeId) -> Stage {
    world.state.envelope(id).unwrap().status
}

/// Shows W-ENV-13.
#[test]
fn what_waited_behind_an_envelope_that_was_given_up_is_delivered_at_once() {
    let (mut world, _, worker) = at_work();
    world.carrier = Some(Script::of(&[Carried::Lost; 4]));
    let (first, second) = (send(&mut world, &worker), send(&mut world, &worker));
    for wait in 1..=3 {
        assert_eq!(
            (stage(&world, &first), stage(&world, &second)),
            (Stage::Validated, Stage::Validated)
        );
        world.pass(wait);
        world.tick();
    }
    assert_eq!(stage(&world, &first), Stage::Rejected, "four attempts were lost");
    assert_eq!(stage(&world, &second), Stage::Acknowledged, "nothing else has to happen first");
}

/// Shows W-ENV-12.
#[test]
fn only_the_receivers_receipt_tells_that_an_envelope_arrived() {
    let (mut world, _, worker) = at_work();
    world.carrier = Some(Script::of(&[Carried::AnswerLost]));
    let sent = send(&mut world, &worker);
    let words = json!({ "type": "acknowledged", "ref": sent }).to_string();
    world.run(&user("ada"), "signal.emit", &words).unwrap();
    assert_eq!(stage(&world, &sent), Stage::Delivered, "the coordinator is not its receiver");

    world.pass(1);
    world.tick();
    assert_eq!(stage(&world, &sent), Stage::Acknowledged, "it was sent again and answered");
}

/// Shows W-WS-23.
#[test]
fn a_paused_delegate_orders_nobody_about() {
    let mut world = World::new();
    world.run(&user("ada"), "run.start", "{}").unwrap();
    world.run(&agent("wim"), "agent.register", "{}").unwrap();
    let boss = create(&mut world, json!({ "role": "worker", "delegate": true }));
    let ready = |id: &WorkspaceId| json!({ "type": "ready", "workspace": id }).to_string();
    world.run(&agent("wim"), "signal.emit", &ready(&boss)).unwrap();
    let below = create(&mut world, json!({ "role": "worker", "parent": boss }));
    world.run(&agent("wim"), "signal.emit", &ready(&below)).unwrap();
    world.run(&agent("tom"), "agent.register", "{}").unwrap();

    let grant = json!({ "holder": boss, "target": below }).to_string();
    let move_it = json!({ "workspace": below, "agent": "tom" }).to_string();
    world.run(&agent("wim"), "right.grant", &grant).unwrap();
    let pause = json!({ "workspace": boss }).to_string();
    world.run(&user("ada"), "workspace.suspend", &pause).unwrap();
    for (command, args) in [("right.grant", &grant), ("workspace.migrate", &move_it)] {
        let refusal = world.run(&agent("wim"), command, args).unwrap_err();
        assert_eq!(refusal.rule, Rule::CoordinatorOnly, "{command}");
    }
    world.run(&user("ada"), "workspace.resume", &pause).unwrap();
    world.run(&agent("wim"), "workspace.migrate", &move_it).unwrap();
}

/// The reasons a sender was given for what became of its mail.
fn signals(world: &World) -> Vec<String> {
    let receipt = |entry: &Stamped| match &entry.draft.event {
        Event::SignalEmitted(words)
            if words.signal == SignalType::Failed && words.about.is_some() =>
        {
            words.reason.as_ref().map(ToString::to_string)
        }
        _ => None,
    };
    world.entries.iter().filter_map(receipt).collect()
}

/// Shows W-ENV-22.
#[test]
fn a_sender_is_told_that_the_receiver_ended_and_not_that_attempts_ran_out() {
    let (mut world, _, worker) = at_work();
    world.carrier = Some(Script::of(&[Carried::Lost]));
    let sent = send(&mut world, &worker);
    let abort = json!({ "workspace": worker }).to_string();
    world.run(&user("ada"), "workspace.abort", &abort).unwrap();
    assert_eq!(stage(&world, &sent), Stage::Rejected);
    assert_eq!(signals(&world), ["target_terminal"]);
    world.pass(10);
    world.tick();
    assert_eq!(signals(&world).len(), 1, "nothing is repeated");
}

#[test]
fn attempts_that_were_never_made_are_not_on_record() {
    let (mut world, _, worker) = at_work();
    world.carrier = Some(Script::of(&[Carried::AnswerLost]));
    let sent = send(&mut world, &worker);
    let abort = json!({ "workspace": worker }).to_string();
    world.run(&user("ada"), "workspace.abort", &abort).unwrap();
    world.pass(10);
    world.tick();
    let known = world.state.envelope(&sent).unwrap();
    assert_eq!((known.status, known.attempts, known.retry_at), (Stage::Delivered, 1, None));
    assert_eq!(signals(&world), ["target_terminal"], "no answer will come");
}

/// Shows W-TRAIL-30.
#[test]
fn whoever_lost_its_work_to_another_does_not_read_everything() {
    let (mut world, _, worker) = at_work();
    let wim = agent("wim").principal;
    assert!(!access::reads_everything(&world.state, Some(&wim)));
    world.run(&agent("tom"), "agent.register", "{}").unwrap();
    let args = json!({ "workspace": worker, "agent": "tom" }).to_string();
    world.run(&user("ada"), "workspace.migrate", &args).unwrap();
    assert!(!access::reads_everything(&world.state, Some(&wim)), "it had a part in the run");
    assert!(!access::reads(&world.state, Some(&wim), &worker), "it works there no more");

    for agent in ["wim", "tom"] {
        let args = json!({ "agent": agent }).to_string();
        world.run(&user("ada"), "run.hand_over", &args).unwrap();
    }
    assert!(!access::reads_everything(&world.state, Some(&wim)), "nor is it the coordinator");
}
