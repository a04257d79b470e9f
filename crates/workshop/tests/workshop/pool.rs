//! The pool: finished trees that are reset and used again.

use crate::support::{Project, branch, git, show, tree_name, write};
use althing_workshop::attempt_tree::{AttemptTree, Origin, TreeError, TreeState};
use althing_workshop::checkout::Head;

fn reuse(project: &Project, name: &str) -> AttemptTree {
    let mut new = project.wanted(name);
    new.reuse = true;
    project.trees().add(&new).unwrap()
}

#[test]
fn a_retired_tree_is_reset_and_keeps_its_build_output() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("target/build"), "built");
    write(&tree.path().join("new"), "work");
    write(&tree.path().join("README"), "changed");
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Committed work"]);
    write(&tree.path().join("src/lexer.rs"), "not committed");
    let tip = project.tip("althing/run/lexer");
    let rescued = project.trees().retire(&tree_name("lexer")).unwrap().rescue.unwrap();
    assert_eq!(show(&project.repo(), &rescued.commit, "new"), "work");
    assert_eq!(project.trees().list().unwrap()[0].state, TreeState::Free);
    assert!(project.trees().open(&tree_name("lexer")).unwrap().is_none());

    project.write("later", "later");
    project.commit("Later");
    let next = reuse(&project, "parser");
    assert_eq!(next.origin(), Origin::Reused);
    assert_eq!(next.path(), tree.path());
    assert_eq!(git(next.path(), &["status", "--porcelain"]), "");
    let head = next.checkout().head().unwrap();
    let name = branch("althing/run/parser");
    assert_eq!(head, Head::Branch { name, commit: project.head() });
    assert_eq!(std::fs::read_to_string(next.path().join("target/build")).unwrap(), "built");
    assert!(next.path().join("later").exists());
    assert!(!next.path().join("new").exists());
    assert_eq!(project.tip("althing/run/lexer"), tip);
    assert_eq!(project.repository().rescues().list().unwrap().len(), 1);
    assert_eq!(project.trees().open(&tree_name("parser")).unwrap().unwrap().path(), next.path());
}

#[test]
fn without_a_free_tree_a_new_one_is_made() {
    let project = Project::new();
    project.tree("lexer");
    assert_eq!(reuse(&project, "parser").origin(), Origin::Made);
    let unknown = project.trees().retire(&tree_name("nobody")).unwrap_err();
    assert!(matches!(unknown, TreeError::Unknown { .. }), "{unknown}");
}

#[test]
fn a_free_tree_that_somebody_uses_is_not_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    project.trees().retire(&tree_name("lexer")).unwrap();
    let open = std::fs::File::open(tree.path().join("README")).unwrap();
    assert_eq!(reuse(&project, "parser").origin(), Origin::Made);
    drop(open);
    assert_eq!(reuse(&project, "third").origin(), Origin::Reused);
}

#[test]
fn work_in_a_free_tree_is_rescued_before_it_is_reset() {
    let project = Project::new();
    let tree = project.tree("lexer");
    project.trees().retire(&tree_name("lexer")).unwrap();
    write(&tree.path().join("afterwards"), "written after the attempt");
    reuse(&project, "parser");
    let rescues = project.repository().rescues().list().unwrap();
    let kept = show(&project.repo(), &rescues[0].commit, "afterwards");
    assert_eq!(kept, "written after the attempt");
}

#[test]
fn files_that_are_no_longer_ignored_are_rescued_and_do_not_show_up_as_work() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("notes.log"), "ignored so far");
    project.trees().retire(&tree_name("lexer")).unwrap();
    project.write(".gitignore", "/target/\n");
    project.commit("Ignore less");
    let next = reuse(&project, "parser");
    assert_eq!(next.path(), tree.path());
    assert_eq!(git(next.path(), &["status", "--porcelain"]), "");
    let rescues = project.repository().rescues().list().unwrap();
    assert_eq!(show(&project.repo(), &rescues[0].commit, "notes.log"), "ignored so far");
}

#[test]
fn an_unfinished_rebase_does_not_reach_the_next_attempt() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "ours\n");
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Ours"]);
    let ours = project.tip("althing/run/lexer");
    project.write("README", "theirs\n");
    project.commit("Theirs");
    crate::support::git_raw(tree.path(), &["rebase", "main"]);
    assert!(tree.checkout().under_way().is_some());
    project.trees().retire(&tree_name("lexer")).unwrap();
    let next = reuse(&project, "parser");
    assert_eq!(next.path(), tree.path());
    assert_eq!(next.checkout().under_way(), None);
    assert_eq!(git(next.path(), &["status", "--porcelain"]), "");
    assert_eq!(project.tip("althing/run/lexer"), ours);
}

#[test]
fn a_name_whose_folder_another_attempt_has_gets_the_next_folder() {
    let project = Project::new();
    project.tree("lexer");
    project.trees().retire(&tree_name("lexer")).unwrap();
    let next = reuse(&project, "parser");
    assert!(next.path().ends_with("lexer"));
    let mut new = project.wanted("lexer");
    new.branch = branch("althing/run/lexer.2");
    let again = project.trees().add(&new).unwrap();
    assert!(again.path().ends_with("lexer~2"), "{}", again.path().display());
    project.trees().remove(&tree_name("lexer")).unwrap();
    assert!(next.path().join("README").exists());
}
