//! Workshop: trees and merges beside the calls of git they are made of, on a repository of 500 files.
//! After the table, `cargo bench --bench workshop` prints ours as ratios to plain git, taken in turns.
//! A disk takes very different times to make the same files: with `TMPDIR` in memory the ratios hold.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]

use althing_workshop::attempt_tree::{
    AttemptTree, AttemptTrees, IfBranchExists, NewTree, Provisions,
};
use althing_workshop::changes::Changes;
use althing_workshop::git::author::Author;
use althing_workshop::git::message::Message;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, RefName, TreeName};
use althing_workshop::merge::{Advance, Merged};
use althing_workshop::repository::Repository;
use divan::Bencher;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn main() {
    divan::main();
    // Without the flag cargo only tries whether benchmarks run; a name asks for that one alone.
    let mut args = std::env::args().skip(1);
    if args.len() == 1 && args.next().is_some_and(|arg| arg == "--bench") {
        print_ratios();
    }
}

const FILES: usize = 500;

/// Turns in which each way is taken once.
const ROUNDS: usize = 21;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A name that nobody had before.
fn fresh() -> String {
    format!("task{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A repository with 500 files, and a branch that changes one of them.
struct Project {
    folder: tempfile::TempDir,
    base: ObjectId,
    head: ObjectId,
}

fn git(folder: &Path, args: &[&str]) -> String {
    let settings = ["-c", "user.name=b", "-c", "user.email=b@example.com", "-c", "gc.auto=0"];
    let ran = Command::new("git").args(settings).args(args).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        git(&repo, &["init", "--quiet", "--initial-branch=main"]);
        for number in 0..FILES {
            let path = repo.join(format!("src/part{}/file{number}.rs", number % 20));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("fn function_{number}() {{}}\n").repeat(60)).unwrap();
        }
        let commit = || {
            git(&repo, &["add", "."]);
            git(&repo, &["commit", "--quiet", "-m", "Work"]);
            ObjectId::new(&git(&repo, &["rev-parse", "HEAD"])).unwrap()
        };
        commit();
        git(&repo, &["checkout", "--quiet", "-b", "work"]);
        std::fs::write(repo.join("src/part1/file1.rs"), "fn other() {}\n").unwrap();
        let head = commit();
        git(&repo, &["checkout", "--quiet", "main"]);
        std::fs::write(repo.join("src/part2/file2.rs"), "fn another() {}\n").unwrap();
        let base = commit();
        Project { folder, base, head }
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn repository(&self) -> Repository {
        Repository::open(&self.repo(), &Author::agent("bench")).unwrap()
    }

    fn trees(&self) -> AttemptTrees {
        AttemptTrees::new(&self.repository(), &self.folder.path().join("trees")).unwrap()
    }

    fn wanted(&self, reuse: bool) -> NewTree {
        let name = fresh();
        NewTree {
            branch: BranchName::new(&format!("althing/run/{name}")).unwrap(),
            name: TreeName::new(&name).unwrap(),
            base: self.base.clone(),
            if_branch_exists: IfBranchExists::Refuse,
            reuse,
            provisions: Provisions::default(),
        }
    }

    fn tree(&self) -> AttemptTree {
        self.trees().add(&self.wanted(false)).unwrap()
    }

    /// Leaves a tree behind that the next one can take over.
    fn leave_a_tree(&self, trees: &AttemptTrees) {
        trees.retire(self.tree().name()).unwrap();
    }

    /// A branch of its own to merge into.
    fn target(&self) -> BranchName {
        let name = BranchName::new(&fresh()).unwrap();
        git(&self.repo(), &["branch", name.as_str(), self.base.as_str()]);
        name
    }

    fn add_by_git(&self, name: &str) {
        let path = self.folder.path().join(name);
        let branch = format!("plain/{name}");
        let args = ["worktree", "add", "--quiet", "-b", &branch, path.to_str().unwrap()];
        git(&self.repo(), &[&args[..], &[self.base.as_str()]].concat());
    }

    fn merge_by_git(&self) {
        let (base, head) = (self.base.as_str(), self.head.as_str());
        git(&self.repo(), &["merge-tree", "--write-tree", base, head]);
    }

    /// Merges, commits and moves the branch.
    fn merge_into(&self, repository: &Repository, into: &BranchName) {
        let merged = repository.merge(&self.base, &self.head, None).unwrap();
        let Merged::Clean(merge) = merged else { unreachable!("it merges cleanly") };
        let made = repository.merge_commit(&merge, &Message::new("Merge")).unwrap();
        let moved = repository.advance(into, &self.base, &made).unwrap();
        assert_eq!(moved, Advance::Done);
    }
}

/// The times of one way, a turn each.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn take<T>(&mut self, work: impl FnOnce() -> T) {
        let begun = Instant::now();
        divan::black_box(work());
        self.0.push(begun.elapsed());
    }

    fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    }
}

/// Takes all ways in turns, so that a noisy machine troubles them alike.
fn print_ratios() {
    let project = Project::new();
    let (trees, repository) = (project.trees(), project.repository());
    let [mut git_add, mut add, mut pooled] = <[Times; 3]>::default();
    let [mut git_merge, mut merge, mut whole] = <[Times; 3]>::default();
    for _ in 0..ROUNDS {
        let (name, new) = (fresh(), project.wanted(false));
        git_add.take(|| project.add_by_git(&name));
        add.take(|| trees.add(&new).unwrap());
        project.leave_a_tree(&trees);
        let new = project.wanted(true);
        pooled.take(|| trees.add(&new).unwrap());
        git_merge.take(|| project.merge_by_git());
        merge.take(|| repository.merge(&project.base, &project.head, None).unwrap());
        let into = project.target();
        whole.take(|| project.merge_into(&repository, &into));
    }
    let [git_add, add, pooled] = [git_add, add, pooled].map(|times| times.median());
    let [git_merge, merge, whole] = [git_merge, merge, whole].map(|times| times.median());
    println!("\nBeside git, medians of {ROUNDS} turns:");
    print_beside("git worktree add", git_add, &[("tree", add), ("tree from the pool", pooled)]);
    let merges = [("merge", merge), ("merge, commit and branch", whole)];
    print_beside("git merge-tree", git_merge, &merges);
    let both = [("tree and merge", add + merge), ("from the pool, and merge", pooled + merge)];
    print_beside("git, both", git_add + git_merge, &both);
}

fn print_beside(plain: &str, base: Duration, ours: &[(&str, Duration)]) {
    println!("  {plain:<26} {:>7.1} ms", base.as_secs_f64() * 1e3);
    for (name, time) in ours {
        let (time, ratio) = (time.as_secs_f64() * 1e3, time.as_secs_f64() / base.as_secs_f64());
        println!("    {name:<24} {time:>7.1} ms  {ratio:>5.2} times");
    }
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn add_git_worktree_add(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    bencher.with_inputs(fresh).bench_values(|name| project.add_by_git(&name));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn add_ours(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let trees = project.trees();
    bencher
        .with_inputs(|| project.wanted(false))
        .bench_values(|new| trees.add(&new).unwrap().path().to_owned());
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn add_ours_from_the_pool(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let trees = project.trees();
    let free = || {
        project.leave_a_tree(&trees);
        project.wanted(true)
    };
    bencher.with_inputs(free).bench_values(|new| trees.add(&new).unwrap().path().to_owned());
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn merge_git_merge_tree(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    bencher.bench(|| project.merge_by_git());
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn merge_ours(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let repository = project.repository();
    bencher.bench(|| repository.merge(&project.base, &project.head, None).unwrap());
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn merge_ours_with_commit_and_branch(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let repository = project.repository();
    bencher
        .with_inputs(|| project.target())
        .bench_values(|into| project.merge_into(&repository, &into));
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn changes(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let tree = project.tree();
    std::fs::write(tree.path().join("new"), "new").unwrap();
    bencher.bench(|| Changes::since(tree.checkout(), &project.base).unwrap());
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn snapshot(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let tree = project.tree();
    let reference = |name: &str| RefName::new(&format!("refs/bench/{name}")).unwrap();
    let change = || {
        let name = fresh();
        std::fs::write(tree.path().join("new"), &name).unwrap();
        reference(&name)
    };
    bencher.with_inputs(change).bench_values(|to| {
        tree.checkout().snapshot(&to, None, &Message::new("Checkpoint")).unwrap()
    });
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn scratch_tree(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let trees = project.trees();
    let mut turn = false;
    let next = || {
        turn = !turn;
        if turn { &project.base } else { &project.head }
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|commit| trees.scratch(commit, &Provisions::default()).unwrap());
}
