//! Snapshots: everything that is there, nothing of the agent's touched.

use crate::support::{Project, git, message, path, paths, reference, show, tree_name, write};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::tree_path::TreePath;
use althing_workshop::snapshot::{Snapshot, SnapshotError, Taken};

const REF: &str = "refs/althing/checkpoints/lexer";

fn take(tree: &AttemptTree, seen: Option<&ObjectId>) -> Taken {
    tree.checkout().snapshot(&reference(REF), seen, &message("Checkpoint")).unwrap()
}

fn taken(tree: &AttemptTree) -> Snapshot {
    let seen = tree.checkout().repository().refs().read(&reference(REF)).unwrap();
    take(tree, seen.as_ref()).snapshot().unwrap().clone()
}

/// Index, branch and what git says of an agent's tree.
fn agent(tree: &AttemptTree) -> String {
    let index = std::fs::read(tree.checkout().git_dir().join("index")).unwrap();
    let head = git(tree.path(), &["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]);
    let status = git(tree.path(), &["-c", "core.fsmonitor=false", "status", "--porcelain=v2"]);
    format!("{index:?}{head}{status}")
}

#[test]
fn a_snapshot_has_everything_but_what_is_ignored() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let at = |name: &str| tree.path().join(name);
    write(&at("README"), "changed");
    write(&at("src/lexer.rs"), "staged");
    git(tree.path(), &["add", "src/lexer.rs"]);
    write(&at("src/lexer.rs"), "staged and changed");
    std::fs::remove_file(at("src/parser.rs")).unwrap();
    write(&at("new/file"), "new");
    write(&at("target/build"), "ignored");
    std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
    let before = agent(&tree);
    let snapshot = taken(&tree);
    assert_eq!(agent(&tree), before);
    assert_eq!(snapshot.parent.as_ref(), Some(tree.base()));
    assert_eq!(snapshot.files, 5);
    assert_eq!(snapshot.left, []);
    let listed = project.git(&["ls-tree", "-r", "--name-only", snapshot.commit.as_str()]);
    assert_eq!(listed, ".gitignore\nREADME\nlink\nnew/file\nsrc/lexer.rs");
    assert_eq!(show(&project.repo(), &snapshot.commit, "src/lexer.rs"), "staged and changed");
    assert_eq!(show(&project.repo(), &snapshot.commit, "link"), "/etc/passwd");
    let author = project.git(&["log", "-1", "--format=%an", snapshot.commit.as_str()]);
    assert_eq!(author, "tester");
}

#[test]
fn nothing_changed_makes_no_snapshot_and_the_same_state_no_second() {
    let project = Project::new();
    let tree = project.tree("lexer");
    assert!(matches!(take(&tree, None), Taken::Nothing { .. }));
    write(&tree.path().join("new"), "new");
    let Taken::New(first) = take(&tree, None) else { panic!() };
    // Seen long ago or not at all: the state is the same, so there is nothing to do.
    let Taken::Same(second) = take(&tree, None) else { panic!() };
    assert_eq!(first.commit, second.commit);
    write(&tree.path().join("new"), "newer");
    let third = take(&tree, Some(&first.commit));
    assert!(matches!(third, Taken::New(_)), "{third:?}");
}

#[test]
fn a_ref_that_somebody_moved_is_left_alone() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let seen = project.head();
    project.git(&["update-ref", REF, "HEAD"]);
    write(&tree.path().join("new"), "new");
    let moved = tree.checkout().snapshot(&reference(REF), None, &message("x")).unwrap_err();
    match moved {
        SnapshotError::Moved { now, .. } => assert_eq!(now, Some(seen)),
        other => panic!("{other}"),
    }
}

#[test]
fn files_that_git_was_told_to_overlook_are_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    git(tree.path(), &["update-index", "--assume-unchanged", "README"]);
    git(tree.path(), &["update-index", "--skip-worktree", "src/lexer.rs"]);
    write(&tree.path().join("README"), "hidden");
    write(&tree.path().join("src/lexer.rs"), "hidden too");
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    let snapshot = taken(&tree);
    assert_eq!(show(&project.repo(), &snapshot.commit, "README"), "hidden");
    assert_eq!(show(&project.repo(), &snapshot.commit, "src/lexer.rs"), "hidden too");
}

/// Git compares times in seconds, and looks into a file again only if it was changed in the second in
/// which the index was written. The copy of an index must not look newer than the index.
#[test]
fn a_change_of_the_same_length_in_the_same_second_is_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "ONE\nTWO\nTHREE\n");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(taken(&tree).files, 1);
}

#[test]
fn the_files_of_a_repository_inside_are_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let inner = tree.path().join("vendor/lib");
    write(&inner.join("code"), "inner");
    git(&inner, &["init", "--quiet"]);
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "-m", "Inner"]);
    write(&inner.join("more"), "not committed");
    let empty = tree.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "--quiet"]);
    write(&empty.join("first"), "first");
    let snapshot = taken(&tree);
    assert_eq!(snapshot.left, []);
    for (name, content) in [
        ("vendor/lib/code", "inner"),
        ("vendor/lib/more", "not committed"),
        ("empty/first", "first"),
    ] {
        assert_eq!(show(&project.repo(), &snapshot.commit, name), content);
    }
}

#[test]
fn a_file_whose_filter_fails_is_stored_as_it_is() {
    let project = Project::new();
    project.write(".gitattributes", "*.bin filter=lfs\n");
    project.commit("Attributes");
    let tree = project.tree("lexer");
    project.git(&["config", "filter.lfs.clean", "no-such-program-here"]);
    project.git(&["config", "filter.lfs.required", "true"]);
    write(&tree.path().join("big.bin"), "large content");
    write(&tree.path().join("plain"), "plain");
    let snapshot = taken(&tree);
    assert_eq!(snapshot.left, []);
    assert_eq!(show(&project.repo(), &snapshot.commit, "big.bin"), "large content");
    assert_eq!(show(&project.repo(), &snapshot.commit, "plain"), "plain");
}

#[test]
fn a_damaged_index_does_not_keep_files_from_being_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("new"), "new");
    write(&tree.checkout().git_dir().join("index"), "this is no index");
    let snapshot = taken(&tree);
    assert_eq!(snapshot.files, 1);
    assert_eq!(show(&project.repo(), &snapshot.commit, "new"), "new");
}

#[test]
fn a_large_file_and_a_file_that_became_a_folder_are_taken() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("large"), vec![b'x'; 40 << 20]);
    std::fs::remove_file(tree.path().join("README")).unwrap();
    write(&tree.path().join("README/now"), "a folder");
    std::fs::remove_dir_all(tree.path().join("src")).unwrap();
    write(&tree.path().join("src"), "now a file");
    let snapshot = taken(&tree);
    let size = project.git(&["cat-file", "-s", &format!("{}:large", snapshot.commit)]);
    assert_eq!(size, (40 << 20).to_string());
    assert_eq!(show(&project.repo(), &snapshot.commit, "README/now"), "a folder");
    assert_eq!(show(&project.repo(), &snapshot.commit, "src"), "now a file");
}

#[test]
fn work_is_committed_for_an_agent_that_cannot() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "changed");
    write(&tree.path().join("result.json"), "{}");
    git(tree.path(), &["add", "result.json"]);
    let wanted = |own: &TreePath| *own != path("result.json");
    let made = tree.checkout().commit_all(&message("Work"), Some(&wanted)).unwrap().unwrap();
    assert_eq!(made.files, 1);
    assert_eq!(project.tip("althing/run/lexer"), made.commit);
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "?? result.json");
    assert!(tree.checkout().commit_all(&message("Work"), Some(&wanted)).unwrap().is_none());
}

#[test]
fn a_snapshot_in_the_middle_of_a_merge_has_the_markers() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "ours\n");
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Ours"]);
    project.write("README", "theirs\n");
    project.commit("Theirs");
    crate::support::git_raw(tree.path(), &["merge", "main"]);
    let before = agent(&tree);
    let snapshot = taken(&tree);
    assert_eq!(agent(&tree), before);
    assert!(show(&project.repo(), &snapshot.commit, "README").contains("<<<<<<<"));
    let refused = tree.checkout().commit_all(&message("Merge"), None).unwrap_err();
    match refused {
        SnapshotError::Unresolved { paths: open } => assert_eq!(open, paths(&["README"])),
        other => panic!("{other}"),
    }
    assert!(project.trees().open(&tree_name("lexer")).unwrap().is_some());
}

#[test]
fn a_tree_is_put_on_a_commit_of_just_its_files() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "changed");
    let snapshot = taken(&tree);
    // A git that was killed here left its lock.
    write(&tree.checkout().git_dir().join("index.lock"), "");
    assert!(tree.checkout().adopt(&snapshot.commit).unwrap());
    assert_eq!(git(tree.path(), &["rev-parse", "HEAD"]), snapshot.commit.as_str());
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    write(&tree.path().join("README"), "changed again");
    assert!(!tree.checkout().adopt(tree.base()).unwrap());
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), " M README");
}
