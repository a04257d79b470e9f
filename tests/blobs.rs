//! Content beside the trail, as people and scripts store and fetch it.

use crate::support::Sandbox;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Bytes that are no text.
fn binary() -> Vec<u8> {
    (0..100_000u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect()
}

fn write(project: &Sandbox, name: &str, content: &[u8]) -> PathBuf {
    let path = project.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Stores content and returns its name.
#[track_caller]
fn put(project: &Sandbox, content: &[u8]) -> String {
    let ran = project.run_with(&["blob", "put"], content);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out.trim_end().to_owned()
}

/// The exit code and output of `blob get`, which need not be text.
fn get(project: &Sandbox, name: &str) -> (Option<i32>, Vec<u8>) {
    let output = project.command().args(["blob", "get", name]).output().unwrap();
    (output.status.code(), output.stdout)
}

fn file_of(state: &Path, name: &str) -> PathBuf {
    let hex = name.strip_prefix("sha256:").unwrap();
    state.join("blobs").join(&hex[..2]).join(hex)
}

fn doctors_word(findings: &Value) -> (&str, &str) {
    let found = findings.as_array().unwrap().iter().find(|one| one["check"] == "content").unwrap();
    (found["level"].as_str().unwrap(), found["says"].as_str().unwrap())
}

#[test]
fn content_is_stored_listed_and_fetched() {
    let project = Sandbox::new();
    write(&project, "abc.txt", b"abc");
    assert_eq!(project.ok(&["blob", "put", "abc.txt"]).out, format!("{ABC}\n"));
    let again = project.json(&["blob", "put", "abc.txt"]);
    assert_eq!((again["blob"].as_str(), again["bytes"].as_u64()), (Some(ABC), Some(3)));
    let ran = project.run_with(&["blob", "put", "-"], b"abc");
    assert_eq!(ran.out.trim_end(), ABC, "{ran:?}");
    let binary = binary();
    let name = put(&project, &binary);
    assert_eq!(get(&project, &name), (Some(0), binary.clone()));
    assert_eq!(get(&project, &put(&project, b"")), (Some(0), Vec::new()));

    assert_eq!(project.ok(&["blob", "get", &name, "-o", "out.bin"]).out, "");
    assert_eq!(std::fs::read(project.path().join("out.bin")).unwrap(), binary);
    let answer = project.json(&["blob", "get", ABC, "--output", "out.bin"]);
    assert_eq!((answer["bytes"].as_u64(), answer["file"].as_str()), (Some(3), Some("out.bin")));
    assert_eq!(std::fs::read(project.path().join("out.bin")).unwrap(), b"abc");
    assert_eq!(project.ok(&["blob", "get", ABC, "-o", "-"]).out, "abc");

    let list = project.json(&["blob", "list"]);
    let of = |name: &str| {
        let found = list.as_array().unwrap().iter().find(|one| one["blob"] == name);
        found.map(|one| one["bytes"].as_u64().unwrap())
    };
    assert_eq!((list.as_array().unwrap().len(), of(ABC), of(&name)), (3, Some(3), Some(100_000)));
    let shown = project.ok(&["blob", "list"]).out;
    assert!(shown.lines().any(|line| line == format!("{ABC}  3")), "{shown}");
    assert_eq!(project.kinds(), ["project.created"], "content is no entry");
}

#[test]
fn content_belongs_to_the_project_wherever_in_it_one_stands() {
    let project = Sandbox::new();
    let name = put(&project, b"shared");
    let below = project.path().join("deep/er");
    std::fs::create_dir_all(&below).unwrap();
    let output = project.command().current_dir(&below).args(["blob", "get", &name]).output();
    assert_eq!(output.unwrap().stdout, b"shared");
}

#[test]
fn names_and_files_that_cannot_be_used_are_refused_by_name() {
    let project = Sandbox::new();
    put(&project, b"abc");
    let large = std::fs::File::create(project.path().join("large")).unwrap();
    large.set_len((256 << 20) + 1).unwrap();
    let before = project.bytes_of_state();
    let (upper, other) = (ABC.to_uppercase(), ABC.replace("ba78", "ba79"));
    let cases: &[(&[&str], i32, &str, &str)] = &[
        (&["blob", "get", "nonsense"], 2, "A-USE-01", "64 lower-case"),
        (&["blob", "get", ""], 2, "A-USE-01", "names no content"),
        (&["blob", "get", &other[7..]], 2, "A-USE-01", "`sha256:`"),
        (&["blob", "get", &other[..70]], 2, "A-USE-01", "names no content"),
        (&["blob", "get", &ABC[68..]], 2, "A-USE-01", "names no content"),
        (&["blob", "get", &upper], 2, "A-USE-01", "lower-case"),
        (&["blob", "get", "sha256:../../../../etc/passwd"], 2, "A-USE-01", "names no content"),
        (&["blob", "get", &other], 1, "A-USE-05", "no content"),
        (&["blob", "get", ABC, "-o", "no/such/folder/file"], 4, "A-STORE-02", "cannot write"),
        (&["blob", "put", "no-such-file"], 2, "A-USE-01", "no-such-file"),
        (&["blob", "put", "."], 2, "A-USE-01", "cannot store"),
        (&["blob", "put", "large"], 2, "A-USE-03", "268435456"),
        (&["blob"], 2, "A-USE-01", "Usage"),
        (&["blob", "remove", ABC], 2, "A-USE-01", "unrecognized"),
    ];
    for (args, code, rule, words) in cases {
        let ran = project.run(&[args, &["--json"][..]].concat());
        assert_eq!(ran.code, Some(*code), "{args:?}: {ran:?}");
        let error = ran.error();
        assert_eq!(error["rule"], *rule, "{args:?}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{args:?} should say {words:?}: {message}");
    }
    // A part that only one has names it: as it is shown, from the beginning or the end.
    for part in [&ABC[7..], &ABC[..70], &ABC[..19], &ABC[65..]] {
        assert_eq!(get(&project, part), (Some(0), b"abc".to_vec()), "{part}");
    }
    assert!(project.bytes_of_state() == before);
}

#[test]
fn without_a_project_there_is_no_content() {
    let project = Sandbox::without_project();
    for args in [&["blob", "put"][..], &["blob", "get", ABC], &["blob", "list"]] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-STORE-01")));
    }
    assert!(!project.state().exists(), "nothing is created");
}

#[test]
fn damaged_content_is_refused_found_by_doctor_and_mended() {
    let project = Sandbox::new();
    let binary = binary();
    let (damaged, sound) = (put(&project, &binary), put(&project, b"sound"));
    let findings = project.json(&["doctor"]);
    let (level, says) = doctors_word(&findings);
    assert_eq!(level, "good");
    assert!(says.contains("2 blobs") && says.contains("97 KiB"), "{says}");

    let path = file_of(&project.state(), &damaged);
    std::fs::write(&path, &binary[..99_999]).unwrap();
    let ran = project.run(&["blob", "get", &damaged, "--json"]);
    let error = ran.error();
    assert_eq!((ran.code, error["rule"].as_str()), (Some(5), Some("A-TRAIL-01")));
    assert_eq!(error["details"]["blob"], damaged.as_str());
    assert!(error["way_out"].as_str().unwrap().contains("blob put"), "{error}");
    assert_eq!(project.run(&["blob", "get", &damaged, "-o", "out"]).code, Some(5));
    assert!(!project.path().join("out").exists());

    let ran = project.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let findings: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    let (level, says) = doctors_word(&findings);
    assert_eq!(level, "bad");
    assert!(says.contains(&damaged) && !says.contains(&sound), "{says}");
    assert!(project.run(&["doctor"]).out.contains(&damaged));
    assert_eq!(std::fs::read(&path).unwrap().len(), 99_999, "looking mends nothing");

    assert_eq!(put(&project, &binary), damaged);
    assert_eq!(get(&project, &damaged), (Some(0), binary));
    project.ok(&["doctor"]);
}

#[test]
fn doctor_looks_at_content_even_if_the_trail_is_broken() {
    let project = Sandbox::new();
    let name = put(&project, b"abc");
    std::fs::write(file_of(&project.state(), &name), "abd").unwrap();
    std::fs::write(project.store(), "this was a store once ".repeat(300)).unwrap();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.out.contains(&name), "{}", ran.out);
}

#[test]
fn missing_content_is_reported() {
    let project = Sandbox::new();
    project.ok(&["do", "run.start", "--as", "lead"]);
    let plan = r#"{"tasks":[{"key":"k","name":"n","description":{"text":"abc"}}]}"#;
    project.ok(&["do", "task.graph", plan, "--as", "lead"]);
    std::fs::remove_file(file_of(&project.state(), ABC)).unwrap();
    let ran = project.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(4));
    let first = ran.out.lines().next().unwrap();
    let findings: serde_json::Value = serde_json::from_str(first).unwrap();
    let (level, says) = doctors_word(&findings);
    assert_eq!(level, "bad");
    assert!(says.contains(ABC), "{says}");
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("monday");
    let ran = project.ok(&["backup", folder.to_str().unwrap()]);
    assert!(ran.err.contains(&format!("not there: {ABC}")), "{ran:?}");
    let restored = project.json(&["backup", "--restore", folder.to_str().unwrap()]);
    assert_eq!(restored["blobs"]["missing"], serde_json::json!([ABC]));
    put(&project, b"abc");
    let restored = project.json(&["backup", "--restore", folder.to_str().unwrap()]);
    assert_eq!(restored["blobs"]["missing"], serde_json::json!([]));
    assert_eq!(doctors_word(&project.json(&["doctor"])).0, "good");
}

#[test]
fn content_comes_back_with_a_backup_into_a_fresh_folder() {
    let project = Sandbox::new();
    let binary = binary();
    let (first, second) = (put(&project, &binary), put(&project, b"abc"));
    project.ok(&["claim", "a", "--as", "alice", "-m", &first]);
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("monday");
    let folder = folder.to_str().unwrap();
    let made = project.json(&["backup", folder, "--keys"]);
    assert_eq!(made["blobs"]["whole"], 2);
    assert_eq!(made["blobs"]["bytes"], 100_003);
    assert!(file_of(Path::new(folder), &first).is_file());

    let other = Sandbox::without_project();
    let ran = other.ok(&["backup", "--restore", folder]);
    assert!(ran.out.contains("and 2 blobs"), "{ran:?}");
    assert_eq!(get(&other, &first), (Some(0), binary.clone()));
    assert_eq!(get(&other, &second), (Some(0), b"abc".to_vec()));
    other.ok(&["doctor"]);
    other.ok(&["trail", "verify", "--signatures"]);

    // Damage in the copy is noticed on the way back; what is here already is not touched.
    let later = put(&project, b"later");
    std::fs::write(file_of(Path::new(folder), &second), "rot").unwrap();
    std::fs::remove_file(file_of(&project.state(), &second)).unwrap();
    let ran = project.ok(&["backup", "--restore", folder]);
    assert!(ran.err.contains(&format!("damaged, so left out: {second}")), "{ran:?}");
    assert_eq!(get(&project, &second).0, Some(1));
    assert_eq!(get(&project, &later), (Some(0), b"later".to_vec()));
    assert_eq!(get(&project, &first), (Some(0), binary));
}

#[test]
fn a_backup_from_before_there_was_content_restores() {
    let project = Sandbox::new();
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("old");
    project.ok(&["backup", folder.to_str().unwrap(), "--keys"]);
    assert!(!folder.join("blobs").exists());
    let name = put(&project, b"new");
    project.ok(&["backup", "--restore", folder.to_str().unwrap()]);
    assert_eq!(get(&project, &name), (Some(0), b"new".to_vec()));
}

#[test]
fn an_export_names_content_and_does_not_carry_it() {
    let project = Sandbox::new();
    let name = put(&project, b"abc");
    project.ok(&["do", "run.start", "--as", "lead"]);
    let task = serde_json::json!({ "key": "k", "name": "n", "description": { "blob": name } });
    let plan = serde_json::json!({ "tasks": [task] }).to_string();
    project.ok(&["do", "task.graph", &plan, "--as", "lead"]);
    let export = project.ok(&["trail", "export"]).out;
    let other = Sandbox::without_project();
    assert_eq!(other.run_with(&["trail", "import"], export.as_bytes()).code, Some(0));
    assert_eq!(get(&other, &name).0, Some(1));
    assert!(other.run(&["doctor"]).out.contains(&name));
    for command in ["export", "import"] {
        let help = project.ok(&["trail", command, "--help"]).out.replace('\n', " ");
        assert!(help.contains("`althing backup` copies both"), "{help}");
    }
}

fn start_put(project: &Sandbox, args: &[&str]) -> Child {
    project
        .command()
        .args(["blob", "put"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn many_processes_store_the_same_and_other_content_at_once() {
    let project = Sandbox::new();
    let contents: Vec<Vec<u8>> = (0..6u8).map(|n| [binary().as_slice(), &[n]].concat()).collect();
    for (n, content) in contents.iter().enumerate() {
        write(&project, &format!("f{n}"), content);
    }
    let racers: Vec<(usize, Child)> =
        (0..30).map(|n| (n % 6, start_put(&project, &[&format!("f{}", n % 6)]))).collect();
    for (n, racer) in racers {
        let output = racer.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let name = String::from_utf8(output.stdout).unwrap();
        assert_eq!(get(&project, name.trim_end()), (Some(0), contents[n].clone()));
    }
    assert_eq!(project.json(&["blob", "list"]).as_array().unwrap().len(), 6);
    assert_eq!(doctors_word(&project.json(&["doctor"])).0, "good");
    let left = std::fs::read_dir(project.state().join("blobs/new")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn killed_processes_leave_content_whole_or_not_at_all() {
    let project = Sandbox::new();
    let mut acknowledged = Vec::new();
    for round in 0..40u64 {
        let mut child = start_put(&project, &["-"]);
        let mut input = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || {
            let piece = vec![u8::try_from(round).unwrap(); 1 << 16];
            (0..16).all(|_| {
                // Slow enough that some die while they still listen.
                std::thread::sleep(Duration::from_millis(1));
                input.write_all(&piece).is_ok()
            })
        });
        std::thread::sleep(Duration::from_micros(2_000 + round * 700));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        let name = String::from_utf8(output.stdout).unwrap();
        if name.ends_with('\n') {
            acknowledged.push((name.trim_end().to_owned(), round));
        }
    }
    let findings = project.json(&["doctor"]);
    assert_eq!(doctors_word(&findings).0, "good", "{findings}");
    for (name, round) in acknowledged {
        let whole = vec![u8::try_from(round).unwrap(); 1 << 20];
        assert_eq!(get(&project, &name), (Some(0), whole), "what was acknowledged is there");
    }
    for stored in project.json(&["blob", "list"]).as_array().unwrap() {
        assert_eq!(stored["bytes"], 1 << 20, "{stored}");
    }
    put(&project, b"and it goes on");
}
