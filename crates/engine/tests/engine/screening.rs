//! The screen in the path of every command: secrets stay out of the trail, and the trail says so.

use crate::support::{Project, agent};
use althing_engine::screen::{CONTENT_BYTES_MAX, Screening};
use althing_engine::{Blobs, Client, Engine, EngineError, Options, Warnings};
use althing_kernel::refusal::{Details, OutsideKind, RefusalKind};
use althing_kernel::{AgentName, Command, Event, Refusal, Reply, Rule};
use althing_trail::Entry;
use serde_json::{Value, json};
use std::sync::mpsc;

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const MASKED: &str = "[AWS access key, 20 characters]";

fn command(name: &str, args: &Value) -> Command {
    Command::read(name, &args.to_string()).unwrap().unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn lines(engine: &Engine) -> Vec<String> {
    let commits = engine.reader().unwrap().tail(0, 1 << 30).unwrap();
    commits.iter().flat_map(|commit| commit.entries().map(str::to_owned)).collect()
}

fn last_refused(engine: &Engine) -> althing_kernel::refusal::Refused {
    let lines = lines(engine);
    let entry = Entry::read(lines.last().unwrap()).unwrap();
    match entry.stamped.draft.event {
        Event::CommandRefused(refused) => refused,
        other => panic!("not a refusal: {other:?}"),
    }
}

fn refused(client: &Client, command: Command) -> Refusal {
    match client.execute(command) {
        Err(EngineError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Commands of all sorts, with a secret somewhere in each.
fn leaking() -> Vec<(&'static str, Value)> {
    let words = format!("because of {KEY}");
    let sent = json!({ "content": { "text": words } });
    let hidden = json!({ "api_key": ["a1b2c3d4e5f6"] });
    vec![
        ("lease.open", json!({ "surfaces": ["src"], "purpose": words })),
        ("lease.open", json!({ "surfaces": [format!("src/{KEY}")] })),
        ("symbol.set", json!({ "id": "s1", "value": words })),
        ("fact.set", json!({ "key": "k", "value": words })),
        ("fact.set", json!({ "key": "db_password", "value": "x7Kq92!" })),
        ("fact.set", json!({ "key": "k", "value": json!({ "password": "x7Kq92!" }).to_string() })),
        // Quoted JSON has names of the caller's choice: none of them exempts what it holds.
        (
            "fact.set",
            json!({ "key": "k", "value": json!({ "artifacts": { "content": hidden } }).to_string() }),
        ),
        (
            "fact.set",
            json!({ "key": "merged", "value": json!([{ "content": hidden }]).to_string() }),
        ),
        ("capsule.write", json!({ "id": "c1", "what": words })),
        ("decision.append", json!({ "title": "t", "body": words })),
        ("memory.create", json!({ "kind": "trap", "text": "t", "tags": [KEY] })),
        ("envelope.send", json!({ "to": "w", "type": "query", "payload": sent })),
        (
            "checkpoint.create",
            json!({ "intent": "i", "status": "final", "type": "artifact", "content": { "text": words } }),
        ),
        (
            "task.graph",
            json!({ "tasks": [{ "key": "a", "name": "t", "description": { "text": words } }] }),
        ),
        (
            "refusal.record",
            json!({
                "command": "lease.open", "kind": "denied", "message": words, "rule": "A-MEM-11",
            }),
        ),
    ]
}

#[test]
fn a_secret_in_any_command_is_refused_on_record_and_kept_nowhere() {
    let project = Project::new();
    let engine = project.open();
    let client = agent(&engine, "alice");
    for (name, args) in leaking() {
        let refusal = refused(&client, command(name, &args));
        let Details::Findings(found) = &refusal.details else { panic!("{name}: {refusal:?}") };
        assert!(!found.is_empty() && !format!("{refusal:?}").contains("AKIA"), "{refusal:?}");
        let entry = last_refused(&engine);
        assert_eq!(entry.message.as_str(), refusal.message);
        assert!(entry.message.as_str().contains("seems to hold a secret: ["), "{entry:?}");
        let (command, rule) = match name {
            "refusal.record" => ("lease.open", Rule::LaneCommitted),
            other => (other, Rule::NoSecrets),
        };
        assert_eq!((entry.command.as_str(), entry.rule), (command, rule));
        assert_eq!((entry.kind, refusal.kind), (RefusalKind::Denied, RefusalKind::Denied));
    }
    assert!(lines(&engine).iter().all(|line| !line.contains("AKIA")));
    assert!(Blobs::of(&project.home).list().unwrap().is_empty(), "no content was stored");
}

/// A refusal names the place of a secret; a made-up name in it may be one too.
#[test]
fn names_around_a_secret_are_only_described() {
    let project = Project::new();
    let engine = project.open();
    let value = json!({ "Kq92ab31zz7x": { "api_key": ["a1b2c3d4e5f6"] } }).to_string();
    let fact = command("fact.set", &json!({ "key": "k", "value": value }));
    let refusal = refused(&agent(&engine, "alice"), fact);
    assert!(refusal.message.starts_with("'value.[text, 12 characters].api_key'"), "{refusal:?}");
    assert!(lines(&engine).iter().all(|line| !line.contains("Kq92ab31zz7x")));
}

#[test]
fn commands_that_are_submitted_pass_the_same_screen() {
    let project = Project::new();
    let engine = project.open();
    let client = agent(&engine, "alice");
    let (send, receive) = mpsc::channel::<Result<Reply, EngineError>>();
    let done = Box::new(move |answer| send.send(answer).unwrap());
    let fact = command("fact.set", &json!({ "key": "k", "value": KEY }));
    client.submit(fact, done).unwrap();
    let Err(EngineError::Refused(refusal)) = receive.recv().unwrap() else { panic!() };
    assert_eq!(refusal.rule, Rule::NoSecrets);
    let Details::Findings(found) = &refusal.details else { panic!("{refusal:?}") };
    assert_eq!((found[0].field.as_str(), found[0].excerpt.as_str()), ("value", MASKED));
}

#[test]
fn where_it_is_only_warned_of_the_command_is_carried_out() {
    let project = Project::new();
    let options = Options { screening: Screening::Warn, ..project.options() };
    let engine = Engine::open(&project.home, options).unwrap();
    let warnings = Warnings::default();
    let client = agent(&engine, "alice").warning(&warnings);
    client.execute(command("fact.set", &json!({ "key": "k", "value": KEY }))).unwrap();
    let shown = warnings.take();
    assert_eq!(shown, [format!("'value' seems to hold a secret: {MASKED}")]);
    assert!(warnings.take().is_empty());
}

#[test]
fn a_text_that_no_command_stores_is_screened_by_the_same_rule() {
    let project = Project::new();
    let engine = project.open();
    let client = agent(&engine, "alice");
    client.screen_text("work.finish", "reason", "all done").unwrap();
    for text in [KEY.to_owned(), json!({ "password": "x7Kq92!" }).to_string()] {
        let error = client.screen_text("work.finish", "reason", &text).unwrap_err();
        let EngineError::Refused(refusal) = error else { panic!("{error}") };
        assert_eq!((refusal.kind, refusal.rule), (RefusalKind::Denied, Rule::NoSecrets));
        assert!(matches!(refusal.details, Details::Findings(_)), "{refusal:?}");
        let entry = last_refused(&engine);
        assert_eq!((entry.command.as_str(), entry.rule), ("work.finish", Rule::NoSecrets));
        assert!(entry.message.as_str().starts_with("'reason"), "{entry:?}");
    }
    assert!(lines(&engine).iter().all(|line| !line.contains("AKIA")));
}

/// An entry would be made in that name.
#[test]
fn a_name_that_looks_like_a_secret_is_not_registered() {
    let project = Project::new();
    let engine = project.open();
    let before = lines(&engine).len();
    let refused = engine.agent(&AgentName::new(KEY).unwrap());
    assert!(matches!(&refused, Err(error) if error.rule() == Rule::NoSecrets), "no key is made");
    assert_eq!(lines(&engine).len(), before, "there is nobody to record it of");
}

#[test]
fn stored_text_is_looked_through_and_work_is_not() {
    let project = Project::new();
    let engine = project.open();
    let client = agent(&engine, "alice");
    let blobs = Blobs::of(&project.home);
    let send = |content: &[u8]| {
        let payload = json!({ "content": { "blob": blobs.put(content).unwrap() } });
        let send = json!({ "to": "w", "type": "query", "payload": payload });
        refused(&client, command("envelope.send", &send)).rule
    };
    assert_eq!(send(format!("use {KEY}").as_bytes()), Rule::NoSecrets);
    let mut large = vec![b'x'; usize::try_from(CONTENT_BYTES_MAX).unwrap()];
    large.extend(b" use AKIAIOSFODNN7EXAMPLE");
    assert_ne!(send(&large), Rule::NoSecrets, "what is over the limit is not looked through");
    assert_ne!(send(b"\xff\xfe use AKIAIOSFODNN7EXAMPLE"), Rule::NoSecrets, "no text");
    let file =
        json!({ "path": "a.rs", "content": { "text": format!("const K: &str = {KEY:?};") } });
    let made = json!({
        "intent": "i", "status": "final", "type": "artifact", "files_changed": [file],
    });
    assert_ne!(refused(&client, command("checkpoint.create", &made)).rule, Rule::NoSecrets);
    let missing = json!({ "blob": format!("sha256:{}", "0".repeat(64)) });
    let envelope = json!({ "to": "w", "type": "query", "payload": { "content": missing } });
    let refusal = refused(&client, command("envelope.send", &envelope));
    assert_eq!((refusal.kind, refusal.rule), (RefusalKind::NotFound, Rule::NotFound));
    assert_eq!(last_refused(&engine).command.as_str(), "envelope.send");
}

#[test]
fn a_refusal_from_outside_is_on_record_in_the_callers_name() {
    let project = Project::new();
    let engine = project.open();
    let client = agent(&engine, "alice");
    let why = "2 files are not committed";
    let error = client.refuse("memory.offer", OutsideKind::Denied, Rule::LaneCommitted, why);
    let EngineError::Refused(refusal) = error else { panic!("{error}") };
    assert_eq!((refusal.rule, refusal.message.as_str()), (Rule::LaneCommitted, why));
    let entry = last_refused(&engine);
    assert_eq!((entry.command.as_str(), entry.message.as_str()), ("memory.offer", why));
    assert!(lines(&engine).last().unwrap().contains(r#""actor":"agent:alice""#));
}
