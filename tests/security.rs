//! The protocol's seven probes, and who may read what, tried from the outside.

use crate::support::{Ran, Sandbox};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where the content with a name lies.
fn blob_file(project: &Sandbox, blob: &str) -> PathBuf {
    let hex = blob.strip_prefix("sha256:").unwrap();
    project.state().join("blobs").join(&hex[..2]).join(hex)
}

fn of_kind(project: &Sandbox, kind: &str) -> Vec<Value> {
    project.entries().into_iter().filter(|entry| entry["kind"] == kind).collect()
}

/// A run of alice's: bob has not seen his work yet, carol has finished hers.
struct Scene {
    project: Sandbox,
    bob: String,
    carol: String,
}

impl Scene {
    fn new() -> Self {
        let (project, _) = Sandbox::with_run();
        let create = ["workspace", "create", "--agent", "bob", "--directive", "For bob alone."];
        let made = project.json(&[&create[..], &["--as", "alice"]].concat());
        let bob = made["workspace"].as_str().unwrap().to_owned();
        let carol = project.worker("carol");
        project.write("work.txt", "made by carol");
        let made = ["checkpoint", "create", "--final", "--intent", "done", "--file", "work.txt"];
        project.ok(&[&made[..], &["--as", "carol"]].concat());
        project.ok(&["signal", "complete", "--as", "carol"]);
        Scene { project, bob, carol }
    }

    fn integrate(&self) -> Ran {
        self.project.run(&["integrate", &self.carol, "accept", "--as", "alice", "--json"])
    }

    /// Makes a snapshot and changes it: the checksum is right again.
    fn alter_snapshot(&self, changes: &[(&str, &str)]) {
        let claim = |n| json!({ "name": "lease.open", "args": { "surfaces": [format!("f/{n}")] } });
        let claims: Vec<String> = (0..260).map(|n| claim(n).to_string()).collect();
        let ran =
            self.project.run_with(&["do", "--lines", "--as", "dave"], claims.join("\n").as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut folders = std::fs::read_dir(self.project.state().join("snapshots")).unwrap();
        let folder = folders.next().unwrap().unwrap().path();
        let path = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        let mut payload = std::fs::read(&path).unwrap()[48..].to_vec();
        for (from, to) in changes {
            assert_eq!(from.len(), to.len());
            let last = payload.len() - from.len();
            let found = (0..last).filter(|at| payload[*at..].starts_with(from.as_bytes()));
            let found: Vec<usize> = found.collect();
            assert!(!found.is_empty(), "{from}");
            for at in found {
                payload[at..at + to.len()].copy_from_slice(to.as_bytes());
            }
        }
        std::fs::write(&path, althing_engine::snapshot::with_checksum(&payload)).unwrap();
    }
}

/// Shows W-SEC-14, W-SEC-06, W-SEC-08, W-INT-11.
#[test]
fn probe_an_altered_envelope_and_an_altered_checkpoint() {
    let scene = Scene::new();
    let project = &scene.project;
    let stored = |text: &str| {
        let ran = project.run_with(&["blob", "put"], text.as_bytes());
        ran.out.trim_end().to_owned()
    };
    let (mail, work) = (stored("For bob alone."), stored("made by carol"));
    let (false_mail, false_work) = (stored("From somebody else."), stored("made by mallory"));
    scene.alter_snapshot(&[(&mail, &false_mail), (&work, &false_work)]);
    // The envelope is not delivered.
    let mail = project.json(&["inbox", "--take", "--as", "bob"]);
    assert_eq!(mail["envelopes"], json!([]), "{mail}");
    let rejected = of_kind(project, "envelope_rejected");
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["body"]["reason"], "integrity_violation");
    let violation = &of_kind(project, "integrity_violation")[0];
    assert_eq!(violation["body"]["subject_id"], rejected[0]["body"]["envelope_id"]);
    assert_eq!((&violation["workspace"], &violation["actor"]), (&Value::Null, &json!("protocol")));
    // The checkpoint is neither shown nor merged.
    let made = &of_kind(project, "checkpoint_created")[0]["body"];
    assert_eq!(made["integrity"]["algorithm"], "hmac-sha256");
    let id = made["checkpoint_id"].as_str().unwrap();
    for ran in [project.run(&["checkpoint", "show", id, "--json"]), scene.integrate()] {
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("W-INT-11")));
    }
    assert_eq!(of_kind(project, "integrity_violation").len(), 3);
    assert!(of_kind(project, "integration_started").is_empty());
    // The trail itself is sound; the snapshot is not, and goes.
    assert_eq!(project.run(&["trail", "verify"]).code, Some(5));
    std::fs::remove_dir_all(project.state().join("snapshots")).unwrap();
    project.ok(&["trail", "verify", "--signatures"]);
    assert_eq!(scene.integrate().code, Some(0));
}

/// Shows W-SEC-14, W-INT-11.
#[test]
fn probe_altered_content_of_a_checkpoint() {
    let scene = Scene::new();
    let made = &of_kind(&scene.project, "checkpoint_created")[0]["body"];
    let blob = made["files_changed"][0]["content"].as_str().unwrap().to_owned();
    std::fs::write(blob_file(&scene.project, &blob), "made by mallory").unwrap();
    let ran = scene.integrate();
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("W-INT-11")));
    let violation = &of_kind(&scene.project, "integrity_violation")[0]["body"];
    assert_eq!(violation["subject_id"], made["checkpoint_id"]);
    assert_eq!(violation["expected"], blob);
    scene.project.ok(&["trail", "verify", "--signatures"]);
    scene.project.run_with(&["blob", "put"], b"made by carol");
    assert_eq!(scene.integrate().code, Some(0), "mended, it is merged");
}

/// Shows W-SEC-14, W-SIG-14, W-SEC-07, W-SEC-04.
#[test]
fn probe_one_agent_signalling_as_another() {
    let scene = Scene::new();
    let project = &scene.project;
    let erin = project.worker("erin");
    let failed = ["signal", "failed", "--reason", "r", "--workspace", &erin];
    let (_, rule) = project.refused(&[&failed[..], &["--as", "carol"]].concat());
    assert_eq!(rule, "W-WS-02");
    assert_eq!(of_kind(project, "command.refused").last().unwrap()["actor"], "agent:carol");
    let keys = project.state().join("keys");
    std::fs::copy(keys.join("agent-carol.key"), keys.join("agent-erin.key")).unwrap();
    let (_, rule) = project.refused(&["do", "signal.emit", r#"{"type":"ready"}"#, "--as", "erin"]);
    assert_eq!(rule, "A-ID-01");
    let failed = of_kind(project, "authentication_failed");
    assert_eq!(failed[0]["body"]["entity"], "agent:erin");
    let view = project.json(&["workspace", "show", &erin]);
    assert_eq!(view["status"], "active", "{view}");
}

/// Shows W-SEC-14, W-TRAIL-24, W-TRAIL-26.
#[test]
fn probe_altered_entries_in_the_store() {
    let cases = [
        // In a workspace's own trail, which its local hash tells of.
        ("\"intent\":\"done\"", "\"intent\":\"dona\"", "local hash"),
        // In the proof of an envelope.
        ("\"proof\":\"", "\"proof\":\"0", "entry"),
        // In what concerns everybody.
        ("\"entity\":\"agent:bob\"", "\"entity\":\"agent:eve\"", "entry"),
    ];
    for (from, to, words) in cases {
        let scene = Scene::new();
        let conn = Connection::open(scene.project.store()).unwrap();
        let change =
            "UPDATE commits SET entries = replace(entries, ?1, ?2) WHERE instr(entries, ?1)";
        assert!(conn.execute(change, [from, to]).unwrap() > 0, "{from}");
        drop(conn);
        let ran = scene.project.run(&["trail", "verify", "--json"]);
        assert_eq!(ran.code, Some(5), "{from}: {ran:?}");
        assert!(ran.error()["message"].as_str().unwrap().contains(words), "{ran:?}");
    }
}

/// Shows W-SEC-14, W-SEC-10, W-SEC-11.
#[test]
fn probe_a_foreign_trail_is_empty_and_foreign_content_is_refused() {
    let scene = Scene::new();
    let project = &scene.project;
    let look = project.ok(&["trail", "--workspace", &scene.bob, "--as", "carol", "--json"]);
    assert_eq!(look.out, "", "empty, not an error");
    assert_eq!(of_kind(project, "trail_access_denied").len(), 1);
    let sent = &of_kind(project, "envelope_created")[0]["body"]["payload"]["content"];
    let blob = sent.as_str().unwrap();
    for allowed in [&["--as", "bob"][..], &["--as", "alice"], &[]] {
        let got = project.ok(&[&["blob", "get", blob][..], allowed].concat());
        assert_eq!(got.out, "For bob alone.");
    }
    let (ran, rule) = project.refused(&["blob", "get", blob, "--as", "carol"]);
    assert_eq!((ran.code, rule.as_str()), (Some(1), "W-SEC-10"));
    let refused = of_kind(project, "command.refused");
    let shown = &refused.last().unwrap();
    assert_eq!(
        (&shown["actor"], &shown["body"]["rule"]),
        (&json!("agent:carol"), &json!("W-SEC-10"))
    );
    let (_, rule) = project.refused(&["backup", "copy", "--as", "carol"]);
    assert_eq!(rule, "W-SEC-10");
    assert!(!project.path().join("copy").exists());
    let listed = project.json(&["blob", "list", "--as", "carol"]);
    assert!(!listed.to_string().contains(blob) && listed.as_array().unwrap().len() > 1);
    // Naming it does not make it one's own; having it does.
    let erin = project.worker("erin");
    let write = json!({ "path": "n", "content": { "blob": blob } }).to_string();
    let (_, rule) = project.refused(&["do", "workspace.write", &write, "--as", "erin"]);
    assert_eq!(rule, "W-SEC-11");
    project.write("same.txt", "For bob alone.");
    project.ok(&["workspace", "write", "n", "@same.txt", "--as", "erin", "--workspace", &erin]);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-SEC-14, W-SEC-03, W-USER-03.
#[test]
fn probe_both_outcomes_of_authentication_are_on_record() {
    let project = Sandbox::new();
    project.login("ada");
    assert_eq!(project.as_user("ada", &["claim", "a"]).code, Some(0));
    assert_eq!(project.as_user("ada", &["claim", "b"]).code, Some(0));
    let successes = || of_kind(&project, "authentication_succeeded");
    assert_eq!(successes().len(), 1, "once, not with every command");
    let body = &successes()[0]["body"];
    assert_eq!((&body["user_id"], &body["method"]), (&json!("ada"), &json!("sealed_key")));
    let ran = project.run_with(&["login", "ada", "--passphrase-stdin", "--json"], b"a guess\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let failed = of_kind(&project, "authentication_failed");
    assert_eq!((failed.len(), &failed[0]["body"]["entity"]), (1, &json!("user:ada")));
    project.login("ada");
    project.login("ada");
    assert_eq!(successes().len(), 3, "each login counts");
    project.claim("alice", "c");
    assert_eq!(successes().last().unwrap()["body"]["entity"], "agent:alice");
    // A question under a name needs its key, too.
    let key = project.state().join("keys/agent-alice.key");
    std::fs::remove_file(&key).unwrap();
    let (_, rule) = project.refused(&["trail", "--as", "alice"]);
    assert_eq!(rule, "A-ID-01");
    assert_eq!(of_kind(&project, "authentication_failed").len(), 2);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-SEC-09.
#[test]
fn a_deployment_model_that_lacks_something_does_not_start() {
    let project = Sandbox::without_project();
    let (ran, rule) = project.refused(&["init", "--deployment", "shared-infrastructure"]);
    assert_eq!((ran.code, rule.as_str()), (Some(1), "W-SEC-09"));
    for lacks in ["TLS", "isolation", "encryption at rest"] {
        assert!(ran.error()["message"].as_str().unwrap().contains(lacks), "{ran:?}");
    }
    assert!(!project.store().exists());
    project.ok(&["init", "--deployment", "single-runtime"]);
    let start = ["coordinator", "start", "--as", "alice"];
    let (ran, rule) = project.refused(&[&start[..], &["--deployment", "zero-trust"]].concat());
    assert_eq!(
        (rule.as_str(), &ran.error()["details"]["allowed"]),
        ("W-SEC-09", &json!(["single-runtime"]))
    );
    assert_eq!(of_kind(&project, "command.refused").len(), 1, "on record");
    project.write("althing.toml", "[security]\ndeployment = \"zero-trust\"\n");
    assert_eq!(project.refused(&start).1, "W-SEC-09");
    assert_eq!(project.refused(&["claim", "a", "--as", "alice"]).1, "W-SEC-09");
    assert_eq!(project.refused(&["do", "run.start", "{}", "--as", "alice"]).1, "W-SEC-09");
    project.ok(&["trail"]);
    project.write("althing.toml", "[security]\ndeployment = \"single-runtime\"\n");
    project.ok(&start);
    let root = &of_kind(&project, "workspace_created")[0];
    assert_eq!(root["body"]["run"]["deployment_model"], "single-runtime");
    project.ok(&["coordinator", "stop", "--as", "alice"]);
    project.write("althing.toml", "[security]\ndeployment = \"fort-knox\"\n");
    assert_eq!(project.run(&start).code, Some(2));
}

/// Shows W-SEC-09.
#[cfg(unix)]
#[test]
fn access_control_is_not_in_place_while_others_can_read_the_runtimes_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Sandbox::new();
    let open = std::fs::Permissions::from_mode(0o644);
    let key = project.state().join("keys/runtime.key");
    std::fs::set_permissions(&key, open).unwrap();
    let (ran, rule) = project.refused(&["coordinator", "start", "--as", "alice"]);
    assert_eq!(rule, "W-SEC-09");
    assert!(ran.error()["message"].as_str().unwrap().contains("access control"), "{ran:?}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    project.ok(&["coordinator", "start", "--as", "alice"]);
}

/// Whoever is refused a look does no harm to the record.
///
/// Shows W-SEC-14, W-TRAIL-03.
#[test]
fn a_refused_look_leaves_the_trail_sound_whoever_asked() {
    let (project, _) = Sandbox::with_run();
    project.login("ada");
    let given = ["user.create", r#"{"user":"bob","key":"KEY"}"#];
    let key = project.login("bob")["key"].as_str().unwrap_or_default().to_owned();
    let args = given[1].replace("KEY", &key);
    project.as_user("ada", &["do", given[0], &args]);
    project.worker("w1");
    let blob = project
        .entries()
        .iter()
        .find_map(|entry| entry["body"]["payload"]["content"].as_str().map(str::to_owned));
    let blob = blob.unwrap();
    for who in [["--as", "stranger"], ["--user", "nobody"], ["--user", "bob"], ["--as", "w2"]] {
        for what in [&["backup", "copy"][..], &["blob", "get", &blob]] {
            let ran = project.run(&[what, &who[..]].concat());
            assert_eq!(ran.code, Some(1), "{what:?} {who:?} {ran:?}");
        }
    }
    project.ok(&["trail", "verify", "--signatures"]);
    project.ok(&["recover"]);
    project.ok(&["backup", "copy"]);
}

/// Restoring an older trail undoes no decision of a person, unless a person asks for it.
///
/// Shows W-USER-41, W-SEC-13.
#[test]
fn a_backup_is_restored_on_a_persons_word_where_there_are_people() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    project.ok(&["backup", "before", "--keys"]);
    project.ok(&["backup", "before", "--restore"]);
    project.login("ada");
    project.ok(&["backup", "after", "--keys"]);
    project.claim("alice", "b");
    for who in [&["--as", "alice"][..], &["--as", "stranger"], &[]] {
        let (_, rule) = project.refused(&[&["backup", "after", "--restore"][..], who].concat());
        assert_eq!(rule, "W-HH-35", "{who:?}");
    }
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 2);
    let ran = project.as_user("ada", &["backup", "after", "--restore"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let restored = project.entries().into_iter().rfind(|e| e["kind"] == "runtime.restored");
    assert_eq!(restored.unwrap()["body"]["asked_by"], "user:ada");
    project.ok(&["trail", "verify", "--signatures"]);
}
