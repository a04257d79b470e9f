//! Bodies are written in canonical form: serde's output is what gets hashed.

use crate::run::{Run, blob, payload, second_person, workspace_of};
use crate::support::{World, agent, system, user};
use althing_kernel::envelope::carrier::{Carried, Carrier};
use althing_kernel::workspace::Status;
use althing_kernel::{Command, Event, Kind, Reply, Stamped, WorkspaceId};
use serde_json::{Value, json};

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
    shared(&mut world);
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
    remembered(&mut world);
    connected(&mut world);
    world.pass(24 * 60 * 60);
    let note = r#"{"turned_away":1,"reason":"x","since":1}"#;
    let degraded = Command::RuntimeDegraded(serde_json::from_str(note).unwrap());
    world.run_command(&system(), &degraded).unwrap();
    let violated = r#"{"action_taken":"flagged","actual":"a","expected":"e","subject_id":"s",
        "subject_type":"trail_entry","violation":"chain_broken"}"#;
    let violated = Command::RuntimeViolated(serde_json::from_str(violated).unwrap());
    world.run_command(&system(), &violated).unwrap();
    let found = r#"{"action_taken":"quarantined","actual":"a","expected":"e","subject_id":"s",
        "subject_type":"trail_entry","violation":"chain_broken"}"#;
    let recover = format!(r#"{{"examined":1,"findings":[{found}],"left_over":1,"writers":["w"]}}"#);
    let recover = Command::RuntimeRecover(serde_json::from_str(&recover).unwrap());
    world.run_command(&system(), &recover).unwrap();
    let restored = r#"{"entries_before":7,"epoch":9}"#;
    let restored = Command::RuntimeRestored(serde_json::from_str(restored).unwrap());
    world.run_command(&system(), &restored).unwrap();
    let rekey = Command::RuntimeRekey(serde_json::from_str(r#"{"reason":"x"}"#).unwrap());
    let new = althing_kernel::Caller { key: agent("zed").key, ..system() };
    world.run_command(&new, &rekey).unwrap();
    world
}

/// A session that is used through two connections and loses them while work is bound to its lease.
fn connected(world: &mut World) {
    let who = agent("k");
    let mut session = None;
    for name in ["c1", "c2"] {
        let connection = json!({ "grace_s": 60, "name": name });
        let open = json!({ "client": "c", "connection": connection }).to_string();
        let reply = world.run(&who, "session.open", &open).unwrap();
        session = Some(crate::support::session_of(reply));
    }
    let who = crate::support::in_session(&who, &session.unwrap());
    let epoch = world.claim(&who, &["k"], 1_000).unwrap().epoch;
    let fields = json!({ "agent": "n", "claim": epoch });
    let assignment = json!({ "kind": "assignment", "text": "t", "fields": fields }).to_string();
    world.run(&who, "memory.create", &assignment).unwrap();
    let at = world.now.micros();
    let lost = ["c1", "c2"].map(|name| json!({ "name": name, "since": at }));
    let lost = serde_json::from_value(json!({ "lost": lost })).unwrap();
    world.run_command(&system(), &Command::RuntimeDisconnect(lost)).unwrap();
    world.pass(60);
    world.tick();
}

/// Writes everything on the blackboard, and every event about agents.
fn shared(world: &mut World) {
    let written = COMMANDS.lines().filter(|line| {
        let nouns = ["agent.", "symbol.", "fact.", "capsule.", "decision.", "dispute.", "ledger."];
        nouns.iter().any(|noun| line.starts_with(noun)) || line.starts_with("message.")
    });
    for line in written {
        let (name, args) = line.split_once(' ').unwrap();
        let who = match name {
            "agent.revoke" | "agent.reinstate" => user("ada"),
            _ => agent("a"),
        };
        world.run(&who, name, args).unwrap_or_else(|no| panic!("{name}: {no:?}"));
    }
}

/// Every event about records, with every field set.
fn remembered(world: &mut World) {
    let done = |world: &mut World, who: &str, name: &str, args: Value| {
        let reply = world.run(&agent(who), name, &args.to_string());
        reply.unwrap_or_else(|no| panic!("{name} {args}: {no:?}"));
    };
    let create =
        |kind: &str, fields: Value| json!({ "kind": kind, "text": "é\n", "fields": fields });
    let line = COMMANDS.lines().find(|line| line.starts_with("memory.create ")).unwrap();
    done(world, "m", "memory.create", create("plan", json!({})));
    done(world, "m", "memory.create", serde_json::from_str(&line[14..]).unwrap());
    let update = json!({ "id": "pln#1", "tags": ["x"], "text": "t", "clear": ["scope"],
        "fields": { "steps": [{ "text": "s" }] }, "request_id": "r" });
    done(world, "m", "memory.update", update);
    let lease = world.run(&agent("m"), "lease.open", r#"{"surfaces":["m"],"task":"pln_00000001"}"#);
    let epoch = lease.map(crate::support::lease_of).unwrap().epoch;
    done(
        world,
        "m",
        "memory.create",
        create(
            "message",
            json!({ "to": "n", "thread": "t",
        "requires_ack": true, "from": "m" }),
        ),
    );
    done(
        world,
        "m",
        "memory.create",
        create(
            "assignment",
            json!({ "agent": "n", "claim": epoch,
        "lane": "l", "nonce": "n", "plan_id": "pln#1", "message_id": "msg#1", "scope": "s",
        "worktree_path": "w", "status_reason": "r" }),
        ),
    );
    let (id, step) = ("asgn#1", json!({ "plan": "pln#1", "step": "stp_1", "status": "done" }));
    for to in ["accepted", "started"] {
        done(world, "n", "memory.move", json!({ "id": id, "to": to, "reason": "r" }));
    }
    done(
        world,
        "n",
        "memory.progress",
        json!({ "id": id, "text": "t", "request_id": "p",
        "artifacts": [{ "type": "t", "ref": "r", "description": "d" }] }),
    );
    done(world, "n", "memory.move", json!({ "id": id, "to": "blocked", "plan_status": "blocked" }));
    done(world, "o", "agent.register", json!({}));
    let other = json!({ "id": id, "to": "rerouted", "agent": "o", "request_id": "o" });
    done(world, "m", "memory.move", other);
    done(world, "m", "memory.move", json!({ "id": "pln#1", "to": "in_progress" }));
    done(world, "m", "memory.step", step);
    remembered_later(world);
}

/// The rest of it, some time after.
fn remembered_later(world: &mut World) {
    let done = |world: &mut World, who: &str, name: &str, args: Value| {
        let reply = world.run(&agent(who), name, &args.to_string());
        reply.unwrap_or_else(|no| panic!("{name} {args}: {no:?}"));
    };
    let create = |kind: &str, fields: Value| json!({ "kind": kind, "text": "t", "fields": fields });
    world.pass(16 * 60);
    let sign = json!({ "id": "asgn#2", "at": world.now, "evidence": "result_file" });
    done(world, "m", "memory.sweep", json!({ "signs": [sign], "request_id": "s" }));
    done(
        world,
        "m",
        "memory.create",
        create(
            "handoff",
            json!({ "diff": "d", "narrative": "n",
        "review": { "verdict": "approve", "reviewer": "r", "summary": "s",
            "blocking_issues": ["b"] },
        "contract": { "files_touched": ["f"], "linked_plans": ["p"], "post_conditions": ["c"],
            "pre_conditions": ["c"], "tests_to_verify": ["t"] } }),
        ),
    );
    done(
        world,
        "m",
        "memory.create",
        create(
            "sequence",
            json!({ "items": [
        { "plan": "pln#1", "rank": 1, "lane": "l", "scope_hint": "s" },
        { "plan": "pln#2", "rank": 2, "hard_after": ["pln#1"], "soft_after": ["pln#1"] }] }),
        ),
    );
    done(
        world,
        "m",
        "memory.create",
        create(
            "loop",
            json!({ "loop_kind": "review", "phase": "change_summary",
        "stop_conditions": "s", "slots": [{ "id": "s", "agent": "o", "role": "r",
            "assignment": "asgn#2" }] }),
        ),
    );
    done(world, "o", "memory.turn", json!({ "loop": "lop#1", "slot": "s", "outcome": "o" }));
    acted(world);
    let lane = json!({ "fields": { "agent": "n", "nonce": "n", "scope": "s" }, "surfaces": ["off"],
        "text": "t", "thread": "t", "ttl_s": 60 });
    done(world, "m", "memory.offer", json!({ "lanes": [lane], "request_id": "of" }));
    done(
        world,
        "m",
        "memory.create",
        create(
            "trap",
            json!({ "expires_at": world.now,
        "platform_scope": "p", "severity": "low", "verified_at": 1, "verify_cmd": "c",
        "visibility": "private", "related_paths": ["p"] }),
        ),
    );
    world.pass(1);
    world.tick();
    done(world, "m", "memory.archive", json!({ "id": "trp#1", "reason": "r", "request_id": "a" }));
}

/// Every act in a loop, with every field that somebody can give.
fn acted(world: &mut World) {
    let done = |world: &mut World, id: &str, act: Value| {
        let args = json!({ "act": act, "id": id, "request_id": act.to_string() }).to_string();
        world.run(&agent("m"), "memory.loop", &args).unwrap_or_else(|no| panic!("{act}: {no:?}"));
    };
    let artifact = json!({ "description": "d", "ref": "r", "type": "t" });
    done(world, "lop#1", json!({ "add_artifact": { "artifact": artifact } }));
    done(world, "lop#1", json!({ "takeover": { "agent": "n", "slot": "s" } }));
    done(world, "lop#1", json!({ "turn": { "slot": "s", "text": "t" } }));
    done(world, "lop#1", json!({ "ask": { "slot": "s", "text": "t" } }));
    let answer = json!({ "act": { "answer": { "message": null, "text": "t" } }, "id": "lop#1" });
    world.run(&agent("n"), "memory.loop", &answer.to_string()).unwrap();
    done(world, "lop#1", json!({ "advance": { "phase": "findings" } }));
    let fields = json!({ "loop_kind": "debug", "slots": [{ "id": "s", "agent": "n" }] });
    let open = json!({ "kind": "loop", "text": "t", "fields": fields }).to_string();
    world.run(&agent("m"), "memory.create", &open).unwrap();
    for phase in ["diagnose", "fix", "verify"] {
        done(world, "lop#2", json!({ "advance": { "phase": phase } }));
    }
    done(world, "lop#2", json!({ "verify": { "reason": "r", "verdict": "failed" } }));
}

/// One is shown another, asked to finish, does not, and leaves something to be saved.
fn ending(run: &mut Run, other: &WorkspaceId) {
    let lead = Run::lead();
    let slow = run.in_state(Status::Active, json!({ "agent": "w1" }));
    let shows = json!({ "workspace": slow, "target": other, "reason": "r" });
    run.ok(&lead, "workspace.grant_visibility", shows);
    run.checkpoint("w1", &slow, "artifact", &["a"]);
    let ends = json!({ "workspace": slow, "grace_s": 5, "reason": "r" });
    run.ok(&lead, "workspace.terminate", ends);
    run.world.pass(6);
    run.world.tick();
    let saves = json!({ "workspace": slow, "merged": [{ "path": "a", "content": blob(1) }],
        "reason": "r" });
    run.ok(&lead, "integration.salvage", saves);
}

/// The same for runs: everything that happens in workspaces.
fn everything_at_work() -> Vec<althing_kernel::Stamped> {
    let taxonomy = json!({ "id": "t", "version": "1", "protocol_version": "0.1",
        "roles": [{ "name": "tester", "extends": "worker",
            "add": [{ "action": "create", "target": "report" }],
            "remove": [{ "action": "send", "target": "query" }],
            "override": { "checkpoint_types": ["artifact"] } }],
        "envelope_types": [{ "name": "note", "description": "d",
            "permissions": [{ "sender_role": "worker", "receiver_role": "tester" }] }],
        "checkpoint_types": [{ "name": "report", "permitted_roles": ["tester"],
            "required_fields": ["content"] }] });
    let mut run = Run::with_taxonomy(Some(taxonomy));
    let (lead, w1, root) = (Run::lead(), agent("w1"), run.root.clone());
    second_person(&mut run.world, "bob");
    let words = |id: &WorkspaceId| json!({ "workspace": id, "reason": "r" });
    // A workspace with everything, paused, moved, and given up in the middle of a move.
    let limits = json!({ "token_limit": 100, "compute_timeout": 3_600_000_000_u64 });
    let full = json!({ "agent": "w1", "owner": "ada", "authority": ["src"], "context": blob(1),
        "budget": limits, "group": "g", "liveness_interval_s": 60, "warn_at_percent": 50,
        "mounts": ["m"], "visibility": [root], "delegate": true, "global_trail": true });
    let id = run.in_state(Status::Active, full);
    let write = json!({ "workspace": id, "path": "src/\"é", "content": blob(1) });
    run.ok(&w1, "workspace.write", write);
    raised(&mut run, &id);
    run.ok(&lead, "workspace.suspend", words(&id));
    run.ok(&lead, "workspace.resume", json!({ "workspace": id }));
    let move_to = json!({ "workspace": id, "agent": "w3", "reason": "r" });
    run.ok(&lead, "workspace.migrate", move_to.clone());
    run.signal("w3", &id, "ready");
    let move_back = json!({ "workspace": id, "agent": "w1", "reason": "r" });
    run.ok(&lead, "workspace.migrate", move_back);
    let child = run.in_state(Status::Active, json!({ "agent": "w2", "owner": "bob" }));
    let _ = child;
    run.ok(&lead, "workspace.abort", words(&id));
    ending(&mut run, &id);
    // Rights of all sorts, mail that is lost, comes twice, and is refused.
    let other = run.in_state(Status::Active, json!({ "agent": "w2", "owner": "ada" }));
    let below = json!({ "agent": "w3", "owner": "bob", "parent": other });
    run.in_state(Status::Suspended, below);
    let once = json!({ "holder": other, "target": root, "once": true });
    run.ok(&lead, "right.grant", once);
    let lasting = run.world.state.rights().find(|(_, right)| {
        let sends = right.kind == althing_kernel::right::RightType::Send;
        sends && right.holder == other && right.target == root
    });
    let lasting = lasting.unwrap().0.clone();
    run.ok(&lead, "right.revoke", json!({ "right": lasting, "reason": "r" }));
    run.send("w2", &other, &root, "query").unwrap();
    run.send("w2", &other, &root, "query").unwrap_err();
    let travels = json!({ "holder": root, "target": root });
    let Reply::Right(right) = run.ok(&lead, "right.grant", travels) else { panic!() };
    run.world.carrier = Some(Box::new(Flaky(0)));
    let mut full = json!({ "to": other, "type": "feedback", "priority": "urgent",
        "rights": [right.right], "payload": payload(1) });
    full["payload"]["attachments"] = json!([blob(2)]);
    run.ok(&lead, "envelope.send", full);
    run.send("lead", &root, &other, "feedback").unwrap();
    for _ in 0..4 {
        run.world.pass(10);
        run.world.tick();
    }
    run.ok(&agent("w2"), "inbox.take", json!({ "workspace": other }));
    run.ok(&lead, "workspace.abort", words(&other));
    run.world.carrier = None;
    tried_again(&mut run);
    run.in_state(Status::Conflicted, json!({ "agent": "w1" }));
    used_up(&mut run);
    let denied = r#"{"filter_digest":"x","requester":"agent:w1","scope":"s"}"#;
    let denied = Command::TrailDenied(serde_json::from_str(denied).unwrap());
    run.world.run_command(&system(), &denied).unwrap();
    // What ended goes to an archive, and the archive goes.
    let hash = althing_kernel::Blob::from_digest([1; 32]);
    let moved = json!({ "archived": 1, "preserved": 1, "range": { "from": 1, "to": 2 },
        "workspace": other });
    let compact = json!({ "archive": 1, "hash": hash, "workspaces": [moved] });
    let compact = Command::TrailCompact(serde_json::from_value(compact).unwrap());
    run.world.run_command(&system(), &compact).unwrap();
    let prune = json!({ "archives": [1], "asked_by": "user:ada", "floor_hash": hash,
        "floor_seq": 9, "retention_s": 0 });
    let prune = Command::TrailPrune(serde_json::from_value(prune).unwrap());
    run.world.run_command(&system(), &prune).unwrap();
    let note = json!({ "entry_count": 1, "head_hash": "h", "snapshot_hash": hash,
        "up_to_entry": 1, "up_to_timestamp": 1 });
    let note = Command::TrailSnapshot(serde_json::from_value(note).unwrap());
    run.world.run_command(&system(), &note).unwrap();
    run.do_(&w1, "workspace.create", json!({ "agent": "w1", "role": "worker" })).unwrap_err();
    people_come_and_go(&mut run);
    run.ok(&lead, "run.hand_over", json!({ "agent": "w2" }));
    run.ok(&user("ada"), "run.end", json!({ "force": true, "reason": "r" }));
    run.world.entries
}

/// A person is suspended and resumed, loses and regains capabilities, and is given work.
fn people_come_and_go(run: &mut Run) {
    let (ada, of_bob) = (user("ada"), json!({ "user": "bob", "reason": "r" }));
    let why = json!({ "user": "bob", "condition": "c" });
    run.ok(&ada, "user.suspend", of_bob.clone());
    run.do_(&user("bob"), "lease.open", json!({ "surfaces": ["z"] })).unwrap_err();
    run.ok(&ada, "user.resume", of_bob.clone());
    run.ok(&ada, "user.block", why.clone());
    run.ok(&ada, "user.unblock", why);
    run.ok(&ada, "user.deactivate", of_bob.clone());
    run.ok(&ada, "user.reactivate", of_bob);
    let less = json!({ "user": "bob", "capability": "abort_any", "reason": "r" });
    run.ok(&ada, "capability.revoke", less);
    let at = run.active();
    run.do_(&user("bob"), "workspace.abort", json!({ "workspace": at })).unwrap_err();
    run.ok(&ada, "capability.grant", json!({ "user": "bob", "capability": "abort_any" }));
    let moved = json!({ "workspace": at, "to": "bob", "reason": "r" });
    run.ok(&ada, "workspace.transfer", moved);
    run.ok(&Run::lead(), "inbox.take", json!({}));
}

/// A task that fails, is tried again and merged; checkpoints and conflicts.
fn tried_again(run: &mut Run) {
    let (lead, w1) = (Run::lead(), agent("w1"));
    let plan = json!({ "tasks": [{ "key": "k", "name": "n", "description": blob(1),
        "priority": "urgent", "estimate": { "cost": 1, "tokens": 1, "wall_time_s": 1 } }] });
    let Reply::Graph(graph) = run.ok(&lead, "task.graph", plan) else { panic!() };
    let task = graph.tasks["k"].clone();
    run.ok(&lead, "task.approve", json!({ "graph": graph.graph }));
    for end in ["reject", "accept"] {
        let args = json!({ "task": task, "agent": "w1" });
        let at = workspace_of(run.ok(&lead, "task.assign", args)).workspace;
        run.signal("w1", &at, "started");
        let wrong = json!({ "workspace": at, "type": "report", "status": "final", "intent": "i" });
        run.do_(&w1, "checkpoint.create", wrong).unwrap_err();
        let files = json!([{ "path": "a", "content": blob(1) }, { "path": "b" }]);
        let right = json!({ "workspace": at, "type": "artifact", "status": "final", "intent": "i",
            "content": blob(1), "files_changed": files,
            "artifacts": [{ "name": "n", "content": blob(1) }],
            "resource_usage": { "cost": 1, "tokens_consumed": 1, "wall_time": 1 } });
        run.ok(&w1, "checkpoint.create", right);
        run.signal("w1", &at, "complete");
        if end == "reject" {
            let args = json!({ "workspace": at, "decision": end, "reason": "r" });
            run.ok(&lead, "integration.decide", args);
            run.ok(&lead, "task.retry", json!({ "task": task }));
            continue;
        }
        let args = json!({ "workspace": at, "decision": end, "strategy": "evaluated",
            "merged": files, "conflicts": [{ "type": "content_overlap", "description": "d",
                "resources": ["a"] }] });
        let Reply::Integration(found) = run.ok(&lead, "integration.decide", args) else { panic!() };
        let args = json!({ "workspace": at, "conflict": found.conflicts[0].id, "merged": files,
            "strategy": "coordinator_resolve", "resolution": "r" });
        run.ok(&lead, "conflict.resolve", args);
    }
}

/// The same for what people are asked and say.
fn every_approval() -> Vec<althing_kernel::Stamped> {
    let overrides = json!({ "integration": { "fallback": "reject", "timeout_s": null } });
    let mut run = Run::with_approvals(json!({ "preset": "gated", "gate_overrides": overrides }));
    let (lead, ada, root) = (Run::lead(), user("ada"), run.root.clone());
    let mut full = json!({ "agent": "w1", "role": "worker", "directive": payload(1),
        "authority": ["src"], "context": blob(1), "mounts": ["m"], "visibility": [root] });
    full["directive"]["attachments"] = json!([blob(2)]);
    run.ok(&lead, "workspace.create", full);
    let defaults = json!({ "fallback": "escalate_to_coordinator", "timeout_s": 5 });
    let escalation = json!({ "enabled": true, "fallback": "approve", "timeout_s": 5 });
    let wish = json!({ "gate_defaults": defaults, "escalation": escalation });
    run.ok(&ada, "highway.configure", wish);
    let words = json!({ "to": root, "type": "directive", "payload": payload(1) });
    let Reply::Envelope(words) = run.ok(&ada, "highway.inject", words) else { panic!() };
    let open = |run: &Run| run.world.ask("gate.list", "{}")[0]["gate"].clone();
    let args = json!({ "gate": open(&run), "action": "modify", "reason": "r",
        "modifications": { "workspace_priority": "critical", "visibility": [] } });
    run.ok(&ada, "gate.resolve", args);
    let caused = json!({ "agent": "w2", "role": "worker", "directive": payload(1),
        "caused_by": words.envelope });
    run.ok(&lead, "workspace.create", caused);
    run.world.pass(6);
    run.world.tick();
    let gate = run.world.ask("gate.list", r#"{"all":true}"#)[1]["gate"].clone();
    run.ok(&lead, "gate.resolve", json!({ "gate": gate, "action": "approve" }));
    let id = run.world.ask("workspace.list", r#"{"agent":"w2"}"#)[0]["workspace"].clone();
    let args = json!({ "workspace": id, "type": "escalation", "reason": "r" });
    run.ok(&agent("w2"), "signal.emit", json!({ "workspace": id, "type": "started" }));
    run.ok(&agent("w2"), "signal.emit", args);
    run.world.pass(6);
    run.world.tick();
    let abort = json!({ "workspace": id, "reason": "r" });
    run.ok(&lead, "workspace.abort", abort);
    run.sound();
    run.world.entries
}

/// A workspace is given more, hurried, and falls silent.
fn raised(run: &mut Run, id: &WorkspaceId) {
    let (lead, w1) = (Run::lead(), agent("w1"));
    let more = json!({ "token_limit": 200, "compute_timeout": 7_200_000_000_u64 });
    run.ok(&lead, "workspace.modify_budget", json!({ "workspace": id, "limits": more }));
    run.ok(&lead, "workspace.batch_priority", json!({ "group": "g", "priority": "critical" }));
    run.ok(&w1, "meter.report", json!({ "workspace": id, "tokens": 1, "cost": 1 }));
    run.world.pass(61);
    run.world.tick();
}

/// A budget that is used up in one step, and a group that is given up.
fn used_up(run: &mut Run) {
    let (lead, w1) = (Run::lead(), agent("w1"));
    let limited = json!({ "agent": "w1", "budget": { "token_limit": 10 }, "group": "h" });
    let id = run.in_state(Status::Active, limited);
    let warned = json!({ "workspace": id, "type": "blocked", "reason": "r", "budget_warning":
        { "consumed": 8, "dimension": "token_limit", "limit": 10 } });
    run.ok(&w1, "signal.emit", warned);
    run.ok(&w1, "meter.report", json!({ "workspace": id, "tokens": 10 }));
    run.ok(&lead, "workspace.batch_abort", json!({ "group": "h", "reason": "r" }));
}

/// Loses the first answer and everything after.
struct Flaky(u32);

impl Carrier for Flaky {
    fn carry(&mut self, _: &althing_kernel::EnvelopeId, _: u8) -> Carried {
        self.0 += 1;
        match self.0 {
            1 | 3 => Carried::AnswerLost,
            _ => Carried::Lost,
        }
    }
}

/// Entries of a trail from before projects recorded their rules version.
fn on_an_earlier_trail() -> Vec<Stamped> {
    let mut first = World::new().entries[0].clone();
    let Event::ProjectCreated(body) = &mut first.draft.event else { panic!("{first:?}") };
    body.rules = None;
    let mut earlier = World::without_project();
    earlier.state.apply(&first).unwrap();
    earlier.run(&agent("alice"), "agent.register", "{}").unwrap();
    earlier.entries
}

fn holds(kind: Kind, event: &Event) {
    let written = serde_json::to_string(&Body(event)).unwrap();
    let value: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written, serde_json_canonicalizer::to_string(&value).unwrap(), "{kind}");
    assert_eq!(&Event::read(kind, &written).unwrap(), event, "{kind}");
    assert_eq!(kind.as_str().parse(), Ok(kind));
}

/// Shows W-TRAIL-01, W-TRAIL-22, W-EVT-01.
#[test]
fn every_kind_of_event_is_written_in_canonical_form_and_read_back() {
    let entries: Vec<_> = everything()
        .entries
        .into_iter()
        .chain(everything_at_work())
        .chain(every_approval())
        .chain(on_an_earlier_trail())
        .chain(crate::in_git::everything())
        .collect();
    let mut produced = 0;
    for kind in Kind::ALL {
        let mut found = entries.iter().filter(|entry| entry.draft.event.kind() == *kind).peekable();
        assert!(found.peek().is_some(), "{kind} does not happen");
        for entry in found {
            produced += 1;
            holds(*kind, &entry.draft.event);
        }
    }
    assert!(produced > 200);
}

/// Shows W-EVT-01, W-TRAIL-06.
#[test]
fn the_registry_is_the_protocols_and_ours_beside_it() {
    let of_protocol = Kind::ALL.iter().filter(|kind| !kind.as_str().contains('.')).count();
    assert_eq!(of_protocol, 72);
    assert!("workspace_exploded".parse::<Kind>().is_err());
}

/// Every command that callers can issue, with every field set. BLOB and KEY stand for one of each.
const COMMANDS: &str = include_str!("commands.txt");

#[test]
fn commands_are_written_in_canonical_form() {
    let blob = format!(r#"{{"blob":"sha256:{}"}}"#, "0".repeat(64));
    let text = COMMANDS.replace("BLOB", &blob).replace("KEY", &user("u").key.to_string());
    for line in text.lines() {
        let (name, args) = line.split_once(' ').unwrap();
        let command = Command::read(name, args).unwrap().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(command.name(), name);
        let written = command.args().unwrap().get().to_owned();
        assert_eq!(written, args);
        assert!(Command::schema(name).is_some());
    }
    let listed = text.lines().count();
    assert_eq!(Command::DOORS.len(), listed, "every command that has a door is in the list");
}
