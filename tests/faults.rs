//! Storage that fails: a full disk, input/output errors, a folder that cannot be written, a store
//! that is locked, newer or broken. Real files, real errors from the system.

use crate::support::Sandbox;
use rusqlite::Connection;
use std::io::Write as _;
use std::process::Stdio;

/// A process that answers lines, with the disk's misbehaviour at the end of a switch.
#[cfg(target_os = "linux")]
mod on_command {
    use super::Sandbox;
    use serde_json::Value;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::{Path, PathBuf};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
    use std::sync::OnceLock;

    /// Builds the library that makes the disk fail, once.
    fn library() -> &'static Path {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        BUILT.get_or_init(|| {
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/faults/fault.c");
            let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault.so");
            let built = Command::new("cc")
                .args(["-shared", "-fPIC", "-O1", "-o"])
                .arg(&library)
                .args([source, "-ldl"])
                .status();
            // Rust needs a C compiler to link with, so there is one.
            assert!(built.unwrap().success());
            library
        })
    }

    struct Session {
        child: Child,
        input: ChildStdin,
        output: std::io::Lines<BufReader<ChildStdout>>,
        switch: PathBuf,
    }

    impl Session {
        fn start(project: &Sandbox, agent: &str) -> Self {
            let switch = project.path().join("switch");
            let mut child = project
                .command()
                .args(["do", "--lines", "--as", agent])
                .env("LD_PRELOAD", library())
                .env("FAULT_SWITCH", &switch)
                .env("FAULT_PATH", "trail.db")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let input = child.stdin.take().unwrap();
            let output = BufReader::new(child.stdout.take().unwrap()).lines();
            Session { child, input, output, switch }
        }

        fn ask(&mut self, name: &str, args: &str) -> Value {
            writeln!(self.input, r#"{{"name":"{name}","args":{args}}}"#).unwrap();
            serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
        }

        fn claim(&mut self, surface: &str) -> Value {
            self.ask("lease.open", &format!(r#"{{"surfaces":["{surface}"]}}"#))
        }

        fn live(&mut self) -> usize {
            self.ask("lease.list", "{}")["ok"].as_array().unwrap().len()
        }

        fn fail(&self, how: &str) {
            std::fs::write(&self.switch, how).unwrap();
        }

        fn work(&self) {
            std::fs::remove_file(&self.switch).unwrap();
        }

        fn end(self) {
            let Session { mut child, input, .. } = self;
            drop(input);
            assert!(child.wait().unwrap().success());
        }
    }

    /// Shows W-REC-09, W-REC-14, W-TRAIL-03.
    #[test]
    fn while_the_disk_refuses_commands_are_unavailable_and_reads_go_on() {
        for (how, kinds) in [
            ("full", &["unavailable"][..]),
            ("write", &["unavailable"]),
            ("sync", &["unavailable", "unconfirmed"]),
        ] {
            let project = Sandbox::new();
            let mut session = Session::start(&project, "alice");
            assert!(session.claim("before")["ok"].is_object());
            session.fail(how);
            for n in 0..3 {
                let answer = session.claim(&format!("during/{n}"));
                let kind = answer["error"]["kind"].as_str();
                assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{how}: {answer}");
                assert_eq!(answer["error"]["rule"], "A-STORE-02", "{how}");
                assert_eq!(session.live(), 1, "{how}: reads go on");
            }
            session.work();
            assert!(session.claim("after")["ok"].is_object(), "{how}: it recovers by itself");
            assert_eq!(session.live(), 2, "{how}");
            session.end();
            project.ok(&["trail", "verify", "--signatures"]);
            let kinds = project.kinds();
            let noted = kinds.iter().filter(|kind| *kind == "system_degraded").count();
            assert_eq!(noted, 1, "{how}: the outage is on record, once");
            assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 2, "{how}");
        }
    }

    /// Shows W-REC-09.
    #[test]
    fn an_outage_that_only_ended_processes_met_is_on_record_too() {
        let project = Sandbox::new();
        project.claim("alice", "a");
        let switch = project.path().join("switch");
        std::fs::write(&switch, "full").unwrap();
        for n in 0..3 {
            let output = project
                .command()
                .args(["claim", &format!("b{n}"), "--as", "alice", "--json"])
                .env("LD_PRELOAD", library())
                .env("FAULT_SWITCH", &switch)
                .env("FAULT_PATH", "trail.db-wal")
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(4), "{output:?}");
        }
        project.claim("bob", "b");
        project.claim("bob", "c");
        let noted: Vec<Value> = project
            .entries()
            .into_iter()
            .filter(|entry| entry["kind"] == "system_degraded")
            .collect();
        assert_eq!(noted.len(), 1, "{noted:?}");
        assert_eq!(noted[0]["body"]["turned_away"], 3);
        assert_eq!(noted[0]["body"]["scope"], "trail_storage");
        assert!(!project.kinds().contains(&"recovery_completed".to_owned()), "nobody died");
        project.ok(&["trail", "verify"]);
    }

    #[test]
    fn a_single_command_on_a_full_disk_fails_cleanly() {
        let project = Sandbox::new();
        project.claim("alice", "a");
        let switch = project.path().join("switch");
        std::fs::write(&switch, "full").unwrap();
        let output = project
            .command()
            .args(["claim", "b", "--as", "alice", "--json"])
            .env("LD_PRELOAD", library())
            .env("FAULT_SWITCH", &switch)
            .env("FAULT_PATH", "trail.db")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["error"]["kind"], "unavailable");
        project.ok(&["trail", "verify"]);
        project.claim("bob", "b");
    }

    #[test]
    fn content_on_a_failing_disk_is_unavailable_and_leaves_no_half_of_it() {
        let project = Sandbox::new();
        std::fs::write(project.path().join("content"), vec![7; 1 << 20]).unwrap();
        let switch = project.path().join("switch");
        let blobs = project.state().join("blobs");
        for how in ["full", "write", "sync"] {
            std::fs::write(&switch, how).unwrap();
            let output = project
                .command()
                .args(["blob", "put", "content", "--json"])
                .env("LD_PRELOAD", library())
                .env("FAULT_SWITCH", &switch)
                .env("FAULT_PATH", "blobs/new")
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(4), "{how}: {output:?}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["error"]["kind"], "unavailable", "{how}");
            assert_eq!(answer["error"]["rule"], "A-STORE-02", "{how}");
            let text = answer["error"]["message"].as_str().unwrap();
            assert!(text.contains("the store is unavailable"), "{how}: {text}");
            assert!(project.json(&["blob", "list"]).as_array().unwrap().is_empty(), "{how}");
            assert_eq!(std::fs::read_dir(blobs.join("new")).unwrap().count(), 0, "{how}");
        }
        let name = project.ok(&["blob", "put", "content"]).out;
        project.ok(&["blob", "get", name.trim_end(), "-o", "back"]);
        let back = std::fs::read(project.path().join("back")).unwrap();
        assert!(back == vec![7; 1 << 20]);
    }

    /// Failing at any moment, over and over: what was acknowledged stays, what was turned away
    /// did not happen.
    /// Shows W-TRAIL-03.
    #[test]
    fn a_disk_that_keeps_failing_loses_nothing_acknowledged() {
        let project = Sandbox::new();
        let mut session = Session::start(&project, "alice");
        let mut granted = 0;
        let mut turned_away = 0;
        for n in 0..120 {
            match n % 12 {
                3 => session.fail("full"),
                8 => session.fail("write"),
                5 | 10 => session.work(),
                _ => {}
            }
            let answer = session.claim(&format!("f{n}"));
            if answer["ok"].is_object() {
                granted += 1;
            } else {
                assert_eq!(answer["error"]["kind"], "unavailable", "{answer}");
                turned_away += 1;
            }
            assert_eq!(session.live(), granted);
        }
        session.end();
        assert!(granted > 50 && turned_away > 20, "{granted} {turned_away}");
        assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), granted);
        project.ok(&["trail", "verify"]);
    }
}

#[test]
fn a_store_at_its_size_limit_refuses_and_goes_on_once_it_may_grow() {
    let project = Sandbox::new();
    let file = project.path().join("althing.toml");
    std::fs::write(&file, "store_bytes_max = 131072\n").unwrap();
    let mut granted = 0;
    let refused = loop {
        let ran = project.run(&["claim", &format!("f{granted}"), "--as", "alice", "--json"]);
        if ran.code != Some(0) {
            break ran;
        }
        granted += 1;
    };
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.error()["message"].as_str().unwrap().contains("full"));
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), granted, "reads go on");
    std::fs::remove_file(&file).unwrap();
    project.claim("alice", "more");
    project.ok(&["trail", "verify"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_still_read() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let project = Sandbox::new();
    project.claim("alice", "src");
    std::fs::write(project.path().join("content"), "kept").unwrap();
    let stored = project.ok(&["blob", "put", "content"]).out;
    std::fs::write(project.path().join("content"), "new").unwrap();
    // The superuser can write anywhere; then somebody else has to try.
    let uid = std::fs::metadata("/proc/self")
        .map_or(1, |data| std::os::unix::fs::MetadataExt::uid(&data));
    let chmod = |mode: u32, file_mode: u32| {
        let set = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(project.path(), 0o755);
        set(&project.path().join(".git"), 0o755);
        let mut folders = vec![project.state()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { set(&path, file_mode) }
            }
            set(&folder, mode);
        }
    };
    chmod(0o555, 0o444);
    let run = |args: &[&str]| {
        let mut command = project.command();
        if uid == 0 {
            command.uid(65_534).gid(65_534);
        }
        // Git refuses to trust a repository of somebody else; Althing does not ask git.
        let output = command.args(args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, out) = run(&["claims", "--json"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("agent:alice"));
    assert_eq!(run(&["check", "src", "--as", "bob"]).0, Some(3));
    assert_eq!(run(&["trail", "verify"]).0, Some(0));
    let (code, out) = run(&["claim", "docs", "--as", "alice", "--json"]);
    assert_eq!(code, Some(4), "{out}");
    assert!(out.contains("A-STORE-02"), "{out}");
    assert_eq!(run(&["blob", "get", stored.trim_end()]), (Some(0), "kept".to_owned()));
    let (code, out) = run(&["blob", "put", "content", "--json"]);
    assert_eq!(code, Some(4), "{out}");
    assert!(out.contains("A-STORE-02"), "{out}");
    assert_eq!(run(&["doctor"]).0, Some(4));
    chmod(0o755, 0o644);
    project.ok(&["blob", "put", "content"]);
}

#[test]
fn a_store_locked_by_another_program_is_unavailable_and_reads_go_on() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    let intruder = Connection::open(project.store()).unwrap();
    intruder.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    let ran = project.run(&["claim", "docs", "--as", "bob", "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.error()["message"].as_str().unwrap().contains("locked"), "{ran:?}");
    intruder.execute_batch("ROLLBACK").unwrap();
    project.claim("bob", "docs");
}

#[test]
fn a_writer_that_hangs_is_waited_for_only_so_long() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    let lock = std::fs::File::options().write(true).open(project.state().join("trail.db-lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    let impatient = |args: &[&str], input: &[u8]| {
        let mut command = project.command();
        command.env("ALTHING_PATIENCE", "1s").args(args).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    };
    let key = std::fs::read(project.state().join("keys/runtime.key")).unwrap();
    for args in [
        &["claim", "docs", "--as", "bob", "--json"][..],
        &["do", "--lines", "--as", "bob"],
        &["doctor", "--rekey", "--reason", "x", "--json"],
    ] {
        if args[0] == "doctor" {
            std::fs::remove_file(project.state().join("keys/runtime.key")).unwrap();
        }
        let line = b"{\"name\":\"lease.open\",\"args\":{\"surfaces\":[\"a\"]}}\n";
        let output = impatient(args, line);
        assert!(String::from_utf8_lossy(&output.stdout).contains("withdrawn"), "{output:?}");
    }
    std::fs::write(project.state().join("keys/runtime.key"), key).unwrap();
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1, "reads go on");
    lock.unlock().unwrap();
    project.claim("carol", "docs");
}

#[test]
fn a_newer_store_is_left_untouched() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    let conn = Connection::open(project.store()).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let before = project.bytes_of_state();
    for args in [&["claims"][..], &["claim", "a", "--as", "x"], &["trail", "verify"], &["init"]] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(4), "{args:?}: {ran:?}");
        assert_eq!(ran.error()["rule"], "A-STORE-03");
    }
    assert!(project.bytes_of_state() == before);
}

/// Shows W-SEC-12.
#[test]
fn a_broken_store_is_reported_and_kept() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    for ending in ["trail.db-wal", "trail.db-shm"] {
        std::fs::remove_file(project.state().join(ending)).unwrap();
    }
    std::fs::write(project.store(), "this was a store once ".repeat(300)).unwrap();
    let before = std::fs::read(project.store()).unwrap();
    for args in [&["claims"][..], &["claim", "a", "--as", "x"], &["trail", "verify"], &["init"]] {
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(5), "{args:?}: {ran:?}");
        assert_eq!(ran.error()["rule"], "A-TRAIL-01");
    }
    assert_eq!(project.run(&["doctor"]).code, Some(4));
    assert_eq!(std::fs::read(project.store()).unwrap(), before, "evidence is kept");
}

#[test]
fn a_database_of_something_else_is_not_touched() {
    let project = Sandbox::without_project();
    let other = project.path().join("other.db");
    let conn = Connection::open(&other).unwrap();
    conn.execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)").unwrap();
    drop(conn);
    let before = std::fs::read(&other).unwrap();
    for args in [&["init"][..], &["claims"]] {
        let ran = project.run(&[args, &["--store", "sqlite:other.db", "--json"]].concat());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert_eq!(ran.error()["rule"], "A-STORE-04");
    }
    assert_eq!(std::fs::read(&other).unwrap(), before);
}
