//! Acts that are cut off at every step: nothing is lost, and repeating them completes them.
//!
//! The act runs in a process of its own that ends at the n-th step without any clean-up, before,
//! during or after each call of git and each change of a file. Then the state is looked at, the act
//! is repeated here, and its outcome must be as if nothing had happened.

use crate::child::{self, CUT_OFF};
use crate::support::{Project, git, git_raw, kill_git_at, message, tree_name, write};
use althing_workshop::attempt_tree::{Provisions, TreeState};
use althing_workshop::merge::MergedIn;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Cuts an act off at each of its steps in turn, from several threads.
fn at_every_step(case: &(impl Fn() -> Parts + Sync)) {
    at_every(1, case);
}

/// The same at every n-th step, for acts that take long to prepare.
fn at_every(stride: u32, case: &(impl Fn() -> Parts + Sync)) {
    let next = AtomicU32::new(1);
    let last = AtomicU32::new(u32::MAX);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let step = next.fetch_add(stride, Ordering::SeqCst);
                    if step > last.load(Ordering::SeqCst) {
                        break;
                    }
                    if !cut_off_at(&case(), step) {
                        last.fetch_min(step, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let steps = last.load(Ordering::SeqCst);
    assert!(steps > 5, "there are only {steps} steps");
}

type Check = Box<dyn Fn(&Project)>;

/// The parts of a case, made anew for each step.
struct Parts {
    project: Project,
    act: Vec<String>,
    always: Check,
    finally: Check,
}

/// Whether the act was cut off; if not, it had fewer steps.
fn cut_off_at(parts: &Parts, step: u32) -> bool {
    let Parts { project, act, always, finally } = parts;
    let act: Vec<&str> = act.iter().map(String::as_str).collect();
    let status = child::run(project, &act, step);
    let guarded = |what: &str, check: &dyn Fn()| {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
        assert!(!failed, "{what} fails after {act:?} was cut off at step {step}");
    };
    guarded("what must always hold", &|| always(project));
    guarded("repeating it", &|| child::act(project, &act));
    guarded("what must hold at the end", &|| finally(project));
    git(&project.repo(), &["fsck", "--connectivity-only", "--no-dangling"]);
    status.code() == Some(CUT_OFF)
}

fn parts(
    project: Project,
    act: &[&str],
    always: impl Fn(&Project) + 'static,
    finally: impl Fn(&Project) + 'static,
) -> Parts {
    let act = act.iter().map(|word| (*word).to_owned()).collect();
    Parts { project, act, always: Box::new(always), finally: Box::new(finally) }
}

/// Whether a file with this content is in a tree, in quarantine, on a branch or rescued.
fn is_kept(project: &Project, name: &str, content: &str) -> bool {
    let trees = project.folder.join("trees");
    let mut folders = vec![trees];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.ends_with(name)
                && std::fs::read_to_string(&path).is_ok_and(|own| own == content)
            {
                return true;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            }
        }
    }
    let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/althing", "refs/heads"]);
    refs.lines().any(|name_of_ref| {
        // The second parent of rescued work is what was staged.
        [name_of_ref.to_owned(), format!("{name_of_ref}^2")].iter().any(|at| {
            let shown = git_raw(&project.repo(), &["show", &format!("{at}:{name}")]);
            shown.status.success() && shown.stdout == content.as_bytes()
        })
    })
}

/// Work of every kind that is not committed, in a tree with build output.
const WORK: &[(&str, &str)] = &[
    ("new/file", "an untracked file"),
    ("README", "a changed file"),
    ("src/lexer.rs", "a staged file that went on"),
    ("line\nbreak", "an odd name"),
    ("helper/code", "a repository inside"),
];

fn work_in(folder: &Path) {
    write(&folder.join("src/lexer.rs"), "a staged file");
    git(folder, &["add", "src/lexer.rs"]);
    for (name, content) in WORK {
        write(&folder.join(name), content);
    }
    git(&folder.join("helper"), &["init", "--quiet"]);
    write(&folder.join("target/build"), "built");
}

fn work_is_kept(project: &Project) {
    for (name, content) in WORK {
        assert!(is_kept(project, name, content), "{name:?} is lost");
    }
    let staged = ("src/lexer.rs", "a staged file");
    let index = project.repo().join(".git/worktrees/lexer/index");
    assert!(index.exists() || is_kept(project, staged.0, staged.1), "what was staged is lost");
}

/// A project in whose work tree the person is busy, and what it looks like.
fn busy() -> (Project, String) {
    let project = Project::new();
    project.write("README", "the person's own change\n");
    project.write("staged", "staged");
    project.git(&["add", "staged"]);
    project.write("untracked", "untracked");
    let person = project.person();
    (project, person)
}

fn state_of(project: &Project, name: &str) -> Option<TreeState> {
    let listed = project.trees().list().unwrap();
    listed.iter().find(|own| own.name == tree_name(name)).map(|own| own.state)
}

fn is_ready(project: &Project, name: &str) {
    let tree = project.trees().open(&tree_name(name)).unwrap().unwrap();
    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    let on = git(tree.path(), &["rev-parse", "--abbrev-ref", "HEAD"]);
    assert_eq!(on, format!("althing/run/{name}"));
    assert!(!tree.checkout().git_dir().join("index.lock").exists());
    let listed = project.trees().list().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[test]
fn adding_a_tree() {
    at_every_step(&|| {
        let (project, person) = busy();
        project.write(".env", "SECRET=1");
        let check = move |project: &Project| assert_eq!(project.person(), person);
        let finally = |project: &Project| {
            is_ready(project, "lexer");
            let tree = project.trees().open(&tree_name("lexer")).unwrap().unwrap();
            assert_eq!(std::fs::read_to_string(tree.path().join(".env")).unwrap(), "SECRET=1");
            assert_eq!(project.git(&["for-each-ref", "refs/althing"]), "");
            assert_eq!(project.trees().quarantined().unwrap(), []);
        };
        parts(project, &["add-with-copies", "lexer"], check, finally)
    });
}

#[test]
fn removing_a_tree() {
    at_every_step(&|| {
        let (project, person) = busy();
        work_in(project.tree("lexer").path());
        let always = move |project: &Project| {
            work_is_kept(project);
            assert_eq!(project.person(), person);
        };
        let finally = |project: &Project| {
            work_is_kept(project);
            assert_eq!(state_of(project, "lexer"), None);
            assert_eq!(project.trees().quarantined().unwrap(), []);
            assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
            let rescues = project.repository().rescues().list().unwrap();
            assert_eq!(rescues.len(), 1, "{rescues:?}");
        };
        parts(project, &["remove", "lexer"], always, finally)
    });
}

#[test]
fn giving_a_tree_to_the_pool() {
    at_every_step(&|| {
        let (project, _) = busy();
        work_in(project.tree("lexer").path());
        let finally = |project: &Project| {
            work_is_kept(project);
            assert_eq!(state_of(project, "lexer"), Some(TreeState::Free));
            assert_eq!(project.repository().rescues().list().unwrap().len(), 1);
        };
        parts(project, &["retire", "lexer"], work_is_kept, finally)
    });
}

#[test]
fn reusing_a_tree() {
    at_every_step(&|| {
        let (project, person) = busy();
        let tree = project.tree("lexer");
        project.trees().retire(&tree_name("lexer")).unwrap();
        // Somebody went on working there after the attempt was over.
        work_in(tree.path());
        project.git(&["update-ref", "refs/heads/side", "HEAD"]);
        let always = move |project: &Project| {
            work_is_kept(project);
            assert_eq!(project.person(), person);
        };
        let finally = |project: &Project| {
            work_is_kept(project);
            is_ready(project, "parser");
            let tree = project.trees().open(&tree_name("parser")).unwrap().unwrap();
            assert!(tree.path().join("target/build").exists());
        };
        parts(project, &["reuse", "parser"], always, finally)
    });
}

#[test]
fn taking_a_snapshot_and_rescuing() {
    for act in ["snapshot", "rescue"] {
        at_every_step(&|| {
            let (project, person) = busy();
            let tree = project.tree("lexer");
            work_in(tree.path());
            let look = |folder: &Path| git(folder, &["status", "--porcelain=v2", "--branch"]);
            let before = look(tree.path());
            let always = move |project: &Project| {
                assert_eq!(look(&project.folder.join("trees/lexer")), before);
                assert_eq!(project.person(), person);
            };
            let again = always.clone();
            let finally = move |project: &Project| {
                again(project);
                let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/althing"]);
                let refs = refs.lines().filter(|name| !name.contains(".inner/")).count();
                assert_eq!(refs, 1);
                let git_dir = project.repo().join(".git/worktrees/lexer");
                let left = std::fs::read_dir(git_dir).unwrap().flatten().filter(|entry| {
                    entry.file_name().to_string_lossy().starts_with("althing-index")
                });
                assert_eq!(left.count(), 0);
            };
            parts(project, &[act, "lexer"], always, finally)
        });
    }
}

#[test]
fn restoring_into_a_folder() {
    at_every_step(&|| {
        let project = Project::new();
        let tree = project.tree("lexer");
        work_in(tree.path());
        tree.checkout().rescue(tree.name(), "a test").unwrap();
        let folder = project.folder.join("back");
        write(&folder.join("README"), "mine");
        let always = |project: &Project| {
            let own = std::fs::read_to_string(project.folder.join("back/README")).unwrap();
            assert_eq!(own, "mine");
        };
        let finally = move |project: &Project| {
            always(project);
            for (name, content) in WORK.iter().filter(|(name, _)| *name != "README") {
                let own = std::fs::read_to_string(project.folder.join("back").join(name)).unwrap();
                assert_eq!(own, *content);
            }
        };
        parts(project, &["restore", "lexer", "back"], always, finally)
    });
}

#[test]
fn committing_for_an_agent() {
    at_every_step(&|| {
        let (project, person) = busy();
        let tree = project.tree("lexer");
        write(&tree.path().join("README"), "a changed file");
        write(&tree.path().join("new/file"), "an untracked file");
        let always = move |project: &Project| {
            assert!(is_kept(project, "README", "a changed file"));
            assert!(is_kept(project, "new/file", "an untracked file"));
            assert_eq!(project.person(), person);
        };
        let finally = |project: &Project| {
            let tree = project.folder.join("trees/lexer");
            assert_eq!(git(&tree, &["status", "--porcelain"]), "");
            assert_eq!(git(&tree, &["rev-list", "--count", "main..HEAD"]), "1");
        };
        parts(project, &["commit", "lexer"], always, finally)
    });
}

#[test]
fn merging_into_a_tree() {
    for (is_conflict, theirs) in [(false, "one\ntwo\nthree\ntheirs\n"), (true, "theirs\n")] {
        at_every_step(&|| {
            let project = Project::new();
            let tree = project.tree("lexer");
            write(&tree.path().join("README"), "ours\none\ntwo\nthree\n");
            write(&tree.path().join("target/build"), "built");
            git(tree.path(), &["commit", "--quiet", "-a", "-m", "Ours"]);
            project.write("README", theirs);
            project.write("new/file", "new");
            project.commit("Theirs");
            let always = |project: &Project| {
                let log = project.git(&["log", "--format=%s", "althing/run/lexer"]);
                assert!(log.contains("Ours"), "{log}");
            };
            let finally = move |project: &Project| {
                let tree = project.trees().open(&tree_name("lexer")).unwrap().unwrap();
                let left = tree.checkout().unresolved().unwrap();
                assert_eq!((left.is_merging, left.is_empty()), (is_conflict, !is_conflict));
                assert!(tree.path().join("new/file").exists());
                if !is_conflict {
                    assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
                    let merges = ["rev-list", "--count", "--merges", "HEAD"];
                    assert_eq!(git(tree.path(), &merges), "1");
                }
            };
            parts(project, &["merge-in", "lexer"], always, finally)
        });
    }
}

#[test]
fn fast_forwarding_the_persons_branch() {
    at_every_step(&|| {
        let project = Project::new();
        let from = project.head();
        project.git(&["checkout", "--quiet", "-b", "result"]);
        project.write("README", "result\n");
        project.write("new/file", "new\n");
        project.git(&["rm", "--quiet", "src/parser.rs"]);
        let to = project.commit("Result");
        project.git(&["checkout", "--quiet", "main"]);
        project.write("untracked", "mine");
        let act = ["forward", from.as_str(), to.as_str()];
        let always = {
            let (from, to) = (from.clone(), to.clone());
            move |project: &Project| {
                // A git that the dead process started comes to its end; then it is one or the other.
                let checkout = project.repository().checkout().unwrap();
                assert_eq!(checkout.finish_fast_forward().unwrap(), None);
                let tip = project.tip("main");
                assert!(tip == from || tip == to);
                assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked");
                assert_eq!(project.repo().join("new/file").exists(), tip == to);
            }
        };
        let finally = {
            let to = to.clone();
            move |project: &Project| {
                assert_eq!(project.tip("main"), to);
                assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked");
            }
        };
        parts(project, &act, always, finally)
    });
}

#[test]
fn checking_in_a_scratch_tree() {
    for act in [&["scratch", "HEAD"][..], &["clear-scratch"]] {
        at_every_step(&|| {
            let (project, person) = busy();
            if act.len() == 1 {
                let scratch = project.trees().scratch(&project.head(), &Provisions::default());
                write(&scratch.unwrap().path().join("rubbish"), "x");
            }
            let always = move |project: &Project| assert_eq!(project.person(), person);
            let finally = move |project: &Project| {
                let expected = if act.len() == 1 { 1 } else { 2 };
                assert_eq!(project.git(&["worktree", "list"]).lines().count(), expected);
                assert_eq!(project.trees().quarantined().unwrap(), []);
            };
            parts(project, act, always, finally)
        });
    }
}

#[test]
fn adding_and_removing_a_tree_with_a_submodule() {
    let lib = Project::new();
    let url = lib.repo().display().to_string();
    let prepared = || {
        let project = Project::new();
        project.git(&["submodule", "--quiet", "add", &url, "lib"]);
        project.commit("Submodule");
        project
    };
    at_every(3, &|| {
        let finally = |project: &Project| {
            is_ready(project, "lexer");
            assert!(project.folder.join("trees/lexer/lib/README").exists());
        };
        parts(prepared(), &["add", "lexer"], |_| {}, finally)
    });
    at_every(3, &|| {
        let project = prepared();
        let inside = project.tree("lexer").path().join("lib");
        write(&inside.join("work"), "work in a submodule");
        let always = |project: &Project| {
            let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/althing"]);
            let files = refs.lines().find(|name| name.ends_with("/files"));
            let is_rescued = files.is_some_and(|name| {
                project.git(&["show", &format!("{name}:work")]) == "work in a submodule"
            });
            assert!(is_rescued || is_kept(project, "work", "work in a submodule"));
        };
        let finally = move |project: &Project| {
            always(project);
            assert_eq!(state_of(project, "lexer"), None);
            assert_eq!(git(&project.repo().join("lib"), &["status", "--porcelain"]), "");
        };
        parts(project, &["remove", "lexer"], always, finally)
    });
}

/// A project with four files that go through a filter which can kill git.
fn deadly() -> Project {
    let project = Project::new();
    project.write(".gitattributes", "*.txt filter=deadly\n");
    for name in ["a", "b", "c", "d"] {
        project.write(&format!("{name}.txt"), name);
    }
    project.commit("Files with a filter");
    project
}

#[test]
fn git_itself_is_killed_while_it_writes_files() {
    for n in 1..=4 {
        let project = deadly();
        let trees = project.trees();
        kill_git_at(&project, n);
        trees.add(&project.wanted("lexer")).unwrap_err();
        child::act(&project, &["add", "lexer"]);
        is_ready(&project, "lexer");

        trees.retire(&tree_name("lexer")).unwrap();
        for name in ["a", "b", "c", "d"] {
            project.write(&format!("{name}.txt"), &format!("{name} again"));
        }
        let next = project.commit("Next");
        // A tree that cannot be reset stays in the pool, and a new one is made instead.
        kill_git_at(&project, n);
        child::act(&project, &["reuse", "parser"]);
        let parser = trees.open(&tree_name("parser")).unwrap().unwrap();
        assert_eq!(git(parser.path(), &["status", "--porcelain"]), "");
        kill_git_at(&project, 100);
        child::act(&project, &["reuse", "third"]);
        let third = trees.open(&tree_name("third")).unwrap().unwrap();
        assert!(third.path().ends_with("lexer"), "{}", third.path().display());
        assert_eq!(git(third.path(), &["status", "--porcelain"]), "");

        kill_git_at(&project, n);
        trees.scratch(&next, &Provisions::default()).unwrap_err();
        let scratch = trees.scratch(&next, &Provisions::default()).unwrap();
        assert_eq!(git(scratch.path(), &["status", "--porcelain"]), "");
    }
}

#[test]
fn git_itself_is_killed_while_it_merges_into_a_tree() {
    for n in 1..=4 {
        let project = deadly();
        let tree = project.tree("lexer");
        write(&tree.path().join("README"), "ours");
        git(tree.path(), &["commit", "--quiet", "-a", "-m", "Ours"]);
        for name in ["a", "b", "c", "e"] {
            project.write(&format!("{name}.txt"), &format!("{name} again"));
        }
        let tip = project.commit("Theirs");
        kill_git_at(&project, n);
        let merge = || tree.checkout().merge_in(&tip, &message("Merge"));
        merge().unwrap_err();
        let merged = merge().unwrap();
        assert!(matches!(merged, MergedIn::Clean { .. }), "at {n}: {merged:?}");
        assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    }
}
