//! The changes of an attempt, of every kind.

use crate::support::{Project, git, path, paths, write};
use althing_workshop::changes::{Change, ChangeKind, Changes};
use althing_workshop::git::tree_path::TreePath;

fn kind(changes: &[Change], name: &str) -> ChangeKind {
    let found = changes.iter().find(|change| change.path == path(name));
    found.unwrap_or_else(|| panic!("{name} is not in {changes:?}")).kind.clone()
}

#[test]
fn nothing_changed_is_nothing() {
    let project = Project::new();
    let tree = project.tree("lexer");
    let changes = Changes::since(tree.checkout(), tree.base()).unwrap();
    assert!(changes.is_empty());
    assert!(changes.paths().is_empty());
}

#[test]
fn each_kind_of_change_is_where_it_belongs() {
    let project = Project::new();
    for name in ["moved", "gone", "mode", "typed", "staged"] {
        project.write(name, &format!("{name} {}", "content ".repeat(20)));
    }
    project.commit("More files");
    let tree = project.tree("lexer");
    let at = |name: &str| tree.path().join(name);
    git(tree.path(), &["mv", "moved", "new-name"]);
    git(tree.path(), &["commit", "--quiet", "-m", "Rename"]);
    write(&at("README"), "committed");
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Change"]);
    write(&at("staged"), "staged");
    git(tree.path(), &["add", "staged"]);
    std::fs::remove_file(at("gone")).unwrap();
    std::fs::remove_file(at("typed")).unwrap();
    std::os::unix::fs::symlink("README", at("typed")).unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(at("mode"), rights).unwrap();
    write(&at("deep/new"), "new");
    write(&at("target/ignored"), "ignored");
    std::fs::create_dir(at("empty")).unwrap();

    let changes = Changes::since(tree.checkout(), tree.base()).unwrap();
    assert_eq!(kind(&changes.committed, "README"), ChangeKind::Modified);
    let renamed = ChangeKind::Renamed { from: path("moved") };
    assert_eq!(kind(&changes.committed, "new-name"), renamed);
    assert_eq!(kind(&changes.status.staged, "staged"), ChangeKind::Modified);
    let unstaged = &changes.status.unstaged;
    assert_eq!(kind(unstaged, "gone"), ChangeKind::Deleted);
    assert_eq!(kind(unstaged, "typed"), ChangeKind::Type);
    assert!(unstaged.iter().any(|change| change.path == path("mode") && change.mode_changed()));
    assert_eq!(changes.status.untracked, paths(&["deep/new"]));
    let all: Vec<TreePath> = changes.paths().into_iter().collect();
    let wanted = ["README", "deep/new", "gone", "mode", "moved", "new-name", "staged", "typed"];
    assert_eq!(all, paths(&wanted));

    git(tree.path(), &["commit", "--quiet", "-a", "-m", "The rest"]);
    let changes = Changes::since(tree.checkout(), tree.base()).unwrap();
    assert_eq!(kind(&changes.committed, "mode"), ChangeKind::Mode);
    assert!(changes.committed.iter().all(|change| !change.line().is_empty()));
}

#[test]
fn settings_of_a_person_do_not_change_the_answer() {
    let project = Project::new();
    let settings = [
        ("status.showUntrackedFiles", "no"),
        ("status.renames", "false"),
        ("status.branch", "true"),
        ("status.showStash", "true"),
        ("diff.noprefix", "true"),
        ("diff.renames", "false"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
    ];
    for (key, value) in settings {
        project.git(&["config", key, value]);
    }
    let tree = project.tree("lexer");
    write(&tree.path().join("neu äöü"), "new");
    git(tree.path(), &["mv", "README", "LIESMICH"]);
    let changes = Changes::since(tree.checkout(), tree.base()).unwrap();
    assert_eq!(changes.status.untracked, paths(&["neu äöü"]));
    let renamed = ChangeKind::Renamed { from: path("README") };
    assert_eq!(kind(&changes.status.staged, "LIESMICH"), renamed);
}

#[test]
fn asking_does_not_wait_for_the_agent() {
    let project = Project::new();
    let tree = project.tree("lexer");
    // The agent's own git holds the index.
    write(&tree.checkout().git_dir().join("index.lock"), "");
    write(&tree.path().join("new"), "new");
    let changes = Changes::since(tree.checkout(), tree.base()).unwrap();
    assert_eq!(changes.status.untracked, paths(&["new"]));
}
