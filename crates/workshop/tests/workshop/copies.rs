//! Untracked files of the project in trees of attempts.

use crate::support::{Project, paths, tree_name, write};
use althing_workshop::attempt_tree::{AttemptTree, Notices, Removal, WhyNotCopied};
use std::path::PathBuf;

fn with(project: &Project, name: &str, copy: &[&str]) -> AttemptTree {
    let mut new = project.wanted(name);
    new.provisions.copy = copy.iter().map(PathBuf::from).collect();
    new.reuse = true;
    project.trees().add(&new).unwrap()
}

fn why(tree: &AttemptTree, path: &str) -> WhyNotCopied {
    let found = tree.notices().not_copied.iter().find(|own| own.path == path);
    found.unwrap_or_else(|| panic!("{path}: {:?}", tree.notices())).why.clone()
}

#[test]
fn named_files_and_folders_come_along() {
    let project = Project::new();
    project.write(".env", "SECRET=1");
    project.write("conf/local.log", "local");
    project.write("conf/deep/other.log", "other");
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(project.repo().join(".env"), rights).unwrap();
    let tree = with(&project, "lexer", &[".env", "conf"]);
    let at = |name: &str| tree.path().join(name);
    assert_eq!(std::fs::read_to_string(at(".env")).unwrap(), "SECRET=1");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(at(".env")).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(at("conf/deep/other.log")).unwrap(), "other");
    assert_eq!(tree.notices(), &Notices::default());
    // What was copied is no work of the attempt.
    let removed = project.trees().remove(&tree_name("lexer")).unwrap();
    assert_eq!(removed, Removal::Removed { rescued: Vec::new() });
    assert_eq!(project.trees().quarantined().unwrap(), []);
}

#[test]
fn nothing_is_overwritten_and_no_link_is_followed() {
    let project = Project::new();
    let outside = project.folder.join("outside");
    write(&outside.join("secret"), "secret");
    std::os::unix::fs::symlink(outside.join("secret"), project.repo().join("link.log")).unwrap();
    std::os::unix::fs::symlink(&outside, project.repo().join("folder.log")).unwrap();
    project.write("README", "changed by the person");
    let copy =
        ["README", "link.log", "folder.log/secret", "../outside/secret", "/etc/passwd", "missing"];
    let tree = with(&project, "lexer", &copy);
    assert_eq!(why(&tree, "README"), WhyNotCopied::Exists);
    assert_eq!(why(&tree, "link.log"), WhyNotCopied::Link);
    assert_eq!(why(&tree, "folder.log/secret"), WhyNotCopied::Link);
    assert_eq!(why(&tree, "../outside/secret"), WhyNotCopied::Outside);
    assert_eq!(why(&tree, "/etc/passwd"), WhyNotCopied::Outside);
    assert_eq!(why(&tree, "missing"), WhyNotCopied::Missing);
    assert_eq!(std::fs::read_to_string(tree.path().join("README")).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn a_copy_that_is_not_ignored_is_named() {
    let project = Project::new();
    project.write("settings.local", "x");
    project.write(":odd.log", "x");
    let tree = with(&project, "lexer", &["settings.local", ":odd.log"]);
    assert_eq!(tree.notices().not_ignored, paths(&["settings.local"]));
    // It is no work either, unless somebody changes it.
    let removed = project.trees().remove(&tree_name("lexer")).unwrap();
    assert_eq!(removed, Removal::Removed { rescued: Vec::new() });
}

#[test]
fn a_copy_that_was_changed_is_put_aside_and_the_next_attempt_gets_a_fresh_one() {
    let project = Project::new();
    project.write(".env", "SECRET=1");
    let tree = with(&project, "lexer", &[".env"]);
    write(&tree.path().join(".env"), "SECRET=changed by the agent");
    project.trees().retire(&tree_name("lexer")).unwrap();
    let next = with(&project, "parser", &[".env"]);
    assert_eq!(next.path(), tree.path());
    assert_eq!(std::fs::read_to_string(next.path().join(".env")).unwrap(), "SECRET=1");
    let aside = project.trees().quarantined().unwrap();
    assert_eq!(aside.len(), 1);
    let kept = std::fs::read_to_string(aside[0].path.join(".env")).unwrap();
    assert_eq!(kept, "SECRET=changed by the agent");
    // Secrets do not become commits.
    assert_eq!(project.git(&["for-each-ref", "refs/althing"]), "");
    project.trees().sweep().unwrap();
    assert!(aside[0].path.exists());
}
