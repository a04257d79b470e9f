//! A process of its own for an act, which can be ended at any of its steps.

use crate::support::{Project, branch, message, reference, tree_name};
use althing_workshop::attempt_tree::{AttemptTree, Provisions};
use althing_workshop::rescue::What;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The exit code of a process that ended itself at a step.
pub(crate) const CUT_OFF: i32 = 42;

/// Counts the steps and ends the process at one of them, without any clean-up.
struct Stop {
    at: u32,
    count: AtomicU32,
}

impl tracing::Subscriber for Stop {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "althing_workshop::step"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        // Around a call that only asks, nothing is different than at the step before.
        let is_question = text.0.split_once(" git ").is_some_and(|(_, call)| ASKS.contains(&call));
        if is_question || !self.enabled(event.metadata()) {
            return;
        }
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            std::process::exit(CUT_OFF);
        }
    }
}

/// Calls of git that change nothing, or only add objects that nothing leads to yet.
const ASKS: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "commit-tree",
    "diff-files",
    "diff-tree",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "status",
    "symbolic-ref",
    "version",
    "write-tree",
];

/// The text of an event.
struct Text(String);

impl tracing::field::Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Starts a process that performs an act on a project and ends at a step (0: at none).
pub(crate) fn start(project: &Project, act: &[&str], stop_at: u32) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child::acts", "--nocapture", "--test-threads=1"]);
    child.env("ALTHING_TEST_ACT", act.join(" "));
    child.env("ALTHING_TEST_FOLDER", &project.folder);
    child.env("ALTHING_TEST_STOP", stop_at.to_string());
    child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Performs an act in a process of its own. It ends well or is cut off; it does not fail.
pub(crate) fn run(project: &Project, act: &[&str], stop_at: u32) -> ExitStatus {
    let ran = start(project, act, stop_at).wait_with_output().unwrap();
    let is_expected = ran.status.success() || ran.status.code() == Some(CUT_OFF);
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(is_expected, "{act:?} stopped at {stop_at}: {said}");
    ran.status
}

/// Performs the act that the environment names. Without one it is no test at all.
#[test]
fn acts() {
    let Ok(words) = std::env::var("ALTHING_TEST_ACT") else { return };
    let folder = std::env::var("ALTHING_TEST_FOLDER").unwrap();
    let at: u32 = std::env::var("ALTHING_TEST_STOP").unwrap().parse().unwrap();
    if at > 0 {
        tracing::subscriber::set_global_default(Stop { at, count: AtomicU32::new(0) }).unwrap();
    }
    let words: Vec<&str> = words.split(' ').collect();
    act(&Project::at(Path::new(&folder)), &words);
}

fn opened(project: &Project, name: &str) -> AttemptTree {
    project.trees().open(&tree_name(name)).unwrap().unwrap()
}

/// Performs an act, in whichever process. Each can be repeated after it was cut off.
pub(crate) fn act(project: &Project, words: &[&str]) {
    match words {
        ["add", name] => drop(project.tree(name)),
        ["add-with-copies", name] => {
            let mut new = project.wanted(name);
            new.provisions.copy = vec![".env".into()];
            project.trees().add(&new).unwrap();
        }
        ["add-many", prefix, count] => {
            for number in 0..count.parse::<u32>().unwrap() {
                project.tree(&format!("{prefix}{number}"));
            }
        }
        ["reuse", name] => {
            let mut new = project.wanted(name);
            new.reuse = true;
            project.trees().add(&new).unwrap();
        }
        ["retire", name] => {
            let trees = project.trees();
            if trees.open(&tree_name(name)).unwrap().is_some() {
                trees.retire(&tree_name(name)).unwrap();
            }
        }
        ["remove", name] => {
            let trees = project.trees();
            if trees.list().unwrap().iter().any(|own| own.name == tree_name(name)) {
                trees.remove(&tree_name(name)).unwrap();
            }
        }
        ["snapshot", name] => {
            let tree = opened(project, name);
            let to = reference(&format!("refs/althing/checkpoints/{name}"));
            let seen = project.repository().refs().read(&to).unwrap();
            tree.checkout().snapshot(&to, seen.as_ref(), &message("Checkpoint")).unwrap();
        }
        ["rescue", name] => {
            opened(project, name).checkout().rescue(&tree_name(name), "a test").unwrap();
        }
        ["restore", name, folder] => {
            let repository = project.repository();
            let rescue = repository.rescues().get(&tree_name(name), 1).unwrap();
            let folder = project.folder.join(folder);
            repository.rescues().restore_into(&rescue, &folder, What::Changed).unwrap();
        }
        ["commit", name] => {
            opened(project, name).checkout().commit_all(&message("Work"), None).unwrap();
        }
        ["merge-in", name] => {
            let tip = project.head();
            opened(project, name).checkout().merge_in(&tip, &message("Merge main")).unwrap();
        }
        ["forward", from, to] => {
            let (from, to) = (project.tip(from), project.tip(to));
            project.repository().fast_forward(&branch("main"), &from, &to).unwrap();
        }
        ["scratch", revision] => {
            let commit = project.tip(revision);
            project.trees().scratch(&commit, &Provisions::default()).unwrap();
        }
        ["clear-scratch"] => drop(project.trees().clear_scratch().unwrap()),
        ["survey"] => drop(project.repository().survey().unwrap()),
        other => panic!("no act {other:?}"),
    }
}
