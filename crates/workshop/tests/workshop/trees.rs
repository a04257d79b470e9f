//! Trees of attempts: made, found again, refused, completed.

use crate::support::{Project, branch, git, tree_name, write};
use althing_workshop::attempt_tree::{AttemptTrees, IfBranchExists, Origin, TreeError, TreeState};
use althing_workshop::checkout::Head;

#[test]
fn a_tree_is_a_worktree_on_a_branch_of_its_own() {
    let project = Project::new();
    let person = project.person();
    let tree = project.tree("lexer");
    assert_eq!(tree.path(), project.folder.join("trees/lexer"));
    assert_eq!(tree.origin(), Origin::Made);
    let head = tree.checkout().head().unwrap();
    let name = branch("althing/run/lexer");
    assert_eq!(head, Head::Branch { name, commit: project.head() });
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read_to_string(tree.path().join("src/lexer.rs")).unwrap(), "fn lex() {}\n");
    assert_eq!(project.person(), person);
    let listed = project.trees().list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].state, TreeState::Ready);
}

#[test]
fn asking_again_returns_the_same_tree_with_what_is_in_it() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("new.rs"), "fn new() {}");
    let again = project.tree("lexer");
    assert_eq!(again.origin(), Origin::Found);
    assert_eq!(again.path(), tree.path());
    assert!(tree.path().join("new.rs").exists());
    let opened = project.trees().open(&tree_name("lexer")).unwrap().unwrap();
    assert_eq!(opened.base(), &project.head());
    assert!(project.trees().open(&tree_name("parser")).unwrap().is_none());
}

#[test]
fn a_name_with_another_base_is_refused() {
    let project = Project::new();
    project.tree("lexer");
    project.commit("Go on");
    let refused = project.trees().add(&project.wanted("lexer")).unwrap_err();
    assert!(matches!(refused, TreeError::Exists { .. }), "{refused}");
    assert!(!refused.hint().is_empty());
}

#[test]
fn a_branch_that_exists_is_refused_numbered_or_continued() {
    let project = Project::new();
    project.git(&["branch", "althing/run/lexer"]);
    let mut new = project.wanted("lexer");
    let refused = project.trees().add(&new).unwrap_err();
    assert!(matches!(refused, TreeError::BranchExists { .. }), "{refused}");
    new.if_branch_exists = IfBranchExists::NextFree;
    let tree = project.trees().add(&new).unwrap();
    assert_eq!(tree.branch(), &branch("althing/run/lexer.2"));
    let mut new = project.wanted("other");
    new.branch = branch("althing/run/lexer");
    new.if_branch_exists = IfBranchExists::Continue;
    let tree = project.trees().add(&new).unwrap();
    assert_eq!(tree.branch(), &branch("althing/run/lexer"));
}

#[test]
fn a_continued_branch_keeps_its_commits() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("work"), "done");
    git(tree.path(), &["add", "."]);
    git(tree.path(), &["commit", "--quiet", "-m", "Work"]);
    project.trees().remove(&tree_name("lexer")).unwrap();
    let mut new = project.wanted("lexer");
    new.if_branch_exists = IfBranchExists::Continue;
    let tree = project.trees().add(&new).unwrap();
    assert_eq!(std::fs::read_to_string(tree.path().join("work")).unwrap(), "done");
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused() {
    let project = Project::new();
    let mut new = project.wanted("lexer");
    new.branch = branch("main");
    new.if_branch_exists = IfBranchExists::Continue;
    let refused = project.trees().add(&new).unwrap_err();
    assert!(matches!(refused, TreeError::BranchInUse { .. }), "{refused}");
}

#[test]
fn a_branch_that_another_blocks_is_refused_with_its_name() {
    let project = Project::new();
    project.git(&["branch", "althing"]);
    let refused = project.trees().add(&project.wanted("lexer")).unwrap_err();
    match refused {
        TreeError::BranchBlocked { other, .. } => assert_eq!(other, "althing"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_base_that_is_no_commit_is_refused() {
    let project = Project::new();
    let mut new = project.wanted("lexer");
    new.base = project.tip("HEAD^{tree}");
    let refused = project.trees().add(&new).unwrap_err();
    assert!(matches!(refused, TreeError::NoBase { .. }), "{refused}");
}

#[test]
fn trees_inside_the_project_must_be_ignored() {
    let project = Project::new();
    let inside = project.repo().join("trees");
    let refused = AttemptTrees::new(&project.repository(), &inside).unwrap_err();
    assert!(matches!(refused, TreeError::RootInProject { .. }), "{refused}");
    project.write(".git/info/exclude", "/trees/\n");
    let trees = AttemptTrees::new(&project.repository(), &inside).unwrap();
    let tree = trees.add(&project.wanted("lexer")).unwrap();
    assert!(tree.path().join("README").exists());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_tree_whose_git_file_was_removed_is_connected_again() {
    let project = Project::new();
    let tree = project.tree("lexer");
    std::fs::remove_file(tree.path().join(".git")).unwrap();
    let tree = project.trees().open(&tree_name("lexer")).unwrap().unwrap();
    assert_eq!(git(tree.path(), &["rev-parse", "--abbrev-ref", "HEAD"]), "althing/run/lexer");
    // One that leads to another repository is not followed either.
    write(&tree.path().join(".git"), format!("gitdir: {}/.git\n", project.repo().display()));
    let tree = project.trees().open(&tree_name("lexer")).unwrap().unwrap();
    assert_eq!(git(tree.path(), &["rev-parse", "--abbrev-ref", "HEAD"]), "althing/run/lexer");
}

#[test]
fn a_tree_whose_folder_was_deleted_is_made_anew() {
    let project = Project::new();
    let tree = project.tree("lexer");
    std::fs::remove_dir_all(tree.path()).unwrap();
    assert!(project.trees().open(&tree_name("lexer")).unwrap().is_none());
    let mut new = project.wanted("lexer");
    new.if_branch_exists = IfBranchExists::Continue;
    let tree = project.trees().add(&new).unwrap();
    assert!(tree.path().join("README").exists());
    assert_eq!(project.repository().rescues().list().unwrap(), []);
}

#[test]
fn staged_work_of_a_deleted_folder_is_rescued() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("staged.rs"), "fn staged() {}");
    git(tree.path(), &["add", "staged.rs"]);
    std::fs::remove_dir_all(tree.path()).unwrap();
    project.trees().remove(&tree_name("lexer")).unwrap();
    let rescues = project.repository().rescues().list().unwrap();
    assert_eq!(rescues.len(), 1);
    let kept = crate::support::show(&project.repo(), &rescues[0].commit, "staged.rs");
    assert_eq!(kept, "fn staged() {}");
}

#[test]
fn a_worktree_that_git_left_half_made_is_taken_away() {
    let project = Project::new();
    let trees = project.trees();
    // The state after a kill of both the caller and the git it had started.
    let base = project.head();
    let lock = project.folder.join("trees/.locks/names/lexer.lock");
    write(&lock, format!("althing/run/lexer {base} lexer\n"));
    project.git(&["branch", "althing/run/lexer"]);
    let admin = project.repo().join(".git/worktrees/lexer");
    let folder = project.folder.join("trees/lexer");
    write(&admin.join("gitdir"), format!("{}/.git\n", folder.display()));
    write(&admin.join("locked"), "initializing");
    write(&folder.join(".git"), format!("gitdir: {}\n", admin.display()));
    let tree = trees.add(&project.wanted("lexer")).unwrap();
    assert_eq!(tree.branch(), &branch("althing/run/lexer"));
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    git(&project.repo(), &["fsck", "--connectivity-only"]);
}

#[test]
fn a_killed_checkout_is_completed_over_its_lock() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let admin = project.repo().join(".git/worktrees/lexer");
    let marker = std::fs::read_to_string(admin.join("althing-tree")).unwrap();
    write(&admin.join("althing-tree"), marker.replace("stage ready", "stage making"));
    write(&admin.join("index.lock"), "");
    std::fs::remove_file(admin.join("index")).unwrap();
    std::fs::remove_file(tree.path().join("README")).unwrap();
    write(&tree.path().join("src/lexer.rs"), "fn l");
    let tree = project.tree("lexer");
    assert_eq!(tree.origin(), Origin::Made);
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    assert_eq!(project.repository().rescues().list().unwrap(), []);
}

#[test]
fn a_person_with_a_linked_worktree_and_a_bare_repository_get_trees_too() {
    let project = Project::new();
    let linked = project.folder.join("linked");
    project.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    let author = althing_workshop::git::author::Author::agent("tester");
    let repository = althing_workshop::repository::Repository::open(&linked, &author).unwrap();
    let trees = AttemptTrees::new(&repository, &project.folder.join("trees")).unwrap();
    let tree = trees.add(&project.wanted("lexer")).unwrap();
    assert!(tree.path().join("README").exists());

    let bare = project.folder.join("bare.git");
    git(&project.folder, &["clone", "--quiet", "--bare", "repo", "bare.git"]);
    let repository = althing_workshop::repository::Repository::open(&bare, &author).unwrap();
    let trees = AttemptTrees::new(&repository, &project.folder.join("bare-trees")).unwrap();
    let mut new = project.wanted("parser");
    new.provisions.copy = vec![".env".into()];
    let tree = trees.add(&new).unwrap();
    assert!(tree.path().join("README").exists());
    write(&tree.path().join("new"), "work");
    trees.remove(&tree_name("parser")).unwrap();
    assert_eq!(repository.rescues().list().unwrap().len(), 1);
}

#[test]
fn a_sparse_project_has_sparse_trees() {
    let project = Project::new();
    project.write("docs/guide.md", "guide");
    project.commit("Docs");
    project.git(&["sparse-checkout", "set", "src"]);
    let tree = project.tree("lexer");
    assert!(tree.path().join("src/lexer.rs").exists());
    assert!(!tree.path().join("docs").exists());
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    // What is not checked out is not taken for deleted.
    write(&tree.path().join("src/new.rs"), "new");
    let rescued = tree.checkout().rescue(tree.name(), "a test").unwrap().rescue.unwrap();
    assert_eq!(rescued.files, 1);
    assert_eq!(crate::support::show(&project.repo(), &rescued.commit, "docs/guide.md"), "guide");
}

#[test]
fn a_filter_that_cannot_run_is_named() {
    let project = Project::new();
    project.write(".gitattributes", "*.bin filter=lfs\n");
    project.write("big.bin", "pointer");
    project.commit("Large files");
    project.git(&["config", "filter.lfs.smudge", "no-such-program-here"]);
    project.git(&["config", "filter.lfs.required", "true"]);
    let refused = project.trees().add(&project.wanted("lexer")).unwrap_err();
    assert!(matches!(refused, TreeError::Filter { .. }), "{refused}");
    // With a filter that works, the half-made tree is completed.
    project.git(&["config", "filter.lfs.smudge", "sed s/pointer/content/"]);
    let tree = project.tree("lexer");
    assert_eq!(std::fs::read_to_string(tree.path().join("big.bin")).unwrap(), "content");
}

#[test]
fn smudging_of_large_files_can_be_skipped() {
    let project = Project::new();
    project.write(".gitattributes", "*.bin filter=lfs\n");
    project.write("big.bin", "pointer");
    project.commit("Large files");
    let smudge = "if test -n \"$GIT_LFS_SKIP_SMUDGE\"; then cat; else sed s/pointer/content/; fi";
    project.git(&["config", "filter.lfs.smudge", smudge]);
    let mut new = project.wanted("lexer");
    new.provisions.lfs = althing_workshop::attempt_tree::Lfs::Skip;
    let tree = project.trees().add(&new).unwrap();
    assert_eq!(std::fs::read_to_string(tree.path().join("big.bin")).unwrap(), "pointer");
}
