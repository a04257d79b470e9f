//! Merging: clean, outside, in conflict; into a branch, into a tree, and back.

use crate::support::{Project, branch, git, git_raw, message, path, paths, show, tree_name, write};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::tree_path::TreePath;
use althing_workshop::merge::{
    Advance, CleanMerge, Conflict, ConflictKind, MergeError, Merged, MergedIn, Reverted,
};

/// Commits a file in a tree.
fn commit(tree: &AttemptTree, name: &str, content: &str) -> ObjectId {
    write(&tree.path().join(name), content);
    git(tree.path(), &["add", "--all"]);
    git(tree.path(), &["commit", "--quiet", "-m", &format!("Change {name}")]);
    ObjectId::new(&git(tree.path(), &["rev-parse", "HEAD"])).unwrap()
}

fn clean(merged: Merged) -> CleanMerge {
    let Merged::Clean(merge) = merged else { panic!("{merged:?}") };
    merge
}

#[test]
fn a_clean_merge_becomes_a_commit_with_trailers_and_a_branch_moves_there() {
    let project = Project::new();
    let repository = project.repository();
    let person = project.person();
    let tip = project.head();
    project.git(&["branch", "althing/run/_merged"]);
    let head = commit(&project.tree("lexer"), "src/lexer.rs", "fn better() {}\n");
    let merge = clean(repository.merge(&tip, &head, None).unwrap());
    assert_eq!(merge.changes.len(), 1);
    assert_eq!(merge.changes[0].path, path("src/lexer.rs"));
    let text = message("Merge lexer").trailer("Althing-Task", "lexer");
    let made = repository.merge_commit(&merge, &text).unwrap();
    assert_eq!(project.git(&["log", "-1", "--format=%P", made.as_str()]), format!("{tip} {head}"));
    let trailers = project.git(&["log", "-1", "--format=%(trailers)", made.as_str()]);
    assert_eq!(trailers.trim(), "Althing-Task: lexer");
    let into = branch("althing/run/_merged");
    assert_eq!(repository.advance(&into, &tip, &made).unwrap(), Advance::Done);
    // Said twice, done once.
    assert_eq!(repository.advance(&into, &tip, &made).unwrap(), Advance::Done);
    assert_eq!(project.tip("althing/run/_merged"), made);
    assert_eq!(repository.merge(&made, &head, None).unwrap(), Merged::AlreadyIn);
    assert_eq!(project.person(), person);
}

#[test]
fn a_branch_that_moved_or_is_checked_out_stays() {
    let project = Project::new();
    let repository = project.repository();
    let tip = project.head();
    let head = commit(&project.tree("lexer"), "new", "new");
    project.git(&["branch", "result", head.as_str()]);
    let moved = repository.advance(&branch("result"), &tip, &tip).unwrap();
    assert_eq!(moved, Advance::Moved { tip: Some(head.clone()) });
    project.git(&["branch", "-D", "result"]);
    let gone = repository.advance(&branch("result"), &tip, &head).unwrap();
    assert_eq!(gone, Advance::Moved { tip: None });
    let used = repository.advance(&branch("main"), &tip, &head).unwrap();
    assert_eq!(used, Advance::CheckedOut { path: project.repo() });
    assert_eq!(project.tip("main"), tip);
}

#[test]
fn paths_that_are_not_allowed_are_named() {
    let project = Project::new();
    let tree = project.tree("lexer");
    git(tree.path(), &["mv", "README", "src/README"]);
    let head = commit(&tree, "src/lexer.rs", "fn better() {}\n");
    let allowed = |own: &TreePath| own.as_bytes().starts_with(b"src/");
    let merged = project.repository().merge(tree.base(), &head, Some(&allowed)).unwrap();
    assert_eq!(merged, Merged::Outside { paths: paths(&["README"]) });
    let all = |_: &TreePath| true;
    clean(project.repository().merge(tree.base(), &head, Some(&all)).unwrap());
}

#[test]
fn conflicts_have_a_path_a_kind_and_a_tree_with_markers() {
    let project = Project::new();
    project.write("deleted", "some content\n");
    project.write("binary", "\0\x01");
    project.commit("More");
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "one\nours\nthree\n");
    write(&tree.path().join("added"), "ours\n");
    write(&tree.path().join("binary"), "\0ours");
    std::fs::remove_file(tree.path().join("deleted")).unwrap();
    let head = commit(&tree, "clean", "clean");
    project.write("README", "one\ntheirs\nthree\n");
    project.write("added", "theirs\n");
    project.write("binary", "\0theirs");
    project.write("deleted", "changed content\n");
    let tip = project.commit("Theirs");
    let Merged::Conflicts(found) = project.repository().merge(&tip, &head, None).unwrap() else {
        panic!()
    };
    let kind = |name: &str| {
        let own = found.conflicts.iter().find(|own| own.path == path(name));
        own.unwrap_or_else(|| panic!("{name}: {found:?}")).kind.clone()
    };
    assert_eq!(found.conflicts.len(), 4, "{found:?}");
    assert_eq!(kind("README"), ConflictKind::Content);
    assert_eq!(kind("added"), ConflictKind::AddAdd);
    assert_eq!(kind("binary"), ConflictKind::Binary);
    assert_eq!(kind("deleted"), ConflictKind::ModifyDelete);
    let text = show(&project.repo(), &found.tree.clone().unwrap(), "README");
    assert!(text.contains("<<<<<<<"), "{text}");
    let mut lines: Vec<String> = found.conflicts.iter().map(Conflict::line).collect();
    lines.sort();
    let expected = [
        "README: both changed the same lines",
        "added: both added it, differently",
        "binary: both changed it, and it is not text",
        "deleted: one changed it, the other deleted it",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn histories_without_a_common_commit_are_refused() {
    let project = Project::new();
    let tip = project.head();
    project.git(&["checkout", "--quiet", "--orphan", "other"]);
    let other = project.commit("From nothing");
    let refused = project.repository().merge(&tip, &other, None).unwrap_err();
    assert!(matches!(refused, MergeError::Unrelated { .. }), "{refused}");
    assert!(refused.hint().contains("unshallow"));
}

#[test]
fn names_that_differ_in_case_only_are_a_conflict_where_they_are_the_same_file() {
    let project = Project::new();
    let head = commit(&project.tree("lexer"), "SRC/Lexer.rs", "x");
    clean(project.repository().merge(&project.head(), &head, None).unwrap());
    project.git(&["config", "core.ignoreCase", "true"]);
    let merged = project.repository().merge(&project.head(), &head, None).unwrap();
    let Merged::Conflicts(found) = merged else { panic!("{merged:?}") };
    assert_eq!(found.conflicts.len(), 1);
    assert_eq!(found.conflicts[0].kind, ConflictKind::Case);
}

#[test]
fn a_tip_is_merged_into_a_tree_cleanly() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let checkout = tree.checkout();
    let same = checkout.merge_in(&project.head(), &message("Merge")).unwrap();
    assert_eq!(same, MergedIn::AlreadyIn);
    let head = commit(&tree, "ours", "ours");
    project.write("theirs", "theirs");
    let tip = project.commit("Theirs");
    let MergedIn::Clean { commit: made } = checkout.merge_in(&tip, &message("Merge")).unwrap()
    else {
        panic!()
    };
    assert_eq!(project.git(&["log", "-1", "--format=%P", made.as_str()]), format!("{head} {tip}"));
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    assert!(tree.path().join("theirs").exists());
}

#[test]
fn uncommitted_work_is_not_merged_over() {
    let project = Project::new();
    let tree = project.tree("lexer");
    project.write("theirs", "theirs");
    let tip = project.commit("Theirs");
    write(&tree.path().join("new"), "mine");
    match tree.checkout().merge_in(&tip, &message("Merge")).unwrap_err() {
        MergeError::Uncommitted { paths: found, .. } => assert_eq!(found, paths(&["new"])),
        other => panic!("{other}"),
    }
    assert_eq!(std::fs::read_to_string(tree.path().join("new")).unwrap(), "mine");
}

#[test]
fn settings_of_a_person_do_not_change_the_merge() {
    let project = Project::new();
    for (key, value) in [
        ("merge.ff", "only"),
        ("branch.althing/run/lexer.mergeOptions", "--squash"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("merge.verifySignatures", "true"),
    ] {
        project.git(&["config", key, value]);
    }
    let tree = project.tree("lexer");
    commit(&tree, "ours", "ours");
    project.write("theirs", "theirs");
    let tip = project.commit("Theirs");
    let merged = tree.checkout().merge_in(&tip, &message("Merge")).unwrap();
    assert!(matches!(merged, MergedIn::Clean { .. }), "{merged:?}");
}

/// A tree with a conflict in README, and the tip that was merged.
fn conflict(project: &Project) -> (AttemptTree, ObjectId) {
    let tree = project.tree("lexer");
    commit(&tree, "README", "one\nours\nthree\n");
    project.write("README", "one\ntheirs\nthree\n");
    let tip = project.commit("Theirs");
    let merged = tree.checkout().merge_in(&tip, &message("Merge")).unwrap();
    let MergedIn::Conflicts { unmerged } = merged else { panic!("{merged:?}") };
    assert_eq!(unmerged[0].path, path("README"));
    assert_eq!(unmerged[0].sides, "UU");
    (tree, tip)
}

#[test]
fn an_agent_resolves_a_conflict_by_editing_and_the_merge_is_committed_for_it() {
    let project = Project::new();
    let (tree, tip) = conflict(&project);
    let checkout = tree.checkout();
    let left = checkout.unresolved().unwrap();
    assert!(left.is_merging && !left.is_empty());
    assert_eq!((left.unmerged, left.markers), (paths(&["README"]), paths(&["README"])));
    // Asked again, it says the same.
    let again = checkout.merge_in(&tip, &message("Merge")).unwrap();
    assert!(matches!(again, MergedIn::Conflicts { .. }));
    write(&tree.path().join("README"), "one\nboth\nthree\n");
    assert!(checkout.unresolved().unwrap().is_empty());
    let head = project.tip("althing/run/lexer");
    let made = checkout.commit_all(&message("Resolve"), None).unwrap().unwrap();
    assert_eq!(
        project.git(&["log", "-1", "--format=%P", made.commit.as_str()]),
        format!("{head} {tip}")
    );
    assert_eq!(checkout.under_way(), None);
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    clean(project.repository().merge(&tip, &made.commit, None).unwrap());
}

#[test]
fn markers_that_were_added_to_the_index_or_committed_are_seen() {
    let project = Project::new();
    let (tree, tip) = conflict(&project);
    git(tree.path(), &["add", "README"]);
    let left = tree.checkout().unresolved().unwrap();
    assert_eq!((left.unmerged, left.markers), (vec![], paths(&["README"])));
    git(tree.path(), &["commit", "--quiet", "-m", "Not resolved"]);
    let head = project.tip("althing/run/lexer");
    let found = project.repository().conflict_markers(&tip, &head).unwrap();
    assert_eq!(found, paths(&["README"]));
    // A file that had such lines before is no conflict of this one.
    assert_eq!(project.repository().conflict_markers(&head, &head).unwrap(), []);
}

#[test]
fn a_file_deleted_on_one_side_waits_until_somebody_says_which() {
    let project = Project::new();
    let tree = project.tree("lexer");
    std::fs::remove_file(tree.path().join("README")).unwrap();
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Delete"]);
    project.write("README", "changed\n");
    let tip = project.commit("Change");
    let checkout = tree.checkout();
    let merged = checkout.merge_in(&tip, &message("Merge")).unwrap();
    assert!(matches!(merged, MergedIn::Conflicts { .. }), "{merged:?}");
    assert_eq!(checkout.unresolved().unwrap().unmerged, paths(&["README"]));
    assert!(checkout.commit_all(&message("Too early"), None).is_err());
    std::fs::remove_file(tree.path().join("README")).unwrap();
    checkout.resolve(&paths(&["README"])).unwrap();
    assert!(checkout.unresolved().unwrap().is_empty());
    checkout.commit_all(&message("Deleted it is"), None).unwrap().unwrap();
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_merge_that_git_was_killed_in_is_undone_and_not_taken_for_work() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let head = commit(&tree, "ours", "ours");
    project.write("README", "theirs\n");
    project.write("new", "new");
    let tip = project.commit("Theirs");
    // Half of the merge is on disk, nothing in the index.
    let admin = tree.checkout().git_dir();
    write(&admin.join("althing-merging"), format!("{head} {tip}\n"));
    write(&admin.join("index.lock"), "");
    write(&tree.path().join("README"), "theirs\n");
    write(&tree.path().join("new"), "ne");
    assert!(tree.checkout().commit_all(&message("Work"), None).unwrap().is_none());
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    let merged = tree.checkout().merge_in(&tip, &message("Merge")).unwrap();
    assert!(matches!(merged, MergedIn::Clean { .. }), "{merged:?}");
    // Whatever it was, it can be looked at.
    let kept = project.repository().rescues().of(&tree_name("interrupted-merge")).unwrap();
    assert_eq!(kept.len(), 1);
}

#[test]
fn a_merge_is_reverted_as_a_commit() {
    let project = Project::new();
    let repository = project.repository();
    let base = project.head();
    let head = commit(&project.tree("lexer"), "src/lexer.rs", "fn better() {}\n");
    let merge = clean(repository.merge(&base, &head, None).unwrap());
    let merge = repository.merge_commit(&merge, &message("Merge lexer")).unwrap();
    project.git(&["reset", "--quiet", "--hard", merge.as_str()]);
    project.write("README", "later");
    let tip = project.commit("Later");
    let Reverted::Commit(made) = repository.revert(&merge, &tip, &message("Revert")).unwrap()
    else {
        panic!()
    };
    assert_eq!(project.tip(&format!("{made}^")), tip);
    assert_eq!(show(&project.repo(), &made, "src/lexer.rs"), "fn lex() {}");
    assert_eq!(show(&project.repo(), &made, "README"), "later");
    let again = repository.revert(&merge, &made, &message("Revert")).unwrap();
    assert_eq!(again, Reverted::Nothing);
    // Later work on the same lines is a conflict, which is named.
    project.write("src/lexer.rs", "fn best() {}\n");
    let tip = project.commit("On top of it");
    let Reverted::Conflicts(found) = repository.revert(&merge, &tip, &message("Revert")).unwrap()
    else {
        panic!()
    };
    assert_eq!(found.conflicts[0].path, path("src/lexer.rs"));
    let refused = repository.revert(&base, &tip, &message("Revert")).unwrap_err();
    assert!(matches!(refused, MergeError::NoParent { .. }), "{refused}");
}

#[test]
fn merging_needs_no_clean_work_tree() {
    let project = Project::new();
    let head = commit(&project.tree("lexer"), "src/lexer.rs", "fn better() {}\n");
    project.write("src/lexer.rs", "the person is at it too");
    project.git(&["add", "."]);
    git_raw(&project.repo(), &["stash", "list"]);
    let person = project.person();
    clean(project.repository().merge(&project.head(), &head, None).unwrap());
    assert_eq!(project.person(), person);
}
