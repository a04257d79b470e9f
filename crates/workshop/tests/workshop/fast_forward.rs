//! A result comes into a person's own branch: completely, or not at all and with the reason.

use crate::support::{Project, branch, git, git_raw, kill_git_at, paths, write};
use althing_workshop::checkout::Operation;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::merge::{FastForward, Refusal};

/// A commit ahead of main that changes, adds, deletes and renames.
fn ahead(project: &Project) -> (ObjectId, ObjectId) {
    let from = project.head();
    project.git(&["checkout", "--quiet", "-b", "result"]);
    project.write("README", "result\n");
    project.write("new/file", "new\n");
    project.git(&["rm", "--quiet", "src/parser.rs"]);
    let to = project.commit("Result");
    project.git(&["checkout", "--quiet", "main"]);
    (from, to)
}

fn forward(project: &Project, from: &ObjectId, to: &ObjectId) -> FastForward {
    project.repository().fast_forward(&branch("main"), from, to).unwrap()
}

fn refused(project: &Project, from: &ObjectId, to: &ObjectId) -> Refusal {
    let before = project.person();
    let FastForward::Refused(refusal) = forward(project, from, to) else { panic!() };
    assert_eq!(project.person(), before);
    assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
    refusal
}

#[test]
fn a_clean_work_tree_follows_its_branch() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    project.write("untracked", "mine");
    project.write("target/build", "ignored");
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
    assert_eq!(project.tip("main"), to);
    assert_eq!(project.read("README"), "result\n");
    assert_eq!(project.read("new/file"), "new\n");
    assert!(!project.repo().join("src/parser.rs").exists());
    assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked");
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
}

#[test]
fn a_branch_that_is_not_checked_out_just_moves() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    project.git(&["checkout", "--quiet", "--detach"]);
    let before = project.person();
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
    assert_eq!(project.tip("main"), to);
    assert_eq!(project.person(), before);
}

#[test]
fn a_branch_in_a_linked_worktree_takes_its_files_along() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    project.git(&["checkout", "--quiet", "--detach"]);
    let linked = project.folder.join("linked");
    project.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]);
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
    assert_eq!(std::fs::read_to_string(linked.join("README")).unwrap(), "result\n");
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
}

#[test]
fn a_moved_branch_and_another_history_are_refused() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    let now = project.commit("The person went on");
    assert_eq!(refused(&project, &from, &to), Refusal::Moved { tip: Some(now.clone()) });
    assert_eq!(refused(&project, &now, &to), Refusal::NotForward);
}

#[test]
fn uncommitted_changes_are_refused_and_stay() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    let uncommitted =
        |names: &[&str]| Refusal::Uncommitted { path: project.repo(), paths: paths(names) };
    project.write("src/lexer.rs", "mine");
    assert_eq!(refused(&project, &from, &to), uncommitted(&["src/lexer.rs"]));
    project.git(&["add", "."]);
    assert_eq!(refused(&project, &from, &to), uncommitted(&["src/lexer.rs"]));
    project.git(&["reset", "--quiet", "--hard"]);
    // Git would overwrite this one without a word.
    project.git(&["update-index", "--assume-unchanged", "README"]);
    project.write("README", "mine");
    assert_eq!(refused(&project, &from, &to), uncommitted(&["README"]));
    assert_eq!(project.read("README"), "mine");
}

#[test]
fn files_in_the_way_are_refused_also_ignored_ones() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    project.write("new/file", "mine");
    let in_the_way =
        |names: &[&str]| Refusal::InTheWay { path: project.repo(), paths: paths(names) };
    assert_eq!(refused(&project, &from, &to), in_the_way(&["new/file"]));
    project.write(".git/info/exclude", "new\n");
    assert_eq!(refused(&project, &from, &to), in_the_way(&["new/file"]));
    assert_eq!(project.read("new/file"), "mine");
    std::fs::remove_dir_all(project.repo().join("new")).unwrap();
    project.write("new", "a file where a folder would come");
    assert_eq!(refused(&project, &from, &to), in_the_way(&["new/file"]));
    std::fs::remove_file(project.repo().join("new")).unwrap();
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
}

#[test]
fn a_folder_may_become_a_file_and_a_file_a_folder() {
    let project = Project::new();
    project.write("folder/one", "1");
    project.write("file", "file");
    let from = project.commit("Before");
    project.git(&["checkout", "--quiet", "-b", "result"]);
    std::fs::remove_dir_all(project.repo().join("folder")).unwrap();
    std::fs::remove_file(project.repo().join("file")).unwrap();
    project.write("folder", "now a file");
    project.write("file/inside", "now a folder");
    let to = project.commit("After");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("folder/mine.log", "ignored, and mine");
    let Refusal::InTheWay { paths: found, .. } = refused(&project, &from, &to) else { panic!() };
    assert_eq!(found, paths(&["folder"]));
    std::fs::remove_file(project.repo().join("folder/mine.log")).unwrap();
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
    assert_eq!(project.read("file/inside"), "now a folder");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_operation_under_way_and_a_running_git_are_refused() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    project.git(&["bisect", "start"]);
    let refusal = refused(&project, &from, &to);
    let operation = Operation::Bisect;
    assert_eq!(refusal, Refusal::UnderWay { path: project.repo(), operation });
    project.git(&["bisect", "reset"]);
    let lock = project.repo().join(".git/index.lock");
    write(&lock, "");
    assert_eq!(
        forward(&project, &from, &to),
        FastForward::Refused(Refusal::Locked { lock: lock.clone() })
    );
    std::fs::remove_file(lock).unwrap();
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
}

/// A result that changes, adds and deletes files, in the middle of which git is killed.
fn deadly(n: usize) -> (Project, ObjectId, ObjectId) {
    let project = Project::new();
    project.write(".gitattributes", "*.txt filter=deadly\n");
    for name in ["a", "b", "c", "d"] {
        project.write(&format!("{name}.txt"), &format!("{name} before\n"));
    }
    let from = project.commit("Before");
    project.git(&["checkout", "--quiet", "-b", "result"]);
    for name in ["a", "b", "d", "e"] {
        project.write(&format!("{name}.txt"), &format!("{name} after, and longer\n"));
    }
    project.git(&["rm", "--quiet", "c.txt"]);
    let to = project.commit("After");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("untracked", "mine");
    kill_git_at(&project, n);
    (project, from, to)
}

#[test]
fn files_of_a_killed_git_are_put_back_at_once() {
    for n in 1..=4 {
        let (project, from, to) = deadly(n);
        let person = project.person();
        let main = branch("main");
        project.repository().fast_forward(&main, &from, &to).unwrap_err();
        assert_eq!(project.person(), person, "at {n}");
        assert_eq!(forward(&project, &from, &to), FastForward::Done, "at {n}");
        assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked");
    }
}

#[test]
fn files_of_a_git_that_was_killed_with_its_caller_are_put_back_by_the_next_call() {
    for n in 1..=4 {
        let (project, from, to) = deadly(n);
        let person = project.person();
        write(&project.repo().join(".git/althing-fast-forward"), format!("main {from} {to}\n"));
        git_raw(&project.repo(), &["merge", "--ff-only", "result"]);
        assert_eq!(project.tip("main"), from, "at {n}");
        assert!(project.repo().join(".git/index.lock").exists(), "at {n} git was not killed");
        let finished = project.repository().checkout().unwrap().finish_fast_forward().unwrap();
        assert_eq!(finished, None, "at {n}");
        assert_eq!(project.person(), person, "at {n}");
        assert_eq!(forward(&project, &from, &to), FastForward::Done, "at {n}");
        assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked");
        assert_eq!(project.read("e.txt"), "e after, and longer\n");
    }
}

#[test]
fn a_file_that_the_person_changed_after_a_killed_git_is_left_alone_and_named() {
    let project = Project::new();
    let (from, to) = ahead(&project);
    write(&project.repo().join(".git/althing-fast-forward"), format!("main {from} {to}\n"));
    project.write("new/file", "new\n");
    project.write("README", "the person's own words\n");
    let refusal = refused(&project, &from, &to);
    assert_eq!(refusal, Refusal::CutOff { path: project.repo(), paths: paths(&["README"]) });
    assert_eq!(project.read("README"), "the person's own words\n");
    git_raw(&project.repo(), &["checkout", "--", "README"]);
    assert_eq!(forward(&project, &from, &to), FastForward::Done);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
