//! Git, asked without touching anybody's files or index.
//!
//! Commits are made from a throw-away index, and branches appear with their first commit or not at
//! all. What the person has checked out, staged or not yet saved stays as it is.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use crate::fault::Fault;

/// A repository.
pub(crate) struct Git {
    root: PathBuf,
    /// Who is named as the author of commits.
    author: String,
}

/// A commit in the making: an index that is nobody's.
pub(crate) struct Draft<'a> {
    git: &'a Git,
    index: PathBuf,
    parent: Option<String>,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            // It may never have been written.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Git {
    pub(crate) fn new(root: &Path, author: &str) -> Self {
        Git { root: root.to_owned(), author: author.to_owned() }
    }

    /// Runs git and returns what it printed.
    fn run(&self, args: &[&str], index: Option<&Path>, input: &[u8]) -> Result<Vec<u8>, Fault> {
        let cannot = |error: std::io::Error| Fault::unavailable(format!("git: {error}"));
        let mut git = Process::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                git.env_remove(name);
            }
        }
        if let Some(index) = index {
            git.env("GIT_INDEX_FILE", index);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), &self.author);
            git.env(format!("GIT_{role}_EMAIL"), "agent@althing.invalid");
        }
        let mut child = git
            .args(args)
            .current_dir(&self.root)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        if let Some(mut stdin) = child.stdin.take() {
            // Git answers only after it read everything, or says on its own why it did not.
            let _ = stdin.write_all(input);
        }
        let ran = child.wait_with_output().map_err(cannot)?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let said = String::from_utf8_lossy(&ran.stderr);
        let what = args.first().copied().unwrap_or_default();
        Err(Fault::unavailable(format!("git {what}: {}", said.trim())))
    }

    fn line(&self, args: &[&str], index: Option<&Path>, input: &[u8]) -> Result<String, Fault> {
        let printed = self.run(args, index, input)?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The commit that is checked out, if there is one yet.
    pub(crate) fn head(&self) -> Option<String> {
        self.line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], None, b"").ok()
    }

    /// Whether a name can be that of a branch.
    pub(crate) fn is_branch_name(&self, name: &str) -> bool {
        self.run(&["check-ref-format", "--branch", name], None, b"").is_ok()
    }

    /// Whether there is a branch of that name.
    pub(crate) fn has_branch(&self, name: &str) -> bool {
        let full = format!("refs/heads/{name}");
        self.run(&["rev-parse", "--quiet", "--verify", &full], None, b"").is_ok()
    }

    /// The files that are tracked, or would be if they were added.
    pub(crate) fn files(&self) -> Result<Vec<String>, Fault> {
        let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = self.run(&args, None, b"")?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut names: Vec<String> =
            names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// A commit in the making on top of what is checked out.
    pub(crate) fn draft(&self, scratch: &Path) -> Result<Draft<'_>, Fault> {
        let unique = format!("index-{}-{:?}", std::process::id(), std::thread::current().id());
        let unique: String = unique.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        let draft = Draft { git: self, index: scratch.join(unique), parent: self.head() };
        let from = draft.parent.as_deref().unwrap_or("--empty");
        self.run(&["read-tree", from], Some(&draft.index), b"")?;
        Ok(draft)
    }

    /// Makes a branch that was not there. An existing one is never moved.
    pub(crate) fn make_branch(&self, name: &str, commit: &str) -> Result<(), Fault> {
        let full = format!("refs/heads/{name}");
        let none = "0".repeat(commit.len());
        self.run(&["update-ref", &full, commit, &none], None, b"").map(|_| ())
    }

    /// Takes a branch back that was just made, unless somebody moved it since.
    pub(crate) fn take_back(&self, name: &str, commit: &str) {
        // If it cannot be taken back it stays, which harms nobody.
        let _ = self.run(&["update-ref", "-d", &format!("refs/heads/{name}"), commit], None, b"");
    }
}

impl Draft<'_> {
    /// Takes over files as they are in the work tree: changed, new, or gone.
    pub(crate) fn take_from_work_tree(&self, paths: &[String]) -> Result<(), Fault> {
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let args = ["update-index", "-z", "--add", "--remove", "--stdin"];
        self.git.run(&args, Some(&self.index), &input).map(|_| ())
    }

    /// Puts a file with this content.
    pub(crate) fn put(&self, path: &str, content: &str) -> Result<(), Fault> {
        let blob = self.git.line(&["hash-object", "-w", "--stdin"], None, content.as_bytes())?;
        let entry = format!("100644 {blob} 0\t{path}\0");
        let args = ["update-index", "-z", "--add", "--index-info"];
        self.git.run(&args, Some(&self.index), entry.as_bytes()).map(|_| ())
    }

    /// Makes the commit. It belongs to no branch yet.
    pub(crate) fn commit(&self, message: &str) -> Result<String, Fault> {
        let tree = self.git.line(&["write-tree"], Some(&self.index), b"")?;
        let mut args = vec!["commit-tree", tree.as_str()];
        if let Some(parent) = &self.parent {
            args.extend(["-p", parent]);
        }
        self.git.line(&args, None, message.as_bytes())
    }
}
