//! Runs in which runners, agents and git are killed at random moments. In the end each task is merged
//! exactly once, or it failed and is not on the branch; the branch passes its checks at every merge,
//! the person's files are as they were, and the trail is sound. `ALTHING_TORTURE_RUNS=n` does more.

use super::{Finished, Workshop};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many processes are killed in a run before it is left in peace.
const KILLS: usize = 12;

/// Twelve tasks, of which one cannot be done.
const TASKS: &[super::Task<'static>] = &[
    ("work-a", "touches = [\"out/work-a.txt\"]\nattempts = 15"),
    ("work-b", "touches = [\"out/work-b.txt\"]\nattempts = 15"),
    ("work-c", "depends_on = [\"work-a\"]\nattempts = 15"),
    ("work-d", "depends_on = [\"work-b\", \"work-c\"]\nattempts = 15"),
    ("commit-e", "attempts = 15"),
    ("lie-f", "produces = [\"out/lie-f.txt\"]\nattempts = 15"),
    ("outside-g", "touches = [\"out/**\"]\nattempts = 15"),
    ("line-h", "attempts = 15"),
    ("line-i", "attempts = 15"),
    ("line-j", "attempts = 15"),
    ("crash-k", "attempts = 15"),
    ("never-l", "produces = [\"out/never-l.txt\"]\nattempts = 2"),
];

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The processes that work in one of these folders, or were started with them.
fn processes(folders: &[PathBuf], program: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let at = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let is_here = folders.iter().any(|own| at.starts_with(own));
        if is_here && command.split(' ').any(|word| word.ends_with(program)) {
            found.push(pid);
        }
    }
    found
}

fn kill(pid: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Runs a plan to its end, through as many runners as it takes.
fn tortured(own: &Workshop, seed: u64) -> Finished {
    let folders =
        [own.sandbox.path().canonicalize().unwrap(), own.outside.path().canonicalize().unwrap()];
    let is_over = AtomicBool::new(false);
    let plan = own.plan(TASKS);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(seed);
            for _ in 0..KILLS {
                std::thread::sleep(Duration::from_millis(20 + dice.roll(180)));
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let program = ["althing", "althing", "agent.sh", "git"]
                    [usize::try_from(dice.roll(4)).unwrap()];
                let victims = processes(&folders, program);
                if !victims.is_empty() {
                    kill(victims[usize::try_from(dice.roll(victims.len() as u64)).unwrap()]);
                }
            }
        });
        // A run that never ends is a failure, not a test that never ends.
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_mins(3), "seed {seed}: it does not end");
            let runner = own.start(&[&plan, "--agents", "scripted:3"]).wait_with_output().unwrap();
            let ran = crate::support::Ran::of(&runner);
            if matches!(ran.code, Some(0 | 1)) && ran.out.contains("run.finished") {
                is_over.store(true, Ordering::Relaxed);
                return Finished::of(ran);
            }
            assert!(matches!(ran.code, None | Some(4)), "seed {seed}: {ran:?}");
        }
    })
}

/// Whether a commit has conflict markers, or lines that are there twice.
fn check_commit(own: &Workshop, commit: &str) {
    let text = own.file(commit, "shared.txt").unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "{commit}: {text}");
    assert!(!text.contains("<<<<<<<"), "{commit}: {text}");
}

fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    ["README.md", "shared.txt", "althing.toml"]
        .map(|name| (name.to_owned(), std::fs::read(folder.join(name)).unwrap()))
        .to_vec()
}

#[test]
#[cfg(target_os = "linux")]
fn every_task_is_merged_once_or_failed_whoever_is_killed() {
    let runs: u64 = std::env::var("ALTHING_TORTURE_RUNS").map_or(3, |text| text.parse().unwrap());
    for seed in 1..=runs {
        let own = Workshop::with("checks = [\"! grep -q '<<<<<<<' shared.txt\"]");
        let before = files_of(own.sandbox.path());
        let finished = tortured(&own, seed);
        let (merged, failed) = (finished.merged(), finished.list("failed"));
        let left = finished.list("left");
        assert_eq!(
            merged.len() + failed.len() + left.len(),
            TASKS.len(),
            "seed {seed}: {finished:?}"
        );
        for (key, _) in TASKS {
            let grep = format!("--grep=^Althing-Task: {key}$");
            let args = ["rev-list", "--count", "--first-parent", &grep, finished.branch()];
            let count = own.git(&args);
            let wanted = if merged.iter().any(|own| own == key) { "1" } else { "0" };
            assert_eq!(count, wanted, "seed {seed}: {key}: {finished:?}");
        }
        assert!(failed.contains(&"never-l".to_owned()), "seed {seed}: {finished:?}");
        let kept = own.sandbox.json(&["rescue"]);
        let is_kept = kept
            .as_array()
            .unwrap()
            .iter()
            .any(|own| own["name"].as_str().unwrap().starts_with("never-l"));
        assert!(is_kept, "seed {seed}: the work of never-l is gone: {kept}");
        let commits = own.git(&["rev-list", "--first-parent", finished.branch(), "^main"]);
        commits.lines().for_each(|commit| check_commit(&own, commit));
        assert_eq!(files_of(own.sandbox.path()), before, "seed {seed}");
        own.is_sound();
    }
}
