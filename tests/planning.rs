//! The files under `.planning/`: in step with the trail, whoever is killed, and never over what
//! somebody wrote.

use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

impl Sandbox {
    fn with_files() -> Self {
        let sandbox = Sandbox::new();
        sandbox.ok(&["rebuild"]);
        sandbox
    }

    fn planning_folder(&self) -> PathBuf {
        self.path().join(".planning")
    }

    fn projected(&self, path: &str) -> String {
        let path = self.planning_folder().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn overwrite(&self, path: &str, text: &str) {
        std::fs::write(self.planning_folder().join(path), text).unwrap();
    }

    #[track_caller]
    fn does(&self, name: &str, args: &Value) {
        self.ok(&["do", name, &args.to_string(), "--as", "alice"]);
    }

    fn symbols(&self) -> Value {
        let text = self.projected("protocol/symbols.json");
        serde_json::from_str::<Value>(&text).unwrap()["symbols"].clone()
    }

    /// The finding of `doctor` about the files.
    fn finding(&self) -> Value {
        let words = self.run(&["doctor", "--json"]).out;
        // If anything is bad, that is said after the findings.
        let all: Value = serde_json::from_str(words.lines().next().unwrap()).unwrap();
        let all = all.as_array().unwrap().clone();
        all.into_iter().find(|own| own["check"] == "planning files").unwrap_or_default()
    }

    /// Files and their content, but for what is set aside.
    fn all_files(&self) -> std::collections::BTreeMap<PathBuf, String> {
        let mut found = std::collections::BTreeMap::new();
        let mut folders = vec![self.planning_folder()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let hidden = path.file_name().unwrap().to_string_lossy().starts_with('.');
                if path.is_dir() {
                    folders.push(path);
                } else if !hidden && !path.to_string_lossy().contains(".edited-") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.insert(path, text);
                }
            }
        }
        found
    }

    fn set_aside(&self, folder: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.planning_folder().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.to_string_lossy().contains(".edited-")).collect()
    }
}

fn symbol(id: &str, value: &str) -> Value {
    json!({ "id": id, "value": value })
}

#[test]
fn nothing_is_written_where_nobody_wants_files() {
    let sandbox = Sandbox::new();
    sandbox.does("symbol.set", &symbol("F1", "a"));
    assert!(!sandbox.planning_folder().exists());
    assert_eq!(sandbox.finding(), Value::Null);
    std::fs::create_dir(sandbox.planning_folder()).unwrap();
    sandbox.does("symbol.set", &symbol("F1", "b"));
    assert_eq!(
        std::fs::read_dir(sandbox.planning_folder()).unwrap().count(),
        0,
        "others use it too"
    );
    sandbox.ok(&["rebuild"]);
    assert_eq!(sandbox.symbols(), json!({ "F1": "b" }));
}

#[test]
fn files_show_what_the_trail_has() {
    let sandbox = Sandbox::with_files();
    sandbox.does("symbol.set", &symbol("F2", "src/b.rs"));
    sandbox.does("symbol.set", &symbol("F1", "src/a.rs"));
    sandbox.does("fact.set", &json!({ "key": "k", "value": "1\n2\t3" }));
    let write = json!({ "id": "w1", "what": "done", "depends": ["w0"], "gotcha": "g" });
    sandbox.does("capsule.write", &write);
    sandbox.does("ledger.baseline", &json!({ "role": "coder", "tokens": 41_000 }));
    let log = json!({ "role": "coder", "kind": "brief", "tokens": 7, "msg_id": "m" });
    sandbox.does("ledger.log", &log);
    sandbox.does("decision.append", &json!({ "title": "t", "body": "b" }));
    let raise = json!({ "id": "conf-1", "title": "two", "surfaces": ["src/**"] });
    sandbox.does("dispute.raise", &raise);
    let haid = "haid:rj.mbp-680e+cursor";
    sandbox.ok(&["claim", "src/a.rs", "--as", haid, "--task", "T-1"]);

    let symbols = sandbox.projected("protocol/symbols.json");
    let text = "{\n  \"version\": \"2.0.0\",\n  \"symbols\": {\n    \"F2\": \"src/b.rs\",\n    \
                \"F1\": \"src/a.rs\"\n  }\n}\n";
    assert_eq!(symbols, text);
    let capsule = sandbox.projected("protocol/capsules/w1.md");
    assert!(capsule.starts_with("---\nid: w1\ndepends: w0\nts: 20"), "{capsule}");
    assert!(capsule.ends_with("Z\n---\nWHAT: done\nGOTCHA: g\n"), "{capsule}");
    let lines = sandbox.projected("protocol.log");
    let actions: Vec<String> = lines
        .lines()
        .map(|line| line.split('\t').skip(1).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        actions,
        [
            "haid register",
            "resolve set",
            "resolve set",
            "blackboard set",
            "capsule write",
            "ledger baseline",
            "ledger log",
            "decision append",
            "conflict raise",
            "decision append",
            "haid register",
            "claim claim"
        ]
    );
    assert!(lines.contains("\tblackboard\tset\tk=1\\n2\\t3\n"), "{lines}");
    let line: Value =
        serde_json::from_str(sandbox.projected("protocol/ledger.jsonl").trim()).unwrap();
    assert_eq!((&line["tokens"], &line["msg_id"]), (&json!(7), &json!("m")));
    let decisions = sandbox.projected("ledger/decisions.md");
    assert!(
        decisions.contains(" — t\n\nb\n\n*— recorded via althing by `alice`*\n"),
        "{decisions}"
    );
    assert!(decisions.contains(" — conflict conf-1 raised\n\ntwo\n"), "{decisions}");
    let claim: Value =
        serde_json::from_str(&sandbox.projected("ledger/claims/haid_rj.mbp-680e_cursor.json"))
            .unwrap();
    assert_eq!(claim["claimed_surfaces"], json!(["src/a.rs"]));
    assert_eq!((&claim["human"], &claim["ttl_minutes"]), (&json!("rj"), &json!(90)));
    sandbox.ok(&["release", "src/a.rs", "--as", haid]);
    let gone = sandbox.planning_folder().join("ledger/claims/haid_rj.mbp-680e_cursor.json");
    assert!(!gone.exists(), "nothing is held any more");
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());

    let before = sandbox.all_files();
    std::fs::remove_dir_all(sandbox.planning_folder()).unwrap();
    sandbox.ok(&["rebuild"]);
    let after = sandbox.all_files();
    assert!(before.keys().eq(after.keys()));
    for (path, text) in after {
        let heard = path.ends_with("agents.json");
        assert!(heard || before[&path] == text, "{} is not in the trail", path.display());
    }
}

#[test]
fn one_symbol_does_not_touch_the_capsules_and_a_question_touches_nothing() {
    let sandbox = Sandbox::with_files();
    sandbox.does("capsule.write", &json!({ "id": "w1", "what": "done" }));
    sandbox.does("symbol.set", &symbol("F1", "a"));
    let at = |path: &str| {
        let data = std::fs::metadata(sandbox.planning_folder().join(path)).unwrap();
        (std::os::unix::fs::MetadataExt::ino(&data), data.modified().unwrap())
    };
    let files = ["protocol/capsules/w1.md", "blackboard.json", "ledger/agents.json"];
    let before = files.map(at);
    let symbols = at("protocol/symbols.json");
    sandbox.does("symbol.set", &symbol("F1", "b"));
    assert_eq!(files.map(at), before);
    assert_ne!(at("protocol/symbols.json"), symbols);
    std::fs::remove_file(sandbox.planning_folder().join("protocol/symbols.json")).unwrap();
    sandbox.ok(&["do", "symbol.get", r#"{"id":"F1"}"#]);
    assert!(!sandbox.planning_folder().join("protocol/symbols.json").exists());
}

#[test]
fn the_files_are_where_the_environment_says() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path().join("elsewhere");
    let run = |args: &[&str]| {
        let command = sandbox.command().env("HEIMDALL_PLANNING_DIR", &folder).args(args).status();
        assert!(command.unwrap().success(), "{args:?}");
    };
    run(&["rebuild"]);
    run(&["do", "symbol.set", r#"{"id":"F1","value":"a"}"#, "--as", "alice"]);
    assert!(!sandbox.planning_folder().exists());
    let text = std::fs::read_to_string(folder.join("protocol/symbols.json")).unwrap();
    assert!(text.contains(r#""F1": "a""#), "{text}");
}

#[test]
fn edits_of_planning_files_are_kept_reported_and_set_aside() {
    let sandbox = Sandbox::with_files();
    sandbox.does("symbol.set", &symbol("F1", "a"));
    sandbox.does("decision.append", &json!({ "title": "t", "body": "b" }));
    sandbox.overwrite("protocol/symbols.json", "{ \"mine\": true }");
    let decisions = sandbox.projected("ledger/decisions.md") + "\nand one by hand\n";
    sandbox.overwrite("ledger/decisions.md", &decisions);
    sandbox.does("symbol.set", &symbol("F2", "b"));
    sandbox.does("decision.append", &json!({ "title": "u", "body": "b" }));
    assert_eq!(sandbox.projected("protocol/symbols.json"), "{ \"mine\": true }", "left alone");
    assert_eq!(sandbox.projected("ledger/decisions.md"), decisions, "left alone");
    let finding = sandbox.finding();
    assert_eq!(finding["level"], "note");
    let says = finding["says"].as_str().unwrap();
    assert!(says.contains("protocol/symbols.json") && says.contains("ledger/decisions.md"));
    assert!(!says.contains("blackboard"), "{says}");

    let done = sandbox.json(&["rebuild"]);
    assert_eq!(done["set_aside"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(sandbox.symbols(), json!({ "F1": "a", "F2": "b" }));
    assert!(sandbox.projected("ledger/decisions.md").contains("— u"));
    let aside = sandbox.set_aside("protocol");
    assert_eq!(std::fs::read_to_string(&aside[0]).unwrap(), "{ \"mine\": true }");
    assert_eq!(sandbox.set_aside("ledger").len(), 1);
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    sandbox.does("symbol.set", &symbol("F3", "c"));
    assert_eq!(sandbox.symbols()["F3"], "c", "in step again");
}

#[test]
fn edits_of_planning_files_can_be_adopted() {
    let sandbox = Sandbox::with_files();
    sandbox.does("symbol.set", &symbol("F1", "a"));
    sandbox.does("fact.set", &json!({ "key": "old", "value": "1" }));
    sandbox.overwrite("protocol/symbols.json", r#"{"symbols":{"F1":"z","F9":"new"}}"#);
    sandbox.overwrite("blackboard.json", r#"{"version":"2.0.0","facts":{"k":"v"}}"#);
    let by_hand = "---\nid: w7\ndepends: \nts: x\n---\nWHAT: by\nhand\n";
    sandbox.overwrite("protocol/capsules/w7.md", by_hand);
    assert!(sandbox.finding()["says"].as_str().unwrap().contains("blackboard.json"));
    let done = sandbox.json(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(done["set_aside"], json!([]), "all of it was taken over: {done}");
    assert_eq!(done["not_adopted"], json!([]));
    assert_eq!(sandbox.symbols(), json!({ "F1": "z", "F9": "new" }));
    let facts = sandbox.json(&["do", "fact.list"]);
    assert_eq!((&facts[0]["key"], &facts[0]["set_by"]), (&json!("k"), &json!("agent:bob")));
    assert_eq!(facts.as_array().unwrap().len(), 1, "what was struck out is gone");
    let capsule = sandbox.json(&["do", "capsule.get", r#"{"id":"w7"}"#]);
    assert_eq!(capsule["what"], "by\nhand");
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    // An edit that cannot be adopted is set aside, not lost.
    sandbox.overwrite("ledger/agents.json", "{}");
    sandbox.overwrite("protocol/symbols.json", r#"{"symbols":{"F9":"new"}}"#);
    let done = sandbox.json(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(done["set_aside"].as_array().unwrap().len(), 2, "{done}");
}

#[test]
fn a_stranger_takes_nobodys_place_and_what_cannot_be_read_is_listed() {
    let sandbox = Sandbox::with_files();
    sandbox.does("capsule.write", &json!({ "id": "w1", "what": "mine" }));
    let of = |id: &str| format!("---\nid: {id}\ndepends: \nts: x\n---\nWHAT: theirs\n");
    sandbox.overwrite("protocol/capsules/evil.md", &of("w1"));
    sandbox.overwrite("protocol/capsules/torn.md", "half a capsule");
    sandbox.overwrite("protocol/capsules/good.md", &of("good"));
    sandbox.overwrite("ledger/claims/whose.json", "{}");
    let done = sandbox.json(&["rebuild", "--adopt", "--as", "bob"]);
    let refused: Vec<String> = done["not_adopted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(refused.len(), 3, "{done}");
    for (line, words) in refused.iter().zip([
        "ledger/claims/whose.json: only capsules",
        "protocol/capsules/evil.md: it says id \"w1\"",
        "protocol/capsules/torn.md: it is not written as a capsule",
    ]) {
        assert!(line.starts_with(words), "{line}");
    }
    let what = |id: &str| {
        let args = json!({ "id": id }).to_string();
        sandbox.json(&["do", "capsule.get", &args])["what"].clone()
    };
    assert_eq!((what("w1"), what("good")), (json!("mine"), json!("theirs")));
    // Nothing hides them from whoever looks.
    sandbox.overwrite("blackboard.json", "{}");
    let words = sandbox.finding()["says"].as_str().unwrap().to_owned();
    for file in ["blackboard.json", "evil.md", "torn.md", "whose.json"] {
        assert!(words.contains(file), "{file}: {words}");
    }
}

#[test]
fn a_folder_in_a_files_place_is_named_and_the_rest_is_rebuilt() {
    let sandbox = Sandbox::with_files();
    for name in ["protocol/symbols.json", "protocol.log", "protocol/message-schema.json"] {
        let place = sandbox.planning_folder().join(name);
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("kept"), "kept").unwrap();
        sandbox.does("symbol.set", &symbol("F1", name));
        sandbox.does("fact.set", &json!({ "key": "k", "value": name }));
        assert!(sandbox.projected("blackboard.json").contains(name), "commands see to the rest");
        std::fs::remove_file(sandbox.planning_folder().join("blackboard.json")).unwrap();
        let ran = sandbox.run(&["rebuild"]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let words = format!("{} is no plain file, and was left alone", place.display());
        assert!(ran.err.contains(&words) && ran.err.contains("Move it away"), "{ran:?}");
        assert!(sandbox.projected("blackboard.json").contains(name));
        assert!(sandbox.finding()["says"].as_str().unwrap().contains(&words));
        assert!(place.join("kept").is_file());
        std::fs::rename(&place, sandbox.path().join("away")).unwrap();
        std::fs::remove_dir_all(sandbox.path().join("away")).unwrap();
        sandbox.ok(&["rebuild"]);
        assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    }
    // Also among capsules.
    std::fs::create_dir(sandbox.planning_folder().join("protocol/capsules/x.md")).unwrap();
    let done = sandbox.json(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(done["not_adopted"].as_array().unwrap().len(), 1, "{done}");
}

#[test]
fn values_that_look_like_fields_come_back_as_they_were() {
    let sandbox = Sandbox::with_files();
    let what = "x\nGOTCHA: y";
    sandbox.does("capsule.write", &json!({ "id": "w1", "what": what, "where": "F1\nWHAT:" }));
    let text = sandbox.projected("protocol/capsules/w1.md");
    assert!(text.ends_with("WHAT: x\n\\GOTCHA: y\nWHERE: F1\n\\WHAT:\n"), "{text}");
    sandbox.overwrite("protocol/capsules/w1.md", &(text + "DECISION: more\n"));
    let done = sandbox.json(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(done["not_adopted"], json!([]));
    let got = sandbox.json(&["do", "capsule.get", r#"{"id":"w1"}"#]);
    assert_eq!((&got["what"], &got["where"]), (&json!(what), &json!("F1\nWHAT:")));
    assert_eq!((&got["gotcha"], &got["decision"]), (&Value::Null, &json!("more")));
}

#[test]
fn a_log_that_lost_its_end_and_records_that_are_gone_come_back() {
    let sandbox = Sandbox::with_files();
    for n in 0..5 {
        let log = json!({ "role": "r", "kind": "k", "tokens": n });
        sandbox.does("ledger.log", &log);
    }
    // As after a power cut: in the middle of a line.
    for log in ["protocol.log", "protocol/ledger.jsonl"] {
        let text = sandbox.projected(log);
        sandbox.overwrite(log, &text[..text.len() - 9]);
    }
    sandbox.does("ledger.log", &json!({ "role": "r", "kind": "k", "tokens": 5 }));
    assert_eq!(sandbox.projected("protocol/ledger.jsonl").lines().count(), 6);
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    std::fs::remove_dir_all(sandbox.state().join("planning")).unwrap();
    sandbox.does("ledger.log", &json!({ "role": "r", "kind": "k", "tokens": 6 }));
    assert_eq!(sandbox.projected("protocol/ledger.jsonl").lines().count(), 7);
    std::fs::remove_dir_all(sandbox.planning_folder().join("ledger")).unwrap();
    sandbox.does("decision.append", &json!({ "title": "t", "body": "b" }));
    assert!(sandbox.projected("ledger/decisions.md").contains("— t"));
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
}

#[test]
fn files_that_were_there_before_are_not_overwritten() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.planning_folder().join("protocol")).unwrap();
    let theirs = r#"{"version":"2.0.0","symbols":{"OLD":"x"}}"#;
    sandbox.overwrite("protocol/symbols.json", theirs);
    sandbox.does("symbol.set", &symbol("F1", "a"));
    assert_eq!(sandbox.projected("protocol/symbols.json"), theirs);
    sandbox.ok(&["rebuild", "--adopt", "--as", "bob"]);
    assert_eq!(sandbox.symbols(), json!({ "F1": "a", "OLD": "x" }));
}

#[test]
fn look_ups_may_leave_lines_among_ours() {
    let sandbox = Sandbox::with_files();
    sandbox.does("symbol.set", &symbol("F1", "a"));
    let look_up = "2020-01-01T00:00:00Z\tresolve\tlookup\tF1\n";
    let log = sandbox.projected("protocol.log") + look_up;
    sandbox.overwrite("protocol.log", &log);
    sandbox.does("symbol.set", &symbol("F2", "b"));
    let now = sandbox.projected("protocol.log");
    assert!(now.starts_with(&log) && now.ends_with("\tresolve\tset\tF2=b\n"), "{now}");
    assert_eq!(sandbox.finding()["level"], "good");
    sandbox.ok(&["rebuild"]);
    let rebuilt = sandbox.projected("protocol.log");
    assert_eq!(rebuilt.matches("lookup").count(), 1, "{rebuilt}");
    assert!(rebuilt.starts_with(look_up), "in the order of time: {rebuilt}");
    assert_eq!(sandbox.finding()["level"], "good");
}

#[test]
fn a_trail_that_was_put_back_shows_in_the_files() {
    let sandbox = Sandbox::with_files();
    sandbox.does("symbol.set", &symbol("F1", "a"));
    let backup = sandbox.path().join("copy");
    sandbox.ok(&["backup", backup.to_str().unwrap()]);
    sandbox.does("symbol.set", &symbol("F1", "b"));
    sandbox.ok(&["backup", "--restore", backup.to_str().unwrap()]);
    sandbox.does("fact.set", &json!({ "key": "k", "value": "v" }));
    assert_eq!(sandbox.symbols(), json!({ "F1": "a" }));
    assert!(!sandbox.projected("protocol.log").contains("F1=b"), "as nobody wrote into it");
    assert_eq!(sandbox.finding()["level"], "good");
}

fn lines(sandbox: &Sandbox, agent: &str) -> Child {
    let mut command = Command::new(BINARY);
    command.current_dir(sandbox.path()).args(["do", "--lines", "--as", agent]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn feed(child: &mut Child, agent: &str, count: usize) {
    use std::io::Write as _;
    let mut input = child.stdin.take().unwrap();
    for n in 0..count {
        let (id, what) = (format!("{agent}-{}", n % 7), format!("{agent} {n}"));
        let line = match n % 4 {
            0 => json!({ "name": "symbol.set", "args": { "id": id, "value": what } }),
            1 => json!({ "name": "capsule.write", "args": { "id": id, "what": what } }),
            2 => json!({ "name": "ledger.log", "args": { "role": id, "kind": "k", "tokens": n } }),
            _ => json!({ "name": "decision.append", "args": { "title": what, "body": "b" } }),
        };
        // Whoever was killed reads no more.
        if writeln!(input, "{line}").is_err() {
            return;
        }
        if n % 16 == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

/// Checks that the files match the trail, and that none is half written.
fn are_whole(sandbox: &Sandbox) {
    for (path, text) in sandbox.all_files() {
        let name = path.to_string_lossy();
        if name.ends_with(".json") {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name}: {text}");
        } else if name.contains("capsules/") {
            assert!(text.starts_with("---\nid: ") && text.contains("\nWHAT: "), "{name}: {text}");
            assert!(text.ends_with('\n'), "{name}: {text}");
        } else {
            assert!(text.is_empty() || text.ends_with('\n'), "{name} ends in the middle");
        }
    }
}

#[test]
fn a_kill_while_writing_leaves_no_half_written_file() {
    let sandbox = Sandbox::with_files();
    let mut seen_behind = false;
    for round in 0..12 {
        let mut child = lines(&sandbox, "alice");
        let id = child.id();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(25 + 13 * round));
            let killed = Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
            assert!(killed.success());
        });
        feed(&mut child, "alice", 4_000);
        killer.join().unwrap();
        child.wait().unwrap();
        are_whole(&sandbox);
        let finding = sandbox.finding();
        let says = finding["says"].as_str().unwrap();
        assert!(!says.contains("by hand") && !says.contains("not from"), "{finding}");
        seen_behind |= says.contains("behind");
        sandbox.does("fact.set", &json!({ "key": "round", "value": round.to_string() }));
        assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    }
    assert!(seen_behind, "nobody was killed in the middle");
    let before = sandbox.all_files();
    sandbox.ok(&["rebuild"]);
    for (path, text) in sandbox.all_files() {
        // Every act of an agent counts as a heartbeat; the file lists only those sent as heartbeats.
        let same = before.get(&path) == Some(&text) || path.ends_with("agents.json");
        assert!(same, "{} is not what the trail makes", path.display());
    }
    assert!(sandbox.set_aside("").is_empty() && sandbox.set_aside("protocol").is_empty());
}

#[test]
fn writers_in_two_processes_leave_one_true_picture() {
    let sandbox = Sandbox::with_files();
    let mut children = ["alice", "bob"].map(|agent| (agent, lines(&sandbox, agent)));
    std::thread::scope(|scope| {
        for (agent, child) in &mut children {
            scope.spawn(move || feed(child, agent, 300));
        }
        // A reader never sees a part.
        for _ in 0..20 {
            are_whole(&sandbox);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    for (_, mut child) in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(sandbox.finding()["level"], "good", "{}", sandbox.finding());
    assert_eq!(sandbox.projected("protocol/ledger.jsonl").lines().count(), 150);
    assert_eq!(sandbox.projected("ledger/decisions.md").matches("\n## ").count(), 150);
    assert_eq!(sandbox.symbols().as_object().unwrap().len(), 14);
}

/// A repository can have links in it. None of them leads a write out of the folder.
#[test]
fn links_are_not_written_through() {
    use std::os::unix::fs::symlink;
    for (link, folder) in [
        (".planning/protocol/.new", false),
        (".planning/protocol/symbols.json", false),
        (".planning/protocol.log", false),
        (".planning/protocol/ledger.jsonl", false),
        (".planning/protocol/capsules", true),
        (".planning", true),
    ] {
        let project = Sandbox::new();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("precious");
        let at = project.path().join(link);
        if folder {
            std::fs::create_dir(&target).unwrap();
            std::fs::create_dir_all(target.join("protocol")).unwrap();
        } else {
            std::fs::write(&target, "mine").unwrap();
        }
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(&target, &at).unwrap();
        project.does("symbol.set", &json!({ "id": "A", "value": "a" }));
        project.does("capsule.write", &json!({ "id": "w1", "what": "x", "depends": [] }));
        project.does("ledger.log", &json!({ "role": "r", "kind": "k", "tokens": 1 }));
        project.run(&["rebuild"]);
        if folder {
            let files = std::fs::read_dir(&target).unwrap();
            let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
            assert_eq!(names, ["protocol"], "{link}");
        } else {
            assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine", "{link}");
        }
        project.ok(&["trail", "verify"]);
    }
}

/// Many begin at once, beside those who write: each file has its own content.
#[test]
fn beginning_again_and_again_mixes_nothing_up() {
    let project = Sandbox::with_files();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..8 {
                    project.ok(&["rebuild"]);
                }
            });
        }
        scope.spawn(|| {
            for n in 0..12 {
                project.does("symbol.set", &json!({ "id": format!("S{n}"), "value": "v" }));
            }
        });
    });
    project.does("fact.set", &json!({ "key": "k", "value": "v" }));
    assert_eq!(project.symbols().as_object().unwrap().len(), 12);
    assert!(project.projected("blackboard.json").contains("\"k\""));
    assert!(project.projected("protocol/message-schema.json").contains("draft-07"));
    assert_eq!(project.finding()["level"], "good", "{}", project.finding());
}

#[test]
fn planning_files_follow_a_restored_trail() {
    let project = Sandbox::with_files();
    project.does("symbol.set", &json!({ "id": "A", "value": "a" }));
    project.ok(&["backup", "copy", "--keys"]);
    project.claim("ghost", "x");
    project.does("capsule.write", &json!({ "id": "later", "what": "x", "depends": [] }));
    project.ok(&["backup", "copy", "--restore"]);
    project.does("symbol.set", &json!({ "id": "D", "value": "d" }));
    let files = project.all_files();
    let names: Vec<String> = files.keys().map(|path| path.display().to_string()).collect();
    assert!(
        !names.iter().any(|name| name.contains("ghost") || name.contains("later")),
        "{names:?}"
    );
    assert_eq!(project.symbols(), json!({ "A": "a", "D": "d" }));
    assert_eq!(project.finding()["level"], "good", "{}", project.finding());
}

#[test]
fn taking_over_an_edit_undoes_nothing_that_came_after_it() {
    let project = Sandbox::with_files();
    project.does("fact.set", &json!({ "key": "k1", "value": "v1" }));
    let edited = project.projected("blackboard.json").replace("v1", "mine");
    project.overwrite("blackboard.json", &edited);
    project.ok(&["fact", "set", "k2", "v2", "--as", "other"]);
    let done = project.json(&["rebuild", "--adopt", "--as", "bob"]);
    assert!(done["not_adopted"][0].as_str().unwrap().contains("others changed"), "{done}");
    assert_eq!(project.ok(&["fact", "get", "k2"]).out.trim_end(), "v2");
    assert_eq!(project.ok(&["fact", "get", "k1"]).out.trim_end(), "v1");
    let aside = project.planning_folder();
    let kept = std::fs::read_dir(aside).unwrap().map(|file| file.unwrap().file_name());
    assert!(kept.into_iter().any(|name| name.to_string_lossy().contains(".edited-")));
}

#[test]
fn an_edited_schema_is_noticed_and_set_aside() {
    let project = Sandbox::with_files();
    project.overwrite("protocol/message-schema.json", "{}");
    project.does("symbol.set", &json!({ "id": "A", "value": "a" }));
    assert_eq!(project.projected("protocol/message-schema.json"), "{}");
    assert!(project.finding().to_string().contains("message-schema.json"));
    project.ok(&["rebuild"]);
    assert!(project.projected("protocol/message-schema.json").contains("draft-07"));
    assert_eq!(project.set_aside("protocol").len(), 1);
}

#[test]
fn titles_stay_on_their_lines() {
    let project = Sandbox::with_files();
    let forged = "t\n\n## 2020 — forged\n- **Kept:** mine";
    project.does("decision.append", &json!({ "title": forged, "body": "## also\nbody" }));
    let dispute = json!({ "id": "c1", "title": forged, "surfaces": ["a"] });
    project.does("dispute.raise", &dispute);
    let decisions = project.projected("ledger/decisions.md");
    let headings = decisions.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(headings, 2, "{decisions}");
    let folder = project.planning_folder().join("ledger/conflicts");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    assert!(
        !text.lines().any(|line| line.starts_with("## 2020") || line.contains("**Kept:** mine\n"))
    );
}
