//! Runs on a running engine: content, signatures, precedence, and permissions to read.

use crate::support::{Project, agent};
use althing_engine::blobs::Blobs;
use althing_engine::trail_query::TrailQuery;
use althing_engine::{Client, Engine, EngineError, ErrorKind, Keyring, Signing, snapshot, verify};
use althing_kernel::content::Blob;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{AgentName, Command, Kind, Principal, Reply, Span, UserId, WorkspaceId};
use althing_trail::Store as _;
use althing_trail::log::sqlite::SqliteStore;
use althing_trail::verify::Options;
use serde_json::{Value, json};
use std::sync::mpsc;

fn do_(client: &Client, name: &str, args: &Value) -> Result<Reply, EngineError> {
    client.execute(Command::read(name, &args.to_string()).unwrap().unwrap())
}

fn ok(client: &Client, name: &str, args: &Value) -> Reply {
    do_(client, name, args).unwrap_or_else(|error| panic!("{name} {args}: {error}"))
}

fn workspace(reply: Reply) -> WorkspaceView {
    match reply {
        Reply::Workspace(view) => *view,
        other => panic!("{other:?}"),
    }
}

fn person(project: &Project, engine: &Engine, name: &str) -> Client {
    let id = UserId::new(name).unwrap();
    let credential = Keyring::of(&project.home).new_user(&id, "a long passphrase").unwrap();
    let key = credential.key().public();
    let client = engine.client(credential, Signing::Each);
    ok(&client, "user.create", &json!({ "user": name, "key": key }));
    client
}

/// A run of `lead` with one worker, `w1`, at work.
fn at_work(engine: &Engine, timeout_s: u64) -> (Client, Client, WorkspaceId) {
    let (lead, w1) = (agent(engine, "lead"), agent(engine, "w1"));
    ok(&w1, "agent.register", &json!({}));
    ok(&lead, "run.start", &json!({}));
    let args = json!({ "agent": "w1", "role": "worker", "timeout_s": timeout_s,
        "directive": { "content": { "text": "Write the parser." } } });
    let id = workspace(ok(&lead, "workspace.create", &args)).workspace;
    ok(&w1, "signal.emit", &json!({ "type": "ready" }));
    (lead, w1, id)
}

fn status(engine: &Engine, id: &WorkspaceId) -> (Status, Option<Trigger>) {
    let world = engine.world().unwrap();
    let (_, known) = world.state.workspaces().find(|(own, _)| *own == id).unwrap();
    (known.status, known.ended)
}

fn entries(engine: &Engine, kind: Kind) -> Vec<String> {
    let query = TrailQuery { kinds: vec![kind], limit: Some(1_000), ..TrailQuery::default() };
    let found = query.find(&mut *engine.reader().unwrap()).unwrap();
    found.into_iter().map(|found| found.line).collect()
}

/// Shows W-ENV-13, W-ENV-25, W-CP-12, W-TRAIL-10.
#[test]
fn content_is_stored_before_it_is_cited_and_never_stands_in_the_trail() {
    let project = Project::new();
    let engine = project.open();
    let (lead, w1, id) = at_work(&engine, 1_000);
    let Reply::Mail(mail) = ok(&w1, "inbox.take", &json!({})) else { panic!() };
    let directive = &mail.envelopes[0].payload.content;
    let blobs = Blobs::of(&project.home);
    assert_eq!(blobs.get(directive).unwrap(), b"Write the parser.");
    let secret = "the words of a checkpoint";
    let args = json!({ "type": "artifact", "status": "final", "intent": "i",
        "files_changed": [{ "path": "a", "content": { "text": secret } }] });
    ok(&w1, "checkpoint.create", &args);
    let mut log = engine.reader().unwrap();
    let all = log.tail(0, usize::MAX).unwrap();
    assert!(all.iter().all(|commit| !commit.lines.contains(secret)));
    assert!(all.iter().all(|commit| !commit.lines.contains("Write the parser.")));
    // Content cited by name must exist.
    let nowhere = json!({ "blob": Blob::from_digest([1; 32]).to_string() });
    let before = engine.world().unwrap().seq();
    let args = json!({ "to": id, "type": "feedback", "payload": { "content": nowhere } });
    let error = do_(&lead, "envelope.send", &args).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(matches!(error, EngineError::Refused(_)), "it is on record");
    assert_eq!(engine.world().unwrap().seq(), before + 1, "nothing came of it but its refusal");
}

/// Shows W-SEC-13, W-HH-35.
#[test]
fn one_entry_of_each_command_is_signed_by_its_caller() {
    let project = Project::new();
    let engine = project.open();
    let ada = person(&project, &engine, "ada");
    for name in ["lead", "w1", "w2"] {
        ok(&agent(&engine, name), "agent.register", &json!({}));
    }
    let (lead, w1) = (agent(&engine, "lead"), agent(&engine, "w1"));
    // The first person signed up, and three agents registered.
    let mut signed = 4;
    let mut done = |client: &Client, name: &str, args: Value| {
        signed += 1;
        ok(client, name, &args)
    };
    done(&ada, "run.start", json!({ "agent": "lead" }));
    let plan = json!({ "tasks": [
        { "key": "a", "name": "a", "description": { "text": "first" } },
        { "key": "b", "name": "b", "description": { "text": "then" }, "depends_on": ["a"] }] });
    let Reply::Graph(graph) = done(&ada, "task.graph", plan) else { panic!() };
    done(&ada, "task.approve", json!({ "graph": graph.graph }));
    let assign = json!({ "task": graph.tasks["a"], "agent": "w1" });
    let id = workspace(done(&ada, "task.assign", assign)).workspace;
    done(&w1, "inbox.take", json!({}));
    done(&w1, "signal.emit", json!({ "type": "started" }));
    done(&ada, "workspace.suspend", json!({ "workspace": id, "reason": "lunch" }));
    done(&ada, "workspace.resume", json!({ "workspace": id }));
    let files = json!([{ "path": "a", "content": { "text": "x" } }]);
    done(
        &w1,
        "checkpoint.create",
        json!({ "type": "artifact", "status": "final", "intent": "i",
        "files_changed": files }),
    );
    done(&w1, "signal.emit", json!({ "type": "complete" }));
    let merged = json!({ "workspace": id, "decision": "accept", "strategy": "evaluated",
        "merged": files, "conflicts": [{ "type": "content_overlap", "description": "d" }] });
    let Reply::Integration(found) = done(&ada, "integration.decide", merged) else { panic!() };
    let resolve = json!({ "workspace": id, "conflict": found.conflicts[0].id,
        "strategy": "coordinator_resolve", "resolution": "ours" });
    done(&ada, "conflict.resolve", resolve);
    let assign = json!({ "task": graph.tasks["b"], "agent": "w2" });
    let second = workspace(done(&lead, "task.assign", assign)).workspace;
    done(&ada, "workspace.abort", json!({ "workspace": second }));
    done(&ada, "task.retry", json!({ "task": graph.tasks["b"] }));
    done(&ada, "task.cancel", json!({ "task": graph.tasks["b"] }));
    done(&ada, "run.hand_over", json!({}));
    done(&ada, "run.end", json!({ "reason": "done" }));
    // Refused commands are signed too.
    signed += 1;
    do_(&ada, "run.end", &json!({})).unwrap_err();
    let mut log = engine.reader().unwrap();
    let options = Options { every_signature: true, ..Options::default() };
    match verify::verify(&project.home, &mut *log, options, &mut |_, _| {}).unwrap() {
        verify::Verdict::Sound(report) => assert_eq!(report.trail.caller_signatures, signed),
        other => panic!("{other:?}"),
    }
}

/// Shows W-CONC-02, W-CONC-01.
#[test]
fn an_abort_precedes_agents_commands_and_overdue_deadlines() {
    let project = Project::new();
    let engine = project.open();
    let (lead, w1, id) = at_work(&engine, 1_000);
    // Another writer holds the turn, so that all of these wait and share a commit.
    let store = SqliteStore { path: project.home.store().to_owned(), bytes_max: None };
    let mut other = store.writer().unwrap();
    other.hold().unwrap();
    let (send, receive) = mpsc::channel();
    let submit = |client: &Client, name: &str, args: Value| {
        let command = Command::read(name, &args.to_string()).unwrap().unwrap();
        let send = send.clone();
        let name = name.to_owned();
        client.submit(command, Box::new(move |answer| drop(send.send((name, answer))))).unwrap()
    };
    let (first, second) = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Let both get into the queue.
            std::thread::sleep(std::time::Duration::from_millis(300));
            other.release();
        });
        let args = json!({ "type": "complete", "workspace": id });
        submit(&w1, "signal.emit", args);
        submit(&lead, "workspace.abort", json!({ "workspace": id }));
        (receive.recv().unwrap(), receive.recv().unwrap())
    });
    let abort = if first.0 == "workspace.abort" { &first } else { &second };
    let signal = if first.0 == "workspace.abort" { &second } else { &first };
    assert!(abort.1.is_ok(), "{abort:?}");
    match signal.1.as_ref().unwrap() {
        Reply::Signal(reply) => assert!(!reply.effect, "it came too late"),
        other => panic!("{other:?}"),
    }
    assert_eq!(status(&engine, &id), (Status::Failed, Some(Trigger::AbortedByCoordinator)));

    // Overdue and aborted in the same commit: the abort counts.
    let args = json!({ "agent": "w1", "role": "worker", "timeout_s": 10,
        "directive": { "content": { "text": "again" } } });
    let id = workspace(ok(&lead, "workspace.create", &args)).workspace;
    ok(&w1, "signal.emit", &json!({ "type": "ready" }));
    project.clock.pass(Span::from_secs(60));
    ok(&lead, "workspace.abort", &json!({ "workspace": id }));
    assert_eq!(status(&engine, &id), (Status::Failed, Some(Trigger::AbortedByCoordinator)));
}

/// Shows W-CONC-05, W-CLK-06.
#[test]
fn a_due_timeout_precedes_an_agents_command() {
    let project = Project::new();
    let engine = project.open();
    let (_, w1, id) = at_work(&engine, 10);
    project.clock.pass(Span::from_secs(60));
    let late = ok(&w1, "signal.emit", &json!({ "type": "complete", "workspace": id }));
    assert!(matches!(late, Reply::Signal(reply) if !reply.effect));
    assert_eq!(status(&engine, &id), (Status::Failed, Some(Trigger::Timeout)));
}

#[test]
fn expiry_is_shown_before_it_is_recorded() {
    use althing_kernel::query::{Answer, Query};
    let project = Project::new();
    let engine = project.open();
    let (_, _, id) = at_work(&engine, 10);
    project.clock.pass(Span::from_secs(60));
    let before = engine.world().unwrap().seq();
    let query = Query::read("workspace.list", r#"{"status":"failed"}"#).unwrap().unwrap();
    let Answer::Workspaces(failed) = engine.ask(&query).unwrap() else { panic!() };
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].workspace.clone(), failed[0].ended), (id, Some(Trigger::Timeout)));
    assert_eq!(engine.world().unwrap().seq(), before, "asking records nothing");
}

/// Shows W-TRAIL-30, W-TRAIL-31, W-ID-10, W-TRAIL-34.
#[test]
fn a_worker_reads_its_own_local_trail_and_the_rest_is_empty_for_it() {
    let project = Project::new();
    let engine = project.open();
    let (lead, _, id) = at_work(&engine, 1_000);
    let other = agent(&engine, "w2");
    ok(&other, "agent.register", &json!({}));
    let args = json!({ "agent": "w2", "role": "worker",
        "directive": { "content": { "text": "another" } } });
    let foreign = workspace(ok(&lead, "workspace.create", &args)).workspace;
    let named = |name: &str| Principal::Agent(AgentName::new(name).unwrap());
    let w1 = named("w1");
    let look = |workspace: Option<&WorkspaceId>, viewer: Option<&Principal>| {
        let query = TrailQuery {
            workspace: workspace.cloned(),
            limit: Some(1_000),
            ..TrailQuery::default()
        };
        match engine.narrowed(query, viewer).unwrap() {
            Some(query) => query.find(&mut *engine.reader().unwrap()).unwrap(),
            None => Vec::new(),
        }
    };
    let own = look(Some(&id), Some(&w1));
    assert!(own.len() > 3);
    let broad = look(None, Some(&w1));
    let mine = |found: &althing_engine::trail_query::Found| {
        found.entry.stamped.draft.workspace.as_ref() == Some(&id)
    };
    assert!(broad.len() >= own.len() && broad.iter().all(mine), "its own, whatever it asks");
    assert!(entries(&engine, Kind::TrailAccessDenied).is_empty());
    assert!(look(Some(&foreign), Some(&w1)).is_empty(), "empty, not an error");
    let denied = entries(&engine, Kind::TrailAccessDenied);
    assert_eq!(denied.len(), 1);
    assert!(denied[0].contains(foreign.as_str()) && denied[0].contains("agent:w1"));
    let all = look(None, Some(&named("lead")));
    assert!(all.len() > broad.len(), "the coordinator reads everything");
    assert_eq!(look(None, None).len(), all.len(), "and so do people");
    assert!(engine.check_reads_everything(Some(&w1)).is_err());
}

/// Shows W-CLK-05, W-TRAIL-41, W-WS-06.
#[test]
fn a_run_goes_on_after_a_restart_from_the_trail_or_a_snapshot() {
    let project = Project::new();
    let (id, image) = {
        let engine = project.open();
        let (_, w1, id) = at_work(&engine, 1_000);
        ok(&w1, "signal.emit", &json!({ "type": "blocked", "reason": "waiting" }));
        let world = engine.world().unwrap();
        snapshot::save(&project.home, &world).unwrap();
        (id, world.state.image())
    };
    let engine = project.open();
    assert_eq!(engine.world().unwrap().state.image(), image, "from the snapshot");
    std::fs::remove_dir_all(project.home.snapshots()).unwrap();
    let engine = project.open();
    assert_eq!(engine.world().unwrap().state.image(), image, "from the trail alone");
    ok(&agent(&engine, "w1"), "signal.emit", &json!({ "type": "started" }));
    assert_eq!(status(&engine, &id).0, Status::Active);
}

#[test]
fn history_shows_workspaces_and_tasks_as_they_were() {
    use althing_engine::history::{Moment, at, diff};
    let project = Project::new();
    let engine = project.open();
    let (lead, w1, id) = at_work(&engine, 1_000);
    let plan = json!({ "tasks": [{ "key": "a", "name": "a", "description": { "text": "x" } }] });
    ok(&lead, "task.graph", &plan);
    let then = Moment { seq: Some(engine.world().unwrap().seq()), time: None };
    ok(&w1, "signal.emit", &json!({ "type": "blocked", "reason": "r" }));
    ok(&lead, "workspace.abort", &json!({ "workspace": id }));
    let past = at(&engine, then).unwrap();
    assert_eq!(past.workspaces.len(), 2);
    assert_eq!((past.workspaces[1].status, past.tasks.len()), (Status::Active, 1));
    let change = diff(&engine, then, Moment::default()).unwrap();
    assert_eq!(change.workspaces.changed.len(), 1, "the root stood as it stands");
    assert_eq!(change.workspaces.changed[0].status, Status::Failed);
    assert!(change.workspaces.added.is_empty() && change.tasks.changed.is_empty());
}

#[test]
fn texts_of_the_runtime_match_their_hash_and_are_stored_in_time() {
    use althing_kernel::approvals::escalation::{PROCEED, proceed};
    let project = Project::new();
    let engine = project.open();
    let blobs = Blobs::of(&project.home);
    assert!(!blobs.has(&proceed()).unwrap());
    ok(&agent(&engine, "lead"), "run.start", &json!({}));
    assert_eq!(blobs.get(&proceed()).unwrap(), PROCEED.as_bytes());
}
