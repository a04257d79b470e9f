//! Rescued work: kept, listed, shown, put back, and dropped only on request.

use crate::support::{Project, branch, git, git_raw, path, paths, show, tree_name, write};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::rescue::{Rescue, RescueError, What};

fn rescue(tree: &AttemptTree) -> Rescue {
    let rescued = tree.checkout().rescue(tree.name(), "a test").unwrap();
    assert_eq!(rescued.left, []);
    rescued.rescue.unwrap()
}

#[test]
fn work_is_kept_with_where_it_comes_from() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "changed");
    write(&tree.path().join("new/file"), "new");
    let rescue = rescue(&tree);
    assert_eq!(rescue.number, 1);
    assert_eq!(rescue.reference.as_str(), "refs/althing/rescue/lexer/1");
    assert_eq!(rescue.branch.as_deref(), Some("althing/run/lexer"));
    assert_eq!((rescue.files, rescue.reason.as_str()), (2, "a test"));
    assert!(rescue.at > 1_600_000_000);
    assert_eq!(show(&project.repo(), &rescue.commit, "new/file"), "new");
    assert_eq!(project.tip(&format!("{}^", rescue.commit)), *tree.base());
    let rescues = project.repository();
    let rescues = rescues.rescues();
    assert_eq!(rescues.list().unwrap(), std::slice::from_ref(&rescue));
    let changed = rescues.changes(&rescue).unwrap();
    assert_eq!(changed.len(), 2);
    assert!(rescues.stat(&rescue).unwrap().contains("2 files changed"));
    let patch = String::from_utf8(rescues.patch(&rescue).unwrap()).unwrap();
    assert!(patch.contains("+changed"), "{patch}");
}

#[test]
fn nothing_to_rescue_makes_nothing_and_the_same_work_is_rescued_once() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let none = tree.checkout().rescue(tree.name(), "a test").unwrap();
    assert_eq!(none.rescue, None);
    write(&tree.path().join("new"), "one");
    let first = rescue(&tree);
    assert_eq!(rescue(&tree), first);
    write(&tree.path().join("new"), "two");
    let second = rescue(&tree);
    assert_eq!(second.number, 2);
    let repository = project.repository();
    assert_eq!(repository.rescues().of(&tree_name("lexer")).unwrap(), [first.clone(), second]);
    assert_eq!(show(&project.repo(), &first.commit, "new"), "one");
    assert!(matches!(
        repository.rescues().get(&tree_name("lexer"), 3).unwrap_err(),
        RescueError::Unknown { .. }
    ));
}

#[test]
fn what_was_staged_is_kept_where_the_file_went_on() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "staged");
    git(tree.path(), &["add", "README"]);
    write(&tree.path().join("README"), "gone on");
    let rescue = rescue(&tree);
    assert_eq!(show(&project.repo(), &rescue.commit, "README"), "gone on");
    let staged = project.tip(&format!("{}^2", rescue.commit));
    assert_eq!(show(&project.repo(), &staged, "README"), "staged");
}

#[test]
fn work_that_is_staged_only_is_kept() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "staged");
    git(tree.path(), &["add", "README"]);
    write(&tree.path().join("README"), "one\ntwo\nthree\n");
    let rescue = rescue(&tree);
    let staged = project.tip(&format!("{}^2", rescue.commit));
    assert_eq!(show(&project.repo(), &staged, "README"), "staged");
}

#[test]
fn commits_on_no_branch_are_kept() {
    let project = Project::new();
    let tree = project.tree("lexer");
    git(tree.path(), &["checkout", "--quiet", "--detach"]);
    write(&tree.path().join("new"), "new");
    git(tree.path(), &["add", "."]);
    git(tree.path(), &["commit", "--quiet", "-m", "On no branch"]);
    let lost = git(tree.path(), &["rev-parse", "HEAD"]);
    let rescue = rescue(&tree);
    assert_eq!(rescue.files, 0);
    assert_eq!(project.tip(&format!("{}^", rescue.commit)).as_str(), lost);
}

#[test]
fn a_stash_that_a_rebase_made_is_kept() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("README"), "ours\n");
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Ours"]);
    project.write("README", "theirs\n");
    project.commit("Theirs");
    write(&tree.path().join("src/lexer.rs"), "stashed by the rebase\n");
    git_raw(tree.path(), &["rebase", "--autostash", "main"]);
    let rescue = rescue(&tree);
    let parents = project.git(&["log", "-1", "--format=%P", rescue.commit.as_str()]);
    let kept = parents.split(' ').any(|parent| {
        project.git(&["show", &format!("{parent}:src/lexer.rs")]) == "stashed by the rebase"
    });
    assert!(kept, "{parents}");
}

#[test]
fn a_repository_inside_is_kept_with_its_history() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let inner = tree.path().join("tools/helper");
    write(&inner.join("code"), "committed");
    git(&inner, &["init", "--quiet", "--initial-branch=main"]);
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "-m", "Inner history"]);
    git(&inner, &["branch", "side"]);
    write(&inner.join("code"), "not committed");
    let rescue = rescue(&tree);
    assert_eq!(rescue.inner.len(), 1);
    assert_eq!(rescue.inner[0].path, "tools/helper/");
    let files = project.tip(rescue.inner[0].reference.as_str());
    assert_eq!(show(&project.repo(), &files, "code"), "not committed");
    let log = project.git(&["log", "--format=%s", files.as_str()]);
    assert!(log.contains("Inner history"), "{log}");
    let heads = project.git(&["for-each-ref", "--format=%(refname)", "refs/althing/rescue"]);
    assert!(heads.contains("refs/althing/rescue/lexer/1.inner/1/heads/side"), "{heads}");
    // Its files are in the rescued tree as well.
    assert_eq!(show(&project.repo(), &rescue.commit, "tools/helper/code"), "not committed");
    let repository = project.repository();
    repository.rescues().drop(&rescue).unwrap();
    assert_eq!(project.git(&["for-each-ref", "refs/althing/rescue"]), "");
}

#[test]
fn a_repository_that_an_agent_added_as_a_link_is_kept_too() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let inner = tree.path().join("helper");
    write(&inner.join("code"), "inner");
    git(&inner, &["init", "--quiet"]);
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "-m", "Inner"]);
    git(tree.path(), &["add", "--all"]);
    git(tree.path(), &["commit", "--quiet", "-m", "A link to nowhere"]);
    let rescue = rescue(&tree);
    let files = project.tip(rescue.inner[0].reference.as_str());
    assert_eq!(show(&project.repo(), &files, "code"), "inner");
}

#[test]
fn a_clone_that_nobody_changed_is_not_copied() {
    let project = Project::new();
    let other = Project::new();
    let tree = project.tree("lexer");
    git(tree.path(), &["clone", "--quiet", other.repo().to_str().unwrap(), "reference"]);
    let rescue = rescue(&tree);
    assert_eq!(rescue.inner, []);
    assert_eq!(show(&project.repo(), &rescue.commit, "reference/README"), "one\ntwo\nthree");
}

#[test]
fn a_git_file_that_leads_out_is_not_followed() {
    let project = Project::new();
    let other = Project::new();
    let before = other.person();
    let tree = project.tree("lexer");
    let trap = tree.path().join("trap");
    write(&trap.join(".git"), format!("gitdir: {}/.git\n", other.repo().display()));
    write(&trap.join("file"), "x");
    let rescued = tree.checkout().rescue(tree.name(), "a test").unwrap();
    // It cannot be told what belongs to it, so it is named and the tree must stay.
    assert_eq!(rescued.left.len(), 1);
    assert_eq!(other.person(), before);
    assert!(!other.repo().join(".git/althing-checkout.lock").exists());
}

#[test]
fn work_comes_back_as_a_branch() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("new"), "new");
    let rescue = rescue(&tree);
    let repository = project.repository();
    repository.rescues().restore_branch(&rescue, &branch("saved")).unwrap();
    assert_eq!(project.tip("saved"), rescue.commit);
    project.git(&["branch", "taken"]);
    let refused = repository.rescues().restore_branch(&rescue, &branch("taken")).unwrap_err();
    assert!(matches!(refused, RescueError::BranchExists { .. }), "{refused}");
    assert_eq!(project.tip("taken"), project.head());
}

#[test]
fn work_comes_back_as_files_and_overwrites_nothing() {
    let project = Project::new();
    project.write("there/deep/old", "x");
    project.commit("More");
    let tree = project.tree("lexer");
    let at = |name: &str| tree.path().join(name);
    write(&at("new/file"), "rescued");
    write(&at("same"), "same");
    write(&at("different"), "rescued");
    write(&at("linked/file"), "rescued");
    write(&at("README"), "rescued");
    std::fs::remove_file(at("src/parser.rs")).unwrap();
    std::os::unix::fs::symlink("README", at("link")).unwrap();
    let rescue = rescue(&tree);

    let target = project.folder.join("target");
    let outside = project.folder.join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    write(&target.join("same"), "same");
    write(&target.join("different"), "mine");
    write(&target.join("src/parser.rs"), "mine");
    std::os::unix::fs::symlink(&outside, target.join("linked")).unwrap();
    let repository = project.repository();
    let rescues = repository.rescues();
    let restored = rescues.restore_into(&rescue, &target, What::Changed).unwrap();
    assert_eq!(restored.written, paths(&["README", "link", "new/file"]));
    assert_eq!(restored.same, paths(&["same"]));
    assert_eq!(restored.kept, paths(&["different", "linked/file"]));
    assert_eq!(restored.deleted, paths(&["src/parser.rs"]));
    assert_eq!(std::fs::read_to_string(target.join("different")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(target.join("src/parser.rs")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    // Again: everything is there.
    let again = rescues.restore_into(&rescue, &target, What::Changed).unwrap();
    assert_eq!(again.written, []);
    let whole = project.folder.join("whole");
    std::fs::create_dir(&whole).unwrap();
    let restored = rescues.restore_into(&rescue, &whole, What::Whole).unwrap();
    assert!(restored.written.contains(&path("src/lexer.rs")));
    assert!(whole.join("there/deep/old").exists());
    assert!(rescues.restore_into(&rescue, &project.folder.join("no"), What::Whole).is_err());
}

#[test]
fn work_comes_back_into_the_work_tree_of_a_person_without_touching_the_index() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("new"), "rescued");
    write(&tree.path().join("README"), "rescued");
    let rescue = rescue(&tree);
    let repository = project.repository();
    let restored =
        repository.rescues().restore_into(&rescue, &project.repo(), What::Changed).unwrap();
    assert_eq!(restored.written, paths(&["new"]));
    assert_eq!(restored.kept, paths(&["README"]));
    assert_eq!(project.git(&["status", "--porcelain"]), "?? new");
}

#[test]
fn only_what_was_seen_is_dropped() {
    let project = Project::new();
    let tree = project.tree("lexer");
    write(&tree.path().join("new"), "new");
    let rescue = rescue(&tree);
    project.git(&["update-ref", rescue.reference.as_str(), "HEAD"]);
    let repository = project.repository();
    let refused = repository.rescues().drop(&rescue).unwrap_err();
    assert!(matches!(refused, RescueError::Moved { .. }), "{refused}");
    assert_eq!(project.tip(rescue.reference.as_str()), project.head());
}
