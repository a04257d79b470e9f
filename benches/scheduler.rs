//! `althing run` with 8 agents and 40 tasks that take no time, beside the calls of git that such a task
//! needs anyway: a worktree and a merge.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TASKS: u32 = 40;
const FILES: u32 = 200;

fn main() {
    // Where benchmarks are only tried out, as by `cargo test --benches`, a few tasks are enough.
    let tasks = if std::env::args().any(|arg| arg == "--bench") { TASKS } else { 4 };
    let outside = tempfile::tempdir().unwrap();
    let project = outside.path().join("project");
    begin(&project, outside.path());
    let mut plan = Vec::new();
    for number in 0..tasks {
        writeln!(plan, "[[tasks]]\nkey = \"t{number}\"\ntext = \"x\"").unwrap();
    }
    std::fs::write(outside.path().join("plan.toml"), plan).unwrap();
    let run = timed(|| {
        let mut althing = Command::new(env!("CARGO_BIN_EXE_althing"));
        althing.args(["run", "../plan.toml", "--agents", "quick:8", "--json"]);
        run(althing.current_dir(&project));
    });
    let git = (0..tasks).map(|number| with_git(&project, outside.path(), number)).sum::<Duration>();
    let each = |time: Duration| time / tasks;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{tasks} tasks, 8 agents: {:.1?} each", each(run)).unwrap();
    writeln!(
        out,
        "git worktree add and git merge-tree, one after the other: {:.1?} each",
        each(git)
    )
    .unwrap();
    writeln!(out, "beside git: {:.1?} each", each(run).saturating_sub(each(git))).unwrap();
}

fn begin(project: &Path, outside: &Path) {
    std::fs::create_dir(project).unwrap();
    git(project, &["init", "--quiet", "-b", "main"]);
    for number in 0..FILES {
        std::fs::write(project.join(format!("file{number}")), format!("{number}\n")).unwrap();
    }
    let settings = format!(
        "[agents.quick]\ncommand = [\"/bin/sh\", \"-c\", \"echo done > new-{{task}}\"]\n\
         [workshop]\nworktrees = \"{}\"\n",
        outside.join("trees").display()
    );
    std::fs::write(project.join("althing.toml"), settings).unwrap();
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "-m", "Begin"]);
}

/// The time that git needs for the worktree and the merge of one task.
fn with_git(project: &Path, outside: &Path, number: u32) -> Duration {
    let tree = outside.join(format!("plain{number}"));
    let branch = format!("plain{number}");
    let folder = tree.display().to_string();
    let made =
        timed(|| git(project, &["worktree", "add", "--quiet", "-b", &branch, &folder, "main"]));
    std::fs::write(tree.join("new"), "done\n").unwrap();
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "-m", "Work"]);
    made + timed(|| git(project, &["merge-tree", "--write-tree", "main", &branch]))
}

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(args);
    run(git.current_dir(folder));
}

fn run(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}
