//! Submodules in trees of attempts: from what the project has, and nothing lost with them.

use crate::support::{Project, git, show, tree_name, write};
use althing_workshop::attempt_tree::{AttemptTree, Origin, Removal};

/// A project with a submodule, which has a submodule of its own.
struct Nested {
    project: Project,
    lib: Project,
    base: Project,
}

fn nested() -> Nested {
    let (project, lib, base) = (Project::new(), Project::new(), Project::new());
    let url = |of: &Project| of.repo().display().to_string();
    base.write("deep", "deep");
    base.commit("Deep");
    lib.git(&["submodule", "--quiet", "add", "--name", "base", &url(&base), "base"]);
    lib.write("lib.rs", "fn lib() {}");
    lib.commit("Library");
    project.git(&["submodule", "--quiet", "add", "--name", "some/lib", &url(&lib), "vendor/lib"]);
    project.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    project.commit("Submodule");
    Nested { project, lib, base }
}

fn status(tree: &AttemptTree) -> String {
    git(tree.path(), &["status", "--porcelain", "--ignore-submodules=none"])
}

#[test]
fn submodules_are_checked_out_from_what_is_here() {
    let Nested { project, lib, base } = nested();
    // Nothing is fetched: the places they come from are gone.
    drop((std::fs::remove_dir_all(lib.repo()), std::fs::remove_dir_all(base.repo())));
    let person = project.person();
    let tree = project.tree("lexer");
    assert_eq!(tree.notices().submodules, []);
    let inside = tree.path().join("vendor/lib");
    assert_eq!(std::fs::read_to_string(inside.join("lib.rs")).unwrap(), "fn lib() {}");
    assert_eq!(std::fs::read_to_string(inside.join("base/deep")).unwrap(), "deep");
    assert_eq!(status(&tree), "");
    let url = git(&inside, &["remote", "get-url", "origin"]);
    assert_eq!(url, lib.repo().display().to_string());
    assert_eq!(
        git(&inside, &["branch", "--remotes", "--list", "origin/main"]).trim(),
        "origin/main"
    );
    assert_eq!(project.person(), person);
    let removed = project.trees().remove(&tree_name("lexer")).unwrap();
    assert_eq!(removed, Removal::Removed { rescued: Vec::new() });
    assert_eq!(git(&project.repo().join("vendor/lib"), &["status", "--porcelain"]), "");
}

#[test]
fn a_submodule_that_the_project_does_not_have_is_left_out() {
    let Nested { project, .. } = nested();
    project.git(&["submodule", "--quiet", "deinit", "--force", "vendor/lib"]);
    let tree = project.tree("lexer");
    assert!(!tree.path().join("vendor/lib/lib.rs").exists());
    assert_eq!(tree.notices().submodules, []);
}

#[test]
fn a_commit_that_the_project_does_not_have_is_named() {
    let Nested { project, .. } = nested();
    let missing = "1234567890123456789012345678901234567890";
    project.git(&["update-index", "--cacheinfo", &format!("160000,{missing},vendor/lib")]);
    project.git(&["commit", "--quiet", "-m", "A commit that nobody has"]);
    let tree = project.tree("lexer");
    assert_eq!(tree.notices().submodules.len(), 1);
    assert_eq!(tree.notices().submodules[0].path.shown(), "vendor/lib");
}

#[test]
fn work_in_a_submodule_is_rescued_with_the_tree() {
    let Nested { project, .. } = nested();
    let tree = project.tree("lexer");
    let inside = tree.path().join("vendor/lib");
    write(&inside.join("committed"), "a commit that is only here");
    git(&inside, &["add", "."]);
    git(&inside, &["commit", "--quiet", "-m", "In the submodule"]);
    git(tree.path(), &["commit", "--quiet", "-a", "-m", "Move the submodule"]);
    assert_eq!(status(&tree), "");
    write(&inside.join("uncommitted"), "not committed");
    let removal = project.trees().remove(&tree_name("lexer")).unwrap();
    let Removal::Removed { rescued } = removal else { panic!("{removal:?}") };
    let inner = &rescued[0].inner[0];
    assert_eq!(inner.path, "vendor/lib");
    let files = project.tip(inner.reference.as_str());
    assert_eq!(show(&project.repo(), &files, "uncommitted"), "not committed");
    assert_eq!(show(&project.repo(), &files, "committed"), "a commit that is only here");
    git(&project.repo(), &["fsck", "--connectivity-only"]);
}

#[test]
fn a_tree_with_submodules_is_reused() {
    let Nested { project, .. } = nested();
    let tree = project.tree("lexer");
    let old = tree.path().join("vendor/lib");
    write(&old.join("lib.rs"), "changed and not committed");
    project.trees().retire(&tree_name("lexer")).unwrap();
    // The project goes on with a commit of the submodule that only it has.
    let inside = project.repo().join("vendor/lib");
    write(&inside.join("lib.rs"), "fn newer() {}");
    git(&inside, &["commit", "--quiet", "-a", "-m", "Newer"]);
    project.commit("Newer library");
    let mut new = project.wanted("parser");
    new.reuse = true;
    let next = project.trees().add(&new).unwrap();
    assert_eq!(next.origin(), Origin::Reused);
    let content = std::fs::read_to_string(next.path().join("vendor/lib/lib.rs")).unwrap();
    assert_eq!(content, "fn newer() {}");
    assert_eq!(status(&next), "");
    let rescues = project.repository().rescues().list().unwrap();
    let files = project.tip(rescues[0].inner[0].reference.as_str());
    assert_eq!(show(&project.repo(), &files, "lib.rs"), "changed and not committed");
}

#[test]
fn a_submodule_in_quarantine_still_knows_its_files() {
    let Nested { project, .. } = nested();
    let tree = project.tree("lexer");
    let open = std::fs::File::open(tree.path().join("vendor/lib/lib.rs")).unwrap();
    let trees = project.trees();
    let removal = trees.remove(&tree_name("lexer")).unwrap();
    let Removal::Quarantined { path, .. } = removal else { panic!("{removal:?}") };
    write(&path.join("vendor/lib/late"), "written after the move");
    assert_eq!(git(&path.join("vendor/lib"), &["status", "--porcelain"]), "?? late");
    drop(open);
    let swept = trees.sweep().unwrap();
    let Removal::Removed { rescued } = &swept[0].1 else { panic!("{swept:?}") };
    let files = project.tip(rescued[0].inner[0].reference.as_str());
    assert_eq!(show(&project.repo(), &files, "late"), "written after the move");
}
