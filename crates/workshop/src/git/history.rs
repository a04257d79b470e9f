//! The history of a branch: its commits with their trailers, to see which attempts it contains.

use crate::git::call::GitError;
use crate::git::message::Trailers;
use crate::git::object_id::ObjectId;
use crate::git::repository::Repository;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: ObjectId,
    /// Its parents; two or more for a merge.
    pub parents: Vec<ObjectId>,
    /// The name of its author.
    pub author: String,
    /// When it was written, in seconds since 1970.
    pub authored_at: i64,
    /// When it was committed, in seconds since 1970.
    pub committed_at: i64,
    /// The first line of its message.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// Its trailers.
    pub trailers: Trailers,
}

impl Commit {
    /// Whether it joins two histories.
    pub fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }
}

/// A part of a history.
#[derive(Clone, Debug, Default)]
pub struct Range<'a> {
    /// Leaves out this commit and what it contains.
    pub since: Option<&'a ObjectId>,
    /// Follows the first parent only: the commits and merges that were made on the branch itself.
    pub first_parent: bool,
    /// Stops after this many.
    pub limit: Option<usize>,
}

/// A form that ends every field with a zero byte.
const FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%at%x00%ct%x00%B";
const FIELDS: usize = 6;

impl Repository {
    /// The commits that one contains, newest first.
    pub fn history(&self, tip: &ObjectId, range: &Range<'_>) -> Result<Vec<Commit>, GitError> {
        let mut options = Vec::new();
        if range.first_parent {
            options.push("--first-parent".to_owned());
        }
        options.extend(range.limit.map(|limit| format!("--max-count={limit}")));
        options.push(tip.to_string());
        options.extend(range.since.map(|since| format!("^{since}")));
        self.log(&options)
    }

    /// One commit.
    pub fn commit_info(&self, id: &ObjectId) -> Result<Commit, GitError> {
        let mut found = self.log(&["--max-count=1".to_owned(), id.to_string()])?;
        found.pop().ok_or_else(|| GitError::unreadable("log", format!("no commit {id}")))
    }

    /// Asks for commits; the arguments end with those that name them.
    pub(crate) fn log(&self, args: &[String]) -> Result<Vec<Commit>, GitError> {
        let fixed = ["log", "-z", FORMAT, "--no-show-signature", "--no-notes", "--no-color"];
        let call = self.call(fixed).setting("i18n.logOutputEncoding=UTF-8");
        let printed = args.iter().fold(call, crate::git::call::Call::arg).bytes()?;
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        // After the last commit there is one empty field.
        let whole = fields.len() / FIELDS * FIELDS;
        fields[..whole].chunks_exact(FIELDS).map(read).collect()
    }
}

fn read(fields: &[&[u8]]) -> Result<Commit, GitError> {
    let text =
        |at: usize| String::from_utf8_lossy(fields.get(at).unwrap_or(&&b""[..])).into_owned();
    let wrong = |what: &str| GitError::unreadable("log", format!("no {what} in {:?}", text(0)));
    let id = ObjectId::new(text(0).trim()).map_err(|_| wrong("commit"))?;
    let parents = text(1);
    let parents = parents.split_whitespace().map(ObjectId::new).collect::<Result<Vec<_>, _>>();
    let message = text(5);
    Ok(Commit {
        id,
        parents: parents.map_err(|_| wrong("parent"))?,
        author: text(2),
        authored_at: text(3).parse().map_err(|_| wrong("time"))?,
        committed_at: text(4).parse().map_err(|_| wrong("time"))?,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        trailers: Trailers::of(&message),
        message,
    })
}
