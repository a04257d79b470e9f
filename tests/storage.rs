//! How the trail is stored, through the command line: archives, retention, copies, kills.

use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

impl Sandbox {
    /// A worker who stopped and went on so many times.
    fn busy(&self, name: &str, times: usize) -> String {
        let id = self.worker(name);
        let signal = |kind: &str| {
            format!(r#"{{"name":"signal.emit","args":{{"type":"{kind}","reason":"r"}}}}"#)
        };
        let both = format!("{}\n{}\n", signal("blocked"), signal("started"));
        let ran = self.run_with(&["do", "--lines", "--as", name], both.repeat(times).as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        id
    }

    fn abort(&self, workspace: &str) {
        self.ok(&["workspace", "abort", workspace, "--as", "alice"]);
    }

    fn archive_files(&self, ending: &str) -> Vec<PathBuf> {
        let Ok(folder) = std::fs::read_dir(self.state().join("archive")) else { return Vec::new() };
        let paths = folder.map(|entry| entry.unwrap().path());
        let own = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(ending) && !name.starts_with("floor-")
        };
        let mut found: Vec<PathBuf> = paths.filter(own).collect();
        found.sort();
        found
    }
}

/// A project with a run in which bob ended and carol goes on.
fn one_ended() -> (Sandbox, String, String) {
    let (project, _) = Sandbox::with_run();
    let (bob, carol) = (project.busy("bob", 12), project.busy("carol", 12));
    project.abort(&bob);
    (project, bob, carol)
}

const ALL: &[&str] = &["trail", "compact", "--older-than", "0s", "--json"];

/// Shows W-TRAIL-40, W-TRAIL-43.
#[test]
fn ended_workspaces_are_archived_and_read_as_before() {
    let (project, bob, carol) = one_ended();
    let export = project.ok(&["trail", "export"]).out;
    let (then, seq) = (project.entries(), project.entries().len());
    let moment = (seq / 2).to_string();
    let past = project.json(&["trail", "at", &moment]);
    let live = ["trail", "--all", "--json", "--workspace", &carol];
    let of_carol = project.ok(&live).out;

    let plan = project.json(&["trail", "compact", "--older-than", "0s", "--dry-run"]);
    assert_eq!(plan["workspaces"], 1, "{plan}");
    assert_eq!(project.entries().len(), seq, "a plan changes nothing");
    assert_eq!(project.json(&["trail", "compact"])["archived"], 0, "it ended just now");
    let (_, rule) = project.refused(&["trail", "compact", "--workspace", &carol]);
    assert_eq!(rule, "A-TRAIL-03", "what goes on is not touched");
    let seq = project.entries().len();
    let export_now = project.ok(&["trail", "export"]).out;
    let done = project.ok(ALL).json();
    assert_eq!(done["archived"], plan["archived"]);
    let entries = project.entries();
    assert_eq!(entries.len(), seq + 1);
    let record = &entries[seq];
    assert_eq!(record["kind"], "trail_compacted");
    assert_eq!(record["body"]["workspace"], json!(bob));
    assert_eq!(record["body"]["entries_archived"], plan["archived"]);
    assert_eq!(record["body"]["entries_preserved"], plan["preserved"]);
    let manifest = std::fs::read(&project.archive_files(".json")[0]).unwrap();
    let answer: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(record["body"]["archive_range"], answer["range"], "{answer}");
    assert_eq!(answer["count"], plan["archived"]);

    let after = project.ok(&["trail", "export"]).out;
    assert!(after.starts_with(&export_now) && export_now.starts_with(&export), "byte for byte");
    assert_eq!(project.ok(&live).out, of_carol);
    assert_eq!(project.json(&["trail", "at", &moment]), past);
    let moved = then.iter().find(|entry| {
        entry["workspace"] == json!(bob) && entry["kind"] == "signal_delivered"
            || entry["workspace"] == json!(bob) && entry["kind"] == "envelope_delivered"
    });
    let moved = moved.unwrap()["seq"].to_string();
    let shown = project.ok(&["trail", "show", &moved, "--json"]).json();
    assert_eq!(shown["workspace"], json!(bob));
    let proof = project.path().join("proof.json");
    std::fs::write(&proof, project.ok(&["trail", "prove", &moved]).out).unwrap();
    project.ok(&["trail", "verify", "--proof", proof.to_str().unwrap()]);
    let text = project.ok(&["trail", "verify"]).out;
    assert!(text.contains("1 archive whole"), "{text}");

    let tiers = project.json(&["trail", "tiers"]);
    let entries_in: Vec<u64> = tiers["tiers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tier| tier["entries"].as_u64().unwrap())
        .collect();
    assert_eq!(entries_in[2], plan["archived"].as_u64().unwrap());
    assert_eq!(entries_in.iter().sum::<u64>(), project.entries().len() as u64);
    assert_eq!(tiers["archives"][0]["stage"], "moved");
    let text = project.ok(&["trail", "tiers"]).out;
    assert!(text.contains("cold") && text.contains("whole"), "{text}");
    let by_name = project.json(&["do", "trail.tiers"]);
    assert_eq!(by_name, tiers);

    // Another place gets the whole trail, and has no need of the archive.
    let other = Sandbox::without_project();
    let ran = other.run_with(&["trail", "import"], after.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(other.ok(&["trail", "export"]).out, after);
    other.ok(&["trail", "verify"]);
    assert_eq!(other.json(&["trail", "tiers"])["tiers"][2]["entries"], 0);
}

/// Shows W-TRAIL-42, W-TRAIL-45.
#[test]
fn old_workspaces_are_archived_without_being_asked() {
    let (project, _) = Sandbox::with_run();
    let bob = project.busy("bob", 3);
    let warm = |project: &Sandbox| project.json(&["trail", "tiers"])["tiers"][1]["entries"].clone();
    assert_eq!(warm(&project), 0, "what goes on is hot");
    project.abort(&bob);
    assert!(warm(&project).as_u64() > Some(5), "from its end on it is warm");
    project.claim("dave", "a");
    assert!(!project.kinds().contains(&"trail_compacted".to_owned()), "by default after 30 days");
    project.write("althing.toml", "[trail]\ncompact_after = \"never\"\n");
    project.claim("dave", "b");
    assert!(!project.kinds().contains(&"trail_compacted".to_owned()));
    project.write("althing.toml", "[trail]\ncompact_after = \"0s\"\n");
    project.claim("dave", "c");
    assert!(project.kinds().contains(&"trail_compacted".to_owned()));
    project.ok(&["trail", "verify"]);
    let config = project.json(&["config"]);
    let line = config.as_array().unwrap().iter().find(|line| line["key"] == "compact_after");
    assert_eq!(line.unwrap()["origin"], "althing.toml");
    project.write("althing.toml", "[trail]\ncompact_afterwards = \"0s\"\n");
    assert_eq!(project.run(&["status"]).code, Some(2), "a typo is noticed");
}

#[test]
fn a_missing_archive_stops_only_what_needs_it() {
    let (project, bob, carol) = one_ended();
    project.ok(ALL);
    let data = project.archive_files(".zst").remove(0);
    let hidden = project.path().join("hidden");
    std::fs::rename(&data, &hidden).unwrap();
    project.claim("dave", "goes/on");
    project.ok(&["status"]);
    project.ok(&["trail", "--last", "1"]);
    project.ok(&["trail", "--all", "--workspace", &carol]);
    project.ok(&["trail", "--all", "--kind", "workspace_created"]);
    for args in [
        &["trail", "verify"][..],
        &["trail", "export"],
        &["trail", "--all", "--workspace", &bob],
        &["backup", "copy"],
    ] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(5), "{args:?}: {ran:?}");
        let error = ran.error();
        assert_eq!(error["rule"], "A-TRAIL-04", "{args:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("archive 1 is missing"), "{message}");
        assert!(message.contains(data.file_name().unwrap().to_str().unwrap()), "{message}");
    }
    let text = project.run(&["doctor"]);
    assert!(text.code == Some(5) && text.out.contains("archive 1 is missing"), "{text:?}");
    assert!(project.ok(&["trail", "tiers"]).out.contains("MISSING"));
    std::fs::rename(&hidden, &data).unwrap();
    project.ok(&["trail", "verify"]);
    project.ok(&["doctor"]);
}

/// Copies a state folder, so that each round begins from the same.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Shows W-TRAIL-41, W-TRAIL-43.
#[test]
fn a_compaction_that_is_killed_loses_nothing_and_is_finished_later() {
    let (project, _) = Sandbox::with_run();
    for name in ["bob", "carol", "dave"] {
        let id = project.busy(name, 150);
        project.abort(&id);
    }
    let export = project.ok(&["trail", "export"]).out;
    let round = |limit: Option<Duration>| -> Duration {
        let copy = tempfile::tempdir().unwrap();
        let home = copy.path().join("home");
        copy_folder(&project.state(), &home);
        let althing = |args: &[&str]| {
            let mut command = Command::new(BINARY);
            command.args(args).env("ALTHING_HOME", &home).current_dir(copy.path());
            command
        };
        let begun = Instant::now();
        let mut child = althing(ALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if let Some(limit) = limit {
            std::thread::sleep(limit);
            child.kill().unwrap();
        }
        child.wait().unwrap();
        let took = begun.elapsed();
        let run = |args: &[&str]| {
            let output = althing(args).output().unwrap();
            assert!(output.status.success(), "after {limit:?}: {args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        run(&["trail", "verify"]);
        assert!(run(&["trail", "export"]).starts_with(&export), "after {limit:?}");
        run(&["doctor"]);
        run(ALL);
        run(&["trail", "verify"]);
        let after = run(&["trail", "export"]);
        assert!(after.starts_with(&export));
        let records = after.matches("\"kind\":\"trail_compacted\"").count();
        assert_eq!(records, 3, "after {limit:?}: each workspace once");
        let tiers: Value = serde_json::from_str(&run(&["trail", "tiers", "--json"])).unwrap();
        let archives = tiers["archives"].as_array().unwrap();
        assert!(archives.iter().all(|archive| archive["stage"] == "moved"), "{tiers}");
        took
    };
    let whole = round(None);
    for part in 1..12 {
        round(Some(whole * part / 12));
    }
}

/// Shows W-TRAIL-45.
#[test]
fn archives_are_deleted_only_on_somebodys_word_and_after_their_retention() {
    let (project, bob, _) = one_ended();
    project.ok(ALL);
    let (_, rule) = project.refused(&["trail", "prune", "--as", "alice"]);
    assert_eq!(rule, "A-TRAIL-05", "for ever is the default");
    project.write("althing.toml", "[trail]\narchive_retention = \"30d\"\n");
    assert_eq!(project.json(&["trail", "prune", "--as", "alice"])["archives"], json!([]));
    project.write("althing.toml", "[trail]\narchive_retention = \"0s\"\n");
    let (_, rule) = project.refused(&["trail", "prune", "--as", "carol"]);
    assert_eq!(rule, "W-ROLE-04");
    let plan = project.json(&["trail", "prune", "--dry-run", "--as", "alice"]);
    assert_eq!((&plan["archives"], project.archive_files(".zst").len()), (&json!([1]), 1));
    let middle = project.entries().len() / 2;
    let done = project.json(&["trail", "prune", "--as", "alice"]);
    assert_eq!(done["entries"], plan["entries"]);
    assert!(project.archive_files(".zst").is_empty());
    assert!(project.kinds().contains(&"trail.pruned".to_owned()));
    let text = project.ok(&["trail", "verify"]).out;
    assert!(text.contains("deleted, on record: 1 archive"), "{text}");
    // A pruned archive is reported as missing; the rest works, even without a snapshot.
    std::fs::remove_dir_all(project.state().join("snapshots")).unwrap();
    project.claim("dave", "later");
    project.ok(&["trail", "--all", "--workspace", &bob]);
    let ran = project.run(&["trail", "at", &middle.to_string(), "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-TRAIL-04")));
    // The entries before the gap would pass for a whole trail.
    let ran = project.run(&["trail", "export"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    project.ok(&["backup", "copy", "--keys"]);
    project.ok(&["backup", "copy", "--restore"]);
    project.ok(&["trail", "verify"]);
    project.ok(&["doctor"]);
}

#[test]
fn a_deletion_that_is_not_on_record_is_noticed() {
    let (project, ..) = one_ended();
    project.ok(ALL);
    let conn = rusqlite::Connection::open(project.store()).unwrap();
    conn.execute("UPDATE archives SET stage = 2", []).unwrap();
    std::fs::remove_file(&project.archive_files(".zst")[0]).unwrap();
    let ran = project.run(&["trail", "verify", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("A-TRAIL-01")), "{ran:?}");
}

#[test]
fn an_archive_that_is_missing_is_a_trail_that_does_not_hold() {
    let (project, ..) = one_ended();
    let text = project.ok(&["trail", "compact", "--older-than", "0s"]).out;
    assert!(text.starts_with("looked through 1 ended workspace: moved "), "{text}");
    std::fs::remove_file(&project.archive_files(".zst")[0]).unwrap();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("BAD   archives"), "{ran:?}");
    let ran = project.run(&["recover", "--from", "/nope/nothing", "--json"]);
    assert_eq!((ran.code, ran.error()["kind"].as_str()), (Some(1), Some("not_found")), "{ran:?}");
}

/// Shows W-TRAIL-46.
#[test]
fn a_snapshot_is_a_copy_on_record_that_a_stranger_can_verify() {
    let (project, ..) = one_ended();
    project.ok(ALL);
    let export = project.ok(&["trail", "export"]).out;
    let file = project.path().join("then.jsonl");
    let path = file.to_str().unwrap();
    let taken = project.json(&["trail", "snapshot", path]);
    let content = std::fs::read_to_string(&file).unwrap();
    assert_eq!(content, export, "archived entries too");
    assert!(std::fs::metadata(&file).unwrap().permissions().readonly());
    let entry = project.entries().pop().unwrap();
    assert_eq!(entry["kind"], "trail_snapshot_created");
    assert_eq!(entry["body"]["snapshot_hash"], taken["snapshot_hash"]);
    assert_eq!(entry["body"]["up_to_entry"], taken["up_to_entry"]);
    let stranger = Sandbox::bare();
    let report = stranger.json(&["trail", "verify", "--file", path, "--signatures"]);
    assert_eq!(report["checked"]["entries"], taken["up_to_entry"]);
    let again = project.run(&["trail", "snapshot", path, "--json"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.error()["way_out"].as_str().unwrap().contains("another file"), "{again:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content, "it is never written over");

    let early = project.path().join("early.jsonl");
    let args = ["trail", "snapshot", early.to_str().unwrap(), "--upto", "20"];
    let taken = project.json(&args);
    assert!(taken["up_to_entry"].as_u64() <= Some(20), "{taken}");
    let part = std::fs::read_to_string(&early).unwrap();
    assert!(export.starts_with(&part) && !part.is_empty());
    stranger.ok(&["trail", "verify", "--file", early.to_str().unwrap()]);
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_store_from_before_there_were_archives_is_read_as_it_is_and_renewed_when_written() {
    let (project, ..) = one_ended();
    let export = project.ok(&["trail", "export"]).out;
    let conn = rusqlite::Connection::open(project.store()).unwrap();
    let old = "DROP TABLE archives; DROP TABLE floors; PRAGMA user_version = 1";
    conn.execute_batch(old).unwrap();
    let format = || conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    project.ok(&["trail", "verify"]);
    assert_eq!(project.ok(&["trail", "export"]).out, export);
    project.ok(&["trail", "tiers"]);
    project.ok(&["backup", "old"]);
    assert_eq!(format(), 1, "reading changes nothing");
    project.claim("dave", "a");
    assert_eq!(format(), 2);
    assert_eq!(project.ok(ALL).json()["workspaces"], 1);
    project.ok(&["backup", "old", "--restore"]);
    assert!(project.ok(&["trail", "export"]).out.starts_with(&export));
    project.ok(&["trail", "verify"]);
}
