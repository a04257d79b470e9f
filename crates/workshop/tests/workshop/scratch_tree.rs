//! Scratch trees: a commit on disk for a check, kept for the next one.

use crate::support::{Project, git, git_raw, write};
use althing_workshop::attempt_tree::{Provisions, Removal, TreeError};
use std::path::PathBuf;

fn none() -> Provisions {
    Provisions::default()
}

#[test]
fn a_commit_is_checked_out_and_the_next_check_gets_the_same_tree() {
    let project = Project::new();
    let first = project.head();
    project.write("later", "later");
    let second = project.commit("Later");
    project.write(".env", "SECRET=1");
    let trees = project.trees();
    let person = project.person();
    let provisions = Provisions { copy: vec![".env".into()], ..none() };
    let scratch = trees.scratch(&second, &provisions).unwrap();
    let path: PathBuf = scratch.path().to_owned();
    assert!(path.join("later").exists() && path.join(".env").exists());
    assert_eq!(git(&path, &["rev-parse", "HEAD"]), second.as_str());
    // Whatever a check leaves: build output stays, the rest goes.
    write(&path.join("target/build"), "built");
    write(&path.join("rubbish/file"), "x");
    write(&path.join("README"), "changed");
    git_raw(&path, &["merge", "--no-ff", "--no-commit", first.as_str()]);
    drop(scratch);
    let scratch = trees.scratch(&first, &none()).unwrap();
    assert_eq!(scratch.path(), path);
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert!(!path.join("later").exists() && !path.join("rubbish").exists());
    assert_eq!(std::fs::read_to_string(path.join("target/build")).unwrap(), "built");
    assert_eq!(project.person(), person);
    assert_eq!(trees.list().unwrap(), []);
    assert_eq!(project.git(&["for-each-ref", "refs/althing"]), "");
}

#[test]
fn checks_at_the_same_time_have_trees_of_their_own() {
    let project = Project::new();
    let trees = project.trees();
    let one = trees.scratch(&project.head(), &none()).unwrap();
    let other = trees.scratch(&project.head(), &none()).unwrap();
    assert_ne!(one.path(), other.path());
    assert_eq!(trees.clear_scratch().unwrap(), []);
    drop(one);
    assert_eq!(trees.clear_scratch().unwrap().len(), 1);
    assert!(other.path().join("README").exists());
}

#[test]
fn a_tree_that_a_process_is_left_in_goes_to_quarantine() {
    let project = Project::new();
    let trees = project.trees();
    let scratch = trees.scratch(&project.head(), &none()).unwrap();
    let open = std::fs::File::open(scratch.path().join("README")).unwrap();
    drop(scratch);
    let cleared = trees.clear_scratch().unwrap();
    assert!(matches!(cleared[0], Removal::Quarantined { .. }), "{cleared:?}");
    let next = trees.scratch(&project.head(), &none()).unwrap();
    drop((next, open));
    let cleared = trees.clear_scratch().unwrap();
    let gone = Removal::Removed { rescued: Vec::new() };
    assert!(cleared.iter().all(|own| *own == gone), "{cleared:?}");
    assert_eq!(cleared.len(), 2);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(trees.quarantined().unwrap(), []);
}

#[test]
fn a_tree_that_was_deleted_or_damaged_is_made_anew() {
    let project = Project::new();
    let trees = project.trees();
    let path = trees.scratch(&project.head(), &none()).unwrap().path().to_owned();
    std::fs::remove_dir_all(&path).unwrap();
    assert!(trees.scratch(&project.head(), &none()).unwrap().path().join("README").exists());
    write(&project.repo().join(".git/worktrees/.scratch-1/index.lock"), "");
    std::fs::remove_file(path.join(".git")).unwrap();
    let scratch = trees.scratch(&project.head(), &none()).unwrap();
    assert_eq!(git(scratch.path(), &["status", "--porcelain"]), "");
    let tree = project.tip("HEAD^{tree}");
    assert!(matches!(trees.scratch(&tree, &none()).unwrap_err(), TreeError::NoBase { .. }));
}
