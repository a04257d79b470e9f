//! Several processes at once.

use crate::child;
use crate::support::{Project, branch, git, message, reference, tree_name, write};
use althing_workshop::attempt_tree::{Origin, TreeState};
use althing_workshop::merge::{Advance, Merged};
use std::process::Child;

fn all_well(children: Vec<Child>) {
    for child in children {
        let ran = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}\n{errors}");
    }
}

#[test]
fn many_processes_add_trees_of_their_own() {
    let project = Project::new();
    let start = |n: u32| child::start(&project, &["add-many", &format!("p{n}-"), "5"], 0);
    all_well((0..6).map(start).collect());
    let listed = project.trees().list().unwrap();
    assert_eq!(listed.len(), 30);
    for entry in listed {
        assert_eq!(entry.state, TreeState::Ready);
        assert_eq!(git(&entry.path, &["status", "--porcelain"]), "");
    }
    git(&project.repo(), &["fsck", "--connectivity-only"]);
}

#[test]
fn many_processes_that_add_the_same_tree_get_the_same() {
    let project = Project::new();
    all_well((0..8).map(|_| child::start(&project, &["add", "lexer"], 0)).collect());
    assert_eq!(project.trees().list().unwrap().len(), 1);
    assert_eq!(project.tree("lexer").origin(), Origin::Found);
}

#[test]
fn a_free_tree_is_reused_by_one_of_many() {
    let project = Project::new();
    project.tree("old");
    project.trees().retire(&tree_name("old")).unwrap();
    let start = |n: u32| child::start(&project, &["reuse", &format!("new{n}")], 0);
    all_well((0..6).map(start).collect());
    let listed = project.trees().list().unwrap();
    assert_eq!(listed.len(), 6);
    assert!(listed.iter().all(|own| own.state == TreeState::Ready));
    let branches: std::collections::BTreeSet<String> =
        listed.iter().map(|own| git(&own.path, &["rev-parse", "--abbrev-ref", "HEAD"])).collect();
    assert_eq!(branches.len(), 6);
}

#[test]
fn trees_are_added_while_others_are_removed_and_rescued() {
    let project = Project::new();
    for n in 0..4 {
        let tree = project.tree(&format!("old{n}"));
        write(&tree.path().join("work"), format!("work {n}"));
    }
    let mut children = Vec::new();
    for n in 0..4 {
        children.push(child::start(&project, &["remove", &format!("old{n}")], 0));
        children.push(child::start(&project, &["add", &format!("new{n}")], 0));
        children.push(child::start(&project, &["scratch", "HEAD"], 0));
    }
    all_well(children);
    assert_eq!(project.trees().list().unwrap().len(), 4);
    assert_eq!(project.repository().rescues().list().unwrap().len(), 4);
}

#[test]
fn the_same_tree_is_removed_and_rescued_by_several_without_harm() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("work"), "work");
    let start = |_| child::start(&project, &["rescue", "lexer"], 0);
    all_well((0..5).map(start).collect());
    assert_eq!(project.repository().rescues().list().unwrap().len(), 1);
}

#[test]
fn one_of_many_merges_moves_the_branch_and_the_others_see_where_it_is() {
    let project = Project::new();
    let base = project.head();
    project.git(&["branch", "althing/run/_merged"]);
    let heads: Vec<_> = (0..6)
        .map(|n| {
            let tree = project.tree(&format!("task{n}"));
            write(&tree.path().join(format!("file{n}")), "work");
            tree.checkout().commit_all(&message("Work"), None).unwrap().unwrap().commit
        })
        .collect();
    std::thread::scope(|scope| {
        for head in &heads {
            let project = &project;
            let base = &base;
            scope.spawn(move || {
                let repository = project.repository();
                let into = branch("althing/run/_merged");
                let mut tip = base.clone();
                loop {
                    let merged = repository.merge(&tip, head, None).unwrap();
                    let Merged::Clean(merge) = merged else { panic!("{merged:?}") };
                    let made = repository.merge_commit(&merge, &message("Merge")).unwrap();
                    match repository.advance(&into, &tip, &made).unwrap() {
                        Advance::Done => break,
                        Advance::Moved { tip: now } => tip = now.unwrap(),
                        Advance::CheckedOut { path } => panic!("{}", path.display()),
                    }
                }
            });
        }
    });
    let listed = project.git(&["ls-tree", "--name-only", "althing/run/_merged"]);
    assert_eq!(listed.lines().filter(|name| name.starts_with("file")).count(), 6);
    let merges = ["rev-list", "--count", "--merges", "althing/run/_merged"];
    assert_eq!(project.git(&merges), "6");
}

#[test]
fn a_snapshot_is_taken_while_the_agent_commits() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let to = reference("refs/althing/checkpoints/lexer");
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| {
            for n in 0..15 {
                write(&tree.path().join("README"), format!("state {n}\n"));
                git(tree.path(), &["commit", "--quiet", "-a", "-m", &format!("State {n}")]);
            }
        });
        let refs = project.repository();
        while !agent.is_finished() {
            let seen = refs.refs().read(&to).unwrap();
            tree.checkout().snapshot(&to, seen.as_ref(), &message("Checkpoint")).unwrap();
        }
    });
    let count = project.git(&["rev-list", "--count", "main..althing/run/lexer"]);
    assert_eq!(count, "15");
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
}
