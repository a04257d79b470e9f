//! Names of files that break careless programs, through every part.

use crate::support::{Project, branch, git, message, reference, tree_name, write};
use althing_workshop::changes::Changes;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, RefName, TreeName};
use althing_workshop::git::tree_path::TreePath;
use althing_workshop::merge::{FastForward, Merged};
use althing_workshop::rescue::What;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const ODD: &[&[u8]] = &[
    b"with space",
    b"line\nbreak",
    b"tab\there",
    b"not \xff\xfe UTF-8",
    b"-dash",
    b"--option=x",
    b":(top)magic",
    b"*",
    b"[a-z]?",
    b"quote\"'`$(x)",
    b"back\\slash",
    b"#hash",
    b"trailing ",
    b"e\xcc\x81 combined",
];

fn at(root: &Path, name: &[u8]) -> std::path::PathBuf {
    root.join(OsStr::from_bytes(name))
}

/// The files below a folder with their content, but for git's.
fn files(root: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if name.starts_with(b".git") {
                continue;
            }
            if path.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                found.insert(name, target.as_os_str().as_bytes().to_vec());
            } else if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn odd_names_go_through_everything_unharmed() {
    let project = Project::new();
    let base = project.head();
    let tree = project.tree("lexer");
    for (number, name) in ODD.iter().enumerate() {
        write(&at(tree.path(), name), format!("content {number}"));
        write(&at(&tree.path().join("folder"), name), format!("deep {number}"));
    }
    let wanted: Vec<TreePath> = ODD.iter().map(|name| TreePath::new(name)).collect();
    let changes = Changes::since(tree.checkout(), tree.base()).unwrap().paths();
    assert!(wanted.iter().all(|path| changes.contains(path)), "{changes:?}");
    assert_eq!(changes.len(), 2 * ODD.len());
    assert!(changes.iter().all(|path| !path.shown().contains(char::is_control)));

    let rescue = tree.checkout().rescue(tree.name(), "a test").unwrap();
    assert_eq!(rescue.left, []);
    let back = project.folder.join("back");
    std::fs::create_dir(&back).unwrap();
    let repository = project.repository();
    let rescue = rescue.rescue.unwrap();
    repository.rescues().restore_into(&rescue, &back, What::Whole).unwrap();
    assert_eq!(files(&back), files(tree.path()));

    let made = tree.checkout().commit_all(&message("Odd names"), None).unwrap().unwrap();
    assert_eq!(made.files, 2 * ODD.len());
    let allowed = |path: &TreePath| path.as_bytes().starts_with(b"folder/");
    let outside = repository.merge(&base, &made.commit, Some(&allowed)).unwrap();
    let Merged::Outside { paths } = outside else { panic!("{outside:?}") };
    assert_eq!(paths.len(), ODD.len());
    let done = repository.fast_forward(&branch("main"), &base, &made.commit).unwrap();
    assert_eq!(done, FastForward::Done);
    assert_eq!(files(&project.repo()), files(tree.path()));
    for name in ODD {
        repository.blame_line(&made.commit, &TreePath::new(name), 1).unwrap();
    }
    project.trees().retire(&tree_name("lexer")).unwrap();
    let mut new = project.wanted("next");
    new.reuse = true;
    new.base = base;
    let next = project.trees().add(&new).unwrap();
    assert_eq!(git(next.path(), &["status", "--porcelain"]), "");
    assert_eq!(files(next.path()).len(), 3);
}

#[test]
fn odd_names_in_conflict_are_named() {
    let project = Project::new();
    for name in ODD {
        write(&at(&project.repo(), name), "before");
    }
    project.commit("Odd names");
    let tree = project.tree("lexer");
    for name in ODD {
        write(&at(tree.path(), name), "ours");
        write(&at(&project.repo(), name), "theirs");
    }
    let head = tree.checkout().commit_all(&message("Ours"), None).unwrap().unwrap().commit;
    let tip = project.commit("Theirs");
    let merged = project.repository().merge(&tip, &head, None).unwrap();
    let Merged::Conflicts(found) = merged else { panic!("{merged:?}") };
    let mut named: Vec<&[u8]> = found.conflicts.iter().map(|own| own.path.as_bytes()).collect();
    named.sort_unstable();
    let mut wanted = ODD.to_vec();
    wanted.sort_unstable();
    assert_eq!(named, wanted);
    tree.checkout().merge_in(&tip, &message("Merge")).unwrap();
    let left = tree.checkout().unresolved().unwrap();
    assert_eq!(left.unmerged.len(), ODD.len());
}

#[test]
fn names_that_could_lead_elsewhere_are_refused() {
    let long = "x".repeat(201);
    let bad = ["", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "/a", "a/"];
    let bad = bad.into_iter().chain(["a//b", ".a", "a/.b", "a.lock", "a.", "@", "a@{b", "HEAD"]);
    for name in bad.chain(["refs/heads/a", "a\n", "a\0", long.as_str()]) {
        assert!(BranchName::new(name).is_err(), "{name:?}");
    }
    for name in ["main", "althing/run/_merged", "althing/run/lexer.2", "ü", "a@b"] {
        let checked =
            crate::support::git_raw(Path::new("/"), &["check-ref-format", "--branch", name]);
        assert!(checked.status.success() && BranchName::new(name).is_ok(), "{name}");
    }
    for name in ["", ".x", "-x", "a/b", "a b", "..", "a..b", "ü", "a\n", "x.lock", "a."] {
        assert!(TreeName::new(name).is_err(), "{name:?}");
    }
    assert!(RefName::new("heads/main").is_err());
    assert!(RefName::new("refs/althing/x").is_ok());
    for id in ["", "abc", &"g".repeat(40), &"A".repeat(40), "HEAD"] {
        assert!(ObjectId::new(id).is_err(), "{id}");
    }
    assert_eq!(reference("refs/x/y").as_str(), "refs/x/y");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// What this takes for a branch name, git does too.
    #[test]
    fn a_branch_name_is_one_for_git(name in "[a-z./@{~^:?*\\[ -]{1,8}") {
        if BranchName::new(&name).is_ok() {
            let full = format!("refs/heads/{name}");
            let checked = crate::support::git_raw(Path::new("/"), &["check-ref-format", &full]);
            prop_assert!(checked.status.success(), "{name:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Any names and any content come back from a rescue as they were.
    #[test]
    fn rescued_files_come_back_as_they_were(
        own in proptest::collection::btree_map(
            proptest::collection::vec(1_u8..=255, 1..20),
            proptest::collection::vec(any::<u8>(), 0..200),
            1..8,
        ),
    ) {
        let project = Project::new();
        let tree = project.tree("lexer");
        for (name, content) in &own {
            let mut name: Vec<u8> = name.iter().map(|c| if *c == b'/' { b'_' } else { *c }).collect();
            name.insert(0, b'f');
            write(&at(tree.path(), &name), content);
        }
        // What the project ignores is not rescued.
        let ignored = |name: &Vec<u8>| name.ends_with(b".log");
        let mut before = files(tree.path());
        before.retain(|name, _| !ignored(name));
        project.trees().remove(&tree_name("lexer")).unwrap();
        let repository = project.repository();
        let rescue = repository.rescues().get(&tree_name("lexer"), 1).unwrap();
        let back = project.folder.join("back");
        std::fs::create_dir(&back).unwrap();
        repository.rescues().restore_into(&rescue, &back, What::Whole).unwrap();
        prop_assert_eq!(files(&back), before);
    }
}
