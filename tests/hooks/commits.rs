//! Commits of files that others hold, and the git hooks that were there before.

use super::{git, try_git};
use crate::support::{Ran, Sandbox};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A project with a commit, git hooks wired, and a change staged in `held.txt`.
fn staged() -> Sandbox {
    let project = Sandbox::new();
    project.write("held.txt", "old\n");
    project.write("free.txt", "old\n");
    super::commit_all(project.path());
    project.ok(&["init", "--agent", "git"]);
    project.write("held.txt", "new\n");
    git(project.path(), &["add", "held.txt"]);
    project
}

fn commit(folder: &Path, who: &str) -> Ran {
    try_git(folder, &["commit", "--quiet", "--message", "change"], &[("ALTHING_AGENT", who)])
}

fn commits(folder: &Path) -> usize {
    git(folder, &["rev-list", "--count", "HEAD"]).trim().parse().unwrap()
}

/// Writes a hook of somebody.
fn hook(project: &Sandbox, path: &str, text: &str) {
    project.write(path, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path().join(path), mode).unwrap();
}

#[test]
fn a_commit_of_what_somebody_else_holds_is_refused_on_record() {
    let project = staged();
    project.ok(&["claim", "held.txt", "--as", "bob", "-m", "rewrite it"]);
    let ran = commit(project.path(), "mia");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in ["held.txt is held by bob", "rewrite it", "A-LEASE-01", "--no-verify"] {
        assert!(ran.err.contains(part), "{ran:?}");
    }
    assert_eq!(commits(project.path()), 1);
    let refused = project.entries().into_iter().find(|entry| entry["kind"] == "command.refused");
    let refused = refused.expect("a known agent is refused on record");
    assert_eq!(
        (refused["actor"].as_str(), refused["door"].as_str()),
        (Some("agent:mia"), Some("hook"))
    );
    // The holder may, and so may anybody once it is free.
    assert_eq!(commit(project.path(), "bob").code, Some(0));
    project.write("held.txt", "newer\n");
    git(project.path(), &["add", "held.txt"]);
    assert_eq!(commit(project.path(), "mia").code, Some(1));
    project.ok(&["release", "held.txt", "--as", "bob"]);
    assert_eq!(commit(project.path(), "mia").code, Some(0));
    assert_eq!(commits(project.path()), 3);
    project.ok(&["trail", "verify"]);
}

#[test]
fn only_what_is_staged_counts_and_people_have_a_way_out() {
    let project = staged();
    project.claim("bob", "free.txt");
    project.write("free.txt", "changed and not staged\n");
    assert_eq!(commit(project.path(), "mia").code, Some(0));
    git(project.path(), &["add", "free.txt"]);
    // Somebody who is not known is kept from it too.
    let ran = try_git(project.path(), &["commit", "--quiet", "--message", "x"], &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    git(project.path(), &["commit", "--quiet", "--no-verify", "--message", "x"]);
}

#[test]
fn removed_and_renamed_files_and_strange_names_count() {
    let project = Sandbox::new();
    for name in ["gone.txt", "from.txt", "a [b] 'c' ü.txt"] {
        project.write(name, "x\n");
    }
    super::commit_all(project.path());
    project.ok(&["init", "--agent", "git"]);
    for (name, change) in [
        ("gone.txt", &["rm", "--quiet", "gone.txt"][..]),
        ("from.txt", &["mv", "from.txt", "to.txt"]),
        ("a [b] 'c' ü.txt", &["rm", "--quiet", "a [b] 'c' ü.txt"]),
    ] {
        project.ok(&["claim", "--literal", name, "--as", "bob"]);
        git(project.path(), change);
        let ran = commit(project.path(), "mia");
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        project.ok(&["release", "--all", "--as", "bob"]);
        assert_eq!(commit(project.path(), "mia").code, Some(0), "{name}");
    }
}

#[test]
fn commits_of_other_worktrees_and_of_merges_are_looked_at() {
    let project = staged();
    git(project.path(), &["reset", "--quiet", "--hard"]);
    let other = tempfile::tempdir().unwrap();
    let tree = other.path().join("tree");
    let add = ["worktree", "add", "--quiet", "-b", "side", tree.to_str().unwrap()];
    git(project.path(), &add);
    std::fs::write(tree.join("held.txt"), "side\n").unwrap();
    git(&tree, &["add", "held.txt"]);
    project.claim("bob", "held.txt");
    assert_eq!(commit(&tree, "mia").code, Some(1));
    assert_eq!(commit(&tree, "bob").code, Some(0));
    project.write("free.txt", "main\n");
    git(project.path(), &["add", "free.txt"]);
    assert_eq!(commit(project.path(), "mia").code, Some(0));
    let merge = |who: &str| {
        let args = ["merge", "--quiet", "--no-edit", "side"];
        try_git(project.path(), &args, &[("ALTHING_AGENT", who)])
    };
    let ran = merge("mia");
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("held by bob"), "{ran:?}");
    git(project.path(), &["merge", "--abort"]);
    assert_eq!(merge("bob").code, Some(0));
}

#[test]
fn hooks_that_were_there_still_run_and_come_back_to_the_byte() {
    // A shell script is changed in place; anything else is called after ours.
    let shell = "#!/bin/sh\n# ours since 2019\necho \"$0\" > ran.txt\n[ ! -e no.txt ]\n";
    let perl = "#!/usr/bin/perl\nopen F, '>ran.txt'; close F; exit(-e 'no.txt' ? 1 : 0);\n";
    for text in [shell, perl] {
        let project = staged();
        project.ok(&["uninit"]);
        hook(&project, ".git/hooks/pre-commit", text);
        project.ok(&["init", "--agent", "git"]);
        project.claim("bob", "held.txt");
        assert_eq!(commit(project.path(), "mia").code, Some(1));
        assert!(!project.path().join("ran.txt").exists(), "ours comes first");
        project.write("no.txt", "");
        assert_ne!(commit(project.path(), "bob").code, Some(0), "theirs refuses");
        std::fs::remove_file(project.path().join("no.txt")).unwrap();
        assert_eq!(commit(project.path(), "bob").code, Some(0));
        assert!(project.path().join("ran.txt").exists());
        project.ok(&["uninit"]);
        let hooks = project.path().join(".git/hooks");
        assert_eq!(std::fs::read_to_string(hooks.join("pre-commit")).unwrap(), text);
        let mode = hooks.join("pre-commit").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let left: Vec<_> =
            std::fs::read_dir(&hooks).unwrap().map(|own| own.unwrap().file_name()).collect();
        let ours = left.iter().any(|own| own.to_string_lossy().contains("althing"));
        assert!(!ours && !hooks.join("pre-merge-commit").exists(), "{left:?}");
    }
}

#[test]
fn a_folder_of_hooks_in_the_project_is_used_and_one_outside_is_left_alone() {
    let project = staged();
    project.ok(&["uninit"]);
    hook(&project, "scripts/hooks/pre-commit", "#!/bin/sh\necho theirs >> ran.txt\n");
    git(project.path(), &["config", "core.hooksPath", "scripts/hooks"]);
    project.ok(&["init", "--agent", "git"]);
    project.claim("bob", "held.txt");
    assert_eq!(commit(project.path(), "mia").code, Some(1));
    assert_eq!(commit(project.path(), "bob").code, Some(0));
    assert!(project.path().join("ran.txt").exists());
    project.ok(&["uninit"]);
    let kept = std::fs::read_to_string(project.path().join("scripts/hooks/pre-commit")).unwrap();
    assert_eq!(kept, "#!/bin/sh\necho theirs >> ran.txt\n");
    let elsewhere = tempfile::tempdir().unwrap();
    git(project.path(), &["config", "core.hooksPath", elsewhere.path().to_str().unwrap()]);
    let ran = project.ok(&["init", "--agent", "git"]);
    assert!(ran.out.contains("leads out of the repository"), "{ran:?}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_repository_without_the_program_or_the_project_commits_as_ever() {
    let project = staged();
    project.claim("bob", "held.txt");
    let alone = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "x"])
        .current_dir(project.path())
        .env("PATH", "/usr/bin:/bin")
        .status();
    assert!(alone.unwrap().success(), "the hook must not need the program");
    std::fs::remove_dir_all(project.state()).unwrap();
    project.write("held.txt", "again\n");
    git(project.path(), &["add", "held.txt"]);
    assert_eq!(commit(project.path(), "mia").code, Some(0));
}
