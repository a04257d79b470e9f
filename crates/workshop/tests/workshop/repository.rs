//! Repositories of every kind: handled, noticed or refused with a way out.

use crate::child;
use crate::support::{Project, git, path, write};
use althing_workshop::checkout::{Head, Operation};
use althing_workshop::git::author::Author;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::repository::{Effect, Finding, Repository, RepositoryError};
use std::path::Path;

fn open(folder: &Path) -> Result<Repository, RepositoryError> {
    Repository::open(folder, &Author::agent("tester"))
}

fn findings(project: &Project) -> Vec<Finding> {
    project.repository().survey().unwrap().findings
}

#[test]
fn an_ordinary_repository_has_nothing_special() {
    let project = Project::new();
    let survey = project.repository().survey().unwrap();
    assert_eq!(survey.findings, []);
    assert_eq!(survey.base().unwrap(), project.head());
    let inside = open(&project.repo().join("src")).unwrap();
    assert_eq!(inside.work_tree(), Some(project.repo().as_path()));
}

#[test]
fn a_folder_without_a_repository_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = open(folder.path()).unwrap_err();
    assert!(matches!(refused, RepositoryError::NoRepository { .. }), "{refused}");
    assert!(refused.hint().contains("init"), "{}", refused.hint());
}

#[test]
fn a_repository_without_a_commit_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    let survey = open(folder.path()).unwrap().survey().unwrap();
    assert_eq!(survey.findings, [Finding::NoCommit]);
    let refused = survey.base().unwrap_err();
    assert!(refused.hint().contains("commit --allow-empty"), "{}", refused.hint());
}

#[test]
fn gits_own_folder_is_refused() {
    let project = Project::new();
    let refused = open(&project.repo().join(".git")).unwrap_err();
    assert!(matches!(refused, RepositoryError::InsideGitFolder { .. }), "{refused}");
}

#[test]
fn a_bare_repository_is_handled() {
    let project = Project::new();
    git(&project.folder, &["clone", "--quiet", "--bare", "repo", "bare.git"]);
    let survey = open(&project.folder.join("bare.git")).unwrap().survey().unwrap();
    assert_eq!(survey.findings, [Finding::Bare]);
    assert_eq!(survey.base().unwrap(), project.head());
}

#[test]
fn a_detached_head_is_noticed() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "--detach"]);
    let survey = project.repository().survey().unwrap();
    assert_eq!(survey.findings, [Finding::DetachedHead]);
    assert_eq!(survey.head, Head::Detached { commit: project.head() });
    assert_eq!(survey.with_effect(Effect::Notice).count(), 1);
}

#[test]
fn uncommitted_files_are_counted_and_left_alone() {
    let project = Project::new();
    project.write("README", "changed");
    project.write("src/lexer.rs", "staged");
    project.git(&["add", "src/lexer.rs"]);
    project.write("new/one", "1");
    project.write("new/two", "2");
    let before = project.person();
    assert_eq!(findings(&project), [Finding::Uncommitted { changed: 2, untracked: 1 }]);
    project.tree("lexer");
    assert_eq!(project.person(), before);
}

#[test]
fn operations_that_are_under_way_are_noticed() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "-b", "other"]);
    project.write("README", "theirs\n");
    project.commit("Theirs");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("README", "ours\n");
    project.commit("Ours");
    let cases: [(&[&str], &[&str], Operation); 5] = [
        (&["merge", "other"], &["merge", "--abort"], Operation::Merge),
        (&["cherry-pick", "other"], &["cherry-pick", "--abort"], Operation::CherryPick),
        (&["rebase", "other"], &["rebase", "--abort"], Operation::Rebase),
        (&["revert", "HEAD~1"], &["revert", "--abort"], Operation::Revert),
        (&["bisect", "start", "HEAD", "HEAD~1"], &["bisect", "reset"], Operation::Bisect),
    ];
    for (begin, end, operation) in cases {
        crate::support::git_raw(&project.repo(), begin);
        let found = findings(&project);
        assert!(found.contains(&Finding::UnderWay(operation)), "{begin:?}: {found:?}");
        project.git(end);
    }
    assert_eq!(findings(&project), []);
}

#[test]
fn a_sparse_checkout_a_shallow_clone_and_a_linked_worktree_are_found() {
    let project = Project::new();
    project.commit("Second");
    project.git(&["sparse-checkout", "set", "src"]);
    assert_eq!(findings(&project), [Finding::Sparse]);
    let url = format!("file://{}", project.repo().display());
    git(&project.folder, &["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let survey = open(&project.folder.join("shallow")).unwrap().survey().unwrap();
    assert_eq!(survey.findings, [Finding::Shallow]);
    let linked = project.folder.join("linked");
    git(&project.folder.join("shallow"), &["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let repository = open(&linked).unwrap();
    assert_eq!(repository.common_dir(), project.folder.join("shallow/.git"));
    let found = repository.survey().unwrap().findings;
    assert_eq!(found, [Finding::Linked, Finding::Shallow]);
}

#[test]
fn a_repository_inside_another_is_found_and_the_outer_left_alone() {
    let project = Project::new();
    let inner = project.repo().join("vendor/inner");
    std::fs::create_dir_all(&inner).unwrap();
    git(&inner, &["init", "--quiet"]);
    git(&inner, &["commit", "--quiet", "--allow-empty", "-m", "Inner"]);
    let found = open(&inner).unwrap().survey().unwrap().findings;
    let outer = project.repo();
    assert_eq!(found, [Finding::Inside { outer, is_submodule: false }]);
}

#[test]
fn submodules_and_being_one_are_found() {
    let project = Project::new();
    let other = Project::new();
    let url = other.repo().display().to_string();
    project.git(&["submodule", "--quiet", "add", &url, "lib"]);
    project.commit("Submodule");
    assert_eq!(findings(&project), [Finding::Submodules { count: 1, initialized: 1 }]);
    let found = open(&project.repo().join("lib")).unwrap().survey().unwrap().findings;
    assert_eq!(found, [Finding::Inside { outer: project.repo(), is_submodule: true }]);
    project.git(&["submodule", "--quiet", "deinit", "lib"]);
    assert_eq!(findings(&project), [Finding::Submodules { count: 1, initialized: 0 }]);
}

#[test]
fn large_files_are_found_with_and_without_their_filter() {
    let project = Project::new();
    project.write("media/.gitattributes", "*.bin filter=lfs diff=lfs\n");
    project.commit("Attributes");
    project.git(&["config", "filter.lfs.smudge", ""]);
    assert_eq!(findings(&project), [Finding::Lfs { is_configured: false }]);
    project.git(&["config", "filter.lfs.process", "git-lfs filter-process"]);
    let survey = project.repository().survey().unwrap();
    assert_eq!(survey.findings, [Finding::Lfs { is_configured: true }]);
    assert_eq!(survey.with_effect(Effect::Handled).count(), 1);
}

#[test]
fn a_file_system_that_ignores_case_is_found() {
    let project = Project::new();
    project.git(&["config", "core.ignoreCase", "true"]);
    assert_eq!(findings(&project), [Finding::IgnoresCase]);
}

#[test]
fn every_finding_says_what_it_means() {
    let project = Project::new();
    project.write("x", "y");
    for finding in findings(&project) {
        assert!(finding.text().len() > 40, "{finding:?}");
    }
}

/// A program named `git` that stands in for the real one, in a process of its own.
fn survey_with(project: &Project, script: &str) -> String {
    let bin = project.folder.join("bin");
    let path = bin.join("git");
    if !script.is_empty() {
        write(&path, script);
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, rights).unwrap();
    }
    std::fs::create_dir_all(&bin).unwrap();
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::acts", "--nocapture"])
        .env("ALTHING_TEST_ACT", "survey")
        .env("ALTHING_TEST_FOLDER", &project.folder)
        .env("ALTHING_TEST_STOP", "0")
        .env("PATH", &bin)
        .output()
        .unwrap();
    assert!(!ran.status.success());
    String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout)
}

#[test]
fn no_git_an_old_git_and_a_folder_of_somebody_else_are_refused() {
    let project = Project::new();
    let said = survey_with(&project, "");
    assert!(said.contains("NoGit"), "{said}");
    let said = survey_with(&project, "#!/bin/sh\necho git version 2.30.1\n");
    assert!(said.contains("OldGit"), "{said}");
    // Git's own tests pretend with this variable that the folder belongs to another user.
    let real = std::env::var("PATH").unwrap();
    let script =
        format!("#!/bin/sh\nPATH='{real}' GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git \"$@\"\n");
    let said = survey_with(&project, &script);
    assert!(said.contains("ForeignOwner"), "{said}");
    child::run(&project, &["survey"], 0);
}

#[test]
fn the_content_of_a_file_at_a_commit_is_read_as_it_is_stored() {
    let project = Project::new();
    let repository = project.repository();
    let first = project.head();
    project.write("README", "changed\n");
    write(&project.repo().join("raw"), b"\0\xff\r\n\n");
    write(&project.repo().join("odd\nname *"), "odd");
    project.write("empty", "");
    let second = project.commit("More");
    project.write("README", "not committed\n");
    let content = |commit, name: &str| repository.content(commit, &path(name)).unwrap();
    assert_eq!(content(&first, "README").unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(content(&second, "README").unwrap(), b"changed\n");
    assert_eq!(content(&second, "src/lexer.rs").unwrap(), b"fn lex() {}\n");
    assert_eq!(content(&second, "raw").unwrap(), b"\0\xff\r\n\n");
    assert_eq!(content(&second, "odd\nname *").unwrap(), b"odd");
    assert_eq!(content(&second, "empty").unwrap(), b"");
    assert_eq!(content(&first, "raw"), None);
    for name in ["src", "src/", "", "*", "readme", "src/../README", "../README", "/README"] {
        assert_eq!(content(&second, name), None, "{name}");
    }
}

#[test]
fn a_commit_or_a_content_that_is_lost_is_not_taken_for_a_file_that_is_not_there() {
    let project = Project::new();
    let repository = project.repository();
    let unknown = ObjectId::new(&"1".repeat(40)).unwrap();
    repository.content(&unknown, &path("README")).unwrap_err();
    let id = project.git(&["rev-parse", "HEAD:README"]);
    let object = project.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(object).unwrap();
    repository.content(&project.head(), &path("README")).unwrap_err();
}
