//! Removing trees: rescued first, in quarantine while somebody uses them, gone when nobody does.

use crate::support::{Project, git, show, tree_name, write};
use althing_workshop::attempt_tree::{IfBranchExists, Removal, TreeError, WhyQuarantined};
use althing_workshop::occupants::{Occupancy, Use};
use std::process::{Child, Command, Stdio};

/// A process that uses a folder until it is dropped.
struct Occupying(Child);

impl Occupying {
    fn working_in(folder: &std::path::Path) -> Self {
        let mut child = Command::new("cat");
        let child = child.current_dir(folder).stdin(Stdio::piped()).spawn().unwrap();
        // It works there once it is started; the kernel moved it before it ran the program.
        Occupying(child)
    }
}

impl Drop for Occupying {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_removed_tree_leaves_its_branch_and_its_rescued_work() {
    let project = Project::new();
    let person = project.person();
    let tree = project.tree("lexer");
    write(&tree.path().join("new"), "new");
    write(&tree.path().join("target/build"), "ignored");
    let Removal::Removed { rescued } = project.trees().remove(&tree_name("lexer")).unwrap() else {
        panic!()
    };
    assert_eq!(show(&project.repo(), &rescued[0].commit, "new"), "new");
    assert!(!tree.path().exists());
    assert_eq!(project.tip("althing/run/lexer"), project.head());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.trees().list().unwrap(), []);
    assert_eq!(project.trees().quarantined().unwrap(), []);
    assert_eq!(project.person(), person);
    let unknown = project.trees().remove(&tree_name("lexer")).unwrap_err();
    assert!(matches!(unknown, TreeError::Unknown { .. }), "{unknown}");
}

#[test]
fn a_tree_without_work_is_removed_without_a_trace() {
    let project = Project::new();
    project.tree("lexer");
    let removed = project.trees().remove(&tree_name("lexer")).unwrap();
    assert_eq!(removed, Removal::Removed { rescued: Vec::new() });
    assert_eq!(project.git(&["for-each-ref", "refs/althing"]), "");
}

#[test]
fn a_tree_in_use_goes_to_quarantine_and_what_is_written_there_later_is_rescued() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("first"), "first");
    let process = Occupying::working_in(tree.path());
    let Occupancy::Used(occupants) = Occupancy::of(tree.path()) else { panic!() };
    assert_eq!((occupants[0].pid, occupants[0].how), (process.0.id(), Use::WorksThere));

    let trees = project.trees();
    let removal = trees.remove(&tree_name("lexer")).unwrap();
    let Removal::Quarantined { path, why, rescued } = removal else { panic!("{removal:?}") };
    assert!(matches!(why, WhyQuarantined::Used(_)), "{why:?}");
    assert_eq!(rescued.len(), 1);
    assert!(!tree.path().exists());
    assert!(path.join("first").exists());
    // The process is still in its folder, which git still knows.
    assert_eq!(git(&path, &["status", "--porcelain"]), "?? first");
    write(&path.join("second"), "written after the move");
    assert_eq!(trees.quarantined().unwrap()[0].path, path);

    // The name and the branch are free.
    let mut new = project.wanted("lexer");
    new.if_branch_exists = IfBranchExists::Continue;
    let next = trees.add(&new).unwrap();
    assert_eq!(next.path(), tree.path());

    assert!(matches!(trees.sweep().unwrap()[0].1, Removal::Quarantined { .. }));
    drop(process);
    let swept = trees.sweep().unwrap();
    let Removal::Removed { rescued } = &swept[0].1 else { panic!("{swept:?}") };
    assert_eq!(show(&project.repo(), &rescued[0].commit, "second"), "written after the move");
    assert!(!path.exists());
    assert_eq!(trees.sweep().unwrap(), []);
    assert!(next.path().join("README").exists());
}

#[test]
fn an_open_file_is_a_use() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let file = std::fs::File::open(tree.path().join("README")).unwrap();
    let removal = project.trees().remove(&tree_name("lexer")).unwrap();
    assert!(matches!(removal, Removal::Quarantined { .. }), "{removal:?}");
    drop(file);
    let swept = project.trees().sweep().unwrap();
    assert_eq!(swept[0].1, Removal::Removed { rescued: Vec::new() });
}

#[test]
fn a_tree_with_files_that_cannot_be_rescued_stays_in_quarantine() {
    let project = Project::new();
    let tree = project.tree("lexer");
    // A repository whose git folder lies elsewhere is not looked into.
    let other = Project::new();
    let nested = tree.path().join("nested");
    write(&nested.join(".git"), format!("gitdir: {}/.git\n", other.repo().display()));
    write(&nested.join("file"), "precious");
    let trees = project.trees();
    let removal = trees.remove(&tree_name("lexer")).unwrap();
    let Removal::Quarantined { path, why: WhyQuarantined::Left(left), .. } = removal else {
        panic!("{removal:?}")
    };
    assert_eq!(left[0].path, "nested/");
    assert_eq!(std::fs::read_to_string(path.join("nested/file")).unwrap(), "precious");
    trees.sweep().unwrap();
    assert!(path.join("nested/file").exists());
    let refused = trees.purge(&project.repo()).unwrap_err();
    assert!(matches!(refused, TreeError::File { .. }), "{refused}");
    trees.purge(&path).unwrap();
    assert!(!path.exists());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_folder_that_nobody_may_write_is_removed_all_the_same() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let folder = tree.path().join("target/cache");
    write(&folder.join("file"), "ignored");
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o500);
    std::fs::set_permissions(&folder, rights).unwrap();
    let removed = project.trees().remove(&tree_name("lexer")).unwrap();
    assert_eq!(removed, Removal::Removed { rescued: Vec::new() });
}

#[test]
fn other_worktrees_are_left_alone() {
    let project = Project::new();
    let own = project.folder.join("own");
    project.git(&["worktree", "add", "--quiet", "--detach", own.to_str().unwrap()]);
    // One on a disk that is not there now must not be forgotten.
    let away = project.folder.join("away");
    std::fs::rename(&own, &away).unwrap();
    project.tree("lexer");
    project.trees().remove(&tree_name("lexer")).unwrap();
    project.trees().sweep().unwrap();
    std::fs::rename(&away, &own).unwrap();
    assert_eq!(git(&own, &["status", "--porcelain"]), "");
}
