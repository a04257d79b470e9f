//! Helpers of the workshop's tests: a repository with a few commits, and a folder for trees.

use althing_workshop::attempt_tree::{
    AttemptTree, AttemptTrees, IfBranchExists, NewTree, Provisions,
};
use althing_workshop::git::author::Author;
use althing_workshop::git::message::Message;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, RefName, TreeName};
use althing_workshop::git::tree_path::TreePath;
use althing_workshop::repository::Repository;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository in a folder of its own.
pub(crate) struct Project {
    /// Removes the folder; none if somebody else does.
    _guard: Option<tempfile::TempDir>,
    pub(crate) folder: PathBuf,
}

/// Runs git as a person would, and returns what it printed.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let ran = git_raw(folder, args);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "git {args:?} in {}: {said}", folder.display());
    String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
}

pub(crate) fn git_raw(folder: &Path, args: &[&str]) -> std::process::Output {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    git.args(["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"]);
    git.args(args).current_dir(folder).output().unwrap()
}

impl Project {
    /// A repository with a commit.
    pub(crate) fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let folder = guard.path().canonicalize().unwrap();
        let project = Project { _guard: Some(guard), folder };
        std::fs::create_dir(project.repo()).unwrap();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.write("README", "one\ntwo\nthree\n");
        project.write("src/lexer.rs", "fn lex() {}\n");
        project.write("src/parser.rs", "fn parse() {}\n");
        project.write(".gitignore", "/target/\n.env\n*.log\n");
        project.commit("Begin");
        project
    }

    /// A project that somebody else made.
    pub(crate) fn at(folder: &Path) -> Self {
        Project { _guard: None, folder: folder.to_owned() }
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.repo(), args)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        write(&self.repo().join(path), content);
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo().join(path)).unwrap()
    }

    /// Commits everything in the project's own work tree.
    pub(crate) fn commit(&self, message: &str) -> ObjectId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> ObjectId {
        self.tip("HEAD")
    }

    pub(crate) fn tip(&self, name: &str) -> ObjectId {
        ObjectId::new(&self.git(&["rev-parse", "--verify", name])).unwrap()
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::open(&self.repo(), &Author::agent("tester")).unwrap()
    }

    pub(crate) fn trees(&self) -> AttemptTrees {
        AttemptTrees::new(&self.repository(), &self.folder.join("trees")).unwrap()
    }

    /// The tree of an attempt at a task, from the commit that is checked out.
    pub(crate) fn tree(&self, name: &str) -> AttemptTree {
        self.trees().add(&self.wanted(name)).unwrap()
    }

    pub(crate) fn wanted(&self, name: &str) -> NewTree {
        NewTree {
            name: tree_name(name),
            branch: branch(&format!("althing/run/{name}")),
            base: self.head(),
            if_branch_exists: IfBranchExists::Refuse,
            reuse: false,
            provisions: Provisions::default(),
        }
    }

    /// Nothing of the person's own was touched: work tree, index, branch, stash.
    pub(crate) fn person(&self) -> String {
        let status = self.git(&["status", "--porcelain=v2", "--branch", "--untracked-files=all"]);
        let stash = self.git(&["stash", "list"]);
        let files = self.git(&["ls-files", "--stage"]);
        format!("{status}\n{stash}\n{files}")
    }
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

pub(crate) fn tree_name(name: &str) -> TreeName {
    TreeName::new(name).unwrap()
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

pub(crate) fn reference(name: &str) -> RefName {
    RefName::new(name).unwrap()
}

pub(crate) fn path(name: &str) -> TreePath {
    TreePath::new(name.as_bytes())
}

pub(crate) fn paths(names: &[&str]) -> Vec<TreePath> {
    names.iter().map(|name| path(name)).collect()
}

pub(crate) fn message(subject: &str) -> Message {
    Message::new(subject)
}

/// The content of a file in a commit.
pub(crate) fn show(repo: &Path, commit: &ObjectId, path: &str) -> String {
    git(repo, &["show", &format!("{commit}:{path}")])
}

/// Sets up a filter `deadly` that kills the git that runs it when it comes to the n-th file.
pub(crate) fn kill_git_at(project: &Project, n: usize) {
    let count = project.folder.join("count");
    write(&count, "");
    let script = project.folder.join("smudge.sh");
    let text = format!(
        "echo >>'{0}'\nif test $(wc -l <'{0}') -eq {n}; then kill -9 $PPID; fi\ncat\n",
        count.display()
    );
    write(&script, text);
    let command = format!("exec sh '{}'", script.display());
    project.git(&["config", "filter.deadly.smudge", &command]);
}
