//! Refs, changed only on condition that they are where the caller saw them.

use super::call::GitError;
use super::names;
use super::object_id::ObjectId;
use super::ref_name::RefName;
use crate::git::repository::Repository;

/// The outcome of a change on condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The ref is where it was to be.
    Done,
    /// Somebody else made, moved or deleted it; it stays as it is.
    Moved {
        /// Where it is now; none if it is gone.
        now: Option<ObjectId>,
    },
}

/// The refs of a repository.
#[derive(Clone, Debug)]
pub struct Refs<'r> {
    repository: &'r Repository,
}

impl<'r> Refs<'r> {
    pub(crate) fn of(repository: &'r Repository) -> Self {
        Refs { repository }
    }

    /// Where a ref is, if it exists.
    pub fn read(&self, name: &RefName) -> Result<Option<ObjectId>, GitError> {
        let args = ["rev-parse", "--quiet", "--verify", name.as_str()];
        self.repository.call(args).found_id()
    }

    /// Moves a ref from where it was seen; none stands for one that is to be made. Repeating it
    /// after it was done is no change. A branch that is checked out somewhere is not for this: the
    /// files there would not follow.
    pub fn swap(
        &self,
        name: &RefName,
        to: &ObjectId,
        from: Option<&ObjectId>,
        why: &str,
    ) -> Result<Swap, GitError> {
        let old = from.map_or_else(|| to.zeroes(), std::string::ToString::to_string);
        let args =
            ["update-ref", "--no-deref", "-m", why, name.as_str(), to.as_str(), old.as_str()];
        let moved = self.repository.call(args).done();
        self.settle(name, Some(to), from, moved)
    }

    /// Deletes a ref that is where it was seen.
    pub fn delete(&self, name: &RefName, at: &ObjectId) -> Result<Swap, GitError> {
        let args = ["update-ref", "--no-deref", "-d", name.as_str(), at.as_str()];
        let gone = self.repository.call(args).done();
        self.settle(name, None, Some(at), gone)
    }

    /// Tells a condition that was not met from a failure.
    fn settle(
        &self,
        name: &RefName,
        to: Option<&ObjectId>,
        from: Option<&ObjectId>,
        result: Result<(), GitError>,
    ) -> Result<Swap, GitError> {
        let Err(error) = result else { return Ok(Swap::Done) };
        let now = self.read(name)?;
        if now.as_ref() == to {
            return Ok(Swap::Done);
        }
        if now.as_ref() == from { Err(error) } else { Ok(Swap::Moved { now }) }
    }

    /// The refs below a folder of them, such as `refs/althing/rescue/`, in the order of their names.
    pub fn below(&self, folder: &str) -> Result<Vec<(RefName, ObjectId)>, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00";
        let printed = self.repository.call(["for-each-ref", format, folder]).bytes()?;
        let fields: Vec<&[u8]> = names(&printed).collect();
        let mut found = Vec::new();
        for pair in fields.chunks_exact(2) {
            let name = String::from_utf8_lossy(pair[0]);
            let name = RefName::new(name.trim_start_matches('\n'));
            if let (Ok(name), Some(id)) = (name, ObjectId::of_bytes(pair[1])) {
                found.push((name, id));
            }
        }
        Ok(found)
    }
}
