//! Integrity of envelopes, checkpoints and content, and access to content.

use crate::support::{Project, agent};
use althing_engine::blobs::Blobs;
use althing_engine::trail_query::{ENTRIES_MAX, TrailQuery};
use althing_engine::{Client, Engine, EngineError, snapshot};
use althing_kernel::query::{Answer, Query};
use althing_kernel::workspace::Status;
use althing_kernel::{
    AgentName, Blob, Command, Event, Kind, Principal, RefusalKind, Reply, Rule, Stamped,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn do_(client: &Client, name: &str, args: &Value) -> Result<Reply, EngineError> {
    client.execute(Command::read(name, &args.to_string()).unwrap().unwrap())
}

fn ok(client: &Client, name: &str, args: &Value) -> Value {
    let reply = do_(client, name, args).unwrap_or_else(|error| panic!("{name} {args}: {error}"));
    serde_json::to_value(reply).unwrap()
}

fn all(engine: &Engine) -> Vec<Stamped> {
    let query = TrailQuery { limit: Some(ENTRIES_MAX), ..TrailQuery::default() };
    let found = query.find(&mut *engine.reader().unwrap()).unwrap();
    found.into_iter().map(|found| found.entry.stamped).collect()
}

fn count(engine: &Engine, kind: Kind) -> usize {
    all(engine).iter().filter(|entry| entry.draft.event.kind() == kind).count()
}

/// A run in which `w1` was given work that it has not seen, and `w2` has finished some.
fn begun(engine: &Engine) -> (Value, Value) {
    let lead = agent(engine, "lead");
    for name in ["w1", "w2", "w3"] {
        ok(&agent(engine, name), "agent.register", &json!({}));
    }
    ok(&lead, "run.start", &json!({}));
    let [waits, done] = ["w1", "w2"].map(|name| {
        let directive = json!({ "content": { "text": format!("What {name} is to do.") } });
        let args = json!({ "agent": name, "role": "worker", "directive": directive });
        ok(&lead, "workspace.create", &args)
    });
    let w2 = agent(engine, "w2");
    ok(&w2, "inbox.take", &json!({}));
    let files = json!([{ "path": "a", "content": { "text": "made by w2" } }]);
    let args = json!({ "type": "artifact", "status": "final", "intent": "done",
        "files_changed": files });
    ok(&w2, "checkpoint.create", &args);
    ok(&w2, "signal.emit", &json!({ "type": "complete" }));
    (waits, done)
}

/// Alters a snapshot and its checksum, as an attacker with access to the file would.
fn alter_snapshot(project: &Project, from: &str, to: &str) {
    let world = project.open().world().unwrap();
    snapshot::save(&project.home, &world).unwrap();
    let path = snapshot::list(&project.home, &world.state.project().unwrap().id).remove(0);
    let bytes = std::fs::read(&path).unwrap();
    let mut payload = bytes[48..].to_vec();
    assert_eq!((snapshot::with_checksum(&payload), from.len()), (bytes, to.len()));
    let places: Vec<usize> = (0..payload.len() - from.len())
        .filter(|at| payload[*at..].starts_with(from.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "{from}");
    for at in places {
        payload[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(&path, snapshot::with_checksum(&payload)).unwrap();
}

/// Shows W-SEC-06, W-SEC-14.
#[test]
fn an_envelope_changed_in_a_snapshot_is_never_delivered() {
    let project = Project::new();
    begun(&project.open());
    let [sent, other] = ["What w1 is to do.", "What w2 is to do."]
        .map(|text| Blobs::of(&project.home).put(text.as_bytes()).unwrap().to_string());
    alter_snapshot(&project, &sent, &other);
    let engine = project.open();
    let mail = ok(&agent(&engine, "w1"), "inbox.take", &json!({}));
    assert_eq!(mail["envelopes"], json!([]), "{mail}");
    let (rejected, violations) =
        (count(&engine, Kind::EnvelopeRejected), count(&engine, Kind::IntegrityViolation));
    assert_eq!((rejected, violations), (1, 1));
    // The trail counts, and replaying it from the beginning gives the original.
    std::fs::remove_dir_all(project.home.snapshots()).unwrap();
    let engine = project.open();
    let mail = ok(&agent(&engine, "w1"), "inbox.take", &json!({}));
    assert_eq!(mail["envelopes"], json!([]), "what was rejected stays so");
}

fn show(engine: &Engine, id: &Value) -> Result<Answer, EngineError> {
    let args = json!({ "checkpoint": id }).to_string();
    engine.ask(&Query::read("checkpoint.get", &args).unwrap().unwrap())
}

fn refused_as_bad<T: std::fmt::Debug>(outcome: Result<T, EngineError>) {
    match outcome {
        Err(EngineError::Refused(refusal)) => {
            let why = (refusal.kind, refusal.rule);
            assert_eq!(why, (RefusalKind::Integrity, Rule::CheckpointProven));
        }
        other => panic!("{other:?}"),
    }
}

/// Shows W-INT-11, W-SEC-08, W-SEC-14.
#[test]
fn a_checkpoint_changed_in_a_snapshot_is_neither_shown_nor_merged() {
    let project = Project::new();
    let (_, done) = begun(&project.open());
    let made = Blobs::of(&project.home).put(b"made by w2").unwrap().to_string();
    let other = Blobs::of(&project.home).put(b"made by somebody else").unwrap().to_string();
    let id = json!(
        project
            .open()
            .world()
            .unwrap()
            .state
            .workspace(&serde_json::from_value(done["workspace"].clone()).unwrap())
            .unwrap()
            .latest_final
    );
    alter_snapshot(&project, &made, &other);
    let engine = project.open();
    refused_as_bad(show(&engine, &id));
    let accept = json!({ "workspace": done["workspace"], "decision": "accept" });
    refused_as_bad(do_(&agent(&engine, "lead"), "integration.decide", &accept));
    assert_eq!(count(&engine, Kind::IntegrityViolation), 2);
    assert_eq!(count(&engine, Kind::IntegrationStarted), 0);
    drop(engine);
    std::fs::remove_dir_all(project.home.snapshots()).unwrap();
    let engine = project.open();
    show(&engine, &id).unwrap();
    let merged = ok(&agent(&engine, "lead"), "integration.decide", &accept);
    assert_eq!(merged["status"], json!(Status::Closed));
}

/// Shows W-INT-11.
#[test]
fn damaged_content_is_found_before_it_is_merged_or_shown() {
    let project = Project::new();
    let engine = project.open();
    let (_, done) = begun(&engine);
    let blobs = Blobs::of(&project.home);
    let made = blobs.put(b"made by w2").unwrap();
    let id = all(&engine).iter().find_map(|entry| match &entry.draft.event {
        Event::CheckpointCreated(body) => Some(json!(body.checkpoint_id)),
        _ => None,
    });
    let id = id.unwrap();
    let accept = json!({ "workspace": done["workspace"], "decision": "accept" });
    let lead = agent(&engine, "lead");
    std::fs::write(blobs.path(&made), "made by nobody").unwrap();
    refused_as_bad(show(&engine, &id));
    refused_as_bad(do_(&lead, "integration.decide", &accept));
    // Missing content cannot be merged, but the checkpoint may be shown.
    std::fs::remove_file(blobs.path(&made)).unwrap();
    refused_as_bad(do_(&lead, "integration.decide", &accept));
    show(&engine, &id).unwrap();
    let found: Vec<_> = all(&engine)
        .into_iter()
        .filter_map(|entry| match entry.draft.event {
            Event::IntegrityViolation(body) => Some((body.expected, body.actual)),
            _ => None,
        })
        .collect();
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|(expected, _)| expected.as_str() == made.to_string()), "{found:?}");
    // Once stored again, it is merged.
    blobs.put(b"made by w2").unwrap();
    ok(&lead, "integration.decide", &accept);
}

#[test]
fn after_a_takeover_what_was_made_before_is_shown_and_not_merged() {
    let project = Project::new();
    let (_, done) = begun(&project.open());
    std::fs::remove_file(project.home.keys().join("runtime.key")).unwrap();
    let engine = project.open();
    engine.rekey("the key was lost").unwrap();
    let id = all(&engine).iter().find_map(|entry| match &entry.draft.event {
        Event::CheckpointCreated(body) => Some(json!(body.checkpoint_id)),
        _ => None,
    });
    show(&engine, &id.unwrap()).unwrap();
    let accept = json!({ "workspace": done["workspace"], "decision": "accept" });
    refused_as_bad(do_(&agent(&engine, "lead"), "integration.decide", &accept));
    let revise = json!({ "workspace": done["workspace"], "decision": "revise" });
    ok(&agent(&engine, "lead"), "integration.decide", &revise);
}

fn refused_for(outcome: Result<impl std::fmt::Debug, EngineError>, rule: Rule) {
    match outcome {
        Err(error) => assert_eq!(error.rule(), rule, "{error}"),
        Ok(found) => panic!("{found:?}"),
    }
}

fn named(name: &str) -> Principal {
    Principal::Agent(AgentName::new(name).unwrap())
}

/// Shows W-SEC-10, W-SEC-11.
#[test]
fn content_is_read_and_passed_on_by_those_it_was_given_to() {
    let project = Project::new();
    let engine = project.open();
    begun(&engine);
    let blobs = Blobs::of(&project.home);
    let mail = blobs.put(b"What w1 is to do.").unwrap();
    let work = blobs.put(b"made by w2").unwrap();
    let loose = blobs.put(b"nobody's yet").unwrap();
    let [lead, w1, w2, w3] = ["lead", "w1", "w2", "w3"].map(named);
    let reads = |who: Option<&Principal>, blob: &Blob| engine.content(blob, who);
    for blob in [&mail, &work, &loose] {
        assert!(reads(None, blob).is_ok() && reads(Some(&lead), blob).is_ok());
    }
    assert!(reads(Some(&w1), &mail).is_ok() && reads(Some(&w2), &work).is_ok());
    let before = count(&engine, Kind::CommandRefused);
    for (who, blob) in [(&w1, &work), (&w2, &mail), (&w3, &mail), (&w3, &work), (&w3, &loose)] {
        refused_for(reads(Some(who), blob), Rule::ContentShown);
    }
    refused_for(engine.check_reads_all_content(Some(&w3)), Rule::ContentShown);
    assert_eq!(count(&engine, Kind::CommandRefused), before + 6, "each is on record");
    let listed = |who| engine.contents(Some(who)).unwrap().into_iter().map(|stored| stored.blob);
    assert!(listed(&w1).eq([mail.clone()]));
    assert_eq!(listed(&w3).count(), 0);
    assert!(listed(&lead).any(|blob| blob == loose));
    // Naming content in one's own writing gives no access to it.
    let client = agent(&engine, "w1");
    ok(&client, "signal.emit", &json!({ "type": "ready" }));
    let write = |blob: &Blob| json!({ "path": "notes", "content": { "blob": blob } });
    refused_for(do_(&client, "workspace.write", &write(&work)), Rule::ContentCited);
    refused_for(reads(Some(&w1), &work), Rule::ContentShown);
    ok(&client, "workspace.write", &write(&mail));
    ok(&client, "workspace.write", &write(&loose));
    assert!(reads(Some(&w1), &loose).is_ok(), "now it is theirs");
    // A caller who supplies the content itself needs no permission.
    ok(&client, "workspace.write", &json!({ "path": "n", "content": { "text": "made by w2" } }));
    let brought = client.bringing([work.clone()].into());
    ok(&brought, "workspace.write", &write(&work));
    assert!(reads(Some(&w1), &work).is_ok());
}

/// Shows W-SEC-03, W-SEC-04.
#[test]
fn a_question_under_a_name_is_answered_to_whoever_has_its_key() {
    let project = Project::new();
    let engine = project.open();
    begun(&engine);
    let query = Query::read("workspace.list", "{}").unwrap().unwrap();
    let (w1, nobody) = (named("w1"), named("nobody"));
    engine.ask_as(&query, Some(&w1)).unwrap();
    engine.ask_as(&query, Some(&nobody)).unwrap();
    let keys = project.home.keys();
    std::fs::copy(keys.join("agent-w2.key"), keys.join("agent-w1.key")).unwrap();
    for _ in 0..2 {
        refused_for(engine.ask_as(&query, Some(&w1)), Rule::AgentKeyBound);
        std::fs::remove_file(keys.join("agent-w1.key")).ok();
    }
    refused_for(engine.narrowed(TrailQuery::default(), Some(&w1)), Rule::AgentKeyBound);
    assert_eq!(count(&engine, Kind::AuthenticationFailed), 3);
    engine.ask(&query).unwrap();
}

/// Shows W-ID-04.
#[test]
fn ids_are_not_given_twice_in_one_run_or_several() {
    let mut ids: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let (one, two) = (Project::new(), Project::new());
    for project in [&one, &one, &two] {
        let engine = project.open();
        begun(&engine);
        let lead = agent(&engine, "lead");
        let task = json!({ "key": "k", "name": "n", "description": { "text": "t" } });
        ok(&lead, "task.graph", &json!({ "tasks": [task] }));
        ok(&lead, "run.end", &json!({ "force": true }));
    }
    for project in [&one, &two] {
        for entry in all(&project.open()) {
            ids.entry("entry").or_default().push(entry.id.to_string());
            let (kind, id) = match &entry.draft.event {
                Event::WorkspaceCreated(body) => ("workspace", body.workspace_id.to_string()),
                Event::EnvelopeCreated(body) => ("envelope", body.envelope_id.to_string()),
                Event::SignalEmitted(body) => ("signal", body.signal_id.to_string()),
                Event::CheckpointCreated(body) => ("checkpoint", body.checkpoint_id.to_string()),
                Event::TaskCreated(body) => ("task", body.task_id.to_string()),
                _ => continue,
            };
            ids.entry(kind).or_default().push(id);
        }
    }
    assert_eq!(ids.len(), 6);
    for (kind, mut given) in ids {
        let count = given.len();
        given.sort();
        given.dedup();
        assert!(count >= 3 && given.len() == count, "{kind}: {count}");
    }
}
