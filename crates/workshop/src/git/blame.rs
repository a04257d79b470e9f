//! Blame: the commit behind a line or a file, and the merge that brought it, for the question which
//! task wrote this line.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::git::call::GitError;
use crate::git::history::{Commit, Range};
use crate::git::message::Trailers;
use crate::git::object_id::ObjectId;
use crate::git::repository::Repository;
use crate::git::tree_path::TreePath;

/// A line or a file whose origin cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum BlameError {
    /// The commit has no such file.
    #[error("{path} is not in {}", at.short())]
    NoFile {
        /// The file.
        path: TreePath,
        /// The commit.
        at: ObjectId,
    },
    /// The file has no such line.
    #[error("{path} has no line {line}")]
    NoLine {
        /// The file.
        path: TreePath,
        /// The line.
        line: u32,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl BlameError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            BlameError::NoFile { .. } => "name a file that is committed there".to_owned(),
            BlameError::NoLine { .. } => "count lines from 1".to_owned(),
            BlameError::Git(error) => error.hint(),
        }
    }
}

/// Where a line or a file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The commit that wrote it.
    pub commit: Commit,
    /// The name of the file in that commit.
    pub path: TreePath,
    /// The line in that commit; none if the question was about a file.
    pub line: Option<u32>,
    /// The merge that brought the commit to where the question was asked; none if it was made
    /// there, or is such a merge itself.
    pub merge: Option<Commit>,
}

impl Written {
    /// The value of a trailer: that of the commit, or of the merge that brought it. Agents' own
    /// commits carry none.
    pub fn trailer(&self, key: &str) -> Option<&str> {
        let merge = self.merge.as_ref().map(|merge| &merge.trailers);
        let all: [Option<&Trailers>; 2] = [Some(&self.commit.trailers), merge];
        all.into_iter().flatten().find_map(|trailers| trailers.get(key))
    }

    /// The head of the attempt that was merged, if it came by a merge.
    pub fn attempt(&self) -> Option<&ObjectId> {
        let merge = self.merge.as_ref().or_else(|| Some(&self.commit).filter(|own| own.is_merge()));
        merge.and_then(|merge| merge.parents.get(1))
    }
}

impl Repository {
    /// The commit behind a line of a file, counted from 1, as it is in a commit.
    pub fn blame_line(
        &self,
        at: &ObjectId,
        path: &TreePath,
        line: u32,
    ) -> Result<Written, BlameError> {
        self.check_file(at, path)?;
        let range = format!("{line},{line}");
        let args = ["blame", "--porcelain", "-L", &range, at.as_str(), "--"];
        let call = self.call(args).arg(crate::git::os(path.as_bytes()));
        let printed = match call.bytes() {
            Err(GitError::Failed { said, .. }) if is_out_of_range(&said) => {
                return Err(BlameError::NoLine { path: path.clone(), line });
            }
            other => other?,
        };
        let (commit, original, name) = parse(&printed)
            .ok_or_else(|| GitError::unreadable("blame", "the first line is not as documented"))?;
        let name = name.unwrap_or_else(|| path.clone());
        self.written(at, &commit, name, Some(original))
    }

    /// The last commit that changed a file, as it is in a commit.
    pub fn blame_file(&self, at: &ObjectId, path: &TreePath) -> Result<Written, BlameError> {
        self.check_file(at, path)?;
        let args = ["rev-list", "--max-count=1", at.as_str(), "--"];
        let call = self.call(args).arg(crate::git::os(path.as_bytes()));
        let id = call.id()?;
        self.written(at, &id, path.clone(), None)
    }

    fn check_file(&self, at: &ObjectId, path: &TreePath) -> Result<(), BlameError> {
        let call = self.call(["cat-file", "-e"]).arg(path.of_commit(at));
        if call.answers(&[1, 128]).run()?.code != 0 {
            return Err(BlameError::NoFile { path: path.clone(), at: at.clone() });
        }
        Ok(())
    }

    fn written(
        &self,
        at: &ObjectId,
        id: &ObjectId,
        path: TreePath,
        line: Option<u32>,
    ) -> Result<Written, BlameError> {
        let commit = self.commit_info(id)?;
        let merge = self.merge_of(at, id)?;
        Ok(Written { commit, path, line, merge })
    }

    /// The merge on the branch itself that brought a commit: the oldest commit on the way along
    /// first parents that contains it, if that is a merge.
    fn merge_of(&self, at: &ObjectId, id: &ObjectId) -> Result<Option<Commit>, GitError> {
        if at == id {
            return Ok(None);
        }
        let range = [at.to_string(), format!("^{id}")];
        let ask = |option: &str| -> Result<Vec<ObjectId>, GitError> {
            let call = self.call(["rev-list", option]).arg(&range[0]).arg(&range[1]);
            let printed = call.line()?;
            Ok(printed.lines().filter_map(|line| ObjectId::new(line).ok()).collect())
        };
        let contain: BTreeSet<ObjectId> = ask("--ancestry-path")?.into_iter().collect();
        let along = ask("--first-parent")?;
        let Some(first) = along.into_iter().rev().find(|own| contain.contains(own)) else {
            return Ok(None);
        };
        let found = self.history(&first, &Range { limit: Some(1), ..Range::default() })?;
        // On a branch that was only added to, that commit is the next one and no merge.
        let is_brought = |own: &Commit| own.is_merge() && own.parents.first() != Some(id);
        Ok(found.into_iter().find(is_brought))
    }
}

fn is_out_of_range(said: &str) -> bool {
    said.contains("has only") || said.contains("-L invalid") || said.contains("empty range")
}

/// Reads `COMMIT LINE …` and the name of the file among the lines below it.
fn parse(printed: &[u8]) -> Option<(ObjectId, u32, Option<TreePath>)> {
    let mut lines = printed.split(|byte| *byte == b'\n');
    let head = std::str::from_utf8(lines.next()?).ok()?;
    let mut words = head.split(' ');
    let commit = ObjectId::new(words.next()?).ok()?;
    let line = words.next()?.parse().ok()?;
    let name = lines.find_map(|line| line.strip_prefix(b"filename "));
    // A name with special characters is quoted; then that of the question is used.
    let name = name.filter(|name| !name.starts_with(b"\""));
    Some((commit, line, name.map(TreePath::new)))
}

/// The path of a file in a repository, from a path on disk.
pub fn path_in(repository: &Repository, file: &std::path::Path) -> Option<TreePath> {
    let top = repository.work_tree()?;
    let whole: PathBuf = crate::git::repository::real(file.parent()?).join(file.file_name()?);
    TreePath::of_path(whole.strip_prefix(top).ok()?)
}
