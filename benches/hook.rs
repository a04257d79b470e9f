//! `althing hook edit` beside an empty process: how much an agent waits before each edit.
//!
//! Both are started in turns, so that whatever else the machine does falls on both alike.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;
const FILES_OF_OTHERS: usize = 200;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
    assert!(git.unwrap().success());
    althing(folder.path(), &["init"], "");
    for number in 0..FILES_OF_OTHERS {
        althing(folder.path(), &["claim", &format!("held/{number}.rs"), "--as", "bob"], "");
    }
    // The first call claims the file; those that are measured find it claimed.
    call(folder.path(), "src/lib.rs");
    let edits = |own: &str| call(folder.path(), own);
    let mut times: [Vec<Duration>; 3] = Default::default();
    // Where benchmarks are only tried out, as by `cargo test --benches`, one round is enough.
    let is_measured = std::env::args().any(|arg| arg == "--bench");
    for _ in 0..if is_measured { ROUNDS } else { 1 } {
        times[0].push(timed(|| run(Command::new("true"), "")));
        times[1].push(timed(|| edits("src/lib.rs")));
        times[2].push(timed(|| edits("held/7.rs")));
    }
    let [empty, own, refused] = times.map(percentiles);
    let mut out = std::io::stdout().lock();
    writeln!(out, "empty process    p50 {:>10.2?}  p99 {:>10.2?}", empty.0, empty.1).unwrap();
    for (name, found) in [("one's own file", own), ("refused", refused)] {
        writeln!(
            out,
            "{name:<16} p50 {:>10.2?}  p99 {:>10.2?}  {:.1} and {:.1} times an empty process",
            found.0,
            found.1,
            found.0.as_secs_f64() / empty.0.as_secs_f64(),
            found.1.as_secs_f64() / empty.1.as_secs_f64(),
        )
        .unwrap();
    }
}

/// Asks as Claude Code does.
fn call(folder: &Path, file: &str) {
    let payload = format!(
        r#"{{"session_id":"s","cwd":"{}","tool_name":"Write","tool_input":{{"file_path":"{file}"}}}}"#,
        folder.display(),
    );
    althing(folder, &["hook", "edit", "--agent", "claude", "--as", "amy"], &payload);
}

fn althing(folder: &Path, args: &[&str], input: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_althing"));
    command.args(args).current_dir(folder);
    run(command, input);
}

fn run(mut command: Command, input: &str) {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Not every program reads what it is given.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    assert!(child.wait().unwrap().success());
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// The median and the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
