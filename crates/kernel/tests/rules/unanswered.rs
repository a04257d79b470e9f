//! Gates that nobody answers: they are rejected, the work stays, people can be asked again, and
//! nobody but a person chooses that they are passed.

use crate::gates::{answer, gate_of, gated, queue, wait};
use crate::run::{Run, blob, payload, person_with};
use crate::support::{World, agent, system, user};
use althing_kernel::approvals::view::GateView;
use althing_kernel::capability::Capability;
use althing_kernel::workspace::Status;
use althing_kernel::{Caller, Command, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

fn plan(run: &mut Run) -> Value {
    let task = json!({ "key": "k", "name": "n", "description": blob(1) });
    run.ok(&Run::lead(), "task.graph", json!({ "tasks": [task] }));
    let tasks = run.world.ask("task.list", "{}");
    tasks.as_array().unwrap().last().unwrap()["task"].clone()
}

fn task_status(run: &Run, task: &Value) -> Value {
    run.world.ask("task.get", &json!({ "task": task }).to_string())["status"].clone()
}

fn shown(run: &Run, gate: &Value) -> Value {
    run.world.ask("gate.get", &json!({ "gate": gate }).to_string())
}

fn ask(run: &mut Run, who: &Caller, gate: &Value) -> GateView {
    let before = run.count();
    let again = gate_of(run.ok(who, "gate.ask", json!({ "gate": gate })));
    assert_eq!(run.kinds_since(before), [Kind::GateTriggered]);
    assert_eq!(json!(again.asks_again), *gate);
    assert_eq!(queue(run).last().unwrap()["gate"], json!(again.gate), "a person has it again");
    again
}

/// Lets the default time pass without an answer.
fn quarter_of_an_hour(run: &mut Run) {
    run.world.pass(901);
    run.world.tick();
}

/// Shows W-HH-06, W-HH-08.
#[test]
fn by_default_a_plan_nobody_approves_stays_a_draft_and_can_be_asked_about_again() {
    let mut run = Run::with_approvals(json!({}));
    let task = plan(&mut run);
    let gate = queue(&run)[0]["gate"].clone();
    assert_eq!(shown(&run, &gate)["fallback"], "reject");
    quarter_of_an_hour(&mut run);
    assert_eq!(shown(&run, &gate)["ended"]["by"], "fallback");
    assert_eq!(task_status(&run, &task), "draft", "it waits to be asked about");
    assert_eq!(shown(&run, &gate)["can_ask_again"], true);
    for (order, args, rule) in [
        ("task.approve", json!({ "tasks": [task] }), "W-HH-09"),
        ("task.assign", json!({ "task": task, "agent": "w1" }), "W-TASK-05"),
        ("gate.resolve", json!({ "gate": gate, "action": "approve" }), "W-HH-06"),
    ] {
        let refusal = run.refused(&Run::lead(), order, args, rule);
        let says = refusal.message.contains("althing gate ask");
        assert!(says || order != "task.approve", "{}", refusal.message);
    }
    run.refused(&agent("w1"), "gate.ask", json!({ "gate": gate }), "W-ROLE-04");
    let again = ask(&mut run, &Run::lead(), &gate);
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate }), "W-HH-02");
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": again.gate }), "W-HH-02");
    run.refused(&Run::lead(), "task.approve", json!({ "tasks": [task] }), "W-HH-09");
    // Nobody answers again: as often as it takes.
    quarter_of_an_hour(&mut run);
    let third = ask(&mut run, &Run::lead(), &json!(again.gate));
    answer(&mut run, &json!(third.gate), "approve");
    assert_eq!(task_status(&run, &task), "pending");
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate }), "A-HH-02");
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": third.gate }), "A-HH-02");
    run.sound();
}

#[test]
fn a_persons_no_is_not_asked_about_again() {
    let mut run = gated(&["task_approval", "workspace_abort"], "reject");
    plan(&mut run);
    let gate = queue(&run)[0]["gate"].clone();
    answer(&mut run, &gate, "reject");
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate }), "A-HH-02");
    let none = json!({ "gate": "nothing" });
    run.refused(&Run::lead(), "gate.ask", none, "W-HH-06");
    run.sound();
}

/// Shows W-HH-02, W-HH-08.
#[test]
fn a_merge_nobody_approves_leaves_the_work_finished_and_can_be_asked_about_again() {
    let mut run = gated(&["integration"], "reject");
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let accept = json!({ "workspace": work, "decision": "accept" });
    let gate = gate_of(run.ok(&Run::lead(), "integration.decide", accept.clone()));
    wait(&mut run);
    assert_eq!(run.status(&work), Status::Integrating, "the work is all there");
    let refusal = run.refused(&Run::lead(), "integration.decide", accept, "W-HH-02");
    assert!(refusal.message.contains("althing gate ask"), "{}", refusal.message);
    // To merge it in another way is another order, about which people are asked, too.
    let other = json!({ "workspace": work, "decision": "accept", "strategy": "layered" });
    let other = gate_of(run.ok(&Run::lead(), "integration.decide", other));
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate.gate }), "W-HH-02");
    wait(&mut run);
    assert_eq!(run.status(&work), Status::Integrating);
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate.gate }), "A-HH-02");
    let again = ask(&mut run, &Run::lead(), &json!(other.gate));
    answer(&mut run, &json!(again.gate), "approve");
    assert_eq!(run.status(&work), Status::Closed);
    run.refused(&Run::lead(), "gate.ask", json!({ "gate": other.gate }), "A-HH-02");
    run.sound();
}

/// Shows W-INT-20.
#[test]
fn a_salvage_nobody_approves_can_be_asked_about_again() {
    let mut run = gated(&["integration"], "reject");
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    run.ok(&user("ada"), "workspace.abort", json!({ "workspace": work }));
    let order = json!({ "workspace": work, "merged": [] });
    let gate = gate_of(run.ok(&Run::lead(), "integration.salvage", order.clone()));
    wait(&mut run);
    run.refused(&Run::lead(), "integration.salvage", order, "W-HH-02");
    let again = ask(&mut run, &Run::lead(), &json!(gate.gate));
    let before = run.count();
    answer(&mut run, &json!(again.gate), "approve");
    assert!(run.kinds_since(before).contains(&Kind::IntegrationCompleted));
    run.sound();
}

#[test]
fn a_conflict_nobody_decides_about_stays_open() {
    for (strategy, gates) in
        [("escalate", &[][..]), ("coordinator_resolve", &["conflict_resolution"][..])]
    {
        let mut run = gated(gates, "reject");
        let id = run.in_state(Status::Conflicted, json!({ "agent": "w1" }));
        let conflict = run.view(&id).conflicts[0].id.clone();
        let order = json!({ "workspace": id, "conflict": conflict, "strategy": strategy,
            "resolution": "so" });
        let gate = gate_of(run.ok(&Run::lead(), "conflict.resolve", order.clone()));
        wait(&mut run);
        assert_eq!(run.status(&id), Status::Conflicted, "{strategy}");
        run.refused(&Run::lead(), "conflict.resolve", order, "W-HH-02");
        let again = ask(&mut run, &Run::lead(), &json!(gate.gate));
        answer(&mut run, &json!(again.gate), "approve");
        assert_eq!(run.status(&id), Status::Closed, "{strategy}");
        run.sound();
    }
}

#[test]
fn a_workspace_or_an_abort_nobody_approves_is_asked_about_again_by_who_ordered_it() {
    let mut run = gated(&["workspace_create", "workspace_abort"], "reject");
    let top = json!({ "agent": "w2", "role": "worker", "directive": payload(1), "delegate": true });
    let Reply::Workspace(top) = run.ok(&user("ada"), "workspace.create", top) else { panic!() };
    let top = top.workspace;
    run.signal("w2", &top, "started");
    let below = json!({ "agent": "w3", "role": "worker", "directive": payload(1), "parent": top });
    let gate = gate_of(run.ok(&agent("w2"), "workspace.create", below));
    let abort = gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": top })));
    wait(&mut run);
    assert_eq!(run.status(&top), Status::Active, "it goes on");
    run.refused(&agent("w3"), "gate.ask", json!({ "gate": gate.gate }), "W-ROLE-04");
    let again = ask(&mut run, &agent("w2"), &json!(gate.gate));
    answer(&mut run, &json!(again.gate), "approve");
    let made = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert_eq!(run.status(&made), Status::Idle, "as it was ordered");
    run.refused(&agent("w2"), "gate.ask", json!({ "gate": gate.gate }), "A-HH-02");
    let again = ask(&mut run, &Run::lead(), &json!(abort.gate));
    answer(&mut run, &json!(again.gate), "reject");
    let late = json!({ "gate": abort.gate });
    run.refused(&Run::lead(), "gate.ask", late, "A-HH-02");
    assert_eq!(run.status(&top), Status::Active, "a person's no stays");
    run.sound();
}

#[test]
fn a_message_nobody_lets_through_goes_back_and_can_be_sent_again() {
    let mut run = gated(&["envelope_delivery"], "reject");
    let (id, root) = (run.active(), run.root.clone());
    let sent = run.send("lead", &root, &id, "feedback").unwrap();
    let gate = queue(&run)[0]["gate"].clone();
    wait(&mut run);
    let mail = run.world.ask("envelope.get", &json!({ "envelope": sent }).to_string());
    assert_eq!(mail["status"], "rejected");
    let output = run.world.ask("inbox.list", &json!({ "workspace": root }).to_string()).to_string();
    assert!(output.contains("gate_unanswered"), "{output}");
    let refusal = run.refused(&Run::lead(), "gate.ask", json!({ "gate": gate }), "A-HH-02");
    assert!(refusal.message.contains("althing send"), "{}", refusal.message);
    run.send("lead", &root, &id, "feedback").unwrap();
    let gate = queue(&run)[0]["gate"].clone();
    answer(&mut run, &gate, "approve");
    run.sound();
}

/// Each of them lets something pass people, or asks them less than by default.
fn looser() -> Vec<Value> {
    let policy = |fallback: &str| json!({ "fallback": fallback, "timeout_s": 5 });
    let escalation =
        |fallback: &str| json!({ "enabled": true, "fallback": fallback, "timeout_s": 5 });
    vec![
        json!({ "preset": "autonomous" }),
        json!({ "preset": "supervised" }),
        json!({ "gate_defaults": policy("approve") }),
        json!({ "gate_defaults": policy("escalate_to_coordinator") }),
        json!({ "preset": "gated", "gate_overrides": { "integration": policy("approve") } }),
        json!({ "preset": "gated", "gate_overrides":
            { "task_approval": policy("escalate_to_coordinator") } }),
        json!({ "escalation": escalation("approve") }),
        json!({ "escalation": escalation("delegate_to_coordinator") }),
        json!({ "escalation": { "enabled": false, "fallback": "reject", "timeout_s": null } }),
    ]
}

/// Shows W-HH-35.
#[test]
fn only_people_choose_that_people_are_passed() {
    let mut run = Run::with_approvals(json!({}));
    for wish in looser() {
        for who in [Run::lead(), agent("w1"), system()] {
            run.refused(&who, "highway.configure", wish.clone(), "A-HH-01");
        }
    }
    for who in [Run::lead(), system()] {
        run.refused(&who, "highway.configure", json!({ "gates": [] }), "W-HH-35");
        run.refused(&who, "highway.configure", json!({ "preset": "gated" }), "W-HH-35");
    }
    run.ok(&Run::lead(), "run.end", json!({}));
    let mut starts = looser();
    starts.push(json!({ "gates": [] }));
    starts.push(json!({ "gates": ["integration"] }));
    starts.push(json!({ "injection": false }));
    for wish in starts {
        for who in [Run::lead(), system()] {
            let args = json!({ "highway": wish });
            run.refused(&who, "run.start", args, "A-HH-01");
        }
    }
    run.refused(&Run::lead(), "run.start", json!({}), "A-RUN-01");
    // The system may ask more than by default, and as much.
    for wish in [json!({ "preset": "gated" }), json!({})] {
        run.ok(&system(), "run.start", json!({ "highway": wish, "agent": "lead" }));
        run.ok(&Run::lead(), "run.end", json!({}));
    }
    // Somebody who may not decide about merges does not choose that nobody does.
    let xan = person_with(&mut run.world, "xan", &[Capability::CreateWorkspaceAny]);
    let supervised = json!({ "highway": { "preset": "supervised" } });
    run.refused(&xan, "run.start", supervised.clone(), "W-USER-41");
    run.ok(&xan, "run.start", json!({ "highway": { "preset": "autonomous" } }));
    run.ok(&user("ada"), "run.end", json!({}));
    run.ok(&user("ada"), "run.start", supervised);
    run.sound();
}

#[test]
fn who_chose_it_stands_on_the_gate_and_in_the_settings() {
    let mut run = Run::with_approvals(json!({ "preset": "autonomous" }));
    let settings = |run: &Run| run.world.ask("highway.get", "{}")["chosen_by"].clone();
    assert_eq!(settings(&run), "user:ada");
    plan(&mut run);
    let gate = queue(&run)[0].clone();
    assert_eq!((&gate["fallback"], &gate["chosen_by"]), (&json!("approve"), &json!("user:ada")));
    // To change something else is not to choose it.
    crate::run::second_person(&mut run.world, "bob");
    run.ok(&user("bob"), "highway.configure", json!({ "injection": false }));
    assert_eq!(settings(&run), "user:ada");
    run.ok(&user("bob"), "highway.configure", json!({ "preset": "supervised" }));
    assert_eq!(settings(&run), "user:bob");
    let policy = json!({ "fallback": "reject", "timeout_s": null });
    run.ok(&user("bob"), "highway.configure", json!({ "gate_defaults": policy }));
    assert_eq!(settings(&run), json!(null), "nobody is passed any more");
    plan(&mut run);
    let gate = queue(&run).pop().unwrap();
    assert_eq!((&gate["chosen_by"], &gate["due"]), (&json!(null), &json!(null)));
    run.sound();
}

/// Shows W-HH-33.
#[test]
fn by_default_an_agents_question_waits_as_long_as_its_workspace_does() {
    let mut run = Run::with_approvals(json!({}));
    let id = run.active();
    let args = json!({ "workspace": id, "type": "escalation", "reason": "may I?" });
    run.ok(&agent("w1"), "signal.emit", args);
    run.world.pass(20 * 60 * 60);
    run.world.tick();
    let open = run.world.ask("escalation.list", "{}");
    assert_eq!((&open[0]["reason"], &open[0]["due"]), (&json!("may I?"), &json!(null)));
    run.sound();
}

fn without_people() -> World {
    let mut world = World::without_project();
    let create = serde_json::from_value(json!({ "name": "p", "project": "p1" })).unwrap();
    world.run_command(&system(), &Command::ProjectCreate(create)).unwrap();
    for name in ["lead", "w1", "w2", "w3", "watcher"] {
        world.run(&agent(name), "agent.register", "{}").unwrap();
    }
    world
}

/// Where nobody can be asked, agents choose; from the first sign-up on people are asked.
#[test]
fn a_run_that_began_without_people_asks_the_first_one_who_signs_up() {
    let strict = json!({ "gates": ["integration"],
        "gate_defaults": { "fallback": "escalate_to_coordinator", "timeout_s": 7 } });
    for (wish, gates, timeout) in [
        (None, json!(["task_approval"]), 900_000_000),
        (Some(json!({ "preset": "autonomous" })), json!(["task_approval"]), 30_000_000),
        (Some(strict), json!(["integration", "task_approval"]), 7_000_000),
    ] {
        let mut world = without_people();
        let start = wish.map_or_else(|| json!({}), |wish| json!({ "highway": wish }));
        let reply = world.run(&Run::lead(), "run.start", &start.to_string()).unwrap();
        let Reply::Workspace(root) = reply else { panic!() };
        let mut run = Run { world, root: root.workspace };
        let task = plan(&mut run);
        let before = run.count();
        let ada = user("ada");
        run.ok(&ada, "user.create", json!({ "user": "ada", "key": ada.key }));
        assert!(run.kinds_since(before).contains(&Kind::HighwayConfigured));
        let set = run.world.ask("highway.get", "{}");
        assert_eq!((&set["gates"], &set["chosen_by"]), (&gates, &json!(null)));
        let effective = set["effective"].as_array().unwrap();
        assert!(effective.iter().all(|own| own["fallback"] == "reject"), "{set}");
        assert!(effective.iter().all(|own| own["timeout"] == timeout), "{set}");
        assert!(!set["escalation"]["fallback"].as_str().unwrap().contains("coordinator"));
        run.refused(
            &Run::lead(),
            "highway.configure",
            json!({ "preset": "autonomous" }),
            "A-HH-01",
        );
        assert_eq!(queue(&run)[0]["task"]["task"], task, "and so are plans that were there");
        run.refused(&Run::lead(), "task.approve", json!({ "tasks": [task] }), "W-HH-09");
        let next = plan(&mut run);
        quarter_of_an_hour(&mut run);
        assert_eq!(task_status(&run, &next), "draft", "and nobody else approves it");
        run.sound();
    }
}
