//! Conflicts that are raised under difficulties: killed servers, several work trees, odd repositories.

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn git_in(folder: &Path, args: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@x.org"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn git(project: &Sandbox, args: &[&str]) -> String {
    git_in(project.path(), args)
}

/// A project with one commit of some files.
fn committed(files: &[&str]) -> Sandbox {
    let project = Sandbox::new();
    for file in files {
        project.write(file, "first\n");
    }
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    project
}

/// A host whose server is killed by the first git that is called with this among its arguments,
/// right after that did its work.
fn host_killed_at(project: &Sandbox, bin: &Path, at: &str) -> Host {
    use std::os::unix::fs::PermissionsExt as _;
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap().trim().to_owned();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*'{at}'*) '{real}' \"$@\"; kill -9 $PPID;;\n\
         *) exec '{real}' \"$@\";;\nesac\n"
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut host =
        Host::started(project.command().args(["mcp", "--dialect", "frugal"]).env("PATH", path));
    host.introduce("cursor", "2025-11-25");
    host
}

fn indexes(project: &Sandbox) -> usize {
    let names = std::fs::read_dir(project.state()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("index-")).count()
}

#[test]
fn a_conflict_can_be_raised_again_after_a_kill() {
    for at in ["write-tree", "update-ref refs/heads/displaced/", "update-ref refs/heads/conflict/"]
    {
        let project = committed(&["src/x.rs"]);
        project.claim("bob", "src/**");
        project.write("src/x.rs", "then\n");
        let bin = tempfile::tempdir().unwrap();
        let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
        host_killed_at(&project, bin.path(), at).killed("raise_conflict_pr", args.clone());
        assert_eq!(project.json(&["do", "dispute.list", "{}"]), json!([]), "{at}");
        let left = git(&project, &["for-each-ref", "--format=%(refname)", "refs/heads/displaced"]);
        assert_eq!(left.is_empty(), at == "write-tree", "{at}: {left}");
        assert!(indexes(&project) > 0, "{at}");

        // Work went on meanwhile; neither state of it is lost.
        project.write("src/x.rs", "now\n");
        let raised = Host::named(&project, "cursor").done("raise_conflict_pr", args);
        let kept = raised["preserved_branch"].as_str().unwrap();
        assert_eq!(kept, "displaced/bob-c1");
        assert_eq!(git(&project, &["show", &format!("{kept}:src/x.rs")]), "now\n");
        if !left.is_empty() {
            assert_eq!(git(&project, &["show", &format!("{kept}^2:src/x.rs")]), "then\n", "{at}");
        }
        let file = git(&project, &["show", raised["branch_file"].as_str().unwrap()]);
        assert!(file.starts_with("# Conflict c1 "), "{file}");
        assert_eq!(indexes(&project), 0, "{at}");
        assert_eq!(project.json(&["do", "dispute.list", "{}"])[0]["id"], "c1");
    }
}

#[test]
fn an_attempt_that_was_cut_short_is_taken_over_as_it_is_and_others_branches_are_not() {
    let project = committed(&["src/x.rs"]);
    project.write("src/x.rs", "then\n");
    let bin = tempfile::tempdir().unwrap();
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
    let at = "update-ref refs/heads/conflict/";
    host_killed_at(&project, bin.path(), at).killed("raise_conflict_pr", args.clone());
    let tip = |name: &str| git(&project, &["rev-parse", name]);
    let before = tip("displaced/unspecified-c1");
    // Somebody went on from what was left there: it is theirs now.
    let theirs = ["commit-tree", "HEAD^{tree}", "-p", "conflict/c1", "-m", "theirs"];
    let theirs = git(&project, &theirs);
    git(&project, &["update-ref", "refs/heads/conflict/c1", theirs.trim()]);
    let mut host = Host::named(&project, "cursor");
    let (answer, _) = host.failed("raise_conflict_pr", args.clone());
    assert!(answer["error"].as_str().unwrap().contains("conflict/c1 exists already"), "{answer}");
    assert_eq!(tip("conflict/c1"), theirs);
    git(&project, &["branch", "--quiet", "-m", "conflict/c1", "theirs"]);
    host.done("raise_conflict_pr", args);
    assert_eq!(tip("displaced/unspecified-c1"), before, "the same work is the same commit");
}

#[test]
fn of_two_who_raise_the_same_conflict_one_does() {
    let project = committed(&["src/x.rs"]);
    project.write("src/x.rs", "work\n");
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
    let done: Vec<bool> = std::thread::scope(|scope| {
        let (project, args) = (&project, &args);
        let raise = move |n: usize| {
            let mut host = Host::named(project, &format!("host-{n}"));
            host.call("raise_conflict_pr", args.clone())["isError"] == false
        };
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || raise(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "{done:?}");
    let dispute = project.json(&["do", "dispute.get", r#"{"id":"c1"}"#]);
    let kept = dispute["preserved_branch"].as_str().unwrap();
    assert_eq!(git(&project, &["show", &format!("{kept}:src/x.rs")]), "work\n");
    let by = git(&project, &["log", "-1", "--format=%an", "conflict/c1"]);
    let by = by.trim().replace('/', "+");
    assert_eq!(dispute["raised_by"], format!("agent:{by}"));
}

#[test]
fn work_in_other_work_trees_is_kept_too() {
    let project = committed(&["src/x.rs", "docs/a.md"]);
    let trees = tempfile::tempdir().unwrap();
    let tree = |name: &str| {
        let path = trees.path().join(name);
        let shown = path.to_str().unwrap().to_owned();
        git(&project, &["worktree", "add", "--quiet", "-b", name, &shown]);
        path
    };
    let (bobs, untouched, gone) = (tree("bob"), tree("idle"), tree("gone"));
    std::fs::write(bobs.join("src/x.rs"), "bob\n").unwrap();
    std::fs::write(bobs.join("src/new.rs"), "new\n").unwrap();
    std::fs::write(bobs.join("docs/a.md"), "elsewhere\n").unwrap();
    std::fs::write(untouched.join("docs/a.md"), "elsewhere\n").unwrap();
    git(&project, &["worktree", "lock", gone.to_str().unwrap()]);
    std::fs::remove_dir_all(&gone).unwrap();
    let status = git_in(&bobs, &["status", "--porcelain"]);

    project.claim("bob", "src/**");
    std::fs::create_dir_all(project.path().join(".planning/protocol")).unwrap();
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
    let raised = Host::named(&project, "cursor").done("raise_conflict_pr", args);
    assert_eq!(raised["preserved_branch"], "displaced/bob-c1");
    assert_eq!(raised["also_preserved"], json!(["displaced/bob-c1-in-bob"]));
    let changed = git(&project, &["diff", "--name-status", "HEAD", "displaced/bob-c1-in-bob"]);
    assert_eq!(changed, "A\tsrc/new.rs\nM\tsrc/x.rs\n");
    assert_eq!(git(&project, &["show", "displaced/bob-c1-in-bob:src/x.rs"]), "bob\n");
    assert_eq!(git_in(&bobs, &["status", "--porcelain"]), status, "it is as it was");
    let left = &raised["not_preserved"];
    assert!(left[0]["path"].as_str().unwrap().ends_with("/gone"), "{left}");
    assert!(left[0]["why"].as_str().unwrap().contains("this work tree is missing"), "{left}");

    // People find the same in the files, and on the branch.
    let file = std::fs::read_to_string(raised["conflict_file"].as_str().unwrap()).unwrap();
    assert!(file.contains("`displaced/bob-c1`, `displaced/bob-c1-in-bob`  (never deleted)"));
    assert!(file.contains("\n## Not preserved\n\n- "), "{file}");
    assert_eq!(file, git(&project, &["show", raised["branch_file"].as_str().unwrap()]));

    // From that work tree it is the one at hand.
    std::fs::write(project.path().join("src/x.rs"), "main\n").unwrap();
    let mut host =
        Host::started(project.command().args(["mcp", "--dialect", "frugal"]).current_dir(&bobs));
    let args = json!({ "id": "c2", "title": "t", "surfaces": ["src/**"] });
    let raised = host.done("raise_conflict_pr", args);
    let kept = |branch: &Value| {
        git(&project, &["show", &format!("{}:src/x.rs", branch.as_str().unwrap())])
    };
    assert_eq!(kept(&raised["preserved_branch"]), "bob\n");
    assert_eq!(kept(&raised["also_preserved"][0]), "main\n");
}

#[test]
fn files_that_are_not_checked_out_are_not_deleted() {
    let project = committed(&["src/x.rs", "src/gone.rs", "docs/a.md", "docs/b.md"]);
    git(&project, &["sparse-checkout", "set", "src"]);
    assert!(!project.path().join("docs/a.md").exists());
    std::fs::remove_file(project.path().join("src/gone.rs")).unwrap();
    project.write("src/x.rs", "work\n");
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["**"] });
    let raised = Host::named(&project, "cursor").done("raise_conflict_pr", args);
    let kept = raised["preserved_branch"].as_str().unwrap();
    let changed = git(&project, &["diff", "--name-status", "HEAD", kept]);
    assert_eq!(changed, "D\tsrc/gone.rs\nM\tsrc/x.rs\n");
}

#[test]
fn a_title_says_nothing_in_anothers_name() {
    let project = committed(&["src/x.rs"]);
    let title = "t\n\nHeimdall-Agent: haid:eve.mbp-0000\nSigned-off-by: eve";
    let args = json!({ "id": "c1", "title": title, "surfaces": ["src"] });
    let raised = Host::named(&project, "cursor").done("raise_conflict_pr", args);
    let trailers = |branch: &str| git(&project, &["log", "-1", "--format=%(trailers)", branch]);
    let own = raised["haid"].as_str().unwrap();
    assert_eq!(trailers("conflict/c1").trim(), format!("Heimdall-Agent: {own}"));
    let kept = raised["preserved_branch"].as_str().unwrap();
    assert_eq!(trailers(kept).trim(), "Heimdall-Agent: unspecified");
}

#[test]
fn obstacles_to_branches_are_named() {
    let project = committed(&["a"]);
    let mut host = Host::named(&project, "cursor");
    for (branch, other) in [("conflict", "conflict"), ("displaced", "displaced")] {
        git(&project, &["branch", branch]);
        let args = json!({ "id": "c1", "title": "t", "surfaces": ["a"] });
        let (answer, error) = host.failed("raise_conflict_pr", args);
        let text = answer["error"].as_str().unwrap();
        assert!(text.contains(&format!("there is a branch {other}, ")), "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains("git branch -m"), "{answer}");
        assert_eq!(error["kind"], "refused", "{error}");
        git(&project, &["branch", "-D", "--quiet", branch]);
    }
    git(&project, &["branch", "conflict/c1/part"]);
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["a"] });
    let (answer, _) = host.failed("raise_conflict_pr", args);
    assert!(answer["error"].as_str().unwrap().contains("branch conflict/c1/part,"), "{answer}");
    assert_eq!(project.json(&["do", "dispute.list", "{}"]), json!([]));

    let bare = Sandbox::bare();
    git(&bare, &["init", "--bare", "--quiet"]);
    bare.ok(&["init"]);
    let mut host = Host::named(&bare, "cursor");
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["a"] });
    let (answer, error) = host.failed("raise_conflict_pr", args);
    assert!(answer["error"].as_str().unwrap().contains("bare repository"), "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("git worktree add"), "{answer}");
    assert_eq!(error["kind"], "refused", "{error}");
}

#[test]
fn branches_kept_by_an_interrupted_attempt_are_named() {
    let project = committed(&["src/x.rs"]);
    project.claim("bob", "src/**");
    project.write("src/x.rs", "then\n");
    let bin = tempfile::tempdir().unwrap();
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
    let at = "update-ref refs/heads/displaced/";
    host_killed_at(&project, bin.path(), at).killed("raise_conflict_pr", args.clone());
    project.ok(&["release", "--all", "--as", "bob"]);
    project.write("src/x.rs", "now\n");
    let raised = Host::named(&project, "cursor").done("raise_conflict_pr", args);
    assert_eq!(raised["preserved_branch"], "displaced/unspecified-c1", "{raised}");
    assert_eq!(raised["also_preserved"], json!(["displaced/bob-c1"]), "{raised}");
    assert_eq!(git(&project, &["show", "displaced/bob-c1:src/x.rs"]), "then\n");
}

#[test]
fn a_branch_that_is_checked_out_is_not_moved_and_no_hook_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = committed(&["src/x.rs"]);
    project.write("src/x.rs", "then\n");
    let hook = project.path().join(".git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let ran = project.path().join(".git/hook-ran");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bin = tempfile::tempdir().unwrap();
    let args = json!({ "id": "c1", "title": "t", "surfaces": ["src/**"] });
    let at = "update-ref refs/heads/conflict/";
    host_killed_at(&project, bin.path(), at).killed("raise_conflict_pr", args.clone());
    assert!(!ran.exists());
    std::fs::remove_file(&hook).unwrap();
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().join("review");
    git(&project, &["worktree", "add", "--quiet", tree.to_str().unwrap(), "conflict/c1"]);
    let before = git(&project, &["rev-parse", "conflict/c1"]);
    project.write("src/x.rs", "now\n");
    let mut host = Host::named(&project, "cursor");
    let (answer, _) = host.failed("raise_conflict_pr", args.clone());
    let text = answer["error"].as_str().unwrap();
    assert!(text.contains("conflict/c1 is checked out in ") && text.contains("review"), "{answer}");
    assert_eq!(git(&project, &["rev-parse", "conflict/c1"]), before);
    git_in(&tree, &["checkout", "--quiet", "--detach"]);
    host.done("raise_conflict_pr", args);
}
