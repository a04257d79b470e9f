//! Reverting a merge as a commit, without a work tree.

use super::{Conflicts, MergeError};
use crate::git::message::Message;
use crate::git::object_id::ObjectId;
use crate::git::repository::Repository;

/// The outcome of reverting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reverted {
    /// Nothing of it is left in the tip.
    Nothing,
    /// The commit, which belongs to no branch yet.
    Commit(ObjectId),
    /// Later commits changed the same lines.
    Conflicts(Conflicts),
}

impl Repository {
    /// Reverts a commit onto a tip: takes back what it brought to its first parent. For a merge that
    /// is everything of the branch that was merged.
    pub fn revert(
        &self,
        commit: &ObjectId,
        tip: &ObjectId,
        message: &Message,
    ) -> Result<Reverted, MergeError> {
        let parent = self.resolve(&format!("{commit}^"))?;
        let parent = parent.ok_or_else(|| MergeError::NoParent { commit: commit.clone() })?;
        let tree = match self.merge_trees(tip, &parent, Some(commit))? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Reverted::Conflicts(conflicts)),
        };
        if tree == self.tree_of(tip)? {
            return Ok(Reverted::Nothing);
        }
        Ok(Reverted::Commit(self.commit(&tree, &[tip], &message.text())?))
    }
}
