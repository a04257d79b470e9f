//! After kill -9: the next command makes good what was left behind, and the trail says so.
//!
//! Processes are killed for real. What a command leads to is one commit, so no kill leaves half of
//! it; where a trail has to end in the middle of something, one is made that does.

use crate::support::Sandbox;
use althing_engine::message_keys::MessageKeys;
use althing_engine::mint::RandomMint;
use althing_engine::{Blobs, Clock as _, Engine, Home, Keyring, Options, SystemClock};
use althing_kernel::{AgentName, Caller, Command, Kind, Transaction};
use althing_trail::chain::Builder;
use althing_trail::log::sqlite::SqliteLog;
use althing_trail::{Asked, Log as _, Request};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

/// A process that has written and may write more.
struct Writer {
    child: Child,
    _input: ChildStdin,
}

impl Writer {
    fn start(project: &Sandbox, name: &str) -> Self {
        let mut command = project.command();
        command.args(["do", "--lines", "--as", name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let surface = format!("{name}/{}", child.id());
        let line = json!({ "name": "lease.open", "args": { "surfaces": [surface] } });
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert!(answer.contains("\"ok\""), "{answer}");
        Writer { child, _input: input }
    }

    /// Kill -9.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Sandbox {
    /// Somebody writes here and is killed.
    fn crash(&self) {
        Writer::start(self, "victim").kill();
    }

    /// The recoveries on the trail.
    #[track_caller]
    fn recoveries(&self) -> Vec<Value> {
        let all = self.entries().into_iter();
        all.filter(|entry| entry["kind"] == "recovery_completed").collect()
    }

    /// Has somebody write, so that what is to be recovered from is.
    #[track_caller]
    fn go_on(&self) -> Value {
        let before = self.recoveries().len();
        let surface = format!("after/{before}");
        self.claim("survivor", &surface);
        let mut all = self.recoveries();
        assert_eq!(all.len(), before + 1, "one recovery");
        all.pop().unwrap()["body"].clone()
    }

    /// Appends the first entries of what a command leads to, up to one of a kind, as a runtime would
    /// have that was stopped there.
    fn append_part(&self, agent: &str, name: &str, args: &Value, last: Kind) {
        let home = Home::new(&self.state());
        let world = Engine::open(&home, Options::default()).unwrap().world().unwrap();
        let keys = Keyring::of(&home);
        let credential = keys.agent(&AgentName::new(agent).unwrap()).unwrap().unwrap();
        let key = credential.key().public();
        let caller = Caller { principal: credential.principal().clone(), key, session: None };
        let command = Command::read(name, &args.to_string()).unwrap().unwrap();
        let mut mint = RandomMint::new().unwrap();
        let seal = MessageKeys::of(&keys.runtime().unwrap().unwrap());
        let turn = Transaction::begin(world.state.clone(), SystemClock.now(), &mut mint);
        let mut turn = turn.sealed_by(&seal);
        let outcome = turn.decide(&caller, &command).unwrap();
        outcome.result.unwrap();
        let asked = Asked::unsigned(&caller, Request::of(&command).unwrap());
        let mut builder = Builder::begin(world.chain.clone());
        for (place, entry) in turn.entries().iter().enumerate() {
            builder.add(entry, (outcome.own == Some(place)).then_some(&asked)).unwrap();
            if entry.draft.event.kind() == last {
                break;
            }
        }
        let (commit, _) = builder.finish(&keys.runtime().unwrap().unwrap()).unwrap();
        SqliteLog::open(&self.store()).unwrap().append(world.seq(), &commit).unwrap();
    }

    fn workspaces(&self) -> Value {
        let mut all = self.json(&["workspace", "list"]);
        // Whoever looks or goes on is a peer, which is in no run.
        let of_run = |own: &Value| own["place"] == "run";
        all.as_array_mut().unwrap().retain(of_run);
        for own in all.as_array_mut().unwrap() {
            // How long it has worked by now is the one thing that goes on by itself.
            own.as_object_mut().unwrap().remove("worked");
        }
        all
    }
}

/// Shows W-REC-03, W-REC-05, W-REC-06, W-REC-14, W-SYS-05, W-PORT-11.
#[test]
fn after_a_crash_everything_is_as_the_trail_says_and_the_run_goes_on() {
    let (project, root) = Sandbox::with_run();
    let (working, paused) = (project.worker("bob"), project.worker("carol"));
    project.ok(&["workspace", "suspend", &paused, "--as", "alice"]);
    project.ok(&["send", &working, "well done", "--type", "feedback", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "alice"]);
    let look = || {
        let rights = [&root, &working, &paused].map(|id| project.json(&["right", "list", id]));
        let inbox = project.json(&["inbox", "--as", "bob"]);
        json!([project.workspaces(), rights, inbox])
    };
    let writer = Writer::start(&project, "victim");
    let before = look();
    writer.kill();
    let doctor = project.ok(&["doctor"]).out;
    assert!(doctor.contains("1 writer ended without saying so"), "{doctor}");
    assert_eq!(project.recoveries().len(), 0, "looking recovers nothing");
    let planned = project.json(&["recover", "--dry-run"]);
    assert_eq!(planned["fallen"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(project.recoveries().len(), 0);

    let done = project.go_on();
    let after = look();
    assert_eq!(before, after, "what the trail says, no more and no less");
    assert_eq!((&done["workspaces_recovered"], &done["workspaces_failed"]), (&json!(3), &json!(0)));
    assert!(done["trail_entries_examined"].as_u64().unwrap() > 20, "{done}");
    assert!(done["timers_reconstructed"].as_u64().unwrap() >= 2, "{done}");
    let shown = project.json(&["inbox", "--as", "alice"]).to_string();
    assert!(
        shown.contains("recovered: 3 workspaces go on"),
        "the coordinator hears of it: {shown}"
    );
    assert!(project.ok(&["doctor"]).out.contains("everybody who wrote ended well"));
    // The run that was abandoned goes on, and ends on record.
    project.ok(&["workspace", "resume", &paused, "--as", "alice"]);
    project.ok(&["coordinator", "stop", "--force", "--reason", "enough", "--as", "alice"]);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-ENV-26, W-REC-04, W-REC-14.
#[test]
fn an_envelope_in_flight_arrives_before_anything_new_on_its_channel() {
    let (project, root) = Sandbox::with_run();
    let to = project.worker("bob");
    let blobs = Blobs::of(&Home::new(&project.state()));
    for text in ["first", "second"] {
        let blob = blobs.put(text.as_bytes()).unwrap();
        let args = json!({ "workspace": root, "to": to, "type": "feedback",
            "payload": { "content": { "blob": blob } } });
        project.append_part("alice", "envelope.send", &args, Kind::EnvelopeCreated);
    }
    assert!(!project.ok(&["inbox", "--as", "bob"]).out.contains("feedback"));
    project.crash();
    // The next message on that channel comes after them.
    project.ok(&["send", &to, "third", "--type", "feedback", "--as", "alice"]);
    let done = project.recoveries();
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(done[0]["body"]["envelopes_redelivered"], 2, "{done:?}");
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    let at = |text| mail.find(text).unwrap();
    assert!(at("first") < at("second") && at("second") < at("third"), "{mail}");
    project.ok(&["trail", "verify"]);
}

/// Shows W-REC-04, W-REC-14.
#[test]
fn signals_in_flight_arrive_in_order_and_a_step_that_was_asked_for_is_taken() {
    let (project, _) = Sandbox::with_run();
    let id = project.worker("bob");
    project.ok(&["inbox", "--take", "--as", "alice"]);
    for reason in ["one", "two"] {
        let args = json!({ "workspace": id, "type": "escalation", "reason": reason });
        project.append_part("bob", "signal.emit", &args, Kind::SignalEmitted);
    }
    let args = json!({ "workspace": id, "type": "blocked", "reason": "the disk" });
    project.append_part("bob", "signal.emit", &args, Kind::SignalEmitted);
    assert_eq!(project.json(&["workspace", "show", &id])["status"], "active");
    project.crash();
    let done = project.go_on();
    assert_eq!(done["signals_requeued"], 3, "{done}");
    assert_eq!(project.json(&["workspace", "show", &id])["status"], "blocked");
    let shown = project.ok(&["inbox", "--take", "--as", "alice"]).out;
    let at = |text| shown.find(text).unwrap();
    assert!(at("one") < at("two") && at("two") < at("the disk"), "{shown}");
    project.ok(&["trail", "verify"]);
}

/// Ten seconds are ten seconds, whoever is there to count them.
/// Shows W-REC-05, W-REC-14, W-CLK-10.
#[test]
fn time_without_anybody_counts_toward_a_timeout() {
    let (project, _) = Sandbox::with_run();
    let make = |name: &str, timeout: &str| {
        let args =
            ["workspace", "create", "--agent", name, "--directive", "Work.", "--as", "alice"];
        let made = project.json(&[&args[..], &["--timeout", timeout]].concat());
        project.ok(&["inbox", "--take", "--as", name]);
        made["workspace"].as_str().unwrap().to_owned()
    };
    let (short, long) = (make("bob", "2s"), make("carol", "600s"));
    let show = |id: &str| project.json(&["workspace", "show", id]);
    let before = show(&long);
    project.crash();
    std::thread::sleep(Duration::from_millis(2_100));
    let done = project.go_on();
    assert_eq!((&done["workspaces_failed"], &done["workspaces_recovered"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&show(&short)["status"], &show(&short)["ended"]),
        (&json!("failed"), &json!("timeout"))
    );
    let after = show(&long);
    assert_eq!(before["deadline"], after["deadline"], "what is left is what was left");
    let waited = done["downtime"].as_u64().unwrap();
    assert!(waited >= 2_000_000, "{done}");
    let worked = |view: &Value| view["worked"].as_u64().unwrap();
    assert!(worked(&after) >= worked(&before) + waited, "downtime counts");
}

/// Shows W-REC-13, W-REC-14, W-REC-05.
#[test]
fn half_a_budget_is_spent_after_a_crash_and_the_other_half_is_left() {
    let (project, _) = Sandbox::with_run();
    let args = ["workspace", "create", "--agent", "bob", "--directive", "Work.", "--as", "alice"];
    let budget = ["--budget", "tokens=1000,time=1h"];
    let made = project.json(&[&args[..], &budget].concat());
    let id = made["workspace"].as_str().unwrap();
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["meter", "report", "--tokens", "500", "--as", "bob"]);
    let before = project.json(&["meter", id])["used"]["token_limit"].clone();
    project.crash();
    project.go_on();
    assert_eq!(project.json(&["meter", id])["used"]["token_limit"], before);
    project.ok(&["meter", "report", "--tokens", "499", "--as", "bob"]);
    assert_eq!(project.json(&["workspace", "show", id])["status"], "active");
    project.ok(&["meter", "report", "--tokens", "1", "--as", "bob"]);
    assert_eq!(project.json(&["workspace", "show", id])["ended"], "budget_exceeded");
}

/// Time of a timeout that passed before a crash still counts.
/// Shows W-REC-14.
#[test]
fn time_before_a_crash_counts_towards_a_timeout() {
    let (project, _) = Sandbox::with_run();
    let id = project.worker("bob");
    std::thread::sleep(Duration::from_millis(50));
    project.ok(&["workspace", "suspend", &id, "--as", "alice"]);
    let spent = project.json(&["workspace", "show", &id])["worked"].clone();
    assert!(spent.as_u64().unwrap() > 50_000, "{spent}");
    project.crash();
    project.go_on();
    assert_eq!(project.json(&["workspace", "show", &id])["worked"], spent);
    project.ok(&["workspace", "resume", &id, "--as", "alice"]);
    let resumed = project.json(&["workspace", "show", &id])["worked"].as_u64();
    assert!(resumed >= spent.as_u64(), "it goes on from there");
}

/// Shows W-REC-07, W-REC-14.
#[test]
fn deaths_found_together_are_one_recovery_and_recovering_again_changes_nothing() {
    let project = Sandbox::new();
    let writers: Vec<Writer> =
        (0..3).map(|n| Writer::start(&project, &format!("victim{n}"))).collect();
    for writer in writers {
        writer.kill();
    }
    let done = project.go_on();
    assert_eq!(done["writers"].as_array().unwrap().len(), 3, "{done}");
    let before = project.entries().len();
    for _ in 0..2 {
        let again = project.json(&["recover"]);
        assert_eq!(again["completed"], Value::Null, "{again}");
    }
    assert_eq!(project.entries().len(), before);
    assert!(project.ok(&["recover"]).out.contains("there is nothing to recover from"));
}

/// A trail that does not hold stops everything that writes, with the first bad entry and a way out;
/// with a backup it goes on.
/// Shows W-REC-02.
#[test]
fn a_damaged_entry_halts_recovery_until_it_is_put_back() {
    let project = Sandbox::new();
    project.claim("alice", "precious");
    project.ok(&["backup", "copy"]);
    let conn = rusqlite::Connection::open(project.store()).unwrap();
    let damage = "UPDATE commits SET entries = replace(entries, 'precious', 'worthless') \
                  WHERE entries LIKE '%precious%'";
    assert_eq!(conn.execute(damage, []).unwrap(), 1);
    drop(conn);
    project.crash();
    for args in [&["claim", "x", "--as", "bob"][..], &["recover"], &["recover", "--dry-run"]] {
        let ran = project.run(&[args, &["--json"]].concat());
        let error = ran.error();
        assert_eq!((ran.code, error["rule"].as_str()), (Some(5), Some("A-TRAIL-01")), "{ran:?}");
        assert!(error["details"]["entry"].as_u64().unwrap() > 1, "{ran:?}");
        assert!(error["way_out"].as_str().unwrap().contains("recover --from"), "{ran:?}");
    }
    let done = project.json(&["recover", "--from", "copy"]);
    assert_eq!(done["completed"]["quarantined_entries"], 1, "{done}");
    assert_eq!(project.json(&["claims", "--as", "alice"])[0]["surfaces"][0], "precious");
    project.claim("bob", "x");
    let doctor = project.ok(&["doctor"]).out;
    assert!(doctor.contains("mended-"), "what was set aside is listed: {doctor}");
    let shown = project.ok(&["trail", "--all"]).out;
    assert!(shown.contains("integrity_violation") && shown.contains("quarantined"), "{shown}");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-REC-02, W-REC-07, W-TRAIL-45.
#[test]
fn pruned_archives_do_not_block_recovery() {
    let (project, _) = Sandbox::with_run();
    let bob = project.worker("bob");
    project.ok(&["workspace", "abort", &bob, "--as", "alice"]);
    project.ok(&["trail", "compact", "--older-than", "0s"]);
    project.write("althing.toml", "[trail]\narchive_retention = \"0s\"\n");
    project.ok(&["trail", "prune", "--as", "alice"]);
    // Asked for, after a crash, and in a copy that took the place of this one.
    project.ok(&["recover", "--dry-run"]);
    project.ok(&["recover"]);
    project.crash();
    project.go_on();
    project.ok(&["backup", "copy", "--keys"]);
    project.ok(&["backup", "copy", "--restore"]);
    project.crash();
    project.go_on();
    project.ok(&["recover"]);
    // Damage after the deletion is put back from the copy.
    project.claim("alice", "precious");
    project.ok(&["backup", "copy2"]);
    let conn = rusqlite::Connection::open(project.store()).unwrap();
    let damage = "UPDATE commits SET entries = replace(entries, 'precious', 'worthless') \
                  WHERE entries LIKE '%precious%'";
    assert_eq!(conn.execute(damage, []).unwrap(), 1);
    drop(conn);
    assert_eq!(project.run(&["recover"]).code, Some(5));
    project.ok(&["recover", "--from", "copy2"]);
    project.claim("bob", "x");
    project.ok(&["trail", "verify", "--signatures"]);
    project.ok(&["doctor"]);
}
