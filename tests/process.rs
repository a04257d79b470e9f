//! Agent processes under supervision: whoever starts them may be killed, and so may anybody else.
//!
//! Everything here is real: processes, signals, locks. The agent is `tests/tools/scripted-agent`.
//! Linux only, because the tests look into `/proc` to see who is left.

use crate::support::BINARY;
use althing_workshop::process::{
    LogReader, NOTE, Outcome, Spec, Start, Status, start, status, stop, wait,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// An attempt: its folder, its worktree, and an agent with a script.
struct Attempt {
    folder: tempfile::TempDir,
    workspace: String,
}

impl Attempt {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("worktree")).unwrap();
        let workspace = format!("ws-{}", folder.path().file_name().unwrap().display());
        Attempt { folder, workspace }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn worktree(&self) -> PathBuf {
        self.folder.path().join("worktree")
    }

    fn spec(&self, turn: u32, script: &str) -> Spec {
        let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tools/scripted-agent");
        let mut spec = Spec::new(&self.workspace, turn, agent.into(), self.worktree());
        spec.env.insert("SCRIPT".to_owned(), script.to_owned());
        spec.grace_ms = 60_000;
        spec
    }

    fn start(&self, spec: &Spec) -> Start {
        start(Path::new(BINARY), &self.state(), spec).unwrap()
    }

    /// Runs a script to its end.
    fn run(&self, spec: &Spec) -> althing_workshop::process::Ended {
        assert_eq!(self.start(spec), Start::Started);
        self.ended()
    }

    fn status(&self) -> Status {
        status(&self.state()).unwrap()
    }

    fn ended(&self) -> althing_workshop::process::Ended {
        match wait(&self.state()).unwrap() {
            Status::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    fn log(&self) -> String {
        let mut reader = LogReader::new(&self.state(), 0);
        let mut text = Vec::new();
        loop {
            let piece = reader.read(1 << 20).unwrap();
            if piece.bytes.is_empty() {
                return String::from_utf8(text).unwrap();
            }
            text.extend(piece.bytes);
        }
    }

    /// Waits until the agent printed a line.
    #[track_caller]
    fn until_it_says(&self, line: &str) {
        until(|| self.log().lines().any(|own| own == line));
    }

    /// The processes of this attempt, seen from outside.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("ALTHING_SUPERVISED={}", self.workspace);
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|own| own == mark.as_bytes())
            })
            .collect()
    }

    /// A number out of `process.json`.
    fn pid_of(&self, role: &str) -> u32 {
        let text = std::fs::read(self.state().join("process.json")).unwrap();
        let process: serde_json::Value = serde_json::from_slice(&text).unwrap();
        process[role]["pid"].as_u64().unwrap().try_into().unwrap()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // A failed test leaves nothing running.
        let _ = stop(&self.state(), Duration::ZERO);
    }
}

#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill_9(pid: u32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|text| !text.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

#[test]
fn an_agent_runs_to_its_end_and_everything_about_it_is_written_down() {
    let attempt = Attempt::new();
    assert_eq!(attempt.status(), Status::NotStarted);
    assert_eq!(wait(&attempt.state()).unwrap(), Status::NotStarted);
    let brief = attempt.folder.path().join("brief.md");
    std::fs::write(&brief, "The brief.\n").unwrap();
    let script = "shell cat\nshell pwd\nwarn careful\nshell echo $ADDED-${HOME:-gone}\n\
                  shell echo $ALTHING_WORKSPACE\nexit 7";
    let mut spec = attempt.spec(1, script);
    spec.stdin = Some(brief);
    spec.env.insert("ADDED".to_owned(), "added".to_owned());
    spec.env_remove.push("HOME".to_owned());
    let ended = attempt.run(&spec);
    assert_eq!((ended.turn, &ended.outcome), (1, &Outcome::Exited(7)));
    assert!(!ended.timed_out && !ended.stopped && !ended.is_success());
    assert!(ended.cpu_ms.is_some() && ended.since_ms > 1_700_000_000_000);
    let mut lines: Vec<String> = attempt.log().lines().map(str::to_owned).collect();
    let warned = lines.iter().position(|line| line == "careful").unwrap();
    lines.remove(warned);
    let worktree = attempt.worktree().canonicalize().unwrap();
    let expected = ["The brief.", worktree.to_str().unwrap(), "added-gone", &attempt.workspace];
    assert_eq!(lines, expected);
    assert_eq!(ended.log_end, attempt.log().len() as u64);
    assert_eq!(attempt.status(), Status::Ended(ended));
}

#[test]
fn turns_follow_each_other_in_one_log_and_none_is_run_twice() {
    let attempt = Attempt::new();
    let first = attempt.run(&attempt.spec(1, "print one"));
    assert!(first.is_success());
    assert_eq!(attempt.start(&attempt.spec(1, "print one again")), Start::AlreadyRan);
    let second = attempt.run(&attempt.spec(2, "print two"));
    assert_eq!((second.turn, second.log_start), (2, first.log_end));
    assert_eq!(attempt.log(), "one\ntwo\n");
    assert_eq!(attempt.status().turn(), 2);
}

#[test]
fn a_program_that_cannot_be_started_is_an_end_with_a_reason() {
    let attempt = Attempt::new();
    let mut spec = attempt.spec(1, "");
    spec.program = "/nowhere/agent".into();
    let ended = attempt.run(&spec);
    let Outcome::CouldNotStart(reason) = &ended.outcome else { panic!("{ended:?}") };
    assert!(reason.contains("/nowhere/agent"), "{reason}");
    let mut spec = attempt.spec(2, "");
    spec.stdin = Some("/nowhere/brief".into());
    let ended = attempt.run(&spec);
    assert!(matches!(ended.outcome, Outcome::CouldNotStart(_)), "{ended:?}");
}

#[test]
fn an_agent_that_is_killed_has_ended_with_that_signal() {
    let attempt = Attempt::new();
    attempt.start(&attempt.spec(1, "print up\nhang"));
    attempt.until_it_says("up");
    let Status::Running(running) = attempt.status() else { panic!("{:?}", attempt.status()) };
    assert!(running.log_end == 3 && running.last_output_ms.is_some());
    kill_9(running.pid.unwrap());
    assert_eq!(attempt.ended().outcome, Outcome::Killed(9));
    assert_eq!(attempt.processes(), Vec::<u32>::new());
}

#[test]
fn an_agent_whose_time_is_over_is_ended() {
    let attempt = Attempt::new();
    let mut spec = attempt.spec(1, "print up\nhang");
    spec.timeout_ms = Some(300);
    let ended = attempt.run(&spec);
    assert_eq!((ended.outcome, ended.timed_out), (Outcome::Killed(15), true));
    // One that does not listen is killed after the grace time, with everything it started.
    let mut spec = attempt.spec(2, "deaf\nleave 3000\nprint up\nhang");
    (spec.timeout_ms, spec.grace_ms) = (Some(1), 500);
    let ended = attempt.run(&spec);
    assert_eq!((ended.outcome, ended.timed_out), (Outcome::Killed(9), true));
    assert_eq!(attempt.processes(), Vec::<u32>::new());
}

#[test]
fn nothing_an_agent_left_behind_outlives_it() {
    let attempt = Attempt::new();
    // A number nobody else sleeps for finds the process that has no environment.
    let odd = format!("30{}", std::process::id());
    let mut spec = attempt.spec(1, &format!("leave 3000\nleave_bare {odd}\nprint bye\nexit 0"));
    spec.grace_ms = 100;
    let ended = attempt.run(&spec);
    assert_eq!(ended.outcome, Outcome::Exited(0));
    assert!(ended.left_behind >= 2, "{}", ended.left_behind);
    assert_eq!((ended.stuck, attempt.processes()), (vec![], vec![]));
    let sleeping = Command::new("pgrep").args(["-f", &format!("sleep {odd}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&sleeping.stdout), "");
}

#[test]
fn stopping_ends_everything_and_is_repeated_without_harm() {
    let attempt = Attempt::new();
    assert_eq!(stop(&attempt.state(), PATIENCE).unwrap(), Status::NotStarted);
    attempt.start(&attempt.spec(1, "leave 3000\nprint up\nhang"));
    attempt.until_it_says("up");
    let Status::Ended(ended) = stop(&attempt.state(), PATIENCE).unwrap() else { panic!() };
    assert_eq!((&ended.outcome, ended.stopped), (&Outcome::Killed(15), true));
    assert_eq!(attempt.processes(), Vec::<u32>::new());
    assert_eq!(stop(&attempt.state(), PATIENCE).unwrap(), Status::Ended(ended));
    // The order was for that turn only.
    assert!(attempt.run(&attempt.spec(2, "exit 0")).is_success());
}

#[test]
fn an_agent_that_ignores_the_order_is_killed_with_all_its_sessions() {
    let attempt = Attempt::new();
    attempt.start(&attempt.spec(1, "deaf\nleave 3000\nprint up\nhang"));
    attempt.until_it_says("up");
    let agent = attempt.pid_of("agent");
    let Status::Ended(ended) = stop(&attempt.state(), Duration::from_millis(300)).unwrap() else {
        panic!()
    };
    assert_eq!((ended.outcome, ended.stopped), (Outcome::Killed(9), true));
    assert!(!lives(agent));
    assert_eq!(attempt.processes(), Vec::<u32>::new());
}

#[test]
fn of_many_starters_exactly_one_starts() {
    let attempt = Attempt::new();
    let spec = attempt.spec(1, "append ran once\nsleep 0.2");
    let started = std::thread::scope(|threads| {
        let starters: Vec<_> = (0..12).map(|_| threads.spawn(|| attempt.start(&spec))).collect();
        let results = starters.into_iter().map(|starter| starter.join().unwrap());
        results.filter(|result| *result == Start::Started).count()
    });
    assert_eq!(started, 1);
    // Waiting works for many at once, too.
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| assert!(attempt.ended().is_success()));
        }
    });
    let ran = std::fs::read_to_string(attempt.worktree().join("ran")).unwrap();
    assert_eq!(ran, "once\n");
}

/// Is started by the next test as a process of its own, and does nothing otherwise.
#[test]
fn a_starter_to_be_killed() {
    let Ok(line) = std::env::var("ALTHING_TEST_STARTER") else { return };
    let (folder, spec): (PathBuf, Spec) = serde_json::from_str(&line).unwrap();
    let _ = start(Path::new(BINARY), &folder, &spec);
    // The kill may come when the agent runs already.
    std::thread::sleep(PATIENCE);
}

/// A small generator, so that a run can be repeated.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

#[test]
fn the_starter_may_be_killed_at_any_instant() {
    let attempt = Attempt::new();
    let (mut random, mut ran) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    for turn in 1..=20 {
        let spec = attempt.spec(turn, &format!("append ran {turn}\nsleep 0.1"));
        let given = serde_json::to_string(&(attempt.state(), &spec)).unwrap();
        let mut starter = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::a_starter_to_be_killed"])
            .env("ALTHING_TEST_STARTER", given)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(next(&mut random) % 80));
        kill_9(starter.id());
        starter.wait().unwrap();
        // What was begun goes on without it, or was not begun.
        let status = wait(&attempt.state()).unwrap();
        if status.turn() == turn {
            assert!(matches!(&status, Status::Ended(ended) if ended.is_success()), "{status:?}");
            assert_eq!(attempt.start(&spec), Start::AlreadyRan);
        } else {
            assert_eq!(attempt.start(&spec), Start::Started, "{status:?}");
            assert!(attempt.ended().is_success());
        }
        ran += 1;
        let lines = std::fs::read_to_string(attempt.worktree().join("ran")).unwrap();
        assert_eq!(lines.lines().count(), ran, "turn {turn} ran once");
    }
}

#[test]
fn a_killed_supervisor_leaves_a_lost_attempt_whose_processes_can_be_ended() {
    let attempt = Attempt::new();
    for turn in 1..=2 {
        let script = "deaf\nleave 3000\nprint up\nhang";
        let mut spec = attempt.spec(turn, script);
        spec.grace_ms = 100;
        assert_eq!(attempt.start(&spec), Start::Started);
        until(|| attempt.processes().len() >= 3);
        kill_9(attempt.pid_of("shim"));
        let Status::Lost(lost) = wait(&attempt.state()).unwrap() else {
            panic!("{:?}", attempt.status())
        };
        assert_eq!((lost.turn, lost.left.len()), (turn, attempt.processes().len()));
        assert_eq!(attempt.start(&spec), Start::AlreadyRan);
        if turn == 1 {
            let status = stop(&attempt.state(), Duration::from_millis(100)).unwrap();
            assert!(matches!(&status, Status::Lost(lost) if lost.left.is_empty()), "{status:?}");
            assert_eq!(attempt.processes(), Vec::<u32>::new());
        }
    }
    // The next start ends what is left by itself: two agents never share a worktree.
    let left = attempt.processes();
    let mut spec = attempt.spec(3, "exit 0");
    spec.grace_ms = 100;
    assert!(attempt.run(&spec).is_success());
    assert!(left.iter().all(|pid| !lives(*pid)));
}

#[test]
fn the_supervisor_may_be_killed_at_any_instant() {
    let attempt = Attempt::new();
    let mut random = 0x51ed_270b_a27f_1d2d_u64;
    for turn in 1..=20 {
        let mut spec = attempt.spec(turn, "append ran on\nleave 3000\nsleep 0.02");
        spec.grace_ms = 50;
        assert_eq!(attempt.start(&spec), Start::Started);
        let shim = attempt.pid_of("shim");
        std::thread::sleep(Duration::from_millis(next(&mut random) % 60));
        // It may be through already.
        let _ = Command::new("kill").args(["-9", &shim.to_string()]).output().unwrap();
        let status = wait(&attempt.state()).unwrap();
        assert!(matches!(status, Status::Lost(_) | Status::Ended(_)), "{status:?}");
        assert_eq!(status.turn(), turn);
    }
    stop(&attempt.state(), Duration::from_millis(50)).unwrap();
    assert_eq!(attempt.processes(), Vec::<u32>::new());
}

#[test]
fn after_a_reboot_the_attempt_is_lost_and_strangers_with_its_numbers_are_left_alone() {
    let attempt = Attempt::new();
    attempt.run(&attempt.spec(1, "exit 0"));
    let mut stranger = Command::new("sleep").arg("3000").spawn().unwrap();
    // What a power failure leaves: a process that is written down, and no end.
    std::fs::remove_file(attempt.state().join("ended.json")).unwrap();
    let path = attempt.state().join("process.json");
    let mut process: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for role in ["shim", "agent"] {
        process[role]["pid"] = stranger.id().into();
        process[role]["started"] = "0badb007:1234".into();
    }
    std::fs::write(&path, process.to_string()).unwrap();
    let Status::Lost(lost) = attempt.status() else { panic!("{:?}", attempt.status()) };
    assert_eq!(lost.left, Vec::<u32>::new());
    stop(&attempt.state(), Duration::ZERO).unwrap();
    let mut spec = attempt.spec(2, "exit 0");
    spec.grace_ms = 0;
    assert!(attempt.run(&spec).is_success());
    assert!(stranger.try_wait().unwrap().is_none(), "a stranger was ended");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn people_who_set_the_workspace_in_their_shell_are_left_alone() {
    let attempt = Attempt::new();
    attempt.start(&attempt.spec(1, "print up\nhang"));
    attempt.until_it_says("up");
    let mut person = Command::new("sleep")
        .arg("3000")
        .env("ALTHING_WORKSPACE", &attempt.workspace)
        .spawn()
        .unwrap();
    stop(&attempt.state(), PATIENCE).unwrap();
    assert!(person.try_wait().unwrap().is_none(), "a person's process was ended");
    person.kill().unwrap();
    person.wait().unwrap();
}

#[test]
fn a_log_stays_within_its_bound() {
    let attempt = Attempt::new();
    let mut spec = attempt.spec(1, "print first words\nflood 3000000\nprint last words");
    spec.log_bytes_max = 90_000;
    let ended = attempt.run(&spec);
    assert!(ended.is_success() && ended.log_end > 3_000_000);
    let log = attempt.log();
    assert!(log.len() <= 90_000 + 65_536, "{}", log.len());
    assert!(log.starts_with("first words\n") && log.ends_with("last words\n"));
    assert!(log.lines().any(|line| line.starts_with(NOTE)));
}

#[test]
fn a_full_disk_ends_neither_the_agent_nor_its_supervisor() {
    let attempt = Attempt::new();
    std::fs::create_dir(attempt.state()).unwrap();
    std::os::unix::fs::symlink("/dev/full", attempt.state().join("log")).unwrap();
    let ended = attempt.run(&attempt.spec(1, "print lost\nappend ran on\nexit 0"));
    assert!(ended.is_success());
    assert!(attempt.worktree().join("ran").exists());
}

#[test]
fn output_without_line_ends_is_seen_while_it_comes() {
    let attempt = Attempt::new();
    attempt.start(&attempt.spec(1, "dots 1000\nhang"));
    until(|| attempt.log().starts_with('.'));
    let Status::Running(running) = attempt.status() else { panic!("{:?}", attempt.status()) };
    assert!(running.last_output_ms.is_some());
}

#[test]
fn supervising_by_hand_is_refused() {
    let attempt = Attempt::new();
    attempt.run(&attempt.spec(1, "append ran once"));
    let ran = Command::new(BINARY)
        .arg("supervise")
        .arg(attempt.state())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!ran.status.success());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("started by Althing itself"), "{said}");
    let ran = std::fs::read_to_string(attempt.worktree().join("ran")).unwrap();
    assert_eq!(ran, "once\n");
}
